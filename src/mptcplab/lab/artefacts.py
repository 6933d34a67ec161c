# SPDX-License-Identifier: GPL-2.0-only
"""Files that a run needs besides the Python package, on their way to another machine.

That machine has no compiler and no kernel source: builds, modules and traces are sent to it and
kept below `cache_dir()/artefacts`, each under the SHA-256 of its content, which is verified when it
arrives.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from mptcplab import files
from mptcplab.errors import MptcplabError
from mptcplab.lab import doctor

# The kernel is 10 MB, and a third of that compressed; more effort would save a tenth.
_EFFORT = 6


class ArtefactError(MptcplabError):
    """A file that was sent is missing, or arrived broken."""


@dataclass(frozen=True)
class Artefact:
    """A file, identified by its content; `name` is its name in messages."""

    name: str
    sha256: str

    @property
    def file(self) -> Path:
        """Where this machine keeps it, or would keep it."""
        return doctor.cache_dir() / "artefacts" / self.sha256


def pack(name: str, file: Path) -> tuple[Artefact, bytes]:
    """A file compressed for sending; raises MptcplabError if it cannot be read."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise MptcplabError(f"{file}: cannot be read: {error.strerror}") from error
    return Artefact(name, hashlib.sha256(content).hexdigest()), zlib.compress(content, _EFFORT)


def place(artefact: Artefact, packed: bytes) -> None:
    """Keep a file that was sent, whole or not at all, in place of any other.

    Raises ArtefactError if it differs from the sent file, or cannot be kept.
    """
    try:
        content = zlib.decompress(packed)
    except zlib.error as error:
        raise ArtefactError(f"{artefact.name} arrived broken: {error}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != artefact.sha256:
        raise ArtefactError(
            f"{artefact.name} arrived broken: its SHA-256 is {found[:12]}..., and the sent file's "
            f"{artefact.sha256[:12]}..."
        )
    file = artefact.file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with files.new_file(file) as partial:
            partial.write_bytes(content)
            # builds are programs: the group and others may run them where a cache is shared
            partial.chmod(0o755)
    except OSError as error:
        raise ArtefactError(
            f"{artefact.name} cannot be kept in {file.parent}: {error.strerror}"
        ) from error


def find(artefact: Artefact) -> Path:
    """The file of an artefact that was placed; raises ArtefactError if it is gone."""
    if not artefact.file.exists():
        raise ArtefactError(f"{artefact.name}: {artefact.file} is gone")
    return artefact.file
