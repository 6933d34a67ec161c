# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab bisect as a person calls it, with kernels and runs that only pretend.

The image that the `make` of test_kernel.py makes has the text of the files; a run has a goodput of
20 Mbit/s, or of 10 if the fault is in its kernel.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from mptcplab.bisection.document import UndecidedError
from mptcplab.cli import cli
from mptcplab.cli.commands.bisect import VARIANTS
from mptcplab.errors import InputError, MptcplabError, NotMetError, RunError
from mptcplab.lab import guest, kernel
from mptcplab.lab.engine import RunEndedError, RunKilledError
from mptcplab.lab.guest import Guest
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import PathFigures, RunFigures
from mptcplab.runs import tasks
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import RESULT, Store, write_json
from mptcplab.runs.tasks import Task
from tests.histories import Made, commit_all, git
from tests.histories import repository as empty_repository
from tests.unit.test_kernel import MAKEFILE, Repository, repository
from tests.unit.test_kernel_commit import NEW

__all__ = ["repository"]

REAL_PERFORM = Runner.perform
RIGHT = "one\ntwo\nthree\n"
BASE = {"Makefile": MAKEFILE, "net/mptcp/protocol.c": RIGHT, "net/a.c": "a"}


class Runs:
    """Runs that pretend: how many were made, and what happens to the next one."""

    def __init__(self) -> None:
        self.made = 0
        self.interrupted_at: int | None = None

    def perform(self, runner: Runner, tasks: Sequence[Task]) -> Iterable[Entry]:
        assert not runner.cancel.is_set()
        if self.made == self.interrupted_at:
            self.interrupted_at = None
            raise KeyboardInterrupt
        self.made += 1
        out, found = Store(runner.out), []
        for task in tasks:
            each, key, text = task.scenario, task.key, task.rig.kernel.image.read_text()
            if "crash" in text:
                found.append(run_entry(each, reason="the kernel crashed in mptcp_sendmsg\nbelow"))
                continue
            goodput_bps = 10e6 if "FAULT" in text else 20e6
            measured = RunMetrics(
                RunFigures(goodput_bps=goodput_bps),
                tuple(PathFigures(name=path.name, share=0.5) for path in each.paths),
            )
            entry = run_entry(each, measured, directory=f"runs/{key}")
            out.directory(key).mkdir(exist_ok=True)
            write_json(out.directory(key) / RESULT, entry.result())
            found.append(entry)
        return found


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    made = Runs()
    monkeypatch.setattr(Runner, "perform", lambda runner, tasks: made.perform(runner, tasks))
    monkeypatch.setattr(guest, "build", lambda: Guest("guest", tmp_path / "guest"))
    monkeypatch.chdir(tmp_path)
    return made


def history(tmp_path: Path, *files: dict[str, str | None]) -> list[str]:
    """A commit after the other, in linux.git; files are those that change."""
    made = [Made([], BASE)]
    made += [Made([number], each) for number, each in enumerate(files)]
    return commit_all(empty_repository(tmp_path / "linux.git"), made)


def bisect(*arguments: str, good: str = "main~7", expect: str = "goodput >= 15mbit") -> None:
    paths = ("--path", "a:20mbit,10ms", "--path", "b:20mbit,10ms")
    ends = ("--tree", "linux.git", "--good", good, "--bad", "main")
    words = ["bisect", *ends, *paths, "--expect", expect, "--jobs", "1", *arguments]
    cli.main(words, standalone_mode=False)


# seven commits, of which the fourth has the fault
FAULTY: list[dict[str, str | None]] = [
    {"net/a.c": "b"},
    {"Documentation/a.rst": "b"},
    {"net/b.c": "b"},
    {"net/mptcp/protocol.c": RIGHT + "FAULT\n", "net/c.c": "c"},
    {"net/b.c": "c"},
    {"net/b.c": None},
    {"net/a.c": "c"},
]


@pytest.mark.usefixtures("repository")
def test_a_commit_is_found(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commits = history(tmp_path, *FAULTY)
    bisect()
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == f"first bad commit: {commits[4]}"
    assert lines[1:5] == [
        "subject:  a change (of 4)",
        "author:   A Person <person@example.org>",
        "date:     2023-11-14T22:17:20+00:00",  # 1,700,000,000 s and four minutes
        "files:    net/c.c, net/mptcp/protocol.c",
    ]
    assert lines[5].startswith("before:   goodput >= 15mbit: 20 Mbit/s, 5 Mbit/s (33 %) above")
    assert lines[6].startswith("with it:  goodput >= 15mbit: 10 Mbit/s, 5 Mbit/s (33 %) below")
    # both ends, and three steps for seven candidates
    assert lines[7] == "tried:    5 commits"
    assert "default\n(before)" in shown.out or "default (before)" in shown.out
    assert runs.made == 5
    assert "commits:  7, about 3 steps after the two ends" in shown.err
    document = json.loads(Path("bisect-out/bisect.json").read_text())
    assert document["found"]["commit"] == commits[4]
    assert document["found"]["good"] == commits[3]
    assert [each["commit"] for each in document["tried"]][:2] == [commits[0], commits[7]]

    # the same again: nothing is tried, and the same is said
    bisect("--json")
    assert json.loads(capsys.readouterr().out) == document
    assert runs.made == 5
    # with another formula, the runs that are stored are used
    bisect(expect="goodput >= 12mbit")
    assert runs.made == 5
    assert commits[4] in capsys.readouterr().out


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("interrupted_at", range(5))
def test_an_interrupted_bisection_goes_on(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str], interrupted_at: int
) -> None:
    commits = history(tmp_path, *FAULTY)
    runs.interrupted_at = interrupted_at
    with pytest.raises(click.Abort):
        bisect()
    assert "resumed" not in capsys.readouterr().err
    bisect()
    shown = capsys.readouterr()
    assert f"first bad commit: {commits[4]}" in shown.out
    assert ("resumed:  " in shown.err) == (interrupted_at > 0)
    assert runs.made == 5


