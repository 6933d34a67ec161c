# SPDX-License-Identifier: GPL-2.0-only
"""Checks of this machine, and the commands that provide missing parts.

Every other command calls `require`, and reports a missing part as `mptcplab doctor` does.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.errors import MachineError, MptcplabError

if TYPE_CHECKING:
    from rich.console import Group

# Where Debian's package puts the kernel source.
DEBIAN_PACKAGE = "linux-source-6.12"
DEBIAN_SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")
#: The program that runs kernels of distributions.
QEMU = "qemu-system-x86_64"

MEMORY_NEEDED_BYTES = 512 << 20
# The unpacked source takes 0.4 GB, the objects of a variant 0.2 GB (debug: 0.3), each kernel 10 MB;
# the rest is for runs.
DISK_NEEDED_BYTES = 3 << 30
DISK_NEEDED_WITH_KERNEL_BYTES = 256 << 20

MORE_PROCESSES = "end other programs, or raise the limit of processes (ulimit -u, pids.max)"

# From linux/personality.h; this value queries without changing anything.
_ADDR_NO_RANDOMIZE = 0x0040000
_PERSONALITY_QUERY = 0xFFFFFFFF


@dataclass(frozen=True)
class Check:
    """The result of one check. `remedy` is the command that fixes it, "" if there is none.

    A check that is not `required` is advice: everything works without it, too.
    `packages` are the packages, by Debian's names, whose installation is the remedy.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = True
    packages: tuple[str, ...] = ()


def cache_dir() -> Path:
    """The directory of everything that can be rebuilt: `${XDG_CACHE_HOME:-~/.cache}/mptcplab`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: ignore a relative path.
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "mptcplab"


def find_tool(name: str) -> str | None:
    """The path of a program; also searches Debian's directory of tc, which users' PATH lacks."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def checks(
    kernel_id: str | None = None, *, came_along: bool = False, source: Check | None = None
) -> list[Check]:
    """All checks. `kernel_id` is the built kernel for the present inputs, None if there is none.

    If it came along with the package, checks for builds are not required. `source` replaces the
    check of Debian's source.
    """
    found = []
    for name, check in _CHECKS.items():
        each = source if source is not None and source.name == name else check()
        spared = name in (*STOCK_CHECKS, *SELFTEST_CHECKS)
        spared |= came_along and not each.ok and name not in _RUNS_ALONE
        found.append(replace(each, required=False) if spared else each)
    if kernel_id is None:
        detail, remedy = "not built yet", "mptcplab kernel build"
        return [
            *found,
            _disk(DISK_NEEDED_BYTES),
            Check("kernel", False, detail, remedy, required=False),
        ]
    whence = "came with mptcplab" if came_along else "built"
    detail = f"{whence}: {kernel_id}, with the arithmetic of Debian's linux-image-amd64"
    return [*found, _disk(DISK_NEEDED_WITH_KERNEL_BYTES), Check("kernel", True, detail)]


def passes(name: str) -> bool:
    return _CHECKS[name]().ok


def unwritable(place: Path, error: OSError, without: str) -> MptcplabError:
    """The error of an unwritable directory of the cache; `without` says the effect."""
    return MptcplabError(
        f"cannot write to {place}: {error.strerror}; {without}\n"
        "  to fix it: export XDG_CACHE_HOME=/a/directory/that/you/can/write/to"
    )


def require(*names: str) -> None:
    """Raises MachineError, with all remedies, when one of the named checks fails."""
    _require([_CHECKS[name]() for name in names])


def require_tool(name: str, package: str) -> str:
    """The path of a program that few commands need. Raises MachineError if it is missing."""
    check = _tools(name, package)()
    _require([check])
    return check.detail


def require_disk(needed_bytes: int = DISK_NEEDED_BYTES) -> None:
    """Raises MachineError when the disk of the cache has less than `needed_bytes` free."""
    _require([_disk(needed_bytes)])


def _require(found: Sequence[Check]) -> None:
    failed = [check for check in found if not check.ok]
    if failed:
        what = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise MachineError(what, " && ".join(remedies(failed)))


