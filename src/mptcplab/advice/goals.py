# SPDX-License-Identifier: GPL-2.0-only
"""What to optimise several paths for: throughput, low latency, resilience, each a figure of runs.

Throughput is that of bulk data. Latency is that of the requested application or, without one, of a
stream that any path could carry alone. Resilience is the latency of such an application while a
path is in trouble; each path once, and the worst counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mptcplab.advice.ranking import Scale
from mptcplab.metrics.definitions import RunFigures
from mptcplab.metrics.recorded import measured_direction
from mptcplab.spec import resolve_workload, timeline, workload
from mptcplab.spec.limits import DIRECTIONS, Direction
from mptcplab.spec.scenario import LONGEST_NS, Change, Event, Scenario
from mptcplab.spec.workload import AnyWorkload, Bulk, Cbr, Frames, Requests

Name = Literal["throughput", "latency", "resilience"]

# A stream of half the rate of the slowest path, so that each path could carry it alone in all
# variations; 8 KB as in Paasch et al. 2014, but at least 10 blocks a second and at most 1000.
_STREAM_SHARE = 0.5
_MOST_BLOCKS_PER_S = 1000
_FEWEST_BLOCKS_PER_S = 10
_LEAST_STREAM_BPS = 8000
_MOST_BLOCKS = workload.MAX_MESSAGES // 2  # in each direction

_MBIT = 1e6

# Shares of the measured time: a path is lost, comes back, and later carries a tenth with three
# times the delay, as in an LTE handover at high speed (Cech 2020, section 5). In 20 s each lasts
# 2.7 s, which is long compared with the 200 ms after which TCP first suspects a path.
_LOST_AT, _DEGRADED_AT, _LASTS = 0.2, 0.6, 0.15
_DEGRADED = Change(rate_factor=0.1, delay_factor=3.0)

# Negligible differences: a hundredth of what the paths carry, or of the frames; a twentieth of a
# time.
_SHARE_MARGIN, _TIME_MARGIN = 1.0, 0.05


@dataclass(frozen=True)
class Figure:
    """A figure that judges a goal: the metrics that it is the sum of, and how it is written."""

    metrics: tuple[str, ...]
    unit: str
    text: str
    scale: Scale
    factor: float = 1.0

    def of(self, metrics: RunFigures) -> float | None:
        """The figure of a run; None if the run does not have it."""
        values = [metrics[name] for name in self.metrics]
        known = [value for value in values if value is not None]
        return self.factor * float(sum(known)) if known == values else None


_TIME = Scale(less_is_better=True, margin=_TIME_MARGIN)
_SHARE = Scale(less_is_better=False, margin=_SHARE_MARGIN, absolute=True)
_CARRIED = Figure(("goodput_bps",), "%", "goodput, of what the paths can carry", _SHARE)
_IN_TIME = Figure(("in_time",), "%", "frames in time", _SHARE, 100)
_LATENCY: Mapping[str, Figure] = {
    "cbr": Figure(("delay_ms_p99",), "ms", "delay of a block, 99th percentile", _TIME),
    "requests": Figure(("completion_ms_p99",), "ms", "response time, 99th percentile", _TIME),
    "transfers": Figure(("completion_ms_p95",), "ms", "transfer time, 95th percentile", _TIME),
    "web": Figure(("page_load_s",), "s", "page load time", _TIME),
    "video": Figure(("startup_s", "stall_s"), "s", "wait for the start and in stalls", _TIME),
    "frames": _IN_TIME,
}
_RESILIENCE: Mapping[str, Figure] = {
    "cbr": Figure(("delay_ms_max",), "ms", "longest delay of a block", _TIME),
    "requests": Figure(("completion_ms_max",), "ms", "longest response time", _TIME),
    "frames": _IN_TIME,
}


@dataclass(frozen=True)
class Goal:
    """A goal for the paths of a scenario: what is run for it, and what judges it.

    `load` is the workload; each of the paths `troubled` is in trouble in a run of its own; without
    any there is a single run.
    """

    name: Name
    load: AnyWorkload
    figure: Figure
    troubled: tuple[str, ...] = ()

    def scenarios(self, varied: Scenario) -> list[Scenario]:
        own = varied.model_copy(update={"workload": self.load})
        return [_in_trouble(own, path) for path in self.troubled] or [own]

    def of(self, scenarios: Sequence[Scenario], runs: Sequence[RunFigures]) -> float | None:
        """The figure of a variation: the worst of its runs; None if one of them lacks it."""
        found = []
        for scenario, metrics in zip(scenarios, runs, strict=True):
            value = self.figure.of(metrics)
            if value is None:
                return None
            if self.name == "throughput":
                value = _carried(scenario, metrics)
            found.append(value)
        return max(found) if self.figure.scale.less_is_better else min(found)

    def extra(self, scenario: Scenario, metrics: RunFigures) -> float | None:
        """What was sent beyond one copy of each byte, in % of what arrived."""
        wasted, goodput = metrics.wasted_bytes, _goodput_bps(metrics)
        span_s = metrics.completion_s or (scenario.workload.duration_ns or 0) / 1e9
        if wasted is None or not goodput or not span_s:
            return None
        return float(100 * 8 * wasted / (goodput * span_s))


def goals(base: Scenario) -> list[Goal]:
    """The goals for the paths of a scenario, with its workload as far as it can judge them.

    Resilience needs two paths that last, so that one can be in trouble.
    """
    asked = base.workload
    stream = _stream(base)
    latency = stream if isinstance(asked, Bulk) else asked
    steady = isinstance(asked, Cbr | Requests | Frames) and asked.duration_ns is not None
    lasting = asked if steady else stream
    found = [
        Goal("throughput", _bulk(base), _CARRIED),
        Goal("latency", latency, _LATENCY[latency.kind]),
    ]
    paths = base.lasting_paths()
    if len(paths) > 1:
        found.append(Goal("resilience", lasting, _RESILIENCE[lasting.kind], tuple(paths)))
    return found


def capacity_bps(scenario: Scenario, direction: Direction) -> float:
    """What the paths can carry together while measured; each shared link counts once."""
    begin_ns = scenario.workload.warmup_ns
    end_ns = max(scenario.workload.duration_ns or LONGEST_NS, begin_ns + 1)
    rates = {
        name: timeline.mean_rate_bps(each, begin_ns, end_ns)
        for name, each in timeline.link_rates(scenario, direction).items()
    }
    if not scenario.links:
        return sum(rates.values())
    from scipy.optimize import linprog  # takes a second

    # the largest total flow over all paths such that no link carries more than its rate
    names = list(rates)
    uses = np.array(
        [[name in (path.name, *path.links) for path in scenario.paths] for name in names], float
    )
    limits_mbps = [rates[name] / _MBIT for name in names]
    most = linprog(-np.ones(len(scenario.paths)), A_ub=uses, b_ub=limits_mbps)
    assert most.x is not None, "sending nothing is within all limits"
    return float(most.x.sum()) * _MBIT


def _carried(scenario: Scenario, metrics: RunFigures) -> float:
    """Goodput as a share of what the paths can carry, in %; both directions together, if used."""
    both = scenario.workload.direction == "both"
    directions = DIRECTIONS if both else (measured_direction(scenario),)
    capacity = sum(capacity_bps(scenario, direction) for direction in directions)
    return 100 * _goodput_bps(metrics) / capacity


def _goodput_bps(metrics: RunFigures) -> float:
    return float((metrics.goodput_bps or 0) + (metrics.goodput_down_bps or 0))


def _bulk(base: Scenario) -> Bulk:
    duration_ns, warmup_ns = _span(base)
    return Bulk(
        direction=base.workload.direction,
        duration_ns=duration_ns,
        warmup_ns=warmup_ns,
        start=base.workload.start,
        no_delay=isinstance(base.workload, Bulk) and base.workload.no_delay,
    )


def _stream(base: Scenario) -> Cbr:
    duration_ns, warmup_ns = _span(base)
    direction = measured_direction(base)
    slowest_bps = min(
        timeline.mean_rate_bps(rates, 0, duration_ns)
        for rates in timeline.rates(base, direction).values()
    )
    rate_bps = max(int(slowest_bps * _STREAM_SHARE), _LEAST_STREAM_BPS)
    rate_bps = min(rate_bps, 8 * resolve_workload.DEFAULT_BLOCK_BYTES * _MOST_BLOCKS_PER_S)
    block_bytes = min(resolve_workload.DEFAULT_BLOCK_BYTES, rate_bps // (8 * _FEWEST_BLOCKS_PER_S))
    least_bytes = rate_bps * duration_ns // (8 * 10**9 * _MOST_BLOCKS) + 1
    return Cbr(
        direction=base.workload.direction,
        duration_ns=duration_ns,
        warmup_ns=warmup_ns,
        start=base.workload.start,
        block_bytes=max(block_bytes, least_bytes),
        rate_bps=rate_bps,
        interval_ns=None,
    )


def _span(base: Scenario) -> tuple[int, int]:
    """How long bulk data and streams are sent, and how much of it is warm-up: as requested.

    The default is used for a workload that ends when its data has arrived, and for video.
    """
    asked = base.workload
    if isinstance(asked, Bulk | Cbr | Requests | Frames) and asked.duration_ns is not None:
        return asked.duration_ns, asked.warmup_ns
    return resolve_workload.DEFAULT_DURATION_NS, resolve_workload.DEFAULT_DURATION_NS // 10


def _in_trouble(scenario: Scenario, path: str) -> Scenario:
    """The same scenario, with a path that is lost for a while, and later degraded."""
    begin_ns = scenario.workload.warmup_ns
    measured_ns = (scenario.workload.duration_ns or 0) - begin_ns

    def at(share: float) -> int:
        return begin_ns + int(share * measured_ns)

    lasts_ns = max(int(_LASTS * measured_ns), 1)
    troubles = (
        Event(at_ns=at(_LOST_AT), path=path, action="down", lasts_ns=lasts_ns),
        Event(
            at_ns=at(_DEGRADED_AT),
            path=path,
            action="handover",
            lasts_ns=lasts_ns,
            up=_DEGRADED,
            down=_DEGRADED,
        ),
    )
    # at the end, since the random numbers of an event depend on its position
    return scenario.model_copy(update={"events": (*scenario.events, *troubles)})
