# SPDX-License-Identifier: GPL-2.0-only
"""sttf: shortest transfer time first.

Source: mptcp_sttf.c, version 0.91, by Hurtig and Grinnemo, as public forks of multipath-tcp/mptcp
have it. Paper: Hurtig et al., IEEE/ACM ToN 2018. Parameters of the module: alpha 10, optim 1,
alt_calc 1, tsq_new 1, max_r 0.

It uses the latest RTT, which a patch of the authors keeps as TCP keeps the smoothed one.

What the module queues on full subflows, and takes back later (`pre_schedule`), is only planned
here, as in the paper's algorithm; the first segment that is assigned to room is sent.
"""

from __future__ import annotations

import math
from functools import partial

from checks.oracle.state import INFINITE_SSTHRESH, Answer, Question, Segment, Subflow
from checks.oracle.v09x import (
    Default,
    Model,
    fits_window,
    in_list_order,
    in_loss,
    jiffies,
    lags,
    most_until,
    moves_on,
    next_segment,
    window_takes,
)

_ALPHA = 10


class Sttf(Model):
    def set_up(self) -> None:
        self.default = Default(all_slow=False)
        self.initial_8us: dict[int, int] = {}
        self.alike: bool | None = None

    def choose(self, question: Question) -> Answer:
        for each in question.subflows:
            if each.id not in self.initial_8us:
                self.initial_8us[each.id] = each.srtt_8us
                self.alike = None
        self._why = ", ".join(f"{each.id}: {transfer_8us(each)}/8 us" for each in question.subflows)
        if self._alike(question):
            return next_segment(question, self.default.choose, self._repeat)
        if again := question.reinjection:
            able = [each for each in in_list_order(question) if _available(each, again)]
            best = _winner(able, alone=len(question.subflows) == 1)
            return Answer.reinjection(best, again)
        best, before = self._plan(question)
        if not best or not (question.head or question.writer_waits):
            return Answer()
        segment = self.sent.nth_unsent(question, before)
        if not question.head or (segment and not fits_window(question, segment, best.mss)):
            return Answer.duplicate(best, self._repeat(question, best, False))
        return Answer.new(best, segment)

    def why(self) -> str:
        return f"alike {self.alike}, {self._why}"

    def _plan(self, question: Question) -> tuple[Subflow | None, int]:
        """Who sends next, and how many unsent segments the others get before: those that would
        arrive there no later, or earlier where the list has them behind."""
        able = [each for each in in_list_order(question) if _available(each, None)]
        able = [each for each in able if moves_on(each)]
        best = min((each for each in able if _has_place(each)), key=transfer_8us, default=None)
        if not best or not _winner(able, alone=len(question.subflows) == 1):
            return None, 0
        before, seen = 0, False
        for each in able:
            seen = seen or each is best
            if not _has_place(each):
                # of equal times, the first in the list has it
                until = transfer_8us(best) - (1 if seen else 0)
                before += most_until(partial(transfer_8us, each), until)
        return best, before

    def _repeat(self, question: Question, fast: Subflow, _: bool) -> Segment | None:
        """With optim 1 nobody is penalised; and `fast` need not have room."""
        oldest = question.oldest
        if not oldest or len(question.subflows) == 1:
            return None
        return oldest if lags(question, fast, oldest) and _available(fast, oldest) else None

    def _alike(self, question: Question) -> bool:
        """mptcp_nodiff_subs(): are the initial RTTs so similar that minRTT is used?"""
        if len(question.subflows) == 1:
            return False
        if self.alike is None:
            ticks = [jiffies(self.initial_8us[each.id] >> 3) for each in question.subflows]
            most, least = max(ticks), min(ticks)
            self.alike = most - least <= 1 or 100 * most // max(least, 1) < 100 + _ALPHA
        return self.alike


def _available(subflow: Subflow, segment: Segment | None) -> bool:
    """mptcp_sttf_is_available(): no test of the congestion window"""
    return subflow.usable and not in_loss(subflow) and window_takes(subflow, segment)


def _winner(able: list[Subflow], *, alone: bool) -> Subflow | None:
    """Where the next segment arrives first; with tsq_new, if that is held back, it waits for it."""
    best = min(able, key=transfer_8us, default=None)
    return None if best and best.throttled and not alone else best


def _queued(subflow: Subflow) -> int:
    return -(-subflow.unsent_bytes // subflow.mss)


def _has_place(subflow: Subflow) -> bool:
    """Would the next segment leave at once?"""
    return _queued(subflow) + subflow.in_flight < subflow.cwnd


def transfer_8us(subflow: Subflow, more: int = 1) -> int:
    """compute_tt() of so many packets more than the subflow has in its queue."""
    queued = more + _queued(subflow)
    free = max(subflow.cwnd - subflow.in_flight, 0)
    return transfer_time(queued, free, subflow.cwnd, subflow.ssthresh, subflow.last_rtt_8us)


def transfer_time(queued: int, free: int, cwnd: int, ssthresh: int, rtt: int) -> int:
    """compute_tt_2(): until so many packets have arrived, with so much room in the window.

    Rounds of slow start below ssthresh, then of congestion avoidance; the last one takes half.
    """
    if not queued:
        return 0
    if free >= queued:
        return rtt // 2
    left, time = queued - free, rtt
    if 2 * cwnd <= ssthresh:
        cwnd *= 2
    elif cwnd < ssthresh:
        cwnd = ssthresh
    else:
        cwnd += 1
    if ssthresh == INFINITE_SSTHRESH:
        doublings, in_slow_start = None, None
    else:
        doublings = _log2_up(ssthresh // cwnd)
        in_slow_start = cwnd * (2**doublings - 1)
    if in_slow_start is None or left <= in_slow_start:
        rounds = max(_log2_up(left // cwnd + 1), 1)
        time += rtt * (rounds - 1) + rtt // 2
        return time + rtt if left > cwnd * (2**rounds - 1) else time
    assert doublings is not None
    if cwnd < ssthresh:
        last = cwnd * 2**doublings
        left -= in_slow_start
        time += doublings * rtt
        if last < ssthresh:
            if left <= last:
                return time + rtt // 2
            left -= last
            time += rtt
        cwnd = ssthresh
    rounds = (-(2 * cwnd - 1) + math.isqrt((2 * cwnd + 1) ** 2 + 8 * left)) // 2
    sent = rounds * (2 * cwnd + rounds - 1) // 2
    time += rtt * (rounds - 1) + rtt // 2
    return time + rtt if left > sent else time


def _log2_up(n: int) -> int:
    """ilog2_sttf(): rounded up; 0 of 0 and 1"""
    return (n - 1).bit_length() if n > 0 else 0
