# SPDX-License-Identifier: GPL-2.0-only
"""Figures of conversations that are built packet by packet, each worked out by hand."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.capture import analyze
from mptcplab.capture.analyze import Analysis, Connection
from mptcplab.capture.flows import TO_CLIENT, TO_SERVER
from mptcplab.errors import InputError
from mptcplab.report import capture_report
from tests.packets import (
    ACK,
    FIN,
    MS,
    RST,
    SYN,
    Packet,
    add_addr,
    dss,
    mp_capable,
    mp_join,
    write_links,
    write_pcap,
    write_pcapng,
)
from tests.vocabulary import shown

CLIENT_KEY, SERVER_KEY = b"client k", b"server k"
DOCS = Path(__file__).parents[2] / "docs" / "analyze.md"


def token(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()[:4]


def first_dsn(key: bytes) -> int:
    return int.from_bytes(hashlib.sha256(key).digest()[-8:], "big") + 1


class Talk:
    """A conversation as one place sees it; times in ms, positions from 0 on in the streams."""

    def __init__(
        self,
        *,
        isn: int = 1000,
        server_isn: int = 5000,
        key: bytes = CLIENT_KEY,
        server_key: bytes = SERVER_KEY,
        port: int = 40_000,
    ) -> None:
        self.packets: list[Packet] = []
        self.isn, self.server_isn = isn, server_isn
        self.key, self.server_key, self.port = key, server_key, port
        self.base = first_dsn(key)

    def ends(self, path: int) -> tuple[tuple[str, int], tuple[str, int]]:
        return (f"10.0.{path}.1", self.port + path), (f"10.1.{path}.1", 5001)

    def handshake(
        self, path: int = 1, at: float = 0, *, to_server: float = 10, to_client: float = 0
    ) -> Talk:
        """The round-trip times from this place to both ends."""
        key = self.server_key
        if path == 1:
            options = (mp_capable(), mp_capable(key), mp_capable(self.key, key))
        else:
            join = mp_join(token(key))
            options = join, bytes([30, 16, 16, 0]) + bytes(12), bytes([30, 24, 16, 0]) + bytes(20)
        isn, server_isn = self.isn, self.server_isn
        self.up(at, path, isn, 0, SYN, 0, options[0])
        self.down(at + to_server, path, server_isn, isn + 1, SYN | ACK, 0, options[1])
        return self.up(
            at + to_server + to_client, path, isn + 1, server_isn + 1, options=options[2]
        )

    def up(self, at: float, path: int, *more: Any, **fields: Any) -> Talk:
        """The client sends a packet."""
        self.packets.append(Packet(int(at * MS), *self.ends(path), *more, **fields))
        return self

    def down(self, at: float, path: int, *more: Any, **fields: Any) -> Talk:
        """The server sends a packet."""
        self.packets.append(Packet(int(at * MS), *self.ends(path)[::-1], *more, **fields))
        return self

    def data(
        self,
        at: float,
        path: int,
        position: int,
        length: int,
        data: int,
        *,
        mapping: tuple[int, int, int] | None = None,
        **signal: Any,
    ) -> Talk:
        """The client sends bytes from a position of the subflow, with those from `data` on.

        `mapping`: other than of this packet alone, its position, data position and length.
        """
        own, number, mapped = mapping or (position, data, length)
        options = dss(dsn=self.base + number, ssn=own + 1, length=mapped, **signal)
        seq, ack = self.isn + 1 + position, self.server_isn + 1
        return self.up(at, path, seq, ack, payload=length, options=options if mapped else b"")

    def ack(self, at: float, path: int, position: int, data: int | None = None) -> Talk:
        options = b"" if data is None else dss(data_ack=self.base + data)
        return self.down(at, path, self.server_isn + 1, self.isn + 1 + position, options=options)

    def elsewhere(self, delay_ms: float, *, lost: tuple[int, ...] = (), ttl: int = 63) -> Talk:
        """What a place nearer to the server sees: the client's packets later, the others before."""
        talk = Talk(isn=self.isn, server_isn=self.server_isn)
        for number, packet in enumerate(self.packets):
            if number not in lost:
                later = delay_ms if packet.target[1] == 5001 else -delay_ms
                talk.packets.append(packet.at(packet.time_ns + int(later * MS), ttl))
        talk.packets.sort(key=lambda packet: packet.time_ns)
        return talk


