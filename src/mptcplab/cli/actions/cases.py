# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab case does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mptcplab.casebook import pages, reports
from mptcplab.casebook.pages import Told
from mptcplab.casebook.reports import Reproducible
from mptcplab.cli.actions import common
from mptcplab.cli.actions import papers as experiments
from mptcplab.errors import MptcplabError, RunCancelledError
from mptcplab.papers import reproduce
from mptcplab.papers.catalogue import PUBLISHED


def run(names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Run cases with all of their variants; if one fails, the others go on."""
    everything = [(name, reports.report(name)) for name in reports.chosen(names)]
    kernels, guest = experiments.builds(options["kernel"], options["cluster"])
    failed = False
    with common.running(options, show=common.progress) as runner:
        for kernel in kernels:
            out = runner.out / "kernels" / kernel.name if kernel.name else runner.out
            for name, own in everything:
                told = Told(name, own)
                if isinstance(own, Reproducible):
                    if len(everything) > 1:
                        common.say(f"{name}: {own.title}")
                    try:
                        found = reproduce.run(
                            reports.experiment(name, own),
                            kernel,
                            guest,
                            replace(runner, out=out),
                            parts=[PUBLISHED, *own.variants()],
                            repeat=options["repeat"],
                        )
                    except RunCancelledError:
                        raise
                    except MptcplabError as error:
                        if len(everything) * len(kernels) == 1:
                            raise
                        common.say(f"{name}: {error!s}")
                        failed = True
                        continue
                    told = replace(told, found=found)
                if len(kernels) > 1:
                    click.echo(f"kernel {kernel.name}:")
                click.echo(pages.text(told) + "\n")
    if failed:
        sys.exit(MptcplabError.exit_status)


def listing(out: Path) -> None:
    """A line for each case."""
    names = reports.names()
    width = max(map(len, names))
    for told in _told(names, out):
        click.echo(f"{told.name:<{width}}  {told.verdict:<18}  {told.report.title}")


def show(names: Sequence[str], out: Path) -> None:
    """The results of cases that were run before."""
    for told in _told(reports.chosen(names), out):
        click.echo(pages.text(told) + "\n")
        if told.verdict == pages.NOT_RUN:
            common.say(f"not run: mptcplab case run {told.name}")


def publish(directory: Path, out: Path) -> None:
    """Write the pages of all cases."""
    for file in pages.publish(directory, _told(reports.names(), out)):
        click.echo(f"written: {file}")


def _told(names: Sequence[str], out: Path) -> list[Told]:
    """Cases with the results of their runs in `out`, as far as they are whole and current."""
    told = []
    for name in names:
        own, found = reports.report(name), None
        if isinstance(own, Reproducible):
            published = reports.experiment(name, own)
            ran = reproduce.read_parts(published, out)
            current = {
                part: each
                for part, each in ran.items()
                if reproduce.is_current(published, part, each)
            }
            if current.keys() >= {PUBLISHED, *own.variants()}:
                found = reproduce.assembled(published, current)
        told.append(Told(name, own, found))
    return told
