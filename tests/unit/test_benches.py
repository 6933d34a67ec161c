# SPDX-License-Identifier: GPL-2.0-only
"""The benches without a run: what they ask for, their statistics, their page, and refusals."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benches import __main__ as benches
from benches import figures, growth, native, others, performance_page, simulated
from benches.figures import Contender, Cost, Machine, Measured, Point, Series
from benches.lab import scenario_of, sending_s
from mptcplab import marked
from mptcplab.errors import MptcplabError
from mptcplab.lab import doctor
from mptcplab.runs import bench
from mptcplab.scenario.workload import Bulk

ROOT = Path(__file__).parents[2]


def cost(packets: int = 1000, cpu_s: float = 1.0, **more: Any) -> Cost:
    values: dict[str, Any] = {"seconds": 20.0, "wall_s": 2.0, "goodput_bps": 1e8}
    return Cost(packets=packets, cpu_s=cpu_s, memory_bytes=50 << 20, **values | more)


def series(name: str = "rate", per_packet_s: float = 2e-6, start_s: float = 0.2) -> Series:
    """One whose cost is a line exactly."""
    points = [
        Point(x=x, taken=(cost(packets := int(1000 * x), start_s + per_packet_s * packets),))
        for x in (1.0, 2.0, 8.0)
    ]
    return Series(name=name, what="what", unit="Mbit/s", work="packets", points=tuple(points))


def measured(**changed: Any) -> Measured:
    rounds = [(1000, 1.0), (1000, 2.0), (2000, 2.0)]
    values: dict[str, Any] = {
        "quick": False,
        "machine": Machine(processor="A processor", cpus=2, kernel="6.1", load=0.1),
        "contenders": (
            Contender(
                name="lab", what="all", taken=tuple(cost(packets, s) for packets, s in rounds)
            ),
            Contender(
                name="ns-3",
                what="TCP",
                taken=tuple(cost(packets, 3 * s, events=30_000) for packets, s in rounds),
            ),
            Contender(name="host", what="real", why_not="no netem"),
        ),
        "ns3_start_cpu_s": 20.0,
        "series": (series(), series("duration")),
        "bench": bench_figures(),
    }
    return Measured(**values | changed)


def bench_figures() -> dict[str, Any]:
    of_default = dict.fromkeys(bench._FILLING, 1.0)
    filling = {"default_of_ideal": 1.0, "of_default": of_default}
    speed = dict.fromkeys(("times_real_time", "data_packets_per_s", "wall_s", "user_s"), 1.0)
    return {
        "speed": speed | dict.fromkeys(("system_s", "start_s", "memory_bytes"), 1.0),
        "minrtt": {"speed": 0.9},
        "decisions": {"room": {"default": 40, "blest": 60}},
        "sampling": {"cost": 0.03},
        "captures": {"cost": 1.9, "analyze_packets": 1e6, "analyze_packets_per_cpu_s": 6e5},
        "side_by_side": {"throughput": 1.8},
        "filling": {"twins": filling, "unequal": filling},
    }


# Statistics


def test_lines_and_spreads_are_found_exactly() -> None:
    assert figures.spread([5, 1, 2, 3, 4]) == figures.Spread(3, 2, 4)
    assert figures.spread([7]) == figures.Spread(7, 7, 7)
    line = figures.fit([0, 1, 5], [2, 5, 17])
    assert (line.at_zero, line.slope, line.r_squared) == pytest.approx((2, 3, 1))
    # Of y = 0, 1, 0 over x = 0, 1, 2 the best line is flat at 1/3: it explains nothing.
    line = figures.fit([0, 1, 2], [0, 1, 0])
    assert (line.at_zero, line.slope, line.r_squared) == pytest.approx((1 / 3, 0, 0))


def test_the_cost_of_a_series_is_a_line_over_its_packets() -> None:
    line = growth.cost_line(series())
    assert (line.at_zero, line.slope, line.r_squared) == pytest.approx((0.2, 2e-6, 1))
    # over how many samples there are, in 5 s of samples each 1, 10 and 100 ms
    points = tuple(Point(x=x, taken=(cost(),)) for x in (1.0, 10.0, 100.0))
    samples = Series(name="samples", what="", unit="ms", work="samples", points=points)
    assert growth.work(samples) == pytest.approx([5000, 500, 50])
    # only series over packets make the line over packets
    odd = series("connections", per_packet_s=1.0).model_copy(update={"work": "connections"})
    assert growth.all_by_packets([series(), odd]) == growth.all_by_packets([series()])


def test_a_line_ends_where_a_value_is_a_tenth_off_those_below() -> None:
    def ends(*costs: float) -> float | None:
        points = [
            Point(x=10.0 * x, taken=(cost(1000 * x, cpu_s),)) for x, cpu_s in enumerate(costs, 1)
        ]
        return growth.line_end(Series(name="rate", what="", unit="", work="packets", points=points))

    assert ends(1, 2, 3, 4) is None
    # through 1 and 2 the third is 3, which is a tenth less than 3.33
    assert ends(1, 2, 3.33) is None
    assert ends(1, 2, 3.34) == 30
    assert ends(1, 2, 3, 8, 9) == 40
    # of samples, more work is a shorter time
    points = tuple(Point(x=x, taken=(cost(cpu_s=s),)) for x, s in ((1.0, 9), (10.0, 2), (100.0, 1)))
    samples = Series(name="samples", what="", unit="ms", work="samples", points=points)
    assert growth.line_end(samples) == 1


def test_a_value_that_takes_minutes_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []
    wanted = growth.Growth("rate", "", "", (1, 2, 3), lambda value: value, once=2)  # type: ignore[arg-type,return-value]

    class Runs:
        def run(self, value: float) -> Cost:
            made.append(value)
            return cost()

    monkeypatch.setattr(growth, "scenario_of", lambda value: value)
    (found,) = growth.measure(Runs(), [wanted], rounds=3, say=str)  # type: ignore[arg-type]
    assert made == [1, 2, 3, 1, 2, 1, 2]
    assert [len(point.taken) for point in found.points] == [3, 3, 1]


def test_ratios_are_of_the_same_round() -> None:
    # 3 times the CPU time for as many packets, in each of three rounds that differ
    lab, ns3, _ = measured().contenders
    assert performance_page.ratios(ns3, lab) == pytest.approx([3, 3, 3])
    # one that is taken once, since it takes as long each time, is compared with the first
    once = ns3.model_copy(update={"taken": ns3.taken[:1]})
    assert performance_page.ratios(once, lab) == pytest.approx([3])


# What is asked for


@pytest.mark.parametrize("quick", [False, True], ids=["all", "quick"])
def test_every_point_of_every_series_is_a_scenario(quick: bool) -> None:
    scenarios = {}
    for each in growth.growths(quick):
        assert len(set(each.values)) > 1, f"{each.name}: no line through one point"
        for value in sorted(each.values):
            scenarios[each.name] = scenario_of(each.flags(value))
            assert sending_s(scenarios[each.name])[0] > 0
    # they go as far as the lab
    assert quick or len(scenarios["paths"].paths) == 8
    assert quick or scenarios["rate"].paths[0].up.rate_bps == 10_000_000_000
    assert quick or len(scenarios["connections"].pairs()) == 100
    many = scenarios["connections of two hosts"].workload
    assert isinstance(many, Bulk)
    assert quick or many.connections == 1000
    assert quick or sending_s(scenarios["duration"])[0] == 3600


def test_tcp_has_the_paths_of_the_bench() -> None:
    mptcp, tcp = scenario_of(bench.BENCH), scenario_of(others.TCP, duration="20s")
    assert tcp.paths == mptcp.paths
    assert [connection.transport for connection in tcp.connections] == ["tcp", "tcp"]
    assert sending_s(tcp) == sending_s(mptcp)


def test_a_queue_of_ns3_has_no_room_for_what_is_on_its_way() -> None:
    # 100 Mbit/s x 10 ms are 82.6 frames of 1514 bytes, and so are 50 Mbit/s x 20 ms.
    assert simulated.links(scenario_of(bench.BENCH)) == [
        {"rate_bps": 100_000_000, "delay_ns": 10_000_000, "queue_packets": 300 - 82},
        {"rate_bps": 50_000_000, "delay_ns": 20_000_000, "queue_packets": 300 - 82},
    ]


def test_the_testbed_on_the_host_is_that_of_the_plan_without_the_whole_machine() -> None:
    commands = native.testbed(scenario_of(bench.BENCH), shaped=True, mptcp=True)
    assert "ip netns add client" in commands
    netem = "netem limit 300 rate 100mbit delay 10ms"
    assert f"tc -n router1 qdisc add dev rs1 root {netem}" in commands
    # every other one names the namespace that it is for, or makes one, or a link between two
    for command in commands:
        assert command.startswith(("ip netns ", "ip -n ", "tc -n ", "ip link add ")), command
    assert not any("tcp_congestion_control" in command for command in commands)
    assert not any("traffic" in command for command in commands)
    # without limits there is no tc
    bare = native.testbed(scenario_of(bench.BENCH), shaped=False, mptcp=True)
    assert bare == [command for command in commands if not command.startswith("tc ")] != commands


def test_a_host_without_mptcp_is_not_asked_for_it() -> None:
    commands = native.testbed(scenario_of(bench.BENCH), shaped=True, mptcp=False)
    assert not any("mptcp" in command for command in commands)
    # what else the same command sets is still set
    settings = "net.ipv4.tcp_timestamps=2 'net.ipv4.tcp_rmem=4096 131072 6291456'"
    assert any(f"netns exec client sysctl -qw {settings}" in command for command in commands)
    flows = native.request(scenario_of(bench.BENCH), shaped=True, mptcp=False)["flows"]
    assert [(each["source"], each["mptcp"]) for each in flows] == [
        ("10.0.1.1", False),
        ("10.0.2.1", False),
    ]


# Refusals


def answers(monkeypatch: pytest.MonkeyPatch, failing: str, said: str) -> list[Sequence[str]]:
    """Commands that have this word fail, and say this; gives those that were asked for."""
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        fails = failing in command
        return subprocess.CompletedProcess(command, int(fails), "", said if fails else "")

    monkeypatch.setattr(native, "_run", run)
    return asked


def test_what_the_host_lacks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "unshare", "unshare: unshare failed: Operation not permitted\n")
    for shaped in (True, False):
        assert native.why_not(shaped=shaped) == (
            "no network namespaces of one's own: unshare: unshare failed: Operation not permitted"
        )
    # without user namespaces root does without
    asked = answers(monkeypatch, "--user", "no user namespaces")
    assert native.why_not(shaped=False) == ""
    assert ["--user" in command for command in asked] == [True, False]
    # without netem only what needs it is missing
    answers(monkeypatch, "netem", "Error: Specified qdisc kind is unknown.\n")
    assert native.why_not(shaped=True) == (
        "the host's kernel has no netem: Error: Specified qdisc kind is unknown."
    )
    assert native.why_not(shaped=False) == ""
    monkeypatch.setattr(doctor, "find_tool", lambda name: None if name == "tc" else name)
    assert native.why_not(shaped=False) == "this machine lacks tc"


# The page


def test_lines_have_a_row_each_and_one_for_all() -> None:
    # 0.2 s and 2 us for each packet; 0.1 s and 50 ms for each connection
    points = tuple(Point(x=x, taken=(cost(1000, 0.1 + 0.05 * x),)) for x in (1.0, 2.0, 64.0))
    many = series("connections").model_copy(update={"work": "connections", "points": points})
    table = performance_page.tables(measured(series=(series(), many)))["make bench: lines"]
    assert "| rate | 0.200 | 2 us | packet | 1.0000 |" in table
    assert "| connections | 0.100 | 50 ms | connection | 1.0000 |" in table
    assert "| all by packets | 0.200 | 2 us | packet | 1.0000 |" in table


def test_a_contender_that_was_not_measured_says_why() -> None:
    table = performance_page.tables(measured())["make bench: others"]
    assert "| host | real. Not measured: no netem |" in table
    # 3 x in each round; 20 s in 3, 6 and 6 s of CPU time
    assert "3.00 (3.00 to 3.00) | 3.33 (3.33 to 5.00) |" in table


def test_a_busy_machine_and_a_try_are_reported() -> None:
    quiet = performance_page.tables(measured())["make bench: machine"]
    assert quiet == "A processor, 2 CPUs, Linux 6.1; load average before: 0.10.\n"
    busy = Machine(processor="A processor", cpus=2, kernel="6.1", load=3.0)
    message = performance_page.tables(measured(machine=busy, quick=True))["make bench: machine"]
    assert "times are too long" in message
    assert "these are no figures" in message


def test_every_mark_of_the_page_is_filled(tmp_path: Path) -> None:
    assert performance_page.charts(measured()) == performance_page.charts(measured())
    (tmp_path / "images").mkdir()
    copy = tmp_path / "performance.md"
    copy.write_text((ROOT / "docs" / "performance.md").read_text())
    written = performance_page.write(measured(), copy)
    text = copy.read_text()
    for name, table in performance_page.tables(measured()).items():
        assert f"<!-- begin: {name} -->\n{table}<!-- end: {name} -->" in text
    for file in written:
        if file.suffix == ".svg":
            ElementTree.fromstring(file.read_text())
            assert f"(images/{file.name})" in text, "the page shows it"
    assert benches.read(tmp_path / performance_page.DATA) == measured()


def test_a_page_without_a_mark_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("<!-- begin: a -->\nold\n<!-- end: a -->\n")
    with pytest.raises(MptcplabError, match="<!-- begin: b --> and <!-- end: b --> are expected"):
        marked.replace(file, {"a": "new\n", "b": "new\n"})
    assert "old" in file.read_text()
    marked.replace(file, {"a": "new\n"})
    assert file.read_text() == "<!-- begin: a -->\nnew\n<!-- end: a -->\n"


@pytest.mark.parametrize(
    "page_text",
    [
        "<!-- end: a --> <!-- begin: a -->",
        "<!-- begin: a -->",
        "<!-- begin: a --><!-- begin: a --><!-- end: a -->",
    ],
)
def test_marks_that_are_no_pair_are_refused(tmp_path: Path, page_text: str) -> None:
    file = tmp_path / "page.md"
    file.write_text(page_text)
    with pytest.raises(MptcplabError, match="once each, in this order"):
        marked.replace(file, {"a": "new"})
    assert file.read_text() == page_text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "Invalid JSON"),
        ('{"quick": false}', "machine: Field required"),
    ],
)
def test_data_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.json"
    if content is not None:
        file.write_text(content)
    assert benches.main(["--data", str(file)]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert (said.out, "Traceback" in said.err) == ("", False)


def test_former_measurements_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "old.json"
    file.write_text(measured().model_dump_json())
    assert benches.main(["--data", str(file)]) == 0
    assert performance_page.tables(measured())["make bench: growth"] in capsys.readouterr().out
