# SPDX-License-Identifier: GPL-2.0-only
"""What the tests share: the builds, and runs of the real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab import doctor, engine, experiment, kernel, records
from mptcplab import guest as guest_module
from mptcplab.engine import Limits
from mptcplab.guest import Guest
from mptcplab.kernel import KernelBuild
from tests.vocabulary import Run, RunScenario, scenario_of


@pytest.fixture(scope="session")
def lab_kernel() -> KernelBuild:
    """The lab kernel, built if it is not in the cache."""
    doctor.require(*doctor.RUN_CHECKS)
    return kernel.build()


@pytest.fixture(scope="session")
def lab_guest() -> Guest:
    return guest_module.build()


@pytest.fixture
def run_scenario(lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path) -> RunScenario:
    """Run the scenario of some flags (see scenario.Flags) on the real kernel."""
    count = 0

    def run(*paths: str, limits: Limits | None = None, **flags: str) -> Run:
        nonlocal count
        count += 1
        directory = tmp_path / f"run{count}"
        directory.mkdir()
        scenario = scenario_of(*paths, **flags)
        outcome, figures = experiment.measure(
            scenario, lab_kernel, lab_guest, directory, limits=limits
        )
        client = records.read_samples(directory / engine.CLIENT_SAMPLES)
        server = records.read_samples(directory / engine.SERVER_SAMPLES)
        return Run(scenario, outcome, client, server, figures)

    return run
