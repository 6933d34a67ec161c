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


def lines(made: Bisection) -> Iterator[str]:
    """The first bad commit, and the figures before it and with it."""
    found = made.found
    assert found is not None
    yield f"first bad commit: {found.commit}"
    yield f"subject:  {found.subject}"
    yield f"author:   {found.author}"
    yield f"date:     {found.date}"
    shown = [*found.files[:_MOST]]
    if len(found.files) > _MOST:
        shown.append(f"and {len(found.files) - _MOST} more")
    yield f"files:    {', '.join(shown)}"
    for when, each in (("before", _tried(made, found.good)), ("with it", _of(made, found))):
        for line in each.why if each else ():
            yield f"{when + ':':9} {line}"
    skipped = sum(each.verdict == "skipped" for each in made.tried)
    yield f"tried:    {len(made.tried)} commits" + (f", {skipped} skipped" if skipped else "")


def table(made: Bisection, request: Request, out: Path) -> Group | None:
    """The runs of the first bad commit beside those of the good one before it, if it is known."""
    found = made.found
    assert found is not None
    good = _tried(made, found.good)
    if good is None:
        return None
    pair = (*_entries(good, out, "before"), *_entries(_of(made, found), out, "with it"))
    return tables.comparison_table(document(pair, [], {}, request.base))


def places(made: Bisection, out: Path) -> Iterator[str]:
    """The places of the runs, and the command that shows them."""
    found = made.found
    assert found is not None
    pair = [each for each in (_tried(made, found.good), _of(made, found)) if each]
    runs = [str(out / run) for each in pair for run in each.runs]
    yield f"document: {out / DOCUMENT}"
    yield f"runs:     {' '.join(runs)}"
    yield f"report:   mptcplab report {shlex.join(runs)}"


def _entries(tried: Tried, out: Path, label: str) -> list[Entry]:
    store = Store(out, is_written=False)
    found = (store.result(Path(run).name) for run in tried.runs)
    return [entry.labelled(label) for entry in found if entry is not None]


def _tried(made: Bisection, commit: str | None) -> Tried | None:
    return next((each for each in made.tried if each.commit == commit), None)


def _of(made: Bisection, found: Found) -> Tried:
    own = _tried(made, found.commit)
    assert own is not None, "a bad commit was tried"
    return own


def _name(commit: str, subject: str) -> str:
    return f"{commit[:_DIGITS]} {subject}"
