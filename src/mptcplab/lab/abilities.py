# SPDX-License-Identifier: GPL-2.0-only
"""The parts of a request that a distribution's kernel, or one with the out-of-tree MPTCP, cannot
run, reported before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.errors import InputError, Problem
from mptcplab.lab import out_of_tree, stock_package
from mptcplab.lab.kernel import KernelBuild
from mptcplab.mistakes import one_of
from mptcplab.scenario import congestion, scheduler
from mptcplab.scenario.limits import DIRECTIONS
from mptcplab.scenario.resolve import Request
from mptcplab.scenario.scheduler import Choice
from mptcplab.scenario.workload import Program

#: The first series of Linux that counts the bytes of an MPTCP connection for programs (MPTCP_INFO),
#: and has net.mptcp.scheduler.
FIRST_SERIES = (6, 6)


def require(request: Request, kernel: KernelBuild) -> None:
    """Raises InputError, with every part of a request that such a kernel cannot run."""
    if problems := list(_problems(request, kernel)):
        raise InputError(problems)


def lacks(request: Request, kernel: KernelBuild) -> str:
    """Why the out-of-tree kernel cannot run a request, in words; "" if it can."""
    kinds = {"--scheduler": "scheduler", "--cc": "congestion control"}
    return "; ".join(
        f"the kernel has no {kinds[each.where]} {each.value}"
        if each.where in kinds
        else each.message
        for each in _problems(request, kernel)
    )


def _problems(request: Request, kernel: KernelBuild) -> Iterator[Problem]:
    stock, base = kernel.stock, request.base
    what = f"{kernel.name} is a distribution's kernel"
    if stock is None:
        what = f"{kernel.name} has the out-of-tree MPTCP"
    if isinstance(base.workload, Program) and stock is not None:
        yield Problem("--kernel", "", kernel.name, f"{what}, whose runs have no programs")
        return
    if base.workload.kind == "tunnel":
        yield Problem("--workload", "workload.kind", "tunnel", f"{what}, whose runs have no tunnel")
        return
    if base.workload.is_crowd:
        message = f"{what}, whose runs have one connection; leave out connections"
        yield Problem("--workload", "workload.connections", "", message)
        return
    if base.connections and stock is not None:
        names = ", ".join(connection.name for connection in base.connections)
        message = f"{what}, whose runs have one connection; leave out connection"
        yield Problem("--connection", "", names, message)
        return
    choices = dict.fromkeys(
        choice
        for pair in base.pairs()
        if pair.connection.transport == "mptcp"
        for choice in (
            request.schedulers
            if pair.connection.scheduler is None
            else (pair.connection.scheduler,)
        )
    )
    if choices:
        known = schedulers(kernel)
        if ours := [each.label for each in choices if not runs_there(each, kernel)]:
            without = "with some of our schedulers" if len(known) > 1 else "without our schedulers"
            if stock is None:
                without = f"without these; {scheduler.DEFAULT} is upstream's"
            message = f"{what}, {without}; accepted is {one_of(known)}"
            yield Problem("--scheduler", "", ", ".join(ours), f"{message}, and --transport tcp")
        if stock is not None and (base.trace or base.states):
            message = f"{what}, which keeps no decisions; leave out decisions and states"
            yield Problem("--kernel", "", kernel.name, message)
        if stock is not None and stock_package.series(stock) < FIRST_SERIES:
            least = ".".join(map(str, FIRST_SERIES))
            message = (
                f"Linux {stock.release} does not count the bytes of an MPTCP connection for "
                f"programs; accepted is {least} or newer, or --transport tcp"
            )
            yield Problem("--kernel", "", kernel.name, message)
    ccs = out_of_tree.CCS if stock is None else stock.ccs
    asked = dict.fromkeys((*request.ccs, *(each.cc for each in base.connections if each.cc)))
    # a distribution's kernel takes the module with its settings
    if lacking := [cc for cc in asked if (congestion.name_of(cc) if stock else cc) not in ccs]:
        message = f"{what}, which lacks it; accepted is one of {', '.join(ccs)}"
        yield Problem("--cc", "", ", ".join(lacking), message)
    if stock is None:
        yield from _lacking(request, what)
        return
    for link in (*base.paths, *base.links):
        for direction in DIRECTIONS:
            shape = getattr(link, direction)
            for key in ("drop", "drop_acks"):
                if getattr(shape, key):
                    message = f"{what}, which cannot lose packets by their numbers; use loss"
                    yield Problem("--path", f"path.{link.name}.{direction}.{key}", "", message)
            if any(rate_bps == 0 for _, rate_bps, *_ in shape.steps):
                message = f"{what}, where packets that wait for a rate above 0 never leave"
                yield Problem("--path", f"path.{link.name}.{direction}.trace", "", message)


def _lacking(request: Request, what: str) -> Iterator[Problem]:
    """The parts of a scenario that the out-of-tree kernel lacks."""
    kinds = {(p.connection.transport, p.connection.scheduler) for p in request.base.pairs()}
    if len(kinds) > 1:
        message = (
            f"{what}, whose scheduler holds for all connections, which are all of MPTCP or TCP"
        )
        yield Problem("--connection", "", "", message)
    if request.base.endpoints == "subflow":
        message = f"{what}, which meshes all addresses; accepted is signal or fullmesh"
        yield Problem("--endpoints", "endpoints", "subflow", message)
    if request.base.blackhole_timeout_s is not None:
        message = f"{what}, which falls back to TCP once, and keeps no time of blackholes"
        yield Problem("--blackhole-timeout", "blackhole_timeout", "", message)


def schedulers(kernel: KernelBuild) -> tuple[str, ...]:
    """The lab's names of the schedulers that such a kernel has."""
    if kernel.stock is None:
        return tuple(out_of_tree.schedulers(kernel.brought))
    return (scheduler.DEFAULT, *kernel.stock.schedulers)


def runs_there(choice: Choice, kernel: KernelBuild) -> bool:
    """Whether such a kernel runs a scheduler: `recovery` needs patches of TCP."""
    if kernel.stock is None:
        return out_of_tree.runs(choice, kernel.brought)
    recovers = choice.changes(scheduler.RECOVERY)
    return choice.name in schedulers(kernel) and choice.digest is None and not recovers
