# SPDX-License-Identifier: GPL-2.0-only
"""The charts of a report as data, without their looks.

`html_page` draws them with Plotly, `paper_figures` with Matplotlib, from the same numbers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mptcplab.errors import InputError, Problem
from mptcplab.metrics import records
from mptcplab.metrics.application import completion_times_ms
from mptcplab.metrics.definitions import PATH_METRICS, RUN_METRICS, ConnectionFigures, PathFigures
from mptcplab.metrics.inference import Summary, summary
from mptcplab.metrics.recorded import data_directions, measured_direction
from mptcplab.metrics.run_files import CLIENT_SAMPLES, GUEST_OUTCOME, MESSAGES, SERVER_SAMPLES
from mptcplab.metrics.schema import Metric, metrics_of
from mptcplab.metrics.series import Floats
from mptcplab.metrics.views import VIEWS, shown_metrics
from mptcplab.mistakes import suggestion
from mptcplab.plan import timeline
from mptcplab.plan.bottlenecks import capacity_together
from mptcplab.runs import documents, store
from mptcplab.runs.collection import Collection, Found, Group, Value, in_words
from mptcplab.runs.entries import Entry, compared, ended_well
from mptcplab.scenario.limits import Direction
from mptcplab.units import NS_PER_S

#: The unit in which a figure is shown, by the unit of its definition: its name and the divisor.
SHOWN_UNITS = {"bit/s": ("Mbit/s", 1e6), "bytes": ("KiB", 1024.0)}
METRICS = {metric.name: metric for metric in RUN_METRICS}
_MBIT = 1e6
_Part = ConnectionFigures | PathFigures
_CDF_POINTS = 200  # more than a screen can show apart
_MOST_PANELS = 24
_MANY = 5  # from this many scenarios on, a distribution is drawn
_MOST_CLUSTERS = 12  # clusters of bars: more are hard to compare
# Charts of lines beside each other, and how long lines are then; a heat map of each scheduler shows
# more values of two numbers.
_PANELS = 4
_FEWEST_POINTS = 3


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

    @property
    def y_label(self) -> str:
        return _labelled(self.title, self.unit)


@dataclass(frozen=True)
class Line:
    """A line of a scheduler; `low` and `high` are its interval, over `seeds` seeds at each point.

    A line with `path`, the number of a path, is of plain TCP over this path alone.
    """

    scheduler: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    seeds: tuple[int, ...] = ()
    path: int | None = None


@dataclass(frozen=True)
class Lines:
    """Lines over the same axis. `steps`: distributions; `markers`: there are few points.

    `panel` names what its points have in common, if there are such charts beside it; `is_log`: the
    values of x are spaced by factors.
    """

    title: str
    x_label: str
    y_label: str
    note: str
    lines: tuple[Line, ...]
    steps: bool = False
    markers: bool = False
    panel: str = ""
    is_log: bool = False


@dataclass(frozen=True)
class Shares:
    """The share of the data that each path carried, or that each connection had: medians, by path
    or connection, of each scheduler.
    """

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

    @property
    def z_label(self) -> str:
        return _labelled(self.title.removesuffix(f", {self.scheduler}"), self.unit)


@dataclass(frozen=True)
class Trace:
    """A line over time; `number` counts paths or connections, None for all together.

    `is_limit`: it is what the path, or all together, can carry, in steps.
    """

    name: str
    number: int | None
    x: tuple[float, ...]
    y: tuple[float, ...]
    is_limit: bool = False


@dataclass(frozen=True)
class OverTime:
    """The goodput of a scheduler's run over time; values above `top`, if set, are cut off."""

    title: str
    x_label: str
    y_label: str
    note: str
    scheduler: str
    lines: tuple[Trace, ...]
    top: float | None


Chart = Bars | Lines | Shares | Heat | OverTime

#: More than this many times what the links can carry is cut off: the axis would be for it alone.
_BURST = 1.15
#: What that is.
BURSTS = "data that had waited for an earlier byte, delivered at once"


@dataclass(frozen=True)
class _Figure:
    """Something of a run that is drawn: its value of an entry is in `unit`, None if it has none.

    `with_tcp`: plain TCP over each path is worth a line beside it.
    """

    title: str
    unit: str
    note: str
    value: Callable[[Entry], float | None]
    with_tcp: bool = False

    @property
    def label(self) -> str:
        return _labelled(self.title, self.unit)


