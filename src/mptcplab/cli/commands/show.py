# SPDX-License-Identifier: GPL-2.0-only
"""Draw a run over time: goodput, RTTs, windows, and more.

RUN is the directory of a run, OUT/runs/KEY, or several runs, as for a report: an output
directory OUT, or a document, to draw each successful run.  [mptcplab-out]
"""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import options
from mptcplab.report import palette


@click.command("show", help=__doc__)
@click.argument("places", metavar="[RUN]...", nargs=-1, type=options.PLACE, required=False)
@click.option(
    "--format",
    "-f",
    "formats",
    metavar=f"{'|'.join(palette.FORMATS)}",
    multiple=True,
    type=click.Choice(palette.FORMATS),
    help="Format of the picture. Repeatable.  [png]",
)
@click.option("--data", is_flag=True, help="Also write the data as CSV.")
@click.option(
    "--out",
    "-o",
    type=options.PLACE,
    help="Directory for the pictures, as KEY.png, or the file of one picture, such as fig.pdf.  "
    "[run.png in the directory of each run]",
)
def command(
    places: tuple[Path, ...], formats: tuple[str, ...], data: bool, out: Path | None
) -> None:
    from mptcplab.cli.actions import stored

    stored.show(places or (options.DEFAULT_OUT,), formats, out, data=data)
