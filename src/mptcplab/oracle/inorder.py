# SPDX-License-Identifier: GPL-2.0-only
"""inorder: segments leave out of order, so that they arrive in order.

Paper: Yang and Amer, "Using One-way Communication Delay for In-order Arrival MPTCP Scheduling",
ChinaCom 2014, sections II and III; there is no public code, and its section IV refers to a thesis.
The number of rounds until a full subflow has room is that of OTIAS, by the same authors.
"""

from __future__ import annotations

from collections.abc import Mapping

from mptcplab.oracle.sent import Sent
from mptcplab.oracle.state import NEW, REINJECTION, WAIT, Answer, Done, Question, Subflow
from mptcplab.oracle.v09x import V095, Default, Model, in_list_order, in_loss

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
        dummies = dict.fromkeys([each.id for each in able], 0)
        for n in range(self.look_ahead):
            best = min(able, key=lambda each: delivery_us(each, dummies[each.id]), default=None)
            if not best:
                break
            if dummies[best.id] == 0 and _free(best) > 0:
                self._why = f"dummies {dummies}"
                segment = self.sent.nth_unsent(question, n)
                return Answer(NEW, best.id, segment.seq) if segment else Answer(WAIT)
            dummies[best.id] += 1
        self._why = f"dummies {dummies}"
        return Answer(WAIT)

    def done(self, done: Done) -> None:
        self.sent.done(done)

    def why(self) -> str:
        return self._why


def _free(subflow: Subflow) -> int:
    """Packets for which the congestion window has room, less those that wait for it."""
    queued = -(-subflow.unsent_bytes // subflow.mss)
    return subflow.cwnd - subflow.in_flight - queued


def delivery_us(subflow: Subflow, dummies: int) -> int:
    """DeD of a segment behind so many that are assigned to the subflow, but not sent."""
    delay = subflow.commd_us or subflow.srtt_8us >> 4
    behind = dummies - _free(subflow)
    rounds = behind // max(subflow.cwnd, 1) + 1 if behind >= 0 else 0
    return rounds * (subflow.srtt_8us >> 3) + delay
