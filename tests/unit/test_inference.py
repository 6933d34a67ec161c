# SPDX-License-Identifier: GPL-2.0-only
"""Statistics over seeds, on figures of which the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mptcplab.metrics.inference import differences, quantile, standard_deviation, summary


def test_a_summary_has_median_quartiles_and_range() -> None:
    found = summary([4.0, 1, None, 3, 2, 5])
    assert found is not None
    assert (found.n, found.median, found.lowest, found.highest) == (5, 3, 1, 5)
    assert (found.lower_quartile, found.upper_quartile) == (2, 4)
    assert (quantile([0, 10, 30], 0.75), standard_deviation([10, 14])) == (20, 2)


def test_of_one_seed_there_is_no_interval_and_of_none_no_summary() -> None:
    one = summary([7.0])
    assert one is not None
    assert (one.n, one.median, one.low, one.high) == (1, 7, None, None)
    assert summary([None]) is None
    assert summary([]) is None


@pytest.mark.parametrize(
    ("figures", "interval"), [([2.0, 2, 2], (2, 2)), ([1.0, 1, 5], (1, 5)), ([1.0, 5, 5], (1, 5))]
)
def test_an_interval_has_a_width_if_any_figure_is_another_one(
    figures: list[float], interval: tuple[float, float]
) -> None:
    found = summary(figures)
    assert found is not None
    assert (found.low, found.high) == interval


def test_the_interval_is_that_of_the_order_statistics() -> None:
    # The median of a resample of 1..n is at most k if more than half of its n values are: k/n of
    # them on average. For n = 25, P(median <= 9) = P(B(25, 9/25) >= 13) = 0.074 and
    # P(median <= 8) = P(B(25, 8/25) >= 13) = 0.031, P(median <= 7) = 0.011: the 2.5th percentile
    # of the resamples is 8, and by symmetry the 97.5th is 18.
    found = summary(list(range(1, 26)))
    assert found is not None
    assert (found.low, found.high) == (8, 18)


def test_a_difference_is_of_pairs_with_the_same_seed() -> None:
    found = differences(
        {"a": {1: 10.0, 2: 20, 3: 30, 4: None}, "b": {3: 33.0, 1: 11, 2: 22, 4: 9, 5: 1}}
    )
    each = found["a", "b"]
    assert (each.pairs, each.median) == (3, 2)
    # all three are more: of the 2^3 signs that the ranks can have, two are as extreme
    assert each.p == pytest.approx(2 / 2**3)
    assert each.effect == 1
    # no difference is none
    found = differences({"a": {1: 1.0, 2: 2}, "b": {1: 1.0, 2: 2}})
    each = found["a", "b"]
    assert (each.median, each.low, each.high) == (0, 0, 0)
    assert (each.p, each.p_adjusted, each.effect) == (1, 1, 0)


def test_of_one_pair_only_the_difference_is_known_and_of_none_nothing() -> None:
    found = differences({"a": {1: 1.0}, "b": {1: 3.0}, "c": {2: 5.0}})
    assert list(found) == [("a", "b")]
    each = found["a", "b"]
    assert (each.pairs, each.median) == (1, 2)
    assert {each.low, each.high, each.p, each.p_adjusted, each.effect} == {None}


def test_only_pairs_that_are_asked_for_are_compared_and_adjusted_for() -> None:
    rest = {seed: float(seed) for seed in range(6)}
    values = {"a": rest, "b": rest, "c": {s: v + s + 1 for s, v in rest.items()}}
    found = differences(values, [("c", "b"), ("a", "b")])
    assert list(found) == [("c", "b"), ("a", "b")]
    assert found["c", "b"].median == -3.5
    # of two, 2 / 1 of 2 / 2^6
    assert found["c", "b"].p_adjusted == pytest.approx(2 * 2 / 2**6)


def of_seeds(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


@pytest.mark.parametrize("kind", ["apart", "equal", "small"])
def test_intervals_and_tests_are_those_of_scipy(kind: str) -> None:
    # to the last bit, but for p of the normal distribution, for which SciPy has its own erfc()
    random = np.random.default_rng(8)
    for number in (2, 3, 5, 8, 12, 13, 14, 20, 49, 50, 51, 60):
        values = random.normal(0.3, size=number) * 10.0 ** random.integers(-3, 9)
        if kind == "equal":
            values = random.integers(-4, 9, number).astype(float)
        if kind == "small":
            values = np.round(random.normal(size=number), 1)
        found = summary(values.tolist())
        assert found is not None
        ordered = np.sort(values)
        if ordered[0] != ordered[-1]:
            expected = stats.bootstrap(
                (ordered,),
                np.median,
                n_resamples=1999,
                method="percentile",
                rng=np.random.default_rng(1),
            ).confidence_interval
            assert (found.low, found.high) == (expected.low, expected.high)
        changed = values[values != 0]
        pair = differences({"a": of_seeds([0.0] * number), "b": of_seeds(values.tolist())})[
            "a", "b"
        ]
        tested = stats.wilcoxon(changed)
        ties = len(np.unique(np.abs(changed))) < len(changed)
        if len(changed) <= (13 if ties else 50):
            assert pair.p == tested.pvalue
        else:
            assert pair.p == pytest.approx(tested.pvalue, rel=1e-14)
        above = stats.wilcoxon(changed, alternative="greater").statistic
        assert pair.effect == 2 * above / (len(changed) * (len(changed) + 1) / 2) - 1


def test_adjusted_p_values_are_those_of_scipy() -> None:
    random = np.random.default_rng(9)
    for schedulers in (2, 3, 4, 7):
        values = {f"s{n}": of_seeds(random.normal(n / 9, 1, 9).tolist()) for n in range(schedulers)}
        found = differences(values)
        expected = stats.false_discovery_control([each.p for each in found.values()])
        assert [each.p_adjusted for each in found.values()] == expected.tolist()
