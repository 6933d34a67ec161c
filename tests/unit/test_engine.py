# SPDX-License-Identifier: GPL-2.0-only
"""What the engine tells of the processes of a run, and what it makes of what a guest leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mptcplab.lab import engine
from mptcplab.metrics import run_files
from mptcplab.scenario.workload import Program
from tests.vocabulary import scenario_of, until


@pytest.mark.parametrize(("program", "waits"), [("while True: pass", True), ("input()", False)])
def test_a_process_that_waits_for_a_cpu_is_known(program: str, waits: bool) -> None:
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
        until(lambda: engine._waits_for_a_cpu(process.pid) == waits)
    finally:
        process.kill()
        process.communicate()


OK = {"status": "ok", "start_ns": 1, "end_ns": 2, "complete_ns": 3}
TRUE = Program(client=("/bin/true",), directory="/", time_limit_ns=None)
PROGRAM = scenario_of("a:1mbit,1ms", program=TRUE)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (b"", "without an outcome"),
        (b"\xff", "without an outcome"),
        (b"[1]", "without an outcome"),
        (b"{}", "without an outcome"),
        (b"[" * 100_000, "without an outcome"),
        (b'{"status": "ok", "start_ns": "1"}', "without an outcome"),
        (b'{"status": "ok", "start_ns": 1e999}', "without an outcome"),
        (b'{"status": "ok"' + b" " * 100_000 + b"}", "without an outcome"),
        (b'{"status": "failed", "reason": ["text"]}', "without an outcome"),
        (json.dumps(OK).encode(), "its outcome lacks client_status, server_status"),
        (b'{"status": "failed", "reason": "why", "missing_paths": [0, 2, -1, 99]}', "why"),
        (b'{"status": "failed", "reason": "why", "missing_paths": [1]}', "path a: why"),
    ],
)
def test_a_wrong_outcome_is_refused(tmp_path: Path, outcome: bytes, reason: str) -> None:
    (tmp_path / run_files.CONSOLE).write_text("")
    (tmp_path / run_files.GUEST_OUTCOME).write_bytes(outcome)
    found = engine._outcome_or_reason(PROGRAM, 0, "", "", tmp_path)
    assert isinstance(found, str)
    assert found.endswith(reason)


def test_a_long_console_is_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_CONSOLE_BYTES", 4)
    (tmp_path / run_files.CONSOLE).write_text("12345678")
    assert engine._console(tmp_path) == "12345678"
    (tmp_path / run_files.CONSOLE).write_text("123456789")
    assert engine._console(tmp_path) == "1234\n[...]\n6789"
    # the first packet is seen in pieces, too
    monkeypatch.setattr(engine, "_CONSOLE_BYTES", 7)
    (tmp_path / run_files.CONSOLE).write_bytes(b"1234" + engine._CONNECTING)
    with engine._connecting(tmp_path) as is_connecting:
        assert True in [is_connecting() for _ in range(10)]


@pytest.mark.parametrize(
    "line",
    [
        "start_userspace : expected SIGSTOP, got status = 9",
        "start_userspace : PTRACE_SETOPTIONS failed, errno = 3",
        "userspace - child stopped with signal 9",
    ],
)
def test_a_killed_process_of_a_guest_is_known_by_the_console(tmp_path: Path, line: str) -> None:
    """As arch/um/os-Linux/skas/process.c prints it: the first two while a fork makes the process.

    The program that forks then fails by itself.
    """
    (tmp_path / run_files.CONSOLE).write_text(f"{line}\nmptcplab: fork: Cannot allocate memory\n")
    reason = engine._killed_by_others(0, "mptcplab: fork: Cannot allocate memory", tmp_path)
    assert reason == "a process of its guest was killed; the machine may be out of memory"
