# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mptcplab.traces import trace_file, trace_steps
from mptcplab.traces.link_trace import MIN_RATE_BPS, Step, TraceError
from mptcplab.traces.trace_steps import Trace

MS = 10**6
S = 10**9
MBIT = 10**6

# No test may fail because the machine is busy, and a failure must come again.
PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


def read(folder: Path, content: str | bytes, **how: Any) -> Trace:
    file = folder / "trace"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return trace_file.read(file, **how)


def trace_of(lengths_ns: Sequence[int], **values: Sequence[float]) -> Trace:
    """A trace whose steps hold for these times; values as in Trace, by name."""
    ends = np.cumsum(lengths_ns)
    arrays: dict[str, Any] = {
        name: np.array(list(v), dtype=np.float64 if name == "loss" else np.int64)
        for name, v in values.items()
    }
    return Trace(np.concatenate(([0], ends[:-1])).astype(np.int64), int(ends[-1]), **arrays)


def rows(found: Trace) -> list[tuple[int, int]]:
    """The steps of a trace of rates: ms, kbit/s."""
    assert found.rate_bps is not None
    pairs = zip(found.time_ns.tolist(), found.rate_bps.tolist(), strict=True)
    return [(time_ns // MS, rate_bps // 1000) for time_ns, rate_bps in pairs]


def rates(steps: Sequence[Step]) -> list[tuple[int, int | None]]:
    """Steps that set rates: ms, kbit/s."""
    return [(s.at_ns // MS, None if s.rate_bps is None else s.rate_bps // 1000) for s in steps]


def carried_by_trace(played: Trace, end_ns: int, repeat: bool = True) -> int:
    """Bits times 1e9 that the trace carries from its beginning to `end_ns`."""
    assert played.rate_bps is not None
    ends = np.append(played.time_ns[1:], played.length_ns)
    spans = list(zip(played.time_ns.tolist(), ends.tolist(), played.rate_bps.tolist(), strict=True))
    periods, rest_ns = divmod(end_ns, played.length_ns)
    if not repeat and periods:
        beyond = (end_ns - played.length_ns) * spans[-1][2]
        periods, rest_ns = 1, 0
    else:
        beyond = 0
    whole = sum((end - begin) * rate for begin, end, rate in spans)
    part = sum((min(end, rest_ns) - begin) * rate for begin, end, rate in spans if begin < rest_ns)
    return int(periods * whole + part + beyond)


def carried_by_steps(steps: Sequence[Step], begin_ns: int, end_ns: int) -> int:
    """Bits times 1e9 that the steps carry in a window."""
    ends = [step.at_ns for step in steps[1:]] + [end_ns]
    total = 0
    for step, until in zip(steps, ends, strict=True):
        span = min(until, end_ns) - max(step.at_ns, begin_ns)
        total += max(span, 0) * (step.rate_bps or 0)
    return total


# Mahimahi


def test_each_line_of_mahimahi_is_a_packet_that_takes_the_time_since_the_one_before(
    folder: Path,
) -> None:
    # 1500 bytes are 12 kbit: in 1 ms 12 Mbit/s, two of them in 4 ms 6 Mbit/s.
    assert rows(read(folder, "1\n2\n6\n6\n")) == [(0, 12000), (1, 12000), (2, 6000)]


def test_a_gap_of_mahimahi_of_more_than_a_tenth_of_a_second_is_an_outage(folder: Path) -> None:
    # In the last 100 ms of the gap the packet is sent: 120 kbit/s.
    assert rows(read(folder, "100\n300")) == [(0, 120), (100, 0), (200, 120)]


def test_packets_at_0_are_those_at_the_end_which_is_where_mahimahi_begins_anew(
    folder: Path,
) -> None:
    found = read(folder, "0\n0\n1\n2\n")
    assert rows(found) == [(0, 12000), (1, 36000)]
    assert found.length_ns == 2 * MS


def test_windows_line_ends_and_a_byte_order_mark_are_read(folder: Path) -> None:
    assert rows(read(folder, b"\xef\xbb\xbf1\r\n2\r\n")) == [(0, 12000), (1, 12000)]
    csv = b"\xef\xbb\xbftime_s,rate_mbit\r\n0,1\r\n1,2\r\n"
    assert rows(read(folder, csv)) == [(0, 1000), (1000, 2000)]


@PROPERTY
@given(gaps=st.lists(st.integers(0, 400), min_size=1, max_size=50).filter(any))
def test_no_packet_of_mahimahi_is_lost(folder: Path, gaps: list[int]) -> None:
    times = np.cumsum(gaps)
    found = read(folder, "\n".join(map(str, times)))
    packets = Fraction(carried_by_trace(found, found.length_ns), S * 1500 * 8)
    # Each rate is a whole number, half a bit per second off at most.
    assert abs(packets - len(gaps)) <= Fraction(found.length_ns, 2 * S * 1500 * 8)
    assert found.length_ns == times[-1] * MS


# CSV


def test_a_csv_has_its_units_in_the_header(folder: Path) -> None:
    found = read(folder, "time_s,rate_mbit,delay_ms,loss_percent\n0,1.5,10,0\n0.5,2,20.5,0.1\n")
    assert found.time_ns.tolist() == [0, S // 2]
    assert found.rate_bps is not None
    assert found.rate_bps.tolist() == [1_500_000, 2_000_000]
    assert found.delay_ns is not None
    assert found.delay_ns.tolist() == [10_000_000, 20_500_000]
    assert found.loss is not None
    assert found.loss.tolist() == [0, 0.001]
    assert found.length_ns == S


@pytest.mark.parametrize(
    ("header", "cell", "name", "value"),
    [
        ("rate_bit", "5000", "rate_bps", 5000),
        ("rate_bps", "5000", "rate_bps", 5000),
        ("Rate [kbit]", "5", "rate_bps", 5000),
        ("rate (Gbit)", "1e-3", "rate_bps", 10**6),
        ("delay_us", "5", "delay_ns", 5000),
        ("delay_s", "10", "delay_ns", 10**10),
        ("loss_fraction", "0.25", "loss", 0.25),
        ("loss [%]", " 25 ", "loss", 0.25),
    ],
)
def test_every_unit_is_read(folder: Path, header: str, cell: str, name: str, value: float) -> None:
    found = read(folder, f"time,{header}\n0,{cell}\n1,{cell}\n")
    assert getattr(found, name).tolist() == [value, value]


def test_other_columns_are_nobodys_business(folder: Path) -> None:
    text = 'rate_max,note,rate_mbit,time_ms\nx,"a, b",1,0\n,,2,10\n'
    assert rows(read(folder, text)) == [(0, 1000), (10, 2000)]


def test_times_count_from_the_first_row_to_the_nanosecond(folder: Path) -> None:
    found = read(folder, "time_s,rate_mbit\n1700000000.000000001,1\n1700000000.000000003,2\n")
    assert found.time_ns.tolist() == [0, 2]
    assert found.length_ns == 4


def test_anybodys_csv_is_read_with_a_mapping(folder: Path) -> None:
    text = "Start,DL_bitrate,UL_bitrate\n2020-02-14 09:38:22,900,1\n2020-02-14 09:38:24,800,2\n"
    columns = {"time": "Start [%Y-%m-%d %H:%M:%S]", "rate": "DL_bitrate [kbit]"}
    assert rows(read(folder, text, columns=columns)) == [(0, 900), (2000, 800)]
    columns = {"rate": "UL_bitrate [mbit]"}
    found = read(folder, text, columns=columns, interval_ns=S // 2)
    assert rows(found) == [(0, 1000), (500, 2000)]
    assert found.length_ns == S


def test_a_name_that_has_its_unit_needs_no_second_one(folder: Path) -> None:
    text = "down [kbit],up_kbit\n5,6\n"
    assert rows(read(folder, text, columns={"rate": "down [kbit]"}, interval_ns=S)) == [(0, 5)]
    assert rows(read(folder, text, columns={"rate": "up_kbit"}, interval_ns=S)) == [(0, 6)]


def test_rows_in_which_nothing_was_measured_can_be_left_out(folder: Path) -> None:
    text = "time,rate_kbit,x\n0,1,\n1,-,\n2,,\n3,nan,\n4,5,\n"
    assert rows(read(folder, text, skip_empty=True)) == [(0, 1), (4000, 5)]


@PROPERTY
@given(st.lists(st.decimals(0, 10**5, places=4), min_size=2).filter(lambda v: max(v) > 1))
def test_numbers_are_read_exactly(folder: Path, numbers: list[Fraction]) -> None:
    text = "rate_mbit\n" + "\n".join(f"{number:f}" for number in numbers)
    found = read(folder, text, interval_ns=1)
    assert found.rate_bps is not None
    assert found.rate_bps.tolist() == [Fraction(number) * MBIT for number in numbers]


# Mistakes

KBIT = {"rate": "r [kbit]"}


@pytest.mark.parametrize(
    ("content", "how", "message"),
    [
        ("", {}, "no rows; a Mahimahi trace has one whole number"),
        (" \n\n", {}, "no rows; a Mahimahi trace"),
        ("-1\n2\n", {}, 'line 1: "-1": negative; a Mahimahi trace'),
        ("1\n2\n\n4\n", {}, "line 3: empty; a Mahimahi trace"),
        ("1\n2.5\n", {}, 'line 2: "2.5": not a whole number; a Mahimahi trace'),
        ("1\n٣\n", {}, 'line 2: "٣": not a whole number; a Mahimahi trace'),
        ("1\n5\n4\n", {}, "line 3: 4 after 5; a Mahimahi trace"),
        ("0\n0\n", {}, "line 2: the trace has no length"),
        ("1\n" + "9" * 30, {}, f'line 2: "{"9" * 30}": too many digits'),
        ("1\n99999999999\n", {}, "line 2: 99999999999: a trace lasts at most 366 days"),
        ("1\n" * 8334, {}, "line 1: this many packets at once exceed 100gbit"),
        (b"1\n2\n\xff\n", {}, "line 3: not UTF-8 text (byte 0xff)"),
        ("hello", {}, "line 1: neither kind of trace; a Mahimahi trace"),
        ("0,5\n1,6\n", {}, "line 1: neither kind of trace; a Mahimahi trace"),
        ("time;rate_mbit\n0;5\n", {}, "line 1: neither kind of trace; a Mahimahi trace"),
        ("time_s,rate_mbit\n", {}, "no rows after the header; a CSV trace"),
        ("time_s,rate_mbit\n0,1\n", {}, "a single row; a trace has two or more"),
        ("rate_mbit\n1\n", {}, "line 1: no column for the time; it is called e.g. time_s"),
        ("time_s\n1\n", {}, "line 1: no column for rate, delay or loss; they are called"),
        ("time,rate\n0,1\n", {}, 'column "rate": no unit; the units of a rate are bit, kbit'),
        ("time,rate_mbps\n0,1\n", {}, 'column "rate_mbps": unknown unit "mbps" (for bits, mbit)'),
        ("time_h,rate_bit\n0,1\n", {}, 'column "time_h": unknown unit "h"; the units of a time'),
        ("time,loss\n0,1\n", {}, 'column "loss": no unit; the units of a loss are percent, %'),
        ("time,rate_bit,rate_mbit\n", {}, 'line 1: "rate_bit" and "rate_mbit" are both a rate'),
        ("\ntime,rate_mbit\n0,1\n1\n", {}, "line 4: 1 cells, where the header has 2"),
        ("time,rate_mbit\n0,1\n1,\n", {}, 'line 3, column "rate_mbit": empty; a rate is'),
        ("time,rate_mbit\n0,1\n1,nan\n", {}, 'line 3, column "rate_mbit": "nan": not a number'),
        ("time,rate_mbit\n0,inf\n", {}, 'line 2, column "rate_mbit": "inf": not a number'),
        ("time,rate_mbit\n0,-1\n", {}, 'line 2, column "rate_mbit": "-1": negative; a rate'),
        ("time,rate_mbit\n-1,1\n", {}, 'line 2, column "time": "-1": negative; a time'),
        ("time,rate_mbit\n0,1_0\n", {}, 'line 2, column "rate_mbit": "1_0": not a number'),
        ("time,rate_gbit\n0,101\n", {}, 'line 2, column "rate_gbit": "101": out of range; a rate'),
        ("time,delay_s\n0,10.1\n", {}, 'line 2, column "delay_s": "10.1": out of range; a delay'),
        ("time,loss_%\n0,101\n", {}, 'line 2, column "loss_%": "101": out of range; a loss'),
        ("time,rate_bit\n1,1\n0,1\n", {}, 'line 3, column "time": time goes back; a time is'),
        ("time,rate_bit\n1,1\n1,1\n", {}, 'line 3, column "time": the same time again; a time'),
        ("time,rate_bit\n0,1\n2e7,1\n", {}, 'line 3, column "time": more than 183 days after'),
        ("time,rate_mbit\n0,0\n1,0\n", {}, 'column "rate_mbit": the rate never is 1kbit or more'),
        ("time,rate_bit\n0,50\n1,20\n", {}, 'column "rate_bit": the rate never is 1kbit or more'),
        ("time,loss_%\n0,100\n1,100\n", {}, 'column "loss_%": everything is lost; less than'),
        ('time,rate_bit\n0,"1\n', {}, "line 2: unexpected end of data; a CSV trace"),
        ("rate_mbit\n1\n1\n", {"interval_ns": 300 * 86400 * S}, "2 rows of 25920000s each; a tr"),
        ("R\n1\n", {"columns": KBIT}, 'columns, rate: "r": no such column; did you mean "R"?'),
        ("r,r\n1,1\n", {"columns": KBIT}, 'columns, rate: "r": 2 columns of that name; the'),
        ("r\n1\n", {"columns": KBIT}, "line 1: no column for the time"),
        ("r\n1\n", {"columns": {"rate": "r"}}, 'column "r": no unit; the units of a rate'),
        (
            "t,r\n1,1\n",
            {"columns": KBIT | {"time": "t [s]"}, "interval_ns": S},
            "columns: a time and an interval; give one of them",
        ),
        (
            "t,r\n2020,1\n5 pm,2\n",
            {"columns": KBIT | {"time": "t [%Y]"}},
            'line 3, column "t": "5 pm": not a date; the form of this column is "%Y"',
        ),
        (
            "t,r\n0001,1\n",
            {"columns": KBIT | {"time": "t [%Y]"}},
            'line 2, column "t": "0001": out of range; the year of a date is 1850 to 2099',
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_is_accepted(
    folder: Path, content: str | bytes, how: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(TraceError, match="^" + re.escape(message)):
        read(folder, content, **how)


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"^there is no such file"):
        trace_file.read(tmp_path / "nothing")
    with pytest.raises(TraceError, match=r"^this is a directory; a trace has at most 64 MiB"):
        trace_file.read(tmp_path)
    with pytest.raises(TraceError, match=r"^this is not the name of a file"):
        trace_file.read(tmp_path / "\0")
    large = tmp_path / "large"
    with large.open("wb") as stream:
        stream.truncate((trace_file.MAX_FILE_MIB << 20) + 1)
    with pytest.raises(TraceError, match=r"^larger than 64 MiB"):
        trace_file.read(large)


HEADERS = st.sampled_from(["time_s", "time", "rate_mbit", "delay_ms", "loss_percent", "x", "r", ""])
CELLS = st.one_of(
    st.integers(-5, 10**12).map(str),
    st.decimals(allow_nan=True).map(str),
    st.floats().map(repr),
    st.sampled_from(["", " ", "-", '"', "\r", "\n", "1e99", "0x1", "1\0", "\ud7ff", "2020-01-01"]),
)
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=5)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
FORMATS = st.one_of(
    st.text(max_size=8), st.text("%YmdHMSzjZUwcf 12-", max_size=8).map(lambda form: f"x [{form}]")
)
COLUMNS = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(["time", "rate", "delay", "loss"]), FORMATS),
    st.just({"time": "time [s]", "rate": "r [kbit]"}),
)


def nothing_but_a_trace_error(folder: Path, content: bytes, how: Mapping[str, Any]) -> None:
    try:
        found = read(folder, content, **how)
    except TraceError as error:
        assert str(error).isprintable()  # noqa: PT017
    else:
        assert trace_steps.steps(found, duration_ns=S // 10, offset_ns=S)


@PROPERTY
@given(st.binary(), COLUMNS, st.sampled_from([None, 1, S]), st.booleans())
@example(b"rate_bps\n0\n1\n" * 2, None, 1, False)
def test_no_file_raises_anything_else(
    folder: Path, content: bytes, columns: Any, interval_ns: int | None, skip_empty: bool
) -> None:
    how = {"columns": columns, "interval_ns": interval_ns, "skip_empty": skip_empty}
    nothing_but_a_trace_error(folder, content, how)


@PROPERTY
@given(
    st.lists(HEADERS, min_size=1, max_size=4), TABLES, LINE_ENDS, COLUMNS,
    st.sampled_from([None, 1, S]), st.booleans(),
)  # fmt: skip
def test_nothing_that_is_nearly_a_csv_raises_anything_else(
    folder: Path,
    header: list[str],
    table: list[list[str]],
    line_end: str,
    columns: Any,
    interval_ns: int | None,
    skip_empty: bool,
) -> None:
    content = line_end.join(map(",".join, [header, *table])).encode()
    how = {"columns": columns, "interval_ns": interval_ns, "skip_empty": skip_empty}
    nothing_but_a_trace_error(folder, content, how)


# Steps


def test_what_holds_is_played_as_it_is() -> None:
    played = trace_of([S, 15 * MS, S], rate_bps=[5 * MBIT, 0, 7 * MBIT])
    steps = trace_steps.steps(played, duration_ns=2 * S)
    assert rates(steps) == [(0, 5000), (1000, 0), (1015, 7000)]


def test_the_trace_begins_anew_at_its_end() -> None:
    played = trace_of([S, S], rate_bps=[5 * MBIT, 7 * MBIT])
    steps = trace_steps.steps(played, duration_ns=3 * S, offset_ns=3 * S // 2)
    assert rates(steps) == [(0, 7000), (500, 5000), (1500, 7000), (2500, 5000)]


def test_without_repeat_the_last_values_stay() -> None:
    played = trace_of([S, MS], rate_bps=[5 * MBIT, 7 * MBIT])
    assert rates(trace_steps.steps(played, duration_ns=9 * S, repeat=False)) == [
        (0, 5000),
        (1000, 7000),
    ]
    beyond = trace_steps.steps(played, duration_ns=9 * S, offset_ns=99 * S, repeat=False)
    assert rates(beyond) == [(0, 7000)]


def test_what_is_shorter_than_the_resolution_is_played_as_its_mean() -> None:
    # 4 ms of 10 Mbit/s and 6 ms of 20 are 10 ms of 16; of the delays and losses alike.
    played = trace_of(
        [4 * MS, 6 * MS, S], rate_bps=[10**7, 2 * 10**7, 5 * MBIT],
        delay_ns=[10 * MS, 20 * MS, MS], loss=[0.1, 0.2, 0],
    )  # fmt: skip
    assert trace_steps.steps(played, duration_ns=S) == [
        Step(at_ns=0, rate_bps=16 * MBIT, delay_ns=16 * MS, loss=0.16),
        Step(at_ns=10 * MS, rate_bps=5 * MBIT, delay_ns=MS, loss=0),
    ]


def test_equal_rows_are_one_step_however_short_they_are() -> None:
    played = trace_of([MS] * 40, rate_bps=[5 * MBIT] * 23 + [6 * MBIT] * 17)
    assert rates(trace_steps.steps(played, duration_ns=40 * MS)) == [(0, 5000), (23, 6000)]


def test_a_rate_below_the_lowest_of_a_link_is_an_outage() -> None:
    played = trace_of([S, S], rate_bps=[MIN_RATE_BPS - 1, MIN_RATE_BPS])
    assert rates(trace_steps.steps(played, duration_ns=2 * S)) == [(0, 0), (1000, 1)]


def test_an_outage_at_the_end_is_played_to_its_own_end() -> None:
    """What waits for the link then arrives. A permanent outage has no end."""
    played = trace_of([MS, 8 * MS, MS], rate_bps=[MBIT, 0, 2 * MBIT])

    def over(duration_ms: int, *, repeat: bool = True, resolution_ms: int = 1) -> list[Any]:
        return rates(
            trace_steps.steps(
                played,
                duration_ns=duration_ms * MS,
                repeat=repeat,
                resolution_ns=resolution_ms * MS,
            )
        )

    assert over(1) == [(0, 1000)]
    for duration_ms in (2, 9):
        for repeat in (False, True):
            assert over(duration_ms, repeat=repeat) == [(0, 1000), (1, 0), (9, 2000)]
    assert over(10) == over(9)
    assert over(11) == [*over(9), (10, 1000)]
    gone = trace_of([MS, MS], rate_bps=[MBIT, 0])
    for repeat, expected in ((False, [(0, 1000), (1, 0)]), (True, [(0, 1000), (1, 0), (2, 1000)])):
        found = trace_steps.steps(gone, duration_ns=2 * MS, repeat=repeat, resolution_ns=MS)
        assert rates(found) == expected


def test_what_the_trace_does_not_say_stays_open() -> None:
    played = trace_of([S], delay_ns=[MS])
    assert trace_steps.steps(played, duration_ns=S) == [Step(0, None, MS, None)]


def traces(low_bps: int, high_bps: int) -> st.SearchStrategy[Trace]:
    length = st.one_of(st.integers(1, MS), st.integers(1, 30 * MS), st.integers(1, 3 * S))
    step = st.tuples(length, st.integers(low_bps, high_bps))
    lists = st.lists(step, min_size=1, max_size=30)
    # A trace of nanoseconds, played for seconds, would show no more.
    lasting = lists.filter(lambda steps: sum(length for length, _ in steps) > MS)
    return lasting.map(lambda s: trace_of([n for n, _ in s], rate_bps=[rate for _, rate in s]))


OFFSETS = st.integers(0, 5 * S)
RESOLUTIONS = st.sampled_from([MS, 10 * MS, 70 * MS + 1])


@PROPERTY
@given(traces(0, 10**11), OFFSETS, st.booleans(), RESOLUTIONS)
def test_every_step_carries_what_the_trace_would(
    played: Trace, offset_ns: int, repeat: bool, resolution_ns: int
) -> None:
    end_ns = 3 * S
    steps = trace_steps.steps(
        played, duration_ns=end_ns, offset_ns=offset_ns, repeat=repeat, resolution_ns=resolution_ns
    )
    assert steps[0].at_ns == 0
    later = [step.rate_bps for step in steps if step.at_ns >= end_ns]
    steps = steps[: len(steps) - len(later)]
    assert not later or (len(later) == 1 and later[0] and steps[-1].rate_bps == 0)
    ends = [step.at_ns for step in steps[1:]] + [end_ns]
    for step, until in zip(steps, ends, strict=True):
        until_trace = carried_by_trace(played, offset_ns + until, repeat)
        expected = until_trace - carried_by_trace(played, offset_ns + step.at_ns, repeat)
        span_ns = until - step.at_ns
        assert step.rate_bps is not None
        # Half a bit per second is what rounding costs; an outage is less than the lowest rate.
        error = span_ns / 2 if step.rate_bps else span_ns * MIN_RATE_BPS
        assert abs(step.rate_bps * span_ns - expected) <= error
        assert span_ns >= resolution_ns or until == end_ns
    assert all(a.rate_bps != b.rate_bps for a, b in itertools.pairwise(steps))


@PROPERTY
@given(traces(10**6, 10**7), OFFSETS, st.integers(0, 5 * S))
def test_in_any_ten_seconds_as_much_is_delivered_as_by_the_trace(
    played: Trace, offset_ns: int, begin_ns: int
) -> None:
    end_ns = begin_ns + 10 * S
    steps = trace_steps.steps(played, duration_ns=15 * S, offset_ns=offset_ns)
    until_trace = carried_by_trace(played, offset_ns + end_ns)
    expected = until_trace - carried_by_trace(played, offset_ns + begin_ns)
    # The window cuts two steps of 10 ms, in which the rate is at most ten times the mean of the
    # window: 2 * 10 ms * 10 of 10 s are 2 %.
    assert abs(carried_by_steps(steps, begin_ns, end_ns) - expected) <= 0.02 * expected


@PROPERTY
@given(st.lists(st.tuples(st.integers(1, 30 * MS), st.floats(0, 1)), min_size=1, max_size=20))
def test_a_mean_lies_between_the_values(rows: list[tuple[int, float]]) -> None:
    losses = [loss for _, loss in rows]
    played = trace_of([length for length, _ in rows], loss=losses)
    # A loss is kept in steps of 1e-9.
    for step in trace_steps.steps(played, duration_ns=S // 10):
        assert step.loss is not None
        assert min(losses) - 1e-9 <= step.loss <= max(losses) + 1e-9
