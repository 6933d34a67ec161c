# SPDX-License-Identifier: GPL-2.0-only
"""Words that pages, summaries and the terminal share: of figures and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mptcplab.papers.catalogue import ClaimFigure, Metric
from mptcplab.papers.claims import ClaimOutcome, Judged, Verdict
from mptcplab.units import counted

#: The verdict on a claim without runs.
NOT_RUN = "not run"

_DIGITS = 4
# Whether a claim with this verdict holds, if it says so.
_SIDES = {Verdict.REPRODUCED: True, Verdict.DIRECTION: True, Verdict.CONTRADICTED: False}


@dataclass(frozen=True)
class Quantity:
    """A figure of a claim in words: what it is, the paper's value, and ours, with its interval."""

    says: str
    paper: str
    ours: str


def number(value: Any, digits: int = _DIGITS) -> str:
    """A figure with some significant digits; anything else as it is."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(number(each, digits) for each in value) or "none"
    if not isinstance(value, int | float):
        return str(value)
    if value and abs(value) < 10 ** (digits - 1):
        places = digits - 1 - int(np.floor(np.log10(abs(value))))
        return f"{value:.{min(places, digits)}f}".rstrip("0").rstrip(".") or "0"
    return f"{value:.0f}"


def ranged(value: Any, interval: Any) -> str:
    """A figure, or a list of them, with the interval of each that has one with a width."""
    if isinstance(value, list | tuple):
        intervals = interval if interval is not None else [None] * len(value)
        return ", ".join(map(ranged, value, intervals)) or number(value)
    if interval is None:
        return number(value)
    low, high = map(number, interval)
    return number(value) if low == high else f"{number(value)} ({low} to {high})"


def with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit and text != "-" else text


def on(kernel: str) -> str:
    """Behind the name of a part, the kernel that ran it if it is not the lab's."""
    return f" on {kernel}" if kernel else ""


def title(metric: Metric) -> str:
    return f"{metric.title}, {metric.unit}" if metric.unit else metric.title


def at(point: Mapping[str, Any], axes: Mapping[str, str]) -> str:
    """Where in an experiment something is: "minrtt, queue, packets: 300"."""
    return "; ".join(
        str(value) if name == "scheduler" else f"{axes.get(name, name)}: {value}"
        for name, value in point.items()
    )


def quantity(name: str, figure: ClaimFigure, outcome: ClaimOutcome) -> Quantity:
    paper = number(figure.paper)
    if paper[-1:].isdigit():  # not "most of them"
        paper = with_unit(paper, figure.unit)
    ours = "-"
    if name in outcome.ours:
        text = ranged(outcome.ours[name], outcome.intervals.get(name))
        ours = with_unit(text, figure.unit)
    return Quantity(figure.says or name, paper, ours)


def evidence(judged: Judged, theirs: str = "paper") -> Iterator[str]:
    """The figures of a claim, a line for each; `theirs` is the word for the other value."""
    for name, figure in judged.claim.figures.items():
        each = quantity(name, figure, judged)
        yield f"{each.says}: {each.ours}" + (
            f"; {theirs}: {each.paper}" if each.paper != "-" else ""
        )


def probability(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def how_sure(outcome: ClaimOutcome) -> str:
    """In how many resamples of how many samples a claim holds; "" if these do not judge it."""
    if outcome.p_holds is None or (isinstance(outcome, Judged) and outcome.draws):
        return ""
    text = f"holds in {_share(outcome.p_holds)}"
    if outcome.p_direction is not None:
        text += f", its direction in {_share(outcome.p_direction)}"
    return f"{text} of the resamples of {counted(outcome.samples, 'sample')}"


def verdict(outcome: ClaimOutcome | None) -> str:
    """The verdict in words; None if there are no runs."""
    if outcome is None:
        return NOT_RUN
    provisional = isinstance(outcome, Judged) and outcome.provisional
    if outcome.unknown and outcome.verdict is not Verdict.NOT_TESTABLE:
        return "not known"
    return f"{outcome.verdict}{' (provisional)' if provisional else ''}"


def parting(ours: Judged | None, theirs: Judged | None, kernel: str) -> str:
    """Where a claim holds on one of two kernels alone, today's and that of this name; else ""."""
    sides = [None if each is None else _SIDES.get(each.verdict) for each in (ours, theirs)]
    if sides == [False, True]:
        return f"holds on {kernel}, not on today's"
    return f"holds on today's, not on {kernel}" if sides == [True, False] else ""


def reasons(judged: Judged) -> Iterator[str]:
    """Why the verdict is not a clearer one, as sentences."""
    yield from map(sentence, judged.reasons)
    if judged.provisional:
        yield sentence(f"not yet varied: {', '.join(judged.not_varied)}")


def counts(of: Mapping[Any, int]) -> str:
    """How many there are of each: "2 reproduced, 1 not run"."""
    return ", ".join(f"{count} {name}" for name, count in of.items() if count)


def sentence(text: str) -> str:
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def _share(value: float) -> str:
    return f"{100 * value:.1f}".rstrip("0").rstrip(".") + " %"
