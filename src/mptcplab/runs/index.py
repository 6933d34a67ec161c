# SPDX-License-Identifier: GPL-2.0-only
"""All runs of a store as one table, OUT/runs.parquet, one row each: docs/results-store.md.

The runs' directories are authoritative. The table is made from them, and runs that it already has
are not read again. What sweeps varied is in OUT/points.parquet, by the keys of the runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab import extras, files
from mptcplab.errors import MptcplabError
from mptcplab.metrics import series
from mptcplab.metrics.compute import aggregation_benefit
from mptcplab.metrics.definitions import PathFigures, RunFigures
from mptcplab.mistakes import is_utf8
from mptcplab.runs import documents, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.scenario.model import Scenario

if TYPE_CHECKING:
    import duckdb
    import polars as pl

TABLE = "runs.parquet"
POINTS = "points.parquet"

METRICS = tuple(RunFigures.model_fields)
_PATH_METRICS = tuple(name for name in PathFigures.model_fields if name != "name")
# The columns of a path: its values in the direction of the data.
_LINK = ("rate_bps", "delay_ns", "jitter_ns", "loss", "queue_packets", "queue_bytes")
_COST = ("wall_s", "start_s", "user_s", "system_s", "memory_bytes")
#: The columns of each row, in this order, besides metrics and columns of paths.
FIRST = (
    *("key", "scheduler", "cc", "transport", "path", "seed", "status", "reason"),
    *("workload", "direction", "duration_s", "virtual_s"),
)
_BUILDS = ("kernel", "kernel_like", "guest", "mptcplab")
LAST = (*_COST, *_BUILDS)
#: Columns of the table, whose names no axis of a sweep can have.
RESERVED = frozenset((*FIRST, *METRICS, *LAST))
_TEXTS = ("key", "scheduler", "cc", "transport", "path", "status", "reason", "workload")
_WHOLE = ("seed", "rate_bps", "delay_ns", "jitter_ns", "queue_packets", "queue_bytes")
# Runs are read this many at a time, to limit the objects in memory.
_CHUNK = 5000


def current(out: Path, anew: Collection[str] = ()) -> pl.DataFrame:
    """The table of all runs of a store, up to date, with the values that sweeps varied.

    It reads only runs that the written table lacks, and those of the keys `anew`. Raises
    MptcplabError for a run that cannot be read, naming the file, and MachineError without Polars.
    """
    extras.require("results", "the table of all runs", "polars")
    table, points = _of_runs(out, anew), _read(out / POINTS)
    axes = _axes(points)
    if points is not None:
        table = table.join(points.select("key", *axes), on="key", how="left")
        table = _with_benefits(table, points)
    rest = [name for name in table.columns if name not in (*FIRST, *axes, *LAST)]
    return table.select(*FIRST, *axes, *rest, *LAST).sort("key")


def read(out: Path) -> pl.DataFrame:
    """The same table, also written if the store can be written to. Raises MptcplabError."""
    if not (out / "runs").is_dir() and not (out / "failed").is_dir():
        raise MptcplabError(f"{out}: no runs there; accepted is an output directory")
    with _locked(out):
        table = current(out)
        with contextlib.suppress(MptcplabError):
            write_table(table, out / TABLE)
    return table


def write(out: Path, anew: Collection[str] = ()) -> None:
    """Write the `current` table. Raises MptcplabError."""
    with _locked(out):
        write_table(current(out, anew), out / TABLE)


def _of_runs(out: Path, anew: Collection[str]) -> pl.DataFrame:
    """A row for each run, without the axes."""
    import polars as pl

    runs = Store(out, is_written=False)
    there = dict.fromkeys(runs.keys(), "ok")
    # if a run failed when it was repeated, the former one is still there
    failed = [key for key in runs.failed() if key not in there]
    wanted = {**dict.fromkeys(failed, "failed"), **there}
    table = _read(out / TABLE, RESERVED)
    if table is None:
        table = _frame([])
    # a run at several points has a row for each
    table = table.drop(_axes(_read(out / POINTS)), strict=False)
    table = table.unique("key", keep="first", maintain_order=True)
    written = table.select("key", "status").iter_rows()
    known = {key for key, status in written if wanted.get(key) == status and key not in anew}
    table = table.filter(pl.col("key").is_in(known))
    new = [key for key in there if key not in known]
    for start in range(0, len(new), _CHUNK):
        rows = filter(None, (_of_run(runs, key) for key in new[start : start + _CHUNK]))
        table = _added(table, rows)
    found = ((key, runs.failure(key)) for key in failed if key not in known)
    return _added(
        table,
        (
            _row(key, about.entry, about.scenario, {}, about.build)
            for key, about in found
            if about is not None
        ),
    )


def _added(table: pl.DataFrame, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.concat([table, _frame(list(rows))], how="diagonal_relaxed")


def _of_run(runs: Store, key: str) -> dict[str, Any] | None:
    # strings, since joining paths would take as long as reading the files
    directory = str(runs.directory(key))
    try:
        entry = documents.read_entry(f"{directory}/{store.RESULT}")
        scenario = documents.read(f"{directory}/{store.SCENARIO}", documents.SUMMARY)
        of_cost, of_builds = f"{directory}/{store.COST}", f"{directory}/{store.BUILD}"
        cost = documents.read(of_cost, documents.COST) if os.path.exists(of_cost) else {}
        builds = documents.read(of_builds, documents.BUILD) if os.path.exists(of_builds) else {}
    except MptcplabError as error:
        if not runs.has(key) or not os.path.exists(f"{directory}/{store.SCENARIO}"):
            return None  # it is to be made again
        raise MptcplabError(f"{error}; remove {directory}") from None
    return _row(key, entry, scenario, cost, builds)


def _row(
    key: str,
    entry: Entry,
    scenario: documents.Summary | Scenario,
    cost: Mapping[str, float],
    builds: Mapping[str, str],
) -> dict[str, Any]:
    """The row of a run: from its entry, scenario, cost and builds."""
    workload = scenario.workload
    duration_ns = workload.duration_ns
    found: dict[str, Any] = {
        "key": key,
        "transport": scenario.transport,
        "path": entry.path,
        "workload": workload.kind,
        "direction": workload.direction,
        "duration_s": None if duration_ns is None else duration_ns / 1e9,
        "virtual_s": entry.virtual_s,
        "cc": entry.cc,
        "reason": entry.reason,
        "scheduler": entry.scheduler,
        "seed": entry.seed,
        "status": entry.status,
        **{name: entry.metrics[name] for name in METRICS},
        **{name: cost.get(name) for name in _COST},
        **{name: builds.get(name) for name in _BUILDS},
    }
    for path in scenario.paths:
        shape = path.down if workload.direction == "down" else path.up
        found |= {f"{path.name}.{name}": getattr(shape, name) for name in _LINK}
    if entry.status == "ok":
        for figures in entry.paths:
            found |= {f"{figures.name}.{name}": figures[name] for name in _PATH_METRICS}
    return found


def keep_points(out: Path, points: Sequence[Mapping[str, Any]]) -> None:
    """Keep which values of a sweep's axes belong to which run: each has `key`, `alone` (the keys
    of its baselines) and a value for each axis. What other sweeps varied stays.

    A run is at several points if an axis makes no difference to it, such as two names of a kernel.
    """
    import polars as pl

    each = {json.dumps(point, default=str, sort_keys=True): point for point in points}
    new = pl.DataFrame(list(each.values()), infer_schema_length=None)
    with _locked(out):
        _write_points(out, new)


def _write_points(out: Path, new: pl.DataFrame) -> None:
    import polars as pl

    former = _read(out / POINTS)
    if former is not None:
        # of a run at several points, what other sweeps varied is the same at each
        shared = pl.col("key").is_in(new["key"].implode())
        former = former.filter(~shared | pl.col("key").is_first_distinct())
        # a run shared by several sweeps has the axes of all
        # the last sweep says in which order its runs are shown
        both = new.join(
            former,
            on="key",
            how="full",
            coalesce=True,
            suffix=" former",
            maintain_order="left_right",
        )
        names = dict.fromkeys((*former.columns, *new.columns))
        try:
            new = both.select(
                pl.coalesce(name, f"{name} former").alias(name)
                if f"{name} former" in both.columns
                else pl.col(name)
                for name in names
            )
        except pl.exceptions.PolarsError:
            # an axis may have changed its type, e.g. from a number to a string
            new = pl.concat([former.filter(~pl.col("key").is_in(new["key"].implode())), new],
                            how="diagonal_relaxed")  # fmt: skip
    write_table(new, out / POINTS)


def write_table(table: pl.DataFrame, file: Path) -> None:
    """Write a table as Parquet, whole or not at all. Raises MptcplabError."""
    files.write(file, series.parquet(table))


def _read(file: Path, columns: Collection[str] = ("key",)) -> pl.DataFrame | None:
    """A table with these columns, None if it is missing or damaged: then it is rebuilt."""
    import polars as pl

    try:
        found = series.read_parquet(file)
    except MptcplabError:
        return None
    is_whole = set(columns) <= set(found.columns) and found.schema["key"] == pl.String
    return found if is_whole else None


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """An advisory lock against other processes, while files are read, changed and written."""
    try:
        with files.locked(out):
            yield
    except OSError as error:
        raise MptcplabError(f"cannot write to {out}: {error.strerror}") from error


def _axes(points: pl.DataFrame | None) -> list[str]:
    return [] if points is None else [n for n in points.columns if n not in ("key", "alone")]


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a table whose column types do not depend on the rows."""
    import polars as pl

    names: dict[str, Any] = dict.fromkeys((*FIRST, *METRICS))
    for each in (*rows, dict.fromkeys(LAST)):
        names.update(each)
    texts = (*_TEXTS, "direction", *_BUILDS)
    schema: dict[str, Any] = {}
    for name in names:
        last = name.rpartition(".")[2]
        if name in texts:
            schema[name] = pl.String
        elif last in _WHOLE or name == "memory_bytes":
            schema[name] = pl.Int64
        else:
            schema[name] = pl.Float64
    return pl.from_dicts(rows, schema=schema, strict=False)


