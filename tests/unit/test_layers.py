# SPDX-License-Identifier: GPL-2.0-only
"""Imports point one way: the layers of ARCHITECTURE.md, in the order in which they stand there, and
the headers of the guest program."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mptcplab import resources

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "mptcplab"
#: The checks lie beside the package; in the table they are its highest layer.
CHECKS = ROOT / "checks"
#: Modules by name, such as `cli` and `runs.store`; `__init__.py` and `__main__.py` are none.
MODULES = {
    ".".join(file.relative_to(place).with_suffix("").parts): file
    for place, folder in ((PACKAGE, PACKAGE), (ROOT, CHECKS))
    for file in sorted(folder.rglob("*.py"))
    if not file.stem.startswith("__")
}


def layers() -> list[str]:
    """The packages and lone modules of the table under "Layers", the highest first."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text[text.index("## Layers") : text.index("## Layout")]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def layer(module: str) -> str:
    return module.split(".")[0]


def imported(module: str) -> set[str]:
    """The modules that one imports, at its head or anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {name.removeprefix("mptcplab.") for name in found} & set(MODULES)


def test_every_package_is_in_the_table_once_and_no_module_imports_in_a_circle() -> None:
    assert sorted(layers()) == sorted({layer(module) for module in MODULES})
    assert_no_circle({module: imported(module) for module in MODULES})


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_from_its_own_package_and_below(module: str) -> None:
    order = layers()
    depth = order.index(layer(module))
    assert [name for name in imported(module) if order.index(layer(name)) < depth] == []


def assert_no_circle(below: dict[str, set[str]]) -> None:
    while below:
        free = [module for module, names in below.items() if not names & set(below)]
        assert free, f"a circle among {sorted(below)}"
        for module in free:
            del below[module]


#: The guest program's files by what they are for, such as `ip`: `ip.c` and `ip.h`.
GUEST = {
    stem: "".join(file.read_text() for file in resources.GUEST.glob(f"{stem}.[ch]"))
    for stem in sorted({file.stem for file in resources.GUEST.glob("*.[ch]")})
}
#: A function that other files can call, where it begins to be defined.
DEFINED = re.compile(r"^(?!static|struct \w+ \{)[a-z][\w ]*[ *](\w+)\([^;{}]*\)\n\{", re.MULTILINE)


def test_no_file_of_the_guest_includes_in_a_circle() -> None:
    below = {
        stem: (set(re.findall(r'#include "(\w+)\.h"', text)) & GUEST.keys()) - {stem}
        for stem, text in GUEST.items()
    }
    assert below["init"] > {"base", "traffic", "program"}
    assert_no_circle(below)


@pytest.mark.parametrize("source", sorted(resources.GUEST.glob("*.c")), ids=lambda file: file.stem)
def test_what_a_file_of_the_guest_offers_is_in_its_own_header(source: Path) -> None:
    defined = set(DEFINED.findall(source.read_text()))
    assert defined == {"main"} if source.stem == "init" else defined
    for header in resources.GUEST.glob("*.h"):
        code = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        declared = set(re.findall(r"(\w+)\(", code))
        assert defined & declared == (defined if header.stem == source.stem else set()), header
