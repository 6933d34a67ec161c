# SPDX-License-Identifier: GPL-2.0-only
"""Claims are judged by the figures of runs, and what cannot be judged is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.errors import MptcplabError
from mptcplab.formulas.formula import Formula, FormulaError, MissingError
from mptcplab.formulas.space import Design, RangeTable
from mptcplab.metrics.definitions import PathFigures, RunFigures
from mptcplab.papers import claims, samples, wording
from mptcplab.papers.catalogue import (
    DRAWS,
    PUBLISHED,
    QUICK,
    TODAY,
    Assumed,
    Because,
    Chart,
    Claim,
    ClaimFigure,
    Draw,
    Drive,
    Experiment,
    Metric,
    Paper,
    Published,
    Quick,
    Variant,
)
from mptcplab.papers.claims import Judged, Verdict
from mptcplab.papers.samples import Results, Scope
from mptcplab.runs.entries import Entry

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
        cc="cubic",
        seed=1,
        status="ok",
        metrics=RunFigures(goodput_bps=mbps * 1e6),
        paths=(PathFigures(name="lte", share=share),),
    )


def rows() -> list[samples.Row]:
    return [
        samples.row(METRICS, {"scheduler": scheduler, "queue": queue}, seed, entry(mbps), {})
        for (scheduler, queue), goodputs in GOODPUTS.items()
        for seed, mbps in enumerate(goodputs, 1)
    ]


def results() -> Results:
    return Results(["scheduler", "queue"], ["goodput", "share"], rows())


def value(text: str, found: Results | None = None) -> Any:
    scope = Scope({PUBLISHED: found or results()}, PUBLISHED)
    return Formula(text).value(scope.names, scope.functions)


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
        ("[quantile(share, goodput, queue=300) for share in [0, 1]]", [10, 30]),
        ("sd(goodput, scheduler='minrtt', queue=300)", 2),
        ("queue", [300, 1000]),
        ("[median(goodput, queue=q, scheduler='blest') for q in queue]", [30, 42]),
        ("median([1, 5, 6])", 5),
        ("quantile(1, [1, 5, 6])", 6),
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
        ("values([3])", "the first argument is the name of a metric$"),
        ("median(goodput, variant='today')", "today has not been run"),
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
        samples.row(METRICS, {"scheduler": scheduler, "queue": queue}, 3, entry(1000), {})
        for scheduler, queue in GOODPUTS
    ]
    both = Results(["scheduler", "queue"], ["goodput", "share"], found)
    assert value("mean(goodput, scheduler='minrtt')", both) == (14 + 22) / 2
    assert value("mean([1, 2, 6])", both) == 3


def test_the_seed_of_a_drive_is_a_seed_and_no_setting() -> None:
    found = [
        samples.row(METRICS, {"scheduler": scheduler, "drive": drive}, 1, entry(mbps), {})
        for scheduler, mbps in (("minrtt", 10), ("blest", 20))
        for drive, mbps in enumerate((mbps, mbps + 1, mbps + 8), 1)
    ]
    drives = Results(["scheduler", "drive"], ["goodput", "share"], found, ["drive"])
    assert value("mean(goodput)", drives) == (11 + 21) / 2
    # each drive is a sample, with all of its runs
    assert drives.units == [(1,), (2,), (3,)]
    assert drives.setting(found[0]) == drives.setting(found[1]) == ("minrtt",)
    assert drives.setting(found[0], ["scheduler"]) == drives.setting(found[3], ["scheduler"])
    assert drives.seed(found[0]) == drives.seed(found[3]) == (1, 1)
    two = Results(["scheduler", "drive"], ["goodput"], found[:2], ["drive"])
    assert two.units == [(1,), (2,)]


def test_a_run_without_a_figure_is_an_error_only_where_it_is_needed() -> None:
    found = samples.row(METRICS, {"scheduler": "ecf", "queue": 3}, 1, entry(5, share=None), {})
    assert found.figures == {"goodput": 5, "share": None}
    results = Results(["scheduler", "queue"], ["goodput", "share"], [found])
    message = "the run with scheduler='ecf', queue=3, seed=1 has no share"
    with pytest.raises(MissingError, match=message):
        results.selected(samples.Column("share"), {})


def test_figures_of_a_run_follow_from_its_metrics_axes_and_baselines() -> None:
    def figures(value: str, **point: Any) -> Mapping[str, float | None]:
        wanted = [Metric(name="own", title="t", value=value), *METRICS]
        return samples.row(wanted, point, 1, entry(5), {"lte": entry(10)}).figures

    assert figures("goodput_bps / alone.lte.goodput_bps * queue", queue=2)["own"] == 1
    # one that a run lacks keeps no other from being known
    assert figures("completion_s * 2") == {"own": None, "goodput": 5, "share": 0.25}
    # a figure has a fraction, whatever its formula gives
    assert repr(figures("queue * 2", queue=300)["own"]) == "600.0"
    with pytest.raises(FormulaError, match=r"metric own: goodput_mbps \+ 1: .*goodput_mbps"):
        figures("goodput_mbps + 1")


#: Something is random, so that seeds are samples.
VARY = {"vary": "2%", "queue": "{limit}"}


def published(claim: Claim, **keys: Any) -> Published:
    wanted: dict[str, Any] = {"scenario": VARY} | keys
    own = Experiment(
        title="t",
        place="p",
        grid={"scheduler": ["minrtt", "blest"], "queue": [300, 1000]},
        metric=METRICS[:1],
        chart=Chart(kind="lines", x="queue", y=["goodput"]),
        claim=[claim],
        **wanted,
    )
    paper = Paper(title="t", authors="a", published="p")
    return Published("a/b", Path("a/b.toml"), paper, own)


def seeds(*goodputs: float, scheduler: str = "minrtt", queue: int = 300) -> list[samples.Row]:
    """A run of each seed."""
    point = {"scheduler": scheduler, "queue": queue}
    return [samples.Row(point, n, {"goodput": mbps}) for n, mbps in enumerate(goodputs, 1)]


def judged(
    claim: dict[str, Any], rows: list[samples.Row], part: str = PUBLISHED, **keys: Any
) -> Judged:
    """A claim over these rows, and those in `others`, by the names of their parts."""
    others: dict[str, list[samples.Row]] = keys.pop("others", {})
    whole = published(Claim(name="c", quote="q", says="s", place="p", **claim), **keys)
    own = whole.experiment
    by_part = {part: samples.results(own, rows)}
    by_part |= {name: samples.results(own, found) for name, found in others.items()}
    (found,) = claims.judge(whole, by_part, part)
    return found


POSITIVE: dict[str, Any] = {"holds": "median(goodput) > 0"}
ABOVE, BELOW, NOISE = seeds(*[1] * 5), seeds(*[-1] * 5), seeds(-1, -1, 1, 1, 1)
FIVE = seeds(1, 2, 3, 4, 5)
WITH_TODAY: dict[str, Any] = {"variant": [Variant(name=TODAY, says="s")]}


# Resamples of the seeds, by hand. The median of five draws from 1 to 5 is 5 if three of them at
# least are: in 10 * 4^2 + 5 * 4 + 1 = 181 of 5^5 = 3125 orders of draws.


@pytest.mark.parametrize(
    ("holds", "direction", "p_holds", "p_direction", "verdict"),
    [
        ("median(goodput) < 6", None, 1, None, Verdict.REPRODUCED),
        ("median(goodput) < 5", None, 1 - 181 / 3125, None, Verdict.INCONCLUSIVE),
        ("median(goodput) > 4", None, 181 / 3125, None, Verdict.INCONCLUSIVE),
        ("median(goodput) > 5", None, 0, None, Verdict.CONTRADICTED),
        ("median(goodput) > 5", "median(goodput) > 0", 0, 1, Verdict.DIRECTION),
        ("median(goodput) > 5", "median(goodput) > 4", 0, 181 / 3125, Verdict.INCONCLUSIVE),
        ("median(goodput) > 5", "median(goodput) > 9", 0, 0, Verdict.CONTRADICTED),
        ("median(goodput) < 6", "median(goodput) > 9", 1, 0, Verdict.REPRODUCED),
        # the lowest is drawn unless all five draws are of the others
        ("lowest(goodput) > 1", None, 4**5 / 5**5, None, Verdict.INCONCLUSIVE),
        # a figure of the whole is in brackets where it is an axis
        ("len(queue) == 1", None, 1, None, Verdict.REPRODUCED),
    ],
)
def test_a_verdict_is_the_share_of_resamples_in_which_a_claim_holds(
    holds: str, direction: str | None, p_holds: float, p_direction: float | None, verdict: Verdict
) -> None:
    found = judged({"holds": holds, "direction": direction}, seeds(3, 1, 5, 2, 4))
    assert found.p_holds == pytest.approx(p_holds)
    assert found.p_direction == (p_direction if p_direction is None else pytest.approx(p_direction))
    assert (found.verdict, found.samples, list(found.reasons)) == (verdict, 5, [])
    # six draws have a median above 5.5 only if the third and the fourth are both 6, so if four
    # draws at least are: 15 * 5^2 + 6 * 5 + 1 = 406 of 6^6
    found = judged({"holds": "median(goodput) > 5.5"}, seeds(1, 2, 3, 4, 5, 6))
    assert found.p_holds == pytest.approx(406 / 6**6)
    assert found.verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("p_holds", "p_direction", "verdict"),
    [
        (0.95, None, Verdict.REPRODUCED),
        (0.949, None, Verdict.INCONCLUSIVE),
        (0.949, 0.95, Verdict.DIRECTION),
        (0.949, 0.949, Verdict.INCONCLUSIVE),
        (0.05, None, Verdict.CONTRADICTED),
        (0.051, None, Verdict.INCONCLUSIVE),
        (0.05, 0.05, Verdict.CONTRADICTED),
        (0.05, 0.051, Verdict.INCONCLUSIVE),
        (0.051, 0.0, Verdict.INCONCLUSIVE),
    ],
)
def test_the_bounds_of_verdicts(p_holds: float, p_direction: float, verdict: Verdict) -> None:
    assert claims._verdict(p_holds, p_direction) is verdict


def test_what_has_the_same_seed_stays_together() -> None:
    # each is 1 more than the other with its seed, and less than the other's with the next seed
    rows = [*seeds(1, 3, 5, 7, 9), *seeds(2, 4, 6, 8, 10, scheduler="blest")]
    found = judged(
        {"holds": "median(goodput, scheduler='blest') > median(goodput, scheduler='minrtt')"}, rows
    )
    assert (found.p_holds, found.verdict) == (1, Verdict.REPRODUCED)
    pairs = "zip(values(goodput, scheduler='blest'), values(goodput, scheduler='minrtt'))"
    found = judged({"holds": f"all([b == a + 1 for b, a in {pairs}])"}, rows)
    assert found.p_holds == 1


def test_other_parts_with_the_same_seeds_stay_together_too() -> None:
    claim = {"holds": "median(goodput) > median(goodput, variant='today')"}
    others = {TODAY: seeds(1, 3, 5, 7, 9)}
    assert judged(claim, seeds(2, 4, 6, 8, 10), others=others, **WITH_TODAY).p_holds == 1
    # with other seeds these are drawn apart: the medians of 2 to 10 and of 1 to 9 say little
    apart = [samples.Row(row.point, row.seed + 100, row.figures) for row in others[TODAY]]
    found = judged(claim, seeds(2, 4, 6, 8, 10), others={TODAY: apart}, **WITH_TODAY)
    assert found.p_holds is not None
    assert 0.4 < found.p_holds < 0.9
    assert found.verdict is Verdict.INCONCLUSIVE


def test_many_samples_are_resampled_at_random_and_the_same_each_time() -> None:
    first, again = (
        judged({"holds": "lowest(goodput) > 1"}, seeds(*range(1, 10))) for _ in range(2)
    )
    # none of nine draws is the lowest: (8/9)^9; four standard errors of 2000 draws
    expected = (8 / 9) ** 9
    assert first.p_holds == pytest.approx(
        expected, abs=4 * (expected * (1 - expected) / 2000) ** 0.5
    )
    assert first == again
    drawn = samples.resamples({QUICK: Results(["queue"], [], seeds(*range(8)))}, [QUICK])
    assert drawn.total == 2000
    shares = [1 / 8] * 8
    assert next(drawn.draws)[1][QUICK] == np.random.default_rng(1).multinomial(8, shares).tolist()


@pytest.mark.parametrize(("count", "most", "total"), [(7, 2000, 7**7), (3, 10, 27), (3, 9, 9)])
def test_few_samples_have_all_of_their_resamples(
    monkeypatch: pytest.MonkeyPatch, count: int, most: int, total: int
) -> None:
    # in any order, 3 of 3 are drawn in 10 ways, 7 of 7 in 1716
    monkeypatch.setattr(samples, "RESAMPLES", most)
    units = Results(["queue"], [], seeds(*range(count)))
    assert samples.resamples({QUICK: units}, [QUICK]).total == total


def test_the_points_of_a_design_are_samples_and_their_seeds_are_not() -> None:
    design = Design(points=5, ranges={"rate": RangeTable(low=0, high=9)})
    rows = [
        samples.Row(
            {"scheduler": "minrtt", "queue": 300, "rate": rate}, seed, {"goodput": mbps + seed}
        )
        for rate, mbps in ((1.0, 0), (2.0, 0), (3.0, 0), (4.0, 0), (5.0, 100))
        for seed in (1, 2)
    ]
    # 1.5 at each but the last, 101.5 there: a mean above 40 is two draws of the last at least
    found = judged({"holds": "mean(goodput) > 40"}, rows, design=design, scenario={})
    assert found.samples == 5
    assert found.p_holds == pytest.approx(1 - (4**5 + 5 * 4**4) / 5**5)
    # and the axis has what is drawn
    found = judged({"holds": "5.0 in rate"}, rows, design=design, scenario={})
    assert found.p_holds == pytest.approx(1 - 4**5 / 5**5)


def test_drives_are_samples_and_their_seeds_are_not() -> None:
    drive: dict[str, Any] = {"drive": Drive(seed="{queue}"), "scenario": {}}
    rows = [
        samples.Row({"scheduler": "minrtt", "queue": number}, seed, {"goodput": number})
        for number in range(1, 6)
        for seed in (1, 2, 3)
    ]
    found = judged({"holds": "lowest(goodput) > 1"}, rows, **drive)
    assert found.samples == 5
    assert found.p_holds == pytest.approx(4**5 / 5**5)
    # a drive alone is no sample of drives, but its seeds may be of something else
    found = judged({"holds": "lowest(goodput) > 0"}, rows[:3], **drive)
    assert found.samples == 3


def test_an_interval_has_a_fortieth_of_the_resamples_on_either_side() -> None:
    values = {
        "least": "lowest(goodput)",
        "both": "[lowest(goodput), 7]",
        "name": "'minrtt'",
        "some": "[v for v in values(goodput) if v > 3]",
        "sure": "1 > 0",
        # no number in a resample
        "more": "lowest(goodput) if lowest(goodput) < 2 else 'more'",
    }
    figures = {name: ClaimFigure(value=value) for name, value in values.items()}
    found = judged({"holds": "least > 0", "figures": figures}, FIVE)
    ours = {"least": 1, "both": [1, 7], "name": "minrtt", "some": [4, 5], "sure": True, "more": 1}
    assert found.ours == ours
    # the lowest draw is 1 in 67 % of the resamples, at most 2 in 92 %, at most 3 in 99 %
    assert found.intervals == {"least": (1, 3), "both": [(1, 3), (7, 7)]}
    # of 80 the second is the first up to which there are 80 / 40, and the 78th up to which 78
    assert claims._interval([(1, value) for value in range(80, 0, -1)]) == (2, 78)
    assert claims._interval([(2, 1), (76, 2), (2, 3)]) == (1, 2)


def test_few_samples_and_seeds_that_vary_nothing_are_inconclusive() -> None:
    found = judged(POSITIVE, seeds(1, 2, 3, 4))
    assert (found.verdict, found.p_holds, found.samples) == (Verdict.INCONCLUSIVE, 1, 4)
    assert list(found.reasons) == ["too few samples: 4, where at least 5 are needed"]
    found = judged(POSITIVE, ABOVE, TODAY, scenario={}, **WITH_TODAY)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert list(found.reasons) == ["nothing was varied: the seeds are no independent samples"]
    # in the published setting one run says it all
    for rows, verdict in ((ABOVE, Verdict.REPRODUCED), (BELOW, Verdict.CONTRADICTED)):
        found = judged(POSITIVE, rows[:1], scenario={})
        assert (found.verdict, found.reasons) == (verdict, [])


def test_a_claim_that_is_not_testable_has_its_figures() -> None:
    figures = {
        "least": ClaimFigure(value="lowest(goodput)", paper=11),
        "twice": ClaimFigure(value="2 * least"),
    }
    found = judged({"not_testable": "no paths", "figures": figures}, seeds(2, 3))
    assert (found.verdict, found.ours) == (Verdict.NOT_TESTABLE, {"least": 2, "twice": 4})
    assert (found.p_holds, list(found.reasons)) == (None, ["no paths"])
    # but where these have no value
    figures = {"share": ClaimFigure(value="1 / (lowest(goodput) - 2)")}
    found = judged({"not_testable": "no paths", "figures": figures}, seeds(2, 3))
    assert (found.verdict, list(found.reasons)) == (Verdict.NOT_TESTABLE, ["no paths"])
    assert "division by zero" in found.unknown


LIMIT = Assumed(name="limit", value=1, because="none is given", range=[2, 3])
ALGORITHM = Assumed(name="algorithm", value="reno", because="none is given", range=["cubic"])
#: A scenario with both.
BOTH = {**VARY, "cc": "{algorithm}"}
#: A quick part that is no part of all runs.
OWN_QUICK: dict[str, Any] = {"assumed": [LIMIT], "quick": Quick(scenario={"cc": "reno"}, says="s")}


def test_a_claim_that_needs_what_the_kernel_lacks_is_not_testable_and_has_the_rest() -> None:
    claim = {
        "holds": "blest > minrtt",
        "figures": {
            "blest": ClaimFigure(value="median(goodput, scheduler='blest')"),
            "minrtt": ClaimFigure(value="median(goodput, scheduler='minrtt')"),
        },
    }
    blank = [
        replace(row, figures={"goodput": None}, lacks="the kernel has no scheduler blest")
        for row in seeds(*[0] * 5, scheduler="blest")
    ]
    found = judged(claim, [*FIVE, *blank])
    assert (found.verdict, found.ours) == (Verdict.NOT_TESTABLE, {"minrtt": 3})
    assert found.reasons == ["no goodput: the kernel has no scheduler blest"]
    assert wording.verdict(found) == "not testable"
    # all schedulers are not those that were run
    assert judged(POSITIVE, [*FIVE, *blank]).verdict is Verdict.NOT_TESTABLE
    # a figure that is missing for no such reason is an error
    with pytest.raises(MptcplabError, match="has no goodput"):
        judged(claim, [*FIVE, *(replace(row, lacks="") for row in blank)])


def test_a_claim_about_what_a_value_was_fitted_to_is_not_judged() -> None:
    fitted = LIMIT.model_copy(update={"fitted": "fitted to figure 3"})
    others = {"limit=2": FIVE}
    found = judged(POSITIVE | {"fitted_by": ["limit"]}, FIVE, assumed=[fitted], others=others)
    assert found.verdict is Verdict.NOT_TESTABLE
    assert list(found.reasons) == ["fitted: limit is 1, fitted to figure 3"]
    assert found.by_variant["limit=2"].verdict is Verdict.NOT_TESTABLE
    both = [fitted, ALGORITHM.model_copy(update={"fitted": "fitted to figure 4"})]
    claim = POSITIVE | {"fitted_by": ["limit", "algorithm"]}
    found = judged(claim, FIVE, assumed=both, scenario=BOTH)
    assert list(found.reasons) == [
        "fitted: limit is 1, fitted to figure 3; fitted: algorithm is reno, fitted to figure 4"
    ]


def test_a_claim_that_depends_on_an_assumed_value_is_inconclusive() -> None:
    def found_with(two: list[samples.Row], three: list[samples.Row]) -> Judged:
        return judged(POSITIVE, ABOVE, assumed=[LIMIT], others={"limit=2": two, "limit=3": three})

    same = found_with(ABOVE, ABOVE)
    assert (same.verdict, same.not_varied, same.provisional) == (Verdict.REPRODUCED, [], False)
    assert list(same.by_variant) == ["limit=2", "limit=3", QUICK]
    found = found_with(ABOVE, BELOW)
    assert (found.verdict, found.p_holds) == (Verdict.INCONCLUSIVE, 1)
    (reason,) = found.reasons
    assert reason == "depends on limit: contradicted with 3; the quick part alone: reproduced"
    assert found.by_variant["limit=3"].verdict is Verdict.CONTRADICTED
    (reason,) = found_with(BELOW, BELOW).reasons
    assert reason.startswith("depends on limit: contradicted with 2, contradicted with 3; ")
    found = found_with(ABOVE, NOISE)
    assert found.verdict is Verdict.INCONCLUSIVE
    (reason,) = found.reasons
    assert reason.startswith("is not decided with another limit: inconclusive with 3; ")
    assert list(found_with(BELOW, NOISE).reasons) == [
        "depends on limit: contradicted with 2; the quick part alone: reproduced",
        "is not decided with another limit: inconclusive with 3; the quick part alone: reproduced",
    ]
    # other variants show something else
    today = judged(POSITIVE, ABOVE, others={TODAY: BELOW}, **WITH_TODAY)
    assert today.verdict is Verdict.REPRODUCED
    assert today.by_variant[TODAY].verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("mbps", "other", "verdict"),
    [
        (5, 1, Verdict.DIRECTION),  # the size depends on it
        (1, 5, Verdict.DIRECTION),
        (5, -1, Verdict.INCONCLUSIVE),
        (1, -1, Verdict.INCONCLUSIVE),
        (-1, 1, Verdict.INCONCLUSIVE),
    ],
)
def test_an_assumption_may_decide_the_size(mbps: int, other: int, verdict: Verdict) -> None:
    claim = {"holds": "median(goodput) > 3", "direction": "median(goodput) > 0"}
    same, different = seeds(*[mbps] * 5), seeds(*[other] * 5)
    others = {"limit=2": same, "limit=3": different}
    found = judged(claim, same, assumed=[LIMIT], others=others)
    assert found.verdict is verdict
    assert found.reasons[0].startswith("depends on limit: ")


def test_assumed_values_are_compared_with_the_quick_part() -> None:
    # all runs: reproduced; the quick part, one of two queues, is contradicted, and so is 2
    rows = [*seeds(9, 9, 9, 9, 9), *seeds(-1, -1, -1, -1, -1, queue=1000)]
    keys: dict[str, Any] = {"assumed": [LIMIT], "quick": Quick(grid={"queue": [1000]})}
    claim = {"holds": "mean(goodput) > 0"}
    below, above = (seeds(*[mbps] * 5, queue=1000) for mbps in (-1, 1))
    found = judged(claim, rows, others={"limit=2": below, "limit=3": below}, **keys)
    assert (found.verdict, found.by_variant[QUICK].ours) == (Verdict.REPRODUCED, {})
    assert found.by_variant[QUICK].verdict is Verdict.CONTRADICTED
    # which does not tell what another value does to all runs
    assert (found.not_varied, found.provisional) == (["limit"], True)
    assert list(found.reasons) == [
        "the quick part alone: contradicted, which does not tell about limit"
    ]
    both = {**keys, "assumed": [LIMIT, ALGORITHM], "scenario": BOTH}
    others = {"limit=2": below, "limit=3": below, "algorithm=cubic": below}
    (reason,) = judged(claim, rows, others=others, **both).reasons
    assert reason.endswith(", which does not tell about limit, algorithm")
    found = judged(claim, rows, others={"limit=2": below, "limit=3": above}, **keys)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert (
        "depends on limit: reproduced with 3; the quick part alone: contradicted" in found.reasons
    )


def test_what_the_quick_part_leaves_open_depends_on_no_value_that_agrees_with_all_runs() -> None:
    others = {QUICK: NOISE, "limit=2": ABOVE, "limit=3": ABOVE}
    found = judged(POSITIVE, ABOVE, others=others, **OWN_QUICK)
    assert found.by_variant[QUICK].verdict is Verdict.INCONCLUSIVE
    assert (found.verdict, found.not_varied, found.reasons) == (Verdict.REPRODUCED, [], [])
    found = judged(POSITIVE, ABOVE, others={**others, "limit=3": BELOW}, **OWN_QUICK)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "depends on limit: contradicted with 3" in found.reasons[0]
    # as open as the quick part itself
    found = judged(POSITIVE, ABOVE, others={**others, "limit=3": NOISE}, **OWN_QUICK)
    assert (found.verdict, found.provisional) == (Verdict.REPRODUCED, True)


def test_what_all_runs_leave_open_is_not_put_down_to_a_value_that_leaves_it_open_too() -> None:
    others = {QUICK: ABOVE, "limit=2": NOISE, "limit=3": NOISE}
    found = judged(POSITIVE, NOISE, others=others, **OWN_QUICK)
    assert found.by_variant[QUICK].verdict is Verdict.REPRODUCED
    assert (found.verdict, found.provisional, found.reasons) == (Verdict.INCONCLUSIVE, False, [])
    found = judged(POSITIVE, NOISE, others={**others, "limit=3": BELOW}, **OWN_QUICK)
    assert list(found.reasons) == [
        "depends on limit: contradicted with 3; the quick part alone: reproduced"
    ]


def test_a_direction_that_all_runs_do_not_have_is_not_left_by_a_value() -> None:
    # the quick part has the size, another value the direction alone, and all runs have neither
    claim = {"holds": "median(goodput) > 3", "direction": "median(goodput) > 0"}
    others = {QUICK: seeds(*[5] * 5), "limit=2": ABOVE, "limit=3": seeds(*[5] * 5)}
    found = judged(claim, BELOW, others=others, **OWN_QUICK)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_what_is_no_published_setting_is_not_varied() -> None:
    others = {PUBLISHED: ABOVE, "limit=2": BELOW}
    found = judged(POSITIVE, ABOVE, TODAY, others=others, assumed=[LIMIT], **WITH_TODAY)
    assert (found.verdict, *found.not_varied, *found.reasons) == (Verdict.REPRODUCED,)


def test_a_quick_part_with_its_own_scenario_is_no_part_of_all_runs() -> None:
    others = {"limit=2": FIVE, "limit=3": FIVE}
    found = judged(POSITIVE, FIVE, others=others, **OWN_QUICK)
    assert (found.verdict, found.not_varied) == (Verdict.REPRODUCED, ["limit"])
    assert QUICK not in found.by_variant
    found = judged(POSITIVE, FIVE, others={**others, QUICK: FIVE}, **OWN_QUICK)
    assert found.not_varied == []
    # with few seeds there is nothing to compare with
    found = judged(POSITIVE, FIVE, others={**others, QUICK: FIVE[:2]}, **OWN_QUICK)
    assert (found.verdict, found.not_varied) == (Verdict.REPRODUCED, ["limit"])
    # judged alone, it is compared with itself
    found = judged(POSITIVE, FIVE, QUICK, others={**others, "limit=3": BELOW}, **OWN_QUICK)
    assert found.verdict is Verdict.INCONCLUSIVE


def test_a_verdict_is_provisional_until_all_assumed_values_have_been_varied() -> None:
    found = judged(POSITIVE, FIVE, assumed=[LIMIT], others={"limit=2": FIVE})
    assert (found.verdict, found.not_varied) == (Verdict.REPRODUCED, ["limit"])
    assert found.provisional
    found = judged({"not_testable": "no"}, FIVE, assumed=[LIMIT])
    assert (found.provisional, *found.not_varied) == (False,)


def test_a_part_that_lacks_runs_is_not_judged_by_them() -> None:
    rows = [*FIVE, *seeds(1, 2, 3, 4, 5, scheduler="blest")]
    claim = {"holds": "median(goodput, scheduler='blest') > 0"}
    others = {"limit=2": rows, "limit=3": rows[:5]}
    found = judged(claim, rows, assumed=[LIMIT], others=others)
    assert (found.verdict, found.not_varied) == (Verdict.REPRODUCED, ["limit"])
    outcome = found.by_variant["limit=3"]
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert "holds" in outcome.unknown
    assert "no run has scheduler='blest'" in outcome.unknown
    assert "a/b.toml" not in outcome.unknown


def test_a_claim_that_needs_a_part_that_was_not_run_is_inconclusive() -> None:
    figures = {"today": ClaimFigure(value="median(goodput, variant='today')")}
    found = judged({"holds": "today > 0", "figures": figures}, FIVE, **WITH_TODAY)
    assert (found.verdict, found.ours) == (Verdict.INCONCLUSIVE, {})
    assert list(found.reasons) == ["today has not been run"] == [found.unknown]
    found = judged({"not_testable": "no", "figures": figures}, FIVE, **WITH_TODAY)
    assert (found.verdict, list(found.reasons)) == (Verdict.NOT_TESTABLE, ["no"])
    assert found.unknown == "today has not been run"


def test_resamples_without_what_a_formula_needs_do_not_count() -> None:
    # a value above 4 is there in 1 - (4/5)^5 = 67 % of the resamples
    claim = {"holds": "min([v for v in values(goodput) if v > 4]) > 3"}
    found = judged(claim, FIVE)
    assert (found.p_holds, found.verdict) == (1, Verdict.INCONCLUSIVE)
    assert list(found.reasons) == ["over 33% of the resamples it cannot be evaluated"]
    # one that has to divide by zero, over all of them
    found = judged({"holds": "mean(goodput) / (mean(goodput) - mean(goodput)) > 1"}, FIVE)
    assert (found.verdict, found.p_holds) == (Verdict.INCONCLUSIVE, None)
    assert "division by zero" in found.unknown
    assert "division by zero" in found.reasons[0]
    # all five draws are of the lowest in one of 5^5
    found = judged({"holds": "1 / (highest(goodput) - 1) > 0"}, FIVE)
    assert (found.p_holds, found.verdict, found.reasons) == (1, Verdict.REPRODUCED, [])
    # a sum of 20 powers of two is 2^20 - 1 only if each is drawn once: in 20! / 20^20 = 2e-8
    once = "len([True for _ in [1] if abs(mean(values(goodput)) * 20 - (2**20 - 1)) < 0.5])"
    claim = {"holds": f"1 / {once} > 0", "direction": "lowest(goodput) > 0"}
    found = judged(claim, seeds(*(2**power for power in range(20))))
    assert (found.p_holds, found.p_direction) == (None, None)
    assert list(found.reasons) == ["over 100% of the resamples it cannot be evaluated"]


# Draws


RANGE = LIMIT.model_copy(update={"range": [101], "source": "s"})
KIND = ALGORITHM.model_copy(update={"source": "s"})
RANGES: dict[str, Any] = {"assumed": [RANGE, KIND], "scenario": BOTH}
SIZED = {"holds": "median(goodput) > 3", "direction": "median(goodput) > 0"}


def by_draws(
    mbps: Callable[[Draw, int], float | None], count: int = 60, **keys: Any
) -> Callable[[dict[str, Any], list[samples.Row]], Judged]:
    """Judges claims, given the goodput of each draw, by what it draws and its number."""
    keys = {**RANGES, **keys}
    own = published(Claim(name="c", quote="q", says="s", place="p", holds="True"), **keys)
    draws = own.experiment.part(DRAWS).draws[:count]
    rows = [
        samples.Row(point, seed, {"goodput": mbps(draw, seed)})
        for seed, draw in enumerate(draws, 1)
        for point in draw.points[:1]
    ]

    def found(claim: dict[str, Any], rows_: list[samples.Row]) -> Judged:
        return judged(claim, rows_, others={DRAWS: rows}, **keys)

    return found


@pytest.mark.parametrize(
    ("high", "verdict"),
    [
        (60, Verdict.REPRODUCED),
        (47, Verdict.REPRODUCED),
        (46, Verdict.OPEN),
        (42, Verdict.OPEN),
        (41, Verdict.CONTRADICTED),
        (0, Verdict.CONTRADICTED),
    ],
)
def test_draws_that_no_value_separates_are_seeds(high: int, verdict: Verdict) -> None:
    order = np.random.default_rng(5).permutation(60).tolist()
    judge = by_draws(lambda _, seed: 1 if order[seed - 1] < high else -1)
    whole = ABOVE if high > 41 else BELOW
    found = judge(POSITIVE, whole)
    assert (found.verdict, found.draws["holds"].true, found.settled) == (verdict, high, True)
    # in the first rule's words nothing is left
    assert (*found.not_varied, found.provisional) == (False,)


@pytest.mark.parametrize("name", ["limit", "algorithm"])
def test_a_claim_that_a_value_decides_depends_on_it(name: str) -> None:
    def mbps(draw: Draw, _seed: int) -> float:
        return (
            1
            if {"limit": draw.assumed["limit"] > 51}.get(name, draw.assumed[name] == "cubic")
            else -1
        )

    found = by_draws(mbps)(POSITIVE, ABOVE)
    assert found.verdict is Verdict.DEPENDS
    depends = found.draws["holds"].depends
    assert depends is not None
    assert depends.name == name
    sides = sorted((depends.inside, depends.outside))
    assert (sides[0][0], *sides[1]) == (0, found.draws["holds"].true, found.draws["holds"].true)
    assert f"depends on {name}: true in " in found.reasons[0]
    # three exceptions are a twentieth, and no value matters
    few = by_draws(lambda draw, _: -1 if draw.place[name] < 3 / 60 else 1)(POSITIVE, ABOVE)
    assert few.draws["holds"].true == 57
    assert few.verdict is Verdict.REPRODUCED
    # where the size depends on it, and the direction does not
    found = by_draws(lambda draw, _: 5 if draw.place[name] > 0.5 else 1)(SIZED, ABOVE)
    assert found.verdict is Verdict.DIRECTION


def test_the_runs_at_our_values_have_to_agree() -> None:
    judge = by_draws(lambda *_: 5)
    assert judge(SIZED, seeds(*[5] * 5)).verdict is Verdict.REPRODUCED
    found = judge(SIZED, ABOVE)
    assert found.verdict is Verdict.DIRECTION
    assert "the draws say reproduced, the runs at our values direction only" in found.reasons
    assert judge(SIZED, BELOW).verdict is Verdict.OPEN
    assert by_draws(lambda *_: -1)(SIZED, ABOVE).verdict is Verdict.OPEN


def test_with_ranges_a_claim_is_open_until_the_last_draw() -> None:
    found = by_draws(lambda *_: 5, count=30)(SIZED, seeds(*[5] * 5))
    assert (found.verdict, found.settled) == (Verdict.OPEN, False)
    assert found.reasons[0].startswith("30 of 60 draws; ")


@pytest.mark.parametrize(("mbps", "last"), [(1, 10), (-1, 4)])
def test_seeds_alone_stop_where_wald_does(mbps: int, last: int) -> None:
    keys: dict[str, Any] = {"assumed": [], "scenario": {"vary": "2%"}}
    for count in (last - 1, last, 60):
        found = by_draws(lambda *_: mbps, count, **keys)(POSITIVE, ABOVE if mbps > 0 else BELOW)
        assert found.settled is (count >= last)
        assert (found.verdict is Verdict.OPEN) is (count < last)
    # what seeds say after the decision changes nothing
    late = by_draws(lambda _, seed: mbps if seed <= last else -mbps, **keys)
    assert late(POSITIVE, ABOVE if mbps > 0 else BELOW).verdict is found.verdict


@pytest.mark.parametrize(("missing", "verdict"), [(3, Verdict.REPRODUCED), (4, Verdict.OPEN)])
def test_draws_without_a_value_are_left_out(missing: int, verdict: Verdict) -> None:
    found = by_draws(lambda _, seed: None if seed <= missing else 1)(POSITIVE, ABOVE)
    assert (found.verdict, found.draws["holds"].of) == (verdict, 60 - missing)


def test_a_claim_about_a_design_is_judged_by_all_of_its_points_at_once() -> None:
    design = Design(points=200, ranges={"rate": RangeTable(low=0, high=9)})
    keys: dict[str, Any] = {"assumed": [], "scenario": {}, "design": design}
    claim = {"holds": "len([1 for v in values(goodput) if v < 0]) >= 3"}
    rows = [
        samples.Row({"scheduler": "minrtt", "queue": 300, "rate": n / 9}, 1, {"goodput": n - 9.0})
        for n in range(40)
    ]

    def behind(points: int, of: int = 60) -> Judged:
        return by_draws(lambda _, seed: -1 if seed <= points else 1, of, **keys)(claim, rows)

    # 2 of 60 are behind, and more in some of the resamples
    verdicts = [behind(points).verdict for points in (60, 9, 8, 1)]
    assert verdicts == [Verdict.REPRODUCED, Verdict.REPRODUCED, Verdict.OPEN, Verdict.OPEN]
    assert behind(0).draws["holds"].decided is False
    # fewer points say the same in every resample
    assert (behind(5, of=5).verdict, behind(5, of=5).settled) == (Verdict.OPEN, False)


def test_an_explanation_is_shown_while_it_is_true() -> None:
    def because(shown_by: str) -> Because:
        figures = {"other": ClaimFigure(value="median(goodput, variant='today')")}
        return Because(says="It is.", shown_by=shown_by, figures=figures)

    claim = {
        "holds": "least > 9",
        "figures": {"least": ClaimFigure(value="lowest(goodput)")},
        "because": [because("other > least"), because("other < least")],
    }
    found = judged(claim, FIVE, others={TODAY: seeds(7, 8, 9)}, **WITH_TODAY)
    assert [(each.shown, each.ours, each.why) for each in found.explained] == [
        (True, {"other": 8}, ""),
        (False, {"other": 8}, "it is false"),
    ]
    assert found.because == [found.explained[0]]
    assert [each.because for each in found.explained] == claim["because"]
    found = judged(claim, FIVE, **WITH_TODAY)
    assert [each.ours for each in found.explained] == [{}, {}]
    assert [each.why for each in found.explained] == ["today has not been run"] * 2
    assert found.because == []
    figures = {"other": ClaimFigure(value="median(goodput, scheduler='ecf')")}
    wrong = {**claim, "because": [Because(says="It is.", shown_by="True", figures=figures)]}
    (found_wrong,) = judged(wrong, FIVE).explained
    assert found_wrong.why.startswith("a/b.toml: claim[1].because[1].figures.other = ")
    wrong = {**claim, "because": [because("other")]}
    message = r"a/b\.toml: claim\[1\]\.because\[1\]\.shown_by = 'other': is 8"
    with pytest.raises(MptcplabError, match=message):
        judged(wrong, FIVE, others={TODAY: seeds(7, 8, 9)}, **WITH_TODAY)
    # one that rests on single samples is not shown: with one of five samples above, the mean of a
    # resample is above in 1 - (4/5)^5 = 67 % of them
    single = Because(says="It is.", shown_by="mean(values(goodput)) > least")
    claim |= {"figures": {"least": ClaimFigure(value="1")}, "because": [single]}
    rows = seeds(1, 1, 1, 1, 6)
    (each,) = judged(claim, rows).explained
    assert (each.shown, each.why) == (False, "it is true in 67% of the resamples")


def test_claims_over_another_part_have_its_figures_and_explanations() -> None:
    claim = Claim(
        name="c",
        quote="q",
        says="s",
        place="p",
        holds="least > 6",
        figures={"least": ClaimFigure(value="lowest(goodput)")},
        because=[Because(says="More.", shown_by="least > 5")],
    )
    whole = published(claim, **WITH_TODAY)
    rows = {PUBLISHED: FIVE, TODAY: seeds(7, 8, 9, 10, 11)}
    by_part = {name: samples.results(whole.experiment, found) for name, found in rows.items()}
    first = claims.judge(whole, by_part, PUBLISHED)
    (today,) = claims.over(whole, by_part, first, TODAY)
    assert (first[0].verdict, today.verdict) == (Verdict.CONTRADICTED, Verdict.REPRODUCED)
    assert (today.claim, today.ours, today.by_variant) == (claim, {"least": 7}, {})
    assert first[0].claim == claim
    assert [len(each.because) for each in (first[0], today)] == [0, 1]


def test_the_results_of_an_experiment_have_its_axes_metrics_and_seeds() -> None:
    own = published(Claim(name="c", quote="q", says="s", place="p", holds="True")).experiment
    found = samples.results(own, rows())
    assert found.axes == {"scheduler": ["minrtt", "blest"], "queue": [300, 1000]}
    assert found.metrics == ["goodput"]
    assert found.rows == rows()
    assert (found.seed_axes, found.design_axes) == ([], [])
    drives = own.model_copy(update={"drive": Drive(seed="{queue}")})
    assert samples.results(drives, rows()).seed_axes == ["queue"]


@pytest.mark.parametrize(
    ("holds", "message"),
    [
        ("mean(goodput, scheduler='ecf') > 1", "cannot be evaluated: no run has"),
        ("mean(goodput)", "; a formula that is true or false is expected$"),
    ],
)
def test_a_claim_that_cannot_be_evaluated_is_an_error(holds: str, message: str) -> None:
    with pytest.raises(MptcplabError, match=message) as caught:
        judged({"holds": holds}, rows())
    assert "a/b.toml: claim[1].holds" in str(caught.value)
    wrong = {"minrtt": ClaimFigure(value="median(goodput, scheduler='ecf')")}
    with pytest.raises(MptcplabError, match=r"claim\[1\]\.figures\.minrtt = .*no run has"):
        judged({"holds": "minrtt > 1", "figures": wrong}, rows())
