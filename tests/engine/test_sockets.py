# SPDX-License-Identifier: GPL-2.0-only
"""What a program may do with a socket, and what a socket forgets when it is used again."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.vocabulary import RunProgram, output

PROGRAMS = Path(__file__).parent / "programs"


def test_a_scheduler_is_chosen_only_for_a_socket_without_a_connection(
    run_program: RunProgram,
) -> None:
    # What was written before the timeout is still queued, as fragments that our schedulers know
    # nothing of.
    program = [sys.executable, str(PROGRAMS / "reused.py")]
    run = run_program(
        [*program, "client"],
        [*program, "server"],
        paths=("a:10mbit,10ms",),
        event=("1s:a:down", "30s:a:up"),
    )
    assert output(run).splitlines() == [
        "new: ok",
        "connected: EISCONN",
        "ETIMEDOUT",
        "timed out: EISCONN",
        "disconnected: ok",
        "disconnected again: ok",
        "bound: ok",
        "listening: EISCONN",
        # all 16 bytes of a name are the kernel's to give: no more of its stack
        r"accepted with b'redundant\x00\x00\x00\x00\x00\x00\x00'",
        "accepted: EISCONN",
    ]


def test_small_segments_take_no_page_each_on_loopback(run_program: RunProgram) -> None:
    # A byte takes its fragment's header, 112 bytes, at most as much again of a page that is half
    # used, and the packet's 1 KiB at the receiver: 2.6 MB in all, where a page each took 65 MB.
    count = 2000
    run = run_program(
        [sys.executable, str(PROGRAMS / "loopback.py"), str(count)], scheduler="minrtt"
    )
    assert int(output(run)) < count * 4096


def test_the_end_is_heard_with_data_that_had_arrived(run_program: RunProgram) -> None:
    # Of the message, the copy on the second path is lost, and then all that says the end by itself:
    # after the handshakes' packets without data, four on each path. So the end comes first with
    # TCP's retransmission of that copy, which is dropped, and after it by itself again.
    program = [sys.executable, str(PROGRAMS / "ends.py")]
    run = run_program(
        [*program, "client"],
        [*program, "server"],
        paths=("a:20mbit,10ms,up.drop_acks=4-7", "b:10mbit,25ms,up.drop=1,up.drop_acks=3-6"),
        scheduler="redundant",
    )
    assert output(run) == "end\n"
