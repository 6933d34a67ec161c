# SPDX-License-Identifier: GPL-2.0-only
"""sttf: shortest transfer time first.

Source: mptcp_sttf.c, version 0.91, by Hurtig and Grinnemo, as public forks of multipath-tcp/mptcp
have it. Paper: Hurtig et al., IEEE/ACM ToN 2018. Parameters of the module: alpha 10, optim 1,
alt_calc 1, tsq_new 1, max_r 0.

It uses the latest RTT, which a patch of the authors keeps as TCP keeps the smoothed one. Segments
are put on subflows whose windows are full, too. The patched core takes them back when their
distribution would now be another one (`pre_schedule`), which no other kernel can.
What TCP's small queues throttle the states do not tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mptcplab.oracle.state import INFINITE_SSTHRESH, Answer, Question, Segment, Subflow
from mptcplab.oracle.v09x import V094, Default, Model, in_list_order, in_loss, jiffies, next_segment


class Sttf(Model):
    def __init__(self, params: Mapping[str, int]) -> None:
        super().__init__(params)
        self.alpha = params.get("alpha", 10)
        self.default = Default(V094)
        self.initial_8us: dict[int, int] = {}
        self.alike: bool | None = None
        self._why = ""

    def choose(self, question: Question) -> Answer:
        for each in question.subflows:
            if each.id not in self.initial_8us:
                self.initial_8us[each.id] = each.srtt_8us
                self.alike = None
        self._why = ", ".join(f"{each.id}: {transfer_8us(each)}/8 us" for each in question.subflows)
        return next_segment(question, self._choose, self._repeat)

    def why(self) -> str:
        return f"alike {self.alike}, {self._why}"

    def _choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        if segment and self._alike(question):
            return self.default.choose(question, segment)
        able = [each for each in in_list_order(question) if _available(each, segment)]
        return min(able, key=transfer_8us, default=None)

    def _repeat(self, question: Question, fast: Subflow, _: bool) -> Segment | None:
        """With optim 1 nobody is penalised; and `fast` need not have room."""
        oldest = question.oldest
        if not oldest or len(question.subflows) == 1 or fast.id in oldest.carried:
            return None
        again = False
        for slow in in_list_order(question):
            if slow.id == fast.id or slow.id not in oldest.carried:
                continue
            again = slow.cwnd <= 4 or 4 * fast.srtt_8us < slow.srtt_8us
            if slow.cwnd <= 4 or not again:
                break
        return oldest if again and _available(fast, oldest) else None

    def _alike(self, question: Question) -> bool:
        """mptcp_nodiff_subs(): are the initial RTTs so similar that minRTT is used?"""
        if len(question.subflows) == 1:
            return False
        if self.alike is None:
            ticks = [jiffies(self.initial_8us[each.id] >> 3) for each in question.subflows]
            most, least = max(ticks), min(ticks)
            self.alike = most - least <= 1 or 100 * most // max(least, 1) < self.alpha + 100
        return self.alike


def _available(subflow: Subflow, segment: Segment | None) -> bool:
    """mptcp_sttf_is_available(): no test of the congestion window"""
    bytes_ = min(segment.bytes, subflow.mss) if segment else 0
    return subflow.usable and not in_loss(subflow) and bytes_ <= subflow.window_bytes


def transfer_8us(subflow: Subflow) -> int:
    """compute_tt() of one packet more than the subflow has in its queue."""
    queued = 1 + -(-subflow.unsent_bytes // subflow.mss)
    free = max(subflow.cwnd - subflow.in_flight, 0)
    return transfer_time(queued, free, subflow.cwnd, subflow.ssthresh, subflow.last_rtt_us << 3)


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
