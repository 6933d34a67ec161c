# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose scheduler asks an agent in Python: docs/agent.md.

The scheduler `agent` in the guest's kernel, kernel/mptcp/sched/agent.c, writes each question to a
socket, and blocks until the answer is there; kernel/mptcp/uapi/agent.h has the messages. The guest
is one process of the host, so its virtual time stands meanwhile.
"""

from __future__ import annotations

import hashlib
import runpy
import select
import socket
import struct
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from enum import IntEnum, IntFlag
from functools import lru_cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from mptcplab import api
from mptcplab.errors import InputError, MptcplabError, Problem, RunError
from mptcplab.lab import choices
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.mistakes import suggestion
from mptcplab.runs import experiment
from mptcplab.runs.tasks import Done, Task, perform
from mptcplab.runs.workers import InThreads, Perform
from mptcplab.scenario import scheduler
from mptcplab.scenario.resolve import Request

#: The scheduler that asks.
NAME = "agent"
#: Changes with each change of the messages.
VERSION = 1

_MOST_BYTES = 1 << 16
_MOST_SETTINGS = 8
_ANSWER = struct.Struct("<4I16s")
_SETTING = struct.Struct("<28sI")
_KINDS = {"wait": 1, "send": 2, "delegate": 3, "keep": 4, "leave": 5}

_QUESTION_64 = ("time_ns", "una_seq", "nxt_seq", "window_end_seq", "segment_seq")
_QUESTION_32 = (
    *("segment_len", "why", "events", "flags", "window_bytes", "unsent_bytes", "segment_bytes"),
    *("units_announced", "refused", "count"),
)
_SUBFLOW_64 = (
    *("acked_bytes", "pacing_rate", "delivered_ns", "delivered_sent_ns", "oldest_sent_ns"),
    *("device_queue_bytes", "device_sent_bytes"),
)
_SUBFLOW_32 = (
    *("id", "flags", "ca_state", "mss_bytes", "srtt_us", "rttvar_us", "rto_margin_us"),
    *("min_rtt_us", "last_rtt_us", "cwnd_pkts", "ssthresh_pkts", "in_flight_pkts"),
    *("left_out_pkts", "limit_pkts", "unsent_bytes", "outstanding_bytes", "memory_bytes"),
    *("window_bytes", "delivered_pkts", "lost_pkts", "retransmitted_pkts", "rounds"),
    *("round_delivered_pkts", "round_lost_pkts", "round_retransmitted_pkts"),
    *("peer_window_bytes", "peer_mss_bytes", "owd_us", "commd_us", "reserved"),
)


def _record(*fields: tuple[str, Sequence[str]]) -> np.dtype[np.void]:
    return np.dtype([(name, kind) for kind, names in fields for name in names])


#: The fields of a connection, and of each subflow, with the names of kernel/mptcp/mpsched.h.
CONNECTION = _record(
    ("<u4", ("version", "connection")), ("<u8", _QUESTION_64), ("<u4", _QUESTION_32)
)
SUBFLOW = _record(("<u8", _SUBFLOW_64), ("<u4", _SUBFLOW_32))


class Why(IntEnum):
    """Why the scheduler asks."""

    DECISION = 1
    TIME = 2
    EVENT = 3


class Event(IntFlag):
    """What has happened since the connection's latest question; BEGIN: it is the first one."""

    BEGIN = 1
    LOSS = 2
    RTO = 4
    SUBFLOWS = 8


class Flag(IntFlag):
    """`flags` of a connection. REINJECTION: of the next segment; SERVER: the end that asks."""

    WRITER_WAITS = 1
    SNDBUF_FULL = 2
    CLOSING = 4
    REINJECTION = 8
    SERVER = 16


class SubflowFlag(IntFlag):
    """`flags` of a subflow. AVAILABLE: it would send a segment at once; CARRIED: it carried the
    next segment before.
    """

    USABLE = 1
    BACKUP = 2
    STALE = 4
    MEMORY_FULL = 8
    AVAILABLE = 16
    THROTTLED = 32
    CARRIED = 64


# a number, since NumPy takes five times as long for an IntFlag
_AVAILABLE = int(SubflowFlag.AVAILABLE)


class Question:
    """What the scheduler sees: `connection`, a record of CONNECTION, and `subflows`, an array of
    SUBFLOW, in the order of their creation. Both are views of `message`.
    """

    __slots__ = ("connection", "message", "subflows")

    def __init__(self, message: bytes) -> None:
        """Raises MptcplabError if the kernel has other messages."""
        self.message = message
        if int.from_bytes(message[:4], "little") != VERSION:
            raise MptcplabError(
                f"the kernel asks agents in version {int.from_bytes(message[:4], 'little')} of its "
                f"messages, and this lab answers version {VERSION}; build the kernel anew"
            )
        self.connection = np.frombuffer(message, CONNECTION, 1)[0]
        self.subflows = np.frombuffer(message, SUBFLOW, offset=CONNECTION.itemsize)

    @property
    def available(self) -> np.ndarray[Any, np.dtype[np.void]]:
        """The subflows that would send a segment at once."""
        are = self.subflows["flags"] & _AVAILABLE != 0
        found: np.ndarray[Any, np.dtype[np.void]] = self.subflows
        return found if are.all() else found[are]


