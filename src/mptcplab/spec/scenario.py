# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: what a person writes, in a TOML file or as flags, and what it means.

The literal scenario (module `literal`) is what is written. A `Scenario` is one run of it with every
default filled in, in base units; a `Request` is a scenario with the schedulers and the number of
seeds to run it with. On the way from the one to the other every mistake is collected, and all of
them are told at once.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from mptcplab.spec import congestion, link_trace, scheduler, toml_file, units, workload
from mptcplab.spec.link_trace import Step
from mptcplab.spec.literal import (
    COMPARED_SEEDS,
    MAX_ALL_PATHS,
    MAX_CAPTURES,
    MAX_CONNECTIONS,
    MAX_EVENTS,
    MAX_LINKS,
    MAX_OCCURRENCES,
    MAX_PATHS,
    MAX_QUEUE_PACKETS,
    MAX_SEED,
    NO_RATE_BPS,
    PACKET_BYTES,
    Bytes,
    Factor,
    LiteralChange,
    LiteralConnection,
    LiteralDirection,
    LiteralEvent,
    LiteralLink,
    LiteralPath,
    LiteralScenario,
    LiteralTrace,
    LiteralWorkload,
    json_schema,
    validate,
)
from mptcplab.spec.mistakes import Mistakes, Place, first_of, one_of, printable, shown, suggestion
from mptcplab.spec.presets import PRESETS
from mptcplab.spec.scheduler import Choice, Scheduler, SpecError
from mptcplab.spec.workload import AnyWorkload, Program, Video, Workload

__all__ = [
    "PACKET_BYTES",
    "Change",
    "Connection",
    "Direction",
    "Event",
    "Flags",
    "Link",
    "Pair",
    "Path",
    "Program",
    "Request",
    "Scenario",
    "Workload",
    "from_flags",
    "from_table",
    "json_schema",
    "load_file",
    "parse_connection_flag",
    "parse_event_flag",
    "parse_link_flag",
    "parse_path_flag",
    "parse_workload_flag",
]

# The default queue is one bandwidth-delay product in packets of an Ethernet frame without its
# checksum, which is what netem counts on a veth of MTU 1500; 20 keeps slow links usable.
MIN_DEFAULT_QUEUE_PACKETS = 20
# Of a queue that is kept by other means than its limit, the limit is what the kernel has by default
# (sch_codel.c, sch_fq_codel.c, sch_pie.c). red has none: tc-red(8) lets random losses begin at a
# twelfth of the limit, and at a quarter, here one bandwidth-delay product, all is lost.
_DEFAULT_LIMITS = {"codel": 1000, "fq_codel": 10_240, "pie": 1000}
_RED_PRODUCTS = 4
# With less, no packet or two are between its thresholds, and tc refuses the average.
MIN_RED_PACKETS = 24

DEFAULT_RESOLUTION_NS = 10**7
#: A scenario without a duration ends when its data has arrived; events repeat and traces are played
#: until then, and at most so long.
LONGEST_NS = 600 * 10**9
#: A router of an unmodified kernel takes 17 us for a packet on an emulated machine; two hosts and
#: a router make some 50 us.
DEFAULT_SEED_DELAY_NS = 50_000
DEFAULT_SAMPLE_INTERVAL_NS = 10 * 10**6

# What can be chosen for a resolved scenario.
_RESOLVED_FLAGS = ("scheduler", "seed", "repeat", "pcap", "trace")

#: The actions after which a path is there or not.
_UP_OR_NOT = ("down", "up", "close")
_CHANGING = ("change", "handover")
_PRIORITY = ("backup", "regular")
# What a handover does to its path if it is not told otherwise, as measured at high speeds: a tenth
# of the throughput, three times the round trip (Cech 2020, section 5).
_HANDOVER_RATE = Factor(0.1)
_HANDOVER_DELAY = Factor(3)


# Resolved: one run, every default filled in


class _Resolved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


#: At how many ns after the start of the workload which rate, delay and loss begin; None: as before.
TraceStep = tuple[int, int | None, int | None, float | None]


class Direction(_Resolved):
    """One direction of a path, as it is shaped on the way: up is client to server, down the other.

    A rate of 0 is an outage: what comes waits; NO_RATE_BPS limits nothing, as of a path that leaves
    it to its links. `loss` is the mean; with a `loss_burst` that of two
    states, of which the bad one lasts for so many packets. `drop` and `drop_acks` are the
    packets, with data and without, that are lost, from which number to which. The queue is limited
    by packets or by bytes; the other is None. `cross_bps` is the rate of a stream of UDP packets
    from the start of the workload on. `steps` are those of a trace after its first.
    """

    rate_bps: int
    delay_ns: int
    jitter_ns: int
    loss: float
    loss_burst: int | None = None
    loss_bad: float = 1.0
    loss_good: float = 0.0
    loss_correlation: float = 0.0
    drop: tuple[tuple[int, int], ...] = ()
    drop_acks: tuple[tuple[int, int], ...] = ()
    duplicate: float = 0.0
    reorder: float = 0.0
    reorder_by_ns: int | None = None
    queue_packets: int | None
    queue_bytes: int | None = None
    queue_discipline: Literal["netem", "droptail", "codel", "fq_codel", "red", "pie"] = "netem"
    bottleneck: Literal["router", "host"] = "router"
    cross_bps: int = 0
    steps: tuple[TraceStep, ...] = ()


class Link(_Resolved):
    """A link each way: that of a path, or one between two routers which several paths share."""

    name: str
    up: Direction
    down: Direction


class Path(Link):
    """A pair of addresses with a link each way, and then, by name, the shared ones in `links`."""

    links: tuple[str, ...] = ()


class Change(_Resolved):
    """What becomes different in one direction of a path; None: it stays.

    A factor multiplies what the value was when the event happened.
    """

    rate_bps: int | None = None
    rate_factor: float | None = None
    delay_ns: int | None = None
    delay_factor: float | None = None
    jitter_ns: int | None = None
    loss: float | None = None
    cross_bps: int | None = None


class Event(_Resolved):
    """What happens to a path, `at_ns` after the start of the workload, and every `every_ns` then.

    down: it loses every packet, both ways; up: it no longer does; close: the server gives up its
    address there, and the subflow ends; change, handover: its directions are as `up` and `down`
    say; backup, regular: the client asks that the subflow be used last, or as the others.

    With `random`, `every_ns` is the mean of exponential gaps. After `lasts_ns` it is undone; None:
    it stays, but a handover, which then draws how long it lasts. Module `timeline` spells it out.
    """

    at_ns: int
    path: str
    action: Literal["down", "up", "close", "change", "handover", "backup", "regular"]
    lasts_ns: int | None = None
    every_ns: int | None = None
    random: bool = False
    up: Change = Change()
    down: Change = Change()


class Connection(_Resolved):
    """A connection between hosts of its own, opened `start_ns` after the start of the workload.

    Its `paths`, by name, are no other's. `scheduler` or `cc` None: that of the scenario. The
    duration of its `workload` counts from its own start. With a start of 0 it is there before, as
    all are without connections of their own.
    """

    name: str
    paths: tuple[str, ...]
    transport: Literal["mptcp", "tcp"]
    scheduler: Choice | None
    cc: str | None
    start_ns: int = 0
    workload: AnyWorkload

    @property
    def end_ns(self) -> int | None:
        """Until when it sends; None: until its data has arrived."""
        duration_ns = self.workload.duration_ns
        return None if duration_ns is None else self.start_ns + duration_ns


@dataclass(frozen=True)
class Pair:
    """A client and a server: their namespaces, and the connections between them.

    Its paths are those of the scenario from number `first` on, which counts from 1.
    """

    client: str
    server: str
    first: int
    connection: Connection
    paths: tuple[Path, ...]

    @property
    def numbers(self) -> range:
        """The numbers of its paths."""
        return range(self.first, self.first + len(self.paths))


