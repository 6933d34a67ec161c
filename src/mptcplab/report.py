# SPDX-License-Identifier: GPL-2.0-only
"""The report on some runs: a JSON document, and the table and chart that are made from it.

Table and chart take the document and the record files it points to, never a live run, so that
they can be made again from what is stored.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rich.box import Box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from mptcplab import timeline
from mptcplab.application import APPLICATION_METRICS
from mptcplab.metrics import (
    PATH_METRICS,
    RUN_METRICS,
    Goodput,
    RunMetrics,
    aggregation_benefit,
    goodput_series,
)
from mptcplab.presets import Preset
from mptcplab.records import read_samples
from mptcplab.scenario import LONGEST_NS, Scenario
from mptcplab.scheduler import Parameter, Scheduler
from mptcplab.schema import Value
from mptcplab.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Entry = dict[str, Any]
Document = dict[str, Any]

_MBIT, _KIB = 1e6, 1024.0
# The columns of the presets' table that both directions share.
_SHARED_KEYS = ("delay", "loss", "queue")

# A rule under the head and nothing else; ASCII, so that it is the same in every terminal.
_RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)

# Okabe & Ito, "Color Universal Design" (2008); black is kept for the total. Yellow comes last
# because it is faint on white.
_PATH_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999", "#F0E442",
)  # fmt: skip
_TOTAL_COLOUR = "#000000"

_DOTS_PER_INCH = 150
_CHART_WIDTH = 8.0  # inches: 1200 pixels
_PANEL_HEIGHT = 2.1
_FRAME_HEIGHT = 1.0  # title and the label of the time axis
_LEGEND_COLUMNS = 3
_LEGEND_ROW_HEIGHT = 0.2
_MAX_PATH_RATES = 3  # with more paths a dashed line for each would hide the curves
_BINS = 200  # wanted in a chart: more would be narrower than a few pixels
_SHORTEST_BIN_NS = 100_000_000  # a shorter one shows packets and round trips, not goodput


def run_entry(
    scenario: Scenario,
    *,
    status: str,
    reason: str | None = None,
    virtual_s: float | None,
    wall_s: float | None,
    run_metrics: RunMetrics | None,
    directory: str | None,
) -> Entry:
    """The part of the document on one run.

    `status` is "ok" or "failed", and then `reason` says why; `directory` holds the files of the
    run, relative to the directory of the report. All that a failed run has no figure for is
    None. A run of plain TCP says so, and over which path.
    """
    none: dict[str, Value] = {metric.name: None for metric in (*RUN_METRICS, *APPLICATION_METRICS)}
    if run_metrics is None:
        run_metrics = RunMetrics(
            metrics={},
            paths=[
                {**dict.fromkeys(metric.name for metric in PATH_METRICS), "name": path.name}
                for path in scenario.paths
            ],
        )
    entry: Entry = {"scheduler": scenario.scheduler.label, "seed": scenario.seed}
    if scenario.transport == "tcp":
        entry |= {"transport": "tcp", "path": scenario.paths[0].name}
    entry["status"] = status
    if status != "ok":
        entry["reason"] = reason
    return entry | {
        "virtual_s": virtual_s,
        "wall_s": wall_s,
        "data_packets": run_metrics.metrics.get("data_packets"),
        "metrics": none | run_metrics.metrics,
        "paths": [dict(path) for path in run_metrics.paths],
        "directory": directory,
    }


def document(
    runs: Sequence[Entry], baselines: Sequence[Entry], build: Mapping[str, Any], scenario: Scenario
) -> Document:
    """The JSON document of a comparison, runs and baselines in the order they are given in.

    Fills in the aggregation benefit of each run of bulk data that has, with its own seed, a
    baseline over each path of `scenario`. Only `wall_s` may differ between two documents of the
    same scenario.
    """
    return {
        "runs": [_with_benefit(run, baselines, scenario) for run in runs],
        "baselines": list(baselines),
        "build": dict(build),
        "scenario": scenario.model_dump(mode="json"),
    }


def _with_benefit(run: Entry, baselines: Sequence[Entry], scenario: Scenario) -> Entry:
    alone = {
        baseline["path"]: baseline["metrics"]["goodput_bps"]
        for baseline in baselines
        if baseline["seed"] == run["seed"] and baseline["status"] == "ok"
    }
    benefit = None
    bulk = scenario.workload.kind == "bulk"
    if bulk and run["status"] == "ok" and all(path.name in alone for path in scenario.paths):
        benefit = aggregation_benefit(
            run["metrics"]["goodput_bps"], [alone[path.name] for path in scenario.paths]
        )
    return run | {"metrics": run["metrics"] | {"aggregation_benefit": benefit}}


@dataclass(frozen=True)
class _Column:
    """A column of the table: its head, and a metric in some unit, with significant digits."""

    head: str
    metric: str
    unit: float
    digits: int


@dataclass(frozen=True)
class _View:
    """What is shown of a kind of workload: columns to the left and right of the paths' shares.

    The first one is what the kind is about, and `text` how it reads in a line.
    """

    left: tuple[_Column, ...]
    right: tuple[_Column, ...]
    notes: tuple[str, ...]
    text: str


_GOODPUT = _Column("Goodput\n\nMbit/s", "goodput_bps", _MBIT, 4)
_RETRANSMITTED = _Column("Retrans-\nmitted\npackets", "retransmitted_packets", 1, 1)
_OFO_MEAN = _Column("Out of\norder\nmean KiB", "ofo_bytes_mean", _KIB, 3)
_OFO_P99 = _Column("Out of\norder\np99 KiB", "ofo_bytes_p99", _KIB, 3)
_OFO_NOTES = (
    "Out of order: data waiting at the receiver for an earlier byte, mean and 99th",
    "percentile over time. docs/metrics.md defines every figure.",
)
_DEFINED = "docs/metrics.md defines every figure."


def _completion(what: str, note: str) -> _View:
    def column(name: str, metric: str) -> _Column:
        return _Column(f"{what}\n{name}\nms", f"completion_ms_{metric}", 1, 4)

    return _View(
        left=(column("median", "median"), column("p99", "p99"), column("longest", "max")),
        right=(_OFO_MEAN, _RETRANSMITTED),
        notes=(note, "mean over time of what waits at the receiver for an earlier byte.", _DEFINED),
        text="median ms",
    )


_DELAYS = (
    _Column("Delay\nmean\nms", "delay_ms_mean", 1, 4),
    _Column("Delay\nst. dev.\nms", "delay_ms_sd", 1, 3),
    _Column("Delay\np99\nms", "delay_ms_p99", 1, 4),
)
_VIEWS = {
    "bulk": _View(
        left=(_GOODPUT, _Column("Aggre-\ngation\nbenefit", "aggregation_benefit", 1, 3)),
        right=(_OFO_MEAN, _OFO_P99, _RETRANSMITTED),
        notes=_OFO_NOTES,
        text="Mbit/s",
    ),
    "transfers": _completion(
        "Transfer",
        "Transfer: time until its last byte has arrived, from when it was due. Out of order:",
    ),
    "requests": _completion(
        "Response", "Response: time from when the request was due until it is there. Out of order:"
    ),
    "cbr": _View(
        left=(*_DELAYS, _Column("Delay\nhighest\nms", "delay_ms_max", 1, 4)),
        right=(_RETRANSMITTED,),
        notes=("Delay: of a block, from when it is due until it has arrived.", _DEFINED),
        text="ms mean delay",
    ),
    "web": _View(
        left=(
            _Column("Page\nload\ns", "page_load_s", 1, 4),
            _Column("Object\nmedian\nms", "completion_ms_median", 1, 4),
            _Column("Object\np99\nms", "completion_ms_p99", 1, 4),
        ),
        right=(_RETRANSMITTED,),
        notes=(
            "Page load: until the last object has arrived. Object: from its request on.",
            _DEFINED,
        ),
        text="s page load",
    ),
    "video": _View(
        left=(
            _Column("Start-\nup\ns", "startup_s", 1, 3),
            _Column("Stalls", "stalls", 1, 1),
            _Column("Stalled\n\ns", "stall_s", 1, 3),
            _Column("Bitrate\nmean\nMbit/s", "bitrate_bps", _MBIT, 3),
            _Column("Switch-\nes", "switches", 1, 1),
        ),
        right=(_RETRANSMITTED,),
        notes=(
            "Stalls: how often, and for how long, the player had nothing to play after it began.",
            f"Switches: changes of the bitrate. {_DEFINED}",
        ),
        text="s start-up",
    ),
    "frames": _View(
        left=(_Column("Frames\nin time\n%", "in_time", 0.01, 4), *_DELAYS),
        right=(_RETRANSMITTED,),
        notes=(
            "In time: arrived before the deadline. Delay: of a frame, from when it is due until it",
            f"has arrived. {_DEFINED}",
        ),
        text="% in time",
    ),
}


def headline(kind: str, entry: Entry) -> str:
    """What a run that ended well is about, in two words."""
    first = _VIEWS[kind].left[0]
    value = entry["metrics"][first.metric]
    return f"{'-' if value is None else f'{value / first.unit:.2f}'} {_VIEWS[kind].text}"


def comparison_table(document: Document) -> Group:
    """A row per scheduler, medians over seeds with the range below; notes underneath.

    Plain ASCII; fits 80 columns whatever the number of paths is.
    """
    view = _VIEWS[document["scenario"]["workload"]["kind"]]
    table = Table(box=_RULE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Scheduler", overflow="fold")
    for column in view.left:
        table.add_column(column.head, justify="right", no_wrap=True)
    table.add_column("Share of\neach path\n%", overflow="fold")
    for column in view.right:
        table.add_column(column.head, justify="right", no_wrap=True)
    for scheduler, runs in _by_scheduler(document["runs"]).items():
        ended_well = _ok(runs)
        name = scheduler
        if len(ended_well) < len(runs):
            name += f"\n{len(ended_well)} of {len(runs)} ok"

        def shown(columns: Sequence[_Column], runs: Sequence[Entry] = ended_well) -> list[str]:
            return [_of_runs(runs, column) for column in columns]

        table.add_row(name, *shown(view.left), _shares(ended_well), *shown(view.right))
        table.add_row()
    return Group(table, *(Text(note) for note in _notes(document, view)))


def _of_runs(runs: Sequence[Entry], column: _Column) -> str:
    return _spread([run["metrics"][column.metric] for run in runs], column.unit, column.digits)


def scheduler_table(schedulers: Iterable[Scheduler]) -> Table:
    """A line per scheduler: its name and what it does."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for scheduler in schedulers:
        table.add_row(Text(scheduler.name), Text(scheduler.summary))
    return table


