# SPDX-License-Identifier: GPL-2.0-only
"""Figures from captures alone: connections, subflows, and what happened to their data.

The way from packets to figures: `dissect` reads them, `flows` finds which belong together,
`streams` turns them into ranges of bytes, and this module counts and times these. `udp` does the
same for UDP.

docs/analyze.md defines every figure. All times here are in ns of the capture's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mptcplab.capture import dissect, streams, udp
from mptcplab.capture.dissect import Array, Packets, Progress
from mptcplab.capture.flows import (
    TO_CLIENT,
    TO_SERVER,
    Flow,
    Group,
    View,
    find_connections,
    find_flows,
)
from mptcplab.capture.streams import NEVER, Cells, InOrder, Sent, acknowledged, unwrapped
from mptcplab.errors import InputError, Problem

#: The two directions, by their index in `ways` and `directions`.
DIRECTIONS = ("client to server", "server to client")

# Those that are counted: all but a connection's and a subflow's first, and the data's.
_COUNTED = range(dissect.ADD_ADDR, len(dissect.OPTION_NAMES))
_MS = 1e6
# An acknowledgment that is in flight when data arrives does not cover the data yet.
_DELAYED_NS = 1_000_000


@dataclass
class Rtt:
    """RTTs of one direction, seen where its data was sent; None without a sample."""

    samples: int = 0
    min_ms: float | None = None
    median_ms: float | None = None
    p95_ms: float | None = None


@dataclass
class SubflowDirection:
    """One direction of a subflow."""

    packets: int = 0
    data_packets: int = 0
    data_bytes: int = 0
    retransmitted_packets: int = 0
    retransmitted_bytes: int = 0
    reinjected_packets: int = 0
    reinjected_bytes: int = 0
    arrived_packets: int = 0
    arrived_bytes: int = 0
    delivered_bytes: int = 0
    duplicate_packets: int = 0
    lost_packets: int | None = None
    goodput_bps: float | None = None
    rtt: Rtt = field(default_factory=Rtt)
    options: dict[str, int] = field(default_factory=dict)


@dataclass
class Subflow:
    """One subflow; `ways` are in the order of DIRECTIONS."""

    number: int
    client: str
    server: str
    began_with: str
    backup: bool
    began_s: float
    ended_s: float
    closed_by: str
    handshake_rtt_ms: float | None
    seen_at: list[str]
    ways: list[SubflowDirection]


@dataclass
class ConnectionDirection:
    """One direction of a connection: what happened to its stream of bytes."""

    first_s: float | None = None
    last_s: float | None = None
    arrived_bytes: int = 0
    delivered_bytes: int = 0
    goodput_bps: float | None = None
    reinjected_bytes: int = 0
    duplicate_bytes: int = 0
    unmapped_bytes: int = 0
    data_packets: int = 0
    reordered_packets: int = 0
    reordered_share: float | None = None
    reordering_extent_packets_mean: float | None = None
    reordering_extent_packets_p95: float | None = None
    reordering_extent_packets_max: int | None = None
    reordering_behind_bytes_mean: float | None = None
    reordering_behind_bytes_p95: float | None = None
    reordering_behind_bytes_max: int | None = None
    displacement_packets_mean: float | None = None
    ofo_bytes_mean: float | None = None
    ofo_bytes_p99: int | None = None
    ofo_bytes_max: int | None = None
    ofo_seen_at: str | None = None
    data_fin: bool = False


@dataclass
class Series:
    """Values over time, for pictures and tests: not part of the JSON document.

    `arrivals`: for each subflow, when bytes arrived that it had not carried before, and how many.
    `queue_ns`, `queue_bytes`: the length of the out-of-order queue from each time on.
    """

    arrivals: list[tuple[Array, Array]]
    queue_ns: Array
    queue_bytes: Array


@dataclass
class Connection:
    """One MPTCP connection, as far as it is known; `directions` are in the order of DIRECTIONS."""

    number: int
    token_client: str | None
    token_server: str | None
    version: int | None
    complete: bool
    fallback: bool
    subflows: list[Subflow]
    directions: list[ConnectionDirection]
    series: list[Series]


@dataclass
class Analysis:
    """What is in some captures: connections of MPTCP, of `packets` of TCP, and flows of UDP."""

    files: list[str]
    packets: int
    udp_packets: int
    began_s: float
    ended_s: float
    connections: list[Connection]
    udp: list[udp.UdpPort]
    warnings: list[str]


def analyse(files: Sequence[Path], progress: Progress = lambda _bytes: None) -> Analysis:
    """Read captures and compute all figures.

    Raises InputError for files that are not captures, or that contain neither MPTCP nor UDP.
    """
    return of_packets(dissect.read(files, progress))


def of_packets(packets: Packets) -> Analysis:
    """The figures of packets that have been read.

    Raises InputError if none of them is MPTCP or UDP.
    """
    warnings = list(packets.warnings)
    cut = int(np.count_nonzero(packets.has & dissect.CUT))
    if cut:
        warnings.append(
            f"{cut} of {len(packets)} TCP headers are incomplete, and their options are ignored; "
            "capture the first 128 bytes of each packet (tcpdump -s 128)"
        )
    flows = find_flows(packets)
    with_mptcp = [flow for flow in flows if flow.options or flow.has_dss(packets)]
    datagrams = packets.udp if packets.udp is not None and len(packets.udp) else None
    if not with_mptcp and datagrams is None:
        found = f"{len(packets)} TCP packets" if len(packets) else "no TCP packet"
        text = f"nothing to analyse: no MPTCP and no UDP ({found} in all)"
        raise InputError([Problem(str(file), "", "", text) for file in packets.files])
    if len(with_mptcp) < len(flows):
        warnings.append(
            f"{len(flows) - len(with_mptcp)} TCP connections without MPTCP are left out"
        )
    groups = find_connections(packets, with_mptcp)
    times_ns = [each.time_ns for each in (packets, datagrams) if each is not None and len(each)]
    start_ns = min(int(each.min()) for each in times_ns)
    connections = [
        _Connecting(packets, group, number, start_ns).figures(warnings)
        for number, group in enumerate(groups, 1)
    ]
    ports: list[udp.UdpPort] = []
    if datagrams is not None:
        ports, said = udp.of_packets(datagrams, start_ns)
        warnings += said
    return Analysis(
        files=[str(file) for file in packets.files],
        packets=len(packets),
        udp_packets=0 if datagrams is None else len(datagrams),
        began_s=start_ns / 1e9,
        ended_s=max(int(each.max()) for each in times_ns) / 1e9,
        connections=connections,
        udp=ports,
        warnings=warnings,
    )


class _Connecting:
    def __init__(self, packets: Packets, group: Group, number: int, start_ns: int) -> None:
        self._packets, self._group, self._number = packets, group, number
        self._start_ns = start_ns
        self._flows = group.flows
        self._bases = [
            [streams.base_of(packets, flow, way) for way in (0, 1)] for flow in self._flows
        ]

    def figures(self, warnings: list[str]) -> Connection:
        group, name = self._group, f"connection {self._number}"
        directions, series, ways = zip(
            *(self._direction(way) for way in (TO_SERVER, TO_CLIENT)), strict=True
        )
        subflows = [
            self._subflow(index, flow, [each[index] for each in ways])
            for index, flow in enumerate(self._flows)
        ]
        complete = group.keys[TO_SERVER] is not None or group.keys[TO_CLIENT] is not None
        if not complete and group.join_token:
            warnings.append(
                f"{name}: the captures lack its beginning, and have only the MP_JOIN of "
                f"{len(self._flows)} subflow(s) with token {group.join_token.hex()}"
            )
        elif not complete and not group.fallback:
            warnings.append(
                f"{name}: the captures lack the handshake of its only subflow "
                f"{self._flows[0].client} - {self._flows[0].server}, so it may belong to another "
                "connection"
            )
        for way, direction in enumerate(directions):
            self._warn(name, way, direction, warnings)
        tokens = [group.token(way) for way in (TO_SERVER, TO_CLIENT)]
        return Connection(
            number=self._number,
            token_client=tokens[0].hex() if tokens[0] else None,
            token_server=(tokens[1] or group.join_token or b"").hex() or None,
            version=group.version,
            complete=complete,
            fallback=group.fallback or self._is_infinite(),
            subflows=subflows,
            directions=[*directions],
            series=[*series],
        )

    def _is_infinite(self) -> bool:
        """Whether there is an infinite mapping, which is a fallback to TCP."""
        has, mapped = self._packets.has, self._packets.mapped
        return any(
            ((has[mine] & dissect.HAS_MAPPING != 0) & (mapped[mine] == 0)).any()
            for flow in self._flows
            for mine in flow.views[0].ways
        )

    def _warn(
        self, name: str, way: int, direction: ConnectionDirection, warnings: list[str]
    ) -> None:
        if direction.unmapped_bytes and not self._group.fallback:
            warnings.append(
                f"{name}, {DIRECTIONS[way]}: {direction.unmapped_bytes} bytes have no mapping in "
                "the captures and count in no figure of the connection"
            )
        files = {flow.last(way).file for flow in self._flows}
        if direction.data_packets and len(files) > 1:
            warnings.append(
                f"{name}, {DIRECTIONS[way]}: arrivals come from {len(files)} files, whose clocks "
                "are assumed to agree"
            )

    def _subflow(self, index: int, flow: Flow, ways: list[SubflowDirection]) -> Subflow:
        packets = self._packets
        times = [packets.time_ns[way] for way in flow.views[0].ways if len(way)]
        kinds = {option.kind for option, _ in flow.options}
        began = {dissect.MP_CAPABLE: "MP_CAPABLE", dissect.MP_JOIN: "MP_JOIN"}
        joins = [o for o, _ in flow.options if o.kind == dissect.MP_JOIN and len(o.content) == 12]
        flags = [int(np.bitwise_or.reduce(packets.flags[way])) for way in flow.views[0].ways]
        closed = "RST" if (flags[0] | flags[1]) & dissect.RST else ""
        if flags[0] & flags[1] & dissect.FIN:
            closed = "FIN"
        return Subflow(
            number=index + 1,
            client=str(flow.client),
            server=str(flow.server),
            began_with=next((began[kind] for kind in began if kind in kinds), "unknown"),
            backup=any(option.content[2] & 1 for option in joins),
            began_s=(int(min(t[0] for t in times)) - self._start_ns) / 1e9,
            ended_s=(int(max(t[-1] for t in times)) - self._start_ns) / 1e9,
            closed_by=closed,
            handshake_rtt_ms=None if flow.to_server_ns is None else flow.to_server_ns / _MS,
            seen_at=self._seen_at(flow),
            ways=ways,
        )

    def _seen_at(self, flow: Flow) -> list[str]:
        """From the client to the server: each place, and the files of its captures."""
        files: dict[str, list[str]] = {}
        for view in flow.views:
            name = self._packets.files[view.file].name
            names = files.setdefault(view.place, [])
            if name not in names:
                names.append(name)
        return [f"{place} ({', '.join(names)})" for place, names in files.items()]

    def _direction(self, way: int) -> tuple[ConnectionDirection, Series, list[SubflowDirection]]:
        """All figures of one direction: of the connection, over time, and of each subflow."""
        packets = self._packets
        answer_ns = self._answer_ns(way)
        sent, arrived, in_order, ways = [], [], [], []
        for flow, bases in zip(self._flows, self._bases, strict=True):
            first, last = flow.first(way), flow.last(way)
            out = streams.sent(packets, first, way, bases[way])
            in_ = out if first is last else streams.sent(packets, last, way, bases[way])
            acked = acknowledged(packets, first, way, bases[way])
            seen = acked if first is last else acknowledged(packets, last, way, bases[way])
            sent.append(out)
            arrived.append(in_)
            in_order.append(in_.in_order(seen, answer_ns))
            figures = _way(packets, flow, way, first, out, in_)
            figures.delivered_bytes = in_order[-1].bytes
            figures.rtt = _rtt(out, acked)
            figures.lost_packets = (
                None if first is last else max(figures.data_packets - figures.arrived_packets, 0)
            )
            ways.append(figures)

        direction = ConnectionDirection()
        all_has = (packets.has[flow.views[0].ways[way]] for flow in self._flows)
        direction.data_fin = any(bool((has & dissect.DATA_FIN).any()) for has in all_has)
        base = self._group.first_dsn(way)
        self._reinjections(sent, base, direction, ways)
        series = self._arrivals(arrived, in_order, base, way, direction, ways)
        return direction, series, ways

    def _reinjections(
        self,
        sent: list[Sent],
        base: int | None,
        direction: ConnectionDirection,
        ways: list[SubflowDirection],
    ) -> None:
        """Counts data sent again on another subflow, not TCP's retransmissions on the same."""
        of, which, begin, end = data_ranges(sent, base, [each.new() for each in sent])
        again = (end - begin) - Cells.of(begin, end).fresh
        for index, figures in enumerate(ways):
            mine = of == index
            figures.reinjected_bytes = int(again[mine].sum())
            carried = sent[index].packet[which[mine & (again > 0)]]
            figures.reinjected_packets = _count(carried)
        direction.reinjected_bytes = int(again.sum())

    def _arrivals(
        self,
        arrived: list[Sent],
        in_order: list[InOrder],
        base: int | None,
        way: int,
        direction: ConnectionDirection,
        ways: list[SubflowDirection],
    ) -> Series:
        """Goodput, reordering and the out-of-order queue, as seen next to the receiver."""
        times = [each.time_ns for each in arrived if len(each.time_ns)]
        arrivals = [(each.time_ns, each.cells.fresh) for each in arrived]
        none = np.empty(0, np.int64)
        if not times:
            return Series(arrivals, none, none)
        first, last = int(min(t[0] for t in times)), int(max(t[-1] for t in times))
        direction.first_s = (first - self._start_ns) / 1e9
        direction.last_s = (last - self._start_ns) / 1e9
        direction.unmapped_bytes = int(sum(e.length[~e.mapped].sum() for e in arrived))
        if self._group.fallback:
            # one subflow, whose stream is the connection's
            direction.arrived_bytes = sum(figures.arrived_bytes for figures in ways)
            direction.delivered_bytes = sum(figures.delivered_bytes for figures in ways)

        of, which, begin, end = data_ranges(
            arrived, base, [each.not_seen_before() for each in arrived]
        )
        if base is None and len(begin):
            base = int(arrived[of[0]].dsn[which[0]])
        for index, each in enumerate(arrived):
            mine = of == index
            each.data_begin[which[mine]] = begin[mine]
        cells = Cells.of(begin, end)
        # in the connection's stream only new data counts
        new = cells.fresh == end - begin
        _reordering(direction, begin[new], end[new])
        queue = (none, none)
        if len(begin):
            direction.arrived_bytes = int(cells.fresh.sum())
            new_to_tcp = sum(int(each.cells.fresh[each.mapped].sum()) for each in arrived)
            direction.duplicate_bytes = new_to_tcp - direction.arrived_bytes
            direction.delivered_bytes, queue = self._queue(arrived, in_order, base or 0, way, last)
            _queue_figures(direction, *queue, first, last)
            places = {flow.last(way).place for flow in self._flows}
            direction.ofo_seen_at = ", ".join(sorted(places))
        if last > first:
            direction.goodput_bps = 8e9 * direction.delivered_bytes / (last - first)
            for figures in ways:
                figures.goodput_bps = 8e9 * figures.delivered_bytes / (last - first)
        return Series(arrivals, *queue)

    def _queue(
        self, arrived: list[Sent], in_order: list[InOrder], base: int, way: int, last: int
    ) -> tuple[int, tuple[Array, Array]]:
        """Bytes in order at the end, and the out-of-order queue: its length from each time on.

        A byte reaches the connection when all bytes before it on its subflow have arrived, and
        leaves the queue when all bytes before it in the connection have.
        """
        when, begin, end = [], [], []
        for each, found in zip(arrived, in_order, strict=True):
            mapped = each.mapped[found.owner]
            owner = found.owner[mapped]
            shift = each.data_begin[owner] - each.begin[owner]
            when.append(found.time_ns[mapped])
            begin.append(found.begin[mapped] + shift)
            end.append(found.end[mapped] + shift)
        time_ns = np.concatenate(when)
        order = np.argsort(time_ns, kind="stable")
        time_ns = time_ns[order]
        cells = Cells.of(np.concatenate(begin)[order], np.concatenate(end)[order])
        acked = self._data_acknowledged(way, base)
        came, done = cells.whole_from(time_ns, acked, self._answer_ns(way))
        owned = np.flatnonzero(cells.first < len(time_ns))
        came, left, width = came[owned], done[owned], np.diff(cells.bounds)[owned]
        delivered = int(width[left < NEVER].sum())
        waited = left > came
        came, left, width = came[waited], np.minimum(left[waited], last), width[waited]
        at = np.concatenate([came, left])
        change = np.concatenate([width, -width])
        order = np.argsort(at, kind="stable")
        at, length = at[order], np.cumsum(change[order])
        latest = np.append(at[1:] != at[:-1], True) if len(at) else np.empty(0, np.bool_)
        return delivered, (at[latest], length[latest])

    def _answer_ns(self, way: int) -> int | None:
        """How long the receiver takes to answer, seen where data arrives; None if unknown."""
        longest = _DELAYED_NS
        for flow in self._flows:
            reach_ns = flow.last(way).reach_ns[way]
            if reach_ns is None:
                return None
            longest = max(longest, 2 * reach_ns)
        return longest

    def _data_acknowledged(self, way: int, base: int) -> tuple[Array, Array]:
        """How far each packet acknowledges the connection's stream, and when."""
        packets = self._packets
        merged = np.concatenate([flow.last(way).ways[1 - way] for flow in self._flows])
        merged = merged[packets.has[merged] & dissect.HAS_DATA_ACK != 0]
        merged = merged[np.argsort(packets.time_ns[merged], kind="stable")]
        return unwrapped(packets.data_ack[merged], base), packets.time_ns[merged]


