# SPDX-License-Identifier: GPL-2.0-only
"""The models of the published schedulers, by states computed by hand.

A segment is 1448 bytes. Round-trip times are in us, which TCP keeps in eighths.
"""

from __future__ import annotations

import math
import random
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from checks.oracle.backup import Backup
from checks.oracle.blest import Blest
from checks.oracle.burst import Burst
from checks.oracle.daps import Daps
from checks.oracle.earliest import Earliest
from checks.oracle.ecf import Ecf, complete_earlier, queued_bytes
from checks.oracle.first import First
from checks.oracle.inorder import InOrder
from checks.oracle.minrtt import MinRtt
from checks.oracle.musher import Control, Musher
from checks.oracle.ols import Interval, Learner, Ols
from checks.oracle.otias import Otias, metric_8us
from checks.oracle.peekaboo import SEND_ARM, WAIT_ARM, LinUcb, Peekaboo, tz
from checks.oracle.raven import Mean, Raven
from checks.oracle.state import (
    DUPLICATE,
    EVENT,
    INFINITE_SSTHRESH,
    NEW,
    REINJECTION,
    WAIT,
    Answer,
    Asked,
    Done,
    Question,
    Segment,
    Subflow,
)
from checks.oracle.sttf import Sttf
from checks.oracle.thinstream import ThinStream
from checks.oracle.v09x import Model
from checks.oracle.weighted import Weighted

MSS = 1448
NOTHING: frozenset[int] = frozenset()


def subflow(number: int, rtt_us: int, **more: Any) -> Subflow:
    """One with room for ten segments; what is not named here or in `more` is 0 or false."""
    values = {each.name: 0 if each.type == "int" else False for each in fields(Subflow)} | {
        "index": number - 1,
        "id": number,
        "usable": True,
        "can_send": True,
        "mss": MSS,
        **dict.fromkeys(("srtt_8us", "last_rtt_8us"), rtt_us * 8),
        "last_rtt_us": rtt_us,
        "cwnd": 10,
        "ssthresh": 10,
        "limit": 0xFFFFFFFF,
        "packets_out": more.get("in_flight", 0),
        "window_bytes": 1 << 20,
        "pacing_rate": (1 << 64) - 1,
    }
    return Subflow(**(values | more))


def question(*subflows: Subflow, **more: Any) -> Question:
    """64 unsent segments, none sent."""
    values: dict[str, Any] = {
        "time_ns": 10**9,
        "connection": 1,
        "scheduler": "",
        **dict.fromkeys(("una_seq", "nxt_seq", "head_sent"), 0),
        **dict.fromkeys(("window_end_seq", "window_bytes"), 1 << 30),
        "unsent_bytes": 64 * MSS,
        "segment_bytes": MSS,
        "jiffies": 1000,
        **dict.fromkeys(("writer_waits", "sndbuf_full"), False),
        "head": Segment(0, MSS, NOTHING),
        **dict.fromkeys(("oldest", "reinjection")),
        "subflows": list(subflows),
    }
    return Question(**(values | more))


def picks(model: Model, asked: Question, count: int, size: int = MSS) -> list[int]:
    """On which subflows that many new segments go, one after the other, all else unchanged."""
    found = []
    for _ in range(count):
        answer = model.choose(asked)
        model.took(Asked(asked, answer))
        if answer.what != WAIT:
            model.done(Done(asked.time_ns, 1, answer.what, answer.subflow, answer.seq, size))
        found.append(answer.subflow)
    return found


# --- what all have in common


def test_minrtt_takes_the_lowest_rtt_with_room() -> None:
    fast, slow = subflow(1, 20_000), subflow(2, 50_000)
    assert MinRtt({}).choose(question(fast, slow)) == Answer(NEW, 1, 0)
    full = subflow(1, 20_000, in_flight=10)
    assert MinRtt({}).choose(question(full, slow)) == Answer(NEW, 2, 0)
    queued = subflow(1, 20_000, in_flight=8, unsent_bytes=2 * MSS - 1)
    assert MinRtt({}).choose(question(queued, slow)).subflow == 1
    queued = subflow(1, 20_000, in_flight=8, unsent_bytes=2 * MSS)
    assert MinRtt({}).choose(question(queued, slow)).subflow == 2
    assert MinRtt({}).choose(question(subflow(1, 20_000, ca_state=4), slow)).subflow == 2


def test_of_equal_round_trip_times_the_newest_subflow_wins() -> None:
    assert MinRtt({}).choose(question(subflow(1, 20_000), subflow(2, 20_000))).subflow == 2


def test_a_backup_is_for_when_no_other_can_be_used_at_all() -> None:
    backup = subflow(2, 10_000, backup=True)
    assert MinRtt({}).choose(question(subflow(1, 20_000), backup)).subflow == 1
    full = subflow(1, 20_000, in_flight=10)
    assert MinRtt({}).choose(question(full, backup)).what == WAIT
    gone = subflow(1, 20_000, usable=False)
    assert MinRtt({}).choose(question(gone, backup)).subflow == 2


def test_a_reinjection_avoids_who_has_carried_it() -> None:
    segment = Segment(7, MSS, frozenset({1}))
    asked = question(subflow(1, 20_000), subflow(2, 50_000), reinjection=segment)
    assert MinRtt({}).choose(asked) == Answer(REINJECTION, 2, 7)
    # the other one is full: the mask is cleared, and it is sent on the first again
    full = subflow(2, 50_000, in_flight=10)
    asked = question(subflow(1, 20_000), full, reinjection=segment)
    assert MinRtt({}).choose(asked) == Answer(REINJECTION, 1, 7)


