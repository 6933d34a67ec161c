# SPDX-License-Identifier: GPL-2.0-only
"""A guest does not depend on what the host has and the guest did not ask for: docs/exec.md."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mptcplab.lab import doctor
from tests.vocabulary import RunProgram, in_mount_namespace, output

#: Programs that some Linux runs by itself, when something is asked of it.
HELPERS = ("modprobe", "request-key", "bridge-stp", "hotplug", "poweroff", "usermode-helper")
#: Files that libc and shells read in every program, with what else may be in them.
SETTINGS = {
    "nsswitch.conf": ("hosts: dns files\nservices: db files\n", "passwd: compat systemd\n"),
    # a name is then asked for on a path
    "resolv.conf": ("nameserver 10.1.1.1\n", "search example\nnameserver 192.0.2.1\n"),
    "host.conf": ("multi off\n",),
    "gai.conf": ("precedence ::ffff:0:0/96 100\n",),
    "hosts": ("10.1.2.1 server nowhere.example\n",),
    "bash.bashrc": ("exit 1\n",),
    "ld.so.preload": ("/lib/libnone.so\n",),
    "localtime": ("TZif", "nothing"),
}
#: How a shell may be set up that starts mptcplab.
SHELLS = (
    *("umask 077", "ulimit -n 300", "ulimit -s 1024", "unset HOME LANG LC_ALL"),
    *("export TZ=Asia/Tokyo LANG=de_DE.UTF-8 LC_ALL=C", "export LD_LIBRARY_PATH=/nowhere"),
    *("export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2", "export LAB_SEED=9 TERM=none"),
)
FAILS = "#!/bin/sh\nread line < /etc/hostname\nexit 1\n"


@dataclass(frozen=True)
class Host:
    """How a host differs from this one: in files, with their text or None, and by commands of the
    shell that starts mptcplab.
    """

    files: Mapping[str, str | None] = field(default_factory=dict)
    shell: Sequence[str] = ()


def helpers(text: str | None) -> Host:
    return Host({f"sbin/{name}": text for name in HELPERS})


def drawn(seed: int) -> Host:
    """Of each file, whether it is there, and what is in it."""
    chance = random.Random(seed)
    changes: dict[str, str | None] = {}
    for name in HELPERS:
        if chance.random() < 2 / 3:
            changes[f"sbin/{name}"] = chance.choice((None, FAILS))
    for name, texts in SETTINGS.items():
        if chance.random() < 2 / 3:
            changes[f"etc/{name}"] = chance.choice((None, *texts))
    return Host(changes, [line for line in SHELLS if chance.random() < 1 / 2])


def script(host: Host, tmp_path: Path) -> str:
    """Lays the changes over the host's directories, and prints the digests of runs there.

    As the upper layer of an overlay, which one may make in a namespace of one's own.
    """
    upper = tmp_path / "upper"
    lines = ["set -e", f"mkdir {upper}", f"mount -t tmpfs none {upper}", f"cd {upper}"]
    lines.append("mkdir etc sbin etc-work sbin-work digests")
    for name, text in host.files.items():
        if text is None:
            lines.append(f"mknod {name} c 0 0")
        else:
            lines.append(f"printf %s {shlex.quote(text)} > {name}; chmod 755 {name}")
    for name in ("etc", "sbin"):
        layers = f"lowerdir=/{name},upperdir={upper}/{name},workdir={upper}/{name}-work"
        lines.append(f"mount -t overlay -o {layers} none /{name} || exit 77")
    # the programs that a plan names are there, also without HOME
    cache = shlex.quote(str(doctor.cache_dir().parent))
    lines += [f"cd {Path.cwd()}", *host.shell, f"export XDG_CACHE_HOME={cache}"]
    lines.append(f"exec {sys.executable} -m tests.digests {upper}/digests")
    return "\n".join(lines)


def digests(host: Host, tmp_path: Path) -> dict[str, str]:
    tmp_path.mkdir()
    done = in_mount_namespace(script(host, tmp_path))
    if done.returncode == 77:
        pytest.skip(f"no overlay can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def differing(hosts: Sequence[Host], tmp_path: Path) -> list[str]:
    """What some host makes other than the first does."""
    made = [digests(each, tmp_path / str(number)) for number, each in enumerate(hosts)]
    assert {"run/client.samples", "programs/client.out", "calls/guest.json"} <= made[0].keys()
    return [name for name in made[0] if any(each.get(name) != made[0][name] for each in made)]


@pytest.mark.usefixtures("lab_kernel", "lab_guest")
def test_programs_that_a_kernel_starts_make_no_difference(tmp_path: Path) -> None:
    """None, and such as fail after some calls: no guest's kernel starts any."""
    assert differing([helpers(None), helpers(FAILS)], tmp_path) == []


@pytest.mark.usefixtures("lab_kernel", "lab_guest")
def test_what_no_program_asked_for_makes_no_difference(tmp_path: Path) -> None:
    assert differing([Host(), *(drawn(seed) for seed in (1, 2))], tmp_path) == []


#: As if the processor had nothing beyond what numpy and libc need.
PLAIN = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-SSE4_2,-AVX,-AVX2,-FMA,-FMA4,-AVX512F",
}


def test_what_python_computes_does_not_depend_on_the_processor() -> None:
    """Logarithms differ in their last bits with and without FMA and AVX-512; plans have none."""
    of_all, of_plain = (
        subprocess.run(
            [sys.executable, "-m", "tests.digests"],
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for settings in ({}, PLAIN)
    )
    assert of_all == of_plain


def test_a_kernel_starts_no_program_also_if_it_is_named(run_program: RunProgram) -> None:
    """Here no namespace is needed: what is started is counted."""
    ask = """
import socket

def started():
    (count,) = (line for line in open("/proc/stat") if line.startswith("processes "))
    return int(count.split()[1])

path = "/proc/sys/kernel/modprobe"
print(repr(open(path).read()))
open(path, "w").write("/bin/true")
before = started()
try:
    socket.socket(31)
except OSError as error:
    print(error.strerror)
print(started() - before)
"""
    assert output(run_program([sys.executable, "-c", ask])).splitlines() == [
        *("'\\n'", "Address family not supported by protocol", "0")
    ]


def test_nothing_of_the_processor_is_shown(run_program: RunProgram) -> None:
    """Its flags are those of every x86-64, and libc uses none beyond them."""
    ask = "cat /proc/cpuinfo; LD_SHOW_AUXV=1 /bin/true"
    text = output(run_program(["sh", "-c", ask]))
    lines = dict(line.replace("\t", "").split(":", 1) for line in text.splitlines() if ":" in line)
    assert "host" not in lines
    assert lines["flags"].split() == [
        *("fpu", "cx8", "cmov", "mmx", "fxsr", "sse", "sse2", "syscall", "nx", "lm")
    ]
    assert lines["cache_alignment"].strip() == "64"
    assert lines["AT_HWCAP"].strip() == "0"
