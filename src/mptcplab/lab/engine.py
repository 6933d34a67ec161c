# SPDX-License-Identifier: GPL-2.0-only
"""One run: a User-Mode Linux process in virtual time, watched from outside until it has ended.

With a terminal as input of its program it is in real time: whoever types there is.

A run ends in exactly one of three ways: it succeeded, it failed for a reason that is told, or it
was cancelled. In each of them no process of it is left. What runs inside is not trusted: its limits
are held from here, and what it leaves is looked at (`run_directory`) before it is taken.
"""

from __future__ import annotations

import mmap
import os
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from mptcplab import files
from mptcplab.errors import MptcplabError, RunError
from mptcplab.lab import doctor, run_directory
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records
from mptcplab.metrics.records import Samples
from mptcplab.spec import units
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.workload import Program

#: Memory of the guest. The host gives only what is touched: some 30 MiB in a run with two paths.
#: It is the same for all scenarios and kernels because the kernel sizes its hash tables by it. The
#: debug kernel touches 300 MiB with eight paths that are full of data.
MEMORY_MIB = 512
#: Simulated wall clock at boot: 2001-09-09 01:46:40 UTC. Any fixed date would do.
START_OF_TIME_NS = 10**18

PLAN = "plan.txt"
CONSOLE = "console.txt"
CLIENT_SAMPLES = "client.samples"
SERVER_SAMPLES = "server.samples"
LINKS_SAMPLES = "links.samples"
CLIENT_DECISIONS = "client.decisions"
SERVER_DECISIONS = "server.decisions"
MESSAGES = "messages.records"
GUEST_OUTCOME = "guest.json"
#: What programs read and write, in a run that has them instead of traffic.
CLIENT_INPUT = "client.in"
CLIENT_OUTPUT = "client.out"
CLIENT_ERRORS = "client.err"
SERVER_OUTPUT = "server.out"
SERVER_ERRORS = "server.err"
_CLOCK = "clock"
_INIT = "init"
_UML_DIR = "uml"

# What the guest itself may take, in simulated time, besides the time limit of a program, as
# guest/program.c has it. Before the client's program: for the server's to listen, until the next
# whole second, for the probes to start, and up to a second by the seed.
_LISTEN_NS = 60 * 10**9
_START_NS = 10**9 + 10**7 + 10**9
# After it: for what is left to end when it is asked to.
_TERMINATE_NS = 5 * 10**9
# For all else: to boot, set up the testbed, and end captures. All that takes 0.4 s, also with 8
# paths over 32 links.
_ELSE_NS = 10 * 10**9

_POLL_S = 0.02
_START_POLL_S = 0.002
_CONNECTING = b"mptcplab: connecting"
_TAIL_LINES = 30
# What is read of a console at its beginning, and at its end: a program may write to it, too.
_CONSOLE_BYTES = 4 << 20
# More than any outcome has.
_OUTCOME_BYTES = 1 << 16
# The share of all time in which the files of a run may be looked at.
_LOOKING_SHARE = 0.05
# A report of the kernel is shown from its beginning; one of KASAN has some 80 lines. The longer a
# backtrace, the more it is of what was left on the stack from earlier calls.
_REPORT_LINES = 100
_TRACE_LINES = 24
# How long a kernel that spins may take to say where it is.
_LAST_WORDS_S = 10.0


@dataclass(frozen=True)
class Outcome:
    """What a run that succeeded left behind, and what it cost.

    `guest` is what the guest reported (times in ns of virtual time since boot), `virtual_s` the
    virtual time from boot to the end. The rest is wall-clock: `start_s` from the start of the
    process to the first packet, CPU times in seconds, `memory_bytes` the peak resident memory of
    the kernel process.
    """

    directory: Path
    guest: dict[str, Any]
    virtual_s: float
    wall_s: float
    start_s: float
    user_s: float
    system_s: float
    memory_bytes: int


def read_samples(scenario: Scenario, directory: Path) -> dict[str, Samples]:
    """What was recorded at each host, by the name of its namespace. Raises MptcplabError."""
    hosts = [host for pair in scenario.pairs() for host in (pair.client, pair.server)]
    return {host: records.read_samples(directory / f"{host}.samples") for host in hosts}


class RunCancelledError(MptcplabError):
    """The run was ended because somebody asked for it."""

    def __init__(self) -> None:
        super().__init__("cancelled")


