# SPDX-License-Identifier: GPL-2.0-only
"""Imports point one way: the layers of ARCHITECTURE.md, read from there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "mptcplab"
MODULES = sorted(f.stem for f in PACKAGE.glob("*.py") if not f.stem.startswith("__"))


def layers() -> list[list[str]]:
    """The rows of the table under "Layers", the highest first."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text[text.index("## Layers") : text.index("## Layout")]
    return [re.findall(r"`(\w+)`", row) for row in section.splitlines() if row.startswith("|")][2:]


def imported(module: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "mptcplab":
                found.update(alias.name for alias in node.names)
            elif node.module.startswith("mptcplab."):
                found.add(node.module.removeprefix("mptcplab."))
    return found & set(MODULES)


def test_every_module_is_in_the_table_once() -> None:
    assert sorted(name for row in layers() for name in row) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_from_its_own_layer_and_below(module: str) -> None:
    depth = {name: row for row, names in enumerate(layers()) for name in names}
    assert [name for name in imported(module) if depth[name] < depth[module]] == []


def test_no_module_imports_in_a_circle() -> None:
    below = {module: imported(module) for module in MODULES}
    while below:
        free = [module for module, names in below.items() if not names & set(below)]
        assert free, f"a circle among {sorted(below)}"
        for module in free:
            del below[module]
