# SPDX-License-Identifier: GPL-2.0-only
"""The links of README.md and docs/, as a code forge takes them, lead somewhere."""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def inner(page: Path) -> list[Token]:
    """All that stands in the paragraphs, headings and tables of a page."""
    blocks = MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))
    return [token for block in blocks for token in block.children or []]


@functools.cache
def anchors(page: Path) -> set[str]:
    """The anchors that a code forge gives to headings, and those that a page sets itself."""
    text = page.read_text(encoding="utf-8")
    tokens = MarkdownIt().enable("table").parse(text)
    found = set(re.findall(r'<a name="([^"]+)">', text))
    for opened, heading in itertools.pairwise(tokens):
        if opened.type == "heading_open":
            words = "".join(each.content for each in heading.children or [])
            name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            later = (f"{name}-{count}" for count in range(1, 1000))
            found.add(name if name not in found else next(n for n in later if n not in found))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    links = [str(token.attrs.get("href", token.attrs.get("src", ""))) for token in inner(page)]
    for link in links:
        url = urlsplit(link)
        if not link or url.scheme:
            continue
        target = page.parent / unquote(url.path) if url.path else page
        assert target.exists(), link
        if url.fragment and target.suffix == ".md":
            assert url.fragment in anchors(target), link


def test_anchors_are_those_of_a_code_forge(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('# `mptcplab run`, at 5 %\n\n## Twice\n\n## Twice\n\n<a name="own"></a>\n')
    assert anchors(page) == {"mptcplab-run-at-5-", "twice", "twice-1", "own"}
