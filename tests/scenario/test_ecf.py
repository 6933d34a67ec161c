# SPDX-License-Identifier: GPL-2.0-only
"""Runs with ecf: the end of the data does not lag behind, and a dead path is not waited for."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario

# RTTs of 20 and 200 ms
FAST, SLOW = "fast:20mbit,10ms", "slow:20mbit,100ms"
FORMS = pytest.mark.parametrize(
    "form", ["ecf", "ecf:paper_k=on:paper_delta=on"], ids=["module", "paper"]
)


def completion_s(run_scenario: RunScenario, scheduler: str, size: str) -> float:
    return run_scenario(FAST, SLOW, scheduler=scheduler, size=size).metric("completion_s")


@FORMS
@pytest.mark.parametrize("size", ["20KB", "100KB", "300KB", "1MB"])
def test_the_slow_path_delays_the_end_by_one_trip_at_most(
    run_scenario: RunScenario, size: str, form: str
) -> None:
    # The fast path is used as if it were alone, so nothing leaves later than there. What leaves on
    # the slow one then takes 100 ms, and at most an initial window of 10 x 1514 bytes waits before
    # it: 6 ms at 20 Mbit/s. 1 ms is for the end of the stream.
    alone_s = completion_s(run_scenario, "first", size)
    assert completion_s(run_scenario, form, size) <= alone_s + 0.100 + 0.006 + 0.001


@pytest.mark.parametrize("size", ["100KB", "300KB", "1MB"])
def test_minrtt_delays_it_by_more(run_scenario: RunScenario, size: str, series: str) -> None:
    """What the test above is worth."""
    alone_s = completion_s(run_scenario, "first", size)
    delayed_s = completion_s(run_scenario, "minrtt:rp=off", size)
    if (series, size) == ("7.3", "1MB"):
        # Its receive buffer grows sooner, so that 1 MB does not wait for the window. With one of
        # 6 MiB, both series end at the same nanosecond, 21 ms after the fast path alone.
        assert delayed_s <= alone_s + 0.107
    else:
        assert delayed_s > alone_s + 0.107


@FORMS
def test_more_data_than_the_fast_path_can_take_goes_to_both(
    run_scenario: RunScenario, form: str
) -> None:
    # delta is 200 ms at most: half the margin of the timeout, which the handshake has set to twice
    # its RTT. Both are used once k > (1.25 x (200 + 200) / 20 - 1) windows of at most 68 x 1424
    # bytes: 2.3 MB. The send buffer holds several times that, also as the kernel counts it.
    run = run_scenario(
        *(FAST, SLOW), scheduler=form, duration="20s", send_buffer="16MiB", receive_buffer="8MiB"
    )
    assert run.goodput_bps >= 0.9 * ideal_goodput_bps(run.scenario)


@FORMS
def test_less_waits_for_the_fast_path(run_scenario: RunScenario, form: str) -> None:
    # A send buffer of 256 KiB never holds 9 windows of at least 23 packets (after a loss): 295 KB.
    # That is without delta, which adds to what waits.
    run = run_scenario(*(FAST, SLOW), scheduler=form, duration="20s", send_buffer="256KiB")
    assert run.goodput_bps >= 0.97 * 20e6 * 1424 / 1514
    assert run.figures.paths[1].share == pytest.approx(0, abs=0.01)


@FORMS
def test_a_fast_path_that_dies_is_not_waited_for(run_scenario: RunScenario, form: str) -> None:
    run = run_scenario(
        *("fast:50mbit,10ms", "slow:20mbit,40ms"),
        scheduler=form,
        duration="12s",
        event=("2s:fast:down", "5s:fast:up"),
    )
    # The timeout comes 200 ms after the RTT of at most 40 ms, twice if a probe was sent before it.
    # The slow path may have been idle: it starts with 10 packets and needs 66 (80 ms at 20 Mbit/s)
    # to be full, of which slow start brings half, in 2 round trips, and cubic the rest within a
    # second. By 3.5 s all is well.
    assert run.received_bytes("slow", 5, 3.5) >= 0.95 * (1.5 * 20e6 / 8 * 1424 / 1514)
    # Tries are doubled in time, so that the first one after 5 s is before 2 + 2 x 3 + 0.5 s.
    assert run.received_bytes("fast", 12, 9) >= 0.8 * (3 * 50e6 / 8 * 1424 / 1514)
