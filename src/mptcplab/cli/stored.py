# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab show, explain and report: views of stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import completion, options
from mptcplab.report import palette


@click.command()
@click.argument(
    "places", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path), required=False
)
@click.option(
    "--format",
    "-f",
    "formats",
    metavar=f"{'|'.join(palette.FORMATS)}",
    multiple=True,
    type=click.Choice(palette.FORMATS),
    help="Format of the picture; may be given several times.  [png]",
)
@click.option("--data", is_flag=True, help="Also write the data as CSV.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the pictures, as KEY.png.  [run.png in the directory of each run]",
)
def show(places: tuple[Path, ...], formats: tuple[str, ...], data: bool, out: Path | None) -> None:
    """Draw a run over time: goodput, RTTs, windows, queues, buffers.

    RUN is the directory of a run, OUT/runs/KEY, or several runs, as for a report: an output
    directory OUT, or a document, to draw each successful run.  [mptcplab-out]
    """
    from mptcplab.cli.actions import stored

    stored.show(places or (options.DEFAULT_OUT,), formats, out, data=data)


@click.command("explain")
@click.argument("places", metavar="[RUN]...", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--scheduler",
    "-s",
    "schedulers",
    metavar="NAME[:PARAM=VALUE...],...",
    multiple=True,
    shell_complete=completion.OF_OPTIONS["--scheduler"],
    help="Only runs of these schedulers; without parameters, of all their forms.",
)
@options.json_option
def explain_command(
    places: tuple[Path, ...], schedulers: tuple[str, ...], *, as_json: bool
) -> None:
    """Say why runs did not reach the sum of their paths.

    RUN is the directory of a run, OUT/runs/KEY, or several runs, as for a report: an output
    directory OUT, or a document, to explain each successful run. Each of several connections is
    explained on its own. docs/explain.md says how to read it.  [mptcplab-out]
    """
    from mptcplab.cli.actions import stored

    names = [name for each in schedulers for name in each.split(",") if name]
    stored.explain_runs(places or (options.DEFAULT_OUT,), names, as_json=as_json)


@click.command("report")
@click.argument("places", metavar="RUNS...", type=click.Path(path_type=Path), nargs=-1)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
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
def report_command(places: tuple[Path, ...], out: Path, figures: Path | None, most: int) -> None:
    """Make one page about runs, with tables and interactive charts.

    It works offline. RUNS are directories of runs, OUT/runs/KEY, output directories OUT, documents
    of comparisons, OUT/comparison.json, or of published experiments, OUT/PAPER/FIGURE.json.
    [mptcplab-out]
    """
    from mptcplab.cli.actions import stored

    stored.report(places or (options.DEFAULT_OUT,), out, figures, most)
