# SPDX-License-Identifier: GPL-2.0-only
"""Pages of the docs in which a program writes the text between two marks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mptcplab.errors import MptcplabError


def replace(file: Path, texts: Mapping[str, str]) -> None:
    """Put each text, by the name of its marks, between `<!-- begin: NAME -->` and its end.

    Either all are put there or none. Raises MptcplabError if a mark is not there exactly once, or
    the page cannot be read or written.
    """
    try:
        page = file.read_text(encoding="utf-8")
        for name, text in texts.items():
            page = _between(file, page, name, text)
        file.write_text(page, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise MptcplabError(f"{file}: {reason}") from error


def _between(file: Path, page: str, name: str, text: str) -> str:
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    once = page.count(begin) == page.count(end) == 1
    if not once or page.index(begin) > page.index(end):
        expected = f"{begin} and {end} are expected, once each, in this order"
        raise MptcplabError(f"{file}: {expected}")
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{text}{end}{after}"
