# SPDX-License-Identifier: GPL-2.0-only
"""Clusters that run scenarios: make the key that protects one."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import options
from mptcplab.runs import tls

command = click.Group("cluster", help=__doc__)


@command.command("key")
@click.argument("file", type=options.FILE)
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
