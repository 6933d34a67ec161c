# SPDX-License-Identifier: GPL-2.0-only
"""How accurate are the links? Measures them on the real kernel: `make accuracy`.

The guest makes the paths of a scenario as for a run. Instead of the traffic it sends UDP packets in
one direction (`guest/meter.c`), and its kernel records when each reaches the first queue and the
last device. The check compares this with the scenario: delay, rate, loss, runs of losses, queue
limit, jitter, duplicated packets, packets that overtake.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from checks import tables
from checks.command_line import parser_of
from mptcplab import marked, units
from mptcplab.errors import status_of
from mptcplab.lab import doctor, engine, guest, kernel
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan, qdiscs, testbed
from mptcplab.runs import single
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import MAX_PATHS, PACKET_BYTES
from mptcplab.scenario.resolve import from_flags

#: The shortest Ethernet frame, with nothing but headers; a medium one; the longest.
FRAMES_BYTES = (84, 576, PACKET_BYTES)
#: The promised bounds, as fractions of what was asked for.
DELAY_BOUND, RATE_BOUND = 0.01, 0.005
#: The clock moves by this much when a process reads it, and a packet may begin this much later.
CLOCK_STEP_MS = 256e-6
#: How many standard deviations a random figure may be off: it exceeds this once in two million.
DEVIATIONS = 5.0

# The meter's process reads the clock for each packet, which moves it by 256 ns, twice: it cannot
# fill a link on which a packet takes less.
_LEAST_PACKET_NS = 600
# While it runs, times of packets have steps of some 256 ns, and the first one comes up to 2 us
# late: a link must be busy for so long that this is a thousandth.
_BUSY_NS = 2 * 10**6
_LEAST_COUNT = 200
# The time between packets whose delays are measured: no queue is left.
_GAP_NS = 1000
_FOREVER_MS = 10**8
#: The name of the marks between which a page has the table.
_MARK = "make accuracy"

RECORD = np.dtype(
    [("number", "<u4"), ("copies", "<u4"), ("sent_ns", "<u8"), ("received_ns", "<u8")]
)
Packets = npt.NDArray[Any]


@dataclass(frozen=True)
class Metering:
    """`count` frames of `size` bytes over the up direction, or down; 0 ns between: all at once."""

    count: int
    size: int = PACKET_BYTES
    interval_ns: int = 0
    down: bool = False


@dataclass(frozen=True)
class MeteredPath:
    """A path, as in --path without its name, the packets sent over it, and the value asked for.

    `value` computes the measured figure from the packets, in `unit`. `bound` is how far it may be
    off, in the same unit; None: it is shown, but not promised.
    """

    group: str
    path: str
    meterings: tuple[Metering, ...]
    value: Callable[[Sequence[Packets]], float]
    asked: float
    unit: str
    bound: float | None
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A setting that was measured."""

    setting: MeteredPath
    measured: float

    @property
    def error(self) -> float:
        return self.measured - self.setting.asked

    @property
    def holds(self) -> bool:
        return self.setting.bound is None or abs(self.error) <= self.setting.bound

    @property
    def badness(self) -> float:
        """How far it is off, in its bound if it has one."""
        return abs(self.error) / (self.setting.bound or self.setting.asked or 1.0)

    @property
    def cells(self) -> tuple[str, ...]:
        setting = self.setting
        return (
            f"{setting.path}{', ' if setting.note else ''}{setting.note}",
            f"{setting.asked:.7g} {setting.unit}",
            f"{self.measured:.7g} {setting.unit}",
            f"{self.error:+.2g}" if self.error else "0",
            "none" if setting.bound is None else f"{setting.bound:.7g} {setting.unit}",
        )


# --- what a figure is made of


def delay_ms(runs: Sequence[Packets]) -> float:
    """The mean delay of all, one direction after the other, in ms."""
    means = [(p["received_ns"] - p["sent_ns"]).astype(np.int64).mean() for p in runs]
    return float(sum(means)) / 1e6


def rate_mbps(size: int) -> Callable[[Sequence[Packets]], float]:
    """The rate of packets of one size that follow each other without a gap, in Mbit/s."""

    def value(runs: Sequence[Packets]) -> float:
        times = np.sort(_arrived(runs[0])["received_ns"])
        return float((len(times) - 1) * size * 8e3 / (times[-1] - times[0]))

    return value


