# SPDX-License-Identifier: GPL-2.0-only
"""What the applications saw: figures from the records of the messages of a workload.

Times are whole nanoseconds, and sums are taken before the one division at the end, so that a figure
is the same to the last bit on every machine. docs/metrics.md lists them beside the figures of
connections.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mptcplab.errors import RunError
from mptcplab.metrics.compute import run_metrics
from mptcplab.metrics.definitions import ApplicationFigures
from mptcplab.metrics.records import DIRECTIONS, Records, Samples
from mptcplab.metrics.schema import Value
from mptcplab.scenario import workload
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import (
    CALL,
    REPLY,
    REQUEST,
    Bulk,
    Cbr,
    Frames,
    Message,
    Transfers,
    Tunnel,
    Video,
    Web,
)
from mptcplab.units import NS_PER_MS, NS_PER_S


def application_figures(
    scenario: Scenario, records: Records | None, start_ns: int
) -> ApplicationFigures:
    """The applications' figures; None for figures that the workload does not have.

    `records` has the content of messages.records, or is None without that file; `start_ns` is T0.
    Raises RunError if the records do not match the messages of this scenario.
    """
    load = scenario.workload
    if records is None or (isinstance(load, Bulk) and not load.is_crowd):
        return ApplicationFigures()
    messages = workload.messages(load, scenario.seed)
    figures: dict[str, Any] = {}
    if isinstance(load, Tunnel):
        return ApplicationFigures(**_call(load, messages, records, start_ns))
    if isinstance(load, Bulk):
        _check(messages, records)
        figures |= _crowd(records)
        if load.size_bytes is None:
            return ApplicationFigures(**figures)
    items = _items(messages, records, start_ns + load.warmup_ns)
    whole = [item for item in items if item.complete_ns]
    figures["completed"] = len(whole)
    times = [item.complete_ns - item.due_ns for item in whole]
    if isinstance(load, Cbr | Frames):
        figures |= _delays(whole)
    elif times:
        figures["completion_ms_mean"] = sum(times) / len(times) / NS_PER_MS
        for name, percent in (("median", 50), ("p95", 95), ("p99", 99), ("max", 100)):
            figures[f"completion_ms_{name}"] = _rank(times, percent) / NS_PER_MS
    if isinstance(load, Transfers) and times:
        carried = sum(item.size_bytes for item in whole)
        figures["transfer_goodput_bps"] = carried * 8 * NS_PER_S / max(sum(times), 1)
    if isinstance(load, Web) and len(whole) == len(items):
        last_ns = max(item.complete_ns for item in items)
        figures["page_load_s"] = (last_ns - start_ns) / NS_PER_S
    if isinstance(load, Video):
        figures |= _video(load, messages, records, start_ns)
    if isinstance(load, Frames) and items:
        on_time = [time for time in times if time <= load.deadline_ns]
        figures["in_time"] = len(on_time) / len(items)
        figures["playable"] = _playable(load, messages, records, start_ns) / len(items)
    return ApplicationFigures(**figures)


def inside_figures(
    scenario: Scenario, number: int, samples: tuple[Samples, Samples], guest: Mapping[str, Any]
) -> dict[str, Value]:
    """The figures of the bulk data in a tunnel, which is path `number` to the hosts behind it.

    `samples` are of these hosts, the client's first. Raises RunError as `run_metrics` does.
    """
    load = scenario.workload
    inner = scenario.model_copy(
        update={
            # any path without links: no figure below depends on its shape
            "paths": (scenario.paths[0].model_copy(update={"links": ()}),),
            "first_path": number,
            "links": (),
            "events": (),
            "transport": "tcp",
            "workload": Bulk(
                direction=load.direction, duration_ns=load.duration_ns, warmup_ns=load.warmup_ns
            ),
        }
    )
    found = run_metrics(inner, *samples, guest)
    return {
        "bulk_goodput_bps": found.metrics.goodput_bps,
        "bulk_srtt_ms_mean": found.paths[0].srtt_ms_mean,
        "bulk_retransmitted_packets": found.metrics.retransmitted_packets,
    }


def completion_times_ms(scenario: Scenario, records: Records, start_ns: int) -> list[float]:
    """The durations of the messages that count for the figures and have arrived, in the order of
    the messages; of a tunnel, the delays of its call in the direction of the bulk data.

    Empty for bulk data, but for several connections with a size. Arguments and errors are as in
    `application_figures`.
    """
    load = scenario.workload
    if isinstance(load, Bulk) and (load.size_bytes is None or not load.is_crowd):
        return []
    messages = workload.messages(load, scenario.seed)
    items = _items(messages, records, start_ns + load.warmup_ns)
    if isinstance(load, Tunnel):
        items = _of_call(load, items)
    return [(item.complete_ns - item.due_ns) / NS_PER_MS for item in items if item.complete_ns]


def _call(
    load: Tunnel, messages: Sequence[Message], records: Records, start_ns: int
) -> dict[str, Any]:
    """The figures of a call, each way: first in the direction of the bulk data."""
    found: dict[str, Any] = {}
    items = _items(messages, records, start_ns + load.warmup_ns)
    for name, back in (("call", False), ("call_back", True)):
        mine = _of_call(load, items, back=back)
        delays = [item.complete_ns - item.due_ns for item in mine if item.complete_ns]
        for rank, percent in (("median", 50), ("p95", 95), ("p99", 99)) if delays else ():
            found[f"{name}_delay_ms_{rank}"] = _rank(delays, percent) / NS_PER_MS
        if mine:
            in_time = sum(delay <= load.deadline_ns for delay in delays)
            found[f"{name}_in_time"] = in_time / len(mine)
            found[f"{name}_lost"] = (len(mine) - len(delays)) / len(mine)
    return found


def _of_call(load: Tunnel, items: Sequence[_Item], *, back: bool = False) -> list[_Item]:
    """The packets of a call in the direction of the bulk data, or back."""
    direction = DIRECTIONS.index(load.directions[0]) ^ back
    return [item for item in items if item.is_call and item.direction == direction]


def _crowd(records: Records) -> dict[str, Any]:
    """How many connections carried data, and how many did not end as they should."""
    begun = np.unique(records["connection"][records["begin_ns"] > 0])
    broken = np.unique(records["connection"][records["complete_ns"] == 0])
    return {"connections_established": len(begun), "connections_failed": len(broken)}


def _playable(load: Frames, messages: Sequence[Message], records: Records, start_ns: int) -> int:
    """How many frames due after the warm-up could be decoded before their deadline."""
    count = 0
    ready: list[float] = []  # when it and all the frames it needs had arrived
    times = (records[name].tolist() for name in ("due_ns", "complete_ns"))
    for message, due_ns, complete_ns in zip(messages, *times, strict=True):
        needed = ready[message.needs - 1] if message.needs is not None else 0
        ready.append(max(complete_ns, needed) if complete_ns else math.inf)
        if due_ns >= start_ns + load.warmup_ns and ready[-1] <= due_ns + load.deadline_ns:
            count += 1
    return count


@dataclass(frozen=True)
class _Item:
    """A message that counts for the figures, and since when the application has waited for it."""

    direction: int
    size_bytes: int
    due_ns: int
    complete_ns: int
    is_call: bool


def _items(messages: Sequence[Message], records: Records, since_ns: int) -> list[_Item]:
    """The messages due at `since_ns` or later; for a response, when its request was due."""
    _check(messages, records)
    directions = records["direction"].tolist()
    sizes = records["bytes"].tolist()
    dues, completes = records["due_ns"].tolist(), records["complete_ns"].tolist()
    found = []
    for index, message in enumerate(messages):
        if message.label in (REQUEST, REPLY):
            continue
        first = index
        if message.after is not None and messages[message.after - 1].label == REQUEST:
            first = message.after - 1
        # a message that never became due, because an earlier one did not arrive, counts as well
        if dues[first] == 0 or dues[first] >= since_ns:
            of = directions[index], sizes[index], dues[first], completes[index]
            found.append(_Item(*of, is_call=message.label == CALL))
    return found


def _check(messages: Sequence[Message], records: Records) -> None:
    if len(records) != len(messages):
        raise RunError(
            f"there are records of {len(records)} messages; the workload has {len(messages)}"
        )
    names = ("connection", "direction", "choice", "bytes", "complete_ns")
    rows = zip(messages, *(records[name].tolist() for name in names), strict=True)
    for number, (message, connection, direction, choice, size, complete_ns) in enumerate(rows, 1):
        sizes = message.sizes or (size,)
        is_whole = choice < len(sizes) and size == sizes[choice]
        if (connection, DIRECTIONS[direction]) != (message.connection, message.direction) or (
            choice >= len(sizes) or (complete_ns and not is_whole)
        ):
            raise RunError(
                f"the record of message {number} has connection {connection}, "
                f"{DIRECTIONS[direction]}, choice {choice} and {size} bytes; "
                f"the message has {message.connection}, {message.direction}, of {message.sizes}"
            )


def _delays(whole: Sequence[_Item]) -> dict[str, Value]:
    delays = [item.complete_ns - item.due_ns for item in whole]
    if not delays:
        return {}
    count, total = len(delays), sum(delays)
    squares = sum(delay * delay for delay in delays)
    changes = []
    for direction in range(len(DIRECTIONS)):
        own = [item.complete_ns - item.due_ns for item in whole if item.direction == direction]
        changes += [abs(after - before) for before, after in itertools.pairwise(own)]
    return {
        "delay_ms_mean": total / count / NS_PER_MS,
        "delay_ms_sd": math.sqrt(count * squares - total * total) / count / NS_PER_MS,
        "delay_variation_ms_mean": sum(changes) / len(changes) / NS_PER_MS if changes else None,
        "delay_ms_p99": _rank(delays, 99) / NS_PER_MS,
        "delay_ms_max": max(delays) / NS_PER_MS,
    }


def _video(
    load: Video, messages: Sequence[Message], records: Records, start_ns: int
) -> dict[str, Any]:
    """What the viewer saw: the player of docs/workloads.md waits for a segment when it is dry."""
    choices: list[int] = []
    begin_ns = dry_ns = stalls = stalled_ns = 0
    rows = zip(messages, *(records[n].tolist() for n in ("choice", "complete_ns")), strict=True)
    for message, choice, complete_ns in rows:
        if complete_ns == 0:
            break
        if message.label == REQUEST:
            continue
        if not choices:
            begin_ns = complete_ns
        elif complete_ns > dry_ns:
            stalls += 1
            stalled_ns += complete_ns - dry_ns
        choices.append(choice)
        dry_ns = max(dry_ns, complete_ns) + load.segment_ns
    if not choices:
        return {}
    return {
        "startup_s": (begin_ns - start_ns) / NS_PER_S,
        "stalls": stalls,
        "stall_s": stalled_ns / NS_PER_S,
        "bitrate_bps": sum(load.bitrates_bps[choice] for choice in choices) / len(choices),
        "switches": sum(int(a != b) for a, b in itertools.pairwise(choices)),
    }


def _rank(values: Sequence[int], percent: int) -> int:
    """The lowest value that at least `percent` % do not exceed."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]
