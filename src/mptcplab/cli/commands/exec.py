# SPDX-License-Identifier: GPL-2.0-only
"""Run a program of this machine on the client, over MPTCP.

The program runs in virtual time. Its output is shown, and kept in the directory of the run; the
table goes to standard error. The exit status is the program's. Without --server nothing listens
on the server, but the client can reach it, e.g. -- ping -c 3 server.

\b
mptcplab exec --path wifi:50mbit,10ms --path lte:20mbit,40ms \\
    --server 'iperf3 -s' -- iperf3 -c server -t 10
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options

_PROGRAM = "mptcplab.program"


class _Command(options.Grouped):
    """A command that keeps the arguments after --, a program's, in meta under _PROGRAM."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@click.command("exec", cls=_Command, help=__doc__)
@options.program_options
@options.pcap_option
@options.decisions_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document with the figures instead of the table; the program's output "
    "goes to standard error.",
)
def command(file: Path | None, **given: Any) -> None:
    options.check_shown(given)
    words = click.get_current_context().meta[_PROGRAM]
    if not words:
        raise click.UsageError("no command; it goes after --, e.g. -- curl http://server:8080/")
    from mptcplab.cli.actions import programs

    programs.execute(words, file, given)
