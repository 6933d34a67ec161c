# SPDX-License-Identifier: GPL-2.0-only
"""The first packet in which captures of one scenario, run twice, differ.

Packets are compared direction by direction of each flow, at each place of each capture. Random
parts do not count: the client's ports, keys, and first sequence numbers. So sequence numbers count
from the handshake of the flow, and data sequence numbers from the handshake of its connection. Of
MPTCP's options other than DSS only the kinds are compared, since the rest is derived from keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mptcplab.capture import dissect, flows
from mptcplab.capture.dissect import (
    ACK,
    FIN,
    HAS_DATA_ACK,
    HAS_MAPPING,
    OPTION_NAMES,
    RST,
    SYN,
    Array,
    Packets,
)
from mptcplab.capture.flows import TO_CLIENT, TO_SERVER, Flow, Group, View

#: The fields of a packet, in the order in which differences are listed. Times, in ns, are after the
#: start of the workload.
FIELDS = (
    *("time", "flags", "payload", "sequence", "acknowledges"),
    *("data sequence", "data acknowledged", "DSS", "mapped", "subflow sequence"),
    *("options", "window", "header", "TTL", "PSH", "timestamp", "timestamp echo"),
)
#: What a field has that the packet lacks.
NONE = -1

_PSH = 8
_FLAGS = {SYN: "SYN", FIN: "FIN", RST: "RST", ACK: "ACK", 32: "URG", 64: "ECE", 128: "CWR"}
_DSS = {
    dissect.HAS_DSS: "DSS",
    HAS_DATA_ACK: "data ACK",
    dissect.DATA_ACK_8: "data ACK of 8 bytes",
    HAS_MAPPING: "mapping",
    dissect.DSN_8: "DSN of 8 bytes",
    dissect.DATA_FIN: "DATA_FIN",
}
# In the field `options`, each kind has a digit of four bits: how often it is there.
_DIGIT_BITS, _KINDS = 4, 15
_UNITS = {"payload": " bytes", "mapped": " bytes", "header": " bytes"}

#: A row for each packet, with a column for each of FIELDS.
Lines = npt.NDArray[np.int64]


class Place(NamedTuple):
    """A direction of a flow, where a capture has it.

    `capture` is the file's name, `client` and `server` are addresses; `number` counts their
    flows, from 0. `view` counts the places of that file which its packets pass, from the client.
    """

    capture: str
    client: str
    server: str
    number: int
    view: int
    way: int

    @property
    def sender(self) -> str:
        """The address of who sends there."""
        return self.client if self.way == TO_SERVER else self.server


@dataclass(frozen=True)
class Difference:
    """The first packet that differs at a place: `one` and `other`, as FIELDS, None if that side
    has no packet.

    `number` counts the packets of the place from 1, and `at_ns` is when the earlier of the two was
    sent. `fields` were compared.
    """

    place: Place
    number: int
    at_ns: int
    one: tuple[int, ...] | None
    other: tuple[int, ...] | None
    fields: tuple[str, ...]

    def unlike(self) -> dict[str, tuple[str, str]]:
        """The fields that differ, with both values in words; none if one packet is missing."""
        if self.one is None or self.other is None:
            return {}
        return {
            name: (_value(name, one), _value(name, other))
            for name, one, other in zip(FIELDS, self.one, self.other, strict=True)
            if one != other and name in self.fields
        }


def streams(found: Packets, start_ns: int) -> dict[Place, Lines]:
    """The packets of all captures of a run, by their places, in the order of time.

    `start_ns` is the time at which the workload starts.
    """
    listed = flows.find_flows(found)
    # this finds the mappings of first data, too
    origins = _first_dsns(found, flows.find_connections(found, listed))
    lines = _lines(found, start_ns)
    count: dict[tuple[str, str], int] = {}
    by_place: list[tuple[int, Place, Lines]] = []
    for flow in listed:
        ends = (flow.client.address, flow.server.address)
        count[ends] = count.get(ends, -1) + 1
        for index, view in enumerate(flow.views):
            capture = found.files[view.file].name
            before = sum(each.file == view.file for each in flow.views[:index])
            for way in (TO_SERVER, TO_CLIENT):
                peer, mine = 1 - way, lines[view.ways[way]]
                for name, origin in (
                    ("sequence", _isn(found, flow, view, way)),
                    ("acknowledges", _isn(found, flow, view, peer)),
                    ("data sequence", origins[id(flow)][way]),
                    ("data acknowledged", origins[id(flow)][peer]),
                ):
                    values = mine[:, FIELDS.index(name)]
                    # 32-bit numbers pass their origin at most once
                    values[:] = np.where(values == NONE, NONE, (values - origin) % 2**32)
                place = Place(capture, *ends, count[ends], before, way)
                by_place.append((view.file, place, mine))
    # of differences at one time, that in the first capture comes first
    by_place.sort(key=lambda each: each[0])
    return {place: mine for _, place, mine in by_place}


def differences(
    one: Mapping[Place, Lines], other: Mapping[Place, Lines], *, but: Collection[str] = ()
) -> list[Difference]:
    """The first packet that differs at each place where one does, the earliest first.

    Fields named in `but` are not compared.
    """
    assert {*but} <= {*FIELDS}
    fields = tuple(name for name in FIELDS if name not in but)
    found = [
        difference
        for place in {**one, **other}
        if (difference := _difference(place, one.get(place), other.get(place), fields))
    ]
    return sorted(found, key=lambda each: each.at_ns)


def kind(packet: Sequence[int]) -> str:
    """What a packet, as FIELDS, is: its flags, whether it has data, and MPTCP's options."""
    of = dict(zip(FIELDS, packet, strict=True))
    words = ["data"] if of["payload"] else []
    if not words or of["flags"] != ACK:
        words.append(_value("flags", of["flags"]))
    words += _options(of["options"])
    if of["DSS"] != NONE and of["DSS"] & dissect.DATA_FIN:
        words.append("DATA_FIN")
    return ", ".join(words)


