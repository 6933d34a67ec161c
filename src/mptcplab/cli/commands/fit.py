# SPDX-License-Identifier: GPL-2.0-only
"""Make a scenario from a capture, logs of ss, or speed tests.

FILE is a capture of one transfer over Multipath TCP or TCP: with all paths, or one for each path.
It may also be a log of ss -tin, repeated during the transfer. The result is a scenario file, with
the interval and the source of each value.

\b
mptcplab fit client.pcapng --name 10.0.1.1=dsl --name 10.0.2.1=lte
mptcplab fit --path dsl:12mbit,13mbit,ping.txt,loaded=busy.txt --path lte:iperf3.json,lte-ping.txt
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options


@click.command("fit", help=__doc__)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=options.FILE)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="ADDRESS=NAME",
    help="The path with this address of the client or the server has this name. Repeatable.  "
    "[path1, path2, ...]",
)
@click.option(
    "--path",
    "-p",
    "paths",
    multiple=True,
    metavar="NAME:ITEM,...",
    help="A path without a capture; each ITEM is a rate of a speed test, its JSON, the output of "
    "ping, or loaded=FILE, the output of ping during a speed test. Repeatable.",
)
@click.option(
    "--interval",
    metavar="TIME",
    help="Time between two outputs of ss, e.g. 1s.  [lines with times, as from date +%s.%N]",
)
@click.option(
    "--out",
    "-o",
    type=options.FILE,
    default=Path("fitted.toml"),
    show_default=True,
    help="The scenario file; it replaces an existing one.",
)
@options.json_option
def command(out: Path, as_json: bool, **given: Any) -> None:
    from mptcplab.cli.actions import fit

    fit.fit(**given, out=out, as_json=as_json)
