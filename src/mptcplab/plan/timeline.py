# SPDX-License-Identifier: GPL-2.0-only
"""The state of each path over time: the events of a scenario as single instants.

An event that repeats, or whose times are random, has many occurrences. Each begins at some time and
lasts until another, or for good. The state of a path at a time follows from all occurrences that
have begun and not ended, in the order in which they began. Values are limited to a link's range
only at the end: later events continue from the values that were asked for.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numpy.random import Generator

from mptcplab.scenario.limits import BEFORE_NS, NO_RATE_BPS, Direction
from mptcplab.scenario.model import LONGEST_NS, Change, Event, Link, Scenario, Shape, TraceStep
from mptcplab.scenario.randomness import generator
from mptcplab.traces import link_trace

# 85 of 100 handovers are over in less than 100 ms, the others take more than one or even several
# seconds (Cech 2020, section 5). The distribution within these bounds is not published.
_QUICK_SHARE = 0.85
_QUICK_NS = (20 * 10**6, 100 * 10**6)
_SLOW_NS = (10**9, 5 * 10**9)

# The acts after which a path carries nothing, and what ends them.
_BACK = {"plug": "unplug", "open": "close", "regain": "lose", "add": "remove"}
_GONE = tuple(_BACK.values())

_Undone = Literal["plug", "open", "regain", "add"]
_Done = Literal["backup", "regular", "unplug", "close", "lose", "renumber", "remove", "rebind"]
Act = Literal[_Done, _Undone]
#: Pairs (start in ns, rate in bit/s from then on), in the order of time.
Steps = list[tuple[int, int]]
#: The steps of each path, by its name.
Rates = dict[str, Steps]


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of an event, from `begin_ns` until `end_ns` (None: for good)."""

    begin_ns: int
    end_ns: int | None
    event: Event


@dataclass(frozen=True)
class Instant:
    """What changes on a path or a link at a time; `path` is its name.

    `up` and `down` are its directions from then on, None if unchanged. `act` is anything else that
    happens; `again`: it has closed before. `number` counts how often the client's address has
    changed there, and `was` how often before. At BEFORE_NS is before the first connection.
    """

    at_ns: int
    path: str
    up: Shape | None = None
    down: Shape | None = None
    act: Act | None = None
    again: bool = False
    number: int = 0
    was: int = 0


def occurrences(scenario: Scenario) -> list[Occurrence]:
    """All occurrences of all events, ordered by their beginning."""
    end_ns = scenario.workload.duration_ns or LONGEST_NS
    found: list[Occurrence] = []
    for number, event in enumerate(scenario.events):
        # each event has its own stream, so adding one changes nothing here
        random = generator(scenario.seed, number)
        free_ns = BEFORE_NS
        for begin_ns in _times(event, end_ns, random):
            # an occurrence that would begin during the previous one is left out
            if begin_ns < free_ns:
                continue
            lasts_ns = event.lasts_ns
            if event.action == "handover" and lasts_ns is None:
                low, high = _QUICK_NS if random.random() < _QUICK_SHARE else _SLOW_NS
                lasts_ns = int(random.integers(low, high))
            until_ns = None if lasts_ns is None else max(begin_ns, 0) + lasts_ns
            found.append(Occurrence(begin_ns, until_ns, event))
            free_ns = until_ns or free_ns
    return sorted(found, key=lambda occurrence: occurrence.begin_ns)


def instants(scenario: Scenario) -> list[Instant]:
    """What changes on the paths and links, in the order of time."""
    all_ = occurrences(scenario)
    found = [
        instant
        for each in scenario.own_and_shared
        for instant in _of_link(each, [o for o in all_ if o.event.path == each.name])
    ]
    return sorted(found, key=lambda instant: instant.at_ns)


def rates(scenario: Scenario, direction: Direction = "up") -> Rates:
    """The rate of each path over time in one direction, as pairs (start in ns, rate in bit/s).

    A path that loses every packet, or is unplugged or closed, has a rate of 0; a path through links
    has the lowest of all rates on its route, with nobody else on them.
    """
    found = link_rates(scenario, direction)
    return {
        path.name: lowest([found[name] for name in (path.name, *path.links)])
        for path in scenario.paths
    }


def link_rates(scenario: Scenario, direction: Direction) -> Rates:
    """The same for each link, and for each path without its links, by name."""
    return _of_links(scenario, direction, lambda shape: shape.rate_bps)


def cross_rates(scenario: Scenario, direction: Direction) -> Rates:
    """What cross traffic sends over each path that carries anything, in the same form."""
    return _of_links(scenario, direction, lambda shape: shape.cross_bps)


