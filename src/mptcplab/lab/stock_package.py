# SPDX-License-Identifier: GPL-2.0-only
"""Kernel packages of Debian, and of distributions made from it: extracts what a run needs.

Such a kernel is named `stock:PACKAGE.deb`. Where a distribution has modules in packages of their
own, as Ubuntu, these follow: `stock:IMAGE.deb:MODULES.deb:EXTRA.deb`. Nothing is installed, and the
kernel stays as it is: runs use its image and its modules, without their compression.

The package of `make deb` may follow, with the kernel's packages of headers: its modules are then
built for the kernel, as DKMS does it, so that runs can have our schedulers.

Below `packages_dir()`: the downloads of `scripts/setup.sh --stock`, and, for each kernel, a
directory with `vmlinuz`, `config`, NAME.ko, and `about.json`, which describes its origin.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import lzma
import re
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mptcplab import files
from mptcplab.errors import InputError, MachineError, MptcplabError, Problem
from mptcplab.lab import doctor
from mptcplab.lab.choices import DEBIAN_NAMES
from mptcplab.lab.kernel import STOCK, KernelBuild, Stock
from mptcplab.lab.kernel_tree import KERNEL_VERSION, write_json
from mptcplab.lab.package import NAME as OURS

#: How the name of such a kernel begins.
PREFIX = "stock:"
#: The command that downloads Debian's kernels, and installs what runs them.
SETUP = "make setup-stock"
ACCEPTED = (
    "accepted is a kernel package of Debian or a distribution made from it, for amd64, "
    f"then the packages of its modules: {PREFIX}IMAGE.deb or {PREFIX}IMAGE.deb:MODULES.deb:..."
)
#: The module that carries our schedulers, each of which is a module NAME_PREFIX + its name.
ADAPTER, MODULE_PREFIX = "mptcp_adapter", "mptcp_"

_ABOUT = "about.json"
_SAID_LINES = 20
# The modules that every plan needs, and others that one may need, in an order of loading.
_NEEDED = ("veth", "sch_netem")
_CCS = ("cubic", "bbr", "vegas")
_MODULES = (
    *(*_NEEDED, "sch_tbf", "sch_codel", "sch_fq_codel", "sch_red", "sch_pie"),
    *(f"tcp_{cc}" for cc in _CCS),
)
_ARCHITECTURE = "amd64"
_RELEASE = re.compile(
    r"linux-image-(?P<series>\d+\.\d+)\.(?P<patch>\d+)[^-_]*(?:-\d+)?-"
    r"(?P<ending>cloud-amd64|amd64)(?:-unsigned)?"
)
_NUMBER = re.compile(r"(\d+)\.(\d+)")
# dpkg's rules for these fields, but for the epoch of a version: they become a part of file names
_FIELD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~-]*")


@dataclass(frozen=True)
class Control:
    """The fields of a package."""

    package: str
    version: str
    architecture: str

    @property
    def name(self) -> str:
        """The name of the kernel: as Debian names the package's file."""
        return f"{self.package}_{self.version}_{self.architecture}"


def packages_dir() -> Path:
    """The directory of downloaded packages, and of the kernels that were extracted from any."""
    return doctor.cache_dir() / "stock"


def is_stock(name: str) -> bool:
    """Whether the name of a kernel is that of a distribution's package."""
    return name.startswith(PREFIX)


def packages_of(name: str) -> list[Path]:
    """The packages in a name of a kernel. Raises InputError for none, or one twice."""
    given = name.removeprefix(PREFIX).split(":")
    if not all(given) or len(set(given)) < len(given):
        what = "a name is missing" if not all(given) else "a package is named twice"
        raise InputError([Problem("--kernel", "", name, f"{what}; {ACCEPTED}")])
    return [Path(each) for each in given]


def name_of(name: str) -> str:
    """The name of this kernel in results: its package and version.

    Raises as `control`.
    """
    return control(packages_of(name)[0]).name


