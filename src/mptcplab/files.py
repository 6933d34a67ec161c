# SPDX-License-Identifier: GPL-2.0-only
"""Files and directories that are there whole or not at all, whoever else writes them meanwhile.

What is to be there is made in a directory beside its place, `.partial-NAME-RANDOM`, and gets there
by one rename, or by an exchange with the directory that is there. Whoever makes something holds
that directory by a lock, which the system gives up for a process that dies: this tells what is
abandoned from what somebody is at. Such locks do not reach from one machine to another.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mptcplab.errors import MptcplabError

#: How the names of what is being made begin.
PARTIAL = ".partial-"

# A name has at most 255 bytes, and a character up to four.
_NAME_CHARACTERS = 50


def write(file: Path, content: bytes) -> None:
    """Write a file as a whole, or not at all; raises MptcplabError if that cannot be."""
    try:
        with new_file(file) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise MptcplabError(f"cannot write {file}: {error.strerror}") from error


@contextlib.contextmanager
def new_file(file: Path) -> Iterator[Path]:
    """Where to make a file, which takes its place at the end, also that of another one.

    If the body raises, the other one stays as it was. What is no file, such as /dev/stdout, is
    written to, not replaced. Raises OSError.
    """
    if _is_written_to(file):
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
            made = Path(name) / file.name
            yield made
            with made.open("rb") as source, file.open("wb") as target:
                shutil.copyfileobj(source, target)
        return
    remove_abandoned(file.parent, file.name)
    with beside(file) as directory:
        made = directory / file.name
        yield made
        made.replace(file)


@contextlib.contextmanager
def new_directory(place: Path) -> Iterator[Path]:
    """Where to make a directory, which takes its place at the end, also that of another one.

    If the body raises, the other one stays as it was. Raises OSError.
    """
    remove_abandoned(place.parent, place.name)
    with beside(place) as directory:
        made = directory / place.name
        made.mkdir()
        yield made
        with locked(place.parent):
            put(made, place)


@contextlib.contextmanager
def beside(place: Path) -> Iterator[Path]:
    """An empty directory beside a place, held as long as it is used; what is left in it is removed.

    It, or what was made in it, gets to its place by a rename, or by `put`. Raises OSError.
    """
    with contextlib.ExitStack() as stack:
        made = None
        # who removes what is abandoned may come before it is held
        while made is None or not made.exists():
            made = Path(tempfile.mkdtemp(prefix=_prefix(place.name), dir=place.parent))
            with contextlib.suppress(FileNotFoundError):
                stack.enter_context(_held(made, wait=True))
        try:
            yield made
        finally:
            with contextlib.suppress(OSError):
                remove(made)


def put(directory: Path, place: Path) -> None:
    """Give a directory its place; if another one is there, the two are exchanged.

    There is no moment at which none is there, unless the file system cannot exchange. Whoever else
    puts something there must wait: see `locked`. Raises OSError.
    """
    try:
        directory.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _exchange(directory, place)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Wait until nobody else has this directory locked, and keep it locked. Raises OSError.

    It hinders nobody who does not ask for it.
    """
    with _held(directory.resolve(), wait=True):
        yield


def remove_abandoned(directory: Path, name: str = "") -> None:
    """Remove what dead processes have left that were making something, or what is called so."""
    prefix = _prefix(name) if name else PARTIAL
    with contextlib.suppress(OSError):
        for each in os.listdir(directory):
            if each.startswith(prefix):
                with contextlib.suppress(OSError), _held(directory / each, wait=False):
                    remove(directory / each)


def remove(directory: Path) -> None:
    """Remove a directory and all that is in it, whatever a guest has made of it.

    Links are not followed, rights do not matter, and depth neither: what is in the directories of
    `directory` is moved up into it. Raises OSError.
    """
    directory.chmod(0o700)
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        names = _unlink_files(number)
        while names:
            name = names.pop()
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=number)
            try:
                for child in _unlink_files(below):
                    moved = secrets.token_hex(16)  # nothing there has that name
                    os.rename(child, moved, src_dir_fd=below, dst_dir_fd=number)
                    names.append(moved)
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=number)
    finally:
        os.close(number)
    directory.rmdir()


def _prefix(name: str) -> str:
    return f"{PARTIAL}{name[:_NAME_CHARACTERS]}-"


def _is_written_to(file: Path) -> bool:
    """A device, or a name such as /dev/stdout, which may lead to a file, and stays."""
    parent = file.parent.resolve()
    # what /dev/fd leads to is in /proc
    named = parent == Path("/dev") or parent.is_relative_to("/proc")
    return named or (file.exists() and not file.is_file())


def _unlink_files(directory: int) -> list[str]:
    """Unlink all that is no directory, and give the names of those, which are made accessible."""
    directories = []
    for name in os.listdir(directory):
        try:
            os.unlink(name, dir_fd=directory)
        except IsADirectoryError:
            # opening and moving it need that
            os.chmod(name, 0o700, dir_fd=directory)
            directories.append(name)
    return directories


@contextlib.contextmanager
def _held(directory: Path, *, wait: bool) -> Iterator[None]:
    """Hold a directory against others; raises OSError if it is held, or not there any more."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(number)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two directories, as renameat2(2) does, which Python has no function for."""
    libc = ctypes.CDLL(None, use_errno=True)
    at_cwd, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <fcntl.h> and <stdio.h>
    if libc.renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange) == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        raise OSError(number, os.strerror(number), str(one), None, str(other))
    # NFS, for example
    aside = one.with_name(f"{one.name}-old")
    other.rename(aside)
    one.rename(other)
    with contextlib.suppress(OSError):
        remove(aside)
