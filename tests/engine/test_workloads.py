# SPDX-License-Identifier: GPL-2.0-only
"""Every kind of workload on the real kernel, with times that follow from the paths.

A packet has 90 bytes of headers: Ethernet's 14, IP's and TCP's 20 each, 12 of timestamps and 24 of
DSS, or 28 if both ends send data. So 1424 bytes of a message fit into one of 1514. A message
arrives within 2 us of what follows from delay and rate, since each time that an end looks at the
clock moves it by 256 ns; or behind one more packet without data, such as an acknowledgment of an
address.
"""

from __future__ import annotations

import math

import pytest

from mptcplab.metrics import records, run_files
from mptcplab.scenario.workload import Video, messages
from tests.player import assert_played
from tests.vocabulary import Run, RunScenario

HEADER_BYTES, DATA_BYTES = 90, 1424
CLOCK_NS = 2_000


def on_wire_bytes(data_bytes: int) -> int:
    return data_bytes + math.ceil(data_bytes / DATA_BYTES) * HEADER_BYTES


def slack_ns(rate_bps: int) -> int:
    """How much later a message of up to 10 packets may be, as said above."""
    return CLOCK_NS + (94 + 10 * 4) * 8 * 10**9 // rate_bps


def wire_ns(data_bytes: int, rate_bps: int) -> int:
    """How long a link takes for a message, headers included."""
    return on_wire_bytes(data_bytes) * 8 * 10**9 // rate_bps


def test_a_block_takes_the_delay_and_its_time_on_the_wire(run_scenario: RunScenario) -> None:
    run = run_scenario("a:50mbit,10ms", workload="cbr:size=8KB,rate=500kbit,duration=5s")
    blocks = run.messages()
    # 8000 bytes each 128 ms, until 5 s have passed
    assert len(blocks) == math.ceil(5000 / 128)
    assert list(blocks["due_ns"]) == [run.start_ns + 128_000_000 * i for i in range(len(blocks))]
    expected_ns = 10_000_000 + wire_ns(8000, 50_000_000)
    delays = blocks["complete_ns"] - blocks["due_ns"]
    assert delays.min() >= expected_ns
    assert delays.max() <= expected_ns + slack_ns(50_000_000)
    figures = run.figures.metrics
    assert figures["delay_ms_mean"] == pytest.approx(expected_ns / 1e6, abs=0.01)
    assert figures["delay_ms_sd"] == pytest.approx(0, abs=0.01)


def test_a_response_takes_a_round_trip(run_scenario: RunScenario) -> None:
    flags = "requests:request=100B,response=1KB,interval=100ms,random=false,duration=3s"
    run = run_scenario("a:10mbit,10ms,down.rate=20mbit", workload=flags)
    found = run.messages()
    requests, responses = found[::2], found[1::2]
    assert len(requests) == len(responses) == 30
    expected_ns = 20_000_000 + wire_ns(100, 10_000_000) + wire_ns(1000, 20_000_000)
    times = responses["complete_ns"] - requests["due_ns"]
    assert times.min() >= expected_ns
    assert times.max() <= expected_ns + slack_ns(10_000_000) + slack_ns(20_000_000)
    assert run.figures.metrics.completed == 27  # without a tenth of warm-up


@pytest.mark.parametrize("direction", ["up", "down"])
def test_transfers_follow_each_other(run_scenario: RunScenario, direction: str) -> None:
    flags = f"transfers:size=1MB,count=8,direction={direction}"
    run = run_scenario("a:20mbit,5ms", "b:10mbit,10ms", workload=flags)
    figures = run.figures.metrics
    found = run.messages()
    data = found[found["bytes"] == 1_000_000]
    assert len(data) == figures["completed"] == 8
    # one begins when the last is known to have arrived: with the next request, or its reply
    assert (data["begin_ns"][1:] >= data["complete_ns"][:-1]).all()
    # no sooner than both paths together carry it
    least_ms = on_wire_bytes(1_000_000) * 8 / 30e6 * 1000
    median_ms = figures["completion_ms_median"]
    assert isinstance(median_ms, float)
    assert median_ms > least_ms