class Scenario(_Resolved):
    """One run, completely: together with the kernel and guest builds it fixes every byte.

    `events` are in the order of time; they happen to paths and to links, whose names differ.
    Without `connections` there is one pair of hosts, to which transport, scheduler, cc and workload
    belong. With them, the paths are in their order, and the workload says how long all of it lasts.
    `pcap` and `trace` add files to what the run leaves: captures at all hosts, and the scheduler's
    decisions. They change nothing else.

    Each direction of each path takes longer by up to `seed_delay_ns`, drawn from the seed.

    One connection out of several, seen alone, has `first_path` and `start_ns`: the number of its
    first path, and its own start.
    """

    paths: tuple[Path, ...]
    links: tuple[Link, ...] = ()
    connections: tuple[Connection, ...] = ()
    events: tuple[Event, ...]
    first_path: int = 1
    start_ns: int = 0
    transport: Literal["mptcp", "tcp"]
    scheduler: Choice
    cc: str
    send_buffer_bytes: int | None
    receive_buffer_bytes: int | None
    sample_interval_ns: int
    workload: AnyWorkload
    pcap: bool
    trace: bool
    seed: int
    seed_delay_ns: int = 0

    def key_text(self) -> str:
        """Canonical JSON, equal for equal scenarios; `Scenario.model_validate_json` reads it."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def with_(
        self,
        *,
        scheduler: Choice | None = None,
        cc: str | None = None,
        seed: int | None = None,
    ) -> Scenario:
        """The same scenario with another scheduler, congestion control, seed, or all of them."""
        return self.model_copy(
            update={
                "scheduler": self.scheduler if scheduler is None else scheduler,
                "cc": self.cc if cc is None else cc,
                "seed": self.seed if seed is None else seed,
            }
        )

    def pairs(self) -> list[Pair]:
        """The pairs of hosts: one for each connection, or the only one."""
        found, first = [], self.first_path
        for number, connection in enumerate(self.connections or (self._only_connection(),), 1):
            suffix = str(number) if number > 1 else ""
            paths = self.paths[first - self.first_path :][: len(connection.paths)]
            found.append(Pair(f"client{suffix}", f"server{suffix}", first, connection, paths))
            first += len(paths)
        return found

    def _only_connection(self) -> Connection:
        return Connection(
            name="",
            paths=tuple(path.name for path in self.paths),
            transport=self.transport,
            scheduler=None,
            cc=None,
            workload=self.workload,
        )

    def scheduler_of(self, connection: Connection) -> Choice:
        return self.scheduler if connection.scheduler is None else connection.scheduler

    def cc_of(self, connection: Connection) -> str:
        return self.cc if connection.cc is None else connection.cc

    def choices(self) -> list[Choice]:
        """The schedulers that the run uses, each once."""
        mptcp = [p.connection for p in self.pairs() if p.connection.transport == "mptcp"]
        return list(dict.fromkeys(map(self.scheduler_of, mptcp)))

    def alone(self, pair: Pair) -> Scenario:
        """One connection of several by itself, with all that happens to the links it shares."""
        connection = pair.connection
        return self.model_copy(
            update={
                "paths": pair.paths,
                "connections": (),
                "transport": connection.transport,
                "scheduler": self.scheduler_of(connection),
                "cc": self.cc_of(connection),
                "workload": connection.workload,
                "first_path": pair.first,
                "start_ns": connection.start_ns,
            }
        )

    def single_path(self, name: str) -> Scenario:
        """The baseline: plain TCP over the path of that name alone, all else the same.

        Raises ValueError if there is no such path, or if it does not last.
        """
        paths = tuple(path for path in self.paths if path.name == name)
        if not paths:
            raise ValueError(f"no path is named {name!r}")
        if name not in self.lasting_paths():
            raise ValueError(f"path {name!r} does not last to the end")
        changes = {
            "paths": paths,
            "links": tuple(link for link in self.links if link.name in paths[0].links),
            "events": tuple(
                event
                for event in self.events
                if (event.path == name and event.action not in _PRIORITY)
                or event.path in paths[0].links
            ),
            "transport": "tcp",
            "scheduler": Choice(name=scheduler.DEFAULT),
            "trace": False,
        }
        return self.model_copy(update=changes)

    def lasting_paths(self) -> list[str]:
        """The names of the paths that are up and open at the end."""
        last = {e.path: e.action for e in self.events if e.action in _UP_OR_NOT and not e.lasts_ns}
        return [
            path.name
            for path in self.paths
            if all(last.get(name, "up") == "up" for name in (path.name, *path.links))
        ]


@dataclass(frozen=True)
class Request:
    """What a person asks for: a scenario, run with each scheduler, each congestion control and
    each of `repeat` seeds, None: as many as what is done with it has by default.

    `sources` has the C files of those schedulers that are a person's own, by name; `traces` what
    is played on a path, by its name and "up" or "down".
    """

    base: Scenario
    schedulers: tuple[Choice, ...]
    ccs: tuple[str, ...]
    repeat: int | None
    sources: Mapping[str, FilePath]
    traces: Mapping[tuple[str, str], link_trace.Source]

    def compared(self) -> Request:
        """The same with as many seeds as show how far results spread, if it says no number."""
        return replace(self, repeat=self.repeat or COMPARED_SEEDS)

    def runs(self) -> list[Scenario]:
        """Every run: scheduler by scheduler, one congestion control after the other, seeds
        ascending from the scenario's own.
        """
        first = self.base.seed
        seeds = range(first, min(first + (self.repeat or 1), MAX_SEED + 1))
        return [
            self.base.with_(scheduler=each, cc=cc, seed=seed)
            for each in self.schedulers
            for cc in self.ccs
            for seed in seeds
        ]


# From file and flags to a request


@dataclass(frozen=True)
class Flags:
    """Command-line flags, each as written; None (no flag) leaves the file or the default be.

    `path` holds one text per --path; if there is any, the file's paths are replaced; `link`,
    `connection` and `event` are the same for their flags. `scheduler` and `cc` are one or several,
    with commas. `workload` replaces that of the file, and what further flags say of it goes before
    it. Of bulk, a --duration replaces the size, and a --size the duration and the warm-up. `pcap`
    and `trace` are flags alone: they say what is kept of a run, not what it is. A `program`
    replaces the file's workload.
    """

    path: Sequence[str] = ()
    link: Sequence[str] = ()
    connection: Sequence[str] = ()
    event: Sequence[str] = ()
    scheduler: str | None = None
    cc: str | None = None
    transport: str | None = None
    seed: str | int | None = None
    seed_delay: str | None = None
    repeat: str | int | None = None
    send_buffer: str | None = None
    receive_buffer: str | None = None
    sample_interval: str | None = None
    workload: str | None = None
    direction: str | None = None
    start: str | None = None
    duration: str | None = None
    size: str | None = None
    warmup: str | None = None
    pcap: bool = False
    trace: bool = False
    program: Program | None = None


def load_file(
    file: FilePath | str,
    flags: Flags | None = None,
    *,
    known: Mapping[str, Scheduler] | None = None,
    single: bool = False,
) -> Request:
    """The request of a scenario file, with what the flags override.

    A file NAME.json is a resolved scenario, as each run keeps it, of which flags can change the
    schedulers, the seeds, and what is kept.

    `known` are the schedulers that there are, by default those of the lab kernel. A scheduler's C
    file that the scenario file names is looked for beside it. `single`: one scheduler only, as
    `mptcplab run` takes it. Raises InputError with every mistake in the file and the flags.
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
    """The request of a table, as a scenario file is one; see `load_file`.

    `source` is what mistakes are said to be in, `folder` where the files that it names lie.
    """
    mistakes = Mistakes(source)
    mistakes.data = dict(table)
    return _request(Flags(), mistakes, known, single, folder)


def table_of(file: FilePath | None, flags: Flags) -> tuple[dict[str, Any], FilePath]:
    """What a scenario file and flags say, as one table that `from_table` takes, and its folder.

    Raises InputError with every mistake in the form; what it means is not looked at.
    """
    mistakes = Mistakes("the command line" if file is None else printable(str(file)))
    if file is not None:
        mistakes.data = toml_file.read(file, mistakes)
    mistakes.stop_if_any()
    _merge(flags, mistakes)
    mistakes.stop_if_any()
    own = file is None or flags.path or "/" in (flags.scheduler or "")
    return mistakes.data, FilePath() if own or file is None else file.parent


