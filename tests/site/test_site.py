# SPDX-License-Identifier: GPL-2.0-only
"""The site as its readers have it: files in a folder, opened in Debian's Chromium without a screen.

`make site-test`. Sphinx has checked the links of the pages as they are written; what is checked
here is what it made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser import chromium, watched

#: What a browser may look up or load on its own, which is not what a test of a site is about.
OPTIONS = (
    *("--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
#: Of a screen: a desktop's and a phone's.
LOOKS = pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
)
#: The pages that Sphinx adds: a list of nothing, and the one that shows what a search found.
ADDED = {"genindex.html", "search.html"}


class Parsed(HTMLParser):
    """The links of a page to other files of the site, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value and not urlsplit(value).scheme:
                self.links.append(value)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Path:
    place: Path = request.config.getoption("--site")
    return place.resolve()


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Parsed]:
    """All pages but the reports, which are files of their own and link to nothing."""
    reports = site / "gallery"
    return {file: Parsed(file) for file in site.rglob("*.html") if file.parent != reports}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(*OPTIONS) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in which nothing may go wrong, and which may load nothing but files."""
    size: Any = {"width": 1280, "height": 900}
    with watched(browser, ("file:", "data:", "blob:"), viewport=size) as made:
        yield made


def target(file: Path, link: str) -> tuple[Path, str]:
    """The file that a link of a page leads to, and the anchor in it."""
    path, anchor = urldefrag(link)
    return (file.parent / unquote(urlsplit(path).path)).resolve() if path else file, unquote(anchor)


def test_every_link_leads_to_a_file_and_an_anchor_that_are_there(
    site: Path, pages: dict[Path, Parsed]
) -> None:
    broken = []
    for file, parsed in pages.items():
        for link in parsed.links:
            to, anchor = target(file, link)
            there = to.is_file() and to.is_relative_to(site)
            if not there or (anchor and to in pages and anchor not in pages[to].anchors):
                broken.append(f"{file.relative_to(site)}: {link}")
    assert broken == []


def test_every_page_and_report_can_be_reached_from_the_first(
    site: Path, pages: dict[Path, Parsed]
) -> None:
    reached: set[Path] = set()
    ahead = [site / "index.html"]
    while ahead:
        file = ahead.pop()
        if file not in reached:
            reached.add(file)
            links = pages[file].links if file in pages else []
            ahead += [to for to, _ in (target(file, link) for link in links)]
    every = {file for file in site.rglob("*.html") if file.name not in ADDED}
    assert sorted(every - reached) == []


def test_the_catalogue_the_results_and_the_gallery_are_there(site: Path) -> None:
    found = {file.relative_to(site).with_suffix("").as_posix() for file in site.rglob("*.html")}
    docs = Path(__file__).parents[2] / "docs"
    wanted = {f"docs/{file.relative_to(docs).with_suffix('')}" for file in docs.rglob("*.md")}
    assert wanted - found == set()
    assert {name for name in found if name.startswith("gallery/")} == {
        "gallery/handover",
        "gallery/grid",
        "gallery/web",
        "gallery/fairness",
    }


def test_the_search_finds_a_scheduler(site: Path, page: Page) -> None:
    page.goto((site / "docs" / "scenario.html").as_uri())
    page.get_by_placeholder("Search").fill("blest")
    page.keyboard.press("Enter")
    first = page.locator("#search-results ul.search a").first
    first.wait_for()
    assert first.text_content() == "blest"
    # the whole text of pages is searched, not their titles alone
    page.locator("#search-results").get_by_text("From Python", exact=True).wait_for()
    first.click()
    page.wait_for_url("**/docs/schedulers/blest.html**")
    assert page.locator("h1").first.inner_text().startswith("blest")


def test_a_report_of_the_gallery_opens(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator(".sidebar-tree").get_by_text("Gallery", exact=True).click()
    page.get_by_text("Open the report: handover").click()
    page.wait_for_selector("html[data-ready]")
    page.locator("[data-chart] .main-svg").first.wait_for()
    assert page.locator("table.summary tbody").first.inner_text().count("lte") >= 1


@pytest.mark.parametrize(
    "name", ["index", "docs/gallery", "docs/schedulers/README", "docs/results/cech2020"]
)
def test_a_narrow_screen_needs_no_scrolling_sideways(site: Path, page: Page, name: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("header label[for=__navigation]").click()
    page.locator(".sidebar-tree").get_by_text("Metrics", exact=True).click()
    page.wait_for_url("**/docs/metrics.html")


def look(page: Page, file: Path, width: int, scheme: Any, motion: Any = "no-preference") -> None:
    """Open a page of the site as a screen of some width shows it."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion=motion)
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width


def dots(page: Page) -> list[str]:
    """The packets on each path of each run: first sent, sent again, and lost."""
    return [str(each.get_attribute("d")) for each in page.locator(".moving g [class*=path]").all()]


