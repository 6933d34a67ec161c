# SPDX-License-Identifier: GPL-2.0-only
"""Reads the results of KUnit: KTAP lines, as a kernel writes them on its console."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mptcplab.selftests import tap

_SUBTEST = re.compile(r"(?P<indent> *)# Subtest: (?P<name>\S+)")


@dataclass
class KtapCase:
    """The result of a test case, and the lines about it; `skipped` says why it was skipped."""

    passed: bool
    skipped: str = ""
    lines: list[str] = field(default_factory=list)


def results(console: str) -> Mapping[tuple[str, str], KtapCase]:
    """The result of each case, by suite and name. A case with parameters is one case."""
    found: dict[tuple[str, str], KtapCase] = {}
    suite, suite_indent = "", 0
    lines: list[str] = []
    for line in console.splitlines():
        lines.append(line)
        subtest, result = _SUBTEST.match(line), tap.line(line)
        if subtest and (not suite or len(subtest["indent"]) <= suite_indent):
            suite, suite_indent = subtest["name"], len(subtest["indent"])
            lines = []
        elif result and suite and result.indent == suite_indent:
            skipped = (result.directive[4:].strip() or "SKIP") if result.verdict == "skip" else ""
            found[suite, result.name] = KtapCase(result.verdict != "fail", skipped, lines)
            lines = []
        elif result and result.indent < suite_indent:
            suite = ""  # the result of the suite as a whole
    return found