def lost(runs: Sequence[Packets]) -> float:
    """The fraction that did not arrive, in per cent."""
    return 100 * float((runs[0]["copies"] == 0).mean())


def run_length(runs: Sequence[Packets]) -> float:
    """Mean number of packets lost in a row."""
    gone = np.concatenate([[False], runs[0]["copies"] == 0]).astype(np.int8)
    begun = int((np.diff(gone) == 1).sum())
    return float(gone.sum()) / begun if begun else 0.0


def arrived(runs: Sequence[Packets]) -> float:
    """How many arrived."""
    return float(len(_arrived(runs[0])))


def twice(runs: Sequence[Packets]) -> float:
    """The fraction that arrived twice, in per cent."""
    return 100 * float((runs[0]["copies"] == 2).mean())


def overtook(runs: Sequence[Packets]) -> float:
    """The fraction that arrived before a packet that was sent earlier, in per cent."""
    times = runs[0]["received_ns"].astype(np.int64)
    return 100 * float((times[1:] < np.maximum.accumulate(times)[:-1]).mean())


def jitter_ms(runs: Sequence[Packets]) -> float:
    """Standard deviation of the delay, in ms."""
    return float((runs[0]["received_ns"] - runs[0]["sent_ns"]).astype(np.int64).std()) / 1e6


def _arrived(packets: Packets) -> Packets:
    return packets[packets["copies"] > 0]


# --- what is measured


# Of Cech 2020: 20, 40 and 60 ms in both directions together, or the one path 30, 40 and 50 ms more
# than 20 ms (figures 4, 5 and 11); links of 100 Mbit/s and 1 Gbit/s.
_PAPER_DELAYS_MS = (20, 40, 50, 60, 70)
_DELAYS_MS = (0, 0.1, 1, 2, 5, 10, *_PAPER_DELAYS_MS, 100, 300, 1000)
_RATES = ("100kbit", "1mbit", "10mbit", "100mbit", "1gbit", "10gbit")
# Disciplines of queues, with what their groups and paths add for a queue at the host.
_QUEUED = (
    *((kind, "", "") for kind in ("netem", "droptail", "codel", "fq_codel", "red", "pie")),
    *((kind, " at the host", ",bottleneck=host") for kind in ("netem", "droptail")),
)
# Cech 2020, figures 3 to 6: queues of packets, and losses in per cent.
_QUEUES = (20, 300, 500, 1000, 2000)
_LOSSES = (0.005, 0.1, 0.5, 1, 5, 10)


def settings(losses: int = 200_000) -> list[MeteredPath]:
    """The grid, with so many packets for each loss."""
    return [*_delays(), *_rates(), *_queues(), *_losses(losses), *_others()]


def _delays() -> Iterator[MeteredPath]:
    for kind, at, where in _QUEUED:
        for rate in _RATES if kind in ("netem", "droptail") and not at else ("10mbit",):
            for asked in _DELAYS_MS:
                yield _delay(f"delay, {kind}{at}", rate, asked, f"{kind}{where}")
    for asked in _PAPER_DELAYS_MS:
        for rate in ("100mbit", "1gbit"):
            yield _delay("delay, half of it each way", rate, asked, "netem", ways=2)


def _delay(group: str, rate: str, asked_ms: float, queue: str, *, ways: int = 1) -> MeteredPath:
    """Ten packets each way, one at a time; the time that the packet itself takes is counted."""
    packet_ms = PACKET_BYTES * 8e3 / units.parse_rate(rate)
    gap_ns = int((packet_ms + asked_ms) * 1e6) + _GAP_NS
    each = units.format_time(round(asked_ms * 1e6 / ways))
    path = f"{rate},{each},queue=100,queue_discipline={queue}"
    sent = tuple(Metering(10, interval_ns=gap_ns, down=down) for down in (False, True)[:ways])
    asked, bound = asked_ms + ways * packet_ms, max(DELAY_BOUND * asked_ms, CLOCK_STEP_MS)
    return MeteredPath(group, path, sent, delay_ms, asked, "ms", bound)


