# SPDX-License-Identifier: GPL-2.0-only
"""Figures of UDP from captures that are built packet by packet, each worked out by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from mptcplab.capture import analyze, dissect, udp
from mptcplab.capture.udp import UdpFlow, UdpPort
from mptcplab.errors import InputError
from mptcplab.metrics.definitions import UdpFigures
from mptcplab.metrics.schema import metrics_of
from mptcplab.report import capture_report, tables
from tests.packets import MS, SYN, Datagram, Packet, frame, write_pcap
from tests.vocabulary import shown

CLIENT, SERVER = ("10.0.1.1", 40000), ("10.1.1.1", 4433)
SECOND = ("10.0.2.1", 40001)
CLIENT_6, SERVER_6 = ("fd00::a00:101", 40000), ("fd00::a01:101", 4433)


def sent(
    count: int, source: Any = CLIENT, target: Any = SERVER, *, begin: int = 0, size: int = 100
) -> list[Datagram]:
    """A numbered packet each ms."""
    return [
        Datagram((begin + n) * MS, source, target, n.to_bytes(4, "big"), size) for n in range(count)
    ]


def later(packets: Sequence[Datagram], delay_ms: float, *lost: int) -> list[Datagram]:
    """What arrived after a delay; `lost` are places, from 0."""
    return [
        packet.at(packet.time_ns + int(delay_ms * MS), ttl=63)
        for n, packet in enumerate(packets)
        if n not in lost
    ]


def analysed(tmp_path: Path, *places: Sequence[Datagram | Packet]) -> list[UdpPort]:
    """The figures of captures, of which the first is the client's, each of a link of its own."""
    return analyze.analyse(captured(tmp_path, *places)).udp


def captured(tmp_path: Path, *places: Sequence[Datagram | Packet]) -> list[Path]:
    return [
        write_pcap(
            tmp_path / f"{number}.pcap",
            sorted(packets, key=lambda packet: packet.time_ns),
            link_id=number,
            snap=116,
        )
        for number, packets in enumerate(places)
    ]


def one(ports: Sequence[UdpPort]) -> UdpFlow:
    (port,) = ports
    (flow,) = port.flows
    return flow


@pytest.mark.parametrize("ends", [(CLIENT, SERVER), (CLIENT_6, SERVER_6)], ids=["IPv4", "IPv6"])
def test_rate_losses_and_delay_of_a_constant_rate(tmp_path: Path, ends: Any) -> None:
    client, server = ends
    up = sent(1000, *ends)
    answers = sent(10, server, client, begin=100, size=40)
    near = [*up, *later(answers, 15)]
    far = [*later(up, 20, 3, 7, 500), *answers]
    flow = one(analysed(tmp_path, near, far))
    assert flow.seen_in == ["0.pcap", "1.pcap"]
    to_server, to_client = flow.ways
    names = [f"[{end[0]}]:{end[1]}" if ":" in end[0] else f"{end[0]}:{end[1]}" for end in ends]
    assert to_server.model_dump() == {
        "client": names[0],
        "server": names[1],
        "path": None,
        "direction": "up",
        "packets": 1000,
        "payload_bytes": 100_000,
        "first_s": 0,
        "last_s": 0.999,
        "arrived_packets": 997,
        "arrived_bytes": 99_700,
        # the first and the last one arrive at 20 and 1019 ms
        "payload_bps": pytest.approx(8 * 99_700 / 0.999, rel=1e-12),
        "share": 1,
        "lost_packets": 3,
        "pending_packets": 0,
        "alike_packets": 0,
        "delay_ms_min": 20,
        "delay_ms_median": 20,
        "delay_ms_p95": 20,
        "delay_ms_max": 20,
        "reordered_packets": 0,
    }
    assert (to_client.direction, to_client.packets, to_client.lost_packets) == ("down", 10, 0)
    assert (to_client.payload_bytes, to_client.delay_ms_median) == (400, 15)
    assert to_client.first_s == 0.1


