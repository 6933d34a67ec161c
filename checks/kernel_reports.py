# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel that looks after itself has said: its reports, in the text of a console.

Several CPUs speak at once, a line at a time. CONFIG_PRINTK_CALLER says of each line who speaks, a
task or a CPU: so reports are put together for each of them. Without it, all lines have one speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"\[ *\d+\.\d+\](?:\[ *([TC]\d+)\])? ?(.*)")
#: Begins a report; its group is the title.
_TITLE = re.compile(
    r"((?:(?:watchdog: )?BUG|WARNING|UBSAN|INFO|ODEBUG|Oops|refcount_t)\b.*"
    r"|Kernel panic - not syncing\b.*|general protection fault.*"
    r"|list_(?:add|del) corruption.*|.*\bkernel BUG at .*"
    r"|(?:\w+ )?Unable to handle .*|stack segment.*|rcu: INFO: .*|unregister_netdevice: .*)"
)
# Lines that begin like one and are none.
_NO_TITLE = re.compile(r"INFO: lockdep is turned off|WARNING: .*held.*at:$|ODEBUG: \d+ of \d+")
_ACCESS = re.compile(
    r"(?:race at unknown origin, with )?(?:assert no (?:accesses|writes) to|"
    r"(?:read|write|read-write)(?: \(\w+\))?(?: \(reordered\))?(?: \(\w+\))? to)"
    r" 0x[0-9a-f]+ of \d+ bytes by .*"
)
# Without those that the kernel only believes to be one, which it marks with "?".
_FRAME = re.compile(r"([A-Za-z_][\w.]*)\+0x([0-9a-f]+)/0x([0-9a-f]+)")
_RULE = re.compile(r"={20,}|-{3,}\[ end trace")
# A report of the kernel that none of these lines ends is not longer.
_MOST_LINES = 300


@dataclass(frozen=True)
class Frame:
    """A place in a stack: so many bytes after the beginning of a function of this size."""

    function: str
    offset: int
    size: int


@dataclass(frozen=True)
class Report:
    """One report: its title, and its stacks, the innermost place first.

    Those of a data race are of its two accesses; of all else, what was found is in one stack.
    """

    title: str
    stacks: tuple[tuple[Frame, ...], ...]
    text: str

    @property
    def is_race(self) -> bool:
        """Whether KCSAN has seen a data race."""
        return self.title.startswith("BUG: KCSAN")


def parse(console: str) -> list[Report]:
    """The reports on a console, in the order of their beginnings."""
    begun: dict[str, list[str]] = {}
    done: list[list[str]] = []
    for speaker, text in _lines(console):
        lines = begun.get(speaker)
        begins = _TITLE.match(text) is not None and not _NO_TITLE.match(text)
        if lines is not None and (_RULE.match(text) or len(lines) == _MOST_LINES):
            # KCSAN, KASAN and lockdep end with the line that they begin with
            if len(lines) > 1 and _has_frames(lines):
                del begun[speaker]
            continue
        if begins and (lines is None or _has_frames(lines)):
            lines = begun[speaker] = []
            done.append(lines)
        if lines is not None:
            lines.append(text)
    return [_report(lines) for lines in done]


def _lines(console: str) -> Iterator[tuple[str, str]]:
    """Who says what."""
    for line in console.replace("\r", "").splitlines():
        if found := _LINE.match(line):
            yield found[1] or "", found[2].rstrip()


def _has_frames(lines: Sequence[str]) -> bool:
    return any(_FRAME.search(line) for line in lines[1:])


def _report(lines: Sequence[str]) -> Report:
    stacks: list[list[Frame]] = [[]]
    for line in lines[1:]:
        if _ACCESS.match(line):
            stacks.append([])
        elif line.startswith("value changed"):
            break
        elif frame := _FRAME.match(line.strip().removeprefix("RIP: 0010:")):
            stacks[-1].append(Frame(frame[1], int(frame[2], 16), int(frame[3], 16)))
    found = _TITLE.match(lines[0])
    assert found is not None
    return Report(
        # what differs between two reports of one thing
        re.sub(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{16}\b|\bPID: \d+|\bCPU: \d+", "", found[1]).strip(),
        tuple(tuple(stack) for stack in stacks if stack),
        "\n".join(lines),
    )
