# SPDX-License-Identifier: GPL-2.0-only
"""Runs with first: everything goes over the first path that works."""

from __future__ import annotations

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario

TWINS = ("a:50mbit,10ms", "b:50mbit,10ms")


def test_only_the_first_path_is_used(run_scenario: RunScenario) -> None:
    run = run_scenario(*TWINS, scheduler="first", duration="10s")
    one_path = ideal_goodput_bps(run.scenario) / 2
    assert 0.97 * one_path <= run.goodput_bps <= one_path
    assert run.received_bytes("b", 10) == 0


def test_the_first_path_is_used_however_bad_it_is(run_scenario: RunScenario) -> None:
    run = run_scenario("slow:2mbit,50ms,loss=0.5%", "b:50mbit,10ms", scheduler="first")
    assert run.goodput_bps <= 2e6 * 1424 / 1514
    assert run.received_bytes("b", 20) == 0


def test_another_path_takes_over_and_gives_back(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *TWINS, scheduler="first", duration="14s", event=("3s:a:down", "6s:a:up"), warmup="0s"
    )
    # Until the timeout nobody knows: srtt of at most 30 ms (20 ms, and 42 packets in the queue at
    # 0.24 ms), and 200 ms. Then 83 packets of bandwidth-delay product are reached from a window
    # of 10 in 4 round trips, under 0.2 s. From 4 s to 6 s the other path is full.
    assert run.received_bytes("b", 3) == 0
    full = 50e6 * 1424 / 1514 / 8
    assert run.received_bytes("b", 6, 4) >= 0.9 * 2 * full
    # Timeouts double: the first one at 3.3 s at the latest, then after twice the time since 3 s
    # and so on. The last one before 6 s makes the next one come before 3 s + 2 x 3 s + 0.3 s.
    before, after = run.received_bytes("a", 10), run.received_bytes("a", 14)
    assert after - before >= 0.9 * 4 * full
    assert run.received_bytes("b", 14) == run.received_bytes("b", 10)


def test_every_byte_arrives_though_the_first_path_ends(run_scenario: RunScenario) -> None:
    # 10 MB take 1.7 s over one path
    run = run_scenario(*TWINS, scheduler="first", size="10MB", event=("1s:a:close",))
    assert run.outcome.guest["bytes_received"] == 10_000_000
    assert run.received_bytes("b", 60) > 0
