# SPDX-License-Identifier: GPL-2.0-only
"""The formulas of coupled congestion control: in exact numbers, and as papers measured them.

`lia`, `olia`, `balia` and so on are the formulas of RFC and drafts in fractions. What begins with
`measured_` is what the modules of the out-of-tree kernels v0.9x make of them: the same fractions,
rounded where and in which units the modules round. The kernel computes with integers of 64 bits, in
another form. This is what it is compared with:

    python -m tests.coupled_model > kernel/mptcp/tests/coupled_vectors.h
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

ONE = 2**32  # the unit of factors in the kernel
MSS = 1448
TOTAL_ALPHA, LEAST_ALPHA, GAMMA = 10, 2, 1


@dataclass(frozen=True)
class Subflow:
    """A subflow; `since` and `between` are the bytes that were acknowledged around losses."""

    cwnd: int
    rtt_us8: int  # as the kernel has it, in eighths of a microsecond
    mss: int = MSS
    since: int = 0
    between: int = 0

    @property
    def window(self) -> int:
        return self.cwnd * self.mss

    @property
    def rtt(self) -> Fraction:
        return Fraction(self.rtt_us8, 8)

    @property
    def rate(self) -> Fraction:
        return self.window / self.rtt

    @property
    def quality(self) -> Fraction:
        """What OLIA calls best paths by."""
        return max(self.since, self.between) / self.rtt**2


#: Segments by which the window of a subflow grows per acknowledged segment.
Increase = Callable[[Sequence[Subflow], int], Fraction]


def _growth(subflows: Sequence[Subflow], of: Subflow) -> Fraction:
    """(w / rtt^2) / (sum of w / rtt)^2, per byte."""
    return of.window / of.rtt**2 / sum(s.rate for s in subflows) ** 2


def lia(subflows: Sequence[Subflow], index: int) -> Fraction:
    """Segments by which the window grows per acknowledged segment (RFC 6356, equations 1 and 2)."""
    total = sum(s.window for s in subflows)
    alpha = total * max(s.window / s.rtt**2 for s in subflows) / sum(s.rate for s in subflows) ** 2
    own = subflows[index]
    in_bytes = min(alpha * own.mss * own.mss / total, Fraction(own.mss * own.mss, own.window))
    return in_bytes / own.mss


def olia(subflows: Sequence[Subflow], index: int) -> Fraction:
    """As `lia`, of draft-khalili-mptcp-congestion-control."""
    own = subflows[index]
    epsilon = _epsilon(subflows, index, [s.window for s in subflows])
    return _growth(subflows, own) * own.mss + epsilon / own.cwnd


def _epsilon(subflows: Sequence[Subflow], index: int, windows: Sequence[int]) -> Fraction:
    """By how many segments OLIA moves from the largest windows to the best paths."""
    best = max(s.quality for s in subflows)
    largest = [i for i, window in enumerate(windows) if window == max(windows)]
    others = [i for i, s in enumerate(subflows) if s.quality == best and i not in largest]
    if others and index in largest:
        return -Fraction(1, len(subflows) * len(largest))
    if index in others:
        return Fraction(1, len(subflows) * len(others))
    return Fraction(0)


def balia(subflows: Sequence[Subflow], index: int) -> Fraction:
    """As `lia`, of draft-walid-mptcp-congestion-control."""
    own = subflows[index]
    a = max(s.rate for s in subflows) / own.rate
    return _growth(subflows, own) * own.mss * (1 + a) / 2 * (4 + a) / 5


def balia_kept(subflows: Sequence[Subflow], index: int) -> Fraction:
    """The window after a loss, before it is rounded down."""
    own = subflows[index]
    a = max(s.rate for s in subflows) / own.rate
    return own.cwnd - Fraction(own.cwnd, 2) * min(a, Fraction(3, 2))


# As measured. Windows are in segments, RTTs in eighths of a microsecond, as the modules have them.


def measured_lia_alpha(subflows: Sequence[Subflow]) -> int:
    """alpha of the connection, in 2^-12 per segment.

    The newest subflow is the first. Which one is the best is judged by w / rtt^2 in whole numbers
    of 2^-32, and the last of those that are alike is taken: the oldest.
    """
    if len(subflows) == 1:
        return 1
    best = max(
        reversed(subflows), key=lambda s: floor(Fraction(s.cwnd * 2**32, s.rtt_us8 * s.rtt_us8))
    )
    windows = sum(floor(2**10 * s.cwnd * Fraction(best.rtt_us8, s.rtt_us8)) for s in subflows)
    # where the module's square of it overflows
    windows = min(windows, 2**32 - 1)
    return max(floor(Fraction(2**32 * best.cwnd, windows**2)), 1)


def measured_balia(subflows: Sequence[Subflow], index: int) -> tuple[int, int]:
    """Acknowledgments that the window takes to grow, and segments that it loses."""
    own = subflows[index]
    rates = [floor(own.mss * s.cwnd * 1_000_000 / Fraction(s.rtt_us8, 8)) for s in subflows]
    if len(subflows) == 1 or not rates[index]:
        return 0, 0
    a = max(rates) // rates[index]
    lost = floor((own.cwnd // 2) * min(Fraction(a), Fraction(3, 2)))
    scale = 1
    while max(rates) // scale > 2**25:
        scale *= 2**5
    most, x = max(rates) // scale, rates[index] // scale
    total = sum(rate // scale for rate in rates)
    acks = floor(Fraction(floor(Fraction(10 * total**2, x + most)) * own.cwnd, 4 * x + most))
    return acks or own.cwnd, lost


def measured_olia(subflows: Sequence[Subflow], index: int) -> int:
    """What an acknowledgment adds to the count of a window, in 2^-10 segments."""
    own = subflows[index]
    epsilon = _epsilon(subflows, index, [s.cwnd for s in subflows])
    windows = sum(floor(2**10 * s.cwnd * Fraction(own.rtt_us8, s.rtt_us8)) for s in subflows)
    # where the square of their sum overflows
    rate = min(1 + windows, 2**31) ** 2
    step = 2**10 * (Fraction((2**10 * own.cwnd) ** 2, rate) + epsilon) / own.cwnd
    return floor(abs(step)) * (1 if step >= 0 else -1)


@dataclass(frozen=True)
class Round:
    """wVegas at the end of a round, in congestion avoidance."""

    cwnd: int
    base_us: int
    rtt_us: int
    alpha: int
    queue_us: int
    share: int  # of ONE

    def measured(self) -> tuple[int, int, int]:
        """The window, alpha and queueing delay after it, with the module's drain."""
        queue_us, cwnd = self.rtt_us - self.base_us, self.cwnd
        queued = floor(Fraction(cwnd * queue_us, self.rtt_us))
        alpha = self.alpha
        if queued >= alpha:
            alpha = max(LEAST_ALPHA, floor(Fraction(TOTAL_ALPHA * self.share, ONE)))
        cwnd += (queued < alpha) - (queued > alpha)
        least = min(self.queue_us or queue_us, queue_us)
        if queue_us >= 2 * least:
            factor = floor(Fraction(2**16 * self.base_us, 2 * self.rtt_us))
            cwnd, least = floor(Fraction(cwnd * factor, 2**16)), 0
        return max(cwnd, 2), alpha, least

    def with_alpha_drain(self) -> tuple[int, int, int]:
        """The same, with ours."""
        queue_us = self.rtt_us - self.base_us
        queued = floor(Fraction(self.cwnd * queue_us, self.rtt_us))
        alpha, least = self.alpha, self.queue_us
        if queued >= alpha:
            alpha = max(LEAST_ALPHA, floor(Fraction(TOTAL_ALPHA * self.share, ONE)))
            if alpha > self.alpha:
                least = 0
        if queued < alpha:
            return self.cwnd + 1, alpha, least
        least = min(least or queue_us, queue_us)
        if queue_us >= 2 * least:
            unqueued = floor(Fraction(self.cwnd * self.base_us, self.rtt_us))
            return max(unqueued // 2, 2), alpha, 0
        return (max(self.cwnd - 1, 2) if queued > alpha else self.cwnd), alpha, least


def states() -> Iterator[list[Subflow]]:
    """Connections: some that can be computed by hand, then limits, then random ones."""
    ms = 8000
    yield [Subflow(10, 20 * ms)]
    yield [Subflow(10, 20 * ms), Subflow(10, 20 * ms)]
    yield [Subflow(20, 20 * ms), Subflow(10, 100 * ms)]
    # the highest w / rtt^2 is first, then last
    yield [Subflow(40, 100 * ms), Subflow(10, 300 * ms)]
    yield [Subflow(10, 300 * ms), Subflow(40, 100 * ms)]
    yield [Subflow(15, 20 * ms), Subflow(10, 20 * ms)]
    yield [Subflow(20, 20 * ms), Subflow(10, 20 * ms, since=MSS)]
    yield [Subflow(20, 20 * ms, since=MSS), Subflow(10, 20 * ms, between=4 * MSS)]
    yield [Subflow(20, 20 * ms, since=MSS), Subflow(10, 40 * ms, between=4 * MSS)]
    yield [Subflow(10, 20 * ms, mss=1448), Subflow(10, 20 * ms, mss=536)]
    extremes = [(cwnd, rtt) for cwnd in (1, 100_000) for rtt in (50 * 8, 60_000 * ms)]
    for one in extremes:
        for other in extremes:
            yield [Subflow(*one, since=1), Subflow(*other, since=2**40)]
            yield [Subflow(*one)] + [Subflow(*other)] * 7
    rng = random.Random(6356)
    for _ in range(60):
        number = rng.randint(1, 8)
        mss = rng.choice([[MSS], [MSS], [536, 1220, 1448, 8948]])
        yield [
            Subflow(
                cwnd=floor(10 ** rng.uniform(0, 5)),
                rtt_us8=floor(8 * 50 * (60e6 / 50) ** rng.random()),
                mss=rng.choice(mss),
                since=floor(2 ** rng.uniform(0, 40)),
                between=floor(2 ** rng.uniform(0, 40)),
            )
            for _ in range(number)
        ]
    # what paths of everyday are like, with ties
    for _ in range(40):
        number = rng.randint(2, 4)
        yield [
            Subflow(
                cwnd=rng.randint(1, 40),
                rtt_us8=ms * rng.choice([10, 20, 50, 100]),
                since=MSS * rng.randint(0, 3) * 100,
            )
            for _ in range(number)
        ]


def rounds() -> Iterator[Round]:
    """Of wVegas: some that can be computed by hand, then random ones."""
    # 20 segments, 50 ms of 60: 3 in the queue
    for alpha in (2, 3, 4):
        yield Round(20, 50_000, 60_000, alpha, 0, ONE // 2)
    # an empty queue, whatever the least delay was
    for queue_us in (0, 1, 1000):
        yield Round(20, 50_000, 50_000, 5, queue_us, ONE)
    # twice the least delay, and a microsecond less
    yield Round(40, 50_000, 70_000, 5, 10_000, ONE // 2)
    yield Round(40, 50_000, 69_999, 5, 10_000, ONE // 2)
    rng = random.Random(2017)
    for _ in range(100):
        base_us = floor(50 * (60e6 / 50) ** rng.random())
        yield Round(
            cwnd=floor(2 * 10 ** rng.uniform(0, 4.7)),
            base_us=base_us,
            rtt_us=base_us + floor(base_us * rng.choice([0, 0.01, 0.1, 0.5, 2]) * rng.random()),
            alpha=rng.randint(2, 10),
            queue_us=rng.choice([0, floor(base_us * 0.1 * rng.random())]),
            share=rng.randint(0, ONE),
        )


def vector_text() -> str:
    """The file kernel/mptcp/tests/coupled_vectors.h."""
    lines = [
        "/* SPDX-License-Identifier: GPL-2.0-only */",
        "/* Made by python -m tests.coupled_model, in exact numbers. Of each connection:",
        " * alpha of lia; the subflows, and what is expected of each: factors in units of",
        " * 2^-32, then what was measured.",
        " */",
        "static const struct coupled_vector vectors[] = {",
    ]
    for subflows in states():
        lines.append(f"\t{{ {len(subflows)}, {measured_lia_alpha(subflows)}, {{")
        for index, own in enumerate(subflows):
            factors = (floor(each(subflows, index) * own.cwnd * ONE) for each in (lia, olia, balia))
            given = (own.cwnd, own.rtt_us8, own.mss, own.since, own.between)
            expected = (*factors, floor(balia_kept(subflows, index)))
            lines.append(f"\t\t{{ {', '.join(map(str, given))},")
            lines.append(f"\t\t  {', '.join(map(str, expected))},")
            measured = (measured_olia(subflows, index), *measured_balia(subflows, index))
            lines.append(f"\t\t  {', '.join(map(str, measured))} }},")
        lines.append("\t} },")
    lines += ["};", "", "static const struct wvegas_vector rounds[] = {"]
    for each in rounds():
        before = (each.cwnd, each.base_us, each.rtt_us, each.alpha, each.queue_us)
        numbers = ", ".join(map(str, before))
        results = (each.measured(), each.with_alpha_drain())
        after = ", ".join(f"{{ {', '.join(map(str, result))} }}" for result in results)
        lines += [f"\t{{ {numbers}, {each.share},", f"\t  {{ {after} }} }},"]
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    print(vector_text(), end="")
