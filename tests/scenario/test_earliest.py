# SPDX-License-Identifier: GPL-2.0-only
"""Runs with earliest: all paths for bulk data, and nothing slow before something fast."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario, ofo_bytes, scenario_of

EARLIEST = "earliest"


@pytest.mark.parametrize("cc", ["cubic", "bbr"])
def test_bulk_data_fills_both_paths_in_order(run_scenario: RunScenario, cc: str) -> None:
    # Automatic buffers hold what both carry in 80 ms. The near path delivers 30 ms sooner, in which
    # it carries 187 kB: as much waits at the receiver with minrtt, and here what an estimate is
    # off by. Half is for when windows grow and after losses.
    paths = ("near:50mbit,10ms", "far:20mbit,40ms")
    ours, minrtt = (
        run_scenario(*paths, scheduler=scheduler, duration="10s", cc=cc)
        for scheduler in (EARLIEST, "minrtt")
    )
    print(f"{ours.goodput_bps / 1e6:.2f} Mbit/s; out of order {ofo_bytes(ours):.0f} bytes,")
    print(f"with minrtt {ofo_bytes(minrtt):.0f}")
    # BBR gives up 2 % each 10 s, to measure the RTT, and overtakes itself in the beginning
    assert ours.goodput_bps >= (0.96 if cc == "cubic" else 0.93) * ideal_goodput_bps(ours.scenario)
    assert ofo_bytes(ours) <= 0.5 * ofo_bytes(minrtt)


@pytest.mark.parametrize("size", ["20KB", "100KB", "300KB"])
def test_the_end_of_a_message_is_not_on_the_slow_path(run_scenario: RunScenario, size: str) -> None:
    # One way over the slow path takes 100 ms. In 100 ms - 10 ms slow start sends 10, 20, 40 and
    # 80 packets on the fast one, 200 KB, and more with what it has by then: so all of it. That it
    # waits until there is room may end in two packets more, 1.2 ms at 20 Mbit/s: a tail loss probe,
    # and a packet that is not full.
    paths = ("fast:20mbit,10ms", "slow:20mbit,100ms")
    ours, alone = (
        run_scenario(*paths, scheduler=scheduler, size=size).metric("completion_s")
        for scheduler in (EARLIEST, "first")
    )
    assert ours <= alone + 0.0013


def test_a_window_too_small_for_both_is_left_to_the_fast_path(run_scenario: RunScenario) -> None:
    # Half of 1 MiB is window. Until the slow path has delivered, 90 ms later, the fast one
    # sends 1.1 MB.
    paths = ("fast:100mbit,10ms", "slow:10mbit,100ms")
    ours, minrtt = (
        run_scenario(*paths, scheduler=scheduler, duration="5s", receive_buffer="1MiB")
        for scheduler in (EARLIEST, "minrtt")
    )
    assert ours.goodput_bps >= 0.96 * ideal_goodput_bps(scenario_of(paths[0]))
    assert minrtt.goodput_bps < 0.9 * ours.goodput_bps


def test_a_stream_takes_the_path_of_the_lowest_delay(run_scenario: RunScenario) -> None:
    # 8 KB are 6 packets, 8 x (8000 + 6 x 90) / 20e6 = 3.4 ms; one way is 10 ms.
    run = run_scenario(
        *("slow:10mbit,60ms", "fast:20mbit,10ms"),
        scheduler=EARLIEST,
        workload="cbr:size=8KB,rate=4mbit",
        duration="5s",
    )
    assert run.metric("delay_ms_p99") <= 10 + 3.4 + 0.1


def test_repeating_the_losses_of_a_path_keeps_the_other_one_busy(run_scenario: RunScenario) -> None:
    # At the end of its slow start the slow path loses hundreds of packets, which take it several
    # RTTs of 200 ms to repair. Meanwhile the fast one fills a window of 3.7 MB in 0.3 s. With
    # buffers that grow by themselves it may lose less: 7.3 then has 98 Mbit/s, 6.12 has 79.
    paths = ("fast:100mbit,10ms", "slow:10mbit,100ms")
    buffers = {"receive_buffer": "6MiB", "send_buffer": "8MiB"}
    on, off = (
        run_scenario(*paths, scheduler=scheduler, duration="3s", start="at-once", **buffers)
        for scheduler in (f"{EARLIEST}:repeat=on", EARLIEST)
    )
    assert on.goodput_bps >= 0.95 * ideal_goodput_bps(scenario_of(paths[0]))
    assert off.goodput_bps < 0.9 * on.goodput_bps
    # what is repeated is no more than what the slow path carries in a second
    assert on.metric("duplicate_segments") * 1424 <= 10e6 / 8
