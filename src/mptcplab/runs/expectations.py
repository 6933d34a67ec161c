# SPDX-License-Identifier: GPL-2.0-only
"""Expectations: formulas over the figures of runs that have to be true, for continuous integration.

`goodput >= 50mbit` is about each row of the table of a comparison, `minrtt.goodput >= 0.98 *
default.goodput` about the rows that it names. A figure is the median over the seeds of a row,
unless a function says otherwise. docs/expect.md says which names there are.

Everything that can be wrong with a formula is found before anything is run: it is evaluated over
imagined runs, in which every figure that there will be is 1.
"""

from __future__ import annotations

import ast
import math
import statistics
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from mptcplab.errors import InputError, Problem
from mptcplab.formulas.amounts import UNITS, Amount, Literal, literals
from mptcplab.formulas.formula import BASICS, Formula, FormulaError, MissingError, UndefinedError
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import (
    ApplicationFigures,
    ConnectionFigures,
    LinkFigures,
    PathFigures,
    RunFigures,
)
from mptcplab.metrics.inference import quantile, standard_deviation
from mptcplab.metrics.schema import Figures, metrics_of, short_name
from mptcplab.mistakes import one_of, printable, shown, suggestion
from mptcplab.runs.entries import Entry, Expectation, FigureValue, compared, run_entry
from mptcplab.scenario.model import Scenario

#: The option that gives them.
OPTION = "--expect"
#: All rows, by their names in the table, which may be no names in a formula.
_ROW = "row"
#: What formulas call the baselines.
_ALONE = "alone"
_COMPARISONS = {ast.GtE, ast.Gt, ast.LtE, ast.Lt, ast.Eq, ast.NotEq}


@dataclass(frozen=True)
class CompiledExpectation:
    """An expectation that can be judged: its text, and its formula without literals with units."""

    text: str
    formula: Formula
    literals: Mapping[str, Literal]

    @property
    def names(self) -> frozenset[str]:
        """The names that have to be there."""
        return self.formula.names - set(self.literals)

    def values(self, rows: Rows, row: str | None) -> dict[str, Any]:
        """The values of all names in it. Raises FormulaError, as `Rows.visible`."""
        own = {name: each.value for name, each in self.literals.items()}
        return {**rows.visible(self.names, row), **own}

    def written(self, part: ast.expr) -> str:
        """A part of the formula as it was written, with units."""
        text = ast.unparse(part)
        for name, each in self.literals.items():
            text = text.replace(name, each.text)
        return text


def read(
    texts: Sequence[str],
    runs: Sequence[Scenario],
    baselines: Sequence[Scenario],
    kernels: Sequence[str] = (),
) -> list[CompiledExpectation]:
    """The expectations of texts. Each has a value for runs of these scenarios with each kernel.

    `kernels` are names; without any, there is one kernel. Raises InputError with every mistake.
    """
    seed = runs[0].seed
    imagined = [_imagined(item) for item in runs if item.seed == seed]
    # all seeds have the same figures
    imagined = [run for run in imagined for _ in {item.seed for item in runs}]
    if not baselines:
        imagined = [_without(run, ("aggregation_benefit",)) for run in imagined]
    alone = [_imagined(item) for item in baselines if item.seed == seed]
    rows = Rows(*(_with_kernels(entries, kernels) for entries in (imagined, alone)))
    found, problems = [], []
    for text in texts:
        try:
            found.append(_read(text, rows))
        except FormulaError as error:
            problems.append(Problem(OPTION, "", shown(text, 200), str(error)))
    if problems:
        raise InputError(problems)
    return found


def judge(
    expected: Sequence[CompiledExpectation],
    runs: Sequence[Entry],
    baselines: Sequence[Entry],
    point: Mapping[str, Any] | None = None,
) -> list[Expectation]:
    """Whether the runs of one setting meet the expectations.

    `point` are the values of a sweep's axes there.
    """
    rows = Rows(runs, baselines)
    return [
        _judged(each, rows, row, point or {})
        for each in expected
        for row in (rows.names if rows.each_is_meant(each.formula) else [None])
    ]


def _with_kernels(entries: Sequence[Entry], kernels: Sequence[str]) -> list[Entry]:
    names: Sequence[str | None] = kernels or (None,)
    return [entry.model_copy(update={"kernel": name}) for name in names for entry in entries]


