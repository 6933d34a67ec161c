# SPDX-License-Identifier: GPL-2.0-only
"""Link traces in CSV files: the meaning and units of columns, and the rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np

from mptcplab import units
from mptcplab.mistakes import one_of, printable, shown, suggestion
from mptcplab.traces.link_trace import (
    ACCEPTED,
    CSV_ACCEPTED,
    MAX_DELAY_NS,
    MAX_RATE_BPS,
    MIN_RATE_BPS,
    SINR,
    TraceError,
)
from mptcplab.traces.trace_steps import LOSS_STEPS, Int64s, Trace

#: The longest trace.
MAX_LENGTH_NS = 366 * 24 * 3600 * 10**9


@dataclass(frozen=True)
class _Kind:
    """A kind of column: its units as multiples of the stored one, and the accepted values."""

    units: Mapping[str, int]
    example: str
    accepted: str
    high: int
    low: int = 0
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
        # In a header these usually mean bits, in tc bytes: we do not guess.
        hints={f"{p}bps": f" (for bits, {p}bit)" for p in "kmg"},
    ),
    "delay": _Kind(
        units=units.TIME.units,
        example="delay_ms",
        accepted="a delay is a number from 0 to 10s",
        high=MAX_DELAY_NS,
    ),
    "loss": _Kind(
        units={"percent": LOSS_STEPS // 100, "%": LOSS_STEPS // 100, "fraction": LOSS_STEPS},
        example="loss_percent",
        accepted="a loss is a number from 0 to 100 percent",
        high=LOSS_STEPS,
    ),
}
_SINR_STEPS = 1000
_SINR_DB = _Kind(
    units={"db": _SINR_STEPS},
    example=SINR,
    accepted="a SINR is a number from -1000 to 1000",
    high=1000 * _SINR_STEPS,
    low=-1000 * _SINR_STEPS,
)

# More digits than any quantity needs; a limit on the work for senseless input.
_NUMBER = re.compile(
    r"\s*[-+]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE][-+]?[0-9]{1,2})?\s*"
)
# How people write that there is no measurement.
_EMPTY = ("", "-", "nan")


@dataclass(frozen=True)
class _Column:
    """A column that is read: its index in the row, its name, and how to parse its cells."""

    kind: str
    index: int
    name: str
    parse: Callable[[str], int]


def read(
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
            parse = _number_parser(_SINR_DB, _SINR_STEPS)
            wanted.append(_Column("sinr", header.index(SINR), SINR, parse))
        found = _rows(rows, wanted, len(header), skip_empty)
    except csv.Error as error:
        message = f"line {reader.line_num}: {printable(str(error))}; {CSV_ACCEPTED}"
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
        # The file does not say how long the last row holds: as long as the one before it.
        length_ns = int(2 * time_ns[-1] - time_ns[-2])
    loss = found["loss"] / LOSS_STEPS if "loss" in found else None
    rate_bps = found.get("rate")
    if rate_bps is not None and rate_bps.max() < MIN_RATE_BPS:
        name = next(column.name for column in wanted if column.kind == "rate")
        raise TraceError(
            f"column {shown(name)}: the rate never is {units.format_rate(MIN_RATE_BPS)} or more; "
            "is it the right column and unit? 0 is an outage, and one has to end"
        )
    if loss is not None and loss.min() == 1:
        name = next(column.name for column in wanted if column.kind == "loss")
        raise TraceError(f"column {shown(name)}: everything is lost; less than 100% is accepted")
    sinr_db = found["sinr"] / _SINR_STEPS if "sinr" in found else None
    return Trace(time_ns, length_ns, rate_bps, found.get("delay"), loss, sinr_db)


def _rows(
    rows: Iterator[tuple[int, list[str]]], columns: Sequence[_Column], width: int, skip_empty: bool
) -> dict[str, Int64s]:
    """The numbers of each kind; times count from the first."""
    values: dict[str, list[int]] = {column.kind: [] for column in columns}
    lines: list[int] = []
    for line, row in rows:
        if len(row) != width:
            raise TraceError(f"line {line}: {len(row)} cells, where the header has {width}")
        cells = [row[column.index] for column in columns]
        if skip_empty and any(cell.strip().lower() in _EMPTY for cell in cells):
            continue
        lines.append(line)
        for column, cell in zip(columns, cells, strict=True):
            try:
                values[column.kind].append(column.parse(cell))
            except ValueError as error:
                place = f"line {line}, column {shown(column.name)}"
                raise TraceError(f"{place}: {quoted(cell)}{error}") from None
    if not lines:
        raise TraceError(f"no rows after the header; {CSV_ACCEPTED}")
    found = {kind: np.array(numbers, dtype=np.int64) for kind, numbers in values.items()}
    if columns[0].kind == "time":
        found["time"] = found["time"] - found["time"][0]
        _check_times(found["time"], lines, columns[0].name)
    return found


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


def _columns(
    header: Sequence[str], asked: Mapping[str, str] | None, interval_ns: int | None, line: int
) -> list[_Column]:
    """The columns to read, the time first, if there is one."""
    if asked is None:
        kinds = [kind for kind in _KINDS if kind != "time" or interval_ns is None]
        found = _named_columns(header, kinds, line)
        if not found:
            raise TraceError(
                f"line {line}: neither kind of trace; {ACCEPTED}; or name the columns with "
                "`columns`"
            )
    else:
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
    """The columns whose names follow docs/traces.md."""
    found: list[_Column] = []
    for kind in kinds:
        like = [i for i, name in enumerate(header) if _kind_and_unit(name)[0] == kind]
        # rate_max beside rate_mbit is a column with another meaning.
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
    """Kind and unit in the name of a column: time_s, rate [mbit], loss (%); else ("", "")."""
    form = rf"({'|'.join(_KINDS)})(?:_([^\s\[\](){{}}]+)|\s*\[([^\[\]]*)\]|\s*\(([^()]*)\))?"
    match = re.fullmatch(form, name.lower())
    if not match:
        return "", ""
    unit = (match[2] or match[3] or match[4] or "").strip()
    return match[1], unit or _KINDS[match[1]].bare


def _asked_column(kind: str, spec: str, header: Sequence[str]) -> _Column:
    """The column that `spec` selects: a name of the header, then the unit in brackets."""
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
        return _Column(kind, index, name, _date_parser(unit))
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
    return _Column(kind, index, name, _number_parser(what, scale))


def _units(kind: str) -> list[str]:
    return list(_KINDS[kind].units)


def _number_parser(kind: _Kind, scale: int) -> Callable[[str], int]:
    def parse(cell: str) -> int:
        if not _NUMBER.fullmatch(cell) or (not kind.low and cell.lstrip().startswith("-")):
            raise ValueError(f"{complaint(cell)}; {kind.accepted}")
        number = round(Decimal(cell.strip()) * scale)
        if not kind.low <= number <= kind.high:
            raise ValueError(f"out of range; {kind.accepted}")
        return number

    return parse


def complaint(cell: str, wanted: str = "number") -> str:
    cell = cell.strip()
    if not cell:
        return "empty"
    return "negative" if re.match("[-\N{MINUS SIGN}][0-9.]", cell) else f"not a {wanted}"


def _date_parser(form: str) -> Callable[[str], int]:
    """A parser of dates, to nanoseconds since 1970."""

    def parse(cell: str) -> int:
        try:
            date = datetime.strptime(cell.strip(), form)
        # strptime passes on errors of the regular expressions that it builds from formats.
        except (ValueError, re.error):
            message = "not a date" if cell.strip() else "empty"
            raise ValueError(f"{message}; the form of this column is {shown(form)}") from None
        # A time of day without a date gets the year 1900.
        if not 1850 <= date.year < 2100:
            raise ValueError("out of range; the year of a date is 1850 to 2099")
        since = date - datetime(1970, 1, 1, tzinfo=date.tzinfo)
        return since // timedelta(microseconds=1) * 1000

    return parse


def quoted(cell: str) -> str:
    return f"{shown(cell)}: " if cell.strip() else ""
