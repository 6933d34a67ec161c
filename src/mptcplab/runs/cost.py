# SPDX-License-Identifier: GPL-2.0-only
"""How long runs take on the wall clock: an estimate, which finished runs correct.

A run costs its start, something for each second of virtual time, and most for its packets. The
runs that have ended show how much longer this takes here: a factor for each group of schedulers and
workloads.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
# The weight of the factor of all runs in that of a group, as a number of the group's runs.
_GROUP_RUNS = 2.0

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


def guess(sizes: Sequence[Size], at_a_time: int) -> float:
    """How long runs take that are made `at_a_time`, in seconds, before any has ended."""
    by_number = {str(number): size for number, size in enumerate(sizes)}
    return Costs(by_number).together(by_number, at_a_time)


class Costs:
    """What runs of some sizes take, by their keys, in seconds of one worker."""

    def __init__(self, sizes: Mapping[str, Size]) -> None:
        self._number = {key: number for number, key in enumerate(sizes)}
        features = np.array(
            [
                [each.times, each.times * each.virtual_s, each.times * each.packets]
                for each in sizes.values()
            ],
            dtype=np.float64,
        ).reshape(-1, 3)
        self._guessed_s: Floats = features @ _PRIOR
        groups = {
            group: n for n, group in enumerate(dict.fromkeys(s.group for s in sizes.values()))
        }
        self._group = np.array([groups[each.group] for each in sizes.values()], dtype=np.int64)
        # by group: of the runs that have ended
        self._took_s, self._ended_s = np.zeros(len(groups)), np.zeros(len(groups))

    def took(self, key: str, seconds: float) -> None:
        """A run has ended, after `seconds` of wall-clock time."""
        number = self._number[key]
        self._took_s[self._group[number]] += seconds
        self._ended_s[self._group[number]] += self._guessed_s[number]

    def of(self, key: str) -> float:
        """What a run takes, in seconds."""
        return float(self.of_all([key])[0])

    def of_all(self, keys: Collection[str]) -> Floats:
        """What some runs take, in seconds, in their order."""
        numbers = [self._number[key] for key in keys]
        found: Floats = self._guessed_s[numbers] * self._factors()[self._group[numbers]]
        return found

    def together(self, keys: Collection[str], at_a_time: int) -> float:
        """How long some runs take that are made `at_a_time`, in seconds; 0 without any."""
        if not keys:
            return 0.0
        each = self.of_all(keys)
        return max(float(each.sum()) / at_a_time, float(each.max()))

    def _factors(self) -> Floats:
        """How much longer than guessed each group takes; with few runs, nearly as much as all."""
        ended_s = self._ended_s.sum()
        of_all = self._took_s.sum() / ended_s if ended_s else 1.0
        some_s = _GROUP_RUNS * self._guessed_s.mean()
        factors: Floats = (self._took_s + some_s * of_all) / (self._ended_s + some_s)
        return factors
