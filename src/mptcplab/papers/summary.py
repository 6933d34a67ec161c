# SPDX-License-Identifier: GPL-2.0-only
"""The summary of all published experiments: README.md of the results, and claims.json.

The template of README.md is summary.md.j2.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mptcplab.formulas.formula import Formula, FormulaError
from mptcplab.papers import markdown_page, wording
from mptcplab.papers.catalogue import Claim, Headline
from mptcplab.papers.claims import ClaimOutcome, Judged, Verdict
from mptcplab.papers.markdown_page import Section
from mptcplab.papers.samples import Scope
from mptcplab.papers.tables import Table

#: The file with every claim, below the folder of the pages.
CLAIMS = "claims.json"
_FIGURE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Filled:
    """A headline with its figures filled in; `why` says why it cannot be shown, if so."""

    headline: Headline
    text: str = ""
    why: str = ""


def readme(papers: Mapping[str, Sequence[Section]]) -> str:
    """The answer in a minute, and where the details are."""
    sections = [section for group in papers.values() for section in group]
    shown = {
        name: found
        for name, group in papers.items()
        if (found := [each for each in headlines(group) if not each.why])
    }
    return markdown_page.rendered(
        "summary.md.j2",
        CLAIMS=CLAIMS,
        papers=papers,
        counts=_count(sections),
        verdicts=_table,
        headlines=shown,
        figures=_figures,
        kernels=markdown_page.kernels(sections),
        partings=_partings(papers),
        notes=[(section, mark) for section in sections for mark in section.marks()],
    )


def headlines(sections: Sequence[Section]) -> Iterator[Filled]:
    """The headlines of a paper, given all its experiments."""
    by_figure = {section.figure: section for section in sections}
    for headline in sections[0].published.paper.headline:
        try:
            texts = dict(_in_words(headline, by_figure))
            unknown = {*_FIGURE.findall(headline.says)} - texts.keys()
            if unknown:
                raise FormulaError(f"no figure {', '.join(sorted(unknown))}")
            text = headline.says
            for name, figure in texts.items():
                text = text.replace(f"{{{name}}}", figure)
            yield Filled(headline, text + _behind(headline, by_figure))
        except FormulaError as error:
            yield Filled(headline, why=str(error))


def _in_words(headline: Headline, by_figure: Mapping[str, Section]) -> Iterator[tuple[str, str]]:
    """The figures of a headline, by name."""
    for name, figure in headline.figures.items():
        section = by_figure.get(figure.of)
        if section is None:
            raise FormulaError(f"{name}: no experiment {figure.of}")
        if section.found is None:
            raise FormulaError(f"{name}: {section.published.name} has not been run")
        found = section.found
        scope = Scope({part: ran.results for part, ran in found.ran.items()}, found.part)
        value: Any = Formula(figure.value).value(scope.names, scope.functions)
        yield name, wording.with_unit(wording.number(value, 3), figure.unit)


def _behind(headline: Headline, by_figure: Mapping[str, Section]) -> str:
    """The verdict on the claim, with a link to it."""
    if not headline.claim:
        return ""
    figure, _, name = headline.claim.partition(":")
    section = by_figure.get(figure)
    for found, judged, _ in section.claims() if section else ():
        if found.name == name and section is not None and judged is not None:
            paper = section.published.name.split("/")[0]
            return f" [{wording.verdict(judged)}]({paper}.md#{section.anchor(found)})"
    raise FormulaError(f"no judged claim {headline.claim}")


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
            **_of_kernels(section, claim),
        }
        for group in papers.values()
        for section in group
        for claim, judged, today in section.claims()
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _of_kernels(section: Section, claim: Claim) -> dict[str, Any]:
    """The same with each other kernel that has runs of it."""
    found = {
        kernel: {"runs": _runs(section, kernel), **_outcome(judged, claim.figures)}
        for kernel in section.beside
        if (judged := section.judged_by(kernel, claim))
    }
    return {"kernels": found} if found else {}


def _partings(papers: Mapping[str, Sequence[Section]]) -> Table:
    """The claims that hold on one kernel alone."""
    rows = tuple(
        (f"[{section.figure}:{claim.name}]({paper}.md#{section.anchor(claim)})", claim.quote, word)
        for paper, group in papers.items()
        for section in group
        for claim, judged, _ in section.claims()
        for word in section.partings(claim, judged)
    )
    return Table("", ("claim", "the paper", "where it holds"), rows)


def _table(papers: Mapping[str, Sequence[Section]]) -> Table:
    every = [section for group in papers.values() for section in group]
    verdicts = [*Verdict, *([wording.NOT_RUN] if any(each.found is None for each in every) else [])]
    rows = []
    groups = {f"[{name}]({name}.md)": group for name, group in papers.items()}
    for name, group in (groups | {"all": every}).items():
        counts = _count(group)
        rows.append((name, str(sum(counts.values())), *(str(counts[each]) for each in verdicts)))
    for kernel in markdown_page.kernels(every):
        counts = _count([each for each in every if kernel in each.beside], kernel)
        name = f"with runs on {kernel}"
        rows.append((name, str(sum(counts.values())), *(str(counts[each]) for each in verdicts)))
    return Table("", ("paper", "claims", *verdicts), tuple(rows))


def _figures(paper: str, group: Sequence[Section]) -> Table:
    """A row for each figure of a paper: its verdicts, today's if they were judged, and those with
    each other kernel.
    """
    rows, kernels = [], markdown_page.kernels(group)
    for section in group:
        of_today = Counter(today.verdict for *_, today in section.claims() if today)
        today = wording.counts({verdict: of_today[verdict] for verdict in Verdict}) or "-"
        runs = f" ({section.found.runs})" if section.found and section.found.runs else ""
        place = f"[{section.figure}]({paper}.md#{section.figure})"
        title = section.published.experiment.title
        others = (wording.counts(_count([section], kernel)) for kernel in kernels)
        rows.append((place, title + runs, wording.counts(_count([section])), today, *others))
    head = ("figure", "what", "published setting", "today", *kernels)
    return Table("", head, tuple(rows))


def _count(sections: Sequence[Section], kernel: str = "") -> dict[str, int]:
    """How many claims have each verdict, or none, with the lab's kernel or another one."""
    found = Counter(
        str(each.verdict) if each else wording.NOT_RUN
        for section in sections
        for claim, judged, _ in section.claims()
        for each in [section.judged_by(kernel, claim) if kernel else judged]
    )
    return {name: found[name] for name in (*Verdict, wording.NOT_RUN)}


def _runs(section: Section, kernel: str = "") -> str:
    """Which runs a claim was judged by, in a word, with the lab's kernel or another one."""
    found = section.beside[kernel] if kernel else section.found
    if found is None:
        return "to be run again" if "" in section.outdated else wording.NOT_RUN
    return f"{found.part}{', stale' if (kernel, found.part) in section.stale else ''}"


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
        found["draws"] = {name: asdict(each) for name, each in outcome.draws.items()}
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
