# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel takes from the machine it runs on is, in a run, as on a host with 8 GiB.

The sizes that it takes from its configuration are in kernel/mptcp/constants.c.
"""

from __future__ import annotations

import pytest

from tests.vocabulary import RunProgram, output

pytestmark = pytest.mark.kernel

# As Debian's 6.12 has them after its start with 8 GiB: a hash table of 65,536 buckets, half of
# that for orphans and for TIME-WAIT, a 128th for those that begin (tcp_init(), tcp_sk_init()).
OF_ALL = {
    "net.ipv4.tcp_max_orphans": "32768",
    "net.ipv4.tcp_mem": "98304\t131072\t196608",
    "net.ipv4.udp_mem": "196608\t262144\t393216",
}
OF_A_HOST = {
    "net.ipv4.tcp_max_tw_buckets": "32768",
    "net.ipv4.tcp_max_syn_backlog": "512",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.core.somaxconn": "4096",
    "net.core.rmem_default": "212992",
    "net.core.wmem_default": "212992",
    "net.core.optmem_max": "131072",
}
# What a series has by itself: 6.12 as much as by default, later ones 4 MiB (net/core/sock.c).
MOST_OF_A_SOCKET = {"6.12": "212992", "7.3": "4194304"}


def test_memory_is_as_on_a_host_with_8_gib(run_program: RunProgram, series: str) -> None:
    of_a_host = OF_A_HOST | {
        f"net.core.{name}": MOST_OF_A_SOCKET[series] for name in ("rmem_max", "wmem_max")
    }
    # what holds for all hosts together, only the first namespace has
    show = [
        f"echo {name}=$({enter} cat /proc/sys/{name.replace('.', '/')})"
        for enter, names in (("nsenter --net=/proc/1/ns/net", OF_ALL), ("", of_a_host))
        for name in names
    ]
    run = run_program(["sh", "-c", "IFS=; " + "; ".join(show)])
    found = dict(line.split("=") for line in output(run).splitlines())
    assert found == OF_ALL | of_a_host