def from_flags(
    flags: Flags, *, known: Mapping[str, Scheduler] | None = None, single: bool = False
) -> Request:
    """The request of flags alone; see `load_file`."""
    return _request(flags, Mistakes("the command line"), known, single, FilePath())


def parse_link_flag(text: str) -> dict[str, Any]:
    """The literal link of a --link flag, which is written as a path; see `parse_path_flag`."""
    return parse_path_flag(text, "a link is", "bottleneck:10mbit,10ms,queue=100")


def parse_connection_flag(text: str) -> dict[str, Any]:
    """The literal connection of a --connection flag: NAME:paths=PATH/PATH,KEY=VALUE...

    "tcp:paths=t,cc=reno,workload.direction=down". Raises ValueError if the text has not this form.
    """
    form = "a connection is NAME:KEY=VALUE,..., e.g. tcp:paths=t,transport=tcp,cc=reno"
    name, colon, rest = text.partition(":")
    connection: dict[str, Any] = {"name": name.strip()}
    if not colon:
        raise ValueError(f"no colon after the name; {form}")
    for item in rest.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise ValueError(f"{shown(item.strip())} is not KEY=VALUE; {form}")
        _put(connection, key, value, form, ("workload",))
    return connection


def parse_path_flag(
    text: str, what: str = "a path is", example: str = "wifi:50mbit,10ms,queue=200"
) -> dict[str, Any]:
    """The literal path of a --path flag: NAME:RATE,DELAY and then any KEY=VALUE.

    "lte:20mbit,40ms,loss=0.1%,down.rate=10mbit" gives the table that a [[path]] of the file would
    be; its values are not looked at yet. The name of a preset asks for that preset, unless the
    text gives a rate or a delay by its position, or both by their keys: then it means what it
    says, as with any other name. Raises ValueError if the text has not this form.
    """
    name, colon, rest = text.partition(":")
    form = f"{what} NAME:RATE,DELAY[,KEY=VALUE...], e.g. {example}"
    path: dict[str, Any] = {"name": name.strip()}
    if not colon and path["name"] not in PRESETS:
        hint = suggestion(path["name"], PRESETS.keys()) or ";"
        raise ValueError(
            f"no colon after the name, which is not that of a preset{hint} "
            f"presets: {', '.join(PRESETS)}; {form}"
        )
    by_name = path["name"] in PRESETS
    positional = dict(enumerate(("rate", "delay")))
    for index, item in enumerate(rest.split(",") if rest.strip() else ()):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            key, value = positional.get(index, ""), key
            by_name = False
            if not key:
                raise ValueError(f"{shown(value)} is not KEY=VALUE; {form}")
        if not value:
            raise ValueError(f"nothing after {shown(key)}; {form}")
        _put(path, key, value, form)
    if by_name and not {"rate", "delay"} <= path.keys() and "link" not in path:
        path.setdefault("preset", path["name"])
    return path


def parse_event_flag(text: str) -> dict[str, Any]:
    """The literal event of an --event flag: TIME:PATH:ACTION and then any KEY=VALUE.

    "3s:lte:down", or "15s:lte:change,rate=x0.1,lasts=2s"; PATH is the name of a path or, as
    link=NAME, of a link. Raises ValueError if the text has not
    this form.
    """
    form = "an event is TIME:PATH:ACTION[,KEY=VALUE...], e.g. 3s:lte:down"
    parts = [part.strip() for part in text.split(":", 2)]
    if len(parts) != 3:
        raise ValueError(form)
    action, *items = (item.strip() for item in parts[2].split(","))
    key, equals, name = (part.strip() for part in parts[1].partition("="))
    event: dict[str, Any] = {"at": parts[0], "action": action}
    event |= {"link": name} if equals and key == "link" else {"path": parts[1]}
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise ValueError(f"{shown(item)} is not KEY=VALUE; {form}")
        _put(event, key, value, form)
    return event


def parse_workload_flag(text: str) -> dict[str, Any]:
    """The literal workload of a --workload flag: KIND and then any KEY=VALUE.

    "cbr:size=8KB,rate=500kbit" gives the table that [workload] of the file would be. Raises
    ValueError if the text has not this form.
    """
    form = "a workload is KIND[:KEY=VALUE,...], e.g. cbr:size=8KB,rate=500kbit"
    kind, colon, rest = text.partition(":")
    workload: dict[str, Any] = {"kind": kind.strip()}
    for item in rest.split(",") if colon else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise ValueError(f"{shown(item.strip())} is not KEY=VALUE; {form}")
        if key in workload:
            raise ValueError(f"{shown(key)} is given twice; {form}")
        workload[key] = value
    return workload


def _put(
    table: dict[str, Any],
    key: str,
    value: str,
    form: str,
    inside: Sequence[str] = ("up", "down"),
) -> None:
    """Set `key` of a literal table, which may be one of a table inside (up.rate)."""
    side, dot, inner = key.partition(".")
    home: Any = table
    if dot and side in inside:
        home = table.setdefault(side, {})
    else:
        inner = key
    if not isinstance(home, dict) or inner in home:
        raise ValueError(f"{shown(key)} is given twice; {form}")
    home[inner] = value


def _resolved_request(
    file: FilePath,
    flags: Flags,
    mistakes: Mistakes,
    known: Mapping[str, Scheduler] | None,
    single: bool,
) -> Request:
    base = _read_resolved(file, mistakes)
    mistakes.stop_if_any()
    assert base, "without a mistake it was read"
    for field in fields(flags):
        if field.name not in _RESOLVED_FLAGS and getattr(flags, field.name):
            place = (field.name,)
            mistakes.flags[place] = "--" + field.name.replace("_", "-")
            mistakes.add(
                place, f"{file.name} is resolved, and has all but the schedulers and seeds"
            )
    chosen = Flags(**{name: getattr(flags, name) for name in _RESOLVED_FLAGS})
    _merge(chosen, mistakes)
    literal = validate(mistakes)
    sources: dict[str, FilePath] = {}
    schedulers: tuple[Choice, ...] = (base.scheduler,)
    if literal.scheduler:
        known = scheduler.known() if known is None else known
        specs = _specs(literal.scheduler, known)
        schedulers = _schedulers(specs, known, FilePath(), ("scheduler",), sources, mistakes)
    elif base.scheduler.digest is not None:
        message = (
            f"its file is not kept with a run; give it as --scheduler ./{base.scheduler.name}.c"
        )
        mistakes.add(("scheduler",), message, base.scheduler.name)
    if base.transport == "tcp" and literal.scheduler:
        mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")
    if flags.trace:
        _check_trace(base.transport, schedulers, mistakes)
    if single and len(schedulers) > 1:
        message = f"{len(schedulers)} schedulers, where one is run; to compare: mptcplab compare"
        mistakes.add(("scheduler",), message)
    seed = base.seed if literal.seed is None else literal.seed
    repeat = literal.repeat or 1
    if seed + repeat - 1 > MAX_SEED:
        message = f"the last seed would be {seed + repeat - 1}; the largest is {MAX_SEED}"
        mistakes.add(("repeat",), message)
    mistakes.stop_if_any()
    kept = {"pcap": flags.pcap, "trace": flags.trace}
    base = base.with_(scheduler=schedulers[0], seed=seed).model_copy(update=kept)
    return Request(base, schedulers, (base.cc,), literal.repeat, sources, {})


def _read_resolved(file: FilePath, mistakes: Mistakes) -> Scenario | None:
    try:
        found = Scenario.model_validate_json(file.read_bytes())
    except OSError as error:
        mistakes.add((), f"cannot be read: {error.strerror}")
        return None
    except ValidationError as error:
        where, wrong = first_of(error)
        message = f"{wrong}; a .json file is the scenario.json of a run, all others are TOML"
        mistakes.add((), f"{where}: {message}" if where else message)
        return None
    if isinstance(found.workload, Program):
        mistakes.add(("workload",), "a program is run again by mptcplab exec", "program")
    return found


_WORKLOAD_KEYS = tuple(LiteralWorkload.model_fields)
_LIST_FLAGS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "path": parse_path_flag,
    "link": parse_link_flag,
    "connection": parse_connection_flag,
    "event": parse_event_flag,
}
_BARE_FLAGS = ("pcap", "trace", "program")


