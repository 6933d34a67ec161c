# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run, computed from its records as module `definitions` says.

Sums are taken over integers, with one division at the end, so that a metric is the same to the
last bit on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mptcplab.metrics import handover, recorded, sender_states
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures, PathFigures, RunFigures
from mptcplab.metrics.recorded import Flow, Interval, Subflow, increase, measured, summed
from mptcplab.metrics.records import Records, Samples
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
    """The figures of one run; those of the paths are in the order of the scenario.

    `connections` are those of a scenario with connections, `links` has each direction of each
    shared link.
    """

    metrics: RunFigures
    paths: tuple[PathFigures, ...]
    connections: tuple[ConnectionFigures, ...] = ()
    links: tuple[LinkFigures, ...] = ()


class Goodput(NamedTuple):
    """Goodput over time: the mean of each bin, in bit/s.

    `time_s` is the middle of each bin, in seconds after T0. `paths` counts the bytes on the
    subflows of each path, by its name, `total` the bytes that arrived in order on the connection.
    """

    time_s: npt.NDArray[np.float64]
    paths: dict[str, npt.NDArray[np.float64]]
    total: npt.NDArray[np.float64]


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

    With `is_part`, those of one of several connections, which may have come up after the last
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
    ofo = summed(receiver.connections, "ofo_bytes", flow)
    decisions = _decisions(scenario, flow)
    down_bps = None
    if scenario.workload.direction == "both":
        other = recorded.flow(scenario, client, server, links, guest, "down")
        down_bps = _goodput_bps(scenario, other)
    metrics = RunFigures(
        goodput_bps=_goodput_bps(scenario, flow),
        goodput_down_bps=down_bps,
        fairness=jain_index(goodputs),
        ofo_bytes_mean=_mean(ofo),
        ofo_bytes_p50=_percentile(ofo, 50),
        ofo_bytes_p95=_percentile(ofo, 95),
        ofo_bytes_p99=_percentile(ofo, 99),
        blocked_share=sum(increase(c, "blocked_us", interval) for c in receiver.connections)
        * _NS_PER_US
        / interval.length_ns,
        blocks=sum(increase(c, "blocks", interval) for c in receiver.connections),
        longest_gap_s=_longest_gap_s(flow),
        retransmitted_packets=_last_sum(sender.subflows, "retransmitted_packets"),
        retransmitted_bytes=_last_sum(sender.subflows, "retransmitted_bytes"),
        data_packets=_last_sum(sender.subflows, "data_packets_out"),
        reinjected_bytes=_last_total(sender.connections, "reinjected_bytes"),
        duplicate_bytes=_last_sum(receiver.subflows, "received_bytes")
        - _last_total(receiver.connections, "delivered_bytes")
        - _at_the_end(receiver.connections, "ofo_bytes"),
        wasted_bytes=_wasted_bytes(scenario, flow),
        send_buffer_bytes_mean=_mean(summed(sender.connections, "sndbuf_used", flow)),
        receive_buffer_bytes_mean=_mean(summed(receiver.connections, "rcvbuf_used", flow)),
        receive_window_bytes_mean=_mean(summed(sender.connections, "window_bytes", flow)),
        limited_by_window=_share(sender_states.waiting_for_window(flow)),
        completion_s=None
        if scenario.workload.size_bytes is None
        else interval.length_ns / NS_PER_S,
        subflows=len(sender.subflows),
        duplicate_segments=decisions and decisions.duplicates,
        reinjected_segments=decisions and decisions.reinjections,
        waits=decisions and decisions.waits,
        refused_picks=decisions and decisions.refused,
        forced_picks=decisions and decisions.forced,
        fallbacks=decisions and decisions.fallbacks,
        forced_reinjections=decisions and decisions.forced_reinjections,
        deferred_questions=decisions and decisions.deferred,
        refused_calls=decisions and decisions.refused_calls,
        decisions_per_s=decisions and decisions.per_s(),
    )
    return RunMetrics(metrics, _path_metrics(scenario, flow, int(guest["start_ns"])))


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


def goodput_series(scenario: Scenario, receiver: Samples, bin_ns: int = 100 * 1_000_000) -> Goodput:
    """Goodput over time from T0 on, in bins of `bin_ns`, for charts.

    Counters are interpolated linearly where a bin does not end at a sample. An incomplete bin at
    the end is left out. Raises RunError as run_metrics does.
    """
    name = "server" if recorded.measured_direction(scenario) == "up" else "client"
    side = recorded.host_records(scenario, name, receiver)
    times = receiver.connection["time_ns"].astype(np.int64)
    begin = int(times[0])
    edges = np.arange(begin, int(times[-1]) + 1, bin_ns)

    def rate(records: Records, counter: str) -> npt.NDArray[np.float64]:
        counts = recorded.counted(records, counter, edges)
        rates: npt.NDArray[np.float64] = np.diff(counts) * (_BITS_PER_BYTE * NS_PER_S / bin_ns)
        return rates

    paths = {path.name: np.zeros(max(len(edges) - 1, 0)) for path in scenario.paths}
    for subflow in side.subflows:
        paths[scenario.paths[subflow.path].name] += rate(subflow.records, "received_bytes")
    total = np.zeros(max(len(edges) - 1, 0))
    for connection in side.connections:
        total += rate(connection, "delivered_bytes")
    return Goodput(
        time_s=(edges[1:] - begin - bin_ns / 2) / NS_PER_S,
        paths=paths,
        total=total,
    )


class _Decisions(NamedTuple):
    """The decisions of a scheduler that picks segment by segment, over the whole run."""

    new: int
    duplicates: int
    reinjections: int
    waits: int
    refused: int
    forced: int
    fallbacks: int
    forced_reinjections: int
    deferred: int
    refused_calls: int
    length_ns: int

    def per_s(self) -> float | None:
        # a forced segment follows the wait that forced it
        count = self.new + self.duplicates + self.reinjections + self.waits + self.refused
        return count * NS_PER_S / self.length_ns if self.length_ns else None


