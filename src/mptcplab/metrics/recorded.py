# SPDX-License-Identifier: GPL-2.0-only
"""The records of a run, put in order: who sends, over which path, and each field over time.

Data flows from one end to the other, in one or several connections. The records of both ends and of
the links are brought together here, for the figures and for what explains them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mptcplab.errors import RunError
from mptcplab.metrics.records import UNSCHEDULED, Records, Samples, path_indices, select
from mptcplab.plan import qdiscs
from mptcplab.scenario.limits import DIRECTIONS, Direction
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Program
from mptcplab.units import format_time

Times = npt.NDArray[np.int64]


class Interval(NamedTuple):
    """The measured interval, t0 to t1: virtual times in ns, both included."""

    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


class Subflow(NamedTuple):
    """The records of one subflow at one end, and the index of its path in the scenario."""

    connection: int
    path: int
    records: Records


@dataclass(frozen=True)
class HostRecords:
    """The records of one end: of each of its connections, and of each of their subflows."""

    connections: list[Records]
    subflows: list[Subflow]

    def on_path(self, path: int) -> list[Subflow]:
        return [subflow for subflow in self.subflows if subflow.path == path]

    def of(self, connection: int) -> list[Subflow]:
        """The subflows of a connection, by its number."""
        return self._by_connection.get(connection, [])

    @cached_property
    def _by_connection(self) -> dict[int, list[Subflow]]:
        found: dict[int, list[Subflow]] = {}
        for subflow in self.subflows:
            found.setdefault(subflow.connection, []).append(subflow)
        return found


@dataclass(frozen=True)
class Flow:
    """The data that flows in one direction, and the interval in which it is measured.

    `times` are the samples in `interval` of all connections at once; one of a crowd has another
    sample at its end. `queues` has the records of the queue in front of each
    path, by its index, if there are any.
    """

    direction: Direction
    sender: HostRecords
    receiver: HostRecords
    queues: Mapping[int, Records]
    interval: Interval
    times: Times


def measured_direction(scenario: Scenario, client: Samples | None = None) -> Direction:
    """The direction of the data that the figures are about; up, for a workload in both directions.

    For a program it is the direction in which more has arrived, as the client recorded.
    """
    if isinstance(scenario.workload, Program) and client is not None:
        sent = received = 0
        for records in by_connection(client.connection):
            sent += int(records["acked_bytes"][-1])
            received += int(records["delivered_bytes"][-1])
        return "down" if received > sent else "up"
    return "down" if scenario.workload.direction == "down" else "up"


def data_directions(scenario: Scenario, client: Samples | None = None) -> tuple[Direction, ...]:
    """Both directions, if a workload sends in both, else the measured one."""
    if scenario.workload.direction == "both":
        return DIRECTIONS
    return (measured_direction(scenario, client),)


def flow(
    scenario: Scenario,
    client: Samples,
    server: Samples,
    queues: Records | None,
    guest: Mapping[str, Any],
    direction: Direction,
) -> Flow:
    """The records of the data in a direction; `guest` is the content of guest.json.

    Raises RunError when the records do not cover the measured interval, or when a subflow belongs
    to no path.
    """
    sides = [host_records(scenario, "client", client), host_records(scenario, "server", server)]
    sender, receiver = sides if direction == "up" else reversed(sides)
    start_ns = int(guest["start_ns"])
    times = sample_times((client, server), queues)
    if scenario.workload.is_crowd:
        times = times[(times - start_ns) % scenario.host_interval_ns == 0]
    interval = measured_interval(
        scenario, "server" if direction == "up" else "client", times, guest
    )
    return Flow(
        direction=direction,
        sender=sender,
        receiver=receiver,
        queues={} if queues is None else dict(_queues(scenario, queues, direction)),
        interval=interval,
        times=times[within(times, interval)],
    )


def require_connections(scenario: Scenario, **sides: Samples) -> None:
    """Raises RunError if an end of a whole run has none. One of several connections may come up too
    late.
    """
    for name, samples in sides.items():
        if not len(samples.connection) and scenario.workload.kind == "program":
            raise RunError(f"no program on the {name} had a TCP connection")
        if not len(samples.connection) and scenario.workload.kind == "bulk":
            raise RunError(f"the records of the {name} have 0 connections; the workload has some")


def host_records(scenario: Scenario, name: str, samples: Samples) -> HostRecords:
    """The records of each connection and subflow of an end.

    Records that would silently give wrong figures are refused.
    """
    if np.any(samples.connection["flags"] & UNSCHEDULED):
        raise RunError(
            f"the {name} had no memory for the scheduler of a connection, and used the default one"
        )
    connections = by_connection(samples.connection)
    numbers = samples.subflow["connection"].astype(np.int64) << 8 | samples.subflow["n"]
    subflows = []
    for records in _parts(samples.subflow, numbers):
        path = int(path_indices(records[:1], scenario.first_path)[0])
        if not 0 <= path < len(scenario.paths):
            local, remote = (
                ".".join(str(octet) for octet in records[field][0])
                for field in ("local_addr", "remote_addr")
            )
            raise RunError(
                f"the {name} has a subflow from {local} to {remote}, which is no path of the "
                "scenario"
            )
        subflows.append(Subflow(int(records["connection"][0]), path, records))
    return HostRecords(connections, subflows)


def within(times: npt.NDArray[Any], interval: Interval) -> slice:
    """The samples in the interval; they are in the order of time."""
    return slice(
        int(np.searchsorted(times, interval.begin_ns, side="left")),
        int(np.searchsorted(times, interval.end_ns, side="right")),
    )


def measured(records: Records, field: str, interval: Interval) -> npt.NDArray[Any]:
    """The samples of a field in the interval."""
    values: npt.NDArray[Any] = records[field][within(records["time_ns"], interval)]
    return values


def increase(records: Records, counter: str, interval: Interval) -> int:
    """Growth of a counter over the interval.

    Before its first sample a subflow had carried nothing. The end counts up to the first sample
    at or after it: a workload with a size completes between two samples.
    """
    begin_ns, end_ns = interval
    upto = int(np.searchsorted(records["time_ns"], end_ns, side="left")) + 1
    return total(records[:upto], counter) - total(until(records, begin_ns), counter)


def total(records: Records, counter: str) -> int:
    """The last value of a counter. A closed subflow may stay, with counters that are 0."""
    return int(records[counter].max()) if len(records) else 0


def arrived(scenario: Scenario, receiver: HostRecords, interval: Interval) -> list[int]:
    """Bytes of each connection that arrived in the interval, each once, in whatever order.

    Data that waits for an earlier byte counts when it arrives, not when the gap is filled: so it
    cannot be more than the links carried in the interval.
    """
    found = []
    for connection in receiver.connections:
        count = increase(connection, "delivered_bytes", interval)
        count += growth(connection, "ofo_bytes", interval)
        # with plain TCP it is the queue of the connection
        if scenario.transport == "mptcp":
            number = int(connection["connection"][0])
            mine = receiver.of(number)
            count += sum(growth(each.records, "ofo_bytes", interval) for each in mine)
        found.append(count)
    return found


def arrived_over(subflows: Sequence[Subflow], interval: Interval) -> int:
    """Bytes that arrived over subflows in the interval, in whatever order."""
    return sum(
        increase(each.records, "received_bytes", interval)
        + growth(each.records, "ofo_bytes", interval)
        for each in subflows
    )


def growth(records: Records, field: str, interval: Interval) -> int:
    """How much more there was at the end of the interval than at its start."""
    begin_ns, end_ns = interval
    upto = int(np.searchsorted(records["time_ns"], end_ns, side="left")) + 1
    return _last(records[:upto], field) - _last(until(records, begin_ns), field)


def until(records: Records, at_ns: int) -> Records:
    """The records of one connection or subflow up to a time."""
    return records[: int(np.searchsorted(records["time_ns"], at_ns, side="right"))]


def _last(records: Records, field: str) -> int:
    return int(records[field][-1]) if len(records) else 0


def summed(parts: Sequence[Records], field: str, flow: Flow) -> npt.NDArray[np.int64]:
    """The sum over connections or subflows at each of the flow's times; missing ones count as 0."""
    total = np.zeros(len(flow.times), np.int64)
    for records in parts:
        inside, times = sampled(flow, records)
        total[times] += inside[field].astype(np.int64)
    return total


