# SPDX-License-Identifier: GPL-2.0-only
"""One run: a User-Mode Linux process in virtual time, watched from outside until it has ended.

With a terminal as input of its program it is in real time: whoever types there is.

A run ends in exactly one of three ways: it succeeded, it failed for a reason that is told, or it
was cancelled. In each of them no process of it is left.
"""

from __future__ import annotations

import json
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.errors import MptcplabError, RunError
from mptcplab.figures import records
from mptcplab.figures.records import Samples
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.workload import Program
from mptcplab.uml import doctor
from mptcplab.uml.guest import Guest
from mptcplab.uml.kernel import KernelBuild

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

_POLL_S = 0.02
_START_POLL_S = 0.002
_CONNECTING = b"mptcplab: connecting"
_TAIL_LINES = 30
# A report of the kernel is shown from its beginning; one of KASAN has some 80 lines. The longer a
# backtrace, the more it is of what was left on the stack from earlier calls.
_REPORT_LINES = 100
_TRACE_LINES = 24
# How long a kernel that spins may take to say where it is.
_LAST_WORDS_S = 10.0


@dataclass(frozen=True)
class Limits:
    """When a run is ended from outside.

    `wall_s` limits its wall-clock time. A run has stalled if it has not come to its next event
    while it used `stall_cpu_s` of CPU time (a guest program or a scheduler that spins), or for
    `stall_wall_s` without wanting any (it waits for something that cannot come). CPU time, since on
    a loaded machine a healthy run may have to wait for its turn.
    """

    wall_s: float = 3600.0
    stall_cpu_s: float = 20.0
    stall_wall_s: float = 120.0


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
        super().__init__("mptcplab: cancelled")


@dataclass
class Watch:
    """How the starter of a run follows it: progress comes out, cancelling goes in.

    `progress` is called with the virtual time in seconds some fifty times a second, and `look`
    with the directory of the run, in which files grow; once more when it has ended.
    """

    progress: Callable[[float], None] = lambda _virtual_s: None
    look: Callable[[Path], None] = lambda _directory: None
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
) -> Outcome:
    """Run `plan` and leave its records in `directory`, which must exist and be empty.

    `modules` are the files that the plan loads as NAME.ko, by NAME. `cpu` is the CPU that all its
    processes share: they take turns, and on two CPUs they would wait for each other. Raises
    RunError (with the reason and the tail of the console) and RunCancelledError. What a run needs
    of the machine is doctor.RUN_CHECKS.
    """
    limits = limits or Limits()
    watch = watch or Watch()
    # Copies: the guest has a /tmp of its own, where a link to a file in the host's leads nowhere.
    copies = {f"{name}.ko": file for name, file in (modules or {}).items()}
    try:
        (directory / PLAN).write_text(plan, encoding="utf-8")
        (directory / _CLOCK).write_bytes(bytes(mmap.PAGESIZE))
        (directory / _INIT).symlink_to(guest.program)
        for name, file in copies.items():
            shutil.copyfile(file, directory / name)
    except OSError as error:
        raise RunError(f"cannot write to {directory}: {error.strerror}") from error

    terminal = _terminal(scenario)
    command = _command(scenario, kernel, cpu, real_time=terminal is not None)
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(directory),
        # glibc registers a restartable sequence in memory that a guest process then has no more
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
    }
    started = time.monotonic()
    with (directory / CONSOLE).open("wb") as console:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=console,
            stderr=console,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
    memory = _Memory(process.pid)
    try:
        with _restored(terminal):
            if terminal is None:
                ended_for, start_s = _follow(process, directory, started, limits, watch, memory)
            else:
                ended_for, start_s = _wait(process, watch, memory), 0.0
            usage = _reap(process)
    finally:
        _kill_session(process)
    watch.look(directory)
    wall_s = time.monotonic() - started
    if ended_for == "cancelled":
        raise RunCancelledError
    virtual_s = _Clock(directory / _CLOCK).read_ns() / 1e9
    outcome = _outcome_or_reason(scenario, process.returncode, ended_for, directory)
    if isinstance(outcome, str):
        raise RunError(outcome, _console_tail(directory))
    for name in (_CLOCK, _INIT, *copies):
        (directory / name).unlink()
    shutil.rmtree(directory / _UML_DIR, ignore_errors=True)
    return Outcome(
        directory=directory,
        guest=outcome,
        virtual_s=virtual_s,
        wall_s=wall_s,
        start_s=start_s,
        user_s=usage.ru_utime,
        system_s=usage.ru_stime,
        memory_bytes=memory.peak_bytes,
    )


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


