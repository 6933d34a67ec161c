# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: experiments/PAPER/FIGURE.toml, read, and spelled out as runs.

A file says what is run (a scenario, and which of its values change: a grid, cases, a
space-filling design), which figures are taken of each run, how they are drawn, and what the paper
claims, as formulas over them. docs/papers.md has every key.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from mptcplab import designs, drive_settings, experiment, radio, scenario
from mptcplab.designs import MAX_POINTS, Point, Range
from mptcplab.errors import InputError, Problem
from mptcplab.formulas import Formula, FormulaError, fill, names_in
from mptcplab.literal import MAX_SEED
from mptcplab.mistakes import ABSENT, Mistakes, Place, shown, suggestion
from mptcplab.scenario import Request, Scenario
from mptcplab.scheduler import Scheduler

EXPERIMENTS_DIR = Path(__file__).parents[2] / "experiments"
#: The file of a paper that says what it is.
PAPER = "paper.toml"

# Of a table in a list: the formula that says whether it is there.
_IF = "if"
_CASE = "case"
_DRIVE = "drive.toml"


def _formula(text: str) -> str:
    Formula(text)
    return text


_Formula = Annotated[str, AfterValidator(_formula)]
_Text = Annotated[str, Field(min_length=1)]
_Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]
_Scalar = str | int | float
_Model = TypeVar("_Model", bound=BaseModel)


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Paper(_Table):
    """What a paper is, what holds for all of its figures here, and what came out of them."""

    title: _Text
    authors: _Text
    published: _Text
    setting: list[_Text] = []
    findings: list[_Text] = []


class RangeTable(_Table):
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"


class Design(_Table):
    """Points that fill the space of some ranges."""

    points: int = Field(ge=1, le=MAX_POINTS)
    seed: int = Field(ge=0, le=MAX_SEED)
    ranges: dict[_Name, RangeTable] = Field(min_length=1)


class Metric(_Table):
    """A figure of a run: a formula over its metrics, `paths`, `alone` and the axes."""

    name: _Name
    title: _Text
    unit: str = ""
    value: _Formula


class Chart(_Table):
    """How the figures are drawn; of "time" each run by itself, by `mptcplab show`."""

    kind: Literal["lines", "bars", "cdf", "time"]
    x: str = ""
    y: list[_Name] = []
    series: str = "scheduler"
    panels: str = ""


class Drive(_Table):
    """A drive past a mast, whose traces the scenario may play."""

    seed: int | _Text = 1
    settings: list[_Text] = []


class Quick(_Table):
    """What --quick runs instead; what of this is not a part of all runs is said by `says`."""

    repeat: int | None = Field(default=None, ge=1, le=10_000)
    points: int | None = Field(default=None, ge=1, le=MAX_POINTS)
    grid: dict[_Name, list[_Scalar]] = {}
    cases: list[str] | None = None
    scenario: dict[str, Any] = {}
    says: str = ""


class Figure(_Table):
    """A figure that a claim is about; `paper` is what the paper gives for it."""

    value: _Formula
    says: str = ""
    unit: str = ""
    paper: float | str | None = None


class Claim(_Table):
    """A sentence of the paper, where it stands, and when it holds; or why that cannot be told."""

    says: _Text
    place: _Text
    figures: dict[_Name, Figure] = {}
    holds: _Formula | None = None
    not_comparable: str | None = None
    explanation: str = ""


