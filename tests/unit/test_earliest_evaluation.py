# SPDX-License-Identifier: GPL-2.0-only
"""The verdict on earliest: shares, and the scenarios that remain, from merits made by hand."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from checks import earliest_cases, earliest_evaluation
from mptcplab.leaderboard.standings import Played


def _played(number: int, merits: dict[str, float | None], **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "number": number,
        "is_goodput": True,
        "is_absolute": False,
        "levels": {},
        "text": f"scenario {number}",
        "unit": "bit/s",
        "figures": merits,
        "merits": merits,
        "tcp": None,
        "keys": {},
    }
    return asdict(Played(**(fields | more)))


def test_what_nobody_reaches_is_left_out_and_chance_is_counted() -> None:
    # of 4 beside TCP: in one nobody has 95 %, in one earliest is below with 2 of 3 seeds, and a
    # failed run is below, too; default is ahead in one of 5
    played = [
        _played(1, {"default": 10.0, "earliest": 90.0, "blest": 80.0}, tcp=100.0),
        _played(
            2,
            {"default": 10.0, "earliest": 94.0, "blest": 95.0},
            tcp=100.0,
            further={"earliest": [96.0, 50.0]},
        ),
        _played(3, {"default": 10.0, "earliest": 95.0, "blest": 10.0}, tcp=100.0),
        _played(4, {"default": 10.0, "earliest": None, "blest": 99.0}, tcp=100.0),
        _played(
            5, {"default": 0.5, "earliest": 0.44, "blest": 0.5}, is_absolute=True, is_goodput=False
        ),
    ]
    document = {
        "set": 7,
        "played": played,
        "catalogue": ["default", "earliest", "blest"],
        "build": {"kernel": "cafe"},
    }
    text = earliest_evaluation.text(document)
    assert text.startswith("Set 7: 5 scenarios; 3 of them are bulk data")
    (row,) = (line for line in text.splitlines() if line.startswith("| `earliest`"))
    shares = [cell.split()[0] for cell in row.split("|")[2:5]]
    # a share in time that is 6 points lower is 1.06 times the delay
    assert shares == ["66.7", "40.0", "1.06"]
    _, table = text.split("seeds below |")
    assert table.splitlines()[2:] == [
        "| 2 | TCP | 94 | 2 of 3 | scenario 2 |",
        "| 4 | `default` | 0 | 1 of 1 | scenario 4 |",
        "| 4 | TCP | 0 | 1 of 1 | scenario 4 |",
        "| 5 | `default` | 94 | 1 of 1 | scenario 5 |",
    ]


def test_a_case_is_below_by_its_median_where_some_scheduler_is_not() -> None:
    def case(name: str, ours: list[float | None], **more: Any) -> earliest_cases.Compared:
        merits: dict[str, list[float | None]] = {
            "earliest": ours,
            "default": [100.0] * 3,
            "redundant": [50.0] * 3,
        }
        by_seed = {own: dict(enumerate(values)) for own, values in merits.items()}
        tcp = dict(enumerate(more.get("tcp", [100.0] * 3)))
        return earliest_cases.compared_figures(name, "goodput", by_seed, tcp, is_absolute=False)

    # one of three seeds is below; two are, one of them failed; nobody reaches TCP; TCP has no run
    found = [
        case("a", [94.0, 96.0, 97.0]),
        case("b", [None, 90.0, 97.0]),
        case("c", [96.0] * 3, tcp=[200.0] * 3),
        case("d", [96.0] * 3, tcp=[None] * 3),
    ]
    text = earliest_cases.text(found, 9, "cafe")
    assert text.startswith("4 of 9 cases of the other half")
    assert [line for line in text.splitlines() if line.startswith("| `")] == [
        "| `a` | goodput | 96 | 1 of 3 | 96 | 1 of 3 |",
        "| `b` | goodput | 90 | 2 of 3 | 90 | 2 of 3 |",
        "| `c` | goodput | 48 | 3 of 3 | 96 | 0 of 3 |",
        "| `d` | goodput | - | - | 96 | 0 of 3 |",
    ]
    assert "of TCP over the best path: 1 of 2, 50.0 % (9.5..90.5)" in text
    assert "of `default`: 1 of 4, 25.0 % (4.6..69.9)" in text
