# SPDX-License-Identifier: GPL-2.0-only
"""Reads capture files (pcap, pcapng) into columns: a NumPy array per field of the TCP headers.

Packets of UDP, which has few fields, are kept apart, in columns of the same names.

libpcap, which tcpdump and Wireshark use too, splits a file of any format into packets and writes
them to memory one after another; NumPy then extracts a field of all packets at a time. Python does
nothing per packet but pass it on.

Only the headers of a packet are read, so captures of the first bytes of each packet are as good.
Packets that are neither TCP nor UDP, or not captured in full, are only counted.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mptcplab.errors import InputError, Problem
from mptcplab.units import NS_PER_S

Array = npt.NDArray[Any]
#: Called with the number of bytes read, of all files.
Progress = Callable[[int], None]

FIN, SYN, RST, ACK = 1, 2, 4, 16

# MPTCP's option and the kinds of it, RFC 8684 section 8.1
OPTION_TIMESTAMPS, OPTION_MPTCP = 8, 30
OPTION_NAMES = (
    *("MP_CAPABLE", "MP_JOIN", "DSS", "ADD_ADDR", "REMOVE_ADDR"),
    *("MP_PRIO", "MP_FAIL", "MP_FASTCLOSE", "MP_TCPRST"),
)
MP_CAPABLE, MP_JOIN, DSS, ADD_ADDR, REMOVE_ADDR, MP_PRIO, *_ = range(len(OPTION_NAMES))

# The fields of a packet: bits of the column `has`. The lowest five are DSS's own, section 3.3.
HAS_DATA_ACK, DATA_ACK_8, HAS_MAPPING, DSN_8, DATA_FIN = 1, 2, 4, 8, 16
HAS_TIMESTAMPS, HAS_DSS, CUT = 32, 64, 128

# link-layer header types, of tcpdump.org
_ETHERNET, _RAW_OLD, _RAW, _COOKED, _IPV4, _IPV6, _COOKED_2, _NULL, _LOOP = (
    1, 12, 101, 113, 228, 229, 276, 0, 108,
)  # fmt: skip
_LINKS = "Ethernet, Linux cooked (v1, v2), raw IP, and BSD loopback"
_VLAN_TAGS = (0x8100, 0x88A8)
_ETHERTYPE_IPV4, _ETHERTYPE_IPV6 = 0x0800, 0x86DD
_TCP, _UDP = 6, 17
_FRAGMENT, _FRAGMENT_HEAD_BYTES = 44, 8  # an extension header of IPv6, RFC 8200 section 4.5
_UDP_HEAD_BYTES = 8
# By which a packet of UDP is recognised at another place: words of 4 bytes of its payload, fewer
# than any usual capture keeps.
_PRINT_WORDS = 12

# How many packets are dissected at a time: their data stays in the CPU's cache.
_AT_A_TIME = 1 << 16
_RECORD_BYTES = 16  # before each packet in a classic capture: seconds, nanoseconds, two lengths
_FILE_HEADER_BYTES = 24

_COLUMNS = {
    "time_ns": np.int64,
    "track": np.int32,
    "forward": np.bool_,
    "seq": np.uint32,
    "ack": np.uint32,
    "flags": np.uint8,
    "window": np.uint16,
    "ttl": np.uint8,
    "head": np.uint8,
    "payload": np.int32,
    "has": np.uint8,
    "ts_val": np.uint32,
    "ts_ecr": np.uint32,
    "data_ack": np.uint32,
    "dsn": np.uint32,
    "ssn": np.uint32,
    "mapped": np.uint16,
}


@dataclass(frozen=True)
class Endpoint:
    address: str
    port: int

    def __str__(self) -> str:
        return (
            f"[{self.address}]:{self.port}"
            if ":" in self.address
            else f"{self.address}:{self.port}"
        )


@dataclass(frozen=True)
class Track:
    """The packets between two endpoints as they passed one place of one file.

    `a` sent the first of them. A router's capture has two places: the link on each side.
    """

    file: int
    place: int
    a: Endpoint
    b: Endpoint


@dataclass(frozen=True)
class Option:
    """An MPTCP option other than DSS: its packet, and its bytes."""

    packet: int
    kind: int
    content: bytes


@dataclass
class Packets:
    """All TCP packets of some files, in the order of the files; an array per field.

    `udp` has the packets of UDP: `time_ns`, `track`, `forward`, `payload` and `ttl` are the same,
    `seq` and `ack` are the halves of a number by which a packet is recognised at another place, and
    the rest is 0.

    `time_ns` is the file's timestamp, `track` an index of `tracks`, `forward` whether `a` sent it,
    `payload` its bytes of data as sent (not as captured), `ttl` the time to live or hop limit,
    `head` the bytes of TCP's header with its options, `window` as in there, before it is scaled.
    `has` says which further fields are valid: the lower 32 bits of the data ACK and, of a mapping,
    the lower 32 bits of the data sequence number, the subflow sequence number and its length.
    """

    files: tuple[Path, ...]
    tracks: list[Track]
    options: list[Option]
    columns: dict[str, Array]
    others: int = 0  # packets that are not TCP, including UDP
    warnings: list[str] = field(default_factory=list)
    udp: Packets | None = None

    def __len__(self) -> int:
        return len(self.columns["time_ns"])

    def __getattr__(self, name: str) -> Array:
        try:
            return self.__dict__["columns"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None


def read(files: Sequence[Path], progress: Progress = lambda _bytes: None) -> Packets:
    """Read capture files.

    A file that is cut off yields the packets before the cut, and a warning. Raises InputError for
    files that are not captures, or whose link type is unknown.
    """
    reader = _Reader()
    problems = []
    done = 0
    for number, file in enumerate(files):
        try:
            reader.read(number, file, lambda at, done=done: progress(done + at))  # type: ignore[misc]
        except _NoCaptureError as error:
            problems.append(Problem(str(file), "", "", str(error)))
        else:
            done += file.stat().st_size
    if problems:
        raise InputError(problems)
    return reader.packets(tuple(files))


class _NoCaptureError(Exception):
    pass


@dataclass(frozen=True)
class _Heads:
    """The packets of a batch with a header behind IP's, which begins `at` a byte of its content.

    There are `length` bytes of it and behind it; `source` and `target` stand for addresses.
    """

    begin: Array
    end: Array
    ip: Array
    place: Array
    four: Array
    source: Array
    target: Array
    ttl: Array
    at: Array
    length: Array

    def those(self, which: Array) -> _Heads:
        return _Heads(*(getattr(self, each.name)[which] for each in fields(self)))

    def time_ns(self, content: Array) -> Array:
        native = _unaligned(content, "=u4")
        seconds = native[self.begin - 16].astype(np.int64)
        found: Array = seconds * NS_PER_S + native[self.begin - 12]
        return found


class _Table:
    """Collects the packets of one protocol: `count` of them, with their options, and tracks."""

    def __init__(self) -> None:
        self.count = 0
        self.options: list[Option] = []
        self._parts: dict[str, list[Array]] = {name: [] for name in _COLUMNS}
        self._tracks: list[Track] = []
        self._keys = np.empty(0, np.uint64)  # sorted keys of the tracks, and below their numbers
        self._key_tracks = np.empty(0, np.int32)
        self._sources = np.empty(0, np.uint64)  # by track: the key of endpoint a

    def packets(self, files: tuple[Path, ...]) -> Packets:
        columns = {
            name: np.concatenate([np.empty(0, kind), *self._parts[name]])
            for name, kind in _COLUMNS.items()
        }
        return Packets(files, self._tracks, self.options, columns)

    def add(self, number: int, heads: _Heads, content: Array, columns: Mapping[str, Array]) -> None:
        """The packets of a batch of a file; columns that are not given are 0."""
        u16 = _unaligned(content, ">u2")
        source = heads.source << np.uint64(16) | u16[heads.at]
        target = heads.target << np.uint64(16) | u16[heads.at + 2]
        track = self._track(number, heads, source, target, content)
        found = {"track": track, "forward": source == self._sources[track], **columns}
        none = np.zeros(len(track))
        for name, kind in _COLUMNS.items():
            self._parts[name].append(found.get(name, none).astype(kind, copy=False))
        self.count += len(track)

    def _track(
        self, number: int, heads: _Heads, source: Array, target: Array, content: Array
    ) -> Array:
        """The track of each packet; new ones are created."""
        low, high = np.minimum(source, target), np.maximum(source, target)
        key = _mix(_mix(low) ^ high) ^ _mix(heads.place.astype(np.uint64) + np.uint64(number << 50))
        at = np.minimum(np.searchsorted(self._keys, key), max(len(self._keys) - 1, 0))
        known = self._keys[at] == key if len(self._keys) else np.zeros(len(key), np.bool_)
        if not known.all():
            unknown = np.flatnonzero(~known)
            _, first = np.unique(key[unknown], return_index=True)
            new = unknown[np.sort(first)]
            for packet in new:
                at_ip, at_head = int(heads.ip[packet]), int(heads.at[packet])
                ends = _endpoints(content, at_ip, bool(heads.four[packet]), at_head)
                self._tracks.append(Track(number, int(heads.place[packet]), *ends))
            self._sources = np.append(self._sources, source[new])
            self._keys = np.append(self._keys, key[new])
            numbers = np.arange(len(self._sources) - len(new), len(self._sources))
            self._key_tracks = np.append(self._key_tracks, numbers.astype(np.int32))
            order = np.argsort(self._keys)
            self._keys, self._key_tracks = self._keys[order], self._key_tracks[order]
            at = np.searchsorted(self._keys, key)
        return self._key_tracks[at]


class _Reader:
    """Collects the packets of one file after another."""

    def __init__(self) -> None:
        self._tcp, self._udp = _Table(), _Table()
        self._others = 0
        self._warnings: list[str] = []

    def packets(self, files: tuple[Path, ...]) -> Packets:
        return replace(
            self._tcp.packets(files),
            others=self._others,
            warnings=self._warnings,
            udp=self._udp.packets(files),
        )

    @property
    def _count(self) -> int:
        return self._tcp.count + self._others

    def read(self, number: int, file: Path, progress: Progress) -> None:
        import cypcap

        try:
            size = file.stat().st_size
        except FileNotFoundError:
            raise _NoCaptureError("there is no such file") from None
        except OSError as error:
            raise _NoCaptureError(f"cannot be read: {error.strerror}") from None
        if file.is_dir():
            raise _NoCaptureError("a directory; a capture file is expected (pcap or pcapng)")
        if not os.access(file, os.R_OK):
            raise _NoCaptureError("cannot be read: Permission denied")
        before = self._count
        try:
            capture = cypcap.open_offline(os.fspath(file), precision=cypcap.TstampPrecision.NANO)
        except cypcap.Error as error:
            raise _NoCaptureError(f"not a capture (pcap or pcapng): {_words(error)}") from None
        with capture:
            link = int(capture.datalink())
            if link not in _HEADERS:
                raise _NoCaptureError(f"its link type {link} is unknown; known are {_LINKS}")
            done = 0
            try:
                for content, lengths in _split(capture, cypcap):
                    self._dissect(number, link, content, lengths)
                    # approximate: libpcap does not report its position in the file
                    done += int(lengths.sum()) + 2 * _RECORD_BYTES * len(lengths)
                    progress(min(size, done))
            except cypcap.Error as error:
                found = self._count - before
                self._warnings.append(
                    f"{file} ends early: {_words(error)}; its first {found} packets are used"
                )
        progress(size)

    def _dissect(self, number: int, link: int, content: Array, lengths: Array) -> None:
        """Read the packets in `content`, each after its record header."""
        begin = np.cumsum(lengths + _RECORD_BYTES) - lengths + _FILE_HEADER_BYTES
        end = begin + lengths
        u8, u16, u32 = content, _unaligned(content, ">u2"), _unaligned(content, ">u4")
        ip, family, place = _HEADERS[link](begin, content)

        # IP: no later fragments. What was not captured is neither here, or cut off below
        head_bytes = (u8[ip] & 15).astype(np.int64) * 4
        four, six = (family == 4) & (head_bytes >= 20), family == 6
        protocol = u8[ip + np.where(four, 9, 6)]
        cut = six & (protocol == _FRAGMENT)
        protocol = np.where(cut, u8[ip + 40], protocol)
        ours = (protocol == _TCP) | (protocol == _UDP)
        place_in_whole = np.where(four, u16[ip + 6] & 0x1FFF, cut * (u16[ip + 42] & 0xFFF8))
        keep = np.flatnonzero((four | six) & ours & (place_in_whole == 0))
        self._others += len(ip) - len(keep)
        if not len(keep):
            return
        begin, end, ip, place, four, cut, head_bytes, protocol = (
            each[keep] for each in (begin, end, ip, place, four, cut, head_bytes, protocol)
        )
        if four.all():
            source, target = u32[ip + 12].astype(np.uint64), u32[ip + 16].astype(np.uint64)
            ip_total = u16[ip + 2].astype(np.int64)
            ttl = u8[ip + 8]
        else:
            head_bytes = np.where(four, head_bytes, 40 + _FRAGMENT_HEAD_BYTES * cut)
            source = np.where(four, u32[ip + 12], _fold(u32, ip + 8))
            target = np.where(four, u32[ip + 16], _fold(u32, ip + 24))
            ip_total = np.where(four, u16[ip + 2], u16[ip + 4].astype(np.int64) + 40)
            ttl = np.where(four, u8[ip + 8], u8[ip + 7])
        # 0: to be segmented by the network card, or longer than IP's field can express
        on_wire = _unaligned(content, "<u4")[begin - 4].astype(np.int64) - (ip - begin)
        length = np.where(ip_total <= 40 * ~four, on_wire, ip_total) - head_bytes
        at = ip + head_bytes
        heads = _Heads(begin, end, ip, place, four, source, target, ttl, at, length)
        # IP options can push the next header out of the captured bytes; it has a minimum size
        tcp = (protocol == _TCP) & (end >= at + 20) & (u8[at + 12] >= 5 << 4)
        udp = (protocol == _UDP) & (end >= at + _UDP_HEAD_BYTES) & (u16[at + 4] >= _UDP_HEAD_BYTES)
        self._others += int((~tcp).sum())
        if tcp.any():
            self._add_tcp(number, heads if tcp.all() else heads.those(tcp), content)
        if udp.any():
            self._add_udp(number, heads.those(udp), content)

    def _add_tcp(self, number: int, heads: _Heads, content: Array) -> None:
        u8, u16, u32 = content, _unaligned(content, ">u2"), _unaligned(content, ">u4")
        at = heads.at
        head_bytes = (u8[at + 12] >> 4).astype(np.int64) * 4
        columns: dict[str, Array] = {
            "time_ns": heads.time_ns(content),
            "seq": u32[at + 4].astype(np.uint32),
            "ack": u32[at + 8].astype(np.uint32),
            "flags": u8[at + 13],
            "window": u16[at + 14],
            "ttl": heads.ttl,
            "head": head_bytes,
            "payload": np.maximum(heads.length - head_bytes, 0),
        }
        columns |= self._walk_options(at + 20, at + head_bytes, heads.end, u8, u16, u32)
        self._tcp.add(number, heads, content, columns)

    def _add_udp(self, number: int, heads: _Heads, content: Array) -> None:
        u16 = _unaligned(content, ">u2")
        print_ = _print(heads, content)
        columns = {
            "time_ns": heads.time_ns(content),
            "seq": print_ >> np.uint64(32),
            "ack": print_ & np.uint64(0xFFFFFFFF),
            "ttl": heads.ttl,
            # the whole datagram; the packet may be its first fragment
            "payload": u16[heads.at + 4].astype(np.int64) - _UDP_HEAD_BYTES,
        }
        self._udp.add(number, heads, content, columns)

    def _walk_options(
        self, at: Array, head_end: Array, end: Array, u8: Array, u16: Array, u32: Array
    ) -> dict[str, Array]:
        """TCP's options: one of every packet at a time, until no packet has any left."""
        count = len(at)
        found: dict[str, Array] = {
            name: np.zeros(count, _COLUMNS[name])
            for name in ("has", "ts_val", "ts_ecr", "data_ack", "dsn", "ssn", "mapped")
        }
        has = found["has"]
        has[head_end > end] = CUT
        stop = np.minimum(head_end, end)
        of = np.arange(count)
        while True:
            # most packets have two bytes of padding in front of an option
            more = at + 1 < stop
            at, stop, of = at[more], stop[more], of[more]
            if not len(of):
                return found
            head = u16[at]
            kind, length = head >> 8, (head & 255).astype(np.int64)
            padding = kind == 1
            if padding.any():
                length = np.where(padding, np.where(length == 1, 2, 1), length)
            # no option is shorter than two bytes; an end of options also stops here
            good = ((length >= 2) | padding) & (kind != 0) & (at + length <= stop)
            if not good.all():
                lost = ~good & (kind == OPTION_MPTCP) & (length >= 2)
                has[of[lost]] |= CUT
                at, stop, of, kind, length = (each[good] for each in (at, stop, of, kind, length))
            stamps = np.flatnonzero((kind == OPTION_TIMESTAMPS) & (length == 10))
            if len(stamps):
                which, where = of[stamps], at[stamps]
                has[which] |= HAS_TIMESTAMPS
                found["ts_val"][which], found["ts_ecr"][which] = u32[where + 2], u32[where + 6]
            ours = np.flatnonzero((kind == OPTION_MPTCP) & (length >= 3))
            if len(ours):
                subtype = u8[at[ours] + 2] >> 4
                signal = ours[subtype == DSS]
                _read_dss(found, of[signal], at[signal], length[signal], u8, u16, u32)
                for each in ours[subtype != DSS]:
                    option = u8[at[each] : at[each] + length[each]].tobytes()
                    packet = self._tcp.count + int(of[each])
                    self._tcp.options.append(Option(packet, option[2] >> 4, option))
            at = at + length