#: An answer, as `send`, `wait`, `delegate`, `keep` and `leave` make it.
Answer = bytes
#: An agent: it answers each question.
Decide = Callable[[Question], Answer]


def _answer(
    kind: str,
    wake_us: int,
    *,
    subflow: int = 0,
    name: str = "",
    settings: Mapping[str, int] = MappingProxyType({}),
) -> Answer:
    if len(settings) > _MOST_SETTINGS:
        raise ValueError(f"{len(settings)} parameters; an answer sets at most {_MOST_SETTINGS}")
    head = _ANSWER.pack(_KINDS[kind], subflow, wake_us, len(settings), name.encode())
    return head + b"".join(_SETTING.pack(key.encode(), value) for key, value in settings.items())


@lru_cache(1024)
def send(subflow: int, wake_us: int = 0) -> Answer:
    """Send on the subflow with this id, as its window admits. `wake_us`: ask again then at the
    latest.
    """
    return _answer("send", wake_us, subflow=int(subflow))


@lru_cache(1024)
def wait(wake_us: int = 0) -> Answer:
    """Send nothing. `wake_us`: ask again then at the latest."""
    return _answer("wait", wake_us)


@lru_cache(1024)
def delegate(name: str, wake_us: int = 0, **parameters: int) -> Answer:
    """Another scheduler decides, with these parameters; the others are as its sysctls say.

    It begins when it is named, and goes on while no other is named. Raises ValueError.
    """
    known = {each: found for each, found in scheduler.known().items() if found.file}
    if name not in known or name == NAME:
        names = sorted(known.keys() - {NAME})
        hint = suggestion(name, names) or ";"
        raise ValueError(f"unknown scheduler {name!r}{hint} accepted: {', '.join(names)}")
    given = [f"{key}={value}" for key, value in parameters.items()]
    chosen = scheduler.settings_of(name, known[name].parameters, given)
    values = {each.name: each.value for each in chosen if each.name in parameters}
    return _answer("delegate", wake_us, name=name, settings=values)


@lru_cache(1024)
def keep(wake_us: int = 0, **parameters: int) -> Answer:
    """Go on as after the latest answer; `parameters` are of the scheduler that decides."""
    return _answer("keep", wake_us, settings=parameters)


#: Send nothing until the next question.
WAIT = wait()
#: Go on as after the latest answer.
KEEP = keep()
#: Ask for this connection no more: it goes on as minrtt.
LEAVE = _answer("leave", 0)


class Session:
    """A run that waits for answers: read a question, answer it, and so on, then `finish`.

    `fileno` is readable while a question waits, or when the run has ended, so that one thread can
    serve many runs with `selectors`. The context manager cancels a run that has not finished.
    """

    def __init__(self, task: Task, watch: Watch | None = None) -> None:
        own, guests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = own
        self.task = task
        self._open = False
        self._watch = replace(watch or Watch(), agent=guests, thinks=self._thinks)
        self._done: Future[Done] = Future()
        self._thread = threading.Thread(target=self._perform, args=(task,))
        self._thread.start()

    def _perform(self, task: Task) -> None:
        agent = self._watch.agent
        assert agent is not None
        try:
            with agent:
                done = perform(task, self._watch)
        except BaseException as error:
            self._done.set_exception(error)
        else:
            self._done.set_result(done)

    def _thinks(self) -> bool:
        """Whether the guest waits for an answer, or for the question to be read."""
        if self._open:
            return True
        with suppress(OSError, ValueError):  # it is closed
            return bool(select.select([self._socket], [], [], 0)[0])
        return False

    def fileno(self) -> int:
        return self._socket.fileno()

    def question(self) -> Question | None:
        """The next question, for which it waits; None: the run asks no more.

        Raises MptcplabError if the kernel has refused an answer.
        """
        message = self.message()
        if not message:
            return None
        question = Question(message)
        if question.connection["refused"]:
            raise MptcplabError(
                f"the scheduler refused an answer of the agent at "
                f"{question.connection['time_ns'] / 1e9:.6f} s or before: it names a subflow or a "
                "parameter that is not there, or a value out of range"
            )
        return question

    def message(self) -> bytes:
        """The next question as the kernel sent it, unchecked; b"": the run asks no more."""
        try:
            message = self._socket.recv(_MOST_BYTES)
        except ConnectionResetError:
            return b""
        self._open = bool(message)
        return message

    def answer(self, answer: Answer) -> None:
        """Answer the question that was read last. Raises TypeError for what is no answer."""
        if not isinstance(answer, bytes) or len(answer) < _ANSWER.size:
            raise TypeError(
                f"an agent answered {answer!r}; accepted is what agent.send(), wait(), delegate() "
                "and keep() return, or WAIT, KEEP or LEAVE"
            )
        self._open = False
        with suppress(BrokenPipeError, ConnectionResetError):  # the run has ended
            self._socket.send(answer)

    def leave(self) -> None:
        """Answer no more: the run goes on as with minrtt."""
        self._open = False
        self._socket.close()

    def finish(self) -> Done:
        """Wait for the end of the run. Raises as `tasks.perform`."""
        self.leave()
        self._join()
        return self._done.result()

    def _join(self) -> None:
        # without a limit, Python would not see Ctrl-C
        while self._thread.is_alive():
            self._thread.join(60)

    def end(self) -> None:
        """Ask for the end of the run, without waiting for it."""
        self._watch.cancel.set()

    def cancel(self) -> None:
        """End the run, if it has not ended."""
        self.end()
        # it waits for its answer until it is killed: without its agent it would go on, to its end
        self._join()
        with suppress(MptcplabError, OSError):
            self.finish()

    def serve(self, decide: Decide) -> Done:
        """Let an agent answer all questions. What it raises ends the run."""
        try:
            while (question := self.question()) is not None:
                self.answer(decide(question))
            return self.finish()
        except BaseException:
            self.cancel()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._thread.is_alive():
            self.cancel()