class Experiment(_Table):
    """A figure or a table of a paper."""

    title: _Text
    place: _Text
    setting: list[_Text] = []
    repeat: int = Field(default=1, ge=1, le=10_000)
    baselines: bool = False
    scenario: dict[str, Any]
    axis: dict[_Name, str] = {}
    grid: dict[_Name, list[_Scalar]] = {}
    case: list[dict[_Name, _Scalar]] = []
    design: Design | None = None
    drive: Drive | None = None
    metric: list[Metric] = Field(min_length=1)
    chart: Chart
    quick: Quick = Quick()
    claim: list[Claim] = Field(min_length=1)

    def axes(self) -> list[str]:
        """The names of what changes from run to run, besides the seed."""
        names = list(self.grid)
        if self.case:
            names.append(_CASE)
        for case in self.case:
            names += [key for key in case if key != "name" and key not in names]
        return names + list(self.design.ranges if self.design else ())

    def seed_axes(self) -> list[str]:
        """Those of the axes that are no setting, but seeds: of the drive."""
        used = names_in(str(self.drive.seed)) if self.drive else ()
        return [name for name in self.axes() if name in used]

    def points(self, *, quick: bool = False) -> list[Point]:
        """A value for each axis, for each setting that is run."""
        grid: dict[str, Sequence[Any]] = {**self.grid, **(self.quick.grid if quick else {})}
        cases = [{}] if not self.case else [_case(each) for each in self.case]
        if quick and self.quick.cases is not None:
            cases = [case for case in cases if case[_CASE] in self.quick.cases]
        space: list[Point] = [{}]
        if self.design:
            count = (self.quick.points if quick else None) or self.design.points
            ranges = {
                name: Range(each.low, each.high, each.scale)
                for name, each in self.design.ranges.items()
            }
            space = designs.sobol(ranges, count, self.design.seed)
        order = self.axes()
        return [
            {name: point[name] for name in order if name in point}
            for point in (
                {**place, **case, **combination}
                for place in space
                for case in cases
                for combination in designs.grid(grid)
            )
        ]

    def repeats(self, repeat: int | None = None, *, quick: bool = False) -> int:
        """How many seeds each setting is run with."""
        return repeat or (self.quick.repeat if quick else None) or self.repeat

    def template(self, *, quick: bool = False) -> dict[str, Any]:
        """The scenario, with formulas in it."""
        return _merged(self.scenario, self.quick.scenario) if quick else self.scenario

    def digest(self, *, quick: bool) -> str:
        """Of all that its runs depend on, but the number of seeds."""
        content = [self.template(quick=quick), self.points(quick=quick), self.baselines]
        content.append(self.drive.model_dump() if self.drive else None)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Published:
    """An experiment with its name, PAPER/FIGURE, and its paper."""

    name: str
    file: Path
    paper: Paper
    experiment: Experiment


@dataclass(frozen=True)
class Setting:
    """A point of an experiment with a seed, and its scenarios.

    `alone` are the baselines, plain TCP over a path alone, by its name.
    """

    point: Point
    seed: int
    scenario: Scenario
    alone: Mapping[str, Scenario]
    request: Request


def names(directory: Path = EXPERIMENTS_DIR) -> list[str]:
    """All experiments that there are, as PAPER/FIGURE, figure 9 before figure 10."""
    found = (
        f"{file.parent.name}/{file.stem}"
        for file in directory.glob("*/*.toml")
        if file.name != PAPER
    )
    return sorted(found, key=lambda name: re.sub(r"\d+", lambda digits: digits[0].zfill(9), name))


def chosen(wanted: Sequence[str], directory: Path = EXPERIMENTS_DIR) -> list[str]:
    """The experiments that are meant by "all", by a paper, or by their names; each once.

    Raises InputError with every name that is none.
    """
    known = names(directory)
    found: list[str] = []
    problems = []
    for word in wanted:
        group = [name for name in known if word in ("all", name, name.split("/")[0])]
        if not group:
            words = [*known, *dict.fromkeys(name.split("/")[0] for name in known), "all"]
            hint = suggestion(word, words) or "; mptcplab papers list has all"
            problems.append(Problem("papers", "", word, f"no such experiment{hint}"))
        found += group
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(found))


def load(name: str, directory: Path = EXPERIMENTS_DIR) -> Published:
    """An experiment by its name. Raises InputError with every mistake in its file."""
    file = directory / f"{name}.toml"
    paper = _read(file.parent / PAPER, Paper)
    found = _read(file, Experiment)
    _check(found, file)
    return Published(name, file, paper, found)