class RunKilledError(RunError):
    """Somebody else ended a process of the run: this says nothing of the scenario."""


@dataclass
class Watch:
    """How the starter of a run follows it: progress comes out, cancelling goes in.

    `progress` is called with the virtual time in seconds some fifty times a second, and `look`, in
    a thread of its own, with the directory in which the files of the run grow; once more when it
    has ended. What runs inside may put anything there: see `run_directory.open_plain`.
    """

    progress: Callable[[float], None] = lambda _virtual_s: None
    look: Callable[[Path], None] | None = None
    cancel: threading.Event = field(default_factory=threading.Event)


def run(
    scenario: Scenario,
    plan: str,
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    *,
    modules: Mapping[str, Path] | None = None,
    cpu: int | None = None,
    limits: Limits | None = None,
    watch: Watch | None = None,
    take: Sequence[str] = (),
) -> Outcome:
    """Run `plan` and leave its records in `directory`, which must exist.

    What is in `directory` is for the guest, which finds it where it writes, and is gone at the end.
    `modules` are the files that the plan loads as NAME.ko, by NAME. `cpu` is the CPU that all its
    processes share: they take turns, and on two CPUs they would wait for each other. `take` names
    files to keep besides those that guests have to write. Raises RunError (with the reason and the
    tail of the console) and RunCancelledError. What a run needs of the machine is
    doctor.RUN_CHECKS.
    """
    limits = limits or Limits()
    watch = watch or Watch()
    # Copies: the guest has a /tmp of its own, where a link to a file in the host's leads nowhere.
    copies = {f"{name}.ko": file for name, file in (modules or {}).items()}
    terminal = _terminal(scenario)
    command = _command(scenario, kernel, cpu, real_time=terminal is not None)
    with _guest_directory(directory) as guests:
        try:
            for place in (directory, guests):
                _write_new(place / PLAN, plan.encode())
            _write_new(directory / _CLOCK, bytes(mmap.PAGESIZE))
            (guests / _CLOCK).symlink_to(Path("..", _CLOCK))
            (guests / _INIT).symlink_to(guest.program)
            for name, file in copies.items():
                shutil.copyfile(file, guests / name)
        except OSError as error:
            raise RunError(f"cannot write to {directory}: {error.strerror}") from error
        started = time.monotonic()
        process = _start(command, directory, terminal)
        watched = _Watched(process, directory, started, limits, watch)
        with _looked_at(watch, guests):
            try:
                with _restored(terminal):
                    if terminal is None:
                        ended_for, start_s = _follow(watched, _virtual_limit_ns(scenario))
                    else:
                        ended_for, start_s = _wait(watched), 0.0
                    usage = _reap(process)
            finally:
                _kill_session(process)
            wall_s = time.monotonic() - started
        if ended_for == "cancelled":
            raise RunCancelledError
        wanted = [*_written(scenario, plan), *take]
        refused = _take(guests, directory, wanted, limits)
        virtual_s = _Clock(directory / _CLOCK).read_ns() / 1e9
        outcome = _outcome_or_reason(scenario, process.returncode, ended_for, refused, directory)
        if isinstance(outcome, str):
            tail = _console_tail(directory)
            died = not (ended_for or refused)
            killed = _killed_by_others(process.returncode, tail, directory) if died else ""
            raise RunKilledError(killed, tail) if killed else RunError(outcome, tail)
    (directory / _CLOCK).unlink()
    return Outcome(
        directory=directory,
        guest=outcome,
        virtual_s=virtual_s,
        wall_s=wall_s,
        start_s=start_s,
        user_s=usage.ru_utime,
        system_s=usage.ru_stime,
        memory_bytes=watched.memory.peak_bytes,
    )


@contextmanager
def _guest_directory(directory: Path) -> Iterator[Path]:
    """The directory in which the guest writes: there as long as it runs, whatever becomes of it."""
    try:
        made = run_directory.make(directory)
    except OSError as error:
        raise RunError(f"cannot write to {directory}: {error.strerror}") from error
    try:
        yield made
    except BaseException:
        with suppress(OSError):
            files.remove(made)
        raise
    try:
        files.remove(made)
    except OSError as error:
        raise RunError(f"cannot remove {made}: {error.strerror}") from error


