# SPDX-License-Identifier: GPL-2.0-only
"""The picture of one run: its series in panels over the same time, with what happened to paths."""

from __future__ import annotations

import io
import itertools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mptcplab import units
from mptcplab.metrics.series import Panel, RunSeries, Series
from mptcplab.plan import timeline
from mptcplab.report import draw
from mptcplab.report.palette import PATH_COLOURS, TOTAL_COLOUR
from mptcplab.runs import store
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Change, Event, Link, Pair, Scenario, Shape
from mptcplab.units import NS_PER_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_KIB = 1024
_GREY = "#777777"
_WARMUP_COLOUR = "#eeeeee"
_FIRST_HEIGHT = 1.75  # inches, for the goodput
_PANEL_HEIGHT = 1.3
_ROW_HEIGHT = 0.17
_STRIP_HEIGHT = 0.3  # of a panel of rows, besides the rows
_FRAME_HEIGHT = 0.9
_TITLE_CHARACTERS = 105  # that fit on a line
_TITLE_LINES = 3  # of many connections
_LEGEND_COLUMNS = 5
_LABEL_X = -0.07  # of the width of an axis, so that labels stand below each other
# Fractions of the whole time: events closer than this are drawn as one; the width of a letter.
_NARROW, _LETTER = 1 / 1000, 1 / 110

_SMALL = 7.5  # points

_LINE: Mapping[str, Any] = {"linewidth": 1.0}
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "link_bps": {"linewidth": 0.8, "linestyle": "--"},
    "queue_down_packets": {"linewidth": 0.9, "linestyle": ":"},
    "in_flight_packets": {"linewidth": 0.9, "linestyle": ":"},
    "send_buffer_limit_bytes": {"linewidth": 0.8, "linestyle": "--"},
    "receive_buffer_used_bytes": {"linewidth": 1.0, "color": _GREY},
    "receive_buffer_limit_bytes": {"linewidth": 0.8, "linestyle": "--", "color": _GREY},
    "send_window_left_bytes": {"linewidth": 0.9, "linestyle": ":"},
}

#: The actions that end an event without a duration.
_ENDS: Mapping[str, tuple[str, ...]] = {
    "down": ("up", "close"),
    "backup": ("regular", "close"),
    "change": ("change", "close"),
    "close": (),
}


class _Span(NamedTuple):
    """A state of a path that lasts for a while; `label` names it."""

    begin_ns: int
    end_ns: int
    label: str
    passes: bool


def write(
    scenario: Scenario, run: RunSeries, file: Path, formats: Sequence[str] = ("png",)
) -> list[Path]:
    """Draw a run as `file` with the ending of each of the formats, and return these files.

    Raises MptcplabError if one cannot be written.
    """
    found = []
    with draw.drawing():
        for form in formats:
            # a figure for each: drawing one changes its resolution and its layout
            picture = figure(scenario, run)
            content = _png(picture) if form == "png" else draw.drawn(picture, form)
            found.append(file.with_name(f"{file.name}.{form}"))
            store.write(found[-1], content)
    return found


