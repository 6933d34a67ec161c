# SPDX-License-Identifier: GPL-2.0-only
"""What published experiments gave, as text, tables, pages, charts and data."""

from __future__ import annotations

import csv
import dataclasses
import io
import types
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mptcplab.metrics.series import Panel, RunSeries, Series
from mptcplab.papers import catalogue, claims, results, results_chart
from mptcplab.papers.catalogue import (
    QUICK,
    Because,
    Chart,
    Claim,
    Experiment,
    Figure,
    Metric,
    Paper,
    Published,
    Quick,
)
from mptcplab.papers.reproduce import Provenance, Ran, Reproduced
from mptcplab.runs import store


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
                says="More is more.",
                place="section 1",
                holds="minrtt > 5",
                because=[Because(says="Because.", shown_by="minrtt < 5")],
                figures={
                    "minrtt": Figure(
                        says="minRTT",
                        unit="Mbit/s",
                        paper=11,
                        value="median(goodput, scheduler='minrtt', queue=300)",
                    )
                },
            ),
            Claim(says="A|B.", place="section 2", not_testable="there is none."),
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
    table, _ = results.tables(reproduced())
    assert table.title == "Goodput, Mbit/s; across: queue, packets"
    assert table.head == ("scheduler", "300", "1000")
    # seeds 1 and 2 of minrtt with 300 packets: 2 and 3, and so is the interval of their median
    assert table.rows[0] == ("minrtt", "2.5 (2 to 3)", "3.5 (3 to 4)")
    assert table.rows[1] == ("blest", "32.5 (32 to 33)", "33.5 (33 to 34)")


@pytest.mark.parametrize("chart", [{"kind": "cdf", "x": ""}, {"kind": "bars", "x": "scheduler"}])
def test_a_distribution_is_told_by_quantiles(chart: dict[str, Any]) -> None:
    table, _ = results.tables(reproduced(**chart))
    assert table.head[1:] == ("lowest", "quartile", "median", "3rd quartile", "highest", "runs")
    assert table.rows[0] == ("minrtt", "2", "2.75", "3", "3.25", "4", "4")


def test_schedulers_are_compared_in_pairs_of_the_same_setting_and_seed() -> None:
    _, table = results.tables(reproduced())
    assert table.title == (
        "Goodput, Mbit/s: the row's less the column's, same setting and seed; 4 pairs"
    )
    # 30 Mbit/s more in each of the four pairs: two queues, two seeds
    assert table.head == ("", "minrtt")
    assert table.rows == (("blest", "+30 (+1.00)"),)
    (line,) = csv.DictReader(io.StringIO(results.pairs_csv_text(reproduced())))
    assert line["scheduler"] == "blest"
    assert line["less_that_of"] == "minrtt"
    assert (line["pairs"], line["median"], line["effect"]) == ("4", "30", "1")
    # of four pairs none can be less probable than 2 / 2^4
    assert float(line["p"]) == 0.125


def test_with_one_seed_and_setting_schedulers_are_not_compared() -> None:
    found = reproduced()
    rows = [row for row in found.results.rows if row.seed == 1 and row.point["queue"] == 300]
    one = with_rows(found, rows)
    assert len(results.tables(one)) == 1
    assert results.pairs_csv_text(one) == ""
    assert "with a single seed it is not known how much depends on the seed" in results.text(one)
    assert "single seed it" not in results.text(found)


def test_the_text_says_how_it_was_run_and_what_holds() -> None:
    text = results.text(reproduced())
    assert "quick runs, 8 of them, 2 seeds; kernel k1" in text
    assert "quick: Less." in text
    assert "INCONCLUSIVE (0% of the resamples): More is more. (section 1)" in text
    assert "Nothing was varied: the seeds are no independent samples." in text
    assert "minRTT: 2.5 (2 to 3) Mbit/s; paper: 11 Mbit/s" in text
    assert "Because." in text
    assert "NOT TESTABLE: A|B." in text


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
        claim=Claim(says="s", place="p", holds="x", figures={"x": Figure(value="1", says="x")}),
        verdict=claims.Verdict.REPRODUCED,
        ours={"x": value},
        intervals={"x": interval},
    )
    found = dataclasses.replace(reproduced(), judged=[judged])
    assert f"x: {text}\n" in results.text(found) + "\n"


