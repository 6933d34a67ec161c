# SPDX-License-Identifier: GPL-2.0-only
"""How fast a large sweep is, how much memory it takes, and how fast its results open.

    python -m benches.sweep [RUNS] [DIR]

10,000 runs of 1 s in DIR, or in a directory that is removed afterwards. In a DIR with such runs,
the sweep goes on. Memory is that of the command, after each tenth of the runs; runs and their
workers are processes of their own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benches.results_store import timed

RUNS, TENTHS = 10_000, 10
SWEEP = """\
repeat = {seeds}
scenario.workload.duration = "1s"
scenario.path = [ {{ name = "a", rate = "{{rate}}mbit", delay = "10ms" }},
  {{ name = "b", rate = "10mbit", delay = "20ms" }} ]
[grid]
scheduler = ["default", "minrtt", "blest", "roundrobin"]
rate = [5, 10, 20, 40, 80]
"""
# How often the number of finished runs is looked at.
_LOOK_S = 2.0


def main(arguments: Sequence[str]) -> None:
    runs = int(arguments[0]) if arguments else RUNS
    if len(arguments) > 1:
        measure(Path(arguments[1]), runs)
    else:
        with tempfile.TemporaryDirectory(prefix="mptcplab-sweep-") as directory:
            measure(Path(directory), runs)


def measure(directory: Path, runs: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "sweep.toml").write_text(SWEEP.format(seeds=runs // 20))
    out = directory / "out"
    words = ("sweep", directory / "sweep.toml", "--out", out)
    command = [sys.executable, "-m", "mptcplab", *map(str, words)]
    begun, had = time.monotonic(), _stored(out)
    print(f"{runs // 20 * 20} runs, {had} of them stored", flush=True)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        shown = had
        while sweep.poll() is None:
            time.sleep(_LOOK_S)
            if (done := _stored(out)) - shown >= runs // TENTHS:
                shown = done
                rate = (done - had) / (time.monotonic() - begun)
                print(f"{done:6} runs, {rate:5.1f} a second, {_rss_mib(sweep.pid)} MiB", flush=True)
    took_s = time.monotonic() - begun
    if sweep.returncode:
        raise SystemExit(f"the sweep ended with status {sweep.returncode}")
    if (made := _stored(out) - had) > 0:
        print(f"{made} runs in {took_s:.0f} s: {made / took_s:.1f} a second")
    query = "SELECT scheduler, rate, median(goodput_bps) FROM runs GROUP BY ALL"
    results = ("-m", "mptcplab", "results")
    timed("list", *results, "list", "--out", out)
    timed("query: a median by scheduler and rate", *results, "query", "--out", out, query)


def _stored(out: Path) -> int:
    return sum(1 for _ in (out / "runs").glob("*")) if (out / "runs").exists() else 0


def _rss_mib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (kib,) = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return int(kib) >> 10


if __name__ == "__main__":
    main(sys.argv[1:])
