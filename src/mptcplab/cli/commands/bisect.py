# SPDX-License-Identifier: GPL-2.0-only
"""Find the commit of Linux that changed a scenario's result.

It works like git bisect, but only reads the repository. It builds the kernels of commits, runs
the scenario of a FILE or of flags, and checks --expect. A run is exact: one is enough. It skips
commits that cannot be built or run. docs/bisect.md

It tries no commit twice: after Ctrl-C the same command resumes. The exit status is 0 if the
commit is found, 4 if --good is bad or --bad is good, and 5 if skipped commits leave several.

\b
mptcplab bisect --tree linux --good v6.12 --bad v6.12.40 \\
    --path wifi:50mbit,10ms --path lte:20mbit,40ms --duration 5s --expect 'goodput >= 60mbit'
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options

# The variants of lab.kernel that make runs; importing them would be slow.
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
@click.option("--bad", metavar="COMMIT", required=True, help="A later commit that does not.")
@options.expect_option(
    "A formula that the figures of a good commit meet, e.g. 'goodput >= 50mbit'. A commit is bad "
    "if it does not meet one. Repeatable; docs/expect.md."
)
@options.scheduler_option
@click.option(
    "--variant",
    type=click.Choice(VARIANTS),
    default=VARIANTS[0],
    show_default=True,
    help="The kernels to build: with the arithmetic of kernels for virtual machines (cloud), "
    "without our schedulers (upstream), or without any patch of ours for MPTCP (engine), which "
    "fits most commits.",
)
@click.option("--retry-skipped", is_flag=True, help="Try skipped commits again.")
@options.scenario_options(
    *("path", "event", "link", "connection", "cc", "transport", "workload", "direction"),
    *("start", "duration", "size", "warmup", "send_buffer", "receive_buffer"),
    *("sample_interval", "seed", "seed_delay", "vary", "repeat", "jobs"),
    *("wall_limit", "disk_limit"),
)
@options.pcap_option
@options.out_option_of(
    Path("bisect-out"), "Directory for the runs and bisect.json, the state of the search."
)
@options.json_option
def command(file: Path | None, **given: Any) -> None:
    if not given["expect"]:
        raise click.UsageError("--expect FORMULA defines a good commit; docs/expect.md")
    from mptcplab.cli.actions import common

    request = common.request(file, given, single=False)
    common.require_no_kernels(request, "a bisection has the kernels of commits")
    from mptcplab.runs import expectations

    wanted = expectations.read(given["expect"], request.runs(), [])
    from mptcplab.cli.actions import bisect

    bisect.find(request, wanted, given)
