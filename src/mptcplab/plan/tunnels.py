# SPDX-License-Identifier: GPL-2.0-only
"""The lines of a plan about a tunnel: the hosts behind its ends, their devices, and their traffic.

The tunnel itself is two lines of `plan`, like those of other traffic. To the hosts behind it, it is
a path: their addresses have the number of a further one.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan import qdiscs, testbed
from mptcplab.scenario.limits import IpVersion
from mptcplab.scenario.model import Pair, Scenario
from mptcplab.scenario.workload import Tunnel

BULK_PORT, CALL_PORT = 5001, 5002

# Both ends of the tunnel are in this network, so the hosts need no route.
_LENGTH = 15


def number_of(scenario: Scenario, pair: Pair) -> int:
    """The number of the path that the tunnel of a pair of hosts is, from 1."""
    return len(scenario.paths) + scenario.pairs().index(pair) + 1


def hosts(pair: Pair, settings: str) -> Iterator[str]:
    """The hosts behind the ends, with these kernel parameters."""
    for name in pair.behind:
        yield f"ip netns add {name}"
        yield f"ip netns exec {name} sysctl -qw {settings}"


def devices(scenario: Scenario, pair: Pair, load: Tunnel) -> Iterator[str]:
    """Their devices, which the tunnel has made."""
    ends = testbed.tunnel(number_of(scenario, pair), *pair.behind)
    for end in ends:
        ip = f"ip -n {end.namespace}"
        yield f"{ip} link set {end.device} mtu {load.mtu}"
        yield f"{ip} link set {end.device} txqueuelen {load.queue}"
        yield f"{ip} addr add {end.address}/{_LENGTH} dev {end.device}"
        yield f"{ip} link set {end.device} up"
    if load.rate_bps is not None:
        sender = ends[load.direction == "down"]
        yield from (qdisc.command("add") for qdisc in qdiscs.shaper(sender, load.rate_bps))


def traffic(scenario: Scenario, pair: Pair, load: Tunnel) -> Iterator[str]:
    """What the hosts send to each other, and the call, which may go past the tunnel."""
    inside = testbed.tunnel(number_of(scenario, pair), *pair.behind)
    common = (
        f"--connections 1 --seed {scenario.seed} --sample-interval-ns {scenario.sample_interval_ns}"
        f" --duration-ns {pair.connection.end_ns}"
    )
    if load.bulk:
        tcp = f"--transport tcp --port {BULK_PORT} {common}"
        yield f"ip netns exec {inside[1].namespace} traffic server {tcp}"
        yield (
            f"ip netns exec {inside[0].namespace} traffic client {tcp}"
            f" --connect {inside[1].address} --paths 1"
        )
    if load.call == "none":
        return
    version: IpVersion = "4"
    client, server = inside
    if load.call == "outside":
        version = pair.paths[0].version
        client = testbed.client(pair.first, pair.client)
        server = testbed.server(pair.first, pair.server)
    udp = f"--transport udp --port {CALL_PORT} {common}{' --ip 6' if version == '6' else ''}"
    for own, name, other in ((server, "server", client), (client, "client", server)):
        yield (f"ip netns exec {own.namespace} traffic {name} {udp} --connect {other.ip(version)}")
