# SPDX-License-Identifier: GPL-2.0-only
"""Data that waits for earlier data takes four times the receive buffer at most: patch 0035."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.lab import engine
from tests.vocabulary import RunProgram

HERE = Path(__file__).parent
PROGRAM = str(HERE / "programs/gaps.py")
SCHEDULER = str(HERE.parent / "scenario/schedulers/gaps.c")
#: Over the first path 70 bytes arrive a byte a packet, each behind one that another path has.
PATHS = ("fast:20mbit,5ms", *(f"slow{number}:20mbit,1s" for number in range(7)))


@pytest.mark.parametrize("receive_buffer", [1024, 2048, 4096])
def test_what_is_too_much_is_dropped_and_sent_again(
    run_program: RunProgram, receive_buffer: int
) -> None:
    # A packet of a byte takes 768 bytes or more (its data, struct sk_buff, struct skb_shared_info):
    # 70 of them 53,760. The largest buffer here is 8192 bytes, and four times that is 32,768.
    run = run_program(
        [sys.executable, PROGRAM, "client"],
        [sys.executable, PROGRAM, "server", str(receive_buffer)],
        paths=PATHS,
        scheduler=SCHEDULER,
    )
    assert (run.directory / engine.SERVER_ERRORS).read_text() == ""
    assert int((run.directory / engine.SERVER_OUTPUT).read_text()) >= (53_760 - 32_768) // 1024
    # A second for the slow paths' bytes, the timer of the connection, at most an RTO of their first
    # round trip of 2 s (RFC 6298, 2.2: 2 + 4 * 1), and two round trips for the rest and the end.
    assert int((run.directory / engine.CLIENT_OUTPUT).read_text()) < 1000 + 6000 + 2 * 2000
