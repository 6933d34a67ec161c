# SPDX-License-Identifier: GPL-2.0-only
"""Shows the results of published experiments: tables, verdicts, and the pages of docs/results/."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab.metrics import inference
from mptcplab.metrics.inference import Difference
from mptcplab.papers import results_chart
from mptcplab.papers.catalogue import PUBLISHED, QUICK, Metric
from mptcplab.papers.claims import Judged, Row, Verdict
from mptcplab.papers.reproduce import Reproduced
from mptcplab.runs import store

_QUANTILES = ("lowest", "quartile", "median", "3rd quartile", "highest")
_DIGITS = 4
_SCHEDULER = "scheduler"
_DATA = "data"
_HOW_TO = "../papers.md"
_SIGNIFICANT = 0.05
_READING = (
    "To read it: tables and charts have medians over the seeds, with their 95 % bootstrap "
    "intervals; so have the figures of a claim, in brackets, and its verdict the share of the "
    "resamples in which it holds. Schedulers are compared in pairs: "
    "the median difference, in brackets the effect size (1 if it is more in every pair, -1 if it "
    "is less in every one), and a star if p < 0.05, adjusted for all pairs of schedulers. "
    f"[More]({_HOW_TO}#statistics)"
)


@dataclass(frozen=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(found: Reproduced) -> list[Table]:
    """The figures of an experiment as its chart arranges them, a table for each metric.

    A last one compares the schedulers by the first metric, in pairs.
    """
    own = found.published.experiment
    chart = own.chart
    wanted = [metric for name in chart.y for metric in own.metric if metric.name == name]
    if chart.kind == "time":
        return [_overview(found, own.metric), *_comparison(found, own.metric[0])]
    spread = chart.kind == "cdf" or chart.x == chart.series
    table = _spread_table if spread else _pivot
    return [*(table(found, metric) for metric in wanted), *_comparison(found, wanted[0])]


def differences(found: Reproduced, metric: Metric) -> dict[tuple[str, str], Difference]:
    """How schedulers differ in a metric where all else is the same, by pairs of schedulers.

    Two runs of the same setting and seed are a pair. Empty if the scheduler is not an axis.
    """
    results = found.results
    values: dict[str, dict[int, float | None]] = {}
    places: dict[Any, int] = {}
    for row in results.rows if _SCHEDULER in results.axes else ():
        place = results.setting(row, [_SCHEDULER]), results.seed(row)
        number_ = places.setdefault(place, len(places))
        values.setdefault(row.point[_SCHEDULER], {})[number_] = row.figures[metric.name]
    return inference.differences(values)


def text(found: Reproduced) -> str:
    """The whole result, for a terminal."""
    lines = [f"{found.published.name}: {found.published.experiment.title}", *_how(found)]
    for table in tables(found):
        lines += ["", table.title, *_columns(table)]
    lines += ["", "Claims"]
    for judged in found.judged:
        claim = judged.claim
        verdict = f"{judged.verdict.upper()}{_shares(judged)}"
        lines.append(f"  {verdict}: {claim.says} ({claim.place})")
        lines += [f"      {line}" for line in _evidence(judged)]
        lines += [f"      {line}" for line in _reasons(judged)]
    return "\n".join(lines)


def publish(
    found: Sequence[Reproduced], directory: Path, missing: Sequence[str] = ()
) -> list[Path]:
    """Write the pages of some experiments, their charts and their data; returns the files.

    A page per paper, and README.md with a row per claim, and the names of missing experiments.
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
            if pairs := pairs_csv_text(each):
                written.append(_write(directory / _DATA / f"{name}-pairs.csv", pairs))
            written.append(_write(directory / f"{name}.svg", results_chart.svg(each)))
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


