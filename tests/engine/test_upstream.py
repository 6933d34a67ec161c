# SPDX-License-Identifier: GPL-2.0-only
"""With upstream's own scheduler, the lab kernel is upstream's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.lab import kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan
from mptcplab.runs import experiment
from tests import pcapng
from tests.vocabulary import scenario_of

SCENARIOS: dict[str, dict[str, Any]] = {
    "bulk, unequal paths with loss": {
        "path": ("a:50mbit,10ms", "b:20mbit,40ms,loss=0.5%"),
        "duration": "10s",
    },
    "a path that goes and comes back, a small buffer": {
        "path": ("a:20mbit,10ms", "b:10mbit,50ms"),
        "duration": "8s",
        "receive_buffer": "200KB",
        "event": ("2s:a:down", "5s:a:up"),
    },
}


@pytest.fixture(scope="session")
def upstream_kernel() -> KernelBuild:
    """The same source and configuration without the framework, its patch and the schedulers."""
    return kernel.build(variant="upstream")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_packets_leave_at_the_same_times_as_without_the_framework(
    name: str,
    lab_kernel: KernelBuild,
    upstream_kernel: KernelBuild,
    lab_guest: Guest,
    tmp_path: Path,
) -> None:
    flags = dict(SCENARIOS[name])
    scenario = scenario_of(*flags.pop("path"), scheduler="default", pcap=True, **flags)
    captures = {}
    for build in (lab_kernel, upstream_kernel):
        directory = tmp_path / build.id
        directory.mkdir()
        experiment.measure(scenario, build, lab_guest, directory)
        captures[build.id] = [
            capture
            for file in plan.capture_files(scenario)
            for capture in pcapng.read(directory / file).values()
        ]
    assert lab_kernel.id != upstream_kernel.id
    for ours, theirs in zip(*captures.values(), strict=True):
        assert len(ours.time_ns) > 1000
        np.testing.assert_array_equal(ours.time_ns, theirs.time_ns)
        np.testing.assert_array_equal(ours.length, theirs.length)
        np.testing.assert_array_equal(ours.outbound, theirs.outbound)
        np.testing.assert_array_equal(ours.payload, theirs.payload)
