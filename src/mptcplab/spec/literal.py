# SPDX-License-Identifier: GPL-2.0-only
"""The literal scenario: the keys of the file, how each value is read, and the JSON Schema.

Every value is optional here, units are read, nothing is resolved: None is "not given".
"""

from __future__ import annotations

import copy
import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import CoreSchema, core_schema

from mptcplab.spec import congestion, units
from mptcplab.spec.link_trace import COLUMNS
from mptcplab.spec.mistakes import (
    ABSENT,
    Mistakes,
    Place,
    is_utf8,
    one_of,
    shown,
    suggestion,
)
from mptcplab.spec.presets import PRESETS

CONGESTION_CONTROLS = congestion.names()
TRANSPORTS = ("mptcp", "tcp")
WORKLOADS = ("bulk", "transfers", "cbr", "requests", "web", "video", "frames")
DIRECTIONS = ("up", "down", "both")
STARTS = ("at-once", "established")
ACTIONS = ("down", "up", "close", "change", "handover", "backup", "regular")
MAX_PATHS = 8  # of a connection
#: Of all connections together; each has a pair of hosts, and path i the networks 10.0.i and 10.1.i
#: and the routing table i, of which 253 and those after it are Linux's own.
MAX_CONNECTIONS = 128
MAX_ALL_PATHS = 250
MAX_LINKS = 32
MAX_CAPTURES = 64  # whose rings of 2 MiB the guest has memory for
#: The rate of what does not limit it: a packet of 1514 bytes takes 12 ps.
NO_RATE_BPS = 10**15
MAX_EVENTS = 32
MAX_OCCURRENCES = 50_000  # of all events together
MAX_FACTOR = 1000
MAX_SEED = 2**32 - 1
MAX_REPEAT = 10_000
#: Of each state that a quarter of all runs are in, so many runs show one with a probability of 90 %
#: (1 - 0.75^8), and their range has the median in it with 99 % (1 - 2 / 2^8).
COMPARED_SEEDS = 8
MAX_QUEUE_PACKETS = 1_000_000
MAX_BITRATES = 32
# The frames that a queue holds: Ethernet's header and 1500 bytes.
PACKET_BYTES = 1514
DISCIPLINES = ("netem", "droptail", "codel", "fq_codel", "red", "pie")
BOTTLENECKS = ("router", "host")
MAX_DROPS = 128  # with their numbers they fit into a page of the kernel
MAX_DROP_NUMBER = 10**9
MAX_LOSS = 1 - 1e-9  # the last step before 1, see units.parse_fraction

_LIST_SEPARATOR = "/"  # of lists in flags, where a comma ends the value
_NAME_PATTERN = "[A-Za-z0-9_-]{1,32}"
_FACTOR_PATTERN = r"x[0-9]{1,9}(?:\.[0-9]{1,9})?"

# Readers: a value as it stands in TOML becomes a number in base units, or ValueError


@dataclass(frozen=True)
class _Reads:
    """Annotation of a literal field: how to read its value, and the JSON Schema of it."""

    read: Callable[[object], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        return dict(self.schema)


def _quantity(
    parse: Callable[[str], float], low: float, high: float, accepted: str, *schemas: dict[str, Any]
) -> _Reads:
    def read(value: object) -> float:
        number = parse(_text(value, accepted))
        if not low <= number <= high:
            raise ValueError(f"out of range; {accepted}")
        return number

    return _Reads(read, schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)})


def _pattern(regex: str) -> dict[str, Any]:
    return {"type": "string", "pattern": regex}


def _count(what: str, low: int, high: int) -> _Reads:
    """A whole number, also as text, which is what a flag gives."""
    whole = _whole(what, low, high)

    def read(value: object) -> Any:
        digits = isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value.strip())
        return whole.read(int(str(value)) if digits else value)

    return _Reads(read, {"anyOf": [whole.schema, _pattern("^[0-9]{1,18}$")]})


def _rate(what: str, low: str, high: str) -> _Reads:
    low_bps, high_bps = units.parse_rate(low), units.parse_rate(high)
    zero = [{"const": 0}] if low_bps == 0 else []
    parse = functools.partial(units.parse_rate, name=what)
    pattern = _pattern(units.RATE.pattern)
    return _quantity(parse, low_bps, high_bps, f"{what} is {low} to {high}", pattern, *zero)


def _time(what: str, low: str, high: str) -> _Reads:
    low_ns, high_ns = units.parse_time(low), units.parse_time(high)
    zero = [{"const": 0}] if low_ns == 0 else []
    parse = functools.partial(units.parse_time, name=what)
    pattern = _pattern(units.TIME.pattern)
    return _quantity(parse, low_ns, high_ns, f"{what} is {low} to {high}", pattern, *zero)


def _size(what: str, low: str, high: str) -> _Reads:
    low_bytes, high_bytes = units.parse_size(low), units.parse_size(high)
    number = {"type": "integer", "minimum": low_bytes, "maximum": high_bytes}
    parse = functools.partial(units.parse_size, name=what)
    pattern = _pattern(units.SIZE.pattern)
    accepted = f"{what} is {low} to {high}"
    return _quantity(parse, low_bytes, high_bytes, accepted, pattern, number)


