# SPDX-License-Identifier: GPL-2.0-only
"""Command-line flags, turned into the tables that a scenario file would have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from mptcplab.mistakes import Mistakes, shown, suggestion
from mptcplab.scenario import measured
from mptcplab.scenario.limits import DIRECTIONS
from mptcplab.scenario.literal import LiteralWorkload
from mptcplab.scenario.presets import PRESETS
from mptcplab.scenario.workload import Program


@dataclass(frozen=True)
class Flags:
    """Command-line flags as given; None (no flag) keeps the value of the file or the default.

    `path` holds one text per --path, `path_from` one per --path-from, whose paths come behind
    those of `path`; if there is any, the file's paths are replaced; `link`,
    `connection`, `event` and `vary` work the same way. `scheduler`, `cc` and `kernel` are one or
    several, separated by commas. `workload` replaces the file's, and further workload flags
    override it. For bulk, --duration replaces the size, and --size the duration and the warm-up.
    `pcap`, `decisions` and `states` exist only as flags: they say what a run keeps. A `program`
    replaces the file's workload.
    """

    path: Sequence[str] = ()
    path_from: Sequence[str] = ()
    link: Sequence[str] = ()
    connection: Sequence[str] = ()
    event: Sequence[str] = ()
    scheduler: str | None = None
    cc: str | None = None
    kernel: str | None = None
    transport: str | None = None
    seed: str | int | None = None
    seed_delay: str | None = None
    vary: Sequence[str] = ()
    repeat: str | int | None = None
    send_buffer: str | None = None
    receive_buffer: str | None = None
    sample_interval: str | None = None
    endpoints: str | None = None
    blackhole_timeout: str | None = None
    workload: str | None = None
    direction: str | None = None
    start: str | None = None
    duration: str | None = None
    size: str | None = None
    warmup: str | None = None
    pcap: bool = False
    decisions: bool = False
    states: bool = False
    program: Program | None = None


def parse_connection_flag(text: str) -> dict[str, Any]:
    """The literal connection of a --connection flag: NAME:paths=PATH/PATH,KEY=VALUE...

    "tcp:paths=t,cc=reno,workload.direction=down". Raises ValueError if the form is wrong.
    """
    form = "a connection is NAME:KEY=VALUE,..., e.g. tcp:paths=t,transport=tcp,cc=reno"
    name, colon, rest = text.partition(":")
    connection: dict[str, Any] = {"name": name.strip()}
    if not colon:
        raise ValueError(f"no colon after the name; {form}")
    _put_all(connection, rest.split(","), form, ("workload",))
    return connection


def parse_path_flag(
    text: str, what: str = "a path is", example: str = "wifi:50mbit,10ms,queue=200"
) -> dict[str, Any]:
    """The literal path of a --path flag: NAME:RATE,DELAY and then any KEY=VALUE.

    "lte:20mbit,40ms,loss=0.1%,down.rate=10mbit" becomes the table that [[path]] in a file would
    be; its values are not checked yet. The name of a preset selects that preset, unless the text
    gives a rate or a delay by position, or both by key: then it is a name like any other. Raises
    ValueError if the form is wrong.
    """
    name, colon, rest = text.partition(":")
    form = f"{what} NAME:RATE,DELAY[,KEY=VALUE...], e.g. {example}"
    path: dict[str, Any] = {"name": name.strip()}
    if not colon and path["name"] not in PRESETS:
        hint = suggestion(path["name"], PRESETS.keys()) or ";"
        raise ValueError(
            f"no colon after the name, and it is not the name of a preset{hint} "
            f"presets: {', '.join(PRESETS)}; {form}"
        )
    by_name = path["name"] in PRESETS
    items = rest.split(",") if rest.strip() else []
    for index, key in enumerate(("rate", "delay")[: len(items)]):
        if items[index].strip() and "=" not in items[index]:
            items[index] = f"{key}={items[index]}"
            by_name = False
    _put_all(path, items, form, DIRECTIONS)
    if by_name and not {"rate", "delay"} <= path.keys() and "link" not in path:
        path.setdefault("preset", path["name"])
    return path


def parse_path_from_flag(text: str) -> dict[str, Any]:
    """The literal path of a --path-from flag: NAME:FILE and then more of FILE and KEY=VALUE.

    The files measured the link, see `measured`; a key replaces what they say. Raises ValueError if
    the form is wrong, a file cannot be read, or a value of the path is still missing.
    """
    name, colon, rest = text.partition(":")
    form = "a measured path is NAME:FILE[,FILE...][,KEY=VALUE...], e.g. dsl:speedtest.json,ping.txt"
    items = [item.strip() for item in rest.split(",")]
    files = [item for item in items if "=" not in item]
    if not colon or not all(items) or not files:
        raise ValueError(f"no file after the name; {form}")
    values: measured.Values = {}
    for file in files:
        values |= measured.read(Path(file))
    given: dict[str, Any] = {}
    _put_all(given, (item for item in items if "=" in item), form, DIRECTIONS)
    path: dict[str, Any] = {"name": name.strip()}
    # a key of the whole path replaces both directions
    kept = {key: value for key, value in values.items() if key.partition(".")[2] not in given}
    _put_all(path, (f"{key}={value}" for key, value in kept.items()), form, DIRECTIONS)
    for key, value in given.items():
        path[key] = {**path.get(key, {}), **value} if isinstance(value, dict) else value
    for direction, key in ((d, k) for d in DIRECTIONS for k in ("rate", "delay")):
        if key not in path and key not in path.get(direction, {}):
            names = ", ".join(files)
            raise ValueError(
                f"{names}: no {key} {direction}; add a file that measured it, or "
                f"{direction}.{key}=VALUE; {measured.ACCEPTED}"
            )
    # a path has both for itself, too
    return {key: path.get("down", {}).get(key) for key in ("rate", "delay")} | path


def parse_event_flag(text: str) -> dict[str, Any]:
    """The literal event of an --event flag: TIME:PATH:ACTION and then any KEY=VALUE.

    "3s:lte:down", or "15s:lte:change,rate=x0.1,lasts=2s"; PATH is the name of a path or, as
    link=NAME, of a link. "5s:parameter=ecf.beta_permille:500" sets a parameter of a scheduler.
    Raises ValueError if the form is wrong.
    """
    form = "an event is TIME:PATH:ACTION[,KEY=VALUE...], e.g. 3s:lte:down"
    parts = [part.strip() for part in text.split(":", 2)]
    if len(parts) != 3:
        raise ValueError(form)
    action, *items = (item.strip() for item in parts[2].split(","))
    key, equals, name = (part.strip() for part in parts[1].partition("="))
    event: dict[str, Any] = {"at": parts[0]}
    if equals and key == "parameter":
        event |= {"parameter": name, "value": action}
    else:
        event |= {"action": action}
        event |= {"link": name} if equals and key == "link" else {"path": parts[1]}
    _put_all(event, items, form, DIRECTIONS)
    return event


def parse_workload_flag(text: str) -> dict[str, Any]:
    """The literal workload of a --workload flag: KIND and then any KEY=VALUE.

    "cbr:size=8KB,rate=500kbit" becomes the table that [workload] in a file would be. Raises
    ValueError if the form is wrong.
    """
    form = "a workload is KIND[:KEY=VALUE,...], e.g. cbr:size=8KB,rate=500kbit"
    kind, colon, rest = text.partition(":")
    workload: dict[str, Any] = {"kind": kind.strip()}
    _put_all(workload, rest.split(",") if colon else (), form, ())
    return workload


def _put_all(table: dict[str, Any], items: Iterable[str], form: str, inside: Sequence[str]) -> None:
    """Set keys of a literal table, or of the tables `inside` it, such as up.rate, from texts
    KEY=VALUE.
    """
    for item in items:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise ValueError(f"{shown(item.strip())} is not KEY=VALUE; {form}")
        outer, _, inner = key.partition(".")
        deeper = bool(inner) and outer in inside
        home = table.setdefault(outer, {}) if deeper else table
        last = inner if deeper else key
        if not isinstance(home, dict) or last in home:
            raise ValueError(f"{shown(key)} is given twice; {form}")
        home[last] = value


_LIST_FLAGS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "path": parse_path_flag,
    "link": partial(parse_path_flag, what="a link is", example="bottleneck:10mbit,10ms,queue=100"),
    "connection": parse_connection_flag,
    "event": parse_event_flag,
}
_WORKLOAD_KEYS = tuple(LiteralWorkload.model_fields)
_BARE_FLAGS = ("pcap", "decisions", "states", "program")


def merge(flags: Flags, mistakes: Mistakes) -> None:
    """Let the flags override the file, and remember which values came from flags."""
    if flags.workload is not None:
        _merge_workload(flags.workload, mistakes)
    _merge_values(flags, mistakes)
    for key, parse in _LIST_FLAGS.items():
        texts = [(parse, text) for text in getattr(flags, key)]
        measured_ = flags.path_from if key == "path" else ()
        for number in range(len(measured_)):
            mistakes.flags[key, len(texts) + number] = "--path-from"
        if texts := [*texts, *((parse_path_from_flag, text) for text in measured_)]:
            _merge_list(key, texts, mistakes)
    for key in _BARE_FLAGS:
        if getattr(flags, key):
            mistakes.flags[key,] = f"--{key}"


def _merge_values(flags: Flags, mistakes: Mistakes) -> None:
    """The flags that have the value of one key."""
    others = (*_LIST_FLAGS, "path_from", *_BARE_FLAGS, "workload")
    valued = {f.name: getattr(flags, f.name) for f in fields(flags) if f.name not in others}
    given = {key: value for key, value in valued.items() if value not in (None, ())}
    data = mistakes.data
    workload = data.setdefault("workload", {})
    if isinstance(workload, dict) and workload.get("kind", "bulk") == "bulk":
        replaced = {"duration": ["size"], "size": ["duration", "warmup"]}
        for key in [old for new, olds in replaced.items() if new in given for old in olds]:
            workload.pop(key, None)
    for key, value in given.items():
        table, place = (workload, ("workload", key)) if key in _WORKLOAD_KEYS else (data, (key,))
        mistakes.flags[place] = "--" + key.replace("_", "-")
        if isinstance(table, dict):
            table[key] = _as_in_a_file(key, value)


def _as_in_a_file(key: str, value: Any) -> Any:
    """The value of a flag in the type that a file has."""
    if key == "vary":
        return list(value)
    if key in ("scheduler", "cc", "kernel"):
        return [name.strip() for name in value.split(",")]
    if key in ("seed", "repeat") and re.fullmatch("[0-9]{1,18}", str(value)):
        return int(value)
    return value


def _merge_list(
    key: str, texts: Sequence[tuple[Callable[[str], dict[str, Any]], str]], mistakes: Mistakes
) -> None:
    """A flag that is given once for each table of a list; those of the file are dropped."""
    tables = mistakes.data[key] = []
    mistakes.flags[key,] = f"--{key}"
    for index, (parse, text) in enumerate(texts):
        try:
            tables.append(parse(text))
        except ValueError as error:
            tables.append({})
            mistakes.add((key, index), str(error), text)


def _merge_workload(text: str, mistakes: Mistakes) -> None:
    mistakes.flags["workload",] = "--workload"
    try:
        mistakes.data["workload"] = parse_workload_flag(text)
    except ValueError as error:
        mistakes.data["workload"] = {}
        mistakes.add(("workload",), str(error), text)
