# SPDX-License-Identifier: GPL-2.0-only
"""Two kernels compared, by captures and records of which every packet and sample is known, and the
command with kernels that only pretend.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from mptcplab.cli import cli
from mptcplab.errors import InputError, MptcplabError
from mptcplab.kernel_comparison import cases, compare, terminal
from mptcplab.kernel_comparison.document import (
    Compared,
    Comparison,
    FigureDifference,
    RecordDifference,
)
from mptcplab.lab import doctor, guest, kernel, kernel_names
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild, Parts
from mptcplab.metrics import records, run_files
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures, PathFigures, RunFigures
from mptcplab.papers import stale
from mptcplab.plan import plan, testbed
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import RESULT, Store, write_json
from mptcplab.runs.tasks import Task
from mptcplab.scenario.model import Scenario
from tests.packets import Datagram, write_pcapng
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, T0
from tests.unit.test_analyze import Talk
from tests.unit.test_difference import talk
from tests.vocabulary import shown

SCENARIO = synthetic.scenario(duration_ns=2 * SECOND).model_copy(update={"pcap": True})


def leave(directory: Path, made: Talk, scenario: Scenario = SCENARIO) -> Path:
    """The files of a run whose workload starts 50 ms after the beginning of a talk."""
    directory.mkdir(parents=True)
    outcome = {**synthetic.guest(2 * SECOND), "system_calls": len(directory.name)}
    (directory / run_files.GUEST_OUTCOME).write_text(json.dumps(outcome))
    for number, name in enumerate(plan.capture_files(scenario)):
        seen = made if name == plan.CLIENT_CAPTURE else made.elsewhere(5)
        sent = [replace(each, time_ns=each.time_ns + T0 - 50 * MS) for each in seen.packets]
        write_pcapng(directory / name, sent, link_id=number)
    client, server = synthetic.run(FAST, SLOW, duration_ns=2 * SECOND, interval_ns=100 * MS)
    synthetic.write(client, directory / run_files.CLIENT_SAMPLES)
    synthetic.write(server, directory / run_files.SERVER_SAMPLES)
    (directory / run_files.CONSOLE).write_text(directory.name)
    (directory / run_files.LINKS_SAMPLES).write_bytes(
        synthetic.links(FAST, duration_ns=2 * SECOND).tobytes()
    )
    return directory


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs that differ in what is random, and no byte of their captures is the same."""
    other = talk(isn=2**32 - 150, server_isn=7, key=b"another1", port=50_000)
    return leave(tmp_path / "one", talk()), leave(tmp_path / "another", other)


# --- files of runs


def test_a_path_is_named_by_its_addresses_of_both_versions(pair: tuple[Path, Path]) -> None:
    def ip(end: tuple[str, int]) -> tuple[str, int]:
        side, number = map(int, end[0].split(".")[1:3])
        of = testbed.client if side == testbed.CLIENT_END else testbed.server
        return of(number).ip("6"), end[1]

    for directory, window in zip(pair, (65535, 1000), strict=True):
        made = talk()
        made.packets = [
            replace(each, source=ip(each.source), target=ip(each.target)) for each in made.packets
        ]
        made.packets[-1] = replace(made.packets[-1], window=window)
        shutil.rmtree(directory)
        leave(directory, made)
    packets, _ = compare.differences(SCENARIO, *pair)
    assert (packets[0].path, packets[0].direction, packets[0].number) == ("slow", "up", 4)


