# SPDX-License-Identifier: GPL-2.0-only
"""One run on a distribution kernel: a virtual machine in virtual time, with the lab's own guest.

QEMU interprets the machine, counts its instructions, a nanosecond each or two, and skips idle time.
Like a run of the lab, such a run does not depend on the speed of the host; but computing takes
time, as on a real machine. Process 1 is the lab's guest program with the lab's plan, in an
initramfs; it works without the lab's kernel (`guest/stock.c`), and sends the files of a run over a
serial line.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from mptcplab.errors import MachineError, RunCancelledError, RunError
from mptcplab.lab import doctor, engine, out_of_tree, stock_package
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, RunEndedError, RunKilledError, RunOutcome, Watch
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario
from mptcplab.units import counted

#: The guest uses 100 MiB of it; QEMU takes more beside it.
MEMORY_MIB = 1024
_QEMU_MIB = 400
#: In the directory of a run: what a machine is given, and what it sends over its second line.
IMAGE, LINE = "initramfs", "line"
_POLL_S = 0.1


# A kernel mixes them into its random numbers in this order.
_ARGUMENTS = (
    *("console=ttyS0", "panic=-1", "quiet", "nokaslr", "mitigations=off", "init_on_alloc=0"),
    *("tsc=reliable", "nowatchdog", "net.ifnames=0", "LAB_OUTCOME=/dev/ttyS1"),
)
# its multicasts would take netem's random numbers
_NO_IPV6 = "ipv6.disable_ipv6=1"
_DIRECTORIES = ("dev", "proc", "sys", "run", "tmp", "lab")


def require(at_a_time: int = 1) -> None:
    """Raises MachineError, with the remedy, if this machine cannot run `at_a_time` of them."""
    doctor.require("machine", "util-linux", doctor.QEMU)
    needed = at_a_time * (MEMORY_MIB + _QEMU_MIB)
    available = doctor.available_memory_bytes() >> 20
    if available < needed:
        machines = counted(at_a_time, "virtual machine")
        raise MachineError(
            f"memory: {available} MiB available, {needed} MiB needed for {machines}",
            "end other programs, or give fewer --jobs; in a container: docker run --memory 2g ...",
        )


def run(
    scenario: Scenario,
    rig: Rig,
    directory: Path,
    *,
    cpu: int | None = None,
    watch: Watch | None = None,
) -> RunOutcome:
    """Run a scenario's plan and leave its records in `directory`, which must exist.

    Only the limits of wall-clock time and disk count, and `watch` can only cancel: nobody sees the
    virtual time from outside. Raises RunError, with the tail of the console, RunCancelledError, and
    MachineError if QEMU gets no memory.
    """
    kernel, watch = rig.kernel, watch or Watch()
    assert kernel.stock is not None
    text = plan_text(scenario, kernel)
    given = {f"lab/{file.name}": file.read_bytes() for file in _modules(scenario, kernel)}
    given[f"lab/{run_files.PLAN}"] = text.encode()
    image, line = directory / IMAGE, directory / LINE
    try:
        (directory / run_files.PLAN).write_text(text)
        image.write_bytes(initramfs(rig.guest.program.read_bytes(), given))
    except OSError as error:
        raise RunError(f"cannot write to {directory}: {error.strerror}") from error
    started = time.monotonic()
    try:
        usage = follow(_command(scenario.seed, kernel, cpu), directory, rig.limits, watch)
        content = line.read_bytes() if line.exists() else b""
    finally:
        image.unlink()
        line.unlink(missing_ok=True)
    wall_s = time.monotonic() - started
    sent = received(content)
    for name, each in sent.items():
        (directory / name).write_bytes(each)
    reported = _reported(sent, directory)
    return RunOutcome(
        directory=directory,
        guest=reported,
        virtual_s=reported["complete_ns"] / 1e9,
        wall_s=wall_s,
        start_s=0.0,
        user_s=usage.ru_utime,
        system_s=usage.ru_stime,
        memory_bytes=usage.ru_maxrss << 10,
        of_sockets=True,
    )


def plan_text(scenario: Scenario, kernel: KernelBuild) -> str:
    """The plan of a run with a kernel; in a virtual machine if it is a distribution's."""
    if kernel.is_out_of_tree:
        return out_of_tree.plan_text(scenario, kernel.brought)
    if kernel.stock is None:
        return plan.render(scenario)
    modules = [f"insmod {file.name}" for file in _modules(scenario, kernel)]
    # captures take CPU time there: none but the client's
    lines = [
        line
        for line in plan.render(scenario).splitlines()
        if " capture " not in line or line.startswith("ip netns exec client ")
    ]
    return "\n".join([*modules, *lines, ""])


def _modules(scenario: Scenario, kernel: KernelBuild) -> list[Path]:
    """The modules of a run, in the order of loading."""
    assert kernel.stock is not None
    if scenario.transport == "tcp" or scenario.scheduler.name == scheduler.DEFAULT:
        return [*kernel.stock.modules]
    ours = (stock_package.ADAPTER, f"{stock_package.MODULE_PREFIX}{scenario.scheduler.name}")
    return [*kernel.stock.modules, *(kernel.image.with_name(f"{name}.ko") for name in ours)]


def initramfs(
    program: bytes, given: Mapping[str, bytes], programs: Mapping[str, bytes] | None = None
) -> bytes:
    """A newc archive with process 1, read-only files of the run, and further `programs`."""
    names = [PurePosixPath(name) for name in (*given, *(programs or ()))]
    places = (str(place) for name in names for place in reversed(name.parents))
    directories = dict.fromkeys([*_DIRECTORIES, *places])
    entries = [
        *((name, 0o040755, b"") for name in directories if name != "."),
        ("dev/console", 0o020600, b""),
        ("init", 0o100755, program),
        *((name, 0o100444, content) for name, content in given.items()),
        *((name, 0o100555, content) for name, content in (programs or {}).items()),
    ]
    parts = [_entry(number, *each) for number, each in enumerate(entries, 1)]
    return b"".join([*parts, _entry(0, "TRAILER!!!", 0, b"")])


