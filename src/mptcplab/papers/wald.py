# SPDX-License-Identifier: GPL-2.0-only
"""What draws decide about a formula, and which unstated value it depends on.

docs/papers.md has the rule, and derives its numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.papers.catalogue import MOST_DRAWS

#: The probability of a wrong decision, either way.
ERROR = 0.005
#: With so many exceptions among all draws a formula is as true, or as false, as without any.
EXCEPTIONS = MOST_DRAWS // 20

_BOUNDARY = math.log((1 - ERROR) / ERROR)
_TRUE, _FALSE = math.log(0.9 / 0.5), math.log(0.1 / 0.5)
_ORDERS = 199
_SIGNIFICANT = 0.05
_SAME = 1e-9


@dataclass(frozen=True)
class Separation:
    """An unstated value whose draws between `low` and `high` differ from all others.

    `inside` and `outside` are numbers of draws: those in which a formula is true, and all.
    """

    name: str
    low: Any
    high: Any
    inside: tuple[int, int]
    outside: tuple[int, int]

    def __str__(self) -> str:
        within = str(self.low) if self.low == self.high else f"{self.low} to {self.high}"
        there, others = ("{} of {}".format(*each) for each in (self.inside, self.outside))
        return f"{self.name}: true in {there} draws with {within}, in {others} others"


def decided(truths: Sequence[bool], least: int = 1) -> bool | None:
    """What Wald's test of p <= 0.5 against p >= 0.9 decides where it first does, from `least` draws
    on; None if it does not.
    """
    ratio = 0.0
    for count, true in enumerate(truths[:MOST_DRAWS], 1):
        ratio += _TRUE if true else _FALSE
        if count >= least and abs(ratio) >= _BOUNDARY:
            return ratio > 0
    return None


def separation(
    truths: Sequence[bool], values: Mapping[str, Sequence[tuple[float, Any]]]
) -> Separation | None:
    """The interval of a value that separates true from false draws best; None if chance may.

    `values` has for each name the place in its range, and the value, of each draw.
    """
    count = len(truths)
    orders = np.random.default_rng(1).permuted(np.tile(np.arange(count), (_ORDERS, 1)), axis=1)
    shuffled = np.vstack([np.arange(count), orders])
    every, found = np.zeros(_ORDERS + 1), []
    for name, places in values.items():
        ranked = sorted(range(count), key=lambda draw, of=places: of[draw][0])  # type: ignore[misc]
        drawn = [places[draw][1] for draw in ranked]
        # the same value is on one side
        cuts = [n for n in range(count + 1) if n in (0, count) or drawn[n - 1] != drawn[n]]
        low, high = np.array([(a, b) for a in cuts for b in cuts if a < b]).T
        true = np.array(truths, dtype=np.int64)[shuffled[:, ranked]].cumsum(axis=1)
        true = np.hstack([np.zeros((len(true), 1), np.int64), true])
        inside, size = true[:, high] - true[:, low], high - low
        table = _likelihoods(count)
        score = table[inside, size] + table[true[:, -1:] - inside, count - size]
        best, (own, of) = int(score[0].argmax()), (inside[0], size)
        every = np.maximum(every, score.max(axis=1) - table[sum(truths), count])
        in_, out = (int(own[best]), int(of[best])), (int(sum(truths) - own[best]),)
        ends = drawn[low[best]], drawn[high[best] - 1]
        found.append((score[0][best], Separation(name, *ends, in_, (*out, count - in_[1]))))
    if not found or np.mean(every >= every[0] - _SAME) >= _SIGNIFICANT:
        return None
    return max(found, key=lambda each: each[0])[1]


@functools.cache
def _likelihoods(count: int) -> npt.NDArray[np.float64]:
    """The logarithm of the largest likelihood of k true ones among n, by k and n."""
    table = np.zeros((count + 1, count + 1))
    for n in range(1, count + 1):
        for k in range(1, n):
            table[k, n] = k * math.log(k / n) + (n - k) * math.log(1 - k / n)
    return table