def _rates() -> Iterator[MeteredPath]:
    for kind, at, where in _QUEUED:
        for rate in _RATES:
            for size in FRAMES_BYTES:
                bps = units.parse_rate(rate)
                packet_ns = size * 8e9 / bps
                if packet_ns < _LEAST_PACKET_NS:
                    continue
                count = max(_LEAST_COUNT, math.ceil(_BUSY_NS / packet_ns))
                sent, bound = (Metering(count, size),), RATE_BOUND * bps / 1e6
                path = f"{rate},1ms,queue=5000,queue_discipline={kind}{where}"
                group, note = f"rate, {kind}{at}", f"{size} bytes"
                value, asked = rate_mbps(size), bps / 1e6
                yield MeteredPath(group, path, sent, value, asked, "Mbit/s", bound, note)


def _queues() -> Iterator[MeteredPath]:
    """More packets at once than there is room for: sending one takes 1.2 s, so the room stays."""
    for kind in ("netem", "droptail"):
        for limit in _QUEUES:
            path = f"10kbit,0ms,queue={limit},queue_discipline={kind}"
            sent = (Metering(limit + 50),)
            group = f"queue in packets, {kind}"
            yield MeteredPath(group, path, sent, arrived, limit, "packets", 0)
    for limit in _QUEUES:
        for size in FRAMES_BYTES:
            path, room = f"10kbit,0ms,queue={limit * PACKET_BYTES}B", limit * PACKET_BYTES // size
            sent, note = (Metering(room + 50, size),), f"{size} bytes"
            group = "queue in bytes, droptail"
            yield MeteredPath(group, path, sent, arrived, room, "packets", 0, note)


def _losses(count: int) -> Iterator[MeteredPath]:
    lossy = "1gbit,0ms,queue=1000"
    # the time between two packets: a little more than one takes
    sent = (Metering(count, 84, interval_ns=2000),)
    for loss in _LOSSES:
        bound = _bound_of_share(loss, count)
        yield MeteredPath("loss", f"{lossy},loss={loss}%", sent, lost, loss, "%", bound)
    for loss, burst, bad, good in (
        (1, 4, 100, 0),
        (5, 10, 100, 0),
        (10, 2, 100, 0),
        (2, 20, 50, 0.1),
        (5, 50, 30, 1),
    ):
        path = f"{lossy},loss={loss}%,loss_burst={burst},loss_bad={bad}%,loss_good={good}%"
        p, r = qdiscs.gilbert(loss / 100, burst, good=good / 100, bad=bad / 100)
        # The variance of a mean of correlated values: the variance of one, and twice the sum of the
        # covariances, which fall by 1 - p - r from one packet to the next.
        share, falls = p / (p + r), 1 - p - r
        between = share * (1 - share) * ((bad - good) / 100) ** 2
        variance = loss / 100 * (1 - loss / 100) + 2 * between * falls / (1 - falls)
        bound = DEVIATIONS * (100 * math.sqrt(variance / count))
        yield MeteredPath("loss, two states", path, sent, lost, loss, "%", bound)
        if bad == 100:
            # rows are geometric, and some count x loss / burst of them begin
            bound = DEVIATIONS * math.sqrt(burst * (burst - 1) / (count * loss / 100 / burst))
            yield MeteredPath("lost in a row", path, sent, run_length, burst, "packets", bound)
    for loss, correlation in ((1, 10), (1, 25), (10, 25), (10, 50)):
        path = f"{lossy},loss={loss}%,loss_correlation={correlation}%"
        note = "netem's; see docs/links.md"
        yield MeteredPath("loss, correlated", path, sent, lost, loss, "%", None, note)


def _bound_of_share(percent: float, count: int) -> float:
    """Of a binomial share of `count` packets, in per cent."""
    return DEVIATIONS * (100 * math.sqrt(percent / 100 * (1 - percent / 100) / count))


def _others() -> Iterator[MeteredPath]:
    count = 5000
    for delay, jitter in ((10, 1), (50, 20), (100, 100)):
        apart = (Metering(count, 84, interval_ns=3 * delay * 10**6),)
        path = f"100mbit,{delay}ms,jitter={jitter}ms"
        # uniform from -jitter to jitter; the standard error of a mean, and of a deviation (the
        # fourth moment is 9/5 of the squared variance)
        deviation = jitter / math.sqrt(3)
        mean = delay + 84 * 8e-5
        bound = DEVIATIONS * deviation / math.sqrt(count)
        yield MeteredPath("delay with jitter, its mean", path, apart, delay_ms, mean, "ms", bound)
        bound = DEVIATIONS * deviation * math.sqrt((9 / 5 - 1) / 4 / count)
        yield MeteredPath("jitter, its deviation", path, apart, jitter_ms, deviation, "ms", bound)
    sent = (Metering(count, 84, interval_ns=10**5),)
    for part in (1, 10):
        bound = _bound_of_share(part, count)
        path = f"100mbit,1ms,duplicate={part}%"
        yield MeteredPath("duplicates", path, sent, twice, part, "%", bound)
        path = f"100mbit,10ms,reorder={part}%,reorder_by=2ms"
        yield MeteredPath("reordering", path, sent, overtook, part, "%", bound)


