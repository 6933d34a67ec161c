# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel's coupled congestion control is compared with, and that it is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mptcplab import resources
from tests import coupled_model
from tests.coupled_model import Round, Subflow

MS = 8000


def test_the_kernel_is_compared_with_these_numbers() -> None:
    file = resources.KERNEL / "mptcp" / "tests" / "coupled_vectors.h"
    assert file.read_text() == coupled_model.vector_text(), (
        f"python -m tests.coupled_model > {file}"
    )


@pytest.mark.parametrize("increase", [coupled_model.lia, coupled_model.olia, coupled_model.balia])
def test_alone_all_are_reno(increase: coupled_model.Increase) -> None:
    assert increase([Subflow(7, 30 * MS, mss=536)], 0) == Fraction(1, 7)
    # two alike grow a fourth as fast
    assert increase([Subflow(10, 20 * MS)] * 2, 0) == Fraction(1, 40)


def test_lia_grows_alike_on_all_paths() -> None:
    # (40 / 100^2) / (40 / 100 + 10 / 300)^2
    subflows = [Subflow(40, 100 * MS), Subflow(10, 300 * MS)]
    assert coupled_model.lia(subflows, 0) == Fraction(40 * 9, 130**2)
    assert coupled_model.lia(subflows, 1) == coupled_model.lia(subflows, 0)


def test_olia_moves_to_the_best_path() -> None:
    # the first has the largest window, the second the fewest losses: -1 / 2 and +1 / 2 of 1 / w
    subflows = [Subflow(20, 20 * MS, since=1), Subflow(10, 20 * MS, since=2)]
    # (20 / 30)^2 / 20 and (10 / 30)^2 / 10
    assert coupled_model.olia(subflows, 0) == Fraction(1, 45) - Fraction(1, 40)
    assert coupled_model.olia(subflows, 1) == Fraction(1, 90) + Fraction(1, 20)


def test_balia_on_the_slower_of_two_paths() -> None:
    # x = 10 and 15 by RTT: 10 / 25^2 (1 + 1.5) / 2 (4 + 1.5) / 5; and 1.5 / 2 of 10 goes
    subflows = [Subflow(15, 20 * MS), Subflow(10, 20 * MS)]
    assert coupled_model.balia(subflows, 1) == Fraction(10, 625) * Fraction(5, 4) * Fraction(11, 10)
    assert coupled_model.balia_kept(subflows, 1) == Fraction(5, 2)


def test_measured_lia_by_hand() -> None:
    # alone; two alike: 4096 / 102 = 40, as in test_alone_all_are_reno
    assert coupled_model.measured_lia_alpha([Subflow(10, 20 * MS)]) == 1
    assert coupled_model.measured_lia_alpha([Subflow(10, 20 * MS)] * 2) == 4096 // 40
    # both 40 / 100^2 and 10 / 300^2 are 0: the last one is taken, and 4096 / 2 is far from 47
    subflows = [Subflow(40, 100 * MS), Subflow(10, 300 * MS)]
    assert coupled_model.measured_lia_alpha(subflows) == 2
    assert 4096 // coupled_model.measured_lia_alpha(subflows[::-1]) == 47


def test_measured_olia_by_hand() -> None:
    # 1024 / 40, as above, and half a segment more or less by 1 / w
    assert coupled_model.measured_olia([Subflow(10, 20 * MS)] * 2, 0) == 25
    subflows = [Subflow(20, 20 * MS, since=1), Subflow(10, 20 * MS, since=2)]
    assert coupled_model.measured_olia(subflows, 0) == int(1024 * (1 / 45 - 1 / 40))
    assert coupled_model.measured_olia(subflows, 1) == int(1024 * (1 / 90 + 1 / 20))


def test_measured_balia_by_hand() -> None:
    assert coupled_model.measured_balia([Subflow(10, 20 * MS)] * 2, 0) == (40, 5)
    # 3/2 is 1, and takes a half; 2 takes three quarters, of which 7 of 10 are left
    assert coupled_model.measured_balia([Subflow(15, 20 * MS), Subflow(10, 20 * MS)], 1)[1] == 5
    assert coupled_model.measured_balia([Subflow(20, 20 * MS), Subflow(10, 20 * MS)], 1)[1] == 7


def test_measured_wvegas_by_hand() -> None:
    # an empty queue is twice an empty queue; 1 ms is the least one, and then 2 ms is twice that
    half = coupled_model.ONE // 2
    assert Round(20, 50_000, 50_000, 5, 0, half).measured() == (10, 5, 0)
    assert Round(20, 50_000, 51_000, 5, 0, half).measured() == (21, 5, 1_000)
    assert Round(21, 50_000, 51_999, 5, 1_000, half).measured() == (22, 5, 1_000)
    assert Round(21, 50_000, 52_000, 5, 1_000, half).measured() == (22 * 50 // 104, 5, 0)


def test_wvegas_with_alpha_drain_by_hand() -> None:
    # 3 of 20 segments are in the queue; a half of the rate is worth 5
    half, fifth = coupled_model.ONE // 2, coupled_model.ONE // 5
    assert Round(20, 50_000, 60_000, 2, 0, half).with_alpha_drain() == (21, 5, 0)
    assert Round(20, 50_000, 60_000, 3, 0, fifth).with_alpha_drain() == (19, 2, 10_000)
    assert Round(40, 50_000, 70_000, 5, 10_000, half).with_alpha_drain() == (14, 5, 0)
