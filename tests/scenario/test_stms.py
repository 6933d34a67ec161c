# SPDX-License-Identifier: GPL-2.0-only
"""Runs with stms: what the slow path sends is due when it arrives, and little waits for it."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario, ofo_bytes

PATHS = {
    "20 and 80 ms": ("near:20mbit,10ms", "far:10mbit,40ms"),
    "20 and 40 ms": ("near:100mbit,10ms", "far:50mbit,20ms"),
    "20 and 200 ms": ("near:20mbit,10ms", "far:20mbit,100ms"),
}


@pytest.mark.parametrize(("paths", "most"), list(zip(PATHS, (0.16, 0.16, 0.4), strict=True)))
def test_less_waits_out_of_order_than_with_minrtt(
    run_scenario: RunScenario, paths: str, most: float
) -> None:
    # With minrtt what the near path sends while a segment is on the far one waits, all the time.
    # With stms only until the gap is right: a sample takes a round trip of the far path, and while
    # the windows grow or were cut, some 10 of them are needed. Of 20 s that are 0.8 s for 80 ms,
    # and 2 s for 200 ms, at the start and again after each of the losses, two or three of them: 12
    # and 30 % of the time. A third more is left for what a right gap still leaves waiting.
    stms, minrtt = (
        run_scenario(*PATHS[paths], scheduler=scheduler, duration="20s")
        for scheduler in ("stms", "minrtt")
    )
    print(f"out of order: {ofo_bytes(stms):.0f}, with minrtt {ofo_bytes(minrtt):.0f} bytes")
    assert ofo_bytes(stms) <= most * ofo_bytes(minrtt)
    assert stms.goodput_bps >= 0.95 * ideal_goodput_bps(stms.scenario)


def test_a_small_receive_buffer_costs_less_than_with_minrtt(run_scenario: RunScenario) -> None:
    # Half of 512 KB is window. The far path delivers 30 ms later, 45 ms with its queue half full:
    # the near one sends 110 KB in that time, so that the gap fits; with minrtt as much waits at the
    # receiver instead, and the near path stops when the window is full.
    paths = PATHS["20 and 80 ms"]
    stms, minrtt = (
        run_scenario(*paths, scheduler=scheduler, duration="20s", receive_buffer="512KB")
        for scheduler in ("stms", "minrtt:rp=off")
    )
    print(f"{stms.goodput_bps / 1e6:.2f} Mbit/s, with minrtt {minrtt.goodput_bps / 1e6:.2f}")
    assert stms.goodput_bps >= 0.95 * ideal_goodput_bps(stms.scenario)
    assert stms.goodput_bps > minrtt.goodput_bps


def test_the_gap_follows_a_delay_that_changes(run_scenario: RunScenario) -> None:
    # For 10 of 25 s the far path delivers 100 ms later: a sample or two, and the gap is 250 KB
    # wider; and then it is too wide by that, of which most is told by a sample on its own path.
    # Meanwhile both carry as much as they do with minrtt, whose window of 100 segments is less than
    # what a round trip of 280 ms holds, too.
    stms, minrtt = (
        run_scenario(
            *PATHS["20 and 80 ms"],
            scheduler=scheduler,
            duration="25s",
            event=("5s:far:change,delay=140ms,lasts=10s",),
        )
        for scheduler in ("stms", "minrtt")
    )
    assert ofo_bytes(stms) <= 0.5 * ofo_bytes(minrtt)
    assert stms.goodput_bps >= 0.97 * minrtt.goodput_bps


def test_a_path_that_was_not_worth_it_is_used_when_it_is(run_scenario: RunScenario) -> None:
    # While the far path takes 1 s more, the near one would send 2.5 MB meanwhile, and the send
    # buffer holds 1 MiB, by the kernel's count: so the far path idles, but for a probe each 4 of
    # its round trips, which is 8 s at first. After 12 s it is no farther than the near one. The
    # next probe, at most 16 s later, is early, and the gap is that of now.
    run = run_scenario(
        *("near:20mbit,10ms", "far:20mbit,10ms"),
        scheduler="stms",
        duration="40s",
        send_buffer="1MiB",
        event=("2s:far:change,delay=1s,lasts=10s",),
    )
    used = run.received_bytes("far", 40, 32)
    assert used >= 0.5 * 8 * 20e6 / 8 * 1424 / 1514
