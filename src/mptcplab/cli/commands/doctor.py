# SPDX-License-Identifier: GPL-2.0-only
"""Check this machine for everything that the lab needs.

It names each missing part, with the command that installs it.
"""

from __future__ import annotations

import sys

import click
from rich.console import Console

from mptcplab.lab import doctor, kernel


@click.command("doctor", help=__doc__)
def command() -> None:
    built = kernel.current()
    came_along = built is not None and kernel.came_along(built)
    identity = built.id if built else None
    found = doctor.checks(identity, came_along=came_along, source=kernel.source_check())
    Console().print(doctor.table(found), crop=False)
    sys.exit(doctor.exit_status(found))
