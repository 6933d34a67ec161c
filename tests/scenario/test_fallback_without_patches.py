# SPDX-License-Identifier: GPL-2.0-only
"""Fallbacks at the beginning of connections, on a kernel without our patches for MPTCP."""

from __future__ import annotations

import pytest

from mptcplab.lab.kernel import KernelBuild
from tests.vocabulary import RunProgram, output, without_patches

COUNT, PORT = 60, 5201
#: Of each connection, in the order of its writes: more than the first congestion window takes.
WRITES = (32, 5000, 5000, 5000, 5000)
SERVER = f"""\
import socket, threading
def serve(connection):
    size = 0
    while data := connection.recv(65536):
        size += len(data)
    connection.sendall(b"%d" % size)
    connection.close()
listening = socket.create_server(("", {PORT}), backlog={COUNT})
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],)).start()
"""
CLIENT = f"""\
import socket, threading
def send():
    connection = socket.create_connection(("10.1.1.1", {PORT}))
    for size in {WRITES}:
        connection.sendall(bytes(size))
    connection.shutdown(socket.SHUT_WR)
    print(connection.recv(16).decode(), flush=True)
threads = [threading.Thread(target=send) for _ in range({COUNT})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for line in open("/proc/net/netstat"):
    if line.startswith("MPTcpExt"):
        print(*line.split())
"""


@pytest.fixture(scope="module")
def lab_kernel(lab_kernel: KernelBuild) -> KernelBuild:
    """A kernel without our patches takes the place of the lab's."""
    return without_patches(lab_kernel)


@pytest.mark.parametrize("scheduler", ["default", "minrtt", "overflow", "overflow:grain_bytes=1"])
def test_no_data_is_lost_if_connections_fall_back_at_their_beginning(
    run_program: RunProgram, scheduler: str
) -> None:
    """Their third ACK is lost in a short queue, as soon as all begin at once."""
    run = run_program(
        ["python3", "-c", CLIENT],
        ["python3", "-c", SERVER],
        paths=("a:40mbit,3ms", "b:20mbit,9ms"),
        listen=f"tcp:{PORT}",
        scheduler=scheduler,
    )
    *arrived, names, values = output(run).splitlines()
    counters = dict(zip(names.split(), values.split(), strict=True))
    assert int(counters["MPCapableDataFallback"]) > COUNT / 2
    assert arrived == [str(sum(WRITES))] * COUNT
