# SPDX-License-Identifier: GPL-2.0-only
"""Streams of bytes, of a subflow or of the connection: ranges without wraparound.

Ranges are cut into cells wherever one begins or ends. The same few array operations then find, for
both, which range carried a cell first, which again, and when all data before it had arrived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mptcplab.capture import dissect
from mptcplab.capture.dissect import Array, Packets
from mptcplab.capture.flows import Flow, View

#: A time that never comes.
NEVER = np.iinfo(np.int64).max
# An infinite mapping (RFC 8684, 3.7) has no end.
_WITHOUT_END = 1 << 60


@dataclass
class Sent:
    """The data that one view saw of one direction of a flow, in the order of time.

    A range per packet, or more if a packet has data of several mappings: `begin` and `end` in the
    subflow's stream, from 1 on; `packet` is its packet; `dsn` the lower 32 bits of its data
    sequence number, if `mapped`; `data_begin`, set later, where it begins in the connection's
    stream.
    """

    packet: Array
    time_ns: Array
    begin: Array
    end: Array
    dsn: Array
    mapped: Array
    data_begin: Array
    cells: Cells

    def in_order(self, acked: tuple[Array, Array], answer_ns: int | None) -> InOrder:
        """The data that the subflow delivers to the connection in order, and when.

        `acked` and `answer_ns` are as in Cells.whole_from.
        """
        owned = np.flatnonzero(self.cells.first < len(self.begin))
        ready = self.cells.whole_from(self.time_ns, acked, answer_ns)[1][owned]
        owned, ready = owned[ready < NEVER], ready[ready < NEVER]
        low, high = self.cells.bounds[owned], self.cells.bounds[owned + 1]
        return InOrder(ready, self.cells.first[owned], low, high)

    def new(self) -> tuple[Array, Array, Array]:
        """What TCP sent for the first time: ranges by index, begin and end of the new part."""
        owned = np.flatnonzero(self.cells.first < len(self.begin))
        owner = self.cells.first[owned]
        order = np.argsort(owner, kind="stable")
        owned, owner = owned[order], owner[order]
        return owner, self.cells.bounds[owned], self.cells.bounds[owned + 1]

    def not_seen_before(self) -> tuple[Array, Array, Array]:
        """The whole ranges that contain anything new, in the form of `new`."""
        which = np.flatnonzero(self.cells.fresh > 0)
        return which, self.begin[which], self.end[which]

    def round_trips(self, acked: tuple[Array, Array]) -> tuple[Array, Array]:
        """Ranges, and when an acknowledgment of everything up to the range's end came.

        An acknowledgment that covers a retransmission gives no sample (Karn and Partridge 1987): it
        is unknown which packet it answers, and what waited for it.
        """
        values, when = rising(*acked)
        fresh = np.flatnonzero(self.cells.fresh == self.length)
        ends = self.end[fresh]
        if not len(ends) or not len(values):
            none = np.empty(0, np.int64)
            return none, none
        if (ends[1:] < ends[:-1]).any():
            order = np.argsort(ends, kind="stable")
            fresh, ends = fresh[order], ends[order]
        again = np.sort(self.end[self.cells.fresh < self.length])
        count = np.searchsorted(again, values, side="right")
        clean = np.diff(count, prepend=0) == 0
        at = np.searchsorted(ends, values)
        there = at < len(ends)
        at = np.minimum(at, len(ends) - 1)
        good = clean & there & (ends[at] == values) & (when >= self.time_ns[fresh[at]])
        return fresh[at[good]], when[good]

    @property
    def length(self) -> Array:
        return self.end - self.begin


@dataclass
class InOrder:
    """Ranges of a stream, when they and all data before had arrived; `owner` carried them."""

    time_ns: Array
    owner: Array
    begin: Array
    end: Array

    @property
    def bytes(self) -> int:
        return int((self.end - self.begin).sum())


@dataclass
class Cells:
    """Ranges, cut wherever one of them begins or ends.

    Cell i is from bounds[i] to bounds[i + 1]; `first` is the earliest range that contains it (the
    number of ranges if none does). `fresh` is the number of bytes of each range that no earlier
    range has.
    """

    bounds: Array
    first: Array
    fresh: Array

    @classmethod
    def of(cls, begin: Array, end: Array) -> Cells:
        """Cut ranges, which must not be empty and are in the order of their arrival."""
        count = len(begin)
        if not count:
            none = np.empty(0, np.int64)
            return cls(none, none, none)
        if (begin[1:] == end[:-1]).all():
            return cls(np.append(begin, end[-1]), np.arange(count), end - begin)
        bounds = _sorted_unique(np.concatenate([begin, end]))
        low = np.searchsorted(bounds, begin)
        spans = np.searchsorted(bounds, end) - low
        owner = np.repeat(np.arange(count), spans)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(spans) - spans, spans)
        cell = np.repeat(low, spans) + within
        first = np.full(len(bounds) - 1, count)
        first[cell[::-1]] = owner[::-1]  # if there are several, the last assignment stays
        fresh = np.bincount(
            first[first < count], weights=np.diff(bounds)[first < count], minlength=count
        )
        return cls(bounds, first, fresh.astype(np.int64))

    def whole_from(
        self, time_ns: Array, acked: tuple[Array, Array], answer_ns: int | None
    ) -> tuple[Array, Array]:
        """When each cell arrived, and when it and all before it had; NEVER if not.

        `time_ns`: when the ranges arrived. `acked`: how far the receiver acknowledged, and when the
        acknowledgment was captured. Acknowledged data in no range had arrived by then: the capture
        missed it. Data that had arrived must be in every acknowledgment sent later than `answer_ns`
        after its arrival (None: that time is unknown). If it is not, the receiver had no room and
        dropped something: then the data was not in order until the acknowledgment that covers it,
        and if that is the very next one, it had not arrived before either.
        """
        came = np.append(time_ns, NEVER)[self.first]
        values, when = acked
        if not len(values) or not len(came):
            return came, np.maximum.accumulate(came)
        peak = np.maximum.accumulate(values)
        at = np.searchsorted(peak, self.bounds[1:])
        acked_ns = np.append(when, NEVER)[at]
        there = np.where(self.first == len(time_ns), acked_ns, came)
        done: Array = np.maximum.accumulate(there)
        if answer_ns is None:
            return came, done
        before = np.maximum(at - 1, 0)
        # data in no acknowledgment may be at the end, when none is sent any more
        wrong = (at > 0) & (at < len(peak)) & (when[before] - answer_ns > done)
        if wrong.any():
            dropped = wrong & (self.bounds[:-1] <= peak[before])
            came = np.where(dropped, acked_ns, came)
            done = np.maximum.accumulate(np.where(wrong, acked_ns, done))
        return came, done


def _sorted_unique(values: Array) -> Array:
    """np.unique for nearly sorted values, where this is much faster."""
    ascending: Array = np.sort(values, kind="stable")
    return np.compress(np.append(True, ascending[1:] != ascending[:-1]), ascending)


def unwrapped(numbers: Array, base: int) -> Array:
    """32-bit sequence numbers as distances from `base`: neighbours are less than 2^31 apart."""
    if not len(numbers):
        return np.empty(0, np.int64)
    steps = np.empty(len(numbers), np.int64)
    steps[0] = (int(numbers[0]) - base + (1 << 31)) % (1 << 32) - (1 << 31)
    steps[1:] = np.diff(numbers.astype(np.uint32)).astype(np.uint32).view(np.int32)
    return np.cumsum(steps)


def base_of(packets: Packets, flow: Flow, way: int) -> int:
    """The initial sequence number: from the SYN, the mappings, or just before the first data."""
    known = flow.isn[way]
    if known is not None:
        return known
    for view in flow.views:
        mine = view.ways[way]
        mapped = mine[(packets.has[mine] & dissect.HAS_MAPPING != 0) & (packets.payload[mine] > 0)]
        if len(mapped):
            offsets = packets.seq[mapped] - packets.ssn[mapped]
            values, counts = np.unique(offsets, return_counts=True)
            return int(values[counts.argmax()])
    lead = flow.views[0].ways[way]
    return (int(packets.seq[lead[0]]) - 1) % (1 << 32) if len(lead) else 0


def sent(packets: Packets, view: View, way: int, base: int) -> Sent:
    mine = view.ways[way]
    mine = mine[packets.payload[mine] > 0]
    begin = unwrapped(packets.seq[mine], base)
    begin += (packets.flags[mine] & dissect.SYN) != 0
    end = begin + packets.payload[mine]
    has = packets.has[mine] & dissect.HAS_MAPPING != 0
    # where the mapping begins: its 32 bits, near the packet's position
    lag = (packets.seq[mine] - np.uint32(base) - packets.ssn[mine]).view(np.int32)
    start = unwrapped(packets.seq[mine], base) - lag
    length = packets.mapped[mine].astype(np.int64)
    length[length == 0] = _WITHOUT_END
    dsn = packets.dsn[mine]
    own = has & (begin >= start) & (end <= start + length)
    packet = np.arange(len(mine))
    if own.all():
        dsn = dsn + (begin - start).astype(np.uint32)
        mapped = own
    else:
        table = _mapping_table(packets, view.ways[way], base)
        packet, begin, end, dsn, mapped = _by_mapping(begin, end, *table)
    return Sent(
        packet=mine[packet],
        time_ns=packets.time_ns[mine[packet]],
        begin=begin,
        end=end,
        dsn=dsn,
        mapped=mapped,
        data_begin=np.zeros(len(packet), np.int64),
        cells=Cells.of(begin, end),
    )


def _mapping_table(packets: Packets, mine: Array, base: int) -> tuple[Array, Array, Array]:
    """All mappings, by their begin in the subflow's stream: begins, lengths, sequence numbers."""
    at = unwrapped(packets.seq[mine], base)
    # 0 is the DATA_FIN alone, which is in no stream, or no mapping
    mapped = packets.ssn[mine] > 0
    maps = mine[mapped]
    lag = (packets.seq[maps] - np.uint32(base) - packets.ssn[maps]).view(np.int32)
    length = packets.mapped[maps].astype(np.int64)
    length[length == 0] = _WITHOUT_END
    start, first = np.unique(at[mapped] - lag, return_index=True)
    return start, length[first], packets.dsn[maps][first]


