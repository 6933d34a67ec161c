# SPDX-License-Identifier: GPL-2.0-only
"""Memory that is refused: nothing is lost or stuck, and a connection without its scheduler says so.

Each piece that a connection asks for is refused once, of calls and of interrupts; and every
second page of interrupts.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mptcplab.errors import RunError
from mptcplab.metrics import records, run_files
from mptcplab.runs import single
from mptcplab.scenario.workload import Program
from tests.vocabulary import RunProgram, output, scenario_of

PROGRAM = str(Path(__file__).parent / "programs" / "no_memory.c")
SCHEDULERS = ("minrtt", "redundant", "video")
PATHS = ("a:20mbit,5ms", "b:20mbit,10ms")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_each_piece_of_memory_is_refused_once(run_program: RunProgram, scheduler: str) -> None:
    flags = {"scheduler": scheduler, "sample_interval": "1s"}
    run = run_program(
        [PROGRAM, "client"], [PROGRAM, "server"], paths=PATHS, time_limit_s=36000, **flags
    )
    said = output(run)
    assert run.guest["client_status"] == 0, said + output(run, run_files.CLIENT_ERRORS)
    calls, interrupts = re.findall(r": (\d+) refused, (\d+) default", said)
    # of a call: socket, state of the scheduler, subflow, state of that, routes, ports, packets; of
    # an interrupt: packets, clones, the other end's sockets and state
    assert int(calls[0]) > 20
    assert int(interrupts[0]) > 20
    # The state of a connection is one piece, at each end. The client's call asks for it as an
    # interrupt does, which the server's is.
    assert (int(calls[1]), int(interrupts[1])) == (1, 1)
    of_server = output(run, run_files.SERVER_OUTPUT).split()
    assert set(of_server) == {"default"}
    console = (run.directory / run_files.CONSOLE).read_text(errors="replace")
    said_so = re.findall(rf"mptcp: {scheduler}: no memory for a connection", console)
    assert len(said_so) == 2 + len(of_server)
    seen = records.read_samples(run.directory / run_files.CLIENT_SAMPLES).connection["flags"]
    assert np.any(seen & records.UNSCHEDULED)
    # such a run has no figures
    program = Program(client=(PROGRAM,), directory="/", time_limit_ns=None)
    with pytest.raises(RunError) as caught:
        single.figures(scenario_of(*PATHS, program=program, **flags), run)
    assert re.search("the (client|server) had no memory for the scheduler", caught.value.reason)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_pages_are_refused_to_interrupts(run_program: RunProgram, scheduler: str) -> None:
    # the records of samples need some, too: without them, the run fails
    flags = {"scheduler": scheduler, "sample_interval": "60s"}
    run = run_program([PROGRAM, "pages"], [PROGRAM, "server"], paths=PATHS, **flags)
    said = output(run)
    assert run.guest["client_status"] == 0, said + output(run, run_files.CLIENT_ERRORS)
    # each connection needs some
    assert int(re.findall(r"pages: (\d+) refused", said)[0]) > 30
