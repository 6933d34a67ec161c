# SPDX-License-Identifier: GPL-2.0-only
"""The errors that users see: the text is the whole message, the class the exit status."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def from_program(message: str) -> str:
    """A message as our programs print it, with the name of the program, not of one in a run."""
    return f"mptcplab: {message}"


class MptcplabError(Exception):
    """Something went wrong; it is reported without a traceback."""

    exit_status = 1

    def told(self) -> str:
        """The error as our programs print it."""
        return from_program(str(self))


@dataclass(frozen=True)
class Problem:
    """One mistake in what the user wrote.

    `where` is the file or the flag ("scenario.toml", "--path"), `key` the place in it
    ("path[1].delay", or "" for the whole), `value` what was written there ("" if nothing),
    `message` what is wrong with it and what is accepted.
    """

    where: str
    key: str
    value: str
    message: str

    def __str__(self) -> str:
        subject = " = ".join(part for part in (self.key, self.value) if part)
        return f"{subject}: {self.message}" if subject else self.message


class InputError(MptcplabError):
    """Bad input: every mistake found, grouped by file or flag."""

    exit_status = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        assert problems, "an InputError needs a problem"
        self.problems = tuple(problems)
        self._blocks = _describe(self.problems)
        super().__init__("\n".join(self._blocks))

    def told(self) -> str:
        return "\n".join(map(from_program, self._blocks))


class MachineError(MptcplabError):
    """Something that this machine lacks.

    `what` is missing; `remedy` is the exact command that fixes it, or "" without one.
    """

    exit_status = 3

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what + (f"\n  to fix it: {remedy}" if remedy else ""))


class NotMetError(MptcplabError):
    """Expectations that the runs do not meet, though all of them succeeded."""

    exit_status = 4


class RunError(MptcplabError):
    """A run that failed: why, and the last lines of the guest's console."""

    def __init__(self, reason: str, console_tail: str = "") -> None:
        self.reason = reason
        self.console_tail = console_tail
        tail = "".join(f"\n  | {line}" for line in console_tail.splitlines())
        super().__init__(f"the run failed: {reason}{tail}")


class RunCancelledError(MptcplabError):
    """The run was ended on request."""

    def __init__(self) -> None:
        super().__init__("cancelled")


def status_of(do: Callable[[], int], *, interrupted: str = "interrupted") -> int:
    """The exit status of a program that does this; prints errors without a traceback."""
    try:
        return do()
    except MptcplabError as error:
        _tell(error.told())
        return error.exit_status
    except KeyboardInterrupt:
        _tell(from_program(interrupted))
        return 128 + signal.SIGINT


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it
        print(text, file=sys.stderr)


def _describe(problems: Sequence[Problem]) -> list[str]:
    """A block for each place, in order of first mention: a headline, then a line per problem."""
    places: dict[str, list[Problem]] = {}
    for problem in problems:
        places.setdefault(problem.where, []).append(problem)
    blocks = []
    for where, found in places.items():
        count = "1 mistake" if len(found) == 1 else f"{len(found)} mistakes"
        blocks.append("\n  ".join([f"{count} in {where}", *map(str, found)]))
    return blocks
