# SPDX-License-Identifier: GPL-2.0-only
"""Runs with blest: it keeps the window free for the fast path, and does not stall for it."""

from __future__ import annotations

import pytest

from tests.vocabulary import Run, RunScenario

# RTTs of 20 and 200 ms
FAST, SLOW = "fast:20mbit,10ms", "slow:20mbit,100ms"


def goodput_between(run: Run, start_s: float, end_s: float) -> float:
    """Bits per second that arrived in order in this part of the run."""
    connection = run.server.connection
    since_start_s = (connection["time_ns"] - run.outcome.guest["start_ns"]) / 1e9
    part = connection["delivered_bytes"][(since_start_s >= start_s) & (since_start_s <= end_s)]
    return 8 * float(part[-1] - part[0]) / (end_s - start_s)


@pytest.mark.parametrize(
    "paths",
    [("a:100mbit,10ms", "b:50mbit,20ms"), ("a:50mbit,10ms", "b:50mbit,10ms")],
    ids=["100+50", "50+50"],
)
def test_bulk_data_fills_both_paths(run_scenario: RunScenario, paths: tuple[str, str]) -> None:
    # The window of 6 MB is many times what both paths hold: nothing is held back.
    blest = run_scenario(*paths, scheduler="blest", duration="20s")
    default = run_scenario(*paths, scheduler="default", duration="20s")
    assert blest.goodput_bps >= 0.97 * default.goodput_bps
