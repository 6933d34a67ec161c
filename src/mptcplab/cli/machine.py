# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab kernel and doctor: what runs need."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.console import Console

from mptcplab.runs import tls
from mptcplab.uml import doctor, kernel


@click.group("kernel")
def kernel_group() -> None:
    """The lab kernel: Linux, built as an ordinary program."""


@kernel_group.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Archive or directory of a Linux 6.12 source; remembered for later builds.  "
    "[Debian's package linux-source-6.12]",
)
@click.option(
    "--variant",
    type=click.Choice(list(kernel.VARIANTS)),
    default="lab",
    show_default=True,
    help="With checks of everything (debug), for the kernel's own tests (selftest), or without "
    "the schedulers' framework (upstream).",
)
def kernel_build(source: Path | None, variant: str) -> None:
    """Build the kernel into the cache, or only what has changed since."""
    started = time.monotonic()
    known = kernel.current(variant)
    built = kernel.build(source, variant=variant)
    if known == built:
        click.echo(f"kernel {built.id} is up to date")
    else:
        click.echo(f"kernel {built.id} built in {time.monotonic() - started:.0f} s")


@click.group("cluster")
def cluster_group() -> None:
    """Clusters that make runs: the key that keeps others out."""


@cluster_group.command("key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def cluster_key_command(file: Path) -> None:
    """Make the key of a cluster: whoever has FILE can run code on all its machines, and nobody else
    can. docs/cluster.md.

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
    """Say what this machine lacks, and the command that mends it."""
    built = kernel.current()
    found = doctor.checks(built.id if built else None)
    Console().print(doctor.table(found))
    sys.exit(doctor.exit_status(found))
