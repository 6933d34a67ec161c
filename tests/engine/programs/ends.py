# SPDX-License-Identifier: GPL-2.0-only
"""A connection that ends 50 ms after its last bytes. The client prints how its peer ended."""

from __future__ import annotations

import socket
import sys
import time

IPPROTO_MPTCP = 262
SERVER = ("10.1.1.1", 5003)


def server() -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
    # on each of its addresses: the second subflow goes to another one
    listener.bind(("", SERVER[1]))
    listener.listen()
    peer, _ = listener.accept()
    while peer.recv(1000):
        pass
    peer.close()


def client() -> None:
    fd = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
    fd.connect(SERVER)
    # with this the second subflow is announced
    fd.send(b".")
    time.sleep(1)
    fd.send(bytes(1000))
    time.sleep(0.05)
    fd.shutdown(socket.SHUT_WR)
    fd.settimeout(60)
    try:
        print("end" if fd.recv(1) == b"" else "data")
    except TimeoutError:
        print("no end")


if __name__ == "__main__":
    server() if sys.argv[1] == "server" else client()