# --- measuring


def measure(
    wanted: Sequence[MeteredPath], kernel: KernelBuild, guest: Guest, directory: Path
) -> list[Row]:
    """Measures each setting; several at a time, as the paths of one scenario, run by run."""
    runs = [wanted[i : i + MAX_PATHS] for i in range(0, len(wanted), MAX_PATHS)]

    def one(number: int) -> list[Row]:
        own = directory / f"{number}"
        own.mkdir()
        with single.own_cpu() as cpu:
            return _run(runs[number], kernel, guest, own, cpu)

    with ThreadPoolExecutor(max_workers=len(single.cpus())) as pool:
        return [row for rows in pool.map(one, range(len(runs))) for row in rows]


def _run(
    wanted: Sequence[MeteredPath],
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    cpu: int | None,
) -> list[Row]:
    paths = [f"p{i}:{setting.path}" for i, setting in enumerate(wanted, 1)]
    scenario = from_flags(Flags(path=paths, seed_delay="0us")).base
    text = plan.render_measurements(scenario, _lines(wanted))
    engine.run(scenario, text, Rig(kernel, guest), directory, cpu=cpu)
    found = []
    for i, setting in enumerate(wanted, 1):
        files = (directory / _file(i, number) for number in range(len(setting.meterings)))
        found.append(Row(setting, setting.value([np.fromfile(each, RECORD) for each in files])))
    return found


def _file(path: int, number: int) -> str:
    return f"p{path}-{number}.meter"


def _lines(wanted: Sequence[MeteredPath]) -> Iterator[str]:
    # Known neighbours stay known: no packet waits for one, and no request comes in between.
    for i in range(1, len(wanted) + 1):
        for end in testbed.ends(i, ()):
            known = f"net.ipv4.neigh.{end.device}.base_reachable_time_ms={_FOREVER_MS}"
            yield f"ip netns exec {end.namespace} sysctl -qw {known}"
    for i in range(1, len(wanted) + 1):
        for down in (False, True):
            yield _meter(i, Metering(1, FRAMES_BYTES[0], down=down), "warm.meter")
    for i, setting in enumerate(wanted, 1):
        for number, metering in enumerate(setting.meterings):
            yield _meter(i, metering, _file(i, number))


def _meter(i: int, metering: Metering, file: str) -> str:
    near, far = testbed.client(i), testbed.server(i)
    if metering.down:
        near, far = far, near
    what = f"{metering.count} {metering.size} {metering.interval_ns}"
    return f"ip netns exec {near.namespace} meter {far.namespace} {far.address} {what} {file}"


# --- the report


def markdown(rows: Sequence[Row]) -> str:
    """The setting that is furthest off, for each kind, as a table of the docs."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row.setting.group, []).append(row)
    return tables.markdown(
        ("what", "settings", "the worst: path", "asked", "measured", "error", "bound"),
        (
            (group, len(own), *max(own, key=lambda row: row.badness).cells)
            for group, own in kinds.items()
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if everything is within its bound, else 1."""
    parser = parser_of("accuracy", __doc__)
    parser.add_argument("--docs", type=Path, help="a page that gets the table between its marks")
    options = parser.parse_args(arguments)
    return status_of(lambda: _measure_and_show(options.docs))


def _measure_and_show(docs: Path | None) -> int:
    doctor.require(*doctor.RUN_CHECKS)
    built, program = kernel.build(), guest.build()
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as directory:
        rows = measure(settings(), built, program, Path(directory))
    text = markdown(rows)
    print(text)
    if docs:
        marked.replace(docs, {_MARK: text})
    off = [row for row in rows if not row.holds]
    for row in off:
        print("outside its bound:", row.setting.group, *row.cells, sep="  ")
    print(f"{len(rows)} settings, {len(off)} outside their bounds")
    return 1 if off else 0


if __name__ == "__main__":
    raise SystemExit(main())