def _request(
    flags: Flags,
    mistakes: Mistakes,
    known: Mapping[str, Scheduler] | None,
    single: bool,
    folder: FilePath,
) -> Request:
    """`folder` is that of the scenario file, in which its schedulers' files are looked for."""
    _merge(flags, mistakes)
    literal = validate(mistakes)
    if not literal.path:
        form = "each headed [[path]] with name, rate and delay, or as --path wifi:50mbit,10ms"
        mistakes.missing(("path",), f"1 to {MAX_PATHS} paths are needed, {form}")
    if len(literal.path) > MAX_PATHS and not literal.connection:
        message = f"{len(literal.path)} paths; at most {MAX_PATHS} are possible"
        mistakes.add(("path",), message)
    load: AnyWorkload | None = flags.program
    if load is None:
        page_folder = FilePath() if mistakes.flag(("workload", "page")) else folder
        load = workload.resolve(literal.workload, page_folder, mistakes)
    traces = _Traces(FilePath() if mistakes.flag(("path",)) else folder, load, mistakes)
    links, paths = _links_and_paths(literal, traces, mistakes)
    scheduler_folder = FilePath() if mistakes.flag(("scheduler",)) else folder
    known = scheduler.known() if known is None else known
    specs = _specs(literal.scheduler or (scheduler.DEFAULT,), known)
    sources: dict[str, FilePath] = {}
    schedulers = _schedulers(specs, known, scheduler_folder, ("scheduler",), sources, mistakes)
    if single and len(specs) > 1:
        message = f"{len(specs)} schedulers, where one is run; to compare: mptcplab compare"
        mistakes.add(("scheduler",), message)
    ccs = literal.cc or (congestion.DEFAULT,)
    if single and len(ccs) > 1:
        message = f"{len(ccs)} congestion controls, where one is run; to compare: mptcplab compare"
        mistakes.add(("cc",), message)
    transport: Any = literal.transport or "mptcp"
    connections: tuple[Connection, ...] = ()
    if literal.connection:
        connections = _connections(literal, load, known, folder, sources, mistakes)
        asked = {each.scheduler or other for each in connections for other in schedulers}
        if flags.trace and connections and all(c.name == scheduler.DEFAULT for c in asked):
            message = "no connection has a scheduler whose decisions are recorded; default has none"
            mistakes.add(("trace",), message)
    elif transport == "tcp":
        if len(literal.path) > 1:
            message = f"plain TCP runs over exactly one path, not over {len(literal.path)}"
            mistakes.add(("transport",), message)
        if literal.scheduler and specs != (scheduler.DEFAULT,):
            mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")
    if flags.trace and not connections:
        _check_trace(transport, schedulers, mistakes)
    events = _events(literal, connections, transport, load, mistakes)
    _check_event_losses(literal.event, (*paths, *links), mistakes)
    _check_event_rates(literal.event, paths, mistakes)
    sample_interval_ns = literal.sample_interval or DEFAULT_SAMPLE_INTERVAL_NS
    if load and sample_interval_ns > (load.duration_ns or sample_interval_ns):
        mistakes.add(("sample_interval",), "longer than the duration; nothing would be sampled")
    seed = 1 if literal.seed is None else literal.seed
    repeat = literal.repeat or 1
    if seed + repeat - 1 > MAX_SEED:
        message = f"the last seed would be {seed + repeat - 1}; the largest is {MAX_SEED}"
        mistakes.add(("repeat",), message)
    mistakes.stop_if_any()
    assert load, "a workload without mistakes is resolved"
    if connections:
        paths, events = _of_connections(literal.connection, connections, paths, events)
    places = 2 * max(len(connections), 1) + len(paths) + 2 * len(links)
    if flags.pcap and places > MAX_CAPTURES:
        message = f"{places} hosts and routers; at most {MAX_CAPTURES} can be captured at"
        mistakes.add(("pcap",), message)
        mistakes.stop_if_any()
    base = Scenario(
        paths=paths,
        links=links,
        connections=connections,
        events=events,
        transport=transport,
        scheduler=schedulers[0],
        cc=ccs[0],
        send_buffer_bytes=literal.send_buffer,
        receive_buffer_bytes=literal.receive_buffer,
        sample_interval_ns=sample_interval_ns,
        workload=load,
        pcap=flags.pcap,
        trace=flags.trace,
        seed=seed,
        seed_delay_ns=(DEFAULT_SEED_DELAY_NS if literal.seed_delay is None else literal.seed_delay),
    )
    return Request(base, schedulers, ccs, literal.repeat, sources, traces.sources)


