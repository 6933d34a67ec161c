# SPDX-License-Identifier: GPL-2.0-only
"""Reads cases/NAME.toml: a public report, and an experiment that shows what it says.

A case is an experiment as those of papers: a scenario, its variants, and claims about the figures.
Its claims are the report's statements, the explanations of a claim are experiments with variants,
and the claims that `helps` names are about what helps. docs/casebook.md has every key.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from mptcplab import resources
from mptcplab.errors import InputError, Problem
from mptcplab.formulas.space import Table, Text
from mptcplab.mistakes import Mistakes, printable
from mptcplab.papers import catalogue
from mptcplab.papers.catalogue import Chart, Claim, Experiment, Paper, Published
from mptcplab.scenario import scheduler, toml_file

# Its chart and its runs vary this.
_SCHEDULER = "scheduler"
# The schedulers of the variants, unless a case has others.
_FEW = ("default", "minrtt", "earliest")
_Thread = Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+(#\d+)?$")]


class Statement(Claim):
    """A statement of a report, in our words; `says` is also its test."""

    quote: str = ""
    place: str = ""


class Report(Table):
    """A public report: `thread` is OWNER/REPOSITORY#NUMBER, `also` has threads that say the same.

    `said` is what the person saw, in our words, `answer` what others replied.
    """

    title: Text
    thread: _Thread
    also: list[_Thread] = Field(default=[])
    date: str = Field(pattern=r"^20\d\d(-\d\d)?$")
    said: Text
    answer: Text


class Unmodelled(Report):
    """A report that the lab cannot repeat, and why."""

    cannot: Text


class Reproducible(Experiment, Report):
    """A report with its experiment. `helps` names the claims about what helps.

    Unless the file says otherwise, the runs are of every scheduler, the variants of a few, and the
    chart has a bar for each scheduler.
    """

    place: str = ""
    repeat: int = Field(default=5, ge=1, le=10_000)
    chart: Chart
    claim: Sequence[Statement] = Field(min_length=1)
    helps: list[str] = Field(default=[])
    #: Five seeds judge a case, by the first rule of docs/papers.md.
    DRAWN: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _with_all_schedulers(cls, table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        grid = table.get("grid", {})
        if _SCHEDULER not in grid:
            table = {**table, "grid": {_SCHEDULER: list(scheduler.known()), **grid}}
            quick = table.get("quick", {})
            table["quick"] = {**quick, "grid": {_SCHEDULER: list(_FEW), **quick.get("grid", {})}}
        if "chart" not in table and table.get("metric"):
            bars = {"kind": "bars", "x": _SCHEDULER, "y": [table["metric"][0].get("name", "")]}
            table = {**table, "chart": bars}
        return table

    def statements(self) -> list[Statement]:
        """What was reported."""
        return [claim for claim in self.claim if claim.name not in self.helps]


def names(directory: Path = resources.CASES) -> list[str]:
    """All cases: n381 before n1234."""
    return catalogue.by_number(file.stem for file in directory.glob("*.toml"))


def chosen(wanted: Sequence[str], directory: Path = resources.CASES) -> list[str]:
    """The cases selected by "all" or by their names; each once.

    Raises InputError with every unknown name.
    """
    return catalogue.selected(wanted, names(directory), ("cases", "case"), "mptcplab case list")


def report(name: str, directory: Path = resources.CASES) -> Report:
    """A case by its name. Raises InputError with every mistake in its file."""
    file = directory / f"{name}.toml"
    mistakes = Mistakes(printable(str(file)))
    mistakes.data = toml_file.read(file, mistakes)
    mistakes.stop_if_any()
    if "cannot" in mistakes.data:
        return toml_file.validated(mistakes, Unmodelled)
    found = toml_file.validated(mistakes, Reproducible)
    catalogue.check(found, file)
    known = [claim.name for claim in found.claim]
    problems = [
        Problem(str(file), "helps", each, f"not the name of a claim; known: {', '.join(known)}")
        for each in found.helps
        if each not in known
    ]
    if not problems and not found.statements():
        problems = [Problem(str(file), "helps", "", "a claim is left that says what was reported")]
    if problems:
        raise InputError(problems)
    return found


def experiment(name: str, own: Reproducible, directory: Path = resources.CASES) -> Published:
    """A case as an experiment that runs as those of papers do."""
    paper = Paper(title=own.title, authors=own.thread, published=own.date)
    return Published(name, directory / f"{name}.toml", paper, own, command="case")


def link(thread: str) -> str:
    """Where a thread is."""
    return f"https://github.com/{thread.replace('#', '/issues/')}"
