# SPDX-License-Identifier: GPL-2.0-only
"""Two real kernels compared: with upstream's own scheduler, the lab kernel sends the same packets
as a kernel without our framework. And a packet that is lost on purpose is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.capture import difference
from mptcplab.kernel_comparison import cases, compare
from mptcplab.kernel_comparison.cases import KernelCase
from mptcplab.kernel_comparison.compare import Kernel
from mptcplab.kernel_comparison.document import Compared
from mptcplab.lab import kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan, testbed
from mptcplab.runs import store
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from tests.vocabulary import RunScenario, request_of


def case(name: str, *paths: str, **flags: Any) -> KernelCase:
    asked = request_of(*paths, scheduler="default", pcap=True, **flags)
    return KernelCase(name, asked.runs()[0], asked)


LONGER = (
    case("unequal paths, loss", "a:50mbit,10ms", "b:20mbit,40ms,loss=0.5%", duration="10s"),
    case(
        "a path that goes and comes back, a small buffer",
        *("a:20mbit,10ms", "b:10mbit,50ms"),
        duration="8s",
        receive_buffer="200KB",
        event=("2s:a:down", "5s:a:up"),
    ),
)
CASES = {each.name: each for each in (*cases.own_set(), *LONGER)}


def compared(a: KernelBuild, b: KernelBuild, guest: Guest, out: Path, name: str) -> Compared:
    """The verdict on one of CASES."""
    both = Kernel(a, guest, "a"), Kernel(b, guest, "b")
    store, runner = Store(out), Runner(out)
    pairs = compare.pairs([CASES[name]], *both, Limits(), runner)
    made = compare.make(compare.missing(pairs, store), runner)
    assert compare.missing(pairs, store) == []
    (found,) = compare.compare(pairs, *both, store, made).scenarios
    return found


@pytest.fixture(scope="session")
def upstream(lab_kernel: KernelBuild) -> KernelBuild:
    assert lab_kernel
    return kernel.build(variant="upstream")


@pytest.mark.parametrize("name", ["default, lossy", *(each.name for each in LONGER)])
def test_without_the_framework_no_packet_and_no_figure_differs_but_those_it_counts(
    lab_kernel: KernelBuild, upstream: KernelBuild, lab_guest: Guest, tmp_path: Path, name: str
) -> None:
    assert lab_kernel.id != upstream.id
    found = compared(lab_kernel, upstream, lab_guest, tmp_path, name)
    assert found.packets == ()
    for run in found.runs:
        captures = [(tmp_path / run / file) for file in plan.capture_files(CASES[name].scenario)]
        # more than 1000 packets with headers of 66 bytes
        assert all(file.stat().st_size > 66_000 for file in captures)
    # the time for which data is blocked is counted by the framework's patches
    assert {name for each in found.records for name in each.fields} <= {
        *("blocked_us", "blocks", "blocking_us")
    }
    assert {each.figure.rpartition(".")[2] for each in found.figures} <= {
        *("blocked_share", "blocks", "blocking_share")
    }


def test_what_the_other_kernel_lacks_is_skipped(
    lab_kernel: KernelBuild, upstream: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    found = compared(lab_kernel, upstream, lab_guest, tmp_path, "minrtt, clean")
    assert (found.verdict, found.reason) == ("skipped", "b lacks the scheduler minrtt")


def test_a_lost_packet_is_the_first_difference(run_scenario: RunScenario) -> None:
    """The 40th with data on path a, of the same kernel twice: nothing differs before it."""
    paths = ("a:50mbit,10ms", "b:20mbit,30ms")
    runs = [
        run_scenario(path, paths[1], duration="1s", pcap=True)
        for path in (paths[0], f"{paths[0]},up.drop=40")
    ]
    one, other = (each.outcome.directory for each in runs)
    packets, _ = compare.differences(runs[0].scenario, one, other)
    seen = difference.streams(*store.read_captures(one, ["server.pcapng"]))
    (lines,) = (lines for place, lines in seen.items() if place.sender == testbed.client(1).address)
    of = dict(zip(difference.FIELDS, lines.T, strict=True))
    at = int(np.flatnonzero((of["payload"] > 0) & (of["time"] >= 0))[39])
    first = packets[0]
    assert (first.capture, first.path, first.direction) == ("server.pcapng", "a", "up")
    assert first.number == at + 1
    assert first.time_s * 1e9 == pytest.approx(float(of["time"][at]))
    # the next one comes in its place
    assert first.a == first.b == "data"
    assert first.fields["sequence"] == (str(of["sequence"][at]), str(of["sequence"][at + 1]))
    assert compare.differences(runs[0].scenario, one, one) == ([], [])