@contextmanager
def _looked_at(watch: Watch, guests: Path) -> Iterator[None]:
    """Have the starter look at the files as they grow, and once more when the run has ended.

    In a thread: who shows them to somebody may have to wait, but no limit may. What that raises
    ends the run, and is raised here.
    """
    if watch.look is None:
        yield
        return
    look, ended, raised = watch.look, threading.Event(), []

    def look_again_and_again() -> None:
        try:
            while not ended.wait(_POLL_S):
                look(guests)
        except Exception as error:
            raised.append(error)
            watch.cancel.set()

    thread = threading.Thread(target=look_again_and_again)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    for error in raised:
        raise error
    look(guests)


def _write_new(file: Path, content: bytes) -> None:
    """Write a file that is not there, not even as a link."""
    with file.open("xb") as opened:
        opened.write(content)


def _start(
    command: Sequence[str], directory: Path, terminal: int | None
) -> subprocess.Popen[bytes]:
    guests = directory / run_directory.GUEST
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(guests),
        # glibc registers a restartable sequence in memory that a guest process then has no more
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
    }
    with (directory / CONSOLE).open("xb") as console:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=console,
            stderr=console,
            env=environment,
            cwd=guests,
            start_new_session=True,
        )


def _written(scenario: Scenario, plan: str) -> Iterator[str]:
    """The names of the files that a guest may write of a run: whatever else it leaves is not."""
    yield from (GUEST_OUTCOME, MESSAGES, LINKS_SAMPLES)
    yield from (CLIENT_OUTPUT, CLIENT_ERRORS, SERVER_OUTPUT, SERVER_ERRORS)
    for pair in scenario.pairs():
        for host in (pair.client, pair.server):
            yield from (f"{host}.samples", f"{host}.decisions")
    for found in re.finditer(r"^ip netns exec \S+ (?:capture|meter .*) (\S+)$", plan, re.MULTILINE):
        yield found[1]


def _take(guests: Path, directory: Path, names: Sequence[str], limits: Limits) -> str:
    """Take files out of the guest's directory; gives why that is not possible, "" if it is."""
    try:
        run_directory.take(guests, directory, dict.fromkeys(names), limits.disk_bytes)
    except run_directory.RefusedError as error:
        return f"of what it left, {error}"
    except run_directory.TooLargeError:
        return _too_large(limits)
    except OSError as error:
        return f"cannot write to {directory}: {error.strerror}"
    return ""


def _too_large(limits: Limits) -> str:
    limit = units.SIZE.format(limits.disk_bytes)
    return f"it wrote more than the disk limit of {limit}; --disk-limit sets another one"


def _virtual_limit_ns(scenario: Scenario) -> int | None:
    """When a run must have ended by itself, in virtual time since boot; None: it has no limit.

    Programs have a time limit, which the guest holds. But they can keep it from its work: they are
    root, and may stop its processes.
    """
    load = scenario.workload
    if not isinstance(load, Program) or load.time_limit_ns is None:
        return None
    before_ns = _ELSE_NS + _LISTEN_NS + _START_NS
    return before_ns + load.time_limit_ns + scenario.sample_interval_ns + _TERMINATE_NS


def _terminal(scenario: Scenario) -> int | None:
    """The terminal of a program that is typed to: standard input."""
    load = scenario.workload
    typed = isinstance(load, Program) and load.input == "terminal"
    return sys.stdin.fileno() if typed else None