def test_packets_that_are_not_tcp_are_counted(pair: tuple[Path, Path]) -> None:
    file = pair[1] / "server.pcapng"
    not_tcp = bytearray(file.read_bytes())
    at = not_tcp.index(bytes([10, 0, 1, 1, 10, 1, 1, 1]))
    not_tcp[at - 3] = 17  # the protocol of IP is 9 bytes into its header, the addresses 12
    file.write_bytes(not_tcp)
    packets, recorded = compare.differences(SCENARIO, *pair)
    assert [each.fields for each in recorded] == [{"packets": ("0", "1")}]
    assert packets[0].capture == "server.pcapng"
    # so are those of UDP, one in each of the captures
    made = talk()
    made.packets.append(Datagram(150 * MS, ("10.0.1.1", 40_000), ("10.1.1.1", 9)))  # type: ignore[arg-type]
    shutil.rmtree(pair[1])
    packets, recorded = compare.differences(SCENARIO, pair[0], leave(pair[1], made))
    assert packets == []
    count = str(len(plan.capture_files(SCENARIO)))
    assert [each.fields for each in recorded] == [{"packets": ("0", count)}]


def change_samples(file: Path, change: Callable[[Any], None]) -> None:
    # in place: a copy of records leaves out what no field of theirs is, such as other kinds' fields
    content = bytearray(file.read_bytes())
    change(np.frombuffer(content, records.SUBFLOW_DTYPE))
    file.write_bytes(content)


def test_a_sample_that_differs_is_named(pair: tuple[Path, Path]) -> None:
    def change(samples: Any) -> None:
        of = (samples["kind"] == records.SUBFLOW) & (samples["n"] == 1)
        samples["cwnd"][of & (samples["time_ns"] >= T0 + 300 * MS)] += 3

    change_samples(pair[1] / run_files.CLIENT_SAMPLES, change)
    packets, (found,) = compare.differences(SCENARIO, *pair)
    assert packets == []
    assert found == RecordDifference(
        file="client.samples", kind="subflow", time_s=0.3, fields={"cwnd": ("10", "13")}
    )
    of = Compared(scenario="x", workload="bulk", verdict="differs", records=(found,))
    assert terminal.first_difference(of) == (
        "300 ms, no packet, but client.samples subflow: cwnd 10 / 13"
    )


def test_ports_and_the_order_of_connections_do_not_count(pair: tuple[Path, Path]) -> None:
    def change(samples: Any) -> None:
        of = samples["kind"] == records.SUBFLOW
        samples["local_port"][of] = 12_345
        samples["connection"] = 2
        # of each instant, the records the other way round
        at = np.lexsort((-np.arange(len(samples)), samples["time_ns"]))
        # whole: what lies between the fields of a subflow are fields of a connection
        whole = samples.view(f"V{samples.itemsize}")
        whole[:] = whole[at]

    change_samples(pair[1] / run_files.CLIENT_SAMPLES, change)
    assert compare.differences(SCENARIO, *pair) == ([], [])


def test_records_that_are_missing_are_counted(pair: tuple[Path, Path]) -> None:
    file = pair[1] / run_files.LINKS_SAMPLES
    file.write_bytes(file.read_bytes()[: -records.RECORD_BYTES])
    packets, (found,) = compare.differences(SCENARIO, *pair)
    # each 10 ms for 2 s, both ends included
    assert (packets, found.fields) == ([], {"records": ("201", "200")})
    assert found.time_s is None


def test_files_are_compared_by_their_bytes(pair: tuple[Path, Path]) -> None:
    for number, directory in enumerate(pair):
        (directory / run_files.CLIENT_DECISIONS).write_bytes(bytes([number]))
    (pair[0] / run_files.CLIENT_STATES).write_bytes(b"")
    outcome = json.loads((pair[1] / run_files.GUEST_OUTCOME).read_text())
    outcome["complete_ns"] += 1
    (pair[1] / run_files.GUEST_OUTCOME).write_text(json.dumps(outcome))
    _, found = compare.differences(SCENARIO, *pair)
    assert [(each.file, each.kind) for each in found] == [
        ("client.decisions", ""),
        ("client.states", "only one has it"),
        ("guest.json", ""),
    ]
    assert found[2].fields == {"complete_ns": (str(T0 + 2 * SECOND), str(T0 + 2 * SECOND + 1))}


