# SPDX-License-Identifier: GPL-2.0-only
"""The first packet in which the lab differs from a distribution's kernel, at the client.

From the start of the workload on: in the handshakes there may be one acknowledgment or two. Times
are not compared, nor what follows from them, nor PSH, which marks the end of what a process had
room to write at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mptcplab.capture import difference
from mptcplab.capture.difference import FIELDS, Lines, Place
from mptcplab.plan import plan
from mptcplab.runs import store

_COMPARED = ("flags", "payload", "sequence", "acknowledges", "data sequence")


def first_difference(theirs: Path, ours: Path) -> str:
    """In words, theirs / ours, from the directories of the runs; empty if all are the same.

    Raises MptcplabError if a capture cannot be read.
    """
    sides = [
        difference.streams(*store.read_captures(each, [plan.CLIENT_CAPTURE]), since_start=True)
        for each in (theirs, ours)
    ]
    return in_words(*sides)


def in_words(theirs: Mapping[Place, Lines], ours: Mapping[Place, Lines]) -> str:
    """The same, from the packets."""
    but = {*FIELDS} - {*_COMPARED}
    for found in difference.differences(theirs, ours, but=but)[:1]:
        what = f"packet {found.number} from {found.place.sender}, at {found.at_ns / 1e6:.3f} ms"
        if found.one is None or found.other is None:
            return f"{what}: only in {'the lab' if found.one is None else 'the package'}"
        return f"{what}: " + ", ".join(f"{n} {a} / {b}" for n, (a, b) in found.unlike().items())
    return ""
