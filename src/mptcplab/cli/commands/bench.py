# SPDX-License-Identifier: GPL-2.0-only
"""Measure how fast runs are here, and how well paths are filled."""

from __future__ import annotations

import click

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
    from mptcplab.cli.actions import bench

    bench.measure(repeat, as_json=as_json)