def _png(picture: Figure) -> bytes:
    """A picture in 256 colours: charts have hardly more, and a third of the bytes do.

    It is drawn once: Matplotlib's own `savefig` would draw it twice, and write a file in between.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    picture.set_dpi(draw.DOTS_PER_INCH)
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    dots = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    content = io.BytesIO()
    # the colours that cover most: no dot is far off, and the median cut takes twice as long
    few = dots.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    # level 9 takes twice as long, for 1 % less
    few.save(content, "png", compress_level=8, dpi=(draw.DOTS_PER_INCH, draw.DOTS_PER_INCH))
    return content.getvalue()


def figure(scenario: Scenario, run: RunSeries) -> Figure:
    """The picture of a run; call it within `draw.drawing()`."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    colours: dict[str | None, str] = {None: TOTAL_COLOUR}
    colours |= dict.fromkeys((link.name for link in scenario.links), _GREY)
    every = itertools.cycle(PATH_COLOURS)
    colours |= zip((path.name for path in scenario.paths), every, strict=False)
    colours |= {each.name: colours[each.paths[0]] for each in scenario.connections}
    end_ns = int(run.edges_ns[-1])
    spans = _spans(scenario, end_ns)
    heights = [_height(panel, number) for number, panel in enumerate(run.panels)]
    if spans:
        heights.insert(0, _STRIP_HEIGHT + _ROW_HEIGHT * len(spans))
    lines = _title(scenario)
    names: list[str | None] = [path.name for path in scenario.paths]
    labels = {name: name for name in names} | {
        each.paths[0]: f"{each.name}: {each.paths[0]}" for each in scenario.connections
    }
    names += [link.name for link in scenario.links]
    if not scenario.connections:
        names.append(None)
    rows = len(lines) + -(-(len(names) + 1) // _LEGEND_COLUMNS)
    height = sum(heights) + _FRAME_HEIGHT + draw.LEGEND_ROW_HEIGHT * rows
    figure = Figure(figsize=(draw.WIDTH, height), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axis in axes:
        _shade(axis, scenario, spans, colours)
        axis.spines[["top", "right"]].set_visible(False)
    if spans:
        _draw_events(axes[0], spans, colours, end_ns)
    for axis, panel in zip(axes[len(heights) - len(run.panels) :], run.panels, strict=True):
        side = f", {panel.side}" if panel.side else ""
        axis.set_title(f"{panel.title}{side}", loc="left", fontsize="medium", pad=3)
        (_draw_counts if panel.kind == "counts" else _draw_lines)(axis, panel, run, colours)
    bin_ns = int(np.diff(run.edges_ns)[0])
    axes[-1].set_xlabel(
        "Time since the start of the workload (s)\n"
        f"lines are means of {units.format_time(bin_ns)}, areas go from the lowest to the highest "
        "sample"
    )
    axes[-1].set_xlim(0, end_ns / NS_PER_S)
    handles = [
        Patch(color=colours[name], label=labels.get(name, name) or "connection") for name in names
    ]
    if scenario.workload.warmup_ns:
        handles.append(Patch(color=_WARMUP_COLOUR, label="warm-up"))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=_LEGEND_COLUMNS,
        frameon=False,
        title="\n".join(lines),
        alignment="left",
    )
    return figure


def _height(panel: Panel, number: int) -> float:
    if panel.kind == "counts":
        return _STRIP_HEIGHT + _ROW_HEIGHT * len(panel.series)
    return _PANEL_HEIGHT if number else _FIRST_HEIGHT


def _title(scenario: Scenario) -> list[str]:
    """What was run, in the form of flags; wrapped lines."""
    workload = scenario.workload
    much = (
        units.format_time(workload.duration_ns)
        if workload.duration_ns is not None
        else units.SIZE.format(workload.size_bytes or 0)
    )
    if scenario.connections:
        each = "; ".join(_connection_text(scenario, pair) for pair in scenario.pairs())
        links = "; ".join(_path_text(link) for link in scenario.links)
        return [
            f"seed {scenario.seed}: {len(scenario.connections)} connections",
            *textwrap.wrap(each, _TITLE_CHARACTERS, break_on_hyphens=False)[:_TITLE_LINES],
            *textwrap.wrap(links, _TITLE_CHARACTERS, break_on_hyphens=False),
        ]
    what = "plain TCP" if scenario.transport == "tcp" else scenario.scheduler.label
    first = f"{what}, seed {scenario.seed}: {workload.kind} {workload.direction} {much}"
    paths = "; ".join(_path_text(path) for path in scenario.paths)
    lines = textwrap.wrap(f"{first}, {scenario.cc}", _TITLE_CHARACTERS)
    return [*lines, *textwrap.wrap(paths, _TITLE_CHARACTERS, break_on_hyphens=False)]


def _connection_text(scenario: Scenario, pair: Pair) -> str:
    one = pair.connection
    tcp = one.transport == "tcp"
    return f"{one.name} {'tcp' if tcp else scenario.scheduler_of(one).label}, {one.cc}"


def _path_text(path: Link) -> str:
    up, down = (_direction_text(side) for side in (path.up, path.down))
    return f"{path.name} {up}" if up == down else f"{path.name} {up} (down: {down})"


def _direction_text(link: Shape) -> str:
    played = {
        what
        for step in link.steps
        for what, value in zip(("rate", "delay", "loss"), step[1:], strict=True)
        if value is not None
    }
    texts = []
    if "rate" not in played and link.rate_bps != NO_RATE_BPS:
        texts.append(units.format_rate(link.rate_bps))
    if "delay" not in played:
        texts.append(units.format_time(link.delay_ns))
    if link.loss and "loss" not in played:
        texts.append(f"loss {units.format_fraction(link.loss)}")
    if played:
        texts.append(f"{' and '.join(sorted(played, reverse=True))} of a trace")
    return ", ".join(texts)


# Events


def _spans(scenario: Scenario, end_ns: int) -> dict[str, list[_Span]]:
    """The states of each path over time, by its name; paths without any are left out."""
    found: dict[str, list[_Span]] = {}
    all_ = timeline.occurrences(scenario)
    for number, occurrence in enumerate(all_):
        event, begin_ns = occurrence.event, occurrence.begin_ns
        if event.action in ("up", "regular") or begin_ns >= end_ns:
            continue
        until_ns = occurrence.end_ns
        passes = until_ns is not None
        if until_ns is None:
            enders = (
                other.begin_ns
                for other in all_[number + 1 :]
                if other.event.path == event.path
                and other.end_ns is None
                and other.event.action in _ENDS.get(event.action, ())
            )
            until_ns = next(enders, end_ns)
            passes = event.action == "down" and until_ns < end_ns
        span = _Span(begin_ns, min(until_ns, end_ns), _event_text(event), passes)
        found.setdefault(event.path, []).append(span)
    return found


def _event_text(event: Event) -> str:
    if event.action != "change":
        return event.action
    up, down = _change_text(event.up), _change_text(event.down)
    return (
        up
        if up == down
        else ", ".join(f"{side} {text}" for side, text in (("up", up), ("down", down)) if text)
    )


def _change_text(change: Change) -> str:
    texts = {
        "rate": change.rate_bps is not None and units.format_rate(change.rate_bps),
        "rate ": change.rate_factor is not None and f"x{change.rate_factor:g}",
        "delay": change.delay_ns is not None and units.format_time(change.delay_ns),
        "delay ": change.delay_factor is not None and f"x{change.delay_factor:g}",
        "jitter": change.jitter_ns is not None and units.format_time(change.jitter_ns),
        "loss": change.loss is not None and units.format_fraction(change.loss),
        "cross": change.cross_bps is not None and units.format_rate(change.cross_bps),
    }
    return ", ".join(f"{key.strip()} {text}" for key, text in texts.items() if text)


def _bars(spans: Sequence[_Span], narrow_ns: float) -> list[tuple[float, float]]:
    """Begin and length of each in s; events too close to each other are one."""
    merged: list[list[int]] = []
    for span in spans:
        if merged and span.begin_ns - merged[-1][1] < narrow_ns:
            merged[-1][1] = max(merged[-1][1], span.end_ns)
        else:
            merged.append([span.begin_ns, span.end_ns])
    return [(begin / NS_PER_S, (end - begin) / NS_PER_S) for begin, end in merged]


def _shade(
    axis: Axes,
    scenario: Scenario,
    spans: Mapping[str, Sequence[_Span]],
    colours: Mapping[str | None, str],
) -> None:
    """Warm-up in grey; in the colour of its path an area for what passes, a line for what lasts."""
    if scenario.workload.warmup_ns:
        axis.axvspan(0, scenario.workload.warmup_ns / NS_PER_S, color=_WARMUP_COLOUR, zorder=0)
    whole = axis.get_xaxis_transform()
    for path, all_ in spans.items():
        end_ns = max(span.end_ns for span in all_)
        bars = _bars([span for span in all_ if span.passes], end_ns * _NARROW)
        axis.broken_barh(
            bars, (0, 1), transform=whole, facecolor=colours[path], alpha=0.12, zorder=0
        )
        for span in all_:
            if not span.passes:
                axis.axvline(span.begin_ns / NS_PER_S, color=colours[path], linewidth=0.6, zorder=0)


def _draw_events(
    axis: Axes, spans: Mapping[str, Sequence[_Span]], colours: Mapping[str | None, str], end_ns: int
) -> None:
    """A row for each path, with a bar for each state, and its name where there is room."""
    axis.set_title("Events", loc="left", fontsize="medium", pad=3)
    for row, (path, all_) in enumerate(spans.items()):
        bars = _bars(all_, end_ns * _NARROW)
        axis.broken_barh(bars, (row - 0.4, 0.8), facecolor=colours[path], alpha=0.35)
        free_ns = 0.0
        for span in sorted(all_):
            width_ns = len(span.label) * _LETTER * end_ns
            # at the end of the axis the text stands before it
            left_ns = min(span.begin_ns, end_ns - width_ns)
            if left_ns >= free_ns:
                axis.annotate(
                    span.label,
                    (left_ns / NS_PER_S, row),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=_SMALL,
                )
                free_ns = left_ns + width_ns
    _rows(axis, list(spans))


def _rows(axis: Axes, names: Sequence[str]) -> None:
    axis.set_yticks(range(len(names)), names, fontsize=_SMALL)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)


