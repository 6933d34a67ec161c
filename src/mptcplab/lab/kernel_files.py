# SPDX-License-Identifier: GPL-2.0-only
"""Kernel sources that are known file by file: a directory, or a commit of a git repository.

Their tree in the cache goes from one state to the next: a file is written only if its content
changes, and the objects of other files stay. All commits of a repository have one tree. Like every
tree (kernel_tree.py), and in addition it has `files.json`, the files of its state. A file has no
hash there if its content is unknown, since a checkout was killed.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self

from mptcplab.errors import InputError, MptcplabError
from mptcplab.files import new_directory, new_file
from mptcplab.lab import kernel_tree
from mptcplab.lab.git import FILE, LINK, PROGRAM, Repository

_FILES = "files.json"
# Neither the configuration nor the headers that most files include depend on these directories, but
# for Kconfig.
_COMPILED_ALONE = ("net/", "drivers/", "fs/", "mm/", "security/", "block/", "crypto/")


# Files that a directory has beside its source: hidden ones, an editor's, and those that a kernel
# built in it leaves. The kernel's own .gitignore has them, too.
_BESIDE_SOURCE = re.compile(
    "|".join(
        fnmatch.translate(each)
        for each in (
            *(".*", "*~", "#*#", "*.orig", "*.rej", "*.mod", "*.mod.c", "*.order", "*.symvers"),
            *("*.lex.c", "*.tab.[ch]", "System.map", "modules.builtin*", "vmlinux.unstripped"),
        )
    )
)
# The longest between two times of a file system. A file that is written twice meanwhile keeps its
# times: those of a file are trusted when they are older.
_TICK_NS = 2 * 10**9


class Files(Protocol):
    """The files of a source: by name, the mode and a hash of the content, "100644 HASH"."""

    @property
    def path(self) -> Path:
        """Where the files are, as the user knows it."""

    @property
    def files(self) -> Mapping[str, str]:
        """The files that a kernel can be built from."""

    def contents(self, files: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """The contents of some of them, one after the other.

        Raises MptcplabError if one is gone.
        """


def digest(files: Mapping[str, str]) -> str:
    """A digest of their names and contents: states that differ in other files are one source."""
    text = "".join(f"{name}\0{about}\n" for name, about in sorted(files.items()))
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def configuring(files: Mapping[str, str]) -> str:
    """A digest of the files that the configuration and the common headers are made of."""
    return digest(
        {
            name: about
            for name, about in files.items()
            if not name.startswith(_COMPILED_ALONE) or "/Kconfig" in name
        }
    )


@dataclass(frozen=True)
class Commit:
    """A commit of a repository, by its hash."""

    repository: Repository
    id: str

    @property
    def path(self) -> Path:
        return self.repository.path

    @cached_property
    def files(self) -> Mapping[str, str]:
        found = self.repository.files(self.id)
        return {name: about for name, about in found.items() if kernel_tree.is_unpacked_name(name)}

    def contents(self, files: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        return self.repository.contents(files)

    @cached_property
    def version(self) -> str:
        """The version in its Makefile. Raises SourceError if it is no kernel."""
        makefile = {name: about for name, about in self.files.items() if name == "Makefile"}
        text = b"".join(content for _, content in self.contents(makefile))
        try:
            return kernel_tree.version_of(text.decode(errors="replace"), self.repository.path)
        except InputError as error:
            raise kernel_tree.SourceError(error.problems[0].message) from None


@dataclass(frozen=True)
class Directory:
    """A directory as it was when it was read."""

    path: Path
    files: Mapping[str, str]

    @classmethod
    def read(cls, path: Path, note: Path) -> Self:
        """Reads the files whose size or times are not as in `note`, where it leaves the present
        ones: reading all takes a second, or many if the system has not read them before.
        """
        known: dict[str, list[str]] = {}
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(note.read_bytes())
        settled_ns = 0
        with contextlib.suppress(OSError):  # a read-only cache is used as it is
            note.parent.mkdir(parents=True, exist_ok=True)
            settled_ns = kernel_tree.now_ns(note.parent) - _TICK_NS
        files: dict[str, str] = {}
        seen: dict[str, list[str]] = {}
        for name, entry in _below(path, ""):
            about = entry.stat(follow_symlinks=False)
            stamp = f"{about.st_mode} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"
            kept = known.get(name)
            if is_known := kept is not None and kept[0] == stamp:
                files[name] = kept[1]
            else:
                files[name] = _mode_and_content(path / name)[0]
            if is_known or about.st_ctime_ns < settled_ns:
                seen[name] = [stamp, files[name]]
        if settled_ns and seen != known:
            with contextlib.suppress(OSError), new_file(note) as part:
                part.write_text(json.dumps(seen))
        return cls(path, files)

    def contents(self, files: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        for name, about in files.items():
            try:
                now, content = _mode_and_content(self.path / name)
            except FileNotFoundError:
                now = "gone"
            if now != about:
                raise MptcplabError(f"{self.path / name} has changed since the build began")
            yield name, content


def _below(place: Path, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files below a directory, without those that a kernel cannot be built from."""
    with os.scandir(place) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = prefix + entry.name
        if _BESIDE_SOURCE.match(entry.name) or not kernel_tree.is_unpacked_name(name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(place / entry.name, f"{name}/")
        elif entry.is_symlink() or entry.is_file():
            yield name, entry


def _mode_and_content(path: Path) -> tuple[str, bytes]:
    """The mode and hash of a file, as in `Files`, and its content."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        kind, content = LINK, os.fsencode(os.readlink(path))
    else:
        kind, content = PROGRAM if mode & stat.S_IXUSR else FILE, path.read_bytes()
    return f"{kind} {hashlib.sha256(content).hexdigest()}", content


def is_checked_out(tree: Path) -> bool:
    """Whether a tree holds some state of a source: another then needs little time and space.

    A tree from the future does not count, as in `kernel_tree.is_unpacked`.
    """
    note = tree / _FILES
    if not note.exists():
        return False
    there = [path for path in (note, tree / "src" / "Makefile") if path.exists()]
    return max(path.stat().st_mtime_ns for path in there) <= kernel_tree.now_ns(tree)


def check_out(source: Files, tree: Path) -> None:
    """Makes `tree` hold the files of a source, but for what patches change and our own files.

    It writes the original of a file that patches change: `kernel_tree.patch` has to follow. Raises
    InputError for a link that leads out of the source.
    """
    if not is_checked_out(tree):
        tree.parent.mkdir(parents=True, exist_ok=True)
        with new_directory(tree) as part:
            (part / "src").mkdir()
            kernel_tree.write_json(part / _FILES, {})
    present: dict[str, str] = json.loads((tree / _FILES).read_text())
    wanted = source.files
    changed = {name for name in {*present, *wanted} if present.get(name) != wanted.get(name)}
    if not changed:
        return
    kernel_tree.write_json(tree / _FILES, present | dict.fromkeys(changed, ""))
    patched = kernel_tree.read_patched(tree)

    def place(name: str) -> Path:
        return tree / (kernel_tree.ORIGINALS if name in patched else "src") / name

    for name in sorted(changed - wanted.keys()):
        _remove(place(name), tree)
    new = {name: about for name, about in wanted.items() if name in changed}
    for name, content in source.contents(new):
        _write(place(name), new[name].split()[0], content)
    if any(about.startswith(LINK) for about in new.values()):
        kernel_tree.check_links(tree / "src", source.path)
    if patched.keys() & changed:
        there = {name: name in wanted for name in patched.keys() & changed}
        kernel_tree.write_json(tree / kernel_tree.PATCHED, patched | there)
    kernel_tree.write_json(tree / _FILES, wanted)


def _remove(path: Path, tree: Path) -> None:
    """Removes a file, and the directories that are empty then.

    After a killed checkout something else may have its name, or a link its directory's: these stay.
    """
    directory = path.parent.relative_to(tree)
    if (tree / directory).resolve() != tree.resolve() / directory:
        return
    with contextlib.suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):
        path.unlink()
    with contextlib.suppress(OSError):  # where other files are left
        for parent in path.parents:
            if parent.parent == tree:
                break
            parent.rmdir()


def _write(path: Path, mode: str, content: bytes) -> None:
    if mode == LINK or path.is_symlink():
        path.unlink(missing_ok=True)
    if mode == LINK:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.fsdecode(content))
        return
    kernel_tree.write_if_changed(path, content)
    path.chmod(0o755 if mode == PROGRAM else 0o644)
