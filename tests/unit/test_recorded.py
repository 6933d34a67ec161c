# SPDX-License-Identifier: GPL-2.0-only
"""What was recorded, put in order: records of a few lines, all else worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mptcplab.errors import RunError
from mptcplab.metrics import recorded, records
from mptcplab.metrics.recorded import Flow, HostRecords, Interval, Subflow
from mptcplab.metrics.records import CONNECTION_DTYPE, LINK_DTYPE, SUBFLOW_DTYPE, Samples
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Link, Scenario, Shape
from mptcplab.scenario.workload import Bulk, Cbr, Program
from tests.unit import synthetic
from tests.unit.synthetic import MS, SECOND, T0

FAILED = "the run failed: "
PROGRAM = Program(client=("client",), directory="/", time_limit_ns=None)
NO_SUBFLOWS = np.zeros(0, SUBFLOW_DTYPE)


def made(times: Sequence[int], dtype: Any = CONNECTION_DTYPE, **fields: Any) -> Any:
    """The records of one connection or device at these times."""
    found = np.zeros(len(times), dtype)
    found["time_ns"], found["connection"] = times, 1
    for name, value in fields.items():
        found[name] = value
    return found


def over(path: int, times: Sequence[int], *, remote: int | None = None, **fields: Any) -> Any:
    """The records of a client's subflow over a path."""
    there = path if remote is None else remote
    addresses = {"local_addr": (10, 0, path, 1), "remote_addr": (10, 1, there, 1)}
    return made(times, SUBFLOW_DTYPE, **addresses, **fields)


def joined(*parts: Any) -> Any:
    together = np.concatenate(parts).astype(parts[0].dtype)
    return together[np.argsort(together["time_ns"], kind="stable")]


@pytest.mark.parametrize(
    ("sent", "received", "direction"),
    [
        ([[0, 5]], [[0, 5]], "up"),  # as much
        ([[0, 5]], [[0, 6]], "down"),
        ([[0, 6]], [[0, 5]], "up"),
        # in the end, and not before
        ([[0, 9, 9, 9]], [[0, 0, 1, 10]], "down"),
        ([[0, 0, 1, 10]], [[0, 9, 9, 9]], "up"),
        # of all connections: 8 and 7, 7 and 8, 0 and 1
        ([[0, 5], [0, 3]], [[0, 1], [0, 6]], "up"),
        ([[0, 1], [0, 6]], [[0, 5], [0, 3]], "down"),
        ([[0, 0], [0, 0]], [[0, 1], [0, 0]], "down"),
    ],
)
def test_data_of_a_program_flows_where_more_arrives(
    sent: list[list[int]], received: list[list[int]], direction: str
) -> None:
    """The counters of each of the client's connections, at all of its samples."""
    parts = [
        made(range(len(acked)), connection=number, acked_bytes=acked, delivered_bytes=delivered)
        for number, (acked, delivered) in enumerate(zip(sent, received, strict=True), 1)
    ]
    client = Samples(joined(*parts), NO_SUBFLOWS)
    assert recorded.measured_direction(synthetic.scenario(workload=PROGRAM), client) == direction


@pytest.mark.parametrize(("asked", "direction"), [("up", "up"), ("down", "down"), ("both", "up")])
def test_data_of_other_workloads_flows_as_asked(asked: Any, direction: str) -> None:
    workload = Bulk(duration_ns=SECOND, warmup_ns=0, direction=asked)
    scenario = synthetic.scenario(workload=workload)
    assert recorded.measured_direction(scenario) == direction
    # whatever the client's counters are
    for counter in ("acked_bytes", "delivered_bytes"):
        client = Samples(made([0, 1], **{counter: 1}), NO_SUBFLOWS)
        assert recorded.measured_direction(scenario, client) == direction


def test_samples_of_hosts_and_links_have_the_times_of_all() -> None:
    sides = Samples(made([1, 5]), made([7], SUBFLOW_DTYPE)), Samples(made([5, 2]), NO_SUBFLOWS)
    found = recorded.sample_times(sides, made([3, 1], LINK_DTYPE))
    assert found.tolist() == [1, 2, 3, 5]
    assert found.dtype == np.int64


