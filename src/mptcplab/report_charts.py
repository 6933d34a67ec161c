# SPDX-License-Identifier: GPL-2.0-only
"""The charts of a report as data: what is drawn, not how.

`report_page` draws them with Plotly, `report_figures` with Matplotlib, from the same numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mptcplab import records, store
from mptcplab.application import APPLICATION_METRICS, completion_times_ms
from mptcplab.collection import Collection, Found, Group
from mptcplab.engine import CLIENT_SAMPLES, GUEST_OUTCOME, MESSAGES, SERVER_SAMPLES
from mptcplab.inference import Summary, summary
from mptcplab.metrics import RUN_METRICS
from mptcplab.recorded import measured_way
from mptcplab.report import compared, ended_well, shown_metrics
from mptcplab.schema import Metric
from mptcplab.series import Floats

#: In which unit a metric is shown, by that of its definition: the name and what to divide by.
SHOWN_UNITS = {"bit/s": ("Mbit/s", 1e6), "bytes": ("KiB", 1024.0)}
METRICS = {metric.name: metric for metric in (*RUN_METRICS, *APPLICATION_METRICS)}
_CDF_POINTS = 200  # more than can be told apart on a screen
_MANY = 5  # scenarios of which a distribution is worth a look


@dataclass(frozen=True)
class Bar:
    """A figure of a scheduler over its seeds, in one of the scenarios."""

    scheduler: str
    category: str
    summary: Summary
    values: tuple[float, ...]


@dataclass(frozen=True)
class Bars:
    """Medians with their intervals, and a dot for each seed; a cluster for each category."""

    title: str
    unit: str
    note: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Line:
    """A line of a scheduler; `low` and `high` are its interval."""

    scheduler: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Lines:
    """Lines over the same axis. `steps`: distributions; `markers`: there are few points."""

    title: str
    x_label: str
    y_label: str
    note: str
    lines: tuple[Line, ...]
    steps: bool = False
    markers: bool = False


@dataclass(frozen=True)
class Shares:
    """What each path carried of the data of a scheduler: medians, by path, of each scheduler."""

    title: str
    note: str
    paths: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Heat:
    """A figure of one scheduler over two numbers, rows by y; `low` to `high` are of all of them."""

    title: str
    unit: str
    note: str
    scheduler: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    z: tuple[tuple[float | None, ...], ...]
    low: float
    high: float


Chart = Bars | Lines | Shares | Heat


def overview(collection: Collection) -> list[list[Chart]]:
    """Charts over several scenarios, for each figure: a grid's, or those of some, or of many."""
    groups, axes = collection.groups, collection.axes
    if len(groups) < 2:
        return []
    charts: list[list[Chart]] = []
    for metric in _metrics(groups):
        own: list[Chart] = []
        if len(axes) == 1:
            own += _lines(collection, metric)
        else:
            own += _heats(collection, metric) if len(axes) == 2 else _bars(groups, metric)
            if len(groups) >= _MANY:
                own += _distribution(groups, metric)
        if own:
            charts.append(own)
    return charts


def of_group(group: Group) -> list[Chart]:
    """Charts of one scenario; the first are of what its workload is about."""
    charts: list[Chart] = []
    metrics = _metrics([group])
    for metric in metrics[:1]:
        charts += _bars([group], metric)
    charts += _shares(group)
    charts += _over_time(group)
    charts += _distributions(group)
    for metric in metrics[1:]:
        charts += _bars([group], metric)
    return charts


def shown(metric: Metric) -> tuple[str, float]:
    """The unit in which a metric is shown, and what its values are to be divided by."""
    return SHOWN_UNITS.get(metric.unit, (metric.unit, 1.0))


def title(metric: Metric) -> str:
    """The name of a metric as words."""
    words = [word for word in metric.name.split("_") if word not in ("bps", "ms")]
    if metric.unit == "s":
        words.remove("s")
    text = " ".join("out of order" if word == "ofo" else word for word in words)
    return (text[0].upper() + text[1:]).replace("per s", "per second")


