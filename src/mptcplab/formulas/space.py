# SPDX-License-Identifier: GPL-2.0-only
"""What varies from run to run, as written in the files of sweeps and published experiments.

A space has axes, in a grid, in cases, and in a design that fills ranges. A point has a value
for each. A scenario is a template: formulas in braces are filled in with the values of a point, and
an axis with dots in its name, such as path.lte.delay, sets that key. docs/sweep.md explains it all.
"""

from __future__ import annotations

import copy
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from mptcplab.formulas import designs
from mptcplab.formulas.designs import MAX_POINTS, Kind, Point, Range
from mptcplab.formulas.formula import Formula, FormulaError, fill, names_in
from mptcplab.mistakes import ABSENT, shown, suggestion
from mptcplab.scenario.limits import MAX_SEED

# The key of a table in a list whose formula says whether the table is included.
IF = "if"
CASE = "case"
# A scenario has one; a template may have several, each with `if`.
_WORKLOAD = "workload"
#: More settings than a machine runs in weeks, so there must be a mistake in the axes.
MAX_SETTINGS = 1_000_000
_STEPS = ("start", "stop", "step", "count", "scale")
_NUMBER = re.compile(r"([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)\s*([A-Za-z%]*)")


def _formula(text: str) -> str:
    Formula(text)
    return text


FormulaText = Annotated[str, AfterValidator(_formula)]
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
Scalar = str | int | float


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RangeTable(Table):
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    scale: Literal["linear", "log"] = "linear"


class Design(Table):
    """Points that fill a space of ranges."""

    kind: Kind = "sobol"
    points: int = Field(ge=1, le=MAX_POINTS)
    seed: int = Field(default=1, ge=0, le=MAX_SEED)
    ranges: dict[Name, RangeTable] = Field(min_length=1)


def _spelled_out(value: object) -> object:
    """The values of an axis: a list as it is, or from a table with their range and spacing."""
    if not isinstance(value, dict):
        return value
    unknown = [key for key in value if key not in _STEPS]
    if unknown:
        raise ValueError(f"unknown key {unknown[0]}; accepted here: {', '.join(_STEPS)}")
    if "start" not in value or "stop" not in value or ("step" in value) == ("count" in value):
        raise ValueError('a range has "start", "stop", and either "count" or "step"')
    return values_between(*(value.get(key) for key in _STEPS))


def values_between(start: Any, stop: Any, step: Any, count: Any, scale: Any = None) -> list[Any]:
    """The values of an axis from `start` to `stop`, numbers or texts with a unit.

    Raises ValueError if the range is invalid.
    """
    low, high = (_with_unit(value) for value in (start, stop))
    unit = high[1]
    if low[1] not in ("", unit) and not (low[0] == 0 and low[1] == ""):
        raise ValueError(f"from {start} to {stop}: both ends need the same unit")
    if scale not in (None, "linear", "log"):
        raise ValueError(f'scale = {shown(scale)}: accepted is "linear" or "log"')
    between = Range(low[0], high[0], scale or "linear")
    if scale == "log" and (min(between.low, between.high) <= 0 or step is not None):
        raise ValueError("a logarithmic range has both ends above 0, and a count")
    if count is not None:
        if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MAX_POINTS:
            raise ValueError(f"count = {shown(count)}: a whole number from 2 to {MAX_POINTS}")
        numbers = designs.spread(between, count)
    else:
        size, own = _with_unit(step)
        if own not in ("", unit) or size <= 0 or between.high < between.low:
            raise ValueError(f"step = {shown(step)}: more than 0, in {unit or 'no unit'}, upwards")
        if (between.high - between.low) / size > MAX_POINTS:
            raise ValueError(f"step = {shown(step)}: more than {MAX_POINTS} values")
        numbers = designs.stepped(between, size)
    whole = [int(number) if number.is_integer() else number for number in numbers]
    return [f"{number}{unit}" for number in whole] if unit else list(whole)


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """The axis of a flag: KEY=VALUE,VALUE or KEY=START..STOP:COUNT, :logCOUNT or :+STEP.

    Raises ValueError.
    """
    form = (
        "a swept value is KEY=VALUE,VALUE,..., as path.lte.delay=10ms,20ms, or "
        "KEY=START..STOP:COUNT, :logCOUNT or :+STEP, as path.lte.delay=10ms..160ms:log5"
    )
    key, equals, spec = text.partition("=")
    if not equals or not key.strip() or not spec.strip():
        raise ValueError(form)
    found = re.fullmatch(r"(.+?)\.\.(.+):(?:(log)?([0-9]+)|\+(.+))", spec.strip())
    if not found:
        values = [value.strip() for value in spec.split(",")]
        if ".." in spec or not all(values):
            raise ValueError(form)
        return key.strip(), values
    start, stop, scale, count, step = found.groups()
    return key.strip(), values_between(start, stop, step, count and int(count), scale)


