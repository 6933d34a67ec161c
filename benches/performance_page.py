# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, as the tables and charts of docs/performance.md."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benches import growth
from benches.figures import Contender, Cost, Line, Measured, Series, Spread, median_of, spread
from benches.others import LAB
from mptcplab import marked
from mptcplab.errors import MptcplabError
from mptcplab.report import draw
from mptcplab.report.palette import COLOURS, MARKERS
from mptcplab.runs import bench

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What `make bench` writes beside the page, and reads again.
DATA = "performance.json"
_MIB = 2**20
_IMAGES = "images"


def tables(measured: Measured) -> dict[str, str]:
    """The tables in Markdown, by the names of their marks in the page."""
    return {
        "make bench: machine": _machine(measured),
        "make bench: others": _others(measured),
        "make bench: growth": "\n".join(map(_growth, measured.series)),
        "make bench: lines": _lines(measured.series),
        "make bench: figures": _figures(measured),
    }


def write(measured: Measured, page: Path) -> list[Path]:
    """Write page, charts and data; returns the files. Raises MptcplabError."""
    marked.replace(page, tables(measured))
    data = page.with_name(DATA)
    drawn = {page.parent / _IMAGES / name: text for name, text in charts(measured).items()}
    try:
        (page.parent / _IMAGES).mkdir(exist_ok=True)
        data.write_text(measured.model_dump_json(indent=1) + "\n", encoding="utf-8")
        for file, text in drawn.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MptcplabError(f"{error.filename}: {error.strerror}") from error
    return [page, data, *drawn]


def charts(measured: Measured) -> dict[str, str]:
    """The charts as SVG, by the names of their files; the same for the same figures."""
    return {
        "performance-others.svg": _svg(lambda: _draw_others(measured.contenders)),
        "performance-packets.svg": _svg(lambda: _draw_packets(measured.series)),
        "performance-time.svg": _svg(
            lambda: _draw_growth(
                measured.series, {"CPU": "cpu_s", "wall clock": "wall_s"}, 1, "seconds", log=True
            )
        ),
        "performance-memory.svg": _svg(
            lambda: _draw_growth(
                measured.series, {"memory": "memory_bytes"}, _MIB, "MiB", log=False
            )
        ),
    }


# Tables


def _machine(measured: Measured) -> str:
    machine = measured.machine
    busy = "" if machine.load < 0.5 else ": **other programs ran, and times are too long**"
    tried = " **Tried with --quick: these are no figures.**" if measured.quick else ""
    return (
        f"{machine.processor}, {machine.cpus} CPUs, Linux {machine.kernel};"
        f" load average before: {machine.load:.2f}{busy}.{tried}\n"
    )


def _others(measured: Measured) -> str:
    lab = next(each for each in measured.contenders if each.name == LAB)
    head = (
        *("", "carries", "goodput, Mbit/s", "data, s", "packets", "CPU s", "wall s"),
        *("CPU per packet, of the lab's", "virtual time / CPU time"),
    )
    rows: list[tuple[str, ...]] = []
    for each in measured.contenders:
        if not each.taken:
            rows.append((each.name, f"{each.what}. Not measured: {each.why_not}"))
            continue
        seconds = each.taken[0].seconds
        rows.append(
            (
                each.name,
                each.what,
                f"{median_of(each.taken, 'goodput_bps') / 1e6:.1f}",
                "-" if seconds is None else f"{seconds:g}",
                _count(median_of(each.taken, "packets")),
                f"{median_of(each.taken, 'cpu_s'):.2f}",
                f"{median_of(each.taken, 'wall_s'):.2f}",
                _ratio_text(ratios(each, lab)) if each is not lab else "1",
                "-"
                if seconds is None
                else _ratio_text([seconds / cost.cpu_s for cost in each.taken]),
            )
        )
    text = _table(head, rows)
    ns3 = [cost for each in measured.contenders for cost in each.taken if cost.events]
    if ns3 and measured.ns3_start_cpu_s is not None:
        events = spread([(cost.events or 0) / cost.cpu_s for cost in ns3])
        text += (
            f"\nns-3 handled {_count(events.median)} events per CPU second."
            f" Its start, {measured.ns3_start_cpu_s:.0f} s of CPU time, is not counted;"
            " that of the lab is.\n"
        )
    return text


def ratios(each: Contender, lab: Contender) -> list[float]:
    """CPU time per packet, of that of the lab in the same round."""
    pairs = zip(each.taken, lab.taken, strict=False)
    return [_cpu_per_packet(its) / _cpu_per_packet(ours) for its, ours in pairs]


def _cpu_per_packet(cost: Cost) -> float:
    return cost.cpu_s / cost.packets


def _growth(series: Series) -> str:
    head = (
        series.unit,
        *("packets", "CPU s", "wall s", "virtual time / CPU time", "packets per CPU s", "MiB"),
    )
    rows = [
        (
            f"{point.x:g}",
            _count(median_of(point.taken, "packets")),
            f"{median_of(point.taken, 'cpu_s'):.2f}",
            f"{median_of(point.taken, 'wall_s'):.2f}",
            f"{spread([(cost.seconds or 0) / cost.cpu_s for cost in point.taken]).median:.1f}",
            _count(spread([cost.packets / cost.cpu_s for cost in point.taken]).median),
            f"{median_of(point.taken, 'memory_bytes') / _MIB:.0f}",
        )
        for point in series.points
    ]
    return f"**{series.name[0].upper()}{series.name[1:]}**: {series.what}\n\n{_table(head, rows)}"


