# SPDX-License-Identifier: GPL-2.0-only
"""What tests of runs share: a sweep that nothing interrupted, which others are compared with."""

from __future__ import annotations

import json
import subprocess

import pytest

from mptcplab.uml.guest import Guest
from mptcplab.uml.kernel import KernelBuild
from tests.sweeps import WholeSweep, program, write_sweep


@pytest.fixture(scope="session")
def builds(lab_kernel: KernelBuild, lab_guest: Guest) -> None:
    """They are there; programs that tests start find them."""
    assert lab_guest
    if lab_kernel.variant != "lab":
        pytest.skip("the program runs the lab kernel")


@pytest.fixture(scope="session")
def whole_sweep(
    builds: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> WholeSweep:
    """On two worker processes of this machine."""
    del builds
    place = tmp_path_factory.mktemp("whole")
    file, out = place / "sweep.toml", place / "out"
    total = write_sweep(file, request.config.getoption("--sweep-runs"))
    done = subprocess.run(
        program("sweep", file, "--jobs", 2, "--out", out, "--json"),
        capture_output=True,
        text=True,
        check=True,
    )
    print("\n".join(line for line in done.stderr.splitlines() if "left" in line))
    outcome = json.loads(done.stdout)
    assert (outcome["total"], outcome["made"], outcome["stored"]) == (total, total, 0)
    assert outcome["reasons"] == {}
    return WholeSweep(file, total, out)
