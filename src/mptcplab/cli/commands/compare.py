# SPDX-License-Identifier: GPL-2.0-only
"""Compare schedulers, congestion controls or kernels.

All runs have the same paths and seeds; the result is a table and a picture. --scheduler all
compares all schedulers of mptcplab scheduler list; --kernel takes names of mptcplab kernel list.

\b
mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms,queue=200,loss=0.1% \\
    --scheduler default,roundrobin --duration 20s --repeat 5
mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --cc reno,lia,olia
mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --kernel 6.12,mine
mptcplab compare --path wifi:50mbit,10ms --path lte:20mbit,40ms --sweep path.lte.delay=10ms,40ms
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import completion, options
from mptcplab.scenario import option_keys


@click.command("compare", cls=options.Grouped, help=__doc__)
@options.scenario_file
@options.listed_option(
    "--scheduler",
    "-s",
    metavar=f"{option_keys.SPEC},...",
    text="Packet schedulers, or all; ./NAME.c is your own.  [default]",
)
@click.option(
    "--baseline/--no-baseline",
    default=True,
    help="Also run plain TCP over each path alone, for the aggregation benefit.  [yes]",
)
@click.option(
    "--sweep",
    "axes",
    multiple=True,
    shell_complete=completion.axes,
    metavar="KEY=VALUES",
    help="Repeat the comparison with each value of a key: path.lte.delay=10ms,20ms or "
    "10ms..160ms:log5 (five, by factors), :5 (evenly), :+10ms (in steps); several form a grid. "
    "With a picture over the values, and one seed unless --repeat says more; docs/sweep.md.",
)
@options.dry_run_option
@options.scenario_options()
@options.agent_option
@options.pcap_option
@options.decisions_option
@options.states_option
@options.expect_options
@options.cluster_options
@options.storage_option
@options.no_cache_option
def command(
    file: Path | None, baseline: bool, axes: tuple[str, ...], dry_run: bool, **given: Any
) -> None:
    options.check_shown(given)
    if given["only_plan"] and (axes or dry_run):
        raise click.UsageError("--plan is for a single setting; leave out --sweep and --dry-run")
    if axes or dry_run:
        if given["agent"]:
            raise click.UsageError("--agent is for a single setting; leave out --sweep")
        from mptcplab.cli.actions import sweeps

        sweeps.compare(file, axes, given, baseline=baseline, dry_run=dry_run)
        return
    from mptcplab.cli.actions import common

    request = common.request(file, given, single=False).compared()
    from mptcplab.cli.actions import expect_option

    settings = request.runs(), request.baselines() if baseline else []
    wanted = expect_option.read(given, settings, kernels=request.kernels)
    from mptcplab.cli.actions import runs

    runs.make(request, given, wanted, baseline=baseline)
