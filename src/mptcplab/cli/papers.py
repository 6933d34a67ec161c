# SPDX-License-Identifier: GPL-2.0-only
"""mptcplab papers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mptcplab.cli import common
from mptcplab.errors import MptcplabError
from mptcplab.lab.engine import RunCancelledError
from mptcplab.papers import catalogue, reproduce, results


@click.group("papers")
def papers_group() -> None:
    """Published experiments: run them again, and see which claims hold."""


_papers_out = click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("papers-out"),
    show_default=True,
    help="Directory for the runs; what is there is not run again.",
)


_quick_option = click.option("--quick", is_flag=True, help="A thinner grid: minutes, not hours.")


@papers_group.command("list")
def papers_list() -> None:
    """List the experiments, with how many runs each has, all and with --quick."""
    for name in catalogue.names():
        own = catalogue.load(name).experiment
        count, quick = (len(own.points(quick=q)) * own.repeats(quick=q) for q in (False, True))
        click.echo(f"{name:<26} {own.title}: {own.place}, {count} runs, quick {quick}")


@papers_group.command("run")
@click.argument("names", metavar="PAPER/FIGURE...", nargs=-1, required=True)
@_quick_option
@click.option("--repeat", type=click.IntRange(1, 10_000), help="Seeds.  [that of the file]")
@common.jobs_option
@common.cluster_options
@_papers_out
def papers_run(
    names: tuple[str, ...],
    quick: bool,
    repeat: int | None,
    jobs: int,
    cluster: str | None,
    cluster_key: str | None,
    out: Path,
) -> None:
    """Run experiments, and judge the paper's claims by them: PAPER/FIGURE, PAPER or all.

    What was interrupted goes on where it stopped.
    """
    everything = [catalogue.load(name) for name in catalogue.chosen(names)]
    lab_kernel, lab_guest = common.builds(cluster)
    failed = False
    with common.workers(cluster, cluster_key) as workers, common.interruptible() as cancel:
        for published in everything:
            try:
                found = reproduce.run(
                    published,
                    lab_kernel,
                    lab_guest,
                    out,
                    quick=quick,
                    repeat=repeat,
                    jobs=jobs,
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


@papers_group.command("show")
@click.argument("names", metavar="PAPER/FIGURE...", nargs=-1, required=True)
@_quick_option
@_papers_out
def papers_show(names: tuple[str, ...], quick: bool, out: Path) -> None:
    """Show what experiments gave that were run before."""
    for name in catalogue.chosen(names):
        click.echo(results.text(reproduce.read(catalogue.load(name), out, quick=quick)) + "\n")


@papers_group.command("publish")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@_papers_out
def papers_publish(directory: Path, out: Path) -> None:
    """Write a page per paper into DIRECTORY, and a summary, of all experiments that were run.

    Of those that were run both ways, all runs go before quick ones.
    """
    found, missing = [], []
    for name in catalogue.names():
        published = catalogue.load(name)
        there = [quick for quick in (False, True) if reproduce.has(published, out, quick=quick)]
        if there:
            found.append(reproduce.read(published, out, quick=there[0]))
        else:
            missing.append(name)
    if not found:
        raise MptcplabError(f"{out}: no experiment was run; mptcplab papers run --help")
    for file in results.publish(found, directory, missing):
        click.echo(f"written: {file}")
