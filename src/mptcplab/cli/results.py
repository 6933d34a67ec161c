# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab results: all runs as one table."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mptcplab.cli import common
from mptcplab.report import tables
from mptcplab.runs import index, work
from mptcplab.runs.store import Store

_WIDE = 10_000


@click.group("results")
def results_group() -> None:
    """All runs of an output directory as one table: OUT/runs.parquet, docs/results-store.md."""


@results_group.command("list")
@common.out_option
@common.json_option
def results_list(out: Path, as_json: bool) -> None:
    """List how many runs there are of what, and what failed."""
    found = index.overview(index.read(out))
    _show_answer(found, "json" if as_json else "table")


@results_group.command("fetch")
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@common.out_option
def results_fetch(keys: tuple[str, ...], out: Path) -> None:
    """Have the records here that --storage keeps elsewhere: of runs by their keys, or of all."""
    fetched = work.fetch(Store(out), keys)
    click.echo(f"records of {fetched} runs fetched")


@results_group.command("query")
@click.argument("sql", metavar="SQL")
@common.out_option
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option("--json", "form", flag_value="json", help="Print a JSON document: a list of rows.")
@click.option(
    "--parquet",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the answer as Parquet instead.",
)
def results_query(sql: str, out: Path, form: str | None, parquet: Path | None) -> None:
    """Ask the tables runs and series, in SQL as DuckDB has it.

    SQL is one query, which reads no other files, and writes none.

    \b
    mptcplab results query 'SELECT scheduler, median(goodput_bps)/1e6 FROM runs GROUP BY 1'
    """
    if parquet is not None and form:
        raise click.UsageError("--parquet writes a file; leave out --csv and --json")
    answer = index.query(out, sql, parquet)
    if parquet is not None:
        click.echo(f"written: {parquet}")
    else:
        _show_answer(answer, form or "table")


def _show_answer(answer: index.Answer, form: str) -> None:
    if form == "json":
        rows = [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]
        click.echo(json.dumps(rows, indent=1, default=str))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        table = Table(box=tables.RULE, pad_edge=False)
        for name, column in zip(answer.columns, zip(*answer.rows, strict=True), strict=False):
            number = all(isinstance(value, int | float | None) for value in column)
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for name in answer.columns[len(table.columns) :]:
            table.add_column(name)
        for row in answer.rows:
            table.add_row(*(_cell(value) for value in row))
        # what goes into a file or a pipe is not folded
        Console(width=None if sys.stdout.isatty() else _WIDE).print(table)


def _plain(value: object) -> object:
    """A value as JSON has it: what it has not is null, or text, also as a key."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
