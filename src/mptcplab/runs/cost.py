# SPDX-License-Identifier: GPL-2.0-only
"""How long runs take on the wall clock: an estimate, which finished runs correct.

A run costs its start, something for each second of virtual time, and most for its packets. These
three are fitted to the times that runs took on the machine; each group of schedulers and workloads
has a factor of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mptcplab import extras
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import timeline
from mptcplab.scenario import workload
from mptcplab.scenario.limits import DIRECTIONS
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Bulk

_PACKET_BYTES = 1448
# 2 s around the workload: the connection is set up before it, and closed after it.
_AROUND_S = 2.0
# Costs on a machine of 2024, in seconds: to start and end a run, per second of virtual time, per
# packet. They are used until a run has ended.
_PRIOR = np.array([0.35, 0.004, 2.5e-6])
# The weight of their ratios, as a fraction of a single run.
_PRIOR_WEIGHT = 0.1
# The weight of a factor of 1, as a number of the group's runs.
_GROUP_RUNS = 2.0
# Enough runs to fit three numbers; more would only take time.
_MOST_FITTED = 5000

#: A distribution's kernel is interpreted.
TIMES_AS_LONG = 70.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """What the cost of a run is estimated from; each `group` of runs has a factor of its own.

    It takes about `times` as long as one in the lab.
    """

    virtual_s: float
    packets: float
    group: Hashable = None
    times: float = 1.0


def size(scenario: Scenario, kernel: KernelBuild | None = None) -> Size:
    """The size of a run, as far as it is known beforehand."""
    packets = 0.0
    for pair in scenario.pairs():
        one = scenario.alone(pair)
        load = one.workload
        span_ns = _span_ns(one)
        if isinstance(load, Bulk) and load.size_bytes is None and span_ns:
            packets += sum(
                timeline.mean_rate_bps(each, 0, span_ns) * span_ns / 8e9 / _PACKET_BYTES
                for direction in DIRECTIONS
                if load.direction in (direction, "both")
                for each in timeline.rates(one, direction).values()
            )
        else:
            sizes = (message.sizes[:1] for message in workload.messages(load, scenario.seed))
            packets += sum(size for each in sizes for size in each) / _PACKET_BYTES
    virtual_s = expected_virtual_s(scenario)
    return Size(virtual_s, packets, group(scenario, kernel), times_as_long(kernel))


def group(scenario: Scenario, kernel: KernelBuild | None = None) -> tuple[str, ...]:
    """The group of a run: runs of a group cost alike for their size."""
    of_kernel = [kernel.id] if kernel and kernel.stock else []
    return scenario.scheduler.label, scenario.transport, scenario.workload.kind, *of_kernel


def times_as_long(kernel: KernelBuild | None) -> float:
    """How much longer runs with a kernel take than in the lab, as a guess until some have ended."""
    return TIMES_AS_LONG if kernel and kernel.stock else 1.0


def expected_virtual_s(scenario: Scenario) -> float:
    """An estimate of how long a run takes in virtual time."""
    expected_ns = [0]
    for pair in scenario.pairs():
        one = scenario.alone(pair)
        expected_ns.append(one.start_ns + _span_ns(one))
    return _AROUND_S + max(expected_ns) / 1e9


def _span_ns(one: Scenario) -> int:
    """How long the messages of a connection take at the rates that its paths begin with."""
    quiet = one.model_copy(update={"events": ()})
    up_bps, down_bps = (
        sum(rates[0][1] for rates in timeline.rates(quiet, direction).values())
        for direction in DIRECTIONS
    )
    return workload.expected_ns(one.workload, one.seed, up_bps, down_bps)


class Costs:
    """What runs of some sizes take, by their keys, in seconds of one worker."""

    def __init__(self, sizes: Mapping[str, Size]) -> None:
        self._number = {key: number for number, key in enumerate(sizes)}
        self._features = np.array(
            [
                [each.times, each.times * each.virtual_s, each.times * each.packets]
                for each in sizes.values()
            ],
            dtype=np.float64,
        ).reshape(-1, 3)
        groups = {
            group: n for n, group in enumerate(dict.fromkeys(s.group for s in sizes.values()))
        }
        self._group = np.array([groups[each.group] for each in sizes.values()], dtype=np.int64)
        self._took: dict[int, float] = {}
        self._fitted = 0
        self._of_each: Floats = self._features @ _PRIOR

    def took(self, key: str, seconds: float) -> None:
        """A run has ended, after `seconds` of wall-clock time."""
        self._took[self._number[key]] = seconds

    def of(self, key: str) -> float:
        """What a run takes, in seconds."""
        return float(self._guess()[self._number[key]])

    def of_all(self, keys: Collection[str]) -> Floats:
        """What some runs take, in seconds, in their order."""
        chosen: Floats = self._guess()[[self._number[key] for key in keys]]
        return chosen

    def together(self, keys: Collection[str], at_a_time: int) -> float:
        """How long some runs take that are made `at_a_time`, in seconds; 0 without any."""
        if not keys:
            return 0.0
        each = self.of_all(keys)
        return max(float(each.sum()) / at_a_time, float(each.max()))

    def _guess(self) -> Floats:
        """Fit again when there are a twentieth more runs."""
        if len(self._took) > 1.05 * self._fitted:
            self._fitted = len(self._took)
            self._of_each = self._fit()
        return self._of_each

    def _fit(self) -> Floats:
        extras.require("sweep", "an estimate of how long runs take", "scipy")
        from scipy.optimize import nnls  # takes a moment

        ended = np.fromiter(self._took, np.int64, len(self._took))
        took = np.fromiter(self._took.values(), np.float64, len(self._took))
        if len(ended) > _MOST_FITTED:
            some = np.linspace(0, len(ended) - 1, _MOST_FITTED).astype(np.int64)
            ended, took = ended[some], took[some]
        groups = int(self._group.max()) + 1
        factor = np.ones(groups)
        prior_s = self._features @ _PRIOR
        # alternately the common costs and the groups' factors
        for _ in range(3):
            # relative errors count: each row is divided by its result
            weights = 1 / np.maximum(took, 1e-3)
            lines = self._features[ended] * (factor[self._group[ended]] * weights)[:, None]
            scaled = _PRIOR * np.median(took / (factor[self._group[ended]] * prior_s[ended]))
            prior = _PRIOR_WEIGHT * np.diag(1 / scaled)
            matrix = np.vstack([lines, prior])
            wanted = np.concatenate([np.ones(len(ended)), np.full(3, _PRIOR_WEIGHT)])
            common, _ = nnls(matrix, wanted)
            base = self._features @ common
            usual = np.bincount(self._group, base, groups) / np.bincount(
                self._group, minlength=groups
            )
            known = np.bincount(self._group[ended], took, groups)
            expected = np.bincount(self._group[ended], base[ended], groups)
            factor = (known + _GROUP_RUNS * usual) / (expected + _GROUP_RUNS * usual)
        guess: Floats = base * factor[self._group]
        return guess


def in_order(keys: Sequence[str], costs: Costs) -> list[str]:
    """The best order of runs: the longest first, so that no CPU is idle at the end.

    Before them go some of all lengths, a twentieth but no more than 50, to estimate the others.
    """
    takes_s = dict(zip(keys, costs.of_all(keys).tolist(), strict=True))
    longest = sorted(keys, key=lambda key: -takes_s[key])
    count = min(len(longest) // 20, 50)
    scouts = {longest[int((n + 0.5) * len(longest) / count)] for n in range(count)}
    return [key for key in longest if key in scouts] + [k for k in longest if k not in scouts]


@dataclass
class Left:
    """The time left of many runs, with `jobs` workers at a time.

    All times are in seconds of the wall clock, from any start.
    """

    costs: Costs
    jobs: int
    waiting: dict[str, None]
    under_way: dict[str, float] = field(default_factory=dict)

    def began(self, key: str, now_s: float) -> None:
        self.waiting.pop(key, None)
        self.under_way[key] = now_s

    def ended(self, key: str, took_s: float) -> None:
        """`took_s` 0: it failed, which says nothing about how long others take."""
        self.waiting.pop(key, None)
        self.under_way.pop(key, None)
        if took_s:
            self.costs.took(key, took_s)

    def seconds(self, now_s: float) -> float:
        """Until all of them have ended."""
        waiting = float(self.costs.of_all(self.waiting).sum()) if self.waiting else 0.0
        rests = [
            max(self.costs.of(key) - (now_s - begun_s), 0.0)
            for key, begun_s in self.under_way.items()
        ]
        return max([(waiting + sum(rests)) / self.jobs, *rests])
