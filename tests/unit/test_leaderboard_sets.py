# SPDX-License-Identifier: GPL-2.0-only
"""The sets of the leaderboard: what they span, how evenly, and what their runs cost; no kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from mptcplab.cli.commands.leaderboard import MOST_CHANCE
from mptcplab.leaderboard import NAMES, QUARTER, SIZE, Name, play, sets
from mptcplab.leaderboard.sets import BULK, Drawn
from mptcplab.runs import cost
from mptcplab.runs.cost import Costs
from mptcplab.scenario import scheduler, workload
from mptcplab.scenario.limits import MAX_SEED
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Bulk, Cbr, Frames, Requests, Transfers, Video

QUARTER_CPU_S = 3600


@cache
def whole(name: Name) -> list[Drawn]:
    """All of a set: each scenario was resolved, so none has a mistake."""
    return sets.draw(name, SIZE)


@pytest.fixture(params=NAMES)
def drawn(request: pytest.FixtureRequest) -> list[Drawn]:
    return whole(request.param)


def bases(drawn: Sequence[Drawn]) -> list[Scenario]:
    return [each.request.base for each in drawn]


def test_a_set_depends_on_its_name_and_fewer_are_a_prefix(drawn: list[Drawn]) -> None:
    assert len(drawn) == SIZE >= 600
    assert [each.number for each in drawn] == list(range(1, SIZE + 1))
    name: Name = "training" if drawn[0].request.base.seed == 1 else "judged"
    assert bases(sets.draw(name, 9)) == bases(drawn)[:9]
    assert len({each.key_text() for each in bases(drawn)}) == SIZE


def test_a_seed_draws_a_set_of_its_own() -> None:
    third, other = (bases(sets.draw(seed, 64)) for seed in (3, MAX_SEED))
    assert bases(sets.draw(3, 9)) == third[:9]
    assert not any(one.paths == two.paths for one, two in zip(third, other, strict=True))
    seeds = {each.seed for name in NAMES for each in bases(whole(name))}
    further = {other for seed in seeds for other in sets.further_seeds(seed, MOST_CHANCE)}
    assert not {each.seed for each in third} & (seeds | further)


def test_no_scenario_nor_seed_is_in_both_sets() -> None:
    both = [bases(whole(name)) for name in NAMES]
    seeds = [each.seed for own in both for each in own]
    further = [other for seed in seeds for other in sets.further_seeds(seed, MOST_CHANCE)]
    assert len({*seeds, *further}) == 2 * SIZE * (1 + MOST_CHANCE)
    assert max(further) <= MAX_SEED
    # not of other seeds alone, among the first
    paths = [
        {tuple(path.model_dump_json() for path in each.paths) for each in own[:64]} for own in both
    ]
    assert len(paths[0] & paths[1]) <= 2  # a single preset


def test_drawn_paths_span_the_ranges(drawn: list[Drawn]) -> None:
    presets = [each for each in drawn if each.has_presets]
    assert 0.35 < len(presets) / len(drawn) < 0.65
    rates, rtts_ms, products, losses, waits_s = [], [], [], [], []
    bursts = 0
    for each in drawn:
        for path in () if each.has_presets else each.request.base.paths:
            shape, rtt_ns = path.down, path.up.delay_ns + path.down.delay_ns
            rates.append(shape.rate_bps / 1e6)
            rtts_ms.append(rtt_ns / 1e6)
            queue = shape.queue_packets or 0
            waits_s.append(queue * 1514 * 8 / shape.rate_bps)
            if queue > 10:
                products.append(waits_s[-1] * 1e9 / rtt_ns)
            losses.append(float(shape.loss))
            bursts += shape.loss_burst is not None
            assert shape.loss_burst is None or 2 <= shape.loss_burst <= 20
            assert shape.queue_discipline == "droptail"
    assert 0.5 <= min(rates) < 0.6 < 420 < max(rates) <= 500
    assert 5 <= min(rtts_ms) < 5.6 < 540 < max(rtts_ms) <= 600
    # a whole number of packets, of more than 10, is within a twentieth
    assert 0.23 < min(products) < 0.3 < 7 < max(products) < 8.4
    # 2 s, or the ten packets that a queue has at least: 242 ms at the lowest rate
    assert 1.9 < max(waits_s) < 2.05
    assert max(losses) <= 0.01
    assert min(filter(None, losses)) >= 0.0001
    for share in (losses.count(0) / len(losses), bursts / len(losses)):
        assert share == pytest.approx(1 / 3, abs=0.07)


@pytest.mark.parametrize("count", [QUARTER, SIZE])
def test_a_part_is_as_balanced_as_the_whole(drawn: list[Drawn], count: int) -> None:
    some = drawn[:count]

    def shares(values: Sequence[object]) -> dict[object, float]:
        return {value: n / count for value, n in Counter(values).items()}

    found = shares([each.workload for each in some])
    assert found == pytest.approx({name: found[name] for name in sets.WORKLOADS})
    # of a random draw, two standard deviations are 7 % of 30 % and 5 % of 10 %: it is closer
    assert found == pytest.approx(sets.WORKLOADS, abs=0.025)
    assert len(sets.WORKLOADS) == 8
    base = bases(some)
    assert shares([each.cc for each in base]) == pytest.approx(
        {"cubic": 0.4, "bbr": 0.3, "lia": 0.3}, abs=0.04
    )
    assert shares([len(each.paths) for each in base]) == pytest.approx(
        {1: 0.05, 2: 0.55, 3: 0.25, 4: 0.15}, abs=0.04
    )
    automatic = [each.receive_buffer_bytes for each in base].count(None)
    assert automatic / count == pytest.approx(0.5, abs=0.04)
    fixed = [each.receive_buffer_bytes for each in base if each.receive_buffer_bytes]
    assert 64 << 10 <= min(fixed) < 80 << 10 < 3 << 20 < max(fixed) <= 4 << 20
    bulk = [each for each in some if each.workload == BULK]
    starts = Counter(each.request.base.workload.start for each in bulk)
    assert starts["at-once"] / len(bulk) == pytest.approx(2 / 3, abs=0.12)


def test_links_that_vary_begin_somewhere_and_are_seen_to_vary(drawn: list[Drawn]) -> None:
    offsets = []
    for each in drawn:
        base = each.request.base
        for source in each.request.traces.values():
            assert base.workload.duration_ns is None or base.workload.duration_ns >= 6 * 10**9
            offsets.append(source.offset_ns // 10**9)
    # 9 presets are a quarter of the paths, 3 of them vary; in 600 scenarios are 1450 paths
    assert len(offsets) / 2 == pytest.approx(0.25 * 1450 / 3, rel=0.2)
    assert min(offsets) < 120
    assert 3480 < max(offsets) < 3600


def test_presets_are_named_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "PRESETS", {"lte": 3, "ethernet": 40})
    drawn = [each for each in sets.draw("training", 64) if each.has_presets]
    shapes = {path.down for each in drawn for path in each.request.base.paths}
    assert len([each for each in shapes if each.rate_bps == 10**9]) == 1  # ethernet
    lasting = [
        each.request.base.workload.duration_ns
        for each in drawn
        if each.workload in (BULK, "cbr", "requests", "frames")
        and any(path.down.rate_bps == 10**9 for path in each.request.base.paths)
    ]
    assert lasting
    assert all(duration == 40 * 10**9 for duration in lasting)


def test_each_run_is_long_enough_and_asks_for_what_paths_can_carry(drawn: list[Drawn]) -> None:
    for each in drawn:
        base = each.request.base
        load = base.workload
        rtt_ns = max(path.up.delay_ns + path.down.delay_ns for path in base.paths)
        if load.duration_ns is not None:
            assert load.duration_ns >= 20 * rtt_ns, each.number
        if any(path.down.steps for path in base.paths):  # a link that varies
            assert load.duration_ns is None or load.duration_ns >= 6 * 10**9
            continue
        sides = [path.up if load.direction == "up" else path.down for path in base.paths]
        all_bps = sum(side.rate_bps for side in sides)
        match load:
            case Bulk():
                assert 3 * 10**9 <= (load.duration_ns or 0) <= 12 * 10**9
            case Cbr():
                assert load.interval_ns == 25 * 10**6
                assert 100 <= load.block_bytes <= 62_500
                # 0.7 of what they can carry, but for the least of 100 bytes, 32 kbit/s
                assert load.block_bytes * 8 / 0.025 <= 0.71 * all_bps
                assert len(workload.messages(load, base.seed)) >= 400
            case Requests():
                assert load.random
                assert load.response_bytes * 8 / 0.04 <= max(0.71 * all_bps, 20_000)
            case Transfers():
                assert load.transfer_bytes * 8 / all_bps <= (0.51 if load.fresh else 2.01)
            case Video():
                assert [round(load.bitrates_bps[2] / x) for x in load.bitrates_bps] == [4, 2, 1]
            case Frames():
                least_ns = min(side.delay_ns for side in sides)
                assert 0 <= load.deadline_ns - least_ns - 150 * 10**6 < 10**6


def test_a_quarter_costs_no_more_than_half_an_hour_on_two_cpus(drawn: list[Drawn]) -> None:
    some = drawn[:QUARTER]
    sizes = {}
    for each in some:
        base = each.request.base
        sizes[f"{each.number}"] = cost.size(base)
        if each.workload == BULK and base.workload.start == "at-once":
            for path in base.lasting_paths():
                sizes[f"{each.number} {path}"] = cost.size(base.single_path(path))
    costs = Costs(sizes)
    # the catalogue, and one of the user's own
    number = len(scheduler.known()) + 1
    total_s = sum(costs.of(key) * (1 if " " in key else number) for key in sizes)
    assert total_s <= QUARTER_CPU_S
    assert max(costs.of(key) for key in sizes) < 6
    assert sum(costs.of(str(each.number)) for each in some) / len(some) <= 1.0


def test_levels_and_words_say_what_a_scenario_is() -> None:
    drawn = sets.draw("training", 200)
    found = {name: {play.levels(each)[name] for each in drawn} for name in play.levels(drawn[0])}
    assert found["workload"] == {*sets.WORKLOADS}
    assert found["congestion control"] == {"cubic", "bbr", "lia"}
    assert found["start"] == {"at-once", "established", "when needed"}
    assert found["paths"] == {"1", "2", "3", "4"}
    apart = {"up to 3 x", "3 to 10 x", "10 to 100 x"}
    assert found["rates apart"] == apart | {"above 100 x"}
    assert found["RTTs apart"] >= apart
    assert found["longest queue"] == {"up to 1 BDP", "1 to 4 BDP", "above 4 BDP"}
    assert found["loss"] == {"none", "one by one", "in bursts"}
    buffers = {"auto", "up to 256 KiB", "256 to 1024 KiB", "above 1024 KiB"}
    assert found["receive buffer"] == buffers
    for each in drawn:
        words = play.text(each)
        assert words.startswith(f"{each.workload}, {each.request.base.cc}, ")
        assert words.count("bit ") == len(each.request.base.paths)
