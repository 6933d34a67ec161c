# SPDX-License-Identifier: GPL-2.0-only
"""The scripts of a kernel's source, and the programs that they need, compiled.

Below `cache_dir()/selftests`: `KEY/net`, the scripts of a source with their programs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mptcplab import files, resources
from mptcplab.errors import MptcplabError
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild, Source, compiler_version
from mptcplab.lab.kernel_make import MAKE_ENVIRONMENT
from mptcplab.lab.kernel_tree import KERNEL_VERSION, series_of


@dataclass(frozen=True)
class Script:
    """A script of tools/testing/selftests/net/mptcp, or the tests of it that `options` select.

    With `in_turn` its processes run in the order in which they become ready, and until they wait.
    With `settles` it waits a little for each device that it sets up.
    """

    name: str
    options: str = ""
    in_turn: bool = False
    settles: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.options}".strip()


#: The longest first, so that no CPU is left alone with one at the end. The groups of mptcp_join.sh
#: are those of its own options, and those of 6.12.
SCRIPTS = (
    Script("mptcp_join.sh", "-feslt"),
    Script("mptcp_join.sh", "-ra64M"),
    Script("mptcp_join.sh", "-bpkSd"),
    Script("mptcp_join.sh", "-mzFuI"),
    Script("mptcp_connect.sh"),
    # It starts a hundred servers at once, waits until the last of them listens, and then connects
    # to all: where computing takes no time, only strict turns make the last one last.
    Script("diag.sh", in_turn=True),
    Script("pm_netlink.sh"),
    Script("simult_flows.sh"),
    Script("mptcp_sockopt.sh"),
)
#: The scripts of packetdrill, ours and others; `options` are their directory.
PACKETS, OTHER_PACKETS = Script("packetdrill", "ours"), Script("packetdrill", "others")
#: What every scheduler of ours runs besides.
SCHEDULER_SCRIPTS = (Script("simult_flows.sh"), PACKETS)

_GROUPED = "mptcp_join.sh"
_SELFTESTS = "tools/testing/selftests/net"
# What the scripts are made of: some of it is in some series only.
_PARTS = ("lib.sh", "net_helper.sh", "lib", "mptcp")
# What `make headers` reads.
_HEADER_SOURCES = ("Makefile", "Kbuild", "scripts", "include", "arch/x86", "usr", "tools/include")
# What a build leaves in a source: make wants none of it there.
_BUILT = shutil.ignore_patterns("generated", "config", "*.o", "*.cmd")


@dataclass(frozen=True)
class Tools:
    """The scripts of a source with their compiled programs, in `net`; those of them that run; and
    the guest's first process.
    """

    id: str
    net: Path
    init: Guest
    scripts: tuple[Script, ...] = SCRIPTS


def prepare(build: KernelBuild) -> Tools:
    """The tools for a kernel, by of_source(). Raises MptcplabError, too, if its source has changed
    since it was built.
    """
    doctor.require(*doctor.SELFTEST_CHECKS)
    return of_source(kernel.source_of(build))


def of_source(source: Source) -> Tools:
    """Takes the scripts from the source of a kernel and compiles their programs, once.

    The programs need the headers of the same kernel: the system's are older. Raises MachineError if
    the machine lacks something, and MptcplabError if the source has no such scripts.
    """
    doctor.require(*doctor.BUILD_CHECKS)
    inputs = [source.digest, compiler_version()]
    if source.path.is_dir():
        # the digest of a directory leaves its tests out
        inputs += _stamps(source.path / _SELFTESTS)
    key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:12]
    directory = doctor.cache_dir() / "selftests" / key
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with files.new_directory(directory) as part:
            _make(source.path, part)
    init = guest.build(resources.GUEST / "selftests")
    net = directory / "net"
    is_later = series_of(source.version) != KERNEL_VERSION
    return Tools(f"{key} {init.id}", net, init, _scripts_of(net / "mptcp", is_later=is_later))


def _scripts_of(directory: Path, *, is_later: bool) -> tuple[Script, ...]:
    """SCRIPTS; new groups of tests since 6.12 join the last ones.

    The script with groups uses devices at once that may send only after a work of the kernel.
    Kernels later than 6.12 do not get to it while a script goes on: computing takes no time, and
    nobody else gets a turn.

    Raises MptcplabError if a script, or a group of tests, is gone.
    """
    missing = [each.name for each in SCRIPTS if not (directory / each.name).exists()]
    if missing:
        raise MptcplabError(f"the kernel's source has no selftest {missing[0]}")
    text = (directory / _GROUPED).read_text()
    groups = re.findall(r"^\t(\S)@\w+_tests$", text, re.MULTILINE)
    *before, last = [each for each in SCRIPTS if each.name == _GROUPED]
    known = "".join(each.options[1:] for each in (*before, last))
    gone = sorted(set(known) - set(groups))
    if gone:
        raise MptcplabError(f"{_GROUPED} lacks the groups of tests {''.join(gone)}")
    new = "".join(group for group in groups if group not in known)
    more = replace(last, options=last.options + new)
    found = (more if each == last else each for each in SCRIPTS)
    return tuple(replace(e, settles=is_later and e.name == _GROUPED) for e in found)


def _stamps(selftests: Path) -> Iterator[str]:
    """Name, size and time of each file that the scripts are made of."""
    for part in (selftests / name for name in _PARTS):
        for file in sorted(part.rglob("*")) if part.is_dir() else [part]:
            if file.is_file():
                stat = file.stat()
                yield f"{file.relative_to(selftests)} {stat.st_size} {stat.st_mtime_ns}"


def _make(kernel_source: Path, target: Path) -> None:
    source = target / "source"
    source.mkdir()
    if kernel_source.is_dir():
        _copy(kernel_source, source)
    else:
        names = [f"*/{name}" for name in (*_HEADER_SOURCES, _SELFTESTS)]
        _call(
            *("tar", "--extract", "--file", kernel_source, "--directory", source),
            *("--strip-components=1", "--wildcards", "--no-wildcards-match-slash", *names),
        )
    selftests = source / _SELFTESTS
    if not (selftests / "mptcp").is_dir():
        raise MptcplabError(f"{kernel_source} has no {_SELFTESTS}/mptcp: no selftests of MPTCP")
    _compile(source, target / "headers")
    (target / "net").mkdir()
    for name in _PARTS:
        if (selftests / name).exists():
            (selftests / name).rename(target / "net" / name)
    for rest in (source, target / "headers"):
        shutil.rmtree(rest)


def _copy(source: Path, target: Path) -> None:
    for name in (*_HEADER_SOURCES, _SELFTESTS):
        if (source / name).is_dir():
            ignored = None if name == _SELFTESTS else _BUILT
            shutil.copytree(source / name, target / name, symlinks=True, ignore=ignored)
        elif (source / name).exists():
            shutil.copy2(source / name, target / name)


def _compile(source: Path, headers: Path) -> None:
    # User-Mode Linux has no headers for programs; the others are those of the architecture it runs
    # on.
    jobs = f"--jobs={len(os.sched_getaffinity(0))}"
    environment = MAKE_ENVIRONMENT | {"ARCH": "x86"}
    _call("make", f"--directory={source}", f"O={headers}", jobs, "headers", **environment)
    # as in lib.mk and in the Makefile of the tests
    flags: Sequence[str | Path] = ("-O2", "-D_GNU_SOURCE=", "-isystem", headers / "usr/include")
    for file in sorted((source / _SELFTESTS / "mptcp").glob("*.c")):
        own = f"-I{source / 'tools/include'}"
        _call("gcc", *flags, own, "-o", file.with_suffix(""), file)


def _call(*command: str | Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-8:]
        raise MptcplabError("\n  ".join([f"{command[0]} failed for the selftests", *last]))
