# SPDX-License-Identifier: GPL-2.0-only
"""One run as a task: all it needs as a value that can be sent, what comes back, and who does it.

`perform` does a task wherever it is called: in this process, in a worker process of this machine,
or in a worker of a cluster. Workers stand behind the interface of `concurrent.futures.Executor`;
those of this machine are here. A run is written straight into the store where that can be reached,
and else comes back packed.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pickle
import platform
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from mptcplab import __version__
from mptcplab.errors import InputError, MachineError, MptcplabError, Problem, RunError
from mptcplab.lab import doctor, engine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Outcome, RunCancelledError, RunKilledError, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import connections, recorded, records, series
from mptcplab.metrics.application import application_figures
from mptcplab.metrics.compute import RunMetrics, run_metrics
from mptcplab.runs import archive, documents, store
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.store import Store
from mptcplab.spec import link_trace, plan
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.workload import Program

T = TypeVar("T")

_TICK_S = 0.1
# More than once, so that a machine that was short of memory for a moment does not cost a run; not
# for ever, since a run may be what takes the memory.
_ATTEMPTS = 2
_CANCEL = b"cancel"


@dataclass(frozen=True)
class Task:
    """A run to be made. `key` is its name in a store (see `store.run_key`).

    `modules` has the files of those of its schedulers that are a person's own, by name; `traces`
    what is played, by path and direction. With `out` the run is put into the store there; without,
    it comes back, and `scratch` is where it is made: [the directory for temporary files]. Without
    `keep_records` what is kept of the samples is their series; with `storage`, a URL, the records
    are kept there (see `archive`).
    """

    key: str
    scenario: Scenario
    kernel: KernelBuild
    guest: Guest
    modules: Mapping[str, Path] = field(default_factory=dict)
    traces: Mapping[tuple[str, str], link_trace.Source] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    out: Path | None = None
    keep_records: bool = True
    scratch: Path | None = None
    storage: str | None = None


@dataclass(frozen=True)
class Done:
    """What became of a task: the entry of its run (see `run_entry`), and what it cost.

    `cost` is what `cost.json` has, empty for a run that failed, and `took_s` for how long it kept
    its worker busy, which is a little more than the run. `files` is the run's directory, as
    `archive.pack` makes it, if the task had no store to put it into. `killed` is how often somebody
    else ended it or its worker, such as the system that was out of memory, before it was made, or
    given up.
    """

    key: str
    entry: Entry
    cost: Mapping[str, float] = field(default_factory=dict)
    took_s: float = 0.0
    files: bytes | None = None
    killed: int = 0

    @property
    def was_given_up(self) -> bool:
        """Whether there is no run, for no reason that is in its scenario."""
        return bool(self.killed) and self.entry.status != "ok"


def task(
    scenario: Scenario,
    kernel: KernelBuild,
    guest: Guest,
    *,
    modules: Mapping[str, Path] | None = None,
    traces: Mapping[tuple[str, str], link_trace.Source] | None = None,
    limits: Limits | None = None,
    out: Path | None = None,
    keep_records: bool = True,
    storage: str | None = None,
) -> Task:
    """The task of one run; of `modules` and `traces` it takes what the scenario uses."""
    paths = {each.name for each in (*scenario.paths, *scenario.links)}
    return Task(
        store.run_key(scenario, kernel, guest),
        scenario,
        kernel,
        guest,
        own_modules(scenario, modules or {}),
        {place: source for place, source in (traces or {}).items() if place[0] in paths},
        limits or Limits(),
        out,
        keep_records,
        storage=storage,
    )


def perform(task: Task, watch: Watch | None = None) -> Done:
    """Make the run of a task. One that fails is an entry that says why.

    One that somebody else kills is made again, and given up if that happens again.
    Raises RunCancelledError if it was cancelled; nothing of it is left then.
    """
    watch = watch or Watch()
    killed: RunKilledError
    for attempt in range(_ATTEMPTS):
        if watch.cancel.is_set():
            raise RunCancelledError
        try:
            return replace(_perform(task, watch), killed=attempt)
        except RunCancelledError:
            raise
        except RunKilledError as error:
            killed = error
        except (MptcplabError, OSError) as error:  # OSError: the disk was full before or after it
            return replace(failed(task, str(error)), killed=attempt)
    what, separator, hint = killed.reason.partition("; ")
    return given_up(task, f"{what}, {_ATTEMPTS} times{separator}{hint}", _ATTEMPTS)


def _perform(task: Task, watch: Watch) -> Done:
    started = time.monotonic()
    if task.out is not None:
        with Store(task.out).new_run(task.key) as directory:
            done = _run_in(directory, task, watch)
    else:
        prefix = f"mptcplab-{task.key}-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=task.scratch) as name:
            done = _run_in(Path(name), task, watch)
            done = replace(done, files=archive.pack(Path(name)))
    return replace(done, took_s=time.monotonic() - started)


def failed(task: Task, reason: str) -> Done:
    """What becomes of a task whose run failed."""
    entry = run_entry(
        task.scenario,
        status="failed",
        reason=reason,
        virtual_s=None,
        wall_s=None,
        run_metrics=None,
        directory=None,
    )
    return Done(task.key, entry)


def given_up(task: Task, reason: str, killed: int) -> Done:
    """What becomes of a task that somebody else killed each time: no run, not even a failed one."""
    return replace(failed(task, reason), killed=killed)


def builds(kernel: KernelBuild, guest: Guest) -> dict[str, str]:
    """What a run is made with besides its scenario, as documents name it."""
    return {
        "kernel": kernel.id,
        "kernel_like": kernel.flavour,
        "guest": guest.id,
        "mptcplab": __version__,
    }


def unpack(done: Done, out: Store) -> None:
    """Put the files of a run that came back into a store.

    Raises OSError if that cannot be, MptcplabError if they are not the files of that run.
    """
    assert done.files is not None, "a run that was put into a store, or that failed"
    with out.new_run(done.key) as directory:
        archive.extract(done.files, directory, source=f"run {done.key}")
        if missing := [name for name in store.DOCUMENTS if not (directory / name).exists()]:
            raise MptcplabError(f"run {done.key}: came without {', '.join(missing)}")
        result = documents.read_entry(directory / store.RESULT)
        documents.read(directory / store.BUILD, documents.BUILD)
        documents.read(directory / store.COST, documents.COST)
        if result.result() != done.entry.result():
            raise MptcplabError(f"run {done.key}: its {store.RESULT} is not what is told of it")


def fetch(out: Store, keys: Sequence[str] = ()) -> int:
    """Have the records of runs in a store that are kept elsewhere; of all, without keys.

    Gives how many it had. Raises MptcplabError.
    """
    if unknown := set(keys) - set(out.keys()):
        problem = f"no run of that key in {out.out}; accepted is the name of a directory in runs"
        raise InputError([Problem("results fetch", "", key, problem) for key in sorted(unknown)])
    fetched = 0
    for key in keys or sorted(out.keys()):
        stored = out.directory(key)
        if (stored / archive.ARCHIVE).exists():
            try:
                about = documents.read(stored / archive.ARCHIVE, documents.ARCHIVED)
                content = archive.read(dict(about))
                with out.new_run(key) as directory:
                    archive.extract(content, directory, source=about.url)
                    _require_same(stored, directory, about.url)
            except OSError as error:
                raise MptcplabError(f"{out.out}: {error.strerror}") from error
            fetched += 1
    return fetched


def _require_same(stored: Path, fetched: Path, url: str) -> None:
    """Raises MptcplabError if what was fetched would take the place of another run."""
    for name in (store.SCENARIO, store.BUILD, store.RESULT):
        if (stored / name).exists() and (
            documents.read_json(stored / name) != documents.read_json(fetched / name)
        ):
            raise MptcplabError(f"{url}: not the run of {stored}: {name} differs")


# Who performs them


class Workers(Executor):
    """An executor of tasks: of `submit(perform, task)` the future gives a Done.

    `virtual_s` has how far the tasks under way are, by their keys, as far as it is known; `jobs` is
    how many it performs at a time, and `ahead` how many it should have at hand so that none of it
    waits: both may change from time to time. When shut down with
    `cancel_futures` it ends what is under way, too, whose futures raise RunCancelledError.
    """

    virtual_s: dict[str, float]
    jobs: int = 1

    @property
    def ahead(self) -> int:
        return 2 * self.jobs


class InThreads(Workers):
    """Performs tasks in this process: nothing to start, but Python does one thing at a time.

    `look` is shown the files of the runs as they grow: see Watch.
    """

    def __init__(self, jobs: int, look: Callable[[Path], None] | None = None) -> None:
        self.virtual_s = {}
        self.jobs = jobs
        self._look = look
        self._cancel = threading.Event()
        self._threads = ThreadPoolExecutor(jobs)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        (task,) = args

        def moved(now_s: float) -> None:
            self.virtual_s[task.key] = now_s

        watch = Watch(moved, self._look, self._cancel)
        assert not kwargs, "a task has all that is needed"
        return self._threads.submit(fn, task, watch)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            self._cancel.set()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)


class InProcesses(Workers):
    """Performs tasks in processes of their own, each with a thread here that it talks to.

    They are forks of one that has imported what a run needs and nothing else: a process pool of
    Python's would import the program that started it in each of them. A worker that dies costs no
    run: another one takes its place, and does its task again. If this process dies, the workers
    see it, end their runs and go; whatever they then leave of them, `Store` removes later.
    """

    def __init__(self, jobs: int) -> None:
        self.virtual_s = {}
        self.jobs = jobs
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._hosts: list[subprocess.Popen[bytes]] = []
        self._threads = ThreadPoolExecutor(jobs)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        (task,) = args
        with self._lock:
            if not self._hosts:
                self._start(self.jobs)
        assert not kwargs, "a task has all that is needed"
        return self._threads.submit(self._have_done, fn, task)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            self._cancel.set()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            while not self._idle.empty():
                self._idle.get().close()
            for host in self._hosts:
                host.wait()

    def _start(self, count: int) -> None:
        """Start some workers, which are idle then."""
        pairs = [socket.socketpair() for _ in range(count)]
        theirs = [their.fileno() for _, their in pairs]
        # one thread for each: there are as many workers as CPUs, and a fork should have one to copy
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        # where this process finds its modules, a worker does
        program = (
            f"import sys; sys.path[:] = {sys.path}\n"
            f"from mptcplab.runs import work; work.host({theirs})"
        )
        command = [sys.executable, "-P", "-c", program]
        try:
            host = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=theirs,
            )
        except OSError as error:
            for ours, _ in pairs:
                ours.close()
            raise _no_worker(error) from None
        finally:
            for _, their in pairs:
                their.close()
        self._hosts.append(host)
        for ours, _ in pairs:
            self._idle.put(Connection(ours.detach()))

    def _have_done(self, fn: Callable[..., Any], task: Task) -> Any:
        for attempt in range(_ATTEMPTS):
            worker = self._idle.get()
            try:
                result = self._talk(worker, fn, task)
            except (EOFError, OSError):
                worker.close()
                with self._lock:
                    self._start(1)
                if self._cancel.is_set():
                    raise RunCancelledError from None
                continue
            self._idle.put(worker)
            done = _result(result)
            return replace(done, killed=done.killed + attempt) if attempt else done
        reason = f"its worker process was killed, {_ATTEMPTS} times"
        return given_up(task, f"{reason}; the machine may be out of memory", _ATTEMPTS)

    def _talk(self, worker: Connection, fn: Callable[..., T], task: Task) -> Any:
        if self._cancel.is_set():
            return None
        with contextlib.suppress(BrokenPipeError):  # one that could not be started has said so
            worker.send((fn, task))
        told = False
        while True:
            if self._cancel.is_set() and not told:
                worker.send_bytes(_CANCEL)
                told = True
            if worker.poll(_TICK_S):
                message = worker.recv()
                if not isinstance(message, float):
                    return message
                self.virtual_s[task.key] = message


def _result(message: Any) -> Any:
    """What a worker answered: None if it was cancelled, a text if it failed in a way unknown, and
    the system's error if it could not be started."""
    if message is None:
        raise RunCancelledError
    if isinstance(message, OSError):
        raise _no_worker(message)
    if isinstance(message, str):
        raise RuntimeError(f"in a worker:\n{message}")
    return message


