# SPDX-License-Identifier: GPL-2.0-only
"""Public reports of trouble with MPTCP, run again and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import completion, options

command = click.Group("case", help=__doc__)

_out = options.out_option_of(
    Path("cases-out"), "Directory for the runs; runs found there are reused."
)
_names = click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=completion.cases
)


@command.command("list")
@_out
def case_list(out: Path) -> None:
    """List the cases, each with its verdict.

    It is that of the runs in OUT, or else the published one.
    """
    from mptcplab.cli.actions import cases

    cases.listing(out)


@command.command("run")
@_names
@options.experiment_options
@_out
def case_run(names: tuple[str, ...], **options: Any) -> None:
    """Run cases with every scheduler, and judge the reports by them.

    NAME is a name of mptcplab case list, or all. Ctrl-C keeps all finished runs; the same command
    resumes. docs/casebook.md
    """
    from mptcplab.cli.actions import cases

    cases.run(names, options)


@command.command("show")
@_names
@_out
def case_show(names: tuple[str, ...], out: Path) -> None:
    """Show reports, and the results of the runs in OUT."""
    from mptcplab.cli.actions import cases

    cases.show(names, out)


@command.command("publish")
@click.argument("directory", type=options.DIRECTORY)
@_out
def case_publish(directory: Path, out: Path) -> None:
    """Write an index, and a page for each case, into DIRECTORY."""
    from mptcplab.cli.actions import cases

    cases.publish(directory, out)
