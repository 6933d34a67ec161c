# SPDX-License-Identifier: GPL-2.0-only
"""Ends of connections, and options of them, that a fallback, an outage or a drop came before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram, output

PROGRAM = str(Path(__file__).parent / "programs" / "closing.py")
ONE_PATH = "a:20mbit,10ms"


def said(
    run_program: RunProgram, way: str, scheduler: str, path: str = ONE_PATH
) -> tuple[list[str], list[str]]:
    """The words of the client and of the server."""
    client, server = ([sys.executable, PROGRAM, role, way] for role in ("client", "server"))
    run = run_program(client, server, paths=[path], scheduler=scheduler)
    assert run.guest["client_status"] == 0, output(run)
    return output(run).split(), output(run, run_files.SERVER_OUTPUT).split()


@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_a_fallback_is_reset_that_is_closed_with_unread_data(
    run_program: RunProgram, scheduler: str
) -> None:
    """As TCP does: a clean end would be that of a stream that is not complete."""
    assert said(run_program, "unread", scheduler)[1] == ["reset"]


@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
@pytest.mark.parametrize("way", ["early", "reused"])
def test_an_end_is_soon_repeated_whatever_was_before(
    run_program: RunProgram, way: str, scheduler: str
) -> None:
    # Repeated after 0.2, 0.6 and 1.4 s, of which the outage covers 0.5. Then a round trip of 20 ms,
    # and an ACK that may be delayed by 40 ms.
    assert float(said(run_program, way, scheduler)[0][0]) <= 1.4 - 0.5 + 0.020 + 0.040


def test_a_dropped_unit_leaves_nothing_of_tcp_cork(run_program: RunProgram) -> None:
    # 60,000 bytes before the unit take 240 ms at 2 Mbit/s: with headers, the unit is too late
    dropped, (end, last) = said(run_program, "cork", "video", "a:2mbit,10ms")
    assert dropped == ["40000"]
    assert (end, last) == ("end", "500")
