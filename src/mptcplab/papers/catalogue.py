# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: reads experiments/PAPER/FIGURE.toml, and expands it into runs.

A file says what to run (a scenario, and which of its values change: a grid, cases, a space-filling
design), in which variants, which figures to compute from each run, how to draw them, and what the
paper claims, as formulas over them. docs/papers.md has every key.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from mptcplab import files, resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.formulas import space
from mptcplab.formulas.designs import MAX_POINTS, Point
from mptcplab.formulas.formula import Formula, FormulaError, names_in
from mptcplab.formulas.space import (
    FormulaText,
    Name,
    Scalar,
    Space,
    Table,
    Text,
    Wrong,
    check_names,
    fill_in,
    filled,
    overridden,
    shown_point,
    texts,
)
from mptcplab.mistakes import ABSENT, shown, suggestion
from mptcplab.scenario import toml_file

if TYPE_CHECKING:
    from mptcplab.scenario.model import Scenario
    from mptcplab.scenario.resolve import Request
    from mptcplab.scenario.scheduler import Scheduler

#: The file that describes a paper.
PAPER = "paper.toml"

#: The parts of an experiment that each has; variants and assumed values add parts of their own.
PUBLISHED, QUICK = "published", "published-quick"
#: The variant with today's defaults.
TODAY = "today"
#: What is fewer than this is no sample of anything.
MIN_SAMPLES = 5
#: A quotation is a sentence, not a page.
MAX_QUOTED_WORDS = 40

_DRIVE = "drive.toml"
#: The keyword of a formula's functions that selects the runs of another part.
OF_VARIANT = "variant"
# The key of a scenario that makes seeds independent samples, unless its value means "none".
_RANDOM = ("vary", "loss", "jitter", "duplicate", "reorder", "cross", "preset", "random")
_NONE: tuple[Any, ...] = (False, 0, "", None)
# "0%", "0.0ms", or "router1.rate=0%"
_NOTHING = re.compile(r"(?:[^=]*=)?0+(?:\.0*)?[a-z%]*")


class HeadlineFigure(Table):
    """A figure in a headline: a formula over the runs of one of the paper's experiments, `of`."""

    of: Text
    value: FormulaText
    unit: str = ""


class Headline(Table):
    """A sentence of the summary, with `{NAME}` for its figures, and the claim it is about.

    The claim is "FIGURE:NAME"; the verdict on it stands behind the sentence.
    """

    says: Text
    claim: str = ""
    figures: dict[Name, HeadlineFigure] = Field(default={})


class Paper(Table):
    """A paper's details, and the settings that all its figures share here."""

    title: Text
    authors: Text
    published: Text
    setting: list[Text] = Field(default=[])
    headline: list[Headline] = Field(default=[])


class Metric(Table):
    """A figure of a run: a formula over its metrics, `paths`, `alone` and the axes."""

    name: Name
    title: Text
    unit: str = ""
    value: FormulaText


class Chart(Table):
    """How the figures are drawn.

    For "time" it is a run of each series in each panel; `at` says which, by values of other axes.
    """

    kind: Literal["lines", "bars", "cdf", "time"]
    x: str = ""
    y: list[Name] = Field(default=[])
    series: str = "scheduler"
    panels: str = ""
    at: dict[Name, Scalar] = Field(default={})


class Drive(Table):
    """A drive past a mast, whose traces the scenario may play."""

    seed: int | Text = 1
    settings: list[Text] = Field(default=[])


class Quick(Table):
    """What --quick runs instead; `says` describes anything in it that is not part of all runs."""

    points: int | None = Field(default=None, ge=1, le=MAX_POINTS)
    grid: dict[Name, list[Scalar]] = Field(default={})
    scenario: dict[str, Any] = Field(default={})
    says: str = ""


class Assumed(Table):
    """A value that the paper does not give, by the name that formulas in the scenario use.

    Each value of `range` is a part of the experiment. `fitted` names the result that the value
    was chosen for: claims about it are `fitted_by` the value, and not judged.
    """

    name: Name
    value: Scalar
    because: Text
    range: list[Scalar] = Field(default=[])
    fitted: str = ""


