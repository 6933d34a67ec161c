# SPDX-License-Identifier: GPL-2.0-only
"""Runs packed as single objects, and records on storage that machines share.

The place is a URL for fsspec: a directory (`file:///share/runs`), or any scheme that fsspec or its
add-on packages support. A run's `archive.json` has the place and SHA-256 of its records.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import shutil
import stat
import tarfile
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mptcplab import extras
from mptcplab.errors import InputError, MachineError, MptcplabError, Problem

#: Takes the place of records that are kept elsewhere.
ARCHIVE = "archive.json"


def require(url: str) -> None:
    """Raises InputError if the URL is unusable, MachineError if a package is missing."""
    if "://" not in url:
        accepted = "accepted is a URL, such as file:///share/runs or s3://bucket/runs"
        raise InputError([Problem("--storage", "", url, f"not a URL; {accepted}")])
    with _reported(url):
        files, path = _at(url)
        files.makedirs(path, exist_ok=True)


def keep(url: str, name: str, content: bytes) -> dict[str, Any]:
    """Store something below a URL, whole or not at all; returns what `read` needs to get it back.

    Raises MptcplabError if it cannot be stored.
    """
    with _reported(url):
        files, path = _at(url)
        files.makedirs(path, exist_ok=True)
        # a crash may truncate a file, but a rename is atomic
        partial = f"{path}/.partial-{name}-{uuid.uuid4().hex[:8]}"
        try:
            files.pipe_file(partial, content)
            files.mv(partial, f"{path}/{name}")
        finally:
            with contextlib.suppress(OSError):
                if files.exists(partial):
                    files.rm_file(partial)
    return {
        "url": f"{url.rstrip('/')}/{name}",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def read(about: dict[str, Any]) -> bytes:
    """What was stored; raises MptcplabError if it is gone or has changed."""
    url = str(about["url"])
    with _reported(url):
        files, path = _at(url)
        content = bytes(files.cat_file(path))
    found = hashlib.sha256(content).hexdigest()
    if found != (stored := about["sha256"]):
        changed = (
            f"changed since it was stored: its SHA-256 is {found[:12]}..., not {stored[:12]}..."
        )
        raise MptcplabError(f"{url}: {changed}")
    return content


def pack(directory: Path) -> bytes:
    """The files of a run as a compressed tar; equal files give equal bytes.

    Regular files only: a link could point to any file of this machine.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for file in sorted(directory.rglob("*")):
            found = file.lstat()
            if stat.S_ISREG(found.st_mode):
                about = tarfile.TarInfo(str(file.relative_to(directory)))
                about.size = found.st_size
                with file.open("rb") as source:
                    tar.addfile(about, source)
    return gzip.compress(content.getvalue(), compresslevel=1, mtime=0)


def extract(packed: bytes, directory: Path, *, source: str) -> None:
    """Unpack an archive of `pack` into a directory, which must be empty.

    Whoever gives the user an output directory says where its archives are: `source`. Raises
    MptcplabError, after which the directory must be discarded, for a damaged archive, and anything
    `pack` does not make: a name outside the directory, a name twice, a link, a device.
    """
    # not extractall(): some Python 3.11 releases lack filters
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
            for member in tar:
                file = directory / member.name
                content = tar.extractfile(member) if member.isreg() else None
                if content is None or not file.resolve().is_relative_to(directory.resolve()):
                    raise ValueError(f"{member.name!r} is not a file of a run")
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as target:
                    shutil.copyfileobj(content, target)
    except (*_DAMAGED, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        accepted = "accepted are archives by mptcplab: the regular files of one run"
        raise MptcplabError(
            f"{source}: refused as the archive of a run: {error}; {accepted}"
        ) from None


# What the modules for archives raise.
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)


def _at(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    import fsspec

    files, path = fsspec.url_to_fs(url)
    return files, str(path)


@contextlib.contextmanager
def _reported(url: str) -> Iterator[None]:
    """Reports errors of a storage with its URL."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise extras.lacking("cluster", "storage", str(error.name)) from None
    except ImportError as error:  # a package for that kind of storage
        raise MachineError(f"{url}: {error}") from None
    except (OSError, ValueError) as error:
        raise MptcplabError(f"{url}: {error}") from None
