# SPDX-License-Identifier: GPL-2.0-only
"""Writes the results of published experiments: pages, charts, data, claims.json.

A page is made of the data that is written beside it, never of the runs themselves: the same page
can be made where the runs are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mptcplab.errors import MptcplabError
from mptcplab.papers import (
    catalogue,
    chart,
    data,
    markdown_page,
    reproduce,
    summary,
)
from mptcplab.papers.catalogue import Published
from mptcplab.papers.data import Track
from mptcplab.papers.markdown_page import Section
from mptcplab.papers.reproduce import Ran
from mptcplab.papers.stale import Now
from mptcplab.runs import store


def gathered(published: Published, directory: Path, out: Path | None) -> dict[str, Ran]:
    """The runs of an experiment in `out`, and the data of `directory` for parts not run there, with
    figures as data has them.
    """
    there = reproduce.read_parts(published, out) if out else {}
    ran = {**data.read(published, directory / data.DATA), **there}
    return data.rounded(published.experiment, ran)


def kernels(directory: Path, out: Path | None) -> list[str]:
    """The names of the kernels beside the lab's that have runs in `out`, or data."""
    places = [directory / data.DATA, *([out] if out else [])]
    return sorted({each.name for place in places for each in place.glob(f"{data.KERNELS}/*/")})


def section(
    published: Published,
    ran: Mapping[str, Ran],
    now: Now | None,
    tracks: Sequence[Track] = (),
    beside: Mapping[str, Mapping[str, Ran]] | None = None,
) -> Section:
    """An experiment as its data shows it, and `beside` that of other kernels, by their names.

    Without `now` nothing is marked as stale.
    """
    outdated = [name for name in ran if not reproduce.is_current(published, name, ran[name])]
    if not _can_be_shown(published, ran):
        return Section(published, None, outdated)
    found = reproduce.assembled(published, ran)
    changed = {
        name: what
        for name, each in found.ran.items()
        if now is not None and (what := now.changed(each.provenance))
    }
    others = {
        kernel: reproduce.assembled(published, parts)
        for kernel, parts in (beside or {}).items()
        if _can_be_shown(published, parts)
    }
    return Section(published, found, outdated, changed, tracks, others)


def _can_be_shown(published: Published, ran: Mapping[str, Ran]) -> bool:
    """Whether there are runs of the setting itself: a variant alone is another one."""
    return any(
        name in ran and reproduce.is_current(published, name, ran[name])
        for name in (catalogue.PUBLISHED, catalogue.QUICK, catalogue.DRAWS)
    )


def publish(
    directory: Path, out: Path, now: Now | None, everything: Sequence[Published]
) -> list[Path]:
    """Write everything for some experiments, whole papers of them; returns the files.

    Raises MptcplabError if nothing has been run, data or runs are damaged, or a claim cannot be
    evaluated.
    """
    every = [(published, gathered(published, directory, out)) for published in everything]
    if not any(ran for _, ran in every):
        raise MptcplabError(f"{out}: no experiment has been run; see mptcplab papers run --help")
    beside = {published.name: _beside(published, directory, out) for published, _ in every}
    files: dict[str, str | bytes] = {}
    sections = []
    for published, ran in every:
        own, name = published.experiment, f"{data.DATA}/{data.file_name(published)}"
        tracks = _tracks(published, ran, directory / f"{name}-series.csv")
        files[f"{name}-paper.csv"] = data.paper_csv(own)
        if ran:
            files[f"{name}.csv"] = data.rows_csv(own, ran)
            files[f"{name}.columns.csv"] = data.columns_csv(own, ran)
        files[f"{name}-series.csv"] = data.series_csv(tracks) if tracks else ""
        of_kernels = {kernel: of for kernel, of in beside[published.name].items() if of}
        for kernel, of in of_kernels.items():
            name = f"{data.DATA}/{data.KERNELS}/{kernel}/{data.file_name(published)}"
            files[f"{name}.csv"] = data.rows_csv(own, of)
            files[f"{name}.columns.csv"] = data.columns_csv(own, of)
        sections.append(section(published, ran, now, tracks, of_kernels))
    styles = chart.styles(each.experiment for each in everything)
    papers = markdown_page.by_paper(sections)
    for each in sections:
        if each.found is not None:
            name = data.file_name(each.published)
            if each.has_chart():
                content = chart.Content(each.found, styles, each.tracks)
                files[f"{name}.svg"] = chart.drawn(content, "svg")
            files[f"{data.DATA}/{name}-pairs.csv"] = data.pairs_csv(each.found)
    files |= {f"{paper}.md": markdown_page.page(group) for paper, group in papers.items()}
    files[f"{data.DATA}/{data.PROVENANCE}"] = data.provenance_json(every)
    for kernel in kernels(directory, out):
        name = f"{data.DATA}/{data.KERNELS}/{kernel}/{data.PROVENANCE}"
        of_it = ((published, beside[published.name][kernel]) for published in everything)
        files[name] = data.provenance_json(of_it)
    files[summary.CLAIMS] = summary.claims_json(papers)
    files["README.md"] = summary.readme(papers)
    return [write(directory / name, content) for name, content in files.items() if content]


def _beside(published: Published, directory: Path, out: Path | None) -> dict[str, dict[str, Ran]]:
    """The runs of an experiment with each other kernel, as `gathered` has those of the lab's."""
    found = {}
    for kernel in kernels(directory, out):
        place = Path(data.KERNELS, kernel)
        there = reproduce.read_parts(published, out / place) if out else {}
        ran = {**data.read(published, directory / data.DATA / place), **there}
        found[kernel] = data.rounded(published.experiment, ran)
    return found


def _tracks(published: Published, ran: Mapping[str, Ran], stored: Path) -> list[Track]:
    """The lines of a chart over time: from the runs if they are there, else the stored data."""
    part = next((name for name in (catalogue.PUBLISHED, catalogue.QUICK) if name in ran), None)
    if published.experiment.chart.kind != "time" or not ran:
        return []
    if part is not None and ran[part].directories:
        return data.tracks(published, ran[part])
    return data.parsed_series(stored.read_text("utf-8"), str(stored)) if stored.exists() else []


def write(file: Path, content: str | bytes) -> Path:
    store.make_directory(file.parent)
    store.write(file, content.encode() if isinstance(content, str) else content)
    return file