class Variant(Table):
    """Other settings for the quick part: `says` describes the difference."""

    name: Text
    says: Text
    scenario: dict[str, Any] = Field(default={})
    grid: dict[Name, list[Scalar]] = Field(default={})


class Reported(Table):
    """A number of the paper; `read_off` its figure, or from its text or a table."""

    metric: Name
    at: dict[Name, Scalar] = Field(default={})
    value: float
    read_off: bool


class ClaimFigure(Table):
    """A figure that a claim is about; `paper` is the paper's value."""

    value: FormulaText
    says: str = ""
    unit: str = ""
    paper: float | str | None = None


class Because(Table):
    """Why a claim does not hold, or holds: shown as long as the formula `shown_by` is true."""

    says: Text
    shown_by: FormulaText
    figures: dict[Name, ClaimFigure] = Field(default={})


class Claim(Table):
    """A sentence of the paper, its place, and when it holds; or why that cannot be tested.

    `holds` is about the number, or the direction with its size; `direction` about that alone.
    """

    name: str = Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")
    quote: Text
    place: Text
    says: Text
    figures: dict[Name, ClaimFigure] = Field(default={})
    holds: FormulaText | None = None
    direction: FormulaText | None = None
    not_testable: Text | None = None
    fitted_by: list[Name] = Field(default=[])
    because: list[Because] = Field(default=[])


class Experiment(Space):
    """A figure or a table of a paper.

    Its runs come in parts: the published setting, the quick part of it, and the same quick part of
    each variant and of each other value that was assumed.
    """

    title: Text
    place: Text
    setting: list[Text] = Field(default=[])
    repeat: int = Field(default=1, ge=1, le=10_000)
    baselines: bool = False
    scenario: dict[str, Any]
    drive: Drive | None = None
    assumed: list[Assumed] = Field(default=[])
    metric: list[Metric] = Field(min_length=1)
    chart: Chart
    quick: Quick = Quick()
    variant: list[Variant] = Field(default=[])
    claim: list[Claim] = Field(min_length=1)
    reported: list[Reported] = Field(default=[])

    def seed_axes(self) -> list[str]:
        """The axes that are seeds (of the drive), not settings."""
        used = names_in(str(self.drive.seed)) if self.drive else ()
        return [name for name in self.axes() if name in used]

    def sensitivity(self) -> dict[str, list[str]]:
        """The parts that show how much depends on each assumed value."""
        return {
            own.name: [f"{own.name}={value}" for value in own.range]
            for own in self.assumed
            if own.range
        }

    def variants(self) -> list[str]:
        """The names of all parts besides the published setting and its quick part."""
        of_assumed = itertools.chain.from_iterable(self.sensitivity().values())
        return [*(variant.name for variant in self.variant), *of_assumed]

    def parts(self) -> list[str]:
        return [PUBLISHED, QUICK, *self.variants()]

    def part(self, name: str) -> Part:
        """A part by its name, which must be one of `parts()`."""
        assumed: dict[str, Any] = {own.name: own.value for own in self.assumed}
        if name == PUBLISHED:
            return Part(self, name, "", self.scenario, assumed, {})
        quick = self.quick
        template = overridden(self.scenario, quick.scenario)
        chosen: dict[str, Any] = {"grid": quick.grid, "count": quick.points}
        if name == QUICK:
            return Part(self, name, quick.says, template, assumed, chosen)
        for variant in self.variant:
            if variant.name == name:
                template = overridden(template, variant.scenario)
                chosen["grid"] = {**quick.grid, **variant.grid}
                return Part(self, name, variant.says, template, assumed, chosen)
        for own in self.assumed:
            for value in own.range:
                if name == f"{own.name}={value}":
                    says = f"{own.name} = {value} instead of {own.value}"
                    assumed = {**assumed, own.name: value}
                    return Part(self, name, says, template, assumed, chosen)
        raise KeyError(name)

    def axis_values(self) -> dict[str, dict[str, Any]]:
        """The values of each axis in all parts, by how they are written."""
        found: dict[str, dict[str, Any]] = {name: {} for name in self.axes()}
        for name in self.parts():
            for point in self.part(name).points():
                for axis, value in point.items():
                    found[axis][str(value)] = value
        return found


