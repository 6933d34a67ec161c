# SPDX-License-Identifier: GPL-2.0-only
"""Reads the captures of a run: the few kinds of pcapng blocks that the guest writes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_IF_NAME, _IF_TSRESOL = 2, 9
_PACKET_HEAD = struct.Struct("<IIIIIII")
_OUTBOUND = 2
_ETHERNET_BYTES = 14
_TCP = 6


@dataclass(frozen=True)
class Capture:
    """What passed a device, in the order of the file; an entry of each array per packet.

    `time_ns` is virtual time as in the records, `length` that of the whole frame in bytes,
    `outbound` whether it left by the device, and `headers` the beginning of the frame.
    """

    device: str
    time_ns: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    outbound: npt.NDArray[np.bool_]
    headers: list[bytes]

    @property
    def payload(self) -> npt.NDArray[np.int64]:
        """Bytes of TCP payload of each packet; -1 for what is not TCP over IPv4."""
        return np.array([_payload(frame) for frame in self.headers], np.int64)


def read(path: Path) -> dict[str, Capture]:
    """Reads one file, by device; whatever the guest would not write is an AssertionError."""
    content = path.read_bytes()
    devices: list[str] = []
    packets: list[list[tuple[int, int, bool, bytes]]] = []
    offset = 0
    while offset < len(content):
        kind, length = struct.unpack_from("<II", content, offset)
        block = content[offset : offset + length]
        assert len(block) == length, f"{path}: the block at {offset} is cut off"
        assert struct.unpack_from("<I", block, length - 4) == (length,), f"{path}: at {offset}"
        if kind == _SECTION:
            assert offset == 0
            assert block[8:12] == bytes.fromhex("4d3c2b1a"), "little-endian"
        elif kind == _INTERFACE:
            options = _options(block[16:-4])
            devices.append(options[_IF_NAME].decode())
            packets.append([])
            assert options[_IF_TSRESOL] == b"\x09", "nanoseconds"
        else:
            assert kind == _PACKET, f"{path}: block of kind {kind} at {offset}"
            interface, packet = _packet(block)
            packets[interface].append(packet)
        offset += length
    assert devices, f"{path}: no interface"
    return {name: _capture(name, found) for name, found in zip(devices, packets, strict=True)}


def _capture(device: str, packets: list[tuple[int, int, bool, bytes]]) -> Capture:
    columns: list[Any] = list(zip(*packets, strict=True)) if packets else [[]] * 4
    return Capture(
        device,
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.bool_),
        list(columns[3]),
    )


def _packet(block: bytes) -> tuple[int, tuple[int, int, bool, bytes]]:
    _, _, interface, high, low, captured, original = _PACKET_HEAD.unpack_from(block)
    begin = _PACKET_HEAD.size
    header = block[begin : begin + captured]
    (flags,) = struct.unpack("<I", _options(block[begin + -(-captured // 4) * 4 : -4])[2])
    return interface, (high << 32 | low, original, flags == _OUTBOUND, header)


def _options(text: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    offset = 0
    while True:
        code, length = struct.unpack_from("<HH", text, offset)
        if code == 0:
            return found
        found[code] = text[offset + 4 : offset + 4 + length]
        offset += 4 + -(-length // 4) * 4


def _payload(frame: bytes) -> int:
    ip = frame[_ETHERNET_BYTES:]
    if frame[12:14] != b"\x08\x00" or ip[9] != _TCP:
        return -1
    ip_bytes, total = (ip[0] & 0xF) * 4, int.from_bytes(ip[2:4], "big")
    return total - ip_bytes - (ip[ip_bytes + 12] >> 4) * 4
