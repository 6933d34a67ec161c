# SPDX-License-Identifier: GPL-2.0-only
"""Which commit a bisection tries, and which one it finds, in histories whose fault is known.

What is true of a history comes from the list of parents that it was made of; git is asked by the
code alone.
"""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mptcplab.bisection import document, search, terminal
from mptcplab.bisection.document import Bisection, Question, Tried, Verdict
from mptcplab.errors import InputError, MptcplabError, NotMetError
from mptcplab.lab.git import Repository
from tests.histories import Made, ancestors, commit_all, drawn_parents, git, repository

LINEAR, MERGED = 0.0, 0.4


@dataclass
class History:
    """A history of which every commit's verdict is known, and who was asked for it."""

    repository: Repository
    commits: list[str]
    below: list[set[int]]
    first_bad: int
    skipped: Collection[int] = ()
    asked: list[int] = field(default_factory=list)
    interrupted_at: int | None = None

    @classmethod
    def drawn(cls, seed: int, directory: Path, merges: float, skipped: float) -> History:
        """One whose fault, and whose commits that cannot be tried, are anywhere."""
        draw = random.Random(seed)
        count = draw.randint(2, 60)
        parents = drawn_parents(draw, count, merges)
        made = [Made(own, {"file": f"{number}\n"}) for number, own in enumerate(parents)]
        place = repository(directory)
        commits = commit_all(place, made)
        untried = {number for number in range(1, count - 1) if draw.random() < skipped}
        return cls(
            Repository(place), commits, ancestors(parents), draw.randrange(1, count), untried
        )

    def verdict(self, number: int) -> Verdict:
        if number in self.skipped:
            return "skipped"
        return "bad" if self.first_bad in self.below[number] else "good"

    def judge(self, commit: str) -> Tried:
        number = self.commits.index(commit)
        if len(self.asked) == self.interrupted_at:
            raise KeyboardInterrupt
        self.asked.append(number)
        return Tried(commit=commit, subject="a change", verdict=self.verdict(number), why=("so",))

    def search(self, tried: Collection[Tried] = ()) -> tuple[list[int], int]:
        """The numbers of the candidates, and of the bad one among them."""
        good, bad = self.commits[0], self.commits[-1]
        found, last = search.search(self.repository, good, bad, tried, self.judge)
        return sorted(map(self.commits.index, found)), self.commits.index(last)


# 100 histories, half of them with merges; in half of them some commits cannot be tried
DRAWN = [
    (seed, merges, skipped)
    for seed in range(25)
    for merges in (LINEAR, MERGED)
    for skipped in (0.0, 0.25)
]


@pytest.mark.parametrize(("seed", "merges", "skipped"), DRAWN)
def test_the_faulty_one_is_found(seed: int, merges: float, skipped: float, tmp_path: Path) -> None:
    history = History.drawn(seed, tmp_path, merges, skipped)
    candidates, last = history.search()
    assert len(history.asked) == len({*history.asked})
    assert history.verdict(last) == "bad"
    assert history.first_bad in candidates
    # the rest cannot be distinguished from it: none of them can be tried
    assert {*candidates} - {last} <= {*history.skipped}
    if not skipped:
        assert candidates == [history.first_bad]
    if not skipped and merges == LINEAR:
        # n candidates, one of which is bad in any case: each step leaves the larger half at most
        assert len(history.asked) <= 2 + math.ceil(math.log2(len(history.commits) - 1))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9])
def test_every_position_of_the_fault_is_found(count: int, tmp_path: Path) -> None:
    parents = [[number - 1] if number else [] for number in range(count)]
    place = repository(tmp_path)
    commits = commit_all(place, [Made(own, {"file": str(own)}) for own in parents])
    for first_bad in range(1, count):
        history = History(Repository(place), commits, ancestors(parents), first_bad)
        assert history.search() == ([first_bad], first_bad)


@pytest.mark.parametrize(("seed", "merges", "skipped"), DRAWN[::5])
def test_a_search_can_resume(seed: int, merges: float, skipped: float, tmp_path: Path) -> None:
    whole = History.drawn(seed, tmp_path / "one", merges, skipped)
    expected = whole.search()
    again = History.drawn(seed, tmp_path / "two", merges, skipped)
    kept: list[Tried] = []

    def judge_and_keep(commit: str) -> Tried:
        kept.append(again.judge(commit))
        return kept[-1]

    good, bad = again.commits[0], again.commits[-1]
    for interrupted_at in range(len(whole.asked)):
        again.interrupted_at = interrupted_at
        with pytest.raises(KeyboardInterrupt):
            search.search(again.repository, good, bad, list(kept), judge_and_keep)
    again.interrupted_at = None
    assert again.search(kept) == expected
    assert again.asked == whole.asked


