# SPDX-License-Identifier: GPL-2.0-only
"""The values of a scenario file: how each is read, and its part of the JSON Schema."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import BeforeValidator
from pydantic_core import CoreSchema, core_schema

from mptcplab import units
from mptcplab.mistakes import one_of, shown, suggestion
from mptcplab.scenario import congestion
from mptcplab.scenario.limits import (
    BEFORE,
    BEFORE_NS,
    IP_VERSIONS,
    MAX_BITRATES,
    MAX_DROP_NUMBER,
    MAX_DROPS,
    MAX_FACTOR,
    MAX_LOSS,
    MAX_QUEUE_PACKETS,
    MIDDLEBOXES,
    PACKET_BYTES,
)
from mptcplab.units import NS_PER_S

_LIST_SEPARATOR = "/"  # in flags, where a comma ends the value
_FACTOR_PATTERN = r"x[0-9]{1,9}(?:\.[0-9]{1,9})?"

# Readers: each turns a TOML value into a number in base units, or raises ValueError


@dataclass(frozen=True)
class Reads:
    """Annotation of a literal field: how its value is read, its JSON Schema, and in words what is
    accepted, for the pages that list the keys; and the unit that its resolved field names.
    """

    read: Callable[[object], Any]
    schema: Mapping[str, Any]
    accepted: str
    unit: str = ""

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
    unit: str = "",
) -> Reads:
    form = f"{what} is {accepted}"

    def read(value: object) -> float:
        number = parse(_text(value, form))
        if not limits[0] <= number <= limits[1]:
            raise ValueError(f"out of range; {form}")
        return number

    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return Reads(read, schema, accepted, unit)


def pattern(regex: str) -> dict[str, Any]:
    return {"type": "string", "pattern": regex}


def count(what: str, low: int, high: int) -> Reads:
    """A whole number, also as text, since flags are text."""
    number = whole(what, low, high)

    def read(value: object) -> Any:
        digits = isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value.strip())
        return number.read(int(str(value)) if digits else value)

    return Reads(read, {"anyOf": [number.schema, pattern("^[0-9]{1,18}$")]}, number.accepted)


_UNITS = {"bit": "bps", "ns": "ns", "B": "bytes"}


def _measured(kind: units.Quantity, what: str, low: str, high: str) -> Reads:
    lowest, highest = kind.parse(low, what), kind.parse(high, what)
    number: list[dict[str, Any]] = [{"const": 0}] if lowest == 0 else []
    if kind.bare:
        number = [{"type": "integer", "minimum": lowest, "maximum": highest}]
    parse = functools.partial(kind.parse, name=what)
    text, unit = pattern(kind.pattern), _UNITS[kind.smallest]
    return _quantity(what, parse, (lowest, highest), f"{low} to {high}", text, *number, unit=unit)


#: Readers of a rate, a time and a size, by their name in messages, the lowest and the highest.
_rate = functools.partial(_measured, units.RATE)
time = functools.partial(_measured, units.TIME)
size = functools.partial(_measured, units.SIZE)


def seconds(what: str, low: str, high: str) -> Reads:
    """A time in whole seconds, as the kernel keeps some."""
    bounded = time(what, low, high)

    def read(value: object) -> Any:
        whole_s, rest_ns = divmod(bounded.read(value), NS_PER_S)
        if rest_ns:
            raise ValueError(f"{what} is in whole seconds, {bounded.accepted}")
        return whole_s

    return Reads(read, bounded.schema, f"{bounded.accepted}, whole seconds", "s")


def or_before(reads: Reads) -> Reads:
    """A time of the workload, or before all of it."""

    def read(value: object) -> Any:
        return BEFORE_NS if value == BEFORE else reads.read(value)

    schema = {"anyOf": [{"const": BEFORE}, reads.schema]}
    return Reads(read, schema, f"{reads.accepted}, or `{BEFORE}`", reads.unit)


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
    return Reads(read, schema, f"`auto`, or {bounded.accepted}", bounded.unit)


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
    return Reads(read, schema, f"{reads.accepted}, or {factors}", reads.unit)


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
    _read_ip, {"enum": [*IP_VERSIONS, *_NUMBERS]}, ", ".join(f"`{ip}`" for ip in IP_VERSIONS)
)


_TEXT = {"type": "string"}


def _like(
    regex: str,
    accepted: str,
    form: str,
    made: Callable[[re.Match[str]], Any] = lambda found: found[0],
    schema: Mapping[str, Any] | None = None,
) -> Reads:
    """A text that matches; `form` says so in the message, and `made` is what it is read as."""

    def read(value: object) -> Any:
        found = re.fullmatch(regex, value) if isinstance(value, str) else None
        if not found:
            raise ValueError(form)
        return made(found)

    return Reads(read, schema or pattern(f"^{regex}$"), accepted)


NAME = _like(
    "[A-Za-z0-9_-]{1,32}",
    "1 to 32 letters, digits, `-`, `_`",
    "a name is 1 to 32 letters, digits, - or _",
)

PARAMETER = _like(
    r"([a-z][a-z0-9_]{0,14})\.([A-Za-z0-9_]+)",
    "SCHEDULER.PARAMETER",
    "SCHEDULER.PARAMETER is expected, e.g. ecf.beta_permille",
)


def _read_value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | str):
        return str(value)
    raise ValueError("the value of a parameter is a whole number, on or off")


#: The value of a scheduler's parameter, as text.
VALUE = Reads(
    _read_value,
    {"type": ["integer", "boolean", "string"]},
    "a number, `true`, `false`, `on`, `off`",
)


def _one_or_more(item: Mapping[str, Any], **further: Any) -> dict[str, Any]:
    """The schema of a value, or of a list of such values."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1, **further}]}


