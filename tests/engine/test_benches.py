# SPDX-License-Identifier: GPL-2.0-only
"""What the benches measure of real runs, and of the host's own kernel where it can be had."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benches import native
from benches.lab import Lab, scenario_of
from mptcplab.bench import BENCH
from mptcplab.guest import Guest
from mptcplab.kernel import KernelBuild
from mptcplab.scenario import Flags


def test_what_a_run_brings_is_counted(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    flags = Flags(path=("p:10mbit,10ms",), duration="2s", seed="1")
    cost = Lab(lab_kernel, lab_guest, tmp_path).run(scenario_of(flags))
    # 10 Mbit/s are 825.6 frames of 1514 bytes a second. The line is full from the third round trip
    # on (windows of 10 and 20 packets, 16.5 are on their way), 40 to 60 ms after the start; in the
    # end up to 33 are sent (a queue of 17 and those on their way) that have not been counted there.
    assert 0.95 * 2 * 825.6 < cost.packets < 2 * 825.6 + 50
    assert cost.goodput_bps == pytest.approx(10e6 * 1424 / 1514, rel=0.01)
    assert cost.seconds == 2
    assert cost.cpu_s > 0
    assert list(tmp_path.iterdir()) == [], "nobody keeps what it left"


def test_the_hosts_own_kernel_carries_the_same_and_nothing_is_left() -> None:
    reason = native.why_not(shaped=False)
    if reason:
        pytest.skip(reason)
    before = _namespaces()
    transport = "mptcp" if native.has_mptcp() else "tcp"
    scenario = scenario_of(BENCH, duration="500ms", warmup="100ms", transport=transport)
    for cost in (native.over_paths(scenario, shaped=False), native.direct(scenario)):
        # all packets are full, but for those at the end of a write of 256 KiB
        assert cost.packets > 100
        assert cost.goodput_bps > 0
        assert cost.seconds is None, "no rate kept it to a time"
    assert _namespaces() == before


def _namespaces() -> str:
    return subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
