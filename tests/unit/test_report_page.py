# SPDX-License-Identifier: GPL-2.0-only
"""The page of a report, without a browser: what is in it, and that it is what Plotly takes."""

from __future__ import annotations

import base64
import gzip
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mptcplab import palette, report_charts, report_figures, report_page
from mptcplab.collection import Collection, collect
from mptcplab.report_charts import Bars, Chart, Heat, Lines, Shares
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW, Flow
from tests.unit.test_collection import comparison


def charts_of(found: Collection) -> tuple[list[Chart], list[list[Chart]]]:
    overview = [chart for own in report_charts.overview(found) for chart in own]
    return overview, [report_charts.of_group(g) for g in found.groups]


def page_of(*places: Path) -> str:
    found = collect(places)
    of_groups = [report_charts.of_group(group) for group in found.groups]
    overview = report_charts.overview(found)
    return report_page.page(found, palette.styles(found.schedulers()), overview, of_groups)


def scripts(page: str) -> dict[str, str]:
    return dict(re.findall(r'<script type="[a-z/]+" id="([a-z0-9-]+)">(.*?)</script>', page, re.S))


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def grid(out: Path) -> Path:
    for first in (10, 20):
        for second in (5, 6):
            for name in ("default", "blest"):
                of = stored.scenario((first * 10**6, second * 10**6), scheduler=name)
                stored.keep(out, of, Flow(first * 100), SLOW)
    return out


def test_the_charts_of_a_comparison_have_its_figures(tmp_path: Path) -> None:
    comparison(tmp_path)
    overview, [charts] = charts_of(collect([tmp_path]))
    assert overview == []
    goodput = charts[0]
    assert isinstance(goodput, Bars)
    # 5000 bytes per ms are 40 Mbit/s
    assert [bar.scheduler for bar in goodput.bars] == ["default", "blest"]
    assert [bar.summary.median for bar in goodput.bars] == pytest.approx([40, 40])
    assert goodput.bars[0].values == pytest.approx((40, 40))
    shares = charts[1]
    assert isinstance(shares, Shares)
    assert shares.paths["fast"] == {"default": pytest.approx(80), "blest": pytest.approx(80)}
    over_time = charts[2]
    assert isinstance(over_time, Lines)
    assert over_time.lines[0].y == pytest.approx([40] * len(over_time.lines[0].x))
    titles = [chart.title for chart in charts]
    assert len(titles) == len(set(titles))
    # what is 0 in all runs says nothing
    assert "Retransmitted packets" not in titles


def test_a_grid_has_a_heat_map_of_each_scheduler_on_one_scale(tmp_path: Path) -> None:
    overview, _ = charts_of(collect([grid(tmp_path)]))
    heats = [c for c in overview if isinstance(c, Heat) and c.title.startswith("Goodput")]
    assert [heat.scheduler for heat in heats] == ["default", "blest"]
    for heat in heats:
        assert (heat.low, heat.high) == pytest.approx((16, 24))
    # 1000 or 2000, and 1000 bytes per ms; rows are the second number
    assert (heats[0].x, heats[0].y) == ((10, 20), (5, 6))
    assert [list(row) for row in heats[0].z] == [pytest.approx([16, 24])] * 2


def test_one_number_gives_lines_over_it(tmp_path: Path) -> None:
    for rate in (10, 20, 30):
        stored.keep(tmp_path, stored.scenario((rate * 10**6, 10**7)), Flow(rate * 100), SLOW)
    overview, _ = charts_of(collect([tmp_path]))
    [line] = next(c for c in overview if isinstance(c, Lines) and c.title == "Goodput").lines
    assert list(line.x) == [10, 20, 30]
    assert line.y == pytest.approx([16, 24, 32])


