# SPDX-License-Identifier: GPL-2.0-only
"""The programs that a wheel brings along: the lab kernel and the guest, and what modules need.

`resources.PREBUILT` has them, as checks/wheel.py puts them there:

- `kernel/{linux,config,build.json}`: as in the cache (kernel.py);
- `guest`: the guest program;
- `module-kit.tar.xz`: what the user's own schedulers are compiled with (module_kit.py);
- `prebuilt.json`: the id and the compiler of each program, the kernel's version, and the SHA-256
  of each file.

An id identifies everything that a program was made from. The files of the package that go into it
are there: so it can be seen, without compiler and kernel source, whether they still are what the
program was made from.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mptcplab import resources
from mptcplab.errors import MptcplabError

KERNEL: Final = "kernel/linux"
CONFIG: Final = "kernel/config"
BUILD: Final = "kernel/build.json"
GUEST: Final = "guest"
MODULE_KIT: Final = "module-kit.tar.xz"
FILES: Final = (KERNEL, CONFIG, BUILD, GUEST, MODULE_KIT)
_ABOUT: Final = "prebuilt.json"


@dataclass(frozen=True)
class Prebuilt:
    """What came with the package: ids, digest and version of the kernel source, the compiler."""

    kernel: str
    guest: str
    source: str
    version: str
    compiler: str
    sha256: Mapping[str, str]

    def file(self, name: str) -> Path:
        """One of FILES. Raises MptcplabError if it is not what came with the package."""
        path = resources.PREBUILT / name
        if digest(path) != self.sha256[name]:
            raise MptcplabError(
                f"{path} is not what came with mptcplab: its SHA-256 differs; install it again"
            )
        return path


@functools.cache
def came() -> Prebuilt | None:
    """What came with the package; None in a clone, which builds its own.

    Raises MptcplabError if it is damaged.
    """
    file = resources.PREBUILT / _ABOUT
    if not file.exists():
        return None
    try:
        return Prebuilt(**json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise MptcplabError(f"{file}: cannot be read; install mptcplab again") from error


def write(
    directory: Path, kernel: str, guest: str, source: str, version: str, compiler: str
) -> None:
    """Describe the FILES in a directory, for `came`."""
    about = {
        "kernel": kernel,
        "guest": guest,
        "source": source,
        "version": version,
        "compiler": compiler,
        "sha256": {name: digest(directory / name) for name in FILES},
    }
    (directory / _ABOUT).write_text(json.dumps(about, indent=1) + "\n")


def digest(path: Path) -> str:
    """SHA-256; "" if there is no such file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
