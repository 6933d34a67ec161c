# SPDX-License-Identifier: GPL-2.0-only
"""The pages of the schedulers say what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.scenario import scheduler

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "schedulers"
SECTIONS = ["What it does", "Source", "Parameters", "Where it works", "Where it fails", "Measured"]


def in_the_table_of(file: Path) -> list[str]:
    """The schedulers that a page's tables have in their first column, as links to their pages."""
    links = re.findall(r"^\| \[`?([a-z0-9_]+)`?\]\(([^)]+)\) \|", file.read_text(), re.MULTILINE)
    pages = [(name, (file.parent / target).resolve()) for name, target in links]
    found = [(name, page) for name, page in pages if page.parent == PAGES]
    for name, page in found:
        assert page == PAGES / f"{name}.md"
    return [name for name, _ in found]


def test_readme_and_tables_have_each_scheduler_once() -> None:
    names = sorted(kernel.schedulers())
    assert sorted(in_the_table_of(PAGES / "README.md")) == names
    _, _, measured = (PAGES / "README.md").read_text().partition("## Side by side")
    assert sorted(re.findall(r"^\| `([a-z0-9_]+)` \|", measured, re.MULTILINE)) == names
    _, _, rest = (ROOT / "README.md").read_text().partition("\n## Schedulers\n")
    section, _, _ = rest.partition("\n## ")
    links = re.findall(r"\[`(\w+)`\]\(docs/schedulers/(\w+)\.md\)", section)
    assert sorted(links) == [(name, name) for name in names]


@pytest.mark.parametrize("name", kernel.schedulers())
def test_a_page_has_its_sections_and_every_parameter(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    assert page.startswith(f"# {name}\n")
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [section for section in sections if section in SECTIONS] == SECTIONS
    for parameter in scheduler.known()[name].parameters:
        # a row of the table, of shareN for share1 to share8
        numbered = name in ("weighted", "overflow")
        written = re.sub(r"[1-8]", "N", parameter.name) if numbered else parameter.name
        row = re.search(rf"^\| `{written}` \| ([^|]*) \| ([^|]*) \|", page, re.MULTILINE)
        assert row, f"{name}: {parameter.name} is not on its page"
        accepted, default = row.groups()
        if parameter.kind == "bool":
            assert accepted == "on, off"
        else:
            assert accepted.startswith(f"{parameter.minimum} to {parameter.maximum}")
        assert default == parameter.text(parameter.default)