def of_collection(collection: Collection) -> tuple[list[list[Chart]], list[list[Chart]]]:
    """The charts over several scenarios, by figure, and the charts of each scenario."""
    groups = collection.groups
    of_groups = [of_group(group, is_only=len(groups) == 1) for group in groups]
    return overview(collection), of_groups


def overview(collection: Collection) -> list[list[Chart]]:
    """Charts over several scenarios, for each figure: of a grid, of a few, or of many."""
    groups = collection.groups
    if len(groups) < 2:
        return []
    along = _lines_along(collection)
    charts = []
    for figure in (*_figures(groups), *_path_figures(groups)):
        own = _over_groups(collection, figure, along)
        if along is None and len(groups) >= _MANY:
            own += _distribution(groups, figure)
        if own:
            charts.append(own)
    return charts


def _over_groups(collection: Collection, figure: _Figure, along: int | None) -> list[Chart]:
    """Charts of a figure over several scenarios: lines, heat maps, or clusters of bars."""
    axes = collection.axes
    if along is not None:
        return [*_lines(collection, figure, along)]
    if len(axes) == 2 and all(axis.is_number for axis in axes) and _is_grid(collection):
        return [*_heats(collection, figure)]
    if len(collection.groups) <= _MOST_CLUSTERS:
        return [*_bars(collection.groups, figure)]
    return []


def of_metric(collection: Collection, name: str = "", over: str = "") -> list[Chart]:
    """The charts of one figure, all of one kind: lines and heat maps may be several.

    `name` is that of a metric, with its unit or without; by default it is the main figure of the
    workload. `over` is the axis along which lines are drawn, by its key or name. Raises InputError
    for others, and if there is nothing to compare.
    """
    groups = collection.groups
    figure = _named_figure(groups, name)
    along = _lines_along(collection) if not over else _axis_called(collection, over)
    if len(groups) == 1:
        found: list[Chart] = [*_bars(groups, figure)]
    else:
        found = _over_groups(collection, figure, along) or [*_distribution(groups, figure)]
    if not found:
        message = "nothing to compare: a single run; mptcplab show draws it over time"
        if all(value is None for group in groups for value in map(figure.value, group.entries())):
            message = "no run has this figure"
        raise InputError([Problem("--metric", "", figure.title, message)])
    if len(found) > _MOST_PANELS:
        message = f"{len(found)} charts, one for each value of other axes; at most {_MOST_PANELS}"
        raise InputError([Problem("--over", "", over, message)])
    return found


def _named_figure(groups: Sequence[Group], name: str) -> _Figure:
    kind = groups[0].scenario.workload.kind
    known = {key: metric for metric in METRICS.values() for key in (_short(metric), metric.name)}
    name = name or shown_metrics(kind)[0]
    if name not in known:
        hint = suggestion(name, list(known)) or "; docs/metrics.md lists them"
        raise InputError([Problem("--metric", "", name, f"no figure of a run{hint}")])
    entries = (entry for group in groups for entry in group.entries())
    return _of_metric(known[name], kind, both=_goes_both_ways(entries))


def _short(metric: Metric) -> str:
    """The name of a metric without its unit: "goodput" of goodput_bps."""
    return re.sub(r"_(bps|ms|s|bytes)(?=_|$)", "", metric.name)


def _axis_called(collection: Collection, over: str) -> int:
    numbers = {n: axis for n, axis in enumerate(collection.axes) if axis.is_number}
    for number, axis in numbers.items():
        if over in (axis.key, axis.name):
            return number
    known = [axis.key or axis.name for axis in numbers.values()]
    accepted = f"; accepted is one of {', '.join(known)}" if known else "; they differ in no number"
    problem = f"the runs do not differ in it{suggestion(over, known) or accepted}"
    raise InputError([Problem("--over", "", over, problem)])


def _is_grid(collection: Collection) -> bool:
    """Whether the scenarios are most of the combinations of their values."""
    counts = [len({group.values[n] for group in collection.groups}) for n in range(2)]
    return 2 * len(collection.groups) >= counts[0] * counts[1]


