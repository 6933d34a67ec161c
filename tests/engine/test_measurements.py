# SPDX-License-Identifier: GPL-2.0-only
"""What the probe and the metrics say of runs in which it can be derived."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.figures import records
from mptcplab.figures.records import Records, select
from mptcplab.uml import engine
from tests.vocabulary import Run, RunScenario

PACKET_MS = 1514 * 8 / 10e6 * 1e3  # at 10 Mbit/s


def link(run: Run, device: str) -> Records:
    links = records.read_links(run.outcome.directory / engine.LINKS_SAMPLES)
    return select(links, links["device"] == device.encode())


def test_a_segment_is_blocked_for_as_long_as_the_one_before_it_takes_longer(
    run_scenario: RunScenario,
) -> None:
    # The greeting went over the first path, so that round robin sends the first of two segments
    # over the second path. Both leave at once, links have the same rate, and the one takes 40 ms
    # longer.
    run = run_scenario(
        "fast:10mbit,10ms",
        "slow:10mbit,50ms",
        scheduler="roundrobin",
        size="4KiB",
        sample_interval="1ms",
    )
    # 4096 bytes are two segments of 1424 and one of 1248, which follows the second on its path,
    # and waits for the same one
    last = run.server.connection[-1]
    assert run.server.connection["ofo_bytes"].max() == 1424
    assert last["blocks"] == 1
    # to the microsecond; reading the clock moves the time by less than one
    assert int(last["blocked_us"]) == pytest.approx(40_000, abs=2)
    of_paths = [path["blocking_share"] for path in run.figures.paths]
    assert of_paths == [0, run.figures.metrics["blocked_share"]]


def test_the_time_of_blocking_is_that_in_which_the_queue_is_not_empty(
    run_scenario: RunScenario,
) -> None:
    run = run_scenario(
        "wifi:50mbit,10ms",
        "lte:20mbit,80ms",
        scheduler="roundrobin",
        receive_buffer="200KB",
        duration="5s",
        warmup="0s",
        sample_interval="1ms",
    )
    share = float(run.figures.metrics["blocked_share"] or 0)
    blocks = int(run.figures.metrics["blocks"] or 0)
    assert blocks > 10
    # a sample is wrong by up to an interval at each begin and at each end of a wait
    seen = float(np.mean(run.server.connection["ofo_bytes"] > 0))
    assert share == pytest.approx(seen, abs=2 * blocks / 5000)
    assert sum(float(path["blocking_share"] or 0) for path in run.figures.paths) <= share
    # What it was blocked by are the segments that take 70 ms longer. A wait that has not ended at
    # t1 is in the total alone.
    wifi, lte = (float(path["blocking_share"] or 0) for path in run.figures.paths)
    assert wifi < 0.01
    assert lte > share - wifi - 0.1 / 5


def test_nothing_is_blocked_on_one_path_alone(run_scenario: RunScenario) -> None:
    run = run_scenario("a:20mbit,10ms,loss=0.5%", "b:20mbit,30ms", scheduler="first", duration="3s")
    # what is lost is waited for in the queue of the subflow
    assert run.figures.metrics["blocked_share"] == 0
    assert float(run.figures.paths[0]["ofo_bytes_mean"] or 0) > 0


def test_every_packet_has_arrived_is_on_its_way_waits_or_was_dropped(
    run_scenario: RunScenario,
) -> None:
    # a random loss each 2.4 s; in between the window of some 30 packets grows by one each round
    # trip of up to 50 ms until the queue is full
    run = run_scenario("a:10mbit,10ms,queue=30,loss=0.05%", transport="tcp", duration="20s")
    last = link(run, "rs1")[-1]
    sent = int(run.client.subflow["data_packets_out"][-1])
    received = int(run.server.subflow["data_packets_in"][-1])
    held = int(last["queue_packets"]) + int(last["delayed_packets"])
    # at the last sample; the only packets without data, those of the handshake, arrived before
    assert sent - received == held + int(last["dropped_packets"])
    assert 0 < last["lost_packets"] < last["dropped_packets"]


def test_a_queue_is_as_long_as_it_delays(run_scenario: RunScenario) -> None:
    run = run_scenario("a:10mbit,10ms,queue=60", transport="tcp", duration="20s")
    (path,) = run.figures.paths
    queue = link(run, "rs1")
    # netem's limit is on both; of a full link, 10 ms / 1.2 ms = 8 packets are on their way
    together = queue["queue_packets"] + queue["delayed_packets"]
    assert together.max() == 60
    assert path["queue_packets_max"] == 60 - 8
    # every packet takes 1.2 ms, its own included
    length, delay_ms = (
        float(path["queue_packets_mean"] or 0),
        float(path["queue_delay_ms_mean"] or 0),
    )
    assert delay_ms == pytest.approx(length * PACKET_MS, rel=0.01)
    # what the round trip takes beyond 20 ms; an ACK is for two packets, of which one has waited
    beyond_ms = float(path["srtt_ms_mean"] or 0) - 20
    assert 0 < beyond_ms - delay_ms < 2 * PACKET_MS
    # every drop is a loss that TCP repairs
    assert path["queue_dropped_packets"] == path["retransmitted_packets"]
    assert path["lost_packets"] == 0


def test_the_ports_of_both_sides_match(run_scenario: RunScenario) -> None:
    run = run_scenario("a:20mbit,10ms", "b:20mbit,30ms", duration="1s")

    def ends(subflow: Records, mine: str, other: str) -> set[tuple[tuple[int, ...], int, int]]:
        return {
            (
                tuple(record[f"{mine}_addr"]),
                int(record[f"{mine}_port"]),
                int(record[f"{other}_port"]),
            )
            for record in subflow
        }

    client = ends(run.client.subflow, "local", "remote")
    assert client == ends(run.server.subflow, "remote", "local")
    assert len(client) == 2
    assert {server_port for _, _, server_port in client} == {5001}


def test_a_source_that_waits_for_room_is_seen_to(run_scenario: RunScenario) -> None:
    run = run_scenario("a:10mbit,10ms", send_buffer="50KB", duration="2s")
    assert np.mean(run.client.connection["flags"] == records.NO_SPACE) > 0.9
    assert not run.server.connection["flags"].any()


def test_a_handover_is_noticed_and_overcome(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "a:20mbit,20ms",
        "b:20mbit,20ms",
        event=("4s:b:change,rate=x0.1,lasts=1s",),
        duration="10s",
        warmup="1s",
    )
    untouched, path = run.figures.paths
    assert untouched["detection_s_mean"] is untouched["recovery_s_mean"] is None
    # It sends as ACKs come, a tenth of before, once those of what had left the link are through:
    # within a round trip of 40 ms, that is, in the second bin of 50 ms; or in the third, since a
    # bin has 8 packets then, and 2 more may leave with one ACK.
    assert path["detection_s_max"] in (pytest.approx(0.05), pytest.approx(0.1))
    # And when the link is as fast as before, it empties its queue at once.
    assert 0 <= float(path["recovery_s_max"] or 0) < 2
