# SPDX-License-Identifier: GPL-2.0-only
"""Runs with qaware: other traffic of the client fills the queue of one of its devices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.vocabulary import Run, RunScenario

# One way: 10 and 20 ms. A device of 20 Mbit/s sends 2500 bytes per ms, and its queue holds
# 300 x 1514 bytes, 182 ms of that.
BEGIN_MS, END_MS = 3000, 4000
CROSS = "3s:near:change,up.cross=40mbit,lasts=1s"
# A block of 8 KB each 6.4 ms: 10 Mbit/s.
LOAD = "cbr:size=8KB,rate=10mbit,duration=8s,warmup=0s"
BLOCK_MS = 6.4


def run(run_scenario: RunScenario, scheduler: str, discipline: str, where: str = "host") -> Run:
    rest = f"queue=300,queue_discipline={discipline},up.bottleneck={where}"
    paths = (f"near:20mbit,10ms,{rest}", f"far:20mbit,20ms,{rest}")
    return run_scenario(*paths, scheduler=scheduler, workload=LOAD, event=(CROSS,), decisions=True)


def sent_ms(run: Run, path: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """When new segments went to a path, after the start."""
    decisions = run.decisions()
    subflow = 1 + [each.name for each in run.scenario.paths].index(path)
    new = decisions[(decisions["kind"] == 1) & (decisions["subflow"] == subflow)]
    times: np.ndarray[tuple[int], np.dtype[np.float64]] = (new["time_ns"] - run.start_ns) / 1e6
    return times


def leaves_ms(run: Run) -> float:
    """When the first segment goes to the far path, after the other traffic has begun."""
    far = sent_ms(run, "far")
    return float(far[far >= BEGIN_MS][0]) - BEGIN_MS


@pytest.mark.parametrize("discipline", ["netem", "droptail", "codel"])
def test_it_leaves_a_device_whose_queue_others_fill_sooner_than_minrtt(
    run_scenario: RunScenario, discipline: str
) -> None:
    ours = run(run_scenario, "qaware", discipline)
    minrtt = run(run_scenario, "minrtt", discipline)
    # The far path is better with 20 - 10 ms, 25,000 bytes, before the segment. Of 40 Mbit/s, 5000
    # bytes per ms, half remain in the queue: 10 ms, and then the next block.
    left = leaves_ms(ours)
    assert left <= 10 + BLOCK_MS
    # The RTT must be 40 ms, with 20 ms, 50,000 bytes, in the queue. With the connection's own it
    # grows by 3750 bytes per ms: 13 ms, and the packet that finds it so takes 40 ms to tell of it.
    left_by_minrtt = leaves_ms(minrtt)
    assert left_by_minrtt >= 13 + 40
    # The window of the far path begins with 10 packets: until it is larger, segments go to the
    # near one, until the queue takes 40 + 20 ms, a round trip of the far path and the way there.
    # It holds 150,000 bytes after 60 ms at the latest.
    near = sent_ms(ours, "near")
    last = float(near[near < END_MS].max()) - BEGIN_MS
    assert last <= 60 + BLOCK_MS
    # At the end of the other traffic the queue is full. 25,000 bytes or less are left in it after
    # (454,200 - 25,000) / 2500 = 172 ms; twice a packet for what is being sent, and 8 more for how
    # well the rate is known: 10 x 1514 / 2500 = 6 ms.
    back = float(near[near > END_MS][0]) - END_MS
    assert back <= 172 + 6 + BLOCK_MS
    # It drains by 1250 bytes per ms with the connection's own, so that it is empty 20 ms later.
    # Then a smoothed RTT that was too long for it is forgotten, by half in each of a few RTTs.
    far = sent_ms(ours, "far")
    assert not (far > END_MS + back + 20 + 4 * 20).any()
    delays = [each.metric("delay_ms_mean") for each in (ours, minrtt)]
    print(f"{discipline}: leaves after {left:.1f} ms, minrtt after {left_by_minrtt:.1f}")
    print(f"last segment after {last:.1f} ms, back {back:.1f} ms after the end")
    print(f"delay of a block, mean: {delays[0]:.1f} and {delays[1]:.1f} ms")
    assert delays[0] <= delays[1] / 2


def test_a_queue_in_the_network_is_seen_as_late_as_with_minrtt(run_scenario: RunScenario) -> None:
    # the same as above: 13 ms until the queue is long enough, and 40 until an ACK tells of it
    assert leaves_ms(run(run_scenario, "qaware", "netem", "router")) >= 13 + 40


@pytest.mark.parametrize("where", ["router", "host"])
def test_bulk_data_fills_both_paths(run_scenario: RunScenario, where: str) -> None:
    paths = (f"a:50mbit,10ms,bottleneck={where}", f"b:50mbit,10ms,bottleneck={where}")
    ours = run_scenario(*paths, scheduler="qaware", duration="20s")
    default = run_scenario(*paths, scheduler="default", duration="20s")
    print(f"{where}: {ours.goodput_bps / default.goodput_bps:.4f} of default")
    assert ours.goodput_bps >= 0.95 * default.goodput_bps
