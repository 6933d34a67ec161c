# SPDX-License-Identifier: GPL-2.0-only
"""Records of runs that are kept elsewhere: on storage that machines share, one object per run.

Where that is, is a URL of fsspec's: a directory (`file:///share/runs`), or anything that it, or a
package beside it, knows. `archive.json` of a run says where its records are, and their SHA-256.
"""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from mptcplab.errors import InputError, MachineError, MptcplabError, Problem

#: What a run has instead of records that are kept elsewhere.
ARCHIVE = "archive.json"


def require(url: str) -> None:
    """Raises InputError if nothing can be kept at a URL, MachineError if a package is missing."""
    if "://" not in url:
        accepted = "accepted is a URL, such as file:///share/runs or s3://bucket/runs"
        raise InputError([Problem("--storage", "", url, f"no URL; {accepted}")])
    with _told(url):
        files, path = _at(url)
        files.makedirs(path, exist_ok=True)


def keep(url: str, name: str, content: bytes) -> dict[str, Any]:
    """Keep something below a URL, whole or not at all; gives what `read` needs to have it again.

    Raises MptcplabError if it cannot be kept.
    """
    with _told(url):
        files, path = _at(url)
        files.makedirs(path, exist_ok=True)
        # a file may be cut off when a machine dies; a rename is not
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
    """What was kept; raises MptcplabError if it is not there any more, or another thing."""
    url = str(about["url"])
    with _told(url):
        files, path = _at(url)
        content = bytes(files.cat_file(path))
    found = hashlib.sha256(content).hexdigest()
    if found != about["sha256"]:
        raise MptcplabError(
            f"mptcplab: {url}: not what was kept there: its SHA-256 is {found[:12]}..., that of "
            f"what was kept {about['sha256'][:12]}..."
        )
    return content


def _at(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    import fsspec

    files, path = fsspec.url_to_fs(url)
    return files, str(path)


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        what = f"storage needs fsspec, and there is no {error.name}"
        raise MachineError(what, "pip install 'mptcplab[cluster]'") from None
    except ImportError as error:  # a package for that kind of storage
        raise MachineError(f"{url}: {error}") from None
    except (OSError, ValueError) as error:
        raise MptcplabError(f"mptcplab: {url}: {error}") from None
