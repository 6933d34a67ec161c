# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run, computed from its records as module `definitions` says.

Sums are taken over integers, with one division at the end, so that a metric is the same to the
last bit on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.metrics import definitions, handover, recorded, sender_states
from mptcplab.metrics.recorded import (
    Flow,
    HostRecords,
    Interval,
    Subflow,
    increase,
    measured,
    summed,
)
from mptcplab.metrics.records import Records, Samples
from mptcplab.metrics.schema import Figures, Recipe, Trait, Value, metrics_of
from mptcplab.metrics.sender_states import State
from mptcplab.plan import timeline
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario
from mptcplab.units import NS_PER_S

_NS_PER_US = 1_000
_BITS_PER_BYTE = 8

#: The figure with the fraction of the time that a path is in a state.
STATE_METRICS = {
    State.CWND: "limited_by_cwnd",
    State.PACED: "limited_by_pacing",
    State.WINDOW: "limited_by_window",
    State.SCHEDULER: "limited_by_scheduler",
    State.SEND_BUFFER: "limited_by_send_buffer",
    State.APPLICATION: "limited_by_application",
    State.ABSENT: "absent",
}


@dataclass(frozen=True)
class RunMetrics:
    """The figures of one run; paths are in the order of the scenario.

    `connections` is empty without connections in the scenario; `links` has each direction of each
    shared link.
    """

    metrics: definitions.RunFigures
    paths: tuple[definitions.PathFigures, ...]
    connections: tuple[definitions.ConnectionFigures, ...] = ()
    links: tuple[definitions.LinkFigures, ...] = ()


def run_metrics(
    scenario: Scenario,
    client: Samples,
    server: Samples,
    guest: Mapping[str, Any],
    links: Records | None = None,
    *,
    is_part: bool = False,
) -> RunMetrics:
    """All figures of one run except aggregation_benefit, which needs further runs.

    With `is_part`, the figures of one of several connections, which may have come up after the last
    sample. `guest` is the content of guest.json; without `links` the figures of queues are missing.
    Raises RunError if the records do not cover the measured interval, an end has no connection, or
    a subflow belongs to no path.
    """
    if not is_part:
        recorded.require_connections(scenario, client=client, server=server)
    direction = recorded.measured_direction(scenario, client)
    flow = recorded.flow(scenario, client, server, links, guest, direction)
    interval, sender, receiver = flow.interval, flow.sender, flow.receiver
    goodputs = [bps(count, interval) for count in recorded.arrived(scenario, receiver, interval)]
    decides = scenario.transport == "mptcp" and scenario.scheduler.name != scheduler.DEFAULT
    other = None
    if scenario.workload.direction == "both":
        other = recorded.flow(scenario, client, server, links, guest, "down")
    blocked_us = sum(increase(each, "blocked_us", interval) for each in receiver.connections)
    metrics = definitions.RunFigures(
        goodput_bps=_goodput_bps(scenario, flow),
        goodput_down_bps=None if other is None else _goodput_bps(scenario, other),
        fairness=jain_index(goodputs),
        blocked_share=blocked_us * _NS_PER_US / interval.length_ns,
        longest_gap_s=_longest_gap_s(flow),
        duplicate_bytes=_last_total(_records(receiver.subflows), "received_bytes")
        - _last_total(receiver.connections, "delivered_bytes")
        - _at_the_end(receiver.connections, "ofo_bytes"),
        wasted_bytes=_wasted_bytes(scenario, flow),
        limited_by_window=_share(sender_states.waiting_for_window(flow)),
        completion_s=None
        if scenario.workload.size_bytes is None
        else interval.length_ns / NS_PER_S,
        subflows=len(sender.subflows),
        decisions_per_s=_decisions_per_s(sender) if decides else None,
        **_by_recipes(definitions.TransportFigures, flow, sender, receiver, decides=decides),
    )
    paths = _path_metrics(scenario, flow, int(guest["start_ns"]), decides=decides)
    if other is not None:
        received = _received(scenario, other)
        paths = tuple(
            path.model_copy(
                update={
                    "goodput_down_bps": bps(own, other.interval),
                    "share_down": own / sum(received) if sum(received) else None,
                }
            )
            for path, own in zip(paths, received, strict=True)
        )
    return RunMetrics(metrics, paths)


