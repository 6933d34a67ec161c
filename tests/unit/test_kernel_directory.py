# SPDX-License-Identifier: GPL-2.0-only
"""Kernels of a directory that somebody works in, with the `make` of test_kernel.py."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab import kernel, kernel_files
from tests.unit.test_kernel import SCHEDULER, Repository, repository

__all__ = ["repository"]

PROTOCOL = "source/net/mptcp/protocol.c"


def settle(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the source as if its files had been written long ago."""
    with monkeypatch.context() as patched:
        patched.setattr(kernel_files, "_TICK_NS", -(3600 * 10**9))
        kernel.current(source=repository.source)


def test_a_changed_file_is_compiled_and_nothing_else(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository.write("source/net/other.c", "other\n")
    repository.build()
    tree, calls = repository.tree.stat().st_ino, repository.calls()
    copy = repository.tree / "src/net/other.c"
    os.utime(copy, (1, 1))
    settle(repository, monkeypatch)
    repository.write(PROTOCOL, "one\ntwo\nthree\nfour\n")
    assert repository.build().image.read_text() == "one\nTWO\nthree\nfour\nprobe\n"
    # neither copied again nor configured again
    assert repository.tree.stat().st_ino == tree
    assert copy.stat().st_mtime == 1
    assert repository.calls() == [*calls, "linux"]
    # as it would be built at first
    other.unlink()
    built = repository.build()
    left = {path: path.read_bytes() for path in repository.tree.glob("src/**/*.c")}
    shutil.rmtree(repository.cache)
    assert repository.build() == built
    assert left == {path: path.read_bytes() for path in repository.tree.glob("src/**/*.c")}


def touch(repository: Repository) -> None:
    for path in repository.source.rglob("*"):
        os.utime(path)


def leave_things(repository: Repository) -> None:
    """Things that an editor, git, and a build in the directory leave there."""
    names = ("protocol.c~", ".protocol.c.swp", ".protocol.o.cmd", "protocol.o", "mptcp.mod.c")
    for name in (*(f"net/mptcp/{name}" for name in names), ".config", "Module.symvers"):
        repository.write(f"source/{name}", "left")
    repository.write("source/.git/HEAD", "ref: refs/heads/main")
    repository.write("source/include/generated/autoconf.h", "left")


def go_and_return(repository: Repository) -> None:
    """Another branch, built, and the first one again."""
    before = (repository.root / PROTOCOL).read_text()
    repository.write(PROTOCOL, "one\ntwo\nthree\nfour\n")
    repository.build()
    repository.write(PROTOCOL, before)


@pytest.mark.parametrize("change", [touch, leave_things, go_and_return])
def test_the_same_content_is_the_same_kernel(
    repository: Repository, change: Callable[[Repository], None]
) -> None:
    built = repository.build()
    change(repository)
    calls = repository.calls()
    assert repository.build() == built
    assert repository.calls() == calls


def test_a_file_with_the_size_and_time_of_before_is_noticed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, path = repository.build(), repository.root / PROTOCOL
    settle(repository, monkeypatch)
    before = path.stat()
    path.write_text("one\ntwo\nTHREE\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kernel.current(source=repository.source) != built


def test_files_that_have_settled_are_read_once(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.build()
    settle(repository, monkeypatch)
    repository.write(PROTOCOL, "one\ntwo\nthree\nfour\n")
    read: list[Path] = []
    real = kernel_files._mode_and_content

    def note(path: Path) -> tuple[str, bytes]:
        read.append(path)
        return real(path)

    monkeypatch.setattr(kernel_files, "_mode_and_content", note)
    kernel.current(source=repository.source)
    assert read == [repository.root / PROTOCOL]
    # it may be written once more within a tick of the clock
    kernel.current(source=repository.source)
    assert read == 2 * [repository.root / PROTOCOL]


@pytest.mark.parametrize(
    ("name", "configured"),
    [("net/mptcp/new.c", False), ("net/mptcp/Kconfig", True), ("include/net/mptcp.h", True)],
)
def test_it_is_configured_again_only_if_that_may_differ(
    repository: Repository, name: str, configured: bool
) -> None:
    repository.build()
    calls = repository.calls()
    repository.write(f"source/{name}", "new\n")
    repository.build()
    assert repository.calls() == [*calls, *configured * ["allnoconfig", "prepare"], "linux"]


def test_a_file_that_changes_during_the_build_is_named(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the kernel would have the id of other files."""
    repository.build()
    repository.write(PROTOCOL, "one\ntwo\nthree\nfour\n")
    check_out = kernel_files.check_out

    def change_first(source: kernel_files.Files, tree: Path) -> None:
        repository.write(PROTOCOL, "one\ntwo\nthree\nfive\n")
        check_out(source, tree)

    with monkeypatch.context() as patched:
        patched.setattr(kernel_files, "check_out", change_first)
        with pytest.raises(MptcplabError, match=r"protocol\.c has changed since the build began"):
            repository.build()
    assert "five" in repository.build().image.read_text()
    assert len(repository.finished()) == 2


def test_links_and_programs_stay_what_they_are(repository: Repository) -> None:
    program = repository.write("source/scripts/a.sh", "#!/bin/sh\n")
    program.chmod(0o755)
    (repository.source / "scripts/b.sh").symlink_to("a.sh")
    (repository.source / "also").symlink_to("scripts")
    repository.build()
    made = repository.tree / "src"
    assert made.joinpath("scripts/a.sh").stat().st_mode & 0o111
    assert os.readlink(made / "scripts/b.sh") == "a.sh"
    assert os.readlink(made / "also") == "scripts"
    # a link becomes a directory, and a directory a file
    (repository.source / "also").unlink()
    repository.write("source/also/c.sh", "c\n")
    shutil.rmtree(repository.source / "scripts")
    repository.write("source/scripts", "s\n")
    repository.build()
    assert (made / "also/c.sh").read_text() == "c\n"
    assert (made / "scripts").read_text() == "s\n"


def test_one_of_two_equal_directories_can_change(repository: Repository) -> None:
    """A kernel of both is then the other one's, for which modules are compiled."""
    other = repository.root / "other"
    shutil.copytree(repository.source, other)
    built = repository.build()
    assert kernel.build(other, quiet=True) == built
    repository.write(PROTOCOL, "one\ntwo\nthree\nfour\n")
    file = repository.write("mine.c", SCHEDULER)
    assert kernel.module(built, file, quiet=True).path.exists()
