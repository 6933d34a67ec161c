# SPDX-License-Identifier: GPL-2.0-only
"""Kernel sources that are commits of a git repository, in one tree of the cache for all of them.

The tree goes from commit to commit: a file is written only if its content changes, and the objects
of other files stay. Like every tree (kernel_tree.py), and in addition it has `files.json`, the
files of its commit. A file has no hash there if its content is unknown, since a checkout was
killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.files import new_directory
from mptcplab.lab import kernel_tree
from mptcplab.lab.git import LINK, PROGRAM, Repository

_FILES = "files.json"
# Neither the configuration nor the headers that most files include depend on these directories, but
# for Kconfig.
_COMPILED_ALONE = ("net/", "drivers/", "fs/", "mm/", "security/", "block/", "crypto/")


@dataclass(frozen=True)
class Commit:
    """A commit of a repository, by its hash."""

    repository: Repository
    id: str

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The files that a kernel can be built from, as `Repository.files` gives them."""
        found = self.repository.files(self.id)
        return {name: about for name, about in found.items() if kernel_tree.is_unpacked_name(name)}

    @property
    def digest(self) -> str:
        """A digest of their names and contents: commits that differ in others are one source."""
        return _digest(self.files)

    @property
    def configuring(self) -> str:
        """A digest of the files that the configuration and the common headers are made of."""
        return _digest(
            {
                name: about
                for name, about in self.files.items()
                if not name.startswith(_COMPILED_ALONE) or "/Kconfig" in name
            }
        )

    @cached_property
    def version(self) -> str:
        """The version in its Makefile. Raises SourceError if it is no kernel."""
        makefile = {name: about for name, about in self.files.items() if name == "Makefile"}
        text = b"".join(content for _, content in self.repository.contents(makefile))
        try:
            return kernel_tree.version_of(text.decode(errors="replace"), self.repository.path)
        except InputError as error:
            raise kernel_tree.SourceError(error.problems[0].message) from None


def is_checked_out(tree: Path) -> bool:
    """Whether a tree holds a commit: another then needs little time and space.

    A tree from the future does not count, as in `kernel_tree.is_unpacked`.
    """
    note = tree / _FILES
    return note.exists() and note.stat().st_mtime_ns <= kernel_tree.now_ns(tree)


def check_out(commit: Commit, tree: Path) -> None:
    """Makes `tree` hold the files of a commit, but for what patches change and our own files.

    It writes the original of a file that patches change: `kernel_tree.patch` has to follow. Raises
    InputError for a link that leads out of the source.
    """
    if not is_checked_out(tree):
        tree.parent.mkdir(parents=True, exist_ok=True)
        with new_directory(tree) as part:
            (part / "src").mkdir()
            kernel_tree.write_json(part / _FILES, {})
    present: dict[str, str] = json.loads((tree / _FILES).read_text())
    wanted = commit.files
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
    for name, content in commit.repository.contents(new):
        _write(place(name), new[name].split()[0], content)
    if any(about.startswith(LINK) for about in new.values()):
        kernel_tree.check_links(tree / "src", commit.repository.path)
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


def _digest(files: Mapping[str, str]) -> str:
    text = "".join(f"{name}\0{about}\n" for name, about in sorted(files.items()))
    return hashlib.sha256(os.fsencode(text)).hexdigest()