def _by_recipes(
    figures: type[Figures], flow: Flow, sender: HostRecords, receiver: HostRecords, *, decides: bool
) -> dict[str, Any]:
    """The figures that have a recipe, from records of a flow's ends, or of one path there."""
    sources = {}
    for end, host in (("sender", sender), ("receiver", receiver)):
        sources[f"connection at the {end}"] = host.connections
        sources[f"subflow at the {end}"] = _records(host.subflows)
    return {
        metric.name: _by_recipe(metric.recipe, sources[metric.source], flow)
        if decides or Trait.DECISIONS not in metric.traits
        else None
        for metric in metrics_of(figures)
        if metric.recipe
    }


def _by_recipe(recipe: Recipe, parts: Sequence[Records], flow: Flow) -> Value:
    match recipe.statistic:
        case "last":
            return _last_total(parts, recipe.field)
        case "increase":
            return sum(increase(records, recipe.field, flow.interval) for records in parts)
        case "mean":
            return _mean(summed(parts, recipe.field, flow))
        case "mean of each":
            values = [measured(records, recipe.field, flow.interval) for records in parts]
            mean = _mean(np.concatenate(values)) if values else None
            return None if mean is None else mean / recipe.scale
        case percentile:
            return _percentile(summed(parts, recipe.field, flow), int(percentile[1:]))


def aggregation_benefit(goodput: float, single_path_goodputs: Sequence[float]) -> float | None:
    """Aggregation benefit of `goodput`, given plain TCP's goodput over each path alone (bit/s).

    1: the sum of the paths, 0: as good as the best, -1: nothing (Kaspar, "Multipath Aggregation of
    Heterogeneous Access Networks", PhD thesis, Oslo 2012). None with fewer than two paths that
    carried something, as there is nothing to aggregate.
    """
    if sum(c > 0 for c in single_path_goodputs) < 2:
        return None
    best = max(single_path_goodputs)
    if goodput < best:
        return (goodput - best) / best
    return (goodput - best) / (sum(single_path_goodputs) - best)


def _decisions_per_s(sender: HostRecords) -> float | None:
    """Picks and waits; a forced segment follows the wait that forced it."""
    subflows, connections = _records(sender.subflows), sender.connections
    count = sum(_last_total(subflows, f) for f in ("new_segments", "duplicates", "reinjections"))
    count += sum(_last_total(connections, field) for field in ("waits", "refused"))
    ends_ns = [int(each["time_ns"][at]) for each in connections for at in (0, -1)]
    length_ns = max(ends_ns) - min(ends_ns) if ends_ns else 0
    return count * NS_PER_S / length_ns if length_ns else None


def _longest_gap_s(flow: Flow) -> float | None:
    """The longest time for which a connection got nothing in order while there was something."""
    gaps = []
    for sending, receiving in recorded.both_ends(flow):
        inside = receiving[recorded.within(receiving["time_ns"], flow.interval)]
        if not len(inside):
            continue
        times = inside["time_ns"].astype(np.int64)
        written = recorded.latest(sending, "written_bytes", times)
        delivered = inside["delivered_bytes"].astype(np.int64)
        begins = (np.diff(delivered) > 0) | (written[:-1] <= delivered[:-1])
        since = np.maximum.accumulate(np.append(times[0], np.where(begins, times[1:], times[0])))
        # a gap ends with the sample at which something has arrived
        gaps.append(int(np.max(times[1:] - since[:-1], initial=0)))
    return max(gaps) / NS_PER_S if gaps else None


