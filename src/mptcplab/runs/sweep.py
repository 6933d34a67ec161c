# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: all runs of a scenario with varying values, each made once, despite interruptions.

A sweep is planned: every point of its space becomes scenarios, each with a key. Runs that are in
the store by their key are not repeated, so an interrupted sweep resumes and a larger one makes only
the new runs. docs/sweep.md.
"""

from __future__ import annotations

import contextlib
import errno
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from mptcplab import extras, units
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.formulas import space
from mptcplab.formulas.designs import Point
from mptcplab.formulas.formula import Formula, FormulaError
from mptcplab.formulas.space import Space, Text, filled, shown_point
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.mistakes import Mistakes, shown
from mptcplab.runs import cost, experiment, index, single, store
from mptcplab.runs.cost import Costs, Size
from mptcplab.runs.entries import Entry, run_entry, with_benefits
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Done, Task
from mptcplab.runs.workers import performed
from mptcplab.scenario import resolve, toml_file
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import COMPARED_SEEDS
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request
from mptcplab.scenario.scheduler import Scheduler

if TYPE_CHECKING:
    import polars as pl

#: More than a machine runs in weeks: a mistake in the axes.
MAX_RUNS = space.MAX_SETTINGS

# Names an axis may have although the table of results has them: they mean the same.
_SAME = ("scheduler", "cc", "kernel", "transport", "seed")
# Beside the values of a point: what its kernel was called by; the table has the ids of kernels.
KERNEL_NAME = "kernel_name"
# The columns of a point that are not values.
_OF_POINTS = ("key", "alone")
_TICK_S = 0.2
# How many reasons of failed runs are shown.
_REASONS = 5


class Sweep(Space):
    """A sweep as in its file: the scenario, or its file, and what changes in it."""

    scenario: dict[str, Any] | Text
    repeat: int | None = Field(default=None, ge=1, le=10_000)
    baselines: bool = False


@dataclass(frozen=True)
class Given:
    """A sweep with its scenario as a table, its source, and the folder of the files it names."""

    sweep: Sweep
    template: Mapping[str, Any]
    source: str
    folder: Path


@dataclass(frozen=True)
class Planned:
    """A run of a sweep: its scenario, its inputs, its size, and the kernel it is made with."""

    scenario: Scenario
    request: Request
    size: Size
    kernel: KernelBuild


@dataclass(frozen=True)
class SweepPoint:
    """A point of a sweep: the values of its axes, and the runs to compare there, by their keys.

    Schedulers, congestion controls and seeds are not in the values, also if they are axes.
    """

    values: Mapping[str, Any]
    runs: dict[str, Scenario]
    baselines: dict[str, Scenario]

    def shape(self) -> Any:
        """What two points share whose runs have the same names and figures."""
        return [
            (
                (item.transport, item.scheduler.label, item.cc),
                [path.name for path in item.paths],
                [(each.name, each.transport) for each in item.connections],
                [link.name for link in item.links],
                (item.workload.kind, item.workload.duration_ns is None),
            )
            for item in (*self.runs.values(), *self.baselines.values())
        ]

    def entries(self, out: Store) -> tuple[list[Entry], list[Entry]]:
        """The entries of its runs and baselines, missing ones included."""
        runs, alone = (
            [_stored(out, key, item) for key, item in items.items()]
            for items in (self.runs, self.baselines)
        )
        return with_benefits(runs, alone, next(iter(self.runs.values()))), alone


def _stored(out: Store, key: str, item: Scenario) -> Entry:
    if (entry := out.result(key)) is not None:
        return entry
    failure = out.failure(key)
    reason = "it was not made" if failure is None else str(failure.entry.reason)
    return run_entry(item, reason=reason)


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep, by their keys, and the points they belong to (see `keep_points`).

    `labels` are those of its axes in its file, `left_out` the schedulers that a kernel lacks.
    """

    runs: Mapping[str, Planned]
    points: Sequence[Mapping[str, Any]]
    guest: Guest
    counts: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, Collection[str]] = field(default_factory=dict)

    def axes(self) -> list[str]:
        """The names of what varies from point to point."""
        names = dict.fromkeys(name for point in self.points for name in point)
        cc = ["cc"] if self._has_several_ccs else []
        return [name for name in (*names, *cc) if name not in _OF_POINTS]

    @property
    def _has_several_ccs(self) -> bool:
        return len({run.scenario.cc for run in self.runs.values()}) > 1

    def document(self) -> dict[str, Any]:
        """The runs at their points, and the axes' labels, for whoever shows them."""
        several_ccs = self._has_several_ccs
        rows, left_out = [], (*_OF_POINTS, KERNEL_NAME)
        for point in self.points:
            values = {name: value for name, value in point.items() if name not in left_out}
            if several_ccs:
                values["cc"] = self.runs[point["key"]].scenario.cc
            alone = {key: store.place(key) for key in point["alone"]}
            rows.append({"point": values, "directory": store.place(point["key"]), "alone": alone})
        return {"axis": self.labels, "runs": rows}

    def settings(self) -> list[SweepPoint]:
        """Each point, with its runs and baselines."""
        found: dict[str, SweepPoint] = {}
        for point in self.points:
            values = {name: value for name, value in point.items() if name not in _OF_POINTS}
            setting = found.setdefault(json.dumps(values, default=str), SweepPoint(values, {}, {}))
            setting.runs[point["key"]] = self.runs[point["key"]].scenario
            setting.baselines.update({key: self.runs[key].scenario for key in point["alone"]})
        return list(found.values())

    def missing(self, table: pl.DataFrame, runner: Runner, how: How) -> tuple[list[str], list[str]]:
        """The keys of the runs to make, and of the failed ones to leave alone.

        `table` is the current table of the store: it has no run with a damaged result.
        """
        out = Store(runner.out)
        if how.again:
            return list(self.runs), []
        there = set(table.filter(status="ok")["key"])
        if runner.keep_records or runner.storage:
            there = {
                key for key in there & self.runs.keys() if store.keeps_records(out.directory(key))
            }
        failed = set() if how.retry_failed else set(out.failed()) - there
        wanted = [key for key in self.runs if key not in there and key not in failed]
        return wanted, [key for key in self.runs if key in failed]

    def costs(self, table: pl.DataFrame) -> tuple[Costs, int]:
        """The expected times of the runs, and how many stored runs they are based on."""
        costs, known = Costs({key: run.size for key, run in self.runs.items()}), 0
        for key, wall_s in table.select("key", "wall_s").unique("key").iter_rows():
            if key in self.runs and wall_s:
                costs.took(key, wall_s)
                known += 1
        return costs, known