def _metrics(groups: Sequence[Group]) -> list[Metric]:
    """Those that a run has and that say something: what is 0 everywhere does not."""
    entries = [entry for group in groups for entry in ended_well(group.entries())]
    kinds = dict.fromkeys(group.scenario.workload.kind for group in groups)
    first = [name for kind in kinds for name in shown_metrics(kind)]
    names = dict.fromkeys([*first, *METRICS])
    return [METRICS[name] for name in names if any(entry["metrics"].get(name) for entry in entries)]


def _values(group: Group, scheduler: str, metric: Metric) -> list[float]:
    _, scale = shown(metric)
    runs = compared(group.entries()).get(scheduler, [])
    known = (entry["metrics"].get(metric.name) for entry in ended_well(runs))
    return [value / scale for value in known if value is not None]


def _schedulers(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(e["scheduler"] for group in groups for e in group.entries()))


def _bars(groups: Sequence[Group], metric: Metric) -> Iterator[Bars]:
    bars = []
    for scheduler in _schedulers(groups):
        for group in groups:
            values = _values(group, scheduler, metric)
            over = summary(values)
            if over:
                category = group.name if len(groups) > 1 else scheduler
                bars.append(Bar(scheduler, category, over, tuple(values)))
    if bars:
        yield Bars(title(metric), shown(metric)[0], metric.meaning, tuple(bars))


def _lines(collection: Collection, metric: Metric) -> Iterator[Lines]:
    (axis,) = collection.axes
    unit, _ = shown(metric)
    lines = []
    for scheduler in _schedulers(collection.groups):
        points = [
            (group.values[0], over)
            for group in collection.groups
            if (over := summary(_values(group, scheduler, metric)))
        ]
        if points:
            x, found = zip(*points, strict=True)
            lines.append(
                Line(
                    scheduler,
                    x,
                    tuple(each.median for each in found),
                    tuple(each.low for each in found),
                    tuple(each.high for each in found),
                )
            )
    if lines:
        yield Lines(
            title(metric),
            _labelled(axis.name, axis.unit),
            unit or title(metric),
            metric.meaning,
            tuple(lines),
            markers=True,
        )


def _heats(collection: Collection, metric: Metric) -> Iterator[Heat]:
    across, along = collection.axes
    xs, ys = (sorted({group.values[n] for group in collection.groups}) for n in (0, 1))
    cells: dict[str, dict[tuple[float, ...], float]] = {}
    for scheduler in _schedulers(collection.groups):
        cells[scheduler] = {
            group.values: over.median
            for group in collection.groups
            if (over := summary(_values(group, scheduler, metric)))
        }
    everything = [value for each in cells.values() for value in each.values()]
    for scheduler, each in cells.items():
        if each:
            yield Heat(
                f"{title(metric)}, {scheduler}",
                shown(metric)[0],
                metric.meaning,
                scheduler,
                _labelled(across.name, across.unit),
                _labelled(along.name, along.unit),
                tuple(xs),
                tuple(ys),
                tuple(tuple(each.get((x, y)) for x in xs) for y in ys),
                min(everything),
                max(everything),
            )


def _distribution(groups: Sequence[Group], metric: Metric) -> Iterator[Lines]:
    """Over all scenarios, the distribution of the medians over the seeds."""
    medians = {
        scheduler: [
            over.median for group in groups if (over := summary(_values(group, scheduler, metric)))
        ]
        for scheduler in _schedulers(groups)
    }
    yield from _cdf(
        f"{title(metric)}, over the scenarios",
        _labelled(title(metric), shown(metric)[0]),
        f"The part of the scenarios whose median is at most this. {metric.meaning}",
        {name: np.array(values) for name, values in medians.items()},
    )


def _cdf(name: str, label: str, note: str, values: dict[str, Floats]) -> Iterator[Lines]:
    lines = []
    for scheduler, own in values.items():
        if len(own) < 2:
            continue
        ranks = np.arange(1, len(own) + 1) / len(own)
        if len(own) > _CDF_POINTS:
            ranks = np.arange(1, _CDF_POINTS + 1) / _CDF_POINTS
        found = np.quantile(own, ranks, method="inverted_cdf").tolist()
        # nothing is below the lowest
        lines.append(Line(scheduler, (found[0], *found), (0.0, *ranks.tolist())))
    if lines:
        yield Lines(name, label, "Part", note, tuple(lines), steps=True)


