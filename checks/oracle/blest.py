# SPDX-License-Identifier: GPL-2.0-only
"""blest: blocking estimation.

Source: mptcp_blest.c of multipath-tcp/mptcp, v0.95 (@4e10ec52). Paper: Ferlin et al., IFIP
Networking 2016. Parameters of the module: lambda, min_lambda, max_lambda, dyn_lambda_good and
dyn_lambda_bad.

The source's length of no segment at all is a crash; here it is 0, as in pull request 357.

With `paper` the estimate is that of the paper's algorithm 1: in r = RTT_slow / RTT_fast rounds the
fast subflow sends cwnd + (r - 1) / 2 packets in each, and the slow one has in flight what it has,
and one more. Lambda is that of the module.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from checks.oracle.state import INFINITE_SSTHRESH, Answer, Question, Segment, Subflow
from checks.oracle.v09x import Model, in_list_order, jiffies, next_segment

_U32_MAX = 0xFFFFFFFF
#: The parameters of the module, in thousandths.
_LAMBDA, _LEAST_LAMBDA, _MOST_LAMBDA, _GOOD, _BAD = 1200, 1000, 1300, 10, 40


class Blest(Model):
    knows: ClassVar[frozenset[str]] = frozenset({"paper"})

    def set_up(self) -> None:
        self.paper = bool(self.params.get("paper"))
        self.least: dict[int, int] = {}
        self.most: dict[int, int] = {}
        self.lambda_1000 = _LAMBDA
        self.blocked = False
        self.updated: int | None = None

    def choose(self, question: Question) -> Answer:
        self._why = ""
        self.default.began(question)
        if self.updated is None:
            self.updated = question.jiffies
        return next_segment(question, self._choose, self._repeat)

    def _choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        """blest_get_available_subflow()"""
        alive = [each for each in in_list_order(question) if each.can_send]
        for each in alive:
            self.least[each.id] = min(self.least.get(each.id, _U32_MAX), each.srtt_8us)
            self.most[each.id] = max(self.most.get(each.id, 0), each.srtt_8us)
        slow = self.default.choose(question, segment)
        fast = self.awaited(question, slow) if slow else None
        if not slow or not fast or slow.id == fast.id:
            return slow
        self._update_lambda(question, slow)
        if self.paper:
            rounds = Fraction(slow.srtt_8us, fast.srtt_8us) if fast.srtt_8us else Fraction(1)
            if question.whole_us:
                rounds = Fraction(int(1000 * rounds), 1000)
            packets = packets_by_paper(fast.cwnd, rounds)
            fast_bytes = int(packets) * fast.mss * self.lambda_1000 // 1000
            slow_bytes = slow.mss * (slow.in_flight + 1)
        else:
            fast_bytes = self.bytes_in(fast, self.linger_8us(slow))
            slow_bytes = (segment.bytes if segment else 0) + slow.outstanding_bytes
        room = max(question.window_bytes - slow_bytes, 0)
        self._why = f"fast {fast.id}: {fast_bytes} bytes, {room} left of the window"
        return None if fast_bytes > room else slow

    def linger_8us(self, slow: Subflow) -> int:
        """How long the next segment is likely to stay on the way."""
        least, most, in_flight = self.least[slow.id], self.most[slow.id], slow.in_flight + 1
        if in_flight >= slow.cwnd:
            estimate = most
        else:
            estimate = least + (most - least) * in_flight // slow.cwnd
        return max(slow.srtt_8us, estimate)

    def bytes_in(self, fast: Subflow, time_8us: int) -> int:
        """What the fast subflow can send meanwhile, as Reno would."""
        average = (self.least[fast.id] + self.most[fast.id]) // 2
        rounds = time_8us // average + 1 if average else 1
        if fast.ssthresh == INFINITE_SSTHRESH:
            packets = fast.cwnd * ((1 << min(rounds, 16)) - 1)
        else:
            packets = (max(fast.cwnd, fast.ssthresh + 1) + (rounds - 1) // 2) * rounds
        return packets * fast.mss * self.lambda_1000 // 1000

    def _update_lambda(self, question: Question, slow: Subflow) -> None:
        assert self.updated is not None
        if question.jiffies - self.updated < jiffies(self.least[slow.id] >> 3):
            return
        self.lambda_1000 += _BAD if self.blocked else -_GOOD
        self.lambda_1000 = max(min(self.lambda_1000, _MOST_LAMBDA), _LEAST_LAMBDA)
        self.blocked = False
        self.updated = question.jiffies

    def _repeat(self, question: Question, fast: Subflow, penalise: bool) -> Segment | None:
        if question.oldest and (penalise or question.sndbuf_full):
            self.blocked = True
        return self.default.repeat(question, fast, penalise)


def packets_by_paper(cwnd: int, rounds: Fraction) -> Fraction:
    """X / MSS of algorithm 1."""
    return (cwnd + (rounds - 1) / 2) * rounds