def _of_links(scenario: Scenario, direction: Direction, value: Callable[[Shape], int]) -> Rates:
    """A value of each path and link over time, 0 while it carries nothing."""
    present: dict[str, Shape] = {
        each.name: getattr(each, direction) for each in scenario.own_and_shared
    }
    found = {name: [(0, value(link))] for name, link in present.items()}
    gone: dict[str, set[str]] = {name: set() for name in present}
    for instant in instants(scenario):
        name, link = instant.path, getattr(instant, direction)
        if link:
            present[name] = link
        elif instant.act in _GONE:
            gone[name].add(instant.act)
        elif instant.act in _BACK:
            gone[name].remove(_BACK[instant.act])
        else:
            continue
        lost = gone[name] or present[name].loss == 1.0
        found[name].append((max(instant.at_ns, 0), 0 if lost else value(present[name])))
    return found


def lowest(rates: Sequence[Steps]) -> Steps:
    """The lowest of some rates at any time."""
    if len(rates) == 1:
        return rates[0]
    changes = [
        (at_ns, number, rate_bps) for number, each in enumerate(rates) for at_ns, rate_bps in each
    ]
    present = dict.fromkeys(range(len(rates)), NO_RATE_BPS)
    found: dict[int, int] = {}
    for at_ns, number, rate_bps in sorted(changes, key=lambda change: change[0]):
        present[number] = rate_bps
        found[at_ns] = min(present.values())
    return list(found.items())


def total(rates: Sequence[Steps]) -> Steps:
    """The sum of some rates at any time."""
    changes = [
        (at_ns, rate_bps - before)
        for each in rates
        for (at_ns, rate_bps), before in zip(each, [0, *(r for _, r in each[:-1])], strict=True)
    ]
    sum_bps, found = 0, dict[int, int]()
    for at_ns, change in sorted(changes):
        sum_bps += change
        found[at_ns] = sum_bps
    return list(found.items())


