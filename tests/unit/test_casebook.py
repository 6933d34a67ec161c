# SPDX-License-Identifier: GPL-2.0-only
"""Cases are read and shown; no kernel."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mptcplab.casebook import pages, reports
from mptcplab.casebook.pages import Told
from mptcplab.casebook.reports import Reproducible, Unmodelled
from mptcplab.errors import InputError
from mptcplab.metrics.definitions import PathFigures, RunFigures
from mptcplab.papers import catalogue, claims, reproduce, samples
from mptcplab.papers.catalogue import PUBLISHED, Published
from mptcplab.papers.reproduce import Provenance, Ran, Reproduced
from mptcplab.papers.samples import Row
from mptcplab.runs.entries import Entry
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario

REPORT = """
title = "Two paths carry less than one"
thread = "someone/something#1"
date = "2020-11"
said = "Two paths carried 5 Mbit/s."
answer = "None."
"""
CASE = (
    REPORT
    + """
helps = ["minrtt"]
[scenario]
scheduler = "{scheduler}"
vary = "2%"
path = [
    { name = "a", rate = "10mbit", delay = "5ms" },
    { name = "b", rate = "1mbit", delay = "5ms" },
]
[[variant]]
name = "fast"
says = "The second path is as fast."
scenario = { "path.b.rate" = "10mbit" }
[[metric]]
name = "goodput"
title = "Goodput"
unit = "Mbit/s"
value = "goodput_bps / 1e6"
[[claim]]
name = "five"
says = "Less than 6 Mbit/s"
holds = "default < 6"
figures.default = { value = "median(goodput, scheduler='default')", paper = 5 }
[[claim.because]]
says = "The second path is slow."
shown_by = "median(goodput, scheduler='default', variant='fast') > 15"
[[claim]]
name = "minrtt"
says = "`minrtt` fills both"
holds = "median(goodput, scheduler='minrtt') > 9"
"""
)


def written(directory: Path, text: str, name: str = "m1") -> Path:
    (directory / f"{name}.toml").write_text(text)
    return directory


def run(own: Reproducible, published: Published, default_mbps: float) -> Reproduced:
    """The case as runs would have it in which `default` has this goodput."""
    ran = {}
    for part in (PUBLISHED, *own.variants()):
        rows = []
        for setting in catalogue.settings(published, scheduler.known(), Path(), part=part):
            name, luck = setting.point["scheduler"], random.Random(setting.seed).random() / 10
            goodput = 16.0 if part != PUBLISHED else default_mbps if name == "default" else 10.0
            rows.append(Row(setting.point, setting.seed, {"goodput": goodput + luck}))
        results = samples.results(own, rows)
        digest = own.part(part).digest()
        ran[part] = Ran(results, Provenance(digest, 5, "k", "b", {}, "g", "0", "c"))
    return reproduce.assembled(published, ran)


def told(directory: Path, default_mbps: float) -> Told:
    own = reports.report("m1", directory)
    assert isinstance(own, Reproducible)
    published = reports.experiment("m1", own, directory)
    return Told("m1", own, run(own, published, default_mbps))


def blank_entry(scenario: Scenario) -> Entry:
    """A run's entry without figures, with which formulas of metrics still need correct names."""
    return Entry(
        scheduler=scenario.scheduler.label,
        cc=scenario.cc,
        seed=scenario.seed,
        status="ok",
        metrics=RunFigures(),
        paths=tuple(PathFigures(name=path.name) for path in scenario.paths),
    )


@pytest.mark.parametrize("name", reports.names())
def test_every_case_has_a_scenario_at_each_point(name: str, tmp_path: Path) -> None:
    own = reports.report(name)
    if isinstance(own, Unmodelled):
        assert pages.text(Told(name, own))
        return
    assert isinstance(own, Reproducible)
    if own.grid["scheduler"] == list(scheduler.known()):
        # the scenarios of others differ in the name alone
        own = own.model_copy(update={"grid": {**own.grid, "scheduler": ["default", "earliest"]}})
    published = reports.experiment(name, own)
    for part in (PUBLISHED, *own.variants()):
        settings = catalogue.settings(published, scheduler.known(), tmp_path, part=part, repeat=1)
        assert settings
        assert own.part(part).is_random(), "the seeds would be no samples"
        for each in settings:
            blank = blank_entry(each.scenario)
            samples.row(own.metric, each.point, 1, blank, dict.fromkeys(each.alone, blank))


