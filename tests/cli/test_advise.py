# SPDX-License-Identifier: GPL-2.0-only
"""Advice as a person asks for it, on the real kernel with a small catalogue."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from mptcplab.lab.kernel import KernelBuild
from tests.cli.calls import mptcplab
from tests.interrupts import interrupted

PATHS = ("--path", "a:20mbit,10ms", "--path", "b:10mbit,20ms")
#: Two pairs, two variations, and a run for throughput, one for latency, two for resilience.
SMALL = (*PATHS, "-s", "minrtt", "--cc", "cubic", "--variations", "2", "--duration", "3s")
RUNS = 2 * 2 * (1 + 1 + 2)


def finalists(goal: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {each["name"]: each["by_seed"] for each in goal["finalists"]}


def test_advice_is_text_and_document_and_runs_once(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = mptcplab("advise", *SMALL, "--out", out)
    for head in ("For throughput: ", "For latency: ", "For resilience: ", "For all of it: "):
        assert head in done.stdout
    assert "sysctl -w net.mptcp.scheduler=" in done.stdout
    assert f"picture:  {out / 'advice.png'}" in done.stdout
    assert max(map(len, done.stdout.partition("picture:")[0].splitlines())) <= 80
    # there are so few that the first stage has all of them
    first = "stage 1 of 5, congestion controls: 1 with minrtt and default, variations: 2"
    assert f"{first}: {RUNS} runs\n" in done.stderr
    assert not re.search("[2-4] of 5", done.stderr)
    # and of minrtt with the package's adapter, if a kernel for that is built
    assert len(list(out.glob("runs/*"))) in (RUNS, RUNS + 8)

    document = json.loads((out / "advice.json").read_text())
    assert document["build"]["kernel"] == lab_kernel.id
    assert document["runs"] == RUNS
    goals = document["goals"]
    for goal in goals.values():
        assert set(finalists(goal)) == {"default, cubic", "minrtt, cubic"}
        assert goal["chosen"] in finalists(goal)
    for figures in finalists(goals["throughput"]).values():
        # 1424 of 1514 bytes are data, 94.05 %; a queue of a bandwidth-delay product lets cubic
        # fill paths without losses, but for the end of slow start, after the warm-up of 300 ms
        assert all(75 < value < 94.1 for value in figures.values())
    for name, figures in finalists(goals["latency"]).items():
        # a delay is at least that of the faster path, 10 ms less 20 %
        assert all(value > 8 for value in figures.values()), name
    for name, figures in finalists(goals["resilience"]).items():
        # while one of two paths is lost, TCP waits for at least its least timeout of 200 ms
        assert all(value > 200 for value in figures.values()), name

    again = mptcplab("advise", *SMALL, "--out", out, "--json")
    assert json.loads(again.stdout) == document
    assert f"{RUNS} runs, {RUNS} of them there" in again.stderr
    assert "[1/" not in again.stderr

    page = tmp_path / "report.html"
    mptcplab("report", out, "--out", page)
    assert "minrtt" in page.read_text()


@pytest.mark.usefixtures("lab_kernel")
def test_quick_advice_on_one_goal(tmp_path: Path) -> None:
    asked = (*PATHS, "-s", "minrtt", "--cc", "cubic", "--goal", "throughput", "--quick")
    done = mptcplab("advise", *asked, "--out", tmp_path)
    # two pairs: two variations of all, then 4 of the best and 5 of the finalists
    assert "schedulers: 1, congestion controls: 1, variations: 5: up to 10 runs" in done.stderr
    assert "Quick: runs of 6s or more, the best schedulers" in " ".join(done.stdout.split())
    assert "For throughput: " in done.stdout
    assert "For latency: " not in done.stdout
    document = json.loads((tmp_path / "advice.json").read_text())
    assert list(document["goals"]) == ["throughput"]
    assert document["goals"]["throughput"]["workload"]["duration_ns"] == 6 * 10**9
    assert document["runs"] == 10


@pytest.mark.usefixtures("lab_kernel")
def test_what_was_interrupted_goes_on_where_it_stopped(tmp_path: Path) -> None:
    few, runs = (*SMALL, "--variations", "1"), RUNS // 2
    ended = interrupted("advise", *few, out=tmp_path)
    assert ended.returncode == 128 + signal.SIGINT
    assert ended.stdout == ""
    assert "interrupted; finished runs are kept" in ended.stderr
    assert not (tmp_path / "advice.json").exists()
    kept = len(list(tmp_path.glob("runs/*")))
    assert 2 <= kept < runs

    done = mptcplab("advise", *few, "--out", tmp_path, "--json")
    assert f"{runs} runs, {kept} of them there" in done.stderr
    assert json.loads(done.stdout)["runs"] == runs


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (PATHS[:2], "over a alone there is nothing to schedule"),
        ((*PATHS, "--uncertain", "20"), '--uncertain\n  "20": no % sign'),
        (
            (*PATHS, "--uncertain", "dsl=20%"),
            "unknown key or path: keys are rate, delay, loss, queue; paths and links are a, b",
        ),
        ((*PATHS, "--scheduler", "minrt"), 'did you mean "minrtt"'),
        ((*PATHS, "--workload", "vidio"), "vidio"),
        (
            (*PATHS, "--goal", "latency", "--give-up", "latency"),
            "latency is the goal, and given up; leave one of them out",
        ),
        (
            (*PATHS, "--event", "3s:b:close", "--goal", "resilience"),
            '--goal\n  "resilience": these paths can be judged for throughput and latency',
        ),
        ((), "1 to 8 paths are needed"),
    ],
)
def test_mistakes_come_first(tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    out = tmp_path / "out"
    done = mptcplab("advise", *arguments, "--out", out, status=2)
    assert expected in done.stderr
    assert done.stdout == ""
    assert not out.exists()
