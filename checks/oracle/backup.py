# SPDX-License-Identifier: GPL-2.0-only
"""backup: everything on the first subflow that is no backup.

Source: tools/testing/selftests/bpf/progs/mptcp_bpf_bkup.c of multipath-tcp/mptcp_net-next.
"""

from __future__ import annotations

from collections.abc import Sequence

from checks.oracle.first import First
from checks.oracle.state import Question, Subflow
from checks.oracle.v09x import regular


class Backup(First):
    def candidates(self, question: Question) -> Sequence[Subflow]:
        return regular(question)
