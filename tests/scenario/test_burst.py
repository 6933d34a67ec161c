# SPDX-License-Identifier: GPL-2.0-only
"""Runs with burst: it does what default does, as far as segments let it."""

from __future__ import annotations

from typing import Any

import pytest

from mptcplab.metrics import records
from tests.vocabulary import Run, RunScenario, ofo_bytes

BURST_BYTES = 65428
BLOCKS: dict[str, Any] = {"workload": "cbr:size=8KB,rate=6mbit,duration=10s", "warmup": "1s"}
UNEQUAL = ("a:20mbit,10ms", "b:10mbit,40ms")


def part_of(run: Run, path: str) -> float:
    """What of all bytes this path carried."""
    end_s = (run.outcome.guest["complete_ns"] - run.start_ns) / 1e9
    carried = {each.name: run.received_bytes(each.name, end_s) for each in run.scenario.paths}
    return carried[path] / sum(carried.values())


def test_blocks_go_where_default_sends_them(run_scenario: RunScenario) -> None:
    """With little in the queues, it is the pacing rates that decide, which are the same."""
    ours = run_scenario(*UNEQUAL, scheduler="burst", **BLOCKS)
    default = run_scenario(*UNEQUAL, scheduler="default", **BLOCKS)
    minrtt = run_scenario(*UNEQUAL, scheduler="minrtt", **BLOCKS)
    print(f"on b: {part_of(ours, 'b'):.4f}, {part_of(default, 'b'):.4f}")
    assert part_of(ours, "b") == pytest.approx(part_of(default, "b"), abs=0.02)
    assert ofo_bytes(ours) == pytest.approx(ofo_bytes(default), rel=0.1)
    # what this is worth
    assert part_of(minrtt, "b") < 0.5 * part_of(default, "b")


def test_a_burst_ends(run_scenario: RunScenario) -> None:
    """Both queues are empty at the start: what is written then leaves in bursts, in turn."""
    paths = ("a:50mbit,10ms", "b:50mbit,10ms")
    run = run_scenario(*paths, scheduler="burst", size="1MB", decisions=True)
    decisions = run.decisions()
    new = decisions[decisions["kind"] == records.DECISIONS.index("new")]
    first = new[new["time_ns"] == new["time_ns"][0]]
    bursts: list[list[int]] = []
    for subflow, length in zip(first["subflow"].tolist(), first["length"].tolist(), strict=True):
        if not bursts or bursts[-1][0] != subflow:
            bursts.append([subflow, 0])
        bursts[-1][1] += length
    assert all(carried < BURST_BYTES + 1448 for _, carried in bursts)