def blocked(window: int, **fast: Any) -> Question:
    """The head does not fit; the oldest segment is on the slow subflow."""
    return question(
        subflow(1, 10_000, **fast),
        subflow(2, 50_000, cwnd=20, ssthresh=INFINITE_SSTHRESH),
        head=Segment(10 * MSS, MSS, NOTHING),
        nxt_seq=10 * MSS,
        oldest=Segment(0, MSS, frozenset({2})),
        window_end_seq=window,
    )


def test_the_oldest_segment_is_repeated_when_the_window_is_full() -> None:
    # 4 x 10 ms < 50 ms
    assert MinRtt({}).choose(blocked(11 * MSS - 1)) == Answer(DUPLICATE, 1, 0)
    assert MinRtt({}).choose(blocked(11 * MSS)) == Answer(NEW, 1, 10 * MSS)
    # 4 x 12.5 ms is no less than 50 ms, and the slow one's window is more than 4
    assert MinRtt({}).choose(blocked(11 * MSS - 1, srtt_8us=12_500 * 8)).what == WAIT


def test_a_penalty_halves_once_in_a_round_trip_of_the_fast_one() -> None:
    model = MinRtt({})
    first = blocked(11 * MSS - 1)
    model.choose(first)
    assert first.subflows[1].cwnd == 20, "the rate limit counts from the subflow's beginning"
    second = blocked(11 * MSS - 1)
    second.jiffies += 3  # of 4 ms
    model.choose(second)
    # in slow start the threshold stays
    assert (second.subflows[1].cwnd, second.subflows[1].ssthresh) == (10, INFINITE_SSTHRESH)
    third = blocked(11 * MSS - 1)
    third.jiffies += 5
    model.choose(third)
    assert third.subflows[1].cwnd == 20


def test_without_rp_nothing_is_repeated_and_nobody_penalised() -> None:
    asked = blocked(11 * MSS - 1)
    asked.jiffies += 1000
    assert MinRtt({"rp": 0}).choose(asked).what == WAIT
    assert asked.subflows[1].cwnd == 20


def test_v089_looks_at_the_window_of_the_subflow_and_at_small_queues() -> None:
    slow = subflow(2, 50_000)
    for fast in (subflow(1, 20_000, window_bytes=MSS - 1), subflow(1, 20_000, throttled=True)):
        assert MinRtt({"v089": 1}).choose(question(fast, slow)).subflow == 2
        assert MinRtt({}).choose(question(fast, slow)).subflow == 1
    enough = subflow(1, 20_000, window_bytes=MSS)
    assert MinRtt({"v089": 1}).choose(question(enough, slow)).subflow == 1


def test_v089_takes_a_backup_only_where_nothing_else_is_established() -> None:
    backup = subflow(2, 10_000, backup=True)
    silent = subflow(1, 20_000, usable=False)
    assert MinRtt({"v089": 1}).choose(question(silent, backup)).what == WAIT
    gone = subflow(1, 20_000, usable=False, can_send=False)
    assert MinRtt({"v089": 1}).choose(question(gone, backup)).subflow == 2


def test_v089_penalises_only_the_newest_that_carries_the_oldest_segment() -> None:
    for params, windows in (({}, [10, 10]), ({"v089": 1}, [20, 10])):
        model = MinRtt(params)
        for jiffies in (1000, 1003):
            asked = blocked(11 * MSS - 1)
            asked.subflows.append(subflow(3, 60_000, cwnd=20, ssthresh=INFINITE_SSTHRESH))
            asked.oldest = Segment(0, MSS, frozenset({2, 3}))
            asked.jiffies = jiffies
            model.choose(asked)
        assert [each.cwnd for each in asked.subflows[1:]] == windows


def test_bm_leaves_a_bloated_path_a_part_of_its_window() -> None:
    # 30 * 20 ms / 200 ms: three of ten segments, since the second ACK
    model = MinRtt({"bm": 1})
    for acked, rtt_us, in_flight, answer in (
        (0, 200_000, 9, 2),
        (1, 20_000, 9, 2),
        (2, 200_000, 2, 2),
        (2, 200_000, 3, 0),
        # and two at least
        (3, 400_000, 1, 2),
        (3, 400_000, 2, 0),
    ):
        far = subflow(2, rtt_us, in_flight=in_flight, snd_una=acked)
        asked = question(subflow(1, 10_000, in_flight=10), far)
        assert model.choose(asked).subflow == answer, acked


def test_a_subflow_of_a_small_window_is_repeated_whatever_its_rtt() -> None:
    asked = blocked(11 * MSS - 1, srtt_8us=30_000 * 8)
    asked.subflows[1].cwnd = 4
    assert MinRtt({}).choose(asked) == Answer(DUPLICATE, 1, 0)


# --- each


def test_first() -> None:
    asked = question(subflow(1, 20_000, usable=False), subflow(2, 10_000), subflow(3, 5_000))
    assert First({}).choose(asked) == Answer(NEW, 2, 0)


def test_backup() -> None:
    backup = subflow(1, 5_000, backup=True)
    asked = question(backup, subflow(2, 20_000), subflow(3, 10_000))
    assert Backup({}).choose(asked) == Answer(NEW, 2, 0)
    gone = subflow(2, 20_000, usable=False)
    assert Backup({}).choose(question(backup, gone)) == Answer(NEW, 1, 0)
    lost = Segment(7, MSS, frozenset({3}))
    asked = question(backup, subflow(2, 20_000), reinjection=lost)
    assert Backup({}).choose(asked) == Answer(REINJECTION, 2, 7)


