# SPDX-License-Identifier: GPL-2.0-only
"""Quantities as users write them for `tc`, and back.

Inside the program a rate is a whole number of bits per second, a time of nanoseconds, a size of
bytes, a queue of packets; a fraction is a float from 0 to 1. Case does not matter, and a space may
precede the unit, as with `tc`. Values that cannot be represented exactly are refused, not rounded.
Every `parse_` raises ValueError, which says what is wrong and what is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

NS_PER_S = 10**9
NS_PER_MS = 10**6

# 20 digits are more than any quantity here needs, and bound the work for senseless input.
_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
_ZERO = r"0{1,20}(?:\.0{1,20})?"
_NUMBER_AND_UNIT = re.compile(rf"({_NUMBER})\s*([^\s0-9.].*)?", re.DOTALL)


@dataclass(frozen=True)
class Quantity:
    """One kind of quantity: its units as multiples of the smallest, and how to explain it.

    `name` is what messages call it.
    """

    name: str
    accepted: str
    smallest: str
    units: Mapping[str, int]
    mistaken: Mapping[str, str] = field(default_factory=dict)
    bare: bool = False

    @property
    def pattern(self) -> str:
        """A regular expression (ECMA 262, for JSON Schema) of the texts that are accepted."""
        units = "|".join(_any_case(unit) for unit in self.units)
        bare = _NUMBER if self.bare else _ZERO
        return rf"^\s*(?:{_NUMBER}\s*(?:{units})|{bare})\s*$"

    def parse(self, text: str, name: str = "") -> int:
        """The quantity in the smallest unit; `name` is another one for messages, as "a delay"."""
        accepted = f"{name or self.name} {self.accepted}"
        number, unit = _split(text, accepted)
        if not unit and number and not self.bare:
            raise ValueError(f"no unit; {accepted}")
        scales = {unit.lower(): scale for unit, scale in self.units.items()} | {"": 1}
        if not unit.isascii() or unit.lower() not in scales:
            hint = self.mistaken.get(unit.lower(), "")
            raise ValueError(f"unknown unit {unit[:12]!r}{hint}; {accepted}")
        value = number * scales[unit.lower()]
        if value.denominator != 1:
            raise ValueError(f"not a whole number of {self.smallest}; {accepted}")
        return int(value)

    def format(self, value: int) -> str:
        """The shortest text that `parse` reads as exactly `value`, a whole number and a unit.

        tc reads the same value; it truncates fractions.
        """
        if value == 0:
            return f"0{self.smallest}"
        exact = [(unit, scale) for unit, scale in self.units.items() if value % scale == 0]
        texts = [f"{value // scale}{unit}" for unit, scale in sorted(exact, key=lambda u: -u[1])]
        return min(texts, key=len)


RATE = Quantity(
    name="a rate",
    accepted="is a number with bit, kbit, mbit or gbit (per second), e.g. 50mbit",
    smallest="bit",
    units={"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9},
    mistaken={
        # tc reads "mbps" as megabytes per second, most people mean megabits: we do not guess.
        **{f"{p}bps": " (bytes per second to tc)" for p in ("", "k", "m", "g", "t")},
        **{f"{p}b": " (bits or bytes?)" for p in ("", "k", "m", "g")},
        **{f"{p}bit/s": " (leave out the /s)" for p in ("", "k", "m", "g")},
    },
)
TIME = Quantity(
    name="a time",
    accepted="is a number with ns, us, ms or s, e.g. 10ms",
    smallest="ns",
    units={"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    mistaken={
        **dict.fromkeys(("m", "min", "minutes"), " (a minute is 60s)"),
        **dict.fromkeys(("h", "hours"), " (an hour is 3600s)"),
    },
)
SIZE = Quantity(
    name="a size",
    accepted="is a number of bytes, or a number with B, KB, MB, GB, TB (1000) or "
    "KiB, MiB, GiB, TiB (1024), e.g. 64KiB",
    smallest="B",
    units={
        "B": 1,
        **{f"{p}B": 1000**n for n, p in enumerate("KMGT", 1)},
        **{f"{p}iB": 1024**n for n, p in enumerate("KMGT", 1)},
    },
    mistaken={
        **{p: f" (neither {p.upper()}B nor {p.upper()}iB)" for p in "kmgt"},
        **{f"{p}bit": " (a size is not in bits)" for p in ("", "k", "m", "g")},
    },
    bare=True,
)
_FRACTION_ACCEPTED = "it is a percentage, e.g. 0.1%"
# netem stores a probability in 32 bits (steps of 2.3e-10): a billionth is the finest step here.
_FRACTION_STEPS = 10**9
_QUEUE_ACCEPTED = "a queue is a whole number of packets, e.g. 300 or 300p, or a size, e.g. 300KB"

FRACTION_PATTERN = rf"^\s*({_NUMBER}\s*%|0+(\.0*)?)\s*$"
QUEUE_PATTERN = r"^\s*[0-9]{1,20}\s*[pP]?\s*$"


#: Bits per second of a text such as "50mbit" or "0.5mbit"; SI prefixes, as in tc.
parse_rate, format_rate = RATE.parse, RATE.format
#: Nanoseconds of a text such as "10ms" or "1.5s".
parse_time, format_time = TIME.parse, TIME.format
#: Bytes of a text such as "64KiB" (1024), "177KB" (1000), "1448B" or "1448".
parse_size, format_size = SIZE.parse, SIZE.format


def parse_fraction(text: str) -> float:
    """The fraction, from 0 to 1, of a percentage such as "0.1%", to the nearest 1e-9.

    A bare number other than 0 is refused: for tc 0.1 is a tenth of a per cent, for others 10 %.
    """
    number, unit = _split(text, _FRACTION_ACCEPTED)
    if unit == "" and number != 0:
        raise ValueError(f"no % sign; {_FRACTION_ACCEPTED}")
    if unit not in ("", "%"):
        raise ValueError(f"unknown unit {unit[:12]!r}; {_FRACTION_ACCEPTED}")
    fraction = number / 100
    if fraction > 1:
        raise ValueError(f"more than all; {_FRACTION_ACCEPTED}")
    steps = round(fraction * _FRACTION_STEPS)
    if steps == 0 and fraction > 0:
        raise ValueError("smaller than 0.0000001%, the finest step there is")
    return steps / _FRACTION_STEPS


def format_fraction(fraction: float) -> str:
    """A fraction as the shortest exact percentage, e.g. "0.1%"."""
    whole, steps = divmod(round(fraction * _FRACTION_STEPS), _FRACTION_STEPS // 100)
    return f"{whole}.{steps:07d}".rstrip("0").rstrip(".") + "%"


def parse_queue(text: str) -> int:
    """Packets of a text such as "300" or "300p"."""
    number, unit = _split(text, _QUEUE_ACCEPTED)
    if unit.lower() not in ("", "p"):
        raise ValueError(f"unknown unit {unit[:12]!r}; {_QUEUE_ACCEPTED}")
    if number.denominator != 1 or "." in text:
        raise ValueError(f"not a whole number; {_QUEUE_ACCEPTED}")
    return int(number)


def _split(text: str, accepted: str) -> tuple[Fraction, str]:
    """A number, exactly, and the unit after it ("" if there is none)."""
    text = text.strip()
    if re.match(r"[0-9]+,[0-9]", text):
        raise ValueError(f"a comma in the number; {accepted}")
    found = _NUMBER_AND_UNIT.fullmatch(text)
    if found:
        return Fraction(found[1]), found[2] or ""
    if not text:
        raise ValueError(f"empty; {accepted}")
    if re.match("[-\N{MINUS SIGN}][0-9.]", text):
        raise ValueError(f"negative; {accepted}")
    if re.match(r"[0-9.]{21}", text):
        raise ValueError(f"too many digits; {accepted}")
    raise ValueError(f"not a number; {accepted}")


def _any_case(word: str) -> str:
    return "".join(f"[{letter.lower()}{letter.upper()}]" for letter in word)


def counted(count: int, what: str) -> str:
    """How many of what, `what` being the word for one: "1 run", "2 runs"."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def duration(seconds: float) -> str:
    """A duration in words: 41 s, 12 min, 3 h 20 min, 2 days 4 h."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} days {minutes % 1440 // 60} h"