def _buffer(what: str) -> _Reads:
    size = _size(what, "4KiB", "1GiB")

    def read(value: object) -> Any:
        if value == "auto":
            return None
        try:
            return size.read(value)
        except ValueError as error:
            raise ValueError(f"{error}, or auto") from None

    return _Reads(read, {"anyOf": [{"const": "auto"}, *size.schema["anyOf"]]})


def _whole(what: str, low: int, high: int) -> _Reads:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{what} is a whole number from {low} to {high}")
        return value

    return _Reads(read, {"type": "integer", "minimum": low, "maximum": high})


class Factor(float):
    """What a value is multiplied by, written x0.1 or x3."""


def _or_factor(reads: _Reads) -> _Reads:
    def read(value: object) -> Any:
        if isinstance(value, str) and re.fullmatch(_FACTOR_PATTERN, value.strip()):
            factor = Factor(value.strip()[1:])
            if not 1 / MAX_FACTOR <= factor <= MAX_FACTOR:
                raise ValueError(f"out of range; a factor is x{1 / MAX_FACTOR} to x{MAX_FACTOR}")
            return factor
        try:
            return reads.read(value)
        except ValueError as error:
            raise ValueError(f"{error}; or a factor, e.g. x0.1") from None

    return _Reads(read, {"anyOf": [reads.schema, _pattern(f"^\\s*{_FACTOR_PATTERN}\\s*$")]})


def _read_flag(value: object) -> bool:
    if value not in (True, False, "true", "false", "on", "off"):
        raise ValueError("true or false is expected")
    return value in (True, "true", "on")


def _choice(what: str, choices: Sequence[str]) -> _Reads:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"{what} is {one_of(choices)}{suggestion(value, choices)}")
        return str(value)

    return _Reads(read, {"enum": list(choices)})


def _read_name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(_NAME_PATTERN, value):
        raise ValueError("a name is 1 to 32 letters, digits, - or _")
    return value


def _names(what: str, most: int) -> _Reads:
    """A list of different names; a flag has it as text, with / between them."""

    def read(value: object) -> tuple[str, ...]:
        items = value.split(_LIST_SEPARATOR) if isinstance(value, str) else value
        if not isinstance(items, list) or not 1 <= len(items) <= most:
            raise ValueError(f"{what}: a list of 1 to {most} names is expected")
        names = tuple(_read_name(item.strip() if isinstance(item, str) else item) for item in items)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"{twice[0]} is named twice")
        return names

    return _Reads(
        read,
        {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "array",
                    "items": _pattern(f"^{_NAME_PATTERN}$"),
                    "minItems": 1,
                    "maxItems": most,
                    "uniqueItems": True,
                },
            ]
        },
    )


