# SPDX-License-Identifier: GPL-2.0-only
"""The selftests that a scheduler of ours is expected not to pass: expected.toml.

The list must be true: an expected failure that does not happen is a problem. docs/selftests.md
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import pydantic
from pydantic import ConfigDict, Field, TypeAdapter

from mptcplab.selftests.jobs import DEFAULT_SCHEDULER
from mptcplab.selftests.tap import Result, lost

#: The list.
FILE = Path(__file__).with_name("expected.toml")

_STRICT = ConfigDict(extra="forbid")


@pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)
class ExpectedFailure:
    """Tests of a script that a scheduler does not pass, and why; * in a name: any letters.

    With `late_ms` they may pass, depending on the seed, or exceed their limit of time by at most
    `late_ms`, and may not fail otherwise. Failures of `default` happen upstream, too, and may
    happen with every scheduler.
    """

    scheduler: str
    script: str
    tests: tuple[str, ...] = Field(min_length=1)
    reason: str = Field(pattern=r"\S")
    late_ms: int = Field(default=0, ge=0, strict=True)


@pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)
class Expectations:
    """`forms` are schedulers with parameters, which run besides the defaults of all."""

    forms: tuple[str, ...] = ()
    expected: tuple[ExpectedFailure, ...] = ()

    def of(self, script: str, scheduler: str) -> tuple[ExpectedFailure, ...]:
        """The expectations for a scheduler in a script, then for `default`; the first about a test
        counts.
        """
        return tuple(
            each
            for name in dict.fromkeys((scheduler, DEFAULT_SCHEDULER))
            for each in self.expected
            if (each.script, each.scheduler) == (script, name)
        )


def listed() -> Expectations:
    """The content of FILE."""
    return TypeAdapter(Expectations).validate_python(tomllib.loads(FILE.read_text()))


@dataclass(frozen=True)
class JudgedTest:
    """The outcome of a test, judged by expectations; `why` gives the reason unless it `passed`.

    `excused` did not pass, and need not; `wrong` is worse than upstream or unexpected.
    """

    name: str
    outcome: Literal["passed", "skipped", "excused", "wrong"]
    why: str = ""


def judge(
    expected: Collection[ExpectedFailure], before: Result | None, after: Result
) -> list[JudgedTest]:
    """Judges each test of a result by upstream's result `before`, and by `expected`.

    Without `before`, every failure is wrong. An expectation of a test counts alone: by chance,
    upstream itself may be late, too. An expectation of a missing test is a case of its own.
    """
    if before is None:
        worse = {name: "fails upstream" for name, v in after.verdicts.items() if v == "fail"}
    else:
        worse = dict.fromkeys(lost(before, after), "passes upstream, but not with ours")
    names = dict.fromkeys([*(before.verdicts if before else ()), *after.verdicts])
    cases = [_case(name, worse.get(name, ""), expected, after) for name in names]
    for each in expected:
        for pattern in each.tests:
            if not any(fnmatchcase(name, pattern) for name in names):
                why = f"no test is called {pattern}: remove it from {FILE.name}"
                cases.append(JudgedTest(f"expected: {pattern}", "wrong", why))
    return cases


def _case(
    name: str, worse: str, expected: Collection[ExpectedFailure], after: Result
) -> JudgedTest:
    verdict = after.verdicts.get(name)
    of_it = (e for e in expected if any(fnmatchcase(name, pattern) for pattern in e.tests))
    listed = next(of_it, None)
    if verdict == "pass":
        if listed and not listed.late_ms:
            return JudgedTest(name, "wrong", f"passes, but {FILE.name} lists it: {name}")
        return JudgedTest(name, "passed")
    if verdict == "skip" and not worse:
        return JudgedTest(name, "skipped", "skipped by the script")
    if listed is None:
        if worse:
            return JudgedTest(name, "wrong", f"{worse}: {name}")
        return JudgedTest(name, "excused", "does not pass upstream either")
    if listed.late_ms and _late_ms(after, name) > listed.late_ms:
        why = f"is later than {listed.late_ms} ms, or failed in another way: {name}"
        return JudgedTest(name, "wrong", why)
    return JudgedTest(name, "excused", listed.reason)


def _late_ms(result: Result, name: str) -> float:
    """The delay of a test beyond its limit, as mptcp_connect reports it; infinite if it failed in
    another way, too.

    A late end of a transfer ends with status 1, another one with 0.
    """
    said = re.compile(r"transfer slower than expected! runtime (\d+) ms, expected (\d+) ms")
    ended = re.compile(r"\[FAIL\] client exit code (\d+), server (\d+)$")
    for remark in result.remarks:
        # the script puts the number before the name, and the message behind it, at times at once
        if re.match(rf"\d+ {re.escape(name)} ?transfer", remark):
            late = [int(ran) - int(limit) for ran, limit in said.findall(remark)]
            statuses = ended.search(remark)
            both = sorted(map(int, statuses.groups())) if statuses else []
            if both in ([0, 1], [1, 1]) and sum(both) == len(late):
                return max(late)
    return math.inf
