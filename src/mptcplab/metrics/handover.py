# SPDX-License-Identifier: GPL-2.0-only
"""How fast a sender notices that a path carries less for a while, and how fast it comes back.

Such a while is a dip: an event that lowers the rate of a path and is undone, such as a handover, or
one that takes the path down until another brings it up. If the path carries nothing at all, the dip
is an outage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mptcplab.metrics.recorded import Flow, Subflow, counted
from mptcplab.plan import timeline
from mptcplab.scenario.limits import Direction
from mptcplab.scenario.model import Scenario
from mptcplab.traces import link_trace
from mptcplab.units import NS_PER_S

#: A sender has noticed even if it sends up to this much more than the link carries.
DETECTED_AT = 1.1
#: The fraction of the earlier goodput that must be back.
RECOVERED_AT = 0.9
DETECTION_BIN_NS = 50 * 10**6
RECOVERY_BIN_NS = 100 * 10**6
BEFORE_NS = 10**9

_LOWERING = ("down", "unplug", "close", "change", "handover", "lose", "remove", "reboot")

_BITS_PER_BYTE = 8


@dataclass(frozen=True)
class Dip:
    """A path carries less from `begin_ns` to `end_ns` after T0; `rates` are its rates."""

    path: str
    action: str
    begin_ns: int
    end_ns: int
    rates: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Reaction:
    """How long after a dip began it was noticed, and after its end the path was used as before.

    After an outage, also how long until anything arrived over the path. None if unknown: the path
    carried nothing before, or the run ended.
    """

    dip: Dip
    detection_ns: int | None
    recovery_ns: int | None
    resumption_ns: int | None = None


def dips(scenario: Scenario, direction: Direction) -> list[Dip]:
    """All dips that begin while the workload runs, in the order of time."""
    if not any(event.action in _LOWERING for event in scenario.events):
        return []
    rates = timeline.rates(scenario, direction)
    everything = timeline.occurrences(scenario)
    found = []
    for number, occurrence in enumerate(everything):
        event, begin_ns, end_ns = occurrence.event, occurrence.begin_ns, occurrence.end_ns
        if event.action == "down" and end_ns is None:
            ups = (
                later.begin_ns
                for later in everything[number + 1 :]
                if later.event.path == event.path and later.event.action == "up"
            )
            end_ns = next(ups, None)
        # of a link, or of another connection's path, there are no rates here
        mine = rates.get(event.path)
        if end_ns is None or event.action not in _LOWERING or mine is None:
            continue
        if _rate_at(mine, begin_ns) < _rate_at(mine, begin_ns - 1):
            found.append(Dip(event.path, event.action, begin_ns, end_ns, mine))
    return found


def reactions(scenario: Scenario, flow: Flow, start_ns: int) -> list[Reaction]:
    """The reaction to each dip; `start_ns` is T0."""
    everything = dips(scenario, flow.direction)
    names = [path.name for path in scenario.paths]
    found = []
    for number, dip in enumerate(everything, 1):
        path = names.index(dip.path)
        sending, receiving = flow.sender.on_path(path), flow.receiver.on_path(path)
        # the path can be used as before only until its next dip
        later_ns = (later.begin_ns for later in everything[number:] if later.path == dip.path)
        until_ns = min([flow.interval.end_ns - start_ns, *later_ns])
        found.append(
            Reaction(
                dip,
                _detection_ns(dip, sending, start_ns, until_ns),
                _recovery_ns(dip, receiving, start_ns, until_ns),
                _resumption_ns(dip, receiving, start_ns, until_ns),
            )
        )
    return found


def _rate_at(rates: Sequence[tuple[int, int]], at_ns: int) -> int:
    return next((rate_bps for since_ns, rate_bps in reversed(rates) if since_ns <= at_ns), 0)


def _detection_ns(
    dip: Dip, subflows: Sequence[Subflow], start_ns: int, until_ns: int
) -> int | None:
    """The time until the first bin in which no more is sent than the link carries; at most the
    whole dip.
    """
    end_ns = min(dip.end_ns, until_ns)
    edges = np.arange(dip.begin_ns, end_ns + 1, DETECTION_BIN_NS, dtype=np.int64)
    if len(edges) < 2 or not _bytes(subflows, "sent_bytes", _before(dip), start_ns):
        return None
    sent = sum(counted(subflow.records, "sent_bytes", edges + start_ns) for subflow in subflows)
    for begin_ns, after_ns, sent_bytes in zip(edges[:-1], edges[1:], np.diff(sent), strict=True):
        carried = link_trace.carried(dip.rates, int(begin_ns), int(after_ns)) / NS_PER_S
        if sent_bytes * _BITS_PER_BYTE <= DETECTED_AT * carried:
            return int(begin_ns) - dip.begin_ns
    return end_ns - dip.begin_ns


def _recovery_ns(dip: Dip, subflows: Sequence[Subflow], start_ns: int, until_ns: int) -> int | None:
    """The time until the first bin, wherever it begins, that carries as much as one before the dip;
    or until `until_ns`.
    """
    before_ns = _before(dip)
    before = _bytes(subflows, "received_bytes", before_ns, start_ns)
    if not before or dip.end_ns + RECOVERY_BIN_NS > until_ns:
        return None
    times = np.unique(np.concatenate([subflow.records["time_ns"] for subflow in subflows]))
    ends = times.astype(np.int64)
    begins = ends - RECOVERY_BIN_NS
    inside = (begins >= dip.end_ns + start_ns) & (ends <= until_ns + start_ns)
    begins, ends = begins[inside], ends[inside]
    brought = sum(
        counted(s.records, "received_bytes", ends) - counted(s.records, "received_bytes", begins)
        for s in subflows
    )
    needed = RECOVERED_AT * before * RECOVERY_BIN_NS / (before_ns[1] - before_ns[0])
    enough = np.flatnonzero(brought >= needed)
    if not len(enough):
        return until_ns - dip.end_ns
    return int(begins[enough[0]]) - start_ns - dip.end_ns


def _resumption_ns(
    dip: Dip, subflows: Sequence[Subflow], start_ns: int, until_ns: int
) -> int | None:
    """The time until the first sample with more from the path than at the end of the outage; or
    until `until_ns`.
    """
    used = _bytes(subflows, "received_bytes", _before(dip), start_ns)
    if not used or _rate_at(dip.rates, dip.begin_ns) or dip.end_ns >= until_ns:
        return None
    firsts = [until_ns + start_ns]
    for records in (subflow.records for subflow in subflows):
        times = records["time_ns"].astype(np.int64)
        arrived = records["received_bytes"].astype(np.int64) + records["ofo_bytes"]
        at_end = int(np.searchsorted(times, dip.end_ns + start_ns, side="right"))
        before = arrived[:at_end].max(initial=0)
        firsts += times[at_end:][arrived[at_end:] > before][:1].tolist()
    return int(min(firsts)) - start_ns - dip.end_ns


def _before(dip: Dip) -> tuple[int, int]:
    return max(dip.begin_ns - BEFORE_NS, 0), dip.begin_ns


def _bytes(
    subflows: Sequence[Subflow], counter: str, span_ns: tuple[int, int], start_ns: int
) -> float:
    edges = np.array(span_ns, np.int64) + start_ns
    return float(sum(np.diff(counted(s.records, counter, edges))[0] for s in subflows))
