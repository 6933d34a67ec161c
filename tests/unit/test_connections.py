# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios with connections and links: what they mean, what cannot be, and their plans."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mptcplab.errors import InputError
from mptcplab.metrics import connections, recorded
from mptcplab.plan import plan, timeline
from mptcplab.scenario import model
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Connection, Scenario
from mptcplab.scenario.resolve import from_flags, load_file
from mptcplab.scenario.scheduler import Choice, Scheduler

ROOT = Path(__file__).parents[2]
KNOWN = {name: Scheduler(name, "", ()) for name in ("default", "roundrobin", "redundant")}
LINK = "shared:10mbit,10ms,queue=100"
PATHS = ("a:link=shared,delay=5ms", "b:link=shared", "t:link=shared,delay=1ms")


def asked(**flags: Any) -> Scenario:
    wanted: dict[str, Any] = {"path": PATHS, "link": (LINK,), "scheduler": "roundrobin", **flags}
    return from_flags(Flags(**wanted), known=KNOWN).base


def told(**flags: Any) -> str:
    with pytest.raises(InputError) as caught:
        asked(**flags)
    return str(caught.value)


TWO = ("m:paths=a/b", "t:paths=t,transport=tcp,cc=reno,start=5s,end=15s")


def test_a_path_leaves_rate_and_queue_to_its_link() -> None:
    path = asked().paths[1]
    assert path.links == ("shared",)
    assert (path.up.rate_bps, path.up.delay_ns) == (NO_RATE_BPS, 0)
    assert timeline.rates(asked())["b"] == [(0, 10_000_000)]


def test_the_default_queue_of_a_link_is_for_its_longest_path() -> None:
    # 50 Mbit/s x (2 x 10 ms + 2 x 40 ms) / (8 x 1514 bytes) = 412.8
    found = asked(path=("a:link=l,delay=5ms", "b:link=l,delay=40ms"), link=("l:50mbit,10ms",))
    assert found.links[0].up.queue_packets == 413
    # a path's own is for its links, too: 10 Mbit/s x (2 x 5 ms + 2 x 100 ms) / 12112 bit = 173.4
    found = asked(path=("a:10mbit,5ms,link=l",), link=("l:50mbit,100ms",))
    assert found.paths[0].up.queue_packets == 174


def test_connections_take_over_what_they_do_not_say() -> None:
    found = asked(connection=TWO, cc="cubic", duration="20s")
    one, other = found.connections
    assert (one.transport, one.scheduler, one.cc) == ("mptcp", None, None)
    assert found.cc_of(one) == "cubic"
    assert (one.start_ns, one.end_ns) == (0, 20 * 10**9)
    assert (other.transport, other.cc) == ("tcp", "reno")
    assert (other.start_ns, other.end_ns) == (5 * 10**9, 15 * 10**9)
    assert other.workload.warmup_ns == 10**9  # a tenth of its own 10 s
    assert [pair.client for pair in found.pairs()] == ["client", "client2"]
    assert [[i for i, _ in pair.numbered] for pair in found.pairs()] == [[1, 2], [3]]


def test_schedulers_that_are_compared_are_those_of_connections_without_one() -> None:
    flags = Flags(
        path=PATHS,
        link=(LINK,),
        connection=("m:paths=a/b", "n:paths=t,scheduler=redundant"),
        scheduler="default,roundrobin",
    )
    runs = from_flags(flags, known=KNOWN).runs()
    names = [[choice.name for choice in run.choices()] for run in runs]
    assert names == [["default", "redundant"], ["roundrobin", "redundant"]]


def test_a_count_makes_copies_of_a_connection_and_its_paths() -> None:
    found = asked(
        connection=("t:paths=t,transport=tcp,count=3", "m:paths=a/b"),
        event=("1s:t:change,delay=2ms",),
    )
    assert [c.name for c in found.connections] == ["t-1", "t-2", "t-3", "m"]
    assert [path.name for path in found.paths] == ["t-1", "t-2", "t-3", "a", "b"]
    assert [event.path for event in found.events] == ["t-1", "t-2", "t-3"]


