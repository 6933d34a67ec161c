# SPDX-License-Identifier: GPL-2.0-only
"""A comparison of two kernels for people: the first differences, and the sizes of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from rich.console import Group
from rich.table import Table

from mptcplab.formulas.amounts import text_of
from mptcplab.kernel_comparison.document import (
    Compared,
    Comparison,
    FigureDifference,
    PacketDifference,
    RecordDifference,
)
from mptcplab.metrics.views import shown_metrics
from mptcplab.report.catalogue_tables import ruled
from mptcplab.units import counted

# Further scenarios, and fields of a packet, are only counted.
_MOST, _FIELDS = 3, 3


def verdict(of: Compared) -> str:
    """The verdict on a scenario, in a line."""
    first = first_difference(of)
    if of.verdict == "same":
        return "same"
    if of.verdict == "differs":
        return f"differs: {first}"
    if of.verdict == "random":
        return f"differs, perhaps by random numbers alone: {first}"
    return f"{of.verdict}: {str(of.reason).splitlines()[0]}"


def first_difference(of: Compared) -> str:
    """The first difference, in words; empty if all is the same."""
    if of.packets:
        return _packet(of.packets[0])
    if of.records:
        return _record(of.records[0])
    return _figure(of.figures[0]) if of.figures else ""


def tables(made: Comparison) -> Group:
    """Each first difference with its scenarios, and each figure that tables of runs show with the
    scenario in which it differs most; the largest differences come first.
    """
    unlike = sorted(made.having("differs", "random"), key=lambda each: -_size(each))
    parts: list[Table | str] = []
    if unlike:
        by_first: dict[str, list[Compared]] = {}
        for each in unlike:
            by_first.setdefault(first_difference(each), []).append(each)
        firsts = ruled()
        firsts.add_column("First difference", ratio=1)
        firsts.add_column("in", justify="right")
        firsts.add_column("scenarios", ratio=1, overflow="fold")
        for first, those in by_first.items():
            firsts.add_row(first, str(len(those)), _names(those))
        parts.append(firsts)
    if any(_shown(each) for each in unlike):
        parts += ["", _figures(unlike, made)]
    return Group(*parts)


def lines(made: Comparison) -> Iterator[str]:
    """The numbers of scenarios with each verdict; the parts that were not compared, and why."""
    if any(each.figures for each in made.scenarios):
        yield "all figures: --json or the document; mptcplab results schema defines them"
    if made.but:
        yield f"fields of packets left out: {', '.join(made.but)}"
    if made.having("random"):
        yield "* decides by random numbers, which depend on the build of the kernel"
    reasons = Counter(each.reason for each in made.having("skipped"))
    for reason, count in reasons.items():
        yield f"skipped: {counted(count, 'scenario')}: {reason}"
    for each in made.having("failed"):
        yield f"failed:  {each.scenario}: {str(each.reason).splitlines()[0]}"
    yield outcome(made)


def outcome(made: Comparison) -> str:
    """The verdicts on all scenarios together, in a line."""
    same, unlike, random = (made.having(which) for which in ("same", "differs", "random"))
    counts = [f"{len(same)} same", f"{len(unlike)} differ"]
    if unlike:
        counts.append(f"{sum(bool(each.packets) for each in unlike)} of these in packets")
    if random:
        counts.append(f"{len(random)} differ, perhaps at random")
    compared = counted(len(same) + len(unlike) + len(random), "scenario")
    return f"{made.a} and {made.b}: of {compared}, {', '.join(counts)}"


def _shown(of: Compared) -> list[FigureDifference]:
    """The figures of the run that tables show."""
    names = shown_metrics(of.workload)
    return [each for each in of.figures if each.figure in names]


def _figures(unlike: Sequence[Compared], made: Comparison) -> Table:
    by_name: dict[str, list[tuple[FigureDifference, Compared]]] = {}
    for of in unlike:
        for figure in _shown(of):
            by_name.setdefault(figure.figure, []).append((figure, of))
    largest = [max(those, key=lambda each: each[0].size) for those in by_name.values()]
    table = ruled()
    table.add_column("Figure", no_wrap=True)
    table.add_column("in", justify="right")
    table.add_column("most in", ratio=1, overflow="fold")
    for head in (made.a.name, made.b.name, "Change"):
        table.add_column(head, justify="right", no_wrap=True)
    for figure, of in sorted(largest, key=lambda each: -each[0].size):
        count = str(len(by_name[figure.figure]))
        a, b = (_amount(value, figure.unit) for value in (figure.a, figure.b))
        table.add_row(figure.figure, count, of.scenario + _mark(of), a, b, _change(figure))
    return table


def _names(those: Sequence[Compared]) -> str:
    shown = [each.scenario + _mark(each) for each in those[:_MOST]]
    if len(those) > _MOST:
        shown.append(f"and {len(those) - _MOST} more")
    return "; ".join(shown)


def _mark(of: Compared) -> str:
    return "*" if of.verdict == "random" else ""


def _size(of: Compared) -> float:
    """The largest difference among the figures that are shown."""
    return max((each.size for each in _shown(of)), default=0.0)


def _amount(value: float | None, unit: str) -> str:
    return "-" if value is None else text_of(value, unit)


def _change(figure: FigureDifference) -> str:
    return "-" if figure.change is None else f"{100 * figure.change:+.3g} %"


def _packet(found: PacketDifference) -> str:
    kinds = " / ".join(dict.fromkeys(each or "none" for each in (found.a, found.b)))
    fields = [f"{name} {a} / {b}" for name, (a, b) in found.fields.items()]
    further = f", and {len(fields) - _FIELDS} more" if len(fields) > _FIELDS else ""
    where = PurePath(found.capture).stem
    text = f"{found.time_s * 1e3:.6f} ms, {found.path} {found.direction} at {where}, "
    text += f"packet {found.number} ({kinds})"
    return f"{text}: {', '.join(fields[:_FIELDS])}{further}" if fields else text


def _record(found: RecordDifference) -> str:
    when = "" if found.time_s is None else f"{found.time_s * 1e3:.0f} ms, "
    fields = ", ".join(f"{name} {a} / {b}" for name, (a, b) in [*found.fields.items()][:_FIELDS])
    text = f"{when}no packet, but {' '.join(filter(None, (found.file, found.kind)))}"
    return f"{text}: {fields}" if fields else text


def _figure(found: FigureDifference) -> str:
    a, b = _amount(found.a, found.unit), _amount(found.b, found.unit)
    return f"no packet, but {found.figure}: {a} / {b}"
