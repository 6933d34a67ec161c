# SPDX-License-Identifier: GPL-2.0-only
"""The paths of the transfer in some captures, from its packets alone.

The data of a path is seen near its sender, where acknowledgments show when it arrived and how long
it waited, or near its receiver, where the sender's timestamps show the wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mptcplab.capture import dissect, streams
from mptcplab.capture.analyze import data_ranges
from mptcplab.capture.dissect import Array, Packets, Progress
from mptcplab.capture.flows import TO_SERVER, Flow, Group, View, find_connections, find_flows
from mptcplab.capture.streams import Cells, Sent
from mptcplab.errors import InputError, Problem
from mptcplab.fit import estimates
from mptcplab.fit.estimates import Estimate, Passage, PathFit, Transfer
from mptcplab.scenario.limits import Direction

_NS = 1e9
_ETHERNET_BYTES = 14
# Of a packet longer than this, the network card makes several, each with headers of its own.
_MOST_PAYLOAD = 1460
_ACK_BYTES = 80
# Ticks per second of the option for timestamps (RFC 7323): of Linux and most systems, of older
# ones, and of Linux in microseconds.
_CLOCKS = (1000, 250, 100, 1_000_000)
# The error of a time in a host's capture.
_HOST_S = 0.0005
# For 95 %: (1 - 0.05) / 0.05.
_SURE = 19
# More data of others than this part of the transfer's is worth a note.
_REST = 0.05
# With fewer packets of data, nothing follows from a path.
_FEWEST_PACKETS = 50


def fit(
    files: Sequence[Path], progress: Progress = lambda _: None
) -> tuple[list[PathFit], Transfer, list[str]]:
    """The paths of the largest transfer in each file, in the order of their first packets; the
    transfer as a whole; and notes.

    Raises InputError for files that are not captures, with too little data of TCP, or with several
    transfers over one path.
    """
    packets = dissect.read(files, progress)
    found, notes = _largest(packets)
    flows = _of_paths(packets, found, notes)
    way = int(np.argmax(sum(_bytes(packets, flow) for flow in flows)))
    direction: Direction = "up" if way == TO_SERVER else "down"
    views = (way for flow in flows for way in flow.views[0].ways if len(way))
    start_ns = min(int(packets.time_ns[each[0]]) for each in views)
    paths: list[PathFit] = []
    sent: list[Sent] = []
    for flow in flows:
        seen = _Seen(packets, flow, way, start_ns)
        sent.append(seen.sent)
        if len(seen.sent.begin) < _FEWEST_PACKETS:
            text = f"is left out: {len(seen.sent.begin)} packets of data"
            notes.append(f"{_ends(flow)} {text}; {_FEWEST_PACKETS} are needed")
        else:
            paths.append(seen.path(f"path{len(paths) + 1}", _ends(flow), direction))
    if not paths:
        raise InputError([Problem(str(file), "", "", "; ".join(notes)) for file in files])
    # of MPTCP each byte of the connection counts once, of TCP each byte of the only subflow
    *_, begin, end = data_ranges(sent, None, [each.not_seen_before() for each in sent])
    size_bytes = int(Cells.of(begin, end).fresh.sum()) if len(begin) else 0
    size_bytes += sum(int(each.cells.fresh[~each.mapped].sum()) for each in sent)
    ends_ns = max(int(each.time_ns[-1]) for each in sent if len(each.time_ns))
    return paths, Transfer(direction, size_bytes, (ends_ns - start_ns) / _NS), notes


def _largest(packets: Packets) -> tuple[list[Group], list[str]]:
    """The connection of each file that carried most data, and notes."""
    groups = find_connections(packets, find_flows(packets))
    chosen, notes = [], list(packets.warnings)
    for number, file in enumerate(packets.files):
        sizes = [sum(_bytes(packets, f, number).sum() for f in each.flows) for each in groups]
        most = max(sizes, default=0)
        if not most:
            text = "no TCP packet with data; a capture of a transfer is expected"
            raise InputError([Problem(str(file), "", "", text)])
        chosen.append(sizes.index(most))
        if (rest := sum(sizes) - most) > _REST * most:
            notes.append(
                f"{file.name}: other connections carried {rest / 1e6:.3g} MB; on a path that they "
                "share, the link has a higher rate"
            )
    return [groups[index] for index in dict.fromkeys(chosen)], notes


def _of_paths(packets: Packets, groups: Sequence[Group], notes: list[str]) -> list[Flow]:
    """The largest flow of each path. Raises InputError if two connections have the same path."""
    found: dict[str, Flow] = {}
    for group in groups:
        mine: dict[str, list[Flow]] = {}
        for flow in group.flows:
            mine.setdefault(_ends(flow), []).append(flow)
        for ends, flows in mine.items():
            if ends in found:
                files = ", ".join(
                    packets.files[each.views[0].file].name for each in (found[ends], flows[0])
                )
                text = "two transfers over one path; give one capture of each path"
                raise InputError([Problem(files, "", ends, text)])
            found[ends] = max(flows, key=lambda each: int(_bytes(packets, each).sum()))
            if len(flows) > 1:
                notes.append(f"{ends}: the largest of {len(flows)} subflows counts")
    return list(found.values())


def _ends(flow: Flow) -> str:
    return f"{flow.client.address} to {flow.server.address}"


def _bytes(packets: Packets, flow: Flow, file: int | None = None) -> Array:
    """Payload in each direction, at one place of a file or of any."""
    views = [view for view in flow.views if file in (None, view.file)]
    found = [[int(packets.payload[way].sum(dtype=np.int64)) for way in v.ways] for v in views]
    return np.array(found[0] if found else [0, 0])


class _Seen:
    """A flow's data in one direction, and how it passed. Times are in s from the start."""

    def __init__(self, packets: Packets, flow: Flow, way: int, start_ns: int) -> None:
        self._packets, self._start_ns = packets, start_ns
        self._head_bytes = _ETHERNET_BYTES + (40 if ":" in flow.client.address else 20)
        # near the sender of the data, a round trip is data and its acknowledgment; near the
        # receiver, an acknowledgment and the data that follows it
        base = streams.base_of(packets, flow, way)
        self._view, self._near = flow.first(way), flow.last(way)
        self.sent = streams.sent(packets, self._view, way, base)
        which, when = self.sent.round_trips(streams.acknowledged(packets, self._view, way, base))
        trips_s = (when - self.sent.time_ns[which]) / _NS
        echoes, echoes_s = _echoes(packets, self._near, way)
        self._at_sender = not len(echoes_s) or (
            len(trips_s) > 0 and float(trips_s.min()) > float(echoes_s.min()) / 2
        )
        if self._at_sender:
            self._packet, self._trip_s = self.sent.packet[which], trips_s
            self._which, self._when_s = which, self._seconds(when)
            rest_ns = self._view.reach_ns[1 - way]
        else:
            self.sent = streams.sent(packets, self._near, way, base)
            self._packet, self._trip_s = echoes, echoes_s
            rest_ns = self._near.reach_ns[way]
        self._trip_s = self._trip_s + (rest_ns or 0) / _NS
        self._handshake_ns = flow.to_server_ns

    def path(self, name: str, about: str, direction: Direction) -> PathFit:
        passed = self._sender() if self._at_sender else self._receiver()
        rates = estimates.rates(passed)
        queue, loss = estimates.queue_and_loss(passed, rates)
        values = {"rate": rates[0][1], "delay": self._delay(rates[0][1].value)}
        return PathFit(
            name, about, {**values, "queue": queue, f"{direction}.loss": loss}, rates[1:]
        )

    def _seconds(self, time_ns: Array) -> Array:
        found: Array = (time_ns - self._start_ns) / _NS
        return found

    def _wire(self, packet: Array) -> Array:
        """The bytes of packets on the link."""
        payload = self._packets.payload[packet].astype(np.int64)
        count = np.maximum(-(-payload // _MOST_PAYLOAD), 1)
        found: Array = payload + count * (self._packets.head[packet] + self._head_bytes)
        return found

    def _delay(self, rate_bps: float) -> Estimate:
        """Half of the shortest round trip, less the time of transmission.

        The true one is at most as long; the interval is Robson and Whitlock's (1964) for the end of
        a distribution.
        """
        trips_s = self._trip_s - 8 * self._wire(self._packet) / rate_bps
        if self._handshake_ns:
            trips_s = np.append(trips_s, self._handshake_ns / _NS - 8 * _ACK_BYTES / rate_bps)
        trips_s = np.sort(trips_s) - 8 * _ACK_BYTES / rate_bps
        least = max(float(trips_s[0]), 0.0) / 2
        further = float(trips_s[1] - trips_s[0]) / 2 if len(trips_s) > 1 else least
        source = f"shortest of {len(trips_s)} round trips"
        return Estimate(least, max(least - _SURE * further, 0.0), least, source)

    def _sender(self) -> Passage:
        """Of packets, as acknowledgments show them to their sender."""
        sent = self.sent
        # new data leaves in the order of the stream
        fresh = np.flatnonzero(sent.cells.fresh == sent.length)
        again = np.flatnonzero(sent.cells.fresh < sent.length)
        begin, end, packet = sent.begin[fresh], sent.end[fresh], sent.packet[fresh]
        # lost are the packets that a retransmission overlaps
        edges = np.zeros(len(fresh) + 1, np.int64)
        np.add.at(edges, np.searchsorted(end, sent.begin[again], side="right"), 1)
        np.add.at(edges, np.searchsorted(begin, sent.end[again]), -1)
        lost = np.cumsum(edges[:-1]) > 0
        # a receiver that delays its acknowledgment sends it when it sees the gap behind the packet
        acked = np.searchsorted(fresh, self._which)
        prompt = ~np.append(lost, False)[acked + 1]
        acked, when_s = acked[prompt], self._when_s[prompt]
        wait_s = self._trip_s[prompt] - self._trip_s.min()
        # a packet without an acknowledgment of its own waited as long as the one before it
        known = np.maximum(np.searchsorted(acked, np.arange(len(fresh)), side="right") - 1, 0)
        part = sent.length[fresh] / self._packets.payload[packet]
        carried = np.cumsum(self._wire(packet) * part)[acked]
        # a step over a retransmission took the time of a recovery
        repeats = np.searchsorted(np.sort(sent.end[again]), end[acked], side="right")
        clean = np.diff(repeats) == 0
        return Passage(
            at_s=self._seconds(sent.time_ns[fresh]),
            wait_s=wait_s[known],
            lost=lost,
            step_at_s=when_s[1:][clean],
            step_s=np.diff(when_s)[clean],
            step_bytes=np.diff(carried)[clean],
            step_wait_s=np.minimum(wait_s[1:], wait_s[:-1])[clean],
            round_trip_s=float(self._trip_s.min()),
            accuracy_s=_HOST_S,
        )

    def _receiver(self) -> Passage:
        """Of packets, as the sender's timestamps show them to their receiver."""
        sent, packets = self.sent, self._packets
        whole = np.append(True, sent.packet[1:] != sent.packet[:-1])
        packet, at_s = sent.packet[whole], self._seconds(sent.time_ns[whole])
        stamps = streams.unwrapped(packets.ts_val[packet], int(packets.ts_val[packet[0]]))
        ticks = max(float(stamps[-1]), 1.0) / max(float(at_s[-1] - at_s[0]), 1 / _NS)
        clock = min(_CLOCKS, key=lambda each: abs(np.log(ticks / each)))
        age_s = at_s - stamps / clock
        wait_s = age_s - age_s.min()
        # a hole opened when a packet behind it came; one that was only overtaken comes soon
        begin, fresh = sent.begin[whole], sent.cells.fresh[whole] > 0
        highest = np.maximum.accumulate(sent.end[whole])
        late = np.flatnonzero(fresh[1:] & (begin[1:] < highest[:-1])) + 1
        opened = np.searchsorted(highest, begin[late], side="right")
        round_trip_s = float(self._trip_s.min())
        opened = opened[at_s[late] - at_s[opened] > round_trip_s / 2]
        first = np.delete(np.arange(len(packet)), late)
        place = np.searchsorted(first, opened)
        return Passage(
            at_s=np.insert(at_s[first], place, at_s[opened]),
            # the queue may have drained between the two packets around the hole
            wait_s=np.insert(wait_s[first], place, np.maximum(wait_s[opened], wait_s[opened - 1])),
            lost=np.insert(np.zeros(len(first), np.bool_), place, True),
            step_at_s=at_s[1:],
            step_s=np.diff(at_s),
            step_bytes=self._wire(packet[1:]),
            step_wait_s=np.minimum(wait_s[1:], wait_s[:-1]),
            round_trip_s=round_trip_s,
            accuracy_s=_HOST_S + 1 / clock,
        )


def _echoes(packets: Packets, view: View, way: int) -> tuple[Array, Array]:
    """Packets of data that are the first to echo a timestamp, and the time in s since the first
    packet of the other direction that carried it.
    """
    firsts = []
    for mine, stamp in ((view.ways[1 - way], packets.ts_val), (view.ways[way], packets.ts_ecr)):
        has = packets.has[mine] & dissect.HAS_TIMESTAMPS != 0
        mine = mine[has & ((packets.payload[mine] > 0) | (stamp is packets.ts_val))]
        values, first = np.unique(stamp[mine], return_index=True)
        firsts.append((values, mine[first]))
    (asked, questions), (echoed, answers) = firsts
    _, which, echo = np.intersect1d(asked, echoed, return_indices=True)
    trips_s = (packets.time_ns[answers[echo]] - packets.time_ns[questions[which]]) / _NS
    good = trips_s > 0
    return answers[echo][good], trips_s[good]
