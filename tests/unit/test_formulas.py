# SPDX-License-Identifier: GPL-2.0-only
"""Formulas: what they can say, and that they can do nothing else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mptcplab.formulas.formula import Formula, FormulaError, fill, names_in


def test_the_names_of_a_formula_are_those_that_it_does_not_bind() -> None:
    formula = Formula("all([median(goodput, rate=r) > least for r in rate])")
    assert formula.names == {"goodput", "rate", "least"}
    assert formula.functions == {"all", "median"}
    # and the constants of its keywords
    formula = Formula("median(x, part='a', of=1) + median(x, part=b) + max([median(x, part='c')])")
    assert formula.constants("part") == {"a", "c", None}
    assert formula.constants("of") == {1}
    assert formula.constants("x") == set()


def test_a_formula_can_be_evaluated_with_other_values() -> None:
    formula = Formula("[round(t.x * max(x, least) ** 2, 1) for x in rates if x != 3] == wanted")
    assert formula.value({"rates": [1, 3], "least": 2, "t": {"x": 0.5}, "wanted": [2.0]}) is True
    assert formula.value({"rates": [2], "least": 1, "t": {"x": 1.0}, "wanted": [2.0]}) is False
    with pytest.raises(FormulaError, match="unknown name rates"):
        formula.value({})
    # it looks into tables
    names = {"paths": {"5g": {"share": 0.25}, "lte": {"share": 0.75}}}
    assert Formula("paths['5g'].share + paths.lte.share").value(names) == 1
    with pytest.raises(FormulaError, match=r"paths\.wifi: unknown; known: 5g, lte"):
        Formula("paths.wifi.share").value(names)


def test_a_name_of_a_value_is_not_that_of_a_function() -> None:
    assert Formula("max(max, min)").value({"max": 1, "min": 2}) == 2
    with pytest.raises(FormulaError, match="unknown function few"):
        Formula("few(1)").value({"few": 5})


@pytest.mark.parametrize(
    "text",
    [
        *("(x for x in xs) == [1, 2]", "len(x for x in xs) == 2", "(x for x in xs)[1] == 2"),
        *("[max(all) for all in [(x for x in xs)]] == [2]", "{x: -x for x in xs}[2] == -2"),
        *("[a + b for a, b in zip(xs, xs)] == [2, 4]", "xs[1:] + [*xs] == [2, 1, 2]"),
        *("[x > 1 and 'more' or 'less' for x in xs][0] == 'less'", "0 < xs[0] < xs[1] != 3"),
        "f'{xs} {xs[0]:>3}' == '[1, 2]   1'",
    ],
)
def test_lists_tables_and_texts_are_those_of_python(text: str) -> None:
    assert Formula(text).value({"xs": [1, 2]}) is True


@pytest.mark.parametrize(
    "text",
    [
        "().__class__",
        "'a'.join(['b'])",
        "__import__('os')",
        "open('/etc/passwd')",
        "(lambda: 1)()",
        "~a",
        "f'{a.__class__}'",
        "a.real",
        "[1 for list[0] in [1]]",
        "[x async for x in list]",
        "(b := 1)",
        "max(**{'key': len})",
        "__builtins__.open",
    ],
)
def test_a_formula_reaches_nothing_else(text: str) -> None:
    with pytest.raises(FormulaError):
        Formula(text).value({"a": 1, "list": []})


@pytest.mark.parametrize("text", ["", "a =", "a = 1", "import os", "a; b", "1 +"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(FormulaError, match="not a formula"):
        Formula(text)


@pytest.mark.parametrize("text", ["1 / a", "a + 'x'", "b", "[1][5]", "zip([1], [1, 2])", "f(a)"])
def test_what_has_no_value_says_why(text: str) -> None:
    with pytest.raises(FormulaError) as caught:
        Formula(text).value({"a": 0})
    assert str(caught.value)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"),
        ("{rtt / 2}ms", "15.0ms"),
        ("{queue}", 300),
        ("{round(rate * 1e6 * 20 / 8000)}B", "25000B"),
        ("{'x' if queue > 100 else \"y\"}", "x"),
        (r"\{queue}\n", r"\300\n"),  # backslashes around formulas are themselves
    ],
)
def test_a_text_is_filled_with_values(text: str, filled: object) -> None:
    values = {"rtt": 30, "queue": 300, "rate": 10}
    assert names_in(text) == {name for name in values if name in text}
    assert fill(text, values) == filled


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-" * 5000 + "1", "too many nested parts"),
        ("(" * 250 + "1" + ")" * 250, "too many nested"),
        ("0" + "+1" * 5000, "too many nested parts"),
        ("9" * 5000, "Exceeds the limit"),
        ("[0] * 10 ** 15", "does not fit into the memory"),
        ("9 ** 9 ** 9", "too large"),
    ],
)
def test_a_formula_for_which_python_is_too_small_is_refused(text: str, told: str) -> None:
    """Some of these ended the program."""
    with pytest.raises(FormulaError, match=told):
        Formula(text).value({})
    with pytest.raises(FormulaError):
        fill(f"{{{text}}}ms", {})


@pytest.mark.parametrize(
    "text",
    [
        *("{r'}mbit", "{r}'''", "a''' + '{r", "{r}\0", "{" + "-" * 5000 + "r}"),
        *("{", "{}", "{r", "r}", "{1 +}"),
    ],
)
def test_a_text_that_is_no_template_is_told(text: str) -> None:
    for read in (lambda: fill(text, {"r": 10}), lambda: names_in(text)):
        with pytest.raises(FormulaError, match="not a text with"):
            read()


def test_the_form_of_a_value_is_kept_and_reaches_nothing_else() -> None:
    assert fill("{a:.1f}", {"a": 1}) == "1.0"
    # it was put into "{:...}", and so could end that, and begin another
    with pytest.raises(FormulaError, match="Invalid format specifier"):
        fill("{a:{form}}", {"a": 1, "form": "}{0.__class__"})


def test_backslashes_around_formulas_are_themselves() -> None:
    assert fill(r"\{a}\n", {"a": 1}) == r"\1\n"


_NAMES = {"a": 3, "b": -2.5, "s": "text", "l": [1, 2, 3], "t": {"x": 1, "y": None}}
_ATOMS = st.sampled_from(
    [
        *(*_NAMES, "0", "1", "-1", "1e308", "''", "'%9d'", "[]", "()", "{}", "None"),
        *("True", "range(9)", "zip(l, l)", "t.x", "t['y']", "max", "nothing"),
        *("float", "l[5]"),
    ]
)
_BETWEEN = ("+", "-", "*", "/", "//", "%", ">>", "|", "and", "in", "<", "@")
_FORMS = [
    *(f"{{0}} {each} {{1}}" for each in _BETWEEN),
    *("-{0}", "not {0}", "~{0}", "[{0}, {1}]", "{{{0}: {1}}}", "{{{0}, {1}}}", "{0}[{1}]"),
    *("{0}[{1}:{0}]", "{0}.x", "{0}({1})", "{0} if {1} else {0}", "lambda: {0}", "max({0}, {1})"),
    *("sum({0})", "len({0})", "round({0}, {1})", "range({0}, {1})", "zip({0}, {1})", "list({0})"),
    *("transposed({0})", "[x for x in {0} if {1}]", "{{x: {0} for x in {1}}}", "f'{{{0}}}'"),
    *("f'{{{0}:{1}}}'", "all({0})", "abs({0})", "max({0}, key={1})", "max(*{0})", "max(**{0})"),
    *("(x := {0})", "{0}.__class__", "dict({0})", "set({0})", "[*{0}]", "{{**{0}}}", "(yield {0})"),
]


def _formed(form: str, one: str, other: str) -> str:
    return form.format(f"({one})", f"({other})")


_FORMULAS = st.recursive(
    _ATOMS, lambda inner: st.builds(_formed, st.sampled_from(_FORMS), inner, inner), max_leaves=8
)


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(_FORMULAS)
def test_any_formula_has_a_value_or_an_error_that_says_why(text: str) -> None:
    with contextlib.suppress(FormulaError):
        Formula(text).value(_NAMES)
    with contextlib.suppress(FormulaError):
        fill(f"x{{{text}}}", _NAMES)
