# SPDX-License-Identifier: GPL-2.0-only
"""One run: a User-Mode Linux process in virtual time, watched from outside until it has ended.

If its program reads from a terminal, it runs in real time: someone types there.

A run ends in exactly one of three ways: it succeeded, it failed for a reported reason, or it was
cancelled. None of its processes is left then. The engine does not trust the guest: it enforces the
limits from outside, and checks files (`run_directory`) before it takes them.
"""

from __future__ import annotations

import mmap
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from mptcplab import files, units
from mptcplab.errors import MptcplabError, RunCancelledError, RunError
from mptcplab.lab import doctor, kernel_module, run_directory
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import overruled, run_files
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Program
from mptcplab.traces import link_trace

#: Memory of the guest. The host provides only touched pages: some 30 MiB in a run with two paths.
#: It is the same for all scenarios and kernels because the kernel sizes its hash tables by it. The
#: debug kernel touches 300 MiB with eight paths full of data.
MEMORY_MIB = 512
#: Simulated wall clock at boot: 2001-09-09 01:46:40 UTC. Any fixed date would do.
START_OF_TIME_NS = 10**18

_CLOCK = "clock"
_INIT = "init"
_UML_DIR = "uml"

_POLL_S = 0.02
_START_POLL_S = 0.002
_CONNECTING = b"mptcplab: connecting"
_TAIL_LINES = 30
# How much of a console is read at its beginning and at its end: a program may write to it, too.
_CONSOLE_BYTES = 4 << 20
# More than any outcome has.
_OUTCOME_BYTES = 1 << 16
# The share of time that may be spent looking at the files of a run.
_LOOKING_SHARE = 0.05
# A kernel report is shown from its beginning; one of KASAN has some 80 lines. The deeper part of a
# long backtrace is mostly left on the stack by earlier calls.
_REPORT_LINES = 100
_TRACE_LINES = 24
# How long a spinning kernel may take to report where it is.
_LAST_WORDS_S = 10.0


@dataclass(frozen=True)
class RunOutcome:
    """The result of a successful run, and its cost.

    `guest` has the guest's report (times in ns of virtual time since boot), `virtual_s` the virtual
    time from boot to the end. The rest is wall-clock: `start_s` from the start of the process to
    the first packet, CPU times in seconds, `memory_bytes` the peak resident memory of the kernel
    process. With `of_sockets` the samples have only figures that sockets give to any program
    (metrics/sockets.py), and links have none. Without `decisions` nothing counted the scheduler's.
    """

    directory: Path
    guest: dict[str, Any]
    virtual_s: float
    wall_s: float
    start_s: float
    user_s: float
    system_s: float
    memory_bytes: int
    of_sockets: bool = False
    decisions: bool = True


@dataclass(frozen=True)
class Rig:
    """The equipment of runs: builds, the files that they read, and the limits that end them.

    `modules` are the files that a plan loads as NAME.ko, by NAME: the user's own schedulers. Links
    play `traces`, by path and direction, which are kept with a run.
    """

    kernel: KernelBuild
    guest: Guest
    modules: Mapping[str, Path] = field(default_factory=dict)
    traces: Mapping[tuple[str, str], link_trace.Source] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


class RunEndedError(RunError):
    """A limit of the run, or the machine, ended it: this says nothing about the scenario."""


class RunKilledError(RunEndedError):
    """Someone else ended a process of the run."""


@dataclass
class Watch:
    """How the caller follows a run: progress comes out, cancelling goes in.

    `progress` is called with the virtual time in seconds, every `poll_s` seconds of wall-clock
    time, when the limits are checked, too. `look` is called in a thread of its own with the
    directory in which the files of the run grow, and once more when it has ended. What runs inside
    may put anything there: see `run_directory.open_plain`. The kernel reads and writes `agent`, a
    socket, which is closed here then; its clock may stand while `thinks` says so.
    """

    progress: Callable[[float], None] = lambda _virtual_s: None
    look: Callable[[Path], None] | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    agent: socket.socket | None = None
    thinks: Callable[[], bool] = lambda: False
    poll_s: float = _POLL_S


