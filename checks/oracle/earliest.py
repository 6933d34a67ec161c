# SPDX-License-Identifier: GPL-2.0-only
"""earliest: each segment goes where it arrives first, and is due when it arrives.

Source: docs/schedulers/earliest.md, without our C. So the model shows that the C code does what its
page says. A state has no timeouts: with recovery, a subflow in the state Loss seems to be in
Recovery. But only a timeout cuts the window of a subflow of which nothing is heard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checks.oracle.state import CA_LOSS, CA_RECOVERY, WAIT, Answer, Question, Segment, Subflow
from checks.oracle.v09x import Model, available, lags, regular

_SECOND_US = 1_000_000
_NO_RTT = 0xFFFFFFFF
_INITIAL_CWND = 10


@dataclass
class Measured:
    """The measured rate of a subflow in bytes per second, and when its measurement began, if any.

    The other fields are those of the question before.
    """

    una: int
    rate: int = 0
    begun_ns: int = 0
    begun_una: int = 0
    cwnd: int = 0
    in_loss: bool = False

    def look(self, subflow: Subflow, question: Question) -> None:
        in_loss = subflow.ca_state == CA_LOSS
        silent = not subflow.usable and subflow.cwnd < self.cwnd
        if silent or (in_loss and not self.in_loss):
            self.begun_ns = 0
        self.cwnd, self.in_loss = subflow.cwnd, in_loss
        if subflow.snd_una != self.una:
            self.una = subflow.snd_una
            self._acked(subflow, question)

    def _acked(self, subflow: Subflow, question: Question) -> None:
        now_ns = question.time_ns
        if not question.unsent_bytes or not subflow.in_flight:
            self.begun_ns = 0
            return
        if self.begun_ns:
            took_ns = now_ns - self.begun_ns
            if took_ns < 1000 * max(min(subflow.min_rtt_us, _srtt_us(subflow)), 1):
                return
            acked_bytes = (subflow.snd_una - self.begun_una) & 0xFFFFFFFF
            self.rate = max(acked_bytes * 10**9 // took_ns, self.rate - self.rate // 8)
        self.begun_ns, self.begun_una = now_ns, subflow.snd_una


class Earliest(Model):
    metric = False
    knows: ClassVar[frozenset[str]] = frozenset({"repeat", "warm_kbps"})

    def set_up(self) -> None:
        self.measured: dict[int, Measured] = {}

    def choose(self, question: Question) -> Answer:
        for each in question.subflows:
            measured = self.measured.setdefault(each.id, Measured(each.snd_una))
            measured.look(each, question)
        if question.reinjection:
            return self.reinjection(question)
        answer = self._first(question)
        return answer if answer.what != WAIT else self._warm(question)

    def _first(self, question: Question) -> Answer:
        delays = {each.id: self._delay_us(each) for each in question.subflows}
        self._why = f"delays {delays} us"
        free = [each for each in regular(question) if _has_room(each)]
        best = min(free, key=lambda each: delays[each.id], default=None)
        if not best:
            return Answer()
        faster = [
            (each, delays[best.id] - delays[each.id])
            for each in question.subflows
            if _is_full(each, best) and delays[each.id] < delays[best.id]
        ]
        head = question.head
        if not faster and (not head or head.end > question.window_end_seq):
            return Answer.duplicate(best, self._repeat(question, best))
        before = sum(_sends(each, time_us) for each, time_us in faster)
        if faster and question.unsent_bytes <= before:
            return Answer()
        late = sum(
            _sends(each, time_us + max(best.rttvar_us, each.rttvar_us)) for each, time_us in faster
        )
        self._why += f"; {before} to {late} bytes before it"
        place = min(late, question.unsent_bytes - 1) // question.segment_bytes
        return Answer.new(best, self.sent.nth_unsent(question, place))

    def _repeat(self, question: Question, best: Subflow) -> Segment | None:
        if not self.params.get("repeat"):
            return None
        missing = self._missing(question, best)
        repairing = {each.id for each in question.subflows if each.ca_state >= CA_RECOVERY}
        if missing and missing.carried <= repairing:
            return missing
        oldest = question.oldest if question.head or question.writer_waits else None
        return oldest if oldest and lags(question, best, oldest) else None

    def _warm(self, question: Question) -> Answer:
        kbps = self.params.get("warm_kbps", 0)
        if not any(each.usable and not each.backup for each in question.subflows):
            return Answer()
        for each in question.subflows:
            window = kbps * min(each.min_rtt_us, _srtt_us(each)) // 8000
            after = (each.in_flight + 1) * each.mss + each.unsent_bytes
            cold = window > _INITIAL_CWND * each.mss and after <= window // 2
            if not (each.backup and cold and _has_room(each)):
                continue
            if copy := self._missing(question, each):
                return Answer.duplicate(each, copy)
        return Answer()

    def _missing(self, question: Question, subflow: Subflow) -> Segment | None:
        """The oldest segment in flight that the subflow did not carry."""
        segments = self.sent.unacked(question)
        return next((each for each in segments if subflow.id not in each.carried), None)

    def _delay_us(self, subflow: Subflow) -> int:
        rate = _rate(subflow)
        queued_us = subflow.unsent_bytes * _SECOND_US // rate if rate else 0
        return max(_srtt_us(subflow) // 2, self._service_us(subflow)) + queued_us

    def _service_us(self, subflow: Subflow) -> int:
        rate = self.measured[subflow.id].rate
        if not rate or not _has_queue(subflow):
            return 0
        in_flight = (subflow.in_flight + 1) * subflow.mss
        return in_flight * _SECOND_US // rate - subflow.min_rtt_us // 2


def _srtt_us(subflow: Subflow) -> int:
    return subflow.srtt_8us >> 3


def _window_rate(subflow: Subflow, packets: int) -> int:
    return packets * subflow.mss * _SECOND_US // max(_srtt_us(subflow), 1)


def _rate(subflow: Subflow) -> int:
    return min(_window_rate(subflow, min(subflow.cwnd, subflow.limit)), subflow.pacing_rate)


def _has_room(subflow: Subflow) -> bool:
    if not available(subflow):
        return False
    paced = subflow.pacing_rate <= _rate(subflow)
    return not paced or subflow.unsent_bytes <= max(2 * subflow.mss, subflow.pacing_rate >> 10)


def _is_full(subflow: Subflow, best: Subflow) -> bool:
    moves = subflow.in_flight or subflow.unsent_bytes
    repairs = subflow.ca_state == CA_LOSS
    spare = subflow.backup and not best.backup
    return bool(subflow.usable and not _has_room(subflow) and moves and not repairs and not spare)


def _has_queue(subflow: Subflow) -> bool:
    if subflow.min_rtt_us == _NO_RTT:
        return False
    least_us = min(max(subflow.min_rtt_us // 8, 4000), 16_000)
    return _srtt_us(subflow) - subflow.min_rtt_us >= least_us


def _in_slow_start(subflow: Subflow) -> bool:
    window = _window_rate(subflow, min(subflow.cwnd, subflow.limit))
    below = subflow.cwnd < subflow.ssthresh and not _has_queue(subflow)
    return below and 2 * subflow.pacing_rate >= 3 * window


def _sends(subflow: Subflow, time_us: int) -> int:
    """The bytes that it sends in that time."""
    rate, sent = _rate(subflow), 0
    if _in_slow_start(subflow):
        most = _window_rate(subflow, subflow.ssthresh)
        while time_us > _srtt_us(subflow) and rate < most:
            sent += rate * _srtt_us(subflow) // _SECOND_US
            time_us -= _srtt_us(subflow)
            rate = min(2 * rate, most)
    return sent + rate * time_us // _SECOND_US