def _read_file(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("the name of a file is expected")
    return value


def _read_schedulers(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(
            'a scheduler is a name, or a list of names, e.g. ["default", "roundrobin"]; parameters '
            'follow the name, e.g. "roundrobin:num_segments=2"'
        )
    return tuple(names)


def _read_scheduler(value: object) -> str:
    if not isinstance(value, str) or "," in value:
        raise ValueError("one scheduler is expected, e.g. roundrobin:num_segments=2")
    return value


_CC = _choice("cc (congestion control)", CONGESTION_CONTROLS)


def _read_ccs(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (_CC.read(value),)
    if not value:
        raise ValueError('cc is a name, or a list of names, e.g. ["reno", "lia"]')
    for each in value:
        try:
            _CC.read(each)
        except ValueError as error:
            raise ValueError(f"{shown(each)}: {error}" if len(value) > 1 else str(error)) from None
        if value.count(each) > 1:
            raise ValueError(f"{shown(each)} is named twice")
    return tuple(value)


def _read_bitrates(value: object) -> tuple[int, ...]:
    values = value.split(_LIST_SEPARATOR) if isinstance(value, str) else value
    if not isinstance(values, list) or not 2 <= len(values) <= MAX_BITRATES:
        raise ValueError(
            f'a list of 2 to {MAX_BITRATES} rates is expected, e.g. ["1mbit", "3mbit"], or '
            '"1mbit/3mbit"'
        )
    bitrates = tuple(_BITRATE.read(each) for each in values)
    if any(low >= high for low, high in itertools.pairwise(bitrates)):
        raise ValueError("bitrates rise from one to the next")
    return bitrates


def _read_gop(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(_GOP_PATTERN, value):
        raise ValueError(
            "a group of pictures is an I and up to 599 P or B, in the order of sending, "
            "e.g. IPBBPBB"
        )
    return value


def _read_ratio(value: object) -> tuple[int, int, int]:
    found = re.fullmatch(_RATIO_PATTERN, value) if isinstance(value, str) else None
    if not found:
        raise ValueError(
            "the sizes of I, P and B frames are three whole numbers from 1 to 9999, e.g. 14:5:2"
        )
    return int(found[1]), int(found[2]), int(found[3])


def _table(example: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"{_kind(value)}, where a table is needed, with {example}")
        return value

    return BeforeValidator(check)


def _tables(key: str) -> BeforeValidator:
    form = f"each {key} is a table of its own, headed [[{key}]]"

    def check(value: object) -> object:
        if not isinstance(value, list):
            what = "a single table" if isinstance(value, dict) else _kind(value)
            raise ValueError(f"{what}; {form}")
        return value

    return BeforeValidator(check)


def _text(value: object, accepted: str) -> str:
    """A quantity as text, also if TOML already took it for a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{_kind(value)}; {accepted}")
    if value != value or abs(value) >= 2**63:
        raise ValueError(f"out of range; {accepted}")
    return f"{Decimal(str(value)):f}"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "a table", list: "a list", str: "text", int: "a number", float: "a number"}
    return names.get(type(value), "a date or time")


# The keys

_GOP_PATTERN = "I[PB]{0,599}"
_RATIO_PATTERN = "([1-9][0-9]{0,3}):([1-9][0-9]{0,3}):([1-9][0-9]{0,3})"
_BITRATE = _rate("a bitrate", "1kbit", "1gbit")
_RATE = _rate("a rate", "1kbit", "100gbit")
_DELAY = _time("a delay", "0s", "10s")
_Rate = Annotated[int | None, _RATE]
_Delay = Annotated[int | None, _DELAY]
_Jitter = Annotated[int | None, _time("a jitter", "0s", "10s")]
_Cross = Annotated[int | None, _rate("a rate of cross traffic", "0bit", "100gbit")]
_Loss = Annotated[
    float | None,
    _quantity(
        units.parse_fraction,
        0,
        MAX_LOSS,
        "a loss is 0% to less than 100% (1% is 0.01)",
        _pattern(units.FRACTION_PATTERN),
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    ),
]
_Part = Annotated[
    float | None,
    _quantity(
        units.parse_fraction,
        0,
        1,
        "0% to 100% (1% is 0.01)",
        _pattern(units.FRACTION_PATTERN),
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
]
_PACKETS = _quantity(
    units.parse_queue,
    1,
    MAX_QUEUE_PACKETS,
    f"a queue is 1 to {MAX_QUEUE_PACKETS} packets",
    _pattern(units.QUEUE_PATTERN),
    {"type": "integer", "minimum": 1, "maximum": MAX_QUEUE_PACKETS},
)
_BYTES = _size("a queue", f"{PACKET_BYTES}B", "1GB")


class Bytes(int):
    """A queue that was given as a size."""


def _read_queue(value: object) -> Any:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9.]+\s*[kmgtKMGT]?i?[bB]\s*", value):
        return Bytes(_BYTES.read(value))
    return _PACKETS.read(value)


_QUEUE_SCHEMA = {"anyOf": [_BYTES.schema["anyOf"][0], *_PACKETS.schema["anyOf"]]}
_DROPS = re.compile("[0-9]{1,10}(?:-[0-9]{1,10})?")


def _read_drops(value: object) -> tuple[tuple[int, int], ...]:
    form = (
        "the numbers of packets are expected, from 1, and ranges of them, e.g. "
        '[5, 17, "100-120"], or 5+17+100-120'
    )
    items = value.split("+") if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        raise ValueError(form)
    if len(items) > MAX_DROPS:
        raise ValueError(f"{len(items)} numbers and ranges; at most {MAX_DROPS} are possible")
    ranges = []
    for item in items:
        if isinstance(item, bool) or not _DROPS.fullmatch(str(item).strip()):
            raise ValueError(form)
        first, _, last = str(item).strip().partition("-")
        ranges.append((int(first), int(last or first)))
        if not 1 <= ranges[-1][0] <= ranges[-1][1] <= MAX_DROP_NUMBER:
            raise ValueError(f"{item}: not 1 to {MAX_DROP_NUMBER}, the smaller number first")
    ranges.sort()
    for before, after in itertools.pairwise(ranges):
        if after[0] <= before[1]:
            raise ValueError(f"packet {after[0]} is named twice")
    return tuple(ranges)


_Drops = Annotated[
    tuple[tuple[int, int], ...] | None,
    _Reads(
        _read_drops,
        {
            "anyOf": [
                _pattern(
                    r"^\s*[0-9]{1,10}(-[0-9]{1,10})?\s*(\+\s*[0-9]{1,10}(-[0-9]{1,10})?\s*)*$"
                ),
                {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_DROPS,
                    "items": {
                        "anyOf": [
                            {"type": "integer", "minimum": 1, "maximum": MAX_DROP_NUMBER},
                            _pattern(r"^\s*[0-9]{1,10}(-[0-9]{1,10})?\s*$"),
                        ]
                    },
                },
            ]
        },
    ),
]
_Queue = Annotated[int | None, _Reads(_read_queue, _QUEUE_SCHEMA)]


def _key(description: str, examples: Sequence[object], default: object = None) -> Any:
    extra: dict[str, Any] = {} if default is None else {"default": default}
    return Field(
        default=None, description=description, examples=list(examples), json_schema_extra=extra
    )


class _Literal(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _trace_table(value: object) -> object:
    return {"file": value} if isinstance(value, str) else value


def _read_columns(value: object) -> dict[str, str]:
    if (
        not isinstance(value, dict)
        or not value
        or not all(key in COLUMNS and isinstance(name, str) for key, name in value.items())
    ):
        raise ValueError(
            f"a table of the columns to take is expected, with {one_of(COLUMNS)}, e.g. "
            '{ rate = "DL_bitrate [kbit]" }'
        )
    return value


class LiteralTrace(_Literal):
    """A trace of a link, and how it is read and played."""

    file: Annotated[str | None, _Reads(_read_file, {"type": "string"})] = _key(
        "The file, of Mahimahi or CSV; a relative one is beside the scenario file.", ["lte.down"]
    )
    columns: Annotated[
        dict[str, str] | None,
        _Reads(_read_columns, {"type": "object", "additionalProperties": {"type": "string"}}),
    ] = _key(
        "Of a CSV file: which of its columns are time, rate, delay and loss, each with its unit.",
        [{"rate": "DL_bitrate [kbit]"}],
    )
    interval: Annotated[int | None, _time("the time of a row", "1ns", "86400s")] = _key(
        "Of a CSV file whose time is not to be read: how long each row holds.", ["1s"]
    )
    skip_empty: Annotated[bool | None, _Reads(_read_flag, {"type": "boolean"})] = _key(
        "Leave out rows of a CSV file that have no value.", [True], False
    )
    offset: Annotated[int | None, _time("an offset", "0s", "86400s")] = _key(
        "Where in the trace the workload starts.", ["30s"], "0s"
    )
    repeat: Annotated[bool | None, _Reads(_read_flag, {"type": "boolean"})] = _key(
        "Begin anew at its end; otherwise the last values stay.", [False], True
    )
    resolution: Annotated[int | None, _time("a resolution", "1ms", "60s")] = _key(
        "The shortest time between two changes; what is shorter is averaged.", ["100ms"], "10ms"
    )


class LiteralDirection(_Literal):
    """What differs in one direction of a path."""

    rate: _Rate = _key("Rate of the link, in bits per second.", ["50mbit", "0.5gbit"])
    delay: _Delay = _key("One-way delay.", ["10ms", "250us"])
    jitter: _Jitter = _key(
        "Spread of the delay, at most the delay; packets keep their order.", ["2ms"], "0ms"
    )
    loss: _Loss = _key("Part of the packets lost at random.", ["0.1%"], "0%")
    loss_burst: Annotated[int | None, _count("a loss_burst", 1, 10_000)] = _key(
        "Mean number of packets lost in a row: that the bad state of Gilbert's and Elliott's model "
        "lasts. By default each is lost by itself.",
        [5],
    )
    loss_bad: _Part = _key(
        "Part of the packets lost in the bad state; with loss_burst.", ["50%"], "100%"
    )
    loss_good: _Part = _key(
        "Part of the packets lost in the good state; with loss_burst.", ["0.01%"], "0%"
    )
    loss_correlation: _Part = _key(
        "How far the random number of a packet hangs on that of the one before, netem's way: less "
        "is lost then than loss says.",
        ["25%"],
        "0%",
    )
    drop: _Drops = _key(
        "Exactly these packets with data are lost, counted from 1 from the start of the workload.",
        [[5, 17, "100-120"], "5+17+100-120"],
    )
    drop_acks: _Drops = _key("The same for packets without data.", [[1, 2]])
    duplicate: _Loss = _key("Part of the packets that arrive twice.", ["0.1%"], "0%")
    reorder: _Loss = _key("Part of the packets that overtake those before them.", ["1%"], "0%")
    reorder_by: _Delay = _key("How much earlier they arrive; by default the whole delay.", ["2ms"])
    queue: _Queue = _key(
        "Queue limit in packets, or a size; by default one bandwidth-delay product, at least 20 "
        "packets, or what the discipline has by default.",
        [300, "300p", "300KB"],
    )
    queue_discipline: Annotated[str | None, _choice("a queue_discipline", DISCIPLINES)] = _key(
        "How the queue is kept: netem, one limit in packets for what waits and what is on its way; "
        "droptail, what waits alone; or as the kernel's codel, fq_codel, red or pie. A queue given "
        "as a size is droptail.",
        ["codel"],
        "netem",
    )
    bottleneck: Annotated[str | None, _choice("a bottleneck", BOTTLENECKS)] = _key(
        "Where the rate and the queue are: at the router, or at the interface of the host that "
        "sends.",
        ["host"],
        "router",
    )
    cross: _Cross = _key(
        "Rate of cross traffic: UDP packets of full size, from the workload's start on.",
        ["30mbit"],
        "0bit",
    )
    trace: Annotated[
        LiteralTrace | None, _table("a file, or keys such as file"), BeforeValidator(_trace_table)
    ] = Field(
        default=None,
        description="A trace, a file or a table, whose rate, delay and loss go before those given.",
        examples=["lte.down", {"file": "5g.csv", "interval": "1s"}],
        json_schema_extra=lambda schema: schema["anyOf"].insert(0, {"type": "string"}),  # type: ignore[union-attr]
    )


_Name = Annotated[str | None, _Reads(_read_name, _pattern(f"^{_NAME_PATTERN}$"))]


class LiteralLink(LiteralDirection):
    """A link that several paths share, between two routers."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["name"],
            "anyOf": [{"required": ["rate", "delay"]}, {"required": ["preset"]}],
        }
    )

    name: _Name = _key("Its name, unique in the scenario.", ["wifi"])
    preset: Annotated[str | None, _choice("a preset", tuple(PRESETS))] = _key(
        "Kind of link, whose values hold where none is given.", ["lte"]
    )
    up: Annotated[LiteralDirection, _table("keys such as up.rate")] = Field(
        default=LiteralDirection(), description="What differs from client to server."
    )
    down: Annotated[LiteralDirection, _table("keys such as down.rate")] = Field(
        default=LiteralDirection(), description="What differs from server to client."
    )


class LiteralPath(LiteralLink):
    """A path between client and server, through a router of its own."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["name"],
            "anyOf": [
                {"required": ["rate", "delay"]},
                {"required": ["preset"]},
                {"required": ["link"]},
            ],
        }
    )

    link: Annotated[tuple[str, ...] | None, _names("links", MAX_LINKS)] = _key(
        "The link, or links in this order, that its packets go through behind its own router. With "
        "one, the path needs no rate and no delay of its own.",
        ["bottleneck", ["access", "backbone"]],
    )


class LiteralChange(_Literal):
    """What an event changes in one direction of its path: new values, or factors of the old."""

    rate: Annotated[int | float | None, _or_factor(_RATE)] = _key(
        "The new rate, or a factor of what it was.", ["5mbit", "x0.1"]
    )
    delay: Annotated[int | float | None, _or_factor(_DELAY)] = _key(
        "The new one-way delay, or a factor of what it was.", ["100ms", "x3"]
    )
    jitter: _Jitter = _key("The new jitter.", ["5ms"])
    loss: _Loss = _key("The new loss.", ["2%"])
    cross: _Cross = _key("The new rate of cross traffic; 0: none.", ["30mbit", 0])


class LiteralEvent(LiteralChange):
    """Something that happens to a path while data is sent, once or again and again."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["at", "action"],
            "oneOf": [{"required": ["path"]}, {"required": ["link"]}],
        }
    )

    at: Annotated[int | None, _time("the time of an event", "0s", "86400s")] = _key(
        "When it happens first, counted from the start of the workload.", ["3s"]
    )
    path: _Name = _key("Name of the path that it happens to.", ["lte"])
    link: _Name = _key("Name of the link that it happens to, instead of a path.", ["bottleneck"])
    action: Annotated[str | None, _choice("an action", ACTIONS)] = _key(
        "down: the path loses every packet, both ways; up: it no longer does; close: the server "
        "gives up its address on the path, and the subflow ends; change: the rate, delay, jitter "
        "or loss given here; handover: a tenth of the rate and three times the delay, for a while; "
        "backup, regular: the subflow is used last, or again as the others.",
        ["down"],
    )
    lasts: Annotated[int | None, _time("how long an event lasts", "1us", "86400s")] = _key(
        "How long it lasts, and then is undone; without it, it stays. A handover that is not given "
        "one draws it: 85 of 100 take less than 100 ms, the others seconds.",
        ["2s"],
    )
    every: Annotated[int | None, _time("the period of an event", "1ms", "86400s")] = _key(
        "It happens again and again with this period, until the end.", ["15s"]
    )
    random: Annotated[bool | None, _Reads(_read_flag, {"type": "boolean"})] = _key(
        "The time between two is drawn from the seed, exponentially, and `every` is its mean.",
        [True],
    )
    up: Annotated[LiteralChange, _table("keys such as up.rate")] = Field(
        default=LiteralChange(), description="What differs from client to server."
    )
    down: Annotated[LiteralChange, _table("keys such as down.rate")] = Field(
        default=LiteralChange(), description="What differs from server to client."
    )


