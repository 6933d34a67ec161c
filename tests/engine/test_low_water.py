# SPDX-License-Identifier: GPL-2.0-only
"""TCP_NOTSENT_LOWAT limits what waits to be sent, not what a program can send."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.runs import single
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from tests.vocabulary import scenario_of

PROGRAM = str(Path(__file__).parent / "programs/low_water.py")
#: The low-water mark and the send buffer, 0 for the usual one; of 1 the kernel makes 4608 bytes.
MARKS = ("1,0", "1,1", "1,4096", "100,0", "100,1", "4096,1")


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_a_program_that_blocks_sends_as_much_as_windows_admit(
    rig: Rig, tmp_path: Path, scheduler: str
) -> None:
    """2,000 bytes, less than two segments: the first windows take them, and no RTT, of 20 ms or
    more, passes until the program has sent all.
    """
    program = Program(
        client=find([sys.executable, PROGRAM, "client", *MARKS]),
        server=find([sys.executable, PROGRAM, "server"]),
        directory="/",
        time_limit_ns=600 * 10**9,
        records=False,
    )
    scenario = scenario_of("a:20mbit,10ms", "b:10mbit,25ms", scheduler=scheduler, program=program)
    single.run(scenario, rig, tmp_path)
    assert (tmp_path / run_files.CLIENT_ERRORS).read_text() == ""
    lines = (tmp_path / run_files.CLIENT_OUTPUT).read_text().split("\n")[:-1]
    took_us = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}
    assert sorted(took_us) == sorted(mark.replace(",", " ") for mark in MARKS)
    assert max(took_us.values()) < 20_000, took_us