def run(
    scenario: Scenario,
    plan: str,
    rig: Rig,
    directory: Path,
    *,
    cpu: int | None = None,
    watch: Watch | None = None,
    take: Sequence[str] = (),
    ipv6: bool = False,
) -> RunOutcome:
    """Run `plan` and leave its records in `directory`, which must exist.

    The guest finds files that are in `directory` before in its own directory; they are removed at
    the end. `cpu` is the CPU that all its processes share: they take turns, and on two CPUs they
    would wait for each other. `take` names files to keep besides those that guests always write.
    With `ipv6` it is on in all networks, as on other machines; else a plan turns it on where it is
    used. Raises RunError (with the reason and the tail of the console) and RunCancelledError. A run
    needs doctor.RUN_CHECKS of the machine.
    """
    limits, watch = rig.limits, watch or Watch()
    terminal = _terminal(scenario)
    command = _command(scenario, rig.kernel, cpu, real_time=terminal is not None, ipv6=ipv6)
    with _guest_directory(directory) as guests:
        try:
            for place in (directory, guests):
                _write_new(place / run_files.PLAN, plan.encode())
            _write_new(directory / _CLOCK, bytes(mmap.PAGESIZE))
            (guests / _CLOCK).symlink_to(Path("..", _CLOCK))
            (guests / _INIT).symlink_to(rig.guest.program)
            # copies: the guest has its own /tmp, where a link to the host's leads nowhere
            for name, file in rig.modules.items():
                shutil.copyfile(file, guests / f"{name}.ko")
        except OSError as error:
            raise RunError(f"cannot write to {directory}: {error.strerror}") from error
        started = time.monotonic()
        process = _start(command, directory, terminal, watch.agent)
        watched = _Watched(process, directory, started, limits, watch)
        with _looking(watch, guests):
            try:
                with _restored(terminal):
                    if terminal is None:
                        ended_for, start_s = _follow(watched)
                    else:
                        ended_for, start_s = _wait(watched), 0.0
                    usage = reap(process)
            finally:
                kill_session(process)
            wall_s = time.monotonic() - started
        if ended_for == "cancelled":
            raise RunCancelledError
        wanted = [*_written(scenario, plan), *take]
        refused = _take(guests, directory, wanted, limits)
        virtual_s = _Clock(directory / _CLOCK).read_ns() / 1e9
        outcome = _outcome_or_reason(scenario, process.returncode, ended_for, refused, directory)
        if isinstance(outcome, str):
            loaded = re.search(r"insmod (\w+)\.ko: ", outcome)
            if loaded and loaded[1] in rig.modules:
                outcome = kernel_module.with_place(outcome, rig.modules[loaded[1]])
            tail = _console_tail(directory)
            died = not (ended_for or refused)
            killed = _killed_by_others(process.returncode, tail, directory) if died else ""
            if killed:
                raise RunKilledError(killed, tail)
            limited = outcome.startswith((too_slow(limits), too_large(limits)))
            outcome += _overruled(scenario, directory)
            raise RunEndedError(outcome, tail) if limited else RunError(outcome, tail)
    (directory / _CLOCK).unlink()
    return RunOutcome(
        directory=directory,
        guest=outcome,
        virtual_s=virtual_s,
        wall_s=wall_s,
        start_s=start_s,
        user_s=usage.ru_utime,
        system_s=usage.ru_stime,
        memory_bytes=watched.peak_bytes,
        decisions=not rig.kernel.is_out_of_tree,
    )


@contextmanager
def _guest_directory(directory: Path) -> Iterator[Path]:
    """The directory in which the guest writes: it exists as long as the run, however that ends."""
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
def _looking(watch: Watch, guests: Path) -> Iterator[None]:
    """Let the caller look at the files as they grow, and once more when the run has ended.

    It does so in a thread: showing them to someone may block, and the limits must not wait. An
    exception in it ends the run and is raised here.
    """
    if watch.look is None:
        yield
        return
    look, ended, raised = watch.look, threading.Event(), []

    def look_repeatedly() -> None:
        try:
            while not ended.wait(_POLL_S):
                look(guests)
        except Exception as error:
            raised.append(error)
            watch.cancel.set()

    thread = threading.Thread(target=look_repeatedly)
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
    """Write a file that must not exist, not even as a link."""
    with file.open("xb") as opened:
        opened.write(content)


def _start(
    command: Sequence[str], directory: Path, terminal: int | None, agent: socket.socket | None
) -> subprocess.Popen[bytes]:
    given = terminal if agent is None else agent.fileno()
    if given == -1:
        raise RunError("its agent has seen the beginning of a run that was killed; run it again")
    guests = directory / run_directory.GUEST
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(guests),
        # glibc registers a restartable sequence in memory that a guest process then no longer has
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
    }
    with (directory / run_files.CONSOLE).open("xb") as console, agent or nullcontext():
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if given is None else given,
            stdout=console,
            stderr=console,
            env=environment,
            cwd=guests,
            start_new_session=True,
        )