def control(package: Path, option: str = "--kernel") -> Control:
    """The fields of a package.

    Raises InputError if it is none, or for another architecture; MachineError without dpkg-deb.
    """
    if not package.is_file():
        raise _bad(package, "not a file" if package.exists() else "there is no such file", option)
    names = ("Package", "Version", "Architecture")
    done = subprocess.run(
        [_dpkg_deb(), "--field", str(package), *names],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    fields = dict(re.findall(r"(?m)^(\w+): (.*)$", done.stdout))
    name, version, architecture = (fields.get(each, "") for each in names)
    found = Control(name, version.partition(":")[2] or version, architecture)
    if not all(_FIELD.fullmatch(each) for each in (found.package, found.version)):
        said = done.stderr.strip() or "without a name and a version"
        raise _bad(package, f"not a package of Debian ({said})", option)
    if found.architecture not in (_ARCHITECTURE, "all"):
        raise _bad(package, f"a package for {found.architecture or 'no machine'}", option)
    return found


def newest(flavours: Iterable[str] = DEBIAN_NAMES, directory: Path | None = None) -> list[Path]:
    """Debian's newest package of each flavour in a directory, by default `packages_dir()`.

    Raises MachineError, naming the command that downloads it, if one is missing.
    """
    directory = directory or packages_dir()
    found: dict[str, list[tuple[int, Path]]] = {DEBIAN_NAMES[flavour]: [] for flavour in flavours}
    for file in directory.glob("linux-image-*.deb"):
        kernel = _RELEASE.fullmatch(file.name.partition("_")[0])
        if kernel and kernel["series"] == KERNEL_VERSION and kernel["ending"] in found:
            found[kernel["ending"]].append((int(kernel["patch"]), file))
    for ending, those in found.items():
        if not those:
            raise MachineError(
                f"kernel package: no linux-image-{KERNEL_VERSION}.*-{ending} in {directory}", SETUP
            )
    return [max(those)[1] for those in found.values()]


def unpacked(packages: Sequence[Path], option: str = "--kernel") -> KernelBuild:
    """The kernel of a package, with those of its modules, extracted into the cache unless there.

    Its id is a hash of the packages. Raises InputError if they are no such packages or lack what a
    run needs, MptcplabError if they cannot be read, or the cache cannot be written.
    """
    first = control(packages[0], option)
    for other in packages[1:]:
        control(other, option)
    place = packages_dir() / _digest(packages)
    if made := _made(place):
        return made
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.new_directory(place) as part:
            absolute = [str(each.absolute()) for each in packages]
            about = {**_take(packages, part, option), **asdict(first), "packages": absolute}
            write_json(part / _ABOUT, about)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS):
            without = "you can use the kernels there, but extract none"
            raise doctor.unwritable(place.parent, error, without) from error
        raise MptcplabError(f"{place}: {error.strerror}") from error
    made = _made(place)
    assert made is not None, "it was just written"
    return made


def kept() -> list[KernelBuild]:
    """The kernels in the cache."""
    return [made for place in sorted(packages_dir().glob("*/")) if (made := _made(place))]


def directories() -> list[Path]:
    """The directories of extracted kernels, also of incomplete ones."""
    return sorted(place for place in packages_dir().glob("*/") if not place.is_symlink())


def series(stock: Stock) -> tuple[int, int]:
    """The series of a kernel, such as (6, 12)."""
    found = _NUMBER.match(stock.release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _made(place: Path) -> KernelBuild | None:
    with suppress(OSError, ValueError, LookupError, TypeError):
        about = json.loads((place / _ABOUT).read_bytes())
        stock = Stock(
            package=about["package"],
            version=about["version"],
            release=about["release"],
            modules=tuple(place / f"{name}.ko" for name in about["modules"]),
            schedulers=tuple(about.get("schedulers", ())),
            ccs=tuple(about["ccs"]),
            packages=tuple(map(Path, about["packages"])),
        )
        name = Control(stock.package, stock.version, about["architecture"]).name
        return KernelBuild(place.name, STOCK, place / "vmlinuz", place / "config", name, stock)
    return None


def _digest(packages: Sequence[Path]) -> str:
    digests = []
    for package in packages:
        with package.open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").hexdigest())
    if len(digests) == 1:
        return digests[0][:12]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:12]


def _bad(package: Path, what: str, option: str) -> InputError:
    return InputError([Problem(option, "", str(package), f"{what}; {ACCEPTED}")])


def _dpkg_deb() -> str:
    return doctor.require_tool("dpkg-deb", "dpkg")


