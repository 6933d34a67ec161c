# SPDX-License-Identifier: GPL-2.0-only
"""The page of a paper: each of its figures with chart and numbers, and a section for each claim.

The template is paper.md.j2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mptcplab import marked
from mptcplab.papers import catalogue, data, reproduce, tables, wording
from mptcplab.papers.catalogue import Claim, Published
from mptcplab.papers.claims import ClaimOutcome, Explained, Judged, Verdict
from mptcplab.papers.data import Track
from mptcplab.papers.reproduce import Reproduced
from mptcplab.papers.tables import Table
from mptcplab.units import counted

#: The page that says how experiments are run and judged, as seen from a page.
HOW_TO = "../papers.md"


@dataclass(frozen=True)
class Section:
    """An experiment on the page of its paper.

    `found` is None if it was not run, or is to be run again. `outdated` has the parts that were run
    before the file changed, by the kernel, "" for the lab's. `stale` lists by kernel and part what
    has changed since it was run; `tracks` are the lines of a chart over time. `beside` has the
    results with other kernels, by their names.
    """

    published: Published
    found: Reproduced | None = None
    outdated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stale: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    tracks: Sequence[Track] = ()
    beside: Mapping[str, Reproduced] = field(default_factory=dict)

    @property
    def figure(self) -> str:
        return self.published.name.split("/")[1]

    def has_chart(self) -> bool:
        """A chart over time needs the series of runs, which data of old runs may lack."""
        return self.published.experiment.chart.kind != "time" or bool(self.tracks)

    def claims(self) -> list[tuple[Claim, Judged | None, Judged | None]]:
        """Each claim, judged in the published setting, and with today's defaults."""
        own = self.published.experiment.claim
        found = self.found
        there = found.judged if found else [None] * len(own)
        today = found.judged_today if found and found.judged_today else [None] * len(own)
        return list(zip(own, there, today, strict=True))

    def judged_by(self, kernel: str, claim: Claim) -> Judged | None:
        """A claim with another kernel; None if it has no runs."""
        every = self.beside[kernel].judged if kernel in self.beside else ()
        return next((each for each in every if each.claim is claim), None)

    def partings(self, claim: Claim, judged: Judged | None) -> list[str]:
        """Where the lab's kernel and another one part over a claim."""
        theirs = ((kernel, self.judged_by(kernel, claim)) for kernel in self.beside)
        return [*filter(None, (wording.parting(judged, each, name) for name, each in theirs))]

    def anchor(self, claim: Claim) -> str:
        """The anchor of a claim on its page."""
        return f"{self.figure}-{claim.name}"

    def drawn_runs(self) -> dict[str, str]:
        """The runs of a chart over time, and their places in it."""
        return {
            each.run: ", ".join(filter(None, (each.series, each.panel))) for each in self.tracks
        }

    def marks(self) -> list[str]:
        """Notes before the numbers: parts that are missing, stale, or to be run again."""
        lines = []
        ours, outdated = self.found.runs if self.found else "", self.outdated.get("", ())
        if self.found is None:
            here = " on today's kernel" if self.beside else ""
            why = f"to be run again{here}, since the experiment has changed"
            what = why if outdated else f"not run yet{here}"
            again = reproduce.command(self.published, catalogue.PUBLISHED)
            lines.append(f"**{wording.sentence(what)}** `{again}`")
        elif ours:
            says = self.published.experiment.quick.says
            lines.append(f"**{ours.capitalize()} only.** {says}".rstrip())
        for part in outdated if self.found else ():
            again = reproduce.command(self.published, part)
            lines.append(
                f"**To be run again:** {part}, since the experiment has changed; its runs are not "
                f"judged. `{again}`"
            )
        for kernel, found in self.beside.items():
            if found.runs and not ours:
                lines.append(f"**{found.runs.capitalize()} only on {kernel}.**")
        for kernel in filter(None, self.outdated):
            parts = ", ".join(self.outdated[kernel])
            lines.append(f"**To be run again on {kernel}:** {parts}; not judged.")
        for (kernel, part), changed in self.stale.items():
            what = f"{part}{wording.on(kernel)}"
            lines.append(f"**Stale:** {what} was run with another {'; '.join(changed)}.")
        missing = self.found.missing if self.found else ()
        if left := [part for part in missing if part not in outdated]:
            runs = counted(sum(self.published.experiment.part(part).runs() for part in left), "run")
            again = f"mptcplab papers run {self.published.name} --variants"
            lines.append(f"Not run yet: {', '.join(left)}; {runs}. `{again}`")
        return lines


def kernels(sections: Iterable[Section]) -> list[str]:
    """The names of the other kernels of some experiments."""
    return sorted({kernel for section in sections for kernel in section.beside})


def by_paper(sections: Sequence[Section]) -> dict[str, list[Section]]:
    papers: dict[str, list[Section]] = {}
    for each in sections:
        papers.setdefault(each.published.name.split("/")[0], []).append(each)
    return papers


def page(sections: Sequence[Section]) -> str:
    """All figures of a paper."""
    return rendered(
        "paper.md.j2",
        sections=sections,
        catalogue=catalogue,
        data=data,
        tables=tables,
        wording=wording,
        contents=_contents,
        kernels=kernels(sections),
        reasons=_reasons,
        runs=_runs,
        data_links=_data_links,
        settings=_settings,
        values=values,
        other_values=_other_values,
    )


