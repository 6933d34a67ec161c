# SPDX-License-Identifier: GPL-2.0-only
"""Formulas in files: Python expressions that can compute and compare, and nothing else.

A formula is compiled to Python without builtins: it calls the given functions only, and an
attribute is the key of a table. Every evaluation ends: numbers, texts, lists and the number of
steps are limited.
"""

from __future__ import annotations

import ast
import copy
import operator
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

from mptcplab.mistakes import suggestion

Functions = Mapping[str, Callable[..., Any]]

#: How many steps a formula may take, including the values it inspects: a second or two.
MAX_WORK = 2_000_000
#: The longest list, in values, and text, in characters.
MAX_VALUES = 100_000
#: A float cannot be larger.
MAX_BITS = 1024
#: How many parts may be nested: for more, Python's stack may not be enough.
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
    known = {**functions, **names, **called, **_INTERNAL, **_Steps().functions()}
    try:
        return eval(_compiled(tree), {**known, "__builtins__": {}})
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
    except (ArithmeticError, IndexError, SyntaxError, TypeError, ValueError) as error:
        raise FormulaError(str(error)) from None


def _called(name: str) -> str:
    """The name of a function where names of values are: no value can have it."""
    return f"{name}()"


class _Steps:
    """Ends an evaluation that takes too many steps."""

    def __init__(self) -> None:
        self._taken = 0

    def functions(self) -> Functions:
        return {"called ()": self._applied, "counted ()": self._counted, "looped ()": self._looped}

    def _take(self, steps: int) -> None:
        self._taken += steps
        if self._taken > MAX_WORK:
            raise FormulaError(f"it takes more than {MAX_WORK} steps")

    def _counted(self, value: Any) -> Any:
        """A value, which Python may inspect as a whole in one step of the formula."""
        if type(value) in _CONTAINERS:
            self._take(1 + _size(value, MAX_WORK))
        return value

    def _looped(self, values: Any, steps: int) -> Any:
        """The values over which a comprehension iterates; each takes some steps."""
        if type(values) in _CONTAINERS:
            self._take(steps * (1 + len(values)))
        return values

    def _applied(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
        for each in (*values, *named.values()):
            if type(each) in _CONTAINERS:
                self._counted(each)
        return self._counted(function(*values, **named))


@lru_cache(maxsize=1024)
def _compiled(tree: ast.expr) -> CodeType:
    python = ast.fix_missing_locations(ast.Expression(_Compilable().visit(copy.deepcopy(tree))))
    with warnings.catch_warnings(action="ignore"):  # about values that cannot be called, and so on
        return compile(python, "formula", "eval")


class _Compilable(ast.NodeTransformer):
    """A formula as Python: each step that may take longer calls a function that counts it."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _POSSIBLE):
            raise FormulaError(f"{type(node).__name__} is not possible in a formula")
        found = super().generic_visit(node)
        return _internal("counted", found) if isinstance(found, _COUNTED) else found

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        key, place = ast.Constant(node.attr), ast.Constant(ast.unparse(node))
        return _internal("looked up", self.visit(node.value), key, place)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if not isinstance(node.op, ast.Invert):
            return self.generic_visit(node)
        return _internal("Invert", self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if type(node.op) not in _OPERATORS:
            raise FormulaError(f"{type(node.op).__name__} is not possible in a formula")
        function = _name(f"{type(node.op).__name__} ")
        return _internal("called", function, self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        left, *others = (
            _internal("counted", self.visit(each)) for each in (node.left, *node.comparators)
        )
        return ast.Compare(left, node.ops, others)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name) or any(each.arg is None for each in node.keywords):
            raise FormulaError("a formula calls functions by their names, without **")
        named = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        return _internal("called", _name(node.func.id), *map(self.visit, node.args), named=named)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return _internal("joined", *map(self.visit, node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        value = _internal("counted", self.visit(node.value))
        if node.format_spec is None:
            return value
        return _internal("formatted", value, self.visit(node.format_spec))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        # a list can be iterated more than once
        return self.visit_ListComp(ast.ListComp(node.elt, node.generators))

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        loops = self._loops(node)
        return _internal("counted", ast.ListComp(self.visit(node.elt), loops))

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        loops = self._loops(node)
        found = ast.DictComp(self.visit(node.key), self.visit(node.value), loops)
        return _internal("counted", found)

    def _loops(self, node: ast.ListComp | ast.DictComp) -> list[ast.comprehension]:
        steps = ast.Constant(sum(1 for _ in ast.walk(node)))
        for each in node.generators:
            targets = ast.walk(each.target)
            if each.is_async or not all(isinstance(target, _TARGETS) for target in targets):
                raise FormulaError("a comprehension is [VALUE for NAME in LIST if CONDITION]")
        return [
            ast.comprehension(
                each.target,
                _internal("looped", self.visit(each.iter), steps),
                list(map(self.visit, each.ifs)),
                0,
            )
            for each in node.generators
        ]


def _name(function: str) -> ast.expr:
    return ast.Name(_called(function), ast.Load())


def _internal(function: str, *arguments: ast.expr, named: Sequence[ast.keyword] = ()) -> ast.expr:
    """A call of a function of this module; the space keeps formulas from calling it."""
    return ast.Call(_name(f"{function} "), list(arguments), list(named))


_NESTED = frozenset({list, tuple, dict, set, range})
_CONTAINERS = _NESTED | {str}
# What is compiled as it is; values of the latter are new, or parts of others.
_POSSIBLE = (
    *(ast.Name, ast.Constant, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Starred, ast.Slice),
    *(ast.expr_context, ast.Not, ast.UAdd, ast.USub, ast.boolop),
    *(_COUNTED := (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Subscript)),
)
_TARGETS = (ast.Name, ast.Tuple, ast.List, ast.expr_context)


def _size(value: Any, most: int) -> int:
    """How many characters, or values at any depth, a value contains; counting stops at `most`."""
    found, inside = 0, [value]
    while inside and found <= most:
        each = inside.pop()
        found += len(each)
        if isinstance(each, dict):
            each = [*each, *each.values()]
        if not isinstance(each, str | range):
            inside += [part for part in each if type(part) in _NESTED]
    return found


def _looked_up(table: Any, key: str, place: str) -> Any:
    if not isinstance(table, Mapping):
        raise FormulaError(f"{place}: {place.removesuffix(f'.{key}')} is not a table")
    if key not in table:
        known = list(map(str, table))
        more = ["..."] if len(known) > _MOST_LISTED else []
        listed = f"; known: {', '.join([*known[:_MOST_LISTED], *more])}"
        raise FormulaError(f"{place}: unknown{suggestion(key, known) or listed}")
    return table[key]


def _joined(*parts: Any) -> str:
    text = "".join(map(str, parts))
    if len(text) > MAX_VALUES:
        raise FormulaError(f"a text of more than {MAX_VALUES} characters")
    return text


def _formatted(value: Any, form: str) -> str:
    if re.search("[0-9]{4}", form):
        raise FormulaError(f"{form}: a form with at most 999 characters is expected")
    return format(value, form)


def _sum(a: Any, b: Any) -> Any:
    if {type(a), type(b)} <= _CONTAINERS and len(a) + len(b) > MAX_VALUES:
        raise FormulaError(f"a list or text of more than {MAX_VALUES} values")
    return a + b


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        _check_bits(a.bit_length() + b.bit_length() - 1)
    for many, other in ((a, b), (b, a)):
        if isinstance(many, str | list | tuple) and isinstance(other, int):
            most = MAX_VALUES // max(other, 1)
            if _size(many, most) > most:
                raise FormulaError(f"a list or text of more than {MAX_VALUES} values")
    return a * b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        _check_bits(a.bit_length() * b)
    return a**b


def _shifted(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        _check_bits(a.bit_length() + b)
    return a << b


def _check_bits(count: int) -> None:
    if count > MAX_BITS:
        raise FormulaError(f"a number of more than {MAX_BITS} bits")


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str | bytes):
        raise FormulaError("a text has no remainder; write values into it with braces")
    return a % b


def _inverted(a: Any) -> Any:
    # some versions of Python take them for 1 and 0, where ~ of both is true; others warn, or refuse
    if isinstance(a, bool):
        raise FormulaError("~ is for whole numbers; for true and false there is `not`")
    return ~a


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _sum,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.LShift: _shifted,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_INTERNAL = {
    **{_called(f"{kind.__name__} "): function for kind, function in _OPERATORS.items()},
    _called("Invert "): _inverted,
    _called("looked up "): _looked_up,
    _called("joined "): _joined,
    _called("formatted "): _formatted,
}
_TOO_DEEP = "too many nested parts"


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