def _by_mapping(
    begin: Array, end: Array, start: Array, length: Array, number: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Cut ranges at the bounds of mappings: index, begin, end, data sequence number, if any.

    There is a range at least.
    """
    parts = []
    of = np.arange(len(begin))
    starts = np.append(start, _WITHOUT_END)
    while len(of):
        at = np.searchsorted(start, begin, side="right") - 1
        near = np.maximum(at, 0)
        inside = at >= 0
        if len(start):
            inside &= begin < start[near] + length[near]
            stop = np.where(inside, start[near] + length[near], _WITHOUT_END)
            stop = np.minimum(np.minimum(end, stop), starts[at + 1])
            dsn = number[near] + (begin - start[near]).astype(np.uint32)
        else:
            stop, dsn = end, np.zeros(len(of), np.uint32)
        parts.append((of, begin, stop, dsn, inside))
        more = stop < end
        of, begin, end = of[more], stop[more], end[more]
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((joined[1], joined[0])) if len(parts) > 1 else np.arange(len(joined[0]))
    of, begin, stop, dsn, inside = (column[order] for column in joined)
    return of, begin, stop, dsn, inside


def acknowledged(packets: Packets, view: View, way: int, base: int) -> tuple[Array, Array]:
    """How far each packet acknowledged a direction's stream on the subflow, and when."""
    back = view.ways[1 - way]
    back = back[packets.flags[back] & dissect.ACK != 0]
    return unwrapped(packets.ack[back], base), packets.time_ns[back]


def rising(values: Array, time_ns: Array) -> tuple[Array, Array]:
    """Where a value exceeds all values before it."""
    if not len(values):
        return values, time_ns
    peak = np.maximum.accumulate(values)
    up = np.append(True, peak[1:] > peak[:-1])
    return peak[up], time_ns[up]
