# SPDX-License-Identifier: GPL-2.0-only
"""The traces of presets that vary: an hour or a period of each, in the CSV files of presets/.

`python -m tests.preset_traces` writes them anew. Runs read the files, so that a path is the same
whatever draws random numbers; `presets.toml` has the source of each number here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from mptcplab.scenario.presets import FOLDER

#: Both directions of a row; they change together.
_HEADER = "time_s,up_mbit,down_mbit"
_BURSTS_HEADER = "time_ms,rate_mbit"
_HOUR_S = 3600
_SEED = 1

# Starlink assigns satellites at these seconds of each minute. The trace starts at second 0.
_SLOT_S = 15
_FIRST_S = 12
#: How long the delay is higher, before and after a satellite changes, and by how much.
_BEFORE_S, _AFTER_S, _HIGHER_MS = 0.075, 0.14, 20.0
_STARLINK_MBIT = (14.8, 104.7)
_STARLINK_FACTOR = (0.5, 1.5)
_STARLINK_DELAY_MS = (15.0, 35.0)
#: The mean of both is half of one per cent: (0.25 x 14.785 s + 17.7 x 0.215 s) / 15 s.
_LOSS_PERCENT, _LOSS_AT_CHANGE_PERCENT = 0.25, 17.7


def files() -> dict[str, str]:
    """The content of each file, by its name."""
    return {
        "starlink-steps.csv": _text(f"{_HEADER},delay_ms,loss_percent", _starlink()),
        # Alone, a device has 56.6 and 14.6 Mbit/s: the mean share, (1 + 1/2 + 1/3 + 1/4) / 4, of
        # that are the averages of `lte`.
        "lte-bloated.csv": _text(_HEADER, _shared(14.6, 56.6, others=4, step_s=5)),
        "wifi-busy.csv": _text(_HEADER, _shared(50, 50, others=8, step_s=1)),
        # The last row of a CSV file lasts as long as the one before it.
        "lte-throttled.csv": _text(
            _HEADER, iter([(0, 7.6, 29.5), (10, 1, 1), ((10 + _HOUR_S) / 2, 1, 1)])
        ),
        "lte-swinging.csv": _text("time_s,delay_ms", _swinging()),
        "lte-bursts-up.csv": _text(_BURSTS_HEADER, _bursts(7.6, on_ms=9, period_ms=18)),
        "lte-bursts-down.csv": _text(_BURSTS_HEADER, _bursts(29.5, on_ms=6, period_ms=14)),
        "wifi-bursts.csv": _text(_BURSTS_HEADER, _bursts(50, on_ms=1, period_ms=10)),
    }


def _text(header: str, rows: Iterator[tuple[float, ...]]) -> str:
    lines = (",".join(str(round(value, 3)) for value in row) for row in rows)
    return "\n".join((header, *lines)) + "\n"


def _starlink() -> Iterator[tuple[float, ...]]:
    """Each 15 s another rate and delay; a higher delay and more loss when they change."""
    drawn = random.Random(_SEED)
    slots = [
        (_between(drawn, _STARLINK_FACTOR), _between(drawn, _STARLINK_DELAY_MS))
        for _ in range(_HOUR_S // _SLOT_S)
    ]
    # The first slot had begun before the trace, and the last one goes on where it starts again.
    factor, delay_ms = slots[0]
    yield _starlink_row(0, factor, delay_ms)
    begins = range(_FIRST_S, _HOUR_S, _SLOT_S)
    for begin_s, following in zip(begins, (*slots[1:], slots[0]), strict=True):
        yield _starlink_row(begin_s - _BEFORE_S, factor, delay_ms, changes=True)
        factor, delay_ms = following
        yield _starlink_row(begin_s, factor, delay_ms, changes=True)
        yield _starlink_row(begin_s + _AFTER_S, factor, delay_ms)
    # The last row of a CSV file lasts as long as the one before it: together until the hour ends.
    yield _starlink_row((begins[-1] + _AFTER_S + _HOUR_S) / 2, factor, delay_ms)


def _starlink_row(
    at_s: float, factor: float, delay_ms: float, *, changes: bool = False
) -> tuple[float, ...]:
    up, down = (factor * mbit for mbit in _STARLINK_MBIT)
    if changes:
        return at_s, up, down, delay_ms + _HIGHER_MS, _LOSS_AT_CHANGE_PERCENT
    return at_s, up, down, delay_ms, _LOSS_PERCENT


def _shared(
    up_mbit: float, down_mbit: float, *, others: int, step_s: int
) -> Iterator[tuple[float, ...]]:
    """The share of one device among 0 to `others` - 1 others, another number in each step.

    Each number comes once in `others` steps, in random order: the mean of short runs is that of
    long ones.
    """
    drawn = random.Random(_SEED)
    at_s = 0
    while at_s < _HOUR_S:
        for number in sorted(range(others), key=lambda _: drawn.random()):
            yield at_s, up_mbit / (1 + number), down_mbit / (1 + number)
            at_s += step_s


def _swinging() -> Iterator[tuple[float, ...]]:
    """From 50 to 600 ms in 7.5 s, and back, in steps of 0.5 s."""
    for step in range(30):
        yield step / 2, 50 + 550 * min(step, 30 - step) / 15


def _bursts(mean_mbit: float, *, on_ms: float, period_ms: float) -> Iterator[tuple[float, ...]]:
    """Nothing passes but at the beginning of each period."""
    yield 0, mean_mbit * period_ms / on_ms
    yield on_ms, 0
    yield (on_ms + period_ms) / 2, 0


def _between(drawn: random.Random, ends: tuple[float, float]) -> float:
    # random() alone is promised to be the same in all versions of Python.
    low, high = ends
    return low + (high - low) * drawn.random()


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
