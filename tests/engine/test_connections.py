# SPDX-License-Identifier: GPL-2.0-only
"""Several connections over shared links: how long packets take, who gets what, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mptcplab.metrics import records, run_files
from tests import pcapng
from tests.pcapng import Capture
from tests.vocabulary import Run, RunScenario

# A full packet of plain TCP with timestamps: 1448 bytes of data in 1514 bytes of Ethernet.
PAYLOAD = 1448 / 1514
# What a connection begins with: who it is.
GREETING = 8
LINK = "shared:10mbit,10ms,queue=100,queue_discipline=droptail"
RENO = {"transport": "tcp", "cc": "reno"}
A, B, T = (f"{name}:link=shared,delay=5ms" for name in "abt")
AB = (A, B)


def connection(run: Run, name: str) -> Any:
    return next(c for c in run.figures.connections if c.name == name)


def link(run: Run, direction: str = "up") -> Any:
    return next(each for each in run.figures.links if each.direction == direction)


def captured(run: Run, file: str, device: str) -> Capture:
    return pcapng.read(run.outcome.directory / file)[device]


def data_ns(capture: Capture, *, outbound: bool) -> npt.NDArray[np.int64]:
    """When full packets passed a device."""
    full = (capture.length == 1514) & (capture.outbound == outbound)
    times: npt.NDArray[np.int64] = capture.time_ns[full]
    return times


def bytes_are_verified(run: Run) -> None:
    guest = run.outcome.guest
    assert guest["bytes_received"] == guest["bytes_written"] > 0


@pytest.fixture
def run_two(run_scenario: RunScenario) -> RunScenario:
    """Connections of plain TCP with Reno, over paths a and b that share a link."""

    def run(*connections: str, link: str = LINK, **flags: Any) -> Run:
        made = run_scenario(*AB, link=(link,), connection=connections, **RENO, **flags)
        bytes_are_verified(made)
        return made

    return run


def test_delays_add_up_to_the_microsecond(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "a:link=one/two,delay=5ms",
        link=("one:8mbit,10ms,queue=1000", "two:100mbit,1234567ns,queue=1000"),
        **RENO,
        size="200KB",
        pcap=True,
    )
    bytes_are_verified(run)
    sent = data_ns(captured(run, "client.pcapng", "c1"), outbound=True)
    arrived = data_ns(captured(run, "server.pcapng", "s1"), outbound=False)
    assert len(sent) == len(arrived) > 100
    # 5 ms, 10 ms and 1.234567 ms on the way; 1514 x 8 bit take 1.514 ms and 0.12112 ms. The first
    # packet finds empty queues. To write down when a packet passes moves the clock by up to 256 ns.
    expected_ns = 5_000_000 + 10_000_000 + 1_234_567 + 1_514_000 + 121_120
    assert arrived[0] - sent[0] == pytest.approx(expected_ns, abs=1000)
    # what follows in the same burst leaves the slower link a packet's time later
    assert np.diff(arrived[:4]) == pytest.approx(1_514_000, abs=1000)


def test_constant_rates_that_fit_pass_unhindered_side_by_side(run_two: RunScenario) -> None:
    run = run_two(
        "x:paths=a,workload.kind=cbr,workload.rate=2mbit,workload.size=1000",
        "y:paths=b,workload.kind=cbr,workload.rate=4mbit,workload.size=1000",
        duration="10s",
        warmup="1s",
    )
    for name, rate in (("x", 2e6), ("y", 4e6)):
        mine = connection(run, name)
        # whole blocks of 8000 bits in 9 s, one more or less at each end
        assert mine["goodput_bps"] == pytest.approx(rate, abs=2 * 8000 / 9)
        assert mine["metrics"]["retransmitted_packets"] == 0
    assert link(run).queue_dropped_packets == 0
    # (2 + 4)^2 / (2 x (4 + 16))
    assert run.figures.metrics.fairness == pytest.approx(0.9, abs=0.001)
    # 15 ms on the way, and a block of 1066 bytes takes 852.8 us. Every 4 ms both send one at once,
    # and that of y waits for that of x.
    messages = run.messages()
    for number, expected_ns in ((1, [15_852_800]), (2, [15_852_800, 16_705_600])):
        mine = messages[messages["connection"] == number]
        took_ns = (mine["complete_ns"] - mine["due_ns"]).astype(np.int64)
        for each_ns in expected_ns:
            exact = np.abs(took_ns - each_ns) <= 2000
            assert exact.mean() >= 0.97 / len(expected_ns)
    # 1066 bytes of 1000 are headers and data
    assert link(run).utilisation == pytest.approx(6e6 * 1.066 / 10e6, rel=0.005)


def test_a_shared_queue_holds_what_it_may_and_no_more(run_two: RunScenario) -> None:
    run = run_two(
        "x:paths=a",
        "y:paths=b",
        link="shared:10mbit,10ms,queue=20,queue_discipline=droptail",
        duration="5s",
    )
    # 20 that wait, and the one that is being sent
    assert link(run).queue_packets_max in (20, 21)
    assert link(run).queue_dropped_packets > 0
    # What was dropped is sent again, but for what is still in flight at the end: 20 that wait, and
    # the 25 of 30 ms.
    sent_again = sum(c.metrics.retransmitted_packets or 0 for c in run.figures.connections)
    assert link(run).queue_dropped_packets <= sent_again + 45
    goodput = sum(c.goodput_bps or 0 for c in run.figures.connections)
    assert goodput <= 10e6 * PAYLOAD * 1.01
    assert run.figures.metrics.goodput_bps == pytest.approx(goodput, rel=1e-3)


def test_two_flows_of_reno_share_a_link_evenly(run_two: RunScenario) -> None:
    run = run_two("x:paths=a", "y:paths=b,start=1s", duration="60s")
    fairness = run.figures.metrics.fairness
    print(f"Jain's index of two flows of Reno over 60 s: {fairness:.4f}")
    assert fairness is not None
    assert fairness >= 0.95
    # The queue of 100 packets holds 4 times the 25 packets of the empty path's 30 ms: it never runs
    # dry, and all but headers is goodput.
    assert link(run).utilisation >= 0.99
    assert run.goodput_bps >= 0.97 * 10e6 * PAYLOAD
    g = [c.common_goodput_bps or 0 for c in run.figures.connections]
    assert fairness == pytest.approx(sum(g) ** 2 / (2 * sum(x * x for x in g)), rel=1e-12)
    assert sum(c.share or 0 for c in run.figures.connections) == pytest.approx(1)


def test_a_connection_lives_from_its_start_to_its_end(run_two: RunScenario) -> None:
    run = run_two("x:paths=a", "y:paths=b,start=2s,end=4s", duration="8s", pcap=True)
    t0 = run.start_ns
    late = captured(run, "client2.pcapng", "c2").time_ns
    # the process is woken by a timer, and reads the clock a few times, each 256 ns
    assert 0 <= late[0] - (t0 + 2 * 10**9) <= 10_000
    # What is in the send buffer still goes out. TCP lets it grow to 4352 bytes for each segment of
    # twice its window, which is at most the 126 packets of queue and way: in large pieces no less
    # than all of these bytes are payload, 758 packets of 1.2112 ms each; and a timeout.
    assert 4.0 <= (late[-1] - t0) / 1e9 <= 4 + 758 * 1.2112e-3 + 0.5
    samples = run_files.read_samples(run.scenario, run.outcome.directory)
    assert samples["client2"].connection["time_ns"][0] == t0 + 2_010_000_000
    mine = connection(run, "y")
    assert mine["metrics"]["goodput_bps"] == mine["goodput_bps"] > 0
    # its interval ends at 4 s, and begins when its warm-up of a tenth ends; it is the common one
    assert mine["common_goodput_bps"] == mine["goodput_bps"]
    # 90 % of the link, of which a flow of Reno that shares it evenly has 50 %: half of queue and
    # way, 63 packets, are a window of 126 again after 63 round trips of at most 151 ms.
    assert 0 <= mine["takeover_s"] <= 63 * 0.151
    assert connection(run, "x").takeover_s is None
    # the other one has the link for itself again: all but what a Reno flow needs to grow
    x = samples["server"].connection
    after = x[x["time_ns"] >= t0 + 5 * 10**9]
    span_ns = int(after["time_ns"][-1]) - int(after["time_ns"][0])
    grown = int(after["delivered_bytes"][-1]) - int(after["delivered_bytes"][0])
    assert grown * 8 * 1e9 / span_ns >= 0.9 * 10e6 * PAYLOAD


def test_ten_more_connections_are_a_count(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("m:link=shared,delay=5ms", "n:link=shared,delay=5ms", "t:link=shared,delay=5ms"),
        link=("shared:50mbit,10ms,queue=200",),
        connection=("mptcp:paths=m/n", "tcp:paths=t,transport=tcp,cc=reno,count=10,start=100ms"),
        duration="5s",
    )
    bytes_are_verified(run)
    assert [c.name for c in run.figures.connections] == [
        "mptcp",
        *(f"tcp-{i}" for i in range(1, 11)),
    ]
    assert len(run.figures.paths) == 12
    assert all(c.goodput_bps for c in run.figures.connections)
    assert connection(run, "mptcp").metrics.subflows == 2
    assert link(run).utilisation >= 0.95


def test_a_hundred_connections_bring_every_byte(run_scenario: RunScenario) -> None:
    each_bytes, count = 50_000, 100
    run = run_scenario(
        *("a:link=shared,delay=5ms", "b:link=shared,delay=5ms", "c:link=shared,delay=5ms"),
        link=("shared:100mbit,5ms,queue=5000",),
        connection=("m:paths=a/b,count=20", "t:paths=c,transport=tcp,count=80"),
        size="50KB",
    )
    guest = run.outcome.guest
    assert guest["bytes_received"] == guest["bytes_written"] == count * each_bytes
    assert len(run.figures.connections) == count
    samples = run_files.read_samples(run.scenario, run.outcome.directory)
    hosts = [f"server{number}" if number > 1 else "server" for number in range(1, count + 1)]
    for host in hosts:
        delivered = samples[host].connection["delivered_bytes"].max()
        assert delivered == GREETING + each_bytes, host
    messages = run.messages()
    assert sorted(messages["connection"]) == list(range(1, count + 1))
    assert (messages["bytes"] == each_bytes).all()
    assert (messages["complete_ns"] > 0).all()
    # The queue holds them all: nothing is lost, and the link is busy from the first packet to the
    # last. Full packets of plain TCP would take 418 ms for the 5 MB; the headers of Multipath TCP,
    # and the last packet of each connection, add less than 5 %. A way takes 10 ms, and no
    # connection waits for its window: they send 1000 packets at once, which take 121 ms.
    took_s = (int(messages["complete_ns"].max()) - run.start_ns) / 1e9
    least_s = count * each_bytes * 8 / PAYLOAD / 100e6
    assert least_s <= took_s <= 1.05 * least_s + 0.04
    assert link(run).queue_dropped_packets == 0


def test_a_connection_that_does_not_come_up_in_time_has_brought_nothing(
    run_scenario: RunScenario,
) -> None:
    # Twelve begin at once, and the queue has five places: SYNs and SYN/ACKs are lost, for 1 s at
    # first and then for 3 s.
    run = run_scenario(
        "p:link=shared,delay=5ms",
        link=("shared:1mbit,5ms,queue=5",),
        connection=("c:paths=p,count=12,transport=tcp",),
        start="at-once",
        duration="2s",
        warmup="0s",
    )
    samples = run_files.read_samples(run.scenario, run.outcome.directory)
    hosts = [f"server{number}" if number > 1 else "server" for number in range(1, 13)]
    absent = [not len(samples[host].connection) for host in hosts]
    assert 0 < sum(absent) < 12
    for one, is_absent in zip(run.figures.connections, absent, strict=True):
        if is_absent:
            assert one.metrics.goodput_bps == 0


def test_each_connection_has_its_own_scheduler_and_congestion_control(
    run_scenario: RunScenario,
) -> None:
    run = run_scenario(
        *("a:10mbit,10ms", "b:10mbit,10ms", "c:10mbit,10ms", "d:10mbit,10ms"),
        connection=(
            "first:paths=a/b,scheduler=first,cc=reno",
            "both:paths=c/d,scheduler=redundant,cc=cubic,workload.direction=down",
        ),
        duration="3s",
        decisions=True,
    )
    bytes_are_verified(run)
    # `first` sends all over the first path, `redundant` all over both
    one, two = run.figures.connections
    assert (one.scheduler, one.cc) == ("first", "reno")
    assert (two.scheduler, two.cc) == ("redundant", "cubic")
    assert one.metrics.duplicate_segments == 0
    assert two.metrics.duplicate_segments
    shares: dict[Any, Any] = {path.name: path.share for path in run.figures.paths}
    assert (shares["a"], shares["b"]) == (1, 0)
    # duplicates count on both; neither path carries less than half of what the other one does
    assert 1 / 3 - 0.02 <= shares["c"] <= 2 / 3 + 0.02
    directory = run.outcome.directory
    assert len(records.read_decisions(directory / "client.decisions"))
    assert len(records.read_decisions(directory / "server2.decisions"))
    assert not (directory / "client2.decisions").exists()


def test_a_link_that_goes_down_holds_up_all_its_paths(run_two: RunScenario) -> None:
    run = run_two(
        "x:paths=a",
        "y:paths=b",
        event=("2s:link=shared:change,rate=1mbit,lasts=2s",),
        duration="6s",
    )
    samples = run_files.read_samples(run.scenario, run.outcome.directory)

    def received(begin_s: float, end_s: float) -> float:
        total = 0
        for host in ("server", "server2"):
            subflow = samples[host].subflow
            at = np.searchsorted(
                subflow["time_ns"], [run.start_ns + int(t * 1e9) for t in (begin_s, end_s)]
            )
            first, last = subflow["received_bytes"][at - 1]
            total += int(last) - int(first)
        return total * 8 / (end_s - begin_s)

    # what has left the queue before still arrives, 15 ms later
    assert received(2.1, 3.9) <= 1.05 * 1e6
    assert received(5, 6) >= 0.8 * 10e6 * PAYLOAD
    assert link(run).lost_packets == 0


def test_two_paths_of_the_only_connection_may_share_a_link(run_scenario: RunScenario) -> None:
    run = run_scenario(*AB, link=(LINK,), duration="5s")
    bytes_are_verified(run)
    assert run.figures.metrics.subflows == 2
    # MPTCP's data sequence signal takes 20 bytes of a packet
    assert 0.9 * 10e6 <= run.goodput_bps <= 10e6 * 1428 / 1514 * 1.05
    assert [(each.name, each.direction) for each in run.figures.links] == [
        ("shared", "up"),
        ("shared", "down"),
    ]
    assert link(run).utilisation >= 0.98


def test_a_path_that_is_not_there_is_reported_by_its_name(run_scenario: RunScenario) -> None:
    with pytest.raises(Exception, match=r"path d: no subflow came up within 60 s"):
        run_scenario(
            *("a:10mbit,10ms", "b:10mbit,10ms", "c:10mbit,10ms", "d:10mbit,10ms,loss=99.9999%"),
            connection=("x:paths=a/b", "y:paths=c/d"),
            duration="1s",
        )


def test_a_connection_that_falls_back_in_its_handshake_is_recorded(
    run_scenario: RunScenario,
) -> None:
    # Ten connections send the third packet of their handshake and ten segments at one time, into
    # a queue that drops early: the servers of those that lose both the former and the first of the
    # latter accept a connection of TCP.
    run = run_scenario(
        "a:link=shared,delay=20ms",
        link=("shared:10mbit,20ms,queue=100,queue_discipline=red",),
        connection=("x:paths=a,count=10",),
        start="at-once",
        duration="3s",
    )
    bytes_are_verified(run)
    assert all(c.goodput_bps for c in run.figures.connections)