# --- figures


def entry(goodput_bps: float | None = 20e6, **more: Any) -> Entry:
    share = more.pop("share", 0.5)
    metrics = RunFigures(goodput_bps=goodput_bps, **more)
    paths = (PathFigures(name="fast", share=share), PathFigures(name="slow", share=1 - share))
    links = (LinkFigures(name="shared", direction="up", utilisation=share),)
    own = ConnectionFigures(name="bulk", goodput_bps=goodput_bps, metrics=metrics)
    measured = RunMetrics(metrics, paths, connections=(own,), links=links)
    return run_entry(SCENARIO, measured, directory="runs/x")


def test_figures_that_differ_are_listed_with_their_change() -> None:
    found = compare.figures(entry(), entry(25e6, share=0.25, retransmitted_packets=0))
    assert [(each.figure, each.unit, each.a, each.b, each.change) for each in found] == [
        ("goodput_bps", "bit/s", 20e6, 25e6, 0.25),
        # that there is none is not zero
        ("retransmitted_packets", "packets", None, 0, None),
        ("paths.fast.share", "", 0.5, 0.25, -0.5),
        ("paths.slow.share", "", 0.5, 0.75, 0.5),
        ("connections.bulk.goodput_bps", "bit/s", 20e6, 25e6, 0.25),
        ("connections.bulk.metrics.goodput_bps", "bit/s", 20e6, 25e6, 0.25),
        ("connections.bulk.metrics.retransmitted_packets", "packets", None, 0, None),
        ("links.shared.up.utilisation", "", 0.5, 0.25, -0.5),
    ]
    # as a part of the larger one
    assert [each.size for each in found[:4]] == [0.2, 1, 0.5, 1 / 3]
    # rounding is no difference
    assert compare.figures(entry(20e6), entry(20e6 * (1 + 1e-12))) == []
    (only, *_) = compare.figures(entry(waits=0), entry(waits=3))
    assert (only.a, only.b, only.change, only.size) == (0, 3, None, 1)


def test_the_largest_differences_are_shown_first() -> None:
    def of(name: str, goodput_bps: float, **more: Any) -> Compared:
        figures = tuple(compare.figures(entry(), entry(goodput_bps, **more)))
        return Compared(scenario=name, workload="bulk", verdict="differs", figures=figures)

    random = Compared(scenario="chance", workload="bulk", verdict="random")
    side = compare.Kernel(
        KernelBuild("k1", "lab", Path(), Path()), Guest("g", Path()), "old"
    ).side()
    skipped = Compared(scenario="s", workload="bulk", verdict="skipped", reason="old lacks ecf")
    made = Comparison(
        a=side,
        b=side,
        scenarios=(of("little", 21e6, share=0.1), random, skipped, skipped, of("much", 10e6)),
    )
    text = shown(terminal.tables(made), width=100)
    lines = [line.split() for line in text.splitlines() if line.strip()]
    # 20 to 10 Mbit/s is half of the larger one, 20 to 21 a twentieth; chance has no figures
    assert lines[0] == ["First", "difference", "in", "scenarios"]
    assert [line[-2:] for line in lines[2:5]] == [["1", "much"], ["1", "little"], ["1", "chance*"]]
    assert lines[5] == ["Figure", "in", "most", "in", "old", "old", "Change"]
    assert lines[7:] == [["goodput_bps", "2", "much", "20", "Mbit/s", "10", "Mbit/s", "-50", "%"]]
    assert [*terminal.lines(made)] == [
        "all figures: --json or the document; mptcplab results schema defines them",
        "* decides by random numbers, which depend on the build of the kernel",
        "skipped: 2 scenarios: old lacks ecf",
        "old (k1) and old (k1): of 3 scenarios, 0 same, 2 differ, 0 of these in packets, "
        "1 differ, perhaps at random",
    ]
    assert FigureDifference(figure="x", unit="", a=-2, b=1, change=1.5).size == 1.5


