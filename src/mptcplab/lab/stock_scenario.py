# SPDX-License-Identifier: GPL-2.0-only
"""The parts of a request that a distribution's kernel cannot run, reported before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mptcplab.errors import InputError, Problem
from mptcplab.lab import stock_package
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
    """Raises InputError, with every part of a request that a distribution's kernel cannot run."""
    if problems := list(_problems(request, kernel)):
        raise InputError(problems)


def _problems(request: Request, kernel: KernelBuild) -> Iterator[Problem]:
    stock, base = kernel.stock, request.base
    assert stock is not None
    what = f"{kernel.name} is a distribution's kernel"
    if isinstance(base.workload, Program):
        yield Problem("--kernel", "", kernel.name, "a distribution's kernel runs no programs")
        return
    if base.workload.kind == "tunnel":
        yield Problem("--workload", "workload.kind", "tunnel", f"{what}, whose runs have no tunnel")
        return
    if base.workload.is_crowd:
        message = f"{what}, whose runs have one connection; leave out connections"
        yield Problem("--workload", "workload.connections", "", message)
        return
    if base.connections:
        names = ", ".join(connection.name for connection in base.connections)
        message = f"{what}, whose runs have one connection; leave out connection"
        yield Problem("--connection", "", names, message)
        return
    if base.transport == "mptcp":
        known = (scheduler.DEFAULT, *stock.schedulers)
        if ours := [each.label for each in request.schedulers if not _runs_there(each, known)]:
            without = (
                "with some of our schedulers" if stock.schedulers else "without our schedulers"
            )
            message = f"{what}, {without}; accepted is {one_of(known)}"
            yield Problem("--scheduler", "", ", ".join(ours), f"{message}, and --transport tcp")
        if base.trace or base.states:
            message = f"{what}, which keeps no decisions; leave out decisions and states"
            yield Problem("--kernel", "", kernel.name, message)
        if stock_package.series(stock) < FIRST_SERIES:
            least = ".".join(map(str, FIRST_SERIES))
            message = (
                f"Linux {stock.release} does not count the bytes of an MPTCP connection for "
                f"programs; accepted is {least} or newer, or --transport tcp"
            )
            yield Problem("--kernel", "", kernel.name, message)
    if lacking := [cc for cc in request.ccs if congestion.name_of(cc) not in stock.ccs]:
        message = f"{what}, which lacks it; accepted is one of {', '.join(stock.ccs)}"
        yield Problem("--cc", "", ", ".join(lacking), message)
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


def _runs_there(choice: Choice, known: Collection[str]) -> bool:
    """Whether a kernel with these schedulers runs this one: `recovery` needs patches of TCP."""
    recovers = choice.changes(scheduler.RECOVERY)
    return choice.name in known and choice.digest is None and not recovers
