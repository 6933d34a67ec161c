# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab show, explain and report: what stored runs are like."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.cli import common
from mptcplab.metrics import series
from mptcplab.report import (
    charts,
    explain,
    page,
    palette,
    paper_figures,
    run_chart,
)
from mptcplab.runs import documents, store
from mptcplab.runs.collection import collect, run_directories


@click.command()
@click.argument(
    "places", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path), required=False
)
@click.option(
    "--format",
    "-f",
    "formats",
    metavar=f"{'|'.join(run_chart.FORMATS)}",
    multiple=True,
    type=click.Choice(run_chart.FORMATS),
    help="Of the picture; may be given several times.  [png]",
)
@click.option("--data", is_flag=True, help="Also write the series that are drawn, as CSV.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the pictures, as KEY.png.  [run.png in the directory of each run]",
)
def show(places: tuple[Path, ...], formats: tuple[str, ...], data: bool, out: Path | None) -> None:
    """Draw a run: goodput, round-trip times, windows, queues and buffers over time.

    RUN is the directory of a run, OUT/runs/KEY, or several runs, as for a report: an output
    directory OUT, or a document, for a picture of each that ended well.  [mptcplab-out]
    """
    directories = run_directories(places or (common.DEFAULT_OUT,))
    if out is not None:
        store.make_directory(out)
    for directory in directories:
        item, drawn = store.read_scenario(directory), store.read_series(directory)
        file = directory / "run" if out is None else out / directory.resolve().name
        with documents.contradictions_told(directory):
            written = run_chart.write(item, drawn, file, tuple(formats) or ("png",))
            if data:
                written.append(file.with_name(f"{file.name}.csv"))
                store.write(written[-1], series.csv_text(drawn).encode())
        for each in written:
            click.echo(f"{common.title(item)}: {each}")


@click.command("explain")
@click.argument("runs", metavar="RUN...", type=click.Path(path_type=Path), nargs=-1, required=True)
@common.json_option
def explain_command(runs: tuple[Path, ...], as_json: bool) -> None:
    """Say why runs did not reach the sum of their paths.

    RUN is the directory of a run, OUT/runs/KEY, or the output directory OUT of a single one.
    docs/explain.md says how to read it.
    """
    found = [explain.find_run(run) for run in runs]
    explanations = [explain.explain(directory) for directory in found]
    if as_json:
        documents = [
            {"directory": str(directory), **each.document()}
            for directory, each in zip(found, explanations, strict=True)
        ]
        click.echo(json.dumps(documents, indent=1))
    else:
        click.echo("\n\n".join(each.text() for each in explanations))


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
    help="How many runs can be opened to what happened over time; low seeds go first.",
)
def report_command(places: tuple[Path, ...], out: Path, figures: Path | None, most: int) -> None:
    """Make one page of runs, with tables and interactive charts, that needs no network.

    RUNS are directories of runs, OUT/runs/KEY, output directories OUT, documents of comparisons,
    OUT/comparison.json, or of published experiments, OUT/PAPER/FIGURE.json.  [mptcplab-out]
    """
    places = places or (common.DEFAULT_OUT,)
    collection = collect(places).opening(most)
    for directory in filter(None, (out.parent, figures)):
        store.make_directory(directory)
    looks = palette.styles(collection.schedulers())
    with documents.contradictions_told(", ".join(map(str, places))):
        overview = charts.overview(collection)
        of_groups = [charts.of_group(group) for group in collection.groups]
        html = page.render(collection, looks, overview, of_groups)
    store.write(out, html.encode())
    click.echo(f"report:  {out} ({len(html.encode()) / 1e6:.1f} MB)")
    if (count := collection.count()) > most:
        click.echo(f"series:  of {most} of {count} runs; --series {count} has all")
    if figures is None:
        return
    named = [("", chart) for figure in overview for chart in figure]
    for group, drawn in zip(collection.groups, of_groups, strict=True):
        place = group.name if len(of_groups) > 1 else ""
        named += [(place, chart) for chart in drawn]
    written = paper_figures.write(named, looks, figures)
    click.echo(f"figures: {figures} ({len(named)} charts, {len(written)} files)")
