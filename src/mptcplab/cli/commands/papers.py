# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: run them again, see which claims hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import completion, options

command = click.Group("papers", help=__doc__)


_papers_out = options.out_option_of(
    Path("papers-out"), "Directory for the runs; runs found there are reused."
)
_quick_option = click.option(
    "--quick", is_flag=True, help="Run a thinner grid: minutes, not hours."
)
_variants_option = click.option(
    "--variants",
    is_flag=True,
    help="Also run the quick part of each variant, and of other values of each assumption.",
)
_variant_option = click.option(
    "--variant",
    "variant",
    metavar="NAME",
    multiple=True,
    help="Run the quick part of this variant only, such as today or queue=100; repeatable.",
)


@command.command("list")
def papers_list() -> None:
    """List the experiments, with the number of runs of each.

    The numbers are for the published setting, for --quick, and for the variants.
    """
    from mptcplab.papers import catalogue

    for name in catalogue.names():
        own = catalogue.load(name).experiment
        count, quick = (own.part(part).runs() for part in (catalogue.PUBLISHED, catalogue.QUICK))
        line = f"{name:<26} {own.title}: {own.place}, {count} runs, quick {quick}"
        if variants := own.variants():
            line += f", {len(variants)} variants {sum(own.part(each).runs() for each in variants)}"
        click.echo(line)


@command.command("run")
@click.argument(
    "names", metavar="PAPER/FIGURE...", nargs=-1, required=True, shell_complete=completion.figures
)
@_quick_option
@_variants_option
@_variant_option
@click.option(
    "--leave-out",
    "leave_out",
    metavar="NAME,...",
    default="",
    help="Schedulers that are not run; claims that need their runs are not testable.",
)
@options.experiment_options
@_papers_out
def papers_run(names: tuple[str, ...], **options: Any) -> None:
    """Run experiments, and judge the papers' claims by them.

    Name one experiment as PAPER/FIGURE, a whole paper as PAPER, or everything as all. An
    interrupted experiment resumes where it stopped.
    """
    from mptcplab.cli.actions import papers

    papers.run(names, options)


@command.command("show")
@click.argument(
    "names", metavar="PAPER/FIGURE...", nargs=-1, required=True, shell_complete=completion.figures
)
@click.option("--quick", is_flag=True, help="Show the thinner grid, even if all was run.")
@_papers_out
def papers_show(names: tuple[str, ...], quick: bool, out: Path) -> None:
    """Show the results of experiments that were run before."""
    from mptcplab.cli.actions import papers

    papers.show(names, out, quick=quick)


@command.command("publish")
@click.argument("directory", type=options.DIRECTORY)
@_papers_out
def papers_publish(directory: Path, out: Path) -> None:
    """Write a page per paper, a summary, and all data, into DIRECTORY.

    It reads experiments that were not run here from DIRECTORY/data: several sittings can share the
    work. The pages name missing experiments, and runs with another kernel.
    """
    from mptcplab.cli.actions import papers

    papers.publish(directory, out)
