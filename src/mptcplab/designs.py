# SPDX-License-Identifier: GPL-2.0-only
"""Which settings an experiment is made of: combinations of a grid, and points that fill a space.

A point is a value for each axis. Of a grid these are all combinations; of a space-filling design
(Sobol's sequence, scrambled by a seed) points that leave no part of the ranges empty, each of
which is combined with the grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Point = dict[str, Any]

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


def sobol(ranges: Mapping[str, Range], points: int, seed: int, digits: int = 4) -> list[Point]:
    """The first `points` of Sobol's sequence over the ranges, scrambled by `seed` (Owen).

    Fewer points are the first of more, and a power of 2 fills the space evenly. Values have
    `digits` significant ones, so that they can be read, and written in a scenario.
    """
    from scipy.stats import qmc  # takes a second

    engine = qmc.Sobol(len(ranges), scramble=True, rng=seed)
    # SciPy warns of a number that is no power of 2; the points of a larger one are the same
    shares = engine.random_base2(max(points - 1, 0).bit_length())[:points]
    return [
        {
            name: float(f"{each.at(float(share)):.{digits}g}")
            for (name, each), share in zip(ranges.items(), row, strict=True)
        }
        for row in shares
    ]
