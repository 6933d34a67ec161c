# SPDX-License-Identifier: GPL-2.0-only
"""`mptcplab explain` names the right reason first where the reason is known by construction."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mptcplab.report import explain
from mptcplab.report.explain import Explanation
from mptcplab.runs import store
from tests.vocabulary import RunScenario

WIFI, LTE = "wifi:50mbit,10ms", "lte:20mbit,40ms"

#: What is known to be the largest reason, and on which path.
CASES: dict[str, tuple[tuple[str, ...], dict[str, Any], str, str | None]] = {
    # Both round trips together hold (50 x 20 + 20 x 160) Mbit/s x ms = 525 KB; the receiver has
    # 200 KB of buffer, of which half is payload at most.
    "a small receive buffer": (
        (WIFI, "lte:20mbit,80ms"),
        {"scheduler": "roundrobin", "receive_buffer": "200KB"},
        "window",
        "wifi",
    ),
    # Cubic needs some 5 RTT between two losses for a window of 12 packets: 2 Mbit/s of 20.
    "a lossy path": ((WIFI, "lte:20mbit,40ms,loss=2%"), {"scheduler": "minrtt"}, "losses", "lte"),
    # It uses the path with the shorter round trip alone.
    "a scheduler that waits": ((WIFI, LTE), {"scheduler": "first:queue=off"}, "scheduler", "lte"),
    # Everything goes over both paths of 20 Mbit/s.
    "duplicates": (
        ("a:20mbit,10ms", "b:20mbit,40ms"),
        {"scheduler": "redundant"},
        "duplicates",
        None,
    ),
    # 6 of 9 measured seconds of 50 Mbit/s; the other path carries 20 Mbit/s at most.
    "an outage": ((WIFI, LTE), {"event": ("2s:wifi:down,lasts=6s",)}, "event", "wifi"),
    # The round trips hold 525 KB as above; what is sent is kept until it is acknowledged.
    "a small send buffer": (
        (WIFI, "lte:20mbit,80ms"),
        {"send_buffer": "100KB"},
        "send_buffer",
        None,
    ),
    # 200 KB are 139 packets: windows of 10, 20, 40 and 69 in four round trips of 20 ms; 125 KB
    # would fill the link for one.
    "a transfer that ends in slow start": ((WIFI,), {"size": "200KB"}, "growth", "wifi"),
}


def every(run_scenario: RunScenario, *paths: str, **flags: Any) -> list[Explanation]:
    flags = {"duration": "10s", **flags} if "size" not in flags else flags
    run = run_scenario(*paths, **flags)
    directory = run.outcome.directory
    store.write_json(directory / store.SCENARIO, run.scenario.model_dump(mode="json"))
    return explain.explain(directory)


def explained(run_scenario: RunScenario, *paths: str, **flags: Any) -> Explanation:
    (found,) = every(run_scenario, *paths, **flags)
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_right_reason_comes_first(run_scenario: RunScenario, name: str) -> None:
    paths, flags, kind, path = CASES[name]
    found = explained(run_scenario, *paths, **flags)
    assert found.reasons[0].kind == kind, found.text()
    if path is not None:
        assert found.reasons[0].path == path, found.text()
    # The parts add up; what cannot be attributed is packets on their way at both ends.
    parts = sum(reason.bps for reason in found.reasons)
    missing = found.capacity_bps - found.goodput_bps
    assert parts + found.not_explained_bps == pytest.approx(missing)
    assert abs(found.not_explained_bps) < 0.01 * found.capacity_bps, found.text()


def test_who_holds_up_the_others_is_named(run_scenario: RunScenario) -> None:
    paths, flags, _, _ = CASES["a small receive buffer"]
    text = explained(run_scenario, *paths, **flags).reasons[0].text
    # round robin gives both paths the same, and what goes over lte takes four times as long
    assert "blocked by segments on path lte" in text


def test_a_path_in_an_outage_is_named_not_the_repairing_one(run_scenario: RunScenario) -> None:
    # What was lost on lte comes by wifi in the end, and until then the send buffer is full.
    found = explained(run_scenario, WIFI, LTE, event=("3s:lte:down,lasts=2s",))
    (text,) = (r.text for r in found.reasons if (r.kind, r.path) == ("send_buffer", "wifi"))
    assert "while path lte had an event or a retransmission timeout" in text
    assert any("At 3s path lte was down for 2s" in fact for fact in found.facts)


def test_a_single_path_of_plain_tcp_can_be_explained(run_scenario: RunScenario) -> None:
    found = explained(run_scenario, WIFI, transport="tcp")
    # a full link: 1448 of 1514 bytes, and the largest reason is the headers
    assert found.reasons[0].kind == "headers"
    assert found.reasons[0].bps == pytest.approx(50e6 * 66 / 1514, rel=0.05)
    assert found.title == "plain TCP over wifi, seed 1"


def adds_up(found: Explanation) -> None:
    parts = sum(reason.bps for reason in found.reasons)
    assert parts + found.not_explained_bps == pytest.approx(found.capacity_bps - found.goodput_bps)
    assert abs(found.not_explained_bps) < 0.01 * found.capacity_bps, found.text()


def test_paths_that_share_a_link_can_carry_what_it_carries(run_scenario: RunScenario) -> None:
    found = explained(
        run_scenario,
        *("a:50mbit,5ms,link=shared", "b:50mbit,6ms,link=shared"),
        link=("shared:20mbit,10ms",),
        event=("4s:a:change,rate=4mbit,lasts=3s", "4s:b:change,rate=6mbit,lasts=3s"),
    )
    assert found.connection is None
    assert found.capacity_bps == 20e6
    adds_up(found)
    # Together 10 Mbit/s less for 3 of 9 measured seconds
    (event,) = (reason for reason in found.reasons if reason.kind == "event")
    assert event.path == "shared"
    assert event.bps == pytest.approx(10e6 * 3 / 9, rel=0.01)
    assert event.text == "events on the paths over link shared left it 16.67 Mbit/s of 20.00 Mbit/s"


def test_an_event_on_one_of_two_paths_through_a_link_costs_nothing(
    run_scenario: RunScenario,
) -> None:
    found = explained(
        run_scenario,
        *("a:50mbit,5ms,link=shared", "b:50mbit,6ms,link=shared"),
        link=("shared:20mbit,10ms",),
        event=("4s:a:down,lasts=2s",),
    )
    assert "event" not in {reason.kind for reason in found.reasons}
    adds_up(found)


def test_each_of_several_connections_has_what_others_had_as_a_reason(
    run_scenario: RunScenario,
) -> None:
    one, two = every(
        run_scenario,
        *("a:link=bottleneck", "b:link=bottleneck", "c:20mbit,10ms,link=bottleneck"),
        link=("bottleneck:10mbit,10ms",),
        connection=("one:paths=a/b", "two:paths=c,transport=tcp"),
        cc="reno",
    )
    assert (one.connection, two.connection) == ("one", "two")
    assert two.title + two.part == "plain TCP over c, seed 1, connection two"
    for mine, other in ((one, two), (two, one)):
        assert mine.capacity_bps == 10e6
        adds_up(mine)
        (others,) = (reason for reason in mine.reasons if reason.kind == "others")
        assert others.path == "bottleneck"
        # both are measured in the same interval
        assert others.bps == pytest.approx(other.goodput_bps, rel=0.01)
        assert f"link bottleneck carried the data of others: {other.connection} " in others.text
        assert any("The queue of link bottleneck held packets" in fact for fact in mine.facts)


def test_data_both_ways_is_explained_in_each_direction(run_scenario: RunScenario) -> None:
    paths = ("wifi:delay=10ms,up.rate=5mbit,down.rate=20mbit", LTE)
    up, down = every(run_scenario, *paths, direction="both")
    assert (up.direction, down.direction) == ("up", "down")
    assert (up.capacity_bps, down.capacity_bps) == (25e6, 40e6)
    for found in (up, down):
        assert f"seed 1, data {found.direction}: " in found.text()
        parts = sum(reason.bps for reason in found.reasons)
        assert found.capacity_bps - found.goodput_bps == pytest.approx(
            parts + found.not_explained_bps
        )
        assert abs(found.not_explained_bps) < 0.02 * found.capacity_bps
    assert up.goodput_bps != down.goodput_bps


def test_times_of_many_connections_are_added_up(run_scenario: RunScenario) -> None:
    found = explained(run_scenario, WIFI, LTE, workload="bulk:connections=20", duration="2s")
    assert re.search(
        r"waited .* [0-9]{3,}\.[0-9] % of the time, all connections added up: ", found.text()
    )
