# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from mptcplab import resources
from mptcplab.cli import options
from mptcplab.report import catalogue_tables
from mptcplab.scenario import limits, literal, presets
from mptcplab.traces import drive_settings, radio

command = click.Group("scenario", help=__doc__)


@command.command("schema")
def scenario_schema() -> None:
    """Print the JSON Schema of a scenario file."""
    click.echo(json.dumps(literal.json_schema(), indent=2))


@command.command("presets")
def scenario_presets() -> None:
    """List the presets of paths, with their values and sources."""
    Console().print(catalogue_tables.preset_table(presets.PRESETS.values()))
    click.echo()
    for label, source in presets.SOURCES.items():
        click.echo(f"{label}: {source.title} {source.address}")
    if reasons := resources.page("presets.md", "has the reason for each number"):
        click.echo(f"\n{reasons}")


def _list_settings(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    click.echo(drive_settings.listing(radio.Drive()))
    sources = resources.page("radio.md", "has the sources in full")
    click.echo(f"\nbuilding=none removes the building. {sources}".rstrip())
    context.exit()


@command.command("drive")
@click.argument("directory", type=options.PLACE)
@click.option("--seed", type=click.IntRange(0, limits.MAX_SEED), default=1, show_default=True)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a parameter, e.g. lte.power=40dBm or building=none.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_settings,
    help="List the parameters with defaults, ranges and sources, and stop.",
)
def scenario_drive(directory: Path, seed: int, settings: tuple[str, ...]) -> None:
    """Write a drive past a 5G and an LTE cell into DIRECTORY.

    A car passes a mast with both cells at 60 km/h, and for a while a house blocks the line of
    sight (docs/radio.md). It writes a trace of each cell, with rate, delay and SINR, and
    drive.toml, a scenario with these paths. The seed is for the shadowing.
    """
    drive = drive_settings.apply(radio.Drive(), settings)
    for file in radio.write_scenario(drive, seed, directory, settings):
        click.echo(f"written: {file}")
    click.echo(f"compare with it: mptcplab compare {directory}/drive.toml --scheduler ...")
