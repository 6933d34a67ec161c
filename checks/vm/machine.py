# SPDX-License-Identifier: GPL-2.0-only
"""What a virtual machine is made of: kernels and programs of a Debian tree, and our modules.

The tree is `cache_dir()/vm/tree`, from `make setup-vm`: Debian 13 with its kernel, that of the
backports, their headers and compiler. Modules are built inside it from the files of the package,
and kept in `cache_dir()/vm/modules/ID`.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mptcplab import files, resources
from mptcplab.errors import MachineError, MptcplabError
from mptcplab.lab import doctor, guest, package, stock_machine

SETUP = "make setup-vm"
INIT = Path(__file__).with_name("init.sh")
# What init.sh calls.
_PROGRAMS = ("bash", "cat", "grep", "insmod", "ip", "mount", "rmmod", "sleep", "tc")
_MODULES = ("veth", "sch_netem")
# In a namespace of its own, whose mounts end with it; a user is root there.
_ENTER = """\
mount --rbind /dev "$0/dev"
mount --rbind /proc "$0/proc"
mount --rbind "$1" "$0/mnt"
exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin "${@:2}"
"""


@dataclass(frozen=True)
class Parts:
    """A kernel of a series, and the files of its machines; `id` is a hash of all of them."""

    id: str
    release: str
    image: Path
    files: Mapping[str, bytes]
    programs: Mapping[str, bytes]

    def initramfs(self, given: Mapping[str, str]) -> bytes:
        """With further files, by their paths."""
        texts = {name: text.encode() for name, text in given.items()}
        return stock_machine.initramfs(INIT.read_bytes(), {**self.files, **texts}, self.programs)


def tree() -> Path:
    """The tree. Raises MachineError, naming the command that makes it, if there is none."""
    found = doctor.cache_dir() / "vm" / "tree"
    if not found.is_dir():
        raise MachineError(f"Debian with its kernels: no {found}", SETUP)
    return found


def require(at_a_time: int = 1) -> None:
    """Raises MachineError, with the remedy, if this machine cannot run `at_a_time` of them."""
    tree()
    stock_machine.require(at_a_time)


def release(series: str) -> str:
    """The newest kernel of a series in the tree. Raises MachineError if there is none."""
    images = (tree() / "boot").glob(f"vmlinuz-{series}.*")
    found = [image.name.removeprefix("vmlinuz-") for image in images]
    if not found:
        raise MachineError(f"no kernel of the series {series} in {tree()}", SETUP)
    return max(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])


def image(name: str) -> Path:
    """The image of a release."""
    return tree() / "boot" / f"vmlinuz-{name}"


def debian_modules(name: str, modules: Iterable[str]) -> dict[str, bytes]:
    """Modules of a release, as files of a machine."""
    lower = tree() / "lib/modules" / name / "kernel"
    packed = {each: next(lower.rglob(f"{each}.ko.xz")) for each in modules}
    return {f"modules/{each}.ko": lzma.decompress(at.read_bytes()) for each, at in packed.items()}


def parts(series: str) -> Parts:
    """Raises MachineError if something is missing, MptcplabError if modules do not compile."""
    name = release(series)
    own, built = _modules(name, image(name))
    built |= debian_modules(name, _MODULES)
    programs = user_space(_PROGRAMS)
    programs["connections"] = guest.build(resources.GUEST / "torture").program.read_bytes()
    digest = hashlib.sha256(f"{own}\0{name}\0".encode())
    for content in (INIT.read_bytes(), *built.values(), *programs.values()):
        digest.update(hashlib.sha256(content).digest())
    return Parts(digest.hexdigest()[:12], name, image(name), built, programs)


def _modules(name: str, image: Path) -> tuple[str, dict[str, bytes]]:
    """The id and the files of our modules for a kernel, which are built if they are not there.

    The id is a hash of the package's files and the kernel's image: the same source need not give
    the same bytes twice.
    """
    with _package() as source:
        inputs = sorted(file for file in source.rglob("*") if file.is_file())
        digest = hashlib.sha256(hashlib.sha256(image.read_bytes()).digest())
        for file in inputs:
            digest.update(f"\0{file.relative_to(source)}\0".encode() + file.read_bytes())
        identity = digest.hexdigest()[:12]
        place = doctor.cache_dir() / "vm" / "modules" / identity
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            # no debug information, which would take half of the time, and go from the modules again
            kernel = (f"KVER={name}", f"KDIR=/lib/modules/{name}/build")
            faster = ("KCFLAGS=-g0", "CONFIG_DEBUG_INFO_BTF_MODULES=")
            _inside("make", "-C", "/mnt", "-j2", *kernel, *faster, at=source)
            with files.new_directory(place) as part:
                for module in source.glob("*.ko"):
                    (part / module.name).write_bytes(module.read_bytes())
    return identity, {f"modules/{ko.name}": ko.read_bytes() for ko in sorted(place.glob("*.ko"))}


@contextmanager
def _package() -> Iterator[Path]:
    """The files of the package, which DKMS gets."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        _call("dpkg-deb", "-x", str(package.make(Path(name))), name)
        (source,) = (Path(name) / "usr/src").iterdir()
        yield source


def user_space(programs: Iterable[str]) -> dict[str, bytes]:
    """Programs of the tree, in /bin, and the libraries that they need."""
    places = [next((tree() / "usr").glob(f"*bin/{name}")) for name in programs]
    names = [f"/{place.relative_to(tree())}" for place in places]
    libraries = set(re.findall(r"(/\S+) \(0x", _inside("ldd", *names, at=INIT.parent)))
    found = {f"bin/{place.name}": place.read_bytes() for place in places}
    return found | {name[1:]: (tree() / name[1:]).read_bytes() for name in sorted(libraries)}


def _inside(*command: str, at: Path) -> str:
    """What a command in the tree has printed; a directory of the host is its /mnt. Raises
    MptcplabError if it fails.
    """
    enter = ("unshare", "--map-root-user", "--mount", "bash", "-euc", _ENTER, str(tree()), str(at))
    return _call(*enter, *command)


def _call(*command: str) -> str:
    """What a command has printed. Raises MptcplabError, with its last lines, if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-3000:]
        raise MptcplabError(f"{command[0]} ended with status {done.returncode}: {said}")
    return done.stdout
