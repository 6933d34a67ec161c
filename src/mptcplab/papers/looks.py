# SPDX-License-Identifier: GPL-2.0-only
"""How schedulers and paths look in the charts of papers: the same on every page.

A page of a paper has more schedulers in a chart than the eight colours of reports tell apart, so
there are twelve here, none of which a path has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mptcplab.papers.catalogue import Experiment
from mptcplab.report.palette import COLOURS, DASHES, MARKERS, Marker, Style

#: The axis of a chart's series that has these styles.
SCHEDULER = "scheduler"

# The first seven of reports, without yellow, and five dark ones.
_COLOURS = (*COLOURS[:6], "#777777", "#882255", "#332288", "#8C510A", "#999933", "#000000")
_MARKERS = (
    *MARKERS,
    Marker("◀", "<", "triangle-left"),
    Marker("▶", ">", "triangle-right"),
    Marker("⬟", "p", "pentagon"),
    Marker("⬢", "h", "hexagon"),
)
# Those of most papers, each with a colour of its own.
_AT_HOME = (
    "default", "minrtt", "roundrobin", "redundant", "blest", "ecf",
    "lte", "otias", "musher", "sttf", "daps", "inorder",
)  # fmt: skip


def looks(charts: Iterable[Sequence[str]], *, are_schedulers: bool = True) -> dict[str, Style]:
    """A style for every label of some charts, no two the same up to 48.

    Those of papers' schedulers are fixed. Another, such as a form of one, gets the first that is
    free, if possible in a colour that no other of its charts has.
    """
    beside: dict[str, set[str]] = {}
    for labels in charts:
        for label in labels:
            beside.setdefault(label, set()).update(labels)
    slots = {label: number for number, label in enumerate(_AT_HOME if are_schedulers else ())}
    for label in beside:
        if label not in slots:
            slots[label] = _free(slots, beside[label])
    return {label: _style(slots[label]) for label in beside}


def of_schedulers(everything: Iterable[Experiment]) -> dict[str, Style]:
    """A style for every scheduler that the charts of some experiments may name, in any part."""
    return looks(
        list(own.axis_values()[SCHEDULER]) for own in everything if own.chart.series == SCHEDULER
    )


def _free(slots: dict[str, int], beside: Iterable[str]) -> int:
    count = len(_COLOURS)
    near = [slots[label] % count for label in beside if label in slots]
    free = sorted(set(range(len(slots) + count + 1)) - set(slots.values()))
    return min(free, key=lambda slot: (near.count(slot % count), slot))


def _style(slot: int) -> Style:
    turn, colour = divmod(slot, len(_COLOURS))
    # each turn pairs the colours with other markers, so that these differ among dashes as well
    marker = _MARKERS[(colour + 5 * turn) % len(_MARKERS)]
    return Style(_COLOURS[colour], marker, DASHES[turn % len(DASHES)])
