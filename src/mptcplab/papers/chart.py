# SPDX-License-Identifier: GPL-2.0-only
"""The chart of a published experiment, as its file defines it, with the paper's own numbers.

Lines, bars and distributions show all runs; the numbers of the paper are hollow. A chart over time
shows the run of each scheduler with the first seed: the goodput of each path, and, dashed, its
capacity.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mptcplab.metrics.inference import Summary, summary
from mptcplab.papers import wording
from mptcplab.papers.catalogue import Experiment, Metric, Reported
from mptcplab.papers.data import CAPACITY, GOODPUT, Track
from mptcplab.papers.reproduce import Reproduced
from mptcplab.report import draw
from mptcplab.report.palette import PATH_COLOURS, Style, paper_styles
from mptcplab.traces.link_trace import SINR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The axis of a chart whose series have the styles of schedulers.
_SCHEDULER = "scheduler"

_WIDTH = 9.0  # inches: as wide as a page of GitHub
_HEIGHT = 2.6  # of a row of panels
_MOST_COLUMNS = 3
_LEGEND_ROW = 0.22
_LEGEND_WIDTH, _LEGEND_HANDLE = 115, 8  # characters
_LABEL_WIDTH = 28  # characters of a label that fit beside a panel
_APART = 0.005  # of the width, so that equal lines stay visible
_CLOSEST = 0.045  # of the width: labels of values of x that are closer would overlap
_UNEVEN = 0.04  # of the range: values of x that are closer than this ask for a logarithmic axis
_FAR = 100  # so many times the lowest value of x: the same
_TICKS_WIDTH = 100  # characters below a chart's whole width; a fifth more are small ones
_COMMON = (0.01, 0.99)  # a distribution shows all values from and to these shares of them ...
_RARE = 0.5  # ... unless they take more than this part of the range
_LONGEST = 2  # times the highest median: intervals that reach further are cut off
_ROW_HEIGHT = 1.3  # of a scheduler, over time
_ROOM = 1.08
_HOLLOW = {"linestyle": "", "markerfacecolor": "white", "markeredgewidth": 1.3, "zorder": 5}
_READ_OFF, _IN_TEXT = "the paper, read off its figure", "the paper, in its text or a table"


@dataclass(frozen=True)
class Content:
    """What is drawn: an experiment, the styles of all schedulers, and tracks over time."""

    found: Reproduced
    styles: Mapping[str, Style]
    tracks: Sequence[Track] = field(default=())

    def style(self) -> dict[str, Style]:
        """Of each of the series; those that are no schedulers have styles of their own."""
        own = self.found.published.experiment.chart
        labels = [str(each) for each in self.found.results.axes[own.series]]
        known = own.series == _SCHEDULER and all(label in self.styles for label in labels)
        return dict(self.styles) if known else paper_styles([labels], are_schedulers=False)


def styles(everything: Iterable[Experiment]) -> dict[str, Style]:
    """A style for every scheduler that the charts of some experiments may name, in any part."""
    return paper_styles(
        own.axis_values(drawn=False)[_SCHEDULER]
        for own in everything
        if own.chart.series == _SCHEDULER
    )


def drawn(content: Content, form: str) -> bytes:
    """The chart as the content of a file, svg, png or pdf: the same for the same content."""
    over_time = content.found.published.experiment.chart.kind == "time"
    with draw.drawing():
        figure = _over_time(content) if over_time else _figure(content)
        return draw.drawn(figure, form, draw.DOTS_PER_INCH)


def _figure(content: Content) -> Figure:
    """A row for each metric, a column for each panel, or two metrics beside each other."""
    from matplotlib.figure import Figure

    own, results = content.found.published.experiment, content.found.results
    chart = own.chart
    metrics = {metric.name: metric for metric in own.metric}
    panels = results.axes.get(chart.panels, [None])
    cells = [(metrics[name], panel) for name in chart.y for panel in panels]
    columns = min(len(panels), _MOST_COLUMNS) if len(panels) > 1 else min(2, len(cells))
    per_metric = -(-len(panels) // columns)
    rows = len(chart.y) * per_metric if len(panels) > 1 else -(-len(cells) // columns)
    size = (_WIDTH, _HEIGHT * rows + _LEGEND_ROW * 2)
    figure = Figure(figsize=size, layout="constrained")
    sharing: Literal["row", "none"] = "row" if len(panels) > 1 and per_metric == 1 else "none"
    grid = figure.subplots(rows, columns, squeeze=False, sharey=sharing)
    function = {"lines": _lines, "bars": _bars, "cdf": _distributions}[chart.kind]
    highest: dict[Axes, float] = {}
    for number, (metric, panel) in enumerate(cells):
        group, place = divmod(number, len(panels))
        row = group * per_metric + place // columns if len(panels) > 1 else number // columns
        axis = grid[row, place % columns if len(panels) > 1 else number % columns]
        drawn = function(axis, content, metric, {} if panel is None else {chart.panels: panel})
        highest[axis] = max(drawn, default=0.0)
        _dress(axis, content, metric, panel)
        if chart.kind != "cdf" and number + columns < len(cells):
            axis.set_xlabel("")
    for axis in grid.flat:
        if not axis.has_data():
            axis.set_axis_off()
        # panels may share their axis, whose range is known when all are drawn
        elif axis.dataLim.ymin >= 0 and chart.kind != "cdf":
            beside = axis.get_shared_y_axes().get_siblings(axis)
            _from_zero(axis, {other: highest[other] for other in beside})
    _legend(figure, grid.flat)
    return figure


def _from_zero(axis: Axes, highest: Mapping[Axes, float]) -> None:
    """The range of y: room for the markers at the top, but not for an interval much above all.

    `highest` has the highest value in each of the panels that share it.
    """
    tops = [other.dataLim.ymax for other in highest]
    most = _LONGEST * max(highest.values()) or max(tops)
    axis.set_ylim(0, _ROOM * min(max(tops), most) or 1.0)
    if axis.dataLim.ymax > most:
        text = f"intervals reach {wording.number(axis.dataLim.ymax)}"
        axis.set_title(text, loc="right", fontsize="small")


def _dress(axis: Axes, content: Content, metric: Metric, panel: Any) -> None:
    own = content.found.published.experiment
    label = "\n".join([*textwrap.wrap(metric.title, _LABEL_WIDTH), metric.unit]).rstrip()
    _plain(axis)
    if own.chart.kind == "cdf":
        axis.set_xlabel(wording.title(metric))
        axis.set_ylabel("share of runs", fontsize="small")
    else:
        axis.set_xlabel(own.axis.get(own.chart.x, own.chart.x))
        axis.set_ylabel(label, fontsize="small")
    if panel is not None:
        name = own.axis.get(own.chart.panels, own.chart.panels)
        axis.set_title(f"{name}: {panel}", loc="left", fontsize="medium")


def _columns(axis: Axes) -> int:
    """How many panels share the width."""
    place = axis.get_subplotspec()
    return place.get_gridspec().ncols if place else 1


def _plain(axis: Axes) -> None:
    axis.grid(color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, axes: Any) -> None:
    """Below all, each name once."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    # the paper's last
    entries |= {label: entries.pop(label) for label in (_IN_TEXT, _READ_OFF) if label in entries}
    rows = -(-sum(len(label) + _LEGEND_HANDLE for label in entries) // _LEGEND_WIDTH)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=-(-len(entries) // max(rows, 1)) or 1,
        frameon=False,
        fontsize="medium",
    )