def _written(scenario: Scenario, plan: str) -> Iterator[str]:
    """The names of the files that the guest of a run may write; all others are refused."""
    yield from (run_files.GUEST_OUTCOME, run_files.MESSAGES, run_files.LINKS_SAMPLES)
    yield from (run_files.CLIENT_OUTPUT, run_files.CLIENT_ERRORS)
    yield from (run_files.SERVER_OUTPUT, run_files.SERVER_ERRORS)
    for host in run_files.hosts(scenario):
        yield from (f"{host}.samples", f"{host}.decisions", f"{host}.states")
    for found in re.finditer(r"^ip netns exec \S+ (?:capture|meter .*) (\S+)$", plan, re.MULTILINE):
        yield found[1]


def _take(guests: Path, directory: Path, names: Sequence[str], limits: Limits) -> str:
    """Take files out of the guest's directory; returns why that is impossible, else ""."""
    try:
        run_directory.take(guests, directory, dict.fromkeys(names), limits.disk_bytes)
    except run_directory.RefusedError as error:
        return f"a file that it left is refused: {error}"
    except run_directory.TooLargeError:
        return too_large(limits)
    except OSError as error:
        return f"cannot write to {directory}: {error.strerror}"
    return ""


def too_slow(limits: Limits) -> str:
    """Why a run was ended at the limit of wall-clock time."""
    return f"it took more than the wall-clock limit of {limits.wall_s:g} s"


def too_large(limits: Limits) -> str:
    """Why a run was ended at the limit of the bytes that it writes."""
    limit = units.format_size(limits.disk_bytes)
    return f"it wrote more than the disk limit of {limit}; --disk-limit sets another one"


def _terminal(scenario: Scenario) -> int | None:
    """The terminal of an interactive program: standard input."""
    load = scenario.workload
    typed = isinstance(load, Program) and load.input == "terminal"
    return sys.stdin.fileno() if typed else None


@contextmanager
def _restored(terminal: int | None) -> Iterator[None]:
    """Restore the terminal at the end; a killed kernel does not."""
    before = None if terminal is None else termios.tcgetattr(terminal)
    try:
        yield
    finally:
        if terminal is not None and before is not None:
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def _command(
    scenario: Scenario, kernel: KernelBuild, cpu: int | None, *, real_time: bool, ipv6: bool
) -> list[str]:
    """The kernel's command line, after util-linux tools that prepare its process.

    The kernel mixes its arguments into its random numbers, so they describe only the run, and do
    not name its directory. setpriv makes the process die with this thread. Results do not depend on
    a fixed address layout, which a container may forbid.
    """
    command = ["setpriv", "--pdeathsig", "KILL", "prlimit", "--core=0"]
    if cpu is not None:
        command += ["taskset", "--cpu-list", str(cpu)]
    if doctor.passes("address layout"):
        command += ["setarch", "--addr-no-randomize"]
    clock = ["time-travel=inf-cpu", f"time-travel-start={START_OF_TIME_NS}"]
    clock += [f"time-travel-clock={_CLOCK}"]
    if real_time:
        # an interactive program needs a terminal: the guest's tty1
        clock = ["con1=fd:0,fd:0"]
    return [
        *command,
        str(kernel.image),
        f"mem={MEMORY_MIB}M",
        # as many as with 8 GiB: they limit how many connections can begin, end or be left over
        "thash_entries=65536",
        f"seed={scenario.seed}",
        # parameters unknown to the kernel become environment variables of process 1
        f"LAB_SEED={scenario.seed}",
        *(["LAB_OUT_OF_TREE=1"] if kernel.is_out_of_tree else []),
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
        # networks without IPv6 send no multicasts
        f"ipv6.disable_ipv6={0 if ipv6 else 1}",
        # hundreds of packets wait in queues: larger pieces of memory hold more of them
        "slab_min_order=3",
        "panic_on_warn=1",
        *clock,
    ]


class _Clock:
    """The guest's virtual time, which its kernel writes to a shared page.

    The kernel writes it when nothing is left to do and the time jumps to the next event. A process
    that reads the clock advances the time, too, but even a spinning one may: this does not count.
    """

    def __init__(self, file: Path) -> None:
        with file.open("rb") as page:
            self._page = mmap.mmap(page.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ)

    def read_ns(self) -> int:
        (ns,) = struct.unpack_from("<Q", self._page)
        return int(ns)


