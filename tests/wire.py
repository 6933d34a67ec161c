# SPDX-License-Identifier: GPL-2.0-only
"""The fields of TCP headers, written so that those of two connections can be compared.

What is random in a connection is left out: ports, initial sequence numbers, keys, tokens, nonces.
Numbers count from where they begin.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.pcapng import Capture

FLAGS = {1: "F", 2: "S", 4: "R", 16: "A", 32: "U", 64: "E", 128: "W"}
PSH, ACK = 8, 16
MSS, WINDOW_SCALE, SACK_PERMITTED, SACK, TIMESTAMPS, MPTCP = 2, 3, 4, 5, 8, 30
MP_CAPABLE, MP_JOIN, DSS, ADD_ADDR, REMOVE_ADDR, MP_PRIO, MP_FAIL, MP_FASTCLOSE, MP_TCPRST = range(
    9
)
_NAMES = {MSS: "mss", WINDOW_SCALE: "wscale", SACK_PERMITTED: "sackOK", SACK: "sack"}
_ETHERNET_BYTES = 14


@dataclass
class _End:
    """What one end of a connection has drawn: where its numbers begin."""

    port: int
    isn: int
    first_stamp: int = 0
    idsn: int | None = None


@dataclass
class _Connection:
    first_ns: int
    joins: _Connection | None = None  # the first subflow's
    ends: dict[bool, _End] = field(default_factory=dict)  # by whether it is the client


#: A packet: a value for each field that it has, in the order of the header.
Fields = Mapping[str, Any]


def connections(capture: Capture, first_port: int, *joins: Capture) -> dict[int, list[Fields]]:
    """The packets of each connection, by its server's port less `first_port`.

    `capture` is of a device that the client's packets come in by; `joins` are the same of paths of
    further subflows, whose packets come after those of the first.
    """
    found: dict[int, list[Fields]] = {}
    first = _read(capture, first_port, found, {})
    for each in joins:
        _read(each, first_port, found, first)
    return found


def _read(
    capture: Capture,
    first_port: int,
    found: dict[int, list[Fields]],
    first: Mapping[int, _Connection],
) -> dict[int, _Connection]:
    """Put the packets of a capture into `found`; of a path whose subflows join those of `first`."""
    known: dict[int, _Connection] = {}
    for time_ns, outbound, frame in zip(
        capture.time_ns.tolist(), capture.outbound.tolist(), capture.headers, strict=True
    ):
        ip = frame[_ETHERNET_BYTES:]
        if frame[12:14] != b"\x08\x00" or ip[9] != 6:
            continue
        tcp = ip[(ip[0] & 15) * 4 :]
        ports = struct.unpack(">HH", tcp[:4])
        number = ports[0 if outbound else 1] - first_port
        joined = first.get(number)
        begin_ns = joined.first_ns if joined else time_ns
        connection = known.setdefault(number, _Connection(begin_ns, joined))
        found.setdefault(number, []).append(_fields(connection, not outbound, time_ns, ip, tcp))
    return known


def _fields(
    connection: _Connection, by_client: bool, time_ns: int, ip: bytes, tcp: bytes
) -> Fields:
    source, target, seq, ack, head, bits, window = struct.unpack(">HHIIBBH", tcp[:16])
    options = list(_options(tcp[20 : (head >> 4) * 4]))
    ends = connection.ends
    ends.setdefault(by_client, _End(source, seq))
    mine = ends[by_client]
    theirs = ends.get(not by_client, _End(target, ack))
    if connection.joins:
        mine.idsn = connection.joins.ends[by_client].idsn
        theirs.idsn = connection.joins.ends[not by_client].idsn
    fields: dict[str, Any] = {
        "time": time_ns - connection.first_ns,
        "from": "client" if by_client else "server",
        "tos": ip[1],
        "fragment": struct.unpack(">H", ip[6:8])[0],
        "ttl": ip[8],
        "flags": "".join(name for bit, name in FLAGS.items() if bits & bit),
        "push": bool(bits & PSH),
        "seq": (seq - mine.isn) % 2**32,
        "ack": (ack - theirs.isn) % 2**32 if bits & ACK else 0,
        "window": window,
        "payload": struct.unpack(">H", ip[2:4])[0] - (ip[0] & 15) * 4 - (head >> 4) * 4,
        "options": " ".join(str(_NAMES.get(kind, kind)) for kind, _ in options),
    }
    for kind, content in options:
        if kind == TIMESTAMPS:
            fields |= _timestamps(content, mine, theirs)
        elif kind == MPTCP:
            fields |= _mptcp(content, mine, theirs)
        elif kind == SACK:
            edges = struct.unpack(f">{len(content) // 4}I", content)
            fields["sack"] = [(edge - theirs.isn) % 2**32 for edge in edges]
        elif content:
            fields[_NAMES[kind]] = int.from_bytes(content)
    return fields


def _options(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each; padding is an option like any other."""
    at = 0
    while at < len(text):
        length = 1 if text[at] in (0, 1) else text[at + 1]
        yield text[at], text[at + 2 : at + length]
        at += length


