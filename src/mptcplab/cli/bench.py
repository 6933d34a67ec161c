# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab bench."""

from __future__ import annotations

import json

import click
from rich.console import Console

from mptcplab.cli import common
from mptcplab.tools import bench


@click.command("bench")
@click.option("--repeat", type=click.IntRange(1, 100), default=3, show_default=True)
@common.json_option
def bench_command(repeat: int, as_json: bool) -> None:
    """Measure how fast runs are on this machine, and how well the schedulers fill their paths."""
    builds = common.builds()
    with common.interruptible() as cancel:
        results = bench.run(*builds, repeat=repeat, say=common.say, cancel=cancel)
    if as_json:
        click.echo(json.dumps(results, indent=1))
    else:
        Console().print(bench.table(results))