def _specs(wanted: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """What is asked for, with the names of all schedulers for "all"."""
    return tuple(name for spec in wanted for name in (known if spec == scheduler.ALL else (spec,)))


def _check_trace(transport: str, schedulers: Sequence[Choice], mistakes: Mistakes) -> None:
    """Note that decisions are to be kept where there are none."""
    if transport == "tcp":
        mistakes.add(("trace",), "plain TCP has no scheduler, whose decisions could be kept")
    elif scheduler.DEFAULT in [choice.name for choice in schedulers]:
        message = "the decisions of default, which is upstream's, are not recorded; choose another"
        mistakes.add(("trace",), message)


def _merge(flags: Flags, mistakes: Mistakes) -> None:
    """Put what the flags say over what the file says, and note which is which."""
    data = mistakes.data
    valued = [
        f.name for f in fields(flags) if f.name not in (*_LIST_FLAGS, *_BARE_FLAGS, "workload")
    ]
    given = {name: getattr(flags, name) for name in valued}
    given = {key: value for key, value in given.items() if value is not None}
    if flags.workload is not None:
        _merge_workload(flags.workload, mistakes)
    workload = data.setdefault("workload", {})
    if isinstance(workload, dict) and workload.get("kind", "bulk") == "bulk":
        replaced = {"duration": ["size"], "size": ["duration", "warmup"]}
        for key in [old for new, olds in replaced.items() if new in given for old in olds]:
            workload.pop(key, None)
    for key, value in given.items():
        place = ("workload", key) if key in _WORKLOAD_KEYS else (key,)
        mistakes.flags[place] = "--" + key.replace("_", "-")
        if key in ("scheduler", "cc"):
            value = [name.strip() for name in value.split(",")]
        elif key in ("seed", "repeat") and re.fullmatch("[0-9]{1,18}", str(value)):
            value = int(value)
        table = workload if key in _WORKLOAD_KEYS else data
        if isinstance(table, dict):
            table[key] = value
    for key, parse in _LIST_FLAGS.items():
        texts = getattr(flags, key)
        if not texts:
            continue
        data[key] = []
        mistakes.flags[key,] = f"--{key}"
        for index, text in enumerate(texts):
            try:
                data[key].append(parse(text))
            except ValueError as error:
                data[key].append({})
                mistakes.add((key, index), str(error), text)
    for key in _BARE_FLAGS:
        if getattr(flags, key):
            mistakes.flags[key,] = f"--{key}"


def _merge_workload(text: str, mistakes: Mistakes) -> None:
    """Put a --workload flag in the place of what the file says."""
    mistakes.flags["workload",] = "--workload"
    try:
        mistakes.data["workload"] = parse_workload_flag(text)
    except ValueError as error:
        mistakes.data["workload"] = {}
        mistakes.add(("workload",), str(error), text)


def _schedulers(
    specs: Sequence[str],
    known: Mapping[str, Scheduler],
    folder: FilePath,
    place: Place,
    sources: dict[str, FilePath],
    mistakes: Mistakes,
) -> tuple[Choice, ...]:
    """The schedulers that can be resolved; the files of a person's own are added to `sources`."""
    choices: list[Choice] = []
    for spec in specs:
        try:
            choice, found = scheduler.choose(spec, known, folder)
        except SpecError as error:
            for message in error.messages:
                mistakes.add(place, message, spec)
            continue
        if found.digest is not None and found.file is not None:
            source = sources.setdefault(found.name, found.file)
            if source.resolve() != found.file.resolve():
                message = f"{source} is another scheduler of the same name; rename one of them"
                mistakes.add(place, message, spec)
        if choice in choices:
            mistakes.add(place, "named twice", spec)
        choices.append(choice)
    return tuple(choices)


# Connections


def _connections(
    literal: LiteralScenario,
    load: AnyWorkload | None,
    known: Mapping[str, Scheduler],
    folder: FilePath,
    sources: dict[str, FilePath],
    mistakes: Mistakes,
) -> tuple[Connection, ...]:
    """Every connection; one with a count stands for several, whose paths are named as they are.

    Mistakes are noted for those that cannot be.
    """
    if isinstance(load, Program):
        message = "programs run at one client and one server; leave the connections out"
        mistakes.add(("connection",), message)
        return ()
    found: list[Connection] = []
    names: dict[str, int] = {}
    users: dict[str, int] = {}
    for index, each in enumerate(literal.connection):
        place: Place = ("connection", index)
        _check_users(each, place, literal.path, users, mistakes)
        connection = _connection(literal, each, index, load, known, folder, sources, mistakes)
        if each.name is None:
            message = 'every connection has a name, e.g. "background"'
            mistakes.missing((*place, "name"), message)
            continue
        copies = _copies(each.name, each.count)
        for name in copies:
            if name in names:
                message = f"also the name of connection[{names[name]}]; names are unique"
                mistakes.add((*place, "name"), message)
            names.setdefault(name, index + 1)
        if connection:
            found += [
                connection.model_copy(
                    update={
                        "name": name,
                        "paths": tuple(_copies(p, each.count)[i] for p in connection.paths),
                    }
                )
                for i, name in enumerate(copies)
            ]
    for index, path in enumerate(literal.path):
        if path.name is not None and path.name not in users:
            mistakes.add(("path", index), "no connection has this path", path.name)
    if len(found) > MAX_CONNECTIONS:
        message = f"{len(found)} connections in all; at most {MAX_CONNECTIONS} are possible"
        mistakes.add(("connection",), message)
    count = sum(len(connection.paths) for connection in found)
    if count > MAX_ALL_PATHS:
        message = f"{count} paths in all; at most {MAX_ALL_PATHS} are possible"
        mistakes.add(("connection",), message)
    return tuple(found)


def _copies(name: str, count: int | None) -> list[str]:
    """What the copies of something are called; with a count, NAME-1 and so on."""
    return [name] if count is None else [f"{name}-{i}" for i in range(1, count + 1)]


def _check_users(
    connection: LiteralConnection,
    place: Place,
    paths: Sequence[LiteralPath],
    users: dict[str, int],
    mistakes: Mistakes,
) -> None:
    """Note what is wrong with the paths of a connection; `users` has which path is whose."""
    names = [path.name for path in paths if path.name is not None]
    if connection.paths is None:
        mistakes.missing((*place, "paths"), 'every connection has its paths, e.g. ["wifi", "lte"]')
    for name in connection.paths or ():
        if name not in names:
            hint = suggestion(name, names) or ";"
            known = f" the paths are {', '.join(names)}" if names else " there are no paths"
            mistakes.add((*place, "paths"), f"unknown path{hint}{known}", name)
        elif name in users:
            message = (
                f"also a path of connection[{users[name]}]; each has paths of its own, and what "
                "they share is a [[link]]"
            )
            mistakes.add((*place, "paths"), message, name)
        users.setdefault(name, int(place[1]) + 1)


def _connection(
    whole: LiteralScenario,
    literal: LiteralConnection,
    index: int,
    load: AnyWorkload | None,
    known: Mapping[str, Scheduler],
    folder: FilePath,
    sources: dict[str, FilePath],
    mistakes: Mistakes,
) -> Connection | None:
    """A connection without its copies; None, with a mistake noted, if it cannot be."""
    place: Place = ("connection", index)
    if mistakes.flag(place):
        folder = FilePath()
    transport: Any = literal.transport or whole.transport or "mptcp"
    choice = None
    if transport == "tcp":
        if len(literal.paths or ()) > 1:
            message = f"plain TCP runs over exactly one path, not over {len(literal.paths or ())}"
            mistakes.add((*place, "paths"), message)
        if literal.scheduler is not None:
            mistakes.add((*place, "scheduler"), "plain TCP has no scheduler; leave it out")
    elif literal.scheduler is not None:
        where = (*place, "scheduler")
        choices = _schedulers([literal.scheduler], known, folder, where, sources, mistakes)
        if not choices:
            return None
        choice = choices[0]
    own = _own_workload(whole, literal, index, load, folder, mistakes)
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
    index: int,
    load: AnyWorkload | None,
    folder: FilePath,
    mistakes: Mistakes,
) -> AnyWorkload | None:
    """What a connection carries from its start on: its own, or what the scenario has."""
    if load is None:
        return None
    place: Place = ("connection", index)
    start_ns = literal.start or 0
    wanted = literal.workload
    if wanted == LiteralWorkload():
        wanted = whole.workload.model_copy(update={"duration": None})
    lasting = "duration" in workload.KEYS[wanted.kind or "bulk"] and wanted.size is None
    lasting |= wanted.kind in ("cbr", "frames")
    lasting &= wanted.think is None
    until_ns = load.duration_ns if literal.end is None else literal.end
    if load.duration_ns is not None and start_ns >= load.duration_ns:
        message = f"not before the end of the workload, at {units.format_time(load.duration_ns)}"
        mistakes.add((*place, "start"), message)
        return None
    if literal.end is not None:
        if not lasting or wanted.duration is not None:
            message = "its workload says itself when it ends; leave one of the two out"
            mistakes.add((*place, "end"), message)
            return None
        if literal.end <= start_ns:
            message = f"not after its start, at {units.format_time(start_ns)}"
            mistakes.add((*place, "end"), message)
            return None
    if lasting and wanted.duration is None and until_ns is not None:
        wanted = wanted.model_copy(update={"duration": until_ns - start_ns})
    own = workload.resolve(wanted, folder, mistakes.inside(*place))
    if own is None:
        return None
    if start_ns and literal.workload.start is not None:
        message = "it is opened at its start, when data is sent at once; leave one of the two out"
        mistakes.add((*place, "workload", "start"), message)
        return None
    if start_ns or workload.opens_connections(own):
        own = own.model_copy(update={"start": "at-once"})
    elif literal.workload.start is None:
        own = own.model_copy(update={"start": load.start})
    if isinstance(own, Video):
        message = "a player needs a run of its own; a connection carries anything but video"
        mistakes.add((*place, "workload", "kind"), message)
        return None
    if own.duration_ns is not None and load.duration_ns is not None:
        end_ns = start_ns + own.duration_ns
        if end_ns > load.duration_ns:
            late = "end" if literal.end is not None else "workload"
            message = (
                f"it would end at {units.format_time(end_ns)}, and all of it at "
                f"{units.format_time(load.duration_ns)}, the duration of [workload]"
            )
            mistakes.add((*place, late), message)
    return own


def _of_connections(
    literals: Sequence[LiteralConnection],
    connections: Sequence[Connection],
    paths: Sequence[Path],
    events: Sequence[Event],
) -> tuple[tuple[Path, ...], tuple[Event, ...]]:
    """The paths, with their copies, in the order of the connections, and what happens to them."""
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


