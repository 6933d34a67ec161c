# SPDX-License-Identifier: GPL-2.0-only
"""`mptcplab report`, and its page in a real browser: Debian's Chromium without a screen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import store
from tests.browser import chromium, watched
from tests.cli.calls import mptcplab
from tests.cli.test_cli import QUICK
from tests.unit import stored
from tests.unit.synthetic import FAST, SLOW, Flow
from tests.unit.test_collection import comparison

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a report on some places; at the end nothing may have gone wrong in its pages."""
    report = tmp_path / "report.html"
    # the page itself is all that is asked for, and what is in it
    own = (report.as_uri(), "data:", "blob:")
    with ExitStack() as pages:

        def open_(*places: Path, colours: str = "light", width: int = 1300) -> Page:
            mptcplab("report", *places, "-o", report)
            size, dark = {"width": width, "height": 900}, colours == "dark"
            how: dict[str, Any] = {"viewport": size, "color_scheme": "dark" if dark else "light"}
            page = pages.enter_context(watched(browser, own, **how))
            page.goto(report.as_uri())
            page.wait_for_selector("html[data-ready]")
            return page

        yield open_


def bars(page: Page, title: str = "Goodput") -> list[str]:
    """What stands below the bars of a chart that is drawn."""
    chart = page.locator("figure", has=page.get_by_text(title, exact=True)).first
    chart.scroll_into_view_if_needed()
    chart.locator(".main-svg").first.wait_for()
    return chart.locator(".xtick text").all_text_contents()


def test_a_report_opens_with_charts_and_the_filter_works(opened: Opened, tmp_path: Path) -> None:
    comparison(tmp_path)
    page = opened(tmp_path)
    assert bars(page) == ["default", "blest"]
    # of each chart that is in view: the first four
    page.locator("[data-chart] >> nth=3").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('.charts .js-plotly-plot').length >= 4")
    assert page.locator("table.summary tbody tr:visible").count() == 4
    page.get_by_role("checkbox", name="default").uncheck()
    assert bars(page) == ["blest"]
    # plain TCP is no scheduler, and stays
    assert page.locator("table.summary tbody tr:visible").count() == 3
    page.get_by_role("button", name="all", exact=True).click()
    assert bars(page) == ["default", "blest"]
    page.get_by_text("more charts").click()
    page.get_by_text("Differences on the same seeds").click()
    assert page.get_by_text("Effect size", exact=True).is_visible()
    # a run is opened to its time series and closed again
    page.get_by_text("Runs (4)").click()
    assert page.locator("[data-run]").count() == 8  # and those of plain TCP
    page.locator("tr[data-scheduler=blest] [data-run]").first.click()
    page.locator(".opened .main-svg").first.wait_for()
    titles = page.locator(".opened .annotation-text").all_text_contents()
    assert titles[0].startswith("Goodput")
    # a scheduler that is asked segment by segment has decided something
    assert any(title.startswith("Decisions") for title in titles)
    page.get_by_role("button", name="close").click()
    assert page.locator(".opened").count() == 0


def test_charts_are_there_without_scripts(opened: Opened, browser: Browser, tmp_path: Path) -> None:
    comparison(tmp_path)
    opened(tmp_path)
    without = browser.new_context(java_script_enabled=False)
    page = without.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    pictures = page.locator(".plot > img")
    assert pictures.count() == 4
    box = pictures.first.bounding_box()
    assert box is not None
    assert box["height"] > 200
    without.close()


def test_a_grid_is_a_heat_map_of_each_scheduler(opened: Opened, tmp_path: Path) -> None:
    for first in (10, 20):
        for second in (5, 6):
            for name in ("default", "blest"):
                of = stored.scenario((first * 10**6, second * 10**6), scheduler=name)
                stored.keep(tmp_path, of, Flow(first * 100), SLOW)
    page = opened(tmp_path)
    heat = page.locator("figure", has=page.get_by_text("Goodput, blest", exact=True))
    heat.locator(".hm image").first.wait_for(state="attached")
    assert page.locator("details.group").count() == 4
    page.get_by_role("checkbox", name="blest").uncheck()
    assert not heat.is_visible()


