# SPDX-License-Identifier: GPL-2.0-only
"""Link traces: what a path's rate, delay and loss were at each time, and how that is played.

A file, of Mahimahi or a CSV file with a header (docs/traces.md), becomes a `Trace`, in which
nothing is averaged. `steps` makes of it what a link is set to, and when. Inside, times are whole
nanoseconds and rates whole bits per second, so that sums over time are exact.
"""

from __future__ import annotations

import bisect
import csv
import hashlib
import io
import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mptcplab.spec import units
from mptcplab.spec.mistakes import one_of, printable, shown, suggestion

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Where Mahimahi's link passes 1504 bytes it passes one IP packet of 1500: 4 are framing of its
#: tunnel device (PACKET_SIZE in its link_queue, struct tun_pi in Linux).
OPPORTUNITY_BYTES = 1500
#: A packet takes the time since the one before it, but no longer than this: then it is an outage.
#: We chose 100 ms: links down to 120 kbit/s have none, and those of mobile networks are longer.
MAX_SPREAD_MS = 100

#: What a scenario accepts; a lower rate is an outage. netem knows no rate of 0.
MIN_RATE_BPS = units.parse_rate("1kbit")
MAX_RATE_BPS = units.parse_rate("100gbit")
MAX_DELAY_NS = units.parse_time("10s")
MAX_LENGTH_NS = 366 * 24 * 3600 * 10**9
MAX_FILE_BYTES = 64 << 20

# Losses are summed in the steps that units.parse_fraction knows.
_LOSS_STEPS = 10**9
_MS = 10**6


class TraceError(ValueError):
    """What is wrong with a file, in which line and column, and what is accepted."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Steps of a link, each of which holds until the next one begins, the last to `length_ns`.

    `time_ns` int64[n]: when they begin, the first at 0, strictly rising; `length_ns` is later than
    the last. `rate_bps` and `delay_ns` int64[n], `loss` float64[n] from 0 to 1; None is what the
    trace says nothing about, and at least one is not None. `sinr_db` float64[n] is for the reader:
    it is not played.
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


@dataclass(frozen=True)
class Source:
    """Where a trace is from, and how it is read (see `read`) and played (see `steps`).

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


def read(
    file: Path,
    *,
    columns: Mapping[str, str] | None = None,
    interval_ns: int | None = None,
    skip_empty: bool = False,
    sinr: bool = False,
) -> Trace:
    """The trace in a file, of Mahimahi or CSV; with `columns` or `interval_ns` it is CSV.

    `columns` says which columns of the file to take: for time, rate, delay, loss the name in the
    header and the unit in brackets, e.g. {"rate": "DL_bitrate [kbit]"}; the unit of a time may be
    the format of a date, as for strptime: "Timestamp [%Y-%m-%d %H:%M:%S]". With `interval_ns` no
    column is a time, and each row holds that long. With `skip_empty` rows are left out in which a
    cell that is taken is empty, "-" or "nan". With `sinr` a column sinr_db is read as well, if
    there is one. Raises TraceError.
    """
    if interval_ns is not None and not 0 < interval_ns <= MAX_LENGTH_NS:
        raise TraceError(f"interval {interval_ns} ns: out of range; it is 1ns to 366 days")
    text = _read_text(file)
    first = text.lstrip().partition("\n")[0].strip()
    if not first:
        raise TraceError(f"no rows; {_ACCEPTED}")
    if columns is None and interval_ns is None and re.fullmatch(r"[-+]?[0-9.]+", first):
        return _read_mahimahi(text)
    return _read_csv(text, columns, interval_ns, skip_empty, sinr)


def digest(content: bytes) -> str:
    """What tells the content of a file from any other."""
    return hashlib.sha256(content).hexdigest()


def at(trace: Trace, time_ns: Int64s, *, offset_ns: int = 0, repeat: bool = True) -> Int64s:
    """Which step of the trace is played at each time, as `steps` has it: int64[n], from 0."""
    within_ns = time_ns + offset_ns
    if repeat:
        within_ns = within_ns % trace.length_ns
    index: Int64s = np.searchsorted(trace.time_ns, within_ns, side="right").astype(np.int64) - 1
    return index