class _Watched:
    """A run in progress: its process, its limits, and the memory and disk that it has used.

    `peak_bytes` is the peak resident memory, as last seen: the maxrss of getrusage(2) includes the
    time before the process became another program.
    """

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
        self.started = started
        self.limits = limits
        self.watch = watch
        self.peak_bytes = 0
        self._look_at = 0.0

    def must_end(self) -> str:
        """Why the run must be ended, whatever it is doing; "" if it need not."""
        self.peak_bytes = max(self.peak_bytes, self._counted("status", "VmHWM") * 1024)
        return "cancelled" if self.watch.cancel.is_set() else self._excess()

    def _excess(self) -> str:
        """Why the run must be ended for its files; "" if there is no reason.

        It counts the size of the files in its directory, and the bytes that its process has
        written: a file without a name is in no directory.
        """
        if self._counted("io", "wchar") > self.limits.disk_bytes:
            return too_large(self.limits)
        before = time.monotonic()
        if before < self._look_at:
            return ""
        try:
            size_bytes = run_directory.size(self.directory / run_directory.GUEST)
        except run_directory.RefusedError as error:
            return f"a program made {error} in the directory of the run"
        size_bytes += (self.directory / run_files.CONSOLE).stat().st_size
        now = time.monotonic()
        self._look_at = now + (now - before) / _LOOKING_SHARE
        return too_large(self.limits) if size_bytes > self.limits.disk_bytes else ""

    def _counted(self, file: str, name: str) -> int:
        """A number in /proc, 0 if the host's kernel does not count it or the process has ended."""
        with suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/{file}").read_text()
            if found := re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE):
                return int(found[1])
        return 0


def _follow(run: _Watched) -> tuple[str, float]:
    """Watch the run until it has ended or must be ended.

    Returns why it must be ended ("" if it ended on its own) and the wall-clock seconds to the
    first packet (0.0 if there was none).
    """
    process, limits, started = run.process, run.limits, run.started
    clock = _Clock(run.directory / _CLOCK)
    start_s = 0.0
    moved_ns, moved_at = -1, started
    moved_cpu_s: dict[int, float] = {}
    with end_of(process.pid) as has_ended, _connecting(run.directory) as is_connecting:
        # short steps until the first packet leaves, to know that time to a hundredth
        pause_s = _START_POLL_S
        while not has_ended(pause_s):
            now = time.monotonic()
            most_s = run.watch.poll_s
            pause_s = most_s if start_s else min(max((now - started) / 100, pause_s), most_s)
            if not start_s and is_connecting():
                start_s = now - started
            if reason := run.must_end():
                return reason, start_s
            if now - started > limits.wall_s:
                _ask_where_it_is(process, has_ended)
                return too_slow(limits), start_s

            ns = clock.read_ns()
            run.watch.progress(ns / 1e9)
            if ns != moved_ns or run.watch.thinks():
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
                    why = "and it did nothing: it waits for an event that cannot come"
                    return f"{stood} {why}", start_s
                # a spinning program may do so by system calls: then both use the CPU
                in_kernel = used_s[process.pid] > 0.9 * sum(used_s.values())
                _ask_where_it_is(process, has_ended)
                where = _where_it_was(run.directory, in_kernel=in_kernel)
                return f"{stood} while it kept a CPU busy in {where}", start_s
    return "", start_s


@contextmanager
def _connecting(directory: Path) -> Iterator[Callable[[], bool]]:
    """A function that says whether the first packet was about to leave; it is true once."""
    with (directory / run_files.CONSOLE).open("rb") as console:
        before = b""

        def is_connecting() -> bool:
            nonlocal before
            text = before + console.read(_CONSOLE_BYTES)
            before = text[-len(_CONNECTING) :]
            return _CONNECTING in text

        yield is_connecting


def _wait(run: _Watched) -> str:
    """Wait for a run in real time, which may last as long as the user likes."""
    with end_of(run.process.pid) as has_ended:
        while not has_ended(_POLL_S):
            if reason := run.must_end():
                return reason
    return ""


def _ask_where_it_is(process: subprocess.Popen[bytes], has_ended: Callable[[float], bool]) -> None:
    """Make a kernel that must be ended panic, with a backtrace of what it was doing."""
    process.send_signal(signal.SIGUSR2)
    has_ended(_LAST_WORDS_S)


def _where_it_was(directory: Path, *, in_kernel: bool) -> str:
    """The function, or the program of the guest, in which a run was found spinning."""
    found = re.search(r"Interrupted in (.*), process (.*) \(\d+\)", _console(directory))
    if not found:
        return "an unknown place"
    function, program = found.groups()
    return _without_offset(function) if in_kernel else f"the program {program}"


