# SPDX-License-Identifier: GPL-2.0-only
"""Presets of paths, from presets.toml: their numbers, and the source of each number.

A preset is a table that the user could have written under [[path]], and is read in the same way.
`python -m checks.keys` writes them into docs/presets.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.scenario.limits import DIRECTIONS

#: The traces of presets that vary.
FOLDER = Path(__file__).parents[1] / "traces" / "presets"
NO_SOURCE = "typical, no source"
#: The numbers of each direction.
KEYS = ("rate", "delay", "loss", "queue")


@dataclass(frozen=True)
class Source:
    """A publication: its title, and where it can be read."""

    title: str
    address: str


@dataclass(frozen=True)
class Preset:
    """A path of one kind of link: its table, and by key the reason for each number in it.

    `ranges` has the lowest and highest value of its traces, by key.
    """

    name: str
    summary: str
    path: Mapping[str, Any]
    reasons: Mapping[str, str]
    ranges: Mapping[str, str]

    def numbers(self) -> dict[str, str]:
        """Every number of the table by its key; numbers of the path appear for each direction."""
        found = {}
        for direction in DIRECTIONS:
            for key in KEYS:
                value = self.path[direction].get(key, self.path.get(key))
                value = self.ranges.get(f"{direction}.{key}", value)
                if value is not None:
                    found[f"{direction}.{key}"] = str(value)
        return found

    def sources(self) -> list[str]:
        """The labels of the sources of its numbers, in the order of `SOURCES`."""
        text = " ".join(self.reasons.values())
        return [label for label in SOURCES if f"[{label}]" in text]


def _preset(table: dict[str, Any]) -> Preset:
    path = table["path"]
    for direction in DIRECTIONS:
        if trace := path[direction].get("trace"):
            trace["file"] = str(FOLDER / trace["file"])
    of_keys = (_by_direction(table.get(name, {})) for name in ("reasons", "ranges"))
    return Preset(table["name"], table["summary"], path, *of_keys)


def _by_direction(table: Mapping[str, Any]) -> dict[str, str]:
    """Texts by DIRECTION.KEY; one of a KEY alone holds for both directions."""
    return {
        f"{direction}.{key}": text
        for direction in DIRECTIONS
        for key, text in {**table, **table.get(direction, {})}.items()
        if key in KEYS
    }


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SOURCES: Mapping[str, Source] = {
    label: Source(**table) for label, table in _DATA["sources"].items()
}
PRESETS: Mapping[str, Preset] = {table["name"]: _preset(table) for table in _DATA["preset"]}
