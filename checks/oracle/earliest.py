# SPDX-License-Identifier: GPL-2.0-only
"""earliest: each segment goes where it arrives first, and is due when it arrives.

Ours: this is a second implementation of the formulas of docs/schedulers/earliest.md, all of whose
numbers are whole, rounded down: bytes, bytes per second, microseconds. Of its parameters it has
none: nothing is repeated.

What is acknowledged on a subflow is known when the scheduler is asked, which it is at each
acknowledgment while there is more to send. A timeout is not in a state, and with recovery neither
is TCP's Loss: that it is silent, with a window of one packet, stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.oracle.state import Answer, Question, Subflow
from checks.oracle.v09x import Model, available, in_loss, moves_on, regular

_US = 1_000_000
_NS = 1_000_000_000
#: HyStart++: an eighth of the least RTT, within these
_LEAST_QUEUE_US, _MOST_QUEUE_US = 4000, 16000


@dataclass
class Measurement:
    """Of a subflow: the rate in bytes per second, and what is being measured."""

    snd_una: int
    rate: int = 0
    since_ns: int | None = None
    acked: int = 0

    def hear(self, question: Question, subflow: Subflow) -> None:
        """What its acknowledgments since the last question say."""
        bytes_ = (subflow.snd_una - self.snd_una) & 0xFFFFFFFF
        self.snd_una = subflow.snd_una
        if not bytes_:
            if not subflow.usable and subflow.cwnd <= 1:
                self.since_ns = None
            return
        now_ns = question.time_ns
        loaded = question.unsent_bytes > 0 and subflow.in_flight > 0
        self.acked += bytes_
        if loaded and self.since_ns is not None:
            took_ns = now_ns - self.since_ns
            if took_ns < _srtt_us(subflow) * 1000:
                return
            self.rate = max(self.acked * _NS // took_ns, self.rate - self.rate // 8)
        self.since_ns = now_ns if loaded else None
        self.acked = 0


class Earliest(Model):
    def set_up(self) -> None:
        self.measured: dict[int, Measurement] = {}

    def choose(self, question: Question) -> Answer:
        for each in question.subflows:
            self.measured.setdefault(each.id, Measurement(each.snd_una)).hear(question, each)
        if question.reinjection:
            return self.reinjection(question)
        free = [each for each in regular(question) if available(each) and not _is_busy(each)]
        best = min(free, key=self._delay_us, default=None)
        if not best or not question.head:
            return Answer()
        before = self._before(question, best, late=False)
        rates = {number: each.rate for number, each in self.measured.items()}
        self._why = f"{before} bytes before it, rates {rates}"
        if not before:
            return Answer.new(best, question.head)
        if question.unsent_bytes <= before:
            return Answer()
        skipped = min(self._before(question, best, late=True), question.unsent_bytes - 1)
        segment = self.sent.nth_unsent(question, skipped // question.segment_bytes)
        fits = segment and segment.end <= question.window_end_seq
        return Answer.new(best, segment) if fits else Answer()

    def _delay_us(self, subflow: Subflow) -> int:
        queued_us = subflow.unsent_bytes * _US // _rate(subflow)
        return max((subflow.srtt_8us >> 3) // 2, self._service_us(subflow)) + queued_us

    def _service_us(self, subflow: Subflow) -> int:
        rate = self.measured[subflow.id].rate
        if not rate or not _has_queue(subflow):
            return 0
        served_us = (subflow.in_flight + 1) * subflow.mss * _US // rate
        return max(served_us - subflow.min_rtt_us // 2, 0)

    def _before(self, question: Question, best: Subflow, late: bool) -> int:
        """What faster subflows send before the segment of `best` arrives; `late`: with the
        variation."""
        best_us, bytes_ = self._delay_us(best), 0
        for each in question.subflows:
            if each.id == best.id or each.backup > best.backup or not each.usable:
                continue
            earlier_us = best_us - self._delay_us(each)
            if earlier_us <= 0 or in_loss(each) or not moves_on(each):
                continue
            if late:
                earlier_us += max(best.rttvar_us, each.rttvar_us)
            bytes_ += _sends(each, earlier_us)
        return bytes_


def _srtt_us(subflow: Subflow) -> int:
    return max(subflow.srtt_8us >> 3, 1)


def _window_rate(subflow: Subflow) -> int:
    window = max(min(subflow.cwnd, subflow.limit), 1) * subflow.mss
    return window * _US // _srtt_us(subflow)


def _rate(subflow: Subflow) -> int:
    return max(min(_window_rate(subflow), subflow.pacing_rate), 1)


def _is_busy(subflow: Subflow) -> bool:
    """It is paced, and TCP has enough below it."""
    enough = max(2 * subflow.mss, subflow.pacing_rate // 1024)
    return subflow.pacing_rate < _window_rate(subflow) and subflow.unsent_bytes > enough


def _has_queue(subflow: Subflow) -> bool:
    margin_us = min(max(subflow.min_rtt_us // 8, _LEAST_QUEUE_US), _MOST_QUEUE_US)
    return (subflow.srtt_8us >> 3) - subflow.min_rtt_us >= margin_us


def _sends(subflow: Subflow, us: int) -> int:
    """Bytes in that time: in slow start, twice as many in each round trip, up to ssthresh."""
    rate, rtt_us, bytes_ = _rate(subflow), _srtt_us(subflow), 0
    most = rate
    slow_start = subflow.cwnd < subflow.ssthresh and not _has_queue(subflow)
    if slow_start and 2 * subflow.pacing_rate >= 3 * _window_rate(subflow):
        most = max(subflow.ssthresh * subflow.mss * _US // rtt_us, rate)
    while us >= rtt_us and rate < most:
        bytes_ += rate * rtt_us // _US
        us -= rtt_us
        rate = min(2 * rate, most)
    return bytes_ + rate * us // _US
