# SPDX-License-Identifier: GPL-2.0-only
"""Tuning without a kernel: what is tuned, what gains are, and that trials find a maximum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError, MptcplabError
from mptcplab.leaderboard.play import Asked
from mptcplab.leaderboard.standings import Played
from mptcplab.tuning import outputs, search
from mptcplab.tuning.search import Axis, Trial


def played(number: int, merits: Mapping[str, float | None], *, absolute: bool = False) -> Played:
    return Played(
        number=number,
        is_goodput=True,
        is_absolute=absolute,
        levels={},
        text="",
        unit="bit/s",
        figures=merits,
        merits=merits,
        tcp=None,
        keys={},
    )


def ends(axes: list[Axis]) -> dict[str, tuple[int, int]]:
    return {axis.parameter.name: (axis.low, axis.high) for axis in axes}


# What is tuned


def test_without_names_all_is_tuned_that_is_not_set() -> None:
    every = ends(search.axes("musher", []))
    assert len(every) > 1
    name = next(iter(every))
    value = every[name][0]
    assert ends(search.axes(f"musher:{name}={value}", [])) == {
        other: both for other, both in every.items() if other != name
    }


def test_a_range_is_the_users_or_near_the_default() -> None:
    (given,) = search.axes("overflow", ["queue_ms=3..40"])
    assert (given.low, given.high, given.is_wide) == (3, 40, True)
    (usual,) = search.axes("overflow", ["queue_ms"])
    parameter = usual.parameter
    assert (usual.low, usual.high) == (
        max(parameter.minimum, parameter.default // 8),
        min(parameter.maximum, parameter.default * 8),
    )
    # ten times the lower end is no wide range: 9..99 are 10 and 100 with 1 added
    assert not Axis(parameter, 9, 99).is_wide
    assert Axis(parameter, 9, 100).is_wide


@pytest.mark.parametrize(
    ("spec", "wanted", "expected"),
    [
        ("overflw", [], 'did you mean "overflow"'),
        ("default", [], "default has no parameters: there is nothing to tune"),
        ("overflow", ["queue_m"], 'did you mean "queue_ms"'),
        ("overflow", ["queue_ms=3"], "it is not NAME or NAME=LOW..HIGH"),
        ("overflow", ["queue_ms=40..3"], "LOW is below HIGH"),
        ("overflow", ["queue_ms=0..99999999999"], "queue_ms is a whole number from"),
        ("overflow", ["queue_ms", "queue_ms=3..4"], "queue_ms is given twice"),
        ("overflow:queue_ms=5", ["queue_ms"], "queue_ms is set by overflow:queue_ms=5"),
        ("overflow", ["spare_backups=0..1"], "spare_backups is on or off: give its name alone"),
    ],
)
def test_mistakes_are_named(spec: str, wanted: list[str], expected: str) -> None:
    with pytest.raises(InputError) as error:
        search.axes(spec, wanted)
    assert expected in str(error.value)


# Gains


def test_a_gain_is_the_logarithm_of_a_ratio_with_limits() -> None:
    found = search.gains(
        [
            played(1, {"tuned": 2e6, "untuned": 1e6}),
            played(2, {"tuned": 1.0, "untuned": 100.0}),
            played(3, {"tuned": None, "untuned": 1.0}),
            played(4, {"tuned": 1.0, "untuned": None}),
            # a share in time: 0.9 beside 0.8 counts as 1 - (0.8 - 0.9)
            played(5, {"tuned": 0.9, "untuned": 0.8}, absolute=True),
        ],
        "tuned",
        "untuned",
    )
    assert found == pytest.approx(
        {1: math.log(2), 2: -math.log(8), 3: -math.log(8), 5: math.log(1.1)}
    )
    with pytest.raises(MptcplabError, match="untuned failed in all scenarios"):
        search.gains([played(1, {"tuned": 1.0, "untuned": None})], "tuned", "untuned")


def test_the_verdict_needs_an_interval_on_one_side_of_nothing() -> None:
    def of(*gains: float) -> search.Verdict:
        return search.verdict(Trial(1, "x", {}, dict(enumerate(gains))))

    up = of(0.1, 0.2, 0.1, 0.2, 0.3, 0.1, 0.0)
    assert (up.text, up.better, up.worse, up.same) == ("better", 6, 0, 1)
    # six of six changes upwards: p is 2 / 2**6
    assert up.p == pytest.approx(2 / 2**6)
    assert of(*(-each for each in up.gains.values())).text == "worse"
    assert of(0.1, -0.1, 0.2, -0.2).text == "not shown to differ"
    # a single scenario has no interval
    assert of(0.5).text == "not shown to differ"


# Trials


def peak_at(best: int) -> Callable[[Asked], list[Played]]:
    """Runs of three scenarios that are best with this queue_ms."""

    def make(what: Asked) -> list[Played]:
        merits: dict[str, float | None] = {}
        for choice in what.request.schedulers:
            (value,) = (each.value for each in choice.settings if each.name == "queue_ms")
            merits[choice.label] = 1e6 / (1 + abs(math.log((value + 1) / (best + 1))))
        return [played(number, merits) for number in (1, 2, 3)]

    return make


def trials(count: int, best: int, seed: int = 1) -> list[Trial]:
    axes = search.axes("overflow", ["queue_ms=1..1000"])
    return search.trials("overflow", axes, [], count, seed, peak_at(best), lambda *_: None)


def test_trials_find_a_maximum_and_repeat() -> None:
    made = trials(40, best=700)
    assert [trial.number for trial in made] == list(range(41))
    assert made[0].gains == {1: 0, 2: 0, 3: 0}
    found = search.best(made)
    # at the maximum the gain is log(1 + |log(701 / (default + 1))|); within a tenth of it
    default = search.axes("overflow", ["queue_ms"])[0].parameter.default
    most = math.log(1 + abs(math.log(701 / (default + 1))))
    assert 0.9 * most < found.gain <= most
    assert 500 < found.values["queue_ms"] < 1000
    assert trials(40, best=700) == made
    # more trials begin with fewer, and another seed draws others
    assert trials(10, best=700) == made[:11]
    assert trials(10, best=700, seed=2) != made[:11]


def test_the_untuned_one_stays_if_nothing_is_better() -> None:
    default = search.axes("overflow", ["queue_ms"])[0].parameter.default
    made = trials(5, best=default)
    assert search.best(made).number == 0
    assert f"None is better than {made[0].label}." in outputs.lines(made, None)


def test_values_that_are_the_default_are_the_untuned_one() -> None:
    (axis,) = search.axes("overflow", ["queue_ms"])
    values = {"queue_ms": axis.parameter.default}
    trial = search.compare("overflow", values, [], peak_at(1), 3)
    assert (trial.label, trial.gains) == ("overflow", {1: 0, 2: 0, 3: 0})


def test_a_file_gives_a_scenario_for_each_seed(tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    file.write_text('seed = 7\n[[path]]\nname = "a"\nrate = "5mbit"\ndelay = "5ms"\n')
    found = search.of_files([file, file], range(3, 5))
    assert [(each.number, each.request.base.seed) for each in found] == [
        (1, 3), (2, 4), (3, 3), (4, 4),
    ]  # fmt: skip


def test_the_document_and_the_picture_have_all(tmp_path: Path) -> None:
    made = trials(5, best=700)
    verdict = search.verdict(search.best(made))
    axes = search.axes("overflow", ["queue_ms=1..1000"])
    document: dict[str, Any] = outputs.document({"seed": 1}, axes, made, verdict, {"kernel": "k"})
    assert document["parameters"] == {"queue_ms": {"low": 1, "high": 1000}}
    assert document["best"] == search.best(made).label
    assert len(document["trials"]) == 6
    assert document["held_out"]["gain"]["value"] == pytest.approx(search.best(made).gain)
    for held_out in (verdict, None):
        assert outputs.write_picture(made, held_out, tmp_path).stat().st_size > 10_000
