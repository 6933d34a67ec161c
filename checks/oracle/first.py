# SPDX-License-Identifier: GPL-2.0-only
"""first: everything on the first subflow.

Source: tools/testing/selftests/bpf/progs/mptcp_bpf_first.c of multipath-tcp/mptcp_net-next, which
marks msk->first whatever its state. The framework asks for a usable one: the first of these.
"""

from __future__ import annotations

from checks.oracle.state import NEW, REINJECTION, WAIT, Answer, Question
from checks.oracle.v09x import Model


class First(Model):
    metric = False

    def choose(self, question: Question) -> Answer:
        first = next((each for each in question.subflows if each.usable), None)
        if not first:
            return Answer(WAIT)
        if question.reinjection:
            return Answer(REINJECTION, first.id, question.reinjection.seq)
        if question.head:
            return Answer(NEW, first.id, question.head.seq)
        return Answer(WAIT)
