# SPDX-License-Identifier: GPL-2.0-only
"""The page of a paper: each of its figures with chart and numbers, and a section for each claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mptcplab.papers import catalogue, data, reproduce, tables, wording
from mptcplab.papers.catalogue import Claim, Published
from mptcplab.papers.claims import ClaimOutcome, Judged
from mptcplab.papers.reproduce import Reproduced
from mptcplab.papers.tables import Table, markdown
from mptcplab.papers.timeline import Track
from mptcplab.units import counted

#: The page that says how experiments are run and judged, as seen from a page.
HOW_TO = "../papers.md"

_READING = (
    "Charts and tables show medians over the seeds with their 95 % bootstrap intervals; hollow "
    "markers are the paper's numbers. *Published* is the paper's setting, *today* the same with "
    f"today's defaults. [What the verdicts mean]({HOW_TO}#verdicts)"
)


@dataclass(frozen=True)
class Section:
    """An experiment on the page of its paper.

    `found` is None if it was not run, or is to be run again. `stale` lists by part what has changed
    since it was run; `tracks` are the lines of a chart over time.
    """

    published: Published
    found: Reproduced | None = None
    outdated: Sequence[str] = ()
    stale: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tracks: Sequence[Track] = ()

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


def by_paper(sections: Sequence[Section]) -> dict[str, list[Section]]:
    papers: dict[str, list[Section]] = {}
    for each in sections:
        papers.setdefault(each.published.name.split("/")[0], []).append(each)
    return papers


def page(sections: Sequence[Section]) -> str:
    """All figures of a paper."""
    paper = sections[0].published.paper
    name = sections[0].published.name.split("/")[0]
    lines = [
        f"<!-- Written by `mptcplab papers publish`; edit experiments/{name}/. -->",
        f"# {name}",
        "",
        f'{paper.authors}: "{paper.title}", {paper.published}.',
        "",
        _READING,
        "",
    ]
    for head, items in (
        ("What differs from the paper in all of these:", paper.setting),
        ("What came out:", paper.findings),
    ):
        if items:
            lines += [head, "", *(f"- {each}" for each in items), ""]
    lines += [*_contents(sections), ""]
    for section in sections:
        lines += [*_section(section), ""]
    return "\n".join(lines).rstrip() + "\n"


def anchor(section: Section, claim: Claim) -> str:
    """The anchor of a claim on its page."""
    return f"{section.figure}-{claim.name}"


def marks(section: Section) -> list[str]:
    """Notes before the numbers: parts that are missing, stale, or to be run again."""
    lines = []
    if section.found is None:
        what = "to be run again, since the experiment has changed" if section.outdated else ""
        again = _command(section, catalogue.PUBLISHED)
        return [f"**{wording.sentence(what or 'not run yet')}** `{again}`"]
    if section.found.quick:
        says = section.published.experiment.quick.says
        lines.append(f"**Quick runs only.** {says}".rstrip())
    for part in section.outdated:
        again = _command(section, part)
        lines.append(
            f"**To be run again:** {part}, since the experiment has changed; its runs are not "
            f"judged. `{again}`"
        )
    for part, changed in section.stale.items():
        lines.append(f"**Stale:** {part} was run with another {'; '.join(changed)}.")
    if left := [part for part in section.found.missing if part not in section.outdated]:
        runs = counted(sum(section.published.experiment.part(part).runs() for part in left), "run")
        again = f"mptcplab papers run {section.published.name} --variants"
        lines.append(f"Not run yet: {', '.join(left)}; {runs}. `{again}`")
    return lines


def _contents(sections: Sequence[Section]) -> Iterator[str]:
    rows = [
        (
            f"[{section.figure}](#{section.figure})",
            f"[{claim.name}](#{anchor(section, claim)})",
            *(wording.verdict(each) if each else "not run" for each in (judged, today)),
        )
        for section in sections
        for claim, judged, today in section.claims()
    ]
    yield from markdown(Table("", ("figure", "claim", "published", "today"), tuple(rows)))


def _section(section: Section) -> Iterator[str]:
    published, own, found = section.published, section.published.experiment, section.found
    yield from (f'<a name="{section.figure}"></a>', "")
    yield from (f"## {section.figure}: {own.title}", "")
    file = f"../../experiments/{published.name}.toml"
    yield from (f"The paper's {own.place}. [{section.figure}.toml]({file})", "")
    yield from (f"- {each}" for each in own.setting)
    yield from (
        f"- Assumed, since the paper does not say: {each.name} = {each.value}, {each.because}"
        f"{f'; tried also: {wording.number(each.range)}' if each.range else ''}."
        f"{f' It was fitted to: {each.fitted}.' if each.fitted else ''}"
        for each in own.assumed
    )
    yield from (
        f"- {'*Today*' if each.name == catalogue.TODAY else f'Variant *{each.name}*'}: {each.says}"
        for each in own.variant
    )
    yield ""
    if noted := marks(section):
        for mark in noted:
            yield from (f"> {mark}", ">")
        yield ""
    if found is not None:
        yield from _numbers(section, found)
    for claim in section.claims():
        yield from _claim(section, *claim)


def _numbers(section: Section, found: Reproduced) -> Iterator[str]:
    """The chart, and below it the tables and the files."""
    own, name = section.published.experiment, data.file_name(section.published)
    if section.has_chart():
        yield from (f"![{own.title}]({name}.svg)", "")
    if pooled := tables.pooled_over(found):
        yield from (f"Medians are over all values of: {', '.join(pooled)}.", "")
    if table := tables.beside_paper(found):
        yield from (f"**{table.title}** beside the medians here:", "", *markdown(table), "")
    yield from ("<details><summary>All numbers, and how they were made</summary>", "")
    for table in tables.tables(found):
        yield from (f"**{table.title}**", "", *markdown(table), "")
    if section.tracks:
        yield (
            "The chart has the first seed of each scheduler. `mptcplab show papers-out/runs/KEY` "
            "draws all there is of one, with these keys:"
        )
        yield ""
        for key, place in {each.run: (each.series, each.panel) for each in section.tracks}.items():
            yield f"- `{key}`: {', '.join(filter(None, place))}"
        yield ""
    yield from (*markdown(_runs(found)), "")
    files = [f"{name}.csv", f"{name}.columns.csv"]
    files += [f"{name}-pairs.csv"] * bool(data.pairs_csv(found))
    files += [f"{name}-paper.csv"] * bool(data.paper_csv(own))
    files += [f"{name}-series.csv"] * bool(section.tracks)
    links = ", ".join(f"[{data.DATA}/{file}]({data.DATA}/{file})" for file in files)
    yield from (f"Data: {links}", "", "</details>", "")


def _runs(found: Reproduced) -> Table:
    rows = tuple(
        (
            part,
            str(len(ran.results.rows)),
            str(len({ran.results.seed(row) for row in ran.results.rows})),
            f"`{ran.provenance.kernel}`",
            f"`{ran.provenance.command}`",
        )
        for part, ran in found.ran.items()
    )
    return Table("", ("part", "runs", "seeds", "kernel", "command"), rows)


def _claim(
    section: Section, claim: Claim, judged: Judged | None, today: Judged | None
) -> Iterator[str]:
    yield from (f'<a name="{anchor(section, claim)}"></a>', "")
    yield from (f"### {claim.name}: {wording.verdict(judged) if judged else 'not run'}", "")
    yield from (f'> "{claim.quote}" ({claim.place})', "")
    yield from (f"Tested: {wording.sentence(claim.says)}", "")
    if judged is None:
        return
    yield from (*markdown(_settings(section, claim, judged, today)), "")
    if claim.holds is not None:
        yield f"Holds if `{' '.join(claim.holds.split())}`" + (
            f"; its direction if `{' '.join(claim.direction.split())}`." if claim.direction else "."
        )
        yield ""
    if reasons := list(wording.reasons(judged)):
        yield from (*(f"- {each}" for each in reasons), "")
    for each in judged.because:
        of = ClaimOutcome(verdict=judged.verdict, ours=each.ours)
        figures = (wording.quantity(*figure, of) for figure in each.because.figures.items())
        values = "; ".join(f"{figure.says}: {figure.ours}" for figure in figures)
        yield f"- Why: {wording.sentence(each.because.says)}{f' ({values})' if values else ''}"
    if judged.because:
        yield ""
    yield from _other_values(section, claim, judged)


def _settings(section: Section, claim: Claim, judged: Judged, today: Judged | None) -> Table:
    """A row for each figure: the paper's, ours as published, ours today; and how sure it is."""
    outcomes: list[ClaimOutcome] = [judged, *([today] if today else [])]
    rows = []
    for name, figure in claim.figures.items():
        ours = [wording.quantity(name, figure, each) for each in outcomes]
        rows.append((ours[0].says, ours[0].paper, *(each.ours for each in ours)))
    rows.append(("**verdict**", "", *(f"**{wording.verdict(each)}**" for each in outcomes)))
    for says, name in (
        ("share of resamples in which it holds", "p_holds"),
        ("share in which its direction holds", "p_direction"),
    ):
        if getattr(judged, name) is not None:
            shares = (wording.probability(getattr(each, name)) for each in outcomes)
            rows.append((says, "", *shares))
    rows.append(("independent samples", "", *(str(each.samples) for each in outcomes)))
    of = "published, quick runs" if section.found and section.found.quick else "published"
    head = ("", "the paper", of, *(["today"] if today else []))
    return Table("", head, tuple(rows))


def _other_values(section: Section, claim: Claim, judged: Judged) -> Iterator[str]:
    """The verdicts in the quick part, and with other values of assumptions."""
    own = section.published.experiment
    of_assumed = [part for parts in own.sensitivity().values() for part in parts]
    parts = [part for part in of_assumed if part in judged.by_variant]
    if not parts:
        return
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
    yield from (
        "With other values of what the paper does not give, over the quick part of the grid:",
        "",
        *markdown(Table("", ("", *says, "verdict"), tuple(rows))),
        "",
    )


def _command(section: Section, part: str) -> str:
    own = section.published.experiment.part(part)
    return reproduce.command(own, section.published.name, own.repeat)
