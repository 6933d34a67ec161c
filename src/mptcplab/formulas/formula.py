# SPDX-License-Identifier: GPL-2.0-only
"""Formulas in files: Python expressions that can compute and compare, and nothing else.

simpleeval evaluates them: only the attributes of tables, no statements, and only the given
functions. Where it would only warn, this module raises an error. Every evaluation ends: numbers,
texts, lists and the number of steps are limited.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import operator
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import simpleeval

from mptcplab.mistakes import suggestion

Functions = Mapping[str, Callable[..., Any]]

#: How many steps a formula may take, including the values it inspects: a second or two.
MAX_WORK = 2_000_000
#: The longest list, in values, and text, in characters: simpleeval's limit for texts.
MAX_VALUES = simpleeval.MAX_STRING_LENGTH
#: More than a float can be.
MAX_BITS = 1024
#: How many parts may lie within each other: for more, Python's stack may not be enough.
MAX_DEPTH = 100
#: More digits than a float has change nothing.
_MAX_ROUNDED = 400
# How many known names a message lists.
_MOST_LISTED = 20


class FormulaError(ValueError):
    """A formula that cannot be read or evaluated, and why."""


class UndefinedError(FormulaError):
    """A number that does not exist, such as a ratio to nothing: no fault of the formula."""


class MissingError(FormulaError):
    """A formula needs something that does not exist, such as a figure that a run does not have."""


def _range(*ends: int) -> range:
    found = range(*ends)
    # its length may be more than len() can tell
    if found and (found[-1] - found[0]) // found.step >= MAX_VALUES:
        raise FormulaError(f"a range of more than {MAX_VALUES} values")
    return found


def _rounded(number: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > _MAX_ROUNDED:
        raise FormulaError(f"rounded to {digits} digits; at most {_MAX_ROUNDED} are possible")
    return round(number, digits)


#: What every formula can call.
BASICS: Functions = {
    "abs": abs,
    "all": all,
    "any": any,
    "len": len,
    "max": max,
    "min": min,
    "range": _range,
    "round": _rounded,
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
    def names(self) -> set[str]:
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
        """What its calls give to a keyword; None stands for what is computed."""
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
        return _value(self._tree, self.text, names, functions)

    def again(self, names: Mapping[str, Any], functions: Functions = BASICS) -> Any:
        """The same, many times as fast: for names and functions like those with which it has had a
        value. What is counted as a step is coarser, and never more.
        """
        with _reported():
            if self._code is not None:
                called = {_called(name): function for name, function in functions.items()}
                called[_COUNTED] = _Counter().counted
                known = {**functions, **called, **_CALLED_OPERATORS, **names}
                return eval(self._code, {**known, "__builtins__": {}})
        return self.value(names, functions)

    @cached_property
    def _code(self) -> CodeType | None:
        """The formula as Python; None if there is something in it that claims have no need of."""
        with contextlib.suppress(_NotCompilableError), warnings.catch_warnings(action="ignore"):
            tree = _Compilable().visit(copy.deepcopy(self._tree))
            return compile(ast.fix_missing_locations(ast.Expression(tree)), "formula", "eval")
        return None


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
    return _value(tree, text, names, BASICS)


def names_in(text: str) -> Collection[str]:
    """The names that the formulas in a text (see `fill`) use. Raises FormulaError."""
    return _free_names(_template(text)) if "{" in text or "}" in text else set()


def _value(tree: ast.expr, text: str, names: Mapping[str, Any], functions: Functions) -> Any:
    evaluator = _Evaluator(dict(functions), dict(names))
    with _reported():
        return evaluator.eval(text, previously_parsed=tree)


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """What goes wrong in an evaluation is a FormulaError."""
    try:
        yield
    except FormulaError:
        raise
    except simpleeval.InvalidExpression as error:
        raise FormulaError(str(error)) from None
    except RecursionError:
        raise FormulaError(_TOO_DEEP) from None
    except ZeroDivisionError:
        raise UndefinedError("division by zero") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NameError,
        TypeError,
        ValueError,
    ) as error:
        what = f"no {error} there" if isinstance(error, LookupError) else str(error)
        raise FormulaError(what) from None


def _called(name: str) -> str:
    """The name of a function or an operator where names of values are: no value can have it."""
    return f"{name}()"


#: The function through which lists go that are made or gone through.
_COUNTED = _called("counted ")


class _Counter:
    """Ends an evaluation that takes too many steps."""

    def __init__(self) -> None:
        self._work = 0

    def counted(self, value: Any) -> Any:
        if isinstance(value, list | tuple | range | str):
            self._work += len(value)
            if self._work > MAX_WORK:
                raise FormulaError(f"takes more than {MAX_WORK} steps")
        return value


class _NotCompilableError(Exception):
    pass


class _Compilable(ast.NodeTransformer):
    """The formula as Python that does no more than simpleeval would: it knows the same names, calls
    the same functions and operators, and attributes are the keys of tables.
    """

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _COMPILED):
            raise _NotCompilableError
        return super().generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Subscript(self.visit(node.value), ast.Constant(node.attr), ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if type(node.op) in _PLAIN:
            return self.generic_visit(node)
        function = ast.Name(_called(type(node.op).__name__), ast.Load())
        return _through_counter(
            ast.Call(function, [self.visit(node.left), self.visit(node.right)], [])
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name) or any(each.arg is None for each in node.keywords):
            raise _NotCompilableError
        function = ast.Name(_called(node.func.id), ast.Load())
        given = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        return _through_counter(ast.Call(function, [self.visit(each) for each in node.args], given))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        # simpleeval makes a list of it, which can be gone through more than once
        return self.visit_ListComp(ast.ListComp(node.elt, node.generators))

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        found = super().generic_visit(node)
        assert isinstance(found, ast.ListComp)
        for each in found.generators:
            each.iter = _through_counter(each.iter)
        return found


def _through_counter(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(_COUNTED, ast.Load()), [node], [])


# What formulas of claims consist of, and the operators that need no limits.
_PLAIN = (ast.Sub, ast.Div)
_COMPILED = (
    ast.expr_context,
    ast.operator,
    ast.Not,
    ast.UAdd,
    ast.USub,
    ast.boolop,
    ast.cmpop,
    ast.comprehension,
    ast.Name,
    ast.Constant,
    ast.UnaryOp,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.List,
    ast.Tuple,
    ast.Subscript,
)


class _Evaluator(simpleeval.EvalWithCompoundTypes):  # type: ignore[misc]
    """simpleeval, with attributes restricted to the keys of tables."""

    def __init__(self, functions: dict[str, Any], names: dict[str, Any]) -> None:
        super().__init__(_OPERATORS, functions, names)
        self._work = 0

    def _eval(self, node: ast.AST) -> Any:
        value = super()._eval(node)
        self._work += 1 + _size(value, MAX_WORK)
        if self._work > MAX_WORK:
            raise FormulaError(f"takes more than {MAX_WORK} steps")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise FormulaError(f"a number of more than {MAX_BITS} bits")
        return value

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        table = self._eval(node.value)
        if not isinstance(table, Mapping):
            raise FormulaError(f"{ast.unparse(node)}: {ast.unparse(node.value)} is not a table")
        if node.attr not in table:
            hint = suggestion(node.attr, list(map(str, table)))
            known = list(map(str, table))
            more = ["..."] if len(known) > _MOST_LISTED else []
            listed = hint or f"; known: {', '.join([*known[:_MOST_LISTED], *more])}"
            raise FormulaError(f"{ast.unparse(node)}: unknown{listed}")
        return table[node.attr]

    def _eval_formattedvalue(self, node: ast.FormattedValue) -> Any:
        # simpleeval would format the format specification itself, with attributes and all
        form = self._eval(node.format_spec) if node.format_spec else ""
        if re.search("[0-9]{4}", form):
            raise FormulaError(f"{form}: a form with at most 999 characters is expected")
        return format(self._eval(node.value), form) if form else self._eval(node.value)


def _size(value: Any, most: int) -> int:
    """How many values a value contains, at any depth; counting stops at `most`."""
    found, inside = 0, [value]
    while inside and found <= most:
        each = inside.pop()
        if isinstance(each, dict):
            each = each.values()
        elif not isinstance(each, list | tuple | set | range):
            continue
        found += len(each)
        if not isinstance(each, range):
            inside += each
    return found


def _times(a: Any, b: Any) -> Any:
    for many, other in ((a, b), (b, a)):
        if isinstance(many, list | tuple) and isinstance(other, int):
            most = MAX_VALUES // max(other, 1)
            if _size(many, most) > most:
                raise FormulaError(f"a list of more than {MAX_VALUES} values")
    return simpleeval.safe_mult(a, b)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > MAX_BITS:
        raise FormulaError(f"a number of more than {MAX_BITS} bits")
    return a**b


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str | bytes):
        raise FormulaError("a text has no remainder; what is in braces is filled in")
    return operator.mod(a, b)


def _inverted(a: Any) -> Any:
    # some versions of Python take them for 1 and 0, where ~ of both is true; others warn, or refuse
    if isinstance(a, bool):
        raise FormulaError("~ is for whole numbers; for true and false there is `not`")
    return ~a


_OPERATORS = simpleeval.DEFAULT_OPERATORS | {
    ast.Invert: _inverted,
    ast.Mult: _times,
    ast.Pow: _power,
    ast.Mod: _remainder,
}
_CALLED_OPERATORS = {_called(kind.__name__): found for kind, found in _OPERATORS.items()}
_TOO_DEEP = "too many parts within each other"


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


def _free_names(tree: ast.AST) -> set[str]:
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    bound = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    return {n.id for n in nodes if isinstance(n.ctx, ast.Load)} - bound
