# SPDX-License-Identifier: GPL-2.0-only
"""A bisection for people: its progress, the commit that it found, and both commits' runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Group

from mptcplab.bisection.document import DOCUMENT, Bisection, Found, Tried, UndecidedError
from mptcplab.lab.git import Halfway, Repository
from mptcplab.report import tables
from mptcplab.runs.entries import Entry, document
from mptcplab.runs.store import Store
from mptcplab.scenario.resolve import Request
from mptcplab.units import counted

# Further files, or candidates, are only counted.
_MOST = 20
_DIGITS = 12


class Progress:
    """Reports the progress, a line at a time."""

    def __init__(self, repository: Repository, say: Callable[[str], None]) -> None:
        self._repository = repository
        self._say = say

    def begin(self, good: str, bad: str, tried: Sequence[Tried]) -> None:
        """The number of commits, and of those that were tried before."""
        halfway = self._repository.halfway(bad, [good])
        count = halfway.candidates if halfway else 1
        steps = halfway.steps + 1 if halfway else 0
        self._say(f"commits:  {count}, about {counted(steps, 'step')} after the two ends")
        if tried:
            self._say(f"resumed:  {counted(len(tried), 'commit')} tried before")

    def trying(self, commit: str, halfway: Halfway | None) -> None:
        """The commit to try next, and the number of those that are left."""
        if halfway is None:
            left = "one of the two ends"
        else:
            steps = counted(halfway.steps, "step")
            further = f"about {steps} more" if halfway.steps else "the last"
            left = f"{counted(halfway.candidates, 'commit')} left, {further}"
        self._say(f"trying:   {_name(commit, self._repository.about(commit).subject)} ({left})")

    def tried(self, made: Tried) -> None:
        """The verdict on it."""
        times = f"built in {made.build_s:.0f} s, run in {made.run_s:.0f} s"
        self._say(f"{made.verdict + ':':9} {made.why[0]}" + (f" ({times})" if made.kernel else ""))
        for line in made.why[1:]:
            self._say(f"          {line}")


def about(repository: Repository, commit: str, good: str | None) -> Found:
    """The first bad commit; `good` is the one to compare it with."""
    files = tuple(repository.changed(commit))
    return Found(commit=commit, files=files, good=good, **asdict(repository.about(commit)))


def undecided(
    repository: Repository, candidates: Sequence[str], bad: str, tried: Sequence[Tried]
) -> UndecidedError:
    """The error that names the remaining commits, and the reasons for skipping them."""
    why = {each.commit: each.why[0] for each in tried if each.verdict == "skipped"}
    lines = [f"the first bad commit is one of {len(candidates)}; only the last of them was tried"]
    for commit in candidates[:_MOST]:
        reason = "bad" if commit == bad else f"skipped: {why.get(commit, '')}"
        lines.append(f"{_name(commit, repository.about(commit).subject)}: {reason}")
    if len(candidates) > _MOST:
        lines.append(f"and {len(candidates) - _MOST} more, in {DOCUMENT}")
    return UndecidedError("\n  ".join(lines))


def result(made: Bisection, request: Request, out: Path) -> Iterator[str | Group]:
    """The first bad commit, and the figures before it and with it; their runs side by side, if the
    good commit before it is known; and the places of the runs.
    """
    found = made.found
    assert found is not None
    good, bad = _tried(made, found.good), _tried(made, found.commit)
    assert bad is not None, "a bad commit was tried"
    yield f"first bad commit: {found.commit}"
    yield f"subject:  {found.subject}"
    yield f"author:   {found.author}"
    yield f"date:     {found.date}"
    shown = [*found.files[:_MOST]]
    if len(found.files) > _MOST:
        shown.append(f"and {len(found.files) - _MOST} more")
    yield f"files:    {', '.join(shown)}"
    for when, each in (("before", good), ("with it", bad)):
        for line in each.why if each else ():
            yield f"{when + ':':9} {line}"
    skipped = sum(each.verdict == "skipped" for each in made.tried)
    yield f"tried:    {len(made.tried)} commits" + (f", {skipped} skipped" if skipped else "")
    if good is not None:
        pair = (*_entries(good, out, "before"), *_entries(bad, out, "with it"))
        yield Group("", tables.comparison_table(document(pair, [], {}, request.base)))
    runs = [str(out / run) for each in (good, bad) if each for run in each.runs]
    yield f"document: {out / DOCUMENT}"
    yield f"runs:     {' '.join(runs)}"
    yield f"report:   mptcplab report {shlex.join(runs)}"


def _entries(tried: Tried, out: Path, label: str) -> list[Entry]:
    store = Store(out, is_written=False)
    found = (store.result(Path(run).name) for run in tried.runs)
    return [entry.labelled(label) for entry in found if entry is not None]


def _tried(made: Bisection, commit: str | None) -> Tried | None:
    return next((each for each in made.tried if each.commit == commit), None)


def _name(commit: str, subject: str) -> str:
    return f"{commit[:_DIGITS]} {subject}"
