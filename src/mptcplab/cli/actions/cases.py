# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab case does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mptcplab.casebook import pages, reports
from mptcplab.casebook.pages import Told
from mptcplab.casebook.reports import Reproducible
from mptcplab.cli.actions import common, papers
from mptcplab.papers import reproduce
from mptcplab.papers.catalogue import PUBLISHED


def run(names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Run cases with all of their variants; if one fails, the others go on."""
    everything = {name: reports.report(name) for name in reports.chosen(names)}
    able = {name: own for name, own in everything.items() if isinstance(own, Reproducible)}
    for name, own in everything.items():
        if name not in able:
            click.echo(pages.text(Told(name, own)) + "\n")
    if able:
        papers.perform(
            [reports.experiment(name, own) for name, own in able.items()],
            {name: [PUBLISHED, *own.variants()] for name, own in able.items()},
            options,
            lambda found: pages.text(Told(found.published.name, able[found.published.name], found)),
        )


def listing(out: Path) -> None:
    """A line for each case."""
    names = reports.names()
    width = max(map(len, names))
    for told in _told(names, out):
        click.echo(f"{told.name:<{width}}  {told.outcome.verdict:<18}  {told.report.title}")


def show(names: Sequence[str], out: Path) -> None:
    """The results of cases that were run before."""
    for told in _told(reports.chosen(names), out):
        click.echo(pages.text(told) + "\n")
        if told.found is None and not told.cannot:
            common.say(f"not run: mptcplab case run {told.name}")


def publish(directory: Path, out: Path) -> None:
    """Write the pages of all cases."""
    for file in pages.publish(directory, _told(reports.names(), out, directory)):
        click.echo(f"written: {file}")


def _told(names: Sequence[str], out: Path, published_in: Path = pages.PUBLISHED) -> list[Told]:
    """Cases with the results of their runs in `out`, as far as they are whole and current."""
    told, before = [], pages.outcomes(published_in)
    for name in names:
        own, found = reports.report(name), None
        if isinstance(own, Reproducible):
            published = reports.experiment(name, own)
            ran = reproduce.read_parts(published, out)
            if all(
                part in ran and reproduce.is_current(published, part, ran[part])
                for part in (PUBLISHED, *own.variants())
            ):
                found = reproduce.assembled(published, ran)
        told.append(Told(name, own, found, before.get(name, pages.UNKNOWN)))
    return told
