# SPDX-License-Identifier: GPL-2.0-only
"""What the engine tells of the processes of a run."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from mptcplab.uml import engine


@pytest.mark.parametrize(("program", "waits"), [("while True: pass", True), ("input()", False)])
def test_a_process_that_could_run_is_not_one_that_waits_for_what_cannot_come(
    program: str, waits: bool
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", f"print(flush=True)\n{program}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        # one that waits may still be on its way there
        deadline = time.monotonic() + 60
        while engine._waits_for_a_cpu(process.pid) != waits and time.monotonic() < deadline:
            time.sleep(0.01)
        assert engine._waits_for_a_cpu(process.pid) == waits
    finally:
        process.kill()
        process.communicate()
