# SPDX-License-Identifier: GPL-2.0-only
"""The chart of a published experiment, as its file says: lines, bars, or distributions."""

from __future__ import annotations

import io
import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mptcplab import chart
from mptcplab.palette import Style, styles
from mptcplab.reproduce import Reproduced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH, _PANEL_HEIGHT = 3.6, 2.0
_LEGEND_HEIGHT = 0.5


def svg(found: Reproduced) -> str | None:
    """The chart as SVG, the same for the same runs; None if each run has one of its own."""
    if found.published.experiment.chart.kind == "time":
        return None
    with chart.drawing():
        import matplotlib

        # text as text: smaller, and it can be searched
        matplotlib.rcParams["svg.fonttype"] = "none"
        content = io.StringIO()
        _figure(found).savefig(content, format="svg", metadata=chart.NO_DATE["svg"])
    return content.getvalue()


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
        label = f"{metric.title}\n{metric.unit}" if metric.unit else metric.title
        for column, panel in enumerate(panels):
            axis = grid[row, column]
            drawn(axis, found, name, {} if panel is None else {own.chart.panels: panel})
            axis.grid(color="#dddddd", linewidth=0.5)
            axis.spines[["top", "right"]].set_visible(False)
            if own.chart.kind == "cdf":
                axis.set_xlabel(label.replace("\n", ", "))
            elif row == rows - 1:
                axis.set_xlabel(own.axis.get(own.chart.x, own.chart.x))
            if row == 0 and panel is not None:
                title = own.axis.get(own.chart.panels, own.chart.panels)
                axis.set_title(f"{title}: {panel}", loc="left", fontsize="small")
        grid[row, 0].set_ylabel("share of runs" if own.chart.kind == "cdf" else label)
        # the panels of a row share their axis, whose range is known when all are drawn
        grid[row, 0].set_ylim(bottom=min(0.0, grid[row, 0].get_ylim()[0]))
    handles, labels = grid[0, 0].get_legend_handles_labels()
    columns = 3 if len(panels) == 1 else 6
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small"
    )
    return figure


def _lines(axis: Axes, found: Reproduced, name: str, panel: Mapping[str, Any]) -> None:
    """Medians over the seeds, with their range; values of x stand evenly, in their order."""
    own, results = found.published.experiment.chart, found.results
    xs = results.axes[own.x]
    looks = styles(map(str, results.axes[own.series]))
    for series in results.axes[own.series]:
        at, middle, below, above = [], [], [], []
        for place, x in enumerate(xs):
            values = _values(found, name, {**panel, own.series: series, own.x: x})
            if values:
                median = statistics.median(values)
                at.append(place)
                middle.append(median)
                below.append(median - min(values))
                above.append(max(values) - median)
        bars = [below, above] if any(below) or any(above) else None
        axis.errorbar(at, middle, bars, label=str(series), **_line(looks[str(series)]))
    axis.set_xticks(range(len(xs)), [str(x) for x in xs])


def _bars(axis: Axes, found: Reproduced, name: str, panel: Mapping[str, Any]) -> None:
    own, results = found.published.experiment.chart, found.results
    xs, all_series = results.axes[own.x], results.axes[own.series]
    width = 0.8 / len(all_series)
    looks = styles(map(str, all_series))
    for place, series in enumerate(all_series):
        groups = [_values(found, name, {**panel, own.series: series, own.x: x}) for x in xs]
        heights = [statistics.median(values) if values else 0.0 for values in groups]
        places = np.arange(len(xs)) + (place - (len(all_series) - 1) / 2) * width
        look = looks[str(series)]
        hatch = look.dash.hatch
        axis.bar(places, heights, width, label=str(series), color=look.colour, hatch=hatch)
    axis.set_xticks(range(len(xs)), [str(x) for x in xs])


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


def _line(look: Style) -> dict[str, Any]:
    return {
        "color": look.colour,
        "linestyle": look.dash.matplotlib,
        "marker": look.marker.matplotlib,
        "markersize": 3.5,
        "linewidth": 1.1,
        "capsize": 2,
    }
