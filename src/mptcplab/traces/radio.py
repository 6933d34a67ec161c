# SPDX-License-Identifier: GPL-2.0-only
"""A drive past a mast with a mmWave 5G and an LTE cell: rate and delay of both over time.

The scenario is that of Mahmud and Cho, "Performance of Multipath TCP Schedulers in Concurrent Use
of 5G and 4G Networks" (2022), section III: both base stations on one mast, a car that passes at
60 km/h from the south-east to the south-west, and a house that blocks the line of sight for a
while. docs/radio.md lists the source of every formula and default, and what is not modelled.
x points east, y north, z up, in metres; the mast is at the origin. Losses and gains are in dB,
powers in dBm. Shadowing is a loss: positive is weaker. Only shadowing is random; each cell has a
random stream of its own, determined by the seed and the cell's name. Module `drive_settings` checks
the range of each parameter; values that do not fit together raise ValueError here.

"TR 38.901" is 3GPP's, version 19.4; its `hBS` and `hUT` are the heights of base station and car.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from mptcplab import units
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.traces.link_trace import MAX_DELAY_NS, MIN_RATE_BPS
from mptcplab.units import NS_PER_MS, NS_PER_S

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


# TR 38.901, table 7.4.1-1, note 1: the speed of light there is 3.0e8 m/s, the effective height of
# the environment 1 m for UMi, and for UMa below a height of 13 m (it is random above).
_LIGHT_M_PER_S = 3.0e8
_ENVIRONMENT_HEIGHT_M = 1.0

# Boltzmann's constant times 290 K, per Hz, as 3GPP rounds it (TR 36.942, TR 38.901 section 7.8).
_THERMAL_NOISE_DBM_PER_HZ = -174.0

# TR 38.901, table 7.4.3-1: loss of a wall in dB, a + b x frequency in GHz.
MATERIALS: Mapping[str, tuple[float, float]] = {
    "glass": (2.0, 0.2),
    "concrete": (5.0, 4.0),
    "plywood": (1.03, 0.17),
    "wood": (4.85, 0.12),
}

# TS 38.214, table 5.2.2.1-2 (that of LTE is the same: TS 36.213, table 7.2.3-1): bits per symbol
# of CQI 1 to 15.
CQI_EFFICIENCY = (
    *(0.1523, 0.2344, 0.3770, 0.6016, 0.8770),
    *(1.1758, 1.4766, 1.9141, 2.4063, 2.7305),
    *(3.3223, 3.9023, 4.5234, 5.1152, 5.5547),
)
# The standard does not say which SINR a CQI needs. As in ns-3's LTE module we follow Piro et al.,
# "A two-level scheduling algorithm for QoS support in the downlink of LTE cellular networks"
# (European Wireless 2010): the gap to Shannon's bound for uncoded QAM at this bit error rate.
_CQI_BIT_ERROR_RATE = 5e-5
SNR_GAP = -math.log(5 * _CQI_BIT_ERROR_RATE) / 1.5
CQI_THRESHOLD_DB: Floats = 10 * np.log10(SNR_GAP * (2.0 ** np.array(CQI_EFFICIENCY) - 1))

# TR 36.942, annex A, downlink.
_SHANNON_FACTOR = 0.6
_SHANNON_MIN_DB = -10.0
_SHANNON_MAX_EFFICIENCY = 4.4
# Where the bound reaches its maximum: 0.6 log2(1 + SINR) = 4.4.
_SHANNON_MAX_DB = 10 * math.log10(2 ** (_SHANNON_MAX_EFFICIENCY / _SHANNON_FACTOR) - 1)

# TS 38.214, section 5.2.2.1: a CQI promises a block error rate of at most 0.1. How fast it falls
# with additional SINR is our choice: a decade per dB, about as steep as turbo and LDPC codes.
_TARGET_BLOCK_ERROR_RATE = 0.1
_WATERFALL_DB_PER_DECADE = 1.0


@dataclass(frozen=True)
class Building:
    """A box with vertical walls, parallel to the axes, on the ground.

    The paper mentions "a building", also "the house", between mast and road. Its place and size
    are ours: halfway to the road, and wide enough to hide 8.4 s of 20 s. Any height from 6.6 m
    hides the same. A wave that goes through it crosses `walls` walls of the materials (whose shares
    add up to 1): those of the low-loss model A of TR 38.901, table 7.4.3-2.
    """

    x_m: tuple[float, float] = (-28.0, 28.0)
    y_m: tuple[float, float] = (-60.0, -40.0)
    height_m: float = 10.0
    walls: int = 2
    materials: tuple[tuple[str, float], ...] = (("glass", 0.3), ("plywood", 0.7))

    def __post_init__(self) -> None:
        for name, (low, high) in (("x_m", self.x_m), ("y_m", self.y_m)):
            if low >= high:
                raise ValueError(f"{name} is {(low, high)}; it is the lower end and a higher one")
        wall_loss(1e9, self.materials)


@dataclass(frozen=True)
class Cell:
    """A base station, and what the car needs to receive it.

    `environment` selects the path loss and shadowing of TR 38.901. `blockage` says what a building
    in the line of sight does: "nlos" is the standard's loss without line of sight, "through" the
    loss with it plus that of the walls. `link` says how SINR becomes bits: "cqi" or "shannon".
    `share` is the fraction of symbols that carry data for the car.

    HARQ sends a failed block again `harq_slots` later, at most `harq_retransmissions` times.
    `recovery_ns` is how long nothing arrives after the line of sight, or the cell, comes or goes.
    `radio_delay_ns` is the one-way delay of the radio access without these.
    """

    name: str
    frequency_hz: float
    bandwidth_hz: float
    power_dbm: float
    gain_bs_dbi: float
    gain_ut_dbi: float
    noise_figure_db: float
    blockage: Literal["nlos", "through"]
    link: Literal["cqi", "shannon"]
    share: float
    slot_ns: int
    harq_slots: int
    harq_retransmissions: int
    recovery_ns: int
    radio_delay_ns: int
    height_m: float = 10.0
    environment: Literal["umi", "uma"] = "umi"


# The paper names the technology (mmWave module of ns-3.33) but no numbers. docs/radio.md has the
# sources in full.
MMWAVE = Cell(
    name="5g-mmwave",
    frequency_hz=28e9,  # default of ns-3's mmWave module
    bandwidth_hz=132 * 12 * 120e3,  # that module's 200 MHz, as TS 38.101-2 table 5.3.2-1 fills it
    power_dbm=30.0,  # default of ns-3's mmWave module
    gain_bs_dbi=10 * math.log10(64),  # 8 x 8 isotropic elements, beam on the car: that module's
    gain_ut_dbi=10 * math.log10(16),  # 4 x 4, likewise
    noise_figure_db=9.0,  # ours: that of ns-3's LTE terminals
    blockage="nlos",  # the paper, section IV: mmWave cannot easily penetrate the house
    link="cqi",
    share=0.75 * (1 - 0.18),  # ours, 3 of 4 slots are downlink; overhead: TS 38.306, section 4.1.2
    slot_ns=125_000,  # 120 kHz subcarriers: TS 38.211, table 4.3.2-1
    harq_slots=8,  # ours: 1 ms; TS 38.214 section 5.1 has up to 16 processes
    harq_retransmissions=3,  # ours: each of the four redundancy versions once
    recovery_ns=40 * NS_PER_MS,  # ours: two periods of 20 ms (TS 38.213, section 4.1), see radio.md
    radio_delay_ns=4 * NS_PER_MS,  # ITU-R M.2410-0, section 4.7.1, eMBB
)
LTE = Cell(
    name="lte",
    frequency_hz=2.12e9,  # default of ns-3's LTE module: EARFCN 100
    bandwidth_hz=100 * 12 * 15e3,  # ours, 20 MHz, the widest: TS 36.101, table 5.6-1
    power_dbm=30.0,  # default of ns-3's LTE module
    gain_bs_dbi=0.0,  # likewise: isotropic
    gain_ut_dbi=0.0,  # likewise
    noise_figure_db=9.0,  # likewise
    blockage="through",  # the paper, section IV: LTE easily penetrates the house
    link="shannon",
    share=1.0,  # FDD; the bound of TR 36.942 is of measured throughput, overhead included
    slot_ns=NS_PER_MS,  # a subframe: TS 36.211, section 4.1
    harq_slots=8,  # FDD: TS 36.213, section 7
    harq_retransmissions=3,  # ours: each of the four redundancy versions once
    recovery_ns=0,  # no beam to lose
    radio_delay_ns=10 * NS_PER_MS,  # ITU-R M.2134, section 4.5.2
)


@dataclass(frozen=True)
class Drive:
    """The route of the car, the cells on the mast at the origin, and the building in between.

    `start_m` and `velocity_mps` are (east, north). Without a building there is always a line of
    sight. `wire_delay_ns` is the one-way delay from the mast to the server.
    """

    cells: tuple[Cell, ...] = (MMWAVE, LTE)
    building: Building | None = field(default_factory=Building)
    # Ours: the road is 100 m south of the mast; the car passes the mast halfway through the drive.
    start_m: tuple[float, float] = (500 / 3, -100.0)
    velocity_mps: tuple[float, float] = (-50 / 3, 0.0)  # the paper, section III: 60 km/h, westwards
    height_ut_m: float = 1.5  # TR 38.901, section 7.2
    duration_ns: int = 20 * NS_PER_S  # the paper, section III
    step_ns: int = 100 * NS_PER_MS  # ours: 1.67 m, a sixth of the shortest correlation distance
    wire_delay_ns: int = 5 * NS_PER_MS  # ours

    def __post_init__(self) -> None:
        if self.duration_ns % self.step_ns:
            raise ValueError(
                f"duration_ns is {self.duration_ns}; it is a multiple of step_ns, {self.step_ns}"
            )


@dataclass(frozen=True)
class RadioTrace:
    """What one cell offers the car, in n steps of equal length; each row holds until the next.

    `position_m` is (n, 2), east and north of the mast; all others are (n,). `distance_m` is along
    the line of sight, antenna to antenna. `path_loss_db` excludes shadowing. `delay_ns` is the
    whole one-way delay from the server to the car, without queueing. While `rate_bps` is 0 the
    cell is out of reach.
    """

    time_ns: Integers
    position_m: Floats
    los: Booleans
    distance_m: Floats
    path_loss_db: Floats
    shadowing_db: Floats
    sinr_db: Floats
    rate_bps: Integers
    delay_ns: Integers


class Shadowing(NamedTuple):
    """Standard deviation and correlation distance of shadowing."""

    deviation_db: float
    correlation_m: float


class Environment(NamedTuple):
    """Path loss and shadowing of one environment, with line of sight and without.

    `los_db`: at 1 m and 1 GHz, per decade of distance, and per decade less beyond the breakpoint.
    `nlos_db`: the first two likewise, per decade of frequency, and less per metre of the car's
    height above 1.5 m. The table holds up to a height of the car of `highest_ut_m`.
    """

    los_db: tuple[float, float, float]
    nlos_db: tuple[float, float, float, float]
    highest_ut_m: float
    shadowing_los: Shadowing
    shadowing_nlos: Shadowing


# TR 38.901: path loss and deviations, table 7.4.1-1 (not the optional formulas); correlation
# distances, table 7.5-6. Urban micro cells (street canyon) are for a base station at 10 m, urban
# macro cells at 25 m; for these, above a height of 13 m, the breakpoint is random.
ENVIRONMENTS: Mapping[str, Environment] = {
    "umi": Environment(
        (32.4, 21.0, 9.5),
        (22.4, 35.3, 21.3, 0.3),
        22.5,
        Shadowing(4.0, 10.0),
        Shadowing(7.82, 13.0),
    ),
    "uma": Environment(
        (28.0, 22.0, 9.0),
        (13.54, 39.08, 20.0, 0.6),
        13.0,
        Shadowing(4.0, 37.0),
        Shadowing(6.0, 50.0),
    ),
}


def drive(scenario: Drive, seed: int) -> dict[str, RadioTrace]:
    """The trace of each cell by its name, for one seed (a whole number from 0).

    A cell's trace does not depend on other cells. Raises ValueError where path loss is undefined:
    if the car comes closer than 10 m to the mast, or goes farther than 5 km.
    """
    steps = scenario.duration_ns // scenario.step_ns
    time_ns = np.arange(steps, dtype=np.int64) * scenario.step_ns
    velocity_mps = np.array(scenario.velocity_mps)
    position_m = np.array(scenario.start_m) + np.outer(time_ns / NS_PER_S, velocity_mps)
    return {cell.name: _trace(scenario, cell, time_ns, position_m, seed) for cell in scenario.cells}


def write_csv(trace: RadioTrace, path: Path) -> None:
    """Writes the columns time_s, rate_bps, delay_ms, sinr_db: a row per step, times exact.

    The SINR is rounded to a thousandth of a dB; it is only for the reader.
    """
    columns = (trace.time_ns, trace.rate_bps, trace.delay_ns, trace.sinr_db)
    rows = (
        f"{_decimal(time_ns, NS_PER_S)},{rate_bps},{_decimal(delay_ns, NS_PER_MS)},{sinr_db:.3f}"
        for time_ns, rate_bps, delay_ns, sinr_db in zip(*(c.tolist() for c in columns), strict=True)
    )
    text = "\n".join(["time_s,rate_bps,delay_ms,sinr_db", *rows])
    path.write_text(f"{text}\n", encoding="ascii")


def write_scenario(
    drive_: Drive, seed: int, directory: Path, settings: Sequence[str] = ()
) -> list[Path]:
    """Writes a drive as NAME.csv per cell, and drive.toml, a scenario with a path for each.

    drive.toml lists `settings` as the origin of the drive. Returns the files. Raises InputError,
    and writes nothing, if one of them exists, the directory cannot be created, or a cell cannot
    become a path.
    """
    try:
        traces = drive(drive_, seed)
    except ValueError as error:
        message = f"path loss is undefined on part of this route: {error}"
        raise InputError([Problem("scenario drive", "", "", message)]) from None
    unusable = [
        Problem("scenario drive", "", name, why)
        for name, trace in traces.items()
        for why in _why_unusable(trace)
    ]
    if unusable:
        raise InputError(unusable)
    toml = directory / "drive.toml"
    files = [*(directory / f"{name}.csv" for name in traces), toml]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot create the directory: {error.strerror or error}"
        raise InputError([Problem("scenario drive", "", str(directory), message)]) from None
    there = [file for file in files if file.exists()]
    if there:
        message = "exists already; nothing was written"
        raise InputError([Problem("scenario drive", "", str(file), message) for file in there])
    paths = "".join(f'[[path]]\nname = "{name}"\ntrace = "{name}.csv"\n\n' for name in traces)
    text = (
        f"# A drive past {len(traces)} cells, with the shadowing of seed {seed}.\n"
        + "".join(f"# --set {setting}\n" for setting in settings)
        + f"\n{paths}"
        f'[workload]\nduration = "{units.format_time(drive_.duration_ns)}"\nwarmup = "0s"\n'
    )
    try:
        for file, trace in zip(files, traces.values(), strict=False):
            write_csv(trace, file)
        toml.write_text(text, encoding="ascii")
    except OSError as error:
        for file in files:
            file.unlink(missing_ok=True)
        raise MptcplabError(f"cannot write to {directory}: {error.strerror or error}") from error
    return files


def _why_unusable(trace: RadioTrace) -> Iterator[str]:
    if trace.rate_bps.max() < MIN_RATE_BPS:
        low, high = trace.sinr_db.min(), trace.sinr_db.max()
        yield f"the car is always out of its reach: its SINR is {low:.0f} to {high:.0f} dB"
    if trace.delay_ns.max() > MAX_DELAY_NS:
        longest = units.format_time(int(trace.delay_ns.max()))
        yield f"its delay is up to {longest}; a path has at most {units.format_time(MAX_DELAY_NS)}"


def has_line_of_sight(
    building: Building | None, position_m: npt.ArrayLike, height_bs_m: float, height_ut_m: float
) -> Booleans:
    """Whether the building is clear of the straight line from the mast to each position.

    `position_m` is (n, 2), the result (n,). The line from (0, 0, height_bs_m) to (x, y,
    height_ut_m) is intersected with the three slabs that make up the box; a line that only touches
    a wall or an edge is not blocked. Diffraction and Fresnel zones are not modelled.
    """
    position = np.asarray(position_m, dtype=np.float64)
    if building is None:
        return np.ones(len(position), dtype=np.bool_)
    origins = (0.0, 0.0, height_bs_m)
    ends = (position[:, 0], position[:, 1], np.full(len(position), height_ut_m))
    slabs = (building.x_m, building.y_m, (0.0, building.height_m))
    enters, leaves = np.zeros(len(position)), np.ones(len(position))
    for origin, end, (low, high) in zip(origins, ends, slabs, strict=True):
        span = end - origin
        level = span == 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a, b = (low - origin) / span, (high - origin) / span
        inside = low < origin < high
        enters = np.maximum(enters, np.where(level, 0.0 if inside else 1.0, np.minimum(a, b)))
        leaves = np.minimum(leaves, np.where(level, 1.0 if inside else 0.0, np.maximum(a, b)))
    blocked: Booleans = enters < leaves
    return ~blocked


def breakpoint_distance(frequency_hz: float, height_bs_m: float, height_ut_m: float) -> float:
    """Horizontal distance, in m, beyond which path loss with line of sight grows faster.

    TR 38.901, table 7.4.1-1, note 1: d'BP = 4 h'BS h'UT fc / c, heights less 1 m.
    """
    effective_bs_m = height_bs_m - _ENVIRONMENT_HEIGHT_M
    effective_ut_m = height_ut_m - _ENVIRONMENT_HEIGHT_M
    return 4 * effective_bs_m * effective_ut_m * frequency_hz / _LIGHT_M_PER_S


def path_loss_los(
    environment: Environment,
    distance_2d_m: npt.ArrayLike,
    frequency_hz: float,
    height_bs_m: float,
    height_ut_m: float,
) -> Floats:
    """Path loss in dB with line of sight, of the shape of the horizontal distances.

    Frequencies are from 0.5 to 100 GHz. Raises ValueError if table 7.4.1-1 does not cover the car's
    height, or the distances, from 10 m to 5 km.
    """
    d_m = np.asarray(distance_2d_m, dtype=np.float64)
    outside = d_m[~((d_m >= 10) & (d_m <= 5000))]
    if outside.size:
        raise ValueError(f"distance_2d_m is {outside.flat[0]}; it is from 10 to 5000 m")
    if height_ut_m > environment.highest_ut_m:
        highest = f"{environment.highest_ut_m:g}"
        raise ValueError(f"height_ut_m is {height_ut_m}; it is from 1.5 to {highest}")
    constant_db, slope_db, beyond_db = environment.los_db
    d3d_m = _distance_3d(d_m, height_bs_m, height_ut_m)
    breakpoint_m = breakpoint_distance(frequency_hz, height_bs_m, height_ut_m)
    free_db = constant_db + 20 * math.log10(frequency_hz / 1e9)
    near_db = free_db + slope_db * np.log10(d3d_m)
    # beyond the breakpoint it starts where it ends before
    turn_db = beyond_db * math.log10(breakpoint_m**2 + (height_bs_m - height_ut_m) ** 2)
    far_db = free_db + 40 * np.log10(d3d_m) - turn_db
    return np.where(d_m <= breakpoint_m, near_db, far_db)


def path_loss_nlos(
    environment: Environment,
    distance_2d_m: npt.ArrayLike,
    frequency_hz: float,
    height_bs_m: float,
    height_ut_m: float,
) -> Floats:
    """Path loss in dB without line of sight, at least that with it; ranges as path_loss_los."""
    los = path_loss_los(environment, distance_2d_m, frequency_hz, height_bs_m, height_ut_m)
    constant_db, slope_db, frequency_db, height_db = environment.nlos_db
    d3d_m = _distance_3d(distance_2d_m, height_bs_m, height_ut_m)
    frequency_db *= math.log10(frequency_hz / 1e9)
    nlos = constant_db + slope_db * np.log10(d3d_m) + frequency_db - height_db * (height_ut_m - 1.5)
    return np.maximum(los, nlos)


def wall_loss(frequency_hz: float, materials: tuple[tuple[str, float], ...]) -> float:
    """Loss in dB of one wall of several materials (name, share of the area).

    TR 38.901, eq. 7.4-3 and table 7.4.3-1, without its PL_npi of 5 dB for oblique incidence: the
    line of sight passes nearly straight through. Raises ValueError if shares do not add up to 1.
    """
    shares = [share for _, share in materials]
    if not math.isclose(sum(shares), 1.0):
        raise ValueError(f"shares of materials are {shares}; they are from 0 and add up to 1")
    passed = 0.0
    for name, share in materials:
        constant, slope = MATERIALS[name]
        passed += share * 10 ** (-(constant + slope * frequency_hz / 1e9) / 10)
    return -10 * math.log10(passed)


def shadowing(steps: int, step_m: float, kind: Shadowing, generator: np.random.Generator) -> Floats:
    """Shadowing in dB, (steps,), at places `step_m` apart along the route.

    Gaussian with mean 0 and the deviation of `kind`; the correlation of two places falls
    exponentially with their distance (TR 38.901, section 7.4.4, eq. 7.4-5): a first-order
    autoregression that starts in its stationary state. Takes `steps` numbers from the generator,
    so a longer route begins like a shorter one.
    """
    correlation = math.exp(-step_m / kind.correlation_m)
    values = generator.standard_normal(steps)
    values[1:] *= math.sqrt(1 - correlation**2)
    for k in range(1, steps):
        values[k] += correlation * values[k - 1]
    return kind.deviation_db * values


def noise_dbm(bandwidth_hz: float, noise_figure_db: float) -> float:
    """Thermal noise in a bandwidth at 290 K plus the receiver's noise figure, in dBm."""
    return _THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(bandwidth_hz) + noise_figure_db


