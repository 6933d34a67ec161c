# SPDX-License-Identifier: GPL-2.0-only
"""Rankings, on figures of which the answer is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mptcplab.advice.ranking import Ranking, Scale, lead, rank

MORE = Scale(less_is_better=False, margin=1, absolute=True)
LESS = Scale(less_is_better=True, margin=0.05)
#: The simplest is the first in the alphabet.
ALPHABET = str


def table(**figures: Sequence[float]) -> dict[str, dict[int, float]]:
    return {name: dict(enumerate(values)) for name, values in figures.items()}


def ranked(values: dict[str, dict[int, float]], scale: Scale) -> Ranking:
    found = rank(values, scale, ALPHABET)
    assert found is not None
    return found


def test_the_best_is_the_one_with_the_best_median() -> None:
    values = table(a=[1, 2, 30], b=[5, 6, 7], c=[4, 4, 4])
    assert ranked(values, MORE).best == "b"
    assert ranked(values, LESS).best == "a"


def test_of_those_as_good_the_simplest_is_chosen() -> None:
    # b is best; a is half a point less, c two points
    found = ranked(table(a=[89.5] * 8, b=[90.0] * 8, c=[88.0] * 8), MORE)
    assert (found.best, found.chosen) == ("b", "a")
    assert found.as_good == ["a", "b"]
    assert found.perhaps == []
    assert list(found.standings) == ["a", "b", "c"]
    assert found.standings["c"].deficit.median == 2


def test_a_relative_margin_is_one_of_the_best_figure() -> None:
    # 5 % of 100 ms are 5 ms
    found = ranked(table(a=[104.9] * 6, b=[100.0] * 6, c=[105.1] * 6), LESS)
    assert found.margin == pytest.approx(5)
    assert found.as_good == ["a", "b"]


def test_a_margin_is_above_zero_whatever_sign_the_figures_have() -> None:
    # 5 % of a figure of -100 are 5, too: a is as good as b, for sure, c is not
    found = ranked(table(a=[-95.1] * 6, b=[-100.0] * 6, c=[-94.9] * 6), LESS)
    assert found.margin == pytest.approx(5)
    assert (found.as_good, found.chosen) == (["a", "b"], "a")
    assert found.sure == 1 - 0.5**6
    # and where more is better, -100 is the best of these
    more = Scale(less_is_better=False, margin=0.05)
    found = ranked(table(a=[-104.9] * 6, b=[-100.0] * 6, c=[-105.1] * 6), more)
    assert found.margin == pytest.approx(5)
    assert found.as_good == ["a", "b"]
    assert found.sure == 1 - 0.5**6


def test_what_is_worse_by_just_the_margin_is_as_good_for_sure() -> None:
    found = ranked(table(a=[49.0] * 5, b=[50.0] * 5), MORE)
    assert (found.best, found.as_good, found.chosen) == ("b", ["a", "b"], "a")
    assert found.sure == 1 - 0.5**5


def test_what_is_far_behind_in_some_variations_is_not_as_good() -> None:
    # the median of the differences of a is 0; but it takes twice as long in one of five: 20 %
    b = [10.0] * 5
    found = ranked(table(a=[10.0, 10, 20, 10, 10], b=b), LESS)
    assert found.as_good == ["b"]
    assert found.standings["a"].deficit.median == 0
    # 4 % in the mean are within the 5 %; but in a resample no more than one may be behind, which of
    # five drawn from five has a probability of 0.8^5 + 0.8^4
    found = ranked(table(a=[10.0, 10, 12, 10, 10], b=b), LESS)
    assert found.chosen == "a"
    assert found.sure == pytest.approx(0.8**5 + 0.8**4, abs=0.03)
    # behind nothing, anything is far
    nothing = [0.0] * 5
    assert ranked(table(a=[0.0, 0, 1, 0, 0], b=nothing), LESS).as_good == ["b"]
    assert ranked(table(a=nothing, b=nothing), LESS).as_good == ["a", "b"]


def test_an_absolute_margin_is_one_of_the_mean_too() -> None:
    b = [50.0] * 5
    # 10 in one of five are 2 in the mean, and the margin is 1
    scale = Scale(less_is_better=False, margin=1.0, absolute=True)
    assert ranked(table(a=[50.0, 50, 40, 50, 50], b=b), scale).as_good == ["b"]
    assert ranked(table(a=[50.0, 50, 46, 50, 50], b=b), scale).as_good == ["a", "b"]


def test_the_margin_of_a_resample_is_that_of_its_own_best() -> None:
    # a takes 4 % longer than b in each variation, and so in each resample, whether the median of
    # that is 10 or 100: within the 5 %, although 4 ms are more than 5 % of 10 ms
    b = [10.0] * 3 + [100.0] * 5
    found = ranked(table(a=[1.04 * value for value in b], b=b), LESS)
    assert (found.best, found.chosen) == ("b", "a")
    assert found.sure == 1 - 0.5**8


def test_simplicity_is_what_the_caller_says_and_decides_between_equals() -> None:
    values = table(a=[50.0] * 4, b=[50.0] * 4, c=[49.5] * 4)
    order = {"c": 1, "b": 2, "a": 3}
    found = rank(values, MORE, order.__getitem__)
    assert found is not None
    assert found.best == "b"
    assert found.as_good == ["c", "b", "a"]
    assert found.chosen == "c"


def test_those_that_are_worse_come_by_how_much_with_their_own_figures() -> None:
    values = table(a=[10, 20, 40], z=[50, 60, 70], m=[90, 80, 85], k=[30, 40, 35])
    found = ranked(values, MORE)
    assert found.variations == 3
    assert list(found.standings) == ["m", "z", "k", "a"]
    assert [each.name for each in found.standings.values()] == ["m", "z", "k", "a"]
    # the medians, and those of what m has more: 40, 20, 15; 60, 40, 50; 80, 60, 45
    assert [each.figure.median for each in found.standings.values()] == [85, 60, 35, 20]
    assert [each.deficit.median for each in found.standings.values()] == [0, 20, 50, 60]


def test_they_are_compared_on_the_same_variations() -> None:
    # Over the variations both differ by far more than from each other; b is 2 better in each.
    values = table(a=[10, 50, 90, 20, 80, 70], b=[12, 52, 92, 22, 82, 72])
    found = ranked(values, MORE)
    assert found.chosen == "b"
    deficit = found.standings["a"].deficit
    assert (deficit.median, deficit.low, deficit.high) == (2, 2, 2)
    assert found.perhaps == []


def test_perhaps_lists_candidates_not_shown_to_be_worse() -> None:
    # c is better than the best one as often as not, by as much as it is worse otherwise
    values = table(b=[50] * 7, c=[40, 60, 40, 60, 40, 60, 40])
    found = ranked(values, MORE)
    assert found.as_good == ["b"]
    assert found.perhaps == ["c"]


def test_what_may_be_worse_by_just_the_margin_was_not_shown_to_be_worse() -> None:
    # c is worse by 1, the margin, in 3 of 7 and by 3 otherwise. The median of a resample is 1 if 4
    # or more of its 7 are of the 3: P(B(7, 3/7) >= 4) = 0.35, so the interval begins there.
    found = ranked(table(b=[50.0] * 7, c=[49.0] * 3 + [47.0] * 4), MORE)
    assert (found.as_good, found.perhaps) == (["b"], ["c"])
    assert found.standings["c"].deficit.low == 1
    # and by 2 in 3 of 7 it is worse for sure
    found = ranked(table(b=[50.0] * 7, c=[48.0] * 3 + [47.0] * 4), MORE)
    assert (found.as_good, found.perhaps) == (["b"], [])


def test_one_that_lacks_a_variation_is_left_out() -> None:
    found = ranked({"a": {0: 99.0}, "b": {0: 50.0, 1: 60.0}}, MORE)
    assert list(found.standings) == ["b"]
    assert rank({}, MORE, ALPHABET) is None
    assert rank({"a": {}}, MORE, ALPHABET) is None


def test_how_sure_it_is_follows_from_the_resamples() -> None:
    # Of 9 variations, b is better by 10 in 5 and worse in 4: it is the best of a resample if more
    # than half of that come from the 5: P(B(9, 5/9) >= 5) = 0.633
    a = [50.0] * 9
    b = [60.0] * 5 + [40.0] * 4
    found = ranked(table(a=a, b=b), MORE)
    assert found.chosen == "b"
    # 1999 resamples: a standard deviation of 0.011
    assert found.sure == pytest.approx(0.633, abs=0.04)
    assert ranked(table(a=a, b=b), MORE) == found
    # a is worse by 1.6 in 2 of 5: in the median of a resample, by more than the margin of 1, if 3
    # or more are of these: P(B(5, 2/5) <= 2) = 0.683; five standard deviations
    found = ranked(table(a=[50.0, 50, 50, 48.4, 48.4], b=[50.0] * 5), MORE)
    assert (found.best, found.chosen, found.margin) == ("b", "a", 1)
    assert found.sure == pytest.approx(0.683, abs=0.052)


def test_it_is_never_more_sure_than_so_many_variations_can_say() -> None:
    # with every one of n in its favour, 1 - 1/2^n
    for count in (1, 2, 6):
        found = ranked(table(a=[90.0] * count, b=[10.0] * count), MORE)
        assert found.sure == 1 - 0.5**count


def test_chance_alone_does_not_make_sure() -> None:
    random = np.random.default_rng(1)
    values = table(**{f"x{i:02}": random.normal(100, 10, 16).tolist() for i in range(20)})
    assert ranked(values, Scale(less_is_better=True, margin=0.001)).sure < 0.8


def test_the_lead_is_by_how_much_it_is_better_either_way() -> None:
    more = table(a=[10, 20, 30], b=[13, 23, 33])
    found = lead(ranked(more, MORE), more, MORE, "a")
    assert found is not None
    assert found.median == 3
    less = table(a=[10, 20, 30], b=[13, 23, 33])
    found = lead(ranked(less, LESS), less, LESS, "b")
    assert found is not None
    assert found.median == 3
    assert lead(ranked(less, LESS), less, LESS, "nobody") is None