def pairs_csv_text(found: Reproduced) -> str:
    """A line per metric and pair of schedulers: how the second differs; "" if unknown for all."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    numbers_head = ("median", "low", "high", "effect", "p", "p_adjusted")
    writer.writerow(("metric", "scheduler", "less_that_of", "pairs", *numbers_head))
    lines = 0
    for metric in found.published.experiment.metric:
        for (first, second), each in differences(found, metric).items():
            if each.low is None:
                continue
            figures = (each.median, each.low, each.high, each.effect, each.p, each.p_adjusted)
            numbers = [_csv_number(value) for value in figures]
            writer.writerow((metric.name, second, first, each.pairs, *numbers))
            lines += 1
    return content.getvalue() if lines else ""


def number(value: Any, digits: int = _DIGITS) -> str:
    """A figure with some significant digits; anything else as it is."""
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
    across = f"across: {found.published.experiment.axis.get(chart.x, chart.x)}"
    return Table(f"{_title(metric)}; {across}", (*left, *xs), tuple(rows))


def _spread_table(found: Reproduced, metric: Metric) -> Table:
    chart, results = found.published.experiment.chart, found.results
    rows = []
    for panel in results.axes.get(chart.panels, [None]):
        for series in results.axes[chart.series]:
            wanted = {chart.series: series}
            if chart.panels:
                wanted[chart.panels] = panel
            over = inference.summary(_figures(results.where(**wanted), metric.name))
            label = [str(series)] if panel is None else [str(panel), str(series)]
            cells = ["-"] * len(_QUANTILES)
            if over:
                quantiles = (over.lowest, over.lower_quartile, over.median)
                cells = [number(q) for q in (*quantiles, over.upper_quartile, over.highest)]
            rows.append((*label, *cells, str(over.n if over else 0)))
    left = [chart.panels, chart.series] if chart.panels else [chart.series]
    return Table(_title(metric), (*left, *_QUANTILES, "runs"), tuple(rows))


def _overview(found: Reproduced, metrics: Sequence[Metric]) -> Table:
    """A row for each setting, a column for each metric."""
    results = found.results
    axes = [name for name in results.axes if name not in results.seed_axes]
    points: dict[Any, list[Row]] = {}
    for row in results.rows:
        points.setdefault(results.setting(row), []).append(row)
    rows = tuple(
        (
            *(str(group[0].point.get(name, "")) for name in axes),
            *(_median(group, metric.name) for metric in metrics),
        )
        for group in points.values()
    )
    return Table("Figures of the runs", (*axes, *map(_title, metrics)), rows)


def _comparison(found: Reproduced, metric: Metric) -> list[Table]:
    """A row per scheduler with its difference from each in a column; empty for single pairs."""
    all_pairs = differences(found, metric)
    compared = {key: each for key, each in all_pairs.items() if each.effect is not None}
    if not compared:
        return []
    names = list(dict.fromkeys(itertools.chain(*compared)))
    rows = []
    for second in names[1:]:
        cells = [
            _difference(compared.get((first, second))) if names.index(first) < names.index(second)
            else ""
            for first in names[:-1]
        ]  # fmt: skip
        rows.append((second, *cells))
    counts = [each.pairs for each in compared.values()]
    pairs = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    title = f"{_title(metric)}: the row's less the column's, same setting and seed; {pairs} pairs"
    return [Table(title, ("", *names[:-1]), tuple(rows))]


def _difference(each: Difference | None) -> str:
    """The median of the differences and the effect size, with a star if it is significant."""
    if each is None or each.effect is None:
        return "-"
    sure = each.p_adjusted is not None and each.p_adjusted < _SIGNIFICANT
    text = number(each.median)
    sign = "" if text == "0" or text.startswith("-") else "+"
    return f"{sign}{text} ({each.effect:+.2f}{'*' if sure else ''})"


def _median(rows: Sequence[Row], name: str) -> str:
    """The median over the seeds, and its interval if there is a spread."""
    over = inference.summary(_figures(rows, name))
    if over is None:
        return "-"
    middle = number(over.median)
    if over.low is None or over.high is None:
        return middle
    low, high = number(over.low), number(over.high)
    return middle if low == high else f"{middle} ({low} to {high})"


def _figures(rows: Sequence[Row], name: str) -> list[float | None]:
    return [row.figures[name] for row in rows]


def _title(metric: Metric) -> str:
    return f"{metric.title}, {metric.unit}" if metric.unit else metric.title


# Text


def _how(found: Reproduced) -> list[str]:
    count = len({found.results.seed(row) for row in found.results.rows})
    seeds = "1 seed" if count == 1 else f"{count} seeds"
    what = "quick runs" if found.quick else "all runs"
    lines = [f"{what}, {len(found.results.rows)} of them, {seeds}; kernel {found.build['kernel']}"]
    if found.quick and found.published.experiment.quick.says:
        lines.append(f"quick: {found.published.experiment.quick.says}")
    if count == 1 and found.published.experiment.design is None:
        lines.append("with a single seed it is not known how much depends on the seed")
    return lines


def command(found: Reproduced) -> str:
    own = found.published.experiment
    words = ["mptcplab papers run", found.published.name]
    if found.quick:
        words.append("--quick")
    if found.repeat != own.part(QUICK if found.quick else PUBLISHED).repeat:
        words.append(f"--repeat {found.repeat}")
    return " ".join(words)


def _evidence(judged: Judged) -> Iterator[str]:
    for name, figure in judged.claim.figures.items():
        unit = f" {figure.unit}" if figure.unit else ""
        paper = "" if figure.paper is None else f"; paper: {number(figure.paper)}{unit}"
        ours = _with_interval(judged.ours.get(name), judged.intervals.get(name))
        yield f"{figure.says or name}: {ours}{unit}{paper}"


def _with_interval(value: Any, interval: Any) -> str:
    """A figure, and its interval, if there is one."""
    if isinstance(value, list | tuple):
        each = zip(value, interval or [None] * len(value), strict=True)
        return ", ".join(_with_interval(*pair) for pair in each) or number(value)
    if interval is None:
        return number(value)
    low, high = map(number, interval)
    return number(value) if low == high else f"{number(value)} ({low} to {high})"


def _shares(judged: Judged) -> str:
    """In which share of the resamples the claim holds; "" if it is not judged by them."""
    if judged.p_holds is None:
        return ""
    return f" ({judged.p_holds:.0%} of the resamples)"


def _reasons(judged: Judged) -> Iterator[str]:
    yield from map(_sentence, judged.reasons)
    if judged.provisional:
        yield f"Not yet varied: {', '.join(judged.not_varied)}."
    for each in judged.because:
        figures = (
            f"{f.says or name}: {number(each.ours[name])}"
            for name, f in each.because.figures.items()
        )
        yield " ".join([each.because.says, *("; ".join(figures),)]).rstrip()


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
    lines += [_READING, ""]
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
    how, *notes = _how(found)
    yield f"{_sentence(how)} `{command(found)}`"
    for note in notes:
        yield ""
        yield _sentence(note.rstrip("."))
    yield ""
    name = published.name.replace("/", "-")
    yield f"![{own.title}]({name}.svg)"
    if own.chart.kind == "time":
        yield ""
        yield (
            "The first seed of each scheduler. `mptcplab show papers-out/runs/KEY` draws all there "
            "is of one, with these keys:"
        )
        yield ""
        for row, directory in zip(found.results.rows, found.directories, strict=True):
            if row.seed == found.results.rows[0].seed:
                at = ", ".join(f"{key} = {value}" for key, value in row.point.items())
                yield f"- `{directory.name}`: {at}"
    for table in tables(found):
        yield ""
        yield f"**{table.title}**"
        yield ""
        yield from _markdown(table)
    yield ""
    for judged in found.judged:
        claim = judged.claim
        yield f"- **{judged.verdict}**{_shares(judged)}: {claim.says} ({claim.place})"
        yield from (f"  - {line}" for line in _evidence(judged))
        if claim.holds is not None:
            yield f"  - `{' '.join(claim.holds.split())}`"
        yield from (f"  - {line}" for line in _reasons(judged))
    yield ""
    files = [f"{name}.csv", *([f"{name}-pairs.csv"] if pairs_csv_text(found) else [])]
    yield "Data: " + ", ".join(f"[{_DATA}/{file}]({_DATA}/{file})" for file in files)


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
        "In brackets: the 95 % bootstrap interval of a figure, and the share of the resamples over",
        "which the claim holds.",
        "",
    ]
    if missing:
        lines += [f"Not run yet: {', '.join(missing)}.", ""]
    rows = [
        (
            f"[{found.published.name}]({paper}.md)" + (" (quick)" if found.quick else ""),
            judged.claim.says,
            "; ".join(_evidence(judged)),
            f"**{judged.verdict}**{_shares(judged)}",
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
