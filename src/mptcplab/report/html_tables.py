# SPDX-License-Identifier: GPL-2.0-only
"""The tables of a report's page, as data: what its template writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from mptcplab import units
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures
from mptcplab.metrics.inference import Difference, differences, summary
from mptcplab.metrics.schema import Figures
from mptcplab.metrics.views import shown_metrics
from mptcplab.report import charts
from mptcplab.report.charts import METRICS
from mptcplab.report.plotly_charts import PERCENT, spread
from mptcplab.report.tables import how
from mptcplab.runs.collection import Found, Group
from mptcplab.runs.entries import Entry, by_seed, compared, ended_well, seeds_changed_nothing
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Scenario, Shape


@dataclass(frozen=True)
class Cell:
    """A cell, or a head: its text, the smaller text below it, and the text shown on hovering.

    `scheduler` replaces the text, with its marker; `span` is the number of columns.
    """

    text: str = ""
    below: str = ""
    more: str = ""
    is_text: bool = False
    scheduler: str = ""
    span: int = 1


@dataclass(frozen=True)
class Row:
    """A row; one of a scheduler can be hidden.

    For a run, `run` identifies the data of its time series, or is "", `label` names the run, and
    `place` is where its files are.
    """

    cells: Sequence[Cell]
    scheduler: str = ""
    failed: bool = False
    run: str = ""
    label: str = ""
    place: str = ""


@dataclass(frozen=True)
class Table:
    """A table; one without rows is left out. One that `is_long` is scrolled; rows of runs can be
    opened.
    """

    heads: Sequence[Cell]
    rows: Sequence[Row]
    title: str = ""
    is_long: bool = False
    kind: Literal["", "summary", "runs"] = ""


P = TypeVar("P", bound=Figures)


@dataclass(frozen=True)
class _Column(Generic[P]):
    """A column for a part of a run: the head, the divisor, and the value."""

    head: str
    unit: str
    scale: float
    value: Callable[[P], float | None]


_OF_CONNECTIONS: Sequence[_Column[ConnectionFigures]] = (
    _Column("Goodput", "Mbit/s", 1e6, lambda one: one.goodput_bps),
    _Column("Goodput in the common time", "Mbit/s", 1e6, lambda one: one.common_goodput_bps),
    _Column("Share in the common time", "%", 0.01, lambda one: one.share),
    _Column("Taken over after", "s", 1, lambda one: one.takeover_s),
    _Column("Retransmitted packets", "", 1, lambda one: one.metrics.retransmitted_packets),
)
_OF_LINKS: Sequence[_Column[LinkFigures]] = (
    _Column("Carried", "Mbit/s", 1e6, lambda one: one.carried_bps),
    _Column("Utilisation", "%", 0.01, lambda one: one.utilisation),
    _Column("Queueing delay, mean", "ms", 1, lambda one: one.queue_delay_ms_mean),
    _Column("Dropped by the queue", "packets", 1, lambda one: one.queue_dropped_packets),
)


def summary_table(group: Group) -> Table:
    """A row for each scheduler, and for plain TCP over each path."""
    metrics = _shown(group)

    def row(first: Cell, runs: Sequence[Entry], scheduler: str = "") -> Row:
        good = ended_well(runs)
        seeds = f"{len(good)} of {len(runs)}" if len(good) < len(runs) else str(len(good))
        return Row([first, Cell(seeds), *(_of_seeds(good, name) for name in metrics)], scheduler)

    rows = [
        row(Cell(scheduler=scheduler), runs, scheduler)
        for scheduler, runs in compared(group.entries()).items()
    ]
    baselines = [run.entry for run in group.baselines]
    for path, runs in compared(baselines, "path").items():
        rows.append(row(Cell(f"plain TCP over {path} alone"), runs))
    heads = (Cell("Scheduler"), Cell("Seeds"), *(_head(name, metrics) for name in metrics))
    return Table(heads, rows, "Summary", kind="summary")


def part_tables(group: Group) -> list[Table]:
    """The figures of each of several connections, and of the links that they share."""
    return [
        _parts_table(
            *(group, "Connections", ("Connection", "How")),
            lambda run: run.connections,
            lambda one: (one.name, how(one)),
            _OF_CONNECTIONS,
        ),
        _parts_table(
            *(group, "Links", ("Link",)),
            lambda run: run.links,
            lambda one: (f"{one.name} {one.direction}",),
            _OF_LINKS,
        ),
    ]


def _parts_table(
    group: Group,
    title: str,
    what: Sequence[str],
    parts: Callable[[Entry], Sequence[P]],
    texts: Callable[[P], Sequence[str]],
    columns: Sequence[_Column[P]],
) -> Table:
    """A table of the `parts` of runs: a row for each with each scheduler."""
    rows = []
    for scheduler, runs in compared(group.entries()).items():
        good = ended_well(runs)
        for index, first in enumerate(parts(good[0]) if good else ()):
            mine = [parts(run)[index] for run in good]
            names = [Cell(text, is_text=True) for text in texts(first)]
            cells = [_median(map(column.value, mine), column.scale) for column in columns]
            rows.append(Row([Cell(scheduler=scheduler), *names, *cells], scheduler))
    heads = [
        *(Cell(head, is_text=True) for head in ("Scheduler", *what)),
        *(Cell(column.head, column.unit) for column in columns),
    ]
    return Table(heads, rows, title)


def difference_table(group: Group) -> Table:
    """How schedulers differ on the same seeds: all pairs for the first figure, else from one."""
    rows, metrics = [], _shown(group)
    for number, metric in enumerate(metrics):
        values = by_seed(group.entries(), metric)
        reference = next(iter(values), "")
        for (first, second), each in differences(values).items():
            if number == 0 or first == reference:
                rows.append(_difference_row(metric, metrics, first, second, each))
    heads = (
        Cell("Figure"), Cell("of", is_text=True), Cell("minus", is_text=True),
        Cell("Median difference"), Cell(f"{PERCENT} % interval"), Cell("Effect size"), Cell("p"),
        Cell("p, adjusted"), Cell("Pairs"),
    )  # fmt: skip
    return Table(heads, rows, is_long=True)


def _difference_row(
    metric: str, beside: Sequence[str], first: str, second: str, each: Difference
) -> Row:
    _, scale = charts.shown(METRICS[metric])
    interval = "-"
    if each.low is not None and each.high is not None:
        interval = f"{each.low / scale:+.4g} .. {each.high / scale:+.4g}"
    head = _head(metric, beside)
    numbers = (
        f"{each.median / scale:+.4g}", interval, _or_dash(each.effect, "+.2f"),
        _or_dash(each.p, ".2g"), _or_dash(each.p_adjusted, ".2g"), str(each.pairs),
    )  # fmt: skip
    names = [Cell(scheduler=scheduler, is_text=True) for scheduler in (second, first)]
    figure = ", ".join(filter(None, (head.text, head.below)))
    return Row([Cell(figure), *names, *map(Cell, numbers)], second)


def run_table(group: Group, attached: Callable[[int, Found], str]) -> Table:
    """A row for each run; `attached` gives the identity of the data of its time series, or ""."""
    metrics = _shown(group)
    rows = [
        replace(_run_row(group, run, metrics), run=attached(index, run))
        for index, run in enumerate((*group.runs, *group.baselines))
    ]
    heads = (Cell("Scheduler"), Cell("Seed"), *(_head(name, metrics) for name in metrics))
    return Table(heads, rows, kind="runs")


def _run_row(group: Group, run: Found, metrics: Sequence[str]) -> Row:
    entry = run.entry
    scheduler, what = entry.label, Cell(scheduler=entry.label)
    if run.is_baseline and group.baselines:
        scheduler, what = "", Cell(f"plain TCP over {entry.path}")
    cells = [_of_run(entry, name) for name in metrics]
    failed = entry.status != "ok"
    if failed:
        cells = [Cell(f"failed: {entry.reason}", is_text=True, span=len(metrics))]
    label = f"{what.text or entry.label}, seed {entry.seed}"
    place = f"runs/{run.directory.resolve().name}" if run.directory is not None else ""
    row = [what, Cell(str(entry.seed)), *cells]
    return Row(row, scheduler, failed, label=label, place=place)


def path_table(scenario: Scenario) -> Table:
    """A row for each direction of each path and link."""
    rows = [
        Row([Cell(f"{path.name}, {direction}"), *map(Cell, _link_texts(link))])
        for path in (*scenario.paths, *scenario.links)
        for direction, link in (("up", path.up), ("down", path.down))
    ]
    return Table([*map(Cell, ("Path", "Rate", "Delay", "Jitter", "Loss", "Queue"))], rows)


def _link_texts(link: Shape) -> list[str]:
    queue = (
        f"{link.queue_packets} packets"
        if link.queue_packets is not None
        else units.SIZE.format(link.queue_bytes or 0)
    )
    played = " at first, then a trace" if link.steps else ""
    return [
        "of its links"
        if link.rate_bps == NO_RATE_BPS
        else units.format_rate(link.rate_bps) + played,
        units.format_time(link.delay_ns),
        units.format_time(link.jitter_ns),
        units.format_fraction(link.loss),
        f"{queue}, {link.queue_discipline}",
    ]


def _head(metric: str, beside: Sequence[str]) -> Cell:
    unit, _ = charts.shown(METRICS[metric])
    title = charts.title(METRICS[metric], both="goodput_down_bps" in beside)
    return Cell(title, unit, METRICS[metric].meaning)


def _shown(group: Group) -> list[str]:
    """The figures of a group's tables: figures of its workload that any run has."""
    entries = [run.entry for run in (*group.runs, *group.baselines)]
    fairness = ["fairness"] if group.scenario.connections else []
    return [
        name
        for name in (*shown_metrics(group.scenario.workload.kind), *fairness)
        if any(entry.metrics[name] is not None for entry in entries)
    ]


def _of_seeds(entries: Sequence[Entry], metric: str) -> Cell:
    values = (entry.metrics[metric] for entry in entries)
    return _median(values, charts.shown(METRICS[metric])[1])


def _median(values: Iterator[float | None], scale: float) -> Cell:
    """A median, its interval below it, and more on hovering."""
    known = [value / scale for value in values if value is not None]
    over = summary(known)
    if over is None:
        return Cell("-")
    interval = ""
    if seeds_changed_nothing(known):
        interval = "no spread"
    elif over.low is not None and over.high is not None:
        interval = f"{over.low:.4g} .. {over.high:.4g}"
    return Cell(f"{over.median:.4g}", interval, spread(over))


def _of_run(entry: Entry, metric: str) -> Cell:
    _, scale = charts.shown(METRICS[metric])
    value = entry.metrics[metric]
    return Cell(_or_dash(None if value is None else value / scale, ".4g"))


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
