# SPDX-License-Identifier: GPL-2.0-only
"""How often the framework overruled a scheduler, or refused its calls: a line for each counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mptcplab.metrics import recorded
from mptcplab.metrics.definitions import RUN_METRICS, RunFigures
from mptcplab.metrics.records import Samples

#: The text for each of these figures of a run.
_TEXTS = {
    "refused_picks": "next_segment() picked what makes no sense {}: refused",
    "forced_picks": (
        "next_segment() let nothing leave with nothing in flight {}: a segment was sent for it"
    ),
    "forced_reinjections": (
        "get_subflow() named no usable path {}: the oldest segment was sent again in its place"
    ),
    "deferred_questions": (
        "mps_wake_at() or mps_halve_cwnd() had it asked again 1024 times in a tick {}: deferred"
    ),
    "refused_calls": "functions were called with a subflow that was gone {}: refused",
}
#: Their fields in the records of connections.
_FIELDS = {
    each.name: each.recipe.field for each in RUN_METRICS if each.name in _TEXTS and each.recipe
}


def lines(scheduler: str, runs: Sequence[RunFigures | Mapping[str, int]]) -> list[str]:
    """A line for each counter that is not 0 in all runs: scheduler, function, what, how often."""
    found = []
    for name, text in _TEXTS.items():
        count = sum(run[name] or 0 for run in runs)
        if count:
            times = "once" if count == 1 else f"{count:g} times"
            found.append(f"{scheduler}: {text.format(times)}.")
    return found


def counts(ends: Sequence[Samples]) -> dict[str, int]:
    """The counters of all connections at their last samples, at all ends."""
    parts = [part for end in ends for part in recorded.by_connection(end.connection)]
    return {
        name: sum(recorded.total(part, field) for part in parts) for name, field in _FIELDS.items()
    }