def mean_rate_bps(rates: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> float:
    """The mean of the `rates` of a path over an interval, which is longer than 0."""
    return link_trace.carried(rates, begin_ns, end_ns) / (end_ns - begin_ns)


def _times(event: Event, end_ns: int, random: Generator) -> Iterator[int]:
    at_ns = event.at_ns
    while at_ns < end_ns:
        yield at_ns
        at_ns = max(at_ns, 0)
        if event.every_ns is None:
            return
        gap_ns = event.every_ns
        if event.random:
            gap_ns = max(int(random.exponential(event.every_ns)), 1)
        at_ns += gap_ns


@dataclass(frozen=True)
class _Asked:
    """The values asked of a direction: rate and delay here, all else in `link`.

    They may be outside a link's range. An unlimited rate is infinite.
    """

    link: Shape
    rate_bps: float
    delay_ns: float

    @functools.lru_cache(maxsize=256)  # noqa: B019 - a link that sends in bursts has two of them
    def possible(self) -> Shape:
        """The nearest possible direction: an outage stays one, jitter is at most the delay."""
        rate_bps = NO_RATE_BPS
        if math.isfinite(self.rate_bps):
            rate_bps = round(
                min(max(self.rate_bps, link_trace.MIN_RATE_BPS), link_trace.MAX_RATE_BPS)
            )
        delay_ns = round(min(self.delay_ns, link_trace.MAX_DELAY_NS))
        return self.link.model_copy(
            update={
                "rate_bps": rate_bps if self.rate_bps else 0,
                "delay_ns": delay_ns,
                "jitter_ns": min(self.link.jitter_ns, delay_ns),
            }
        )


@dataclass(frozen=True)
class _State:
    up: _Asked
    down: _Asked
    backup: bool = False
    unplugged: bool = False
    closed: bool = False
    removed: bool = False
    lost: bool = False
    number: int = 0
    off: bool = False
    rebound: int = 0

    def after(self, event: Event) -> _State:
        match event.action:
            case "down":
                return replace(self, up=_lossy(self.up), down=_lossy(self.down))
            case "change" | "handover":
                up, down = _changed(self.up, event.up), _changed(self.down, event.down)
                return replace(self, up=up, down=down)
            case "backup" | "regular":
                return replace(self, backup=event.action == "backup")
            case "unplug":
                return replace(self, unplugged=True)
            case "close":
                return replace(self, closed=True)
            case "remove":
                return replace(self, removed=True)
            case "lose":
                return replace(self, lost=True)
            case "renumber":
                return replace(self, number=self.number + 1)
            case "rebind":
                return replace(self, rebound=self.rebound + 1)
            case "reboot":
                return replace(self, off=True, up=_lossy(self.up), down=_lossy(self.down))
            case _:
                return self


def _of_link(link: Link, occurrences: Sequence[Occurrence]) -> Iterator[Instant]:
    """`occurrences` of events on this link or path are ordered by their beginning."""
    waiting = deque(occurrences)
    traces = {"up": deque(link.up.steps), "down": deque(link.down.steps)}
    base = _State(_at_first(link.up), _at_first(link.down))
    before, before_up, before_down = base, base.up.possible(), base.down.possible()
    active: list[Occurrence] = []
    times = {o.begin_ns for o in occurrences} | {step[0] for t in traces.values() for step in t}
    times |= {o.end_ns for o in occurrences if o.end_ns is not None}
    again = False
    for at_ns in sorted(times):
        active = [o for o in active if o.end_ns is None or o.end_ns > at_ns]
        ends = False
        while waiting and waiting[0].begin_ns == at_ns:
            occurrence = waiting.popleft()
            ends |= occurrence.event.action == "close" and occurrence.end_ns is None
            if occurrence.event.action == "up":
                active = [o for o in active if o.event.action != "down" or o.end_ns is not None]
            active.append(occurrence)
        base = replace(
            base,
            up=_stepped(base.up, traces["up"], at_ns),
            down=_stepped(base.down, traces["down"], at_ns),
        )
        state = base
        for occurrence in active:
            state = state.after(occurrence.event)
        up, down = state.up.possible(), state.down.possible()
        if (up, down) != (before_up, before_down):
            yield Instant(
                at_ns,
                link.name,
                up=up if up != before_up else None,
                down=down if down != before_down else None,
            )
        if state.backup != before.backup:
            act: Act = "backup" if state.backup else "regular"
            yield Instant(at_ns, link.name, act=act, number=state.number)
        if state.unplugged != before.unplugged:
            yield Instant(at_ns, link.name, act="unplug" if state.unplugged else "plug")
        if state.closed != before.closed:
            yield Instant(at_ns, link.name, act="close" if state.closed else "open", again=again)
            again = True
        if state.rebound != before.rebound or (before.off and not state.off):
            yield Instant(at_ns, link.name, act="rebind")
        yield from _of_client(at_ns, link.name, before, state)
        if ends:
            return
        before, before_up, before_down = state, up, down


def _of_client(at_ns: int, path: str, before: _State, state: _State) -> Iterator[Instant]:
    """What becomes of the client's address, and then of its endpoint, which needs the address."""
    instant = Instant(at_ns, path, number=state.number, was=before.number)
    if state.lost != before.lost:
        yield replace(instant, act="lose" if state.lost else "regain")
    elif state.number != before.number and not state.lost:
        yield replace(instant, act="renumber")
    gone, was_gone = (each.removed or each.lost for each in (state, before))
    readdressed = state.number != before.number and not was_gone
    if gone != was_gone or readdressed:
        if not was_gone:
            yield replace(instant, act="remove")
        if not gone:
            yield replace(instant, act="add")


def _at_first(link: Shape) -> _Asked:
    rate_bps = math.inf if link.rate_bps == NO_RATE_BPS else link.rate_bps
    return _Asked(link.model_copy(update={"steps": ()}), rate_bps, link.delay_ns)


def _stepped(asked: _Asked, steps: deque[TraceStep], at_ns: int) -> _Asked:
    """The values after the trace's step at `at_ns`, if there is one; the step is removed."""
    if not steps or steps[0][0] != at_ns:
        return asked
    _, rate_bps, delay_ns, loss = steps.popleft()
    return _Asked(
        asked.link if loss is None else asked.link.model_copy(update={"loss": loss}),
        asked.rate_bps if rate_bps is None else rate_bps,
        asked.delay_ns if delay_ns is None else delay_ns,
    )


def _lossy(asked: _Asked) -> _Asked:
    return replace(asked, link=asked.link.model_copy(update={"loss": 1.0}))


def _changed(asked: _Asked, change: Change) -> _Asked:
    link = asked.link
    rate_bps = asked.rate_bps if change.rate_bps is None else change.rate_bps
    delay_ns = asked.delay_ns if change.delay_ns is None else change.delay_ns
    return _Asked(
        link.model_copy(
            update={
                "jitter_ns": link.jitter_ns if change.jitter_ns is None else change.jitter_ns,
                "loss": link.loss if change.loss is None or link.loss == 1.0 else change.loss,
                "cross_bps": link.cross_bps if change.cross_bps is None else change.cross_bps,
                "middlebox": change.middlebox or link.middlebox,
            }
        ),
        rate_bps if change.rate_factor is None else rate_bps * change.rate_factor,
        delay_ns if change.delay_factor is None else delay_ns * change.delay_factor,
    )
