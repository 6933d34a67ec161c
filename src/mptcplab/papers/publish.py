# SPDX-License-Identifier: GPL-2.0-only
"""Writes the results of published experiments: pages, charts, data, claims.json.

A page is made of the data that is written beside it, never of the runs themselves: the same page
can be made where the runs are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import MptcplabError
from mptcplab.papers import (
    catalogue,
    chart,
    data,
    looks,
    markdown_page,
    reproduce,
    summary,
    timeline,
)
from mptcplab.papers.catalogue import Published
from mptcplab.papers.markdown_page import Section
from mptcplab.papers.reproduce import Provenance, Ran
from mptcplab.papers.stale import Now
from mptcplab.papers.timeline import Track
from mptcplab.runs import store


@dataclass(frozen=True)
class Material:
    """The data of an experiment as it is written."""

    published: Published
    rows: str
    columns: str
    provenance: Mapping[str, Provenance]
    series: str = ""


def gathered(published: Published, directory: Path, out: Path | None) -> Material:
    """The runs of an experiment in `out`, and the data of `directory` for parts not run there."""
    stored = directory / data.DATA
    there = reproduce.read_parts(published, out) if out else {}
    ran = {**data.read(published, stored), **there}
    own = published.experiment
    return Material(
        published,
        data.rows_csv(own, ran) if ran else "",
        data.columns_csv(own),
        {part: each.provenance for part, each in ran.items()},
        _series(published, ran, stored) if own.chart.kind == "time" and ran else "",
    )


def section(material: Material, now: Now | None) -> Section:
    """An experiment as its data shows it; without `now` nothing is marked as stale."""
    published, own = material.published, material.published.experiment
    ran: dict[str, Ran] = {}
    if material.rows:
        ran = data.parsed(published, material.rows, material.columns, material.provenance)
    outdated = [name for name in ran if not reproduce.is_current(published, name, ran[name])]
    if not {catalogue.PUBLISHED, catalogue.QUICK} & ran.keys() - {*outdated}:
        return Section(published, None, outdated)
    found = reproduce.assembled(published, ran)
    changed = {
        name: what
        for name, each in found.ran.items()
        if now is not None and (what := now.changed(each.provenance))
    }
    tracks: Sequence[Track] = ()
    if own.chart.kind == "time":
        tracks = timeline.parsed(material.series, published.name)
    return Section(published, found, outdated, changed, tracks)


def publish(
    directory: Path, out: Path, now: Now | None, everything: Sequence[Published]
) -> list[Path]:
    """Write everything for some experiments, whole papers of them; returns the files.

    Raises MptcplabError if nothing has been run, data or runs are damaged, or a claim cannot be
    evaluated.
    """
    materials = [gathered(published, directory, out) for published in everything]
    if not any(material.rows for material in materials):
        raise MptcplabError(f"{out}: no experiment has been run; see mptcplab papers run --help")
    sections = [section(material, now) for material in materials]
    styles = looks.of_schedulers(each.experiment for each in everything)
    papers = markdown_page.by_paper(sections)
    files: dict[str, str | bytes] = {}
    for material in materials:
        files |= _data_files(material)
    for each in sections:
        if each.found is not None:
            name = data.file_name(each.published)
            if each.has_chart():
                content = chart.Content(each.found, styles, each.tracks)
                files[f"{name}.svg"] = chart.drawn(content, "svg")
            files[f"{data.DATA}/{name}-pairs.csv"] = data.pairs_csv(each.found)
    files |= {f"{paper}.md": markdown_page.page(group) for paper, group in papers.items()}
    of = {each.published.name: each.provenance for each in materials if each.provenance}
    files[f"{data.DATA}/{data.PROVENANCE}"] = data.provenance_json(of)
    files[summary.CLAIMS] = summary.claims_json(papers)
    files["README.md"] = summary.readme(papers)
    return [_write(directory / name, content) for name, content in files.items() if content]


def _data_files(material: Material) -> dict[str, str | bytes]:
    name = f"{data.DATA}/{data.file_name(material.published)}"
    found: dict[str, str | bytes] = {
        f"{name}-paper.csv": data.paper_csv(material.published.experiment)
    }
    if material.rows:
        found |= {f"{name}.csv": material.rows, f"{name}.columns.csv": material.columns}
    return found | {f"{name}-series.csv": material.series}


def _series(published: Published, ran: Mapping[str, Ran], stored: Path) -> str:
    """The data of a chart over time: from the runs if they are there, else the stored data."""
    part = next((name for name in (catalogue.PUBLISHED, catalogue.QUICK) if name in ran), None)
    if part is not None and ran[part].directories:
        return timeline.csv_text(timeline.tracks(published, ran[part]))
    file = stored / f"{data.file_name(published)}-series.csv"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _write(file: Path, content: str | bytes) -> Path:
    store.make_directory(file.parent)
    store.write(file, content.encode() if isinstance(content, str) else content)
    return file
