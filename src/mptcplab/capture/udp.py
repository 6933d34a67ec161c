# SPDX-License-Identifier: GPL-2.0-only
"""Figures of UDP from captures alone: what QUIC, tunnels and other programs sent and got.

`flows` finds the flows as it does TCP's. UDP has no sequence numbers: a packet is recognised at
another place by its unchanging parts (`dissect`), and so are losses, delays, and packets that
overtake others. That is known of a packet that looks like no other
one that was sent: of two that look the same, one may be lost and the other duplicated. Flows to the
same port of a server stand together: as a rule these are the paths of one program.

`UdpFigures` defines every figure. All times here are in ns of the capture's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mptcplab.capture import flows
from mptcplab.capture.dissect import Array, Endpoint, Packets
from mptcplab.capture.flows import TO_CLIENT, TO_SERVER, Flow, View
from mptcplab.metrics.definitions import UdpFigures

T = TypeVar("T")

_MS = 1e6
_BITS_PER_BYTE = 8


@dataclass
class UdpSeries:
    """A direction of a flow over time, for pictures and tests: not part of the JSON document.

    When packets arrived, with how many bytes of payload; when those were sent that were recognised
    on arrival, and how long they took.
    """

    arrived_ns: Array
    arrived_bytes: Array
    sent_ns: Array
    delay_ns: Array


@dataclass
class UdpFlow:
    """The packets between two sockets; `ways`: to the server, and to the client.

    `seen_in` has the names of the files, from the client to the server.
    """

    number: int
    seen_in: list[str]
    ways: list[UdpFigures]
    series: list[UdpSeries]

    @property
    def payload_bytes(self) -> int:
        return sum(way.payload_bytes or 0 for way in self.ways)


@dataclass
class UdpPort:
    """The flows to a port of servers, in the order of their first packets."""

    port: int
    flows: list[UdpFlow]

    @property
    def payload_bytes(self) -> int:
        return sum(flow.payload_bytes for flow in self.flows)


def largest(found: Sequence[T], most: int, payload_bytes: Callable[[T], int]) -> list[T]:
    """Those with most payload, in their order."""
    by_size = sorted(range(len(found)), key=lambda index: -payload_bytes(found[index]))
    return [found[index] for index in sorted(by_size[:most])]


def of_packets(
    packets: Packets, start_ns: int, clients: Collection[str] = ()
) -> tuple[list[UdpPort], list[str]]:
    """The figures of packets of UDP, in the order of their first ones, with times since `start_ns`;
    and what to know before trusting them.

    `clients` are known addresses of clients.
    """
    ports: dict[int, list[Flow]] = {}
    known: set[Endpoint] = set()
    for found in flows.find_flows(packets):
        is_client = [e.address in clients or e in known for e in (found.client, found.server)]
        flow = _in_order(packets, _from_the_client(packets, found, is_client))
        # a server may answer from another of its addresses
        known.add(flow.client)
        ports.setdefault(flow.server.port, []).append(flow)
    figures = [UdpPort(port, _port(packets, mine, start_ns)) for port, mine in ports.items()]
    return figures, _warnings(figures)


def _from_the_client(packets: Packets, flow: Flow, is_client: Sequence[bool]) -> Flow:
    """A flow with its ends in the right order. UDP has no handshake: the client is known, or it is
    the one that sent the first packet.
    """
    first = min(
        (int(packets.time_ns[mine[0]]), number, way)
        for number, view in enumerate(flow.views)
        for way, mine in enumerate(view.ways)
        if len(mine)
    )
    if is_client[0] if any(is_client) else first[2] == TO_SERVER:
        return flow
    views = [View(view.file, (view.ways[1], view.ways[0])) for view in reversed(flow.views)]
    return replace(flow, client=flow.server, server=flow.client, views=views)


def _in_order(packets: Packets, flow: Flow) -> Flow:
    """A flow with its views from the client to the server.

    Between two places without a router, as on a LAN, the TTL is the same. But packets to the server
    pass the one next to the client first, and those to the client last; what the clocks of the
    captures differ by is in both. Where nothing arrives, a place has only packets of its own end.
    """
    hops = [flows.hops(packets, view) for view in flow.views]
    if len(set(hops)) == len(hops):
        return flow
    up, down = ([_behind(packets, flow, view, way) for view in flow.views] for way in (0, 1))
    none_up = [not len(view.ways[TO_SERVER]) for view in flow.views]
    order = sorted(
        range(len(hops)), key=lambda index: (hops[index], up[index] - down[index], none_up[index])
    )
    return replace(flow, views=[flow.views[index] for index in order])


def _behind(packets: Packets, flow: Flow, view: View, way: int) -> float:
    """How much later than the first view one sees the packets of a direction, in ns: the median. 0
    if it is not known.

    Of packets that look the same, the first one that arrives is never before the first that is
    sent, whichever it is.
    """
    here, there = flow.views[0].ways[way], view.ways[way]
    at_here, at_there = (flows.prints(packets, mine) for mine in (here, there))
    _, first, later = np.intersect1d(at_here, at_there, return_indices=True)
    later_ns = packets.time_ns[there[later]] - packets.time_ns[here[first]]
    return float(np.median(later_ns)) if len(later_ns) else 0.0


def _port(packets: Packets, mine: Sequence[Flow], start_ns: int) -> list[UdpFlow]:
    found = []
    for number, flow in enumerate(mine, 1):
        ways = [_way(packets, flow, way, start_ns) for way in (TO_SERVER, TO_CLIENT)]
        seen_in = dict.fromkeys(packets.files[view.file].name for view in flow.views)
        found.append(UdpFlow(number, [*seen_in], [w[0] for w in ways], [w[1] for w in ways]))
    for way in (TO_SERVER, TO_CLIENT):
        times_ns = np.concatenate([each.series[way].arrived_ns for each in found])
        span_ns = int(np.ptp(times_ns)) if len(times_ns) else 0
        sizes = [each.ways[way].arrived_bytes or 0 for each in found]
        for each, size in zip(found, sizes, strict=True):
            update = {
                "payload_bps": _BITS_PER_BYTE * size * 1e9 / span_ns if span_ns else None,
                "share": size / sum(sizes) if any(sizes) else None,
            }
            each.ways[way] = each.ways[way].model_copy(update=update)
    return found


def _way(packets: Packets, flow: Flow, way: int, start_ns: int) -> tuple[UdpFigures, UdpSeries]:
    """A direction of a flow, without the figures that depend on other flows."""
    sent, arrived = flow.first(way).ways[way], flow.last(way).ways[way]
    sent_ns, arrived_ns = packets.time_ns[sent], packets.time_ns[arrived]
    figures: dict[str, Any] = {
        "client": str(flow.client),
        "server": str(flow.server),
        "direction": "up" if way == TO_SERVER else "down",
        "packets": len(sent),
        "payload_bytes": int(packets.payload[sent].sum()),
        "first_s": float(sent_ns[0] - start_ns) / 1e9 if len(sent) else None,
        "last_s": float(sent_ns[-1] - start_ns) / 1e9 if len(sent) else None,
        "arrived_packets": len(arrived),
        "arrived_bytes": int(packets.payload[arrived].sum()),
    }
    series = UdpSeries(arrived_ns, packets.payload[arrived], sent_ns[:0], sent_ns[:0])
    if len(flow.views) > 1 and len(sent):
        prints = flows.prints(packets, sent)
        place, alike = _places(prints, flows.prints(packets, arrived))
        figures["alike_packets"] = int(alike.sum())
        if not alike.all():
            # of packets that look the same, the first or a later one arrived
            _, first = np.unique(prints, return_index=True)
            behind = int(first[place[first] >= 0].max(initial=-1)) + 1
            missing = place < 0
            figures["lost_packets"] = int(missing[:behind].sum())
            figures["pending_packets"] = int(missing[behind:].sum())
        sure = np.flatnonzero((place >= 0) & ~alike)
        series.sent_ns = sent_ns[sure]
        series.delay_ns = arrived_ns[place[sure]] - series.sent_ns
        if len(sure):
            median, p95 = np.percentile(series.delay_ns, (50, 95)) / _MS
            order = sure[np.argsort(place[sure])]
            figures |= {
                "delay_ms_min": float(series.delay_ns.min() / _MS),
                "delay_ms_median": float(median),
                "delay_ms_p95": float(p95),
                "delay_ms_max": float(series.delay_ns.max() / _MS),
                "reordered_packets": int((order < np.maximum.accumulate(order)).sum()),
            }
    return UdpFigures(**figures), series


def _places(sent: Array, arrived: Array) -> tuple[Array, Array]:
    """The first place of each sent packet among the packets that arrived, by their numbers, or -1;
    and whether another sent packet has the same number.

    As many may arrive as were sent though some were lost, if others were duplicated; and nothing
    says whether they overtook each other.
    """
    values, of_sent, counts = np.unique(sent, return_inverse=True, return_counts=True)
    _, known, first = np.intersect1d(values, arrived, return_indices=True)
    places = np.full(len(values), -1)
    places[known] = first
    alike = (places >= 0) & (counts > 1)
    return places[of_sent], alike[of_sent]


def _warnings(ports: Sequence[UdpPort]) -> list[str]:
    found = []
    for port in ports:
        ways = [way for flow in port.flows for way in flow.ways]
        alike = sum(way.alike_packets or 0 for way in ways)
        if alike:
            found.append(
                f"UDP port {port.port}: {alike} packets look like others, so it is unknown which "
                "of them arrived, and when; losses, delays and reordering exclude them"
            )
        not_sent = sum(map(_not_sent, ways))
        if not_sent:
            found.append(
                f"UDP port {port.port}: the sender's capture lacks {not_sent} packets that "
                "arrived: it began later or keeps another number of bytes of each packet, or they "
                "were changed or duplicated on their way; losses may be wrong"
            )
        if any(way.delay_ms_min < 0 for way in ways if way.delay_ms_min is not None):
            found.append(
                f"UDP port {port.port}: packets arrive before they are sent: the clocks of the "
                "captures do not agree, and the delays are wrong by the difference"
            )
    return found


def _not_sent(way: UdpFigures) -> int:
    """How many packets arrived at least that were not seen next to the sender, if both are known:
    of packets that look the same, all may have arrived.
    """
    if way.alike_packets is None:
        return 0
    seen = (way.packets or 0) - (way.lost_packets or 0) - (way.pending_packets or 0)
    return max(0, (way.arrived_packets or 0) - seen)
