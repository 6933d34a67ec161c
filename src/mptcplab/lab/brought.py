# SPDX-License-Identifier: GPL-2.0-only
"""Patches of the user's own for a kernel: `mptcplab kernel build --patch FILE`.

A file is a unified diff, or a scheduler for the out-of-tree MPTCP as its authors publish it:
`mptcp_NAME.c`, or a header that such a file includes. The latter become patches, too: they create
the file in net/mptcp, and build it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from mptcplab.errors import InputError, Problem
from mptcplab.mistakes import read_bytes

_OPTION = "--patch"
_DIRECTORY = "net/mptcp"
_SCHEDULER_FILE = re.compile(r"mptcp_\w+\.c|\w+\.h")
_ACCEPTED = "accepted is a unified diff, mptcp_NAME.c or a header of the latter"
_MOST_MB = 64
# The file that the following hunks are for; its first directory is the sender's.
_FILE = re.compile(r"^--- \S.*\n\+\+\+ [^/\s]+/([^\t\n]+).*\n(?=@@ )", re.MULTILINE)
_SCHEDULER = re.compile(r'\bstruct\s+mptcp_sched_ops\s+\w+\s*=\s*\{[^}]*?\.name\s*=\s*"([^"]*)"')
# An option of Kconfig that can be a module, so nothing else depends on its value.
_TRISTATE = re.compile(r"^config (\w+)\n\s+tristate\b", re.MULTILINE)


@dataclass(frozen=True)
class Brought:
    """The user's patches: diffs by the names of their files, in the order given.

    `files` are where they came from, and `origins` those of them that were not diffs, by their
    places in the source.
    """

    files: Sequence[Path] = ()
    patches: Mapping[str, bytes] = field(default_factory=dict)
    origins: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Sequence[Path]) -> Self:
        """Raises InputError for two files of a name, and one that is missing or no patch."""
        patches: dict[str, bytes] = {}
        origins: dict[str, Path] = {}
        for file in files:
            if file.name in patches:
                raise _wrong(file, "another file has this name; rename one")
            try:
                content = read_bytes(file, _MOST_MB, "a patch is text")
            except ValueError as error:
                raise _wrong(file, str(error)) from None
            if file.suffix in (".c", ".h"):
                if not _SCHEDULER_FILE.fullmatch(file.name):
                    raise _wrong(file, f"not the name of a scheduler's file; {_ACCEPTED}")
                content = _creating(file.name, content)
                origins[f"{_DIRECTORY}/{file.name}"] = file
            elif not _FILE.search(_text(content)):
                raise _wrong(file, f"changes no file; {_ACCEPTED}")
            patches[file.name] = content
        return cls(files, patches, origins)

    @cached_property
    def schedulers(self) -> Mapping[str, str]:
        """The names of the schedulers that it adds, each with its file in the source.

        Raises InputError for two of a name.
        """
        found: dict[str, str] = {}
        for patch, content in self.patches.items():
            for place, hunks in _hunks(content):
                before, after = (set(_SCHEDULER.findall(_side(hunks, sign))) for sign in "-+")
                for name in sorted(after - before):
                    if name in found:
                        raise _wrong(patch, f"another patch adds the scheduler {name}, too")
                    found[name] = place
        return found

    @property
    def options(self) -> Sequence[str]:
        """The options that it adds to MPTCP's configuration, such as those of schedulers."""
        return [
            option
            for content in self.patches.values()
            for place, hunks in _hunks(content)
            if place == f"{_DIRECTORY}/Kconfig"
            for option in _TRISTATE.findall(_side(hunks, "+", context=False))
        ]

    def require_free(self, taken: Collection[str]) -> None:
        """Raises InputError if it adds a scheduler whose name is taken."""
        for name, place in self.schedulers.items():
            if name in taken:
                raise _wrong(place, f"the kernel has a scheduler {name} already")

    def require_diffs(self) -> None:
        """Raises InputError for a scheduler's file, which upstream's MPTCP cannot have."""
        for file in self.origins.values():
            message = "a scheduler for the out-of-tree MPTCP, which this source lacks"
            raise _wrong(file, f"{message}; for one of your own: --scheduler FILE.c")


def _creating(name: str, content: bytes) -> bytes:
    """A diff that creates a file in net/mptcp, and builds it unless it is a header."""
    lines = content.removesuffix(b"\n").split(b"\n")
    head = f"--- /dev/null\n+++ b/{_DIRECTORY}/{name}\n@@ -0,0 +1,{len(lines)} @@\n"
    diff = head.encode() + b"".join(b"+" + line + b"\n" for line in lines)
    if name.endswith(".c"):
        makefile = f"{_DIRECTORY}/Makefile"
        diff += f"--- a/{makefile}\n+++ b/{makefile}\n@@ -1,0 +2 @@\n".encode()
        diff += f"+obj-y += {name.removesuffix('.c')}.o\n".encode()
    return diff


def _hunks(patch: bytes) -> Iterator[tuple[str, str]]:
    """The files that a diff changes, each with its hunks."""
    found = list(_FILE.finditer(text := _text(patch)))
    for head, following in zip(found, [*found[1:], None], strict=True):
        yield head[1], text[head.end() : following.start() if following else None]


def _side(hunks: str, sign: str, *, context: bool = True) -> str:
    """The text of hunks before (`-`) or after (`+`) the change."""
    signs = f"{sign} " if context else sign
    return "".join(f"{line[1:]}\n" for line in hunks.split("\n") if line and line[0] in signs)


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _wrong(file: Path | str, message: str) -> InputError:
    return InputError([Problem(_OPTION, "", str(file), message)])
