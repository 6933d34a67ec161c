# SPDX-License-Identifier: GPL-2.0-only
"""The values of a scenario file: how each is read, and its part of the JSON Schema."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import CoreSchema, core_schema

from mptcplab import units
from mptcplab.mistakes import one_of, shown, suggestion
from mptcplab.scenario import congestion
from mptcplab.scenario.limits import (
    IP_VERSIONS,
    MAX_BITRATES,
    MAX_DROP_NUMBER,
    MAX_DROPS,
    MAX_FACTOR,
    MAX_LOSS,
    MAX_QUEUE_PACKETS,
    PACKET_BYTES,
)

_LIST_SEPARATOR = "/"  # in flags, where a comma ends the value
NAME_PATTERN = "[A-Za-z0-9_-]{1,32}"
_FACTOR_PATTERN = r"x[0-9]{1,9}(?:\.[0-9]{1,9})?"

# Readers: each turns a TOML value into a number in base units, or raises ValueError


@dataclass(frozen=True)
class Reads:
    """Annotation of a literal field: how its value is read, its JSON Schema, and in words what is
    accepted, for the pages that list the keys.
    """

    read: Callable[[object], Any]
    schema: Mapping[str, Any]
    accepted: str

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        return dict(self.schema)


def _quantity(
    what: str,
    parse: Callable[[str], float],
    limits: tuple[float, float],
    accepted: str,
    *schemas: dict[str, Any],
) -> Reads:
    form = f"{what} is {accepted}"

    def read(value: object) -> float:
        number = parse(_text(value, form))
        if not limits[0] <= number <= limits[1]:
            raise ValueError(f"out of range; {form}")
        return number

    return Reads(read, schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}, accepted)


def pattern(regex: str) -> dict[str, Any]:
    return {"type": "string", "pattern": regex}


def count(what: str, low: int, high: int) -> Reads:
    """A whole number, also as text, since flags are text."""
    number = whole(what, low, high)

    def read(value: object) -> Any:
        digits = isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value.strip())
        return number.read(int(str(value)) if digits else value)

    return Reads(read, {"anyOf": [number.schema, pattern("^[0-9]{1,18}$")]}, number.accepted)


def _rate(what: str, low: str, high: str) -> Reads:
    low_bps, high_bps = units.parse_rate(low), units.parse_rate(high)
    zero = [{"const": 0}] if low_bps == 0 else []
    parse = functools.partial(units.parse_rate, name=what)
    text = pattern(units.RATE.pattern)
    return _quantity(what, parse, (low_bps, high_bps), f"{low} to {high}", text, *zero)


def time(what: str, low: str, high: str) -> Reads:
    low_ns, high_ns = units.parse_time(low), units.parse_time(high)
    zero = [{"const": 0}] if low_ns == 0 else []
    parse = functools.partial(units.parse_time, name=what)
    text = pattern(units.TIME.pattern)
    return _quantity(what, parse, (low_ns, high_ns), f"{low} to {high}", text, *zero)


def size(what: str, low: str, high: str) -> Reads:
    low_bytes, high_bytes = units.parse_size(low), units.parse_size(high)
    number = {"type": "integer", "minimum": low_bytes, "maximum": high_bytes}
    parse = functools.partial(units.parse_size, name=what)
    text = pattern(units.SIZE.pattern)
    return _quantity(what, parse, (low_bytes, high_bytes), f"{low} to {high}", text, number)


def buffer(what: str) -> Reads:
    bounded = size(what, "4KiB", "1GiB")

    def read(value: object) -> Any:
        if value == "auto":
            return None
        try:
            return bounded.read(value)
        except ValueError as error:
            raise ValueError(f"{error}, or auto") from None

    schema = {"anyOf": [{"const": "auto"}, *bounded.schema["anyOf"]]}
    return Reads(read, schema, f"`auto`, or {bounded.accepted}")


def whole(what: str, low: int, high: int) -> Reads:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{what} is a whole number from {low} to {high}")
        return value

    return Reads(read, {"type": "integer", "minimum": low, "maximum": high}, f"{low} to {high}")


class Factor(float):
    """The factor by which a value is multiplied, written x0.1 or x3."""


def or_factor(reads: Reads) -> Reads:
    factors = f"x{1 / MAX_FACTOR} to x{MAX_FACTOR}"

    def read(value: object) -> Any:
        if isinstance(value, str) and re.fullmatch(_FACTOR_PATTERN, value.strip()):
            factor = Factor(value.strip()[1:])
            if not 1 / MAX_FACTOR <= factor <= MAX_FACTOR:
                raise ValueError(f"out of range; a factor is {factors}")
            return factor
        try:
            return reads.read(value)
        except ValueError as error:
            raise ValueError(f"{error}; or a factor, e.g. x0.1") from None

    schema = {"anyOf": [reads.schema, pattern(f"^\\s*{_FACTOR_PATTERN}\\s*$")]}
    return Reads(read, schema, f"{reads.accepted}, or {factors}")


def _read_flag(value: object) -> bool:
    if value not in (True, False, "true", "false", "on", "off"):
        raise ValueError("true or false is expected")
    return value in (True, "true", "on")


FLAG = Reads(_read_flag, {"type": "boolean"}, "`true`, `false`")


def choice(what: str, choices: Sequence[str]) -> Reads:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"{what} is {one_of(choices)}{suggestion(value, choices)}")
        return str(value)

    return Reads(read, {"enum": list(choices)}, ", ".join(f"`{each}`" for each in choices))


def _read_ip(value: object) -> str:
    text = str(value) if isinstance(value, int) else value
    if text not in IP_VERSIONS:
        raise ValueError(f"a version of IP is {one_of(tuple(IP_VERSIONS))}")
    return str(text)


_NUMBERS = [int(ip) for ip in IP_VERSIONS if ip.isdecimal()]
#: Versions of IP: as text, or a single one as a number.
IP = Reads(
    _read_ip,
    {"enum": [*IP_VERSIONS, *_NUMBERS]},
    ", ".join(f"`{ip}`" for ip in IP_VERSIONS),
)


def read_name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(NAME_PATTERN, value):
        raise ValueError("a name is 1 to 32 letters, digits, - or _")
    return value


def names(what: str, most: int) -> Reads:
    """A list of different names; in a flag it is text with / between them."""

    def read(value: object) -> tuple[str, ...]:
        items = value.split(_LIST_SEPARATOR) if isinstance(value, str) else value
        if not isinstance(items, list) or not 1 <= len(items) <= most:
            raise ValueError(f"{what}: a list of 1 to {most} names is expected")
        names = tuple(read_name(item.strip() if isinstance(item, str) else item) for item in items)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"{twice[0]} is named twice")
        return names

    return Reads(
        read,
        {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "array",
                    "items": pattern(f"^{NAME_PATTERN}$"),
                    "minItems": 1,
                    "maxItems": most,
                    "uniqueItems": True,
                },
            ]
        },
        f"1 to {most} names",
    )


def _read_file(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("the name of a file is expected")
    return value


FILE = Reads(_read_file, {"type": "string"}, "a file")


def read_schedulers(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(
            'a scheduler is a name, or a list of names, e.g. ["default", "roundrobin"]; parameters '
            'follow the name, e.g. "roundrobin:num_segments=2"'
        )
    return tuple(names)


def _read_vary(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError('a percentage, or a list of them, is expected, e.g. ["2%", "lte.rate=5%"]')
    return tuple(texts)


VARY = Reads(
    _read_vary,
    {
        "anyOf": [
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]
    },
    "a percentage, at most 90 %, or a list of them",
)


def read_scheduler(value: object) -> str:
    if not isinstance(value, str) or "," in value:
        raise ValueError("one scheduler is expected, e.g. roundrobin:num_segments=2")
    return value


def read_cc(value: object) -> str:
    accepted = f"cc (congestion control) is {one_of(congestion.names())}"
    if not isinstance(value, str) or value.partition(":")[0].strip() not in congestion.names():
        raise ValueError(f"{accepted}{suggestion(value, congestion.names())}")
    return congestion.read(value)


CC = Reads(
    read_cc,
    {"type": "string", "pattern": f"^({'|'.join(congestion.names())})(:[a-z0-9_]+=[a-z0-9]+)*$"},
    ", ".join(f"`{name}`" for name in congestion.names()),
)


def read_ccs(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (read_cc(value),)
    if not value:
        raise ValueError('cc is a name, or a list of names, e.g. ["reno", "lia"]')
    found: list[str] = []
    for each in value:
        try:
            cc = read_cc(each)
        except ValueError as error:
            raise ValueError(f"{shown(each)}: {error}" if len(value) > 1 else str(error)) from None
        if cc in found:
            raise ValueError(f"{shown(each)} is named twice")
        found.append(cc)
    return tuple(found)


def read_kernels(value: object) -> tuple[str, ...]:
    """Names of kernels; which there are depends on the machine."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(each, str) and each.strip() for each in names):
        raise ValueError('kernel is a name, or a list of names, e.g. ["6.12", "mine"]')
    for each in names:
        if names.count(each) > 1:
            raise ValueError(f"{shown(each)} is named twice")
    return tuple(names)


