# SPDX-License-Identifier: GPL-2.0-only
"""Version 0 of MPTCP beside version 1, in two virtual machines: `make interop`.

A client and a server, each with Debian's Linux 6.12 (version 1) or MPTCP v0.95 (version 0), have
two links. One connection carries a file each way. Every byte is compared, and the counters of both
kernels say which protocol carried them. Time is real. See docs/out-of-tree.md.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from checks import many, qemu, tables
from checks.command_line import natural, parser_of, say
from checks.vm import machine
from mptcplab.errors import InputError, Problem, RunError, status_of
from mptcplab.files import new_directory
from mptcplab.lab import doctor, kernel, kernel_tree, stock_machine
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.lab.kernel_make import BuildProgress, Make
from mptcplab.selftests import scripts

_HERE = Path(__file__).parent
_CONFIG = _HERE / "kernel.config"
_PROGRAMS = ("bash", "cat", "cmp", "grep", "insmod", "ip", "mount", "seq", "sleep")
# In the order in which they load.
_MODULES = ("failover", "net_failover", "virtio_net")
_IMAGE = "bzImage"
_NAMES = ("6.12", "v0.95")
#: Of the two machines.
ROLES = ("client", "server")
# Of each file, a line each; some 4 MB with the default.
_LINES = 600_000
_LIMITS = Limits(wall_s=600.0)
# Counters of the table: how connections and subflows began.
_SHOWN = ("MPCapable", "MPJoin")
# One for each subflow that joined.
_JOINED = ("MPJoinAckRx", "MPJoinAckRX")


@dataclass(frozen=True)
class Sent:
    """What a machine sent: its mistakes, and its counters of MPTCP that are not 0."""

    mistakes: Sequence[str]
    counters: Mapping[str, int]

    @classmethod
    def read(cls, text: str) -> Sent:
        lines = [line.partition(" ")[::2] for line in text.replace("\r", "").splitlines()]
        counters = dict(rest.split() for word, rest in lines if word == "counter")
        mistakes = [rest for word, rest in lines if word == "wrong"]
        if ("end", "") not in lines:
            mistakes.append("the machine did not come to its end")
        return cls(mistakes, {name: int(value) for name, value in counters.items()})


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if all four pairs carried every byte, else 1."""
    parser = parser_of("interop", __doc__)
    parser.add_argument("source", type=Path, help="archive of Linux 4.19 with MPTCP v0.95")
    parser.add_argument("--lines", type=natural, default=_LINES, help=f"of each file ({_LINES})")
    options = parser.parse_args(arguments)
    return status_of(lambda: _check(options), interrupted="interrupted; no pair is kept")


def _check(options: argparse.Namespace) -> int:
    source = kernel.Source.chosen(options.source)
    if kernel_tree.series_of(source.version) != kernel_tree.OUT_OF_TREE or source.files:
        message = f"Linux {source.version}; accepted is an archive of Linux 4.19 with MPTCP v0.95"
        raise InputError([Problem("source", "", str(options.source), message)])
    machine.require(2)
    release = machine.release(_NAMES[0])
    images = dict(zip(_NAMES, (machine.image(release), build(source)), strict=True))
    of_debian = machine.debian_modules(release, _MODULES)
    modules = dict(zip(_NAMES, (of_debian, {}), strict=True))
    programs = machine.user_space(_PROGRAMS)
    connect = scripts.of_source(kernel.Source.chosen()).net / "mptcp/mptcp_connect"
    programs["bin/mptcp_connect"] = connect.read_bytes()
    rows, wrong = [], list[str]()
    for names in itertools.product(_NAMES, repeat=2):
        pair = dict(zip(ROLES, names, strict=True))
        say(f"client {pair['client']}, server {pair['server']}")
        given = {
            role: stock_machine.initramfs(
                (_HERE / "init.sh").read_bytes(),
                {**modules[name], "count": str(options.lines).encode()},
                programs,
            )
            for role, name in pair.items()
        }
        sent = _perform({role: images[name] for role, name in pair.items()}, given)
        wrong += [
            f"client {names[0]}, server {names[1]}: {role}: {mistake}"
            for role in ROLES
            for mistake in sent[role].mistakes
        ]
        rows.append(row(pair, sent))
    head = ("client", "server", "data", "subflows", *(f"{role}'s counters" for role in ROLES))
    print(tables.markdown(head, rows), end="")
    print("\n".join(wrong), end="\n" * bool(wrong))
    return 1 if wrong else 0


