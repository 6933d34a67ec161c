# SPDX-License-Identifier: GPL-2.0-only
"""Runs in worker processes: the same as in this one, and nothing is left of what was ended."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import MachineError, RunCancelledError, RunError
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, RunKilledError, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.runs import archive, documents, store, tasks
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.tasks import Done, Task, failed, perform
from mptcplab.runs.workers import InProcesses, InThreads, Perform, Workers, performed
from mptcplab.scenario.model import Scenario
from tests.vocabulary import kernel_processes, scenario_of, until

SHORT = scenario_of("a:10mbit,10ms", "b:10mbit,10ms", duration="1s")
#: An hour of virtual time: nobody waits for its end.
LONG = scenario_of("a:10mbit,10ms", "b:10mbit,10ms", duration="3600s")
SAME = (
    *(store.RESULT, store.SCENARIO, store.BUILD, run_files.PLAN, run_files.GUEST_OUTCOME),
    *(run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES, run_files.LINKS_SAMPLES),
)


def seeds(count: int) -> list[Scenario]:
    lossy = scenario_of("a:10mbit,10ms,loss=1%", "b:10mbit,10ms", duration="1s")
    return [lossy.with_(seed=seed) for seed in range(1, count + 1)]


def content(out: Path) -> dict[str, bytes]:
    return {
        f"{directory.name}/{name}": (directory / name).read_bytes()
        for directory in (out / "runs").iterdir()
        for name in SAME
    }


def test_worker_processes_leave_the_same_bytes(rig: Rig, tmp_path: Path) -> None:
    for jobs in (1, 3):
        entries = Runner(tmp_path / str(jobs), jobs).run(seeds(4), rig)
        assert [entry.seed for entry in entries] == [1, 2, 3, 4]
    assert content(tmp_path / "1") == content(tmp_path / "3")


def test_own_workers_make_several_lots_and_keep_series_alone_if_asked(
    rig: Rig, tmp_path: Path
) -> None:
    with Runner(tmp_path, 2, keep_records=False).staying() as runner:
        for lot in (seeds(3)[:1], seeds(3)[1:]):
            entries = runner.run(lot, rig)
            assert [entry.status for entry in entries] == ["ok"] * len(lot)
    directories = list((tmp_path / "runs").iterdir())
    assert [store.has_series(each) for each in directories] == [True] * 3
    assert [store.has_records(each) for each in directories] == [False] * 3


def test_a_run_that_comes_back_packed_is_the_same(rig: Rig, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    own = Task.of(SHORT, rig, store.Store(here).out)
    assert perform(own).files is None
    with InProcesses(1) as workers:
        done = workers.submit(perform, replace(own, out=None)).result()
    assert done.files is not None
    with store.Store(there).new_run(done.key) as directory:
        archive.extract(done.files, directory, source="a worker")
    assert content(here) == content(there)
    assert done.entry.status == "ok"


def test_a_clock_that_jumps_changes_nothing(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a century, back and forth, each time that somebody looks; no limit is met by that."""
    first, second = tmp_path / "first", tmp_path / "second"
    Runner(first).run(seeds(1), rig)
    jumps, real = itertools.cycle([3e9, -3e9, 0.0]), time.time_ns  # noqa: TID251
    monkeypatch.setattr(time, "time_ns", lambda: real() + int(next(jumps) * 1e9))
    monkeypatch.setattr(time, "time", lambda: real() / 1e9 + next(jumps))
    (entry,) = Runner(second).run(seeds(1), rig)
    assert entry.status == "ok"
    assert content(first) == content(second)
    cost = documents.read_json(next(second.glob(f"runs/*/{store.COST}")))
    assert 0 < cost["wall_s"] < Limits().wall_s


