# SPDX-License-Identifier: GPL-2.0-only
"""Which settings an experiment is made of: combinations of a grid, and points that fill a space.

A point is a value for each axis. Of a grid these are all combinations; of a design points in some
ranges, each of which is combined with the grid: Sobol's sequence, scrambled by a seed, or a Latin
hypercube, which leave no part of the ranges empty, or points drawn at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Point = dict[str, Any]
Kind = Literal["sobol", "latin", "random"]

# More than anybody will run; Sobol's sequence in SciPy has 2^30.
MAX_POINTS = 1 << 16


@dataclass(frozen=True)
class Range:
    """What an axis of a design goes through, from `low` to `high`, evenly or by factors."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"

    def at(self, share: float) -> float:
        """The value at `share` of the way, from 0 to 1."""
        if self.scale == "log":
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)


def grid(axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """All combinations, the last axis changing fastest."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def fill(
    kind: Kind, ranges: Mapping[str, Range], points: int, seed: int, digits: int = 4
) -> list[Point]:
    """So many points in the ranges, always the same ones for a seed.

    Of Sobol's sequence, scrambled after Owen, and of points at random, fewer are the first of more;
    a power of 2 of Sobol's fills the space evenly, and so does any number of a Latin hypercube.
    Values have `digits` significant ones, so that they can be read, and written in a scenario.
    """
    shares: Sequence[Sequence[float]]
    if kind == "random":
        shares = np.random.default_rng(seed).random((points, len(ranges))).tolist()
    else:
        from scipy.stats import qmc  # takes a second

        if kind == "latin":
            shares = qmc.LatinHypercube(len(ranges), rng=seed).random(points).tolist()
        else:
            # SciPy warns of a number that is no power of 2; the points of a larger one are the same
            engine = qmc.Sobol(len(ranges), scramble=True, rng=seed)
            shares = engine.random_base2(max(points - 1, 0).bit_length())[:points].tolist()
    return [
        {
            name: float(f"{each.at(share):.{digits}g}")
            for (name, each), share in zip(ranges.items(), row, strict=True)
        }
        for row in shares
    ]


def spread(between: Range, count: int, digits: int = 6) -> list[float]:
    """So many values from the low end to the high end, evenly or by factors."""
    steps = max(count - 1, 1)
    return [float(f"{between.at(step / steps):.{digits}g}") for step in range(count)]


def stepped(between: Range, step: float, digits: int = 6) -> list[float]:
    """The values from the low end on, by `step`, as far as the high end."""
    count = math.floor((between.high - between.low) / step * (1 + 1e-12)) + 1
    return [float(f"{between.low + number * step:.{digits}g}") for number in range(count)]
