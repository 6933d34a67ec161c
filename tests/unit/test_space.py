# SPDX-License-Identifier: GPL-2.0-only
"""Axes and their values, points, conditions, and scenarios that are filled in at them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.formulas.formula import FormulaError
from mptcplab.formulas.space import Design, Space, filled, overridden, parse_axis
from mptcplab.scenario import toml_file


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"start": 1, "stop": 3, "step": 1}, [1, 2, 3]),
        ({"start": 1, "stop": 2, "count": 3}, [1, 1.5, 2]),
        ({"start": 0.1, "stop": 100, "count": 4, "scale": "log"}, [0.1, 1, 10, 100]),
        ({"start": "10ms", "stop": "160ms", "count": 5, "scale": "log"},
         ["10ms", "20ms", "40ms", "80ms", "160ms"]),
        ({"start": "1mbit", "stop": "2mbit", "step": "0.5mbit"}, ["1mbit", "1.5mbit", "2mbit"]),
        ({"start": 0, "stop": "2%", "count": 3}, ["0%", "1%", "2%"]),
        ([1, "auto"], [1, "auto"]),
    ],
)  # fmt: skip
def test_the_values_of_an_axis_are_a_list_or_a_range(given: Any, values: list[Any]) -> None:
    assert Space(grid={"x": given}).grid == {"x": values}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start": 1, "stop": 3}, 'either "count" or "step"'),
        ({"start": 1, "stop": 3, "count": 2, "step": 1}, 'either "count" or "step"'),
        ({"start": 1, "stop": 3, "by": 1}, "unknown key by; accepted here: start, stop"),
        ({"start": "1ms", "stop": "3s", "count": 2}, "both ends need the same unit"),
        ({"start": 0, "stop": 3, "count": 2, "scale": "log"}, "a logarithmic range has both ends"),
        ({"start": 1, "stop": 3, "count": 1}, "count = 1: a whole number from 2"),
        ({"start": 1, "stop": 3, "step": 0}, "step = 0: more than 0"),
        ({"start": 3, "stop": 1, "step": 1}, "step = 1: more than 0.*upwards"),
        ({"start": 1, "stop": 3, "step": 1e-9}, "more than 65536 values"),
        ({"start": "fast", "stop": 3, "count": 2}, '"fast" is not a number'),
        ([], "at least 1 item"),
    ],
)
def test_a_range_that_is_none_is_told(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){message}"):
        Space(grid={"x": given})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("path.lte.delay=10ms,20ms", ["10ms", "20ms"]),
        ("path.lte.delay=10ms..160ms:log5", ["10ms", "20ms", "40ms", "80ms", "160ms"]),
        ("path.lte.delay = 10ms..30ms:3", ["10ms", "20ms", "30ms"]),
        ("path.lte.delay=10ms..35ms:+10ms", ["10ms", "20ms", "30ms"]),
        ("path.lte.loss=0.5%..1%:2", ["0.5%", "1%"]),
    ],
)
def test_an_axis_as_a_flag(text: str, values: list[Any]) -> None:
    assert parse_axis(text) == (text.split("=")[0].strip(), values)


@pytest.mark.parametrize("text", ["path.lte.delay", "=1", "a=", "a=1..2", "a=1,,2", "a=1..2:x"])
def test_a_flag_that_is_no_axis_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="a swept value is KEY=VALUE,VALUE"):
        parse_axis(text)


def test_points_are_left_out_where_the_condition_does_not_hold() -> None:
    own = Space(grid={"a": [1, 2, 3], "b": [1, 2, 3]}, where="a > b")
    assert own.combinations() == [{"a": 2, "b": 1}, {"a": 3, "b": 1}, {"a": 3, "b": 2}]
    with pytest.raises(FormulaError, match="division"):
        Space(grid={"a": [0]}, where="1 / a > 1").combinations()


@pytest.mark.parametrize("where", [None, "b > 1"])
def test_the_size_of_a_space_is_the_number_of_its_combinations(where: str | None) -> None:
    ranges = {"c": {"low": 1, "high": 2}, "d": {"low": 1, "high": 2}}
    own = Space.model_validate(
        {
            "grid": {"a": [1, 2], "b": [1, 2, 3]},
            "case": [{"name": "x", "e": 1}, {"name": "y", "e": 2}],
            "design": {"kind": "random", "points": 5, "ranges": ranges},
            "where": where,
        }
    )
    for part in ({}, {"grid": {"a": [1]}}, {"count": 3}):
        assert own.size(**part) == len(own.combinations(**part))
    assert own.size() == 5 * 2 * 2 * (3 if where is None else 2)


def test_a_design_is_combined_with_the_grid() -> None:
    ranges = {"rate": {"low": 1, "high": 100, "scale": "log"}}
    for kind in ("sobol", "latin", "random"):
        own = Space(
            grid={"queue": [10, 20]},
            design=Design.model_validate({"kind": kind, "points": 4, "ranges": ranges}),
        )
        points = own.combinations()
        assert [point["queue"] for point in points] == [10, 20] * 4
        assert len({point["rate"] for point in points}) == 4


SCENARIO: dict[str, Any] = {
    "cc": "cubic",
    "path": [
        {"name": "wifi", "rate": "{rate}mbit", "delay": "5ms"},
        {"name": "lte", "rate": "10mbit", "delay": "20ms", "if": "rate > 1"},
    ],
    "event": [{"at": "1s", "path": "lte", "action": "down"}],
}


def test_formulas_are_filled_in_and_keys_with_dots_are_set() -> None:
    point = {"rate": 5, "path.lte.delay": "40ms", "path.lte.up.loss": "1%", "path.*.queue": 20}
    table = filled(SCENARIO, {**point, "event.1.at": "2s", "workload.duration": "3s", "cc": "reno"})
    assert table == {
        "cc": "reno",
        "path": [
            {"name": "wifi", "rate": "5mbit", "delay": "5ms", "queue": 20},
            {"name": "lte", "rate": "10mbit", "delay": "40ms", "up": {"loss": "1%"}, "queue": 20},
        ],
        "event": [{"at": "2s", "path": "lte", "action": "down"}],
        "workload": {"duration": "3s"},
    }
    # nothing of it stays in the template
    assert filled(SCENARIO, {"rate": 1})["path"] == [
        {"name": "wifi", "rate": "1mbit", "delay": "5ms"}
    ]


def test_a_template_is_overridden_key_by_key() -> None:
    other = {"cc": "reno", "workload": {"size": "1MB"}, "path.lte.delay": "1ms"}
    table = overridden({**SCENARIO, "workload": {"duration": "1s"}}, other)
    assert table["cc"] == "reno"
    assert table["workload"] == {"duration": "1s", "size": "1MB"}
    assert [path["delay"] for path in table["path"]] == ["5ms", "1ms"]
    assert SCENARIO["cc"] == "cubic"
    assert filled(SCENARIO, {"rate": 2})["path"][1]["delay"] == "20ms"
    with pytest.raises(FormulaError, match=r"the scenario has no path\.dsl"):
        overridden(SCENARIO, {"path.dsl.delay": "1ms"})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("path.dsl.delay", "path.dsl.delay: the scenario has no path.dsl; known: wifi, lte"),
        ("path.delay", "path.delay: not the key of a table; a list needs a name"),
        ("cc.x", "cc.x: the scenario has no cc"),
    ],
)
def test_a_key_that_is_nowhere_is_told(key: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        filled(SCENARIO, {"rate": 5, key: 1})


def test_mistakes_in_a_file_are_told_together(tmp_path: Path) -> None:
    file = tmp_path / "space.toml"
    file.write_text(
        "[grid]\nx = {start = 1}\nY = [1]\n[design]\npoints = 0\nranges = {}\nseeds = 1\n"
    )
    with pytest.raises(InputError) as caught:
        toml_file.model_of(file, Space)
    text = str(caught.value)
    for expected in ("grid.x", "grid.Y", "design.points", "design.ranges", "did you mean"):
        assert expected in text, text


def test_of_several_workloads_one_applies() -> None:
    template = {
        "workload": [
            {"if": "load == 'bulk'", "duration": "{length}s"},
            {"if": "load != 'bulk'", "kind": "{load}"},
            {"if": "length > 9", "kind": "web"},
        ]
    }
    assert filled(template, {"load": "bulk", "length": 5}) == {"workload": {"duration": "5s"}}
    assert filled(template, {"load": "video", "length": 5}) == {"workload": {"kind": "video"}}
    with pytest.raises(FormulaError) as caught:
        filled(template, {"load": "bulk", "length": 10})
    assert str(caught.value) == (
        'workload: 2 of its tables apply where load = "bulk", length = 10; one is expected'
    )
