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


def gathered(published: Published, directory: Path, out: Path | None) -> dict[str, dict[str, Ran]]:
    """By kernel, "" for the lab's, the runs of an experiment in `out`, and the data of `directory`
    for parts not run there, with figures as data has them. Kernels without either are left out.
    """
    found = {}
    for kernel in ("", *kernels(directory, out)):
        place = data.place(kernel)
        there = reproduce.read_parts(published, out / place) if out else {}
        if ran := {**data.read(published, directory / data.DATA / place), **there}:
            found[kernel] = data.rounded(published.experiment, ran)
    return found


def kernels(directory: Path, out: Path | None) -> list[str]:
    """The names of the kernels beside the lab's that have runs in `out`, or data."""
    places = [directory / data.DATA, *([out] if out else [])]
    return sorted({each.name for place in places for each in place.glob(f"{data.KERNELS}/*/")})


def section(
    published: Published,
    by_kernel: Mapping[str, Mapping[str, Ran]],
    now: Mapping[str, Now],
    tracks: Sequence[Track] = (),
) -> Section:
    """An experiment as its data shows it, which is as `gathered` returns it.

    Nothing of a kernel that is not in `now` is marked as stale.
    """
    outdated = {
        kernel: old
        for kernel, ran in by_kernel.items()
        if (old := [name for name in ran if not reproduce.is_current(published, name, ran[name])])
    }
    found = {
        kernel: reproduce.assembled(published, parts)
        for kernel, parts in by_kernel.items()
        if _can_be_shown(published, parts)
    }
    changed = {
        (kernel, name): what
        for kernel, of in found.items()
        for name, each in (of.ran if kernel in now else {}).items()
        if (what := now[kernel].changed(each.provenance))
    }
    own = found.pop("", None)
    return Section(published, own, outdated, changed, tracks if own else (), found)


def _can_be_shown(published: Published, ran: Mapping[str, Ran]) -> bool:
    """Whether there are runs of the setting itself: a variant alone is another one."""
    return any(
        name in ran and reproduce.is_current(published, name, ran[name])
        for name in (catalogue.PUBLISHED, catalogue.QUICK, catalogue.DRAWS)
    )


def publish(
    directory: Path, out: Path, now: Mapping[str, Now], everything: Sequence[Published]
) -> list[Path]:
    """Write everything for some experiments, whole papers of them; returns the files.

    Raises MptcplabError if nothing has been run, data or runs are damaged, or a claim cannot be
    evaluated.
    """
    every = [(published, gathered(published, directory, out)) for published in everything]
    if not any(by_kernel for _, by_kernel in every):
        raise MptcplabError(f"{out}: no experiment has been run; see mptcplab papers run --help")
    files: dict[str, str | bytes] = {}
    sections = []
    for published, by_kernel in every:
        own, name = published.experiment, data.file_name(published)
        series = f"{data.DATA}/{name}-series.csv"
        tracks = _tracks(published, by_kernel.get("", {}), directory / series)
        files[f"{data.DATA}/{name}-paper.csv"] = data.paper_csv(own)
        files[series] = data.series_csv(tracks) if tracks else ""
        for kernel, ran in by_kernel.items():
            file = f"{Path(data.DATA, data.place(kernel), name)}"
            files[f"{file}.csv"] = data.rows_csv(own, ran)
            files[f"{file}.columns.csv"] = data.columns_csv(own, ran)
        sections.append(section(published, by_kernel, now, tracks))
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
    for kernel in sorted({kernel for _, by_kernel in every for kernel in by_kernel}):
        of_it = ((published, by_kernel.get(kernel, {})) for published, by_kernel in every)
        file = f"{Path(data.DATA, data.place(kernel), data.PROVENANCE)}"
        files[file] = data.provenance_json(of_it)
    files[summary.CLAIMS] = summary.claims_json(papers)
    files["README.md"] = summary.readme(papers)
    return [write(directory / name, content) for name, content in files.items() if content]


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
