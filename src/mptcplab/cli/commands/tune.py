# SPDX-License-Identifier: GPL-2.0-only
"""Find the best parameters of a scheduler on some scenarios.

Each trial runs the scheduler with other values in all training scenarios, beside the one that you
name. The best one then runs in scenarios that no trial saw: only their result says whether tuning
helps. Goodput judges bulk data, the delay of messages all other workloads. docs/tune.md

Stored runs are not repeated: after Ctrl-C the same command resumes, and more trials continue.

\b
mptcplab tune overflow --trials 20 --count 16
mptcplab tune ./mine.c --parameter in_a_row=1..64 --scenario home.toml
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options
from mptcplab.cli.commands.leaderboard import SET
from mptcplab.leaderboard import NAMES, SIZE
from mptcplab.scenario import option_keys
from mptcplab.scenario.limits import MAX_SEED

_TRIALS, _COUNT, _HELD_OUT = 40, 32, 3


@click.command("tune", help=__doc__)
@click.argument("scheduler", metavar=option_keys.SPEC)
@click.option(
    "--parameter",
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME[=LOW..HIGH]",
    help="A parameter to tune, repeatable. Without a range: all that it takes, or of a wide one an "
    "eighth of the default to eight times it.  [all that SCHEDULER does not set]",
)
@click.option(
    "--scenario",
    "files",
    type=options.FILE,
    multiple=True,
    metavar="FILE",
    help="A scenario file, repeatable: train on its seeds 1 to --count, and judge on as many "
    "further ones, in place of sets.",
)
@click.option(
    "--set",
    "set_name",
    type=SET,
    metavar=f"[{NAMES[0]}|SEED]",
    default=NAMES[0],
    show_default=True,
    help="The training scenarios: a set of the leaderboard, by its name or the seed that draws it.",
)
@click.option(
    "--held-out",
    type=SET,
    metavar="[SEED|SET]",
    default=_HELD_OUT,
    show_default=True,
    help="The set of the held-out scenarios.",
)
@click.option(
    "--count",
    type=click.IntRange(1, SIZE),
    default=_COUNT,
    show_default=True,
    help="Number of training scenarios, and of held-out ones; seeds of each --scenario.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, 10_000),
    default=_TRIALS,
    show_default=True,
    help="Number of trials.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MAX_SEED),
    default=1,
    show_default=True,
    help="Draws the values of the trials.",
)
@options.jobs_option
@options.out_option_of(
    Path("tune-out"), "Directory for the runs, picture and document; runs found there are reused."
)
@options.json_option
def command(**given: Any) -> None:
    if not given["files"] and given["set_name"] == given["held_out"]:
        raise click.UsageError("--held-out is the set of the training: nothing would be held out")
    from mptcplab.cli.actions import tune

    tune.tune(given)
