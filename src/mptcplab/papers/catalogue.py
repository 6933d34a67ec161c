# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: reads experiments/PAPER/FIGURE.toml, and expands it into runs.

A file says what to run (a scenario, and which of its values change: a grid, cases, a space-filling
design), which figures to compute from each run, how to draw them, and what the paper claims, as
formulas over them. docs/papers.md has every key.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from mptcplab import files, resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.spec import space
from mptcplab.spec.designs import MAX_POINTS, Point
from mptcplab.spec.formulas import FormulaError, names_in
from mptcplab.spec.mistakes import ABSENT, shown, suggestion
from mptcplab.spec.space import (
    FormulaText,
    Name,
    Scalar,
    Space,
    Table,
    Text,
    check_names,
    fill_in,
    filled,
    merged,
    shown_point,
)

if TYPE_CHECKING:
    from mptcplab.spec.resolve import Request
    from mptcplab.spec.scenario import Scenario
    from mptcplab.spec.scheduler import Scheduler

#: The file that describes a paper.
PAPER = "paper.toml"

_DRIVE = "drive.toml"


class Paper(Table):
    """A paper's details, the settings that all its figures share here, and the findings."""

    title: Text
    authors: Text
    published: Text
    setting: list[Text] = Field(default=[])
    findings: list[Text] = Field(default=[])


class Metric(Table):
    """A figure of a run: a formula over its metrics, `paths`, `alone` and the axes."""

    name: Name
    title: Text
    unit: str = ""
    value: FormulaText


class Chart(Table):
    """How the figures are drawn; for "time" each run on its own, by `mptcplab show`."""

    kind: Literal["lines", "bars", "cdf", "time"]
    x: str = ""
    y: list[Name] = Field(default=[])
    series: str = "scheduler"
    panels: str = ""


class Drive(Table):
    """A drive past a mast, whose traces the scenario may play."""

    seed: int | Text = 1
    settings: list[Text] = Field(default=[])


class Quick(Table):
    """What --quick runs instead; `says` describes anything in it that is not part of all runs."""

    repeat: int | None = Field(default=None, ge=1, le=10_000)
    points: int | None = Field(default=None, ge=1, le=MAX_POINTS)
    grid: dict[Name, list[Scalar]] = Field(default={})
    cases: list[str] | None = None
    scenario: dict[str, Any] = Field(default={})
    says: str = ""


class Figure(Table):
    """A figure that a claim is about; `paper` is the paper's value."""

    value: FormulaText
    says: str = ""
    unit: str = ""
    paper: float | str | None = None


class Claim(Table):
    """A sentence of the paper, its place, and when it holds; or why that cannot be judged."""

    says: Text
    place: Text
    figures: dict[Name, Figure] = Field(default={})
    holds: FormulaText | None = None
    not_comparable: str | None = None
    explanation: str = ""