def _lines_along(collection: Collection) -> int | None:
    """The index of the axis along which lines are drawn, if the others have few values."""
    values = list(zip(*(group.values for group in collection.groups), strict=True))
    lengths = {n: len(set(values[n])) for n, axis in enumerate(collection.axes) if axis.is_number}
    if not lengths:
        return None
    longest = max(lengths, key=lambda n: lengths[n])
    others = {_other_values(group, longest) for group in collection.groups}
    if others == {()}:
        return longest
    return longest if len(others) <= _PANELS and lengths[longest] >= _FEWEST_POINTS else None


def _other_values(group: Group, along: int) -> tuple[Value, ...]:
    return tuple(value for n, value in enumerate(group.values) if n != along)


def are_log(values: Sequence[float]) -> bool:
    """Whether values, in their order, are spaced by factors rather than evenly."""
    if len(values) < _FEWEST_POINTS or min(values) <= 0:
        return False
    gaps = [np.diff(each) for each in (np.array(values), np.log(values))]
    even, by_factors = (float(np.std(each) / np.mean(each)) for each in gaps)
    return by_factors < even


def of_group(group: Group, *, is_only: bool = True) -> list[Chart]:
    """Charts of one scenario; the workload's main figures come first.

    Beside other scenarios only the main one: the overview has the others.
    """
    charts: list[Chart] = []
    figures = _figures([group])
    for figure in figures[:1]:
        charts += _bars([group], figure)
    charts += _shares(group)
    charts += _over_time(group)
    charts += _distributions(group)
    for figure in figures[1:] if is_only else ():
        charts += _bars([group], figure)
    return charts


def shown(metric: Metric) -> tuple[str, float]:
    """The unit in which a figure is shown, and the divisor of its values."""
    return SHOWN_UNITS.get(metric.unit, (metric.unit, 1.0))


def title(metric: Metric, *, both: bool = False) -> str:
    """The name of a metric as words; of goodput `both` ways, it names the direction."""
    if both and metric.name == "goodput_bps":
        return "Goodput up"
    words = [word for word in metric.name.split("_") if word not in ("bps", "ms")]
    if metric.unit == "s":
        words.remove("s")
    text = " ".join("out of order" if word == "ofo" else word for word in words)
    return (text[0].upper() + text[1:]).replace("per s", "per second")


def _figures(groups: Sequence[Group]) -> list[_Figure]:
    """The figures worth a chart, of runs and connections, without figures that are 0 everywhere."""
    entries = [entry for group in groups for entry in ended_well(group.entries())]
    kinds = dict.fromkeys(group.scenario.workload.kind for group in groups)
    first = [name for kind in kinds for name in shown_metrics(kind)]
    names = dict.fromkeys([*first, *METRICS])
    used = [METRICS[name] for name in names if any(e.metrics[name] for e in entries)]
    both = _goes_both_ways(entries)
    figures = [_of_metric(metric, *kinds, both=both) for metric in used]
    return [*figures[:1], *_connection_figures(entries), *figures[1:]]


def _goes_both_ways(entries: Iterable[Entry]) -> bool:
    return any(entry.metrics.goodput_down_bps is not None for entry in entries)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _of_metric(metric: Metric, *kinds: str, both: bool) -> _Figure:
    unit, scale = shown(metric)
    return _Figure(
        title(metric, both=both),
        unit,
        metric.meaning,
        lambda run: _scaled(run.metrics[metric.name], scale),
        with_tcp=any(metric.name == each.metric for kind in kinds for each in VIEWS[kind].left),
    )


def _of_parts(
    metric: Metric, text: str, name: str, parts: Callable[[Entry], Sequence[_Part]]
) -> _Figure:
    """A figure of the path or connection that is called `name`, of the `parts` of a run."""
    unit, scale = ("%", 0.01) if metric.name.startswith("share") else shown(metric)

    def value(run: Entry) -> float | None:
        found = (_scaled(part[metric.name], scale) for part in parts(run) if part.name == name)
        return next(found, None)

    return _Figure(text.format(name), unit, metric.meaning, value)


