# SPDX-License-Identifier: GPL-2.0-only
"""A sweep of real runs survives whatever comes: signals, SIGKILL, a full disk.

`make sweep-test` does it with 2000 runs.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.report import explain
from mptcplab.runs import index, store
from tests.sweeps import (
    KEPT,
    WholeSweep,
    assert_same_sweep,
    interrupted,
    kept,
    made_ns,
    program,
    write_sweep,
)
from tests.vocabulary import in_mount_namespace, until


def kernels_of(out: Path) -> list[tuple[int, str]]:
    """The processes that run in directories below `out`, each with the name of its own, by age."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit():
                place = Path(os.readlink(process / "cwd"))
                if place.is_relative_to(out / "runs") and place != out / "runs":
                    found.append((int(process.name), place.relative_to(out / "runs").parts[0]))
    return sorted(found)


def test_an_interrupted_sweep_ends_like_one_that_was_not(
    whole_sweep: WholeSweep, tmp_path: Path
) -> None:
    out, total = tmp_path / "out", whole_sweep.total
    command = program("sweep", whole_sweep.file, "--jobs", 2, "--out", out)

    assert interrupted(command, out, total // 3, signal.SIGINT) == 128 + signal.SIGINT
    assert list(out.glob("runs/.*")) == []
    after_first = made_ns(out)
    assert interrupted(command, out, 2 * total // 3, signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not kernels_of(out))
    assert all({file.name for file in run.iterdir()} == KEPT for run in kept(out))
    # what a worker had no time to remove is removed by the next one
    (out / "runs" / ".partial-0123456789abcdef-x").mkdir()
    subprocess.run(command, check=True, capture_output=True)
    assert list(out.glob("runs/.*")) == []
    # nothing was made twice
    assert after_first.items() <= made_ns(out).items()
    assert_same_sweep(out, whole_sweep.out, total)


@pytest.mark.usefixtures("builds")
def test_a_run_that_is_killed_again_and_again_is_made_by_the_next_call(tmp_path: Path) -> None:
    total = write_sweep(tmp_path / "sweep.toml", 1)
    out, ended = tmp_path / "out", threading.Event()
    command = program("sweep", tmp_path / "sweep.toml", "--jobs", 2, "--out", out)
    victim: list[str] = []

    def kill_one() -> None:
        """All kernels of the run that comes first, as if it took more memory than there is."""
        while not ended.wait(0.005):
            for pid, directory in kernels_of(out):
                key = directory.split("-")[1]
                if key in (victim or [key]):
                    victim[:] = [key]
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    ended.set()
    killer.join()
    assert first.returncode == 1, first
    assert re.search(r"killed: +1: its process was killed by SIGKILL, 2 times;", first.stdout)
    assert "the same command tries again" in first.stdout
    assert len(kept(out)) == total - 1
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second
    assert f"of which {total - 1} were stored and 1 made now" in second.stdout
    assert len(kept(out)) == total


@pytest.mark.usefixtures("builds")
def test_what_is_kept_can_be_shown_and_asked(tmp_path: Path) -> None:
    write_sweep(tmp_path / "sweep.toml", 1)
    out = tmp_path / "out"
    subprocess.run(
        program("sweep", tmp_path / "sweep.toml", "--jobs", 2, "--out", out),
        capture_output=True,
        check=True,
    )
    (run, *_) = kept(out)
    done = subprocess.run(
        program("show", run, "--data", "--out", tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (tmp_path / f"{run.name}.png").exists()
    assert (tmp_path / f"{run.name}.csv").read_text().startswith("begin_s,end_s,goodput_bps,")
    with pytest.raises(MptcplabError, match=r"sweep kept no records.*run it again: mptcplab run"):
        explain.explain(run)
    answer = index.query(
        out,
        "SELECT rate, count(*), max(value) FROM series JOIN runs USING (key) "
        "WHERE metric = 'goodput_bps' AND series.path IS NULL GROUP BY rate ORDER BY rate",
    )
    # 100 ms in bins of 5 ms; what is in a bin may have waited out of order, but not for 10 bins
    for rate, bins, most in answer.rows:
        assert bins == 4 * 20
        assert 0 < most < 10 * (rate + 5) * 1e6
    page = tmp_path / "page.html"
    subprocess.run(program("report", out, "--out", page), capture_output=True, check=True)
    assert run.name in page.read_text()
    # and the printed command leaves the records
    subprocess.run(
        program("run", run / store.SCENARIO, "--out", out), capture_output=True, check=True
    )
    assert store.has_records(run)
    explain.explain(run)
    assert done.returncode == 0


@pytest.mark.usefixtures("builds")
def test_a_full_disk_stops_it_and_it_goes_on_with_more_room(tmp_path: Path) -> None:
    """On a file system with 1 MiB left, in a mount namespace of its own; then with 65 MiB."""
    total = write_sweep(tmp_path / "sweep.toml", 48)
    mount = tmp_path / "small"
    mount.mkdir()
    command = program("sweep", tmp_path / "sweep.toml", "--jobs", 2, "--out", mount / "out")
    again = " ".join(command)
    # a run keeps some 28 KiB, in five files of whole pages: 48 of them do not fit
    inside = (
        f"mount -t tmpfs -o size=65m tmpfs {mount} && head -c 64M /dev/zero > {mount}/full &&"
        f" {again}; echo status $?;"
        f" ls {mount}/out/runs | wc -l; ls {mount}/out/failed 2>/dev/null | wc -l;"
        f" rm {mount}/full; {again}; echo status $?; ls {mount}/out/runs | wc -l"
    )
    done = in_mount_namespace(inside)
    assert "Traceback" not in done.stderr, done.stderr
    assert re.search(r"no space left on the disk of .*the same command resumes", done.stderr), done
    numbers = [int(line) for line in done.stdout.splitlines() if line.strip().isdigit()]
    statuses = re.findall(r"status (\d+)", done.stdout)
    assert statuses == ["1", "0"], done
    first, failed, second = numbers
    assert failed == 0
    assert 0 <= first < second == total, done
