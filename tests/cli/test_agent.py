# SPDX-License-Identifier: GPL-2.0-only
"""Agents on the command line: --agent FILE.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import mptcplab

ROOT = Path(__file__).parents[2]
RUN = ("run", "--path", "a:20mbit,10ms", "--path", "b:10mbit,40ms", "--duration", "1s")

pytestmark = pytest.mark.usefixtures("builds")


def test_a_file_decides_and_is_named_in_the_run(tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "agent.py")
    done = mptcplab(*RUN, "-s", "agent", "--agent", example, "--out", str(tmp_path))
    assert "no agent" not in done.stderr
    (scenario,) = tmp_path.glob("runs/*/scenario.json")
    assert json.loads(scenario.read_text())["agent"].startswith("agent-")
    # a run of that scenario has no agent any more, and says so
    again = mptcplab("run", str(scenario), "--out", str(tmp_path))
    assert "agent decides as minrtt: there is no agent" in again.stderr
    agents = [json.loads(each.read_text()).get("agent") for each in tmp_path.glob("runs/*/scen*")]
    assert len(agents) == 2
    assert None in agents


def test_a_mistake_of_the_agent_is_shown_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def decide(question):\n    return 1 / 0\n")
    done = mptcplab(*RUN, "-s", "agent", "--agent", str(file), "--out", str(tmp_path), status=1)
    assert f"the agent {file}:2: ZeroDivisionError: division by zero" in done.stderr
    assert not list(tmp_path.glob("runs/*/*"))


def test_somebody_has_to_ask_it(tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "agent.py")
    done = mptcplab(*RUN, "-s", "ecf", "--agent", example, "--out", str(tmp_path), status=2)
    assert "ecf: nobody asks an agent; use the scheduler agent" in done.stderr