def _decisions(scenario: Scenario, flow: Flow) -> _Decisions | None:
    if scenario.transport != "mptcp" or scenario.scheduler.name == scheduler.DEFAULT:
        return None
    sender = flow.sender
    ends = [int(c["time_ns"][-1]) for c in sender.connections]
    begins = [int(c["time_ns"][0]) for c in sender.connections]
    return _Decisions(
        new=_last_sum(sender.subflows, "new_segments"),
        duplicates=_last_sum(sender.subflows, "duplicates"),
        reinjections=_last_sum(sender.subflows, "reinjections"),
        waits=_last_total(sender.connections, "waits"),
        refused=_last_total(sender.connections, "refused"),
        forced=_last_total(sender.connections, "forced"),
        fallbacks=_last_total(sender.connections, "fallbacks"),
        forced_reinjections=_last_total(sender.connections, "forced_reinjections"),
        deferred=_last_total(sender.connections, "deferred"),
        refused_calls=_last_total(sender.connections, "refused_calls"),
        length_ns=max(ends, default=0) - min(begins, default=0),
    )


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
        begins = np.ones(len(times), bool)
        begins[1:] = (np.diff(delivered) > 0) | (written[:-1] <= delivered[:-1])
        since = np.maximum.accumulate(np.where(begins, np.arange(len(times)), 0))
        # a gap ends with the sample at which something has arrived
        gaps.append(int(np.max(times[1:] - times[since[:-1]], initial=0)))
    return max(gaps) / NS_PER_S if gaps else None


def _goodput_bps(scenario: Scenario, flow: Flow) -> float:
    if size := scenario.workload.size_bytes:
        return bps(size, flow.interval)
    return bps(sum(recorded.arrived(scenario, flow.receiver, flow.interval)), flow.interval)


def jain_index(goodputs: Sequence[float]) -> float | None:
    """Jain's index (Jain, Chiu, Hawe 1984); None for fewer than two, or if nothing was carried."""
    squares = sum(goodput * goodput for goodput in goodputs)
    if len(goodputs) < 2 or not squares:
        return None
    return float(sum(goodputs)) ** 2 / (len(goodputs) * squares)


def _wasted_bytes(scenario: Scenario, flow: Flow) -> int:
    """Retransmissions, and data given to a subflow after another one had it."""
    subflows, connections = flow.sender.subflows, flow.sender.connections
    again = _last_sum(subflows, "retransmitted_bytes")
    if scenario.transport == "tcp":
        return again
    given = _last_sum(subflows, "sent_bytes") - again
    given += _at_the_end([subflow.records for subflow in subflows], "unsent_bytes")
    return again + given - _last_total(connections, "sent_bytes")


def _path_metrics(scenario: Scenario, flow: Flow, start_ns: int) -> tuple[PathFigures, ...]:
    interval = flow.interval
    asked = _decisions(scenario, flow) is not None
    rates = timeline.rates(scenario, flow.direction)
    received = [
        recorded.arrived_over(flow.receiver.on_path(index), interval)
        for index in range(len(scenario.paths))
    ]
    blocking_us = [sum(caused) for caused in _blocking_us(scenario, flow)]
    of_time = sender_states.path_states(flow, scenario)
    reactions = handover.reactions(scenario, flow, start_ns)
    begin_ns, end_ns = (at_ns - start_ns for at_ns in interval)
    paths = []
    for index, path in enumerate(scenario.paths):
        sending, receiving = flow.sender.on_path(index), flow.receiver.on_path(index)
        srtt_us = _mean_of_all(sending, "srtt_us", interval)
        goodput_bps = bps(received[index], interval)
        link_bps = timeline.mean_rate_bps(rates[path.name], begin_ns, end_ns)
        ofo = summed([subflow.records for subflow in receiving], "ofo_bytes", flow)
        mine = [reaction for reaction in reactions if reaction.dip.path == path.name]
        paths.append(
            PathFigures(
                name=path.name,
                goodput_bps=goodput_bps,
                share=received[index] / sum(received) if sum(received) else None,
                srtt_ms_mean=None if srtt_us is None else srtt_us / 1000,
                cwnd_mean=_mean_of_all(sending, "cwnd", interval),
                in_flight_mean=_mean_of_all(sending, "in_flight", interval),
                retransmitted_packets=_last_sum(sending, "retransmitted_packets"),
                ofo_bytes_mean=_mean(ofo),
                ofo_bytes_p99=_percentile(ofo, 99),
                blocking_share=blocking_us[index] * _NS_PER_US / interval.length_ns,
                new_segments=_last_sum(sending, "new_segments") if asked else None,
                duplicate_segments=_last_sum(sending, "duplicates") if asked else None,
                reinjected_segments=_last_sum(sending, "reinjections") if asked else None,
                utilisation=goodput_bps / link_bps if link_bps else None,
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
        mine = [each for each in flow.receiver.subflows if each.connection == number]
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


def _last_sum(subflows: Sequence[Subflow], counter: str) -> int:
    return _last_total([subflow.records for subflow in subflows], counter)


def _last_total(parts: Sequence[Records], counter: str) -> int:
    return sum(recorded.total(records, counter) for records in parts)


def _at_the_end(parts: Sequence[Records], field: str) -> int:
    return sum(int(records[field][-1]) for records in parts)


def _mean_of_all(subflows: Sequence[Subflow], field: str, interval: Interval) -> float | None:
    values = [measured(subflow.records, field, interval) for subflow in subflows]
    return _mean(np.concatenate(values)) if values else None


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
