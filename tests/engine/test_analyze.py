# SPDX-License-Identifier: GPL-2.0-only
"""What `analyze` finds in the captures of a run is what the probe counted in the kernel."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from mptcplab.capture import analyze, dissect
from mptcplab.capture.analyze import Analysis, Connection
from mptcplab.capture.dissect import Packets
from mptcplab.capture.flows import TO_SERVER
from mptcplab.metrics.records import Records
from mptcplab.plan import plan
from tests.vocabulary import Run, RunScenario

PATHS = ("a:20mbit,10ms", "b:10mbit,30ms")
LOSSY = ("a:20mbit,10ms,loss=0.5%", "b:10mbit,30ms,jitter=2ms,loss=0.5%")


def captured(run: Run, *files: str) -> Packets:
    files = files or tuple(plan.capture_files(run.scenario))
    return dissect.read([run.outcome.directory / name for name in files])


def until(packets: Packets, time_ns: int) -> Packets:
    """What had passed at a time: as if the captures had ended then."""
    kept = packets.time_ns <= time_ns
    number = np.cumsum(kept) - 1
    options = [
        replace(option, packet=int(number[option.packet]))
        for option in packets.options
        if kept[option.packet]
    ]
    columns = {name: column[kept] for name, column in packets.columns.items()}
    return Packets(packets.files, packets.tracks, options, columns)


def one(analysis: Analysis) -> Connection:
    (connection,) = analysis.connections
    return connection


def last(samples: Records, number: int) -> Records:
    mine: Records = samples[samples["n"] == number][-1]
    return mine


def queue_at(connection: Connection, times_ns: Records) -> list[int]:
    """The out-of-order queue at some times, what happens right then included."""
    series = connection.series[0]
    at = np.searchsorted(series.queue_ns, times_ns, side="right")
    return [int(bytes_) for bytes_ in np.append(0, series.queue_bytes)[at]]


@pytest.mark.parametrize("scheduler", ["default", "minrtt", "roundrobin", "redundant"])
# with seed 1, the receiver of default has no room twice, and drops what came
@pytest.mark.parametrize(
    ("paths", "seed"), [(PATHS, "3"), (LOSSY, "3"), (LOSSY, "1")], ids=["clean", "lossy", "dropped"]
)
def test_captures_and_probe_agree(
    run_scenario: RunScenario, scheduler: str, paths: tuple[str, ...], seed: str
) -> None:
    run = run_scenario(*paths, scheduler=scheduler, duration="6s", seed=seed, pcap=True)
    end_ns = int(run.client.connection["time_ns"][-1])
    connection = one(analyze.of_packets(until(captured(run), end_ns)))
    to_server = connection.directions[TO_SERVER]

    # exactly, of every subflow
    assert len(connection.subflows) == 2
    for number, subflow in enumerate(connection.subflows):
        way = subflow.ways[TO_SERVER]
        client, server = last(run.client.subflow, number), last(run.server.subflow, number)
        assert way.data_bytes == client["sent_bytes"]
        assert way.data_packets == client["data_packets_out"]
        assert way.retransmitted_bytes == client["retransmitted_bytes"]
        assert way.retransmitted_packets == client["retransmitted_packets"]
        assert way.arrived_packets == server["data_packets_in"]
        assert way.delivered_bytes == server["received_bytes"]
        router = f"router-{'ab'[number]}.pcapng"
        assert subflow.seen_at == [
            f"the client (client.pcapng, {router})",
            f"the server ({router}, server.pcapng)",
        ]

    # and of the connection
    client, server = run.client.connection[-1], run.server.connection[-1]
    assert to_server.delivered_bytes == server["delivered_bytes"]
    if scheduler == "redundant":
        # copies on purpose are no reinjections to the kernel, and the same on the wire
        assert to_server.reinjected_bytes > 0.3 * client["written_bytes"]
    else:
        assert to_server.reinjected_bytes == client["reinjected_bytes"]

    # The queue at the instants of the samples, and its mean.
    samples = run.server.connection
    found = queue_at(connection, samples["time_ns"])
    assert np.mean(found) == pytest.approx(np.mean(samples["ofo_bytes"]), rel=0.05)


def test_a_router_alone_and_all_places_together_count_the_same(run_scenario: RunScenario) -> None:
    # more than a fixed buffer can send at a time fits into the queues: 256 KiB are 180 packets
    paths = [f"{path},queue=500" for path in PATHS]
    run = run_scenario(
        *paths, scheduler="roundrobin", send_buffer="256KiB", duration="2s", pcap=True
    )
    sides = [
        captured(run, *files)
        for files in ((), ("client.pcapng",), ("server.pcapng",), ("router-a.pcapng",))
    ]
    everything, client, server, router = (one(analyze.of_packets(side)) for side in sides)
    # nothing is lost: all places see all bytes
    bytes_ = [
        [subflow.ways[0].data_bytes for subflow in connection.subflows]
        for connection in (everything, client, server)
    ]
    assert bytes_[0] == bytes_[1] == bytes_[2]
    assert [subflow.ways[0].data_bytes for subflow in router.subflows] == bytes_[0][:1]
    assert client.subflows[0].seen_at == ["the client (client.pcapng)"]
    assert server.subflows[0].seen_at == ["the server (server.pcapng)"]
    # 10 ms of delay each way, and a packet of 1514 bytes at 20 Mbit/s: 0.6 ms
    rtt = everything.subflows[0].ways[0].rtt.min_ms
    assert rtt is not None
    assert 20.0 < rtt < 20.7


def test_tshark_dissects_the_options_of_mptcp(run_scenario: RunScenario) -> None:
    run = run_scenario(*PATHS, duration="1s", pcap=True)
    for file in plan.capture_files(run.scenario):
        command = ["tshark", "-r", str(run.outcome.directory / file), "-Y", "tcp", "-T", "fields"]
        fields = ["-e", "tcp.options.mptcp.subtype", "-e", "_ws.malformed"]
        shown = subprocess.run([*command, *fields], capture_output=True, text=True, check=True)
        found = Counter(
            subtype
            for line in shown.stdout.splitlines()
            for subtype in line.split("\t")[0].split(",")
        )
        assert "malformed" not in shown.stdout.lower()
        # 0 MP_CAPABLE, 1 MP_JOIN, 2 DSS, 3 ADD_ADDR; handshakes are three packets on one path each
        if file != "router-b.pcapng":
            assert found["0"] >= 3
        if file != "router-a.pcapng":
            assert found["1"] >= 3
        assert found["2"] > 500
