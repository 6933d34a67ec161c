# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab exec and shell: programs of this machine in a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mptcplab.cli import options

F = TypeVar("F", bound=Callable[..., Any])

_PROGRAM = "mptcplab.program"
# The scenario's options that also apply when a program is the workload.
_TESTBED = (
    *("path", "link", "event", "cc", "transport", "send_buffer", "receive_buffer", "seed_delay"),
    *("vary", "kernel", "kernel_like"),
    *("sample_interval", "seed", "out", "wall_limit", "disk_limit", "only_plan"),
)


class _ProgramCommand(click.Command):
    """A command that keeps the arguments after --, a program's, in meta under _PROGRAM."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _program_options(command: F) -> F:
    """The options of a run whose workload is a program."""
    parts = [
        click.argument("file", type=click.Path(path_type=Path), required=False),
        click.option(
            "--server",
            default="",
            metavar="COMMAND",
            help="Run this program on the server, first.",
        ),
        click.option(
            "--listen",
            default="",
            metavar="tcp|udp:PORT",
            help="Wait until something on the server listens on this.  [any port]",
        ),
        click.option(
            "--time-limit", help="End the program after this virtual time, e.g. 30s.  [600s]"
        ),
        options.scheduler_option,
        options.some_of_scenario_options(_TESTBED),
    ]
    for option in reversed(parts):
        command = option(command)
    return command


@click.command("exec", cls=_ProgramCommand)
@_program_options
@options.pcap_option
@options.decisions_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document with the figures instead of the table; what the program prints "
    "goes to standard error.",
)
def exec_command(
    file: Path | None, server: str, listen: str, time_limit: str | None, **given: Any
) -> None:
    """Run a program of this machine on the client, over MPTCP.

    It runs in virtual time. Its output is shown, and kept in the directory of the run; the table
    goes to standard error. The exit status is the program's. Without --server nothing listens on
    the server, which it can still reach, e.g. -- ping -c 3 server.

    \b
    mptcplab exec --path wifi:50mbit,10ms --path lte:20mbit,40ms \\
        --server 'iperf3 -s' -- iperf3 -c server -t 10
    """
    options.check_shown(given)
    words = click.get_current_context().meta[_PROGRAM]
    if not words:
        raise click.UsageError("no command; it goes after --, e.g. -- curl http://server:8080/")
    from mptcplab.cli.actions import programs

    programs.execute(words, file, server, listen, time_limit, given)


@click.command("shell")
@_program_options
def shell_command(
    file: Path | None, server: str, listen: str, time_limit: str | None, **options: Any
) -> None:
    """Open a shell on the client, where ss, tc and tcpdump work.

    So does any other program. On a terminal it runs in real time; the commands of a script on
    standard input run in virtual time. Nothing is kept.

    \b
    echo 'ping -c 3 server; ss -M' | mptcplab shell --path wifi:50mbit,10ms
    """
    from mptcplab.cli.actions import programs

    programs.shell(file, server, listen, time_limit, options)
