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
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from mptcplab import scheduler, trace, units, workload
from mptcplab.literal import (
    MAX_EVENTS,
    MAX_OCCURRENCES,
    MAX_PATHS,
    MAX_QUEUE_PACKETS,
    MAX_SEED,
    PACKET_BYTES,
    Bytes,
    Factor,
    LiteralChange,
    LiteralDirection,
    LiteralEvent,
    LiteralPath,
    LiteralTrace,
    LiteralWorkload,
    json_schema,
    validate,
)
from mptcplab.mistakes import Mistakes, Place, one_of, printable, shown, suggestion
from mptcplab.presets import PRESETS
from mptcplab.scheduler import Choice, Scheduler, SpecError
from mptcplab.trace import Step
from mptcplab.workload import AnyWorkload, Program, Workload

__all__ = [
    "PACKET_BYTES",
    "Change",
    "Direction",
    "Event",
    "Flags",
    "Path",
    "Program",
    "Request",
    "Scenario",
    "Workload",
    "from_flags",
    "from_table",
    "json_schema",
    "load_file",
    "parse_event_flag",
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
_MIN_RED_PACKETS = 24

DEFAULT_RESOLUTION_NS = 10**7
#: A scenario without a duration ends when its data has arrived; events repeat and traces are played
#: until then, and at most so long.
LONGEST_NS = 600 * 10**9
DEFAULT_SAMPLE_INTERVAL_NS = 10 * 10**6

_MAX_FILE_BYTES = 1 << 20

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

    A rate of 0 is an outage: what comes waits. `loss` is the mean; with a `loss_burst` that of two
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


class Path(_Resolved):
    """A pair of addresses with a link each way."""

    name: str
    up: Direction
    down: Direction


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


class Scenario(_Resolved):
    """One run, completely: together with the kernel and guest builds it fixes every byte.

    `events` are in the order of time. `pcap` and `trace` add files to what the run leaves:
    captures at all hosts, and the scheduler's decisions. They change nothing else.
    """

    paths: tuple[Path, ...]
    events: tuple[Event, ...]
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

    def key_text(self) -> str:
        """Canonical JSON, equal for equal scenarios; `Scenario.model_validate_json` reads it."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def with_(self, *, scheduler: Choice | None = None, seed: int | None = None) -> Scenario:
        """The same scenario with another scheduler, another seed, or both."""
        return self.model_copy(
            update={
                "scheduler": self.scheduler if scheduler is None else scheduler,
                "seed": self.seed if seed is None else seed,
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
            "events": tuple(
                event
                for event in self.events
                if event.path == name and event.action not in _PRIORITY
            ),
            "transport": "tcp",
            "scheduler": Choice(name=scheduler.DEFAULT),
            "trace": False,
        }
        return self.model_copy(update=changes)

    def lasting_paths(self) -> list[str]:
        """The names of the paths that are up and open at the end."""
        last = {e.path: e.action for e in self.events if e.action in _UP_OR_NOT and not e.lasts_ns}
        return [path.name for path in self.paths if last.get(path.name, "up") == "up"]


@dataclass(frozen=True)
class Request:
    """What a person asks for: a scenario, run with each scheduler and each of `repeat` seeds.

    `sources` has the C files of those schedulers that are a person's own, by name; `traces` what
    is played on a path, by its name and "up" or "down".
    """

    base: Scenario
    schedulers: tuple[Choice, ...]
    repeat: int
    sources: Mapping[str, FilePath]
    traces: Mapping[tuple[str, str], trace.Source]

    def runs(self) -> list[Scenario]:
        """Every run: scheduler by scheduler, seeds ascending from the scenario's own."""
        first = self.base.seed
        seeds = range(first, first + self.repeat)
        return [self.base.with_(scheduler=s, seed=seed) for s in self.schedulers for seed in seeds]


# From file and flags to a request


@dataclass(frozen=True)
class Flags:
    """Command-line flags, each as written; None (no flag) leaves the file or the default be.

    `path` holds one text per --path; if there is any, the file's paths are replaced; `event` is
    the same for --event. `scheduler` is one or several, with commas. `workload` replaces that of
    the file, and what further flags say of it goes before it. Of bulk, a --duration replaces the
    size, and a --size the duration and the warm-up. `pcap` and `trace` are flags alone: they say
    what is kept of a run, not what it is. A `program` replaces the file's workload.
    """

    path: Sequence[str] = ()
    event: Sequence[str] = ()
    scheduler: str | None = None
    cc: str | None = None
    transport: str | None = None
    seed: str | int | None = None
    repeat: str | int | None = None
    send_buffer: str | None = None
    receive_buffer: str | None = None
    sample_interval: str | None = None
    workload: str | None = None
    direction: str | None = None
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

    `known` are the schedulers that there are, by default those of the lab kernel. A scheduler's C
    file that the scenario file names is looked for beside it. `single`: one scheduler only, as
    `mptcplab run` takes it. Raises InputError with every mistake in the file and the flags.
    """
    mistakes = Mistakes(printable(str(file)))
    mistakes.data = _read_toml(FilePath(file), mistakes)
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


def from_flags(
    flags: Flags, *, known: Mapping[str, Scheduler] | None = None, single: bool = False
) -> Request:
    """The request of flags alone; see `load_file`."""
    return _request(flags, Mistakes("the command line"), known, single, FilePath())


def parse_path_flag(text: str) -> dict[str, Any]:
    """The literal path of a --path flag: NAME:RATE,DELAY and then any KEY=VALUE.

    "lte:20mbit,40ms,loss=0.1%,down.rate=10mbit" gives the table that a [[path]] of the file would
    be; its values are not looked at yet. The name of a preset asks for that preset, unless the
    text gives a rate or a delay by its position, or both by their keys: then it means what it
    says, as with any other name. Raises ValueError if the text has not this form.
    """
    name, colon, rest = text.partition(":")
    form = "a path is NAME:RATE,DELAY[,KEY=VALUE...], e.g. wifi:50mbit,10ms,queue=200"
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
    if by_name and not {"rate", "delay"} <= path.keys():
        path.setdefault("preset", path["name"])
    return path


def parse_event_flag(text: str) -> dict[str, Any]:
    """The literal event of an --event flag: TIME:PATH:ACTION and then any KEY=VALUE.

    "3s:lte:down", or "15s:lte:change,rate=x0.1,lasts=2s". Raises ValueError if the text has not
    this form.
    """
    form = "an event is TIME:PATH:ACTION[,KEY=VALUE...], e.g. 3s:lte:down"
    parts = [part.strip() for part in text.split(":", 2)]
    if len(parts) != 3:
        raise ValueError(form)
    action, *items = (item.strip() for item in parts[2].split(","))
    event: dict[str, Any] = {"at": parts[0], "path": parts[1], "action": action}
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


def _put(table: dict[str, Any], key: str, value: str, form: str) -> None:
    """Set `key`, which may be one of a direction (up.rate), of a literal table."""
    side, dot, inner = key.partition(".")
    home: Any = table
    if dot and side in ("up", "down"):
        home = table.setdefault(side, {})
    else:
        inner = key
    if not isinstance(home, dict) or inner in home:
        raise ValueError(f"{shown(key)} is given twice; {form}")
    home[inner] = value


def _read_toml(file: FilePath, mistakes: Mistakes) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            raw = stream.read(_MAX_FILE_BYTES + 1)
        if len(raw) > _MAX_FILE_BYTES:
            mistakes.add((), "larger than 1 MiB; a scenario is a short TOML file")
            return {}
        # Some editors begin a UTF-8 file with a byte order mark.
        text = raw.decode("utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError:
        message = "there is no such file"
    except IsADirectoryError:
        message = "this is a directory; a scenario is a TOML file"
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"line {line}: not UTF-8 text (byte 0x{raw[error.start]:02x})"
    except tomllib.TOMLDecodeError as error:
        message = _syntax_message(text, str(error))
    except (ValueError, RecursionError):
        # tomllib lets these pass: an integer of thousands of digits, brackets within brackets.
        message = "not a scenario: a number with thousands of digits, or too many brackets"
    mistakes.add((), message)
    return {}


def _syntax_message(text: str, error: str) -> str:
    """What tomllib found, with the line, and what is most often the reason."""
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", error, re.DOTALL)
    if not found:
        return f"not valid TOML: {printable(error)}"
    what, number = found[1][:1].lower() + found[1][1:], int(found[2])
    # TOML lines end in \n alone or with \r; str.splitlines knows more ends than that.
    line = text.replace("\r\n", "\n").split("\n")[number - 1].strip()
    unquoted = re.fullmatch(r"([\w.-]+)\s*=\s*([\w.%+-]*[a-zA-Z%][\w.%+-]*)\s*(?:#.*)?", line)
    if unquoted and what.startswith(("invalid value", "expected newline")):
        what = f'text goes in quotes: {unquoted[1]} = "{unquoted[2]}"'
    return f"line {number}: {printable(line[:60])}: not valid TOML: {printable(what)}"


_WORKLOAD_KEYS = tuple(LiteralWorkload.model_fields)
_LIST_FLAGS = {"path": parse_path_flag, "event": parse_event_flag}
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
    if len(literal.path) > MAX_PATHS:
        mistakes.add(("path",), f"{len(literal.path)} paths; at most {MAX_PATHS} are possible")
    load: AnyWorkload | None = flags.program
    if load is None:
        page_folder = FilePath() if mistakes.flag(("workload", "page")) else folder
        load = workload.resolve(literal.workload, page_folder, mistakes)
    traces = _Traces(FilePath() if mistakes.flag(("path",)) else folder, load, mistakes)
    paths = _paths(literal.path, traces, mistakes)
    if mistakes.flag(("scheduler",)):
        folder = FilePath()
    specs = literal.scheduler or (scheduler.DEFAULT,)
    known = scheduler.known() if known is None else known
    schedulers, sources = _schedulers(specs, known, folder, mistakes)
    if single and len(specs) > 1:
        message = f"{len(specs)} schedulers, where one is run; to compare: mptcplab compare"
        mistakes.add(("scheduler",), message)
    transport: Any = literal.transport or "mptcp"
    if transport == "tcp":
        if len(literal.path) > 1:
            message = f"plain TCP runs over exactly one path, not over {len(literal.path)}"
            mistakes.add(("transport",), message)
        if literal.scheduler and specs != (scheduler.DEFAULT,):
            mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")
        if flags.trace:
            mistakes.add(("trace",), "plain TCP has no scheduler, whose decisions could be kept")
    elif flags.trace and scheduler.DEFAULT in [choice.name for choice in schedulers]:
        message = "the decisions of default, which is upstream's, are not recorded; choose another"
        mistakes.add(("trace",), message)
    names = [path.name for path in literal.path if path.name is not None]
    events = _events(literal.event, names, transport, load, mistakes)
    _check_event_losses(literal.event, paths, mistakes)
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
    base = Scenario(
        paths=paths,
        events=events,
        transport=transport,
        scheduler=schedulers[0],
        cc=literal.cc or "cubic",
        send_buffer_bytes=literal.send_buffer,
        receive_buffer_bytes=literal.receive_buffer,
        sample_interval_ns=sample_interval_ns,
        workload=load,
        pcap=flags.pcap,
        trace=flags.trace,
        seed=seed,
    )
    return Request(base, schedulers, repeat, sources, traces.sources)


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
        if key == "scheduler":
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
    mistakes: Mistakes,
) -> tuple[tuple[Choice, ...], dict[str, FilePath]]:
    """The schedulers that can be resolved, and the files of those that are a person's own."""
    place = ("scheduler",)
    choices: list[Choice] = []
    sources: dict[str, FilePath] = {}
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
    return tuple(choices), sources


def _events(
    literals: Sequence[LiteralEvent],
    paths: Sequence[str],
    transport: str,
    workload: Workload | None,
    mistakes: Mistakes,
) -> tuple[Event, ...]:
    """The events in the order of time; for what cannot happen, mistakes are noted."""
    if len(literals) > MAX_EVENTS:
        mistakes.add(("event",), f"{len(literals)} events; at most {MAX_EVENTS} are possible")
    duration_ns = workload.duration_ns if workload else None
    found: list[tuple[int, Event]] = []
    for index, literal in enumerate(literals):
        place: Place = ("event", index)
        for key, example in (("at", "3s"), ("path", "lte"), ("action", "down")):
            if getattr(literal, key) is None:
                mistakes.missing((*place, key), f'every event has {key}, e.g. "{example}"')
        if duration_ns is not None and (literal.at or 0) >= duration_ns:
            message = f"not before the end of the workload, at {units.format_time(duration_ns)}"
            mistakes.add((*place, "at"), message)
        if literal.action is not None:
            _check_event(literal, place, mistakes)
        if literal.path is not None and literal.path not in paths:
            hint = suggestion(literal.path, paths) or ";"
            known = f" the paths are {', '.join(paths)}" if paths else " there are no paths"
            mistakes.add((*place, "path"), f"unknown path{hint}{known}")
        elif transport == "tcp" and literal.action in ("close", *_PRIORITY):
            message = "plain TCP has one path, with one address; it can go down and up, and change"
            mistakes.add((*place, "action"), message)
        elif literal.at is not None and literal.path is not None and literal.action is not None:
            found.append((index, _event(literal)))
    times = sum(
        (duration_ns or LONGEST_NS) // event.every_ns for _, event in found if event.every_ns
    )
    if times > MAX_OCCURRENCES:
        message = f"they happen {times} times in all; at most {MAX_OCCURRENCES} are possible"
        mistakes.add(("event",), message)
    found.sort(key=lambda item: item[1].at_ns)
    _check_order(found, paths, mistakes)
    return tuple(event for _, event in found)


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
    literals: Sequence[LiteralEvent], paths: Sequence[Path], mistakes: Mistakes
) -> None:
    """Note a new loss that the two states of its path cannot have."""
    by_name = {path.name: path for path in paths}
    for index, literal in enumerate(literals):
        path = by_name.get(literal.path or "")
        if path is None:
            continue
        for side, link, own in (("up", path.up, literal.up), ("down", path.down, literal.down)):
            loss = literal.loss if own.loss is None else own.loss
            key = ("loss",) if own.loss is None else (side, "loss")
            if loss is not None:
                message = _loss_mistake(loss, link.loss_burst, link.loss_good, link.loss_bad)
                if message:
                    mistakes.add(("event", index, *key), message)


