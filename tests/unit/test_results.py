# SPDX-License-Identifier: GPL-2.0-only
"""What published experiments gave, as text, tables and pairs."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest

from mptcplab.papers import catalogue, claims, data, results, samples, tables, wording
from mptcplab.papers.catalogue import QUICK, Claim, ClaimFigure, Quick
from mptcplab.papers.reproduce import Ran, Reproduced
from tests import papers_by_hand


def reproduced(**chart: Any) -> Reproduced:
    """Two schedulers and two queues with two seeds: the goodput is a sum of their numbers."""
    published = papers_by_hand.published(**chart)
    own = published.experiment
    own = own.model_copy(update={"scenario": {}, "repeat": 5, "quick": Quick(says="Less.")})
    published = dataclasses.replace(published, experiment=own)
    rows = [
        samples.Row({"scheduler": scheduler, "queue": queue}, seed, {"goodput": first + i + seed})
        for scheduler, first in (("minrtt", 1.0), ("blest", 31.0))
        for i, queue in enumerate((300, 1000))
        for seed in (1, 2)
    ]
    found = samples.results(own, rows)
    made = papers_by_hand.provenance(published, QUICK)
    runs = [Path(f"runs/{number}") for number in range(len(rows))]
    judged = claims.judge(published, {QUICK: found}, QUICK)
    return Reproduced(published, QUICK, {QUICK: Ran(found, made, runs)}, judged)


def with_rows(found: Reproduced, rows: list[samples.Row]) -> Reproduced:
    """The same of other runs, with the same verdicts."""
    ran = dataclasses.replace(
        found.ran[QUICK],
        results=samples.results(found.published.experiment, rows),
        directories=found.own.directories[: len(rows)],
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
    sure = "holds in 0 %, its direction in 0 % of the resamples of 2 samples"
    assert f"more: INCONCLUSIVE ({sure})" in text
    assert "(section 1): More is more." in text
    assert "Nothing was varied: the seeds are no independent samples." in text
    assert "minRTT: 2.5 (2 to 3) Mbit/s; paper: 11 Mbit/s" in text
    # the explanation that is true
    assert "Why: The queue is full." in text
    assert "The queue is empty." not in text
    assert 'chart: NOT TESTABLE\n      "q" (section 2): A|B.' in text


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
    figures = {"x": ClaimFigure(value="1", says="x")}
    claim = Claim(name="c", quote="q", says="s", place="p", holds="x", figures=figures)
    found = reproduced()
    judged = dataclasses.replace(
        found.judged[0], claim=claim, ours={"x": value}, intervals={"x": interval}
    )
    shown = results.text(dataclasses.replace(found, judged=[judged]))
    assert f"x: {text}\n" in shown + "\n"


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
