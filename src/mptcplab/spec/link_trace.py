# SPDX-License-Identifier: GPL-2.0-only
"""Link traces in a scenario: what a path's rate, delay and loss were, and how that is played.

Times are whole nanoseconds and rates whole bits per second, so that sums over time are exact.
`trace_file.py` reads traces, `trace_steps.py` makes steps of them; docs/traces.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.spec import units

#: What a scenario accepts; a lower rate is an outage. netem knows no rate of 0.
MIN_RATE_BPS = units.parse_rate("1kbit")
MAX_RATE_BPS = units.parse_rate("100gbit")
MAX_DELAY_NS = units.parse_time("10s")

#: What a column of a CSV file can be.
COLUMNS = ("time", "rate", "delay", "loss")
#: The name of a column that is not played: signal to noise and interference, in dB.
SINR = "sinr_db"

#: What a trace's file is like.
MAHIMAHI_ACCEPTED = (
    "a Mahimahi trace has one whole number of milliseconds per line, and none is less than the one "
    "before"
)
CSV_ACCEPTED = (
    "a CSV trace has a header, with commas between the columns, e.g. time_s,rate_mbit,delay_ms"
)
ACCEPTED = f"{MAHIMAHI_ACCEPTED}; {CSV_ACCEPTED}"


class TraceError(ValueError):
    """What is wrong with a file, in which line and column, and what is accepted."""


@dataclass(frozen=True)
class Source:
    """Where a trace is from, how it is read (`trace_file.read`) and played (`trace_steps.steps`).

    `digest` is that of the file's content, in hexadecimal digits.
    """

    file: Path
    digest: str
    columns: Mapping[str, str] | None = None
    interval_ns: int | None = None
    skip_empty: bool = False
    offset_ns: int = 0
    repeat: bool = True


@dataclass(frozen=True)
class Step:
    """What a link is set to, `at_ns` after the start; None is what the trace says nothing about.

    `rate_bps` is 0, an outage, or at least MIN_RATE_BPS.
    """

    at_ns: int
    rate_bps: int | None
    delay_ns: int | None
    loss: float | None


def carried(rates: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> int:
    """What a link carries from `begin_ns` to `end_ns`, in bit/s x ns.

    `rates` has from when on, in ns, its rate is which, in bit/s: at least one, in order of time.
    """
    ends = [*(at_ns for at_ns, _ in rates[1:]), end_ns]
    return sum(
        rate_bps * max(min(until_ns, end_ns) - max(at_ns, begin_ns), 0)
        for (at_ns, rate_bps), until_ns in zip(rates, ends, strict=True)
    )
