# SPDX-License-Identifier: GPL-2.0-only
"""The charts of a comparison, made from its document and the record files it points to."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mptcplab.metrics import run_files, series
from mptcplab.metrics.recorded import data_directions, sample_times
from mptcplab.metrics.records import Samples, read_samples
from mptcplab.metrics.series import Floats
from mptcplab.plan import timeline
from mptcplab.plan.bottlenecks import capacity_together
from mptcplab.report import draw
from mptcplab.report.charts import BURSTS, highest_shown_bps
from mptcplab.report.palette import PATH_COLOURS, TOTAL_COLOUR, Style, styles
from mptcplab.report.tables import best_first
from mptcplab.runs import store
from mptcplab.runs.entries import Document, compared, ended_well, seeds_changed_nothing
from mptcplab.scenario.limits import Direction
from mptcplab.scenario.model import LONGEST_NS, Scenario
from mptcplab.scenario.scheduler import DEFAULT
from mptcplab.units import NS_PER_S, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: As `series.goodput` gives it: of each path or connection, and of all.
_Goodput = Mapping[str | None, Floats]

_MBIT = 1e6

_PANEL_HEIGHT = 2.1
_MANY_PANELS, _LOW_PANEL_HEIGHT = 4, 1.5  # with more, lower ones are side by side, two in a row
# Of a title above a panel, with so many in a row; and of its last line, if that is beside a note.
_CHARACTERS = {1: 92, 2: 44}
_NOTED_CHARACTERS = {1: 76, 2: 30}
_FEWEST_IN_OVERVIEW = 3
_ROW_HEIGHT = 0.22  # of a scheduler in the overview
_FRAME_HEIGHT = 1.0  # title and the label of the time axis
_LEGEND_COLUMNS = 3
_MAX_PATH_RATES = 3  # with more paths a dashed line for each would hide the curves
_BINS = 200  # wanted in a chart: more would be narrower than a few pixels
_SHORTEST_BIN_NS = 100_000_000  # a shorter one shows packets and round trips, not goodput


@dataclass(frozen=True)
class _Panel:
    """The goodput of a run in one direction, and its title, in the look of the scheduler."""

    title: str
    look: Style
    direction: Direction
    goodput: _Goodput


def write(document: Document, out_dir: Path) -> list[Path]:
    """Draw the overview and the goodput of a comparison, in place of earlier pictures.

    A single run gets none: `mptcplab show` draws it, and drawing takes as long as a short run.
    """
    for name in ("overview", "goodput"):
        for file in _files(out_dir / name):
            file.unlink(missing_ok=True)
    if len(document.runs) == 1 and not document.baselines:
        return []
    return [*write_overview(document, out_dir), *write_chart(document, out_dir)]


def write_chart(document: Document, out_dir: Path) -> list[Path]:
    """Draw goodput over time, as goodput.png and goodput.svg in `out_dir`.

    A panel per scheduler and congestion control, and direction if data went both ways.

    Shows the first seed that ended well, and reads its records from the run's `directory` under
    `out_dir`. Returns the files, or nothing when no run ended well. The same document gives the
    same bytes. Raises MptcplabError when records cannot be read.
    """
    shown = {
        name: min(ended_well(runs), key=lambda run: run.seed)
        for name, runs in compared(document.runs).items()
        if ended_well(runs)
    }
    if not shown:
        return []
    scenario, looks = document.scenario, styles(compared(document.runs))
    recorded = {
        name: _recorded(scenario, out_dir / str(run.directory)) for name, run in shown.items()
    }
    span_ns = max(end_ns - begin_ns for (begin_ns, end_ns), _ in recorded.values())
    bin_ns = _bin_ns(span_ns, scenario.host_interval_ns)
    directions = data_directions(scenario)
    panels = [
        _Panel(
            f"{name}, seed {shown[name].seed}" + (f", data {one}" if len(directions) > 1 else ""),
            looks[name],
            one,
            series.goodput(scenario, samples, times_ns, bin_ns, one),
        )
        for name, (times_ns, samples) in recorded.items()
        for one in directions
    ]
    with draw.drawing():
        figure = _goodput_figure(scenario, panels, bin_ns, span_ns)
        return _save(figure, out_dir / "goodput")


def _recorded(scenario: Scenario, directory: Path) -> tuple[tuple[int, int], Mapping[str, Samples]]:
    """When the records of a run begin and end, and the samples of each receiver."""
    if scenario.connections:
        samples = run_files.read_samples(scenario, directory)
        times = sample_times(samples.values(), None)
    else:
        receivers = ["server" if one == "up" else "client" for one in data_directions(scenario)]
        samples = {each: read_samples(directory / f"{each}.samples") for each in receivers}
        times = samples[receivers[0]].connection["time_ns"]
    return (int(times[0]), int(times[-1])), samples


def write_overview(document: Document, out_dir: Path) -> list[Path]:
    """Draw the figures of the table, as overview.png and overview.svg in `out_dir`.

    A row per scheduler, the best one by the first figure on top. Returns the files; none if there
    are so few schedulers that the table shows as much.
    """
    shown = [runs for runs in compared(document.runs).values() if ended_well(runs)]
    if len(shown) < _FEWEST_IN_OVERVIEW:
        return []
    with draw.drawing():
        return _save(_overview_figure(document), out_dir / "overview")


def _files(file: Path) -> tuple[Path, Path]:
    return file.with_suffix(".png"), file.with_suffix(".svg")


def _save(figure: Figure, file: Path) -> list[Path]:
    png, svg = _files(file)
    store.write(png, draw.drawn(figure, "png", draw.DOTS_PER_INCH))
    # the same layout in both: finding it takes as long as drawing
    figure.set_layout_engine("none")
    store.write(svg, draw.drawn(figure, "svg"))
    return [png, svg]


def _overview_figure(document: Document) -> Figure:
    from matplotlib.figure import Figure

    figures = best_first(document)
    names = list(figures[0].values)
    looks = styles(compared(document.runs))
    rows = draw.NamedRows(names, _ROW_HEIGHT)
    height = _FRAME_HEIGHT + _ROW_HEIGHT * rows.height
    figure = Figure(figsize=(draw.WIDTH, height), layout="constrained")
    axes = figure.subplots(1, len(figures), sharey=True, squeeze=False)[0]
    any_still = False
    for axis, each in zip(axes, figures, strict=True):
        for row, (name, values) in zip(rows.places, each.values.items(), strict=True):
            if not values:
                continue
            look, median = looks[name], statistics.median(values)
            if name == DEFAULT:
                axis.axvline(median, color="#999999", linewidth=0.6, zorder=0)
            axis.plot([min(values), max(values)], [row, row], color=look.colour, linewidth=1.0)
            still = seeds_changed_nothing(values)
            any_still |= still
            axis.plot(
                *(median, row, look.marker.matplotlib),
                color=look.colour,
                markersize=5,
                markerfacecolor="white" if still else look.colour,
                clip_on=False,
            )
        axis.set_title("\n".join(filter(None, each.head.split("\n"))), fontsize="small")
        every = [value for values in each.values.values() for value in values]
        # a benefit may be negative
        lowest, highest = min(0.0, *every), max(0.0, *every)
        axis.set_xlim(1.1 * lowest, 1.1 * highest or (0 if lowest else 1))
        axis.tick_params(axis="x", labelsize="small")
        axis.locator_params(axis="x", nbins=3)
        axis.grid(axis="y", color="#dddddd", linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    rows.name(axes[0])
    seeds = len({run.seed for run in document.runs})
    title = f"Median of {seeds} seeds, and the range" if seeds > 1 else "One run each"
    if any_still:
        title += "; hollow: seeds changed nothing"
    figure.suptitle(title, fontsize="medium")
    return figure


def _bin_ns(span_ns: int, sample_interval_ns: int) -> int:
    """Width of a bin for a chart of `span_ns`: a whole number of sample intervals."""
    wanted = max(span_ns // _BINS, min(_SHORTEST_BIN_NS, span_ns // 20))
    return max(1, -(-wanted // sample_interval_ns)) * sample_interval_ns


def _goodput_figure(
    scenario: Scenario, panels: Sequence[_Panel], bin_ns: int, span_ns: int
) -> Figure:
    from matplotlib.figure import Figure

    lines = len(panels[0].goodput) + len(scenario.links) + 2
    legend_rows = -(-lines // _LEGEND_COLUMNS)
    many = len(panels) > _MANY_PANELS
    columns, panel_height = (2, _LOW_PANEL_HEIGHT) if many else (1, _PANEL_HEIGHT)
    rows = -(-len(panels) // columns)
    directions = data_directions(scenario)
    top_bps = max(highest_shown_bps(capacity_together(scenario, one)) for one in directions)
    bursts = {each.title: each.goodput[None].max(initial=0) for each in panels}
    bursts = {title: bps for title, bps in bursts.items() if bps > top_bps}
    notes = {title: f"bursts up to {bps / _MBIT:.0f} Mbit/s" for title, bps in bursts.items()}
    titles = [_title(each.title, columns, is_noted=each.title in notes) for each in panels]
    # each row of panels has room for its longest title
    further = sum(
        max(title.count("\n") for title in titles[first : first + columns])
        for first in range(0, len(titles), columns)
    )
    height = _FRAME_HEIGHT + panel_height * rows + draw.LEGEND_ROW_HEIGHT * legend_rows
    height += draw.LINE_HEIGHT * further
    figure = Figure(figsize=(draw.WIDTH, height), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for axis in axes[len(panels) :]:
        axis.remove()
    for axis, panel, title in zip(axes, panels, titles, strict=False):
        _draw_panel(axis, scenario, panel, bin_ns)
        draw.title_of_scheduler(axis, title, panel.look, notes.get(panel.title, ""))
    for axis in grid[:, 0]:
        axis.set_ylabel("Goodput (Mbit/s)")
    for axis in axes[len(panels) - columns : len(panels)]:
        axis.tick_params(axis="x", labelbottom=True)
    for axis in axes[columns * (rows - 1) : len(panels)]:
        axis.set_xlabel("Time since the start of the workload (s)")
    axes[0].set_xlim(0, max(span_ns, bin_ns) / 1e9)
    axes[0].set_ylim(bottom=0)
    if bursts:
        axes[0].set_ylim(top=top_bps / _MBIT)
    heading = f"Goodput over time, mean of each {format_time(bin_ns)}"
    figure.suptitle(
        "\n".join([heading, *([f"Bursts above the links: {BURSTS}"] if bursts else [])]),
        fontsize="large",
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=_LEGEND_COLUMNS, frameon=False)
    return figure


def _title(text: str, columns: int, *, is_noted: bool) -> str:
    title = draw.in_lines(text, _CHARACTERS[columns])
    if is_noted and len(title.split("\n")[-1]) > _NOTED_CHARACTERS[columns]:
        return draw.in_lines(text, _NOTED_CHARACTERS[columns])
    return title


def _draw_panel(axis: Axes, scenario: Scenario, panel: _Panel, bin_ns: int) -> None:
    # the legend is of all panels
    directions = data_directions(scenario)
    rates = {one: timeline.rates(scenario, one) for one in directions}
    goodput = panel.goodput
    if scenario.links:
        _draw_shared(axis, scenario, panel.direction)
    elif not scenario.connections:
        constant = all(len(each) == 1 for own in rates.values() for each in own.values())
        together = {one: capacity_together(scenario, one) for one in directions}
        sum_text = _rates_text(list(together.values())) if constant else ""
        label = f"dashed: links{f' (together {sum_text})' if sum_text else ''}"
        _draw_rate(axis, together[panel.direction], TOTAL_COLOUR, label=label)
    # the middle of each bin
    time_s = (np.arange(len(goodput[None])) + 0.5) * bin_ns / NS_PER_S
    axis.plot(
        time_s,
        goodput[None] / _MBIT,
        color=TOTAL_COLOUR,
        linewidth=0.8,
        # where one path carries all, its line is seen beside this one
        zorder=3,
        label="all connections" if scenario.connections else "connection, in order",
    )
    own = {} if scenario.connections or scenario.links else rates[panel.direction]
    parts = ((name, values) for name, values in goodput.items() if name is not None)
    for (name, values), colour in zip(parts, itertools.cycle(PATH_COLOURS), strict=False):
        mine = own.get(name, ())
        rate = _rates_text([each[name] for each in rates.values()]) if mine and name else ""
        link = f", link {rate}" if rate else ""
        axis.plot(time_s, values / _MBIT, color=colour, linewidth=2.2, label=f"{name}{link}")
        if mine and len(scenario.paths) <= _MAX_PATH_RATES:
            _draw_rate(axis, mine, colour)
    if scenario.workload.warmup_ns:
        axis.axvspan(
            0, scenario.workload.warmup_ns / 1e9, color="#eeeeee", zorder=0, label="warm-up"
        )
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    axis.spines[["top", "right"]].set_visible(False)


def _rates_text(of_directions: Sequence[timeline.Steps]) -> str:
    """Constant rates of each direction in words, up first; "" for others."""
    if any(len(steps) > 1 for steps in of_directions):
        return ""
    rates = [f"{steps[0][1] / _MBIT:g}" for steps in of_directions]
    return f"{rates[0]} Mbit/s" if len(set(rates)) == 1 else f"{rates[0]} up, {rates[1]} down"


def _draw_shared(axis: Axes, scenario: Scenario, direction: Direction) -> None:
    """A dashed line for each link that paths share, in the direction of the data."""
    rates = timeline.link_rates(scenario, direction)
    for link in scenario.links:
        mine = rates[link.name]
        rate = f" {mine[0][1] / _MBIT:g} Mbit/s" if len(mine) == 1 else ""
        _draw_rate(axis, mine, TOTAL_COLOUR, label=f"dashed: link {link.name}{rate}")


def _draw_rate(axis: Axes, rates: Sequence[tuple[int, int]], colour: str, label: str = "") -> None:
    """A dashed line through (time in ns, rate in bit/s from then on)."""
    times_s = [at_ns / 1e9 for at_ns, _ in rates]
    mbps = [rate_bps / _MBIT for _, rate_bps in rates]
    # beyond the end of the axis
    times_s.append(times_s[-1] + LONGEST_NS / 1e9)
    mbps.append(mbps[-1])
    axis.step(
        times_s,
        mbps,
        where="post",
        color=colour,
        linestyle="--",
        linewidth=0.8,
        label=label or None,
    )
