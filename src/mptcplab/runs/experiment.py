# SPDX-License-Identifier: GPL-2.0-only
"""What a request is run with, its kernels and the user's own schedulers, and its comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mptcplab import extras
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import (
    abilities,
    adapter,
    choices,
    doctor,
    guest,
    kernel,
    kernel_names,
    stock_machine,
    stock_package,
)
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_files import Commit
from mptcplab.runs.entries import Document, document
from mptcplab.runs.runner import Runner
from mptcplab.runs.single import builds
from mptcplab.runs.store import DOCUMENT, write_json
from mptcplab.runs.tasks import Task
from mptcplab.runs.workers import Workers
from mptcplab.scenario import scheduler
from mptcplab.scenario.resolve import Request


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
    # kernels that may refuse the request come first: building others takes minutes
    for name in sorted(names, key=stock_package.is_stock, reverse=True):
        found[name] = kernel_by_name(name, kernel_like, cluster)
        require_able(runs_there(request, found[name]), found[name])
    for name in names:
        same = [each for each in names if found[each].name == found[name].name]
        if found[name].stock and len(same) > 1:
            message = f"all of these are {found[name].name}; name it once"
            raise InputError([Problem("--kernel", "", ", ".join(same), message)])
    return [found[name] for name in names]


def runs_there(request: Request, build: KernelBuild) -> Request:
    """The request without the schedulers that the out-of-tree kernel lacks, if another kernel runs
    them and it runs some.
    """
    if not build.is_out_of_tree or request.base.transport == "tcp" or len(request.kernels) < 2:
        return request
    there = tuple(each for each in request.schedulers if abilities.runs_there(each, build))
    return replace(request, schedulers=there or request.schedulers)


def called(name: str) -> str:
    """What results call the kernel of a name; see `stock_package.name_of`."""
    return stock_package.name_of(name) if stock_package.is_stock(name) else name


def kernel_by_name(
    name: str, kernel_like: str = choices.DEFAULT_FLAVOUR, cluster: str | None = None
) -> KernelBuild:
    """The kernel of a name, built now if missing; the name "" is the current kernel.

    A named variant, the out-of-tree MPTCP, or a distribution's kernel (stock_package.py) has no
    flavours: another one than the default is an InputError, as an unknown name is; otherwise as
    `built`.
    """
    if kernel_like not in choices.FLAVOURS:
        accepted = f"accepted is one of {', '.join(choices.FLAVOURS)}"
        raise InputError([Problem("kernel_like", "", kernel_like, f"unknown kernel; {accepted}")])
    stock, lab_variant = stock_package.is_stock(name), choices.FLAVOURS[choices.DEFAULT_FLAVOUR]
    named = kernel_names.find(name) if name and not stock else None
    if (kernel_like != choices.DEFAULT_FLAVOUR and name) and (
        named is None or named.variant != lab_variant or named.is_out_of_tree
    ):
        message = f"{name} is one kernel, which has no flavours; leave it out"
        raise InputError([Problem("--kernel-like", "", kernel_like, message)])
    if stock:
        if cluster is not None:
            message = "kernels of distributions run on this machine; leave out --cluster"
            raise InputError([Problem("--kernel", "", name, message)])
        unpacked = stock_package.unpacked(stock_package.packages_of(name))
        stock_machine.require()
        return unpacked
    if cluster is None:
        doctor.require(*doctor.RUN_CHECKS)
    variant = choices.FLAVOURS[kernel_like]
    if named is None:
        return kernel.build(variant=variant)
    if named.variant == lab_variant:
        named = replace(named, variant=variant)
    return kernel_names.build(named)


def require_able(request: Request, build: KernelBuild) -> None:
    """Raises InputError for what a kernel cannot run, such as schedulers that it cannot have."""
    base = request.base
    if build.stock or build.is_out_of_tree:
        abilities.require(request, build)
        return
    if base.transport == "tcp" and not base.connections:
        return
    asked = {
        choice.label: choice for each in request.schedulers for choice in (each, *base.choices())
    }
    if build.has_framework:
        _require_no_grain(asked, build)
    elif build.has_adapter:
        _require_without_patches(asked, build)
    elif ours := sorted(asked.keys() - {scheduler.DEFAULT}):
        message = (
            f"{build.name} is built without our schedulers; with it, only {scheduler.DEFAULT} and "
            "plain TCP can be run"
        )
        raise InputError([Problem("--scheduler", "", ", ".join(ours), message)])


def schedulers_of(build: KernelBuild) -> tuple[str, ...]:
    """The schedulers of the lab that a kernel can have."""
    if build.has_framework:
        return kernel.schedulers()
    if build.is_out_of_tree:
        return abilities.schedulers(build)
    return (scheduler.DEFAULT, *(adapter.carried() if build.has_adapter else ()))


def _require_no_grain(asked: Mapping[str, scheduler.Choice], build: KernelBuild) -> None:
    """Raises InputError for the grain of choices, where a choice is for a segment."""
    grain = scheduler.GRAIN.name
    message = (
        f"{grain} is for kernels without our patches for MPTCP (mptcplab kernel build "
        f"--engine-only); in {build.name or 'the lab'}, a choice is for one segment"
    )
    problems = [
        Problem("--scheduler", "", label, message)
        for label, choice in asked.items()
        if choice.changes(scheduler.GRAIN)
    ]
    if problems:
        raise InputError(problems)


def _require_without_patches(asked: Mapping[str, scheduler.Choice], build: KernelBuild) -> None:
    """Raises InputError for schedulers and parameters that need our patches for MPTCP."""
    refused, problems = kernel.refused_by_adapter(), []
    for label, choice in asked.items():
        why = refused.get(choice.name) if choice.digest is None else None
        if choice.changes(scheduler.RECOVERY):
            why = f"{scheduler.RECOVERY.name} changes TCP"
        if why:
            message = f"{build.name} is built without our patches for MPTCP, which it needs: {why}"
            problems.append(Problem("--scheduler", "", label, message))
    if problems:
        raise InputError(problems)


def modules(request: Request, built: KernelBuild, commit: Commit | None = None) -> dict[str, Path]:
    """The user's own schedulers, compiled: module files by the name of the scheduler.

    `commit` is the commit of the kernel, if it is built from one.
    Raises MptcplabError with the compiler's message, or if a file was changed after it was read.
    """
    found = {}
    digests = {choice.name: choice.digest for choice in request.schedulers}
    for name, file in request.sources.items():
        found[name] = kernel.module(built, file, commit=commit).path
        if scheduler.read(file, {}).digest != digests[name]:
            raise MptcplabError(f"{file} was changed in the meantime; run it again")
    return found


def rigs(
    request: Request,
    limits: Limits,
    kernel_like: str = choices.DEFAULT_FLAVOUR,
    cluster: str | None = None,
) -> list[Rig]:
    """What a request is run with: a rig for each of its kernels. Raises as `kernels`, `modules`."""
    found, program = kernels(request, kernel_like, cluster), guest.build()
    return [Rig(each, program, modules(request, each), request.traces, limits) for each in found]


@contextmanager
def on_cluster(
    address: str | None, say: Callable[[str], None], key: Path | str | None = None
) -> Iterator[Workers | None]:
    """The workers of a cluster; without an address None, for the workers of this machine.

    `say` is called with lines of progress for the user; `key` is the file of the cluster's key,
    by default from the environment. Raises MptcplabError; see `cluster.OnCluster`.
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


