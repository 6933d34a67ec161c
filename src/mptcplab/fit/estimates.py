# SPDX-License-Identifier: GPL-2.0-only
"""The values of a path, with their intervals, from the packets that passed it.

docs/fit.md has the arithmetic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mptcplab.capture.dissect import Array
from mptcplab.metrics import inference
from mptcplab.scenario.limits import Direction
from mptcplab.units import counted

#: Bytes of a full packet on a link, with Ethernet's header.
FULL_BYTES = 1514
#: The lab's shortest default of a queue, in packets.
FEWEST_QUEUE = 20

# The shortest block, and the most blocks: a rate needs some packets in each.
_BLOCK_S, _MOST_BLOCKS, _BLOCK_PACKETS = 0.2, 300, 10
#: A packet waited for others if it was this many transmission times late.
WAITED_PACKETS = 1.5
# A change of the rate, and its shortest length in blocks.
_CHANGE, _CHANGE_BLOCKS = 0.2, 3
# The queue was nearly full if packets waited at least this part of the longest wait.
_NEARLY_FULL = 0.8
_LONGEST = 99.5  # percentile: above it, a receiver that answered late
_SHORT_QUEUE = 3  # packets
# Losses at a full queue differ from random ones if they are so many times as frequent, and chance
# explains their number this rarely.
_OFTEN, _CHANCE = 5, 1e-3
# So many losses in a row, within a round trip, may be of a queue that was full for a moment.
_BURST = 4
# With fewer times of loss, chance and overflows that were not recognised may be all.
_FEWEST_EPISODES = 3
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """A value and the ends of its 95 % interval; `high` is None if only a lower bound is known.

    `source` says in a few words what the value was computed from.
    """

    value: float
    low: float
    high: float | None
    source: str


@dataclass(frozen=True)
class PathFit:
    """A path: its values by their keys of a scenario, such as "down.rate", in bit/s, s, packets and
    fractions; `changes` of its rate by time in s; `about` says which addresses or files it is.
    """

    name: str
    about: str
    values: Mapping[str, Estimate]
    changes: Sequence[tuple[float, Estimate]] = ()


@dataclass(frozen=True)
class Transfer:
    """A transfer over paths: its data, each byte once, and its time from the first packet to the
    last data.
    """

    direction: Direction
    size_bytes: int
    lasts_s: float

    @property
    def goodput_bps(self) -> float:
        return 8 * self.size_bytes / self.lasts_s


@dataclass(frozen=True)
class Passage:
    """Packets of data that passed a path, an item of each array per packet, and steps between them.

    `wait_s` is how long a packet waited in the queue, `lost` whether it was lost, `at_s` when it
    was sent. A step ends with an arrival at `step_at_s`, `step_s` after the one before, and brings
    `step_bytes` on the wire; both of its packets waited at least `step_wait_s`. `accuracy_s` is the
    error of a wait.
    """

    at_s: Array
    wait_s: Array
    lost: Array
    step_at_s: Array
    step_s: Array
    step_bytes: Array
    step_wait_s: Array
    round_trip_s: float
    accuracy_s: float


def of_samples(values: Sequence[float], source: str) -> Estimate:
    """The median of values with its bootstrap interval. Raises ValueError without a value."""
    found = inference.summary(values)
    if found is None:
        raise ValueError("no value")
    low = found.median if found.low is None else found.low
    high = found.median if found.high is None else found.high
    return Estimate(found.median, low, high, source)


def share(count: int, of: int, source: str) -> Estimate:
    """A probability with Wilson's interval (1927)."""
    z2 = _NORMAL_95**2
    middle = (count + z2 / 2) / (of + z2)
    half = _NORMAL_95 / (of + z2) * math.sqrt(count * (of - count) / of + z2 / 4)
    return Estimate(count / of, max(middle - half, 0), middle + half, source)


def rates(passed: Passage) -> list[tuple[float, Estimate]]:
    """The rate of the link from each time on; the first time is 0.

    While packets waited in front of the link, it sent without a pause: so its rate is their bytes
    over their time, in blocks. If they rarely did, the fastest block is a lower bound.
    """
    length_s = max(_BLOCK_S, 2 * passed.round_trip_s, float(passed.step_at_s[-1]) / _MOST_BLOCKS)
    waited_s = passed.accuracy_s
    # the time of transmission depends on the rate: the second round uses the first one's
    for _ in range(2):
        at_s, values = _blocks(passed, length_s, passed.step_wait_s > waited_s)
        if not len(values):
            break
        rate_bps = float(np.median(values))
        waited_s = passed.accuracy_s + WAITED_PACKETS * 8 * FULL_BYTES / rate_bps
    if not len(values):
        _, values = _blocks(passed, length_s, np.ones(len(passed.step_s), np.bool_))
        most = float(values.max()) if len(values) else 8 * passed.step_bytes.sum() / length_s
        return [(0.0, Estimate(most, most, None, "fastest block: the link was never busy"))]
    source = f"while packets waited: {counted(len(values), 'block')} of {length_s:.2g} s"
    cuts = [*_beginnings(np.log(values)), len(values)]
    return [
        (float(at_s[a]) if a else 0.0, of_samples(values[a:b].tolist(), source))
        for a, b in itertools.pairwise(cuts)
    ]


