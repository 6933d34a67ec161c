# SPDX-License-Identifier: GPL-2.0-only
"""TCP_NOTSENT_LOWAT limits what waits to be sent, not what a program can send."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram, output

PROGRAM = str(Path(__file__).parent / "programs/low_water.py")
#: The low-water mark and the send buffer, 0 for the usual one; of 1 the kernel makes 4608 bytes.
MARKS = ("1,0", "1,1", "1,4096", "100,0", "100,1", "4096,1")


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_a_program_that_blocks_sends_as_much_as_windows_admit(
    run_program: RunProgram, scheduler: str
) -> None:
    """2,000 bytes, less than two segments: the first windows take them, and no RTT, of 20 ms or
    more, passes until the program has sent all.
    """
    program = [sys.executable, PROGRAM]
    paths = ("a:20mbit,10ms", "b:10mbit,25ms")
    client, server = [*program, "client", *MARKS], [*program, "server"]
    run = run_program(client, server, paths=paths, scheduler=scheduler)
    assert output(run, run_files.CLIENT_ERRORS) == ""
    lines = output(run).splitlines()
    took_us = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}
    assert sorted(took_us) == sorted(mark.replace(",", " ") for mark in MARKS)
    assert max(took_us.values()) < 20_000, took_us
