# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the real kernel against arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics import records, run_files
from mptcplab.runs.bench import ideal_goodput_bps
from mptcplab.scenario import congestion
from tests.vocabulary import RunScenario

TWINS = ("a:50mbit,10ms", "b:50mbit,10ms")


def test_default_fills_two_equal_paths(run_scenario: RunScenario) -> None:
    # 2 x 50 Mbit/s x 1424/1514 = 94.1 Mbit/s if both links never idle. Cubic lets them idle only
    # if a queue runs empty: 83 packets of netem's limit hold 42 in the delay line and 41 waiting,
    # and after a loss 0.7 x (83 + 41) = 87 packets are left, more than the 83 that fill the pipe.
    run = run_scenario(*TWINS, scheduler="default", duration="20s")
    ideal = ideal_goodput_bps(run.scenario)
    assert 0.97 * ideal <= run.goodput_bps <= ideal
    assert [path["share"] for path in run.figures.paths] == pytest.approx([0.5, 0.5], abs=0.03)


def test_tcp_over_one_path_stays_below_the_rate_of_its_link(run_scenario: RunScenario) -> None:
    # 1448 of the 1514 bytes of a frame are data without MPTCP's 28 bytes of mapping.
    run = run_scenario("only:50mbit,10ms", transport="tcp", duration="10s")
    ideal = 50e6 * 1448 / 1514
    assert 0.97 * ideal <= run.goodput_bps <= ideal
    assert run.figures.metrics.duplicate_bytes == 0


@pytest.mark.parametrize("count", [1, 3, 8])
def test_every_path_gets_one_subflow_and_carries_data(
    run_scenario: RunScenario, count: int
) -> None:
    paths = [f"p{i}:10mbit,{5 * i}ms" for i in range(1, count + 1)]
    run = run_scenario(*paths, scheduler="roundrobin", duration="5s")
    assert run.figures.metrics.subflows == count
    # what waited out of order when measuring began, after a warm-up of 0.5 s, is delivered in the
    # 4.5 s that are measured; so may be one packet per path that was almost there
    begin_ns = run.start_ns + 500_000_000
    waiting = sum(
        int(records["ofo_bytes"][records["time_ns"] == begin_ns].sum())
        for records in (run.server.connection, run.server.subflow)
    )
    early_bps = 8 * (waiting + 1448 * count) / 4.5
    assert run.goodput_bps <= ideal_goodput_bps(run.scenario) + early_bps
    for path in run.figures.paths:
        # each path is used, though not all are filled: they block each other at the receiver
        assert float(path["goodput_bps"] or 0) > 1e6


def test_the_round_trip_time_is_the_delay_of_both_directions(run_scenario: RunScenario) -> None:
    # 1 MB/s on a 100 Mbit/s link never waits: what a segment takes is the delay (10 + 15 ms), its
    # 1514 bytes at 100 Mbit/s (121 us), and those of its ACK of at most 94 bytes (8 us); the
    # receiver delays no ACK of bulk data beyond its second segment.
    run = run_scenario(
        "p:100mbit,10ms,down.delay=15ms", duration="2s", send_buffer="16KiB", warmup="0s"
    )
    assert int(run.client.subflow["min_rtt_us"].min()) == pytest.approx(25_000 + 129, abs=130)


def test_what_has_arrived_is_read_at_once(run_scenario: RunScenario) -> None:
    """As iperf3 does, and without a low-water mark: what waits to be read takes up the window."""
    run = run_scenario("a:20mbit,20ms", "b:20mbit,20ms", receive_buffer="128KiB", duration="5s")
    connection = run.server.connection
    waiting = connection["delivered_bytes"] - connection["read_bytes"]
    assert int(waiting.max()) == 0


# As measured, wvegas drains a queue that begins to fill, by half of its window, and then has half
# of this path: docs/congestion/wvegas.md.
OURS = "wvegas:alpha_drain=on:least_rtt=on:used_window=on:tcp_rate=on"


@pytest.mark.parametrize("cc", [OURS if cc == "wvegas" else cc for cc in congestion.names()])
def test_every_congestion_control_fills_a_path(run_scenario: RunScenario, cc: str) -> None:
    run = run_scenario("p:20mbit,20ms,queue=100", cc=cc, duration="10s", warmup="3s")
    assert run.goodput_bps >= 0.85 * ideal_goodput_bps(run.scenario)


def test_the_traffic_needs_few_system_calls(run_scenario: RunScenario) -> None:
    # The kernel reads and writes for both ends, but for the first and last chunk: 128 KiB, of some
    # 92 packets, each with two calls, of 65,000.
    run = run_scenario("a:100mbit,10ms,queue=300", "b:50mbit,20ms,queue=300", duration="5s")
    packets = run.figures.metrics.data_packets
    assert packets is not None
    assert run.outcome.guest["system_calls"] < packets / 20


def test_samples_are_taken_exactly_at_every_interval(run_scenario: RunScenario) -> None:
    run = run_scenario("a:10mbit,10ms", "b:10mbit,10ms", duration="1s", sample_interval="5ms")
    for samples in (run.client, run.server):
        steps = np.diff(np.unique(samples.connection["time_ns"]).astype(np.int64))
        assert (steps == 5_000_000).all()
        assert len(steps) == 200
        assert int(samples.connection["time_ns"][0]) == run.outcome.guest["start_ns"]


def test_sampling_does_not_change_the_run(run_scenario: RunScenario) -> None:
    """Sampled a hundred times as often, the run is the same whenever both show it."""
    paths = ("a:20mbit,10ms,loss=0.5%", "b:10mbit,30ms")
    often = run_scenario(*paths, duration="3s", sample_interval="1ms", seed="5")
    seldom = run_scenario(*paths, duration="3s", sample_interval="100ms", seed="5")
    assert often.outcome.guest == seldom.outcome.guest
    for side in ("client", "server"):
        one, other = getattr(often, side), getattr(seldom, side)
        for kind in ("connection", "subflow"):
            dense, sparse = getattr(one, kind), getattr(other, kind)
            seen_by_both = dense[np.isin(dense["time_ns"], sparse["time_ns"])]
            assert np.array_equal(seen_by_both, sparse)
    dense, sparse = (
        records.read_links(run.outcome.directory / run_files.LINKS_SAMPLES)
        for run in (often, seldom)
    )
    assert np.array_equal(dense[np.isin(dense["time_ns"], sparse["time_ns"])], sparse)
