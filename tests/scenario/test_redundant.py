# SPDX-License-Identifier: GPL-2.0-only
"""Runs with redundant: every path carries everything, and the best one decides."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario

TWINS = ("a:50mbit,10ms", "b:50mbit,10ms")


def sent_bytes(run: Run) -> int:
    """Payload that all subflows sent, what TCP retransmitted included."""
    subflow = run.client.subflow
    paths = range(len(run.scenario.paths))
    return sum(int(subflow["sent_bytes"][subflow["n"] == n][-1]) for n in paths)


def longest_silence_s(run: Run) -> float:
    """The longest time in which the receiver got nothing new in order."""
    connection = run.server.connection
    progress = connection["time_ns"][1:][np.diff(connection["delivered_bytes"]) > 0]
    return float(np.diff(progress).max()) / 1e9


@pytest.mark.parametrize("loss", ["0%", "0.5%"])
def test_a_transfer_costs_at_most_twice_its_bytes(run_scenario: RunScenario, loss: str) -> None:
    # Two copies of each byte at most, and what TCP repeats: the losses, and those at the end of
    # slow start. 5 % of them is the room that is left for that.
    run = run_scenario(
        *(f"{path},loss={loss}" for path in TWINS), scheduler="redundant", size="10MB"
    )
    assert run.outcome.guest["bytes_received"] == 10_000_000
    assert 10_000_000 < sent_bytes(run) <= 2.05 * 10_000_000


@pytest.mark.parametrize(
    "paths", [TWINS, ("a:10mbit,40ms", "b:50mbit,10ms")], ids=["equal", "unequal"]
)
def test_the_goodput_is_that_of_the_best_path(
    run_scenario: RunScenario, paths: tuple[str, str]
) -> None:
    run = run_scenario(*paths, scheduler="redundant", duration="20s")
    best = 50e6 * 1424 / 1514
    assert run.goodput_bps >= 0.97 * best
    # What the other path has not repeated when it is acknowledged, it never repeats, and may carry
    # something new instead: so it is a little more. But most of what it carries are copies.
    assert run.goodput_bps < best + 0.2 * (ideal_goodput_bps(run.scenario) - best)


def test_a_path_that_fails_costs_no_time(run_scenario: RunScenario) -> None:
    # What the first path takes with it is on its way on the other one, too: a window later at the
    # most, that is a round trip (20 ms, and 42 packets in the queue at 0.24 ms). A scheduler
    # without copies has to wait for a timeout, at least 200 ms.
    flags = {"duration": "4s", "event": ("2s:a:down",), "sample_interval": "1ms", "warmup": "0s"}
    redundant = run_scenario(*TWINS, scheduler="redundant", **flags)
    roundrobin = run_scenario(*TWINS, scheduler="roundrobin", **flags)
    assert longest_silence_s(redundant) < 0.1
    assert longest_silence_s(roundrobin) > 0.2


def test_a_path_that_fails_costs_no_time_while_the_window_is_small(
    run_scenario: RunScenario,
) -> None:
    # Both subflows are there from the start, and the receive buffer has the size it begins with:
    # the window holds back what was chosen for b, a sends it and fails. As published there is no
    # copy of that, and the connection waits for a timeout, at least 200 ms. A buffer that grows by
    # itself has not grown after 100 ms in 6.12, but has 2 MB in 7.3.
    flags = {
        "size": "1MB", "event": ("100ms:a:down",), "start": "established", "sample_interval": "1ms",
        "receive_buffer": "128KB",
    }  # fmt: skip
    published = run_scenario(*TWINS, scheduler="redundant", **flags)
    ours = run_scenario(*TWINS, scheduler="redundant:copy_held=on", **flags)
    assert longest_silence_s(published) > 0.2
    assert longest_silence_s(ours) < 0.1


def test_copies_when_idle_cost_bulk_data_nothing(run_scenario: RunScenario) -> None:
    when_idle = run_scenario(*TWINS, scheduler="whenidle", duration="20s")
    assert when_idle.goodput_bps >= 0.97 * ideal_goodput_bps(when_idle.scenario)


def test_copies_when_idle_are_made_of_little_data(run_scenario: RunScenario) -> None:
    # 10 segments leave in one window, and then all of them once more on the other path.
    run = run_scenario(*TWINS, scheduler="whenidle", size="14KB")
    assert sent_bytes(run) >= 1.9 * 14_000


def test_opportunistic_copies_are_fewer_than_those_of_everything(run_scenario: RunScenario) -> None:
    # Only where there is room on both paths at once: the rest adds to the goodput.
    full, opportunistic = (
        run_scenario(*TWINS, scheduler=each, size="10MB") for each in ("redundant", "opportunistic")
    )
    print([(sent_bytes(run), run.goodput_bps) for run in (full, opportunistic)])
    assert 10_000_000 < sent_bytes(opportunistic) < sent_bytes(full)
    assert opportunistic.goodput_bps > full.goodput_bps