def test_one_connection_alone_has_its_paths_its_start_and_its_workload() -> None:
    found = asked(connection=TWO, duration="20s")
    alone = found.alone(found.pairs()[1])
    assert [path.name for path in alone.paths] == ["t"]
    assert (alone.first_path, alone.start_ns, alone.transport) == (3, 5 * 10**9, "tcp")
    assert alone.workload.duration_ns == 10**10
    # its packets wait at the link, since the path has no rate of its own
    assert recorded.queue_device(alone, 0, "up") == "n1"
    assert recorded.queue_device(alone, 0, "down") == "f1"


def test_one_connection_alone_has_what_is_its_own_or_the_scenarios() -> None:
    own = "n:paths=t,scheduler=redundant,cc=reno,start=1s"
    found = asked(
        connection=("m:paths=a/b", own), cc="cubic", event=("2s:link=shared:down,lasts=1s",)
    )
    chosen = ("roundrobin", "cubic"), ("redundant", "reno")
    for pair, (name, cc) in zip(found.pairs(), chosen, strict=True):
        alone = found.alone(pair)
        assert (alone.scheduler.name, alone.cc, alone.transport) == (name, cc, "mptcp")
        assert (alone.connections, alone.links, alone.events) == ((), found.links, found.events)
        assert alone.workload == pair.connection.workload
        assert (alone.first_path, alone.start_ns) == (pair.first, pair.connection.start_ns)
        # seen by itself, it is the only pair, and its paths keep their numbers
        (only,) = alone.pairs()
        assert (only.client, only.server) == ("client", "server")
        assert (only.first, only.numbered) == (pair.first, pair.numbered)
        assert only.connection == Connection(
            name="", paths=pair.connection.paths, transport="mptcp", scheduler=None, cc=None,
            workload=pair.connection.workload,
        )  # fmt: skip


def test_the_text_of_a_scenario_has_all_its_keys_in_order_and_no_spaces() -> None:
    """It is hashed into the key of a run, which nobody would find if it were written otherwise."""
    text = asked(cc="cubic").key_text()
    # a key whose default is older runs' has no place in their text
    later = {"agent", "blackhole_timeout_s", "endpoints", "parameters"}
    fields = sorted({*Scenario.model_fields} - later)
    assert fields[:3] == ["cc", "connections", "events"]
    assert text.startswith('{"cc":"cubic","connections":[],"events":[],"first_path":1,"links":[{"')
    # what a run's seed has drawn is in its paths
    assert [*json.loads(text)] == [name for name in fields if name not in ("vary", "given")]
    path = '{"down":{"bottleneck":"router","cross_bps":0,"delay_ns":0,"drop":[],"drop_acks":[],'
    assert f'"paths":[{path}' in asked(path=("a:link=shared",)).key_text()
    assert Scenario.model_validate_json(text).key_text() == text


def test_a_connection_ends_with_its_workload_or_when_all_has_arrived() -> None:
    one, other = asked(
        connection=("m:paths=a/b,start=1s,end=4s", "n:paths=t,workload.size=1MB,start=2s")
    ).connections
    assert (one.end_ns, other.end_ns) == (4 * 10**9, None)


def test_another_scheduler_cc_or_seed_changes_nothing_else() -> None:
    base = asked(seed="5", cc="cubic")
    changed = base.with_(scheduler=Choice(name="redundant"), cc="reno", seed=6)
    assert (changed.scheduler.name, changed.cc, changed.seed) == ("redundant", "reno", 6)
    assert changed.with_(scheduler=base.scheduler, cc="cubic", seed=5) == base
    assert base.with_(cc="reno").with_(cc="cubic") == base.with_() == base


