# SPDX-License-Identifier: GPL-2.0-only
"""Memory that is refused: nothing is lost or stuck, and a connection without its scheduler says so.

Each piece that a connection asks for is refused once, of calls and of interrupts.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mptcplab.lab import engine
from mptcplab.metrics import records
from tests.vocabulary import RunProgram, output

PROGRAM = str(Path(__file__).parent / "programs" / "no_memory.c")


@pytest.mark.parametrize("scheduler", ["minrtt", "redundant", "video"])
def test_each_piece_of_memory_is_refused_once(run_program: RunProgram, scheduler: str) -> None:
    run = run_program(
        [PROGRAM, "client"],
        [PROGRAM, "server"],
        paths=("a:20mbit,5ms", "b:20mbit,10ms"),
        scheduler=scheduler,
        sample_interval="1s",
        time_limit_s=36000,
    )
    said = output(run)
    assert run.guest["client_status"] == 0, said + output(run, engine.CLIENT_ERRORS)
    calls, interrupts = re.findall(r": (\d+) refused, (\d+) default", said)
    # of a call: socket, state of the scheduler, subflow, state of that, routes, ports, packets; of
    # an interrupt: packets, clones, the other end's sockets and state
    assert int(calls[0]) > 20
    assert int(interrupts[0]) > 20
    # The state of a connection is one piece, at each end. The client's call asks for it as an
    # interrupt does, which the server's is.
    assert (int(calls[1]), int(interrupts[1])) == (1, 1)
    of_server = output(run, engine.SERVER_OUTPUT).split()
    assert set(of_server) == {"default"}
    console = (run.directory / engine.CONSOLE).read_text(errors="replace")
    said_so = re.findall(rf"mptcp: {scheduler}: no memory for a connection", console)
    assert len(said_so) == 2 + len(of_server)
    flags = records.read_samples(run.directory / engine.CLIENT_SAMPLES).connection["flags"]
    assert np.any(flags & records.UNSCHEDULED)
