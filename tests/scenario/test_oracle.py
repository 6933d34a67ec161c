# SPDX-License-Identifier: GPL-2.0-only
"""A part of `make oracle`: what the schedulers decide is what their sources would have decided."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from checks.oracle import peekaboo
from checks.oracle.__main__ import OracleCase, check
from checks.oracle.compare import judge_file
from checks.oracle.models import FORMS
from checks.oracle.state import Asked, read
from mptcplab.lab.engine import Rig

SCENARIOS = ("size-500k", "window-64k", "three-outage")


@pytest.mark.parametrize(("scheduler", "scenario"), list(itertools.product(FORMS, SCENARIOS)))
def test_every_decision_is_that_of_the_source(
    scheduler: str, scenario: str, rig: Rig, tmp_path: Path
) -> None:
    found = check(OracleCase(scenario, scheduler), rig, tmp_path)
    assert not found.failures
    # 500 KB are 352 segments, each of which was asked for; the others send more
    assert found.decisions >= 352
    assert not found.differs, str(found.first)


class Exact(peekaboo.LinUcb):
    """An arm of peekaboo that also solves A theta = b from the beginning, in floating point."""

    compared = 0

    def __init__(self) -> None:
        super().__init__()
        self.a, self.exact_b = np.eye(6), np.zeros(6)

    def learn(self, x: list[int], reward: int) -> None:
        super().learn(x, reward)
        rates = np.array(x) / 2**28
        self.a += np.outer(rates, rates)
        self.exact_b += reward / 2**32 * rates

    def expected(self, x: list[int]) -> int:
        found = super().expected(x)
        exact = float(np.linalg.solve(self.a, self.exact_b) @ (np.array(x) / 2**28))
        # of the smallest ones, what six terms lose by rounding is more
        assert found / 2**40 == pytest.approx(exact, rel=2**-15, abs=6 * 2**-40)
        Exact.compared += exact > 0
        return found


class Forgetful(peekaboo.LinUcb):
    """An arm of peekaboo that expects nothing, whatever it has learnt."""

    def expected(self, _: list[int]) -> int:
        return 0


def test_a_wrong_model_of_peekaboo_is_noticed(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = "peekaboo:learn=20:relearn=100"
    case = OracleCase("three-loss", form)
    monkeypatch.setattr(peekaboo, "LinUcb", Exact)
    found = check(case, rig, tmp_path)
    assert not found.failures
    assert not found.differs, str(found.first)
    assert Exact.compared > 500
    for other in (
        "peekaboo:learn=20:relearn=101",
        "peekaboo:learn=21:relearn=100",
        f"{form}:alpha_permille=0",
        f"{form}:stay_wait_percent=72",
        f"{form}:own_packet=on",
    ):
        assert judge_file(tmp_path / case.states, other).differs, other
    monkeypatch.setattr(peekaboo, "LinUcb", Forgetful)
    assert judge_file(tmp_path / case.states, form).differs


def test_every_usable_subflow_has_a_one_way_delay_from_its_handshake_on(
    rig: Rig, tmp_path: Path
) -> None:
    # the server sends, so that a handshake ends with the client's ACK there; and the client
    for scenario, name in (("down", "server.states"), ("three", "client.states")):
        out = tmp_path / scenario
        out.mkdir()
        check(OracleCase(scenario, "thinstream"), rig, out)
        asked = [each for each in read(out / name, "thinstream") if isinstance(each, Asked)]
        usable = [each for one in asked for each in one.question.subflows if each.usable]
        assert len({each.id for each in usable}) >= 2
        assert all(each.owd_us for each in usable)


@pytest.mark.usefixtures("lab_kernel", "lab_guest")
def test_an_interrupt_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "checks.oracle", "--jobs", "1", "--only", "first"]
    process = subprocess.Popen(
        [*command, "--scenario", "size-20k,slow,far"],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr
    assert process.stderr.readline().startswith("1 of 3 runs")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
