# SPDX-License-Identifier: GPL-2.0-only
"""A run on several CPUs: QEMU interprets them, each in a thread of the host, in real time.

Its kernel (smp_kernel.py) and process 1 are as those of a distribution's kernel (stock_machine.py),
but nothing repeats: which CPU comes first, the host decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from checks.smp.smp_kernel import SmpKernel
from mptcplab.lab import doctor, stock_machine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.lab.guest import Guest
from mptcplab.metrics import run_files

#: As many as make three pairs of races between two subflows and a process.
CPUS = 4
_MEMORY_MIB = 1024
_IMAGE, _LINE = "initramfs", "line"
# Reports are made of addresses, so these stay, and say when and by whom; what takes long under an
# emulator takes longer.
_ARGUMENTS = (
    *("console=ttyS0", "printk.time=1", "panic=-1", "nokaslr", "tsc=reliable", "reboot=k"),
    *("rcupdate.rcu_cpu_stall_timeout=300", "LAB_OUTCOME=/dev/ttyS1"),
)


def require() -> None:
    """Raises MachineError, with the remedy, if this machine cannot run one."""
    stock_machine.require()
    doctor.require_tool("addr2line", "binutils")


def run(
    kernel: SmpKernel,
    own: Guest,
    directory: Path,
    given: Mapping[str, str],
    programs: Mapping[str, bytes],
    *,
    arguments: Sequence[str] = (),
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> dict[str, bytes]:
    """Boots a kernel, which has the files `given` in its run directory, and `programs`.

    `arguments` are further ones for the kernel. Returns the files that the guest has sent; what the
    kernel said is in `directory`, which must exist. Raises RunError, RunCancelledError and
    MachineError.
    """
    image, line = directory / _IMAGE, directory / _LINE
    files = {f"lab/{name}": text.encode() for name, text in given.items()}
    image.write_bytes(stock_machine.initramfs(own.program.read_bytes(), files, programs))
    command = [
        *("setpriv", "--pdeathsig", "KILL", doctor.QEMU),
        *("-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max,la57=off"),
        # in the BIOS's table, only the first CPU of a socket
        *("-smp", f"{CPUS},sockets={CPUS}", "-m", str(_MEMORY_MIB)),
        *("-nodefaults", "-display", "none", "-no-reboot"),
        *("-serial", f"file:{run_files.CONSOLE}", "-serial", f"file:{_LINE}"),
        *("-kernel", str(kernel.image), "-initrd", _IMAGE),
        *("-append", " ".join([*_ARGUMENTS, f"tsc_early_khz={_tsc_khz()}", *arguments])),
    ]
    try:
        stock_machine.follow(command, directory, limits or Limits(), watch or Watch())
        content = line.read_bytes() if line.exists() else b""
    finally:
        image.unlink()
        line.unlink(missing_ok=True)
    return stock_machine.received(content)


def _tsc_khz() -> int:
    """How fast QEMU has the clock of CPUs go: as the host's, or else, in ns. No timer of a machine
    without ACPI could measure it.
    """
    about = Path("/proc/cpuinfo").read_text()
    found = re.search(r"(?m)^cpu MHz\s*: (\d+)", about)
    return 1000 * int(found[1]) if found else 1_000_000
