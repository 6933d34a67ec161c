# SPDX-License-Identifier: GPL-2.0-only
"""What it costs to make a short run in a worker process, and in one of a Dask cluster.

    python -m benches.workers [ROUNDS]

First two workers each, and runs of 0.2 s. CPU time of all processes, kernels included, per
further run: what FEW runs took is subtracted from what MANY took, and so is what it costs to start.
The minimum of some rounds, 3 if nothing is said, since other programs can only add to it.

Then eight workers each, and runs of 1 s: runs per second, from the same subtraction of wall-clock
time, and their ratio in each round.
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

import dask
from distributed import LocalCluster

from mptcplab.lab import guest, kernel
from mptcplab.lab.engine import Rig
from mptcplab.runs import tls
from mptcplab.runs.cluster import OnCluster
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Task
from mptcplab.runs.workers import InProcesses, Workers, performed
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags

WORKERS = 2
FEW, MANY = 4, 34
# a cluster of one machine, with runs of a usual sweep
LOCAL, LONGER, LOCAL_FEW, LOCAL_MANY = 8, "1s", 100, 400
PATHS = ("a:10mbit,10ms", "b:10mbit,10ms")


def tasks(count: int, out: Path, duration: str = "200ms") -> list[Task]:
    request = resolve.from_flags(
        Flags(path=PATHS, duration=duration, warmup="0s", repeat=str(count)), single=False
    )
    rig = Rig(kernel.build(), guest.build())
    Store(out)
    return [Task.of(item, rig, out) for item in request.runs()]


def cpu_s() -> float:
    """Of this process, and of all below it that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def in_processes(of: list[Task], count: int = WORKERS) -> float:
    with InProcesses(count) as workers:
        return wall_s(of, workers)


def on_cluster(of: list[Task], count: int = WORKERS) -> float:
    with (
        dask.config.set(tls.LEAN),
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
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


def runs_per_s(way: Callable[[list[Task], int], float]) -> float:
    """Of eight workers."""
    took = {}
    for count in (LOCAL_FEW, LOCAL_MANY):
        with tempfile.TemporaryDirectory() as out:
            took[count] = way(tasks(count, Path(out), LONGER), LOCAL)
    return (LOCAL_MANY - LOCAL_FEW) / (took[LOCAL_MANY] - took[LOCAL_FEW])


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
    pairs = [(runs_per_s(in_processes), runs_per_s(on_cluster)) for _ in range(count)]
    for name, rates in zip(("processes", "cluster"), zip(*pairs, strict=True), strict=True):
        print(f"{LOCAL} {name:<10} {statistics.median(rates):.1f} runs of {LONGER} a second")
    of_processes = sorted(cluster / processes for processes, cluster in pairs)
    print(
        f"cluster, of processes: {statistics.median(of_processes):.2f}"
        f" ({of_processes[0]:.2f} to {of_processes[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
