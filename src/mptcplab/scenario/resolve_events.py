# SPDX-License-Identifier: GPL-2.0-only
"""Resolves events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mptcplab import units
from mptcplab.mistakes import Mistakes, unknown
from mptcplab.scenario import model
from mptcplab.scenario.fields import Factor
from mptcplab.scenario.limits import DIRECTIONS, MAX_EVENTS, MAX_OCCURRENCES, NO_RATE_BPS
from mptcplab.scenario.literal import (
    LiteralChange,
    LiteralEvent,
    LiteralLink,
    LiteralScenario,
    by_direction,
    given,
)
from mptcplab.scenario.resolve_paths import ONLY_OF_PATHS, loss_mistake
from mptcplab.scenario.scheduler import Scheduler
from mptcplab.scenario.workload import Workload

_CHANGING = ("change", "handover")
# What may happen again without an end.
_SHORT = ("handover", "renumber", "rebind")
# The default of a handover, as measured at high speeds: a tenth of the throughput, three times the
# RTT (Cech 2020, section 5).
_HANDOVER_RATE = Factor(0.1)
_HANDOVER_DELAY = Factor(3)


def events(
    whole: LiteralScenario,
    connections: Sequence[model.Connection],
    transport: str,
    workload: Workload | None,
    mistakes: Mistakes,
) -> tuple[model.Event, ...]:
    """The events in the order of time; impossible ones are reported."""
    if len(whole.event) > MAX_EVENTS:
        mistakes.add(("event",), f"{len(whole.event)} events; at most {MAX_EVENTS} are possible")
    duration_ns = workload.duration_ns if workload else None
    single = _paths_of_tcp(whole, connections, transport)
    found: list[tuple[int, model.Event]] = []
    for index, literal in enumerate(whole.event):
        if literal.parameter is not None:
            continue
        inside = mistakes.inside("event", index)
        for key, example in (("at", "3s"), ("path", "lte"), ("action", "down")):
            if getattr(literal, key) is None and (key != "path" or literal.link is None):
                inside.missing((key,), f'every event has {key}, e.g. "{example}"')
        if literal.value is not None:
            inside.add(("value",), "it is of a parameter: parameter = SCHEDULER.PARAMETER")
        _check_time(literal, duration_ns, inside)
        if literal.action is not None:
            _check_event(literal, inside)
        possible = _check_target(literal, whole, single, inside)
        if possible and literal.at is not None and literal.action is not None:
            found.append((index, _event(literal)))
    _check_occurrences([event for _, event in found], duration_ns or model.LONGEST_NS, mistakes)
    found.sort(key=lambda item: item[1].at_ns)
    _check_order(found, _routes(whole), mistakes)
    return tuple(event for _, event in found)


def new_values(
    whole: LiteralScenario,
    schedulers: Mapping[str, Scheduler],
    workload: Workload | None,
    mistakes: Mistakes,
) -> tuple[model.NewValue, ...]:
    """The new values of parameters of these schedulers, in the order of time; reports mistakes."""
    found = []
    for index, literal in enumerate(whole.event):
        if literal.parameter is None:
            continue
        inside = mistakes.inside("event", index)
        for key, given_ in literal:
            empty = given_ in (None, LiteralChange())
            if key not in ("at", "parameter", "value") and not empty:
                inside.add((key,), "a parameter has at and value; it stays until another event")
        for key, example in (("at", "3s"), ("value", "500")):
            if getattr(literal, key) is None:
                inside.missing((key,), f'a new value of a parameter has {key}, e.g. "{example}"')
        _check_time(literal, workload.duration_ns if workload else None, inside)
        name, _, key = literal.parameter.partition(".")
        if literal.at is not None and literal.at < 0:
            message = "a value from the beginning is one of the scheduler: NAME:KEY=VALUE"
            inside.add(("at",), message)
        if name not in schedulers:
            inside.add(("parameter",), unknown("scheduler", name, list(schedulers)))
            continue
        parameters = {each.name: each for each in schedulers[name].parameters}
        if key not in parameters:
            known = ", ".join(parameters) or "none"
            inside.add(("parameter",), f"{name} has no such parameter; known: {known}")
            continue
        try:
            value = parameters[key].parse(literal.value or "")
        except ValueError as error:
            if literal.value is not None:
                inside.add(("value",), str(error))
            continue
        if literal.at is not None:
            found.append(
                model.NewValue(at_ns=literal.at, scheduler=name, parameter=key, value=value)
            )
    return tuple(sorted(found, key=lambda each: each.at_ns))


def _check_time(literal: LiteralEvent, duration_ns: int | None, mistakes: Mistakes) -> None:
    if duration_ns is not None and (literal.at or 0) >= duration_ns:
        end = units.format_time(duration_ns)
        mistakes.add(("at",), f"it must be before the end of the workload, at {end}")


def _paths_of_tcp(
    whole: LiteralScenario, connections: Sequence[model.Connection], transport: str
) -> set[str]:
    """The paths that plain TCP uses."""
    if not connections and transport == "tcp":
        return set(_names(whole.path))
    return {
        name
        for each in whole.connection
        for name in each.paths or ()
        if (each.transport or transport) == "tcp"
    }


def _names(links: Sequence[LiteralLink]) -> list[str]:
    return [link.name for link in links if link.name is not None]


def _check_target(
    literal: LiteralEvent, whole: LiteralScenario, single: Collection[str], mistakes: Mistakes
) -> bool:
    """Whether an event has a path or link to which it can happen; reports why not.

    Plain TCP uses the paths `single`.
    """
    if literal.path is not None and literal.link is not None:
        mistakes.add(("link",), "path and link are both given; give one of them")
        return False
    kind, links = ("path", whole.path) if literal.link is None else ("link", whole.link)
    name = getattr(literal, kind)
    if name is None:
        return False
    if name not in (known := _names(links)):
        mistakes.add((kind,), unknown(kind, name, known))
        return False
    if literal.action in ("unplug", "reboot", "rebind") and kind == "link":
        what = "device of the client" if literal.action == "unplug" else "NAT"
        mistakes.add(("action",), f"a link has no {what}; {literal.action} its paths")
        return False
    if literal.action == "rebind" and all(
        path.nat_timeout is None for path in whole.path if path.name == name
    ):
        message = "its router translates no addresses; a path with a nat_timeout has a NAT"
        mistakes.add(("action",), message)
    of_mptcp = literal.action in ("close", *model.PRIORITY, *model.OF_CLIENT)
    if of_mptcp and (kind == "link" or name in single):
        of_tcp = "plain TCP has one path, with one address"
        why = "a link has no address" if kind == "link" else of_tcp
        mistakes.add(("action",), f"{why}; it can go down and up, and change")
        return False
    _check_endpoints(literal, whole, mistakes)
    if kind == "link":
        for table, inner in by_direction(literal):
            for key in ("cross", "middlebox"):
                if getattr(table, key) is not None:
                    mistakes.add((*inner, key), ONLY_OF_PATHS[key])
    return True


def _check_endpoints(literal: LiteralEvent, whole: LiteralScenario, mistakes: Mistakes) -> None:
    """Report an event that needs endpoints which its end has not."""
    own = whole.endpoints or "signal"
    action = literal.action
    if action == "close" and own == "subflow":
        message = "with endpoints = subflow the server announces no address; remove is the client's"
        mistakes.add(("action",), message)
    if own != "signal":
        return
    if action == "remove":
        message = "the client has no endpoints; give it some: endpoints = subflow or fullmesh"
        mistakes.add(("action",), message)
    changing = any(e.path == literal.path and e.action in model.PRIORITY for e in whole.event)
    if action in model.OF_CLIENT and changing:
        message = (
            "backup and regular are flags of the old address; with endpoints = subflow or fullmesh "
            "the new one has an endpoint, too"
        )
        mistakes.add(("action",), message)


def _check_occurrences(events: Sequence[model.Event], duration_ns: int, mistakes: Mistakes) -> None:
    times = sum(duration_ns // event.every_ns for event in events if event.every_ns)
    if times > MAX_OCCURRENCES:
        message = f"they happen {times} times in all; at most {MAX_OCCURRENCES} are possible"
        mistakes.add(("event",), message)


def _routes(whole: LiteralScenario) -> list[list[tuple[str, ...]]]:
    """The paths of each connection, each as the names of its links, its own first."""
    routes = {path.name: (path.name, *(path.link or ())) for path in whole.path if path.name}
    users = [each.paths or () for each in whole.connection] or [tuple(routes)]
    return [[routes[name] for name in names if name in routes] for names in users]


def _check_event(literal: LiteralEvent, mistakes: Mistakes) -> None:
    """Report keys of an event that do not go together."""
    action = literal.action
    values = {
        (*inner, key): getattr(table, key)
        for table, inner in by_direction(literal)
        for key in LiteralChange.model_fields
    }
    given = [key for key, value in values.items() if value is not None]
    if action == "change" and not given and not any(map(mistakes.spoiled, values)):
        message = "a change has a new rate, delay, jitter, loss, cross traffic or middlebox"
        mistakes.missing(("rate",), message)
    if action not in _CHANGING:
        for key in given:
            mistakes.add(key, f"{action} changes no value; the action change does")
    if literal.lasts is not None and action in ("up", "rebind"):
        mistakes.add(("lasts",), f"{action} cannot be undone; leave it out")
    if literal.lasts is None and action in ("unplug", "reboot"):
        mistakes.missing(("lasts",), f"{action} has an end; say how long it lasts")
    if literal.random and literal.every is None:
        mistakes.add(("random",), "nothing repeats here; every is the mean time between two events")
    if literal.every is None:
        return
    if action == "up":
        mistakes.add(("every",), "up happens once; leave it out")
    elif literal.lasts is None and action not in _SHORT:
        message = "it would not be over when it happens again; say how long it lasts"
        mistakes.add(("every",), message)
    elif literal.lasts is not None and literal.lasts >= literal.every and not literal.random:
        message = f"it must be longer than the event lasts, {units.format_time(literal.lasts)}"
        mistakes.add(("every",), message)


def check_values(
    literals: Sequence[LiteralEvent],
    paths: Sequence[model.Path],
    links: Sequence[model.Link],
    mistakes: Mistakes,
) -> None:
    """Report a new loss that the two states of its path cannot have, and a new rate for a path
    that has none.
    """
    by_name = {each.name: each for each in (*paths, *links)}
    without = {path.name for path in paths if NO_RATE_BPS in (path.up.rate_bps, path.down.rate_bps)}
    for index, literal in enumerate(literals):
        inside = mistakes.inside("event", index)
        own_rate = "the path has no rate of its own; change its link: link = NAME instead of path"
        if literal.path in without and literal.action == "handover":
            inside.add(("action",), own_rate)
        for table, inner in by_direction(literal):
            if literal.path in without and table.rate is not None:
                inside.add((*inner, "rate"), own_rate)
        path = by_name.get(literal.path or literal.link or "")
        for direction in DIRECTIONS if path else ():
            shape, own = getattr(path, direction), getattr(literal, direction)
            loss = literal.loss if own.loss is None else own.loss
            if loss is not None and (
                message := loss_mistake(loss, shape.loss_burst, shape.loss_good, shape.loss_bad)
            ):
                inside.add(("loss",) if own.loss is None else (direction, "loss"), message)


def _event(literal: LiteralEvent) -> model.Event:
    action = literal.action
    assert action is not None, "events without an action were reported"
    changed = DIRECTIONS if action in _CHANGING else ()
    times = {"at_ns": 0, **given(literal, "path", "link", "value", *LiteralChange.model_fields)}
    changes: dict[str, Any] = {each: _change(literal, getattr(literal, each)) for each in changed}
    return model.Event(path=literal.path or literal.link or "", **times, **changes)


def _change(event: LiteralEvent, own: LiteralChange) -> model.Change:
    """The values for one direction; one given for it goes before one given for both."""
    values = {key: value for key, value in event if key in LiteralChange.model_fields}
    if event.action == "handover":
        values["rate"] = _HANDOVER_RATE if event.rate is None else event.rate
        values["delay"] = _HANDOVER_DELAY if event.delay is None else event.delay
    values.update((key, value) for key, value in own if value is not None)
    return model.Change(**given(LiteralChange.model_construct(**values)))


def _check_order(
    events: Sequence[tuple[int, model.Event]],
    routes: Sequence[Sequence[Sequence[str]]],
    mistakes: Mistakes,
) -> None:
    """Report events, given with their numbers, that are impossible after the earlier ones.

    `routes` lists the paths of each connection, and for each path the links that it crosses.
    """
    last: dict[str, model.Event] = {}
    for index, event in events:
        if event.action not in model.UP_OR_NOT or event.lasts_ns:
            continue
        before = last.get(event.path)
        state = before.action if before else "up"
        since = f" since {units.format_time(max(before.at_ns, 0))}" if before else ""
        kind = (
            "path" if any(event.path == route[0] for all_ in routes for route in all_) else "link"
        )
        if state in ("close", "lose"):
            why = "is closed" if state == "close" else "has no address"
            mistakes.add(("event", index, "action"), f"path {event.path} {why}{since}")
        elif event.action == state:
            message = f"{kind} {event.path} is {state} already{since}"
            mistakes.add(("event", index, "action"), message)
        else:
            last[event.path] = event
    gone = {name for name, event in last.items() if event.action != "up"}
    if any(all_ and all(gone & set(route) for route in all_) for all_ in routes):
        message = "no path would be up and open any more, so data could never arrive"
        mistakes.add(("event", events[-1][0], "action"), message)