def _with_unit(value: Any) -> tuple[float, str]:
    found = _NUMBER.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    try:
        if found and math.isfinite(number := float(found[1])):
            return number, found[2]
    except ValueError:
        pass
    raise ValueError(f"{shown(value)} is not a number, with a unit or without")


#: The name of an axis in formulas, or the key of a scenario that it sets.
AxisName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[A-Za-z0-9_*-]+)*$")]
Values = Annotated[list[Scalar], BeforeValidator(_spelled_out), Field(min_length=1)]


class Space(Table):
    """The axes, and which of their combinations are left out."""

    axis: dict[AxisName, str] = {}
    grid: dict[AxisName, Values] = {}
    case: list[dict[Name, Scalar]] = []
    design: Design | None = None
    where: FormulaText | None = None

    def axes(self) -> list[str]:
        """The names of what varies from run to run, besides scheduler, cc and seed."""
        names = list(self.grid)
        if self.case:
            names.append(CASE)
        for case in self.case:
            names += [key for key in case if key != "name" and key not in names]
        return names + list(self.design.ranges if self.design else ())

    def combinations(
        self, *, grid: Mapping[str, Sequence[Any]] | None = None, count: int | None = None
    ) -> list[Point]:
        """A value for each axis, for each setting to run; the arguments select some of them.

        Raises FormulaError if `where` has no value at a point.
        """
        space: list[Point] = [{}]
        if self.design:
            own = self.design
            ranges = {n: Range(each.low, each.high, each.scale) for n, each in own.ranges.items()}
            space = designs.fill(own.kind, ranges, count or own.points, own.seed)
        order = self.axes()
        where = None if self.where is None else Formula(self.where)
        found = (
            {name: point[name] for name in order if name in point}
            for point in (
                {**place, **case, **combination}
                for place in space
                for case in self._cases()
                for combination in designs.grid({**self.grid, **(grid or {})})
            )
        )
        return [point for point in found if where is None or where.value(point)]

    def size(
        self, *, grid: Mapping[str, Sequence[Any]] | None = None, count: int | None = None
    ) -> int:
        """The number of combinations; quick to compute unless `where` excludes some."""
        if self.where is not None:
            return len(self.combinations(grid=grid, count=count))
        places = (count or self.design.points) if self.design else 1
        axes = {**self.grid, **(grid or {})}.values()
        return places * len(self._cases()) * math.prod(map(len, axes))

    def _cases(self) -> list[Point]:
        """The cases; a single empty one if there are none."""
        return [_case(each) for each in self.case] or [{}]