@pytest.mark.parametrize("width", [420, 1300])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_it_is_light_or_dark(opened: Opened, tmp_path: Path, colours: str, width: int) -> None:
    comparison(tmp_path)
    page = opened(tmp_path, colours=colours, width=width)
    bars(page)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall("[0-9]+", ground)[:3])) / 3
    assert brightness < 60 if colours == "dark" else brightness > 200
    # nothing makes the page wider than the window
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="light / dark").click()
    assert ground != page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_a_narrow_screen_keeps_titles_bars_and_legends(opened: Opened, tmp_path: Path) -> None:
    comparison(tmp_path)
    page = opened(tmp_path, width=390)
    assert bars(page) == ["default", "blest"]

    def fits(place: Locator) -> None:
        place.first.scroll_into_view_if_needed()
        for number in range(place.count()):
            box = place.nth(number).bounding_box()
            assert box is not None
            assert box["x"] >= 0, number
            assert box["x"] + box["width"] <= 390, number

    chart = page.locator("figure", has=page.get_by_text("Share of each path", exact=True)).first
    chart.scroll_into_view_if_needed()
    chart.locator(".legend .traces").first.wait_for()
    assert chart.locator(".legend .legendtext").all_text_contents() == ["fast", "slow"]
    for what in ("figcaption", ".legend", ".bars .point path", ".xtick text"):
        fits(chart.locator(what))
    over_time = page.locator("figure[data-scheduler=blest]").first
    over_time.scroll_into_view_if_needed()
    over_time.locator(".legend .traces").first.wait_for()
    assert over_time.locator(".legend .legendtext").all_text_contents() == [
        *("links", "fast", "slow", "in order")
    ]
    fits(over_time.locator(".legend"))
    # a run that is opened in a table which is wider than the window
    page.get_by_text("Runs (4)").click()
    page.locator("[data-run]").first.click()
    page.locator(".opened .main-svg").first.wait_for()
    fits(page.locator(".opened figure"))
    fits(page.locator(".opened .annotation-text"))


def test_a_section_says_why_each_scheduler_is_not_faster(opened: Opened, tmp_path: Path) -> None:
    out = tmp_path / "out"
    mptcplab(
        *("compare", *QUICK, "-s", "first:queue=off,default", "--no-baseline", "--repeat", "2"),
        *("--jobs", "1", "-o", str(out)),
    )
    page = opened(out)
    page.get_by_text("Why it is not faster").click()
    sections = page.locator("section[data-scheduler]:visible")
    # behind the marker of the scheduler
    assert [each.splitlines()[0][2:] for each in sections.all_inner_texts()] == [
        *("first:queue=off, seed 1", "default, seed 1")
    ]
    told = mptcplab("explain", str(out), "-s", "first").stdout.splitlines()
    # the largest part, as mptcplab explain has it
    rate, text = told[2].strip().split(": ", 1)
    assert sections.first.locator("li").first.inner_text() == f"{rate} {text}"
    page.get_by_role("checkbox", name="default").uncheck()
    assert sections.count() == 1


def test_it_prints_on_white_with_its_charts(opened: Opened, tmp_path: Path) -> None:
    comparison(tmp_path)
    page = opened(tmp_path, colours="dark")
    bars(page)
    assert page.pdf(format="A4").startswith(b"%PDF")
    # all charts that are not folded away were drawn for it, and it is dark again on the screen
    assert page.locator(".charts .js-plotly-plot").count() == 4 + 2
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_names_run_nothing(opened: Opened, tmp_path: Path) -> None:
    document = comparison(tmp_path)
    evil = '<img src=x onerror="document.title=1"></script><script>document.title=2</script>'
    content = json.loads(document.read_text())
    for run in content["runs"]:
        run |= {"scheduler": evil, "directory": None}
    document.write_text(json.dumps(content))
    page = opened(document)
    assert bars(page) != []
    assert page.title() == "Multipath TCP schedulers: bulk"
    # no picture but those of charts
    assert page.locator("img:not(.plot > img)").count() == 0
    assert page.get_by_role("checkbox", name=evil).is_visible()


