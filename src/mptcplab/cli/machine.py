# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab kernel and doctor: what runs need."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mptcplab.lab import doctor, kernel
from mptcplab.runs import tls


@click.group("kernel")
def kernel_group() -> None:
    """The lab kernel: Linux, built as an ordinary program."""


@kernel_group.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Archive or directory of the Linux 6.12 source; remembered for later builds.  "
    "[Debian's package linux-source-6.12]",
)
@click.option(
    "--variant",
    type=click.Choice(list(kernel.VARIANTS)),
    default="lab",
    show_default=True,
    help="With the arithmetic of kernels for virtual machines (cloud), with run-time checks "
    "(debug), for the kernel's own tests (selftest), or without our schedulers (upstream).",
)
def kernel_build(source: Path | None, variant: str) -> None:
    """Build the kernel into the cache.

    Later builds compile only what has changed. If it came with mptcplab there is nothing to build,
    unless you choose a source.
    """
    started = time.monotonic()
    known = kernel.current(variant)
    built = kernel.build(source, variant=variant)
    if kernel.came_along(built):
        click.echo(
            f"kernel {built.id} came with mptcplab: nothing to build; --source ARCHIVE builds one, "
            "and mptcplab doctor says what that needs"
        )
    elif known == built:
        click.echo(f"kernel {built.id} is up to date")
    else:
        click.echo(f"kernel {built.id} built in {time.monotonic() - started:.0f} s")


@kernel_group.command("list")
def kernel_list() -> None:
    """List the kernels, and which are current.

    A run uses the current one, and builds it if it is missing. The others can be removed, but for
    the one that came with mptcplab.
    """
    of_now = {kernel.current(variant) for variant in kernel.VARIANTS}
    table = Table(box=None, pad_edge=False)
    for name in ("id", "variant", "like", "built", "of now"):
        table.add_column(name, no_wrap=True)
    for build in kernel.built():
        made = datetime.fromtimestamp(build.image.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
        if kernel.came_along(build):
            made = "with mptcplab"
        known = "yes" if build in of_now else ""
        table.add_row(build.id, build.variant, kernel.configured_flavour(build), made, known)
    Console().print(table)
    click.echo(f"built ones are in {kernel.place()}, a directory for each")


@click.group("cluster")
def cluster_group() -> None:
    """Clusters that run scenarios: make the key that protects one."""


@cluster_group.command("key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def cluster_key_command(file: Path) -> None:
    """Make the key of a cluster.

    Whoever has FILE can run code on all its machines, and nobody else can. docs/cluster.md.

    \b
    mptcplab cluster key cluster.pem
    dask scheduler --protocol tls --tls-ca-file cluster.pem --tls-cert cluster.pem
    dask worker tls://HOST:8786 --tls-ca-file cluster.pem --tls-cert cluster.pem --nthreads 1
    mptcplab sweep FILE.toml --cluster tls://HOST:8786 --cluster-key cluster.pem
    """
    tls.make(file)
    click.echo(f"key:  {file}")
    click.echo("next: copy it to each machine of the cluster, as a file that only you can read")


@click.command("doctor")
def doctor_command() -> None:
    """Say what this machine lacks, and the command that fixes it."""
    built = kernel.current()
    came_along = built is not None and kernel.came_along(built)
    identity = built.id if built else None
    found = doctor.checks(identity, came_along=came_along, source=kernel.source_check())
    Console().print(doctor.table(found), crop=False)
    sys.exit(doctor.exit_status(found))