def cqi(sinr_db: npt.ArrayLike) -> Integers:
    """The highest CQI, 1 to 15, for which each SINR is enough; 0 if it is not enough for any.

    A CQI with e bits per symbol needs gap x (2^e - 1), gap = -ln(5 BER) / 1.5 and BER 5e-5.
    """
    return np.searchsorted(CQI_THRESHOLD_DB, np.asarray(sinr_db), side="right").astype(np.int64)


def efficiency_cqi(sinr_db: npt.ArrayLike) -> Floats:
    """Bits per symbol, of the shape of `sinr_db`: TS 38.214, table 5.2.2.1-2, by `cqi`."""
    return np.array((0.0, *CQI_EFFICIENCY))[cqi(sinr_db)]


def efficiency_shannon(sinr_db: npt.ArrayLike) -> Floats:
    """Bits per second and Hz, of the shape of `sinr_db`: the truncated bound of TR 36.942, annex A.

    0.6 log2(1 + SINR); 0 below -10 dB, and never more than 4.4.
    """
    sinr = np.asarray(sinr_db, dtype=np.float64)
    # Clipped first, since a high SINR would overflow.
    bound = _SHANNON_FACTOR * np.log2(1 + 10 ** (np.minimum(sinr, _SHANNON_MAX_DB) / 10))
    bound = np.where(sinr >= _SHANNON_MAX_DB, _SHANNON_MAX_EFFICIENCY, bound)
    return np.where(sinr < _SHANNON_MIN_DB, 0.0, bound)


