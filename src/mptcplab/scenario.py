# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: what a person writes, in a TOML file or as flags, and what it means.

The literal scenario (module `literal`) is what is written. A `Scenario` is one run of it with every
default filled in, in base units; a `Request` is a scenario with the schedulers and the number of
seeds to run it with. On the way from the one to the other every mistake is collected, and all of
them are told at once.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from mptcplab import units
from mptcplab.literal import (
    MAX_PATHS,
    MAX_QUEUE_PACKETS,
    MAX_SEED,
    LiteralDirection,
    LiteralPath,
    LiteralWorkload,
    json_schema,
    validate,
)
from mptcplab.mistakes import Mistakes, Place, printable, shown, suggestion

__all__ = [
    "Direction",
    "Flags",
    "Path",
    "Request",
    "Scenario",
    "Workload",
    "from_flags",
    "json_schema",
    "load_file",
    "parse_path_flag",
]

# The default queue is one bandwidth-delay product in packets of an Ethernet frame without its
# checksum, which is what netem counts on a veth of MTU 1500; 20 keeps slow links usable.
PACKET_BYTES = 1514
MIN_DEFAULT_QUEUE_PACKETS = 20

DEFAULT_DURATION_NS = 20 * 10**9
DEFAULT_SAMPLE_INTERVAL_NS = 10 * 10**6
MAX_DEFAULT_WARMUP_NS = 5 * 10**9

_MAX_FILE_BYTES = 1 << 20


# Resolved: one run, every default filled in


class _Resolved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Direction(_Resolved):
    """One direction of a path, as its router shapes it: up is client to server, down the other."""

    rate_bps: int
    delay_ns: int
    jitter_ns: int
    loss: float
    queue_packets: int


class Path(_Resolved):
    """A pair of addresses with a link each way."""

    name: str
    up: Direction
    down: Direction


class Workload(_Resolved):
    """What the connection carries: `duration_ns` or `size_bytes`, the other is None."""

    kind: Literal["bulk"]
    duration_ns: int | None
    size_bytes: int | None
    warmup_ns: int


class Scenario(_Resolved):
    """One run, completely: together with the kernel and guest builds it fixes every byte."""

    paths: tuple[Path, ...]
    transport: Literal["mptcp", "tcp"]
    scheduler: str
    cc: str
    send_buffer_bytes: int | None
    receive_buffer_bytes: int | None
    sample_interval_ns: int
    workload: Workload
    seed: int

    def key_text(self) -> str:
        """Canonical JSON, equal for equal scenarios; `Scenario.model_validate_json` reads it."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def with_(self, *, scheduler: str | None = None, seed: int | None = None) -> Scenario:
        """The same scenario with another scheduler, another seed, or both."""
        return self.model_copy(
            update={
                "scheduler": self.scheduler if scheduler is None else scheduler,
                "seed": self.seed if seed is None else seed,
            }
        )

    def single_path(self, name: str) -> Scenario:
        """The baseline: plain TCP over the path of that name alone, all else the same."""
        paths = tuple(path for path in self.paths if path.name == name)
        if not paths:
            raise ValueError(f"no path is named {name!r}")
        changes = {"paths": paths, "transport": "tcp", "scheduler": "default"}
        return self.model_copy(update=changes)


@dataclass(frozen=True)
class Request:
    """What a person asks for: a scenario, run with each scheduler and each of `repeat` seeds."""

    base: Scenario
    schedulers: tuple[str, ...]
    repeat: int

    def runs(self) -> list[Scenario]:
        """Every run: scheduler by scheduler, seeds ascending from the scenario's own."""
        first = self.base.seed
        seeds = range(first, first + self.repeat)
        return [self.base.with_(scheduler=s, seed=seed) for s in self.schedulers for seed in seeds]


# From file and flags to a request


@dataclass(frozen=True)
class Flags:
    """Command-line flags, each as written; None (no flag) leaves the file or the default be.

    `path` holds one text per --path; if there is any, the file's paths are replaced. `scheduler`
    is a name or several, with commas. A --duration replaces the file's size, and a --size its
    duration and warm-up.
    """

    path: Sequence[str] = ()
    scheduler: str | None = None
    cc: str | None = None
    transport: str | None = None
    seed: str | int | None = None
    repeat: str | int | None = None
    send_buffer: str | None = None
    receive_buffer: str | None = None
    sample_interval: str | None = None
    duration: str | None = None
    size: str | None = None
    warmup: str | None = None


def load_file(
    file: FilePath | str,
    known_schedulers: Collection[str],
    flags: Flags | None = None,
    *,
    single: bool = False,
) -> Request:
    """The request of a scenario file, with what the flags override.

    `single`: one scheduler only, as `mptcplab run` takes it. Raises InputError with every mistake
    in the file and the flags.
    """
    mistakes = Mistakes(printable(str(file)))
    mistakes.data = _read_toml(FilePath(file), mistakes)
    return _request(flags or Flags(), mistakes, known_schedulers, single)


