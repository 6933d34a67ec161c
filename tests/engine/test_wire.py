# SPDX-License-Identifier: GPL-2.0-only
"""What our schedulers put on the wire is what upstream's does, field by field, at the same times.

On one path all schedulers must send the same bytes on the same subflow. A program makes a
connection in each of some situations; the packets of both directions are compared at the router.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.lab.engine import Rig
from mptcplab.plan import plan
from mptcplab.runs import single
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from tests import pcapng, wire
from tests.vocabulary import scenario_of
from tests.wire import Fields

OURS = [name for name in kernel.schedulers() if name != "default"]
PROGRAM = Path(__file__).parent / "programs" / "wire.c"
FIRST_PORT = 5100

# of the program: enum way and enum flags
UP, DOWN, IN_TURN, HALF_CLOSED, NOTHING, RESET, UNREAD = range(7)
NAGLE, CHECKSUMS, PLAIN_CLIENT, PLAIN_SERVER, CORKED = 1, 2, 4, 8, 16
#: Way, bytes of a message, messages, ms between them, flags, packets that are lost. A packet takes
#: 1424 bytes, or 1420; the initial window is 10 packets, the round trip 20 ms.
SITUATIONS = {
    "no message": (NOTHING, 0, 0, 0, 0, "-"),
    "a message": (UP, 100, 1, 0, 0, "-"),
    "messages": (UP, 600, 5, 7, 0, "-"),
    "messages, a pause between them": (UP, 600, 5, 300, 0, "-"),
    "messages, Nagle's rule": (UP, 600, 5, 7, NAGLE, "-"),
    "messages, corked": (UP, 100, 5, 7, CORKED, "-"),
    "messages, corked, Nagle's rule": (UP, 100, 5, 7, CORKED + NAGLE, "-"),
    "messages, corked, more than a packet": (UP, 600, 5, 7, CORKED, "-"),
    "messages, corked, each answered": (IN_TURN, 600, 5, 30, CORKED, "-"),
    "messages, corked, a server without MPTCP": (UP, 600, 5, 7, CORKED + PLAIN_SERVER, "-"),
    "messages, corked, data lost": (UP, 100, 5, 7, CORKED, "rc1-data-1"),
    "messages, each answered": (IN_TURN, 600, 5, 30, 0, "-"),
    "a message down": (DOWN, 600, 1, 0, 0, "-"),
    "half of it closed": (HALF_CLOSED, 600, 1, 0, 0, "-"),
    "reset": (RESET, 600, 1, 0, 0, "-"),
    "closed with data unread": (UNREAD, 600, 1, 0, 0, "-"),
    "checksums": (UP, 600, 5, 7, CHECKSUMS, "-"),
    "checksums, odd sizes": (UP, 601, 3, 7, CHECKSUMS, "-"),
    "checksums, each answered": (IN_TURN, 600, 5, 30, CHECKSUMS, "-"),
    "checksums, half of it closed": (HALF_CLOSED, 600, 1, 0, CHECKSUMS, "-"),
    "SYN lost": (UP, 600, 3, 7, 0, "rc1-acks-1"),
    "SYN/ACK lost": (UP, 600, 3, 7, 0, "rs1-acks-1"),
    "third ACK lost": (UP, 600, 3, 7, 0, "rc1-acks-2"),
    "first data lost": (UP, 600, 3, 7, 0, "rc1-data-1"),
    "last data lost": (UP, 600, 3, 7, 0, "rc1-data-3"),
    "fallback of the peer": (UP, 600, 3, 7, 0, "rc1-acks-2+rc1-data-1"),
    "fallback of the peer, long": (UP, 5000, 3, 7, 0, "rc1-acks-2+rc1-data-1"),
    "a server without MPTCP": (UP, 600, 3, 7, PLAIN_SERVER, "-"),
    "a server without MPTCP, long": (UP, 5000, 3, 7, PLAIN_SERVER, "-"),
    "a client without MPTCP": (DOWN, 600, 3, 7, PLAIN_CLIENT, "-"),
    "a client without MPTCP, long": (DOWN, 5000, 3, 7, PLAIN_CLIENT, "-"),
    "a long message": (UP, 5000, 1, 0, 0, "-"),
    "a long message of full packets": (UP, 2848, 1, 0, 0, "-"),
    "an initial window": (UP, 13000, 1, 0, 0, "-"),
    "more than an initial window": (UP, 25000, 1, 0, 0, "-"),
    "long messages": (UP, 3000, 5, 7, 0, "-"),
    "long messages, Nagle's rule": (UP, 3000, 5, 7, NAGLE, "-"),
    "long messages, each answered": (IN_TURN, 3000, 5, 30, 0, "-"),
    "a long message down": (DOWN, 5000, 1, 0, 0, "-"),
    "a long message, half of it closed": (HALF_CLOSED, 5000, 1, 0, 0, "-"),
    "a long message, its middle lost": (UP, 8000, 1, 0, 0, "rc1-data-3"),
    "checksums, long messages": (UP, 5000, 2, 7, CHECKSUMS, "-"),
}

# Why fields differ: docs/limitations.md, MPTCP, has the same list.
#
# A segment is a packet and has a mapping of its own, so that any segment can go to any subflow.
# Upstream's has all that one call wrote.
MAPPING = {"dsn", "ssn", "mapped"}
# Upstream's queue has large packets, which TSO cuts. The last of each piece of two packets or more
# has PSH, wherever the message ends (tcp_transmit_skb()).
PUSHED = {"push"}
# The first piece of two packets has one header: MP_CAPABLE and the window of the first one are on
# the second, too, which has a DSS of its own with ours.
FIRST_PAIR = {"mptcp", "mptcp_flags", "dss", "data_ack", "window"}
# A mapping with a checksum can be believed when all of it has come: ours is acknowledged packet by
# packet, and its checksum is of fewer bytes.
CHECKED = {"checksum", "data_ack", "window"}
#: There are not as many: nothing else can be said.
PACKETS = {"packets"}

# Corked data leaves by the connection's timer, whose work a process does; upstream's by a timer of
# its subflow. In virtual time a process that reads the clock moves it.
LATER = {"time"}
CLOCK_READ_NS = 256

UP_LONG = MAPPING | PUSHED | FIRST_PAIR
#: Which fields differ from those of `default`, in which situations; in all others none does.
DIFFERENCES: Mapping[str, set[str]] = {
    "messages, corked": LATER,
    "messages, corked, Nagle's rule": LATER,
    "messages, corked, each answered": LATER,
    "messages, corked, data lost": LATER,
    # As with Nagle's rule below: what follows the first packet's end leaves on its own.
    "messages, corked, more than a packet": MAPPING
    | PUSHED
    | {"payload", "seq", "ack", "data_ack", "time", "ts_val", "ts_ecr"},
    "a long message": UP_LONG,
    "a long message of full packets": MAPPING | FIRST_PAIR,
    "an initial window": UP_LONG,
    "more than an initial window": UP_LONG,
    "long messages": UP_LONG,
    "long messages, each answered": UP_LONG,
    "a long message down": MAPPING | PUSHED,
    "a long message, half of it closed": UP_LONG,
    "a long message, its middle lost": UP_LONG,
    "checksums, long messages": UP_LONG | CHECKED,
    # Nagle's rule, as in TCP: a short last segment waits, and later data fills it. Upstream's waits
    # on its subflow, where its mapping is made, so that it leaves short.
    "long messages, Nagle's rule": PACKETS,
    # The first packet is lost, which has MP_CAPABLE: the server falls back, unless the second has
    # it, too.
    "fallback of the peer, long": PACKETS,
}
#: Besides, with other series than 6.12: the receive buffer grows by what is read within an RTT, and
#: there the data arrives in other pieces.
WINDOW = {"messages, corked, more than a packet": {"window"}}


def connections(scheduler: str, rig: Rig, directory: Path) -> Mapping[str, Sequence[Fields]]:
    """The packets of each situation with that scheduler."""
    words = [",".join(map(str, each)) for each in SITUATIONS.values()]
    executable = directory / "wire"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", executable, PROGRAM], check=True)
    program = Program(
        client=find([str(executable), "client", *words]),
        server=find([str(executable), "server", *words]),
        directory=str(directory),
        time_limit_ns=3600 * 10**9,
        input="none",
    )
    flags = {"program": program, "scheduler": scheduler, "pcap": True, "sample_interval": "10s"}
    run = directory / "run"
    run.mkdir()
    single.run(scenario_of("a:20mbit,10ms", **flags), rig, run)
    capture = pcapng.read(run / plan.router_capture("a"))["rc1"]
    found = wire.connections(capture, FIRST_PORT)
    assert sorted(found) == list(range(len(SITUATIONS)))
    return {name: found[number] for number, name in enumerate(SITUATIONS)}


def differences(ours: Sequence[Fields], theirs: Sequence[Fields]) -> set[str]:
    """The names of the fields that differ in any packet; PACKETS if there are not as many."""
    if len(ours) != len(theirs):
        return PACKETS
    return {
        name
        for one, other in zip(ours, theirs, strict=True)
        for name in one.keys() | other.keys()
        if one.get(name) != other.get(name)
    }


@pytest.fixture(scope="module")
def of_default(
    rig: Rig, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Sequence[Fields]]:
    return connections("default", rig, tmp_path_factory.mktemp("default"))


@pytest.mark.parametrize("scheduler", OURS)
def test_packets_are_those_of_default(
    scheduler: str,
    of_default: Mapping[str, Sequence[Fields]],
    rig: Rig,
    series: str,
    tmp_path: Path,
) -> None:
    besides = {} if series == "6.12" else WINDOW
    expected = {name: fields | besides.get(name, set()) for name, fields in DIFFERENCES.items()}
    ours = connections(scheduler, rig, tmp_path)
    found = {name: differences(ours[name], of_default[name]) for name in SITUATIONS}
    assert {name: fields for name, fields in found.items() if fields} == expected
    for name in [name for name, fields in DIFFERENCES.items() if fields == LATER]:
        messages = SITUATIONS[name][2]
        for one, other in zip(ours[name], of_default[name], strict=True):
            # once for each timer at either end
            assert abs(one["time"] - other["time"]) <= 2 * messages * CLOCK_READ_NS
