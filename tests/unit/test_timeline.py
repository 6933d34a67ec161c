# SPDX-License-Identifier: GPL-2.0-only
"""What events stand for: occurrences, and the instants at which paths change."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.plan import timeline
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags, load_file
from mptcplab.scenario.resolve_paths import default_queue_packets

MS, S = 10**6, 10**9
A, B = "a:10mbit,10ms", "b:4mbit,40ms,loss=1%"


def scenario(*events: str, **flags: Any) -> Scenario:
    values = {"path": (A, B), "event": events, "duration": "60s", **flags}
    return from_flags(Flags(**values)).runs()[0]


def told(*events: str, **flags: Any) -> list[tuple[Any, ...]]:
    """Each instant as (ms, path, what is different): rate, delay or loss of up, or the act."""
    found: list[tuple[Any, ...]] = []
    for i in timeline.instants(scenario(*events, **flags)):
        link = (i.up.rate_bps / 1e6, i.up.delay_ns / 1e6, i.up.loss) if i.up else i.act
        found.append((i.at_ns / MS, i.path, link))
    return found


def test_a_path_that_goes_and_comes() -> None:
    expected = [(3000, "b", (4, 40, 1.0)), (6000, "b", (4, 40, 0.01))]
    assert told("3s:b:down", "6s:b:up") == expected
    assert told("3s:b:down,lasts=3s") == expected


def test_new_values_stay_or_last() -> None:
    assert told("1s:a:change,rate=2mbit") == [(1000, "a", (2, 10, 0))]
    assert told("1s:a:change,delay=x3,loss=2%,lasts=1s") == [
        (1000, "a", (10, 30, 0.02)),
        (2000, "a", (10, 10, 0)),
    ]


def test_one_direction_may_change_alone() -> None:
    (instant,) = timeline.instants(scenario("1s:a:change,down.rate=2mbit"))
    assert instant.up is None
    assert instant.down is not None
    assert instant.down.rate_bps == 2_000_000


def test_an_address_that_changes_and_goes() -> None:
    """The instants of the client: what happens, with the numbers of the address then and before."""
    events = ("1s:b:renumber,every=2s", "2s:b:lose,lasts=2s", "4s:b:remove,lasts=1s")
    found = timeline.instants(scenario(*events, duration="6s", endpoints="subflow"))
    assert [(i.at_ns // S, i.act, i.was, i.number) for i in found] == [
        *((1, "renumber", 0, 1), (1, "remove", 0, 1), (1, "add", 0, 1)),
        *((2, "lose", 1, 1), (2, "remove", 1, 1)),
        # the address of 3 s, while there is none; there is no endpoint until the other event ends
        *((4, "regain", 2, 2), (5, "renumber", 2, 3), (5, "add", 2, 3)),
    ]
    assert timeline.rates(scenario(*events, duration="6s", endpoints="subflow"))["b"] == [
        *((0, 4_000_000), (S, 0), (S, 4_000_000)),
        *((2 * S, 0), (2 * S, 0), (4 * S, 0), (5 * S, 4_000_000)),
    ]


def test_a_router_that_reboots_forgets_when_it_is_back() -> None:
    reboot = ("1s:b:reboot,lasts=1s", "3s:b:rebind,every=1s")
    path = (A, f"{B},nat_timeout=9s")
    found = timeline.instants(scenario(*reboot, duration="5s", path=path))
    assert [(i.at_ns // S, i.act, i.up and i.up.loss) for i in found] == [
        *((1, None, 1.0), (2, None, 0.01), (2, "rebind", None)),
        *((3, "rebind", None), (4, "rebind", None)),
    ]
    # plain TCP does not survive it
    assert scenario(*reboot, duration="5s", path=path).lasting_paths() == ["a"]
    assert scenario(reboot[0], duration="5s").lasting_paths() == ["a", "b"]


def test_an_event_before_the_workload() -> None:
    """It is one of the workload's first state; its length counts from the start."""
    (down, up) = timeline.instants(scenario("before:b:down,lasts=1s"))
    assert (down.at_ns, up.at_ns) == (-1, S)
    assert timeline.rates(scenario("before:b:down,lasts=1s"))["b"] == [
        *((0, 4_000_000), (0, 0), (S, 4_000_000)),
    ]
    every = timeline.instants(scenario("before:b:down,lasts=1s,every=4s", duration="6s"))
    assert [i.at_ns for i in every] == [-1, S, 4 * S, 5 * S]


