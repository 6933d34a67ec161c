# SPDX-License-Identifier: GPL-2.0-only
"""The verdict on earliest: shares, and the scenarios that remain, from merits made by hand."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from checks import earliest_evaluation
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
