# SPDX-License-Identifier: GPL-2.0-only
"""Puts the verdict on `earliest` into docs/earliest-evaluation.md, from a leaderboard's document.

`make earliest-evaluation` makes the runs and calls this; the page says what the promises are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab import marked
from mptcplab.advice.ranking import resamples
from mptcplab.leaderboard import outputs, standings
from mptcplab.leaderboard.standings import LEAST, REFERENCE, Board, Played

OURS = "earliest"
MARK = "make earliest-evaluation"


def text(document: dict[str, Any]) -> str:
    """The part of the page: a table of the promises, and the scenarios that break one."""
    played = [Played(**each) for each in document["played"]]
    catalogue = document["catalogue"]
    board = standings.board(played, catalogue)
    assert board is not None, "a document has a scenario that counts"
    reachable = [
        each
        for each in board.played
        if each.tcp is not None and max(_part(each, name, each.tcp) for name in catalogue) >= LEAST
    ]
    names = [each.name for each in board.standings]
    rows = [_row(board, reachable, name) for name in names]
    broken = [
        f"| {each.number} | {promise} | {100 * part:.0f} | {below} | {each.text} |"
        for each in board.played
        for promise, part, below in _broken(each, reachable)
    ]
    build = document["build"]
    return "\n".join(
        [
            f"Set {document['set']}: {len(board.played)} scenarios; {len(reachable)} of them are "
            f"bulk data sent at once, in which some scheduler of {len(catalogue)} reaches "
            f"{100 * LEAST:.0f} % of TCP over the best path; kernel `{build['kernel']}`.",
            "",
            "| scheduler | below TCP, % of these | below `default`, % | delay, times the best's:"
            " 95th percentile |",
            "|---|---|---|---|",
            *rows,
            "",
            f"Where `{OURS}` is below, in % of the other one, and with how many of its seeds:",
            "",
            "| scenario | below | % | seeds below | workload and paths |",
            "|---|---|---|---|---|",
            *broken,
            "",
        ]
    )


def _part(each: Played, name: str, other: float | None) -> float:
    return part_of(each.merits[name], other, is_absolute=each.is_absolute)


def part_of(mine: float | None, other: float | None, *, is_absolute: bool) -> float:
    """What part of another's merit one has, as on the leaderboard."""
    if mine is None or not other:
        return 0.0 if mine is None and other is not None else 1.0
    return 1 - (other - mine) if is_absolute else mine / other


def _row(board: Board, reachable: Sequence[Played], name: str) -> str:
    tcp = [_part(each, name, each.tcp) < LEAST for each in reachable]
    default = [_part(each, name, each.merits[REFERENCE]) < LEAST for each in board.played]
    delay = board.standing(name).delay
    tail = "-"
    if delay:
        own = delay[1]
        tail = f"{own.value:.2f}"
        if own.low is not None and own.high is not None:
            tail += f" ({own.low:.2f}..{own.high:.2f})"
    return f"| `{name}` | {_share(tcp)} | {_share(default)} | {tail} |"


def _share(below: Sequence[bool]) -> str:
    """In %, with the 95 % interval over resamples of the scenarios."""
    if not below:
        return "-"
    values = np.array(below, dtype=float)
    low, high = np.quantile(values[resamples(len(values))].mean(axis=1), [0.025, 0.975])
    return f"{100 * values.mean():.1f} ({100 * low:.1f}..{100 * high:.1f})"


def _broken(each: Played, reachable: Sequence[Played]) -> list[tuple[str, float, str]]:
    """The promises that a scenario breaks: beside whom, its part, and the seeds that break it."""
    found = []
    others = {"`default`": each.merits[REFERENCE]} | (
        {"TCP": each.tcp} if each in reachable else {}
    )
    runs = [each.merits[OURS], *each.further.get(OURS, ())]
    for name, other in others.items():
        parts = [part_of(mine, other, is_absolute=each.is_absolute) for mine in runs]
        if parts[0] < LEAST:
            found.append((name, parts[0], f"{sum(p < LEAST for p in parts)} of {len(parts)}"))
    return found


def main() -> None:
    """Read the document in OUT, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m checks.earliest_evaluation")
    parser.add_argument("out", type=Path, help="the directory of mptcplab leaderboard")
    parser.add_argument("page", type=Path)
    arguments = parser.parse_args()
    document = json.loads((arguments.out / outputs.DOCUMENT).read_text(encoding="utf-8"))
    marked.replace(arguments.page, {MARK: text(document)})


if __name__ == "__main__":
    main()
