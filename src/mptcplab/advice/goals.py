# SPDX-License-Identifier: GPL-2.0-only
"""What to optimise several paths for: throughput, low latency, resilience, each a figure of runs.

Throughput is the goodput of bulk data. Latency is the delay of the requested application or of a
stream that any path could carry alone. Resilience is the latency of such an application while a
path is in trouble; each path once, and the worst counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mptcplab.advice import Name
from mptcplab.advice.ranking import Scale
from mptcplab.metrics.definitions import RunFigures
from mptcplab.metrics.recorded import measured_direction
from mptcplab.plan import bottlenecks, timeline
from mptcplab.scenario import workload
from mptcplab.scenario.limits import DIRECTIONS, Direction
from mptcplab.scenario.model import LONGEST_NS, Change, Event, Scenario
from mptcplab.scenario.workload import AnyWorkload, Bulk, Cbr, Frames, Requests

# A stream of half the rate of the slowest path, so that each path could carry it alone in all
# variations, and at most that of a video in full HD, since its bytes cost most of the CPU time;
# 8 KB as in Paasch et al. 2014, but at least 10 blocks a second and at most 60, as many as a video
# has frames.
_STREAM_SHARE = 0.5
_MOST_STREAM_BPS = 10_000_000
_MOST_BLOCKS_PER_S = 60
_FEWEST_BLOCKS_PER_S = 10
_LEAST_STREAM_BPS = 8000
_MOST_BLOCKS = workload.MAX_MESSAGES // 2  # in each direction

# Shares of the measured time: a path is lost, comes back, and later carries a tenth with three
# times the delay, as in an LTE handover at high speed (Cech 2020, section 5). In 20 s each lasts
# 2.7 s, which is long compared with the 200 ms after which TCP first suspects a path.
_LOST_AT, _DEGRADED_AT, _LASTS = 0.2, 0.6, 0.15
_DEGRADED = Change(rate_factor=0.1, delay_factor=3.0)

# Negligible differences: a hundredth of the goodput or of all frames, a fiftieth of a time. What is
# advised shall be within a twentieth of the best on other seeds, too.
_GOODPUT_MARGIN, _FRAMES_MARGIN, _TIME_MARGIN = 0.01, 1.0, 0.02


@dataclass(frozen=True)
class GoalFigure:
    """A figure that judges a goal: the metrics that it is the sum of, and how it is written.

    `finer`, if any, is a metric that tells apart what ties in it: a percentile of few runs may be
    the same with few losses and without any, a mean is not.
    """

    metrics: tuple[str, ...]
    unit: str
    text: str
    scale: Scale
    factor: float = 1.0
    finer: str | None = None

    def of(self, metrics: RunFigures) -> float | None:
        """The figure of a run; None if the run does not have it."""
        values = [metrics[name] for name in self.metrics]
        known = [value for value in values if value is not None]
        return self.factor * float(sum(known)) if known == values else None


_MEAN_MS = "completion_ms_mean"
_TIME = Scale(less_is_better=True, margin=_TIME_MARGIN)
_GOODPUT = Scale(less_is_better=False, margin=_GOODPUT_MARGIN)
_FRAMES = Scale(less_is_better=False, margin=_FRAMES_MARGIN, absolute=True)
_CARRIED = GoalFigure(("goodput_bps",), "%", "goodput, of what the paths can carry", _GOODPUT)
_IN_TIME = GoalFigure(("in_time",), "%", "frames in time", _FRAMES, 100)
_LATENCY: Mapping[str, GoalFigure] = {
    "cbr": GoalFigure(
        ("delay_ms_p99",), "ms", "delay of a block, 99th percentile", _TIME, finer="delay_ms_mean"
    ),
    "requests": GoalFigure(
        ("completion_ms_p99",), "ms", "response time, 99th percentile", _TIME, finer=_MEAN_MS
    ),
    "transfers": GoalFigure(
        ("completion_ms_p95",), "ms", "transfer time, 95th percentile", _TIME, finer=_MEAN_MS
    ),
    "web": GoalFigure(("page_load_s",), "s", "page load time", _TIME),
    "video": GoalFigure(("startup_s", "stall_s"), "s", "wait for the start and in stalls", _TIME),
    "frames": _IN_TIME,
    "tunnel": GoalFigure(("call_delay_ms_p99",), "ms", "delay of the call, 99th percentile", _TIME),
}
_RESILIENCE: Mapping[str, GoalFigure] = {
    "cbr": GoalFigure(("delay_ms_max",), "ms", "longest delay of a block", _TIME),
    "requests": GoalFigure(("completion_ms_max",), "ms", "longest response time", _TIME),
    "frames": _IN_TIME,
}


def figure_of(kind: str) -> GoalFigure:
    """What judges a workload of this kind: of bulk data its goodput, of all others how late their
    messages are.
    """
    return _CARRIED if kind == "bulk" else _LATENCY[kind]


@dataclass(frozen=True)
class Goal:
    """A goal for the paths of a scenario: its runs, and the figure that judges them.

    `load` is the workload; each of the paths `troubled` is in trouble in a run of its own; without
    any there is a single run.
    """

    name: Name
    load: AnyWorkload
    figure: GoalFigure
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

    def finer(self, runs: Sequence[RunFigures]) -> float | None:
        """The finer figure of a variation, less is better; None if there is none."""
        if self.figure.finer is None:
            return None
        values = [metrics[self.figure.finer] for metrics in runs]
        known = [float(value) for value in values if value is not None]
        return max(known) if len(known) == len(values) else None

    def extra(self, scenario: Scenario, metrics: RunFigures) -> float | None:
        """The data sent beyond one copy of each byte, in % of the data that arrived."""
        wasted, goodput = metrics.wasted_bytes, _goodput_bps(metrics)
        span_s = metrics.completion_s or (scenario.workload.duration_ns or 0) / 1e9
        if wasted is None or not goodput or not span_s:
            return None
        return float(100 * 8 * wasted / (goodput * span_s))


@dataclass(frozen=True)
class Span:
    """How long bulk data is sent; and how much of the stream, which lasts no shorter than that, and
    no longer than usual.
    """

    duration_ns: int
    stream_bytes: int


def goals(base: Scenario, span: Span | None = None) -> list[Goal]:
    """The goals for the paths of a scenario, with its workload as far as it can judge them.

    Bulk data and the stream are sent for as long as `span` says, or (None) the workload. Resilience
    needs two paths that last, so that one can be in trouble.
    """
    asked = base.workload
    times = _span(base, None if span is None else span.duration_ns)
    stream = _stream(base, *times)
    if span is not None:
        took_ns = span.stream_bytes * 8 * 10**9 // (stream.rate_bps or 1)
        most_ns = max(span.duration_ns, workload.DEFAULT_DURATION_NS)
        stream = _stream(base, *_span(base, min(max(took_ns, span.duration_ns), most_ns)))
    latency = stream if isinstance(asked, Bulk) else asked
    steady = isinstance(asked, Cbr | Requests | Frames) and asked.duration_ns is not None
    lasting = asked if steady else stream
    found = [
        Goal("throughput", _bulk(base, *times), _CARRIED),
        Goal("latency", latency, _LATENCY[latency.kind]),
    ]
    paths = base.lasting_paths()
    if len(paths) > 1:
        found.append(Goal("resilience", lasting, _RESILIENCE[lasting.kind], tuple(paths)))
    return found


def capacity_bps(scenario: Scenario, direction: Direction) -> float:
    """The mean capacity of all paths together while measured; each shared link counts once."""
    begin_ns = scenario.workload.warmup_ns
    end_ns = max(scenario.workload.duration_ns or LONGEST_NS, begin_ns + 1)
    rates = bottlenecks.capacity_together(scenario, direction)
    return timeline.mean_rate_bps(rates, begin_ns, end_ns)


def _carried(scenario: Scenario, metrics: RunFigures) -> float:
    """Goodput as a share of what the paths can carry, in %; both directions together, if used."""
    both = scenario.workload.direction == "both"
    directions = DIRECTIONS if both else (measured_direction(scenario),)
    capacity = sum(capacity_bps(scenario, direction) for direction in directions)
    return 100 * _goodput_bps(metrics) / capacity


def _goodput_bps(metrics: RunFigures) -> float:
    return float((metrics.goodput_bps or 0) + (metrics.goodput_down_bps or 0))


def _bulk(base: Scenario, duration_ns: int, warmup_ns: int) -> Bulk:
    return Bulk(
        direction=base.workload.direction,
        duration_ns=duration_ns,
        warmup_ns=warmup_ns,
        start=base.workload.start,
        no_delay=isinstance(base.workload, Bulk) and base.workload.no_delay,
    )


def _stream(base: Scenario, duration_ns: int, warmup_ns: int) -> Cbr:
    direction = measured_direction(base)
    slowest_bps = min(
        timeline.mean_rate_bps(rates, 0, duration_ns)
        for rates in timeline.rates(base, direction).values()
    )
    rate_bps = min(int(slowest_bps * _STREAM_SHARE), _MOST_STREAM_BPS)
    rate_bps = max(rate_bps, _LEAST_STREAM_BPS)
    block_bytes = min(workload.DEFAULT_BLOCK_BYTES, rate_bps // (8 * _FEWEST_BLOCKS_PER_S))
    block_bytes = max(block_bytes, rate_bps // (8 * _MOST_BLOCKS_PER_S))
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


def _span(base: Scenario, duration_ns: int | None) -> tuple[int, int]:
    """How long bulk data and streams are sent, and how much of it is warm-up.

    A workload that ends when its data has arrived, and video, do not say it.
    """
    asked = base.workload
    lasting = Cbr | Requests | Frames
    says = isinstance(asked, lasting | Bulk if duration_ns is None else lasting)
    if says and asked.duration_ns is not None:
        return asked.duration_ns, asked.warmup_ns
    span_ns = duration_ns or workload.DEFAULT_DURATION_NS
    return span_ns, span_ns // 10


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
