# SPDX-License-Identifier: GPL-2.0-only
"""Figures of what the applications saw, from messages that are written down by hand."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from mptcplab.errors import RunError
from mptcplab.metrics import records
from mptcplab.metrics.application import application_figures, completion_times_ms
from mptcplab.metrics.definitions import ApplicationFigures, TransportFigures
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.workload import Video, messages
from tests.player import Player, assert_played, next_choice

MS = 10**6
SECOND = 10**9
T0 = 3 * SECOND


def scenario(text: str) -> Scenario:
    return from_flags(Flags(path=["a:10mbit,10ms"], workload=text)).base


def recorded(base: Scenario, times: Sequence[tuple[int, int]], choices: Sequence[int] = ()) -> Any:
    """Records of the messages: each due and complete so many ms after T0; -1: it never was."""
    found = np.zeros(len(times), records.MESSAGE_DTYPE)
    planned = messages(base.workload, base.seed)
    for i, (message, (due_ms, complete_ms)) in enumerate(zip(planned, times, strict=False)):
        choice = choices[i] if choices else 0
        found[i]["connection"] = message.connection
        found[i]["direction"] = records.DIRECTIONS.index(message.direction)
        found[i]["choice"] = choice
        found[i]["bytes"] = message.sizes[choice] if message.sizes else 0
        found[i]["due_ns"] = 0 if due_ms < 0 else T0 + due_ms * MS
        found[i]["complete_ns"] = 0 if complete_ms < 0 else T0 + complete_ms * MS
    return found


def figures(
    text: str, times: Sequence[tuple[int, int]], choices: Sequence[int] = ()
) -> dict[str, Any]:
    """The figures that there are."""
    base = scenario(text)
    found = application_figures(base, recorded(base, times, choices), T0)
    return {name: value for name, value in found if value is not None}


def test_a_call_has_figures_each_way() -> None:
    """Due at 0, 20, ..., 80 ms, up and down; of the five down, one comes late and one never."""
    up = [(0, 15), (20, 36), (40, 52), (60, 71), (80, 93)]
    down = [(0, 100), (20, 171), (40, 70), (60, -1), (80, 120)]
    both = [each for pair in zip(up, down, strict=True) for each in pair]
    text = "tunnel:duration=100ms,warmup=0s,direction=down"
    found = figures(text, [(0, 500), *both])
    # delays of 100, 151, 30 and 40 ms down, and of 15, 16, 12, 11 and 13 ms up
    names = ("delay_ms_median", "delay_ms_p95", "delay_ms_p99", "in_time", "lost")
    values = {"call": (40, 151, 151, 3 / 5, 1 / 5), "call_back": (13, 16, 16, 1, 0)}
    assert found == {
        f"{call}_{name}": value
        for call, mine in values.items()
        for name, value in zip(names, mine, strict=True)
    }
    base = scenario(text)
    durations = completion_times_ms(base, recorded(base, [(0, 500), *both]), T0)
    assert durations == [100, 151, 30, 40]


def test_bulk_and_runs_without_records_have_no_figures() -> None:
    base = scenario("bulk:size=5")
    none = ApplicationFigures()
    assert application_figures(base, recorded(base, [(0, 5)]), T0) == none
    assert application_figures(scenario("web"), None, T0) == none


def test_of_several_connections_those_count_that_carried_data() -> None:
    base = scenario("bulk:connections=3,direction=both")
    found = recorded(base, [(0, 9), (0, 9), (1, 9), (1, -1), (-1, -1), (-1, -1)])
    found["begin_ns"] = found["due_ns"]
    assert application_figures(base, found, T0) == ApplicationFigures(
        connections_established=2, connections_failed=2
    )
    with pytest.raises(RunError, match="records of 5 messages; the workload has 6"):
        application_figures(base, found[:5], T0)


def test_each_of_several_connections_completes_if_it_has_a_size() -> None:
    found = figures("bulk:connections=3,size=5", [(0, 9), (1, 12), (2, -1)])
    times = {f"completion_ms_{name}": 11 for name in ("p95", "p99", "max")}
    middle = {"completion_ms_mean": 10, "completion_ms_median": 9}
    counts = {"connections_established": 0, "connections_failed": 1, "completed": 2}
    assert found == {**counts, **times, **middle}


def test_a_transfer_takes_from_when_it_is_due_until_it_has_arrived() -> None:
    """5 transfers that take 10, 30, 20, 40 and 100 ms; a reply takes 5 ms each time."""
    times = [
        *((0, 10), (10, 15), (15, 45), (45, 50), (50, 70), (70, 75)),
        *((75, 115), (115, 120), (120, 220), (220, 225)),
    ]
    assert figures("transfers:count=5,size=1KB", times) == {
        "completed": 5,
        "completion_ms_mean": 40,
        "completion_ms_median": 30,
        "completion_ms_p95": 100,
        "completion_ms_p99": 100,
        "completion_ms_max": 100,
        # 5000 bytes in 200 ms
        "transfer_goodput_bps": 200_000,
    }


TWO, FOUR = [(0, 10), (10, 40), (40, 50), (50, 60)], [(0, 20), (250, 280), (500, 520), (750, 800)]


@pytest.mark.parametrize(
    ("text", "times", "expected"),
    [
        # a transfer down and a response take from their request on
        (
            *("transfers:count=2,size=1KB,direction=down", TWO),
            {"completion_ms_max": 40, "completion_ms_mean": 30},
        ),
        ("requests:count=2,think=0s", TWO, {"completed": 2, "completion_ms_mean": 30}),
        # only what has arrived is complete
        (
            *("transfers:count=2,size=1KB", [(0, 10), (10, 20), (20, -1), (-1, -1)]),
            {"completed": 1, "completion_ms_max": 10},
        ),
        (*("transfers:count=1", [(0, -1), (-1, -1)]), {"completed": 0, "completion_ms_mean": None}),
        # directions are not compared with each other: up 10 and 20 ms, down 110 and 150 ms vary by
        # 10 and 40
        (
            "cbr:interval=500ms,duration=1s,warmup=0s,direction=both",
            [(0, 10), (0, 110), (500, 520), (500, 650)],
            {"delay_variation_ms_mean": 25},
        ),
        # the warmup is left out; the request of a response counts: due in time, answered later
        (
            *("cbr:interval=250ms,duration=1s,warmup=500ms", FOUR),
            {"completed": 2, "delay_ms_mean": 35},
        ),
        (
            "requests:interval=500ms,duration=1s,warmup=400ms",
            [(0, 300), (300, 600), (500, 510), (510, 520)],
            {"completed": 1, "completion_ms_mean": 20},
        ),
        # a constant delay does not vary
        (
            "cbr:interval=250ms,duration=1s,warmup=0s",
            [(i * 250, i * 250 + 7) for i in range(4)],
            {"delay_ms_sd": 0, "delay_variation_ms_mean": 0},
        ),
        # delays of 10, 150, 151 ms, and one that never comes: 2 of 4 in time, 3 arrive
        (
            "frames:fps=4,duration=1s,warmup=0s",
            [(0, 10), (250, 400), (500, 651), (750, -1)],
            {"in_time": 0.5, "completed": 3, "delay_ms_max": 151},
        ),
    ],
)
def test_messages_have_figures(
    text: str, times: Sequence[tuple[int, int]], expected: dict[str, float | None]
) -> None:
    found = figures(text, times)
    assert {name: found.get(name) for name in expected} == expected


def test_percentiles_are_nearest_ranks() -> None:
    """Of 200: the 100th, the 190th, the 198th."""
    times = [(i * 1000, i * 1000 + 1 + (i * 7) % 200) for i in range(200)]
    found = figures("transfers:count=200,interval=1s,size=1KB", times)
    assert [found[f"completion_ms_{name}"] for name in ("median", "p95", "p99", "max")] == [
        *(100, 190, 198, 200)
    ]


def test_the_delay_of_blocks_and_how_it_varies() -> None:
    """Delays of 20, 30, 20 and 50 ms: mean 30, variance (100 + 0 + 100 + 400) / 4 = 150."""
    assert figures("cbr:interval=250ms,duration=1s,warmup=0s", FOUR) == {
        "completed": 4,
        "delay_ms_mean": 30,
        "delay_ms_sd": pytest.approx(150**0.5),
        "delay_variation_ms_mean": pytest.approx(50 / 3),
        "delay_ms_p99": 50,
        "delay_ms_max": 50,
    }


def test_a_page_is_loaded_with_its_last_object() -> None:
    base = scenario("web")
    count = len(messages(base.workload, 1))
    times = [(i, i + 500 - 3 * (i % 7)) for i in range(count)]
    found = figures("web", times)
    assert found["page_load_s"] == max(complete for _, complete in times[1::2]) / 1000
    times[7] = (7, -1)
    assert "page_load_s" not in figures("web", times)


def test_a_frame_is_playable_if_all_that_it_needs_is_there() -> None:
    """I, B and P at 0, 250, 500 ms; then the B after the P, which needs it, and so the I."""

    for first, third, playable in (
        (10, 510, 1),
        # the P is late, but there when the last B is wanted
        (10, 700, 0.75),
        # it never comes, and the B that does is of no use
        (10, -1, 0.5),
        # the I neither: nothing is
        (-1, 510, 0),
    ):
        times = [(0, first), (250, 260), (500, third), (750, 760)]
        found = figures("frames:fps=4,duration=1s,warmup=0s,gop=IBPB", times)
        assert found["playable"] == playable


# Video


def player(*arrivals: int, buffer: int = 12) -> Player:
    """A player of segments of 4, to which some have come."""
    found = Player(4, buffer)
    for at in arrivals:
        found.arrive(at)
    return found


@pytest.mark.parametrize(
    ("arrivals", "stalls"),
    [
        # dry at 6, 10 and 14 s: the last comes in the very moment
        ((2, 5, 10), (2, 0, 0)),
        # at 7, dry since 6, and at 20, dry since 7 + 4 + 4 = 15
        ((2, 7, 9, 20), (2, 2, 6)),
        ((), (None, None, None)),
    ],
    ids=["never dry", "stalls", "nothing came"],
)
def test_a_player_stalls_while_it_is_dry(
    arrivals: tuple[int, ...], stalls: tuple[int | None, int | None, int | None]
) -> None:
    times = [each for at in arrivals for each in ((0, 1), (1, 1000 * at))]
    found = figures(VIDEO, times + [(-1, -1)] * (8 - len(times)))
    assert tuple(found.get(name) for name in ("startup_s", "stalls", "stall_s")) == stalls


def test_the_next_request_waits_for_room() -> None:
    """Dry at 14 after three segments at 2, 3 and 4: with a buffer of 12, there is room for one of
    4 when no more than 8 are left, at 6; one of 20 has room at once."""
    assert player(2, 3, 4).request_due_ns() == 6
    assert player(2, 3, 4, buffer=20).request_due_ns() == 4
    assert player(2, 3, 4).level_ns(6) == 8
    assert player(2, 3, 4).level_ns(15) == 0
    assert player().level_ns(15) == 0


SIZES = (100, 200, 400, 800)  # f rises from 100 to 800: by 70 for each of the 10 of the cushion


@pytest.mark.parametrize(
    ("last", "level", "choice"),
    [
        (3, 0, 0),
        (3, 5, 0),  # the reservoir is 5
        (0, 15, 3),  # reservoir and cushion
        (0, 20, 3),
        (0, 6, 0),  # f = 170: not yet 200
        (0, 7, 1),  # f = 240: the highest below it
        (0, 10, 2),  # f = 450
        (0, 14, 2),  # f = 730: 800 is not below it
        (2, 14, 2),  # f = 730, between 200 and 800: stays
        (2, 8, 2),  # f = 310, above 200: stays
        (2, 6, 1),  # f = 170, not above 200: the lowest above f
        (3, 9, 2),  # f = 380, not above 400: the lowest above f
        (3, 10, 3),  # f = 450, above 400: stays
        (3, 6, 1),  # f = 170
    ],
)
def test_the_bitrate_follows_the_buffer_with_hysteresis(last: int, level: int, choice: int) -> None:
    assert next_choice(last, level, SIZES, 5, 10) == choice


def test_the_choice_is_exact_at_its_bounds_and_for_the_largest_numbers() -> None:
    # f is exactly 200: not less than the next bitrate, but that is not below f
    assert next_choice(0, 107, (100, 200, 800), 7, 700) == 0
    assert next_choice(0, 108, (100, 200, 800), 7, 700) == 1
    # a segment of 60 s at 1 Gbit/s, times a cushion of an hour, is more than 64 bits hold
    sizes = (7_500_000, 7_499_999_999, 7_500_000_000)
    cushion = 3600 * SECOND
    # f = 7.5e6 + 7492.5e6 x level / 3600 s reaches sizes[1] 0.48 us before the end
    assert next_choice(0, cushion - 481, sizes, 0, cushion) == 0
    assert next_choice(0, cushion - 480, sizes, 0, cushion) == 1


VIDEO = "video:bitrates=1mbit/3mbit,duration=16s,buffer=12s,reservoir=1s,cushion=4s"


def test_the_figures_of_a_video() -> None:
    """Segments of 4 s arrive at 1, 2, 20 and 21 s; of 1 and 3 Mbit/s, which are 0.5 and 1.5 MB.

    The player begins at 1 s; dry at 5. At 1 s 4 s are in the buffer: 0.5 + 1 x 3/4 = 1.25 MB are
    afforded, it stays low. At 2 s it would be dry at 9 s, with 7 s in the buffer, which is more
    than reservoir and cushion: 3 Mbit/s. That segment comes at 20 s, after a stall of 11 s, and
    leaves 4 s: 1.25 MB, not so little that it would go down. The last one comes at 21 s, and is
    3 Mbit/s.
    """
    times = [(0, 0), (0, 1000), (1000, 1001), (1001, 2000)]
    times += [(2000, 2001), (2001, 20000), (20000, 20001), (20001, 21000)]
    found = figures(VIDEO, times, [0, 0, 0, 0, 0, 1, 0, 1])
    expected = {
        "completed": 4, "startup_s": 1, "stalls": 1, "stall_s": 11, "bitrate_bps": 2_000_000,
        "switches": 1, "completion_ms_median": 1000, "completion_ms_max": 18000,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    # it is played as far as it arrived
    found = figures(VIDEO, [(0, 0), (0, 1000), (1000, 1001), (1001, -1), *[(-1, -1)] * 4])
    assert (found["startup_s"], found["stalls"], found["bitrate_bps"]) == (1, 0, 1_000_000)


@pytest.mark.parametrize(
    ("due_ms", "choice", "message"),
    [
        (1000, 1, "segment 2 has bitrate number 0"),
        (1001, 0, "segment 2 is due at 4000000000"),
        (1000, 0, ""),
    ],
)
def test_another_player_in_the_guest_is_found_out(due_ms: int, choice: int, message: str) -> None:
    base = scenario(VIDEO)
    assert isinstance(base.workload, Video)
    times = [(0, 1), (1, 1000), (due_ms, 1001), (1001, 2000)] + [(-1, -1)] * 4
    played = recorded(base, times, [0, 0, 0, choice, 0, 0, 0, 0])
    planned = messages(base.workload, base.seed)
    with pytest.raises(AssertionError, match=message) if message else nullcontext():
        assert_played(base.workload, planned, played, T0)


# Mistakes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"connection": 2}, "connection 2, up, choice 0 and 1000 bytes; the message has 1, up"),
        ({"direction": 1}, "connection 1, down, choice 0 and 1000 bytes; the message has 1, up"),
        ({"choice": 1}, r"choice 1 and 1000 bytes; the message has 1, up, of \(1000,\)"),
        ({"bytes": 999}, r"choice 0 and 999 bytes; the message has 1, up, of \(1000,\)"),
    ],
)
def test_records_of_other_messages_are_refused(change: dict[str, int], message: str) -> None:
    base = scenario("transfers:count=1,size=1KB")
    wrong = recorded(base, [(0, 10), (10, 20)])
    for name, value in change.items():
        wrong[0][name] = value
    with pytest.raises(RunError, match=message):
        application_figures(base, wrong, T0)
    base = scenario("transfers:count=2")
    with pytest.raises(RunError, match="records of 2 messages; the workload has 4"):
        application_figures(base, recorded(base, [(0, 1), (1, 2)]), T0)


def test_every_metric_has_a_name_of_its_own() -> None:
    assert not TransportFigures.model_fields.keys() & ApplicationFigures.model_fields.keys()
