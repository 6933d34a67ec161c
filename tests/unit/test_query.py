# SPDX-License-Identifier: GPL-2.0-only
"""Queries of a store: they ask, and neither read nor write anything but its runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from mptcplab import cli
from mptcplab.errors import MptcplabError
from mptcplab.metrics import series
from mptcplab.runs import index, store
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A store with two runs, of which one has its series as a table."""
    for seed in (1, 2):
        stored.keep(tmp_path / "out", stored.scenario(seed=seed), FAST, SLOW)
    swept = tmp_path / "out" / "runs" / "mptcp0001"
    series.write(store.read_series(swept), swept / store.SERIES)
    return tmp_path / "out"


def files(place: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(place)): each.read_bytes()
        for each in place.rglob("*")
        if each.is_file()
    }


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('SECRET')",
        "FROM read_text('/etc/passwd')",
        "SELECT getenv('HOME')",
        "FROM 'SECRET'",
        "FROM read_text('SECRET')",
        "FROM read_text('OUT/runs/../../secret.csv')",
        "FROM glob('PLACE/*')",
        "FROM sniff_csv('SECRET')",
        "FROM query('FROM read_text(''SECRET'')')",
        "FROM read_csv('https://example.org/x.csv')",
        "SELECT (SELECT content FROM read_text('SECRET'))",
        "FROM out",  # a variable of the program
        "COPY runs TO 'PLACE/x.csv'",
        "COPY runs TO 'OUT/runs/mptcp0001/series.parquet'",
        "COPY (PIVOT runs ON scheduler) TO 'OUT/runs/x.csv'",
        "/* SELECT */ COPY (PIVOT runs ON scheduler) TO 'OUT/runs/x.csv'",
        "EXPLAIN ANALYZE COPY runs TO 'OUT/runs/x.csv'",
        "EXPLAIN ANALYZE COPY (PIVOT runs ON scheduler) TO 'OUT/runs/x.csv'",
        "SELECT 1; COPY runs TO 'OUT/runs/x.csv'",
        "EXPORT DATABASE 'PLACE/x'",
        "ATTACH 'PLACE/x.db'",
        "ATTACH 'OUT/runs/x.db'",
        "ATTACH ':memory:' AS x",
        "CREATE TABLE x AS FROM runs",
        "INSTALL httpfs",
        "LOAD httpfs",
        ".install httpfs",
        "SET enable_external_access = true",
        "SET threads = 1",
        "RESET lock_configuration",
        "PRAGMA enable_profiling",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "SELECT",
        "",
        " -- nothing",
        "SELECT \udcff",
    ],
)
def test_what_is_no_query_of_the_runs_is_refused_and_changes_nothing(
    sql: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\nsecret,1\n")
    index.read(out)
    before = files(tmp_path)
    for word, path in (("SECRET", secret), ("OUT", out), ("PLACE", tmp_path)):
        sql = re.sub(rf"\b{word}\b", str(path), sql)
    with pytest.raises(MptcplabError, match=r"^the query cannot be answered: ") as error:
        index.query(out, sql)
    assert "Traceback" not in str(error.value)
    assert "secret," not in str(error.value)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT seed FROM runs ORDER BY 1", [(1,), (2,)]),
        ("FROM runs SELECT count(*)", [(2,)]),
        ("WITH a AS (FROM runs) SELECT max(seed) FROM a;", [(2,)]),
        ("PIVOT runs ON seed USING count(*) GROUP BY scheduler", [("default", 1, 1)]),
        ("SELECT count(DISTINCT key) FROM series", [(1,)]),
        ("SHOW TABLES", [("runs",)]),
        ("SELECT now() > '2001-01-01', 1 AS a, 2 AS a", [(True, 1, 2)]),
        (
            "SELECT '2001-02-03 04:05:06+00'::TIMESTAMPTZ AT TIME ZONE 'UTC' AS a, 1 AS b",
            [("2001-02-03 04:05:06", 1)],
        ),
    ],
)
def test_a_query_is_answered(sql: str, rows: list[object], out: Path) -> None:
    found = index.query(out, sql).rows
    assert [tuple(str(v) if hasattr(v, "year") else v for v in row) for row in found] == rows


def test_times_with_a_time_zone_are_texts(out: Path, tmp_path: Path) -> None:
    """Python would need a package for them that nothing else needs."""
    time = "'2001-02-03 04:05:06+00'::TIMESTAMPTZ"
    answer = index.query(out, f"SELECT {time} AS a, [{time}] AS b, 1 AS a")
    assert answer.columns == ("a", "b", "a")
    assert answer.rows == [("2001-02-03 04:05:06+00", "['2001-02-03 04:05:06+00']", 1)]
    index.query(out, f"SELECT {time} AS a", tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").schema["a"] == pl.Datetime("us", "UTC")


def test_what_json_has_not_is_null_or_text(out: Path) -> None:
    sql = "SELECT MAP([DATE '2001-02-03'], ['nan'::DOUBLE]) AS a, [('inf'::DOUBLE, 1)] AS b"
    called = CliRunner().invoke(cli.cli, ["results", "query", "--json", "--out", str(out), sql])
    (found,) = json.loads(called.stdout)
    assert found["a"] == {"2001-02-03": None}
    assert None in found["b"][0] or None in found["b"][0].values()


def test_a_store_may_be_called_as_a_pattern(out: Path) -> None:
    other = out.rename(out.with_name("out[1]*'"))
    assert index.query(other, "SELECT count(DISTINCT key) FROM series").rows == [(1,)]


def test_series_that_are_broken_are_named(out: Path) -> None:
    (out / "runs" / "mptcp0001" / store.SERIES).write_bytes(b"PAR1" * 20)
    with pytest.raises(MptcplabError, match=r"mptcp0001/series\.parquet") as error:
        index.query(out, "FROM series")
    assert "\n" not in str(error.value)
