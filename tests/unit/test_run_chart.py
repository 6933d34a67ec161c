# SPDX-License-Identifier: GPL-2.0-only
"""The picture of a run, looked at through matplotlib's own objects and the files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from mptcplab.metrics import series
from mptcplab.report import draw, palette, run_chart
from mptcplab.scenario.model import Change, Event, Scenario
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, Flow

DOWN = Event(at_ns=2 * SECOND, path="fast", action="down")
UP = Event(at_ns=4 * SECOND, path="fast", action="up")
CLOSE = Event(at_ns=8 * SECOND, path="slow", action="close")
SLOWER = Event(
    at_ns=5 * SECOND,
    path="fast",
    action="change",
    lasts_ns=SECOND,
    up=Change(rate_bps=5_000_000),
    down=Change(rate_bps=5_000_000),
)


def scenario(*events: Event, **fields: Any) -> Scenario:
    return synthetic.scenario(**fields).model_copy(update={"events": events})


def figure(of: Scenario, *flows: Flow, **options: Any) -> Any:
    client, server = synthetic.run(*(flows or (FAST, SLOW)), **options)
    with draw.drawing():
        return run_chart.figure(of, series.run_series(of, client, server))


def titles(made: Any) -> list[str]:
    return [axis.get_title(loc="left") for axis in made.axes]


def texts(axis: Any) -> list[str]:
    return [text.get_text().strip() for text in axis.texts]


def test_the_panels_share_their_time_and_have_units() -> None:
    made = figure(scenario())
    assert titles(made) == [
        "Goodput",
        "Round-trip time, smoothed",
        "Congestion window, and in flight",
        "Out-of-order queues of the connection and of subflows",
        "Buffers, send window",
        "Retransmissions",
    ]
    labels = [axis.get_ylabel() for axis in made.axes]
    assert labels == ["Mbit/s", "ms", "packets", "KiB", "KiB", ""]
    assert {axis.get_xlim() for axis in made.axes} == {(0.0, 10.0)}
    assert made.axes[-1].get_xlabel().startswith("Time since the start of the workload (s)")


def test_the_title_says_what_was_run() -> None:
    (legend,) = figure(scenario(scheduler="roundrobin", seed=7)).legends
    title = legend.get_title().get_text()
    assert title == ("roundrobin, seed 7: bulk up 10s, cubic\nfast 40mbit, 10ms; slow 10mbit, 10ms")
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["fast", "slow", "connection", "warm-up"]


def test_a_path_has_the_same_colour_in_all_panels() -> None:
    made = figure(scenario())
    # 4000 bytes per ms, and 20 ms, 10 and 8 packets for both paths
    goodput = {line.get_color(): line.get_ydata()[5] for line in made.axes[0].lines}
    assert goodput[palette.PATH_COLOURS[0]] == pytest.approx(32)
    assert goodput[palette.PATH_COLOURS[1]] == pytest.approx(8)
    assert goodput[palette.TOTAL_COLOUR] == pytest.approx(40)
    for axis in made.axes[1:3]:
        assert {line.get_color() for line in axis.lines} == set(palette.PATH_COLOURS[:2])


def test_the_rate_of_a_link_is_dashed_and_follows_events() -> None:
    made = figure(scenario(DOWN, UP))
    links = [patch for patch in made.axes[1].patches if patch.get_linestyle() == "--"]
    fast = next(patch for patch in links if patch.get_edgecolor()[:3] == rgb(0))
    values = fast.get_data().values
    assert values[[19, 20, 39, 40]] == pytest.approx([40, 0, 0, 40])


def rgb(path: int) -> tuple[float, ...]:
    colour = palette.PATH_COLOURS[path]
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))


def test_events_are_bars_in_a_panel_and_areas_in_the_others() -> None:
    made = figure(scenario(DOWN, UP, SLOWER, CLOSE))
    events = made.axes[0]
    assert titles(made)[0] == "Events"
    assert [label.get_text() for label in events.get_yticklabels()] == ["fast", "slow"]
    assert texts(events) == ["down", "rate 5mbit", "close"]
    # fast is down from 2 to 4 s and slower from 5 to 6 s; slow is closed from 8 s on
    assert areas(made.axes[1]) == [(2, 4), (5, 6)]
    assert [line.get_xdata()[0] for line in made.axes[1].lines if len(line.get_xdata()) == 2] == [8]


def areas(axis: Any) -> list[tuple[float, float]]:
    """From when until when something is shaded in the colour of a path."""
    found = []
    for collection in axis.collections:
        if collection.get_alpha() == 0.12:
            for path in collection.get_paths():
                x = path.vertices[:, 0]
                found.append((x.min(), x.max()))
    return found


def test_many_events_are_few_areas() -> None:
    often = Event(at_ns=0, path="fast", action="down", lasts_ns=MS // 2, every_ns=MS)
    assert areas(figure(scenario(often)).axes[1]) == [(0, 9.9995)]


def test_retransmissions_are_ticks_with_their_total() -> None:
    of = scenario()
    client, server = synthetic.run(FAST, SLOW)
    mine = client.subflow["n"] == 1
    late = client.subflow["time_ns"] > synthetic.T0 + 7 * SECOND
    client.subflow["retransmitted_packets"][mine & late] = 12
    with draw.drawing():
        made = run_chart.figure(of, series.run_series(of, client, server))
    collections: list[Any] = list(made.axes[-1].collections)
    ticks = [collection.get_segments() for collection in collections]
    (tick,) = next(segments for segments in ticks if len(segments))
    assert tick[:, 0] == pytest.approx([7.05, 7.05])  # the middle of its bin
    assert texts(made.axes[-1]) == ["0 packets", "12 packets", "0 KiB"]


@pytest.mark.parametrize("paths", [1, 8])
def test_one_path_and_eight_can_be_drawn(paths: int, tmp_path: Path) -> None:
    names = [f"path-with-a-long-name-{number}" for number in range(paths)]
    of = synthetic.scenario([10_000_000] * paths, names=names)
    client, server = synthetic.run(*(Flow(1000, path=number + 1) for number in range(paths)))
    (png,) = run_chart.write(of, series.run_series(of, client, server), tmp_path / "run")
    assert png == tmp_path / "run.png"


def test_a_run_of_one_sample_can_be_drawn(tmp_path: Path) -> None:
    client, server = synthetic.run(FAST, SLOW, duration_ns=1)
    run = series.run_series(scenario(), client, server)
    assert run_chart.write(scenario(), run, tmp_path / "run")


def test_the_files_are_1200_pixels_wide_and_the_same_each_time(tmp_path: Path) -> None:
    of = scenario(DOWN, UP)
    client, server = synthetic.run(FAST, SLOW)
    run = series.run_series(of, client, server)
    contents = []
    for name in ("one", "two"):
        files = run_chart.write(of, run, tmp_path / name, palette.FORMATS)
        assert [file.name for file in files] == [f"{name}.{form}" for form in palette.FORMATS]
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1]
    png, svg, pdf = contents[0]
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", png[16:20]) == (1200,)
    # text is text, and no font is of Type 3
    assert b">Round-trip time, smoothed</text>" in svg
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"{name}.{form}" for name in ("one", "two") for form in ("pdf", "png", "svg")
    ]


def test_a_file_is_the_same_whichever_others_are_drawn(tmp_path: Path) -> None:
    of = scenario(DOWN, UP)
    run = series.run_series(of, *synthetic.run(FAST, SLOW))
    files = run_chart.write(of, run, tmp_path / "all", palette.FORMATS)
    back = run_chart.write(of, run, tmp_path / "back", palette.FORMATS[::-1])
    for file, again, form in zip(files, reversed(back), palette.FORMATS, strict=True):
        (alone,) = run_chart.write(of, run, tmp_path / "alone", (form,))
        assert file.read_bytes() == again.read_bytes() == alone.read_bytes()