def _lines(found: Sequence[Series]) -> str:
    head = ("series", "CPU s of a run without any", "more for each", "", "R²", "a line until")
    rows = []
    for each in found:
        end = growth.line_end(each)
        until = "all values" if end is None else f"{end:g} {each.unit}"
        line = growth.cost_line(each)
        rows.append((each.name, *_line(line, each.work.removesuffix("s")), until))
    rows.append(("all by packets", *_line(growth.all_by_packets(found), "packet"), ""))
    return _table(head, rows)


def _line(line: Line, work: str) -> tuple[str, str, str, str]:
    return f"{line.at_zero:.3f}", _time(line.slope), work, f"{line.r_squared:.4f}"


def _figures(measured: Measured) -> str:
    return _table(("figure", "measured", "wanted"), bench.rows(measured.bench))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join((*row, *[''] * (len(head) - len(row))))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _count(value: float) -> str:
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.1f} k"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def _ratio_text(values: Sequence[float]) -> str:
    found = spread(values)
    if len(values) == 1:
        return _three(found.median)
    return f"{_three(found.median)} ({_three(found.lower)} to {_three(found.upper)})"


def _three(value: float) -> str:
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


# Charts


def _svg(make: Callable[[], Figure]) -> str:
    with draw.drawing():
        import matplotlib

        # text as text: smaller, and it can be searched
        matplotlib.rcParams["svg.fonttype"] = "none"
        content = io.StringIO()
        make().savefig(content, format="svg", metadata=draw.NO_DATE["svg"])
    return content.getvalue()


def _draw_others(contenders: Sequence[Contender]) -> Figure:
    """Packets per CPU second; the line is from quartile to quartile."""
    from matplotlib.figure import Figure

    there = [each for each in reversed(contenders) if each.taken]
    figure = Figure(figsize=(draw.WIDTH, 0.8 + 0.35 * len(there)), layout="constrained")
    axis = figure.subplots()
    found = [spread([cost.packets / cost.cpu_s / 1e3 for cost in each.taken]) for each in there]
    axis.barh(
        [each.name for each in there],
        [each.median for each in found],
        xerr=_bars(found),
        color=[COLOURS[0] if each.name.startswith(LAB) else COLOURS[6] for each in there],
    )
    axis.set_xlabel("thousand packets with data per CPU second")
    axis.grid(axis="x", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def _bars(found: Sequence[Spread]) -> list[list[float]]:
    return [
        [each.median - each.lower for each in found],
        [each.upper - each.median for each in found],
    ]


def _draw_packets(series: Sequence[Series]) -> Figure:
    """CPU time over packets, of all runs whose work they are, and their line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(draw.WIDTH, 3.6), layout="constrained")
    axis = figure.subplots()
    shown = [each for each in series if each.work == growth.PACKETS]
    xs: list[float] = []
    for number, each in enumerate(shown):
        packets = growth.work(each)
        xs += packets
        axis.plot(
            packets,
            [median_of(point.taken, "cpu_s") for point in each.points],
            linestyle="",
            marker=MARKERS[number].matplotlib,
            color=COLOURS[number],
            label=each.name,
        )
    line = growth.all_by_packets(series)
    xs.sort()
    axis.plot(
        xs,
        [line.at_zero + line.slope * x for x in xs],
        color="#000000",
        linewidth=1,
        label=f"{line.at_zero:.2f} s + {line.slope * 1e6:.2f} us per packet"
        f" (R² = {line.r_squared:.3f})",
    )
    axis.set(xscale="log", yscale="log", xlabel="packets with data", ylabel="CPU seconds")
    axis.grid(color="#dddddd", linewidth=0.5)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize="small")
    return figure


def _draw_growth(
    series: Sequence[Series], names: dict[str, str], unit: float, label: str, *, log: bool
) -> Figure:
    """A panel for each series, a line for each of the figures; medians, and quartiles."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    rows = (len(series) + 1) // 2
    figure = Figure(figsize=(draw.WIDTH, 2.1 * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False).flat
    for axis, each in zip(panels, series, strict=False):
        xs = [point.x for point in each.points]
        for number, (name, figure_name) in enumerate(names.items()):
            found = [
                spread([getattr(cost, figure_name) / unit for cost in point.taken])
                for point in each.points
            ]
            axis.errorbar(
                xs,
                [point.median for point in found],
                _bars(found),
                color=COLOURS[number],
                marker=MARKERS[number].matplotlib,
                markersize=4,
                label=name,
            )
        axis.set(xscale="log", yscale="log" if log else "linear", ylabel=label)
        if not log:
            axis.set_ylim(bottom=0)
        axis.set_xlabel(each.unit)
        axis.set_xticks(xs, [f"{x:g}" for x in xs], fontsize="x-small")
        axis.xaxis.set_minor_locator(NullLocator())
        if log:
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_minor_locator(NullLocator())
            axis.yaxis.set_major_formatter("{x:g}")
        axis.set_title(each.what, loc="left", fontsize="small")
        axis.grid(color="#dddddd", linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in list(panels)[len(series) :]:
        axis.set_visible(False)
    if len(names) > 1:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(names), frameon=False)
    return figure
