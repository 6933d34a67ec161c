# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab papers does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mptcplab.cli.actions import common
from mptcplab.errors import MptcplabError, RunCancelledError
from mptcplab.papers import catalogue, reproduce, results
from mptcplab.runs import experiment


def run(names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Run experiments and judge the claims by them; if one fails, the others go on."""
    cluster: str | None = options["cluster"]
    everything = [catalogue.load(name) for name in catalogue.chosen(names)]
    lab_kernel, lab_guest = experiment.built(cluster=cluster)
    failed = False
    with (
        common.workers(cluster, options["cluster_key"]) as workers,
        common.interruptible() as cancel,
    ):
        for published in everything:
            try:
                found = reproduce.run(
                    published,
                    lab_kernel,
                    lab_guest,
                    options["out"],
                    quick=options["quick"],
                    repeat=options["repeat"],
                    jobs=options["jobs"],
                    workers=workers,
                    show=common.progress,
                    cancel=cancel,
                )
            except RunCancelledError:
                raise
            except MptcplabError as error:
                if len(everything) == 1:
                    raise
                common.say(f"{published.name}: {error!s}")
                failed = True
                continue
            click.echo(results.text(found) + "\n")
    if failed:
        sys.exit(MptcplabError.exit_status)


def show(names: Sequence[str], out: Path, *, quick: bool) -> None:
    """Show the results of experiments."""
    for name in catalogue.chosen(names):
        click.echo(results.text(reproduce.read(catalogue.load(name), out, quick=quick)) + "\n")


def publish(directory: Path, out: Path) -> None:
    """Write the pages of all experiments that were run."""
    found, missing = [], []
    for name in catalogue.names():
        published = catalogue.load(name)
        there = [quick for quick in (False, True) if reproduce.has(published, out, quick=quick)]
        if there:
            found.append(reproduce.read(published, out, quick=there[0]))
        else:
            missing.append(name)
    if not found:
        raise MptcplabError(f"{out}: no experiment has been run; see mptcplab papers run --help")
    for file in results.publish(found, directory, missing):
        click.echo(f"written: {file}")