def _difference(
    place: Place, one: Lines | None, other: Lines | None, fields: Sequence[str]
) -> Difference | None:
    sides = [_NO_LINES if each is None else each for each in (one, other)]
    columns = [FIELDS.index(name) for name in fields]
    common = min(map(len, sides))
    unlike = (sides[0][:common, columns] != sides[1][:common, columns]).any(axis=1)
    at = int(unlike.argmax()) if unlike.any() else common
    if all(at == len(side) for side in sides):
        return None
    packets = [tuple(side[at].tolist()) if at < len(side) else None for side in sides]
    at_ns = min(packet[0] for packet in packets if packet is not None)
    return Difference(place, at + 1, at_ns, packets[0], packets[1], tuple(fields))


_NO_LINES: Lines = np.empty((0, len(FIELDS)), np.int64)


def _lines(found: Packets, start_ns: int) -> Lines:
    """All packets, in the order of the capture, with their sequence numbers as they are."""
    options = np.zeros(len(found), np.int64)
    for option in found.options:
        options[option.packet] += 1 << _DIGIT_BITS * min(option.kind, _KINDS - 1)
    mapped = found.has & HAS_MAPPING
    stamped = found.has & dissect.HAS_TIMESTAMPS
    columns = {
        "time": found.time_ns - start_ns,
        "flags": found.flags.astype(np.int64) & ~_PSH,
        "payload": found.payload,
        "sequence": found.seq,
        "acknowledges": _if(found.flags & ACK, found.ack),
        "data sequence": _if(mapped, found.dsn),
        "data acknowledged": _if(found.has & HAS_DATA_ACK, found.data_ack),
        "DSS": _if(found.has & dissect.HAS_DSS, found.has & sum(_DSS)),
        "mapped": _if(mapped, found.mapped),
        "subflow sequence": _if(mapped, found.ssn),
        "options": options,
        "window": found.window,
        "header": found.head,
        "TTL": found.ttl,
        "PSH": (found.flags & _PSH) // _PSH,
        "timestamp": _if(stamped, found.ts_val),
        "timestamp echo": _if(stamped, found.ts_ecr),
    }
    return np.stack([columns[name].astype(np.int64) for name in FIELDS], axis=1)


def _if(there: Array, values: Array) -> Array:
    return np.where(there, values.astype(np.int64), NONE)


def _first_dsns(found: Packets, groups: Sequence[Group]) -> dict[int, list[int]]:
    """The first data sequence numbers of each flow's connection, by direction and `id` of the flow.

    Without the keys of a connection they are the first ones that were sent or acknowledged.
    """
    mapped, acks = found.has & HAS_MAPPING != 0, found.has & HAS_DATA_ACK != 0
    origins = {}
    for group in groups:
        ways = [
            np.concatenate([view.ways[way] for flow in group.flows for view in flow.views])
            for way in (TO_SERVER, TO_CLIENT)
        ]
        both = []
        for way in (TO_SERVER, TO_CLIENT):
            sent, acked = ways[way], ways[1 - way]
            numbers = [found.dsn[sent[mapped[sent]]], found.data_ack[acked[acks[acked]]]]
            seen = [int(each[0]) for each in numbers if len(each)]
            known = group.first_dsn(way)
            both.append(known if known is not None else next(iter(seen), 0))
        origins.update({id(flow): both for flow in group.flows})
    return origins


def _isn(found: Packets, flow: Flow, view: View, way: int) -> int:
    """The sequence number with which a direction begins; of a capture without handshakes, the first
    one that is there.
    """
    isn = flow.isn[way]
    return isn if isn is not None else next(iter(found.seq[view.ways[way][:1]].tolist()), 0)


def _value(name: str, value: int) -> str:
    if name == "time":
        return f"{value / 1e6:.6f} ms"
    if value == NONE:
        return "none"
    if name == "flags":
        return " ".join(_set(value, _FLAGS)) or "none"
    if name == "DSS":
        return ", ".join(_set(value, _DSS))
    if name == "options":
        return ", ".join(_options(value)) or "none"
    return f"{value}{_UNITS.get(name, '')}"


def _set(value: int, names: Mapping[int, str]) -> list[str]:
    return [name for bit, name in names.items() if value & bit]


def _options(value: int) -> list[str]:
    found = []
    for number in range(_KINDS):
        count = value >> _DIGIT_BITS * number & 15
        name = OPTION_NAMES[number] if number < len(OPTION_NAMES) else f"option {number}"
        found += [name] * count
    return found
