# SPDX-License-Identifier: GPL-2.0-only
"""What published experiments gave, as text, tables and pairs."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest

from mptcplab.papers import catalogue, claims, data, results, tables, wording
from mptcplab.papers.catalogue import (
    QUICK,
    Because,
    Chart,
    Claim,
    ClaimFigure,
    Experiment,
    Metric,
    Paper,
    Published,
    Quick,
)
from mptcplab.papers.reproduce import Provenance, Ran, Reproduced


def reproduced(**chart: Any) -> Reproduced:
    """Two schedulers and two queues with two seeds: the goodput is a sum of their numbers."""
    own = Experiment(
        title="Queues",
        place="figure 1",
        setting=["Ours: all of it."],
        repeat=5,
        scenario={},
        axis={"queue": "queue, packets"},
        grid={"scheduler": ["minrtt", "blest"], "queue": [300, 1000]},
        metric=[Metric(name="goodput", title="Goodput", unit="Mbit/s", value="goodput_bps / 1e6")],
        chart=Chart(**({"kind": "lines", "x": "queue", "y": ["goodput"]} | chart)),
        quick=Quick(says="Less."),
        claim=[
            Claim(
                name="claim-1",
                quote="q",
                says="More is more.",
                place="section 1",
                holds="minrtt > 5",
                because=[Because(says="Because.", shown_by="minrtt < 5")],
                figures={
                    "minrtt": ClaimFigure(
                        says="minRTT",
                        unit="Mbit/s",
                        paper=11,
                        value="median(goodput, scheduler='minrtt', queue=300)",
                    )
                },
            ),
            Claim(
                name="claim-2",
                quote="q",
                says="A|B.",
                place="section 2",
                not_testable="there is none.",
            ),
        ],
    )
    rows = [
        claims.Row({"scheduler": scheduler, "queue": queue}, seed, {"goodput": first + i + seed})
        for scheduler, first in (("minrtt", 1.0), ("blest", 31.0))
        for i, queue in enumerate((300, 1000))
        for seed in (1, 2)
    ]
    paper = Paper(title="On queues", authors="A", published="2020", findings=["Queues fill."])
    published = Published("paper2020/fig1", Path("fig1.toml"), paper, own)
    found = claims.results(own, rows)
    made = Provenance("d1", 2, "k1", "b1", {}, "g1", "0.1.0", "mptcplab papers run")
    runs = [Path(f"runs/{number}") for number in range(len(rows))]
    judged = claims.judge(published, {QUICK: found}, QUICK)
    return Reproduced(published, QUICK, {QUICK: Ran(found, made, runs)}, judged)


def with_rows(found: Reproduced, rows: list[claims.Row]) -> Reproduced:
    """The same of other runs, with the same verdicts."""
    ran = dataclasses.replace(
        found.ran[QUICK],
        results=claims.results(found.published.experiment, rows),
        directories=found.directories[: len(rows)],
    )
    return dataclasses.replace(found, ran={QUICK: ran})


def test_a_table_has_medians_and_intervals() -> None:
    table, _ = tables.tables(reproduced())
    assert table.title == "Goodput, Mbit/s; across: queue, packets"
    assert table.head == ("scheduler", "300", "1000")
    # seeds 1 and 2 of minrtt with 300 packets: 2 and 3, and so is the interval of their median
    assert table.rows[0] == ("minrtt", "2.5 (2 to 3)", "3.5 (3 to 4)")
    assert table.rows[1] == ("blest", "32.5 (32 to 33)", "33.5 (33 to 34)")


@pytest.mark.parametrize("chart", [{"kind": "cdf", "x": ""}, {"kind": "bars", "x": "scheduler"}])
def test_a_distribution_is_reported_by_quantiles(chart: dict[str, Any]) -> None:
    table, _ = tables.tables(reproduced(**chart))
    assert table.head[1:] == ("lowest", "quartile", "median", "3rd quartile", "highest", "runs")
    assert table.rows[0] == ("minrtt", "2", "2.75", "3", "3.25", "4", "4")


def test_schedulers_are_compared_in_pairs_of_the_same_setting_and_seed() -> None:
    _, table = tables.tables(reproduced())
    assert table.title == (
        "Goodput, Mbit/s: the row's less the column's, same setting and seed; 4 pairs"
    )
    # 30 Mbit/s more in each of the four pairs: two queues, two seeds
    assert table.head == ("", "minrtt")
    assert table.rows == (("blest", "+30 (+1.00)"),)
    (line,) = csv.DictReader(io.StringIO(data.pairs_csv(reproduced())))
    assert line["scheduler"] == "blest"
    assert line["less_that_of"] == "minrtt"
    assert (line["pairs"], line["median"], line["effect"]) == ("4", "30", "1")
    # of four pairs none can be less probable than 2 / 2^4
    assert float(line["p"]) == 0.125


def test_with_one_seed_and_setting_schedulers_are_not_compared() -> None:
    found = reproduced()
    rows = [row for row in found.results.rows if row.seed == 1 and row.point["queue"] == 300]
    one = with_rows(found, rows)
    assert len(tables.tables(one)) == 1
    assert data.pairs_csv(one) == ""
    assert "quick runs, 2 runs, 1 seed; kernel k1" in results.text(one)


def test_the_text_says_how_it_was_run_and_what_holds() -> None:
    text = results.text(reproduced())
    assert "quick runs, 8 runs, 2 seeds; kernel k1" in text
    assert "quick: Less." in text
    assert "claim-1: INCONCLUSIVE (holds in 0 % of the resamples of 2 samples)" in text
    assert "(section 1): More is more." in text
    assert "Nothing was varied: the seeds are no independent samples." in text
    assert "minRTT: 2.5 (2 to 3) Mbit/s; paper: 11 Mbit/s" in text
    assert "Because." in text
    assert 'claim-2: NOT TESTABLE\n      "q" (section 2): A|B.' in text


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (2.5, (2.0, 3.0), "2.5 (2 to 3)"),
        (2.5, None, "2.5"),
        (2.5, (2.5, 2.5), "2.5"),
        ([1, 2], [(1, 1), (1, 3)], "1, 2 (1 to 3)"),
        (["ecf"], None, "ecf"),
        ([], None, "none"),
        (True, None, "yes"),
    ],
)
def test_a_figure_of_a_claim_has_its_interval(value: Any, interval: Any, text: str) -> None:
    judged = claims.Judged(
        claim=Claim(
            name="claim-3",
            quote="q",
            says="s",
            place="p",
            holds="x",
            figures={"x": ClaimFigure(value="1", says="x")},
        ),
        verdict=claims.Verdict.REPRODUCED,
        ours={"x": value},
        intervals={"x": interval},
    )
    found = dataclasses.replace(reproduced(), judged=[judged])
    assert f"x: {text}\n" in results.text(found) + "\n"


def test_an_explanation_is_shown_while_its_formula_is_true() -> None:
    found = reproduced()
    assert "Because" in results.text(found)
    (first, _) = found.published.experiment.claim
    because = [first.because[0].model_copy(update={"shown_by": "minrtt > 5"})]
    claim = first.model_copy(update={"because": because})
    own = found.published.experiment.model_copy(update={"claim": [claim]})
    published = Published("paper2020/fig1", Path("x"), found.published.paper, own)
    judged = claims.judge(published, {QUICK: found.results}, QUICK)
    assert "Because" not in results.text(dataclasses.replace(found, judged=judged))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (188.1113, "188.1"),
        (12345.6, "12346"),
        (0.000512, "0.0005"),
        (0, "0"),
        (None, "-"),
        (True, "yes"),
        ([1.0, 2.55555], "1, 2.556"),
        ("blest", "blest"),
        (-0.71234, "-0.7123"),
    ],
)
def test_numbers_have_four_digits(value: Any, text: str) -> None:
    assert wording.number(value) == text


def test_every_shipped_paper_says_what_it_is() -> None:
    for name in catalogue.names():
        paper = catalogue.load(name).paper
        assert paper.title
        assert paper.setting
