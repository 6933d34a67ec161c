# SPDX-License-Identifier: GPL-2.0-only
"""What a program can reach of our code in the kernel, and must not get by it.

reach.py WHAT prints what became of it. Runs at the client of a lab.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial

SOL_MPTCP, MPTCP_SCHEDULER, IPPROTO_MPTCP = 284, 100, 262
CLONE_NEWNET, CAP_NET_ADMIN = 0x40000000, 12
_libc = ctypes.CDLL(None, use_errno=True)


def said(do: Callable[[], object]) -> str:
    """What is said to it: "ok", or the name of an error."""
    try:
        do()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "ok"


def behind_a_name() -> None:
    """Of each scheduler, what getsockopt() gives behind the end of its name."""
    with open("/proc/sys/net/mptcp/available_schedulers") as file:
        names = file.read().split()
    for name in names:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as own:
            own.setsockopt(SOL_MPTCP, MPTCP_SCHEDULER, name.encode())
            got = own.getsockopt(SOL_MPTCP, MPTCP_SCHEDULER, 16)
        told, _, rest = got.partition(b"\0")
        print(told.decode(), "nothing" if not any(rest) else rest.hex())


def ended_namespace() -> None:
    """Files of a namespace whose last process has just ended, by paths that were held."""
    for name in ("mptcp_decisions", "mptcp_probe", "mptcp_drop"):
        ready, told = os.pipe()
        child = os.fork()
        if not child:
            _libc.unshare(CLONE_NEWNET)
            os.write(told, b"1")
            signal.pause()
        os.read(ready, 1)
        held = os.open(f"/proc/{child}/net/{name}", os.O_PATH)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        # it is taken down by another process, before which this one comes
        print(name, said(partial(os.open, f"/proc/self/fd/{held}", os.O_RDWR)))


def probe() -> None:
    """Samples of a past that was long ago, of intervals that are none, and of all namespaces."""
    time.sleep(10)
    for what in ("0 100000 0", "0 9999 0", "0 0 0", f"1 {2**64 - 1} 0", f"{2**63} 100000 0"):
        file = os.open("/proc/net/mptcp_probe", os.O_RDWR | os.O_NONBLOCK)
        print(what, said(partial(os.write, file, what.encode())))
        os.close(file)
    print("links", said(_links))
    # without a right, root is anybody: a version, a process, three sets of 32 rights, twice
    rights = 0xFFFFFFFF & ~(1 << CAP_NET_ADMIN)
    header = struct.pack("Ii", 0x20080522, 0)
    sets = struct.pack("6I", rights, rights, 0, 0xFF, 0xFF, 0)
    assert not _libc.capset(header, sets), os.strerror(ctypes.get_errno())
    print("links without CAP_NET_ADMIN", said(_links))


def _links() -> None:
    file = os.open("/proc/net/mptcp_probe", os.O_RDWR | os.O_NONBLOCK)
    os.write(file, b"0 1000000 0 links")
    os.close(file)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