def _events(
    whole: LiteralScenario,
    connections: Sequence[Connection],
    transport: str,
    workload: Workload | None,
    mistakes: Mistakes,
) -> tuple[Event, ...]:
    """The events in the order of time; for what cannot happen, mistakes are noted."""
    literals = whole.event
    known = {
        "path": [path.name for path in whole.path if path.name is not None],
        "link": [link.name for link in whole.link if link.name is not None],
    }
    # of plain TCP
    single = set(known["path"]) if transport == "tcp" and not connections else set()
    single |= {
        name
        for each in whole.connection
        for name in each.paths or ()
        if (each.transport or transport) == "tcp"
    }
    if len(literals) > MAX_EVENTS:
        mistakes.add(("event",), f"{len(literals)} events; at most {MAX_EVENTS} are possible")
    duration_ns = workload.duration_ns if workload else None
    found: list[tuple[int, Event]] = []
    for index, literal in enumerate(literals):
        place: Place = ("event", index)
        for key, example in (("at", "3s"), ("path", "lte"), ("action", "down")):
            if getattr(literal, key) is None and (key != "path" or literal.link is None):
                mistakes.missing((*place, key), f'every event has {key}, e.g. "{example}"')
        if duration_ns is not None and (literal.at or 0) >= duration_ns:
            message = f"not before the end of the workload, at {units.format_time(duration_ns)}"
            mistakes.add((*place, "at"), message)
        if literal.action is not None:
            _check_event(literal, place, mistakes)
        kind = "path" if literal.link is None else "link"
        name = getattr(literal, kind)
        if literal.path is not None and literal.link is not None:
            mistakes.add((*place, "link"), "path and link are both given; give one of them")
        elif name is not None and name not in known[kind]:
            hint = suggestion(name, known[kind]) or ";"
            there = f" the {kind}s are {', '.join(known[kind])}"
            there = there if known[kind] else f" there are no {kind}s"
            mistakes.add((*place, kind), f"unknown {kind}{hint}{there}")
        elif kind == "link" and literal.action in ("close", *_PRIORITY):
            message = "a link has no address; it can go down and up, and change"
            mistakes.add((*place, "action"), message)
        elif name in single and literal.action in ("close", *_PRIORITY):
            message = "plain TCP has one path, with one address; it can go down and up, and change"
            mistakes.add((*place, "action"), message)
        elif literal.at is not None and name is not None and literal.action is not None:
            if kind == "link":
                _check_link_event(literal, place, mistakes)
            found.append((index, _event(literal)))
    times = sum(
        (duration_ns or LONGEST_NS) // event.every_ns for _, event in found if event.every_ns
    )
    if times > MAX_OCCURRENCES:
        message = f"they happen {times} times in all; at most {MAX_OCCURRENCES} are possible"
        mistakes.add(("event",), message)
    found.sort(key=lambda item: item[1].at_ns)
    _check_order(found, _ways(whole), mistakes)
    return tuple(event for _, event in found)


def _ways(whole: LiteralScenario) -> list[list[tuple[str, ...]]]:
    """Of each connection its paths, each as the names of all that must be up for it."""
    ways = {path.name: (path.name, *(path.link or ())) for path in whole.path if path.name}
    users = [each.paths or () for each in whole.connection] or [tuple(ways)]
    return [[ways[name] for name in names if name in ways] for names in users]


def _check_link_event(literal: LiteralEvent, place: Place, mistakes: Mistakes) -> None:
    for table, key in ((literal, ()), (literal.up, ("up",)), (literal.down, ("down",))):
        if table.cross is not None:
            message = "cross traffic goes from host to host: it is of a path, which has the link"
            mistakes.add((*place, *key, "cross"), message)


def _check_event(literal: LiteralEvent, place: Place, mistakes: Mistakes) -> None:
    """Note what does not go together in one event."""
    action = literal.action
    values = {
        (*place, *side, key): getattr(table, key)
        for side, table in (((), literal), (("up",), literal.up), (("down",), literal.down))
        for key in LiteralChange.model_fields
    }
    given = [key for key, value in values.items() if value is not None]
    if action == "change" and not given and not any(map(mistakes.spoiled, values)):
        mistakes.missing(
            (*place, "rate"), "a change has a new rate, delay, jitter, loss or cross traffic"
        )
    if action not in _CHANGING:
        for key in given:
            mistakes.add(key, f"{action} changes no value; an event that does is a change")
    if literal.lasts is not None and action in ("up", "close"):
        mistakes.add((*place, "lasts"), f"{action} cannot be undone; leave it out")
    if literal.random and literal.every is None:
        mistakes.add((*place, "random"), "nothing repeats here; the mean time between is every")
    if literal.every is None:
        return
    if action in ("up", "close"):
        mistakes.add((*place, "every"), f"{action} happens once; leave it out")
    elif literal.lasts is None and action != "handover":
        message = "it would still be so when it happens again; say how long it lasts"
        mistakes.add((*place, "every"), message)
    elif literal.lasts is not None and literal.lasts >= literal.every and not literal.random:
        message = f"not longer than it lasts, which is {units.format_time(literal.lasts)}"
        mistakes.add((*place, "every"), message)


def _check_event_losses(
    literals: Sequence[LiteralEvent], paths: Sequence[Link], mistakes: Mistakes
) -> None:
    """Note a new loss that the two states of its path cannot have."""
    by_name = {path.name: path for path in paths}
    for index, literal in enumerate(literals):
        path = by_name.get(literal.path or literal.link or "")
        if path is None:
            continue
        for side, link, own in (("up", path.up, literal.up), ("down", path.down, literal.down)):
            loss = literal.loss if own.loss is None else own.loss
            key = ("loss",) if own.loss is None else (side, "loss")
            if loss is not None:
                message = _loss_mistake(loss, link.loss_burst, link.loss_good, link.loss_bad)
                if message:
                    mistakes.add(("event", index, *key), message)


def _check_event_rates(
    literals: Sequence[LiteralEvent], paths: Sequence[Path], mistakes: Mistakes
) -> None:
    """Note a new rate of a path that has none."""
    without = {path.name for path in paths if NO_RATE_BPS in (path.up.rate_bps, path.down.rate_bps)}
    for index, literal in enumerate(literals):
        if literal.path not in without:
            continue
        message = "the path has no rate of its own; its link has, link = NAME instead of path"
        if literal.action == "handover":
            mistakes.add(("event", index, "action"), message)
        for table, key in ((literal, ()), (literal.up, ("up",)), (literal.down, ("down",))):
            if table.rate is not None:
                mistakes.add(("event", index, *key, "rate"), message)


def _event(literal: LiteralEvent) -> Event:
    action: Any = literal.action
    sides = {"up": literal.up, "down": literal.down} if action in _CHANGING else {}
    return Event(
        at_ns=literal.at or 0,
        path=literal.path or literal.link or "",
        action=action,
        lasts_ns=literal.lasts,
        every_ns=literal.every,
        random=bool(literal.random),
        **{side: _change(literal, own) for side, own in sides.items()},
    )


def _change(event: LiteralEvent, own: LiteralChange) -> Change:
    """What is given for one direction before what is given for both."""
    values = {
        key: getattr(event, key) if getattr(own, key) is None else getattr(own, key)
        for key in LiteralChange.model_fields
    }
    if event.action == "handover":
        for key, factor in (("rate", _HANDOVER_RATE), ("delay", _HANDOVER_DELAY)):
            values[key] = factor if values[key] is None else values[key]
    rate, delay = values["rate"], values["delay"]
    return Change(
        **{"rate_factor" if isinstance(rate, Factor) else "rate_bps": rate},
        **{"delay_factor" if isinstance(delay, Factor) else "delay_ns": delay},
        jitter_ns=values["jitter"],
        loss=values["loss"],
        cross_bps=values["cross"],
    )


def _check_order(
    events: Sequence[tuple[int, Event]],
    ways: Sequence[Sequence[Sequence[str]]],
    mistakes: Mistakes,
) -> None:
    """Note events, each given with its number, that do not follow from those before them.

    `ways` has of each connection all of its paths, and of a path all that it takes.
    """
    last: dict[str, Event] = {}
    for index, event in events:
        if event.action not in _UP_OR_NOT or event.lasts_ns:
            continue
        before = last.get(event.path)
        state = before.action if before else "up"
        since = f" since {units.format_time(before.at_ns)}" if before else ""
        kind = "path" if any(event.path == way[0] for all_ in ways for way in all_) else "link"
        if state == "close":
            mistakes.add(("event", index, "action"), f"path {event.path} is closed{since}")
        elif event.action == state:
            message = f"{kind} {event.path} is {state} already{since}"
            mistakes.add(("event", index, "action"), message)
        else:
            last[event.path] = event
    gone = {name for name, event in last.items() if event.action != "up"}
    if any(all_ and all(gone & set(way) for way in all_) for all_ in ways):
        message = "no path is left that is up and open, and data could never arrive"
        mistakes.add(("event", events[-1][0], "action"), message)


