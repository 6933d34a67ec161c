# SPDX-License-Identifier: GPL-2.0-only
"""Runs with roundrobin: equal shares where nothing else decides, full paths with bulk data."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario


def new_segments(run: Run, from_s: float) -> list[int]:
    """How many segments of new data each subflow got from that time on, in order of creation."""
    since_s = (run.client.subflow["time_ns"] - run.outcome.guest["start_ns"]) / 1e9
    later = run.client.subflow[since_s >= from_s]
    counts = [later["new_segments"][later["n"] == n] for n in range(len(run.scenario.paths))]
    return [int(count[-1] - count[0]) for count in counts]


@pytest.mark.parametrize("num_segments", [1, 3, 20])
def test_every_subflow_gets_as_many_segments_where_windows_do_not_limit(
    run_scenario: RunScenario, num_segments: int
) -> None:
    """Whatever the paths are like: here, the RTTs differ by a factor of 8, and the rates by 2."""
    # The small send buffer limits, not the windows: they have grown beyond it after a second, and
    # the queues are so long that nothing is ever lost. Then the subflows differ by a turn at most.
    run = run_scenario(
        *("near:50mbit,5ms,queue=1000", "middle:100mbit,20ms", "far:50mbit,40ms"),
        scheduler=f"roundrobin:num_segments={num_segments}",
        duration="10s",
        send_buffer="64KiB",
    )
    assert run.figures.metrics.retransmitted_packets == 0
    counts = new_segments(run, from_s=2)
    assert min(counts) > 1000
    assert max(counts) - min(counts) <= num_segments


def test_bulk_data_is_divided_as_the_rates_are(run_scenario: RunScenario) -> None:
    # Full windows are passed over, so that the ACKs decide: 4 to 1.
    run = run_scenario("a:40mbit,10ms", "b:10mbit,10ms", scheduler="roundrobin", duration="20s")
    assert run.goodput_bps >= 0.97 * ideal_goodput_bps(run.scenario)
    assert [path["share"] for path in run.figures.paths] == pytest.approx([0.8, 0.2], abs=0.02)


def test_without_cwnd_limited_the_slowest_path_dictates(run_scenario: RunScenario) -> None:
    # Each path carries what the slowest one can: 2 x 10 of 50 Mbit/s.
    run = run_scenario(
        *("a:40mbit,10ms", "b:10mbit,10ms"), scheduler="roundrobin:cwnd_limited=off", duration="20s"
    )
    slowest = 10e6 * 1424 / 1514
    assert 0.9 * 2 * slowest <= run.goodput_bps <= 1.01 * 2 * slowest
    assert [path["share"] for path in run.figures.paths] == pytest.approx([0.5, 0.5], abs=0.02)
