# SPDX-License-Identifier: GPL-2.0-only
"""What published experiments gave, for people: tables, verdicts, and the pages of docs/results/."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab import results_chart, store
from mptcplab.claims import Judged, Row, Verdict
from mptcplab.papers import Metric, Published
from mptcplab.reproduce import Reproduced

_QUANTILES = {"lowest": 0.0, "quartile": 0.25, "median": 0.5, "3rd quartile": 0.75, "highest": 1.0}
_DIGITS = 4
_DATA = "data"
_HOW_TO = "../papers.md"


@dataclass(frozen=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(found: Reproduced) -> list[Table]:
    """The figures of an experiment as its chart arranges them, a table for each metric."""
    own = found.published.experiment
    chart = own.chart
    metrics = {metric.name: metric for metric in own.metric}
    if chart.kind == "time":
        return [_overview(found, list(own.metric))]
    wanted = [metrics[name] for name in chart.y]
    if chart.kind == "cdf":
        return [_spread_table(found, metric) for metric in wanted]
    return [_pivot(found, metric) for metric in wanted]


def text(found: Reproduced) -> str:
    """All of it, to be read on a terminal."""
    lines = [f"{found.published.name}: {found.published.experiment.title}", *_how(found)]
    for table in tables(found):
        lines += ["", table.title, *_columns(table)]
    lines += ["", "Claims"]
    for judged in found.judged:
        claim = judged.claim
        lines.append(f"  {judged.verdict.upper()}: {claim.says} ({claim.place})")
        lines += [f"      {line}" for line in _evidence(judged)]
        lines += [f"      {line}" for line in _reasons(judged)]
    return "\n".join(lines)


def publish(
    found: Sequence[Reproduced], directory: Path, missing: Sequence[str] = ()
) -> list[Path]:
    """Write the pages of some experiments, their charts and their data; returns the files.

    A page per paper, and README.md with a row per claim, and the names of those that are missing.
    """
    store.make_directory(directory / _DATA)
    written = []
    papers: dict[str, list[Reproduced]] = {}
    for each in found:
        papers.setdefault(each.published.name.split("/")[0], []).append(each)
    for paper, group in papers.items():
        for each in group:
            name = each.published.name.replace("/", "-")
            written.append(_write(directory / _DATA / f"{name}.csv", csv_text(each)))
            picture = results_chart.svg(each)
            if picture is not None:
                written.append(_write(directory / f"{name}.svg", picture))
        written.append(_write(directory / f"{paper}.md", _page(group)))
    written.append(_write(directory / "README.md", _summary(papers, missing)))
    return written


def csv_text(found: Reproduced) -> str:
    """A line per run: its axes, its seed, its figures."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    axes, metrics = list(found.results.axes), found.results.metrics
    writer.writerow([*axes, "seed", *metrics])
    for row in found.results.rows:
        figures = [_csv_number(row.figures[name]) for name in metrics]
        writer.writerow([*(row.point.get(name, "") for name in axes), row.seed, *figures])
    return content.getvalue()