def test_a_baseline_has_the_links_and_events_of_its_path() -> None:
    base = asked(
        path=("a:link=shared/last", "b:link=last,delay=1ms", "c:link=other"),
        link=(LINK, "last:10mbit,1ms", "other:10mbit,1ms"),
        event=(
            *("1s:a:down,lasts=1s", "2s:b:down", "3s:b:up", "4s:a:backup", "5s:a:regular"),
            *("6s:link=last:down,lasts=1s", "7s:link=other:change,rate=1mbit", "8s:c:close"),
        ),
        decisions=True,
        states=True,
    )
    alone = base.single_path("a")
    assert [path.name for path in alone.paths] == ["a"]
    assert [link.name for link in alone.links] == ["shared", "last"]
    assert [event.at_ns for event in alone.events] == [10**9, 6 * 10**9]
    assert (alone.transport, alone.scheduler) == ("tcp", Choice(name="default"))
    assert (alone.trace, alone.states) == (False, False)
    assert [event.at_ns for event in base.single_path("b").events] == [
        *(2 * 10**9, 3 * 10**9, 6 * 10**9)
    ]
    kept = {"seed", "cc", "workload", "sample_interval_ns", "pcap", "first_path", "start_ns"}
    assert alone.model_dump(include=kept) == base.model_dump(include=kept)
    with pytest.raises(ValueError, match=r"^no path is named 'last'$"):
        base.single_path("last")
    with pytest.raises(ValueError, match=r"^path 'c' does not last until the end$"):
        base.single_path("c")


@pytest.mark.parametrize(
    ("events", "lasting"),
    [
        ((), "abt"),
        (("1s:a:down",), "bt"),
        (("1s:a:down,lasts=1s",), "abt"),
        (("1s:a:down", "2s:a:up", "3s:b:close"), "at"),
        # an event that ends leaves the path as it was before
        (("1s:a:down", "2s:b:down,lasts=1s", "3s:t:change,delay=2ms", "4s:t:backup"), "bt"),
    ],
)
def test_paths_last_that_are_up_and_open_at_the_end(events: tuple[str, ...], lasting: str) -> None:
    assert "".join(asked(event=events).lasting_paths()) == lasting
    # nor do those of a link that stays down
    down = asked(
        path=("a:link=shared", "b:link=last/shared", "t:link=last"),
        link=(LINK, "last:10mbit,1ms"),
        event=("1s:link=shared:down",),
    )
    assert down.lasting_paths() == ["t"]
    assert model.UP_OR_NOT == ("down", "up", "close", "lose")
    # without a duration events repeat as long as a program may run, docs/exec.md
    assert model.LONGEST_NS == 600_000_000_000


def test_messages_are_counted_on_from_one_connection_to_the_next() -> None:
    found = asked(
        connection=(
            "m:paths=a/b,workload.kind=transfers,workload.count=2,workload.direction=down",
            "t:paths=t,transport=tcp,start=2s,workload.kind=requests,workload.think=1s,workload.count=2",
        )
    )
    first, second = plan.messages_of(found)
    assert {message.connection for message in first} == {1}
    assert {message.connection for message in second} == {2}
    assert second[0].at_ns == 2 * 10**9
    assert [message.after for message in second] == [None, 5, 6, 7]


