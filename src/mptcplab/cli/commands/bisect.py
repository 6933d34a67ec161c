# SPDX-License-Identifier: GPL-2.0-only
"""Find the commit of Linux that changed what a scenario gives.

As git bisect, in a repository that is only read: builds what changed, runs the scenario, from a
FILE or from flags, and looks whether --expect is met. A run is exact, so that one is enough.
Commits that cannot be built or run are skipped. docs/bisect.md

Commits that were tried are not tried again, so after Ctrl-C the same command resumes. The exit
status is 0 if the commit is found, 4 if --good or --bad is not what it should be, and 5 if
commits that were skipped leave several.

\b
mptcplab bisect --tree linux --good v6.12 --bad v6.12.40 \\
    --path wifi:50mbit,10ms --path lte:20mbit,40ms --duration 5s --expect 'goodput >= 60mbit'
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options

# Those of lab.kernel that make runs, which would be slow to import.
VARIANTS = ("lab", "cloud", "upstream", "engine")


@click.command("bisect", help=__doc__)
@options.scenario_file
@click.option(
    "--tree",
    type=options.DIRECTORY,
    required=True,
    help="A git repository of Linux, with or without a work tree. Nothing is written there.",
)
@click.option("--good", metavar="COMMIT", required=True, help="A commit that meets --expect.")
@click.option("--bad", metavar="COMMIT", required=True, help="A later one that does not.")
@options.expect_option(
    "What is true of the figures of a good commit, e.g. 'goodput >= 50mbit'. A commit is bad if "
    "one is not true. Repeatable; docs/expect.md."
)
@options.scheduler_option
@click.option(
    "--variant",
    type=click.Choice(VARIANTS),
    default=VARIANTS[0],
    show_default=True,
    help="The kernels that are built: with the arithmetic of kernels for virtual machines (cloud), "
    "without our schedulers (upstream), or without any patch of ours for MPTCP (engine), so that "
    "they apply to most commits.",
)
@click.option("--retry-skipped", is_flag=True, help="Try again what could not be tried before.")
@options.scenario_options(
    *("path", "event", "link", "connection", "cc", "transport", "workload", "direction"),
    *("start", "duration", "size", "warmup", "send_buffer", "receive_buffer"),
    *("sample_interval", "seed", "seed_delay", "vary", "repeat", "jobs"),
    *("wall_limit", "disk_limit"),
)
@options.pcap_option
@options.out_option_of(
    Path("bisect-out"), "Directory for the runs and bisect.json, which says how far it is."
)
@options.json_option
def command(file: Path | None, **given: Any) -> None:
    if not given["expect"]:
        raise click.UsageError("--expect FORMULA says what a good commit is; docs/expect.md")
    from mptcplab.cli.actions import common

    request = common.request(file, given, single=False)
    common.require_no_kernels(request, "a bisection has the kernels of commits")
    from mptcplab.runs import expectations

    wanted = expectations.read(given["expect"], request.runs(), [])
    from mptcplab.cli.actions import bisect

    bisect.find(request, wanted, given)
