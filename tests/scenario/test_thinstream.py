# SPDX-License-Identifier: GPL-2.0-only
"""Runs with thinstream: a stream that fills no path moves to the one that has become faster."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics import records
from mptcplab.spec import plan
from mptcplab.spec.scenario import Scenario
from tests.vocabulary import Run, RunScenario

# Round-trip times of 40 and 100 ms, and of 10 ms from 5 s on. A block of a packet each 20 ms.
PATHS = ("used:20mbit,20ms", "idle:20mbit,50ms")
STREAM = {
    "workload": "cbr:size=1KB,interval=20ms,duration=10s",
    "event": ("5s:idle:change,delay=5ms",),
    "trace": True,
}
# Of the idle path. The last probe was sent at most four of its round trips before the next one is
# due; a block may have just gone then, and 20 ms later the probe leaves with the next. It is
# acknowledged after 10 ms, and the block after that moves: 400 + 20 + 10 + 20 ms.
FIVE_ROUND_TRIPS_S = 5 * 0.100


def subflows_of_new_data(run: Run, after_s: float, until_s: float = 1e9) -> set[int]:
    """The subflows, 1, 2, ..., that new data was sent on in some seconds after the start."""
    decisions = run.decisions()
    seconds = (decisions["time_ns"].astype(np.int64) - run.start_ns) / 1e9
    new = decisions["kind"] == records.DECISIONS.index("new")
    return set(decisions["subflow"][new & (seconds >= after_s) & (seconds < until_s)].tolist())


@pytest.mark.parametrize("parameters", ["", ":redundant=off", ":owd=off"])
def test_a_stream_moves_within_five_round_trips(run_scenario: RunScenario, parameters: str) -> None:
    run = run_scenario(*PATHS, scheduler=f"thinstream{parameters}", **STREAM)
    others = {1, 2} if "redundant" in parameters else {1}
    assert subflows_of_new_data(run, 1, 5) == others, "new data is a probe only if no copy is"
    assert 2 in subflows_of_new_data(run, 5, 5 + FIVE_ROUND_TRIPS_S)
    moved = subflows_of_new_data(run, 5 + FIVE_ROUND_TRIPS_S)
    assert moved == (others if "redundant" in parameters else {2})
    assert run.figures.metrics.fallbacks == 0


def test_minrtt_stays_where_it_is(run_scenario: RunScenario) -> None:
    """What the test above is worth."""
    run = run_scenario(*PATHS, scheduler="minrtt", **STREAM)
    assert subflows_of_new_data(run, 0) == {1}


def test_packets_far_apart_stay_where_they_are(run_scenario: RunScenario) -> None:
    # Each is acknowledged at once, since it is marked (PSH): the delay to the server is 20 ms on
    # one path and 50 ms on the other all the time.
    run = run_scenario(
        *PATHS,
        scheduler="thinstream",
        workload="cbr:size=100B,interval=100ms,duration=60s",
        trace=True,
    )
    assert len(run.decisions()) >= 600
    assert subflows_of_new_data(run, 1) == {1}


# The first path is the faster one to the server, the second one there and back.
ASYMMETRIC = ("there:20mbit,5ms,down.delay=60ms", "back:20mbit,30ms,down.delay=5ms")
BLOCKS = {"workload": "cbr:size=1KB,interval=50ms,duration=5s", "trace": True}


def test_blocks_take_the_way_that_is_shorter_there(run_scenario: RunScenario) -> None:
    run = run_scenario(*ASYMMETRIC, scheduler="thinstream", **BLOCKS)
    assert subflows_of_new_data(run, 1) == {1}
    assert run.figures.metrics.fallbacks == 0
    minrtt = run_scenario(*ASYMMETRIC, scheduler="minrtt", **BLOCKS)
    assert subflows_of_new_data(minrtt, 1) == {2}


def test_delays_that_cannot_be_compared_are_counted(
    run_scenario: RunScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With random offsets, as Linux adds them to timestamps unless it is told not to."""
    render = plan.render

    def with_offsets(scenario: Scenario) -> str:
        text = render(scenario)
        assert "net.ipv4.tcp_timestamps=2" in text
        return text.replace("net.ipv4.tcp_timestamps=2", "net.ipv4.tcp_timestamps=1")

    monkeypatch.setattr(plan, "render", with_offsets)
    run = run_scenario(*ASYMMETRIC, scheduler="thinstream", **BLOCKS)
    # one decision for each of the 100 blocks, but those before both paths have a sample
    fallbacks = run.figures.metrics.fallbacks
    assert fallbacks is not None
    assert 90 <= fallbacks <= 100
    assert subflows_of_new_data(run, 1) == {2}