def test_a_rate_on_the_way_is_the_lowest_of_all() -> None:
    found = asked(
        path=("a:8mbit,5ms,link=shared",),
        event=("1s:link=shared:change,rate=2mbit,lasts=1s", "1500ms:a:change,rate=1mbit"),
    )
    s = 10**9
    assert timeline.rates(found)["a"] == [
        *((0, 8_000_000), (s, 2_000_000), (3 * s // 2, 1_000_000)),
        (2 * s, 1_000_000),
    ]
    assert timeline.link_rates(found, "up")["shared"] == [
        *((0, 10_000_000), (s, 2_000_000), (2 * s, 10_000_000))
    ]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"path": ("a:link=shred",)}, 'unknown link; did you mean "shared"? the links are shared'),
        ({"path": ("a:5mbit,1ms",)}, "no path has this link"),
        ({"path": ("shared:link=shared",)}, "also the name of link[1]; names are unique"),
        ({"path": ("a:link=shared/shared",)}, "shared is named twice"),
        ({"path": ("a:link=shared,queue=9",)}, "the queue is the link's"),
        ({"link": ("shared:9mbit,1ms,bottleneck=host",)}, "only a path can have its bottleneck"),
        ({"link": ("shared:9mbit,1ms,cross=1mbit",)}, "give it to a path of the link"),
        ({"link": ("shared:9mbit,1ms,down.drop=3",)}, "counted at the router of a path"),
        ({"link": ("shared:9mbit",)}, "missing; every link has a delay"),
        ({"event": ("1s:link=shared:close",)}, "a link has no address"),
        ({"event": ("1s:link=a:down",)}, "unknown link; the links are shared"),
        ({"event": ("1s:a:change,rate=1mbit",)}, "the path has no rate of its own"),
        ({"event": ("1s:link=shared:down",)}, "no path would be up and open any more"),
        ({"connection": ("m:paths=a/b",)}, 'path[3] = "t": no connection has this path'),
        ({"connection": ("m:paths=a/b/t", "n:paths=t")}, "also a path of connection[1]"),
        ({"connection": ("m:paths=a/b/t/x",)}, "unknown path; the paths are a, b, t"),
        ({"connection": ("m:paths=a/b/t,transport=tcp",)}, "exactly one path, not over 3"),
        ({"connection": ("m:paths=a/b", "m:paths=t")}, "also the name of connection[1]"),
        ({"connection": ("m:paths=a/b/t,start=20s",)}, "it must be before the end of the workload"),
        ({"connection": ("m:paths=a/b/t,start=5s,end=4s",)}, "it must be after the start, at 5s"),
        ({"connection": ("m:paths=a/b/t,end=30s",)}, "it would end at 30s, but the run at 20s"),
        ({"connection": ("m:paths=a/b/t,workload.size=1MB,end=3s",)}, "already says when it ends"),
        ({"connection": ("m:paths=a/b/t,workload.kind=video",)}, "video needs a run of its own"),
        ({"connection": ("m:paths=a/b/t,workload.rate=3mbit",)}, "a bulk workload has"),
        ({"connection": ("m:paths=a/b/t,count=129",)}, "a count is a whole number from 1 to 128"),
        ({"connection": ("m:paths=a/b/t,count=84",)}, "252 paths in all; at most 250"),
        ({"connection": ("m:paths=a,count=64", "n:paths=b,count=65")}, "129 connections in all"),
        ({"connection": ("m:paths=a,transport=tcp,scheduler=default",)}, "TCP has no scheduler"),
        ({"connection": ("m:paths=a/b/t,scheduler=nope",)}, "unknown scheduler"),
        ({"connection": ("m",)}, "no colon after the name"),
        ({"connection": ("m:paths",)}, '"paths" is not KEY=VALUE'),
        ({"connection": ("m:paths=a/b/t,count=30",), "pcap": True}, "hosts and routers; at most"),
        ({"connection": ("m:paths=a/t,scheduler=default",), "decisions": True}, "default has none"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(flags: dict[str, Any], reason: str) -> None:
    assert reason in told(**flags)


def test_a_path_goes_from_link_to_link() -> None:
    """Path 2 through links 3, 1 and 2: from its router, and on, by networks 10.13, 10.11, 10.12."""
    text = plan.render(
        asked(
            path=("t:link=one", "a:link=three/one/two,delay=5ms"),
            link=("one:8mbit,1ms", "two:8mbit,1ms", "three:8mbit,1ms"),
            connection=("t:paths=t,transport=tcp,cc=reno,start=1s", "m:paths=a"),
            seed_delay="0us",
        )
    )
    routes = re.findall(r"^ip -n (\w+) route add 10\.(\d)\.2\.0/24 via (\S+)$", text, re.MULTILINE)
    onward = {place: via for place, end, via in routes if end == "1"}
    assert onward == {
        "router2": "10.13.2.254",
        "near3": "10.2.3.254",
        "far3": "10.11.2.254",
        "near1": "10.2.1.254",
        "far1": "10.12.2.254",
        "near2": "10.2.2.254",
    }
    back = {place: via for place, end, via in routes if end == "0"}
    assert back == {
        "far2": "10.2.2.1",
        "near2": "10.12.2.1",
        "far1": "10.2.1.1",
        "near1": "10.11.2.1",
        "far3": "10.2.3.1",
        "near3": "10.13.2.1",
    }
    # each port knows who is opposite
    for line in (
        "ip -n near1 neigh add 10.11.2.1 lladdr 02:00:0a:0b:02:01 dev n1p2",
        "ip -n far1 addr add 10.12.2.1/24 dev f1p2",
        "ip -n far1 neigh add 10.12.2.254 lladdr 02:00:0a:0c:02:fe dev f1p2",
        "ip -n far2 neigh add 10.1.2.1 lladdr 02:00:0a:01:02:01 dev f2p2",
        "ip -n far2 addr add 10.1.2.254/24 dev f2p2",
        # path 1 goes through the first link alone
        "ip -n router1 route add 10.1.1.0/24 via 10.11.1.254",
        "ip -n far1 addr add 10.1.1.254/24 dev f1p1",
        "message 1 up * at 1s",
    ):
        assert text.count(f"{line}\n") == 1, line
    lines = text.splitlines()
    assert not any("near2" in line and "10.1.1.0" in line for line in lines)
    # nothing shapes what has neither rate nor delay
    assert not any("dev rs1 root" in line for line in lines)
    assert any("tcp_allowed_congestion_control=reno cubic'" in line for line in lines)


def test_examples_are_what_their_pages_say() -> None:
    a = load_file(ROOT / "examples" / "olia-a.toml").base
    assert len(a.connections) == 20
    through = {path.links for path in a.paths}
    assert through == {("server",), ("shared", "server"), ("shared",)}


def test_the_common_time_is_that_of_all() -> None:
    found = asked(connection=TWO, duration="20s")
    none: Any = None  # what was recorded plays no part
    parts = [
        connections.OfConnection(
            pair, found.alone(pair), *(none, none), {"start_ns": 1, "complete_ns": 10**12}, none
        )
        for pair in found.pairs()
    ]  # fmt: skip
    times = np.arange(1, 21 * 10**9, 10**7, dtype=np.int64)
    common = connections.common_interval(parts, times)
    # t begins at 5 s, and a tenth of its 10 s is warm-up
    assert common == (1 + 6 * 10**9, 1 + 15 * 10**9)


def test_what_a_connection_leaves_is_taken_over() -> None:
    """Both get 400 kB/s; from 15 s on, when t ends, m grows by 50 kB/s every 100 ms."""
    found = asked(connection=TWO, duration="20s")
    steps_ns = np.arange(0, 20 * 10**9 + 1, 10**8)

    class Part(connections.OfConnection):
        def received(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
            mine = self.pair.connection.name == "m"
            later = np.maximum(steps_ns[:-1] // 10**8 - 149, 0)
            rates = 400_000 + later * 50_000 if mine else np.where(later > 0, 0, 400_000)
            counts = np.concatenate(([0], np.cumsum(rates * 0.1)))
            return np.interp(times, steps_ns, counts)

    none: Any = None
    guest = {"start_ns": 0, "complete_ns": 10**12}
    m, t = (Part(pair, found.alone(pair), none, none, guest, none) for pair in found.pairs())
    # 90 % of 800 kB/s are 720 kB/s: 450, 500, ... 750 kB/s is the seventh bin, which begins 600 ms
    # after the end
    assert connections.takeover_s(t, [m, t]) == pytest.approx(0.6)
    assert connections.takeover_s(m, [m, t]) is None
