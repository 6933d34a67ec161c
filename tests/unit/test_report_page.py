# SPDX-License-Identifier: GPL-2.0-only
"""The page of a report, without a browser: what is in it, and that it is what Plotly takes."""

from __future__ import annotations

import base64
import gzip
import html
import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mptcplab.report import charts, draw, html_page, palette, paper_figures, plotly_charts
from mptcplab.report.charts import Bars, Chart, Heat, Line, Lines, OverTime, Shares
from mptcplab.runs import store
from mptcplab.runs.collection import Collection, collect
from mptcplab.scenario.resolve import load_file
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW, Flow
from tests.unit.test_collection import comparison

TWO_CONNECTIONS = """
link = [{name = "bottleneck", rate = "10mbit", delay = "10ms"}]
path = [{name = "a", link = "bottleneck"}, {name = "b", link = "bottleneck"}]
connection = [{name = "a", paths = ["a"]}, {name = "b", paths = ["b"]}]
"""


def charts_of(found: Collection) -> tuple[list[Chart], list[list[Chart]]]:
    overview = [chart for own in charts.overview(found) for chart in own]
    return overview, [charts.of_group(g) for g in found.groups]


def page_of(*places: Path) -> str:
    found = collect(places)
    of_groups = [charts.of_group(group) for group in found.groups]
    overview = charts.overview(found)
    looks = palette.styles(found.schedulers(), found.outputs)
    return html_page.render(found, looks, overview, of_groups)


def scripts(page: str) -> dict[str, str]:
    return dict(re.findall(r'<script type="[a-z/]+" id="([a-z0-9-]+)">(.*?)</script>', page, re.S))


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def drawn(page: str) -> list[Any]:
    """What all charts of a page are drawn from."""
    found = scripts(page)
    return [each for name in found if name[:7] == "charts-" for each in unpacked(found[name])]


def connection(name: str, goodput_bps: float, share: float) -> dict[str, Any]:
    """An entry of one of several connections."""
    return {
        "name": name, "transport": "mptcp", "scheduler": "blest", "cc": "lia", "paths": [name],
        "goodput_bps": goodput_bps, "common_goodput_bps": goodput_bps / 2, "share": share,
        "takeover_s": None, "metrics": {"retransmitted_packets": 7},
    }  # fmt: skip


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
    over_time = [chart for chart in charts if isinstance(chart, OverTime)]
    assert [chart.scheduler for chart in over_time] == ["default", "blest"]
    drawn = {line.name: line for line in over_time[0].lines}
    bins = len(drawn["fast"].x)
    assert drawn["in order"].y == pytest.approx([40] * bins)
    assert drawn["fast"].y == pytest.approx([32] * bins)
    # what the links can carry, from the start to the end
    assert list(zip(drawn["links"].x, drawn["links"].y, strict=True)) == [(0, 50), (2, 50)]
    assert list(drawn["link of slow"].y) == [10, 10]
    assert over_time[0].top is None
    assert "Bursts" not in over_time[0].note
    titles = [chart.title for chart in charts]
    assert len(titles) == len(set(titles))
    # what is 0 in all runs says nothing
    assert "Retransmitted packets" not in titles


def test_data_both_ways_has_charts_of_each_direction(tmp_path: Path) -> None:
    both = stored.scenario().workload.model_copy(update={"direction": "both"})
    for name, flow in (("default", FAST), ("blest", Flow(8000))):
        named = stored.scenario(scheduler=name).model_copy(update={"workload": both})
        stored.keep(tmp_path, named, flow, SLOW)
    _, (charts_,) = charts_of(collect([tmp_path]))
    titles = [chart.title for chart in charts_]
    for title in (
        "Goodput up",
        "Share of each path, data up",
        "Goodput over time, default, data up",
        "Goodput over time, default, data down",
    ):
        assert title in titles
    assert "Goodput" not in titles
    assert "default, seed 1, data up" not in titles


def test_bursts_above_the_links_are_cut_off_and_said(tmp_path: Path) -> None:
    # 72 Mbit/s over links of 50: more than 57.5 is cut off, on one scale for all schedulers
    for name, flow in (("default", FAST), ("blest", Flow(8000))):
        stored.keep(tmp_path, stored.scenario(scheduler=name), flow, SLOW)
    _, [drawn] = charts_of(collect([tmp_path]))
    calm, bursty = (chart for chart in drawn if isinstance(chart, OverTime))
    assert calm.top == bursty.top == pytest.approx(57.5)
    assert "Bursts" not in calm.note
    assert "Bursts up to 72 Mbit/s are cut off: data that had waited" in bursty.note
    looks = palette.styles(["default", "blest"])
    layout = plotly_charts.plot(bursty, looks)["layout"]
    assert layout["yaxis"]["range"] == [0, bursty.top]
    with draw.drawing():
        assert paper_figures.figure(bursty, looks).axes[0].get_ylim() == (0, bursty.top)


