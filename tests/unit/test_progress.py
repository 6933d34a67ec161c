# SPDX-License-Identifier: GPL-2.0-only
"""What long work says while nobody looks at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.cli.actions import common
from tests.unit import stored
from tests.unit.synthetic import Flow


def test_hundreds_of_runs_are_a_line_every_ten_seconds_and_failures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    of = stored.scenario()
    entry = stored.keep(tmp_path, of, Flow(1000))
    failed = entry.model_copy(update={"status": "failed", "reason": "no power"})
    with common.rare_progress(300) as (_, ended):
        for count in range(1, 301):
            now_s += 0.25
            ended(count, of, failed if count == 50 else entry)
    # 75 s: seven times ten of them have passed, each after 40 runs
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("]")[0] for line in lines] == [
        *("[40/300", "[50/300", "[80/300", "[120/300", "[160/300", "[200/300", "[240/300"),
        "[280/300",
    ]
    assert lines[1].endswith("failed: no power")


def test_runs_on_kernels_by_name_say_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = stored.scenario()
    entry = stored.keep(tmp_path, of, Flow(1000))
    with common.progress(2) as (_, ended):
        ended(1, of, entry.model_copy(update={"kernel": "mine"}))
        ended(2, of, entry)
    named, current = (line.partition(":")[0] for line in capsys.readouterr().err.splitlines())
    assert named.endswith(f", mine, seed {of.seed}")
    assert current == named.replace("[1/2]", "[2/2]").replace(", mine", "")


def test_what_is_counted_is_a_line_for_every_ten(capsys: pytest.CaptureFixture[str]) -> None:
    with common.counting("charts", 26) as one_more:
        for _ in range(26):
            one_more()
    assert capsys.readouterr().err == "charts: 10 of 26\ncharts: 20 of 26\n"
