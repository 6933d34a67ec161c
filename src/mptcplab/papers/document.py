# SPDX-License-Identifier: GPL-2.0-only
"""The chart of a document of a published experiment, OUT/PAPER/FIGURE.json, as on its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.papers import catalogue, chart, data, looks, reproduce, timeline
from mptcplab.papers.catalogue import PUBLISHED, Published
from mptcplab.papers.chart import Content
from mptcplab.papers.reproduce import Reproduced
from mptcplab.report.palette import Style
from mptcplab.runs import documents
from mptcplab.scenario import scheduler


@dataclass(frozen=True)
class Drawn:
    """The chart of a part of an experiment; `note` names the part."""

    published: Published
    part: str
    content: Content

    @property
    def title(self) -> str:
        return f"{self.published.name}: {self.published.experiment.title}"

    @property
    def file_name(self) -> str:
        part = f"-{catalogue.slug(self.part)}" if self.part != PUBLISHED else ""
        return data.file_name(self.published) + part

    @property
    def note(self) -> str:
        part = "" if self.part == PUBLISHED else f", {self.part}"
        return f"The paper's {self.published.experiment.place}{part}. Hollow: the paper's numbers."

    def picture(self, form: str) -> bytes:
        """As svg, png or pdf."""
        return chart.drawn(self.content, form)


def of_document(file: Path) -> Drawn | None:
    """What to draw of a file; None if it is no document of an experiment as it is now.

    Raises MptcplabError if the document or its runs are damaged.
    """
    content = documents.read_json(file)
    name = content.get("experiment") if isinstance(content, dict) else None
    if name not in catalogue.names():
        return None
    published = catalogue.load(name)
    out = file.resolve().parents[1]
    ran = reproduce.read_parts(published, out)
    of = {reproduce.file_of(published, out, part).name: part for part in ran}
    part = of.get(file.name)
    if part is None or not reproduce.is_current(published, part, ran[part]):
        return None
    own = published.experiment
    over_time = own.chart.kind == "time"
    tracks = timeline.tracks(published, ran[part]) if over_time else ()
    every = [catalogue.load(each).experiment for each in catalogue.names()]
    found = Reproduced(published, part, {part: ran[part]}, ())
    return Drawn(published, part, Content(found, looks.of_schedulers(every), tracks))


def styles(labels: Sequence[str]) -> dict[str, Style] | None:
    """The styles of schedulers on the pages of papers, by their labels in runs.

    None if these pages do not have them all. An experiment may name parameters in another order.
    """
    known, found = scheduler.known(), dict[str, Style]()
    every = [catalogue.load(each).experiment for each in catalogue.names()]
    for name, style in looks.of_schedulers(every).items():
        found.setdefault(scheduler.choose(name, known, Path())[0].label, style)
    return {label: found[label] for label in labels} if found.keys() >= set(labels) else None
