# SPDX-License-Identifier: GPL-2.0-only
"""Tables of the available schedulers, congestion controls and presets of paths."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

from mptcplab.scenario.congestion import CongestionControl
from mptcplab.scenario.presets import Preset
from mptcplab.scenario.scheduler import Parameter, Scheduler

# The columns of the presets' table that both directions share.
_SHARED_KEYS = ("delay", "loss", "queue")

#: A rule under the head and nothing else; ASCII, so that it is the same in every terminal.
RULE = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def ruled() -> Table:
    """A table with a rule under its head, to which columns and rows are added."""
    return Table(box=RULE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


# Between two columns, with the padding.
_GAP = 2


class Fitted:
    """A table without those of its last columns that have no room, which the line below it names.

    Words stay whole. The first `least` columns are always there.
    """

    def __init__(self, table: Table, least: int = 2) -> None:
        self._table, self._least = table, least

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self._table.columns
        widths = [_narrowest(column) for column in columns]
        shown = len(columns)
        while shown > self._least and sum(widths[:shown]) + _GAP * (shown - 1) > options.max_width:
            shown -= 1
        narrow = copy.copy(self._table)
        narrow.columns = columns[:shown]
        yield narrow
        if left_out := [_in_a_line(column) for column in columns[shown:]]:
            yield Text(f"No room for: {'; '.join(left_out)}.")


def _narrowest(column: Column) -> int:
    """The width that a column needs, in characters."""
    split = str.splitlines if column.no_wrap else str.split
    texts = map(str, (column.header, *column.cells))
    return max((len(part) for text in texts for part in split(text)), default=0)


def _in_a_line(column: Column) -> str:
    """The head of a column, without the lines that it is in."""
    return " ".join(str(column.header).replace("-\n", "").split())


def add_numbers(table: Table, *heads: str) -> None:
    """Add columns of numbers, which stand to the right."""
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)


def scheduler_table(schedulers: Iterable[Scheduler]) -> Table:
    """A line per scheduler: its name and what it does."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for scheduler in schedulers:
        table.add_row(Text(scheduler.name), Text(scheduler.summary))
    return table


def congestion_table(known: Iterable[CongestionControl]) -> Table:
    """A line per congestion control: its year, what it does, and what it couples."""
    table = ruled()
    table.add_column("Name", no_wrap=True)
    table.add_column("Year", no_wrap=True)
    table.add_column("What it does", overflow="fold", ratio=3)
    table.add_column("What it couples", overflow="fold", ratio=2)
    for each in known:
        table.add_row(each.name, each.year, Text(each.summary), Text(each.couples))
    return table


def preset_table(presets: Iterable[Preset]) -> Table:
    """A line per preset of a path: its numbers (up/down if they differ), and their sources."""
    table = ruled()
    table.add_column("Preset", no_wrap=True)
    add_numbers(table, "Up", "Down", "Delay", "Loss", "Queue")
    table.add_column("Sources", overflow="fold")
    for preset in presets:
        # A range takes two lines, so that the sources have room in 80 columns.
        numbers = {key: text.replace("..", "..\n") for key, text in preset.numbers().items()}
        sides = [(numbers[f"up.{key}"], numbers[f"down.{key}"]) for key in _SHARED_KEYS]
        shared = [up if up == down else f"{up}/{down}" for up, down in sides]
        sources = Text(", ".join(preset.sources()))
        table.add_row(preset.name, numbers["up.rate"], numbers["down.rate"], *shared, sources)
    return table


def parameter_table(parameters: Iterable[Parameter]) -> Table:
    """A line per parameter: its range, default, unit and meaning."""
    table = ruled()
    for head in ("Parameter", "Range", "Default", "Unit"):
        table.add_column(head, no_wrap=True)
    table.add_column("Meaning", overflow="fold")
    for parameter in parameters:
        table.add_row(
            parameter.name,
            "off, on" if parameter.kind == "bool" else f"{parameter.minimum}..{parameter.maximum}",
            parameter.text(parameter.default),
            Text(parameter.unit),
            Text(parameter.meaning),
        )
    return table
