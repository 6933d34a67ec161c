# SPDX-License-Identifier: GPL-2.0-only
"""Formulas in files: expressions of Python that can compute and compare, and nothing else.

They are evaluated by simpleeval, which knows no attribute of an object but that of a table, no
statement and no function but those that it is given. What it would only warn of is refused here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

import simpleeval

Functions = Mapping[str, Callable[..., Any]]

#: What every formula can call.
BASICS: Functions = {
    "abs": abs,
    "all": all,
    "any": any,
    "len": len,
    "max": max,
    "min": min,
    "range": range,
    "round": round,
    "sum": sum,
    "transposed": lambda lists: list(zip(*lists, strict=True)),
    "zip": lambda *lists: list(zip(*lists, strict=True)),
}


class FormulaError(ValueError):
    """A formula that cannot be read, or not be evaluated: why."""


class MissingError(FormulaError):
    """A formula needs something that does not exist, such as a figure that a run does not have."""


class Formula:
    """A formula that has been read; `names` are those that it uses and does not itself bind."""

    def __init__(self, text: str) -> None:
        """Raises FormulaError if `text` is no expression."""
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            message = error.msg if isinstance(error, SyntaxError) else str(error)
            raise FormulaError(f"not a formula: {message}") from None
        self.names = _free_names(self._tree)
        self.functions = {
            node.func.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }

    def value(self, names: Mapping[str, Any], functions: Functions = BASICS) -> Any:
        """Its value. Raises FormulaError if there is none, and MissingError if something lacks."""
        evaluator = _Evaluator(functions=dict(functions), names=dict(names))
        try:
            return evaluator.eval(self.text, previously_parsed=self._tree)
        except FormulaError:
            raise
        except simpleeval.InvalidExpression as error:
            raise FormulaError(str(error)) from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            what = f"no {error} there" if isinstance(error, LookupError) else str(error)
            raise FormulaError(what) from None


def fill(text: str, names: Mapping[str, Any]) -> Any:
    """A text in which each {formula} is replaced by its value; if it is nothing else, the value.

    "{rtt / 2}ms" with an rtt of 30 is "15.0ms". Raises FormulaError.
    """
    if "{" not in text and "}" not in text:
        return text
    whole = _template(text)
    parts = whole.values
    if len(parts) == 1 and isinstance(parts[0], ast.FormattedValue):
        return Formula(ast.unparse(parts[0].value)).value(names)
    evaluator = Formula(ast.unparse(whole))
    return evaluator.value(names)


def names_in(text: str) -> Collection[str]:
    """The names that the formulas in a text use, as `fill` reads it. Raises FormulaError."""
    return _free_names(_template(text)) if "{" in text or "}" in text else set()


class _Evaluator(simpleeval.EvalWithCompoundTypes):  # type: ignore[misc]
    """Where simpleeval reaches the attributes of any object, here are the keys of tables alone."""

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        table = self._eval(node.value)
        if not isinstance(table, Mapping):
            raise FormulaError(f"{ast.unparse(node)}: {ast.unparse(node.value)} is no table")
        if node.attr not in table:
            raise FormulaError(f"{ast.unparse(node)}: there are {', '.join(map(str, table))}")
        return table[node.attr]


def _template(text: str) -> ast.JoinedStr:
    try:
        # three quotes leave both kinds of single ones to the formulas
        tree = ast.parse(f"f'''{text}'''", mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"not a text with {{formulas}}: {error.msg}") from None
    assert isinstance(tree, ast.JoinedStr)
    return tree


def _free_names(tree: ast.AST) -> set[str]:
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    bound = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    return {n.id for n in nodes if isinstance(n.ctx, ast.Load)} - bound
