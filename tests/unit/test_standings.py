# SPDX-License-Identifier: GPL-2.0-only
"""The arithmetic of the leaderboard, and what its definitions say, written a second time."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mptcplab.leaderboard import standings
from mptcplab.leaderboard.standings import Against, Board, Estimate, Played


def played(
    number: int,
    merits: Mapping[str, float | None],
    *,
    is_goodput: bool = True,
    is_absolute: bool = False,
    tcp: float | None = None,
    levels: Mapping[str, str] | None = None,
) -> Played:
    return Played(
        number=number,
        is_goodput=is_goodput,
        is_absolute=is_absolute,
        levels=levels or {"loss": "none"},
        text=f"scenario {number}",
        unit="bit/s",
        figures=merits,
        merits=merits,
        tcp=tcp,
        keys={name: f"{name}{number}" for name in merits},
    )


def ranked(scenarios: Sequence[Played], catalogue: Sequence[str] = ("default", "a", "b")) -> Board:
    found = standings.board(scenarios, catalogue)
    assert found
    return found


def values(own: Sequence[Estimate] | None) -> list[float]:
    """The median and the tail of goodput or delay."""
    assert own
    return [each.value for each in own]


def beside(own: Against | None) -> tuple[int, int, float, int]:
    """Of how many scenarios it is below another in how many; the lowest part, and where it is."""
    assert own
    return own.scenarios, own.below, own.worst, own.where


#: Goodput in Mbit/s, and promptness, in 1 / ms.
BY_HAND = [
    played(1, {"default": 40, "a": 50, "b": 25, "mine": 60}, tcp=50),
    played(2, {"default": 100, "a": 80, "b": 100, "mine": 50}, tcp=80),
    played(3, {"default": 1 / 20, "a": 1 / 10, "b": 1 / 40, "mine": 1 / 5}, is_goodput=False),
    played(4, {"default": 1 / 30, "a": 1 / 60, "b": 1 / 30, "mine": None}, is_goodput=False),
]


def test_scores_are_mean_parts_of_the_best_of_the_catalogue() -> None:
    board = ranked(BY_HAND)
    # the best: 50, 100, 10 ms, 30 ms; mine is better in two of them, and counts as 1 there
    expected = {
        "default": (40 / 50 + 1 + 10 / 20 + 1) / 4,
        "a": (1 + 80 / 100 + 1 + 30 / 60) / 4,
        "b": (25 / 50 + 1 + 10 / 40 + 1) / 4,
        "mine": (1 + 50 / 100 + 1 + 0) / 4,
    }
    assert {each.name: each.score.value for each in board.standings} == pytest.approx(expected)
    # equal scores share a place, in the order of their names
    assert expected["default"] == pytest.approx(expected["a"])
    assert [each.name for each in board.standings] == ["a", "default", "b", "mine"]
    assert [each.place for each in board.standings] == [1, 1, 3, 4]
    assert board.left_out == []


def test_goodput_and_delay_are_in_those_of_the_best() -> None:
    board = ranked(BY_HAND)
    mine = board.standing("mine")
    # 60 / 50 and 50 / 100; half the delay of the best, and the one of a failed run
    assert values(mine.goodput) == pytest.approx([(1.2 + 0.5) / 2, 0.5 + 0.05 * 0.7])
    assert values(mine.delay) == pytest.approx([(0.5 + 100) / 2, 0.5 + 0.95 * 99.5])
    assert mine.failed == 1
    assert board.standing("a").failed == 0


def test_below_default_and_below_tcp_are_counted_with_the_worst() -> None:
    board = ranked(BY_HAND)
    mine, a, default = (board.standing(name) for name in ("mine", "a", "default"))
    # of default: 60/40, 50/100, 20/5, 0
    assert beside(mine.default) == (4, 2, 0, 4)
    # 50/40, 80/100, 20/10, 30/60
    assert beside(a.default) == pytest.approx((4, 2, 0.5, 4))
    assert beside(default.default) == (4, 0, 1, 1)
    # TCP was asked for in two
    assert beside(mine.tcp) == pytest.approx((2, 1, 50 / 80, 2))
    assert beside(default.tcp) == pytest.approx((2, 1, 40 / 50, 1))


@pytest.mark.parametrize(
    ("mine", "name", "holds"),
    [
        # of 100 scenarios of each kind all but some are the best's
        ({}, "goodput", True),
        ({"goodput": (0.969, 60)}, "goodput", False),
        ({"goodput": (0.97, 60)}, "goodput", True),
        ({"goodput": (0.89, 3)}, "goodput", True),
        ({"goodput": (0.89, 7)}, "goodput", False),
        ({"delay": (1 / 1.11, 60)}, "delay", False),
        ({"delay": (1 / 1.09, 60)}, "delay", True),
        ({"delay": (1 / 1.6, 3)}, "delay", True),
        ({"delay": (1 / 1.6, 7)}, "delay", False),
        ({"delay": (0.951, 1)}, "default", True),
        ({"delay": (0.949, 1)}, "default", False),
        ({"goodput": (0.951, 1)}, "tcp", True),
        ({"goodput": (0.949, 1)}, "tcp", False),
    ],
)
def test_the_promises(mine: dict[str, tuple[float, int]], name: str, holds: bool) -> None:
    scenarios: list[Played] = []
    for kind in ("goodput", "delay"):
        part, count = mine.get(kind, (1.0, 0))
        for number in range(100):
            merits = {"default": 8.0, "mine": 8 * (part if number < count else 1)}
            tcp = 8.0 if kind == "goodput" else None
            is_goodput = kind == "goodput"
            scenarios.append(played(len(scenarios), merits, is_goodput=is_goodput, tcp=tcp))
    assert ranked(scenarios, ["default"]).standing("mine").holds[name] == holds


def test_who_knows_the_best_of_each_scenario_is_a_limit_with_redundant_and_without() -> None:
    names = ("default", "a", "redundant")
    figures = [(40.0, 50.0, 10.0, 60.0), (90.0, 80.0, 100.0, 92.0), (30.0, 20.0, 10.0, None)]
    scenarios = [
        played(number, dict(zip(names, own, strict=True)), tcp=tcp)
        for number, (*own, tcp) in enumerate(figures, 1)
    ]
    delays = {"default": 1 / 50, "a": 1 / 40, "redundant": 1 / 16}
    scenarios.append(played(4, delays, is_goodput=False))
    every, without = ranked(scenarios, names).limits
    assert (every.name, without.name) == ("any of the catalogue", "any but redundant")
    # it is the best; TCP has 60 where it has 50, and 92 where it has 100
    assert [*values(every.goodput), *values(every.delay)] == [1, 1, 1, 1]
    assert beside(every.tcp) == pytest.approx((2, 1, 50 / 60, 1))
    assert every.holds == {"goodput": True, "delay": True, "default": True, "tcp": False}
    # 50 / 50, 90 / 100, 30 / 30: the 5th percentile is at a tenth of the way from 0.9 to 1
    assert values(without.goodput) == pytest.approx([1, 0.91])
    # 40 ms instead of 16
    assert values(without.delay) == pytest.approx([2.5, 2.5])
    # of default: 50 / 40, 90 / 90, 30 / 30, 50 / 40; of TCP 50 / 60, and 90 / 92, which is enough
    assert beside(without.default) == (4, 0, 1, 2)
    assert beside(without.tcp) == pytest.approx((2, 1, 50 / 60, 1))
    assert without.holds == {"goodput": True, "delay": False, "default": True, "tcp": False}
    # one that is not in the catalogue is no limit, and without `redundant` there is one
    mine = [
        replace(each, merits=more, figures=more)
        for each in scenarios
        for more in [{**each.merits, "mine": 1e9}]
    ]
    assert ranked(mine, names).limits == [every, without]
    assert [each.name for each in ranked(BY_HAND).limits] == ["any of the catalogue"]


def test_chance_is_what_one_run_lacks_of_the_best_of_its_own() -> None:
    def again(number: int, runs: Sequence[float | None], *, is_share: bool = False) -> Played:
        own, *further = runs
        merits = {"default": 1e9, "a": own}
        one = played(number, merits, is_goodput=not is_share, is_absolute=is_share)
        return replace(one, further={"a": further})

    scenarios = [
        again(1, [50, 100, 80]),
        again(2, [100, 20, 60]),
        again(3, [None, None, None]),
        again(4, [0.7, 0.9, None], is_share=True),
    ]
    _, chance = ranked(scenarios, ["default"]).limits
    assert chance.name == "a, one of 3 runs"
    # beside 100, 100, and nothing each run has (0.5, 1, 1), (1, 0.2, 1), (0.8, 0.6, 1)
    # the 5th percentile is at a tenth of the way from the least of three to the next
    median, tail = (1 + 1 + 0.8) / 3, (0.55 + 0.28 + 0.62) / 3
    assert values(chance.goodput) == pytest.approx([median, tail])
    # a share of 0.7 beside 0.9, 0.9, and a run that failed
    expected = (1 / 0.8 + 1 + 100) / 3
    assert values(chance.delay) == pytest.approx([expected, expected])
    assert (chance.default, chance.tcp) == (None, None)
    assert chance.holds == {"goodput": False, "delay": False}
    # the interval is of scenarios: in 7 of 27 resamples at least two of three are the second, and
    # in as many the third
    assert chance.goodput
    assert chance.goodput[0].low == pytest.approx((1 + 0.2 + 0.6) / 3)
    assert chance.goodput[0].high == 1


def test_default_is_compared_with_itself_with_another_seed() -> None:
    scenarios = [
        replace(played(1, {"default": 50}), further={"default": [40, 50]}),
        replace(played(2, {"default": 50}), further={"default": [48, 20]}),
        replace(played(3, {"default": 50}), further={"default": [90, 10]}),
    ]
    _, chance = ranked(scenarios, ["default"]).limits
    # 40, 48 and 90 of 50, with the next seed
    assert beside(chance.default) == pytest.approx((3, 1, 40 / 50, 1))
    assert not chance.holds["default"]


def test_without_scenarios_of_a_kind_nothing_is_said_of_it() -> None:
    (only,) = ranked([played(1, {"default": 1.0}, is_goodput=False)], ["default"]).standings
    assert (only.goodput, only.tcp) == (None, None)
    assert only.holds == {"delay": True, "default": True}
    assert (only.score.low, only.score.high) == (None, None)


def test_where_all_failed_nobody_is_judged_and_where_default_failed_nobody_is_below_it() -> None:
    dead = played(5, dict.fromkeys(("default", "a", "b", "mine")))
    board = ranked([*BY_HAND, dead])
    assert board.left_out == [5]
    assert board.standings == ranked(BY_HAND).standings
    # only what is not in the catalogue ran: there is no best
    alone = played(6, {"default": None, "a": None, "b": None, "mine": 7.0})
    assert ranked([*BY_HAND, alone]).left_out == [6]
    assert standings.board([dead], ["default", "a", "b"]) is None
    fallen = played(7, {"default": None, "a": 1.0, "b": None, "mine": 1.0})
    found = ranked([fallen])
    below = [beside(found.standing(name).default)[1] for name in ("default", "b", "mine")]
    assert below == [0, 0, 0]
    assert [each.place for each in found.standings] == [1, 1, 3, 3]


def test_of_small_shares_the_difference_counts() -> None:
    # 2 % and none of all frames in time are nearly the same; none and 90 % are not
    late = played(1, {"default": 0.02, "a": 0.0}, is_goodput=False, is_absolute=True)
    early = played(2, {"default": 0.9, "a": 0.0}, is_goodput=False, is_absolute=True)
    never = played(3, {"default": 0.0, "a": 0.0}, is_goodput=False, is_absolute=True)
    board = ranked([late, early, never], ["default", "a"])
    a = board.standing("a")
    assert a.score.value == pytest.approx((0.98 + 0.1 + 1) / 3)
    assert beside(a.default) == pytest.approx((3, 1, 0.1, 2))
    assert a.failed == 0
    assert values(a.delay)[0] == pytest.approx(1 / 0.98)
    assert board.left_out == []
    # what fails has nothing, also there
    failed = played(1, {"default": 0.02, "a": None}, is_goodput=False, is_absolute=True)
    assert ranked([failed], ["default", "a"]).standing("a").score.value == 0


def test_intervals_are_of_resampled_scenarios() -> None:
    draw = random.Random(1)
    scenarios = [
        played(n, {"default": 1.0, "a": draw.uniform(0.6, 0.8), "b": draw.uniform(0.55, 0.85)})
        for n in range(80)
    ]
    board = ranked(scenarios)
    a, b = board.standing("a"), board.standing("b")
    for each, width in ((a, 0.2), (b, 0.3)):
        low, high = each.score.low, each.score.high
        assert low is not None
        assert high is not None
        # a mean of 80 uniform numbers: +-1.96 standard errors
        expected = 2 * 1.96 * width / math.sqrt(12 * 80)
        assert high - low == pytest.approx(expected, rel=0.25)
        assert low < each.score.value < high
    assert board.standing("default").places == (1, 1)
    assert a.places == b.places == (2, 3)
    assert ranked(scenarios).standings == board.standings  # nothing is random


def test_neighbours_are_compared_on_the_same_scenarios() -> None:
    scenarios = [
        played(n, {"default": 100.0 + n, "a": 99.0 + n, "b": 50.0 + n % 3}) for n in range(30)
    ]
    scenarios[0] = played(0, {"default": 100.0, "a": 100.0, "b": 80.0})
    first, second = ranked(scenarios).neighbours
    assert (first.first, first.second, second.second) == ("default", "a", "b")
    assert (first.higher, first.lower, first.same) == (29, 0, 1)
    parts = [0.0, *(1 / (100 + n) for n in range(1, 30))]
    assert first.ahead.value == pytest.approx(statistics.fmean(parts))
    assert first.ahead.low is not None
    assert first.ahead.low > 0
    # 29 differences of one sign: 2 / 2^29, twice as much for two pairs at most
    assert first.p == pytest.approx(2 / 2**29, rel=1)
    tied = ranked([played(n, {"default": 1.0, "a": 1.0}) for n in range(5)], ["default", "a"])
    (pair,) = tied.neighbours
    assert (pair.higher, pair.lower, pair.same, pair.p) == (0, 0, 5, 1)
    assert [each.place for each in tied.standings] == [1, 1]


def test_where_a_scheduler_loses() -> None:
    scenarios = []
    for number in range(1, 13):
        levels = {"loss": "none" if number <= 6 else "bursts", "cc": "lia" if number == 1 else "x"}
        part = 0.9 if number <= 6 else 0.5 + number / 100
        part = 0.1 if number == 1 else part
        scenarios.append(played(number, {"default": 10.0, "a": 10 * part}, levels=levels))
    worst = ranked(scenarios, ["default", "a"]).standing("a").worst
    assert list(worst.scenarios) == [1, 7, 8, 9, 10]
    assert worst.scenarios[7] == pytest.approx(0.57)
    # the median of 7 to 12; one scenario alone is no level
    assert worst.levels.keys() == {"loss"}
    level, part = worst.levels["loss"]
    assert (level, round(part, 6)) == ("bursts", 0.595)


def by_definition(scenarios: Sequence[Played], catalogue: Sequence[str]) -> dict[str, list[float]]:
    """Score, median goodput and median delay of each, from the words of the module."""
    found = {}
    for name in scenarios[0].merits:
        parts, goodput, delay = [], [], []
        for each in scenarios:
            known = [each.merits[other] for other in catalogue]
            best = max([merit for merit in known if merit is not None], default=None)
            if best is None:
                continue
            own = each.merits[name]
            part = 0.0
            if own is not None:
                part = 1 - (best - own) if each.is_absolute else own / best
            parts.append(min(part, 1))
            if each.is_goodput:
                goodput.append(part)
            else:
                delay.append(min(1 / part, 100) if part else 100)
        found[name] = [
            sum(parts) / len(parts),
            statistics.median(goodput),
            statistics.median(delay),
        ]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_of_any_figures_the_board_is_what_is_defined(seed: int) -> None:
    draw = random.Random(seed)
    names = ["default", "a", "b", "mine"]
    scenarios = [
        played(
            number,
            {
                name: draw.choice(
                    [None, draw.random() if number % 3 == 1 else draw.lognormvariate(0, 2), 1.0]
                )
                for name in names
            },
            is_goodput=number % 3 == 0,
            is_absolute=number % 3 == 1,
        )
        for number in range(40)
    ]
    board = ranked(scenarios)
    for name, expected in by_definition(scenarios, names[:3]).items():
        own = board.standing(name)
        found = [own.score.value, values(own.goodput)[0], values(own.delay)[0]]
        assert found == pytest.approx(expected)
    scores = [each.score.value for each in board.standings]
    assert scores == sorted(scores, reverse=True)
    # whoever is not in the catalogue changes nobody else
    without = [replace(e, merits={n: e.merits[n] for n in names[:3]}) for e in scenarios]
    for each in ranked(without).standings:
        assert each.score == board.standing(each.name).score
