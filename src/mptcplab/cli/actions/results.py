# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab results does."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mptcplab.report import catalogue_tables
from mptcplab.runs import index

_WIDE = 10_000


def list_runs(out: Path, *, as_json: bool) -> None:
    """Show how many runs there are of each kind."""
    found = index.overview(index.read(out))
    _show_answer(found, "json" if as_json else "table")


def query(sql: str, out: Path, form: str | None, parquet: Path | None) -> None:
    """Show the answer to a query, or write it to a file."""
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
        table = Table(box=catalogue_tables.RULE, pad_edge=False)
        for name, column in zip(answer.columns, zip(*answer.rows, strict=True), strict=False):
            number = all(isinstance(value, int | float | None) for value in column)
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for name in answer.columns[len(table.columns) :]:
            table.add_column(name)
        for row in answer.rows:
            table.add_row(*(_cell(value) for value in row))
        # output to a file or a pipe is not wrapped
        Console(width=None if sys.stdout.isatty() else _WIDE).print(table)


def _plain(value: object) -> object:
    """A value as JSON: what JSON cannot express becomes null or text, keys included."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
