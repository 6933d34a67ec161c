# SPDX-License-Identifier: GPL-2.0-only
"""Runs with ols: how much is sent twice, and that it learns what pays."""

from __future__ import annotations

import pytest

from mptcplab.metrics import records
from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario

TWINS = ("a:50mbit,10ms", "b:50mbit,10ms")
ALL, HALF, NONE = 1, 2, 3


def arms(run: Run) -> list[int]:
    """Of the intervals, the second and all later ones; the first sends everything twice."""
    decisions = run.decisions()
    events = decisions["kind"] == records.DECISIONS.index("event")
    return [int(arm) for arm in decisions["length"][events]]


def test_what_is_sent_twice_costs_as_much(run_scenario: RunScenario) -> None:
    # Half of a path's segments are such as the other one sends: of all, 1 - 1/2 x 1/2 are new, or
    # more, where there is nothing to send twice.
    new = {NONE: (0.97, 1.0), HALF: (0.70, 0.97), ALL: (0.47, 0.53)}
    for arm, (least, most) in new.items():
        run = run_scenario(*TWINS, scheduler=f"ols:arm={arm}", duration="5s")
        print(f"arm {arm}: {run.goodput_bps:.0f} bit/s")
        ideal = ideal_goodput_bps(run.scenario)
        assert least * ideal <= run.goodput_bps <= most * ideal


def test_it_learns_that_copies_do_not_pay(run_scenario: RunScenario) -> None:
    run = run_scenario(*TWINS, scheduler="ols", duration="20s", decisions=True)
    tried = arms(run)
    counts = {arm: tried.count(arm) for arm in (ALL, HALF, NONE)}
    print(f"{counts}, {run.goodput_bps:.0f} bit/s")
    # each arm once, and then what is best, with a look at the others now and then
    assert tried[:2] == [HALF, NONE]
    assert counts[NONE] > counts[HALF] > 0
    assert counts[NONE] > counts[ALL] > 0
    assert run.goodput_bps >= 0.8 * ideal_goodput_bps(run.scenario)


def test_an_arm_that_is_fixed_is_the_same_in_each_interval(run_scenario: RunScenario) -> None:
    # what is learnt goes on, but decides nothing
    run = run_scenario(*TWINS, scheduler=f"ols:arm={NONE}", duration="5s", decisions=True)
    kinds = run.decisions()["kind"]
    assert (kinds == records.DECISIONS.index("duplicate")).sum() == 0
    assert len(arms(run)) > 0


@pytest.mark.parametrize("scheduler", ["ols", "ols:monitor=off"])
def test_a_path_that_is_down_for_a_while(run_scenario: RunScenario, scheduler: str) -> None:
    event = ("3s:b:down,lasts=2s",)
    run = run_scenario(*TWINS, scheduler=scheduler, duration="10s", event=event)
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    # less than two paths for 8 s and one for 2, with everything twice
    assert run.goodput_bps >= 0.45 * ideal_goodput_bps(run.scenario)
