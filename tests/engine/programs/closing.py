# SPDX-License-Identifier: GPL-2.0-only
"""Connections that end in a way of their own: `closing.py client|server WAY`.

unread        the client closes with unread data, and writes until then
early         an outage of 30 s before the peer has confirmed MPTCP; later one when the data ends
reused        the same, but for the first outage: the socket had a connection that ended in one
cork          500 bytes in ten pieces with TCP_CORK, after a unit of 40,000 bytes was dropped
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

SERVER = ("10.1.1.1", 5000)
SOL_MPTCP, MPTCP_UNIT = 284, 101


def pieces(connection: socket.socket) -> Iterator[int]:
    while piece := connection.recv(65536):
        yield len(piece)


def serve(way: str) -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    if way == "unread":
        Path("/proc/sys/net/mptcp/mptcpize").write_text("0")
        listener = socket.socket()
    listener.bind(("", SERVER[1]))
    listener.listen()
    while True:
        # an end of the first one may never come
        Thread(target=read, args=(listener.accept()[0], way), daemon=True).start()


def read(connection: socket.socket, way: str) -> None:
    if way == "unread":
        connection.send(b"y" * 100)
    try:
        *_, last = pieces(connection)
        print("end", last if way == "cork" else "", flush=True)
    except ConnectionResetError:
        print("reset", flush=True)
    connection.close()


def make_outage(percent: int) -> None:
    for device in ("rs1", "rc1"):
        netem = f"netem limit 100 rate 20mbit delay 10ms loss {percent}%"
        os.system(f"router1 tc qdisc change dev {device} root {netem}")


def end_unread(client: socket.socket) -> None:
    client.connect(SERVER)
    client.send(b"a")
    time.sleep(0.3)
    client.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            client.send(bytes(65536))
    client.close()


def end_in_an_outage(client: socket.socket) -> None:
    """Prints how long the peer's end takes, in s, after an outage of 0.5 s has begun with ours."""
    client.send(bytes(10000))
    time.sleep(1)
    make_outage(100)
    client.shutdown(socket.SHUT_WR)
    time.sleep(0.5)
    make_outage(0)
    begin = time.monotonic()
    client.recv(1)
    print(time.monotonic() - begin)


def end_early(client: socket.socket) -> None:
    client.connect(SERVER)
    make_outage(100)
    client.send(bytes(1000))
    time.sleep(30)
    make_outage(0)
    time.sleep(40)
    end_in_an_outage(client)


def end_reused(client: socket.socket) -> None:
    client.connect(SERVER)
    client.send(bytes(1000))
    time.sleep(1)
    make_outage(100)
    client.shutdown(socket.SHUT_WR)
    time.sleep(30)
    # AF_UNSPEC
    ctypes.CDLL(None).connect(client.fileno(), ctypes.create_string_buffer(16), 16)
    make_outage(0)
    time.sleep(1)
    client.connect(SERVER)
    end_in_an_outage(client)


def end_cork(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400_000)
    client.connect(SERVER)
    client.send(b"a")
    time.sleep(0.3)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    client.send(bytes(60_000))
    # wanted, and of use, within 250 ms: too late behind the data before it
    late_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 250_000_000
    unit = struct.pack("IIIIQQ", 1, 40_000, 0, 0, late_ns, late_ns)
    client.setsockopt(SOL_MPTCP, MPTCP_UNIT, unit)
    client.send(bytes(40_000))
    # lets all of it go
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
    time.sleep(2)
    for _ in range(10):
        client.send(bytes(50))
        time.sleep(0.005)
    time.sleep(1)
    dropped = struct.unpack("IIIIQ", client.getsockopt(SOL_MPTCP, MPTCP_UNIT, 24))[4]
    print(dropped)
    client.close()
    time.sleep(1)


ENDS = {
    "unread": end_unread,
    "early": end_early,
    "reused": end_reused,
    "cork": end_cork,
}


def main() -> None:
    role, way = sys.argv[1:]
    if role == "server":
        serve(way)
    else:
        ENDS[way](socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP))
        time.sleep(5)


main()
