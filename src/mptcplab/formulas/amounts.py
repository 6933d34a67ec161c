# SPDX-License-Identifier: GPL-2.0-only
"""Numbers with units in formulas: `goodput >= 50mbit`, computed exactly, and refused if the units
do not fit together.

A unit is a product of bits and seconds, so that a rate times a time is a size.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import Any

from mptcplab import units
from mptcplab.formulas.formula import FormulaError
from mptcplab.mistakes import suggestion

# A number with its unit, after what must not be searched for one: texts, words, and exponents.
_TOKEN = re.compile(
    r"""(?:"[^"]*"|'[^']*'|[^\W\d]\w*|[0-9.]+[eE][+-]?[0-9]+)
      | (?P<literal>[0-9]+(?:\.[0-9]+)?(?:%|[^\W\d]+))(?!\w)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Literal:
    """A number with its unit as it was written, and what it is; a percentage is a plain number."""

    text: str
    value: Amount | float


@dataclass(frozen=True)
class Unit:
    """A unit: the exponents of bits and of seconds in it, and how many of these it is."""

    text: str
    bits: int = 0
    seconds: int = 0
    scale: Fraction = Fraction(1)


#: The units of figures, by the name that docs/metrics.md gives them.
UNITS = {
    unit.text: unit
    for unit in (
        Unit("bit/s", 1, -1),
        Unit("ms", 0, 1, Fraction(1, 1000)),
        Unit("s", 0, 1),
        Unit("bytes", 1, 0, Fraction(8)),
        Unit("1/s", 0, -1),
        Unit("packets"),
        Unit(""),
    )
}
# Values below this are floats in all units.
_MAX_VALUE = 2**1000
# How each kind of quantity is read, and in which unit.
_QUANTITIES = (
    (units.RATE, Fraction(1), UNITS["bit/s"]),
    (units.TIME, Fraction(1, units.NS_PER_S), UNITS["s"]),
    (units.SIZE, Fraction(1), UNITS["bytes"]),
)
_KINDS: Mapping[tuple[int, int], tuple[str, str, str]] = {
    (0, 0): ("a number", "", ""),
    (1, -1): ("a rate", "bit/s", "50mbit"),
    (0, 1): ("a time", "s", "200ms"),
    (1, 0): ("a size", "bytes", "64KiB"),
    (0, -1): ("a number per second", "1/s", ""),
}
# How each kind of unit is written for people: the lowest value that goes with a unit, and its text.
_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    "ms": ((1, "ms"), (1e-3, "us"), (1e-6, "ns")),
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "bytes": ((1024**2, "MiB"), (1024, "KiB"), (1, "bytes")),
}


