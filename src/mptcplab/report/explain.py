# SPDX-License-Identifier: GPL-2.0-only
"""Why a run did not reach the sum of its paths, in plain sentences with figures.

What the links could have carried is compared with what they did, sample by sample. A link that had
nothing to send is missed capacity, and the reason is what kept the sender from sending over that
path when it should have. What the links carried beyond goodput is headers and copies. The parts add
up to what is missing, except for a remainder, which is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import engine
from mptcplab.metrics import handover, recorded, records
from mptcplab.metrics.compute import RunMetrics, run_metrics
from mptcplab.metrics.recorded import Flow, increase, within
from mptcplab.metrics.sender_states import State, path_states
from mptcplab.runs import documents, store
from mptcplab.spec import timeline
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.units import NS_PER_S, format_time

_BITS_PER_BYTE = 8
_MBIT = 1e6
_CA_LOSS = 4

#: The text names a reason if it takes at least this fraction of what the paths can carry.
_WORTH_TELLING = 0.005
#: Up to this many runs in a directory are listed.
_MANY = 8
#: Smaller parts are left out.
_ROUNDED = 0.0005
#: The states that data waiting for an earlier byte causes, and from which fraction of the time on
#: the wait is reported.
_FULL_BUFFERS = ("window", "send_buffer")
_BLOCKED_MUCH = 0.1
#: The same for trouble of a path, which is named instead.
_TROUBLED_MUCH = 0.5


@dataclass(frozen=True)
class Reason:
    """A part of the missing goodput: how much, why, and on which path (None: on all).

    `kind` is a state of module `sender_states` in small letters, where `cwnd` is replaced by what
    made the window small: `losses`, `timeout` or `growth`; or it is `event`, `headers` or `copies`.
    `idle` is the fraction of the time for which the link was idle for this reason.
    """

    kind: str
    path: str | None
    bps: float
    idle: float | None
    text: str


@dataclass(frozen=True)
class Explanation:
    """How the capacity of a run's paths was used; all rates over the measured time, in bit/s.

    `capacity_bps` is the sum over the paths of what they can carry without events. It is
    `goodput_bps`, the reasons, the largest first, and `not_explained_bps`. `facts` are further
    sentences that do not count in the sum.
    """

    title: str
    goodput_bps: float
    capacity_bps: float
    reasons: list[Reason]
    not_explained_bps: float
    facts: list[str]

    def text(self) -> str:
        """Plain text for a terminal."""
        missing = self.capacity_bps - self.goodput_bps
        lines = [
            f"{self.title}: {_rate(self.goodput_bps)} of the {_rate(self.capacity_bps)} that its "
            f"paths can carry ({_percent(self.goodput_bps / self.capacity_bps)}).",
            f"Of the {_rate(missing)} missing:",
        ]
        named = [r for r in self.reasons if abs(r.bps) >= _WORTH_TELLING * self.capacity_bps]
        lines += [f"  {_rate(reason.bps)}: {reason.text}" for reason in named]
        small = sum(reason.bps for reason in self.reasons if reason not in named)
        if abs(small) >= _ROUNDED * self.capacity_bps:
            lines.append(f"  {_rate(small)}: smaller reasons, which --json has")
        lines.append(f"  {_rate(self.not_explained_bps)}: not explained")
        return "\n".join([*lines, *self.facts])

    def document(self) -> dict[str, Any]:
        """The explanation, ready for JSON."""
        return asdict(self)


def find_run(path: Path) -> Path:
    """The directory of the run: the given one, or that in an output directory with a single run.

    Raises InputError.
    """
    if (path / store.SCENARIO).is_file():
        return path
    runs = sorted(d for d in path.glob("runs/*") if (d / store.SCENARIO).is_file())
    if len(runs) == 1:
        return runs[0]
    if not path.exists():
        message = "there is no such directory"
    elif not runs:
        message = "is neither a run nor has one: a run is OUT/runs/KEY, with OUT as in --out OUT"
    else:
        names = ", ".join(_described(run) for run in runs[:_MANY])
        names += ", ..." if len(runs) > _MANY else ""
        message = f"has {len(runs)} runs; give one or several of them: {names}"
    raise InputError([Problem("explain", "", str(path), message)])


def explain(directory: Path) -> Explanation:
    """Explain the run in `directory`. Raises MptcplabError if its files cannot be read."""
    scenario = store.read_scenario(directory)
    if scenario.connections or scenario.links:
        raise MptcplabError(
            f"{directory}: it has several connections, or links that paths share; what a "
            "path could carry depends on the others there, and is not explained"
        )
    store.require_records(directory)
    guest = documents.read(directory / engine.GUEST_OUTCOME, documents.GUEST)
    client = records.read_samples(directory / engine.CLIENT_SAMPLES)
    server = records.read_samples(directory / engine.SERVER_SAMPLES)
    links = records.read_links(directory / engine.LINKS_SAMPLES)
    with documents.contradictions_reported(directory):
        known = dict(guest)
        figures = run_metrics(scenario, client, server, known, links)
        direction = recorded.measured_direction(scenario, client)
        flow = recorded.flow(scenario, client, server, links, known, direction)
        return of_run(scenario, flow, figures, guest.start_ns)


def of_run(scenario: Scenario, flow: Flow, figures: RunMetrics, start_ns: int) -> Explanation:
    """Explain a run by its records and its figures; `start_ns` is T0."""
    goodput_bps = figures.metrics.goodput_bps or 0.0
    span_ns = [at_ns - start_ns for at_ns in flow.interval]
    plain = timeline.rates(scenario.model_copy(update={"events": ()}), flow.direction)
    rates = timeline.rates(scenario, flow.direction)
    capacity_bps = 0.0
    reasons: list[Reason] = []
    overhead_bps = 0.0
    causes = [_causes(scenario, flow, index) for index in range(len(scenario.paths))]
    blocking = _blocking_paths(scenario, flow)
    troubled = _troubled(scenario, flow, causes, plain, rates, start_ns)
    for index, path in enumerate(scenario.paths):
        could_bps = timeline.mean_rate_bps(plain[path.name], *span_ns)
        can_bps = timeline.mean_rate_bps(rates[path.name], *span_ns)
        capacity_bps += could_bps
        if could_bps > can_bps:
            text = f"events on path {path.name} left it {_rate(can_bps)} of {_rate(could_bps)}"
            reasons.append(Reason("event", path.name, could_bps - can_bps, None, text))
        idle, carried_bps = _idle(scenario, flow, index, rates[path.name], causes[index], start_ns)
        received = recorded.arrived_over(flow.receiver.on_path(index), flow.interval)
        overhead_bps += carried_bps - _mean_bps(received, flow)
        for kind, bps in idle.items():
            share = bps / can_bps if can_bps else 0.0
            text = f"path {path.name} was idle {_percent(share)} of the time because "
            text += _why(kind, scenario, flow, figures, index)
            if kind in _FULL_BUFFERS:
                text += _held_up_by(scenario, blocking, troubled, causes[index] == kind)
            reasons.append(Reason(kind, path.name, bps, share, text))
    reasons.append(
        Reason("headers", None, overhead_bps, None, "headers of packets, and what TCP sends twice")
    )
    copies_bps = _mean_bps(_copies_bytes(flow), flow)
    reasons.append(
        Reason("copies", None, copies_bps, None, "data that arrived over more than one path")
    )
    reasons = sorted((r for r in reasons if r.bps), key=lambda r: -r.bps)
    return Explanation(
        title=_title(scenario),
        goodput_bps=goodput_bps,
        capacity_bps=capacity_bps,
        reasons=reasons,
        not_explained_bps=capacity_bps - goodput_bps - sum(r.bps for r in reasons),
        facts=[*_facts(figures), *_reactions(scenario, flow, start_ns)],
    )


def _described(directory: Path) -> str:
    try:
        scenario = store.read_scenario(directory)
    except MptcplabError:
        return str(directory)
    return f"{directory} ({_title(scenario)})"


def _idle(
    scenario: Scenario,
    flow: Flow,
    path: int,
    rates: Sequence[tuple[int, int]],
    causes: npt.NDArray[np.str_],
    start_ns: int,
) -> tuple[dict[str, float], float]:
    """What a link could have carried and did not, by reason, and what it carried; in bit/s.

    What is missing between two samples is charged to the state of the sender when it should have
    sent: earlier by the delay of the path. A packet counts when it has left, so a busy link may
    seem to carry a packet too few between two samples and one too many between the next two.
    """
    queue = flow.queues[path]
    # a workload with a size completes between two samples: count what the link carried by the next
    edges = np.unique(np.append(flow.times, flow.interval.end_ns))
    sent = recorded.counted(queue, "sent_bytes", edges)
    last = min(int(np.searchsorted(queue["time_ns"], edges[-1])), len(queue) - 1)
    sent[-1] = queue["sent_bytes"][last]
    carried = np.diff(sent) * _BITS_PER_BYTE * NS_PER_S
    could = np.diff(_carried(rates, edges - start_ns))
    delay_ns = getattr(scenario.paths[path], flow.direction).delay_ns
    then = np.searchsorted(flow.times, edges[:-1] - delay_ns, side="right") - 1
    causes = causes[np.maximum(then, 0)]
    missing = could - carried
    length_ns = flow.interval.length_ns
    return (
        {
            str(cause): float(missing[causes == cause].sum()) / length_ns
            for cause in np.unique(causes)
        },
        float(carried.sum()) / length_ns,
    )


def _causes(scenario: Scenario, flow: Flow, path: int) -> npt.NDArray[np.str_]:
    """The state of a path at the flow's times, by name, and what made a congestion window small."""
    names = np.array([state.name.lower() for state in State])
    found: npt.NDArray[np.str_] = names[path_states(flow, scenario)[path]]
    for subflow in flow.sender.on_path(path):
        inside = subflow.records[within(subflow.records["time_ns"], flow.interval)]
        small = np.select(
            [
                inside["ca_state"] == _CA_LOSS,
                (inside["cwnd"] >= inside["ssthresh"]) & (inside["retransmitted_packets"] > 0),
                inside["ca_state"] > 1,
            ],
            ["timeout", "losses", "losses"],
            "growth",
        )
        times = recorded.at(flow, inside)
        found[times] = np.where(found[times] == "cwnd", small, found[times])
    return found


