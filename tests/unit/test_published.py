# SPDX-License-Identifier: GPL-2.0-only
"""Published and ours (CONTRIBUTING.md): each difference to the source has its switch.

What the head comment of a C file lists as differences is what its page has in a table, and every
switch that they name is one of its parameters, or "always".
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab import resources

ROOT = Path(__file__).parents[2]
FILES = [
    *((file, "schedulers") for file in sorted((resources.KERNEL / "mptcp/sched").glob("*.c"))),
    *((file, "congestion") for file in sorted(resources.CONGESTION_CONTROLS.glob("*.c"))),
]
ALWAYS = "always"
COLUMNS = ["the source", "here", "what it changes", "switch"]


def parameters(source: str) -> set[str]:
    return set(re.findall(r'\bMPS_(?:BOOL|UINT)\(\s*"(\w+)"', source))


def of_the_head(source: str) -> list[str]:
    """The switches that the head comment names, one for each difference."""
    head = source[: source.index("*/")]
    found = re.search(r"^ \* Differs from the source: in nothing\.$", head, re.MULTILINE)
    if found:
        return []
    _, heading, rest = head.partition("\n * Differs from the source:\n")
    assert heading, 'the head comment has no "Differs from the source:" with a list'
    items, *_ = rest.partition("\n *\n")
    names = re.findall(r"^ \* - ([a-z0-9_]+): ", items, re.MULTILINE)
    assert len(names) == len(re.findall(r"^ \* - ", items, re.MULTILINE)), "each item has a name"
    assert names
    return names


def of_the_page(page: str) -> list[str]:
    """The switches that the page's table names, one for each row."""
    found = re.search(r"^## Differences to the source\n+(.*?)(?=^## |\Z)", page, re.DOTALL | re.M)
    assert found, "the page has no section on the differences"
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        for line in found[1].splitlines()
        if line.startswith("|")
    ]
    if not rows:
        assert found[1].startswith("None"), "neither a table, nor None"
        return []
    assert [cell.strip() for cell in rows[0]] == COLUMNS
    for row in rows[2:]:
        assert len(row) == len(COLUMNS), row
        assert all(row), f"an empty cell: {row}"
        assert row[-1] == ALWAYS or re.fullmatch(r"`\w+`", row[-1]), row[-1]
    return [row[-1].strip("`") for row in rows[2:]]


def check(file: Path, folder: str) -> None:
    source = file.read_text(encoding="utf-8")
    page = (ROOT / "docs" / folder / f"{file.stem}.md").read_text(encoding="utf-8")
    head = of_the_head(source)
    assert set(head) <= parameters(source) | {ALWAYS}
    assert sorted(head) == sorted(of_the_page(page))


@pytest.mark.parametrize(("file", "folder"), FILES, ids=[file.stem for file, _ in FILES])
def test_each_difference_has_its_switch(file: Path, folder: str) -> None:
    check(file, folder)


HEAD = """\
/* mine: ours
 *
 * Differs from the source:
 * - all_at_once: the source sends one. On,
 *   all.
 * - always: the source stalls.
 *
 * And more.
 */
"""
PAGE = """\
## Differences to the source

| the source | here | what it changes | switch |
|---|---|---|---|
| one | all | 1 -> 2 Mbit/s | `all_at_once` |
| stalls | goes on | it ends | always |

## Measured
"""


def test_what_is_read() -> None:
    assert of_the_head(HEAD) == ["all_at_once", "always"]
    assert of_the_page(PAGE) == ["all_at_once", "always"]
    assert of_the_head("/* x\n *\n * Differs from the source: in nothing.\n */") == []
    assert of_the_page("## Differences to the source\n\nNone.\n") == []
    assert parameters('MPS_BOOL("a", 0, "b"), MPS_UINT(\n"c", 1, 2') == {"a", "c"}


@pytest.mark.parametrize(
    ("old", "new"), [(" * - always: the", " * - the"), ("Differs from the source:\n", "Differs:\n")]
)
def test_a_head_that_is_not_right(old: str, new: str) -> None:
    assert old in HEAD
    with pytest.raises(AssertionError):
        of_the_head(HEAD.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| here ", ""),
        ("| 1 -> 2 Mbit/s |", "|  |"),
        ("`all_at_once`", "all_at_once"),
        ("## Differences to the source", "## Differences"),
        ("|", "/"),
    ],
)
def test_a_table_that_is_not_right(old: str, new: str) -> None:
    assert old in PAGE
    with pytest.raises(AssertionError):
        of_the_page(PAGE.replace(old, new))
