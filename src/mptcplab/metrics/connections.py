# SPDX-License-Identifier: GPL-2.0-only
"""The figures of a run with several connections, and of the links that paths share.

Each connection is measured as if it were the only one, over its own life. How they share links is
measured while all of them send: the common time.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.metrics import recorded
from mptcplab.metrics.application import application_figures, inside_figures
from mptcplab.metrics.compute import RunMetrics, bps, jain_index, queue_metrics, run_metrics
from mptcplab.metrics.definitions import RUN_METRICS, ConnectionFigures, LinkFigures, RunFigures
from mptcplab.metrics.handover import BEFORE_NS, RECOVERED_AT, RECOVERY_BIN_NS
from mptcplab.metrics.recorded import Interval, Times, increase
from mptcplab.metrics.records import Records, Samples
from mptcplab.metrics.schema import Trait, Value
from mptcplab.plan import plan, timeline, tunnels
from mptcplab.scenario.limits import DIRECTIONS
from mptcplab.scenario.model import Link, Pair, Scenario
from mptcplab.scenario.workload import Tunnel
from mptcplab.units import NS_PER_S

#: The figures of a run that are sums over its connections; all others belong to a connection.
SUMS = [metric.name for metric in RUN_METRICS if Trait.SUM in metric.traits]


@dataclass(frozen=True)
class OfConnection:
    """One connection of a run as a run of its own, and what its hosts recorded."""

    pair: Pair
    scenario: Scenario
    client: Samples
    server: Samples
    guest: Mapping[str, Any]
    messages: Records

    @property
    def receiver(self) -> Samples:
        return self.client if recorded.measured_direction(self.scenario) == "down" else self.server

    @property
    def links(self) -> set[str]:
        return {name for path in self.pair.paths for name in path.links}

    def ends_ns(self) -> int:
        """When it stops sending: as its workload says, or because all data has arrived."""
        end_ns = self.pair.connection.end_ns
        complete_ns = int(self.guest["complete_ns"])
        if end_ns is None:
            return complete_ns
        return min(int(self.guest["start_ns"]) + end_ns, complete_ns)

    def received(self, times: Times) -> npt.NDArray[np.float64]:
        """The bytes that had arrived on its subflows at these times."""
        receiver = recorded.host_records(self.scenario, "receiver", self.receiver)
        total = np.zeros(len(times))
        for subflow in receiver.subflows:
            total += recorded.counted(subflow.records, "received_bytes", times)
        return total


def connections(
    scenario: Scenario, samples: Mapping[str, Samples], guest: Mapping[str, Any], messages: Records
) -> list[OfConnection]:
    """Each connection of a run; `samples` are by host, `messages` cover all connections."""
    found, number = [], 0
    for pair, own in zip(scenario.pairs(), plan.messages_of(scenario), strict=True):
        mine = messages[number : number + len(own)].copy()
        number += len(own)
        # a run of its own counts its connections from 1
        mine["connection"] -= min(message.connection for message in own) - 1
        complete_ns = int(mine["complete_ns"].max())
        found.append(
            OfConnection(
                pair=pair,
                scenario=scenario.alone(pair),
                client=samples[pair.client],
                server=samples[pair.server],
                guest={**guest, "complete_ns": complete_ns},
                messages=mine,
            )
        )
    return found


def inside(
    scenario: Scenario, pair: Pair, samples: Mapping[str, Samples], guest: Mapping[str, Any]
) -> dict[str, Value]:
    """The figures of the bulk data in a pair's tunnel; empty if there is none."""
    load = pair.connection.workload
    if not isinstance(load, Tunnel) or not load.bulk:
        return {}
    lan, wan = (samples[name] for name in pair.behind)
    number = tunnels.number_of(scenario, pair)
    alone = scenario.alone(pair) if scenario.connections else scenario
    return inside_figures(alone, number, (lan, wan), guest)