def _why(kind: str, scenario: Scenario, flow: Flow, figures: RunMetrics, path: int) -> str:
    mine = figures.paths[path]
    dropped, lost = mine.queue_dropped_packets, mine.lost_packets
    match kind:
        case "losses":
            return (
                f"its congestion window was cut after losses ({lost} packets lost at random, "
                f"{dropped} dropped by the full queue)"
            )
        case "timeout":
            return "it recovered from a retransmission timeout"
        case "growth":
            return "its congestion window was still growing"
        case "paced":
            return "the congestion control paced it below its rate"
        case "window":
            size = _mean_kib(flow.receiver.connections, "rcvbuf", flow)
            return f"the receive window was full (buffer of {size} KiB)"
        case "scheduler":
            return (
                f"the scheduler {scenario.scheduler.label} sent nothing over it, though there "
                "was data and room"
            )
        case "send_buffer":
            size = _mean_kib(flow.sender.connections, "sndbuf", flow)
            return f"the send buffer was full of what was not acknowledged (buffer of {size} KiB)"
        case "application":
            return "there was nothing to send"
        case _:
            return "it had no subflow"


def _blocking_paths(scenario: Scenario, flow: Flow) -> npt.NDArray[np.int64]:
    """The path that data waited for at each of the flow's times, or -1 if none did.

    A wait is counted when it ends, for the path that ends it: so data waits for the path that ends
    the next wait.
    """
    ended = np.array(
        [
            sum(
                np.diff(recorded.counted(s.records, "blocking_us", flow.times), append=np.inf)
                for s in flow.receiver.on_path(index)
            )
            if flow.receiver.on_path(index)
            else np.zeros(len(flow.times))
            for index in range(len(scenario.paths))
        ]
    )
    ended[:, -1] = 0
    ends = ended.sum(axis=0) > 0
    times = np.arange(len(flow.times))
    following = np.minimum.accumulate(np.where(ends, times, len(times))[::-1])[::-1]
    known = following < len(times)
    found = np.full(len(times), -1, np.int64)
    found[known] = ended.argmax(axis=0)[following[known]]
    found[recorded.summed(flow.receiver.connections, "ofo_bytes", flow) == 0] = -1
    return found