def test_burst_takes_the_soonest_empty_queue_and_stays_for_a_burst() -> None:
    # 60 and 50 ms; windows and round trips say nothing
    one = subflow(1, 1_000, wmem_queued=60_000, pacing_rate=1_000_000)
    two = subflow(2, 90_000, wmem_queued=100_000, pacing_rate=2_000_000, in_flight=10)
    asked = question(one, two)
    model = Burst({})
    assert picks(model, asked, 1) == [2]
    # 65428 bytes of 1448: 46 segments, and then the first, whose queue is empty by now
    one.wmem_queued = 0
    assert picks(model, asked, 47) == [2] * 45 + [1] * 2
    one.memory_full = True
    assert model.choose(asked).what == WAIT, "the best has no memory left"
    # what has not been done ends the burst; the rate was averaged with each
    model = Burst({})
    one = subflow(1, 1_000, wmem_queued=65_428, pacing_rate=1_000_000)
    model.choose(question(one))
    one.pacing_rate = 3_000_000
    model.choose(question(one))
    assert model.average[1] == 2_000_000


def test_burst_sends_again_what_is_on_stale_subflows_alone() -> None:
    lost = Segment(7, MSS, frozenset({1}))
    one, two = subflow(1, 1_000, usable=False), subflow(2, 1_000)
    asked = question(one, two, reinjection=lost)
    assert Burst({}).choose(asked) == Answer(NEW, 2, 0)
    one.stale = True
    assert Burst({}).choose(asked) == Answer(REINJECTION, 2, 7)


@pytest.mark.parametrize(
    ("window", "ssthresh", "answer"),
    [
        # linger 100 ms, 6 rounds of 20 ms: (max(10, 11) + 5 // 2) * 6 = 78 packets, by 1.2 135532
        # bytes; 131072 - 1448 = 129624 are left of the window
        (131_072, 10, Answer(WAIT)),
        (262_144, 10, Answer(NEW, 2, 0)),
        # in slow start 10 * (2^6 - 1) = 630 packets, 1094688 bytes
        (262_144, INFINITE_SSTHRESH, Answer(WAIT)),
    ],
)
def test_blest(window: int, ssthresh: int, answer: Answer) -> None:
    fast = subflow(1, 20_000, in_flight=10, ssthresh=ssthresh)
    asked = question(fast, subflow(2, 100_000), window_bytes=window)
    assert Blest({}).choose(asked) == answer


def test_blest_of_the_paper() -> None:
    # r = 5: (10 + 4 / 2) * 5 = 60 packets, by 1.2 72; and one of the slow one, which has none
    for segments, answer in ((73, 2), (72, 0)):
        fast = subflow(1, 20_000, in_flight=10, ssthresh=INFINITE_SSTHRESH)
        asked = question(fast, subflow(2, 100_000), window_bytes=segments * MSS)
        assert Blest({"paper": 1}).choose(asked).subflow == answer


