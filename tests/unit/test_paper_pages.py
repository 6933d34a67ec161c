# SPDX-License-Identifier: GPL-2.0-only
"""The pages, charts and data of published experiments, and how pages are made of data alone."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mptcplab.errors import MptcplabError
from mptcplab.lab import guest, kernel, kernel_names
from mptcplab.lab.kernel import KernelBuild, Parts
from mptcplab.metrics.series import Panel, RunSeries, Series
from mptcplab.papers import chart, data, publish, reproduce, samples, stale, summary, wording
from mptcplab.papers.catalogue import DRAWS, PUBLISHED, QUICK, TODAY, Published
from mptcplab.papers.claims import Judged, Verdict
from mptcplab.papers.reproduce import Ran
from mptcplab.papers.samples import Row
from mptcplab.papers.stale import Equal, Now
from mptcplab.report.palette import COLOURS, MARKERS, PATH_COLOURS, paper_styles
from mptcplab.runs import store
from tests.papers_by_hand import provenance, published, ran
from tests.unit.advised import GUEST

LAB = Now(Parts("b1", {"sched/minrtt.c": "m1", "sched/blest.c": "l1"}), "g1")
NOW = {"": LAB}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Ran]:
    """The runs that are in OUT, by part."""
    there: dict[str, Ran] = {}
    monkeypatch.setattr(reproduce, "read_parts", lambda _published, _out: dict(there))
    return there


def written(to: Path, of: Published, now: Mapping[str, Now] = NOW) -> dict[str, str]:
    files = publish.publish(to, Path("out"), now, [of])
    return {str(file.relative_to(to)): file.read_text() for file in files}


def test_pages_and_data_are_written(runs: dict[str, Ran], tmp_path: Path) -> None:
    of = published()
    runs |= {PUBLISHED: ran(of), TODAY: ran(of, TODAY, 10), "rate=5": ran(of, "rate=5")}
    files = written(tmp_path, of)
    assert set(files) == {
        "data/paper2020-fig1.csv",
        "data/paper2020-fig1.columns.csv",
        "data/paper2020-fig1-pairs.csv",
        "data/paper2020-fig1-paper.csv",
        "data/provenance.json",
        "paper2020-fig1.svg",
        "paper2020.md",
        "claims.json",
        "README.md",
    }
    page = files["paper2020.md"]
    # 3 + seed + 1/3, of which the median is 6.833; today 10 more
    assert "### more: direction only" in page
    assert '> "more is more" (section 1)' in page
    assert "| minRTT | 11 Mbit/s | 6.833 (" in page
    assert "| **verdict** |  | **direction only** | **reproduced** |" in page
    assert "- Why: The queue is full." in page
    assert "The queue is empty" not in page
    assert "| rate=5 | 6.833" in page
    # 6.833 of 14: half as much
    assert "| Goodput | minrtt; queue, packets: 300 | 14 Mbit/s (read off) | 6.833" in page
    assert "| -51 % |" in page
    summary = files["README.md"]
    assert "2 claims, 1 direction only, 1 not testable" in summary
    assert "| [paper2020](paper2020.md) | 2 | 0 | 1 | 0 | 0 | 0 | 0 | 1 |" in summary
    said = "- minRTT has 6.83 Mbit/s. [direction only](paper2020.md#fig1-more)\n"
    assert summary.count("minRTT has") == summary.count(said) == 1
    assert "Not run yet: draws; 240 runs." in summary
    claim = json.loads(files["claims.json"])["paper2020/fig1:more"]
    assert claim["published"]["verdict"] == "direction only"
    assert claim["published"]["figures"]["minrtt"]["ours"] == pytest.approx(6.5 + 1 / 3)
    assert claim["published"]["by_part"]["rate=5"] == "direction only"
    assert claim["today"]["verdict"] == "reproduced"
    assert claim["published"]["not_shown"] == [
        {"says": "The queue is empty.", "why": claim["published"]["not_shown"][0]["why"]}
    ]


def test_draws_alone_are_judged_and_shown(runs: dict[str, Ran], tmp_path: Path) -> None:
    of = published()
    runs[DRAWS] = ran(of, DRAWS)
    files = written(tmp_path, of)
    page = files["paper2020.md"]
    assert "> **Draws only.**" in page
    assert "### more: open" in page
    assert "- 6 of 60 draws; holds: " in page
    assert "|  | the paper | published, draws |" in page
    assert "| minrtt | 6.833 (" in page
    assert (
        "| [fig1](paper2020.md#fig1) | Queues (draws) | 1 open, 1 not testable |"
        in (files["README.md"])
    )
    assert json.loads(files["claims.json"])["paper2020/fig1:more"]["runs"] == "draws"
    assert "paper2020-fig1.svg" in files


def test_without_runs_the_data_gives_the_same(runs: dict[str, Ran], tmp_path: Path) -> None:
    of = published()
    runs |= {PUBLISHED: ran(of), TODAY: ran(of, TODAY, 10)}
    first = written(tmp_path, of)
    runs.clear()
    assert written(tmp_path, of) == first
    # a part that is run later joins them, and nothing else is lost
    runs["rate=5"] = ran(of, "rate=5")
    later = written(tmp_path, of)
    parts = [
        line["variant"] for line in csv.DictReader(io.StringIO(later["data/paper2020-fig1.csv"]))
    ]
    assert dict.fromkeys(parts) == dict.fromkeys([PUBLISHED, TODAY, "rate=5"])
    assert "Not run yet: rate=5, draws" in first["README.md"]
    assert "Not run yet: draws" in later["README.md"]


def test_a_kernel_beside_has_a_column_and_pages_say_where_they_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of = published()
    out, pages = tmp_path / "out", tmp_path / "pages"
    place = out / data.KERNELS / "v0.95"
    place.mkdir(parents=True)
    theirs = ran(of, more=10, kernel="k2")
    lacking = [
        dataclasses.replace(row, figures={"goodput": None}, lacks="the kernel has no blest")
        if row.point["scheduler"] == "blest"
        else row
        for row in theirs.results.rows
    ]
    theirs = Ran(samples.results(of.experiment, lacking), theirs.provenance)
    there = {out: {PUBLISHED: ran(of, more=-10)}, place: {PUBLISHED: theirs}}
    monkeypatch.setattr(reproduce, "read_parts", lambda _published, where: there.get(where, {}))

    def publish_now() -> dict[str, str]:
        files = publish.publish(pages, out, NOW, [of])
        return {str(file.relative_to(pages)): file.read_text() for file in files}

    files = publish_now()
    page, summary = files["paper2020.md"], files["README.md"]
    # -3.167 is neither more than 11 nor than 5, 16.83 is more
    parted = "holds on v0.95, not on today's"
    assert f"### more: contradicted (provisional); {parted}\n" in page
    assert "| figure | claim | published | today | v0.95 | where they part |" in page
    assert f"| contradicted (provisional) | not run | reproduced (provisional) | {parted} |" in page
    assert "|  | the paper | published | v0.95 |" in page
    assert "| v0.95, published | 12 | 6 | `k2` |" in page
    assert f"| [fig1:more](paper2020.md#fig1-more) | more is more | {parted} |" in summary
    assert "| with runs on v0.95 | 2 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |" in summary
    (claim,) = (json.loads(files["claims.json"])["paper2020/fig1:more"]["kernels"].values(),)
    assert [each["verdict"] for each in claim] == ["reproduced"]
    # from the data alone, where nobody has that kernel
    assert files["data/kernels/v0.95/paper2020-fig1.csv"].count("the kernel has no blest") == 12
    there.clear()
    assert publish_now() == files


def test_runs_on_another_kernel_alone_are_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of, out = published(), tmp_path / "out"
    for name in ("v0.95", "empty"):
        (out / data.KERNELS / name).mkdir(parents=True)
    there = {out / data.KERNELS / "v0.95": {PUBLISHED: ran(of, more=10, kernel="k2")}}
    monkeypatch.setattr(reproduce, "read_parts", lambda _published, where: there.get(where, {}))
    paths = publish.publish(tmp_path, out, NOW, [of])
    files = {str(file.relative_to(tmp_path)): file.read_text() for file in paths}
    page, summary = files["paper2020.md"], files["README.md"]
    assert "> **Not run yet on today's kernel.** `mptcplab papers run paper2020/fig1`" in page
    assert "### more: not run; reproduced (provisional) on v0.95\n" in page
    assert "|  | the paper | v0.95 |\n" in page
    assert "| minRTT | 11 Mbit/s | 16.83 (" in page
    assert "All numbers on v0.95" in page
    assert "| v0.95, published | 24 | 6 | `k2` |" in page
    assert "| with runs on v0.95 | 2 | 1 |" in summary
    # what has no runs has no files
    assert {*files} == {
        "data/kernels/v0.95/paper2020-fig1.csv",
        "data/kernels/v0.95/paper2020-fig1.columns.csv",
        "data/kernels/v0.95/provenance.json",
        "data/paper2020-fig1-paper.csv",
        "paper2020.md",
        "claims.json",
        "README.md",
    }
    links = set(re.findall(r"\((data/[^)]*)\)", page))
    assert "data/kernels/v0.95/paper2020-fig1.csv" in links
    assert links <= {*files}


def test_a_kernel_beside_is_judged_by_no_variant_alone_and_its_old_parts_are_named() -> None:
    of = published()
    old = ran(of, kernel="k2")
    old = Ran(old.results, dataclasses.replace(old.provenance, digest="another"))
    today = {PUBLISHED: old, TODAY: ran(of, TODAY, kernel="k2")}
    found = publish.section(of, {"": {PUBLISHED: ran(of)}, "v0.95": today}, NOW)
    assert not found.beside
    again = "**To be run again on v0.95:** published; not judged."
    assert again in found.marks()
    quick = {PUBLISHED: old, QUICK: ran(of, QUICK, kernel="k2")}
    found = publish.section(of, {"": {PUBLISHED: ran(of)}, "v0.95": quick}, NOW)
    assert found.beside["v0.95"].part == QUICK
    assert again in found.marks()


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (Verdict.CONTRADICTED, Verdict.DIRECTION, "holds on v0.95, not on today's"),
        (Verdict.REPRODUCED, Verdict.CONTRADICTED, "holds on today's, not on v0.95"),
        (Verdict.DIRECTION, Verdict.REPRODUCED, ""),
        (Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, ""),
        (Verdict.NOT_TESTABLE, Verdict.REPRODUCED, ""),
        (None, Verdict.REPRODUCED, ""),
        (Verdict.CONTRADICTED, None, ""),
    ],
)
def test_kernels_part_where_a_claim_holds_on_one_and_fails_on_the_other(
    ours: Verdict | None, theirs: Verdict | None, said: str
) -> None:
    claim = published().experiment.claim[0]

    def judged(verdict: Verdict | None) -> Judged | None:
        return Judged(claim=claim, verdict=verdict) if verdict else None

    assert wording.parting(judged(ours), judged(theirs), "v0.95") == said


def test_the_data_has_a_line_per_run_and_explains_its_columns() -> None:
    of = published()
    lines = list(csv.DictReader(io.StringIO(data.rows_csv(of.experiment, {PUBLISHED: ran(of)}))))
    assert len(lines) == 24
    assert lines[0] == {
        "variant": "published",
        "scheduler": "minrtt",
        "queue": "300",
        "seed": "1",
        "goodput": "4.333333333",
    }
    columns = list(csv.DictReader(io.StringIO(data.columns_csv(of.experiment, {}))))
    assert [line["column"] for line in columns] == list(lines[0])
    assert columns[-1]["unit"] == "Mbit/s"
    assert columns[2]["title"] == "queue, packets"


def test_what_is_read_has_the_types_of_the_file() -> None:
    of = published()
    own = of.experiment
    made = {PUBLISHED: provenance(of, PUBLISHED)}
    text = data.rows_csv(own, {PUBLISHED: ran(of)})
    found = data.parsed(of, text, data.columns_csv(own, {}), made)[PUBLISHED]
    assert found.results.rows[0] == Row(
        {"scheduler": "minrtt", "queue": 300}, 1, {"goodput": 4.333333333}
    )
    assert found.provenance == made[PUBLISHED]
    # a figure by another formula is not the same figure
    other = data.columns_csv(own, {}).replace("1e6", "1e3")
    found = data.parsed(of, text, other, made)[PUBLISHED]
    assert found.results.rows[0].figures == {"goodput": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [("paper2020-fig1.csv", "variant,seed\npublished,x\n"), ("provenance.json", "[1]")],
)
def test_damaged_data_is_an_error(
    runs: dict[str, Ran], tmp_path: Path, name: str, text: str
) -> None:
    of = published()
    runs[PUBLISHED] = ran(of)
    written(tmp_path, of)
    (tmp_path / "data" / name).write_text(text)
    with pytest.raises(MptcplabError, match=name):
        data.read(of, tmp_path / "data")


def test_without_runs_and_data_there_are_no_pages(runs: dict[str, Ran], tmp_path: Path) -> None:
    assert not runs
    with pytest.raises(MptcplabError, match="no experiment has been run"):
        written(tmp_path, published())
    assert not list(tmp_path.iterdir())


def test_a_changed_part_has_to_run_again(runs: dict[str, Ran], tmp_path: Path) -> None:
    of = published()
    runs |= {PUBLISHED: ran(of), TODAY: ran(of, TODAY, 10, digest="other")}
    page = written(tmp_path, of)["paper2020.md"]
    assert "> **To be run again:** today" in page
    assert "### more: direction only" in page
    assert "reproduced" not in page
    runs[PUBLISHED] = ran(of, digest="other")
    files = written(tmp_path, of)
    assert "> **To be run again, since the experiment has changed.**" in files["paper2020.md"]
    assert "### more: not run" in files["paper2020.md"]
    assert "2 claims, 2 not run" in files["README.md"]
    assert json.loads(files["claims.json"])["paper2020/fig1:more"]["runs"] == "to be run again"
    # the rows are kept, as they were made
    assert files["data/paper2020-fig1.csv"].count("today,") == 24


def test_runs_of_an_unequal_kernel_are_stale(runs: dict[str, Ran], tmp_path: Path) -> None:
    of = published()
    runs[PUBLISHED] = ran(of, files={"sched/minrtt.c": "m0", "sched/blest.c": "l1"})
    mark = "> **Stale:** published was run with another sched/minrtt.c (m0, now m1)."
    assert mark in written(tmp_path, of)["paper2020.md"]
    assert "Stale" not in written(tmp_path, of, {})["paper2020.md"]
    equal = Now(LAB.kernel, LAB.guest, [Equal("sched/minrtt.c", ["m0", "m1"], "make same-packets")])
    assert "Stale" not in written(tmp_path, of, {"": equal})["paper2020.md"]
    other = Now(LAB.kernel, LAB.guest, [Equal("guest", ["m0", "m1"], "make same-packets")])
    assert mark in written(tmp_path, of, {"": other})["paper2020.md"]


def test_the_kernel_and_the_guest_make_stale_too() -> None:
    of = published()
    made = provenance(of, PUBLISHED, base="b0", guest="g0")
    assert LAB.changed(made) == ["kernel (b0, now b1)", "guest (g0, now g1)"]
    assert LAB.changed(provenance(of, PUBLISHED)) == []


def test_runs_on_another_kernel_are_compared_with_that_kernel() -> None:
    of = published()
    by_kernel = {
        "": {PUBLISHED: ran(of)},
        "v0.95": {PUBLISHED: ran(of, base="o1", files={}), QUICK: ran(of, QUICK)},
    }
    assert not publish.section(of, by_kernel, NOW).stale
    there = Now(Parts("o1", {}), "g1")
    found = publish.section(of, by_kernel, {**NOW, "v0.95": there})
    (mark,) = (each for each in found.marks() if "Stale" in each)
    assert mark.startswith("**Stale:** published-quick on v0.95 was run with another kernel (b1, ")
    del by_kernel["v0.95"][PUBLISHED]
    old = publish.section(of, by_kernel, {"v0.95": there})
    for each, says in ((found, "published"), (old, "published-quick, stale")):
        claim = json.loads(summary.claims_json({"paper2020": [each]}))["paper2020/fig1:more"]
        assert claim["kernels"]["v0.95"]["runs"] == says


def test_kernels_that_are_built_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = KernelBuild("k1", "lab", tmp_path, tmp_path)
    theirs = dataclasses.replace(ours, id="k2", variant=kernel.OUT_OF_TREE)
    built = {Path("theirs"): theirs, None: ours}
    names = {name: kernel_names.Named(name, Path(name)) for name in ("theirs", "not-built")}
    monkeypatch.setattr(kernel_names, "known", lambda: names)
    monkeypatch.setattr(
        kernel, "current", lambda _variant="lab", source=None, _patches=(): built.get(source)
    )
    monkeypatch.setattr(kernel, "parts", lambda build: Parts(build.id, {}))
    monkeypatch.setattr(guest, "build", lambda: GUEST)
    found = stale.now(tmp_path, ["theirs", "not-built", "unknown"])
    assert {name: each.kernel.base for name, each in found.items()} == {"": "k1", "theirs": "k2"}


def test_what_is_equal_is_read(tmp_path: Path) -> None:
    file = tmp_path / stale.EQUAL
    assert stale.equal(file) == []
    file.write_text('[{"what": "guest", "ids": ["a", "b"], "shown_by": "make same-packets OLD=a"}]')
    assert stale.equal(file) == [Equal("guest", ["a", "b"], "make same-packets OLD=a")]
    file.write_text('[{"what": "guest"}]')
    with pytest.raises(MptcplabError, match=r"equal\.json"):
        stale.equal(file)


# Charts


def content(**options: Any) -> chart.Content:
    of = published(**options)
    found = reproduce.assembled(of, {PUBLISHED: ran(of)})
    return chart.Content(found, paper_styles([["minrtt", "blest"]]))


def texts(picture: bytes) -> list[str]:
    return [each.text for each in ElementTree.fromstring(picture).iter() if each.text]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kind": "bars"},
        {"kind": "cdf", "x": ""},
        {"x": "scheduler", "series": "queue"},
        {"kind": "bars", "x": "scheduler", "series": "scheduler", "panels": "queue"},
    ],
)
def test_a_chart_names_its_series_and_is_the_same_each_time(options: dict[str, Any]) -> None:
    picture = chart.drawn(content(**options), "svg")
    assert picture == chart.drawn(content(**options), "svg")
    found = texts(picture)
    for name in ("300", "1000") if options.get("series") == "queue" else ("minrtt", "blest"):
        assert name in found
    # a distribution has no place for a single number; a chart by panels needs it in each
    assert ("the paper, read off its figure" in found) == (options.get("kind") != "cdf")


def first_panel(of: Published, rows: list[Row]) -> Any:
    """Of a chart over these runs; what is claimed of others is left out."""
    claims = [each for each in of.experiment.claim if each.not_testable]
    of = dataclasses.replace(of, experiment=of.experiment.model_copy(update={"claim": claims}))
    own = Ran(samples.results(of.experiment, rows), provenance(of, PUBLISHED))
    found = reproduce.assembled(of, {PUBLISHED: own})
    labels = list(dict.fromkeys(str(row.point["scheduler"]) for row in rows))
    return chart._figure(chart.Content(found, paper_styles([labels]))).axes[0]


def test_a_single_series_has_a_bar_for_each_x() -> None:
    of = published(kind="bars")
    of.experiment.grid["scheduler"] = ["minrtt"]
    rows = [row for row in ran(of).results.rows if row.point["scheduler"] == "minrtt"]
    axis = first_panel(of, rows)
    # the medians of seeds 1 to 6 with 300 and 1000 packets: 3 + 3.5 + 1/3, and 1 more
    assert [bar.get_height() for bar in axis.patches] == pytest.approx([6 + 5 / 6, 7 + 5 / 6])


@pytest.mark.parametrize(
    ("names", "shown", "turned"),
    [
        (["a" * 24, "b" * 24], ["a" * 24, "b" * 24], 0.0),
        (["a" * 24 + ":x=on", "b" * 24], ["a" * 24 + "\n:x=on", "b" * 24], 0.0),
        (["a" * 30, "b" * 30], ["a" * 30, "b" * 30], 35.0),
    ],
)
def test_names_below_bars_do_not_overlap(names: list[str], shown: list[str], turned: float) -> None:
    of = published(kind="bars", x="scheduler", series="scheduler", panels="queue")
    of.experiment.grid["scheduler"] = list(names)
    renamed = dict(zip(("minrtt", "blest"), names, strict=True))
    rows = [
        dataclasses.replace(row, point={**row.point, "scheduler": renamed[row.point["scheduler"]]})
        for row in ran(of).results.rows
    ]
    axis = first_panel(of, rows)
    # two panels share 100 characters, so that each name has 25, or 30 small ones, with a space
    labels = axis.get_xticklabels()
    assert [label.get_text() for label in labels] == shown
    assert {label.get_rotation() for label in labels} == {turned}


@pytest.mark.parametrize(
    ("rare", "top", "said"), [(12.0, 14 * 1.08, ""), (900.0, 2 * 14 * 1.08, "intervals reach 900")]
)
def test_a_long_interval_does_not_squeeze_the_medians(rare: float, top: float, said: str) -> None:
    # the paper has 14, which is the highest besides the intervals
    of = published()
    # of five seeds two have another value: 7 is the median, and the interval reaches the other
    rows = [
        Row({"scheduler": "minrtt", "queue": queue}, seed, {"goodput": 7.0 if seed < 3 else rare})
        for queue in (300, 1000)
        for seed in range(5)
    ]
    axis = first_panel(of, rows)
    assert axis.get_ylim() == pytest.approx((0, top))
    assert axis.get_title(loc="right") == said


@pytest.mark.parametrize(
    ("rare", "said"), [(30.0, ""), (500.0, "1 of 240 runs are beyond: up to 500")]
)
def test_a_distribution_is_not_squeezed_by_a_few_far_values(rare: float, said: str) -> None:
    of = published(kind="cdf", x="")
    rows = [
        Row({"scheduler": scheduler, "queue": queue}, seed, {"goodput": float(seed % 40)})
        for scheduler in ("minrtt", "blest")
        for queue in (300, 1000)
        for seed in range(60)
    ]
    rows[0] = dataclasses.replace(rows[0], figures={"goodput": rare})
    axis = first_panel(of, rows)
    assert axis.get_title(loc="right") == said
    # all others are from 0 to 39
    low, high = axis.get_xlim()
    assert low < 0
    assert 39 < high < 45


def test_numbers_are_where_they_are() -> None:
    scale = chart._Scale.of([300, 1000])
    assert (scale.kind, scale.place(300), scale.shifted(300, 0.01)) == ("linear", 300.0, 307.0)
    assert chart._Scale.of([0.005, 0.05, 0.5, 1, 5]).kind == "log"
    assert chart._Scale.of([0.01, 1]).kind == "linear"
    assert chart._Scale.of([0.01, 1.1]).kind == "log"
    assert chart._Scale.of([0, 0.05, 5]).kind == "linear"
    names = chart._Scale.of(["cubic", "lia"])
    assert (names.kind, names.place("lia")) == ("names", 1.0)
    # a tenth of the two decades between 1 and 100
    assert chart._Scale.of([1, 2, 1000]).shifted(1, 0.1) == pytest.approx(10**0.3)


def test_a_scheduler_looks_the_same_in_every_chart_and_unlike_others_and_paths() -> None:
    first = paper_styles([["minrtt", "minrtt:rp=off", "blest"], ["stms", "raven"]])
    assert first["minrtt"] == paper_styles([["minrtt"]])["minrtt"]
    assert (first["minrtt"].colour, first["minrtt"].marker) == (COLOURS[1], MARKERS[1])
    assert len({(each.colour, each.dash, each.marker) for each in first.values()}) == 5
    # of one chart, they differ in colour
    assert len({first[name].colour for name in ("minrtt", "minrtt:rp=off", "blest")}) == 3
    # what is no scheduler has whole lines
    others = paper_styles([["one-way", "symmetric"]], are_schedulers=False)
    assert [each.colour for each in others.values()] == [*COLOURS[:2]]
    assert {each.dash.matplotlib for each in others.values()} == {"-"}
    many = paper_styles([[f"s{number}" for number in range(36)]])
    assert len({(each.colour, each.dash) for each in many.values()}) == 36
    assert not {each.colour for each in many.values()} & {*PATH_COLOURS}


def test_over_time_each_scheduler_has_the_run_of_its_first_seed(
    monkeypatch: pytest.MonkeyPatch, runs: dict[str, Ran], tmp_path: Path
) -> None:
    read: list[str] = []

    def drawn(scenario: str, *_records: object) -> RunSeries:
        read.append(scenario)
        bins = np.arange(9, dtype=np.float64) * 1e6
        panels = [
            Panel("g", "", (Series("goodput_bps", None, bins), Series("goodput_bps", "a", bins))),
            Panel("g", "", (Series("link_bps", "a", bins), Series("sinr_db", "a", bins))),
        ]
        return RunSeries(np.arange(10) * 10**9, tuple(panels))

    def stored(directory: Path) -> Any:
        return types.SimpleNamespace(scenario=directory.name, client=None, server=None, traces=None)

    monkeypatch.setattr(store, "read_run", stored)
    monkeypatch.setattr(data, "run_series", drawn)
    of = published(kind="time", panels="queue")
    all_runs = ran(of)
    directories = [Path(f"runs/{number}") for number in range(len(all_runs.results.rows))]
    runs[PUBLISHED] = Ran(all_runs.results, all_runs.provenance, directories)
    files = written(tmp_path, of)
    # runs come by scheduler, queue and seed, six of each: the first of each pair
    assert read == ["0", "6", "12", "18"]
    found = texts(files["paper2020-fig1.svg"].encode())
    shown = ("queue, packets: 300", "minrtt; queue, packets: 1000", "SINR, dB", "a can carry")
    for text in shown:
        assert text in found
    assert found.count("a can carry") == 1
    assert "- `6`: minrtt, 1000" in files["paper2020.md"]
    # nine bins of a second, three at a time: means of 0, 1, 2 and so on, in Mbit/s
    first = data.parsed_series(files["data/paper2020-fig1-series.csv"], "x")[0]
    assert (first.what, first.times_s, first.values) == ("goodput", (1.5, 4.5, 7.5), (1, 4, 7))
    runs.clear()
    read.clear()
    assert written(tmp_path, of) == files
    assert not read


def test_over_time_the_runs_are_those_that_the_file_names(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(data, "_of_run", lambda *_run: [])
    monkeypatch.setattr(data, "run_series", lambda *_run: None)

    def stored(directory: Path) -> Any:
        read.append(directory.name)
        return types.SimpleNamespace(scenario=None, client=None, server=None, traces=None)

    monkeypatch.setattr(store, "read_run", stored)
    of = published(kind="time", at={"queue": 1000})
    all_runs = ran(of)
    directories = [Path(f"runs/{number}") for number in range(len(all_runs.results.rows))]
    data.tracks(of, Ran(all_runs.results, all_runs.provenance, directories))
    # runs come by scheduler, queue and seed, six of each
    assert read == ["6", "18"]


def test_over_time_there_is_the_sum_of_the_paths() -> None:
    times = (0.5, 1.5)
    tracks = [
        data.Track("minrtt", "", "k", "a", data.GOODPUT, times, (1.0, 2.0)),
        data.Track("minrtt", "", "k", "b", data.GOODPUT, times, (10.0, 20.0)),
        data.Track("minrtt", "", "k", "a", data.CAPACITY, times, (100.0, 100.0)),
        data.Track("blest", "", "l", "a", data.GOODPUT, times, (1.0, 2.0)),
    ]
    of = published(kind="time")
    found = reproduce.assembled(of, {PUBLISHED: ran(of)})
    minrtt, blest = chart._over_time(chart.Content(found, {}, tracks)).axes
    drawn = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in minrtt.lines}
    assert drawn["sum"] == [11.0, 22.0]
    assert [line.get_label() for line in blest.lines] == ["a"]
