# SPDX-License-Identifier: GPL-2.0-only
"""Pages in Markdown: made from a template, or only the text between two marks of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mptcplab.errors import MptcplabError


def rendered(template: Path, filters: Mapping[str, Any] | None = None, **names: Any) -> str:
    """A page in Markdown, in which nothing is escaped, from its Jinja template."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= filters or {}
    return environment.get_template(template.name).render(names)


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
