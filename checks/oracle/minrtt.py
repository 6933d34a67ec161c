# SPDX-License-Identifier: GPL-2.0-only
"""minrtt: "default" of v0.95, the lowest RTT with room, with opportunistic retransmission and
penalisation; and of v0.88 to v0.91 (`v089`), with which Paasch et al. measured.

Sources: mptcp_sched.c of multipath-tcp/mptcp @b8affe85; that of v0.89, as it is in the kernels of
vendors and in the modules that were made of it. Papers: Raiciu et al., NSDI 2012, section 4.2;
LowRTT, +RP and +BM of Paasch et al., CSWS 2014. Of bm there is no code: its formula is that of our
page.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from checks.oracle.state import Answer, Question, Segment, Subflow
from checks.oracle.v09x import (
    Default,
    Model,
    available,
    in_list_order,
    lowest_rtt,
    next_segment,
    window_takes,
)


class MinRtt(Model):
    knows: ClassVar[frozenset[str]] = frozenset({"rp", "bm", "bm_lambda", "v089"})

    def set_up(self) -> None:
        self.rp = bool(self.params.get("rp", 1))
        self.default = V089(all_slow=False) if self.params.get("v089") else Default()
        lambda_tenths = self.params.get("bm_lambda", 30)
        self.bm = Bufferbloat(lambda_tenths) if self.params.get("bm") else None

    def choose(self, question: Question) -> Answer:
        if self.bm:
            self.bm.limit(question)
        self.default.began(question)
        return next_segment(question, self.default.choose, self._repeat)

    def _repeat(self, question: Question, fast: Subflow, penalise: bool) -> Segment | None:
        return self.default.repeat(question, fast, penalise) if self.rp else None


class V089(Default):
    """mptcp_is_available() and get_available_subflow() as they were up to v0.91."""

    def available(self, subflow: Subflow, segment: Segment | None) -> bool:
        """Nothing is sent where TSQ holds back, or the subflow's own receive window is full."""
        return available(subflow) and not subflow.throttled and window_takes(subflow, segment)

    def choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        """A backup only if nothing else is established; of those that carried it, the last seen."""
        carried = self.carried(segment)
        free = [each for each in in_list_order(question) if self.available(each, segment)]
        unused = [each for each in free if each.id not in carried]
        best, spare = (
            lowest_rtt([each for each in unused if each.backup == backup])
            for backup in (False, True)
        )
        if spare and all(each.backup for each in question.subflows if each.can_send):
            return spare
        used = [each for each in free if each.id in carried]
        if best or not used:
            return best
        if segment:
            self.cleared[segment.seq] = segment.carried
        return used[-1]


class Bufferbloat:
    """bm: of cwnd, only lambda * least RTT / RTT may be in flight, and never less than 2 segments.

    The RTTs are smoothed; both are looked at when something was acknowledged.
    """

    def __init__(self, tenths: int) -> None:
        self.tenths = tenths
        self.least_us: dict[int, int] = {}
        self.limits: dict[int, int] = {}
        self.acked: dict[int, int] = {}

    def limit(self, question: Question) -> None:
        """Cuts the windows in `question`."""
        for each in question.subflows:
            if each.snd_una != self.acked.setdefault(each.id, each.snd_una):
                self.acked[each.id] = each.snd_una
                self._look(each)
            window = min(each.cwnd, self.limits.get(each.id, each.cwnd))
            question.subflows[each.index] = replace(each, cwnd=window)

    def _look(self, subflow: Subflow) -> None:
        rtt_us = subflow.srtt_8us >> 3
        least_us = min(self.least_us.get(subflow.id, rtt_us), rtt_us)
        self.least_us[subflow.id] = least_us
        window = subflow.cwnd * self.tenths * least_us // (10 * rtt_us) if rtt_us else subflow.cwnd
        if window < subflow.cwnd:
            self.limits[subflow.id] = max(window, 2)
        else:
            self.limits.pop(subflow.id, None)
