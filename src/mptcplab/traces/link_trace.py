# SPDX-License-Identifier: GPL-2.0-only
"""Link traces in a scenario: a link's rate, delay and loss over time, and how they are played.

Times are whole nanoseconds and rates whole bits per second, so that sums over time are exact.
`trace_file.py` reads traces, `trace_steps.py` turns them into steps; docs/traces.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mptcplab import units

#: What a scenario accepts; a lower rate is an outage. netem does not support a rate of 0.
MIN_RATE_BPS = units.parse_rate("1kbit")
MAX_RATE_BPS = units.parse_rate("100gbit")
MAX_DELAY_NS = units.parse_time("10s")

#: What a column of a CSV file can contain.
COLUMNS = ("time", "rate", "delay", "loss")
#: A column that is not played: the signal-to-interference-and-noise ratio, in dB.
SINR = "sinr_db"

#: The formats of a trace file.
MAHIMAHI_ACCEPTED = (
    "a Mahimahi trace has one whole number of milliseconds per line, and none is less than the one "
    "before"
)
CSV_ACCEPTED = (
    "a CSV trace has a header, with commas between the columns, e.g. time_s,rate_mbit,delay_ms"
)
ACCEPTED = f"{MAHIMAHI_ACCEPTED}; {CSV_ACCEPTED}"


class TraceError(ValueError):
    """A mistake in a trace file: its line and column, and what is accepted."""


@dataclass(frozen=True)
class Source:
    """A trace's file, how it is read (`trace_file.read`) and played (`trace_steps.steps`).

    `digest` is the hash of the file's content, in hexadecimal digits.
    """

    file: Path
    digest: str
    columns: Mapping[str, str] | None = None
    interval_ns: int | None = None
    skip_empty: bool = False
    offset_ns: int = 0
    repeat: bool = True


class Step(NamedTuple):
    """The values of a link from `at_ns` after the start on; None if the trace does not have them.

    `rate_bps` is 0, an outage, or at least MIN_RATE_BPS.
    """

    at_ns: int
    rate_bps: int | None
    delay_ns: int | None
    loss: float | None


def carried(rates: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> int:
    """The data that a link can carry from `begin_ns` to `end_ns`, in bit/s x ns.

    `rates` lists pairs (start in ns, rate in bit/s from then on), at least one, in order of time.
    """
    ends = [*(at_ns for at_ns, _ in rates[1:]), end_ns]
    return sum(
        rate_bps * max(min(until_ns, end_ns) - max(at_ns, begin_ns), 0)
        for (at_ns, rate_bps), until_ns in zip(rates, ends, strict=True)
    )