def _shares(group: Group) -> Iterator[Shares]:
    paths: dict[str, dict[str, float]] = {path.name: {} for path in group.scenario.paths}
    for scheduler, runs in compared(group.entries()).items():
        for path in paths:
            found = summary(
                [
                    each.get("share")
                    for run in ended_well(runs)
                    for each in run["paths"]
                    if each["name"] == path
                ]
            )
            if found:
                paths[path][scheduler] = 100 * found.median
    if len(paths) > 1 and any(paths.values()):
        yield Shares(
            "Share of each path",
            "Median over the seeds of what arrived over each path, of all that arrived.",
            paths,
        )


def _over_time(group: Group) -> Iterator[Lines]:
    """Goodput over time of the first seed of each scheduler."""
    lines = []
    for run in first_runs(group):
        panel = _series(run)
        edges, values = panel
        middle = [(a + b) / 2e9 for a, b in pairwise(edges)]
        lines.append(Line(run.entry["scheduler"], tuple(middle), tuple(values)))
    if lines:
        yield Lines(
            "Goodput over time",
            "Time since the start of the workload (s)",
            "Goodput (Mbit/s)",
            "Of the first seed of each scheduler: what arrived in order on the connection.",
            tuple(lines),
        )


def first_runs(group: Group) -> list[Found]:
    """The run with the lowest seed of each scheduler, of those whose files are there."""
    found: dict[str, Found] = {}
    for run in sorted(group.runs, key=lambda run: int(run.entry["seed"])):
        if has_series(run):
            found.setdefault(run.entry["scheduler"], run)
    return [found[name] for name in _schedulers([group]) if name in found]


def has_series(run: Found) -> bool:
    """Whether the run ended well and has left samples: a program may make no connection."""
    return (
        run.entry["status"] == "ok"
        and run.directory is not None
        and store.has_series(run.directory)
        and "no_figures" not in run.entry
    )


def _series(run: Found) -> tuple[list[float], list[float]]:
    assert run.directory is not None, "first_runs gives those with files"
    found = store.read_series(run.directory)
    goodput = found.panels[0]
    return found.edges_ns.tolist(), (goodput.series[0].values / goodput.scale).tolist()


def _distributions(group: Group) -> Iterator[Lines]:
    """Of all seeds together: how long messages took, and how much waited out of order."""
    messages: dict[str, list[Floats]] = {}
    waiting: dict[str, list[Floats]] = {}
    for run in group.runs:
        # of a swept run this is not kept
        if not has_series(run) or run.directory is None or not store.has_records(run.directory):
            continue
        scheduler = run.entry["scheduler"]
        if (run.directory / MESSAGES).exists():
            guest = store.read_json(run.directory / GUEST_OUTCOME)
            own = completion_times_ms(
                run.scenario,
                records.read_messages(run.directory / MESSAGES),
                int(guest["start_ns"]),
            )
            messages.setdefault(scheduler, []).append(np.array(own, dtype=np.float64))
        receiver = SERVER_SAMPLES if measured_way(run.scenario) == "up" else CLIENT_SAMPLES
        samples = records.read_samples(run.directory / receiver).connection
        queue = samples["ofo_bytes"] / 1024
        waiting.setdefault(scheduler, []).append(queue.astype(np.float64))
    joined: Callable[[list[Floats]], Floats] = functools.partial(np.concatenate, axis=0)
    yield from _cdf(
        "Completion times of messages",
        "Time from when it was due until it has arrived (ms)",
        "The part of the messages, of all seeds together, that took at most so long.",
        {name: joined(each) for name, each in messages.items()},
    )
    yield from _cdf(
        "Out-of-order queue over time",
        "Waiting for an earlier byte (KiB)",
        "The part of the samples, of all seeds and with the warm-up, with at most so much.",
        {name: joined(each) for name, each in waiting.items()},
    )


def _labelled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
