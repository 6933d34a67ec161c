# SPDX-License-Identifier: GPL-2.0-only
"""Many runs: as many at a time as there are CPUs, each stored, all reported in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from mptcplab import extras
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import (
    choices,
    doctor,
    guest,
    kernel,
    kernel_names,
    stock_machine,
    stock_package,
    stock_scenario,
)
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_commit import Commit
from mptcplab.runs import arrivals, cost
from mptcplab.runs.entries import Document, Entry, document
from mptcplab.runs.single import builds, cpus, measure, own_cpu, run
from mptcplab.runs.store import DOCUMENT, Store, write_json
from mptcplab.runs.tasks import Done, Task, task_of
from mptcplab.runs.workers import InProcesses, InThreads, Workers, performed
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import Request
from mptcplab.traces import link_trace

__all__ = [
    "OutsideError",
    "builds",
    "built",
    "called",
    "compare",
    "cpus",
    "kernels",
    "measure",
    "modules",
    "on_cluster",
    "own_cpu",
    "own_workers",
    "perform",
    "run",
    "run_all",
]

#: Called for every run that has ended: how many have, its scenario and its entry.
Ended = Callable[[int, Scenario, Entry], None]
#: Called ten times a second with the fraction of the work done, from 0 to 1.
Progress = Callable[[float], None]
#: Shown the files of a run as they grow: see Watch.
Look = Callable[[Path], None]


class OutsideError(MptcplabError):
    """A run is missing for a reason outside of its scenario."""


def built(
    kernel_like: str = choices.DEFAULT_FLAVOUR, cluster: str | None = None
) -> tuple[KernelBuild, Guest]:
    """Kernel of a flavour and guest program, built now if missing.

    Raises InputError for an unknown flavour, and MachineError if the machine lacks what a run
    needs, unless a cluster makes the runs.
    """
    return kernel_by_name("", kernel_like, cluster), guest.build()


def kernels(
    request: Request, kernel_like: str = choices.DEFAULT_FLAVOUR, cluster: str | None = None
) -> list[KernelBuild]:
    """The kernels that a request names, or the current one; built now if missing.

    Raises InputError for a name that there is not, or a kernel that cannot run all of the request;
    otherwise as `built`.
    """
    names = request.kernels or ("",)
    for name in filter(None, names):
        if not stock_package.is_stock(name):
            kernel_names.find(name)
    found: dict[str, KernelBuild] = {}
    # first those that may refuse the request: others may have to be built, which takes minutes
    for name in sorted(names, key=stock_package.is_stock, reverse=True):
        found[name] = kernel_by_name(name, kernel_like, cluster)
        require_able(request, found[name])
    for name in names:
        same = [each for each in names if found[each].name == found[name].name]
        if found[name].stock and len(same) > 1:
            message = f"all of these are {found[name].name}; name it once"
            raise InputError([Problem("--kernel", "", ", ".join(same), message)])
    return [found[name] for name in names]


def called(name: str) -> str:
    """What results call the kernel of a name; see `stock_package.name_of`."""
    return stock_package.name_of(name) if stock_package.is_stock(name) else name


def kernel_by_name(
    name: str, kernel_like: str = choices.DEFAULT_FLAVOUR, cluster: str | None = None
) -> KernelBuild:
    """The kernel of a name, built now if missing; that of no name, "", is the current one.

    A named variant, or a distribution's kernel (stock_package.py), is what it is; otherwise the
    kernel is that of the flavour. Raises InputError for an unknown name; otherwise as `built`.
    """
    if kernel_like not in choices.FLAVOURS:
        accepted = f"accepted is one of {', '.join(choices.FLAVOURS)}"
        raise InputError([Problem("kernel_like", "", kernel_like, f"unknown kernel; {accepted}")])
    if stock_package.is_stock(name):
        if cluster is not None:
            message = "kernels of distributions run on this machine; leave out --cluster"
            raise InputError([Problem("--kernel", "", name, message)])
        return stock_machine.ready(stock_package.unpacked(stock_package.packages_of(name)))
    if cluster is None:
        doctor.require(*doctor.RUN_CHECKS)
    variant = choices.FLAVOURS[kernel_like]
    if not name:
        return kernel.build(variant=variant)
    named = kernel_names.find(name)
    if named.variant == choices.FLAVOURS[choices.DEFAULT_FLAVOUR]:
        named = replace(named, variant=variant)
    return kernel_names.build(named)


def require_machines(kernels: Sequence[KernelBuild], jobs: int) -> None:
    """Raises MachineError if this machine cannot make runs with these kernels, `jobs` at a time,
    because some are distributions'.
    """
    stock = [kernel.stock for kernel in kernels if kernel.stock]
    for architecture in {each.architecture for each in stock}:
        stock_machine.require(min(jobs, len(stock)), architecture)


def require_able(request: Request, build: KernelBuild) -> None:
    """Raises InputError for what a kernel cannot run, such as schedulers that it cannot have."""
    base = request.base
    if build.stock:
        stock_scenario.require(request, build)
        return
    if build.has_framework or (base.transport == "tcp" and not base.connections):
        return
    asked = {choice.label for each in request.schedulers for choice in (each, *base.choices())}
    if ours := sorted(asked - {scheduler.DEFAULT}):
        message = (
            f"{build.name} is built without our schedulers; with it, only {scheduler.DEFAULT} and "
            "plain TCP can be run"
        )
        raise InputError([Problem("--scheduler", "", ", ".join(ours), message)])


def modules(request: Request, built: KernelBuild, commit: Commit | None = None) -> dict[str, Path]:
    """The user's own schedulers, compiled: module files by the name of the scheduler.

    `commit` is that of a kernel which is one of a commit.
    Raises MptcplabError with the compiler's message, or if a file was changed after it was read.
    """
    found = {}
    digests = {choice.name: choice.digest for choice in request.schedulers}
    for name, file in request.sources.items():
        found[name] = kernel.module(built, file, commit=commit).path
        if scheduler.read(file, {}).digest != digests[name]:
            raise MptcplabError(f"{file} was changed in the meantime; run it again")
    return found


@contextmanager
def on_cluster(
    address: str | None, say: Callable[[str], None], key: Path | str | None = None
) -> Iterator[Workers | None]:
    """The workers of a cluster, or, without an address, None: those of this machine.

    `say` is called with lines of progress for the user; `key` is the file of the cluster's key,
    by default that of the environment. Raises MptcplabError; see `cluster.OnCluster`.
    """
    if address is None:
        yield None
        return
    try:
        # only for those with a cluster: it takes half a second, and Dask
        from mptcplab.runs.cluster import OnCluster
    except ModuleNotFoundError as error:
        raise extras.lacking("cluster", "a cluster", str(error.name)) from None
    with OnCluster(address, say, key or os.environ.get(choices.KEY_VARIABLE) or None) as workers:
        yield workers


def compare(
    request: Request,
    built: KernelBuild | Sequence[KernelBuild],
    guest: Guest,
    out: Path,
    *,
    baseline: bool = True,
    jobs: int,
    workers: Workers | None = None,
    storage: str | None = None,
    limits: Limits | None = None,
    progress: Progress = lambda _share: None,
    ended: Ended = lambda _count, _scenario, _entry: None,
    cancel: threading.Event | None = None,
) -> Document:
    """Make all runs and baselines of a request; returns the document, also put into `out`.

    With several kernels, all of them are made with each, in their order.
    """
    kernels = [built] if isinstance(built, KernelBuild) else built
    alone = request.baselines() if baseline else []
    # before anything is written, since a scheduler may not compile
    own = [modules(request, each) for each in kernels]
    store = Store(out)
    tasks = [
        task_of(
            scenario,
            each,
            guest,
            modules=compiled,
            traces=request.traces,
            limits=limits,
            out=out,
            storage=storage,
        )
        for scenarios in (alone, request.runs())
        for each, compiled in zip(kernels, own, strict=True)
        for scenario in scenarios
    ]
    made = perform(
        tasks,
        store,
        jobs=jobs,
        workers=workers,
        progress=progress,
        ended=ended,
        cancel=cancel,
    )
    first = len(alone) * len(kernels)
    about = _builds_of_all(kernels, guest)
    compared = document(made[first:], made[:first], about, request.base)
    write_json(out / DOCUMENT, compared)
    return compared


def _builds_of_all(kernels: Sequence[KernelBuild], guest: Guest) -> dict[str, str]:
    """The builds of a comparison: of several kernels, what they differ in, in their order."""
    every = [builds(each, guest) for each in kernels]
    names = dict.fromkeys(name for each in every for name in each)
    return {
        name: ", ".join(dict.fromkeys(each[name] for each in every if name in each))
        for name in names
    }


def run_all(
    scenarios: Sequence[Scenario],
    built: KernelBuild,
    guest: Guest,
    out: Store,
    *,
    modules: Mapping[str, Path] | None = None,
    traces: Mapping[tuple[str, str], link_trace.Source] | None = None,
    jobs: int,
    workers: Workers | None = None,
    keep_records: bool = True,
    storage: str | None = None,
    limits: Limits | None = None,
    progress: Progress = lambda _share: None,
    ended: Ended = lambda _count, _scenario, _entry: None,
    look: Look | None = None,
    cancel: threading.Event | None = None,
    strict: bool = False,
) -> list[Entry]:
    """Run every scenario and return an entry of the document for each, in the order given.

    `modules` has the module of each of the user's own schedulers, by name, and `traces` the traces
    played on each path, which are kept with the runs. A failed run gives an entry with the reason,
    and the others go on. Setting `cancel` ends the running runs, keeps those that have ended, and
    raises RunCancelledError. `workers` make the runs, by default `jobs` processes of this machine.
    `look` is for single runs, which this process makes itself. Without `keep_records` only series
    are kept of them; with `storage`, a URL, they are kept there (see `archive`). With `strict`, the
    first run that is missing for a reason outside of its scenario, such as a limit or a full disk,
    raises OutsideError.
    """
    tasks = [
        task_of(
            scenario,
            built,
            guest,
            modules=modules,
            traces=traces,
            limits=limits,
            out=out.out,
            keep_records=keep_records,
            storage=storage,
        )
        for scenario in scenarios
    ]
    return perform(
        tasks,
        out,
        jobs=jobs,
        workers=workers,
        progress=progress,
        ended=ended,
        look=look,
        cancel=cancel,
        strict=strict,
    )


def perform(
    tasks: Sequence[Task],
    out: Store,
    *,
    jobs: int,
    workers: Workers | None = None,
    progress: Progress = lambda _share: None,
    ended: Ended = lambda _count, _scenario, _entry: None,
    cancel: threading.Event | None = None,
    look: Look | None = None,
    strict: bool = False,
) -> list[Entry]:
    """The entries of some tasks, which may be of several kernels, performed as `run_all` says."""
    require_machines([task.kernel for task in tasks], jobs)
    out.remove_abandoned()
    entries: list[Entry | None] = [None] * len(tasks)
    expected_s = {
        task.key: cost.times_as_long(task.kernel) * cost.expected_virtual_s(task.scenario)
        for task in tasks
    }
    all_s, ended_s, count = sum(expected_s[task.key] for task in tasks), 0.0, 0
    own = nullcontext(workers) if workers else _workers_of(min(jobs, len(tasks)), look)
    with own as chosen:
        for done in performed(tasks, chosen, cancel or threading.Event()):
            if done is not None:
                number, result = done
                if strict:
                    _require_of_scenario(result, out)
                if result.files is not None:
                    arrivals.unpack(result, out)
                name = tasks[number].kernel.name or None
                entry = result.entry.model_copy(update={"kernel": name})
                entries[number] = entry
                ended_s += expected_s[result.key]
                count += 1
                ended(count, tasks[number].scenario, entry)
            # a copy: workers write to it meanwhile
            now = dict(chosen.virtual_s)
            moving_s = sum(min(now_s, expected_s[k]) for k, now_s in now.items())
            progress((ended_s + moving_s) / all_s)
    return [entry for entry in entries if entry is not None]


def _require_of_scenario(done: Done, out: Store) -> None:
    reason = done.entry.reason
    if reason is not None and (done.outside or out.is_full(reason)):
        raise OutsideError(reason)


def own_workers(jobs: int) -> Workers:
    """Workers of this machine, to make several lots of runs with: starting them takes a moment."""
    return _workers_of(jobs, None)


def _workers_of(jobs: int, look: Look | None) -> Workers:
    """Single runs are made in this process, which saves starting another."""
    return InProcesses(jobs) if jobs > 1 else InThreads(1, look)