# Over all runs


def _lines(axis: Axes, content: Content, metric: Metric, panel: Mapping[str, Any]) -> list[float]:
    """Medians over the seeds, with their intervals; returns what is drawn, without these."""
    values: list[float] = []
    scale = _Scale.of(content.found.results.axes[content.found.published.experiment.chart.x])
    for middle, series, look, known, reported in _all_series(content, metric, panel):
        shift = middle * _APART
        known.sort(key=lambda each: scale.place(each[0]))
        places = [scale.shifted(x, shift) for x, _ in known]
        medians, ends = [over.median for _, over in known], _ends([over for _, over in known])
        axis.errorbar(places, medians, ends, label=series, **_line(look))
        for x, each in reported:
            _hollow(axis, [scale.shifted(x, shift)], each, look)
        values += [*medians, *(each.value for _, each in reported)]
    scale.dress(axis)
    return values


def _bars(axis: Axes, content: Content, metric: Metric, panel: Mapping[str, Any]) -> list[float]:
    """Medians over the seeds, with their intervals; bars with the same x are side by side.

    Returns what is drawn, without the intervals.
    """
    values: list[float] = []
    own, results = content.found.published.experiment.chart, content.found.results
    xs = results.axes[own.x]
    # if x is the series, each has a place of its own, with its name below
    alone = own.x == own.series
    width = 0.8 if alone else 0.8 / len(results.axes[own.series])
    for middle, series, look, known, reported in _all_series(content, metric, panel):
        shift = 0.0 if alone else middle * width
        medians = [over.median for _, over in known]
        axis.bar(
            [xs.index(x) + shift for x, _ in known],
            medians,
            width,
            yerr=_ends([over for _, over in known]),
            label=None if alone else series,
            color=look.colour,
            hatch="" if alone else look.dash.hatch,
            edgecolor="white",
            linewidth=0,
            error_kw={"elinewidth": 0.8, "capsize": 1.5},
        )
        there = [(x, each) for x, each in reported if x in xs]
        for x, each in there:
            _hollow(axis, [xs.index(x) + shift], each, look)
        values += [*medians, *(each.value for _, each in there)]
    _names(axis, [str(x) for x in xs])
    axis.set_xlim(-0.7, len(xs) - 0.3)
    return values