# --- scenarios


def test_the_own_set_has_every_scheduler_and_a_name_for_each_scenario() -> None:
    found = cases.own_set()
    names = [each.name for each in found]
    assert len({*names}) == len(names)
    assert {f"{each}, lossy" for each in kernel.schedulers()} < {*names}
    assert all(each.scenario.pcap and each.scenario.seed == 7 for each in found)
    assert [each.name for each in found if each.is_random] == ["bbr"]


def test_what_a_kernel_lacks_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lab = KernelBuild("k1", "lab", Path(), Path())
    files = {"sched/minrtt.c": "1", "cc/lia.c": "2"}
    monkeypatch.setattr(kernel, "parts", lambda _build: Parts("base", files))
    own = {each.name: each for each in cases.own_set()}
    without = replace(lab, variant="engine")
    assert own["default, clean"].lacking(lab) == own["default, clean"].lacking(without) == []
    assert own["minrtt, lossy"].lacking(lab) == []
    assert own["minrtt, lossy"].lacking(without) == ["the scheduler minrtt"]
    assert own["blest, clean"].lacking(lab) == ["the scheduler blest"]
    assert own["plain TCP"].lacking(without) == own["reno"].lacking(without) == []
    assert own["lia"].lacking(lab) == []
    assert own["olia"].lacking(lab) == ["the congestion control olia"]
    file = tmp_path / "a.toml"
    file.write_text(
        'scheduler = "default:recovery=on"\n[[path]]\nname = "a"\nrate = "1mbit"\ndelay = "1ms"\n'
    )
    (mine,) = cases.of_files([file])
    assert mine.lacking(lab) == []
    assert mine.lacking(without) == ["the scheduler default:recovery=on"]


def scenario_file(directory: Path, more: str = "") -> Path:
    file = directory / "mine.toml"
    paths = ("fast", "slow")
    text = "".join(f'[[path]]\nname = "{p}"\nrate = "20mbit"\ndelay = "10ms"\n' for p in paths)
    file.write_text(f"{more}\n{text}")
    return file


def test_all_runs_of_the_users_files_are_compared(tmp_path: Path) -> None:
    file = scenario_file(tmp_path, 'scheduler = ["default", "minrtt"]\nrepeat = 2')
    found = cases.of_files([file])
    assert [each.name for each in found] == [
        f"{file}, {scheduler}, seed {seed}"
        for scheduler in ("default", "minrtt")
        for seed in (1, 2)
    ]
    assert all(each.scenario.pcap for each in found)
    with pytest.raises(InputError, match="A and B name the kernels; leave it out"):
        cases.of_files([scenario_file(tmp_path, 'kernel = "6.12"')])


# --- the command


