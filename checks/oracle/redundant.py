# SPDX-License-Identifier: GPL-2.0-only
"""redundant: every segment on every subflow, each of which walks the queue on its own.

Source: mptcp_redundant.c of multipath-tcp/mptcp, v0.95 (@98b6f999), by Erbshaeusser and
Froemmgen. Paper: Froemmgen et al., ICC 2016. It looks at no window of the connection.

A place in the queue is kept as a byte here: the successor of a segment begins where that ends.
"""

from __future__ import annotations

from checks.oracle.state import DUPLICATE, NEW, Answer, Asked, Question, Segment, Subflow
from checks.oracle.v09x import Model, in_list_order


class Redundant(Model):
    metric = False

    def set_up(self) -> None:
        #: of each subflow, the end of the last segment it was given; of the connection, who is next
        self.end: dict[int, int] = {}
        self.next: int | None = None

    def choose(self, question: Question) -> Answer:
        if question.reinjection:
            return self.reinjection(question)
        actives = any(each.usable and not each.backup for each in question.subflows)
        for each in self._from_next(question):
            seq = self._candidate(question, each)
            if seq is None or not self.default.available(each, Segment(seq, 0, frozenset())):
                continue
            is_new = question.head is not None and seq == question.head.seq
            if each.backup and (actives or not is_new):
                continue
            return Answer(NEW if is_new else DUPLICATE, each.id, seq)
        return Answer()

    def took(self, asked: Asked) -> None:
        question, answer, _ = asked
        if answer.what not in (NEW, DUPLICATE):
            return
        segment = question.head if answer.what == NEW else self.sent.at(answer.seq)
        if segment:
            self.end[answer.subflow] = segment.end
        order = [each.id for each in in_list_order(question)]
        later = order[order.index(answer.subflow) + 1 :] if answer.subflow in order else []
        self.next = later[0] if later else None

    def why(self) -> str:
        return f"next {self.next}, ends {self.end}"

    def _from_next(self, question: Question) -> list[Subflow]:
        order = list(in_list_order(question))
        begin = next((i for i, each in enumerate(order) if each.id == self.next), 0)
        return order[begin:] + order[:begin]

    def _candidate(self, question: Question, subflow: Subflow) -> int | None:
        """The first byte of the next segment for the subflow; None: the queue has no other."""
        first = question.oldest or question.head
        if not first:
            return None
        seq = self.end.get(subflow.id, 0)
        if seq <= question.una_seq:
            seq = first.seq
        while (segment := self.sent.at(seq)) and seq < question.nxt_seq:
            if subflow.id not in segment.carried:
                return seq
            seq = segment.end
        # at the end of what was sent; or it was given the first unsent one, which did not leave
        return question.head.seq if question.head else None
