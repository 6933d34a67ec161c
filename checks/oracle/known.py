# SPDX-License-Identifier: GPL-2.0-only
"""Where a scheduler of ours is known to differ from its source, and why: docs/oracle.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from checks.oracle.state import NEW, WAIT, Answer, Question

#: Is it this difference, given the question, the source's answer and the kernel's?
Applies = Callable[[Question, Answer, Answer], bool]


@dataclass(frozen=True)
class Known:
    """A difference, and what is said of it."""

    reason: str
    applies: Applies


def _is_short_last(question: Question, source: Answer) -> bool:
    head = question.head
    if not head or source.what != NEW:
        return False
    end = max(head.seq + question.unsent_bytes, question.nxt_seq)
    return source.seq != head.seq and source.seq + question.segment_bytes > end


_NAGLE = Known(
    "a short last segment waits for more data (Nagle), which the source leaves to the core",
    lambda question, source, kernel: kernel.what == WAIT and _is_short_last(question, source),
)

#: By the name of the scheduler.
KNOWN: Mapping[str, list[Known]] = {"inorder": [_NAGLE], "sttf": [_NAGLE]}


def reason_of(
    known: Mapping[str, list[Known]], question: Question, source: Answer, kernel: Answer
) -> str | None:
    """The reason of the first listed difference that it is; None: it is not listed."""
    for each in known.get(question.scheduler, []):
        if each.applies(question, source, kernel):
            return each.reason
    return None