def _read_dss(
    found: dict[str, Array], of: Array, at: Array, length: Array, u8: Array, u16: Array, u32: Array
) -> None:
    """A data sequence signal: RFC 8684, figure 9."""
    bits = u8[at + 3] & 31
    ack_bytes = np.where(bits & HAS_DATA_ACK, np.where(bits & DATA_ACK_8, 8, 4), 0)
    dsn_bytes = np.where(bits & HAS_MAPPING, np.where(bits & DSN_8, 8, 4), 0)
    needed = 4 + ack_bytes + dsn_bytes + np.where(bits & HAS_MAPPING, 6, 0)
    good = length >= needed
    found["has"][of[~good]] |= CUT
    of, at, bits, ack_bytes, dsn_bytes = (
        each[good] for each in (of, at, bits, ack_bytes, dsn_bytes)
    )
    found["has"][of] |= bits | HAS_DSS
    acks = np.flatnonzero(ack_bytes)
    found["data_ack"][of[acks]] = u32[at[acks] + ack_bytes[acks]]
    maps = np.flatnonzero(dsn_bytes)
    after = at[maps] + 4 + ack_bytes[maps] + dsn_bytes[maps]
    found["dsn"][of[maps]] = u32[after - 4]
    found["ssn"][of[maps]] = u32[after]
    found["mapped"][of[maps]] = u16[after + 4]


