# SPDX-License-Identifier: GPL-2.0-only
"""What cannot be written: it is told, without a traceback, and no half of it is there."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mptcplab import cli
from mptcplab.errors import MptcplabError
from mptcplab.report import comparison_chart
from mptcplab.runs import store
from mptcplab.scenario import scheduler
from mptcplab.traces import radio
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW
from tests.unit.test_chart import charted

FULL = Path("/dev/full")
Called = Callable[..., tuple[int, str]]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Called:
    """Calls the program, with standard output into a file; gives its status, and what it told."""

    def call(output: Path, *arguments: str, encoding: str = "utf-8") -> tuple[int, str]:
        told = tmp_path / "told"
        with output.open("w", encoding=encoding) as out, told.open("w", encoding="utf-8") as err:
            monkeypatch.setattr(sys, "argv", ["mptcplab", *arguments])
            monkeypatch.setattr(sys, "stdout", out)
            monkeypatch.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as end:
                cli.main()
            monkeypatch.undo()
        return int(end.value.code or 0), told.read_text(errors="surrogateescape")

    return call


@contextmanager
def room(count_bytes: int) -> Iterator[None]:
    """No file can be larger than this, as if a disk were full then."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python itself has it
    resource.setrlimit(resource.RLIMIT_FSIZE, (count_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, former)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    stored.keep(tmp_path / "out", stored.scenario(), FAST, SLOW)
    return tmp_path / "out"


@pytest.mark.parametrize(
    "arguments",
    [
        *("results list", "results query FROM\truns --json", "results query FROM\truns --csv"),
        *("show --out pictures OUT", "scheduler list", "scenario schema", "--help"),
        "run --path a:1mbit,1ms --plan",
    ],
)
def test_a_full_disk_behind_standard_output_is_told(
    arguments: str, called: Called, run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [str(run) if word == "OUT" else word for word in arguments.split(" ")]
    if words[0] == "results":
        words += ["--out", str(run)]
    assert called(FULL, *words) == (1, "mptcplab: standard output: No space left on device\n")


def test_names_are_printed_as_bytes_and_unknown_characters_as_numbers(
    called: Called, run: Path, tmp_path: Path
) -> None:
    place = tmp_path / os.fsdecode(b"\xff\xd0\x91")
    shown = tmp_path / "shown"
    assert called(shown, "show", str(run), "--out", str(place)) == (0, "")
    assert os.fsencode(place) in shown.read_bytes()
    assert called(shown, "show", str(run), "--out", str(place), encoding="latin-1") == (0, "")
    assert b"/\xff\\u0411/" in shown.read_bytes()
    status, told = called(shown, "run", "--path", os.fsdecode(b"a:trace=\xff.csv"), "--plan")
    assert status == 2
    assert r'path.a.trace = "\udcff.csv": not UTF-8 text' in told


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(FULL)
    with pytest.raises(MptcplabError, match="link: No space left on device"):
        store.write(tmp_path / "link", b"x")
    (tmp_path / "null").symlink_to("/dev/null")
    store.write(tmp_path / "null", b"x")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "link", tmp_path / "null"]
    assert (tmp_path / "null").is_symlink()


def test_nothing_is_left_of_what_a_full_disk_has_no_room_for(tmp_path: Path) -> None:
    made = charted(tmp_path)
    drive, own = tmp_path / "drive", tmp_path / "own"
    own.mkdir()
    writers: list[Callable[[], object]] = [
        lambda: comparison_chart.write_chart(made, tmp_path),
        lambda: radio.write_scenario(radio.Drive(), 1, drive),
        lambda: scheduler.new("own", own, {}),
    ]
    # a picture, a trace and a scheduler are larger
    with room(2000):
        for write in writers:
            with pytest.raises(MptcplabError, match=r"cannot write .*: File too large"):
                write()
    left = (place.iterdir() for place in (tmp_path, drive, own))
    assert [each for each in itertools.chain(*left) if each.is_file()] == []


def test_a_picture_without_room_on_the_disk_leaves_no_half(
    called: Called, run: Path, tmp_path: Path
) -> None:
    """Room for the table and half of the picture."""
    place = tmp_path / "pictures"
    assert called(Path("/dev/null"), "show", str(run), "--out", str(place)) == (0, "")
    (whole,) = place.iterdir()
    size, content = whole.stat().st_size, whole.read_bytes()
    for left in (content, None):
        with room(size // 2):
            status, told = called(Path("/dev/null"), "show", str(run), "--out", str(place))
        assert (status, told) == (1, f"mptcplab: cannot write {whole}: File too large\n")
        assert [each.read_bytes() for each in place.iterdir()] == ([left] if left else [])
        whole.unlink(missing_ok=True)


@pytest.mark.parametrize("arguments", ["results list --json", "results query --csv FROM~runs"])
def test_a_reader_that_leaves_is_no_error_that_is_told(arguments: str, run: Path) -> None:
    words = [*(word.replace("~", " ") for word in arguments.split()), "--out", str(run)]
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "mptcplab", *words]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        *(("run --path a:\udcff,1ms --plan", 2), ("run --path a:1mbit,1ms --seed \udcff", 2)),
        *(("run --path a:1mbit,1ms --scheduler \udcff", 2), ("run \udcff.toml", 2)),
        *(
            ("sweep \udcff.toml", 2),
            ("show \udcff", 2),
            ("explain \udcff", 2),
            ("report \udcff", 2),
        ),
        *(("results list --out \udcff", 1), ("results query \udcff --out OUT", 1), ("\udcff", 2)),
    ],
)
def test_flags_that_are_not_utf_8_are_told(
    arguments: str, status: int, called: Called, run: Path, tmp_path: Path
) -> None:
    words = arguments.replace("OUT", str(run)).split(" ")
    found, told = called(tmp_path / "shown", *words)
    assert found == status
    assert "Traceback" not in told
    assert told
