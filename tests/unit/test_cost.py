# SPDX-License-Identifier: GPL-2.0-only
"""What runs are guessed to take: learnt from those that ended, right after a tenth of them."""

from __future__ import annotations

import random

import pytest

from mptcplab.runs import cost
from mptcplab.runs.cost import Costs, Size
from tests.vocabulary import scenario_of


def sizes(count: int, seed: int = 1) -> dict[str, Size]:
    """Runs of 2 to 60 s with up to 200,000 packets each."""
    drawn = random.Random(seed)
    return {
        f"{number:05}": Size(drawn.uniform(2, 60), drawn.uniform(0, 2e5)) for number in range(count)
    }


def takes(size: Size, noise: float) -> float:
    """A machine three times as slow as the prior."""
    return (1.0 + 0.01 * size.virtual_s + 8e-6 * size.packets) * noise


def test_what_is_left_is_right_after_a_tenth() -> None:
    of, drawn = sizes(2000), random.Random(2)
    seconds = {key: takes(each, drawn.lognormvariate(0, 0.15)) for key, each in of.items()}
    costs = Costs(of)
    for key in [*of][:200]:
        costs.took(key, seconds[key])
    left = [*of][200:]
    assert sum(map(costs.of, left)) == pytest.approx(sum(seconds[key] for key in left), rel=0.1)


def test_before_any_run_has_ended_larger_runs_take_longer() -> None:
    small, large = Size(2, 1e3), Size(60, 1e6)
    costs = Costs({"small": small, "large": large})
    assert 0 < costs.of("small") < costs.of("large")
    # a single run that ended is believed
    costs = Costs({"a": Size(20, 1e5), "b": Size(20, 1e5)})
    costs.took("a", 10.0)
    assert costs.of("b") == pytest.approx(10, rel=0.1)


def test_the_size_of_a_run_is_that_of_what_its_paths_carry() -> None:
    """10 + 20 Mbit/s for 10 s are 37.5 MB, in packets of 1448 bytes."""
    run = cost.size(scenario_of("a:10mbit,10ms", "b:20mbit,10ms", duration="10s"))
    assert run.packets == pytest.approx(37.5e6 / 1448)
    assert run.virtual_s == pytest.approx(12)
    sized = cost.size(scenario_of("a:10mbit,10ms", "b:20mbit,10ms", size="3MB"))
    assert sized.packets == pytest.approx(3e6 / 1448)
    assert sized.virtual_s == pytest.approx(2.8)
