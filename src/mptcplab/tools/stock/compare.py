# SPDX-License-Identifier: GPL-2.0-only
"""What two kernels made of the same setting, compared: as distributions, and byte by byte at first.

Runs are chaotic: what differs by one packet at one time soon differs in all. So a figure is
compared by its median over several runs, and by a test of whether the two sides can be told apart
at all. Before that, everything that TCP counts is equal, or one of the kernels computes otherwise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from mptcplab.figures import recorded, records
from mptcplab.runs import store
from mptcplab.runs.entries import Entry
from mptcplab.spec.scenario import Scenario
from mptcplab.tools.stock.settings import STEP_NS
from mptcplab.uml import engine

#: How far medians may be apart: in a figure that is the same in all runs, and in one that is not.
BOUND, BOUND_OF_SPREAD = 0.01, 0.03
#: Below this, two sides would hardly differ as much as they do by chance.
LEAST_P = 0.01
#: For so long everything is to be equal at first.
WANTED_EQUAL_S = 0.5

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

    @property
    def width(self) -> float:
        """Of the range, as a part of the median."""
        return (self.highest - self.lowest) / self.median if self.median else 0.0


@dataclass(frozen=True)
class State:
    """Values that lie close together: their mean, and how many runs of each side have one."""

    value: float
    stock: int
    lab: int


@dataclass(frozen=True)
class Compared:
    """One figure of the two sides.

    `difference` is that of the lab's median from the other one, as a part of it, or, of a share, by
    itself; `bound` is how large it may be, and `p` how often chance would give ranks as different,
    None if there are too few runs to say. `states` are there if values are some few ones.
    """

    stock: Spread
    lab: Spread
    difference: float
    bound: float
    p: float | None
    states: Sequence[State]

    @property
    def holds(self) -> bool:
        return abs(self.difference) <= self.bound

    @property
    def differs(self) -> bool:
        """Beyond the bound, and not by chance."""
        return not self.holds and self.p is not None and self.p < LEAST_P


def compared(stock: Sequence[float], lab: Sequence[float], *, share: bool = False) -> Compared:
    """Compare a figure; of a `share`, differences are not relative."""
    ours, theirs = Spread.of(lab), Spread.of(stock)
    scale = 1.0 if share else theirs.median or 1.0
    widths = [(each.highest - each.lowest) / scale for each in (ours, theirs)]
    return Compared(
        stock=theirs,
        lab=ours,
        difference=(ours.median - theirs.median) / scale,
        bound=BOUND_OF_SPREAD if max(widths) > BOUND else BOUND,
        p=_p(stock, lab),
        states=_states(stock, lab),
    )


def _p(stock: Sequence[float], lab: Sequence[float]) -> float | None:
    """Of a permutation test of the mean ranks, exact for some few runs; None if none can be low."""
    ranks = stats.rankdata([*stock, *lab])
    one, other = ranks[: len(stock)], ranks[len(stock) :]

    def apart(a: Any, b: Any, axis: int) -> Any:
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    # of all ways to deal the runs out to two sides, the two in which all of one are above the other
    if 2 / math.comb(len(ranks), len(one)) >= LEAST_P:
        return None
    found = stats.permutation_test(
        (one, other), apart, vectorized=True, n_resamples=9999, rng=np.random.default_rng(1)
    )
    return float(found.pvalue)


def _states(stock: Sequence[float], lab: Sequence[float]) -> Sequence[State]:
    """The values that runs have, if these are few and far apart; none if they are all the same."""
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
    """Of a run: goodput in Mbit/s, or the time of a transfer in s; `share` is that of path 1."""

    value: float
    share: float | None
    retransmitted: int


def figures(entry: Entry) -> Figures:
    """Those of a run that is stored."""
    metrics = entry["metrics"]
    completion_s = metrics["completion_s"]
    value = metrics["goodput_bps"] / 1e6 if completion_s is None else completion_s
    share = entry["paths"][0]["share"] if len(entry["paths"]) > 1 else None
    return Figures(value, share, metrics["retransmitted_packets"])


#: What a side counts at one step: of the connection, and of each path.
Step = Mapping[str, int]


def steps(scenario: Scenario, directory: Path) -> list[Step]:
    """What the sender's kernel counts, STEP_NS after the start, and after each further STEP_NS.

    Raises MptcplabError if the records of the run cannot be read.
    """
    way = recorded.measured_way(scenario)
    samples = engine.read_samples(scenario, directory)["server" if way == "down" else "client"]
    start_ns = int(store.read_json(directory / engine.GUEST_OUTCOME)["start_ns"])
    found: dict[int, dict[str, int]] = {}
    for each in samples.connection:
        found.setdefault(_step(each, start_ns), {})["send buffer"] = int(each["sndbuf"])
    paths = records.path_indices(samples.subflow, scenario.first_path)
    for each, path in zip(samples.subflow, paths, strict=True):
        at = found.setdefault(_step(each, start_ns), {})
        for name, field in _COUNTED.items():
            at[f"{name} of path {path + 1}"] = int(each[field])
    last = next(number for number in range(1, len(found) + 2) if number not in found)
    return [found[number] for number in range(1, last)]


_COUNTED = {
    "bytes sent": "sent_bytes",
    "cwnd": "cwnd",
    "ssthresh": "ssthresh",
    "retransmissions": "retransmitted_packets",
}


def _step(sample: Any, start_ns: int) -> int:
    # not a whole step: the last one, which is taken when the workload is over
    number, rest = divmod(int(sample["time_ns"]) - start_ns, STEP_NS)
    return number if rest == 0 else -1


@dataclass(frozen=True)
class Equal:
    """Two runs count the same for `seconds`, or for their `whole` time; else `first` differs."""

    seconds: float
    whole: bool
    first: str

    @property
    def holds(self) -> bool:
        return self.whole or self.seconds >= WANTED_EQUAL_S


def equal(stock: Sequence[Step], lab: Sequence[Step]) -> Equal:
    """For how long two runs count the same, step by step."""
    for number, (theirs, ours) in enumerate(zip(stock, lab, strict=False)):
        for name in {**theirs, **ours}:
            if theirs.get(name) != ours.get(name):
                first = f"{name}: {theirs.get(name, 'none')} / {ours.get(name, 'none')}"
                return Equal(number * STEP_NS / 1e9, whole=False, first=first)
    return Equal(min(len(stock), len(lab)) * STEP_NS / 1e9, whole=True, first="")


def longest_equal(stock: Sequence[Step], lab: Sequence[Sequence[Step]]) -> Equal:
    """That with whichever run of the lab it is the longest: their phases may differ."""
    return max((equal(stock, each) for each in lab), key=lambda each: (each.whole, each.seconds))
