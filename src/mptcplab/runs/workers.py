# SPDX-License-Identifier: GPL-2.0-only
"""The workers of this machine: threads of this process, or processes of their own."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol, Self

from mptcplab.errors import MachineError, RunCancelledError
from mptcplab.lab import doctor
from mptcplab.lab.engine import Watch
from mptcplab.runs.tasks import ATTEMPTS, Done, Task, given_up, perform

_TICK_S = 0.1
_CANCEL = b"cancel"

#: Performs a task: `tasks.perform`, except in tests.
Perform = Callable[[Task, Watch], Done]


class Workers(Protocol):
    """Workers that perform tasks, here or elsewhere.

    `virtual_s` has the progress of the running tasks, by their keys, as far as it is known; `jobs`
    is how many are performed at a time, and `ahead` how many should be submitted so that no worker
    waits: both may change over time.
    """

    virtual_s: dict[str, float]
    jobs: int = 1

    @property
    def ahead(self) -> int:
        return 2 * self.jobs

    def submit(self, fn: Perform, task: Task) -> Future[Done]:
        """Submit a task; the future raises RunCancelledError if it was cancelled."""
        raise NotImplementedError

    def shutdown(self, *, cancel: bool = False) -> None:
        """Wait for the running tasks; with `cancel` end them, and do not start others."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()


class InThreads(Workers):
    """Performs tasks in this process: nothing to start, but Python runs one thread at a time.

    `look` is shown the files of the runs as they grow: see Watch.
    """

    def __init__(self, jobs: int, look: Callable[[Path], None] | None = None) -> None:
        self.virtual_s = {}
        self.jobs = jobs
        self._look = look
        self._cancel = threading.Event()
        self._threads = ThreadPoolExecutor(jobs)

    def submit(self, fn: Perform, task: Task) -> Future[Done]:

        def moved(now_s: float) -> None:
            self.virtual_s[task.key] = now_s

        watch = Watch(moved, self._look, self._cancel)
        return self._threads.submit(fn, task, watch)

    def shutdown(self, *, cancel: bool = False) -> None:
        if cancel:
            self._cancel.set()
        self._threads.shutdown(cancel_futures=cancel)


class InProcesses(InThreads):
    """Performs tasks in processes of their own, each with a thread here that it talks to.

    They import only what a run needs: Python's process pool would import the main program in each
    of them. A worker that dies costs no run: another one takes its place, and repeats its task. If
    this process dies, the workers notice it, end their runs and exit; `Store` later removes what
    they leave behind.
    """

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()

    def submit(self, fn: Perform, task: Task) -> Future[Done]:
        return self._threads.submit(self._have_done, fn, task)

    def shutdown(self, *, cancel: bool = False) -> None:
        super().shutdown(cancel=cancel)
        idle = [self._idle.get() for _ in range(self._idle.qsize())]
        for worker in idle:
            worker.connection.close()
        for worker in idle:
            worker.end()

    def _have_done(self, fn: Perform, task: Task) -> Done:
        for attempt in range(ATTEMPTS):
            try:
                worker = self._idle.get_nowait()
            except queue.Empty:
                worker = _Worker()
            try:
                result = self._talk(worker.connection, fn, task)
            except (EOFError, OSError):
                worker.end()
                if self._cancel.is_set():
                    raise RunCancelledError from None
                continue
            self._idle.put(worker)
            done = _result(result)
            return replace(done, killed=done.killed + attempt) if attempt else done
        reason = f"its worker process was killed, {ATTEMPTS} times"
        return given_up(task, f"{reason}; the machine may be out of memory", ATTEMPTS)

    def _talk(self, connection: Connection, fn: Perform, task: Task) -> Any:
        if self._cancel.is_set():
            return None
        connection.send((fn, task))
        cancelled = False
        while True:
            if self._cancel.is_set() and not cancelled:
                connection.send_bytes(_CANCEL)
                cancelled = True
            if connection.poll(_TICK_S):
                message = connection.recv()
                if not isinstance(message, float):
                    return message
                self.virtual_s[task.key] = message


class _Worker:
    """A worker process, and this end of the connection to it."""

    def __init__(self) -> None:
        """Raises MachineError if it cannot be started."""
        ours, theirs = socket.socketpair()
        # one thread for each: there are as many workers as CPUs
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        # a worker finds its modules where this process does
        program = (
            f"import sys; sys.path[:] = {sys.path}\n"
            f"from mptcplab.runs import workers; workers.work({theirs.fileno()})"
        )
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", program],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=environment,
                    pass_fds=[theirs.fileno()],
                )
            except OSError as error:
                ours.close()
                what = f"no worker process can be started: {error.strerror}"
                raise MachineError(what, f"{doctor.MORE_PROCESSES}, or use --jobs 1") from None
        self.connection = Connection(ours.detach())

    def end(self) -> None:
        self.connection.close()
        self._process.wait()


def local(jobs: int) -> Workers:
    """Workers of this machine: without others, this process, which saves starting another."""
    return InProcesses(jobs) if jobs > 1 else InThreads(1)


def _result(message: Any) -> Done:
    """A worker's answer: None if it was cancelled, a traceback after an unknown error."""
    if message is None:
        raise RunCancelledError
    if isinstance(message, str):
        raise RuntimeError(f"in a worker:\n{message}")
    assert isinstance(message, Done)
    return message


def work(own: int) -> None:
    """Does one task after the other, until none is left, or the client is gone: what a worker
    process does with its end of a connection.
    """
    # Ctrl-C is for the program that started this, which then ends the runs
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    connection = Connection(own)
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
    with contextlib.suppress(OSError):  # the client is gone
        while message := tasks.get():
            connection.send(_answer(message, connection, cancel))


def _answer(message: bytes, connection: Connection, cancel: threading.Event) -> Any:
    ticked_s = time.monotonic()

    def moved(now_s: float) -> None:
        nonlocal ticked_s
        if time.monotonic() - ticked_s > _TICK_S:
            ticked_s = time.monotonic()
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
    """The number of each task, from 0, and its outcome, as they end; None ten times a second.

    Tasks are taken as needed, `workers.ahead` of them. Setting `cancel` shuts the workers down and
    raises RunCancelledError; closing the generator early shuts them down, too.
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
                under_way += give()  # or may have grown
                yield None
                continue
            under_way -= 1
            done = future.result()
            workers.virtual_s.pop(done.key, None)
            under_way += give()
            yield number, done
        if cancel.is_set():
            # finished runs are kept without waiting: many short runs end between two looks
            for _ in range(ended.qsize()):
                number, future = ended.get()
                yield number, future.result()
            raise RunCancelledError
        complete = True
    finally:
        # also after an error: no run may go on that nobody waits for
        if not complete:
            workers.shutdown(cancel=True)
