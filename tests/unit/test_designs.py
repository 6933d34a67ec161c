# SPDX-License-Identifier: GPL-2.0-only
"""Grids, and designs that fill a space."""

from __future__ import annotations

import itertools

import pytest
from scipy.stats import qmc

from mptcplab.formulas.designs import Kind, Point, Range, fill, grid, spread, stepped

KINDS: tuple[Kind, ...] = ("sobol", "latin", "random")
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_design_is_the_same_for_the_same_seed_and_another_for_another(kind: Kind) -> None:
    assert fill(kind, RANGES, 64, 1) == fill(kind, RANGES, 64, 1)
    assert fill(kind, RANGES, 64, 1) != fill(kind, RANGES, 64, 2)
    assert len(fill(kind, RANGES, 63, 1)) == 63


@pytest.mark.parametrize("kind", ["sobol", "random"])
@pytest.mark.parametrize("count", [1, 3, 16, 100])
def test_fewer_points_are_the_first_of_more(kind: Kind, count: int) -> None:
    assert fill(kind, RANGES, count, 1) == fill(kind, RANGES, 256, 1)[:count]


def test_points_lie_in_their_ranges_and_in_every_corner_of_them() -> None:
    for kind in KINDS:
        points = shares(fill(kind, RANGES, 256, 1))
        assert all(0 <= share <= 1 for point in points for share in point)
    # 4 x 4 x 4 boxes with 256 points: 4 in each, on average, and none is empty
    points = shares(fill("sobol", RANGES, 256, 1))
    boxes = {tuple(min(int(4 * share), 3) for share in point) for point in points}
    assert boxes == set(itertools.product(range(4), repeat=3))
    # The star discrepancy of 256 random points in 3 dimensions is near 1/sqrt(256); that of
    # Sobol's is near log(256)^3/256 at worst, and an order below in practice. SciPy's centred
    # discrepancy is an L2 measure: random points have sqrt((5/4)^3 - 1)/sqrt(256) = 0.06.
    assert qmc.discrepancy(points) ** 0.5 < 0.06 / 3
    # a Latin hypercube has a point in each slice of each axis
    points = shares(fill("latin", RANGES, 50, 1, digits=8))
    for axis in range(3):
        assert sorted(int(point[axis] * 50) for point in points) == list(range(50))


def test_values_are_spread_evenly_or_by_factors() -> None:
    assert spread(Range(10, 50), 5) == [10, 20, 30, 40, 50]
    assert spread(Range(10, 160, "log"), 5) == [10, 20, 40, 80, 160]
    assert spread(Range(3, 9), 1) == [3]
    # steps end at the last value that is not beyond
    assert stepped(Range(10, 35), 10) == [10, 20, 30]
    # 0.1 is no binary number, and the last step is still there
    assert stepped(Range(0, 0.3), 0.1) == [0, 0.1, 0.2, 0.3]


def test_a_logarithmic_range_goes_by_factors() -> None:
    assert Range(0.1, 1000, "log").at(0.5) == pytest.approx(10)
    low = [p["x"] for p in fill("sobol", {"x": Range(0.1, 1000, "log")}, 64, 1) if p["x"] < 10]
    assert len(low) == 32
