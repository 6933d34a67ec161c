# SPDX-License-Identifier: GPL-2.0-only
"""What --expect and --junit do: read before the rest is imported, so that mistakes are reported at
once, and judged after the runs.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mptcplab import files
from mptcplab.cli.actions import common
from mptcplab.errors import NotMetError
from mptcplab.report import expectation_verdicts
from mptcplab.runs import expectations, experiment
from mptcplab.runs.entries import Expectation
from mptcplab.runs.expectations import CompiledExpectation
from mptcplab.scenario.model import Scenario


@dataclass(frozen=True)
class Wanted:
    """The expectations of a command, and the file for the report, if it was asked for."""

    expected: Sequence[CompiledExpectation]
    junit: Path | None

    def write(self, found: Sequence[Expectation]) -> None:
        """Write the report."""
        if self.junit is not None:
            suite = f"mptcplab {click.get_current_context().info_name}"
            command = shlex.join(["mptcplab", *sys.argv[1:]])
            files.write(self.junit, expectation_verdicts.junit(found, suite, command))


def read(
    options: Mapping[str, Any],
    *settings: tuple[Sequence[Scenario], Sequence[Scenario]],
    kernels: Sequence[str] = (),
    dry_run: bool = False,
) -> Wanted:
    """What options expect of the runs and the baselines of some settings, which are made with each
    of `kernels`. Raises InputError.

    A report that an earlier call wrote is removed, unless nothing will be run: it would be taken
    for that of this one.
    """
    junit: Path | None = options["junit"]
    if junit is not None and not options["expect"]:
        raise click.UsageError("--junit reports on --expect; give an expectation, too")
    wanted: Sequence[CompiledExpectation] = ()
    called = [experiment.called(name) for name in kernels] if options["expect"] else []
    for runs, baselines in settings:
        wanted = expectations.read(options["expect"], runs, baselines, called)
    if junit is not None and not (dry_run or options.get("only_plan")):
        common.make_way(junit)
    return Wanted(wanted, junit)


def require(found: Sequence[Expectation]) -> None:
    """Raises NotMetError if one is not met."""
    unmet = [each for each in found if not each.held]
    if unmet:
        raise NotMetError(f"{len(unmet)} of {len(found)} expectations not met")
