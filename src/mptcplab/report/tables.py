# SPDX-License-Identifier: GPL-2.0-only
"""Tables of a comparison and of a sweep.

The table of a comparison is made from its document, never from a live run, so that it can be made
again from the store.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from rich.console import Group
from rich.text import Text

from mptcplab.lab import choices
from mptcplab.metrics import inference, overruled
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures, UdpFigures
from mptcplab.metrics.views import DEFINED, MBIT, VIEWS, Column, View
from mptcplab.report.catalogue_tables import Fitted, add_numbers, ruled
from mptcplab.report.draw import in_lines
from mptcplab.runs.collection import Collection
from mptcplab.runs.entries import (
    SAME,
    Document,
    Entry,
    by_seed,
    compared,
    ended_well,
    seeds_changed_nothing,
)
from mptcplab.units import counted, format_time

# A direction of a link that is used less than this carries only acknowledgments.
_WORTH_TELLING = 0.1
# Of a line with a scheduler's name, if it has parameters.
_NAME_WIDTH = 20
# Of a sweep's table: more would leave the terminal.
_MOST_ROWS = 100
# Part of the time from which on it counts as all of it.
_ALWAYS = 0.99


def headline(kind: str, entry: Entry) -> str:
    """The main result of a successful run, in two words."""
    if entry.connections:
        fairness = entry.metrics.fairness
        index = "" if fairness is None else f", Jain's index {fairness:.4f}"
        return f"{(entry.metrics.goodput_bps or 0) / MBIT:.2f} Mbit/s{index}"
    first = VIEWS[kind].left[0]
    value = entry.metrics[first.metric]
    return f"{'-' if value is None else f'{value / first.unit:.2f}'} {VIEWS[kind].text}"


def comparison_table(document: Document) -> Group:
    """A row per scheduler and congestion control, medians over seeds with the range below; notes
    underneath.

    For a scenario with connections, a row per connection. Plain ASCII; columns on the right give
    way on a narrow terminal.
    """
    if document.scenario.connections:
        return _connections_table(document)
    view = VIEWS[document.scenario.workload.kind]
    left = [each for each in view.left if not each.optional or _has(document.runs, each)]
    table = ruled()
    heads = ["Scheduler"]
    heads += ["congestion\ncontrol"] if len({run.cc for run in document.runs}) > 1 else []
    heads += ["kernel"] if len({run.kernel for run in document.runs}) > 1 else []
    table.add_column(",\n".join(heads), no_wrap=True)
    both = document.scenario.workload.direction == "both"
    add_numbers(table, *(_head(column, both=both) for column in left))
    table.add_column(f"Share of\neach path\n%{' up, down' if both else ''}", overflow="fold")
    add_numbers(table, *(column.head for column in view.right))
    # no wider than needed: with ranges beside it, a path's name would not fit into 80 columns
    shares = [share for run in document.runs for path in run.paths for share in path.shares()]
    share_width = max((len(_share(share)) for share in shares), default=0)
    for name, runs in compared(document.runs).items():
        good = ended_well(runs)
        shown = [
            [
                _spread([run.metrics[each.metric] for run in good], each.unit, each.digits)
                for each in columns
            ]
            for columns in (left, view.right)
        ]
        table.add_row(_named(name, runs), *shown[0], _shares(good, share_width), *shown[1])
        table.add_row()
    return Group(Fitted(table), *(Text(note) for note in _notes(document, view)))


def _head(column: Column, *, both: bool) -> str:
    """The head of a column; of goodput `both` ways, it names the direction."""
    if both and column.metric == "goodput_bps":
        return column.head.replace("\n\n", "\nup\n")
    return column.head


def _named(scheduler: str, runs: Sequence[Entry]) -> str:
    """A scheduler, and how many of its runs ended well, if not all did."""
    good = len(ended_well(runs))
    name = in_lines(scheduler, _NAME_WIDTH)
    return name if good == len(runs) else f"{name}\n{good} of {len(runs)} ok"


@dataclass(frozen=True)
class TableFigure:
    """A figure of the table: its head, and the values of the seeds in its unit, by scheduler."""

    head: str
    values: Mapping[str, Sequence[float]]


def best_first(document: Document) -> list[TableFigure]:
    """The figures of the table, with the schedulers in the order of the first one.

    The order is by its median. Schedulers without a successful run, and figures that none has, are
    left out.
    """
    view = VIEWS[document.scenario.workload.kind]
    by_name = {
        scheduler: ended_well(runs)
        for scheduler, runs in compared(document.runs).items()
        if ended_well(runs)
    }

    def values(column: Column, runs: Sequence[Entry]) -> list[float]:
        every = (run.metrics[column.metric] for run in runs)
        return [value / column.unit for value in every if value is not None]

    def rank(name: str) -> tuple[bool, float]:
        known = values(view.left[0], by_name[name])
        median = statistics.median(known) if known else 0.0
        return not known, median if view.less_is_better else -median

    names = sorted(by_name, key=rank)
    figures = [
        TableFigure(column.head, {name: values(column, by_name[name]) for name in names})
        for column in (*view.left, *view.right)
    ]
    return [figure for figure in figures if any(figure.values.values())]


def _connections_table(document: Document) -> Group:
    """For each scheduler, the figures of each connection, and of all together."""
    table = ruled()
    table.add_column("Scheduler", no_wrap=True)
    table.add_column("Connection", no_wrap=True)
    heads = ("Goodput\n\nMbit/s", "In common\ntime\nMbit/s", "Share\n\n%", "Round\ntrip\nms")
    add_numbers(table, *heads, "Retrans-\nmitted\npackets")
    for scheduler, runs in compared(document.runs).items():
        good = ended_well(runs)
        name = _named(scheduler, runs)
        if not good:
            table.add_row(name)
            continue
        for index, first in enumerate(good[0].connections):
            mine = [run.connections[index] for run in good]
            table.add_row(
                name if not index else "",
                f"{first.name}\n{in_lines(how(first), _NAME_WIDTH)}",
                _spread([one.goodput_bps for one in mine], MBIT, 4),
                _spread([one.common_goodput_bps for one in mine], MBIT, 4),
                _spread([one.share for one in mine], 0.01, 3),
                _spread([_round_trip_ms(run, first.paths) for run in good], 1, 3),
                _spread([one.metrics.retransmitted_packets for one in mine], 1, 1),
            )
        table.add_row(
            "",
            "all",
            _spread([run.metrics.goodput_bps for run in good], MBIT, 4),
            *("", "", ""),
            _spread([run.metrics.retransmitted_packets for run in good], 1, 1),
        )
        table.add_row()
    return Group(Fitted(table, 3), *(Text(note) for note in _connection_notes(document)))


def how(connection: ConnectionFigures) -> str:
    """The transport or scheduler of a connection, and its congestion control."""
    what = "tcp" if connection.transport == "tcp" else connection.scheduler
    return f"{what}, {connection.cc}"


def _round_trip_ms(run: Entry, paths: Sequence[str]) -> float | None:
    """The mean RTT of its paths that have one."""
    found = [path.srtt_ms_mean for path in run.paths if path.name in paths]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


def _connection_notes(document: Document) -> list[str]:
    runs = document.runs
    notes = [
        _seeds_note(runs),
        *_kernel_note(document),
        "Goodput: of a connection over its lifetime, of all over the whole run, after warm-up.",
        "In common time: while all of them send. Share: of the goodput of all in that time.",
        *_fairness_notes(runs),
        *_call_notes(runs),
        *_link_notes(runs),
        DEFINED,
    ]
    return [*notes, *_overruled(runs), *_failures(runs, "scheduler", "")]


def _fairness_notes(runs: Sequence[Entry]) -> Iterator[str]:
    for scheduler, mine in compared(runs).items():
        found = [run.metrics.fairness for run in ended_well(mine)]
        if any(value is not None for value in found):
            index = _spread(found, 1, 4, between=" (", after=")")
            yield f"Jain's fairness index in the common time, {scheduler}: {index}"


def _call_notes(runs: Sequence[Entry]) -> Iterator[str]:
    """What became of the calls in tunnels."""
    for scheduler, mine in compared(runs).items():
        good = ended_well(mine)
        for index, first in enumerate(good[0].connections if good else ()):
            all_ = [run.connections[index].metrics for run in good]
            if first.metrics.call_in_time is not None:
                p99 = _spread(
                    [each.call_delay_ms_p99 for each in all_], 1, 4, between=" (", after=")"
                )
                in_time = 100 * (_median([each.call_in_time for each in all_]) or 0)
                yield (
                    f"Call in {first.name}, {scheduler}: {in_time:.1f} % of its packets in time, "
                    f"99 % within {p99} ms"
                )


def _crowd_notes(runs: Sequence[Entry]) -> Iterator[str]:
    """What became of many connections between two hosts."""
    for scheduler, mine in compared(runs).items():
        good = [
            run.metrics
            for run in ended_well(mine)
            if run.metrics.connections_established is not None
        ]
        if good:
            established = _median([each.connections_established for each in good])
            failed = _median([each.connections_failed for each in good])
            fairness = _spread([each.fairness for each in good], 1, 3, between=" (", after=")")
            yield (
                f"Connections, {scheduler}: {established:.0f} established, {failed:.0f} failed; "
                f"Jain's fairness index {fairness}"
            )


def _link_notes(runs: Sequence[Entry]) -> Iterator[str]:
    """The use of the links that paths share, if they carried more than acknowledgments."""
    for scheduler, mine in compared(runs).items():
        good = ended_well(mine)
        for index, first in enumerate(good[0].links if good else ()):
            all_ = [run.links[index] for run in good]
            used = _median([link.utilisation for link in all_])
            if used is None or used < _WORTH_TELLING:
                continue
            queue = _median([link.queue_delay_ms_mean for link in all_])
            dropped = _median([link.queue_dropped_packets for link in all_])
            yield (
                f"Link {first.name} {first.direction}, {scheduler}: {100 * used:.1f} % used, "
                f"{queue or 0:.1f} ms in its queue, {dropped or 0:.0f} packets dropped"
            )


def link_table(found: Sequence[LinkFigures]) -> Fitted:
    """What each direction of some links carried, of whatever protocol, a row each."""
    table = ruled()
    table.add_column("Path or link,\ndirection", no_wrap=True)
    heads = ("Carried\nMbit/s", "Used\n%", "In queue\nmean ms", "Dropped\npackets", "Lost\npackets")
    add_numbers(table, *heads)
    for link in found:
        table.add_row(
            f"{link.name} {link.direction}",
            *_cells(
                (link.carried_bps, MBIT, 2),
                (link.utilisation, 0.01, 1),
                (link.queue_delay_ms_mean, 1, 1),
                (link.queue_dropped_packets, 1, 0),
                (link.lost_packets, 1, 0),
            ),
        )
    return Fitted(table)


#: A row of a table of UDP: what it is called, and its figures.
UdpRow = tuple[str, UdpFigures]


def udp_table(head: str, found: Sequence[UdpRow]) -> Fitted:
    """What each direction of some flows of UDP carried, a row each, named under `head`."""
    table = ruled()
    table.add_column(head, no_wrap=True)
    heads = (
        *("Payload\n\nMbit/s", "Share\n\n%", "Sent\n\npackets", "Lost\n\npackets"),
        *("Delay\nmedian\nms", "Delay\np95\nms", "Delay\nmax\nms", "Re-\nordered\npackets"),
    )
    add_numbers(table, *heads)
    for name, flow in found:
        payload, share, sent, lost, *delays, reordered = _cells(
            (flow.payload_bps, MBIT, 2),
            (flow.share, 0.01, 1),
            (flow.packets, 1, 0),
            (flow.lost_packets, 1, 0),
            (flow.delay_ms_median, 1, 1),
            (flow.delay_ms_p95, 1, 1),
            (flow.delay_ms_max, 1, 1),
            (flow.reordered_packets, 1, 0),
        )
        if flow.alike_packets:
            # of the other packets: the alike ones may be lost, too, or overtake and be overtaken
            lost, reordered = (each if each == "-" else f">={each}" for each in (lost, reordered))
        table.add_row(name, payload, share, sent, lost, *delays, reordered)
    return Fitted(table)


def udp_notes(found: Sequence[UdpRow]) -> list[str]:
    """What does not fit into a table of UDP."""
    notes = []
    for name, flow in found:
        if flow.alike_packets:
            # some packets that arrived may be duplicates
            missing = (flow.packets or 0) - (flow.arrived_packets or 0)
            least = f"; at least {missing} of all did not arrive" if missing > 0 else ""
            notes.append(
                f"{name}: {flow.alike_packets} packets look like others, and count in no loss, "
                f"delay or reordering: it is unknown which of them arrived{least}"
            )
        if flow.pending_packets:
            notes.append(
                f"{name}: {counted(flow.pending_packets, 'packet')} sent after the last arrival: "
                "on their way at the end, or lost"
            )
    return notes


def number(value: float | None, unit: float, decimals: int) -> str:
    """A figure in a unit, with so many decimals; a dash for one that is missing."""
    return "-" if value is None else f"{value / unit:.{decimals}f}"


def _cells(*figures: tuple[float | None, float, int]) -> list[str]:
    return [number(*each) for each in figures]


def sweep_rows(collection: Collection) -> list[dict[str, Any]]:
    """A row for each scheduler, and plain TCP over each path, at each point of a sweep.

    `figure` is the main one of the workload, with its median, interval and quartiles over `seeds`.
    """
    metric = _main(collection).metric
    rows = []
    for group in collection.groups:
        point = {
            axis.key or axis.name: value
            for axis, value in zip(collection.axes, group.values, strict=True)
        }
        alone = compared([run.entry for run in group.baselines], "path")
        tcp = {f"TCP over {path}": runs for path, runs in alone.items()}
        for name, runs in {**compared(group.entries()), **tcp}.items():
            good = ended_well(runs)
            over = inference.summary(_known([run.metrics[metric] for run in good]))
            row: dict[str, Any] = {"point": point, "scheduler": name, "figure": metric}
            row |= {"seeds": len(good), "failed": len(runs) - len(good)}
            if over is not None:
                row |= {key: value for key, value in asdict(over).items() if key != "n"}
            rows.append(row)
    return rows


def sweep_table(collection: Collection) -> Group:
    """The main figure of each scheduler at each point of a sweep; of many points, over all."""
    rows, axes = sweep_rows(collection), collection.axes
    note = ""
    if len(rows) > _MOST_ROWS:
        groups = collection.groups
        runs = tuple(run for group in groups for run in group.runs)
        alone = tuple(run for group in groups for run in group.baselines)
        every = replace(groups[0], runs=runs, baselines=alone, values=())
        rows, axes = sweep_rows(replace(collection, groups=(every,), axes=())), ()
        note = f"Median and interval over all runs of {len(groups)} points; --json has each point."
    ends, head, width = ("low", "high"), "95 %\ninterval", "its 95 % interval"
    if all(row["seeds"] < inference.FEWEST_FOR_AN_INTERVAL for row in rows):
        ends, head, width = ("lowest", "highest"), "Range", "their range"
    if not note:
        is_once = all(row["seeds"] < 2 for row in rows)
        note = "One run each." if is_once else f"Median over the seeds, and {width}."
    main, table = _main(collection), ruled()
    for axis in axes:
        table.add_column(axis.label, justify="right", overflow="fold")
    table.add_column("Scheduler", overflow="fold")
    add_numbers(table, main.head.replace("\n\n", "\n"), head, "Seeds")
    before: Any = None
    for row in rows:
        is_new = row["point"] != before
        if is_new and before is not None:
            table.add_row()
        before = row["point"]
        values = [value if isinstance(value, str) else f"{value:g}" for value in before.values()]
        failed = f"{row['seeds']} of {row['seeds'] + row['failed']} ok"
        median, low, high = (
            _spread([row.get(end)], main.unit, main.digits) for end in ("median", *ends)
        )
        table.add_row(
            *(values if is_new else [""] * len(axes)),
            row["scheduler"],
            median,
            "" if low == high else f"{low}..{high}",
            failed if row["failed"] else str(row["seeds"]),
        )
    return Group(Fitted(table, len(axes) + 2), Text(note))


def _main(collection: Collection) -> Column:
    """The main figure of the runs."""
    return VIEWS[collection.groups[0].scenario.workload.kind].left[0]


def _notes(document: Document, view: View) -> list[str]:
    """What a first-time reader of the table must know, the baselines, and what failed."""
    runs, baselines = document.runs, document.baselines
    warmup_ns = document.scenario.workload.warmup_ns
    notes = [_seeds_note(runs), *_kernel_note(document)]
    if document.scenario.workload.kind == "bulk":
        after = f" after {format_time(warmup_ns)} of warm-up" if warmup_ns else ""
        notes.append(f"Goodput: application data that arrived in order{after}.")
        if any(run.metrics.aggregation_benefit is not None for run in runs):
            notes.append(
                "Aggregation benefit: 1 = all paths used in full, 0 = as good as the best alone."
            )
    elif warmup_ns:
        notes.append(f"The first {format_time(warmup_ns)} are warm-up, and not measured.")
    notes += [*_crowd_notes(runs), *view.notes]
    if document.scenario.workload.direction == "both":
        timed = "" if document.scenario.workload.kind == "bulk" else " Times count both."
        notes.append(
            f"Data went both ways: up to the server, down to the client.{timed} Columns without "
            "a direction are of the data up."
        )
    # of programs there is a table of the links
    notes += _link_notes(runs) if document.scenario.workload.kind != "program" else []
    alone = []
    first = view.left[0]
    for name, entries in compared(baselines, "path").items():
        values = [entry.metrics[first.metric] for entry in ended_well(entries)]
        if values:
            spread = _spread(values, first.unit, first.digits, between=" (", after=")")
            alone.append(f"\n  {name} {spread}")
    if alone:
        notes.append(f"Plain TCP over one path alone, {view.text}: {''.join(alone)}")
    notes += [*_alike(runs), *_differences(runs, first, view)]
    notes += _one_sample_note(runs, first.metric, view)
    notes += [*_overruled(runs), *_failures(runs, "scheduler", "")]
    return [*notes, *_failures(baselines, "path", "plain TCP, ")]


def _seeds_note(runs: Sequence[Entry]) -> str:
    seeds = sorted({run.seed for run in runs})
    if len(seeds) > 1:
        return f"Median of {len(seeds)} seeds, and below it the range where they differ."
    return f"One run each, seed {seeds[0]}." if seeds else "No runs."


def _kernel_note(document: Document) -> list[str]:
    """The kernel, if it has a name, and its arithmetic, if most people's kernels have another."""
    like = document.build.get("kernel_like", choices.DEFAULT_FLAVOUR)
    notes = []
    if name := document.build.get("kernel_name"):
        several = "," in name
        notes = [f"{'Kernels' if several else 'Kernel'}: {name} ({document.build['kernel']})."]
    if like != choices.DEFAULT_FLAVOUR:
        usual = choices.DEFAULT_FLAVOUR
        notes.append(f"Kernel: computes as {like} kernels, not as {usual} ones (--kernel-like).")
    return notes


