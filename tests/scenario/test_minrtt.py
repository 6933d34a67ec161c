# SPDX-License-Identifier: GPL-2.0-only
"""Runs with minrtt: the fast path first, and what its two extras are for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.vocabulary import Run, RunScenario

# The far path alone fills 4 Mbit/s x 200 ms = 100 KB, and half of 200 KB of receive buffer is
# window: what is on its way there leaves the near path none.
LIMITED = ("near:4mbit,5ms", "far:4mbit,100ms")


def test_what_fits_the_fast_path_takes_the_fast_path(run_scenario: RunScenario) -> None:
    # Of 32 KB send buffer, overhead counted, at most 22 segments are data; the window of the near
    # path, which begins with 10, has room for all of them after two round trips.
    run = run_scenario(
        "far:50mbit,50ms",
        "near:50mbit,10ms",
        scheduler="minrtt",
        duration="10s",
        send_buffer="32KB",
    )
    assert [path["share"] for path in run.figures.paths] == pytest.approx([0, 1], abs=0.01)


def test_opportunistic_retransmission_pays_where_the_receive_window_limits(
    run_scenario: RunScenario,
) -> None:
    flags = {"receive_buffer": "200KB", "duration": "40s"}
    with_rp = run_scenario(*LIMITED, scheduler="minrtt", **flags)
    without = run_scenario(*LIMITED, scheduler="minrtt:rp=off", **flags)
    assert with_rp.goodput_bps >= 1.1 * without.goodput_bps
    # the oldest segment is repeated on the faster path, never the other way round
    near, far = (path["duplicate_segments"] for path in with_rp.figures.paths)
    assert (near != 0, far) == (True, 0)
    assert [path["duplicate_segments"] for path in without.figures.paths] == [0, 0]


def test_a_penalty_halves_the_window_of_the_slow_subflow(run_scenario: RunScenario) -> None:
    # What is in flight fits into half of 256 KiB, 90 segments, and the slow path takes 100 and
    # what is in its delay line: it loses none, so that TCP never makes its window smaller. The
    # limit beside the window does not either.
    def falls(scheduler: str) -> list[tuple[int, int]]:
        run = run_scenario(
            "fast:50mbit,5ms",
            "slow:2mbit,50ms,queue=100",
            receive_buffer="256KiB",
            duration="10s",
            scheduler=scheduler,
        )
        slow = run.sender("slow")
        assert slow["retransmitted_packets"][-1] == 0
        cwnd = [int(packets) for packets in slow["cwnd"]]
        return [(a, b) for a, b in pairwise(cwnd) if b < a]

    assert falls("minrtt:rp=off") == []
    assert falls("minrtt:rp_limit=on") == []
    # In the 10 ms between two samples no more than two packets are acknowledged, 6 ms apart, and
    # there are at most two penalties: an RTT of the fast path apart, in whole ticks of 4 ms, three
    # of which may begin with the end of one.
    halved = falls("minrtt")
    assert len(halved) >= 2
    assert all(max(a // 4, 1) <= b <= a // 2 + 2 for a, b in halved)


def test_bufferbloat_mitigation_bounds_the_round_trip_time(run_scenario: RunScenario) -> None:
    # 300 packets of 1514 bytes wait 363 ms at 10 Mbit/s, of which 12 are in the delay line. With
    # lambda 2, RTT x in flight = 2 x 20 ms x cwnd: it settles where the queue makes 40 ms of the
    # RTT's 20, give or take the smoothing of the estimate.
    paths = ("a:10mbit,10ms,queue=300", "b:10mbit,10ms,queue=300")
    without = run_scenario(*paths, scheduler="minrtt:rp=off", duration="20s")
    with_bm = run_scenario(*paths, scheduler="minrtt:rp=off:bm=on:bm_lambda=20", duration="20s")

    def late_srtt_us(run: Run) -> float:
        subflow = run.client.subflow
        return float(subflow["srtt_us"][len(subflow) // 2 :].mean())

    assert late_srtt_us(without) >= 200_000
    assert late_srtt_us(with_bm) <= 100_000
    assert with_bm.goodput_bps >= 0.97 * without.goodput_bps
