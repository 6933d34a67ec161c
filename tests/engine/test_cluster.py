# SPDX-License-Identifier: GPL-2.0-only
"""Runs on a cluster: several worker processes on this machine, some of which do not survive."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError, MachineError, MptcplabError, RunCancelledError
from mptcplab.lab.engine import Rig
from mptcplab.runs import cluster, experiment, store, tls
from mptcplab.runs.cluster import OnCluster
from mptcplab.runs.store import COST, Store
from mptcplab.runs.tasks import Done, Task, failed, perform
from mptcplab.runs.workers import performed
from tests.cli.calls import call as mptcplab
from tests.engine.test_own_scheduler import faulty
from tests.sweeps import WholeSweep, assert_same_sweep, disturbed, interrupted, made_ns, program
from tests.vocabulary import children_of, request_of, until

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

PATHS = ("a:10mbit,10ms", "b:5mbit,20ms")
TRACE = "time_s,rate_mbit\n0,10\n0.2,5\n0.4,8\n"
#: What an ordinary user puts before a command.
SUDO = "" if os.geteuid() == 0 else "sudo "
#: What each worker needs, and what takes it long to import.
IMPORTED = ["distributed", "mptcplab.runs.cluster", "mptcplab.runs.tasks"]
# What a worker says of itself if its machine has no util-linux.
WITHOUT_TOOLS = """
from mptcplab.lab import doctor
doctor._CHECKS["util-linux"] = lambda: doctor.Check(
    "util-linux", False, "missing", "apt-get install util-linux", packages=("util-linux",)
)
"""

pytestmark = [
    pytest.mark.kernel,
    # Dask's own: a worker that is killed leaves its sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@contextmanager
def workers(cache: Path, count: int = 2, preload: str = "") -> Iterator[Any]:
    """A cluster of processes with a cache of their own, as other machines have; each has a thread.

    Those that come later, and the last one if there are several, do what `preload` says first.
    """
    file = cache / "preload.py"
    file.parent.mkdir(parents=True)
    file.write_text(preload)
    options = {
        "host": "127.0.0.1",
        "nthreads": 1,
        "env": {"XDG_CACHE_HOME": str(cache)},
        "local_directory": str(cache),
    }
    usual = {"cls": distributed.Nanny, "options": options}
    prepared = {"cls": distributed.Nanny, "options": options | {"preload": [str(file)]}}
    spec = {number: prepared if 0 < number == count - 1 else usual for number in range(count)}
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"},
    }
    how = {
        # a worker that takes long to start again, since the machine is busy, is not given up
        "distributed.deploy.lost-worker-timeout": "1h",
        # a process imports everything once, and forks for each worker
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(how):
        distributed.utils.get_mp_context().set_forkserver_preload(IMPORTED)
        with distributed.SpecCluster(spec, scheduler=scheduler, worker=prepared) as started:
            yield started


@contextmanager
def connected(to: Any, said: Callable[[str], None] = lambda _line: None) -> Iterator[OnCluster]:
    on = OnCluster(to.scheduler_address, said)
    try:
        yield on
    finally:
        on.shutdown(cancel=True)


@pytest.fixture
def tasks(rig: Rig, tmp_path: Path) -> Callable[..., list[Task]]:
    """Tasks whose runs differ in nothing but their seed; they go to the store `out`."""

    def make(count: int, out: str = "out", duration: str = "500ms", **flags: Any) -> list[Task]:
        request = request_of(
            *flags.pop("paths", PATHS), duration=duration, repeat=str(count), **flags
        )
        modules = experiment.modules(request, rig.kernel)
        own = replace(rig, modules=modules, traces=request.traces)
        return [Task.of(item, own, Store(tmp_path / out).out) for item in request.runs()]

    return make


def done_by(
    on: OnCluster, tasks: Sequence[Task], ended: Callable[[int], None] = lambda _count: None
) -> list[Done]:
    """What became of the tasks, in their order; `ended` gets their number."""
    found: dict[int, Done] = {}
    for each in performed(tasks, on, threading.Event()):
        if each is not None:
            found[each[0]] = each[1]
            ended(len(found))
    return [found[number] for number in range(len(tasks))]


def files(task: Task) -> dict[str, bytes]:
    """All that a store keeps of the run of a task, without what it has cost."""
    assert task.out is not None
    directory = Store(task.out).directory(task.key)
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in directory.rglob("*")
        if file.is_file() and file.name != COST
    }


def assert_as_here(done: Sequence[Done], there: Sequence[Task], here: Sequence[Task]) -> None:
    """What was made of tasks there is made of them here, too."""
    assert [(each.entry.status, each.entry.reason) for each in done] == [("ok", None)] * len(there)
    for task in here:
        perform(task)
    for one, other in zip(there, here, strict=True):
        assert one.key == other.key
        assert files(one).keys() == files(other).keys()
        for name, content in files(other).items():
            assert files(one)[name] == content, f"{name} of run {one.key}"


def directories_in(place: Path) -> Iterator[str]:
    return (name for _, names, _ in os.walk(place) for name in names)


def kernels_of(pid: int) -> list[int]:
    """The processes of runs below a process: each run is the leader of a session."""
    found = []
    for child in children_of(pid):
        # a child may end between the list and the question
        with suppress(ProcessLookupError):
            if os.getsid(child) == child and child != pid:
                found.append(child)
        found += kernels_of(child)
    return found


def test_what_a_worker_that_is_killed_was_at_is_done_again_and_nothing_differs(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    there, here = tasks(8, "there"), tasks(8, "here")

    with workers(tmp_path / "cache") as started, connected(started) as on:
        pids = [started.workers[number].pid for number in (0, 1)]

        def kill(count: int) -> None:
            if count == 2:
                (running, *_) = until(lambda: kernels_of(pids[0]))
                os.kill(pids[0], signal.SIGKILL)
                until(lambda: not Path(f"/proc/{running}").exists())

        done = done_by(on, there, kill)
        assert started.workers[0].pid != pids[0]
    assert_as_here(done, there, here)


def test_a_sweep_that_is_interrupted_and_loses_a_worker_is_the_same_on_a_cluster(
    whole_sweep: WholeSweep, tmp_path: Path
) -> None:
    out, total = tmp_path / "out", whole_sweep.total
    with workers(tmp_path / "cache") as started:
        pids = [started.workers[number].pid for number in (0, 1)]
        command = program(
            *("sweep", whole_sweep.file, "--out", out, "--cluster", started.scheduler_address)
        )

        def kill_worker(_client: object) -> None:
            running = until(lambda: kernels_of(pids[0]))
            os.kill(pids[0], signal.SIGKILL)
            until(lambda: not any(Path(f"/proc/{each}").exists() for each in running))

        assert interrupted(command, out, total // 3, signal.SIGINT) == 128 + signal.SIGINT
        until(lambda: not any(kernels_of(pid) for pid in pids))
        after_first = made_ns(out)
        assert len(after_first) < total
        assert disturbed(command, out, 2 * total // 3, kill_worker) == 0
        # the other one is as it was, and one has taken the place of the first
        assert [pids[number] == started.workers[number].pid for number in (0, 1)] == [False, True]
    assert list(out.glob("runs/.*")) == []
    assert after_first.items() <= made_ns(out).items()
    assert_same_sweep(out, whole_sweep.out, total)


def test_modules_and_traces_travel_and_keep_their_names(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    (tmp_path / "faulty.c").write_text(faulty())
    (tmp_path / "drive.csv").write_text(TRACE)
    flags = {
        "paths": (f"a:trace={tmp_path / 'drive.csv'},delay=10ms", PATHS[1]),
        "scheduler": str(tmp_path / "faulty.c"),
    }
    there, here = tasks(2, "there", **flags), tasks(2, "here", **flags)
    with workers(tmp_path / "cache", count=1) as started, connected(started) as on:
        done = done_by(on, there)
    assert_as_here(done, there, here)
    assert "traces/drive.csv" in files(there[0])
    # kernel, guest, module and trace, each once
    assert len(list((tmp_path / "cache" / "mptcplab" / "artefacts").iterdir())) == 4


def test_workers_that_are_retired_or_come_later_change_nothing(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    there, here = tasks(6, "there"), tasks(6, "here")

    with workers(tmp_path / "cache") as started, connected(started) as on:
        first = started.workers[0].worker_address

        def retire(count: int) -> None:
            if count == 2:
                with distributed.Client(started, set_as_default=False) as client:
                    client.retire_workers([first])
                    started.scale(3)

        done = done_by(on, there, retire)
    assert_as_here(done, there, here)


def test_a_cluster_that_starts_with_nothing_grows_with_what_is_to_do(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    said: list[str] = []
    # 40 runs of the half second that Dask takes for granted, and two that it wants to wait at most;
    # they do not end before a second worker is there
    with workers(tmp_path / "cache", count=0) as started, connected(started, said.append) as on:
        started.adapt(minimum=0, maximum=2, target_duration="2s", interval="200ms")
        most = 0

        def count_workers(_count: int) -> None:
            nonlocal most
            most = max(most, len(started.workers))

        done = done_by(on, tasks(40, duration="5s"), count_workers)
    assert [each.entry.status for each in done] == ["ok"] * 40
    assert said == ["the cluster has no worker; waiting for one"]
    assert most == 2


def test_cancelling_ends_the_kernels_and_leaves_the_workers(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    # hours of virtual time: it does not end by itself meanwhile
    long = tasks(4, duration="3600s")
    cancel, cache = threading.Event(), tmp_path / "cache"
    with workers(cache) as started:
        pids = [started.workers[number].pid for number in (0, 1)]

        def both_run() -> None:
            until(lambda: all(kernels_of(pid) for pid in pids))
            cancel.set()

        with connected(started) as on:
            threading.Thread(target=both_run).start()
            with pytest.raises(RunCancelledError):
                list(performed(long, on, cancel))
        until(lambda: not any(kernels_of(pid) for pid in pids))
        # where a run was made
        until(lambda: not any(name.startswith("mptcplab-") for name in directories_in(cache)))
        assert [started.workers[number].pid for number in (0, 1)] == pids
        # and they are as good as before
        with connected(started) as on:
            (done,) = done_by(on, tasks(1))
        assert done.entry.status == "ok"
    assert not list((tmp_path / "out" / "runs").glob(".*"))


def test_a_task_that_kills_its_worker_again_and_again_is_a_failed_run(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    (task,) = tasks(1)
    # of a name, its module would be looked for on the worker
    deadly: Any = lambda _task, _watch: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731, RUF100
    with workers(tmp_path / "cache", count=1) as started, connected(started) as on:
        done = on.submit(deadly, task).result(timeout=120)
        # its worker is there again, and as good as before; Dask may fail to close one that starts
        (again,) = done_by(on, [task])
    assert again.entry.status == "ok"
    assert done.entry.status == "failed"
    assert str(done.entry.reason).startswith("the worker that made it died, 4 times, the last one")


def test_tasks_that_ended_are_forgotten(tasks: Callable[..., list[Task]], tmp_path: Path) -> None:
    with (
        dask.config.set(tls.LEAN),
        workers(tmp_path / "cache", count=1) as started,
        connected(started) as on,
    ):
        idle: Any = lambda task, _watch: failed(task, "idle")  # noqa: E731, RUF100
        ended = [on.submit(idle, task).result(timeout=120) for task in tasks(30)]
        gc.collect()
        # tasks, as the scheduler in this process sends them to the worker
        kept = [each for each in gc.get_objects() if isinstance(each, dask._task_spec.Task)]
    assert [each.entry.reason for each in ended] == ["idle"] * 30
    # the last ten messages to the worker, and the last one from here
    assert len(kept) <= 11


def test_unfit_workers_are_named_with_what_they_lack(tmp_path: Path) -> None:
    with workers(tmp_path / "cache", preload=WITHOUT_TOOLS) as started:
        with pytest.raises(MachineError) as error:
            OnCluster(started.scheduler_address, lambda _line: None)
        unfit = started.workers[1].worker_address
    lines = str(error.value).splitlines()
    assert lines == [
        "1 of the 2 workers of the cluster cannot make runs",
        f"  {unfit}: util-linux: missing",
        f"  to fix it: {SUDO}apt-get install util-linux",
    ]


def test_an_unfit_worker_that_comes_later_is_sent_away(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    said: list[str] = []
    with (
        workers(tmp_path / "cache", count=1, preload=WITHOUT_TOOLS) as started,
        connected(started, said.append) as on,
    ):

        def more(count: int) -> None:
            if count == 1:
                started.scale(2)
                until(lambda: said)

        done = done_by(on, tasks(4), more)
    assert [each.entry.status for each in done] == ["ok"] * 4
    (line,) = said
    assert line.startswith("worker tcp://127.0.0.1:")
    assert line.endswith(
        f" is left out: util-linux: missing\n  to fix it: {SUDO}apt-get install util-linux"
    )


def test_records_are_kept_on_shared_storage_and_fetched(
    tasks: Callable[..., list[Task]], tmp_path: Path
) -> None:
    there, here = tasks(2, "there"), tasks(2, "here")
    storage = tmp_path / "share" / "runs"
    with workers(tmp_path / "cache", count=1) as started, connected(started) as on:
        done = done_by(on, [replace(task, storage=f"file://{storage}") for task in there])
    assert [each.entry.status for each in done] == ["ok"] * 2
    assert sorted(file.name for file in storage.iterdir()) == sorted(
        f"{task.key}.tar.gz" for task in there
    )
    kept = {"archive.json", "build.json", "result.json", "scenario.json", "series.parquet"}
    assert [files(task).keys() for task in there] == [kept] * 2

    runs = Store(tmp_path / "there")
    with pytest.raises(
        MptcplabError, match=r"kept at file://.*; to fetch them: mptcplab results fetch"
    ):
        store.read_run(runs.directory(there[0].key))
    fetched = mptcplab("results", "fetch", "--out", str(tmp_path / "there"))
    assert (fetched.stdout, fetched.stderr) == ("records of 2 runs fetched\n", "")
    assert_as_here(done, there, here)


@pytest.mark.parametrize("address", ["here", "tcp://host", "http://host:1", "none.json"])
def test_what_is_no_address_is_reported(address: str) -> None:
    with pytest.raises(InputError, match=r"accepted is tcp://HOST:PORT, tls://HOST:PORT or"):
        OnCluster(address, lambda _line: None)


def test_a_scheduler_that_is_not_there_or_goes_away_is_reported(
    tasks: Callable[..., list[Task]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 1.0)
    with pytest.raises(MptcplabError, match=r"--cluster tcp://127.0.0.1:1: "):
        OnCluster("tcp://127.0.0.1:1", lambda _line: None)

    monkeypatch.setattr(cluster, "_CONNECT_S", 20.0)
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    command += ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(file)], stderr=subprocess.PIPE)
    try:
        until(lambda: file.exists() and file.stat().st_size)
        on = OnCluster(str(file), lambda _line: None)
        future = on.submit(perform, tasks(1)[0])
        scheduler.kill()
        with pytest.raises(MptcplabError, match="connection to the cluster's scheduler is lost"):
            future.result(timeout=120)
        on.shutdown(cancel=True)
    finally:
        scheduler.kill()
        scheduler.communicate()
