# SPDX-License-Identifier: GPL-2.0-only
"""The charts of a report as files for papers: PNG, SVG and PDF, drawn with Matplotlib."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mptcplab.report import draw, palette
from mptcplab.report.charts import Bars, Chart, Heat, Lines, OverTime, Shares
from mptcplab.report.palette import PATH_COLOURS, Style
from mptcplab.runs import store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PREVIEW = (6.2, 3.3)  # inches: the size on the page
_GREY = "#7a8087"  # legible on white and on black
_INK = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_WIDTH, _HEIGHT = 5.0, 3.2  # inches: a column and a half of a page in two columns
_WIDER = 0.28  # for each bar that does not fit
_BARS_THAT_FIT = 12
_LABELS_THAT_FIT = 5
_LEGEND_COLUMNS = 3
_TITLE_CHARACTERS, _LABEL_CHARACTERS, _LEGEND_CHARACTERS = 62, 24, 30  # in a line
_MANY = 6  # from this many names on, a legend would hide the lines


def write(
    named: Sequence[tuple[str, Chart]], looks: Mapping[str, Style], directory: Path
) -> list[Path]:
    """Draw each chart as files `directory`/NAME.png, .svg and .pdf; gives their paths.

    NAME is made of the chart's group and title. The same charts give the same bytes. Raises
    MptcplabError if a file cannot be written.
    """
    written: list[Path] = []
    taken: set[str] = set()
    with draw.drawing():
        for place, chart in named:
            stem = _stem(f"{place} {chart.title}", taken)
            drawn = figure(chart, looks)
            for form in palette.FORMATS:
                content = draw.drawn(drawn, form, 2 * draw.DOTS_PER_INCH)
                written.append(directory / f"{stem}.{form}")
                store.write(written[-1], content)
    return written


def preview(chart: Chart, looks: Mapping[str, Style]) -> bytes:
    """A chart as SVG without title and background, which the page has, light or dark."""
    with draw.drawing() as settings:
        settings.update(dict.fromkeys(_INK, _GREY))
        drawn = figure(chart, looks)
        drawn.set_size_inches(*_PREVIEW)
        drawn.axes[0].set_title("", loc="left")
        return draw.drawn(drawn, "svg", transparent=True)


def figure(chart: Chart, looks: Mapping[str, Style]) -> Figure:
    """One chart, to be drawn within `draw.drawing()`."""
    from matplotlib.figure import Figure

    width = _WIDTH
    if isinstance(chart, Bars):
        width += _WIDER * max(0, len(chart.bars) - _BARS_THAT_FIT)
    drawn = Figure(figsize=(width, _HEIGHT), layout="constrained")
    axis = drawn.subplots()
    title = draw.in_lines(chart.title, _TITLE_CHARACTERS)
    axis.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)
    if isinstance(chart, Bars):
        _bars(axis, chart, looks)
    elif isinstance(chart, Lines):
        _lines(axis, chart, looks)
    elif isinstance(chart, Shares):
        _shares(axis, chart)
    elif isinstance(chart, OverTime):
        _over_time(axis, chart)
    else:
        _heat(axis, chart)
    return drawn


def _stem(text: str, taken: set[str]) -> str:
    stem = re.sub(r"[^a-z0-9.=]+", "-", text.lower()).strip("-.")[:100]
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name


def _bars(axis: Axes, chart: Bars, looks: Mapping[str, Style]) -> None:
    ink = axis.yaxis.label.get_color()
    schedulers = list(dict.fromkeys(bar.scheduler for bar in chart.bars))
    categories = list(dict.fromkeys(bar.category for bar in chart.bars))
    clustered = categories != schedulers
    width = 0.8 / len(schedulers) if clustered else 0.7
    for number, scheduler in enumerate(schedulers):
        look = looks[scheduler]
        for bar in (bar for bar in chart.bars if bar.scheduler == scheduler):
            at = float(categories.index(bar.category))
            if clustered:
                at += (number - (len(schedulers) - 1) / 2) * width
            over = bar.summary
            axis.bar(
                at,
                over.median,
                width,
                color=look.colour,
                edgecolor="white",
                hatch=look.dash.hatch,
                label=scheduler if bar.category == categories[0] else None,
            )
            if over.low is not None and over.high is not None:
                ends = [[over.median - over.low], [over.high - over.median]]
                axis.errorbar([at], [over.median], yerr=ends, color=ink, capsize=2, linewidth=1)
            if not clustered and len(bar.values) > 1:
                axis.plot(
                    [at] * len(bar.values),
                    bar.values,
                    linestyle="",
                    marker=look.marker.matplotlib,
                    color=ink,
                    alpha=0.5,
                    markersize=3,
                )
    axis.set_ylabel(chart.unit or chart.title)
    _categories(axis, categories)
    _grid(axis)
    if clustered:
        _legend(axis, len(schedulers))


def _lines(axis: Axes, chart: Lines, looks: Mapping[str, Style]) -> None:
    for line in chart.lines:
        look = looks[line.scheduler]
        y = np.array(line.y, dtype=np.float64)
        axis.plot(
            line.x,
            y,
            color=look.colour,
            linestyle=look.dash.matplotlib,
            linewidth=1.3,
            drawstyle="steps-post" if chart.steps else "default",
            marker=look.marker.matplotlib,
            markersize=4,
            # long lines get few markers, to keep these apart
            markevery=1 if chart.markers else (0.05, 0.2),
            label=line.scheduler,
        )
        if any(value is not None for value in line.high):
            low, high = (np.array(v, dtype=np.float64) for v in (line.low, line.high))
            ends = np.vstack([y - low, high - y])
            axis.errorbar(
                line.x, y, yerr=ends, color=look.colour, linestyle="", capsize=2, linewidth=0.8
            )
    axis.set_xlabel(chart.x_label)
    axis.set_ylabel(chart.y_label)
    lowest = np.nanmin(np.array([v for line in chart.lines for v in line.y], dtype=np.float64))
    axis.set_ylim(bottom=0 if lowest >= 0 else None)
    _grid(axis)
    _legend(axis, len(chart.lines))


def _over_time(axis: Axes, chart: OverTime) -> None:
    ink = axis.yaxis.label.get_color()
    for line in chart.lines:
        whole = line.number is None
        axis.plot(
            line.x,
            line.y,
            color=ink if line.number is None else PATH_COLOURS[line.number % len(PATH_COLOURS)],
            linestyle="--" if line.is_limit else "-",
            linewidth=0.7 if line.is_limit else 0.9 if whole else 2.0,
            drawstyle="steps-post" if line.is_limit else "default",
            zorder=3 if whole else 2,
            # the limit of all stands for all: each path has its colour
            label=line.name if whole or not line.is_limit else None,
        )
    axis.set_xlabel(chart.x_label)
    axis.set_ylabel(chart.y_label)
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0, top=chart.top)
    _grid(axis)
    axis.legend(
        frameon=False,
        fontsize="small",
        ncols=_LEGEND_COLUMNS,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
    )


def _shares(axis: Axes, chart: Shares) -> None:
    schedulers = list(dict.fromkeys(name for each in chart.paths.values() for name in each))
    below = np.zeros(len(schedulers))
    for index, (path, shares) in enumerate(chart.paths.items()):
        values = np.array([shares.get(name, 0.0) for name in schedulers])
        colour = PATH_COLOURS[index % len(PATH_COLOURS)]
        axis.bar(range(len(schedulers)), values, 0.7, bottom=below, color=colour, label=path)
        below += values
    axis.set_ylabel("%")
    _categories(axis, schedulers)
    _legend(axis, _MANY)


def _heat(axis: Axes, chart: Heat) -> None:
    cells = np.array(chart.z, dtype=np.float64)
    image = axis.imshow(
        cells, cmap="cividis", vmin=chart.low, vmax=chart.high, aspect="auto", origin="lower"
    )
    middle = (chart.low + chart.high) / 2
    for row, column in np.ndindex(cells.shape):
        value = cells[row, column]
        if value == value:
            colour = "black" if value > middle else "white"
            axis.text(
                column, row, f"{value:.3g}", ha="center", va="center", color=colour, fontsize=7
            )
    axis.set_xticks(range(len(chart.x)), [f"{value:g}" for value in chart.x])
    axis.set_yticks(range(len(chart.y)), [f"{value:g}" for value in chart.y])
    axis.set_xlabel(chart.x_label)
    axis.set_ylabel(chart.y_label)
    axis.figure.colorbar(image, ax=axis, label=chart.unit)


def _legend(axis: Axes, count: int) -> None:
    """Beside the chart if there are many, or long ones, else in it."""
    handles, names = axis.get_legend_handles_labels()
    labels = [draw.in_lines(name, _LEGEND_CHARACTERS) for name in names]
    is_large = count >= _MANY or labels != names
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if is_large else {}
    axis.legend(handles, labels, frameon=False, fontsize="small", **beside)


def _categories(axis: Axes, names: Sequence[str]) -> None:
    # many or long names do not fit beside each other
    tilted = len(names) > _LABELS_THAT_FIT or max(map(len, names)) > 12
    axis.set_xticks(range(len(names)), [draw.in_lines(name, _LABEL_CHARACTERS) for name in names])
    if tilted:
        for label in axis.get_xticklabels():
            label.set(rotation=35, ha="right", rotation_mode="anchor")


def _grid(axis: Axes) -> None:
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)