def _texts(form: str) -> Callable[[object], tuple[str, ...]]:
    """Reads a text, or a list of texts; `form` is the message on anything else."""

    def read(value: object) -> tuple[str, ...]:
        texts = value if isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(form)
        return tuple(texts)

    return read


def names(what: str, most: int) -> Reads:
    """A list of different names; in a flag it is text with / between them."""

    def read(value: object) -> tuple[str, ...]:
        items = value.split(_LIST_SEPARATOR) if isinstance(value, str) else value
        if not isinstance(items, list) or not 1 <= len(items) <= most:
            raise ValueError(f"{what}: a list of 1 to {most} names is expected")
        names = tuple(NAME.read(item.strip() if isinstance(item, str) else item) for item in items)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"{twice[0]} is named twice")
        return names

    several = {"type": "array", "items": NAME.schema, "minItems": 1, "maxItems": most}
    schema = {"anyOf": [_TEXT, {**several, "uniqueItems": True}]}
    return Reads(read, schema, f"1 to {most} names")


FILE = _like(r"[^\0]+", "a file", "the name of a file is expected", schema=_TEXT)
SCHEDULER = _like(
    "[^,]*",
    "one scheduler, with parameters",
    "one scheduler is expected, e.g. roundrobin:num_segments=2",
    schema=_TEXT,
)
SCHEDULERS = Reads(
    _texts(
        'a scheduler is a name, or a list of names, e.g. ["default", "roundrobin"]; parameters '
        'follow the name, e.g. "roundrobin:num_segments=2"'
    ),
    _one_or_more(_TEXT, uniqueItems=True),
    "a scheduler, a list of them, or `all`",
)
VARY = Reads(
    _texts('a percentage, or a list of them, is expected, e.g. ["2%", "lte.rate=5%"]'),
    _one_or_more(_TEXT),
    "a percentage, at most 90 %, or a list of them",
)


def _read_cc(value: object) -> str:
    accepted = f"cc (congestion control) is {one_of(congestion.names())}"
    if not isinstance(value, str) or value.partition(":")[0].strip() not in congestion.names():
        raise ValueError(f"{accepted}{suggestion(value, congestion.names())}")
    return congestion.read(value)


CC = Reads(
    _read_cc,
    {"type": "string", "pattern": f"^({'|'.join(congestion.names())})(:[a-z0-9_]+=[a-z0-9]+)*$"},
    ", ".join(f"`{name}`" for name in congestion.names()),
)