def row(pair: Mapping[str, str], sent: Mapping[str, Sent]) -> list[str]:
    """The table's line of a pair: names of kernels, and what their machines sent, by role."""
    data = "wrong" if any(each.mistakes for each in sent.values()) else "right"
    server = sent["server"].counters
    joined = sum(server.get(name, 0) for name in _JOINED)
    is_mptcp = "MPCapableACKRX" in server
    shown = [
        ", ".join(f"`{name}` {n}" for name, n in each.counters.items() if name.startswith(_SHOWN))
        for each in sent.values()
    ]
    return [*pair.values(), data, str(1 + joined) if is_mptcp else "TCP", *shown]


def _perform(images: Mapping[str, Path], given: Mapping[str, bytes]) -> dict[str, Sent]:
    """Two machines, each of whose links is a pair of sockets in their directory."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:

        def boot(role: str, watch: Watch) -> Sent:
            directory = Path(name) / role
            directory.mkdir()
            try:
                qemu.boot(
                    images[role],
                    given[role],
                    directory,
                    cpus=1,
                    arguments=[f"LAB_ROLE={role}"],
                    devices=links(role),
                    limits=_LIMITS,
                    watch=watch,
                )
            except RunError as error:
                say(f"{role}: {error.reason}\n{stock_machine.console_tail(directory)}")
            line = directory / qemu.LINE
            return Sent.read(line.read_text(errors="replace") if line.exists() else "")

        with closing(many.each(ROLES, boot, len(ROLES))) as ended:
            sent = dict(ended)
    return {role: sent[role] for role in ROLES}


def links(role: str) -> list[str]:
    """QEMU's arguments for two links to the other machine, which has a directory beside."""
    number = ROLES.index(role)
    other = ROLES[1 - number]
    found = []
    for path in (1, 2):
        local, remote = f"../{role}{path}", f"../{other}{path}"
        ends = f"local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
        found += ["-netdev", f"dgram,id=link{path},{ends}"]
        mac = f"52:54:00:00:0{number}:0{path}"
        found += ["-device", f"virtio-net-pci,netdev=link{path},mac={mac},romfile="]
    return found


def build(source: kernel.Source) -> Path:
    """The image of Linux with the out-of-tree MPTCP for x86-64, built unless it is there.

    No patch of ours is in it. Raises MachineError if the machine lacks something, MptcplabError if
    the build fails.
    """
    doctor.require(*doctor.BUILD_CHECKS)
    fragments = {_CONFIG.name: _CONFIG.read_bytes()}
    inputs = [source.digest, kernel_tree.digests(fragments), kernel.compiler_version()]
    identity = hashlib.sha256(repr(inputs).encode()).hexdigest()[:12]
    place = kernel.place() / "interop" / identity
    if not place.exists():
        tree = kernel.place() / "trees" / f"{source.digest[:12]}-interop"
        with BuildProgress(quiet=False) as progress, kernel.building(tree, progress) as locks:
            if not kernel_tree.is_unpacked(tree, source.digest):
                progress.step("unpack", str(source.path))
                kernel_tree.unpack(source.path, source.digest, tree, locks, whole=True)
            make = Make(tree / "src", tree / "obj", locks, ("ARCH=x86_64",))
            built = qemu.compile_kernel(make, fragments, inputs, progress)
            place.parent.mkdir(parents=True, exist_ok=True)
            with new_directory(place) as part:
                shutil.copyfile(built, part / _IMAGE)
    return place / _IMAGE


if __name__ == "__main__":
    raise SystemExit(main())