def _no_worker(error: OSError) -> MachineError:
    what = f"no worker process can be started: {error.strerror}"
    return MachineError(what, f"{doctor.MORE_PROCESSES}, or use --jobs 1")


def host(sockets: Sequence[int]) -> None:
    """The process of which all workers are forks: one for each of the sockets; waits for them."""
    # who presses Ctrl-C means the program that started this, which then ends the runs
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    for number, own in enumerate(sockets):
        try:
            child = os.fork()
        except OSError as error:
            for each in sockets[number:]:
                # who is told already may have gone
                with contextlib.suppress(BrokenPipeError), Connection(each) as worker:
                    worker.send(error)
            break
        if child == 0:
            for other in sockets[number + 1 :]:
                os.close(other)
            try:
                _work(Connection(own))
            finally:
                os._exit(0)
        os.close(own)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _work(connection: Connection) -> None:
    """Do one task after the other, until there is none, or nobody left to ask."""
    cancel = threading.Event()
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = connection.recv_bytes()
                if message == _CANCEL:
                    cancel.set()
                else:
                    tasks.put(message)
        cancel.set()
        tasks.put(b"")

    threading.Thread(target=listen, daemon=True).start()
    with contextlib.suppress(OSError):  # nobody is there any more
        while message := tasks.get():
            connection.send(_answer(message, connection, cancel))


