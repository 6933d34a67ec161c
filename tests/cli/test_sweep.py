# SPDX-License-Identifier: GPL-2.0-only
"""`mptcplab sweep`, `compare --sweep` and `results`, as a person uses them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.calls import mptcplab

PATHS = ("--path", "wifi:5mbit,2ms", "--path", "lte:5mbit,5ms")


pytestmark = pytest.mark.usefixtures("builds")


def test_a_comparison_is_swept_and_asked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["compare", *PATHS, "--duration", "100ms", "--sample-interval", "5ms"]
    command += ["--scheduler", "default,minrtt", "--sweep", "path.lte.delay=5ms..20ms:log3"]
    command += ["--out", str(out)]
    dry = mptcplab(*command, "--dry-run")
    # lte alone at 3 delays and wifi alone
    assert "6, at 3 points, and 4 of plain TCP" in dry.stdout
    assert not out.exists()

    done = mptcplab(*command, "--jobs", 2)
    assert "10, of which 0 were stored and 10 made now" in done.stdout
    assert f"mptcplab results query --out {out} 'SELECT" in done.stdout
    assert "10/10 runs" in done.stderr
    assert "of which 10 were stored and 0 made now" in mptcplab(*command).stdout

    sql = 'SELECT scheduler, "path.lte.delay" AS delay, aggregation_benefit FROM runs'
    sql += " WHERE transport = 'mptcp' ORDER BY ALL"
    rows = json.loads(mptcplab("results", "query", "--out", out, "--json", sql).stdout)
    assert [(row["scheduler"], row["delay"]) for row in rows] == [
        (name, delay) for name in ("default", "minrtt") for delay in ("10ms", "20ms", "5ms")
    ]
    assert all(-1 <= row["aggregation_benefit"] <= 1.2 for row in rows)
    text = mptcplab("results", "query", "--out", out, "--csv", sql).stdout
    assert next(csv.DictReader(io.StringIO(text)))["scheduler"] == "default"
    file = tmp_path / "answer.parquet"
    written = mptcplab("results", "query", "--out", out, "--parquet", file, sql).stdout
    assert written == f"written: {file}\n"
    assert pl.read_parquet(file).height == 6
    listed = mptcplab("results", "list", "--out", out).stdout
    assert mptcplab("results", "list", out).stdout == listed
    both = mptcplab("results", "list", out, "--out", tmp_path, status=2)
    assert f"OUT is {out}, and --out is {tmp_path}" in both.stderr
    assert "minrtt" in listed
    wrong = mptcplab("results", "query", "--out", out, "SELECT goodput FROM runs", status=1)
    assert "the query cannot be answered: Binder Error" in wrong.stderr


def test_a_run_that_fails_is_reported_and_the_others_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["compare", *PATHS, "--duration", "100ms", "--sample-interval", "5ms"]
    command += ["--no-baseline", "--sweep", "path.lte.loss=0%,99.9999999%", "--out", str(out)]
    command += ["--start", "established"]  # a subflow that never comes fails the run
    done = mptcplab(*command, "--json", status=1)
    document = json.loads(done.stdout)
    assert (document["total"], document["made"], len(document["reasons"])) == (2, 2, 1)
    (reason,) = document["reasons"].values()
    assert "path lte" in reason
    again = mptcplab(*command, status=1)
    assert "failed:  1 before; --retry-failed runs them again" in again.stdout
    assert "1 of them" not in mptcplab("results", "list", "--out", out).stdout


def test_wrong_sweeps_are_reported_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('[scenario]\nscheduler = "{name}"\n[grid]\nnames = ["minrtt"]\n')
    done = mptcplab("sweep", file, status=2)
    assert f"2 mistakes in {file}" in done.stderr
    assert 'unknown name name; did you mean "names"?' in done.stderr
    done = mptcplab("compare", *PATHS, "--sweep", "path.lte.delay", status=2)
    assert "a swept value is KEY=VALUE,VALUE" in done.stderr
    done = mptcplab("compare", *PATHS, "--scheduler", "default,minrtt", "--dry-run")
    # of each of two schedulers 8 seeds, as compare would run them, and of each of two paths
    assert "16, at one point, and 16 of plain TCP over a path alone" in done.stdout
    assert "to run:   32\n" in done.stdout
    done = mptcplab("compare", *PATHS, "--dry-run", "--plan", status=2)
    assert "--plan is for a single setting" in done.stderr
    done = mptcplab("results", "list", "--out", tmp_path / "none", status=1)
    assert "no runs there" in done.stderr