def _goodput_bps(scenario: Scenario, flow: Flow) -> float:
    size = scenario.workload.size_bytes
    if size and not scenario.workload.is_crowd:
        return bps(size, flow.interval)
    # a connection of a crowd may fail; its samples count the greeting, too
    arrived = recorded.arrived(scenario, flow.receiver, flow.interval)
    return bps(sum(min(each, size or each) for each in arrived), flow.interval)


def jain_index(goodputs: Sequence[float]) -> float | None:
    """Jain's index (Jain, Chiu, Hawe 1984); None for fewer than two, or if nothing was carried."""
    squares = sum(goodput * goodput for goodput in goodputs)
    if len(goodputs) < 2 or not squares:
        return None
    return float(sum(goodputs)) ** 2 / (len(goodputs) * squares)


def _wasted_bytes(scenario: Scenario, flow: Flow) -> int:
    """Retransmissions, and data given to a subflow after another one had it."""
    subflows, connections = _records(flow.sender.subflows), flow.sender.connections
    if scenario.transport == "tcp":
        return _last_total(subflows, "retransmitted_bytes")
    given = _last_total(subflows, "sent_bytes") + _at_the_end(subflows, "unsent_bytes")
    return given - _last_total(connections, "sent_bytes")


def _received(scenario: Scenario, flow: Flow) -> list[int]:
    """The bytes that arrived over each path."""
    return [
        recorded.arrived_over(flow.receiver.on_path(index), flow.interval)
        for index in range(len(scenario.paths))
    ]


def _path_metrics(
    scenario: Scenario, flow: Flow, start_ns: int, *, decides: bool
) -> tuple[definitions.PathFigures, ...]:
    interval = flow.interval
    rates = timeline.rates(scenario, flow.direction)
    received = _received(scenario, flow)
    blocking_us = [sum(caused) for caused in _blocking_us(scenario, flow)]
    of_time = sender_states.path_states(flow, scenario)
    reactions = handover.reactions(scenario, flow, start_ns)
    begin_ns, end_ns = (at_ns - start_ns for at_ns in interval)
    paths = []
    for index, path in enumerate(scenario.paths):
        ends = [HostRecords([], host.on_path(index)) for host in (flow.sender, flow.receiver)]
        goodput_bps = bps(received[index], interval)
        link_bps = timeline.mean_rate_bps(rates[path.name], begin_ns, end_ns)
        mine = [reaction for reaction in reactions if reaction.dip.path == path.name]
        paths.append(
            definitions.PathFigures(
                name=path.name,
                goodput_bps=goodput_bps,
                share=received[index] / sum(received) if sum(received) else None,
                blocking_share=blocking_us[index] * _NS_PER_US / interval.length_ns,
                utilisation=goodput_bps / link_bps if link_bps else None,
                **_by_recipes(definitions.PathFigures, flow, *ends, decides=decides),
                **_limits(of_time[index]),
                **queue_metrics(flow.queues.get(index), interval),
                **_of_several("detection_s", [reaction.detection_ns for reaction in mine]),
                **_of_several("recovery_s", [reaction.recovery_ns for reaction in mine]),
                **_of_several("resumption_s", [reaction.resumption_ns for reaction in mine]),
            )
        )
    return tuple(paths)


def _blocking_us(scenario: Scenario, flow: Flow) -> list[list[int]]:
    """For each path, how long each of its subflows kept data waiting in the interval.

    The kernel counts a wait for a subflow when it ends, and for the connection while it goes on:
    the difference is the current wait. Its part in the interval belongs to the subflow that ends
    it, then or later, and to none if the records end before.
    """
    found: list[list[int]] = [[] for _ in scenario.paths]
    for connection in flow.receiver.connections:
        number = int(connection["connection"][0])
        mine = flow.receiver.of(number)
        # as a counter's, the end is the first sample at or after it
        times = connection["time_ns"]
        last = int(np.searchsorted(times, flow.interval.end_ns, side="left"))
        end_ns = int(times[min(last, len(times) - 1)])
        begin = _caused_us(connection, mine, flow.interval.begin_ns)
        end = _caused_us(connection, mine, end_ns)
        for subflow, before, after in zip(mine, begin, end, strict=True):
            found[subflow.path].append(after - before)
    return found


