# SPDX-License-Identifier: GPL-2.0-only
"""A request: a scenario from a file or from flags, and the runs that it consists of.

The literal scenario (module `literal`) is what the user wrote. All mistakes found on the way from
it to a `Scenario` are collected and reported together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from mptcplab.errors import InputError, Problem
from mptcplab.mistakes import Mistakes, first_of, printable
from mptcplab.scenario import (
    congestion,
    resolve_connections,
    resolve_events,
    resolve_paths,
    resolve_workload,
    scheduler,
    toml_file,
    uncertainty,
)
from mptcplab.scenario.flags import Flags, merge
from mptcplab.scenario.limits import COMPARED_SEEDS, MAX_CAPTURES, MAX_PATHS, MAX_SEED, Transport
from mptcplab.scenario.literal import LiteralScenario, validate
from mptcplab.scenario.model import Connection, Scenario
from mptcplab.scenario.resolve_connections import Schedulers
from mptcplab.scenario.scheduler import Choice, Scheduler
from mptcplab.scenario.workload import AnyWorkload, Program
from mptcplab.traces import link_trace

#: A router of an unmodified kernel takes 17 us for a packet on an emulated machine; two hosts and
#: a router make some 50 us.
DEFAULT_SEED_DELAY_NS = 50_000
DEFAULT_SAMPLE_INTERVAL_NS = 10 * 10**6

# The flags that can change a resolved scenario.
_RESOLVED_FLAGS = ("scheduler", "kernel", "seed", "repeat", "pcap", "decisions", "states")


@dataclass(frozen=True)
class Request:
    """A request: a scenario, run with each scheduler, each congestion control and each of `repeat`
    seeds; None means the default of the command that runs it.

    `sources` maps the names of the user's own schedulers to their C files; `traces` maps the name
    of a path, with "up" or "down", to the trace played on it. All runs are made on each of
    `kernels`, which are names, or, without any, on the current kernel.
    """

    base: Scenario
    schedulers: tuple[Choice, ...]
    ccs: tuple[str, ...]
    repeat: int | None
    sources: Mapping[str, FilePath]
    traces: Mapping[tuple[str, str], link_trace.Source]
    kernels: tuple[str, ...] = ()

    def compared(self) -> Request:
        """The same, with enough seeds to show how far results spread unless a number was given."""
        return replace(self, repeat=self.repeat or COMPARED_SEEDS)

    def runs(self) -> list[Scenario]:
        """Every run, ordered by scheduler, then congestion control, then seed; seeds ascend from
        the scenario's own.
        """
        first = self.base.seed
        seeds = range(first, min(first + (self.repeat or 1), MAX_SEED + 1))
        return [
            uncertainty.drawn(self.base.with_(scheduler=each, cc=cc, seed=seed))
            for each in self.schedulers
            for cc in self.ccs
            for seed in seeds
        ]

    def baselines(self) -> list[Scenario]:
        """Plain TCP over each path alone, for each congestion control and seed: the reference of
        the aggregation benefit.

        A comparison of plain TCP, of several connections, or over a single path, has none; nor has
        a path that an event closes or leaves down, since TCP over it alone would never finish.
        """
        base = self.base
        if base.transport == "tcp" or base.connections or len(base.paths) < 2:
            return []
        alone = dict.fromkeys((scenario.cc, scenario.seed) for scenario in self.runs())
        return [
            uncertainty.drawn(base.with_(cc=cc, seed=seed)).single_path(name)
            for cc, seed in alone
            for name in base.lasting_paths()
        ]


def load_file(
    file: FilePath | str,
    flags: Flags | None = None,
    *,
    known: Mapping[str, Scheduler] | None = None,
    single: bool = False,
) -> Request:
    """The request of a scenario file, with the flags that override it.

    A file NAME.json is a resolved scenario, as kept by each run; flags can change only its
    schedulers, its seeds, and what is kept.

    `known` are the available schedulers, by default those of the lab kernel. A scheduler's C file
    that the scenario file names is looked up in its directory. `single`: accept only one scheduler,
    as `mptcplab run` does. Raises InputError with every mistake in the file and the flags.
    """
    mistakes = Mistakes(printable(str(file)))
    if FilePath(file).suffix == ".json":
        return _resolved_request(FilePath(file), flags or Flags(), mistakes, known, single)
    mistakes.data = toml_file.read(FilePath(file), mistakes)
    return _request(flags or Flags(), mistakes, known, single, FilePath(file).parent)


def from_table(
    table: Mapping[str, Any],
    source: str,
    *,
    folder: FilePath,
    known: Mapping[str, Scheduler] | None = None,
    single: bool = False,
) -> Request:
    """The request of a table with the content of a scenario file; see `load_file`.

    Mistakes are reported as those of `source`; files that the table names are in `folder`.
    """
    mistakes = Mistakes(source)
    mistakes.data = dict(table)
    return _request(Flags(), mistakes, known, single, folder)


def table_of(file: FilePath | None, flags: Flags) -> tuple[dict[str, Any], FilePath]:
    """A scenario file and flags merged into one table for `from_table`, and its folder.

    Raises InputError with every mistake in the form; the meaning is not checked.
    """
    mistakes = Mistakes("the command line" if file is None else printable(str(file)))
    if file is not None:
        mistakes.data = toml_file.read(file, mistakes)
    mistakes.stop_if_any()
    merge(flags, mistakes)
    mistakes.stop_if_any()
    own = file is None or flags.path or flags.path_from or "/" in (flags.scheduler or "")
    return mistakes.data, FilePath() if own or file is None else file.parent


def from_flags(
    flags: Flags, *, known: Mapping[str, Scheduler] | None = None, single: bool = False
) -> Request:
    """The request of flags alone; see `load_file`."""
    return _request(flags, Mistakes("the command line"), known, single, FilePath())


def _resolved_request(
    file: FilePath,
    flags: Flags,
    mistakes: Mistakes,
    known: Mapping[str, Scheduler] | None,
    single: bool,
) -> Request:
    base = _read_resolved(file, mistakes.source)
    for field in fields(flags):
        if field.name not in _RESOLVED_FLAGS and getattr(flags, field.name):
            place = (field.name,)
            mistakes.flags[place] = "--" + field.name.replace("_", "-")
            mistakes.add(
                place, f"{file.name} is resolved; flags change only its schedulers and seeds"
            )
    chosen = Flags(**{name: getattr(flags, name) for name in _RESOLVED_FLAGS})
    merge(chosen, mistakes)
    literal = validate(mistakes)
    found = Schedulers(known, mistakes)
    schedulers: tuple[Choice, ...] = (base.scheduler,)
    if literal.scheduler:
        specs = found.named(literal.scheduler)
        schedulers = found.chosen(specs, FilePath(), ("scheduler",))
    elif base.scheduler.digest is not None:
        message = (
            f"its file is not kept with a run; give it as --scheduler ./{base.scheduler.name}.c"
        )
        mistakes.add(("scheduler",), message, base.scheduler.name)
    if base.transport == "tcp" and literal.scheduler:
        mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")
    _check_kept(flags, base.transport, (), schedulers, mistakes)
    kernels = literal.kernel or ()
    if single:
        _check_single(schedulers, (), kernels, mistakes)
    seed = _seed(literal, base.seed, mistakes)
    mistakes.stop_if_any()
    changes = {"pcap": flags.pcap, "trace": flags.decisions, "states": flags.states}
    base = base.with_(scheduler=schedulers[0], seed=seed).model_copy(update=changes)
    return Request(base, schedulers, (base.cc,), literal.repeat, found.sources, {}, kernels)


def _read_resolved(file: FilePath, source: str) -> Scenario:
    key = value = ""
    try:
        found = Scenario.model_validate_json(file.read_bytes())
        if not isinstance(found.workload, Program):
            # its agent is not kept with a run
            return found.model_copy(update={"agent": None})
        key, value = "workload", '"program"'
        message = "mptcplab exec runs a program again"
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
    except ValidationError as error:
        key, wrong = first_of(error)
        message = f"{wrong}; a .json file is the scenario.json of a run, all others are TOML"
    raise InputError([Problem(source, key, value, message)])


def _request(
    flags: Flags,
    mistakes: Mistakes,
    known: Mapping[str, Scheduler] | None,
    single: bool,
    folder: FilePath,
) -> Request:
    """`folder` is that of the scenario file, where the files that it names are looked up."""
    merge(flags, mistakes)
    literal = validate(mistakes)
    _check_number_of_paths(literal, mistakes)

    def folder_of(*place: str) -> FilePath:
        return FilePath() if mistakes.flag(place) else folder

    load: AnyWorkload | None = flags.program or resolve_workload.resolve(
        literal.workload, folder_of("workload", "page"), mistakes
    )
    traces = resolve_paths.Traces(folder_of("path"), load, mistakes)
    links, paths = resolve_paths.links_and_paths(literal, traces, mistakes)
    found = Schedulers(known, mistakes)
    specs = found.named(literal.scheduler or (scheduler.DEFAULT,))
    schedulers = found.chosen(specs, folder_of("scheduler"), ("scheduler",))
    ccs = literal.cc or (congestion.DEFAULT,)
    kernels = literal.kernel or ()
    if single:
        _check_single(specs, ccs, kernels, mistakes)
    transport: Transport = literal.transport or "mptcp"
    connections: tuple[Connection, ...] = ()
    if literal.connection:
        connections = resolve_connections.connections(literal, load, found, folder, mistakes)
    elif transport == "tcp":
        _check_tcp(literal, mistakes)
    _check_kept(flags, transport, connections, schedulers, mistakes)
    events = resolve_events.events(literal, connections, transport, load, mistakes)
    new_values = resolve_events.new_values(literal, found.found, load, mistakes)
    resolve_events.check_values(literal.event, paths, links, mistakes)
    sample_interval_ns = literal.sample_interval or DEFAULT_SAMPLE_INTERVAL_NS
    if load and sample_interval_ns > (load.duration_ns or sample_interval_ns):
        mistakes.add(("sample_interval",), "longer than the duration; nothing would be sampled")
    seed = _seed(literal, 1, mistakes)
    vary = uncertainty.varied(
        literal.vary or (),
        (*paths, *links),
        lambda text, message: mistakes.add(("vary",), message, text),
    )
    mistakes.stop_if_any()
    assert load, "a workload without mistakes is resolved"
    if connections:
        paths, events = resolve_connections.of_connections(
            literal.connection, connections, paths, events
        )
    places = 2 * max(len(connections), 1) + len(paths) + 2 * len(links)
    if flags.pcap and places > MAX_CAPTURES:
        message = f"{places} hosts and routers; at most {MAX_CAPTURES} can be captured"
        mistakes.add(("pcap",), message)
        mistakes.stop_if_any()
    base = Scenario(
        paths=paths,
        links=links,
        connections=connections,
        events=events,
        parameters=new_values,
        transport=transport,
        scheduler=schedulers[0],
        cc=ccs[0],
        send_buffer_bytes=literal.send_buffer,
        receive_buffer_bytes=literal.receive_buffer,
        sample_interval_ns=sample_interval_ns,
        endpoints=literal.endpoints or "signal",
        blackhole_timeout_s=literal.blackhole_timeout,
        workload=load,
        pcap=flags.pcap,
        trace=flags.decisions,
        states=flags.states,
        seed=seed,
        seed_delay_ns=(DEFAULT_SEED_DELAY_NS if literal.seed_delay is None else literal.seed_delay),
        vary=vary,
    )
    return Request(base, schedulers, ccs, literal.repeat, found.sources, traces.sources, kernels)


def _check_number_of_paths(literal: LiteralScenario, mistakes: Mistakes) -> None:
    if not literal.path:
        form = "each headed [[path]] with name, rate and delay, or as --path wifi:50mbit,10ms"
        mistakes.missing(("path",), f"1 to {MAX_PATHS} paths are needed, {form}")
    if len(literal.path) > MAX_PATHS and not literal.connection:
        message = f"{len(literal.path)} paths; at most {MAX_PATHS} are possible"
        mistakes.add(("path",), message)


def _check_single(
    schedulers: Sequence[object], ccs: Sequence[str], kernels: Sequence[str], mistakes: Mistakes
) -> None:
    """Report more than one scheduler, congestion control or kernel."""
    for key, what, given in (
        ("scheduler", "schedulers", schedulers),
        ("cc", "congestion controls", ccs),
        ("kernel", "kernels", kernels),
    ):
        if len(given) > 1:
            message = f"{len(given)} {what}, where one is expected; mptcplab compare takes several"
            mistakes.add((key,), message)


def _check_tcp(literal: LiteralScenario, mistakes: Mistakes) -> None:
    if len(literal.path) > 1:
        message = f"plain TCP runs over exactly one path, not over {len(literal.path)}"
        mistakes.add(("transport",), message)
    if literal.scheduler not in (None, (scheduler.DEFAULT,)):
        mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")


def _check_kept(
    flags: Flags,
    transport: str,
    connections: Sequence[Connection],
    schedulers: Sequence[Choice],
    mistakes: Mistakes,
) -> None:
    """Report the flags that keep what only a scheduler of the framework has, if none is chosen."""
    why = ""
    if connections:
        asked = {each.scheduler or other for each in connections for other in schedulers}
        if all(choice.name == scheduler.DEFAULT for choice in asked):
            why = "no connection has a scheduler whose decisions are recorded; default has none"
    elif transport == "tcp":
        why = "plain TCP has no scheduler, so it has no decisions to keep"
    elif scheduler.DEFAULT in [choice.name for choice in schedulers]:
        why = (
            "the decisions of default, upstream's scheduler, are not recorded; burst has the same "
            "rule"
        )
    for name in ("decisions", "states"):
        if why and getattr(flags, name):
            mistakes.add((name,), why)


def _seed(literal: LiteralScenario, default: int, mistakes: Mistakes) -> int:
    """The first seed; reports it if not all seeds fit above it."""
    seed = default if literal.seed is None else literal.seed
    last = seed + (literal.repeat or 1) - 1
    if last > MAX_SEED:
        message = f"the last seed would be {last}; the largest is {MAX_SEED}"
        mistakes.add(("repeat",), message)
    return seed