KERNELS = Reads(
    read_kernels,
    {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "uniqueItems": True,
            },
        ]
    },
    "a name of `mptcplab kernel list`, or a list of them",
)


def read_bitrates(value: object) -> tuple[int, ...]:
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


def read_gop(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(GOP_PATTERN, value):
        raise ValueError(
            "a group of pictures is an I and up to 599 P or B, in the order of sending, "
            "e.g. IPBBPBB"
        )
    return value


def read_ratio(value: object) -> tuple[int, int, int]:
    found = re.fullmatch(RATIO_PATTERN, value) if isinstance(value, str) else None
    if not found:
        raise ValueError(
            "the sizes of I, P and B frames are three whole numbers from 1 to 9999, e.g. 14:5:2"
        )
    return int(found[1]), int(found[2]), int(found[3])


def table(example: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"{_kind(value)}, where a table is needed, with {example}")
        return value

    return BeforeValidator(check)


def tables(key: str) -> BeforeValidator:
    form = f"each {key} is a table of its own, headed [[{key}]]"

    def check(value: object) -> object:
        if not isinstance(value, list):
            what = "a single table" if isinstance(value, dict) else _kind(value)
            raise ValueError(f"{what}; {form}")
        return value

    return BeforeValidator(check)


def _text(value: object, accepted: str) -> str:
    """A quantity as text, also if TOML has already read it as a number."""
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

GOP_PATTERN = "I[PB]{0,599}"
RATIO_PATTERN = "([1-9][0-9]{0,3}):([1-9][0-9]{0,3}):([1-9][0-9]{0,3})"
_BITRATE = _rate("a bitrate", "1kbit", "1gbit")
RATE = _rate("a rate", "1kbit", "100gbit")
DELAY = time("a delay", "0s", "10s")
Rate = Annotated[int | None, RATE]
Delay = Annotated[int | None, DELAY]
Jitter = Annotated[int | None, time("a jitter", "0s", "10s")]
Cross = Annotated[int | None, _rate("a rate of cross traffic", "0bit", "100gbit")]
Loss = Annotated[
    float | None,
    _quantity(
        "a loss",
        units.parse_fraction,
        (0, MAX_LOSS),
        "0% to less than 100% (1% is 0.01)",
        pattern(units.FRACTION_PATTERN),
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    ),
]
Part = Annotated[
    float | None,
    _quantity(
        "a fraction",
        units.parse_fraction,
        (0, 1),
        "0% to 100% (1% is 0.01)",
        pattern(units.FRACTION_PATTERN),
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
]
_PACKETS = _quantity(
    "a queue",
    units.parse_queue,
    (1, MAX_QUEUE_PACKETS),
    f"1 to {MAX_QUEUE_PACKETS} packets",
    pattern(units.QUEUE_PATTERN),
    {"type": "integer", "minimum": 1, "maximum": MAX_QUEUE_PACKETS},
)
_BYTES = size("a queue", f"{PACKET_BYTES}B", "1GB")


class Bytes(int):
    """A queue limit given as a size."""


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


Drops = Annotated[
    tuple[tuple[int, int], ...] | None,
    Reads(
        _read_drops,
        {
            "anyOf": [
                pattern(r"^\s*[0-9]{1,10}(-[0-9]{1,10})?\s*(\+\s*[0-9]{1,10}(-[0-9]{1,10})?\s*)*$"),
                {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_DROPS,
                    "items": {
                        "anyOf": [
                            {"type": "integer", "minimum": 1, "maximum": MAX_DROP_NUMBER},
                            pattern(r"^\s*[0-9]{1,10}(-[0-9]{1,10})?\s*$"),
                        ]
                    },
                },
            ]
        },
        "numbers and ranges",
    ),
]
Queue = Annotated[
    int | None,
    Reads(_read_queue, _QUEUE_SCHEMA, f"{_PACKETS.accepted}, or {_BYTES.accepted}"),
]
