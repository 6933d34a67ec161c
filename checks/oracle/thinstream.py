# SPDX-License-Identifier: GPL-2.0-only
"""thinstream: the lowest one-way delay, and probes of idle subflows at the end of a burst.

Source: the programs for ProgMP of Froemmgen, Heuschkel and Koldehofe, "Multipath TCP Scheduling for
Thin Streams: Active Probing and One-way Delay-awareness", ICC 2018 (`min_owd` with redundant
probing), in AlexanderFroemmgen/mptcp_progmp_maci_evaluation_setups; the properties of subflows as
of net/mptcp/mptcp_rbs_value.c in joh2511/mptcp. Only the abstract of the paper was at hand.

A burst ends where everything written is sent.
"""

from __future__ import annotations

from checks.oracle.state import DUPLICATE, NEW, Answer, Asked, Question, Segment, Subflow
from checks.oracle.v09x import Model, in_list_order, in_loss, window_takes

_PROBE_RTTS = 5


class ThinStream(Model):
    def set_up(self) -> None:
        #: USER: until when a subflow is no candidate for a probe
        self.stamp_ns: dict[int, int] = {}
        #: pushes of the program's last run that are still to be carried out
        self.pushes: list[Answer] = []

    def choose(self, question: Question) -> Answer:
        while self.pushes:
            push = self.pushes.pop(0)
            if push.seq >= question.una_seq:
                return push
        candidates = [each for each in in_list_order(question) if _candidate(each)]
        if question.reinjection:
            segment = question.reinjection
            able = [each for each in candidates if each.id not in segment.carried]
            able = [each for each in able if window_takes(each, segment)]
            if able:
                return Answer.reinjection(min(able, key=lambda each: each.owd_us), segment)
        if not question.head or not candidates:
            return Answer()
        # DELAY_OUT without a sample is 0, the least; there is one since the handshake
        chosen = min(candidates, key=lambda each: each.owd_us)
        self._probe(question, question.head, chosen, candidates)
        return Answer.new(chosen, question.head)

    def took(self, asked: Asked) -> None:
        question, answer, _ = asked
        subflow = question.subflow(answer.subflow)
        if subflow and answer.what in (NEW, DUPLICATE):
            rtt_ns = (subflow.srtt_8us >> 3) * 1000
            self.stamp_ns[subflow.id] = question.time_ns + _PROBE_RTTS * rtt_ns

    def _probe(
        self, question: Question, head: Segment, chosen: Subflow, candidates: list[Subflow]
    ) -> None:
        """At the end of a burst, its last segment is pushed on the idle ones, too."""
        if head.end - head.seq < question.unsent_bytes:
            return
        self.pushes = [
            Answer.duplicate(each, head)
            for each in candidates
            if each is not chosen and self.stamp_ns.get(each.id, 0) < question.time_ns
        ]


def _candidate(subflow: Subflow) -> bool:
    queued = subflow.unsent_bytes // subflow.mss
    room = subflow.cwnd > subflow.packets_out + queued
    return subflow.usable and room and not in_loss(subflow) and not subflow.throttled
