# SPDX-License-Identifier: GPL-2.0-only
"""One run as a task: its inputs as a value that can be sent, and its outcome.

`perform` does a task wherever it is called: in this process, in a worker process of this machine,
or in a worker of a cluster. A run is written directly into the store if that can be reached, and
otherwise comes back packed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, MachineError, MptcplabError, RunCancelledError, RunError
from mptcplab.lab.engine import Rig, RunEndedError, RunKilledError, RunOutcome, Watch
from mptcplab.metrics import run_files, series
from mptcplab.metrics.compute import RunMetrics
from mptcplab.runs import archive, store
from mptcplab.runs.entries import Entry, nothing_measured, run_entry
from mptcplab.runs.single import builds, figures, link_figures, run, udp_figures
from mptcplab.runs.store import Store
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.workload import Program

# More than one, so that a short lack of memory does not cost a run; but few, since the run itself
# may take the memory.
ATTEMPTS = 2
# Why a program's run may have no figures.
_NO_FIGURES = (RunError, ArithmeticError, LookupError, ValueError)


@dataclass(frozen=True)
class Task:
    """A run to make. `key` is its name in a store (see `store.run_key`).

    With `out` the run is put into the store there; without, it comes back, and is made in `scratch`
    [the directory for temporary files]. Without `keep_records` only the series of the samples are
    kept; with `storage`, a URL, the records are kept there (see `archive`).
    """

    key: str
    scenario: Scenario
    rig: Rig
    out: Path | None = None
    keep_records: bool = True
    storage: str | None = None
    scratch: Path | None = None

    @classmethod
    def of(cls, scenario: Scenario, rig: Rig, out: Path | None = None) -> Task:
        """The task of a run, with only the modules and traces that the scenario uses."""
        paths = {each.name for each in (*scenario.paths, *scenario.links)}
        modules = {
            choice.name: rig.modules[choice.name]
            for choice in (*scenario.choices(), scenario.scheduler)
            if choice.digest is not None
        }
        traces = {place: source for place, source in rig.traces.items() if place[0] in paths}
        own = replace(rig, modules=modules, traces=traces)
        return cls(store.run_key(scenario, rig.kernel, rig.guest), scenario, own, out)


@dataclass(frozen=True)
class Done:
    """The outcome of a task: the entry of its run (see `run_entry`).

    `files` is the run's directory, as packed by `archive.pack`, if the task had no store. `killed`
    is how often something else killed it or its worker, such as the system when out of memory,
    before it was made, or given up. `outside` is whether it is missing for a reason outside of its
    scenario: that, one of its limits, or what the machine refused.
    """

    key: str
    entry: Entry
    files: bytes | None = None
    killed: int = 0
    outside: bool = False

    @property
    def was_given_up(self) -> bool:
        """Whether the run is missing because it was killed."""
        return bool(self.killed) and self.entry.status != "ok"


def perform(task: Task, watch: Watch | None = None) -> Done:
    """Make the run of a task. A failed run gives an entry with the reason.

    A run that somebody else kills is made again, and given up if that happens again.
    Raises RunCancelledError if it was cancelled; then nothing of it is left.
    """
    watch = watch or Watch()
    killed: RunKilledError
    for attempt in range(ATTEMPTS):
        if watch.cancel.is_set():
            raise RunCancelledError
        try:
            with _directory(task) as directory:
                done = _run_in(directory, task, watch)
                files = None if task.out else archive.pack(directory)
            return replace(done, files=files, killed=attempt)
        except RunCancelledError:
            raise
        except RunKilledError as error:
            killed = error
        except (MptcplabError, OSError) as error:  # OSError: the disk was full before or after it
            return replace(failed(task, str(error)), killed=attempt, outside=_is_outside(error))
    what, separator, hint = killed.reason.partition("; ")
    return given_up(task, f"{what}, {ATTEMPTS} times{separator}{hint}", ATTEMPTS)


def _is_outside(error: MptcplabError | OSError) -> bool:
    """Whether an error of a run is not one of its scenario, with its kernel."""
    of_system = isinstance(error, OSError) or isinstance(error.__cause__, OSError)
    return of_system or isinstance(error, RunEndedError | MachineError)


@contextmanager
def _directory(task: Task) -> Iterator[Path]:
    """Where a run is made: it becomes the stored run, unless the run has to come back."""
    if task.out is not None:
        with Store(task.out).new_run(task.key) as directory:
            yield directory
    else:
        prefix = f"mptcplab-{task.key}-"
        with tempfile.TemporaryDirectory(prefix=prefix, dir=task.scratch) as name:
            yield Path(name)


def failed(task: Task, reason: str) -> Done:
    """The outcome of a task whose run failed."""
    return Done(task.key, run_entry(task.scenario, reason=reason))


def given_up(task: Task, reason: str, killed: int) -> Done:
    """The outcome of a task that was killed at each attempt: no run, not even a failed one."""
    return replace(failed(task, reason), killed=killed, outside=True)


def _run_in(directory: Path, task: Task, watch: Watch) -> Done:
    """The run of a task, with its files as a store keeps them in `directory`."""
    scenario = task.scenario
    outcome = run(scenario, task.rig, directory, watch)
    measured, about = _program_figures(scenario, outcome)
    entry = run_entry(
        scenario,
        measured,
        virtual_s=outcome.virtual_s,
        wall_s=outcome.wall_s,
        directory=store.place(task.key),
    )
    entry = entry.model_copy(update=about)
    if task.keep_records or task.storage:
        store.keep_traces(directory, scenario, task.rig.traces)
    else:
        _keep_series(directory, task)
    store.write_json(directory / store.SCENARIO, scenario)
    store.write_json(directory / store.BUILD, builds(task.rig.kernel, task.rig.guest))
    store.write_json(directory / store.RESULT, entry.result())
    cost = {
        name: getattr(outcome, name)
        for name in ("wall_s", "start_s", "user_s", "system_s", "memory_bytes")
    }
    store.write_json(directory / store.COST, cost)
    if task.storage:
        about = archive.keep(task.storage, f"{task.key}.tar.gz", archive.pack(directory))
        _keep_series(directory, task)
        store.write_json(directory / archive.ARCHIVE, about)
    return Done(task.key, entry)


def _keep_series(directory: Path, task: Task) -> None:
    """Replace the records of a run by their time series, on one grid."""
    stored = store.StoredRun(
        directory, task.scenario, run_files.read_samples(task.scenario, directory), task.rig.traces
    )
    found = stored.series()
    for each in directory.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.name not in store.DOCUMENTS:
            each.unlink()
    series.write(found, directory / store.SERIES)


def _program_figures(
    scenario: Scenario, outcome: RunOutcome
) -> tuple[RunMetrics | None, dict[str, Any]]:
    """The figures of a run, and what its entry says about programs.

    A program's run is valid even if it made no connection, or one without figures: then only links
    have figures, and captured UDP. A malicious program may have written the records.
    """
    if not isinstance(scenario.workload, Program):
        return figures(scenario, outcome), {}
    about = {name: outcome.guest[name] for name in ("client_status", "server_status")}
    if scenario.pcap:
        with suppress(InputError):
            about["udp"] = udp_figures(scenario, outcome)
    try:
        return figures(scenario, outcome), about
    except _NO_FIGURES as error:
        contradiction = f"its records contradict themselves ({repr(error).splitlines()[0]})"
        why = error.reason if isinstance(error, RunError) else contradiction
    about["no_figures"] = why
    with suppress(*_NO_FIGURES):
        return replace(nothing_measured(scenario), links=link_figures(scenario, outcome)), about
    return None, about
