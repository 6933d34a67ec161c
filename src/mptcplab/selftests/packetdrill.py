# SPDX-License-Identifier: GPL-2.0-only
"""packetdrill: scripts that play the peer of a kernel, packet by packet.

The program is the user's. The scripts are ours, guest/packetdrill/scripts/, and optionally a
directory of the user's. These get a tenth of their own tolerances, which allow for delays of the
machine: virtual time has none.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mptcplab import files, resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import doctor, guest
from mptcplab.lab.kernel import compiler_version
from mptcplab.mistakes import is_utf8, printable
from mptcplab.selftests.scripts import OTHER_PACKETS, PACKETS, Script, Tools

# Of our scripts, in microseconds of virtual time.
_TOLERANCE_US = 1000
# Of other scripts: packetdrill's default, and the divisor of each.
_DEFAULT_TOLERANCE_US, _DIVISOR = 4000, 10

# To read a script without running it.
_MOST_SECONDS = 10
_SOURCE = resources.GUEST / "packetdrill"
_TOLERANCE = re.compile(r"^--tolerance_usecs=(\d+)", re.MULTILINE)
#: Of a network, before anything else: the packets of our scripts have no timestamps, and the window
#: scale that this buffer needs.
_SETTINGS = ("net.ipv4.tcp_timestamps=0", "net.ipv4.tcp_rmem=4096 131072 6291456")


def prepare(program: Path, others: Path | None) -> Tools:
    """The tools that run packetdrill in a guest, with all scripts.

    Raises InputError for a program that is no packetdrill with MPTCP, a directory without scripts
    or with unreadable files, or a script whose name has a space, and MachineError if the machine
    lacks something.
    """
    if not program.is_file() or not os.access(program, os.X_OK):
        message = "not a program; docs/selftests.md says how to build packetdrill"
        raise InputError([Problem("--packetdrill", "", str(program), message)])
    files_of_others = _of_others(others) if others else {}
    _require_packetdrill(program)
    doctor.require("iproute2", "procps", "gcc", "libc")
    digest = hashlib.sha256(compiler_version().encode())
    for file in (program, *sorted(_SOURCE.rglob("*.*"))):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    for name, file in files_of_others.items():
        digest.update(b"\0" + os.fsencode(name) + f"\0{os.access(file, os.X_OK)}\0".encode())
        digest.update(file.read_bytes())
    key = digest.hexdigest()[:12]
    directory = doctor.cache_dir() / "selftests" / f"packetdrill-{key}"
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with files.new_directory(directory) as part:
            _make(part / "net" / "packetdrill", program, files_of_others)
    init = guest.build(resources.GUEST / "selftests")
    scripts: tuple[Script, ...] = (PACKETS, OTHER_PACKETS) if others else (PACKETS,)
    return Tools(f"{key} {init.id}", directory / "net", init, scripts)


def _require_packetdrill(program: Path) -> None:
    """Raises InputError for a program that accepts any file as a script, or does not know MPTCP:
    with it, all tests would pass, or fail upstream, too.
    """
    a_script, no_script = _SOURCE / "scripts" / "dss.pkt", _SOURCE / "run.sh"
    for file, is_script in ((a_script, True), (no_script, False)):
        command = [str(program.absolute()), "--dry_run", str(file)]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_MOST_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        else:
            if (done.returncode == 0) == is_script:
                continue
            said = done.stderr.decode(errors="replace").strip().splitlines()[:1]
            why = "; ".join([f"{shlex.join(command)} ended with status {done.returncode}", *said])
        message = f"not a packetdrill with MPTCP: {why}"
        raise InputError([Problem("--packetdrill", "", str(program), message)])


def _of_others(directory: Path) -> dict[str, Path]:
    """The files of a directory with scripts, by their names there."""
    below = os.walk(directory, followlinks=True)
    files = sorted(Path(place, name) for place, _, names in below for name in names)
    if unreadable := [file for file in files if not os.access(file, os.R_OK)]:
        raise _mistakes("cannot be read", *unreadable)
    found = {str(file.relative_to(directory)): file for file in files}
    scripts = [name for name in found if name.endswith(".pkt")]
    if not scripts:
        raise _mistakes("accepted is a directory with scripts, *.pkt", directory)
    # in the list that run.sh reads, spaces separate columns; and packetdrill has options
    unfit = re.compile(r"\s|(^|/)-[^/]*$")
    if wrong := [name for name in scripts if unfit.search(name) or not is_utf8(name)]:
        message = "accepted are UTF-8 names without spaces; a script's may not begin with -"
        raise _mistakes(message, *wrong)
    return found


def _mistakes(message: str, *places: str | Path) -> InputError:
    problems = [Problem("--packetdrill-scripts", "", printable(str(at)), message) for at in places]
    return InputError(problems)


def _make(target: Path, program: Path, others: Mapping[str, Path]) -> None:
    target.mkdir(parents=True)
    shutil.copy2(program, target / "packetdrill")
    shutil.copy2(_SOURCE / "run.sh", target)
    shutil.copytree(_SOURCE / "scripts", target / PACKETS.options)
    library = str(_SOURCE / "times.c")
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(target / "times.so"), library]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MptcplabError(f"{library} does not compile:\n{done.stderr}")
    (target / "settings.conf").write_text("".join(f"{line}\n" for line in _SETTINGS))
    _list(target, PACKETS, lambda _text: _TOLERANCE_US)
    for name, file in others.items():
        copy = target / OTHER_PACKETS.options / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
    if others:
        _list(target, OTHER_PACKETS, stricter_us)


def _list(target: Path, script: Script, tolerance_us: Callable[[str], int]) -> None:
    """Writes the list of tests that run.sh reads."""
    place = target / script.options
    scripts = [file for file in sorted(place.rglob("*.pkt")) if file.is_file()]
    lines = [
        # packetdrill reads bytes: a comment may be in another encoding
        f"{name} {tolerance_us(file.read_text(errors='replace'))} {version} "
        f"{file.relative_to(target)}\n"
        for file in scripts
        for name, version in variants(file.relative_to(place))
    ]
    (target / f"{script.options}.txt").write_text("".join(lines))


def stricter_us(text: str) -> int:
    """A tenth of the tolerance of a script; packetdrill's own option overrides the script's."""
    found = _TOLERANCE.search(text)
    return (int(found[1]) if found else _DEFAULT_TOLERANCE_US) // _DIVISOR


def variants(path: Path) -> Iterator[tuple[str, str]]:
    """The tests of a script, by name, each with the version of IP that it runs with.

    A name that ends with v4 or v6 is for that version alone. A socket of IPv6 may have addresses of
    IPv4.
    """
    name = str(path.with_suffix(""))
    if not name.endswith("v6"):
        yield f"{name},ipv4", "ipv4"
        yield f"{name},ipv4-mapped-ipv6", "ipv4-mapped-ipv6"
    if not name.endswith("v4"):
        yield f"{name},ipv6", "ipv6"