def carried(rates: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> int:
    """What a link carries from `begin_ns` to `end_ns`, in bit/s x ns.

    `rates` has from when on, in ns, its rate is which, in bit/s: at least one, in order of time.
    """
    ends = [*(at_ns for at_ns, _ in rates[1:]), end_ns]
    return sum(
        rate_bps * max(min(until_ns, end_ns) - max(at_ns, begin_ns), 0)
        for (at_ns, rate_bps), until_ns in zip(rates, ends, strict=True)
    )


def steps(
    trace: Trace,
    *,
    duration_ns: int,
    offset_ns: int = 0,
    repeat: bool = True,
    resolution_ns: int = 10**7,
) -> list[Step]:
    """The steps to play from `offset_ns` of the trace on, for `duration_ns`; the first is at 0.

    After its end the trace begins anew, or with `repeat=False` its last values stay. A value that
    holds for `resolution_ns` is played as it is. Shorter ones are played as their mean over
    `resolution_ns`, weighted by time, so that every step carries what the trace would (to half a
    bit per second). Neighbours differ, and only the last step may be shorter than `resolution_ns`.
    Raises ValueError if a time is negative, or a duration 0.
    """
    for name, value, low in (
        ("duration_ns", duration_ns, 1),
        ("offset_ns", offset_ns, 0),
        ("resolution_ns", resolution_ns, 1),
    ):
        if value < low:
            raise ValueError(f"{name} = {value}: it is at least {low}")
    played = _Played(trace, repeat)
    found: list[Step] = []
    at_ns = 0
    while at_ns < duration_ns:
        begin_ns = offset_ns + at_ns
        index, left_ns = played.piece(begin_ns)
        if left_ns is None or left_ns >= resolution_ns:
            step = played.step(at_ns, [series.values[index] for series in played.series])
            span_ns = duration_ns if left_ns is None else left_ns
        else:
            span_ns = min(resolution_ns, duration_ns - at_ns)
            step = played.step(at_ns, played.means(begin_ns, span_ns))
        if not found or _settings(step) != _settings(found[-1]):
            found.append(step)
        at_ns += span_ns
    return found


# Playing


@dataclass(frozen=True)
class _Series:
    """Whole numbers, one per piece, and the exact sums of number times ns before each piece."""

    values: list[int]
    sums: list[int]


class _Played:
    """A trace that goes on after its end, in exact arithmetic; equal neighbours are one piece."""

    def __init__(self, trace: Trace, repeat: bool) -> None:
        loss = None if trace.loss is None else np.rint(trace.loss * _LOSS_STEPS).astype(np.int64)
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
        """Which piece is played at a time, and for how long from then on; None is for ever."""
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
        """A step of one value of each series."""
        left = iter(values)
        rate, delay, loss = (None if given is None else next(left) for given in self._given)
        if rate is not None and rate < MIN_RATE_BPS:
            rate = 0
        return Step(at_ns, rate, delay, None if loss is None else loss / _LOSS_STEPS)

    def _sums_until(self, time_ns: int) -> list[int]:
        index, _ = self.piece(time_ns)
        periods, within_ns = divmod(time_ns, self._length_ns) if self._repeat else (0, time_ns)
        after_ns = within_ns - self._times[index]
        return [
            periods * series.sums[-1] + series.sums[index] + after_ns * series.values[index]
            for series in self.series
        ]


def _series(values: list[int], lengths: list[int]) -> _Series:
    # Python's numbers: 100 Gbit/s over a year, in ns, are more than 64 bits hold.
    products = (value * length for value, length in zip(values, lengths, strict=True))
    return _Series(values, list(itertools.accumulate(products, initial=0)))


def _settings(step: Step) -> tuple[int | None, int | None, float | None]:
    return step.rate_bps, step.delay_ns, step.loss


# Files

_MAHIMAHI_ACCEPTED = (
    "a Mahimahi trace has one whole number of milliseconds per line, and none is less than the one "
    "before"
)
_CSV_ACCEPTED = (
    "a CSV trace has a header, with commas between the columns, e.g. time_s,rate_mbit,delay_ms"
)
_ACCEPTED = f"{_MAHIMAHI_ACCEPTED}; {_CSV_ACCEPTED}"


def _read_text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise TraceError(f"larger than {units.SIZE.format(MAX_FILE_BYTES)}; cut it to a part")
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        message = "there is no such file"
    except IsADirectoryError:
        message = f"this is a directory; {_ACCEPTED}"
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        # The positions are those after a byte order mark, if there is one.
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"line {line}: not UTF-8 text (byte 0x{error.object[error.start]:02x})"
    except TraceError:
        raise
    except ValueError:
        message = "this is not the name of a file"
    raise TraceError(message)


# 15 digits are more milliseconds than MAX_LENGTH_NS, and 64 bits hold them.
_NOT_A_TIME = re.compile(r"^(?![ \t]*[0-9]{1,15}[ \t]*\r?$).*$", re.MULTILINE)


def _read_mahimahi(text: str) -> Trace:
    """Each line is an opportunity to deliver a packet; the last one's time is the period."""
    text = text.rstrip()
    bad = _NOT_A_TIME.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        word = bad[0].strip()
        many = re.fullmatch("[0-9]+", word)
        what = "too many digits" if many else _complaint(word, "whole number")
        raise TraceError(f"line {line}: {_quoted(word)}{what}; {_MAHIMAHI_ACCEPTED}")
    time_ms = np.fromstring(text, dtype=np.int64, sep=" ")
    back = np.flatnonzero(np.diff(time_ms) < 0)
    if len(back):
        line = int(back[0]) + 2
        before, after = time_ms[line - 2 : line].tolist()
        raise TraceError(f"line {line}: {after} after {before}; {_MAHIMAHI_ACCEPTED}")
    length_ms = int(time_ms[-1])
    if length_ms == 0:
        raise TraceError(
            f"line {len(time_ms)}: the trace lasts no time; its last number is its length in "
            "milliseconds, at least 1"
        )
    if length_ms * _MS > MAX_LENGTH_NS:
        line = int(np.searchsorted(time_ms, MAX_LENGTH_NS // _MS, side="right")) + 1
        raise TraceError(f"line {line}: {time_ms[line - 1]}: a trace lasts at most 366 days")
    # Its end is its beginning: what is at 0 comes at the end of the time before.
    at_ms, lines, count = np.unique(
        np.where(time_ms == 0, length_ms, time_ms), return_index=True, return_counts=True
    )
    before_ms = np.concatenate(([0], at_ms[:-1]))
    begin_ms = np.maximum(before_ms, at_ms - MAX_SPREAD_MS)
    rate_bps = _divide(count * (OPPORTUNITY_BYTES * 8 * 1000), at_ms - begin_ms)
    if rate_bps.max() > MAX_RATE_BPS:
        line = int(lines[np.argmax(rate_bps)]) + 1
        raise TraceError(f"line {line}: so many of these are more than 100gbit, the highest rate")
    outage = np.zeros_like(rate_bps)
    real = np.stack([begin_ms > before_ms, np.ones(len(at_ms), dtype=bool)], axis=1).ravel()
    return Trace(
        time_ns=np.stack([before_ms, begin_ms], axis=1).ravel()[real] * _MS,
        length_ns=length_ms * _MS,
        rate_bps=np.stack([outage, rate_bps], axis=1).ravel()[real],
    )


def _divide(dividend: Int64s, divisor: Int64s) -> Int64s:
    """The quotient to the nearest whole number."""
    quotient: Int64s = (2 * dividend + divisor) // (2 * divisor)
    return quotient


# CSV: quantities, columns, rows


@dataclass(frozen=True)
class _Kind:
    """What a column can hold: its units as multiples of what is kept, and what is accepted."""

    units: Mapping[str, int]
    example: str
    accepted: str
    high: int
    # The unit of a column that names none.
    bare: str = ""
    hints: Mapping[str, str] = field(default_factory=dict)


_KINDS = {
    "time": _Kind(
        units=units.TIME.units,
        example="time_s",
        accepted="a time is a number from 0 on that is larger than the one before",
        high=2**63 - 1,
        bare="s",
    ),
    "rate": _Kind(
        units={**units.RATE.units, "bps": 1},
        example="rate_mbit",
        accepted="a rate is a number from 0 to 100gbit",
        high=MAX_RATE_BPS,
        # In a header these are most often bits, for tc they are bytes: nobody should guess.
        hints={f"{p}bps": f" (for bits, {p}bit)" for p in "kmg"},
    ),
    "delay": _Kind(
        units=units.TIME.units,
        example="delay_ms",
        accepted="a delay is a number from 0 to 10s",
        high=MAX_DELAY_NS,
    ),
    "loss": _Kind(
        units={
            "percent": _LOSS_STEPS // 100,
            "%": _LOSS_STEPS // 100,
            "fraction": _LOSS_STEPS,
        },
        example="loss_percent",
        accepted="a loss is a number from 0 to 100 percent",
        high=_LOSS_STEPS,
    ),
}
#: What a column of a CSV file can be.
COLUMNS = tuple(_KINDS)
#: The name of a column that is not played: signal to noise and interference, in dB.
SINR = "sinr_db"
_SINR_STEPS = 1000

# No more digits than a quantity can need: they bound the work on senseless input.
_NUMBER = re.compile(
    r"\s*\+?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE][-+]?[0-9]{1,2})?\s*"
)
# What most numbers are like, one per line.
_SIMPLE = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_SIMPLE_NUMBERS = re.compile(rf"{_SIMPLE}(?:\n{_SIMPLE})*")
# Rows that are looked at together.
_CHUNK = 10_000
# How people write that nothing was measured.
_EMPTY = ("", "-", "nan")


@dataclass(frozen=True)
class _Column:
    """A column that is read: its place in the row, its name, and how to read a cell of it.

    `scale` is what its numbers are multiplied with, 0 if they are dates.
    """

    kind: str
    index: int
    name: str
    scale: int
    parse: Callable[[str], int]


def _read_csv(
    text: str,
    columns: Mapping[str, str] | None,
    interval_ns: int | None,
    skip_empty: bool,
    sinr: bool,
) -> Trace:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = ((reader.line_num, row) for row in reader if row)
        line, header = next(rows, (1, []))
        header = [name.strip() for name in header]
        wanted = _columns(header, columns, interval_ns, line)
        if sinr and SINR in header:
            wanted.append(_Column("sinr", header.index(SINR), SINR, 0, _parse_sinr))
        found = _rows(rows, wanted, len(header), skip_empty)
    except csv.Error as error:
        message = f"line {reader.line_num}: {printable(str(error))}; {_CSV_ACCEPTED}"
        raise TraceError(message) from None
    count = len(next(iter(found.values())))
    if interval_ns is not None:
        length_ns = count * interval_ns
        if length_ns > MAX_LENGTH_NS:
            raise TraceError(
                f"{count} rows of {units.format_time(interval_ns)} each; a trace lasts at most "
                "366 days"
            )
        time_ns = np.arange(count, dtype=np.int64) * interval_ns
    else:
        time_ns = found["time"]
        if count == 1:
            raise TraceError("a single row; a trace has two or more, or no times and an interval")
        # How long the last one holds is not in the file: as long as the one before it.
        length_ns = int(2 * time_ns[-1] - time_ns[-2])
    loss = found["loss"] / _LOSS_STEPS if "loss" in found else None
    rate_bps = found.get("rate")
    if rate_bps is not None and rate_bps.max() < MIN_RATE_BPS:
        name = next(column.name for column in wanted if column.kind == "rate")
        raise TraceError(
            f"column {shown(name)}: the rate never is {units.format_rate(MIN_RATE_BPS)} or more; "
            "is it the right column and unit? 0 is an outage, and one has to end"
        )
    if loss is not None and loss.min() == 1:
        name = next(column.name for column in wanted if column.kind == "loss")
        raise TraceError(f"column {shown(name)}: all is lost for ever; less than 100% is accepted")
    sinr_db = found["sinr"] / _SINR_STEPS if "sinr" in found else None
    return Trace(time_ns, length_ns, rate_bps, found.get("delay"), loss, sinr_db)


def _rows(
    rows: Iterator[tuple[int, list[str]]], columns: Sequence[_Column], width: int, skip_empty: bool
) -> dict[str, Int64s]:
    """The numbers of each kind; times are those since the first."""
    values = {column.kind: array("q") for column in columns}
    lines = array("q")
    while chunk := list(itertools.islice(rows, _CHUNK)):
        for line, row in chunk:
            if len(row) != width:
                raise TraceError(f"line {line}: {len(row)} cells, where the header has {width}")
        if skip_empty:
            taken = [column.index for column in columns]
            chunk = [c for c in chunk if not any(_is_empty(c[1][index]) for index in taken)]
        lines.extend(line for line, _ in chunk)
        for column in columns:
            cells = [row[column.index] for _, row in chunk]
            numbers = _simple_numbers(column, cells)
            if numbers is None:
                numbers = array(
                    "q", [_number(column, c, n[0]) for c, n in zip(cells, chunk, strict=True)]
                )
            values[column.kind].extend(numbers)
    if not lines:
        raise TraceError(f"no rows after the header; {_CSV_ACCEPTED}")
    found = {kind: np.frombuffer(numbers, dtype=np.int64) for kind, numbers in values.items()}
    if columns[0].kind == "time":
        found["time"] = found["time"] - found["time"][0]
        _check_times(found["time"], lines, columns[0].name)
    return found


def _simple_numbers(column: _Column, cells: Sequence[str]) -> array[int] | None:
    """All cells at once, or None if one of them needs a closer look."""
    text = "\n".join(cells)
    if not column.scale or text.count("\n") >= len(cells) or not _SIMPLE_NUMBERS.fullmatch(text):
        return None
    scaled = np.array([float(cell) for cell in cells]) * column.scale
    # Two roundings, of 2^-53 each, move what is below 2^50 by less than a quarter.
    if scaled.max() >= min(2**50, _KINDS[column.kind].high + 1):
        return None
    return array("q", np.rint(scaled).astype(np.int64).tobytes())


def _number(column: _Column, cell: str, line: int) -> int:
    try:
        return column.parse(cell)
    except ValueError as error:
        place = f"line {line}, column {shown(column.name)}"
        raise TraceError(f"{place}: {_quoted(cell)}{error}") from None


def _check_times(time_ns: Int64s, lines: Sequence[int], name: str) -> None:
    # The last step is as long as the one before it, so at most as long as all before it.
    wrong = time_ns > MAX_LENGTH_NS // 2
    wrong[1:] |= np.diff(time_ns) <= 0
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    if time_ns[row] > time_ns[row - 1]:
        message = "more than 183 days after the first row, the longest that is accepted"
    else:
        what = "the same time again" if time_ns[row] == time_ns[row - 1] else "time goes back"
        message = f"{what}; {_KINDS['time'].accepted}, or leave times out and give an interval"
    raise TraceError(f"line {lines[row]}, column {shown(name)}: {message}")


def _is_empty(cell: str) -> bool:
    return cell.strip().lower() in _EMPTY


def _columns(
    header: Sequence[str],
    asked: Mapping[str, str] | None,
    interval_ns: int | None,
    line: int,
) -> list[_Column]:
    """The columns to read, the time first, if there is one."""
    if asked is None:
        kinds = [kind for kind in _KINDS if kind != "time" or interval_ns is None]
        found = _named_columns(header, kinds, line)
        if not found:
            raise TraceError(
                f"line {line}: neither kind of trace; {_ACCEPTED}, or say with columns what "
                "the columns are"
            )
    else:
        unknown = [key for key in asked if key not in _KINDS]
        if unknown:
            hint = suggestion(unknown[0], list(_KINDS)) or ";"
            raise TraceError(
                f"columns: unknown {shown(unknown[0])}{hint} accepted: {', '.join(_KINDS)}"
            )
        if "time" in asked and interval_ns is not None:
            raise TraceError("columns: a time and an interval; give one of them")
        found = [_asked_column(kind, asked[kind], header) for kind in _KINDS if kind in asked]
    kinds = [column.kind for column in found]
    known = f"the header has {shown(', '.join(header), 200)}"
    if interval_ns is None and "time" not in kinds:
        raise TraceError(
            f"line {line}: no column for the time; it is called e.g. time_s, or give an interval, "
            f"the length of a row; {known}"
        )
    if not set(kinds) - {"time"}:
        raise TraceError(
            f"line {line}: no column for rate, delay or loss; they are called e.g. rate_mbit, "
            f"delay_ms, loss_percent; {known}"
        )
    return found


def _named_columns(header: Sequence[str], kinds: Sequence[str], line: int) -> list[_Column]:
    """The columns that are called as docs/traces.md says."""
    found: list[_Column] = []
    for kind in kinds:
        like = [i for i, name in enumerate(header) if _kind_and_unit(name)[0] == kind]
        # rate_max beside rate_mbit is somebody's own.
        good = [i for i in like if _kind_and_unit(header[i])[1] in _KINDS[kind].units]
        chosen = good or like
        if len(chosen) > 1:
            names = " and ".join(shown(header[index]) for index in chosen)
            raise TraceError(
                f"line {line}: {names} are both a {kind}; say with columns which to take"
            )
        found.extend(
            _column(kind, index, header[index], _kind_and_unit(header[index])[1])
            for index in chosen
        )
    return found


def _kind_and_unit(name: str) -> tuple[str, str]:
    """What a column of that name holds, and its unit: time_s, rate [mbit], loss (%), ("", "")."""
    form = rf"({'|'.join(_KINDS)})(?:_([^\s\[\](){{}}]+)|\s*\[([^\[\]]*)\]|\s*\(([^()]*)\))?"
    match = re.fullmatch(form, name.lower())
    if not match:
        return "", ""
    unit = (match[2] or match[3] or match[4] or "").strip()
    return match[1], unit or _KINDS[match[1]].bare


def _asked_column(kind: str, spec: object, header: Sequence[str]) -> _Column:
    """The column that `spec` asks for: a name of the header, and after it the unit in brackets."""
    example = f'a column is a name of the header and a unit, e.g. "bitrate [{_units(kind)[0]}]"'
    if not isinstance(spec, str):
        raise TraceError(f"columns, {kind}: {shown(spec)} is not text; {example}")
    name, unit = spec.strip(), ""
    match = re.fullmatch(r"(.*\S)\s*\[([^\[\]]+)\]", name, re.DOTALL)
    if match and name not in header:
        name, unit = match[1], match[2].strip()
    count = header.count(name)
    if count != 1:
        what = "no such column" if count == 0 else f"{count} columns of that name"
        hint = suggestion(name, {n.lower(): n for n in header}) if count == 0 else ""
        known = f"the header has {shown(', '.join(header), 200)}"
        raise TraceError(f"columns, {kind}: {shown(name)}: {what}{hint or ';'} {known}")
    if not unit:
        match = re.fullmatch(r".*(?:_|[\[(]\s*)([^\s_\[\]()]+)\s*[\])]?", name, re.DOTALL)
        unit = match[1] if match and match[1].lower() in _KINDS[kind].units else ""
    return _column(kind, header.index(name), name, unit)


def _column(kind: str, index: int, name: str, unit: str) -> _Column:
    what = _KINDS[kind]
    if kind == "time" and "%" in unit:
        return _Column(kind, index, name, 0, _date_parser(unit))
    scale = what.units.get(unit.lower())
    if scale is None:
        problem = (
            f"unknown unit {shown(unit)}{what.hints.get(unit.lower(), '')}" if unit else "no unit"
        )
        raise TraceError(
            f"column {shown(name)}: {problem}; the units of a {kind} are "
            f"{one_of(_units(kind))}, e.g. {what.example} in the header or "
            f'"{printable(name[:30])} [{_units(kind)[0]}]" in columns'
        )
    return _Column(kind, index, name, scale, _number_parser(what, scale))


def _units(kind: str) -> list[str]:
    return list(_KINDS[kind].units)


def _number_parser(kind: _Kind, scale: int) -> Callable[[str], int]:
    def parse(cell: str) -> int:
        if not _NUMBER.fullmatch(cell):
            raise ValueError(f"{_complaint(cell)}; {kind.accepted}")
        number = round(Decimal(cell.strip()) * scale)
        if number > kind.high:
            raise ValueError(f"out of range; {kind.accepted}")
        return number

    return parse


def _complaint(cell: str, wanted: str = "number") -> str:
    cell = cell.strip()
    if not cell:
        return "empty"
    return "negative" if re.match("[-\N{MINUS SIGN}][0-9.]", cell) else f"not a {wanted}"


def _parse_sinr(cell: str) -> int:
    """Thousandths of a dB."""
    negative = cell.strip().startswith("-")
    digits = cell.strip()[1:] if negative else cell
    steps = round(Decimal(digits.strip()) * _SINR_STEPS) if _NUMBER.fullmatch(digits) else None
    if steps is None or steps > 1000 * _SINR_STEPS:
        raise ValueError("a SINR is a number from -1000 to 1000")
    return -steps if negative else steps


def _date_parser(form: str) -> Callable[[str], int]:
    """A parser of dates, to nanoseconds since 1970."""

    def parse(cell: str) -> int:
        try:
            date = datetime.strptime(cell.strip(), form)
        # strptime lets the errors of the regular expressions pass that it makes of formats.
        except (ValueError, re.error):
            message = "not a date" if cell.strip() else "empty"
            raise ValueError(f"{message}; the form of this column is {shown(form)}") from None
        # A time of day alone is one of 1900.
        if not 1850 <= date.year < 2100:
            raise ValueError("out of range; the year of a date is 1850 to 2099")
        since = date - datetime(1970, 1, 1, tzinfo=date.tzinfo)
        return since // timedelta(microseconds=1) * 1000

    return parse


def _quoted(cell: str) -> str:
    return f"{shown(cell)}: " if cell.strip() else ""
