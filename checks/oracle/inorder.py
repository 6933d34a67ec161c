# SPDX-License-Identifier: GPL-2.0-only
"""inorder: segments leave out of order, so that they arrive in order.

Paper: Yang and Amer, "Using One-way Communication Delay for In-order Arrival MPTCP Scheduling",
ChinaCom 2014, sections II and III; there is no public code, and its section IV refers to a thesis.
The number of rounds until a full subflow has room is that of OTIAS, by the same authors; what is
available is what the default scheduler finds available, and it has the reinjections.

CommD' has the difference of the clocks in it, which is "the same" for all subflows, so that it can
only be compared with another one: until each subflow has one, half the RTT stands for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from checks.oracle.state import Answer, Question, Subflow
from checks.oracle.v09x import Model, available, has_room, in_list_order, in_loss, most_until

#: How far dummy scheduling goes on: the paper names no bound, and no send buffer holds as many.
_LOOK_AHEAD = 1 << 16

Delay = Callable[[Subflow], int]


class InOrder(Model):
    def choose(self, question: Question) -> Answer:
        if question.reinjection:
            return self.reinjection(question)
        able = [each for each in in_list_order(question) if each.usable and not in_loss(each)]
        all_known = all(each.commd_us for each in question.subflows if each.usable)

        def delay_us(subflow: Subflow) -> int:
            return subflow.commd_us if all_known else subflow.srtt_8us >> 4

        free = [each for each in able if available(each)]
        best = min(free, key=delay_us, default=None)
        if not best or not question.head:
            return Answer()
        before = self._dummies(able, best, delay_us)
        self._why = f"{before} dummies before it"
        segment = self.sent.nth_unsent(question, before) if before < _LOOK_AHEAD else None
        return Answer.new(best, segment)

    def _dummies(self, able: list[Subflow], best: Subflow, delay_us: Delay) -> int:
        """How many segments the others are assigned before one is for `best`, which has room:
        those that would arrive earlier, or, where the list has them before it, no later."""
        before, seen = 0, False
        for each in able:
            seen = seen or each is best
            if not has_room(each):
                until = delay_us(best) - delay_us(each) - (1 if seen else 0)
                before += most_until(partial(_nth_wait_us, each), until)
        return before


def _nth_wait_us(full: Subflow, number: int) -> int:
    """n * RTT of DeD for a segment that is assigned to a full subflow, by its number, from 1 on:
    before it is what is queued there, which the congestion window of now may have room for."""
    queued = -(-full.unsent_bytes // full.mss)
    sendable = max(full.cwnd - full.in_flight, 0)
    rounds = (queued + number - 1 - sendable) // max(full.cwnd, 1) + 1
    return rounds * (full.srtt_8us >> 3)
