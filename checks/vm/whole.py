# SPDX-License-Identifier: GPL-2.0-only
"""The package in a whole Debian: after a restart, and under upstream's own tests.

The tree of machine.py gets the package, whose modules DKMS builds, and becomes a disk. Only root
can read, and so copy, all of it.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from checks import kernel_reports, qemu
from checks.command_line import say
from checks.vm import machine
from mptcplab import files
from mptcplab.errors import MachineError, MptcplabError
from mptcplab.lab import doctor
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.lab.kernel import Source
from mptcplab.lab.kernel_tree import KERNEL_VERSION
from mptcplab.metrics import run_files
from mptcplab.selftests import tap
from mptcplab.selftests.jobs import choose_scheduler
from mptcplab.selftests.scripts import of_source

SCRIPTS = ("mptcp_connect.sh", "simult_flows.sh", "mptcp_join.sh")
_SCHEDULER = "overflow"
_LIMITS = Limits(wall_s=6 * 3600)
_DISK_MIB = 3072
# What says, after each start, whether modules-load.d and sysctl.d did their work. It starts again.
_UNIT = """\
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'sysctl -n net.mptcp.scheduler net.mptcp.available_schedulers >/dev/ttyS1'
ExecStart=/bin/systemctl --no-block reboot
[Install]
WantedBy=multi-user.target
"""
_SYSCTL = f"net.mptcp.scheduler={_SCHEDULER}\n"
# Process 1 of upstream's tests: SCRIPT, with or without the modules.
_TESTS = """\
#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -o remount,rw /
[[ $2 == none ]] || modprobe -a $(grep -v '^#' /usr/lib/modules-load.d/mptcplab-schedulers.conf)
cd "/root/$2/mptcp"
export SELFTESTS_MPTCP_LIB_OVERRIDE_FLAKY=1
"./$1" >/tmp/output 2>&1
status=$?
{ cat /tmp/output; echo "status $status"; } >/dev/ttyS1
echo b >/proc/sysrq-trigger
"""


def check(series: str, out: Path) -> list[str]:
    """What is wrong with the package in a whole Debian with a kernel of a series; kept results are
    not made again. Raises MachineError for a user who is not root.
    """
    if os.geteuid():
        raise MachineError("whole systems: root alone can copy one", "run it as root, or with sudo")
    name = machine.release(series)
    identity, _ = machine.modules(name, machine.tree() / "boot" / f"vmlinuz-{name}", None)
    wrong: list[str] = []
    with _disk(series) as (disk, initrd):
        restart = out / f"restart-{name}-{identity}.txt"
        for number in (1, 2):
            said = _boot(disk, initrd, name, restart.with_suffix(f".{number}.txt"), ["rw"])
            wrong += [f"start {number}, {why}" for why in _after_start(said)]
        for script in SCRIPTS:
            results = []
            for modules in ("none", "default", _SCHEDULER):
                file = out / f"{script}-{modules}-{name}-{identity}.txt"
                init = f"rw init=/root/tests.sh {script} {modules}"
                said = _boot(disk, initrd, name, file, [init])
                output, _, status = said.rpartition("status ")
                results.append(tap.parse(output, int(status or -1)))
                passed = list(results[-1].verdicts.values()).count("pass")
                say(f"{name}, {script}, {modules}: {passed} of {len(results[-1].verdicts)} pass")
            for modules, result in zip(("default", _SCHEDULER), results[1:], strict=True):
                wrong += [f"{script}, {modules}: {each}" for each in tap.lost(results[0], result)]
    return [f"{name}: {each}" for each in wrong]


def _after_start(said: str) -> Iterator[str]:
    """What is wrong after a start of the whole system."""
    words = said.split()
    if words[:1] != [_SCHEDULER]:
        yield f"net.mptcp.scheduler is {' '.join(words[:1]) or 'unknown'}"
    if missing := sorted({_SCHEDULER, "minrtt", "blest", "default"} - {*words[1:]}):
        yield f"these schedulers are missing: {', '.join(missing)}"


def _boot(disk: Path, initrd: Path, name: str, kept: Path, arguments: Sequence[str]) -> str:
    """What a boot has sent; raises MptcplabError if the kernel reported something."""
    if not kept.exists():
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as place:
            directory = Path(place)
            qemu.boot(
                machine.tree() / "boot" / f"vmlinuz-{name}",
                initrd.read_bytes(),
                directory,
                cpus=2,
                arguments=["root=/dev/vda", *arguments],
                disk=disk,
                limits=_LIMITS,
                watch=Watch(),
            )
            console = (directory / run_files.CONSOLE).read_text(errors="replace")
            if found := kernel_reports.parse(console):
                raise MptcplabError(f"{kept.stem}: the kernel reported:\n{found[0].text}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            files.write(kept, qemu.sent(directory).replace(b"\r\n", b"\n"))
    return kept.read_text(errors="replace")


@contextmanager
def _disk(series: str) -> Iterator[tuple[Path, Path]]:
    """A disk with the package, and what its kernel begins with."""
    archive = doctor.cache_dir() / "sources" / f"linux-source-{series}.tar.xz"
    tools = of_source(Source.chosen(None if series == KERNEL_VERSION else archive))
    with tempfile.TemporaryDirectory(prefix="mptcplab-", dir=doctor.cache_dir() / "vm") as place:
        root, disk = Path(place) / "root", Path(place) / "disk"
        machine.call("cp", "-a", str(machine.tree()), str(root))
        (root / "root/tests.sh").write_text(_TESTS)
        (root / "root/tests.sh").chmod(0o755)
        (root / "etc/sysctl.d/90-mptcp.conf").write_text(_SYSCTL)
        (root / "etc/systemd/system/say.service").write_text(_UNIT)
        for modules in ("none", "default", _SCHEDULER):
            machine.call("cp", "-a", str(tools.net), str(root / "root" / modules))
        choose_scheduler(root / f"root/{_SCHEDULER}/mptcp/mptcp_lib.sh", _SCHEDULER)
        machine.call(str(machine.REPOSITORY / "scripts/deb.sh"), str(root / "root"))
        say("installing the package, for which DKMS builds the modules")
        steps = "apt-get install -y /root/*.deb && systemctl enable say && echo ok"
        inside = f"mount -t proc proc {shlex.quote(str(root))}/proc && exec chroot {root} bash -c"
        machine.call("unshare", "--mount", "bash", "-c", f"{inside} {shlex.quote(steps)}")
        machine.call("truncate", f"--size={_DISK_MIB}M", str(disk))
        machine.call("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(disk))
        (initrd,) = (root / "boot").glob(f"initrd.img-{machine.release(series)}")
        yield disk, initrd
