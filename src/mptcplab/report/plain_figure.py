# SPDX-License-Identifier: GPL-2.0-only
"""The drawing of a figure with Matplotlib alone, so that a script can have a copy of it.

A figure is drawn from rows, as a CSV file has them, and from settings, a dict: `paper_figures`
makes both of the charts of a report. Each row has a `panel`, a `scheduler`, and values under the
labels of their axes, in settings `x`, `y` and, of a heat map, `z`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]


def drawn(
    rows: Rows,
    settings: Mapping[str, Any],
    draw_panel: Callable[[Axes, Rows, Mapping[str, Any]], None],
) -> Figure:
    """A figure with a panel for each of those in the rows, and one legend."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    columns = min(len(panels), settings["columns"])
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=settings["size"], layout="constrained")
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for number, (axis, panel) in enumerate(zip(axes, panels, strict=False)):
        draw_panel(axis, [row for row in rows if row["panel"] == panel], settings)
        axis.set_title(panel, loc="left", fontsize="medium")
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_axisbelow(True)
        if number % columns == 0:
            axis.set_ylabel(settings["y"])
        if number + columns >= len(panels):
            axis.set_xlabel(settings["x"])
            axis.tick_params(labelbottom=True)
    for axis in axes[len(panels) :]:
        axis.remove()
    # when all are drawn, since panels share their axes
    if settings["from_zero"]:
        # lines near to each other still have room above them
        axes[0].set_ylim(0, 1.05 * max(axis.dataLim.y1 for axis in axes[: len(panels)]) or 1)
    images = [image for axis in axes[: len(panels)] for image in axis.images]
    if images:
        figure.colorbar(images[0], ax=axes[: len(panels)], label=settings["z"])
    if settings["title"]:
        figure.suptitle(settings["title"], x=0, ha="left", fontsize="medium", fontweight="bold")
    entries: dict[Any, Any] = {}
    for axis in axes[: len(panels)]:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if entries and settings["legend"]:
        figure.legend(
            entries.values(), entries.keys(), frameon=False, fontsize="small", **settings["legend"]
        )
    return figure


def lines(axis: Axes, rows: Rows, settings: Mapping[str, Any]) -> None:
    """Medians, each with the band of its confidence intervals."""
    for name, look in settings["looks"].items():
        own = [row for row in rows if row["scheduler"] == name]
        x, y, low, high = (
            [row[key] for row in own] for key in (settings["x"], settings["y"], "low", "high")
        )
        if own:
            axis.plot(x, y, **look)
            axis.fill_between(x, low, high, color=look["color"], alpha=0.2, linewidth=0)
    if settings["ticks"]:
        axis.set_xscale("log")
        axis.set_xticks(settings["ticks"], [f"{value:.3g}" for value in settings["ticks"]])
        axis.minorticks_off()
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)


def bars(axis: Axes, rows: Rows, settings: Mapping[str, Any]) -> None:
    """Medians with their confidence intervals; clusters, or a dot for each seed."""
    names, categories = list(settings["looks"]), list(settings["categories"])
    clustered = categories != names
    width = 0.8 / len(names) if clustered else 0.7
    ink = axis.yaxis.label.get_color()
    for row in rows:
        look = settings["looks"][row["scheduler"]]
        at = float(categories.index(row["category"]))
        if clustered:
            at += (names.index(row["scheduler"]) - (len(names) - 1) / 2) * width
        median = row[settings["y"]]
        axis.bar(at, median, width, edgecolor="white", **look)
        if row["low"] == row["low"]:
            ends = [[median - row["low"]], [row["high"] - median]]
            axis.errorbar([at], [median], yerr=ends, color=ink, capsize=2, linewidth=1)
        values = [float(value) for value in row["values"].split()]
        if not clustered and len(values) > 1:
            axis.plot([at] * len(values), values, "o", color=ink, alpha=0.5, markersize=3)
    name_bars(axis, settings)
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)


def name_bars(axis: Axes, settings: Mapping[str, Any]) -> None:
    """Write the names of categories below their bars; a few bars are no wider than others."""
    names = settings["categories"].values()
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axis.set_xticks(range(len(names)), names, **(turned if settings["is_turned"] else {}))
    spare = max(4 - len(names), 0) / 2
    axis.set_xlim(-0.6 - spare, len(names) - 0.4 + spare)


def heat(axis: Axes, rows: Rows, settings: Mapping[str, Any]) -> None:
    """A cell for each row, with its value."""
    xs, ys = (sorted({row[settings[key]] for row in rows}) for key in ("x", "y"))
    cells = [[float("nan")] * len(xs) for _ in ys]
    least, most = settings["range"]
    for row in rows:
        column, line = xs.index(row[settings["x"]]), ys.index(row[settings["y"]])
        value = cells[line][column] = row[settings["z"]]
        if value == value:
            colour = "black" if value > (least + most) / 2 else "white"
            text: dict[str, Any] = {"ha": "center", "va": "center", "color": colour, "fontsize": 7}
            axis.text(column, line, f"{value:.3g}", **text)
    axis.imshow(cells, cmap="cividis", vmin=least, vmax=most, aspect="auto", origin="lower")
    axis.set_xticks(range(len(xs)), [f"{value:.3g}" for value in xs])
    axis.set_yticks(range(len(ys)), [f"{value:.3g}" for value in ys])
