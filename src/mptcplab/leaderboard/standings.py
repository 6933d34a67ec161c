# SPDX-License-Identifier: GPL-2.0-only
"""The arithmetic of the leaderboard: from each scheduler's figures in each scenario to its place.

The measure of all is the best scheduler of the catalogue *for each scenario*, the oracle, which no
single one is. A scheduler's part is its goodput, divided by the oracle's; or, where messages are
sent, the oracle's delay, divided by its own. Of frames, which may all be late, it is 1 less how
much larger the oracle's share in time is: a ratio of two small shares is chance. Its score is the
mean part over all scenarios, where what exceeds 1 counts as 1, and a run that failed as 0. The
highest score is first.

Intervals are over resamples of the scenarios, drawn with replacement (the bootstrap), the same for
all schedulers. Neighbours are compared in pairs, scenario by scenario.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mptcplab.advice.ranking import resamples
from mptcplab.metrics import inference
from mptcplab.scenario import scheduler

REFERENCE = scheduler.DEFAULT
#: It sends everything on each path, at the expense of goodput; others repeat some segments.
COPIES = "redundant"
#: What a scheduler for everybody has to hold: in the median and at the 5th percentile its part of
#: the oracle's goodput, in the median and at the 95th percentile its delay, in those of the
#: oracle; and in every scenario this part of `default`, and of TCP alone on the best path.
GOODPUT, DELAY, LEAST = (0.97, 0.90), (1.1, 1.5), 0.95
#: A delay counts as at most so many of the oracle's; the delay of a failed run counts as these.
MOST_TIMES = 100.0
_WORST_SCENARIOS = 5
_FEWEST_OF_A_LEVEL = 3  # scenarios: the median of fewer is that of any of them

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Played:
    """A scenario, and what schedulers made of it, by their labels.

    `figures` are what was measured, in `unit`. `merits` are the same, the higher the better:
    goodput in bit/s, 1 / delay, or, if it `is_absolute`, a share. A run that failed has None of
    both. `tcp` is the merit of TCP alone on the best path, None where it is not asked. `levels` are
    those of factors that may matter, and `keys` name the runs. `further` are the merits of the same
    scenario with other seeds, of the schedulers that ran it again.
    """

    number: int
    is_goodput: bool
    is_absolute: bool
    levels: Mapping[str, str]
    text: str
    unit: str
    figures: Mapping[str, float | None]
    merits: Mapping[str, float | None]
    tcp: float | None
    keys: Mapping[str, str]
    further: Mapping[str, Sequence[float | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A figure over scenarios, and its 95 % interval, None with a single scenario."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Against:
    """Beside another: in how many scenarios, of how many, the part of it is below LEAST; the lowest
    part, and the number of its scenario.
    """

    scenarios: int
    below: int
    worst: float
    where: int


@dataclass(frozen=True)
class Worst:
    """Where a scheduler loses: the numbers of the scenarios with its lowest parts, and of each
    factor the level with the lowest median part, and that.
    """

    scenarios: Mapping[int, float]
    levels: Mapping[str, tuple[str, float]]


@dataclass(frozen=True)
class Reached:
    """The figures of a scheduler, or of an imaginary one.

    `goodput` and `delay` are the median and the tail of GOODPUT and DELAY, None without such
    scenarios; `default` and `tcp` are None where nobody is compared with them. `holds` says which
    of the promises hold: goodput, delay, default, tcp.
    """

    name: str
    goodput: tuple[Estimate, Estimate] | None
    delay: tuple[Estimate, Estimate] | None
    default: Against | None
    tcp: Against | None
    holds: Mapping[str, bool]


@dataclass(frozen=True)
class Standing(Reached):
    """A scheduler. `place` is 1 for the first, the same for equal scores; `places` its interval."""

    place: int
    places: tuple[int, int]
    score: Estimate
    failed: int
    worst: Worst


@dataclass(frozen=True)
class Neighbours:
    """A scheduler and the next one: by how much its score is higher, in how many scenarios its part
    is higher, lower, or the same, and Wilcoxon's test of that, adjusted for all neighbours.
    """

    first: str
    second: str
    ahead: Estimate
    higher: int
    lower: int
    same: int
    p: float | None


@dataclass(frozen=True)
class Board:
    """All schedulers, the first one first; `played` are the scenarios that count, `left_out` the
    numbers of those in which every run failed. `limits` say what is out of reach, see `_limits`;
    `pairs` are compared because somebody asked.
    """

    standings: Sequence[Standing]
    limits: Sequence[Reached]
    neighbours: Sequence[Neighbours]
    played: Sequence[Played]
    left_out: Sequence[int]
    pairs: Sequence[Neighbours] = ()

    def standing(self, name: str) -> Standing:
        return next(each for each in self.standings if each.name == name)


def board(
    played: Sequence[Played], catalogue: Collection[str], pairs: Sequence[tuple[str, str]] = ()
) -> Board | None:
    """The leaderboard; the oracle is the best of the schedulers in `catalogue`, with `default`.

    `pairs` are labels to compare, beside those of neighbours. None if no run succeeded.
    """
    good = [each for each in played if any(each.merits[name] is not None for name in catalogue)]
    if not good:
        return None
    names = list(good[0].merits)
    # a failed run is not a number
    merits = {
        name: np.array([each.merits[name] for each in good], dtype=np.float64) for name in names
    }
    oracle = np.fmax.reduce([merits[name] for name in catalogue])
    parts = {name: part_of(good, merits[name], oracle) for name in names}
    capped = {name: np.minimum(part, 1.0) for name, part in parts.items()}
    score = {name: float(each.mean()) for name, each in capped.items()}
    drawn = resamples(len(good))
    scores = np.array([capped[name][drawn].mean(axis=1) for name in names])
    order = sorted(names, key=lambda name: (-score[name], name))
    standings = []
    for name in order:
        reached = _reached(name, good, merits[name], parts[name], merits[REFERENCE])
        standings.append(
            Standing(
                **vars(reached),
                place=1 + sum(other > score[name] for other in score.values()),
                places=_places(scores, names.index(name)),
                score=estimate(capped[name], np.mean),
                failed=sum(each.figures[name] is None for each in good),
                worst=_worst(good, capped[name]),
            )
        )
    numbers = {each.number for each in good}
    return Board(
        standings,
        _limits(good, {name: merits[name] for name in catalogue}, oracle),
        _compared(good, capped, list(itertools.pairwise(order))),
        good,
        [each.number for each in played if each.number not in numbers],
        _compared(good, capped, pairs),
    )


def _reached(
    name: str, good: Sequence[Played], mine: Floats, part: Floats, default: Floats
) -> Reached:
    goodput, delay = _parts(good, part[:, np.newaxis])
    against = _against(good, mine, default)
    tcp = _against_tcp(good, mine)
    return Reached(name, goodput, delay, against, tcp, _holds(goodput, delay, against, tcp))


def _limits(good: Sequence[Played], merits: Mapping[str, Floats], oracle: Floats) -> list[Reached]:
    """What is reached by who knows beforehand which one of the catalogue, or of all but COPIES, is
    the best in each scenario; and by one run of a scheduler beside the best of all its runs of the
    same scenario, with other seeds: what it lacks there is chance. Of REFERENCE, too, where it is
    below itself with one other seed.
    """
    default = merits[REFERENCE]
    limits = [
        _reached("any of the catalogue", good, oracle, part_of(good, oracle, oracle), default)
    ]
    if COPIES in merits:
        best = np.fmax.reduce([own for name, own in merits.items() if name != COPIES])
        limits.append(
            _reached(f"any but {COPIES}", good, best, part_of(good, best, oracle), default)
        )
    for name in good[0].further:
        runs = np.array(
            [[each.merits[name], *each.further[name]] for each in good], dtype=np.float64
        )
        luckiest = np.fmax.reduce(runs, axis=1)
        parts = np.stack([part_of(good, run, luckiest) for run in runs.T], axis=1)
        goodput, delay = _parts(good, parts)
        itself = _against(good, runs[:, 1], default) if name == REFERENCE else None
        holds = _holds(goodput, delay, itself, None)
        title = f"{name}, one of {runs.shape[1]} runs"
        limits.append(Reached(title, goodput, delay, itself, None, holds))
    return limits


def part_of(good: Sequence[Played], mine: Floats, other: Floats) -> Floats:
    """What part of another's merit a scheduler has; 0 of a failed run.

    Where the other one failed, or has nothing, nobody is below it.
    """
    is_absolute = np.array([each.is_absolute for each in good])
    ratios = np.divide(mine, other, out=np.ones_like(mine), where=~is_absolute & (other > 0))
    parts = np.where(is_absolute, 1 - (other - mine), ratios)
    failed: Floats = np.where(np.isnan(mine), 0.0, parts)
    return np.where(np.isnan(other), 1.0, failed)


def estimate(values: Floats, statistic: Callable[..., Floats]) -> Estimate:
    """A statistic that NumPy computes along an axis, with its interval (percentiles)."""
    value = float(statistic(values))
    if len(values) == 1:
        return Estimate(value, None, None)
    low, high = _ends(statistic(values[resamples(len(values))], axis=1))
    return Estimate(value, low, high)


def _ends(resampled: Floats) -> tuple[float, float]:
    beyond = (1 - inference.CONFIDENCE) / 2
    low, high = np.quantile(resampled, [beyond, 1 - beyond]).tolist()
    return low, high


def _quantile(share: float) -> Callable[..., Floats]:
    """Over scenarios; the mean over which one of their runs, along the last axis, is taken."""
    return lambda values, axis=0: np.quantile(values, share, axis=axis).mean(axis=-1)


def _places(scores: Floats, row: int) -> tuple[int, int]:
    """The interval of a scheduler's place, its row being that of `scores`: whole, and outwards."""
    low, high = _ends(1 + (scores > scores[row]).sum(axis=0))
    return int(np.floor(low)), int(np.ceil(high))


