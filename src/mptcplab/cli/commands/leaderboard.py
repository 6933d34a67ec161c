# SPDX-License-Identifier: GPL-2.0-only
"""Rank all schedulers, and yours, on scenarios of all kinds.

The scenarios have rates from 0.5 to 500 Mbit/s, round trips from 5 to 600 ms, 1 to 4 paths,
losses, buffers, eight workloads and three congestion controls, spread evenly. The result says
which scheduler comes closest to the best of each scenario, how sure that is, and where yours
loses. docs/leaderboard.md

Stored runs are not repeated: after Ctrl-C the same command resumes. The exit status is 1 while
any run is missing or failed.

\b
mptcplab leaderboard --dry-run
mptcplab leaderboard --scheduler ./mine.c --set training --count 32
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options
from mptcplab.leaderboard import NAMES, QUARTER, SIZE
from mptcplab.scenario import option_keys
from mptcplab.scenario.limits import MAX_SEED

# The set of the verdict.
_JUDGED = NAMES[1]
# Together with its own seed a scheduler then has about as many runs as the catalogue.
MOST_CHANCE = 24
# Those below are of the sets with a name.
_LEAST_SEED = 1 + len(NAMES)


class _SetType(click.Choice[str]):
    """A set by its name, or by the seed that draws it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int) or str(value).isdecimal():
            return click.IntRange(_LEAST_SEED, MAX_SEED).convert(value, param, ctx)
        return super().convert(value, param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return f"{super().get_invalid_choice_message(value, ctx)[:-1]}, nor a seed."


#: A set of scenarios, as an option takes it.
SET = _SetType(NAMES[::-1])


@click.command("leaderboard", help=__doc__)
@options.listed_option(
    "--scheduler",
    "-s",
    metavar=f"{option_keys.SPEC},...",
    text="Schedulers to compare with the catalogue, and to say where they lose; ./NAME.c is your "
    "own.  [none]",
)
@click.option(
    "--only",
    is_flag=True,
    help="Run only these and default, not the rest of the catalogue; the best is then the best of "
    "fewer.",
)
@options.listed_option(
    "--kernel",
    metavar="NAME,...",
    text="Run default with these kernels of mptcplab kernel list, too, and compare it with the one "
    "of the first of them.  [none]",
)
@click.option(
    "--set",
    "set_name",
    type=SET,
    metavar=f"[{'|'.join(NAMES[::-1])}|SEED]",
    default=_JUDGED,
    show_default=True,
    help="The scenarios: training to design a scheduler, judged for the verdict, or others, which "
    "this seed draws.",
)
@click.option(
    "--count",
    type=click.IntRange(1, SIZE),
    default=QUARTER,
    show_default=True,
    help=f"Number of scenarios, of {SIZE}; fewer are a part of more, and spread as evenly.",
)
@click.option(
    "--chance",
    type=click.IntRange(0, MOST_CHANCE),
    default=0,
    show_default=True,
    help="Number of further seeds for the first scheduler of --scheduler (else default). They show "
    "by how much one run misses the best of several by chance.",
)
@options.dry_run_option
@click.option("--retry-failed", is_flag=True, help="Repeat runs that failed before.")
@click.option(
    "--docs",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Page to write the result into, between its marks; the chart goes into its folder images. "
    f"For the whole catalogue on the set {_JUDGED}, with {QUARTER} scenarios or more.",
)
@options.wall_limit_option
@options.disk_limit_option
@options.jobs_option
@options.out_option_of(
    Path("leaderboard-out"),
    "Directory for the runs, the chart and the document; runs found there are reused.",
)
@options.json_option
def command(**given: Any) -> None:
    if given["only"] and not (given["scheduler"] or given["kernel"]):
        raise click.UsageError("--only needs --scheduler or --kernel: it runs these and default")
    if given["docs"] and (
        given["set_name"] != _JUDGED or given["count"] < QUARTER or given["only"] or given["kernel"]
    ):
        raise click.UsageError(
            f"--docs is for the whole catalogue on {QUARTER} scenarios or more of the set {_JUDGED}"
        )
    from mptcplab.cli.actions import leaderboard

    leaderboard.rank(given)