def _with_benefits(table: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """The aggregation benefit of the runs whose baselines a sweep has made."""
    import polars as pl

    if "alone" not in points.columns:
        return table
    goodput = dict(table.filter(status="ok").select("key", "goodput_bps").iter_rows())
    kinds = dict(table.select("key", "workload").iter_rows())
    found: dict[str, float | None] = {}
    for key, alone in points.select("key", "alone").iter_rows():
        each = [goodput.get(other) for other in alone or ()]
        if each and None not in each and kinds.get(key) == "bulk" and goodput.get(key) is not None:
            found[key] = aggregation_benefit(goodput[key], [value for value in each if value])
    benefits = pl.DataFrame(
        {"key": list(found), "_benefit": list(found.values())},
        schema={"key": pl.String, "_benefit": pl.Float64},
    )
    return (
        table.join(benefits, on="key", how="left")
        .with_columns(aggregation_benefit=pl.coalesce("_benefit", "aggregation_benefit"))
        .drop("_benefit")
    )


# Queries


@dataclass(frozen=True)
class Answer:
    """The answer to a query: the names of its columns, and its rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def overview(table: pl.DataFrame) -> Answer:
    """How many runs there are of each scheduler and congestion control, and what failed."""
    import polars as pl

    found = (
        table.group_by("scheduler", "cc", "transport", "workload")
        .agg(
            runs=pl.len(),
            seeds=pl.col("seed").n_unique(),
            failed=(pl.col("status") != "ok").sum(),
            goodput_mbit_median=pl.col("goodput_bps").median() / 1e6,
            cpu_hours=(pl.col("user_s") + pl.col("system_s")).sum() / 3600,
        )
        .sort("workload", "transport", "scheduler", "cc")
    )
    return Answer(tuple(found.columns), found.rows())


def query(out: Path, sql: str, parquet: Path | None = None) -> Answer:
    """Ask the tables `runs` and `series` of a store, in SQL as DuckDB has it.

    The query can read only the files of the store's runs, and write none. With `parquet` the answer
    goes into that file and is not returned. In a returned answer, times with a time zone are
    strings. Raises MptcplabError, with DuckDB's message for mistakes in the query, and
    MachineError if DuckDB or Polars is missing.
    """
    if not is_utf8(sql):
        raise MptcplabError("the query cannot be answered: it is not UTF-8 text")
    extras.require("results", "a query")
    # a snapshot: DuckDB opens a file repeatedly, and it may be replaced in between
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        own = Path(name)
        write_table(read(out), own / TABLE)
        try:
            if parquet is None:
                return _answer(out, own, sql)
            with files.new_file(parquet) as partial:
                _answer(out, own, sql, partial)
            return Answer((), [])
        except OSError as error:
            raise MptcplabError(f"cannot write {parquet}: {error.strerror}") from None


def _answer(out: Path, own: Path, sql: str, parquet: Path | None = None) -> Answer:
    """The answer to a query, or only its columns if it goes into a file; `own` has the table."""
    import duckdb

    asks_series = re.search(r"\bseries\b", sql, re.IGNORECASE) is not None
    places = [own, (out / "runs").resolve(), _pattern(out)]
    places += [parquet.parent.resolve()] if parquet else []
    database = duckdb.connect(config={"temp_directory": str(own / "spilled")})
    try:
        _require_query(database, sql)
        # the second also refuses extensions and variables of this program
        database.execute(
            f"SET allowed_directories = [{', '.join(map(_quoted, places))}];"
            "SET enable_external_access = false; SET TimeZone = 'UTC';"
            "SET lock_configuration = true"
        )
        database.execute(f"CREATE VIEW runs AS SELECT * FROM read_parquet({_quoted(own / TABLE)})")
        # naming all files takes a while if there are many
        if asks_series:
            database.execute(f"CREATE VIEW series AS {_series(out)}")
        found = database.sql(sql)
        if parquet is not None:
            found.write_parquet(str(parquet.resolve()))
            return Answer((), [])
        columns = tuple(found.columns)
        # Python would need another package for them
        zoned = [_ZONED in str(kind) for kind in found.types]
        if any(zoned):
            casts = ("::VARCHAR" if is_zoned else "" for is_zoned in zoned)
            found = found.project(", ".join(f"#{n}{cast}" for n, cast in enumerate(casts, 1)))
        return Answer(columns, found.fetchall())
    # the others are for values that Python cannot express
    except (duckdb.Error, ArithmeticError, RuntimeError, ValueError) as error:
        if asks_series and not _is_of_the_query(error):
            # DuckDB does not name a file that is no table: reading each does
            for file in sorted((out / "runs").glob(f"[!.]*/{store.SERIES}")):
                series.read_parquet(file)
        raise MptcplabError(f"the query cannot be answered: {_message(error)}") from None
    finally:
        database.close()


_ZONED = "WITH TIME ZONE"
# DuckDB counts PIVOT as several statements, also within COPY (PIVOT ...) TO.
_QUERY = re.compile(r"\s*(PIVOT|FROM|SELECT|WITH)\b", re.IGNORECASE)


def _require_query(database: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises MptcplabError for anything but a query.

    DuckDB has no directories that it may read but not write: COPY could replace the runs' files.
    """
    import duckdb

    accepted = "accepted is a query of runs and series, such as SELECT, FROM, WITH or PIVOT"
    statements = database.extract_statements(sql)
    if len(statements) != 1:
        what = f"{len(statements)} statements" if statements else "it is empty"
        raise MptcplabError(f"the query cannot be answered: {what}; {accepted}")
    kind = statements[0].type
    is_pivot = kind == duckdb.StatementType.MULTI and _QUERY.match(statements[0].query)
    if kind != duckdb.StatementType.SELECT and not is_pivot:
        found = re.match(r"\s*([A-Za-z]+)", sql)
        what = f"{found[1] if found else kind.name} is refused, since a query changes nothing"
        raise MptcplabError(
            f"the query cannot be answered: {what}; {accepted}; --parquet FILE writes its answer"
        )


def _is_of_the_query(error: Exception) -> bool:
    import duckdb

    kinds = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
    return isinstance(error, (*kinds, duckdb.PermissionException))


def _message(error: Exception) -> str:
    """DuckDB's message; with the excerpt below it if that is from the user's query."""
    import duckdb

    first = str(error).partition("\n")[0]
    if isinstance(error, duckdb.PermissionException):
        return f"{first}; a query reads the tables runs and series, and no other files"
    return str(error) if _is_of_the_query(error) else first


def _series(out: Path) -> str:
    """The query that joins the series of all runs that have them as a file into one table."""
    if next((out / "runs").glob(f"[!.]*/{store.SERIES}"), None) is None:
        raise MptcplabError(
            f"{out}: no run has a table of its series; runs of mptcplab sweep have one, without "
            "--keep-records"
        )
    # not of a running run
    pattern = _quoted(_pattern(out) / "[!.]*" / store.SERIES)
    key = r"regexp_extract(filename, 'runs/([^/]+)/', 1)"
    return f"SELECT {key} AS key, * EXCLUDE filename FROM read_parquet({pattern}, filename = true)"


def _pattern(out: Path) -> Path:
    """The directory of the runs as part of a pattern, with the brackets of its name escaped."""
    return Path(re.sub(r"([*?[])", r"[\1]", str((out / "runs").resolve())))


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
