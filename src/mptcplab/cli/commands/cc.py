# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls: the kernel's own, and coupled ones."""

from __future__ import annotations

import click
from rich.console import Console

from mptcplab.cli import completion
from mptcplab.report import catalogue_tables
from mptcplab.scenario import congestion

command = click.Group("cc", help=__doc__)


@command.command("list")
def cc_list() -> None:
    """List the congestion controls, and what each couples."""
    Console().print(catalogue_tables.congestion_table(congestion.known().values()))
    click.echo("\nmptcplab cc show NAME says more.")


@command.command("show")
@click.argument("name", shell_complete=completion.congestion_controls)
def cc_show(name: str) -> None:
    """Show what a congestion control does, its source and parameters.

    NAME is one of mptcplab cc list.
    """
    found = congestion.find(name)
    click.echo(found.description)
    if found.parameters:
        click.echo()
        Console().print(catalogue_tables.parameter_table(found.parameters))
    if found.file:
        click.echo(f"\nfile: {found.file}")
