# SPDX-License-Identifier: GPL-2.0-only
"""The colours and markers of all pictures, so that they mean the same in each.

A path has a colour, a scheduler another colour and a marker: none is of both. Where the eight
colours of schedulers do not suffice, a line is dashed and its bar hatched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Formats of pictures; the first is the default.
FORMATS = ("png", "svg", "pdf")

# Okabe & Ito, "Color Universal Design" (2008), which colour-blind people can distinguish; black is
# kept for the total. Yellow comes last because it is faint on white.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999", "#F0E442",
)  # fmt: skip
#: Of paths, in their order, and none of a scheduler. The first four are distinct for any colour
#: vision.
PATH_COLOURS = (
    "#7B3294", "#66A61E", "#00B3BF", "#511414", "#2424D6", "#E31A1C", "#B2DF8A", "#6DE0F7",
)  # fmt: skip
#: Of what belongs to no path alone, such as a connection.
TOTAL_COLOUR = "#000000"


def format_of(file: Path) -> str | None:
    """The format that the name of a file ends with, in small letters; None for other names, and
    for directories.
    """
    form = file.suffix[1:]
    return form if form in FORMATS and not file.is_dir() else None


@dataclass(frozen=True)
class Marker:
    """A marker as text, and by its names in Matplotlib and Plotly."""

    text: str
    matplotlib: str
    plotly: str


# One for each colour, for readers who cannot distinguish the colours.
MARKERS = (
    Marker("●", "o", "circle"),
    Marker("■", "s", "square"),
    Marker("▲", "^", "triangle-up"),
    Marker("◆", "D", "diamond"),
    Marker("▼", "v", "triangle-down"),
    Marker("✚", "P", "cross"),
    Marker("✖", "X", "x"),
    Marker("★", "*", "star"),
)


@dataclass(frozen=True)
class Dash:
    """A line's dash and the hatch of its bar, in the words of Matplotlib and Plotly."""

    matplotlib: str
    plotly: str
    hatch: str
    pattern: str


# One for each time that the colours are used up.
DASHES = (
    Dash("-", "solid", "", ""),
    Dash("--", "dash", "///", "/"),
    Dash(":", "dot", "...", "."),
    Dash("-.", "dashdot", "xxx", "x"),
)


@dataclass(frozen=True)
class Style:
    """How a scheduler is drawn."""

    colour: str
    marker: Marker
    dash: Dash


# The schedulers of most comparisons, which have fixed colours, and those of most papers.
_AT_HOME = ("default", "minrtt", "roundrobin", "redundant", "blest", "ecf", "lte", "otias")
_IN_PAPERS = (*_AT_HOME, "musher", "sttf", "daps", "inorder")
# A page of a paper has more schedulers in a chart than the eight colours tell apart: twelve, none
# of which a path has. The first seven are those above, without yellow, and five are dark.
_COLOURS_IN_PAPERS = (
    *COLOURS[:6], "#777777", "#882255", "#332288", "#8C510A", "#999933", "#000000",
)  # fmt: skip
_MARKERS_IN_PAPERS = (
    *MARKERS,
    Marker("◀", "<", "triangle-left"),
    Marker("▶", ">", "triangle-right"),
    Marker("⬟", "p", "pentagon"),
    Marker("⬢", "h", "hexagon"),
)


def styles(schedulers: Iterable[str], outputs: Sequence[str] = ()) -> dict[str, Style]:
    """A style for each of some schedulers, by their labels, whatever order they are given in.

    No two are the same up to 32. Those that are compared most keep theirs from report to report;
    others get the first free one, a colour of their own as long as there is one. Labels that end
    with one of `outputs`, as "blest (OUTPUT)", have the colour and the marker of their scheduler,
    and the dash of their output.
    """
    given = {label: apart(label, outputs) for label in schedulers}
    labels = sorted({scheduler for scheduler, _ in given.values()})
    slots = {label: _AT_HOME.index(label) for label in labels if label in _AT_HOME}
    taken = set(slots.values())
    for label in labels:
        if label not in slots:
            slots[label] = min(set(range(len(taken) + 1)) - taken)
            taken.add(slots[label])
    return {label: _style(slots[scheduler], number) for label, (scheduler, number) in given.items()}


def apart(label: str, outputs: Sequence[str]) -> tuple[str, int]:
    """The scheduler of a label, and the number of the output that the label ends with, else 0."""
    for number, output in enumerate(outputs):
        if output and label.endswith(end := f" ({output})"):
            return label.removesuffix(end), number
    return label, 0


def _style(slot: int, output: int) -> Style:
    turn, colour = divmod(slot, len(COLOURS))
    # each turn pairs the colours with other markers, so that these differ among dashes as well
    marker = MARKERS[(colour + turn) % len(MARKERS)]
    return Style(COLOURS[colour], marker, DASHES[(turn + output) % len(DASHES)])


def paper_styles(
    charts: Iterable[Collection[str]], *, are_schedulers: bool = True
) -> dict[str, Style]:
    """A style for every label of some charts, no two the same up to 48.

    Those of papers' schedulers are fixed. Another, such as a form of one, gets the first that is
    free, if possible in a colour that no other of its charts has.
    """
    beside: dict[str, set[str]] = {}
    for labels in charts:
        for label in labels:
            beside.setdefault(label, set()).update(labels)
    slots = {label: number for number, label in enumerate(_IN_PAPERS if are_schedulers else ())}
    for label in beside:
        if label not in slots:
            slots[label] = _free(slots, beside[label])
    return {label: _paper_style(slots[label]) for label in beside}


def _free(slots: dict[str, int], beside: Iterable[str]) -> int:
    count = len(_COLOURS_IN_PAPERS)
    near = [slots[label] % count for label in beside if label in slots]
    free = sorted(set(range(len(slots) + count + 1)) - set(slots.values()))
    return min(free, key=lambda slot: (near.count(slot % count), slot))


def _paper_style(slot: int) -> Style:
    turn, colour = divmod(slot, len(_COLOURS_IN_PAPERS))
    marker = _MARKERS_IN_PAPERS[(colour + 5 * turn) % len(_MARKERS_IN_PAPERS)]
    return Style(_COLOURS_IN_PAPERS[colour], marker, DASHES[turn % len(DASHES)])