def analysed(tmp_path: Path, *talks: Talk, snap: int = 96) -> Analysis:
    files = [
        write_pcap(tmp_path / f"{number}.pcap", talk.packets, link_id=number, snap=snap)
        for number, talk in enumerate(talks)
    ]
    return analyze.analyse(files)


def one(analysis: Analysis) -> Connection:
    (connection,) = analysis.connections
    return connection


def two_subflows() -> Talk:
    """200 bytes on each of two subflows, in turn."""
    talk = Talk().handshake(1).handshake(2, 20, to_server=40)
    talk.data(100, 1, 0, 100, 0).data(101, 2, 0, 100, 100)
    return talk.data(102, 1, 100, 100, 200).data(103, 2, 100, 100, 300)


def test_tokens_join_subflows(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, two_subflows())
    connection = one(analysis)
    assert analysis.warnings == []
    assert connection.token_client == token(CLIENT_KEY).hex()
    assert connection.token_server == token(SERVER_KEY).hex()
    assert (connection.version, connection.complete, connection.fallback) == (1, True, False)
    assert [(s.number, s.client, s.server, s.began_with) for s in connection.subflows] == [
        (1, "10.0.1.1:40001", "10.1.1.1:5001", "MP_CAPABLE"),
        (2, "10.0.2.1:40002", "10.1.2.1:5001", "MP_JOIN"),
    ]
    assert [s.handshake_rtt_ms for s in connection.subflows] == [10, 40]
    assert [s.seen_at for s in connection.subflows] == [["the client (0.pcap)"]] * 2
    # goodput is from the first to the last data: 400 bytes in 3 ms, half of them on each subflow
    assert connection.directions[TO_SERVER].goodput_bps == pytest.approx(400 * 8 / 3e-3)
    goodputs = [s.ways[TO_SERVER].goodput_bps for s in connection.subflows]
    assert goodputs == [pytest.approx(200 * 8 / 3e-3)] * 2
    assert connection.directions[TO_SERVER].first_s == pytest.approx(0.1)
    assert connection.directions[TO_CLIENT].goodput_bps is None


def test_bytes_that_tcp_saw_before_are_retransmitted(tmp_path: Path) -> None:
    talk = two_subflows().data(120, 1, 100, 100, 200).data(121, 1, 150, 100, 250)
    way = one(analysed(tmp_path, talk)).subflows[0].ways[TO_SERVER]
    # all of the one, and half of the other
    assert (way.retransmitted_packets, way.retransmitted_bytes) == (2, 150)
    assert (way.data_packets, way.data_bytes) == (4, 400)
    assert (way.arrived_bytes, way.duplicate_packets) == (250, 1)
    # the new half of the last packet is what subflow 2 has carried: 300 to 350
    assert (way.reinjected_packets, way.reinjected_bytes) == (1, 50)


def test_a_syn_and_a_fin_that_are_sent_again_count(tmp_path: Path) -> None:
    talk = two_subflows()
    talk.packets.insert(0, talk.packets[0])
    for at in (200, 300, 400):
        talk.up(at, 1, 1201, 5001, FIN | ACK)
    way = one(analysed(tmp_path, talk)).subflows[0].ways[TO_SERVER]
    assert (way.retransmitted_packets, way.retransmitted_bytes) == (3, 0)


def test_data_that_another_subflow_carried_is_reinjected(tmp_path: Path) -> None:
    # bytes 100 to 200 of the connection were on subflow 2; 50 of the next packet are new
    talk = two_subflows().data(120, 1, 200, 100, 100).data(121, 1, 300, 100, 350)
    connection = one(analysed(tmp_path, talk))
    ways = [subflow.ways[TO_SERVER] for subflow in connection.subflows]
    assert [(w.reinjected_packets, w.reinjected_bytes) for w in ways] == [(2, 150), (0, 0)]
    assert [w.retransmitted_bytes for w in ways] == [0, 0]
    to_server = connection.directions[TO_SERVER]
    assert (to_server.reinjected_bytes, to_server.duplicate_bytes) == (150, 150)
    assert to_server.delivered_bytes == 450