class _Traces:
    """Reads the traces of paths, each file once; relative ones are in `folder`."""

    def __init__(self, folder: FilePath, workload: Workload | None, mistakes: Mistakes) -> None:
        self._folder, self._mistakes = folder, mistakes
        self.duration_ns = (workload and workload.duration_ns) or LONGEST_NS
        #: What is played, by the name of its path and "up" or "down".
        self.sources: dict[tuple[str, str], link_trace.Source] = {}
        self._read: dict[str, tuple[Sequence[Step], link_trace.Source] | None] = {}

    def steps(
        self, literal: LiteralTrace | None, path: str, side: str, place: Place
    ) -> Sequence[Step] | None:
        """What is to be played on a path; None, with a mistake noted, if it cannot be."""
        if literal is None:
            return ()
        if literal.file is None:
            self._mistakes.missing((*place, "file"), 'every trace has a file, e.g. "lte.down"')
            return None
        key = literal.model_dump_json()
        if key not in self._read:
            self._read[key] = self._load(literal, self._folder / literal.file, place)
        read = self._read[key]
        if read is None:
            return None
        steps, self.sources[path, side] = read
        return steps

    def _load(
        self, literal: LiteralTrace, file: FilePath, place: Place
    ) -> tuple[Sequence[Step], link_trace.Source] | None:
        try:
            found = link_trace.read(
                file,
                columns=literal.columns,
                interval_ns=literal.interval,
                skip_empty=bool(literal.skip_empty),
            )
            source = link_trace.Source(
                file,
                link_trace.digest(file.read_bytes()),
                columns=literal.columns,
                interval_ns=literal.interval,
                skip_empty=bool(literal.skip_empty),
                offset_ns=literal.offset or 0,
                repeat=literal.repeat is not False,
            )
        except (link_trace.TraceError, OSError) as error:
            self._mistakes.add(place, str(error), literal.file)
            return None
        steps = link_trace.steps(
            found,
            duration_ns=self.duration_ns,
            offset_ns=source.offset_ns,
            repeat=source.repeat,
            resolution_ns=literal.resolution or DEFAULT_RESOLUTION_NS,
        )
        if steps[-1].rate_bps == 0 and literal.repeat is False:
            message = "it ends without a rate, and is not repeated: data would never arrive"
            self._mistakes.add(place, message, literal.file)
        return steps, source


def _links_and_paths(
    whole: LiteralScenario, traces: _Traces, mistakes: Mistakes
) -> tuple[tuple[Link, ...], tuple[Path, ...]]:
    """The links and paths that can be resolved; for each of the others a mistake is noted."""
    if len(whole.link) > MAX_LINKS:
        mistakes.add(("link",), f"{len(whole.link)} links; at most {MAX_LINKS} are possible")
    numbers: dict[str, str] = {}
    _check_names("link", whole.link, numbers, mistakes)
    _check_names("path", whole.path, numbers, mistakes)
    _check_ways(whole, mistakes)
    own = [_path(each, ("link", i), traces, mistakes) for i, each in enumerate(whole.link)]
    trips_ns = {link.name: link.up.delay_ns + link.down.delay_ns for link in own if link}
    paths: list[Path | None] = []
    for index, literal in enumerate(whole.path):
        beyond_ns = sum(trips_ns.get(name, 0) for name in literal.link or ())
        paths.append(_path(literal, ("path", index), traces, mistakes, beyond_ns))
    links = []
    for index, each in enumerate(whole.link):
        # the default queue of a link is for the longest of the paths that have it
        longest_ns = max(
            (
                path.up.delay_ns
                + path.down.delay_ns
                + sum(trips_ns.get(name, 0) for name in path.links if name != each.name)
                for path in paths
                if path and each.name in path.links
            ),
            default=0,
        )
        link = _path(each, ("link", index), traces, mistakes, longest_ns)
        if link:
            links.append(Link(name=link.name, up=link.up, down=link.down))
    return tuple(links), tuple(path for path in paths if path)


def _check_ways(whole: LiteralScenario, mistakes: Mistakes) -> None:
    """Note links that there are not, or that no path has, and keys that only a path can have."""
    known = [link.name for link in whole.link if link.name is not None]
    used = set()
    for index, path in enumerate(whole.path):
        for name in path.link or ():
            used.add(name)
            if name not in known:
                hint = suggestion(name, known) or ";"
                there = f" the links are {', '.join(known)}" if known else " there are no links"
                mistakes.add(("path", index, "link"), f"unknown link{hint}{there}", name)
    for index, link in enumerate(whole.link):
        if link.name is not None and link.name not in used:
            mistakes.add(("link", index), "no path has this link", link.name)
        for table, key in ((link, ()), (link.up, ("up",)), (link.down, ("down",))):
            place: Place = ("link", index, *key)
            if table.bottleneck == "host":
                message = "a link is between routers; a bottleneck at the host is of a path"
                mistakes.add((*place, "bottleneck"), message)
            if table.cross is not None:
                message = "cross traffic goes from host to host: give it to a path of the link"
                mistakes.add((*place, "cross"), message)
            for name in ("drop", "drop_acks"):
                if getattr(table, name) is not None:
                    message = "packets are counted at the router of a path; give it to the path"
                    mistakes.add((*place, name), message)


def _check_names(
    kind: str, literals: Sequence[LiteralLink], numbers: dict[str, str], mistakes: Mistakes
) -> None:
    """Note what every path, or every link, must have and does not."""
    for index, literal in enumerate(literals):
        place: Place = (kind, index)
        if literal.name is None:
            mistakes.missing((*place, "name"), f'every {kind} has a name, e.g. "wifi"')
        shares = isinstance(literal, LiteralPath) and (
            literal.link or mistakes.spoiled((*place, "link"))
        )
        for key, example in () if shares else (("rate", "50mbit"), ("delay", "10ms")):
            tables = (literal, literal.up, literal.down)
            given = literal.preset or any(table.trace for table in tables)
            spoiled = any(mistakes.spoiled((*place, other)) for other in ("preset", "trace"))
            if getattr(literal, key) is None and not given and not spoiled:
                hint = f"or a preset, which is {one_of(tuple(PRESETS))}"
                message = f'every {kind} has a {key}, e.g. "{example}", {hint}'
                mistakes.missing((*place, key), message)
        if literal.name is not None:
            if literal.name in numbers:
                message = f"also the name of {numbers[literal.name]}; names are unique"
                mistakes.add((*place, "name"), message)
            numbers.setdefault(literal.name, f"{kind}[{index + 1}]")


def _path(
    literal: LiteralLink,
    place: Place,
    traces: _Traces,
    mistakes: Mistakes,
    beyond_ns: int = 0,
) -> Path | None:
    """A path or a link; what lies beyond it takes `beyond_ns` there and back."""
    links = (literal.link or ()) if isinstance(literal, LiteralPath) else ()
    preset = LiteralPath.model_validate(PRESETS[literal.preset].path if literal.preset else {})
    sides = {
        "up": _overridden(literal.up, literal, preset.up, preset),
        "down": _overridden(literal.down, literal, preset.down, preset),
    }
    complete = literal.name is not None
    for side, values in sides.items():
        own = getattr(literal, side)
        given = (*place, "trace") if own.trace is None else (*place, side, "trace")
        values["steps"] = traces.steps(values["trace"], literal.name or "", side, given)
        if values["steps"] is None:
            return None
        if values["steps"]:
            _take_first(values, given, traces.duration_ns, mistakes)
        if links:
            _leave_to_links(values, functools.partial(_given, own, place, side), mistakes)
        complete &= None not in (values["rate"], values["delay"])
        if not mistakes.spoiled((*place, side, "delay")):
            _check_delays(values, functools.partial(_given, own, place, side), mistakes)
        _check_losses(values, functools.partial(_given, own, place, side), mistakes)
        _check_queue(values, functools.partial(_given, own, place, side), mistakes)
    if not complete:
        return None
    round_trip_ns = beyond_ns + sum(values["delay"] for values in sides.values())
    return Path(
        name=literal.name or "",
        up=_direction(sides["up"], round_trip_ns),
        down=_direction(sides["down"], round_trip_ns),
        links=links,
    )


