# SPDX-License-Identifier: GPL-2.0-only
"""What a paper claims, judged by runs: formulas over the figures of all runs of an experiment.

In the formula of a claim the name of a metric stands for its values in all runs, and that of an
axis for the list of its values. `median(goodput, scheduler="blest", queue=300)` takes the runs
whose axes have these values (or one of a list). A formula that cannot be evaluated is an error,
never a verdict.

A verdict is for all seeds together. How much it depends on the seed is reported with it: the same
formulas over each seed alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mptcplab.errors import MptcplabError
from mptcplab.papers.catalogue import Claim, Experiment, Metric, Published
from mptcplab.runs.entries import Entry
from mptcplab.spec.designs import Point
from mptcplab.spec.formulas import BASICS, Formula, FormulaError, MissingError

_SEED = "seed"


class Verdict(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Row:
    """The figures of a run, by the name of the metric; None where the run has none."""

    point: Point
    seed: int
    figures: Mapping[str, float | None]


@dataclass(frozen=True)
class Column:
    """A metric in all runs: the value of its name in a formula."""

    name: str


@dataclass(frozen=True)
class Outcome:
    """A verdict, and our value of each figure of the claim."""

    verdict: Verdict
    ours: Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """A judged claim: by all seeds together, and by each of them alone, if there are several."""

    claim: Claim
    verdict: Verdict
    ours: Mapping[str, Any]
    alone: Sequence[Outcome] = ()

    def agreeing(self) -> int:
        """How many seeds alone yield the same verdict."""
        return sum(each.verdict is self.verdict for each in self.alone)


#: The values of the axes that are not seeds.
Setting = tuple[Any, ...]
#: The seed of a run, after those axes that are seeds themselves.
Seed = tuple[Any, ...]


class Results:
    """The figures of all runs of an experiment, in the order of its points and seeds.

    `seed_axes` are the axes that are seeds, such as a drive's.
    """

    def __init__(
        self,
        axes: Sequence[str],
        metrics: Sequence[str],
        rows: Sequence[Row],
        seed_axes: Sequence[str] = (),
    ) -> None:
        self.rows = rows
        self.metrics = list(metrics)
        self.seed_axes = list(seed_axes)
        self.axes: dict[str, list[Any]] = {
            name: list(dict.fromkeys(row.point[name] for row in rows if name in row.point))
            for name in axes
        }

    def seed(self, row: Row) -> Seed:
        return (*(row.point[name] for name in self.seed_axes), row.seed)

    def setting(self, row: Row, without: Sequence[str] = ()) -> Setting:
        """What two runs share that differ only in their seed, and in the axes `without`."""
        left_out = {*self.seed_axes, *without}
        return tuple(row.point.get(name) for name in self.axes if name not in left_out)

    def by_seed(self) -> list[Results]:
        rows: dict[Seed, list[Row]] = {}
        for row in self.rows:
            rows.setdefault(self.seed(row), []).append(row)
        return [
            Results(list(self.axes), self.metrics, each, self.seed_axes) for each in rows.values()
        ]

    def values(self, column: object, **wanted: Any) -> list[float]:
        """A metric in selected runs: `wanted` has a value for each axis, or a list of values.

        Raises MissingError if there is no such run, or one lacks the figure.
        """
        return [value for _row, value in self._found(column, wanted)]

    def medians(self, column: object, **wanted: Any) -> list[float]:
        """The same, with one value per setting: the median over its seeds."""
        groups: dict[Setting, list[float]] = {}
        for row, value in self._found(column, wanted):
            groups.setdefault(self.setting(row), []).append(value)
        return [statistics.median(group) for group in groups.values()]

    def _found(self, column: object, wanted: Mapping[str, Any]) -> list[tuple[Row, float]]:
        if not isinstance(column, Column):
            raise FormulaError("the first argument is the name of a metric")
        rows = self.where(**wanted)
        asked = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        if not rows:
            raise MissingError(f"no run has {asked}")
        found = []
        for row in rows:
            value = row.figures[column.name]
            if value is None:
                at = ", ".join(f"{name}={each!r}" for name, each in row.point.items())
                raise MissingError(f"the run with {at}, seed={row.seed} has no {column.name}")
            found.append((row, value))
        return found

    def where(self, **wanted: Any) -> list[Row]:
        """The rows whose axes, and `seed`, have these values."""
        for name in wanted:
            if name not in self.axes and name != _SEED:
                raise FormulaError(f"no axis {name}; known: {', '.join(self.axes)}")
        return [row for row in self.rows if all(_has(row, *each) for each in wanted.items())]

    def scope(self) -> tuple[dict[str, Any], dict[str, Callable[..., Any]]]:
        """The names and the functions of a formula over these results."""
        names: dict[str, Any] = {name: Column(name) for name in self.metrics}
        names |= self.axes

        def over(
            statistic: Callable[[Sequence[float]], float],
            of: Callable[..., list[float]] = self.values,
        ) -> Callable[..., float]:
            def applied(what: Any, **wanted: Any) -> float:
                found = of(what, **wanted) if isinstance(what, Column) else list(what)
                if not found:
                    raise MissingError("nothing to take a statistic of")
                return statistic(found)

            return applied

        def quantile(share: float, what: Any, **wanted: Any) -> float:
            return over(lambda found: float(np.quantile(found, share)))(what, **wanted)

        return names, {
            **BASICS,
            "values": self.values,
            # over settings; a mean over few seeds says too little
            "mean": over(statistics.fmean, self.medians),
            "median": over(statistics.median),
            "lowest": over(min),
            "highest": over(max),
            "sd": over(statistics.pstdev),
            "quantile": quantile,
        }


def row(
    metrics: Sequence[Metric], point: Point, seed: int, run: Entry, alone: Mapping[str, Entry]
) -> Row:
    """The figures of a run, given its entry and those of its baselines, by path.

    Raises FormulaError, naming the metric, if a formula is wrong.
    """
    names: dict[str, Any] = {
        **dict(run.metrics),
        "paths": {path.name: _Figures(path) for path in run.paths},
        "alone": {name: _Figures(entry.metrics) for name, entry in alone.items()},
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


def judge(published: Published, results: Results) -> list[Judged]:
    """Every claim with its verdict. Raises MptcplabError if one cannot be evaluated."""
    seeds = results.by_seed()
    judged = []
    for number, claim in enumerate(published.experiment.claim, 1):
        every = _judge(claim, number, published, results)
        alone = [_judge(claim, number, published, each) for each in seeds if len(seeds) > 1]
        judged.append(Judged(claim, every.verdict, every.ours, alone))
    return judged


def _judge(claim: Claim, number: int, published: Published, results: Results) -> Outcome:
    names, functions = results.scope()
    ours: dict[str, Any] = {}

    def value(key: str, text: str) -> Any:
        try:
            return Formula(text).value({**names, **ours}, functions)
        except FormulaError as error:
            raise MptcplabError(
                f"{published.file}: claim[{number}].{key} = {text!r}: cannot be evaluated: {error}"
            ) from None

    for name, figure in claim.figures.items():
        ours[name] = value(f"figures.{name}", figure.value)
    if claim.holds is None:
        return Outcome(Verdict.NOT_COMPARABLE, ours)
    found = value("holds", claim.holds)
    if not isinstance(found, bool):
        raise MptcplabError(
            f"{published.file}: claim[{number}].holds = {claim.holds!r}: is {found!r}; "
            "a formula that is true or false is expected"
        )
    return Outcome(Verdict.HOLDS if found else Verdict.FAILS, ours)


def results(own: Experiment, rows: Sequence[Row]) -> Results:
    return Results(own.axes(), [metric.name for metric in own.metric], rows, own.seed_axes())


def _has(row: Row, name: str, wanted: Any) -> bool:
    value = row.seed if name == _SEED else row.point.get(name)
    return value in wanted if isinstance(wanted, list | tuple | range) else value == wanted


class _Figures(dict[str, Any]):
    """The figures of a path; a formula that needs a missing one has no value."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if value is None:
            raise MissingError(f"no {name}")
        return value
