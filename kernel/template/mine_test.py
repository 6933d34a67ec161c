# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the scheduler in mine.c, on the real kernel: python -m pytest mine_test.py"""

import json
import subprocess
import sys
from pathlib import Path

# Of the 1514 bytes of a full frame, 1424 are data: see docs/metrics.md of mptcplab.
DATA_SHARE = 1424 / 1514


def run(out: Path, *arguments: str) -> dict:
    """The figures of a run with mine.c; every byte was verified, or it would have failed."""
    command = [sys.executable, "-m", "mptcplab", "run", "--scheduler", "./mine.c"]
    done = subprocess.run(
        [*command, *arguments, "--json", "--out", str(out)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (figures,) = json.loads(done.stdout)["runs"]
    return figures["metrics"]


def test_mine_fills_two_equal_paths(tmp_path: Path) -> None:
    figures = run(tmp_path, "-p", "a:50mbit,10ms", "-p", "b:50mbit,10ms", "--duration", "5s")
    assert figures["goodput_bps"] >= 0.9 * 100e6 * DATA_SHARE


def test_mine_gets_all_through_when_a_path_fails(tmp_path: Path) -> None:
    paths = ("-p", "a:20mbit,10ms", "-p", "b:10mbit,30ms,loss=1%")
    events = ("--event", "1s:a:down", "--event", "3s:a:up")
    figures = run(tmp_path, *paths, *events, "--duration", "5s")
    # b alone would bring half of its 10 Mbit/s in spite of its losses
    assert figures["goodput_bps"] >= 5e6
