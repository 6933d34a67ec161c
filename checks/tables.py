# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the checks: for pages of the docs, and for terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Column, Table


def markdown(
    headings: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: bool = False
) -> str:
    """A table of a page, with a line for each row; `numbers`: all columns but the first are."""
    rule = "|---" + ("|---:" if numbers else "|---") * (len(headings) - 1) + "|\n"
    head, *lines = (f"| {' | '.join(map(str, cells))} |\n" for cells in (headings, *rows))
    return "".join([head, rule, *lines])


def plain(*headings: str, numbers: Sequence[str] = ()) -> Table:
    """A table without a frame; columns with `numbers` follow, whose cells end at the right."""
    right = (Column(heading, justify="right") for heading in numbers)
    return Table(*headings, *right, box=None, pad_edge=False)


def show(table: Table, width: int) -> None:
    """Print a table as it is, `width` columns wide unless a terminal says otherwise."""
    size = None if sys.stdout.isatty() else width
    Console(highlight=False, markup=False, emoji=False, width=size).print(table)
