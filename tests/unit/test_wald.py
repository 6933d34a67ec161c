# SPDX-License-Identifier: GPL-2.0-only
"""What draws decide: Wald's boundaries, its exact errors, and the value that separates draws."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from mptcplab.papers import catalogue, wald

A = Fraction(995, 5)


@cache
def by_fractions(true: int, false: int) -> bool | None:
    """Wald's test after some draws, with exact fractions instead of logarithms."""
    ratio = Fraction(9, 5) ** true * Fraction(1, 5) ** false
    return True if ratio >= A else False if ratio <= 1 / A else None


@cache
def ends(p: float) -> tuple[float, float, float]:
    """The probabilities that the test decides for true, for false, or not, over all orders."""
    open_: dict[Any, float] = {(0, 0): 1.0}
    ended: dict[Any, float] = {True: 0.0, False: 0.0}
    for _ in range(catalogue.MOST_DRAWS):
        after: dict[Any, float] = {}
        for (true, false), weight in open_.items():
            for place, share in (((true + 1, false), p), ((true, false + 1), 1 - p)):
                decided = by_fractions(*place)
                target = after if decided is None else ended
                key = place if decided is None else decided
                target[key] = target.get(key, 0.0) + weight * share
        open_ = after
    return ended[True], ended[False], sum(open_.values())


def test_the_boundaries_are_walds() -> None:
    assert [wald.decided([True] * n) for n in (9, 10)] == [None, True]
    assert [wald.decided([False] * n) for n in (3, 4)] == [None, False]
    random = np.random.default_rng(1)
    for p in (0.3, 0.5, 0.7, 0.75, 0.9):
        for draws in random.random((200, catalogue.MOST_DRAWS)) < p:
            at = (
                by_fractions(int(draws[:n].sum()), int((~draws[:n]).sum()))
                for n in range(1, catalogue.MOST_DRAWS + 1)
            )
            assert wald.decided(draws.tolist()) is next((x for x in at if x is not None), None)
    # after all draws, and not before
    for true in range(catalogue.MOST_DRAWS + 1):
        truths = [False] * (catalogue.MOST_DRAWS - true) + [True] * true
        decided = wald.decided(truths, catalogue.MOST_DRAWS)
        assert decided is (True if true >= 47 else False if true <= 41 else None)
    # the first decision stands, and what comes after the last draw is nothing
    assert wald.decided([False] * 4 + [True] * 56) is False
    undecided = [True] * 42 + [False] * 18
    assert wald.decided([*undecided, *[True] * 60], catalogue.MOST_DRAWS) is None


def test_the_errors_of_the_test_are_exactly_those_of_the_page() -> None:
    assert ends(0.5) == pytest.approx((0.003589, 0.996119, 0.000292), abs=1e-6)
    assert ends(0.9) == pytest.approx((0.997074, 0.002463, 0.000463), abs=1e-6)
    assert ends(0.75)[2] == pytest.approx(0.144, abs=0.001)
    assert ends(1.0) == (1, 0, 0)
    assert ends(0.0) == (0, 1, 0)
    # further apart it is wrong less often
    for p in np.linspace(0, 0.5, 51):
        assert ends(float(p))[0] <= ends(0.5)[0]
    for p in np.linspace(0.9, 1, 11):
        assert ends(float(p))[1] <= ends(0.9)[1]


def test_at_most_1_2_verdicts_are_wrong() -> None:
    """A wrong verdict needs a wrong decision about a formula, and each has one error at most."""
    every = (catalogue.load(name).experiment.claim for name in catalogue.names())
    tested = [claim for of in every for claim in of if claim.holds and not claim.fitted_by]
    formulas = sum(1 + bool(claim.direction) for claim in tested)
    assert (len(tested), formulas) == (114, 190)
    worst = max(ends(0.5)[0], ends(0.9)[1])
    assert formulas * worst == pytest.approx(0.682, abs=0.001)
    assert worst < wald.ERROR
    assert formulas * worst < 1.2


@pytest.mark.parametrize("p", [0.0, 0.5, 0.7, 0.9, 1.0])
def test_simulated_claims_are_as_often_wrong_as_computed(p: float) -> None:
    count = 20_000
    drawn = np.random.default_rng(7).random((count, catalogue.MOST_DRAWS)) < p
    found = [wald.decided(each) for each in drawn.tolist()]
    for decided, expected in zip((True, False, None), ends(p), strict=True):
        error = 4 * (expected * (1 - expected) / count) ** 0.5
        assert found.count(decided) / count == pytest.approx(expected, abs=error + 1e-12)


PLACES = [((7 * n % 60) / 60, 7 * n % 60) for n in range(60)]
OTHER = [((11 * n % 60) / 60, 11 * n % 60) for n in range(60)]


@pytest.mark.parametrize(("low", "high"), [(0, 5), (24, 35), (50, 59)])
def test_the_interval_of_a_value_that_decides_is_found(low: int, high: int) -> None:
    truths = [not low <= value <= high for _, value in PLACES]
    found = wald.separation(truths, {"other": OTHER, "own": PLACES})
    assert found is not None
    count = high - low + 1
    # either side may be the interval, if both are
    assert found.name == "own"
    sides = {(found.inside, found.outside), (found.outside, found.inside)}
    assert ((0, count), (60 - count, 60 - count)) in sides
    if low > 0 and high < 59:
        assert str(found) == f"own: true in 0 of 12 draws with {low} to {high}, in 48 of 48 others"


def test_a_kind_that_decides_is_found() -> None:
    kinds = [(place, "router" if place < 0.5 else "host") for place, _ in PLACES]
    truths = [kind == "host" for _, kind in kinds]
    truths[3] = not truths[3]
    found = wald.separation(truths, {"other": OTHER, "kind": kinds})
    assert found is not None
    assert (found.name, found.low) == ("kind", found.high)
    assert {found.inside[0] in (0, 1, 29, 30), found.inside[1] == 30} == {True}


def test_chance_is_no_dependence() -> None:
    random = np.random.default_rng(3)
    found = [
        wald.separation((random.random(60) < 0.85).tolist(), {"own": PLACES, "other": OTHER})
        for _ in range(100)
    ]
    assert sum(each is not None for each in found) <= 15
    assert wald.separation([True, False], {}) is None
