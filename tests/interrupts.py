# SPDX-License-Identifier: GPL-2.0-only
"""Processes that are interrupted by tests."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path


def interrupted(*arguments: str, out: Path) -> subprocess.CompletedProcess[str]:
    """Start `mptcplab` with its runs in `out`, one at a time, and interrupt it after two."""
    command = [sys.executable, "-m", "mptcplab", *arguments, "--jobs", "1", "--out", str(out)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    while len(list(out.glob("runs/[!.]*"))) < 2 and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    shown, errors = running.communicate()
    return subprocess.CompletedProcess(command, running.returncode, shown, errors)
