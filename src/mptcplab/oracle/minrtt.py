# SPDX-License-Identifier: GPL-2.0-only
"""minrtt: "default" of v0.95, the lowest RTT with room, with opportunistic retransmission and
penalisation.

Source: mptcp_sched.c of multipath-tcp/mptcp @b8affe85. Paper: Raiciu et al., NSDI 2012, section
4.2; LowRTT+RP of Paasch et al., CSWS 2014.
"""

from __future__ import annotations

from collections.abc import Mapping

from mptcplab.oracle.state import Answer, Question
from mptcplab.oracle.v09x import V095, Default, Model, next_segment


class MinRtt(Model):
    def __init__(self, params: Mapping[str, int]) -> None:
        super().__init__(params)
        self.default = Default(V095)

    def choose(self, question: Question) -> Answer:
        self.default.began(question)
        return next_segment(question, self.default.choose, self.default.repeat)
