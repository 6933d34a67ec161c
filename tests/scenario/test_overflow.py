# SPDX-License-Identifier: GPL-2.0-only
"""Runs with overflow: the second path carries only what the first one cannot."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario

# the queue of DSL holds 300 ms
DSL, LTE = "dsl:12mbit,20ms,queue=300", "lte:30mbit,12500us"
# 1250 bytes each ms: 10 Mbit/s. With headers of 90 bytes at most, they need 10.7 Mbit/s.
FITS = {"workload": "cbr:size=1250,interval=1ms", "duration": "8s"}
# 1250 bytes each 2/3 ms: 15 Mbit/s. Of DSL's 12 Mbit/s, 11.2 at the most are data.
DOES_NOT = {"workload": "cbr:size=1250,rate=15mbit", "duration": "8s"}
# A message over DSL takes 20 ms, 0.9 ms for its 1340 bytes at 12 Mbit/s, and queue_ms, 20, in the
# queue; in the round trip before the limit follows, cwnd may have doubled this.
MOST_MEAN_MS = 20 + 0.9 + 2 * 20


def share(run: Run, name: str) -> float:
    (path,) = (each for each in run.figures.paths if each.name == name)
    assert path.share is not None
    return path.share


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize(
    ("paths", "scheduler"),
    [
        ((DSL, LTE), "overflow"),
        ((DSL, LTE), "overflow:place2=7"),
        # LTE is the first subflow
        ((LTE, DSL), "overflow:place1=1"),
    ],
)
def test_data_that_fits_the_first_path_stays_there(
    run_scenario: RunScenario, paths: tuple[str, str], scheduler: str, direction: str
) -> None:
    load = {**FITS, "workload": f"{FITS['workload']},direction={direction}"}
    run = run_scenario(*paths, scheduler=scheduler, warmup="2s", **load)
    # full windows of its slow start, and of the limit, overflow; after 2 s, its window is 40 ms of
    # 12 Mbit/s, and 20 ms more
    assert share(run, "lte") <= 0.05
    assert run.metric("delay_ms_mean") <= MOST_MEAN_MS


def test_the_mark_of_a_backup_comes_before_the_places(run_scenario: RunScenario) -> None:
    # LTE is the first subflow, and becomes a backup before any data; place2 speaks against DSL
    run = run_scenario(
        *(LTE, DSL),
        scheduler="overflow:place2=1",
        warmup="2s",
        event=("1ms:lte:backup",),
        **FITS,
    )
    assert share(run, "lte") <= 0.05


def test_the_rest_overflows_without_delay(run_scenario: RunScenario) -> None:
    run = run_scenario(DSL, LTE, scheduler="overflow", warmup="2s", **DOES_NOT)
    # DSL carries at most 11.2 of 15 Mbit/s, and less when the limit falls below its need
    assert 1 - 11.2 / 15 <= share(run, "lte") <= 0.4
    assert run.metric("delay_ms_mean") <= MOST_MEAN_MS
    # CUBIC's window has no such bound, but the queue: on average, more than a third of its 300 ms
    unlimited = run_scenario(DSL, LTE, scheduler="overflow:queue_ms=0", warmup="2s", **DOES_NOT)
    assert unlimited.metric("delay_ms_mean") >= 20 + 100


def test_bulk_data_fills_both_paths(run_scenario: RunScenario) -> None:
    run = run_scenario("a:50mbit,10ms", "b:50mbit,10ms", scheduler="overflow", duration="10s")
    assert run.goodput_bps >= 0.97 * ideal_goodput_bps(run.scenario)


def test_a_path_that_was_slow_fills_again(run_scenario: RunScenario) -> None:
    # With 0.2 Mbit/s, a packet of 60 ms brings the limit to its least value, 2 packets. From 4 s
    # on, 2 packets of 4 ms leave the RTT at 54 ms or less, which lets the limit grow by 70 / 54.
    run = run_scenario(
        *("a:3mbit,25ms", "b:10mbit,1ms"),
        scheduler="overflow",
        event=("2s:a:change,rate=200kbit", "4s:a:change,rate=3mbit"),
        duration="12s",
    )
    # Six packets suffice for 3 Mbit/s and 70 ms. It takes 10 rounds from 2 to 6 packets, and TCP
    # sees the last packets of 200 kbit/s leave within 1 s.
    assert run.rate_bps("a", 7, 12) >= 0.8 * 3e6


def test_a_lost_first_path_overflows_whole_and_comes_back(run_scenario: RunScenario) -> None:
    run = run_scenario(
        DSL, LTE, scheduler="overflow", warmup="0s", event=("2s:dsl:down,lasts=1s",), **FITS
    )
    # Known after a timeout of at most 0.3 s, LTE carries everything until 3 s. TCP's timer doubles,
    # so the last attempt within the outage is followed by one after at most as long again, and 0.3
    # s: from 5 s on everything is on DSL again.
    whole = 1250 * 1000
    assert run.received_bytes("lte", 3, 2.5) >= 0.95 * whole / 2
    assert run.received_bytes("lte", 8, 6) <= 0.05 * 2 * whole
