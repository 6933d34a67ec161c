# SPDX-License-Identifier: GPL-2.0-only
"""The check of prose finds the phrases and sentences that it is for, where a person reads them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from checks import prose

PHRASES: list[dict[str, Any]] = tomllib.loads(prose.LIST.read_text())["phrase"]
TOLD = prose.Rules([], 30, [prose.Phrase(re.compile("told"), "advice")])
LONG = "Word" + 30 * " word"


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: str(phrase["wrong"]))
def test_a_phrase_is_found_in_its_example_alone(phrase: dict[str, Any]) -> None:
    one = prose.Rules([], 30, [prose.Phrase(re.compile(phrase["pattern"]), phrase["advice"])])
    ((line, why),) = prose.mistakes(f"# A page\n\nFirst this.\n{phrase['wrong']} Then that.\n", one)
    assert line == 4
    assert why.endswith(f": {phrase['advice']}")
    assert not list(prose.mistakes(phrase["right"] + "\n", prose.Rules.read()))


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("# Is told\n", [1]),
        ("- first\n- is\n  told\n", [3]),
        ("| a | b |\n|---|---|\n| c | told |\n", [3]),
        ("Is [told](told.md).\n", [1]),
        ("Is `told`, or\n[so](told.md).\n", []),
        ('He "was\ntold" so.\nIs told.\n', [3]),
        ("```\nis told\n```\n", []),
        ("<!-- told -->\n", []),
        ("<!-- begin: x -->\nIs told.\n\nIs told.\n<!-- end: x -->\n\nIs told.\n", [7]),
        (f"Short.\n{LONG}\n{LONG}.\n", [2]),
        (f"{LONG[:-5]}. {LONG[:-5]}.\n", []),
        (f"{LONG[:-5]}: {LONG[:-5]}; {LONG[:-5]}.\n", []),
        (f"`{LONG}` {LONG[:-10]}.\n", []),
        (f"{LONG[:-5]} 1,460 + 2 = 1,462, n = 3.\n", []),
    ],
)
def test_prose_is_read_and_nothing_else(page: str, lines: list[int]) -> None:
    assert [line for line, _ in prose.mistakes(page, TOLD)] == lines


@pytest.mark.parametrize(
    "text",
    ["What does a run cost?", "## What a run costs", "[What a run costs](costs.md) has figures."],
)
def test_a_question_and_a_title_may_begin_with_what(text: str) -> None:
    assert not list(prose.mistakes(f"{text}\n", prose.Rules.read()))


def test_a_page_that_is_gone_is_no_clean_page(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no page gone\.md"):
        prose.Rules(["gone.md"], 30, []).files(tmp_path)


def test_a_mistake_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("It is good.\n")
    assert prose.main([str(tmp_path / "page.md")]) == 0
    (tmp_path / "page.md").write_text("It is told.\n")
    assert prose.main([str(tmp_path / "page.md")]) == 1
    assert capsys.readouterr().out == 'page.md:1: "told": name who reports, prints or lists it\n'
