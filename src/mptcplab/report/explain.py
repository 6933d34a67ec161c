# SPDX-License-Identifier: GPL-2.0-only
"""Why a run did not reach the sum of its paths, in plain sentences with figures.

What the links could have carried is compared with what they did, sample by sample. A link that had
nothing to send is missed capacity, and the reason is what kept the sender from sending over its
paths when it should have. What the links carried beyond goodput is headers, duplicates, and the
data of other connections. The parts add up to the missing goodput, except for a remainder, which is
reported. Each of several connections is explained on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.errors import MptcplabError
from mptcplab.metrics import connections, handover, overruled, recorded, records, run_files
from mptcplab.metrics.compute import RunMetrics, bps, queue_metrics, run_metrics
from mptcplab.metrics.connections import OfConnection
from mptcplab.metrics.recorded import Flow, increase
from mptcplab.metrics.records import Records
from mptcplab.metrics.sender_states import State, path_states
from mptcplab.plan import timeline
from mptcplab.plan.bottlenecks import Bottleneck, bottlenecks, capacity
from mptcplab.runs import documents, store
from mptcplab.scenario.limits import Direction
from mptcplab.scenario.model import Scenario
from mptcplab.units import NS_PER_S, format_time

_BITS_PER_BYTE = 8
_MBIT = 1e6
#: What happened to a path, by the action.
_HAPPENED = {
    "down": "was down",
    "unplug": "was unplugged",
    "close": "was closed",
    "change": "had a change",
    "handover": "had a handover",
    "lose": "had no address",
    "remove": "had no endpoint",
    "reboot": "was rebooting",
}
_CA_LOSS = 4

#: The text names a reason if it takes at least this fraction of what the paths can carry.
_WORTH_TELLING = 0.005
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
    """A part of the missing goodput: how much, why, and on which path or link (None: on all).

    `kind` is a state of module `sender_states` in small letters, where `cwnd` is replaced by what
    made the window small: `losses`, `timeout`, `penalties` or `growth`; or it is `event`, `others`,
    `cross`, `headers` or `duplicates`. `path` is the name of a shared link where that limits its
    paths. `idle` is the fraction of the time for which the link was idle for this reason, `behind`
    the path whose data all other data waited for, if that filled a buffer.
    """

    kind: str
    path: str | None
    bps: float
    idle: float | None
    text: str
    behind: str | None = None


@dataclass(frozen=True)
class Explanation:
    """How the capacity of a connection's paths was used; rates over its measured time, in bit/s.

    `capacity_bps` is what the paths can carry together without events and other connections. It is
    `goodput_bps`, the reasons, the largest first, and `not_explained_bps`. `facts` are further
    sentences that do not count in the sum. `connection` is its name if the scenario has
    [[connection]], else None; `direction` is that of the data if its workload sends in both, else
    None.
    """

    title: str
    connection: str | None
    direction: Direction | None
    goodput_bps: float
    capacity_bps: float
    reasons: list[Reason]
    not_explained_bps: float
    facts: list[str]

    @property
    def missing_bps(self) -> float:
        return self.capacity_bps - self.goodput_bps

    @property
    def part(self) -> str:
        """The part of a run that it explains, as the end of a title."""
        connection = f", connection {self.connection}" if self.connection else ""
        return connection + (f", data {self.direction}" if self.direction else "")

    def sentence(self) -> str:
        """How much of what its paths can carry it had."""
        return (
            f"{_rate(self.goodput_bps)} of the {_rate(self.capacity_bps)} that its paths can "
            f"carry ({_percent(self.goodput_bps / self.capacity_bps)})."
        )

    def parts(self) -> list[tuple[str, str]]:
        """The parts of the missing goodput, as rates and texts; small reasons are one part."""
        named = [r for r in self.reasons if abs(r.bps) >= _WORTH_TELLING * self.capacity_bps]
        found = [(_rate(reason.bps), reason.text) for reason in named]
        small = sum(reason.bps for reason in self.reasons if reason not in named)
        if abs(small) >= _ROUNDED * self.capacity_bps:
            found.append((_rate(small), "smaller reasons (see --json)"))
        return [*found, (_rate(self.not_explained_bps), "not explained")]

    def text(self) -> str:
        """Plain text for a terminal."""
        return "\n".join(
            [
                f"{self.title}{self.part}: {self.sentence()}",
                f"Of the {_rate(self.missing_bps)} missing:",
                *(f"  {rate}: {text}" for rate, text in self.parts()),
                *self.facts,
            ]
        )


def explain(directory: Path) -> list[Explanation]:
    """Explain the run in `directory`: its connection, or each of several, in each direction of
    its data.

    Raises MptcplabError if its files cannot be read.
    """
    scenario = store.read_scenario(directory)
    store.require_records(directory)
    guest = documents.read(directory / run_files.GUEST_OUTCOME, documents.GUEST)
    samples = run_files.read_samples(scenario, directory)
    if not store.has_probe(directory):
        raise MptcplabError(
            f"{directory}: run without the lab's probe, as on a distribution's kernel: sockets do "
            "not report what limits a path"
        )
    queues = records.read_links(directory / run_files.LINKS_SAMPLES)
    with documents.contradictions_reported(directory):
        known = dict(guest)
        if scenario.connections:
            messages = records.read_messages(directory / run_files.MESSAGES)
            parts = connections.connections(scenario, samples, known, messages)
            return [
                _of_part(part, parts, scenario, queues, direction)
                for part in parts
                for direction in recorded.data_directions(part.scenario)
            ]
        ends = (samples["client"], samples["server"])
        found = []
        for direction in recorded.data_directions(scenario, samples["client"]):
            figures = run_metrics(_one_way(scenario, direction), *ends, known, queues)
            flow = recorded.flow(scenario, *ends, queues, known, direction)
            found.append(of_run(scenario, flow, figures, queues, guest.start_ns))
        return found


def _one_way(scenario: Scenario, direction: Direction) -> Scenario:
    """The same with data in this direction alone, if its workload sends in both."""
    if scenario.workload.direction != "both":
        return scenario
    load = scenario.workload.model_copy(update={"direction": direction})
    return scenario.model_copy(update={"workload": load})


def of_run(
    scenario: Scenario,
    flow: Flow,
    figures: RunMetrics,
    queues: Records,
    start_ns: int,
    others: Mapping[str, Mapping[str, float]] | None = None,
    connection: str | None = None,
    whole: Scenario | None = None,
) -> Explanation:
    """Explain a connection by its records and figures, and the records of all links.

    `start_ns` is T0. `others` has what other connections had over each link, in bit/s, by the names
    of links and of connections, and `whole` is the scenario with all of these.
    """
    goodput_bps = figures.metrics.goodput_bps or 0.0
    causes = [_causes(scenario, flow, index) for index in range(len(scenario.paths))]
    blocking = _blocking_paths(scenario, flow)
    troubled = _troubled(scenario, flow, causes, start_ns)
    received = [
        recorded.arrived_over(flow.receiver.on_path(index), flow.interval)
        for index in range(len(scenario.paths))
    ]
    places = [
        _Place(scenario, flow, queues, each, start_ns) for each in _limits(scenario, flow, start_ns)
    ]
    capacity_bps = overhead_bps = 0.0
    reasons: list[Reason] = []
    cross = timeline.cross_rates(whole or scenario, flow.direction)
    crossing = {path.name: path.links for path in (whole or scenario).paths}
    for place in places:
        name = place.name
        could_bps, can_bps = place.mean_bps(place.plain), place.mean_bps(place.rates)
        capacity_bps += could_bps
        if could_bps > can_bps:
            where = f"the paths over {place.title}" if place.is_link else place.title
            text = f"events on {where} left it {_rate(can_bps)} of {_rate(could_bps)}"
            reasons.append(Reason("event", name, could_bps - can_bps, None, text))
        idle, carried_bps = place.idle(place.cause(causes))
        shared = dict((others or {}).get(name, {}))
        for index in place.also:
            path = f"path {scenario.paths[index].name}"
            shared[path] = bps(received[index], flow.interval)
        shared_bps = sum(shared.values())
        if shared:
            who = ", ".join(f"{other} {_rate(own_bps)}" for other, own_bps in shared.items())
            text = f"{place.title} carried the data of others: {who}"
            reasons.append(Reason("others", name, shared_bps, None, text))
        cross_bps = place.arriving() * sum(
            place.mean_bps(cross[path])
            for path, route in crossing.items()
            if name in (path, *route)
        )
        if cross_bps:
            text = f"{place.title} carried cross traffic"
            reasons.append(Reason("cross", name, cross_bps, None, text))
        own_bps = bps(sum(received[index] for index in place.paths), flow.interval)
        overhead_bps += carried_bps - own_bps - shared_bps - cross_bps
        for kind, idle_bps in idle.items():
            share = idle_bps / can_bps if can_bps else 0.0
            text = f"{place.title} was idle {_percent(share)} of the time because "
            text += _why(kind, scenario, flow, place)
            behind = None
            if kind in _FULL_BUFFERS:
                then = place.cause(causes, delayed=False) == kind
                behind, why = _held_up_by(scenario, blocking, troubled, then)
                text += why
            reasons.append(Reason(kind, name, idle_bps, share, text, behind))
    both = scenario.workload.direction == "both"
    replies = ", acknowledgments of the other direction" if both else ""
    text = f"headers of packets{replies}, and TCP's retransmissions"
    reasons.append(Reason("headers", None, overhead_bps, None, text))
    text = "data that arrived over more than one path"
    twice_bps = bps(_duplicate_bytes(flow), flow.interval)
    reasons.append(Reason("duplicates", None, twice_bps, None, text))
    reasons = sorted((r for r in reasons if r.bps), key=lambda r: -r.bps)
    return Explanation(
        title=title(scenario),
        connection=connection,
        direction=flow.direction if both else None,
        goodput_bps=goodput_bps,
        capacity_bps=capacity_bps,
        reasons=reasons,
        not_explained_bps=capacity_bps - goodput_bps - sum(r.bps for r in reasons),
        facts=[
            *_facts(figures, flow, places),
            *overruled.lines(scenario.scheduler.name, [figures.metrics]),
            *_reactions(scenario, flow, start_ns),
        ],
    )


def _of_part(
    part: OfConnection,
    parts: Sequence[OfConnection],
    whole: Scenario,
    queues: Records,
    direction: Direction,
) -> Explanation:
    """Explain a direction of one of several connections, beside all of them."""
    scenario, start_ns = part.scenario, int(part.guest["start_ns"])
    ends = (part.client, part.server)
    one_way = _one_way(scenario, direction)
    figures = run_metrics(one_way, *ends, part.guest, queues, is_part=True)
    flow = recorded.flow(scenario, *ends, queues, part.guest, direction)
    others: dict[str, dict[str, float]] = {}
    for other in parts:
        if other is part or direction not in recorded.data_directions(other.scenario):
            continue
        samples = other.client if direction == "down" else other.server
        receiver = recorded.host_records(other.scenario, "receiver", samples)
        for index, path in enumerate(other.scenario.paths):
            arrived = recorded.arrived_over(receiver.on_path(index), flow.interval)
            for link in path.links:
                of_link = others.setdefault(link, {})
                name = other.pair.connection.name
                of_link[name] = of_link.get(name, 0.0) + bps(arrived, flow.interval)
    name = part.pair.connection.name
    return of_run(scenario, flow, figures, queues, start_ns, others, name, whole)


# Where the paths are limited


def _calm(scenario: Scenario) -> Scenario:
    """The same without events."""
    return scenario.model_copy(update={"events": ()})


def _limits(scenario: Scenario, flow: Flow, start_ns: int) -> list[Bottleneck]:
    """What limits the paths, by mean rates without events."""
    rates = timeline.link_rates(_calm(scenario), flow.direction)
    span_ns = [at_ns - start_ns for at_ns in flow.interval]
    return bottlenecks(
        scenario, {name: timeline.mean_rate_bps(own, *span_ns) for name, own in rates.items()}
    )


class _Place:
    """A bottleneck in the direction of the data: its rates, and the records of its queue."""

    def __init__(
        self, scenario: Scenario, flow: Flow, queues: Records, own: Bottleneck, start_ns: int
    ) -> None:
        self.name, self.paths = own.name, own.paths
        self._scenario, self._flow, self._queues = scenario, flow, queues
        self._start_ns = start_ns
        self.is_link = own.name in (link.name for link in scenario.links)
        self.title = f"{'link' if self.is_link else 'path'} {own.name}"
        #: Paths that cross it, and count for another bottleneck.
        self.also = [
            index
            for index, path in enumerate(scenario.paths)
            if own.name in path.links and index not in own.paths
        ]
        #: What it can carry of its paths, over time, without events and with them.
        self.plain = capacity(_calm(scenario), flow.direction, own)
        self.rates = capacity(scenario, flow.direction, own)

    def mean_bps(self, rates: timeline.Steps) -> float:
        span_ns = [at_ns - self._start_ns for at_ns in self._flow.interval]
        return timeline.mean_rate_bps(rates, *span_ns)

    @cached_property
    def queue(self) -> Records:
        return self._records(self.name)

    def _records(self, name: str) -> Records:
        direction = self._flow.direction
        return recorded.queue_records(self._scenario, self._queues, name, direction)

    def figures(self) -> dict[str, Any]:
        """Those of its queue, with the packets lost at random on all the way of its paths."""
        found = queue_metrics(self.queue if len(self.queue) else None, self._flow.interval)
        names = dict.fromkeys(
            name
            for index in self.paths
            for name in (self._scenario.paths[index].name, *self._scenario.paths[index].links)
        )
        lost = 0
        for name in names:
            own = self._records(name)
            lost += int(own["lost_packets"][-1] - own["lost_packets"][0]) if len(own) else 0
        return {**found, "lost_packets": lost}

    def arriving(self) -> float:
        """The part of the packets that it did not drop or lose: of cross traffic, which is not
        recorded, it is the same part.
        """
        sent, dropped = (
            increase(self.queue, name, self._flow.interval)
            for name in ("sent_packets", "dropped_packets")
        )
        return sent / (sent + dropped) if sent else 0.0

    def _delay_ns(self, path: int) -> int:
        """The delay until a packet of a path has left it."""
        own, direction = self._scenario.paths[path], self._flow.direction
        route = [own.name, *own.links]
        route = route if direction == "up" else route[::-1]
        shapes = {each.name: getattr(each, direction) for each in self._scenario.links}
        shapes[own.name] = getattr(own, direction)
        before = route[: route.index(self.name) + 1]
        return sum(shapes[name].delay_ns for name in before)

    def cause(
        self, causes: Sequence[npt.NDArray[np.str_]], *, delayed: bool = True
    ) -> npt.NDArray[np.str_]:
        """The state of its sender, by name, at the flow's times: on several paths, that which is
        closest to sending.

        `delayed`: the state when the data that is due at that time should have been sent: earlier
        by the delay of the path.
        """
        times = self._flow.times
        found: npt.NDArray[np.str_] | None = None
        for path in self.paths:
            earlier_ns = self._delay_ns(path) if delayed else 0
            then = np.searchsorted(times, times - earlier_ns, side="right") - 1
            own = causes[path][np.maximum(then, 0)]
            found = own if found is None else np.where(_order(own) < _order(found), own, found)
        assert found is not None, "a bottleneck has paths"
        return found

    def idle(self, causes: npt.NDArray[np.str_]) -> tuple[dict[str, float], float]:
        """What it could have carried and did not, by reason, and what it carried; in bit/s.

        What is missing between two samples is charged to the cause at the first. A packet counts
        when it has left, so a busy link may seem to carry a packet too few between two samples and
        one too many between the next two.
        """
        flow = self._flow
        # a workload with a size completes between two samples: count what it carried by the next
        edges = np.unique(np.append(flow.times, flow.interval.end_ns))
        sent = recorded.counted(self.queue, "sent_bytes", edges)
        last = min(int(np.searchsorted(self.queue["time_ns"], edges[-1])), len(self.queue) - 1)
        sent[-1] = self.queue["sent_bytes"][last]
        carried = np.diff(sent) * _BITS_PER_BYTE * NS_PER_S
        could = np.diff(_carried(self.rates, edges - self._start_ns))
        at = np.searchsorted(flow.times, edges[:-1], side="right") - 1
        then = causes[np.maximum(at, 0)]
        missing = could - carried
        length_ns = flow.interval.length_ns
        return (
            {str(one): float(missing[then == one].sum()) / length_ns for one in np.unique(then)},
            float(carried.sum()) / length_ns,
        )


#: How far from sending a cause is: its state's number.
_ORDER = {state.name.lower(): int(state) for state in State}


def _order(causes: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
    names, which = np.unique(causes, return_inverse=True)
    # what made a congestion window small is the state of the window
    numbers = np.array([_ORDER.get(str(name), int(State.CWND)) for name in names], np.int64)
    found: npt.NDArray[np.int64] = numbers[which]
    return found


def _causes(scenario: Scenario, flow: Flow, path: int) -> npt.NDArray[np.str_]:
    """The state of a path at the flow's times, by name, and what made a congestion window small."""
    names = np.array([state.name.lower() for state in State])
    found: npt.NDArray[np.str_] = names[path_states(flow, scenario)[path]]
    for subflow in flow.sender.on_path(path):
        inside, times = recorded.sampled(flow, subflow.records)
        small = np.select(
            [
                inside["ca_state"] == _CA_LOSS,
                _latest(inside["penalties"]) > _latest(inside["retransmitted_packets"]),
                (inside["cwnd"] >= inside["ssthresh"]) & (inside["retransmitted_packets"] > 0),
                inside["ca_state"] > 1,
            ],
            ["timeout", "penalties", "losses", "losses"],
            "growth",
        )
        found[times] = np.where(found[times] == "cwnd", small, found[times])
    return found


