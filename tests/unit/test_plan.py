# SPDX-License-Identifier: GPL-2.0-only
"""Golden plans under plans/: a person can read there what a scenario does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab.plan import plan
from mptcplab.scenario import workload
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.scheduler import Parameter, Scheduler

PLANS = Path(__file__).parent / "plans"
KNOWN = {
    name: Scheduler(name, "", parameters, units=name == "units")
    for name, parameters in {
        "default": (),
        "roundrobin": (
            Parameter("num_segments", "uint", 1, 255, 1, "segments", ""),
            Parameter("cwnd_limited", "bool", 0, 1, 1, "", ""),
        ),
        "units": (),
    }.items()
}

# No test may fail because the machine is busy, and a failure must come again.
PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

WIFI = "wifi:50mbit,10ms"
LTE = "lte:20mbit,40ms,queue=200,loss=0.1%"

SCENARIOS = {
    "one-path": Flags(path=[WIFI], cc="bbr", size="64KiB"),
    "two-paths": Flags(path=[WIFI, LTE], scheduler="roundrobin", seed="7"),
    "eight-paths": Flags(path=[f"p{i}:{i}mbit,{i}ms" for i in range(1, 9)]),
    "tcp": Flags(path=[LTE], transport="tcp"),
    "fixed-buffers": Flags(path=[WIFI, LTE], send_buffer="256KiB", receive_buffer="177KB"),
    "events": Flags(
        path=[WIFI, LTE, "dsl:16mbit,30ms,jitter=1ms"],
        event=["12s:wifi:close", "3s:lte:down", "4.5s:lte:up", "6s:dsl:close"],
    ),
    "own-scheduler": Flags(
        path=[WIFI], scheduler=f"{PLANS / 'mine.c'}:hold=on", pcap=True, decisions=True
    ),
    "parameters": Flags(
        path=[WIFI, LTE], scheduler="roundrobin:num_segments=10:cwnd_limited=on", decisions=True
    ),
    "download": Flags(path=[WIFI], workload="bulk:direction=down,duration=5s"),
    "units": Flags(
        path=[WIFI], scheduler="units", workload="frames:duration=200ms,gop=IPB,direction=both"
    ),
    "video": Flags(
        path=[WIFI], workload="video:duration=8s,segment=2s,bitrates=1mbit/2mbit/4mbit,buffer=10s"
    ),
    "fresh-transfers": Flags(
        path=[WIFI], workload="transfers:size=100KB,count=2,direction=both,fresh=true"
    ),
    "asymmetric": Flags(
        path=["dsl:16mbit,12.5ms,jitter=1ms,up.rate=1.5mbit,up.queue=30,down.loss=1%"],
        sample_interval="1ms",
    ),
    "cross": Flags(
        path=[f"{WIFI},cross=1mbit", LTE],
        event=["1s:lte:change,up.cross=40mbit,lasts=1s", "3s:wifi:change,down.cross=0,rate=x0.5"],
    ),
    "ipv6": Flags(
        path=[f"{WIFI},ip=6", f"{LTE},ip=both,link=shared,up.cross=1mbit"],
        link=["shared:10mbit,10ms"],
        event=["1s:wifi:unplug,lasts=1s", "2s:wifi:close", "3s:lte:backup"],
    ),
    "client-paths": Flags(
        path=[WIFI, f"{LTE},ip=both"],
        endpoints="fullmesh",
        blackhole_timeout="60s",
        event=[
            *("before:wifi:down,lasts=1s", "2s:lte:renumber,every=2s", "3s:wifi:remove,lasts=1s"),
            *("5s:lte:lose,lasts=500ms", "7s:lte:backup"),
        ],
        duration="8s",
    ),
    "middleboxes": Flags(
        path=[f"{WIFI},down.middlebox=strip", f"{LTE},nat_timeout=300s"],
        event=[
            *("2s:lte:rebind", "3s:lte:reboot,lasts=1s", "5s:wifi:change,middlebox=drop,lasts=1s"),
        ],
        duration="8s",
    ),
    "connections": Flags(
        path=["a:link=shared,delay=5ms", "b:20mbit,8ms,link=access/shared", "t:link=shared"],
        link=["shared:10mbit,10ms,queue=100,queue_discipline=droptail", "access:30mbit,1ms"],
        connection=[
            "multipath:paths=a/b,scheduler=roundrobin,workload.direction=both",
            "tcp:paths=t,transport=tcp,cc=reno,count=2,start=5s,end=15s",
        ],
        event=["2s:link=shared:change,rate=x0.5,lasts=1s", "3s:b:close"],
        pcap=True,
        decisions=True,
    ),
    "queues": Flags(
        path=[
            "wifi:50mbit,10ms,queue_discipline=fq_codel,up.bottleneck=host,reorder=1%,reorder_by=2ms",
            "lte:20mbit,40ms,queue=300KB,up.drop=5+17+100-120,loss=1%,loss_burst=10,loss_bad=50%",
        ],
        event=["3s:wifi:change,rate=x0.1,lasts=1s", "5s:lte:down,lasts=1s"],
    ),
}


def scenario(name: str) -> Scenario:
    return from_flags(SCENARIOS[name], known=KNOWN).base


def rendered(*paths: str, **flags: Any) -> str:
    """The plan of these flags."""
    return plan.render(from_flags(Flags(path=paths, **flags), known=KNOWN).base)


def events_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("at ")]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_plan_is_the_golden_one(name: str) -> None:
    assert plan.render(scenario(name)) == (PLANS / f"{name}.txt").read_text()


def test_what_is_measured_instead_of_traffic_follows_the_same_testbed() -> None:
    two = scenario("two-paths")
    testbed, _, _ = plan.render(two).partition("# traffic: ")
    assert plan.render_measurements(two, ["meter up", "meter down"]) == (
        f"{testbed}# measurements\nmeter up\nmeter down\n"
    )
    # the files of captures are those of the plan in its order
    several = scenario("connections")
    named = re.findall(r" capture (\S+)", plan.render(several))
    assert plan.capture_files(several) == named
    assert named[:4] == ["client.pcapng", "server.pcapng", "client2.pcapng", "server2.pcapng"]
    assert named[0] == plan.CLIENT_CAPTURE


def test_further_commands_and_events_stand_where_they_are_carried_out() -> None:
    (scenario,) = from_flags(
        Flags(path=[WIFI, LTE], event=["1s:lte:down", "2s:lte:up"], duration="3s")
    ).runs()
    more = "ip -n client link set c1 mtu 576"
    text = plan.render(
        scenario,
        commands=[more],
        events=[
            (2 * 10**9, "ip -n client link set c1 up"),
            (10**8, "ip -n client link set c1 down"),
        ],
    )
    lines = text.splitlines()
    # after the testbed, and before what needs it
    at = lines.index(more)
    assert lines[at - 1 : at + 2] == ["# further commands", more, ""]
    assert lines[at - 3].startswith("ip netns exec server ethtool ")
    assert lines[at + 2].startswith("# traffic: ")
    events = [line.split()[1:] for line in lines if line.startswith("at ")]
    assert [event[0] for event in events] == ["100ms", "1s", "1s", "2s", "2s", "2s"]
    assert events[0][1:] == ["ip", "-n", "client", "link", "set", "c1", "down"]
    # what the scenario has comes first
    assert events[-1][1:] == ["ip", "-n", "client", "link", "set", "c1", "up"]
    assert plan.render(scenario) == plan.render(scenario, commands=(), events=())


def test_a_baseline_has_the_events_of_its_path_alone() -> None:
    base = scenario("events")
    alone = base.single_path("lte")
    assert [(event.path, event.action) for event in alone.events] == [
        ("lte", "down"),
        ("lte", "up"),
    ]
    assert "at 3s tc -n router1 qdisc change dev rs1 " in plan.render(alone)
    assert base.lasting_paths() == ["lte"]
    with pytest.raises(ValueError, match="path 'wifi' does not last until the end"):
        base.single_path("wifi")
    # the baseline of a path is the plan of plain tcp over it
    alone = from_flags(Flags(path=[LTE], transport="tcp"), known=KNOWN).base
    assert plan.render(scenario("two-paths").with_(seed=1).single_path("lte")) == plan.render(alone)


@PROPERTY
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_the_same_scenario_gives_the_same_text(paths: int, seed: int) -> None:
    flags = Flags(path=[f"p{i}:{i}mbit,{i}ms" for i in range(1, paths + 1)], seed=str(seed))
    base = from_flags(flags, known=KNOWN).base
    again = Scenario.model_validate_json(base.key_text())
    assert again == base
    assert plan.render(again) == plan.render(base)


def test_tc_has_the_numbers_that_it_takes() -> None:
    for keys, options in (
        # without a unit, tc refuses it
        ("0ms", " rate 10mbit delay 0ms"),
        # tc knows no ns, computes in floating point, and cuts off what is less than a whole ns:
        # 15000024.5 and 999.5
        ("15000024ns,jitter=999ns", " delay 15000.0245us 0.9995us"),
        # rows of 5: r = 1/5; p = 2 % x r / (1 - 2 %) = 0.4081633 %, so that p / (p + r) = 2 %
        ("1ms,loss=2%,loss_burst=5", " loss gemodel 0.4081633% 20.0000000%\n"),
    ):
        text = rendered(f"only:10mbit,{keys}", transport="tcp", seed_delay="0us")
        assert text.count(options) == 2


A, B = "a:10mbit,5ms", "b:10mbit,5ms"
CHANGED = "at 1s tc -n router1 qdisc change dev {} root netem limit 20 rate {} delay 5ms"


@pytest.mark.parametrize(
    ("paths", "event", "expected"),
    [
        # whatever the model of losses is, an outage loses all
        (
            (f"{A},loss=2%,loss_burst=5", B),
            ["1s:a:down"],
            [f"{CHANGED.format(device, '10mbit')} loss 100%" for device in ("rs1", "rc1")],
        ),
        # a change of one direction leaves the other alone
        ((A,), ["1s:a:change,up.rate=5mbit"], [CHANGED.format("rs1", "5mbit")]),
        ((A,), ["1s:a:change,down.rate=5mbit"], [CHANGED.format("rc1", "5mbit")]),
        # the cable of the client is pulled out at the router
        (
            (A, "b:link=l"),
            ["1s:b:unplug,lasts=1s"],
            [
                "at 1s ip -n router2 link set rc2 down",
                "at 2s ip -n router2 link set rc2 up",
                "at 2s ip -n router2 neigh add 10.0.2.1 lladdr 02:00:0a:00:02:01 dev rc2",
            ],
        ),
        # an address returns as one that is announced, also the first
        (
            (A, B),
            ["1s:a:close,lasts=1s,every=3s", "3s:b:close,lasts=500ms"],
            [
                "at 1s ip -n server mptcp endpoint delete id 0 10.1.1.1",
                "at 2s ip -n server mptcp endpoint add 10.1.1.1 id 1 dev s1 signal",
                "at 3s ip -n server mptcp endpoint delete id 2",
                "at 3500ms ip -n server mptcp endpoint add 10.1.2.1 id 2 dev s2 signal",
                "at 4s ip -n server mptcp endpoint delete id 1",
                "at 5s ip -n server mptcp endpoint add 10.1.1.1 id 1 dev s1 signal",
            ],
        ),
        (
            (A, B),
            ["1s:b:close,lasts=1s"],
            [
                "at 1s ip -n server mptcp endpoint delete id 2",
                "at 2s ip -n server mptcp endpoint add 10.1.2.1 id 2 dev s2 signal",
            ],
        ),
    ],
)
def test_events_are_commands(paths: tuple[str, ...], event: list[str], expected: list[str]) -> None:
    links = ["l:10mbit,5ms"] if "b:link=l" in paths else []
    text = rendered(*paths, link=links, event=event, duration="5s", seed_delay="0us")
    assert events_of(text) == expected
    # the first address is a further one when it returns
    further = len(paths) - 1 + ("s:a:close" in event[0])
    limits = f"mptcp limits set subflow {further} add_addr_accepted {further}\n"
    for host in ("client", "server"):
        assert (f"\nip -n {host} {limits}" in text) == (further > 0)


def test_a_path_becomes_a_backup_and_regular_again_by_its_endpoint() -> None:
    events = ["1s:lte:backup,lasts=2s", "5s:wifi:backup", "6s:wifi:regular"]
    # an endpoint without flags makes no subflow; only paths that change have one
    for event, count in ((events, 2), (events[:1], 1)):
        text = rendered(WIFI, LTE, event=event)
        assert "ip -n client mptcp endpoint add 10.0.2.1 dev c2\n" in text
        assert text.count("ip -n client mptcp endpoint add") == count
        changes = re.findall(r"^at (\S+) ip -n client mptcp endpoint change (.*)$", text, re.M)
        expected = ["10.0.2.1 backup", "10.0.2.1 nobackup", "10.0.1.1 backup", "10.0.1.1 nobackup"]
        assert changes == list(zip(("1s", "3s", "5s", "6s"), expected, strict=True))[: 2 * count]


def test_cross_traffic_is_between_the_hosts_of_its_connection() -> None:
    paths = ("a:10mbit,5ms", "b:10mbit,5ms,up.cross=1mbit,down.cross=2mbit")
    text = rendered(*paths, connection=["one:paths=a", "two:paths=b"])
    assert re.findall(r"^at 0ns (ip netns exec .* cross .*)$", text, re.MULTILINE) == [
        "ip netns exec client2 cross server2 10.1.2.1 1000000",
        "ip netns exec server2 cross client2 10.0.2.1 2000000",
    ]
    # a queue of red stays when its rate changes
    red = "a:10mbit,5ms,queue=200,queue_discipline=red"
    text = rendered(red, event=["1s:a:change,rate=5mbit"])
    assert re.search(r"^at 1s tc .*\b(tbf|netem) ", text, re.MULTILINE)
    assert not re.search(r"^at 1s .*\bred\b", text, re.MULTILINE)
    assert re.search(r"^tc .*\bred\b", text, re.MULTILINE)


def test_a_path_that_leaves_all_to_its_link_has_no_disciplines() -> None:
    for keys, is_shaped in (
        ("", False),
        (",delay=1ms", True),
        (",loss=1%", True),
        (",rate=10mbit,delay=0ms", True),
        # what the router and the hosts do by themselves
        (",drop=3", False),
        (",drop_acks=3", False),
        (",cross=1mbit", False),
    ):
        text = rendered(f"a:link=l{keys}", link=["l:10mbit,5ms"], seed_delay="0us")
        assert ("\ntc -n router1 " in text) == is_shaped


def test_a_path_that_will_change_has_disciplines_from_the_start() -> None:
    event, links = ["1s:b:down,lasts=1s"], ["l:10mbit,5ms"]
    text = rendered("a:link=l", "b:link=l", link=links, event=event, seed_delay="0us")
    assert re.findall(r"^tc -n router\d qdisc add dev (\w+)", text, re.MULTILINE) == ["rs2", "rc2"]
    # the second path of a connection is closed by its id
    paths = (f"{name}:10mbit,5ms" for name in "abc")
    text = rendered(*paths, connection=["one:paths=a", "two:paths=b/c"], event=["3s:c:close"])
    assert "ip -n server2 mptcp endpoint add 10.1.3.1 id 2 dev s3 signal\n" in text
    assert "at 3s ip -n server2 mptcp endpoint delete id 2\n" in text
    # schedulers from files are loaded that a connection uses
    connection = [f"x:paths=a,scheduler={PLANS / 'mine.c'}", "y:paths=b"]
    text = rendered("a:1mbit,1ms", "b:1mbit,1ms", connection=connection, scheduler="roundrobin")
    assert re.findall("^insmod .*$", text, re.MULTILINE) == ["insmod mine.ko"]


def test_hosts_of_the_second_connection_have_its_queues_its_captures_and_its_events() -> None:
    flags = Flags(
        path=["a:10mbit,5ms", "b:10mbit,5ms,bottleneck=host", "c:10mbit,5ms"],
        connection=["one:paths=a", "two:paths=b/c"],
        event=["1s:c:backup", "2s:c:regular", "3s:b:close"],
        pcap=True,
        seed_delay="0us",
    )
    scenario = from_flags(flags).base
    text = plan.render(scenario)
    lines = text.splitlines()
    queues = [line.split()[:7] for line in lines if line.startswith("tc -n ")]
    assert [" ".join(words[2:3] + words[6:]) for words in queues] == [
        *("router1 rs1", "router1 rc1"),
        # the hosts' queues, and the delay behind them
        *("client2 c2", "router2 rs2", "server2 s2", "router2 rc2"),
        *("router3 rs3", "router3 rc3"),
    ]
    assert "ip -n client2 link set c2 gso_max_segs 1" in lines
    assert "ip -n server2 link set s2 gso_max_segs 1" in lines
    assert lines.count("ip -n client2 mptcp endpoint add 10.0.3.1 dev c3") == 1
    assert events_of(text) == [
        "at 1s ip -n client2 mptcp endpoint change 10.0.3.1 backup",
        "at 2s ip -n client2 mptcp endpoint change 10.0.3.1 nobackup",
        # the first of its paths, whose address was not announced
        "at 3s ip -n server2 mptcp endpoint delete id 0 10.1.2.1",
    ]
    assert plan.captured(scenario) == {
        **{f"{end}{n}": f"{end}{n}.pcapng" for n in ("", 2) for end in ("client", "server")},
        **{f"router{n}": f"router-{path}.pcapng" for n, path in enumerate("abc", 1)},
    }


def traffic(*paths: str, **flags: Any) -> list[str]:
    """The commands of the server and the client of each connection."""
    return [line for line in rendered(*paths, **flags).splitlines() if " traffic " in line]


@pytest.mark.parametrize(
    ("direction", "who"), [("up", ["client"]), ("down", ["server"]), ("both", ["server", "client"])]
)
def test_who_sends_keeps_what_its_scheduler_decides(direction: str, who: list[str]) -> None:
    # what the guest's program calls the log of decisions is its own affair
    for kept, option, other in (("decisions", "trace", "states"), ("states", "states", "trace")):
        lines = traffic(WIFI, scheduler="roundrobin", direction=direction, **{kept: True})
        assert [line.split()[5] for line in lines if f" --{option} 1" in line] == who
        assert not any(f"--{other}" in line for line in lines)


def test_a_connection_without_decisions_keeps_none() -> None:
    lines = traffic(
        *("a:1mbit,1ms", "b:1mbit,1ms", "c:1mbit,1ms"),
        connection=["x:paths=a", "y:paths=b,transport=tcp", "z:paths=c"],
        scheduler="roundrobin",
        decisions=True,
    )
    assert [line.split()[3] for line in lines if "--trace" in line] == ["client", "client3"]
    # both files of a server are asked for
    server, _ = traffic(WIFI, scheduler="roundrobin", direction="down", decisions=True, states=True)
    assert server.endswith(" --trace 1 --states 1")


def test_who_opens_a_connection_waits_for_subflows_as_asked() -> None:
    def start(**flags: Any) -> list[str]:
        _, client = traffic(WIFI, **flags)
        return client.split(" --paths 1")[1].split()

    assert start() == ["--at-once", "1"]
    assert start(start="established") == []
    assert start(workload="transfers:size=100KB,count=2,fresh=true") == ["--fresh", "1"]
    # a connection that starts later is opened then
    *_, one, _, other = traffic(WIFI, LTE, connection=["a:paths=wifi", "b:paths=lte,start=1s"])
    assert one.split(" --paths 1")[1] == " --at-once 1"
    assert other.split(" --paths 1")[1] == " --first-path 2 --fresh 1"


def test_the_numbers_of_messages_and_connections_go_on_over_all_pairs() -> None:
    """20 frames per second; P needs the I before it. A page takes 2 connections."""
    frames = "workload.kind=frames,workload.duration=100ms,workload.gop=IP,workload.fps=20"
    web = "workload.kind=web,workload.connections=2"
    paths = [f"{name}:10mbit,5ms" for name in "abcd"]
    connection = [f"w:paths=a,{web}", f"x:paths=b,{frames}", f"y:paths=c,{web},start=1s"]
    connection.append(f"z:paths=d,{frames},start=2s")
    base = from_flags(Flags(path=paths, connection=connection), known=KNOWN).base
    found = plan.messages_of(base)
    w, x, y, z = found
    numbers = [sorted({message.connection for message in part}) for part in found]
    assert numbers == [[1, 2], [3], [4, 5], [6]]
    assert [message.needs for message in x] == [None, len(w) + 1]
    assert [message.needs for message in z] == [None, len(w) + 2 + len(y) + 1]
    assert [message.at_ns for message in x] == [0, 50_000_000]
    assert [message.at_ns for message in z] == [2 * 10**9, 2 * 10**9 + 50_000_000]
    # what follows another message has no time of its own
    alone = plan.messages_of(base.alone(base.pairs()[0]))
    assert alone == [w]
    assert [each.after and each.after + len(w) + 2 for each in w] == [each.after for each in y]
    later = [0 if each.after else 10**9 for each in w]
    assert [each.at_ns for each in y] == [
        each.at_ns + more for each, more in zip(w, later, strict=True)
    ]
    # the guest is told how many connections each pair has
    lines = traffic(*paths, connection=connection)
    told = [line.split("--connections ")[1].split()[0] for line in lines]
    assert told == ["2", "2", "1", "1", "2", "2", "1", "1"]
    # and a scheduler that does not ask for units is told of none
    assert " unit " not in plan.render(base)
    # messages without a deadline are no units
    load = "transfers:size=100KB,count=2"
    assert " unit " not in rendered(WIFI, scheduler="units", workload=load)


def test_random_messages_are_those_of_the_seed() -> None:
    load = "requests:random=true,interval=10ms,duration=1s"
    found = []
    for seed in (7, 8):
        base = from_flags(Flags(path=[WIFI], workload=load, seed=str(seed))).base
        assert plan.messages_of(base) == [list(workload.messages(base.workload, seed))]
        found.append(plan.render(base).partition("# messages: ")[2])
    assert found[0] != found[1]
