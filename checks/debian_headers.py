# SPDX-License-Identifier: GPL-2.0-only
"""The headers of Debian's kernels: its packages, unpacked into the cache, without root.

Below `cache_dir()/debian-headers/VERSION`: what the packages put into /usr/src, and `source`, the
network code of linux-source of the same version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import MptcplabError
from mptcplab.files import new_directory
from mptcplab.lab import doctor
from mptcplab.lab.choices import DEBIAN_NAMES
from mptcplab.lab.kernel_tree import KERNEL_VERSION

_COMMON = "common"
_SOURCE_PACKAGE = f"linux-source-{KERNEL_VERSION}"
# The parts of the source to unpack: networking, without other protocols.
_UNPACKED_SOURCE = ("net/core", "net/ipv4", "net/mptcp", "net/sched")


@dataclass(frozen=True)
class DebianHeaders:
    """The directories of Debian's headers: the common ones, and those of each flavour.

    `source` has the network code that belongs to them; `version` is that of all packages.
    """

    version: str
    common: Path
    flavours: Mapping[str, Path]
    source: Path


def obtain(packages: Path | None = None) -> DebianHeaders:
    """Unpacks them if necessary, from packages that are downloaded or in a directory.

    Raises MptcplabError, one line, for a package that is not available or has another version than
    the source of the lab's kernel.
    """
    version = source_version()
    place = doctor.cache_dir() / "debian-headers" / version
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with new_directory(place) as part:
            _fill(part, version, packages)
    return DebianHeaders(
        version,
        _only(place, _COMMON),
        {flavour: _only(place, name) for flavour, name in DEBIAN_NAMES.items()},
        place / "source",
    )


def source_version() -> str:
    """The version of the source package of the lab's kernel."""
    for tool in ("dpkg-query", "dpkg-deb", "apt-get", "apt-cache"):
        if shutil.which(tool) is None:
            raise MptcplabError(f"{tool} is missing: the headers can only be unpacked on Debian")
    done = _run("dpkg-query", "--show", "--showformat=${Version}", _SOURCE_PACKAGE)
    if done.returncode != 0 or not done.stdout or not doctor.DEBIAN_SOURCE.exists():
        raise MptcplabError(f"{_SOURCE_PACKAGE} is not installed: make setup")
    return done.stdout


def _fill(part: Path, version: str, packages: Path | None) -> None:
    """Unpacks headers and source into an empty directory."""
    if packages is None:
        downloads = part / "downloads"
        downloads.mkdir()
        files = _downloaded(downloads, version)
    else:
        files = packages_in(packages, version)
    for file in files:
        _must(_run("dpkg-deb", "--extract", str(file), str(part / "root")), f"unpack {file}")
    for directory in (part / "root/usr/src").iterdir():
        directory.rename(part / directory.name)
    shutil.rmtree(part / "root")
    shutil.rmtree(part / "downloads", ignore_errors=True)
    source = part / "source"
    source.mkdir()
    wanted = [f"*/{each}" for each in _UNPACKED_SOURCE]
    command = ["tar", "--extract", "--file", str(doctor.DEBIAN_SOURCE), "--directory", str(source)]
    done = _run(*command, "--strip-components=1", "--wildcards", *wanted)
    _must(done, f"unpack {doctor.DEBIAN_SOURCE}")


def _downloaded(directory: Path, version: str) -> list[Path]:
    """Downloads the packages of that version."""
    listed = _run("apt-cache", "search", "--names-only", f"^linux-headers-{KERNEL_VERSION}")
    known = [line.split(" ")[0] for line in listed.stdout.splitlines()]
    names = package_names(known, version, "apt-get knows")
    wanted = [f"{name}={version}" for name in names]
    done = _run("apt-get", "download", *wanted, directory=directory)
    _must(done, f"download {' '.join(wanted)}", " (apt-get update, or --packages DIRECTORY)")
    return sorted(directory.glob("*.deb"))


def package_names(known: Iterable[str], version: str, where: str) -> list[str]:
    """The packages with the headers of that version of the source, of those known.

    Raises MptcplabError if one is missing; `where` names who knows them.
    """
    upstream = version.partition("-")[0]
    found = {}
    for name in known:
        match = re.fullmatch(rf"linux-headers-{re.escape(upstream)}(?:\+\w+)?-([a-z0-9-]+)", name)
        if match:
            found[match[1]] = name
    wanted = (_COMMON, *DEBIAN_NAMES.values())
    missing = [f"linux-headers-{upstream}*-{each}" for each in wanted if each not in found]
    if missing:
        raise MptcplabError(
            f"{where} no {', '.join(missing)}: apt-get update, or give a directory with"
            f" the packages of version {version}: --packages DIRECTORY"
        )
    return [found[each] for each in wanted]


def packages_in(directory: Path, version: str) -> list[Path]:
    """The packages of the headers in a directory.

    Raises MptcplabError if one is missing or has another version.
    """
    found = {}
    for file in sorted(directory.glob("linux-headers-*.deb")):
        fields = _run("dpkg-deb", "--show", "--showformat=${Package} ${Version}", str(file))
        _must(fields, f"read {file}")
        name, _, its_version = fields.stdout.partition(" ")
        if its_version != version:
            raise MptcplabError(
                f"{file} has version {its_version}: {version}, that of {_SOURCE_PACKAGE}, is needed"
            )
        found[name] = file
    return [found[name] for name in package_names(found, version, f"{directory} has")]


def _only(place: Path, name: str) -> Path:
    """The directory of one of the packages: linux-headers-ABI-NAME."""
    (found,) = (
        each
        for each in place.iterdir()
        if re.fullmatch(rf"linux-headers-[^-]+-{re.escape(name)}", each.name)
    )
    return found


def _run(*command: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, check=False, errors="replace"
    )


def _must(done: subprocess.CompletedProcess[str], what: str, mend: str = "") -> None:
    """Raises MptcplabError, with the last line of its output, if the program failed."""
    if done.returncode != 0:
        said: Sequence[str] = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise MptcplabError(f"cannot {what}: {said[-1]}{mend}")
