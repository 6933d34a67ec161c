# SPDX-License-Identifier: GPL-2.0-only
"""Runs with proportional: the shares are those of the rates of the paths."""

from __future__ import annotations

import pytest

from tests.scenario.test_musher import ENDS, HALF_A_STEP, NOTICED_S, PAYLOAD, THREE, share
from tests.vocabulary import RunScenario

# Measuring takes at most 25 intervals of 200 ms, in jiffies of 4 ms.
MEASURED_S = 25 * 0.204


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (("a:10mbit,1ms", "b:3mbit,1ms"), 10 / 13),
        (("a:10mbit,1ms", "b:3mbit,25ms"), 10 / 13),
        (("a:10mbit,25ms", "b:3mbit,1ms"), 10 / 13),
        (("a:100mbit,10ms", "b:50mbit,10ms"), 100 / 150),
        (("a:100mbit,10ms", "b:50mbit,20ms"), 100 / 150),
        (("a:50mbit,10ms", "b:100mbit,10ms"), 50 / 150),
        (("a:50mbit,10ms", "b:50mbit,10ms"), 1 / 2),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else "",
)
def test_measured_shares_are_those_of_the_rates_within_3_s(
    run_scenario: RunScenario, paths: tuple[str, str], expected: float
) -> None:
    run = run_scenario(*paths, scheduler="proportional", duration="21s")
    found = [share(run, "a", second, second + 2) for second in range(3, 20, 2)]
    print(f"{expected:.3f}: {min(found):.3f} to {max(found):.3f}, {run.goodput_bps / 1e6:.1f}")
    assert expected - HALF_A_STEP - ENDS <= min(found)
    assert max(found) <= expected + HALF_A_STEP + ENDS


def test_three_paths_have_each_their_share(run_scenario: RunScenario) -> None:
    run = run_scenario(*THREE, scheduler="proportional", duration="29s", seed="228")
    rates = [17.2, 2.0, 23.1]
    shares = [path.share for path in run.figures.paths]
    print(f"{run.goodput_bps / 1e6:.2f} Mbit/s, {shares}")
    assert shares == pytest.approx([rate / sum(rates) for rate in rates], abs=HALF_A_STEP)
    # Strictly by a ratio, the path of 2 Mbit/s stops all if its share is too large: with half a
    # step more than 4.7 % it is 7.2 % of all.
    most = rates[1] / sum(rates) + HALF_A_STEP
    assert run.goodput_bps >= rates[1] / most * 1e6 * PAYLOAD


@pytest.mark.parametrize(
    ("rates", "slower", "expected"),
    [((100, 50), "a:change,rate=50mbit", 1 / 2), ((50, 50), "b:change,rate=25mbit", 2 / 3)],
    ids=["the faster one", "one of two"],
)
def test_after_a_path_has_become_slower_shares_are_measured_again(
    run_scenario: RunScenario, rates: tuple[int, int], slower: str, expected: float
) -> None:
    paths = (f"a:{rates[0]}mbit,10ms", f"b:{rates[1]}mbit,10ms")
    run = run_scenario(*paths, scheduler="proportional", event=(f"13s:{slower}",), duration="20s")
    before = share(run, "a", 6, 9)
    found = [share(run, "a", 13 + n / 2, 14 + n / 2) for n in range(12)]
    good = [abs(each - expected) <= HALF_A_STEP + 2 * ENDS for each in found]
    after = next(n for n in range(len(good)) if all(good[n:])) / 2
    print(f"{before:.3f} before; {expected:.3f} is found after {after:.1f} s")
    assert before == pytest.approx(rates[0] / sum(rates), abs=HALF_A_STEP + ENDS)
    # throughput falls: that is noticed, if the spacing is over, and then measured
    assert after <= NOTICED_S + MEASURED_S


def test_a_path_that_has_become_faster_carries_more_from_the_next_time_on(
    run_scenario: RunScenario,
) -> None:
    run = run_scenario(
        *("a:50mbit,10ms", "b:50mbit,10ms"),
        scheduler="proportional",
        event=("13s:a:change,rate=100mbit",),
        duration="28s",
    )
    before, after = share(run, "a", 15, 19), share(run, "a", 26, 28)
    print(f"{before:.3f}, then {after:.3f}")
    # Nothing falls, and so nothing is noticed before the next time, at 20 s. The congestion window,
    # far from what the path carries now, grows while it is measured, and then hardly any more.
    assert before == pytest.approx(0.5, abs=ENDS)
    assert after >= 0.5 + 2 * HALF_A_STEP
