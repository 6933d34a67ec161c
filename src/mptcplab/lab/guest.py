# SPDX-License-Identifier: GPL-2.0-only
"""Builds the program that runs inside the guest: it compiles in a second, once per source.

A wheel brings it along: prebuilt.py.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab import files, resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import doctor, prebuilt
from mptcplab.lab.kernel import compiler_version

# The places of headers: the programs' own, and those that the kernel shares with programs.
_HEADERS = (resources.GUEST, resources.UAPI)
#: Programs include them as `"NAME.h"` and `"uapi/NAME.h"`.
INCLUDES = (f"-I{resources.GUEST}", f"-I{resources.UAPI.parent}")
#: The compiler's flags for all programs.
FLAGS = ("-O3", "-std=gnu17", "-static", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class Guest:
    """A built guest program. `id` is a hash of its sources, headers, flags and compiler."""

    id: str
    program: Path


def build(directory: Path = resources.GUEST, compiler: str = "gcc") -> Guest:
    """The guest program for the present sources: it came with the package, is in the cache, or is
    compiled now.

    `directory` may be a subdirectory with another program that runs inside, and `compiler` one for
    another architecture. Raises MachineError if there is no compiler or no static C library, and
    MptcplabError, with the compiler's output, if it does not compile, or if it cannot be put into
    the cache.
    """
    sources = sorted(directory.glob("*.c"))
    headers = {file for place in (directory, *_HEADERS) for file in place.glob("*.h")}
    inputs = (*sources, *sorted(headers))
    came = prebuilt.came() if compiler == "gcc" else None
    if came is not None and _id(came.compiler, inputs) == came.guest:
        return Guest(came.guest, came.file(prebuilt.GUEST))
    guest = _kept(_id(compiler_version(compiler), inputs))
    if not guest.program.exists():
        if compiler == "gcc":
            doctor.require("gcc", "libc")
        try:
            _compile(compiler, sources, guest.program)
        except OSError as error:
            raise MptcplabError(f"the guest program cannot be built: {error}") from None
    return guest


def _kept(identity: str) -> Guest:
    return Guest(identity, doctor.cache_dir() / "guest" / identity)


def of_id(identity: str, option: str) -> Guest:
    """An old guest program, still in the cache: InputError if it is not."""
    found = _kept(identity)
    if not found.program.is_file():
        message = f"no guest program of this id is in the cache, {found.program.parent}"
        raise InputError([Problem(option, "", identity, message)])
    return found


def _id(compiler: str, files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for text in (compiler, *FLAGS):
        digest.update(text.encode() + b"\0")
    for file in files:
        name = f"{file.parent.name}/{file.name}"
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _compile(compiler: str, sources: list[Path], program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    with files.new_file(program) as made:
        command = [compiler, *FLAGS, *INCLUDES, "-o", str(made), *map(str, sources), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise MptcplabError(f"the guest program does not compile\n{result.stderr}")
        made.chmod(0o755)
