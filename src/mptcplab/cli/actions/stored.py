# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab show, explain and report do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from mptcplab.cli.actions import common
from mptcplab.metrics import series
from mptcplab.report import palette
from mptcplab.runs import documents, store
from mptcplab.runs.collection import collect, run_directories, successful


def show(places: Sequence[Path], formats: Sequence[str], out: Path | None, *, data: bool) -> None:
    """Draw runs. Raises click.UsageError if `out` is a file for several runs or formats."""
    from mptcplab.report import run_chart

    directories = run_directories(places)
    form = None if out is None else palette.format_of(out)
    if form and (len(directories) > 1 or formats):
        given = "--format" if formats else f"{len(directories)} runs"
        raise click.UsageError(f"--out {out} is one file; with {given}, it takes a directory")
    if out is not None:
        store.make_directory(out.parent if form else out)
    for directory in directories:
        item, drawn = store.read_scenario(directory), store.read_series(directory)
        file = directory / "run" if out is None else out / directory.resolve().name
        if out is not None and form:
            file, formats = out.with_suffix(""), (form,)
        with documents.contradictions_reported(directory):
            written = run_chart.write(item, drawn, file, formats or palette.FORMATS[:1])
            if data:
                written.append(file.with_name(f"{file.name}.csv"))
                store.write(written[-1], series.csv_text(drawn).encode())
        for each in written:
            click.echo(f"{common.title(item)}: {each}")


def explain_runs(
    places: Sequence[Path], schedulers: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Explain why runs did not reach the sum of their paths, and what may help."""
    from mptcplab.cli.actions import remedies
    from mptcplab.report import explain

    explained = [
        (run.directory, each)
        for run in successful(places, schedulers)
        if run.directory
        for each in explain.explain(run.directory)
    ]
    changes = [remedies.wanted(*each) for each in explained]
    tried: list[remedies.Tried] = [None] * len(explained)
    if options["tried"]:
        tried = [
            remedies.tried(place, own, options) if own else None
            for (place, _), own in zip(explained, changes, strict=True)
        ]
    helps = list(zip(explained, changes, tried, strict=True))
    if options["as_json"]:
        found = [
            {
                "directory": str(place),
                **asdict(each),
                "remedies": remedies.as_json(each, own, of),
            }
            for (place, each), own, of in helps
        ]
        click.echo(json.dumps(found, indent=1))
        return
    titles = Counter(each.title + each.part for _, each in explained)
    # runs of different settings may be called the same
    click.echo(
        "\n\n".join(
            "\n".join(
                [
                    *([f"{place}:"] if titles[each.title + each.part] > 1 else []),
                    each.text(),
                    *remedies.lines(place, each, own, of),
                ]
            )
            for (place, each), own, of in helps
        )
    )


def report(places: Sequence[Path], out: Path, figures: Path | None, most: int) -> None:
    """Make the page of some runs, and its charts for papers in `figures`."""
    from mptcplab.report import charts, html_page, paper_figures

    collection = collect(places).opening(most)
    for directory in filter(None, (out.parent, figures)):
        store.make_directory(directory)
    with documents.contradictions_reported(", ".join(map(str, places))):
        overview, of_groups = charts.of_collection(collection)
        looks = palette.styles(collection.schedulers(), collection.outputs)
        html = html_page.render(collection, looks, overview, of_groups)
    store.write(out, html.encode())
    click.echo(f"report:  {out} ({len(html.encode()) / 1e6:.1f} MB)")
    if (count := collection.count()) > most:
        click.echo(f"series:  of {most} of {count} runs; --series {count} includes all")
    if figures is None:
        return
    # of several scenarios, a chart over all of them stands for one of each
    drawn = [chart for charts_ in overview or of_groups for chart in charts_]
    with common.counting("charts", len(drawn)) as count_one:
        written = paper_figures.write(drawn, looks, figures, count_one)
    click.echo(f"figures: {figures} ({len(drawn)} charts, {len(written)} files)")