def block_error_rate(margin_db: npt.ArrayLike) -> Floats:
    """Fraction of blocks that fail, by the margin of the SINR over what the code needs.

    0.1 without margin, the target of link adaptation (TS 38.214, section 5.2.2.1), and a tenth of
    that with each further dB (ours). A negative margin counts as none: nothing is sent then.
    """
    margin = np.maximum(np.asarray(margin_db, dtype=np.float64), 0.0)
    return _TARGET_BLOCK_ERROR_RATE * 10 ** (-margin / _WATERFALL_DB_PER_DECADE)


def harq_delay_slots(error_rate: npt.ArrayLike, round_slots: int, retransmissions: int) -> Floats:
    """Mean time, in slots, that a block waits for retransmissions: its own and of those before it.

    A block is sent in every slot. One that fails, each time with probability p, is sent again
    `round_slots` (N) later, at most `retransmissions` (K) times; then it has arrived. Blocks are
    delivered in order (RLC: TS 36.322; PDCP: TS 38.323). The block of j slots ago, with r_j
    retransmissions, arrives in N r_j - j slots, so a block waits W = max(0, N r_j - j over all j).
    P(r_j >= k) = p^k implies P(W <= w) = prod over m from w to NK - 1 of 1 - p^(m // N + 1), and
    the mean is the sum of P(W > w) over w.

    `error_rate` has any shape, which the result has, too; rates are from 0 to 1.
    """
    p = np.asarray(error_rate, dtype=np.float64)
    exponents = np.arange(round_slots * retransmissions) // round_slots + 1
    in_time = 1 - p[..., np.newaxis] ** exponents
    no_later = np.cumprod(in_time[..., ::-1], axis=-1)
    total: Floats = np.sum(1 - no_later, axis=-1)
    return total