def preset_table(presets: Iterable[Preset]) -> Table:
    """A line per preset of a path: its numbers (up/down if they differ), and their sources."""
    table = Table(box=_RULE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Preset", no_wrap=True)
    for column in ("Up", "Down", "Delay", "Loss", "Queue"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("Sources", overflow="fold")
    for preset in presets:
        numbers = preset.numbers()
        sides = [(numbers[f"up.{key}"], numbers[f"down.{key}"]) for key in _SHARED_KEYS]
        shared = [up if up == down else f"{up}/{down}" for up, down in sides]
        sources = Text(", ".join(preset.sources()))
        table.add_row(preset.name, numbers["up.rate"], numbers["down.rate"], *shared, sources)
    return table


def parameter_table(parameters: Iterable[Parameter]) -> Table:
    """A line per parameter of a scheduler: what it may be, is by default, and means."""
    table = Table(box=_RULE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Parameter", no_wrap=True)
    table.add_column("Range", no_wrap=True)
    table.add_column("Default", no_wrap=True)
    table.add_column("Unit", no_wrap=True)
    table.add_column("Meaning", overflow="fold")
    for parameter in parameters:
        table.add_row(
            parameter.name,
            "off, on" if parameter.kind == "bool" else f"{parameter.minimum}..{parameter.maximum}",
            parameter.text(parameter.default),
            Text(parameter.unit),
            Text(parameter.meaning),
        )
    return table


def _notes(document: Document, view: _View) -> list[str]:
    """What a first-time reader of the table must know, what is compared with, and what failed."""
    runs, baselines = document["runs"], document["baselines"]
    seeds = sorted({run["seed"] for run in runs})
    if len(seeds) > 1:
        numbers = f"Median of {len(seeds)} seeds, and below it the range from lowest to highest."
    else:
        numbers = f"One run each, seed {seeds[0]}." if seeds else "No runs."
    warmup_ns = document["scenario"]["workload"]["warmup_ns"]
    notes = [numbers]
    if document["scenario"]["workload"]["kind"] == "bulk":
        after = f" after {format_time(warmup_ns)} of warm-up" if warmup_ns else ""
        benefit = "1 = all paths used in full, 0 = as good as the best alone."
        if all(run["metrics"]["aggregation_benefit"] is None for run in runs):
            benefit = "not measured (needs plain TCP over each of 2+ paths)."
        notes += [
            f"Goodput: application data that arrived in order{after}.",
            f"Aggregation benefit: {benefit}",
        ]
    elif warmup_ns:
        notes.append(f"The first {format_time(warmup_ns)} are warm-up, and not measured.")
    notes += view.notes
    alone = []
    first = view.left[0]
    for path in document["scenario"]["paths"]:
        entries = [entry for entry in _ok(baselines) if entry["path"] == path["name"]]
        if entries:
            values = [entry["metrics"][first.metric] for entry in entries]
            spread = _spread(values, first.unit, first.digits, between=" (", after=")")
            alone.append(f"\n  {path['name']} {spread}")
    if alone:
        notes.append(f"Plain TCP over one path alone, {view.text}: {''.join(alone)}")
    return [*notes, *_failures(runs, "scheduler", ""), *_failures(baselines, "path", "plain TCP, ")]


def _failures(entries: Sequence[Entry], by: str, kind: str) -> list[str]:
    """A line for each reason why runs failed: of how many, which, and why."""
    counts: dict[str, int] = {}
    failed: dict[tuple[str, str], list[int]] = {}
    for entry in entries:
        counts[entry[by]] = counts.get(entry[by], 0) + 1
        if entry["status"] != "ok":
            failed.setdefault((entry[by], entry["reason"]), []).append(entry["seed"])
    return [
        f"Failed: {kind}{by} {name}, {len(seeds)} of {counts[name]} runs "
        f"(seed {', '.join(map(str, sorted(seeds)))}): {reason}"
        for (name, reason), seeds in failed.items()
    ]


def _by_scheduler(runs: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The runs of each scheduler, schedulers in the order of their first run."""
    schedulers: dict[str, list[Entry]] = {}
    for run in runs:
        schedulers.setdefault(run["scheduler"], []).append(run)
    return schedulers


def _ok(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry["status"] == "ok"]


def _shares(runs: Sequence[Entry]) -> str:
    """A line per path: the median of its share, and its name."""
    if not runs:
        return "-"
    lines = []
    for index, path in enumerate(runs[0]["paths"]):
        share = _median([run["paths"][index]["share"] for run in runs])
        lines.append(f"{'-' if share is None else f'{100 * share:.1f}':>5} {path['name']}")
    return "\n".join(lines)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _spread(
    values: Sequence[float | None],
    unit: float,
    digits: int,
    between: str = "\n",
    after: str = "",
) -> str:
    """Median and, of several values, the range; `digits` significant ones, in the given unit."""
    known = [value / unit for value in values if value is not None]
    if not known:
        return "-"
    median = statistics.median(known)
    before_point = len(str(int(abs(median))))
    decimals = min(max(digits - before_point, 0), digits - 1)
    text = f"{median:.{decimals}f}"
    if len(known) > 1:
        text += f"{between}{min(known):.{decimals}f}..{max(known):.{decimals}f}{after}"
    return text


def write_chart(document: Document, out_dir: Path) -> list[Path]:
    """Draw goodput over time, a panel per scheduler, as goodput.png and goodput.svg in `out_dir`.

    Shows the first seed that ended well, and reads its records from the run's `directory` under
    `out_dir`. Returns the files, or nothing when no run ended well. The same document gives the
    same bytes. Raises MptcplabError when records cannot be read.
    """
    shown = {
        scheduler: min(_ok(runs), key=lambda run: int(run["seed"]))
        for scheduler, runs in _by_scheduler(document["runs"]).items()
        if _ok(runs)
    }
    if not shown:
        return []
    scenario = Scenario.model_validate_json(json.dumps(document["scenario"]))
    samples = {
        scheduler: read_samples(out_dir / run["directory"] / "server.samples")
        for scheduler, run in shown.items()
    }
    span_ns = max(
        int(side.connection["time_ns"][-1]) - int(side.connection["time_ns"][0])
        for side in samples.values()
    )
    bin_ns = _bin_ns(span_ns, scenario.sample_interval_ns)
    panels = {
        f"{scheduler}, seed {shown[scheduler]['seed']}": goodput_series(scenario, side, bin_ns)
        for scheduler, side in samples.items()
    }
    matplotlib = _matplotlib()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Without the salt the ids in an SVG file are random.
        matplotlib.rcParams.update({"svg.hashsalt": "mptcplab", "font.size": 9})
        figure = _goodput_figure(scenario, panels, bin_ns, span_ns)
        png, svg = out_dir / "goodput.png", out_dir / "goodput.svg"
        figure.savefig(png, dpi=_DOTS_PER_INCH, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


def _bin_ns(span_ns: int, sample_interval_ns: int) -> int:
    """Width of a bin for a chart of `span_ns`: a whole number of sample intervals."""
    wanted = max(span_ns // _BINS, min(_SHORTEST_BIN_NS, span_ns // 20))
    return max(1, -(-wanted // sample_interval_ns)) * sample_interval_ns


def _goodput_figure(
    scenario: Scenario, panels: Mapping[str, Goodput], bin_ns: int, span_ns: int
) -> Figure:
    from matplotlib.figure import Figure

    legend_rows = -(-(len(scenario.paths) + 3) // _LEGEND_COLUMNS)
    height = _FRAME_HEIGHT + _PANEL_HEIGHT * len(panels) + _LEGEND_ROW_HEIGHT * legend_rows
    figure = Figure(figsize=(_CHART_WIDTH, height), layout="constrained")
    rates = timeline.rates(scenario)
    axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axis, (title, goodput) in zip(axes, panels.items(), strict=True):
        _draw_panel(axis, scenario, rates, goodput)
        axis.set_title(title, loc="left", fontsize="medium", fontweight="bold")
        axis.set_ylabel("Goodput (Mbit/s)")
    axes[-1].set_xlabel("Time since the start of the workload (s)")
    axes[-1].set_xlim(0, max(span_ns, bin_ns) / 1e9)
    axes[-1].set_ylim(bottom=0)
    figure.suptitle(f"Goodput over time, mean of each {format_time(bin_ns)}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=_LEGEND_COLUMNS, frameon=False)
    return figure


def _draw_panel(
    axis: Axes,
    scenario: Scenario,
    rates: Mapping[str, Sequence[tuple[int, int]]],
    goodput: Goodput,
) -> None:
    constant = all(len(each) == 1 for each in rates.values())
    capacity_mbps = sum(path.up.rate_bps for path in scenario.paths) / _MBIT
    together = f" (together {capacity_mbps:g} Mbit/s)" if constant else ""
    _draw_rate(axis, _sum(list(rates.values())), _TOTAL_COLOUR, label=f"dashed: links{together}")
    axis.plot(
        goodput.time_s,
        goodput.total / _MBIT,
        color=_TOTAL_COLOUR,
        linewidth=1.0,
        label="connection, in order",
    )
    for path, colour in zip(scenario.paths, _PATH_COLOURS, strict=False):
        mine = rates[path.name]
        link = f", link {path.up.rate_bps / _MBIT:g} Mbit/s" if len(mine) == 1 else ""
        axis.plot(
            goodput.time_s,
            goodput.paths[path.name] / _MBIT,
            color=colour,
            linewidth=1.2,
            label=f"{path.name}{link}",
        )
        if len(scenario.paths) <= _MAX_PATH_RATES:
            _draw_rate(axis, mine, colour)
    if scenario.workload.warmup_ns:
        axis.axvspan(
            0, scenario.workload.warmup_ns / 1e9, color="#eeeeee", zorder=0, label="warm-up"
        )
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_rate(axis: Axes, rates: Sequence[tuple[int, int]], colour: str, label: str = "") -> None:
    """A dashed line: from when on, in ns, which rate, in bit/s."""
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


def _sum(rates: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """The sum of rates that change at different times."""
    changes = [
        (at_ns, rate_bps - before)
        for each in rates
        for (at_ns, rate_bps), before in zip(each, [0, *(r for _, r in each)], strict=False)
    ]
    total, found = 0, dict[int, int]()
    for at_ns, change in sorted(changes):
        total += change
        found[at_ns] = total
    return list(found.items())


def _matplotlib() -> ModuleType:
    """Import matplotlib, which takes a second; its font cache goes into the cache of mptcplab."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("MPLCONFIGDIR", str(cache / "mptcplab" / "matplotlib"))
    import matplotlib as module

    module.use("agg")
    return module
