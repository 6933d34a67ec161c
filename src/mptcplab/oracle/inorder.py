# SPDX-License-Identifier: GPL-2.0-only
"""inorder: segments leave out of order, so that they arrive in order.

Paper: Yang and Amer, "Using One-way Communication Delay for In-order Arrival MPTCP Scheduling",
ChinaCom 2014, sections II and III; there is no public code, and its section IV refers to a thesis.
The number of rounds until a full subflow has room is that of OTIAS, by the same authors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mptcplab.oracle.sent import Sent
from mptcplab.oracle.state import NEW, REINJECTION, WAIT, Answer, Done, Question, Subflow
from mptcplab.oracle.v09x import V095, Default, Model, in_list_order, in_loss, most_until

#: How far dummy scheduling goes on: the paper names no bound.
_LOOK_AHEAD = 1024


class InOrder(Model):
    def __init__(self, params: Mapping[str, int]) -> None:
        super().__init__(params)
        self.look_ahead = params.get("look_ahead", _LOOK_AHEAD)
        self.default = Default(V095)
        self.sent = Sent()
        self._why = ""

    def choose(self, question: Question) -> Answer:
        self.sent.forget(question.una_seq)
        if question.reinjection:
            chosen = self.default.choose(question, question.reinjection)
            if chosen:
                return Answer(REINJECTION, chosen.id, question.reinjection.seq)
        if not question.head:
            return Answer(WAIT)
        able = [each for each in in_list_order(question) if each.usable and not in_loss(each)]
        best = min(filter(_has_place, able), key=delivery_us, default=None)
        if not best:
            return Answer(WAIT)
        before = self._dummies(able, best)
        self._why = f"{before} dummies before it"
        segment = self.sent.nth_unsent(question, before) if before < self.look_ahead else None
        return Answer(NEW, best.id, segment.seq) if segment else Answer(WAIT)

    def _dummies(self, able: list[Subflow], best: Subflow) -> int:
        """How many segments the others are assigned before one is for `best`, which has room:
        those that would arrive earlier, or, where the list has them before it, no later."""
        before, seen = 0, False
        for each in able:
            seen = seen or each is best
            if not _has_place(each):
                until = delivery_us(best) - (1 if seen else 0)
                before += most_until(partial(_nth_delivery_us, each), until)
        return before

    def done(self, done: Done) -> None:
        self.sent.done(done)

    def why(self) -> str:
        return self._why


def _free(subflow: Subflow) -> int:
    """Packets for which the congestion window has room, less those that wait for it."""
    queued = -(-subflow.unsent_bytes // subflow.mss)
    return subflow.cwnd - subflow.in_flight - queued


def _has_place(subflow: Subflow) -> bool:
    return _free(subflow) > 0


def _nth_delivery_us(subflow: Subflow, number: int) -> int:
    return delivery_us(subflow, number - 1)


def delivery_us(subflow: Subflow, dummies: int = 0) -> int:
    """DeD of a segment behind so many that are assigned to the subflow, but not sent."""
    delay = subflow.commd_us or subflow.srtt_8us >> 4
    behind = dummies - _free(subflow)
    rounds = behind // max(subflow.cwnd, 1) + 1 if behind >= 0 else 0
    return rounds * (subflow.srtt_8us >> 3) + delay
