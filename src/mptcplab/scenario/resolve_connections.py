# SPDX-License-Identifier: GPL-2.0-only
"""Resolves connections, with their schedulers and workloads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath

from mptcplab import units
from mptcplab.mistakes import Mistakes, Place, unknown
from mptcplab.scenario import resolve_workload, scheduler, workload
from mptcplab.scenario.limits import MAX_ALL_PATHS, MAX_CONNECTIONS, WORKLOAD_KEYS, Transport
from mptcplab.scenario.literal import (
    LiteralConnection,
    LiteralPath,
    LiteralScenario,
    LiteralWorkload,
)
from mptcplab.scenario.model import Connection, Event, Path
from mptcplab.scenario.scheduler import Choice, Scheduler, SpecError
from mptcplab.scenario.workload import AnyWorkload, Program, Tunnel, Video


class Schedulers:
    """Finds schedulers among the `known` ones, by default the lab kernel's, and in files.

    `sources` are the files of the user's own schedulers, by name; `found` has these, too.
    """

    def __init__(self, known: Mapping[str, Scheduler] | None, mistakes: Mistakes) -> None:
        self._known = scheduler.known() if known is None else known
        self._mistakes = mistakes
        self.sources: dict[str, FilePath] = {}
        self.found = dict(self._known)

    def named(self, specs: Iterable[str]) -> list[str]:
        """The texts, with "all" replaced by the names of all."""
        each = (self._known if spec == scheduler.ALL else (spec,) for spec in specs)
        return list(itertools.chain.from_iterable(each))

    def chosen(self, specs: Iterable[str], folder: FilePath, place: Place) -> tuple[Choice, ...]:
        """The schedulers that can be resolved, with their files in `folder`."""
        choices: list[Choice] = []
        for spec in specs:
            try:
                choice, found = scheduler.choose(spec, self._known, folder)
            except SpecError as error:
                for message in error.messages:
                    self._mistakes.add(place, message, spec)
                continue
            self.found[found.name] = found
            if found.digest is not None and found.file is not None:
                source = self.sources.setdefault(found.name, found.file)
                if source.resolve() != found.file.resolve():
                    message = f"{source} is another scheduler of the same name; rename one of them"
                    self._mistakes.add(place, message, spec)
            if choice in choices:
                self._mistakes.add(place, "named twice", spec)
            choices.append(choice)
        return tuple(choices)


def connections(
    literal: LiteralScenario,
    load: AnyWorkload | None,
    schedulers: Schedulers,
    folder: FilePath,
    mistakes: Mistakes,
) -> tuple[Connection, ...]:
    """Every connection; one with a count becomes several, each with copies of its paths.

    Connections that cannot be resolved are reported.
    """
    if isinstance(load, Program):
        message = "programs run at one client and one server; leave the connections out"
        mistakes.add(("connection",), message)
        return ()
    found: list[Connection] = []
    names: dict[str, int] = {}
    users: dict[str, int] = {}
    for index, each in enumerate(literal.connection):
        inside = mistakes.inside("connection", index)
        _check_users(each, index, literal.path, users, inside)
        connection = _connection(literal, each, load, schedulers, folder, inside)
        if each.name is None:
            inside.missing(("name",), 'every connection has a name, e.g. "background"')
            continue
        for i, name in enumerate(_copies(each.name, each.count)):
            if name in names:
                message = f"also the name of connection[{names[name]}]; names are unique"
                inside.add(("name",), message)
            names.setdefault(name, index + 1)
            if connection:
                paths = tuple(_copies(path, each.count)[i] for path in connection.paths)
                found.append(connection.model_copy(update={"name": name, "paths": paths}))
    for index, path in enumerate(literal.path):
        if path.name is not None and path.name not in users:
            mistakes.add(("path", index), "no connection has this path", path.name)
    # a tunnel has addresses as a path has
    count = sum(len(each.paths) + isinstance(each.workload, Tunnel) for each in found)
    for what, number, most in (
        ("connections", len(found), MAX_CONNECTIONS),
        ("paths", count, MAX_ALL_PATHS),
    ):
        if number > most:
            message = f"{number} {what} in all; at most {most} are possible"
            mistakes.add(("connection",), message)
    return tuple(found)


def _copies(name: str, count: int | None) -> list[str]:
    """The names of the copies of something; with a count, NAME-1 and so on."""
    return [name] if count is None else [f"{name}-{i}" for i in range(1, count + 1)]


def _check_users(
    connection: LiteralConnection,
    index: int,
    paths: Sequence[LiteralPath],
    users: dict[str, int],
    mistakes: Mistakes,
) -> None:
    """Report mistakes in the paths of a connection; `users` maps paths to their connections."""
    names = [path.name for path in paths if path.name is not None]
    if connection.paths is None:
        mistakes.missing(("paths",), 'every connection has its paths, e.g. ["wifi", "lte"]')
    for name in connection.paths or ():
        if name not in names:
            mistakes.add(("paths",), unknown("path", name, names), name)
        elif name in users:
            message = (
                f"also a path of connection[{users[name]}]; each has its own paths, and they can "
                "share a [[link]]"
            )
            mistakes.add(("paths",), message, name)
        users.setdefault(name, index + 1)


def _connection(
    whole: LiteralScenario,
    literal: LiteralConnection,
    load: AnyWorkload | None,
    schedulers: Schedulers,
    folder: FilePath,
    mistakes: Mistakes,
) -> Connection | None:
    """A connection without its copies; None, after reporting a mistake, if it is invalid."""
    if mistakes.flag(()):
        folder = FilePath()
    transport: Transport = literal.transport or whole.transport or "mptcp"
    choice = None
    if transport == "tcp":
        if len(literal.paths or ()) > 1:
            message = f"plain TCP runs over exactly one path, not over {len(literal.paths or ())}"
            mistakes.add(("paths",), message)
        if literal.scheduler is not None:
            mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")
    elif literal.scheduler is not None:
        choices = schedulers.chosen([literal.scheduler], folder, ("scheduler",))
        if not choices:
            return None
        choice = choices[0]
    own = _own_workload(whole, literal, load, folder, mistakes)
    if own is None or literal.paths is None:
        return None
    return Connection(
        name=literal.name or "",
        paths=literal.paths,
        transport=transport,
        scheduler=choice,
        cc=literal.cc,
        start_ns=literal.start or 0,
        workload=own,
    )


def _own_workload(
    whole: LiteralScenario,
    literal: LiteralConnection,
    load: AnyWorkload | None,
    folder: FilePath,
    mistakes: Mistakes,
) -> AnyWorkload | None:
    """What a connection carries from its start on: its own workload or the scenario's."""
    if load is None:
        return None
    wanted = _limited(whole, literal, load, mistakes)
    own = resolve_workload.resolve(wanted, folder, mistakes) if wanted else None
    if own is None:
        return None
    start_ns = literal.start or 0
    if start_ns and literal.workload.start is not None:
        message = "it is opened at its start and sends at once; leave one of the two out"
        mistakes.add(("workload", "start"), message)
        return None
    if isinstance(own, Video):
        message = "video needs a run of its own; a connection can have any other workload"
        mistakes.add(("workload", "kind"), message)
        return None
    if own.is_crowd:
        message = "bulk with several connections needs a run of its own; use count for copies"
        mistakes.add(("workload", "connections"), message)
        return None
    if start_ns or workload.opens_connections(own):
        own = own.model_copy(update={"start": "at-once"})
    elif literal.workload.start is None:
        own = own.model_copy(update={"start": load.start})
    end_ns = start_ns + (own.duration_ns or 0)
    if load.duration_ns is not None and end_ns > load.duration_ns:
        message = (
            f"it would end at {units.format_time(end_ns)}, but the run at "
            f"{units.format_time(load.duration_ns)}, the duration of [workload]"
        )
        mistakes.add(("end" if literal.end is not None else "workload",), message)
    return own