def _answer(message: bytes, connection: Connection, cancel: threading.Event) -> Any:
    told = time.monotonic()

    def moved(now_s: float) -> None:
        nonlocal told
        if time.monotonic() - told > _TICK_S:
            told = time.monotonic()
            with contextlib.suppress(OSError):
                connection.send(now_s)

    try:
        fn, task = pickle.loads(message)
        return fn(task, Watch(moved, cancel=cancel))
    except RunCancelledError:
        return None
    except Exception:
        # not every exception can be sent
        return traceback.format_exc()


def performed(
    tasks: Iterable[Task], workers: Workers, cancel: threading.Event
) -> Iterator[tuple[int, Done] | None]:
    """The number of each task, from 0, and what became of it, as they end; None ten times a second.

    Tasks are taken as they are needed, `workers.ahead` of them. Setting `cancel` shuts the workers
    down, and so does leaving it early; raises RunCancelledError then.
    """
    coming = enumerate(tasks)
    ended: queue.SimpleQueue[tuple[int, Future[Done]]] = queue.SimpleQueue()
    under_way = 0

    def give() -> int:
        # a cluster may have shrunk meanwhile
        taken = list(itertools.islice(coming, max(workers.ahead - under_way, 0)))
        for number, each in taken:
            future = workers.submit(perform, each)
            future.add_done_callback(lambda future, number=number: ended.put((number, future)))  # type: ignore[misc]
        return len(taken)

    complete = False
    try:
        under_way += give()
        while under_way and not cancel.is_set():
            try:
                number, future = ended.get(timeout=_TICK_S)
            except queue.Empty:
                under_way += give()  # or have grown
                yield None
                continue
            under_way -= 1
            done = future.result()
            workers.virtual_s.pop(done.key, None)
            under_way += give()
            yield number, done
        if cancel.is_set():
            # what has ended is kept, but not waited for: many short runs end faster than we look
            for _ in range(ended.qsize()):
                number, future = ended.get()
                yield number, future.result()
            raise RunCancelledError
        complete = True
    finally:
        # after an error, too, no run may go on that nobody waits for
        if not complete:
            workers.shutdown(cancel_futures=True)


