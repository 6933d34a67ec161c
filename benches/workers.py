# SPDX-License-Identifier: GPL-2.0-only
"""What it costs to make a short run in a worker process, and in one of a Dask cluster.

    python -m benches.workers [ROUNDS]

Two workers each. CPU time of all processes, kernels included, per further run: what FEW runs took
is subtracted from what MANY took, and so is what it costs to start. The minimum of some rounds,
3 if nothing is said, since other programs can only add to it.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from distributed import LocalCluster

from mptcplab.lab import guest, kernel
from mptcplab.runs.cluster import OnCluster
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Task, task_of
from mptcplab.runs.workers import InProcesses, Workers, performed
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags

WORKERS = 2
FEW, MANY = 4, 34
PATHS = ("a:10mbit,10ms", "b:10mbit,10ms")


def tasks(count: int, out: Path) -> list[Task]:
    request = resolve.from_flags(
        Flags(path=PATHS, duration="200ms", warmup="0s", repeat=str(count)), single=False
    )
    builds = kernel.build(), guest.build()
    Store(out)
    return [task_of(item, *builds, out=out) for item in request.runs()]


def cpu_s() -> float:
    """Of this process, and of all below it that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def in_processes(of: list[Task]) -> float:
    with InProcesses(WORKERS) as workers:
        return wall_s(of, workers)


def on_cluster(of: list[Task]) -> float:
    # what they record of themselves for their web pages is not wanted here
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        OnCluster(cluster.scheduler_address, print) as workers,
    ):
        return wall_s(of, workers)


def wall_s(of: list[Task], workers: Workers) -> float:
    """From when the first run has ended."""
    started = 0.0
    for done in performed(of, workers, threading.Event()):
        if done is not None:
            assert done[1].entry.status == "ok", done[1].entry.reason
            started = started or time.monotonic()
    return time.monotonic() - started


def per_run(way: Callable[[list[Task]], float]) -> tuple[float, float]:
    """CPU and wall-clock time of a further run, in seconds."""
    used, took = {}, {}
    for count in (FEW, MANY):
        with tempfile.TemporaryDirectory() as out:
            of = tasks(count, Path(out))
            before = cpu_s()
            took[count] = way(of)
            used[count] = cpu_s() - before
    return (used[MANY] - used[FEW]) / (MANY - FEW), (took[MANY] - took[FEW]) / (MANY - FEW)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for name, way in (("processes", in_processes), ("cluster", on_cluster)):
        rounds = [per_run(way) for _ in range(count)]
        cpu, wall = ([each[column] for each in rounds] for column in (0, 1))
        middle = statistics.median(cpu)
        print(
            f"{name:<10} CPU {min(cpu) * 1e3:.0f} ms a run (median {middle * 1e3:.0f}),"
            f" wall {min(wall) * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main()