def test_a_distribution_steps_up_at_each_scenario(tmp_path: Path) -> None:
    for name, cc in (("cubic", 10), ("reno", 20), ("bbr", 30), ("vegas", 40)):
        base = stored.scenario().model_copy(update={"cc": name})
        stored.keep(tmp_path, base, Flow(cc * 100), SLOW)
    base = stored.scenario().model_copy(update={"cc": "cubic", "send_buffer_bytes": 10**6})
    stored.keep(tmp_path, base, Flow(500), SLOW)
    overview, _ = charts_of(collect([tmp_path]))
    bars, distribution = overview[:2]
    assert isinstance(bars, Bars)
    assert len(bars.bars) == 5
    assert isinstance(distribution, Lines)
    [line] = distribution.lines
    assert line.x == pytest.approx([12, 12, 16, 24, 32, 40])
    assert line.y == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


def test_plotly_takes_all_charts_and_runs(tmp_path: Path) -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")
    comparison(tmp_path / "one")
    page = page_of(tmp_path / "one", grid(tmp_path / "grid"))
    found = scripts(page)
    figures = json.loads(found["data"])["charts"]
    figures += [unpacked(text)["figure"] for name, text in found.items() if name[:4] == "run-"]
    # at least a table's worth of charts, and a run of each kind
    assert len(figures) > 20
    for figure in figures:
        # it checks every key and value, and raises ValueError
        graph_objects.Figure(data=figure["traces"], layout=figure["layout"])


def test_a_page_is_the_same_each_time_and_loads_nothing(tmp_path: Path) -> None:
    comparison(tmp_path)
    page = page_of(tmp_path)
    assert page == page_of(tmp_path)
    assert "default-src 'none'" in page
    for loading in ("<link", "<img", "<iframe", "src=", "@import", "url("):
        assert loading not in page.replace("default-src=", "")


def test_the_library_is_in_the_page_once_and_runs_are_small(tmp_path: Path) -> None:
    comparison(tmp_path / "few")
    for seed in range(1, 41):
        stored.keep(tmp_path / "many", stored.scenario(seed=seed), FAST, SLOW)
    few, many = page_of(tmp_path / "few"), page_of(tmp_path / "many")
    assert len(few) < 3_000_000
    # 20 bins of some 20 series with 3 values of 4 characters, before it is compressed
    assert len(many) - len(few) < 40 * 20 * 20 * 3 * 4
    assert len(scripts(many)["plotly"]) == len(scripts(few)["plotly"]) > 1_000_000


def test_names_are_shown_and_never_run(tmp_path: Path) -> None:
    document = comparison(tmp_path)
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'%{x}"
    content = json.loads(document.read_text())
    for run in content["runs"]:
        run["scheduler"] = evil
        run["directory"] = None
    content["runs"][0] |= {"status": "failed", "reason": evil}
    document.write_text(json.dumps(content))
    page = page_of(document)

    class Tags(html.parser.HTMLParser):
        found: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            del attrs
            self.found.append(tag)

    tags = Tags()
    tags.feed(page)
    assert "img" not in tags.found
    assert "<script>alert" not in page
    assert tags.found.count("script") == len(scripts(page)) + 1
    assert evil in json.dumps(json.loads(scripts(page)["data"])).replace("&lt;", "<").replace(
        "&gt;", ">"
    ).replace('\\"', '"')


def test_figures_for_papers_are_the_same_charts(tmp_path: Path) -> None:
    found = collect([grid(tmp_path / "grid")])
    looks = palette.styles(found.schedulers())
    overview, [charts, *_] = charts_of(found)
    some = [("", chart) for chart in (*overview[:2], *charts[:4])]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    written = report_figures.write(some, looks, tmp_path / "a")
    assert len(written) == 3 * len(some)
    assert {file.suffix for file in written} == {".png", ".svg", ".pdf"}
    again = report_figures.write(some, looks, tmp_path / "b")
    assert [file.read_bytes() for file in written] == [file.read_bytes() for file in again]
    bars = next(file for file in written if file.name == "goodput.svg")
    assert looks["blest"].colour.lower() in bars.read_text()
