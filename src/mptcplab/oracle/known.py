# SPDX-License-Identifier: GPL-2.0-only
"""Where a scheduler of ours is known to differ from its source, and why: docs/oracle.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mptcplab.oracle.state import Answer, Question

#: Is it this difference, given the question, the source's answer and the kernel's?
Applies = Callable[[Question, Answer, Answer], bool]


@dataclass(frozen=True)
class Known:
    """A difference, and what is said of it."""

    reason: str
    applies: Applies


#: By the name of the scheduler; "" is for all.
KNOWN: Mapping[str, list[Known]] = {}


def reason_of(
    known: Mapping[str, list[Known]], question: Question, source: Answer, kernel: Answer
) -> str | None:
    """The reason of the first listed difference that it is; None: it is not listed."""
    for each in (*known.get(question.scheduler, []), *known.get("", [])):
        if each.applies(question, source, kernel):
            return each.reason
    return None
