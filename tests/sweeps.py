# SPDX-License-Identifier: GPL-2.0-only
"""A sweep of real runs as a person starts it, interrupts it and goes on, and whether two are equal.

`make sweep-test` makes it 2000 runs.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from mptcplab.runs import index, store

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
_OF_A_SEED = 8
KEPT = {store.RESULT, store.SCENARIO, store.BUILD, store.COST, store.SERIES}
# What the table has of cost.json.
_WALL_CLOCK = ("wall_s", "start_s", "user_s", "system_s", "memory_bytes")


@dataclass(frozen=True)
class WholeSweep:
    """A sweep of as many runs as were asked for, and where they are, all made at one go."""

    file: Path
    total: int
    out: Path


def write_sweep(file: Path, runs: int) -> int:
    """Write the file of a sweep of so many runs, or a few more; gives how many it has."""
    seeds = math.ceil(runs / _OF_A_SEED)
    file.write_text(SWEEP.format(seeds=seeds))
    return seeds * _OF_A_SEED


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "mptcplab", *map(str, arguments)]


def kept(out: Path) -> list[Path]:
    """The directories of the runs that are stored."""
    runs = out / "runs"
    return [each for each in runs.iterdir() if each.name[0] != "."] if runs.is_dir() else []


def made_ns(out: Path) -> dict[str, int]:
    """When each run was made, by its key: one that is made again has another time."""
    return {each.name: (each / store.RESULT).stat().st_mtime_ns for each in kept(out)}


def interrupted(command: list[str], out: Path, runs: int, number: signal.Signals) -> int:
    """Start a sweep and send a signal when so many runs are stored; gives the exit status."""
    return disturbed(command, out, runs, lambda process: process.send_signal(number))


def disturbed(
    command: list[str], out: Path, runs: int, disturb: Callable[[subprocess.Popen[bytes]], None]
) -> int:
    """Start a sweep and do something when so many runs are stored; gives the exit status."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while len(kept(out)) < runs:
            assert process.poll() is None, "it ended too early"
            time.sleep(0.05)
        disturb(process)
        return process.wait()
    finally:
        process.kill()
        process.wait()


def assert_same_sweep(one: Path, other: Path, total: int) -> None:
    """Two output directories have the same runs, all of the sweep, equal in all but their cost."""
    names = {each.name for each in kept(one)}
    assert len(names) == total
    assert {each.name for each in kept(other)} == names
    for name in names:
        directories = [out / "runs" / name for out in (one, other)]
        assert [{file.name for file in each.iterdir()} for each in directories] == [KEPT] * 2
        for file in KEPT - {store.COST}:
            contents = [(each / file).read_bytes() for each in directories]
            assert contents[0] == contents[1], (name, file)
    tables = [pl.read_parquet(out / index.TABLE).drop(_WALL_CLOCK) for out in (one, other)]
    assert tables[0].equals(tables[1])
    assert tables[0].height == total
    assert set(tables[0]["rate"]) == {2, 8}