def sampled(flow: Flow, records: Records) -> tuple[Records, npt.NDArray[np.int64]]:
    """The records at the flow's times, and the index of each among these."""
    inside = records[within(records["time_ns"], flow.interval)]
    own = inside["time_ns"].astype(np.int64)
    times = np.searchsorted(flow.times, own).astype(np.int64)
    known = flow.times[times.clip(max=len(flow.times) - 1)] == own
    return (inside, times) if known.all() else (select(inside, known), times[known])


def counted(records: Records, counter: str, times: Times) -> npt.NDArray[np.float64]:
    """A counter at any times: linear between two samples, 0 before the first."""
    # Differences first: below 2^53 they are exact as floats.
    begin = int(records["time_ns"][0])
    at_ns = (records["time_ns"].astype(np.int64) - begin).astype(np.float64)
    counts: npt.NDArray[np.float64] = np.interp(
        (times - begin).astype(np.float64), at_ns, records[counter], left=0.0
    )
    return counts


def latest(records: Records, field: str, times: Times) -> npt.NDArray[np.int64]:
    """The values of a field at the last sample until each of these times; 0 before the first."""
    numbers = np.searchsorted(records["time_ns"].astype(np.int64), times, side="right")
    values = np.concatenate([[0], records[field].astype(np.int64)])
    found: npt.NDArray[np.int64] = values[numbers]
    return found