def test_delays_are_told_by_their_median_95th_percentile_and_ends(tmp_path: Path) -> None:
    up = sent(101)
    # 0, 0.01, ... 1 ms more: none overtakes another
    far = [packet.at(packet.time_ns + 10 * MS + n * MS // 100) for n, packet in enumerate(up)]
    to_server = one(analysed(tmp_path, up, far)).ways[0]
    found = [to_server[f"delay_ms_{which}"] for which in ("min", "median", "p95", "max")]
    assert found == pytest.approx([10, 10.5, 10.95, 11])
    assert to_server.reordered_packets == 0


def test_packets_that_are_overtaken_are_reordered(tmp_path: Path) -> None:
    up = sent(10)
    far = later(up, 5)
    # the fourth one arrives after the sixth and before the seventh
    far[3] = far[3].at(far[5].time_ns + MS // 2)
    to_server = one(analysed(tmp_path, up, far)).ways[0]
    assert (to_server.reordered_packets, to_server.lost_packets) == (1, 0)
    assert to_server.delay_ms_max == 7.5


def test_packets_after_the_last_arrival_may_be_on_their_way(tmp_path: Path) -> None:
    up = sent(10)
    to_server = one(analysed(tmp_path, up, later(up, 5, 2, 7, 8, 9))).ways[0]
    assert (to_server.lost_packets, to_server.pending_packets) == (1, 3)


def test_if_nothing_arrives_all_of_it_may_be_on_its_way(tmp_path: Path) -> None:
    up, answers = sent(10), sent(2, SERVER, CLIENT, begin=50)
    found = analyze.analyse(captured(tmp_path, [*up, *later(answers, 5)], answers))
    assert found.warnings == []
    to_server, to_client = one(found.udp).ways
    assert (to_server.lost_packets, to_server.pending_packets) == (0, 10)
    assert (to_server.arrived_packets, to_server.payload_bps, to_server.share) == (0, None, None)
    assert to_server.delay_ms_median is None
    assert to_client.arrived_packets == 2


def test_packets_that_look_the_same_prove_nothing_even_if_all_arrive(tmp_path: Path) -> None:
    up = [Datagram(n * MS, CLIENT, SERVER, bytes([n % 3])) for n in range(100)]
    up.insert(50, Datagram(50 * MS, CLIENT, SERVER, b"other"))
    up.insert(80, Datagram(79 * MS, CLIENT, SERVER, b"one more"))
    to_server = one(analysed(tmp_path, up, later(up, 20, 50))).ways[0]
    assert (to_server.lost_packets, to_server.alike_packets) == (1, 100)
    assert (to_server.delay_ms_min, to_server.delay_ms_max) == (20, 20)
    text = table(analyze.analyse(captured(tmp_path, up, later(up, 20, 50))))
    row = next(line for line in text.splitlines() if line.startswith("1 up  "))
    assert row.split()[4:] == ["102", ">=1", "20.0", "20.0", "20.0", ">=0"]


@pytest.mark.parametrize("ends", [(CLIENT, SERVER), (CLIENT_6, SERVER_6)], ids=["IPv4", "IPv6"])
def test_of_packets_that_look_the_same_one_is_lost_and_one_duplicated(
    tmp_path: Path, ends: Any
) -> None:
    up = [Datagram(n * MS, *ends) for n in range(100)]
    # the eleventh is lost, and the last one arrives twice: matched in their order, those between
    # would have taken 21 ms, without a loss. And the first one arrives before all others
    far = [up[0].at(MS, ttl=63), *later(up, 20, 0, 10), up[99].at(119 * MS + 1, ttl=63)]
    found = analyze.analyse(captured(tmp_path, up, far))
    to_server = one(found.udp).ways[0]
    assert (to_server.packets, to_server.arrived_packets) == (100, 100)
    assert (to_server.payload_bytes, to_server.arrived_bytes) == (10_000, 10_000)
    assert to_server.alike_packets == 100
    assert to_server.lost_packets is to_server.pending_packets is None
    assert to_server.delay_ms_min is to_server.delay_ms_max is to_server.reordered_packets is None
    assert found.warnings == [looking_alike(100)]
    row = next(line for line in table(found).splitlines() if line.startswith("1 up  "))
    assert row.split()[3:] == ["100.0", "100", *5 * "-"]


def test_duplicates_among_packets_that_look_the_same_are_no_clocks_that_disagree(
    tmp_path: Path,
) -> None:
    up = [Datagram(n * MS, CLIENT_6, SERVER_6) for n in range(100)]
    # the first thirty arrive twice, and the last thirty not: in their order, the copies of early
    # ones would be later ones that arrive before they are sent
    far = later([*up[:30], *up[:30], *up[30:70]], 5)
    found = analyze.analyse(captured(tmp_path, up, far))
    assert one(found.udp).ways[0].delay_ms_min is None
    assert found.warnings == [looking_alike(100)]


def looking_alike(count: int) -> str:
    return (
        f"UDP port 4433: {count} packets look like others, so it is unknown which of them "
        "arrived, and when; losses, delays and reordering exclude them"
    )


def test_packets_that_look_the_same_are_lost_if_none_of_them_arrives(tmp_path: Path) -> None:
    looks = (b"a", b"same", b"same", b"b", b"b")
    up = [Datagram(n * MS, CLIENT, SERVER, look) for n, look in enumerate(looks)]
    to_server = one(analysed(tmp_path, up, later(up, 20, 1, 2))).ways[0]
    # of the last two one arrived at least, so that the two before are not on their way
    assert (to_server.lost_packets, to_server.pending_packets) == (2, 0)
    assert to_server.alike_packets == 2


def test_the_last_arrival_may_be_the_first_of_equal_packets(tmp_path: Path) -> None:
    up = [Datagram(n * MS, CLIENT, SERVER, look) for n, look in enumerate((b"b", b"x", b"b"))]
    # and then it arrived twice, or the last one did, too
    for delays_ms in (20, 20.5), (20, 22):
        far = [up[0].at(int(delay * MS), ttl=63) for delay in delays_ms]
        to_server = one(analysed(tmp_path, up, far)).ways[0]
        assert (to_server.lost_packets, to_server.pending_packets) == (0, 1)


def test_a_packet_that_arrives_twice_is_one(tmp_path: Path) -> None:
    up = sent(3)
    far = later(up, 20)
    to_server = one(analysed(tmp_path, up, [*far, far[1].at(far[1].time_ns + MS // 2)])).ways[0]
    assert (to_server.arrived_packets, to_server.lost_packets, to_server.alike_packets) == (4, 0, 0)
    assert (to_server.delay_ms_max, to_server.reordered_packets) == (20, 0)


def arriving(count: int) -> str:
    return (
        f"UDP port 4433: the sender's capture lacks {count} packets that arrived: it began later "
        "or keeps another number of bytes of each packet, or they were changed or duplicated on "
        "their way; losses may be wrong"
    )


def test_what_arrives_and_was_not_seen_to_be_sent_is_told(tmp_path: Path) -> None:
    up = sent(10)
    again = [*later(up, 20), up[1].at(25 * MS, ttl=63)]
    assert analyze.analyse(captured(tmp_path, up, again)).warnings == [arriving(1)]
    # as many arrive as were sent
    assert analyze.analyse(captured(tmp_path, up, [*later(up, 20, 4), again[-1]])).warnings == [
        arriving(1)
    ]
    # the capture of the sender began after three packets
    assert analyze.analyse(captured(tmp_path, up[3:], later(up, 20))).warnings == [arriving(3)]


def test_captures_of_unlike_lengths_are_told(tmp_path: Path) -> None:
    up = [Datagram(n * MS, CLIENT, SERVER, 12 * n.to_bytes(4, "big")) for n in range(1, 11)]
    near = write_pcap(tmp_path / "near.pcap", up, snap=116)
    # 14 + 20 + 8 bytes of headers, and 22 of the payload
    far = write_pcap(tmp_path / "far.pcap", later(up, 20), snap=64)
    found = analyze.analyse([near, far])
    assert one(found.udp).ways[0].lost_packets == 0
    assert found.warnings == [arriving(10)]


def test_of_two_packets_that_look_the_same_one_is_lost(tmp_path: Path) -> None:
    up = [Datagram(n * MS, CLIENT, SERVER, b"same") for n in range(2)] + sent(3, begin=2)
    to_server = one(analysed(tmp_path, up, later(up, 20, 1))).ways[0]
    assert (to_server.lost_packets, to_server.alike_packets) == (0, 2)
    assert (to_server.delay_ms_max, to_server.reordered_packets) == (20, 0)


def test_if_all_look_the_same_there_are_counts_alone(tmp_path: Path) -> None:
    up = [Datagram(n * MS, CLIENT, SERVER) for n in range(10)]
    files = captured(tmp_path, up, later(up, 20, 4))
    found = analyze.analyse(files)
    to_server = one(found.udp).ways[0]
    assert (to_server.arrived_packets, to_server.alike_packets) == (9, 10)
    assert to_server.lost_packets is to_server.pending_packets is None
    assert to_server.delay_ms_median is to_server.reordered_packets is None
    assert found.warnings == [looking_alike(10)]
    # two more arrive than were sent
    found = analyze.analyse(captured(tmp_path, up[2:], later(up, 20)))
    assert found.warnings == [looking_alike(8), arriving(2)]


@pytest.mark.parametrize(
    "change", [{"identification": 5}, {"size": 101}, {"content": bytes(47) + b"x"}]
)
def test_what_tells_packets_apart(tmp_path: Path, change: dict[str, Any]) -> None:
    up = [Datagram(0, CLIENT, SERVER), Datagram(MS, CLIENT, SERVER, **change)]
    to_server = one(analysed(tmp_path, up, later(up, 20, 0))).ways[0]
    assert (to_server.lost_packets, to_server.alike_packets) == (1, 0)


def test_what_is_behind_the_first_48_bytes_and_padding_tell_nothing(tmp_path: Path) -> None:
    up = [Datagram(0, CLIENT, SERVER, bytes(48) + b"x"), Datagram(MS, CLIENT, SERVER, b"abc", 3)]
    near, far = captured(tmp_path, up, later(up, 20))
    content = near.read_bytes()
    # an Ethernet card fills 14 + 20 + 8 + 3 bytes up to 60
    head, short = content[:-61], content[-45:]
    padded = struct.pack("<IIII", 0, MS, 60, 60) + short + b"\xff" * 15
    near.write_bytes(head + padded)
    found = [one(analyze.analyse([near, far]).udp).ways[0]]
    up[0] = Datagram(0, CLIENT, SERVER, bytes(48) + b"y")
    (near,) = captured(tmp_path, up)
    found.append(one(analyze.analyse([near, far]).udp).ways[0])
    for way in found:
        assert (way.delay_ms_max, way.lost_packets, way.pending_packets) == (20, 0, 0)


def test_one_capture_gives_no_losses_and_delays(tmp_path: Path) -> None:
    flow = one(analysed(tmp_path, sent(5)))
    to_server, to_client = flow.ways
    assert flow.series[0].arrived_ns.tolist() == [n * MS for n in range(5)]
    assert flow.series[0].arrived_bytes.tolist() == 5 * [100]
    assert len(flow.series[0].sent_ns) == len(flow.series[0].delay_ns) == 0
    assert (to_server.packets, to_server.arrived_packets) == (5, 5)
    assert to_server.lost_packets is to_server.delay_ms_max is to_server.pending_packets is None
    assert (to_client.packets, to_client.first_s, to_client.payload_bps) == (0, None, None)


def test_flows_to_a_port_share_it(tmp_path: Path) -> None:
    first, second = sent(30), sent(10, SECOND)
    (port,) = analysed(tmp_path, [*first, *second], [*later(first, 5), *later(second, 20)])
    assert port.port == 4433
    assert [flow.number for flow in port.flows] == [1, 2]
    ways = [flow.ways[0] for flow in port.flows]
    assert [way.share for way in ways] == [0.75, 0.25]
    # the first packet arrives at 5 ms, the last ones at 34 and 29
    rates = [8 * count * 100 / 0.029 for count in (30, 10)]
    assert [way.payload_bps for way in ways] == pytest.approx(rates)


def test_a_server_may_answer_from_another_address(tmp_path: Path) -> None:
    up, answers = sent(10), sent(10, ("10.1.2.1", 4433), CLIENT, begin=20)
    files = [[*up, *later(answers, 20)], [*later(up, 20), *answers]]
    (port,) = analysed(tmp_path, *files)
    assert [(flow.ways[0].client, flow.ways[0].server) for flow in port.flows] == [
        ("10.0.1.1:40000", "10.1.1.1:4433"),
        ("10.0.1.1:40000", "10.1.2.1:4433"),
    ]
    # of one direction each
    assert [flow.seen_in for flow in port.flows] == 2 * [["0.pcap", "1.pcap"]]
    assert [way.packets for flow in port.flows for way in flow.ways] == [10, 0, 0, 10]
    assert [port.flows[0].ways[0].share, port.flows[1].ways[1].share] == [1, 1]


def test_who_sends_first_is_the_client_unless_it_is_known(tmp_path: Path) -> None:
    first, then = sent(3, SERVER, CLIENT), sent(3, begin=50)
    near, far = [*later(first, 20), *then], [*first, *later(then, 20)]
    flow = one(analysed(tmp_path, near, far))
    assert (flow.ways[0].client, flow.ways[0].server) == ("10.1.1.1:4433", "10.0.1.1:40000")
    assert [way.packets for way in flow.ways] == [3, 3]
    assert [way.delay_ms_max for way in flow.ways] == [20, 20]
    assert [way.first_s for way in flow.ways] == [0, 0.05]
    assert flow.seen_in == ["1.pcap", "0.pcap"]
    found = dissect.read(captured(tmp_path, near, far)).udp
    assert found is not None
    flow = one(udp.of_packets(found, 10 * MS, ["10.0.1.1"])[0])
    way = flow.ways[0]
    assert (way.client, way.first_s, way.last_s) == ("10.0.1.1:40000", 0.04, 0.042)
    assert (flow.series[0].sent_ns // MS).tolist() == [50, 51, 52]
    assert flow.seen_in == ["0.pcap", "1.pcap"]


@pytest.mark.parametrize("back", [True, False])
def test_a_router_has_both_links_and_nothing_counts_twice(tmp_path: Path, back: bool) -> None:
    # client, both links of the router, server; and another flow, which is not the router's
    up, answers = sent(20), sent(20, SERVER, CLIENT, begin=30) if back else []
    other = sent(2, SECOND, begin=40)
    near = [*up, *later(answers, 20)]
    far = [*later(up, 20, 5), *answers]
    files = captured(tmp_path, [*near, *other], near, far, [*far, *later(other, 30)])
    router = tmp_path / "router.pcap"
    router.write_bytes(files[1].read_bytes() + files[2].read_bytes()[24:])
    (port,) = analyze.analyse([router, files[3], files[0]]).udp
    flow = port.flows[0]
    assert flow.seen_in == ["0.pcap", "router.pcap", "3.pcap"]
    assert (flow.ways[0].packets, flow.ways[0].lost_packets) == (20, 1)
    assert flow.ways[0].delay_ms_median == 20
    assert flow.ways[1].packets == len(answers)


@pytest.mark.parametrize("ends", [(CLIENT, SERVER), (CLIENT_6, SERVER_6)], ids=["IPv4", "IPv6"])
def test_a_router_has_both_links_also_of_packets_that_look_the_same(
    tmp_path: Path, ends: Any
) -> None:
    up = [Datagram(n * MS, *ends) for n in range(50)]
    near, far = captured(tmp_path, up, later(up, 20, 5))
    router = tmp_path / "router.pcap"
    router.write_bytes(near.read_bytes() + far.read_bytes()[24:])
    way = one(analyze.analyse([router]).udp).ways[0]
    assert (way.packets, way.arrived_packets, way.alike_packets) == (50, 49, 50)


def test_of_an_end_that_moved_packets_that_look_the_same_are_others(tmp_path: Path) -> None:
    up = [Datagram(n * MS, CLIENT, SERVER) for n in range(50)]
    one_device, other = captured(tmp_path, up[:30], up[30:])
    both = tmp_path / "any.pcap"
    both.write_bytes(one_device.read_bytes() + other.read_bytes()[24:])
    way = one(analyze.analyse([both]).udp).ways[0]
    assert (way.packets, way.arrived_packets) == (50, 50)


@pytest.mark.parametrize("first", [0, 1])
def test_if_nothing_arrives_each_place_has_what_its_own_end_sent(
    tmp_path: Path, first: int
) -> None:
    files = captured(tmp_path, sent(3), sent(2, SERVER, CLIENT, begin=10))
    flow = one(analyze.analyse([files[first], files[1 - first]]).udp)
    assert flow.seen_in == ["0.pcap", "1.pcap"]
    assert [(way.packets, way.arrived_packets) for way in flow.ways] == [(3, 0), (2, 0)]
    assert [way.pending_packets for way in flow.ways] == [3, 2]


@pytest.mark.parametrize("is_ahead_ms", [0, 20, -20])
@pytest.mark.parametrize("first", [0, 1])
def test_without_a_router_between_the_delays_say_who_is_near(
    tmp_path: Path, first: int, is_ahead_ms: int
) -> None:
    up, answers = sent(20, begin=50), sent(10, SERVER, CLIENT, begin=80)

    # all packets have the TTL that they were sent with; the clock of the server may be wrong
    def at_the_server(packets: Sequence[Datagram], delay_ms: int) -> list[Datagram]:
        delay_ns = (delay_ms + is_ahead_ms) * MS
        return [each.at(each.time_ns + delay_ns, ttl=64) for each in packets]

    near = [*up, *(each.at(each.time_ns, ttl=64) for each in later(answers, 5))]
    far = [*at_the_server([up[0], *up[3:]], 5), *at_the_server(answers, 0)]
    files = captured(tmp_path, near, far)
    flow = one(analyze.analyse([files[first], files[1 - first]]).udp)
    assert flow.seen_in == ["0.pcap", "1.pcap"]
    assert [way.packets for way in flow.ways] == [20, 10]
    assert [way.lost_packets for way in flow.ways] == [2, 0]
    found = [way.delay_ms_median for way in flow.ways]
    assert found == [5 + is_ahead_ms, 5 - is_ahead_ms]


def test_of_one_direction_without_a_router_the_clocks_are_taken_to_agree(tmp_path: Path) -> None:
    up = sent(20)
    far = [each.at(each.time_ns, ttl=64) for each in later(up, 5, 3)]
    near_file, far_file = captured(tmp_path, up, far)
    flow = one(analyze.analyse([far_file, near_file]).udp)
    assert flow.seen_in == ["0.pcap", "1.pcap"]
    assert (flow.ways[0].lost_packets, flow.ways[0].delay_ms_max) == (1, 5)


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_of_packets_that_look_the_same_says_who_is_near(
    tmp_path: Path, first: int
) -> None:
    up = [Datagram(n * MS, CLIENT_6, SERVER_6) for n in range(20)]
    # two are lost; the one that arrives first is sent first, or later
    far = [each.at(each.time_ns, ttl=64) for each in later(up, 5, 0, 3)]
    files = captured(tmp_path, up, far)
    flow = one(analyze.analyse([files[first], files[1 - first]]).udp)
    assert flow.seen_in == ["0.pcap", "1.pcap"]
    assert (flow.ways[0].packets, flow.ways[0].arrived_packets) == (20, 18)


def test_clocks_that_do_not_agree_are_told(tmp_path: Path) -> None:
    up = sent(5, begin=10)
    found = analyze.analyse(captured(tmp_path, up, later(up, -3)))
    assert one(found.udp).ways[0].delay_ms_median == -3
    assert found.warnings == [
        "UDP port 4433: packets arrive before they are sent: the clocks of the captures do not "
        "agree, and the delays are wrong by the difference"
    ]


@pytest.mark.parametrize("delay_ms", [-3, 3])
def test_delays_are_drawn_from_0_on_or_from_the_lowest(tmp_path: Path, delay_ms: int) -> None:
    up = sent(5, begin=10)
    found = analyze.analyse(captured(tmp_path, up, later(up, delay_ms)))
    axis = Figure().subplots()
    capture_report._draw_delays(axis, found, [one(found.udp)], 0)
    assert axis.get_ylim()[0] == min(delay_ms, 0)


def test_clocks_may_agree_to_the_nanosecond(tmp_path: Path) -> None:
    up = sent(5)
    found = analyze.analyse(captured(tmp_path, up, later(up, 0)))
    assert one(found.udp).ways[0].delay_ms_max == 0
    assert found.warnings == []


def test_what_is_no_whole_header_of_udp_is_none(tmp_path: Path) -> None:
    good = [*sent(2), Datagram(2 * MS, CLIENT, SERVER, size=0)]
    wrong = bytearray(good[1].ip())
    wrong[20 + 4 : 20 + 6] = struct.pack(">H", 7)  # its length is at least that of its header
    fragment = bytearray(good[1].ip())
    fragment[7] = 1  # a later one, which has no header
    short = bytearray(good[1].ip())
    short[0] = 0x44  # IP's header has at least 20 bytes
    file = write_pcap(tmp_path / "x.pcap", good)
    cut = frame(good[1].ip())[: 14 + 20 + 7]
    with file.open("ab") as to:
        for whole in (*(frame(bytes(ip)) for ip in (wrong, fragment, short)), cut):
            to.write(struct.pack("<IIII", 2, 0, len(whole), len(whole)) + whole)
    found = dissect.read([file])
    # three of them are whole
    assert (len(found), found.others) == (0, 7)
    assert found.udp is not None
    assert found.udp.payload.tolist() == [100, 100, 0]


def test_the_first_fragment_stands_for_the_whole(tmp_path: Path) -> None:
    # of 3000 bytes the first packet has 1472
    ip = bytearray(Datagram(0, CLIENT, SERVER, size=3000).ip()[:1500])
    ip[2:4], ip[6] = struct.pack(">H", 1500), 0x20
    whole = frame(bytes(ip))
    file = write_pcap(tmp_path / "x.pcap", [])
    with file.open("ab") as to:
        to.write(struct.pack("<IIII", 0, 0, 96, len(whole)) + whole[:96])
    flow = one(analyze.analyse([file]).udp)
    assert (flow.ways[0].packets, flow.ways[0].payload_bytes) == (1, 3000)


def test_the_first_fragment_of_ipv6_stands_for_the_whole(tmp_path: Path) -> None:
    # RFC 8200: behind IPv6's header one of 8 bytes, with the place in units of 8 bytes and a bit
    # that says that more follow, on all but the last one
    whole = Datagram(0, CLIENT_6, SERVER_6, 3000 * b"x", 3000).ip()
    frames = []
    for begin, more in ((0, 1), (1448, 1), (2896, 0)):
        part = whole[40:][begin : begin + 1448]
        extra = struct.pack(">BBHI", 17, 0, begin | more, 7)
        head = struct.pack(">IHBB", 6 << 28, len(extra + part), 44, 64)
        frames.append(frame(head + whole[8:40] + extra + part))
    near, far = (write_pcap(tmp_path / f"{n}.pcap", []) for n in range(2))
    for file, ms in ((near, 0), (far, 20)):
        with file.open("ab") as to:
            # the first of them arrives last
            for each in reversed(frames):
                to.write(struct.pack("<IIII", 0, ms * MS, 128, len(each)) + each[:128])
    packets = dissect.read([near, far])
    assert packets.udp is not None
    assert (len(packets.udp), packets.others) == (2, 6)
    way = one(analyze.analyse([near, far]).udp).ways[0]
    assert (way.client, way.server) == ("[fd00::a00:101]:40000", "[fd00::a01:101]:4433")
    assert (way.packets, way.payload_bytes, way.lost_packets) == (1, 3000, 0)
    assert way.delay_ms_max == 20


@pytest.mark.parametrize("missing", [1, 30, 120])
def test_a_file_that_is_cut_off_is_used_up_to_there(tmp_path: Path, missing: int) -> None:
    (file,) = captured(tmp_path, sent(10))
    file.write_bytes(file.read_bytes()[:-missing])
    found = analyze.analyse([file])
    # a record has 16 bytes, and 116 of the packet's
    assert one(found.udp).ways[0].packets == 9
    assert "ends early" in found.warnings[0]
    assert found.warnings[0].endswith("its first 9 packets are used")


def test_any_bytes_in_the_place_of_a_packet_are_read(tmp_path: Path) -> None:
    good = frame(sent(1)[0].ip())
    file = write_pcap(tmp_path / "x.pcap", sent(1))
    with file.open("ab") as to:
        for at in range(14, 50):
            for value in (0, 0x45, 0x60, 0x7F, 0xFF):
                bad = bytearray(good[:60])
                bad[at] = value
                to.write(struct.pack("<IIII", 0, at, 60, 60) + bad)
    found = analyze.analyse([file])
    assert found.udp_packets > 100
    capture_report.document(found)


def test_a_file_without_udp_and_mptcp_is_refused(tmp_path: Path) -> None:
    file = write_pcap(tmp_path / "x.pcap", [Packet(0, CLIENT, SERVER, flags=SYN)])
    with pytest.raises(InputError) as error:
        analyze.analyse([file])
    assert "nothing to analyse: no MPTCP and no UDP (1 TCP packets in all)" in str(error.value)


def table(found: analyze.Analysis) -> str:
    return shown(capture_report.tables(found))


def test_the_table_fits_a_terminal_and_says_what_is_there(tmp_path: Path) -> None:
    up = sent(100, CLIENT_6, SERVER_6)
    text = table(analyze.analyse(captured(tmp_path, up, later(up, 20, 3, 98, 99))))
    assert "UDP to port 4433" in text
    assert " 1: [fd00::a00:101]:40000 - [fd00::a01:101]:4433" in text
    assert "    seen in 0.pcap, 1.pcap" in text
    # 97 packets of 100 bytes in 97 ms
    row = next(line for line in text.splitlines() if line.startswith("1 up  "))
    assert row.split()[2:] == ["0.80", "100.0", "100", "1", "20.0", "20.0", "20.0", "0"]
    assert "1 up: 2 packets sent after the last arrival: on their way at the end, or lost" in text
    assert "197 UDP packets in 2 files, 0.117 s. Times count from the first one." in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_the_table_does_not_say_of_packets_stands_below_it() -> None:
    # a packet that may be on its way; ten that look the same, and one more on its way, of which
    # three did not arrive; and ten of which some may be lost and others duplicated
    one_left = UdpFigures(packets=9, lost_packets=0, pending_packets=1, alike_packets=0)
    alike = UdpFigures(packets=12, arrived_packets=9, pending_packets=1, alike_packets=10)
    all_alike = UdpFigures(packets=10, arrived_packets=10, alike_packets=10)
    rows = [("1 up", one_left), ("2 up", alike), ("3 up", all_alike)]
    assert tables.udp_notes(rows) == [
        "1 up: 1 packet sent after the last arrival: on their way at the end, or lost",
        "2 up: 10 packets look like others, and count in no loss, delay or reordering: it is "
        "unknown which of them arrived; at least 3 of all did not arrive",
        "2 up: 1 packet sent after the last arrival: on their way at the end, or lost",
        "3 up: 10 packets look like others, and count in no loss, delay or reordering: it is "
        "unknown which of them arrived",
    ]


def test_of_many_flows_the_largest_are_shown(tmp_path: Path) -> None:
    ports = [sent(2, ("10.0.1.1", 50_000), ("10.1.1.1", port)) for port in range(1, 7)]
    many = [sent(1 + number, ("10.0.1.1", 40_000 + number), SERVER) for number in range(12)]
    found = analyze.analyse(captured(tmp_path, [p for each in (*ports, *many) for p in each]))
    text = table(found)
    assert text.count("UDP to port") == 4
    assert "UDP to 3 more ports: see --json" in text
    assert " 4 smaller flows: see --json" in text
    assert len(capture_report.document(found)["udp"]) == 7
    capture_report.write(found, tmp_path / "out")
    assert (tmp_path / "out" / "analysis.png").read_bytes().startswith(b"\x89PNG")


def test_the_document_has_all_figures_but_what_captures_do_not_know(tmp_path: Path) -> None:
    document = capture_report.document(analyze.analyse(captured(tmp_path, sent(5))))
    assert (document["packets"], document["udp_packets"]) == (0, 5)
    (port,) = document["udp"]
    assert {*port["flows"][0]} == {"number", "seen_in", "ways"}
    names = {metric.name for metric in metrics_of(UdpFigures)} | {"server"}
    assert {*port["flows"][0]["ways"][0]} == names
