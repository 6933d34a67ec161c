# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's selftests are expected not to pass with a scheduler of ours: expected.toml.

The list must be true: what is expected and does not happen is a problem as well. docs/selftests.md.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from mptcplab.errors import MptcplabError
from mptcplab.scenario.scheduler import known
from mptcplab.selftests.jobs import DEFAULT_SCHEDULER, choice
from mptcplab.selftests.scripts import OTHER_PACKETS, PACKETS, SCRIPTS
from mptcplab.selftests.tap import Result, compare

#: The list.
FILE = Path(__file__).with_name("expected.toml")

_KEYS = ("scheduler", "script", "tests", "reason", "late_ms")


@dataclass(frozen=True)
class ExpectedFailure:
    """Tests of a script that a scheduler does not pass, and why; * in a name: any letters.

    With `late_ms` they may pass, as that depends on the seed, or else exceed their limit of time,
    by no more than that, without failing otherwise. What is listed of `default` is so upstream,
    too, and may be so with every scheduler.
    """

    scheduler: str
    script: str
    tests: tuple[str, ...]
    reason: str
    late_ms: int = 0

    def __str__(self) -> str:
        return f"{self.script} with {self.scheduler}"


@dataclass(frozen=True)
class Expectations:
    """`forms` are schedulers with parameters, which run besides the defaults of all."""

    forms: tuple[str, ...] = ()
    expected: tuple[ExpectedFailure, ...] = ()

    def of(self, script: str, scheduler: str) -> tuple[ExpectedFailure, ...]:
        """What is expected of a scheduler in a script; of what is about one test, the first counts.

        After what is listed of it comes what is of `default`.
        """
        return tuple(
            each
            for name in dict.fromkeys((scheduler, DEFAULT_SCHEDULER))
            for each in self.expected
            if (each.script, each.scheduler) == (script, name)
        )


def listed() -> Expectations:
    """What is in FILE. Raises MptcplabError if it makes no sense."""
    names = [str(script) for script in (*SCRIPTS, PACKETS, OTHER_PACKETS)]
    found = read(FILE.read_text(), FILE.name, list(known()), names)
    for form in found.forms:
        choice(form)
    return found


def read(
    text: str, name: str, schedulers: Collection[str], scripts: Collection[str]
) -> Expectations:
    """The list in `text`, which `name` is given to in messages.

    Raises MptcplabError for what is not understood: a key, a scheduler that is neither one of
    `schedulers` nor a form of one, a script that is none of `scripts`, a missing reason.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MptcplabError(f"{name}: {error}") from error
    _check_keys(table, ("forms", "expected"), name)
    forms = _texts(table.get("forms", []), f"{name}: forms")
    for form in forms:
        _check_known(form.partition(":")[0], schedulers, f"{name}: forms: {form}: scheduler")
    entries = table.get("expected", [])
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise MptcplabError(f"{name}: expected: tables [[expected]] are accepted")
    found = []
    for number, entry in enumerate(entries, 1):
        where = f"{name}: expected {number}"
        _check_keys(entry, _KEYS, where)
        texts = {key: _text(entry, key, where) for key in ("scheduler", "script", "reason")}
        _check_known(texts["scheduler"], [*schedulers, *forms], f"{where}: scheduler")
        _check_known(texts["script"], scripts, f"{where}: script")
        tests = _texts(entry.get("tests"), f"{where}: tests")
        if not tests:
            raise MptcplabError(f"{where}: tests: names of tests are accepted, at least one")
        late_ms = entry.get("late_ms", 0)
        if type(late_ms) is not int or late_ms < 0:
            raise MptcplabError(f"{where}: late_ms: a number of ms is accepted")
        found.append(ExpectedFailure(tests=tests, late_ms=late_ms, **texts))
    return Expectations(forms, tuple(found))


@dataclass(frozen=True)
class JudgedTest:
    """How a test came out, by what is expected of it; but for `passed`, `why` says more.

    `excused` did not pass, and need not; `wrong` is worse than upstream or other than expected.
    """

    name: str
    outcome: Literal["passed", "skipped", "excused", "wrong"]
    why: str = ""


def judge(
    expected: Collection[ExpectedFailure], before: Result | None, after: Result
) -> list[JudgedTest]:
    """What a result is, held to `before`, that of upstream, and to what is `expected`.

    Without `before`, whatever fails is wrong. Where something is expected of a test, this alone
    counts: by chance, upstream itself may be late, too. What is expected of a test that there is
    not, is a case of its own.
    """
    if before is None:
        worse = {name: "fails upstream" for name, v in after.verdicts.items() if v == "fail"}
    else:
        worse = dict.fromkeys(compare(before, after).lost, "passes upstream, not with ours")
    names = dict.fromkeys([*(before.verdicts if before else ()), *after.verdicts])
    cases = [_case(name, worse.get(name, ""), expected, after) for name in names]
    for each in expected:
        for pattern in each.tests:
            if not any(fnmatchcase(name, pattern) for name in names):
                why = f"no test is called {pattern}: take it out of {FILE.name}"
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
            return JudgedTest(name, "wrong", f"is expected not to pass, and passes: {name}")
        return JudgedTest(name, "passed")
    if verdict == "skip" and not worse:
        return JudgedTest(name, "skipped", "skipped by the script")
    if listed is None:
        if worse:
            return JudgedTest(name, "wrong", f"{worse}: {name}")
        return JudgedTest(name, "excused", "does not pass upstream either")
    if listed.late_ms and _late_ms(after, name) > listed.late_ms:
        return JudgedTest(name, "wrong", f"is not only late by at most {listed.late_ms} ms: {name}")
    return JudgedTest(name, "excused", listed.reason)


def _late_ms(result: Result, name: str) -> float:
    """By how much a test was later than it may be, as mptcp_connect says it; infinitely if that is
    not all that went wrong.

    An end of a transfer that says that it is late ends with status 1, and another one with 0. What
    ended otherwise failed for another reason, too.
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


def _check_keys(table: Mapping[str, object], known: Collection[str], where: str) -> None:
    for key in table:
        _check_known(key, known, f"{where}: key")


def _check_known(name: str, known: Collection[str], where: str) -> None:
    if name not in known:
        raise MptcplabError(f"{where} {name}: accepted are {', '.join(known)}")


def _text(entry: Mapping[str, object], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise MptcplabError(f"{where}: {key}: text is accepted")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise MptcplabError(f"{where}: a list of texts is accepted")
    return tuple(value)
