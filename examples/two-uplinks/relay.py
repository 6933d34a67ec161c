# SPDX-License-Identifier: GPL-2.0-only
"""Carries the TCP connections of a network over MPTCP, as the proxies of OpenMPTCProuter do.

    relay.py server PORT
    relay.py router PORT SERVER SERVER_PORT

The router's end accepts connections to any address, which a route or a redirection gives it, and
first sends the server a line with their destination. Nothing is encrypted, and everyone may use the
server: it shows how it works, no more.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from contextlib import suppress

MPTCP = 262  # IPPROTO_MPTCP
SO_ORIGINAL_DST = 80  # linux/netfilter_ipv4.h

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def main(role: str, port: str, *server: str) -> None:
    # both ends of the tunnel are MPTCP sockets; the LAN and the destinations have plain TCP
    sock = socket.socket(proto=MPTCP if role == "server" else 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_IP, socket.IP_TRANSPARENT, 1)
    sock.bind(("", int(port)))

    async def accept(*here: asyncio.StreamReader | asyncio.StreamWriter) -> None:
        reader, writer = here
        with suppress(OSError):
            if role == "router":
                there = await connected(server[0], int(server[1]), MPTCP)
                address, number = destination(writer.get_extra_info("socket"))
                there[1].write(f"{address} {number}\n".encode())
            else:
                address, number = (await reader.readline()).decode().split()
                there = await connected(address, int(number), 0)
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    await (await asyncio.start_server(accept, sock=sock)).serve_forever()


async def connected(address: str, port: int, protocol: int) -> Ends:
    sock = socket.socket(proto=protocol)
    # asyncio's own asks getaddrinfo(), which does not know MPTCP
    await asyncio.to_thread(sock.connect, (address, port))
    return await asyncio.open_connection(sock=sock)


def destination(sock: socket.socket) -> tuple[str, int]:
    """Where a connection was to go: before a firewall's redirect, or else its local address."""
    try:
        before = sock.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
    except OSError:
        return sock.getsockname()
    port, address = struct.unpack("!2xH4s8x", before)
    return socket.inet_ntoa(address), port


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close() if writer.is_closing() else writer.write_eof()


asyncio.run(main(*sys.argv[1:]))