@dataclass(frozen=True)
class Part:
    """Runs of an experiment that belong together: the scenario, and where in its space.

    `assumed` has the values of assumed names.
    """

    experiment: Experiment
    name: str
    says: str
    template: Mapping[str, Any]
    assumed: Mapping[str, Any]
    chosen: Mapping[str, Any]

    def points(self) -> list[Point]:
        """A value for each axis, for each setting that is run."""
        return self.experiment.combinations(**self.chosen)

    def runs(self) -> int:
        """The number of runs, without baselines."""
        return self.experiment.size(**self.chosen) * self.experiment.repeat

    def is_random(self) -> bool:
        """Whether seeds, or the points of a design, are independent samples."""
        own = self.experiment
        return bool(own.design or own.seed_axes()) or any(
            _is_random(self.template, {**self.assumed, **point}) for point in self.points()
        )

    def _used(self) -> set[str]:
        """The names that formulas of the scenario and of the drive use."""
        drive = self.experiment.drive
        texts = (str(drive.seed), *drive.settings) if drive else ()
        return space.used(self.template).union(*map(names_in, texts))

    def digest(self) -> str:
        """A hash of everything that its runs depend on, except the number of seeds."""
        own = self.experiment
        content: list[Any] = [self.template, self.points(), own.baselines]
        content.append(own.drive.model_dump() if own.drive else None)
        if assumed := {name: self.assumed[name] for name in self.assumed if name in self._used()}:
            content.append(assumed)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def slug(part: str) -> str:
    """The name of a part in a file name: "buffer 1 MB" is "buffer-1-mb"."""
    if part in (PUBLISHED, QUICK):
        return "" if part == PUBLISHED else "quick"
    return re.sub(r"[^a-z0-9=._]+", "-", part.lower()).strip("-.")


@dataclass(frozen=True)
class Published:
    """An experiment with its name, PAPER/FIGURE, and its paper."""

    name: str
    file: Path
    paper: Paper
    experiment: Experiment


@dataclass(frozen=True)
class SeededPoint:
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
    paper = toml_file.model_of(file.parent / PAPER, Paper)
    found = toml_file.model_of(file, Experiment)
    _check(found, file)
    return Published(name, file, paper, found)


def settings(
    published: Published,
    known: Mapping[str, Scheduler],
    folder: Path,
    *,
    part: str = PUBLISHED,
    repeat: int | None = None,
) -> list[SeededPoint]:
    """Every run of a part of an experiment. Drives go to `folder`.

    Raises InputError, naming the file and the point, if the scenario of a point is invalid.
    """
    from mptcplab.scenario import resolve  # takes longer than to read all experiments

    own = published.experiment
    chosen = own.part(part)
    of_part = "" if part in (PUBLISHED, QUICK) else f" of {part}"
    found = []
    for point in chosen.points():
        where = f"{published.file}, [scenario]{of_part} with {shown_point(point)}"
        names = {**chosen.assumed, **point}
        try:
            table = filled(chosen.template, point, chosen.assumed)
            place = _drive(own.drive, names, folder) if own.drive else published.file.parent
        except FormulaError as error:
            raise InputError([Problem(where, "", "", str(error))]) from None
        table["repeat"] = repeat or own.repeat
        request = resolve.from_table(table, where, folder=place, known=known, single=True)
        for item in request.runs():
            alone = {}
            if own.baselines:
                one = resolve.Request(
                    item, request.schedulers, (item.cc,), 1, request.sources, request.traces
                )
                alone = {each.paths[0].name: each for each in one.baselines()}
            found.append(SeededPoint(point, item.seed, item, alone, request))
    return found


def _drive(drive: Drive, point: Point, folder: Path) -> Path:
    """The directory of a point's drive, which is written if it does not exist."""
    from mptcplab.traces import drive_settings, radio  # both need NumPy

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


