# SPDX-License-Identifier: GPL-2.0-only
"""burst: upstream's default scheduler, segment by segment.

Source: tools/testing/selftests/bpf/progs/mptcp_bpf_burst.c of multipath-tcp/mptcp_net-next, a copy
of mptcp_subflow_get_send() of net/mptcp/protocol.c; and, there, what __mptcp_push_pending() does
with its answer: it stays with the subflow until the burst has been sent, or the subflow has no
memory left or cannot be used, and it asks anew whenever it is called. What a closed or stale
subflow carried is sent again by the same way; else, only the connection's timer sends anything
again, which asks another function.

MPTCP_SEND_BURST_SIZE is 64 KiB less 108 bytes of headers.
"""

from __future__ import annotations

from checks.oracle.state import NEW, REINJECTION, Answer, Asked, Done, Question, Segment, Subflow
from checks.oracle.v09x import Model, regular

_BURST_BYTES = (1 << 16) - 108
_U32_MAX = 0xFFFFFFFF


class Burst(Model):
    metric = False

    def set_up(self) -> None:
        #: avg_pacing_rate, by the number of the subflow
        self.average: dict[int, int] = {}
        #: who has the burst, and snd_burst: what is left of it
        self.winner = 0
        self.left_bytes = 0

    def choose(self, question: Question) -> Answer:
        again = question.reinjection if _is_orphan(question, question.reinjection) else None
        segment = again or question.head
        subflow = self._send(question) if segment else None
        return Answer.new(subflow, segment, REINJECTION if again else NEW)

    def took(self, asked: Asked) -> None:  # noqa: ARG002
        # until it has been done, nobody knows whether there was room: the next one asks anew
        self.winner = 0

    def done(self, done: Done) -> None:
        if done.what in (NEW, REINJECTION):
            self.winner = done.subflow
            self.left_bytes -= done.bytes

    def _send(self, question: Question) -> Subflow | None:
        """get_send(), unless the burst goes on"""
        going_on = question.subflow(self.winner)
        if going_on and going_on.usable and self.left_bytes > 0 and not going_on.memory_full:
            return going_on
        for each in question.subflows:
            if each.usable and not self.average.get(each.id):
                self.average[each.id] = _pace(each)
        linger = {each.id: self._linger(each) for each in regular(question)}
        self._why = f"linger {linger}"
        winner = question.subflow(min(linger, key=linger.__getitem__, default=0))
        if not winner or winner.memory_full:
            return None
        burst = min(_BURST_BYTES, max(question.window_end_seq - question.nxt_seq, 0))
        self.left_bytes = burst
        if burst:
            memory = winner.wmem_queued
            total = self.average[winner.id] * memory + _pace(winner) * burst
            self.average[winner.id] = total // (memory + burst)
        return winner

    def _linger(self, subflow: Subflow) -> int:
        """Until its queue is empty, in 2^-32 s."""
        return (subflow.wmem_queued << 32) // self.average[subflow.id]


def _pace(subflow: Subflow) -> int:
    return max(min(subflow.pacing_rate, _U32_MAX), 1)


def _is_orphan(question: Question, segment: Segment | None) -> bool:
    """Upstream sends again, in order, what is on no subflow that it counts on."""
    by = segment.carried if segment else ()
    return all(each.stale for each in question.subflows if each.id in by)