def test_pages_are_written(tmp_path: Path) -> None:
    written = results.publish([reproduced()], tmp_path)
    assert {str(file.relative_to(tmp_path)) for file in written} == {
        "data/paper2020-fig1.csv",
        "data/paper2020-fig1-pairs.csv",
        "paper2020-fig1.svg",
        "paper2020.md",
        "README.md",
    }
    page = (tmp_path / "paper2020.md").read_text()
    assert "`mptcplab papers run paper2020/fig1 --quick --repeat 2`" in page
    assert "| minrtt | 2.5 (2 to 3) | 3.5 (3 to 4) |" in page
    assert "[data/paper2020-fig1-pairs.csv](data/paper2020-fig1-pairs.csv)" in page
    assert "What came out:\n\n- Queues fill." in page
    assert "- **inconclusive** (0% of the resamples): More is more. (section 1)" in page
    summary = (tmp_path / "README.md").read_text()
    assert "Not run yet" not in summary
    assert "2 claims of 1 papers. reproduced: 0, direction only: 0, inconclusive: 1" in summary
    assert "| [paper2020/fig1](paper2020.md) (quick) | A\\|B." in summary
    results.publish([reproduced()], tmp_path, ["paper2020/fig2"])
    assert "Not run yet: paper2020/fig2.\n" in (tmp_path / "README.md").read_text()
    results.publish([reproduced()], tmp_path)
    first = {file: file.read_bytes() for file in written}
    results.publish([reproduced()], tmp_path)
    assert first == {file: file.read_bytes() for file in written}


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


def test_the_data_has_a_line_per_run() -> None:
    lines = list(csv.DictReader(io.StringIO(results.csv_text(reproduced()))))
    assert len(lines) == 8
    assert lines[0] == {"scheduler": "minrtt", "queue": "300", "seed": "1", "goodput": "2"}


@pytest.mark.parametrize(
    "chart",
    [
        {},
        {"kind": "bars"},
        {"kind": "cdf", "x": ""},
        {"x": "scheduler", "series": "queue"},
        {"kind": "bars", "x": "scheduler", "series": "scheduler", "panels": "queue"},
    ],
)
def test_a_chart_names_its_series_and_is_the_same_each_time(chart: dict[str, Any]) -> None:
    picture = results_chart.svg(reproduced(**chart))
    assert picture == results_chart.svg(reproduced(**chart))
    texts = [each.text for each in ElementTree.fromstring(picture).iter() if each.text]
    own = Chart(**({"kind": "lines", "x": "queue"} | chart))
    for name in {"scheduler": ("minrtt", "blest"), "queue": ("300", "1000")}[own.series]:
        assert name in texts


def test_over_time_each_scheduler_has_the_run_of_its_first_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def drawn(scenario: str, *_records: object) -> RunSeries:
        read.append(scenario)
        bins = np.arange(9, dtype=np.float64)
        panels = [
            Panel("g", "", (Series("goodput_bps", None, bins), Series("goodput_bps", "a", bins))),
            Panel("g", "", (Series("link_bps", "a", bins), Series("sinr_db", "a", bins))),
        ]
        return RunSeries(np.arange(10) * 10**9, tuple(panels))

    def stored(directory: Path) -> Any:
        return types.SimpleNamespace(scenario=directory.name, client=None, server=None, traces=None)

    monkeypatch.setattr(store, "read_run", stored)
    monkeypatch.setattr(results_chart, "run_series", drawn)
    picture = results_chart.svg(reproduced(kind="time", panels="queue"))
    # runs come by scheduler, queue and seed: of each pair the first
    assert read == ["0", "2", "4", "6"]
    texts = [each.text for each in ElementTree.fromstring(picture).iter() if each.text]
    for text in ("queue, packets: 300", "queue, packets: 1000", "minrtt", "blest", "SINR", "dB"):
        assert text in texts
    assert texts.count("a can carry") == 1


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
    assert results.number(value) == text


def test_every_shipped_paper_says_what_it_is() -> None:
    for name in catalogue.names():
        paper = catalogue.load(name).paper
        assert paper.title
        assert paper.setting
