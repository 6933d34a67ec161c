# SPDX-License-Identifier: GPL-2.0-only
"""Reads link traces from files, Mahimahi's or CSV with a header. Nothing is averaged."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from mptcplab.mistakes import read_text
from mptcplab.traces import trace_csv
from mptcplab.traces.link_trace import ACCEPTED, MAHIMAHI_ACCEPTED, MAX_RATE_BPS, TraceError
from mptcplab.traces.trace_csv import MAX_LENGTH_NS, complaint, quoted
from mptcplab.traces.trace_steps import Trace

#: Where Mahimahi's link passes 1504 bytes it passes one IP packet of 1500: 4 are framing of its
#: tunnel device (PACKET_SIZE in its link_queue, struct tun_pi in Linux).
OPPORTUNITY_BYTES = 1500
#: A packet takes the time since the one before it, but at most this: a longer gap is an outage. We
#: chose 100 ms: links down to 120 kbit/s have none, and those of mobile networks are longer.
MAX_SPREAD_MS = 100

MAX_FILE_MIB = 64

_MS = 10**6

# 15 digits exceed MAX_LENGTH_NS in milliseconds, and fit into 64 bits.
_NOT_A_TIME = re.compile(r"^(?![ \t]*[0-9]{1,15}[ \t]*\r?$).*$", re.MULTILINE)


def read(
    file: Path,
    *,
    columns: Mapping[str, str] | None = None,
    interval_ns: int | None = None,
    skip_empty: bool = False,
    sinr: bool = False,
) -> Trace:
    """The trace in a file, Mahimahi or CSV; with `columns` or `interval_ns` it is CSV.

    `columns` selects columns of the file: for time, rate, delay and loss the name in the header and
    the unit in brackets, e.g. {"rate": "DL_bitrate [kbit]"}; the unit of a time may be a date
    format of strptime: "Timestamp [%Y-%m-%d %H:%M:%S]". With `interval_ns` there is no time column,
    and each row holds for that long. `skip_empty` skips rows in which a selected cell is empty, "-"
    or "nan". With `sinr` a column sinr_db is read as well, if there is one. Raises TraceError.
    """
    try:
        text = read_text(file, MAX_FILE_MIB, f"a trace has at most {MAX_FILE_MIB} MiB; {ACCEPTED}")
    except ValueError as error:
        raise TraceError(str(error)) from None
    first = text.lstrip().partition("\n")[0].strip()
    if not first:
        raise TraceError(f"no rows; {ACCEPTED}")
    if columns is None and interval_ns is None and re.fullmatch(r"[-+]?[0-9.]+", first):
        return _read_mahimahi(text)
    selected = None if columns is None else tuple(columns.items())
    return _read_csv(text, selected, interval_ns, skip_empty, sinr)


@lru_cache(maxsize=8)  # the files that a sweep's scenarios have in common
def _read_csv(
    text: str,
    columns: tuple[tuple[str, str], ...] | None,
    interval_ns: int | None,
    skip_empty: bool,
    sinr: bool,
) -> Trace:
    selected = None if columns is None else dict(columns)
    return trace_csv.read(text, selected, interval_ns, skip_empty, sinr)


def digest(content: bytes) -> str:
    """A hash that identifies the content of a file."""
    return hashlib.sha256(content).hexdigest()


def _read_mahimahi(text: str) -> Trace:
    """Each line is an opportunity to deliver a packet; the last one's time is the period."""
    text = text.rstrip()
    bad = _NOT_A_TIME.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        word = bad[0].strip()
        many = re.fullmatch("[0-9]+", word)
        what = "too many digits" if many else complaint(word, "whole number")
        raise TraceError(f"line {line}: {quoted(word)}{what}; {MAHIMAHI_ACCEPTED}")
    time_ms = np.fromstring(text, dtype=np.int64, sep=" ")
    back = np.flatnonzero(np.diff(time_ms) < 0)
    if len(back):
        line = int(back[0]) + 2
        before, after = time_ms[line - 2 : line].tolist()
        raise TraceError(f"line {line}: {after} after {before}; {MAHIMAHI_ACCEPTED}")
    length_ms = int(time_ms[-1])
    if length_ms == 0:
        raise TraceError(
            f"line {len(time_ms)}: the trace has no length; its last number is its length in "
            "milliseconds, at least 1"
        )
    if length_ms * _MS > MAX_LENGTH_NS:
        line = int(np.searchsorted(time_ms, MAX_LENGTH_NS // _MS, side="right")) + 1
        raise TraceError(f"line {line}: {time_ms[line - 1]}: a trace lasts at most 366 days")
    # The trace repeats: an opportunity at 0 is one at the end of the previous round.
    at_ms, lines, count = np.unique(
        np.where(time_ms == 0, length_ms, time_ms), return_index=True, return_counts=True
    )
    before_ms = np.concatenate(([0], at_ms[:-1]))
    begin_ms = np.maximum(before_ms, at_ms - MAX_SPREAD_MS)
    span_ms = at_ms - begin_ms
    # rounded to the nearest
    rate_bps = (2 * count * (OPPORTUNITY_BYTES * 8 * 1000) + span_ms) // (2 * span_ms)
    if rate_bps.max() > MAX_RATE_BPS:
        line = int(lines[np.argmax(rate_bps)]) + 1
        raise TraceError(f"line {line}: this many packets at once exceed 100gbit, the highest rate")
    outage = np.zeros_like(rate_bps)
    real = np.stack([begin_ms > before_ms, np.ones(len(at_ms), dtype=bool)], axis=1).ravel()
    return Trace(
        time_ns=np.stack([before_ms, begin_ms], axis=1).ravel()[real] * _MS,
        length_ns=length_ms * _MS,
        rate_bps=np.stack([outage, rate_bps], axis=1).ravel()[real],
    )