def _names(axis: Axes, names: Sequence[str]) -> None:
    """Below bars: in a line if they fit, else a parameter a line, else turned."""
    room = _TICKS_WIDTH / _columns(axis) / len(names)
    axis.set_xticks(range(len(names)), names)
    if _fit(names, room):
        return
    split = [name.replace(":", "\n:") for name in names]
    if _fit([max(name.split("\n"), key=len) for name in split], 1.2 * room):
        axis.set_xticks(range(len(names)), split, fontsize="small")
        return
    for label in axis.get_xticklabels():
        label.set(rotation=35, ha="right", rotation_mode="anchor")


def _fit(names: Sequence[str], room: float) -> bool:
    """Whether no two neighbours touch, with so many characters for each."""
    return all((len(a) + len(b)) / 2 + 1 <= room for a, b in itertools.pairwise(names))


def _distributions(
    axis: Axes, content: Content, metric: Metric, panel: Mapping[str, Any]
) -> list[float]:
    """The share of runs with no higher value; a few markers tell the lines apart.

    A few values far from all others would squeeze these: a note has them instead. Returns shares.
    """
    own, results = content.found.published.experiment.chart, content.found.results
    styles = content.style()
    all_series = results.axes[own.series]
    everything: list[float] = []
    for number, series in enumerate(all_series):
        values = sorted(_values(content, metric, {**panel, own.series: series}))
        shares = np.arange(1, len(values) + 1) / max(len(values), 1)
        look = styles[str(series)]
        axis.plot(
            values,
            shares,
            drawstyle="steps-post",
            label=str(series),
            markevery=(0.2 * number / len(all_series), 0.2),
            **{key: value for key, value in _line(look).items() if key != "capsize"},
        )
        everything += values
    axis.set_ylim(0, 1)
    if everything:
        _without_the_rare(axis, np.sort(everything))
    return [1.0]


def _without_the_rare(axis: Axes, values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    low, high = np.quantile(values, _COMMON, method="nearest")
    if high - low > _RARE * (values[-1] - values[0]):
        return
    margin = (high - low) * (_ROOM - 1)
    axis.set_xlim(low - margin, high + margin)
    below, above = np.sum(values < low - margin), np.sum(values > high + margin)
    ends = [f"down to {wording.number(values[0])}"] * bool(below)
    ends += [f"up to {wording.number(values[-1])}"] * bool(above)
    text = f"{below + above} of {len(values)} runs are beyond: {', '.join(ends)}"
    axis.set_title(text, loc="right", fontsize="small")


@dataclass(frozen=True)
class _Scale:
    """The axis of x: numbers where they are, logarithmically if they ask for it, or names."""

    values: tuple[Any, ...]
    kind: str

    @classmethod
    def of(cls, values: Sequence[Any]) -> _Scale:
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in values):
            return cls(tuple(values), "names")
        linear = cls(tuple(values), "linear")
        if min(values) > 0 and (linear._closest() < _UNEVEN or max(values) > _FAR * min(values)):
            return cls(tuple(values), "log")
        return linear

    def place(self, x: Any) -> float:
        if self.kind == "names":
            return float(self.values.index(x))
        return float(np.log10(x)) if self.kind == "log" else float(x)

    def shifted(self, x: Any, by: float) -> float:
        """Where a value is on the axis, moved by a share of its width."""
        place = self.place(x) + by * (self._range() or 1.0)
        return 10**place if self.kind == "log" else place

    def dress(self, axis: Axes) -> None:
        if self.kind == "log":
            axis.set_xscale("log")
            axis.minorticks_off()
        shown: list[Any] = []
        for x in sorted(self.values, key=self.place):
            apart = self.place(x) - self.place(shown[-1]) if shown else self._range()
            if apart >= _CLOSEST * self._range():
                shown.append(x)
        axis.set_xticks([self.shifted(x, 0) for x in shown], [str(x) for x in shown])

    def _range(self) -> float:
        places = [self.place(x) for x in self.values]
        return max(places) - min(places)

    def _closest(self) -> float:
        if len(self.values) < 3:
            return 1.0
        places = sorted(map(self.place, self.values))
        return min(b - a for a, b in itertools.pairwise(places)) / self._range()


