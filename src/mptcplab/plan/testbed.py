# SPDX-License-Identifier: GPL-2.0-only
"""The layout of a testbed: the namespaces, devices and addresses of each path and link.

Paths and links are counted from 1, in the order of the scenario. Path i:

                  10.0.i.0/24              10.1.i.0/24
    client  ci ---------------- rci  router i  rsi ---------------- si  server
            .1                  .254           .254                 .1

An event gives the client the addresses .2 and up of path i, one after the other, up to .99.
The NAT of path i has the public address 10.0.i.100: so routes lead to it, and it says the path.

If it goes through link m, this is inserted between its router and the server, for each link:

              10.(10+m).i.0/24         10.2.m.0/24
    router i rsi --------- nmpi near m nm ------ fm far m fmpi --------- ...
             .1             .254       .1       .254

A tunnel is a further path, behind all others, between two hosts that have the device tun0.

An address of IPv6 ends with the four bytes of the one of IPv4 at the same place: fd00::a00:101 is
fd00::10.0.1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mptcplab.scenario.limits import IpVersion

#: The first byte of all IPv4 addresses, and the second one at the client's and the server's end.
NETWORK = 10
ENDS = CLIENT_END, SERVER_END = 0, 1
_CLIENT_ADDRESSES, _PUBLIC = 99, 100
CLIENT, SERVER = "client", "server"

# How many bits of an address name the network.
_NETWORK_BITS: dict[IpVersion, int] = {"4": 24, "6": 120}


class End(NamedTuple):
    """A device, its namespace, and its address, of IPv4."""

    device: str
    namespace: str
    address: str

    def ip(self, version: IpVersion) -> str:
        """Its address of a version of IP."""
        return _of_version(version, self.address)

    def network(self, version: IpVersion) -> str:
        """Its address with the length of its network, as in `ip addr add`."""
        return f"{self.ip(version)}/{_NETWORK_BITS[version]}"

    @property
    def mac(self) -> str:
        """Its Ethernet address, derived from its IP address."""
        return ":".join(f"{int(byte):02x}" for byte in ("2", "0", *self.address.split(".")))


def client(i: int, host: str = CLIENT, number: int = 0) -> End:
    """The client's end of path `i`, after its address has changed so often."""
    last = 1 + number % _CLIENT_ADDRESSES
    return End(f"c{i}", host, f"{_network(CLIENT_END, i)}.{last}")


def public_address(i: int) -> str:
    """The address by which servers see the client on path `i`, if its router translates it."""
    return f"{_network(CLIENT_END, i)}.{_PUBLIC}"


def server(i: int, host: str = SERVER) -> End:
    return End(f"s{i}", host, f"{_network(SERVER_END, i)}.1")


def tunnel(i: int, client_host: str, server_host: str) -> tuple[End, End]:
    """The devices of the hosts behind a tunnel that is path `i`."""
    ends = client(i, client_host), server(i, server_host)
    near, far = (end._replace(device="tun0") for end in ends)
    return near, far


def router(i: int) -> str:
    return f"router{i}"


def router_to_client(i: int) -> End:
    return End(f"rc{i}", router(i), f"{_network(CLIENT_END, i)}.254")


def router_to_server(i: int, link: int | None = None) -> End:
    """The device of the router of path `i` towards the server, or towards its first link."""
    return End(f"rs{i}", router(i), _onward(i, link))


def near(m: int) -> End:
    """The device that sends into link `m` towards the servers."""
    return End(f"n{m}", f"near{m}", f"{NETWORK}.2.{m}.1")


def far(m: int) -> End:
    """The device that sends into link `m` towards the clients."""
    return End(f"f{m}", f"far{m}", f"{NETWORK}.2.{m}.254")


def near_port(m: int, i: int) -> End:
    """The device by which path `i` enters link `m` from the client."""
    return End(f"n{m}p{i}", f"near{m}", f"{_transit(m, i)}.254")


def far_port(m: int, i: int, link: int | None = None) -> End:
    """The device by which path `i` leaves link `m` towards the server or its next link."""
    return End(f"f{m}p{i}", f"far{m}", _onward(i, link))


def client_network(i: int, version: IpVersion) -> str:
    return _end_network(CLIENT_END, i, version)


def server_network(i: int, version: IpVersion) -> str:
    return _end_network(SERVER_END, i, version)


def ends(
    i: int, links: Sequence[int], client_host: str = CLIENT, server_host: str = SERVER
) -> list[End]:
    """The devices along path `i`, from the client through its links to the server.

    The first is connected to the second, the third to the fourth, and so on. The two ends of a link
    itself are not included: paths share them.
    """
    found = [client(i, client_host), router_to_client(i)]
    onward: Sequence[int | None] = [*links, None]
    found.append(router_to_server(i, onward[0]))
    for m, link in zip(links, onward[1:], strict=True):
        found += [near_port(m, i), far_port(m, i, link)]
    return [*found, server(i, server_host)]


def _end_network(end: int, i: int, version: IpVersion) -> str:
    first = _of_version(version, f"{_network(end, i)}.0")
    return f"{first}/{_NETWORK_BITS[version]}"


def _of_version(version: IpVersion, address: str) -> str:
    """An address of IPv4, or the one of IPv6 that ends with it."""
    if version == "4":
        return address
    a, b, c, d = map(int, address.split("."))
    return f"fd00::{a << 8 | b:x}:{c << 8 | d:x}"


def _network(end: int, i: int) -> str:
    return f"{NETWORK}.{end}.{i}"


def _transit(m: int, i: int) -> str:
    """The network by which path `i` enters link `m`."""
    return f"{NETWORK}.{10 + m}.{i}"


def _onward(i: int, link: int | None) -> str:
    return f"{_network(SERVER_END, i)}.254" if link is None else f"{_transit(link, i)}.1"
