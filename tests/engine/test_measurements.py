# SPDX-License-Identifier: GPL-2.0-only
"""What the probe and the metrics say of runs in which it can be derived."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics import records, run_files
from mptcplab.metrics.records import Records, select
from tests.vocabulary import Run, RunScenario

PACKET_MS = 1514 * 8 / 10e6 * 1e3  # at 10 Mbit/s


def link(run: Run, device: str) -> Records:
    links = records.read_links(run.outcome.directory / run_files.LINKS_SAMPLES)
    return select(links, links["device"] == device.encode())


def test_a_segment_is_blocked_until_the_one_before_it_arrives(run_scenario: RunScenario) -> None:
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
    assert of_paths == [0, run.figures.metrics.blocked_share]


def test_data_is_blocked_while_the_queue_is_not_empty(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "wifi:50mbit,10ms",
        "lte:20mbit,80ms",
        scheduler="roundrobin",
        receive_buffer="200KB",
        duration="5s",
        warmup="0s",
        sample_interval="1ms",
    )
    share = float(run.figures.metrics.blocked_share or 0)
    blocks = int(run.figures.metrics.blocks or 0)
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
    assert run.figures.metrics.blocked_share == 0
    assert float(run.figures.paths[0].ofo_bytes_mean or 0) > 0


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


@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_values_are_0_before_they_exist_and_no_byte_is_invented(
    run_scenario: RunScenario, scheduler: str
) -> None:
    # So many connections at once that SYNs are lost: some wait for an answer, some fall back to
    # TCP, and most have ended by a DATA_FIN.
    run = run_scenario(
        "a:20mbit,10ms",
        "b:10mbit,25ms",
        scheduler=scheduler,
        workload="transfers:size=15KB,count=60,fresh=true,interval=1ms",
        receive_buffer="1MiB",
    )
    client, server = run.client, run.server
    assert (client.subflow["tcp_state"] == 2).any()  # SYN sent
    assert client.connection["window_bytes"].max() < 2**20
    assert client.subflow["min_rtt_us"].max() < 10_000_000
    assert client.subflow["unsent_bytes"].max() <= 15_008
    for number in np.unique(client.connection["connection"]):
        mine = select(client.connection, client.connection["connection"] == number)
        # the greeting and 15,000 bytes
        assert mine["acked_bytes"].max() <= mine["sent_bytes"].max() <= 15_008
        assert mine["written_bytes"][-1] == 15_008
        assert not (np.diff(mine["written_bytes"].astype(np.int64)) < 0).any()
    once = client.subflow["sent_bytes"] - client.subflow["retransmitted_bytes"]
    assert not (client.subflow["acked_bytes"] > once).any()
    assert server.subflow["received_bytes"].max() == 15_008


@pytest.mark.parametrize("transport", ["mptcp", "tcp"])
def test_what_is_written_is_acknowledged_and_read_to_the_byte(
    run_scenario: RunScenario, transport: str
) -> None:
    run = run_scenario("a:20mbit,10ms,loss=0.5%", size="300KB", transport=transport)
    sent, received = run.client.connection, run.server.connection
    # the greeting is 8 bytes; the last sample is of when the last byte has been read
    assert sent["written_bytes"].max() == sent["sent_bytes"].max() == 300_008
    assert received["delivered_bytes"].max() == received["read_bytes"].max() == 300_008
    assert sent["acked_bytes"].max() <= 300_008
    assert run.client.subflow["acked_bytes"][0] == 8


def test_a_subflow_that_closes_keeps_what_it_has_counted(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "a:20mbit,10ms", "b:10mbit,25ms", scheduler="minrtt", duration="2s", event=["1s:a:close"]
    )
    first, _ = run.figures.paths
    ended = run.client.subflow[run.client.subflow["n"] == 0][-1]
    # closed by both ends: neither FIN is a byte
    assert ended["tcp_state"] == 7
    assert ended["acked_bytes"] == ended["sent_bytes"] - ended["retransmitted_bytes"]
    assert (
        run.server.subflow["received_bytes"][run.server.subflow["n"] == 0][-1]
        == (ended["acked_bytes"])
    )
    assert int(first["new_segments"] or 0) > 1000


def test_no_figure_passes_what_the_link_carries(run_scenario: RunScenario) -> None:
    # losses leave gaps, in the warm-up too
    run = run_scenario(
        "a:50mbit,10ms,loss=0.1%", "b:20mbit,60ms,loss=0.1%", duration="3s", warmup="500ms"
    )
    # of 1514 bytes, 1424 are payload, or 1428 without a mapping in the packet
    most = 1428 / 1514
    goodput_bps = float(run.figures.metrics.goodput_bps or 0)
    assert goodput_bps <= 70e6 * most
    assert all(float(path["utilisation"] or 0) <= most for path in run.figures.paths)


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
