# SPDX-License-Identifier: GPL-2.0-only
"""Where a scheduler of ours is known to differ from its source, and why: docs/oracle.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from checks.oracle.state import NEW, WAIT, Answer, Question


@dataclass(frozen=True)
class Known:
    """A difference: what is said of it, and whether a question and the answers to it, the source's
    and the kernel's, are one.
    """

    reason: str
    applies: Callable[[Question, Answer, Answer], bool]


def _is_short_last(question: Question, source: Answer) -> bool:
    head = question.head
    if not head or source.what != NEW:
        return False
    end = max(head.seq + question.unsent_bytes, question.nxt_seq)
    return source.seq != head.seq and source.seq + question.segment_bytes > end


#: By the name of the scheduler.
KNOWN: Mapping[str, Known] = dict.fromkeys(
    ("inorder", "sttf"),
    Known(
        "a short last segment waits for more data (Nagle), which the source leaves to the core",
        lambda question, source, kernel: kernel.what == WAIT and _is_short_last(question, source),
    ),
)
