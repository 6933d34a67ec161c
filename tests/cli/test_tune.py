# SPDX-License-Identifier: GPL-2.0-only
"""Tuning as a person asks for it, on the real kernel."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path

import pytest

from mptcplab.lab.kernel import KernelBuild
from tests.cli.calls import mptcplab
from tests.interrupts import interrupted

#: A fast path that is lost for good if little may wait in it, and one that is worth little.
SCENARIO = """
[[path]]
name = "near"
rate = "8mbit"
delay = "10ms"
queue = 100
[[path]]
name = "far"
rate = "8mbit"
delay = "100ms"
queue = 100
[workload]
kind = "requests"
response = "30KB"
interval = "100ms"
duration = "3s"
"""
TRIALS = 4


def test_an_interrupted_search_resumes_and_judges_on_other_seeds(
    lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    file, out = tmp_path / "home.toml", tmp_path / "out"
    file.write_text(SCENARIO)
    words = ["tune", "overflow", "--parameter", "queue_ms=0..400", "--scenario", str(file)]
    words += ["--count", "2", "--trials", str(TRIALS)]

    ended = interrupted(*words, out=out)
    assert ended.returncode == 128 + signal.SIGINT
    assert "interrupted; finished runs are kept" in ended.stderr
    assert not (out / "tune.json").exists()
    kept = len(list(out.glob("runs/*")))

    done = mptcplab(*words, "--out", out)
    assert "tuning queue_ms: 0..400 ms\n" in done.stderr
    assert f"trial {TRIALS} of {TRIALS}: " in done.stderr
    assert f"{TRIALS} trials on 2 scenarios; the best ones:\n" in done.stdout
    assert (out / "tune.png").is_file()
    made = len(list(out.glob("runs/*")))
    assert made > kept

    again = mptcplab(*words, "--out", out, "--json")
    assert len(list(out.glob("runs/*"))) == made
    document = json.loads(again.stdout)
    assert document == json.loads((out / "tune.json").read_text())
    assert document["build"]["kernel"] == lab_kernel.id
    untuned, *trials = document["trials"]
    assert untuned["gains"] == {"1": 0, "2": 0}
    assert {0 <= each["values"]["queue_ms"] <= 400 for each in trials} == {True}
    best = max(document["trials"], key=lambda each: each["gain"])
    assert document["best"] == best["label"]
    if best["number"]:
        held_out = document["held_out"]
        assert held_out["better"] + held_out["worse"] + held_out["same"] == 2
        # the gain of a seed is that of the figures of its two runs
        label = best["label"]
        query = (
            "SELECT scheduler, seed, completion_ms_p99 AS p99 FROM runs "
            f"WHERE scheduler IN ('overflow', '{label}') AND seed > 2"
        )
        rows = json.loads(mptcplab("results", "query", query, "--out", out, "--json").stdout)
        p99 = {(row["scheduler"], row["seed"]): row["p99"] for row in rows}
        ratio = p99["overflow", 3] / p99[label, 3]
        assert held_out["gains"]["1"] == pytest.approx(
            math.log(min(max(ratio, 1 / 8), 8)), abs=1e-6
        )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("overflw",), 'did you mean "overflow"'),
        (("default",), "there is nothing to tune"),
        (("overflow", "-p", "queue_ms=9..1"), "LOW is below HIGH"),
        (("overflow", "--held-out", "training"), "nothing would be held out"),
        (("overflow", "--scenario", "none.toml"), "none.toml"),
        (("overflow", "--trials", "0"), "0 is not in the range"),
        ((), "Missing argument"),
    ],
)
def test_mistakes_come_first(tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    out = tmp_path / "out"
    done = mptcplab("tune", *arguments, "--out", out, status=2)
    assert expected in done.stderr
    assert done.stdout == ""
    assert not out.exists()