def _connection_figures(entries: Sequence[Entry]) -> list[_Figure]:
    """The goodput of each of several connections, and in the time that they have in common."""
    names = dict.fromkeys(one.name for e in entries for one in e.connections)
    metrics = {metric.name: metric for metric in metrics_of(ConnectionFigures)}
    return [
        _of_parts(metrics[key], text, name, lambda run: run.connections)
        for key, text in (
            ("goodput_bps", "Goodput of {}"),
            ("common_goodput_bps", "Goodput of {} in the common time"),
        )
        for name in names
    ]


def _path_figures(groups: Sequence[Group]) -> list[_Figure]:
    """The figures of each path, if the scenarios have paths of the same names."""
    names = [tuple(path.name for path in group.scenario.paths) for group in groups]
    if len(set(names)) > 1 or len(names[0]) < 2:
        return []
    metrics = {metric.name: metric for metric in PATH_METRICS}
    return [
        _of_parts(metrics[key], text, name, lambda run: run.paths)
        for key, text in (
            ("share", "Share of path {}"),
            ("share_down", "Share of path {}, data down"),
            ("srtt_ms_mean", "Round trip of path {}"),
        )
        for name in names[0]
    ]


def _values(group: Group, scheduler: str, figure: _Figure) -> list[float]:
    return _known(compared(group.entries()).get(scheduler, []), figure)


def _known(runs: Sequence[Entry], figure: _Figure) -> list[float]:
    return [value for value in map(figure.value, ended_well(runs)) if value is not None]


def _schedulers(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(e.label for group in groups for e in group.entries()))


def _bars(groups: Sequence[Group], figure: _Figure) -> Iterator[Bars]:
    bars = []
    for scheduler in _schedulers(groups):
        for group in groups:
            values = _values(group, scheduler, figure)
            over = summary(values)
            if over:
                category = group.name if len(groups) > 1 else scheduler
                bars.append(Bar(scheduler, category, over, tuple(values)))
    # a single number is in the table
    if len(bars) > 1 or any(len(bar.values) > 1 for bar in bars):
        yield Bars(figure.title, figure.unit, figure.note, tuple(bars))


def _lines(collection: Collection, figure: _Figure, along: int) -> Iterator[Lines]:
    """Lines over one axis; a chart for each combination of the values of the others."""
    axis = collection.axes[along]
    for others in dict.fromkeys(_other_values(group, along) for group in collection.groups):
        groups = [each for each in collection.groups if _other_values(each, along) == others]
        at = [float(group.values[along]) for group in groups]
        of_schedulers = (
            _line(name, at, [_values(group, name, figure) for group in groups])
            for name in _schedulers(groups)
        )
        lines = [line for line in of_schedulers if line.x]
        if figure.with_tcp:
            lines += _tcp_lines(groups, at, figure)
        rest = (axis for n, axis in enumerate(collection.axes) if n != along)
        where = [in_words(axis, value) for axis, value in zip(rest, others, strict=True)]
        if lines:
            yield Lines(
                ", ".join((figure.title, *where)),
                axis.label,
                figure.label,
                figure.note,
                tuple(lines),
                markers=True,
                panel=", ".join(where),
                is_log=are_log(sorted({x for line in lines for x in line.x})),
            )


def _line(name: str, at: Sequence[float], values: Sequence[Sequence[float]]) -> Line:
    """A line of medians: at each of some numbers, the values of all seeds."""
    found = ((x, summary(own)) for x, own in zip(at, values, strict=True))
    points = sorted(((x, over) for x, over in found if over), key=lambda point: point[0])
    return Line(
        name,
        tuple(x for x, _ in points),
        tuple(over.median for _, over in points),
        tuple(over.low for _, over in points),
        tuple(over.high for _, over in points),
        tuple(over.n for _, over in points),
    )


def _tcp_lines(groups: Sequence[Group], at: Sequence[float], figure: _Figure) -> Iterator[Line]:
    """Plain TCP over each path alone, if the runs have such baselines."""
    alone = [compared([run.entry for run in group.baselines], "path") for group in groups]
    for number, path in enumerate(dict.fromkeys(name for each in alone for name in each)):
        line = _line(f"TCP over {path}", at, [_known(each.get(path, []), figure) for each in alone])
        if line.x:
            yield replace(line, low=(), high=(), path=number)


