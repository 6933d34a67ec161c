# SPDX-License-Identifier: GPL-2.0-only
"""Variations of paths that are known roughly: each value varies within its uncertainty.

The factors of all values together are points of Sobol's sequence, spread as evenly as their number
permits. The first variation is the paths as given, and each has a seed of its own, so that
randomness varies with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.errors import InputError, Problem
from mptcplab.formulas import designs
from mptcplab.scenario.limits import MAX_SEED
from mptcplab.scenario.model import Scenario, Varied
from mptcplab.scenario.uncertainty import scaled


def variations(base: Scenario, uncertain: Sequence[Varied], count: int) -> list[Scenario]:
    """`count` variations of a scenario, each with a seed of its own; fewer are a prefix of more.

    Raises InputError if there are not enough seeds.
    """
    last = base.seed + count - 1
    if last > MAX_SEED:
        message = f"the last variation would have seed {last}; the largest is {MAX_SEED}"
        raise InputError([Problem("--seed", "", str(base.seed), message)])
    places = {f"{name}.{key}": (name, key) for name, key, _ in uncertain}
    ranges = {f"{name}.{key}": designs.Range(1 - part, 1 + part) for name, key, part in uncertain}
    points: list[designs.Point] = [{}] * (count - 1)
    if ranges and points:
        points = designs.fill("sobol", ranges, count - 1, base.seed)
    return [
        scaled(base, {places[name]: factor for name, factor in point.items()}).with_(
            seed=base.seed + number
        )
        for number, point in enumerate([{}, *points])
    ]
