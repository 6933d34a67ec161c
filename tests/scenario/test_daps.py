# SPDX-License-Identifier: GPL-2.0-only
"""Runs with daps: where delays are stable and buffers large, segments arrive almost in order."""

from __future__ import annotations

import pytest

from mptcplab.tools.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario, ofo_bytes

PATHS = {
    "10 and 100 ms": ("near:20mbit,5ms", "far:20mbit,50ms"),
    "20 and 80 ms": ("near:20mbit,10ms", "far:10mbit,40ms"),
    "20 and 200 ms": ("near:20mbit,10ms", "far:20mbit,100ms"),
    "20 and 160 ms": ("near:10mbit,10ms", "far:20mbit,80ms"),
}
LARGE = {"send_buffer": "16MiB", "receive_buffer": "8MiB"}


@pytest.mark.parametrize("scheduler", ["daps", "daps:ack_clocked=off"])
@pytest.mark.parametrize("paths", PATHS)
def test_less_waits_out_of_order_than_with_minrtt(
    run_scenario: RunScenario, paths: str, scheduler: str
) -> None:
    daps, minrtt = (
        run_scenario(*PATHS[paths], scheduler=each, duration="20s", **LARGE)
        for each in (scheduler, "minrtt")
    )
    print(f"out of order: {ofo_bytes(daps):.0f}, with minrtt {ofo_bytes(minrtt):.0f} bytes")
    # By the clock of the ACKs the far path's segments come when they are needed; what is left is
    # where delays or windows were not those of the schedule. A window at a time is half as good:
    # a segment comes up to half a round trip too early or too late.
    assert ofo_bytes(daps) <= (1.0 if "off" in scheduler else 0.6) * ofo_bytes(minrtt)
    assert daps.goodput_bps >= 0.97 * minrtt.goodput_bps
    assert daps.goodput_bps >= 0.9 * ideal_goodput_bps(daps.scenario)


def test_a_little_is_left_to_the_near_path(run_scenario: RunScenario) -> None:
    # 100 KB are 71 segments: the near path has delivered them in 10 + 20 + 40 + 1 by 4 round trips
    # of 10 ms, before the first one of the far path could arrive.
    run = run_scenario("near:50mbit,5ms", "far:50mbit,60ms", scheduler="daps", size="100KB")
    completion = run.figures.metrics.completion_s
    assert completion is not None
    # and 71 packets of 1514 bytes at 50 Mbit/s
    assert completion <= 3 * 0.010 + 0.005 + 71 * 1514 * 8 / 50e6 + 0.010
    assert run.figures.paths[1].new_segments == 0


def test_a_path_that_dies_is_not_left_anything(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("near:20mbit,10ms", "far:20mbit,40ms"),
        scheduler="daps",
        duration="12s",
        event=("2s:near:down", "5s:near:up"),
    )
    # The timeout comes 200 ms after the RTT, twice if a probe was sent before it. From 3.5 s on the
    # far path is full.
    assert run.received_bytes("far", 5) - run.received_bytes("far", 3.5) >= 0.95 * (
        1.5 * 20e6 / 8 * 1424 / 1514
    )
