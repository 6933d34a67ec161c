# SPDX-License-Identifier: GPL-2.0-only
"""roundrobin: mptcp_rr.c of v0.94.

Source: multipath-tcp/mptcp @1ec2d52e, with the comparison `>=` of its commit 8b98611b. Parameters
of the module: num_segments 1, cwnd_limited on. It looks neither at priorities nor at windows.
"""

from __future__ import annotations

from collections.abc import Mapping

from checks.oracle.state import NEW, REINJECTION, Answer, Asked, Question, Segment, Subflow
from checks.oracle.v09x import Model, available, in_list_order, in_loss


class Turns(Model):
    """Rounds in which each subflow has a quota: mptcp_rr.c, and mptcp_ratio.c, made from it."""

    metric = False

    def __init__(self, params: Mapping[str, int], *, num_segments: int, cwnd_limited: bool) -> None:
        super().__init__(params)
        self.num_segments = params.get("num_segments", num_segments)
        self.cwnd_limited = bool(params.get("cwnd_limited", cwnd_limited))
        self.quota: dict[int, int] = {}

    def took(self, asked: Asked) -> None:
        """What is picked is charged, even if it then does not leave."""
        if asked.answer.what == NEW:
            number = asked.answer.subflow
            self.quota[number] = self.quota.get(number, 0) + 1

    def considered(self, subflow: Subflow) -> bool:
        if not subflow.usable or in_loss(subflow):
            return False
        return not self.cwnd_limited or available(subflow)

    def reinject(self, question: Question, segment: Segment) -> Answer:
        """rr_get_available_subflow(): the last with room that did not carry it, else that did."""
        free = [each for each in in_list_order(question) if available(each)]
        unused = [each for each in free if each.id not in self.default.carried(segment)]
        if not free:
            return Answer()
        if not unused:
            self.default.cleared[segment.seq] = segment.carried
        return Answer(REINJECTION, (unused or free)[-1].id, segment.seq)


class RoundRobin(Turns):
    def __init__(self, params: Mapping[str, int]) -> None:
        super().__init__(params, num_segments=1, cwnd_limited=True)

    def choose(self, question: Question) -> Answer:
        if question.reinjection:
            return self.reinject(question, question.reinjection)
        if not question.head:
            return Answer()
        chosen = self._in_use_or_unused(question)
        considered = [each for each in question.subflows if self.considered(each)]
        full = all(self.quota.get(each.id, 0) >= self.num_segments for each in considered)
        if not chosen and considered and full:
            for each in considered:
                self.quota[each.id] = 0
            chosen = self._in_use_or_unused(question)
        if not chosen or not available(chosen):
            return Answer()
        return Answer(NEW, chosen.id, question.head.seq)

    def why(self) -> str:
        return f"quota {self.quota}"

    def _in_use_or_unused(self, question: Question) -> Subflow | None:
        """One that is in the middle of its quota, the first; else an unused one, the last."""
        unused = None
        for each in in_list_order(question):
            if not self.considered(each):
                continue
            if 0 < self.quota.get(each.id, 0) < self.num_segments:
                return each
            if not self.quota.get(each.id, 0):
                unused = each
        return unused
