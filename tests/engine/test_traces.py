# SPDX-License-Identifier: GPL-2.0-only
"""Paths that are as a trace says: what gets through, against what the trace would carry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mptcplab.traces import trace_file, trace_steps
from tests.vocabulary import RunScenario

FRAME_BYTES = 1514


def test_a_link_carries_what_its_trace_does(run_scenario: RunScenario, tmp_path: Path) -> None:
    """Any 10 s of a link that always has data to send, after the first 5 s, within 2 %.

    Its rates differ by a factor of 50, an outage among them, each for 250 ms.
    """
    random = np.random.default_rng(1)
    rows = [f"{at / 4:.2f},{random.choice([0, 1, 5, 20, 50])}" for at in range(60)]
    file = tmp_path / "made.csv"
    file.write_text("time_s,rate_mbit\n" + "\n".join(rows) + "\n")
    run = run_scenario(
        # a queue that is never empty: more than the trace carries in its longest outage
        f"a:trace={file},delay=20ms,queue=2000",
        transport="tcp",
        duration="30s",
        warmup="0s",
    )
    played = trace_steps.steps(trace_file.read(file), duration_ns=30 * 10**9)
    edges_s = np.array([*(step.at_ns for step in played), 30 * 10**9]) / 1e9
    rates = np.array([step.rate_bps or 0 for step in played])
    carried = np.concatenate([[0.0], np.cumsum(rates * np.diff(edges_s))]) / 8
    server = run.server.subflow
    times_s = (server["time_ns"].astype(np.int64) - run.outcome.guest["start_ns"]) / 1e9
    packets = server["data_packets_in"].astype(np.int64)
    for since_s in range(5, 20):
        until_s = since_s + 10
        # a packet that arrives left the link 20 ms before
        arrived = np.interp([since_s + 0.02, until_s + 0.02], times_s, packets)
        capacity = np.interp([since_s, until_s], edges_s, carried)
        ratio = (arrived[1] - arrived[0]) * FRAME_BYTES / (capacity[1] - capacity[0])
        assert ratio == pytest.approx(1, abs=0.02)


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


def test_starlink_steps_are_in_the_records(run_scenario: RunScenario) -> None:
    """Before 12 s 31.9 ms each way at 9.4 Mbit/s, then 20.1 ms at 18.7 Mbit/s."""
    # A window below both bandwidth-delay products, 75 and 94 KB, so that hardly anything waits:
    # the RTT is twice the delay and at most 64 KB / 9.4 Mbit/s = 56 ms of one's own packets.
    run = run_scenario(
        "starlink-steps:loss=0%",
        transport="tcp",
        receive_buffer="64KB",
        duration="15s",
        warmup="0s",
    )
    client = run.client.subflow
    times_s = (client["time_ns"].astype(np.int64) - run.outcome.guest["start_ns"]) / 1e9
    rtt_ms = client["srtt_us"] / 1e3
    before = rtt_ms[(times_s > 8) & (times_s < 11.9)]
    after = rtt_ms[(times_s > 13.5) & (times_s < 15)]
    around = rtt_ms[(times_s > 12) & (times_s < 12.3)]
    print(f"RTT {before.min()}..{before.max()}, {around.max()}, {after.min()}..{after.max()} ms")
    # 10 ms for the packets that are sent at once; the delay of the seed is at most 0.1 ms
    assert 63.9 <= before.min() <= before.max() < 74
    assert 40.2 <= after.min() <= after.max() < 50.2
    # 20 ms more each way, for longer than a round trip of 104 ms takes to notice
    assert around.max() > before.max() + 5


@pytest.mark.parametrize(
    ("name", "duration_s", "queue", "lowest_bps", "idle_ms"),
    [("lte-bloated", 20, 512, 3.65e6, 21), ("wifi-busy", 10, 310, 6.25e6, 11)],
)
def test_the_delay_of_a_busy_path_depends_on_the_load(
    run_scenario: RunScenario,
    name: str,
    duration_s: int,
    queue: int,
    lowest_bps: float,
    idle_ms: float,
) -> None:
    run = run_scenario(name, transport="tcp", duration=f"{duration_s}s", warmup="0s")
    rtt_ms = run.client.subflow["srtt_us"] / 1e3
    rtt_ms = rtt_ms[rtt_ms > 0]
    # A full queue at the lowest rate, and the way back: 1.7 and 0.6 s. CUBIC goes down to 0.7 of
    # it after a loss; the smoothed RTT, and steps that are shorter than a queue, are allowed a
    # quarter.
    full_ms = queue * FRAME_BYTES * 8 / lowest_bps * 1e3
    print(f"{name}: RTT {rtt_ms.min()}..{rtt_ms.max()} ms, a full queue {full_ms:.0f} ms")
    assert idle_ms <= rtt_ms.min() < idle_ms + 5
    assert 0.7 * 0.75 * full_ms < rtt_ms.max() < full_ms + idle_ms
