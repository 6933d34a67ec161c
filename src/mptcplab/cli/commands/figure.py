# SPDX-License-Identifier: GPL-2.0-only
"""Draw a figure of many runs for a paper.

Beside the picture, it writes the data, and a script that draws it from them. RUNS are those of a
report: an output directory OUT, of a sweep or a comparison, or others. [mptcplab-out]

\b
mptcplab figure OUT --metric goodput --over path.lte.delay --width 84mm -o fig.pdf
mptcplab figure OUT --metric completion_p99 -o fig.svg -o fig.csv -o fig.py
"""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import options


@click.command("figure", help=__doc__)
@click.argument("places", metavar="RUNS...", type=options.PLACE, nargs=-1)
@click.option(
    "--metric",
    default="",
    metavar="NAME",
    help="The figure, as docs/metrics.md names it, with unit or without.  [the workload's main]",
)
@click.option(
    "--over",
    default="",
    metavar="AXIS",
    help="The axis of the lines, as the sweep names it.  [the one with the most values]",
)
@click.option("--width", default="84mm", show_default=True, help="Of the picture; mm, cm, in, pt.")
@click.option("--height", help="Of the picture.  [follows from the width]")
@click.option("--title", default="", help="Above the picture.  [none]")
@click.option(
    "--out",
    "-o",
    "files",
    type=options.FILE,
    multiple=True,
    default=[Path("fig.pdf")],
    help="A picture, fig.pdf, .svg or .png; its data, fig.csv or .tsv; or a Python script, fig.py, "
    "which draws the picture from the data. Repeatable.  [fig.pdf]",
)
def command(
    places: tuple[Path, ...],
    metric: str,
    over: str,
    width: str,
    height: str | None,
    title: str,
    files: tuple[Path, ...],
) -> None:
    from mptcplab.report import figure_files

    found = places or (options.DEFAULT_OUT,)
    made = figure_files.figure(found, metric, over, size=(width, height), title=title)
    for file in made.save(*files):
        click.echo(f"figure: {file}")