def _take(packages: Sequence[Path], directory: Path, option: str) -> dict[str, Any]:
    """Put the image, the configuration and the modules of packages into a directory; returns
    release, modules and congestion controls of the kernel.
    """
    release, built_in = "", set[str]()
    for package in packages:
        for path, content in _contents(package):
            if image := re.fullmatch(r"boot/vmlinuz-(.+)", path):
                if release and image[1] != release:
                    raise _bad(package, f"kernels {release} and {image[1]}", option)
                release = image[1]
                (directory / "vmlinuz").write_bytes(content)
            elif path.startswith("boot/config-"):
                (directory / "config").write_bytes(content)
            elif path.endswith("/modules.builtin"):
                lines = content.decode(errors="replace").split()
                built_in |= {PurePosixPath(line).stem for line in lines}
            else:
                name, ending = _module(path)
                (directory / f"{name}.ko").write_bytes(_plain(path, content, ending))
    missing = [name for name in ("vmlinuz", "config") if not (directory / name).exists()]
    if missing:
        what = f"without {' and '.join(f'/boot/{name}-*' for name in missing)}"
        raise _bad(packages[0], what, option)
    modules = [name for name in _MODULES if (directory / f"{name}.ko").exists()]
    if lacking := [name for name in _NEEDED if name not in (*modules, *built_in)]:
        what = f"without the module{'s' * (len(lacking) > 1)} {' and '.join(lacking)}"
        raise _bad(packages[0], f"{what}, which another package may have", option)
    ccs = [cc for cc in _CCS if f"tcp_{cc}" in (*modules, *built_in)]
    schedulers = _schedulers(packages, release, directory, option)
    found = {"release": release, "modules": modules, "ccs": ["reno", *ccs]}
    return {**found, "schedulers": schedulers} if schedulers else found


def _schedulers(packages: Sequence[Path], release: str, directory: Path, option: str) -> list[str]:
    """Build the modules of our package, if it is there, into a directory; returns the schedulers.

    Raises MptcplabError with the end of the compiler's messages.
    """
    ours = [each for each in packages if control(each, option).package == f"{OURS}-dkms"]
    if not ours:
        return []
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        for package in packages[1:]:
            subprocess.run([_dpkg_deb(), "--extract", str(package), name], check=True)
        kept = Path(name, "usr/src")
        headers = kept / f"linux-headers-{release}"
        if not (makefile := headers / "Makefile").is_file():
            what = f"its modules need the kernel's headers: packages with /usr/src/{headers.name}"
            raise _bad(ours[0], what, option)
        makefile.write_text(makefile.read_text().replace(" /usr/src/", f" {kept}/"))
        (source,) = kept.glob(f"{OURS}-*/")
        make = doctor.require_tool("make", "make")
        done = subprocess.run(
            [make, "-C", str(source), f"KVER={release}", f"KDIR={headers}"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            said = "\n".join(done.stderr.splitlines()[-_SAID_LINES:])
            raise MptcplabError(f"{ours[0]}: its modules cannot be built for {release}:\n{said}")
        built = sorted(source.glob(f"{MODULE_PREFIX}*.ko"))
        strip = [doctor.require_tool("strip", "binutils"), "--strip-debug"]
        subprocess.run([*strip, *map(str, built)], check=True)
        for module in built:
            (directory / module.name).write_bytes(module.read_bytes())
        return [each.stem.removeprefix(MODULE_PREFIX) for each in built if each.stem != ADAPTER]


def _module(path: str) -> tuple[str, str]:
    """The name of a module in a package, and the ending of its compression; "" if it is none."""
    name, _, ending = PurePosixPath(path).name.partition(".ko")
    return name, ending


def _is_wanted(path: str) -> bool:
    if path.startswith(("boot/vmlinuz-", "boot/config-")):
        return path.count("/") == 1
    if not path.startswith("lib/modules/"):
        return False
    name, ending = _module(path)
    of_kernel = path.split("/")[3:4] == ["kernel"]
    return path.endswith("/modules.builtin") or (
        of_kernel and ".ko" in path and ending in _PLAIN and name in _MODULES
    )


def _contents(package: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a package that are wanted: each with its path, below /."""
    command = [_dpkg_deb(), "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    # since Debian 13, /lib is a link to /usr/lib
                    path = member.name.removeprefix("./").replace("usr/lib/", "lib/", 1)
                    if _is_wanted(path) and (content := archive.extractfile(member)):
                        yield path, content.read()
        except tarfile.TarError as error:
            process.kill()
            said = process.stderr.read().decode(errors="replace").strip() or error
            raise MptcplabError(f"{package}: cannot be unpacked: {said}") from error


def _plain(path: str, content: bytes, ending: str) -> bytes:
    """A module without its compression, which `ending` names: the end of its file's name."""
    try:
        return _PLAIN[ending](content)
    except (lzma.LZMAError, OSError, EOFError, zlib.error, subprocess.CalledProcessError) as error:
        raise MptcplabError(f"{path}: cannot be unpacked: {error}") from error


def _unzstd(content: bytes) -> bytes:
    program = doctor.require_tool("zstd", "zstd")
    command = [program, "--decompress", "--stdout"]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


_PLAIN: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".xz": lzma.decompress,
    ".gz": gzip.decompress,
    ".zst": _unzstd,
}
