# SPDX-License-Identifier: GPL-2.0-only
"""Data that arrives a byte a packet, with a gap behind each, in a receive buffer that is small.

`gaps.py server RCVBUF` receives BYTES, compares them, and prints how many packets that were out of
order have been dropped for their memory (OfoPruned). `gaps.py client` sends them when all paths
have a subflow.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

PORT = 5000
BYTES = bytes(number % 251 for number in range(3000))
JOINED_S = 8


def dropped() -> int:
    names, values = Path("/proc/net/netstat").read_text().splitlines()[:2]
    return int(dict(zip(names.split(), values.split(), strict=True))["OfoPruned"])


def serve(receive_buffer: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        listener.bind(("", PORT))
        listener.listen()
        connection, _ = listener.accept()
        with connection:
            data = b""
            while piece := connection.recv(65536):
                data += piece
            assert data == BYTES
            print(dropped(), flush=True)


def send() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as sender:
        sender.connect(("server", PORT))
        time.sleep(JOINED_S)
        begin_ns = time.monotonic_ns()
        sender.sendall(BYTES)
        sender.shutdown(socket.SHUT_WR)
        assert sender.recv(1) == b""
        print((time.monotonic_ns() - begin_ns) // 10**6)


if sys.argv[1] == "server":
    serve(int(sys.argv[2]))
else:
    send()
