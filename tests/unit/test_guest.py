# SPDX-License-Identifier: GPL-2.0-only
"""The guest program is there whole or not at all, with a compiler that only pretends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab import guest
from tests.vocabulary import until

# Writes half of the program, and the rest when it may.
GCC = """#!/bin/sh
case "$*" in
    *--version*) echo "gcc 99"; exit ;;
    *-print-file-name*) echo /usr/lib/libc.a; exit ;;
esac
while [ "$1" != -o ]; do shift; done
echo $$ >>{place}/calls
echo half >"$2"
while ! [ -e {place}/go ]; do sleep 0.01; done
echo whole >>"$2"
"""
BUILD = "from mptcplab.lab import guest; print(guest.build().program)"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    gcc = tmp_path / "bin" / "gcc"
    gcc.parent.mkdir()
    gcc.write_text(GCC.format(place=tmp_path))
    gcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gcc.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def start() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def calls(place: Path) -> list[int]:
    file = place / "calls"
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


@pytest.mark.parametrize("compiler_too", [False, True])
def test_a_killed_build_is_made_anew(place: Path, compiler_too: bool) -> None:
    process = start()
    until(lambda: len(calls(place)) == 1)
    process.kill()
    if compiler_too:
        os.kill(calls(place)[0], signal.SIGKILL)
    (place / "go").touch()
    process.communicate()
    built = guest.build()
    assert built.program.read_text() == "half\nwhole\n"
    assert [each.name for each in built.program.parent.iterdir()] == [built.id]
    assert guest.build() == built
    assert len(calls(place)) == 2


def test_two_builds_at_once_end_well(place: Path) -> None:
    first, second = start(), start()
    until(lambda: len(calls(place)) == 2)
    (place / "go").touch()
    programs = {process.communicate()[0] for process in (first, second)}
    assert (first.returncode, second.returncode) == (0, 0)
    (program,) = programs
    assert Path(program.strip()).read_text() == "half\nwhole\n"
    assert [each.name for each in Path(program).parent.iterdir()] == [Path(program.strip()).name]


def test_it_depends_on_the_kernels_headers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "_HEADERS", (place,))
    header = place / "shared.h"
    (place / "go").touch()
    ids = []
    for text in ("one", "other", "one"):
        header.write_text(text)
        ids.append(guest.build().id)
    assert ids[0] == ids[2] != ids[1]
    assert len(calls(place)) == 2
    # a cache that cannot be written is reported
    monkeypatch.setenv("XDG_CACHE_HOME", str(header))
    with pytest.raises(MptcplabError, match=r"guest program cannot be built: .*Not a directory"):
        guest.build()
