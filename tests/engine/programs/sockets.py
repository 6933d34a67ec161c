# SPDX-License-Identifier: GPL-2.0-only
"""What test_sockets.py runs: `sockets.py CASE client|server [ARGUMENT...]`.

closing       ends in a way of their own: see `CLOSING`
ends          an end 50 ms after the last bytes; the client prints how its peer ended
gaps          data that arrives a byte a packet, each behind a gap, in a small receive buffer
held_end      data and its end over TCP, to a receiver that speaks MPTCP and reads later
loopback      single bytes to a peer that reads nothing; the client prints what memory that takes
low_water     a sender that blocks, with TCP_NOTSENT_LOWAT, prints how long it takes, in us
reused        a socket whose connection times out with data in its queue, and which is used again
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import select
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

SERVER = ("10.1.1.1", 5000)
SOL_MPTCP, MPTCP_SCHEDULER, MPTCP_UNIT = 284, 100, 101
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
NOTSENT_LOWAT = 25  # TCP_NOTSENT_LOWAT, which Python has from 3.12 on


def mptcp() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)


def listening(receive_buffer: int = 0) -> socket.socket:
    """On each address of the host: further subflows go to others, while it is open."""
    listener = mptcp()
    if receive_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    listener.bind(("", SERVER[1]))
    listener.listen()
    return listener


def listening_without_mptcp() -> socket.socket:
    Path("/proc/sys/net/mptcp/mptcpize").write_text("0")
    return socket.create_server(("", SERVER[1]))


def received(connection: socket.socket) -> list[bytes]:
    """All pieces, until the peer ends."""
    return list(iter(lambda: connection.recv(65536), b""))


def pattern(count: int) -> bytes:
    return bytes(number % 251 for number in range(count))


def disconnect(fd: socket.socket) -> None:
    """connect(AF_UNSPEC)"""
    unspecified = ctypes.create_string_buffer(16)
    if ctypes.CDLL(None, use_errno=True).connect(fd.fileno(), unspecified, 16):
        raise OSError(ctypes.get_errno(), "connect(AF_UNSPEC)")


# --- ways to close


def closing_server(way: str) -> None:
    listener = listening_without_mptcp() if way == "unread" else listening()
    while True:
        # an end of the first one may never come
        Thread(target=closing_read, args=(listener.accept()[0], way), daemon=True).start()


def closing_read(connection: socket.socket, way: str) -> None:
    if way == "unread":
        connection.send(b"y" * 100)
    try:
        last = len(received(connection)[-1])
        print("end", last if way == "cork" else "", flush=True)
    except ConnectionResetError:
        print("reset", flush=True)
    connection.close()


def make_outage(percent: int) -> None:
    for device in ("rs1", "rc1"):
        netem = f"netem limit 100 rate 20mbit delay 10ms loss {percent}%"
        os.system(f"router1 tc qdisc change dev {device} root {netem}")


def unread(client: socket.socket) -> None:
    """Closes with unread data, and writes until then."""
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


def early(client: socket.socket) -> None:
    """An outage of 30 s before the peer has confirmed MPTCP; later one when the data ends."""
    client.connect(SERVER)
    make_outage(100)
    client.send(bytes(1000))
    time.sleep(30)
    make_outage(0)
    time.sleep(40)
    end_in_an_outage(client)


def reused(client: socket.socket) -> None:
    """The same, but for the first outage: the socket had a connection that ended in one."""
    client.connect(SERVER)
    client.send(bytes(1000))
    time.sleep(1)
    make_outage(100)
    client.shutdown(socket.SHUT_WR)
    time.sleep(30)
    disconnect(client)
    make_outage(0)
    time.sleep(1)
    client.connect(SERVER)
    end_in_an_outage(client)


def cork(client: socket.socket) -> None:
    """500 bytes in ten pieces with TCP_CORK, after a unit of 40,000 bytes was dropped."""
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


CLOSING = {each.__name__: each for each in (unread, early, reused, cork)}


def closing_client(way: str) -> None:
    CLOSING[way](mptcp())
    time.sleep(5)


# --- ends


def ends_server() -> None:
    listener = listening()
    peer, _ = listener.accept()
    received(peer)
    peer.close()


def ends_client() -> None:
    fd = mptcp()
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


def held_end_server(*sizes: str) -> None:
    with listening_without_mptcp() as listener:
        for size in sizes:
            connection, _ = listener.accept()
            with connection:
                time.sleep(0.1)
                connection.sendall(pattern(int(size)))


def held_end_client(*sizes: str) -> None:
    """Prints how many bytes of each connection are as they were sent."""
    for size in map(int, sizes):
        with mptcp() as receiver:
            receiver.connect(SERVER)
            # after a larger window has been offered; all has arrived when it is read
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            time.sleep(0.5)
            pairs = zip(b"".join(received(receiver)), pattern(size), strict=False)
            print(sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))


# --- buffers


def gaps_server(receive_buffer: str) -> None:
    """Prints how many packets that were out of order have been dropped for their memory."""
    listener = listening(int(receive_buffer))
    connection, _ = listener.accept()
    with connection:
        assert b"".join(received(connection)) == pattern(3000)
        names, values = Path("/proc/net/netstat").read_text().splitlines()[:2]
        print(dict(zip(names.split(), values.split(), strict=True))["OfoPruned"], flush=True)


def gaps_client() -> None:
    """Sends when all paths have a subflow, and prints in how many ms that has arrived."""
    with mptcp() as sender:
        sender.connect(SERVER)
        time.sleep(8)
        begin_ns = time.monotonic_ns()
        sender.sendall(pattern(3000))
        sender.shutdown(socket.SHUT_WR)
        assert sender.recv(1) == b""
        print((time.monotonic_ns() - begin_ns) // 10**6)


def free_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemFree:")) * 1024


def loopback_client(count: str) -> None:
    """Each byte is a segment of its own, and stays in the peer's receive buffer."""
    listener, source = mptcp(), mptcp()
    listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    source.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24)
    source.connect(listener.getsockname())
    sink, _ = listener.accept()
    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    before = free_bytes()
    for _ in range(int(count)):
        # so that the last one is acknowledged, and nothing is added to it
        time.sleep(0.001)
        source.send(b"x")
    print(before - free_bytes())
    sink.close()


