# SPDX-License-Identifier: GPL-2.0-only
"""The published data of experiments: docs/results/data, from which the pages are made.

Of each figure:

- NAME.csv: a line per run, of all parts: the part (`variant`), the axes, the seed, the figures;
- NAME.columns.csv: what each column is, its unit, and the formula it is computed by;
- NAME-pairs.csv: how schedulers differ, in pairs;
- NAME-series.csv: the goodput of the paths over time, for a chart over time: of each scheduler, in
  each panel, it is the run with the first seed;
- NAME-paper.csv: the paper's own numbers.

provenance.json has the builds and files of each part's runs. kernels/NAME has the first two and the
provenance of runs with another kernel. A figure whose formula has changed
is not read from a CSV: it would have to be computed from the runs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab.errors import MptcplabError
from mptcplab.metrics.series import RunSeries, run_series
from mptcplab.papers.catalogue import Experiment, Published
from mptcplab.papers.reproduce import Provenance, Ran, Reproduced
from mptcplab.papers.samples import Row, results
from mptcplab.papers.tables import differences
from mptcplab.runs import documents, store
from mptcplab.traces.link_trace import SINR
from mptcplab.units import NS_PER_S

#: The folder of the data, below that of the pages.
DATA = "data"
#: Of runs, and of data: a folder for each kernel beside the lab's.
KERNELS = "kernels"
PROVENANCE = "provenance.json"

GOODPUT, CAPACITY = "goodput", "capacity"

_PROVENANCES = documents.Kind("the provenance of published data", dict[str, dict[str, Provenance]])
_VARIANT, _SEED, _LACKS = "variant", "seed", "lacks"
_DIGITS = 10  # more than any figure has, and the same for every reader
_MEAN_OF_BINS = 3  # of a run's series, which are made for pictures as wide as a page
_SERIES_DIGITS = 4
_MBIT = 1e6
# By the metric of a series: its name here, and what it is divided by.
_KINDS = {"goodput_bps": (GOODPUT, _MBIT), "link_bps": (CAPACITY, _MBIT), SINR: (SINR, 1.0)}
_SERIES_HEAD = ("series", "panel", "run", "path", "what", "time_s", "value")


@dataclass(frozen=True)
class Track:
    """Something of a path over time: goodput or capacity in Mbit/s, or SINR in dB.

    `run` is the key of the run in the store; `series` and `panel` are its place in the chart.
    """

    series: str
    panel: str
    run: str
    path: str
    what: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]


def place(kernel: str) -> str:
    """The folder of a kernel's runs or data, below those of the lab's kernel, whose name is ""."""
    return f"{KERNELS}/{kernel}" if kernel else ""


def file_name(published: Published) -> str:
    """The beginning of the names of an experiment's files."""
    return published.name.replace("/", "-")


def rows_csv(own: Experiment, ran: Mapping[str, Ran]) -> str:
    """A line per run of each part."""
    axes, metrics = own.axes(), [metric.name for metric in own.metric]
    last = [_LACKS] if _lack(ran) else []
    lines: list[Sequence[Any]] = [(_VARIANT, *axes, _SEED, *metrics, *last)]
    for part in _ordered(own, ran):
        for row in ran[part].results.rows:
            place = (row.point.get(name, "") for name in axes)
            figures = [_number(row.figures[name]) for name in metrics]
            lines.append((part, *place, row.seed, *figures, *([row.lacks] if last else [])))
    return _csv(lines)


def columns_csv(own: Experiment, ran: Mapping[str, Ran]) -> str:
    """The meanings of the columns of the rows."""
    lines: list[Sequence[str]] = [("column", "title", "unit", "formula")]
    lines.append((_VARIANT, "the part of the experiment", "", ""))
    lines += [(name, own.axis.get(name, name), "", "") for name in own.axes()]
    lines.append((_SEED, "the number that sets all randomness of the run", "", ""))
    lines += [(each.name, each.title, each.unit, each.value) for each in own.metric]
    if _lack(ran):
        lines.append((_LACKS, "why figures are empty that cannot be had with the kernel", "", ""))
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


def provenance_json(every: Iterable[tuple[Published, Mapping[str, Ran]]]) -> str:
    """By experiment and part."""
    content = {
        published.name: {part: asdict(each.provenance) for part, each in ran.items()}
        for published, ran in every
        if ran
    }
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def rounded(own: Experiment, ran: Mapping[str, Ran]) -> dict[str, Ran]:
    """The parts with the digits that their rows have as data."""

    def row(of: Row) -> Row:
        known = {name: value for name, value in of.figures.items() if value is not None}
        short = {name: float(_number(value)) for name, value in known.items()}
        return replace(of, figures={**of.figures, **short})

    return {
        part: replace(ran[part], results=results(own, [*map(row, ran[part].results.rows)]))
        for part in _ordered(own, ran)
    }