def _leave_to_links(values: dict[str, Any], where: _Where, mistakes: Mistakes) -> None:
    """Of a path with links: without a rate of its own it holds nothing up, and has no queue."""
    if values["delay"] is None:
        values["delay"] = 0
    if values["rate"] is not None:
        return
    for key in ("queue", "queue_discipline", "bottleneck"):
        if values[key] is not None:
            message = "the path has no rate of its own, and the queue is that of its link"
            mistakes.add(where(key), message)
    values["rate"] = NO_RATE_BPS
    values["queue"] = MAX_QUEUE_PACKETS


def _given(own: LiteralDirection, place: Place, side: str, key: str) -> Place:
    """Where a value of a direction was given: for it alone, or for the path."""
    return (*place, side, key) if getattr(own, key) is not None else (*place, key)


_Where = Callable[[str], Place]


def _check_delays(values: Mapping[str, Any], where: _Where, mistakes: Mistakes) -> None:
    delay_ns, jitter_ns, earlier_ns = values["delay"], values["jitter"] or 0, values["reorder_by"]
    if earlier_ns is not None and not values["reorder"]:
        message = "no packet overtakes others; how many do is reorder, e.g. 1%"
        mistakes.add(where("reorder_by"), message)
    if delay_ns is None:
        return
    text = units.format_time(delay_ns)
    if jitter_ns > delay_ns:
        message = f"more than the delay of {text}; jitter is at most that"
        mistakes.add(where("jitter"), message)
    if not values["reorder"]:
        return
    if not delay_ns:
        mistakes.add(where("reorder"), "without a delay nothing can be overtaken")
    elif earlier_ns == 0 or (earlier_ns or 0) > delay_ns:
        message = f"reorder_by is more than 0 and at most the delay, which is {text}"
        mistakes.add(where("reorder_by"), message)
    elif jitter_ns > delay_ns - (earlier_ns or delay_ns):
        message = (
            f"jitter and reorder_by, which is {units.format_time(earlier_ns or delay_ns)}, are "
            f"together at most the delay of {text}"
        )
        mistakes.add(where("jitter"), message)


def _check_losses(values: Mapping[str, Any], where: _Where, mistakes: Mistakes) -> None:
    if values["loss_correlation"] and values["loss_burst"]:
        message = "loss_burst is another model; give one of the two"
        mistakes.add(where("loss_correlation"), message)
    if values["loss_correlation"] == 1.0:
        message = "each packet would fare as the first one did; less than 100% is expected"
        mistakes.add(where("loss_correlation"), message)
    good, bad = _states(values)
    if not values["loss_burst"]:
        for key in ("loss_good", "loss_bad"):
            if values[key] is not None:
                message = "there are no two states without a loss_burst, e.g. 5"
                mistakes.add(where(key), message)
        return
    if good >= bad:
        worse = "loss_good" if values["loss_good"] is not None else "loss_bad"
        mistakes.add(where(worse), "loss_good is less than loss_bad")
        return
    for loss in {values["loss"] or 0.0, *(step.loss for step in values["steps"])} - {None}:
        message = _loss_mistake(loss, values["loss_burst"], good, bad)
        if message:
            key = "trace" if values["steps"] else "loss"
            mistakes.add(where(key), message)


def _states(values: Mapping[str, Any]) -> tuple[float, float]:
    """The loss in the good state and in the bad one."""
    bad = 1.0 if values["loss_bad"] is None else values["loss_bad"]
    return values["loss_good"] or 0.0, bad


def loss_range(burst: int | None, good: float, bad: float) -> tuple[float, float]:
    """The lowest and the highest mean loss of two states, or of each packet by itself."""
    if burst is None:
        return 0.0, 1.0
    # At most burst of burst + 1 packets are in the bad state: the good one lasts for one at least.
    return good, (good + burst * bad) / (burst + 1)


def _loss_mistake(loss: float, burst: int | None, good: float, bad: float) -> str:
    """What is wrong with a mean loss of two states, "" if nothing is."""
    least, most = loss_range(burst, good, bad)
    if burst is None or least <= loss <= most:
        return ""
    low, high = units.format_fraction(least), units.format_fraction(most)
    return (
        f"a mean loss of {units.format_fraction(loss)} cannot be: with this loss_burst, loss_good "
        f"and loss_bad it is {low} to {high}"
    )


def _check_queue(values: Mapping[str, Any], where: _Where, mistakes: Mistakes) -> None:
    queue, discipline = values["queue"], values["queue_discipline"]
    if isinstance(queue, Bytes) and discipline not in (None, "droptail", "red"):
        message = f"{discipline} counts packets; a size goes with droptail and red"
        mistakes.add(where("queue"), message)
    elif queue is not None and discipline == "red":
        least = MIN_RED_PACKETS * (PACKET_BYTES if isinstance(queue, Bytes) else 1)
        if queue < least:
            message = f"red needs at least {MIN_RED_PACKETS} packets of {PACKET_BYTES} bytes"
            mistakes.add(where("queue"), message)


def _take_first(values: dict[str, Any], given: Place, duration_ns: int, mistakes: Mistakes) -> None:
    """Let a direction begin as its trace does; its default queue is for the mean rate."""
    steps: Sequence[Step] = values["steps"]
    first = steps[0]
    if first.rate_bps is not None:
        rates = [(step.at_ns, step.rate_bps or 0) for step in steps]
        values["rate"] = first.rate_bps
        values["mean_rate"] = link_trace.carried(rates, 0, duration_ns) // duration_ns
    if first.delay_ns is not None:
        values["delay"] = first.delay_ns
    if first.loss is not None:
        values["loss"] = first.loss
    for key, example in (("rate", "50mbit"), ("delay", "10ms")):
        if values[key] is None:
            message = f'the trace has no {key}, and the path has none, e.g. {key} = "{example}"'
            mistakes.add(given, message)


def _overridden(*levels: LiteralDirection) -> dict[str, Any]:
    """The values of one direction, each from the first level that gives it."""
    values: dict[str, Any] = {}
    for key in LiteralDirection.model_fields:
        given = (getattr(level, key) for level in levels)
        values[key] = next((value for value in given if value is not None), None)
    return values


def _direction(values: Mapping[str, Any], round_trip_ns: int) -> Direction:
    queue = values["queue"]
    discipline: Any = values["queue_discipline"] or (
        "droptail" if isinstance(queue, Bytes) else "netem"
    )
    good, bad = _states(values)
    if queue is None:
        rate_bps = values.get("mean_rate", values["rate"])
        queue = _default_queue(discipline, default_queue_packets(rate_bps, round_trip_ns))
    is_size = isinstance(queue, Bytes)
    return Direction(
        rate_bps=values["rate"],
        delay_ns=values["delay"],
        jitter_ns=values["jitter"] or 0,
        loss=values["loss"] or 0.0,
        loss_burst=values["loss_burst"],
        loss_bad=bad,
        loss_good=good,
        loss_correlation=values["loss_correlation"] or 0.0,
        drop=values["drop"] or (),
        drop_acks=values["drop_acks"] or (),
        duplicate=values["duplicate"] or 0.0,
        reorder=values["reorder"] or 0.0,
        reorder_by_ns=values["reorder_by"],
        queue_packets=None if is_size else queue,
        queue_bytes=int(queue) if is_size else None,
        queue_discipline=discipline,
        bottleneck=values["bottleneck"] or "router",
        cross_bps=values["cross"] or 0,
        steps=tuple((s.at_ns, s.rate_bps, s.delay_ns, s.loss) for s in values["steps"][1:]),
    )


def _default_queue(discipline: str, product_packets: int) -> int:
    if discipline == "red":
        return min(_RED_PRODUCTS * product_packets, MAX_QUEUE_PACKETS)
    return _DEFAULT_LIMITS.get(discipline, product_packets)


def default_queue_packets(rate_bps: int, round_trip_ns: int) -> int:
    """One bandwidth-delay product in whole packets, rounded up, within the limits of a queue."""
    product = -(-rate_bps * round_trip_ns // (8 * 10**9 * PACKET_BYTES))
    return min(max(product, MIN_DEFAULT_QUEUE_PACKETS), MAX_QUEUE_PACKETS)
