# SPDX-License-Identifier: GPL-2.0-only
"""The guest's part of the directory of a run, whatever a guest has made of it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mptcplab import files
from mptcplab.lab import run_directory
from mptcplab.lab.run_directory import RefusedError, TooLargeError
from mptcplab.runs.store import Store


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path / "outside"
    made.mkdir(mode=0o750)
    (made / "file").write_text("as it was\n")
    return made


def is_as_it_was(outside: Path) -> bool:
    mode = stat.S_IMODE(outside.stat().st_mode)
    return mode == 0o750 and (outside / "file").read_text() == "as it was\n"


def test_what_is_for_the_guest_goes_to_where_it_writes(directory: Path) -> None:
    (directory / "client.in").write_text("text")
    (directory / "scripts").mkdir()
    guest = run_directory.make(directory)
    assert os.listdir(directory) == [guest.name]
    assert sorted(os.listdir(guest)) == ["client.in", "scripts"]
    assert stat.S_IMODE(guest.stat().st_mode) == 0o700


def bound_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(file))


NO_FILES: dict[str, Callable[[Path, Path], object]] = {
    "a symbolic link": lambda file, outside: file.symlink_to(outside / "file"),
    "a directory": lambda file, _outside: file.mkdir(),
    "a FIFO": lambda file, _outside: os.mkfifo(file),
    "a socket": lambda file, _outside: bound_socket(file),
    "a file with several names": lambda file, outside: file.hardlink_to(outside / "file"),
}


@pytest.mark.parametrize("what", NO_FILES)
def test_only_plain_files_are_taken_and_opened(directory: Path, outside: Path, what: str) -> None:
    guest = run_directory.make(directory)
    (guest / "good").write_text("text")
    NO_FILES[what](guest / "name", outside)
    assert run_directory.open_plain(guest, "name") is None
    with pytest.raises(RefusedError, match=r"^name is not a plain file with one name$"):
        run_directory.take(guest, directory, ["good", "name"], 100)
    assert os.listdir(directory) == [guest.name]
    run_directory.take(guest, directory, ["good", "missing"], 4)
    assert (directory / "good").read_text() == "text"
    files.remove(guest)
    assert os.listdir(directory) == ["good"]
    assert is_as_it_was(outside)


def test_a_plain_file_is_opened(directory: Path) -> None:
    (directory / "name").write_text("text")
    file = run_directory.open_plain(directory, "name")
    assert file
    with file:
        assert file.read() == b"text"
    assert run_directory.open_plain(directory, "missing") is None


def test_what_is_taken_has_a_size_and_rights(directory: Path) -> None:
    guest = run_directory.make(directory)
    for name in ("one", "two"):
        (guest / name).write_bytes(bytes(50))
        (guest / name).chmod(0o4777)
    with pytest.raises(TooLargeError):
        run_directory.take(guest, directory, ["one", "two"], 99)
    run_directory.take(guest, directory, ["one", "two"], 100)
    assert stat.S_IMODE((directory / "one").stat().st_mode) == 0o644


def test_the_size_is_that_of_all_files_and_not_of_what_links_lead_to(
    directory: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / "large").write_bytes(bytes(1 << 20))
    (directory / "below").mkdir()
    below = (directory / "below").stat().st_size
    for file in (directory / "one", directory / "below" / "two"):
        file.write_bytes(bytes(100_000))
    assert run_directory.size(directory) == below + 200_000
    (directory / "link").symlink_to(outside)
    assert run_directory.size(directory) == below + 200_000 + len(str(outside))
    monkeypatch.setattr(run_directory, "MOST_ENTRIES", 4)
    assert run_directory.size(directory) > 0
    (directory / "below" / "three").touch()
    with pytest.raises(RefusedError, match="more than 4 files and directories"):
        run_directory.size(directory)


def leave_a_deep_tree(top: Path, outside: Path) -> None:
    """Deeper than Python calls functions, and than paths are long, and without any rights."""
    number = os.open(top, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("directory", dir_fd=number)
        os.symlink(outside, "link", dir_fd=number)
        os.mkfifo("fifo", dir_fd=number)
        below = os.open("directory", os.O_RDONLY, dir_fd=number)
        os.fchmod(number, 0)
        os.close(number)
        number = below
    os.close(number)


def test_whatever_a_guest_leaves_can_be_removed(directory: Path, outside: Path) -> None:
    guest = run_directory.make(directory)
    leave_a_deep_tree(guest, outside)
    files.remove(guest)
    assert os.listdir(directory) == []
    assert is_as_it_was(outside)


def test_what_a_killed_process_left_of_a_run_is_removed(tmp_path: Path, outside: Path) -> None:
    store = Store(tmp_path / "out")
    abandoned = tmp_path / "out" / "runs" / ".partial-key-abcdefgh"
    (abandoned / run_directory.GUEST).mkdir(parents=True)
    leave_a_deep_tree(abandoned / run_directory.GUEST, outside)
    store.remove_abandoned()
    assert not abandoned.exists()
    assert is_as_it_was(outside)
