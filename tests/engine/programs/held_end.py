# SPDX-License-Identifier: GPL-2.0-only
"""Data and its end, over TCP, to a receiver that speaks MPTCP and reads later.

`held_end.py server` sends, and ends, in connection after connection. `held_end.py client BYTES ...`
makes one for each of its arguments, makes its receive buffer small, reads when all has arrived, and
prints how many bytes are as they were sent.
"""

from __future__ import annotations

import itertools
import socket
import sys
import time

PORT = 5000
SOON_S = 0.1
LATER_S = 0.5


def pattern(count: int) -> bytes:
    return bytes(number % 251 for number in range(count))


def serve(sizes: list[int]) -> None:
    with socket.create_server(("", PORT)) as listener:
        for size in sizes:
            connection, _ = listener.accept()
            with connection:
                time.sleep(SOON_S)
                connection.sendall(pattern(size))


def receive(size: int) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as receiver:
        receiver.connect(("server", PORT))
        # after a larger window has been offered
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        time.sleep(LATER_S)
        data = b""
        while piece := receiver.recv(65536):
            data += piece
        pairs = zip(data, pattern(size), strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[2:]]
    if sys.argv[1] == "server":
        serve(sizes)
    else:
        print(*map(receive, sizes))


main()
