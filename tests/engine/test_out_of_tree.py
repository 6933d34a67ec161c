# SPDX-License-Identifier: GPL-2.0-only
"""Runs with the out-of-tree MPTCP, where somebody has built its kernel: docs/out-of-tree.md."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.lab import guest, kernel_names, out_of_tree
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import sockets
from mptcplab.runs import experiment, single
from mptcplab.runs.runner import Runner
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags

PATHS = ["a:20mbit,10ms", "b:10mbit,30ms"]
# a packet of plain TCP brings 1448 of its 1514 bytes; one of MPTCP v0 has 20 more of options
TCP_PAYLOAD, PAYLOAD = 1448 / 1514, 1428 / 1514


@pytest.fixture(scope="module")
def v095() -> KernelBuild:
    found = (each.current() for each in kernel_names.known().values())
    build = next((each for each in found if each and each.is_out_of_tree), None)
    if build is None:
        pytest.skip("no kernel with the out-of-tree MPTCP is built: docs/out-of-tree.md")
    return build


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


@pytest.mark.parametrize("scheduler", out_of_tree.SCHEDULERS)
def test_each_scheduler_repeats_every_byte(
    v095: KernelBuild, tmp_path: Path, scheduler: str
) -> None:
    lossy = [f"{path},loss=0.5%" for path in PATHS]
    event = ["1s:a:down,lasts=1s"]
    flags = Flags(path=lossy, event=event, scheduler=scheduler, duration="4s", pcap=True)
    request = resolve.from_flags(flags, single=True)
    rig, made = Rig(v095, guest.build()), []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        made.append(single.run(request.base, rig, tmp_path / name))
    assert files(tmp_path / "one") == files(tmp_path / "other")
    for outcome in made:
        assert outcome.guest["bytes_received"] == outcome.guest["bytes_written"] > 0
    # another seed is another run
    (tmp_path / "third").mkdir()
    single.run(request.base.with_(seed=2), rig, tmp_path / "third")
    assert files(tmp_path / "third")["client.pcapng"] != files(tmp_path / "one")["client.pcapng"]


@pytest.mark.parametrize("parameter", ["rp=off", "v089=on"])
def test_a_parameter_changes_what_is_sent(
    v095: KernelBuild, tmp_path: Path, parameter: str
) -> None:
    # the receive window limits, and the slow path holds the oldest segment
    paths = ["fast:50mbit,5ms", "slow:2mbit,50ms,queue=100"]
    both = f"minrtt,minrtt:{parameter}"
    flags = Flags(path=paths, scheduler=both, duration="10s", receive_buffer="256KiB", repeat="1")
    request = replace(resolve.from_flags(flags), kernels=(v095.name,))
    made = experiment.compare(request, [Rig(v095, guest.build())], Runner(tmp_path), baseline=False)
    repeats, other = (run.metrics.goodput_bps for run in made.runs)
    assert repeats is not None
    assert other is not None
    assert repeats != other
    if parameter == "rp=off":
        assert other < repeats / 2


def test_each_of_several_connections_has_samples_of_its_own(
    v095: KernelBuild, lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    table = tomllib.loads("""
        scheduler = "minrtt"
        repeat = 1
        link = [{ name = "cable", rate = "20mbit", delay = "10ms" }]
        path = [{ name = "one", link = "cable" }, { name = "other", link = "cable" }]
        connection = [
            { name = "first", paths = ["one"] },
            { name = "second", paths = ["other"], start = "3s", workload = { duration = "2s" } },
        ]
        workload = { duration = "8s" }
    """)
    request = resolve.from_table(table, "two.toml", folder=tmp_path)
    request = replace(request, kernels=("current", v095.name))
    rigs = [Rig(each, guest.build()) for each in (lab_kernel, v095)]
    made = experiment.compare(request, rigs, Runner(tmp_path), baseline=False)
    ours, theirs = made.runs
    assert theirs.metrics.goodput_bps == pytest.approx(ours.metrics.goodput_bps, rel=0.03)
    for here, there in zip(ours.connections, theirs.connections, strict=True):
        assert there.name == here.name
        assert there.goodput_bps == pytest.approx(here.goodput_bps, rel=0.25)
        assert here.metrics.ofo_bytes_mean is not None
        assert there.metrics.ofo_bytes_mean is None


def test_it_fills_both_paths_beside_a_kernel_that_has_other_schedulers(
    v095: KernelBuild, lab_kernel: KernelBuild, tmp_path: Path
) -> None:
    flags = Flags(path=PATHS, scheduler="default,minrtt", duration="10s", warmup="3s", repeat="1")
    request = replace(resolve.from_flags(flags), kernels=("current", v095.name))
    rigs = [Rig(each, guest.build()) for each in (lab_kernel, v095)]
    made = experiment.compare(request, rigs, Runner(tmp_path))
    assert [(run.kernel == v095.name, run.scheduler) for run in made.runs] == [
        *((False, "default"), (False, "minrtt"), (True, "minrtt"))
    ]
    run = made.runs[-1]
    assert run.metrics.goodput_bps == pytest.approx(30e6 * PAYLOAD, rel=0.01)
    assert run.metrics.subflows == 2
    # what it does not tell is blank, not 0
    unknown = (*sockets.UNKNOWN, *out_of_tree.unknown(request.base))
    assert {run.metrics[name] for name in unknown} == {None}
    for baseline in (each for each in made.baselines if each.kernel == v095.name):
        (path,) = baseline.paths
        rate_bps = 20e6 if path.name == "a" else 10e6
        assert baseline.metrics.goodput_bps == pytest.approx(rate_bps * TCP_PAYLOAD, rel=0.01)
