# SPDX-License-Identifier: GPL-2.0-only
"""What stms, raven and dems compute, once more and from what their pages say.

Pure functions of numbers, not derived from the C. tests/unit/test_scheduler_models.py checks them
with the vectors of the KUnit tests.
"""

from __future__ import annotations

from fractions import Fraction

# --- stms


def stms_gap_bytes(
    ahead_bytes: int, *, late_bytes: int = 0, early_bytes: int | None = None, shrink_bytes: int = 0
) -> int:
    """The gap after a sample that left with `ahead_bytes` unsent before it.

    Late by what waited behind it; early by what was known to be missing before it, or by an unknown
    amount (None).
    """
    if late_bytes:
        return ahead_bytes + late_bytes
    return max(ahead_bytes - (shrink_bytes if early_bytes is None else early_bytes), 0)


def stms_segment(gap_bytes: int, segment_bytes: int, unsent: list[int]) -> int | None:
    """Which of the unsent segments, by their sizes, the slower subflow takes; None: it waits."""
    nth = gap_bytes // segment_bytes
    return nth if sum(unsent) > gap_bytes and nth < len(unsent) else None


# --- raven

#: By how much the interval widens with the age of the latest sample, in thousandths: after 0, 1, 2,
#: ... 30 s. The tables of the second data set of the public module, rounded: for the first network
#: and for the second.
RAVEN_AGING = [
    [int(each) for each in text.split()]
    for text in (
        "1000 1000 1370 1619 1803 1944 2053 2142 2206 2247 2274 2273 2257 2218 2159 2076 2168 2256"
        " 2337 2412 2484 2550 2611 2665 2713 2750 2778 2799 2815 2832 2838",
        "1000 1000 1405 1712 1963 2176 2360 2518 2653 2769 2868 2954 3029 3090 3144 3190 3227 3255"
        " 3278 3296 3311 3323 3331 3336 3338 3336 3333 3334 3336 3336 3337",
    )
]
#: Of the mean, below and above it, in thousandths: the module's constants for 90 %, for the first
#: network and for the second.
RAVEN_LOWER = (347, 578)
RAVEN_UPPER = (578, 1321)


def raven_weight(age_ms: Fraction, half_life_ms: int) -> Fraction:
    """Of a sample, 1 when it is new: halved with each half-life, and on a line in between."""
    halvings, rest = divmod(age_ms, half_life_ms)
    return Fraction(1, 2 ** int(halvings)) * (1 - Fraction(rest, 2 * half_life_ms))


def raven_mean_us(samples: list[tuple[int, int]], half_life_ms: int) -> Fraction:
    """Of (time in ms, RTT in us), as of the last one: each step ages what came before it."""
    total, weights, before = Fraction(0), Fraction(0), samples[0][0]
    for time_ms, rtt_us in samples:
        aged = raven_weight(Fraction(time_ms - before), half_life_ms)
        total, weights, before = total * aged + rtt_us, weights * aged + 1, time_ms
    return total / weights


def raven_interval_us(
    mean_us: int, age_s: int, network: int, *, whole_upper: bool
) -> tuple[int, int]:
    """The bounds of the RTT to come; network 0 is the first one, 1 any other."""
    aging = RAVEN_AGING[network][min(age_s, 30)]
    below = Fraction(RAVEN_LOWER[network] * aging, 10**6)
    above = 1 + Fraction(RAVEN_UPPER[network] * aging, 10**6)
    low = max(int(mean_us * (1 - below)), 1)
    return low, int(mean_us * (int(above) if whole_upper else above))


def raven_targets(intervals: list[tuple[int, int] | None]) -> set[int]:
    """The subflows that get the segment; those without an interval have [0, infinity)."""
    known = [interval for interval in intervals if interval is not None]
    if not known:
        return set(range(len(intervals)))
    _, best_high = min(known, key=lambda interval: interval[0])
    return {
        number
        for number, interval in enumerate(intervals)
        if interval is None or interval[0] <= best_high
    }


# --- dems


def dems_leaves(
    rest_bytes: int, delay_us: int, other_delay_us: int, window_bytes: int, other_rtt_us: int
) -> bool:
    """Would the other path, on its own, have all the rest there before this one a segment?"""
    return other_delay_us + Fraction(rest_bytes * other_rtt_us, window_bytes) <= delay_us


def dems_copies(
    chunk_bytes: int,
    percent: int,
    window_bytes: int,
    rtt_us: int,
    deviations_us: tuple[int, int],
    segment_bytes: int,
) -> int:
    """How many segments of another path one may repeat: whole ones, none if there is no room."""
    uncertain = Fraction(window_bytes * sum(deviations_us), rtt_us)
    return int(min(uncertain, Fraction(chunk_bytes * percent, 100)) / segment_bytes)
