# SPDX-License-Identifier: GPL-2.0-only
"""Files and directories that appear whole or not at all, even with several writers.

Everything is made in a directory beside its destination, `.partial-NAME-RANDOM`, and moved there by
a single rename, or by an exchange with an existing directory. The process that makes it holds a
lock on the partial directory, which the system releases if the process dies: this distinguishes
abandoned directories from those in use. Such locks do not work across machines.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mptcplab.errors import MptcplabError

#: The prefix of partial directories.
PARTIAL = ".partial-"

# A name has at most 255 bytes, and a character up to four.
_NAME_CHARACTERS = 50


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all; raises MptcplabError if it cannot be written."""
    try:
        with new_file(file) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise MptcplabError(f"cannot write {file}: {error.strerror}") from error


@contextlib.contextmanager
def new_file(file: Path) -> Iterator[Path]:
    """Where to make a file, which is moved to its place at the end, replacing any former one.

    If the body raises, the former one stays as it was. Anything but a regular file, such as
    /dev/stdout, is written to, not replaced. Raises OSError.
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


def make_way(file: Path) -> None:
    """Remove a file that `new_file` will replace, so that nobody takes it for the new one.

    Its directory is made if need be. Raises OSError if a file could not be written there.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    if _is_written_to(file):
        return
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
    file.unlink(missing_ok=True)


@contextlib.contextmanager
def new_directory(place: Path) -> Iterator[Path]:
    """Where to make a directory, which is moved to its place at the end, replacing any former one.

    If the body raises, the former one stays as it was. Raises OSError.
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
    """An empty directory beside a place, locked while in use; what is left in it is removed.

    It, or its content, gets to its place by a rename or by `put`. Raises OSError.
    """
    with contextlib.ExitStack() as stack:
        made = None
        # a cleanup of abandoned directories may come before it is locked
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
    """Move a directory to its place; if there is one already, the two are exchanged.

    The place is never empty, unless the file system cannot exchange. Other writers must wait: see
    `locked`. Raises OSError.
    """
    try:
        directory.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _exchange(directory, place)


@contextlib.contextmanager
def locked(directory: Path, *, wait: bool = True) -> Iterator[None]:
    """Wait until nobody else has this directory locked, and keep it locked. Raises OSError.

    The lock is advisory. Without `wait`, raises BlockingIOError if somebody has.
    """
    with _held(directory.resolve(), wait=wait):
        yield


def remove_abandoned(directory: Path, name: str = "") -> None:
    """Remove the partial directories that dead processes have left, of all or of one name."""
    prefix = _prefix(name) if name else PARTIAL
    with contextlib.suppress(OSError):
        for each in os.listdir(directory):
            if each.startswith(prefix):
                with contextlib.suppress(OSError), _held(directory / each, wait=False):
                    remove(directory / each)


def remove(directory: Path) -> None:
    """Remove a directory and everything in it, whatever a guest has put there. Raises OSError.

    Links are not followed, and neither permissions nor depth matter.
    """
    try:
        shutil.rmtree(directory)
    except (OSError, RecursionError):
        # it is at its place by now, or somebody else has removed it
        if not os.path.lexists(directory):
            return
        # chmod would follow it
        if directory.is_symlink():
            raise
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            done = subprocess.run(
                [*command, "--", directory], stderr=subprocess.PIPE, text=True, check=False
            )
        if done.returncode:
            raise OSError(0, done.stderr.strip(), str(directory)) from None


def _prefix(name: str) -> str:
    return f"{PARTIAL}{name[:_NAME_CHARACTERS]}-"


def _is_written_to(file: Path) -> bool:
    """A device, or a name such as /dev/stdout, which may lead to a file; neither is replaced."""
    parent = file.parent.resolve()
    # what /dev/fd leads to is in /proc
    named = parent == Path("/dev") or parent.is_relative_to("/proc")
    return named or (file.exists() and not file.is_file())


@contextlib.contextmanager
def _held(directory: Path, *, wait: bool) -> Iterator[None]:
    """Lock a directory; raises OSError if it is locked already, or gone."""
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(number)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two directories by renameat2(2), for which Python has no function."""
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
