# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of the kernel's scheduler beside those of the model of its source."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from checks.oracle.known import known_reason
from checks.oracle.models import model_of, params_of
from checks.oracle.originals import ORIGINALS, Original, Room
from checks.oracle.state import NEW, WAIT, Answer, Asked, Question, Segment, read
from checks.oracle.v09x import Model
from mptcplab.lab import out_of_tree


@dataclass(frozen=True)
class Disagreement:
    """A decision on which kernel and source differ; `run` is the command of its run."""

    question: Question
    kernel: Answer
    source: Answer
    why: str
    run: str | None = None

    def __str__(self) -> str:
        asked = self.question
        lines = [
            f"at {asked.time_ns / 1e9:.6f} s, connection {asked.connection}: the kernel's answer "
            f"is {self.kernel}, the source's {self.source}" + (f" ({self.why})" if self.why else "")
        ]
        lines.append(
            f"  una {asked.una_seq}, nxt {asked.nxt_seq}, window to {asked.window_end_seq}, unsent "
            f"{asked.unsent_bytes}, head {_text(asked.head)}, oldest {_text(asked.oldest)}, "
            f"reinjection {_text(asked.reinjection)}"
            + (", writer waits" if asked.writer_waits else "")
            + (", send buffer full" if asked.sndbuf_full else "")
        )
        for each in asked.subflows:
            words = [word for word in ("usable", "backup") if getattr(each, word)]
            lines.append(
                f"  subflow {each.id}: {' '.join(words) or 'unusable'}, state {each.ca_state}, "
                f"srtt {each.srtt_8us / 8:.3f} us, rttvar {each.rttvar_4us / 4:.2f} us, cwnd "
                f"{each.cwnd}, ssthresh {each.ssthresh}, in flight {each.in_flight}, unsent "
                f"{each.unsent_bytes}, outstanding {each.outstanding_bytes}, window "
                f"{each.window_bytes}, mss {each.mss}"
            )
        return "\n".join(lines)


def _text(segment: Segment | None) -> str:
    if not segment:
        return "none"
    by = f" carried by {sorted(segment.carried)}" if segment.carried else ""
    return f"{segment.seq}+{segment.bytes}{by}"


@dataclass
class Agreement:
    """What came of runs of a scheduler. `listed`: disagreements by their reason, known beforehand.

    `forms`: of originals, how many decisions each form of the source took part in. `failures` say
    of runs why there was nothing to compare.
    """

    runs: int = 0
    decisions: int = 0
    agreed: int = 0
    ties: int = 0
    listed: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    differs: int = 0
    first: Disagreement | None = None
    failures: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> tuple[int, ...]:
        listed = sum(self.listed.values())
        return (self.runs, self.decisions, self.agreed, self.ties, listed, self.differs)

    def add(self, other: Agreement) -> None:
        first = self.first or other.first
        for name in vars(other).keys() - {"first"}:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first = first


def _judge(model: Model, asked: Asked, result: Agreement) -> None:
    """One decision. It is a tie if the model picks the same with times in whole us.

    That is what our schedulers see; of equal times they may take another subflow, so the list is
    then walked in the source's order and in that of creation.
    """
    question, kernel, _ = asked
    model.sent.forget(question.una_seq)
    source = model.choose(replace(question, subflows=list(question.subflows)))
    result.decisions += 1
    if _agree(model, asked, source):
        result.agreed += 1
    elif tied := _tied(model, asked):
        result.ties += 1
        model.__dict__.update(tied.__dict__)
    elif reason := known_reason(question, source, kernel):
        result.listed[reason] += 1
    else:
        result.differs += 1
        if not result.first:
            result.first = Disagreement(question, kernel, source, model.why())
    model.took(asked)
    if isinstance(model, Original):
        result.forms.update(model.forms)


def _agree(model: Model, asked: Asked, source: Answer) -> bool:
    if isinstance(model, Original):
        return model.agrees(asked, source)
    return _same(asked.question, source, asked.answer)


def _tied(model: Model, asked: Asked) -> Model | None:
    """The model as it is when it has picked the same with times in whole us, if it has."""
    if not model.metric:
        return None
    for newest_first in (True, False):
        other = copy.deepcopy(model)
        answer = other.choose(_in_us(asked.question, newest_first))
        if _same(asked.question, answer, asked.answer):
            return other
    return None


def _in_us(question: Question, newest_first: bool) -> Question:
    # half of the latest RTT is a whole number, too
    subflows = [
        replace(each, srtt_8us=each.srtt_8us & ~7, last_rtt_8us=each.last_rtt_8us >> 3)
        for each in question.subflows
    ]
    return replace(question, subflows=subflows, newest_first=newest_first, whole_us=True)


def _same(question: Question, one: Answer, other: Answer) -> bool:
    return _held(question, one) == _held(question, other)


def _held(question: Question, answer: Answer) -> Answer:
    """New data that the connection's window does not take does not leave: that is a wait.

    A source that does not look at the window leaves that to the core, and so do we.
    """
    head = question.head
    if answer.what != NEW or not head:
        return answer
    size = head.bytes if answer.seq == head.seq else question.segment_bytes
    return Answer(WAIT) if answer.seq + size > question.window_end_seq else answer


def judge_file(path: Path, scheduler: str, room: Room | None = None) -> Agreement:
    """Compares all decisions in a file of states with those of the model, with its parameters.

    With `room`, they are those of an original, in a kernel with this rule. Raises MptcplabError as
    `models.params_of` does, or `state.read`.
    """
    (name, model), params = model_of(scheduler), params_of(scheduler)
    result = Agreement(runs=1)
    models: dict[int, Model] = {}
    for each in read(path, out_of_tree.SCHEDULERS[name] if room else name):
        number = each.question.connection if isinstance(each, Asked) else each.connection
        if number not in models:
            models[number] = ORIGINALS[name](room) if room else model(params)
        if isinstance(each, Asked):
            _judge(models[number], each, result)
        else:
            models[number].done(each)
    return result