def test_cross_traffic_begins_and_ends() -> None:
    path = ("a:10mbit,10ms,up.cross=1mbit", "b:10mbit,10ms")
    found = timeline.instants(
        scenario("1s:a:change,cross=5mbit,lasts=1s", "3s:a:change,up.cross=0", path=path)
    )
    assert [
        (each.at_ns // 10**9, *(link and link.cross_bps for link in (each.up, each.down)))
        for each in found
    ] == [(1, 5_000_000, 5_000_000), (2, 1_000_000, 0), (3, 0, None)]
    # a path that carries nothing has none
    gone = scenario("1s:a:change,down.cross=5mbit", "2s:a:close", path=path)
    assert timeline.cross_rates(gone, "up") == {"a": [(0, 10**6), (2 * S, 0)], "b": [(0, 0)]}
    assert timeline.cross_rates(gone, "down")["a"] == [(0, 0), (S, 5 * 10**6), (2 * S, 0)]


def test_a_handover_is_a_tenth_of_the_rate_and_three_times_the_delay() -> None:
    assert told("15s:a:handover,lasts=2s") == [(15000, "a", (1, 30, 0)), (17000, "a", (10, 10, 0))]
    assert told("15s:a:handover,rate=x0.5,lasts=2s")[0] == (15000, "a", (5, 30, 0))


def test_events_that_overlap_are_applied_to_what_is_left_by_those_before() -> None:
    assert told("1s:a:change,rate=x0.5,lasts=4s", "2s:a:change,rate=x0.5,lasts=1s") == [
        (1000, "a", (5, 10, 0)),
        (2000, "a", (2.5, 10, 0)),
        (3000, "a", (5, 10, 0)),
        (5000, "a", (10, 10, 0)),
    ]
    # the one that began first ends first
    assert told("1s:a:change,rate=1mbit,lasts=2s", "2s:a:change,delay=x2,lasts=3s") == [
        (1000, "a", (1, 10, 0)),
        (2000, "a", (1, 20, 0)),
        (3000, "a", (10, 20, 0)),
        (5000, "a", (10, 10, 0)),
    ]


def test_a_path_that_is_down_stays_down_whatever_else_changes() -> None:
    assert told("1s:a:down", "2s:a:change,loss=5%", "3s:a:up") == [
        (1000, "a", (10, 10, 1.0)),
        (3000, "a", (10, 10, 0.05)),
    ]


def test_up_ends_no_outage_that_has_an_end_of_its_own() -> None:
    assert told("1s:a:down,lasts=9s", "2s:a:change,rate=5mbit", "3s:a:change,rate=10mbit") == [
        (1000, "a", (10, 10, 1.0)),
        (2000, "a", (5, 10, 1.0)),
        (3000, "a", (10, 10, 1.0)),
        (10000, "a", (10, 10, 0)),
    ]


def test_what_changes_nothing_is_left_out() -> None:
    assert told("1s:a:change,rate=10mbit") == []


def test_an_event_repeats_until_the_end() -> None:
    times = [at for at, *_ in told("15s:a:handover,every=15s,lasts=2s")]
    assert times == [15000, 17000, 30000, 32000, 45000, 47000]


def test_priorities_and_the_end_of_a_subflow() -> None:
    assert told("1s:a:backup,lasts=1s", "3s:b:close", "4s:a:backup") == [
        (1000, "a", "backup"),
        (2000, "a", "regular"),
        (3000, "b", "close"),
        (4000, "a", "backup"),
    ]


def test_a_backup_is_regular_again_when_it_is_said() -> None:
    assert told("1s:a:backup", "2s:a:regular", "3s:a:regular") == [
        (1000, "a", "backup"),
        (2000, "a", "regular"),
    ]


def test_what_happens_at_the_end_of_a_path_happens_before_it_in_any_order() -> None:
    expected = [(1000, "b", (1, 40, 0.01)), (1000, "b", "close")]
    later = "2s:b:change,rate=2mbit"
    assert told("1s:b:close", "1s:b:change,rate=1mbit", later) == expected
    assert told("1s:b:change,rate=1mbit", "1s:b:close", later) == expected


def test_a_path_without_a_rate_of_its_own_has_none_when_it_changes() -> None:
    (instant,) = timeline.instants(
        scenario("1s:a:change,delay=20ms", path=("a:link=l,delay=5ms", B), link=("l:1mbit,1ms",))
    )
    assert instant.up is not None
    assert (instant.up.rate_bps, instant.up.delay_ns) == (NO_RATE_BPS, 20 * MS)


def test_a_backup_stays_one_whatever_else_happens_to_it() -> None:
    assert told(
        "1s:a:backup", "2s:a:down", "3s:a:up", "4s:a:change,rate=5mbit", "5s:a:handover,lasts=1s"
    ) == [
        (1000, "a", "backup"),
        (2000, "a", (10, 10, 1.0)),
        (3000, "a", (10, 10, 0)),
        (4000, "a", (5, 10, 0)),
        (5000, "a", (0.5, 30, 0)),
        (6000, "a", (5, 10, 0)),
    ]


def test_what_happens_to_a_path_happens_both_ways() -> None:
    found = timeline.instants(
        scenario(
            "1s:a:down,lasts=1s",
            "3s:a:change,rate=x0.5,delay=x2,loss=1%,jitter=1ms,cross=1mbit",
            "4s:a:handover,lasts=1s",
            "6s:a:close",
            seed_delay="0us",
        )
    )
    assert [instant.at_ns // S for instant in found] == [1, 2, 3, 4, 5, 6]
    assert all(instant.up == instant.down for instant in found)
    last = found[-2].up
    assert last is not None
    assert (last.rate_bps, last.delay_ns, last.loss) == (5_000_000, 20 * MS, 0.01)
    assert (last.jitter_ns, last.cross_bps) == (1 * MS, 1_000_000)
    # what it was before is there again, not only what an event can change
    assert found[1].up == scenario().paths[0].up


def test_events_go_on_as_long_as_data_that_has_no_duration() -> None:
    # a run lasts for 600 s at most
    assert told("599s:a:down", duration=None, size="1MB") == [(599_000, "a", (10, 10, 1.0))]


def test_nothing_happens_to_a_path_that_is_closed() -> None:
    assert told("1s:b:close", "0s:b:change,rate=1mbit,every=900ms,lasts=100ms") == [
        (0, "b", (1, 40, 0.01)),
        (100, "b", (4, 40, 0.01)),
        (900, "b", (1, 40, 0.01)),
        (1000, "b", (4, 40, 0.01)),
        (1000, "b", "close"),
    ]


def test_an_address_that_returns_and_a_cable_that_is_plugged_in_again() -> None:
    assert told("1s:a:unplug,lasts=2s", "2s:b:close,lasts=1s,every=30s", "50s:b:close") == [
        (1000, "a", "unplug"),
        (2000, "b", "close"),
        (3000, "a", "plug"),
        (3000, "b", "open"),
        (32000, "b", "close"),
        (33000, "b", "open"),
        (50000, "b", "close"),
    ]
    found = timeline.instants(scenario("2s:b:close,lasts=1s,every=30s"))
    # an address that the server announces again has another number
    assert [instant.again for instant in found] == [False, True, True, True]


def test_an_address_that_is_given_up_for_good_while_it_is_away_does_not_return() -> None:
    assert told("1s:b:close,lasts=4s", "2s:b:close", "3s:b:change,rate=1mbit") == [
        (1000, "b", "close")
    ]


def test_an_event_does_not_begin_again_while_it_lasts() -> None:
    events = timeline.occurrences(scenario("0s:a:handover,every=500ms", duration="600s"))
    for one, after in pairwise(events):
        assert one.end_ns is not None
        assert one.end_ns <= after.begin_ns
    assert max((e.end_ns or 0) - e.begin_ns for e in events) > S


def test_random_times_hang_on_the_seed_and_the_event_alone() -> None:
    event = "0s:a:down,every=100ms,random=true,lasts=1ms"
    times = [o.begin_ns for o in timeline.occurrences(scenario(event))]
    assert (
        times
        == [o.begin_ns for o in timeline.occurrences(scenario(event, "5s:b:down"))][: len(times)]
        or sorted(times) == times
    )
    again = [o for o in timeline.occurrences(scenario(event, "5s:b:down")) if o.event.path == "a"]
    assert [o.begin_ns for o in again] == times
    other = [o.begin_ns for o in timeline.occurrences(scenario(event, seed=2))]
    assert other != times
    # 600 exponential gaps of 100 ms: their number is Poisson, of deviation sqrt(600) = 24.5;
    # 5 deviations
    assert 478 <= len(times) <= 722


def test_handovers_are_mostly_short_and_sometimes_take_seconds() -> None:
    events = timeline.occurrences(scenario("0s:a:handover,every=6s", duration="36000s"))
    lasted = [(o.end_ns or 0) - o.begin_ns for o in events]
    quick = [ns for ns in lasted if ns < 100 * MS]
    # 6000 of them, 85 % quick: deviation sqrt(6000 x 0.85 x 0.15) = 27.7; 5 deviations
    assert len(lasted) == 6000
    assert abs(len(quick) - 5100) <= 139
    assert min(quick) >= 20 * MS
    slow = [ns for ns in lasted if ns >= 100 * MS]
    assert all(1 * S <= ns < 5 * S for ns in slow)
    # They reach the ends of both ranges: that none of 5100 lies in a 400th of its range is of
    # probability (1 - 1/400)^5100 = 3e-6, and none of 900 in an 80th, 1e-5.
    assert min(quick) < 20.2 * MS
    assert max(quick) > 99.8 * MS
    assert min(slow) < 1.05 * S
    assert max(slow) > 4.95 * S


def test_too_many_are_refused() -> None:
    with pytest.raises(InputError, match=r"they happen 51000 times in all; at most 50000 are pos"):
        scenario("0s:a:handover,every=1ms", duration="51s")


def test_values_stay_within_what_a_link_can_be() -> None:
    (instant,) = timeline.instants(scenario("1s:a:change,rate=x0.001,delay=x1000"))
    slower = timeline.instants(
        scenario("1s:a:change,rate=x0.001", "2s:a:change,rate=x0.001", path=(A,), transport="tcp")
    )
    assert instant.up is not None
    assert (instant.up.rate_bps, instant.up.delay_ns) == (10_000, 10 * S)
    assert slower[-1].up is not None
    assert slower[-1].up.rate_bps == 1000


def test_a_jitter_that_a_short_delay_cut_is_back_when_there_is_room_for_it() -> None:
    found = timeline.instants(
        scenario(
            "1s:a:change,delay=5ms", "2s:a:change,delay=20ms", path=("a:10mbit,10ms,jitter=8ms",)
        )
    )
    # asked for are 8 ms, of which only 5 fit into a delay of 5 ms
    for direction in ("up", "down"):
        links = [getattr(instant, direction) for instant in found]
        assert [(link.delay_ns, link.jitter_ns) for link in links] == [
            (5 * MS, 5 * MS),
            (20 * MS, 8 * MS),
        ]


def test_a_jitter_asked_for_while_the_delay_is_short_waits_for_a_longer_one() -> None:
    found = timeline.instants(
        scenario(
            "1s:a:change,delay=1ms", "2s:a:change,jitter=4ms", "3s:a:change,delay=10ms", path=(A,)
        )
    )
    assert [(i.at_ns // S, i.up.delay_ns, i.up.jitter_ns) for i in found if i.up] == [
        (1, 1 * MS, 0),
        (2, 1 * MS, 1 * MS),
        (3, 10 * MS, 4 * MS),
    ]


def test_a_jitter_is_cut_by_the_delay_of_a_trace_only_while_that_is_short(tmp_path: Path) -> None:
    file = tmp_path / "delays.csv"
    file.write_text("time_s,delay_ms\n0,10\n1,5\n2,20\n3,20\n")
    found = timeline.instants(
        scenario(path=(f"a:10mbit,jitter=8ms,trace={file}",), duration="4s", transport="tcp")
    )
    assert [(i.at_ns // S, i.up.delay_ns, i.up.jitter_ns) for i in found if i.up] == [
        (1, 5 * MS, 5 * MS),
        (2, 20 * MS, 8 * MS),
    ]


def test_factors_that_led_out_of_what_a_link_can_be_lead_back_to_where_it_was() -> None:
    # 10 Mbit/s x 0.001 x 0.001 = 10 bit/s, of which a link can do 1000; 40 ms x 1000 = 40 s, at
    # most 10. Multiplied by 1000 twice, and by a thousandth, they are what they were.
    assert told(
        "1s:a:change,rate=x0.001",
        "2s:a:change,rate=x0.001",
        "3s:a:change,rate=x1000",
        "4s:a:change,rate=x1000",
        "5s:b:change,delay=x1000",
        "6s:b:change,delay=x0.001",
    ) == [
        (1000, "a", (0.01, 10, 0)),
        (2000, "a", (0.001, 10, 0)),
        (3000, "a", (0.01, 10, 0)),
        (4000, "a", (10, 10, 0)),
        (5000, "b", (4, 10_000, 0.01)),
        (6000, "b", (4, 40, 0.01)),
    ]


def test_a_very_small_rate_is_no_outage_and_an_outage_stays_one(two_steps: Path) -> None:
    small = [f"{at}s:b:change,rate=x0.001" for at in range(1, 6)]
    # 4 Mbit/s x 10^-15 is less than half a bit per second, but not nothing
    assert told(*small, "6s:b:change,rate=2mbit")[1:] == [
        (2000, "b", (0.001, 40, 0.01)),
        (6000, "b", (2, 40, 0.01)),
    ]
    # the trace has no rate from 2 s to 3 s
    path = (f"a:trace={two_steps}", "b:4mbit,40ms")
    assert told("2s:a:change,rate=x1000", path=path, duration="3s") == [
        (2000, "a", (0, 10, 0)),
        (3000, "a", (20_000, 30, 0)),
    ]


def test_the_rates_of_a_path_over_time() -> None:
    found = timeline.rates(
        scenario("1s:a:down,lasts=1s", "3s:a:change,rate=5mbit", "2s:b:close", "4s:a:backup")
    )
    mbit = 10**6
    assert found == {
        "a": [(0, 10 * mbit), (1 * S, 0), (2 * S, 10 * mbit), (3 * S, 5 * mbit)],
        "b": [(0, 4 * mbit), (2 * S, 0)],
    }


def test_a_path_without_carrier_or_address_has_no_rate_until_both_are_back() -> None:
    found = timeline.rates(
        scenario(
            "1s:a:unplug,lasts=3s", "2s:a:change,rate=5mbit", "3s:a:close,lasts=2s", "6s:b:backup"
        )
    )
    mbit = 10**6
    assert timeline.mean_rate_bps(found["a"], 1 * S, 5 * S) == 0
    assert found["a"][0] == (0, 10 * mbit)
    assert found["a"][-1] == (5 * S, 5 * mbit)
    assert found["b"] == [(0, 4 * mbit)]


def test_the_rates_of_the_two_ways_are_their_own() -> None:
    changing = scenario("1s:a:change,down.rate=2mbit", "2s:a:change,up.rate=3mbit")
    mbit = 10**6
    assert timeline.rates(changing)["a"] == [(0, 10 * mbit), (2 * S, 3 * mbit)]
    assert timeline.rates(changing, "down")["a"] == [(0, 10 * mbit), (1 * S, 2 * mbit)]


def test_the_sum_of_rates_changes_with_each_of_them() -> None:
    assert timeline.total([[(0, 10), (2, 5), (4, 0)], [(0, 1), (2, 3), (3, 7)]]) == [
        *((0, 11), (2, 8), (3, 12), (4, 7))
    ]
    assert timeline.total([[(0, 10), (1, 4)]]) == [(0, 10), (1, 4)]


def test_the_rate_through_links_is_the_lowest_of_all_at_any_time() -> None:
    mbit = 10**6
    through = scenario(
        "1s:link=l:change,rate=30mbit",
        "2s:a:change,rate=5mbit",
        "3s:link=l:down,lasts=1s",
        "5s:a:change,rate=40mbit",
        "5s:link=l:change,rate=8mbit",
        "6s:link=k:change,rate=7mbit",
        # at one time, what comes last counts
        *("7s:a:change,rate=3mbit", "7s:a:close"),
        path=("a:20mbit,10ms,link=l", "b:link=l/k,delay=1ms", B.replace("b:", "c:")),
        link=("l:10mbit,10ms", "k:9mbit,5ms"),
    )
    expected = {
        "a": [(0, 10), (1, 20), (2, 5), (3, 0), (4, 5), (5, 8), (7, 0)],
        # that of k, but for the outage of l, and where l has less
        "b": [(0, 9), (1, 9), (3, 0), (4, 9), (5, 8), (6, 7)],
        "c": [(0, 4)],
    }
    assert timeline.rates(through) == {
        path: [(at * S, rate * mbit) for at, rate in found] for path, found in expected.items()
    }
    assert timeline.link_rates(through, "up")["k"] == [(0, 9 * mbit), (6 * S, 7 * mbit)]
    assert [(i.at_ns // S, i.path) for i in timeline.instants(through)] == [
        (1, "l"), (2, "a"), (3, "l"), (4, "l"), (5, "a"), (5, "l"), (6, "k"), (7, "a"), (7, "a"),
    ]  # fmt: skip


def test_the_mean_rate_of_an_interval() -> None:
    rates = [(0, 10), (1 * S, 0), (2 * S, 40)]
    assert timeline.mean_rate_bps(rates, 0, 1 * S) == 10
    # half a second each of 10, of 40, and a second of nothing
    assert timeline.mean_rate_bps(rates, S // 2, 5 * S // 2) == 12.5
    assert timeline.mean_rate_bps(rates, 3 * S, 4 * S) == 40
    assert timeline.mean_rate_bps([(0, 7)], 3 * S, 4 * S) == 7


# --- traces


@pytest.fixture
def two_steps(tmp_path: Path) -> Path:
    """10 Mbit/s for 2 s, an outage of 1 s, 20 Mbit/s with 30 ms for 2 s."""
    file = tmp_path / "link.csv"
    file.write_text("time_s,rate_mbit,delay_ms\n0,10,10\n2,0,10\n3,20,30\n5,20,30\n")
    return file


def test_a_path_changes_as_its_trace_does(two_steps: Path) -> None:
    path = (f"a:trace={two_steps}", "b:4mbit,40ms")
    # 7 s, of which the last row has as many as the one before it, 2
    assert told(path=path, duration="10s") == [
        (2000, "a", (0, 10, 0)),
        (3000, "a", (20, 30, 0)),
        (7000, "a", (10, 10, 0)),
        (9000, "a", (0, 10, 0)),
        # the run ends in an outage, which goes on to its end
        (10_000, "a", (20, 30, 0)),
    ]


def test_a_trace_may_begin_in_the_middle_and_stay_at_its_end(two_steps: Path) -> None:
    file = two_steps.with_suffix(".toml")
    file.write_text(
        '[[path]]\nname = "a"\n[path.up.trace]\nfile = "link.csv"\noffset = "2500ms"\n'
        'repeat = false\n[path.down]\nrate = "1mbit"\ndelay = "5ms"\n'
    )
    (base,) = load_file(file).runs()
    assert (base.paths[0].up.rate_bps, base.paths[0].up.delay_ns) == (0, 10 * MS)
    assert base.paths[0].down.steps == ()
    (instant,) = timeline.instants(base)
    assert instant.at_ns == 500 * MS
    assert instant.up is not None
    assert instant.up.rate_bps == 20_000_000


def test_an_event_changes_what_the_trace_has_made(two_steps: Path) -> None:
    path = (f"a:trace={two_steps}", "b:4mbit,40ms")
    events = ("1s:a:change,rate=x0.5,lasts=3s", "2500ms:a:down,lasts=1s")
    assert told(*events, path=path, duration="6s") == [
        (1000, "a", (5, 10, 0)),
        (2000, "a", (0, 10, 0)),
        (2500, "a", (0, 10, 1.0)),
        (3000, "a", (10, 30, 1.0)),
        (3500, "a", (10, 30, 0)),
        (4000, "a", (20, 30, 0)),
    ]


def test_a_rate_that_an_event_asks_for_is_there_whatever_the_trace_has(two_steps: Path) -> None:
    path = (f"a:trace={two_steps}", "b:4mbit,40ms")
    assert told("1s:a:change,rate=2mbit", path=path, duration="4s") == [
        (1000, "a", (2, 10, 0)),
        (3000, "a", (2, 30, 0)),
    ]


def test_a_trace_is_played_both_ways_and_changes_only_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "link.csv"
    file.write_text("time_s,rate_mbit,loss_percent\n0,10,0\n1,5,2\n2,8,0\n3,8,0\n")
    played = scenario(path=(f"a:delay=10ms,trace={file}",), duration="3s", transport="tcp")
    assert [
        (i.at_ns // S, i.up.rate_bps // 10**6, i.up.delay_ns // MS, i.up.loss, i.up.steps)
        for i in timeline.instants(played)
        if i.up and i.up == i.down
    ] == [(1, 5, 10, 0.02, ()), (2, 8, 10, 0, ())]


def test_the_default_queue_is_for_the_mean_rate(two_steps: Path) -> None:
    (path, _) = scenario(path=(f"a:trace={two_steps}", B), duration="7s").paths
    # (2 s x 10 + 4 s x 20 Mbit/s) / 7 s = 14.2857 Mbit/s; a round trip of 20 ms at the start
    assert path.up.queue_packets == default_queue_packets(14_285_714, 20 * MS) == 24


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a:trace=nosuch.csv,delay=1ms", 'path.a.trace = "nosuch.csv": '),
        ("a:trace={},rate=1mbit,up.trace=x", 'path.a.up.trace = "x": '),
        ("a:trace={}", ": the trace has no delay, and the path has none, e.g. delay ="),
    ],
)
def test_a_trace_that_cannot_be_played_is_named(tmp_path: Path, path: str, message: str) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("time_s,rate_mbit\n0,10\n1,20\n")
    with pytest.raises(InputError) as error:
        scenario(path=(path.format(file), B))
    assert any(message in str(problem) for problem in error.value.problems), error.value


def test_a_trace_that_ends_in_an_outage_and_stays_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "end.csv").write_text("time_s,rate_mbit\n0,10\n1,0\n")
    file = tmp_path / "scenario.toml"
    file.write_text(
        '[[path]]\nname = "a"\ndelay = "1ms"\ntrace = { file = "end.csv", repeat = false }\n'
    )
    with pytest.raises(InputError, match="it ends in an outage and does not repeat"):
        load_file(file)
