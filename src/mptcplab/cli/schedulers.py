# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab scheduler and cc: what you can choose from."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from mptcplab.cli import completion
from mptcplab.errors import InputError, Problem
from mptcplab.report import catalogue_tables
from mptcplab.scenario import congestion, scheduler


@click.group("scheduler")
def scheduler_group() -> None:
    """Packet schedulers: those of the lab, and your own."""


@scheduler_group.command("list")
def scheduler_list() -> None:
    """List the schedulers of the lab."""
    Console().print(catalogue_tables.scheduler_table(scheduler.known().values()))
    click.echo("\nmptcplab scheduler show NAME says more, mptcplab scheduler new NAME starts one.")


@scheduler_group.command("show")
@click.argument("name", shell_complete=completion.one_scheduler)
def scheduler_show(name: str) -> None:
    """Show what a scheduler does, its source and its parameters.

    NAME is one of mptcplab scheduler list, or a file of your own, ./NAME.c.
    """
    try:
        _, found = scheduler.choose(name, scheduler.known(), Path())
    except scheduler.SpecError as error:
        problems = [Problem("scheduler show", "", name, text) for text in error.messages]
        raise InputError(problems) from None
    click.echo(found.description or f"{found.name}: its file has no comment at the start")
    click.echo()
    parameters = (*found.parameters, found.recovery)
    Console().print(catalogue_tables.parameter_table(parameters))
    if found.file:
        click.echo(f"\nfile: {found.file}")


@scheduler_group.command("new")
@click.argument("name")
def scheduler_new(name: str) -> None:
    """Write a scheduler to start from, and its test.

    They are NAME.c and NAME_test.py in this directory.
    """
    for file in scheduler.new(name, Path(), scheduler.known()):
        click.echo(f"written: {file}")
    click.echo(f"compare it: mptcplab compare ... --scheduler default,./{name}.c")


@click.group("cc")
def cc_group() -> None:
    """Congestion controls: the kernel's own, and coupled ones."""


@cc_group.command("list")
def cc_list() -> None:
    """List the congestion controls, with what they couple."""
    Console().print(catalogue_tables.congestion_table(congestion.known().values()))
    click.echo("\nmptcplab cc show NAME says more.")


@cc_group.command("show")
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