def recovery_delay_ns(time_ns: Integers, changed: Booleans, recovery_ns: int) -> Integers:
    """How long data that arrives at each time waits for the link to recover: (n,), in ns.

    Nothing arrives for `recovery_ns` after a change, so the wait is the rest of that.
    """
    last_change_ns = np.maximum.accumulate(np.where(changed, time_ns, -recovery_ns))
    return np.maximum(last_change_ns + recovery_ns - time_ns, 0)


def _trace(
    scenario: Drive, cell: Cell, time_ns: Integers, position_m: Floats, seed: int
) -> RadioTrace:
    los = has_line_of_sight(scenario.building, position_m, cell.height_m, scenario.height_ut_m)
    path_loss_db = _path_loss(scenario, cell, position_m, los)
    step_m = math.hypot(*scenario.velocity_mps) * scenario.step_ns / NS_PER_S
    shadowing_db = _shadowing(cell, los, step_m, seed)
    received_dbm = cell.power_dbm + cell.gain_bs_dbi + cell.gain_ut_dbi - path_loss_db
    sinr_db = received_dbm - shadowing_db - noise_dbm(cell.bandwidth_hz, cell.noise_figure_db)
    efficiency = (efficiency_cqi if cell.link == "cqi" else efficiency_shannon)(sinr_db)
    rate_bps = np.floor(efficiency * cell.bandwidth_hz * cell.share).astype(np.int64)
    return RadioTrace(
        time_ns=time_ns.copy(),
        position_m=position_m.copy(),
        los=los,
        distance_m=_distance_3d(
            np.hypot(position_m[:, 0], position_m[:, 1]), cell.height_m, scenario.height_ut_m
        ),
        path_loss_db=path_loss_db,
        shadowing_db=shadowing_db,
        sinr_db=sinr_db,
        rate_bps=rate_bps,
        delay_ns=_delay(scenario, cell, time_ns, los, sinr_db, rate_bps),
    )