def test_a_connection_of_its_own_begins_with_a_handshake(run_scenario: RunScenario) -> None:
    flags = "transfers:size=1KB,count=5,interval=200ms,fresh=true"
    run = run_scenario("a:50mbit,10ms", workload=flags)
    times = run.messages()["complete_ns"] - run.messages()["due_ns"]
    # SYN and SYN/ACK are a round trip, then the data needs the delay; 1 ms is more than all
    # of these small packets take at this rate: 1200 bytes in 0.2 ms
    assert (times >= 30_000_000).all()
    assert (times <= 31_000_000).all()


def test_a_page_loads_over_six_connections(run_scenario: RunScenario) -> None:
    run = run_scenario("a:50mbit,10ms", "b:20mbit,20ms", workload="web")
    found = run.messages()
    assert set(found["connection"]) == {1, 2, 3, 4, 5, 6}
    down_bytes = int(found[found["direction"] == 1]["bytes"].sum())
    least_s = down_bytes * 8 / 70e6
    page_load_s = run.figures.metrics.page_load_s
    assert isinstance(page_load_s, float)
    assert least_s < page_load_s < 10 * least_s


def assert_played_by_the_rule(run: Run) -> None:
    load = run.scenario.workload
    assert isinstance(load, Video)
    played = records.read_messages(run.outcome.directory / run_files.MESSAGES)
    assert_played(load, messages(load, run.scenario.seed), played, run.start_ns)


def test_a_video_plays_what_the_link_affords(run_scenario: RunScenario) -> None:
    flags = (
        "video:duration=120s,segment=2s,bitrates=500kbit/1mbit/2mbit/8mbit,"
        "buffer=20s,reservoir=4s,cushion=14s"
    )
    run = run_scenario("a:4mbit,20ms", workload=flags)
    assert_played_by_the_rule(run)
    figures = run.figures.metrics
    assert figures["completed"] == 60
    assert figures["stalls"] == 0
    bitrate_bps = figures["bitrate_bps"]
    assert isinstance(bitrate_bps, float)
    # between what it could always have, and what the link carries, and a buffer full more
    assert 1_000_000 < bitrate_bps < 4_000_000 * (120 + 20) / 120


def test_a_video_stalls_when_the_link_is_too_slow(run_scenario: RunScenario) -> None:
    flags = "video:duration=40s,segment=2s,bitrates=1mbit/2mbit,buffer=10s"
    run = run_scenario("a:500kbit,20ms", workload=flags)
    assert_played_by_the_rule(run)
    figures = run.figures.metrics
    stall_s = figures["stall_s"]
    assert isinstance(stall_s, float)
    # 20 segments of 2 Mbit take 4 s each and more: all but the first make the player wait
    assert figures["stalls"] == 19
    assert 19 * (4 - 2) < stall_s < 19 * (4 - 2) * 1.2


@pytest.mark.parametrize(("rate", "least", "most"), [("10mbit", 1.0, 1.0), ("2mbit", 0.0, 0.3)])
def test_frames_are_in_time_if_the_link_carries_them(
    run_scenario: RunScenario, rate: str, least: float, most: float
) -> None:
    # an I frame, 14 of 45 parts of 240 KB, is 75 KB: 64 ms at 10 Mbit/s, and 10 ms of delay; at
    # half of the rate that is needed the queue grows beyond any deadline
    run = run_scenario(f"a:{rate},10ms", workload="frames:rate=4mbit,duration=10s")
    in_time = run.figures.metrics.in_time
    assert isinstance(in_time, float)
    assert least <= in_time <= most


@pytest.mark.parametrize("direction", ["down", "both"])
def test_bulk_data_flows_either_way(run_scenario: RunScenario, direction: str) -> None:
    run = run_scenario(
        "a:20mbit,10ms", "b:10mbit,20ms", duration="5s", direction=direction, scheduler="minrtt"
    )
    found = run.messages()
    assert [int(each) for each in found["direction"]] == ([0, 1] if direction == "both" else [1])
    assert (found["written_ns"] >= run.start_ns + 5 * 10**9).all()
    for message in found:
        # above half of what both links carry together, also with ACKs of the other direction
        assert int(message["bytes"]) * 8 > 0.5 * 30e6 * 5
