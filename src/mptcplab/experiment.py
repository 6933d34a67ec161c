# SPDX-License-Identifier: GPL-2.0-only
"""Many runs: as many at a time as there are CPUs for, each stored, all reported in order."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from mptcplab import (
    __version__,
    doctor,
    engine,
    plan,
    recorded,
    records,
    report,
    sharing,
    store,
    timeline,
    trace,
    workload,
)
from mptcplab.application import application_figures
from mptcplab.engine import Limits, Outcome, RunCancelledError, Watch
from mptcplab.errors import MptcplabError, RunError
from mptcplab.guest import Guest
from mptcplab.kernel import KernelBuild
from mptcplab.metrics import RunMetrics, run_metrics
from mptcplab.report import Entry
from mptcplab.scenario import Request, Scenario
from mptcplab.store import Store
from mptcplab.workload import Program

_TICK_S = 0.1

#: Told of every run that has ended: how many have, its scenario and its entry.
Ended = Callable[[int, Scenario, Entry], None]
#: Told ten times a second how much of the work is done, from 0 to 1.
Progress = Callable[[float], None]
#: Shown the directory of a run, again and again: see Watch.
Look = Callable[[Path], None]


def cpus() -> list[int]:
    """The CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))


def builds(kernel: KernelBuild, guest: Guest) -> dict[str, str]:
    """What a run is made with besides its scenario, as documents name it."""
    return {"kernel": kernel.id, "guest": guest.id, "mptcplab": __version__}


def baselines(request: Request) -> list[Scenario]:
    """Plain TCP over each path alone, for each congestion control and seed: what the aggregation
    benefit refers to.

    A comparison of plain TCP, of several connections, or over a single path, has none; nor has a
    path that an event closes or leaves down, over which TCP alone would never come to an end.
    """
    base = request.base
    if base.transport == "tcp" or base.connections or len(base.paths) < 2:
        return []
    alone = dict.fromkeys((scenario.cc, scenario.seed) for scenario in request.runs())
    return [
        request.base.with_(cc=cc, seed=seed).single_path(name)
        for cc, seed in alone
        for name in request.base.lasting_paths()
    ]


def run_all(
    scenarios: Sequence[Scenario],
    kernel: KernelBuild,
    guest: Guest,
    out: Store,
    *,
    modules: Mapping[str, Path] | None = None,
    traces: Mapping[tuple[str, str], trace.Source] | None = None,
    jobs: int,
    limits: Limits | None = None,
    progress: Progress = lambda _share: None,
    ended: Ended = lambda _count, _scenario, _entry: None,
    look: Look = lambda _directory: None,
    cancel: threading.Event | None = None,
) -> list[Entry]:
    """Run every scenario and give an entry of the document for each, in the order given.

    `modules` has the module of each scheduler that is a person's own, by name, and `traces` what is
    played on which path and is kept with its runs. A run that fails is an entry that says why, and
    the others go on. Setting `cancel` ends the runs under way, keeps those that have ended, and
    raises RunCancelledError.
    """
    cancel = cancel or threading.Event()
    modules = modules or {}
    virtual_s = [0.0] * len(scenarios)
    expected_s = [_expected_virtual_s(scenario) for scenario in scenarios]

    def one(index: int) -> Entry:
        def moved(now_s: float) -> None:
            virtual_s[index] = min(now_s, expected_s[index])

        watch = Watch(moved, look, cancel)
        entry = _run_one(
            *(scenarios[index], kernel, guest, out),
            *(modules, traces or {}, limits or Limits(), watch),
        )
        virtual_s[index] = expected_s[index]
        return entry

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures: list[Future[Entry]] = [pool.submit(one, i) for i in range(len(scenarios))]
        try:
            waiting, count = set(futures), 0
            while waiting:
                done, waiting = wait(waiting, timeout=_TICK_S)
                for future in sorted(done, key=futures.index):
                    count += 1
                    ended(count, scenarios[futures.index(future)], future.result())
                progress(sum(virtual_s) / sum(expected_s))
        finally:
            # after an error, too, no run may go on that nobody waits for
            if any(not future.done() for future in futures):
                cancel.set()
                pool.shutdown(wait=True, cancel_futures=True)
    return [future.result() for future in futures]


