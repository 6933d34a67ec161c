# SPDX-License-Identifier: GPL-2.0-only
"""Runs with peekaboo: it learns, deploys what it has learnt, and learns anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mptcplab.metrics import records
from tests.vocabulary import Run, RunScenario

UNLIKE = ("fast:50mbit,10ms", "slow:10mbit,80ms,loss=1%")
LEARN = 200
#: What a decision of the log is of each kind.
WAIT, NEW, EVENT = (records.DECISIONS.index(kind) for kind in ("wait", "new", "event"))
SLOW = 2


def made(run_scenario: RunScenario, *params: str, **flags: Any) -> Run:
    scheduler = ":".join(("peekaboo", f"learn={LEARN}", *params))
    return run_scenario(*UNLIKE, scheduler=scheduler, duration="10s", decisions=True, **flags)


def events(run: Run) -> list[tuple[int, int]]:
    """The subflow and the number of each: a reward has one, a draw has none (0)."""
    decisions = run.decisions()
    found = decisions[decisions["kind"] == EVENT]
    return list(zip(found["subflow"].tolist(), found["length"].tolist(), strict=True))


def draws(run: Run) -> np.ndarray:
    """Their places in the log."""
    decisions = run.decisions()
    return np.flatnonzero((decisions["kind"] == EVENT) & (decisions["subflow"] == 0))


def deployed(run: Run) -> list[tuple[int, bool]]:
    """Each draw with its decision, the next record: whether it waits."""
    decisions = run.decisions()
    kinds = decisions["kind"]
    places = draws(run)
    places = places[places + 1 < len(kinds)]
    assert set(kinds[places + 1]) <= {WAIT, NEW}
    return [(int(decisions["length"][at]), bool(kinds[at + 1] == WAIT)) for at in places]


def test_chance_changes_what_it_has_learnt(run_scenario: RunScenario) -> None:
    # A wait stays one below 70, and a send becomes one from 90 on: none waits in between.
    run = made(run_scenario)
    found = deployed(run)
    numbers = [number for number, _ in found]
    print(f"{len(found)} draws, {sum(waits for _, waits in found)} waits")
    assert len(found) >= 1000
    assert set(numbers) == set(range(100))
    assert not any(waits for number, waits in found if 70 <= number < 90)
    # 1000 draws and more: their mean is 49.5, with a deviation of 28.9 / sqrt(1000) = 0.9
    assert abs(sum(numbers) / len(numbers) - 49.5) <= 5 * 0.92


def test_the_deterministic_stage_leaves_the_path_that_is_rewarded_less(
    run_scenario: RunScenario,
) -> None:
    # An ACK of the fast path comes after 20 ms and its queue, one of the slow path after 160: the
    # sum of S / T_e is larger for a wait. So all decisions are waits, and nothing new leaves on the
    # slow path.
    run = made(run_scenario, "stay_wait_percent=100", "stay_send_percent=100")
    decisions = run.decisions()
    later = decisions[draws(run)[0] :]
    new = later[later["kind"] == NEW]
    print(f"{len(new)} new segments, {(new['subflow'] == SLOW).sum()} on the slow path")
    assert len(new) >= 1000
    assert all(waits for _, waits in deployed(run))
    assert not (new["subflow"] == SLOW).any()


def test_it_learns_again(run_scenario: RunScenario) -> None:
    # Learning ends with the reward that is the 200th of the arm that has fewer; then 300 draws.
    found = events(made(run_scenario, "relearn=300"))
    rounds = 0
    while found:
        rewards = next((at for at, (subflow, _) in enumerate(found) if not subflow), len(found))
        of_arms = [
            [length for subflow, length in found[:rewards] if subflow == arm] for arm in (1, 2)
        ]
        print([len(rewards) for rewards in of_arms], [np.median(rewards) for rewards in of_arms])
        drawn = found[rewards : rewards + 300]
        found = found[rewards + 300 :]
        if not found:
            break
        rounds += 1
        assert min(map(len, of_arms)) == LEARN
        assert all(subflow == 0 and length < 100 for subflow, length in drawn)
    assert rounds >= 2


def test_a_wait_for_the_fast_path_is_rewarded_more(run_scenario: RunScenario) -> None:
    # The own packet: 1448 bytes in 20 ms, and the fast path's queue of at most 100 packets, 24 ms;
    # at least 160 ms over the slow path.
    found = events(made(run_scenario, "own_packet=on"))
    waits, sends = ([length for subflow, length in found if subflow == arm] for arm in (1, 2))
    print(len(waits), np.percentile(waits, [5, 50, 95]), len(sends), max(sends))
    assert max(sends) <= 1448 * 2**32 / 160e6
    assert np.median(waits) >= 1448 * 2**32 / 44e6


@pytest.mark.parametrize("params", [(), ("own_packet=on",)])
def test_the_same_seed_makes_the_same_draws(
    run_scenario: RunScenario, params: tuple[str, ...]
) -> None:
    one, other = (made(run_scenario, *params).decisions() for _ in range(2))
    assert len(one) > LEARN
    assert (one == other).all()


def test_every_byte_arrives_while_paths_fail(run_scenario: RunScenario) -> None:
    # 10 Mbit/s and more for 7 of 10 s; half of that is for timeouts and slow starts
    run = made(run_scenario, "relearn=100", event=("2s:fast:down", "5s:fast:up", "6s:slow:close"))
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    assert run.metric("forced_picks") == 0
    assert run.goodput_bps >= 3.5e6
