# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that gives the figures that a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import RunFigures
from mptcplab.runs import store
from mptcplab.runs.entries import Entry, run_entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Task
from mptcplab.scenario.model import Scenario

KERNEL = KernelBuild("k1", "lab", Path("linux"), Path("config"))
GUEST = Guest("g1", Path("guest"))


@dataclass(frozen=True)
class Given:
    """What a run gives: goodput of bulk data in Mbit/s, the delays of blocks in ms, and what was
    sent besides, as a part of what arrived.
    """

    mbps: float
    delay_ms: float
    longest_ms: float
    copies: float = 0.0


#: None: it fails.
Gives = Callable[[Scenario], Given | None]


class FakeKernel:
    """Takes the place of Runner.perform."""

    def __init__(self, gives: Gives) -> None:
        self.ran: list[Scenario] = []
        self.gives = gives

    def perform(self, runner: Runner, tasks: Sequence[Task]) -> Iterator[Entry]:
        out = Store(runner.out)
        for task in tasks:
            yield self.run(task, out)

    def run(self, task: Task, out: Store) -> Entry:
        scenario, key = task.scenario, task.key
        self.ran.append(scenario)
        given = self.gives(scenario)
        figures = RunFigures()
        if given:
            duration_s = (scenario.workload.duration_ns or 0) / 1e9
            figures = RunFigures(
                goodput_bps=given.mbps * 1e6,
                wasted_bytes=int(given.copies * given.mbps * 1e6 * duration_s / 8),
                delay_ms_p99=given.delay_ms,
                delay_ms_max=given.longest_ms,
            )
        entry = run_entry(
            scenario,
            RunMetrics(metrics=figures, paths=()),
            reason=None if given else "no power",
            directory=f"runs/{key}",
        )
        if given:
            with out.new_run(key) as directory:
                store.write_json(directory / store.RESULT, entry)
        return entry


def pretend(fake: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all runners make their runs with this kernel."""
    monkeypatch.setattr(Runner, "perform", lambda runner, tasks: fake.perform(runner, tasks))
