# SPDX-License-Identifier: GPL-2.0-only
"""Linux for several CPUs that looks for races, in three forms: `make smp-test`.

No User-Mode Linux, which has one CPU, but x86-64, of the source that the lab's kernel is built
from. Of the patches it has those of net/mptcp, which are in directories `mptcp`.

Below `kernel.place()`: `smp/ID/{bzImage,vmlinux,touched.json}`, a finished kernel; and a tree as
those of kernel.py, in which the kernels of a kind are made from the same objects in turn.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checks import qemu
from mptcplab import resources
from mptcplab.errors import MptcplabError
from mptcplab.files import new_directory
from mptcplab.lab import doctor, kernel
from mptcplab.lab.kernel_make import KCFLAGS, BuildProgress, Make
from mptcplab.lab.kernel_tree import (
    ORIGINALS,
    OWN_DIRECTORY,
    config_files,
    digests,
    patch,
    patch_files,
    read_patched,
    synchronise,
    write_json,
)

#: What a kernel looks for, and the fragments kernel/NAME.config that make it do so.
KINDS: Mapping[str, tuple[str, ...]] = {"kcsan": ("smp", "kcsan"), "kasan": ("smp", "debug")}
#: A kernel with our patches for MPTCP; one with the adapter, which needs none; and Linux alone.
FORMS = ("framework", "adapter", "unpatched")
#: A race in our code that is to be found: see docs/reliability.md.
PLANTED = resources.KERNEL / "planted-race.patch"

# The first one builds our files, all that the adapter needs.
_PATCHES, _ADAPTER = "mptcp", resources.KERNEL / "adapter.config"
# In the fragment `smp`: what a kernel without our patches does not know.
_OWN_OPTIONS = re.compile(rb"(?m)^CONFIG_MPTCP_LAB.*\n")
# In the fragment `debug`: on x86-64, objtool finds these ends when the kernel is built.
_NOT_ON_X86 = re.compile(rb"(?m)^CONFIG_UBSAN_UNREACHABLE=y\n")
# Line numbers for addresses in reports, and nothing else of what debuggers want. KCSAN looks at the
# network's accesses alone, which then come several times as fast; of all else it knows barriers.
_ARGUMENTS = (
    "ARCH=x86_64",
    f"KCFLAGS=-g1 {KCFLAGS}",
    "KCSAN_SANITIZE=$(if $(filter net/%,$(obj)/),y,n)",
    "KCSAN_INSTRUMENT_BARRIERS=$(if $(filter arch/% kernel/kcsan/%,$(obj)/),n,y)",
)
_IMAGE = "bzImage"
_TOUCHED = "touched.json"


@dataclass(frozen=True)
class SmpKernel:
    """A finished kernel of one of KINDS: the image that is booted, and its symbols.

    `form` is one of FORMS; with `planted` it has PLANTED. `touched` has the numbers of
    the lines that our patches changed or added, by file; those of our own files are not in it.
    """

    id: str
    kind: str
    form: str
    planted: bool
    image: Path
    symbols: Path

    @property
    def name(self) -> str:
        """As results call it."""
        form = "" if self.form == "framework" else f" {self.form}"
        return self.kind + form + " planted" * self.planted

    def touched(self) -> dict[str, list[int]]:
        """The lines that our patches touch."""
        return dict(json.loads((self.image.parent / _TOUCHED).read_text()))


def build(kind: str, form: str, *, planted: bool = False) -> SmpKernel:
    """Builds a kernel of one of KINDS and FORMS, unless it is built already.

    Raises MachineError if the machine lacks something, MptcplabError if the build fails.
    """
    doctor.require(*doctor.BUILD_CHECKS)
    source = kernel.Source.chosen()
    fragments = {
        f"{name}.config": _NOT_ON_X86.sub(b"", (resources.KERNEL / f"{name}.config").read_bytes())
        for name in KINDS[kind]
    }
    fragments |= {
        str(path.relative_to(resources.KERNEL)): path.read_bytes()
        for path in config_files(source.version)
    }
    files = [path for path in patch_files(source.version) if path.parent.name == _PATCHES]
    own = kernel.own_files()
    if form != "framework":
        fragments = {name: _OWN_OPTIONS.sub(b"", text) for name, text in fragments.items()}
        files, own = ([], {}) if form == "unpatched" else (files[:1], own)
    if form == "adapter":
        fragments[_ADAPTER.name] = _ADAPTER.read_bytes()
    patches = {path.name: path.read_bytes() for path in files}
    if planted:
        own = _with_race(own)
    inputs = [source.digest, *map(digests, (fragments, patches, own)), kernel.compiler_version()]
    text = json.dumps([*inputs, _ARGUMENTS], sort_keys=True)
    identity = hashlib.sha256(text.encode()).hexdigest()[:12]
    place = kernel.place() / "smp" / identity
    found = SmpKernel(identity, kind, form, planted, place / _IMAGE, place / "vmlinux")
    if found.image.exists():
        return found
    tree = kernel.place() / "trees" / f"{source.digest[:12]}-smp"
    with BuildProgress(quiet=False) as progress, kernel.building(tree, progress) as locks:
        source.lay_out(tree, progress, locks)
        progress.step("patch", f"{len(patches)} patches")
        patch(tree, patches, locks)
        synchronise(tree / "src" / OWN_DIRECTORY, own)
        make = Make(tree / "src", tree / kind, locks, _ARGUMENTS)
        built = qemu.compile_kernel(make, fragments, inputs, progress)
        place.parent.mkdir(parents=True, exist_ok=True)
        with new_directory(place) as part:
            shutil.copyfile(built, part / _IMAGE)
            shutil.copyfile(make.obj / "vmlinux", part / "vmlinux")
            write_json(part / _TOUCHED, touched_lines(tree))
    return found


def touched_lines(tree: Path) -> dict[str, list[int]]:
    """The lines of patched files in a tree that their originals do not have."""
    found = {}
    for name, existed in read_patched(tree).items():
        file, lines = tree / "src" / name, list[str]()
        if existed:
            lines = (tree / ORIGINALS / name).read_text().splitlines()
        now = file.read_text().splitlines() if file.exists() else []
        matcher = difflib.SequenceMatcher(None, lines, now, autojunk=False)
        found[name] = [
            number + 1
            for what, _, _, begin, end in matcher.get_opcodes()
            if what != "equal"
            for number in range(begin, end)
        ]
    return found


def _with_race(own: Mapping[str, bytes]) -> dict[str, bytes]:
    """Our files with PLANTED. Raises MptcplabError if it does not apply."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        synchronise(Path(name), own)
        done = subprocess.run(
            ["patch", "--strip=4", "--batch", "--forward", "--no-backup-if-mismatch"],
            cwd=name,
            input=PLANTED.read_bytes(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            raise MptcplabError(f"{PLANTED} does not apply\n{done.stdout.decode()}")
        return {each: (Path(name) / each).read_bytes() for each in own}
