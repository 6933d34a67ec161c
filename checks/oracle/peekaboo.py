# SPDX-License-Identifier: GPL-2.0-only
"""peekaboo: lowest RTT first; LinUCB learns whether to wait for the fast path.

Source: docs/schedulers/peekaboo.md, without our C. So the model shows that the C code does what its
page says: the page names the authors' program, and what of it we changed.

Draws are events in the record. So are rewards, but the model also computes each reward itself
where it sees every ACK: in its own question, at the time of the ACK.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import ClassVar

from checks.oracle.state import EVENT, WAIT, Answer, Asked, Done, Question, Subflow
from checks.oracle.v09x import Model, available, fastest, lowest_rtt, regular

#: both the arms of LinUCB and what a decision is about
SEND_ARM, WAIT_ARM = 0, 1
_RATES = 6
_ONE = 1 << 16
_MOST = (1 << 32) - 1
_MOST_PENDING = 256
_MOST_LEARNT = 65536


def tz(number: int, bits: int) -> int:
    """number / 2^bits, rounded towards 0"""
    return number >> bits if number >= 0 else -(-number >> bits)


class LinUcb:
    """One arm: P in 2^-56, b and theta in 2^-40, for contexts in 2^-28 and rewards in 2^-32."""

    def __init__(self) -> None:
        self.p = [[(i == j) << 56 for j in range(_RATES)] for i in range(_RATES)]
        self.b = [0] * _RATES
        self.theta = [0] * _RATES
        self.learnt = 0

    def learn(self, x: list[int], reward: int) -> None:
        v, s = self._spread(x)
        gain = [_quotient(each << 40, (1 << 40) + s) for each in v]
        for i in range(_RATES):
            for j in range(i, _RATES):
                self.p[i][j] -= tz(gain[i] * v[j], 56)
                self.p[j][i] = self.p[i][j]
        self.b = [b + (reward * each >> 20) for b, each in zip(self.b, x, strict=True)]
        self.theta = [
            sum(tz(p * b, 56) for p, b in zip(row, self.b, strict=True)) for row in self.p
        ]
        self.learnt += 1

    def expected(self, x: list[int]) -> int:
        return sum(tz(theta * each, 28) for theta, each in zip(self.theta, x, strict=True))

    def bonus(self, x: list[int], alpha_permille: int) -> int:
        _, s = self._spread(x)
        return (math.isqrt(s << 12) * alpha_permille << 14) // 1000

    def _spread(self, x: list[int]) -> tuple[list[int], int]:
        """P x, and x' P x"""
        v = [sum(tz(p * each, 28) for p, each in zip(row, x, strict=True)) for row in self.p]
        return v, max(0, sum(tz(a * each, 44) for a, each in zip(v, x, strict=True)))


def _quotient(number: int, divisor: int) -> int:
    return number // divisor if number >= 0 else -(-number // divisor)


