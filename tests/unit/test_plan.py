# SPDX-License-Identifier: GPL-2.0-only
"""Golden plans under plans/: a person can read there what a scenario does."""

from __future__ import annotations

import itertools
import re
import shlex
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
        path=[WIFI],
        workload="video:duration=8s,segment=2s,bitrates=1mbit/2mbit/4mbit,buffer=10s",
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


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_plan_is_the_golden_one(name: str) -> None:
    assert plan.render(scenario(name)) == (PLANS / f"{name}.txt").read_text()


FORMS = re.compile(
    r"ip (netns|link) add \S.*"
    r"|ip -n \w+ \S.*"
    r"|tc -n (router\d|client|server|near\d|far\d) \S.*"
    r"|ip netns exec router\d drop r[cs]\d (data|acks) [\d,-]+"
    r"|(ip netns exec \w+ )?sysctl -qw \S+=.+"
    r"|ip netns exec \w+ ethtool -K \w+ tso off gso off gro off"
    r"|insmod \w+\.ko"
    r"|ip netns exec ((client|server)\d?|router\d|near\d|far\d) capture [\w-]+\.pcapng"
)
TRAFFIC = (
    r"ip netns exec server\d? traffic server( --[a-z-]+ [\w.]+)+",
    r"ip netns exec client\d? traffic client( --[a-z-]+ [\w.:]+)+",
)
_TIME = r"\d+(ns|us|ms|s)"
MESSAGES = re.compile(
    rf"message \d+ (up|down) (\*|\d+(\|\d+)*) (at {_TIME}|after \d+ {_TIME})"
    rf"( unit needs \d+ importance \d+ deadline {_TIME} expires {_TIME})?"
)
EVENTS = re.compile(
    rf"at {_TIME} ((ip -n (client|router\d|server\d?)"
    r"|tc -n (router\d|client|server|near\d|far\d)) \S.*"
    r"|ip netns exec (client cross server|server cross client) (10\.[01]\.\d\.1|fd00::a0[01]:\d01)"
    r" \d+)"
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_only_the_forms_that_the_guest_accepts_occur(name: str) -> None:
    lines = commands(plan.render(scenario(name)))
    events = len([line for line in lines if EVENTS.fullmatch(line)])
    lines, last = lines[: len(lines) - events], lines[len(lines) - events :]
    messages = len([line for line in lines if MESSAGES.fullmatch(line)])
    lines, played = lines[: len(lines) - messages], lines[len(lines) - messages :]
    pairs = len(scenario(name).pairs())
    lines, ends = lines[: -2 * pairs], lines[-2 * pairs :]
    assert [line for line in lines if not FORMS.fullmatch(line)] == []
    assert all(map(re.fullmatch, pairs * TRAFFIC, ends))
    assert played
    assert [line for line in played if not MESSAGES.fullmatch(line)] == []
    assert [line for line in last if not EVENTS.fullmatch(line)] == []


def test_what_is_measured_instead_of_traffic_follows_the_same_testbed() -> None:
    two = scenario("two-paths")
    testbed, _, _ = plan.render(two).partition("# traffic: ")
    assert plan.render_measurements(two, ["meter up", "meter down"]) == (
        f"{testbed}# measurements\nmeter up\nmeter down\n"
    )


def test_the_files_of_captures_are_those_of_the_plan_in_its_order() -> None:
    several = scenario("connections")
    named = re.findall(r" capture (\S+)", plan.render(several))
    assert plan.capture_files(several) == named
    assert named[:4] == ["client.pcapng", "server.pcapng", "client2.pcapng", "server2.pcapng"]
    assert named[0] == plan.CLIENT_CAPTURE


def test_a_module_is_there_before_its_settings_are() -> None:
    lines = commands(plan.render(scenario("own-scheduler")))
    setting = next(i for i, line in enumerate(lines) if "net.mptcp.mine.hold=1" in line)
    assert lines.index("insmod mine.ko") < setting


def test_only_parameters_that_are_not_as_by_default_are_set_at_both_ends() -> None:
    text = plan.render(scenario("parameters"))
    assert text.count("net.mptcp.scheduler=roundrobin net.mptcp.roundrobin.num_segments=10 ") == 2
    assert "cwnd_limited" not in text


def test_events_are_in_the_order_of_time_and_a_path_comes_back_as_it_was() -> None:
    lines = commands(plan.render(scenario("events")))
    at = [line.split()[1] for line in lines if line.startswith("at ")]
    assert at == ["3s", "3s", "4500ms", "4500ms", "6s", "12s"]
    for device in ("rs2", "rc2"):
        (link,) = (x.split("netem")[1] for x in lines if x.startswith("tc") and f" {device} " in x)
        (back,) = (
            x.split("netem")[1]
            for x in lines
            if f"at 4500ms tc -n router2 qdisc change dev {device} " in x
        )
        assert back == link


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


def test_the_address_of_the_first_path_has_no_endpoint_and_the_id_0() -> None:
    text = plan.render(scenario("events"))
    assert "at 12s ip -n server mptcp endpoint delete id 0 10.1.1.1\n" in text
    assert "at 6s ip -n server mptcp endpoint delete id 3\n" in text


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


def test_lines_of_the_same_program_and_namespace_follow_each_other() -> None:
    lines = [
        line
        for line in commands(plan.render(scenario("eight-paths")))
        if " exec " not in line and not line.startswith(("sysctl ", "message "))
    ]
    namespaces = [re.sub(r"^(\w+)( -n \w+)?.*", r"\1\2", line) for line in lines]
    groups = [namespace for namespace, _ in itertools.groupby(namespaces)]
    # root, client, server, then `ip` and `tc` in each of the eight routers
    assert len(groups) == len(set(groups)) == 3 + 8 + 8


def test_every_further_path_has_one_endpoint_at_the_server_and_nothing_else() -> None:
    text = plan.render(scenario("eight-paths"))
    endpoints = re.findall(r"mptcp endpoint add (\S+) id (\d) dev (\S+) signal", text)
    assert endpoints == [(f"10.1.{i}.1", str(i), f"s{i}") for i in range(2, 9)]
    assert text.count("endpoint") == 7
    assert text.count("mptcp limits set subflow 7 add_addr_accepted 7") == 2


def test_plain_tcp_and_one_path_need_no_mptcp_path_manager() -> None:
    assert "mptcp" not in plan.render(scenario("tcp"))
    assert "ip -n server mptcp" not in plan.render(scenario("one-path"))


def test_the_baseline_of_a_path_is_the_plan_of_plain_tcp_over_it() -> None:
    alone = from_flags(Flags(path=[LTE], transport="tcp"), known=KNOWN).base
    assert plan.render(scenario("two-paths").with_(seed=1).single_path("lte")) == plan.render(alone)


def test_a_shell_reads_each_setting_as_one_word() -> None:
    line = next(
        x for x in commands(plan.render(scenario("fixed-buffers"))) if "exec server sy" in x
    )
    assert "net.ipv4.tcp_rmem=4096 177000 177000" in shlex.split(line)
    assert "net.ipv4.tcp_wmem=4096 262144 262144" in shlex.split(line)


def test_a_fixed_buffer_is_that_of_both_ends() -> None:
    text = plan.render(scenario("fixed-buffers"))
    assert text.count("tcp_rmem=4096 177000 177000' 'net.ipv4.tcp_wmem=4096 262144 262144'") == 2


@PROPERTY
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_the_same_scenario_gives_the_same_text(paths: int, seed: int) -> None:
    flags = Flags(path=[f"p{i}:{i}mbit,{i}ms" for i in range(1, paths + 1)], seed=str(seed))
    base = from_flags(flags, known=KNOWN).base
    again = Scenario.model_validate_json(base.key_text())
    assert again == base
    assert plan.render(again) == plan.render(base)


def test_no_delay_is_written_with_a_unit() -> None:
    """Without, tc refuses it."""
    text = rendered("only:10mbit,0ms", transport="tcp", seed_delay="0us")
    assert text.count(" rate 10mbit delay 0ms") == 2


def test_a_delay_of_odd_nanoseconds_is_one_that_tc_takes() -> None:
    """It knows no ns, computes in floating point, and cuts off what is less than a whole ns."""
    path = "only:10mbit,15000024ns,jitter=999ns"
    text = rendered(path, transport="tcp", seed_delay="0us")
    assert text.count(" delay 15000.0245us 0.9995us") == 2
    assert int(15000.0245 * 1000) == 15000024
    assert int(0.9995 * 1000) == 999


def test_losses_in_rows_are_gilbert_s() -> None:
    """Rows of 5: r = 1/5; p = 2 % x r / (1 - 2 %) = 0.4081633 %, so that p / (p + r) = 2 %."""
    text = rendered("only:10mbit,1ms,loss=2%,loss_burst=5", transport="tcp")
    assert text.count(" loss gemodel 0.4081633% 20.0000000%\n") == 2


def test_a_path_that_is_down_loses_everything_whatever_the_model() -> None:
    paths = ("a:10mbit,1ms,loss=2%,loss_burst=5", "b:1mbit,1ms")
    assert events_of(rendered(*paths, event=["1s:a:down"], seed_delay="0us")) == [
        f"at 1s tc -n router1 qdisc change dev {dev}1 root netem limit 20 rate 10mbit delay 1ms"
        " loss 100%"
        for dev in ("rs", "rc")
    ]


def test_a_path_becomes_a_backup_and_regular_again_by_its_endpoint() -> None:
    events = ["1s:lte:backup,lasts=2s", "5s:wifi:backup", "6s:wifi:regular"]
    text = rendered(WIFI, LTE, event=events)
    # an endpoint without flags makes no subflow; only paths that change have one
    assert "ip -n client mptcp endpoint add 10.0.2.1 dev c2\n" in text
    changes = re.findall(r"^at (\S+) ip -n client mptcp endpoint change (.*)$", text, re.MULTILINE)
    assert changes == [
        ("1s", "10.0.2.1 backup"),
        ("3s", "10.0.2.1 nobackup"),
        ("5s", "10.0.1.1 backup"),
        ("6s", "10.0.1.1 nobackup"),
    ]


def test_paths_that_stay_as_they_are_have_no_endpoint_at_the_client() -> None:
    text = rendered(WIFI, LTE, event=["1s:lte:backup"])
    assert "ip -n client mptcp endpoint add 10.0.2.1 dev c2\n" in text
    assert text.count("ip -n client mptcp endpoint add") == 1


def test_cross_traffic_is_between_the_hosts_of_its_connection() -> None:
    paths = ("a:10mbit,5ms", "b:10mbit,5ms,up.cross=1mbit,down.cross=2mbit")
    text = rendered(*paths, connection=["one:paths=a", "two:paths=b"])
    assert re.findall(r"^at 0ns (ip netns exec .* cross .*)$", text, re.MULTILINE) == [
        "ip netns exec client2 cross server2 10.1.2.1 1000000",
        "ip netns exec server2 cross client2 10.0.2.1 2000000",
    ]


def test_a_queue_of_red_stays_when_its_rate_changes() -> None:
    red = "a:10mbit,5ms,queue=200,queue_discipline=red"
    text = rendered(red, event=["1s:a:change,rate=5mbit"])
    assert re.search(r"^at 1s tc .*\b(tbf|netem) ", text, re.MULTILINE)
    assert not re.search(r"^at 1s .*\bred\b", text, re.MULTILINE)
    assert re.search(r"^tc .*\bred\b", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("keys", "is_shaped"),
    [
        ("", False),
        (",delay=1ms", True),
        (",loss=1%", True),
        (",rate=10mbit,delay=0ms", True),
        # what the router and the hosts do by themselves
        (",drop=3", False),
        (",drop_acks=3", False),
        (",cross=1mbit", False),
    ],
)
def test_a_path_that_leaves_all_to_its_link_has_no_disciplines(keys: str, is_shaped: bool) -> None:
    text = rendered(f"a:link=l{keys}", link=["l:10mbit,5ms"], seed_delay="0us")
    assert ("\ntc -n router1 " in text) == is_shaped


def test_a_path_that_will_change_has_disciplines_from_the_start() -> None:
    event, links = ["1s:b:down,lasts=1s"], ["l:10mbit,5ms"]
    text = rendered("a:link=l", "b:link=l", link=links, event=event, seed_delay="0us")
    assert re.findall(r"^tc -n router\d qdisc add dev (\w+)", text, re.MULTILINE) == ["rs2", "rc2"]


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


def test_the_second_path_of_a_connection_is_closed_by_its_id() -> None:
    paths = (f"{name}:10mbit,5ms" for name in "abc")
    text = rendered(*paths, connection=["one:paths=a", "two:paths=b/c"], event=["3s:c:close"])
    assert "ip -n server2 mptcp endpoint add 10.1.3.1 id 2 dev s3 signal\n" in text
    assert "at 3s ip -n server2 mptcp endpoint delete id 2\n" in text


def test_an_address_returns_as_one_that_is_announced_also_the_first() -> None:
    event = ["1s:a:close,lasts=1s,every=3s", "3s:b:close,lasts=500ms"]
    text = rendered("a:10mbit,5ms", "b:10mbit,5ms", event=event, duration="5s")
    # the first address is a further one when it returns
    for host in ("client", "server"):
        assert f"\nip -n {host} mptcp limits set subflow 2 add_addr_accepted 2\n" in text
    assert events_of(text) == [
        "at 1s ip -n server mptcp endpoint delete id 0 10.1.1.1",
        "at 2s ip -n server mptcp endpoint add 10.1.1.1 id 1 dev s1 signal",
        "at 3s ip -n server mptcp endpoint delete id 2",
        "at 3500ms ip -n server mptcp endpoint add 10.1.2.1 id 2 dev s2 signal",
        "at 4s ip -n server mptcp endpoint delete id 1",
        "at 5s ip -n server mptcp endpoint add 10.1.1.1 id 1 dev s1 signal",
    ]


def test_the_cable_of_the_client_is_pulled_out_at_the_router() -> None:
    links, event = ["l:10mbit,5ms"], ["1s:b:unplug,lasts=1s"]
    assert events_of(rendered("a:10mbit,5ms", "b:link=l", link=links, event=event)) == [
        "at 1s ip -n router2 link set rc2 down",
        "at 2s ip -n router2 link set rc2 up",
        "at 2s ip -n router2 neigh add 10.0.2.1 lladdr 02:00:0a:00:02:01 dev rc2",
    ]


def test_a_change_of_one_direction_leaves_the_other_alone() -> None:
    for direction, device in (("up", "rs1"), ("down", "rc1")):
        event = f"1s:a:change,{direction}.rate=5mbit"
        (change,) = events_of(rendered("a:10mbit,5ms", event=[event]))
        assert change.startswith(f"at 1s tc -n router1 qdisc change dev {device} root netem ")


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


def test_both_files_of_a_server_are_asked_for() -> None:
    server, _ = traffic(WIFI, scheduler="roundrobin", direction="down", decisions=True, states=True)
    assert server.endswith(" --trace 1 --states 1")


def test_a_connection_without_decisions_keeps_none() -> None:
    lines = traffic(
        *("a:1mbit,1ms", "b:1mbit,1ms", "c:1mbit,1ms"),
        connection=["x:paths=a", "y:paths=b,transport=tcp", "z:paths=c"],
        scheduler="roundrobin",
        decisions=True,
    )
    assert [line.split()[3] for line in lines if "--trace" in line] == ["client", "client3"]


def test_who_opens_a_connection_waits_for_no_subflow_for_all_or_opens_one_for_each_transfer() -> (
    None
):
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


def test_messages_without_a_deadline_are_no_units() -> None:
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


def test_schedulers_from_files_are_loaded_that_a_connection_uses() -> None:
    connection = [f"x:paths=a,scheduler={PLANS / 'mine.c'}", "y:paths=b"]
    text = rendered("a:1mbit,1ms", "b:1mbit,1ms", connection=connection, scheduler="roundrobin")
    assert re.findall("^insmod .*$", text, re.MULTILINE) == ["insmod mine.ko"]
