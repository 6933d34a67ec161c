# SPDX-License-Identifier: GPL-2.0-only
"""musher: strictly by a ratio, which it searches for.

Source: mptcp_musher.c (@21ba9568) and mptcp_ratio.c (@57dcf89c) of swetanksaha/mptcp-musher. Paper:
Saha et al., MobiCom 2019. Parameters: num_segments 100, cwnd_limited off, the ratio 50 at first;
intervals of 100 ms, 200 ms during a search, with a step of 5.

What the source picks is the first buffer of the send queue (`skb`), which mptcp_write_xmit() of
v0.94 cuts off at the limit, and at the receive window, and hands to the subflow as a whole. How
large it is, tcp_sendmsg() decides (tcp_xmit_size_goal(), mptcp_xmit_size_goal()): 64 KB without
MAX_TCP_HEADER, 320 bytes on x86-64, no more than half of the largest window, in whole segments;
the last one in the queue is filled up by the next write. Here a segment at most is asked for at a
time, so that the rest of a buffer goes where its first segment went.

A rate is what the devices of all subflows have sent since the last interval, in kbit/s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from checks.oracle.roundrobin import Turns
from checks.oracle.state import NEW, Answer, Asked, Question, Subflow
from checks.oracle.v09x import HZ, available, in_list_order, in_loss, moves_on, new_data

_INTERVAL_MS, _SEARCH_INTERVAL_MS, _BETWEEN_SEARCHES_MS = 100, 200, 3000
_STEP, _LEAST, _MOST = 5, 5, 95
_BETTER_KBPS, _CHANGED_KBPS, _DRAINED_BYTES, _IN_A_ROW = 5000, 200_000, -75_000, 5
_REFERENCES = 5
_BUFFER_BYTES = 65536 - 1 - 320


class Phase(Enum):
    INIT_RIGHT = auto()
    RIGHT_SET = auto()
    INIT_LEFT = auto()
    LEFT_SET = auto()
    SEARCH = auto()


@dataclass
class Control:
    """musher's part: `ratio` is the sysctl, in percent for the first subflow of the list."""

    ratio: int = 50
    interval_ms: int = _INTERVAL_MS
    searching: bool = False
    phase: Phase = Phase.INIT_RIGHT
    step: int = _STEP
    initial: int = 0
    before_kbps: int = 0
    last_search_ms: int = 0
    last_kbps: int = 0
    last_bytes: int = 0
    kbps_diff: int = 0
    bytes_diff: int = 0
    kbps_count: int = 0
    bytes_count: int = 0
    references: list[tuple[int, int]] = field(default_factory=list)

    def tick(self, now_ms: int, kbps: int, buffered: int) -> None:
        """The end of an interval: mptcp_musher_next_segment()"""
        if not self.searching and not self.last_kbps:
            self._refer(kbps, buffered)
            return
        self.kbps_diff += kbps - self.last_kbps
        self.bytes_diff += buffered - self.last_bytes
        if self.searching:
            self._search(kbps)
            return
        if abs(self.kbps_diff) > _CHANGED_KBPS:
            self.bytes_count = 0
            self.kbps_count += 1
        elif self.bytes_diff < _DRAINED_BYTES:
            self.kbps_count = 0
            self.bytes_count += 1
        else:
            self.kbps_count = self.bytes_count = 0
        if _IN_A_ROW in (self.kbps_count, self.bytes_count):
            self._trigger(now_ms)
            return
        self.last_kbps, self.last_bytes = kbps, buffered

    def _refer(self, kbps: int, buffered: int) -> None:
        if len(self.references) < _REFERENCES:
            self.references.append((kbps, buffered))
            return
        self.last_kbps = sum(kbps for kbps, _ in self.references) // _REFERENCES
        self.last_bytes = sum(bytes_ for _, bytes_ in self.references) // _REFERENCES
        self.references = []
        self.kbps_diff = 0

    def _trigger(self, now_ms: int) -> None:
        self.kbps_count = self.bytes_count = self.last_kbps = self.last_bytes = 0
        self.bytes_diff = 0
        self.references = []
        if now_ms - self.last_search_ms < _BETWEEN_SEARCHES_MS:
            return
        self.searching, self.phase, self.step = True, Phase.INIT_RIGHT, _STEP
        self.interval_ms, self.initial = _SEARCH_INTERVAL_MS, self.ratio
        self.last_search_ms = now_ms

    def _end(self) -> None:
        self.searching, self.interval_ms = False, _INTERVAL_MS

    def _go_on(self, kbps: int) -> None:
        self.ratio += self.step
        self.before_kbps, self.phase = kbps, Phase.SEARCH

    def _search(self, kbps: int) -> None:
        """find_optimal_ratio()"""
        better = kbps > self.before_kbps + _BETTER_KBPS
        if self.phase is Phase.INIT_RIGHT and self.initial + self.step <= _MOST:
            self.before_kbps, self.phase = kbps, Phase.RIGHT_SET
            self.ratio = self.initial + self.step
        elif self.phase is Phase.RIGHT_SET and better:
            self._go_on(kbps)
        elif self.phase in (Phase.INIT_RIGHT, Phase.RIGHT_SET):
            self.phase = Phase.INIT_LEFT
        elif self.phase is Phase.INIT_LEFT and self.initial - self.step >= _LEAST:
            self.before_kbps, self.phase = kbps, Phase.LEFT_SET
            self.ratio = self.initial - self.step
        elif self.phase is Phase.INIT_LEFT:
            self._end()
        elif self.phase is Phase.LEFT_SET and better:
            self.step = -_STEP
            self._go_on(kbps)
        elif self.phase is Phase.LEFT_SET or kbps < self.before_kbps:
            self.ratio -= self.step
            self._end()
        else:
            self._go_on(kbps)


