# SPDX-License-Identifier: GPL-2.0-only
"""Run the kernel's own MPTCP tests, which have to pass.

It runs the scripts of the kernel's source, tools/testing/selftests/net/mptcp, with upstream's
MPTCP, and then with ours. A list has the tests that cannot pass with a scheduler, with reasons. A
kernel that was built with --engine-only has upstream's MPTCP alone, and with --scheduler the
schedulers that need no patches. docs/selftests.md

The exit status is 0 if nothing is worse than upstream, 4 if something is or if repeats differ,
and 1 if a script did not end. After Ctrl-C the same command resumes.

\b
mptcplab selftests --only simult_flows --scheduler minrtt,blest
mptcplab selftests --kernel mine --strict --junit selftests.xml
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import completion, options
from mptcplab.scenario import option_keys


@click.command("selftests", help=__doc__)
@options.listed_option(
    "--kernel",
    metavar="NAME,...",
    text="Kernels by their names in mptcplab kernel list, such as 6.12; built as the tests need "
    "them.  [the source of the current one]",
)
@options.listed_option(
    "--scheduler",
    "-s",
    metavar=f"{option_keys.SPEC},...",
    text="Run the scripts with these schedulers.  [default in all scripts, and each of ours in "
    "simult_flows.sh]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SCRIPT",
    shell_complete=completion.selftests,
    help="Run only scripts whose names contain this, e.g. simult_flows. Repeatable.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Run each script this often; everything that it prints has to be the same.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="Seed of all randomness.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Also count tests that fail upstream: for the CI of a kernel tree.",
)
@click.option(
    "--tap",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Also write a document in TAP, version 13; - prints it instead of the table.",
)
@options.junit_option("Also write a JUnit report, for CI.")
@click.option(
    "--packetdrill",
    type=options.FILE,
    metavar="PROGRAM",
    help="Also run our packetdrill scripts, with this program.",
)
@click.option(
    "--packetdrill-scripts",
    type=options.DIRECTORY,
    metavar="DIR",
    help="Also run all scripts in this directory, with a tenth of their tolerances.",
)
@options.jobs_option
@options.out_option_of(
    Path("selftests-out"),
    "Directory for the output of scripts, and results.txt; scripts that ended are found there.",
)
def command(kernel: str | None, scheduler: str | None, **given: Any) -> None:
    from mptcplab.cli.actions import selftests

    asked = ([] if each is None else each.split(",") for each in (kernel, scheduler))
    names, schedulers = (list(dict.fromkeys(each)) for each in asked)
    selftests.test(names, schedulers, given)
