# SPDX-License-Identifier: GPL-2.0-only
"""daps: a schedule over the least common multiple of the delays, in which each subflow sends its
congestion window once in each of its delays.

Source: mptcp_daps.c of vkirany/mptcp-kau (@98ab772f). Papers: Sarwar et al., WAINA 2013; Kuhn et
al., ICC 2014. Parameters of the module: allow_optim 1, daps_in_ss 1, round_delay 4,
use_planned_cwnd 1, smooth_cwnd 1. Its comment says that delays are in milliseconds, and here they
are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from checks.oracle.state import NEW, REINJECTION, Answer, Done, Question, Segment, Subflow
from checks.oracle.v09x import (
    Model,
    fits_window,
    has_room,
    in_list_order,
    lowest_rtt,
    new_data,
    reachable,
    window_takes,
)

_MAX_FLOWS = 8
_ROUND_MS = 4


@dataclass
class Smooth:
    """A congestion window, smoothed once in a round trip, in eighths."""

    value: int = 0
    until: int | None = None

    def update(self, subflow: Subflow) -> None:
        if self.until is not None and (subflow.snd_una - self.until) & 0x80000000:
            return
        if self.value:
            self.value += subflow.cwnd - (self.value >> 3)
        else:
            self.value = subflow.cwnd << 3
        self.value = max(self.value, 1)
        self.until = subflow.snd_nxt

    def packets(self, subflow: Subflow) -> int:
        return max(self.value >> 3 if self.value else subflow.cwnd, 1)


@dataclass
class Schedule:
    """`time` counts from 1 to `end`; `place` is the next of the flows, which are by RTT."""

    flows: list[int] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    time: int = 1
    place: int = 0
    end: int = 0


class Daps(Model):
    metric = False

    def set_up(self) -> None:
        self.smooth: dict[int, Smooth] = {}
        #: segments left in the visit; -1: a new visit begins
        self.left: dict[int, int] = {}
        self.schedule = Schedule()

    def choose(self, question: Question) -> Answer:
        """mptcp_next_segment()"""
        segment = question.reinjection or new_data(question)
        if not segment:
            return Answer()
        for each in question.subflows:
            if reachable(each) and each.cwnd:
                self.smooth.setdefault(each.id, Smooth()).update(each)
        subflow = self._scheduled(question)
        if not subflow:
            self._begin(question)
            subflow = self._scheduled(question) or self._lowest_rtt(question, segment)
        if subflow and not fits_window(question, segment, subflow.mss):
            return self._repeat(question)
        if question.reinjection:
            return Answer.reinjection(subflow, segment)
        return Answer.new(subflow, question.head)

    def done(self, done: Done) -> None:
        """The module looks at the window before it counts, so what is counted leaves."""
        super().done(done)
        if done.what in (NEW, REINJECTION):
            self.left[done.subflow] = self.left.get(done.subflow, 0) - 1

    def why(self) -> str:
        plan = self.schedule
        return (
            f"flows {plan.flows}, delays {plan.delays}, windows {plan.windows}, time {plan.time} "
            f"of {plan.end}, left {self.left}"
        )

    def _begin(self, question: Question) -> None:
        """mptcp_begin_schedule()"""
        order = in_list_order(question)
        flows = [each for each in order if reachable(each) and each.srtt_8us][:_MAX_FLOWS]
        for each in flows:
            self.left[each.id] = -1
        flows.sort(key=lambda each: each.srtt_8us)
        delays = [_delay_ms(each) for each in flows]
        self.schedule = Schedule(
            [each.id for each in flows],
            delays,
            [self.smooth.get(each.id, Smooth()).packets(each) for each in flows],
            end=math.lcm(*delays) if delays else 0,
        )

    def _scheduled(self, question: Question) -> Subflow | None:
        """algo1(): who sends the next segment, by the schedule; None: it has ended."""
        plan = self.schedule
        while plan.flows and plan.time <= plan.end:
            while plan.place < len(plan.flows):
                place = plan.place
                plan.place += 1
                if plan.time % plan.delays[place]:
                    continue
                subflow = question.subflow(plan.flows[place])
                if not subflow:
                    continue
                if not reachable(subflow):
                    self.left[subflow.id] = -1
                    continue
                if self.left.get(subflow.id, 0) == -1:
                    self.left[subflow.id] = plan.windows[place]
                if self.left[subflow.id] == 0:
                    self.left[subflow.id] = -1
                    continue
                plan.place = place
                return subflow
            plan.place = 0
            # the source counts on by one; at all times before this one nobody has a turn
            plan.time = min((plan.time // delay + 1) * delay for delay in plan.delays)
        return None

    def _lowest_rtt(self, question: Question, segment: Segment) -> Subflow | None:
        """get_daps_available_subflow()"""
        free = [each for each in in_list_order(question) if _room(each, segment)]
        carried = self.default.carried(segment)
        unused = [each for each in free if each.id not in carried]
        if free and not unused and len(question.subflows) > 1:
            self.default.cleared[segment.seq] = segment.carried
        return lowest_rtt(unused or free)

    def _repeat(self, question: Question) -> Answer:
        """mptcp_daps_priority_send(): the oldest segment that a subflow with room lacks."""
        free = [each for each in in_list_order(question) if _room(each, None)]
        free.sort(key=lambda each: each.srtt_8us)
        for segment in self.sent.unacked(question):
            for each in free:
                if each.id not in segment.carried and _room(each, segment):
                    return Answer.duplicate(each, segment)
        return Answer()


def _delay_ms(subflow: Subflow) -> int:
    """Half the RTT, in multiples of round_delay."""
    half = (subflow.srtt_8us >> 3) // 1000 // 2
    return max((half + _ROUND_MS // 2) // _ROUND_MS * _ROUND_MS, 1)


def _room(subflow: Subflow, segment: Segment | None) -> bool:
    return reachable(subflow) and has_room(subflow) and window_takes(subflow, segment)
