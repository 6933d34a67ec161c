# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, as it is kept, and the statistics that are told of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

# Two equal kernels differ by 6 % in a measurement: docs/performance.md.
_STRAIGHT = 0.1


class _Kept(BaseModel):
    """A part of the JSON document: what it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Cost(_Kept):
    """What one run cost, and what it brought.

    `wall_s` and `cpu_s` (user and system) are those of all of it, start and end included. `seconds`
    is for how long data was sent, in the time of the run; None where there was no rate to keep to.
    `packets` are those with data that the sender sent, in the lab, or that arrived, elsewhere.
    """

    seconds: float | None
    packets: int
    wall_s: float
    cpu_s: float
    goodput_bps: float
    memory_bytes: int | None = None
    events: int | None = None


class Contender(_Kept):
    """One of those that do the same; `why_not` says why it could not be had, "" if it could."""

    name: str
    what: str
    why_not: str = ""
    taken: tuple[Cost, ...] = ()


class Point(_Kept):
    """A run of a series: what was varied, and what it cost each time."""

    x: float
    taken: tuple[Cost, ...]


class Series(_Kept):
    """Runs that differ in one thing. `work` is what their cost is a line over."""

    name: str
    what: str
    unit: str
    work: str
    points: tuple[Point, ...]


class Machine(_Kept):
    """Where it was measured, and how busy it was before: the load average of a minute."""

    processor: str
    cpus: int
    kernel: str
    load: float


class Measured(_Kept):
    """All that one call measured; `quick` is not for the docs."""

    quick: bool
    machine: Machine
    contenders: tuple[Contender, ...]
    ns3_start_cpu_s: float | None
    series: tuple[Series, ...]
    bench: dict[str, Any]


@dataclass(frozen=True)
class Spread:
    """Half of the values are from `lower` to `upper`."""

    median: float
    lower: float
    upper: float


def spread(values: Sequence[float]) -> Spread:
    """Median and quartiles of at least one value."""
    lower, upper = np.percentile(values, [25, 75]).tolist()
    return Spread(statistics.median(values), lower, upper)


@dataclass(frozen=True)
class Line:
    """y = at_zero + slope * x, and the part of the variance of y that it explains."""

    at_zero: float
    slope: float
    r_squared: float


def fit(xs: Sequence[float], ys: Sequence[float]) -> Line:
    """The line of the least squares, over at least two different x."""
    assert len(set(xs)) > 1, "no line through a single x"
    slope, at_zero = np.polyfit(xs, ys, 1).tolist()
    left = np.asarray(ys) - (at_zero + slope * np.asarray(xs))
    total = np.asarray(ys) - np.mean(ys)
    variance = float(total @ total)
    return Line(at_zero, slope, 1.0 - float(left @ left) / variance if variance else 1.0)


def straight(xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Is the last y on the line through those before it, to a tenth? Three points or more."""
    line = fit(xs[:-1], ys[:-1])
    return abs(ys[-1] - (line.at_zero + line.slope * xs[-1])) <= _STRAIGHT * ys[-1]


def median_of(taken: Sequence[Cost], name: str) -> float:
    """The median of a figure of some runs."""
    return float(statistics.median(getattr(each, name) for each in taken))