def _blocks(passed: Passage, length_s: float, busy: Array) -> tuple[Array, Array]:
    """The rate in each block with enough busy steps, and when the block begins."""
    block = (passed.step_at_s[busy] / length_s).astype(np.int64)
    if not len(block):
        return np.empty(0), np.empty(0)
    count = np.bincount(block)
    took = np.bincount(block, passed.step_s[busy])
    carried = np.bincount(block, passed.step_bytes[busy])
    good = (count >= _BLOCK_PACKETS) & (took > 0)
    return np.flatnonzero(good) * length_s, 8 * carried[good] / took[good]


def _beginnings(values: Array) -> list[int]:
    """Where pieces of a series of constant pieces with noise begin: the first is 0.

    The least sum of squared distances to the means of the pieces, and of a penalty for each piece,
    by dynamic programming (Jackson et al. 2005). Neighbours that differ little are one piece.
    """
    count = len(values)
    noise = float(np.median(np.abs(np.diff(values)))) if count > 1 else 0.0
    penalty = _CHANGE_BLOCKS * (max(_CHANGE, 2 * noise) / 2) ** 2
    sums, squares = (np.append(0, np.cumsum(values**power)) for power in (1, 2))
    best, last = np.full(count + 1, np.inf), np.zeros(count + 1, np.int64)
    best[0] = 0
    for end in range(_CHANGE_BLOCKS, count + 1):
        begin = np.arange(end - _CHANGE_BLOCKS + 1)
        far = squares[end] - squares[begin] - (sums[end] - sums[begin]) ** 2 / (end - begin)
        costs = best[begin] + far + penalty
        last[end] = int(np.argmin(costs))
        best[end] = costs[last[end]]
    found = [count]
    while found[-1]:
        found.append(int(last[found[-1]]))
    found.reverse()
    kept = [0]
    for at, end in itertools.pairwise(found[1:]):
        if abs(np.median(values[at:end]) - np.median(values[kept[-1] : at])) > math.log1p(_CHANGE):
            kept.append(at)
    return kept


def queue_and_loss(
    passed: Passage, rates_bps: Sequence[tuple[float, Estimate]]
) -> tuple[Estimate, Estimate]:
    """The queue in packets, and the share of packets lost at random.

    If the queue was never full, it is one bandwidth-delay product, the lab's default, or the
    longest wait.
    """
    begin_s, values = (
        np.array(each) for each in zip(*((at, r.value) for at, r in rates_bps), strict=True)
    )
    rate_bps = values[np.maximum(np.searchsorted(begin_s, passed.at_s, side="right") - 1, 0)]
    waited = passed.wait_s * rate_bps / (8 * FULL_BYTES)
    longest = float(np.percentile(waited, _LONGEST))
    full = waited >= _NEARLY_FULL * longest
    lost = np.flatnonzero(passed.lost)
    overflows, others = _overflows(passed, waited, longest)
    if longest < _SHORT_QUEUE or not overflows:
        product = values[0] * passed.round_trip_s / (8 * FULL_BYTES)
        what = "longest wait" if longest > product else "one bandwidth-delay product"
        queue = max(longest, product, FEWEST_QUEUE)
        return (
            Estimate(queue, longest, None, f"{what}; the queue was never full"),
            share(len(lost), len(waited), f"{len(lost)} of {len(waited)} packets"),
        )
    # the packets around an overflow show nothing of random losses
    apart = ~full
    for each in overflows:
        apart[each[0] : each[-1] + 1] = False
    at_random, of = int(apart[lost].sum()), max(int(apart.sum()), 1)
    source = f"{at_random} of {of} packets sent at a shorter queue"
    loss = share(at_random, of, source)
    if others < _FEWEST_EPISODES:
        loss = Estimate(0.0, 0.0, loss.high, source)
    begin = np.array([passed.at_s[each[0]] for each in overflows])
    first = np.searchsorted(passed.at_s, begin - passed.round_trip_s)
    end = np.searchsorted(passed.at_s, begin, side="right")
    peaks = [float(waited[a:b].max()) for a, b in zip(first, end, strict=True)]
    return of_samples(peaks, f"longest wait before {counted(len(peaks), 'overflow')}"), loss


def _overflows(passed: Passage, waited: Array, longest: float) -> tuple[list[Array], int]:
    """The losses of each overflow of the queue, and the number of other times of loss.

    At such a time, packets waited nearly as long as ever, or more were lost in a row than chance
    explains. There is none if losses are nearly as frequent at a short queue.
    """
    full, lost = waited >= _NEARLY_FULL * longest, np.flatnonzero(passed.lost)
    gap_s = passed.round_trip_s + float(passed.wait_s.max())
    times = np.split(lost, np.flatnonzero(np.diff(passed.at_s[lost]) > gap_s) + 1)
    # given its first loss, so many further ones follow by chance
    chance = len(lost) / len(waited)
    bursts = [
        len(each) >= _BURST
        and waited[each[0]] > longest / _BURST
        and _tail(len(each) - 1, chance * (each[-1] - each[0])) < _CHANCE / len(times)
        for each in times
    ]
    # at a short queue
    others = max(int((~full[lost]).sum()), 1) / max(int((~full).sum()), 1)
    at_full, expected = int(full[lost].sum()), others * full.sum()
    if not any(bursts) and (at_full < _OFTEN * expected or _tail(at_full, expected) > _CHANCE):
        return [], len(times)
    found = [each for each, burst in zip(times, bursts, strict=True) if burst or full[each].any()]
    return found, len(times) - len(found)


def _tail(count: int, expected: float) -> float:
    """How likely at least so many are, of a Poisson distribution with this mean."""
    term = below = math.exp(-expected)
    for k in range(1, count):
        term *= expected / k
        below += term
    return max(1 - below, 0.0) if count else 1.0
