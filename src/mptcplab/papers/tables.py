# SPDX-License-Identifier: GPL-2.0-only
"""The tables of a published experiment: figures as its chart arranges them, and the paper's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics import inference
from mptcplab.metrics.inference import Difference, Summary
from mptcplab.papers.catalogue import Metric
from mptcplab.papers.reproduce import Reproduced
from mptcplab.papers.samples import Row
from mptcplab.papers.wording import at, number, title, with_unit

_QUANTILES = ("lowest", "quartile", "median", "3rd quartile", "highest")
_SCHEDULER = "scheduler"
_SIGNIFICANT = 0.05


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
        return [overview(found, own.metric), *_comparison(found, own.metric[0])]
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


def beside_paper(found: Reproduced) -> Table | None:
    """The paper's own numbers beside our medians there; None if the file has none."""
    own = found.published.experiment
    metrics = {metric.name: metric for metric in own.metric}
    rows = []
    for each in own.reported:
        metric = metrics[each.metric]
        over = inference.summary(_figures(found.results.where(**each.at), each.metric))
        rows.append(
            (
                metric.title,
                at(each.at, own.axis),
                with_unit(number(each.value), metric.unit) + (" (read off)" * each.read_off),
                with_unit(_with_interval(over), metric.unit),
                _more(over.median if over else None, each.value),
            )
        )
    head = ("figure", "where", "the paper", "here", "here, compared with the paper")
    return Table("The paper's numbers", head, tuple(rows)) if rows else None


def pooled_over(found: Reproduced) -> list[str]:
    """The axes of several values that neither chart nor tables tell apart."""
    own, results = found.published.experiment, found.results
    chart = own.chart
    if own.design or chart.kind in ("cdf", "time"):
        return []
    shown = {chart.x, chart.series, chart.panels, *results.seed_axes}
    if own.case and "case" in shown:
        shown |= {key for case in own.case for key in case}
    return [name for name, values in results.axes.items() if len(values) > 1 and name not in shown]


def markdown(table: Table) -> str:
    """A table of a page."""
    head, *rows = (
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for cells in (table.head, *table.rows)
    )
    return "\n".join([head, "|" + "---|" * len(table.head), *rows])


def columns(table: Table) -> list[str]:
    """The lines of a table for a terminal."""
    lines = [table.head, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.head))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]


# Details


def _pivot(found: Reproduced, metric: Metric) -> Table:
    """A row for each of the series, in each panel; a column for each value of x."""
    chart, axes = found.published.experiment.chart, found.results.axes

    def medians(of: Mapping[str, Any]) -> list[str]:
        rows = (found.results.where(**{chart.x: x, **of}) for x in axes[chart.x])
        return [_median(each, metric.name) for each in rows]

    across = f"across: {found.published.experiment.axis.get(chart.x, chart.x)}"
    return _by_series(found, f"{title(metric)}; {across}", map(str, axes[chart.x]), medians)


def _spread_table(found: Reproduced, metric: Metric) -> Table:
    """A row for each of the series, in each panel: how its runs are spread."""

    def spread(of: Mapping[str, Any]) -> list[str]:
        over = inference.summary(_figures(found.results.where(**of), metric.name))
        if over is None:
            return [*"-" * len(_QUANTILES), "0"]
        quantiles = (over.lowest, over.lower_quartile, over.median, over.upper_quartile)
        return [*map(number, (*quantiles, over.highest)), str(over.n)]

    return _by_series(found, title(metric), (*_QUANTILES, "runs"), spread)


def _by_series(
    found: Reproduced,
    text: str,
    head: Iterable[str],
    cells: Callable[[Mapping[str, Any]], Sequence[str]],
) -> Table:
    """A row for each of the series, in each panel, with the cells for these values of axes."""
    chart, axes = found.published.experiment.chart, found.results.axes
    left = [chart.panels, chart.series] if chart.panels else [chart.series]
    places = [
        dict(zip(left, values, strict=True))
        for values in itertools.product(*(axes[name] for name in left))
    ]
    rows = [(*map(str, place.values()), *cells(place)) for place in places]
    return Table(text, (*left, *head), tuple(rows))


def overview(found: Reproduced, metrics: Sequence[Metric]) -> Table:
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
    return Table("Figures of the runs", (*axes, *map(title, metrics)), rows)


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
    text = f"{title(metric)}: the row's less the column's, same setting and seed; {pairs} pairs"
    return [Table(text, ("", *names[:-1]), tuple(rows))]


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
    return _with_interval(inference.summary(_figures(rows, name)))


def _with_interval(over: Summary | None) -> str:
    if over is None:
        return "-"
    middle = number(over.median)
    if over.low is None or over.high is None:
        return middle
    low, high = number(over.low), number(over.high)
    return middle if low == high else f"{middle} ({low} to {high})"


def _figures(rows: Sequence[Row], name: str) -> list[float | None]:
    return [row.figures[name] for row in rows]


def _more(ours: float | None, paper: float) -> str:
    """By how many percent ours is more."""
    return "-" if ours is None or not paper else f"{100 * (ours / paper - 1):+.0f} %"
