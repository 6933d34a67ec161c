# SPDX-License-Identifier: GPL-2.0-only
"""The first packet in which two runs differ, from captures at their clients.

From the start of the workload on: in the handshakes there may be one acknowledgment or two. Random
values are left out: sequence numbers count from the handshake, data sequence numbers from the first
one, and timestamps are not compared. Nor is PSH, which marks the end of what a process had room to
write at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mptcplab.capture import dissect
from mptcplab.capture.dissect import HAS_MAPPING, SYN, Packets
from mptcplab.lab import engine
from mptcplab.runs import documents
from mptcplab.spec import plan

_FIELDS = ("flags", "sequence", "payload", "acknowledges", "data sequence")

_PSH = 8

#: A line for each packet, with the fields above; -1 for those it does not have.
Lines = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """The packets of a subflow in one direction, in the order of time; times are in ns after the
    start.
    """

    times_ns: npt.NDArray[np.int64]
    lines: Lines


@dataclass(frozen=True)
class Difference:
    """The first packet that differs, `theirs` and `ours` None if there is none on that side.

    `sender` is its address; `number` counts from 1, and `at_ns` is when the earlier of the two was
    sent.
    """

    sender: str
    number: int
    at_ns: int
    theirs: tuple[int, ...] | None
    ours: tuple[int, ...] | None

    def __str__(self) -> str:
        """In words, theirs / ours, as far as they differ."""
        what = f"packet {self.number} from {self.sender}, at {self.at_ns / 1e6:.3f} ms"
        if self.theirs is None or self.ours is None:
            return f"{what}: only in {'the lab' if self.theirs is None else 'the package'}"
        fields = zip(_FIELDS, self.theirs, self.ours, strict=True)
        return f"{what}: " + ", ".join(f"{n} {a} / {b}" for n, a, b in fields if a != b)


def of(directory: Path) -> dict[str, Stream]:
    """The packets of a run, from its client's capture, by the address of the sender.

    Raises MptcplabError if it cannot be read.
    """
    start_ns = documents.read(directory / engine.GUEST_OUTCOME, documents.GUEST).start_ns
    return streams(dissect.read([directory / plan.CLIENT_CAPTURE]), start_ns)


def streams(found: Packets, start_ns: int) -> dict[str, Stream]:
    """The packets of one connection, by the address of the sender."""
    return dict(_streams(found, start_ns))


def _streams(found: Packets, start_ns: int) -> Iterator[tuple[str, Stream]]:
    mapped = (found.has & HAS_MAPPING) != 0
    # of the whole connection: the first that was sent in each direction
    from_client = found.forward
    origins = [
        int(dsns[0]) if len(dsns) else 0
        for dsns in (found.dsn[mapped & way] for way in (~from_client, from_client))
    ]
    for track, ends in enumerate(found.tracks):
        mine = found.track == track
        first = {
            way: int(found.seq[mine & (found.forward == way) & (found.flags & SYN != 0)][0])
            for way in (True, False)
        }
        for way, end in ((True, ends.a), (False, ends.b)):
            chosen = np.flatnonzero(mine & (found.forward == way) & (found.time_ns >= start_ns))
            flags = found.flags[chosen].astype(np.int64) & ~_PSH
            acks = _since(found.ack[chosen], first[not way])
            lines = np.stack(
                [
                    flags,
                    _since(found.seq[chosen], first[way]),
                    found.payload[chosen].astype(np.int64),
                    np.where(flags & dissect.ACK, acks, -1),
                    np.where(mapped[chosen], _since(found.dsn[chosen], origins[way]), -1),
                ],
                axis=1,
            )
            yield end.address, Stream(found.time_ns[chosen] - start_ns, lines)


def _since(numbers: npt.NDArray[np.uint32], origin: int) -> npt.NDArray[np.int64]:
    """How far 32-bit numbers are from their origin, which they pass at most once."""
    return (numbers.astype(np.int64) - origin) % 2**32


def first_difference(theirs: dict[str, Stream], ours: dict[str, Stream]) -> Difference | None:
    """The earliest of the packets in which streams differ; None if all are the same."""
    found = [
        difference
        for sender in {**theirs, **ours}
        if (difference := _difference(sender, theirs.get(sender), ours.get(sender)))
    ]
    return min(found, key=lambda each: each.at_ns, default=None)


def _difference(sender: str, theirs: Stream | None, ours: Stream | None) -> Difference | None:
    sides = [Stream(np.empty(0, np.int64), _NONE) if s is None else s for s in (theirs, ours)]
    common = min(len(side.lines) for side in sides)
    unlike = (sides[0].lines[:common] != sides[1].lines[:common]).any(axis=1)
    at = int(unlike.argmax()) if unlike.any() else common
    if all(at == len(side.lines) for side in sides):
        return None
    lines = [tuple(s.lines[at].tolist()) if at < len(s.lines) else None for s in sides]
    at_ns = min(int(side.times_ns[at]) for side in sides if at < len(side.lines))
    return Difference(sender, at + 1, at_ns, *lines)


_NONE: Lines = np.empty((0, len(_FIELDS)), np.int64)