def _parts(
    good: Sequence[Played], part: Floats
) -> tuple[tuple[Estimate, Estimate] | None, tuple[Estimate, Estimate] | None]:
    """The median and the tail of a scheduler's goodput and delay, in those of the oracle; `part`
    has a row for each scenario, and in it one or several runs.
    """
    is_goodput = np.array([each.is_goodput for each in good])
    times = 1 / np.maximum(part[~is_goodput], 1 / MOST_TIMES)
    found = [
        (estimate(values, _quantile(0.5)), estimate(values, _quantile(tail)))
        if len(values)
        else None
        for values, tail in ((part[is_goodput], 0.05), (times, 0.95))
    ]
    return found[0], found[1]


def _against(good: Sequence[Played], mine: Floats, other: Floats) -> Against:
    parts = part_of(good, mine, other)
    worst = int(parts.argmin())
    return Against(len(good), int((parts < LEAST).sum()), float(parts[worst]), good[worst].number)


def _against_tcp(good: Sequence[Played], mine: Floats) -> Against | None:
    asked = [number for number, each in enumerate(good) if each.tcp is not None]
    if not asked:
        return None
    tcp = np.array([good[number].tcp for number in asked], dtype=np.float64)
    return _against([good[number] for number in asked], mine[asked], tcp)


