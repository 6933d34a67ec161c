# SPDX-License-Identifier: GPL-2.0-only
"""Whose a report is: ours, if it is about our code; else it is to be upstream's, too.

A place in a stack is a line of a file, and those of the functions that the compiler has put into
each other there. docs/reliability.md says which reports are ours, below ours, and other.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from checks.kernel_reports import Frame, Report
from mptcplab.errors import MptcplabError
from mptcplab.lab.kernel_tree import OWN_DIRECTORY


class Whose(StrEnum):
    """Whose code a report is about."""

    OURS = "ours"
    BELOW = "below ours"
    OTHER = "other"


@dataclass(frozen=True)
class Place:
    """A line of the source, with its function."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} {self.file}:{self.line}"


@dataclass
class Found:
    """Reports of one thing: what they are `about`, the same in another kernel, and whose they are.

    `places` are those of the accesses, or of the innermost function.
    """

    about: str
    whose: Whose
    count: int
    places: list[str]
    text: str


class Symbols:
    """Finds the lines of places in the stacks of a kernel."""

    def __init__(self, vmlinux: Path) -> None:
        self._vmlinux = vmlinux
        self._starts: dict[tuple[str, int], list[int]] = {}
        lines = map(str.split, _output("nm", "--numeric-sort", str(vmlinux)).splitlines())
        named = (words for words in lines if len(words) == 3 and words[1] in "tTwW")
        sized = [(int(at, 16), name) for at, _kind, name in named]
        # the kernel takes the next symbol that is elsewhere for a function's end: it has no sizes
        places = sorted({at for at, _name in sized})
        end = dict(zip(places, [*places[1:], *places[-1:]], strict=True))
        for at, name in sized:
            self._starts.setdefault((name, end[at] - at), []).append(at)
            self._starts.setdefault((name, 0), []).append(at)

    def address(self, frame: Frame) -> int | None:
        """Of the call, whose return address the frame has; None if there is no such function."""
        starts = self._starts.get((frame.function, frame.size))
        starts = starts or self._starts.get((frame.function, 0))
        return starts[0] + frame.offset - 1 if starts else None

    def lines(self, frames: Iterable[Frame]) -> dict[Frame, tuple[Place, ...]]:
        """The place of each frame, and those that it was put into, the innermost first."""
        wanted = {frame: self.address(frame) for frame in set(frames)}
        known = {frame: at for frame, at in wanted.items() if at is not None}
        text = "".join(f"{at:x}\n" for at in known.values())
        said = _output("addr2line", "-aife", str(self._vmlinux), given=text)
        blocks = re.split(r"(?m)^0x[0-9a-f]+\n", said)[1:]
        found: dict[Frame, tuple[Place, ...]] = dict.fromkeys(wanted, ())
        for frame, block in zip(known, blocks, strict=True):
            lines = block.splitlines()
            found[frame] = tuple(
                _place(name, where) for name, where in zip(lines[::2], lines[1::2], strict=True)
            )
        return found


def _function(frame: Frame, places: Sequence[Place]) -> str:
    """The innermost function in a C file: into which others the compiler puts it, differs between
    kernels, and those of headers are in many.
    """
    written = (place.function for place in places if place.file.endswith(".c"))
    return next(written, frame.function)


def _place(name: str, where: str) -> Place:
    """Of addr2line's two lines, with the file as it is called in the kernel's source."""
    file, _, number = where.partition(" ")[0].rpartition(":")
    file = re.sub(r"^.*/src/", "", file).removeprefix("./")
    while "/../" in file:
        file = re.sub(r"[^/]+/\.\./", "", file, count=1)
    return Place(name, file, int(number) if number.isdecimal() else 0)


def _output(*command: str, given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MptcplabError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def is_ours(place: Place, touched: Mapping[str, Sequence[int]]) -> bool:
    """Whether a line is in our files or touched by our patches."""
    return place.file.startswith(f"{OWN_DIRECTORY}/") or place.line in touched.get(place.file, ())


def blame(
    reports: Sequence[Report], symbols: Symbols, touched: Mapping[str, Sequence[int]]
) -> list[Found]:
    """What is reported, once each, and whose it is."""
    lines = symbols.lines(frame for report in reports for stack in report.stacks for frame in stack)
    found: dict[tuple[str, Whose], Found] = {}
    for report in reports:
        each = judge(report, lines, touched)
        found.setdefault((each.about, each.whose), each).count += 1
    return list(found.values())


def judge(
    report: Report,
    lines: Mapping[Frame, tuple[Place, ...]],
    touched: Mapping[str, Sequence[int]],
) -> Found:
    """Whose a report is, which is not counted yet, if `lines` has the places of its frames."""

    def ours(frames: Iterable[Frame]) -> bool:
        return any(is_ours(place, touched) for frame in frames for place in lines[frame])

    tops = [stack[0] for stack in report.stacks]
    everything = [frame for stack in report.stacks for frame in stack]
    whose = Whose.OTHER
    if ours(tops if report.is_race else everything):
        whose = Whose.OURS
    elif ours(everything):
        whose = Whose.BELOW
    about = report.title
    if report.is_race:
        about = " / ".join(sorted(_function(frame, lines[frame]) for frame in tops))
    places = sorted(str(lines[frame][0]) for frame in tops if lines[frame])
    return Found(about, whose, 0, places, report.text)
