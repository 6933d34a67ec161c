# SPDX-License-Identifier: GPL-2.0-only
"""Shows whether runs meet expectations: a line for each, and a JUnit report for CI.

The report has a test case for each expectation, with a failure if it is not met, and an error if
runs failed.
"""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.formulas.amounts import text_of
from mptcplab.mistakes import printable
from mptcplab.report import junit as junit_report
from mptcplab.report.junit import JunitCase, Suite
from mptcplab.runs.entries import Expectation

#: With more expectations that are met than these, only their number is shown.
MOST_HELD = 40


def lines(found: Sequence[Expectation]) -> list[str]:
    """A line for each expectation: held or not, the figures, and by how much."""
    held = [each for each in found if each.held]
    shown = found if len(held) <= MOST_HELD else [each for each in found if not each.held]
    texts = [f"{_verdict(each) + ':':<9} {_line(each)}" for each in shown]
    if len(shown) < len(found):
        texts.append(f"held:     {len(held)} of {len(found)}")
    return texts


def title(found: Expectation) -> str:
    """An expectation, and where it is about one of several rows, or a point of a sweep."""
    where = [] if found.of is None else [found.of]
    where += [f"{name}={value}" for name, value in found.point.items()]
    text = printable(found.expectation)
    return f"{text} ({', '.join(where)})" if where else text


def figures(found: Expectation) -> str:
    """What the runs have, and by how much that is more or less than expected."""
    if found.reason is not None:
        return found.reason
    named = {name: text_of(each.value, each.unit) for name, each in found.figures.items()}
    if found.left is None or found.right is None or found.difference is None:
        return ", ".join(f"{name} {text}" for name, text in named.items())
    left, right = text_of(found.left, found.unit), text_of(found.right, found.unit)
    difference = abs(found.difference)
    if not difference:
        text = f"{left}, the same as {right}"
    else:
        share = f" ({_percent(100 * difference / abs(found.right))} %)" if found.right else ""
        direction = "above" if found.difference > 0 else "below"
        text = f"{left}, {text_of(difference, found.unit)}{share} {direction} {right}"
    further = [f"{name} {value}" for name, value in named.items() if value not in (left, right)]
    return f"{text}; {', '.join(further)}" if further else text


def junit(found: Sequence[Expectation], suite: str, command: str) -> bytes:
    """A JUnit report. `suite` is the name of the test suite, and `command` repeats the runs."""
    return junit_report.report([Suite(suite, [_case(each, command) for each in found])])


def _case(found: Expectation, command: str) -> JunitCase:
    if found.held:
        return JunitCase(title(found), "passed", figures(found))
    about = [f"expected: {title(found)}", f"figures:  {figures(found)}", f"repeat:   {command}"]
    return JunitCase(
        title(found),
        "error" if found.held is None else "failure",
        "\n".join(about),
        message=f"{_verdict(found)}: {figures(found)}",
        type=_verdict(found),
    )


def _line(found: Expectation) -> str:
    shown = figures(found)
    return f"{title(found)}: {shown}" if shown else title(found)


def _percent(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _verdict(found: Expectation) -> str:
    return {True: "held", False: "not held", None: "unknown"}[found.held]
