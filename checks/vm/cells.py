# SPDX-License-Identifier: GPL-2.0-only
"""The cells: a scheduler with a load, on a kernel with a number of CPUs.

Loads are connections of guest/torture/connections.c, between two namespaces; init.sh has what
happens meanwhile. That program has a process for each CPU, and each takes some connections. Time is
real, on CPUs that are interpreted: so bounds of time are generous.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from checks.troubles import BOUND_US, Connection, End, TortureCase
from mptcplab.lab import adapter
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.scheduler import DEFAULT

#: The series of kernels: Debian 13's own, and that of its backports.
SERIES = ("6.12", "7.3")
CPUS = (1, 2, 4)
#: The cell that ends a boot: every module goes.
UNLOAD = "unload"

_S, _MS = 1_000_000, 1000
#: Within so many seconds a load ends: on two quiet CPUs, the slowest one takes 15.
BOUND_S = 240
SOAK_S = 1800


def schedulers() -> tuple[str, ...]:
    """`default`, and those that the adapter carries."""
    return (DEFAULT, *adapter.carried())


def _both(at_us: int, path: int, end: End) -> Connection:
    return Connection(at_us, path, end, end)


def _bulk(_rng: Random) -> Iterator[Connection]:
    for number in range(4):
        yield _both(0, 1 + number % 2, End(2_000_000, write_chunk=65_536))


def _writes(rng: Random) -> Iterator[Connection]:
    """Sizes of writes that are drawn, evenly on a logarithmic scale."""
    for number in range(12):
        ends = []
        for _ in range(2):
            chunk = rng.randint(1, 1 << rng.randint(1, 16))
            ends.append(End(min(400_000, 2000 * chunk), write_chunk=min(chunk, 65_536)))
        yield Connection(number * 20 * _MS, 1 + number % 2, *ends)


def _flap(_rng: Random) -> Iterator[Connection]:
    for path in (1, 2):
        yield _both(0, path, End(6_000_000, write_chunk=65_536))
        # until after the last change
        yield _both(0, path, End(300 * 4096, write_chunk=4096, write_gap=20 * _MS))


def _many(rng: Random) -> Iterator[Connection]:
    for number in range(64):
        yield _both(rng.randrange(500 * _MS), 1 + number % 2, End(rng.randint(1, 120_000)))


def _messages(_rng: Random) -> Iterator[Connection]:
    for number, size in enumerate((200, 1250, 8192, 20_000)):
        end = End(100 * size, write_chunk=size, write_gap=20 * _MS, no_delay=1)
        yield _both(0, 1 + number % 2, end)


def _reload(_rng: Random) -> Iterator[Connection]:
    for number in range(8):
        yield _both(number * 800 * _MS, 1 + number % 2, End(1_500_000))


def _soak(rng: Random) -> Iterator[Connection]:
    for number in range(4):
        steady = End(SOAK_S * 5 * 16_384, write_gap=200 * _MS)
        yield _both(0, 1 + number % 2, steady)
    for number in range(60):
        size = rng.randint(1, 8_000_000)
        yield _both(number * SOAK_S // 60 * _S, 1 + number % 2, End(size))


#: Those of the matrix: each with every scheduler.
LOADS: Mapping[str, Callable[[Random], Iterator[Connection]]] = {
    "bulk": _bulk,
    "writes": _writes,
    "flap": _flap,
    "many": _many,
    "messages": _messages,
}
#: Modules that go and come back meanwhile; and half an hour, with devices that flap at times.
MORE_LOADS = {"reload": _reload, "soak": _soak}


@dataclass(frozen=True)
class Cell:
    """A scheduler with a load; or the end of a boot, UNLOAD, of no scheduler."""

    scheduler: str
    load: str
    series: str
    cpus: int

    @property
    def name(self) -> str:
        return f"{self.series}-{self.cpus}-{self.scheduler}-{self.load}"

    @property
    def bound_s(self) -> int:
        """When every connection must have ended."""
        # what is written at times takes longer on a busy host
        return BOUND_S + 2 * SOAK_S * (self.load == "soak")

    def case(self) -> TortureCase:
        """The connections, as the torture judges them."""
        make = {**LOADS, **MORE_LOADS}[self.load]
        connections = tuple(make(Random(self.load)))
        calm_us = self.bound_s * _S - BOUND_US
        return TortureCase(1, self.scheduler, "", (), Flags(), (), (), connections, calm_us)

    def input(self) -> str:
        """What the program reads; nothing for UNLOAD."""
        return "" if self.load == UNLOAD else self.case().input()


def pairwise(names: Collection[str], loads: Collection[str]) -> list[Cell]:
    """Each scheduler with each load, on kernels and CPUs such that each pair of values of any two
    occurs: of two numbers that grow in steps of one, the kernel and the CPUs have periods without a
    common divisor.
    """
    return [
        Cell(name, load, SERIES[(i + j) % len(SERIES)], CPUS[(i + j) % len(CPUS)])
        for i, name in enumerate(names)
        for j, load in enumerate(loads)
    ]


def everything(names: Sequence[str]) -> list[Cell]:
    """Each combination, and further loads on two CPUs."""
    product = itertools.product(names, LOADS, SERIES, CPUS)
    reload = itertools.product(names, ["reload"], SERIES, [2])
    soak = itertools.product(["overflow"], ["soak"], SERIES, [2])
    return [Cell(*each) for each in (*product, *reload, *soak)]


def with_ends(wanted: Sequence[Cell]) -> dict[tuple[str, int], list[Cell]]:
    """The cells of each boot, and its end."""
    boots: dict[tuple[str, int], list[Cell]] = {}
    for cell in wanted:
        boots.setdefault((cell.series, cell.cpus), []).append(cell)
    return {boot: [*cells, Cell("-", UNLOAD, *boot)] for boot, cells in boots.items()}
