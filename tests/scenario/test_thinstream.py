# SPDX-License-Identifier: GPL-2.0-only
"""Runs with thinstream: a stream that fills no path moves to the one that has become faster."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics import records
from mptcplab.plan import plan
from mptcplab.scenario.model import Scenario
from tests.vocabulary import Run, RunScenario

# Round-trip times of 40 and 100 ms, and of 10 ms from 5 s on. A block of a packet each 20 ms.
PATHS = ("used:20mbit,20ms", "idle:20mbit,50ms")
STREAM = {
    "workload": "cbr:size=1KB,interval=20ms,duration=10s",
    "event": ("5s:idle:change,delay=5ms",),
    "decisions": True,
}
# Of the idle path. The last probe was sent at most five of its round trips before the next one is
# due (four, with probe_rtts=4); a block may have just gone then, and 20 ms later the probe leaves
# with the next. It is acknowledged after 10 ms, and the block after that moves:
# 500 + 20 + 10 + 20 ms.
UNTIL_IT_MOVES_S = 0.550


def subflows_of_new_data(run: Run, after_s: float, until_s: float = 1e9) -> set[int]:
    """The subflows, 1, 2, ..., that new data was sent on in some seconds after the start."""
    decisions = run.decisions()
    seconds = (decisions["time_ns"].astype(np.int64) - run.start_ns) / 1e9
    new = decisions["kind"] == records.DECISIONS.index("new")
    return set(decisions["subflow"][new & (seconds >= after_s) & (seconds < until_s)].tolist())


@pytest.mark.parametrize(
    ("parameters", "until_s"),
    [
        ("", UNTIL_IT_MOVES_S),
        (":redundant=off", UNTIL_IT_MOVES_S),
        (":probe_rtts=4", UNTIL_IT_MOVES_S - 0.100),
        (":owd=off:latest_rtt=on", UNTIL_IT_MOVES_S),
    ],
)
def test_a_stream_moves_within_six_round_trips(
    run_scenario: RunScenario, parameters: str, until_s: float
) -> None:
    run = run_scenario(*PATHS, scheduler=f"thinstream{parameters}", **STREAM)
    others = {1, 2} if "redundant" in parameters else {1}
    assert subflows_of_new_data(run, 1, 5) == others, "new data is a probe only if no copy is"
    assert 2 in subflows_of_new_data(run, 5, 5 + until_s)
    moved = subflows_of_new_data(run, 5 + until_s)
    assert moved == (others if "redundant" in parameters else {2})
    assert run.figures.metrics.fallbacks == 0


def test_a_smoothed_round_trip_follows_slowly(run_scenario: RunScenario) -> None:
    # Each probe takes an eighth off what 100 ms are above 10: below the other path's 40 ms after
    # ln(90 / 30) / ln(8 / 7) = 8.2, nine, which follow each other after five smoothed round trips.
    # Eight such pauses are at least 5 x (8 x 10 ms + 90 ms x (1 + 7/8 + ... 7/8^7)) = 2.76 s.
    run = run_scenario(*PATHS, scheduler="thinstream:owd=off", **STREAM)
    assert subflows_of_new_data(run, 1, 7) == {1}
    assert 2 in subflows_of_new_data(run, 7, 9)


def test_probes_as_the_programs_compute_them_never_come(run_scenario: RunScenario) -> None:
    # Of 100 ms, 40000 are more than an hour.
    run = run_scenario(*PATHS, scheduler="thinstream:owd=off:probe_rtts=40000", **STREAM)
    assert subflows_of_new_data(run, 1) == {1}
    copies = run.decisions()["kind"] == records.DECISIONS.index("duplicate")
    assert copies.sum() <= 1, "the one before a path was ever used"


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
        decisions=True,
    )
    assert len(run.decisions()) >= 600
    assert subflows_of_new_data(run, 1) == {1}


# The first path is the faster one to the server, the second one there and back.
ASYMMETRIC = ("there:20mbit,5ms,down.delay=60ms", "back:20mbit,30ms,down.delay=5ms")
BLOCKS = {"workload": "cbr:size=1KB,interval=50ms,duration=5s", "decisions": True}


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
    assert 90 <= run.metric("fallbacks") <= 100
    assert subflows_of_new_data(run, 1) == {2}
