# SPDX-License-Identifier: GPL-2.0-only
"""The summary of all published experiments: README.md of the results, and claims.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mptcplab.papers import headlines, markdown_page, wording
from mptcplab.papers.claims import ClaimOutcome, Judged, Verdict
from mptcplab.papers.markdown_page import HOW_TO, Section
from mptcplab.papers.tables import Table, markdown

#: The file with every claim, below the folder of the pages.
CLAIMS = "claims.json"

_NOT_RUN = "not run"


def readme(papers: Mapping[str, Sequence[Section]]) -> str:
    """The answer in a minute, and where the details are."""
    sections = [section for group in papers.values() for section in group]
    counts = _count(sections)
    lines = [
        "<!-- Written by `mptcplab papers publish`. -->",
        "# Published results, run again",
        "",
        f"What {len(papers)} papers say of their experiments, tested by running these again: "
        f"{sum(counts.values())} claims, {_words(counts)}. "
        f"[How they are run and judged]({HOW_TO}), [every claim as data]({CLAIMS}), "
        "[the figures of all runs](data).",
        "",
        *markdown(_table(papers)),
        "",
        "*Direction only*: the effect has the sign that the paper reports, but not its size. "
        "*Inconclusive*: the runs do not decide, or the verdict depends on a value that the paper "
        "does not give.",
        "",
    ]
    every = (each for group in papers.values() for each in headlines.filled(group))
    if best := [f"- {each.text}" for each in every if not each.why][: headlines.MOST]:
        lines += ["## What came out", "", *best, ""]
    lines += ["## Details", ""]
    for name, group in papers.items():
        paper = group[0].published.paper
        lines += [f"[{name}]({name}.md): {paper.authors}, {paper.title}, {paper.published}.", ""]
        lines += [*markdown(_figures(name, group)), ""]
    if notes := [
        f"- {section.published.name}: {mark}"
        for section in sections
        for mark in markdown_page.marks(section)
    ]:
        lines += ["## What is missing or stale", "", *notes, ""]
    return "\n".join(lines).rstrip() + "\n"


def claims_json(papers: Mapping[str, Sequence[Section]]) -> str:
    """Every claim by PAPER/FIGURE:NAME, in the published setting and with today's defaults."""
    content = {
        f"{section.published.name}:{claim.name}": {
            "quote": claim.quote,
            "place": claim.place,
            "says": claim.says,
            "holds": claim.holds,
            "direction": claim.direction,
            "runs": _runs(section),
            "published": _outcome(judged, claim.figures) if judged else None,
            "today": _outcome(today, claim.figures) if today else None,
        }
        for group in papers.values()
        for section in group
        for claim, judged, today in section.claims()
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _table(papers: Mapping[str, Sequence[Section]]) -> Table:
    every = [section for group in papers.values() for section in group]
    verdicts = [*Verdict, *([_NOT_RUN] if any(each.found is None for each in every) else [])]
    rows = []
    groups = {f"[{name}]({name}.md)": group for name, group in papers.items()}
    for name, group in (groups | {"all": every}).items():
        counts = _count(group)
        rows.append((name, str(sum(counts.values())), *(str(counts[each]) for each in verdicts)))
    return Table("", ("paper", "claims", *verdicts), tuple(rows))


def _figures(paper: str, group: Sequence[Section]) -> Table:
    """A row for each figure of a paper: its verdicts, and today's if they were judged."""
    rows = []
    for section in group:
        of_today = Counter(today.verdict for *_, today in section.claims() if today)
        today = _words({verdict: of_today[verdict] for verdict in Verdict}) or "-"
        quick = " (quick runs)" if section.found and section.found.quick else ""
        place = f"[{section.figure}]({paper}.md#{section.figure})"
        title = section.published.experiment.title
        rows.append((place, title + quick, _words(_count([section])), today))
    return Table("", ("figure", "what", "published setting", "today"), tuple(rows))


def _count(sections: Sequence[Section]) -> dict[str, int]:
    """How many claims have each verdict, or none."""
    found = Counter(
        str(judged.verdict) if judged else _NOT_RUN
        for section in sections
        for _, judged, _ in section.claims()
    )
    return {name: found[name] for name in (*Verdict, _NOT_RUN)}


def _words(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _runs(section: Section) -> str:
    """Which runs a claim was judged by, in a word."""
    if section.found is None:
        return "to be run again" if section.outdated else _NOT_RUN
    return f"{section.found.part}{', stale' if section.found.part in section.stale else ''}"


def _outcome(outcome: ClaimOutcome, figures: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "verdict": outcome.verdict,
        "p_holds": outcome.p_holds,
        "p_direction": outcome.p_direction,
        "samples": outcome.samples,
        "figures": {
            name: {
                "says": figure.says or name,
                "unit": figure.unit,
                "paper": figure.paper,
                "ours": outcome.ours.get(name),
                "interval": outcome.intervals.get(name),
            }
            for name, figure in figures.items()
        },
        "reasons": list(outcome.reasons),
    }
    if isinstance(outcome, Judged):
        found["provisional"] = outcome.provisional
        found["not_varied"] = list(outcome.not_varied)
        found["because"] = [wording.sentence(each.because.says) for each in outcome.because]
        found["not_shown"] = [
            {"says": each.because.says, "why": each.why}
            for each in outcome.explained
            if not each.shown
        ]
        found["by_part"] = {name: each.verdict for name, each in outcome.by_variant.items()}
    return found
