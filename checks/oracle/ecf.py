# SPDX-License-Identifier: GPL-2.0-only
"""ecf: earliest completion first.

Source: mptcp_ecf.c of multipath-tcp/mptcp, v0.95 (@55634041). Paper: Lim et al., CoNEXT 2017.
Parameter of the module: r_beta 4 (beta is 1/4).

sigma is half of what TCP keeps of the deviation, which is four times the mean deviation, and never
less than the least timeout, 200 ms; so delta is at least 100 ms. What waits at the connection is
its memory less that of the subflows, and less what the subflows have got acknowledged, but not the
connection, by counts of packets. Here, bytes stand for memory.

With `paper_k` and `paper_delta` it is algorithm 1 of the paper: k is all that is unsent, however
little, and delta the larger variation of the RTT, for which the mean deviation is taken.
"""

from __future__ import annotations

from typing import ClassVar

from checks.oracle.state import Answer, Asked, Question, Segment, Subflow
from checks.oracle.v09x import Model, in_list_order, next_segment

_R_BETA = 4


class Ecf(Model):
    knows: ClassVar[frozenset[str]] = frozenset({"paper_k", "paper_delta"})

    def set_up(self) -> None:
        self.paper_k = bool(self.params.get("paper_k"))
        self.paper_delta = bool(self.params.get("paper_delta"))
        self.waiting = 0
        self._verdict: int | None = None

    def choose(self, question: Question) -> Answer:
        self._why = ""
        self._verdict = None
        self.default.began(question)
        return next_segment(question, self._choose, self.default.repeat)

    def took(self, _: Asked) -> None:
        if self._verdict is not None:
            self.waiting = self._verdict

    def _choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        """ecf_get_available_subflow()"""
        alive = [each for each in in_list_order(question) if each.can_send]
        slow = self.default.choose(question, segment)
        fast = self.awaited(question, slow) if slow else None
        if not slow or not fast or slow.id == fast.id:
            return slow
        delta = max(self._spread_us(fast), self._spread_us(slow))
        queued, least = queued_bytes(question, alive), True
        if self.paper_k:
            queued, least = question.unsent_bytes, False
        self._why = f"fast {fast.id}, k {queued}, delta {delta} us, waiting {self.waiting}"
        self._verdict = complete_earlier(
            fast, slow, queued, delta, self.waiting, at_least_window=least
        )
        return None if self._verdict == 1 else slow

    def _spread_us(self, subflow: Subflow) -> int:
        """sigma"""
        return subflow.rttvar_us if self.paper_delta else subflow.rttvar_4us >> 1


def queued_bytes(question: Question, alive: list[Subflow]) -> int:
    """k: what the connection holds, and no subflow has.

    The source counts packets that are on the way over subflows, so that what is queued there and
    was never sent is subtracted twice.
    """
    handed_on = question.nxt_seq - question.una_seq
    on_subflows = sum(each.outstanding_bytes for each in alive)
    on_the_way = sum(each.outstanding_bytes - each.unsent_bytes for each in alive)
    acked = max(handed_on - on_the_way, 0)
    return max(handed_on + question.unsent_bytes - on_subflows - acked, 0)


def complete_earlier(
    fast: Subflow,
    slow: Subflow,
    queued: int,
    delta: int,
    waiting: int,
    *,
    at_least_window: bool,
    bits: int = 128,
) -> int | None:
    """1: wait for the fast one; 0: use the slow one; None: use it, and stay as inclined to wait.

    `queued` in bytes, `delta` in us; `at_least_window`: less than a window counts as one; products
    have so many bits.
    """
    mss, all_bits = slow.mss, (1 << bits) - 1
    fast_us, slow_us = fast.srtt_8us >> 3, slow.srtt_8us >> 3
    fast_window, slow_window = fast.cwnd * mss, slow.cwnd * mss
    of_fast = max(queued, fast_window) if at_least_window else queued
    of_slow = max(queued, slow_window) if at_least_window else queued
    left = fast_us * (of_fast + fast_window) & all_bits
    right = fast_window * (slow_us + delta) & all_bits
    if _R_BETA * left >= (_R_BETA + waiting) * right:
        return 0
    right = slow_window * (2 * fast_us + delta) & all_bits
    too_slow = slow_us * of_slow & all_bits >= right
    return 1 if too_slow else None
