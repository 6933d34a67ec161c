# SPDX-License-Identifier: GPL-2.0-only
"""Packets built byte by byte, and captures of them: what tests of `analyze` are written in."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16

ETHERNET, RAW, COOKED, COOKED_2, LOOPBACK = 1, 101, 113, 276, 0
MS = 10**6


@dataclass(frozen=True)
class Packet:
    """A TCP packet; `options` as bytes, without the padding at their end."""

    time_ns: int
    source: tuple[str, int]
    target: tuple[str, int]
    seq: int = 0
    ack: int = 0
    flags: int = ACK
    payload: int = 0
    options: bytes = b""
    ttl: int = 64
    window: int = 65535

    def at(self, time_ns: int, ttl: int | None = None) -> Packet:
        """The same packet at another place."""
        return replace(self, time_ns=time_ns, ttl=self.ttl if ttl is None else ttl)

    def ip(self) -> bytes:
        """From the IP header on."""
        options = self.options + b"\x00" * (-len(self.options) % 4)
        tcp = struct.pack(
            ">HHIIBBHHH",
            self.source[1],
            self.target[1],
            self.seq % 2**32,
            self.ack % 2**32,
            (5 + len(options) // 4) << 4,
            self.flags,
            self.window,
            0,
            0,
        )
        tcp += options + bytes(self.payload)
        ends = [ipaddress.ip_address(end[0]).packed for end in (self.source, self.target)]
        if len(ends[0]) == 4:
            head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, self.ttl, 6, 0)
        else:
            head = struct.pack(">IHBB", 6 << 28, len(tcp), 6, self.ttl)
        return head + ends[0] + ends[1] + tcp


@dataclass(frozen=True)
class Datagram:
    """A packet of UDP with `size` bytes of payload, which begin with `content`."""

    time_ns: int
    source: tuple[str, int]
    target: tuple[str, int]
    content: bytes = b""
    size: int = 100
    ttl: int = 64
    identification: int = 0

    def at(self, time_ns: int, ttl: int | None = None) -> Datagram:
        """The same packet at another place."""
        return replace(self, time_ns=time_ns, ttl=self.ttl if ttl is None else ttl)

    def ip(self) -> bytes:
        """From the IP header on."""
        udp = struct.pack(">HHHH", self.source[1], self.target[1], 8 + self.size, 0)
        udp += self.content + bytes(self.size - len(self.content))
        ends = [ipaddress.ip_address(end[0]).packed for end in (self.source, self.target)]
        if len(ends[0]) == 4:
            length, number = 20 + len(udp), self.identification
            head = struct.pack(">BBHHHBBH", 0x45, 0, length, number, 0, self.ttl, 17, 0)
        else:
            head = struct.pack(">IHBB", 6 << 28, len(udp), 17, self.ttl)
        return head + ends[0] + ends[1] + udp


def frame(ip: bytes, link: int = ETHERNET, *, vlans: Sequence[int] = (), link_id: int = 0) -> bytes:
    """A packet with the header of its link; `link_id` tells one link from another."""
    ethertype = b"\x08\x00" if ip[0] >> 4 == 4 else b"\x86\xdd"
    if link == ETHERNET:
        addresses = bytes([2, 0, 0, 0, link_id, 1, 2, 0, 0, 0, link_id, 2])
        tags = b"".join(struct.pack(">HH", kind, 7) for kind in vlans)
        return addresses + tags + ethertype + ip
    if link == COOKED:
        return struct.pack(">HHH8s", 0, 1, 6, bytes(8)) + ethertype + ip
    if link == COOKED_2:
        return ethertype + struct.pack(">HIHBB8s", 0, link_id, 1, 0, 6, bytes(8)) + ip
    if link == LOOPBACK:
        return struct.pack("<I", 2) + ip
    return ip


def write_pcap(
    file: Path,
    packets: Iterable[Packet | Datagram],
    *,
    link: int = ETHERNET,
    snap: int = 96,
    vlans: Sequence[int] = (),
    link_id: int = 0,
    big_endian: bool = False,
    microseconds: bool = False,
) -> Path:
    """A classic capture."""
    order = ">" if big_endian else "<"
    magic, unit = (0xA1B2C3D4, 1000) if microseconds else (0xA1B23C4D, 1)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snap, link)]
    for packet in packets:
        whole = frame(packet.ip(), link, vlans=vlans, link_id=link_id)
        seconds, ns = divmod(packet.time_ns, 10**9)
        head = (seconds, ns // unit, len(whole[:snap]), len(whole))
        parts += [struct.pack(f"{order}IIII", *head), whole[:snap]]
    file.write_bytes(b"".join(parts))
    return file


def write_links(file: Path, *links: Iterable[Packet]) -> Path:
    """One classic capture of several links, numbered from 0 on, one after the other."""
    parts = [write_pcap(file, link, link_id=n).read_bytes() for n, link in enumerate(links)]
    file.write_bytes(parts[0] + b"".join(part[24:] for part in parts[1:]))
    return file


def write_pcapng(file: Path, packets: Iterable[Packet | Datagram], *, link_id: int = 0) -> Path:
    """A capture of one Ethernet interface in nanoseconds, in the form that Wireshark writes."""
    parts = [
        struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28),
        struct.pack("<IIHHIHHB3xII", 1, 32, ETHERNET, 0, 96, 9, 1, 9, 0, 32),
    ]
    for packet in packets:
        whole = frame(packet.ip(), link_id=link_id)
        kept = whole[:96]
        length = 32 + -(-len(kept) // 4) * 4
        time = packet.time_ns
        parts.append(
            struct.pack(
                "<IIIIIII", 6, length, 0, time >> 32, time & 0xFFFFFFFF, len(kept), len(whole)
            )
        )
        parts += [kept, bytes(-len(kept) % 4), struct.pack("<I", length)]
    file.write_bytes(b"".join(parts))
    return file


def timestamps(value: int, echo: int) -> bytes:
    return struct.pack(">BBBBII", 1, 1, 8, 10, value, echo)


def mp_capable(*keys: bytes, version: int = 1, length: int | None = None) -> bytes:
    """Of a SYN (no key in version 1), its answer (one), or an ACK (both; with data its length)."""
    content = bytes([version, 1]) + b"".join(keys)
    if length is not None:
        content += struct.pack(">H", length)
    return bytes([30, 2 + len(content)]) + content


def mp_join(token: bytes, *, backup: bool = False) -> bytes:
    return bytes([30, 12, 1 << 4 | backup, 1]) + token + bytes(4)


def dss(
    *,
    data_ack: int | None = None,
    dsn: int | None = None,
    ssn: int = 0,
    length: int = 0,
    fin: bool = False,
    long: bool = True,
) -> bytes:
    """A data sequence signal, its numbers of 8 bytes or of 4."""
    flags, body = 0x10 if fin else 0, b""
    form, wrap = (">Q", 2**64) if long else (">I", 2**32)
    if data_ack is not None:
        flags |= 3 if long else 1
        body += struct.pack(form, data_ack % wrap)
    if dsn is not None:
        flags |= 12 if long else 4
        body += struct.pack(form, dsn % wrap) + struct.pack(">IH", ssn % 2**32, length)
    return bytes([30, 4 + len(body), 2 << 4, flags]) + body


def add_addr() -> bytes:
    return bytes([30, 16, 3 << 4, 2]) + bytes([10, 0, 2, 1]) + bytes(8)