def number(value: Any, digits: int = _DIGITS) -> str:
    """A figure with some significant digits; what is no number as it is."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(number(each, digits) for each in value) or "none"
    if not isinstance(value, int | float):
        return str(value)
    if value and abs(value) < 10 ** (digits - 1):
        places = digits - 1 - int(np.floor(np.log10(abs(value))))
        return f"{value:.{min(places, digits)}f}".rstrip("0").rstrip(".") or "0"
    return f"{value:.0f}"


# Tables


def _pivot(found: Reproduced, metric: Metric) -> Table:
    """A row for each of the series, in each panel; a column for each value of x."""
    own = found.published.experiment
    chart, results = own.chart, found.results
    rows = []
    for panel in results.axes.get(chart.panels, [None]):
        for series in results.axes[chart.series]:
            cells = []
            for x in results.axes[chart.x]:
                wanted = {chart.series: series, chart.x: x}
                if chart.panels:
                    wanted[chart.panels] = panel
                cells.append(_median(results.where(**wanted), metric.name))
            label = [str(series)] if panel is None else [str(panel), str(series)]
            rows.append((*label, *cells))
    left = [chart.panels, chart.series] if chart.panels else [chart.series]
    xs = [str(x) for x in results.axes[chart.x]]
    across = f"across: {_axis(found.published, chart.x)}"
    return Table(f"{_title(metric)}; {across}", (*left, *xs), tuple(rows))


def _spread_table(found: Reproduced, metric: Metric) -> Table:
    chart, results = found.published.experiment.chart, found.results
    rows = []
    for panel in results.axes.get(chart.panels, [None]):
        for series in results.axes[chart.series]:
            wanted = {chart.series: series}
            if chart.panels:
                wanted[chart.panels] = panel
            values = _known(results.where(**wanted), metric.name)
            label = [str(series)] if panel is None else [str(panel), str(series)]
            cells = [number(np.quantile(values, q)) if values else "-" for q in _QUANTILES.values()]
            rows.append((*label, *cells, str(len(values))))
    left = [chart.panels, chart.series] if chart.panels else [chart.series]
    return Table(_title(metric), (*left, *_QUANTILES, "runs"), tuple(rows))


def _overview(found: Reproduced, metrics: Sequence[Metric]) -> Table:
    """A row for each setting, a column for each metric."""
    axes = list(found.results.axes)
    points: dict[str, list[Row]] = {}
    for row in found.results.rows:
        points.setdefault(str(row.point), []).append(row)
    rows = tuple(
        (
            *(str(group[0].point.get(name, "")) for name in axes),
            *(_median(group, metric.name) for metric in metrics),
        )
        for group in points.values()
    )
    return Table("Figures of the runs", (*axes, *map(_title, metrics)), rows)


def _median(rows: Sequence[Row], name: str) -> str:
    """The median over the runs, and the range if they differ."""
    values = _known(rows, name)
    if not values:
        return "-"
    middle = number(statistics.median(values))
    low, high = number(min(values)), number(max(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def _known(rows: Sequence[Row], name: str) -> list[float]:
    return [value for row in rows if (value := row.figures[name]) is not None]


def _title(metric: Metric) -> str:
    return f"{metric.title}, {metric.unit}" if metric.unit else metric.title


def _axis(published: Published, name: str) -> str:
    return published.experiment.axis.get(name, name)


# Text


def _how(found: Reproduced) -> list[str]:
    seeds = "1 seed" if found.repeat == 1 else f"{found.repeat} seeds"
    what = "quick runs" if found.quick else "all runs"
    lines = [f"{what}, {len(found.results.rows)} of them, {seeds}; kernel {found.build['kernel']}"]
    if found.quick and found.published.experiment.quick.says:
        lines.append(f"quick: {found.published.experiment.quick.says}")
    return lines


def command(found: Reproduced) -> str:
    """The command that makes it again."""
    own = found.published.experiment
    words = ["mptcplab papers run", found.published.name]
    if found.quick:
        words.append("--quick")
    if found.repeat != own.repeats(quick=found.quick):
        words.append(f"--repeat {found.repeat}")
    return " ".join(words)


def _evidence(judged: Judged) -> Iterator[str]:
    for name, figure in judged.claim.figures.items():
        unit = f" {figure.unit}" if figure.unit else ""
        paper = "" if figure.paper is None else f"; paper: {number(figure.paper)}{unit}"
        yield f"{figure.says or name}: {number(judged.ours[name])}{unit}{paper}"


def _reasons(judged: Judged) -> Iterator[str]:
    claim = judged.claim
    if judged.verdict is Verdict.NOT_COMPARABLE:
        yield f"Not comparable: {claim.not_comparable}"
    if judged.verdict is Verdict.FAILS:
        yield claim.explanation or "Why is not known."


def _columns(table: Table) -> list[str]:
    lines = [table.head, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.head))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]


# Pages


def _page(group: Sequence[Reproduced]) -> str:
    paper = group[0].published.paper
    name = group[0].published.name.split("/")[0]
    lines = [
        f"<!-- Written by `mptcplab papers publish`; edit experiments/{name}/. -->",
        f"# {name}",
        "",
        f'{paper.authors}: "{paper.title}", {paper.published}.',
        "",
    ]
    if paper.setting:
        lines += ["What differs from the paper in all of these:", ""]
        lines += [f"- {each}" for each in paper.setting] + [""]
    if paper.findings:
        lines += ["What came out:", ""]
        lines += [f"- {each}" for each in paper.findings] + [""]
    for found in group:
        lines += [*_section(found), ""]
    return "\n".join(lines).rstrip() + "\n"


def _section(found: Reproduced) -> Iterator[str]:
    published, own = found.published, found.published.experiment
    figure = published.name.split("/")[1]
    yield f"## {figure}: {own.title}"
    yield ""
    yield f"The paper's {own.place}. [{figure}.toml](../../experiments/{published.name}.toml)"
    yield ""
    yield from (f"- {each}" for each in own.setting)
    if own.setting:
        yield ""
    yield f"{_sentence(_how(found)[0])} `{command(found)}`"
    if found.quick and own.quick.says:
        yield ""
        yield f"Quick: {own.quick.says}"
    yield ""
    name = published.name.replace("/", "-")
    if own.chart.kind == "time":
        yield "A picture of each run over time: `mptcplab show papers-out/runs/...`, of these runs:"
        yield ""
        for row, directory in zip(found.results.rows, found.directories, strict=True):
            at = ", ".join(f"{key} = {value}" for key, value in row.point.items())
            yield f"- `runs/{directory.name}`: {at}, seed {row.seed}"
    else:
        yield f"![{own.title}]({name}.svg)"
    for table in tables(found):
        yield ""
        yield f"**{table.title}**"
        yield ""
        yield from _markdown(table)
    yield ""
    for judged in found.judged:
        claim = judged.claim
        yield f"- **{judged.verdict}**: {claim.says} ({claim.place})"
        yield from (f"  - {line}" for line in _evidence(judged))
        if claim.holds is not None:
            yield f"  - `{' '.join(claim.holds.split())}`"
        yield from (f"  - {line}" for line in _reasons(judged))
    yield ""
    yield f"Data: [{_DATA}/{name}.csv]({_DATA}/{name}.csv)"


def _summary(papers: Mapping[str, Sequence[Reproduced]], missing: Sequence[str]) -> str:
    every = [judged for group in papers.values() for found in group for judged in found.judged]
    counts = ", ".join(
        f"{verdict}: {sum(judged.verdict is verdict for judged in every)}" for verdict in Verdict
    )
    lines = [
        "<!-- Written by `mptcplab papers publish`. -->",
        "# Published results, run again",
        "",
        f"{len(every)} claims of {len(papers)} papers. {counts}. [How]({_HOW_TO}) they are run and",
        "judged. Of runs marked *quick* a thinner grid was run; the page of the paper says which.",
        "",
    ]
    if missing:
        lines += [f"Not run yet: {', '.join(missing)}.", ""]
    rows = [
        (
            f"[{found.published.name}]({paper}.md)" + (" (quick)" if found.quick else ""),
            judged.claim.says,
            "; ".join(_evidence(judged)),
            f"**{judged.verdict}**",
        )
        for paper, group in papers.items()
        for found in group
        for judged in found.judged
    ]
    lines += _markdown(Table("", ("figure", "claim", "figures", "verdict"), tuple(rows)))
    return "\n".join(lines) + "\n"


def _markdown(table: Table) -> Iterator[str]:
    for number_, cells in enumerate((table.head, *table.rows)):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        if not number_:
            yield "|" + "---|" * len(cells)


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}."


def _csv_number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _write(file: Path, content: str) -> Path:
    store.write(file, content.encode())
    return file
