# SPDX-License-Identifier: GPL-2.0-only
"""Histories in git that are drawn at random, and what is known of them without git."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WHO = "A Person <person@example.org>"


def git(directory: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments], input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", "--bare", "--initial-branch=main", ".")
    return directory


@dataclass(frozen=True)
class Made:
    """A commit to be made: its parents by their numbers, and its files, None for one that goes.

    Files with a mode other than 100644 are (mode, content).
    """

    parents: Sequence[int]
    files: Mapping[str, str | tuple[str, str] | None] = field(default_factory=dict)
    subject: str = "a change"


def commit_all(
    directory: Path, made: Sequence[Made], *, base: str | None = None, branch: str = "main"
) -> list[str]:
    """Makes commits, the first ones as children of `base`; their hashes, in the same order."""
    text = b""
    for number, each in enumerate(made):
        subject = f"{each.subject} (of {number})".encode()
        when = 1_700_000_000 + 60 * number
        text += f"commit refs/heads/{branch}\nmark :{number + 1}\n".encode()
        text += f"committer {WHO} {when} +0000\n".encode()
        text += b"data %d\n%s\n" % (len(subject), subject)
        parents = [f":{parent + 1}" for parent in each.parents]
        if not parents and base:
            parents = [base]
        for word, parent in zip(["from", *["merge"] * len(parents)], parents, strict=False):
            text += f"{word} {parent}\n".encode()
        for name, about in each.files.items():
            if about is None:
                text += f"D {name}\n".encode()
                continue
            mode, content = about if isinstance(about, tuple) else ("100644", about)
            data = content.encode()
            text += f"M {mode} inline {name}\ndata {len(data)}\n".encode() + data + b"\n"
        text += b"\n"
    marks = directory / "marks"
    git(directory, "fast-import", "--quiet", "--force", f"--export-marks={marks}", stdin=text)
    known = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    return [known[f":{number + 1}"] for number in range(len(made))]


def drawn_parents(draw: random.Random, count: int, merges: float) -> list[list[int]]:
    """The parents of `count` commits, of which the last has all others in its history.

    A commit follows one of the last few; `merges` is how likely it is to have a second parent.
    """
    parents: list[list[int]] = [[]]
    for number in range(1, count):
        near = range(max(0, number - 6), number)
        own = [number - 1 if draw.random() > merges else draw.choice(near)]
        if draw.random() < merges:
            own += [other for other in [draw.choice(near)] if other not in own]
        parents.append(own)
    heads = {*range(count - 1)} - {parent for own in parents[:-1] for parent in own}
    parents[-1] = sorted({*parents[-1], *heads}, reverse=True)
    return parents


def ancestors(parents: Sequence[Sequence[int]]) -> list[set[int]]:
    """The history of each commit, itself included."""
    found: list[set[int]] = []
    for number, own in enumerate(parents):
        found.append({number}.union(*(found[parent] for parent in own)))
    return found
