# SPDX-License-Identifier: GPL-2.0-only
"""Measure how fast runs are, and how well paths are filled."""

from __future__ import annotations

import json

import click
from rich.console import Console

from mptcplab.cli import options


@click.command("bench", help=__doc__)
@click.option(
    "--repeat",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Number of repetitions.",
)
@options.json_option
def command(repeat: int, as_json: bool) -> None:
    from mptcplab.cli.actions import common
    from mptcplab.lab.engine import Rig
    from mptcplab.runs import bench, experiment

    rig = Rig(*experiment.built())
    with common.interruptible() as cancel:
        results = bench.run(rig, repeat=repeat, say=common.say, cancel=cancel)
    if as_json:
        click.echo(json.dumps(results, indent=1))
    else:
        Console().print(bench.table(results))
