# SPDX-License-Identifier: GPL-2.0-only
"""Runs with daps: where delays are stable and buffers large, segments arrive almost in order."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario, ofo_bytes

PATHS = {
    "10 and 100 ms": ("near:20mbit,5ms", "far:20mbit,50ms"),
    "20 and 80 ms": ("near:20mbit,10ms", "far:10mbit,40ms"),
    "20 and 200 ms": ("near:20mbit,10ms", "far:20mbit,100ms"),
    "20 and 160 ms": ("near:10mbit,10ms", "far:20mbit,80ms"),
}
LARGE = {"send_buffer": "16MiB", "receive_buffer": "8MiB"}
OURS = "timetable"


@pytest.mark.parametrize("paths", PATHS)
def test_less_waits_out_of_order_than_with_minrtt(run_scenario: RunScenario, paths: str) -> None:
    daps, minrtt = (
        run_scenario(*PATHS[paths], scheduler=each, duration="20s", **LARGE)
        for each in (OURS, "minrtt")
    )
    print(f"out of order: {ofo_bytes(daps):.0f}, with minrtt {ofo_bytes(minrtt):.0f} bytes")
    # By the clock of the ACKs the far path's segments come when they are needed; what is left is
    # where delays or windows were not those of the schedule.
    assert ofo_bytes(daps) <= 0.6 * ofo_bytes(minrtt)
    assert daps.goodput_bps >= 0.97 * minrtt.goodput_bps
    assert daps.goodput_bps >= 0.9 * ideal_goodput_bps(daps.scenario)


@pytest.mark.parametrize("paths", PATHS)
def test_as_published_both_paths_are_used(run_scenario: RunScenario, paths: str) -> None:
    run = run_scenario(*PATHS[paths], scheduler="daps", duration="20s", **LARGE)
    shares = [path.share for path in run.figures.paths]
    print(f"{run.goodput_bps / 1e6:.1f} Mbit/s, {shares}, {ofo_bytes(run):.0f} bytes")
    # While what is queued on one path fills the buffers, the other one may have nothing to send: it
    # is no less than the faster path alone, half or two thirds of both.
    fastest = max(path.up.rate_bps for path in run.scenario.paths)
    both = sum(path.up.rate_bps for path in run.scenario.paths)
    assert run.goodput_bps >= 0.97 * fastest / both * ideal_goodput_bps(run.scenario)
    assert min(share or 0 for share in shares) >= 0.2


def test_a_little_is_left_to_the_near_path(run_scenario: RunScenario) -> None:
    # 100 KB are 71 segments: the near path has delivered them in 10 + 20 + 40 + 1 by 4 round trips
    # of 10 ms, before the first one of the far path could arrive.
    run = run_scenario("near:50mbit,5ms", "far:50mbit,60ms", scheduler=OURS, size="100KB")
    # and 71 packets of 1514 bytes at 50 Mbit/s
    assert run.metric("completion_s") <= 3 * 0.010 + 0.005 + 71 * 1514 * 8 / 50e6 + 0.010
    assert run.figures.paths[1].new_segments == 0


@pytest.mark.parametrize("scheduler", ["daps", OURS])
def test_a_path_that_dies_is_not_left_anything(
    run_scenario: RunScenario, scheduler: str, series: str
) -> None:
    run = run_scenario(
        *("near:20mbit,10ms", "far:20mbit,40ms"),
        scheduler=scheduler,
        duration="12s",
        event=("2s:near:down", "5s:near:up"),
    )
    # The timeout comes 200 ms after the RTT, twice if a probe was sent before it. From 3.5 s on the
    # far path is full. As published, 6.12 gets there in slow start, after a pause of 300 ms. 7.3
    # does not pause, and the far path loses some of what is repeated over it at once. For that its
    # window has to be more than it holds, 132 packets in 80 ms, and CUBIC keeps 0.7 of it.
    full = 0.7 if (series, scheduler) == ("7.3", "daps") else 0.95
    assert run.received_bytes("far", 5, 3.5) >= full * (1.5 * 20e6 / 8 * 1424 / 1514)


@pytest.mark.parametrize("scheduler", ["daps", OURS])
@pytest.mark.parametrize("delays", [(1, 1), (1, 25), (25, 1)])
def test_paths_of_10_and_3_mbit_are_full(
    run_scenario: RunScenario, delays: tuple[int, int], scheduler: str, series: str
) -> None:
    run = run_scenario(
        f"a:10mbit,{delays[0]}ms", f"b:3mbit,{delays[1]}ms", scheduler=scheduler, duration="12s"
    )
    print(f"{run.goodput_bps / 1e6:.2f} Mbit/s")
    # as of simult_flows.sh: 11.92 s for what both carry in 11.42
    full = 11.42 / 11.92
    if (series, scheduler, delays) == ("7.3", "daps", (25, 1)):
        # As published, what is queued on one path may leave the other one without anything: it is
        # no less than the faster path alone. How often depends on the buffers: that of the receiver
        # is 6.3 MB in 6.12, 1.3 MB in 7.3. With buffers of one size both series send the same.
        full = 0.97 * 10 / 13
    assert run.goodput_bps >= full * ideal_goodput_bps(run.scenario)
