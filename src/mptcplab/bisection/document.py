# SPDX-License-Identifier: GPL-2.0-only
"""The document of a bisection, OUT/bisect.json: the question, the tried commits, and the result.

It is written after each commit: an interrupted bisection goes on where it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mptcplab.errors import MptcplabError
from mptcplab.metrics.schema import Stored
from mptcplab.runs import documents
from mptcplab.runs.entries import Expectation
from mptcplab.runs.store import write_json

DOCUMENT = "bisect.json"

Verdict = Literal["good", "bad", "skipped"]


class Question(Stored):
    """The question. `runs` are the keys of the runs of the good commit: they depend on scenario,
    compiler, patches and guest, like all answers.
    """

    tree: str
    good: str
    bad: str
    variant: str
    expectations: tuple[str, ...]
    runs: tuple[str, ...]


class Tried(Stored):
    """A commit that was tried: its hash, the verdict, and the reasons.

    `kernel` is the id of its kernel, None if it has none, and `runs` are the directories of its
    runs, relative to the document. A kernel or run that was there already took no time.
    """

    commit: str
    subject: str
    verdict: Verdict
    why: tuple[str, ...]
    kernel: str | None = None
    runs: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    build_s: float = 0.0
    run_s: float = 0.0


class Found(Stored):
    """The first bad commit, and the good one that its runs are compared with, None if none is."""

    commit: str
    author: str
    date: str
    subject: str
    files: tuple[str, ...]
    good: str | None


class Bisection(Stored):
    """A bisection. At its end it has either `found` the commit, or it leaves `candidates`, all of
    them skipped but for the last.
    """

    question: Question
    tried: tuple[Tried, ...] = ()
    found: Found | None = None
    candidates: tuple[str, ...] = ()


_KIND = documents.Kind("a bisection", Bisection)


def resumed(out: Path, question: Question) -> Bisection:
    """The bisection of a question as far as `out` has it; a new one if `out` has another.

    Raises MptcplabError if the document is damaged.
    """
    file = out / DOCUMENT
    if file.exists():
        kept = documents.read(file, _KIND)
        if kept.question == question:
            return kept
    return Bisection(question=question)


def keep(out: Path, bisection: Bisection) -> None:
    """Write the document. Raises MptcplabError if it cannot be written."""
    write_json(out / DOCUMENT, bisection)


class UndecidedError(MptcplabError):
    """The tried commits do not determine the first bad commit."""

    exit_status = 5