def _check(own: Experiment, file: Path) -> None:
    """Checks beyond the models: unknown names, and quick runs that are no part of all runs."""
    problems: list[Problem] = []

    def wrong(key: str, value: object, message: str) -> None:
        problems.append(Problem(str(file), key, shown(value), message))

    axes = own.axes()
    metrics = [metric.name for metric in own.metric]
    assumed = [each.name for each in own.assumed]
    space.check(own, own.scenario, [*metrics, *assumed], wrong, also=assumed)
    _check_chart(own, axes, metrics, wrong)
    _check_quick(own, wrong)
    _check_assumed(own, wrong)
    _check_variants(own, file, wrong)
    for number, claim in enumerate(own.claim, 1):
        _check_claim(own, f"claim[{number}]", claim, wrong)
    for name, count in Counter(claim.name for claim in own.claim).items():
        if count > 1:
            wrong("claim", name, "the name of more than one claim")
    for number, reported in enumerate(own.reported, 1):
        key = f"reported[{number}]"
        if reported.metric not in metrics:
            wrong(f"{key}.metric", reported.metric, f"not a metric; known: {', '.join(metrics)}")
        for name in reported.at:
            if name not in axes:
                wrong(f"{key}.at.{name}", reported.at[name], f"not an axis; known: {_list(axes)}")
    if problems:
        raise InputError(problems)


def _check_claim(own: Experiment, key: str, claim: Claim, wrong: Wrong) -> None:
    if (claim.holds is None) == (claim.not_testable is None):
        wrong(key, claim.says, 'either "holds" or "not_testable" is needed')
    if claim.direction is not None and claim.holds is None:
        wrong(f"{key}.direction", claim.direction, 'missing beside it: "holds"')
    if len(claim.quote.split()) > MAX_QUOTED_WORDS:
        wrong(f"{key}.quote", claim.quote, f"more than {MAX_QUOTED_WORDS} words")
    fitted = [each.name for each in own.assumed if each.fitted]
    for name in claim.fitted_by:
        if name not in fitted:
            hint = suggestion(name, fitted) or f"; known: {_list(fitted)}"
            wrong(f"{key}.fitted_by", name, f"no assumed value that is fitted{hint}")
    known = [*own.axes(), *(metric.name for metric in own.metric)]
    known += _check_figures(own, f"{key}.figures", claim.figures, known, wrong)
    for place, text in (("holds", claim.holds), ("direction", claim.direction)):
        if text is not None:
            _check_formula(own, f"{key}.{place}", text, known, wrong)
    for number, because in enumerate(claim.because, 1):
        place = f"{key}.because[{number}]"
        more = _check_figures(own, f"{place}.figures", because.figures, known, wrong)
        _check_formula(own, f"{place}.shown_by", because.shown_by, [*known, *more], wrong)


def _check_figures(
    own: Experiment,
    place: str,
    figures: Mapping[str, ClaimFigure],
    known: Sequence[str],
    wrong: Wrong,
) -> list[str]:
    """The names of figures, each of which can use those before it."""
    names: list[str] = []
    for name, figure in figures.items():
        if name in known:
            wrong(f"{place}.{name}", figure.value, "an axis, metric or figure has this name")
        _check_formula(own, f"{place}.{name}.value", figure.value, [*known, *names], wrong)
        names.append(name)
    return names


def _check_formula(
    own: Experiment, place: str, text: str, known: Sequence[str], wrong: Wrong
) -> None:
    check_names(place, text, known, wrong)
    if OF_VARIANT not in text:
        return
    for name in Formula(text).constants(OF_VARIANT) - {*own.parts()}:
        if name is None:
            wrong(place, text, f"{OF_VARIANT}= is the name of a variant, in quotes")
            continue
        hint = suggestion(name, own.parts()) or f"; known: {_list(own.parts())}"
        wrong(place, text, f"no variant {shown(name)}{hint}")


def _check_assumed(own: Experiment, wrong: Wrong) -> None:
    if not own.assumed:
        return
    templates = [own.scenario, own.quick.scenario, *(each.scenario for each in own.variant)]
    drive = (str(own.drive.seed), *own.drive.settings) if own.drive else ()
    used: set[str] = set()
    with contextlib.suppress(FormulaError):  # these are reported where they are
        used = used.union(*map(space.used, templates), *map(names_in, drive))
    for number, each in enumerate(own.assumed, 1):
        key = f"assumed[{number}]"
        if each.name not in used:
            wrong(f"{key}.name", each.name, "no formula in [scenario] uses it")
        if each.value in each.range:
            wrong(f"{key}.range", each.value, "the value itself; only others are in its range")
    for name, count in Counter(each.name for each in own.assumed).items():
        if count > 1:
            wrong("assumed", name, "the name of more than one assumed value")