@pytest.mark.parametrize(("seed", "merges", "skipped"), DRAWN[1::10])
def test_it_does_as_git_bisect(seed: int, merges: float, skipped: float, tmp_path: Path) -> None:
    history = History.drawn(seed, tmp_path / "own", merges, skipped)
    history.search()
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(tmp_path / "own"), str(clone))
    status = {"good": 0, "bad": 1, "skipped": 125}
    lines = [f"{c} {status[history.verdict(n)]}\n" for n, c in enumerate(history.commits)]
    verdicts = tmp_path / "verdicts"
    verdicts.write_text("".join(lines))
    program = tmp_path / "judge"
    program.write_text(
        f'#!/bin/sh\nhead=$(git rev-parse BISECT_HEAD)\necho "$head" >>{tmp_path}/asked\n'
        f'exit $(sed -n "s/^$head //p" {verdicts})\n'
    )
    program.chmod(0o755)
    bad, good = history.commits[-1], history.commits[0]
    git(clone, "bisect", "start", "--no-checkout", bad, good)
    asked = tmp_path / "asked"
    asked.touch()
    # its status is one if what was skipped leaves several
    subprocess.run(["git", "-C", clone, "bisect", "run", program], capture_output=True)
    by_git = [history.commits.index(line) for line in asked.read_text().split()]
    assert history.asked[2:] == by_git


def test_the_ends_have_to_be_what_they_are_said_to_be_in_one_history(tmp_path: Path) -> None:
    history = History.drawn(1, tmp_path / "drawn", LINEAR, 0.0)
    history.first_bad = 0
    with pytest.raises(NotMetError, match=r"the good commit, .* is bad\n  so"):
        history.search()
    history.first_bad = len(history.commits)
    with pytest.raises(NotMetError, match=r"the bad commit, .* is good\n  so"):
        history.search()
    history.skipped = [0]
    with pytest.raises(MptcplabError, match=r"the good commit, .* cannot be tried\n  so"):
        history.search()
    place = repository(tmp_path)
    made = [Made([]), Made([0]), Made([0])]
    root, one, other = commit_all(place, made)
    found = Repository(place)
    assert search.ends(found, root[:10], one) == (root, one)
    for good, bad, message in (
        (one, other, f"not in the history of --bad; both histories have {root}"),
        (one, root, "later than --bad; to find the repair"),
        (one, one, "the same commit"),
        ("nothing", one, "nothing: no commit of"),
        ("--all", one, "no commit of"),
    ):
        with pytest.raises(InputError, match=message):
            search.ends(found, good, bad)


def test_a_commit_is_compared_with_a_good_parent(tmp_path: Path) -> None:
    place = repository(tmp_path)
    parents = [[], [0], [0], [2, 1], [3]]
    commits = commit_all(place, [Made(own) for own in parents])
    history = History(Repository(place), commits, ancestors(parents), 3)
    tried: list[Tried] = []

    def before() -> str | None:
        return search.good_before(history.repository, commits[3], tried, history.judge)

    assert before() == commits[2]  # the first parent, which was not tried
    assert history.asked == [2]
    tried.append(Tried(commit=commits[1], subject="", verdict="good", why=("so",)))
    assert before() == commits[1]
    tried.append(Tried(commit=commits[2], subject="", verdict="skipped", why=("so",)))
    assert before() == commits[1]
    assert search.good_before(history.repository, commits[3], tried[1:], history.judge) is None
    history.first_bad = 2
    with pytest.raises(MptcplabError, match="the fault comes and goes"):
        search.good_before(history.repository, commits[3], [], history.judge)


QUESTION = Question(
    tree="/linux", good="a", bad="b", variant="lab", expectations=("x",), runs=("k",)
)


def test_a_document_is_resumed_if_the_question_is_the_same(tmp_path: Path) -> None:
    tried = Tried(commit="a", subject="s", verdict="good", why=("so",), kernel="k", runs=("r",))
    kept = Bisection(question=QUESTION, tried=(tried,))
    document.keep(tmp_path, kept)
    assert document.resumed(tmp_path, QUESTION) == kept
    other = QUESTION.model_copy(update={"expectations": ("y",)})
    assert document.resumed(tmp_path, other) == Bisection(question=other)
    (tmp_path / document.DOCUMENT).write_text('{"question": 1}')
    with pytest.raises(MptcplabError, match=r"bisect\.json: not a bisection: question: "):
        document.resumed(tmp_path, QUESTION)


def test_what_skipped_commits_leave_is_reported_with_the_reasons(tmp_path: Path) -> None:
    history = History.drawn(3, tmp_path, LINEAR, 1.0)
    said: list[str] = []
    progress = terminal.Progress(history.repository, said.append)
    kept: list[Tried] = []

    def judge(commit: str) -> Tried:
        kept.append(history.judge(commit).model_copy(update={"why": ("does not build",)}))
        progress.tried(kept[-1])
        return kept[-1]

    good, bad = history.commits[0], history.commits[-1]
    found, last = search.search(history.repository, good, bad, [], judge, progress.trying)
    assert sorted(found) == sorted(history.commits[1:])
    error = terminal.undecided(history.repository, found, last, kept)
    assert error.exit_status == 5
    assert f"is one of {len(found)}; only the last of them was tried" in str(error)
    assert str(error).count("skipped: does not build") == min(len(found), 20) - 1
    assert said[0].startswith(f"trying:   {good[:12]} a change (of 0) (one of the two ends)")
    assert said[1] == "good:     does not build"
