# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: reads experiments/PAPER/FIGURE.toml, and expands it into runs.

A file says what to run (a scenario, and which of its values change: a grid, cases, a space-filling
design), in which variants, which figures to compute from each run, how to draw them, and what the
paper claims, as formulas over them. docs/papers.md has every key.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr

from mptcplab import files, resources, units
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.formulas import designs, space
from mptcplab.formulas.designs import MAX_POINTS, Point, Range
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
#: The draws that judge the claims: all unstated values together, and a seed for each.
DRAWS = "draws"
#: The most draws of an experiment, and the numbers of draws after which claims are judged, and the
#: runs may stop.
MOST_DRAWS = 60
LOOKS = (5, 15, 30, MOST_DRAWS)
#: The variant with today's defaults.
TODAY = "today"
#: What is fewer than this is no sample of anything.
MIN_SAMPLES = 5

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

    Each value of `range` is a part of the experiment. Draws have any value from the least to the
    largest, on a `scale`, or any kind; `source` says where these are from. `fixed_by` says why
    draws have `value` alone. `fitted` names the result that the value was chosen for: claims about
    it are `fitted_by` the value, and not judged.
    """

    name: Name
    value: Scalar
    because: Text
    range: list[Scalar] = Field(default=[])
    scale: Literal["linear", "log", "kinds"] = "linear"
    source: str = ""
    fixed_by: str = ""
    fitted: str = ""

    def at(self, share: float) -> Scalar:
        """The value at a share of the range, from 0 to 1."""
        values = [self.value, *self.range]
        between, quantity = self.between()
        if between is None:
            return values[min(int(share * len(values)), len(values) - 1)]
        found = between.at(share)
        if quantity:
            return quantity.format(round(float(f"{found:.4g}")))
        # exact in binary, so that a formula's difference is a whole number of bits, too
        return (
            round(found)
            if all(isinstance(each, int) for each in values)
            else round(found * 64) / 64
        )

    def between(self) -> tuple[Range | None, units.Quantity | None]:
        """The range, in the smallest unit of a quantity; None if the values are kinds."""
        values = [self.value, *self.range]
        if self.scale == "kinds":
            return None, None
        numbers = [float(each) for each in values if not isinstance(each, str)]
        if len(numbers) == len(values):
            return Range(min(numbers), max(numbers), self.scale), None
        for quantity in (units.TIME, units.SIZE, units.RATE):
            try:
                sizes = [quantity.parse(str(each)) for each in values]
            except ValueError:
                continue
            return Range(min(sizes), max(sizes), self.scale), quantity
        return None, None


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
    claim: Sequence[Claim] = Field(min_length=1)
    reported: list[Reported] = Field(default=[])
    #: Whether draws judge the claims.
    DRAWN: ClassVar[bool] = True
    # PAPER/FIGURE, which scrambles the draws
    _name: str = PrivateAttr(default="")

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

    def drawn(self) -> list[Assumed]:
        """The unstated values that draws vary."""
        return [own for own in self.assumed if own.range and not own.fixed_by]

    def varies(self) -> bool:
        """Whether draws differ: in unstated values, or in what the seeds draw."""
        return bool(self.drawn()) or self.part(PUBLISHED).is_random()

    def variants(self) -> list[str]:
        """The names of all parts besides the published setting and its quick part."""
        of_assumed = itertools.chain.from_iterable(self.sensitivity().values())
        tested = self.DRAWN and any(claim.holds for claim in self.claim) and self.varies()
        return [*(variant.name for variant in self.variant), *of_assumed, *([DRAWS] * tested)]

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
        if name == DRAWS:
            # a drive is a seed, and each draw has its own; so is a point of a design
            grid: dict[str, Any] = {**quick.grid, **{axis: [0] for axis in self.seed_axes()}}
            chosen = {"grid": grid, "count": 1}
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

    @cached_property  # it takes a tenth of a second, and parts are made often
    def draws(self) -> Sequence[Draw]:
        """The draws, each with a seed of its own."""
        part = self.part(DRAWS)
        points = self.combinations(**part.chosen)
        found = []
        for number, place in enumerate(self.places(), 1):
            assumed = {each.name: each.at(place[each.name]) for each in self.drawn()}
            axes = {name: value for name, value in place.items() if name not in assumed}
            axes |= dict.fromkeys(self.seed_axes(), number)
            found.append(
                Draw(place, {**part.assumed, **assumed}, [{**point, **axes} for point in points])
            )
        return found

    def places(self) -> list[Point]:
        """Where each draw is: its share of each unstated range, and its point of the design."""
        wanted = self.design.ranges if self.design else {}
        ranges = {each.name: Range(0.0, 1.0) for each in self.drawn()}
        ranges |= {name: Range(each.low, each.high, each.scale) for name, each in wanted.items()}
        seed = zlib.crc32(self._name.encode())
        return designs.fill("sobol", ranges, MOST_DRAWS, seed) if ranges else [{}] * MOST_DRAWS

    def axis_values(self, *, drawn: bool = True) -> dict[str, dict[str, Any]]:
        """The values of each axis in all parts, by how they are written; those of draws, which take
        SciPy, only if `drawn`.
        """
        found: dict[str, dict[str, Any]] = {name: {} for name in self.axes()}
        for name in (each for each in self.parts() if drawn or each != DRAWS):
            for point in self.part(name).points():
                for axis, value in point.items():
                    found[axis][str(value)] = value
        return found


@dataclass(frozen=True)
class Draw:
    """A value for each assumed name, its place, as in `Experiment.places`, and the settings."""

    place: Point
    assumed: Mapping[str, Any]
    points: Sequence[Point]


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

    @property
    def draws(self) -> Sequence[Draw]:
        """The draws, if it is their part."""
        return self.experiment.draws if self.name == DRAWS else ()

    def points(self) -> list[Point]:
        """A value for each axis, for each setting that is run."""
        if self.draws:
            return [point for draw in self.draws for point in draw.points]
        return self.experiment.combinations(**self.chosen)

    def settings(self, repeat: int) -> Iterator[tuple[Point, Mapping[str, Any], dict[str, int]]]:
        """Each point with the values of assumed names and the seeds, as keys of a scenario."""
        if not self.draws:
            yield from ((point, self.assumed, {"repeat": repeat}) for point in self.points())
        for seed, draw in enumerate(self.draws[:repeat], 1):
            yield from ((point, draw.assumed, {"seed": seed, "repeat": 1}) for point in draw.points)

    def runs(self) -> int:
        """The number of runs, without baselines."""
        count = MOST_DRAWS if self.name == DRAWS else self.experiment.repeat
        return self.experiment.size(**self.chosen) * count

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
        used = self._used()
        if assumed := {name: self.assumed[name] for name in self.assumed if name in used}:
            content.append(assumed)
        if self.draws:
            content.append([dict(draw.assumed) for draw in self.draws])
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def slug(part: str) -> str:
    """The name of a part in a file name: "buffer 1 MB" is "buffer-1-mb"."""
    if part in (PUBLISHED, QUICK):
        return "" if part == PUBLISHED else "quick"
    return re.sub(r"[^a-z0-9=._]+", "-", part.lower()).strip("-.")


@dataclass(frozen=True)
class Published:
    """An experiment with its name, PAPER/FIGURE, its paper, and the command that runs it."""

    name: str
    file: Path
    paper: Paper
    experiment: Experiment
    command: str = "papers"


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
    return by_number(found)


def by_number(names: Iterable[str]) -> list[str]:
    """Names in the order of the numbers in them."""
    return sorted(names, key=lambda name: re.sub(r"\d+", lambda digits: digits[0].zfill(9), name))


def chosen(wanted: Sequence[str], directory: Path = resources.EXPERIMENTS) -> list[str]:
    """The experiments selected by "all", by a paper, or by their names; each once.

    Raises InputError with every unknown name.
    """
    return selected(wanted, names(directory), ("papers", "experiment"), "mptcplab papers list")


def selected(
    wanted: Sequence[str], known: Sequence[str], kinds: tuple[str, str], listing: str
) -> list[str]:
    """Those of the known names that "all", a group before a slash, or a name selects; each once.

    Raises InputError, about `kinds`, many and one, with every unknown name; `listing` shows all.
    """
    many, one = kinds
    found: list[str] = []
    problems = []
    for word in wanted:
        group = [name for name in known if word in ("all", name, name.split("/")[0])]
        if not group:
            words = [*known, *dict.fromkeys(name.split("/")[0] for name in known), "all"]
            hint = suggestion(word, words) or f"; {listing} shows all"
            problems.append(Problem(many, "", word, f"no such {one}{hint}"))
        found += group
    if problems:
        raise InputError(problems)
    return list(dict.fromkeys(found))


def load(name: str, directory: Path = resources.EXPERIMENTS) -> Published:
    """An experiment by its name. Raises InputError with every mistake in its file."""
    file = directory / f"{name}.toml"
    paper = toml_file.model_of(file.parent / PAPER, Paper)
    found = toml_file.model_of(file, Experiment)
    found._name = name
    check(found, file)
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
    for point, assumed, seeds in chosen.settings(repeat or own.repeat):
        where = f"{published.file}, [scenario]{of_part} with {shown_point(point)}"
        names = {**assumed, **point}
        try:
            table = filled(chosen.template, point, assumed)
            place = _drive(own.drive, names, folder) if own.drive else published.file.parent
        except FormulaError as error:
            raise InputError([Problem(where, "", "", str(error))]) from None
        table |= seeds
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


def check(own: Experiment, file: Path) -> None:
    """Checks beyond the models: unknown names, and quick runs that are no part of all runs.

    A scenario that is wrong at a point is an error of `settings`, before anything is run. Raises
    InputError with every mistake.
    """
    problems: list[Problem] = []

    def wrong(key: str, value: object, message: str) -> None:
        problems.append(Problem(str(file), key, shown(value), message))

    metrics = [metric.name for metric in own.metric]
    assumed = [each.name for each in own.assumed]
    space.check(own, own.scenario, [*metrics, *assumed], wrong, also=assumed)
    for key, name, what, known in _named(own):
        if name not in known:
            wrong(key, name, f"not {what}; known: {_list(known)}")
    # a part has files of its own
    unique = {"claim": [claim.name for claim in own.claim], "assumed": assumed}
    unique["variant"] = [slug(part) for part in own.parts()]
    for key, names in unique.items():
        for name, count in Counter(names).items():
            if count > 1:
                wrong(key, name, "the name, or the file's name, of more than one")
    if not own.chart.y and own.chart.kind != "time":
        wrong("chart.y", ABSENT, f"missing; what is drawn, of {', '.join(metrics)}")
    if own.quick.points is not None and own.quick.points > (own.design.points if own.design else 0):
        wrong("quick.points", own.quick.points, "more than the design has")
    if own.quick.scenario and not own.quick.says:
        message = "missing; quick runs with another scenario must say what they are"
        wrong("quick.says", ABSENT, message)
    for number, each in enumerate(own.assumed, 1):
        key = f"assumed[{number}]"
        if own.DRAWN and each.range and not (each.source or each.fixed_by):
            wrong(f"{key}.source", ABSENT, 'missing; where the range is from, or "fixed_by"')
        between, _ = each.between()
        if each.scale == "log" and (between is None or between.low <= 0):
            wrong(f"{key}.scale", "log", "a logarithmic range has both ends above 0")
    for number, claim in enumerate(own.claim, 1):
        key = f"claim[{number}]"
        if (claim.holds is None) == (claim.not_testable is None):
            wrong(key, claim.says, 'either "holds" or "not_testable" is needed')
        tests = {"holds": claim.holds, "direction": claim.direction}
        known = _check_formulas(own, key, claim.figures, tests, [*own.axes(), *metrics], wrong)
        for other, because in enumerate(claim.because, 1):
            place, shown_by = f"{key}.because[{other}]", {"shown_by": because.shown_by}
            _check_formulas(own, place, because.figures, shown_by, known, wrong)
    if problems:
        raise InputError(problems)


def _named(own: Experiment) -> Iterator[tuple[str, Scalar, str, Collection[Any]]]:
    """What the file names: the key, the name, what it has to be, and all that it may be."""
    chart, axes, metrics = own.chart, own.axes(), [metric.name for metric in own.metric]
    for key in ("x", "series", "panels"):
        name = getattr(chart, key)
        if name or (key == "x" and chart.kind in ("lines", "bars")):
            yield f"chart.{key}", name, "an axis", axes
    for name in chart.y:
        yield "chart.y", name, "a metric", metrics
    values = own.axis_values(drawn=False) if chart.at else {}
    for name, value in chart.at.items():
        yield f"chart.at.{name}", name, "an axis", axes
        yield f"chart.at.{name}", str(value), "on this axis", values.get(name, [str(value)])
    for number, reported in enumerate(own.reported, 1):
        yield f"reported[{number}].metric", reported.metric, "a metric", metrics
        for name in reported.at:
            yield f"reported[{number}].at.{name}", name, "an axis", axes
    for name, quick in own.quick.grid.items():
        for value in quick:
            yield f"quick.grid.{name}", value, f"in grid.{name}", own.grid.get(name, ())
    for number, variant in enumerate(own.variant, 1):
        for name in variant.grid:
            yield f"variant[{number}].grid.{name}", name, "in grid", own.grid
    fitted = [each.name for each in own.assumed if each.fitted]
    for number, claim in enumerate(own.claim, 1):
        for name in claim.fitted_by:
            yield f"claim[{number}].fitted_by", name, "an assumed value that is fitted", fitted


def _check_formulas(
    own: Experiment,
    key: str,
    figures: Mapping[str, ClaimFigure],
    tests: Mapping[str, str | None],
    known: Sequence[str],
    wrong: Wrong,
) -> list[str]:
    """Figures, each of which can use those before it, and formulas that can use all of them.

    Returns the names that there are then.
    """
    names = [*known]
    formulas: list[tuple[str, str, Sequence[str]]] = []
    for name, figure in figures.items():
        if name in known:
            message = "an axis, metric or figure has this name"
            wrong(f"{key}.figures.{name}", figure.value, message)
        formulas.append((f"{key}.figures.{name}.value", figure.value, [*names]))
        names.append(name)
    formulas += [(f"{key}.{test}", text, names) for test, text in tests.items() if text]
    for place, text, usable in formulas:
        check_names(place, text, usable, wrong)
        for part in Formula(text).constants(OF_VARIANT) - {*own.parts()}:
            hint = suggestion(str(part), own.parts()) or f"; known: {_list(own.parts())}"
            wrong(place, text, f"{OF_VARIANT}= is no name of a variant in quotes{hint}")
    return names


def _list(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names)) or "none"


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
