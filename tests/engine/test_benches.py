# SPDX-License-Identifier: GPL-2.0-only
"""What the benches measure of real runs, and of the host's own kernel where it can be had."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benches import native
from benches.lab import Lab, scenario_of
from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.runs import single
from mptcplab.runs.bench import BENCH
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.workload import Program


def test_what_a_run_brings_is_counted(rig: Rig, tmp_path: Path) -> None:
    flags = Flags(path=("p:10mbit,10ms",), duration="2s", seed="1")
    cost = Lab(rig.kernel, rig.guest, tmp_path).run(scenario_of(flags))
    # 10 Mbit/s are 825.6 frames of 1514 bytes a second. The line is full from the third round trip
    # on (windows of 10 and 20 packets, 16.5 are on their way), 40 to 60 ms after the start; in the
    # end up to 33 are sent (a queue of 17 and those on their way) that have not been counted there.
    assert 0.95 * 2 * 825.6 < cost.packets < 2 * 825.6 + 50
    assert cost.goodput_bps == pytest.approx(10e6 * 1424 / 1514, rel=0.01)
    assert cost.seconds == 2
    assert cost.cpu_s > 0
    assert list(tmp_path.iterdir()) == [], "nobody keeps what it left"


@pytest.mark.parametrize("mptcp", [True, False], ids=["mptcp", "tcp"])
def test_what_is_measured_on_a_host_fills_its_paths(rig: Rig, tmp_path: Path, mptcp: bool) -> None:
    # The lab kernel takes the place of the host's, which may have no netem.
    flags = Flags(path=("a:20mbit,5ms,queue=50", "b:10mbit,10ms,queue=50"), seed="1")
    sent = scenario_of(flags, duration="3s", warmup="1s")
    request = json.dumps(native.request(sent, shaped=True, mptcp=mptcp))
    namespaces = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child")
    program = Program(
        client=(*namespaces, sys.executable, str(native.PROGRAM), "testbed", request),
        directory="/",
        time_limit_ns=60 * 10**9,
    )
    around = scenario_of(flags, program=program)
    outcome = single.run(around, rig, tmp_path)
    found = json.loads((outcome.directory / run_files.CLIENT_OUTPUT).read_bytes())
    # Of a full frame of 1514 bytes MPTCP has 1424 for data, TCP 1448. Both paths are full, and
    # what is read at a time, 256 KiB at most, is 3.5 % of the 2 s at 30 Mbit/s.
    data_bytes = 1424 if mptcp else 1448
    goodput_bps = sum(flow["goodput_bps"] for flow in found["flows"])
    assert goodput_bps == pytest.approx(30e6 * data_bytes / 1514, rel=0.035)
    assert len(found["flows"]) == (1 if mptcp else 2)
    # All that was sent has arrived in packets that are full, but for the last of a write.
    assert found["packets"] >= sum(flow["bytes"] for flow in found["flows"]) / data_bytes


def test_the_memory_of_a_run_is_not_that_of_who_starts_it(rig: Rig, tmp_path: Path) -> None:
    held = bytearray(512 << 20)
    held[::4096] = b"x" * (len(held) // 4096)  # touched: resident
    flags = Flags(path=("p:10mbit,10ms",), duration="1s", seed="1")
    memory_bytes = Lab(rig.kernel, rig.guest, tmp_path).run(scenario_of(flags)).memory_bytes
    # The image of the kernel is some 10 MB, and a guest needs more; it touches little of its 512.
    assert memory_bytes is not None
    assert 10 << 20 < memory_bytes < 256 << 20
    assert len(held) == 512 << 20


def test_the_hosts_own_kernel_carries_the_same_and_nothing_is_left() -> None:
    reason = native.why_not(shaped=False)
    if reason:
        pytest.skip(reason)
    before = _namespaces()
    mptcp = native.has_mptcp()
    scenario = scenario_of(BENCH, duration="500ms", warmup="100ms")
    for cost in (
        native.over_paths(scenario, shaped=False, mptcp=mptcp),
        native.direct(scenario, mptcp=mptcp),
    ):
        # all packets are full, but for those at the end of a write of 256 KiB
        assert cost.packets > 100
        assert cost.goodput_bps > 0
        assert cost.seconds is None, "no rate kept it to a time"
    assert _namespaces() == before


def _namespaces() -> str:
    return subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