@dataclass
class Pending:
    """A decision that waits for its reward. `sure`: the model has seen each ACK by itself."""

    arm: int
    x: list[int]
    subflow: int
    begun_ns: int
    #: T_r
    round_ns: int
    mss: int
    #: where its packet begins, and all before it is acknowledged, as TCP counts
    mark: int
    una: int
    reward: int = 0
    gain: int = _ONE
    known: bool = False
    sure: bool = True

    def look(self, subflow: Subflow | None, question: Question, *, own_packet: bool) -> None:
        """What ACKs have brought until now."""
        if self.known:
            return
        passed_ns = question.time_ns - self.begun_ns
        if subflow and subflow.snd_una != self.una:
            behind = _distance(subflow.snd_una, self.mark)
            acked = min(behind, _distance(subflow.snd_una, self.una))
            self.una = subflow.snd_una
            if behind > 0:
                # a state has whole us
                now = subflow.delivered_ns // 1000 == question.time_ns // 1000
                self.sure &= now
                if own_packet:
                    self.reward, self.known = (self.mss << 32) // passed_ns, True
                elif passed_ns < 3 * self.round_ns:
                    self._acked(acked, passed_ns)
        over = passed_ns >= 3 * self.round_ns and not own_packet
        self.known |= not subflow or over

    def _acked(self, acked: int, passed_ns: int) -> None:
        rate = min((min(acked, (1 << 31) - 1) << 32) // passed_ns, _MOST)
        self.reward = min(self.reward + (rate * self.gain >> 16), _MOST)
        self.gain = self.gain * (9, 7, 5)[(passed_ns - 1) // self.round_ns] // 10


def _distance(one: int, other: int) -> int:
    """Of TCP's numbers."""
    return (one - other + (1 << 31)) % (1 << 32) - (1 << 31)


def _rates(question: Question, subflow: Subflow) -> list[int]:
    every = (
        subflow.mss * min(subflow.cwnd, subflow.limit),
        subflow.mss * subflow.in_flight + subflow.unsent_bytes,
        max(question.window_end_seq - question.nxt_seq, 0),
    )
    return [
        min((min(each, 1 << 35) << 28) // (1000 * subflow.last_rtt_us), _MOST) for each in every
    ]


class Peekaboo(Model):
    metric = False
    knows: ClassVar[frozenset[str]] = frozenset(
        {"alpha_permille", "learn", "stay_wait_percent", "stay_send_percent"}
        | {"own_packet", "relearn"}
    )

    def set_up(self) -> None:
        self.own_packet = bool(self.params.get("own_packet"))
        self.alpha_permille = self.params.get("alpha_permille", 750)
        self.enough = self.params.get("learn", 1000)
        self.relearn = self.params.get("relearn", 0)
        self.stay_percent = (
            self.params.get("stay_send_percent", 90),
            self.params.get("stay_wait_percent", 70),
        )
        self.waits = False
        #: in the record since the last answer
        self.events: list[Done] = []
        #: rewards of which the model has computed the number, and those it has from the record
        self.computed = self.taken = 0
        #: the present question's: the context of a decision that is learnt from, fast and slow
        self.decision: tuple[list[int], Subflow, Subflow] | None = None
        self._begin()

    def _begin(self) -> None:
        self.arms = (LinUcb(), LinUcb())
        self.pending: deque[Pending] = deque()
        self.learns = True
        #: decisions since it has learnt
        self.deployed = 0

    def choose(self, question: Question) -> Answer:
        """RTTs are in whole us; of equal ones, the first subflow's counts.

        Events that are not those of the model are no answer that the kernel can give.
        """
        subflows = [replace(each, srtt_8us=each.srtt_8us & ~7) for each in question.subflows]
        question = replace(question, subflows=subflows, newest_first=False)
        events, self.events = self.events, []
        self.decision, self._why = None, ""
        for each in self.pending:
            each.look(question.subflow(each.subflow), question, own_packet=self.own_packet)
        answer = self._choose(question, events)
        if events:
            self._why += f"; unexpected {[(each.subflow, each.bytes) for each in events]}"
        return Answer(EVENT) if self._why else answer

    def took(self, asked: Asked) -> None:
        if not self.decision:
            return
        x, fast, slow = self.decision
        self.waits = asked.answer.what == WAIT
        if self.learns and len(self.pending) < _MOST_PENDING:
            arm, subflow = (WAIT_ARM, fast) if self.waits else (SEND_ARM, slow)
            self.pending.append(
                Pending(
                    arm=arm,
                    x=x,
                    subflow=subflow.id,
                    begun_ns=asked.question.time_ns,
                    round_ns=1000 * max(2 * fast.last_rtt_us, slow.last_rtt_us),
                    mss=subflow.mss,
                    mark=subflow.snd_una + subflow.outstanding_bytes,
                    una=subflow.snd_una,
                )
            )

    def done(self, done: Done) -> None:
        super().done(done)
        if done.what == EVENT:
            self.events.append(done)

    def _choose(self, question: Question, events: list[Done]) -> Answer:
        """Takes from `events` what it expects there."""
        if question.reinjection:
            return self.reinjection(question)
        head = question.head
        slow = lowest_rtt([each for each in regular(question) if available(each)])
        if not slow or not head:
            return Answer()
        fast = fastest(question, slow)
        if not fast or fast.id == slow.id:
            self.waits = False
        elif head.end <= question.window_end_seq and (
            self.waits or self._decide(question, fast, slow, events) == WAIT_ARM
        ):
            return Answer()
        return Answer.new(slow, head)

    def _decide(self, question: Question, fast: Subflow, slow: Subflow, events: list[Done]) -> int:
        if not self.learns and 0 < self.relearn <= self.deployed:
            self._begin()
        if self.learns:
            self._learn(fast, slow, events)
        x = [0] * _RATES
        if fast.last_rtt_us and slow.last_rtt_us:
            x = [*_rates(question, fast), *_rates(question, slow)]
        self.decision = (x, fast, slow)
        send, wait = (
            arm.expected(x) + (arm.bonus(x, self.alpha_permille) if self.learns else 0)
            for arm in self.arms
        )
        arm = WAIT_ARM if wait > send else SEND_ARM
        if self.learns:
            return arm
        self.deployed += 1
        if not events or events[0].subflow:
            self._why += "; a draw is missing"
            return arm
        return arm if events.pop(0).bytes < self.stay_percent[arm] else 1 - arm

    def _learn(self, fast: Subflow, slow: Subflow, events: list[Done]) -> None:
        """Learns the rewards of the record, if they are those that are known."""
        while self.learns and self.pending and events and events[0].subflow:
            event, pending = events.pop(0), self.pending.popleft()
            subflow = (slow, fast)[pending.arm]
            reward = pending.reward if pending.sure else event.bytes
            self.computed += pending.sure
            self.taken += not pending.sure
            if not pending.known or (event.subflow, event.bytes) != (subflow.id, reward):
                self._why += (
                    f"; reward {event.bytes} of {event.subflow}, the model's {reward} of "
                    f"{subflow.id}, {'' if pending.known else 'not '}known"
                )
            self.arms[pending.arm].learn(pending.x, event.bytes)
            learnt = [arm.learnt for arm in self.arms]
            if min(learnt) >= self.enough or max(learnt) >= _MOST_LEARNT:
                self.learns = False
                self.pending.clear()
        if self.pending and self.pending[0].known:
            self._why += f"; a reward of {self.pending[0].reward} is missing"