class Experiment(Space):
    """A figure or a table of a paper."""

    title: Text
    place: Text
    setting: list[Text] = Field(default=[])
    repeat: int = Field(default=1, ge=1, le=10_000)
    baselines: bool = False
    scenario: dict[str, Any]
    drive: Drive | None = None
    metric: list[Metric] = Field(min_length=1)
    chart: Chart
    quick: Quick = Quick()
    claim: list[Claim] = Field(min_length=1)

    def seed_axes(self) -> list[str]:
        """The axes that are seeds (of the drive), not settings."""
        used = names_in(str(self.drive.seed)) if self.drive else ()
        return [name for name in self.axes() if name in used]

    def points(self, *, quick: bool = False) -> list[Point]:
        """A value for each axis, for each setting that is run."""
        return self.combinations(**self._part(quick=quick))

    def runs(self, *, quick: bool = False) -> int:
        """The number of runs, without baselines."""
        return self.size(**self._part(quick=quick)) * self.repeats(quick=quick)

    def _part(self, *, quick: bool) -> dict[str, Any]:
        own = self.quick
        return {"grid": own.grid, "cases": own.cases, "count": own.points} if quick else {}

    def repeats(self, repeat: int | None = None, *, quick: bool = False) -> int:
        return repeat or (self.quick.repeat if quick else None) or self.repeat

    def template(self, *, quick: bool = False) -> dict[str, Any]:
        """The scenario, with formulas in it."""
        return merged(self.scenario, self.quick.scenario) if quick else self.scenario

    def digest(self, *, quick: bool) -> str:
        """A hash of everything that its runs depend on, except the number of seeds."""
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

    `alone` maps each path's name to its baseline, plain TCP over that path alone.
    """

    point: Point
    seed: int
    scenario: Scenario
    alone: Mapping[str, Scenario]
    request: Request


def names(directory: Path = resources.EXPERIMENTS) -> list[str]:
    """All experiments, as PAPER/FIGURE, figure 9 before figure 10."""
    found = (
        f"{file.parent.name}/{file.stem}"
        for file in directory.glob("*/*.toml")
        if file.name != PAPER
    )
    return sorted(found, key=lambda name: re.sub(r"\d+", lambda digits: digits[0].zfill(9), name))


def chosen(wanted: Sequence[str], directory: Path = resources.EXPERIMENTS) -> list[str]:
    """The experiments selected by "all", by a paper, or by their names; each once.

    Raises InputError with every unknown name.
    """
    known = names(directory)
    found: list[str] = []
    problems = []
    for word in wanted:
        group = [name for name in known if word in ("all", name, name.split("/")[0])]
        if not group:
            words = [*known, *dict.fromkeys(name.split("/")[0] for name in known), "all"]
            hint = suggestion(word, words) or "; mptcplab papers list shows all"
            problems.append(Problem("papers", "", word, f"no such experiment{hint}"))
        found += group
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(found))


def load(name: str, directory: Path = resources.EXPERIMENTS) -> Published:
    """An experiment by its name. Raises InputError with every mistake in its file."""
    file = directory / f"{name}.toml"
    paper = space.read(file.parent / PAPER, Paper, {})
    found = space.read(file, Experiment, _TABLES)
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
    """Every run of an experiment. Drives are written to `folder`.

    Raises InputError, naming the file and the point, if the scenario of a point is invalid.
    """
    from mptcplab.spec import resolve  # takes longer than to read all experiments

    own = published.experiment
    found = []
    for point in own.points(quick=quick):
        where = f"{published.file}, [scenario] with {shown_point(point)}"
        try:
            table = filled(own.template(quick=quick), point)
            place = _drive(own.drive, point, folder) if own.drive else published.file.parent
        except FormulaError as error:
            raise InputError([Problem(where, "", "", str(error))]) from None
        table["repeat"] = own.repeats(repeat, quick=quick)
        request = resolve.from_table(table, where, folder=place, known=known, single=True)
        for item in request.runs():
            alone = {}
            if own.baselines:
                one = resolve.Request(
                    item, request.schedulers, (item.cc,), 1, request.sources, request.traces
                )
                alone = {each.paths[0].name: each for each in one.baselines()}
            found.append(Setting(point, item.seed, item, alone, request))
    return found


def _drive(drive: Drive, point: Point, folder: Path) -> Path:
    """The directory of a point's drive, which is written if it does not exist."""
    from mptcplab.spec import drive_settings, radio  # both need NumPy

    seed = fill_in(drive.seed, point)
    settings = [text for text in fill_in(drive.settings, point) if text]
    text = json.dumps([seed, settings])
    directory = folder / f"drive-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if not (directory / _DRIVE).exists():
        made = drive_settings.apply(radio.Drive(), settings)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with files.new_directory(directory) as new:
                radio.write_scenario(made, int(seed), new, settings)
        except OSError as error:
            raise MptcplabError(f"cannot write {directory}: {error.strerror}") from error
    return directory


# Reading

_TABLES: Mapping[str, type[BaseModel]] = {
    "metric": Metric,
    "chart": Chart,
    "drive": Drive,
    "quick": Quick,
    "claim": Claim,
    "figures": Figure,
}


def _check(own: Experiment, file: Path) -> None:
    """What the models cannot check: unknown names, and quick runs that are not part of all runs."""
    problems: list[Problem] = []

    def wrong(key: str, value: object, message: str) -> None:
        problems.append(Problem(str(file), key, shown(value), message))

    axes = own.axes()
    metrics = [metric.name for metric in own.metric]
    space.check(own, own.scenario, metrics, wrong)
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
            check_names(f"{key}.figures.{name}.value", figure.value, known, wrong)
            known.append(name)
        if claim.holds is not None:
            check_names(f"{key}.holds", claim.holds, known, wrong)
    if problems:
        raise InputError(problems)


def _check_chart(own: Experiment, axes: Sequence[str], metrics: Sequence[str], wrong: Any) -> None:
    chart = own.chart
    needed = {"lines": ("x",), "bars": ("x",), "cdf": (), "time": ()}[chart.kind]
    for key in ("x", "series", "panels"):
        value = getattr(chart, key)
        if (value or key in needed) and value not in axes:
            wrong(f"chart.{key}", value, f"not an axis; known: {', '.join(axes)}")
    for name in chart.y:
        if name not in metrics:
            wrong("chart.y", name, f"not a metric; known: {', '.join(metrics)}")
    if not chart.y and chart.kind != "time":
        wrong("chart.y", ABSENT, f"missing; what is drawn, of {', '.join(metrics)}")


def _check_quick(own: Experiment, wrong: Any) -> None:
    """Quick runs are a part of all runs, unless `says` describes them."""
    quick = own.quick
    for name, values in quick.grid.items():
        outside = [value for value in values if value not in own.grid.get(name, ())]
        if outside:
            key = f"quick.grid.{name}"
            wrong(key, outside[0], f"not in grid.{name}: quick runs are some of all")
    cases = [case.get("name") for case in own.case]
    for name in quick.cases or ():
        if name not in cases:
            wrong("quick.cases", name, f"not a case; known: {', '.join(map(str, cases))}")
    if quick.points is not None and quick.points > (own.design.points if own.design else 0):
        wrong("quick.points", quick.points, "more than the design has")
    if quick.scenario and not quick.says:
        wrong(
            "quick.says", ABSENT, "missing; quick runs with another scenario must say what they are"
        )
