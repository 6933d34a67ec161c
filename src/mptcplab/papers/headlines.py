# SPDX-License-Identifier: GPL-2.0-only
"""The headlines of papers: sentences of paper.toml whose figures come from the runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.formulas.formula import Formula, FormulaError
from mptcplab.papers.catalogue import Headline
from mptcplab.papers.markdown_page import Section
from mptcplab.papers.samples import Scope
from mptcplab.papers.wording import number, verdict, with_unit

#: More would not be headlines.
MOST = 10

_FIGURE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Filled:
    """A headline with its figures filled in; `why` says why it cannot be shown, if so."""

    headline: Headline
    text: str = ""
    why: str = ""


def filled(sections: Sequence[Section]) -> Iterator[Filled]:
    """The headlines of a paper, given all its experiments."""
    by_figure = {section.figure: section for section in sections}
    for headline in sections[0].published.paper.headline:
        try:
            texts = dict(_figures(headline, by_figure))
            unknown = {*_FIGURE.findall(headline.says)} - texts.keys()
            if unknown:
                raise FormulaError(f"no figure {', '.join(sorted(unknown))}")
            text = headline.says
            for name, figure in texts.items():
                text = text.replace(f"{{{name}}}", figure)
            yield Filled(headline, text + _behind(headline, by_figure))
        except FormulaError as error:
            yield Filled(headline, why=str(error))


def _figures(headline: Headline, by_figure: Mapping[str, Section]) -> Iterator[tuple[str, str]]:
    for name, figure in headline.figures.items():
        section = by_figure.get(figure.of)
        if section is None:
            raise FormulaError(f"{name}: no experiment {figure.of}")
        if section.found is None:
            raise FormulaError(f"{name}: {section.published.name} has not been run")
        found = section.found
        scope = Scope({part: ran.results for part, ran in found.ran.items()}, found.part)
        value: Any = Formula(figure.value).value(scope.names, scope.functions)
        yield name, with_unit(number(value, 3), figure.unit)


def _behind(headline: Headline, by_figure: Mapping[str, Section]) -> str:
    """The verdict on the claim, with a link to it."""
    if not headline.claim:
        return ""
    figure, _, name = headline.claim.partition(":")
    section = by_figure.get(figure)
    for found, judged, _ in section.claims() if section else ():
        if found.name == name and section is not None and judged is not None:
            paper = section.published.name.split("/")[0]
            return f" [{verdict(judged)}]({paper}.md#{section.anchor(found)})"
    raise FormulaError(f"no judged claim {headline.claim}")
