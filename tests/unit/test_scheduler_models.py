# SPDX-License-Identifier: GPL-2.0-only
"""The models give the numbers that the KUnit tests of stms, raven and dems expect.

Each vector is a test of the same name in kernel/mptcp/tests/NAME_test.c.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests import scheduler_models as models

MSS = 1448


@pytest.mark.parametrize(
    ("ahead", "late", "early", "takes"),
    [
        (0, 5, None, 5),  # a_late_sample_widens_the_gap_by_what_waited_behind_it
        (5, 4, None, 9),  # what_is_late_is_added_to_what_was_left_before_it
        (5, 0, None, 4),  # an_early_sample_narrows_the_gap_by_a_segment
        (5, 0, 3, 2),  # what_is_missing_when_a_sample_arrives_is_taken_off_the_gap
        (2, 0, 3, 0),  # a gap is never less than nothing
    ],
)
def test_the_gap_of_stms(ahead: int, late: int, early: int | None, takes: int) -> None:
    gap = models.stms_gap_bytes(
        ahead * MSS,
        late_bytes=late * MSS,
        early_bytes=None if early is None else early * MSS,
        shrink_bytes=MSS,
    )
    assert models.stms_segment(gap, MSS, [MSS] * 100) == takes
    assert models.stms_segment(gap, MSS, [MSS] * takes) is None


@pytest.mark.parametrize(
    ("slow_us", "whole_upper", "both"),
    [
        (47_300, True, True),  # copies_go_where_intervals_overlap
        (47_400, True, False),
        (74_700, False, True),  # without_rounding_the_upper_bound_is_higher
        (74_800, False, False),
    ],
)
def test_who_gets_a_segment_with_raven(slow_us: int, whole_upper: bool, both: bool) -> None:
    fast = models.raven_interval_us(20_000, 0, 0, whole_upper=whole_upper)
    slow = models.raven_interval_us(slow_us, 0, 1, whole_upper=whole_upper)
    assert models.raven_targets([fast, slow]) == ({0, 1} if both else {0})


def test_a_path_without_an_interval_gets_everything_with_raven() -> None:
    fast = models.raven_interval_us(20_000, 0, 0, whole_upper=True)
    assert models.raven_targets([fast, None]) == {0, 1}
    assert models.raven_targets([None, None]) == {0, 1}


def test_the_interval_of_raven_widens_with_age() -> None:
    """old_samples_are_trusted_less, no_age_is_too_old."""
    assert models.raven_interval_us(100_000, 0, 1, whole_upper=True)[0] == 42_200
    assert models.raven_interval_us(100_000, 2, 1, whole_upper=True)[0] == 18_791
    assert models.raven_interval_us(60_000_000, 60, 1, whole_upper=True)[0] == 1


def test_the_mean_of_raven_weighs_newer_samples_more() -> None:
    """newer_samples_count_more."""
    assert models.raven_weight(Fraction(0), 164) == 1
    assert models.raven_weight(Fraction(82), 164) == Fraction(3, 4)
    assert models.raven_weight(Fraction(328), 164) == Fraction(1, 4)
    assert models.raven_mean_us([(0, 10_000), (164, 40_000)], 164) == 30_000


@pytest.mark.parametrize(
    ("rest", "delay_us", "other_us", "other_rtt_us", "leaves"),
    [
        (21, 50_000, 10_000, 20_000, False),  # the_slow_path_stops_where_the_fast_one_completes...
        (20, 50_000, 10_000, 20_000, True),
        (7, 80_000, 20_000, 100_000, False),  # one_way_delays_say_who_stops
        (6, 80_000, 20_000, 100_000, True),
        (1, 20_000, 80_000, 20_000, False),
    ],
)
def test_which_path_stops_with_dems(
    rest: int, delay_us: int, other_us: int, other_rtt_us: int, leaves: bool
) -> None:
    found = models.dems_leaves(rest * MSS, delay_us, other_us, 10 * MSS, other_rtt_us)
    assert found == leaves


@pytest.mark.parametrize(
    ("rtt_us", "deviation_us", "copies"),
    [
        (20_000, 10_000, 3),  # the_fast_path_goes_on_forward: a tenth of 30
        (100_000, 10_000, 2),  # the_slow_path_goes_on_backward: a fifth of a window of 10
        (100_000, 0, 0),  # steady_paths_need_no_copies
    ],
)
def test_how_much_dems_copies(rtt_us: int, deviation_us: int, copies: int) -> None:
    deviations = (deviation_us, deviation_us)
    assert models.dems_copies(30 * MSS, 10, 10 * MSS, rtt_us, deviations, MSS) == copies
