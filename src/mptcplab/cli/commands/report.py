# SPDX-License-Identifier: GPL-2.0-only
"""Make one page about runs, with tables and interactive charts.

It works offline. RUNS are directories of runs, OUT/runs/KEY, output directories OUT, documents
of comparisons, OUT/comparison.json, or of published experiments, OUT/PAPER/FIGURE.json.
[mptcplab-out]
"""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import options


@click.command("report", help=__doc__)
@click.argument("places", metavar="RUNS...", type=options.PLACE, nargs=-1)
@click.option(
    "--out",
    "-o",
    type=options.FILE,
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--figures",
    type=options.DIRECTORY,
    metavar="DIR",
    help="Also draw the charts for papers, as PNG, SVG and PDF, into this directory.",
)
@click.option(
    "--series",
    "most",
    type=click.IntRange(min=0),
    default=500,
    show_default=True,
    metavar="N",
    help="How many runs can be opened as time series, lowest seeds first.",
)
def command(places: tuple[Path, ...], out: Path, figures: Path | None, most: int) -> None:
    from mptcplab.cli.actions import stored

    stored.report(places or (options.DEFAULT_OUT,), out, figures, most)
