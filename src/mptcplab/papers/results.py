# SPDX-License-Identifier: GPL-2.0-only
"""The result of a published experiment as text, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mptcplab.papers import tables, wording
from mptcplab.papers.catalogue import QUICK
from mptcplab.papers.claims import Judged
from mptcplab.papers.reproduce import Reproduced
from mptcplab.units import counted


def text(found: Reproduced) -> str:
    """The whole result: tables, and each claim with its verdict, also with today's defaults."""
    own = found.published.experiment
    lines = [f"{found.published.name}: {own.title}", *_how(found)]
    shown = tables.tables(found)
    if beside := tables.beside_paper(found):
        shown.append(beside)
    for table in shown:
        lines += ["", table.title, *tables.columns(table)]
    lines += ["", "Claims"]
    today: Sequence[Judged | None] = found.judged_today or [None] * len(found.judged)
    for judged, also in zip(found.judged, today, strict=True):
        lines += _claim(judged, also)
    return "\n".join(lines)


def _how(found: Reproduced) -> Iterator[str]:
    results = found.results
    seeds = counted(len({results.seed(row) for row in results.rows}), "seed")
    what = found.runs or "published setting"
    runs = counted(sum(not row.is_left_out for row in results.rows), "run")
    yield f"{what}, {runs}, {seeds}; kernel {found.own.provenance.kernel}"
    left_out = Counter(row.lacks for row in results.rows if row.is_left_out)
    for why, count in left_out.items():
        yield f"left out: {counted(count, 'run')}, since {why}"
    if found.part == QUICK and found.published.experiment.quick.says:
        yield f"quick: {found.published.experiment.quick.says}"


def _claim(judged: Judged, today: Judged | None) -> Iterator[str]:
    claim = judged.claim
    sure = wording.how_sure(judged)
    also = f"; today: {wording.verdict(today)}" if today else ""
    yield f"  {claim.name}: {wording.verdict(judged).upper()}{also}{f' ({sure})' if sure else ''}"
    yield f'      "{claim.quote}" ({claim.place}): {claim.says}'
    yield from (f"      {line}" for line in wording.evidence(judged))
    yield from (f"      {line}" for line in wording.reasons(judged))
    yield from (f"      Why: {each.because.says}" for each in judged.because)
