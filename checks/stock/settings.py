# SPDX-License-Identifier: GPL-2.0-only
"""The settings in which the lab is compared with a distribution kernel.

Rates of 5 to 200 Mbit/s, RTTs of 5 to 200 ms, queues, buffers, losses, congestion controls, one
path, both directions, short transfers. They use nothing that only the lab's kernel has, or that its
patches change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.errors import InputError, Problem
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario, Shape
from mptcplab.scenario.resolve import from_flags

#: Samples are compared one by one, in these steps of virtual time.
STEP_NS = 100_000_000
#: The duration of a close-up of the start, and the time between its samples.
CLOSE_UP_NS, CLOSE_UP_STEP_NS = 15 * STEP_NS, 100_000
#: What an instruction takes in a virtual machine, and in one with a CPU half as fast.
INSTRUCTION_NS, SLOWER_NS = 1, 2
#: In a virtual machine, a packet takes some 20 us of CPU time in a router and in a host: close-ups
#: are made with such delays added to each direction of each path.
CPU_TIMES_NS = (0, 10_000, 20_000)


@dataclass(frozen=True)
class StockSetting:
    """`name` as the table has it, and the scenario with its first seed.

    `close_up` is its beginning, sampled as often as can be.
    """

    name: str
    scenario: Scenario
    close_up: Scenario

    def with_seeds(self, count: int) -> list[Scenario]:
        """As many runs of it: each seed has other losses and another phase of the timers."""
        return [self.scenario.with_(seed=seed) for seed in range(1, count + 1)]

    def close_ups(self, count: int, cpu_time_ns: int) -> list[Scenario]:
        """The starts of as many runs, with this much more delay."""
        longer = _delayed(self.close_up, cpu_time_ns)
        return [longer.with_(seed=seed) for seed in range(1, count + 1)]

    @property
    def is_transfer(self) -> bool:
        """Whether its figure is a time, not a goodput."""
        return self.scenario.workload.size_bytes is not None


@dataclass(frozen=True)
class _Asked:
    """What is asked for: paths, each as a rate in Mbit/s and a delay in ms one way, and flags."""

    paths: str
    name: str = ""
    keys: str = ""
    queues: tuple[int, ...] = ()
    flags: Mapping[str, Any] = field(default_factory=dict)


_USUAL = "50,10 + 20,40"
_UNLIKE = "100,10 + 10,100"
_ASKED = (
    # unlike and like paths
    _Asked(_UNLIKE),
    _Asked("100,5 + 5,80"),
    _Asked("100,10 + 5,50"),
    _Asked("90,12 + 12,95"),
    _Asked(_USUAL),
    _Asked("20,5 + 20,100"),
    _Asked("20,20 + 20,60"),
    _Asked("20,20 + 20,20"),
    _Asked("10,20 + 10,20"),
    _Asked("50,2.5 + 20,2.5"),
    _Asked("200,10 + 50,30"),
    _Asked(_USUAL, "to the client", flags={"direction": "down"}),
    # queues and buffers
    _Asked(_USUAL, "queues of 55 and 80 packets", queues=(55, 80)),
    _Asked(_USUAL, "queues of 1000 packets", queues=(1000, 1000)),
    _Asked(_USUAL, "receive buffer 1 MiB", flags={"receive_buffer": "1MiB"}),
    _Asked(_UNLIKE, "receive buffer 1 MiB", flags={"receive_buffer": "1MiB"}),
    _Asked(_USUAL, "send buffer 512 KiB", flags={"send_buffer": "512KiB"}),
    # losses
    _Asked(_USUAL, "loss 0.1 %", keys=",loss=0.1%"),
    _Asked(_USUAL, "loss 1 %", keys=",loss=1%"),
    # one path
    _Asked("50,10", "TCP", flags={"transport": "tcp"}),
    _Asked("50,10", "MPTCP"),
    _Asked("100,50", "TCP", flags={"transport": "tcp"}),
    _Asked("100,50", "MPTCP"),
    # other congestion controls
    _Asked(_USUAL, "Reno", flags={"cc": "reno"}),
    _Asked(_USUAL, "BBR", flags={"cc": "bbr"}),
    # short transfers
    _Asked(_USUAL, "100 KB", flags={"size": "100kB"}),
    _Asked(_USUAL, "2 MB", flags={"size": "2MB"}),
    _Asked(_UNLIKE, "100 KB", flags={"size": "100kB"}),
    _Asked(_UNLIKE, "2 MB", flags={"size": "2MB"}),
)


def settings(only: Sequence[str] = ()) -> list[StockSetting]:
    """All settings, or those whose names have one of some texts in them.

    Raises InputError for a text that none has.
    """
    found = [
        StockSetting(
            f"{asked.paths}; {asked.name}" if asked.name else asked.paths,
            _scenario(asked, "20s", STEP_NS),
            # until after the last step
            _scenario(asked, f"{CLOSE_UP_NS + STEP_NS}ns", CLOSE_UP_STEP_NS),
        )
        for asked in _ASKED
    ]
    if unknown := [text for text in only if not any(text in each.name for each in found)]:
        accepted = "accepted is a part of: " + "; ".join(each.name for each in found)
        raise InputError([Problem("--only", "", text, accepted) for text in unknown])
    return [each for each in found if not only or any(text in each.name for text in only)]


def _scenario(asked: _Asked, duration: str, interval_ns: int) -> Scenario:
    flags = Flags(
        path=list(_paths(asked)),
        scheduler="default",
        duration=None if "size" in asked.flags else duration,
        sample_interval=f"{interval_ns}ns",
        seed=1,
        **asked.flags,
    )
    return from_flags(flags, single=True).base


def _paths(asked: _Asked) -> Iterator[str]:
    for number, path in enumerate(asked.paths.split(" + ")):
        rate, delay = path.split(",")
        queue = f",queue={asked.queues[number]}" if asked.queues else ""
        yield f"{'ab'[number]}:{rate}mbit,{delay}ms{queue}{asked.keys}"


def _delayed(scenario: Scenario, further_ns: int) -> Scenario:
    """The same scenario, queues included, with this much more delay each way on each path."""

    def longer(shape: Shape) -> Shape:
        return shape.model_copy(update={"delay_ns": shape.delay_ns + further_ns})

    paths = [
        path.model_copy(update={"up": longer(path.up), "down": longer(path.down)})
        for path in scenario.paths
    ]
    return scenario.model_copy(update={"paths": tuple(paths)})