def _each(read: Callable[[object], str], form: str) -> Callable[[object], tuple[str, ...]]:
    """Reads a value, or a list of different ones; `form` is the message on an empty list."""

    def read_all(value: object) -> tuple[str, ...]:
        values = value if isinstance(value, list) else [value]
        if not values:
            raise ValueError(form)
        found: list[str] = []
        for each in values:
            try:
                one = read(each)
            except ValueError as error:
                place = f"{shown(each)}: " if len(values) > 1 else ""
                raise ValueError(f"{place}{error}") from None
            if one in found:
                raise ValueError(f"{shown(each)} is named twice")
            found.append(one)
        return tuple(found)

    return read_all


_SEVERAL_CCS = 'cc is a name, or a list of names, e.g. ["reno", "lia"]'
CCS = Reads(_each(_read_cc, _SEVERAL_CCS), _one_or_more(CC.schema, uniqueItems=True), CC.accepted)

_SEVERAL_KERNELS = 'kernel is a name, or a list of names, e.g. ["6.12", "mine"]'
#: Reads names of kernels; which there are depends on the machine.
read_kernels = _each(_like(r"(?s:.*\S.*)", "", _SEVERAL_KERNELS).read, _SEVERAL_KERNELS)
KERNELS = Reads(
    read_kernels,
    _one_or_more({"type": "string", "minLength": 1}, uniqueItems=True),
    "a name of `mptcplab kernel list`, or a list of them",
)


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

GOP = _like(
    "I[PB]{0,599}",
    "`I`, then `P` and `B`",
    "a group of pictures is an I and up to 599 P or B, in the order of sending, e.g. IPBBPBB",
)
RATIO = _like(
    "([1-9][0-9]{0,3}):([1-9][0-9]{0,3}):([1-9][0-9]{0,3})",
    "three whole numbers, 1 to 9999",
    "the sizes of I, P and B frames are three whole numbers from 1 to 9999, e.g. 14:5:2",
    lambda found: tuple(map(int, found.groups())),
)
_BITRATE = _rate("a bitrate", "1kbit", "1gbit")
BITRATES = Reads(
    _read_bitrates,
    {"anyOf": [_TEXT, {"type": "array", "minItems": 2, "maxItems": MAX_BITRATES}]},
    f"2 to {MAX_BITRATES} rates, 1kbit to 1gbit",
    _BITRATE.unit,
)
RATE = _rate("a rate", "1kbit", "100gbit")
MIDDLEBOX = choice("a middlebox", MIDDLEBOXES)
DELAY = time("a delay", "0s", "10s")
JITTER = time("a jitter", "0s", "10s")
CROSS = _rate("a rate of cross traffic", "0bit", "100gbit")


def _fraction(what: str, highest: float, accepted: str, **limit: float) -> Reads:
    return _quantity(
        what,
        units.parse_fraction,
        (0, highest),
        f"{accepted} (1% is 0.01)",
        pattern(units.FRACTION_PATTERN),
        {"type": "number", "minimum": 0, **limit},
    )


LOSS = _fraction("a loss", MAX_LOSS, "0% to less than 100%", exclusiveMaximum=1)
PART = _fraction("a fraction", 1, "0% to 100%", maximum=1)
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
_DROPS = "[0-9]{1,10}(-[0-9]{1,10})?"


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
        if isinstance(item, bool) or not re.fullmatch(_DROPS, str(item).strip()):
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


_DROPS_SCHEMA = {
    "anyOf": [
        pattern(rf"^\s*{_DROPS}\s*(\+\s*{_DROPS}\s*)*$"),
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_DROPS,
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": MAX_DROP_NUMBER},
                    pattern(rf"^\s*{_DROPS}\s*$"),
                ]
            },
        },
    ]
}
DROPS = Reads(_read_drops, _DROPS_SCHEMA, "numbers and ranges")
QUEUE = Reads(_read_queue, _QUEUE_SCHEMA, f"{_PACKETS.accepted}, or {_BYTES.accepted}")
