# SPDX-License-Identifier: GPL-2.0-only
"""What a program may do with a socket, what it gets, and what a socket forgets when used again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram, output

HERE = Path(__file__).parent
BOTH = pytest.mark.parametrize("scheduler", ["default", "minrtt"])


def program(case: str, *words: str) -> list[str]:
    return [sys.executable, str(HERE / "programs/sockets.py"), case, *words]


def test_a_scheduler_is_chosen_only_for_a_socket_without_a_connection(
    run_program: RunProgram,
) -> None:
    # What was written before the timeout is still queued, as fragments that our schedulers know
    # nothing of.
    run = run_program(
        program("reused", "client"),
        program("reused", "server"),
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
    run = run_program(program("loopback", "client", str(count)), scheduler="minrtt")
    assert int(output(run)) < count * 4096


def test_the_end_is_heard_with_data_that_had_arrived(run_program: RunProgram) -> None:
    # Of the message, the copy on the second path is lost, and then all that says the end by itself:
    # after the handshakes' packets without data, four on each path. So the end comes first with
    # TCP's retransmission of that copy, which is dropped, and after it by itself again.
    run = run_program(
        program("ends", "client"),
        program("ends", "server"),
        paths=("a:20mbit,10ms,up.drop_acks=4-7", "b:10mbit,25ms,up.drop=1,up.drop_acks=3-6"),
        scheduler="redundant",
    )
    assert output(run) == "end\n"


def closed(
    run_program: RunProgram, way: str, scheduler: str, path: str = "a:20mbit,10ms"
) -> tuple[list[str], list[str]]:
    """The words of the client and of the server, whose connection ends in some way."""
    client, server = (program("closing", role, way) for role in ("client", "server"))
    run = run_program(client, server, paths=[path], scheduler=scheduler)
    assert run.guest["client_status"] == 0, output(run)
    return output(run).split(), output(run, run_files.SERVER_OUTPUT).split()


@BOTH
def test_a_fallback_is_reset_that_is_closed_with_unread_data(
    run_program: RunProgram, scheduler: str
) -> None:
    """As TCP does: a clean end would be that of a stream that is not complete."""
    assert closed(run_program, "unread", scheduler)[1] == ["reset"]


@BOTH
@pytest.mark.parametrize("way", ["early", "reused"])
def test_an_end_is_soon_repeated_whatever_was_before(
    run_program: RunProgram, way: str, scheduler: str
) -> None:
    # Repeated after 0.2, 0.6 and 1.4 s, of which the outage covers 0.5. Then a round trip of 20 ms,
    # and an ACK that may be delayed by 40 ms.
    assert float(closed(run_program, way, scheduler)[0][0]) <= 1.4 - 0.5 + 0.020 + 0.040


def test_a_dropped_unit_leaves_nothing_of_tcp_cork(run_program: RunProgram) -> None:
    # 60,000 bytes before the unit take 240 ms at 2 Mbit/s: with headers, the unit is too late
    dropped, (end, last) = closed(run_program, "cork", "video", "a:2mbit,10ms")
    assert dropped == ["40000"]
    assert (end, last) == ("end", "500")


@BOTH
def test_after_a_fallback_all_data_is_read_that_came_before_the_end(
    run_program: RunProgram, scheduler: str
) -> None:
    """As in TCP, also while it waits for room: patch 0065."""
    # of a packet, of some that a buffer of 2304 bytes has no room for, and of an initial window
    sizes = [str(size) for size in range(500, 14001, 500)]
    client, server = (program("held_end", role, *sizes) for role in ("client", "server"))
    run = run_program(client, server, scheduler=scheduler)
    assert output(run).split() == sizes


#: The low-water mark and the send buffer, 0 for the usual one; of 1 the kernel makes 4608 bytes.
MARKS = ("1,0", "1,1", "1,4096", "100,0", "100,1", "4096,1")


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_with_a_low_water_mark_a_program_sends_as_much_as_windows_admit(
    run_program: RunProgram, scheduler: str
) -> None:
    """TCP_NOTSENT_LOWAT limits what waits to be sent, not what a program can send."""
    # 2,000 bytes, less than two segments: the first windows take them, and no RTT, of 20 ms or
    # more, passes until the program has sent all.
    run = run_program(
        program("low_water", "client", *MARKS),
        program("low_water", "server"),
        paths=("a:20mbit,10ms", "b:10mbit,25ms"),
        scheduler=scheduler,
    )
    assert output(run, run_files.CLIENT_ERRORS) == ""
    lines = output(run).splitlines()
    took_us = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}
    assert sorted(took_us) == sorted(mark.replace(",", " ") for mark in MARKS)
    assert max(took_us.values()) < 20_000, took_us


@pytest.mark.parametrize("receive_buffer", [1024, 2048, 4096])
def test_data_that_waits_for_earlier_data_takes_four_buffers_at_most(
    run_program: RunProgram, receive_buffer: int
) -> None:
    """The rest is dropped and sent again: patch 0035."""
    # Over the first path 70 bytes arrive a byte a packet, each behind one that another path has.
    # A packet of a byte takes 768 bytes or more (its data, struct sk_buff, struct skb_shared_info):
    # 70 of them 53,760. The largest buffer here is 8192 bytes, and four times that is 32,768.
    run = run_program(
        program("gaps", "client"),
        program("gaps", "server", str(receive_buffer)),
        paths=("fast:20mbit,5ms", *(f"slow{number}:20mbit,1s" for number in range(7))),
        scheduler=str(HERE.parent / "scenario/schedulers/gaps.c"),
    )
    assert output(run, run_files.SERVER_ERRORS) == ""
    assert int(output(run, run_files.SERVER_OUTPUT)) >= (53_760 - 32_768) // 1024
    # A second for the slow paths' bytes, the timer of the connection, at most an RTO of their first
    # round trip of 2 s (RFC 6298, 2.2: 2 + 4 * 1), and two round trips for the rest and the end.
    assert int(output(run)) < 1000 + 6000 + 2 * 2000