class Rows:
    """The names in formulas: some for each row of a comparison, some for all rows."""

    def __init__(self, runs: Sequence[Entry], baselines: Sequence[Entry]) -> None:
        self.entries = compared(runs)
        self.names = list(self.entries)
        # congestion controls and kernels have baselines of their own
        alone = {
            of: _by_path([each for each in baselines if (each.cc, each.kernel) == of])
            for of in dict.fromkeys((entry.cc, entry.kernel) for entry in runs)
        }
        self.tables = {
            name: _row(name, own, alone[own[0].cc, own[0].kernel])
            for name, own in self.entries.items()
        }
        self._shared: dict[str, Any] = {_ROW: _Table(_ROW, self.tables)}
        if len(alone) == 1:
            self._shared[_ALONE] = _Table(_ALONE, next(iter(alone.values())))
        self._called = self._names_of_rows()

    def _names_of_rows(self) -> dict[str, list[str]]:
        """The rows that have a scheduler, a congestion control or a kernel, by what a formula calls
        it: with its parameters or, if none goes without, by its name alone.
        """
        exact: dict[str, list[str]] = {}
        bare: dict[str, list[str]] = {}
        for row, own in self.entries.items():
            for label in (own[0].label, own[0].cc, *filter(None, [own[0].kernel])):
                exact.setdefault(label, []).append(row)
                bare.setdefault(label.partition(":")[0], []).append(row)
        return {**bare, **exact}

    def each_is_meant(self, formula: Formula) -> bool:
        """Whether a formula names figures without naming their row."""
        own = set(next(iter(self.tables.values())))
        return bool(formula.names & (own - set(self._shared)))

    def visible(self, wanted: Collection[str], row: str | None) -> dict[str, Any]:
        """The values of names, with the figures of one row.

        Raises MissingError for a figure that the row has not, and FormulaError for an unknown name.
        """
        own = self.tables[row] if row is not None else {}
        return {name: self._value(name, own) for name in sorted(wanted)}

    def _value(self, name: str, own: Mapping[str, Any]) -> Any:
        if name in own:
            return own[name]
        if name in self._shared:
            return self._shared[name]
        rows = self._called.get(name, [])
        if len(rows) == 1:
            return self.tables[rows[0]]
        if rows:
            several = one_of([f'{_ROW}["{each}"]' for each in rows], "and")
            raise FormulaError(f"{name} is in several rows: {several}")
        table = next(iter(self.tables.values()))
        path, figures = next(iter(dict(table.get("paths", {})).items()), ("", {}))
        if name in figures:
            raise FormulaError(f"{name} is a figure of a path: paths.{path}.{name}")
        hint = suggestion(name, [*table, *self._called, *self._shared])
        hint = hint or f"; known are the figures of docs/metrics.md, and {', '.join(self._called)}"
        raise FormulaError(f"unknown name {printable(name)}{hint}")


class FailedError(MissingError):
    """A formula needs a figure of runs that failed."""


