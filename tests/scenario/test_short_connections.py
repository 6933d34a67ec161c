# SPDX-License-Identifier: GPL-2.0-only
"""Short connections that lose packets of their handshake and of their first data, and fall back.

A program counts what came, and compares every byte: one that is missing before a clean end of the
stream is noticed by nobody else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram, output

PROGRAM = str(Path(__file__).parent / "programs" / "short.c")
PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")
#: Each set of eight packets that are lost, with each of four ways to send and to close, with
#: buffers that are large, and small.
CONNECTIONS = 2**8 * 4 * 2
BYTES, REPLY = 15_000, 100
#: What client and server get, in the order of the program's enum mode.
TO_CLIENT = (REPLY, BYTES, BYTES, BYTES)
TO_SERVER = (BYTES, 1, BYTES, 0)


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_no_byte_is_missing_whatever_the_handshake_loses(
    run_program: RunProgram, scheduler: str
) -> None:
    run = run_program(
        [PROGRAM, "client", "0", str(CONNECTIONS - 1)],
        [PROGRAM, "server"],
        paths=PATHS,
        scheduler=scheduler,
        # a day: 42 s for each connection, of which few lose enough for timeouts of more than 3 s
        time_limit_s=86_400,
        sample_interval="10s",
    )

    def whole(sizes: tuple[int, ...]) -> list[str]:
        modes = [(number, sizes[number >> 8 & 3]) for number in range(CONNECTIONS)]
        return sorted(f"{number}: {size} of {size} end" for number, size in modes)

    assert sorted(output(run).splitlines()) == whole(TO_CLIENT)
    assert sorted(output(run, run_files.SERVER_OUTPUT).splitlines()) == whole(TO_SERVER)