@pytest.mark.parametrize("kind", [InThreads, InProcesses])
def test_cancelling_ends_the_runs_under_way(
    kind: Callable[[int], Workers], rig: Rig, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    runs = store.Store(out)
    tasks = [Task.of(LONG.with_(seed=seed), rig, runs.out) for seed in (1, 2)]
    cancel = threading.Event()

    def perform_all(workers: Workers) -> None:
        for _ in performed(tasks, workers, cancel):
            # both are under way
            if len(workers.virtual_s) == 2:
                cancel.set()

    with kind(2) as workers, pytest.raises(RunCancelledError):
        perform_all(workers)
    assert list((out / "runs").iterdir()) == []
    assert not kernel_processes(out)


def test_a_run_whose_kernel_is_killed_is_made_again(rig: Rig, tmp_path: Path) -> None:
    runs = store.Store(tmp_path)

    def kill_it() -> None:
        # without a pause: the run is a short one
        for _ in range(100_000):
            if found := kernel_processes(tmp_path):
                os.kill(min(found), signal.SIGKILL)
                return

    killer = threading.Thread(target=kill_it)
    killer.start()
    done = perform(Task.of(SHORT, rig, runs.out))
    killer.join()
    assert (done.entry.status, done.killed, done.was_given_up) == ("ok", 1, False)
    assert [each.name for each in (tmp_path / "runs").iterdir()] == [done.key]


MAIN = """
import sys, threading
from pathlib import Path
from mptcplab.lab import kernel, guest
from mptcplab.lab.engine import Rig
from mptcplab.runs.runner import Runner
from tests.engine.test_tasks import LONG
scenarios = [LONG.with_(seed=seed) for seed in (1, 2)]
built = kernel.build(variant=sys.argv[2])
Runner(Path(sys.argv[1]), 2).run(scenarios, Rig(built, guest.build()))
"""


def test_killing_the_main_process_ends_workers_and_kernels(rig: Rig, tmp_path: Path) -> None:
    """Also when it has no time to say so."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", MAIN, str(out), rig.kernel.variant]
    main = subprocess.Popen(command, cwd=Path(__file__).parents[2], start_new_session=True)
    try:
        until(lambda: len(list(out.glob("runs/.partial-*/clock"))) == 2)
        until(lambda: kernel_processes(out))
    finally:
        main.kill()
        main.wait()
    until(lambda: not kernel_processes(out))
    # the workers have cleaned up, too
    until(lambda: list(out.glob("runs/.partial-*")) == [])


# What follows needs no kernel: these take the place of `perform` in a worker.


def _task(tmp_path: Path, seed: int = 1) -> Task:
    kernel = KernelBuild("k", "lab", tmp_path / "linux", tmp_path / "config")
    return Task.of(SHORT.with_(seed=seed), Rig(kernel, Guest("g", tmp_path / "guest")))


def ok(task: Task) -> Entry:
    return run_entry(task.scenario, virtual_s=1.0)


def dies_once(task: Task, _watch: Watch) -> Done:
    mark = task.rig.kernel.image
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Done(task.key, ok(task))


def always_dies(_task: Task, _watch: Watch) -> Done:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def killed_first(task: Task, watch: Watch) -> Done:
    """What `perform` gives whose first kernel was killed, in a worker that dies before."""
    return replace(dies_once(task, watch), killed=1)


def has_a_bug(_task: Task, _watch: Watch) -> Done:
    raise KeyError("what nobody thought of")


def well(task: Task, _watch: Watch) -> Done:
    return Done(task.key, ok(task))


def modules(task: Task, _watch: Watch) -> Done:
    return failed(task, " ".join(sorted(sys.modules)))


def test_cancelling_does_not_wait_for_tasks_that_end_faster_than_anybody_looks(
    tmp_path: Path,
) -> None:
    """On a cluster a thousand tasks are ahead: those that are short never leave a pause."""

    class Ahead(Workers):
        def __init__(self) -> None:
            self.virtual_s = {}

        ahead = 1000

        def submit(self, fn: Perform, task: Task) -> Future[Done]:
            del fn, task
            submitted.append(Future())
            return submitted[-1]

        def shutdown(self, *, cancel: bool = False) -> None:
            assert cancel

    cancel, numbers = threading.Event(), []
    submitted: list[Future[Done]] = []
    tasks = [_task(tmp_path, seed) for seed in range(1, 101)]

    def end_one() -> None:
        number = sum(each.done() for each in submitted)
        submitted[number].set_result(Done(tasks[number].key, ok(tasks[number])))

    def perform_all() -> None:
        for each in performed(tasks, Ahead(), cancel):
            if each is None:
                end_one()
                continue
            numbers.append(each[0])
            if len(numbers) == 3:
                cancel.set()
            end_one()

    with pytest.raises(RunCancelledError):
        perform_all()
    # the three, and the one that ended while it was cancelled
    assert numbers == [0, 1, 2, 3]


def test_a_task_is_done_again_if_its_worker_dies(tmp_path: Path) -> None:
    with InProcesses(2) as workers:
        assert workers.submit(dies_once, _task(tmp_path)).result().entry.status == "ok"
        others = [workers.submit(well, _task(tmp_path, seed)) for seed in range(2, 6)]
        assert [future.result().entry.status for future in others] == ["ok"] * 4


def test_how_often_it_was_killed_is_counted(tmp_path: Path) -> None:
    with InProcesses(1) as workers:
        assert workers.submit(killed_first, _task(tmp_path)).result().killed == 2
        assert workers.submit(well, _task(tmp_path)).result().killed == 0


def test_a_task_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    with InProcesses(1) as workers:
        done = workers.submit(always_dies, _task(tmp_path)).result()
        assert done.was_given_up
        assert done.entry.reason == (
            "its worker process was killed, 2 times; the machine may be out of memory"
        )
        assert workers.submit(well, _task(tmp_path)).result().entry.status == "ok"


#: Performs a task whose runs all end with an error; gives the directories of the attempts, too.
Failing = Callable[..., tuple[Done, list[Path]]]


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failing:
    def performed(error: RunError, watch: Watch | None = None) -> tuple[Done, list[Path]]:
        attempts: list[Path] = []

        def fails(directory: Path, *_arguments: object) -> Done:
            attempts.append(directory)
            if watch:
                watch.cancel.set()
            raise error

        monkeypatch.setattr(tasks, "_run_in", fails)
        return perform(replace(_task(tmp_path), out=tmp_path / "out"), watch), attempts

    return performed


def test_a_run_that_is_killed_at_each_attempt_is_given_up(failing: Failing, tmp_path: Path) -> None:
    killed = "its process was killed by SIGKILL; the machine may be out of memory"
    done, attempts = failing(RunKilledError(killed))
    assert len(set(attempts)) == 2
    assert done.was_given_up
    assert done.entry.reason == (
        "its process was killed by SIGKILL, 2 times; the machine may be out of memory"
    )
    assert list((tmp_path / "out" / "runs").iterdir()) == []


def test_a_run_that_fails_by_itself_is_not_made_again(failing: Failing) -> None:
    done, attempts = failing(RunError("the guest's kernel panicked"))
    assert len(attempts) == 1
    assert (done.entry.status, done.was_given_up) == ("failed", False)


def test_a_run_that_is_killed_when_all_is_cancelled_is_not_made_again(failing: Failing) -> None:
    """As when a signal goes to all processes at once."""
    with pytest.raises(RunCancelledError):
        failing(RunKilledError("its process was killed by SIGTERM or SIGINT"), Watch())


def test_a_limit_of_processes_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_arguments: object, **_named: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", refused)
    with InProcesses(2) as workers, pytest.raises(MachineError) as caught:
        workers.submit(well, _task(tmp_path)).result()
    assert str(caught.value) == (
        "no worker process can be started: Resource temporarily unavailable\n"
        "  to fix it: end other programs, or raise the limit of processes (ulimit -u, pids.max), "
        "or use --jobs 1"
    )


def test_a_bug_in_a_worker_shows_where_it_is(tmp_path: Path) -> None:
    with InProcesses(1) as workers, pytest.raises(RuntimeError, match="what nobody thought of"):
        workers.submit(has_a_bug, _task(tmp_path)).result()


def test_workers_do_not_import_what_draws(tmp_path: Path) -> None:
    """Nor what analyses: that is memory and time for each of them."""
    with InProcesses(1) as workers:
        found = str(workers.submit(modules, _task(tmp_path)).result().entry.reason).split()
    heavy = {"matplotlib", "plotly", "scipy", "duckdb", "click", "pandas", "pyarrow"}
    assert heavy & set(found) == set()


def test_nothing_is_left_of_workers(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with InProcesses(2) as workers:
        workers.submit(well, _task(tmp_path)).result()
    assert set(os.listdir("/proc/self/fd")) == before
    with contextlib.suppress(ChildProcessError):
        pid, _ = os.waitpid(-1, os.WNOHANG)
        assert pid == 0
