# SPDX-License-Identifier: GPL-2.0-only
"""How long a store of many runs takes to list and to ask: python benches/results_store.py RUN DIR

Copies the files of one swept run, with seeds, schedulers and rates that differ, until there are as
many runs as are asked for, and times what people do with them. DIR is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mptcplab.runs import index, store

SCHEDULERS = ("default", "minrtt", "roundrobin", "blest", "ecf", "sttf", "otias")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="the directory of a run, OUT/runs/KEY")
    parser.add_argument("directory", type=Path, help="where the store is made; must not exist")
    parser.add_argument("--runs", type=int, default=100_000)
    options = parser.parse_args()
    options.directory.mkdir()
    try:
        make(options.run, options.directory, options.runs)
        measure(options.directory, options.runs)
    finally:
        shutil.rmtree(options.directory)


def make(run: Path, out: Path, count: int) -> None:
    """What is the same in all runs is linked, what differs is written."""
    entry, scenario = (store.read_json(run / name) for name in (store.RESULT, store.SCENARIO))
    same = [run / name for name in (store.BUILD, store.COST, store.SERIES)]
    (out / "runs").mkdir()
    for number in range(count):
        directory = out / "runs" / f"{number:016x}"
        directory.mkdir()
        scheduler = SCHEDULERS[number % len(SCHEDULERS)]
        entry["scheduler"], entry["seed"] = scheduler, number // 100 + 1
        entry["metrics"]["goodput_bps"] = 1e6 * (number % 1000)
        scenario["paths"][0]["up"]["rate_bps"] = 10**6 * (1 + number // 7 % 100)
        scenario["seed"] = entry["seed"]
        (directory / store.RESULT).write_text(json.dumps(entry, indent=1))
        (directory / store.SCENARIO).write_text(json.dumps(scenario, indent=1))
        for file in same:
            # a file cannot have more than 65,000 names
            target = out / f"{file.name}-{number // 50_000}"
            if not target.exists():
                shutil.copyfile(file, target)
            os.link(target, directory / file.name)


def measure(out: Path, count: int) -> None:
    name = store.read_json(next((out / "runs").iterdir()) / store.SCENARIO)["paths"][0]["name"]
    every = f'SELECT scheduler, "{name}.rate_bps", median(goodput_bps) FROM runs GROUP BY ALL'
    timed(f"the table made anew, of {count} directories", lambda: index.read(out))
    timed("the table, with nothing new", lambda: index.read(out))
    timed("a listing by scheduler", lambda: index.overview(index.read(out)))
    timed("a median by scheduler and rate", lambda: index.query(out, every))
    size = (out / index.TABLE).stat().st_size
    print(f"{'the size of the table':<50} {size / 1e6:8.1f} MB")


def timed(what: str, do: Callable[[], Any]) -> None:
    """Wall-clock and CPU time, as a line; the former hangs on what else the machine does."""
    started, used = time.monotonic(), time.process_time()
    do()
    wall_s, cpu_s = time.monotonic() - started, time.process_time() - used
    print(f"{what:<50} {wall_s:8.2f} s, CPU {cpu_s:.2f} s", flush=True)


if __name__ == "__main__":
    main()
