# SPDX-License-Identifier: GPL-2.0-only
"""Turns a link trace into timed settings of a link; averages only where steps are too short."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mptcplab.traces.link_trace import MIN_RATE_BPS, Step

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Losses are summed in the steps of units.parse_fraction.
LOSS_STEPS = 10**9


@dataclass(frozen=True, eq=False)
class Trace:
    """Steps of a link, each of which holds until the next one begins, the last until `length_ns`.

    `time_ns` int64[n]: when they begin, the first at 0, strictly ascending; `length_ns` is after
    the last. `rate_bps` and `delay_ns` int64[n], `loss` float64[n] from 0 to 1; None if the trace
    does not have it, and at least one is not None. `sinr_db` float64[n] is only for the reader.
    """

    time_ns: Int64s
    length_ns: int
    rate_bps: Int64s | None = None
    delay_ns: Int64s | None = None
    loss: Floats | None = None
    sinr_db: Floats | None = None

    def __post_init__(self) -> None:
        values = [v for v in (self.rate_bps, self.delay_ns, self.loss) if v is not None]
        assert values, "a trace of nothing"
        assert all(v.shape == self.time_ns.shape for v in values)
        assert len(self.time_ns), "a trace without a step"
        assert self.time_ns[0] == 0
        assert np.all(np.diff(self.time_ns) > 0)
        assert self.length_ns > self.time_ns[-1]
        assert self.sinr_db is None or self.sinr_db.shape == self.time_ns.shape


def at(trace: Trace, time_ns: Int64s, *, offset_ns: int = 0, repeat: bool = True) -> Int64s:
    """Which step of the trace is played at each time, as in `steps`: int64[n], from 0."""
    within_ns = time_ns + offset_ns
    if repeat:
        within_ns = within_ns % trace.length_ns
    index: Int64s = np.searchsorted(trace.time_ns, within_ns, side="right").astype(np.int64) - 1
    return index


def steps(
    trace: Trace,
    *,
    duration_ns: int,
    offset_ns: int = 0,
    repeat: bool = True,
    resolution_ns: int = 10**7,
) -> list[Step]:
    """The steps to play from `offset_ns` of the trace on, for `duration_ns`; the first is at 0.

    At its end the trace starts again, or with `repeat=False` its last values stay. A value that
    holds for `resolution_ns` is played as it is. Shorter ones are played as their mean over
    `resolution_ns`, weighted by time, so that every step carries what the trace would (to half a
    bit per second). Neighbours differ, and only the last step may be shorter than `resolution_ns`.
    From an outage at `duration_ns` they go on until the link carries something: what waits arrives.
    """
    played = _Played(trace, repeat)
    found: list[Step] = []
    at_ns, last_ns = 0, duration_ns + trace.length_ns
    while at_ns < duration_ns or (found[-1].rate_bps == 0 and at_ns < last_ns):
        begin_ns = offset_ns + at_ns
        index, left_ns = played.piece(begin_ns)
        if left_ns is None or left_ns >= resolution_ns:
            step = played.step(at_ns, [series.values[index] for series in played.series])
            span_ns = last_ns if left_ns is None else left_ns
        else:
            rest_ns = duration_ns - at_ns
            span_ns = min(resolution_ns, rest_ns) if rest_ns > 0 else resolution_ns
            step = played.step(at_ns, played.means(begin_ns, span_ns))
        if not found or step[1:] != found[-1][1:]:
            found.append(step)
        at_ns += span_ns
    return found


@dataclass(frozen=True)
class _Series:
    """Whole numbers, one per piece, and the exact sums of number times ns before each piece."""

    values: list[int]
    sums: list[int]


class _Played:
    """A trace continued beyond its end, in exact arithmetic; equal neighbours form one piece."""

    def __init__(self, trace: Trace, repeat: bool) -> None:
        loss = None if trace.loss is None else np.rint(trace.loss * LOSS_STEPS).astype(np.int64)
        self._given = (trace.rate_bps, trace.delay_ns, loss)
        given = [values for values in self._given if values is not None]
        new = np.ones(len(trace.time_ns), dtype=bool)
        new[1:] = np.any([np.diff(values) != 0 for values in given], axis=0)
        self._times: list[int] = trace.time_ns[new].tolist()
        self._length_ns = trace.length_ns
        self._repeat = repeat
        ends = [*self._times[1:], self._length_ns]
        lengths = [end - begin for begin, end in zip(self._times, ends, strict=True)]
        self.series = [_series(values[new].tolist(), lengths) for values in given]

    def piece(self, time_ns: int) -> tuple[int, int | None]:
        """The piece played at a time, and how long it lasts from then on; None is for ever."""
        if not self._repeat and time_ns >= self._times[-1]:
            return len(self._times) - 1, None
        within_ns = time_ns % self._length_ns
        index = bisect.bisect_right(self._times, within_ns) - 1
        if index + 1 < len(self._times):
            return index, self._times[index + 1] - within_ns
        return index, self._length_ns - within_ns

    def means(self, begin_ns: int, span_ns: int) -> list[int]:
        """The mean of each series over a span of time, to the nearest whole number."""
        begin, end = self._sums_until(begin_ns), self._sums_until(begin_ns + span_ns)
        sums = [b - a for a, b in zip(begin, end, strict=True)]
        return [(2 * total + span_ns) // (2 * span_ns) for total in sums]

    def step(self, at_ns: int, values: Iterable[int]) -> Step:
        """A step with one value of each series."""
        left = iter(values)
        rate, delay, loss = (None if given is None else next(left) for given in self._given)
        if rate is not None and rate < MIN_RATE_BPS:
            rate = 0
        return Step(at_ns, rate, delay, None if loss is None else loss / LOSS_STEPS)

    def _sums_until(self, time_ns: int) -> list[int]:
        index, _ = self.piece(time_ns)
        periods, within_ns = divmod(time_ns, self._length_ns) if self._repeat else (0, time_ns)
        after_ns = within_ns - self._times[index]
        return [
            periods * series.sums[-1] + series.sums[index] + after_ns * series.values[index]
            for series in self.series
        ]


def _series(values: list[int], lengths: list[int]) -> _Series:
    # Python's integers, since 100 Gbit/s over a year, in ns, exceed 64 bits.
    products = (value * length for value, length in zip(values, lengths, strict=True))
    return _Series(values, list(itertools.accumulate(products, initial=0)))
