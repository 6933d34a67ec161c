# SPDX-License-Identifier: GPL-2.0-only
"""What the router of a path does besides forwarding, as `nft` commands: it removes the options of
MPTCP or drops their packets, and translates addresses with Linux's connection tracking.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan import testbed
from mptcplab.scenario.limits import DIRECTIONS, Direction, Middlebox
from mptcplab.scenario.model import Path, Scenario

_TABLE = "inet lab"
# nft removes one option at a time. A packet has at most three of MPTCP, such as an ACK, an address
# to forget and a new priority.
_STRIP = " ".join(["reset tcp option mptcp"] * 3)
_STATEMENTS: dict[Middlebox, str] = {"strip": _STRIP, "drop": "tcp option mptcp exists drop"}


def router(scenario: Scenario, i: int, path: Path) -> Iterator[str]:
    """The commands that set up the router of path `i`; none if it only forwards."""
    boxes = [each for each in DIRECTIONS if _is_used(scenario, path, each)]
    if not boxes and path.nat_timeout_s is None:
        return
    yield f"{_nft(i)} add table {_TABLE}"
    for direction in boxes:
        yield _chain(i, direction, "filter", "forward", 0)
        yield from _rules(i, direction, getattr(path, direction).middlebox)
    if path.nat_timeout_s is not None:
        yield from _nat(i, path.nat_timeout_s)


def changed(i: int, direction: Direction, middlebox: Middlebox) -> Iterator[str]:
    """The commands after which the router of path `i` does this with packets of MPTCP."""
    yield f"{_nft(i)} flush chain {_TABLE} {direction}"
    yield from _rules(i, direction, middlebox)


def forget(i: int) -> str:
    """The command after which the router of path `i` knows no connection."""
    return f"ip netns exec {testbed.router(i)} conntrack -F"


def may_strip(scenario: Scenario, path: Path) -> bool:
    """Whether a connection that starts on this path may have to do without MPTCP."""
    return any(_is_used(scenario, path, direction) for direction in DIRECTIONS)


def _is_used(scenario: Scenario, path: Path, direction: Direction) -> bool:
    later = (getattr(e, direction).middlebox for e in scenario.events if e.path == path.name)
    return getattr(path, direction).middlebox != "none" or any(later)


def _rules(i: int, direction: Direction, middlebox: Middlebox) -> Iterator[str]:
    if middlebox != "none":
        end = testbed.router_to_client(i) if direction == "up" else testbed.router_to_server(i)
        rule = f"iifname {end.device} {_STATEMENTS[middlebox]}"
        yield f"{_nft(i)} add rule {_TABLE} {direction} {rule}"


def _nat(i: int, timeout_s: int) -> Iterator[str]:
    """A NAT of the kind that gives each mapping a random port."""
    public = testbed.public_address(i)
    yield _chain(i, "nat", "nat", "postrouting", 100)
    to_server = testbed.router_to_server(i).device
    yield f"{_nft(i)} add rule {_TABLE} nat oifname {to_server} snat ip to {public} fully-random"
    # a packet to the public address that belongs to no mapping
    yield _chain(i, "unknown", "filter", "forward", 0)
    yield f"{_nft(i)} add rule {_TABLE} unknown ip daddr {public} drop"
    # it knows connections by addresses and ports alone, as most home routers do
    settings = f"established={timeout_s} net.netfilter.nf_conntrack_tcp_be_liberal=1"
    yield (
        f"ip netns exec {testbed.router(i)} sysctl -qw"
        f" net.netfilter.nf_conntrack_tcp_timeout_{settings}"
    )


def _chain(i: int, name: str, kind: str, hook: str, priority: int) -> str:
    where = f"'{{ type {kind} hook {hook} priority {priority}; }}'"
    return f"{_nft(i)} add chain {_TABLE} {name} {where}"


def _nft(i: int) -> str:
    return f"ip netns exec {testbed.router(i)} nft"
