# SPDX-License-Identifier: GPL-2.0-only
"""backup: everything on the first subflow that is no backup.

Source: tools/testing/selftests/bpf/progs/mptcp_bpf_bkup.c of multipath-tcp/mptcp_net-next, which
marks the first subflow that is not a backup, whatever its state, and nothing if all are backups:
the connection stalls. The framework asks for usable ones; backups are used when no other is.
"""

from __future__ import annotations

from checks.oracle.state import NEW, REINJECTION, WAIT, Answer, Question, Subflow
from checks.oracle.v09x import Model


class Backup(Model):
    metric = False

    def choose(self, question: Question) -> Answer:
        first = next(iter(regular_first(question)), None)
        if not first:
            return Answer(WAIT)
        if question.reinjection:
            return Answer(REINJECTION, first.id, question.reinjection.seq)
        if question.head:
            return Answer(NEW, first.id, question.head.seq)
        return Answer(WAIT)


def regular_first(question: Question) -> list[Subflow]:
    """The usable subflows in the order of their creation: all but backups, or the backups."""
    usable = [each for each in question.subflows if each.usable]
    return [each for each in usable if not each.backup] or usable