def test_a_case_runs_every_scheduler_and_its_variants_a_few(tmp_path: Path) -> None:
    own = reports.report("m1", written(tmp_path, CASE))
    assert isinstance(own, Reproducible)
    assert {point["scheduler"] for point in own.part(PUBLISHED).points()} == {*scheduler.known()}
    few = [point["scheduler"] for point in own.part("fast").points()]
    assert few == ["default", "minrtt", "earliest"]
    named = CASE.replace("[scenario]", 'quick.grid.scheduler = ["ecf"]\n[scenario]', 1)
    own = reports.report("m1", written(tmp_path, named))
    assert isinstance(own, Reproducible)
    assert [point["scheduler"] for point in own.part("fast").points()] == ["ecf"]


def test_a_statement_gives_the_verdict_and_a_remedy_is_apart(tmp_path: Path) -> None:
    written(tmp_path, CASE)
    bad, good = told(tmp_path, 5.0), told(tmp_path, 9.9)
    assert (bad.outcome.verdict, good.outcome.verdict) == ("reproduced", "not reproduced")
    for each in (bad, good):
        assert [judged.claim.name for judged in each.judged(helps=False)] == ["five"]
        (remedy,) = each.judged(helps=True)
        assert remedy.verdict is claims.Verdict.REPRODUCED
    shown = pages.text(bad)
    assert "Reported: REPRODUCED: Less than 6 Mbit/s" in shown
    assert "Why: The second path is slow." in shown
    assert "Remedy: HELPS: `minrtt` fills both" in shown
    # 10 and a bit, of each that is not default
    assert shown.count("10.0") >= len(scheduler.known()) - 1


def test_pages_have_a_picture_and_the_index_every_case(tmp_path: Path) -> None:
    written(tmp_path, CASE)
    written(tmp_path, REPORT + 'cannot = "it needs a NAT."\n', "m2")
    unmodelled = Told("m2", reports.report("m2", tmp_path))
    waits = Told("m3", reports.report("m1", tmp_path))
    files = pages.publish(tmp_path / "docs", [told(tmp_path, 5.0), unmodelled, waits])
    assert {file.name for file in files} == {
        *("README.md", "verdicts.json", "m1.md", "m1.svg", "m2.md")
    }
    index = (tmp_path / "docs" / "README.md").read_text()
    assert (
        "| [m1](m1.md) | Two paths carry less than one | reproduced | `minrtt` fills both |"
        in index
    )
    assert "| [m2](m2.md) | Two paths carry less than one | cannot be modelled |  |" in index
    assert "| m3 | Two paths carry less than one | not run yet |  |" in index
    before = pages.outcomes(tmp_path / "docs")["m1"]
    again = Told("m1", reports.report("m1", tmp_path), None, before)
    pages.publish(tmp_path / "docs", [again, unmodelled, waits])
    assert (tmp_path / "docs" / "README.md").read_text() == index
    assert "It needs a NAT." in (tmp_path / "docs" / "m2.md").read_text()
    page = (tmp_path / "docs" / "m1.md").read_text()
    assert "someone/something/issues/1" in page
    assert "![Two paths carry less than one](m1.svg)" in page


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('helps = ["minrtt"]', 'helps = ["other"]', "not the name of a claim; known: five"),
        ('helps = ["minrtt"]', 'helps = ["minrtt", "five"]', "a claim is left that says what"),
        ('thread = "someone/something#1"', 'thread = "somewhere"', "thread"),
        ('date = "2020-11"', 'date = "November"', "date"),
        ("variant='fast'", "variant='quick'", "no name of a variant"),
        ("[[metric]]", "[[metrics]]", "unknown key"),
    ],
)
def test_a_mistake_is_reported_with_its_place(
    old: str, new: str, problem: str, tmp_path: Path
) -> None:
    assert old in CASE
    written(tmp_path, CASE.replace(old, new))
    with pytest.raises(InputError, match=problem) as raised:
        reports.report("m1", tmp_path)
    assert str(tmp_path / "m1.toml") in str(raised.value)


def test_unknown_cases_are_refused_with_a_suggestion(tmp_path: Path) -> None:
    written(tmp_path, CASE)
    assert reports.chosen(["all"], tmp_path) == reports.chosen(["m1", "m1"], tmp_path) == ["m1"]
    with pytest.raises(InputError, match=r"m2: no such case"):
        reports.chosen(["m1", "m2"], tmp_path)
