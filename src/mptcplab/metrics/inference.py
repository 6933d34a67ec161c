# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of runs with several seeds: medians with their uncertainty, and differences.

Runs of two schedulers with the same seed see the same losses as far as possible, so they are
compared in pairs. The number of resamples and their random numbers are fixed: the same figures give
the same intervals.

NumPy suffices for all of it, and every command that shows figures needs it anyway; SciPy, which
finds the same (tests/unit/test_inference.py), would double what has to be installed.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

#: The confidence level of the intervals.
CONFIDENCE = 0.95
#: With fewer seeds, it is the range of the values, which has the median with a probability of
#: 1 - 2 / 2^n only: 75 % with three seeds, 87.5 % with four, and 93.75 % with five.
FEWEST_FOR_AN_INTERVAL = 5
_RESAMPLES = 1999
_SEED = 1
# Up to this many pairs p is exact. With more (or more than the second number, with equal ranks), it
# follows from the normal distribution.
_MOST_EXACT = 50
_MOST_EXACT_TIED = 13


@dataclass(frozen=True)
class Summary:
    """A figure over `n` seeds: median, quartiles, range, and the interval of the median.

    `low` and `high` are its 95 % bootstrap confidence interval (percentiles of the medians of
    resamples), None for a single seed.
    """

    n: int
    median: float
    lower_quartile: float
    upper_quartile: float
    lowest: float
    highest: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Difference:
    """A figure of one scheduler minus the figure of another, in `pairs` with the same seed.

    `median` is the median of the differences, `low` and `high` its interval, as in Summary. `p`
    comes from Wilcoxon's signed-rank test (two-sided, exact for few pairs). `p_adjusted` is p after
    Benjamini and Hochberg, for all pairs of schedulers that are compared at the same time.
    `effect` is the matched-pairs rank-biserial correlation (Kerby 2014): 1 if the figure is higher
    with every seed, -1 if it is lower with every one, 0 if neither prevails. None for a single
    pair.
    """

    pairs: int
    median: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    effect: float | None


def summary(values: Sequence[float | None]) -> Summary | None:
    """The summary of a figure of one scheduler over several seeds; None if no run has it."""
    known = sorted(float(value) for value in values if value is not None)
    if not known:
        return None
    lower, upper = np.percentile(known, [25, 75]).tolist()
    interval = _interval(tuple(known))
    return Summary(
        len(known), statistics.median(known), lower, upper, known[0], known[-1], *interval
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile of values, interpolated between the two nearest."""
    return float(np.quantile(values, share))


def standard_deviation(values: Sequence[float]) -> float:
    """The standard deviation of values, which are all that there are."""
    return float(np.std(values))


def differences(
    values: Mapping[str, Mapping[int, float | None]], pairs: Iterable[tuple[str, str]] | None = None
) -> dict[tuple[str, str], Difference]:
    """The difference of each scheduler from each one before it; `values` are by scheduler and seed.

    With `pairs`, only of these. The key (a, b) has b minus a. Pairs without a common seed are
    missing.
    """
    found: dict[tuple[str, str], Difference] = {}
    for first, second in itertools.combinations(values, 2) if pairs is None else pairs:
        less, more = values[first], values[second]
        changes = [
            b - a
            for seed in sorted(less.keys() & more.keys())
            if (a := less[seed]) is not None and (b := more[seed]) is not None
        ]
        if changes:
            found[first, second] = _difference(changes)
    return _adjusted(found)


def _difference(values: Sequence[float]) -> Difference:
    median = statistics.median(values)
    if len(values) == 1:
        return Difference(1, median, None, None, None, None, None)
    low, high = _interval(tuple(sorted(values)))
    changed = [value for value in values if value]
    p, effect = 1.0, 0.0
    if changed:
        p, above = _signed_rank(np.array(changed))
        ranks = len(changed) * (len(changed) + 1) / 2
        effect = 2 * above / ranks - 1
    return Difference(len(values), median, low, high, p, p, effect)


def _signed_rank(changes: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Wilcoxon's signed-rank test of changes other than 0: p, and the ranks of the positive.

    Equal sizes share their ranks' mean. p is two-sided, and not corrected for continuity.
    """
    _, group, count = np.unique(np.abs(changes), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[group]
    above = float(ranks[changes > 0].sum())
    pairs = len(changes)
    total = pairs * (pairs + 1) / 2
    if pairs > (_MOST_EXACT if len(count) == pairs else _MOST_EXACT_TIED):
        variance = (pairs * (pairs + 1.0) * (2.0 * pairs + 1.0) - (count**3 - count).sum() / 2) / 24
        z = (above - total / 2) / math.sqrt(variance)
        return math.erfc(abs(z) / math.sqrt(2)), above
    # the probability of each sum of ranks if every sign is as likely as the other; ranks may have
    # halves, so twice the sums count
    chance = np.ones(1)
    for twice in (2 * ranks).astype(int).tolist():
        chance = (np.pad(chance, (twice, 0)) + np.pad(chance, (0, twice))) / 2
    extreme = chance[: int(2 * min(above, total - above)) + 1].sum()
    return min(1.0, 2 * float(extreme)), above


def _adjusted(found: Mapping[tuple[str, str], Difference]) -> dict[tuple[str, str], Difference]:
    """The same differences, with each p adjusted for all of them."""
    tested = [key for key, each in found.items() if each.p is not None]
    ps = np.array([found[key].p for key in tested])
    order = np.argsort(ps)
    # from the largest on: none is more than the next larger one
    scaled = ps[order] * (len(ps) / np.arange(1, len(ps) + 1))
    controlled = np.empty_like(ps)
    controlled[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    adjusted = dict(zip(tested, controlled.tolist(), strict=True))
    return {key: replace(each, p_adjusted=adjusted.get(key)) for key, each in found.items()}


@functools.cache
def _interval(values: tuple[float, ...]) -> tuple[float | None, float | None]:
    """The bootstrap interval of a median; of equal figures it has no width."""
    if len(values) == 1:
        return None, None
    if values[0] == values[-1]:
        return values[0], values[0]
    figures = np.array(values)
    random = np.random.default_rng(_SEED)
    picked = random.integers(0, len(figures), (_RESAMPLES, len(figures)))
    # percentiles: with few seeds the median jumps between them, and no correction of a bias helps
    medians = np.sort(np.median(figures[picked], axis=1))
    low = (1 - CONFIDENCE) / 2
    return _quantile(medians, low), _quantile(medians, 1 - low)


def _quantile(ordered: npt.NDArray[np.float64], share: float) -> float:
    """Linear between two of them: definition 7 of Hyndman and Fan (1996).

    np.quantile computes the same except for the last bit, in which published figures would change.
    """
    place = share * len(ordered) + (1 - share)
    below = int(place)
    part = place - below
    return float((1 - part) * ordered[below - 1] + part * ordered[below])
