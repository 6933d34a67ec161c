# SPDX-License-Identifier: GPL-2.0-only
"""The table of all runs: made from their directories, once from each, and read by other tools."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas
import polars as pl
import pytest

from mptcplab.errors import MptcplabError
from mptcplab.runs import documents, index, store
from tests.unit import stored
from tests.unit.stored import BUILD, fail
from tests.unit.synthetic import FAST, SLOW, Flow


def kept(out: Path, seeds: int = 2, first: int = 1) -> list[str]:
    """Store some runs; gives their keys."""
    for seed in range(first, first + seeds):
        stored.keep(out, stored.scenario(seed=seed), FAST, SLOW)
    return sorted(each.name for each in (out / "runs").iterdir())


def test_a_row_has_what_the_run_is_and_what_it_did(tmp_path: Path) -> None:
    (key, _) = kept(tmp_path)
    file = tmp_path / "runs" / key / "result.json"
    entry = json.loads(file.read_text())
    table = index.read(tmp_path)
    row = table.row(by_predicate=pl.col("key") == key, named=True)
    names = ("scheduler", "cc", "seed", "status")
    assert [row[name] for name in names] == ["default", "cubic", 1, "ok"]
    assert (row["workload"], row["direction"], row["duration_s"]) == ("bulk", "up", 2.0)
    assert row["goodput_bps"] == entry["metrics"]["goodput_bps"]
    fast, slow = (path["name"] for path in entry["paths"])
    assert row[f"{fast}.rate_bps"] == 40_000_000
    assert row[f"{slow}.goodput_bps"] == entry["paths"][1]["goodput_bps"]
    assert row["kernel"] == BUILD["kernel"]
    # an unknown key is no column
    entry["metrics"] |= {"luck": 3}
    entry["paths"][0] |= {"histogram": {"1": 2}, "marks": [1, 2], "luck": 3}
    file.write_text(json.dumps(entry))
    (tmp_path / index.TABLE).unlink()
    assert index.read(tmp_path).equals(table)


def test_what_is_in_the_table_is_not_read_again(tmp_path: Path) -> None:
    first = kept(tmp_path)
    before = index.read(tmp_path)
    for key in first:
        # the table would not take this
        (tmp_path / "runs" / key / "scenario.json").write_text("{}")
    kept(tmp_path, 1, first=3)
    after = index.read(tmp_path)
    assert after["seed"].to_list() == [1, 2, 3]
    assert before.equals(after.head(2))
    (tmp_path / "runs.parquet").unlink()
    message = (
        r"scenario.json: not the scenario of a run: transport: Field required; remove .*/runs/"
    )
    with pytest.raises(MptcplabError, match=message):
        index.read(tmp_path)


def test_no_file_of_a_run_is_opened_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read = documents._bytes

    def counted(file: Path | str) -> bytes:
        opened.append(str(Path(file).relative_to(tmp_path)))
        return read(file)

    monkeypatch.setattr(documents, "_bytes", counted)
    of_a_run = {"result.json", "scenario.json", "build.json"}
    before: set[str] = set()
    for seeds in (2, 1):
        new = set(kept(tmp_path, seeds, first=len(before) + 1)) - before
        before |= new
        fail(tmp_path, f"0{seeds}", stored.scenario(seed=100 + seeds))
        opened.clear()
        index.read(tmp_path)
        expected = [f"runs/{key}/{name}" for key in new for name in of_a_run]
        assert sorted(opened) == sorted([*expected, f"failed/0{seeds}.json"])
        opened.clear()
        table = index.read(tmp_path)
        index.overview(table)
        index.query(tmp_path, "SELECT scheduler, median(goodput_bps) FROM runs GROUP BY 1")
        assert opened == []


def suggested() -> list[str]:
    """The queries by scheduler that pages, help texts and the notebook suggest."""
    form = re.compile(
        r"SELECT (?:\w+, )*scheduler, [\w()/. ]+ FROM [\w'/.-]+[\w ]* "
        r"GROUP BY (?:1|ALL ORDER BY ALL)"
    )
    root = Path(__file__).parents[2]
    places = ("docs/*.md", "README.md", "src/mptcplab/**/*.py", "examples/*.ipynb")
    files = sorted(file for place in places for file in root.glob(place))
    return sorted({query for file in files for query in form.findall(file.read_text())})


def kept_with_plain_tcp(out: Path, *seeds: int) -> None:
    """In all 5000 bytes per ms, 40 Mbit/s; alone the paths have 1000, 8 Mbit/s."""
    for seed in seeds:
        whole = stored.scenario(seed=seed)
        stored.keep(out, whole, FAST, SLOW)
        for name in ("fast", "slow"):
            stored.keep(out, whole.single_path(name), Flow(1000))


@pytest.mark.parametrize("query", suggested())
def test_a_suggested_query_separates_plain_tcp_from_default(query: str, tmp_path: Path) -> None:
    kept_with_plain_tcp(tmp_path, 1, 2, 3)
    axes = {name: [7] * 9 for name in ("rate", "delay")}
    keys = [each.name for each in (tmp_path / "runs").iterdir()]
    index.write_table(pl.DataFrame({"key": keys, **axes}), tmp_path / index.POINTS)
    index.read(tmp_path)
    if "parquet" in query:
        rows = duckdb.execute(query.replace("mptcplab-out", str(tmp_path))).fetchall()
    else:
        rows = index.query(tmp_path, query).rows
    mbit = {row[-2]: row[-1] / (1e6 if row[-1] > 1e6 else 1) for row in rows}
    assert mbit == {"default": pytest.approx(40, rel=0.01), None: pytest.approx(8, rel=0.01)}


def test_the_tables_of_the_page_on_python_do_not_either(tmp_path: Path) -> None:
    """As `both.table().group_by(...)` of docs/python.md, over runs whose figures are known."""
    # results-store.md; sweep.md; results query; the notebook; python.md, sweep and its last line
    assert len(suggested()) == 5
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    (grouped,) = re.findall(r"^both\.table\(\)(\.group_by\(.*\))$", page, re.M)
    kept_with_plain_tcp(tmp_path, 1)
    found = eval(f"table{grouped}", {"table": index.read(tmp_path), "pl": pl})
    assert dict(found.iter_rows()) == {
        "default": pytest.approx(40e6, rel=0.01),
        None: pytest.approx(8e6, rel=0.01),
    }


def test_a_run_that_is_removed_is_no_row(tmp_path: Path) -> None:
    first, second = kept(tmp_path)
    index.read(tmp_path)
    # a table that is not whole is made anew
    (tmp_path / "runs.parquet").write_bytes(b"PAR1")
    assert sorted(index.read(tmp_path)["key"]) == [first, second]
    (tmp_path / "runs" / first).rename(tmp_path / "elsewhere")
    assert index.read(tmp_path)["key"].to_list() == [second]


def test_a_failed_run_has_its_reason_until_it_succeeds(tmp_path: Path) -> None:
    (key,) = kept(tmp_path, 1)
    fail(tmp_path, "0123", stored.scenario(seed=7))
    table = index.read(tmp_path)
    assert table.filter(status="failed").select("key", "seed", "reason").rows() == [
        ("0123", 7, "no power")
    ]
    assert table.filter(status="failed")["goodput_bps"].to_list() == [None]
    (tmp_path / "runs" / key).rename(tmp_path / "runs" / "0123")
    store.Store(tmp_path).forget_failed("0123")
    assert index.read(tmp_path).select("key", "status").rows() == [("0123", "ok")]
    # one that failed when it was made again is the former one
    fail(tmp_path, "0123", stored.scenario(seed=1))
    (tmp_path / index.TABLE).unlink()
    for _ in range(2):
        assert index.read(tmp_path).select("key", "status").rows() == [("0123", "ok")]


def test_a_run_may_succeed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path)
    before = index.read(tmp_path)
    # what was listed is gone when it is read
    monkeypatch.setattr(store.Store, "failed", lambda _self: ["0123"])
    assert index.read(tmp_path).equals(before)


def test_a_query_is_of_a_single_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path)
    read = index.read

    def then_written(out: Path) -> pl.DataFrame:
        found = read(out)
        (out / index.TABLE).write_bytes(b"PAR1")
        return found

    monkeypatch.setattr(index, "read", then_written)
    assert index.query(tmp_path, "SELECT count(*) FROM runs").rows == [(2,)]


def test_series_are_those_of_the_runs_that_have_ended(tmp_path: Path) -> None:
    for key in kept(tmp_path):
        pl.DataFrame({"value": [1.0]}).write_parquet(tmp_path / "runs" / key / store.SERIES)
    under_way = tmp_path / "runs" / ".partial-0123-0123abcd"
    under_way.mkdir()
    (under_way / store.SERIES).write_bytes(b"PAR1")
    assert index.query(tmp_path, "SELECT count(*) FROM series").rows == [(2,)]


def test_what_sweeps_varied_stands_beside(tmp_path: Path) -> None:
    first, second = kept(tmp_path)
    index.keep_points(tmp_path, [{"key": first, "alone": [], "rate": 10}])
    assert index.read(tmp_path).select("key", "rate").rows() == [(first, 10), (second, None)]
    # another sweep shares a run with the first one
    index.keep_points(
        tmp_path, [{"key": each, "alone": [], "path.a.loss": "1%"} for each in (first, second)]
    )
    for _ in range(2):
        table = index.read(tmp_path)
        assert table.select("key", "rate", "path.a.loss").rows() == [
            (first, 10, "1%"),
            (second, None, "1%"),
        ]


def test_a_run_at_two_points_has_a_row_for_each_however_often_it_is_swept(tmp_path: Path) -> None:
    """As with two names of one kernel, or a value that is given twice."""
    key, other = kept(tmp_path)
    names = ("6.12", "mine", "mine")
    points: list[dict[str, object]] = [{"key": key, "alone": [], "name": name} for name in names]
    for _ in range(3):
        index.keep_points(tmp_path, points)
        rows = index.read(tmp_path).select("key", "name").sort("key", "name").rows()
        assert rows == sorted([(key, "6.12"), (key, "mine"), (other, None)])
    index.keep_points(tmp_path, points[:1])
    assert index.read(tmp_path).filter(key=key)["name"].to_list() == ["6.12"]


def test_the_benefit_is_reported_by_the_baselines(tmp_path: Path) -> None:
    """40 and 10 Mbit/s alone, and both together: 1."""
    base = stored.scenario()
    names = [path.name for path in base.paths]
    run = stored.keep(tmp_path, base, FAST, SLOW)
    for name, flow in zip(names, (FAST, SLOW), strict=True):
        stored.keep(tmp_path, base.single_path(name), replace(flow, path=1))
    keys = {
        (row["path"]): row["key"]
        for row in index.read(tmp_path).select("key", "path").iter_rows(named=True)
    }
    point = {"key": keys[None], "alone": [keys[name] for name in names], "x": 1}
    index.keep_points(tmp_path, [point])
    table = index.read(tmp_path)
    alone = table.filter(pl.col("path").is_not_null())["goodput_bps"].to_list()
    whole = run.metrics.goodput_bps or 0
    (benefit,) = table.filter(key=keys[None])["aggregation_benefit"]
    assert benefit == pytest.approx((whole - max(alone)) / min(alone))
    assert table.filter(pl.col("path").is_not_null())["aggregation_benefit"].to_list() == [None] * 2


def test_other_tools_read_the_table_without_this_project(tmp_path: Path) -> None:
    kept(tmp_path)
    fail(tmp_path, "0123", stored.scenario(seed=7))
    index.read(tmp_path)
    file = tmp_path / "runs.parquet"
    expected = [(7, "failed"), (1, "ok"), (2, "ok")]
    assert pl.read_parquet(file).select("seed", "status").rows() == expected
    frame = pandas.read_parquet(file)
    assert list(frame[["seed", "status"]].itertuples(index=False, name=None)) == expected
    assert duckdb.execute(f"SELECT seed, status FROM '{file}'").fetchall() == expected
    ((mean,),) = duckdb.execute(f"SELECT avg(goodput_bps) FROM '{file}'").fetchall()
    assert mean == pytest.approx(frame["goodput_bps"].mean())


def test_columns_have_the_same_types_whatever_the_runs_have(tmp_path: Path) -> None:
    fail(tmp_path / "failed", "0123", stored.scenario())
    kept(tmp_path / "ok")
    failed, ok = (index.read(tmp_path / name).schema for name in ("failed", "ok"))
    assert {name: ok[name] for name in failed} == dict(failed)


def test_where_there_are_no_runs_it_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match="no runs there; accepted is an output directory"):
        index.read(tmp_path / "none")
    assert not (tmp_path / "none").exists()
