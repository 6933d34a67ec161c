# SPDX-License-Identifier: GPL-2.0-only
"""Claims are judged by the figures of runs, and what cannot be judged is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.metrics.definitions import PathFigures, RunFigures
from mptcplab.papers import claims
from mptcplab.papers.catalogue import (
    Chart,
    Claim,
    Drive,
    Experiment,
    Figure,
    Metric,
    Paper,
    Published,
)
from mptcplab.papers.claims import Results, Verdict
from mptcplab.runs.entries import Entry
from mptcplab.spec.formulas import Formula, FormulaError, MissingError

METRICS = [
    Metric(name="goodput", title="Goodput", unit="Mbit/s", value="goodput_bps / 1e6"),
    Metric(name="share", title="Share", value="paths.lte.share"),
]
# of scheduler and queue: the goodputs of two seeds, in Mbit/s
GOODPUTS = {
    ("minrtt", 300): (10, 14),
    ("minrtt", 1000): (20, 22),
    ("blest", 300): (30, 30),
    ("blest", 1000): (40, 44),
}


def entry(mbps: float, share: float | None = 0.25) -> Entry:
    return Entry(
        scheduler="minrtt",
        seed=1,
        status="ok",
        metrics=RunFigures(goodput_bps=mbps * 1e6),
        paths=(PathFigures(name="lte", share=share),),
    )


def rows() -> list[claims.Row]:
    return [
        claims.row(METRICS, {"scheduler": scheduler, "queue": queue}, seed, entry(mbps), {})
        for (scheduler, queue), goodputs in GOODPUTS.items()
        for seed, mbps in enumerate(goodputs, 1)
    ]


def results() -> Results:
    return Results(["scheduler", "queue"], ["goodput", "share"], rows())


def value(text: str) -> Any:
    return Formula(text).value(*results().scope())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(goodput, scheduler='minrtt', queue=300)", 12),
        ("median(goodput, scheduler='minrtt')", 17),
        ("lowest(goodput)", 10),
        ("highest(goodput, queue=[300])", 30),
        ("mean(goodput, seed=2, queue=1000)", 33),
        ("values(goodput, scheduler=['minrtt', 'blest'], queue=300)", [10, 14, 30, 30]),
        ("quantile(0.25, goodput, queue=300)", 13),
        ("sd(goodput, scheduler='minrtt', queue=300)", 2),
        ("queue", [300, 1000]),
        ("[median(goodput, queue=q, scheduler='blest') for q in queue]", [30, 42]),
        ("median([1, 5, 6])", 5),
        ("mean(share)", 0.25),
    ],
)
def test_aggregates_of_a_metric(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean(goodput, scheduler='ecf')", "no run has scheduler='ecf'"),
        ("mean(goodput, queue='300')", "no run has queue='300'"),
        ("mean(goodput, scheduler='ecf', seed=1)", "no run has scheduler='ecf', seed=1"),
        ("mean(goodput, cc='reno')", "no axis cc; known: scheduler, queue"),
        ("values(3)", "the first argument is the name of a metric$"),
        ("mean([])", "nothing to take a statistic of$"),
        ("goodput > 3", "not supported"),
        ("mean(delay)", "delay"),
    ],
)
def test_what_is_not_there_is_an_error(text: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message.replace("'", ".")):
        value(text)


def test_a_mean_is_over_settings_of_medians_over_seeds() -> None:
    found = rows()
    # a third seed far out moves the mean over all runs, and not that of the medians
    found += [
        claims.row(METRICS, {"scheduler": scheduler, "queue": queue}, 3, entry(1000), {})
        for scheduler, queue in GOODPUTS
    ]
    both = Results(["scheduler", "queue"], ["goodput", "share"], found)
    names, functions = both.scope()
    assert Formula("mean(goodput, scheduler='minrtt')").value(names, functions) == (14 + 22) / 2
    assert Formula("mean([1, 2, 6])").value(names, functions) == 3


def test_the_seed_of_a_drive_is_a_seed_and_no_setting() -> None:
    found = [
        claims.row(METRICS, {"scheduler": scheduler, "drive": drive}, 1, entry(mbps), {})
        for scheduler, mbps in (("minrtt", 10), ("blest", 20))
        for drive, mbps in enumerate((mbps, mbps + 1, mbps + 8), 1)
    ]
    drives = Results(["scheduler", "drive"], ["goodput", "share"], found, ["drive"])
    names, functions = drives.scope()
    assert Formula("mean(goodput)").value(names, functions) == (11 + 21) / 2
    alone = drives.by_seed()
    assert [len(each.rows) for each in alone] == [2, 2, 2]
    assert [each.setting(found[0]) for each in alone] == [("minrtt",)] * 3
    assert drives.setting(found[0]) == drives.setting(found[1]) == ("minrtt",)
    assert drives.setting(found[0], ["scheduler"]) == drives.setting(found[3], ["scheduler"])
    assert drives.seed(found[0]) == drives.seed(found[3]) == (1, 1)


def test_a_run_without_a_figure_is_an_error_only_where_it_is_needed() -> None:
    found = claims.row(METRICS, {"scheduler": "ecf", "queue": 3}, 1, entry(5, share=None), {})
    assert found.figures == {"goodput": 5, "share": None}
    message = "the run with scheduler='ecf', queue=3, seed=1 has no share"
    with pytest.raises(MissingError, match=message):
        Results(["scheduler", "queue"], ["goodput", "share"], [found]).values(
            claims.Column("share")
        )


def test_a_metric_that_a_run_lacks_keeps_no_other_from_being_known() -> None:
    wanted = [Metric(name="completion", title="t", value="completion_s * 2"), *METRICS]
    found = claims.row(wanted, {}, 1, entry(5), {})
    assert found.figures == {"completion": None, "goodput": 5, "share": 0.25}


def test_a_figure_is_a_number_with_a_fraction_whatever_its_formula_gives() -> None:
    wanted = [Metric(name="packets", title="t", value="queue * 2")]
    (value,) = claims.row(wanted, {"queue": 300}, 1, entry(5), {}).figures.values()
    assert (value, type(value)) == (600.0, float)


def test_a_metric_may_use_baselines_and_axes() -> None:
    metric = Metric(name="benefit", title="t", value="goodput_bps / alone.lte.goodput_bps * queue")
    found = claims.row([metric], {"queue": 2}, 1, entry(30), {"lte": entry(10)})
    assert found.figures == {"benefit": 6}


def test_a_metric_that_does_not_exist_is_named() -> None:
    metric = Metric(name="speed", title="t", value="goodput_mbps + 1")
    with pytest.raises(FormulaError, match=r"metric speed: goodput_mbps \+ 1: .*goodput_mbps"):
        claims.row([metric], {}, 1, entry(30), {})


def published(claim: Claim) -> Published:
    own = Experiment(
        title="t",
        place="p",
        scenario={},
        grid={"scheduler": ["minrtt", "blest"], "queue": [300, 1000]},
        metric=METRICS,
        chart=Chart(kind="lines", x="queue", y=["goodput"]),
        claim=[claim],
    )
    paper = Paper(title="t", authors="a", published="p")
    return Published("a/b", Path("a/b.toml"), paper, own)


def judged(**keys: Any) -> claims.Judged:
    (found,) = claims.judge(published(Claim(says="s", place="p", **keys)), results())
    return found


def test_verdicts() -> None:
    figures = {
        "minrtt": Figure(value="median(goodput, scheduler='minrtt')", paper=11),
        "twice": Figure(value="2 * minrtt"),
    }
    assert judged(holds="minrtt < 20", figures=figures).verdict is Verdict.HOLDS
    assert judged(holds="minrtt > 20", figures=figures).verdict is Verdict.FAILS
    other = judged(not_comparable="no paths", figures=figures)
    assert other.verdict is Verdict.NOT_COMPARABLE
    assert other.ours == {"minrtt": 17, "twice": 34}


def test_each_seed_alone_tells_how_much_depends_on_it() -> None:
    figures = {"minrtt": Figure(value="median(goodput, scheduler='minrtt', queue=300)")}
    # 10 and 14 by single seeds, 12 by both
    found = judged(holds="minrtt < 13", figures=figures)
    assert found.verdict is Verdict.HOLDS
    assert [each.ours["minrtt"] for each in found.alone] == [10, 14]
    assert [each.verdict for each in found.alone] == [Verdict.HOLDS, Verdict.FAILS]
    assert found.agreeing() == 1


def test_seeds_alone_agree_that_give_the_verdict_of_all_together() -> None:
    claim = Claim(
        says="s",
        place="p",
        holds="minrtt < 13",
        figures={"minrtt": Figure(value="median(goodput, scheduler='minrtt', queue=300)")},
    )
    seeds = [
        claims.row(METRICS, {"scheduler": "minrtt", "queue": 300}, seed, entry(mbps), {})
        for seed, mbps in enumerate((10, 14, 11), 1)
    ]
    whole = published(claim)
    (found,) = claims.judge(whole, claims.results(whole.experiment, seeds))
    # 11 by all together; 10 and 11 are less than 13, and 14 is not
    assert (found.claim, found.ours, found.agreeing()) == (claim, {"minrtt": 11}, 2)
    (single,) = claims.judge(whole, claims.results(whole.experiment, seeds[:1]))
    assert (single.verdict, list(single.alone), single.agreeing()) == (Verdict.HOLDS, [], 0)


def test_what_a_seed_alone_cannot_be_asked_is_an_error_too() -> None:
    claim = Claim(says="s", place="p", holds="median(goodput, scheduler='minrtt') > 1")
    whole = published(claim)
    found = [
        claims.row(METRICS, {"scheduler": scheduler, "queue": 300}, seed, entry(10), {})
        for seed, scheduler in enumerate(("minrtt", "blest"), 1)
    ]
    message = r"a/b\.toml: claim\[1\]\.holds = .*no run has scheduler='minrtt'"
    with pytest.raises(MptcplabError, match=message):
        claims.judge(whole, claims.results(whole.experiment, found))


def test_the_results_of_an_experiment_have_its_axes_metrics_and_seeds() -> None:
    own = published(Claim(says="s", place="p", holds="True")).experiment
    found = claims.results(own, rows())
    assert found.axes == {"scheduler": ["minrtt", "blest"], "queue": [300, 1000]}
    assert found.metrics == ["goodput", "share"]
    assert found.rows == rows()
    assert found.seed_axes == []
    drives = own.model_copy(update={"drive": Drive(seed="{queue}")})
    assert claims.results(drives, rows()).seed_axes == ["queue"]


def test_a_figure_that_cannot_be_evaluated_is_named_with_its_claim() -> None:
    wrong = {"minrtt": Figure(value="median(goodput, scheduler='ecf')")}
    with pytest.raises(MptcplabError, match=r"claim\[1\]\.figures\.minrtt = .*no run has"):
        judged(holds="minrtt > 1", figures=wrong)


@pytest.mark.parametrize(
    ("holds", "message"),
    [
        ("mean(goodput, scheduler='ecf') > 1", "cannot be evaluated: no run has"),
        ("mean(goodput)", "; a formula that is true or false is expected$"),
        ("mean(goodput) / 0 > 1", "cannot be evaluated"),
    ],
)
def test_a_claim_that_cannot_be_evaluated_is_an_error(holds: str, message: str) -> None:
    with pytest.raises(MptcplabError, match=message) as caught:
        judged(holds=holds)
    assert "a/b.toml: claim[1].holds" in str(caught.value)
