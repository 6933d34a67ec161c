# SPDX-License-Identifier: GPL-2.0-only
"""A tunnel with bulk data and a call, with figures that follow from the paths and the headers.

A call's packet of 160 bytes has 28 bytes of UDP and IP, and 2 of its length in the tunnel. Outside,
Ethernet has 14 bytes, IP 20, TCP 32 with timestamps, and MPTCP 28, as data goes both ways.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records
from tests.vocabulary import Run, RunScenario, scenario_of, without_patches

PACKET_BYTES, FRAME_BYTES = 1500, 1514
CALL_BYTES = 160 + 28
TUNNEL_BYTES = {"mptcp": 2 + 14 + 20 + 32 + 28, "tcp": 2 + 14 + 20 + 32, "udp": 14}
#: Of a packet of 1514 bytes, those that are data of the tunnel.
DATA_BYTES = {"mptcp": 1448 - 28, "tcp": 1448}
#: Each look at the clock moves it by 256 ns, and two processes at each end look at it.
CLOCK_NS = 8_000


def assert_call_takes(run: Run, wire_bytes: int) -> None:
    """Each packet takes the delay of 10 ms, and its time on a wire of 10 Mbit/s."""
    expected_ns = 10_000_000 + wire_bytes * 8 * 100
    call = run.messages()
    assert len(call) == 2 * 3 * 50
    delays = call["complete_ns"] - call["due_ns"]
    assert expected_ns <= delays.min() <= delays.max() <= expected_ns + CLOCK_NS
    assert run.metric("call_delay_ms_p99") == pytest.approx(expected_ns / 1e6, abs=0.01)
    assert [run.metric(f"call{back}_in_time") for back in ("", "_back")] == [1, 1]


def assert_bulk_gets(run: Run, transport: str) -> None:
    """No more than the headers leave of 20 Mbit/s, and most of it.

    Below this, the call takes 50 packets of up to 284 bytes a second, 0.6 %, and the first half
    second of 10 s, without the warm-up, none. The rest is for the queue of 33 packets, which holds
    nearly the product of rate and RTT: after a loss, CUBIC fills 85 % of the link at the worst.
    """
    inside = (PACKET_BYTES - 52) / (PACKET_BYTES + 2)
    most_bps = 20e6 * DATA_BYTES[transport] / FRAME_BYTES * inside
    assert 0.85 * most_bps < run.metric("bulk_goodput_bps") <= most_bps


@pytest.mark.parametrize("transport", ["mptcp", "tcp"])
def test_a_call_in_an_idle_tunnel_takes_the_delay_and_all_headers(
    run_scenario: RunScenario, transport: str
) -> None:
    flags = {"transport": transport, "seed_delay": "0us"}
    run = run_scenario("a:10mbit,10ms", workload="tunnel:bulk=off,duration=3s", **flags)
    assert_call_takes(run, CALL_BYTES + TUNNEL_BYTES[transport])


def test_a_call_outside_takes_the_first_path_beside_the_tunnel(run_scenario: RunScenario) -> None:
    # The bulk data goes up, so packets down share path a with acknowledgments alone: at most one
    # for each of 83 packets a second, of 148 bytes or 118 us. They take 1 % of the time.
    paths = ("a:10mbit,10ms,up.rate=1mbit", "b:10mbit,10ms")
    run = run_scenario(*paths, workload="tunnel:call=outside,duration=3s", seed_delay="0us")
    call = run.messages()[1:]
    back = call[call["direction"] == 1]
    delays = back["complete_ns"] - back["due_ns"]
    expected_ns = 10_000_000 + (CALL_BYTES + TUNNEL_BYTES["udp"]) * 8 * 100
    assert expected_ns <= delays.min()
    assert np.quantile(delays, 0.95) <= expected_ns + CLOCK_NS


@pytest.mark.parametrize("transport", ["mptcp", "tcp"])
def test_bulk_data_inside_gets_what_the_headers_leave(
    run_scenario: RunScenario, transport: str
) -> None:
    run = run_scenario("a:20mbit,10ms", workload="tunnel:duration=10s", transport=transport)
    assert_bulk_gets(run, transport)
    # what waits for the tunnel delays the call
    assert run.metric("call_delay_ms_p99") > run.metric("call_back_delay_ms_p99")


def test_an_unmodified_kernel_gives_the_same(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    rig = Rig(without_patches(lab_kernel), lab_guest)
    for name, rate, text in (("call", 10, "bulk=off,duration=3s"), ("bulk", 20, "duration=10s")):
        base = scenario_of(f"a:{rate}mbit,10ms", workload=f"tunnel:{text}", seed_delay="0us")
        (tmp_path / name).mkdir()
        run = Run.made(base, rig, tmp_path / name)
        if name == "call":
            assert_call_takes(run, CALL_BYTES + TUNNEL_BYTES["mptcp"])
        else:
            assert_bulk_gets(run, "mptcp")


def test_an_outage_of_a_path_loses_nothing_and_delays_the_call(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("a:20mbit,10ms", "b:20mbit,10ms"),
        workload="tunnel:duration=6s,direction=down",
        event=("2s:b:down,lasts=2s",),
    )
    guest = run.outcome.guest
    # every byte of the bulk data is verified as it arrives
    assert guest["bytes_written"] == guest["bytes_received"] > 6 * 20e6 / 8 / 2
    call = run.messages()[1:]
    assert (call["complete_ns"] > 0).all()
    assert run.metric("call_lost") == run.metric("call_back_lost") == 0
    # packets on path b are sent again after a timeout, of 200 ms or more
    assert (call["complete_ns"] - call["due_ns"]).max() > 200e6


def test_a_shaper_keeps_the_queue_out_of_the_tunnel(run_scenario: RunScenario) -> None:
    """At 5 of 10 Mbit/s, a call's packet waits for one packet in the shaper, 2.4 ms, and for the
    ten that it lets through at once, 1.2 ms each on the path.
    """
    shaped = run_scenario("a:10mbit,10ms", workload="tunnel:duration=10s,rate=5mbit")
    assert shaped.metric("call_delay_ms_p99") < 10 + 2.5 + 11 * 1.25
    # the shaper counts packets without Ethernet's header
    bulk_bps = shaped.metric("bulk_goodput_bps")
    assert 0.9 * 5e6 < bulk_bps <= 5e6 * (PACKET_BYTES - 52) / PACKET_BYTES


def test_two_runs_are_equal(run_scenario: RunScenario) -> None:
    files = ("messages.records", "lan.samples", "wan.samples", "client.samples", "links.samples")
    paths = ("a:20mbit,10ms,loss=1%", "b:10mbit,20ms")
    runs = [run_scenario(*paths, workload="tunnel:duration=2s", scheduler="minrtt") for _ in "ab"]
    for name in files:
        one, other = ((run.outcome.directory / name).read_bytes() for run in runs)
        assert one == other, name


def test_a_call_may_have_a_tunnel_of_its_own(run_scenario: RunScenario) -> None:
    """Beside bulk data that ends at a proxy, over the same two links."""
    run = run_scenario(
        *(f"{name}{i}:link={link}" for i in "12" for name, link in (("d", "dsl"), ("l", "lte"))),
        link=("dsl:20mbit,10ms", "lte:20mbit,30ms"),
        connection=("proxy:paths=d1/l1,workload.kind=bulk", "call:paths=d2/l2,scheduler=redundant"),
        workload="tunnel:bulk=off,duration=3s",
    )
    proxy, call = run.figures.connections
    assert proxy.scheduler == "default"
    assert call.scheduler == "redundant"
    assert call.metrics.call_lost == 0
    samples = records.read_samples(run.outcome.directory / "client2.samples")
    assert np.unique(samples.subflow["n"]).tolist() == [0, 1]
