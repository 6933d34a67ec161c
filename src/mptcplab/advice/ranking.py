# SPDX-License-Identifier: GPL-2.0-only
"""Which of several candidates is best by a figure, which are as good, and how sure that is.

All candidates have the figure for the same variations, and are compared in pairs. A candidate is as
good as the best if it is worse by at most a negligible margin, in the median and in the mean: one
that is as good in most variations, and far behind in some, is not. Of those, the simplest is
chosen.
How sure that is comes from resampling the variations with replacement (the bootstrap): how often
would the chosen one still have been as good as the best of the resample? But n variations cannot
make a statement about a median surer than 1 - 1/2^n: with probability 1/2^n all n differences lie
on one given side of it (the sign test).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.metrics import inference
from mptcplab.metrics.inference import Summary

_RESAMPLES, _SEED = 1999, 1

#: A figure by candidate and by the number of the variation.
Values = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Scale:
    """How to read a figure: which direction is better, and which difference is negligible.

    The margin is `margin` of the figure of the best, or, if `absolute`, in the figure's unit.
    """

    less_is_better: bool
    margin: float
    absolute: bool = False


@dataclass(frozen=True)
class Standing:
    """A candidate: its figure over the variations, and by how much it is worse than the best.

    `deficit` is over the differences per variation; positive is worse, and 0 for the best.
    """

    name: str
    figure: Summary
    deficit: Summary


@dataclass(frozen=True)
class Ranking:
    """All candidates that have the figure for all variations, those as good as the best first.

    `as_good` are ordered by simplicity, and the first one is `chosen`; `perhaps` are others that
    were not shown to be worse by more than the margin. `sure` is the share of resamples in which
    `chosen` is as good as the best, limited by what that many variations can show.
    """

    variations: int
    best: str
    margin: float
    standings: Mapping[str, Standing]
    as_good: Sequence[str]
    perhaps: Sequence[str]
    sure: float

    @property
    def chosen(self) -> str:
        return self.as_good[0]


def rank(
    values: Values, scale: Scale, simplicity: Callable[[str], Any], reference: str = ""
) -> Ranking | None:
    """Rank candidates, the simplest of which has the lowest `simplicity`; None if there are none.

    A candidate that lacks a variation which another one has is left out. None whose median is worse
    than that of the `reference` is as good as the best.
    """
    wanted = sorted({number for figures in values.values() for number in figures})
    complete = {
        name: np.array([figures[number] for number in wanted])
        for name, figures in values.items()
        if figures and len(figures) == len(wanted)
    }
    if not complete:
        return None
    # less is better from here on
    costs = {
        name: figures if scale.less_is_better else -figures for name, figures in complete.items()
    }

    def place(name: str) -> tuple[float, float, Any]:
        figures = costs[name].tolist()
        return statistics.median(figures), statistics.fmean(figures), simplicity(name)

    best = min(costs, key=place)
    margin = scale.margin
    if not scale.absolute:
        margin *= abs(statistics.median(complete[best].tolist()))
    medians = {name: statistics.median(figures.tolist()) for name, figures in costs.items()}
    standings = {}
    for name in sorted(costs, key=place):
        figure = inference.summary(complete[name].tolist())
        deficit = inference.summary((costs[name] - costs[best]).tolist())
        assert figure, "there is a variation"
        assert deficit, "there is a variation"
        standings[name] = Standing(name, figure, deficit)
    as_good = sorted(
        (
            name
            for name, each in standings.items()
            if each.deficit.median <= margin
            and medians[name] <= medians.get(reference, medians[name])
            and _mean(costs[name], costs[best], scale) <= scale.margin
        ),
        key=simplicity,
    )
    perhaps = [
        name
        for name, each in standings.items()
        if name not in as_good and each.deficit.low is not None and each.deficit.low <= margin
    ]
    sure = min(_sure(costs, as_good[0], scale), 1 - 0.5 ** len(wanted))
    order = [*as_good, *(name for name in standings if name not in as_good)]
    return Ranking(
        len(wanted),
        best,
        margin,
        {name: standings[name] for name in order},
        as_good,
        perhaps,
        sure,
    )


def lead(ranking: Ranking, values: Values, scale: Scale, over: str) -> Summary | None:
    """How much better the chosen candidate is than another one, variation by variation."""
    mine, other = values[ranking.chosen], values.get(over, {})
    sign = -1 if scale.less_is_better else 1
    return inference.summary(
        [sign * (mine[number] - other[number]) for number in sorted(mine.keys() & other.keys())]
    )


def resamples(count: int) -> npt.NDArray[np.int64]:
    """Resamples of the numbers below `count`, a row for each; the same each time."""
    return np.random.default_rng(_SEED).integers(0, count, (_RESAMPLES, count))


def _sure(costs: Mapping[str, Any], chosen: str, scale: Scale) -> float:
    """The share of resamples of the variations in which `chosen` is as good as the best."""
    names = list(costs)
    table = np.stack([costs[name] for name in names])
    drawn = resamples(table.shape[1])
    # by resample and candidate; of those with the same median, the best is that with the best mean
    medians, means = np.median(table[:, drawn], axis=2).T, table[:, drawn].mean(axis=2).T
    best = np.lexsort((means, medians))[:, 0]
    mine, others = table[names.index(chosen)][drawn], table[best[:, None], drawn]
    deficits = np.median(mine - others, axis=1)
    margins = scale.margin * (1 if scale.absolute else np.abs(medians.min(axis=1)))
    as_good = (deficits <= margins) & (_mean(mine, others, scale) <= scale.margin)
    return float(np.mean(as_good))


def _mean(costs: Any, of_best: Any, scale: Scale) -> Any:
    """How much worse than the best in the mean of the variations, in the unit of the margin."""
    differences = costs - of_best
    if not scale.absolute:
        # from nothing, any difference is large
        whole = np.maximum(np.abs(of_best), np.finfo(float).tiny)
        differences = differences / whole
    return differences.mean(axis=-1)
