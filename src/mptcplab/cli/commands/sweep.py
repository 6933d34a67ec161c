# SPDX-License-Identifier: GPL-2.0-only
"""Run a scenario with many combinations of values from FILE.

The values are a grid, ranges, or points that fill a space: docs/sweep.md.

The result is a table with each point, and a picture over the axes. Stored runs are not repeated: an
interrupted sweep resumes. The exit status is 1 while any run is missing or failed.

\b
mptcplab sweep sweep.toml --dry-run
mptcplab sweep sweep.toml
mptcplab results query 'SELECT rate, scheduler, median(goodput_bps) FROM runs GROUP BY ALL'
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options


@click.command("sweep", help=__doc__)
@click.argument("file", type=options.PLACE)
@click.option(
    "--only",
    metavar="FORMULA",
    help="Make only the runs that meet this formula over the axes, like where in the file, e.g. "
    "'rate >= 20 and scheduler == \"blest\"'.",
)
@options.dry_run_option
@options.no_cache_option
@click.option("--retry-failed", is_flag=True, help="Repeat runs that failed before.")
@click.option(
    "--fail-fast/--keep-going",
    default=False,
    help="Stop at the first run that fails.  [keep going]",
)
@click.option("--keep-records", is_flag=True, help="Keep all records, not only their series.")
@options.listed_option(
    "--kernel",
    metavar="NAME,...",
    text="Kernels by name, see mptcplab kernel list, each with all of the runs.  [as in FILE]",
)
@options.kernel_like_option
@options.wall_limit_option
@options.disk_limit_option
@options.jobs_option
@options.expect_options
@options.cluster_options
@options.storage_option
@options.out_option
@options.json_option
def command(file: Path, **options: Any) -> None:
    from mptcplab.cli.actions import sweeps

    sweeps.sweep_file(file, options)
