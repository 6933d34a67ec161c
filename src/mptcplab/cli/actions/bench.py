# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab bench does."""

from __future__ import annotations

import json

import click
from rich.console import Console

from mptcplab import units
from mptcplab.cli.actions import common
from mptcplab.lab.engine import Rig
from mptcplab.runs import bench, experiment


def measure(repeat: int, *, as_json: bool) -> None:
    """Measure, and show the table."""
    rig = Rig(*experiment.built())
    expected_s = bench.expected_s(repeat)
    common.say(f"takes about {units.duration(expected_s)} on an idle machine of 2024")
    with common.interruptible() as cancel:
        results = bench.run(rig, repeat=repeat, say=common.say, cancel=cancel)
    if as_json:
        click.echo(json.dumps(results, indent=1))
    else:
        Console().print(bench.table(results))
