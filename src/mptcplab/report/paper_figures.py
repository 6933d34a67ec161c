# SPDX-License-Identifier: GPL-2.0-only
"""The charts of a report as files for papers: PNG, SVG and PDF, drawn with Matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mptcplab.errors import InputError
from mptcplab.metrics.views import shown_metrics
from mptcplab.report import draw, palette
from mptcplab.report.charts import (
    METRICS,
    Bars,
    Chart,
    Heat,
    Lines,
    OverTime,
    Shares,
    of_metric,
    title,
)
from mptcplab.report.palette import PATH_COLOURS, Style
from mptcplab.runs import store
from mptcplab.runs.collection import Collection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PREVIEW = (6.2, 3.3)  # inches: the size on the page
#: Legible on white and on black, for pictures without a background; and the settings of Matplotlib
#: for all that is black otherwise.
GREY = "#7a8087"
INK = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_WIDTH, _HEIGHT = 5.0, 3.2  # inches: a column and a half of a page in two columns
_ALONE = 6.0  # of the picture of a sweep with one panel
_ASPECT = 0.64  # height of a panel, as a part of its width
_NARROW = 4.5  # a figure that is narrower has its panels below each other
_TITLE_HEIGHT = 0.2
_TICK_WIDTH = 0.45
_HANDLE_WIDTH, _CHARACTER_WIDTH = 0.5, 0.075
_DIGITS = 6  # significant digits of a number that is drawn
_WIDER = 0.28  # for each bar that does not fit
_BARS_THAT_FIT = 12
_LABELS_THAT_FIT = 5
_LEGEND_COLUMNS = 3  # over time
_TITLE_CHARACTERS, _LABEL_CHARACTERS, _LEGEND_CHARACTERS = 62, 24, 30  # in a line
_MANY = 6  # from this many names on, a legend would hide the lines


def write(
    charts: Sequence[Chart],
    looks: Mapping[str, Style],
    directory: Path,
    show: Callable[[], None] = lambda: None,
) -> list[Path]:
    """Draw each chart as files `directory`/NAME.png, .svg and .pdf; gives their paths.

    NAME is made of the chart's title; `show` is called after each chart. The same charts give the
    same bytes. Raises MptcplabError if a file cannot be written.
    """
    written: list[Path] = []
    taken: set[str] = set()
    with draw.drawing():
        for chart in charts:
            stem = _stem(chart.title, taken)
            drawn = figure(chart, looks)
            for form in palette.FORMATS:
                content = draw.drawn(drawn, form, 2 * draw.DOTS_PER_INCH)
                written.append(directory / f"{stem}.{form}")
                store.write(written[-1], content)
                # the same layout in all: finding it takes as long as drawing
                drawn.set_layout_engine("none")
            show()
    return written


def write_main(collection: Collection, out: Path) -> list[Path]:
    """Draw the main figure of several scenarios, such as `out`/goodput.png and .svg.

    Returns the files; none if there is nothing to compare.
    """
    try:
        charts = of_metric(collection)
    except InputError:
        return []
    metric = title(METRICS[shown_metrics(collection.groups[0].scenario.workload.kind)[0]])
    width = draw.WIDTH if len(charts) > 1 else _ALONE
    looks = palette.styles(collection.schedulers(), collection.outputs)
    written = []
    with draw.drawing():
        drawn = plain(charts, looks, width).drawn()
        for form in ("png", "svg"):
            written.append(out / f"{metric.lower().replace(' ', '-')}.{form}")
            store.write(written[-1], draw.drawn(drawn, form, draw.DOTS_PER_INCH))
            drawn.set_layout_engine("none")
    return written


def preview(chart: Chart, looks: Mapping[str, Style]) -> bytes:
    """A chart as SVG without title and background, which the page has, light or dark."""
    with draw.drawing() as settings:
        settings.update(dict.fromkeys(INK, GREY))
        drawn = figure(chart, looks)
        drawn.set_size_inches(*_PREVIEW)
        drawn.axes[0].set_title("", loc="left")
        return draw.drawn(drawn, "svg", transparent=True)


def figure(chart: Chart, looks: Mapping[str, Style]) -> Figure:
    """One chart, to be drawn within `draw.drawing()`."""
    from matplotlib.figure import Figure

    if isinstance(chart, Bars | Lines | Heat):
        width = _WIDTH
        if isinstance(chart, Bars):
            width += _WIDER * max(0, len(chart.bars) - _BARS_THAT_FIT)
        title = draw.in_lines(chart.title, _TITLE_CHARACTERS)
        return plain([chart], looks, width, title=title).drawn()
    drawn = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axis = drawn.subplots()
    title = draw.in_lines(chart.title, _TITLE_CHARACTERS)
    axis.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)
    if isinstance(chart, Shares):
        _shares(axis, chart)
    else:
        _over_time(axis, chart)
    return drawn


@dataclass(frozen=True)
class Plain:
    """A figure as `plain_figure` draws it: its rows, its settings, and the kind of its panels."""

    rows: list[dict[str, Any]]
    settings: dict[str, Any]
    kind: Literal["lines", "bars", "heat"]

    def drawn(self) -> Figure:
        """The figure, to be drawn within `draw.drawing()`."""
        from mptcplab.report import plain_figure

        return plain_figure.drawn(self.rows, self.settings, getattr(plain_figure, self.kind))


def plain(
    charts: Sequence[Chart],
    looks: Mapping[str, Style],
    width: float,
    height: float | None = None,
    title: str = "",
) -> Plain:
    """Charts of one kind, lines, bars or heat maps, as panels of a figure; sizes are in inches."""
    columns = 1 if len(charts) == 1 or width < _NARROW else 3 if len(charts) == 3 else 2
    panels = -(-len(charts) // columns)
    names = [name for chart in charts for name in _names(chart)]
    styled = {name: _look(name, charts, looks) for name in dict.fromkeys(names)}
    settings: dict[str, Any] = {"title": title, "columns": columns, "looks": styled}
    rows: list[dict[str, Any]] = []
    kind: Literal["lines", "bars", "heat"] = "lines"
    for chart in charts:
        if isinstance(chart, Lines):
            rows += _rows_of_lines(chart)
            xs = [x for line in chart.lines for x in line.x] if chart.is_log else []
            settings |= {
                "x": chart.x_label,
                "y": chart.y_label,
                "ticks": _ticks(xs, width / columns),
            }
        elif isinstance(chart, Bars):
            kind = "bars"
            categories = list(dict.fromkeys(bar.category for bar in chart.bars))
            rows += _rows_of_bars(chart)
            settings |= {"x": "", "y": chart.y_label, **_categories(categories)}
        elif isinstance(chart, Heat):
            kind = "heat"
            rows += _rows_of_heat(chart)
            settings |= {"x": chart.x_label, "y": chart.y_label, "z": chart.z_label}
            settings["range"] = [_rounded(chart.low), _rounded(chart.high)]
    settings["from_zero"] = kind == "lines" and not any(row[settings["y"]] < 0 for row in rows)
    is_named = kind == "lines" or (kind == "bars" and list(settings["categories"]) != list(styled))
    legend, legend_height = _legend([look["label"] for look in styled.values()], width)
    settings["legend"] = legend if is_named else {}
    if height is None:
        height = _ASPECT * width / columns * panels + (legend_height if is_named else 0.0)
        height += _TITLE_HEIGHT * (1 + title.count("\n")) if title else 0.0
    settings["size"] = [round(width, 3), round(height, 3)]
    return Plain(rows, settings, kind)


def _names(chart: Chart) -> list[str]:
    if isinstance(chart, Lines):
        return [line.scheduler for line in chart.lines]
    return [bar.scheduler for bar in chart.bars] if isinstance(chart, Bars) else []


def _look(name: str, charts: Sequence[Chart], looks: Mapping[str, Style]) -> dict[str, Any]:
    """How a line or a bar is drawn, in the words of Matplotlib."""
    label: dict[str, Any] = {"label": draw.in_lines(name, _LEGEND_CHARACTERS)}
    lines = (line for chart in charts if isinstance(chart, Lines) for line in chart.lines)
    path = next((line.path for line in lines if line.scheduler == name), None)
    if path is not None:
        colour = PATH_COLOURS[path % len(PATH_COLOURS)]
        return label | {"color": colour, "linewidth": 0.7, "linestyle": ":"}
    look = looks[name]
    if isinstance(charts[0], Bars):
        return label | {"color": look.colour, "hatch": look.dash.hatch}
    chart = next(chart for chart in charts if isinstance(chart, Lines))
    return label | {
        "color": look.colour,
        "linestyle": look.dash.matplotlib,
        "linewidth": 1.3,
        "drawstyle": "steps-post" if chart.steps else "default",
        "marker": look.marker.matplotlib,
        "markersize": 4,
        # long lines get few markers, to keep these apart
        "markevery": 1 if chart.markers else (0.05, 0.2),
    }


def _rows_of_lines(chart: Lines) -> list[dict[str, Any]]:
    nothing = (None,) * max(len(line.x) for line in chart.lines)
    return [
        {
            "panel": chart.panel,
            "scheduler": line.scheduler,
            chart.x_label: _rounded(x),
            chart.y_label: _rounded(y),
            "low": _rounded(low),
            "high": _rounded(high),
            "seeds": seeds,
        }
        for line in chart.lines
        for x, y, low, high, seeds in zip(
            line.x,
            line.y,
            line.low or nothing,
            line.high or nothing,
            line.seeds or nothing,
            strict=False,
        )
    ]


def _rows_of_bars(chart: Bars) -> list[dict[str, Any]]:
    return [
        {
            "panel": "",
            "scheduler": bar.scheduler,
            "category": bar.category,
            chart.y_label: _rounded(bar.summary.median),
            "low": _rounded(bar.summary.low),
            "high": _rounded(bar.summary.high),
            "seeds": bar.summary.n,
            "values": " ".join(str(_rounded(value)) for value in bar.values),
        }
        for bar in chart.bars
    ]


def _rows_of_heat(chart: Heat) -> list[dict[str, Any]]:
    return [
        {
            "panel": chart.scheduler,
            "scheduler": chart.scheduler,
            chart.x_label: _rounded(x),
            chart.y_label: _rounded(y),
            chart.z_label: _rounded(z),
        }
        for y, row in zip(chart.y, chart.z, strict=True)
        for x, z in zip(chart.x, row, strict=True)
    ]


def _rounded(value: float | None) -> float:
    """As a file of the data has it, so that this draws the same."""
    return float("nan") if value is None else float(f"{value:.{_DIGITS}g}")


def _ticks(xs: Sequence[float], width: float) -> list[float]:
    """The values that get a tick on a logarithmic axis of this width, in inches."""
    shown: list[float] = []
    for x in sorted(set(xs)):
        if not shown or math.log(x / shown[-1]) * width >= _TICK_WIDTH * math.log(
            max(xs) / min(xs)
        ):
            shown.append(_rounded(x))
    return shown


def _categories(names: Sequence[str]) -> dict[str, Any]:
    return {
        "categories": {name: draw.in_lines(name, _LABEL_CHARACTERS) for name in names},
        # many or long names do not fit beside each other
        "is_turned": len(names) > _LABELS_THAT_FIT or max(map(len, names)) > 12,
    }


def _legend(labels: Sequence[str], width: float) -> tuple[dict[str, Any], float]:
    """Where the legend is, and its height: below, or if there are many names in it, beside."""
    if len(labels) > _MANY and width >= _NARROW:
        return {"loc": "outside right upper"}, 0.0
    longest = max((len(line) for label in labels for line in label.split("\n")), default=1)
    columns = min(len(labels), max(1, int(width / (_HANDLE_WIDTH + _CHARACTER_WIDTH * longest))))
    rows = -(-sum(1 + label.count("\n") for label in labels) // max(columns, 1))
    return {"loc": "outside lower center", "ncols": columns}, draw.LEGEND_ROW_HEIGHT * rows


def _stem(text: str, taken: set[str]) -> str:
    stem = re.sub(r"[^a-z0-9.=]+", "-", text.lower()).strip("-.")[:100]
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name


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
    from mptcplab.report import plain_figure

    schedulers = list(dict.fromkeys(name for each in chart.paths.values() for name in each))
    below = np.zeros(len(schedulers))
    for index, (path, shares) in enumerate(chart.paths.items()):
        values = np.array([shares.get(name, 0.0) for name in schedulers])
        colour = PATH_COLOURS[index % len(PATH_COLOURS)]
        axis.bar(range(len(schedulers)), values, 0.7, bottom=below, color=colour, label=path)
        below += values
    axis.set_ylabel("%")
    plain_figure.name_bars(axis, _categories(schedulers))
    axis.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))


def _grid(axis: Axes) -> None:
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)