def settings(
    published: Published,
    known: Mapping[str, Scheduler],
    folder: Path,
    *,
    quick: bool = False,
    repeat: int | None = None,
) -> list[Setting]:
    """Every run of an experiment. `folder` is where drives are written to.

    Raises InputError, naming the file and the point, if one is no scenario.
    """
    own = published.experiment
    found = []
    for point in own.points(quick=quick):
        where = f"{published.file}, [scenario] with {_shown_point(point)}"
        try:
            table = _filled(own.template(quick=quick), point)
            place = _drive(own.drive, point, folder) if own.drive else published.file.parent
        except FormulaError as error:
            raise InputError([Problem(where, "", "", str(error))]) from None
        table["repeat"] = own.repeats(repeat, quick=quick)
        request = scenario.from_table(table, where, folder=place, known=known, single=True)
        for item in request.runs():
            alone = {}
            if own.baselines:
                one = Request(
                    item, request.schedulers, (item.cc,), 1, request.sources, request.traces
                )
                alone = {each.paths[0].name: each for each in experiment.baselines(one)}
            found.append(Setting(point, item.seed, item, alone, request))
    return found


def _case(table: Mapping[str, Any]) -> Point:
    return {_CASE: table["name"], **{key: v for key, v in table.items() if key != "name"}}


def _shown_point(point: Point) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in point.items())