def _check_variants(own: Experiment, file: Path, wrong: Wrong) -> None:
    """Names that are files of their own, keys that the grid has, and formulas with known names."""
    slugs = Counter(map(slug, own.parts()))
    for name in own.variants():
        if slugs[slug(name)] > 1 or not slug(name) or name in (PUBLISHED, QUICK):
            wrong("variant", name, "another part has this name, or one that is too similar")
        if (other := file.with_name(f"{file.stem}-{slug(name)}{file.suffix}")).exists():
            wrong("variant", name, f"the name that the runs of {other.name} have")
    known = [*own.axes(), *(each.name for each in own.assumed)]
    scenarios = {"quick.scenario": own.quick.scenario}
    for number, variant in enumerate(own.variant, 1):
        scenarios[f"variant[{number}].scenario"] = variant.scenario
        for name, values in variant.grid.items():
            if name not in own.grid:
                wrong(f"variant[{number}].grid.{name}", values, f"not in grid; {_list(own.grid)}")
            elif not values:
                wrong(f"variant[{number}].grid.{name}", values, "a value at least is expected")
        try:
            own.part(variant.name)
        except FormulaError as error:
            wrong(f"variant[{number}].scenario", variant.name, str(error))
    for key, scenario in scenarios.items():
        for place, text in texts(scenario, key):
            check_names(place, text, known, wrong, template=not place.endswith(f".{space.IF}"))


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _is_random(value: Any, names: Point) -> bool:
    """Whether a part of a scenario draws anything from the seed, with these values of names."""
    if isinstance(value, dict):
        return any(
            _is_random(each, names)
            or (key.rpartition(".")[2] in _RANDOM and not _is_none(fill_in(each, names)))
            for key, each in value.items()
        )
    return isinstance(value, list) and any(_is_random(each, names) for each in value)


def _is_none(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_none, value))
    return value in _NONE or (isinstance(value, str) and _NOTHING.fullmatch(value) is not None)


def _check_chart(
    own: Experiment, axes: Sequence[str], metrics: Sequence[str], wrong: Wrong
) -> None:
    chart = own.chart
    needed = {"lines": ("x",), "bars": ("x",), "cdf": (), "time": ()}[chart.kind]
    for key in ("x", "series", "panels"):
        value = getattr(chart, key)
        if (value or key in needed) and value not in axes:
            wrong(f"chart.{key}", value, f"not an axis; known: {', '.join(axes)}")
    if chart.at and chart.kind != "time":
        wrong("chart.at", chart.at, 'only a chart of kind "time" draws single runs')
    values = own.axis_values() if chart.at else {}
    for name, value in chart.at.items():
        if name not in axes:
            wrong(f"chart.at.{name}", value, f"not an axis; known: {_list(axes)}")
        elif str(value) not in values[name]:
            wrong(f"chart.at.{name}", value, f"not on this axis; it has {_list(values[name])}")
    for name in chart.y:
        if name not in metrics:
            wrong("chart.y", name, f"not a metric; known: {', '.join(metrics)}")
    if not chart.y and chart.kind != "time":
        wrong("chart.y", ABSENT, f"missing; what is drawn, of {', '.join(metrics)}")


def _check_quick(own: Experiment, wrong: Wrong) -> None:
    """Quick runs are a part of all runs, unless `says` describes them."""
    quick = own.quick
    for name, values in quick.grid.items():
        outside = [value for value in values if value not in own.grid.get(name, ())]
        if outside:
            key = f"quick.grid.{name}"
            wrong(key, outside[0], f"not in grid.{name}: quick runs are some of all")
    if quick.points is not None and quick.points > (own.design.points if own.design else 0):
        wrong("quick.points", quick.points, "more than the design has")
    if quick.scenario and not quick.says:
        wrong(
            "quick.says", ABSENT, "missing; quick runs with another scenario must say what they are"
        )
