# SPDX-License-Identifier: GPL-2.0-only
"""Makes runs, on this machine or on others, stores them, and returns their entries in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from mptcplab.errors import MptcplabError
from mptcplab.lab import stock_machine
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import cost
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store, keeps_records
from mptcplab.runs.tasks import Done, Task
from mptcplab.runs.workers import Workers, local, performed
from mptcplab.scenario.model import Scenario

#: Called for every run that has ended: how many have, its scenario and its entry.
Ended = Callable[[int, Scenario, Entry], None]
#: Called ten times a second with the fraction of the work done, from 0 to 1.
Progress = Callable[[float], None]
#: Shows the progress of some number of runs.
Show = Callable[[int], AbstractContextManager[tuple[Progress, Ended]]]


class OutsideError(MptcplabError):
    """A run is missing for a reason outside of its scenario."""


def calling(
    progress: Progress = lambda _share: None, ended: Ended = lambda _count, _scenario, _entry: None
) -> Show:
    """Shows progress by calling these functions."""
    return lambda _total: nullcontext((progress, ended))


#: Shows no progress.
QUIET = calling()


@dataclass(frozen=True)
class Runner:
    """Makes runs, and stores them below the directory `out`.

    `workers` make them; the default is up to `jobs` processes of this machine. Without
    `keep_records` the store keeps only their series; with `storage`, a URL, it keeps the records
    there (see `archive`). `show` shows the progress. Setting `cancel` ends the running runs, keeps
    the ended ones, and raises RunCancelledError. With `strict`, OutsideError is raised for the
    first run that is missing for a reason outside of its scenario, such as a full disk. Runs
    whose keys are in `kept` are not made again: it has their entries (see `stored`).
    """

    out: Path
    jobs: int = 1
    workers: Workers | None = None
    keep_records: bool = True
    storage: str | None = None
    show: Show = QUIET
    cancel: threading.Event = field(default_factory=threading.Event)
    strict: bool = False
    kept: Mapping[str, Entry] = field(default_factory=dict)

    def run(self, scenarios: Iterable[Scenario], rig: Rig) -> list[Entry]:
        """Runs scenarios; returns their entries, in the same order.

        The entry of a failed run has the reason, and the others go on.
        """
        return list(self.perform([self.task(each, rig) for each in scenarios]))

    def task(self, scenario: Scenario, rig: Rig) -> Task:
        """The task of a run, which is stored as this runner stores runs."""
        made = Task.of(scenario, rig, self.out)
        return replace(made, keep_records=self.keep_records, storage=self.storage)

    def perform(self, tasks: Sequence[Task]) -> Generator[Entry]:
        """Performs tasks, which may have different rigs; yields their entries, in their order."""
        if not tasks:
            return
        self.require_machines([task.rig.kernel for task in tasks])
        store = Store(self.out)
        store.remove_abandoned()
        expected_s = {
            task.key: cost.times_as_long(task.rig.kernel) * cost.expected_virtual_s(task.scenario)
            for task in tasks
        }
        entries = {
            number: _named(self.kept[task.key], task)
            for number, task in enumerate(tasks)
            if task.key in self.kept
        }
        missing = [number for number in range(len(tasks)) if number not in entries]
        wanted = [tasks[number] for number in missing]
        all_s, ended_s = sum(expected_s[task.key] for task in wanted), 0.0
        count, yielded = len(entries), 0
        with self.working(len(wanted)) as workers, self.show(len(tasks)) as (progress, ended):
            for each in performed(wanted, workers, self.cancel):
                if each is not None:
                    place, done = each
                    number, task = missing[place], wanted[place]
                    entries[number] = self._stored(done, task, store)
                    ended_s += expected_s[done.key]
                    count += 1
                    ended(count, task.scenario, entries[number])
                # a copy: workers write to it meanwhile
                now = dict(workers.virtual_s)
                moving_s = sum(min(now_s, expected_s[key]) for key, now_s in now.items())
                progress((ended_s + moving_s) / all_s)
                while yielded in entries:
                    yield entries.pop(yielded)
                    yielded += 1
        # those behind the last one that was made
        yield from (entries[number] for number in sorted(entries))

    def stored(self, tasks: Sequence[Task]) -> dict[str, Entry]:
        """The entries, by key, of the tasks whose successful runs the store has whole."""
        store = Store(self.out)
        return {
            task.key: entry
            for task in tasks
            if keeps_records(store.directory(task.key))
            and (entry := store.result(task.key)) is not None
        }

    def _stored(self, done: Done, task: Task, store: Store) -> Entry:
        reason = done.entry.reason
        if self.strict and reason is not None and (done.outside or store.is_full(reason)):
            raise OutsideError(reason)
        return _named(done.entry, task)

    def working(self, count: int) -> AbstractContextManager[Workers]:
        """The workers for a number of runs."""
        return nullcontext(self.workers) if self.workers else local(min(self.jobs, count))

    @contextmanager
    def staying(self) -> Iterator[Runner]:
        """The same runner with workers that stay for several calls: their start takes time."""
        with self.working(self.jobs) as workers:
            yield replace(self, workers=workers)

    def require_machines(self, kernels: Iterable[KernelBuild]) -> None:
        """Raises MachineError if this machine cannot make runs with these kernels, `jobs` at a
        time, because some are distributions'.
        """
        if stock := sum(kernel.stock is not None for kernel in kernels):
            stock_machine.require(min(self.jobs, stock))


def _named(entry: Entry, task: Task) -> Entry:
    return entry.model_copy(update={"kernel": task.rig.kernel.name or None})