class _Table(dict[str, Any]):
    """What has figures: values by their names, or why one is missing. `of` is its own name."""

    def __init__(self, of: str, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.of = of

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if isinstance(value, _Missing):
            raise value.error(f"{self.of} has no {name}: {value.why}")
        return value

    def __missing__(self, name: str) -> NoReturn:
        hint = suggestion(name, list(self)) or f"; known: {', '.join(self)}"
        raise FormulaError(f"{self.of}: unknown {shown(name)}{hint}")


@dataclass(frozen=True)
class _Missing:
    """Why runs lack a figure."""

    why: str
    error: type[MissingError] = MissingError


def _row(name: str, entries: Sequence[Entry], alone: Mapping[str, Any]) -> _Table:
    """All names of a row."""

    def each(kind: str, model: type[Figures]) -> _Table:
        found: dict[str, Any] = {}
        for index, first in enumerate(getattr(entries[0], kind)):
            of = f"{name}.{kind}.{first.name}"
            mine = [getattr(entry, kind)[index] for entry in entries]
            own = _figures(of, entries, mine, model)
            if isinstance(first, ConnectionFigures):
                inner = [connection.metrics for connection in mine]
                own = _Table(of, {**_figures(of, entries, inner, RunFigures), **own})
            if isinstance(first, LinkFigures):
                directions = found.get(first.name, {})
                found[first.name] = _Table(of, {**directions, first.direction: own})
            else:
                found[first.name] = own
        return _Table(f"{name}.{kind}", found)

    own = _figures(name, entries, [entry.metrics for entry in entries], RunFigures)
    further = {
        "paths": each("paths", PathFigures),
        "connections": each("connections", ConnectionFigures),
        "links": each("links", LinkFigures),
        _ALONE: _Table(_ALONE, alone),
    }
    return _Table(name, {**own, **{kind: table for kind, table in further.items() if table}})


def _by_path(baselines: Sequence[Entry]) -> dict[str, _Table]:
    """The figures of plain TCP over each path alone."""
    return {
        path: _figures(f"{_ALONE}.{path}", own, [each.metrics for each in own], RunFigures)
        for path, own in compared(baselines, "path").items()
    }


def _figures(
    of: str, entries: Sequence[Entry], models: Sequence[Figures], model: type[Figures]
) -> _Table:
    """Each number of a model, by its full and its short name, over the seeds of some runs."""
    failed = [entry for entry in entries if entry.status != "ok"]
    found: dict[str, Any] = {}
    for metric in metrics_of(model):
        values = [each[metric.name] for each in models]
        if any(isinstance(value, str | Figures) for value in values):
            continue  # a name, or figures of its own
        without = [e.seed for e, value in zip(entries, values, strict=True) if value is None]
        figure: Any = None
        if failed:
            reason = str(failed[0].reason).splitlines()[0]
            figure = _Missing(f"{len(failed)} of {len(entries)} runs failed, {reason}", FailedError)
        elif len(without) == len(values):
            figure = _Missing("docs/metrics.md says which runs have one")
        elif without:
            figure = _Missing(f"the run with seed {without[0]} lacks it")
        for name in dict.fromkeys((metric.name, short_name(metric.name, metric.unit))):
            known = tuple(float(value) for value in values if value is not None)
            found[name] = figure or Amount(
                statistics.median(known),
                UNITS[metric.unit],
                # the full name says the unit
                unit_is_known=name == metric.name,
                seeds=known,
            )
    return _Table(of, found)


def _over_seeds(name: str, of: Callable[[Sequence[float]], float]) -> Callable[..., Amount]:
    def applied(*given: Any, **others: Any) -> Amount:
        what = given[0] if len(given) == 1 and not others else None
        if not isinstance(what, Amount) or not what.seeds:
            usage = f"{name}(goodput) or {name}(R.goodput)"
            raise FormulaError(f"{name}() takes one figure, e.g. {usage}")
        return Amount(of(what.seeds), what.unit, unit_is_known=what.unit_is_known)

    return applied


def _quantile(share: Any = None, *given: Any, **others: Any) -> Amount:
    if not isinstance(share, int | float) or not 0 <= share <= 1 or len(given) != 1:
        raise FormulaError("quantile() takes a share from 0 to 1 and a figure: quantile(5%, rtt)")
    return _over_seeds("quantile", lambda found: quantile(found, share))(*given, **others)


def _values(what: Any) -> list[Amount]:
    return [
        Amount(value, what.unit, unit_is_known=what.unit_is_known)
        for value in (what.seeds if isinstance(what, Amount) else ())
    ]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **BASICS,
    "median": _over_seeds("median", statistics.median),
    "lowest": _over_seeds("lowest", min),
    "highest": _over_seeds("highest", max),
    "sd": _over_seeds("sd", standard_deviation),
    "quantile": _quantile,
    "values": _values,
}


# Before the runs


def _read(text: str, rows: Rows) -> CompiledExpectation:
    replaced, found = literals(text)
    expected = CompiledExpectation(text, Formula(replaced), found)
    formula = expected.formula
    for name in sorted(formula.functions - set(FUNCTIONS)):
        hint = suggestion(name, list(FUNCTIONS)) or f"; known: {', '.join(sorted(FUNCTIONS))}"
        raise FormulaError(f"unknown function {name}(){hint}")
    if not expected.names:
        raise FormulaError("names no figure: no run can change it")
    whole = Formula(ast.unparse(_Whole().visit(_tree(formula))))
    for row in rows.names if rows.each_is_meant(formula) else [None]:
        names = expected.values(rows, row)
        try:
            value = whole.value(names, {**FUNCTIONS, _EITHER: _either})
        except UndefinedError:
            continue  # a ratio to a difference, which is 0 where all figures are the same
        if not isinstance(value, bool):
            what = value.kind if isinstance(value, Amount) else shown(value)
            raise FormulaError(f"is {what}; a comparison is expected, e.g. goodput >= 50mbit")
    return expected


_EITHER = "either"


