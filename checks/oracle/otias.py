# SPDX-License-Identifier: GPL-2.0-only
"""otias: where each segment arrives soonest, time in the subflow's queue included.

Source: mptcp_otias.c of vkirany/mptcp-kau (@98ab772f). Paper: Yang, Wang and Amer, PAMS 2014.
Parameter of the module: optim 0, so there is no opportunistic retransmission.
"""

from __future__ import annotations

from checks.oracle.state import Answer, Question, Segment, Subflow
from checks.oracle.v09x import (
    Model,
    has_room,
    in_list_order,
    next_segment,
    reachable,
    window_takes,
)


class Otias(Model):
    def set_up(self) -> None:
        self.unit = 1

    def choose(self, question: Question) -> Answer:
        self._why = ", ".join(f"{each.id}: {metric_8us(each)}/8 us" for each in question.subflows)
        self.unit = 8 if question.whole_us else 1
        return next_segment(question, self._choose, lambda *_: None)

    def _choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        """get_otias_available_subflow()"""
        usable = [each for each in in_list_order(question) if reachable(each)]
        if len(question.subflows) == 1:
            return usable[0] if usable and _room(usable[0], segment) else None
        carried = self.default.carried(segment)
        free = [each for each in usable if _room(each, segment)]
        # what was sent once is not queued behind a full window
        unused = [each for each in (free if carried else usable) if each.id not in carried]
        if unused:
            return min(unused, key=self._metric)
        used = [each for each in free if each.id in carried]
        if used and segment:
            self.default.cleared[segment.seq] = segment.carried
        return min(used, key=self._metric, default=None)

    def _metric(self, subflow: Subflow) -> int:
        return metric_8us(subflow, self.unit)


def _room(subflow: Subflow, segment: Segment | None) -> bool:
    """mptcp_cwnd_test2()"""
    return has_room(subflow) and window_takes(subflow, segment)


def metric_8us(subflow: Subflow, unit: int = 1) -> int:
    """mptcp_otias_calc_metric(): until when a segment arrives that is queued now.

    Half an RTT is a whole number of units.
    """
    queued = -(-subflow.unsent_bytes // subflow.mss)
    sendable = max(subflow.cwnd - subflow.in_flight, 0)
    wait = 0
    if queued >= sendable:
        wait = -(-(queued - sendable + 1) // max(subflow.cwnd, 1))
    return wait * subflow.srtt_8us + subflow.srtt_8us // 2 // unit * unit