@LOOKS
def test_the_site_opens_with_packets_that_move(
    site: Path, page: Page, width: int, scheme: str
) -> None:
    look(page, site / "index.html", width, scheme)
    picture, other = (page.locator(each).first.bounding_box() for each in (".moving", "img"))
    assert picture is not None
    assert other is not None
    assert picture["y"] + picture["height"] <= other["y"]
    before = dots(page)
    page.wait_for_timeout(200)
    page.get_by_role("button", name="Pause").click()
    stopped = dots(page)
    assert stopped != before
    page.wait_for_timeout(200)
    assert dots(page) == stopped


@LOOKS
def test_packets_stand_still_for_readers_who_want_less_motion(
    site: Path, page: Page, width: int, scheme: str
) -> None:
    look(page, site / "index.html", width, scheme, "reduce")
    still = dots(page)
    page.wait_for_timeout(200)
    assert dots(page) == still
    assert "".join(still).count("M") > 50
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(200)
    assert dots(page) != still


@pytest.mark.parametrize("at", [490_000, 505_000, 520_000, 545_000, 560_000])
def test_each_packet_under_way_is_a_dot(site: Path, page: Page, at: int) -> None:
    look(page, site / "index.html", 1280, "light")
    page.get_by_label("Time").fill(str(at))
    expected, in_order = [], []
    for run in json.loads(str(page.locator(".moving script").text_content()))["runs"]:
        for packets in run["packets"]:
            under_way = [again for sent, arrived, again in packets if sent <= at < arrived]
            # a lost one is shown for 40 ms
            lost = [sent for sent, arrived, _ in packets if arrived < 0 <= at - sent < 4000]
            expected += [under_way.count(0), under_way.count(1), len(lost)]
        in_order.append([done for time, done, _ in run["received"] if time <= at][-1])
    assert [each.count("M") for each in dots(page)] == expected
    texts = page.locator(".moving g > text", has_text="in order").all_text_contents()
    assert [float(text.split()[2]) for text in texts] == [round(each / 1e6, 2) for each in in_order]


def shown(rows: Locator, column: int) -> list[str]:
    """The cells of a column in the rows that are not filtered away."""
    return rows.locator(f"td:nth-child({column}):visible").all_inner_texts()


@LOOKS
def test_the_ranks_of_the_leaderboard_are_filtered_and_sorted(
    site: Path, page: Page, width: int, scheme: str
) -> None:
    look(page, site / "docs" / "leaderboard.html", width, scheme)
    table = page.locator("table", has=page.get_by_role("columnheader", name="place"))
    rows, controls = table.locator("tbody tr"), page.locator(".filter").first
    every = shown(rows, 2)
    controls.get_by_label("from").select_option("papers")
    papers = shown(rows, 2)
    assert {"inorder", "musher"} < {*papers} < {*every} - {"default", "earliest", "blest"}
    assert {*shown(rows, 12)} == {"papers"}
    assert controls.locator("output").inner_text() == f"{len(papers)} of {len(every)}"
    table.get_by_role("button", name="scheduler").click()
    assert shown(rows, 2) == sorted(papers)
    controls.get_by_role("searchbox").fill("MUSH")
    assert shown(rows, 2) == ["musher"]
    controls.get_by_role("searchbox").fill("")
    controls.get_by_label("from").select_option("")
    for reverse in (False, True):
        table.get_by_role("button", name="95th").click()
        delays = [float(cell.split()[0]) for cell in shown(rows, 7)]
        assert delays == sorted(delays, reverse=reverse)
        assert len(delays) == len(every)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_schedulers_are_found_by_the_workload_in_which_they_lose_most(
    site: Path, page: Page
) -> None:
    look(page, site / "docs" / "leaderboard.html", 1280, "light")
    rows = page.locator("table", has=page.get_by_role("columnheader", name="workload")).locator(
        "tbody tr"
    )
    page.get_by_label("workload").select_option("bulk")
    assert shown(rows, 1) == ["redundant", "ols"]
    assert {cell.split(":")[0] for cell in shown(rows, 2)} == {"bulk"}


def test_without_scripts_the_leaderboard_is_whole(site: Path, browser: Browser) -> None:
    with watched(browser, ("file:", "data:"), java_script_enabled=False) as page:
        page.goto((site / "docs" / "leaderboard.html").as_uri())
        rows = page.locator("table", has_text="place").first.locator("tbody tr")
        assert len(shown(rows, 2)) > 20
        assert page.locator(".filter").count() == 0


@LOOKS
def test_each_scheduler_has_the_same_five_charts(
    site: Path, page: Page, width: int, scheme: str
) -> None:
    catalogue = Path(__file__).parents[2] / "docs" / "schedulers"
    captions = set()
    for name in {file.stem for file in catalogue.glob("*.md")} - {"README"}:
        look(page, site / "docs" / "schedulers" / f"{name}.html", width, scheme)
        charts = page.locator(".charts figure")
        for image in charts.locator("img").all():
            assert image.evaluate("async image => (await image.decode(), image.naturalWidth)") > 0
            source = str(image.evaluate("image => decodeURI(new URL(image.src).pathname)"))
            assert f">{name}</text>" in Path(source).read_text()
        captions.add(tuple(charts.locator("figcaption").all_inner_texts()))
    assert [len(each) for each in captions] == [5]
