# SPDX-License-Identifier: GPL-2.0-only
"""Variations of paths: within what they may be off by, the same each time, spread evenly."""

from __future__ import annotations

import pytest

from mptcplab.advice.variations import variations
from mptcplab.errors import InputError
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import MAX_SEED, NO_RATE_BPS
from mptcplab.scenario.model import Scenario, Shape
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.uncertainty import parse

WIFI, LTE = "wifi:50mbit,10ms", "lte:20mbit,40ms,loss=1%,queue=200,up.rate=5mbit"


def base(*paths: str, **flags: str) -> Scenario:
    return from_flags(Flags(path=paths or (WIFI, LTE), **flags)).base  # type: ignore[arg-type]


def directions(scenario: Scenario) -> list[Shape]:
    return [way for path in scenario.paths for way in (path.up, path.down)]


def test_the_first_variation_is_the_paths_as_given() -> None:
    given = base()
    first, *others = variations(given, parse([], given), 8)
    assert first == given
    assert all(other.paths != given.paths for other in others)


def test_each_has_the_seed_after_the_last() -> None:
    given = base(seed="7")
    assert [each.seed for each in variations(given, parse([], given), 4)] == [7, 8, 9, 10]


def test_all_values_stay_within_their_bounds_and_reach_near_them() -> None:
    given = base()
    varied = variations(given, parse(["20%"], given), 64)
    for index, own in enumerate(directions(given)):
        for key in ("rate_bps", "delay_ns", "loss", "queue_packets"):
            value = getattr(own, key)
            found = [getattr(directions(each)[index], key) for each in varied]
            # whole packets: a queue may be off by half of one more
            slack = 0.5 if key == "queue_packets" else 0
            assert min(found) >= 0.8 * value - slack - 1e-9
            assert max(found) <= 1.2 * value + slack + 1e-9
            if value:
                # 63 of 64 points of Sobol's sequence leave no interval of a 32nd without one
                assert min(found) <= (0.8 + 2 * 0.4 / 32) * value + slack
                assert max(found) >= (1.2 - 2 * 0.4 / 32) * value - slack


def test_both_directions_of_a_path_are_off_alike() -> None:
    given = base()
    for each in variations(given, parse([], given), 8):
        lte = each.paths[1]
        assert lte.down.rate_bps == pytest.approx(4 * lte.up.rate_bps, rel=1e-6)


def test_fewer_variations_are_the_first_of_more() -> None:
    given = base()
    uncertainty = parse([], given)
    assert variations(given, uncertainty, 16)[:4] == variations(given, uncertainty, 4)


def test_another_seed_gives_other_variations_and_the_same_one_the_same() -> None:
    one, other = base(seed="1"), base(seed="1000")
    first = variations(one, parse([], one), 4)
    assert first == variations(one, parse([], one), 4)
    again = variations(other, parse([], other), 4)
    assert [each.paths for each in first[1:]] != [each.paths for each in again[1:]]


def test_what_is_certain_or_zero_stays() -> None:
    given = base()
    varied = variations(given, parse(["0%", "lte.rate=50%"], given), 8)
    for each in varied:
        assert each.paths[0] == given.paths[0]
        assert each.paths[1].up.delay_ns == given.paths[1].up.delay_ns
    assert len({each.paths[1].up.rate_bps for each in varied}) == 8
    assert [each.paths[0].up.loss for each in variations(given, parse([], given), 8)] == [0] * 8


def test_without_uncertainty_only_the_seeds_differ() -> None:
    given = base()
    uncertainty = parse(["0%"], given)
    assert uncertainty == ()
    assert [each.with_(seed=1) for each in variations(given, uncertainty, 3)] == [given] * 3


def test_the_most_specific_holds() -> None:
    given = base()
    found = parse(["10%,rate=20%", "lte=30%,lte.rate=40%"], given)
    assert found == (
        ("wifi", "rate", 0.2),
        ("wifi", "delay", 0.1),
        ("wifi", "queue", 0.1),
        ("lte", "rate", 0.4),
        ("lte", "delay", 0.3),
        ("lte", "loss", 0.3),
        ("lte", "queue", 0.3),
    )


def test_jitter_and_what_overtakes_go_with_the_delay_and_stay_below_it() -> None:
    given = base("a:10mbit,9999ns,jitter=3333ns,reorder=1%,reorder_by=6666ns", WIFI)
    for each in variations(given, parse(["90%"], given), 32):
        way = each.paths[0].up
        assert way.jitter_ns + (way.reorder_by_ns or 0) <= way.delay_ns


def test_losses_in_rows_stay_possible() -> None:
    # in rows of 2 at most two of three packets can be lost, and never all of them
    given = base("a:10mbit,10ms,loss=60%,loss_burst=2", "b:10mbit,10ms,loss=80%", WIFI)
    varied = variations(given, parse(["50%"], given), 32)
    assert max(each.paths[0].up.loss for each in varied) == pytest.approx(2 / 3)
    assert max(each.paths[1].up.loss for each in varied) == 0.99


def test_a_path_that_leaves_the_rate_to_its_link_is_varied_there() -> None:
    flags = Flags(path=("a:link=x,delay=5ms", "b:20mbit,10ms"), link=("x:10mbit,10ms",))
    given = from_flags(flags).base
    uncertainty = parse([], given)
    assert [name for name, key, _ in uncertainty if key == "rate"] == ["b", "x"]
    varied = variations(given, uncertainty, 4)
    assert {each.paths[0].up.rate_bps for each in varied} == {NO_RATE_BPS}
    assert len({each.links[0].up.rate_bps for each in varied}) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20", "no % sign"),
        ("much", "not a number"),
        ("100%", "at most 90%"),
        (
            "jitter=20%",
            "unknown key or path: keys are rate, delay, loss, queue; paths and links are wifi",
        ),
        (
            "wifi.jitter=20%",
            "unknown key or path: keys are rate, delay, loss, queue; paths and links are wifi",
        ),
        ("dsl.rate=20%", "unknown key or path"),
        ("rate=", "empty"),
    ],
)
def test_mistakes_say_what_is_accepted(text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse([text], base())
    assert "1 mistake in --uncertain" in str(caught.value)
    assert expected in str(caught.value)
    assert "e.g. 20%" in str(caught.value)
    assert text in str(caught.value)


def test_all_mistakes_are_told_together() -> None:
    with pytest.raises(InputError, match="2 mistakes in --uncertain"):
        parse(["20,x=3%", "loss=5%"], base())


def test_there_must_be_as_many_seeds() -> None:
    given = base(seed=str(MAX_SEED))
    with pytest.raises(InputError, match="the last variation would have seed"):
        variations(given, parse([], given), 2)
