# SPDX-License-Identifier: GPL-2.0-only
"""What runs are guessed to take: learnt from those that ended, right after a tenth of them."""

from __future__ import annotations

import heapq
import random

import pytest

from mptcplab.runs import cost
from mptcplab.runs.cost import Costs, Left, Size
from tests.vocabulary import scenario_of


def sizes(count: int, seed: int = 1) -> dict[str, Size]:
    """Runs of 2 to 60 s with up to 200,000 packets each, of five schedulers."""
    drawn = random.Random(seed)
    return {
        f"{number:05}": Size(drawn.uniform(2, 60), drawn.uniform(0, 2e5), drawn.randrange(5))
        for number in range(count)
    }


def takes(size: Size, noise: float) -> float:
    """A machine three times as slow as the prior, on which schedulers differ by up to 80 %."""
    assert isinstance(size.group, int)
    return (1.0 + 0.01 * size.virtual_s + 8e-6 * size.packets) * (1 + 0.2 * size.group) * noise


def sweep(count: int, jobs: int, share: float) -> tuple[float, float]:
    """Make runs that take what `takes` says; what was said to be left when a share of the runs had
    ended, and what was."""
    of, drawn = sizes(count), random.Random(2)
    seconds = {key: takes(each, drawn.lognormvariate(0, 0.15)) for key, each in of.items()}
    costs = Costs(of)
    order = cost.in_order(list(of), costs)
    left = Left(costs, jobs, dict.fromkeys(order))
    under_way: list[tuple[float, str]] = []
    coming, now = iter(order), 0.0
    said = (0.0, 0.0)
    for ended in range(count + 1):
        while len(under_way) < jobs and (key := next(coming, None)):
            heapq.heappush(under_way, (now + seconds[key], key))
            left.began(key, now)
        if ended == int(count * share):
            said = (left.seconds(now), now)
        if under_way:
            now, key = heapq.heappop(under_way)
            left.ended(key, seconds[key])
    assert left.seconds(now) == 0
    return said[0], now - said[1]


@pytest.mark.parametrize(("count", "jobs"), [(100, 1), (200, 2), (2000, 8), (2000, 64)])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7])
def test_the_time_left_is_right_after_a_tenth(count: int, jobs: int, share: float) -> None:
    said, was = sweep(count, jobs, share)
    assert said == pytest.approx(was, rel=0.2)


def test_before_any_run_has_ended_larger_runs_take_longer() -> None:
    small, large = Size(2, 1e3), Size(60, 1e6)
    costs = Costs({"small": small, "large": large})
    assert 0 < costs.of("small") < costs.of("large")
    # a single run that ended is believed
    costs = Costs({"a": Size(20, 1e5), "b": Size(20, 1e5)})
    costs.took("a", 10.0)
    assert costs.of("b") == pytest.approx(10, rel=0.1)


def test_longest_first_with_some_of_all_lengths_before() -> None:
    of = {key: Size(20, number * 1e4) for number, key in enumerate(sizes(100))}
    costs = Costs(of)
    order = cost.in_order(list(of), costs)
    assert sorted(order) == sorted(of)
    packets = [of[key].packets / 1e4 for key in order]
    assert packets[:5] == [89, 69, 49, 29, 9]
    assert packets[5:] == sorted(packets[5:], reverse=True)
    assert cost.in_order([], costs) == []


def test_a_run_that_failed_says_nothing() -> None:
    left = Left(Costs(sizes(2)), 1, dict.fromkeys(sizes(2)))
    before = left.costs.of("00001")
    left.began("00000", 0)
    left.ended("00000", 0)
    assert left.costs.of("00001") == before
    assert left.seconds(5) == pytest.approx(before)


def test_the_size_of_a_run_is_that_of_what_its_paths_carry() -> None:
    """10 + 20 Mbit/s for 10 s are 37.5 MB, in packets of 1448 bytes."""
    run = cost.size(scenario_of("a:10mbit,10ms", "b:20mbit,10ms", duration="10s"))
    assert run.packets == pytest.approx(37.5e6 / 1448)
    assert run.virtual_s == pytest.approx(12)
    sized = cost.size(scenario_of("a:10mbit,10ms", "b:20mbit,10ms", size="3MB"))
    assert sized.packets == pytest.approx(3e6 / 1448)
    assert sized.virtual_s == pytest.approx(2.8)
