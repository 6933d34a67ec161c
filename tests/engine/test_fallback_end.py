# SPDX-License-Identifier: GPL-2.0-only
"""After a fallback the data ends where TCP's does, also while it waits for room: patch 0065."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram

PROGRAM = str(Path(__file__).parent / "programs/held_end.py")
#: Of a packet, of some that a buffer of 2304 bytes has no room for, and of an initial window.
SIZES = [str(size) for size in range(500, 14001, 500)]
PLAIN = "echo 0 > /proc/sys/net/mptcp/mptcpize; exec"


@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_all_data_is_read_that_came_before_the_end(run_program: RunProgram, scheduler: str) -> None:
    server = " ".join([PLAIN, sys.executable, PROGRAM, "server", *SIZES])
    run = run_program(
        [sys.executable, PROGRAM, "client", *SIZES], ["sh", "-c", server], scheduler=scheduler
    )
    assert (run.directory / run_files.CLIENT_OUTPUT).read_text().split() == SIZES
