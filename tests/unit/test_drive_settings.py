# SPDX-License-Identifier: GPL-2.0-only
"""Settings of a drive: read with their units, listed, and documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.errors import InputError
from mptcplab.traces import drive_settings
from mptcplab.traces.radio import LTE, MMWAVE, Building, Drive, write_scenario

ROOT = Path(__file__).parents[2]


def applied(*texts: str) -> Drive:
    return drive_settings.apply(Drive(), texts)


def test_values_are_read_with_their_units() -> None:
    made = applied(
        *("lte.power=40dBm", "lte.frequency=0.8GHz", "5g-mmwave.share=50%", "lte.slot=500us"),
        *("speed.east=-36km/h", "speed.north=1.5 m/s", "start.north=-0.2km", "lte.harq_slots=4"),
        *("building.west=-10m", "building.materials=glass:40%,concrete:60%", "lte.environment=uma"),
    )
    mmwave, lte = made.cells
    assert (lte.power_dbm, lte.frequency_hz, lte.slot_ns) == (40, 0.8e9, 500_000)
    assert (lte.harq_slots, lte.environment, mmwave.share) == (4, "uma", 0.5)
    assert made.velocity_mps == pytest.approx((-10, 1.5))
    assert made.start_m == pytest.approx((500 / 3, -200))
    assert made.building is not None
    # the other end stays
    assert made.building.x_m == pytest.approx((-10, 28))
    assert made.building.materials == (("glass", 0.4), ("concrete", 0.6))
    assert applied("building=none").building is None
    assert applied() == Drive()


def test_what_is_listed_can_be_set_and_changes_nothing() -> None:
    # but for the digits: the list has six of them
    heads = [line.split("  (")[0] for line in drive_settings.listing(Drive()).splitlines()[::2]]
    assert len(heads) == len(drive_settings.keys(Drive()))
    made = applied(*heads)
    assert made.building == Building()
    assert made.start_m == pytest.approx(Drive().start_m, rel=1e-5)
    for cell, default in zip(made.cells, (MMWAVE, LTE), strict=True):
        for field in cell.__dataclass_fields__:
            value, wanted = getattr(cell, field), getattr(default, field)
            assert value == (pytest.approx(wanted, rel=1e-5) if type(wanted) is float else wanted)


def test_every_field_can_be_set_and_the_docs_have_every_key() -> None:
    text = (ROOT / "docs" / "radio.md").read_text()
    keys = {setting.key for setting in drive_settings.SETTINGS}
    assert keys - set(re.findall(r"`([\w.]+)`", text)) == set()
    settable = {(setting.of, setting.field) for setting in drive_settings.SETTINGS}
    for kind, others in ((Drive, {"cells", "building"}), (Building, set()), (type(LTE), {"name"})):
        fields = set(kind.__dataclass_fields__) - others
        assert {field for of, field in settable if of is kind} == fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lte.power", "a setting is KEY=VALUE"),
        ("lte.power=", "a setting is KEY=VALUE"),
        ("lte.powr=40dBm", 'did you mean "lte.power"?'),
        ("wifi.power=40dBm", "unknown key"),
        ("lte.power=40", "no unit; a number with dBm is expected"),
        ("lte.power=40W", 'unknown unit "W"; a number with dBm is expected'),
        ("lte.power=much", "a number with dBm is expected"),
        ("lte.power=201dBm", "out of range; it is -200dBm to 200dBm"),
        ("lte.frequency=1MHz", "out of range; it is 500MHz to 100GHz"),
        ("lte.bandwidth=0Hz", "out of range; it is 1Hz to 10GHz"),
        ("lte.height=1m", "out of range; it is 1.5m to 1km"),
        ("lte.share=101%", "more than all"),
        ("lte.slot=0", "out of range; it is 1ns to 1s"),
        ("lte.harq_slots=0", "out of range; it is 1 to 100"),
        ("lte.harq_retransmissions=101", "out of range; it is 0 to 100"),
        ("lte.recovery=3601s", "out of range; it is 0ns to 3600s"),
        ("lte.radio_delay=3601s", "out of range; it is 0ns to 3600s"),
        ("height=23m", "out of range; it is 1.5m to 22.5m"),
        ("duration=0", "out of range; it is 1ns to 86400s"),
        ("step=0", "out of range; it is 1ns to 3600s"),
        ("wire_delay=3601s", "out of range; it is 0ns to 3600s"),
        ("building.height=-1m", "out of range; it is 0m to 1km"),
        ("building.walls=101", "out of range; it is 0 to 100"),
        ("lte.harq_slots=2.5", "a whole number is expected"),
        ("lte.link=cqj", 'cqi or shannon is expected; did you mean "cqi"?'),
        ("step=-1s", "negative"),
        ("step=3s", "it is a multiple of step_ns, 3000000000"),
        ("building=small", "none, or one of its parts"),
        ("building.west=30m", "it is the lower end and a higher one"),
        ("building.materials=straw:100%", "of glass, concrete, plywood or wood"),
        ("building.materials=glass:90%", "they are from 0 and add up to 1"),
    ],
)
def test_a_mistake_names_the_setting_and_what_is_accepted(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        applied(text)
    (problem,) = raised.value.problems
    assert problem.value == text
    assert message in problem.message


def test_all_mistakes_are_told_together() -> None:
    with pytest.raises(InputError) as raised:
        applied("lte.power=1", "x=1", "height=1m", "height=2m", "building=none")
    assert len(raised.value.problems) == 4
    with pytest.raises(InputError, match="its parts are set, too"):
        applied("building=none", "building.height=5m")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["lte.power=-100dBm"], "lte: the car is always out of its reach: its SINR is"),
        (["wire_delay=11s"], "lte: its delay is up to"),
        (["start.north=-5m"], "path loss is undefined on part of this route"),
    ],
)
def test_impossible_drives_are_refused(texts: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        write_scenario(applied(*texts), 1, tmp_path / "drive")
    assert list(tmp_path.iterdir()) == []


def test_the_scenario_says_what_made_it(tmp_path: Path) -> None:
    settings = ["lte.power=40dBm", "building=none"]
    *_, toml = write_scenario(applied(*settings), 3, tmp_path, settings)
    lines = toml.read_text().splitlines()
    assert lines[1:3] == ["# --set lte.power=40dBm", "# --set building=none"]
