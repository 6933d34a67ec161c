# SPDX-License-Identifier: GPL-2.0-only
"""Runs with the out-of-tree MPTCP, where somebody has built its kernel: docs/out-of-tree.md."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from checks.oracle.__main__ import FILE_IDS, OracleCase, check
from checks.oracle.compare import judge_file
from checks.oracle.originals import ORIGINALS, bytes_room, file_ids
from checks.oracle.scenarios import RECORDED
from checks.oracle.state import read
from mptcplab.errors import InputError, MptcplabError
from mptcplab.lab import guest, kernel_names, out_of_tree
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, run_files, sockets
from mptcplab.metrics.definitions import RUN_METRICS
from mptcplab.metrics.schema import Trait
from mptcplab.report import explain
from mptcplab.runs import experiment, single
from mptcplab.runs.runner import Runner
from mptcplab.scenario import limits, resolve, scheduler
from mptcplab.scenario.flags import Flags
from tests import pcapng

ORIGINALS_DIRECTORY = Path(__file__).parents[1] / "unit/originals"
PATHS = ["a:20mbit,10ms", "b:10mbit,30ms"]
# a packet of plain TCP brings 1448 of its 1514 bytes; one of MPTCP v0 has 20 more of options
TCP_PAYLOAD, PAYLOAD = 1448 / 1514, 1428 / 1514


@pytest.fixture(scope="module")
def v095() -> KernelBuild:
    return built(lambda build: build.is_out_of_tree, "the out-of-tree MPTCP")


@pytest.fixture(scope="module")
def patched() -> KernelBuild:
    """One with schedulers of other people, which somebody has brought with --patch."""
    return built(lambda build: bool(build.brought), "schedulers of --patch")


def built(is_wanted: Callable[[KernelBuild], bool], what: str) -> KernelBuild:
    """The first kernel of this machine that is wanted; the test is skipped without one."""
    found = (each.current() for each in kernel_names.known().values())
    build = next((each for each in found if each and is_wanted(each)), None)
    if build is None:
        pytest.skip(f"no kernel with {what} is built: docs/out-of-tree.md")
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


def test_the_schedulers_of_patches_decide_and_repeat_every_byte(
    patched: KernelBuild, tmp_path: Path
) -> None:
    asked = out_of_tree.schedulers(patched.brought)
    names = [name for name in asked if name not in out_of_tree.SCHEDULERS]
    for name in filter(scheduler.known().__contains__, names):
        flags = Flags(path=PATHS, scheduler=name, duration="2s", pcap=True, states=True)
        request, made = resolve.from_flags(flags, single=True), []
        experiment.require_able(request, patched)
        for run in ("one", "other"):
            directory = tmp_path / name / run
            directory.mkdir(parents=True)
            outcome = single.run(request.base, Rig(patched, guest.build()), directory)
            assert outcome.guest["bytes_received"] == outcome.guest["bytes_written"] > 0
            made.append(files(directory))
        assert made[0] == made[1]
        # the records have the name of the scheduler that the kernel asked
        assert any(read(tmp_path / name / "one" / run_files.CLIENT_STATES, asked[name]))


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
        assert there.metrics.ofo_bytes_mean is not None


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
    blank = sockets.names(RUN_METRICS, {Trait.DECISIONS})
    assert {run.metrics[name] for name in blank} == {None}
    told = {*sockets.UNKNOWN} - {*blank, "goodput_down_bps", "delay_ms_mean"}
    assert {name for name in told if run.metrics[name] is None} == set()
    for baseline in (each for each in made.baselines if each.kernel == v095.name):
        (path,) = baseline.paths
        rate_bps = 20e6 if path.name == "a" else 10e6
        assert baseline.metrics.goodput_bps == pytest.approx(rate_bps * TCP_PAYLOAD, rel=0.01)


# What tshark, whose reader is not ours, finds in the captures of a run.

FIELDS = (
    *("frame.time_epoch", "frame.interface_name", "ip.src", "tcp.stream"),
    *("tcp.seq_raw", "tcp.len", "tcp.flags.syn", "tcp.window_size"),
    *("tcp.options.mptcp.rawdataack", "tcp.options.mptcp.rawdataseqno"),
    *("tcp.options.mptcp.subflowseqno", "tcp.options.mptcp.datalvllen"),
    "tcp.options.mptcp.datafin.flag",
)
Ranges = list[tuple[int, int]]


def dissected(capture: Path) -> Iterator[dict[str, str]]:
    command = ["tshark", "-r", str(capture), "-Y", "tcp && !icmp", "-T", "fields"]
    command += [word for name in FIELDS for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        yield dict(zip((name.rsplit(".")[-1] for name in FIELDS), line.split("\t"), strict=True))


def time_ns(packet: Mapping[str, str]) -> int:
    seconds, _, fraction = packet["time_epoch"].partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def joined(ranges: Sequence[tuple[int, int]]) -> Ranges:
    found: Ranges = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def size(ranges: Ranges) -> int:
    return sum(end - begin for begin, end in ranges)


class Sent:
    """The client's data in a capture, up to a time: what each subflow has of its stream, and each
    mapping of it to the data of the connection.
    """

    def __init__(self, capture: Path, first: int) -> None:
        self.packets: list[tuple[int, str, int, int]] = []
        self.mappings: dict[str, dict[int, tuple[int, int]]] = {}
        self.subflows: dict[str, Ranges] = {}
        self.payload_bytes = 0
        isns: dict[str, int] = {}
        for each in dissected(capture):
            stream = each["stream"]
            if not each["src"].startswith("10.0."):
                continue
            if each["syn"] == "1":
                isns[stream] = int(each["seq_raw"])
                self.mappings[stream], self.subflows[stream] = {}, []
            elif int(each["len"]):
                begin = (int(each["seq_raw"]) - isns[stream]) % 2**32
                self.packets.append((time_ns(each), stream, begin, begin + int(each["len"])))
                if each["subflowseqno"]:
                    at = (int(each["rawdataseqno"]) - first) % 2**32
                    length = int(each["datalvllen"]) - int(each["flag"])
                    self.mappings[stream][int(each["subflowseqno"])] = (at, length)

    def until(self, at_ns: int) -> None:
        while self.packets and self.packets[0][0] < at_ns:
            _, stream, begin, end = self.packets.pop(0)
            self.payload_bytes += end - begin
            self.subflows[stream] = joined([*self.subflows[stream], (begin, end)])

    def data(self, *, whole: bool) -> Ranges:
        """The data of the connection; `whole`: of mappings that arrived as a whole, in order."""
        found = []
        for stream, ranges in self.subflows.items():
            for begin, (at, length) in self.mappings[stream].items():
                if whole:
                    if ranges and ranges[0][0] == 1 and begin + length <= ranges[0][1]:
                        found.append((at, at + length))
                    continue
                for low, high in ranges:
                    low, high = max(low, begin), min(high, begin + length)
                    if low < high:
                        found.append((low - begin + at, high - begin + at))
        return joined(found)


@pytest.mark.parametrize(
    ("scheduler", "direction"), [("minrtt", "up"), ("redundant", "up"), ("minrtt", "both")]
)
def test_samples_are_what_the_captures_show(
    v095: KernelBuild, tmp_path: Path, scheduler: str, direction: str
) -> None:
    paths = ["a:20mbit,10ms,loss=0.3%", "b:5mbit,80ms"]
    flags = Flags(
        path=paths, event=["1s:a:down,lasts=500ms"], scheduler=scheduler, duration="3s",
        receive_buffer="200KiB", pcap=True, direction=direction,
    )  # fmt: skip
    scenario = resolve.from_flags(flags, single=True).base
    single.run(scenario, Rig(v095, guest.build()), tmp_path)
    samples = run_files.read_samples(scenario, tmp_path)

    packets = list(dissected(tmp_path / "client.pcapng"))
    ours = (each for each in packets if each["src"].startswith("10.0."))
    first = next(int(each["rawdataseqno"]) for each in ours if each["subflowseqno"])

    # data that came by a subflow in order, by whole mappings, is delivered or out of order
    arrived = Sent(tmp_path / "server.pcapng", first)
    receiver = samples["server"].connection
    for sample in receiver:
        arrived.until(int(sample["time_ns"]))
        data = arrived.data(whole=True)
        delivered = data[0][1] if data and data[0][0] == 0 else 0
        assert delivered == sample["delivered_bytes"]
        assert size(data) - delivered == sample["ofo_bytes"]
    assert (receiver["ofo_bytes"].max() > 0) == (scheduler == "minrtt")

    # what subflows were given, beyond one copy of each byte, was sent again
    sent, sender = Sent(tmp_path / "client.pcapng", first), samples["client"].connection
    subflows = samples["client"].subflow
    for sample in sender[1:]:  # the first one may come with the first packets
        own = subflows[subflows["time_ns"] == sample["time_ns"]]
        sent.until(int(sample["time_ns"]))
        if direction == "both":
            # some packets of these never leave, too long for IP: TCP counts them all the same
            assert own["sent_bytes"].sum() >= sent.payload_bytes
            continue
        assert own["sent_bytes"].sum() == sent.payload_bytes
        left, waiting = sum(map(size, sent.subflows.values())), own["unsent_bytes"].sum()
        assert left + waiting == sample["sent_bytes"] + sample["reinjected_bytes"]
        if not waiting:
            assert size(sent.data(whole=False)) == sample["sent_bytes"]
    assert sender["reinjected_bytes"][-1] > 100_000
    # of these schedulers, one penalises, while the receive window is full
    penalises = (scheduler, direction) == ("minrtt", "up")
    assert (subflows["penalties"].max() > 0) == penalises

    # the window ends where the farthest DATA_ACK and its window say, from the first one on
    edge = acked = 0
    acks = [
        (time_ns(each), (int(each["rawdataack"]) - first) % 2**32, int(each["window_size"]))
        for each in packets
        if each["src"].startswith("10.1.") and each["rawdataack"]
    ]
    for sample in sender:
        while acks and acks[0][0] < sample["time_ns"]:
            _, ack, window = acks.pop(0)
            edge, acked = max(edge, ack + window), max(acked, ack)
        if edge:
            assert sample["sent_bytes"] + sample["window_bytes"] == edge
            assert sample["acked_bytes"] == acked


def test_queues_hold_what_has_entered_and_not_left(v095: KernelBuild, tmp_path: Path) -> None:
    """The buffer keeps less in flight than the queue takes, so nothing is dropped."""
    flags = Flags(
        path=["a:20mbit,10ms,queue=1000"], scheduler="minrtt", duration="2s",
        receive_buffer="300KiB", pcap=True,
    )  # fmt: skip
    scenario = resolve.from_flags(flags, single=True).base
    single.run(scenario, Rig(v095, guest.build()), tmp_path)
    links = records.read_links(tmp_path / run_files.LINKS_SAMPLES)
    queue = links[links["device"] == b"rs1"]
    assert queue["dropped_packets"].max() == 0 < queue["queue_packets"].max()
    delay_us = re.search(
        r" dev rs1 root netem .* delay (\d+)us", (tmp_path / "plan.txt").read_text()
    )
    assert delay_us is not None
    delay_ns = int(delay_us[1]) * 1000
    packets = [
        (each["interface_name"], time_ns(each), int(each["len"]))
        for each in dissected(tmp_path / "router-a.pcapng")
        if each["src"].startswith("10.0.")
    ]
    for sample in queue[1:]:
        at_ns = int(sample["time_ns"])
        entered = sum(name == "rc1" and when < at_ns for name, when, _ in packets)
        left = sum(name == "rs1" and when < at_ns for name, when, _ in packets)
        delayed = sum(
            name == "rc1" and at_ns - delay_ns <= when < at_ns for name, when, _ in packets
        )
        assert sample["delayed_packets"] == delayed
        assert sample["queue_packets"] == entered - left - delayed


def test_another_interval_of_samples_changes_no_packet(v095: KernelBuild, tmp_path: Path) -> None:
    """Before the close, which waits for a last sample. v0.95 does not write a reserved bit of the
    third MP_JOIN: it is whatever the memory held.
    """
    seen = []
    for interval in ("10ms", "1ms"):
        directory = tmp_path / interval
        directory.mkdir()
        flags = Flags(
            path=[f"{path},loss=0.5%" for path in PATHS], scheduler="minrtt", duration="2s",
            sample_interval=interval, pcap=True,
        )  # fmt: skip
        scenario = resolve.from_flags(flags, single=True).base
        outcome = single.run(scenario, Rig(v095, guest.build()), directory)
        devices = [
            each
            for file in sorted(directory.glob("*.pcapng"))
            for each in pcapng.read(file).values()
        ]
        before = [int((each.time_ns < outcome.guest["complete_ns"]).sum()) for each in devices]
        seen.append(
            [
                (
                    each.device,
                    each.time_ns[:upto].tolist(),
                    [
                        re.sub(rb"\x1e\x18\x11", b"\x1e\x18\x10", head)
                        for head in each.headers[:upto]
                    ],
                )
                for each, upto in zip(devices, before, strict=True)
            ]
        )
    assert min(len(times) for _, times, _ in seen[0]) > 500
    assert seen[0] == seen[1]


def test_explain_names_the_penalties_of_a_scheduler(v095: KernelBuild, tmp_path: Path) -> None:
    flags = Flags(
        path=["a:20mbit,10ms", "b:5mbit,80ms"], scheduler="minrtt", duration="5s",
        receive_buffer="200KiB", repeat="1",
    )  # fmt: skip
    request = replace(resolve.from_flags(flags, single=True), kernels=(v095.name,))
    made = experiment.compare(request, [Rig(v095, guest.build())], Runner(tmp_path), baseline=False)
    (found,) = explain.explain(next((tmp_path / "runs").iterdir()))
    assert made.runs[0].status == "ok"
    why = {(reason.kind, reason.path) for reason in found.reasons}
    assert ("penalties", "b") in why
    assert ("penalties", "a") not in why
    assert abs(found.not_explained_bps) < 0.005 * found.capacity_bps


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


def test_each_end_has_its_own_decisions_about_the_subflows_of_its_samples(
    v095: KernelBuild, tmp_path: Path
) -> None:
    # c is established before b, and used before it
    paths = ["a:20mbit,10ms", "b:2mbit,13ms", "c:10mbit,12ms"]
    flags = Flags(path=paths, scheduler="minrtt", duration="1s", direction="both", decisions=True)
    request = resolve.from_flags(flags, single=True)
    outcome = single.run(request.base, Rig(v095, guest.build()), tmp_path)
    written = []
    for end in ("client", "server"):
        decisions = records.read_decisions(tmp_path / f"{end}.decisions")
        new = decisions["kind"] == records.DECISIONS.index("new")
        written.append(int(decisions["length"][new].sum()))
        sent = {
            int(each["n"]) + 1: int(each["sent_bytes"]) - int(each["retransmitted_bytes"])
            for each in records.read_samples(tmp_path / f"{end}.samples").subflow
        }
        assert set(sent) == {1, 2, 3}
        for number, count in sent.items():
            assert count <= decisions["length"][decisions["subflow"] == number].sum()
    # a connection begins with a greeting of 8 bytes
    assert written[0] != written[1]
    assert sum(written) == outcome.guest["bytes_written"] + 8


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


# What is on other kernels as well, each with its figures there.

#: The least of each kind that has all figures, or a refusal.
WORKLOADS = (
    *("bulk:duration=3s", "transfers:count=5", "cbr:rate=4mbit,duration=3s"),
    *("requests:duration=3s", "web", "video:duration=12s", "frames:duration=3s"),
    *("tunnel:duration=3s", "bulk:connections=3,duration=3s"),
)
REFUSED = ("tunnel", "bulk:connections")


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("discipline", limits.DISCIPLINES)
def test_each_workload_has_figures_with_each_discipline_or_a_reason(
    v095: KernelBuild, lab_kernel: KernelBuild, tmp_path: Path, workload: str, discipline: str
) -> None:
    paths = [f"{path},queue_discipline={discipline}" for path in PATHS]
    request = resolve.from_flags(
        Flags(path=paths, scheduler="minrtt", workload=workload, repeat="1")
    )
    if workload.startswith(REFUSED):
        with pytest.raises(InputError, match=r"out-of-tree MPTCP, whose .*(tunnel|connection)"):
            experiment.require_able(request, v095)
        return
    request = replace(request, kernels=("current", v095.name))
    rigs = [Rig(each, guest.build()) for each in (lab_kernel, v095)]
    made = experiment.compare(request, rigs, Runner(tmp_path), baseline=False)
    ours, theirs = made.runs
    blank = {*sockets.names(RUN_METRICS, {Trait.DECISIONS})}
    known = {m.name for m in RUN_METRICS if ours.metrics[m.name] is not None} - blank
    assert {name for name in known if theirs.metrics[name] is None} == set()
    assert theirs.status == "ok"
    # short objects, and the levels that a player chooses, differ by kernel; the rest to a tenth
    least = 0.0 if workload.startswith(("web", "video")) else 0.9 * (ours.metrics.goodput_bps or 0)
    assert (theirs.metrics.goodput_bps or 0) > least