def test_three_hundred_runs_are_all_there_and_few_are_drawn(opened: Opened, tmp_path: Path) -> None:
    names = [f"s{number:02}" for number in range(15)]
    for number, name in enumerate(names):
        for seed in range(1, 21):
            stored.keep(
                tmp_path,
                stored.scenario(scheduler=name, seed=seed),
                Flow(2000 + 50 * number + seed),
                SLOW,
            )
    page = opened(tmp_path)
    assert page.locator("[data-run]").count() == 300
    assert sorted(bars(page)) == names
    # what is folded away takes no time
    charts, drawn = page.locator("[data-chart]"), page.locator(".charts .js-plotly-plot")
    assert drawn.count() <= 4 < charts.count()
    assert (tmp_path / "report.html").stat().st_size < 6_000_000


@pytest.mark.usefixtures("lab_kernel")
def test_real_runs_have_a_report(opened: Opened, lab_kernel: KernelBuild, tmp_path: Path) -> None:
    out = tmp_path / "out"
    mptcplab("run", *QUICK, "-s", "blest", "--decisions", "-o", out)
    page = opened(out)
    page.get_by_text("Runs (1)").click()
    page.locator("[data-run]").first.click()
    page.locator(".opened table tbody tr").first.wait_for(state="attached")
    rows = page.locator(".opened table tbody tr")
    assert rows.count() == 1000
    assert rows.first.locator("td").nth(1).inner_text() in ("new", "wait")
    page.get_by_text("Scenario, builds").click()
    text = page.locator("details.group").inner_text()
    assert lab_kernel.id in text
    with page.expect_download() as saved:
        page.get_by_role("button", name="save scenario.json").click()
    saved.value.save_as(tmp_path / "scenario.json")
    # what it says repeats the run: the same records
    [command] = re.findall("mptcplab (compare scenario.json .*)", text)
    mptcplab(*command.split(), "--no-baseline", "-o", "again", cwd=tmp_path)
    records = [
        (place / "runs" / run["directory"].split("/")[1] / "server.samples").read_bytes()
        for place in (out, tmp_path / "again")
        for run in json.loads((place / store.DOCUMENT).read_text())["runs"]
    ]
    assert len(records) == 2
    assert records[0] == records[1]

    figures = tmp_path / "figures"
    mptcplab("report", out, "-o", tmp_path / "two.html", "--figures", figures)
    assert (figures / "goodput-over-time-blest.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.usefixtures("lab_kernel")
def test_each_connection_of_a_real_run_is_shown(opened: Opened, tmp_path: Path) -> None:
    out = tmp_path / "out"
    paths = ("--path", "a:link=bottleneck", "--path", "b:link=bottleneck")
    both = ("--connection", "one:paths=a", "--connection", "two:paths=b")
    mptcplab(
        *("compare", "--link", "bottleneck:10mbit,10ms", *paths, *both, "--duration", "2s"),
        *("--scheduler", "default,blest", "--decisions", "--no-baseline", "--jobs", "1"),
        *("--repeat", "1", "-o", str(out)),
    )
    # compare keeps the decisions, too
    assert len(list(out.glob("runs/*/client.decisions"))) == 1
    page = opened(out)
    connections = page.locator("table", has=page.get_by_text("Share in the common time"))
    cells = connections.locator("tbody tr td:nth-child(2)").all_text_contents()
    assert cells == ["one", "two"] * 2
    page.get_by_text("Runs (2)").click()
    page.locator("tr[data-scheduler=blest] [data-run]").first.click()
    page.locator(".opened .main-svg").first.wait_for()
    titles = page.locator(".opened .annotation-text").all_text_contents()
    for panel in ("Goodput", "Queues of links", "Decisions, one", "Decisions, two"):
        assert any(title.startswith(panel) for title in titles), panel


def test_unreadable_and_unwritable_files_are_errors(tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "report.html"
    nothing = mptcplab("report", tmp_path, "-o", report, status=2)
    assert "no runs there; accepted is" in nothing.stderr
    stored.keep(out, stored.scenario(), FAST, SLOW)
    (tmp_path / "file").write_text("")
    unwritable = mptcplab("report", out, "-o", tmp_path / "file" / "r.html", status=1)
    assert f"cannot write to {tmp_path / 'file'}" in unwritable.stderr
    samples = next(out.glob("runs/*/server.samples"))
    samples.write_bytes(b"x" * 17)
    damaged = mptcplab("report", out, "-o", report, status=1)
    assert str(samples) in damaged.stderr
    assert not report.exists()
