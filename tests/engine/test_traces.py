# SPDX-License-Identifier: GPL-2.0-only
"""Paths that are as a trace says: what gets through, against what the trace would carry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mptcplab.spec import trace_file, trace_steps
from tests import made_traces
from tests.vocabulary import RunScenario

FRAME_BYTES = 1514


def check_capacity(run_scenario: RunScenario, file: Path, duration_s: int) -> None:
    """Any 10 s of a link that always has data to send, after the first 5 s, within 2 %."""
    run = run_scenario(
        # a queue that is never empty: more than the trace carries in its longest outage
        f"a:trace={file},delay=20ms,queue=2000",
        transport="tcp",
        duration=f"{duration_s}s",
        warmup="0s",
    )
    played = trace_steps.steps(trace_file.read(file), duration_ns=duration_s * 10**9)
    edges_s = np.array([*(step.at_ns for step in played), duration_s * 10**9]) / 1e9
    rates = np.array([step.rate_bps or 0 for step in played])
    carried = np.concatenate([[0.0], np.cumsum(rates * np.diff(edges_s))]) / 8
    server = run.server.subflow
    times_s = (server["time_ns"].astype(np.int64) - run.outcome.guest["start_ns"]) / 1e9
    packets = server["data_packets_in"].astype(np.int64)
    worst = 0.0
    for since_s in range(5, duration_s - 10):
        until_s = since_s + 10
        # a packet that arrives left the link 20 ms before
        arrived = np.interp([since_s + 0.02, until_s + 0.02], times_s, packets)
        capacity = np.interp([since_s, until_s], edges_s, carried)
        ratio = (arrived[1] - arrived[0]) * FRAME_BYTES / (capacity[1] - capacity[0])
        worst = max(worst, abs(ratio - 1))
    assert worst < 0.02


def test_a_link_carries_what_its_trace_does(run_scenario: RunScenario, tmp_path: Path) -> None:
    """Rates that differ by a factor of 50, an outage among them, each for 50 ms to 1 s."""
    random = np.random.default_rng(1)
    rates = random.choice([0, 1, 5, 20, 50], size=60)
    rows = [f"{at:.2f},{rate}" for at, rate in zip(np.arange(60) * 0.25, rates, strict=True)]
    file = tmp_path / "made.csv"
    file.write_text("time_s,rate_mbit\n" + "\n".join(rows) + "\n")
    check_capacity(run_scenario, file, 30)


def test_a_link_carries_what_one_with_outages_did(
    run_scenario: RunScenario, tmp_path: Path
) -> None:
    check_capacity(run_scenario, made_traces.write("made-lte.down", tmp_path), 60)


def test_a_direction_may_have_a_trace_of_its_own(run_scenario: RunScenario, tmp_path: Path) -> None:
    """1 and 3 s of 10 Mbit/s, an outage of 1 s between them, up; nothing changes down."""
    file = tmp_path / "gap.csv"
    file.write_text("time_s,rate_mbit\n0,10\n2,0\n3,10\n6,10\n")
    run = run_scenario(
        f"a:10mbit,10ms,queue=200,up.trace={file}",
        transport="tcp",
        receive_buffer="200KB",
        duration="6s",
        warmup="0s",
    )
    # what left the link at 2 s is there 10 ms later
    assert run.received_bytes("a", 1.9) > run.received_bytes("a", 1.0)
    assert run.received_bytes("a", 2.99) == run.received_bytes("a", 2.02)
    # the queue held what came: it goes on at once, and without a loss
    data_bps = 1448 / 1514 / 8
    since = run.received_bytes("a", 3.02)
    assert run.received_bytes("a", 3.07) - since == pytest.approx(0.05e7 * data_bps, abs=2 * 1448)
