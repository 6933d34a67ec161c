# SPDX-License-Identifier: GPL-2.0-only
"""The scenarios of the leaderboard: sets, each drawn by a seed, that fill the space evenly.

Schedulers are designed on `training`, and compared on `judged`, whose results nobody looks at while
designing. A user's own seed draws another set. A set is a pure function of its name or seed: points
of Sobol's sequence, scrambled by the seed, of which fewer are a prefix of more. Whoever changes a
range, a share or a preset here makes other sets, with which results of before cannot be compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mptcplab.formulas import designs
from mptcplab.formulas.designs import Point, Range
from mptcplab.leaderboard import SIZE, Name, Set
from mptcplab.plan import timeline
from mptcplab.scenario import presets, resolve, scheduler
from mptcplab.scenario.limits import DIRECTIONS, PACKET_BYTES, Direction
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request
from mptcplab.scenario.scheduler import Scheduler

T = TypeVar("T")

# The seed of the design, and the one before that of the first run: each scenario has its own.
_SEEDS: Mapping[Name, tuple[int, int]] = {"training": (1, 0), "judged": (2, 10_000)}
# The seed before that of the first run of any other set.
_BEFORE_OTHERS = 15_000
# So far apart are the seeds of further runs of a scenario: beyond those of all sets.
_FURTHER_SEED = 20_000

#: Presets that are paths of a set, each with the time in s that a run with it lasts at least: long
#: enough to see what the link does over time. Left out are those beyond the ranges below.
PRESETS: Mapping[str, int] = {
    "wifi": 3,
    "lte": 3,
    "5g-sub6": 3,
    "starlink": 3,
    "dsl": 3,
    "fibre": 3,
    "starlink-steps": 20,  # each 15 s another rate and delay
    "lte-bloated": 12,  # each 5 s another rate
    "wifi-busy": 6,  # each second another one
}
_PRESET_SHARE = 0.25

RATE_MBPS = Range(0.5, 500, "log")
RTT_MS = Range(5, 600, "log")
#: Of packets that wait, in bandwidth-delay products; never more than LONGEST_QUEUE_S takes to send.
QUEUE_PRODUCTS = Range(0.25, 8, "log")
LONGEST_QUEUE_S = 2.0
_LEAST_QUEUE = 10  # packets: an initial window
#: In two thirds of the paths that are no presets; half of them lose packets in bursts.
LOSS_PERCENT = Range(0.01, 1, "log")
_NO_LOSS, _ONE_BY_ONE = 1 / 3, 2 / 3
BURST_PACKETS = Range(2, 20, "log")
#: Half of the connections have the kernel's autotuning.
BUFFER_KIB = Range(64, 4096, "log")
_AUTOMATIC = 0.5
#: The load of a stream, requests, frames or a video, as a share of the capacity of all paths.
LOAD = Range(0.1, 0.7)

# With a single path schedulers must do no harm; nearly all who bond links have two.
_PATHS = {1: 0.05, 2: 0.55, 3: 0.25, 4: 0.15}
_CCS = {"cubic": 0.4, "bbr": 0.3, "lia": 0.3}
_SIDES: Mapping[Direction, float] = {"down": 0.75, "up": 0.25}
_STARTS = {"at-once": 2 / 3, "established": 1 / 3}
#: The workloads: seven kinds, and transfers of two kinds, long ones and short ones, each of which
#: opens a connection. Only bulk data measures goodput.
BULK, LONG, SHORT = "bulk", "transfers", "short transfers"
WORKLOADS = {
    BULK: 0.3,
    **dict.fromkeys(("cbr", "requests", LONG, SHORT, "web", "video", "frames"), 0.1),
}

# Bulk data is sent for 40 round trips of the slowest path, but 6 to 12 s, since congestion control
# needs some 10 to fill a path; for less, down to 20 and 3 s, where this would be more packets than
# these: at 2.5 us each (runs/cost.py) they take 0.6 s of CPU time.
_RTTS, _FEWEST_RTTS = 40, 20
_WANTED_S, _SHORTEST_S, _LONGEST_S = 6.0, 3.0, 12.0
_MOST_PACKETS = 240_000
# Streams last for 20 round trips, too, and for so many messages that a 99th percentile has some
# beyond it: 10 s of blocks each 25 ms, or of requests each 40 ms in the mean, are 400 and 250.
_STREAM_S, _BLOCK_S, _REQUEST_S = 10.0, 0.025, 0.04
_MOST_STREAM_BPS = 20e6
_RESPONSE_BYTES = Range(200, 32_000, "log")
# 20 transfers, one after another, each no longer than this takes with all that the paths can carry
_TRANSFERS = 20
_LONG_BYTES, _LONGEST_LONG_S = Range(20_000, 2_000_000, "log"), 2.0
_SHORT_BYTES, _LONGEST_SHORT_S = Range(5_000, 200_000, "log"), 0.5
_VIDEO_S, _VIDEO_BPS, _FRAMES_BPS = 60, (400e3, 10e6), (100e3, 8e6)
# 150 ms, as by default, and the delay of the path with the least: no scheduler can save that.
_DEADLINE_MS = 150

_PATH_RANGES = {
    "kind": Range(0, 1),
    "rate": RATE_MBPS,
    "rtt": RTT_MS,
    "queue": QUEUE_PRODUCTS,
    "loss": Range(0, 1),
    "burst": BURST_PACKETS,
}
_RANGES = {
    **{name: Range(0, 1) for name in ("paths", "workload", "cc", "direction", "start")},
    **{name: Range(0, 1) for name in ("buffer", "size")},
    "load": LOAD,
    **{f"{path}.{key}": each for path in "abcd" for key, each in _PATH_RANGES.items()},
}


@dataclass(frozen=True)
class Drawn:
    """A scenario of a set: its number, from 1 on, its workload by a name of WORKLOADS, whether it
    has presets, and the request for it, with the scheduler `default`.
    """

    number: int
    workload: str
    has_presets: bool
    request: Request


def draw(name: Set, count: int, known: Mapping[str, Scheduler] | None = None) -> list[Drawn]:
    """The first `count` scenarios of a set; `known` are the schedulers, as for `resolve`.

    Raises MachineError if SciPy is missing.
    """
    known = scheduler.known() if known is None else known
    seed, before = (name, _BEFORE_OTHERS) if isinstance(name, int) else _SEEDS[name]
    points = designs.fill("sobol", _RANGES, SIZE, seed, digits=3)[:count]
    return [
        _drawn(number, before + number, f"scenario {number} of {name}", point, known)
        for number, point in enumerate(points, 1)
    ]


def further_seeds(seed: int, count: int) -> list[int]:
    """Other seeds for the scenario that has this one; no scenario of a set has any of them."""
    return [seed + _FURTHER_SEED * number for number in range(1, count + 1)]


def _drawn(
    number: int, seed: int, source: str, point: Point, known: Mapping[str, Scheduler]
) -> Drawn:
    kind, direction = _one(point["workload"], WORKLOADS), _one(point["direction"], _SIDES)
    paths = [_path(name, point) for name in "abcd"[: _one(point["paths"], _PATHS)]]
    table: dict[str, Any] = {"seed": seed, "cc": _one(point["cc"], _CCS), "path": paths}
    if point["buffer"] >= _AUTOMATIC:
        share = (point["buffer"] - _AUTOMATIC) / (1 - _AUTOMATIC)
        table["receive_buffer"] = f"{BUFFER_KIB.at(share):.0f}KiB"
    base = resolve.from_table(table, source, folder=Path(), known=known).base
    named = [path["preset"] for path in paths if "preset" in path]
    least_s = max((PRESETS[preset] for preset in named), default=_SHORTEST_S)
    table["workload"] = _workload(kind, direction, point, base, least_s)
    if kind not in (SHORT, "web"):  # these open connections when they need them
        table["workload"]["start"] = _one(point["start"], _STARTS)
    request = resolve.from_table(table, source, folder=Path(), known=known)
    return Drawn(number, kind, bool(named), request)


def _one(share: float, shares: Mapping[T, float]) -> T:
    """The one of some things at a share of all, 0 to 1, each of which has its own share."""
    *others, last = shares
    for thing in others:
        share -= shares[thing]
        if share < 0:
            return thing
    return last


def _path(name: str, point: Point) -> dict[str, Any]:
    kind, rate_mbps, rtt_ms, products, loss, burst = (
        point[f"{name}.{key}"] for key in _PATH_RANGES
    )
    if kind < _PRESET_SHARE:
        preset = _one(kind / _PRESET_SHARE, dict.fromkeys(PRESETS, 1 / len(PRESETS)))
        path: dict[str, Any] = {"name": name, "preset": preset}
        if any("trace" in presets.PRESETS[preset].path[side] for side in DIRECTIONS):
            # a link that varies begins somewhere in its hour
            path["trace"] = {"offset": f"{int(3600 * loss)}s"}
        return path
    waits_s = min(products * rtt_ms / 1e3, LONGEST_QUEUE_S)
    path = {
        "name": name,
        "rate": f"{rate_mbps:g}mbit",
        "delay": f"{rtt_ms / 2:g}ms",
        # netem's limit has packets in the delay line, too: less than half a product of these would
        # not let the path be filled
        "queue": max(round(waits_s * rate_mbps * 1e6 / 8 / PACKET_BYTES), _LEAST_QUEUE),
        "queue_discipline": "droptail",
    }
    if loss >= _NO_LOSS:
        share = (loss - _NO_LOSS) / (1 - _NO_LOSS)
        is_bursty = loss >= _ONE_BY_ONE
        share = 2 * share - is_bursty  # each half has the whole range
        path["loss"] = f"{LOSS_PERCENT.at(share):.3g}%"
        if is_bursty:
            path["loss_burst"] = round(burst)
    return path


def _workload(
    kind: str, direction: Direction, point: Point, base: Scenario, least_s: float
) -> dict[str, Any]:
    """The workload, sized by the capacity and the delays of the paths."""
    rtt_s = max(path.up.delay_ns + path.down.delay_ns for path in base.paths) / 1e9
    side: Direction = direction if kind in (BULK, LONG, SHORT, "cbr", "frames") else "down"
    all_bps = sum(
        timeline.mean_rate_bps(rates, 0, int(_LONGEST_S * 1e9))
        for rates in timeline.rates(base, side).values()
    )
    load_bps = point["load"] * all_bps
    lasts = f"{_rounded_up(max(_STREAM_S, _FEWEST_RTTS * rtt_s, least_s))}s"
    match kind:
        case "bulk":
            duration = f"{_bulk_s(all_bps, rtt_s, least_s)}s"
            return {"kind": kind, "direction": side, "duration": duration}
        case "cbr":
            block = max(rounded(min(load_bps, _MOST_STREAM_BPS) * _BLOCK_S / 8), 100)
            every = f"{1e3 * _BLOCK_S:g}ms"
            own = {"kind": kind, "direction": side, "size": block, "interval": every}
            return own | {"duration": lasts}
        case "requests":
            size = min(_RESPONSE_BYTES.at(point["size"]), load_bps * _REQUEST_S / 8)
            every = f"{1e3 * _REQUEST_S:g}ms"
            own = {"kind": kind, "response": max(rounded(size), 100), "interval": every}
            return own | {"random": True, "duration": lasts}
        case "transfers":
            size = min(_LONG_BYTES.at(point["size"]), _LONGEST_LONG_S * all_bps / 8)
            own = {"kind": "transfers", "direction": side, "count": _TRANSFERS}
            return own | {"size": rounded(size)}
        case "short transfers":
            size = min(_SHORT_BYTES.at(point["size"]), _LONGEST_SHORT_S * all_bps / 8)
            own = {"kind": "transfers", "direction": side, "count": _TRANSFERS}
            return own | {"size": rounded(size), "fresh": True}
        case "web":
            return {"kind": kind}
        case "video":
            top_bps = rounded(min(max(load_bps, _VIDEO_BPS[0]), _VIDEO_BPS[1]))
            bitrates = [f"{top_bps // part}bit" for part in (4, 2, 1)]
            return {"kind": kind, "bitrates": bitrates, "duration": f"{_VIDEO_S}s"}
        case "frames":
            rate_bps = rounded(min(max(load_bps, _FRAMES_BPS[0]), _FRAMES_BPS[1]))
            delay_ns = min(getattr(path, side).delay_ns for path in base.paths)
            own = {"kind": kind, "direction": side, "rate": f"{rate_bps}bit", "duration": lasts}
            return own | {"deadline": f"{_DEADLINE_MS + math.ceil(delay_ns / 1e6)}ms"}
    raise AssertionError(kind)


def _bulk_s(all_bps: float, rtt_s: float, least_s: float) -> float:
    """How long bulk data is sent, in s: see _RTTS."""
    wanted_s = min(max(_RTTS * rtt_s, _WANTED_S), _LONGEST_S)
    shortest_s = max(_FEWEST_RTTS * rtt_s, _SHORTEST_S, least_s)
    affordable_s = _MOST_PACKETS * PACKET_BYTES * 8 / all_bps
    return _rounded_up(max(min(wanted_s, affordable_s), shortest_s))


def _rounded_up(seconds: float) -> float:
    """To tenths of a second; 1e-9 is less than any round trip, and more than an error of floats."""
    return math.ceil(10 * seconds - 1e-9) / 10


def rounded(number: float) -> int:
    """As a whole number, to three digits, so that it can be read."""
    return int(float(f"{number:.3g}"))