def from_flags(flags: Flags, known_schedulers: Collection[str], *, single: bool = False) -> Request:
    """The request of flags alone; see `load_file`."""
    return _request(flags, Mistakes("the command line"), known_schedulers, single)


def parse_path_flag(text: str) -> dict[str, Any]:
    """The literal path of a --path flag: NAME:RATE,DELAY and then any KEY=VALUE.

    "lte:20mbit,40ms,loss=0.1%,down.rate=10mbit" gives the table that a [[path]] of the file would
    be; its values are not looked at yet. Raises ValueError if the text has not this form.
    """
    name, colon, rest = text.partition(":")
    form = "a path is NAME:RATE,DELAY[,KEY=VALUE...], e.g. wifi:50mbit,10ms,queue=200"
    if not colon:
        raise ValueError(f"no colon after the name; {form}")
    path: dict[str, Any] = {"name": name.strip()}
    positional = dict(enumerate(("rate", "delay")))
    for index, item in enumerate(rest.split(",") if rest.strip() else ()):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            key, value = positional.get(index, ""), key
            if not key:
                raise ValueError(f"{shown(value)} is not KEY=VALUE; {form}")
        if not value:
            raise ValueError(f"nothing after {shown(key)}; {form}")
        side, dot, inner = key.partition(".")
        table = path
        if dot and side in ("up", "down"):
            table = path.setdefault(side, {})
            key = inner
        if not isinstance(table, dict) or key in table:
            raise ValueError(f"{shown(key)} is given twice; {form}")
        table[key] = value
    return path


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


def _request(
    flags: Flags, mistakes: Mistakes, known_schedulers: Collection[str], single: bool
) -> Request:
    _merge(flags, mistakes)
    literal = validate(mistakes)
    if not literal.path:
        form = "each headed [[path]] with name, rate and delay, or as --path wifi:50mbit,10ms"
        mistakes.missing(("path",), f"1 to {MAX_PATHS} paths are needed, {form}")
    if len(literal.path) > MAX_PATHS:
        mistakes.add(("path",), f"{len(literal.path)} paths; at most {MAX_PATHS} are possible")
    paths = _paths(literal.path, mistakes)
    workload = _workload(literal.workload, mistakes)
    schedulers = literal.scheduler or ("default",)
    _check_schedulers(schedulers, known_schedulers, mistakes)
    if single and len(schedulers) > 1:
        message = f"{len(schedulers)} schedulers, where one is run; to compare: mptcplab compare"
        mistakes.add(("scheduler",), message)
    transport: Any = literal.transport or "mptcp"
    if transport == "tcp":
        if len(literal.path) > 1:
            message = f"plain TCP runs over exactly one path, not over {len(literal.path)}"
            mistakes.add(("transport",), message)
        if literal.scheduler and schedulers != ("default",):
            mistakes.add(("scheduler",), "plain TCP has no scheduler; leave it out")
    sample_interval_ns = literal.sample_interval or DEFAULT_SAMPLE_INTERVAL_NS
    if workload and sample_interval_ns > (workload.duration_ns or sample_interval_ns):
        mistakes.add(("sample_interval",), "longer than the duration; nothing would be sampled")
    seed = 1 if literal.seed is None else literal.seed
    repeat = literal.repeat or 1
    if seed + repeat - 1 > MAX_SEED:
        message = f"the last seed would be {seed + repeat - 1}; the largest is {MAX_SEED}"
        mistakes.add(("repeat",), message)
    mistakes.stop_if_any()
    assert workload, "a workload without mistakes is resolved"
    base = Scenario(
        paths=paths,
        transport=transport,
        scheduler=schedulers[0],
        cc=literal.cc or "cubic",
        send_buffer_bytes=literal.send_buffer,
        receive_buffer_bytes=literal.receive_buffer,
        sample_interval_ns=sample_interval_ns,
        workload=workload,
        seed=seed,
    )
    return Request(base, schedulers, repeat)


def _merge(flags: Flags, mistakes: Mistakes) -> None:
    """Put what the flags say over what the file says, and note which is which."""
    data = mistakes.data
    given = {f.name: getattr(flags, f.name) for f in fields(flags) if f.name != "path"}
    given = {key: value for key, value in given.items() if value is not None}
    workload = data.setdefault("workload", {})
    if isinstance(workload, dict):
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
    if flags.path:
        data["path"] = []
        mistakes.flags["path",] = "--path"
        for index, text in enumerate(flags.path):
            try:
                data["path"].append(parse_path_flag(text))
            except ValueError as error:
                data["path"].append({})
                mistakes.add(("path", index), str(error), text)


