# SPDX-License-Identifier: GPL-2.0-only
"""Runs with inorder: little waits at the receiver, and a small receive buffer is enough."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario, ofo_bytes

# The setting of Yang and Amer: 0.75 MB/s of payload on each path, of which the second one can only
# queue 3 packets. docs/schedulers/inorder.md says what of this is theirs.
PAPER = (
    "deep:6.5mbit,1ms,queue=85,queue_discipline=droptail",
    "shallow:6.5mbit,1ms,queue=3,queue_discipline=droptail",
)


# As published, rounds are counted with the congestion window of now, which the short queue moves
# between 2 and 5 packets. The claims of the paper hold when it is smoothed.
SMOOTH = "inorder:smooth_cwnd=on"


def paper(run_scenario: RunScenario, scheduler: str, receive_buffer: str) -> Run:
    return run_scenario(
        *PAPER,
        scheduler=scheduler,
        receive_buffer=receive_buffer,
        cc="reno",
        duration="105s",
        warmup="20s",
    )


def test_a_small_receive_buffer_costs_no_goodput(run_scenario: RunScenario) -> None:
    large = paper(run_scenario, SMOOTH, "889KB")
    small = paper(run_scenario, SMOOTH, "177KB")
    print(f"inorder: {large.goodput_bps / 8e6:.2f} and {small.goodput_bps / 8e6:.2f} MB/s")
    assert small.goodput_bps >= 0.97 * large.goodput_bps
    assert small.figures.metrics.fallbacks == 0


@pytest.mark.parametrize("scheduler", ["minrtt", "inorder"])
def test_others_lose_goodput(run_scenario: RunScenario, scheduler: str, series: str) -> None:
    """What the test above is worth. The paper has 1.14 of 1.47 MB/s with minrtt."""
    large = paper(run_scenario, scheduler, "889KB")
    small = paper(run_scenario, scheduler, "177KB")
    print(f"{scheduler}: {large.goodput_bps / 8e6:.2f} and {small.goodput_bps / 8e6:.2f} MB/s")
    # With minrtt, 6.12 has 11.12 of 11.73 Mbit/s, 7.3 has 11.10 of 11.66: there it is only more
    # than the 3 % that the test above allows.
    at_most = 0.97 if (series, scheduler) == ("7.3", "minrtt") else 0.95
    assert small.goodput_bps < at_most * large.goodput_bps


def test_less_waits_at_the_receiver_than_with_minrtt(run_scenario: RunScenario) -> None:
    # The paper has 25 KB against 83 KB: 30 %.
    smooth = ofo_bytes(paper(run_scenario, SMOOTH, "889KB"))
    inorder = ofo_bytes(paper(run_scenario, "inorder", "889KB"))
    minrtt = ofo_bytes(paper(run_scenario, "minrtt", "889KB"))
    print(
        f"out of order: smooth {smooth / 1e3:.1f} KB, inorder {inorder / 1e3:.1f} KB, "
        f"minrtt {minrtt / 1e3:.1f} KB"
    )
    assert smooth <= 0.35 * minrtt
    assert smooth < inorder < minrtt


def test_parts_of_rounds_matter_where_paths_are_alike(run_scenario: RunScenario) -> None:
    # Half of a queue of one bandwidth-delay product is what the delay holds, so the queues take up
    # to 10 and 20 ms: with both full, the far path delivers 20 ms later than the near one, whose
    # round trip is 30 ms. No whole one fits in there.
    paths = ("near:100mbit,10ms", "far:50mbit,20ms")
    whole = run_scenario(*paths, scheduler="inorder", duration="20s")
    parts = run_scenario(*paths, scheduler="inorder:part_rounds=on", duration="20s")
    assert ofo_bytes(parts) <= 0.35 * ofo_bytes(whole)
    assert parts.goodput_bps >= 0.99 * whole.goodput_bps


def test_a_path_that_has_become_fast_is_used_again(run_scenario: RunScenario) -> None:
    # With a delay of 500 ms more than the send buffer holds is to be sent on the near path before
    # anything is due on the far one. From 10 s on it is as near as the other. At most 4 round trips
    # of 1 s later a copy of a segment tells, and then one each 80 ms, which takes an eighth off
    # what the estimate is too high by: 25 of them take 500 ms down to the 20 ms of a round trip.
    # That is at 16 s, and then the window has to grow.
    run = run_scenario(
        *("near:20mbit,10ms", "far:20mbit,10ms"),
        scheduler="inorder:measure_idle=on",
        duration="30s",
        event=("2s:far:change,delay=500ms,lasts=8s",),
    )
    late = run.received_bytes("far", 30, 20)
    assert late >= 0.9 * 10 * ideal_goodput_bps(run.scenario) / 2 / 8
