# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab advise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab.advice import advise, advise_report, variations
from mptcplab.cli import common
from mptcplab.runs import experiment
from mptcplab.spec import congestion, scheduler

# And for advice, in which all schedulers and congestion controls are run with seeds of its own.
_ADVISED = (
    *("path", "link", "event", "direction", "start", "duration", "warmup", "send_buffer"),
    *(
        "receive_buffer",
        "seed_delay",
        "sample_interval",
        "jobs",
        "wall_limit",
        "disk_limit",
        "as_json",
    ),
)


@click.command("advise")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--uncertain",
    "-u",
    multiple=True,
    metavar="[[PATH.]KEY=]PERCENT",
    help="By how much what is known of the paths may be off, e.g. 20%, or for one key or path "
    "loss=50%, lte=40%, lte.rate=60%; keys: rate, delay, loss, queue.  [20%]",
)
@click.option(
    "--variations",
    "count",
    type=click.IntRange(1, 1024),
    help="Of the paths, within their uncertainty; more tell more.  [16; with --quick 6]",
)
@click.option("--quick", is_flag=True, help="Fewer variations and finalists: less sure, sooner.")
@click.option(
    "--scheduler",
    "-s",
    metavar=f"{common.SPEC},...",
    help="Only these packet schedulers; ./NAME.c is one of your own.  [all]",
)
@click.option(
    "--cc",
    metavar="NAME,...",
    help="Only these congestion controls, as in mptcplab cc list.  [all]",
)
@click.option(
    "--workload",
    "-w",
    metavar="KIND[:KEY=VALUE,...]",
    help="What your application does, e.g. video or requests:interval=1s, for latency and, if it "
    "goes on for a duration, resilience; docs/workloads.md.  [a stream of blocks]",
)
@click.option("--seed", help="Of the first variation; each has the next one.  [1]")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("advice-out"),
    show_default=True,
    help="Directory for the runs, the picture and the document; what is there is not run again.",
)
@common.some_of_scenario_options(_ADVISED)
def advise_command(
    file: Path | None, uncertain: tuple[str, ...], count: int | None, quick: bool, **options: Any
) -> None:
    """Say which scheduler and congestion control to use on some paths: for throughput, for
    latency, and for when a path fails; with the figures, and how sure it is.

    Runs the catalogue on variations of the paths, since nobody knows theirs exactly. Of a FILE,
    all counts but the scheduler, the congestion control and the number of seeds.

    \b
    mptcplab advise --path dsl:50mbit,10ms --path lte:30mbit,30ms,loss=0.1% --direction down
    mptcplab advise --path dsl --path lte --uncertain 10%,lte=40% --workload video --quick
    """
    wanted = {**options, "scheduler": options["scheduler"] or scheduler.ALL}
    request = common.request(file, wanted, single=False)
    advise.check(request)
    uncertainty = variations.parse(uncertain, request.base)
    effort = advise.effort(quick=quick, count=count)
    ccs = request.ccs if options["cc"] else congestion.names()

    lab_kernel, lab_guest = common.builds()
    modules = experiment.modules(request, lab_kernel)
    out: Path = options["out"]
    common.say(
        f"schedulers: {len(request.schedulers)}, congestion controls: {len(ccs)}, variations: "
        f"{effort.variations}: up to {advise.most_runs(request, ccs, effort)} runs"
    )
    with common.interruptible() as cancel:
        advice = advise.advise(
            *(request, ccs, uncertainty, effort, lab_kernel, lab_guest, out),
            modules=modules,
            jobs=options["jobs"],
            limits=common.limits(options),
            show=common.progress,
            say=common.say,
            cancel=cancel,
        )
    document = advise_report.write(advice, out)
    pictures = advise_report.write_chart(advice, out)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(advise_report.text(advice) + "\n")
    Console().print(advise_report.table(advice))
    click.echo(advise_report.use(advice) + "\n")
    click.echo(f"picture:  {pictures[0]}")
    click.echo(f"document: {out / advise_report.DOCUMENT}")
