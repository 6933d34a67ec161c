# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab sweep, and compare --sweep."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from mptcplab.cli import common
from mptcplab.errors import MptcplabError
from mptcplab.lab.engine import Limits
from mptcplab.report import tables
from mptcplab.runs import archive, index, sweep
from mptcplab.runs.store import Store
from mptcplab.runs.sweep import How
from mptcplab.spec import scheduler

_LINE_EVERY_S = 10.0


@click.command("sweep")
@click.argument("file", type=click.Path(path_type=Path))
@common.dry_run_option
@click.option("--no-cache", "again", is_flag=True, help="Also run what is stored already.")
@click.option("--retry-failed", is_flag=True, help="Also run what failed before.")
@click.option(
    "--fail-fast/--keep-going",
    default=False,
    help="Stop at the first run that fails.  [keep going]",
)
@click.option("--keep-records", is_flag=True, help="Keep all records, not only their series.")
@common.kernel_like_option
@common.wall_limit_option
@common.disk_limit_option
@common.jobs_option
@common.cluster_options
@common.storage_option
@common.out_option
@common.json_option
def sweep_command(
    file: Path,
    dry_run: bool,
    again: bool,
    retry_failed: bool,
    fail_fast: bool,
    keep_records: bool,
    kernel_like: str,
    wall_limit: float,
    disk_limit: int,
    jobs: int,
    cluster: str | None,
    cluster_key: str | None,
    storage: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Run a scenario again and again, with values that change as FILE says: a grid, ranges, points
    that fill a space. docs/sweep.md.

    What is stored already is not run again, so that what was interrupted goes on. The exit status
    is 1 as long as not all runs are there and ended well.

    \b
    mptcplab sweep sweep.toml --dry-run
    mptcplab sweep sweep.toml
    mptcplab results query 'SELECT scheduler, median(goodput_bps) FROM runs GROUP BY 1'
    """
    how = How(
        jobs=jobs,
        keep_records=keep_records,
        again=again,
        retry_failed=retry_failed,
        fail_fast=fail_fast,
        storage=storage,
        limits=Limits(wall_s=wall_limit, disk_bytes=disk_limit),
    )
    where = (cluster, cluster_key)
    _sweep(sweep.load(file), how, where, kernel_like, out, dry_run=dry_run, as_json=as_json)


def compare(
    file: Path | None,
    axes: Sequence[str],
    options: Mapping[str, Any],
    *,
    baseline: bool,
    dry_run: bool,
) -> None:
    """A comparison at each value of some keys."""
    given = sweep.from_flags(file, common.flags(options), axes, baselines=baseline)
    limits = common.limits(options)
    how = How(jobs=options["jobs"], storage=options["storage"], limits=limits)
    _sweep(
        *(given, how, (options["cluster"], options["cluster_key"])),
        *(options["kernel_like"], options["out"]),
        dry_run=dry_run,
        as_json=options["as_json"],
    )


def _sweep(
    given: sweep.Given,
    how: How,
    cluster: tuple[str | None, str | None],
    kernel_like: str,
    out: Path,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run a sweep, or say what it would be; exit status 1 if not all runs are there."""
    if how.storage is not None:
        archive.require(how.storage)
    lab_kernel, lab_guest = common.builds(cluster[0], kernel_like)
    planned = sweep.plan(given, scheduler.known(), lab_kernel, lab_guest)
    if dry_run:
        expected = sweep.dry_run(planned, out, how)
        click.echo(json.dumps(asdict(expected), indent=1) if as_json else expected.text())
        return
    runs_store = Store(out)
    with common.workers(*cluster) as workers, common.interruptible() as cancel, _sweeping() as show:
        outcome = sweep.run(planned, runs_store, how, show=show, cancel=cancel, workers=workers)
    table = index.read(out)
    summary = sweep.summary(planned, table)
    if as_json:
        click.echo(json.dumps(asdict(outcome) | {"schedulers": summary}, indent=1))
    else:
        Console().print(tables.sweep_table(summary))
        click.echo(sweep.closing(outcome, out))
    if not outcome.is_complete:
        sys.exit(MptcplabError.exit_status)


@contextmanager
def _sweeping() -> Iterator[Callable[[sweep.Standing], None]]:
    """A bar with rate, failures and time left on a terminal, else a line now and then."""
    console = Console(stderr=True)
    if not console.is_terminal:
        last = -1.0

        def line(standing: sweep.Standing) -> None:
            nonlocal last
            now = time.monotonic()
            if standing.ended == standing.total or now - last > _LINE_EVERY_S:
                last = now
                common.say(standing.text())

        yield line
        return
    columns = (BarColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("sweep", total=1, text="")

        def moved(standing: sweep.Standing) -> None:
            bar.update(task, completed=standing.ended, total=standing.total, text=standing.text())

        yield moved
