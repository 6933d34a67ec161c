# SPDX-License-Identifier: GPL-2.0-only
"""weighted: shares, costs and caps of paths; cheapest pipe first; the steering modes of ATSSS.

There is no source for the whole. Its parts are:

- shares: deficits in bytes (Shreedhar and Varghese, SIGCOMM 1995), as what a path has carried
  divided by its share, in exact fractions;
- cheapest pipe first (`cost`, with `patience_ms` 0 and `fastest`): mpdccp_sched_cpf.c of Deutsche
  Telekom's MP-DCCP;
- the steering modes of ATSSS (3GPP TS 23.501, 5.32.8): active-standby (a share of 0), smallest
  delay (`fastest`), load-balancing (shares, with `strict`), priority-based (`cost`), and a
  threshold of the RTT.

What none of them says is from docs/schedulers/weighted.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from checks.oracle.state import (
    DUPLICATE,
    NEW,
    REINJECTION,
    WAIT,
    Answer,
    Done,
    Question,
    Segment,
    Subflow,
)
from checks.oracle.v09x import Model, available, fits_window, lowest_rtt

_PATHS = 8
_CATCH_UP_BYTES = 65_536
_MEASURE_NS = 100_000_000
_DEFAULTS = {"share": 1, "cost": 0, "cap": 0}


@dataclass
class Path:
    """What a path has carried in all, and for each part of its share: with what it has lost."""

    bytes: int = 0
    turn: Fraction = Fraction(0)
    sent_ns: int = 0


class Weighted(Model):
    knows = frozenset(
        {f"{name}{n}" for name in ("share", "cost") for n in range(1, _PATHS + 1)}
        | {f"cap{n}_mb" for n in range(1, _PATHS + 1)}
        | {"strict", "patience_ms", "fastest", "max_rtt_ms"}
    )

    def set_up(self) -> None:
        self.strict = bool(self.params.get("strict"))
        self.fastest = bool(self.params.get("fastest"))
        self.patience_ns = self.params.get("patience_ms", 100) * 1_000_000
        self.max_rtt_8us = self.params.get("max_rtt_ms", 0) * 8_000
        self.paths: dict[int, Path] = {}
        self.present: list[Subflow] = []
        #: since when data waits for the cheaper paths
        self.waits_ns: int | None = None

    def choose(self, question: Question) -> Answer:
        self._begin(question)
        answer = self._by_cost(question)
        return answer if answer.what != WAIT else self._measure(question)

    def done(self, done: Done) -> None:
        if done.what not in (NEW, REINJECTION, DUPLICATE):
            return
        path = self.paths[done.subflow]
        path.bytes += done.bytes
        before = path.turn
        path.turn += Fraction(done.bytes, self._share(done.subflow))
        path.sent_ns = done.time_ns
        for other in self.present:
            if other.id == done.subflow or (self.strict and other.usable):
                continue
            least = path.turn - Fraction(_CATCH_UP_BYTES, self._share(other.id))
            self._path(other).turn = max(self._path(other).turn, min(least, before))

    def why(self) -> str:
        turns = {number: float(path.turn) for number, path in self.paths.items()}
        return f"carried per share {turns}, data waits since {self.waits_ns}"

    def _path(self, subflow: Subflow) -> Path:
        return self.paths.setdefault(subflow.id, Path())

    def _begin(self, question: Question) -> None:
        """A new path begins where the farthest one is."""
        self.present = question.subflows
        for each in question.subflows:
            if each.usable and each.id not in self.paths:
                those = (self._path(other).turn for other in question.subflows if other is not each)
                self.paths[each.id] = Path(turn=max(those, default=Fraction(0)))

    # --- what a path is to the others

    def _param(self, name: str, number: int, unit: str = "") -> int:
        return self.params.get(f"{name}{min(number, _PATHS)}{unit}", _DEFAULTS[name])

    def _share(self, number: int) -> int:
        return max(self._param("share", number), 1)

    def _class(self, subflow: Subflow) -> int:
        """0 for those that carry the data, 1 for those held for need, 2 for backups"""
        if subflow.backup:
            return 2
        cap_bytes = self._param("cap", subflow.id, "_mb") * 1_000_000
        full = cap_bytes and self._path(subflow).bytes >= cap_bytes
        return 1 if full or not self._param("share", subflow.id) else 0

    def _exceeds(self, subflow: Subflow) -> bool:
        return bool(self.max_rtt_8us) and subflow.srtt_8us > self.max_rtt_8us

    def _cost(self, question: Question, subflow: Subflow) -> int:
        """Beyond its threshold, a path is as dear as the dearest, or dearer if none is dearer."""
        own = self._param("cost", subflow.id)
        if not self._exceeds(subflow):
            return own
        alike = [each for each in question.subflows if each.usable]
        alike = [each for each in alike if self._class(each) == self._class(subflow)]
        dearest = max((self._param("cost", each.id) for each in alike), default=own)
        return dearest if dearest > own else own + 1

    # --- the choice

    def _by_cost(self, question: Question) -> Answer:
        if again := question.reinjection:
            chosen = self._cheapest(question, again) or self._cheapest(question, None)
            if chosen:
                return Answer.reinjection(chosen, again)
        head = question.head
        if not head:
            self.waits_ns = None
            return Answer()
        chosen = self._cheapest(question, None)
        if not chosen and not fits_window(question, head, head.bytes):
            self.waits_ns = None
        elif not chosen:
            if self.waits_ns is None:
                self.waits_ns = question.time_ns
            if question.time_ns - self.waits_ns >= self.patience_ns:
                chosen = self._cheapest(question, None, at_any_cost=True)
        return Answer.new(chosen, head)

    def _cheapest(
        self, question: Question, segment: Segment | None, *, at_any_cost: bool = False
    ) -> Subflow | None:
        """The path for a segment, of those that have not carried it."""
        carried = segment.carried if segment else frozenset[int]()
        # of two that are equal, here the oldest comes first; another order is a tie
        order = question.subflows if question.newest_first else question.subflows[::-1]
        able = [each for each in order if each.usable and each.id not in carried]
        ranks = {each.id: (self._class(each), self._cost(question, each)) for each in able}
        able.sort(key=lambda each: ranks[each.id])
        best_class = ranks[able[0].id][0] if able else None
        for rank, group in groupby(able, key=lambda each: ranks[each.id]):
            if rank[0] != best_class:
                break
            chosen = self._among(list(group))
            if chosen or not at_any_cost:
                return chosen
        return None

    def _among(self, paths: list[Subflow]) -> Subflow | None:
        """Of one cost: who is next by RTT or share. `strict` waits for it, if it is full."""
        first = self._next(paths)
        if self.strict:
            return first if first and available(first) else None
        return self._next([each for each in paths if available(each)])

    def _next(self, paths: list[Subflow]) -> Subflow | None:
        if self.fastest:
            return lowest_rtt(paths)
        return min(paths, key=lambda each: self._path(each).turn, default=None)

    def _measure(self, question: Question) -> Answer:
        """Of a path beyond its threshold that carries nothing, nothing new would be known."""
        oldest = question.oldest
        for each in question.subflows if oldest else ():
            idle_ns = question.time_ns - self._path(each).sent_ns
            if not self._exceeds(each) or not available(each) or self._class(each):
                continue
            if each.in_flight or idle_ns < _MEASURE_NS or each.carried_oldest:
                continue
            return Answer.duplicate(each, oldest)
        return Answer()