class Musher(Turns):
    num_segments = 100
    cwnd_limited = False

    def set_up(self) -> None:
        super().set_up()
        self.control = Control()
        #: the ratio of this round; none before the first one ends
        self.latched = 0
        self.last_ms: int | None = None
        self.device_bytes: dict[int, int] = {}
        self.buffered: dict[int, tuple[int, int]] = {}
        self.largest_window = 0
        #: of the first buffer, if others are behind it
        self.buffer_end = 0
        #: what has been handed over, to which subflow
        self.handed_end, self.handed_to = 0, 0
        #: what the last scan found to be left of a share
        self.left: dict[int, int] = {}

    def choose(self, question: Question) -> Answer:
        self._measure(question)
        self.largest_window = max(self.largest_window, question.window_bytes)
        if question.reinjection:
            return self.reinject(question, question.reinjection)
        if not question.head:
            return Answer()
        if holder := self._holder(question):
            return Answer.new(holder, question.head)
        order = list(in_list_order(question))
        self.left = {}
        chosen, full = self._scan(order, 0)
        if full:
            for each in filter(self.considered, order):
                self.quota[each.id] = 0
            self.latched = self.control.ratio
            # the source counts on: the shares of an odd number of subflows change places
            chosen, _ = self._scan(order, len(order))
        return Answer.new(chosen if chosen and available(chosen) else None, question.head)

    def took(self, asked: Asked) -> None:
        """`quota` grows by the whole buffer, even if not all of it is handed over."""
        question, answer, _ = asked
        fresh = new_data(question)
        if answer.what != NEW or not fresh or self._holder(question):
            return
        subflow = question.subflow(answer.subflow)
        assert subflow
        mss, written = subflow.mss, fresh.seq + question.unsent_bytes
        end = self.buffer_end
        if end <= fresh.seq:
            end = min(fresh.seq + self._size_goal(question), written)
        segments = -(-(end - fresh.seq) // mss)
        self.quota[subflow.id] = self.quota.get(subflow.id, 0) + segments
        self.buffer_end = end if end < written else 0
        limit = fresh.seq + self.left.get(subflow.id, self.num_segments) * mss
        fits = max(question.window_end_seq - fresh.seq, 0)
        if end - fresh.seq > fits:
            fits -= fits % question.segment_bytes
        self.handed_end = min(end, limit, fresh.seq + fits)
        self.handed_to = subflow.id

    def why(self) -> str:
        return f"ratio {self.control.ratio}, of this round {self.latched}, quota {self.quota}"

    def _size_goal(self, question: Question) -> int:
        mss = question.segment_bytes
        return max(min(_BUFFER_BYTES, self.largest_window // 2) // mss, 1) * mss

    def _holder(self, question: Question) -> Subflow | None:
        """Whose queue the next byte is in, unless it might never leave from there."""
        fresh = new_data(question)
        if not fresh or fresh.seq >= self.handed_end:
            return None
        holder = question.subflow(self.handed_to)
        if holder and holder.usable and not in_loss(holder) and moves_on(holder):
            return holder
        return None

    def _scan(self, order: list[Subflow], counted: int) -> tuple[Subflow | None, bool]:
        """One in the middle of its quota, the first, else an unused one, the last; are all full?"""
        unused, considered, full = None, 0, 0
        for place, each in enumerate(order, counted + 1):
            if not self.considered(each):
                continue
            considered += 1
            share = self.latched if place % 2 else self.num_segments - self.latched
            quota = self.quota.get(each.id, 0)
            if not share:
                full += 1
            elif 0 < quota < share:
                self.left[each.id] = share - quota
                return each, False
            elif not quota:
                self.left[each.id] = share
                unused = each
            else:
                full += 1
        return unused, considered > 0 and considered == full

    def _measure(self, question: Question) -> None:
        now_ms = question.jiffies * 1000 // HZ
        for each in question.subflows:
            bytes_, samples = self.buffered.get(each.id, (0, 0))
            self.buffered[each.id] = (bytes_ + each.outstanding_bytes, samples + 1)
        if self.last_ms is not None and now_ms - self.last_ms <= self.control.interval_ms:
            return
        kbps = 0
        if self.last_ms is not None:
            for each in question.subflows:
                now = each.device_sent_bytes
                sent = now - self.device_bytes.get(each.id, now)
                kbps += sent * 8 // (now_ms - self.last_ms)
        buffered = sum(bytes_ // samples for bytes_, samples in self.buffered.values())
        self.device_bytes = {each.id: each.device_sent_bytes for each in question.subflows}
        self.buffered = {}
        self.last_ms = now_ms
        self.control.tick(now_ms, kbps, buffered)
