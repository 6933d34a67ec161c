# SPDX-License-Identifier: GPL-2.0-only
"""Modules for a kernel that was not built here, with gcc and ld alone.

A kit has the inputs of make for a module: the headers that mpsched.h includes, and the kernel's
own, the commands with their flags, the symbols of the kernel, and the linker's script. It is made
from the objects of a kernel. With it, the same compiler makes the same module as make does
(tests/kernel/test_wheel.py).

A kit is an archive, of `src` and `obj` (headers, as they lie in source and objects) and `kit.json`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from mptcplab.errors import MptcplabError
from mptcplab.files import new_directory, new_file
from mptcplab.lab import kernel_module
from mptcplab.lab.kernel_make import Make
from mptcplab.lab.kernel_module import Scheduler
from mptcplab.lab.kernel_tree import OWN_DIRECTORY

# In place of the directories of the kit and of the module, and of the module's name.
_KIT, _MODULE, _NAME = "@KIT@", "@MODULE@", "@NAME@"
# The name of the module that a kit is made with: no other word of a command has it.
_EXAMPLE = "kit_example"
_COMMON = "module-common.o"
# Licences of modules that may use GPL-only symbols (include/linux/license.h).
_FREE = {
    *("GPL", "GPL v2", "GPL and additional rights"),
    *("Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"),
}


@dataclass(frozen=True)
class _Recipe:
    """The commands for NAME.c, NAME.mod.c and NAME.ko, the text of NAME.mod.c, and the kernel's
    symbols: whether each is for free modules only.
    """

    module: Sequence[str]
    about: Sequence[str]
    link: Sequence[str]
    about_text: str
    symbols: Mapping[str, bool]


def make_kit(make: Make, example: Path, schedulers: Iterable[Path], target: Path) -> None:
    """Makes the archive `target` from the objects of a kernel; compiles the scheduler `example`.

    The headers are those that it, and `schedulers`, include.
    """
    text = example.read_text().replace(example.stem, _EXAMPLE).encode()
    directory = kernel_module.prepare(make, Scheduler(_EXAMPLE, example, text))
    make.module(directory)
    module, about, link = (
        _command(make, directory, f".{_EXAMPLE}.{each}.cmd") for each in ("o", "mod.o", "ko")
    )
    recipe = _Recipe(
        module,
        about,
        # a warning about segments, which a module has none of; old linkers do not know it
        [word for word in link if word != "--no-warn-rwx-segments"],
        (directory / f"{_EXAMPLE}.mod.c").read_text(),
        {
            words[1]: words[3].endswith("_GPL")
            for line in (make.obj / "Module.symvers").read_text().splitlines()
            if len(words := line.split("\t")) > 3
        },
    )
    script = make.obj / "scripts" / "module.lds"
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name, new_file(target) as part:
        kit = Path(name)
        for file in (*_headers(make, directory, recipe, schedulers), script):
            if file.is_relative_to(make.source):
                copy = kit / "src" / file.relative_to(make.source)
            else:
                copy = kit / "obj" / file.relative_to(make.obj)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        # the objects of modules share a part, which does not depend on the module
        shutil.copyfile(directory / f".{_COMMON}", kit / _COMMON)
        (kit / "kit.json").write_text(json.dumps(asdict(recipe), indent=1) + "\n")
        _pack(kit, part)


def unpack(archive: Path, place: Path) -> Path:
    """The kit in a directory, unpacked if it is not there. Raises MptcplabError if it cannot be."""
    if not place.exists():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with new_directory(place) as part, tarfile.open(archive) as packed:
                # Python 3.11.2, Debian 12's, does not know filters yet; the archive is our own
                packed.extraction_filter = getattr(tarfile, "data_filter", None)
                packed.extractall(part)
        except (OSError, tarfile.TarError) as error:
            raise MptcplabError(f"{archive} cannot be unpacked into {place}: {error}") from error
    return place


def compile(kit: Path, scheduler: Scheduler, target: Path) -> list[str]:
    """Makes the module `target`, whole or not at all; returns the compiler's warnings.

    Raises MptcplabError with the output of compiler or linker, or if the module registers no
    scheduler, has no licence, or uses symbols that the kernel lacks.
    """
    recipe = _Recipe(**json.loads((kit / "kit.json").read_bytes()))
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        directory = Path(name)
        kernel_module.write(directory, scheduler)
        (directory / f"{scheduler.name}.mod.c").write_text(recipe.about_text)
        shutil.copyfile(kit / _COMMON, directory / f".{_COMMON}")

        def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
            words = [_filled(word, kit, directory, scheduler.name) for word in command]
            return subprocess.run(
                words,
                cwd=kit / "obj",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "LC_ALL": "C"},
                check=False,
            )

        with ThreadPoolExecutor() as pool:
            compiled, about = pool.map(run, (recipe.module, recipe.about))
        own = {f"{kit}/src/{OWN_DIRECTORY}/": "kernel/mptcp/"}
        places = own | {f"{kit}/src/": "", f"{kit}/obj/": ""}

        def require(lines: Sequence[str]) -> None:
            if lines:
                raise kernel_module.failed(scheduler, "does not compile", lines)

        def said(done: subprocess.CompletedProcess[str]) -> list[str]:
            return kernel_module.said(done.stdout, directory, scheduler, places)

        for done in (compiled, about):
            if done.returncode:
                hint = [_HEADERS] if re.search(_NO_HEADER, done.stdout) else []
                require([*said(done), *hint])
        require(_wrong(directory / f"{scheduler.name}.o", scheduler, recipe.symbols))
        linked = run(recipe.link)
        if linked.returncode:
            require(said(linked))
        kernel_module.put(directory / f"{scheduler.name}.ko", scheduler, target, {})
        return said(compiled)


_NO_HEADER = r"fatal error: \S+: No such file or directory"
_HEADERS = (
    "mptcplab brings only the headers that mpsched.h includes; with a kernel built here you can use"
    " all: mptcplab kernel build --source ARCHIVE"
)


def _command(make: Make, directory: Path, note: str) -> list[str]:
    """A command that make ran, from its .cmd file, without what only make reads."""
    line = (directory / note).read_text().partition("\n")[0].partition(" := ")[2]
    words = [word for word in shlex.split(line) if not word.startswith("-Wp,-MMD")]
    places = {
        str(directory): _MODULE,
        str(make.obj): f"{_KIT}/obj",
        str(make.source): f"{_KIT}/src",
    }
    for path, short in (*places.items(), (_EXAMPLE, _NAME)):
        words = [word.replace(path, short) for word in words]
    return words


def _filled(word: str, kit: Path, directory: Path, name: str) -> str:
    return word.replace(_KIT, str(kit)).replace(_MODULE, str(directory)).replace(_NAME, name)


def _headers(
    make: Make, directory: Path, recipe: _Recipe, schedulers: Iterable[Path]
) -> list[Path]:
    """All headers that some schedulers, and make's addition to each module, include."""
    inputs = {f"{_MODULE}/{_NAME}.c", f"{_MODULE}/{_NAME}.mod.c"}
    words = iter(recipe.module)
    # -M names what would be included, and takes the commands of all files at once
    command = ["gcc", "-M"]
    next(words)
    for word in words:
        if word == "-o":
            next(words)
        elif word != "-c" and word not in inputs:
            command.append(word)
    places = {f"{_KIT}/obj": make.obj, f"{_KIT}/src": make.source, _MODULE: directory}
    for short, path in (*places.items(), (_NAME, _EXAMPLE)):
        command = [word.replace(short, str(path)) for word in command]
    own = [directory / f"{_EXAMPLE}.c", directory / f"{_EXAMPLE}.mod.c", *schedulers]
    done = subprocess.run(
        [*command, *map(str, own)], cwd=make.obj, capture_output=True, text=True, check=True
    )
    names = done.stdout.replace("\\\n", " ").split()
    files = {Path(os.path.normpath(make.obj / name)) for name in names if not name.endswith(":")}
    return sorted(
        file
        for file in files
        if file.suffix == ".h"
        and (file.is_relative_to(make.source) or file.is_relative_to(make.obj))
    )


def _wrong(compiled: Path, scheduler: Scheduler, symbols: Mapping[str, bool]) -> list[str]:
    """The findings of the kernel's own check of modules, in its words."""
    # its section begins wherever the one before it ends
    licence = re.search(rb"license=([^\0]*)\0", compiled.read_bytes())
    name = scheduler.name
    if licence is None:
        return [f"missing MODULE_LICENSE() in {name}.o"]
    used = [each for each in kernel_module.undefined(compiled) if each != "__this_module"]
    unknown = [f'"{each}" [{name}.ko] undefined!' for each in used if each not in symbols]
    if unknown or licence[1].decode(errors="replace") in _FREE:
        return unknown
    return [
        f"GPL-incompatible module {name}.ko uses GPL-only symbol '{each}'"
        for each in used
        if symbols[each]
    ]


def _pack(kit: Path, archive: Path) -> None:
    """The same files make the same archive."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        packed.add(kit, arcname=".", filter=plain)  # in the order of the names