def _one_sample_note(runs: Sequence[Entry], metric: str, view: View) -> list[str]:
    """Of which schedulers the seeds, and so the intervals, say nothing."""
    names = [
        name
        for name, own in compared(runs).items()
        if seeds_changed_nothing(_known([run.metrics[metric] for run in ended_well(own)]))
    ]
    if not names:
        return []
    return [
        f"Seeds changed nothing (less than 0.1 %), {view.text}: {', '.join(names)}. "
        "With --vary 2% each seed draws paths around those given: independent samples."
    ]


def _alike(runs: Sequence[Entry]) -> Iterator[str]:
    """Schedulers that sent the same with every seed, and why, if the windows of paths say it."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, own in compared(ended_well(runs)).items():
        groups.setdefault(tuple(map(_sent, own)), []).append(name)
    for names in groups.values():
        if len(names) < 2:
            continue
        yield f"Sent the same: {', '.join(names)}."
        paths = [path for run in runs if run.label in names for path in run.paths]
        if all((path.limited_by_cwnd or 0) > _ALWAYS for path in paths):
            yield (
                "Every congestion window was full, which leaves them no choice. Messages do: "
                "--workload cbr:size=8KB,rate=5mbit, for one."
            )


def _sent(run: Entry) -> tuple[object, ...]:
    """Figures that are equal to the last digit only if the packets are the same."""
    own = run.metrics
    paths = [(each.share, each.srtt_ms_mean, each.in_flight_mean) for each in run.paths]
    return (run.seed, run.data_packets, own.ofo_bytes_mean, own.send_buffer_bytes_mean, *paths)


def _differences(runs: Sequence[Entry], column: Column, view: View) -> list[str]:
    """The main figure of each scheduler minus the figure of the first one, on the same seeds.

    No test is made where seeds change nothing: a deterministic run has no sampling error.
    """
    values = by_seed(runs, column.metric)
    known = {name: _known(list(own.values())) for name, own in values.items()}
    reference = next(iter(values), None)
    lines = []
    for (first, second), each in inference.differences(values).items():
        if first != reference or each.low is None or each.high is None:
            continue
        base, own = (statistics.median(known[name]) for name in (first, second))
        if max(abs(each.low), abs(each.high)) <= SAME * abs(base):
            lines.append(f"\n  {second}: the same, within 0.1 %")
            continue
        decimals = _decimals((each.high - each.low) / column.unit)
        median, low, high = (
            f"{value / column.unit:+.{decimals}f}" for value in (each.median, each.low, each.high)
        )
        part = f" ({100 * each.median / base:+.2g} %)" if base else ""
        if seeds_changed_nothing(known[first]) and seeds_changed_nothing(known[second]):
            lines.append(f"\n  {second} {median}{part}; seeds change nothing: no test")
            continue
        lines.append(f"\n  {second} {median}{part}, {low}..{high}, p {each.p_adjusted:.2g}")
        if each.median * (own - base) < 0:
            shown = f"{(own - base) / column.unit:+.{decimals}f}"
            lines.append(f"\n    the medians above differ by {shown}: they are of different seeds")
    if not lines:
        return []
    return [
        f"Difference from {reference} with the same seed, {view.text}: median, 95 % bootstrap "
        f"interval, Wilcoxon's p adjusted for all pairs:{''.join(lines)}"
    ]


def _decimals(width: float) -> int:
    """How many decimals show two digits of the width of an interval."""
    return min(9, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2


def _overruled(runs: Sequence[Entry]) -> Iterator[str]:
    """What was done in the place of schedulers, or refused to them, in all runs together."""
    for name, mine in compared(runs).items():
        yield from overruled.lines(name, [run.metrics for run in ended_well(mine)])


def _failures(entries: Sequence[Entry], by: Literal["scheduler", "path"], kind: str) -> list[str]:
    """A line for each reason why runs failed: which ones, of how many, and why."""
    lines = []
    for name, group in compared(entries, by).items():
        failed: dict[str, list[int]] = {}
        for entry in group:
            if entry.status != "ok":
                failed.setdefault(str(entry.reason), []).append(entry.seed)
        lines += [
            f"Failed: {kind}{by} {name}, {len(seeds)} of {len(group)} runs "
            f"(seed {', '.join(map(str, sorted(seeds)))}): {reason}"
            for reason, seeds in failed.items()
        ]
    return lines


def _shares(runs: Sequence[Entry], width: int) -> str:
    """A line per path: the medians of its shares, right-aligned in `width`, and its name."""
    if not runs:
        return "-"
    lines = []
    for index, path in enumerate(runs[0].paths):
        of_runs = zip(*(run.paths[index].shares() for run in runs), strict=True)
        texts = [_share(_median(each)) for each in of_runs]
        lines.append(" ".join([*(f"{text:>{width}}" for text in texts), path.name]))
    return "\n".join(lines)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _has(runs: Sequence[Entry], column: Column) -> bool:
    return any(run.metrics[column.metric] is not None for run in runs)


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return statistics.median(known) if known else None


def _spread(
    values: Sequence[float | None], unit: float, digits: int, between: str = "\n", after: str = ""
) -> str:
    """The median and, of values that differ, the range; in `unit`, `digits` significant ones."""
    known = [value / unit for value in values if value is not None]
    if not known:
        return "-"
    median = statistics.median(known)
    before_point = len(str(int(abs(median))))
    decimals = min(max(digits - before_point, 0), digits - 1)
    text, low, high = (f"{each:.{decimals}f}" for each in (median, min(known), max(known)))
    return text if low == high else f"{text}{between}{low}..{high}{after}"
