# SPDX-License-Identifier: GPL-2.0-only
"""Open a shell on the client, where ss, tc and tcpdump work.

Any other program works, too. On a terminal it runs in real time; the commands of a script on
standard input run in virtual time. Nothing is kept.

\b
echo 'ping -c 3 server; ss -M' | mptcplab shell --path wifi:50mbit,10ms
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options


@click.command("shell", cls=options.Grouped, help=__doc__)
@options.program_options
def command(file: Path | None, **given: Any) -> None:
    from mptcplab.cli.actions import programs

    programs.shell(file, given)
