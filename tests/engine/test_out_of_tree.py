# SPDX-License-Identifier: GPL-2.0-only
"""Runs with the out-of-tree MPTCP, where somebody has built its kernel: docs/out-of-tree.md."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from checks.oracle.__main__ import FILE_IDS, OracleCase, check
from checks.oracle.compare import judge_file
from checks.oracle.originals import ORIGINALS, bytes_room, file_ids
from checks.oracle.scenarios import RECORDED
from mptcplab.errors import MptcplabError
from mptcplab.lab import guest, kernel_names, out_of_tree
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, sockets
from mptcplab.runs import experiment, single
from mptcplab.runs.runner import Runner
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags

ORIGINALS_DIRECTORY = Path(__file__).parents[1] / "unit/originals"
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


def test_recording_changes_no_packet(v095: KernelBuild, tmp_path: Path) -> None:
    paths = [f"{path},loss=0.5%" for path in PATHS]
    flags = Flags(path=paths, event=["1s:a:down,lasts=1s"], scheduler="blest", duration="3s")
    captures = []
    for name in ("none", "decisions", "states"):
        asked = replace(flags, pcap=True, decisions=name == "decisions", states=name == "states")
        request = resolve.from_flags(asked, single=True)
        (tmp_path / name).mkdir()
        outcome = single.run(request.base, Rig(v095, guest.build()), tmp_path / name)
        captures.append(
            {file: content for file, content in files(tmp_path / name).items() if "pcapng" in file}
        )
    assert len(captures[0]) > 1
    assert captures[0] == captures[1] == captures[2]
    decisions = records.read_decisions(tmp_path / "decisions" / "client.decisions")
    new = decisions[decisions["kind"] == records.DECISIONS.index("new")]
    # a connection begins with a greeting of 8 bytes
    assert new["length"].sum() == outcome.guest["bytes_written"] + 8
    assert {"wait", "new", "reinjection"} <= {records.DECISIONS[kind] for kind in decisions["kind"]}
    # each decision is an answer, or what was carried out, among the states, too
    states = records.read_states(tmp_path / "states" / "client.states")
    what = states.view(records.ANSWER_DTYPE)["what"]
    kept = ((states["kind"] == records.ANSWER) & (what == 0)) | (states["kind"] == records.DONE)
    assert what[kept].tolist() == decisions["kind"].tolist()


def files_of(name: str) -> dict[str, str]:
    """The identities of a kernel's schedulers; none if its source is not there."""
    try:
        return file_ids(name)
    except MptcplabError:
        return {}


@pytest.mark.parametrize("scheduler", ORIGINALS)
def test_its_schedulers_decide_as_recorded(scheduler: str, tmp_path: Path) -> None:
    """Where a kernel has the sources whose decisions the unit tests have."""
    ids = json.loads((ORIGINALS_DIRECTORY / FILE_IDS).read_text())
    built = {name: each.current() for name, each in kernel_names.known().items()}
    found = (name for name, build in built.items() if build and files_of(name) == ids)
    if not (name := next(found, "")):
        pytest.skip("no kernel of these sources of the out-of-tree MPTCP is built: docs/oracle.md")
    kernel = built[name]
    assert kernel
    rig = Rig(kernel, guest.build())
    for scenario in RECORDED:
        case = OracleCase(scenario, scheduler, name)
        out = tmp_path / scenario
        out.mkdir()
        agreement = check(
            case, rig, out, judge=lambda path, form: judge_file(path, form, bytes_room)
        )
        assert not agreement.failures
        assert not agreement.differs
        recorded = (ORIGINALS_DIRECTORY / f"{scheduler}-{scenario}.states.xz").read_bytes()
        assert (out / case.states).read_bytes() == lzma.decompress(recorded)
