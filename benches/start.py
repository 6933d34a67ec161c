# SPDX-License-Identifier: GPL-2.0-only
"""What a command costs before it does anything: CPU seconds, beside those of Python alone.

    python benches/start.py [TIMES]

All in turn, the first round not counted, since it may have to compile modules; medians and the
range. `show` draws a run of 1 s, which is made for it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_PATH = ("--path", "a:10mbit,10ms")
_MPTCPLAB = (sys.executable, "-m", "mptcplab")


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory(prefix="mptcplab-start-") as out:
        made = ("run", *_PATH, "--duration", "1s", "--out", out)
        subprocess.run([*_MPTCPLAB, *made], check=True, stdout=subprocess.DEVNULL)
        run = next(Path(out).glob("runs/*"))
        commands: dict[str, Sequence[str]] = {
            "python -c pass": (sys.executable, "-c", "pass"),
            "--help": (*_MPTCPLAB, "--help"),
            "run --help": (*_MPTCPLAB, "run", "--help"),
            "run --bogus": (*_MPTCPLAB, "run", "--bogus"),
            "run --path a:10mbitt,10ms": (*_MPTCPLAB, "run", "--path", "a:10mbitt,10ms"),
            "run --plan": (*_MPTCPLAB, "run", *_PATH, "--plan"),
            "scheduler list": (*_MPTCPLAB, "scheduler", "list"),
            "papers list": (*_MPTCPLAB, "papers", "list"),
            "show": (*_MPTCPLAB, "show", str(run)),
        }
        found: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(times + 1):
            for name, words in commands.items():
                found[name].append(_cpu_s(words))
    alone_s = statistics.median(found["python -c pass"][1:])
    print(f"CPU s, median of {times} and range; load average {os.getloadavg()[0]:.1f}")
    for name, (_, *values) in found.items():
        median_s = statistics.median(values)
        spread = f"({min(values):.2f}..{max(values):.2f})"
        print(f"{name:26} {median_s:5.2f} {spread:14} {median_s / alone_s:5.1f} x Python alone")


def _cpu_s(words: Sequence[str]) -> float:
    """User and system time of a command."""
    quiet = subprocess.DEVNULL
    # modules are kept compiled, as on any machine
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(words, env=environment, stdout=quiet, stderr=quiet)
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
