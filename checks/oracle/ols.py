# SPDX-License-Identifier: GPL-2.0-only
"""ols: learns from the goodput how much to send twice (UCB1, or Exp3).

Source: mptcp_ol.c 0.21 of its authors, for v0.95. Paper: Xing et al., IEEE/ACM ToN 2023. Parameters
of the module: DEBUG_USE_UCB, DEBUG_USE_UCB_MON and DEBUG_USE_MAX_BWD on, DEBUG_FIX_ARM off; with
`exp3`, DEBUG_USE_UCB off.

Exp3 draws its arms at random: which one the kernel has drawn is an event in the record. What the
source reads before it is set, with a single subflow, is false here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from checks.oracle.state import (
    DUPLICATE,
    EVENT,
    NEW,
    Answer,
    Asked,
    Done,
    Question,
    Segment,
    Subflow,
)
from checks.oracle.v09x import Model, available

_SCALE = 13
_UNIT = 1 << _SCALE
#: red_ratio of each arm
_RATIOS = (_UNIT, _UNIT // 2, 1)
_QUOTA = 12
_INTERVAL_US = 40_000
_INTERVAL_RTTS = 2
_NEARLY_TIMEOUT_US = 50 * _INTERVAL_US
_DEVIATIONS = 3
_CHANGES = 4
_EPOCH = len(_RATIOS) * 25


def _after(one: int, other: int) -> bool:
    """Of TCP's numbers."""
    return 0 < (one - other) & 0xFFFFFFFF < 1 << 31


@dataclass
class Interval:
    """ol_interval: what is sent in it, and when all of that is acknowledged."""

    begin: int
    duration_us: int = _INTERVAL_US
    end: int = 0
    known: int = 0
    sent_from_us: int = 0
    sent_until_us: int = 0
    ended_us: int = 0
    has_sent: bool = False
    has_ended: bool = False

    def sends(self, nxt: int, now_us: int) -> None:
        if not self.sent_from_us and _after(nxt, self.begin):
            self.sent_from_us = now_us
        self.end = nxt
        self.sent_until_us = now_us

    def is_ready(self) -> bool:
        lasted_us = self.sent_until_us - self.sent_from_us
        return bool(self.sent_from_us) and lasted_us >= self.duration_us

    def receives(self, una: int, now_us: int, *, meta: bool) -> None:
        before, self.known = self.known, una
        if not self.has_sent or _after(self.end, una):
            return
        if not meta or _after(self.end, before):
            self.ended_us = now_us
            self.has_ended = True

    def rate(self) -> int:
        lasted_us = self.ended_us - self.sent_from_us
        return ((self.end - self.begin) & 0xFFFFFFFF) * 1_000_000 // lasted_us if lasted_us else 0


def _interval(begin: int, duration_us: int = _INTERVAL_US) -> Interval:
    return Interval(begin, duration_us, end=begin, known=begin)


@dataclass
class Flow:
    """ol_priv and ol_global of a subflow"""

    interval: Interval
    ratio: int = _UNIT
    rate: int = 0
    rate_us: int = 0
    red: int = 0
    new: int = 0
    #: the segment it has sent last, by its first byte
    latest: int | None = None

    def check_quota(self, *, force: bool) -> None:
        if force or not (self.red or self.new):
            self.red = _QUOTA * self.ratio >> _SCALE
            self.new = _QUOTA - self.red