@contextmanager
def _restored(terminal: int | None) -> Iterator[None]:
    """Leave the terminal as it was; a kernel that is killed does not."""
    before = None if terminal is None else termios.tcgetattr(terminal)
    try:
        yield
    finally:
        if terminal is not None and before is not None:
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _command(
    scenario: Scenario, kernel: KernelBuild, cpu: int | None, *, real_time: bool
) -> list[str]:
    """The kernel's command line, behind util-linux tools that prepare its process.

    The kernel stirs its arguments into its random numbers, so that nothing is among them but what
    the run is: the directory, in which it runs, is not named.
    setpriv makes the process die with this thread; without a fixed address layout results would
    still be the same, but a container may forbid it, so it is asked for only where it is allowed.
    """
    command = ["setpriv", "--pdeathsig", "KILL", "prlimit", "--core=0"]
    if cpu is not None:
        command += ["taskset", "--cpu-list", str(cpu)]
    if doctor.passes("address layout"):
        command += ["setarch", "--addr-no-randomize"]
    clock = ["time-travel=inf-cpu", f"time-travel-start={START_OF_TIME_NS}"]
    clock += [f"time-travel-clock={_CLOCK}"]
    if real_time:
        # whoever types needs a terminal: the guest's tty1
        clock = ["con1=fd:0,fd:0"]
    return [
        *command,
        str(kernel.image),
        f"mem={MEMORY_MIB}M",
        # as many as with 8 GiB: how many connections may begin, end or be left follows from it
        "thash_entries=65536",
        f"seed={scenario.seed}",
        # what the kernel does not know becomes a variable of process 1
        f"LAB_SEED={scenario.seed}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init=/proc/self/cwd/{_INIT}",
        f"uml_dir={_UML_DIR}",
        "umid=run",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "loglevel=5",
        "norandmaps",
        # packets wait in queues by the hundred: more of them from one piece of memory
        "slab_min_order=3",
        "panic_on_warn=1",
        *clock,
    ]


class _Clock:
    """The guest's virtual time, which its kernel writes into a page that is shared.

    It writes it when there is nothing left to do and the time moves to the next event, and not
    when a process reads the clock, which moves the time, too, but also while it spins.
    """

    def __init__(self, file: Path) -> None:
        with file.open("rb") as page:
            self._page = mmap.mmap(page.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ)

    def read_ns(self) -> int:
        (ns,) = struct.unpack_from("<Q", self._page)
        return int(ns)


class _Memory:
    """The peak resident memory of a process, as it was seen last.

    What it used is known when it has ended, but its maxrss then has that of the process which
    started it, before it became another program (getrusage(2)).
    """

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self.peak_bytes = 0

    def look(self) -> None:
        try:
            found = re.search(r"^VmHWM:\s+(\d+) kB$", self._status.read_text(), re.MULTILINE)
        except OSError:
            return
        if found:  # none is left of a process that has ended
            self.peak_bytes = max(self.peak_bytes, int(found[1]) * 1024)


class _Disk:
    """What a run writes, and when that is too much.

    It is what lies in its directory, and not less than what its process has written: what has no
    name any more does not lie anywhere.
    """

    def __init__(self, pid: int, directory: Path, limits: Limits) -> None:
        self._io = Path(f"/proc/{pid}/io")
        self._guests = directory / run_directory.GUEST
        self._console = directory / CONSOLE
        self._limits = limits
        self._look_at = 0.0

    def excess(self) -> str:
        """Why the run must be ended; "" if there is no reason."""
        if self._written_bytes() > self._limits.disk_bytes:
            return _too_large(self._limits)
        before = time.monotonic()
        if before < self._look_at:
            return ""
        try:
            size_bytes = run_directory.size(self._guests) + self._console.stat().st_size
        except run_directory.RefusedError as error:
            return f"a program made {error} in the directory of the run"
        now = time.monotonic()
        self._look_at = now + (now - before) / _LOOKING_SHARE
        return _too_large(self._limits) if size_bytes > self._limits.disk_bytes else ""

    def _written_bytes(self) -> int:
        # not every kernel of a host counts it, and it is gone when the process is
        with suppress(OSError):
            found = re.search(r"^wchar: (\d+)$", self._io.read_text(), re.MULTILINE)
            return int(found[1]) if found else 0
        return 0