def _way(
    packets: Packets, flow: Flow, way: int, first: View, out: Sent, in_: Sent
) -> SubflowDirection:
    """The data of one direction of a subflow."""
    again = out.length - out.cells.fresh
    options = Counter(
        dissect.OPTION_NAMES[option.kind]
        for option, of in flow.options
        if of == way and option.kind in _COUNTED
    )
    data_fins = int(np.count_nonzero(packets.has[first.ways[way]] & dissect.DATA_FIN))
    if data_fins:
        options["DATA_FIN"] = data_fins
    return SubflowDirection(
        packets=len(first.ways[way]),
        data_packets=_count(out.packet),
        data_bytes=int(out.length.sum()),
        retransmitted_packets=_count(out.packet[again > 0]) + _control_again(packets, first, way),
        retransmitted_bytes=int(again.sum()),
        arrived_packets=_count(in_.packet),
        arrived_bytes=int(in_.cells.fresh.sum()),
        duplicate_packets=_count(in_.packet[in_.cells.fresh == 0]),
        options=dict(sorted(options.items())),
    )


def _control_again(packets: Packets, view: View, way: int) -> int:
    """Packets without payload, with SYN or FIN, that were sent again."""
    mine = view.ways[way]
    again = 0
    for flag in (dissect.SYN, dissect.FIN):
        flagged = mine[packets.flags[mine] & flag != 0]
        again += int(np.count_nonzero(packets.payload[flagged[1:]] == 0))
    return again