class LiteralWorkload(_Literal):
    """What the connections carry. Each kind has some of these keys (module `workload`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["kind"]}, {"not": {"required": ["duration", "size"]}}],
        }
    )

    kind: Annotated[str | None, _choice("the kind of a workload", WORKLOADS)] = _key(
        "bulk: as much as the connection takes; transfers: of a size, one after the other; cbr: "
        "blocks at a constant rate; requests: small ones, and their responses; web: a page; "
        "video: segments for a player with a buffer; frames: of a live video, with deadlines.",
        ["cbr"],
        "bulk",
    )
    direction: Annotated[str | None, _choice("a direction", DIRECTIONS)] = _key(
        "up: from client to server; down: the other way; both: both at once. Of bulk, transfers, "
        "cbr, frames.",
        ["down"],
        "up",
    )
    duration: Annotated[int | None, _time("a duration", "100ms", "86400s")] = _key(
        "How long to send, 20s if no size is given; of video, how long it plays, 120s. Of bulk, "
        "cbr, requests, video, frames.",
        ["20s"],
    )
    size: Annotated[int | None, _size("a size", "1B", "1TB")] = _key(
        "Of bulk, how much to send, instead of a duration; of transfers, each, 1250KB; of cbr, a "
        "block, 8KB.",
        ["10MB", "64KiB", 1448],
    )
    warmup: Annotated[int | None, _time("a warm-up", "0s", "86400s")] = _key(
        "Left out of the measurement; shorter than the duration. By default a tenth of it, at most "
        "5s; none without a duration. Of bulk, cbr, requests, frames.",
        ["2s"],
    )
    start: Annotated[str | None, _choice("a start", STARTS)] = _key(
        "at-once: data is sent when the first subflow is there, as programs do; established: when "
        "each path has a subflow that may carry data.",
        ["established"],
        "at-once",
    )
    no_delay: Annotated[bool | None, _Reads(_read_flag, {"type": "boolean"})] = _key(
        "A short last segment does not wait for an acknowledgment (TCP_NODELAY). False for bulk, "
        "as iperf3 has it; true for all others, as curl, nginx and browsers have it.",
        [True],
    )
    count: Annotated[int | None, _count("a count", 1, 50_000)] = _key(
        "How many transfers, 20; of requests that have a think time, how many, 100.", [50]
    )
    interval: Annotated[int | None, _time("an interval", "1us", "86400s")] = _key(
        "From one to the next. Transfers: without it, one after the other; cbr: instead of a "
        "rate; requests: 100ms.",
        ["500ms"],
    )
    rate: _Rate = _key(
        "Of cbr, of the blocks, 500kbit; of frames, the mean, 4mbit.", ["500kbit", "4mbit"]
    )
    fresh: Annotated[bool | None, _Reads(_read_flag, {"type": "boolean"})] = _key(
        "Connections are opened when they are needed, and that takes its time; of transfers, each "
        "has its own. False for transfers, true for web.",
        [True],
    )
    request: Annotated[int | None, _size("a request", "1B", "1GB")] = _key(
        "Size of a request. 100B for requests, 500B for web and video.", ["500B"]
    )
    response: Annotated[int | None, _size("a response", "1B", "1GB")] = _key(
        "Size of a response, of requests.", ["10KB"], "1KB"
    )
    random: Annotated[bool | None, _Reads(_read_flag, {"type": "boolean"})] = _key(
        "The time between two requests is drawn from the seed, exponentially, and `interval` is "
        "its mean.",
        [True],
        False,
    )
    think: Annotated[int | None, _time("a think time", "0s", "3600s")] = _key(
        "The next request is sent so long after the response to the last, instead of at an "
        "interval.",
        ["200ms"],
    )
    page: Annotated[str | None, _Reads(_read_file, {"type": "string"})] = _key(
        "Of web: a TOML or JSON file of what the page consists of; a relative one is beside the "
        "scenario file. By default a page of median size.",
        ["page.toml"],
    )
    connections: Annotated[int | None, _count("the number of connections", 1, 256)] = _key(
        "Of web: over how many connections the page is loaded.", [1], 6
    )
    bitrates: Annotated[
        tuple[int, ...] | None,
        _Reads(
            _read_bitrates,
            {
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "minItems": 2, "maxItems": MAX_BITRATES},
                ]
            },
        ),
    ] = _key(
        "Of video: the rates in which it is there, rising. By default 235kbit to 5800kbit.",
        [["1mbit", "3mbit"], "1mbit/3mbit"],
    )
    segment: Annotated[int | None, _time("a segment", "100ms", "60s")] = _key(
        "Of video: how long a segment plays.", ["2s"], "4s"
    )
    buffer: Annotated[int | None, _time("a playback buffer", "200ms", "3600s")] = _key(
        "Of video: how much the player holds; at least two segments.", ["30s"], "40s"
    )
    reservoir: Annotated[int | None, _time("a reservoir", "0s", "3600s")] = _key(
        "Of video: with no more than this in the buffer, the lowest bitrate; 3/8 of the buffer.",
        ["10s"],
    )
    cushion: Annotated[int | None, _time("a cushion", "1ms", "3600s")] = _key(
        "Of video: with so much more than the reservoir, the highest bitrate; 21/40 of the buffer.",
        ["15s"],
    )
    fps: Annotated[int | None, _count("fps (frames per second)", 1, 240)] = _key(
        "Of frames: how many per second.", [30], 25
    )
    gop: Annotated[str | None, _Reads(_read_gop, _pattern(f"^{_GOP_PATTERN}$"))] = _key(
        "Of frames: the group of pictures that is repeated, in the order of sending.",
        ["IPPPPP"],
        "IBBPBBPBBPBB",
    )
    ratio: Annotated[
        tuple[int, int, int] | None, _Reads(_read_ratio, _pattern(f"^{_RATIO_PATTERN}$"))
    ] = _key("Of frames: how the sizes of I, P and B frames relate.", ["6:3:1"], "14:5:2")
    deadline: Annotated[int | None, _time("a deadline", "1ms", "60s")] = _key(
        "Of frames: in time is what has arrived so long after it was to be sent.", ["50ms"], "150ms"
    )


class LiteralConnection(_Literal):
    """A connection between hosts of its own, over paths of its own."""

    model_config = ConfigDict(json_schema_extra={"required": ["name", "paths"]})

    name: _Name = _key("Its name, unique among the connections.", ["background"])
    paths: Annotated[tuple[str, ...] | None, _names("paths", MAX_PATHS)] = _key(
        "The paths that it is made over: of plain TCP one. No other connection has them; what "
        "connections share is a link.",
        [["wifi", "lte"], "wifi/lte"],
    )
    count: Annotated[int | None, _count("a count", 1, MAX_CONNECTIONS)] = _key(
        "So many such connections, each between hosts of its own and over paths like these.",
        [10],
        1,
    )
    transport: Annotated[str | None, _choice("a transport", TRANSPORTS)] = _key(
        "mptcp or tcp; by default that of the scenario.", ["tcp"]
    )
    scheduler: Annotated[str | None, _Reads(_read_scheduler, {"type": "string"})] = _key(
        "Its scheduler; by default those of the scenario, one after the other.", ["minrtt"]
    )
    cc: Annotated[str | None, _CC] = _key(
        "Its congestion control; by default those of the scenario, one after the other.", ["reno"]
    )
    start: Annotated[int | None, _time("a start", "0s", "86400s")] = _key(
        "When it is opened, after the start of the workload. A connection without one is opened "
        "for it, as the start of its workload says.",
        ["5s"],
        "0s",
    )
    end: Annotated[int | None, _time("an end", "100ms", "86400s")] = _key(
        "Until when its application sends; by default until the end of the workload.", ["30s"]
    )
    workload: Annotated[LiteralWorkload, _table("keys such as kind and direction")] = Field(
        default=LiteralWorkload(),
        description="What it carries, but for video; by default as the scenario has it.",
    )


class LiteralScenario(_Literal):
    """A scenario of mptcplab."""

    model_config = ConfigDict(json_schema_extra={"required": ["path"]})

    scheduler: Annotated[
        tuple[str, ...] | None,
        _Reads(
            _read_schedulers,
            {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "uniqueItems": True,
                    },
                ]
            },
        ),
    ] = _key(
        "Scheduler, or a list of them to compare: NAME or, for a file of your own, NAME.c, each "
        "with any :PARAM=VALUE.",
        ["default", ["minrtt", "minrtt:rp=off", "./mine.c"]],
        "default",
    )
    cc: Annotated[
        tuple[str, ...] | None,
        _Reads(
            _read_ccs,
            {
                "anyOf": [
                    _CC.schema,
                    {"type": "array", "items": _CC.schema, "minItems": 1, "uniqueItems": True},
                ]
            },
        ),
    ] = _key(
        "Congestion control of every subflow, or a list of them to compare.",
        ["bbr", ["reno", "lia"]],
        congestion.DEFAULT,
    )
    transport: Annotated[str | None, _choice("a transport", TRANSPORTS)] = _key(
        "mptcp, or plain tcp over exactly one path.", ["tcp"], "mptcp"
    )
    seed: Annotated[int | None, _whole("a seed", 0, MAX_SEED)] = _key(
        "Seed of every random decision of a run.", [7], 1
    )
    seed_delay: Annotated[int | None, _time("a seed delay", "0us", "100ms")] = _key(
        "Each direction of each path is longer by a delay that is drawn from the seed, up to this: "
        "the time that hosts and routers take for a packet. 0us: none.",
        ["0us", "100us"],
        "50us",
    )
    repeat: Annotated[int | None, _whole("repeat", 1, MAX_REPEAT)] = _key(
        "Number of runs per scheduler, each with the next seed; by default 1, and where results "
        f"are compared {COMPARED_SEEDS}.",
        [5],
    )
    send_buffer: Annotated[int | None, _buffer("a send buffer")] = _key(
        "Send buffer of both ends; auto is the kernel's autotuning.", ["auto", "256KiB"], "auto"
    )
    receive_buffer: Annotated[int | None, _buffer("a receive buffer")] = _key(
        "Receive buffer of both ends; auto is the kernel's autotuning.", ["auto", "64KiB"], "auto"
    )
    sample_interval: Annotated[int | None, _time("a sample interval", "100us", "60s")] = _key(
        "Virtual time between two samples of the connection.", ["10ms", "1ms"], "10ms"
    )
    path: Annotated[
        tuple[Annotated[LiteralPath, _table("name, rate and delay")], ...], _tables("path")
    ] = Field(
        default=(),
        description="The paths, each a table headed [[path]]: 1 to 8 of a connection.",
        json_schema_extra={"minItems": 1, "maxItems": MAX_ALL_PATHS},
    )
    link: Annotated[
        tuple[Annotated[LiteralLink, _table("name, rate and delay")], ...], _tables("link")
    ] = Field(
        default=(),
        description="What paths share, each a table headed [[link]].",
        json_schema_extra={"maxItems": MAX_LINKS},
    )
    connection: Annotated[
        tuple[Annotated[LiteralConnection, _table("name and paths")], ...], _tables("connection")
    ] = Field(
        default=(),
        description="The connections, each a table headed [[connection]]. Without one there is a "
        "single pair of hosts with all paths.",
        json_schema_extra={"maxItems": MAX_CONNECTIONS},
    )
    event: Annotated[
        tuple[Annotated[LiteralEvent, _table("at, path and action")], ...], _tables("event")
    ] = Field(
        default=(),
        description="What happens to paths on the way, each a table headed [[event]].",
        json_schema_extra={"maxItems": MAX_EVENTS},
    )
    workload: Annotated[LiteralWorkload, _table("keys such as kind and duration")] = Field(
        default=LiteralWorkload(), description="What the connections carry."
    )


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario file; it accepts every file that loads."""
    schema = LiteralScenario.model_json_schema()
    _tidy(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mptcplab scenario",
        **schema,
    }