def _latest(counts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """At which sample a counter has grown latest, up to each sample; -1: it has not."""
    grown = np.diff(counts.astype(np.int64), prepend=0) > 0
    found: npt.NDArray[np.int64] = np.where(grown, np.arange(len(counts)), -1)
    return np.maximum.accumulate(found)


def _why(kind: str, scenario: Scenario, flow: Flow, place: _Place) -> str:
    # a shared link has several subflows
    its = "the" if place.is_link else "its"
    match kind:
        case "losses":
            queue = place.figures()
            return (
                f"{its} congestion window was cut after losses ({queue['lost_packets']} packets "
                f"lost at random, {queue['queue_dropped_packets']} dropped by the full queue)"
            )
        case "timeout":
            who = "a subflow" if place.is_link else "it"
            return f"{who} recovered from a retransmission timeout"
        case "penalties":
            of_paths = (flow.sender.on_path(index) for index in place.paths)
            halved = sum(
                increase(each.records, "penalties", flow.interval)
                for subflows in of_paths
                for each in subflows
            )
            return (
                f"the scheduler {scenario.scheduler.label} halved {its} congestion window, "
                f"{halved} times in all, since other data waited for its"
            )
        case "growth":
            return f"{its} congestion window was still growing"
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
            return f"the send buffer was full of unacknowledged data (buffer of {size} KiB)"
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
    scenario: Scenario, flow: Flow, causes: Sequence[npt.NDArray[np.str_]], start_ns: int
) -> npt.NDArray[np.bool_]:
    """Whether a path (row) has an event that lowers its rate, or a retransmission timeout."""
    at_ns = flow.times - start_ns
    plain, rates = (timeline.rates(each, flow.direction) for each in (_calm(scenario), scenario))
    rows = []
    for path, cause in zip(scenario.paths, causes, strict=True):
        lowered = _rates_at(rates[path.name], at_ns) < _rates_at(plain[path.name], at_ns)
        rows.append(lowered | (cause == "timeout"))
    return np.array(rows)


