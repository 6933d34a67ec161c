# SPDX-License-Identifier: GPL-2.0-only
"""stms: the slow path sends what will be due when it arrives.

After the idea of Shi et al., USENIX ATC 2018, of which the abstract was at hand; there is no code.
So this is a second implementation of the formulas of docs/schedulers/stms.md, not of the paper's.

TCP's numbers of a subflow say what of it is acknowledged. A sample is counted from when it leaves:
how much the faster subflows are to deliver before it is known then, and how much they have
delivered is when the connection, or the sample itself, is acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from checks.oracle.state import CA_LOSS, CA_OPEN, NEW, Answer, Asked, Done, Question, Subflow
from checks.oracle.v09x import (
    Model,
    available,
    has_room,
    in_loss,
    lowest_rtt,
    moves_on,
    regular,
)

_CA_RECOVERY = 3
_MOST_SHIFT = 6


@dataclass
class Sample:
    """A segment of a slower subflow, and what is to arrive before it.

    `before`: bytes that faster subflows have on their way, and that were left to them.
    `own`: bytes that its subflow has on its way when it leaves, itself included.
    """

    seq: int
    end: int
    ahead: int
    before: int
    own: int
    is_probe: bool
    faster: frozenset[int]
    delivered: int = 0
    own_delivered: int = 0


@dataclass
class Gap:
    """What a subflow leaves to faster ones, and its sample, if there is one."""

    bytes: int = 0
    idle_from_ns: int = 0
    shift: int = 0
    sample: Sample | None = None


@dataclass
class Seen:
    """A subflow at the last question."""

    usable: bool
    backup: bool
    ca_state: int
    snd_una: int
    in_flight: int
    delivered: int

    def timed_out(self, now: Subflow) -> bool:
        """With a timeout all is lost. With the next one, so is what was sent again."""
        if now.ca_state != CA_LOSS:
            return False
        again = self.in_flight > 0 and now.in_flight == 0 and now.delivered == self.delivered
        return self.ca_state != CA_LOSS or again


@dataclass
class Pick:
    """The latest one for a slower subflow."""

    subflow: int
    seq: int
    ahead: int


@dataclass
class State:
    gaps: dict[int, Gap] = field(default_factory=dict)
    seen: dict[int, Seen] = field(default_factory=dict)
    pick: Pick | None = None


class Stms(Model):
    knows = frozenset({"shrink_pkts", "probe_rtts"})

    def set_up(self) -> None:
        self.shrink = self.params.get("shrink_pkts", 1)
        self.probe_rtts = self.params.get("probe_rtts", 4)
        self.state = State()
        self.latest: Question | None = None
        self.planned: Pick | None = None
        #: sent since the last question, on each subflow
        self.added: dict[int, int] = {}

    def choose(self, question: Question) -> Answer:
        self._hear(question)
        self.latest, self.added, self.planned = question, {}, None
        if question.reinjection:
            return self.reinjection(question)
        fast = lowest_rtt(
            [each for each in regular(question) if not in_loss(each) and moves_on(each)]
        )
        if not question.head or not fast:
            return Answer()
        if has_room(fast):
            return Answer.new(fast, question.head)
        able = [each for each in question.subflows if each is not fast and available(each)]
        able = [each for each in able if each.backup <= fast.backup]
        able = [each for each in able if self._ahead(question, each) is not None]
        slow = lowest_rtt(able)
        if not slow:
            return Answer()
        ahead = self._ahead(question, slow) or 0
        segment = self.sent.nth_unsent(question, ahead // question.segment_bytes)
        if not segment or segment.end > question.window_end_seq:
            return Answer()
        self.planned = Pick(slow.id, segment.seq, ahead)
        return Answer.new(slow, segment)

    def took(self, asked: Asked) -> None:
        answer, plan = asked.answer, self.planned
        if plan and answer.what == NEW and (answer.subflow, answer.seq) == (plan.subflow, plan.seq):
            self.state.pick = plan

    def done(self, done: Done) -> None:
        super().done(done)
        subflow = self.latest and self.latest.subflow(done.subflow)
        if not subflow:
            return
        gap = self._gap(subflow)
        self.added[subflow.id] = self.added.get(subflow.id, 0) + done.bytes
        idle_ns = self.probe_rtts * (subflow.srtt_8us >> 3) * 1000
        gap.idle_from_ns = done.time_ns + (idle_ns << gap.shift)
        if done.what != NEW:
            return
        if gap.sample and done.seq < gap.sample.seq:
            gap.sample.delivered += done.bytes
        pick = self.state.pick
        if not gap.sample and pick and pick.seq == done.seq:
            self._begin_sample(subflow, gap, pick, done.bytes)

    def why(self) -> str:
        gaps = {number: gap.bytes for number, gap in self.state.gaps.items()}
        samples = {number: gap.sample for number, gap in self.state.gaps.items() if gap.sample}
        return f"gaps {gaps}, samples {samples}"

    def _gap(self, subflow: Subflow) -> Gap:
        return self.state.gaps.setdefault(subflow.id, Gap())

    # --- samples

    def _begin_sample(self, subflow: Subflow, gap: Gap, pick: Pick, bytes_: int) -> None:
        assert self.latest
        others = [each for each in self.latest.subflows if each is not subflow and each.usable]
        faster = [each for each in others if each.srtt_8us >> 3 <= subflow.srtt_8us >> 3]
        gap.sample = Sample(
            seq=pick.seq,
            end=pick.seq + bytes_,
            ahead=pick.ahead,
            before=pick.ahead + sum(self._on_its_way(each) for each in faster),
            own=self._on_its_way(subflow),
            is_probe=pick.ahead < gap.bytes,
            faster=frozenset(each.id for each in faster),
        )

    def _on_its_way(self, subflow: Subflow) -> int:
        return subflow.outstanding_bytes + self.added.get(subflow.id, 0)

    def _hear(self, question: Question) -> None:
        """What has happened since the last question, subflow by subflow."""
        seen = self.state.seen
        for each in question.subflows:
            now = Seen(
                *(each.usable, each.backup, each.ca_state),
                *(each.snd_una, each.in_flight, each.delivered),
            )
            was = seen.get(each.id) or replace(now, usable=False, ca_state=CA_OPEN)
            seen[each.id] = now
            if (was.usable, was.backup) != (each.usable, each.backup):
                self._forget()
            if each.snd_una != was.snd_una:
                self._acked(question, each, (each.snd_una - was.snd_una) & 0xFFFFFFFF)
            if was.ca_state < _CA_RECOVERY == each.ca_state or was.timed_out(each):
                self._forget()
        self._look(question)

    def _acked(self, question: Question, subflow: Subflow, bytes_: int) -> None:
        for gap in self.state.gaps.values():
            if gap.sample and subflow.id in gap.sample.faster:
                gap.sample.delivered += bytes_
        self._look(question)
        gap = self._gap(subflow)
        sample = gap.sample
        if not sample:
            return
        sample.own_delivered += bytes_
        if sample.own_delivered < sample.own:
            return
        gap.sample = None
        missing = sample.before - sample.delivered
        if missing > 0 and self._is_calm(question):
            self._early(gap, sample, missing)

    def _look(self, question: Question) -> None:
        """Has the connection been acknowledged beyond a sample?"""
        for gap in self.state.gaps.values():
            sample = gap.sample
            if not sample or question.una_seq < sample.end:
                continue
            gap.sample = None
            if not self._is_calm(question):
                continue
            beyond = sample.delivered - sample.before
            if beyond > 0:
                gap.bytes = sample.ahead + beyond
                gap.shift = min(gap.shift + sample.is_probe, _MOST_SHIFT)
            else:
                self._early(gap, sample, self.shrink * question.segment_bytes)

    def _early(self, gap: Gap, sample: Sample, bytes_: int) -> None:
        gap.bytes = max(sample.ahead - bytes_, 0)
        gap.shift = 0

    def _is_calm(self, question: Question) -> bool:
        seen = [self.state.seen.get(each.id) for each in question.subflows]
        return all(each.ca_state == CA_OPEN for each in seen if each and each.usable)

    def _forget(self) -> None:
        for gap in self.state.gaps.values():
            gap.sample = None

    # --- decisions

    def _ahead(self, question: Question, subflow: Subflow) -> int | None:
        """The unsent bytes before what it takes; None: it takes nothing."""
        gap = self._gap(subflow)
        if question.unsent_bytes > gap.bytes:
            return gap.bytes
        idle = self.probe_rtts and not subflow.in_flight and question.time_ns >= gap.idle_from_ns
        return question.unsent_bytes - 1 if idle else None