def both_ends(flow: Flow) -> Iterator[tuple[Records, Records]]:
    """The records of each connection that both ends have seen: the sender's, the receiver's.

    The ends may number them in another order. The ports of its initial subflow identify it.
    """
    sending = _by_ports(flow.sender, "local_port", "remote_port")
    receiving = _by_ports(flow.receiver, "remote_port", "local_port")
    for ports, records in sending.items():
        if ports in receiving:
            yield records, receiving[ports]


def _by_ports(host: HostRecords, own: str, other: str) -> dict[tuple[int, int], Records]:
    found = {}
    for connection in host.connections:
        number = int(connection["connection"][0])
        for first in host.of(number)[:1]:
            ports = int(first.records[own][0]), int(first.records[other][0])
            found[ports] = connection
    return found


def by_connection(records: Records) -> list[Records]:
    """Connection records, grouped by connection."""
    return list(_parts(records, records["connection"]))


def _parts(records: Records, numbers: npt.NDArray[Any]) -> Iterator[Records]:
    """The records of each number, in the order of the numbers."""
    _, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    for begin, end in itertools.pairwise([0, *np.cumsum(counts)]):
        yield select(records, order[begin:end])


def queue_device(scenario: Scenario, index: int, direction: Direction) -> str:
    """The device with the queue in which packets of a path wait, where its rate is the lowest."""
    path = scenario.paths[index]
    shapes = {each.name: getattr(each, direction) for each in (*scenario.links, path)}
    narrowest = min((path.name, *path.links), key=lambda name: shapes[name].rate_bps)
    return _device(scenario, narrowest, direction)


def _device(scenario: Scenario, name: str, direction: Direction) -> str:
    """The device with the queue of a link, or of a path's own router or host."""
    places = {link.name: (link, qdiscs.link_spots(m)) for m, link in enumerate(scenario.links, 1)}
    for i, path in enumerate(scenario.paths, scenario.first_path):
        places[path.name] = path, qdiscs.path_spots(i)
    own, spots = places[name]
    return qdiscs.bottleneck(spots, direction, getattr(own, direction)).device


def queue_records(scenario: Scenario, queues: Records, name: str, direction: Direction) -> Records:
    """The records of the queue of a link, or of a path's own router or host, by its name."""
    return _of_device(queues, _device(scenario, name, direction))


def _of_device(queues: Records, device: str) -> Records:
    return select(queues, queues["device"] == device.encode())


def _queues(
    scenario: Scenario, queues: Records, direction: Direction
) -> Iterator[tuple[int, Records]]:
    for index in range(len(scenario.paths)):
        found = _of_device(queues, queue_device(scenario, index, direction))
        if len(found):
            yield index, found


def sample_times(samples: Iterable[Samples], queues: Records | None) -> Times:
    """The times at which any host, or the links, were sampled."""
    found = [each.connection["time_ns"] for each in samples]
    found += [] if queues is None else [queues["time_ns"]]
    return np.unique(np.concatenate(found)).astype(np.int64)


def measured_interval(
    scenario: Scenario, receiver: str, times: Times, guest: Mapping[str, Any]
) -> Interval:
    """t0 and t1; with a duration moved inwards to samples, where the counters are known."""
    start = int(guest["start_ns"]) + scenario.start_ns
    workload = scenario.workload
    if workload.duration_ns is None:
        begin, end = start, int(guest["complete_ns"])
    else:
        # messages with due times may all have arrived before the end
        end = min(start + workload.duration_ns, int(guest["complete_ns"]))
        begin = start + workload.warmup_ns
    first = int(np.searchsorted(times, begin, side="left"))
    last = int(np.searchsorted(times, end, side="right")) - 1
    if last < 0 or end - int(times[last]) >= scenario.host_interval_ns:
        seen = max(int(times[-1]) - start, 0) if len(times) else 0
        raise RunError(
            f"the records of the {receiver} end {format_time(seen)} after the start of the "
            f"workload, which ended after {format_time(end - start)}"
        )
    if workload.duration_ns is None:
        return Interval(begin, end)
    if last <= first:
        every = format_time(scenario.host_interval_ns)
        remedy = f"choose a sample_interval shorter than {every}"
        if scenario.workload.is_crowd:
            remedy = f"choose a shorter warm-up: so many connections are sampled every {every}"
        raise RunError(
            f"fewer than two samples between the end of the warm-up "
            f"({format_time(workload.warmup_ns)}) and the end of the workload "
            f"({format_time(workload.duration_ns)}); {remedy}"
        )
    return Interval(int(times[first]), int(times[last]))
