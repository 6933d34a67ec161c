# SPDX-License-Identifier: GPL-2.0-only
"""Capture files become columns, whatever their form, their link and what is wrong with them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
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
    long = timestamps(5, 6) + dss(data_ack=2**33 + 5, dsn=2**40 + 8, ssn=3, length=1000)
    short = dss(data_ack=77, dsn=5, ssn=1, length=1, fin=True, long=False)
    return [
        Packet(10**9, client, server, 7, flags=built.SYN, options=mp_capable()),
        Packet(10**9 + 20_000_123, client, server, 2**32 - 10, 99, payload=1000, options=long),
        Packet(10**9 + 30_000_000, server, client, 99, 8, options=short, ttl=63),
    ]


def read(tmp_path: Path, packets: Sequence[Packet], **how: Any) -> dissect.Packets:
    """What is found in a capture of these packets."""
    return dissect.read([write_pcap(tmp_path / "x.pcap", packets, **how)])


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
def test_each_link_and_both_versions_of_ip_are_equal(tmp_path: Path, link: int, ends: Any) -> None:
    # 20 + 40 + 60 bytes is the longest header here
    packets = read(tmp_path, sample(ends), link=link, snap=128)
    check(packets)
    client, server = (dissect.Endpoint(*end) for end in ends)
    (track,) = packets.tracks
    assert (track.a, track.b) == (client, server)


@pytest.mark.parametrize("vlans", [[0x8100], [0x88A8, 0x8100]])
def test_tags_of_virtual_lans_are_passed_over(tmp_path: Path, vlans: list[int]) -> None:
    check(read(tmp_path, sample(), vlans=vlans, snap=128))
    # of more than two, IEEE 802.1ad: one of the provider, one of the customer
    packets = read(tmp_path, sample(), vlans=[0x88A8, 0x8100, 0x8100], snap=200)
    assert (len(packets), packets.others) == (0, 3)


@pytest.mark.parametrize("big_endian", [False, True])
def test_captures_in_microseconds_and_of_other_machines_are_read(
    tmp_path: Path, big_endian: bool
) -> None:
    check(read(tmp_path, sample(), microseconds=True, big_endian=big_endian), unit_ns=1000)
    check(dissect.read([built.write_pcapng(tmp_path / "x.pcapng", sample())]))


def test_each_has_the_hops_left_of_its_version_of_ip(tmp_path: Path) -> None:
    frames = (ip_of(at_8=0x71), ip_of(V6, at_7=0x72), ip_of(at_8=0x73))
    packets = of_frames(tmp_path, *(frame(bytes(ip)) for ip in frames))
    assert packets.ttl.tolist() == [0x71, 0x72, 0x73]


def test_every_byte_of_its_addresses_identifies_a_link_in_both_directions(tmp_path: Path) -> None:
    addresses = bytes([2, 17, 34, 51, 68, 85, 6, 103, 120, 137, 154, 171])
    links = [addresses]
    for place in range(len(addresses)):
        changed = bytearray(addresses)
        changed[place] ^= 9
        links.append(bytes(changed))
    ip = b"\x08\x00" + bytes(ip_of())
    there = [link + ip for link in links]
    back = [link[6:] + link[:6] + ip for link in links]
    packets = of_frames(tmp_path, *there, *back)
    assert packets.track.tolist() == 2 * [*range(13)]


def test_a_number_is_read_at_every_byte() -> None:
    found = dissect._unaligned(np.arange(1, 6, dtype=np.uint8), ">u4")
    assert found.tolist() == [0x01020304, 0x02030405]


def test_numbers_are_mixed_as_splitmix64_does() -> None:
    # the first numbers of its generator with the seed 0, whose state grows by the golden ratio
    # (prng.di.unimi.it/splitmix64.c)
    golden = 0x9E3779B97F4A7C15
    states = np.array([n * golden % 2**64 for n in (1, 2, 3)], np.uint64)
    outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert dissect._mix(states).tolist() == outputs


def test_a_datagram_has_a_number_of_its_identification_and_payload(tmp_path: Path) -> None:
    def mixed(number: int) -> int:
        return int(dissect._mix(np.array([number], np.uint64))[0])

    content = bytes(range(1, 61))
    for ends, identification, size in ((V4, 0x1234, 60), (V4, 7, 5), (V6, 0, 48)):
        packet = built.Datagram(0, *ends, content[:size], size, identification=identification)
        number = mixed(identification << 16 | 8 + size)
        for word in struct.unpack(">12I", content[: min(size, 48)].ljust(48, b"\0")):
            number = mixed(number ^ word)
        udp = dissect.read([write_pcap(tmp_path / "x.pcap", [packet], snap=200)]).udp
        assert udp is not None
        assert (udp.seq.tolist(), udp.ack.tolist()) == ([number >> 32], [number % 2**32])


def test_an_address_of_ipv6_is_48_bits_that_none_of_ipv4_is() -> None:
    """A port of 16 bits goes below it: 64 in all."""
    words = np.random.default_rng(1).integers(0, 2**32, 400, dtype=np.uint32)
    keys = dissect._fold(words, np.arange(0, 380)).tolist()
    assert len(set(keys)) == 380
    assert all(2**40 <= key < 2**48 and key >> 40 & 1 for key in keys)
    # each of the others is set in about half of them
    for bit in {*range(48)} - {40}:
        assert 100 < sum(key >> bit & 1 for key in keys) < 280


def test_many_connections_between_two_hosts_are_distinct(tmp_path: Path) -> None:
    packets = read(tmp_path, [Packet(0, V4[0], ("10.1.1.1", port)) for port in range(1, 301)])
    assert packets.track.tolist() == [*range(300)]


def test_more_packets_than_one_read_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissect, "_AT_A_TIME", 4)
    file = write_pcap(tmp_path / "x.pcap", sample() * 5)
    seen: list[int] = []
    packets = dissect.read([file], seen.append)
    assert packets.seq.tolist() == [7, 2**32 - 10, 99] * 5
    assert [option.packet for option in packets.options] == [0, 3, 6, 9, 12]
    assert packets.forward.tolist() == [True, True, False] * 5
    assert (packets.track.tolist(), len(packets.tracks)) == ([0] * 15, 1)
    assert seen == sorted(seen)
    assert seen[-1] == file.stat().st_size
    # 4, 4, 4 and 3 packets, and the end
    assert len(seen) == 5
    # a track that comes later has the next number
    monkeypatch.setattr(dissect, "_AT_A_TIME", 2)
    ports = [7, 7, 9, 7, 7, 9, 8, 9, 9, 8, 6, 5]
    packets = read(tmp_path, [Packet(0, ("10.0.1.1", port), V4[1]) for port in ports])
    assert packets.track.tolist() == [0, 0, 1, 0, 0, 1, 2, 1, 1, 2, 3, 4]
    assert [track.a.port for track in packets.tracks] == [7, 9, 8, 6, 5]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a capture"),
        (b"\x1f\x8b" + bytes(100), "not a capture"),
        (b"no capture at all, but some text", "not a capture"),
        (
            struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 147),
            "its link type 147 is unknown; known are Ethernet, Linux cooked (v1, v2), raw IP, "
            "and BSD loopback",
        ),
        (struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 14), "link type 14 is unknown"),
        (struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 105), "link type 105 is unknown"),
    ],
)
def test_files_other_than_captures_are_errors(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "x.pcap"
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        dissect.read([file])
    assert str(file) in str(error.value)
    assert said in str(error.value)


def test_all_wrong_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError) as error:
        dissect.read([tmp_path, *(tmp_path / name for name in ("nosuch.pcap", "loop", 300 * "x"))])
    assert f"in {tmp_path}\n  a directory; a capture file is expected" in str(error.value)
    assert "nosuch.pcap\n  there is no such file" in str(error.value)
    assert "loop\n  cannot be read: Too many levels of symbolic links" in str(error.value)
    assert "xxx\n  cannot be read: File name too long" in str(error.value)
    assert {(problem.key, problem.value) for problem in error.value.problems} == {("", "")}


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
    packets = read(tmp_path, sample(), snap=84)
    has = [0, dissect.CUT | dissect.HAS_TIMESTAMPS]
    assert packets.has.tolist()[:2] == has
    assert packets.has[2] & dissect.CUT == 0
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
    packets = read(tmp_path, [Packet(0, *V4, seq=1, options=options), *sample()])
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


def of_frames(tmp_path: Path, *frames: bytes, link: int = built.ETHERNET) -> dissect.Packets:
    """What is found in a capture of these, each of them captured in full."""
    file = write_pcap(tmp_path / "frames.pcap", [], link=link)
    heads = (struct.pack("<IIII", 2, 0, len(each), len(each)) for each in frames)
    records = (head + each for head, each in zip(heads, frames, strict=True))
    file.write_bytes(file.read_bytes() + b"".join(records))
    return dissect.read([file])


def ip_of(ends: Any = V4, *, payload: int = 100, **changes: int) -> bytearray:
    """A packet from its IP header on, with some of its bytes set: `at_6=64` is that at 6."""
    ip = bytearray(Packet(0, ends[0], ends[1], seq=5, payload=payload).ip())
    for name, value in changes.items():
        ip[int(name.removeprefix("at_"))] = value
    return ip


@pytest.mark.parametrize("link", [12, 101, 228, 229, 0, 108])
@pytest.mark.parametrize("ends", [V4, V6], ids=["IPv4", "IPv6"])
def test_all_numbers_of_raw_ip_and_loopback_are_known(tmp_path: Path, link: int, ends: Any) -> None:
    before = bytes(4) if link in (0, 108) else b""
    packets = of_frames(tmp_path, before + ip_of(ends), before + ip_of(ends), link=link)
    assert (packets.seq.tolist(), packets.payload.tolist()) == ([5, 5], [100, 100])


def test_a_flag_of_ip_is_no_fragment(tmp_path: Path) -> None:
    # RFC 791: bit 1 of the flags is Don't Fragment, bit 2 More Fragments, 13 bits are the offset
    first, last = ip_of(at_6=0x20), ip_of(at_6=0x10)
    packets = of_frames(tmp_path, *map(frame, map(bytes, (ip_of(at_6=0x40), first, last))))
    assert (len(packets), packets.others) == (2, 1)
    packets = of_frames(tmp_path, frame(bytes(ip_of(at_7=0x80))))
    assert (len(packets), packets.others) == (0, 1)


def test_options_of_ip_are_passed_over(tmp_path: Path) -> None:
    plain = ip_of()
    # a header of 6 words, and 4 bytes more in total
    longer = bytes([0x46, 0, 0, 144]) + bytes(plain[4:20]) + bytes(4) + bytes(plain[20:])
    packets = of_frames(tmp_path, frame(longer), frame(bytes(ip_of(V6))))
    assert (packets.seq.tolist(), packets.payload.tolist()) == ([5, 5], [100, 100])
    assert [str(track.b) for track in packets.tracks] == ["10.1.1.1:5001", "[fd00:1::1]:5001"]


def test_the_length_of_ip_shows_padding_and_segmentation(tmp_path: Path) -> None:
    # a frame is filled up to 60 bytes, and a card that segments gets a length of 0
    short, large = frame(bytes(ip_of(payload=2))), ip_of(payload=3000, at_2=0, at_3=0)
    packets = of_frames(tmp_path, short + bytes(4), frame(bytes(large)))
    assert packets.payload.tolist() == [2, 3000]
    large = ip_of(V6, payload=3000, at_4=0, at_5=0)
    packets = of_frames(
        tmp_path, frame(bytes(ip_of(V6, payload=2))) + bytes(4), frame(bytes(large))
    )
    assert packets.payload.tolist() == [2, 3000]


@pytest.mark.parametrize(("ends", "head"), [(V4, 20), (V6, 40)], ids=["IPv4", "IPv6"])
def test_a_packet_counts_if_its_headers_are_complete(tmp_path: Path, ends: Any, head: int) -> None:
    whole = frame(bytes(ip_of(ends, payload=0)))
    assert len(whole) == 14 + head + 20
    other = ip_of(ends, **{f"at_{9 if ends is V4 else 6}": 17})
    packets = of_frames(tmp_path, whole, whole[:-1], frame(bytes(other)))
    assert (packets.payload.tolist(), packets.others) == ([0], 2)
    # a TCP header has 5 words at least
    packets = of_frames(tmp_path, frame(bytes(ip_of(ends, **{f"at_{head + 12}": 4 << 4}))))
    assert (len(packets), packets.others) == (0, 1)
    # IP's header has 20 bytes at least; with 16, TCP's would seem to be there, of 20 bytes
    short = bytes(ip_of(at_0=0x44, at_28=5 << 4))
    packets = of_frames(tmp_path, frame(short), bytes(42), bytes(13), frame(bytes(ip_of())))
    assert (packets.seq.tolist(), packets.others) == ([5], 3)
    # neither version of IP, and nothing at all
    for link in (built.RAW, built.ETHERNET):
        packets = of_frames(tmp_path, bytes(ip_of(at_0=0x55)), b"", link=link)
        assert (len(packets), packets.others) == (0, 2)


def test_a_packet_has_the_values_of_its_headers(tmp_path: Path) -> None:
    # all bytes that are read differ from 0 and from each other
    tcp = bytes(range(0x11, 0x1D)) + bytes([5 << 4, 0xFF]) + bytes(range(0x21, 0x27))
    for ends, at in ((V4, 8), (V6, 7)):
        head = ip_of(ends, payload=7, **{f"at_{at}": 0xE7})
        head[-27:] = tcp + bytes(7)
        file = write_pcap(tmp_path / "x.pcap", [])
        whole = frame(bytes(head))
        record = struct.pack("<IIII", 4 * 10**9, 999_999_999, len(whole), len(whole))
        file.write_bytes(file.read_bytes() + record + whole)
        packets = dissect.read([file])
        assert packets.time_ns.tolist() == [4 * 10**18 + 999_999_999]
        assert packets.seq.tolist() == [0x15161718]
        assert packets.ack.tolist() == [0x191A1B1C]
        assert (packets.flags.tolist(), packets.ttl.tolist()) == ([0xFF], [0xE7])
        assert (packets.window.tolist(), packets.head.tolist()) == ([0x2122], [20])
        (track,) = packets.tracks
        assert (track.a.port, track.b.port) == (0x1112, 0x1314)
        assert (track.a.address, track.b.address) == (ends[0][0], ends[1][0])


def test_ends_that_differ_in_one_place_have_tracks_of_their_own(tmp_path: Path) -> None:
    (a, port), (b, listens) = V4
    addresses = [("10.0.1.2", "10.1.1.1"), ("10.0.1.1", "10.1.1.2"), ("11.0.1.1", "10.1.1.1")]
    ends = [((a, port + 1), (b, listens)), ((a, port), (b, listens + 1)), ((a, port), (b, port))]
    ends += [((one, port), (other, listens)) for one, other in addresses]
    long = ["fd00::1", "fe00::1", "fd00::2", "fd00:0:1::1", "fd00:0:0:1::1", "fd00::1:0:0:1"]
    ends += [((one, port), V6[1]) for one in long]
    # both directions, in turn
    asked = [Packet(0, *pair) for pair in ends] + [Packet(0, *pair[::-1]) for pair in ends]
    packets = read(tmp_path, asked)
    numbers = [*range(len(ends))]
    assert packets.track.tolist() == numbers * 2
    assert packets.forward.tolist() == [True] * len(ends) + [False] * len(ends)
    assert [(str(t.a), str(t.b)) for t in packets.tracks] == [
        tuple(str(dissect.Endpoint(*end)) for end in pair) for pair in ends
    ]


def test_each_file_and_each_link_of_it_has_tracks_of_its_own(tmp_path: Path) -> None:
    files = [
        write_pcap(tmp_path / f"{n}.pcap", sample()[:1], link=built.COOKED_2, link_id=n)
        for n in (1, 2)
    ]
    files[1].write_bytes(files[1].read_bytes() + files[0].read_bytes()[24:])
    files.append(files[0])
    done: list[int] = []
    packets = dissect.read(files, done.append)
    assert [(t.file, t.place) for t in packets.tracks] == [(0, 1), (1, 2), (1, 1), (2, 1)]
    assert packets.files == tuple(files)
    # in the end all bytes of all files have been read
    sizes = [file.stat().st_size for file in files]
    assert (done[-1], sizes[0] in done, done) == (sum(sizes), True, sorted(done))


@pytest.mark.parametrize("at_a_time", [1, 2])
def test_a_warning_counts_the_packets_of_the_file_that_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    # three times UDP and TCP in turn
    monkeypatch.setattr(dissect, "_AT_A_TIME", at_a_time)
    udp = bytes(ip_of(at_9=17))
    whole = of_frames(tmp_path, *(3 * [frame(udp), frame(bytes(ip_of()))]))
    assert (len(whole), whole.others) == (3, 3)
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole.files[0].read_bytes()[:-1])
    packets = dissect.read([whole.files[0], cut])
    assert (len(packets), packets.others) == (5, 6)
    (warning,) = packets.warnings
    assert warning.endswith("; its first 5 packets are used")


def options_of(tmp_path: Path, options: bytes, snap: int = 96) -> dissect.Packets:
    return read(tmp_path, [Packet(0, *V4, options=options)], snap=snap)


def test_a_byte_of_padding_is_passed_over_by_itself(tmp_path: Path) -> None:
    stamps = bytes([8, 10]) + struct.pack(">II", 0x01020304, 0x05060708)
    for padding in range(4):
        packets = options_of(tmp_path, b"\x01" * padding + stamps)
        assert packets.has.tolist() == [dissect.HAS_TIMESTAMPS]
        assert (packets.ts_val.tolist(), packets.ts_ecr.tolist()) == ([0x01020304], [0x05060708])
    # after the end of the options nothing counts
    assert options_of(tmp_path, b"\x00\x01" + stamps).has.tolist() == [0]
    # an option of 2 bytes, and one that is not known
    other = bytes([4, 2, 254, 5, 1, 2, 3])
    assert options_of(tmp_path, other + stamps).ts_val.tolist() == [0x01020304]


def test_options_end_where_the_header_does(tmp_path: Path) -> None:
    # what follows would be an option of ours that is cut off
    stamps = bytes([8, 10]) + bytes(8)
    for options in (stamps + b"\x01\x01", stamps + b"\x01\x1e"):
        ip = bytearray(Packet(0, *V4, options=options, payload=9).ip())
        ip[-9:-7] = b"\x1e\x28"
        assert of_frames(tmp_path, frame(bytes(ip))).has.tolist() == [dissect.HAS_TIMESTAMPS]
    # two bytes of one are left, which says that it has more
    assert options_of(tmp_path, b"\x01\x01\x1e\x05").has.tolist() == [dissect.CUT]
    # a byte of padding before a largest segment size, RFC 9293, 3.2
    packets = options_of(tmp_path, b"\x01" + bytes([2, 4, 5, 180]) + stamps + b"\x01")
    assert packets.has.tolist() == [dissect.HAS_TIMESTAMPS]


def test_signals_of_all_forms_are_read(tmp_path: Path) -> None:
    # RFC 8684, figure 9: a data ACK of 4 or 8 bytes, a data sequence number of 4 or 8
    flags = dissect.HAS_DSS
    for ack_8 in (False, True):
        for dsn_8 in (False, True):
            bits = 1 | 2 * ack_8 | 4 | 8 * dsn_8
            body = bytes(4 * ack_8) + struct.pack(">I", 0xA1A2A3A4)
            body += bytes(4 * dsn_8) + struct.pack(">IIH", 0xB1B2B3B4, 0xC1C2C3C4, 0xD1D2)
            option = bytes([30, 4 + len(body), 2 << 4, bits]) + body
            packets = options_of(tmp_path, option)
            assert packets.has.tolist() == [bits | flags]
            assert packets.data_ack.tolist() == [0xA1A2A3A4]
            assert packets.dsn.tolist() == [0xB1B2B3B4]
            assert (packets.ssn.tolist(), packets.mapped.tolist()) == ([0xC1C2C3C4], [0xD1D2])
            # with a checksum behind it, RFC 8684, 3.3
            longer = bytes([30, 6 + len(body), 2 << 4, bits]) + body + b"\xee\xee"
            assert options_of(tmp_path, longer).has.tolist() == [bits | flags]
            # a byte too short
            cut = bytes([30, 3 + len(body), 2 << 4, bits]) + body[:-1]
            packets = options_of(tmp_path, cut)
            assert packets.has.tolist() == [dissect.CUT]
            assert packets.dsn.tolist() == packets.data_ack.tolist() == [0]
    # one of both alone
    alone = bytes([30, 12, 2 << 4, 3]) + bytes(4) + struct.pack(">I", 0xA1A2A3A4)
    packets = options_of(tmp_path, alone)
    assert (packets.has.tolist(), packets.data_ack.tolist()) == ([flags | 3], [0xA1A2A3A4])
    numbers = packets.dsn.tolist(), packets.ssn.tolist(), packets.mapped.tolist()
    assert numbers == ([0], [0], [0])
    mapping = struct.pack(">IIH", 0xB1B2B3B4, 0xC1C2C3C4, 0xD1D2)
    packets = options_of(tmp_path, bytes([30, 14, 2 << 4, 4]) + mapping + timestamps(7, 8))
    assert packets.has.tolist() == [flags | 4 | dissect.HAS_TIMESTAMPS]
    numbers = packets.data_ack.tolist(), packets.dsn.tolist(), packets.ssn.tolist()
    assert numbers == ([0], [0xB1B2B3B4], [0xC1C2C3C4])
    # reserved bits mean nothing
    option = bytes([30, 4, 2 << 4, 0xF0])
    assert options_of(tmp_path, option).has.tolist() == [flags | dissect.DATA_FIN]


def test_an_option_that_is_cut_off_is_marked(tmp_path: Path) -> None:
    # 14 + 20 + 20 bytes of headers, 12 of the option
    for snap, has in ((66, 0), (65, dissect.CUT), (56, dissect.CUT), (54, dissect.CUT)):
        packets = options_of(tmp_path, mp_join(b"abcd"), snap=snap)
        assert packets.has.tolist() == [has]
        assert len(packets.options) == (snap == 66)
    # an MPTCP option that says it is longer than the header has lost something
    assert options_of(tmp_path, bytes([30, 5, 0x10, 0])).has.tolist() == [dissect.CUT]
    # of another kind, nothing of ours
    assert options_of(tmp_path, bytes([8, 10, 1, 2])).has.tolist() == [0]
    # the shortest has 3 bytes
    (option,) = options_of(tmp_path, bytes([30, 3, 0x50])).options
    assert (option.kind, option.content) == (dissect.MP_PRIO, bytes([30, 3, 0x50]))
    # others come with their bytes, too
    join, address = options_of(tmp_path, mp_join(b"abcd", backup=True) + built.add_addr()).options
    assert (join.kind, join.content[4:8]) == (dissect.MP_JOIN, b"abcd")
    assert address.kind == dissect.ADD_ADDR
    # RFC 8684, section 8.1
    names = "MP_CAPABLE MP_JOIN DSS ADD_ADDR REMOVE_ADDR MP_PRIO MP_FAIL MP_FASTCLOSE MP_TCPRST"
    assert " ".join(dissect.OPTION_NAMES) == names
    # a signal that is cut off leaves the timestamps
    for signal in (b"\x1e\x03\x20\x01", b"\x1e\x08\x20\x0c" + bytes(4)):
        packets = options_of(tmp_path, timestamps(7, 8) + signal)
        assert packets.has.tolist() == [dissect.CUT | dissect.HAS_TIMESTAMPS]
        assert packets.ts_val.tolist() == [7]


def test_an_unreadable_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_pcap(tmp_path / "x.pcap", sample())
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match=r"\n  cannot be read: Permission denied$"):
        dissect.read([file])


def test_the_reason_is_the_last_that_libpcap_says() -> None:
    assert dissect._words(Exception(-1, "no file", " no format ")) == "no format"
    assert dissect._words(Exception("one")) == "one"
    assert dissect._words(Exception()) == ""


def test_what_packets_do_not_have_is_an_error(tmp_path: Path) -> None:
    packets = read(tmp_path, sample())
    with pytest.raises(AttributeError, match=r"^nosuch$"):
        _ = packets.nosuch
    empty = dissect.read([])
    assert (len(empty), empty.others, empty.warnings, empty.options) == (0, 0, [], [])
    types = {name: column.dtype for name, column in empty.columns.items()}
    assert types == {name: column.dtype for name, column in packets.columns.items()}