def _event(literal: LiteralEvent) -> Event:
    action: Any = literal.action
    sides = {"up": literal.up, "down": literal.down} if action in _CHANGING else {}
    return Event(
        at_ns=literal.at or 0,
        path=literal.path or "",
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
    events: Sequence[tuple[int, Event]], paths: Sequence[str], mistakes: Mistakes
) -> None:
    """Note events, each given with its number, that do not follow from those before them."""
    last: dict[str, Event] = {}
    for index, event in events:
        if event.action not in _UP_OR_NOT or event.lasts_ns:
            continue
        before = last.get(event.path)
        state = before.action if before else "up"
        since = f" since {units.format_time(before.at_ns)}" if before else ""
        if state == "close":
            mistakes.add(("event", index, "action"), f"path {event.path} is closed{since}")
        elif event.action == state:
            message = f"path {event.path} is {state} already{since}"
            mistakes.add(("event", index, "action"), message)
        else:
            last[event.path] = event
    if events and all(name in last and last[name].action != "up" for name in paths):
        message = "no path is left that is up and open, and data could never arrive"
        mistakes.add(("event", events[-1][0], "action"), message)


class _Traces:
    """Reads the traces of paths, each file once; relative ones are in `folder`."""

    def __init__(self, folder: FilePath, workload: Workload | None, mistakes: Mistakes) -> None:
        self._folder, self._mistakes = folder, mistakes
        self.duration_ns = (workload and workload.duration_ns) or LONGEST_NS
        #: What is played, by the name of its path and "up" or "down".
        self.sources: dict[tuple[str, str], trace.Source] = {}
        self._read: dict[str, tuple[Sequence[Step], trace.Source] | None] = {}

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
    ) -> tuple[Sequence[Step], trace.Source] | None:
        try:
            found = trace.read(
                file,
                columns=literal.columns,
                interval_ns=literal.interval,
                skip_empty=bool(literal.skip_empty),
            )
            source = trace.Source(
                file,
                trace.digest(file.read_bytes()),
                columns=literal.columns,
                interval_ns=literal.interval,
                skip_empty=bool(literal.skip_empty),
                offset_ns=literal.offset or 0,
                repeat=literal.repeat is not False,
            )
        except (trace.TraceError, OSError) as error:
            self._mistakes.add(place, str(error), literal.file)
            return None
        steps = trace.steps(
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


def _paths(
    literals: Sequence[LiteralPath], traces: _Traces, mistakes: Mistakes
) -> tuple[Path, ...]:
    """The paths that can be resolved; for each of the others a mistake is noted."""
    paths = []
    numbers: dict[str, int] = {}
    for index, literal in enumerate(literals):
        place: Place = ("path", index)
        if literal.name is None:
            mistakes.missing((*place, "name"), 'every path has a name, e.g. "wifi"')
        for key, example in (("rate", "50mbit"), ("delay", "10ms")):
            tables = (literal, literal.up, literal.down)
            given = literal.preset or any(table.trace for table in tables)
            spoiled = any(mistakes.spoiled((*place, other)) for other in ("preset", "trace"))
            if getattr(literal, key) is None and not given and not spoiled:
                hint = f"or a preset, which is {one_of(tuple(PRESETS))}"
                mistakes.missing((*place, key), f'every path has a {key}, e.g. "{example}", {hint}')
        if literal.name is not None:
            if literal.name in numbers:
                message = f"also the name of path[{numbers[literal.name]}]; names are unique"
                mistakes.add((*place, "name"), message)
            numbers.setdefault(literal.name, index + 1)
        path = _path(literal, place, traces, mistakes)
        if path:
            paths.append(path)
    return tuple(paths)


def _path(literal: LiteralPath, place: Place, traces: _Traces, mistakes: Mistakes) -> Path | None:
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
        complete &= None not in (values["rate"], values["delay"])
        if not mistakes.spoiled((*place, side, "delay")):
            _check_delays(values, functools.partial(_given, own, place, side), mistakes)
        _check_losses(values, functools.partial(_given, own, place, side), mistakes)
        _check_queue(values, functools.partial(_given, own, place, side), mistakes)
    if not complete:
        return None
    round_trip_ns = sum(values["delay"] for values in sides.values())
    return Path(
        name=literal.name or "",
        up=_direction(sides["up"], round_trip_ns),
        down=_direction(sides["down"], round_trip_ns),
    )


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


def _loss_mistake(loss: float, burst: int | None, good: float, bad: float) -> str:
    """What is wrong with a mean loss of two states, "" if nothing is."""
    if burst is None:
        return ""
    # At most burst of burst + 1 packets are in the bad state: the good one lasts for one at least.
    most = (good + burst * bad) / (burst + 1)
    if good <= loss <= most:
        return ""
    low, high = units.format_fraction(good), units.format_fraction(most)
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
        least = _MIN_RED_PACKETS * (PACKET_BYTES if isinstance(queue, Bytes) else 1)
        if queue < least:
            message = f"red needs at least {_MIN_RED_PACKETS} packets of {PACKET_BYTES} bytes"
            mistakes.add(where("queue"), message)


def _take_first(values: dict[str, Any], given: Place, duration_ns: int, mistakes: Mistakes) -> None:
    """Let a direction begin as its trace does; its default queue is for the mean rate."""
    steps: Sequence[Step] = values["steps"]
    first = steps[0]
    if first.rate_bps is not None:
        rates = [(step.at_ns, step.rate_bps or 0) for step in steps]
        values["rate"] = first.rate_bps
        values["mean_rate"] = trace.carried(rates, 0, duration_ns) // duration_ns
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
