# SPDX-License-Identifier: GPL-2.0-only
"""The cost of a run as it grows: paths, rate, duration, connections, samples, events."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benches.figures import Cost, Line, Point, Series, fit, median_of, straight
from benches.lab import Lab, scenario_of
from mptcplab.runs.bench import BENCH
from mptcplab.scenario.flags import Flags

#: What the cost of a series is a line over: the packets of a run, or what is varied.
PACKETS = "packets"


@dataclass(frozen=True)
class Growth:
    """A series that is to be measured: the values, and the flags that each of them is.

    `work` names what the cost is a line over; `per` makes its amount of a value, None for the
    packets that were sent. Values above `once` take minutes, and are measured in the first round.
    """

    name: str
    what: str
    unit: str
    values: Sequence[float]
    flags: Callable[[float], Flags]
    work: str = PACKETS
    per: Callable[[float], float] | None = None
    once: float = math.inf


def growths(quick: bool = False) -> list[Growth]:
    """All series; `quick` has the least, one in the middle and one that is not the most."""
    return [_less(growth) for growth in _ALL] if quick else list(_ALL)


def measure(
    lab: Lab, wanted: Sequence[Growth], *, rounds: int, say: Callable[[str], None]
) -> tuple[Series, ...]:
    """Each series; its points are measured in turn, so that what else the machine does hits all."""
    found = []
    for growth in wanted:
        taken: dict[float, list[Cost]] = {value: [] for value in growth.values}
        for number in range(1, rounds + 1):
            say(f"growth, {growth.name}: {number} of {rounds}")
            for value in growth.values:
                if number > 1 and value > growth.once:
                    continue
                taken[value].append(lab.run(scenario_of(growth.flags(value))))
        points = tuple(Point(x=value, taken=tuple(costs)) for value, costs in taken.items())
        found.append(
            Series(
                name=growth.name,
                what=growth.what,
                unit=growth.unit,
                work=growth.work,
                points=points,
            )
        )
    return tuple(found)


def work(series: Series) -> list[float]:
    """How much of its work each point of a series is."""
    per = next((each.per for each in _ALL if each.name == series.name), None)
    if per is None:
        return [median_of(point.taken, "packets") for point in series.points]
    return [per(point.x) for point in series.points]


def cost_line(series: Series) -> Line:
    """CPU seconds over the work of a series."""
    return fit(work(series), [median_of(point.taken, "cpu_s") for point in series.points])


def line_end(series: Series) -> float | None:
    """The first value whose CPU time is not on the line through those below; None if all are."""
    costs = [median_of(point.taken, "cpu_s") for point in series.points]
    ordered = sorted(zip(work(series), costs, (point.x for point in series.points), strict=True))
    xs, ys, values = zip(*ordered, strict=True)
    return next(
        (values[n] for n in range(2, len(xs)) if not straight(xs[: n + 1], ys[: n + 1])), None
    )


def all_by_packets(found: Sequence[Series]) -> Line:
    """CPU seconds over packets, of all points of the series whose work is packets."""
    points = [point for series in found if series.work == PACKETS for point in series.points]
    return fit(
        [median_of(point.taken, "packets") for point in points],
        [median_of(point.taken, "cpu_s") for point in points],
    )


def _less(growth: Growth) -> Growth:
    values = growth.values
    few = [values[0], values[len(values) // 3], values[len(values) // 2]]
    return replace(growth, values=list(dict.fromkeys(few)))


def _flags(paths: Sequence[str], duration_s: float, **more: object) -> Flags:
    values = {"scheduler": "default", "seed": "1", **more}
    return Flags(path=tuple(paths), duration=f"{duration_s:g}s", **values)  # type: ignore[arg-type]


def _paths(count: float) -> Flags:
    return _flags([f"p{i}:50mbit,10ms" for i in range(1, int(count) + 1)], 5)


# Round trips of 2 ms: at 4 Gbit/s 1 MB is on its way, which the buffers that Linux has by default
# can hold; they could not at 10 ms.
def _rate(mbps: float) -> Flags:
    return _flags([f"p:{mbps:g}mbit,1ms"], 2)


def _rate_of_four(mbps: float) -> Flags:
    return _flags([f"p{i}:{mbps:g}mbit,1ms" for i in range(1, 5)], 1)


def _duration(seconds: float) -> Flags:
    return _flags(BENCH.path, seconds)


def _of_two_hosts(count: float) -> Flags:
    return _flags(BENCH.path, 5, workload=f"bulk:connections={count:g}")


# Each happens twice: it begins and ends.
def _events(count: float) -> Flags:
    apart_ms = 5000 / count
    change = f"0s:fast:change,rate=x0.99,lasts={apart_ms / 2:g}ms,every={apart_ms:g}ms"
    return _flags(BENCH.path, 5, event=(change,))


def _connections(count: float) -> Flags:
    shared = {"link": ("shared:100mbit,5ms,queue=300",)}
    return _flags(
        ["p:link=shared,delay=5ms"], 5, connection=(f"c:paths=p,count={count:g}",), **shared
    )


def _interval(milliseconds: float) -> Flags:
    return _flags(BENCH.path, _SAMPLED_S, sample_interval=f"{milliseconds:g}ms")


_SAMPLED_S = 5.0

_ALL = (
    Growth("paths", "paths of 50 Mbit/s, 10 ms, for 5 s", "paths", (1, 2, 3, 4, 6, 8), _paths),
    Growth(
        "rate",
        "rate of one path, 1 ms, for 2 s",
        "Mbit/s",
        (10, 40, 160, 640, 1000, 2000, 4000, 10000),
        _rate,
    ),
    Growth(
        "rate of four",
        "rate of each of four paths, 1 ms, for 1 s",
        "Mbit/s",
        (10, 30, 100, 300, 1000),
        _rate_of_four,
    ),
    Growth(
        "duration",
        "seconds of data over 100 and 50 Mbit/s",
        "s",
        (1, 2, 5, 10, 20, 60, 600, 3600),
        _duration,
        once=60,
    ),
    Growth(
        "connections",
        "connections that share 100 Mbit/s for 5 s",
        "connections",
        (1, 2, 4, 8, 16, 32, 64, 100),
        _connections,
        "connections",
        lambda count: count,
    ),
    Growth(
        "connections of two hosts",
        "connections between two hosts, 100 and 50 Mbit/s for 5 s",
        "connections",
        (1, 3, 10, 30, 100, 300, 1000),
        _of_two_hosts,
        "connections",
        lambda count: count,
    ),
    Growth(
        "samples",
        "time between samples, 100 and 50 Mbit/s for 5 s",
        "ms",
        (0.1, 0.3, 1, 3, 10, 30, 100),
        _interval,
        "samples",
        lambda milliseconds: _SAMPLED_S * 1000 / milliseconds,
    ),
    Growth(
        "events",
        "changes of a rate, 100 and 50 Mbit/s for 5 s",
        "changes",
        (5, 15, 50, 150, 500, 1500, 5000),
        _events,
        "changes",
        lambda count: count,
    ),
)
