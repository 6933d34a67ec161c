# SPDX-License-Identifier: GPL-2.0-only
"""Writes single bytes over loopback to a peer that reads nothing, and prints what that takes.

Each is a segment of its own, and stays in the peer's receive buffer.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

IPPROTO_MPTCP = 262
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33


def free_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemFree:"):
            return int(line.split()[1]) * 1024
    raise LookupError("MemFree")


def main(count: int) -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    source = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
    source.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24)
    source.connect(listener.getsockname())
    sink, _ = listener.accept()
    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    before = free_bytes()
    for _ in range(count):
        # so that the last one is acknowledged, and nothing is added to it
        time.sleep(0.001)
        source.send(b"x")
    print(before - free_bytes())
    sink.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
