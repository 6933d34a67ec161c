# SPDX-License-Identifier: GPL-2.0-only
"""What a resolved scenario says of itself: intervals of samples, hosts, paths that last."""

from __future__ import annotations

from typing import Any

import pytest

from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.scheduler import Scheduler

KNOWN = {name: Scheduler(name, "", ()) for name in ("default", "roundrobin")}
TWO = ("a:8mbit,10ms", "b:2mbit,10ms")
MS = 10**6


def asked(**flags: Any) -> Scenario:
    return from_flags(Flags(**{"path": TWO, **flags}), known=KNOWN).base


@pytest.mark.parametrize(
    ("workload", "duration", "interval_ms"),
    [
        # 20,000 samples of all connections: 200 of each of 100 in 10 s
        ("bulk:connections=100", "10s", 50),
        # a whole number of intervals of 10 ms: 15 s / 200 = 75 ms
        ("bulk:connections=100", "15s", 70),
        ("bulk:connections=1000", "10s", 500),
        ("bulk:connections=2000", "10s", 500),
        # no less than asked for
        ("bulk:connections=2", "10s", 10),
        ("bulk", "10s", 10),
        ("transfers", None, 10),
        # 1000 x 12,500 bytes are 100 Mbit, which take 10 s over both paths
        ("bulk:connections=1000,size=12500", None, 500),
        # the last one opens at 19.98 s, later than the data takes
        ("bulk:connections=1000,size=100,interval=20ms", None, 990),
    ],
)
def test_a_crowd_has_fewer_samples(workload: str, duration: str | None, interval_ms: int) -> None:
    given = {} if duration is None else {"duration": duration}
    assert asked(workload=workload, **given).host_interval_ns == interval_ms * MS


def test_a_link_limits_how_soon_a_crowd_has_its_data() -> None:
    # 100 Mbit over 4 Mbit/s of the link and 1 Mbit/s of the path take 20 s
    found = asked(
        path=("a:link=l", "b:1mbit,5ms"),
        link=("l:4mbit,10ms,queue=50",),
        workload="bulk:connections=1000,size=12500",
    )
    assert found.host_interval_ns == 1000 * MS
    # upwards the first path has 1 of 8 Mbit/s: the slower direction counts
    found = asked(
        path=("a:8mbit,10ms,up.rate=3mbit", "b:2mbit,10ms"),
        workload="bulk:connections=1000,size=12500",
        direction="both",
    )
    assert found.host_interval_ns == 1000 * MS


def test_a_tunnel_has_hosts_behind_its_ends() -> None:
    assert [pair.behind for pair in asked().pairs()] == [("lan", "wan")]
    several = asked(connection=("m:paths=a", "n:paths=b")).pairs()
    assert [pair.behind for pair in several] == [("lan", "wan"), ("lan2", "wan2")]


@pytest.mark.parametrize(
    ("path", "event", "lasting"),
    [
        (TWO, "2s:b:down", ["a"]),
        (TWO, "2s:b:down,lasts=1s", ["a", "b"]),
        (TWO, "2s:b:renumber", ["a"]),
        (TWO, "2s:b:renumber,lasts=1s", ["a", "b"]),
        # a mapping that is forgotten ends the connection; without a NAT there is none
        (("a:8mbit,10ms,nat_timeout=60s", TWO[1]), "2s:a:rebind", ["b"]),
        (("a:8mbit,10ms,nat_timeout=60s", TWO[1]), "2s:a:reboot,lasts=1s", ["b"]),
        (TWO, "2s:a:reboot,lasts=1s", ["a", "b"]),
    ],
)
def test_plain_tcp_lasts_where_its_address_does(
    path: tuple[str, ...], event: str, lasting: list[str]
) -> None:
    assert asked(path=path, event=(event,)).lasting_paths() == lasting


def test_a_single_path_leaves_out_what_plain_tcp_lacks() -> None:
    given = asked(event=("2s:a:backup,lasts=1s", "3s:a:down,lasts=1s", "4s:b:down,lasts=1s"))
    alone = given.single_path("a")
    assert [path.name for path in alone.paths] == ["a"]
    assert [(event.path, event.action) for event in alone.events] == [("a", "down")]
    assert alone.endpoints == "signal"
    removed = asked(
        endpoints="subflow", event=("2s:a:remove,lasts=1s", "3s:a:lose,lasts=1s")
    ).single_path("a")
    assert [event.action for event in removed.events] == ["lose"]
    assert removed.endpoints == "signal"


def test_a_sample_knows_the_scenario_it_was_drawn_from() -> None:
    given = asked()
    assert given.as_given is given
    drawn = given.with_(seed=7).model_copy(update={"given": given})
    assert drawn.as_given is given
    assert drawn.with_(seed=7).given is given
    assert drawn.with_(seed=8).given is None
    alone = drawn.single_path("b").given
    assert alone is not None
    assert [path.name for path in alone.paths] == ["b"]
