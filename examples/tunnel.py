# SPDX-License-Identifier: GPL-2.0-only
"""One end of a tunnel: what is sent to its TUN device goes to the peer in a UDP packet, and back.

    tunnel.py OWN_ADDRESS/LENGTH PORT [PEER]

Without a PEER it is the one that sent last, and the port is its own.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

# linux/if_tun.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000

own, port, *rest = sys.argv[1:]
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
# 20 of the 1500 bytes are IP's header, 8 UDP's
subprocess.run(["ip", "link", "set", "tun0", "mtu", "1472", "up"], check=True)
subprocess.run(["ip", "addr", "add", own, "dev", "tun0"], check=True)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer = (rest[0], int(port)) if rest else None
if peer is None:
    udp.bind(("", int(port)))
while True:
    ready, _, _ = select.select([tun, udp.fileno()], [], [])
    if udp.fileno() in ready:
        packet, peer = udp.recvfrom(2000)
        os.write(tun, packet)
    if tun in ready and (packet := os.read(tun, 2000)) and peer:
        udp.sendto(packet, peer)
