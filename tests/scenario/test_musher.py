# SPDX-License-Identifier: GPL-2.0-only
"""Runs with musher: the ratio of segments becomes that of the rates, and is kept."""

from __future__ import annotations

import pytest

from tests.vocabulary import Run, RunScenario

STEP = 0.05
# A search measures a ratio for two intervals of 200 ms, and for one more where throughput rises in
# it by more than half a step. In a search from 50 to 66.7 % that is the first ratio (which waits
# for the end of slow start: up to 8 intervals), 4 or 5 steps, and 2 half ones: 8 + 7 x 3 = 29
# intervals, 6 s, at most. To find out that it is time for it takes 5 to 10 intervals more: 2 s.
SEARCH_S = 6
NOTICE_S = 2
# From one search to the next, if nothing else tells.
PERIOD_S = 10


def share(run: Run, path: str, begin_s: float, end_s: float) -> float:
    """The part of what arrived within a time that came over a path."""
    arrived = {
        each.name: run.received_bytes(each.name, end_s) - run.received_bytes(each.name, begin_s)
        for each in run.scenario.paths
    }
    return arrived[path] / sum(arrived.values())


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (("a:100mbit,10ms", "b:50mbit,10ms"), 100 / 150),
        (("a:100mbit,10ms", "b:50mbit,20ms"), 100 / 150),
        (("a:50mbit,10ms", "b:100mbit,10ms"), 50 / 150),
        (("a:50mbit,10ms", "b:50mbit,10ms"), 1 / 2),
    ],
    ids=["100+50", "100+50, 10 and 20 ms", "50+100", "50+50"],
)
def test_the_ratio_becomes_that_of_the_rates_and_is_kept(
    run_scenario: RunScenario, paths: tuple[str, str], expected: float
) -> None:
    run = run_scenario(*paths, scheduler="musher:period_ms=0", duration="30s")
    found = [share(run, "a", second, second + 2) for second in range(SEARCH_S, 30, 2)]
    print(f"{expected:.3f}: {min(found):.3f} to {max(found):.3f}, {run.goodput_bps / 1e6:.1f}")
    # 1 % for what is on its way at the ends of 2 s, about a round trip
    assert expected - STEP - 0.01 <= min(found) <= max(found) <= expected + STEP + 0.01


def test_what_a_ratio_is_worth(run_scenario: RunScenario) -> None:
    """Strictly half of the segments each is what twice the slower path carries."""
    paths = ("a:100mbit,10ms", "b:50mbit,10ms")
    half = run_scenario(*paths, scheduler="musher:search=off", duration="20s")
    third = run_scenario(*paths, scheduler="musher:search=off:ratio=667", duration="20s")
    assert half.figures.paths[0].share == pytest.approx(0.5, abs=0.01)
    assert half.goodput_bps <= 100e6 * 1424 / 1514
    assert third.figures.paths[0].share == pytest.approx(0.667, abs=0.01)
    assert third.goodput_bps >= 1.3 * half.goodput_bps


@pytest.mark.parametrize(
    ("rates", "event", "expected", "within_s"),
    [
        # throughput falls: it is noticed
        ((100, 50), "10s:a:change,rate=50mbit", 1 / 2, NOTICE_S + SEARCH_S),
        ((50, 50), "10s:b:change,rate=25mbit", 2 / 3, NOTICE_S + SEARCH_S),
        # nothing falls: the next search finds it
        ((50, 50), "10s:a:change,rate=100mbit", 2 / 3, PERIOD_S + SEARCH_S),
    ],
    ids=["the faster one slower", "one of two slower", "one of two faster"],
)
def test_after_a_rate_has_changed_the_ratio_is_found_again(
    run_scenario: RunScenario,
    rates: tuple[int, int],
    event: str,
    expected: float,
    within_s: int,
) -> None:
    paths = (f"a:{rates[0]}mbit,10ms", f"b:{rates[1]}mbit,10ms")
    run = run_scenario(*paths, scheduler="musher", event=(event,), duration="32s")
    before = share(run, "a", 8, 10)
    halves = [10 + n / 2 for n in range(43)]
    good = [abs(share(run, "a", at, at + 1) - expected) <= STEP + 0.01 for at in halves]
    after = next(n for n in range(len(good)) if all(good[n : n + 4])) / 2
    print(f"{before:.3f} before; {expected:.3f} is found after {after:.1f} s")
    assert before == pytest.approx(rates[0] / sum(rates), abs=STEP + 0.01)
    assert after <= within_s
    assert share(run, "a", 10 + within_s, 12 + within_s) == pytest.approx(expected, abs=STEP + 0.01)


def test_bulk_data_over_two_equal_paths(run_scenario: RunScenario) -> None:
    paths = ("a:50mbit,10ms", "b:50mbit,10ms")
    ours = run_scenario(*paths, scheduler="musher", duration="20s")
    default = run_scenario(*paths, scheduler="default", duration="20s")
    print(f"{ours.goodput_bps / default.goodput_bps:.4f} of default")
    assert ours.goodput_bps >= 0.95 * default.goodput_bps


def test_all_goes_on_when_a_path_dies(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("a:50mbit,10ms", "b:50mbit,10ms"),
        scheduler="musher",
        duration="12s",
        event=("4s:a:down", "8s:a:up"),
    )
    # The timeout comes 200 ms after the RTT of at most 40 ms. Path b then has all to itself.
    alone = run.received_bytes("b", 8) - run.received_bytes("b", 5)
    assert alone >= 0.9 * 3 * 50e6 / 8 * 1424 / 1514