def _count(packets: Array) -> int:
    """The number of distinct packets, where the parts of a packet are adjacent."""
    return int(np.count_nonzero(packets[1:] != packets[:-1])) + bool(len(packets))


def data_ranges(
    sent: Sequence[Sent], base: int | None, chosen: Sequence[tuple[Array, Array, Array]]
) -> tuple[Array, Array, Array, Array]:
    """Mapped ranges of all subflows, by time, as ranges of the connection's stream.

    `chosen`, by subflow: indices of its ranges, and the begin and end of the part to take. Returns
    the subflow and the index of each range, its begin and its end. Without a `base` the first range
    begins at 0.
    """
    of, which, time_ns, dsn, length = [], [], [], [], []
    for index, (stream, (mine, low, high)) in enumerate(zip(sent, chosen, strict=True)):
        mapped = stream.mapped[mine]
        if not mapped.all():
            mine, low, high = mine[mapped], low[mapped], high[mapped]
        of.append(np.full(len(mine), index))
        which.append(mine)
        time_ns.append(stream.time_ns[mine])
        dsn.append(stream.dsn[mine] + (low - stream.begin[mine]).astype(np.uint32))
        length.append(high - low)
    order = np.argsort(np.concatenate(time_ns), kind="stable")
    numbers = np.concatenate(dsn)[order]
    if base is None:
        base = int(numbers[0]) if len(numbers) else 0
    begin = unwrapped(numbers, base)
    end = begin + np.concatenate(length)[order]
    return np.concatenate(of)[order], np.concatenate(which)[order], begin, end