@contextmanager
def end_of(pid: int) -> Iterator[Callable[[float], bool]]:
    """A function that waits some seconds for a process to end, and returns whether it did."""
    pidfd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        yield lambda seconds: bool(poller.poll(seconds * 1000))
    finally:
        os.close(pidfd)


def reap(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for the kernel process, which has ended or is ended now; returns what it used."""
    if not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        os.killpg(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the run: processes of the guest die with the kernel process."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pid, _stat in _processes(process.pid):
        with suppress(ProcessLookupError), end_of(pid) as has_ended:
            os.kill(pid, signal.SIGKILL)
            # on a busy machine it takes its time
            has_ended(_LAST_WORDS_S)


def _session_cpu_s(leader: int) -> dict[int, float]:
    """The CPU time in seconds that each process of a session has used."""
    ticks = {pid: int(stat[11]) + int(stat[12]) for pid, stat in _processes(leader)}
    return {pid: count / os.sysconf("SC_CLK_TCK") for pid, count in ticks.items()}


def _waits_for_a_cpu(leader: int) -> bool:
    """Whether a process of a session is ready to run, but waits for a CPU."""
    return any(stat[0] == b"R" for _pid, stat in _processes(leader))


def _processes(leader: int) -> Iterator[tuple[int, list[bytes]]]:
    """The processes of a session, each with the fields of its stat file, from the state (0) on."""
    # without Path, since all processes of the machine are checked after every run
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
    """The outcome as the guest writes it; its report is all further numbers."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, int]

    status: Literal["ok", "failed"]
    reason: str = ""
    missing_paths: list[int] = []


def _outcome_or_reason(
    scenario: Scenario, returncode: int, ended_for: str, refused: str, directory: Path
) -> dict[str, Any] | str:
    """The guest's report if the run succeeded, else the reason why it failed."""
    console = _console(directory)
    reason = ended_for or _kernel_reason(console)
    if reason:
        return reason + _suspect(scenario, console, reason)
    if refused:
        return refused
    try:
        with (directory / run_files.GUEST_OUTCOME).open("rb") as file:
            guest = _GuestOutcome.model_validate_json(file.read(_OUTCOME_BYTES))
    except (OSError, ValidationError):
        return _reason_without_outcome(returncode, console, directory)
    if guest.status == "ok":
        reported = guest.model_dump(exclude={"reason", "missing_paths"})
        lacks = [name for name in _reported(scenario) if name not in reported]
        return f"its outcome lacks {', '.join(lacks)}" if lacks else reported
    names = [path.name for path in scenario.paths]
    missing = [names[number - 1] for number in guest.missing_paths if 0 < number <= len(names)]
    return f"path {', '.join(missing)}: {guest.reason}" if missing else guest.reason


def _reported(scenario: Scenario) -> tuple[str, ...]:
    """The numbers that readers of an outcome need, if programs can have written it."""
    if not isinstance(scenario.workload, Program):
        return ()
    return ("start_ns", "end_ns", "complete_ns", "client_status", "server_status")


def _console(directory: Path) -> str:
    """The text on the console; of a long one, the beginning and the end."""
    with (directory / run_files.CONSOLE).open("rb") as file:
        text = file.read(2 * _CONSOLE_BYTES)
        size = os.fstat(file.fileno()).st_size
        if size > len(text):
            file.seek(-_CONSOLE_BYTES, os.SEEK_END)
            text = text[:_CONSOLE_BYTES] + b"\n[...]\n" + file.read(_CONSOLE_BYTES)
    return text.decode(errors="replace")


def _kernel_reason(console: str) -> str:
    """Why the kernel died, or its report about itself, in words; "" if nothing."""
    panic = re.search(r"Kernel panic - not syncing: (.*)", console)
    text = panic[1].strip() if panic else ""
    if "Attempted to kill init" in text:
        return f"the guest's first process died ({text})"
    if text.startswith(("Kernel mode fault", "Segfault with no mm", "Kernel tried to access")):
        text = _without_offset(text).replace(", ip ", " in ")
        return f"the guest's kernel crashed (oops): {text}"
    if panic and "panic_on_warn" not in text and text != "BUG!":
        return f"the guest's kernel panicked: {text}"
    # also without a panic: lockdep, for example, does not heed panic_on_warn
    report = re.search(rf"^{_REPORT}.*", console, re.MULTILINE)
    if report and report[0].startswith("WARNING: "):
        return f"the guest's kernel warned: {report[0].strip().removeprefix('WARNING: ')}"
    if report:
        return f"the guest's kernel reported {report[0].strip()}"
    return f"the guest's kernel panicked: {text}" if panic else ""


def _suspect(scenario: Scenario, console: str, reason: str) -> str:
    """The first function of the scheduler, or of any module, on the stack unless in `reason`; and
    the hook if it was called by others of the scheduler.
    """
    names = tuple(f"{choice.name}_" for choice in (scenario.scheduler, *scenario.choices()))
    frames = [*_INTERRUPTED.findall(console), *_FRAME.findall(console)]
    suspects = [bool(module) or function.startswith(names) for function, module in frames]
    if not any(suspects):
        return ""
    first = suspects.index(True)
    end = suspects.index(False, first) if False in suspects[first:] else len(frames)
    function, module = frames[first]
    # a pointer to a function beside these on the stack may look like one more call of the first
    callers = [name for name, _module in frames[first:end] if name != function]
    called = f", called by {callers[-1]}" if callers else ""
    if function in reason and not called:
        return ""
    return f" (in the backtrace: {function}{called}{module})"


def _overruled(scenario: Scenario, directory: Path) -> str:
    """The framework's actions in place of the scheduler of a failed run, if known."""
    try:
        counts = overruled.counts(list(run_files.read_samples(scenario, directory).values()))
    except MptcplabError:
        return ""
    return "".join(f"; {line}" for line in overruled.lines(scenario.scheduler.name, [counts]))


def _without_offset(text: str) -> str:
    """A kernel's text without the offsets within its functions: f+0x1a/0x2b [module]."""
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
    """How someone else, neither the engine nor the kernel, ended a run; "" if no one did."""
    console = _console(directory)
    # at these two signals User-Mode Linux cleans up, which may fail, and exits without a message
    silent = returncode == 1 and set(tail.splitlines()) <= {_CONNECTING.decode()}
    if silent or "last_ditch_exit" in console:
        return "its process was killed by SIGTERM or SIGINT"
    if _GUEST_KILLED.search(console):
        return f"a process of its guest was killed{HINT}"
    if -returncode in _OF_OTHERS and not _kernel_reason(console):
        hint = HINT if returncode == -signal.SIGKILL else ""
        return f"its process was killed by {signal.Signals(-returncode).name}{hint}"
    return ""


def _console_tail(directory: Path) -> str:
    """The last lines of the console without noise, and a report of the kernel as a whole."""
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


# Signals of others: a failing kernel aborts, or dies of a wrong access.
_OF_OTHERS = {
    *(signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGXCPU, signal.SIGXFSZ),
}
# The messages of a kernel that finds a process of its guest dead, or stopped by a signal that came
# from the host.
_GUEST_KILLED = re.compile(
    r"^userspace - (?:child stopped with signal|.* failed, errno = 3$)"
    r"|^.*failed to wait for SIGTRAP, .* status = 0x9$"
    # while it was to change its memory
    r"|(?:: PTRACE_SETREGS failed|Failed to continue stub, pid = [0-9]+), errno = 3$"
    # while it was made
    r"|start_userspace : (?:expected SIGSTOP, got status = 9|PTRACE_SETOPTIONS failed, errno = 3)$",
    re.MULTILINE,
)
HINT = "; the machine may be out of memory"
# User-Mode Linux's messages at each start and end, and the words on the stack before decoding.
_NOISE = re.compile(
    r"epollctl|0\.00 BogoMIPS|This architecture does not have|reboot: Power down"
    r"|Stack:$|(?: [0-9a-f]{8,16})+$"
)
# The function in which a kernel was asked where it is, and its module.
_INTERRUPTED = re.compile(r"Interrupted in (\w+)(?:\.\w+)*\+\S+?( \[\w+\])?, process")
# A function in a backtrace, and its module.
_FRAME = re.compile(r"^ \[<[0-9a-f]+>\] (?:\? )?(\w+)(?:\.\w+)*\+\S+( \[\w+\])?$", re.MULTILINE)
# The beginnings of the kernel's reports of its own mistakes. The lab kernel prints none of these
# without a mistake; the debug kernel detects more of them.
_REPORT = r"(?:BUG: |WARNING: |INFO: (?:possible|suspicious|trying)|UBSAN: |ODEBUG: |unreferenced)"
_REPORT_BEGINS = re.compile(rf"-+\[ cut here|={{10,}}$|Kernel panic|{_REPORT}")
