# SPDX-License-Identifier: GPL-2.0-only
"""Formulas in files: Python expressions that can compute and compare, and nothing else.

A formula is compiled to Python without builtins: it calls the given functions only, and an
attribute is the key of a table.
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

from mptcplab.mistakes import suggestion

Functions = Mapping[str, Callable[..., Any]]

#: How many parts may be nested: for more, Python's stack may not be enough.
MAX_DEPTH = 100
# How many known names a message lists.
_MOST_LISTED = 20


class FormulaError(ValueError):
    """A formula that cannot be read or evaluated, and why."""


class UndefinedError(FormulaError):
    """A number that does not exist, such as a ratio to nothing: no fault of the formula."""


class MissingError(FormulaError):
    """A formula needs something that does not exist, such as a figure that a run does not have."""


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


class Formula:
    def __init__(self, text: str) -> None:
        """Raises FormulaError if `text` is not an expression."""
        self.text = text
        self._tree = _read(text.strip(), "not a formula")

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that it uses and does not bind itself."""
        return _free_names(self._tree)

    @cached_property
    def functions(self) -> set[str]:
        """The names of the functions that it calls."""
        return {
            node.func.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }

    def constants(self, keyword: str) -> set[Any]:
        """The constants that its calls give to a keyword; None stands for a computed value."""
        return {
            found.value.value if isinstance(found.value, ast.Constant) else None
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call)
            for found in node.keywords
            if found.arg == keyword
        }

    def value(self, names: Mapping[str, Any], functions: Functions = BASICS) -> Any:
        """Its value. Raises FormulaError if there is none: MissingError if something is missing,
        UndefinedError for a division by zero.
        """
        return _value(self._tree, names, functions)


def fill(text: str, names: Mapping[str, Any]) -> Any:
    """A text with each {formula} replaced by its value; if it is only one formula, that value.

    "{rtt / 2}ms" with an rtt of 30 is "15.0ms". Raises FormulaError.
    """
    if "{" not in text and "}" not in text:
        return text
    whole = _template(text)
    tree: ast.expr = whole
    if len(whole.values) == 1 and isinstance(only := whole.values[0], ast.FormattedValue):
        tree = only if only.format_spec else only.value
    return _value(tree, names, BASICS)


def names_in(text: str) -> Collection[str]:
    """The names that the formulas in a text (see `fill`) use. Raises FormulaError."""
    return _free_names(_template(text)) if "{" in text or "}" in text else set()


def _value(tree: ast.expr, names: Mapping[str, Any], functions: Functions) -> Any:
    called = {_called(name): function for name, function in functions.items()}
    known = {**functions, **names, **called, _LOOKED_UP: _looked_up, _POWER: _power}
    known["__builtins__"] = {}
    try:
        return eval(_compiled(tree), known)
    except FormulaError:
        raise
    except RecursionError:
        raise FormulaError(_TOO_DEEP) from None
    except ZeroDivisionError:
        raise UndefinedError("division by zero") from None
    except NameError as error:
        name = error.name or str(error).split("'")[1]
        kind = "function" if name.endswith("()") else "name"
        raise FormulaError(f"unknown {kind} {name.removesuffix('()')}") from None
    except KeyError as error:
        raise FormulaError(f"there is no {error}") from None
    except MemoryError:
        raise FormulaError("its value does not fit into the memory") from None
    except (ArithmeticError, IndexError, SyntaxError, TypeError, ValueError) as error:
        raise FormulaError(str(error)) from None


def _called(name: str) -> str:
    """The name of a function where names of values are: no value can have it."""
    return f"{name}()"


@lru_cache(maxsize=1024)
def _compiled(tree: ast.expr) -> CodeType:
    python = ast.fix_missing_locations(ast.Expression(_Compilable().visit(copy.deepcopy(tree))))
    with warnings.catch_warnings(action="ignore"):  # about values that cannot be called, and so on
        return compile(python, "formula", "eval")


class _Compilable(ast.NodeTransformer):
    """A formula as Python: attributes become keys, and functions get names that no value has."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        is_set = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if is_set or not isinstance(node, _POSSIBLE):
            raise FormulaError(f"{type(node).__name__} is not possible in a formula")
        return super().generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        key, place = ast.Constant(node.attr), ast.Constant(ast.unparse(node))
        function = ast.Name(_LOOKED_UP, ast.Load())
        return ast.Call(function, [self.visit(node.value), key, place], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name):
            raise FormulaError("a formula calls functions by their names")
        node.func.id = _called(node.func.id)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if not isinstance(node.op, ast.Pow):
            return self.generic_visit(node)
        values = [self.visit(node.left), self.visit(node.right)]
        return ast.Call(ast.Name(_POWER, ast.Load()), values, [])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        # a list can be iterated more than once
        return self.generic_visit(ast.ListComp(node.elt, node.generators))


# All but functions, assignments, and ~, which is true for both true and false.
_POSSIBLE = (
    *(ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.UnaryOp),
    *(ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set, ast.Tuple, ast.Name, ast.Starred),
    *(ast.FormattedValue, ast.JoinedStr, ast.Slice, ast.Subscript, ast.comprehension, ast.keyword),
    *(ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.Not, ast.UAdd, ast.USub),
)
_LOOKED_UP, _POWER = _called("looked up "), _called("power ")
_TOO_DEEP = "too many nested parts"


def _power(base: Any, exponent: Any) -> Any:
    # 9 ** 9 ** 9 would take hours and gigabytes: beyond a float's 1024 bits, it is one
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * exponent > 1024:
        base = float(base)
    try:
        return base**exponent
    except OverflowError:
        raise FormulaError("a power is too large for a number") from None


def _looked_up(table: Any, key: str, place: str) -> Any:
    if not isinstance(table, Mapping):
        raise FormulaError(f"{place}: {place.removesuffix(f'.{key}')} is not a table")
    if key not in table:
        known = list(map(str, table))
        more = ["..."] if len(known) > _MOST_LISTED else []
        listed = f"; known: {', '.join([*known[:_MOST_LISTED], *more])}"
        raise FormulaError(f"{place}: unknown{suggestion(key, known) or listed}")
    return table[key]


# the points of a sweep evaluate the same formulas
@lru_cache(maxsize=1024)
def _read(text: str, wrong: str) -> ast.expr:
    """The expression in a text. Raises FormulaError with a message that begins with `wrong`."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about invalid escape sequences
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except (RecursionError, MemoryError):  # which one depends on the depth
        message = _TOO_DEEP
    else:
        if _depth_is_possible(tree):
            return tree
        message = _TOO_DEEP
    raise FormulaError(f"{wrong}: {message}")


def _depth_is_possible(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in ast.iter_child_nodes(each)]
    return not level


def _template(text: str) -> ast.JoinedStr:
    # three quotes leave both kinds of single ones to the formulas
    tree = _read(f"rf'''{text}'''", "not a text with {formulas}")
    if not isinstance(tree, ast.JoinedStr):
        raise FormulaError("not a text with {formulas}: three quotes end it")
    return tree


@lru_cache(maxsize=1024)  # a template is asked for them at each point
def _free_names(tree: ast.AST) -> frozenset[str]:
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    bound = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    return frozenset(n.id for n in nodes if isinstance(n.ctx, ast.Load)) - bound