def _caused_us(connection: Records, subflows: Sequence[Subflow], at_ns: int) -> list[int]:
    """How long each subflow has kept data waiting until then, the current wait included."""
    before = [recorded.until(each.records, at_ns) for each in subflows]
    caused = [recorded.total(records, "blocking_us") for records in before]
    blocked = recorded.total(recorded.until(connection, at_ns), "blocked_us")
    # the next sample at which a subflow has ended a wait; the longest, if there are several
    ends = []
    for index, each in enumerate(subflows):
        later = each.records[each.records["blocking_us"] > caused[index]]
        if len(later):
            longest_us = int(later["blocking_us"][0]) - caused[index]
            ends.append((int(later["time_ns"][0]), -longest_us, index))
    if ends:
        caused[min(ends)[-1]] += max(blocked - sum(caused), 0)
    return caused


def queue_metrics(queue: Records | None, interval: Interval) -> dict[str, Any]:
    """The figures of a queue in the interval."""
    if queue is None:
        names = ("packets_mean", "packets_max", "delay_ms_mean", "dropped_packets")
        return {**dict.fromkeys(f"queue_{name}" for name in names), "lost_packets": None}
    length = measured(queue, "queue_packets", interval)
    waiting = measured(queue, "queue_bytes", interval)
    sent = increase(queue, "sent_bytes", interval)
    lost = int(queue["lost_packets"][-1] - queue["lost_packets"][0])
    # Little's law: the mean delay is the mean length divided by the rate of departure
    delay_ms = None
    if sent and len(waiting):
        delay_ms = int(waiting.sum()) * interval.length_ns / (len(waiting) * sent)
        delay_ms /= 1_000_000
    return {
        "queue_packets_mean": _mean(length),
        "queue_packets_max": int(length.max()) if len(length) else None,
        "queue_delay_ms_mean": delay_ms,
        "queue_dropped_packets": int(queue["dropped_packets"][-1] - queue["dropped_packets"][0])
        - lost,
        "lost_packets": lost,
    }


def _limits(states: npt.NDArray[np.int8]) -> dict[str, Any]:
    """The fraction of the time that a path is in each state, by the name of the figure."""
    return {STATE_METRICS[state]: share for state, share in sender_states.shares(states).items()}


def _of_several(name: str, values_ns: Sequence[int | None]) -> dict[str, Any]:
    known = [value for value in values_ns if value is not None]
    if not known:
        return {f"{name}_mean": None, f"{name}_max": None}
    return {
        f"{name}_mean": sum(known) / (len(known) * NS_PER_S),
        f"{name}_max": max(known) / NS_PER_S,
    }


def _records(subflows: Sequence[Subflow]) -> list[Records]:
    return [subflow.records for subflow in subflows]


def _last_total(parts: Sequence[Records], counter: str) -> int:
    return sum(recorded.total(records, counter) for records in parts)


def _at_the_end(parts: Sequence[Records], field: str) -> int:
    return sum(int(records[field][-1]) for records in parts)


def _mean(values: npt.NDArray[Any]) -> float | None:
    return int(values.sum()) / len(values) if len(values) else None


def _percentile(values: npt.NDArray[Any], percent: int) -> int | None:
    """Nearest rank, no interpolation."""
    return int(np.quantile(values, percent / 100, method="inverted_cdf")) if len(values) else None


def _share(mask: npt.NDArray[np.bool_]) -> float | None:
    return int(np.count_nonzero(mask)) / len(mask) if len(mask) else None


def bps(count_bytes: int, interval: Interval) -> float:
    """The rate of `count_bytes` in an interval, in bit/s."""
    return count_bytes * _BITS_PER_BYTE * NS_PER_S / interval.length_ns
