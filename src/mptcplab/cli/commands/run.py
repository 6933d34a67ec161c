# SPDX-License-Identifier: GPL-2.0-only
"""Run one scenario, from a FILE or from flags.

With both, the flags override the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli import options


@click.command("run", cls=options.Grouped, help=__doc__)
@options.scenario_file
@options.scheduler_option
@options.scenario_options()
@options.agent_option
@options.pcap_option
@options.decisions_option
@options.states_option
@options.expect_options
def command(file: Path | None, **given: Any) -> None:
    options.check_shown(given)
    from mptcplab.cli.actions import common

    request = common.request(file, given, single=True)
    from mptcplab.cli.actions import expect_option

    wanted = expect_option.read(given, (request.runs(), []), kernels=request.kernels)
    from mptcplab.cli.actions import runs

    runs.make(request, given, wanted)