def _limited(
    whole: LiteralScenario, literal: LiteralConnection, load: AnyWorkload, mistakes: Mistakes
) -> LiteralWorkload | None:
    """The workload of a connection, with the duration that follows from its start and end.

    None, after reporting a mistake, if they do not go together.
    """
    start_ns = literal.start or 0
    wanted = literal.workload
    if wanted == LiteralWorkload():
        wanted = whole.workload.model_copy(update={"duration": None})
    lasting = "duration" in WORKLOAD_KEYS[wanted.kind or "bulk"] and wanted.size is None
    lasting |= wanted.kind in ("cbr", "frames", "tunnel")
    lasting &= wanted.think is None
    open_ended = lasting and wanted.duration is None
    if load.duration_ns is not None and start_ns >= load.duration_ns:
        message = (
            f"it must be before the end of the workload, at {units.format_time(load.duration_ns)}"
        )
        mistakes.add(("start",), message)
        return None
    if literal.end is not None and not open_ended:
        message = "its workload already says when it ends; leave one of the two out"
        mistakes.add(("end",), message)
        return None
    if literal.end is not None and literal.end <= start_ns:
        message = f"it must be after the start, at {units.format_time(start_ns)}"
        mistakes.add(("end",), message)
        return None
    until_ns = load.duration_ns if literal.end is None else literal.end
    if open_ended and until_ns is not None:
        return wanted.model_copy(update={"duration": until_ns - start_ns})
    return wanted


def of_connections(
    literals: Sequence[LiteralConnection],
    connections: Sequence[Connection],
    paths: Sequence[Path],
    events: Sequence[Event],
) -> tuple[tuple[Path, ...], tuple[Event, ...]]:
    """The paths, copies included, in the order of the connections, and their events."""
    by_name = {path.name: path for path in paths}
    copies = {name: _copies(name, each.count) for each in literals for name in each.paths or ()}
    original = {copy: name for name, all_ in copies.items() for copy in all_}
    found = [
        by_name[original[name]].model_copy(update={"name": name})
        for connection in connections
        for name in connection.paths
    ]
    happening = [
        event.model_copy(update={"path": name})
        for event in events
        for name in copies.get(event.path, [event.path])
    ]
    return tuple(found), tuple(happening)
