# SPDX-License-Identifier: GPL-2.0-only
"""What each seed draws around the values of a scenario."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from mptcplab.errors import InputError
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request, from_flags, load_file

WIFI, LTE = "wifi:50mbit,10ms,jitter=1ms", "lte:20mbit,40ms,loss=1%,queue=200,up.rate=5mbit"


def asked(*vary: str, **flags: object) -> Request:
    return from_flags(Flags(path=(WIFI, LTE), vary=vary, **flags))  # type: ignore[arg-type]


def shares(given: Scenario, drawn: Scenario) -> dict[tuple[str, str], float]:
    """What part of the given value each drawn one is, of the directions up."""
    return {
        (own.name, key): getattr(own.up, key) / getattr(was.up, key)
        for was, own in zip(given.paths, drawn.paths, strict=True)
        for key in ("rate_bps", "delay_ns", "loss", "queue_packets")
        if getattr(was.up, key)
    }


def test_nothing_varies_unless_it_is_asked_for() -> None:
    plain = asked(repeat="3")
    assert all(run.paths == plain.base.paths for run in plain.runs())
    assert '"vary"' not in plain.base.key_text()
    assert asked("0%").base == asked().base


def test_each_value_is_uniform_within_its_bounds() -> None:
    request = asked("2%", repeat="400")
    every = [shares(request.base, run) for run in request.runs()]
    queues = {path.name: path.up.queue_packets or 0 for path in request.base.paths}
    for place in every[0]:
        found = [each[place] for each in every]
        if place[1] == "loss":
            assert set(found) == {1.0}
            continue
        # whole packets may be off by half of one more, and whole ns or bits by one
        slack = 0.5 / queues[place[0]] if place[1] == "queue_packets" else 1e-6
        assert min(found) >= 0.98 - slack
        assert max(found) <= 1.02 + slack
        # the deviation of a uniform value is 2 % / sqrt(3), 1.155 %, and that of the mean of 400
        # a 20th of it; the deviation found is off by 2.2 % of itself. 4.5 times as much is chance.
        assert statistics.pstdev(found) == pytest.approx(0.01155, rel=0.1, abs=slack)
        assert statistics.fmean(found) == pytest.approx(1, abs=4.5 * 0.01155 / 20 + slack)


def test_it_is_the_same_for_all_schedulers_and_congestion_controls_but_not_for_seeds() -> None:
    request = asked("2%", scheduler="default,minrtt", cc="reno,cubic", repeat="2")
    drawn = {run.seed: run.paths for run in request.runs()}
    assert all(run.paths == drawn[run.seed] for run in request.runs())
    assert drawn[1] != drawn[2]


def test_a_path_is_drawn_alike_whatever_the_others_are() -> None:
    alone = from_flags(Flags(path=(WIFI,), vary=("2%",))).runs()[0]
    more = asked("2%", "lte=10%").runs()[0]
    assert alone.paths[0].up == more.paths[0].up


def test_the_baselines_have_the_paths_of_the_runs_with_their_seed() -> None:
    request = asked("5%", repeat="2")
    runs = {run.seed: run for run in request.runs()}
    for alone in request.baselines():
        assert alone.paths[0] in runs[alone.seed].paths


def test_a_run_keeps_what_was_drawn_and_can_be_repeated(tmp_path: Path) -> None:
    (run,) = asked("5%", seed="3").runs()
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(run.model_dump(mode="json")))
    assert load_file(file).runs() == [run]
    # the same with another seed is no sample of the given scenario
    (other,) = load_file(file, Flags(seed="4")).runs()
    assert (other.paths, other.given) == (run.paths, None)


def test_a_run_keeps_what_was_given_and_its_key_depends_on_what_was_drawn() -> None:
    request = asked("5%", repeat="2", cc="reno,cubic")
    for run in request.runs():
        assert run.given == request.base.with_(cc=run.cc, seed=run.seed)
        assert run.key_text() == run.model_copy(update={"given": None}).key_text()
    for alone in request.baselines():
        assert alone.given
        assert alone.given.paths == request.base.single_path(alone.paths[0].name).paths
    assert asked().runs()[0].given is None


def test_both_directions_jitter_and_what_an_event_sets_vary_alike() -> None:
    request = asked("5%", event=("3s:wifi:change,rate=25mbit,delay=20ms,loss=1%", "4s:lte:down"))
    (run,) = request.runs()
    was, now = request.base.paths[0], run.paths[0]
    change = run.events[0].up
    factor = now.up.rate_bps / 50e6
    assert factor != 1
    assert now.down.rate_bps == now.up.rate_bps
    assert change.rate_bps == pytest.approx(25e6 * factor, rel=1e-6)
    assert change.delay_ns == pytest.approx(2 * now.up.delay_ns, abs=1)
    assert now.up.jitter_ns / was.up.jitter_ns == pytest.approx(now.up.delay_ns / 10e6, rel=1e-6)
    assert change.loss == request.base.events[0].up.loss
    assert run.events[1] == request.base.events[1]


def test_a_key_a_path_or_both_can_be_named_and_losses_have_to_be() -> None:
    request = asked("loss=20%", "lte.rate=10%,wifi=1%")
    moved = {
        place for place, share in shares(request.base, request.runs()[0]).items() if share != 1
    }
    assert moved == {
        *(("wifi", key) for key in ("rate_bps", "delay_ns", "queue_packets")),
        *(("lte", key) for key in ("rate_bps", "loss")),
    }


def test_a_file_can_say_it_and_a_flag_replaces_that(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    text = '[[path]]\nname = "a"\nrate = "10mbit"\ndelay = "5ms"\n'
    file.write_text(f'vary = ["rate=2%", "a.delay=3%"]\n{text}')
    assert load_file(file).base.vary == (("a", "rate", 0.02), ("a", "delay", 0.03))
    assert load_file(file, Flags(vary=("queue=1%",))).base.vary == (("a", "queue", 0.01),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2", "no %"),
        ("95%", "at most 90%"),
        ("-1%", "-1%"),
        (
            "dsl=2%",
            "unknown key or path: keys are rate, delay, loss, queue; paths and links are wifi",
        ),
        ("lte.jitter=2%", "unknown key or path"),
    ],
)
def test_what_is_wrong_is_told_with_the_flag(text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        asked(text)
    assert "in --vary" in caught.value.told()
    assert told in caught.value.told()


def test_a_wrong_one_is_told_beside_paths_that_are_wrong() -> None:
    with pytest.raises(InputError) as caught:
        from_flags(Flags(path=("wifi:50mbit",), vary=("lte.rate=2%",)))
    assert "1 mistake in --path" in caught.value.told()
    assert (
        "unknown key or path: keys are rate, delay, loss, queue; a percentage"
        in caught.value.told()
    )


def test_a_file_with_a_wrong_one_is_told_with_its_key(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('vary = [2]\n[[path]]\nname = "a"\nrate = "10mbit"\ndelay = "5ms"\n')
    with pytest.raises(InputError, match="vary") as caught:
        load_file(file)
    assert "a percentage, or a list of them" in caught.value.told()
