# SPDX-License-Identifier: GPL-2.0-only
"""A figure for a paper: its files, and the script that draws it again."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.errors import InputError
from mptcplab.report.figure_files import figure
from mptcplab.runs import store
from tests.unit import stored
from tests.unit.synthetic import SLOW, Flow

X, Y = "Delay of slow (ms)", "Goodput (Mbit/s)"


def swept(out: Path, delays: tuple[str, ...], rates: tuple[int, ...] = (10,)) -> Path:
    """A sweep of two schedulers with three seeds; goodput is 8 Mbit/s for each step, and a bit."""
    rows: list[dict[str, Any]] = []
    for step, delay in enumerate(delays, 1):
        for rate in rates:
            for name in ("default", "blest"):
                for seed in (1, 2, 3):
                    of = stored.scenario(scheduler=name, seed=seed)
                    kept = stored.keep(out, of, Flow(1000 * step + rate * seed), Flow(0, path=2))
                    point = {"path.slow.delay": delay} | ({"rate": rate} if rates[1:] else {})
                    rows.append({"point": point, "directory": kept.directory, "alone": {}})
    alone = stored.keep(out, stored.scenario().single_path("fast"), Flow(500)).directory
    rows = [row | {"alone": {"fast": alone}} for row in rows]
    store.write_json(out / store.SWEEP, {"axis": {}, "runs": rows})
    return out


@pytest.mark.parametrize("kind", ["lines", "panels", "heat", "bars", "distribution"])
def test_the_script_draws_the_same_picture(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "bars":
        for seed in (1, 2):
            for name in ("default", "blest"):
                of = stored.scenario(scheduler=name, seed=seed)
                stored.keep(out, of, Flow(1000 + seed), SLOW)
    elif kind == "distribution":
        for place in range(13):
            send = {"cc": "reno" if place % 2 else "cubic", "send_buffer_bytes": 10**6 + place}
            stored.keep(out, stored.scenario().model_copy(update=send), Flow(1000 + place), SLOW)
    else:
        rates = {"lines": (10,), "panels": (10, 20), "heat": (10, 20, 30, 40, 50)}[kind]
        swept(out, tuple(f"{delay}ms" for delay in (5, 10, 20, 40, 80)), rates)
    made = figure([out], title="A title" * (kind == "lines"))
    assert (made.plain.kind == kind) == (kind in ("lines", "heat", "bars"))
    made.save(tmp_path / "a" / "fig.png", tmp_path / "a" / "fig.tsv", tmp_path / "a" / "fig.py")
    drawn = (tmp_path / "a" / "fig.png").rename(tmp_path / "own.png")
    script = tmp_path / "a" / "fig.py"
    subprocess.run([sys.executable, "-W", "error", script], check=True, cwd=tmp_path)
    assert "mptcplab." not in script.read_text()
    from matplotlib.image import imread

    own, again = imread(drawn), imread(tmp_path / "a" / "fig.png")
    assert own.shape == again.shape
    assert np.array_equal(own, again)
    # 84 mm at 300 dots per inch
    assert own.shape[1] == pytest.approx(84 / 25.4 * 300, abs=1)


def test_the_data_are_what_is_drawn(tmp_path: Path) -> None:
    made = figure([swept(tmp_path, ("5ms", "10ms", "20ms"))], "goodput", "path.slow.delay")
    rows = [*csv.DictReader(io.StringIO(made.data()))]
    assert [*rows[0]] == ["panel", "scheduler", X, Y, "low", "high", "seeds"]
    # 1020 bytes in a ms are 8.16 Mbit/s
    found = [(r["scheduler"], r[X], r[Y], r["low"], r["high"], r["seeds"]) for r in rows]
    assert found[:2] == [
        ("default", "5", "8.16", "8.08", "8.24", "3"),
        ("default", "10", "16.16", "16.08", "16.24", "3"),
    ]
    assert found[-1] == ("TCP over fast", "20", "4", "", "", "1")
    assert len(rows) == 9
    from mptcplab.report import draw

    with draw.drawing():
        [axis] = made.plain.drawn().axes
    drawn = [
        (line.get_label(), f"{x:g}", f"{y:g}")
        for line in axis.lines
        for x, y in np.array(line.get_data()).T
    ]
    assert drawn == [each[:3] for each in found]
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_xscale()) == (X, Y, "log")


def test_the_highest_point_has_room_above_it(tmp_path: Path) -> None:
    (axis,) = figure([swept(tmp_path, ("5ms", "10ms", "20ms"))]).plain.drawn().axes
    highest = max(np.max(line.get_ydata()) for line in axis.lines)
    low, high = axis.get_ylim()
    assert low == 0
    assert high >= 1.049 * highest


def test_fonts_are_no_type_3_and_text_is_text(tmp_path: Path) -> None:
    made = figure([swept(tmp_path, ("5ms", "10ms", "20ms"))], "ofo_mean", title="Waiting")
    pdf = made.picture("pdf")
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf  # TrueType
    texts = re.findall(r">([^<>]+)</text>", made.picture("svg").decode())
    assert {"Waiting", X, "default", "blest"} <= {*texts}
    assert made._repr_png_().startswith(b"\x89PNG")


def test_a_script_has_its_data_beside_it_and_draws_its_picture(tmp_path: Path) -> None:
    made = figure([swept(tmp_path / "out", ("5ms", "10ms", "20ms"))])
    written = made.save(tmp_path / "a.py")
    assert [file.name for file in written] == ["a.py", "a.csv"]
    subprocess.run([sys.executable, written[0]], check=True)
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metric": "godput"}, r'--metric\n  godput: no figure of a run; did you mean "goodput"'),
        ({"metric": "page_load"}, "no run has this figure"),
        ({"over": "slow.delay"}, r'do not differ in it; did you mean "path.slow.delay"'),
        ({"size": ("84", None)}, "--width\n  84: a length with mm, cm, in or pt is expected"),
        ({"size": ("84mm", "9m")}, "--height\n  9m: a length"),
        ({"size": ("84m", None)}, "84m: a length"),
        ({"size": ("8400mm", None)}, "from 1 to 40 inches"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    out = swept(tmp_path, ("5ms", "10ms"))
    with pytest.raises(InputError) as caught:
        figure([out], **asked)
    assert re.search(message, str(caught.value))


def test_a_wrong_file_or_a_single_run_writes_nothing(tmp_path: Path) -> None:
    made = figure([swept(tmp_path / "out", ("5ms", "10ms"))])
    with pytest.raises(InputError, match=r"fig\.jpg: accepted are files that end with \.png"):
        made.save(tmp_path / "fig.pdf", tmp_path / "fig.jpg")
    assert not (tmp_path / "fig.pdf").exists()
    stored.keep(tmp_path / "one", stored.scenario(), Flow(1000), SLOW)
    with pytest.raises(InputError, match="nothing to compare: a single run; mptcplab show"):
        figure([tmp_path / "one"])
