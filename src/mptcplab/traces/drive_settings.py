# SPDX-License-Identifier: GPL-2.0-only
"""The parameters of a drive (module `radio`) as users set them: KEY=VALUE, with units.

`SETTINGS` is the only table of keys: parsing, the printed list and docs/radio.md follow it.
The keys of a cell begin with its name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mptcplab import units
from mptcplab.errors import InputError, Problem
from mptcplab.mistakes import one_of, printable, shown, suggestion
from mptcplab.traces.radio import ENVIRONMENTS, MATERIALS, Building, Cell, Drive
from mptcplab.units import NS_PER_S

_NO_BUILDING = "none"
_NUMBER = re.compile(r"\s*([-+]?[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class _Kind:
    """How a value is read and written, and in words what is accepted."""

    read: Callable[[str], Any]
    format: Callable[[Any], str]
    accepted: str
    limits: tuple[float, float] | None = None

    def between(self, low: float, high: float) -> _Kind:
        """The same in a range."""
        accepted = f"{self.format(low)} to {self.format(high)}"
        return replace(self, accepted=accepted, limits=(low, high))

    def parse(self, text: str) -> Any:
        """Raises ValueError, which says what is accepted."""
        value = self.read(text)
        if self.limits and not self.limits[0] <= value <= self.limits[1]:
            raise ValueError(f"out of range; it is {self.accepted}")
        return value


def _measure(**scales: float) -> _Kind:
    """A number, possibly negative, with one of these units; "_" stands for "/"."""
    by_unit = {unit.replace("_", "/"): scale for unit, scale in scales.items()}
    accepted = f"a number with {one_of(tuple(by_unit))}"

    def parse(text: str) -> float:
        found = _NUMBER.fullmatch(text)
        if not found:
            raise ValueError(f"{accepted} is expected")
        scale = {unit.lower(): scale for unit, scale in by_unit.items()}.get(found[2].lower())
        if scale is None:
            what = f"unknown unit {shown(found[2], 20)}" if found[2] else "no unit"
            raise ValueError(f"{what}; {accepted} is expected")
        return float(found[1]) * scale

    def write(value: float) -> str:
        # the first unit, or a larger one if the value is at least 1 in it
        fitting = [unit for unit, scale in by_unit.items() if abs(value) >= scale]
        unit = fitting[-1] if fitting else next(iter(by_unit))
        return f"{value / by_unit[unit]:.6g}{unit}"

    return _Kind(parse, write, accepted)


def _choice(*names: str) -> _Kind:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"{one_of(names)} is expected{suggestion(text, names)}")
        return text

    return _Kind(parse, str, one_of(names))


def _parse_count(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError("a whole number is expected")
    return int(text)


def _parse_materials(text: str) -> tuple[tuple[str, float], ...]:
    form = f"materials are e.g. glass:30%,plywood:70%, of {one_of(tuple(MATERIALS))}"
    found = []
    for part in text.split(","):
        name, colon, share = part.strip().partition(":")
        if not colon or name not in MATERIALS:
            raise ValueError(f"{shown(part.strip())}: {form}")
        found.append((name, units.parse_fraction(share)))
    return tuple(found)


def _format_materials(materials: Sequence[tuple[str, float]]) -> str:
    return ",".join(f"{name}:{units.format_fraction(share)}" for name, share in materials)


_LENGTH = _measure(m=1, km=1000)
_SPEED = _measure(m_s=1, km_h=1 / 3.6)
_FREQUENCY = _measure(Hz=1, kHz=1e3, MHz=1e6, GHz=1e9)
_POWER = _measure(dBm=1)
_GAIN = _measure(dBi=1)
_DECIBEL = _measure(dB=1)
_TIME = _Kind(
    lambda text: units.parse_time(text, "this"), units.format_time, "a number with ns, us, ms or s"
)
_SHARE = _Kind(units.parse_fraction, units.format_fraction, "a percentage")
_COUNT = _Kind(_parse_count, str, "a whole number")
_MATERIALS = _Kind(
    _parse_materials, _format_materials, f"shares of {one_of(tuple(MATERIALS))}, together 100%"
)


@dataclass(frozen=True)
class DriveKey:
    """A parameter: its key, and the field of `of` that it sets (element `index` of a pair).

    `sources` says where the default comes from; for a cell, that of the first and of the second.
    """

    key: str
    of: type[Drive | Building | Cell]
    field: str
    kind: _Kind
    meaning: str
    sources: tuple[str, ...]
    index: int | None = None

    def value(self, owner: Drive | Building | Cell) -> Any:
        value = getattr(owner, self.field)
        return value if self.index is None else value[self.index]


_OURS = ("ours",)
_NS3 = ("default of ns-3's mmWave module", "default of ns-3's LTE module")

SETTINGS = (
    DriveKey("start.east", Drive, "start_m", _LENGTH, "of the mast, where the car is at first",
             ("ours: past the mast at half time",), 0),
    DriveKey("start.north", Drive, "start_m", _LENGTH, "of the mast, where the car is at first",
             _OURS, 1),
    DriveKey("speed.east", Drive, "velocity_mps", _SPEED, "of the car; negative: to the west",
             ("the paper, section III",), 0),
    DriveKey("speed.north", Drive, "velocity_mps", _SPEED, "of the car; negative: to the south",
             ("the paper, section III",), 1),
    DriveKey("height", Drive, "height_ut_m", _LENGTH.between(1.5, 22.5), "of the car's antenna",
             ("TR 38.901, section 7.2",)),
    DriveKey("duration", Drive, "duration_ns", _TIME.between(1, 24 * 3600 * NS_PER_S),
             "of the drive, whole steps", ("the paper, section III",)),
    DriveKey("step", Drive, "step_ns", _TIME.between(1, 3600 * NS_PER_S),
             "how long each row of the trace holds", _OURS),
    DriveKey("wire_delay", Drive, "wire_delay_ns", _TIME.between(0, 3600 * NS_PER_S),
             "one way, from the mast to the server", _OURS),
    DriveKey("building.west", Building, "x_m", _LENGTH, "its western wall, east of the mast", _OURS,
             0),
    DriveKey("building.east", Building, "x_m", _LENGTH, "its eastern wall, east of the mast", _OURS,
             1),
    DriveKey("building.south", Building, "y_m", _LENGTH, "its southern wall, north of the mast",
             _OURS, 0),
    DriveKey("building.north", Building, "y_m", _LENGTH, "its northern wall, north of the mast",
             _OURS, 1),
    DriveKey("building.height", Building, "height_m", _LENGTH.between(0.0, 1000.0),
             "from the ground", _OURS),
    DriveKey("building.walls", Building, "walls", _COUNT.between(0, 100),
             "that a wave goes through", _OURS),
    DriveKey("building.materials", Building, "materials", _MATERIALS,
             "of a wall, with their shares", ("TR 38.901, table 7.4.3-2, low-loss model",)),
    DriveKey("environment", Cell, "environment", _choice(*ENVIRONMENTS),
             "urban micro or macro cell", _OURS),
    DriveKey("height", Cell, "height_m", _LENGTH.between(1.5, 1000.0), "of the antenna on the mast",
             _OURS),
    DriveKey("frequency", Cell, "frequency_hz", _FREQUENCY.between(0.5e9, 100e9), "of the carrier",
             _NS3),
    DriveKey("bandwidth", Cell, "bandwidth_hz", _FREQUENCY.between(1.0, 10e9),
             "that carries symbols", ("200 MHz, TS 38.101-2", "20 MHz, TS 36.101")),
    DriveKey("power", Cell, "power_dbm", _POWER.between(-200.0, 200.0), "of the transmitter", _NS3),
    DriveKey("gain_bs", Cell, "gain_bs_dbi", _GAIN.between(-200.0, 200.0),
             "of the antenna on the mast", ("64 elements, ns-3", "ns-3")),
    DriveKey("gain_ut", Cell, "gain_ut_dbi", _GAIN.between(-200.0, 200.0), "of the car's antenna",
             ("16 elements, ns-3", "ns-3")),
    DriveKey("noise_figure", Cell, "noise_figure_db", _DECIBEL.between(-200.0, 200.0),
             "of the car's receiver", ("ours", "ns-3")),
    DriveKey("blockage", Cell, "blockage", _choice("nlos", "through"), "what the building does",
             ("the paper, section IV",)),
    DriveKey("link", Cell, "link", _choice("cqi", "shannon"), "how SINR becomes bits",
             ("TS 38.214", "TR 36.942, annex A")),
    DriveKey("share", Cell, "share", _SHARE.between(0.0, 1.0),
             "of the symbols, with data for the car", ("ours, TS 38.306", "FDD")),
    DriveKey("slot", Cell, "slot_ns", _TIME.between(1, NS_PER_S), "of a block",
             ("TS 38.211", "TS 36.211")),
    DriveKey("harq_slots", Cell, "harq_slots", _COUNT.between(1, 100),
             "until a block is sent again", ("ours", "TS 36.213")),
    DriveKey("harq_retransmissions", Cell, "harq_retransmissions", _COUNT.between(0, 100),
             "of a block, at most", _OURS),
    DriveKey("recovery", Cell, "recovery_ns", _TIME.between(0, 3600 * NS_PER_S),
             "when the sight, or the cell, comes or goes", ("ours", "no beam to lose")),
    DriveKey("radio_delay", Cell, "radio_delay_ns", _TIME.between(0, 3600 * NS_PER_S),
             "one way, of the radio access", ("ITU-R M.2410-0", "ITU-R M.2134")),
)  # fmt: skip


def keys(drive: Drive) -> dict[str, tuple[str, DriveKey]]:
    """All keys of a drive, with their owner ("", "building" or a cell's name) and setting."""
    found = {
        each.key: ("building" if each.of is Building else "", each)
        for each in SETTINGS
        if each.of is not Cell
    }
    for cell in drive.cells:
        found |= {
            f"{cell.name}.{each.key}": (cell.name, each) for each in SETTINGS if each.of is Cell
        }
    return found


def _put(changes: dict[str, Any], setting: DriveKey, value: Any, owner: Any) -> None:
    """Add a value to the changes of its owner; some values are one element of a pair."""
    if setting.index is None:
        changes[setting.field] = value
        return
    pair = list(changes.get(setting.field, getattr(owner, setting.field)))
    pair[setting.index] = value
    changes[setting.field] = tuple(pair)


def apply(drive: Drive, texts: Sequence[str]) -> Drive:
    """The drive with KEY=VALUE texts applied; `building=none` removes the building.

    Raises InputError with every mistake in them.
    """
    known = keys(drive)
    problems: list[Problem] = []
    changes: dict[str, dict[str, Any]] = defaultdict(dict)
    given: dict[str, str] = {}
    building = drive.building or Building()

    def refuse(text: str, message: str) -> None:
        problems.append(Problem("--set", "", printable(text), message))

    for text in texts:
        key, _, value = (part.strip() for part in text.partition("="))
        try:
            if key in given:
                raise ValueError(f"{key} is given twice")
            given[key] = text
            if not value:
                raise ValueError("a setting is KEY=VALUE, e.g. lte.power=40dBm")
            if key == "building":
                if value != _NO_BUILDING:
                    parts = "one of its parts, e.g. building.height=20m"
                    raise ValueError(f"{_NO_BUILDING}, or {parts}")
            elif key not in known:
                near = suggestion(key, list(known)) or ";"
                raise ValueError(f"unknown key{near} mptcplab scenario drive --list lists all")
            else:
                of, setting = known[key]
                owner = building if of == "building" else drive
                _put(changes[of], setting, setting.kind.parse(value), owner)
        except ValueError as error:
            refuse(text, str(error))
    if "building" in given and "building" in changes:
        refuse(given["building"], "its parts are set, too; leave out one of the two")
    if problems:
        raise InputError(problems)

    def changed(owner: Any, of: str) -> Any:
        try:
            return replace(owner, **changes.get(of, {}))
        except ValueError as error:
            # values that do not go together; each is accepted on its own
            mine = [text for key, text in given.items() if key in known and known[key][0] == of]
            refuse(", ".join(mine), str(error))
            return owner

    cells = tuple(changed(cell, cell.name) for cell in drive.cells)
    house = None if "building" in given else changed(building, "building")
    made: Drive = changed(replace(drive, cells=cells, building=house), "")
    if problems:
        raise InputError(problems)
    return made


def listing(drive: Drive) -> str:
    """All parameters: their values in this drive, the accepted range, meaning and source."""
    owners: Mapping[str, Drive | Building | Cell] = {
        "": drive,
        "building": drive.building or Building(),
        **{cell.name: cell for cell in drive.cells},
    }
    names = [cell.name for cell in drive.cells]
    lines = []
    for key, (of, setting) in keys(drive).items():
        number = names.index(of) if of in names else 0
        source = setting.sources[min(number, len(setting.sources) - 1)]
        value = setting.kind.format(setting.value(owners[of]))
        lines.append(f"{key}={value}  ({setting.kind.accepted})")
        lines.append(f"    {setting.meaning}; source: {source}")
    return "\n".join(lines)