def _timestamps(content: bytes, mine: _End, theirs: _End) -> Fields:
    value, echo = struct.unpack(">II", content)
    mine.first_stamp = mine.first_stamp or value
    return {
        "ts_val": (value - mine.first_stamp) % 2**32,
        "ts_ecr": (echo - theirs.first_stamp) % 2**32 if echo else None,
    }


def _mptcp(content: bytes, mine: _End, theirs: _End) -> Fields:
    kind = content[0] >> 4
    if kind == DSS:
        return _dss(content, mine, theirs)
    if kind == MP_CAPABLE:
        return _mp_capable(content, mine, theirs)
    # MP_JOIN, MP_FASTCLOSE and the like: what is random comes after the first two bytes
    return {"mptcp": kind, "mptcp_bytes": len(content), "mptcp_flags": content[:2].hex()}


def _mp_capable(content: bytes, mine: _End, theirs: _End) -> Fields:
    keys = [content[at : at + 8] for at in (2, 10) if at + 8 <= len(content)]
    for key, end in zip(keys, (mine, theirs), strict=False):
        # RFC 8684, section 3.1: the data that the key stands for begins after this number
        end.idsn = int.from_bytes(hashlib.sha256(key).digest()[-8:])
    fields = {"mptcp": MP_CAPABLE, "mptcp_bytes": len(content), "mptcp_flags": content[:2].hex()}
    if len(content) >= 20:
        assert mine.idsn is not None
        # the mapping of the first data; its checksum is at the end
        mapped = int.from_bytes(content[18:20])
        fields |= {"mapped": mapped}
        fields |= {"checksum": _payload_sum(content[20:22], mine.idsn + 1, 1, mapped)}
    return fields


def _dss(content: bytes, mine: _End, theirs: _End) -> Fields:
    bits = content[1]
    fields: dict[str, Any] = {"mptcp": DSS, "mptcp_bytes": len(content), "dss": f"{bits:05b}"}
    at = 2
    if bits & 1:
        size = 8 if bits & 2 else 4
        assert theirs.idsn is not None
        data_ack = int.from_bytes(content[at : at + size])
        fields["data_ack"] = (data_ack - theirs.idsn) % 2 ** (8 * size)
        at += size
    if bits & 4:
        size = 8 if bits & 8 else 4
        assert mine.idsn is not None
        dsn = int.from_bytes(content[at : at + size])
        fields["dsn"] = (dsn - mine.idsn) % 2 ** (8 * size)
        at += size
        ssn, mapped = struct.unpack(">IH", content[at : at + 6])
        # of the numbers, a checksum has the data sequence number itself
        checksum = _payload_sum(content[at + 6 :], dsn, ssn, mapped)
        fields |= {"ssn": ssn, "mapped": mapped, "checksum": checksum}
    return fields


def _payload_sum(checksum: bytes, dsn: int, ssn: int, mapped: int) -> int | None:
    """What a checksum says of the payload alone: RFC 8684, section 3.3.1; None: there is none."""
    if not checksum:
        return None
    words: tuple[int, ...] = struct.unpack(">7H", struct.pack(">QIH", dsn % 2**64, ssn, mapped))
    # one's complement: 0 and 65535 are the same number
    return (0xFFFF - int.from_bytes(checksum) - sum(words)) % 0xFFFF
