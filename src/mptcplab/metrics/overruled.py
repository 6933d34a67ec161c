# SPDX-License-Identifier: GPL-2.0-only
"""What the framework did in the place of a scheduler, or refused it: a line for each counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mptcplab.metrics.definitions import RunFigures
from mptcplab.metrics.records import Samples

#: By the figure of a run: the field of a connection record, and what is said of it.
_SAID = {
    "refused_picks": ("refused", "next_segment() picked what makes no sense {}: refused"),
    "forced_picks": (
        "forced",
        "next_segment() let nothing leave with nothing in flight {}: a segment was sent for it",
    ),
    "forced_reinjections": (
        "forced_reinjections",
        "get_subflow() named no usable path {}: the oldest segment was sent again in its place",
    ),
    "deferred_questions": (
        "deferred",
        "mps_wake_at() or mps_halve_cwnd() had it asked again 1024 times in a tick {}: deferred",
    ),
    "refused_calls": (
        "refused_calls",
        "functions were called with a subflow that was gone {}: refused",
    ),
}


def lines(scheduler: str, runs: Sequence[RunFigures | Mapping[str, int]]) -> list[str]:
    """A line for each counter that is not 0 in all runs: scheduler, function, what, how often."""
    found = []
    for name, (_field, text) in _SAID.items():
        count = sum(run[name] or 0 for run in runs)
        if count:
            times = "once" if count == 1 else f"{count:g} times"
            found.append(f"{scheduler}: {text.format(times)}.")
    return found


def counts(ends: Sequence[Samples]) -> dict[str, int]:
    """The counters of all connections at their last samples, at all ends."""
    found = dict.fromkeys(_SAID, 0)
    for records in (end.connection for end in ends):
        for number in np.unique(records["connection"]):
            own = records[records["connection"] == number]
            for name, (field, _text) in _SAID.items():
                found[name] += int(own[field].max())
    return found