def _path_loss(scenario: Drive, cell: Cell, position_m: Floats, los: Booleans) -> Floats:
    environment = ENVIRONMENTS[cell.environment]
    distance_2d_m = np.hypot(position_m[:, 0], position_m[:, 1])
    ends = (cell.frequency_hz, cell.height_m, scenario.height_ut_m)
    clear = path_loss_los(environment, distance_2d_m, *ends)
    if scenario.building is None:
        return clear
    if cell.blockage == "through":
        building = scenario.building
        blocked = clear + building.walls * wall_loss(cell.frequency_hz, building.materials)
    else:
        blocked = path_loss_nlos(environment, distance_2d_m, *ends)
    return np.where(los, clear, blocked)


def _shadowing(cell: Cell, los: Booleans, step_m: float, seed: int) -> Floats:
    """Shadowing with and without line of sight: two independent processes (ours).

    Both are drawn for the whole route, so moving the building only changes which one counts. A
    wave that goes through the building has the shadowing of the line of sight.
    """
    environment = ENVIRONMENTS[cell.environment]
    kinds = (environment.shadowing_los, environment.shadowing_nlos)
    clear, blocked = (
        shadowing(len(los), step_m, kind, _generator(seed, cell.name, state))
        for state, kind in enumerate(kinds)
    )
    return clear if cell.blockage == "through" else np.where(los, clear, blocked)


