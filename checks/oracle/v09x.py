# SPDX-License-Identifier: GPL-2.0-only
"""What the schedulers of the out-of-tree kernels have in common.

Source: net/mptcp/mptcp_sched.c of multipath-tcp/mptcp, of v0.94 (@0a7e92df) and v0.95 (@b8affe85),
and mptcp_add_sock() of mptcp_ctrl.c for the order of the list of subflows. The papers: Raiciu et
al., NSDI 2012, section 4.2; Paasch et al., CSWS 2014.

Subflows are compared by srtt_us, which TCP keeps in eighths of a microsecond.
"""

from __future__ import annotations

import abc
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from checks.oracle.sent import Sent
from checks.oracle.state import CA_LOSS, CA_OPEN, Answer, Asked, Done, Question, Segment, Subflow

#: Timer ticks per second of the kernel that is run, and of most kernels that the field measured
#: with: the modules count time in ticks.
HZ = 250

_NONE: frozenset[int] = frozenset()


def jiffies(us: int) -> int:
    """usecs_to_jiffies(): rounded up."""
    return -(-us * HZ // 1_000_000)


def in_list_order(question: Question) -> Sequence[Subflow]:
    """The subflows as the source walks them: mptcp_add_sock() puts each new one first."""
    return question.subflows[::-1] if question.newest_first else question.subflows


def regular(question: Question) -> list[Subflow]:
    """The usable subflows in the order of their creation: all but backups, or the backups."""
    usable = [each for each in question.subflows if each.usable]
    return [each for each in usable if not each.backup] or usable


def lowest_rtt(subflows: Sequence[Subflow]) -> Subflow | None:
    """The lowest by a strict comparison: of equals, the first in the list."""
    return min(subflows, key=lambda each: each.srtt_8us, default=None)


def in_loss(subflow: Subflow) -> bool:
    """After a timeout, with SACK, nothing new is sent before all that was lost has been."""
    return subflow.ca_state == CA_LOSS


def has_room(subflow: Subflow) -> bool:
    """What is queued in the subflow counts against its congestion window.

    v0.94 compares by `>` where v0.95 has `>=`. But mptcp_write_xmit() of both hands each segment to
    TCP (__tcp_push_pending_frames()) before it chooses again, so that what is queued here is in
    flight there: with as much in flight as the window has, both call the subflow full.
    """
    if subflow.in_flight >= subflow.cwnd:
        return False
    return subflow.unsent_bytes < (subflow.cwnd - subflow.in_flight) * subflow.mss


def available(subflow: Subflow) -> bool:
    """mptcp_is_available() for data: with zero_wnd_test off it looks at no receive window."""
    return subflow.usable and not in_loss(subflow) and has_room(subflow)


def reachable(subflow: Subflow) -> bool:
    """mptcp_otias_is_available(), mptcp_daps_is_available(): no test of the congestion window."""
    return subflow.usable and not in_loss(subflow) and not subflow.throttled


def moves_on(subflow: Subflow) -> bool:
    """Has it room, or something in flight whose ACK will make some?

    The sources wait for subflows, or plan for them, in whatever state they are, and then stall.
    The kernel's do not, and no model says that they should.
    """
    return has_room(subflow) or subflow.in_flight > 0 or subflow.unsent_bytes > 0


def window_takes(subflow: Subflow, segment: Segment | None) -> bool:
    """Has the subflow's own receive window room for the first packet of a segment?"""
    return not segment or min(segment.bytes, subflow.mss) <= subflow.window_bytes


def fastest(question: Question, slow: Subflow) -> Subflow | None:
    """The lowest RTT of all, for which BLEST and ECF wait; but not of those that may never send.

    The modules look at all that can send, silent since a timeout (pf) or a backup as they may be.
    """
    alive = [each for each in in_list_order(question) if each.usable]
    alive = [each for each in alive if each.backup <= slow.backup]
    return lowest_rtt(
        [each for each in alive if each.id == slow.id or each.in_flight or each.unsent_bytes]
    )


def most_until(value: Callable[[int], int], limit: int, bound: int = 1 << 17) -> int:
    """The largest number below the bound for which a value that grows with it is no more."""
    return bisect_right(range(1, bound), limit, key=value)


def new_data(question: Question) -> Segment | None:
    """The head of the send queue, without the part of it that has been sent."""
    head = question.head
    if not head:
        return None
    return Segment(head.seq + question.head_sent, head.bytes - question.head_sent, _NONE)


def fits_window(question: Question, segment: Segment, mss: int) -> bool:
    """tcp_snd_wnd_test(): has the connection's window room for the first packet of it?"""
    return segment.seq + min(segment.bytes, mss) <= question.window_end_seq


@dataclass
class Default:
    """get_available_subflow() and mptcp_rcv_buf_optimization(), with their state.

    `all_slow`: as in v0.95, each subflow that carries the oldest segment is penalised; in v0.94
    the first one in the list. `cleared` has, for the segment of that number, the subflows that no
    longer count as having carried it: the source forgets them when all others have had their turn.
    """

    all_slow: bool = True
    cleared: dict[int, frozenset[int]] = field(default_factory=dict)
    optimised: dict[int, int] = field(default_factory=dict)

    def available(self, subflow: Subflow, _: Segment | None) -> bool:
        return available(subflow)

    def carried(self, segment: Segment | None) -> frozenset[int]:
        return segment.carried - self.cleared.get(segment.seq, _NONE) if segment else _NONE

    def choose(self, question: Question, segment: Segment | None) -> Subflow | None:
        """get_available_subflow(): the lowest RTT with room; segment None: whatever is sent."""
        if len(question.subflows) == 1 and not self.all_slow:
            only = question.subflows[0]
            return only if self.available(only, segment) else None
        for _ in range(2):
            chosen, force = self._pass(question, segment, backup=False)
            if force:
                return chosen
            chosen, force = self._pass(question, segment, backup=True)
            if force or not segment:
                return chosen
            self.cleared[segment.seq] = segment.carried
        return chosen

    def _pass(
        self, question: Question, segment: Segment | None, backup: bool
    ) -> tuple[Subflow | None, bool]:
        """get_subflow_from_selectors(): the best of a class, and whether that is the answer."""
        carried = self.carried(segment)
        usable = [each for each in in_list_order(question) if each.usable]
        usable = [each for each in usable if each.backup == backup]
        free = [each for each in usable if self.available(each, segment)]
        unused = [each for each in free if each.id not in carried]
        if best := lowest_rtt(unused or free):
            return best, bool(unused)
        return None, any(each.id not in carried for each in usable)

    def repeat(self, question: Question, fast: Subflow, penalise: bool) -> Segment | None:
        """mptcp_rcv_buf_optimization(): the oldest segment, if it is to be sent on `fast`, too.

        Subflows are penalised in `question`, as the source does it before it looks at them again.
        """
        oldest = question.oldest
        if not oldest or (len(question.subflows) == 1 and not self.all_slow):
            return None
        if penalise or question.sndbuf_full:
            self.penalise(question, fast, oldest)
        return oldest if lags(question, fast, oldest) and self.available(fast, oldest) else None

    def penalise(self, question: Question, fast: Subflow, oldest: Segment) -> None:
        since = question.jiffies - self.optimised.setdefault(fast.id, question.jiffies)
        if since < jiffies(fast.srtt_8us >> 3):
            return
        for slow in list(in_list_order(question)):
            if slow is fast or slow.id not in oldest.carried:
                continue
            if fast.srtt_8us < slow.srtt_8us and slow.ca_state == CA_OPEN:
                ssthresh = slow.ssthresh
                if slow.cwnd >= ssthresh:
                    ssthresh = max(ssthresh >> 1, 2)
                halved = replace(slow, cwnd=max(slow.cwnd >> 1, 1), ssthresh=ssthresh)
                question.subflows[slow.index] = halved
                self.optimised[fast.id] = question.jiffies
            if not self.all_slow:
                return

    def began(self, question: Question) -> None:
        """A subflow's state begins with it: its rate limit counts from then on."""
        for each in question.subflows:
            self.optimised.setdefault(each.id, question.jiffies)


def lags(question: Question, fast: Subflow, oldest: Segment) -> bool:
    """Is the oldest segment only on subflows that are much slower than `fast`, or very small?"""
    again = False
    for slow in in_list_order(question) if fast.id not in oldest.carried else ():
        if slow.id in oldest.carried:
            again = slow.cwnd <= 4 or 4 * fast.srtt_8us < slow.srtt_8us
            if slow.cwnd <= 4 or not again:
                break
    return again


class Model(abc.ABC):
    """A scheduler of one connection.

    For each question `choose` is called, and then `took` with what the kernel's scheduler had
    answered, from which the model's own state goes on: so that one disagreement is one.
    `metric` says that picks are made by comparing numbers, which may be equal; `knows` are the
    parameters of our scheduler that the model has, too. `sent` has what was carried out, and
    `default` is the default scheduler, to which many leave reinjections.
    """

    metric = True
    knows: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, params: Mapping[str, int]) -> None:
        self.params = params
        self.default = Default()
        self.sent = Sent()
        self._why = ""
        self.set_up()

    def set_up(self) -> None:  # noqa: B027
        """The model's own state, before the first question."""

    @abc.abstractmethod
    def choose(self, question: Question) -> Answer:
        """What the source picks; may change the state that does not depend on the pick."""

    def took(self, asked: Asked) -> None:  # noqa: B027
        """The kernel's scheduler answered so."""

    def done(self, done: Done) -> None:
        """A pick was carried out."""
        self.sent.done(done)

    def awaited(self, question: Question, slow: Subflow) -> Subflow | None:
        """The subflow for which BLEST and ECF may wait instead of sending on `slow`."""
        return fastest(question, slow)

    def why(self) -> str:
        """A line on what decided the last choice, for those who look for a difference."""
        return self._why

    def reinjection(self, question: Question) -> Answer:
        """The head of the reinjection queue where the default scheduler places it, or a wait."""
        again = question.reinjection
        return Answer.reinjection(self.default.choose(question, again), again)


Choice = Callable[[Question, Segment | None], Subflow | None]
Repeat = Callable[[Question, Subflow, bool], Segment | None]


def next_segment(question: Question, choose: Choice, repeat: Repeat) -> Answer:
    """mptcp_next_segment(): the head of the reinjection queue, else new data, else a repetition.

    Where a segment is longer than a packet, the source also limits it (originals.py); ours never
    is.
    """
    if again := question.reinjection:
        return Answer.reinjection(choose(question, again), again)
    fresh = new_data(question)
    if not fresh:
        fast = choose(question, None) if question.writer_waits else None
        again = repeat(question, fast, False) if fast else None
        return Answer.duplicate(choose(question, again) if again else None, again)
    subflow = choose(question, fresh)
    if subflow and not fits_window(question, fresh, subflow.mss):
        return Answer.duplicate(subflow, repeat(question, subflow, True))
    return Answer.new(subflow, question.head)
