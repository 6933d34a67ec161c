# SPDX-License-Identifier: GPL-2.0-only
"""A run on several CPUs, with a kernel of smp_kernel.py.

Its process 1 is as that of a distribution's kernel (stock_machine.py), but nothing repeats: which
CPU comes first, the host decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from checks import qemu
from checks.smp.smp_kernel import SmpKernel
from mptcplab.lab import doctor, stock_machine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.lab.guest import Guest

#: As many as make three pairs of races between two subflows and a process.
CPUS = 4


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
    files = {f"lab/{name}": text.encode() for name, text in given.items()}
    image = stock_machine.initramfs(own.program.read_bytes(), files, programs)
    qemu.boot(
        kernel.image,
        image,
        directory,
        cpus=CPUS,
        # reports are made of addresses, so these stay
        arguments=("nokaslr", *arguments),
        limits=limits,
        watch=watch,
    )
    line = directory / qemu.LINE
    return stock_machine.received(line.read_bytes() if line.exists() else b"")
