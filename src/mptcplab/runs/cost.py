# SPDX-License-Identifier: GPL-2.0-only
"""How long runs take on the wall clock: an estimate, which finished runs correct.

A run costs its start, something for each second of virtual time, and most for its packets. The
runs that have ended show how much longer this takes on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
# packet.
_RUN_S, _VIRTUAL_S, _PACKET_S = 0.35, 0.004, 2.5e-6
#: A distribution's kernel is interpreted.
TIMES_AS_LONG = 70.0


@dataclass(frozen=True)
class Size:
    """What the cost of a run is estimated from. It takes about `times` as long as in the lab."""

    virtual_s: float
    packets: float
    times: float = 1.0

    @property
    def guessed_s(self) -> float:
        """What such a run takes, in seconds of one worker, as long as none has ended."""
        per_run_s = _RUN_S + _VIRTUAL_S * self.virtual_s + _PACKET_S * self.packets
        return self.times * per_run_s


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
    return Size(virtual_s, packets, times_as_long(kernel))


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
        self._guessed_s = {key: each.guessed_s for key, each in sizes.items()}
        # of the runs that have ended
        self._took_s = self._ended_s = 0.0

    def took(self, key: str, seconds: float) -> None:
        """A run has ended, after `seconds` of wall-clock time."""
        self._took_s += seconds
        self._ended_s += self._guessed_s[key]

    def of(self, key: str) -> float:
        """What a run takes, in seconds."""
        return self._guessed_s[key] * (self._took_s / self._ended_s if self._ended_s else 1.0)