def _check_schedulers(
    schedulers: Sequence[str], known: Collection[str], mistakes: Mistakes
) -> None:
    for index, name in enumerate(schedulers):
        if name not in known:
            hint = suggestion(name, known) or ";"
            message = f"unknown scheduler{hint} known: {', '.join(sorted(known))}"
            mistakes.add(("scheduler",), message, name)
        elif name in schedulers[:index]:
            mistakes.add(("scheduler",), "named twice", name)


def _paths(literals: Sequence[LiteralPath], mistakes: Mistakes) -> tuple[Path, ...]:
    """The paths that can be resolved; for each of the others a mistake is noted."""
    paths = []
    numbers: dict[str, int] = {}
    for index, literal in enumerate(literals):
        place: Place = ("path", index)
        for key, example in (("name", "wifi"), ("rate", "50mbit"), ("delay", "10ms")):
            if getattr(literal, key) is None:
                mistakes.missing((*place, key), f'every path has a {key}, e.g. "{example}"')
        if literal.name is not None:
            if literal.name in numbers:
                message = f"also the name of path[{numbers[literal.name]}]; names are unique"
                mistakes.add((*place, "name"), message)
            numbers.setdefault(literal.name, index + 1)
        path = _path(literal, place, mistakes)
        if path:
            paths.append(path)
    return tuple(paths)


def _path(literal: LiteralPath, place: Place, mistakes: Mistakes) -> Path | None:
    up = _overridden(literal, literal.up)
    down = _overridden(literal, literal.down)
    for side, values, own in (("up", up, literal.up), ("down", down, literal.down)):
        jitter_ns, delay_ns = values["jitter"] or 0, values["delay"]
        if mistakes.spoiled((*place, side, "delay")):
            continue
        if delay_ns is not None and jitter_ns > delay_ns:
            blamed = (*place, "jitter") if own.jitter is None else (*place, side, "jitter")
            message = (
                f"more than the delay of {units.format_time(delay_ns)}; jitter is at most that"
            )
            mistakes.add(blamed, message)
    if None in (literal.name, up["rate"], up["delay"], down["rate"], down["delay"]):
        return None
    round_trip_ns = up["delay"] + down["delay"]
    return Path(
        name=literal.name or "",
        up=_direction(up, round_trip_ns),
        down=_direction(down, round_trip_ns),
    )


def _overridden(path: LiteralPath, own: LiteralDirection) -> dict[str, Any]:
    """The values of one direction, its own before the path's."""
    values = {key: getattr(own, key) for key in LiteralDirection.model_fields}
    return {key: getattr(path, key) if v is None else v for key, v in values.items()}


def _direction(values: Mapping[str, Any], round_trip_ns: int) -> Direction:
    return Direction(
        rate_bps=values["rate"],
        delay_ns=values["delay"],
        jitter_ns=values["jitter"] or 0,
        loss=values["loss"] or 0.0,
        queue_packets=values["queue"] or default_queue_packets(values["rate"], round_trip_ns),
    )


def default_queue_packets(rate_bps: int, round_trip_ns: int) -> int:
    """One bandwidth-delay product in whole packets, rounded up, within the limits of a queue."""
    product = -(-rate_bps * round_trip_ns // (8 * 10**9 * PACKET_BYTES))
    return min(max(product, MIN_DEFAULT_QUEUE_PACKETS), MAX_QUEUE_PACKETS)


def _workload(literal: LiteralWorkload, mistakes: Mistakes) -> Workload | None:
    duration_ns, size_bytes, warmup_ns = literal.duration, literal.size, literal.warmup
    if duration_ns is not None and size_bytes is not None:
        mistakes.add(("workload", "size"), "duration and size are both given; give one of them")
        return None
    if mistakes.spoiled(("workload", "duration")) or mistakes.spoiled(("workload", "size")):
        return None
    if size_bytes is not None:
        if warmup_ns:
            message = "a workload of a given size has no warm-up; leave it out"
            mistakes.add(("workload", "warmup"), message)
        return Workload(kind="bulk", duration_ns=None, size_bytes=size_bytes, warmup_ns=0)
    duration_ns = DEFAULT_DURATION_NS if duration_ns is None else duration_ns
    if warmup_ns is None:
        warmup_ns = min(MAX_DEFAULT_WARMUP_NS, duration_ns // 10)
    if warmup_ns >= duration_ns:
        message = f"not shorter than the duration, which is {units.format_time(duration_ns)}"
        mistakes.add(("workload", "warmup"), message)
    return Workload(kind="bulk", duration_ns=duration_ns, size_bytes=None, warmup_ns=warmup_ns)
