# SPDX-License-Identifier: GPL-2.0-only
"""The chart of a published experiment, as its file defines it.

Lines, bars and distributions show all runs. A chart over time shows one run of each scheduler, the
one with the first seed: what each path delivered, and, dashed, what it could carry.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mptcplab.metrics.inference import Summary, summary
from mptcplab.metrics.series import RunSeries, Series, run_series
from mptcplab.papers.reproduce import Reproduced
from mptcplab.report import draw
from mptcplab.report.palette import PATH_COLOURS, Style, styles
from mptcplab.runs import store
from mptcplab.spec.link_trace import SINR
from mptcplab.spec.units import NS_PER_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH, _PANEL_HEIGHT = 3.6, 2.0
_LEGEND_HEIGHT = 0.5
_LABEL_WIDTH = 24  # characters of a label that fit beside a panel
_APART = 0.03  # of the distance of two values of x, so that equal lines stay visible
_ROW_HEIGHT = 1.1  # of a scheduler, over time
_MEAN_OF_BINS = 3  # of a run's series, which are made for pictures as wide as a page


def svg(found: Reproduced) -> str:
    """The chart as SVG, the same for the same runs.

    Raises MptcplabError if it is drawn from the records of runs, and these cannot be read.
    """
    over_time = found.published.experiment.chart.kind == "time"
    with draw.drawing():
        import matplotlib

        # text as text: smaller, and searchable
        matplotlib.rcParams["svg.fonttype"] = "none"
        figure = _over_time(found) if over_time else _figure(found)
        return draw.drawn(figure, "svg").decode()


def _figure(found: Reproduced) -> Figure:
    """A row for each metric, a column for each panel."""
    from matplotlib.figure import Figure

    own, results = found.published.experiment, found.results
    metrics = {metric.name: metric for metric in own.metric}
    panels = results.axes.get(own.chart.panels, [None])
    rows = len(own.chart.y)
    size = (max(_PANEL_WIDTH * len(panels), 5.0), _PANEL_HEIGHT * rows + _LEGEND_HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, len(panels), squeeze=False, sharey="row")
    drawn = {"lines": _lines, "bars": _bars, "cdf": _distributions}[own.chart.kind]
    for row, name in enumerate(own.chart.y):
        metric = metrics[name]
        label = "\n".join([*textwrap.wrap(metric.title, _LABEL_WIDTH), metric.unit]).rstrip()
        for column, panel in enumerate(panels):
            axis = grid[row, column]
            drawn(axis, found, name, {} if panel is None else {own.chart.panels: panel})
            axis.grid(color="#dddddd", linewidth=0.5)
            axis.set_axisbelow(True)
            axis.spines[["top", "right"]].set_visible(False)
            if own.chart.kind == "cdf":
                axis.set_xlabel(f"{metric.title}, {metric.unit}" if metric.unit else metric.title)
            elif row == rows - 1:
                axis.set_xlabel(own.axis.get(own.chart.x, own.chart.x))
            if row == 0 and panel is not None:
                title = own.axis.get(own.chart.panels, own.chart.panels)
                axis.set_title(f"{title}: {panel}", loc="left", fontsize="small")
        grid[row, 0].set_ylabel(
            "share of runs" if own.chart.kind == "cdf" else label, fontsize="small"
        )
        # the panels of a row share their axis, whose range is known when all are drawn
        grid[row, 0].set_ylim(bottom=min(0.0, grid[row, 0].get_ylim()[0]))
    _legend(figure, grid[0, 0], 3 if len(panels) == 1 else 6)
    return figure


def _legend(figure: Figure, axis: Axes, columns: int) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small"
    )


def _over_time(found: Reproduced) -> Figure:
    """A row for each scheduler, a column for each panel; above them SINR, if traces have it."""
    from matplotlib.figure import Figure

    own, results = found.published.experiment, found.results
    panels = results.axes.get(own.chart.panels, [None])
    drawn: dict[tuple[Any, Any], RunSeries] = {}
    for row, directory in zip(results.rows, found.directories, strict=True):
        key = row.point[own.chart.series], row.point.get(own.chart.panels)
        if key not in drawn:
            run = store.read_run(directory)
            drawn[key] = run_series(run.scenario, run.client, run.server, run.traces)
    sinr = {key[1]: run for key, run in drawn.items() if _of(run, SINR)}
    schedulers = results.axes[own.chart.series]
    rows = len(schedulers) + bool(sinr)
    size = (max(_PANEL_WIDTH * len(panels), 6.0), _ROW_HEIGHT * rows + 2 * _LEGEND_HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, len(panels), squeeze=False, sharex=True, sharey="row")
    for column, panel in enumerate(panels):
        axes = list(grid[:, column])
        if panel is not None:
            title = own.axis.get(own.chart.panels, own.chart.panels)
            axes[0].set_title(f"{title}: {panel}", loc="left", fontsize="small")
        axes[-1].set_xlabel("time, s")
        if sinr:
            _paths(axes.pop(0), sinr[panel], SINR, 1.0, "SINR\ndB")
        for axis, scheduler in zip(axes, schedulers, strict=True):
            _paths(axis, drawn[scheduler, panel], "goodput_bps", 1e6, f"{scheduler}\nMbit/s")
            axis.set_ylim(bottom=0)
    _legend(figure, grid[-1, 0], 4)
    return figure


def _of(run: RunSeries, metric: str) -> list[Series]:
    return [
        each
        for panel in run.panels
        for each in panel.series
        if each.metric == metric and each.path is not None
    ]


def _paths(axis: Axes, run: RunSeries, metric: str, scale: float, label: str) -> None:
    """A series of each path; for goodput with the rate of its link."""
    paths = [each.path for each in _of(run, "goodput_bps")]
    colours = dict(zip(paths, itertools.cycle(PATH_COLOURS), strict=False))
    for each in _of(run, metric):
        axis.plot(*_thinned(run, each, scale), color=colours[each.path], label=each.path)
    if metric == "goodput_bps":
        for each in _of(run, "link_bps"):
            look: dict[str, Any] = {"linestyle": "--", "linewidth": 0.7}
            look |= {"color": colours[each.path], "label": f"{each.path} can carry"}
            axis.plot(*_thinned(run, each, scale), **look)
    axis.set_ylabel(label, fontsize="small")
    axis.grid(color="#dddddd", linewidth=0.5)
    axis.spines[["top", "right"]].set_visible(False)


def _thinned(run: RunSeries, each: Series, scale: float) -> tuple[Any, Any]:
    """The middle of every few bins in s, and the mean there; short numbers, for a small file."""
    count = len(each.values) // _MEAN_OF_BINS * _MEAN_OF_BINS
    values = each.values[:count].reshape(-1, _MEAN_OF_BINS).mean(axis=1) / scale
    edges = run.edges_ns[: count + 1 : _MEAN_OF_BINS] / NS_PER_S
    return (edges[:-1] + edges[1:]) / 2, values


def _lines(axis: Axes, found: Reproduced, name: str, panel: Mapping[str, Any]) -> None:
    """Medians over the seeds, with their intervals; values of x are evenly spaced, in order."""
    own, results = found.published.experiment.chart, found.results
    xs = results.axes[own.x]
    looks = styles(map(str, results.axes[own.series]))
    all_series = results.axes[own.series]
    for number, series in enumerate(all_series):
        overs = [_summary(found, name, {**panel, own.series: series, own.x: x}) for x in xs]
        shift = (number - (len(all_series) - 1) / 2) * _APART
        known = [(place + shift, over) for place, over in enumerate(overs) if over]
        places, medians = [place for place, _ in known], [over.median for _, over in known]
        ends = _ends([over for _, over in known])
        axis.errorbar(places, medians, ends, label=str(series), **_line(looks[str(series)]))
    axis.set_xticks(range(len(xs)), [str(x) for x in xs])


def _bars(axis: Axes, found: Reproduced, name: str, panel: Mapping[str, Any]) -> None:
    """Medians over the seeds, with their intervals; bars with the same x are side by side."""
    own, results = found.published.experiment.chart, found.results
    xs, all_series = results.axes[own.x], results.axes[own.series]
    beside = 1 if own.x == own.series else len(all_series)
    width = 0.8 / beside
    looks = styles(map(str, all_series))
    for place, series in enumerate(all_series):
        overs = [_summary(found, name, {**panel, own.series: series, own.x: x}) for x in xs]
        if beside == 1:
            overs = [over if x == series else None for x, over in zip(xs, overs, strict=True)]
        known = [(at, over) for at, over in enumerate(overs) if over]
        shift = (place - (len(all_series) - 1) / 2) * width if beside > 1 else 0.0
        look = looks[str(series)]
        axis.bar(
            [at + shift for at, _ in known],
            [over.median for _, over in known],
            width,
            yerr=_ends([over for _, over in known]),
            label=str(series),
            color=look.colour,
            hatch=look.dash.hatch,
            edgecolor="white",
            linewidth=0,
            error_kw={"elinewidth": 0.8, "capsize": 1.5},
        )
    axis.set_xticks(range(len(xs)), [str(x) for x in xs])
    axis.set_xlim(-0.7, len(xs) - 0.3)


def _ends(overs: Sequence[Summary]) -> list[list[float]] | None:
    """How far the intervals reach below and above the medians; None if there are none."""
    if all(over.low is None or over.low == over.high for over in overs):
        return None
    below = [0.0 if over.low is None else over.median - over.low for over in overs]
    above = [0.0 if over.high is None else over.high - over.median for over in overs]
    return [below, above]


def _distributions(axis: Axes, found: Reproduced, name: str, panel: Mapping[str, Any]) -> None:
    """The share of runs with no higher value."""
    own, results = found.published.experiment.chart, found.results
    looks = styles(map(str, results.axes[own.series]))
    for series in results.axes[own.series]:
        values = sorted(_values(found, name, {**panel, own.series: series}))
        shares = np.arange(1, len(values) + 1) / max(len(values), 1)
        look = looks[str(series)]
        drawn: dict[str, Any] = {"color": look.colour, "linestyle": look.dash.matplotlib}
        axis.step(values, shares, where="post", label=str(series), linewidth=1.2, **drawn)
    axis.set_ylim(0, 1)


def _values(found: Reproduced, name: str, wanted: Mapping[str, Any]) -> list[float]:
    rows = found.results.where(**wanted)
    return [value for row in rows if (value := row.figures[name]) is not None]


def _summary(found: Reproduced, name: str, wanted: Mapping[str, Any]) -> Summary | None:
    return summary(_values(found, name, wanted))


def _line(look: Style) -> dict[str, Any]:
    return {
        "color": look.colour,
        "linestyle": look.dash.matplotlib,
        "marker": look.marker.matplotlib,
        "markersize": 3.5,
        "linewidth": 1.1,
        "capsize": 2,
    }