def _delay(
    scenario: Drive,
    cell: Cell,
    time_ns: Integers,
    los: Booleans,
    sinr_db: Floats,
    rate_bps: Integers,
) -> Integers:
    if cell.link == "cqi":
        needed_db = CQI_THRESHOLD_DB[np.maximum(cqi(sinr_db), 1) - 1]
    else:
        # Link adaptation without steps has a margin only above its maximum.
        needed_db = np.minimum(sinr_db, _SHANNON_MAX_DB)
    slots = harq_delay_slots(
        block_error_rate(sinr_db - needed_db), cell.harq_slots, cell.harq_retransmissions
    )
    reachable = rate_bps > 0
    changed = np.zeros(len(los), dtype=np.bool_)
    changed[1:] = (los[1:] != los[:-1]) | (reachable[1:] != reachable[:-1])
    return (
        np.rint(slots * cell.slot_ns).astype(np.int64)
        + recovery_delay_ns(time_ns, changed, cell.recovery_ns)
        + cell.radio_delay_ns
        + scenario.wire_delay_ns
    )


def _generator(seed: int, cell: str, state: int) -> np.random.Generator:
    """A random stream of one cell alone; `state` is 0 with and 1 without line of sight."""
    sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(cell.encode()), state))
    return np.random.Generator(np.random.PCG64(sequence))


def _distance_3d(distance_2d_m: npt.ArrayLike, height_bs_m: float, height_ut_m: float) -> Floats:
    distance: Floats = np.hypot(distance_2d_m, height_bs_m - height_ut_m)
    return distance


def _decimal(value: int, scale: int) -> str:
    """value / scale, a power of ten, exactly and without trailing zeros."""
    whole, rest = divmod(value, scale)
    digits = f"{rest:0{len(str(scale)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