def _rates_at(
    rates: Sequence[tuple[int, int]], at_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    since_ns, values = np.array(rates, np.int64).T
    found: npt.NDArray[np.int64] = values[np.searchsorted(since_ns, at_ns, side="right") - 1]
    return found


def _carried(
    rates: Sequence[tuple[int, int]], at_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """What a link could have carried from T0 until these times, in bit/s x ns."""
    since_ns, values = np.array(rates, np.float64).T
    before = np.concatenate([[0.0], np.cumsum(np.diff(since_ns) * values[:-1])])
    which = np.searchsorted(since_ns, at_ns, side="right") - 1
    carried: npt.NDArray[np.float64] = before[which] + values[which] * (at_ns - since_ns[which])
    return carried


def _held_up_by(
    scenario: Scenario,
    blocking: npt.NDArray[np.int64],
    troubled: npt.NDArray[np.bool_],
    then: npt.NDArray[np.bool_],
) -> tuple[str | None, str]:
    """The path whose data the data of all others waited for, much of the time, and a text on it.

    Data lost on a path in trouble may arrive over another one, which then ends the wait: so the
    path in trouble is named first.
    """
    if not then.any():
        return None, ""
    in_trouble = troubled[:, then].mean(axis=1)
    waited_for = [float((blocking[then] == path).mean()) for path in range(len(scenario.paths))]
    worst, slowest = int(in_trouble.argmax()), int(np.argmax(waited_for))
    if in_trouble[worst] >= _TROUBLED_MUCH:
        name, share = scenario.paths[worst].name, _percent(float(in_trouble[worst]))
        text = f", while path {name} had an event or a retransmission timeout {share} of that time"
        return name, text
    if waited_for[slowest] < _BLOCKED_MUCH:
        return None, ""
    name, share = scenario.paths[slowest].name, _percent(waited_for[slowest])
    return name, f", blocked by segments on path {name} {share} of that time"


def _duplicate_bytes(flow: Flow) -> int:
    """What arrived over one path after it had arrived over another."""
    receiver = flow.receiver
    received = sum(increase(s.records, "received_bytes", flow.interval) for s in receiver.subflows)
    return received - sum(
        increase(c, "delivered_bytes", flow.interval)
        + recorded.growth(c, "ofo_bytes", flow.interval)
        for c in receiver.connections
    )


def _facts(figures: RunMetrics, flow: Flow, places: Sequence[_Place]) -> list[str]:
    run = figures.metrics
    facts = []
    blocked = run.blocked_share or 0
    if blocked:
        by = ", ".join(
            f"{_percent(path.blocking_share or 0)} for bytes that came by {path.name}"
            for path in figures.paths
        )
        added_up = ", all connections added up" if len(flow.receiver.connections) > 1 else ""
        facts.append(
            f"Data that had arrived waited for an earlier byte {_percent(blocked)} of the time"
            f"{added_up}: {by}."
        )
    wasted, again = run.wasted_bytes or 0, run.retransmitted_bytes or 0
    if wasted > 0:
        facts.append(
            f"Sent for nothing, warm-up included: {_megabytes(wasted)}: {_megabytes(again)} as "
            "retransmissions on the same path, the rest as duplicates and reinjections on another."
        )
    for place in places:
        queue = place.figures()
        if queue["queue_packets_max"]:
            facts.append(
                f"The queue of {place.title} held packets for "
                f"{(queue['queue_delay_ms_mean'] or 0):.1f} ms on average, "
                f"{queue['queue_packets_max']} at most, and dropped "
                f"{queue['queue_dropped_packets']}; {queue['lost_packets']} were lost at random."
            )
    return facts


def _reactions(scenario: Scenario, flow: Flow, start_ns: int) -> list[str]:
    found = []
    for reaction in handover.reactions(scenario, flow, start_ns):
        dip = reaction.dip
        text = (
            f"At {format_time(dip.begin_ns)} path {dip.path} {_HAPPENED[dip.action]} for "
            f"{format_time(dip.end_ns - dip.begin_ns)}:"
        )
        if reaction.detection_ns is not None:
            text += f" noticed after {format_time(reaction.detection_ns)};"
        if reaction.resumption_ns is not None:
            text += f" used again {format_time(reaction.resumption_ns)} after its end;"
        if reaction.recovery_ns is not None:
            text += f" used as before {format_time(reaction.recovery_ns)} after its end;"
        found.append(text.rstrip(";:") + ".")
    return found


def title(scenario: Scenario) -> str:
    """A run in a few words: its scheduler and its seed."""
    name = scenario.scheduler.label
    if scenario.transport == "tcp":
        name = f"plain TCP over {scenario.paths[0].name}"
    return f"{name}, seed {scenario.seed}"


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
