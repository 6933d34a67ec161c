# SPDX-License-Identifier: GPL-2.0-only
"""What of a connection's stream has been sent in which segments, from what was carried out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from checks.oracle.state import DUPLICATE, NEW, REINJECTION, Done, Question, Segment


class Sent:
    """The segments that were sent, by their first byte, with their lengths and who carried them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, frozenset[int]]] = {}

    def __deepcopy__(self, _: object) -> Sent:
        """A copy of a model looks at the same: what was sent does not depend on its choices."""
        return self

    def done(self, done: Done) -> None:
        if done.what not in (NEW, REINJECTION, DUPLICATE):
            return
        bytes_, carried = self._known.get(done.seq, (0, frozenset[int]()))
        if done.what == NEW:
            bytes_ += done.bytes
        self._known[done.seq] = (bytes_, carried | {done.subflow})

    def at(self, seq: int) -> Segment | None:
        """The segment that begins there."""
        found = self._known.get(seq)
        return Segment(seq, *found) if found and found[0] else None

    def unacked(self, question: Question, after: int | None = None) -> Iterator[Segment]:
        """From the oldest on, or behind the one that begins there, up to the first that was never
        sent."""
        segment = question.oldest and self.at(question.oldest.seq)
        if segment and after is not None and after >= segment.seq and (last := self.at(after)):
            segment = self.at(last.end)
        while segment and not (question.head and segment.seq >= question.head.seq):
            yield segment
            segment = self.at(segment.end)

    def unsent(self, question: Question) -> Iterator[Segment]:
        """The segments that no part of was sent, in order, if all but the last are full."""
        if not question.head:
            return
        seq, left = question.head.seq, question.unsent_bytes
        size = min(question.head.bytes, left)
        while size > 0:
            yield Segment(seq, size, frozenset())
            seq += size
            left -= size
            while segment := self.at(seq):
                seq = segment.end
            size = min(question.segment_bytes, left)

    def nth_unsent(self, question: Question, n: int) -> Segment | None:
        """The unsent segment with n others before it."""
        return next(islice(self.unsent(question), n, None), None)

    def forget(self, una_seq: int) -> None:
        """All that is acknowledged, once in a while."""
        if len(self._known) > 4096:
            self._known = {
                seq: value for seq, value in self._known.items() if seq + value[0] > una_seq
            }
