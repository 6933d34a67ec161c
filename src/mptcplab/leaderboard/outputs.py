# SPDX-License-Identifier: GPL-2.0-only
"""The leaderboard for people: a table in a terminal, a chart, a part of a page, and a document."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from mptcplab import marked
from mptcplab.leaderboard import SIZE
from mptcplab.leaderboard.play import Asked
from mptcplab.leaderboard.standings import (
    COPIES,
    DELAY,
    GOODPUT,
    LEAST,
    MOST_TIMES,
    Against,
    Board,
    Estimate,
    Reached,
)
from mptcplab.report import draw, palette
from mptcplab.report.catalogue_tables import ruled
from mptcplab.runs import store

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: In the output directory; and the name of the chart there, and beside the page.
DOCUMENT, PICTURE = "leaderboard.json", "leaderboard"
#: The part of the page that is written.
MARK = "make leaderboard"
_HOLDS = {"goodput": "G", "delay": "D", "default": "L", "tcp": "T"}
_ROW_HEIGHT, _FRAME_HEIGHT = 0.24, 1.25  # inches
_WIDTH = 100  # columns
_ALL = 0.9995  # less is shown as less than 100.0 %

RULE = (
    "The order is by the score: the mean, over all scenarios, of what part of the best scheduler's "
    "goodput a scheduler has, or of its promptness (the best's delay / its own); at most 100 %."
)


def table(board: Board) -> Group:
    """A row per scheduler: its figures, above their 95 % intervals. In 100 columns."""
    grid = ruled()
    grid.add_column("Place", justify="right", no_wrap=True)
    grid.add_column("Scheduler", overflow="fold")
    for head in (
        *("Score\n\n%", "Goodput,\nof best's %\nmedian", "\n\np5"),
        *("Delay,\nof best's x\nmedian", "\n\np95", "Below\ndefault\n%, least"),
        *("Below\nTCP\n%, least", "\n\nHolds"),
    ):
        grid.add_column(head, justify="right", no_wrap=True)
    for each in board.standings:
        low, high = each.places
        failed = f"\n{each.failed} failed" if each.failed else ""
        place, score = f"{each.place}\n{low}..{high}", _percent(each.score)
        grid.add_row(place, each.name + failed, score, *_narrow(each))
    grid.add_section()
    for limit in board.limits:
        grid.add_row("", limit.name, "", *_narrow(limit))
    return Group(grid, Text(), *(Text(line) for line in _notes(board)))


def _cells(each: Reached) -> list[str]:
    """What is reached: medians and tails, each with its interval in a second line."""
    return [
        *map(_percent, each.goodput or (None, None)),
        *map(_times, each.delay or (None, None)),
        *(_against(each.default), _against(each.tcp), _holds(each)),
    ]


def _narrow(each: Reached) -> list[str]:
    """The same for a terminal, which has no room for the intervals of tails."""
    cells = _cells(each)
    for tail in (1, 3):
        cells[tail] = cells[tail].partition("\n")[0]
    return cells


def pairs(board: Board) -> list[str]:
    """By how much scores differ, a line for each pair that somebody asked for."""
    return [
        f"{each.first}, score minus the one of {each.second}: {_flat(_percent(each.ahead))[0]}; "
        f"better in {each.higher} scenarios, worse in {each.lower}, same in {each.same}"
        for each in board.pairs
    ]


def text_of(board: Board, what: Asked, name: str, out: Path) -> str:
    """Where a scheduler stands and loses, with the commands that repeat its worst scenarios."""
    own = board.standing(name)
    low, high = own.places
    where = (
        f"{name} is {own.place} of {len(board.standings)} ({low} to {high} with 95 % confidence), "
        f"with {100 * own.score.value:.1f} % of the best of each scenario."
    )
    levels = {factor: each for factor, each in own.worst.levels.items() if each[1] < _ALL}
    scenarios = {number: part for number, part in own.worst.scenarios.items() if part < _ALL}
    if not scenarios:
        return textwrap.fill(f"{where} It loses nowhere.", _WIDTH)
    lines = textwrap.wrap(where, _WIDTH)
    if levels:
        lines.append("It loses most where (median part of the best's):")
    lines += [
        f"  {factor}: {level}, {100 * part:.1f} %"
        for factor, (level, part) in sorted(levels.items(), key=lambda each: each[1][1])
    ]
    lines.append("Its worst scenarios (part of the best's; the command shows both):")
    played = {each.number: each for each in board.played}
    for number, part in scenarios.items():
        each = played[number]
        best = max(what.catalogue, key=lambda other: each.merits[other] or 0.0)
        lines += textwrap.wrap(
            f"{number}: {100 * part:.1f} % of {best}; {each.text}",
            width=_WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        both = ",".join(map(what.spec, dict.fromkeys((name, best))))
        place = out / store.place(each.keys[best]) / store.SCENARIO
        lines.append(f"    mptcplab compare {place} -s {both} --repeat 1")
    return "\n".join(lines)


def write(
    board: Board, what: Asked, builds: Mapping[str, str], failures: Mapping[str, str], out: Path
) -> dict[str, Any]:
    """The document of a leaderboard, also put into `out`."""
    content = {
        "set": what.set_name,
        "scenarios": len(what.drawn),
        "left_out": list(board.left_out),
        "catalogue": list(what.catalogue),
        "rule": RULE,
        "standings": [asdict(each) for each in board.standings],
        "limits": [asdict(each) for each in board.limits],
        "neighbours": [asdict(each) for each in board.neighbours],
        "pairs": [asdict(each) for each in board.pairs],
        "played": [asdict(each) for each in board.played],
        "failures": dict(failures),
        "build": dict(builds),
    }
    store.write_json(out / DOCUMENT, content)
    return content


def write_chart(board: Board, what: Asked, files: Sequence[Path]) -> None:
    """Draw the score, goodput and delay of each scheduler, the first one on top."""
    with draw.drawing():
        from matplotlib.figure import Figure

        names = [each.name for each in board.standings]
        rows = draw.NamedRows(
            [f"{each.place}  {each.name}" for each in board.standings], _ROW_HEIGHT
        )
        height = _FRAME_HEIGHT + _ROW_HEIGHT * rows.height
        figure = Figure(figsize=(draw.WIDTH, height), layout="constrained")
        axes = figure.subplots(1, 3, sharey=True)
        looks = palette.styles(names)
        for axis, (title, least) in zip(axes, _PANELS, strict=True):
            axis.set_xlabel(title, fontsize="small")
            axis.axvline(least, color="0.6", linewidth=0.8, zorder=0)
            axis.grid(axis="x", color="0.9")
            axis.tick_params(axis="y", length=0)
        for place, each in zip(rows.places, board.standings, strict=True):
            look = looks[each.name]
            _bar(axes[0], place, look, each.score, each.score, 100)
            if each.goodput:
                _bar(axes[1], place, look, *each.goodput, 100)
            if each.delay:
                _bar(axes[2], place, look, *each.delay, 1)
        axes[2].set_xscale("log")
        axes[2].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        rows.name(axes[0])
        figure.suptitle(
            f"{len(board.played)} scenarios of the set {what.set_name}; pale: 95 % intervals of "
            "score and medians",
            fontsize="medium",
        )
        for file in files:
            store.write(file, draw.drawn(figure, file.suffix[1:], draw.DOTS_PER_INCH))


_PANELS = (
    ("score, % of the best", 100.0),
    ("goodput, % of the best's:\nmedian, and line to the 5th percentile", 100.0),
    ("delay, times the best's:\nmedian, and line to the 95th percentile", 1.0),
)


def _bar(
    axis: Axes, place: float, look: palette.Style, own: Estimate, tail: Estimate, factor: float
) -> None:
    """A marker, a line to the tail, and the interval of the marker in front of it."""
    value = factor * own.value
    if tail is not own:
        axis.plot(
            [value, factor * tail.value], [place] * 2, color=look.colour, linewidth=1.2,
            linestyle=look.dash.matplotlib, solid_capstyle="butt",
        )  # fmt: skip
    if own.low is not None and own.high is not None:
        ends = [factor * own.low, factor * own.high]
        axis.plot(
            ends, [place] * 2, color=look.colour, linewidth=4, alpha=0.35, solid_capstyle="butt"
        )
    axis.plot(
        [value], [place], color=look.colour, marker=look.marker.matplotlib, markersize=6,
        markeredgecolor="black", markeredgewidth=0.4, linestyle="",
    )  # fmt: skip


def markdown(
    board: Board, what: Asked, command: str, picture: str, builds: Mapping[str, str]
) -> str:
    """The part of a page: the chart, the table, neighbours in pairs, and where each loses.

    The page explains the columns; the template is page.md.j2.
    """
    return marked.rendered(
        Path(__file__).with_name("page.md.j2"),
        board=board,
        what=what,
        command=command,
        picture=picture,
        builds=builds,
        bulk=sum(each.is_goodput for each in board.played),
        factors=list(board.played[0].levels),
        percent=lambda own: _flat(_percent(own))[0],
        columns=_columns,
        COPIES=COPIES,
        SIZE=SIZE,
    )


def _columns(each: Reached) -> str:
    return " | ".join(_flat(*_cells(each)))


def _meanings() -> list[str]:
    goodput, delay = (tuple(f"{x:g}" for x in both) for both in (GOODPUT, DELAY))
    return [
        RULE,
        "The best is the catalogue's best scheduler in each scenario. Goodput covers the scenarios "
        "with bulk data, delay the others; a failed run counts as "
        f"{MOST_TIMES:g} times the best's delay, the most.",
        f"Below: the share of scenarios with less than {100 * LEAST:.0f} % of default, or of plain "
        "TCP over the best path alone (bulk data sent at once), and the lowest result.",
        f"Holds: G goodput at least {goodput[0]} of the best's in the median and {goodput[1]} at "
        f"the 5th percentile, D delay at most {delay[0]} and {delay[1]} times at the 95th, "
        f"L never below {100 * LEAST:.0f} % of default, T never below that of TCP.",
        "Last rows, limits that no choice from the catalogue exceeds: the best in each scenario; "
        f"the best except {COPIES}, which sends everything on each path; and, with --chance, one "
        "run beside the best run of the same scheduler with other seeds, averaged over these runs.",
    ]


def _notes(board: Board) -> list[str]:
    """The meanings of the columns, and notes on these runs, in lines."""
    bulk = sum(each.is_goodput for each in board.played)
    notes = [
        f"Scenarios: {len(board.played)}, {bulk} of them with bulk data. Below figures are their "
        "95 % intervals over scenarios.",
        *_meanings(),
    ]
    if board.left_out:
        numbers = ", ".join(map(str, board.left_out))
        notes.append(f"Left out, since every run failed: scenarios {numbers}.")
    return [line for note in notes for line in textwrap.wrap(note, _WIDTH)]


def _holds(each: Reached) -> str:
    return "".join(
        (letter if each.holds[name] else "-") if name in each.holds else " "
        for name, letter in _HOLDS.items()
    )


def _percent(own: Estimate | None) -> str:
    return _shown(own, lambda value: f"{100 * value:.1f}".removesuffix(".0"))


def _times(own: Estimate | None) -> str:
    return _shown(own, lambda value: f"{value:.2f}" if value < 10 else f"{value:.0f}")


def _shown(own: Estimate | None, form: Any) -> str:
    """A figure, with its interval in a second line."""
    if own is None:
        return "-"
    if own.low is None or own.high is None:
        return str(form(own.value))
    return f"{form(own.value)}\n{form(own.low)}..{form(own.high)}"


def _against(own: Against | None) -> str:
    if own is None:
        return "-"
    return f"{100 * own.below / own.scenarios:.0f}\n{100 * own.worst:.0f}"


def _flat(*cells: str) -> list[str]:
    """Cells of two lines in one each."""
    return [f"{first} ({second})" if second else first
            for first, _, second in (cell.partition("\n") for cell in cells)]  # fmt: skip