# One run


def cpus() -> list[int]:
    """The CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def measure(
    scenario: Scenario,
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    *,
    modules: Mapping[str, Path] | None = None,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> tuple[Outcome, RunMetrics]:
    """One run on a CPU of its own, with its files in `directory`, and its figures.

    `modules` must have that of the scenario's scheduler, by name, if it is a person's own.
    """
    outcome = run(scenario, kernel, guest, directory, modules=modules, limits=limits, watch=watch)
    return outcome, figures(scenario, outcome)


def run(
    scenario: Scenario,
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    *,
    modules: Mapping[str, Path] | None = None,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """One run, as `measure` makes it."""
    with own_cpu() as cpu:
        return engine.run(
            scenario,
            plan.render(scenario),
            kernel,
            guest,
            directory,
            modules=own_modules(scenario, modules or {}),
            cpu=cpu,
            limits=limits,
            watch=watch,
        )


def own_modules(scenario: Scenario, modules: Mapping[str, Path]) -> dict[str, Path]:
    """Those of the modules that hold schedulers of the scenario."""
    return {
        choice.name: modules[choice.name]
        for choice in (*scenario.choices(), scenario.scheduler)
        if choice.digest is not None
    }


def figures(scenario: Scenario, outcome: Outcome) -> RunMetrics:
    """The figures of a run that has ended well."""
    samples = engine.read_samples(scenario, outcome.directory)
    queues = records.read_links(outcome.directory / engine.LINKS_SAMPLES)
    file = outcome.directory / engine.MESSAGES
    messages = records.read_messages(file) if file.exists() else None
    if scenario.connections:
        assert messages is not None, "only programs have none"
        return connections.figures(scenario, samples, outcome.guest, queues, messages)
    found = run_metrics(scenario, samples["client"], samples["server"], outcome.guest, queues)
    start_ns = int(outcome.guest["start_ns"])
    seen = application_figures(scenario, messages, start_ns)
    found = replace(found, metrics=found.metrics.model_copy(update=dict(seen)))
    if scenario.links:
        times = recorded.sample_times(samples, queues)
        interval = recorded.measured_interval(scenario, "run", times, outcome.guest)
        shared = connections.link_metrics(scenario, queues, interval, start_ns)
        found = replace(found, links=tuple(shared))
    return found


def _run_in(directory: Path, task: Task, watch: Watch) -> Done:
    """The run of a task, with its files as a store keeps them in `directory`."""
    scenario = task.scenario
    outcome = run(
        scenario,
        task.kernel,
        task.guest,
        directory,
        modules=task.modules,
        limits=task.limits,
        watch=watch,
    )
    measured, about = _program_figures(scenario, outcome)
    entry = run_entry(
        scenario,
        status="ok",
        virtual_s=outcome.virtual_s,
        wall_s=outcome.wall_s,
        run_metrics=measured,
        directory=store.place(task.key),
    )
    entry = entry.model_copy(update=about)
    if task.keep_records or task.storage:
        store.keep_traces(directory, scenario, task.traces)
    else:
        _keep_series(directory, task)
    store.write_json(directory / store.SCENARIO, scenario)
    store.write_json(directory / store.BUILD, builds(task.kernel, task.guest))
    store.write_json(directory / store.RESULT, entry.result())
    cost = {
        name: getattr(outcome, name)
        for name in ("wall_s", "start_s", "user_s", "system_s", "memory_bytes")
    }
    store.write_json(directory / store.COST, cost)
    if task.storage:
        about = archive.keep(task.storage, f"{task.key}.tar.gz", archive.pack(directory))
        _keep_series(directory, task)
        store.write_json(directory / archive.ARCHIVE, about)
    return Done(task.key, entry, cost)


def _keep_series(directory: Path, task: Task) -> None:
    """Of all the records that a run has left, keep what happened over time, on one grid."""
    stored = store.StoredRun(
        directory,
        task.scenario,
        engine.read_samples(task.scenario, directory),
        task.traces,
    )
    found = stored.series()
    for each in directory.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.name not in store.DOCUMENTS:
            each.unlink()
    series.write(found, directory / store.SERIES)


def _program_figures(
    scenario: Scenario, outcome: Outcome
) -> tuple[RunMetrics | None, dict[str, Any]]:
    """The figures of a run, and what its entry says besides of programs.

    A program may make no connection, or what has no figures: it has still run. And if it means
    harm, it may have written the records.
    """
    if not isinstance(scenario.workload, Program):
        return figures(scenario, outcome), {}
    about = {name: outcome.guest[name] for name in ("client_status", "server_status")}
    try:
        return figures(scenario, outcome), about
    except RunError as error:
        return None, {**about, "no_figures": error.reason}
    except (ArithmeticError, LookupError, ValueError) as error:
        return None, {**about, "no_figures": f"its records contradict themselves ({error!r})"}


@contextlib.contextmanager
def own_cpu() -> Iterator[int]:
    """A CPU for one run, locked against other runs, of this process and of others.

    With more runs than CPUs, the further ones share them. Machines may share a cache. In one that
    cannot be written to there are the locks of those who could.
    """
    directory = doctor.cache_dir() / "cpu" / platform.node()
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        for cpu in cpus():
            try:
                # a lock needs no right to write
                lock = os.open(directory / str(cpu), os.O_RDONLY | os.O_CREAT, 0o666)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # it is another run's, or there is none
                continue
            yield cpu
            return
        yield cpus()[threading.get_native_id() % len(cpus())]