def read(published: Published, directory: Path) -> dict[str, Ran]:
    """The parts of an experiment that are in a directory of data; of those it still has.

    Raises MptcplabError, naming the file, if one is damaged.
    """
    file = directory / f"{file_name(published)}.csv"
    provenance = directory / PROVENANCE
    if not provenance.exists() or not file.exists():
        return {}
    known = documents.read(provenance, _PROVENANCES).get(published.name, {})
    columns = file.with_name(f"{file.stem}.columns.csv").read_text("utf-8")
    return parsed(published, file.read_text("utf-8"), columns, known, str(file))


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
            row = Row(point, int(line[_SEED]), figures, line.get(_LACKS, ""))
            found.setdefault(line[_VARIANT], []).append(row)
    except (KeyError, TypeError, ValueError) as error:
        raise MptcplabError(f"{where}: not the data of {published.name}: {error!r}") from None
    return {
        part: Ran(results(own, found[part]), provenance[part])
        for part in _ordered(own, found)
        if part in provenance
    }


def tracks(published: Published, ran: Ran) -> list[Track]:
    """From the records of the runs. Raises MptcplabError if these cannot be read."""
    chart = published.experiment.chart
    seen = set()
    made: list[Track] = []
    for row, directory in zip(ran.results.rows, ran.directories, strict=True):
        place = str(row.point[chart.series]), str(row.point.get(chart.panels, ""))
        here = all(row.point[name] == value for name, value in chart.at.items())
        if here and place not in seen:
            seen.add(place)
            run = store.read_run(directory)
            drawn = run_series(run.scenario, run.client, run.server, run.traces)
            made += _of_run(drawn, *place, directory.name)
    return made


def series_csv(of: Iterable[Track]) -> str:
    """A line for each point of a chart over time."""
    lines: list[Sequence[Any]] = [_SERIES_HEAD]
    for each in of:
        place = (each.series, each.panel, each.run, each.path, each.what)
        points = zip(each.times_s, each.values, strict=True)
        lines += [(*place, f"{time:g}", f"{value:g}") for time, value in points]
    return _csv(lines)


def parsed_series(text: str, where: str) -> list[Track]:
    """What `series_csv` wrote. Raises MptcplabError, naming `where`, for anything else."""
    points: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    try:
        for line in csv.DictReader(io.StringIO(text)):
            place = tuple(line[name] for name in _SERIES_HEAD[:5])
            points.setdefault(place, []).append((float(line["time_s"]), float(line["value"])))
    except (KeyError, TypeError, ValueError) as error:
        raise MptcplabError(f"{where}: not the series of runs: {error!r}") from None
    found = []
    for (series, panel, run, path, what), of in points.items():
        times, values = zip(*of, strict=True)
        found.append(Track(series, panel, run, path, what, times, values))
    return found


def _of_run(drawn: RunSeries, series: str, panel: str, run: str) -> Iterable[Track]:
    for each in (each for panel_ in drawn.panels for each in panel_.series):
        if each.metric in _KINDS and each.path is not None:
            what, scale = _KINDS[each.metric]
            count = len(each.values) // _MEAN_OF_BINS * _MEAN_OF_BINS
            values = each.values[:count].reshape(-1, _MEAN_OF_BINS).mean(axis=1) / scale
            edges = drawn.edges_ns[: count + 1 : _MEAN_OF_BINS] / NS_PER_S
            middles = (edges[:-1] + edges[1:]) / 2
            yield Track(series, panel, run, each.path, what, _short(middles), _short(values))


def _short(values: Any) -> tuple[float, ...]:
    """With a few digits, those that the file has."""
    return tuple(float(f"{value:.{_SERIES_DIGITS}g}") for value in np.asarray(values).tolist())


def _lack(ran: Mapping[str, Ran]) -> bool:
    return any(row.lacks for each in ran.values() for row in each.results.rows)


def _ordered(own: Experiment, parts: Iterable[str]) -> list[str]:
    """Parts in the order of the file; without those it does not have any more."""
    return [part for part in own.parts() if part in set(parts)]


def _csv(lines: Iterable[Sequence[Any]]) -> str:
    content = io.StringIO()
    csv.writer(content, lineterminator="\n").writerows(lines)
    return content.getvalue()


def _number(value: float | None, digits: int = _DIGITS) -> str:
    return "" if value is None else f"{value:.{digits}g}"
