# SPDX-License-Identifier: GPL-2.0-only
"""Capture files become columns, whatever their form, their link and what is wrong with them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.capture import dissect
from mptcplab.errors import InputError
from tests import packets as built
from tests.packets import Packet, dss, frame, mp_capable, mp_join, timestamps, write_pcap

V4 = (("10.0.1.1", 40000), ("10.1.1.1", 5001))
V6 = (("fd00::1", 40000), ("fd00:1::1", 5001))


def sample(ends: Any = V4) -> list[Packet]:
    client, server = ends
    return [
        Packet(10**9, client, server, seq=7, flags=built.SYN, options=mp_capable()),
        Packet(
            10**9 + 20_000_123,
            client,
            server,
            seq=2**32 - 10,
            ack=99,
            payload=1000,
            options=timestamps(5, 6) + dss(data_ack=2**33 + 5, dsn=2**40 + 8, ssn=3, length=1000),
        ),
        Packet(
            10**9 + 30_000_000,
            server,
            client,
            seq=99,
            ack=8,
            options=dss(data_ack=77, dsn=5, ssn=1, length=1, fin=True, long=False),
            ttl=63,
        ),
    ]


def check(packets: dissect.Packets, *, unit_ns: int = 1) -> None:
    assert len(packets) == 3
    times = [10**9, 10**9 + 20_000_123, 10**9 + 30_000_000]
    assert packets.time_ns.tolist() == [time // unit_ns * unit_ns for time in times]
    assert packets.seq.tolist() == [7, 2**32 - 10, 99]
    assert packets.ack.tolist() == [0, 99, 8]
    assert packets.payload.tolist() == [0, 1000, 0]
    assert packets.flags.tolist() == [built.SYN, built.ACK, built.ACK]
    assert packets.ttl.tolist() == [64, 64, 63]
    assert packets.forward.tolist() == [True, True, False]
    assert packets.track.tolist() == [0, 0, 0]
    assert packets.data_ack.tolist() == [0, 5, 77]
    assert packets.dsn.tolist() == [0, 8, 5]
    assert packets.ssn.tolist() == [0, 3, 1]
    assert packets.mapped.tolist() == [0, 1000, 1]
    assert (packets.ts_val.tolist(), packets.ts_ecr.tolist()) == ([0, 5, 0], [0, 6, 0])
    with_dss = dissect.HAS_DSS | dissect.HAS_DATA_ACK | dissect.HAS_MAPPING
    eight = dissect.DATA_ACK_8 | dissect.DSN_8
    assert packets.has.tolist() == [
        0,
        with_dss | eight | dissect.HAS_TIMESTAMPS,
        with_dss | dissect.DATA_FIN,
    ]
    assert [(o.packet, o.kind, o.content) for o in packets.options] == [
        (0, dissect.MP_CAPABLE, mp_capable())
    ]


@pytest.mark.parametrize(
    "link", [built.ETHERNET, built.RAW, built.COOKED, built.COOKED_2, built.LOOPBACK]
)
@pytest.mark.parametrize("ends", [V4, V6], ids=["IPv4", "IPv6"])
def test_every_link_and_both_versions_of_ip_give_the_same(
    tmp_path: Path, link: int, ends: Any
) -> None:
    # 20 + 40 + 60 bytes is the longest header here
    packets = dissect.read([write_pcap(tmp_path / "x.pcap", sample(ends), link=link, snap=128)])
    check(packets)
    client, server = (dissect.Endpoint(*end) for end in ends)
    (track,) = packets.tracks
    assert (track.a, track.b) == (client, server)


@pytest.mark.parametrize("vlans", [[0x8100], [0x88A8, 0x8100]])
def test_tags_of_virtual_lans_are_passed_over(tmp_path: Path, vlans: list[int]) -> None:
    check(dissect.read([write_pcap(tmp_path / "x.pcap", sample(), vlans=vlans, snap=128)]))


@pytest.mark.parametrize("big_endian", [False, True])
def test_captures_in_microseconds_and_of_other_machines_are_read(
    tmp_path: Path, big_endian: bool
) -> None:
    file = write_pcap(tmp_path / "x.pcap", sample(), microseconds=True, big_endian=big_endian)
    check(dissect.read([file]), unit_ns=1000)


def test_pcapng_is_read(tmp_path: Path) -> None:
    check(dissect.read([built.write_pcapng(tmp_path / "x.pcapng", sample())]))


def test_both_versions_of_ip_in_one_file_are_flows_of_their_own(tmp_path: Path) -> None:
    packets = dissect.read([write_pcap(tmp_path / "x.pcap", sample() + sample(V6), snap=128)])
    assert packets.track.tolist() == [0, 0, 0, 1, 1, 1]
    assert [str(track.a) for track in packets.tracks] == ["10.0.1.1:40000", "[fd00::1]:40000"]


def test_the_links_of_a_router_are_places_of_their_own(tmp_path: Path) -> None:
    files = [write_pcap(tmp_path / f"{link}.pcap", sample(), link_id=link) for link in (1, 2)]
    both = tmp_path / "both.pcap"
    both.write_bytes(files[0].read_bytes() + files[1].read_bytes()[24:])
    packets = dissect.read([both])
    assert packets.track.tolist() == [0, 0, 0, 1, 1, 1]


def test_more_packets_than_are_taken_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dissect, "_AT_A_TIME", 4)
    file = write_pcap(tmp_path / "x.pcap", sample() * 5)
    seen: list[int] = []
    packets = dissect.read([file], seen.append)
    assert packets.seq.tolist() == [7, 2**32 - 10, 99] * 5
    assert [option.packet for option in packets.options] == [0, 3, 6, 9, 12]
    assert packets.forward.tolist() == [True, True, False] * 5
    assert seen == sorted(seen)
    assert seen[-1] == file.stat().st_size


def test_what_is_no_tcp_is_counted(tmp_path: Path) -> None:
    udp = bytearray(sample()[0].ip())
    udp[9] = 17
    fragment = bytearray(sample()[0].ip())
    fragment[7] = 1
    # IP's header has 20 bytes at least; with 16, TCP's would seem to be there, of 20 bytes
    short = bytearray(sample()[0].ip())
    short[0], short[16 + 12] = 0x44, 5 << 4
    file = write_pcap(tmp_path / "x.pcap", sample())
    for whole in (
        *(frame(bytes(ip)) for ip in (udp, fragment, short)),
        *(bytes(42), b"", bytes(13)),
    ):
        with file.open("ab") as to:
            to.write(struct.pack("<IIII", 2, 0, len(whole), len(whole)) + whole)
    packets = dissect.read([file])
    check(packets)
    assert packets.others == 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a capture"),
        (b"\x1f\x8b" + bytes(100), "not a capture"),
        (b"no capture at all, but some text", "not a capture"),
        (struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 147), "link type 147 is not known"),
        (struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 105), "link type 105 is not known"),
    ],
)
def test_what_is_no_capture_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        dissect.read([file])
    assert str(file) in str(error.value)
    assert said in str(error.value)


def test_all_files_that_are_wrong_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        dissect.read([tmp_path, tmp_path / "nosuch.pcap"])
    assert f"in {tmp_path}\n  a directory; a capture file is expected" in str(error.value)
    assert "nosuch.pcap\n  cannot be read: No such file or directory" in str(error.value)


@pytest.mark.parametrize("ng", [False, True])
@pytest.mark.parametrize("missing", [1, 30, 200])
def test_a_file_that_is_cut_off_gives_what_is_there(tmp_path: Path, ng: bool, missing: int) -> None:
    write = built.write_pcapng if ng else write_pcap
    file = write(tmp_path / "x", sample())
    file.write_bytes(file.read_bytes()[:-missing])
    packets = dissect.read([file])
    left = 1 if missing == 200 else 2
    assert packets.seq.tolist() == [7, 2**32 - 10][:left]
    (warning,) = packets.warnings
    assert warning.startswith(f"{file} ends early: ")
    assert warning.endswith(f"its first {left} packets are used")


def test_headers_that_are_not_there_in_full_are_marked(tmp_path: Path) -> None:
    # 14 + 20 + 20 bytes and 30 of options: the data sequence signal is cut in two
    packets = dissect.read([write_pcap(tmp_path / "x.pcap", sample(), snap=84)])
    assert (packets.has & dissect.CUT != 0).tolist() == [False, True, False]
    assert packets.payload.tolist() == [0, 1000, 0]
    assert packets.ts_val.tolist() == [0, 5, 0]


@pytest.mark.parametrize(
    "options",
    [
        b"\x1e\x00\x00\x00",  # an option of no length
        b"\x1e\x01\x00\x00",
        b"\x1e\x28\x20\x00",  # longer than the header
        b"\x1e\x02\x01\x01",  # without a kind
        b"\x1e\x03\x20\x01",  # a signal without flags
        b"\x1e\x08\x20\x0c" + bytes(4),  # a mapping that is not there
        b"\x08\x06\x00\x00\x00\x00",  # timestamps of half the size
        b"\x00" * 40,
        b"\x01" * 40,
    ],
)
def test_options_that_make_no_sense_do_no_harm(tmp_path: Path, options: bytes) -> None:
    odd = Packet(0, *V4, seq=1, options=options)
    packets = dissect.read([write_pcap(tmp_path / "x.pcap", [odd, *sample()])])
    assert packets.seq.tolist() == [1, 7, 2**32 - 10, 99]
    assert int(packets.has[0]) & ~dissect.CUT == 0
    assert packets.mapped.tolist() == [0, 0, 1000, 1]


def test_random_bytes_do_no_harm(tmp_path: Path) -> None:
    """Every error is one that is told, and nothing hangs."""
    random = np.random.default_rng(1)
    whole = write_pcap(tmp_path / "x.pcap", sample() * 3).read_bytes()
    file = tmp_path / "y.pcap"
    for _ in range(300):
        content = bytearray(whole)
        for at in random.integers(40, len(content), 6):
            content[at] = random.integers(256)
        file.write_bytes(content)
        assert len(dissect.read([file])) <= 9


def test_other_options_come_with_their_bytes(tmp_path: Path) -> None:
    both = Packet(0, *V4, options=mp_join(b"abcd", backup=True) + built.add_addr())
    packets = dissect.read([write_pcap(tmp_path / "x.pcap", [both])])
    assert [option.kind for option in packets.options] == [dissect.MP_JOIN, dissect.ADD_ADDR]
    assert packets.options[0].content[4:8] == b"abcd"
