# SPDX-License-Identifier: GPL-2.0-only
"""The figures of an experiment's runs, and what formulas compute from them, or from resamples.

In the formula of a claim the name of a metric stands for its values in all runs, and that of an
axis for the list of its values. `median(goodput, scheduler="blest", queue=300)` takes the runs
whose axes have these values (or one of a list), `variant="today"` those of another part. A formula
that cannot be evaluated is an error, never a value.

Independent samples are the points of a design, the drives, or else the seeds. A resample takes as
many of them, with replacement, each with all of its runs: what is compared stays together.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mptcplab.formulas.designs import Point
from mptcplab.formulas.formula import BASICS, Formula, FormulaError, MissingError
from mptcplab.metrics.inference import quantile, standard_deviation
from mptcplab.papers.catalogue import OF_VARIANT, Experiment, Metric
from mptcplab.runs.entries import Entry

#: How many resamples are drawn; if there are no more than these in all, each is taken.
RESAMPLES = 2000

_SEED = "seed"
_GENERATOR_SEED = 1


class NotRunError(MissingError):
    """A formula needs the runs of a part that are not there."""


class LackingError(NotRunError):
    """A formula needs a figure that cannot be had with the kernel."""


@dataclass(frozen=True)
class Row:
    """The figures of a run, by the name of the metric; None where the run has none.

    `lacks` says why such a figure cannot be had with the kernel, if so.
    """

    point: Point
    seed: int
    figures: Mapping[str, float | None]
    lacks: str = ""

    @property
    def is_left_out(self) -> bool:
        """Whether the setting was not run."""
        return bool(self.lacks) and all(value is None for value in self.figures.values())


@dataclass(frozen=True)
class Column:
    """A metric in all runs: the value of its name in a formula."""

    name: str


#: The values of the axes that are not seeds.
SameSetting = tuple[Any, ...]
#: The seed of a run, after those axes that are seeds themselves.
Seed = tuple[Any, ...]
#: An independent sample: the point of a design, a drive, or a seed.
Unit = tuple[Any, ...]
#: Values by setting and, in each, by the number of the unit.
Selected = list[dict[int, list[float]]]
#: How often a resample has each unit.
Draw = Sequence[int]


class Results:
    """The figures of all runs of a part of an experiment, in the order of its points and seeds.

    `seed_axes` are the axes that are seeds, such as a drive's, `design_axes` those of its design.
    """

    def __init__(
        self,
        axes: Sequence[str],
        metrics: Sequence[str],
        rows: Sequence[Row],
        seed_axes: Sequence[str] = (),
        design_axes: Sequence[str] = (),
    ) -> None:
        self.rows = rows
        self.metrics = list(metrics)
        self.seed_axes = list(seed_axes)
        self.design_axes = list(design_axes)
        self.axes: dict[str, list[Any]] = {
            name: list(dict.fromkeys(row.point[name] for row in rows if name in row.point))
            for name in axes
        }
        drives = [name for name in self.seed_axes if len(self.axes[name]) > 1]
        self._unit_axes = self.design_axes or drives
        self.units: list[Unit] = list(dict.fromkeys(map(self.unit, rows)))
        self._number = {unit: number for number, unit in enumerate(self.units)}

    def seed(self, row: Row) -> Seed:
        return (*(row.point[name] for name in self.seed_axes), row.seed)

    def unit(self, row: Row) -> Unit:
        """The independent sample that a run belongs to."""
        return tuple(row.point[name] for name in self._unit_axes) or (row.seed,)

    def setting(self, row: Row, without: Sequence[str] = ()) -> SameSetting:
        """What two runs share that differ only in their seed, and in the axes `without`."""
        left_out = {*self.seed_axes, *without}
        return tuple(row.point.get(name) for name in self.axes if name not in left_out)

    def where(self, **wanted: Any) -> list[Row]:
        """The rows whose axes, and `seed`, have these values."""
        for name in wanted:
            if name not in self.axes and name != _SEED:
                raise FormulaError(f"no axis {name}; known: {', '.join(self.axes)}")
        return [row for row in self.rows if all(_has(row, *each) for each in wanted.items())]

    def selected(self, column: Column, wanted: Mapping[str, Any]) -> Selected:
        """A metric in selected runs, by setting and, in each, by the number of the unit.

        `wanted` has a value for each axis, or a list of values. Raises MissingError if there is no
        such run, or one lacks the figure.
        """
        rows = self.where(**wanted)
        if not rows:
            asked = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
            raise MissingError(f"no run has {asked}")
        groups: dict[SameSetting, dict[int, list[float]]] = {}
        for row in rows:
            value = row.figures[column.name]
            if value is None and row.lacks:
                raise LackingError(f"no {column.name}: {row.lacks}")
            if value is None:
                at = ", ".join(f"{name}={each!r}" for name, each in row.point.items())
                raise MissingError(f"the run with {at}, seed={row.seed} has no {column.name}")
            group = groups.setdefault(self.setting(row), {})
            group.setdefault(self._number[self.unit(row)], []).append(value)
        return list(groups.values())

    def drawn_axes(self, draw: Draw) -> dict[str, list[Any]]:
        """The values of the axes that tell units apart, in a resample."""
        taken = [unit for unit, count in zip(self.units, draw, strict=True) if count]
        return {
            name: list(dict.fromkeys(unit[place] for unit in taken))
            for place, name in enumerate(self._unit_axes)
        }


class Scope:
    """The names and functions of formulas over one part, and over others by `variant`."""

    def __init__(self, by_part: Mapping[str, Results], part: str) -> None:
        self._by_part = by_part
        self._part = part
        self._draws: Mapping[str, Draw] | None = None
        self._selected: dict[Any, Selected] = {}
        self._found: dict[Any, Any] = {}
        own = by_part[part]
        self._all_names = {**{name: Column(name) for name in own.metrics}, **own.axes}
        self.names: Mapping[str, Any] = self._all_names
        self.functions: Mapping[str, Callable[..., Any]] = {
            **BASICS,
            "values": self._values,
            # over settings; a mean over few seeds says too little
            "mean": self._over(statistics.fmean, self._medians),
            "median": self._over(statistics.median, self._values),
            "lowest": self._over(min, self._values),
            "highest": self._over(max, self._values),
            "sd": self._over(standard_deviation, self._values),
            "quantile": self._quantile,
        }

    def take(self, draws: Mapping[str, Draw]) -> None:
        """From now on, compute over these units of each part."""
        self._draws = draws
        self._found.clear()
        drawn = self._by_part[self._part].drawn_axes(draws[self._part])
        self.names = {**self._all_names, **drawn}

    def _over(
        self, statistic: Callable[..., float], of: Callable[..., list[float]], *share: float
    ) -> Callable[..., float]:
        def applied(what: Any, **wanted: Any) -> float:
            if not isinstance(what, Column):
                return _statistic(statistic, list(what), *share)
            key = statistic, share, what.name, _hashable(wanted)
            if key not in self._found:
                self._found[key] = _statistic(statistic, of(what, **wanted), *share)
            found: float = self._found[key]
            return found

        return applied

    def _quantile(self, share: float, what: Any, **wanted: Any) -> float:
        return self._over(quantile, self._values, share)(what, **wanted)

    def _values(self, column: object, **wanted: Any) -> list[float]:
        return list(itertools.chain.from_iterable(self._by_setting(column, wanted)))

    def _medians(self, column: object, **wanted: Any) -> list[float]:
        """One value per setting: the median over its seeds."""
        return [statistics.median(group) for group in self._by_setting(column, wanted)]

    def _by_setting(self, column: object, wanted: dict[str, Any]) -> list[list[float]]:
        """The values of each setting; those of all units, or of those that are drawn.

        The point of a design is a setting, which comes as many times as it is drawn.
        """
        if not isinstance(column, Column):
            raise FormulaError("the first argument is the name of a metric")
        part = wanted.pop(OF_VARIANT, self._part)
        if part not in self._by_part:
            raise NotRunError(f"{part} has not been run")
        own = self._by_part[part]
        key = part, column, _hashable(wanted)
        if key not in self._selected:
            self._selected[key] = own.selected(column, wanted)
        groups = self._selected[key]
        counts = [1] * len(own.units) if self._draws is None else self._draws[part]
        if own.design_axes:
            return [
                values
                for group in groups
                for unit, values in group.items()
                for _ in range(counts[unit])
            ]
        joined = ([v for unit, vs in group.items() for v in vs * counts[unit]] for group in groups)
        return [each for each in joined if each]


@dataclass(frozen=True)
class Resamples:
    """Resamples with their weights, which are `total` together."""

    draws: Iterator[tuple[int, Mapping[str, Draw]]]
    total: int


def resamples(by_part: Mapping[str, Results], parts: Sequence[str]) -> Resamples:
    """Resamples of the units of some parts; parts with the same units take the same ones.

    If there are few units, all resamples with their probabilities, else RESAMPLES random ones, the
    same each time.
    """
    of_part = {part: tuple(by_part[part].units) for part in parts}
    count = len(of_part[parts[0]])
    if len({*of_part.values()}) == 1 and math.comb(2 * count - 1, count) <= RESAMPLES:
        every = itertools.combinations_with_replacement(range(count), count)
        draws = ([chosen.count(number) for number in range(count)] for chosen in every)
        weighted = ((_orders(draw), dict.fromkeys(parts, draw)) for draw in draws)
        return Resamples(weighted, count**count)
    random = np.random.default_rng(_GENERATOR_SEED)
    drawn = {
        units: random.multinomial(len(units), [1 / len(units)] * len(units), RESAMPLES).tolist()
        for units in dict.fromkeys(of_part.values())
    }
    each = ({part: drawn[of_part[part]][number] for part in parts} for number in range(RESAMPLES))
    return Resamples(((1, draws) for draws in each), RESAMPLES)


def _orders(draw: Draw) -> int:
    """In how many orders the units of a resample can be drawn."""
    return math.factorial(sum(draw)) // math.prod(map(math.factorial, draw))


def row(
    metrics: Sequence[Metric], point: Point, seed: int, run: Entry, alone: Mapping[str, Entry]
) -> Row:
    """The figures of a run, given its entry and those of its baselines, by path.

    Figures of a path without a baseline, as in a variant with plain TCP, have no value. Raises
    FormulaError, naming the metric, if a formula is wrong.
    """
    figures_of = {name: _Figures(entry.metrics) for name, entry in alone.items()}
    without = _Figures(dict.fromkeys(dict(run.metrics)))
    names: dict[str, Any] = {
        **dict(run.metrics),
        "paths": {path.name: _Figures(path) for path in run.paths},
        "alone": {**{path.name: without for path in run.paths}, **figures_of},
        **point,
    }
    figures: dict[str, float | None] = {}
    for metric in metrics:
        formula = Formula(metric.value)
        if any(name in names and names[name] is None for name in formula.names):
            figures[metric.name] = None
            continue
        try:
            value = formula.value(names)
        except MissingError:
            value = None
        except FormulaError as error:
            raise FormulaError(f"metric {metric.name}: {metric.value}: {error}") from None
        figures[metric.name] = value if value is None else float(value)
    return Row(point, seed, figures)


def without_run(metrics: Sequence[Metric], point: Point, seed: int, lacks: str) -> Row:
    """The row of a setting that the kernel cannot run."""
    return Row(point, seed, dict.fromkeys(metric.name for metric in metrics), lacks)


def results(own: Experiment, rows: Sequence[Row]) -> Results:
    """The results of a part of an experiment, whose runs have these figures."""
    metrics = [metric.name for metric in own.metric]
    design = list(own.design.ranges) if own.design else []
    return Results(own.axes(), metrics, rows, own.seed_axes(), design)


def _statistic(of: Callable[..., float], found: Sequence[float], *share: float) -> float:
    if not found:
        raise MissingError("nothing to take a statistic of")
    return of(found, *share)


def _hashable(wanted: Mapping[str, Any]) -> Any:
    return tuple(
        (name, (tuple(value),) if isinstance(value, list | tuple | range) else value)
        for name, value in wanted.items()
    )


def _has(row: Row, name: str, wanted: Any) -> bool:
    value = row.seed if name == _SEED else row.point.get(name)
    return value in wanted if isinstance(wanted, list | tuple | range) else value == wanted


class _Figures(dict[str, Any]):
    """The figures of a path; a formula that needs a missing one has no value."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if value is None:
            raise MissingError
        return value
