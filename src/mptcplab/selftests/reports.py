# SPDX-License-Identifier: GPL-2.0-only
"""What is shown of the selftests: a table, TAP, JUnit, and a line for each test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from mptcplab.report import junit
from mptcplab.selftests.campaign import Suite
from mptcplab.selftests.expected_failures import JudgedTest
from mptcplab.selftests.tap import Result


def show(suites: Sequence[Suite], console: Console) -> None:
    """A table of all that was run; below it every test that did not pass, and why."""
    table = Table(box=None, pad_edge=False)
    for heading in ("script", "tests"):
        table.add_column(heading)
    for heading in ("virtual", "wall", "CPU", "repeats"):
        table.add_column(heading, justify="right")
    for suite in suites:
        ran = suite.ran
        times = (f"{ran.virtual_s:.0f} s", f"{ran.wall_s:.0f} s", f"{ran.cpu_s:.0f} s")
        table.add_row(suite.title, counts(ran.result), *times, _repeats(suite))
    console.print(table)
    for suite in suites:
        excused = dict.fromkeys(c.why for c in suite.cases if c.outcome == "excused")
        lines = [*suite.ran.result.remarks, *(f"excused: {why}" for why in excused)]
        if lines:
            console.print("\n".join(["", suite.title, *(f"  {line}" for line in lines)]))
    for suite in suites:
        for problem in suite.problems():
            console.print(f"problem: {suite.title}: {problem}")


def counts(result: Result) -> str:
    """How many tests passed, failed and were skipped."""
    found = Counter(result.verdicts.values())
    words = [f"{found['pass']} pass"]
    words += [f"{found[verdict]} {verdict}" for verdict in ("fail", "skip") if found[verdict]]
    return ", ".join(words) + (", not ended" if result.error else "")


def _repeats(suite: Suite) -> str:
    if not suite.repeats:
        return ""
    different = f", {len(suite.differs)} differ" if suite.differs else " the same"
    return f"{suite.repeats}{different}"


def lines(suites: Sequence[Suite]) -> Iterator[str]:
    """A line for each test: script, test, verdict, how it was judged, why."""
    for suite in suites:
        for case in suite.points():
            verdict = suite.ran.result.verdicts.get(case.name, "none")
            yield "\t".join((suite.title, case.name, verdict, case.outcome, _line(case.why)))


def tap(suites: Sequence[Suite]) -> str:
    """A document in TAP, version 13, with a subtest for each script.

    A test that did not pass, and need not, is a TODO with the reason, which harnesses do not take
    for a failure.
    """
    found = ["TAP version 13", f"1..{len(suites)}"]
    for number, suite in enumerate(suites, 1):
        points = list(suite.points())
        found += [f"# Subtest: {_name(suite.title)}", f"    1..{len(points)}"]
        for place, case in enumerate(points, 1):
            found += [f"    {line}" for line in _point(place, case)]
        verdict = "not ok" if suite.problems() else "ok"
        found.append(f"{verdict} {number} - {_name(suite.title)}")
    return "\n".join([*found, ""])


def _point(number: int, case: JudgedTest) -> Iterator[str]:
    name = f"{number} - {_name(case.name)}"
    match case.outcome:
        case "passed":
            yield f"ok {name}"
        case "skipped":
            yield f"ok {name} # SKIP {_line(case.why)}"
        case "excused":
            yield f"not ok {name} # TODO {_line(case.why)}"
        case "wrong":
            yield f"not ok {name}"
            yield from (f"# {line}" for line in case.why.splitlines())


def _name(text: str) -> str:
    """A text as a name in TAP, where # begins a directive."""
    return _line(text).replace("#", r"\#")


def _line(text: str) -> str:
    return " ".join(text.split())


def junit_report(suites: Sequence[Suite], command: str) -> bytes:
    """A JUnit report with a suite for each script; `command` runs it all again."""
    return junit.report(
        [
            junit.Suite(suite.title, [_case(suite, e, command) for e in suite.points()])
            for suite in suites
        ]
    )


def _case(suite: Suite, case: JudgedTest, command: str) -> junit.JunitCase:
    if case.outcome == "passed":
        return junit.JunitCase(case.name, "passed")
    if case.outcome != "wrong":
        return junit.JunitCase(case.name, "skipped", message=_line(case.why))
    result = suite.ran.result
    remarks = [line for line in result.remarks if case.name in line]
    return junit.JunitCase(
        case.name,
        "failure" if case.name in result.verdicts else "error",
        "\n".join([case.why, *remarks, f"repeat: {command}"]),
        message=_line(case.why),
        type="worse",
    )