def _tidy(node: object) -> None:
    """Drop what speaks of Python alone: class names as titles, and the empty defaults."""
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        if not isinstance(node.get("default"), str | int):
            node.pop("default", None)
        for child in node.values():
            _tidy(child)
    elif isinstance(node, list):
        for child in node:
            _tidy(child)


# From data to the literal scenario


def validate(mistakes: Mistakes) -> LiteralScenario:
    """The literal scenario without whatever in it is wrong on its own, which is noted."""
    data = _in_utf8(copy.deepcopy(mistakes.data), (), mistakes)
    try:
        return LiteralScenario.model_validate(data)
    except ValidationError as error:
        for found in error.errors(include_url=False, include_input=False):
            place = found["loc"]
            parent: Any = data
            for step in place[:-1]:
                parent = parent[step]
            if found["type"] == "extra_forbidden":
                message = _unknown_key(place, mistakes)
            else:
                message = str(found["ctx"]["error"])
            mistakes.add(place, message)
            # A wrong path keeps its number among the others.
            if isinstance(parent, list):
                parent[int(place[-1])] = {}
            else:
                del parent[place[-1]]
    return LiteralScenario.model_validate(data)


def _in_utf8(value: Any, place: Place, mistakes: Mistakes) -> Any:
    """A value without the texts that no file can have: flags may be any bytes."""
    if isinstance(value, str) and not is_utf8(value):
        mistakes.add(place, "not UTF-8 text")
        return ABSENT
    if isinstance(value, dict):
        inside = {key: _in_utf8(each, (*place, key), mistakes) for key, each in value.items()}
        return {key: each for key, each in inside.items() if each is not ABSENT}
    if isinstance(value, list):
        items = [_in_utf8(each, (*place, index), mistakes) for index, each in enumerate(value)]
        return ABSENT if ABSENT in items else items
    return value