@dataclass(frozen=True)
class How:
    """How a sweep is run. `again`: stored runs, too; `fail_fast`: only until a run fails."""

    again: bool = False
    retry_failed: bool = False
    fail_fast: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Standing:
    """The progress of a sweep: runs that ended, how many of them failed, and the total to make.

    `per_s` is the number of runs per second, and `left_s` the time left, None before the first run
    has ended. `killed` counts ended runs that are missing because others killed them.
    """

    ended: int
    failed: int
    total: int
    per_s: float | None
    left_s: float | None
    killed: int = 0

    def text(self) -> str:
        """The progress as a line."""
        parts = [f"{self.ended}/{self.total} runs"]
        if self.per_s is not None:
            rate = f"{self.per_s:.1f}/s" if self.per_s >= 1 else f"{self.per_s * 60:.1f}/min"
            parts.append(rate)
        parts.append(f"{self.failed} failed")
        if self.killed:
            parts.append(f"{self.killed} killed")
        if self.left_s is not None:
            parts.append(f"{units.duration(self.left_s)} left")
        return ", ".join(parts)


@dataclass(frozen=True)
class SweepOutcome:
    """The result of a sweep: how many runs there are, were stored, were made, and failed.

    `reasons` has the reasons of the runs that failed now, `failed_before` the number of failed
    ones left alone. `killed` has the causes for runs that were killed at each attempt and are
    missing, and `made_again` counts how often other runs were killed before they succeeded.
    """

    total: int
    stored: int
    made: int
    reasons: Mapping[str, str]
    failed_before: int
    wall_s: float
    killed: Mapping[str, str] = field(default_factory=dict)
    made_again: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether all runs exist and succeeded."""
        return not (self.reasons or self.killed or self.failed_before)


def load(file: Path, only: str | None = None, kernels: Sequence[str] = ()) -> Given:
    """A sweep from its file; `only`, a formula over its axes as `where` is, must hold, too. With
    `kernels`, names, they take the place of the scenario's.

    Raises InputError with every mistake in it, MachineError without the packages it needs.
    """
    extras.require("sweep", "a sweep")
    found = toml_file.model_of(file, Sweep)
    if only is not None:
        try:
            Formula(only)
        except FormulaError as error:
            raise InputError([Problem("--only", "", shown(only), str(error))]) from None
        where = only if found.where is None else f"({found.where}) and ({only})"
        found = found.model_copy(update={"where": where})
    given = _given(found, str(file), file.parent)
    if not kernels:
        return given
    if "kernel" in found.axes():
        message = f"{file} already has an axis for the kernel"
        raise InputError([Problem("--kernel", "", ", ".join(kernels), message)])
    return replace(given, template={**given.template, "kernel": list(kernels)})


def from_table(table: Mapping[str, Any], source: str, folder: Path) -> Given:
    """A sweep from a table like the one in a file; see `load`."""
    extras.require("sweep", "a sweep")
    return _of_table(table, source, folder)


def from_flags(file: Path | None, flags: Flags, axes: Sequence[str], *, baselines: bool) -> Given:
    """The sweep of a scenario file, flags, and axes as `space.parse_axis` reads them.

    Without axes it is a comparison, with as many seeds, which needs no package of an extra. Raises
    InputError, and MachineError as `load` does.
    """
    if axes:
        extras.require("sweep", "a sweep")
    grid: dict[str, list[Any]] = {}
    problems = []
    for text in axes:
        try:
            key, values = space.parse_axis(text)
            if key in grid:
                raise ValueError("given twice; all values of a key go in one")
            grid[key] = values
        except ValueError as error:
            problems.append(Problem("--sweep", "", shown(text), str(error)))
    if problems:
        raise InputError(problems)
    template, folder = resolve.table_of(file, flags)
    if not axes:
        template.setdefault("repeat", COMPARED_SEEDS)
    table = {"scenario": template, "grid": grid, "baselines": baselines}
    return _of_table(table, str(file or "the command line"), folder)


def _of_table(table: Mapping[str, Any], source: str, folder: Path) -> Given:
    mistakes = Mistakes(source)
    mistakes.data = dict(table)
    return _given(toml_file.validated(mistakes, Sweep), source, folder)


def _given(sweep: Sweep, source: str, folder: Path) -> Given:
    template = sweep.scenario
    if isinstance(template, str):
        file = folder / template
        template, folder = resolve.table_of(file, Flags())
    problems: list[Problem] = []

    def wrong(key: str, value: object, message: str) -> None:
        problems.append(Problem(source, key, shown(value), message))

    space.check(sweep, template, (), wrong)
    try:
        used = space.used(template) | space.settable(sweep)
    except FormulaError:  # check() has reported a formula that cannot be read
        raise InputError(problems) from None
    listed = template.get("path")
    tables = [
        each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)
    ]
    paths = [each.get("name") for each in tables]
    for name in sweep.axes():
        if name.partition(".")[0] in paths:
            wrong("grid", name, f'the key of a path is expected; did you mean "path.{name}"?')
        if name in index.RESERVED and name not in _SAME:
            wrong("grid", name, "the table of results has a column of this name; choose another")
        elif name.isidentifier() and name not in used:
            wrong("grid", name, f"changes nothing: {{{name}}} is nowhere in the scenario")
    if problems:
        raise InputError(problems)
    return Given(sweep, template, source, folder)


def plan(
    given: Given,
    known: Mapping[str, Scheduler],
    guest: Guest,
    by_name: Callable[[str], KernelBuild],
) -> Plan:
    """All runs of a sweep; `by_name` gives kernels, by "" for points that name none.

    Raises InputError, naming the point, for an invalid scenario.
    """
    sweep = given.sweep
    try:
        combinations = sweep.combinations()
    except FormulaError as error:
        raise InputError([Problem(given.source, "where", str(sweep.where), str(error))]) from None
    if not combinations:
        raise InputError([Problem(given.source, "where", str(sweep.where), "leaves no point")])
    runs: dict[str, Planned] = {}
    points: list[dict[str, Any]] = []
    alone_keys: set[str] = set()
    left_out: dict[str, dict[str, None]] = {}

    def planned(item: Scenario, request: Request, base: Size, build: KernelBuild) -> str:
        key = store.run_key(item, build, guest)
        if key not in runs:
            size = base if item.transport == request.base.transport else cost.size(item)
            size = replace(size, times=cost.times_as_long(build))
            runs[key] = Planned(item, request, size, build)
        return key

    for point in combinations:
        request = _request(given, point, known)
        base = cost.size(request.base)
        values = {name: value for name, value in point.items() if name not in _SAME}
        for build in map(by_name, request.kernels or ("",)):
            there = experiment.runs_there(request, build)
            experiment.require_able(there, build)
            lacking = (each.label for each in request.schedulers if each not in there.schedulers)
            left_out.setdefault(build.name, {}).update(dict.fromkeys(lacking))
            named = {KERNEL_NAME: build.name} if build.name else {}
            alone: dict[tuple[str, int], list[str]] = {}
            for item in request.baselines() if sweep.baselines else ():
                key = planned(item, request, base, build)
                alone.setdefault((item.cc, item.seed), []).append(key)
            for item in there.runs():
                own = alone.get((item.cc, item.seed), [])
                key = planned(item, request, base, build)
                points.append({"key": key, "alone": own, **values, **named})
                alone_keys.update(own)
        if len(runs) > MAX_RUNS:
            raise InputError([Problem(given.source, "", "", f"more than {MAX_RUNS} runs")])
    baselines = len(alone_keys)
    counts = {"points": len(combinations), "runs": len(runs) - baselines, "baselines": baselines}
    return Plan(runs, points, guest, counts, sweep.axis, left_out)


def _request(given: Given, point: Point, known: Mapping[str, Scheduler]) -> Request:
    where = f"{given.source}{', with ' if point else ''}{shown_point(point)}"
    try:
        table = filled(given.template, point)
    except FormulaError as error:
        raise InputError([Problem(where, "", "", str(error))]) from None
    if given.sweep.repeat is not None:
        table["repeat"] = given.sweep.repeat
    return resolve.from_table(table, where, folder=given.folder, known=known)


def run(
    planned: Plan,
    runner: Runner,
    how: How,
    show: Callable[[Standing], None] = lambda _standing: None,
) -> SweepOutcome:
    """Make the missing runs of a sweep; each is in the store as soon as it has ended.

    A failed run is kept with its reason, and the others go on. Nothing is kept of a run that
    somebody else kills at each attempt: the next call tries again. Only cancelling raises
    RunCancelledError. Raises MptcplabError if a run cannot be kept, as on a full disk, and with
    `fail_fast` after the first failure.
    """
    started = time.monotonic()
    out = Store(runner.out)
    out.remove_abandoned()
    table = index.current(out.out)
    with _full_disk_reported(out):
        index.keep_points(out.out, planned.points)
        store.write_json(out.out / store.SWEEP, planned.document())
    missing, left_alone = planned.missing(table, runner, how)
    costs, _ = planned.costs(table)
    guessed_s = {key: costs.of(key) for key in missing}
    # the longest first, so that no CPU is idle at the end
    order = sorted(missing, key=lambda key: -guessed_s[key])
    all_s, made_s = sum(guessed_s.values()), 0.0
    runner.require_machines(planned.runs[key].kernel for key in missing)
    reasons: dict[str, str] = {}
    killed: dict[str, str] = {}
    made: set[str] = set()
    made_again, shown_at = 0, 0.0
    try:
        with runner.working(max(len(order), 1)) as workers:
            tasks = _tasks(planned, order, runner, how)
            for each in performed(tasks, workers, runner.cancel):
                now = time.monotonic()
                if each is not None:
                    _, done = each
                    made.add(done.key)
                    made_s += guessed_s[done.key]
                    with _full_disk_reported(out):
                        _keep(done, planned, out)
                    if done.entry.status == "ok":
                        made_again += done.killed
                    else:
                        kind = killed if done.was_given_up else reasons
                        kind[done.key] = str(done.entry.reason)
                        _stop_if(done, out, how)
                if now - shown_at > _TICK_S or len(made) == len(order):
                    shown_at = now
                    per_s = len(made) / (now - started) if made else None
                    left_s = (now - started) * max(all_s / made_s - 1, 0.0) if made else None
                    show(Standing(len(made), len(reasons), len(order), per_s, left_s, len(killed)))
    except BaseException:
        # report why it stops, not that a full disk has no room for the table either
        with contextlib.suppress(MptcplabError):
            index.write(out.out, made)
        raise
    with _full_disk_reported(out):
        index.write(out.out, made)
    return SweepOutcome(
        len(planned.runs),
        len(planned.runs) - len(missing) - len(left_alone),
        len(made) - len(killed),
        reasons,
        len(left_alone),
        time.monotonic() - started,
        killed,
        made_again,
    )


@dataclass(frozen=True)
class DryRun:
    """What a sweep would run. `expected_s` is wall-clock time, with `jobs` runs at a time.

    `known_from` is the number of stored runs it is based on; without any it is a guess.
    """

    points: int
    runs: int
    baselines: int
    stored: int
    failed: int
    to_run: int
    jobs: int
    expected_s: float
    known_from: int

    def text(self) -> str:
        """The estimate in a few lines."""
        plus = f", and {self.baselines} of plain TCP over a path alone" if self.baselines else ""
        if self.known_from:
            source = f"as {self.known_from} stored ones of it took"
        else:
            source = "guessed from rates and durations"
        at = f"{self.points} points" if self.points > 1 else "one point"
        lines = [
            f"runs:     {self.runs}, at {at}{plus}",
            f"stored:   {self.stored}",
            f"to run:   {self.to_run}",
            f"expected: {units.duration(self.expected_s)} with {self.jobs} at a time, {source}",
        ]
        if self.failed:
            lines.insert(2, f"failed:   {self.failed}, which --retry-failed runs again")
        return "\n".join(lines)


def dry_run(planned: Plan, runner: Runner, how: How) -> DryRun:
    """What a sweep would run; nothing is written.

    If all runs are made again anyway, stored ones only tell how long that takes: without the
    packages that read them, it is guessed.
    """
    stored, failed, known = 0, 0, 0
    missing = list(planned.runs)
    costs = Costs({key: run.size for key, run in planned.runs.items()})
    if (runner.out / "runs").is_dir() and not (how.again and extras.missing("sweep")):
        table = index.current(runner.out)
        missing, left_alone = planned.missing(table, runner, how)
        costs, known = planned.costs(table)
        stored, failed = len(planned.runs) - len(missing) - len(left_alone), len(left_alone)
    runner.require_machines(planned.runs[key].kernel for key in missing)
    at_a_time = min(runner.jobs, max(len(missing), 1))
    return DryRun(
        **planned.counts,
        stored=stored,
        failed=failed,
        to_run=len(missing),
        jobs=runner.jobs,
        expected_s=sum(map(costs.of, missing)) / at_a_time,
        known_from=known,
    )


def closing(outcome: SweepOutcome, out: Path, axes: Sequence[str] = (), metric: str = "") -> str:
    """The result of a sweep, and the next commands, in a few lines.

    They do not pool the values of the `axes`; `metric` is the main figure of its runs.
    """
    place = "" if str(out) == "mptcplab-out" else f" --out {out}"
    lines = [
        f"runs:    {outcome.total}, of which {outcome.stored} were stored and {outcome.made} made "
        f"now, in {units.duration(outcome.wall_s)}"
    ]
    lines += counted("failed", outcome.reasons)
    if outcome.failed_before:
        lines.append(f"failed:  {outcome.failed_before} before; --retry-failed runs them again")
    lines += counted("killed", outcome.killed)
    if outcome.killed:
        again = "the same command tries again; fewer --jobs need less memory"
        lines.append(f"         they have no result; {again}")
    if outcome.made_again:
        lines.append(f"killed:  {outcome.made_again} times; those runs were made again")
    columns = ", ".join([*(f'"{name}"' for name in axes), "scheduler"])
    sql = f"SELECT {columns}, median({metric or 'goodput_bps'}) FROM runs"
    sql += " WHERE path IS NULL GROUP BY ALL ORDER BY ALL"
    return "\n".join(
        [
            *lines,
            f"table:   {out / index.TABLE}",
            f"next:    mptcplab results query{place} '{sql}'",
            f"         mptcplab figure {out} -o fig.pdf",
            f"         mptcplab report {out}",
        ]
    )


def counted(title: str, reasons: Mapping[str, str]) -> list[str]:
    """A line for each of the most frequent reasons."""
    found = Counter(reason.splitlines()[0] for reason in reasons.values())
    return [f"{title}:  {count}: {reason}" for reason, count in found.most_common(_REASONS)]


def _tasks(planned: Plan, order: Sequence[str], runner: Runner, how: How) -> Iterator[Task]:
    modules: dict[tuple[KernelBuild, tuple[tuple[str, Path], ...]], dict[str, Path]] = {}
    for key in order:
        each = planned.runs[key]
        needed = each.kernel, tuple(each.request.sources.items())
        if needed not in modules:
            modules[needed] = experiment.modules(each.request, each.kernel)
        traces = each.request.traces
        rig = Rig(each.kernel, planned.guest, modules[needed], traces, how.limits)
        yield runner.task(each.scenario, rig)


def _keep(done: Done, planned: Plan, out: Store) -> None:
    """Put the outcome of a run into the store."""
    if done.entry.status == "ok":
        out.forget_failed(done.key)
    elif not done.was_given_up and not out.is_full(str(done.entry.reason)):
        run = planned.runs[done.key]
        builds = single.builds(run.kernel, planned.guest)
        about = {"entry": done.entry.result(), "scenario": run.scenario, "build": builds}
        out.keep_failed(done.key, about)


def _stop_if(done: Done, out: Store, how: How) -> None:
    reason = done.entry.reason
    if out.is_full(str(reason)):
        raise _full(out)
    if how.fail_fast:
        title = f"{done.entry.label}, seed {done.entry.seed}"
        raise MptcplabError(f"a run failed ({done.key}: {title}): {reason}")


@contextlib.contextmanager
def _full_disk_reported(out: Store) -> Iterator[None]:
    """Reports a full disk as such, with the way to go on, whatever had no space."""
    try:
        yield
    except (OSError, MptcplabError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(out) from error
        raise


def _full(out: Store) -> MptcplabError:
    return MptcplabError(
        f"no space left on the disk of {out.out}; finished runs are kept; "
        "free some space, and the same command resumes"
    )
