# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab sweep and compare --sweep do."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from mptcplab.cli.actions import common, expect_option
from mptcplab.errors import MptcplabError
from mptcplab.lab import guest
from mptcplab.metrics.views import shown_metrics
from mptcplab.report import expectation_verdicts, paper_figures, tables
from mptcplab.runs import archive, expectations, experiment, sweep
from mptcplab.runs.collection import collect
from mptcplab.runs.store import SWEEP, Store
from mptcplab.runs.sweep import How
from mptcplab.scenario import scheduler

_LINE_EVERY_S = 10.0


def sweep_file(file: Path, options: Mapping[str, Any]) -> None:
    """Make the runs of a sweep."""
    how = How(
        again=options["again"],
        retry_failed=options["retry_failed"],
        fail_fast=options["fail_fast"],
        limits=common.limits(options),
    )
    asked_for: str | None = options["kernel"]
    names = [] if asked_for is None else [name.strip() for name in asked_for.split(",")]
    given = sweep.load(file, options["only"], names)
    _sweep(given, how, options, dry_run=options["dry_run"])


def compare(
    file: Path | None,
    axes: Sequence[str],
    options: Mapping[str, Any],
    *,
    baseline: bool,
    dry_run: bool,
) -> None:
    """A comparison at each value of some keys; without keys, the list of its runs."""
    given = sweep.from_flags(file, common.flags(options), axes, baselines=baseline)
    how = How(again=options["again"], limits=common.limits(options))
    _sweep(given, how, options, dry_run=dry_run)


def _sweep(given: sweep.Given, how: How, options: Mapping[str, Any], *, dry_run: bool) -> None:
    """Run a sweep, or show what it would run; exit status 1 if runs are missing, and 4 if they do
    not meet an expectation.
    """
    if options["storage"] is not None:
        archive.require(options["storage"])
    out, as_json = options["out"], options["as_json"]
    like, cluster = options["kernel_like"], options["cluster"]
    by_name = cache(partial(experiment.kernel_by_name, kernel_like=like, cluster=cluster))
    planned = sweep.plan(given, scheduler.known(), guest.build(), by_name)
    for name, schedulers in planned.left_out.items():
        common.say_left_out(name, schedulers)
    settings = planned.settings() if options["expect"] else []
    kinds = {repr(each.shape()): each for each in settings}.values()
    wanted = expect_option.read(
        options,
        *((list(each.runs.values()), list(each.baselines.values())) for each in kinds),
        dry_run=dry_run,
    )
    keep_records = options.get("keep_records", False)
    if dry_run:
        runner = common.runner(options, keep_records=keep_records)
        would_run = sweep.dry_run(planned, runner, how)
        click.echo(json.dumps(asdict(would_run), indent=1) if as_json else would_run.text())
        return
    runs_store = Store(out)
    common.say_slow(each.kernel for each in planned.runs.values())
    with common.running(options, keep_records=keep_records) as runner, sweeping() as show:
        outcome = sweep.run(planned, runner, how, show)
    collection = collect([out / SWEEP])
    found = [
        judged
        for each in settings
        for judged in expectations.judge(wanted.expected, *each.entries(runs_store), each.values)
    ]
    try:
        wanted.write(found)
    finally:
        if as_json:
            document = asdict(outcome) | {"points": tables.sweep_rows(collection)}
            if found:
                document["expectations"] = [each.model_dump(mode="json") for each in found]
            click.echo(json.dumps(document, indent=1))
        else:
            Console().print(tables.sweep_table(collection))
            for picture in paper_figures.write_main(collection, out):
                if picture.suffix == ".png":
                    click.echo(f"picture: {picture}")
            metric = shown_metrics(collection.groups[0].scenario.workload.kind)[0]
            click.echo(sweep.closing(outcome, out, planned.axes(), metric))
            for line in expectation_verdicts.lines(found):
                click.echo(line)
    if not outcome.is_complete:
        sys.exit(MptcplabError.exit_status)
    expect_option.require(found)


@contextmanager
def sweeping() -> Iterator[Callable[[sweep.Standing], None]]:
    """A bar with rate, failures and time left on a terminal, else an occasional line."""
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
