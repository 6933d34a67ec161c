# SPDX-License-Identifier: GPL-2.0-only
"""How long a store of many runs takes to list and to ask: python benches/results_store.py RUN DIR

Copies the files of one swept run, with seeds, schedulers and rates that differ, until there are as
many runs as are asked for, and times what people do with them. DIR is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from mptcplab.runs import documents, index, store

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
    entry, scenario = (documents.read_json(run / name) for name in (store.RESULT, store.SCENARIO))
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
    name = documents.read_json(next((out / "runs").iterdir()) / store.SCENARIO)["paths"][0]["name"]
    every = f'SELECT scheduler, "{name}.rate_bps", median(goodput_bps) FROM runs GROUP BY ALL'
    read = (
        f"import mptcplab, polars; mptcplab.read_runs({str(out)!r})"
        ".group_by('scheduler').agg(polars.median('goodput_bps'))"
    )
    results = ("-m", "mptcplab", "results")
    timed(f"list, the table made anew of {count} runs", *results, "list", "--out", out)
    timed("list", *results, "list", "--out", out)
    timed("query: a median by scheduler and rate", *results, "query", "--out", out, every)
    timed("read_runs() in Python, medians by scheduler", "-c", read)
    size = (out / index.TABLE).stat().st_size
    print(f"{'the size of the table':<50} {size / 1e6:8.1f} MB")


def timed(what: str, *arguments: object) -> None:
    """A line with the wall-clock time of a Python process, which depends on what else the machine
    does, its CPU time and its memory, or that of the largest one so far.
    """
    started, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *map(str, arguments)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall_s, now = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    memory = f"at most {now.ru_maxrss >> 10} MiB"
    print(f"{what:<50} {wall_s:8.2f} s, CPU {cpu_s:.2f} s, {memory}", flush=True)


if __name__ == "__main__":
    main()
