# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab advise does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab.advice import advise, advise_report
from mptcplab.cli.actions import common
from mptcplab.errors import InputError, Problem
from mptcplab.lab import kernel, kernel_names, stock_package
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import cost, experiment
from mptcplab.scenario import congestion, scheduler, uncertainty
from mptcplab.scenario.limits import WORKLOADS

# Options that say how long runs are.
_TIMES = ("duration", "warmup")


def advise_on(file: Path | None, options: Mapping[str, Any]) -> None:
    """Make the runs that advice needs, write it, and show it."""
    wanted = {**options, "scheduler": options["scheduler"] or ",".join(_catalogue())}
    request = common.request(file, wanted, single=False)
    advise.check(request)
    ccs = request.ccs if options["cc"] else congestion.names()
    if request.kernels:
        kernel = _kernel(request.kernels)
        if not options["scheduler"]:
            possible = experiment.schedulers_of(kernel)
            known = [each for each in request.schedulers if each.name in possible]
            request = replace(request, schedulers=tuple(known))
        if not options["cc"] and not kernel.has_framework:
            # others are files of the lab, which such a machine lacks
            ccs = tuple(name for name in ccs if congestion.find(name).file is None)
    known_to = uncertainty.parse(options["uncertain"], request.base)
    timed = file is not None or any(options[name] is not None for name in _TIMES)
    timed = timed or (options["workload"] or "").partition(":")[0] == WORKLOADS[0]
    effort = advise.effort(
        request.base, quick=options["quick"], count=options["count"], is_timed=timed
    )
    question = advise.Question(request, ccs, known_to, effort, options["goals"], options["give_up"])
    most_runs = advise.most_runs(question)

    (rig,) = experiment.rigs(request, common.limits(options))
    common.say_losses(request, [rig.kernel])
    out: Path = options["out"]
    common.say(
        f"schedulers: {len(request.schedulers)}, congestion controls: {len(ccs)}, variations: "
        f"{effort.variations}: up to {most_runs} runs"
    )
    with common.running(options, show=common.rare_progress) as runner:
        there = None if request.kernels else _with_adapter()
        advice = advise.advise(question, rig, runner, common.say, there)
    document = advise_report.write(advice, out)
    pictures = advise_report.write_chart(advice, out)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(advise_report.text(advice) + "\n")
    Console().print(advise_report.table(advice))
    click.echo(advise_report.use(advice) + "\n")
    click.echo(f"picture:  {pictures[0]}")
    click.echo(f"document: {out / advise_report.DOCUMENT}")


def _catalogue() -> list[str]:
    """All schedulers, and those of OpenMPTCProuter that are ours with other parameters."""
    return list(dict.fromkeys((*scheduler.known(), *advise.ROUTER_SCHEDULERS)))


def _with_adapter() -> KernelBuild | None:
    """A kernel by a name of the user's, built as the package needs it, if there is one."""
    for named in kernel_names.known().values():
        build = named.current() if named.variant == kernel.ENGINE_ONLY else None
        if build is not None and build.has_adapter:
            return build
    return None


def _kernel(names: Sequence[str]) -> KernelBuild:
    """The kernel that advice is for. Raises InputError for several, or a distribution's."""
    name, *others = names
    if others or stock_package.is_stock(name):
        message = "advice is for one kernel; name one"
        if not others:
            message = (
                f"a run in a virtual machine takes about {cost.TIMES_AS_LONG:g} times as long, and "
                "advice needs hundreds; accepted is a name of mptcplab kernel list"
            )
        raise InputError([Problem("--kernel", "", ", ".join(names), message)])
    return experiment.kernel_by_name(name)