def _heats(collection: Collection, figure: _Figure) -> Iterator[Heat]:
    across, along = collection.axes
    points = [
        tuple(value for value in group.values if isinstance(value, int | float))
        for group in collection.groups
    ]
    xs, ys = (sorted({point[n] for point in points}) for n in (0, 1))
    cells: dict[str, dict[tuple[float, ...], float]] = {}
    for scheduler in _schedulers(collection.groups):
        cells[scheduler] = {
            point: over.median
            for group, point in zip(collection.groups, points, strict=True)
            if (over := summary(_values(group, scheduler, figure)))
        }
    everything = [value for each in cells.values() for value in each.values()]
    for scheduler, each in cells.items():
        if each:
            yield Heat(
                f"{figure.title}, {scheduler}",
                figure.unit,
                figure.note,
                scheduler,
                across.label,
                along.label,
                tuple(xs),
                tuple(ys),
                tuple(tuple(each.get((x, y)) for x in xs) for y in ys),
                min(everything),
                max(everything),
            )


def _distribution(groups: Sequence[Group], figure: _Figure) -> Iterator[Lines]:
    """Over all scenarios, the distribution of the medians over the seeds."""
    medians = {
        scheduler: [
            over.median for group in groups if (over := summary(_values(group, scheduler, figure)))
        ]
        for scheduler in _schedulers(groups)
    }
    yield from _cdf(
        f"{figure.title}, over the scenarios",
        _labelled(figure.title, figure.unit),
        f"Fraction of the scenarios whose median is at most this. {figure.note}",
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
    """The share of each path, in each direction, or of each of several connections."""
    several = bool(group.scenario.connections)
    if several or group.scenario.workload.direction != "both":
        yield from _shares_of(group, "share", "", several=several)
        return
    for metric, direction in (("share", "up"), ("share_down", "down")):
        yield from _shares_of(group, metric, f", data {direction}", several=False)


def _shares_of(group: Group, metric: str, direction: str, *, several: bool) -> Iterator[Shares]:
    parts = group.scenario.connections or group.scenario.paths
    shares: dict[str, dict[str, float]] = {part.name: {} for part in parts}
    for scheduler, runs in compared(group.entries()).items():
        for name, own in shares.items():
            of_runs: Iterator[Sequence[_Part]] = (
                run.connections if several else run.paths for run in ended_well(runs)
            )
            found = summary(
                [part[metric] for all_ in of_runs for part in all_ if part.name == name]
            )
            if found:
                own[scheduler] = 100 * found.median
    if any(shares.values()) and (several or len(shares) > 1):
        yield Shares(
            f"Share of each {'connection' if several else 'path'}{direction}",
            "Median over the seeds of the share that each had of the goodput while all sent."
            if several
            else "Median over the seeds of the share of all arrived data that came over each path.",
            shares,
        )


def highest_shown_bps(capacity: timeline.Steps) -> float:
    """The goodput up to which a chart over time goes if there are bursts, given what the links can
    carry together.
    """
    return _BURST * max(rate_bps for _, rate_bps in capacity)


def _over_time(group: Group) -> Iterator[OverTime]:
    """Goodput over time of the first seed of each scheduler, on one scale in each direction."""
    directions = data_directions(group.scenario)
    for direction in directions:
        yield from _one_way(group, direction, f", data {direction}" if len(directions) > 1 else "")


def _one_way(group: Group, direction: Direction, named: str) -> Iterator[OverTime]:
    capacity = capacity_together(group.scenario, direction)
    top = highest_shown_bps(capacity) / _MBIT
    found = [(run, _goodput(run, direction)) for run in first_runs(group)]
    peaks = [
        max((value for line in lines if not line.is_limit for value in line.y), default=0.0)
        for _, lines in found
    ]
    for (run, lines), peak in zip(found, peaks, strict=True):
        burst = f" Bursts up to {peak:.0f} Mbit/s are cut off: {BURSTS}." if peak > top else ""
        yield OverTime(
            f"Goodput over time, {run.entry.label}{named}",
            "Time since the start of the workload (s)",
            "Mbit/s",
            f"Seed {run.entry.seed}. Dashed: the capacity of the links.{burst}",
            run.entry.label,
            tuple(lines),
            top if max(peaks) > top else None,
        )


def first_runs(group: Group) -> list[Found]:
    """Of each scheduler, the run with the lowest seed of those whose files are there."""
    found: dict[str, Found] = {}
    for run in sorted(group.runs, key=lambda run: run.entry.seed):
        if has_series(run):
            found.setdefault(run.entry.label, run)
    return [found[name] for name in _schedulers([group]) if name in found]


def has_series(run: Found) -> bool:
    """Whether the run is to be opened and has left samples: a program may make no connection."""
    return (
        run.is_opened
        and run.entry.status == "ok"
        and run.directory is not None
        and store.has_series(run.directory)
        and run.entry.no_figures is None
    )


def _goodput(run: Found, direction: Direction) -> list[Trace]:
    """The goodput of a run in Mbit/s: of each path, or of each connection, and of all together."""
    assert run.directory is not None, "first_runs gives runs with files"
    found = store.read_series(run.directory)
    edges_s = [edge / NS_PER_S for edge in found.edges_ns.tolist()]
    middle_s = tuple((a + b) / 2 for a, b in pairwise(edges_s))
    scenario = run.scenario
    names = [each.name for each in scenario.connections or scenario.paths]
    lines, total = [], np.zeros(len(middle_s))
    panel = next(each for each in found.panels if each.side in ("", direction))
    for each in panel.series:
        values = each.values / panel.scale
        if each.what != "goodput":
            continue
        if each.path is None or scenario.connections:
            total = total + values
        if each.path in names:
            number = names.index(each.path)
            lines.append(Trace(each.path, number, middle_s, tuple(values.tolist())))
    what = "all" if scenario.connections else "in order"
    lines.append(Trace(what, None, middle_s, tuple(total.tolist())))
    limits: list[tuple[str, int | None, timeline.Steps]] = [
        ("links", None, capacity_together(scenario, direction))
    ]
    if not scenario.connections and not scenario.links and len(names) > 1:
        rates = timeline.rates(scenario, direction)
        limits += [(f"link of {name}", number, rates[name]) for number, name in enumerate(names)]
    return [*(_limit(*limit, edges_s[-1]) for limit in limits), *lines]


def _limit(name: str, number: int | None, steps: timeline.Steps, end_s: float) -> Trace:
    shown = [(at_ns / NS_PER_S, rate_bps / _MBIT) for at_ns, rate_bps in steps]
    shown = [(at_s, mbps) for at_s, mbps in shown if at_s <= end_s]
    x, y = zip(*shown, (end_s, shown[-1][1]), strict=True)
    return Trace(name, number, x, y, is_limit=True)


def _distributions(group: Group) -> Iterator[Lines]:
    """Over all seeds: how long messages took, and how much data waited out of order. With several
    connections each has its own, and they are not merged.
    """
    if group.scenario.connections:
        return
    messages: dict[str, list[Floats]] = {}
    waiting: dict[str, list[Floats]] = {}
    for run in group.runs:
        # a sweep does not keep these records
        if not has_series(run) or run.directory is None or not store.has_records(run.directory):
            continue
        scheduler = run.entry.label
        if (run.directory / MESSAGES).exists():
            guest = documents.read(run.directory / GUEST_OUTCOME, documents.GUEST)
            own = completion_times_ms(
                run.scenario, records.read_messages(run.directory / MESSAGES), guest.start_ns
            )
            messages.setdefault(scheduler, []).append(np.array(own, dtype=np.float64))
        receiver = SERVER_SAMPLES if measured_direction(run.scenario) == "up" else CLIENT_SAMPLES
        samples = records.read_samples(run.directory / receiver).connection
        queue = samples["ofo_bytes"] / 1024
        waiting.setdefault(scheduler, []).append(queue.astype(np.float64))
    joined: Callable[[list[Floats]], Floats] = functools.partial(np.concatenate, axis=0)
    yield from _cdf(
        "Completion times of messages",
        "Time from when it was due until it has arrived (ms)",
        "Fraction of the messages of all seeds that took at most this long.",
        {name: joined(each) for name, each in messages.items()},
    )
    yield from _cdf(
        "Out-of-order queue, distribution",
        "Waiting for an earlier byte (KiB)",
        "Fraction of the samples of all seeds, warm-up included, that are at most this large.",
        {name: joined(each) for name, each in waiting.items()},
    )


def _labelled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name
