# SPDX-License-Identifier: GPL-2.0-only
"""Is the English of the pages plain? `make lint` checks the pages that prose.toml lists.

`python -m checks.prose [PAGE...]` finds the phrases of prose.toml and long sentences, and has
status 1 if it finds any. It reads paragraphs, lists, tables and headings. It skips code, comments,
quotations and generated regions (`<!-- begin: ... -->` to `<!-- end: ... -->`).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
#: Stands for a piece of code or a quotation, which is one word of its sentence.
PIECE = "PIECE"
#: A sentence ends before a space and the beginning of another one, or at a colon or semicolon.
_SENTENCE = re.compile(r"(?<=[.?!])[)*_]*\s+(?=[\W_]*[A-Z0-9])|(?<=[:;])\s+")
#: Units count as words, but numbers and letters of formulas do not.
_WORD = re.compile(r"\b(?:a|[^\W\d_][\w'/-]+)", re.IGNORECASE)
_QUOTATION = re.compile(r'"[^"\n]*(\n[^"]*)?"')
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|vs)\.(?=\s)")


@dataclass(frozen=True)
class Phrase:
    """A phrase to avoid: the pattern that finds it, and the advice."""

    pattern: re.Pattern[str]
    advice: str


@dataclass(frozen=True)
class Rules:
    """The content of prose.toml: patterns of paths, the limit of a sentence, and phrases."""

    pages: list[str]
    words: int
    phrases: list[Phrase]

    @classmethod
    def read(cls, file: Path = LIST) -> Rules:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        phrases = [Phrase(re.compile(x["pattern"]), x["advice"]) for x in data["phrase"]]
        return cls(data["pages"], data["words"], phrases)

    def files(self, root: Path = ROOT) -> list[Path]:
        found = {pattern: set(root.glob(pattern)) for pattern in self.pages}
        for pattern, files in found.items():
            if not files:
                raise FileNotFoundError(f"{LIST.name}: no page {pattern}")
        return sorted(set().union(*found.values()))


def passages(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, headings and cells of a page, each with the number of its first line."""
    generated, line = False, 1
    for token in MarkdownIt().enable("table").parse(text):
        if token.map:
            line = token.map[0] + 1
        if token.type == "html_block":
            generated = "<!-- begin:" in token.content or (
                generated and "<!-- end:" not in token.content
            )
        elif token.type == "inline" and not generated:
            yield line, "".join(_words(each) for each in token.children or [])


def _words(token: Token) -> str:
    match token.type:
        case "text":
            return token.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return PIECE
        case "link_open":  # the text may be the title of a page
            return "["
    return ""


def _quoted(quotation: re.Match[str]) -> str:
    """A quotation has somebody else's words, or names a phrase. Lines keep their numbers."""
    return PIECE + "\n" * quotation[0].count("\n")


def mistakes(text: str, rules: Rules) -> Iterator[tuple[int, str]]:
    """The mistakes of a page, each with its line and the advice."""
    for line, passage in passages(text):
        begin = 0
        passage = _ABBREVIATION.sub(r"\1", _QUOTATION.sub(_quoted, passage))
        for end in (*(x.end() for x in _SENTENCE.finditer(passage)), len(passage)):
            sentence, at = passage[begin:end], line + passage.count("\n", 0, begin)
            begin = end
            count = len(_WORD.findall(sentence))
            if count > rules.words:
                yield at, f"a sentence of {count} words, at most {rules.words}"
            for phrase in rules.phrases:
                if found := phrase.pattern.search(sentence):
                    place = at + sentence.count("\n", 0, found.start())
                    yield place, f'"{" ".join(found[0].split())}": {phrase.advice}'


def main(names: list[str]) -> int:
    rules, count = Rules.read(), 0
    for file in [Path(name).resolve() for name in names] or rules.files():
        for line, why in mistakes(file.read_text(encoding="utf-8"), rules):
            print(f"{file.relative_to(ROOT)}:{line}: {why}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
