# SPDX-License-Identifier: GPL-2.0-only
"""A socket whose connection times out with data in its queue, and which is used again.

The server is one of TCP, so that the connection falls back. The client prints what the socket
option MPTCP_SCHEDULER says at each step. The path is down from 1 s to 30 s after the start.
"""

from __future__ import annotations

import ctypes
import errno
import select
import socket
import sys
import time
from pathlib import Path

IPPROTO_MPTCP = 262
SOL_MPTCP = 284
MPTCP_SCHEDULER = 100
SERVER = ("10.1.1.1", 5003)


def server() -> None:
    # plain TCP
    Path("/proc/sys/net/mptcp/mptcpize").write_text("0")
    listener = socket.create_server(SERVER)
    while True:
        listener.accept()[0].close()


def mptcp_socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)


def choose(fd: socket.socket, when: str, name: bytes = b"minrtt") -> None:
    try:
        fd.setsockopt(SOL_MPTCP, MPTCP_SCHEDULER, name)
        print(f"{when}: ok")
    except OSError as error:
        print(f"{when}: {errno.errorcode[error.errno or 0]}")


def chosen(fd: socket.socket) -> bytes:
    """As much as the kernel gives."""
    return fd.getsockopt(SOL_MPTCP, MPTCP_SCHEDULER, 64)


def disconnect(fd: socket.socket) -> None:
    unspecified = ctypes.create_string_buffer(16)
    if ctypes.CDLL(None, use_errno=True).connect(fd.fileno(), unspecified, 16):
        raise OSError(ctypes.get_errno(), "connect(AF_UNSPEC)")


def client() -> None:
    Path("/proc/sys/net/ipv4/tcp_retries2").write_text("3")
    fd = mptcp_socket()
    choose(fd, "new", b"default")
    fd.connect(SERVER)
    choose(fd, "connected")
    time.sleep(2)
    # bytes that would be addresses, in place of the list of unsent segments
    fd.send(b"\x08\x90\x78\x56\x34\x12\x00\x00" * 4096)
    poll = select.poll()
    poll.register(fd, 0)
    poll.poll()
    print(errno.errorcode[fd.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)])
    choose(fd, "timed out")
    disconnect(fd)
    choose(fd, "disconnected")
    time.sleep(30)
    fd.connect(SERVER)
    fd.send(b"data")
    disconnect(fd)
    choose(fd, "disconnected again", b"roundrobin")

    fd.bind(("127.0.0.1", 0))
    choose(fd, "bound", b"redundant")
    fd.listen()
    choose(fd, "listening")
    peer = mptcp_socket()
    peer.connect(fd.getsockname())
    accepted, _ = fd.accept()
    print("accepted with", chosen(accepted))
    choose(accepted, "accepted")


if __name__ == "__main__":
    server() if sys.argv[1] == "server" else client()