_TABLES: Mapping[str, type[BaseModel]] = {
    "": LiteralScenario,
    "path": LiteralPath,
    "path.up": LiteralDirection,
    "path.down": LiteralDirection,
    "link": LiteralLink,
    "link.up": LiteralDirection,
    "link.down": LiteralDirection,
    "link.trace": LiteralTrace,
    "link.up.trace": LiteralTrace,
    "link.down.trace": LiteralTrace,
    "connection": LiteralConnection,
    "connection.workload": LiteralWorkload,
    "path.trace": LiteralTrace,
    "path.up.trace": LiteralTrace,
    "path.down.trace": LiteralTrace,
    "event.up": LiteralChange,
    "event.down": LiteralChange,
    "event": LiteralEvent,
    "workload": LiteralWorkload,
}
# What other tools call it.
_OTHER_WORDS = {"bandwidth": "rate", "latency": "delay", "limit": "queue", "bytes": "size"}


def _unknown_key(place: Place, mistakes: Mistakes) -> str:
    table = ".".join(step for step in place[:-1] if isinstance(step, str))
    word = str(place[-1])
    known = list(_TABLES[table].model_fields)
    # In TOML every key after a [table] belongs to that table: the commonest slip of all.
    homes = [name for name, model in _TABLES.items() if word in model.model_fields]
    # many tables have a rate or a name; the plainest place is meant
    home = next((name for name in homes if not name.startswith(("link", "connection"))), None)
    home = home or next(iter(homes), None)
    if home is not None and not mistakes.flag(place):
        where = {
            "": "at the top of the file, before the first table",
            **{name: f"in [[{name}]]" for name in ("path", "event", "link", "connection")},
        }
        return f"unknown key here; {word} goes {where.get(home, f'in [{home}]')}"
    words = {**{key: key for key in known}, **{w: k for w, k in _OTHER_WORDS.items() if k in known}}
    hint = suggestion(word, words)
    return f"unknown key{hint or ';'} accepted here: {', '.join(known)}"
