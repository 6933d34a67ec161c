# SPDX-License-Identifier: GPL-2.0-only
"""Runs with wvegas: ten segments in the queues of all paths, no losses, and all of the rate.

All but the last are of ours: as measured it halves its windows whenever a queue begins to fill.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.vocabulary import Run, RunScenario, ours

# queues that hold more than the paths: what fills them, is seen
PATHS = ("a:20mbit,10ms,queue=100", "b:20mbit,25ms,queue=100")
OURS = ours("wvegas")
# of a bit on a path, the part that is data
USABLE = 1424 / 1514


def queued(run: Run, path: int) -> float:
    """Mean number of packets in the queue of a path to the server."""
    value = run.figures.paths[path].queue_packets_mean
    assert isinstance(value, float)
    return value


def test_it_fills_the_paths_and_not_the_queues(run_scenario: RunScenario) -> None:
    wvegas, lia = (
        run_scenario(*PATHS, cc=cc, duration="40s", warmup="20s") for cc in (OURS, ours("lia"))
    )
    # From slow start, half of the 84 packets that path b holds are missing at the most: 42 round
    # trips of 50 ms, a segment each, are over after 2 s. Then nothing stops it.
    assert wvegas.goodput_bps >= 0.99 * USABLE * 40e6
    assert wvegas.goodput_bps >= 0.97 * lia.goodput_bps
    assert wvegas.figures.metrics.retransmitted_packets == 0
    for path in (0, 1):
        # 5 of 10 segments each, as the rates are alike; rounding leaves up to one more
        assert 3 <= queued(wvegas, path) <= 7
        assert queued(wvegas, path) <= queued(lia, path) / 2


def test_alone_it_has_all_ten(run_scenario: RunScenario) -> None:
    run = run_scenario("a:20mbit,10ms", cc=OURS, duration="30s", warmup="15s")
    assert run.goodput_bps >= 0.99 * USABLE * 20e6
    assert 8 <= queued(run, 0) <= 12


def test_the_path_with_the_higher_rate_has_more_of_them(run_scenario: RunScenario) -> None:
    run = run_scenario("a:40mbit,10ms", "b:10mbit,10ms", cc=OURS, duration="40s", warmup="20s")
    # 8 and 2 of 10
    assert 6 <= queued(run, 0) <= 10
    assert 1 <= queued(run, 1) <= 4


@pytest.mark.parametrize("delay", ["5ms", "50ms"])
def test_a_queue_of_its_own_is_no_reason_to_halve_the_window(
    run_scenario: RunScenario, delay: str
) -> None:
    run = run_scenario(
        f"a:20mbit,{delay}", f"b:20mbit,{delay}", cc=OURS, duration="60s", warmup="30s"
    )
    for path in "ab":
        subflow = run.sender(path)
        cwnd = subflow["cwnd"][subflow["time_ns"] > run.start_ns + 30e9]
        # It takes a segment back when more than its part of ten wait in the queue, five, and gives
        # one when fewer do: between an empty queue and one more than its part. Half the window
        # would be 11 segments, and 85.
        assert int(cwnd.max()) - int(cwnd.min()) <= 5 + 1


def test_windows_that_leave_at_once_are_no_queue(run_scenario: RunScenario) -> None:
    # Path b is slow, and holds back the send buffer, which Linux makes as large as windows need:
    # again and again nothing can be sent, and then all at once. The mean RTT of a round has half of
    # that burst in it: a window of 60 segments would have 30 too many, and end at half of the rate.
    paths = ("a:40mbit,10ms", "b:10mbit,40ms")
    wvegas, reno = (
        run_scenario(*paths, cc=cc, duration="40s", warmup="10s") for cc in (OURS, "reno")
    )
    assert wvegas.goodput_bps >= 0.9 * reno.goodput_bps


def test_as_measured_it_halves_its_window_again_and_again(run_scenario: RunScenario) -> None:
    paths = ("a:20mbit,25ms", "b:20mbit,25ms")
    measured, better = (
        run_scenario(*paths, cc=cc, duration="60s", warmup="30s") for cc in ("wvegas", OURS)
    )
    for path in "ab":
        subflow = measured.sender(path)
        cwnd = subflow["cwnd"][subflow["time_ns"] > measured.start_ns + 30e9].astype(int)
        # The window that needs no queue, of 84 segments, is halved when a queue of up to 5 is twice
        # as long as it was. Three quarters of the one before come back by slow start.
        assert cwnd.min() <= 0.55 * cwnd.max()
        assert np.count_nonzero(np.diff(cwnd) < -0.3 * cwnd[:-1]) >= 2
    # which is why: with three quarters of a window, and a segment a round trip from there
    assert measured.goodput_bps < 0.95 * better.goodput_bps