def test_a_flow_joins_the_records_of_both_ends_and_queues() -> None:
    times, odd = [T0, T0 + 10 * MS, T0 + 20 * MS], T0 + 3 * MS
    client = Samples(made(times), over(1, times))
    server = Samples(made([T0 + 1, *times[1:]]), over(2, times))
    queues = joined(*(made([odd], LINK_DTYPE, device=name) for name in (b"rs2", b"rc1", b"c1")))
    scenario = synthetic.scenario(duration_ns=20 * MS, warmup_ns=0)
    guest = synthetic.guest(20 * MS)
    up = recorded.flow(scenario, client, server, queues, guest, "up")
    assert up.direction == "up"
    assert (up.sender.subflows[0].path, up.receiver.subflows[0].path) == (0, 1)
    # data up waits at the router's device to the server, data down at that to the client
    assert {index: set(part["device"]) for index, part in up.queues.items()} == {1: {b"rs2"}}
    assert up.interval == Interval(T0, T0 + 20 * MS)
    assert up.times.tolist() == [T0, T0 + 1, odd, *times[1:]]
    down = recorded.flow(scenario, client, server, queues, guest, "down")
    assert down.direction == "down"
    assert (down.sender.subflows[0].path, down.receiver.subflows[0].path) == (1, 0)
    assert {index: set(part["device"]) for index, part in down.queues.items()} == {0: {b"rc1"}}
    without = recorded.flow(scenario, client, server, None, guest, "up")
    assert without.queues == {}
    assert without.times.tolist() == [T0, T0 + 1, *times[1:]]
    assert without.times.dtype == np.int64
    # only what is in the interval
    later = synthetic.scenario(duration_ns=20 * MS, warmup_ns=2 * MS)
    late = recorded.flow(later, client, server, queues, guest, "up")
    assert late.times.tolist() == [odd, *times[1:]]


@pytest.mark.parametrize(("direction", "receiver"), [("up", "server"), ("down", "client")])
def test_records_that_end_early_are_the_receivers(direction: Any, receiver: str) -> None:
    client, server = synthetic.run(synthetic.FAST, duration_ns=SECOND)
    with pytest.raises(RunError, match=f"records of the {receiver} end 1s after"):
        recorded.flow(synthetic.scenario(), client, server, None, synthetic.guest(), direction)


@pytest.mark.parametrize("name", ["client", "server"])
def test_the_error_names_the_end_of_a_subflow_on_no_path(name: str) -> None:
    client, server = synthetic.run(synthetic.FAST, duration_ns=SECOND)
    (client if name == "client" else server).subflow["remote_addr"] = (10, 7, 8, 9)
    with pytest.raises(RunError, match=f"^{FAILED}the {name} has a subflow from 10"):
        recorded.flow(synthetic.scenario(), client, server, None, synthetic.guest(), "up")


def test_a_whole_run_of_one_connection_has_one_at_each_side() -> None:
    none, one = Samples(made([]), NO_SUBFLOWS), Samples(made([0]), NO_SUBFLOWS)
    for workload, text in (
        (
            Bulk(duration_ns=SECOND, warmup_ns=0),
            "the records of the server have 0 connections; the workload has some",
        ),
        (PROGRAM, "no program on the server had a TCP connection"),
    ):
        scenario = synthetic.scenario(workload=workload)
        recorded.require_connections(scenario, client=one, server=one)
        with pytest.raises(RunError) as error:
            recorded.require_connections(scenario, client=one, server=none)
        assert str(error.value) == FAILED + text
    # others open their connections as they go, and may have none yet
    cbr = Cbr(duration_ns=SECOND, warmup_ns=0, block_bytes=9, rate_bps=None, interval_ns=MS)
    recorded.require_connections(synthetic.scenario(workload=cbr), client=none, server=none)


def test_each_subflow_of_each_connection_stands_by_itself() -> None:
    parts = [
        over(2, [0, 10], connection=1, n=0),
        over(1, [1, 11], connection=1, n=1),
        over(1, [2, 12], connection=2, n=0),
        over(2, [3, 13], connection=2, n=1),
    ]
    both = joined(made([0, 10], connection=1), made([2, 12], connection=2))
    found = recorded.host_records(synthetic.scenario(), "client", Samples(both, joined(*parts)))
    assert [part["time_ns"].tolist() for part in found.connections] == [[0, 10], [2, 12]]
    whose = [(each.connection, each.path) for each in found.subflows]
    assert whose == [(1, 1), (1, 0), (2, 0), (2, 1)]
    times = [each.records["time_ns"].tolist() for each in found.subflows]
    assert times == [[0, 10], [1, 11], [2, 12], [3, 13]]
    assert [each.connection for each in found.on_path(1)] == [1, 2]
    # of several connections viewed alone, the paths are counted from its first
    alone = synthetic.scenario(names=("third", "fourth")).model_copy(update={"first_path": 3})
    (subflow,) = recorded.host_records(alone, "client", Samples(both, over(4, [0]))).subflows
    assert subflow.path == 1


