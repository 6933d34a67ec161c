# SPDX-License-Identifier: GPL-2.0-only
"""The tables of docs/fidelity.md: one for each flavour of the distribution's kernel."""

from __future__ import annotations

from collections.abc import Sequence

from checks.stock import early
from checks.stock.compare import Compared, Spread
from checks.stock.early import Equal
from checks.stock.rows import Row, Table
from checks.tables import markdown as page_table

_HEADINGS = (
    *("Mbit/s, ms one way", "package", "on a CPU half as fast", "lab", "the lab is off by"),
    "equal to the byte for / but for CPU time; the package to itself on that CPU",
)


def markdown(tables: Sequence[Table]) -> str:
    """The tables, each with a line of totals."""
    return "\n".join(_section(table) for table in tables)


def _section(table: Table) -> str:
    flavour, stock = table.kernel.flavour, table.kernel.stock
    assert stock is not None
    cells = (
        (row.setting.name, *(_side(row, side) for side in _SIDES), _off(row), _early(row))
        for row in table.rows
    )
    return (
        f"### {flavour}\n\nDebian's `{flavour}` kernel, package {stock.version}, beside the lab's "
        f"kernel `{table.lab.variant}`. {summary(table)}\n\n{page_table(_HEADINGS, cells)}"
    )


_SIDES = ("stock", "slower", "lab")


def summary(table: Table) -> str:
    """How many settings are within the bounds, and how many are not."""
    rows = table.rows
    holds, differs = sum(row.holds for row in rows), sum(row.differs for row in rows)
    cpu_time = sum(row.is_of_cpu_time for row in rows)
    start = sum(row.is_of_start for row in rows)
    chance = len(rows) - holds - differs - cpu_time - start
    short = sum(not row.begins_equal for row in rows)
    shorter = sum(not row.begins_as_itself for row in rows)
    return (
        f"Of {len(rows)} settings {holds} are within the bounds, {chance} are beyond one by what "
        f"may be chance, {cpu_time} by what CPU time makes, {start} by when data begins, and "
        f"{differs} differ; {short} are "
        f"equal for less than {early.WANTED_S} s at first, {shorter} of them for less than the "
        "package to itself on the slower CPU."
    )


def _side(row: Row, side: str) -> str:
    """Median and range of each figure of one side."""
    found = [(name, getattr(figure, side)) for name, figure in row.figures]
    texts = [_spread(name, each) for name, each in found if each]
    return "; ".join([*texts, f"n {found[0][1].n}"]) if texts else "-"


_DIGITS = {"goodput": 1, "retransmitted": 0}


def _spread(name: str, spread: Spread) -> str:
    digits = _DIGITS.get(name, 3)
    median, lowest, highest = (
        f"{value:.{digits}f}" for value in (spread.median, spread.lowest, spread.highest)
    )
    return median if lowest == highest else f"{median} [{lowest}..{highest}]"


def _off(row: Row) -> str:
    found = [_difference(name, figure) for name, figure in row.figures]
    states = "".join(
        f"<br>{state.value:.3g}: {state.stock} of {row.value.stock.n}, "
        f"{state.lab} of {row.value.lab.n}"
        for state in row.value.states
    )
    return "; ".join(found) + states


def _difference(name: str, figure: Compared) -> str:
    off = f"{name} {_signed(name, figure.difference)}"
    if figure.holds:
        return off
    if figure.differs:
        return f"**{off}**"
    if figure.is_told_apart and figure.is_of_start:
        assert figure.late is not None
        return f"{off} (start: {_spread(name, figure.late)} with data as late)"
    if figure.is_told_apart:
        return f"{off} (CPU time)"
    return f"{off} (p {figure.p:.2g})" if figure.p is not None else f"{off} (too few runs)"


def _signed(name: str, difference: float) -> str:
    return f"{difference:+.3f}" if name == "share" else f"{100 * difference:+.1f} %"


def _early(row: Row) -> str:
    """Equal at the same times, and except for CPU time; the best of all pairs, and the worst."""
    found = " / ".join(_of_pairs(row, each) for each in (row.early, row.close))
    best = early.best(row.close)
    text = found if best.whole else f"{found}, then {best.first}"
    if row.itself:
        text += f"; {_of_pairs(row, row.itself)}"
    return text if row.begins_as_itself else f"**{text}**"


def _of_pairs(row: Row, pairs: Sequence[Equal]) -> str:
    best = early.best(pairs)
    least = min(pairs, key=lambda each: (each.whole, each.seconds))
    if least.whole:
        return _for(row, least)
    first = "" if best == least or best.seconds == least.seconds else f"{least.seconds:.1f} to "
    return first + _for(row, best)


def _for(row: Row, pair: Equal) -> str:
    if pair.whole and row.setting.is_transfer:
        return "all"
    return f"{pair.seconds:.1f} s" + (" and more" if pair.whole else "")
