# SPDX-License-Identifier: GPL-2.0-only
"""Many runs of a tool: what is left when they are interrupted."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from checks.oracle import __main__ as command
from checks.oracle.__main__ import OracleCase
from checks.oracle.compare import Agreement
from mptcplab.lab.engine import Watch
from mptcplab.runs import experiment


def test_an_interrupt_waits_for_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    running = threading.Event()
    found_its_directory = []

    def check(case: OracleCase, _rig: Any, directory: Path, watch: Watch, _: Any) -> Agreement:
        if case.scenario != "slow":
            assert running.wait(60)
        else:
            running.set()
            assert watch.cancel.wait(60)
            found_its_directory.append(directory.exists())
        return Agreement()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(experiment, "built", lambda: (None, None))
    monkeypatch.setattr(command, "check", check)
    monkeypatch.setattr(Agreement, "add", interrupted)
    assert command.main(["--only", "first", "--scenario", "size-20k,slow", "--jobs", "2"]) == 130
    assert found_its_directory == [True]
    assert list(tmp_path.iterdir()) == []
