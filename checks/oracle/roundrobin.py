# SPDX-License-Identifier: GPL-2.0-only
"""roundrobin: mptcp_rr.c of v0.94.

Source: multipath-tcp/mptcp @1ec2d52e, with the comparison `>=` of its commit 8b98611b. Parameters
of the module: num_segments 1, cwnd_limited on. It looks neither at priorities nor at windows.
"""

from __future__ import annotations

from checks.oracle.state import NEW, Answer, Asked, Question, Segment, Subflow
from checks.oracle.v09x import Model, in_list_order, in_loss


class Turns(Model):
    """Rounds in which each subflow has a quota: mptcp_rr.c, and mptcp_ratio.c, made from it."""

    metric = False
    num_segments = 1
    cwnd_limited = True

    def set_up(self) -> None:
        self.quota: dict[int, int] = {}

    def took(self, asked: Asked) -> None:
        """What is picked is charged, even if it then does not leave."""
        if asked.answer.what == NEW:
            number = asked.answer.subflow
            self.quota[number] = self.quota.get(number, 0) + 1

    def considered(self, subflow: Subflow, segment: Segment | None = None) -> bool:
        if not subflow.usable or in_loss(subflow):
            return False
        return not self.cwnd_limited or self.default.available(subflow, segment)

    def reinject(self, question: Question, segment: Segment) -> Answer:
        """rr_get_available_subflow(): the last with room that did not carry it, else that did."""
        free = [each for each in in_list_order(question) if self.default.available(each, segment)]
        unused = [each for each in free if each.id not in self.default.carried(segment)]
        if free and not unused:
            self.default.cleared[segment.seq] = segment.carried
        return Answer.reinjection(next(reversed(unused or free), None), segment)


class RoundRobin(Turns):
    def choose(self, question: Question) -> Answer:
        """Of those that had no turn in this round, the last; if all had one, the next begins."""
        if question.reinjection:
            return self.reinject(question, question.reinjection)
        if not question.head:
            return Answer()
        order = in_list_order(question)
        considered = [each for each in order if self.considered(each, question.head)]
        if all(self.quota.get(each.id) for each in considered):
            self.quota |= {each.id: 0 for each in considered}
        unused = [each for each in considered if not self.quota.get(each.id)]
        return Answer.new(next(reversed(unused), None), question.head)

    def why(self) -> str:
        return f"quota {self.quota}"