def measure(
    scenario: Scenario,
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    *,
    modules: Mapping[str, Path] | None = None,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> tuple[Outcome, RunMetrics]:
    """One run on a CPU of its own, with its files in `directory`, and its figures.

    `modules` must have that of the scenario's scheduler, by name, if it is a person's own.
    """
    outcome = run(scenario, kernel, guest, directory, modules=modules, limits=limits, watch=watch)
    return outcome, figures(scenario, outcome)


def run(
    scenario: Scenario,
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    *,
    modules: Mapping[str, Path] | None = None,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """One run, as `measure` makes it."""
    own = {
        choice.name: (modules or {})[choice.name]
        for choice in (*scenario.choices(), scenario.scheduler)
        if choice.digest is not None
    }
    with own_cpu() as cpu:
        return engine.run(
            scenario,
            plan.render(scenario),
            kernel,
            guest,
            directory,
            modules=own,
            cpu=cpu,
            limits=limits,
            watch=watch,
        )


def figures(scenario: Scenario, outcome: Outcome) -> RunMetrics:
    """The figures of a run that has ended well."""
    samples = engine.read_samples(scenario, outcome.directory)
    queues = records.read_links(outcome.directory / engine.LINKS_SAMPLES)
    file = outcome.directory / engine.MESSAGES
    messages = records.read_messages(file) if file.exists() else None
    if scenario.connections:
        assert messages is not None, "only programs have none"
        return sharing.figures(scenario, samples, outcome.guest, queues, messages)
    found = run_metrics(scenario, samples["client"], samples["server"], outcome.guest, queues)
    start_ns = int(outcome.guest["start_ns"])
    seen = application_figures(scenario, messages, start_ns)
    shared = []
    if scenario.links:
        times = recorded.sample_times(samples, queues)
        interval = recorded.measured_interval(scenario, "run", times, outcome.guest)
        shared = list(sharing.link_metrics(scenario, queues, interval, start_ns))
    return replace(found, metrics=found.metrics | seen, links=shared)


def _run_one(
    scenario: Scenario,
    kernel: KernelBuild,
    guest: Guest,
    out: Store,
    modules: Mapping[str, Path],
    traces: Mapping[tuple[str, str], trace.Source],
    limits: Limits,
    watch: Watch,
) -> Entry:
    if watch.cancel.is_set():
        raise RunCancelledError
    key = store.run_key(scenario, kernel, guest)
    try:
        with out.new_run(key) as directory:
            outcome = run(
                scenario, kernel, guest, directory, modules=modules, limits=limits, watch=watch
            )
            measured, about = _program_figures(scenario, outcome)
            entry = report.run_entry(
                scenario,
                status="ok",
                virtual_s=outcome.virtual_s,
                wall_s=outcome.wall_s,
                run_metrics=measured,
                directory=str(out.directory(key).relative_to(out.out)),
            )
            store.keep_traces(directory, scenario, traces)
            entry |= about
            store.write_json(directory / store.SCENARIO, scenario.model_dump(mode="json"))
            store.write_json(directory / store.BUILD, builds(kernel, guest))
            result = {name: value for name, value in entry.items() if name != "wall_s"}
            store.write_json(directory / store.RESULT, result)
            cost = {
                name: getattr(outcome, name)
                for name in ("wall_s", "start_s", "user_s", "system_s", "memory_bytes")
            }
            store.write_json(directory / store.COST, cost)
    except RunCancelledError:
        raise
    except (MptcplabError, OSError) as error:  # OSError: the disk was full before or after the run
        return report.run_entry(
            scenario,
            status="failed",
            reason=str(error).removeprefix("mptcplab: "),
            virtual_s=None,
            wall_s=None,
            run_metrics=None,
            directory=None,
        )
    return entry


def _program_figures(
    scenario: Scenario, outcome: Outcome
) -> tuple[RunMetrics | None, dict[str, Any]]:
    """The figures of a run, and what its entry says besides of programs.

    A program may make no connection, or what has no figures: it has still run.
    """
    if not isinstance(scenario.workload, Program):
        return figures(scenario, outcome), {}
    about = {name: outcome.guest[name] for name in ("client_status", "server_status")}
    try:
        return figures(scenario, outcome), about
    except RunError as error:
        return None, {**about, "no_figures": error.reason}


def _expected_virtual_s(scenario: Scenario) -> float:
    """A guess of how long a run takes in virtual time; only for progress."""
    expected_ns = [0]
    for pair in scenario.pairs():
        one = scenario.alone(pair)
        up_bps, down_bps = (
            sum(rates[0][1] for rates in timeline.rates(one, way).values())
            for way in ("up", "down")
        )
        own_ns = workload.expected_ns(one.workload, scenario.seed, up_bps, down_bps)
        expected_ns.append(one.start_ns + own_ns)
    return 2 + max(expected_ns) / 1e9


@contextlib.contextmanager
def own_cpu() -> Iterator[int]:
    """A CPU for one run, locked against other runs, of this process and of others.

    With more runs than CPUs, the further ones share them.
    """
    directory = doctor.cache_dir() / "cpu"
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        for cpu in cpus():
            lock = stack.enter_context(Path(directory / str(cpu)).open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield cpu
            return
        yield cpus()[threading.get_ident() % len(cpus())]