def remedies(found: Sequence[Check]) -> list[str]:
    """The remedies of failed checks, with all packages in one command."""
    failed = [check for check in found if not check.ok]
    packages = sorted({package for check in failed for package in check.packages})
    commands = [_install(packages)] if packages else []
    for check in failed:
        if check.remedy and not check.packages and check.remedy not in commands:
            commands.append(check.remedy)
    return commands


def exit_status(found: Sequence[Check]) -> int:
    """0 if everything required is there, else the exit status of a MachineError."""
    return 0 if all(check.ok for check in found if check.required) else MachineError.exit_status


def table(found: Sequence[Check]) -> Group:
    """The checks as tables for the terminal, by what needs them; below each, its remedies.

    One command installs all the packages of a group.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown: list[Text | Table] = []
    for title, names in _groups().items():
        group = [check for check in found if check.name in names]
        if not group:
            continue
        failed = [check for check in group if not check.ok]
        optional = failed and not any(check.required for check in failed)
        apart = " (not for runs)" if optional and names != _RUNS_ALONE else ""
        shown.append(Text(f"{title}{apart}:", style="italic"))
        rows = Table(box=None, pad_edge=False, show_header=False)
        rows.add_column("state", min_width=2)
        rows.add_column("name", style="bold", no_wrap=True, min_width=max(map(len, _CHECKS)))
        rows.add_column("detail", overflow="fold")
        for check in group:
            bad = "[red]no[/]" if check.required else "[yellow]-[/]"
            state = "[green]ok[/]" if check.ok else bad
            rows.add_row(state, check.name, check.detail.replace("[", r"\["))
        shown.append(rows)
        # not wrapped, so that it can be copied
        shown += [
            Text(f"    to fix it: {remedy}", no_wrap=True, overflow="ignore")
            for remedy in remedies(group)
        ]
    return Group(*shown)


def _groups() -> dict[str, tuple[str, ...]]:
    """The names of checks by what needs them, each where it is needed first."""
    apart = (*_RUNS_ALONE, *MODULE_CHECKS, *STOCK_CHECKS, *SELFTEST_CHECKS)
    build = tuple(name for name in _CHECKS if name not in apart)
    return {
        "To run": _RUNS_ALONE,
        "To compile schedulers of your own": MODULE_CHECKS,
        "To build the kernel": build,
        "To run distributions' kernels": STOCK_CHECKS,
        "To run the kernel's selftests": SELFTEST_CHECKS,
    }


def _package_manager() -> str:
    """The program that installs packages here, "" if we do not know their names for it."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    words = (release["ID"], *release.get("ID_LIKE", "").split())
    return next((_MANAGERS[word] for word in words if word in _MANAGERS), "")


_MANAGERS = {"debian": "apt-get", "ubuntu": "apt-get", "arch": "pacman"}
_MANAGERS |= dict.fromkeys(("fedora", "rhel", "centos"), "dnf")
# For each, how it installs, and the column of packages.txt.
_INSTALLS = {
    "apt-get": ("apt-get install", 0),
    "dnf": ("dnf install", 1),
    "pacman": ("pacman -S --needed", 2),
}


