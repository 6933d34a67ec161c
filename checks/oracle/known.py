# SPDX-License-Identifier: GPL-2.0-only
"""Where a scheduler of ours is known to differ from its source, and why: docs/oracle.md."""

from __future__ import annotations

from checks.oracle.state import NEW, WAIT, Answer, Question

_NAGLE = "a short last segment waits for more data (Nagle), which the source leaves to the core"


def known_reason(question: Question, source: Answer, kernel: Answer) -> str:
    """Why the kernel is known to answer otherwise than the source does; "" if it is not."""
    head = question.head
    if question.scheduler not in ("inorder", "sttf", "earliest") or not head:
        return ""
    end = max(head.seq + question.unsent_bytes, question.nxt_seq)
    is_short_last = source.seq != head.seq and source.seq + question.segment_bytes > end
    return _NAGLE if is_short_last and source.what == NEW and kernel.what == WAIT else ""
