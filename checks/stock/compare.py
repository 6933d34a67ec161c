# SPDX-License-Identifier: GPL-2.0-only
"""The figures of two kernels in the same setting, compared as distributions.

Runs are chaotic: docs/fidelity.md. Module `early` compares what comes before that.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from mptcplab.runs.entries import Entry

#: How far apart medians may be: of a figure that is the same in all runs, and of one that is not.
BOUND, BOUND_OF_SPREAD = 0.01, 0.03
#: Below this p, chance would hardly make two sides differ as much.
LEAST_P = 0.01

_MOST_STATES = 5


@dataclass(frozen=True)
class Spread:
    """A figure over `n` runs."""

    n: int
    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(len(values), statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class State:
    """Values that are close together: their mean, and how many runs of each side have one."""

    value: float
    stock: int
    lab: int


@dataclass(frozen=True)
class Compared:
    """One figure of the two sides.

    `difference` is that of the lab's median from the other one, as a fraction of it, or absolute
    for a share; `bound` is how large it may be, and `p` how often chance would give ranks as
    different, None if there are too few runs to say. `states` is not empty if there are only a few
    values. `slower` is the figure of the distribution's kernel on a CPU half as fast, None if it
    was not run there. `late` is that of the lab with data as late as there, and `late_p` is `p` for
    that and `stock`; both are None if that was not run.
    """

    stock: Spread
    lab: Spread
    slower: Spread | None
    late: Spread | None
    late_p: float | None
    difference: float
    bound: float
    p: float | None
    states: Sequence[State]
    is_share: bool

    @property
    def holds(self) -> bool:
        return abs(self.difference) <= self.bound

    @property
    def is_told_apart(self) -> bool:
        """Beyond the bound, and not by chance."""
        return not self.holds and self.p is not None and self.p < LEAST_P

    @property
    def is_of_cpu_time(self) -> bool:
        """Whether twice the CPU time moves the distribution's own figure as far.

        A figure that grows with CPU time is as far from its value without, in the lab, as from
        that with twice of it; and of two states, either can be the one with another CPU.
        """
        if self.slower is None:
            return False
        far = abs(self.lab.median - self.stock.median)
        moved = abs(self.slower.median - self.stock.median)
        return far <= moved + self._room

    @property
    def is_of_start(self) -> bool:
        """Whether it is CPU time before the first data: with data as late, the lab has the same."""
        if self.late is None or self.late_p is None:
            return False
        off = self.stock.median - self.lab.median
        moved = math.copysign(1.0, off) * (self.late.median - self.lab.median)
        holds = abs(self.late.median - self.stock.median) <= self._room
        return abs(off) <= moved + self._room and (holds or self.late_p >= LEAST_P)

    @property
    def _room(self) -> float:
        """The bound, in the unit of the figure."""
        return self.bound * (1.0 if self.is_share else self.stock.median)

    @property
    def differs(self) -> bool:
        """Told apart, and not as CPU time would have it."""
        return self.is_told_apart and not self.is_of_cpu_time and not self.is_of_start


def compared(
    stock: Sequence[float],
    lab: Sequence[float],
    slower: Sequence[float] = (),
    late: Sequence[float] = (),
    *,
    share: bool = False,
) -> Compared:
    """Compare a figure; of a `share`, differences are not relative."""
    ours, theirs = Spread.of(lab), Spread.of(stock)
    scale = 1.0 if share else theirs.median or 1.0
    widths = [(each.highest - each.lowest) / scale for each in (ours, theirs)]
    states = _states(stock, lab)
    return Compared(
        stock=theirs,
        lab=ours,
        slower=Spread.of(slower) if slower else None,
        late=Spread.of(late) if late else None,
        late_p=_p(stock, late) if late else None,
        is_share=share,
        difference=(ours.median - theirs.median) / scale,
        bound=BOUND_OF_SPREAD if max(widths) > BOUND else BOUND,
        p=_p(*([_state(value, states) for value in side] for side in (stock, lab))),
        states=states,
    )


def _state(value: float, states: Sequence[State]) -> float:
    """The value of the state that a run is in, if there are states: their frequencies are compared.
    Within a state, values are as close as the bound requires.
    """
    return min((state.value for state in states), key=lambda each: abs(each - value), default=value)


def _p(stock: Sequence[float], lab: Sequence[float]) -> float | None:
    """The p of a permutation test of the mean ranks, exact for a few runs; None if it cannot be
    low.
    """
    ranks = stats.rankdata([*stock, *lab])
    one, other = ranks[: len(stock)], ranks[len(stock) :]

    def apart(a: Any, b: Any, axis: int) -> Any:
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    # of all ways to split the runs into two sides, the two in which all of one are above the other
    if 2 / math.comb(len(ranks), len(one)) >= LEAST_P:
        return None
    found = stats.permutation_test(
        (one, other), apart, vectorized=True, n_resamples=9999, rng=np.random.default_rng(1)
    )
    return float(found.pvalue)


def _states(stock: Sequence[float], lab: Sequence[float]) -> Sequence[State]:
    """The values that runs have, if these are few and far apart; none if all are equal."""
    pooled = sorted([*((value, 0) for value in stock), *((value, 1) for value in lab)])
    groups: list[list[tuple[float, int]]] = []
    for value, side in pooled:
        if groups and value <= groups[-1][-1][0] * (1 + BOUND_OF_SPREAD):
            groups[-1].append((value, side))
        else:
            groups.append([(value, side)])
    narrow = all(group[-1][0] <= group[0][0] * (1 + BOUND_OF_SPREAD) for group in groups)
    if not narrow or not 1 < len(groups) <= min(_MOST_STATES, len(pooled) // 2):
        return ()
    return [
        State(
            statistics.mean(value for value, _ in group),
            sum(side == 0 for _, side in group),
            sum(side == 1 for _, side in group),
        )
        for group in groups
    ]


# --- of one run


@dataclass(frozen=True)
class Figures:
    """The figures of a run: goodput in Mbit/s, or the time of a transfer in s; `share` is the share
    of path 1.
    """

    value: float
    share: float | None
    retransmitted: int


def figures(entry: Entry) -> Figures:
    """The figures of a stored run."""
    metrics = entry.metrics
    assert metrics.goodput_bps is not None, "of a run that ended well"
    assert metrics.retransmitted_packets is not None
    goodput_mbps = metrics.goodput_bps / 1e6
    value = goodput_mbps if metrics.completion_s is None else metrics.completion_s
    share = entry.paths[0].share if len(entry.paths) > 1 else None
    return Figures(value, share, metrics.retransmitted_packets)
