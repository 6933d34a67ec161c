# SPDX-License-Identifier: GPL-2.0-only
"""raven: duplicates, while it is unsure which path is the fastest.

Source: mptcp_raven.c and mptcp_raven_stale_table.h of its authors (forkjoseph/mptcp, @120d71db),
for v0.94: the intervals (CASE 2, CI_INT 90), how they age, and who gets a segment. Paper: Lee,
Flinn and Tonshal, MobiCom 2018, of which the abstract was at hand.

What the module lacks is from docs/schedulers/raven.md: what adds a sample to the mean, which
subflow has which constants, and which of several gets the first copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.oracle.state import (
    DUPLICATE,
    NEW,
    REINJECTION,
    WAIT,
    Answer,
    Asked,
    Done,
    Question,
    Subflow,
)
from checks.oracle.v09x import Model, available, lowest_rtt, regular

_MILLION = 1_000_000
#: D2_pi_lower and D2_pi_upper: of the first path, and of all others
_LOWER = (346_658, 578_041)
_UPPER = (578_346, 1_321_089)
#: D2_1_stale and D2_2_stale, by the age in seconds
_STALE = (
    (
        *(1_000_000, 1_000_000, 1_370_079, 1_619_123, 1_802_502, 1_944_156, 2_053_411, 2_141_650),
        *(2_206_427, 2_246_735, 2_273_530, 2_272_583, 2_257_306, 2_217_681, 2_158_848, 2_076_100),
    ),
    (
        *(1_000_000, 1_000_000, 1_404_997, 1_711_656, 1_962_595, 2_176_133, 2_359_852, 2_517_606),
        *(2_653_133, 2_768_991, 2_867_698, 2_953_773, 3_028_618, 3_089_514, 3_143_949, 3_189_693),
    ),
)
_HALF_LIFE_NS = 164_000_000


@dataclass
class Mean:
    """raven_pim_stat: the weighted sum of the samples of a path, and the sum of the weights."""

    rtts_us: float = 0
    weights: float = 0
    at_ns: int = 0

    def add(self, rtt_us: int, now_ns: int) -> None:
        left = 0.5 ** ((now_ns - self.at_ns) / _HALF_LIFE_NS)
        self.rtts_us = self.rtts_us * left + rtt_us
        self.weights = self.weights * left + 1
        self.at_ns = now_ns

    def interval(self, path: int, now_ns: int) -> tuple[int, int]:
        """mptcp_raven_get_pi2(); (0, 0): there is none"""
        if not self.weights:
            return 0, 0
        stale = _STALE[path]
        aging = stale[min((now_ns - self.at_ns) // 10**9, len(stale) - 1)]
        mean = int(self.rtts_us / self.weights)
        high = mean * ((_MILLION + _UPPER[path] * aging // _MILLION) // _MILLION)
        low = mean * (_MILLION - _LOWER[path] * aging // _MILLION) // _MILLION
        return max(low, 1), high


class Raven(Model):
    def set_up(self) -> None:
        self.means: dict[int, Mean] = {}
        self.acked: dict[int, int] = {}
        #: who is to get a copy of the segment that was sent last
        self.targets: list[int] = []
        self.copies: list[int] = []
        self.copy_seq = 0

    def choose(self, question: Question) -> Answer:
        for each in question.subflows:
            self._sample(each, question.time_ns)
        if question.reinjection and (again := self.reinjection(question)).what != WAIT:
            return again
        if (copy := self._copy(question)).what != WAIT:
            return copy
        if not question.head:
            return Answer()
        able = self._targets(question)
        self.targets = [each.id for each in able]
        return Answer.new(lowest_rtt(able), question.head)

    def took(self, asked: Asked) -> None:
        """Of those that were to get a copy, all up to the one that got it have had their turn."""
        answer = asked.answer
        number = answer.subflow if answer.what == DUPLICATE else None
        if number in self.copies:
            del self.copies[: self.copies.index(number) + 1]
        elif answer.what != REINJECTION:
            self.copies = []

    def done(self, done: Done) -> None:
        super().done(done)
        if done.what == NEW:
            self.copies = [number for number in self.targets if number != done.subflow]
            self.copy_seq = done.seq

    def _sample(self, subflow: Subflow, now_ns: int) -> None:
        if not subflow.usable and subflow.id not in self.acked:
            return
        before = self.acked.setdefault(subflow.id, subflow.snd_una)
        self.acked[subflow.id] = subflow.snd_una
        if subflow.snd_una != before and subflow.last_rtt_us:
            mean = self.means.setdefault(subflow.id, Mean(at_ns=now_ns))
            mean.add(subflow.last_rtt_us, max(subflow.delivered_ns, mean.at_ns))

    def _copy(self, question: Question) -> Answer:
        segment = self.sent.at(self.copy_seq)
        for number in self.copies:
            subflow = question.subflow(number)
            if not subflow or not segment or segment.end <= question.una_seq:
                continue
            if number not in segment.carried and available(subflow):
                return Answer.duplicate(subflow, segment)
        return Answer()

    def _targets(self, question: Question) -> list[Subflow]:
        """get_rdn_subflow(): those with room whose interval begins before the best one's ends"""
        able = regular(question)
        intervals = {each.id: self._interval(each, question.time_ns) for each in able}
        self._why = f"intervals {intervals}"
        known = [interval for interval in intervals.values() if interval[0]]
        free = [each for each in able if available(each)]
        if not known:
            return free
        _, least_high = min(known, key=lambda interval: interval[0])
        return [each for each in free if intervals[each.id][0] <= least_high] or free

    def _interval(self, subflow: Subflow, now_ns: int) -> tuple[int, int]:
        mean = self.means.get(subflow.id)
        return mean.interval(min(subflow.id, 2) - 1, now_ns) if mean else (0, 0)