def _follow(
    process: subprocess.Popen[bytes],
    directory: Path,
    started: float,
    limits: Limits,
    watch: Watch,
    memory: _Memory,
) -> tuple[str, float]:
    """Watch the run until it has ended or must be ended.

    Returns why it must be ended ("" if it ended by itself) and the wall-clock seconds to the
    first packet (0.0 if there was none).
    """
    clock, console = _Clock(directory / _CLOCK), directory / CONSOLE
    start_s = 0.0
    moved_ns, moved_at = -1, started
    moved_cpu_s: dict[int, float] = {}
    with _end_of(process.pid) as has_ended:
        # short steps until the first packet leaves, to see when that is, to a hundredth
        pause_s = _START_POLL_S
        while not has_ended(pause_s):
            now = time.monotonic()
            pause_s = _POLL_S if start_s else min(max((now - started) / 100, pause_s), _POLL_S)
            if not start_s and console.stat().st_size and _CONNECTING in console.read_bytes():
                start_s = now - started
            if watch.cancel.is_set():
                return "cancelled", start_s
            if now - started > limits.wall_s:
                _ask_where_it_is(process, has_ended)
                return f"it took more than the wall-clock limit of {limits.wall_s:g} s", start_s

            ns = clock.read_ns()
            memory.look()
            watch.progress(ns / 1e9)
            watch.look(directory)
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
                where = _where_it_was(directory, in_kernel=in_kernel)
                return f"{stood} while it kept a CPU busy in {where}", start_s
    return "", start_s


def _wait(process: subprocess.Popen[bytes], watch: Watch, memory: _Memory) -> str:
    """Wait for a run in real time, which may last as long as the person likes."""
    with _end_of(process.pid) as has_ended:
        while not has_ended(_POLL_S):
            memory.look()
            if watch.cancel.is_set():
                return "cancelled"
    return ""


def _ask_where_it_is(process: subprocess.Popen[bytes], has_ended: Callable[[float], bool]) -> None:
    """Have a kernel that must be ended panic, with a backtrace of what it was doing."""
    process.send_signal(signal.SIGUSR2)
    has_ended(_LAST_WORDS_S)


def _where_it_was(directory: Path, *, in_kernel: bool) -> str:
    """The function, or the program of the guest, that a run that spun was found in."""
    console = (directory / CONSOLE).read_text(errors="replace")
    found = re.search(r"Interrupted in (.*), process (.*) \(\d+\)", console)
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


def _outcome_or_reason(
    scenario: Scenario, returncode: int, ended_for: str, directory: Path
) -> dict[str, Any] | str:
    """What the guest reported if the run succeeded, else the reason why it failed."""
    console = (directory / CONSOLE).read_text(errors="replace")
    reason = ended_for or _kernel_reason(console)
    if reason:
        return reason + _suspect(scenario, console, reason)
    try:
        guest = json.loads((directory / GUEST_OUTCOME).read_bytes())
    except (OSError, ValueError):
        return _reason_without_outcome(returncode, console, directory)
    if guest["status"] == "ok":
        return dict(guest)
    reason = str(guest["reason"])
    missing = [scenario.paths[number - 1].name for number in guest.get("missing_paths", ())]
    if missing:
        reason = f"path {', '.join(missing)}: {reason}"
    return reason


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
        name = signal.Signals(-returncode).name
        hint = "; the machine may be out of memory" if returncode == -signal.SIGKILL else ""
        return f"its process was killed by {name}{hint}"
    return f"its process ended with status {returncode} and without an outcome"


def _console_tail(directory: Path) -> str:
    """The last lines of the console that say something, and a report of the kernel as a whole."""
    text = (directory / CONSOLE).read_text(errors="replace").replace("\r", "")
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
