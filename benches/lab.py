# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the lab, into directories that nobody keeps."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from benches.figures import Cost
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import experiment
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags


def scenario_of(flags: Flags, **changed: Any) -> Scenario:
    """The one run that some flags are."""
    return from_flags(Flags(**{**vars(flags), **changed}), single=True).runs()[0]


def sending_s(scenario: Scenario) -> tuple[float, float]:
    """For how many seconds a scenario sends bulk data, and how many of them are its warm-up."""
    load = scenario.workload
    assert load.kind == "bulk", "the bench has nothing else"
    assert load.duration_ns, "the bench has no sizes"
    return load.duration_ns / 1e9, (load.warmup_ns or 0) / 1e9


class Lab:
    """Measures runs of one kernel and guest."""

    def __init__(self, kernel: KernelBuild, guest: Guest, directory: Path) -> None:
        self._kernel, self._guest, self._directory = kernel, guest, directory

    def run(self, scenario: Scenario) -> Cost:
        """What a run costs from its start to its end, on a CPU of its own."""
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        outcome, found = experiment.measure(scenario, self._kernel, self._guest, directory)
        shutil.rmtree(directory)
        return Cost(
            seconds=sending_s(scenario)[0],
            packets=int(found.metrics.data_packets or 0),
            wall_s=outcome.wall_s,
            cpu_s=outcome.user_s + outcome.system_s,
            goodput_bps=float(found.metrics.goodput_bps or 0),
            memory_bytes=outcome.memory_bytes,
        )
