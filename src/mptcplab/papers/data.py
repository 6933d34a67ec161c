# SPDX-License-Identifier: GPL-2.0-only
"""The published data of experiments: docs/results/data, from which the pages are made.

Of each figure:

- NAME.csv: a line per run, of all parts: the part (`variant`), the axes, the seed, the figures;
- NAME.columns.csv: what each column is, its unit, and the formula it is computed by;
- NAME-pairs.csv: how schedulers differ, in pairs;
- NAME-paper.csv: the paper's own numbers.

provenance.json has the builds and files of each part's runs. A figure whose formula has changed
is not read from a CSV: it would have to be computed from the runs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mptcplab.errors import MptcplabError
from mptcplab.papers.catalogue import Experiment, Published
from mptcplab.papers.reproduce import Provenance, Ran, Reproduced
from mptcplab.papers.samples import Row, results
from mptcplab.papers.tables import differences

#: The folder of the data, below that of the pages.
DATA = "data"
PROVENANCE = "provenance.json"

_VARIANT, _SEED = "variant", "seed"
_DIGITS = 10  # more than any figure has, and the same for every reader


def file_name(published: Published) -> str:
    """The beginning of the names of an experiment's files."""
    return published.name.replace("/", "-")


def rows_csv(own: Experiment, ran: Mapping[str, Ran]) -> str:
    """A line per run of each part."""
    axes, metrics = own.axes(), [metric.name for metric in own.metric]
    lines: list[Sequence[Any]] = [(_VARIANT, *axes, _SEED, *metrics)]
    for part in _ordered(own, ran):
        for row in ran[part].results.rows:
            figures = [_number(row.figures[name]) for name in metrics]
            lines.append((part, *(row.point.get(name, "") for name in axes), row.seed, *figures))
    return _csv(lines)


def columns_csv(own: Experiment) -> str:
    """The meanings of the columns of the rows."""
    lines: list[Sequence[str]] = [("column", "title", "unit", "formula")]
    lines.append((_VARIANT, "the part of the experiment", "", ""))
    lines += [(name, own.axis.get(name, name), "", "") for name in own.axes()]
    lines.append((_SEED, "the number that sets all randomness of the run", "", ""))
    lines += [(each.name, each.title, each.unit, each.value) for each in own.metric]
    return _csv(lines)


def pairs_csv(found: Reproduced) -> str:
    """A line per metric and pair of schedulers: how the second differs; "" if unknown for all."""
    head = ("metric", "scheduler", "less_that_of", "pairs")
    lines: list[Sequence[Any]] = [(*head, "median", "low", "high", "effect", "p", "p_adjusted")]
    for metric in found.published.experiment.metric:
        for (first, second), each in differences(found, metric).items():
            if each.low is None:
                continue
            figures = (each.median, each.low, each.high, each.effect, each.p, each.p_adjusted)
            numbers = [_number(value, 6) for value in figures]
            lines.append((metric.name, second, first, each.pairs, *numbers))
    return _csv(lines) if len(lines) > 1 else ""


def paper_csv(own: Experiment) -> str:
    """The paper's own numbers; "" if the file has none."""
    axes = own.axes()
    lines: list[Sequence[Any]] = [("metric", *axes, "value", "read_off")]
    for each in own.reported:
        place = (each.at.get(name, "") for name in axes)
        how = "yes" if each.read_off else "no"
        lines.append((each.metric, *place, _number(each.value), how))
    return _csv(lines) if len(lines) > 1 else ""


def provenance_json(of: Mapping[str, Mapping[str, Provenance]]) -> str:
    """By experiment and part."""
    content = {
        name: {part: asdict(each) for part, each in parts.items()} for name, parts in of.items()
    }
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read(published: Published, directory: Path) -> dict[str, Ran]:
    """The parts of an experiment that are in a directory of data; of those it still has.

    Raises MptcplabError, naming the file, if one is damaged.
    """
    file = directory / f"{file_name(published)}.csv"
    known = read_provenance(directory).get(published.name, {})
    if not known or not file.exists():
        return {}
    columns = file.with_name(f"{file.stem}.columns.csv")
    return parsed(published, _text(file), _text(columns), known, str(file))


def parsed(
    published: Published,
    rows: str,
    columns: str,
    provenance: Mapping[str, Provenance],
    where: str = "",
) -> dict[str, Ran]:
    """What `rows_csv` and `columns_csv` wrote."""
    own = published.experiment
    formulas = {line["column"]: line["formula"] for line in csv.DictReader(io.StringIO(columns))}
    same = [each.name for each in own.metric if formulas.get(each.name) == each.value]
    values = own.axis_values()
    found: dict[str, list[Row]] = {}
    try:
        for line in csv.DictReader(io.StringIO(rows)):
            point = {
                name: values[name].get(text, text)
                for name in own.axes()
                if (text := line.get(name, "")) or "" in values[name]
            }
            figures: dict[str, float | None] = {each.name: None for each in own.metric}
            figures |= {name: float(line[name]) for name in same if line[name]}
            found.setdefault(line[_VARIANT], []).append(Row(point, int(line[_SEED]), figures))
    except (KeyError, TypeError, ValueError) as error:
        raise MptcplabError(f"{where}: not the data of {published.name}: {error!r}") from None
    return {
        part: Ran(results(own, found[part]), provenance[part])
        for part in _ordered(own, found)
        if part in provenance
    }


def read_provenance(directory: Path) -> dict[str, dict[str, Provenance]]:
    """The content of provenance.json, if it exists. Raises MptcplabError if it is damaged."""
    file = directory / PROVENANCE
    if not file.exists():
        return {}
    try:
        content = json.loads(_text(file))
        return {
            name: {part: Provenance(**each) for part, each in parts.items()}
            for name, parts in content.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise MptcplabError(f"{file}: not the provenance of published data: {error}") from None


def _ordered(own: Experiment, parts: Iterable[str]) -> list[str]:
    """Parts in the order of the file; without those it does not have any more."""
    return [part for part in own.parts() if part in set(parts)]


def _csv(lines: Iterable[Sequence[Any]]) -> str:
    content = io.StringIO()
    csv.writer(content, lineterminator="\n").writerows(lines)
    return content.getvalue()


def _number(value: float | None, digits: int = _DIGITS) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise MptcplabError(f"{file}: cannot be read: {error}") from None
