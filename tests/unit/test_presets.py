# SPDX-License-Identifier: GPL-2.0-only
"""Presets of paths: what they hold, how they are asked for, and what goes before them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path as FilePath
from typing import Any

import jsonschema
import pytest

from mptcplab.errors import InputError
from mptcplab.scenario.flags import Flags, parse_path_flag
from mptcplab.scenario.limits import PACKET_BYTES
from mptcplab.scenario.literal import json_schema
from mptcplab.scenario.model import Path, Shape
from mptcplab.scenario.presets import FOLDER, NO_SOURCE, PRESETS, SOURCES, Preset
from mptcplab.scenario.resolve import from_flags, load_file
from mptcplab.scenario.scheduler import Scheduler
from mptcplab.traces.link_trace import carried
from mptcplab.units import parse_queue, parse_rate, parse_time
from tests import preset_traces

KNOWN = {"default": Scheduler("default", "", ())}
ALL = ", ".join(PRESETS)
MS = 10**6

LTE_UP = Shape(rate_bps=7_600_000, delay_ns=10_500_000, jitter_ns=0, loss=1e-6, queue_packets=190)
LTE_DOWN = LTE_UP.model_copy(update={"rate_bps": 29_500_000, "queue_packets": 730})

each_preset = pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)


def flag(text: str) -> Path:
    (path,) = from_flags(Flags(path=[text]), known=KNOWN).base.paths
    return path


def in_file(folder: FilePath, text: str) -> Path:
    file = folder / "scenario.toml"
    file.write_text(f"[[path]]\n{text}\n", encoding="utf-8")
    (path,) = load_file(file, known=KNOWN).base.paths
    return path


def flag_mistakes(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        from_flags(Flags(path=[text]), known=KNOWN)
    return [str(problem) for problem in caught.value.problems]


def file_mistakes(folder: FilePath, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        in_file(folder, text)
    return [str(problem) for problem in caught.value.problems]


# What they hold


def test_the_presets_are_those_of_the_page_on_scenarios() -> None:
    assert list(PRESETS) == [
        *("wifi", "lte", "5g-sub6", "5g-mmwave", "starlink", "dsl", "fibre", "ethernet"),
        *("starlink-steps", "lte-bloated", "wifi-busy"),
        *("lte-throttled", "lte-swinging", "lte-bursts", "wifi-bursts", "dsl-lossy-up"),
    ]


@each_preset
def test_every_preset_is_a_path_by_itself(preset: Preset) -> None:
    path = flag(preset.name)
    assert path.name == preset.name
    for direction in (path.up, path.down):
        # In netem jitter lets packets overtake each other, which none of these links does.
        assert direction.jitter_ns == 0
    # a report says so of its poor place
    assert path.up.rate_bps <= path.down.rate_bps or preset.name == "lte-swinging"


@each_preset
def test_every_number_has_a_source_or_the_words_that_it_has_none(preset: Preset) -> None:
    assert set(preset.reasons) == set(preset.numbers())
    for key, reason in preset.reasons.items():
        cited = re.findall(r"\[([^\]]+)\]", reason)
        assert cited or reason.startswith(NO_SOURCE), key
        assert set(cited) <= set(SOURCES), key


@each_preset
def test_both_directions_have_every_number_but_the_jitter(preset: Preset) -> None:
    keys = {"rate", "delay", "loss", "queue"}
    for direction in ("up", "down"):
        assert {key.removeprefix(f"{direction}.") for key in preset.numbers()} >= keys, direction


def test_every_source_is_cited_and_has_an_address() -> None:
    text = " ".join(reason for preset in PRESETS.values() for reason in preset.reasons.values())
    for label, source in SOURCES.items():
        assert f"[{label}]" in text
        assert source.title.endswith(".")
        assert re.match(r"https?://|Linux", source.address)


@pytest.mark.parametrize(
    ("name", "longest_ms"),
    [
        *(("lte", 300), ("5g-sub6", 300), ("5g-mmwave", 300)),
        *(("starlink", 75), ("wifi", 100), ("dsl", 100), ("fibre", 100)),
    ],
)
def test_a_full_queue_lasts_as_long_as_the_reason_says(name: str, longest_ms: int) -> None:
    # netem counts the packets in the delay too, so the limit over the rate is the whole stay
    for direction in ("up", "down"):
        table = PRESETS[name].path
        values = {key: table[key] for key in ("delay",) if key in table} | table[direction]
        bits = 8 * PACKET_BYTES * parse_queue(str(values["queue"]))
        assert bits / parse_rate(values["rate"]) == pytest.approx(longest_ms / 1000, rel=0.03)
        assert parse_time(values["delay"]) < longest_ms * MS


# Precedence


def test_a_name_alone_asks_for_nothing_in_a_file(tmp_path: FilePath) -> None:
    path = in_file(tmp_path, 'name = "lte"\nrate = "1mbit"\ndelay = "5ms"')
    assert (path.up.queue_packets, path.up.loss) == (20, 0.0)


def test_a_key_of_a_direction_goes_before_both(tmp_path: FilePath) -> None:
    text = 'name = "lte"\npreset = "lte"\nrate = "9mbit"\n[path.up]\nrate = "2mbit"\nqueue = 50'
    path = in_file(tmp_path, text)
    assert path.up == LTE_UP.model_copy(update={"rate_bps": 2_000_000, "queue_packets": 50})
    assert path.down == LTE_DOWN.model_copy(update={"rate_bps": 9_000_000})


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("lte", {}),
        ("lte:", {}),
        ("lte:delay=60ms,loss=0.1%", {"delay_ns": 60 * MS, "loss": 0.001}),
        ("lte:loss=0", {"loss": 0.0}),
        ("lte:rate=30mbit", {"rate_bps": 30_000_000}),
        ("lte:preset=lte,rate=30mbit,delay=1ms", {"rate_bps": 30_000_000, "delay_ns": MS}),
        ("home:preset=lte,queue=99", {"queue_packets": 99}),
        ("home:3mbit,1ms,preset=lte", {"rate_bps": 3_000_000, "delay_ns": MS}),
        ("wifi:preset=lte", {}),
    ],
)
def test_a_flag_takes_the_preset_and_what_it_changes(text: str, changes: dict[str, Any]) -> None:
    path = flag(text)
    assert path.name == text.partition(":")[0]
    assert path.up == LTE_UP.model_copy(update=changes)
    assert path.down == LTE_DOWN.model_copy(update=changes)


@pytest.mark.parametrize(
    "text", ["lte:3mbit,1ms", "lte:rate=3mbit,delay=1ms", "lte:3mbit,delay=1ms"]
)
def test_a_flag_that_gives_rate_and_delay_takes_no_preset(text: str) -> None:
    assert "preset" not in parse_path_flag(text)
    assert flag(text).up == Shape(
        rate_bps=3_000_000, delay_ns=MS, jitter_ns=0, loss=0.0, queue_packets=20
    )


def test_a_preset_leaves_no_trace_in_the_key_of_a_run() -> None:
    spelt = ",".join(f"{key}={value}" for key, value in PRESETS["lte"].numbers().items())
    paths = [[text] for text in ("lte", f"lte:1mbit,1ms,{spelt}")]
    keys = {from_flags(Flags(path=path), known=KNOWN).base.key_text() for path in paths}
    assert len(keys) == 1


# Mistakes


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "lt",
            '"lt": no colon after the name, and it is not the name of a preset; did you mean '
            f'"lte"? presets: {ALL}; a path is NAME:RATE,DELAY[,KEY=VALUE...], e.g. wifi:50mbit,',
        ),
        (
            "zzz",
            f'"zzz": no colon after the name, and it is not the name of a preset; presets: {ALL};',
        ),
        (
            "lte:1mbit",
            'path.lte.delay: missing; every path has a delay, e.g. "10ms", or a preset, ',
        ),
        ("home:delay=1ms", "path.home.rate: missing; every path has a rate, e.g."),
        ("lte:dely=1ms", 'path.lte.dely = "1ms": unknown key; did you mean "delay"? accepted'),
        ("lte:jitter=11ms", 'path.lte.jitter = "11ms": more than the delay of 10500us;'),
        ("lte:rate=1", 'path.lte.rate = "1": no unit; a rate is'),
    ],
)
def test_a_mistake_in_a_flag_is_named(text: str, line: str) -> None:
    (found,) = flag_mistakes(text)
    found = re.sub(r"^path\[1\] = ", "", found)
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ('"starlnik"', 'path[1].preset = "starlnik": a preset is wifi, lte, 5g-sub6, 5g-mmwave, s'),
        ('"LTE"', 'path[1].preset = "LTE": a preset is wifi,'),
        ("3", "path[1].preset = 3: a preset is wifi,"),
        ('["lte"]', 'path[1].preset = ["lte"]: a preset is wifi,'),
    ],
)
def test_an_unknown_preset_is_the_only_mistake(tmp_path: FilePath, value: str, line: str) -> None:
    (found,) = file_mistakes(tmp_path, f'name = "mobile"\npreset = {value}')
    assert found.startswith(line)


def test_a_preset_is_not_a_key_of_a_direction(tmp_path: FilePath) -> None:
    (found,) = file_mistakes(tmp_path, 'name = "a"\npreset = "lte"\n[path.up]\npreset = "dsl"')
    assert found == 'path[1].up.preset = "dsl": unknown key here; preset goes in [[path]]'


# Those that vary

VARYING = [name for name, preset in PRESETS.items() if preset.ranges]
SECOND = 10**9


def steps_of(text: str, direction: str = "up", *, duration: str = "60s") -> list[Any]:
    (path,) = from_flags(Flags(path=[text], duration=duration), known=KNOWN).base.paths
    shape = getattr(path, direction)
    return [(0, shape.rate_bps, shape.delay_ns, shape.loss), *shape.steps]


def test_the_traces_are_what_is_drawn_each_time() -> None:
    for name, text in preset_traces.files().items():
        found = (FOLDER / name).read_text(encoding="utf-8")
        assert found == text, "write them with python -m tests.preset_traces"


def test_starlink_changes_at_its_seconds_of_each_minute_for_runs_of_any_length() -> None:
    # 70 min: the trace, an hour, starts again after a whole number of minutes
    for direction in ("up", "down"):
        steps = steps_of("starlink-steps", direction, duration="4200s")
        changes = [b for a, b in itertools.pairwise(steps) if a[1] != b[1]]
        at = [at_ns for at_ns, *_ in changes]
        assert at == [s * SECOND for s in range(12, 4200, 15)]
        assert len({rate for _, rate, *_ in changes}) == 240


def test_starlink_has_a_higher_delay_and_more_loss_for_215_ms() -> None:
    steps = steps_of("starlink-steps")
    for before, change, after in zip(steps[1::3], steps[2::3], steps[3::3], strict=True):
        assert (change[0] - before[0], after[0] - change[0]) == (75 * MS, 140 * MS)
        assert change[2] - after[2] == 20 * MS
        assert (before[3], change[3], after[3]) == (0.177, 0.177, 0.0025)
    # the mean loss is half of one per cent: 4 x 215 ms of each minute have the higher one
    mean = (0.177 * 0.86 + 0.0025 * 59.14) / 60
    assert mean == pytest.approx(0.005, rel=0.01)


@pytest.mark.parametrize("name", VARYING)
@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_varies_stays_within_what_the_table_says(name: str, direction: str) -> None:
    steps = steps_of(name, direction, duration="60s" if name.endswith("bursts") else "3600s")
    rate = PRESETS[name].ranges.get(f"{direction}.rate")
    if rate:
        low, high = rate.removesuffix("mbit").split("..")
        rates = [rate for _, rate, *_ in steps]
        assert min(rates) == pytest.approx(float(low) * 1e6, rel=0.01)
        assert max(rates) == pytest.approx(float(high) * 1e6, rel=0.01)
    delay = PRESETS[name].ranges.get(f"{direction}.delay")
    if delay:
        low, high = delay.removesuffix("ms").split("..")
        delays = [step[2] / MS for step in steps]
        assert min(delays) == pytest.approx(float(low), abs=0.5)
        assert max(delays) == pytest.approx(float(high), abs=0.5)


@pytest.mark.parametrize(
    ("name", "direction", "mean_bps", "block"),
    [
        ("lte-bloated", "up", 7_600_000, "20s"),
        ("lte-bloated", "down", 29_500_000, "20s"),
        # 50 Mbit/s x (1 + 1/2 + ... + 1/8) / 8
        ("wifi-busy", "up", 16_987_000, "8s"),
        # as `lte` and `wifi`: 100 periods of each
        ("lte-bursts", "up", 7_600_000, "1800ms"),
        ("lte-bursts", "down", 29_500_000, "1400ms"),
        ("wifi-bursts", "up", 50_000_000, "1s"),
        # 10 of 60 s at the rate of `lte`, then 1 Mbit/s
        ("lte-throttled", "down", 5_750_000, "60s"),
    ],
)
def test_a_preset_that_varies_carries_as_much_on_average_as_its_reason_says(
    name: str, direction: str, mean_bps: int, block: str
) -> None:
    (path,) = from_flags(Flags(path=[name], duration=block), known=KNOWN).base.paths
    shape = getattr(path, direction)
    rates = [(0, shape.rate_bps), *((step[0], step[1]) for step in shape.steps)]
    length_ns = parse_time(block)
    assert carried(rates, 0, length_ns) / length_ns == pytest.approx(mean_bps, rel=0.005)


@pytest.mark.parametrize(
    ("name", "direction", "full_s"),
    [
        *(("lte-bloated", "up", 1.7), ("lte-bloated", "down", 1.7), ("wifi-busy", "up", 0.6)),
        *(("lte-throttled", "up", 2.3), ("lte-throttled", "down", 8.84)),
    ],
)
def test_a_full_queue_lasts_as_long_at_the_lowest_rate(
    name: str, direction: str, full_s: float
) -> None:
    lowest = min(rate for _, rate, *_ in steps_of(name, direction))
    bits = 8 * PACKET_BYTES * PRESETS[name].path[direction]["queue"]
    assert bits / lowest == pytest.approx(full_s, rel=0.01)


def test_a_swinging_delay_goes_up_and_down_in_15_s() -> None:
    delays = [step[2] / MS for step in steps_of("lte-swinging", duration="30s")]
    assert delays[:16] == pytest.approx([50 + 550 / 15 * n for n in range(16)], abs=0.001)
    assert delays[15:31] == delays[15::-1]
    assert delays[30:] == delays[:30]


def test_what_is_given_goes_before_the_trace_of_a_preset() -> None:
    rates = {rate for _, rate, *_ in steps_of("starlink-steps:rate=50mbit")}
    assert rates == {50_000_000, None}
    delays = {step[2] for step in steps_of("starlink-steps:rate=50mbit")}
    assert len(delays) > 4
    assert len(steps_of("lte-bloated:rate=5mbit")) == 1


def test_an_offset_is_where_the_trace_of_a_preset_begins(tmp_path: FilePath) -> None:
    text = 'name = "a"\npreset = "starlink-steps"\n[path.trace]\noffset = "10s"'
    path = in_file(tmp_path, text)
    # the first change is at 12 s of the trace; the delay rises 75 ms before it
    assert [step[0] for step in path.up.steps[:2]] == [1925 * MS, 2 * SECOND]
    assert path.up.queue_packets == 128


def test_an_uncertain_path_multiplies_the_whole_trace() -> None:
    (run,) = from_flags(
        Flags(path=["starlink-steps"], duration="60s", vary=("rate=20%",)), known=KNOWN
    ).runs()
    plain = steps_of("starlink-steps")
    drawn = run.paths[0].up
    factor = drawn.rate_bps / plain[0][1]
    assert factor != 1
    for before, after in zip(plain[1:], drawn.steps, strict=True):
        assert after[1] / before[1] == pytest.approx(factor, rel=1e-6)


# The schema


@pytest.mark.parametrize(
    ("path", "accepted"),
    [
        ({"name": "a", "preset": "lte"}, True),
        ({"name": "a", "rate": "1mbit", "delay": "1ms"}, True),
        ({"name": "a", "preset": "lte", "up": {"rate": "1mbit"}}, True),
        ({"name": "a", "rate": "1mbit"}, False),
        ({"name": "a", "preset": "isdn"}, False),
        ({"preset": "lte"}, False),
    ],
)
def test_the_schema_wants_a_preset_or_rate_and_delay(path: dict[str, Any], accepted: bool) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid({"path": [path]}) == accepted
