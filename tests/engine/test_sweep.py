# SPDX-License-Identifier: GPL-2.0-only
"""A sweep of real runs survives whatever comes: signals, SIGKILL, a full disk.

`make sweep-test` does it with 2000 runs.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from mptcplab.errors import MptcplabError
from mptcplab.runs import index, store
from mptcplab.show import explain
from mptcplab.uml.guest import Guest
from mptcplab.uml.kernel import KernelBuild
from tests.vocabulary import in_mount_namespace

SWEEP = """
repeat = {seeds}
[scenario]
scheduler = ["default", "minrtt", "roundrobin", "blest"]
sample_interval = "5ms"
workload.duration = "100ms"
[[scenario.path]]
name = "wifi"
rate = "{{rate}}mbit"
delay = "2ms"
loss = "0.1%"
[[scenario.path]]
name = "lte"
rate = "5mbit"
delay = "5ms"
[grid]
rate = {{ start = 2, stop = 8, count = 2, scale = "log" }}
"""
KEPT = {store.RESULT, store.SCENARIO, store.BUILD, store.COST, store.SERIES}


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "mptcplab", *map(str, arguments)]


@pytest.fixture
def sweep_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Of as many runs as were asked for: 8 for each seed."""
    count = request.config.getoption("--sweep-runs")
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP.format(seeds=math.ceil(count / 8)))
    return file


@pytest.fixture
def builds(lab_kernel: KernelBuild, lab_guest: Guest) -> None:
    """They are there; the programs below find them."""
    assert lab_guest
    if lab_kernel.variant != "lab":
        pytest.skip("the program runs the lab kernel")


def kept(out: Path) -> list[Path]:
    runs = out / "runs"
    return [each for each in runs.iterdir() if each.name[0] != "."] if runs.is_dir() else []


def interrupted(command: list[str], out: Path, runs: int, number: signal.Signals) -> int:
    """Start a sweep and send a signal when so many runs are stored; gives the exit status."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while len(kept(out)) < runs:
            assert process.poll() is None, "it ended too early"
            time.sleep(0.05)
        process.send_signal(number)
        return process.wait()
    finally:
        process.kill()
        process.wait()


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come")


def kernels_in(out: Path) -> bool:
    """Whether a process is left that runs in a directory below `out`."""
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.readlink(process / "cwd").startswith(str(out)):
                return True
        except OSError:
            continue
    return False


@pytest.mark.usefixtures("builds")
def test_an_interrupted_sweep_ends_like_one_that_was_not(
    sweep_file: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    total = math.ceil(request.config.getoption("--sweep-runs") / 8) * 8
    command = program("sweep", sweep_file, "--jobs", 2, "--out", out)

    assert interrupted(command, out, total // 3, signal.SIGINT) == 128 + signal.SIGINT
    assert list(out.glob("runs/.*")) == []
    after_first = {each.name: (each / store.RESULT).stat().st_mtime_ns for each in kept(out)}
    assert interrupted(command, out, 2 * total // 3, signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not kernels_in(out))
    assert all({file.name for file in run.iterdir()} == KEPT for run in kept(out))
    # what a worker had no time to remove is removed by the next one
    (out / "runs" / ".partial-0123456789abcdef-x").mkdir()
    subprocess.run(command, check=True, capture_output=True)
    assert list(out.glob("runs/.*")) == []
    # nothing was made twice
    assert after_first == {
        name: (out / "runs" / name / store.RESULT).stat().st_mtime_ns for name in after_first
    }

    done = subprocess.run(
        program("sweep", sweep_file, "--jobs", 2, "--out", whole, "--json"),
        capture_output=True,
        text=True,
        check=True,
    )
    print("\n".join(line for line in done.stderr.splitlines() if "left" in line))
    outcome = json.loads(done.stdout)
    assert (outcome["total"], outcome["made"], outcome["stored"]) == (total, total, 0)
    assert outcome["reasons"] == {}
    names = {each.name for each in kept(whole)}
    assert len(names) == total
    assert {each.name for each in kept(out)} == names
    for name in names:
        for file in KEPT - {store.COST}:
            same = (out / "runs" / name / file, whole / "runs" / name / file)
            assert same[0].read_bytes() == same[1].read_bytes(), (name, file)
    wall_clock = ("wall_s", "start_s", "user_s", "system_s", "memory_bytes")
    tables = [pl.read_parquet(each / index.TABLE).drop(wall_clock) for each in (out, whole)]
    assert tables[0].equals(tables[1])
    assert tables[0].height == total
    assert set(tables[0]["rate"]) == {2, 8}


@pytest.mark.usefixtures("builds")
def test_what_is_kept_can_be_shown_and_asked(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP.format(seeds=1))
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
    with pytest.raises(MptcplabError, match=r"swept without records.*run it again: mptcplab run"):
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
    # and the command that was told leaves the records
    subprocess.run(
        program("run", run / store.SCENARIO, "--out", out), capture_output=True, check=True
    )
    assert store.has_records(run)
    explain.explain(run)
    assert done.returncode == 0


@pytest.mark.usefixtures("builds")
def test_a_full_disk_stops_it_and_it_goes_on_with_more_room(
    sweep_file: Path, tmp_path: Path
) -> None:
    """On a file system of 1 MiB, in a mount namespace of its own; then of 1 GiB."""
    mount = tmp_path / "small"
    mount.mkdir()
    again = " ".join(program("sweep", sweep_file, "--jobs", 2, "--out", mount / "out"))
    # a run keeps some 30 KiB, and needs some 100 KiB while it is made: 40 of them do not fit
    inside = (
        f"mount -t tmpfs -o size=1m tmpfs {mount} && {again}; echo status $?;"
        f" ls {mount}/out/runs | wc -l; ls {mount}/out/failed 2>/dev/null | wc -l;"
        f" mount -o remount,size=1g {mount}; {again}; echo status $?; ls {mount}/out/runs | wc -l"
    )
    done = in_mount_namespace(inside)
    assert "Traceback" not in done.stderr, done.stderr
    assert re.search(r"no space left on the disk of .*the same command goes on", done.stderr), done
    numbers = [int(line) for line in done.stdout.splitlines() if line.strip().isdigit()]
    statuses = re.findall(r"status (\d+)", done.stdout)
    assert statuses == ["1", "0"], done
    first, failed, second = numbers
    assert failed == 0
    assert 0 <= first < second == 40, done
