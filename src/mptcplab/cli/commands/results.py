# SPDX-License-Identifier: GPL-2.0-only
"""All runs of an output directory as one table.

The table is OUT/runs.parquet; docs/results-store.md.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.cli import options

command = click.Group("results", help=__doc__)


@command.command("list")
@click.argument("directory", metavar="[OUT]", required=False, type=options.DIRECTORY)
@options.out_option
@options.json_option
def results_list(directory: Path | None, out: Path, as_json: bool) -> None:
    """List how many runs there are of each kind in OUT, and which failed.

    OUT may also be given as --out.
    """
    if directory is not None:
        if out not in (directory, options.DEFAULT_OUT):
            raise click.UsageError(f"OUT is {directory}, and --out is {out}; give one")
        out = directory
    from mptcplab.cli.actions import results

    results.list_runs(out, as_json=as_json)


@command.command("schema")
def results_schema() -> None:
    """Print the JSON Schema of comparison.json, which --json prints.

    Entry in its $defs describes the result.json of a run.
    """
    from mptcplab.runs.entries import Document

    click.echo(json.dumps(Document.model_json_schema(), indent=2))


@command.command("fetch")
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@options.out_option
def results_fetch(keys: tuple[str, ...], out: Path) -> None:
    """Fetch the records of runs that --storage keeps elsewhere.

    Without a KEY, it fetches the records of all runs.
    """
    from mptcplab.runs import store

    click.echo(f"records of {store.fetch(store.Store(out), keys)} runs fetched")


@command.command("query")
@click.argument("sql", metavar="SQL")
@options.out_option
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option("--json", "form", flag_value="json", help="Print a JSON document: a list of rows.")
@click.option(
    "--parquet",
    type=options.FILE,
    metavar="FILE",
    help="Write the answer as Parquet instead.",
)
def results_query(sql: str, out: Path, form: str | None, parquet: Path | None) -> None:
    """Query the tables runs and series, in DuckDB's SQL.

    SQL is a single query. It cannot read other files, or write any.

    \b
    mptcplab results query 'SELECT scheduler, median(goodput_bps)/1e6 FROM runs GROUP BY 1'
    """
    from mptcplab.cli.actions import results

    results.query(sql, out, form, parquet)
