# SPDX-License-Identifier: GPL-2.0-only
"""first: everything on the first subflow.

Source: tools/testing/selftests/bpf/progs/mptcp_bpf_first.c of multipath-tcp/mptcp_net-next.
"""

from __future__ import annotations

from collections.abc import Sequence

from checks.oracle.state import Answer, Question, Subflow
from checks.oracle.v09x import Model


class First(Model):
    metric = False

    def choose(self, question: Question) -> Answer:
        first = next(iter(self.candidates(question)), None)
        again = question.reinjection
        return Answer.reinjection(first, again) if again else Answer.new(first, question.head)

    def candidates(self, question: Question) -> Sequence[Subflow]:
        """The subflows of which the first has everything."""
        return [each for each in question.subflows if each.usable]