def _all_series(
    content: Content, metric: Metric, panel: Mapping[str, Any]
) -> Iterator[tuple[float, str, Style, list[tuple[Any, Summary]], list[tuple[Any, Reported]]]]:
    """Of each of the series in a panel how far it is from the middle one, its name and its style;
    the summaries of our figures, and the paper's numbers, with their x.
    """
    experiment, axes = content.found.published.experiment, content.found.results.axes
    own, styles, all_series = experiment.chart, content.style(), axes[experiment.chart.series]
    for number, series in enumerate(all_series):
        wanted = {**panel, own.series: series}
        known = [
            (x, over)
            for x in ([series] if own.x == own.series else axes[own.x])
            if (over := summary(_values(content, metric, wanted | {own.x: x})))
        ]
        reported = [
            (each.at[own.x], each)
            for each in experiment.reported
            if each.metric == metric.name and own.x in each.at
            if all(each.at.get(name) == value for name, value in wanted.items())
        ]
        yield number - (len(all_series) - 1) / 2, str(series), styles[str(series)], known, reported


def _hollow(axis: Axes, at: Sequence[float], each: Reported, look: Style) -> None:
    """A number of the paper: hollow, in the colour of its scheduler; grey in the legend."""
    marker = "D" if each.read_off else "o"
    edge: dict[str, Any] = {"markersize": 6, "marker": marker, **_HOLLOW}
    axis.plot(at, [each.value], markeredgecolor="black", **edge | {"markersize": 7.5})
    axis.plot(at, [each.value], markeredgecolor=look.colour, **edge)
    label = _READ_OFF if each.read_off else _IN_TEXT
    axis.plot([], [], label=label, markeredgecolor="#555555", **edge)


def _ends(overs: Sequence[Summary]) -> list[list[float]] | None:
    """How far the intervals reach below and above the medians; None if there are none."""
    if all(over.low is None or over.low == over.high for over in overs):
        return None
    below = [0.0 if over.low is None else over.median - over.low for over in overs]
    above = [0.0 if over.high is None else over.high - over.median for over in overs]
    return [below, above]


def _values(content: Content, metric: Metric, wanted: Mapping[str, Any]) -> list[float]:
    rows = content.found.results.where(**wanted)
    return [value for row in rows if (value := row.figures[metric.name]) is not None]


def _line(look: Style) -> dict[str, Any]:
    return {
        "color": look.colour,
        "linestyle": look.dash.matplotlib,
        "marker": look.marker.matplotlib,
        "markersize": 4.5,
        "linewidth": 1.2,
        "capsize": 2,
    }


# Over time


def _over_time(content: Content) -> Figure:
    """A row for each scheduler, a column for each panel; above them SINR, if traces have it."""
    from matplotlib.figure import Figure

    own = content.found.published.experiment
    panels = list(dict.fromkeys(each.panel for each in content.tracks))
    schedulers = list(dict.fromkeys(each.series for each in content.tracks))
    has_sinr = any(each.what == SINR for each in content.tracks)
    rows = len(schedulers) + has_sinr
    figure = Figure(figsize=(_WIDTH, _ROW_HEIGHT * rows + 0.8), layout="constrained")
    grid = figure.subplots(rows, len(panels), squeeze=False, sharex=True, sharey="row")
    for column, panel in enumerate(panels):
        axes = list(grid[:, column])
        here = [each for each in content.tracks if each.panel == panel]
        name = own.axis.get(own.chart.panels, own.chart.panels)
        where = f"{name}: {panel}" if panel else ""
        axes[-1].set_xlabel("time, s")
        if has_sinr:
            axis = axes.pop(0)
            radio = [each for each in here if each.what == SINR]
            _paths(axis, [each for each in radio if each.series == radio[0].series])
            axis.set_title(where, loc="left", fontsize="small")
            axis.set_ylabel("SINR, dB", fontsize="small")
        for axis, scheduler in zip(axes, schedulers, strict=True):
            _paths(axis, [each for each in here if each.series == scheduler and each.what != SINR])
            what = "; ".join(filter(None, (scheduler, where)))
            axis.set_title(what, loc="left", fontsize="small")
            axis.set_ylabel("Mbit/s", fontsize="small")
            axis.set_ylim(bottom=0)
    _legend(figure, grid.flat)
    return figure


def _paths(axis: Axes, of: Sequence[Track]) -> None:
    """A line for each path, a dashed one for its capacity, and a thin one for the sum."""
    paths = dict.fromkeys(each.path for each in of)
    colours = dict(zip(paths, itertools.cycle(PATH_COLOURS), strict=False))
    for each in of:
        look: dict[str, Any] = {"color": colours[each.path], "linewidth": 1.3, "label": each.path}
        if each.what == CAPACITY:
            look |= {"linestyle": "--", "linewidth": 0.7, "label": f"{each.path} can carry"}
        elif each.what != GOODPUT:
            look |= {"linewidth": 1.0}
        axis.plot(each.times_s, each.values, **look)
    delivered = [each for each in of if each.what == GOODPUT]
    if len(delivered) > 1 and len({each.times_s for each in delivered}) == 1:
        total = np.sum([each.values for each in delivered], axis=0)
        axis.plot(delivered[0].times_s, total, color="#444444", linewidth=0.7, label="sum")
    _plain(axis)
