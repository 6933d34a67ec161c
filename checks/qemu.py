# SPDX-License-Identifier: GPL-2.0-only
"""A virtual machine in real time: QEMU interprets its CPUs, each in a thread of the host. And the
build of a kernel for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mptcplab.lab import doctor, stock_machine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.lab.kernel_make import BuildProgress, Make, configure
from mptcplab.metrics import run_files

_MEMORY_MIB = 1024
#: What a machine sends over its second serial line.
LINE = "line"
_IMAGE = "initramfs"
_KERNEL = Path("arch/x86/boot/bzImage")
# Messages say when and by whom; what takes long under an emulator takes longer. A busy host may
# hold up the timer that a kernel tries out.
_ARGUMENTS = (
    *("console=ttyS0", "printk.time=1", "panic=-1", "tsc=reliable", "reboot=k", "no_timer_check"),
    *("rcupdate.rcu_cpu_stall_timeout=300", "LAB_OUTCOME=/dev/ttyS1"),
)


def compile_kernel(
    make: Make, fragments: Mapping[str, bytes], inputs: object, progress: BuildProgress
) -> Path:
    """The image of a kernel for x86-64, whose source is there; `inputs` as `configure` takes them.

    Raises MptcplabError if the build fails.
    """
    if make.was_killed() or make.is_from_the_future():
        make.discard_objects()
    progress.step("configure")
    configure(make, fragments, {}, inputs)
    progress.step("compile")
    make.image(progress, _KERNEL.name)
    return make.obj / _KERNEL


def boot(
    kernel: Path,
    initramfs: bytes,
    directory: Path,
    *,
    cpus: int,
    arguments: Sequence[str] = (),
    devices: Sequence[str] = (),
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> None:
    """Boots a kernel, and returns when the machine is off.

    `arguments` are further ones for the kernel, and `devices` for QEMU. `directory`, which must
    exist, then has what the kernel said, and LINE. Raises RunError, RunCancelledError and
    MachineError.
    """
    image = directory / _IMAGE
    image.write_bytes(initramfs)
    command = [
        *("setpriv", "--pdeathsig", "KILL", doctor.QEMU),
        *("-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max,la57=off"),
        # in the BIOS's table, only the first CPU of a socket
        *("-smp", f"{cpus},sockets={cpus}", "-m", str(_MEMORY_MIB)),
        *("-nodefaults", "-display", "none", "-no-reboot", *devices),
        *("-serial", f"file:{run_files.CONSOLE}", "-serial", f"file:{LINE}"),
        *("-kernel", str(kernel), "-initrd", _IMAGE),
        *("-append", " ".join([*_ARGUMENTS, f"tsc_early_khz={_tsc_khz()}", *arguments])),
    ]
    try:
        stock_machine.follow(command, directory, limits or Limits(), watch or Watch())
    finally:
        image.unlink()


def _tsc_khz() -> int:
    """How fast QEMU has the clock of CPUs go: as the host's, or else, in ns. No timer of a machine
    without ACPI could measure it.
    """
    about = Path("/proc/cpuinfo").read_text()
    found = re.search(r"(?m)^cpu MHz\s*: (\d+)", about)
    return 1000 * int(found[1]) if found else 1_000_000