# Panels


def _draw_lines(
    axis: Axes, panel: Panel, run: RunSeries, colours: Mapping[str | None, str]
) -> None:
    from matplotlib.lines import Line2D

    edges_s = run.edges_ns / NS_PER_S
    middle_s = (edges_s[:-1] + edges_s[1:]) / 2
    kinds: dict[str, Mapping[str, Any]] = {}
    for series in panel.series:
        style = {"color": colours[series.path], **_STYLES.get(series.metric, _LINE)}
        values = series.values / panel.scale
        if series.metric == "link_bps":
            axis.stairs(values, edges_s, baseline=None, **style)
        else:
            # a single value between two gaps would be invisible as a line
            axis.plot(middle_s, values, marker="." if len(values) == 1 else "", **style)
        if series.low is not None and series.high is not None:
            axis.fill_between(
                middle_s,
                series.low / panel.scale,
                series.high / panel.scale,
                color=style["color"],
                alpha=0.15,
                linewidth=0,
            )
        if series.what:
            kinds.setdefault(series.what, style)
    if len(kinds) > 1:
        several = len({series.path for series in panel.series}) > 1
        axis.legend(
            handles=[
                Line2D(
                    [], [], label=what, **(dict(style) | ({"color": "black"} if several else {}))
                )
                for what, style in kinds.items()
            ],
            loc="lower right",
            bbox_to_anchor=(1.01, 0.97),
            ncols=len(kinds),
            frameon=False,
            fontsize=_SMALL,
            borderpad=0,
            columnspacing=1.2,
        )
    axis.set_ylabel(panel.unit)
    axis.yaxis.set_label_coords(_LABEL_X, 0.5)
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    if all(np.nanmin(series.values, initial=0) >= 0 for series in panel.series):
        axis.set_ylim(bottom=0)


def _draw_counts(
    axis: Axes, panel: Panel, run: RunSeries, colours: Mapping[str | None, str]
) -> None:
    """A row for each series, with a tick at each bin in which something was counted."""
    edges_s = run.edges_ns / NS_PER_S
    for row, series in enumerate(panel.series):
        counted = np.flatnonzero(series.values > 0)
        axis.vlines(
            (edges_s[counted] + edges_s[counted + 1]) / 2,
            row - 0.35,
            row + 0.35,
            color=colours[series.path],
            linewidth=0.8,
        )
        beside = axis.get_yaxis_transform()
        axis.text(1.005, row, _total(series), transform=beside, va="center", fontsize=_SMALL)
    _rows(axis, [series.path or series.what for series in panel.series])


def _total(series: Series) -> str:
    total = round(float(np.nansum(series.values)))
    return f"{total / _KIB:.0f} KiB" if series.metric.endswith("_bytes") else f"{total} packets"
