# SPDX-License-Identifier: GPL-2.0-only
"""Grids, and designs that fill a space."""

from __future__ import annotations

import itertools

import pytest
from scipy.stats import qmc

from mptcplab.designs import Point, Range, grid, sobol

RANGES = {"rate": Range(0.1, 100), "rtt": Range(0, 50), "buffer": Range(0, 100)}


def shares(points: list[Point]) -> list[list[float]]:
    """Where in its range each value is, from 0 to 1."""
    return [
        [(point[name] - each.low) / (each.high - each.low) for name, each in RANGES.items()]
        for point in points
    ]


def test_a_grid_is_all_combinations_the_last_axis_first() -> None:
    assert grid({"queue": [300, 1000], "rate": [1, 2]}) == [
        {"queue": 300, "rate": 1},
        {"queue": 300, "rate": 2},
        {"queue": 1000, "rate": 1},
        {"queue": 1000, "rate": 2},
    ]
    assert grid({}) == [{}]


def test_a_design_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    assert sobol(RANGES, 64, 1) == sobol(RANGES, 64, 1)
    assert sobol(RANGES, 64, 1) != sobol(RANGES, 64, 2)


@pytest.mark.parametrize("count", [1, 3, 16, 100])
def test_fewer_points_are_the_first_of_more(count: int) -> None:
    assert sobol(RANGES, count, 1) == sobol(RANGES, 256, 1)[:count]


def test_points_lie_in_their_ranges_and_in_every_corner_of_them() -> None:
    points = shares(sobol(RANGES, 256, 1))
    assert all(0 <= share <= 1 for point in points for share in point)
    # 4 x 4 x 4 boxes with 256 points: 4 in each, on average, and none is empty
    boxes = {tuple(min(int(4 * share), 3) for share in point) for point in points}
    assert boxes == set(itertools.product(range(4), repeat=3))


def test_points_are_more_even_than_chance() -> None:
    # The star discrepancy of 256 random points in 3 dimensions is near 1/sqrt(256); that of
    # Sobol's is near log(256)^3/256 at worst, and an order below in practice. SciPy's centred
    # discrepancy is an L2 measure: random points have sqrt((5/4)^3 - 1)/sqrt(256) = 0.06.
    assert qmc.discrepancy(shares(sobol(RANGES, 256, 1))) ** 0.5 < 0.06 / 3


def test_a_logarithmic_range_goes_by_factors() -> None:
    assert Range(0.1, 1000, "log").at(0.5) == pytest.approx(10)
    low = [p["x"] for p in sobol({"x": Range(0.1, 1000, "log")}, 64, 1) if p["x"] < 10]
    assert len(low) == 32
