# SPDX-License-Identifier: GPL-2.0-only
"""The casebook as text and as pages: reported, measured, why, and what helps.

The templates are case.md.j2 and index.md.j2. The index is also verdicts.json, and a case without
runs has the verdict that stands there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mptcplab import resources
from mptcplab.casebook import reports
from mptcplab.casebook.reports import Report, Reproducible, Unmodelled
from mptcplab.papers import chart, markdown_page, tables, wording
from mptcplab.papers import publish as publishing
from mptcplab.papers.claims import Judged, Verdict
from mptcplab.papers.reproduce import Reproduced
from mptcplab.papers.tables import Table

# The words for a statement of a report, and so for the case whose first one it is.
_STATEMENTS = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.DIRECTION: "reproduced in part",
    Verdict.CONTRADICTED: "not reproduced",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.NOT_TESTABLE: "undecided",
}
# The words for a remedy.
_REMEDIES = {
    Verdict.REPRODUCED: "helps",
    Verdict.DIRECTION: "helps in part",
    Verdict.CONTRADICTED: "does not help",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.NOT_TESTABLE: "undecided",
}
CANNOT = "cannot be modelled"
NOT_RUN = "not run yet"
_VERDICTS = "verdicts.json"
PUBLISHED = resources.DOCS / "cases"


@dataclass(frozen=True)
class Outcome:
    """The verdict of a case, and the remedies that work."""

    verdict: str
    remedies: Sequence[str] = ()


#: The outcome of a case that nobody has published.
UNKNOWN = Outcome(NOT_RUN)


@dataclass(frozen=True)
class Told:
    """A case with its name and its report; `found` is None if it has no current runs.

    `before` is then its published outcome.
    """

    name: str
    report: Report
    found: Reproduced | None = None
    before: Outcome = UNKNOWN

    @property
    def outcome(self) -> Outcome:
        if not isinstance(self.report, Reproducible):
            return Outcome(CANNOT)
        if self.found is None:
            return self.before
        remedies = [
            each.claim.says.rstrip(".")
            for each in self.judged(helps=True)
            if each.verdict is Verdict.REPRODUCED
        ]
        return Outcome(verdict(self.judged(helps=False)[0], helps=False), remedies)

    @property
    def cannot(self) -> str:
        """Why the lab cannot repeat it; empty if it can."""
        return self.report.cannot if isinstance(self.report, Unmodelled) else ""

    @property
    def settings(self) -> list[str]:
        """What the report gives, and what we chose."""
        return self.report.setting if isinstance(self.report, Reproducible) else []

    def judged(self, *, helps: bool) -> list[Judged]:
        """The judged claims about what was reported, or about what helps."""
        if self.found is None or not isinstance(self.report, Reproducible):
            return []
        ours = self.report.helps
        return [each for each in self.found.judged if (each.claim.name in ours) == helps]


def verdict(judged: Judged, *, helps: bool) -> str:
    """The word for a statement, or for a remedy."""
    return (_REMEDIES if helps else _STATEMENTS)[judged.verdict]


def text(told: Told) -> str:
    """A case for a terminal."""
    own = told.report
    threads = ", ".join((own.thread, *own.also))
    lines = [f"{told.name}: {own.title}: {told.outcome.verdict.upper()}", f"{threads}, {own.date}"]
    lines += ["", f"Said:     {own.said}", f"Answer:   {own.answer}"]
    if told.found is None:
        lines += [f"The lab cannot repeat it: {told.cannot}"] if told.cannot else []
        return "\n".join(lines)
    lines += ["", *tables.columns(measured(told.found)), ""]
    for title, helps in (("Reported", False), ("Remedy", True)):
        for each in told.judged(helps=helps):
            lines += [f"{title}: {verdict(each, helps=helps).upper()}: {each.claim.says}"]
            lines += [f"    {line}" for line in wording.evidence(each, "reported")]
            lines += [f"    {line}" for line in wording.reasons(each)]
            lines += [f"    Why: {why.because.says}" for why in each.because]
    return "\n".join(lines)


def measured(found: Reproduced) -> Table:
    """A row for each scheduler with the medians of all metrics."""
    return tables.overview(found, found.published.experiment.metric)


def page(told: Told) -> str:
    """The page of a case."""
    return _rendered(
        "case.md.j2",
        told=told,
        own=told.report,
        link=reports.link,
        measured=measured,
        values=markdown_page.values,
        verdict=verdict,
        wording=wording,
    )


def index(everything: Sequence[Told]) -> str:
    """The index of all cases."""
    rows = tuple(
        (
            told.name if told.outcome.verdict == NOT_RUN else f"[{told.name}]({told.name}.md)",
            told.report.title,
            told.outcome.verdict,
            "; ".join(told.outcome.remedies),
        )
        for told in everything
    )
    head = ("case", "report", "verdict", "remedy")
    counts = {word: [each.outcome.verdict for each in everything].count(word) for word in _words()}
    return _rendered("index.md.j2", table=Table("", head, rows), counts=counts)


def publish(directory: Path, everything: Sequence[Told]) -> list[Path]:
    """Write the index, and a page with a picture for each case that was run; returns the files."""
    found = [each.found.published.experiment for each in everything if each.found]
    styles = chart.styles(found)
    written = {told.name: asdict(told.outcome) for told in everything}
    files: dict[str, str | bytes] = {
        "README.md": index(everything),
        _VERDICTS: json.dumps(written, indent=1) + "\n",
    }
    for told in everything:
        if isinstance(told.report, Reproducible) and told.found is None:
            continue
        files[f"{told.name}.md"] = page(told)
        if told.found is not None:
            files[f"{told.name}.svg"] = chart.drawn(chart.Content(told.found, styles), "svg")
    return [publishing.write(directory / name, content) for name, content in files.items()]


def outcomes(directory: Path) -> Mapping[str, Outcome]:
    """The outcomes that `publish` wrote into a directory, by the names of cases."""
    file = directory / _VERDICTS
    written = json.loads(file.read_text()) if file.is_file() else {}
    return {name: Outcome(**each) for name, each in written.items()}


def _words() -> Iterator[str]:
    yield from dict.fromkeys((*_STATEMENTS.values(), CANNOT, NOT_RUN))


def _rendered(template: str, **names: Any) -> str:
    return markdown_page.rendered(template, Path(__file__).parent, **names)
