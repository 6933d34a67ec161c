# SPDX-License-Identifier: GPL-2.0-only
"""The leaderboard as a person asks for it, on the real kernel with two schedulers."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from mptcplab.lab.kernel import KernelBuild
from tests.cli.calls import mptcplab
from tests.interrupts import interrupted

#: Two scenarios, with bulk data and with frames, and two schedulers; TCP over each of two paths.
SMALL = ("--set", "training", "--count", "2", "--only", "-s", "minrtt")
RUNS = 2 * 2 + 2


def test_an_interrupted_ranking_resumes(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dry = mptcplab("leaderboard", *SMALL, "--out", out, "--dry-run")
    assert "runs:     4, at 2 points, and 2 of plain TCP over a path alone" in dry.stdout
    assert not out.exists()

    ended = interrupted("leaderboard", *SMALL, out=out)
    assert ended.returncode == 128 + signal.SIGINT
    assert ended.stdout == ""
    assert "interrupted; finished runs are kept" in ended.stderr
    assert not (out / "leaderboard.json").exists()
    kept = len(list(out.glob("runs/*")))
    assert 2 <= kept < RUNS

    done = mptcplab("leaderboard", *SMALL, "--out", out)
    assert f"stored:   {kept}\nto run:   {RUNS - kept}\nexpected: " in done.stderr
    assert f"{RUNS - kept}/{RUNS - kept} runs" in done.stderr
    lines = done.stdout.partition("picture:")[0].splitlines()
    # a command is not folded
    assert max(len(line) for line in lines if "mptcplab compare" not in line) <= 100
    assert "minrtt is " in done.stdout
    assert f"picture:  {out / 'leaderboard.png'}\n" in done.stdout
    assert (out / "leaderboard.png").is_file()

    again = mptcplab("leaderboard", *SMALL, "--out", out, "--json")
    assert "to run:   0\n" in again.stderr
    document = json.loads(again.stdout)
    assert document == json.loads((out / "leaderboard.json").read_text())
    assert document["build"]["kernel"] == lab_kernel.id
    assert {each["name"] for each in document["standings"]} == {"default", "minrtt"}
    assert max(each["score"]["value"] for each in document["standings"]) <= 1
    bulk, frames = document["played"]
    # over 54.5 Mbit/s together, of which 1424 of 1514 bytes are data; over the best alone less
    assert 0 < bulk["tcp"] < 50e6
    assert all(1e6 < goodput < 0.941 * 54.5e6 for goodput in bulk["figures"].values())
    assert all(0 <= share <= 100 for share in frames["figures"].values())
    for each in document["standings"]:
        for number, part in each["worst"]["scenarios"].items():
            merits = document["played"][int(number) - 1]["merits"]
            assert part == pytest.approx(merits[each["name"]] / max(merits.values()))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--scheduler", "minrt"), 'did you mean "minrtt"'),
        (("--scheduler", "./none.c"), "none.c"),
        (("--only",), "--only needs --scheduler or --kernel"),
        (("--count", "601"), "601 is not in the range 1<=x<=600"),
        (("--chance", "25"), "25 is not in the range 0<=x<=24"),
        (("--set", "verdict"), "'verdict' is not one of 'judged', 'training', nor a seed"),
        (("--set", "2"), "2 is not in the range 3<=x<=4294967295"),
        (("--docs", "none.md"), "'none.md' does not exist"),
    ],
)
def test_mistakes_come_first(tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    out = tmp_path / "out"
    done = mptcplab("leaderboard", *arguments, "--out", out, status=2)
    assert expected in done.stderr
    assert done.stdout == ""
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments", [("--count", "149"), ("--set", "training"), ("--only", "-s", "minrtt")]
)
def test_a_page_needs_a_quarter_of_the_set(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    file = tmp_path / "page.md"
    file.write_text("as before")
    done = mptcplab("leaderboard", "--docs", file, *arguments, status=2)
    assert (
        "--docs is for the whole catalogue on 150 scenarios or more of the set judged"
        in " ".join(done.stderr.split())
    )
    assert file.read_text() == "as before"
