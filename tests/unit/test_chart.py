# SPDX-License-Identifier: GPL-2.0-only
"""Charts of synthetic comparisons."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

from mptcplab.errors import MptcplabError
from mptcplab.metrics.records import Samples
from mptcplab.report import comparison_chart, draw, palette, paper_figures
from mptcplab.report.charts import Chart, Line, Lines, OverTime, Shares, Trace
from mptcplab.report.tables import TableFigure
from mptcplab.runs import store
from mptcplab.runs.entries import Document
from tests.unit import synthetic
from tests.unit.synthetic import FAST, SECOND, SLOW
from tests.unit.test_report import document, failed, mptcp, ok


def charted(out_dir: Path, seeds: Sequence[int] = (1,)) -> Document:
    scenarios = [
        synthetic.scenario(scheduler=scheduler, seed=seed, duration_ns=10 * SECOND)
        for scheduler in ("default", "roundrobin")
        for seed in seeds
    ]
    return document([ok(scenario, FAST, SLOW, out_dir=out_dir) for scenario in scenarios])


def test_the_chart_has_a_panel_per_scheduler_with_the_first_seed(tmp_path: Path) -> None:
    made = charted(tmp_path, seeds=(3, 2))
    png, svg = comparison_chart.write_chart(made, tmp_path)
    assert (png, svg) == (tmp_path / "goodput.png", tmp_path / "goodput.svg")
    # PNG: 8 bytes of signature, then length and type of the first chunk, then width and height
    content = png.read_bytes()
    assert (content[1:4], struct.unpack(">I", content[16:20])) == (b"PNG", (1200,))
    assert b"tEXt" not in content  # where versions and dates would stand
    texts = svg.read_text()
    for text in (
        "default, seed 2",
        "roundrobin, seed 2",
        "fast, link 40 Mbit/s",
        "slow, link 10 Mbit/s",
        "Goodput (Mbit/s)",
        "Time since the start of the workload (s)",
    ):
        assert f">{text}</text>" in texts
    assert "<svg" in texts
    assert "seed 3" not in texts
    assert "dc:date" not in texts
    # the same document gives the same chart, byte for byte
    again = [file.read_bytes() for file in comparison_chart.write_chart(made, tmp_path)]
    assert again == [content, texts.encode()]
    missing = tmp_path / "runs" / "default-2" / "server.samples"
    missing.unlink()
    with pytest.raises(MptcplabError, match="cannot be read") as raised:
        comparison_chart.write_chart(made, tmp_path)
    assert str(missing) in str(raised.value)


def test_data_both_ways_has_a_panel_for_each_direction(tmp_path: Path) -> None:
    scenario = synthetic.scenario(scheduler="default", duration_ns=10 * SECOND)
    both = scenario.workload.model_copy(update={"direction": "both"})
    scenario = scenario.model_copy(update={"workload": both})
    slower = scenario.paths[0].up.model_copy(update={"rate_bps": 20_000_000})
    fast = scenario.paths[0].model_copy(update={"down": slower})
    scenario = scenario.model_copy(update={"paths": (fast, *scenario.paths[1:])})
    made = document([ok(scenario, FAST, SLOW, out_dir=tmp_path)])
    made = made.model_copy(update={"scenario": scenario})
    _, svg = comparison_chart.write_chart(made, tmp_path)
    for text in (
        "default, seed 1, data up",
        "default, seed 1, data down",
        "fast, link 40 up, 20 down",
        "slow, link 10 Mbit/s",
        "dashed: links (together 50 up, 30 down)",
    ):
        assert f">{text}</text>" in svg.read_text()


def test_names_wider_than_the_picture_are_in_lines(tmp_path: Path) -> None:
    name = "raven:lower1_permille=100:upper1_permille=99999:lower_permille=12:aging=off"
    first, second = charted(tmp_path).runs
    runs = [first, *(second.model_copy(update={"scheduler": f"{name}{n}"}) for n in range(5))]
    made = document(runs)
    with warnings.catch_warnings(action="error"):  # Matplotlib's, about a layout that is too small
        overview, goodput, *_ = (
            each for each in comparison_chart.write(made, tmp_path) if each.suffix == ".svg"
        )
    for file in (overview, goodput):
        texts = re.findall(r">([^<>]*)</text>", file.read_text())
        # a text for each line
        assert f"{name}4" in "".join(texts)
        assert max(map(len, texts)) < 100
    names = [f"{name}1", f"{name}2"]
    lines = tuple(Line(each, (0, 1), (0, 1)) for each in names)
    trace = (Trace("all", None, (0, 1), (0, 1)),)
    figures: list[Chart] = [
        Shares("Share", "", {"fast": dict.fromkeys(names, 60.0)}),
        Lines("Goodput", "ms", "Mbit/s", "", lines),
        OverTime(f"Goodput over time, {name}", "s", "Mbit/s", "", name, trace, 1.0),
    ]
    with warnings.catch_warnings(action="error"):
        paper_figures.write(figures, palette.styles(names), tmp_path)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("minrtt", ["minrtt"]),
        ("raven:aging=off", ["raven:", "aging=off"]),
        ("default, lia", ["default,", "lia"]),
        ("a:b:c:d=5", ["a:b:c:d=5"]),
        ("a_name_without_an_end", ["a_name_wit", "hout_an_en", "d"]),
        ("", [""]),
    ],
)
def test_lines_end_behind_parameters_if_they_can(name: str, lines: list[str]) -> None:
    assert draw.in_lines(name, 10).split("\n") == lines


def test_the_chart_skips_a_scheduler_without_a_run_that_ended_well(tmp_path: Path) -> None:
    first, second, *others = charted(tmp_path).runs
    failing = {"status": "failed", "reason": "WARN", "directory": None}
    made = document([first, second.model_copy(update=failing), *others])
    _, svg = comparison_chart.write_chart(made, tmp_path)
    assert "default" in svg.read_text()
    assert "roundrobin" not in svg.read_text()
    # with none, there is no chart
    made, out = document([failed(synthetic.scenario(), "WARN")]), tmp_path / "none"
    out.mkdir()
    assert comparison_chart.write_chart(made, out) == [*out.iterdir()] == []
    # one that ended before its second sample has one
    _, server = synthetic.run(FAST, SLOW, duration_ns=synthetic.MS)
    at_start = Samples(server.connection[:1], server.subflow[:2])  # one sample of each
    (out / "runs" / "default-1").mkdir(parents=True)
    synthetic.write(at_start, out / "runs" / "default-1" / "server.samples")
    made = document([ok(synthetic.scenario(), FAST, SLOW)])
    assert len(comparison_chart.write_chart(made, out)) == 2


def test_many_schedulers_have_panels_side_by_side(tmp_path: Path) -> None:
    names = ["default", "minrtt", "blest", "ecf", "roundrobin"]
    scenarios = [synthetic.scenario(scheduler=name) for name in names]
    made = document([ok(each, FAST, SLOW, out_dir=tmp_path) for each in scenarios])
    png, svg = comparison_chart.write_chart(made, tmp_path)
    for name in names:
        assert f">{name}, seed 1</text>" in svg.read_text()
    # Three rows of 1.5 inches; title, time axis and legend (5 entries in 2 rows) have 1.4, at 150
    # dots per inch. One below the other, they would take 5 x 2.1.
    assert struct.unpack(">II", png.read_bytes()[16:24]) == (1200, round((3 * 1.5 + 1.4) * 150))
    assert svg.read_text().count(">Goodput (Mbit/s)</text>") == 3


def test_bursts_above_the_links_are_cut_off_and_said(tmp_path: Path) -> None:
    calm = synthetic.scenario()
    made = [
        ok(calm, FAST, SLOW, out_dir=tmp_path),
        ok(synthetic.scenario(scheduler="ecf"), synthetic.Flow(8000), SLOW, out_dir=tmp_path),
    ]
    _, svg = comparison_chart.write_chart(document(made[:1]), tmp_path)
    assert "ursts" not in svg.read_text()
    _, svg = comparison_chart.write_chart(document(made), tmp_path)
    # 9000 bytes per ms
    assert svg.read_text().count(">bursts up to 72 Mbit/s</text>") == 1
    assert "Bursts above the links: data that had waited" in svg.read_text()


def test_the_overview_has_a_row_per_scheduler_and_never_changes(tmp_path: Path) -> None:
    runs = [*mptcp([3000, 2000]), *mptcp([4000], scheduler="lte"), *mptcp(scheduler="ecf")]
    made = document([*runs, failed(synthetic.scenario(scheduler="broken"), "WARN")])
    png, svg = comparison_chart.write_overview(made, tmp_path)
    assert (png.name, svg.name) == ("overview.png", "overview.svg")
    assert struct.unpack(">I", png.read_bytes()[16:20]) == (1200,)
    texts = svg.read_text()
    names = ("lte", "ecf", "default")
    places = [texts.index(f">{name}</text>") for name in names]
    assert places == sorted(places), "40 Mbit/s twice, then 28"
    assert ">broken</text>" not in texts
    assert "Median of 2 seeds, and the range" in texts
    before = [png.read_bytes(), svg.read_bytes()]
    again = comparison_chart.write_overview(made, tmp_path)
    assert before == [path.read_bytes() for path in again]
    # each scheduler in its colour, with its marker
    looks = palette.styles(names)
    with draw.drawing():
        axes = comparison_chart._overview_figure(made).axes[0]
    seen = {
        line.get_marker(): line.get_color() for line in axes.lines if line.get_marker() != "None"
    }
    assert seen == {looks[name].marker.matplotlib: looks[name].colour for name in names}
    # two schedulers have none, and it is not left
    written = comparison_chart.write(charted(tmp_path), tmp_path)
    assert sorted(written) == [tmp_path / "goodput.png", tmp_path / "goodput.svg"]
    assert sorted(tmp_path.glob("*.*")) == written


def test_the_overview_shows_negative_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"default": [-0.81], "lte": [-0.4], "ecf": [-0.02]}
    shown = [TableFigure("Benefit", values)]
    monkeypatch.setattr(comparison_chart, "best_first", lambda _: shown)
    runs = [run for name in values for run in mptcp(scheduler=name)]
    with draw.drawing():
        figure = comparison_chart._overview_figure(document(runs))
        # Matplotlib warns, which is an error here, if all does not fit
        draw.drawn(figure, "png")
    low, high = figure.axes[0].get_xlim()
    assert low < -0.81
    assert high == 0


def test_the_overview_marks_schedulers_without_an_effect_of_the_seed(tmp_path: Path) -> None:
    once = [*mptcp(), *mptcp(scheduler="lte"), *mptcp(scheduler="ecf")]
    _, svg = comparison_chart.write_overview(document(once), tmp_path)
    assert "hollow" not in svg.read_text()
    _, svg = comparison_chart.write_overview(document([*once, *mptcp([4000, 4000])[1:]]), tmp_path)
    assert "the range; hollow: seeds changed nothing</text>" in svg.read_text()


def test_the_font_cache_goes_into_our_own_cache(tmp_path: Path) -> None:
    made, home = tmp_path / "document.json", tmp_path / "home"
    home.mkdir()
    store.write_json(made, charted(tmp_path))
    script = (
        "import pathlib, sys; from mptcplab.report import comparison_chart; "
        "from mptcplab.runs import documents; "
        "assert 'matplotlib' not in sys.modules, 'it is slow to import'; "
        "made = pathlib.Path(sys.argv[1]); "
        "comparison_chart.write_chart(documents.read(made, documents.COMPARISON), made.parent)"
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MPL"))}
    subprocess.run(
        [sys.executable, "-c", script, str(made)], env=kept | {"HOME": str(home)}, check=True
    )
    assert (tmp_path / "goodput.png").exists()
    # fc-list, which matplotlib asks for the fonts of the system, may keep a cache of its own.
    files = [path.relative_to(home) for path in home.rglob("*") if path.is_file()]
    files = [path for path in files if "fontconfig" not in path.parts]
    assert files
    assert {path.parts[:3] for path in files} == {(".cache", "mptcplab", "matplotlib")}