def _split(capture: Any, cypcap: Any) -> Iterator[tuple[Array, Array]]:
    """The packets of a capture in batches: as records of a classic capture, and their lengths.

    Packets read before an error are yielded before it is raised.
    """
    packets = iter(capture)
    failed: Exception | None = None
    while failed is None:
        with open(os.memfd_create("mptcplab-packets"), "rb") as memory:
            lengths: list[int] = []
            with capture.dump_open(f"/proc/self/fd/{memory.fileno()}") as dumper:
                dump, append = dumper.dump, lengths.append
                try:
                    for head, data in islice(packets, _AT_A_TIME):
                        dump(head, data)
                        append(len(data))
                except cypcap.Error as error:
                    failed = error
                dumper.flush()
                # so many bytes beyond the last packet that its fields can be read unchecked
                content = np.frombuffer(memory.read() + bytes(128), np.uint8)
        if not lengths:
            break
        yield content, np.array(lengths)
    if failed:
        raise failed


def _words(error: Exception) -> str:
    """libpcap's message, without what cypcap adds around it."""
    return str(error.args[-1] if error.args else error).strip()


def _unaligned(content: Array, kind: str) -> Array:
    """A number of this type at every offset."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(content) - size + 1,), kind, content, strides=(1,))


def _mix(key: Array) -> Array:
    """A hash of 64-bit numbers (the finaliser of SplitMix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = key ^ (key >> np.uint64(31))
    return mixed


def _fold(u32: Array, at: Array) -> Array:
    """An IPv6 address as a number of 48 bits, distinct from IPv4's, which have 32."""
    key = np.zeros(len(at), np.uint64)
    for word in range(4):
        key = _mix(key ^ u32[at + 4 * word])
    return key >> np.uint64(16) | np.uint64(1 << 40)


def _print(heads: _Heads, content: Array) -> Array:
    """A number by which a packet of UDP is recognised at another place, as long as nothing that is
    in it changes: of IPv4's identification, its length, and the beginning of its payload.

    Its checksum is not there yet where a network card is to compute it.
    """
    u16, u32 = _unaligned(content, ">u2"), _unaligned(content, ">u4")
    number = np.where(heads.four, u16[heads.ip + 4], 0).astype(np.uint64)
    number = _mix(number << np.uint64(16) | u16[heads.at + 4])
    # short packets may have been padded
    end = np.minimum(heads.end, heads.at + u16[heads.at + 4])
    for word in range(_PRINT_WORDS):
        at = heads.at + _UDP_HEAD_BYTES + 4 * word
        behind = np.uint64(8) * np.maximum(at + 4 - end, 0).astype(np.uint64)
        number = _mix(number ^ (u32[at].astype(np.uint64) >> behind << behind))
    return number


def _endpoints(content: Array, ip: int, four: bool, tcp: int) -> tuple[Endpoint, Endpoint]:
    size, first = (4, ip + 12) if four else (16, ip + 8)
    addresses = [
        str(ipaddress.ip_address(content[at : at + size].tobytes())) for at in (first, first + size)
    ]
    ports = [int.from_bytes(content[at : at + 2].tobytes()) for at in (tcp, tcp + 2)]
    return Endpoint(addresses[0], ports[0]), Endpoint(addresses[1], ports[1])


# The header of a link: where IP begins, its version (0: none) and the place, which is the same for
# both directions of a link and differs between two links that a packet passes.
_Header = tuple[Array, Array, Array]


def _family(ethertype: Array) -> Array:
    return np.where(ethertype == _ETHERTYPE_IPV4, 4, np.where(ethertype == _ETHERTYPE_IPV6, 6, 0))


def _ethernet(begin: Array, content: Array) -> _Header:
    u16, u32 = _unaligned(content, ">u2"), _unaligned(content, ">u4")
    ip = begin + 14
    kind = u16[begin + 12]
    for _ in range(2):
        tagged = (kind == _VLAN_TAGS[0]) | (kind == _VLAN_TAGS[1])
        if not tagged.any():
            break
        ip = np.where(tagged, ip + 4, ip)
        kind = u16[ip - 2]
    to = u32[begin].astype(np.uint64) << np.uint64(16) | u16[begin + 4]
    from_ = u32[begin + 6].astype(np.uint64) << np.uint64(16) | u16[begin + 10]
    # the product is the same in both directions, and rarely the product of two other addresses
    return ip, _family(kind), to * from_


def _cooked(begin: Array, content: Array) -> _Header:
    return begin + 16, _family(_unaligned(content, ">u2")[begin + 14]), np.zeros_like(begin)


def _cooked_2(begin: Array, content: Array) -> _Header:
    u16, u32 = _unaligned(content, ">u2"), _unaligned(content, ">u4")
    return begin + 20, _family(u16[begin]), u32[begin + 4].astype(np.uint64)


def _raw(begin: Array, content: Array) -> _Header:
    return begin, content[begin] >> 4, np.zeros_like(begin)


def _loopback(begin: Array, content: Array) -> _Header:
    """The 4 bytes before IP are an address family, whose number differs between systems."""
    return _raw(begin + 4, content)


_HEADERS: dict[int, Callable[[Array, Array], _Header]] = {
    _ETHERNET: _ethernet,
    _COOKED: _cooked,
    _COOKED_2: _cooked_2,
    **dict.fromkeys((_RAW_OLD, _RAW, _IPV4, _IPV6), _raw),
    **dict.fromkeys((_NULL, _LOOP), _loopback),
}