@dataclass
class Learner:
    """ol_gambler and ol_monitor, which begin anew with each subflow."""

    meta: Interval
    arm: int = 0
    means: list[int] = field(default_factory=lambda: [0, 0, 0])
    deviations: list[int] = field(default_factory=lambda: [0, 0, 0])
    changes: list[int] = field(default_factory=lambda: [0, 0, 0])
    epoch: int = _EPOCH
    counts: list[int] = field(default_factory=lambda: [1, 0, 0])
    total: int = 1

    def update(self, reward: int) -> None:
        """ol_update_UCB1()"""
        self._monitor(reward)
        count = self.counts[self.arm]
        self.means[self.arm] = (self.means[self.arm] * (count - 1) + reward) // count

    def _monitor(self, reward: int) -> None:
        """ol_check_reward_difference_UCB1()"""
        arm, mean, most = self.arm, self.means[self.arm], _DEVIATIONS * self.deviations[self.arm]
        self.epoch = max(self.epoch - 1, 0)
        differs = abs(reward - mean)
        if not self.deviations[arm]:
            self.deviations[arm] = differs
            return
        above = reward > mean + most and mean < max(self.means)
        below = reward < max(mean - most, 0) and mean > min(self.means)
        # how often in a row a reward was far above what is usual, or below
        before = self.changes[arm]
        self.changes[arm] = max(before, 0) + 1 if above else min(before, 0) - 1 if below else 0
        if abs(self.changes[arm]) >= _CHANGES:
            self.counts, self.means, self.total = [0, 0, 0], [0, 0, 0], 1
            self.counts[arm] = 1
            self.changes[arm] = 0
            self.epoch = _EPOCH
        if (above or below) and not self.epoch:
            return
        self.deviations[arm] += (differs >> 3) - (self.deviations[arm] >> 3)

    def pull(self) -> int:
        """pull_the_arm_UCB(): an arm that was never pulled, else the highest bound"""
        bounds = []
        for count, mean in zip(self.counts, self.means, strict=True):
            if not count:
                bounds.append(math.inf)
                break
            bounds.append(mean + math.isqrt(int(2 * math.log(self.total) * _UNIT**2) // count))
        self.arm = bounds.index(max(bounds))
        self.counts[self.arm] += 1
        self.total += 1
        return self.arm


class Ols(Model):
    metric = False
    knows = frozenset({"exp3"})

    def set_up(self) -> None:
        self.flows: dict[int, Flow] = {}
        self.learner = Learner(_interval(0))
        #: the arm that the kernel has drawn last
        self.drawn = 0

    def choose(self, question: Question) -> Answer:
        """mptcp_ol_next_segment_rtt()"""
        self._begin(question)
        usable = [each for each in question.subflows if each.usable]
        active = [each for each in usable if not each.backup]
        anew = len(active) >= 2 and self._process(question, usable, active)
        if question.reinjection:
            return self.reinjection(question)
        for each in sorted(active or usable, key=lambda each: each.srtt_8us):
            flow = self.flows[each.id]
            flow.check_quota(force=anew)
            if not available(each):
                continue
            again = self._sent_by_others(question, each, flow) if flow.red else None
            if again:
                return Answer.duplicate(each, again)
            if question.head:
                return Answer.new(each, question.head)
        return Answer()

    def took(self, asked: Asked) -> None:
        """A quota is charged, and the pointer set, be the window closed or not.

        A pointer to what has not left is dropped: the next copy is of the oldest segment.
        """
        answer = asked.answer
        flow = self.flows.get(answer.subflow)
        if not flow or answer.what not in (NEW, DUPLICATE):
            return
        flow.latest = answer.seq
        if flow.red:
            flow.red -= 1
        else:
            flow.new -= 1

    def done(self, done: Done) -> None:
        super().done(done)
        if done.what == EVENT:
            self.drawn = done.bytes - 1

    def why(self) -> str:
        learner = self.learner
        quotas = {number: (flow.red, flow.new) for number, flow in self.flows.items()}
        return f"arm {learner.arm}, means {learner.means}, quotas {quotas}"

    def _begin(self, question: Question) -> None:
        """ol_init(): with each new subflow the model of the connection begins anew"""
        known = {each.id for each in question.subflows}
        self.flows = {number: flow for number, flow in self.flows.items() if number in known}
        for each in question.subflows:
            if each.usable and each.id not in self.flows:
                self.flows[each.id] = Flow(_interval(each.snd_nxt))
                self.learner = Learner(_interval(question.nxt_seq & 0xFFFFFFFF))

    def _process(self, question: Question, usable: list[Subflow], active: list[Subflow]) -> bool:
        """ol_process_all_subflows(); true: a new interval begins"""
        now_us, meta = question.time_ns // 1000, self.learner.meta
        nxt, una = question.nxt_seq & 0xFFFFFFFF, question.una_seq & 0xFFFFFFFF
        intervals = [flow.interval for flow in self.flows.values()]
        if not meta.has_sent:
            for each in usable:
                self.flows[each.id].interval.sends(each.snd_nxt, now_us)
            meta.sends(nxt, now_us)
            if all(interval.is_ready() for interval in intervals):
                for interval in (*intervals, meta):
                    interval.has_sent = True
        for each in usable:
            if not self.flows[each.id].interval.has_ended:
                self.flows[each.id].interval.receives(each.snd_una, now_us, meta=False)
        meta.receives(una, now_us, meta=True)
        if not all(interval.has_ended for interval in (*intervals, meta)):
            return False
        if self.params.get("exp3"):
            self.learner.arm = self.drawn
        else:
            self.learner.update(self._reward(active, now_us))
            self.learner.pull()
        for each in usable:
            flow = self.flows[each.id]
            flow.ratio = _RATIOS[self.learner.arm]
            lasts_us = max(_INTERVAL_US, (each.srtt_8us >> 3) * _INTERVAL_RTTS)
            flow.interval = _interval(each.snd_nxt, lasts_us)
        self.learner.meta = _interval(nxt)
        return True

    def _reward(self, active: list[Subflow], now_us: int) -> int:
        """ol_calc_reward()"""
        total = 0
        for each in active:
            flow = self.flows[each.id]
            rate = flow.interval.rate()
            old = now_us > flow.rate_us + _NEARLY_TIMEOUT_US and self.learner.arm == 0
            if rate > flow.rate or old:
                flow.rate, flow.rate_us = rate, now_us
            total += flow.rate
        return self.learner.meta.rate() * _UNIT // total if total else 0

    def _sent_by_others(self, question: Question, subflow: Subflow, flow: Flow) -> Segment | None:
        """ol_next_skb_from_queue(): what follows what it has sent last.

        If it has carried that, too, as a reinjection, the source repeats it there; we go on.
        """
        for segment in self.sent.unacked(question, flow.latest):
            if subflow.id not in segment.carried:
                return segment
        return None
