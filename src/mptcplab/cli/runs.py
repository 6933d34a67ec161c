# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab run and compare."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab.cli import common
from mptcplab.errors import MptcplabError
from mptcplab.report import comparison_chart, tables
from mptcplab.runs import archive, experiment
from mptcplab.runs.entries import Document
from mptcplab.runs.store import DOCUMENT
from mptcplab.spec import plan
from mptcplab.spec.resolve import Request


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@common.scheduler_option
@common.scenario_options
@common.pcap_option
@click.option("--trace", is_flag=True, help="Keep the scheduler's decisions.")
def run(file: Path | None, **options: Any) -> None:
    """Run one scenario, from a FILE, from flags, or from a file with flags that override it."""
    request = common.request(file, options, single=True)
    _execute(request, options)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--scheduler",
    "-s",
    metavar=f"{common.SPEC},...",
    help="Packet schedulers, or all; ./NAME.c is one of your own.  [default]",
)
@click.option(
    "--baseline/--no-baseline",
    default=True,
    help="Also run plain TCP over each path alone, which the aggregation benefit needs.  [yes]",
)
@click.option(
    "--sweep",
    "axes",
    multiple=True,
    metavar="KEY=VALUES",
    help="Run all of it with each value of a key: path.lte.delay=10ms,20ms or 10ms..160ms:log5 "
    "(five, by factors), :5 (evenly), :+10ms (by steps); several are a grid; docs/sweep.md.",
)
@common.dry_run_option
@common.scenario_options
@common.pcap_option
@click.option("--trace", is_flag=True, help="Keep the schedulers' decisions.")
@common.cluster_options
@common.storage_option
def compare(
    file: Path | None, baseline: bool, axes: tuple[str, ...], dry_run: bool, **options: Any
) -> None:
    """Compare schedulers, or congestion controls, on the same paths with the same seeds: a table
    and a picture.

    With --scheduler all, those of mptcplab scheduler list.

    \b
    mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms,queue=200,loss=0.1% \\
        --scheduler default,roundrobin --duration 20s --repeat 5
    mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --cc reno,lia,olia
    mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --sweep path.lte.delay=10ms,40ms
    """
    if axes and not options["only_plan"]:
        # what sweeps need besides is slow to import
        from mptcplab.cli import sweeps

        sweeps.compare(file, axes, options, baseline=baseline, dry_run=dry_run)
        return
    if dry_run or axes:
        raise click.UsageError("--dry-run is for --sweep, and --plan is for a single setting")
    request = common.request(file, options, single=False).compared()
    _execute(request, options, baseline=baseline)


def _execute(request: Request, options: dict[str, Any], *, baseline: bool = False) -> None:
    """Run everything, store it, and show it; exit status 1 if a run failed."""
    runs = request.runs()
    if options["only_plan"]:
        for item in runs:
            click.echo(f"### {common.title(item)}")
            click.echo(plan.render(item))
        return

    address: str | None = options.get("cluster")
    storage: str | None = options.get("storage")
    if storage is not None:
        archive.require(storage)
    lab_kernel, lab_guest = common.builds(address, options["kernel_like"])
    out: Path = options["out"]
    count = len(runs) + (len(experiment.baselines(request)) if baseline else 0)
    with (
        common.workers(address, options.get("cluster_key")) as workers,
        common.interruptible() as cancel,
        common.progress(count) as (progress, ended),
    ):
        document = experiment.compare(
            request,
            lab_kernel,
            lab_guest,
            out,
            baseline=baseline,
            jobs=options["jobs"],
            workers=workers,
            storage=storage,
            limits=common.limits(options),
            progress=progress,
            ended=ended,
            cancel=cancel,
        )
    _show(document, comparison_chart.write(document, out), out, as_json=options["as_json"])
    entries = (*document["runs"], *document["baselines"])
    if any(entry["status"] != "ok" for entry in entries):
        sys.exit(MptcplabError.exit_status)


def _show(document: Document, pictures: list[Path], out: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=1))
        return
    console = Console()
    console.print(tables.comparison_table(document))
    # rich would wrap a long path, and break it for those who want to copy it
    for picture in pictures:
        if picture.suffix == ".png":
            click.echo(f"picture:  {picture}")
    click.echo(f"document: {out / DOCUMENT}")
    if len(document["runs"]) == 1 and document["runs"][0]["directory"]:
        click.echo(f"run:      {out / document['runs'][0]['directory']}")