def tasks(request: Request, rigs: Sequence[Rig], runner: Runner, *, baseline: bool) -> list[Task]:
    """The baselines and then the runs of a request, with each rig, but for those that its kernel
    lacks the scheduler for.
    """
    alone = request.baselines() if baseline else []
    of_each = [(rig, alone) for rig in rigs]
    of_each += [(rig, runs_there(request, rig.kernel).runs()) for rig in rigs]
    return [runner.task(scenario, rig) for rig, scenarios in of_each for scenario in scenarios]


def compare(
    request: Request, rigs: Sequence[Rig], runner: Runner, *, baseline: bool = True
) -> Document:
    """Make all runs and baselines of a request with each rig, in their order; returns the document,
    also put beside the runs.
    """
    made = list(runner.perform(tasks(request, rigs, runner, baseline=baseline)))
    first = len(request.baselines()) * len(rigs) if baseline else 0
    compared = document(made[first:], made[:first], _builds_of_all(rigs), request.base)
    write_json(runner.out / DOCUMENT, compared)
    return compared


def _builds_of_all(rigs: Sequence[Rig]) -> dict[str, str]:
    """The builds of a comparison: of several kernels, what they differ in, in their order."""
    every = [builds(each.kernel, each.guest) for each in rigs]
    names = dict.fromkeys(name for each in every for name in each)
    return {
        name: ", ".join(dict.fromkeys(each[name] for each in every if name in each))
        for name in names
    }