def _holds(
    goodput: tuple[Estimate, Estimate] | None,
    delay: tuple[Estimate, Estimate] | None,
    default: Against | None,
    tcp: Against | None,
) -> dict[str, bool]:
    """Which of the promises hold; without such scenarios there is none."""
    holds = {}
    if goodput:
        holds["goodput"] = all(own.value >= x for own, x in zip(goodput, GOODPUT, strict=True))
    if delay:
        holds["delay"] = all(own.value <= x for own, x in zip(delay, DELAY, strict=True))
    if default:
        holds["default"] = not default.below
    if tcp:
        holds["tcp"] = not tcp.below
    return holds


def _worst(good: Sequence[Played], part: Floats) -> Worst:
    order = np.argsort(part, kind="stable")[:_WORST_SCENARIOS].tolist()
    levels = {}
    for factor in good[0].levels:
        at: dict[str, list[float]] = {}
        for each, own in zip(good, part.tolist(), strict=True):
            at.setdefault(each.levels[factor], []).append(own)
        medians = {
            level: float(np.median(own))
            for level, own in at.items()
            if len(own) >= _FEWEST_OF_A_LEVEL
        }
        if len(medians) > 1:
            level = min(medians, key=lambda level: (medians[level], level))
            levels[factor] = (level, medians[level])
    return Worst({good[each].number: float(part[each]) for each in order}, levels)


def _compared(
    good: Sequence[Played], capped: Mapping[str, Floats], pairs: Sequence[tuple[str, str]]
) -> list[Neighbours]:
    values = {
        name: {each.number: own for each, own in zip(good, parts.tolist(), strict=True)}
        for name, parts in capped.items()
    }
    # each minus the one before it
    tests = inference.differences(values, pairs)
    found = []
    for first, second in pairs:
        ahead = capped[first] - capped[second]
        higher, lower = int((ahead > 0).sum()), int((ahead < 0).sum())
        p = tests[first, second].p_adjusted
        same = len(good) - higher - lower
        found.append(Neighbours(first, second, estimate(ahead, np.mean), higher, lower, same, p))
    return found