def _either(_test: object, value: Any, other: Any) -> Any:
    """What an if and an else have to be alike."""
    for one, another in ((value, other), (other, value)):
        if isinstance(one, Amount):
            one.within(another)
    return value


class _Whole(ast.NodeTransformer):
    """A formula all of whose parts are evaluated, whatever the first ones are."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return _call("all" if isinstance(node.op, ast.And) else "any", ast.List(node.values))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call(_EITHER, node.test, node.body, node.orelse)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        sides = [node.left, *node.comparators]
        links: list[ast.expr] = [
            ast.Compare(left, [op], [right])
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return _call("all", ast.List(links))


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name), list(arguments), [])


def _imagined(item: Scenario) -> Entry:
    """A run in which every figure that it will have is 1."""
    connections = tuple(
        _ones(
            ConnectionFigures,
            name=each.name,
            transport=each.transport,
            paths=each.paths,
            metrics=_ones(RunFigures),
        )
        for each in item.connections
    )
    links = tuple(
        _ones(LinkFigures, name=link.name, direction=direction)
        for link in item.links
        for direction in ("up", "down")
    )
    paths = tuple(_ones(PathFigures, name=path.name) for path in item.paths)
    figures = RunMetrics(_ones(RunFigures), paths, connections, links)
    return _without(run_entry(item, figures), _missing_in(item))


def _missing_in(item: Scenario) -> Iterator[str]:
    """The figures that a run of a scenario cannot have."""
    if item.workload.kind == "bulk":
        if not item.connections:
            yield from (metric.name for metric in metrics_of(ApplicationFigures))
    else:
        yield "aggregation_benefit"
    if item.workload.duration_ns is not None:
        yield "completion_s"


def _without(entry: Entry, names: Sequence[str] | Iterator[str]) -> Entry:
    metrics = entry.metrics.model_copy(update=dict.fromkeys(names))
    return entry.model_copy(update={"metrics": metrics})


def _ones(model: type[Any], **given: Any) -> Any:
    ones = {metric.name: 1 for metric in metrics_of(model)}
    return model(**{**ones, **given})


# After the runs


def _judged(
    expected: CompiledExpectation, rows: Rows, row: str | None, point: Mapping[str, Any]
) -> Expectation:
    about: dict[str, Any] = {"expectation": expected.text, "point": dict(point)}
    if row is not None and len(rows.names) > 1:
        about["of"] = row
    try:
        names = expected.values(rows, row)
        held = expected.formula.value(names, FUNCTIONS)
        sides = _sides(expected, names)
    except FailedError as error:
        return Expectation(**about, held=None, reason=str(error))
    except FormulaError as error:
        return Expectation(**about, held=False, reason=str(error))
    return Expectation(**about, held=bool(held), figures=_used(expected, names), **sides)


def _sides(expected: CompiledExpectation, names: Mapping[str, Any]) -> dict[str, Any]:
    """Both sides of a single comparison, and their difference, in the same unit."""
    tree = _tree(expected.formula)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return {}
    if type(tree.ops[0]) not in _COMPARISONS:
        return {}
    left, right = (
        Formula(ast.unparse(side)).value(names, FUNCTIONS)
        for side in (tree.left, tree.comparators[0])
    )
    if isinstance(left, Amount):
        return _compared(left.value, left.within(right), left.unit.text)
    if isinstance(right, Amount):
        return _compared(right.within(left), right.value, right.unit.text)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _compared(left, right, "")
    return {}


def _compared(left: float, right: float, unit: str) -> dict[str, Any]:
    try:
        difference = float(left) - float(right)
    except OverflowError:  # an int may be larger
        return {}
    if not math.isfinite(difference):
        return {}
    return {"left": left, "right": right, "difference": difference, "unit": unit}


def _used(expected: CompiledExpectation, names: Mapping[str, Any]) -> dict[str, FigureValue]:
    """The figures in a formula, alone or as arguments of functions, as it names them."""
    found: dict[str, FigureValue] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            formula = Formula(ast.unparse(node))
            try:
                value = formula.value(names, FUNCTIONS)
            except FormulaError:  # it has a name that a loop binds, or is a function
                value = None
            if isinstance(value, Amount) and formula.text not in expected.literals:
                found[expected.written(node)] = FigureValue(value=value.value, unit=value.unit.text)
                return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(_tree(expected.formula))
    return found


def _tree(formula: Formula) -> ast.expr:
    return ast.parse(formula.text.strip(), mode="eval").body
