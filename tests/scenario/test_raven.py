# SPDX-License-Identifier: GPL-2.0-only
"""Runs with raven: each message arrives by the faster path while it is not sure which that is."""

from __future__ import annotations

from tests.vocabulary import RunScenario

STREAM = "cbr:size=1KB,rate=500kbit"
#: The jitter is more than what the delays differ by.
UNSURE = ("near:20mbit,10ms,jitter=10ms", "far:20mbit,15ms,jitter=15ms")
TWINS = ("a:50mbit,10ms", "b:50mbit,10ms")


def test_while_delays_overlap_messages_come_as_with_redundant(run_scenario: RunScenario) -> None:
    # Everything goes over both paths, as with redundant: a message comes with the faster of two
    # packets, whose delays are independent. Uniform from 0 to 20 and from 0 to 30 ms, the lower one
    # is 7.8 ms on average, without the messages that wait for an earlier one; one path has 10.
    found = [
        run_scenario(*UNSURE, scheduler=each, workload=STREAM, duration="20s").metric(
            "delay_ms_mean"
        )
        for each in ("raven", "redundant", "minrtt")
    ]
    print(found)
    raven_ms, redundant_ms, minrtt_ms = found
    assert abs(raven_ms - redundant_ms) <= 0.03 * redundant_ms
    assert raven_ms <= 0.9 * minrtt_ms


def test_a_path_that_is_surely_slower_gets_few_copies(run_scenario: RunScenario) -> None:
    # 20 and 200 ms: [13, 20] and from 84 ms on. Only when the sample of the far path is 3 s old,
    # its interval begins at 200 x (1 - 0.578 x 1.712) = 2 ms: then one copy goes there, and those
    # of a round trip, until it is acknowledged, 240 ms later at most with a delayed ACK. Of 62.5
    # messages a second: 16 in 3.2 s, 100 in 20 s, and 15 of the first round trip.
    run = run_scenario(
        *("near:20mbit,10ms", "far:20mbit,100ms"),
        scheduler="raven",
        workload=STREAM,
        duration="20s",
    )
    assert run.received_bytes("far", 20) <= (100 + 2 * 15) * 1000


def test_a_path_that_fails_costs_no_time(run_scenario: RunScenario) -> None:
    # What was on path a is on path b, too. Without copies there is a timeout, 200 ms at the least.
    raven, minrtt = (
        run_scenario(
            *TWINS, scheduler=scheduler, workload=STREAM, duration="10s", event=("4s:a:down",)
        )
        for scheduler in ("raven", "minrtt")
    )
    assert raven.metric("delay_ms_max") < 100
    assert minrtt.metric("delay_ms_max") > 200
