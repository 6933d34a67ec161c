# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab run and compare do."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from mptcplab.cli.actions import common, expect_option
from mptcplab.cli.actions.expect_option import Wanted
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import kernel_names, out_of_tree, stock_package
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from mptcplab.report import comparison_chart, expectation_verdicts, tables
from mptcplab.runs import archive, expectations, experiment, store
from mptcplab.runs.entries import Document
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import DOCUMENT
from mptcplab.scenario.resolve import Request

if TYPE_CHECKING:
    from mptcplab import agent


def make(
    request: Request, options: Mapping[str, Any], wanted: Wanted, *, baseline: bool = False
) -> None:
    """Make all runs, store them, and show them; exit status 1 if one failed, and 4 if they do not
    meet what is wanted of them.
    """
    decide = None
    if file := options.get("agent"):
        from mptcplab import agent

        decide, name = agent.read(file)
        request = agent.asking(request, name)
    elif any(each.name == "agent" for each in (*request.schedulers, *request.base.choices())):
        common.say("agent decides as minrtt: there is no agent; --agent FILE.py gives it one")
    if options["only_plan"]:
        _show_plans(request)
        return

    address: str | None = options.get("cluster")
    storage: str | None = options.get("storage")
    if storage is not None:
        archive.require(storage)
    # before anything is written, since a scheduler may not compile
    rigs = experiment.rigs(request, common.limits(options), options["kernel_like"], address)
    out: Path = options["out"]
    common.say_slow(rig.kernel for rig in rigs)
    common.say_losses(request, [rig.kernel for rig in rigs])
    with (
        common.running(options, show=common.progress) as plain,
        _served(plain, decide) as runner,
    ):
        if not options.get("again", True):
            tasks = experiment.tasks(request, rigs, runner, baseline=baseline)
            runner = replace(runner, kept=runner.stored(tasks))
            if kept := sum(task.key in runner.kept for task in tasks):
                of = len(tasks)
                common.say(f"{kept} of {of} runs are stored already; --no-cache repeats them")
        document = experiment.compare(request, rigs, runner, baseline=baseline)
    found = expectations.judge(wanted.expected, document.runs, document.baselines)
    if found:
        document = document.model_copy(update={"expectations": tuple(found)})
        store.write_json(out / DOCUMENT, document)
    try:
        wanted.write(found)
    finally:
        _show(document, out, as_json=options["as_json"])
    entries = (*document.runs, *document.baselines)
    if any(entry.status != "ok" for entry in entries):
        sys.exit(MptcplabError.exit_status)
    expect_option.require(found)


@contextmanager
def _served(runner: Runner, decide: agent.Decide | None) -> Iterator[Runner]:
    """The same runner, whose runs an agent decides in, if there is one: here, in this process."""
    if decide is None:
        yield runner
        return
    from mptcplab.agent import Agents

    if runner.workers is not None:
        raise click.UsageError("--agent is for this machine; leave out --cluster")
    with Agents(decide, runner.jobs) as workers:
        yield replace(runner, workers=workers)


def _show_plans(request: Request) -> None:
    """The plan of each run; for a kernel with the out-of-tree MPTCP, its own.

    Raises InputError for a distribution's kernel, whose plan begins with its package's modules.
    """
    if stock := [name for name in request.kernels if stock_package.is_stock(name)]:
        message = f"such a kernel has its plan as {run_files.PLAN} of a run; leave out --plan"
        raise InputError([Problem("--kernel", "", ", ".join(stock), message)])
    others = [named for named in map(kernel_names.find, request.kernels) if named.is_out_of_tree]
    if len(others) < max(len(request.kernels), 1):
        for item in request.runs():
            click.echo(f"### {common.title(item)}")
            click.echo(plan.render(item))
    for named in others:
        brought = named.brought
        for item in request.runs():
            if item.transport == "tcp" or out_of_tree.runs(item.scheduler, brought):
                click.echo(f"### {common.title(item, named.name)}")
                click.echo(out_of_tree.plan_text(item, brought))


def _show(document: Document, out: Path, *, as_json: bool) -> None:
    # it does not wait for the pictures, which take as long as a short run with all else
    try:
        if as_json:
            click.echo(json.dumps(document.model_dump(mode="json"), indent=1))
        else:
            Console().print(tables.comparison_table(document))
    finally:
        pictures = comparison_chart.write(document, out)
    if as_json:
        return
    # rich would wrap a long path, which could then not be copied
    for picture in pictures:
        if picture.suffix == ".png":
            click.echo(f"picture:  {picture}")
    click.echo(f"document: {out / DOCUMENT}")
    if len(document.runs) == 1 and document.runs[0].directory:
        run = out / document.runs[0].directory
        click.echo(f"run:      {run}")
        if not pictures:
            click.echo(f"picture:  mptcplab show {shlex.quote(str(run))}")
    for line in expectation_verdicts.lines(document.expectations):
        click.echo(line)
