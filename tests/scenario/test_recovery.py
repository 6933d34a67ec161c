# SPDX-License-Identifier: GPL-2.0-only
"""Runs with recovery=on: soon back on a path after an outage, and never long without data."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from tests.vocabulary import Run, RunScenario

# Base RTTs of 16 and 50 ms. 6 Mbit/s are one block of 8 KB, 6 packets, in 10.7 ms: the first path
# alone carries all, and each scheduler prefers it, or takes both in turns.
PATHS = ("first:100mbit,8ms", "second:60mbit,25ms")
RTT_S, OTHER_RTT_S = 0.016, 0.050
STEADY = "cbr:size=8KB,rate=6mbit"
BLOCK_S = 8000 * 8 / 6e6
DOWN_S, OUTAGE_S = 5, 5
OUTAGE = (f"{DOWN_S}s:first:down,lasts={OUTAGE_S}s",)
BACK_S = DOWN_S + OUTAGE_S

SCHEDULERS = (
    *("default", "minrtt", "redundant", "blest", "ecf", "lte", "roundrobin", "earliest"),
    "burst:reinject=on",  # as published it sends nothing again before the subflow is stale
)
CONGESTION_CONTROLS = ("cubic", "bbr")

TICK_S = 0.004
SAMPLE_S = 0.010
# A timeout each 200 ms, and an RTT until its answer. Then what was lost, at most 60 packets (a
# congestion window; with `default` 64 KiB more), is sent again in slow start: 1, 2, 4, ... 32, six
# RTTs, before anything new is. RTTs may be a half longer, with the queue that such bursts make.
USED_AGAIN_S = 0.200 + TICK_S + 1.5 * (1 + 6) * RTT_S + SAMPLE_S
# What is promised, 200 ms and two RTTs of the path that works.
WITHOUT_DATA_S = 0.200 + 2 * OTHER_RTT_S
# The schedulers of the framework do more. The first block that is lost was to be sent up to a block
# after the last one that arrived; it is late after SRTT, which delayed ACKs lengthen by a
# millisecond or two, and 100 ms; the copy arrives half an RTT of the other path later.
WITHOUT_DATA_OURS_S = BLOCK_S + RTT_S + 0.002 + 0.100 + OTHER_RTT_S / 2 + TICK_S + SAMPLE_S


def used_again_s(run: Run, path: str, back_s: float) -> float:
    """How long after it was back the client sent something new over the path."""
    mine = run.sender(path)
    times_s = (mine["time_ns"].astype(np.int64) - run.start_ns) / 1e9
    new_bytes = mine["sent_bytes"].astype(np.int64) - mine["retransmitted_bytes"]
    at = int(np.searchsorted(times_s, back_s, side="right")) - 1
    later = np.nonzero(new_bytes > new_bytes[at])[0]
    return float(times_s[later[0]]) - back_s if len(later) else float("inf")


def without_data_s(run: Run, since_s: float, until_s: float) -> float:
    """The longest time in which nothing more arrived in order."""
    connection = run.server.connection
    times_s = (connection["time_ns"].astype(np.int64) - run.start_ns) / 1e9
    more = np.nonzero(np.diff(connection["delivered_bytes"].astype(np.int64)))[0] + 1
    arrivals_s = times_s[more]
    arrivals_s = arrivals_s[(arrivals_s >= since_s) & (arrivals_s <= until_s)]
    return float(np.diff(arrivals_s).max())


def timeouts(run: Run, path: str) -> int:
    """How often the client's retransmission timer of the path had expired in the end."""
    return int(run.sender(path)["timeouts"][-1])


