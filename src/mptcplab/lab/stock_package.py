# SPDX-License-Identifier: GPL-2.0-only
"""Debian's kernel packages: finds them, and extracts what a run needs.

`scripts/setup.sh --stock` downloads them into the cache. Nothing is installed, and the kernel is
not changed: its image and its modules are used as they are in the package.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mptcplab import files
from mptcplab.errors import InputError, MachineError, MptcplabError, Problem
from mptcplab.lab import doctor
from mptcplab.lab.choices import DEBIAN_NAMES
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_tree import KERNEL_VERSION

#: The command that installs everything needed.
SETUP = "make setup-stock"

# The modules of Debian that a plan may need, in an order in which they can be loaded.
_MODULES = (
    *("veth", "sch_netem", "sch_tbf", "sch_codel", "sch_fq_codel", "sch_red", "sch_pie"),
    "tcp_bbr",
)
_PACKAGE = re.compile(
    r"linux-image-(?P<release>[^_]+?)(?:-unsigned)?_(?P<version>[^_]+)_amd64\.deb"
)
_RELEASE = re.compile(
    r"(?P<series>\d+\.\d+)\.(?P<patch>\d+)[^-]*(?:-\d+)?-(?P<ending>cloud-amd64|amd64)"
)


@dataclass(frozen=True)
class StockKernel:
    """A kernel of a package, which has the `version`.

    Of its `build` the variant is the flavour, and the id names the package's content. `modules` are
    files that can be loaded, by name.
    """

    build: KernelBuild
    version: str
    modules: dict[str, Path]


def packages_dir() -> Path:
    """Where downloaded packages are."""
    return doctor.cache_dir() / "stock"


def newest(flavours: Iterable[str] = DEBIAN_NAMES, directory: Path | None = None) -> list[Path]:
    """The newest package of each flavour in a directory, by default `packages_dir()`.

    Raises MachineError, naming the command that downloads it, if one is missing.
    """
    directory = directory or packages_dir()
    found: dict[str, list[tuple[int, Path]]] = {DEBIAN_NAMES[flavour]: [] for flavour in flavours}
    for file in directory.glob("linux-image-*.deb"):
        kernel = _RELEASE.fullmatch(_release_of(file))
        if kernel and kernel["series"] == KERNEL_VERSION and kernel["ending"] in found:
            found[kernel["ending"]].append((int(kernel["patch"]), file))
    for ending, those in found.items():
        if not those:
            raise MachineError(
                f"kernel package: no linux-image-{KERNEL_VERSION}.*-{ending} in {directory}", SETUP
            )
    return [max(those)[1] for those in found.values()]


def unpacked(package: Path) -> StockKernel:
    """The kernel of a package, extracted into the cache if it is not there.

    Raises InputError if it is not a package of Linux 6.12 for amd64, MptcplabError if it cannot be
    read.
    """
    if not package.is_file():
        raise _bad(package, "there is no such file")
    release = _release_of(package)
    kernel = _RELEASE.fullmatch(release)
    if kernel is None:
        raise _bad(package, "not a kernel package of Debian for amd64")
    if kernel["series"] != KERNEL_VERSION:
        raise _bad(package, f"a kernel of the series {kernel['series']}")
    with package.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()[:12]
    place = packages_dir() / digest
    if not place.exists():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with files.new_directory(place) as made:
                _take(package, release, made)
        except OSError as error:
            raise MptcplabError(f"{place}: {error.strerror}") from error
    name = _PACKAGE.fullmatch(package.name)
    assert name is not None, "its release was read from its name"
    (flavour,) = (name for name, ending in DEBIAN_NAMES.items() if ending == kernel["ending"])
    return StockKernel(
        build=KernelBuild(digest, flavour, place / "vmlinuz", place / "config"),
        version=name["version"],
        modules={
            module: place / f"{module}.ko"
            for module in _MODULES
            if (place / f"{module}.ko").exists()
        },
    )


def _release_of(package: Path) -> str:
    """The release in its name, "" if that is not the name of a kernel package."""
    found = _PACKAGE.fullmatch(package.name)
    return found["release"] if found else ""


def _bad(package: Path, what: str) -> InputError:
    accepted = f"accepted is linux-image-{KERNEL_VERSION}.*-amd64[-unsigned] or -cloud-amd64"
    return InputError(
        [Problem("--package", "", str(package), f"{what}; {accepted}, as of {SETUP}")]
    )


def _take(package: Path, release: str, directory: Path) -> None:
    """Put the image, the configuration and the modules of a package into a directory."""
    if shutil.which("dpkg-deb") is None:
        raise MachineError("dpkg: there is no dpkg-deb, which unpacks Debian's packages", SETUP)
    single = {f"./boot/{name}-{release}": name for name in ("vmlinuz", "config")}
    modules = f"./lib/modules/{release}/kernel/"
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    # since Debian 13, /lib is a link to /usr/lib
                    name = member.name.replace("./usr/lib/", "./lib/")
                    target = single.get(name)
                    module = Path(name).name.partition(".ko")[0]
                    if name.startswith(modules) and module in _MODULES:
                        target = f"{module}.ko"
                    content = archive.extractfile(member) if target else None
                    if target and content:
                        packed = content.read()
                        plain = lzma.decompress(packed) if name.endswith(".xz") else packed
                        (directory / target).write_bytes(plain)
        except (tarfile.TarError, lzma.LZMAError) as error:
            raise MptcplabError(
                f"{package}: cannot be unpacked: {process.stderr.read().decode().strip()}"
            ) from error
    if missing := [name for name, file in single.items() if not (directory / file).exists()]:
        raise _bad(package, f"without {' and '.join(name[1:] for name in missing)}")
