# SPDX-License-Identifier: GPL-2.0-only
"""A sender that blocks, with TCP_NOTSENT_LOWAT: how long it takes to send.

`low_water.py server` reads connection after connection to its end. `low_water.py client MARK,SNDBUF
...` makes one for each of its arguments, in which it sends BYTES at once, and prints in how many us
of virtual time. A send buffer of 0 is left as it is.
"""

from __future__ import annotations

import socket
import sys
import time

PORT = 5000
BYTES = 2000
NOTSENT_LOWAT = 25  # TCP_NOTSENT_LOWAT, which Python has from 3.12 on


def serve() -> None:
    with socket.create_server(("", PORT)) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                while connection.recv(65536):
                    pass


def send(mark: int, send_buffer: int) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as sender:
        sender.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, mark)
        if send_buffer:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        sender.connect(("server", PORT))
        begin_ns = time.monotonic_ns()
        sender.sendall(bytes(BYTES))
        return (time.monotonic_ns() - begin_ns) // 1000


def main() -> None:
    if sys.argv[1] == "server":
        serve()
    for argument in sys.argv[2:]:
        mark, send_buffer = map(int, argument.split(","))
        print(mark, send_buffer, send(mark, send_buffer), flush=True)


main()
