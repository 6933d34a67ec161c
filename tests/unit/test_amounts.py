# SPDX-License-Identifier: GPL-2.0-only
"""Numbers with units in formulas: what they come to, and what does not fit together."""

from __future__ import annotations

from typing import Any

import pytest

from mptcplab.formulas.amounts import UNITS, Amount, literals, text_of
from mptcplab.formulas.formula import Formula, FormulaError

GOODPUT = Amount(60_000_000, UNITS["bit/s"])
GOODPUT_BPS = Amount(60_000_000, UNITS["bit/s"], unit_is_known=True)
DELAY = Amount(200, UNITS["ms"])
NAMES = {
    "goodput": GOODPUT,
    "goodput_bps": GOODPUT_BPS,
    "delay": DELAY,
    "delay_ms": Amount(200, UNITS["ms"], unit_is_known=True),
    "stall_s": Amount(0.2, UNITS["s"], unit_is_known=True),
    "queue_bytes": Amount(1_500_000, UNITS["bytes"], unit_is_known=True),
    "packets": Amount(7, UNITS["packets"], unit_is_known=True),
}


def value(text: str) -> Any:
    replaced, found = literals(text)
    return Formula(replaced).value({**NAMES, **{name: each.value for name, each in found.items()}})


@pytest.mark.parametrize(
    "text",
    [
        "goodput == 60mbit",
        "goodput == 0.06gbit",
        "goodput_bps == 60e6 and goodput_bps == 60000kbit",
        "60mbit == goodput and 0 < goodput",
        "delay == 200ms and delay == 0.2s and delay_ms == 200 and delay_ms == delay",
        # a float of a fifth is not a fifth; in one unit or the other it is the same float
        "stall_s == 0.2 and stall_s <= 200.1ms",
        "goodput / 2 == 30mbit and 2 * goodput == goodput * 2 == 120mbit",
        "goodput / 30mbit == 2 and goodput / goodput == 1",
        "goodput - 10mbit == 50mbit and 70mbit - goodput == 10mbit and goodput + 0 == goodput",
        "abs(40mbit - goodput) == 20mbit and -goodput < 0 and +goodput > 0",
        # 60 Mbit/s for 200 ms are 1.5 MB
        "goodput * delay == 1500KB and queue_bytes == goodput * delay and queue_bytes == 1500000",
        "queue_bytes / goodput == delay and queue_bytes / delay == goodput",
        "queue_bytes == 1500KB and queue_bytes > 1MiB and 1 / delay_ms * 1s == 5",
        "packets == 7 and packets * 2 == 14 and packets < 10 and round(packets / 2, 1) == 3.5",
        "packets / 100 <= 7%",
        "max(goodput, 70mbit) == 70mbit and sum([goodput, goodput]) == 120mbit",
        "goodput_bps / 1e6 >= 60 and goodput_bps / 1e6 < 60.1",
        "round(goodput / 1mbit) == 60",
        "'3ms' == '3' + 'ms' and 1e3 == 1000 and 0x10 == 16",
    ],
)
def test_amounts_compute_and_compare(text: str) -> None:
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("goodput >= 50ms", "a rate and a time do not fit together"),
        ("goodput + delay", "a rate and a time do not fit together"),
        ("goodput >= 50", "50 has no unit, where a rate is expected, e.g. 50mbit"),
        ("goodput + goodput_bps >= 50", "50 has no unit"),
        ("delay <= 3", "3 has no unit, where a time is expected, e.g. 200ms"),
        ("goodput * delay * delay > 3", "3 has no unit, where an amount in"),
        ("goodput >= 'x'", "a rate and 'x' do not fit together"),
        ("goodput >= True", "a rate and True do not fit together"),
        ("goodput * (3 > 2)", "True is not a number"),
        ("goodput ** 2", r"a rate: only \+ - \* / and comparisons are possible"),
        ("goodput // 2", "only"),
        ("goodput % 2", "only"),
        ("round(goodput)", "divide a rate by its unit first"),
        ("goodput >= 50mbits", '50mbits: unknown unit; did you mean "mbit"?'),
        ("goodput >= 50xyz", "50xyz: unknown unit; known: bit, kbit"),
        ("goodput >= 50mbps", "50mbps: unknown unit 'mbps'.*50mbit"),
        ("delay <= 5m", r"a minute is 60s"),
        ("packets <= 200%", "200%: more than all"),
        ("goodput >= 0.3bit", "not a whole number of bit"),
        ("goodput_bps >= 1e400", "Infinity"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(FormulaError, match=wrong):
        value(text)


def test_a_number_without_a_unit_is_in_the_unit_that_the_name_says() -> None:
    assert (GOODPUT_BPS / 2 >= 30e6) is True
    assert NAMES["delay_ms"].within(3) == 3
    assert DELAY.within(Amount(1, UNITS["s"])) == 1000


def test_a_literal_keeps_its_text_and_names_of_the_formula_are_left_alone() -> None:
    replaced, found = literals("number_0_ + rate2 * 5ms >= f['3mbit'].x3s")
    assert [each.text for each in found.values()] == ["5ms"]
    (name,) = found
    assert name != "number_0_"
    assert replaced == f"number_0_ + rate2 * {name} >= f['3mbit'].x3s"


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (57_312_345, "bit/s", "57.31 Mbit/s"),
        (1.5e9, "bit/s", "1.5 Gbit/s"),
        (0, "bit/s", "0 bit/s"),
        (-2_000, "bit/s", "-2 kbit/s"),
        (233.14, "ms", "233.1 ms"),
        (1234.4, "ms", "1234 ms"),
        (0.25, "s", "250 ms"),
        (50_000, "bytes", "48.83 KiB"),
        (12, "packets", "12 packets"),
        (0.93287, "", "0.9329"),
    ],
)
def test_amounts_are_written_for_people(number: float, unit: str, text: str) -> None:
    assert text_of(number, unit) == text
