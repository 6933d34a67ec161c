# SPDX-License-Identifier: GPL-2.0-only
"""Ranges of bytes: what is new in them, and when all before them was there."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab.capture import dissect
from mptcplab.capture.dissect import Endpoint, Packets
from mptcplab.capture.flows import Flow, View
from mptcplab.capture.streams import (
    NEVER,
    Cells,
    Sent,
    acknowledged,
    base_of,
    rising,
    sent,
    unwrapped,
)
from tests.packets import ACK, MS, RST, SYN, Packet, dss, write_pcap

PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=12)


@PROPERTY
@given(RANGES)
def test_cells_say_who_carried_a_byte_first(ranges: list[tuple[int, int]]) -> None:
    begin = np.array([first for first, _ in ranges])
    end = begin + np.array([length for _, length in ranges])
    cells = Cells.of(begin, end)
    owner: dict[int, int] = {}
    for number, (low, high) in enumerate(zip(begin, end, strict=True)):
        new = [byte for byte in range(low, high) if byte not in owner]
        owner |= dict.fromkeys(new, number)
        assert cells.fresh[number] == len(new)
    for low, high, first in zip(cells.bounds, cells.bounds[1:], cells.first, strict=False):
        assert {owner.get(byte, len(ranges)) for byte in range(low, high)} == {first}


@PROPERTY
@given(RANGES)
def test_a_cell_is_whole_when_all_bytes_before_it_are_there(ranges: list[tuple[int, int]]) -> None:
    begin = np.array([first for first, _ in ranges])
    end = begin + np.array([length for _, length in ranges])
    times = np.arange(len(ranges)) * 10
    cells = Cells.of(begin, end)
    nothing = np.empty(0, np.int64)
    _, whole = cells.whole_from(times, (nothing, nothing), None)
    came: dict[int, int] = {}
    for low, high, time in zip(begin, end, times, strict=True):
        for byte in range(low, high):
            came.setdefault(byte, int(time))
    for low, high, found in zip(cells.bounds, cells.bounds[1:], whole, strict=False):
        before = range(int(begin.min()), int(high))
        assert found == max(came.get(byte, NEVER) for byte in before), (low, high)


def test_what_the_capture_missed_was_there_when_it_was_acknowledged() -> None:
    cells = Cells.of(np.array([1, 101]), np.array([51, 151]))
    acked = np.array([51, 151, 201]), np.array([5, 40, 50])
    came, whole = cells.whole_from(np.array([3, 20]), acked, None)
    assert came.tolist() == [3, NEVER, 20]
    assert whole.tolist() == [3, 40, 40]


def test_what_later_acknowledgments_lack_was_dropped() -> None:
    # 0 to 10 came at 1 and is not in what was sent at 30: it came again, by the time of 50
    cells = Cells.of(np.array([0, 10]), np.array([10, 20]))
    acked = np.array([0, 0, 20]), np.array([2, 30, 50])
    came, whole = cells.whole_from(np.array([1, 2]), acked, 5)
    assert (came.tolist(), whole.tolist()) == ([50, 2], [50, 50])
    # unless the receiver may take so long to answer
    came, whole = cells.whole_from(np.array([1, 2]), acked, 29)
    assert (came.tolist(), whole.tolist()) == ([1, 2], [1, 2])
    # a single acknowledgment may lack it
    cells = Cells.of(np.array([0]), np.array([10]))
    acked = np.array([0, 10]), np.array([30, 50])
    came, whole = cells.whole_from(np.array([1]), acked, 5)
    assert (came.tolist(), whole.tolist()) == ([50], [50])
    # data at the end is in none
    acked = np.array([0]), np.array([30])
    came, whole = cells.whole_from(np.array([1]), acked, 5)
    assert (came.tolist(), whole.tolist()) == ([1], [1])


@pytest.mark.parametrize("base", [0, 5, 2**31, 2**32 - 3])
def test_sequence_numbers_go_on_where_they_wrap(base: int) -> None:
    distances = [0, 1, 2**30, 2**31, 2**32 + 5, 2**32 - 7, 2**33]
    steps = [distances[0]]
    # neighbours are less than 2^31 apart
    for to in distances[1:]:
        while abs(to - steps[-1]) >= 2**31:
            steps.append(steps[-1] + 2**30)
        steps.append(to)
    numbers = np.array([(base + step) % 2**32 for step in steps], np.uint32)
    found = unwrapped(numbers, base)
    assert found.tolist() == steps
    assert found.dtype == np.int64


def test_a_number_before_the_base_is_negative() -> None:
    assert unwrapped(np.array([2**32 - 1, 4], np.uint32), 2).tolist() == [-3, 2]


def test_only_what_rises_is_kept() -> None:
    values, times = rising(np.array([5, 5, 4, 9, 7, 10]), np.arange(6))
    assert (values.tolist(), times.tolist()) == ([5, 9, 10], [0, 3, 5])


def test_of_nothing_nothing_is_made() -> None:
    none = np.empty(0, np.int64)
    cells = Cells.of(none, none)
    assert [len(each) for each in (cells.bounds, cells.first, cells.fresh)] == [0, 0, 0]
    came, whole = cells.whole_from(none, (np.array([5]), np.array([7])), 1)
    assert (came.tolist(), whole.tolist()) == ([], [])
    distances = unwrapped(none.astype(np.uint32), 5)
    assert distances.tolist() == []
    assert distances.dtype == np.int64
    assert [each.tolist() for each in rising(none, none)] == [[], []]


def ranges(*parts: tuple[int, int]) -> Sent:
    """Data of a subflow that arrived at 10, 20, ..., each from one byte to another."""
    begin, end = (np.array(each, np.int64) for each in zip(*parts, strict=True))
    which = np.arange(len(parts))
    cells = Cells.of(begin, end)
    mapped = np.ones(len(parts), np.bool_)
    return Sent(which, 10 * (which + 1), begin, end, begin.astype(np.uint32), mapped, begin, cells)


NO_ACKS = np.empty(0, np.int64), np.empty(0, np.int64)
#: The second fills the gap before the third, and has 5 bytes that the first one had.
GAP = (1, 11), (6, 21), (31, 41), (21, 31), (31, 41)


def test_data_is_in_order_when_all_before_it_has_come() -> None:
    found = ranges(*GAP).in_order(NO_ACKS, None)
    assert found.begin.tolist() == [1, 6, 11, 21, 31]
    assert found.end.tolist() == [6, 11, 21, 31, 41]
    assert found.owner.tolist() == [0, 0, 1, 3, 2]
    # 31 to 41 came at 30 and waited for what came at 40
    assert found.time_ns.tolist() == [10, 10, 20, 40, 40]
    assert found.bytes == 40
    # what follows a gap that nothing fills is never in order
    found = ranges((1, 11), (21, 31)).in_order(NO_ACKS, None)
    assert (found.end.tolist(), found.time_ns.tolist()) == ([11], [10])
    # nor is the gap, even if it was acknowledged: nobody was seen to carry it
    acked = np.array([31]), np.array([50])
    found = ranges((1, 11), (21, 31)).in_order(acked, None)
    assert (found.begin.tolist(), found.time_ns.tolist()) == ([1, 21], [10, 50])
    # 21 to 31 came at 40, was not in what was sent at 80 > 40 + 30, and came again by 90
    acked = np.array([21, 21, 41]), np.array([45, 80, 90])
    assert ranges(*GAP).in_order(acked, 30).time_ns.tolist() == [10, 10, 20, 90, 90]
    assert ranges(*GAP).in_order(acked, 40).time_ns.tolist() == [10, 10, 20, 40, 40]


def test_new_ranges_are_in_the_order_of_their_packets() -> None:
    stream = ranges(*GAP)
    owner, begin, end = stream.new()
    assert owner.tolist() == [0, 0, 1, 2, 3]
    assert begin.tolist() == [1, 6, 11, 31, 21]
    assert end.tolist() == [6, 11, 21, 41, 31]
    # the second is in part new; the last is not
    which, begin, end = stream.not_seen_before()
    assert which.tolist() == [0, 1, 2, 3]
    assert (begin.tolist(), end.tolist()) == ([1, 6, 31, 21], [11, 21, 41, 31])
    assert stream.length.tolist() == [10, 15, 10, 10, 10]
    assert stream.cells.fresh.tolist() == [10, 10, 10, 10, 0]
    assert stream.cells.fresh.dtype == np.int64
    # nobody carried the gap
    owner, begin, end = ranges((1, 11), (21, 31)).new()
    assert (owner.tolist(), begin.tolist(), end.tolist()) == ([0, 1], [1, 21], [11, 31])
    # a single byte is something new
    assert ranges((1, 11), (1, 12)).not_seen_before()[0].tolist() == [0, 1]


CLIENT, SERVER = ("10.0.1.1", 40000), ("10.1.1.1", 5001)


def captured(tmp_path: Path, *packets: Packet) -> tuple[Packets, View]:
    """The packets of one subflow as one place saw them."""
    found = dissect.read([write_pcap(tmp_path / "x.pcap", packets)])
    ways = np.flatnonzero(found.forward), np.flatnonzero(~found.forward)
    return found, View(0, ways)


def data(seq: int, payload: int, at_ms: int = 0, **mapping: Any) -> Packet:
    options = dss(**mapping) if mapping else b""
    return Packet(at_ms * MS, CLIENT, SERVER, seq % 2**32, payload=payload, options=options)


def base_found(tmp_path: Path, *views: list[Packet], way: int = 0, isn: Any = None) -> int:
    """The base of a way of a flow, of which each place has other packets."""
    packets, whole = captured(tmp_path, *(packet for view in views for packet in view))
    stops = np.cumsum([0, *map(len, views)])
    parts = [
        View(0, (mine[(mine >= low) & (mine < high)], other[(other >= low) & (other < high)]))
        for low, high in pairwise(stops)
        for mine, other in [whole.ways]
    ]
    flow = Flow(Endpoint(*CLIENT), Endpoint(*SERVER), parts, [None, None], [])
    flow.isn[way] = isn
    return base_of(packets, flow, way)


def test_syn_or_mappings_give_the_initial_sequence_number(tmp_path: Path) -> None:
    mapped = [data(1001 + 100 * n, 100, dsn=5, ssn=1 + 100 * n, length=100) for n in range(3)]
    assert base_found(tmp_path, mapped, isn=77) == 77
    # it is 0 as well
    assert base_found(tmp_path, mapped, isn=0) == 0
    assert base_found(tmp_path, mapped) == 1000
    assert base_found(tmp_path, [data(5, 1, dsn=1, ssn=10, length=1)]) == 2**32 - 5
    # the one that most have, of packets with data and a mapping
    others = [data(900, 100, dsn=5, ssn=1, length=100), data(901, 9, dsn=5, ssn=3, length=9)]
    fins = [data(8000, 0, dsn=9, ssn=0, length=1, fin=True)] * 5
    acks = [data(7000, 10, data_ack=5)] * 5
    plain = [data(6000, 10)] * 5
    assert base_found(tmp_path, [*others, *fins, *acks, *plain, *mapped]) == 1000
    # another place may have mappings
    assert base_found(tmp_path, [*fins, *acks], mapped) == 1000


def test_without_syn_and_mappings_the_first_packet_begins_the_stream(tmp_path: Path) -> None:
    plain = [data(6000, 10), data(5000, 10)]
    assert base_found(tmp_path, plain) == 5999
    assert base_found(tmp_path, [data(0, 10)]) == 2**32 - 1
    assert base_found(tmp_path, plain, way=1) == 0
    answer = Packet(0, SERVER, CLIENT, seq=300, payload=5)
    assert base_found(tmp_path, [*plain, answer], way=1) == 299
    # the place next to the client leads
    assert base_found(tmp_path, [data(400, 10)], plain) == 399


def sent_ranges(
    tmp_path: Path, base: int, *packets: Packet
) -> tuple[Sent, list[tuple[int, int, int | None]]]:
    """Begin, end and data sequence number of what was sent, None if it is not mapped."""
    found = sent(*captured(tmp_path, *packets), 0, base % 2**32)
    rows = zip(found.begin, found.end, found.dsn, found.mapped, strict=True)
    return found, [(int(a), int(b), int(dsn) if known else None) for a, b, dsn, known in rows]


@pytest.mark.parametrize("base", [1000, 2**32 - 1, 2**32 - 150])
def test_packets_carry_what_their_own_mapping_says(tmp_path: Path, base: int) -> None:
    # of two packets with the same mapping of 200 bytes, the second has its second half; a third
    # begins within its mapping and ends with it, at data sequence numbers that wrap
    found, ranges = sent_ranges(
        tmp_path,
        base,
        data(base + 1, 100, 3, dsn=7000, ssn=1, length=200),
        Packet(4 * MS, SERVER, CLIENT, seq=1, payload=50, flags=ACK),
        data(base + 101, 0, 5, dsn=9000, ssn=0, length=1, fin=True),
        data(base + 101, 100, 6, dsn=7000, ssn=1, length=200),
        data(base + 211, 90, 7, dsn=2**32 - 20, ssn=201, length=100),
    )
    assert ranges == [(1, 101, 7000), (101, 201, 7100), (211, 301, (2**32 - 10) % 2**32)]
    assert found.packet.tolist() == [0, 3, 4]
    assert (found.time_ns // MS).tolist() == [3, 6, 7]
    assert found.cells.bounds.tolist() == [1, 101, 201, 211, 301]
    assert found.data_begin.tolist() == [0, 0, 0]
    assert found.data_begin.dtype == np.int64
    assert (found.dsn.dtype, found.mapped.dtype) == (np.dtype("u4"), np.dtype("?"))


def test_what_stands_before_or_behind_a_packets_own_mapping_has_none(tmp_path: Path) -> None:
    early = data(1001, 100, dsn=7000, ssn=51, length=200)
    assert sent_ranges(tmp_path, 1000, early)[1] == [(1, 51, None), (51, 101, 7000)]
    # the parts of a packet stand together
    early = data(1001, 100, dsn=7000, ssn=51, length=50)
    expected = [(1, 51, None), (51, 101, 7000), (101, 111, None)]
    assert sent_ranges(tmp_path, 1000, early, data(1101, 10))[1] == expected
    late = data(1001, 200, dsn=7000, ssn=1, length=100)
    assert sent_ranges(tmp_path, 1000, late)[1] == [(1, 101, 7000), (101, 201, None)]
    late = data(1001, 2, dsn=7000, ssn=1, length=1)
    assert sent_ranges(tmp_path, 1000, late)[1] == [(1, 2, 7000), (2, 3, None)]


def test_a_syn_with_data_begins_at_1(tmp_path: Path) -> None:
    # a SYN takes a sequence number of its own, RFC 9293, 3.4
    syn = Packet(0, CLIENT, SERVER, seq=1000, payload=10, flags=SYN)
    assert sent_ranges(tmp_path, 1000, syn, data(1011, 5))[1] == [(1, 11, None), (11, 16, None)]


def test_an_infinite_mapping_has_no_end(tmp_path: Path) -> None:
    # RFC 8684, 3.7: its length is 0
    last = data(1001, 100, dsn=500, ssn=1, length=0)
    assert sent_ranges(tmp_path, 1000, last)[1] == [(1, 101, 500)]
    # what follows has none of its own
    further = data(1101, 100), data(1301, 10)
    expected = [(1, 101, 500), (101, 201, 600), (301, 311, 800)]
    assert sent_ranges(tmp_path, 1000, last, *further)[1] == expected


@pytest.mark.parametrize("base", [1000, 2**32 - 150])
def test_data_is_cut_where_mappings_begin_and_end(tmp_path: Path, base: int) -> None:
    # mapped are 51 to 151 and, of a packet without data, 201 to 221; a DATA_FIN maps nothing
    packets = [
        data(base + 1, 100, 1),
        data(base + 101, 150, 2, dsn=7000, ssn=51, length=100),
        data(base + 251, 0, 3, dsn=8000, ssn=201, length=20),
        data(base + 251, 0, 4, dsn=9000, ssn=0, length=1, fin=True),
        data(base + 251, 10, 5),
    ]
    found, ranges = sent_ranges(tmp_path, base, *packets)
    assert ranges == [
        (1, 51, None),
        (51, 101, 7000),
        (101, 151, 7050),
        (151, 201, None),
        (201, 221, 8000),
        (221, 251, None),
        (251, 261, None),
    ]
    assert found.packet.tolist() == [0, 0, 1, 1, 1, 1, 4]
    assert (found.time_ns // MS).tolist() == [1, 1, 2, 2, 2, 2, 5]
    assert (found.dsn.dtype, found.mapped.dtype) == (np.dtype("u4"), np.dtype("?"))
    # of two mappings of the same bytes the first holds
    again = data(base + 51, 10, 6, dsn=1, ssn=51, length=10)
    assert sent_ranges(tmp_path, base, *packets, again)[1] == [*ranges, (51, 61, 7000)]


def test_without_any_mapping_nothing_is_mapped(tmp_path: Path) -> None:
    found, ranges = sent_ranges(tmp_path, 1000, data(1001, 5), data(1006, 5))
    assert ranges == [(1, 6, None), (6, 11, None)]
    assert (found.dsn.dtype, found.mapped.dtype) == (np.dtype("u4"), np.dtype("?"))
    found, ranges = sent_ranges(tmp_path, 1000, data(1001, 0))
    assert ranges == []
    assert len(found.packet) == len(found.cells.first) == 0


def test_a_way_is_acknowledged_by_the_packets_of_the_other(tmp_path: Path) -> None:
    back = [
        Packet(2 * MS, SERVER, CLIENT, ack=1011),
        Packet(3 * MS, SERVER, CLIENT, flags=RST),  # whose number means nothing
        Packet(4 * MS, SERVER, CLIENT, ack=1001, flags=ACK | SYN),
    ]
    packets, view = captured(tmp_path, data(1001, 10, 1), *back)
    values, times = acknowledged(packets, view, 0, 1000)
    assert (values.tolist(), times.tolist()) == ([11, 1], [2 * MS, 4 * MS])
    values, times = acknowledged(packets, view, 1, 0)
    assert (values.tolist(), times.tolist()) == ([0], [MS])