class Agents(InThreads):
    """Workers whose runs are served by an agent, one question at a time."""

    def __init__(self, decide: Decide, jobs: int) -> None:
        super().__init__(jobs)
        self._decide = decide
        self._lock = threading.Lock()

    def submit(self, _fn: Perform, task: Task) -> Future[Done]:
        return super().submit(self._serve, task)

    def _serve(self, task: Task, watch: Watch) -> Done:
        return Session(task, watch).serve(self._one_at_a_time)

    def _one_at_a_time(self, question: Question) -> Answer:
        with self._lock:
            return self._decide(question)


def asking(wanted: Request, name: str) -> Request:
    """A request whose runs say which agent decides. Raises InputError if nobody asks it."""
    schedulers = [*wanted.schedulers, *wanted.base.choices()]
    if all(each.name != NAME for each in schedulers) or wanted.base.transport == "tcp":
        labels = ", ".join(dict.fromkeys(each.label for each in schedulers))
        message = f"nobody asks an agent; use the scheduler {NAME}, e.g. {NAME}:every_us=10000"
        raise InputError([Problem("--scheduler", "", labels, message)])
    return replace(wanted, base=wanted.base.model_copy(update={"agent": name}))


def start(
    wanted: Request,
    *,
    name: str = "agent",
    out: str | PathLike[str] = "mptcplab-out",
    kernel_like: str = choices.DEFAULT_FLAVOUR,
    wall_limit: float = Limits.wall_s,
    disk_limit: int = Limits.disk_bytes,
    watch: Watch | None = None,
) -> Session:
    """Start the one run of a request, and answer its questions yourself; see `Session`.

    `name` says which agent it is: runs of other agents have other keys. The others are as in
    `mptcplab.run`.
    """
    wanted = asking(wanted, name)
    scenarios = wanted.runs()
    if len(scenarios) * max(len(wanted.kernels), 1) != 1:
        raise MptcplabError(f"{len(scenarios)} runs; an agent starts them one by one")
    (rig,) = experiment.rigs(wanted, Limits(wall_limit, disk_limit), kernel_like)
    return Session(Task.of(scenarios[0], rig, Path(out)), watch)


def run(wanted: Request, decide: Decide, **options: Any) -> api.Run:
    """Make the one run of a request, whose questions `decide` answers; `options` as of `start`.

    What `decide` raises ends the run, and is raised here. Raises RunError if the run fails.
    """
    with start(wanted, **options) as session:
        entry = session.serve(decide).entry
    task = session.task
    if entry.status != "ok" or task.out is None:
        raise RunError(str(entry.reason).removeprefix("the run failed: "))
    return api.Run(task.out / str(entry.directory), task.scenario, entry)


def read(file: Path) -> tuple[Decide, str]:
    """The function `decide` of a Python file, and the name of that agent: with its content.

    The function raises MptcplabError with the line, whatever fails in it. Raises InputError.
    """
    problem = "a Python file with a function decide(question) is expected"
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        decide = runpy.run_path(str(file)).get("decide")
    except Exception as error:
        raise InputError([Problem("--agent", "", "", _where(file, error))]) from error
    if not callable(decide):
        raise InputError([Problem("--agent", "", str(file), problem)])

    def reporting(question: Question) -> Answer:
        try:
            answer: Answer = decide(question)
        except Exception as error:
            raise MptcplabError(f"the agent {_where(file, error)}") from error
        if not isinstance(answer, bytes):
            raise MptcplabError(
                f"the agent {file}: decide() returned {answer!r}; accepted is what send(), wait(), "
                "delegate() and keep() of mptcplab.agent return, or its WAIT, KEEP or LEAVE"
            )
        return answer

    return reporting, f"{file.stem}-{digest}"


def _where(file: Path, error: Exception) -> str:
    """The file and line of an error in it, and the error."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((f":{f.lineno}" for f in reversed(frames) if f.filename == str(file)), "")
    return f"{file}{line}: {type(error).__name__}: {error}"