class Runs:
    """Runs that pretend: `new` has another window in one packet; what is in `failing` fails."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.failing: set[str] = set()
        self.interrupted_after = 1000

    def perform(self, runner: Runner, tasks: Sequence[Task]) -> Iterator[Entry]:
        assert runner.jobs == 1
        with runner.show(len(tasks)) as (_, ended):
            for count, task in enumerate(tasks, 1):
                if len(self.made) == self.interrupted_after:
                    raise KeyboardInterrupt
                made = self.entry(task, Store(runner.out).directory(task.key))
                ended(count, task.scenario, made.model_copy(update={"kernel": "k"}))
                yield made

    def entry(self, task: Task, directory: Path) -> Entry:
        build = task.rig.kernel
        self.made.append(build.id)
        if build.name in self.failing:
            return run_entry(task.scenario, reason="the kernel crashed\nbelow")
        sent = talk(key=f"{build.id:8}"[:8].encode())
        if build.name == "new":
            (at,) = (n for n, each in enumerate(sent.packets) if each.time_ns == 112 * MS)
            sent.packets[at] = replace(sent.packets[at], window=1)
        leave(directory, sent, task.scenario)
        made = entry(10e6 if build.name == "new" else 20e6)
        made = made.model_copy(update={"directory": f"runs/{task.key}", "connections": ()})
        write_json(directory / RESULT, made.result())
        return made


OLD = KernelBuild("0123456789ab", "lab", Path("/linux"), Path("/config"), "0123456789ab")
KERNELS = {
    "0123456789ab": OLD,
    "new": replace(OLD, id="new1", name="new"),
    "plain": replace(OLD, id="plain1", name="plain", variant="engine"),
    "current": replace(OLD, id="now1", name=""),
}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    made = Runs()
    monkeypatch.setattr(Runner, "perform", lambda runner, tasks: made.perform(runner, tasks))
    monkeypatch.setattr(doctor, "require", lambda *_checks: None)
    monkeypatch.setattr(doctor, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(guest, "build", lambda: Guest("guest", tmp_path / "guest"))
    real = kernel_names.build_any
    monkeypatch.setattr(
        kernel_names, "build_any", lambda name, which: KERNELS.get(name) or real(name, which)
    )
    monkeypatch.setattr(
        kernel, "parts", lambda build: Parts(build.id, {"sched/minrtt.c": build.id[:3]})
    )
    monkeypatch.chdir(tmp_path)
    return made


def call(*words: str | Path) -> int:
    """The exit status of `mptcplab kernel compare` with these words."""
    try:
        cli.main(["kernel", "compare", *map(str, words), "--jobs", "1"], standalone_mode=False)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


TWO_SCHEDULERS = 'scheduler = ["default", "minrtt"]'


def test_kernels_differ(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenario_file(tmp_path, TWO_SCHEDULERS)
    assert call("current", "new", file) == 4
    assert len(runs.made) == 4
    shown = capsys.readouterr()
    message = "62.000000 ms, fast up at client, packet 4 (data): window 65535 / 1"
    assert f"[1/4] {file}, default, k: 20.00 Mbit/s" in shown.err
    assert f"[2/2] {file}, minrtt: differs: {message}" in shown.err
    assert "current (now1) and new (new1): of 2 scenarios, 0 same, 2 differ" in shown.out
    document = json.loads(Path("kernel-compare-out/kernel-compare.json").read_text())
    first = document["scenarios"][0]
    assert document["b"] == {"name": "new", "kernel": "new1", "variant": "lab", "guest": "guest"}
    # where it is sent, and then where it comes 5 ms later
    places = [(each["capture"], each["time_s"]) for each in first["packets"]]
    assert places == [
        ("client.pcapng", 0.062),
        *((f"{place}.pcapng", 0.067) for place in ("server", "router-fast", "router-slow")),
    ]
    assert first["packets"][0]["fields"] == {"window": ["65535", "1"]}
    assert first["figures"][0]["change"] == -0.5
    assert all(Path("kernel-compare-out", run, "client.pcapng").exists() for run in first["runs"])

    # the same again: no run is made, and the same is said
    assert call("current", "new", file, "--json") == 4
    assert json.loads(capsys.readouterr().out) == document
    assert len(runs.made) == 4
    # a run that lost its captures is made again
    Path("kernel-compare-out", first["runs"][0], "router-slow.pcapng").unlink()
    with pytest.raises(FileExistsError):  # which this store, that pretends, cannot
        call("current", "new", file)


def test_left_out_fields(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenario_file(tmp_path)
    # the windows of packets differ, and then a figure
    assert call("current", "new", file, "--but", "window, TTL") == 4
    shown = capsys.readouterr()
    assert "fields of packets left out: window, TTL" in shown.out
    document = json.loads(Path("kernel-compare-out/kernel-compare.json").read_text())
    assert document["but"] == ["window", "TTL"]
    assert "packets" not in document["scenarios"][0] or not document["scenarios"][0]["packets"]
    assert document["scenarios"][0]["figures"]
    assert len(runs.made) == 2
    # without it they are there, of the same runs
    assert call("current", "new", file) == 4
    assert "window 65535 / 1" in " ".join(capsys.readouterr().err.split())
    assert len(runs.made) == 2


def test_skipped_and_failed(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = scenario_file(tmp_path, TWO_SCHEDULERS)
    assert call("current", "plain", both) == 0
    assert "skipped: 1 scenario: plain lacks the scheduler minrtt" in capsys.readouterr().out
    assert len(runs.made) == 2
    with pytest.raises(MptcplabError, match="nothing was compared"):
        call("current", "plain", both, "--only", "minrtt")
    # a run that fails is reported
    runs.failing = {"new"}
    assert call("current", "new", scenario_file(tmp_path)) == 1
    assert f"failed:  {tmp_path}/mine.toml: new: the kernel crashed" in capsys.readouterr().out


def test_it_goes_on_after_an_interrupt(runs: Runs, tmp_path: Path) -> None:
    file = scenario_file(tmp_path, TWO_SCHEDULERS)
    runs.interrupted_after = 3
    with pytest.raises(click.Abort):
        call("current", "0123456789ab", file)
    runs.interrupted_after = 1000
    assert call("current", "0123456789ab", file) == 0
    assert len(runs.made) == 4


@pytest.mark.usefixtures("runs")
def test_wrong_comparisons_are_refused(tmp_path: Path) -> None:
    file = str(scenario_file(tmp_path))
    for words, message in (
        (("new", file, "--only", "nothing"), "no name of a scenario contains this"),
        (("0123456789ab+abc", file), "no guest program of this id"),
        (("stock:linux.deb", file), "package, which only --kernel of runs takes"),
        (("new", file, "--but", "TTL,windows"), "windows: no field of a packet; accepted are time"),
        (("new", "--equal", "equal.json", "--but", "TTL"), "--equal is for all fields"),
        (("new", file, "--equal", "equal.json"), "--equal is for the project's own set"),
        (("new", "nowhere.toml"), r"nowhere\.toml"),
    ):
        with pytest.raises((InputError, click.UsageError), match=message):
            call("current", *words)


def test_kernels_are_alike(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scenario_file(tmp_path)
    assert call("0123456789ab", "current", file) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0123456789ab and current (now1): of 1 scenario, 1 same, 0 differ",
        "document: kernel-compare-out/kernel-compare.json",
    ]
    assert len(runs.made) == 2
    # an old kernel runs its own guest
    (tmp_path / "cache" / "guest").mkdir(parents=True)
    (tmp_path / "cache" / "guest" / "g0").write_text("")
    assert call("0123456789ab+g0", "current", file) == 0
    document = json.loads(Path("kernel-compare-out/kernel-compare.json").read_text())
    assert (document["a"]["guest"], document["b"]["guest"]) == ("g0", "guest")
    assert len(runs.made) == 3


@pytest.mark.usefixtures("runs")
def test_what_is_equal_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [each for each in cases.own_set() if each.name in ("minrtt, lossy", "bench")]
    monkeypatch.setattr(cases, "own_set", lambda: chosen)
    file = Path("equal.json")
    file.write_text('[{"what": "kernel", "ids": ["x", "now1"], "shown_by": "before"}]')
    assert call("current", "new", "--equal", file) == 4
    assert len(stale.equal(file)) == 1
    assert call("0123456789ab", "current", "--equal", file) == 0
    said = (
        "mptcplab kernel compare: 0123456789ab and current (now1): of 2 scenarios, 2 same, 0 differ"
    )
    assert stale.equal(file) == [
        # what was known of one holds for the other, too
        stale.Equal("kernel", ["x", "now1", "0123456789ab"], f"before; {said}"),
        stale.Equal("sched/minrtt.c", ["012", "now"], said),
    ]
