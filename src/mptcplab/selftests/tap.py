# SPDX-License-Identifier: GPL-2.0-only
"""The output of the kernel's tests: the verdict on each, and how two runs of a script differ.

The scripts of the selftests end with TAP version 13, and KUnit prints KTAP, in which suites are
nested: both in the kernel's dialect (Documentation/dev-tools/ktap.rst).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["pass", "fail", "skip"]

_LINE = re.compile(
    r"^(?P<indent> *)(?P<not>not )?ok \d+ (?:- )?(?P<name>.*?)(?: # (?P<directive>.*))?\s*$"
)


@dataclass(frozen=True)
class Line:
    """A line with a result: its indent, the test, the verdict, and the comment after #."""

    indent: int
    name: str
    verdict: Verdict
    directive: str


def line(text: str) -> Line | None:
    """The result in a line, if there is one."""
    found = _LINE.match(text)
    if found is None:
        return None
    directive = found["directive"] or ""
    skipped = directive.upper().startswith("SKIP")
    verdict: Verdict = "fail" if found["not"] else "skip" if skipped else "pass"
    return Line(len(found["indent"]), " ".join(found["name"].split()), verdict, directive)


@dataclass(frozen=True)
class Result:
    """The verdicts of a script by the names of its tests, in their order.

    `remarks` are the lines about failures and skipped tests. `error` says why the script did not
    come to its end, "" if it did.
    """

    verdicts: Mapping[str, Verdict]
    remarks: tuple[str, ...] = ()
    error: str = ""


def parse(output: str, status: int) -> Result:
    """Reads the output of a script that ended with exit status `status`.

    A second test of the same name is called `NAME (2)`. A script that gave no results, or fewer
    than it announced, or failed although no test did, has not come to its end.
    """
    before, _, results = output.rpartition("\nTAP version 13\n")
    announced = re.match(r"1\.\.(\d+)$", results, re.MULTILINE)
    seen: Counter[str] = Counter()
    verdicts: dict[str, Verdict] = {}
    for each in filter(None, map(line, results.split("\n"))):
        # before it is the name of the script
        script, _, name = map(str.strip, each.name.partition(":"))
        if each.indent or not name or " " in script:
            continue
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        verdicts[name] = each.verdict
    error = ""
    if announced is None:
        error = f"it ended with status {status} and without results"
    elif int(announced[1]) != len(verdicts):
        error = f"it announced {announced[1]} results and gave {len(verdicts)}"
    elif status and "fail" not in verdicts.values():
        error = f"it ended with status {status} although no test failed"
    return Result(verdicts, tuple(_remarks(before or output)), error)


def _remarks(text: str) -> Iterator[str]:
    """Each line with [FAIL] or [SKIP], behind the title of its test if that is in a line above.

    With [FAIL] come the exit statuses of the two ends of a transfer, which 6.12 has a line below.
    """
    text = re.sub(r"\[FAIL\]\n(?=client exit code )", "[FAIL] ", text)
    title = ""
    for line in text.splitlines():
        words = " ".join(line.split())
        begins = re.match(r"\d{2,3} \S", words) is not None
        if begins:
            title = words
        if "[FAIL]" in words or "[SKIP]" in words:
            yield words if begins or not title else f"{title}: {words}"


def lost(before: Result, after: Result) -> list[str]:
    """The tests that passed in an earlier run of a script and do not now, that fail and did not, or
    that were skipped and are gone. A missing or skipped test does not pass.
    """
    found = []
    for name in dict.fromkeys([*before.verdicts, *after.verdicts]):
        match before.verdicts.get(name), after.verdicts.get(name):
            case ("pass", "fail" | "skip" | None) | ("skip" | None, "fail") | ("skip", None):
                found.append(name)
    return found