def _install(packages: Sequence[str]) -> str:
    """The command that installs packages here, which are given by Debian's names."""
    manager = _package_manager()
    if not manager:
        return f"install the equivalents of Debian's {' '.join(packages)}"
    command, column = _INSTALLS[manager]
    lines = Path(__file__).with_name("packages.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    here = {row[0]: row[column].split("+") for row in rows}
    names = dict.fromkeys(name for package in packages for name in here[package])
    return f"{_sudo()}{command} {' '.join(names)}"


def _package(name: str, ok: bool, detail: str, *packages: str) -> Check:
    return Check(name, ok, detail, "" if ok else _install(packages), packages=packages)


def _machine() -> Check:
    system, machine = platform.system(), platform.machine()
    ok = (system, machine) == ("Linux", "x86_64")
    remedy = "" if ok else "use an x86-64 machine with Linux (a virtual one will do)"
    return Check("machine", ok, f"{system} {platform.release()} {machine}", remedy)


def _python() -> Check:
    ok = sys.version_info >= (3, 11)
    return _package("python", ok, f"{platform.python_version()} ({sys.executable})", "python3")


def _tools(name: str, package: str, *tools: str) -> Callable[[], Check]:
    """A check for the program of this name, or for other `tools` of the package."""

    def check() -> Check:
        wanted = tools or (name,)
        detail = str(find_tool(wanted[0]))
        if missing := [tool for tool in wanted if find_tool(tool) is None]:
            detail = f"missing: {', '.join(missing)}" if tools else "missing"
        return _package(name, not missing, detail, package)

    return check


def _static_libc() -> Check:
    gcc = find_tool("gcc")
    path = _output([gcc, "-print-file-name=libc.a"]).strip() if gcc else ""
    ok = path.startswith("/") and Path("/usr/include/stdio.h").exists()
    return _package("libc", ok, path if ok else "headers or static library missing", "libc6-dev")


def debian_source() -> Check:
    """Whether the kernel source of Debian's package is there."""
    if DEBIAN_SOURCE.exists():
        return Check("kernel source", True, str(DEBIAN_SOURCE))
    another = "mptcplab kernel build --source ARCHIVE"
    if _package_manager() == "apt-get":
        detail = f"{DEBIAN_SOURCE} missing; if apt has no such package: {another}"
        return _package("kernel source", False, detail, DEBIAN_PACKAGE)
    remedy = f"get an archive of Linux 6.12, then: {another}"
    return Check("kernel source", False, "missing", remedy)


# In a process of its own, as in User-Mode Linux: a child lets itself be traced, and its system
# calls are intercepted (PTRACE_SYSEMU). Prints nothing if that works, 0 if the child ended, else an
# errno, or a text if no process can be started.
_PTRACE_TRIAL = """
import ctypes, os, signal
PTRACE_TRACEME, PTRACE_SYSEMU = 0, 31
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
try:
    child = os.fork()
except OSError as error:
    print(error)
    raise SystemExit
if child == 0:
    if libc.ptrace(PTRACE_TRACEME, 0, None, None) != 0:
        os._exit(ctypes.get_errno())
    os.kill(os.getpid(), signal.SIGSTOP)
    os.getppid()
    os._exit(0)
status = os.waitpid(child, 0)[1]
if os.WIFSTOPPED(status):
    failed = libc.ptrace(PTRACE_SYSEMU, child, None, None) != 0
    if failed:
        print(ctypes.get_errno())
    elif not os.WIFSTOPPED(os.waitpid(child, 0)[1]):
        print(0)
    os.kill(child, signal.SIGKILL)
else:
    print(os.WEXITSTATUS(status))
"""


def _ptrace() -> Check:
    answer = _output([sys.executable, "-I", "-S", "-c", _PTRACE_TRIAL]).strip()
    if answer == "":
        return Check("ptrace", True, "permitted")
    if not answer.isdigit():
        return Check("ptrace", False, f"cannot be tried: {answer}", MORE_PROCESSES)
    reason = os.strerror(int(answer)) if answer != "0" else "does not work"
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() == "3":
        # Yama lets nobody lower it until the next boot.
        line = "echo kernel.yama.ptrace_scope=1 | sudo tee /etc/sysctl.d/90-ptrace.conf"
        why, remedy = "forbidden by kernel.yama.ptrace_scope=3", f"{line} && sudo reboot"
    else:
        why = "not permitted in this container or sandbox"
        remedy = "docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined ..."
    return Check("ptrace", False, f"{reason}: {why}", remedy)


def _personality() -> Check:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.personality.argtypes = [ctypes.c_ulong]
    present = libc.personality(_PERSONALITY_QUERY)
    if libc.personality(present | _ADDR_NO_RANDOMIZE) != -1:
        libc.personality(present)
        return Check("address layout", True, "randomisation can be switched off")
    reason = errno.errorcode.get(ctypes.get_errno(), "refused")
    detail = f"randomisation cannot be switched off here ({reason}), which runs do not need"
    remedy = "docker run --security-opt seccomp=unconfined ..."
    return Check("address layout", False, detail, remedy, required=False)


def _memory() -> Check:
    available = available_memory_bytes()
    ok = available >= MEMORY_NEEDED_BYTES
    detail = f"{available >> 20} MiB available, {MEMORY_NEEDED_BYTES >> 20} MiB needed"
    remedy = "" if ok else "end other programs; in a container: docker run --memory 2g ..."
    return Check("memory", ok, detail, remedy)


def available_memory_bytes() -> int:
    """The memory available on the machine, and within the control group's limit, if any."""
    available = 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        available = min(available, limit - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass  # no version 2 control groups here, or "max": no limit
    return max(available, 0)


def _memfd() -> Check:
    try:
        with open(os.memfd_create("mptcplab"), "wb") as file:
            file.truncate(mmap.PAGESIZE)
            mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    except OSError as error:
        detail = f"an executable memory file is refused ({error.strerror})"
        return Check("memory file", False, detail, f"{_sudo()}sysctl vm.memfd_noexec=0")
    return Check("memory file", True, "executable memory files are permitted")


def _sudo() -> str:
    return "" if os.geteuid() == 0 else "sudo "


def _disk(needed_bytes: int) -> Check:
    directory = cache_dir()
    while not directory.exists():
        directory = directory.parent
    free = shutil.disk_usage(directory).free
    ok = free >= needed_bytes
    detail = f"{free >> 20} MiB free for {cache_dir()}, {needed_bytes >> 20} MiB needed"
    remedy = "" if ok else "export XDG_CACHE_HOME=/a/directory/on/a/larger/disk"
    return Check("disk", ok, detail, remedy)


def _output(command: Sequence[str]) -> str:
    """The output of a command, errors included, whatever its exit status."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout


_CHECKS: dict[str, Callable[[], Check]] = {
    "machine": _machine,
    "python": _python,
    "gcc": _tools("gcc", "gcc"),
    "make": _tools("make", "make"),
    "flex": _tools("flex", "flex"),
    "bison": _tools("bison", "bison"),
    "bc": _tools("bc", "bc"),
    "tar": _tools("tar", "tar"),
    "xz": _tools("xz", "xz-utils"),
    "ld": _tools("ld", "binutils"),
    "patch": _tools("patch", "patch"),
    "libc": _static_libc,
    "kernel source": debian_source,
    "iproute2": _tools("iproute2", "iproute2", "ip", "tc", "ss", "nstat"),
    "iptables": _tools("iptables", "iptables", "iptables", "ip6tables"),
    "nft": _tools("nft", "nftables"),
    "ethtool": _tools("ethtool", "ethtool"),
    "ping": _tools("ping", "iputils-ping"),
    "procps": _tools("procps", "procps", "ps", "sysctl"),
    # they prepare the process of a run: engine.py
    "util-linux": _tools("util-linux", "util-linux", "setpriv", "prlimit", "taskset", "setarch"),
    "ptrace": _ptrace,
    "address layout": _personality,
    "memory": _memory,
    "memory file": _memfd,
    QEMU: _tools(QEMU, "qemu-system-x86"),
    "dpkg-deb": _tools("dpkg-deb", "dpkg"),
}

#: For `mptcplab kernel build`, besides the source, which need not be Debian's.
BUILD_CHECKS = (
    *("machine", "gcc", "make", "flex", "bison", "bc", "tar", "xz", "ld", "patch", "libc"),
)
#: For users' own schedulers, with a kernel that came along.
MODULE_CHECKS = ("gcc", "ld")
#: For kernels of distributions.
STOCK_CHECKS = (QEMU, "dpkg-deb")
#: For the kernel's selftests, besides.
SELFTEST_CHECKS = ("iproute2", "iptables", "nft", "ethtool", "ping", "procps")
#: For a run.
RUN_CHECKS = ("machine", "util-linux", "ptrace", "memory", "memory file")
_RUNS_ALONE = ("python", *RUN_CHECKS, "address layout", "disk", "kernel")