def _troubled(
    scenario: Scenario,
    flow: Flow,
    causes: Sequence[npt.NDArray[np.str_]],
    plain: timeline.Rates,
    rates: timeline.Rates,
    start_ns: int,
) -> npt.NDArray[np.bool_]:
    """Whether a path (row) has an event that lowers its rate, or a retransmission timeout."""
    at_ns = flow.times - start_ns
    rows = []
    for path, cause in zip(scenario.paths, causes, strict=True):
        lowered = _rates_at(rates[path.name], at_ns) < _rates_at(plain[path.name], at_ns)
        rows.append(lowered | (cause == "timeout"))
    return np.array(rows)


def _rates_at(
    rates: Sequence[tuple[int, int]], at_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    since_ns = np.array([since for since, _ in rates])
    values = np.array([rate_bps for _, rate_bps in rates], np.int64)
    found: npt.NDArray[np.int64] = values[np.searchsorted(since_ns, at_ns, side="right") - 1]
    return found


def _carried(
    rates: Sequence[tuple[int, int]], at_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """What a link could have carried from T0 until these times, in bit/s x ns."""
    since_ns = np.array([since for since, _ in rates], np.float64)
    values = np.array([rate_bps for _, rate_bps in rates], np.float64)
    before = np.concatenate([[0.0], np.cumsum(np.diff(since_ns) * values[:-1])])
    which = np.searchsorted(since_ns, at_ns, side="right") - 1
    carried: npt.NDArray[np.float64] = before[which] + values[which] * (at_ns - since_ns[which])
    return carried


def _held_up_by(
    scenario: Scenario,
    blocking: npt.NDArray[np.int64],
    troubled: npt.NDArray[np.bool_],
    then: npt.NDArray[np.bool_],
) -> str:
    """The path whose data the data of all others waited for, much of the time.

    Data lost on a path in trouble may arrive over another one, which then ends the wait: so the
    path in trouble is named first.
    """
    if not then.any():
        return ""
    in_trouble = troubled[:, then].mean(axis=1)
    waited_for = [float((blocking[then] == path).mean()) for path in range(len(scenario.paths))]
    worst, slowest = int(in_trouble.argmax()), int(np.argmax(waited_for))
    if in_trouble[worst] >= _TROUBLED_MUCH:
        return (
            f", while path {scenario.paths[worst].name} had an event or a retransmission timeout "
            f"{_percent(float(in_trouble[worst]))} of that time"
        )
    if waited_for[slowest] < _BLOCKED_MUCH:
        return ""
    return (
        f", blocked by segments on path {scenario.paths[slowest].name} "
        f"{_percent(waited_for[slowest])} of that time"
    )


def _copies_bytes(flow: Flow) -> int:
    """What arrived over one path after it had arrived over another."""
    receiver = flow.receiver
    received = sum(increase(s.records, "received_bytes", flow.interval) for s in receiver.subflows)
    return received - sum(
        increase(c, "delivered_bytes", flow.interval)
        + recorded.growth(c, "ofo_bytes", flow.interval)
        for c in receiver.connections
    )


def _facts(figures: RunMetrics) -> list[str]:
    run = figures.metrics
    facts = []
    blocked = run.blocked_share or 0
    if blocked:
        by = ", ".join(
            f"{_percent(path.blocking_share or 0)} for bytes that came by {path.name}"
            for path in figures.paths
        )
        facts.append(
            f"Data that had arrived waited for an earlier byte {_percent(blocked)} of the time: "
            f"{by}."
        )
    wasted, again = run.wasted_bytes or 0, run.retransmitted_bytes or 0
    if wasted > 0:
        facts.append(
            f"Sent for nothing, warm-up included: {_megabytes(wasted)}, of which "
            f"{_megabytes(again)} as retransmissions on the same path, the rest as copies on "
            "another."
        )
    for path in figures.paths:
        if path.queue_packets_max:
            facts.append(
                f"The queue of path {path.name} held packets for "
                f"{(path.queue_delay_ms_mean or 0):.1f} ms on average, "
                f"{path.queue_packets_max} at most, and dropped "
                f"{path.queue_dropped_packets}; {path.lost_packets} were lost at random."
            )
    return facts


def _reactions(scenario: Scenario, flow: Flow, start_ns: int) -> list[str]:
    found = []
    for reaction in handover.reactions(scenario, flow, start_ns):
        dip = reaction.dip
        text = (
            f"At {format_time(dip.begin_ns)} path {dip.path} had a {dip.action} for "
            f"{format_time(dip.end_ns - dip.begin_ns)}:"
        )
        if reaction.detection_ns is not None:
            text += f" noticed after {format_time(reaction.detection_ns)};"
        if reaction.recovery_ns is not None:
            text += f" used as before {format_time(reaction.recovery_ns)} after its end;"
        found.append(text.rstrip(";:") + ".")
    return found


def _title(scenario: Scenario) -> str:
    name = scenario.scheduler.label
    if scenario.transport == "tcp":
        name = f"plain TCP over {scenario.paths[0].name}"
    return f"{name}, seed {scenario.seed}"


def _mean_bps(count_bytes: int, flow: Flow) -> float:
    return count_bytes * _BITS_PER_BYTE * NS_PER_S / flow.interval.length_ns


def _mean_kib(connections: Sequence[records.Records], field: str, flow: Flow) -> str:
    values = np.concatenate([recorded.measured(c, field, flow.interval) for c in connections])
    return f"{float(values.mean()) / 1024:.0f}"


def _rate(bps: float) -> str:
    # no minus in front of a zero
    return f"{round(bps / _MBIT, 2) + 0.0:.2f} Mbit/s"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _megabytes(count_bytes: float) -> str:
    return f"{count_bytes / 1e6:.2f} MB"
