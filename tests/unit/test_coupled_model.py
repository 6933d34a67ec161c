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


@pytest.mark.parametrize("increase", [coupled_model.lia, coupled_model.olia, coupled_model.balia])
def test_two_alike_grow_a_fourth_as_fast(increase: coupled_model.Increase) -> None:
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


def test_wvegas_by_hand() -> None:
    # 3 of 20 segments are in the queue; a half of the rate is worth 5
    assert Round(20, 50_000, 60_000, 2, 0, coupled_model.ONE // 2).window() == (21, 5, 0)
    assert Round(20, 50_000, 60_000, 3, 0, coupled_model.ONE // 5).window() == (19, 2, 10_000)
    assert Round(40, 50_000, 70_000, 5, 10_000, coupled_model.ONE // 2).window() == (14, 5, 0)
