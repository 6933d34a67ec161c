# SPDX-License-Identifier: GPL-2.0-only
"""Repositories, and histories in git that are drawn at random."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from checks.histories import Made, ancestors, commit_all, join_heads

__all__ = ["Made", "ancestors", "commit_all", "drawn_parents", "git", "repository"]


def git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode().strip()


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", "--bare", "--initial-branch=main", ".")
    return directory


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
    join_heads(parents)
    return parents