def _entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    """One entry of the format that Documentation/driver-api/early-userspace describes."""
    text = name.encode() + b"\0"
    device = (5, 1) if name == "dev/console" else (0, 0)
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(text), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + text
    return b"".join(part + bytes(-len(part) % 4) for part in (head, content))


def received(line: bytes) -> dict[str, bytes]:
    """The files that came over the serial line, by name. Raises RunError if one is incomplete."""
    found, at = {}, line.find(b"\n") + 1
    while at and at < len(line):
        end = line.find(b"\n", at)
        head = re.fullmatch(rb"(\w[\w.-]*) (\d+)", line[at:end]) if end >= 0 else None
        if head is None or len(line) < end + 1 + int(head[2]):
            raise RunError("the files that the guest sent over the serial line are incomplete")
        at = end + 1 + int(head[2])
        found[head[1].decode()] = line[end + 1 : at]
    return found


def _command(seed: int, kernel: KernelBuild, cpu: int | None) -> list[str]:
    """QEMU's command line, in the directory of the run."""
    assert kernel.stock is not None
    pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    arguments = [*_ARGUMENTS, _NO_IPV6, f"LAB_SEED={seed}"]
    return counting(kernel.image, arguments, seed, kernel.stock.instruction_ns, pinned)


def counting(
    image: Path,
    arguments: Sequence[str],
    seed: int,
    instruction_ns: int = 1,
    pinned: Sequence[str] = (),
) -> list[str]:
    """The command line of a machine whose clock counts instructions; setpriv makes it die with this
    thread. Its files are those of a run, in the working directory.
    """
    # QEMU takes a power of two
    shift = instruction_ns.bit_length() - 1
    return [
        *("setpriv", "--pdeathsig", "KILL", *pinned, doctor.QEMU),
        *("-accel", "tcg,tb-size=256", "-icount", f"shift={shift},sleep=off,align=off"),
        *("-rtc", "clock=vm,base=2026-01-01", "-seed", str(seed)),
        # a kernel would choose these string instructions, which count as one for each byte
        *("-cpu", "max,la57=off,erms=off,fsrm=off", "-smp", "1", "-m", str(MEMORY_MIB)),
        *("-nodefaults", "-display", "none", "-no-reboot"),
        *("-serial", f"file:{run_files.CONSOLE}", "-serial", f"file:{LINE}"),
        *("-kernel", str(image), "-initrd", IMAGE),
        *("-append", " ".join(arguments)),
    ]


def follow(
    command: list[str], directory: Path, limits: Limits, watch: Watch
) -> resource.struct_rusage:
    """Wait until a virtual machine has ended on its own, or must be ended; returns what it used.

    Raises RunError if it did not end well, RunKilledError if somebody else ended it, MachineError
    and RunCancelledError.
    """
    limit = time.monotonic() + limits.wall_s
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=directory,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            # its own: Ctrl-C at a terminal reaches only this process, which then ends QEMU
            start_new_session=True,
        )
        try:
            with engine.end_of(process.pid) as has_ended:
                while not has_ended(_POLL_S):
                    if watch.cancel.is_set():
                        raise RunCancelledError
                    if time.monotonic() > limit:
                        raise RunEndedError(engine.too_slow(limits), console_tail(directory))
                    if _left_bytes(directory) > limits.disk_bytes:
                        raise RunEndedError(engine.too_large(limits), console_tail(directory))
            usage = engine.reap(process)
        finally:
            engine.kill_session(process)
        errors.seek(0)
        said = errors.read().strip()
    if process.returncode == -signal.SIGKILL:
        raise RunKilledError(f"its process was killed by SIGKILL{engine.HINT}")
    if process.returncode and "allocate memory" in said:
        raise MachineError(
            f"memory: QEMU cannot have {MEMORY_MIB} MiB for a virtual machine", "end other programs"
        )
    if process.returncode:
        reason = f"QEMU ended with status {process.returncode}: {said}"
        raise RunError(reason, console_tail(directory))
    return usage


def _left_bytes(directory: Path) -> int:
    """The bytes that a run has sent and printed until now."""
    files = (directory / name for name in (LINE, run_files.CONSOLE))
    return sum(file.stat().st_size for file in files if file.exists())


def _reported(sent: Mapping[str, bytes], directory: Path) -> dict[str, Any]:
    """The guest's report of a run that succeeded. Raises RunError with its reason if it failed."""
    console = console_tail(directory)
    try:
        guest: dict[str, Any] = json.loads(sent[run_files.GUEST_OUTCOME])
    except (KeyError, ValueError):
        raise RunError("the virtual machine ended without an outcome", console) from None
    if guest.get("status") != "ok":
        raise RunError(str(guest.get("reason", "the guest gave no reason")), console)
    wanted = (run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES, run_files.MESSAGES)
    if missing := [name for name in wanted if name not in sent]:
        raise RunError(f"the guest did not send {', '.join(missing)}", console)
    return guest


def console_tail(directory: Path) -> str:
    """The last lines that the kernel printed."""
    console = directory / run_files.CONSOLE
    text = console.read_text(errors="replace") if console.exists() else ""
    lines = [line for line in text.replace("\r", "").splitlines() if line.strip()]
    return "\n".join(lines[-20:])