def figures(
    scenario: Scenario,
    samples: Mapping[str, Samples],
    guest: Mapping[str, Any],
    queues: Records | None,
    messages: Records,
) -> RunMetrics:
    """All figures of a run with several connections; without `queues`, no link has figures.

    Raises RunError as `run_metrics` does.
    """
    parts = connections(scenario, samples, guest, messages)
    of_each = [_of_one(part, queues, inside(scenario, part.pair, samples, guest)) for part in parts]
    times = recorded.sample_times(samples.values(), queues)
    whole = recorded.measured_interval(scenario, "run", times, guest)
    common = common_interval(parts, times)
    shares = [_bps(part, common) for part in parts]
    known = [share for share in shares if share is not None]
    total_bps = sum(known)
    sums: dict[str, Any] = {name: _sum([one.metrics[name] for one in of_each]) for name in SUMS}
    goodput_bps = sum(_bps(part, whole) or 0.0 for part in parts)
    metrics = RunFigures(goodput_bps=goodput_bps, fairness=jain_index(known), **sums)
    entries = (
        ConnectionFigures(
            name=part.pair.connection.name,
            transport=part.scenario.transport,
            scheduler=part.scenario.scheduler.label if part.scenario.transport != "tcp" else None,
            cc=part.scenario.cc,
            paths=part.pair.connection.paths,
            goodput_bps=one.metrics.goodput_bps,
            common_goodput_bps=share,
            share=share / total_bps if share is not None and total_bps else None,
            takeover_s=takeover_s(part, parts),
            metrics=one.metrics,
        )
        for part, one, share in zip(parts, of_each, shares, strict=True)
    )
    return RunMetrics(
        metrics,
        tuple(path for one in of_each for path in one.paths),
        connections=tuple(entries),
        links=()
        if queues is None
        else link_metrics(scenario, scenario.links, queues, whole, int(guest["start_ns"])),
    )


def common_interval(parts: Sequence[OfConnection], times: Times) -> Interval | None:
    """From the end of the last warm-up to the first end, both moved inwards to samples, or None."""
    start_ns = int(parts[0].guest["start_ns"])
    begins, ends = [], []
    for part in parts:
        begins.append(start_ns + part.scenario.start_ns + part.scenario.workload.warmup_ns)
        ends.append(part.ends_ns())
    first = int(np.searchsorted(times, max(begins), side="left"))
    last = int(np.searchsorted(times, min(ends), side="right")) - 1
    return Interval(int(times[first]), int(times[last])) if first < last else None


def takeover_s(leaving: OfConnection, parts: Sequence[OfConnection]) -> float | None:
    """How long after the end of a connection the others on its links have the goodput that all had,
    its own included.

    None if no other one sends for long enough, or the connection had sent for less than BEFORE_NS.
    """
    end_ns = leaving.ends_ns()
    others = [
        part
        for part in parts
        if part is not leaving and part.links & leaving.links and part.ends_ns() > end_ns
    ]
    begin_ns = int(leaving.guest["start_ns"]) + leaving.scenario.start_ns
    if not others or begin_ns > end_ns - BEFORE_NS:
        return None
    before = np.array([end_ns - BEFORE_NS, end_ns], dtype=np.int64)
    had = sum(float(np.diff(part.received(before))[0]) for part in (leaving, *others))
    until_ns = min(part.ends_ns() for part in others)
    edges = np.arange(end_ns, until_ns + 1, RECOVERY_BIN_NS, dtype=np.int64)
    if len(edges) < 2 or not had:
        return None
    have = np.sum([np.diff(part.received(edges)) for part in others], axis=0)
    there = np.flatnonzero(have >= RECOVERED_AT * had * RECOVERY_BIN_NS / BEFORE_NS)
    return int(there[0]) * RECOVERY_BIN_NS / NS_PER_S if len(there) else None


def link_metrics(
    scenario: Scenario, links: Sequence[Link], queues: Records, interval: Interval, start_ns: int
) -> tuple[LinkFigures, ...]:
    """The figures of each direction of links, or of paths, whatever went over them."""
    found = []
    for link, direction in itertools.product(links, DIRECTIONS):
        records = recorded.queue_records(scenario, queues, link.name, direction)
        if not len(records):
            continue
        rates = timeline.link_rates(scenario, direction)[link.name]
        span = (at_ns - start_ns for at_ns in interval)
        rate_bps = timeline.mean_rate_bps(rates, *span)
        carried_bps = bps(increase(records, "sent_bytes", interval), interval)
        found.append(
            LinkFigures(
                name=link.name,
                direction=direction,
                carried_bps=carried_bps,
                utilisation=carried_bps / rate_bps if rate_bps else None,
                **queue_metrics(records, interval),
            )
        )
    return tuple(found)


def _sum(values: Sequence[Value]) -> Value:
    known = [value for value in values if value is not None]
    total: float = sum(known)
    return total if known else None


def _of_one(part: OfConnection, queues: Records | None, bulk: dict[str, Value]) -> RunMetrics:
    found = run_metrics(part.scenario, part.client, part.server, part.guest, queues, is_part=True)
    start_ns = int(part.guest["start_ns"]) + part.scenario.start_ns
    seen = dict(application_figures(part.scenario, part.messages, start_ns)) | bulk
    return replace(found, metrics=found.metrics.model_copy(update=seen))


def _bps(part: OfConnection, interval: Interval | None) -> float | None:
    """The goodput of a connection in an interval, in the measured direction."""
    if interval is None:
        return None
    receiver = recorded.host_records(part.scenario, "receiver", part.receiver)
    return bps(sum(recorded.arrived(part.scenario, receiver, interval)), interval)