class _Watched:
    """A run that goes on: its process, what is known of it, and its limits."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        directory: Path,
        started: float,
        limits: Limits,
        watch: Watch,
    ) -> None:
        self.process = process
        self.directory = directory
        self.guests = directory / run_directory.GUEST
        self.started = started
        self.limits = limits
        self.watch = watch
        self.memory = _Memory(process.pid)
        self._disk = _Disk(process.pid, directory, limits)

    def must_end(self) -> str:
        """Why it must be ended, whatever it does: "" if it need not."""
        self.memory.look()
        return "cancelled" if self.watch.cancel.is_set() else self._disk.excess()


def _follow(run: _Watched, virtual_limit_ns: int | None) -> tuple[str, float]:
    """Watch the run until it has ended or must be ended.

    Returns why it must be ended ("" if it ended by itself) and the wall-clock seconds to the
    first packet (0.0 if there was none).
    """
    process, limits, started = run.process, run.limits, run.started
    clock = _Clock(run.directory / _CLOCK)
    start_s = 0.0
    moved_ns, moved_at = -1, started
    moved_cpu_s: dict[int, float] = {}
    with _end_of(process.pid) as has_ended, _connecting(run.directory) as is_connecting:
        # short steps until the first packet leaves, to see when that is, to a hundredth
        pause_s = _START_POLL_S
        while not has_ended(pause_s):
            now = time.monotonic()
            pause_s = _POLL_S if start_s else min(max((now - started) / 100, pause_s), _POLL_S)
            if not start_s and is_connecting():
                start_s = now - started
            if reason := run.must_end():
                return reason, start_s
            if now - started > limits.wall_s:
                _ask_where_it_is(process, has_ended)
                return f"it took more than the wall-clock limit of {limits.wall_s:g} s", start_s

            ns = clock.read_ns()
            if virtual_limit_ns is not None and ns > virtual_limit_ns:
                return _not_ended(virtual_limit_ns), start_s
            run.watch.progress(ns / 1e9)
            if ns != moved_ns:
                moved_ns, moved_at = ns, now
                moved_cpu_s = {}
            elif now - moved_at > min(limits.stall_wall_s, limits.stall_cpu_s) / 4:
                cpu_s = _session_cpu_s(process.pid)
                moved_cpu_s = moved_cpu_s or cpu_s
                used_s = {pid: used - moved_cpu_s.get(pid, 0.0) for pid, used in cpu_s.items()}
                spins = sum(used_s.values()) > limits.stall_cpu_s
                waits = now - moved_at <= limits.stall_wall_s or _waits_for_a_cpu(process.pid)
                if not spins and waits:
                    continue
                stood = f"its virtual time stood still at {ns / 1e9:.6f} s"
                if not spins:
                    _ask_where_it_is(process, has_ended)
                    return f"{stood} and it did nothing: it waits for what cannot come", start_s
                # a program that spins may do so by system calls: then both use it
                in_kernel = used_s[process.pid] > 0.9 * sum(used_s.values())
                _ask_where_it_is(process, has_ended)
                where = _where_it_was(run.directory, in_kernel=in_kernel)
                return f"{stood} while it kept a CPU busy in {where}", start_s
    return "", start_s


def _not_ended(virtual_limit_ns: int) -> str:
    return (
        f"it went on for more than {virtual_limit_ns / 1e9:g} s of simulated time, its programs' "
        "time limit and all else together: something in it keeps its first process from ending it"
    )


@contextmanager
def _connecting(directory: Path) -> Iterator[Callable[[], bool]]:
    """A function that tells whether the first packet was about to leave, once."""
    with (directory / CONSOLE).open("rb") as console:
        before = b""

        def is_connecting() -> bool:
            nonlocal before
            text = before + console.read(_CONSOLE_BYTES)
            before = text[-len(_CONNECTING) :]
            return _CONNECTING in text

        yield is_connecting


def _wait(run: _Watched) -> str:
    """Wait for a run in real time, which may last as long as the person likes."""
    with _end_of(run.process.pid) as has_ended:
        while not has_ended(_POLL_S):
            if reason := run.must_end():
                return reason
    return ""


def _ask_where_it_is(process: subprocess.Popen[bytes], has_ended: Callable[[float], bool]) -> None:
    """Have a kernel that must be ended panic, with a backtrace of what it was doing."""
    process.send_signal(signal.SIGUSR2)
    has_ended(_LAST_WORDS_S)


def _where_it_was(directory: Path, *, in_kernel: bool) -> str:
    """The function, or the program of the guest, that a run that spun was found in."""
    found = re.search(r"Interrupted in (.*), process (.*) \(\d+\)", _console(directory))
    if not found:
        return "an unknown place"
    function, program = found.groups()
    return _without_offset(function) if in_kernel else f"the program {program}"


@contextmanager
def _end_of(pid: int) -> Iterator[Callable[[float], bool]]:
    """A function that waits some seconds for the end of a process, and tells whether it came."""
    pidfd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        yield lambda seconds: bool(poller.poll(seconds * 1000))
    finally:
        os.close(pidfd)


def _reap(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for the kernel process, which has ended or is ended now; gives what it used."""
    if not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        os.killpg(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the run: processes of the guest die with the kernel process."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pid in _session(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _session(leader: int) -> list[int]:
    """The processes of a session. Each run is a session of its own."""
    return [pid for pid, _stat in _processes(leader)]


def _session_cpu_s(leader: int) -> dict[int, float]:
    """The CPU time in seconds that each process of a session has used."""
    ticks = {pid: int(stat[11]) + int(stat[12]) for pid, stat in _processes(leader)}
    return {pid: count / os.sysconf("SC_CLK_TCK") for pid, count in ticks.items()}


def _waits_for_a_cpu(leader: int) -> bool:
    """Whether a process of a session could run, if the machine had time for it."""
    return any(stat[0] == b"R" for _pid, stat in _processes(leader))


def _processes(leader: int) -> Iterator[tuple[int, list[bytes]]]:
    """The processes of a session, and of each what its stat file has, from the state (0) on."""
    # without Path, since all processes of the machine are looked at after every run
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                text = file.read()
        except OSError:
            continue
        stat = text[text.rindex(b")") + 2 :].split()
        if int(stat[3]) == leader:
            yield int(name), stat


class _GuestOutcome(BaseModel):
    """The outcome of a guest, as it writes it; numbers besides are what it reports."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, int]

    status: Literal["ok", "failed"]
    reason: str = ""
    missing_paths: list[int] = []


def _outcome_or_reason(
    scenario: Scenario, returncode: int, ended_for: str, refused: str, directory: Path
) -> dict[str, Any] | str:
    """What the guest reported if the run succeeded, else the reason why it failed."""
    console = _console(directory)
    reason = ended_for or _kernel_reason(console)
    if reason:
        return reason + _suspect(scenario, console, reason)
    if refused:
        return refused
    try:
        with (directory / GUEST_OUTCOME).open("rb") as file:
            text = file.read(_OUTCOME_BYTES)
    except OSError:
        return _reason_without_outcome(returncode, console, directory)
    try:
        guest = _GuestOutcome.model_validate_json(text)
    except ValidationError:
        return _reason_without_outcome(returncode, console, directory)
    if guest.status == "ok":
        reported = guest.model_dump(exclude={"reason", "missing_paths"})
        lacks = [name for name in _reported(scenario) if name not in reported]
        return f"its outcome lacks {', '.join(lacks)}" if lacks else reported
    names = [path.name for path in scenario.paths]
    missing = [names[number - 1] for number in guest.missing_paths if 0 < number <= len(names)]
    return f"path {', '.join(missing)}: {guest.reason}" if missing else guest.reason


def _reported(scenario: Scenario) -> tuple[str, ...]:
    """What whoever reads the outcome of a run needs of it, if programs can have written it."""
    if not isinstance(scenario.workload, Program):
        return ()
    return ("start_ns", "end_ns", "complete_ns", "client_status", "server_status")


def _console(directory: Path) -> str:
    """What is on the console; of one that is too long, its beginning and its end."""
    with (directory / CONSOLE).open("rb") as file:
        text = file.read(2 * _CONSOLE_BYTES)
        size = os.fstat(file.fileno()).st_size
        if size > len(text):
            file.seek(-_CONSOLE_BYTES, os.SEEK_END)
            text = text[:_CONSOLE_BYTES] + b"\n[...]\n" + file.read(_CONSOLE_BYTES)
    return text.decode(errors="replace")


def _kernel_reason(console: str) -> str:
    """What the kernel died of, or reported of itself, in words; "" if nothing."""
    panic = re.search(r"Kernel panic - not syncing: (.*)", console)
    text = panic[1].strip() if panic else ""
    if "Attempted to kill init" in text:
        return f"the guest's first process died ({text})"
    if text.startswith(("Kernel mode fault", "Segfault with no mm", "Kernel tried to access")):
        text = _without_offset(text).replace(", ip ", " in ")
        return f"the guest's kernel crashed (oops): {text}"
    if panic and "panic_on_warn" not in text and text != "BUG!":
        return f"the guest's kernel panicked: {text}"
    # also where there was no panic: lockdep, for example, does not heed panic_on_warn
    report = re.search(rf"^{_REPORT}.*", console, re.MULTILINE)
    if report and report[0].startswith("WARNING: "):
        return f"the guest's kernel warned: {report[0].strip().removeprefix('WARNING: ')}"
    if report:
        return f"the guest's kernel reported {report[0].strip()}"
    return f"the guest's kernel panicked: {text}" if panic else ""


def _suspect(scenario: Scenario, console: str, reason: str) -> str:
    """The first function on the stack that is of the scheduler, or of any module, unless told."""
    names = tuple(f"{choice.name}_" for choice in (scenario.scheduler, *scenario.choices()))
    for function, module in _FRAME.findall(console):
        if module or function.startswith(names):
            if function in reason:
                return ""
            return f" (in the backtrace: {function}{module})"
    return ""


def _without_offset(text: str) -> str:
    """A text of the kernel's without the places within its functions: f+0x1a/0x2b [module]."""
    return re.sub(r"(?:\.\w+)*\+0x[0-9a-f]+/0x[0-9a-f]+", "", text)


def _reason_without_outcome(returncode: int, console: str, directory: Path) -> str:
    if shutil.disk_usage(directory).free < mmap.PAGESIZE:
        return f"no space left on the disk of {directory}"
    said = re.findall(r"^mptcplab: (?!connecting)(.*)", console, re.MULTILINE)
    if said:
        return str(said[-1]).strip()
    if returncode < 0:
        return f"its process died of {signal.Signals(-returncode).name}"
    return f"its process ended with status {returncode} and without an outcome"


def _killed_by_others(returncode: int, tail: str, directory: Path) -> str:
    """How somebody else ended a run, neither the engine nor the kernel itself; "" if nobody did."""
    console = _console(directory)
    # User-Mode Linux tidies up at these two, which may fail, and exits, without a word
    silent = returncode == 1 and set(tail.splitlines()) <= {_CONNECTING.decode()}
    if silent or "last_ditch_exit" in console:
        return "its process was killed by SIGTERM or SIGINT"
    if _GUEST_KILLED.search(console):
        return f"a process of its guest was killed{_HINT}"
    if -returncode in _OF_OTHERS and not _kernel_reason(console):
        hint = _HINT if returncode == -signal.SIGKILL else ""
        return f"its process was killed by {signal.Signals(-returncode).name}{hint}"
    return ""


def _console_tail(directory: Path) -> str:
    """The last lines of the console that say something, and a report of the kernel as a whole."""
    text = _console(directory).replace("\r", "")
    lines, frames = [], 0
    for line in text.splitlines():
        frames = frames + 1 if _FRAME.match(line) else 0
        if line.strip() and not _NOISE.match(line) and frames <= _TRACE_LINES:
            lines.append(line)
    reports = [number for number, line in enumerate(lines) if _REPORT_BEGINS.match(line)]
    first = max(len(lines) - _TAIL_LINES, 0)
    if reports and reports[0] < first:
        return "\n".join(lines[reports[0] :][:_REPORT_LINES])
    return "\n".join(lines[first:])


# Signals that a kernel which fails does not die of: it aborts, or an access is wrong.
_OF_OTHERS = {
    *(signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGXCPU, signal.SIGXFSZ),
}
# What a kernel says that finds a process of its guest dead, or stopped by a signal that is not the
# guest's own, which the host's kernel holds for it.
_GUEST_KILLED = re.compile(
    r"^userspace - (?:child stopped with signal|.* failed, errno = 3$)"
    r"|^.*failed to wait for SIGTRAP, .* status = 0x9$",
    re.MULTILINE,
)
_HINT = "; the machine may be out of memory"
# What User-Mode Linux says at each start and end, and the words on the stack before decoding.
_NOISE = re.compile(
    r"epollctl|0\.00 BogoMIPS|This architecture does not have|reboot: Power down"
    r"|Stack:$|(?: [0-9a-f]{8,16})+$"
)
# A function in a backtrace, and the module that it is in.
_FRAME = re.compile(r"^ \[<[0-9a-f]+>\] (?:\? )?(\w+)(?:\.\w+)*\+\S+( \[\w+\])?$", re.MULTILINE)
# How the kernel begins to tell of a mistake in itself. The lab kernel says nothing of this kind
# without one, the debug kernel finds more of them.
_REPORT = r"(?:BUG: |WARNING: |INFO: (?:possible|suspicious|trying)|UBSAN: |ODEBUG: |unreferenced)"
_REPORT_BEGINS = re.compile(rf"-+\[ cut here|={{10,}}$|Kernel panic|{_REPORT}")
