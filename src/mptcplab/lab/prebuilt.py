# SPDX-License-Identifier: GPL-2.0-only
"""The programs that a wheel brings along: the lab kernel, the guest, and a kit for modules.

`resources.PREBUILT` has them, as checks/wheel.py puts them there:

- `kernel/{linux,config,build.json}`: as in the cache (kernel.py);
- `guest`: the guest program;
- `module-kit.tar.xz`: compiles the user's own schedulers (module_kit.py);
- `prebuilt.json`: the id and the compiler of each program, the kernel's version, and the SHA-256
  of each file.

An id identifies everything that a program was made from. The package has its own files among these:
they show, without compiler and kernel source, whether the program still belongs to the package.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mptcplab import resources

KERNEL: Final = "kernel/linux"
CONFIG: Final = "kernel/config"
BUILD: Final = "kernel/build.json"
GUEST: Final = "guest"
MODULE_KIT: Final = "module-kit.tar.xz"
FILES: Final = (KERNEL, CONFIG, BUILD, GUEST, MODULE_KIT)
#: A Prebuilt, as JSON.
ABOUT: Final = "prebuilt.json"


@dataclass(frozen=True)
class Prebuilt:
    """The programs that came with the package: their ids, digest and version of the kernel source,
    the compiler, and the SHA-256 of each of FILES.
    """

    kernel: str
    guest: str
    source: str
    version: str
    compiler: str
    sha256: Mapping[str, str]

    @property
    def kit_id(self) -> str:
        """A name for the unpacked MODULE_KIT."""
        return self.sha256[MODULE_KIT][:12]

    def file(self, name: str) -> Path:
        """One of FILES."""
        return resources.PREBUILT / name


@functools.cache
def came() -> Prebuilt | None:
    """The programs that came with the package; None in a clone, which builds its own."""
    file = resources.PREBUILT / ABOUT
    return Prebuilt(**json.loads(file.read_bytes())) if file.exists() else None