@pytest.mark.parametrize(("path", "remote"), [(3, 3), (3, 1), (0, 0)])
def test_a_subflow_on_no_path_is_an_error(path: int, remote: int) -> None:
    samples = Samples(made([0]), over(path, [0], remote=remote))
    with pytest.raises(RunError) as error:
        recorded.host_records(synthetic.scenario(), "server", samples)
    ends = f"from 10.0.{path}.1 to 10.1.{remote}.1"
    text = f"the server has a subflow {ends}, which is no path of the scenario"
    assert str(error.value) == FAILED + text


def test_connections_are_distinct() -> None:
    mixed = joined(made([1, 4], connection=2), made([2, 3], connection=1))
    found = recorded.by_connection(mixed)
    assert [part["time_ns"].tolist() for part in found] == [[2, 3], [1, 4]]
    assert recorded.by_connection(mixed[:0]) == []
    # the samples of each stay in the order of time, however many there are
    parts = [made(range(number, 999, 3), connection=9 - number) for number in range(3)]
    found = recorded.by_connection(joined(*parts))
    assert [part["time_ns"].tolist() for part in found] == [
        list(range(number, 999, 3)) for number in (2, 1, 0)
    ]


@pytest.mark.parametrize(
    ("begin", "end", "inside"),
    [(20, 40, [20, 30, 40]), (19, 41, [20, 30, 40]), (21, 39, [30]), (0, 9, []), (51, 60, [])],
)
def test_both_ends_belong_to_an_interval(begin: int, end: int, inside: list[int]) -> None:
    times = np.arange(10, 60, 10)
    interval = Interval(begin, end)
    assert times[recorded.within(times, interval)].tolist() == inside
    assert interval.length_ns == end - begin
    found = recorded.measured(made(times.tolist(), sndbuf=times + 1), "sndbuf", interval)
    assert found.tolist() == [time + 1 for time in inside]


@pytest.mark.parametrize(
    ("begin", "end", "more"),
    [
        (20, 40, 14 - 5),
        (29, 40, 14 - 5),  # what was sampled last before
        (20, 31, 14 - 5),  # and first after
        (30, 41, 15 - 9),
        (9, 30, 9),  # before the first sample there was nothing
        (10, 30, 9 - 3),
        (40, 99, 15 - 14),  # and nothing comes after the last
        (0, 5, 3),
    ],
)
def test_a_counter_grows_over_an_interval(begin: int, end: int, more: int) -> None:
    part = made(range(10, 60, 10), read_bytes=[3, 5, 9, 14, 15])
    interval = Interval(begin, end)
    for growth in (recorded.increase, recorded.growth):
        assert growth(part, "read_bytes", interval) == more
        assert growth(part[:0], "read_bytes", interval) == 0


def test_a_counter_stays_where_it_was_and_a_queue_does_not() -> None:
    part = made(range(10, 50, 10), read_bytes=[2, 9, 0, 0], ofo_bytes=[2, 9, 4, 1])
    assert recorded.total(part, "read_bytes") == 9
    assert recorded.total(part[:0], "read_bytes") == 0
    assert recorded.increase(part, "read_bytes", Interval(10, 40)) == 9 - 2
    assert recorded.growth(part, "ofo_bytes", Interval(20, 30)) == 4 - 9
    assert recorded.growth(part, "ofo_bytes", Interval(0, 40)) == 1


@pytest.mark.parametrize(("at", "times"), [(9, []), (10, [10]), (19, [10]), (20, [10, 20])])
def test_records_up_to_a_time_have_those_of_that_time(at: int, times: list[int]) -> None:
    assert recorded.until(made([10, 20]), at)["time_ns"].tolist() == times


def test_bytes_arrive_that_wait_for_others() -> None:
    times, interval = [0, 10], Interval(0, 10)
    side = HostRecords(
        [
            made(times, connection=1, delivered_bytes=[50, 150], ofo_bytes=[10, 30]),
            made(times, connection=2, delivered_bytes=[0, 1000], ofo_bytes=[0, 200]),
        ],
        [
            Subflow(1, 0, over(1, times, ofo_bytes=[0, 3], received_bytes=[0, 60])),
            Subflow(1, 1, over(2, times, ofo_bytes=[1, 5], received_bytes=[5, 50])),
            Subflow(2, 0, over(1, times, ofo_bytes=[0, 30], received_bytes=[0, 500])),
        ],
    )
    # in order, waiting on the connection, and waiting on its subflows
    mptcp = [100 + 20 + 3 + 4, 1000 + 200 + 30]
    assert recorded.arrived(synthetic.scenario(), side, interval) == mptcp
    # of a connection that was seen once
    once = HostRecords([side.connections[1][1:]], [])
    assert recorded.arrived(synthetic.scenario(), once, interval) == [1200]
    # one queue, which both records show
    plain = synthetic.scenario(transport="tcp")
    assert recorded.arrived(plain, side, interval) == [120, 1200]
    assert recorded.arrived_over(side.subflows, interval) == 60 + 3 + 45 + 4 + 500 + 30
    assert recorded.arrived_over(side.on_path(1), interval) == 45 + 4


