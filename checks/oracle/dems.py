# SPDX-License-Identifier: GPL-2.0-only
"""dems: a chunk from both ends at once, so that all paths complete it together.

After the idea of Guo et al., MobiCom 2017, of which the abstract and the first page were at hand;
there is no code. So this is a second implementation of the formulas of docs/schedulers/dems.md, not
of the paper's.

Chunks are what is written and not sent: units, which applications announce, are not recorded. The
delays of all subflows are taken as comparable, as thinstream's are.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice, takewhile

from checks.oracle.state import DUPLICATE, NEW, Answer, Done, Question, Segment, Subflow
from checks.oracle.v09x import Model, has_room, in_loss, lowest_rtt, moves_on, regular


class Dems(Model):
    knows = frozenset({"owd", "redundancy_percent"})

    def set_up(self) -> None:
        self.by_owd = bool(self.params.get("owd", 1))
        self.percent = self.params.get("redundancy_percent", 10)
        #: the chunk: its bounds, and where its unsent segments begin
        self.begin = 0
        self.end = 0
        self.left: list[int] = []
        self.copied = 0

    def choose(self, question: Question) -> Answer:
        if question.reinjection:
            return self.reinjection(question)
        paths = [each for each in regular(question) if not in_loss(each) and moves_on(each)]
        front = lowest_rtt(paths)
        if not front:
            return Answer()
        if not question.head:
            return self._repeat(question, paths, front)
        if question.head.seq >= self.end:
            self._begin(question)
        others = [each for each in paths if each is not front]
        if has_room(front):
            seq = self._next(question, front, lowest_rtt(others), from_end=False)
            if seq is not None:
                return Answer(NEW, front.id, seq)
        back = lowest_rtt([each for each in others if has_room(each)])
        seq = self._next(question, back, front, from_end=True) if back else None
        return Answer(NEW, back.id, seq) if back and seq is not None else Answer()

    def done(self, done: Done) -> None:
        super().done(done)
        if done.what == DUPLICATE:
            self.copied += done.bytes
        place = bisect_left(self.left, done.seq)
        if done.what == NEW and self.left[place : place + 1] == [done.seq]:
            del self.left[place]

    def why(self) -> str:
        return f"chunk {self.begin} to {self.end}, {len(self.left)} left; {self._why}"

    def _begin(self, question: Question) -> None:
        """The next chunk: all that is unsent and fits the window, or else its first segment."""
        segments = self.sent.unsent(question)
        first = next(segments)
        inside = takewhile(lambda each: each.end <= question.window_end_seq, segments)
        chunk = [first, *inside]
        self.begin, self.end = first.seq, chunk[-1].end
        self.left = [each.seq for each in chunk]
        self.copied = 0

    def _next(
        self, question: Question, subflow: Subflow, other: Subflow | None, *, from_end: bool
    ) -> int | None:
        """What the subflow sends, by its first byte; None: nothing."""
        assert question.head
        place = max(len(self.left) - 1, 0)
        rest = [*islice(self.sent.unsent(question), place, place + 2)]
        if not rest:
            return None
        rest_bytes = rest[0].end - question.head.seq
        if not other or not self._leaves(question, subflow, other, rest_bytes):
            return rest[0].seq if from_end else question.head.seq
        after = rest[1] if len(rest) > 1 else None
        return after.seq if after and after.end <= question.window_end_seq else None

    def _leaves(
        self, question: Question, subflow: Subflow, other: Subflow, rest_bytes: int
    ) -> bool:
        """Would the other one have brought all the rest before a segment on this one arrives?"""
        sampled = all(each.owd_us for each in question.subflows if each.usable)
        if self.by_owd and sampled:
            sooner_us = subflow.owd_us - other.owd_us
        else:
            sooner_us = (subflow.srtt_8us >> 3) // 2 - (other.srtt_8us >> 3) // 2
        takes_us = rest_bytes * (other.srtt_8us >> 3) // _window_bytes(other)
        self._why = f"the rest takes {takes_us} us on {other.id}, which is {sooner_us} us nearer"
        return sooner_us > 0 and takes_us <= sooner_us

    def _repeat(self, question: Question, paths: list[Subflow], front: Subflow) -> Answer:
        """All is sent: a path goes on into what the others carry, as far as delays deviate."""
        second = lowest_rtt([each for each in paths if each is not front])
        most_bytes = (self.end - self.begin) * self.percent // 100
        for each in paths if second else ():
            if not has_room(each):
                continue
            assert second
            other = second if each is front else front
            deviation_us = each.rttvar_us + other.rttvar_us
            rtt_us = max(each.srtt_8us >> 3, 1)
            bytes_ = min(_window_bytes(each) * deviation_us // rtt_us, most_bytes)
            if self.copied + question.segment_bytes > bytes_:
                continue
            segment = self._missing(question, each, latest=each is not front)
            if segment:
                return Answer.duplicate(each, segment)
        return Answer()

    def _missing(self, question: Question, subflow: Subflow, *, latest: bool) -> Segment | None:
        those = (one for one in self.sent.unacked(question) if subflow.id not in one.carried)
        return next(iter([*those][-1:]), None) if latest else next(those, None)


def _window_bytes(subflow: Subflow) -> int:
    return max(min(subflow.cwnd, subflow.limit) * subflow.mss, 1)
