# SPDX-License-Identifier: GPL-2.0-only
"""Somebody else's store: its runs can be looked at, and nothing is written to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.read_only import called, read_only
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW


@pytest.fixture
def out(tmp_path: Path) -> Path:
    stored.keep(tmp_path / "out", stored.scenario(), FAST, SLOW)
    stored.fail(tmp_path / "out", "0123", stored.scenario(seed=2))
    return tmp_path / "out"


@pytest.mark.parametrize("has_table", [False, True])
def test_a_store_that_cannot_be_written_to_is_looked_at(
    out: Path, tmp_path: Path, has_table: bool
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    if has_table:
        assert called(here, "results", "list", "--out", str(out)).returncode == 0
        assert (out / "runs.parquet").exists()
    before = sorted(out.rglob("*"))
    with read_only(out):
        listed = called(here, "results", "list", "--json", "--out", str(out))
        assert (listed.stderr, listed.returncode) == ("", 0)
        assert [(row["runs"], row["failed"]) for row in json.loads(listed.stdout)] == [(2, 1)]
        sql = "SELECT seed, status FROM runs ORDER BY seed"
        asked = called(here, "results", "query", "--json", "--out", str(out), sql)
        assert (asked.stderr, asked.returncode) == ("", 0)
        assert [row["status"] for row in json.loads(asked.stdout)] == ["ok", "failed"]
        for words in (["show", "--out", "pictures"], ["report", "--figures", "f"]):
            done = called(here, *words, str(out))
            assert (done.stderr, done.returncode) == ("", 0)
        assert [file.suffix for file in (here / "pictures").iterdir()] == [".png"]
        refused = called(here, "show", str(out))
        assert refused.returncode == 1
        assert refused.stderr.endswith("run.png: Permission denied\n")
        refused = called(here, "results", "fetch", "--out", str(out))
        assert (refused.returncode, refused.stderr) == (
            1,
            f"mptcplab: cannot write to {out}/runs: Permission denied\n",
        )
    assert sorted(out.rglob("*")) == before


def test_a_place_without_runs_is_not_made_one(tmp_path: Path) -> None:
    done = called(tmp_path, "results", "list", "--out", "nowhere")
    message = "mptcplab: nowhere: no runs there; accepted is an output directory\n"
    assert (done.returncode, done.stderr) == (1, message)
    assert list(tmp_path.iterdir()) == []