def _reordering(direction: ConnectionDirection, begin: Array, end: Array) -> None:
    """How far late arrivals are behind in the connection's stream: RFC 4737 and RFC 5236."""
    count = len(begin)
    direction.data_packets = count
    if not count:
        return
    highest = np.maximum.accumulate(end)
    late = np.flatnonzero(begin[1:] < highest[:-1]) + 1
    direction.reordered_packets = len(late)
    direction.reordered_share = len(late) / count
    if len(late):
        # the first arrival before it that belongs after it
        earliest = np.searchsorted(np.maximum.accumulate(begin), begin[late], side="right")
        extent = late - earliest
        behind = highest[late - 1] - begin[late]
        direction.reordering_extent_packets_mean = float(extent.mean())
        direction.reordering_extent_packets_p95 = float(np.percentile(extent, 95))
        direction.reordering_extent_packets_max = int(extent.max())
        direction.reordering_behind_bytes_mean = float(behind.mean())
        direction.reordering_behind_bytes_p95 = float(np.percentile(behind, 95))
        direction.reordering_behind_bytes_max = int(behind.max())
    place = np.empty(count, np.int64)
    place[np.argsort(begin, kind="stable")] = np.arange(count)
    direction.displacement_packets_mean = float(np.abs(place - np.arange(count)).mean())


def _queue_figures(
    direction: ConnectionDirection, at: Array, length: Array, first: int, last: int
) -> None:
    """Mean and percentile over time, not over packets."""
    times = np.concatenate([[first], at, [last]])
    values = np.concatenate([[0], length])
    spans = np.diff(times)
    total = int(spans.sum())
    if total <= 0:
        return
    direction.ofo_bytes_mean = float((spans * values.astype(np.float64)).sum() / total)
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(spans[order])
    direction.ofo_bytes_p99 = int(values[order][np.searchsorted(up_to, 0.99 * total)])
    direction.ofo_bytes_max = int(values[spans > 0].max())


def _rtt(sent: Sent, acked: tuple[Array, Array]) -> Rtt:
    which, when = sent.round_trips(acked)
    samples = when - sent.time_ns[which]
    if not len(samples):
        return Rtt()
    low, p95 = np.percentile(samples, (50, 95)) / _MS
    return Rtt(len(samples), float(samples.min() / _MS), float(low), float(p95))
