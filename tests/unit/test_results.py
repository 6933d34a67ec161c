# SPDX-License-Identifier: GPL-2.0-only
"""What published experiments gave, as text, tables, pages, charts and data."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mptcplab import claims, papers, results, results_chart
from mptcplab.papers import Chart, Claim, Experiment, Figure, Metric, Paper, Published, Quick
from mptcplab.reproduce import Reproduced


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
                explanation="Because.",
                figures={
                    "minrtt": Figure(
                        says="minRTT",
                        unit="Mbit/s",
                        paper=11,
                        value="median(goodput, scheduler='minrtt', queue=300)",
                    )
                },
            ),
            Claim(says="A|B.", place="section 2", not_comparable="there is none."),
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
    build = {"kernel": "k1", "guest": "g1", "mptcplab": "0.1.0"}
    runs = [Path(f"runs/{number}") for number in range(len(rows))]
    judged = claims.judge(published, found)
    return Reproduced(published, True, 2, build, found, runs, judged)


def test_a_table_has_medians_and_ranges() -> None:
    (table,) = results.tables(reproduced())
    assert table.title == "Goodput, Mbit/s; across: queue, packets"
    assert table.head == ("scheduler", "300", "1000")
    # seeds 1 and 2 of minrtt with 300 packets: 2 and 3
    assert table.rows[0] == ("minrtt", "2.5 (2 to 3)", "3.5 (3 to 4)")
    assert table.rows[1] == ("blest", "32.5 (32 to 33)", "33.5 (33 to 34)")


def test_a_distribution_is_told_by_quantiles() -> None:
    (table,) = results.tables(reproduced(kind="cdf", x=""))
    assert table.head[1:] == ("lowest", "quartile", "median", "3rd quartile", "highest", "runs")
    assert table.rows[0] == ("minrtt", "2", "2.75", "3", "3.25", "4", "4")


def test_the_text_says_how_it_was_run_and_what_holds() -> None:
    text = results.text(reproduced())
    assert "quick runs, 8 of them, 2 seeds; kernel k1" in text
    assert "quick: Less." in text
    assert "DOES NOT HOLD: More is more. (section 1)" in text
    assert "minRTT: 2.5 Mbit/s; paper: 11 Mbit/s" in text
    assert "Because." in text
    assert "NOT COMPARABLE: A|B." in text


def test_pages_are_written(tmp_path: Path) -> None:
    written = results.publish([reproduced()], tmp_path)
    assert {str(file.relative_to(tmp_path)) for file in written} == {
        "data/paper2020-fig1.csv",
        "paper2020-fig1.svg",
        "paper2020.md",
        "README.md",
    }
    page = (tmp_path / "paper2020.md").read_text()
    assert "`mptcplab papers run paper2020/fig1 --quick --repeat 2`" in page
    assert "| minrtt | 2.5 (2 to 3) | 3.5 (3 to 4) |" in page
    assert "What came out:\n\n- Queues fill." in page
    assert "- **does not hold**: More is more. (section 1)" in page
    summary = (tmp_path / "README.md").read_text()
    assert "Not run yet" not in summary
    assert "2 claims of 1 papers. holds: 0, does not hold: 1, not comparable: 1" in summary
    assert "| [paper2020/fig1](paper2020.md) (quick) | A\\|B." in summary
    results.publish([reproduced()], tmp_path, ["paper2020/fig2"])
    assert "Not run yet: paper2020/fig2.\n" in (tmp_path / "README.md").read_text()
    results.publish([reproduced()], tmp_path)
    first = {file: file.read_bytes() for file in written}
    results.publish([reproduced()], tmp_path)
    assert first == {file: file.read_bytes() for file in written}


def test_an_explanation_is_for_claims_that_do_not_hold() -> None:
    found = reproduced()
    claim = found.published.experiment.claim[0].model_copy(update={"holds": "minrtt < 5"})
    own = found.published.experiment.model_copy(update={"claim": [claim]})
    published = Published("paper2020/fig1", Path("x"), found.published.paper, own)
    judged = claims.judge(published, found.results)
    text = results.text(Reproduced(published, True, 2, found.build, found.results, [], judged))
    assert "HOLDS" in text
    assert "Because" not in text


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
    assert picture is not None
    assert picture == results_chart.svg(reproduced(**chart))
    texts = [each.text for each in ElementTree.fromstring(picture).iter() if each.text]
    own = Chart(**({"kind": "lines", "x": "queue"} | chart))
    for name in {"scheduler": ("minrtt", "blest"), "queue": ("300", "1000")}[own.series]:
        assert name in texts


def test_what_is_drawn_run_by_run_has_no_chart() -> None:
    assert results_chart.svg(reproduced(kind="time")) is None


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
    for name in papers.names():
        paper = papers.load(name).paper
        assert paper.title
        assert paper.setting
