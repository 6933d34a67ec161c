# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mptcplab import units


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_rate, "50mbit", 50_000_000),
        (units.parse_rate, "0.5mbit", 500_000),
        (units.parse_rate, "1.5Gbit", 1_500_000_000),
        (units.parse_rate, "8bit", 8),
        (units.parse_rate, "64 kbit", 64_000),
        (units.parse_rate, " 1KBIT ", 1000),
        (units.parse_rate, "0", 0),
        (units.parse_time, "10ms", 10_000_000),
        (units.parse_time, "1.5s", 1_500_000_000),
        (units.parse_time, "100us", 100_000),
        (units.parse_time, "3ns", 3),
        (units.parse_time, "0", 0),
        (units.parse_size, "64KiB", 65_536),
        (units.parse_size, "177KB", 177_000),
        (units.parse_size, "10MB", 10_000_000),
        (units.parse_size, "1GiB", 2**30),
        (units.parse_size, "1448B", 1448),
        (units.parse_size, "1448", 1448),
        (units.parse_size, "0.5KiB", 512),
        (units.parse_size, "1tb", 10**12),
        (units.parse_fraction, "0.1%", 0.001),
        (units.parse_fraction, "100%", 1.0),
        (units.parse_fraction, "0", 0.0),
        (units.parse_fraction, "0.0%", 0.0),
        (units.parse_queue, "300", 300),
        (units.parse_queue, "300p", 300),
        (units.parse_queue, "20 P", 20),
    ],
)
def test_a_quantity_is_read_in_the_smallest_unit(
    parse: Callable[[str], float], text: str, value: float
) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (units.parse_rate, "50", "no unit; a rate is a number with bit, kbit, mbit or gbit"),
        (units.parse_rate, "50mbps", "unknown unit 'mbps' (bytes per second to tc); a rate"),
        (units.parse_rate, "50Mb", "unknown unit 'Mb' (bits or bytes?); a rate"),
        (units.parse_rate, "0.1bit", "not a whole number of bit; a rate"),
        (units.parse_rate, "0,5mbit", "a comma in the number; a rate"),
        (units.parse_rate, "1\N{KELVIN SIGN}bit", "unknown unit"),
        (units.parse_time, "10", "no unit; a time is a number with ns, us, ms or s"),
        (units.parse_time, "-5ms", "negative; a time"),
        (units.parse_time, "\N{MINUS SIGN}5ms", "negative; a time"),
        (units.parse_time, "10min", "unknown unit 'min' (a minute is 60s); a time"),
        (units.parse_time, "ms", "not a number; a time"),
        (units.parse_time, "nan", "not a number; a time"),
        (units.parse_time, "1e3ms", "unknown unit 'e3ms'; a time"),
        (units.parse_time, "1.2.3ms", "not a number; a time"),
        (units.parse_time, "9" * 5000, "too many digits; a time"),
        (units.parse_time, "", "empty; a time"),
        (units.parse_time, "0.1ns", "not a whole number of ns; a time"),
        (units.parse_time, "٣ms", "not a number; a time"),
        (units.parse_size, "64k", "unknown unit 'k' (neither KB nor KiB); a size"),
        (units.parse_size, "10mbit", "unknown unit 'mbit' (a size is not in bits); a size"),
        (units.parse_size, "1.5", "not a whole number of B; a size"),
        (units.parse_fraction, "0.1 percent", "unknown unit 'percent'; it is a percentage"),
        (units.parse_fraction, "2", "no % sign; it is a percentage, e.g. 0.1%"),
        (units.parse_fraction, "101%", "more than all; it is a percentage"),
        (units.parse_fraction, "0.00000001%", "smaller than 0.0000001%"),
        (units.parse_queue, "300KB", "unknown unit 'KB'; a queue is a whole number of packets"),
        (units.parse_queue, "1.5", "not a whole number; a queue"),
        (units.parse_queue, "-1", "negative; a queue"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_is_accepted(
    parse: Callable[[str], float], text: str, message: str
) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        parse(text)


def test_messages_call_a_quantity_what_the_caller_calls_it() -> None:
    with pytest.raises(ValueError, match="no unit; a delay is a number"):
        units.parse_time("10", "a delay")


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        (units.format_rate(50_000_000), "50mbit"),
        (units.format_rate(1_500_000), "1500kbit"),
        (units.format_rate(1_234_567), "1234567bit"),
        (units.format_rate(0), "0bit"),
        (units.format_time(10_000_000), "10ms"),
        (units.format_time(60 * 10**9), "60s"),
        (units.format_time(0), "0ns"),
        (units.format_fraction(0.001), "0.1%"),
        (units.format_fraction(1.0), "100%"),
        (units.format_fraction(1e-9), "0.0000001%"),
        (units.format_fraction(0.0), "0%"),
    ],
)
def test_a_quantity_is_written_short_and_exact(text: str, formatted: str) -> None:
    assert text == formatted


# No test may fail because the machine is busy, and a failure must come again.
PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

whole = st.integers(min_value=0, max_value=10**15)


@PROPERTY
@given(whole)
def test_rates_and_times_survive_the_round_trip(value: int) -> None:
    assert units.parse_rate(units.format_rate(value)) == value
    assert units.parse_time(units.format_time(value)) == value


@PROPERTY
@given(st.integers(min_value=0, max_value=10**9))
def test_fractions_survive_the_round_trip(billionths: int) -> None:
    fraction = billionths / 10**9
    assert units.parse_fraction(units.format_fraction(fraction)) == fraction


@PROPERTY
@given(st.from_regex(r"\s*[0-9]{1,22}(\.[0-9]{1,3})?\s?[bitkmgsunpBKMTi%]{0,5}\s*", fullmatch=True))
@example("1\N{KELVIN SIGN}bit")
@example("5 mbit")
def test_the_pattern_of_the_schema_accepts_whatever_can_be_read(text: str) -> None:
    for parse, pattern in (
        (units.parse_rate, units.RATE.pattern),
        (units.parse_time, units.TIME.pattern),
        (units.parse_size, units.SIZE.pattern),
        (units.parse_fraction, units.FRACTION_PATTERN),
        (units.parse_queue, units.QUEUE_PATTERN),
    ):
        try:
            parse(text)
        except ValueError:
            continue
        assert re.search(pattern, text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (99, "99 s"), (600, "10 min"), (11_400, "3 h 10 min"), (190_000, "2 days 4 h")],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text