@total_ordering
class Amount:
    """A number with its unit, as formulas compute with it.

    `value` is in `unit`. A number without a unit fits if `unit_is_known`: the name of the figure,
    such as goodput_bps, says what it is in. `seeds` are the values that a figure has in several
    runs, if that is what it is of. Raises FormulaError if it is too large.
    """

    def __init__(
        self,
        value: float | Fraction,
        unit: Unit,
        *,
        unit_is_known: bool = False,
        seeds: tuple[float, ...] = (),
    ) -> None:
        if abs(exact := Fraction(value)) >= _MAX_VALUE:
            raise FormulaError("a number too large to compute with")
        self._base = exact * unit.scale
        self.unit = unit
        self.unit_is_known = unit_is_known
        self.seeds = seeds

    @property
    def value(self) -> float:
        return float(self._base / self.unit.scale)

    @property
    def kind(self) -> str:
        """What it is, in words: a rate, a time, a size."""
        return _kind(self.unit)[0]

    def within(self, other: object) -> float:
        """Another number or amount in the unit of this one. Raises FormulaError if none fits."""
        return float(self._fitting(other) / self.unit.scale)

    def _fitting(self, other: object) -> Fraction:
        if isinstance(other, Amount):
            if _dimensions(other.unit) != _dimensions(self.unit):
                raise FormulaError(f"{self.kind} and {other.kind} do not fit together")
            return other._base
        if isinstance(other, bool) or not isinstance(other, int | float | Fraction):
            raise FormulaError(f"{self.kind} and {other!r} do not fit together")
        if self.unit_is_known or not other:
            return Fraction(other) * self.unit.scale
        example = _kind(self.unit)[2]
        hint = f", e.g. {example}" if example else ""
        raise FormulaError(f"{other!r} has no unit, where {self.kind} is expected{hint}")

    def _same(self, base: Fraction, other: object) -> Amount:
        known = self.unit_is_known and (
            not isinstance(other, Amount) or (other.unit_is_known and other.unit == self.unit)
        )
        return Amount(base / self.unit.scale, self.unit, unit_is_known=known)

    def __add__(self, other: object) -> Amount:
        return self._same(self._base + self._fitting(other), other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Amount:
        return self._same(self._base - self._fitting(other), other)

    def __rsub__(self, other: object) -> Amount:
        return -(self - other)

    def __neg__(self) -> Amount:
        return self._same(-self._base, 0)

    def __pos__(self) -> Amount:
        return self

    def __abs__(self) -> Amount:
        return self._same(abs(self._base), 0)

    def __mul__(self, other: object) -> Any:
        return self._times(other, operator.mul, 1)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        return self._times(other, operator.truediv, -1)

    def __rtruediv__(self, other: object) -> Any:
        return Amount(_number(other), UNITS[""]) / self

    def _times(
        self, other: object, applied: Callable[[Fraction, Fraction], Fraction], sign: int
    ) -> Any:
        if not isinstance(other, Amount):
            return self._same(applied(self._base, _number(other)), 0)
        bits = self.unit.bits + sign * other.unit.bits
        seconds = self.unit.seconds + sign * other.unit.seconds
        return _made(applied(self._base, other._base), bits, seconds)

    def __round__(self, digits: int | None = None) -> float:
        if _dimensions(self.unit) != (0, 0):
            example = _kind(self.unit)[2] or "1"
            raise FormulaError(f"divide {self.kind} by its unit first, e.g. {example}")
        return round(float(self._base), digits)

    def _no(self, _other: object) -> Any:
        raise FormulaError(f"{self.kind}: only + - * / and comparisons are possible")

    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _no

    def __bool__(self) -> bool:
        return bool(self._base)

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self._base == self._fitting(other)

    def __lt__(self, other: object) -> bool:
        return self._base < self._fitting(other)


def literals(text: str) -> tuple[str, dict[str, Literal]]:
    """A formula with a name in place of each number that has a unit, and these by their names.

    The units are those of scenarios (`units`): "goodput >= 50mbit", "delay_p99 <= 200ms", "5%".
    Raises FormulaError for an unknown unit.
    """
    found: dict[str, Literal] = {}

    def named(match: re.Match[str]) -> str:
        if match["literal"] is None:
            return match[0]
        name = f"number_{len(found)}_"
        while name in text:
            name += "_"
        found[name] = Literal(match["literal"], _literal(match["literal"]))
        return name

    return _TOKEN.sub(named, text), found


def text_of(value: float, unit: str) -> str:
    """A value for people, with at most four significant digits: 57.31 Mbit/s."""
    steps = _STEPS.get(unit)
    if steps is None:
        return f"{_digits(value)} {unit}".rstrip()
    scale, shown = next(((s, t) for s, t in steps if abs(value) >= s), steps[-1])
    if not value:
        scale, shown = 1, unit
    return f"{_digits(value / scale)} {shown}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _literal(text: str) -> Amount | float:
    number = text.rstrip("%") if text.endswith("%") else re.sub(r"[^\W\d]+$", "", text)
    unit = text.removeprefix(number).lower()
    try:
        if unit == "%":
            return units.parse_fraction(text)
        for kind, scale, own in _QUANTITIES:
            if unit in {each.lower() for each in kind.units}:
                return Amount(kind.parse(text) * scale, own)
        for kind, *_ in _QUANTITIES:
            if unit in kind.mistaken:
                kind.parse(text)  # its error says what is meant
    except ValueError as error:
        raise FormulaError(f"{text}: {error}") from None
    known = [*units.RATE.units, *units.TIME.units, *units.SIZE.units, "%"]
    hint = suggestion(unit, known) or f"; known: {', '.join(known)}"
    raise FormulaError(f"{text}: unknown unit{hint}")


def _made(base: Fraction, bits: int, seconds: int) -> Any:
    if not bits and not seconds:
        return float(base)
    if (bits, seconds) in _KINDS:
        unit = UNITS[_KINDS[bits, seconds][1]]
    else:
        unit = Unit(f"bit^{bits} s^{seconds}", bits, seconds)
    return Amount(base / unit.scale, unit)


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise FormulaError(f"{value!r} is not a number")
    return Fraction(value)


def _dimensions(unit: Unit) -> tuple[int, int]:
    return unit.bits, unit.seconds


def _kind(unit: Unit) -> tuple[str, str, str]:
    return _KINDS.get(_dimensions(unit), (f"an amount in {unit.text}", "", ""))
