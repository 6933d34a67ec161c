# SPDX-License-Identifier: GPL-2.0-only
"""The directory of a run on the host: the guest's part, and the files that the host takes from it.

Untrusted programs may run inside, and the guest can write to one directory of the host. It may
leave links to any other file, FIFOs that block whoever opens them, endless files, and trees too
deep for paths. The guest has a directory of its own, `guest`, in the run's; the host writes beside
it. The host takes only expected, plain files from the guest's, and removes everything else without
following links.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

#: The guest's own directory, in the run's; the kernel's process works in it.
GUEST = "guest"
#: The most files and directories in it. A run with 128 connections, both ends of which record
#: samples and decisions, and with 64 captures, has some 600.
MOST_ENTRIES = 4096


class RefusedError(Exception):
    """The guest has left something in its directory that the host refuses; the text names it."""


class TooLargeError(Exception):
    """The guest's directory contains more than it may."""


def make(directory: Path) -> Path:
    """Make the guest's directory in `directory`. Files already there are the guest's; they move.

    Raises OSError.
    """
    given = os.listdir(directory)
    guest = directory / GUEST
    guest.mkdir(mode=0o700)
    for name in given:
        (directory / name).rename(guest / name)
    return guest


def size(guest: Path) -> int:
    """The bytes of all files in the guest's directory, while it is at work there.

    Raises RefusedError if there are more than MOST_ENTRIES, or a directory cannot be read.
    """
    size_bytes, entries, directories = 0, 0, [str(guest)]
    while directories:
        try:
            with os.scandir(directories.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > MOST_ENTRIES:
                        raise RefusedError(f"more than {MOST_ENTRIES} files and directories")
                    with contextlib.suppress(FileNotFoundError):
                        size_bytes += entry.stat(follow_symlinks=False).st_size
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise RefusedError(f"directories that cannot be read ({error.strerror})") from error
    return size_bytes


def open_plain(directory: Path, name: str) -> BinaryIO | None:
    """A plain file of the guest, which may be at work, opened to read; None if it is not one.

    The type is checked without opening: opening a FIFO would block, and a device may do anything.
    """
    with contextlib.ExitStack() as stack:
        try:
            found = os.open(directory / name, os.O_PATH | os.O_NOFOLLOW)
            stack.callback(os.close, found)
            if not _is_plain(os.fstat(found)):
                return None
            # the same file that was checked
            return open(f"/proc/self/fd/{found}", "rb")
        except OSError:
            return None


def take(guest: Path, directory: Path, names: Iterable[str], most_bytes: int) -> None:
    """Move those files of these names that exist out of the guest's directory.

    The guest must have ended. The files then belong to this user, with the rights of files that
    this program writes. Raises RefusedError, TooLargeError if they have more than `most_bytes`
    together, and OSError.
    """
    there: dict[str, os.stat_result] = {}
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            there[name] = os.lstat(guest / name)
    for name, found in there.items():
        if not _is_plain(found):
            raise RefusedError(f"{name} is not a plain file with one name")
    if sum(found.st_size for found in there.values()) > most_bytes:
        raise TooLargeError
    for name, found in there.items():
        taken = directory / name
        (guest / name).rename(taken)
        if found.st_uid != os.geteuid():
            os.chown(taken, os.geteuid(), os.getegid())
        taken.chmod(0o644)


def _is_plain(found: os.stat_result) -> bool:
    """Whether the host takes a directory entry for a file of the guest."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