@pytest.mark.usefixtures("runs")
def test_commits_that_cannot_be_tried_are_skipped_with_the_reason(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = history(
        tmp_path,
        {"net/a.c": "b"},
        {"net/mptcp/protocol.c": RIGHT + "crash\n"},
        {"net/mptcp/protocol.c": "unfit\n"},
        {"net/mptcp/protocol.c": RIGHT + "FAULT\n"},
        {"Makefile": MAKEFILE.replace("12", "13")},
        {"Makefile": MAKEFILE},
        {"net/a.c": "c"},
    )
    with pytest.raises(MptcplabError) as caught:
        bisect()
    assert caught.value.exit_status == 5
    text = str(caught.value)
    assert "is one of 3; only the last of them was tried" in text
    assert f"{commits[2][:12]} a change (of 2): skipped: 1 of 1 runs failed: the kernel" in text
    assert f"{commits[3][:12]} a change (of 3): skipped: the patch 0001-an-example.patch" in text
    assert f"{commits[4][:12]} a change (of 4): bad" in text
    document = json.loads(Path("bisect-out/bisect.json").read_text())
    assert sorted(document["candidates"]) == sorted(commits[2:5])
    assert document["found"] is None
    # with a patch that fits all commits, the question is another one
    repository.write("kernel/patches/6.12/mptcp/0001-an-example.patch", NEW)
    bisect()
    assert f"first bad commit: {commits[4]}" in capsys.readouterr().out


@pytest.mark.usefixtures("repository")
def test_skipped_commits_are_tried_again_if_asked(
    ending: Callable[[Exception], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = history(tmp_path, *FAULTY)

    ending(RunError("its virtual time stood still at 1 s"))
    with pytest.raises(UndecidedError, match=r"skipped: 1 of 1 runs failed: .* stood still at 1 s"):
        bisect()
    with pytest.raises(UndecidedError):
        bisect()
    bisect("--retry-skipped")
    shown = capsys.readouterr()
    assert f"first bad commit: {commits[4]}" in shown.out
    assert "skipped" not in shown.out


@pytest.fixture
def ending(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Has the run of the first step, the third of all, end with an error."""

    def end_with(error: Exception) -> None:
        def failing(runner: Runner, tasks: Sequence[Task]) -> Iterable[Entry]:
            if runs.made == 2:
                runs.made += 1
                return REAL_PERFORM(runner, tasks)
            return runs.perform(runner, tasks)

        def end(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(Runner, "perform", failing)
        monkeypatch.setattr(tasks, "run", end)

    return end_with


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "error",
    [
        RunEndedError("it took more than the wall-clock limit of 0.1 s"),
        RunKilledError("its process was killed by SIGKILL"),
        RunError("client.samples: No space left on device"),
        OSError(errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_another_fault_ends_the_bisection_which_goes_on(
    ending: Callable[[Exception], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    commits = history(tmp_path, *FAULTY)
    ending(error)
    with pytest.raises(MptcplabError) as caught:
        bisect()
    first, second, *_ = str(caught.value).splitlines()
    assert "could not be tried, which is not its fault" in first
    assert (error.reason if isinstance(error, RunError) else str(error)) in second
    document = json.loads(Path("bisect-out/bisect.json").read_text())
    assert [each["commit"] for each in document["tried"]] == [commits[0], commits[7]]
    bisect()
    shown = capsys.readouterr()
    assert f"first bad commit: {commits[4]}" in shown.out
    assert "skipped" not in shown.out + shown.err


@pytest.mark.usefixtures("repository", "runs")
def test_ends_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    history(tmp_path, *FAULTY)
    with pytest.raises(NotMetError, match=r"the good commit, .* is bad\n  goodput >= 30mbit: 20"):
        bisect(expect="goodput >= 30mbit")
    with pytest.raises(NotMetError, match=r"the bad commit, .* is good\n  goodput >= 5mbit: 10"):
        bisect(expect="goodput >= 5mbit")
    with pytest.raises(InputError, match="no commit of"):
        bisect(good="v6.12")
    git(tmp_path / "linux.git", "tag", "early", "main~7")
    bisect(good="early")
    history(tmp_path / "other", {"Makefile": "all:\n"}, {"Makefile": MAKEFILE})
    with pytest.raises(InputError, match="main~1: not a kernel source"):
        bisect("--tree", "other/linux.git", good="main~1")


def test_mistakes_are_reported_before_anything_is_built(tmp_path: Path, runs: Runs) -> None:
    # the command does not import those of the kernel, to be quick
    assert {*VARIANTS} < {*kernel.VARIANTS}
    with pytest.raises(InputError, match=r"--tree\n.*\n.*cannot change to"):
        bisect()
    history(tmp_path, *FAULTY)
    with pytest.raises(InputError, match="unknown name gooput"):
        bisect(expect="gooput >= 1mbit")
    assert not Path("bisect-out").exists()
    assert runs.made == 0
