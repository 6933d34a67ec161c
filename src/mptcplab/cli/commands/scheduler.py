# SPDX-License-Identifier: GPL-2.0-only
"""Packet schedulers: the lab's, and your own."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from rich.console import Console

from mptcplab.cli import completion, options
from mptcplab.errors import InputError, Problem
from mptcplab.report import catalogue_tables
from mptcplab.scenario import scheduler

command = click.Group("scheduler", help=__doc__)


@command.command("list")
def scheduler_list() -> None:
    """List the schedulers of the lab."""
    Console().print(catalogue_tables.scheduler_table(scheduler.known().values()))
    click.echo("\nmptcplab scheduler show NAME says more, mptcplab scheduler new NAME starts one.")


@command.command("show")
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
    parameters = (*found.parameters, *found.common_parameters)
    Console().print(catalogue_tables.parameter_table(parameters))
    if text := without_patches(name):
        click.echo(f"\nwithout our patches for MPTCP: {text}")
    if found.file:
        click.echo(f"\nfile: {found.file}")


def without_patches(name: str) -> str:
    """What is left of a scheduler of the lab on such a kernel; empty for `default` and others."""
    from mptcplab.lab import adapter, kernel

    if name in adapter.carried():
        return adapter.described(name)
    reason = kernel.refused_by_adapter().get(name)
    return f"refused: {reason}" if reason else ""


@command.command("new")
@click.argument("name")
def scheduler_new(name: str) -> None:
    """Write a scheduler to start from, and its test.

    The files are NAME.c and NAME_test.py in this directory.
    """
    for file in scheduler.new(name, Path(), scheduler.known()):
        click.echo(f"written: {file}")
    click.echo(f"compare it: mptcplab compare ... --scheduler default,./{name}.c")


@command.command("package")
@click.argument("file", required=False, type=options.FILE)
@options.out_option_of(Path(), "Directory for the package.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Package FILE although it sends duplicates or out of order, or uses units.",
)
def scheduler_package(file: Path | None, out: Path, anyway: bool) -> None:
    """Make a Debian package, for kernels without our patches for MPTCP.

    It has the lab's schedulers; with FILE, a scheduler of your own, ./NAME.c, which needs that
    package. DKMS compiles them where they are installed: docs/deploy.md.
    """
    from mptcplab.lab import adapter, kernel, package

    if file is not None:
        try:
            name = scheduler.read(file, scheduler.known()).name
            package.check(file, anyway=anyway)
        except ValueError as error:
            problem = Problem("scheduler package", "", str(file), str(error))
            raise InputError([problem]) from None
        kernel.module(kernel.build(), file)
        click.echo(f"without our patches for MPTCP: {adapter.described(name, file)}")
    made = package.make(out, file)
    click.echo(f"written: {made}")
    # apt takes a/b for the package a of the release b
    path = made if made.is_absolute() else f"./{made}"
    click.echo(f"install it: apt install {shlex.quote(str(path))}")
