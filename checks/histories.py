# SPDX-License-Identifier: GPL-2.0-only
"""Histories in git that are made at one go, and what is known of them without git."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mptcplab.errors import MptcplabError
from mptcplab.lab.git import LINK, PROGRAM

WHO = "A Person <person@example.org>"


#: A file of a commit: its text; its mode, if that is not 100644, and its text; a file to copy; or
#: None if it goes.
Content = str | tuple[str, str] | Path | None


@dataclass(frozen=True)
class Made:
    """A commit to be made: its parents, and the files that it changes.

    A parent is the number of an earlier one, or the hash of a commit that is there already.
    """

    parents: Sequence[int | str]
    files: Mapping[str, Content] = field(default_factory=dict)
    subject: str = "a change"


def commit_all(directory: Path, made: Sequence[Made], branch: str = "main") -> list[str]:
    """Makes commits; their hashes, in the same order."""
    command = ["git", "-C", str(directory), "-c", "core.compression=1", "fast-import", "--quiet"]
    with tempfile.NamedTemporaryFile("r") as marks:
        command += ["--force", f"--export-marks={marks.name}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as importing:
            assert importing.stdin is not None
            for number, each in enumerate(made):
                importing.stdin.writelines(_commit(number, each, branch))
        if importing.returncode:
            raise MptcplabError(f"git fast-import into {directory} failed")
        known = dict(line.split() for line in Path(marks.name).read_text().splitlines())
    return [known[f":{number + 1}"] for number in range(len(made))]


def _commit(number: int, made: Made, branch: str) -> Iterator[bytes]:
    """A commit as git fast-import reads it, file by file."""
    subject = f"{made.subject} (of {number})"
    yield (
        f"commit refs/heads/{branch}\nmark :{number + 1}\n"
        f"committer {WHO} {1_700_000_000 + 60 * number} +0000\n"
        f"data {len(subject.encode())}\n{subject}\n"
    ).encode()
    parents = [f":{each + 1}" if isinstance(each, int) else each for each in made.parents]
    for word, parent in zip(["from", *["merge"] * len(parents)], parents, strict=False):
        yield f"{word} {parent}\n".encode()
    for name, content in made.files.items():
        if content is None:
            yield f"D {name}\n".encode()
        else:
            mode, data = _mode_and_data(content)
            yield f"M {mode} inline {name}\ndata {len(data)}\n".encode() + data + b"\n"
    yield b"\n"


def _mode_and_data(content: str | tuple[str, str] | Path) -> tuple[str, bytes]:
    """Where a link leads to is its content."""
    if isinstance(content, Path):
        if content.is_symlink():
            return LINK, os.fsencode(os.readlink(content))
        mode = PROGRAM if content.stat().st_mode & 0o100 else "100644"
        return mode, content.read_bytes()
    mode, text = content if isinstance(content, tuple) else ("100644", content)
    return mode, text.encode()


def join_heads(parents: list[list[int]]) -> None:
    """Makes the last commit a merge of all that nobody follows."""
    heads = {*range(len(parents) - 1)} - {each for own in parents[:-1] for each in own}
    parents[-1] = sorted({*parents[-1], *heads}, reverse=True)


def ancestors(parents: Sequence[Sequence[int]]) -> list[set[int]]:
    """The history of each commit, itself included."""
    found: list[set[int]] = []
    for number, own in enumerate(parents):
        found.append({number}.union(*(found[parent] for parent in own)))
    return found
