# SPDX-License-Identifier: GPL-2.0-only
"""Runs with blest: it keeps the window free for the fast path, and does not stall for it."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario

# RTTs of 20 and 200 ms. A queue of 34 packets, one bandwidth-delay product, and as many on their
# way: the window of the fast path is between 23 packets, after a loss, and 68.
FAST, SLOW = "fast:20mbit,10ms", "slow:20mbit,100ms"
ONE_BPS = 20e6 * 1424 / 1514


@pytest.mark.parametrize("paper", ["off", "on"])
def test_a_window_too_small_for_both_is_kept_for_the_fast_path(
    run_scenario: RunScenario, paper: str
) -> None:
    # In the 10 rounds of one on the slow path the fast one sends at least (23 + 4.5) x 10 packets
    # of 1424 bytes: 392 KB, of which not even lambda = 1 fits into a window of less than 256 KiB.
    # The window is more than the 68 packets (97 KB) that fill the fast path.
    run = run_scenario(
        *(FAST, SLOW), scheduler=f"blest:paper={paper}", duration="20s", receive_buffer="256KiB"
    )
    assert run.goodput_bps >= 0.97 * ONE_BPS
    assert run.figures.paths[1].share == pytest.approx(0, abs=0.01)
    assert run.figures.metrics.ofo_bytes_p99 == 0


def test_minrtt_lets_the_slow_path_block_such_a_window(run_scenario: RunScenario) -> None:
    """What the test above is worth."""
    # What is on the slow path holds the window for 200 ms: at most a buffer in that time, but for
    # what is delivered before the slow path's segments of that round are sent.
    run = run_scenario(
        *(FAST, SLOW), scheduler="minrtt:rp=off", duration="20s", receive_buffer="256KiB"
    )
    assert run.goodput_bps <= 256 * 1024 * 8 / 0.200
    assert (run.figures.metrics.ofo_bytes_p99 or 0) > 0


def test_a_window_for_both_paths_is_used_for_both(run_scenario: RunScenario) -> None:
    # (68 + 4.5) x 10 x 1424 x 1.3 = 1.34 MB for the fast path, and at most 2 x 500 KB on the slow
    # one: together less than half of the buffer, which is what may be window.
    run = run_scenario(
        *(FAST, SLOW), scheduler="blest", duration="20s", send_buffer="16MiB", receive_buffer="8MiB"
    )
    assert run.goodput_bps >= 0.9 * ideal_goodput_bps(run.scenario)


def test_a_fast_path_that_dies_is_not_waited_for(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("fast:50mbit,10ms", "slow:20mbit,40ms"),
        scheduler="blest",
        duration="12s",
        event=("2s:fast:down", "5s:fast:up"),
    )
    # The timeout comes 200 ms after the RTT of at most 40 ms, twice if a probe was sent before it,
    # and a queue of 83 packets is to be sent again in 50 ms: by 2.7 s all is well.
    assert run.received_bytes("slow", 5, 2.7) >= 0.95 * (2.3 * 20e6 / 8 * 1424 / 1514)
    # Tries are doubled in time, so that the first one after 5 s is before 2 + 2 x 3 + 0.5 s.
    assert run.received_bytes("fast", 12, 9) >= 0.8 * (3 * 50e6 / 8 * 1424 / 1514)
