# SPDX-License-Identifier: GPL-2.0-only
"""What must hold with each other series of Linux that there are patches for: a part of all tests.

`make test-kernels` runs all of them with each. Where the source of a series is missing there is
nothing to run: `make setup-kernels` downloads it.
"""

from __future__ import annotations

import pytest

from mptcplab.lab import kernel, kernel_names
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_tree import KERNEL_VERSION, supported_series
from mptcplab.scenario import congestion
from tests.vocabulary import Run, RunScenario

pytestmark = pytest.mark.kernel

CLEAN = ("a:20mbit,10ms", "b:10mbit,25ms")
LOSSY = ("a:20mbit,10ms,loss=1%", "b:10mbit,25ms,loss=1%")
# a packet of Multipath TCP brings 1424 of its 1514 bytes
PAYLOAD = 1424 / 1514


@pytest.fixture(
    scope="module", params=[series for series in supported_series() if series != KERNEL_VERSION]
)
def lab_kernel(request: pytest.FixtureRequest) -> KernelBuild:
    named = kernel_names.known().get(request.param)
    if named is None:
        pytest.skip(f"the source of Linux {request.param} is missing: make setup-kernels")
    return kernel_names.build(named, quiet=True)


@pytest.mark.parametrize("scheduler", kernel.schedulers())
def test_every_byte_survives_an_outage(run_scenario: RunScenario, scheduler: str) -> None:
    run = run_scenario(
        *LOSSY, scheduler=scheduler, duration="6s", event=("2s:a:down,lasts=1s", "4s:b:down")
    )
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    # upstream's own has no picks that could be refused
    assert not run.figures.metrics["refused_picks"]


@pytest.mark.parametrize("cc", congestion.names())
def test_each_congestion_control_works(run_scenario: RunScenario, cc: str) -> None:
    run = run_scenario(*LOSSY, scheduler="minrtt", cc=cc, duration="6s")
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]


@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_both_paths_are_filled(run_scenario: RunScenario, scheduler: str) -> None:
    run = run_scenario(*CLEAN, scheduler=scheduler, duration="20s", warmup="5s")
    assert run.goodput_bps == pytest.approx(30e6 * PAYLOAD, rel=0.01)


def test_the_same_run_is_the_same_in_every_packet(run_scenario: RunScenario) -> None:
    def once() -> Run:
        return run_scenario(*LOSSY, scheduler="blest", duration="3s", pcap=True)

    def left(run: Run) -> dict[str, bytes]:
        files = run.outcome.directory.glob("*.pcapng")
        return {file.name: file.read_bytes() for file in files}

    first = left(once())
    assert len(first) >= len(LOSSY)
    assert left(once()) == first