def filled(
    template: Mapping[str, Any], point: Point, also: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The scenario at a point. Raises FormulaError if a formula has no value or a key no table.

    `also` has further names for formulas; unlike those of axes, none of them sets a key.
    """
    table = copy.deepcopy(fill_in(template, {**(also or {}), **point}))
    assert isinstance(table, dict)
    if isinstance(loads := table.get(_WORKLOAD), list):
        if len(loads) != 1:
            where = f"{len(loads)} of its tables apply where {shown_point(point)}"
            raise FormulaError(f"{_WORKLOAD}: {where}; one is expected")
        table[_WORKLOAD] = loads[0]
    for name, value in point.items():
        if "." in name or (name in _SETTABLE and name not in used(template)):
            _put(table, name, value)
    return table


# Names without a dot that are set nevertheless; they are at the top of the scenario.
_SETTABLE = (
    *("scheduler", "cc", "kernel", "transport", "send_buffer", "receive_buffer"),
    *("sample_interval", "endpoints", "blackhole_timeout"),
)


def used(template: Mapping[str, Any]) -> set[str]:
    """The names that the formulas of a template use."""
    found: set[str] = set()
    for key, text in texts(template, ""):
        found.update(Formula(text).names if key.endswith(f".{IF}") else names_in(text))
    return found


def settable(space: Space) -> set[str]:
    """The names of axes that work without a formula in the template: keys and cases."""
    case_names = {CASE, *(key for case in space.case for key in case)}
    conditions = Formula(space.where).names if space.where else ()
    return {*_SETTABLE, *case_names, *conditions}


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a key of a scenario; in a list a table is selected by name or number, * for all."""
    *steps, last = key.split(".")
    homes: list[Any] = [table]
    for number, step in enumerate(steps):
        inner: list[Any] = []
        for home in homes:
            if isinstance(home, list):
                inner += [
                    each
                    for index, each in enumerate(home, 1)
                    if isinstance(each, dict)
                    and step in ("*", str(index), each.get("name", str(index)))
                ]
            elif isinstance(home, dict):
                inner.append(home.setdefault(step, {}))
        if not inner or not all(isinstance(each, dict | list) for each in inner):
            place = ".".join(steps[: number + 1])
            known = [str(each.get("name", "")) for home in homes if isinstance(home, list)
                     for each in home if isinstance(each, dict)]  # fmt: skip
            there = f"; known: {', '.join(filter(None, known))}" if any(known) else ""
            raise FormulaError(f"{key}: the scenario has no {place}{there}")
        homes = inner
    for home in homes:
        if not isinstance(home, dict):
            raise FormulaError(f"{key}: not the key of a table; a list needs a name, or *")
        home[last] = value


def merged(table: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the values of another one replacing its own, key by key."""
    both = dict(table)
    for key, value in other.items():
        inner = both.get(key)
        both[key] = value
        if isinstance(value, dict) and isinstance(inner, dict):
            both[key] = merged(inner, value)
    return both


def overridden(template: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The template with the keys of another table; a key with dots sets one that is deeper, as the
    axis path.lte.delay does. Raises FormulaError if there is no such table.
    """
    table = copy.deepcopy(merged(template, {k: v for k, v in other.items() if "." not in k}))
    for key, value in other.items():
        if "." in key:
            _put(table, key, copy.deepcopy(value))
    return table


def shown_point(point: Point) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in point.items())


def _case(table: Mapping[str, Any]) -> Point:
    return {CASE: table["name"], **{key: v for key, v in table.items() if key != "name"}}


def fill_in(value: Any, point: Point) -> Any:
    """A value with its formulas filled in. Raises FormulaError."""
    if isinstance(value, str):
        return fill(value, point)
    if isinstance(value, dict):
        return {key: fill_in(each, point) for key, each in value.items() if key != IF}
    if isinstance(value, list):
        return [fill_in(each, point) for each in value if _is_there(each, point)]
    return value


def _is_there(item: Any, point: Point) -> bool:
    condition = item.get(IF, True) if isinstance(item, dict) else True
    if isinstance(condition, str):
        return bool(Formula(condition).value(point))
    if not isinstance(condition, bool):
        raise FormulaError(f"{IF} = {shown(condition)}: a formula, as text, is expected")
    return condition


# Checks


class Wrong(Protocol):
    """Called for a mistake: the key, its value, and what is wrong with it."""

    def __call__(self, key: str, value: object, message: str) -> None: ...


def check(
    space: Space,
    template: Mapping[str, Any],
    taken: Sequence[str],
    wrong: Wrong,
    also: Sequence[str] = (),
) -> None:
    """What the models cannot check: unknown names, names used twice or `taken`, and values twice.

    Formulas of the template may use the names in `also`, besides the axes.
    """
    axes = space.axes()
    for name in sorted({name for name in axes if axes.count(name) > 1} | {*axes} & {*taken}):
        wrong("grid", name, "the name of more than one axis, metric or assumed value")
    for name, values in space.grid.items():
        for value, count in Counter(values).items():
            if count > 1:
                wrong(f"grid.{name}", value, "named twice")
    for name, title in space.axis.items():
        if name not in axes:
            wrong(f"axis.{name}", title, f"not an axis; known: {', '.join(axes)}")
    for number, case in enumerate(space.case, 1):
        if "name" not in case or case.keys() != space.case[0].keys():
            wrong(f"case[{number}]", dict(case), "each case has a name, and all the same keys")
    for name, each in (space.design.ranges if space.design else {}).items():
        if each.scale == "log" and min(each.low, each.high) <= 0:
            wrong(f"design.ranges.{name}", each.low, "a logarithmic range has both ends above 0")
    points = space.design.points if space.design else 1
    count = math.prod(map(len, space.grid.values())) * max(len(space.case), 1) * points
    if count > MAX_SETTINGS:
        wrong("grid", ABSENT, f"{count} settings; at most {MAX_SETTINGS} are possible")
    for key, text in texts(template, "scenario"):
        check_names(key, text, [*axes, *also], wrong, template=not key.endswith(f".{IF}"))
    if space.where is not None:
        check_names("where", space.where, axes, wrong)


def check_names(
    key: str, text: str, known: Sequence[str], wrong: Wrong, *, template: bool = False
) -> None:
    """Report unknown names in a formula, or in a text with formulas."""
    try:
        used = names_in(text) if template else Formula(text).names
    except FormulaError as error:
        wrong(key, text, str(error))
        return
    for name in sorted(set(used) - {*known, "True", "False", "None"}):
        hint = suggestion(name, known) or f"; known: {', '.join(known)}"
        wrong(key, text, f"unknown name {name}{hint}")


def texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """All texts in a table, with their keys."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from texts(each, f"{key}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from texts(each, f"{key}[{number}]")
