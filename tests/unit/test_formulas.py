# SPDX-License-Identifier: GPL-2.0-only
"""Formulas: what they can say, and that they can do nothing else."""

from __future__ import annotations

import pytest

from mptcplab.spec.formulas import Formula, FormulaError, fill, names_in


def test_a_formula_computes_and_compares() -> None:
    assert Formula("2 * a + max(b) >= 7").value({"a": 2, "b": [1, 3]}) is True
    assert Formula("[x / 2 for x in rates if x > 10]").value({"rates": [10, 20, 30]}) == [10, 15]


def test_a_formula_looks_into_tables() -> None:
    names = {"paths": {"5g": {"share": 0.25}, "lte": {"share": 0.75}}}
    assert Formula("paths['5g'].share + paths.lte.share").value(names) == 1
    with pytest.raises(FormulaError, match=r"paths\.wifi: there are 5g, lte"):
        Formula("paths.wifi.share").value(names)


def test_the_names_of_a_formula_are_those_that_it_does_not_bind() -> None:
    formula = Formula("all([median(goodput, rate=r) > least for r in rate])")
    assert formula.names == {"goodput", "rate", "least"}
    assert formula.functions == {"all", "median"}


@pytest.mark.parametrize(
    "text",
    [
        "().__class__",
        "'a'.join(['b'])",
        "__import__('os')",
        "open('/etc/passwd')",
        "(lambda: 1)()",
        "9 ** 9 ** 9 ** 9",
        "'x' * 10 ** 9",
        "f'{a.__class__}'",
    ],
)
def test_a_formula_reaches_nothing_else(text: str) -> None:
    with pytest.raises(FormulaError):
        Formula(text).value({"a": 1})


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
    ],
)
def test_a_text_is_filled_with_values(text: str, filled: object) -> None:
    assert fill(text, {"rtt": 30, "queue": 300, "rate": 10}) == filled


def test_a_text_says_which_names_it_needs() -> None:
    assert names_in("{round(rate * buffer)}B") == {"rate", "buffer"}
    assert names_in("10ms") == set()


@pytest.mark.parametrize("text", ["{", "{}", "{a", "a}", "{1 +}"])
def test_a_text_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        fill(text, {"a": 1})