def test_the_out_of_order_queue_is_what_waits_for_an_earlier_byte(tmp_path: Path) -> None:
    talk = Talk().handshake(1).handshake(2, 20)
    # 100 waits alone from 100 to 110 ms, with another 100 until 130 ms, then all is in order
    talk.data(100, 2, 0, 100, 200).data(110, 2, 100, 100, 100).data(130, 1, 0, 100, 0)
    talk.data(200, 1, 100, 100, 300)
    connection = one(analysed(tmp_path, talk))
    to_server = connection.directions[TO_SERVER]
    assert to_server.ofo_bytes_mean == pytest.approx((100 * 10 + 200 * 20) / 100)
    assert (to_server.ofo_bytes_p99, to_server.ofo_bytes_max) == (200, 200)
    series = connection.series[TO_SERVER]
    assert (series.queue_ns // MS).tolist() == [100, 110, 130]
    assert series.queue_bytes.tolist() == [100, 200, 0]
    # data that waits on a subflow is not in it: 100 to 200 of subflow 1 come first and cannot be
    # handed on before 0 to 100 are there
    talk = Talk().handshake(1).handshake(2, 20)
    talk.data(100, 1, 100, 100, 100).data(150, 1, 0, 100, 0).data(200, 1, 200, 100, 200)
    to_server = one(analysed(tmp_path, talk)).directions[TO_SERVER]
    # but it was reordered on its way
    assert (to_server.ofo_bytes_max, to_server.reordered_packets) == (0, 1)


def test_what_the_receiver_dropped_is_not_in_order_until_it_acknowledges_it(tmp_path: Path) -> None:
    talk = (
        Talk().handshake(1, to_server=0, to_client=20).handshake(2, 20, to_server=0, to_client=20)
    )
    # 0 to 100 came and was dropped: what comes behind it waits, as the data ACKs tell, for a copy
    talk.data(100, 1, 0, 100, 0).ack(100, 1, 100, 0).data(110, 2, 0, 100, 100)
    talk.ack(110, 2, 100, 0).ack(150, 2, 100, 0).data(160, 2, 100, 100, 0).ack(160, 2, 200, 200)
    talk.data(200, 1, 100, 100, 200).ack(200, 1, 200, 300)
    connection = one(analysed(tmp_path, talk))
    assert connection.directions[TO_SERVER].ofo_bytes_mean == pytest.approx(100 * 50 / 100)
    assert connection.directions[TO_SERVER].reinjected_bytes == 100
    assert connection.directions[TO_SERVER].delivered_bytes == 300


def test_reordering_counts_who_comes_behind_a_later_one(tmp_path: Path) -> None:
    talk = Talk().handshake(1).handshake(2, 20)
    # arrivals, by data: 0 3 1 4 2
    talk.data(100, 1, 0, 100, 0).data(101, 2, 0, 100, 300).data(102, 1, 100, 100, 100)
    talk.data(103, 2, 100, 100, 400).data(104, 1, 200, 100, 200)
    to_server = one(analysed(tmp_path, talk)).directions[TO_SERVER]
    assert (to_server.data_packets, to_server.reordered_packets) == (5, 2)
    assert to_server.reordered_share == 0.4
    # both behind packet 3, which came 1 and 3 packets before them; by 300 and 300 bytes
    assert to_server.reordering_extent_packets_mean == 2
    assert to_server.reordering_extent_packets_max == 3
    assert to_server.reordering_behind_bytes_mean == 300
    # places 0 3 1 4 2 instead of 0 1 2 3 4
    assert to_server.displacement_packets_mean == pytest.approx((0 + 2 + 1 + 1 + 2) / 5)


def test_a_mapping_may_span_packets_and_a_packet_mappings(tmp_path: Path) -> None:
    talk = Talk().handshake(1).handshake(2, 20)
    # one mapping of 300 bytes, only in its first packet; then a packet with the end of it and all
    # of the next one, which a packet announced that came before it
    talk.data(100, 1, 0, 100, 0, mapping=(0, 0, 300))
    talk.data(101, 1, 100, 100, 0, mapping=(0, 0, 0))
    talk.data(102, 1, 200, 150, 0, mapping=(300, 1000, 50))
    talk.data(103, 2, 0, 700, 300)
    to_server = one(analysed(tmp_path, talk)).directions[TO_SERVER]
    assert to_server.unmapped_bytes == 0
    assert to_server.delivered_bytes == 1050
    assert to_server.ofo_bytes_max == 50


@pytest.mark.parametrize("long", [True, False])
def test_sequence_numbers_wrap_on_both_levels(tmp_path: Path, long: bool) -> None:
    talk = Talk(isn=2**32 - 151, server_isn=2**32 - 1).handshake(1).handshake(2, 20)
    # the data wrap within the second packet
    talk.base = first_dsn(CLIENT_KEY)
    distance = 2**32 - talk.base % 2**32 - 150
    for step in range(distance // 2**30 + 1):
        talk.data(100 + step, 2, step, 1, step * 2**30, long=long)
    talk.data(110, 1, 0, 100, distance, long=long).data(111, 1, 100, 100, distance + 100, long=long)
    talk.data(112, 1, 200, 100, distance + 200, long=long)
    connection = one(analysed(tmp_path, talk))
    way = connection.subflows[0].ways[TO_SERVER]
    assert (way.data_bytes, way.arrived_bytes, way.retransmitted_bytes) == (300, 300, 0)
    to_server = connection.directions[TO_SERVER]
    assert to_server.arrived_bytes == 300 + distance // 2**30 + 1
    assert to_server.reordered_packets == 0


def test_round_trips_are_from_data_to_its_acknowledgment(tmp_path: Path) -> None:
    talk = Talk().handshake(1)
    talk.data(100, 1, 0, 100, 0).data(101, 1, 100, 100, 100).data(102, 1, 200, 100, 200)
    # one at a time, and two together: from the later one, that is
    talk.ack(110, 1, 100).ack(122, 1, 300)
    # the retransmission is acknowledged: of which of the two is not known
    talk.data(200, 1, 300, 100, 300).data(260, 1, 300, 100, 300).ack(270, 1, 400)
    rtt = one(analysed(tmp_path, talk)).subflows[0].ways[TO_SERVER].rtt
    assert (rtt.samples, rtt.min_ms, rtt.median_ms) == (2, 10, 15)
    assert rtt.p95_ms == pytest.approx(19.5)


def lossy_pair() -> tuple[Talk, Talk]:
    """At the client and, 5 ms away, at the server; a packet is lost and sent again."""
    near = Talk().handshake(1, to_server=10, to_client=0).handshake(2, 20, to_server=10)
    near.data(100, 1, 0, 100, 0).data(101, 1, 100, 100, 100).data(102, 1, 200, 100, 200)
    near.data(150, 1, 100, 100, 100)
    return near, near.elsewhere(5, lost=(7,))


@pytest.mark.parametrize("far_first", [False, True])
def test_both_ends_are_distinct_and_no_packet_counts_twice(tmp_path: Path, far_first: bool) -> None:
    pair = lossy_pair()
    connection = one(analysed(tmp_path, *(reversed(pair) if far_first else pair)))
    names = ("1.pcap", "0.pcap") if far_first else ("0.pcap", "1.pcap")
    way = connection.subflows[0].ways[TO_SERVER]
    seen = [f"the client ({names[0]})", f"the server ({names[1]})"]
    assert connection.subflows[0].seen_at == seen
    assert (way.data_packets, way.arrived_packets, way.lost_packets) == (4, 3, 1)
    assert (way.retransmitted_packets, way.delivered_bytes) == (1, 300)
    assert connection.directions[TO_SERVER].ofo_seen_at == "the server"
    # one end alone does not know what was lost
    at_client, at_server = (one(analysed(tmp_path, talk)) for talk in lossy_pair())
    ways = [each.subflows[0].ways[TO_SERVER] for each in (at_client, at_server)]
    assert [way.lost_packets for way in ways] == [None, None]
    assert [way.retransmitted_packets for way in ways] == [1, 0]
    assert at_server.subflows[0].seen_at == ["the server (0.pcap)"]


def test_without_the_handshake_routers_on_the_way_tell_the_side(tmp_path: Path) -> None:
    near, far = lossy_pair()
    for number, talk in enumerate((near, far)):
        kept = [packet for packet in talk.packets if packet.payload or packet.time_ns > 50 * MS]
        answer = Talk().ack(120 + number, 1, 100).packets[0]
        talk.packets = [*kept, replace(answer, ttl=63 + number)]
    near.packets = [replace(packet, ttl=64 if packet.payload else 63) for packet in near.packets]
    connection = one(analysed(tmp_path, far, near))
    way = connection.subflows[0].ways[TO_SERVER]
    assert (way.data_packets, way.arrived_packets, way.lost_packets) == (4, 3, 1)


def test_the_two_links_of_a_router_count_once(tmp_path: Path) -> None:
    file = write_links(tmp_path / "router.pcap", *(talk.packets for talk in lossy_pair()))
    way = one(analyze.analyse([file])).subflows[0].ways[TO_SERVER]
    assert (way.data_packets, way.arrived_packets) == (4, 3)
    # but a client that moves to another link is one flow
    packets = two_subflows().packets
    file = write_links(tmp_path / "client.pcap", packets[:8], packets[8:])
    connection = one(analyze.analyse([file]))
    assert [s.ways[TO_SERVER].data_bytes for s in connection.subflows] == [200, 200]


def test_ports_that_are_used_again_are_another_connection(tmp_path: Path) -> None:
    # the same keys, which never happens, would be the same connection: other ones
    again = Talk(isn=77_000, key=b"another1", server_key=b"another2").handshake(1, 500)
    talk = two_subflows()
    talk.packets += again.data(600, 1, 0, 50, 0).packets
    analysis = analysed(tmp_path, talk)
    bytes_ = [[s.ways[0].data_bytes for s in c.subflows] for c in analysis.connections]
    assert bytes_ == [[200, 200], [50]]


def test_data_of_the_server_counts_in_its_own_direction(tmp_path: Path) -> None:
    options = dss(dsn=first_dsn(SERVER_KEY), ssn=1, length=30)
    talk = two_subflows().down(140, 1, 5001, 1201, payload=30, options=options, ttl=60)
    connection = one(analysed(tmp_path, talk))
    assert connection.directions[TO_CLIENT].delivered_bytes == 30
    assert connection.subflows[0].ways[TO_CLIENT].data_packets == 1
    assert connection.directions[TO_SERVER].delivered_bytes == 400


def test_first_data_may_have_its_mapping_in_mp_capable(tmp_path: Path) -> None:
    options = mp_capable(CLIENT_KEY, SERVER_KEY, length=8)
    talk = Talk().handshake(1).up(50, 1, 1001, 5001, payload=8, options=options)
    talk.data(60, 1, 8, 100, 8)
    to_server = one(analysed(tmp_path, talk)).directions[TO_SERVER]
    assert (to_server.unmapped_bytes, to_server.delivered_bytes) == (0, 108)


def test_the_first_version_of_mptcp_has_its_tokens_by_sha_1(tmp_path: Path) -> None:
    talk = Talk().up(0, 1, flags=SYN, options=mp_capable(CLIENT_KEY, version=0))
    talk.down(1, 1, flags=SYN | ACK, options=mp_capable(SERVER_KEY, version=0))
    talk.up(2, 1, options=mp_capable(CLIENT_KEY, SERVER_KEY, version=0))
    connection = one(analysed(tmp_path, talk))
    assert connection.version == 0
    assert connection.token_server == hashlib.sha1(SERVER_KEY).hexdigest()[:8]


def test_a_connection_without_its_beginning_is_analysed_with_a_warning(tmp_path: Path) -> None:
    talk = two_subflows()
    talk.packets = [packet for packet in talk.packets if packet.payload]
    analysis = analysed(tmp_path, talk)
    assert [len(c.subflows) for c in analysis.connections] == [1, 1]
    assert [c.complete for c in analysis.connections] == [False, False]
    ways = [c.subflows[0].ways[TO_SERVER] for c in analysis.connections]
    assert [way.delivered_bytes for way in ways] == [200, 200]
    assert analysis.warnings[0] == (
        "connection 1: the captures lack the handshake of its only subflow 10.0.1.1:40001 - "
        "10.1.1.1:5001, so it may belong to another connection"
    )


def test_subflows_that_join_what_is_not_there_are_one_connection(tmp_path: Path) -> None:
    talk = Talk().handshake(2).handshake(3, 5).data(100, 2, 0, 100, 0).data(110, 3, 0, 100, 100)
    analysis = analysed(tmp_path, talk)
    connection = one(analysis)
    assert connection.token_server == token(SERVER_KEY).hex()
    assert connection.directions[TO_SERVER].delivered_bytes == 200
    assert analysis.warnings == [
        "connection 1: the captures lack its beginning, and have only the MP_JOIN of 2 subflow(s) "
        f"with token {token(SERVER_KEY).hex()}"
    ]


def test_a_server_that_does_not_know_mptcp_makes_it_tcp(tmp_path: Path) -> None:
    talk = Talk().up(0, 1, 1000, 0, SYN, 0, mp_capable()).down(10, 1, 5000, 1001, SYN | ACK)
    talk.up(10, 1, 1001, 5001)
    talk.up(11, 1, 1001, 5001, payload=500).up(12, 1, 1501, 5001, payload=500)
    analysis = analysed(tmp_path, talk)
    connection = one(analysis)
    assert connection.fallback
    assert connection.directions[TO_SERVER].delivered_bytes == 1000
    assert analysis.warnings == []


def test_options_and_ends_are_counted(tmp_path: Path) -> None:
    talk = two_subflows().down(150, 1, 5001, 1201, options=add_addr())
    talk.up(151, 1, 1201, 5001, options=bytes([30, 3, 5 << 4 | 1]))
    talk.up(152, 1, 1201, 5001, options=bytes([30, 4, 4 << 4, 2]))
    talk.up(153, 1, 1201, 5001, options=bytes([30, 12, 7 << 4]) + bytes(9))
    talk.up(154, 1, 1201, 5001, FIN | ACK, options=dss(dsn=9, fin=True))
    talk.down(155, 1, 5001, 1202, FIN | ACK)
    talk.down(156, 2, 5001, flags=RST, options=bytes([30, 4, 128, 1]))
    connection = one(analysed(tmp_path, talk))
    ways = connection.subflows[0].ways
    expected = {"DATA_FIN": 1, "MP_FASTCLOSE": 1, "MP_PRIO": 1, "REMOVE_ADDR": 1}
    assert ways[TO_SERVER].options == expected
    assert ways[TO_CLIENT].options == {"ADD_ADDR": 1}
    assert connection.subflows[1].ways[TO_CLIENT].options == {"MP_TCPRST": 1}
    assert [subflow.closed_by for subflow in connection.subflows] == ["FIN", "RST"]
    assert connection.directions[TO_SERVER].data_fin


def plain_tcp() -> list[Packet]:
    ends = ("10.9.9.9", 50000), ("10.8.8.8", 80)
    return [Packet(0, *ends, 1, 0, SYN), Packet(5 * MS, *ends, 2, 1, payload=100)]


def test_what_cannot_be_analysed_is_left_out_with_a_warning(tmp_path: Path) -> None:
    talk = two_subflows().data(104, 1, 200, 70, 0, mapping=(0, 0, 0))
    talk.packets = plain_tcp() + talk.packets
    analysis = analysed(tmp_path, talk)
    assert len(one(analysis).subflows) == 2
    assert one(analysis).directions[TO_SERVER].unmapped_bytes == 70
    assert sorted(analysis.warnings) == [
        "1 TCP connections without MPTCP are left out",
        "connection 1, client to server: 70 bytes have no mapping in the captures and count in "
        "no figure of the connection",
    ]
    analysis = analysed(tmp_path, two_subflows(), snap=70)
    assert "TCP headers are incomplete" in analysis.warnings[0]


@pytest.mark.parametrize("packets", [plain_tcp(), []], ids=["plain TCP", "empty"])
def test_a_capture_without_mptcp_is_an_error(tmp_path: Path, packets: list[Packet]) -> None:
    file = write_pcapng(tmp_path / "x.pcapng", packets)
    with pytest.raises(InputError) as error:
        analyze.analyse([file])
    found = "2 TCP packets" if packets else "no TCP packet"
    assert f"in {file}\n  nothing to analyse: no MPTCP and no UDP ({found} in all)" in str(
        error.value
    )


def test_the_table_says_what_was_found(tmp_path: Path) -> None:
    text = shown(capture_report.tables(analysed(tmp_path, *lossy_pair())))
    assert f"Connection 1: token {token(SERVER_KEY).hex()}, MPTCP version 1" in text
    assert "seen at the client (0.pcap)" in text
    row = next(line for line in text.splitlines() if line.startswith("1 "))
    # goodput of 300 bytes in 50 ms, packets, retransmitted, reinjected, lost
    assert row.split()[:6] == ["1", "0.05", "4", "1", "0", "1"]
    assert "300 bytes in order" in text
    assert max(map(len, text.splitlines())) <= 80


def test_document_and_picture_are_written(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, two_subflows())
    files = capture_report.write(analysis, tmp_path / "out")
    assert [file.name for file in files] == ["analysis.json", "analysis.png"]
    document = json.loads(files[0].read_text())
    assert document == capture_report.document(analysis)
    assert document["connections"][0]["subflows"][1]["client"] == "10.0.2.1:40002"
    assert files[1].read_bytes().startswith(b"\x89PNG")

    def names(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(names, value))
        if isinstance(value, dict):
            return set(value).union(*map(names, value.values()))
        return set()

    # every figure is defined
    text = DOCS.read_text()
    assert [name for name in sorted(names(document)) if f"`{name}`" not in text] == []