def low_water_server() -> None:
    with listening() as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                received(connection)


def low_water_client(*marks: str) -> None:
    """Sends 2000 bytes at once for each MARK,SNDBUF; a send buffer of 0 is left as it is."""
    for each in marks:
        mark, send_buffer = map(int, each.split(","))
        with mptcp() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, mark)
            if send_buffer:
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
            sender.connect(SERVER)
            begin_ns = time.monotonic_ns()
            sender.sendall(bytes(2000))
            print(mark, send_buffer, (time.monotonic_ns() - begin_ns) // 1000, flush=True)


# --- a socket that is used again


def reused_server() -> None:
    listener = listening_without_mptcp()
    while True:
        listener.accept()[0].close()


def choose(fd: socket.socket, when: str, name: bytes = b"minrtt") -> None:
    try:
        fd.setsockopt(SOL_MPTCP, MPTCP_SCHEDULER, name)
        print(f"{when}: ok")
    except OSError as error:
        print(f"{when}: {errno.errorcode[error.errno or 0]}")


def reused_client() -> None:
    """Prints what MPTCP_SCHEDULER says at each step; the path is down from 1 s to 30 s."""
    Path("/proc/sys/net/ipv4/tcp_retries2").write_text("3")
    fd = mptcp()
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
    peer = mptcp()
    peer.connect(fd.getsockname())
    accepted, _ = fd.accept()
    # as much as the kernel gives
    print("accepted with", accepted.getsockopt(SOL_MPTCP, MPTCP_SCHEDULER, 64))
    choose(accepted, "accepted")


if __name__ == "__main__":
    case, role, *arguments = sys.argv[1:]
    globals()[f"{case}_{role}"](*arguments)