def test_only_charts_over_time_say_so(tmp_path: Path) -> None:
    comparison(tmp_path)
    _, [drawn] = charts_of(collect([tmp_path]))
    for chart in drawn:
        assert ("over time" in chart.title) == isinstance(chart, OverTime), chart.title


def test_runs_of_two_outputs_differ_in_charts_and_tables(tmp_path: Path) -> None:
    for name, faster in (("before", 0), ("after", 500)):
        for scheduler in ("default", "blest"):
            of = stored.scenario(scheduler=scheduler)
            stored.keep(tmp_path / name, of, Flow(3000 + faster), SLOW)
    found = collect([tmp_path / "before", tmp_path / "after"])
    labels = ["default (before)", "blest (before)", "default (after)", "blest (after)"]
    goodput = charts.of_group(found.groups[0])[0]
    assert isinstance(goodput, Bars)
    # 4000 and 4500 bytes per ms
    assert [bar.scheduler for bar in goodput.bars] == labels
    assert [bar.summary.median for bar in goodput.bars] == pytest.approx([32, 32, 36, 36])
    text = page_of(tmp_path / "before", tmp_path / "after")
    assert "4 runs, 2 schedulers, 1 scenario, of the outputs before and after" in text
    summary = text[text.index("<h3>Summary") :]
    places = [summary.index(label) for label in labels]
    assert places == sorted(places)
    # the command that repeats them knows no outputs
    [command] = html_page.repeat_commands(found.groups[0])
    assert command == "mptcplab compare scenario.json --scheduler default,blest --seed 1 --repeat 1"