def test_sums_are_of_those_who_are_there() -> None:
    nobody = HostRecords([], [])
    times = np.array([20, 25, 30, 40])
    flow = Flow("up", nobody, nobody, {}, Interval(20, 40), times)
    parts = [
        made([10, 20, 30, 40, 50], sndbuf=[1, 2, 3, 4, 5]),
        made([25, 30], sndbuf=[2**31, 2**32 - 1]),
    ]
    assert recorded.summed(parts, "sndbuf", flow).tolist() == [2, 2**31, 3 + 2**32 - 1, 4]
    assert recorded.summed([], "sndbuf", flow).tolist() == [0, 0, 0, 0]


def test_a_sample_at_the_end_of_one_connection_is_none_of_all() -> None:
    nobody = HostRecords([], [])
    flow = Flow("up", nobody, nobody, {}, Interval(20, 40), np.array([20, 30, 40]))
    part = made([10, 20, 25, 30, 39, 50], sndbuf=[1, 2, 3, 4, 5, 6])
    inside, times = recorded.sampled(flow, part)
    assert (inside["sndbuf"].tolist(), times.tolist()) == ([2, 4], [0, 1])
    inside, times = recorded.sampled(flow, part[1:4:2])
    assert (inside["sndbuf"].tolist(), times.tolist()) == ([2, 4], [0, 1])


def test_a_counter_is_linear_between_samples() -> None:
    # beyond 2^53 a float is off by some ns
    day = 10**17
    part = made([day + 10, day + 20, day + 40], read_bytes=[4, 10, 50])
    times = np.array([day + 5, day + 10, day + 15, day + 20, day + 21, day + 40, day + 99])
    assert recorded.counted(part, "read_bytes", times).tolist() == [0, 4, 7, 10, 12, 50, 50]
    assert recorded.counted(part, "read_bytes", times[:0]).tolist() == []
    assert recorded.counted(part[:1], "read_bytes", times).tolist() == [0, *6 * [4]]


def test_a_field_stays_until_its_next_sample() -> None:
    part = made([10, 20], sndbuf=[4, 9])
    times = np.array([9, 10, 19, 20, 99])
    assert recorded.latest(part, "sndbuf", times).tolist() == [0, 4, 4, 9, 9]


def test_the_ports_of_its_initial_subflow_identify_a_connection_at_both_ends() -> None:
    def side(own: str, other: str, *numbers: int) -> HostRecords:
        """An end that numbers connections from client ports 7, 8, ... to server port 5 so."""
        subflows = [
            Subflow(number, 0, made([0], SUBFLOW_DTYPE, **{own: port + more, other: 5}))
            for port, number in enumerate(numbers, 7)
            for more in (0, 100)
        ]
        return HostRecords([made([0], connection=n) for n in sorted(numbers)], subflows)

    client, server = (
        side("local_port", "remote_port", 1, 2, 3),
        side("remote_port", "local_port", 2, 1),
    )
    found = recorded.both_ends(Flow("up", client, server, {}, Interval(0, 1), np.array([0])))
    numbers = [(int(one["connection"][0]), int(other["connection"][0])) for one, other in found]
    assert numbers == [(1, 2), (2, 1)]


def test_a_connection_without_its_scheduler_is_an_error() -> None:
    samples = Samples(made([0, 1], flags=[records.NO_SPACE, records.UNSCHEDULED]), NO_SUBFLOWS)
    with pytest.raises(RunError) as error:
        recorded.host_records(synthetic.scenario(), "server", samples)
    text = "the server had no memory for the scheduler of a connection, and used the default one"
    assert str(error.value) == FAILED + text


def limited(direction: Shape, mbit: int | None) -> Shape:
    rate_bps = NO_RATE_BPS if mbit is None else mbit * 10**6
    return direction.model_copy(update={"rate_bps": rate_bps})