@pytest.mark.parametrize("cc", CONGESTION_CONTROLS)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_path_is_used_soon_after_it_is_back(
    run_scenario: RunScenario, scheduler: str, cc: str
) -> None:
    run = run_scenario(
        *PATHS,
        # earliest asks for it
        scheduler=scheduler if scheduler == "earliest" else f"{scheduler}:recovery=on",
        cc=cc,
        workload=STEADY,
        duration=f"{BACK_S + 5}s",
        event=OUTAGE,
    )
    used_s = used_again_s(run, "first", BACK_S)
    without_s = without_data_s(run, 1, BACK_S + 5)
    print(f"{scheduler}, {cc}: used again after {used_s:.2f} s, without data {without_s:.2f} s")
    assert used_s <= USED_AGAIN_S
    if scheduler == "default":
        # BBR paces the second path at what it carried before, a block of 8 KB in a round trip of
        # 50 ms: less than comes. It takes three of them to see that the path carries more.
        slow_s = 3 * 0.05 if cc == "bbr" else 0
        assert without_s <= WITHOUT_DATA_S + slow_s + SAMPLE_S
    else:
        assert without_s <= WITHOUT_DATA_OURS_S


@pytest.mark.parametrize("cc", CONGESTION_CONTROLS)
@pytest.mark.parametrize("scheduler", ["default", "minrtt", "earliest:recovery=off"])
def test_without_recovery_it_is_late(run_scenario: RunScenario, scheduler: str, cc: str) -> None:
    # TCP tries 0.2, 0.6, 1.5, 3.2, and 6.7 s after the outage began, and 220 ms later after a tail
    # loss probe: nothing until 1.7 s after it is over. The first data that goes elsewhere waits for
    # a tail loss probe (2 RTTs) and a timeout (200 ms and an RTT).
    run = run_scenario(
        *PATHS, scheduler=scheduler, cc=cc, workload=STEADY, duration="15s", event=OUTAGE
    )
    assert used_again_s(run, "first", BACK_S) >= 1.7
    assert without_data_s(run, 1, BACK_S + 5) >= 3 * RTT_S + 0.200 + OTHER_RTT_S / 2


@pytest.mark.parametrize("cc", CONGESTION_CONTROLS)
def test_after_an_outage_of_more_timeouts_than_tcp_counts(
    run_scenario: RunScenario, cc: str
) -> None:
    # One each 200 ms in the first 5 s, then each 25th of the time since, until that is 500 ms after
    # 12.5 s: 25 and 25 ln 2.5 timeouts; then two a second. In 150 s that are 323; TCP counts them
    # in 8 bits.
    outage_s = 150
    run = run_scenario(
        *PATHS,
        scheduler="minrtt:recovery=on",
        cc=cc,
        workload=STEADY,
        duration=f"{outage_s + 10}s",
        event=(f"5s:first:down,lasts={outage_s}s",),
    )
    assert used_again_s(run, "first", 5 + outage_s) <= USED_AGAIN_S + 0.300
    most = 25 + 25 * np.log(2.5) + (outage_s - 12.5) / 0.500
    # each may be rounded up to the next tick or two, and the first one is some 300 ms late
    assert most / (1 + 2 * TICK_S / 0.200) - 2 <= timeouts(run, "first") <= most + 1
    assert timeouts(run, "first") > 256


@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_both_paths_are_used_after_both_were_away(
    run_scenario: RunScenario, scheduler: str
) -> None:
    event = ("5s:first:down,lasts=5s", "5s:second:down,lasts=7s")
    run = run_scenario(
        *PATHS, scheduler=f"{scheduler}:recovery=on", workload="bulk", duration="15s", event=event
    )
    # a window of bulk data was lost, 1000 packets at most: ten RTTs of slow start
    for path, back_s, rtt_s in ("first", 10, RTT_S), ("second", 12, OTHER_RTT_S):
        bound_s = 0.200 + TICK_S + 1.5 * 11 * rtt_s + SAMPLE_S
        assert used_again_s(run, path, back_s) <= min(bound_s, 1)