def test_a_table_shows_where_seeds_changed_nothing(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        for name, faster in (("default", 0), ("blest", 10 * seed)):
            of = stored.scenario(scheduler=name).with_(seed=seed)
            stored.keep(tmp_path, of, Flow(4000 + faster), SLOW)
    rows = re.findall(r"<tr[^>]*>.*?</tr>", page_of(tmp_path), re.S)
    still, moved = (
        next(row for row in rows if name in row).split("<td") for name in ("default", "blest")
    )
    goodput = 3  # after the name and the number of seeds
    assert "no spread" in still[goodput]
    assert " .. " in moved[goodput]


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
    chart = next(c for c in overview if isinstance(c, Lines) and c.title == "Goodput")
    [line] = chart.lines
    assert list(line.x) == [10, 20, 30]
    assert line.y == pytest.approx([16, 24, 32])
    assert (chart.x_label, chart.y_label) == ("fast rate (Mbit/s)", "Goodput (Mbit/s)")


@pytest.mark.parametrize(
    ("values", "are"),
    [
        ((5, 12.5743, 31.6228, 79.5271, 200), True),
        ((10, 20, 50, 100), True),
        ((10, 20, 40), True),
        ((10, 20, 30, 40), False),
        ((0, 1, 10, 100), False),
        ((1, 100), False),
    ],
)
def test_values_spaced_by_factors_ask_for_a_logarithmic_axis(
    values: tuple[float, ...], are: bool
) -> None:
    assert charts.are_log(values) is are
    lines = Lines("Goodput", "x", "y", "", (Line("default", values, values),), is_log=are)
    looks = palette.styles(["default"])
    with draw.drawing():
        [axis] = paper_figures.figure(lines, looks).axes
    assert (axis.get_xscale() == "log") is are
    assert (plotly_charts.plot(lines, looks)["layout"]["xaxis"].get("type") == "log") is are


def test_a_line_has_the_band_of_its_intervals_and_plain_tcp_is_thin(tmp_path: Path) -> None:
    for rate in (10, 20, 40):
        base = stored.scenario((rate * 10**6, 10**7))
        for seed in (1, 2, 3):
            of = base.with_(seed=seed)
            stored.keep(tmp_path, of, Flow(100 * rate + seed), SLOW)
            stored.keep(tmp_path, of.single_path("fast"), Flow(100 * rate))
    overview, _ = charts_of(collect([tmp_path]))
    chart = next(c for c in overview if isinstance(c, Lines) and c.title == "Goodput")
    mptcp, tcp = chart.lines
    assert (mptcp.path, mptcp.seeds) == (None, (3, 3, 3))
    assert (tcp.scheduler, tcp.path) == ("TCP over fast", 0)
    assert tcp.y == pytest.approx((8, 16, 32))
    # plain TCP has no aggregation benefit, and its retransmissions are no measure
    others = [c for c in overview if isinstance(c, Lines) and c.title != "Goodput"]
    assert [line for c in others for line in c.lines if line.path is not None] == []
    looks = palette.styles(["default"])
    band, line, thin = plotly_charts.plot(chart, looks)["traces"]
    assert (band["fill"], len(band["x"])) == ("toself", 6)
    assert line["line"]["width"] > thin["line"]["width"]
    with draw.drawing():
        [axis] = paper_figures.figure(chart, looks).axes
    assert [each.get_label() for each in axis.lines] == ["default", "TCP over fast"]
    assert axis.lines[0].get_linewidth() > axis.lines[1].get_linewidth()
    low, high = (axis.collections[0].get_datalim(axis.transData).intervaly for _ in range(2))
    assert low[0] == pytest.approx(min(mptcp.low))  # type: ignore[type-var]
    assert high[1] == pytest.approx(max(mptcp.high))  # type: ignore[type-var]


def test_panels_beside_each_other_show_all_of_their_values() -> None:
    low = Lines("Goodput", "x", "y", "", (Line("default", (1, 2, 3), (1, 2, 3)),), panel="low")
    high = Lines("Goodput", "x", "y", "", (Line("default", (1, 2, 3), (10, 20, 30)),), panel="high")
    with draw.drawing():
        axes = paper_figures.plain([low, high], palette.styles(["default"]), 8).drawn().axes
    assert [axis.get_title(loc="left") for axis in axes] == ["low", "high"]
    for axis in axes:
        assert axis.get_ylim()[0] == 0
        assert axis.get_ylim()[1] > 30


def test_a_single_number_is_no_bar_and_a_few_bars_are_no_wider(tmp_path: Path) -> None:
    stored.keep(tmp_path, stored.scenario(), FAST, SLOW)
    _, [drawn] = charts_of(collect([tmp_path]))
    assert [chart for chart in drawn if isinstance(chart, Bars)] == []
    [shares] = [chart for chart in drawn if isinstance(chart, Shares)]
    looks = palette.styles(["default"])
    assert plotly_charts.plot(shares, looks)["layout"]["xaxis"]["range"] == [-2.1, 2.1]
    stored.keep(tmp_path, stored.scenario(seed=2), FAST, SLOW)
    _, [drawn] = charts_of(collect([tmp_path]))
    bars = next(chart for chart in drawn if isinstance(chart, Bars))
    with draw.drawing():
        for chart in (bars, shares):
            [axis] = paper_figures.figure(chart, looks).axes
            # of the four places for bars, one is used
            assert axis.patches[0].get_window_extent().width < 0.2 * axis.bbox.width


def test_scenarios_beside_others_have_their_main_chart(tmp_path: Path) -> None:
    overview, of_groups = charts.of_collection(collect([grid(tmp_path)]))
    assert len(overview) > 4
    assert [[c.title for c in own if isinstance(c, Bars)] for own in of_groups] == [["Goodput"]] * 4


def test_two_values_of_another_number_are_two_charts_of_lines(tmp_path: Path) -> None:
    for first in (10, 20, 30):
        for second in (5, 6):
            of = stored.scenario((first * 10**6, second * 10**6))
            stored.keep(tmp_path, of, Flow(first * 100), Flow(second * 100))
    overview, _ = charts_of(collect([tmp_path]))
    low, high = (c for c in overview if isinstance(c, Lines) and c.title.startswith("Goodput"))
    titles = [low.title, high.title]
    assert titles == ["Goodput, slow rate 5 Mbit/s", "Goodput, slow rate 6 Mbit/s"]
    # 1000, 2000, 3000 and 500 bytes per ms
    assert list(low.lines[0].x) == [10, 20, 30]
    assert low.lines[0].y == pytest.approx([12, 20, 28])
    assert high.lines[0].y == pytest.approx([12.8, 20.8, 28.8])


def test_scenarios_that_fill_a_space_have_distributions(tmp_path: Path) -> None:
    places = ((10, 7), (13, 3), (17, 9), (21, 1), (26, 5))
    for first, second in places:
        of = stored.scenario((first * 10**6, second * 10**6))
        stored.keep(tmp_path, of, Flow(first * 100), Flow(second * 100))
    found = collect([tmp_path])
    # the first alone would tell them apart
    assert [axis.name for axis in found.axes] == ["fast rate", "slow rate"]
    overview, _ = charts_of(found)
    goodput = [chart for chart in overview if chart.title.startswith("Goodput")]
    assert [chart.title for chart in goodput] == ["Goodput", "Goodput, over the scenarios"]


def test_each_of_several_connections_is_shown(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO_CONNECTIONS)
    base = load_file(tmp_path / "two.toml").base
    of_each = [connection("a", 6e6, 0.6), connection("b", 4e6, 0.4)]
    link = {"name": "bottleneck", "direction": "up", "carried_bps": 9e6, "utilisation": 0.9}
    link |= {"queue_delay_ms_mean": 3.0, "queue_dropped_packets": 12}
    for seed in (1, 2):
        entry = stored.keep(tmp_path, stored.scenario(seed=seed), FAST, SLOW)
        content = entry.result() | {"connections": of_each, "links": [link], "status": "ok"}
        directory = tmp_path / str(entry.directory)
        store.write_json(directory / store.RESULT, content)
        store.write_json(directory / store.SCENARIO, base.with_(seed=seed))
        for name in ("client.samples", "server.samples"):
            (directory / name).unlink()
    found = collect([tmp_path])
    _, [charts] = charts_of(found)
    [shares] = [chart for chart in charts if isinstance(chart, Shares)]
    assert shares.title == "Share of each connection"
    assert {name: list(each.values()) for name, each in shares.paths.items()} == {
        "a": [pytest.approx(60)],
        "b": [pytest.approx(40)],
    }
    medians = {c.title: c.bars[0].summary.median for c in charts if isinstance(c, Bars)}
    assert medians["Goodput of a"] == pytest.approx(6)
    assert medians["Goodput of b in the common time"] == pytest.approx(2)
    page = page_of(tmp_path)
    assert "<h3>Connections</h3>" in page
    assert '<td class="text">blest, lia</td>' in page
    assert "<h3>Links</h3>" in page


def test_the_page_says_how_many_runs_it_leaves_out(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        for name in ("default", "blest"):
            stored.keep(tmp_path, stored.scenario(scheduler=name, seed=seed), FAST, SLOW)
    found = collect([tmp_path])
    assert "mptcplab show" not in page_of(tmp_path)
    few = found.opening(4)
    # the lowest seeds of each scheduler
    opened = [(r.entry.scheduler, r.entry.seed) for r in few.groups[0].runs if r.is_opened]
    assert sorted(opened) == [("blest", 1), ("blest", 2), ("default", 1), ("default", 2)]
    looks = palette.styles(few.schedulers())
    text = html_page.render(few, looks, [], [charts.of_group(few.groups[0])])
    assert len([name for name in scripts(text) if name[:4] == "run-"]) == 4
    assert "of 4 of 6 runs" in text
    # all of them are in the figures
    assert "<td>3</td>" in text


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
    figures = drawn(page)
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
    assert "default-src 'none'" in html.unescape(page)
    for loading in ("<link", "<iframe", "@import", "url("):
        assert loading not in page
    # pictures are in the page themselves
    sources = re.findall(r"<[a-z]+ [^>]*src=(.{5})", page)
    assert sources == ['"data'] * 4


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
    for seed, run in enumerate(content["runs"], 1):
        run["seed"] = seed
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
    # the four pictures of charts
    assert tags.found.count("img") == 4
    assert "<script>alert" not in page
    assert tags.found.count("script") == len(scripts(page)) + 1
    assert evil in json.dumps(drawn(page)).replace("&lt;", "<").replace("&gt;", ">").replace(
        '\\"', '"'
    )


def test_figures_for_papers_are_the_same_charts(tmp_path: Path) -> None:
    found = collect([grid(tmp_path / "grid")])
    looks = palette.styles(found.schedulers())
    overview, [charts, *_] = charts_of(found)
    some = [*overview[:2], *charts[:4]]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    written = paper_figures.write(some, looks, tmp_path / "a")
    assert len(written) == 3 * len(some)
    assert {file.suffix for file in written} == {".png", ".svg", ".pdf"}
    again = paper_figures.write(some, looks, tmp_path / "b")
    assert [file.read_bytes() for file in written] == [file.read_bytes() for file in again]
    bars = next(file for file in written if file.name == "goodput.svg")
    assert looks["blest"].colour.lower() in bars.read_text()
