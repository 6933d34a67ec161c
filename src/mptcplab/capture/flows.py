# SPDX-License-Identifier: GPL-2.0-only
"""Finds the flows in packets, and which of them are subflows of one MPTCP connection.

A flow is the traffic between two endpoints; each place that captured it (`View`) has its own
packets. The views of a flow are ordered by their distance to the client, so each direction has a
first view, near its sender, and a last one, near its receiver, and nothing is counted twice. Keys
and tokens of the handshakes identify the connection of a flow.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mptcplab.capture import dissect
from mptcplab.capture.dissect import Array, Endpoint, Option, Packets

#: The two directions of a flow: indices of its `ways`.
TO_SERVER, TO_CLIENT = 0, 1

# The share of one place's packets that another place must have for the same packets to pass both.
_TWINS = 0.1
_SAMPLE = 500
# A place is at an end if at most this share of the RTT lies between: hosts answer within it.
_AT_THE_END = 0.1
# Two places are the two sides of one link if at most this share of the RTT lies between.
_SAME_PLACE = 0.001


@dataclass
class View:
    """A flow as captured at one place: its packets in the order of time, by direction."""

    file: int
    ways: tuple[Array, Array]
    place: str = ""  # "the client", "the server", "between them" or "an unknown place"
    reach_ns: tuple[int | None, int | None] = (None, None)  # round-trip times to server and client


@dataclass
class Flow:
    """The traffic between two endpoints; `views` from the client to the server.

    `isn`: the initial sequence number of each direction, if it was captured.
    """

    client: Endpoint
    server: Endpoint
    views: list[View]
    isn: list[int | None]
    options: list[tuple[Option, int]]  # with their direction; of one view
    to_server_ns: int | None = None  # handshake, at the view next to the client

    def first(self, way: int) -> View:
        """The view next to the sender of a direction."""
        return self.views[0 if way == TO_SERVER else -1]

    def last(self, way: int) -> View:
        """The view next to its receiver."""
        return self.views[-1 if way == TO_SERVER else 0]

    def has_dss(self, packets: Packets) -> bool:
        ways = (way for view in self.views for way in view.ways)
        return any((packets.has[way] & dissect.HAS_DSS).any() for way in ways)


def find_flows(packets: Packets) -> list[Flow]:
    """All flows, in the order of their first packets."""
    by_track = np.argsort(packets.track.astype(_small(len(packets.tracks))), kind="stable")
    stops = np.cumsum(np.bincount(packets.track, minlength=len(packets.tracks)))
    found: dict[tuple[frozenset[Endpoint], int | None], list[_Piece]] = {}
    for number, mine in enumerate(np.split(by_track, stops[:-1])):
        for piece in _generations(packets, number, mine):
            key = (frozenset((piece.client, piece.server)), piece.isn[TO_SERVER])
            found.setdefault(key, []).append(piece)
    # packets without a SYN belong to the flow with the same endpoints and one, if only one has it
    numbers: dict[frozenset[Endpoint], list[int | None]] = {}
    for ends, isn in found:
        numbers.setdefault(ends, []).append(isn)
    for ends, known in numbers.items():
        if None in known and len(known) == 2:
            (isn,) = (isn for isn in known if isn is not None)
            found[ends, isn] += found.pop((ends, None))
    sizes = Counter(file for pieces in found.values() for file in {p.file for p in pieces})
    options: dict[int, list[Option]] = {}
    for option in packets.options:
        options.setdefault(int(packets.track[option.packet]), []).append(option)
    flows = [_flow(packets, pieces, options, sizes) for pieces in found.values()]
    return sorted(flows, key=lambda flow: min(_first_ns(packets, v) for v in flow.views))


def _first_ns(packets: Packets, view: View) -> int:
    return min(int(packets.time_ns[way[0]]) for way in view.ways if len(way))


@dataclass
class _Piece:
    """A track, or one of the flows that used its endpoints one after another."""

    track: int
    file: int
    client: Endpoint
    server: Endpoint
    ways: tuple[Array, Array]
    isn: list[int | None]


def _generations(packets: Packets, number: int, mine: Array) -> Iterator[_Piece]:
    """The flows of a track: a SYN with another sequence number begins another flow."""
    times = packets.time_ns[mine]
    if (times[1:] < times[:-1]).any():
        mine = mine[np.argsort(times, kind="stable")]
    syn = mine[(packets.flags[mine] & (dissect.SYN | dissect.ACK)) == dissect.SYN]
    firsts: dict[tuple[bool, int], int] = {}
    for packet in syn.tolist():
        firsts.setdefault((bool(packets.forward[packet]), int(packets.seq[packet])), packet)
    # MPTCP has no simultaneous open: whoever sends the first SYN is the client
    begin = [int(np.flatnonzero(mine == packet)[0]) for packet in firsts.values()]
    for part in np.split(mine, begin):
        if len(part):
            yield _piece(packets, number, part)


def _piece(packets: Packets, number: int, mine: Array) -> _Piece:
    track = packets.tracks[number]
    forward = packets.forward[mine]
    flags = packets.flags[mine] & (dissect.SYN | dissect.ACK)
    syn, answer = flags == dissect.SYN, flags == dissect.SYN | dissect.ACK
    if syn.any():
        client_is_a = bool(forward[syn][0])
    elif answer.any():
        client_is_a = not bool(forward[answer][0])
    else:
        # as a rule, servers listen at the lower port
        client_is_a = track.a.port >= track.b.port
    from_client = forward == client_is_a
    ways = (mine[from_client], mine[~from_client])
    isn: list[int | None] = [None, None]
    for way, flagged in ((TO_SERVER, syn & from_client), (TO_CLIENT, answer & ~from_client)):
        if flagged.any():
            isn[way] = int(packets.seq[mine[flagged]][0])
    client, server = (track.a, track.b) if client_is_a else (track.b, track.a)
    if isn[TO_CLIENT] is not None and isn[TO_SERVER] is None:
        # the answer to a SYN that was not captured reveals its sequence number
        acked = packets.ack[mine[answer & ~from_client]][0]
        isn[TO_SERVER] = (int(acked) - 1) % (1 << 32)
    return _Piece(number, track.file, client, server, ways, isn)


def _flow(
    packets: Packets, pieces: list[_Piece], options: dict[int, list[Option]], sizes: Counter[int]
) -> Flow:
    """Put the views of a flow in order; `options` by track, `sizes`: number of flows by file."""
    first = pieces[0]
    views = [
        View(file, ways)
        for file in sorted({piece.file for piece in pieces})
        for ways in _distinct(packets, [_oriented(p, first) for p in pieces if p.file == file])
    ]
    isn = [
        next((piece.isn[way] for piece in pieces if piece.isn[way] is not None), None)
        for way in (TO_SERVER, TO_CLIENT)
    ]
    flow = Flow(first.client, first.server, views, isn, [])
    _order(packets, flow, sizes)
    seen = flow.views[0]
    tracks = {piece.track for piece in pieces if piece.file == seen.file}
    for way in (TO_SERVER, TO_CLIENT):
        mine = [option for track in sorted(tracks) for option in options.get(track, ())]
        inside = np.isin([option.packet for option in mine], seen.ways[way])
        flow.options += [(mine[index], way) for index in np.flatnonzero(inside)]
    flow.options.sort(key=lambda found: found[0].packet)
    return flow


def _oriented(piece: _Piece, like: _Piece) -> tuple[Array, Array]:
    return piece.ways if piece.client == like.client else (piece.ways[1], piece.ways[0])


def _distinct(packets: Packets, found: list[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """Views of one file: kept apart if the same packets passed both, else merged.

    A flow has several places in a router's capture, which contain the same packets. It also has
    several if one of its ends moved, or if the two directions take different routes; then no packet
    appears twice.
    """
    found = sorted(found, key=lambda ways: -sum(map(len, ways)))
    apart: list[tuple[Array, Array]] = []
    for ways in found:
        for at, other in enumerate(apart):
            if not _are_twins(packets, ways, other):
                apart[at] = (
                    _merged(packets, ways[0], other[0]),
                    _merged(packets, ways[1], other[1]),
                )
                break
        else:
            apart.append(ways)
    return apart


def _are_twins(packets: Packets, few: tuple[Array, Array], many: tuple[Array, Array]) -> bool:
    """Whether the packets of one place passed the other as well, judged by an even sample."""
    asked = same = 0
    for mine, others in zip(few, many, strict=True):
        sample = np.sort(prints(packets, mine[:: len(mine) // _SAMPLE + 1]))
        if len(sample) and len(others):
            theirs = prints(packets, others)
            at = np.minimum(np.searchsorted(sample, theirs), len(sample) - 1)
            found = np.zeros(len(sample), np.bool_)
            found[at[sample[at] == theirs]] = True
            times, their_times = packets.time_ns[mine], packets.time_ns[others]
            if times[0] <= their_times[-1] and their_times[0] <= times[-1]:
                # all packets that look the same; if an end had moved, they would be others
                found = found[np.searchsorted(sample, sample)]
            same += int(found.sum())
        asked += len(sample)
    return same > _TWINS * asked


def prints(packets: Packets, mine: Array) -> Array:
    """Fingerprints by which packets are recognised at another place."""
    numbers = packets.seq[mine].astype(np.uint64) << np.uint64(32) | packets.ack[mine]
    rest = packets.ts_val[mine].astype(np.uint64) << np.uint64(24) | packets.payload[mine].astype(
        np.uint64
    )
    return numbers ^ rest * np.uint64(0x9E3779B97F4A7C15)


def _merged(packets: Packets, one: Array, other: Array) -> Array:
    both = np.concatenate([one, other])
    return both[np.argsort(packets.time_ns[both], kind="stable")]


def _order(packets: Packets, flow: Flow, sizes_of_files: Counter[int]) -> None:
    """Sort the views from the client to the server, and set the place of each.

    Near the client, answers to its packets take long, and its own answers come at once.
    """
    reach = [_reach(packets, view, flow.isn) for view in flow.views]
    if all(None not in each for each in reach):
        nearness = [float(each[1] - each[0]) for each in reach]  # type: ignore[operator]
    else:
        nearness = [float(hops(packets, view)) for view in flow.views]
    # of two sides of one link, the file with more flows is the outer one: a host's, not a router's
    round_trip = max((there + back for there, back in reach if there and back), default=0)
    steps = [round(near / max(_SAME_PLACE * round_trip, 1)) for near in nearness]
    sizes = [sizes_of_files[view.file] for view in flow.views]
    # if only one direction was captured, both ends can be on one side of 0
    middle = max((min(steps) + max(steps)) / 2, 0)
    order = sorted(
        range(len(flow.views)),
        key=lambda index: (steps[index], -sizes[index] if steps[index] < middle else sizes[index]),
    )
    for view, (there, back) in zip(flow.views, reach, strict=True):
        view.place = "an unknown place"
        view.reach_ns = (there, back)
        if there is not None and back is not None and there + back > 0:
            share = back / (there + back)
            view.place = (
                "the client"
                if share < _AT_THE_END
                else "the server"
                if share > 1 - _AT_THE_END
                else "between them"
            )
    there, back = reach[order[0]]
    flow.to_server_ns = None if there is None else there + (back or 0)
    flow.views = [flow.views[index] for index in order]


def _reach(packets: Packets, view: View, isn: list[int | None]) -> tuple[int | None, int | None]:
    """The RTTs from a place to the server and to the client, from the handshake."""
    if isn[0] is None or isn[1] is None:
        return None, None
    head = [way[:64] for way in view.ways]
    flags = [packets.flags[each] for each in head]
    syn = head[0][flags[0] & (dissect.SYN | dissect.ACK) == dissect.SYN]
    answer = head[1][(flags[1] & dissect.SYN) != 0]
    if not len(syn) or not len(answer):
        return None, None
    answered = int(packets.time_ns[answer[0]])
    asked = packets.time_ns[syn]
    asked = asked[asked <= answered]
    done = head[0][(flags[0] & (dissect.SYN | dissect.ACK)) == dissect.ACK]
    # the last answer that the first acknowledgment can refer to
    done_ns = packets.time_ns[done]
    done_ns = done_ns[done_ns >= answered]
    if not len(asked) or not len(done_ns):
        return None, None
    answers = packets.time_ns[answer]
    last = int(answers[answers <= done_ns[0]][-1])
    return answered - int(asked[-1]), int(done_ns[0]) - last


def hops(packets: Packets, view: View) -> int:
    """How much farther from the client than from the server, by the TTL that routers decrement."""
    passed = []
    for way in view.ways:
        if not len(way):
            passed.append(0)
            continue
        usual = int(np.bincount(packets.ttl[way]).argmax())
        first = next(initial for initial in (64, 128, 255) if usual <= initial)
        passed.append(first - usual)
    return passed[0] - passed[1]


@dataclass
class Group:
    """The flows of one connection; keys by the direction of their sender."""

    flows: list[Flow]
    keys: list[bytes | None] = field(default_factory=lambda: [None, None])
    version: int | None = None
    join_token: bytes | None = None
    fallback: bool = False

    def hashed(self, way: int) -> bytes | None:
        key = self.keys[way]
        if key is None:
            return None
        # RFC 6824 uses SHA-1, RFC 8684 SHA-256
        return (hashlib.sha1 if self.version == 0 else hashlib.sha256)(key).digest()

    def token(self, way: int) -> bytes | None:
        hashed = self.hashed(way)
        return hashed[:4] if hashed else None

    def first_dsn(self, way: int) -> int | None:
        """The lower 32 bits of the first data sequence number."""
        hashed = self.hashed(way)
        return (int.from_bytes(hashed[-4:], "big") + 1) % (1 << 32) if hashed else None


def find_connections(packets: Packets, flows: Sequence[Flow]) -> list[Group]:
    """Flows grouped into connections by their keys and tokens."""
    groups = []
    by_token: dict[bytes, Group] = {}
    # version 1 has the mapping of the first data in MP_CAPABLE; these packets, at all places
    first_data: dict[bytes, list[int]] = {}
    for option in packets.options:
        if option.kind == dissect.MP_CAPABLE and len(option.content) >= 22:
            first_data.setdefault(option.content, []).append(option.packet)
    for flow in flows:
        if any(option.kind == dissect.MP_CAPABLE for option, _ in flow.options):
            group = Group([flow])
            _read_keys(packets, flow, group, first_data)
            groups.append(group)
            for way in (TO_SERVER, TO_CLIENT):
                token = group.token(way)
                if token:
                    by_token.setdefault(token, group)
    for flow in flows:
        if any(option.kind == dissect.MP_CAPABLE for option, _ in flow.options):
            continue
        token = _join_token(flow)
        known = by_token.get(token) if token else None
        if known:
            known.flows.append(flow)
            continue
        group = Group([flow], join_token=token)
        groups.append(group)
        if token:
            by_token[token] = group
    return groups


def _read_keys(
    packets: Packets, flow: Flow, group: Group, first_data: dict[bytes, list[int]]
) -> None:
    """The keys of an MP_CAPABLE handshake, RFC 8684 section 3.1 (and RFC 6824), and its mapping."""
    for option, way in flow.options:
        if option.kind != dissect.MP_CAPABLE or len(option.content) < 4:
            continue
        content, syn = option.content, packets.flags[option.packet] & dissect.SYN
        if way == TO_SERVER or group.version is None:
            group.version = content[2] & 15
        if len(content) >= 12:
            group.keys[way] = group.keys[way] or content[4:12]
        if len(content) >= 20 and not syn:
            group.keys[1 - way] = group.keys[1 - way] or content[12:20]
    if group.keys[TO_CLIENT] is None and flow.isn[TO_CLIENT] is not None:
        # the server answered the SYN without agreeing to MPTCP
        group.fallback = True
    first = group.first_dsn(TO_SERVER)
    if first is None:
        return
    for option, way in flow.options:
        if option.kind == dissect.MP_CAPABLE and len(option.content) >= 22 and way == TO_SERVER:
            seen = first_data[option.content]
            packets.has[seen] |= dissect.HAS_MAPPING
            packets.dsn[seen], packets.ssn[seen] = first, 1
            packets.mapped[seen] = int.from_bytes(option.content[20:22], "big")


def _join_token(flow: Flow) -> bytes | None:
    """The token in a subflow's SYN, which identifies the connection that it joins."""
    joins = (
        option.content[4:8]
        for option, way in flow.options
        if option.kind == dissect.MP_JOIN and way == TO_SERVER and len(option.content) == 12
    )
    return next(joins, None)


def _small(count: int) -> Any:
    """The smallest type for that many numbers: sorting two bytes is many times faster."""
    return np.uint16 if count <= 1 << 16 else np.int32
