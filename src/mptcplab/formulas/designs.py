# SPDX-License-Identifier: GPL-2.0-only
"""The settings of an experiment: combinations of a grid, and points that fill a space.

A point has a value for each axis. A grid yields all combinations; a design yields points in some
ranges, each of which is combined with the grid: Sobol's sequence (scrambled by a seed) or a Latin
hypercube, which leave no part of the ranges empty, or random points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mptcplab import extras

Point = dict[str, Any]
Kind = Literal["sobol", "latin", "random"]

# More than anybody will run; Sobol's sequence in SciPy has 2^30.
MAX_POINTS = 1 << 16


@dataclass(frozen=True)
class Range:
    """The range of a design's axis, from `low` to `high`, on a linear or logarithmic scale."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"

    def at(self, share: float) -> float:
        """The value at `share` of the range, from 0 to 1."""
        if self.scale == "log":
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)


def grid(axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """All combinations, the last axis changing fastest."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def fill(
    kind: Kind, ranges: Mapping[str, Range], points: int, seed: int, digits: int = 4
) -> list[Point]:
    """`points` points in the ranges; the same seed always yields the same ones.

    With Sobol's sequence (scrambled after Owen) and with random points, a smaller number of points
    is a prefix of a larger one. A power of 2 of Sobol's points fills the space evenly, and so does
    any number of a Latin hypercube. Values are rounded to `digits` significant digits, so that they
    are readable in a scenario. Raises MachineError if SciPy is needed, and missing.
    """
    shares: Sequence[Sequence[float]]
    if kind == "random":
        import numpy as np

        shares = np.random.default_rng(seed).random((points, len(ranges))).tolist()
    else:
        extras.require("sweep", "a design that fills a space", "scipy")
        from scipy.stats import qmc  # takes a second

        if kind == "latin":
            shares = qmc.LatinHypercube(len(ranges), rng=seed).random(points).tolist()
        else:
            # SciPy warns unless it is a power of 2; the points of a larger one begin the same
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
    """`count` values from the low end to the high end, on the scale of the range."""
    steps = max(count - 1, 1)
    return [float(f"{between.at(step / steps):.{digits}g}") for step in range(count)]


def stepped(between: Range, step: float, digits: int = 6) -> list[float]:
    """The values from the low end up to the high end, `step` apart."""
    count = math.floor((between.high - between.low) / step * (1 + 1e-12)) + 1
    return [float(f"{between.low + number * step:.{digits}g}") for number in range(count)]