def test_a_path_has_its_queue_where_its_rate_is_the_lowest() -> None:
    plain = synthetic.scenario()  # 40 and 10 Mbit/s
    fast, slow = plain.paths
    shared = tuple(
        Link(name=name, up=limited(fast.up, up), down=limited(fast.up, down))
        for name, up, down in (("first", 30, 50), ("second", 20, 60), ("other", 1, 1))
    )
    through = fast.model_copy(update={"links": ("first", "second")})
    host = slow.up.model_copy(update={"bottleneck": "host", "queue_discipline": "fifo"})
    paths = through, slow.model_copy(update={"up": host})
    scenario = plain.model_copy(update={"paths": paths, "links": shared})
    # 20 of 40, 30 and 20 Mbit/s; down the path itself, 40 of 40, 50 and 60
    assert recorded.queue_device(scenario, 0, "up") == "n2"
    assert recorded.queue_device(scenario, 0, "down") == "rc1"
    assert recorded.queue_device(scenario, 1, "up") == "c2"
    assert recorded.queue_device(scenario, 1, "down") == "rc2"
    queues = joined(*(made([0], LINK_DTYPE, device=name) for name in (b"n2", b"f2", b"n1", b"rc1")))
    assert recorded.queue_records(scenario, queues, "second", "up")["device"].tolist() == [b"n2"]
    found = recorded.queue_records(scenario, queues, fast.name, "down")
    assert found["device"].tolist() == [b"rc1"]
    wide = limited(fast.up, None)
    through = fast.model_copy(update={"up": wide, "down": wide, "links": ("first",)})
    scenario = scenario.model_copy(update={"paths": (through, slow)})
    assert recorded.queue_device(scenario, 0, "up") == "n1"
    assert recorded.queue_device(scenario, 0, "down") == "f1"
    later = plain.model_copy(update={"first_path": 5})
    assert recorded.queue_device(later, 1, "up") == "rs6"


def interval_of(scenario: Scenario, times: Sequence[int], complete_ns: int) -> Interval:
    guest = {"start_ns": 100, "complete_ns": complete_ns}
    return recorded.measured_interval(scenario, "server", np.array(times, np.int64), guest)


def lasting(duration_ns: int, warmup_ns: int, start_ns: int = 0) -> Scenario:
    scenario = synthetic.scenario(
        duration_ns=duration_ns, warmup_ns=warmup_ns, sample_interval_ns=10
    )
    return scenario.model_copy(update={"start_ns": start_ns})


def test_an_interval_is_moved_inwards_to_samples() -> None:
    times = range(100, 210, 10)
    assert interval_of(lasting(100, 0), times, 200) == (100, 200)
    assert interval_of(lasting(100, 20), times, 200) == (120, 200)
    assert interval_of(lasting(95, 15), times, 200) == (120, 190)
    # complete earlier, or later
    assert interval_of(lasting(100, 20), times, 185) == (120, 180)
    assert interval_of(lasting(80, 20), times, 200) == (120, 180)
    # two samples are enough
    assert interval_of(lasting(100, 90), times, 200) == (190, 200)
    # 100 + 30 + 20
    assert interval_of(lasting(60, 20, start_ns=30), times, 200) == (150, 190)


def test_the_interval_of_a_size_is_exact() -> None:
    size = synthetic.scenario(size_bytes=1000, sample_interval_ns=10)
    assert interval_of(size, range(100, 210, 10), 183) == (100, 183)
    assert interval_of(size, [100], 103) == (100, 103)
    later = size.model_copy(update={"start_ns": 30})
    assert interval_of(later, range(100, 210, 10), 183) == (130, 183)


def test_records_last_until_less_than_a_sample_interval_before_the_end() -> None:
    assert interval_of(lasting(99, 0), range(100, 200, 10), 199) == (100, 190)
    with pytest.raises(RunError) as error:
        interval_of(lasting(100, 0), range(100, 200, 10), 200)
    text = "the records of the server end 90ns after the start of the workload, which ended after "
    assert str(error.value) == FAILED + text + "100ns"
    # they may end before it starts, or be none
    times: list[int]
    for times in ([], [50], [120]):
        with pytest.raises(RunError, match="end 0ns after the start of the workload"):
            interval_of(lasting(60, 0, start_ns=30), times, 190)


def test_a_single_sample_is_too_few() -> None:
    with pytest.raises(RunError) as error:
        interval_of(lasting(100, 95), range(100, 210, 10), 200)
    text = "fewer than two samples between the end of the warm-up (95ns) and the end of the "
    text += "workload (100ns); choose a sample_interval shorter than 10ns"
    assert str(error.value) == FAILED + text
    one = lasting(100, 95)
    many = one.workload.model_copy(update={"connections": 2})
    with pytest.raises(RunError, match=r"choose a shorter warm-up: so many .* every 10ns"):
        interval_of(one.model_copy(update={"workload": many}), range(100, 210, 10), 200)
