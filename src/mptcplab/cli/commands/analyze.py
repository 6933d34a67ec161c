# SPDX-License-Identifier: GPL-2.0-only
"""Compute figures from captures alone, in pcapng or pcap files.

The figures describe MPTCP, and UDP, such as QUIC and tunnels. FILE is a capture, or a directory
with captures, such as the directory of a run. Captures may come from the lab or from any other
network. mptcplab analyzes files of the same time together, such as one from each end. It detects
where each file was captured, and counts no packet twice.
"""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import options


@click.command("analyze", help=__doc__)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=options.PLACE)
@click.option(
    "--out",
    "-o",
    type=options.DIRECTORY,
    help="Directory for the picture and the document; without it, only the table is shown.",
)
@options.json_option
def command(files: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    from mptcplab.cli.actions import analyze

    analyze.analyze_files(files, out, as_json=as_json)
