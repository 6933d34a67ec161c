# SPDX-License-Identifier: GPL-2.0-only
"""Recommend a scheduler and congestion control for your paths.

The advice is for throughput, for latency, and for a path that fails. It gives figures, and says
how sure it is.

mptcplab runs the catalogue on variations of the paths, since nobody knows paths exactly. It
ignores the scheduler, the congestion control and the number of seeds of a FILE. Data goes up, to
the server, as in all commands; for downloads, add --direction down.

With a --kernel of kernel build --engine-only, it tries the schedulers that run without our patches,
as the package of make deb has them.

\b
mptcplab advise --path dsl:50mbit,10ms --path lte:30mbit,30ms,loss=0.1% --direction down
mptcplab advise --path dsl --path lte --uncertain 10%,lte=40% --workload video --quick
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.advice import GOALS
from mptcplab.cli import options
from mptcplab.scenario import option_keys


@click.command("advise", cls=options.Grouped, help=__doc__)
@options.scenario_file
@click.option(
    "--uncertain",
    "-u",
    multiple=True,
    metavar="[[PATH.]KEY=]PERCENT",
    help="How far the values of the paths may be off, e.g. 20%; for one key or path: loss=50%, "
    "lte=40%, lte.rate=60%. Keys: rate, delay, loss, queue.  [20%]",
)
@click.option(
    "--variations",
    "count",
    type=click.IntRange(1, 1024),
    help="Number of variations of the paths, within their uncertainty.  [16; with --quick 5]",
)
@click.option(
    "--goal",
    "goals",
    multiple=True,
    type=click.Choice(GOALS),
    help="Judge this goal only. Repeatable.  [all]",
)
@click.option(
    "--give-up",
    multiple=True,
    type=click.Choice([*GOALS, "data"]),
    help="A goal that does not matter when all are weighed; data: the amount of data sent. "
    "Repeatable.  [none]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Answer in about a minute on 2 CPUs, but with less certainty: 5 variations instead of 16, "
    "runs of 3 to 12 s instead of 20 s, and the best schedulers with 3 congestion controls instead "
    "of all.",
)
@options.listed_option(
    "--scheduler",
    "-s",
    metavar=f"{option_keys.SPEC},...",
    text="Try only these packet schedulers; ./NAME.c is your own.  [all]",
)
@options.listed_option(
    "--cc",
    metavar="NAME,...",
    text="Try only these congestion controls, see mptcplab cc list.  [all]",
)
@options.workload_option(
    "Your application, e.g. video or requests:interval=1s. It judges latency and, if it lasts for "
    "a duration, resilience; docs/workloads.md.  [a stream of blocks]"
)
@click.option(
    "--seed",
    metavar="N",
    help="Seed of the first variation; each further one has the next seed.  [1]",
)
@options.out_option_of(
    Path("advice-out"),
    "Directory for the runs, the picture and the document; runs found there are reused.",
)
# it chooses schedulers, congestion controls and seeds itself
@options.scenario_options("path", "path_from", "link", "event")
@options.scenario_options(
    *("direction", "start", "duration", "warmup"),
    *("send_buffer", "receive_buffer", "seed_delay", "sample_interval", "kernel"),
    *("jobs", "wall_limit", "disk_limit", "as_json"),
)
def command(file: Path | None, **given: Any) -> None:
    if both := [name for name in given["goals"] if name in given["give_up"]]:
        raise click.UsageError(f"{both[0]} is the goal, and given up; leave one of them out")
    from mptcplab.cli.actions import advise

    advise.advise_on(file, given)
