# SPDX-License-Identifier: GPL-2.0-only
"""What is made gets to its place whole, and what the dead leave behind goes."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mptcplab import files
from mptcplab.errors import MptcplabError

#: Makes a file or a directory as `files` has it, says so, and goes on after a line of input.
MAKER = """
import sys
from pathlib import Path
from mptcplab import files
place = Path(sys.argv[2])
with getattr(files, sys.argv[1])(place) as made:
    (made / "x" if made.is_dir() else made).write_text("half")
    print(made, flush=True)
    sys.stdin.readline()
"""


def maker(kind: str, place: Path) -> subprocess.Popen[str]:
    """A process that is making something."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKER, kind, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip()
    return process


def full(directory: Path, text: str) -> Path:
    directory.mkdir()
    (directory / "x").write_text(text)
    return directory


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


@pytest.mark.parametrize("kind", ["new_file", "new_directory"])
def test_files_of_dead_processes_go_and_of_living_ones_stay(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "it"
    with maker(kind, place) as dead, maker(kind, place) as living:
        assert len(names(tmp_path)) == 2
        dead.kill()
        assert dead.wait() == -signal.SIGKILL
        assert not place.exists()
        with getattr(files, kind)(place) as made:
            (made / "x" if made.is_dir() else made).write_text("mine")
        assert len(names(tmp_path)) == 2
        assert (place if place.is_file() else place / "x").read_text() == "mine"
        living.communicate("\n")
        assert living.returncode == 0
    # who ends last has the last word
    assert (place if place.is_file() else place / "x").read_text() == "half"
    assert names(tmp_path) == ["it"]


def test_what_others_are_making_stays(tmp_path: Path) -> None:
    for name in (".partial-other-0123abcd", ".partial-it-0123abcd", ".partially"):
        full(tmp_path / name, "half")
    files.write(tmp_path / "it", b"whole")
    assert names(tmp_path) == [".partial-other-0123abcd", ".partially", "it"]
    files.remove_abandoned(tmp_path)
    assert names(tmp_path) == [".partially", "it"]
    # a link is not followed to what is removed
    elsewhere = full(tmp_path / "elsewhere", "kept")
    (tmp_path / ".partial-it-0123abcd").symlink_to("elsewhere")
    files.write(tmp_path / "it", b"whole")
    files.remove_abandoned(tmp_path)
    assert (elsewhere / "x").read_text() == "kept"
    # a program may make the file anew, as linkers do: they remove what is there first
    with files.new_file(tmp_path / "it") as made:
        made.write_bytes(b"first")
        made.unlink()
        made.write_bytes(b"second")
        # nobody who makes the same takes it for abandoned
        files.write(tmp_path / "it", b"other")
    assert (tmp_path / "it").read_bytes() == b"second"


def test_a_link_in_place_of_a_directory_is_not_followed(tmp_path: Path) -> None:
    elsewhere = full(tmp_path / "elsewhere", "kept")
    (elsewhere / "x").chmod(0)
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        files.remove(tmp_path / "link")
    assert (elsewhere / "x").stat().st_mode & 0o777 == 0
    assert (tmp_path / "link").is_symlink()


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    files.write(tmp_path / "file", b"former")
    full(tmp_path / "directory", "former")

    def fail(kind: str, name: str) -> None:
        with getattr(files, kind)(tmp_path / name) as made:
            (made / "x" if made.is_dir() else made).write_text("new")
            raise RuntimeError

    for kind, name in (("new_file", "file"), ("new_directory", "directory")):
        with pytest.raises(RuntimeError):
            fail(kind, name)
    assert (tmp_path / "file").read_bytes() == b"former"
    assert (tmp_path / "directory" / "x").read_text() == "former"
    assert names(tmp_path) == ["directory", "file"]


def test_a_directory_at_its_place_starts_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", pytest.fail)
    with files.beside(tmp_path / "run") as directory:
        full(directory / "inside", "new")
        files.put(directory, tmp_path / "run")
    assert names(tmp_path) == ["run"]


def test_long_names_have_room(tmp_path: Path) -> None:
    name = "ä" * 127
    files.write(tmp_path / name, b"x")
    with pytest.raises(MptcplabError, match=r"cannot write .*File name too long"):
        files.write(tmp_path / (name + "ä"), b"x")
    assert names(tmp_path) == [name]


def test_modes_are_those_that_the_person_has_chosen(tmp_path: Path) -> None:
    former = os.umask(0o027)
    try:
        files.write(tmp_path / "file", b"x")
        with files.new_directory(tmp_path / "directory"):
            pass
    finally:
        os.umask(former)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("file", "directory")]
    assert modes == [0o640, 0o750]


def test_what_is_no_file_of_a_disk_is_written_to() -> None:
    """What /dev/stdout leads to, for example."""
    read, write = os.pipe()
    try:
        files.write(Path(f"/dev/fd/{write}"), b"through the pipe")
        assert os.read(read, 100) == b"through the pipe"
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("number", [None, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_directory_takes_the_place_of_a_full_one(
    number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file system exchanges nothing."""

    def refused(*_arguments: object) -> int:
        ctypes.set_errno(number or 0)
        return -1

    def library(*_arguments: object, **_options: object) -> SimpleNamespace:
        return SimpleNamespace(renameat2=refused)

    if number:
        monkeypatch.setattr(ctypes, "CDLL", library)
    new, place = full(tmp_path / "new", "new"), full(tmp_path / "place", "former")
    files.put(new, place)
    assert (place / "x").read_text() == "new"
    # the former one is left where the two were exchanged
    assert number or (new / "x").read_text() == "former"
    assert names(tmp_path) == (["place"] if number else ["new", "place"])


def test_what_cannot_be_put_there_is_reported(tmp_path: Path) -> None:
    new = full(tmp_path / "new", "new")
    with pytest.raises(FileNotFoundError):
        files.put(new, tmp_path / "nowhere" / "place")
    with pytest.raises(MptcplabError, match=r"cannot write .*/nowhere/it: No such file"):
        files.write(tmp_path / "nowhere" / "it", b"x")
    with pytest.raises(MptcplabError, match=r"cannot write .*/new: Is a directory"):
        files.write(new, b"x")
    assert names(tmp_path) == ["new"]


def test_only_what_will_be_replaced_makes_way(tmp_path: Path) -> None:
    file = tmp_path / "new" / "report.xml"
    files.make_way(file)
    file.write_text("a former one")
    files.make_way(file)
    assert os.listdir(file.parent) == []
    # as /dev/null and /dev/stdout, which files.write writes to
    os.mkfifo(tmp_path / "pipe")
    files.make_way(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(IsADirectoryError):
        files.make_way(file.parent)
