# SPDX-License-Identifier: GPL-2.0-only
"""The first packet that differs, in captures whose packets are written one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mptcplab.capture import difference, dissect
from mptcplab.capture.difference import Difference, Lines, Place
from mptcplab.capture.flows import TO_CLIENT, TO_SERVER
from tests.packets import FIN, MS, PSH, Packet, add_addr, timestamps, write_pcap
from tests.unit.test_analyze import Talk

START_NS = 50 * MS


def talk(**random: Any) -> Talk:
    """Two subflows, with 100 bytes on each, twice, and their acknowledgments."""
    made = Talk(**random).handshake(1).handshake(2, 20, to_server=40)
    made.data(100, 1, 0, 100, 0).data(101, 2, 0, 100, 100)
    made.ack(110, 1, 100, 100).ack(141, 2, 100, 200)
    return made.data(112, 1, 100, 100, 200).data(143, 2, 100, 100, 300)


def streams(directory: Path, **talks: Talk) -> dict[Place, Lines]:
    """Those of several captures, by the names of their files."""
    files = [
        write_pcap(directory / name, each.packets, link_id=number)
        for number, (name, each) in enumerate(talks.items())
    ]
    return difference.streams(dissect.read(files), START_NS)


def differences(directory: Path, one: Talk, other: Talk) -> list[Difference]:
    return difference.differences(
        *(streams(directory, client=each, server=each.elsewhere(5)) for each in (one, other))
    )


def test_what_is_random_is_no_difference(tmp_path: Path) -> None:
    # sequence numbers pass 2^32 in the middle of the data
    one, other = talk(), talk(isn=2**32 - 150, server_isn=7, key=b"another1", port=50_000)
    assert differences(tmp_path, one, other) == []
    # nor without handshakes
    for made in (one, other):
        del made.packets[:6]
    assert differences(tmp_path, one, other) == []


def test_every_place_has_each_direction_of_each_flow(tmp_path: Path) -> None:
    made = talk()
    found = streams(tmp_path, client=made, server=made.elsewhere(5))
    assert [place[:1] + place[1:2] + place[5:] for place in found] == [
        (capture, f"10.0.{path}.1", way)
        for capture in ("client", "server")
        for path in (1, 2)
        for way in (TO_SERVER, TO_CLIENT)
    ]
    assert [place.sender for place in found][:2] == ["10.0.1.1", "10.1.1.1"]
    lines = found[Place("client", "10.0.2.1", "10.1.2.1", 0, 0, TO_SERVER)]
    of = dict(zip(difference.FIELDS, lines[-1].tolist(), strict=True))
    # 143 ms is 93 ms after the start; the SYN has the number 0, and data begins with 1
    assert of["time"] == 93 * MS
    assert (of["sequence"], of["acknowledges"]) == (101, 1)
    assert (of["data sequence"], of["subflow sequence"], of["mapped"]) == (300, 101, 100)
    assert (of["data acknowledged"], of["timestamp"]) == (difference.NONE, difference.NONE)
    acks = found[Place("client", "10.0.2.1", "10.1.2.1", 0, 0, TO_CLIENT)]
    assert acks[-1, difference.FIELDS.index("data acknowledged")] == 200


CHANGES: dict[str, tuple[Callable[[Packet], Packet], str, str]] = {
    "time": (lambda p: replace(p, time_ns=p.time_ns + 1000), "62.000000 ms", "62.001000 ms"),
    "flags": (lambda p: replace(p, flags=p.flags | FIN), "ACK", "FIN ACK"),
    "payload": (lambda p: replace(p, payload=99), "100 bytes", "99 bytes"),
    "sequence": (lambda p: replace(p, seq=p.seq + 5), "101", "106"),
    "acknowledges": (lambda p: replace(p, ack=p.ack + 6), "1", "7"),
    "window": (lambda p: replace(p, window=1000), "65535", "1000"),
    "TTL": (lambda p: replace(p, ttl=255), "64", "255"),
    "PSH": (lambda p: replace(p, flags=p.flags | PSH), "0", "1"),
    "header": (lambda p: replace(p, options=p.options + bytes(4)), "40 bytes", "44 bytes"),
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_field_that_changed_at_a_known_packet_is_found(tmp_path: Path, field: str) -> None:
    change, was, now = CHANGES[field]
    other = talk()
    # the second data of path 1, after a SYN, an ACK and the first data
    (at,) = (n for n, packet in enumerate(other.packets) if packet.time_ns == 112 * MS)
    other.packets[at] = change(other.packets[at])
    found = differences(tmp_path, talk(), other)
    first = found[0]
    assert first.place == Place("client", "10.0.1.1", "10.1.1.1", 0, 0, TO_SERVER)
    assert (first.number, first.at_ns) == (4, 62 * MS)
    assert first.unlike() == {field: (was, now)}
    both = [streams(tmp_path, client=each) for each in (talk(), other)]
    assert difference.differences(*both, but=[field]) == []


def test_a_mapping_and_what_it_says_are_compared(tmp_path: Path) -> None:
    def with_last(**mapping: Any) -> Talk:
        return Talk().handshake(1).data(100, 1, 0, 100, 0).data(101, 1, 100, 100, 100, **mapping)

    (first, _) = differences(tmp_path, with_last(), with_last(mapping=(90, 140, 110)))
    assert first.number == 4
    assert first.unlike() == {
        "data sequence": ("100", "140"),
        "mapped": ("100 bytes", "110 bytes"),
        "subflow sequence": ("101", "91"),
    }
    (first, _) = differences(tmp_path, with_last(), with_last(fin=True))
    assert first.unlike() == {
        "DSS": ("DSS, mapping, DSN of 8 bytes", "DSS, mapping, DSN of 8 bytes, DATA_FIN")
    }


def test_options_are_compared_by_their_kind(tmp_path: Path) -> None:
    other = talk()
    other.packets[2] = replace(other.packets[2], options=add_addr())
    (first, _) = differences(tmp_path, talk(), other)
    assert first.unlike()["options"] == ("MP_CAPABLE", "ADD_ADDR")
    stamped = talk()
    stamped.packets[2] = replace(stamped.packets[2], options=timestamps(7, 8))
    found = differences(tmp_path, other, stamped)[0].unlike()
    assert (found["timestamp"], found["timestamp echo"]) == (("none", "7"), ("none", "8"))


def test_a_missing_packet_is_found_at_the_next_one(tmp_path: Path) -> None:
    other = talk()
    # the last one of its subflow: nothing comes after it
    other.packets.pop()
    (first, _) = differences(tmp_path, talk(), other)
    assert (first.number, first.at_ns, first.other, first.unlike()) == (4, 93 * MS, None, {})
    assert first.one is not None
    assert difference.kind(first.one) == "data"
    # with one after it, that has its place
    (at,) = (n for n, packet in enumerate(other.packets) if packet.time_ns == 100 * MS)
    other.packets.pop(at)
    first = differences(tmp_path, other, talk())[0]
    assert (first.number, first.at_ns) == (3, 50 * MS)
    assert first.unlike()["time"] == ("62.000000 ms", "50.000000 ms")


def test_a_flow_that_only_one_has_is_a_difference(tmp_path: Path) -> None:
    alone = Talk().handshake(1).data(100, 1, 0, 100, 0)
    both = Talk().handshake(1).data(100, 1, 0, 100, 0).handshake(2, 20, to_server=40)
    found = differences(tmp_path, alone, both)
    assert {each.place.client for each in found} == {"10.0.2.1"}
    assert (found[0].one, found[0].number, found[0].at_ns) == (None, 1, -30 * MS)
    assert found[0].other is not None
    assert difference.kind(found[0].other) == "SYN, MP_JOIN"


def test_flows_between_the_same_hosts_differ_by_their_order(tmp_path: Path) -> None:
    first, second = Talk().handshake(1).data(100, 1, 0, 100, 0), Talk(port=41_000)
    second.handshake(1, 5).data(101, 1, 0, 200, 0)
    made = Talk()
    made.packets = sorted(first.packets + second.packets, key=lambda packet: packet.time_ns)
    found = streams(tmp_path, client=made)
    assert [(place.number, place.way) for place in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_kinds_of_packets() -> None:
    def kind(**of: int) -> str:
        packet = dict.fromkeys(difference.FIELDS, 0) | {"DSS": difference.NONE} | of
        return difference.kind(list(packet.values()))

    assert kind(flags=16) == "ACK"
    assert kind(flags=16, payload=9) == "data"
    assert kind(flags=17, payload=9) == "data, FIN ACK"
    assert kind(flags=18, options=1) == "SYN ACK, MP_CAPABLE"
    assert kind(flags=16, options=2 << 12) == "ACK, ADD_ADDR, ADD_ADDR"
    assert kind(flags=16, DSS=64 | 16) == "ACK, DATA_FIN"
