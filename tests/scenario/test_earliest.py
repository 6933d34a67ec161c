# SPDX-License-Identifier: GPL-2.0-only
"""Runs with earliest: all paths for bulk data, and nothing slow before something fast."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics import records
from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario, ofo_bytes, scenario_of

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


#: LTE fails, and a satellite takes over. It is a backup from 2 s on, when it is established.
TAKEOVER = {
    "event": ("2s:geo:backup", "8s:lte:down"),
    "workload": "cbr:size=8KB,rate=4mbit",
    "duration": "12s",
}


@pytest.mark.parametrize(("cc", "kbps"), [("cubic", 4000), ("bbr", 8000)])
def test_a_warm_backup_takes_over_at_once(run_scenario: RunScenario, cc: str, kbps: int) -> None:
    # BBR paces at the rate of the copies, which is half of that asked for.
    warm, cold = (
        run_scenario(
            *("lte:30mbit,25ms", "geo:10mbit,300ms"),
            scheduler=f"{EARLIEST}:warm_kbps={it}",
            cc=cc,
            decisions=True,
            **TAKEOVER,
        )
        for it in (kbps, 0)
    )
    assert cold.metric("duplicate_segments") == 0
    assert cold.metric("delay_ms_max") > 2 * warm.metric("delay_ms_max")

    # In any time, copies are at most half of the rate, and half of the window at its beginning.
    geo = warm.sender("geo")
    copies = decided(warm, "duplicate")
    assert set(copies["subflow"]) == {2}
    window = kbps * int(geo["min_rtt_us"].max()) // 8000
    ahead = np.cumsum(copies["length"]) - kbps * 1000 / 8 / 2 * (copies["time_ns"] / 1e9)
    least_before = np.minimum.accumulate(ahead - copies["length"])
    assert (ahead - least_before).max() <= window / 2

    # BBR draws random numbers, for copies as well.
    if cc == "bbr":
        return
    # A block waits for LTE's tail loss probe and timeout (RFC 8985, 6298: 2 x 50 ms, and 50 + 200
    # ms after it), perhaps a round trip of LTE more, and for half of the satellite's round trip,
    # behind what 0.4 s have left, 0.16 s at 10 Mbit/s.
    assert warm.metric("delay_ms_max") <= 100 + 250 + 50 + 300 + 160

    # Half of the window is in flight, in whole segments. Slow start doubles it (tcp_is_cwnd_limited
    # in net/tcp.h), and the last ACKs may be of two segments.
    at_8s = geo[geo["time_ns"] < warm.start_ns + 8 * 10**9][-1]
    assert at_8s["in_flight"] == window // 2 // int(copies["length"].max())
    assert 0 <= int(at_8s["cwnd"]) - 2 * int(at_8s["in_flight"]) <= 2

    # While LTE works, the same data leaves over it, at the same times. Reading the clock takes a
    # quarter of a us.
    ours, theirs = (decided(run, "new", before_s=8) for run in (warm, cold))
    assert set(ours["subflow"]) == {1}
    assert (
        ours[["subflow", "seq", "length"]].tolist() == theirs[["subflow", "seq", "length"]].tolist()
    )
    assert abs(ours["time_ns"].astype(int) - theirs["time_ns"].astype(int)).max() < 10_000


def decided(run: Run, kind: str, before_s: int = 1000) -> records.Records:
    """The decisions of a kind, up to some time after the start."""
    made = run.decisions()
    made = made[made["kind"] == records.DECISIONS.index(kind)]
    return records.select(made, made["time_ns"] < run.start_ns + before_s * 10**9)
