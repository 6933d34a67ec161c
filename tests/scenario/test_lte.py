# SPDX-License-Identifier: GPL-2.0-only
"""Runs with lte: away from a path during its handover, and back soon after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mptcplab.metrics import records
from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario

# Of the paper, with rates of our own: RTT 40 ms, and up to 20 ms in the queue.
LTE = ("first:20mbit,20ms", "second:20mbit,20ms")
HANDOVER = ("5s:second:handover,lasts=2s",)
OUTAGE = ("5s:second:down,lasts=2s",)

# What the numbers of the scheduler's events mean: see its page.
LATE, TIMEOUT, STALE, NORMAL = 1, 2, 3, 4


def goodput_bps(run: Run, since_s: float, until_s: float) -> float:
    """The rate at which the connection delivered."""
    connection = run.server.connection
    times = run.start_ns + np.array([since_s, until_s]) * 1e9
    at = np.searchsorted(connection["time_ns"], times, side="right") - 1
    first, last = connection["delivered_bytes"][at]
    return float(last - first) * 8 / (until_s - since_s)


def events(run: Run) -> list[tuple[float, int, int]]:
    """Time in seconds after the start, subflow, and number of each event of the scheduler."""
    decisions = run.decisions()
    mine = decisions[decisions["kind"] == records.DECISIONS.index("event")]
    return [
        ((int(event["time_ns"]) - run.start_ns) / 1e9, int(event["subflow"]), int(event["length"]))
        for event in mine
    ]


def detections(run: Run) -> int:
    return sum(number in (LATE, TIMEOUT) for _, _, number in events(run))


@pytest.mark.parametrize("event", [HANDOVER, OUTAGE], ids=["handover", "outage"])
def test_after_a_handover_the_path_is_back_within_a_second(
    run_scenario: RunScenario, event: tuple[str, ...]
) -> None:
    run = run_scenario(*LTE, scheduler="lte", duration="12s", event=event, decisions=True)
    former = {path: run.rate_bps(path, 3, 5) for path in ("first", "second")}
    meanwhile = run.rate_bps("first", 5, 7)
    delivered = goodput_bps(run, 5, 7)
    after = run.rate_bps("second", 8, 8.5)
    print(f"former {former}, first meanwhile {meanwhile:.0f}, second after {after:.0f}")
    print(f"delivered meanwhile {delivered:.0f}, events {events(run)}")
    assert meanwhile >= 0.9 * former["first"]
    assert delivered >= 0.9 * former["first"]
    assert after >= 0.9 * former["second"]
    # It is seen once, on that path, within two loaded RTTs (60 ms); acknowledgments that are on
    # their way back come for another 20 ms.
    assert [(subflow, number) for _, subflow, number in events(run)] == [
        (2, LATE),
        (2, STALE),
        (2, NORMAL),
    ]
    assert events(run)[0][0] - 5 <= 0.020 + 2 * 0.060


@pytest.mark.parametrize("lasts", ["1.7s", "1.8s", "1.9s", "2.1s", "2.2s"])
def test_it_does_not_hang_on_when_the_outage_ends(run_scenario: RunScenario, lasts: str) -> None:
    # TCP tries every 200 ms and an RTT of at most 60 ms, in ticks of 4 ms. What was lost, some 100
    # packets at most, takes 7 rounds of slow start at 40 ms: 0.6 s in all.
    event = (f"5s:second:down,lasts={lasts}",)
    run = run_scenario(*LTE, scheduler="lte", duration="10s", event=event)
    end_s = 5 + float(lasts[:-1])
    former = run.rate_bps("second", 3, 5)
    after = run.rate_bps("second", end_s + 0.75, end_s + 1.25)
    print(f"lasts {lasts}: second {former:.0f}, after {after:.0f}")
    assert after >= 0.9 * former


def test_without_linear_timeouts_the_path_is_found_late(run_scenario: RunScenario) -> None:
    # TCP tries 0.3, 0.8, 1.9 and 4 s after the outage begins: it is over at 2.2 s
    event = ("5s:second:down,lasts=2.2s",)
    run = run_scenario(
        *LTE, scheduler="lte:linear_timeouts=off", duration="12s", event=event, decisions=True
    )
    stale = next(time for time, _, number in events(run) if number == STALE)
    print(f"back {stale - 7.2:.2f} s after the outage")
    assert stale - 7.2 >= 1


def test_minrtt_lets_the_other_path_starve(
    run_scenario: RunScenario, series: str, request: pytest.FixtureRequest
) -> None:
    if series == "6.12":
        reason = "0.89: the send buffer grows to 2.3 MB, in 7.3 to 1.8, which is filled sooner"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    # The paper's figure 9: what is stuck on the one path fills the buffers of both.
    run = run_scenario(*LTE, scheduler="minrtt", duration="8s", event=HANDOVER)
    former, meanwhile = run.rate_bps("first", 3, 5), goodput_bps(run, 5, 7)
    print(f"minrtt: former {former:.0f}, meanwhile {meanwhile:.0f}")
    assert meanwhile <= 0.8 * former


STEADY: dict[str, dict[str, Any]] = {
    "bulk": {},
    # of 8 KiB, overhead counted, 5 segments are data: less than a window, always
    "limited by the application": {"send_buffer": "8KiB"},
    "limited by the application, in larger pieces": {"send_buffer": "128KiB"},
    # 1000 packets at 5 Mbit/s are 2.4 s
    "a queue that fills": {
        "path": ("first:20mbit,20ms,queue=1000", "second:5mbit,20ms,queue=1000")
    },
    "slow paths": {"path": ("first:1mbit,20ms", "second:2mbit,50ms")},
    "a small receive buffer": {"receive_buffer": "64KiB"},
}


@pytest.mark.parametrize("steady", STEADY)
def test_nothing_is_taken_for_a_handover_that_is_none(
    run_scenario: RunScenario, steady: str
) -> None:
    flags = dict(STEADY[steady])
    paths = flags.pop("path", LTE)
    run = run_scenario(*paths, scheduler="lte", duration="60s", decisions=True, **flags)
    assert detections(run) == 0
    if "queue" in steady:
        assert run.client.subflow["srtt_us"].max() > 500_000


def test_bulk_data_fills_both_paths(run_scenario: RunScenario) -> None:
    twins = ("a:50mbit,10ms", "b:50mbit,10ms")
    run = run_scenario(*twins, scheduler="lte", duration="20s")
    assert run.goodput_bps >= 0.97 * ideal_goodput_bps(run.scenario)
