# SPDX-License-Identifier: GPL-2.0-only
"""Ranges of bytes: what is new in them, and when all before them was there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab.capture.streams import NEVER, Cells, rising, unwrapped

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
    assert unwrapped(numbers, base).tolist() == steps


def test_a_number_before_the_base_is_negative() -> None:
    assert unwrapped(np.array([2**32 - 1, 4], np.uint32), 2).tolist() == [-3, 2]


def test_only_what_rises_is_kept() -> None:
    values, times = rising(np.array([5, 5, 4, 9, 7, 10]), np.arange(6))
    assert (values.tolist(), times.tolist()) == ([5, 9, 10], [0, 3, 5])