def _merged(table: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The table with what another one says instead, key by key."""
    both = dict(table)
    for key, value in other.items():
        inner = both.get(key)
        both[key] = value
        if isinstance(value, dict) and isinstance(inner, dict):
            both[key] = _merged(inner, value)
    return both


def _filled(value: Any, point: Point) -> Any:
    if isinstance(value, str):
        return fill(value, point)
    if isinstance(value, dict):
        return {key: _filled(each, point) for key, each in value.items() if key != _IF}
    if isinstance(value, list):
        there = [
            each
            for each in value
            if not isinstance(each, dict) or _IF not in each or Formula(each[_IF]).value(point)
        ]
        return [_filled(each, point) for each in there]
    return value


def _drive(drive: Drive, point: Point, folder: Path) -> Path:
    """The directory of the drive of a point, written if it is not there yet."""
    seed = _filled(drive.seed, point)
    settings = [text for text in _filled(drive.settings, point) if text]
    text = json.dumps([seed, settings])
    directory = folder / f"drive-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    # drive.toml is written last
    if not (directory / _DRIVE).exists():
        for file in directory.glob("*.csv"):
            file.unlink()
        made = drive_settings.apply(radio.Drive(), settings)
        radio.write_scenario(made, int(seed), directory, settings)
    return directory


# Reading


def _read(file: Path, model: type[_Model]) -> _Model:
    mistakes = Mistakes(str(file))
    try:
        mistakes.data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError([Problem(str(file), "", "", error.strerror or str(error))]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError([Problem(str(file), "", "", f"not TOML: {error}")]) from None
    try:
        return model.model_validate(mistakes.data)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            place = tuple(step for step in found["loc"] if not _is_branch(step))
            _note(mistakes, place, found["type"], found["msg"], model)
        mistakes.stop_if_any()
        raise


def _is_branch(step: str | int) -> bool:
    """Whether pydantic named the branch of a union, not a key of the file."""
    return step in ("str", "int", "float") or "[" in str(step)


def _note(mistakes: Mistakes, place: Place, kind: str, text: str, model: type[BaseModel]) -> None:
    message = text.removeprefix("Value error, ")
    if kind == "missing":
        mistakes.add(place, "missing", ABSENT)
    elif kind == "extra_forbidden":
        accepted = list(_table_at(model, place[:-1]).model_fields)
        hint = suggestion(place[-1], accepted) or ";"
        mistakes.add(place, f"unknown key{hint} accepted here: {', '.join(accepted)}")
    else:
        mistakes.add(place, message[:1].lower() + message[1:])


def _table_at(model: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel]:
    tables: Mapping[str, type[BaseModel]] = {
        "design": Design,
        "ranges": RangeTable,
        "metric": Metric,
        "chart": Chart,
        "drive": Drive,
        "quick": Quick,
        "claim": Claim,
        "figures": Figure,
    }
    for step in reversed(place):
        if step in tables:
            return tables[str(step)]
    return model


def _check(own: Experiment, file: Path) -> None:
    """What no table can tell by itself: names that are nowhere, quick runs that are none."""
    problems: list[Problem] = []

    def wrong(key: str, value: object, message: str) -> None:
        problems.append(Problem(str(file), key, shown(value), message))

    axes = own.axes()
    metrics = [metric.name for metric in own.metric]
    for name in sorted({name for name in axes if axes.count(name) > 1} | {*axes} & {*metrics}):
        wrong("grid", name, "the name of more than one axis or metric")
    for name, title in own.axis.items():
        if name not in axes:
            wrong(f"axis.{name}", title, f"no axis; there are {', '.join(axes)}")
    for number, case in enumerate(own.case, 1):
        if "name" not in case or case.keys() != own.case[0].keys():
            wrong(f"case[{number}]", dict(case), "each case has a name, and all the same keys")
    for key, text in _texts(own.scenario, "scenario"):
        _check_names(key, text, axes, wrong, template=not key.endswith(f".{_IF}"))
    _check_chart(own, axes, metrics, wrong)
    _check_quick(own, wrong)
    for number, claim in enumerate(own.claim, 1):
        key = f"claim[{number}]"
        if (claim.holds is None) == (claim.not_comparable is None):
            wrong(key, claim.says, 'either "holds" or "not_comparable" is needed')
        known = [*axes, *metrics]
        for name, figure in claim.figures.items():
            if name in known:
                wrong(f"{key}.figures.{name}", figure.value, "an axis or metric has this name")
            _check_names(f"{key}.figures.{name}.value", figure.value, known, wrong)
            known.append(name)
        if claim.holds is not None:
            _check_names(f"{key}.holds", claim.holds, known, wrong)
    if problems:
        raise InputError(problems)


def _check_names(
    key: str, text: str, known: Sequence[str], wrong: Any, *, template: bool = False
) -> None:
    try:
        used = names_in(text) if template else Formula(text).names
    except FormulaError as error:
        wrong(key, text, str(error))
        return
    for name in sorted(set(used) - {*known, "True", "False", "None"}):
        hint = suggestion(name, known) or f"; there are {', '.join(known)}"
        wrong(key, text, f"unknown name {name}{hint}")


def _check_chart(own: Experiment, axes: Sequence[str], metrics: Sequence[str], wrong: Any) -> None:
    chart = own.chart
    needed = {"lines": ("x",), "bars": ("x",), "cdf": (), "time": ()}[chart.kind]
    for key in ("x", "series", "panels"):
        value = getattr(chart, key)
        if (value or key in needed) and value not in axes:
            wrong(f"chart.{key}", value, f"no axis; there are {', '.join(axes)}")
    for name in chart.y:
        if name not in metrics:
            wrong("chart.y", name, f"no metric; there are {', '.join(metrics)}")
    if not chart.y and chart.kind != "time":
        wrong("chart.y", ABSENT, f"missing; what is drawn, of {', '.join(metrics)}")


def _check_quick(own: Experiment, wrong: Any) -> None:
    """Quick runs are some of all, unless it is said what they are instead."""
    quick = own.quick
    for name, values in quick.grid.items():
        outside = [value for value in values if value not in own.grid.get(name, ())]
        if outside:
            key = f"quick.grid.{name}"
            wrong(key, outside[0], f"not in grid.{name}: quick runs are some of all")
    cases = [case.get("name") for case in own.case]
    for name in quick.cases or ():
        if name not in cases:
            wrong("quick.cases", name, f"no case; there are {', '.join(map(str, cases))}")
    if quick.points is not None and quick.points > (own.design.points if own.design else 0):
        wrong("quick.points", quick.points, "more than the design has")
    if quick.scenario and not quick.says:
        wrong("quick.says", ABSENT, "missing; quick runs with another scenario must say what is it")


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, f"{key}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _texts(each, f"{key}[{number}]")
