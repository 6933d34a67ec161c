# SPDX-License-Identifier: GPL-2.0-only
"""Which queueing disciplines a direction of a path is made of, and where they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mptcplab import units
from mptcplab.plan import plan, qdiscs
from mptcplab.plan.testbed import End
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import NO_RATE_BPS, Direction
from mptcplab.scenario.model import Scenario, Shape
from mptcplab.scenario.resolve import from_flags
from tests.vocabulary import scenario_of

PATH = qdiscs.path_spots(1)


def up(keys: str) -> Shape:
    """The direction to the server of a path of 10 Mbit/s and 10 ms with these keys."""
    return scenario_of(f"a:10mbit,10ms{keys}").paths[0].up


def commands(keys: str, direction: Direction = "up") -> list[str]:
    return [qdisc.command("add") for qdisc in qdiscs.shaping(PATH, direction, up(keys))]


LINE = "tc -n router1 qdisc add dev rs1 root handle 1: netem limit 1000000 rate 1000tbit"
TBF = "tbf rate 10mbit burst 15140 limit"
NETEM = "tc -n router1 qdisc add dev rs1 root netem limit 20 rate 10mbit delay 10ms"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            ",queue=200",
            ["tc -n router1 qdisc add dev rs1 root netem limit 200 rate 10mbit delay 10ms"],
        ),
        (
            ",queue=200,queue_discipline=droptail",
            [
                f"{LINE} delay 10ms",
                f"tc -n router1 qdisc add dev rs1 parent 1:1 handle 2: {TBF} 200",
                "tc -n router1 qdisc add dev rs1 parent 2:1 handle 3: pfifo limit 200",
            ],
        ),
        (
            ",queue=30KB,loss=1%",
            [
                f"{LINE} delay 10ms loss 1%",
                f"tc -n router1 qdisc add dev rs1 parent 1:1 handle 2: {TBF} 30000",
            ],
        ),
        (
            ",reorder=1%,reorder_by=2ms,queue_discipline=pie",
            [
                f"{LINE} delay 8ms",
                "tc -n router1 qdisc add dev rs1 parent 1:1 handle 2: netem limit 1000000 delay 2ms"
                " reorder 1%",
                f"tc -n router1 qdisc add dev rs1 parent 2:1 handle 3: {TBF} 1000",
                "tc -n router1 qdisc add dev rs1 parent 3:1 handle 4: pie limit 1000",
            ],
        ),
        (
            ",reorder=1%,queue=200",
            [
                "tc -n router1 qdisc add dev rs1 root handle 1: netem limit 200 rate 10mbit"
                " delay 0ms",
                "tc -n router1 qdisc add dev rs1 parent 1:1 handle 2: netem limit 1000000"
                " delay 10ms reorder 1%",
            ],
        ),
        (
            ",queue=200,bottleneck=host",
            [
                "tc -n client qdisc add dev c1 root netem limit 200 rate 10mbit",
                "tc -n router1 qdisc add dev rs1 root netem limit 1000000 rate 1000tbit delay 10ms",
            ],
        ),
        (
            ",queue=80,bottleneck=host,queue_discipline=red,jitter=1ms",
            [
                f"tc -n client qdisc add dev c1 root handle 1: {TBF} 80",
                # 80 x 1514 bytes; a quarter, a twelfth; (2 x 10093 + 30280) / (3 x 1514) = 11.1
                "tc -n client qdisc add dev c1 parent 1:1 handle 2: red limit 121120 min 10093"
                " max 30280 avpkt 1514 burst 12 probability 0.02 bandwidth 10mbit",
                "tc -n router1 qdisc add dev rs1 root netem limit 1000000 rate 1000tbit delay 10ms"
                " 1ms",
            ],
        ),
        (",duplicate=1%", [f"{NETEM} duplicate 1%"]),
        (",loss=2%,loss_correlation=25%", [f"{NETEM} loss 2% 25%"]),
        # share (2 - 0.1) / (50 - 0.1) = 3.81 %, p = 0.05 x 0.0381 / 0.9619
        (
            ",loss=2%,loss_burst=20,loss_bad=50%,loss_good=0.1%",
            [f"{NETEM} loss gemodel 0.1979167% 5.0000000% 50.0000000% 0.1000000%"],
        ),
        # a quarter and a twelfth of 60000; (2 x 5000 + 15000) / (3 x 1514) = 5.5
        (
            ",queue=60KB,queue_discipline=red",
            [
                f"{LINE} delay 10ms",
                f"tc -n router1 qdisc add dev rs1 parent 1:1 handle 2: {TBF} 60000",
                "tc -n router1 qdisc add dev rs1 parent 2:1 handle 3: red limit 60000 min 5000"
                " max 15000 avpkt 1514 burst 6 probability 0.02 bandwidth 10mbit",
            ],
        ),
    ],
)
def test_a_direction_is_made_of_these_commands(keys: str, expected: list[str]) -> None:
    assert commands(keys) == expected


def test_a_direction_is_at_the_router_and_the_host_that_send() -> None:
    def ends(of: Mapping[Direction, End]) -> list[tuple[str, str]]:
        return [(of[direction].device, of[direction].namespace) for direction in of]

    found = qdiscs.path_spots(3)
    assert list(found.routers) == list(found.hosts) == ["up", "down"]
    assert ends(found.routers) == [("rs3", "router3"), ("rc3", "router3")]
    assert ends(found.hosts) == [("c3", "client"), ("s3", "server")]
    others = qdiscs.path_spots(4, "client2", "server2", {"up": 5}).hosts
    assert ends(others) == [("c4", "client2"), ("s4", "server2")]
    link = qdiscs.link_spots(2)
    assert ends(link.routers) == [("n2", "near2"), ("f2", "far2")]
    assert link.hosts == {}


def test_what_a_seed_adds_makes_room_only_where_nothing_else_waits() -> None:
    spots = qdiscs.path_spots(1, further_ns={"up": 5000})
    link = up(",queue=200")

    def limit(rate_bps: int, delay_ns: int) -> str:
        asked = link.model_copy(update={"rate_bps": rate_bps, "delay_ns": delay_ns})
        return qdiscs.shaping(spots, "up", asked)[0].options.split()[1]

    assert limit(NO_RATE_BPS, 0) == "1000000"
    assert [limit(NO_RATE_BPS, 1000), limit(10**6, 0), limit(10**6, 1000)] == ["200"] * 3


def options(keys: str, **changed: Any) -> str:
    """Those of the first discipline of a direction that is changed to what flags refuse."""
    return qdiscs.shaping(PATH, "up", up(keys).model_copy(update=changed))[0].options


def test_the_bottleneck_holds_the_queue() -> None:
    for keys, where, kind in (
        ("", ("router1", "rs1"), "netem"),
        (",reorder=1%", ("router1", "rs1"), "netem"),
        (",queue_discipline=droptail", ("router1", "rs1"), "pfifo"),
        (",queue=30KB", ("router1", "rs1"), "tbf"),
        (",queue_discipline=codel,reorder=1%", ("router1", "rs1"), "codel"),
        (",bottleneck=host", ("client", "c1"), "netem"),
        (",queue_discipline=fq_codel,bottleneck=host", ("client", "c1"), "fq_codel"),
    ):
        found = qdiscs.bottleneck(PATH, "up", up(keys))
        assert ((found.namespace, found.device), found.kind) == (where, kind)
        # with packets that overtake, the queue is in the outer netem
        assert keys != ",reorder=1%" or found.place == "root handle 1:"
        assert found in qdiscs.shaping(PATH, "up", up(keys))
    # the other direction is shaped at the other devices
    (host, line) = commands(",queue=200,bottleneck=host", "down")
    assert host.startswith("tc -n server qdisc add dev s1 root netem limit 200")
    assert line.startswith("tc -n router1 qdisc add dev rc1 root netem")


def test_two_states_have_the_mean_loss() -> None:
    for loss, burst, good, bad in (
        (0.01, 4, 0.0, 1.0),
        (0.02, 20, 0.001, 0.5),
        (0.05, 50, 0.01, 0.3),
        (0.5, 1, 0.0, 1.0),
    ):
        p, r = qdiscs.gilbert(loss, burst, good=good, bad=bad)
        assert 1 / r == burst
        assert 0 < p <= 1
        # in the long run the states hold for r / (p + r) and p / (p + r)
        assert (r * good + p * bad) / (p + r) == pytest.approx(loss)
    # a rate of 0 would be no limit to netem; 1 byte per second is the least it knows
    assert " rate 8bit " in options("", rate_bps=0)
    # an outage loses all, in whatever rows it was before
    assert options(",loss=2%,loss_correlation=25%", loss=1.0).endswith(" loss 100%")
    assert options(",loss=2%,loss_burst=5", loss=1.0).endswith(" loss 100%")
    # 90 % of single losses: p would be 0.9 / 0.1 = 9
    many = options(",loss=2%,loss_burst=5", loss=0.9, loss_burst=1)
    assert many.endswith(" loss gemodel 100.0000000% 100.0000000%")
    # a mean as high as the bad state's: it is never left
    assert qdiscs.gilbert(0.5, 2, good=0.0, bad=0.5) == (float("inf"), 0.5)


def test_packets_to_be_lost_are_named_where_they_come_to_the_router() -> None:
    path = scenario_of("a:1mbit,1ms,up.drop=17+5+100-120,down.drop_acks=1").paths[0]
    assert [*qdiscs.exact_losses(1, "up", path.up), *qdiscs.exact_losses(1, "down", path.down)] == [
        "ip netns exec router1 drop rc1 data 5,17,100-120",
        "ip netns exec router1 drop rs1 acks 1",
    ]


def lines_at(keys: str, event: str, **flags: Any) -> list[str]:
    text = plan.render(scenario_of(f"a:10mbit,10ms{keys}", event=[event], **flags))
    return [line for line in text.splitlines() if line.startswith("at ")]


def test_an_event_changes_only_what_is_different() -> None:
    keys, change = ",up.queue_discipline=codel", "at 3s tc -n router1 qdisc change dev rs1"
    assert lines_at(keys, "3s:a:change,up.rate=x0.5") == [
        f"{change} parent 1:1 handle 2: tbf rate 5mbit burst 15140 limit 1000"
    ]
    assert lines_at(keys, "3s:a:change,up.delay=50ms") == [
        f"{change} root handle 1: netem limit 1000000 rate 1000tbit delay 50ms"
    ]
    # a delay that becomes shorter than reorder by is all that is overtaken
    first, second = lines_at(",up.reorder=1%,up.reorder_by=5ms", "3s:a:change,up.delay=2ms")
    assert " handle 1: " in first
    assert first.endswith(" delay 0ms")
    assert second.endswith(" delay 2ms reorder 1%")
    # 10 kbit/s; then 10 bit/s and 1 bit/s, which are both less than the least, 1 kbit/s; no jitter
    # is what the path has anyway
    slow = [f"{at}s:a:change,rate=x0.001" for at in (1, 2)]
    text = plan.render(
        scenario_of(
            "a:10mbit,10ms", event=[*slow, "3s:a:change,rate=x0.1", "4s:a:change,jitter=0s"]
        )
    )
    assert re.findall(r"at (\d+s) tc .* rate (\S+)", text) == [
        *[("1s", "10kbit")] * 2,
        *[("2s", "1kbit")] * 2,
    ]
    # the jitter that was asked for is told to netem when the delay has room for it
    text = plan.render(
        scenario_of(
            "a:10mbit,10ms,jitter=8ms",
            event=["1s:a:change,up.delay=5ms", "2s:a:change,up.delay=20ms"],
            seed_delay="0us",
        )
    )
    found = re.findall(r"at (\d+s) tc .* netem .* delay (\S+ \S+)", text)
    assert found == [("1s", "5ms 5ms"), ("2s", "20ms 8ms")]


def test_larger_packets_than_the_mtu_are_not_made_where_the_bottleneck_is_the_host() -> None:
    text = plan.render(scenario_of("a:1mbit,1ms,up.bottleneck=host", "b:1mbit,1ms"))
    assert "ip -n client link set c1 gso_max_segs 1" in text
    assert text.count("gso_max_segs") == 1


# What a seed adds


def with_seed(seed: int, *paths: str, **flags: Any) -> list[str]:
    """The delays of the disciplines in the plan, as they stand there."""
    asked = Flags(path=paths, seed=str(seed), **flags)
    return re.findall(r"qdisc add .* delay (\S+)", plan.render(from_flags(asked).base))


def test_a_seed_adds_up_to_fifty_microseconds_each_way_of_each_path() -> None:
    found = [with_seed(seed, "a:50mbit,10ms", "b:20mbit,40ms") for seed in range(200)]
    for place, delay_us in enumerate((10_000, 10_000, 40_000, 40_000)):
        added = {int(units.parse_time(delays[place])) // 1000 - delay_us for delays in found}
        # 200 evenly drawn of 51 values leave out 51 x (50/51)^200, which is one, on average
        assert added <= set(range(51))
        assert len(added) > 40
    assert len({tuple(delays) for delays in found}) == 200
    # what a seed adds depends on the seed and the number of the path alone
    a, b = "a:50mbit,10ms", "b:20mbit,40ms"
    one = with_seed(3, a, b)
    assert with_seed(3, a, b, scheduler="minrtt", cc="reno", duration="5s") == one
    assert with_seed(3, "x:1mbit,10ms", "y:2mbit,40ms,queue=9") == one
    assert with_seed(3, a) == one[:2]
    # an event leaves what the seed adds
    asked = Flags(path=["a:50mbit,10ms"], event=["1s:a:change,delay=20ms"], seed="3")
    text = plan.render(from_flags(asked).base)
    delays = re.findall(r"qdisc add .* delay 10(\d+)us", text)
    assert re.findall(r"qdisc change .* delay 20(\d+)us", text) == delays
    assert len(delays) == 2
    # what a seed adds can be more or nothing
    assert with_seed(3, "a:50mbit,10ms", seed_delay="0us") == ["10ms", "10ms"]
    more = with_seed(3, "a:50mbit,10ms", seed_delay="20ms")
    assert all(10_050_000 < units.parse_time(each) <= 30_000_000 for each in more)
    # what was resolved before a seed added a delay has none
    base = from_flags(Flags(path=["a:50mbit,10ms"])).base
    assert base.seed_delay_ns == 50_000
    old = json.loads(base.key_text())
    del old["seed_delay_ns"]
    assert "delay 10ms" in plan.render(Scenario.model_validate_json(json.dumps(old)))
    # a path that leaves all to its links loses nothing by it
    asked = Flags(
        path=["a:link=l"], link=["l:10mbit,10ms,queue=20,queue_discipline=droptail"], seed="3"
    )
    text = plan.render(from_flags(asked).base)
    assert re.findall(r"dev r[cs]1 root netem limit (\d+) ", text) == ["1000000", "1000000"]
    without = plan.render(from_flags(replace(asked, seed_delay="0us")).base)
    assert re.findall(r"qdisc add dev (\w+)", without) == ["n1"] * 3 + ["f1"] * 3