def test_the_ratio_of_two_round_trips_in_thousandths() -> None:
    # r = 191469.5 / 22929.5: (38 + 3.67519) * 8.35035 = 348.002 packets, but 347.986 with 8.350;
    # by 1.2 and less than a packet: 349 segments of 1448 bytes fit, not 348
    window = (348 * 12 // 10 + 1) * MSS - 1
    fast = subflow(1, 0, srtt_8us=183_436, cwnd=38, in_flight=38)
    slow = subflow(2, 0, srtt_8us=1_531_756)
    assert Blest({"paper": 1}).choose(question(fast, slow, window_bytes=window)).what == WAIT
    asked = question(fast, slow, window_bytes=window, whole_us=True)
    assert Blest({"paper": 1}).choose(asked).subflow == 2


def test_lambda_of_blest_falls_once_in_a_round_trip() -> None:
    # 100 ms, in ticks of 4 ms
    model = Blest({})
    for jiffies, expected in ((1000, 1200), (1024, 1200), (1025, 1190), (1049, 1190)):
        fast = subflow(1, 20_000, in_flight=10)
        model.choose(question(fast, subflow(2, 100_000), jiffies=jiffies))
        assert model.lambda_1000 == expected


@pytest.mark.parametrize(
    ("queued", "waiting", "verdict"),
    [
        # cwnd 10 of both, 20 and 100 ms, no deviation: with k of 39 segments
        # 20 * (39 + 10) = 980 < 10 * 100, and 100 * 39 >= 10 * 40
        (39, 0, 1),
        (40, 0, 0),
        # with a margin of a quarter: 20 * (52 + 10) = 1240 < 1250
        (52, 1, 1),
        (53, 1, 0),
        # the floor of the source: nothing waits, and yet 100 * 10 >= 10 * 40
        (0, 0, 1),
    ],
)
def test_ecf(queued: int, waiting: int, verdict: int) -> None:
    fast, slow = subflow(1, 20_000), subflow(2, 100_000)
    found = complete_earlier(fast, slow, queued * MSS, 0, waiting, at_least_window=True)
    assert found == verdict


@pytest.mark.parametrize(("unsent", "answer"), [(3, 2), (4, 0), (39, 0), (40, 2)])
def test_ecf_of_the_paper(unsent: int, answer: int) -> None:
    # the same without the floor: 100 * 3 < 10 * 40 <= 100 * 4
    fast, slow = subflow(1, 20_000, in_flight=10), subflow(2, 100_000)
    asked = question(fast, slow, unsent_bytes=unsent * MSS)
    assert Ecf({"paper_k": 1, "paper_delta": 1}).choose(asked).subflow == answer


def test_delta_of_the_paper_is_the_larger_mean_deviation() -> None:
    # 20 * 49 < 10 * (98 + 1), but not 10 * 98; what TCP keeps for its timeout does not count
    for deviation_us, answer in ((0, 2), (1000, 0)):
        fast = subflow(1, 20_000, in_flight=10, rttvar_us=deviation_us)
        slow = subflow(2, 98_000, rttvar_4us=200_000)
        asked = question(fast, slow, unsent_bytes=39 * MSS)
        assert Ecf({"paper_k": 1, "paper_delta": 1}).choose(asked).subflow == answer


def test_ecf_counts_what_no_subflow_has() -> None:
    # 3 segments are queued on the fast subflow and 2 have arrived there, for which the connection
    # has no ACK yet: it holds 15 that were handed on, of which 13 are on the subflow, 10 on the way
    fast = subflow(1, 20_000, in_flight=10, outstanding_bytes=13 * MSS, unsent_bytes=3 * MSS)
    for unsent, expected in ((50, 47), (2, 0)):
        asked = question(fast, nxt_seq=15 * MSS, unsent_bytes=unsent * MSS)
        assert queued_bytes(asked, asked.subflows) == expected * MSS


def test_linux_keeps_the_deviation_of_ecf_at_100_ms() -> None:
    # 20 * (10 + 10) < 10 * (60 + 100), but 60 * 10 < 10 * (40 + 100)
    for deviation, answer in ((200_000, 2), (0, 0)):
        fast = subflow(1, 20_000, in_flight=10, rttvar_4us=deviation)
        slow = subflow(2, 60_000, rttvar_4us=deviation)
        assert Ecf({}).choose(question(fast, slow, unsent_bytes=MSS)).subflow == answer


def test_half_a_round_trip_of_otias_in_whole_us() -> None:
    # 3 * 12913.625 + 6456.8125 > 2 * 18078 + 9039 us, but 3 * 12913 + 6456 is as much
    first = subflow(1, 0, srtt_8us=103_309, cwnd=68, in_flight=67, unsent_bytes=144 * MSS)
    second = subflow(2, 18_078, in_flight=10, unsent_bytes=10 * MSS)
    assert Otias({}).choose(question(first, second)).subflow == 2
    in_us = replace(first, srtt_8us=103_309 & ~7)
    asked = question(in_us, second, whole_us=True, newest_first=False)
    assert Otias({}).choose(asked).subflow == 1


def test_otias() -> None:
    fast = [
        subflow(1, 20_000, in_flight=10, unsent_bytes=queued * MSS) for queued in (0, 9, 10, 19)
    ]
    # rounds of 20 ms until a place is free, and half of one
    assert [metric_8us(each) // 8 for each in fast] == [30_000, 30_000, 50_000, 50_000]
    slow = subflow(2, 100_000)
    assert metric_8us(slow) == 50_000 * 8
    assert Otias({}).choose(question(fast[1], slow)).subflow == 1
    assert Otias({}).choose(question(fast[2], slow)).subflow == 2, "a tie"
    # what was sent once is not queued
    again = Segment(0, MSS, frozenset({2}))
    asked = question(fast[0], slow, reinjection=again)
    assert Otias({}).choose(asked) == Answer(REINJECTION, 2, 0)


def test_sttf_plans_unless_round_trips_are_alike() -> None:
    full = subflow(1, 20_000, in_flight=10)
    alike = question(full, subflow(2, 21_000, in_flight=10))
    assert Sttf({}).choose(alike).what == WAIT
    # of the fast one, 11 segments arrive at 30 ms and 12 more at 50; of the slow one, at 45 ms
    asked = question(full, subflow(2, 90_000))
    assert Sttf({}).choose(asked) == Answer(NEW, 2, 11 * MSS)
    few = question(full, subflow(2, 90_000), unsent_bytes=11 * MSS)
    assert Sttf({}).choose(few).what == WAIT
    # the next segment would arrive first on one that TCP holds back
    held = subflow(1, 20_000, in_flight=10, throttled=True)
    assert Sttf({}).choose(question(held, subflow(2, 90_000))).what == WAIT


def test_daps() -> None:
    # delays of 12 and 36 ms, so within 36 ms the first has three turns of 10, the second one of 4
    asked = question(subflow(1, 20_000), subflow(2, 68_000, cwnd=4))
    assert picks(Daps({}), asked, 40) == [1] * 30 + [2] * 4 + [1] * 6


def test_daps_repeats_what_a_subflow_with_room_lacks() -> None:
    model = Daps({})
    model.done(Done(0, 1, NEW, 1, 0, MSS))
    model.done(Done(0, 1, NEW, 2, MSS, MSS))
    asked = question(
        subflow(1, 20_000),
        subflow(2, 60_000, in_flight=10),
        oldest=Segment(0, MSS, frozenset({1})),
        head=Segment(2 * MSS, MSS, NOTHING),
        nxt_seq=2 * MSS,
        window_end_seq=2 * MSS,
    )
    assert model.choose(asked) == Answer(DUPLICATE, 1, MSS)


def sent_in_a_row(model: Model, asked: Question, count: int) -> list[int]:
    """On which subflows the next segments go, and are there at once; of `unsent_bytes` in all."""
    found = []
    for n in range(count):
        left = asked.unsent_bytes - n * MSS
        now = replace(asked, head=Segment(n * MSS, MSS, NOTHING), unsent_bytes=left)
        answer = model.choose(now)
        model.took(Asked(now, answer))
        found.append(answer.subflow)
    return found


def test_buffers_of_musher() -> None:
    only = subflow(1, 20_000)
    full = subflow(1, 20_000, in_flight=10)
    # 64 KB hold 45 segments of 1448 bytes; they all go with the first, and count for the share of
    # 100 of the first round; then it waits for room
    model = Musher({})
    asked = question(only, unsent_bytes=400 * MSS)
    assert sent_in_a_row(model, asked, 1) == [1]
    assert model.quota == {1: 45}
    assert model.handed_end == 45 * MSS
    at_44 = replace(asked, head=Segment(44 * MSS, MSS, NOTHING), subflows=[full])
    assert model.choose(at_44) == Answer(NEW, 1, 44 * MSS)
    at_45 = replace(asked, head=Segment(45 * MSS, MSS, NOTHING), subflows=[full])
    assert model.choose(at_45).what == WAIT
    # half of a window of 20 segments; what the window has room for, though all of it counts
    cases: list[tuple[dict[str, Any], int, int]] = [
        ({"window_bytes": 20 * MSS}, 10, 10),
        ({"window_end_seq": 7 * MSS}, 7, 45),
        ({"unsent_bytes": 3 * MSS - 1}, 3, 3),
    ]
    for more, handed, counted in cases:
        model = Musher({})
        sent_in_a_row(model, replace(asked, **more), 1)
        assert -(-model.handed_end // MSS) == handed
        assert model.quota == {1: counted}


def test_search_of_musher() -> None:
    control = Control()
    rates = iter([10_000] * 6 + [300_000] * 5)
    now = 3000
    for rate in rates:
        control.tick(now, rate, 0)
        now += 101
    assert control.searching, "200 Mbit/s more in five intervals"
    ratios = []
    for rate in (300_000, 306_000, 306_000, 305_000):
        control.tick(now, rate, 0)
        ratios.append(control.ratio)
    # a step to the right, better by more than 5 Mbit/s, on, no worse, on, worse, back
    assert ratios == [55, 60, 65, 60]
    assert not control.searching


def test_inorder_leaves_segments_to_the_full_fast_path() -> None:
    # CommD of 10 and 70 ms: the fast path, whose window is full, delivers 10 segments at 30 ms, 10
    # at 50, and then at 70, a tie in which the newest is first; so the slow one gets the 21st
    fast = subflow(1, 20_000, in_flight=10, commd_us=10_000)
    slow = subflow(2, 100_000, commd_us=70_000)
    assert InOrder({}).choose(question(fast, slow)) == Answer(NEW, 2, 20 * MSS)
    free = subflow(1, 20_000, commd_us=10_000)
    assert InOrder({}).choose(question(free, slow)) == Answer(NEW, 1, 0)
    few = question(fast, slow, unsent_bytes=20 * MSS)
    assert InOrder({}).choose(few).what == WAIT
    # two that the window of now has room for, and of three, one takes a place in the next one
    for queued, before in ((2 * MSS, 20), (2 * MSS + 1, 19), (3 * MSS, 19)):
        fast = subflow(1, 20_000, in_flight=8, commd_us=10_000, unsent_bytes=queued)
        assert InOrder({}).choose(question(fast, slow)) == Answer(NEW, 2, before * MSS)


def test_inorder_compares_no_communication_delay_with_half_a_round_trip() -> None:
    # 2 s have the clocks' difference in them, so half of each RTT counts: the fast one delivers 10
    # segments at 10 + 20 ms, and 10 at 50, a tie in which the newest is first
    fast = subflow(1, 20_000, in_flight=10, commd_us=2_000_000)
    slow = subflow(2, 100_000)
    assert InOrder({}).choose(question(fast, slow)) == Answer(NEW, 2, 10 * MSS)


def test_inorder_sends_nothing_else_while_a_reinjection_cannot_be_placed() -> None:
    segment = Segment(7, MSS, frozenset({1}))
    full = subflow(2, 50_000, in_flight=10)
    asked = question(subflow(1, 20_000, in_flight=10), full, reinjection=segment)
    assert InOrder({}).choose(asked).what == WAIT


def test_earliest_leaves_to_the_full_fast_path_what_it_delivers_until_then() -> None:
    # 10 segments per 20 ms, and half the RTTs differ by 40 ms: 20 segments
    fast, slow = subflow(1, 20_000, in_flight=10), subflow(2, 100_000)
    assert Earliest({}).choose(question(fast, slow)) == Answer(NEW, 2, 20 * MSS)
    assert Earliest({}).choose(question(fast, slow, unsent_bytes=20 * MSS)).what == WAIT
    # the variation counts for the place alone: 5 more in 10 ms
    varied = subflow(2, 100_000, rttvar_us=10_000)
    assert Earliest({}).choose(question(fast, varied)) == Answer(NEW, 2, 25 * MSS)
    few = question(fast, varied, unsent_bytes=21 * MSS)
    assert Earliest({}).choose(few) == Answer(NEW, 2, 20 * MSS)
    # in slow start: 10 segments in 20 ms, and 20 in the next
    starts = subflow(1, 20_000, in_flight=10, ssthresh=1000, min_rtt_us=20_000)
    assert Earliest({}).choose(question(starts, slow)) == Answer(NEW, 2, 30 * MSS)


def test_earliest_keeps_two_packets_in_the_queue_of_a_paced_subflow() -> None:
    for queued, what in ((2 * MSS, NEW), (2 * MSS + 1, WAIT)):
        paced = subflow(1, 20_000, pacing_rate=500_000, unsent_bytes=queued)
        assert Earliest({}).choose(question(paced)).what == what


def test_earliest_measures_in_each_least_rtt_and_fades_by_an_eighth() -> None:
    model, rates = Earliest({}), []
    for ms, una, usable, cwnd in (
        *((0, 0, True, 10), (1, 1000, True, 10), (11, 101_000, True, 10), (15, 102_000, True, 10)),
        *((21, 103_000, True, 10), (25, 103_000, False, 10), (32, 103_001, True, 10)),
        # given up, which does not end it, and a timeout, which does
        *((35, 103_001, False, 10), (36, 103_001, False, 1), (50, 203_001, True, 2)),
    ):
        path = subflow(1, 11_000, min_rtt_us=10_000, in_flight=1, snd_una=una)
        path = replace(path, usable=usable, cwnd=cwnd)
        model.choose(question(path, time_ns=10**9 + ms * 10**6))
        rates.append(model.measured[1].rate)
    once, twice = 8_750_000, 7_656_250
    assert rates == [0, 0, *2 * [10**7], *2 * [once], *4 * [twice]]


def test_earliest_repeats_the_oldest_segment_for_more_than_four_times_its_rtt() -> None:
    oldest = Segment(0, MSS, frozenset({2}))
    for rtt_us, what in ((80_000, WAIT), (80_001, DUPLICATE)):
        paths = subflow(1, 20_000), subflow(2, rtt_us, in_flight=10)
        full = question(*paths, unsent_bytes=0, head=None, oldest=oldest, writer_waits=True)
        assert Earliest({"repeat": 1}).choose(full).what == what
        assert Earliest({}).choose(full).what == WAIT
        full.writer_waits = False
        assert Earliest({"repeat": 1}).choose(full).what == WAIT


def test_arms_of_ols() -> None:
    # each arm once, then by mean + sqrt(2 ln n / n_j): half has 0.75 + 1.665, none 1 + 1.177
    learner = Learner(Interval(0))
    pulled = []
    for reward in (4096, 6144, 8192, 8192):
        learner.update(reward)
        pulled.append(learner.pull())
    assert pulled == [1, 2, 2, 1]
    assert learner.means == [4096, 6144, 8192]


def test_ols_forgets_when_rewards_change_four_times_in_a_row() -> None:
    learner = Learner(Interval(0), counts=[1, 9, 9], total=19, means=[0, 1000, 2000])
    learner.arm, learner.deviations = 1, [0, 10, 0]
    for times in (1, 2, 3):
        learner.update(9000)
        assert learner.changes[1] == times
        learner.counts[1] += 1
        learner.deviations[1], learner.means = 10, [0, 1000, 10_000]
    learner.update(9000)
    assert (learner.counts, learner.total, learner.means) == ([0, 1, 0], 1, [0, 9000, 0])


def test_ols_sends_half_twice_in_turns_of_twelve() -> None:
    model = Ols({})
    for number in range(20):
        model.done(Done(0, 1, NEW, 1, number * MSS, MSS))
    asked = question(
        subflow(1, 20_000, in_flight=10),
        subflow(2, 50_000),
        oldest=Segment(0, MSS, frozenset({1})),
        head=Segment(20 * MSS, MSS, NOTHING),
        nxt_seq=20 * MSS,
    )
    model.choose(asked)
    model.flows[2].ratio, model.flows[2].red = 4096, 6
    model.flows[2].new = 6
    found = []
    for _ in range(12):
        answer = model.choose(asked)
        model.took(Asked(asked, answer))
        found.append((answer.what, answer.seq // MSS))
    copies = [(DUPLICATE, number) for number in range(6)]
    # the model does not learn here that data has left, so new data is the same each time
    assert found == copies + [(NEW, 20)] * 6
    model.choose(asked)
    assert (model.flows[2].red, model.flows[2].new) == (6, 6)


def test_thinstream_probes_idle_subflows_at_the_end_of_a_burst() -> None:
    model = ThinStream({})
    asked = question(
        subflow(1, 20_000, owd_us=9000),
        subflow(2, 20_000, owd_us=8000),
        subflow(3, 30_000, owd_us=20_000),
        unsent_bytes=MSS,
    )
    assert picks(model, asked, 3) == [2, 3, 1]
    # within 5 RTTs of the last data nobody is probed again
    asked.time_ns += 99 * 10**6
    assert picks(model, asked, 1) == [2]
    assert not model.pushes
    asked.time_ns += 52 * 10**6
    assert model.choose(asked).subflow == 2
    assert [push.subflow for push in model.pushes] == [3, 1]


def test_thinstream_takes_a_delay_that_is_not_known_for_the_least() -> None:
    known, not_known = subflow(1, 10_000, owd_us=2000), subflow(2, 50_000)
    assert ThinStream({}).choose(question(known, not_known)).subflow == 2


# --- ols with Exp3


def test_ols_takes_the_arm_that_was_drawn_from_the_record() -> None:
    model = Ols({"exp3": 1})
    model.done(Done(0, 1, EVENT, 0, 0, 3))
    assert model.drawn == 2


# --- peekaboo


def test_arms_of_peekaboo() -> None:
    assert (tz(-3, 1), tz(3, 1)) == (-1, 1)
    arm = LinUcb()
    x = [1 << 28, 0, 0, 0, 0, 0]
    # one byte per ns: x' P x is 1, and 0.75 of its root in 2^-40
    assert arm.bonus(x, 750) == 3 << 38
    # A = 2, b = 1/2: theta = 1/4
    arm.learn(x, 1 << 31)
    assert (arm.p[0][0], arm.b[0], arm.theta[0]) == (1 << 55, 1 << 39, 1 << 38)
    assert arm.expected(x) == 1 << 38
    assert arm.bonus(x, 1000) == math.isqrt(1 << 51) << 14
    # others are as they were
    assert arm.p[1] == [0, 1 << 56, 0, 0, 0, 0]
    assert arm.expected([0, 1 << 28, 0, 0, 0, 0]) == 0


@pytest.mark.parametrize("bytes_per_ns", [0.01, 0.1, 1.0])
def test_fixed_point_of_peekaboo_is_the_solution_within_its_bound(bytes_per_ns: float) -> None:
    chance = random.Random(1)
    arm, a, b = LinUcb(), np.eye(6), np.zeros(6)
    for _ in range(2000):
        parts = [chance.random() for _ in range(6)]
        x = [int(bytes_per_ns * each / sum(parts) * 2**28) for each in parts]
        reward = int(chance.random() * bytes_per_ns * 2**25)
        arm.learn(x, reward)
        rates = np.array(x) / 2**28
        a += np.outer(rates, rates)
        b += reward / 2**32 * rates
    exact = float(np.linalg.solve(a, b) @ rates)
    assert arm.expected(x) / 2**40 == pytest.approx(exact, rel=2**-15, abs=0)


def full_and_free(**more: Any) -> Question:
    """Of two alike, the fast one is full."""
    return question(subflow(1, 20_000, in_flight=10, outstanding_bytes=10 * MSS), *slow(), **more)


def slow(**more: Any) -> list[Subflow]:
    return [subflow(2, 80_000, **more)]


def event(number: int, value: int) -> Done:
    return Done(0, 1, EVENT, number, 0, value)


def test_peekaboo_waits_until_the_fast_one_has_room() -> None:
    model = Peekaboo({})
    # nothing is known of either arm: a tie, so it sends
    assert picks(model, full_and_free(), 1) == [2]
    model.took(Asked(full_and_free(), Answer()))
    assert model.waits
    assert picks(model, full_and_free(), 2) == [0, 0]
    # a window too small for a segment leaves nothing to decide, and the wait goes on
    assert picks(model, full_and_free(window_end_seq=MSS - 1), 1) == [2]
    assert picks(model, full_and_free(), 1) == [0]
    assert picks(model, question(subflow(1, 20_000, in_flight=9), *slow()), 1) == [1]
    assert not model.waits


@pytest.mark.parametrize(
    ("own_packet", "rewards"),
    [
        # 2 segments after 60 ms, 1 after 150 ms with 0.9 and 1 after 230 ms with 0.9 x 0.7
        (0, [207_303, 41_460 * 58_982 >> 16, 27_039 * 41_287 >> 16]),
        (1, [103_651]),
    ],
)
def test_rewards_of_peekaboo(own_packet: int, rewards: list[int]) -> None:
    # T_r is 80 ms
    reward = sum(rewards)
    model = Peekaboo({"own_packet": own_packet})
    model.took(Asked(first := full_and_free(), model.choose(first)))
    assert len(model.pending) == 1
    for ms, una in ((60, 2), (150, 3), (230, 4)):
        now_ns = first.time_ns + ms * 10**6
        acked = slow(snd_una=una * MSS, delivered_ns=now_ns)
        fast = subflow(1, 20_000)
        model.choose(question(fast, *acked, time_ns=now_ns))
    assert (model.pending[0].reward, model.pending[0].sure) == (reward, True)
    later = full_and_free(time_ns=first.time_ns + 240 * 10**6)
    later.subflows[1].snd_una = 4 * MSS
    # learnt at the next decision, and not before
    assert model.choose(later) == Answer(EVENT)
    assert "is missing" in model.why()
    model.done(event(2, reward + 1))
    assert model.choose(later) == Answer(EVENT)
    assert model.arms[SEND_ARM].learnt == 1
    assert "is missing" not in model.why()
    assert f"reward {reward + 1} of 2, the model's {reward} of 2" in model.why()


def test_a_reward_of_peekaboo_is_taken_if_an_ack_was_not_seen() -> None:
    model = Peekaboo({})
    model.took(Asked(first := full_and_free(), model.choose(first)))
    later = full_and_free(time_ns=first.time_ns + 240 * 10**6)
    later.subflows[1].snd_una, later.subflows[1].delivered_ns = MSS, later.time_ns - 10**6
    model.done(event(2, 77))
    assert model.choose(later).what != EVENT
    assert (model.computed, model.taken) == (0, 1)


def test_stages_of_peekaboo() -> None:
    model = Peekaboo({"learn": 1, "relearn": 3})
    asked = full_and_free()
    x = [1 << 20] * 6
    model.arms[WAIT_ARM].learn(x, 1000)
    model.learns = False
    # 70 % of the waits stay; then it sends, as without its being better
    found = []
    for number in (69, 70, 99):
        model.done(event(0, number))
        found.append(model.choose(asked).what)
        assert not model.why()
    assert found == [WAIT, NEW, NEW]
    # it has learnt for three decisions, and begins again, without a draw
    assert model.choose(asked).what == NEW
    assert model.arms[WAIT_ARM].learnt == 0
    model.done(event(0, 1))
    assert model.choose(asked) == Answer(EVENT)
    assert "unexpected [(0, 1)]" in model.why()


# --- weighted


def test_weighted_divides_bytes_by_shares_without_rounding() -> None:
    two = question(subflow(1, 20_000), subflow(2, 50_000))
    found = picks(Weighted({"share1": 7, "share2": 3}), two, 100)
    for begin in range(0, 100, 10):
        assert found[begin] == 1
        assert sorted(found[begin : begin + 10]) == [1] * 7 + [2] * 3


def test_weighted_lets_a_path_catch_up_with_64_kib() -> None:
    model = Weighted({})
    picks(model, question(subflow(1, 20_000), subflow(2, 50_000, in_flight=10)), 100)
    # 65536 / 1448 = 45.3: 46 in a row, and then in turns
    found = picks(model, question(subflow(1, 20_000), subflow(2, 50_000)), 48)
    assert found == [2] * 46 + [1, 2]


def test_weighted_takes_either_of_two_that_are_equal() -> None:
    two = question(subflow(1, 20_000), subflow(2, 50_000))
    assert Weighted({}).choose(two).subflow == 1
    two.newest_first = False
    assert Weighted({}).choose(two).subflow == 2


def test_weighted_waits_strictly_for_the_path_whose_turn_it_is() -> None:
    full = question(subflow(1, 20_000), subflow(2, 50_000, in_flight=10))
    assert picks(Weighted({"strict": 1}), full, 3) == [1, 0, 0]
    gone = question(subflow(1, 20_000), subflow(2, 50_000, usable=False))
    assert picks(Weighted({"strict": 1}), gone, 3) == [1, 1, 1]


def test_weighted_uses_a_dearer_path_when_patience_ends() -> None:
    model = Weighted({"cost1": 5, "patience_ms": 30})
    asked = question(subflow(1, 1000), subflow(2, 50_000, in_flight=10))
    assert model.choose(asked).what == WAIT
    asked.time_ns += 29_999_999
    assert model.choose(asked).what == WAIT
    asked.time_ns += 1
    assert model.choose(asked).subflow == 1
    # with nothing to wait for it begins anew
    head, asked.head = asked.head, None
    model.choose(asked)
    asked.head = head
    assert model.choose(asked).what == WAIT


def test_cheapest_pipe_first() -> None:
    params = {"cost2": 1, "cost3": 1, "patience_ms": 0, "fastest": 1}
    slow, fast = subflow(2, 30_000), subflow(3, 20_000)
    assert Weighted(params).choose(question(subflow(1, 90_000), slow, fast)).subflow == 1
    full = subflow(1, 90_000, in_flight=10)
    assert Weighted(params).choose(question(full, slow, fast)).subflow == 3


def test_weighted_caps_and_shares_of_nothing_are_for_need() -> None:
    model = Weighted({"cap1_mb": 1, "share3": 0})
    three = question(subflow(1, 10_000), subflow(2, 20_000), subflow(3, 5000))
    assert 3 not in picks(model, three, 20)
    picks(model, three, 1, size=1_000_000)
    assert set(picks(model, three, 20)) == {2}
    three.subflows[1].usable = False
    # path 3 catches up with as much as that segment, 1,000,000 / 1448 segments
    assert set(picks(model, three, 1000)) == {1, 3}
    # a backup comes after them, and a full path does not make it needed
    three.subflows[1].usable = three.subflows[1].backup = True
    three.subflows[0].in_flight = three.subflows[2].in_flight = 10
    assert model.choose(three).what == WAIT


def test_a_path_beyond_the_limit_is_dear_and_measured() -> None:
    model = Weighted({"max_rtt_ms": 60})
    slow = subflow(2, 60_001)
    oldest = Segment(0, MSS, frozenset({1}))
    two = question(subflow(1, 10_000), slow, oldest=oldest)
    assert picks(model, two, 3) == [1, 1, 1]
    two.head = None
    assert model.choose(two) == Answer(DUPLICATE, 2, 0)
    model.done(Done(two.time_ns, 1, DUPLICATE, 2, 0, MSS))
    two.time_ns += 99_999_999
    assert model.choose(two).what == WAIT
    two.time_ns += 1
    assert model.choose(two).subflow == 2
    slow.in_flight = 1
    assert model.choose(two).what == WAIT
    # where the other one costs more, both cost the same
    model = Weighted({"max_rtt_ms": 60, "cost1": 1})
    assert picks(model, question(subflow(1, 10_000), slow), 4) == [1, 2, 1, 2]


# --- raven


def test_raven_halves_the_weight_of_a_sample_in_164_ms() -> None:
    mean = Mean()
    mean.add(10_000, 0)
    mean.add(40_000, 164_000_000)
    # (10 / 2 + 40) / 1.5 = 30 ms: from (1 - 0.346658) of it, to a whole multiple of it
    assert mean.interval(0, 164_000_000) == (19_600, 30_000)
    # 2 s later: 1 - 0.346658 x 1.370079; the other one's upper bound 1 + 1.32 x 1.4 is 2
    assert mean.interval(0, 2_164_000_000)[0] == 15_751
    assert mean.interval(1, 2_164_000_000)[1] == 60_000
    many = Mean()
    for ms in range(1000):
        many.add(10_000 if ms < 836 else 40_000, ms * 1_000_000)
    assert many.rtts_us / many.weights == pytest.approx(25_000, abs=300)


def test_raven_copies_where_intervals_overlap() -> None:
    def after_a_sample(slow_us: int) -> list[tuple[int, int]]:
        model = Raven({})
        asked = question(subflow(1, 20_000), subflow(2, slow_us))
        model.choose(asked)
        for each in asked.subflows:
            each.snd_una, each.delivered_ns = MSS, asked.time_ns
        found = []
        for _ in range(3):
            answer = model.choose(asked)
            model.took(Asked(asked, answer))
            model.done(Done(0, 1, answer.what, answer.subflow, answer.seq, MSS))
            found.append((answer.what, answer.subflow))
        return found

    # 20 ms; 0.421959 x 47.3 ms = 19.96, x 47.5 ms = 20.04
    assert after_a_sample(47_300) == [(NEW, 1), (DUPLICATE, 2), (NEW, 1)]
    assert after_a_sample(47_500) == [(NEW, 1)] * 3
