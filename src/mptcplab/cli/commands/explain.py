# SPDX-License-Identifier: GPL-2.0-only
"""Explain why runs did not reach the sum of their paths.

RUN is the directory of a run, OUT/runs/KEY, or several runs, as for a report: an output
directory OUT, or a document, to explain each successful run. Each of several connections is
explained on its own. Where a change may help, the answer names one or two; --try makes a run with
each, and shows its figure. docs/explain.md says how to read it.  [mptcplab-out]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mptcplab.cli import completion, options


@click.command("explain", help=__doc__)
@click.argument("places", metavar="[RUN]...", type=options.PLACE, nargs=-1)
@click.option(
    "--scheduler",
    "-s",
    "schedulers",
    metavar="NAME[:PARAM=VALUE...],...",
    multiple=True,
    shell_complete=completion.OF_OPTIONS["--scheduler"],
    help="Only runs of these schedulers; without parameters, of all their forms.",
)
@click.option("--try", "tried", is_flag=True, help="Try the changes that may help, in the lab.")
@options.out_option_of(Path("tried-out"), "Directory for the runs of --try.")
@options.jobs_option
@options.scenario_options("wall_limit", "disk_limit")
@options.json_option
def command(places: tuple[Path, ...], schedulers: tuple[str, ...], **given: Any) -> None:
    from mptcplab.cli.actions import stored

    source = click.get_current_context().get_parameter_source
    for name in ("out", "jobs", "wall_limit", "disk_limit"):
        if not given["tried"] and source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} is for the runs of --try")
    names = [name for each in schedulers for name in each.split(",") if name]
    stored.explain_runs(places or (options.DEFAULT_OUT,), names, given)
