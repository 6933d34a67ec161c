# SPDX-License-Identifier: GPL-2.0-only
"""Captures show what was on the wire, and change nothing of it."""

from __future__ import annotations

import numpy as np

from mptcplab.metrics import records, run_files
from tests.pcapng import Capture
from tests.vocabulary import Run, RunScenario

LOSSY = ("a:20mbit,10ms,loss=0.5%", "b:10mbit,30ms,jitter=2ms")
# in the octet of the flags, the 48th without options of IP
TCP_FIN, TCP_SYN = 1, 2


def without_ports(subflow: records.Records) -> bytes:
    """All but the ports: that of a further subflow is a random number, and a process that is
    started before, such as a capture, has drawn some."""
    # by its bytes: copy() of an array with padding in its records does not copy the padding
    same = np.frombuffer(bytearray(subflow.tobytes()), dtype=subflow.dtype)
    same["local_port"] = same["remote_port"] = 0
    return same.tobytes()


def records_of(run: Run) -> list[bytes]:
    parts = [records.read_links(run.outcome.directory / run_files.LINKS_SAMPLES).tobytes()]
    for samples in (run.client, run.server):
        parts += [samples.connection.tobytes(), without_ports(samples.subflow)]
    return parts


def tcp_packets(capture: Capture) -> list[int]:
    return [int(index) for index in np.flatnonzero(capture.payload >= 0)]


def test_a_capture_changes_nothing(run_scenario: RunScenario) -> None:
    without = run_scenario(*LOSSY, duration="5s", seed="4")
    with_capture = run_scenario(*LOSSY, duration="5s", seed="4", pcap=True)
    assert with_capture.outcome.guest == without.outcome.guest
    assert records_of(with_capture) == records_of(without)


def test_what_the_kernel_counts_is_on_the_wire(run_scenario: RunScenario) -> None:
    run = run_scenario(*LOSSY, duration="5s", pcap=True)
    for number, path in enumerate(run.scenario.paths):
        capture = run.capture(path.name)
        subflow = run.client.subflow[run.client.subflow["n"] == number]
        # At every sample: the client sends at once what it counts, and nothing is lost before.
        sent = ~capture.outbound & (capture.payload > 0)
        packets = np.searchsorted(capture.time_ns[sent], subflow["time_ns"], side="right")
        assert packets.tolist() == subflow["data_packets_out"].tolist()
        total = np.concatenate([[0], np.cumsum(capture.payload[sent])])
        assert total[packets].tolist() == subflow["sent_bytes"].tolist()


def test_headers_are_kept_and_lengths_are_those_on_the_wire(run_scenario: RunScenario) -> None:
    run = run_scenario("a:20mbit,10ms", "b:10mbit,30ms", size="1MB", pcap=True)
    for number, path in enumerate(run.scenario.paths, 1):
        capture = run.capture(path.name)
        assert capture.device == f"rc{number}"
        assert (np.diff(capture.time_ns) >= 0).all()
        assert max(map(len, capture.headers)) == 96
        assert int(capture.length.max()) == 1514
        ipv4 = [header for header in capture.headers if header[12:14] == b"\x08\x00"]
        client, server = (bytes([10, net, number, 1]) for net in (0, 1))
        assert {(header[26:30], header[30:34]) for header in ipv4} == {
            (client, server),
            (server, client),
        }
        # a handshake comes first, and who speaks is told by the direction
        tcp = tcp_packets(capture)
        assert capture.headers[tcp[0]][47] == TCP_SYN
        for index in tcp:
            from_client = capture.headers[index][26:30] == client
            assert bool(capture.outbound[index]) is not from_client


def test_the_end_of_the_traffic_is_in_the_capture(run_scenario: RunScenario) -> None:
    # 71 segments, which the queue of 198 packets holds: none is lost and sent again
    run = run_scenario("a:100mbit,12ms", size="100KB", pcap=True)
    capture = run.capture("a")
    sent = ~capture.outbound & (capture.payload > 0)
    # with the greeting
    assert int(capture.payload[sent].sum()) == 100_000 + 8
    fins = [index for index in tcp_packets(capture) if capture.headers[index][47] & TCP_FIN]
    assert {bool(capture.outbound[index]) for index in fins} == {False, True}