def test_bbr_does_not_look_for_the_least_rtt_after_an_outage(run_scenario: RunScenario) -> None:
    # It would keep the congestion window at 4 for 200 ms and a round trip from the answer on. In
    # slow start, it is twice as large after a round trip; RTTs may be a half longer.
    run = run_scenario(
        *PATHS,
        scheduler="minrtt:recovery=on",
        cc="bbr",
        workload="bulk",
        duration="11s",
        event=OUTAGE,
    )
    mine = run.sender("first")
    times_s = (mine["time_ns"].astype(np.int64) - run.start_ns) / 1e9
    at = int(np.searchsorted(times_s, BACK_S, side="right")) - 1
    answer = int(np.nonzero(mine["acked_bytes"] > mine["acked_bytes"][at])[0][0])
    grown = int(np.nonzero((times_s >= times_s[answer]) & (mine["cwnd"] > 4))[0][0])
    assert times_s[grown] - times_s[answer] <= 1.5 * RTT_S + 2 * SAMPLE_S


def test_a_path_that_became_slow_is_not_treated_as_one_away(run_scenario: RunScenario) -> None:
    # One path, whose RTT is 2 s from 5 s on, ten times the timeout; a packet each 100 ms. TCP must
    # learn that RTT: what it sends again at first is not to go on.
    run = run_scenario(
        "only:10mbit,10ms,queue=1000",
        scheduler="minrtt:recovery=on",
        workload="cbr:size=1KB,rate=80kbit",
        duration="40s",
        event=("5s:only:change,delay=1s",),
    )
    subflow = run.client.subflow
    times_s = (subflow["time_ns"].astype(np.int64) - run.start_ns) / 1e9
    steady = subflow[(times_s > 25) & (times_s < 39)]
    assert steady["srtt_us"].min() > 1_900_000
    again = int(steady["retransmitted_bytes"][-1]) - int(steady["retransmitted_bytes"][0])
    assert again <= 0.01 * 80e3 / 8 * 14


@pytest.mark.parametrize(
    "paths",
    [
        PATHS,
        ("a:20mbit,10ms", "b:20mbit,10ms"),
        ("wifi:50mbit,10ms,loss=0.1%", "lte:20mbit,40ms,queue=200"),
    ],
    ids=["far", "twins", "lossy"],
)
@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_nothing_is_lost_on_paths_without_faults(
    run_scenario: RunScenario, scheduler: str, paths: tuple[str, ...]
) -> None:
    off = run_scenario(*paths, scheduler=scheduler, duration="20s")
    on = run_scenario(*paths, scheduler=f"{scheduler}:recovery=on", duration="20s")
    print(f"{off.goodput_bps / 1e6:.2f} Mbit/s off, {on.goodput_bps / 1e6:.2f} on")
    assert on.goodput_bps >= 0.995 * off.goodput_bps


def test_transfers_on_paths_without_faults_are_no_later(
    run_scenario: RunScenario, series: str
) -> None:
    # BBR's search for the least RTT, 10 s after the one before, makes a timeout on the second path
    # while the receive window is full. What is sent again then must leave at once: when the window
    # opens, the second path has repeated it, and new data would wait behind it.
    def longest_ms(recovery: str) -> float:
        # BBR draws at random, in each build of a kernel anew
        runs = (
            run_scenario(
                *PATHS,
                scheduler=f"default:recovery={recovery}",
                cc="bbr",
                workload="transfers:size=5MB,count=3,interval=11s",
                start="at-once",
                seed=str(seed),
            )
            for seed in (1, 2, 3)
        )
        return median(run.metric("completion_ms_max") for run in runs)

    # In 7.3 the copies open the window while the second path still repeats, and `default` chooses
    # it for new data, which waits there behind a window at most, a round trip of 50 ms. Without the
    # delay of a seed these are 22 ms; with four seeds 638, 848, 626 and 636 ms stand against 1208,
    # 845, 1245 and 636.
    later_ms = 50 if series == "7.3" else 0
    assert longest_ms("on") <= 1.005 * longest_ms("off") + later_ms