def rendered(template: str, folder: Path = Path(__file__).parent, **names: Any) -> str:
    """A page made from one of the templates in a folder, those here or a caller's."""
    filters = {
        "markdown": tables.markdown,
        "number": wording.number,
        "sentence": wording.sentence,
        "words": wording.counts,
    }
    page = marked.rendered(folder / template, filters, HOW_TO=HOW_TO, **names)
    return page.rstrip() + "\n"


def _contents(sections: Sequence[Section]) -> Table:
    others = kernels(sections)
    rows = [
        (
            f"[{section.figure}](#{section.figure})",
            f"[{claim.name}](#{section.anchor(claim)})",
            *map(wording.verdict, (judged, today)),
            *(wording.verdict(section.judged_by(kernel, claim)) for kernel in others),
            *(["; ".join(section.partings(claim, judged))] if others else []),
        )
        for section in sections
        for claim, judged, today in section.claims()
    ]
    parted = ["where they part"] if others else []
    return Table("", ("figure", "claim", "published", "today", *others, *parted), tuple(rows))


def _data_links(section: Section) -> list[str]:
    own, found = section.published.experiment, section.found
    ends = [".csv", ".columns.csv"] * bool(found)
    ends += ["-pairs.csv"] * bool(found and data.pairs_csv(found))
    ends += ["-paper.csv"] * bool(data.paper_csv(own))
    ends += ["-series.csv"] * bool(section.tracks)
    name = data.file_name(section.published)
    files = [f"{data.DATA}/{name}{end}" for end in ends]
    files += [f"{data.DATA}/{data.place(kernel)}/{name}.csv" for kernel in section.beside]
    return [f"[{file}]({file})" for file in files]


def _runs(section: Section) -> Table:
    every = {**({"": section.found} if section.found else {}), **section.beside}
    rows = tuple(
        (
            ", ".join(filter(None, (kernel, part))),
            str(sum(not row.is_left_out for row in ran.results.rows)),
            str(len({ran.results.seed(row) for row in ran.results.rows})),
            f"`{ran.provenance.kernel}`",
            f"`{ran.provenance.command}`",
        )
        for kernel, of in every.items()
        for part, ran in of.ran.items()
    )
    return Table("", ("part", "runs", "seeds", "kernel", "command"), rows)


def _reasons(section: Section, claim: Claim, judged: Judged | None) -> list[str]:
    """Why the verdict is not a clearer one, and why that with another kernel is not."""
    found = [*wording.reasons(judged)] if judged else []
    for kernel in section.beside:
        there = section.judged_by(kernel, claim)
        own = map(wording.sentence, there.reasons if there else ())
        found += [f"On {kernel}: {each[:1].lower()}{each[1:]}" for each in own if each not in found]
    return found


def _settings(section: Section, claim: Claim, judged: Judged | None, today: Judged | None) -> Table:
    """A row for each figure: the paper's, ours as published, ours today, and with each other
    kernel; and how sure it is.
    """
    every = [("published", section.found, judged), ("today", None, today)]
    every += [(name, of, section.judged_by(name, claim)) for name, of in section.beside.items()]
    titles = [f"{name}, {of.runs}" if of and of.runs else name for name, of, each in every if each]
    outcomes = [each for *_, each in every if each]
    rows = []
    for name, figure in claim.figures.items():
        ours = [wording.quantity(name, figure, each) for each in outcomes]
        rows.append((ours[0].says, ours[0].paper, *(each.ours for each in ours)))
    rows.append(("**verdict**", "", *(f"**{wording.verdict(each)}**" for each in outcomes)))
    for says, name in (
        ("share of resamples in which it holds", "p_holds"),
        ("share in which its direction holds", "p_direction"),
    ):
        if any(getattr(each, name) is not None for each in outcomes):
            shares = (wording.probability(getattr(each, name)) for each in outcomes)
            rows.append((says, "", *shares))
    rows.append(("independent samples", "", *(str(each.samples) for each in outcomes)))
    return Table("", ("", "the paper", *titles), tuple(rows))


def values(each: Explained) -> str:
    """The figures of an explanation, in brackets."""
    of = ClaimOutcome(verdict=Verdict.INCONCLUSIVE, ours=each.ours)
    figures = (wording.quantity(*figure, of) for figure in each.because.figures.items())
    values = "; ".join(f"{figure.says}: {figure.ours}" for figure in figures)
    return f" ({values})" if values else ""


def _other_values(section: Section, claim: Claim, judged: Judged) -> Table | None:
    """The verdicts in the quick part, and with other values of assumptions."""
    own = section.published.experiment
    of_assumed = [part for parts in own.sensitivity().values() for part in parts]
    parts = [part for part in of_assumed if part in judged.by_variant]
    if not parts:
        return None
    if catalogue.QUICK in judged.by_variant:
        parts.insert(0, catalogue.QUICK)
    rows = []
    for part in parts:
        outcome = judged.by_variant[part]
        ours = (
            wording.quantity(name, figure, outcome).ours for name, figure in claim.figures.items()
        )
        value = "as assumed" if part == catalogue.QUICK else part
        rows.append((value, *ours, wording.verdict(outcome)))
    says = (figure.says or name for name, figure in claim.figures.items())
    return Table("", ("", *says, "verdict"), tuple(rows))
