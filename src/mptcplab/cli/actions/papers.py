# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab papers does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import click

from mptcplab.cli.actions import common
from mptcplab.errors import InputError, MptcplabError, Problem, RunCancelledError
from mptcplab.lab import guest, kernel, kernel_names, stock_package
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.mistakes import suggestion
from mptcplab.papers import catalogue, data, reproduce, results, stale
from mptcplab.papers import publish as publishing
from mptcplab.papers.catalogue import PUBLISHED, QUICK, Published
from mptcplab.papers.reproduce import Reproduced
from mptcplab.runs import experiment
from mptcplab.scenario import scheduler
from mptcplab.scenario.fields import read_kernels
from mptcplab.units import counted


def run(names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Run experiments and judge the claims by them; if one fails, the others go on.

    Raises InputError with every unknown scheduler that is to be left out.
    """
    everything = [catalogue.load(name) for name in catalogue.chosen(names)]
    leave_out = [name.strip() for name in options["leave_out"].split(",") if name.strip()]
    known = list(scheduler.known())
    problems = [
        Problem("--leave-out", "", name, f"no such scheduler{suggestion(name, known)}")
        for name in leave_out
        if name not in known
    ]
    if problems:
        raise InputError(problems)
    perform(everything, _parts(everything, options), options, results.text, leave_out)


def perform(
    everything: Sequence[Published],
    parts: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
    text: Callable[[Reproduced], str],
    leave_out: Sequence[str] = (),
) -> None:
    """Run these parts of experiments with each kernel, without some schedulers, and show each
    result as its `text`; if one fails, the others go on.
    """
    kernels, lab_guest = _builds(options["kernel"], options["cluster"])
    failed = False
    with common.running(options, show=common.progress) as runner:
        for published, lab_kernel in product(everything, kernels):
            if not parts[published.name]:
                continue
            own = runner
            if lab_kernel.name:
                own = replace(runner, out=runner.out / "kernels" / lab_kernel.name)
                common.say(f"kernel {lab_kernel.name}: {own.out}")
            if len(everything) > 1:
                common.say(f"{published.name}: {', '.join(parts[published.name])}")
            try:
                found = reproduce.run(
                    published,
                    lab_kernel,
                    lab_guest,
                    own,
                    parts=parts[published.name],
                    repeat=options["repeat"],
                    leave_out=leave_out,
                    say=common.say,
                )
            except RunCancelledError:
                raise
            except MptcplabError as error:
                if len(everything) * len(kernels) == 1:
                    raise
                common.say(f"{published.name}: {error!s}")
                failed = True
                continue
            if len(kernels) > 1:
                click.echo(f"kernel {lab_kernel.name}:")
            click.echo(text(found) + "\n")
    if failed:
        sys.exit(MptcplabError.exit_status)


def _builds(names: str | None, cluster: str | None) -> tuple[list[KernelBuild], Guest]:
    """The kernels to run experiments with, and the guest. Raises InputError for what cannot run
    them all.
    """
    if names is None:
        lab_kernel, lab_guest = experiment.built(cluster=cluster)
        return [lab_kernel], lab_guest
    try:
        asked = read_kernels([name.strip() for name in names.split(",")])
    except ValueError as error:
        raise InputError([Problem("--kernel", "", names, str(error))]) from None
    for name in asked:
        if stock_package.is_stock(name):
            # each experiment finds out whether it can run there
            continue
        if kernel.VARIANTS.get(kernel_names.find(name).variant) != ():
            message = "experiments of papers need a kernel of the variant lab"
            raise InputError([Problem("--kernel", "", name, message)])
    kernels = [experiment.kernel_by_name(name, cluster=cluster) for name in asked]
    common.say_slow(kernels)
    return kernels, guest.build()


def _parts(everything: Sequence[Published], options: Mapping[str, Any]) -> dict[str, list[str]]:
    """Which parts to run of each experiment. Raises InputError with every unknown variant."""
    if options["variant"] and (options["variants"] or options["quick"]):
        raise click.UsageError("--variant runs this part alone, without --quick or --variants")
    known = {variant: None for each in everything for variant in each.experiment.variants()}
    problems = []
    for name in options["variant"]:
        if name not in known:
            hint = suggestion(name, list(known)) or f"; known: {', '.join(known) or 'none'}"
            problems.append(Problem("--variant", "", name, f"no such variant{hint}"))
    if problems:
        raise InputError(problems)
    found = {}
    for each in everything:
        own = each.experiment
        if options["variant"]:
            parts = [name for name in own.variants() if name in options["variant"]]
        else:
            parts = [QUICK if options["quick"] else PUBLISHED]
        if options["variants"]:
            # variants are compared with the quick part, which may be some of all runs
            parts += [QUICK] if own.quick.scenario and PUBLISHED in parts else []
            parts += own.variants()
        found[each.name] = parts
    return found


def show(names: Sequence[str], out: Path, *, quick: bool) -> None:
    """Show the results of experiments, and their missing runs; one without results is skipped."""
    everything = catalogue.chosen(names)
    failed = False
    for name in everything:
        try:
            found = reproduce.read(catalogue.load(name), out, quick=quick)
        except MptcplabError as error:
            if len(everything) == 1:
                raise
            common.say(f"{name}: {error!s}")
            failed = True
            continue
        click.echo(results.text(found) + "\n")
        for line in _missing(found):
            common.say(line)
    if failed:
        sys.exit(MptcplabError.exit_status)


def _missing(found: Reproduced) -> Iterator[str]:
    """The runs that a full result still needs."""
    for part in found.missing:
        runs = counted(found.published.experiment.part(part).runs(), "run")
        again = " again: the experiment has changed since" if part in found.outdated else ""
        yield f"not run{again}: {part}, {runs}: {reproduce.command(found.published, part)}"


def publish(directory: Path, out: Path) -> None:
    """Write the pages of all experiments, from the runs in `out` and the data in `directory`."""
    everything = [catalogue.load(name) for name in catalogue.names()]
    kernels = publishing.kernels(directory, out)
    now = stale.now(directory / data.DATA, kernels)
    if unknown := [name or "the lab's" for name in ("", *kernels) if name not in now]:
        which = f"these kernels are not built: {', '.join(unknown)}"
        common.say(f"{which}; their stale results are not marked; mptcplab kernel build")
    for file in publishing.publish(directory, out, now, everything):
        click.echo(f"written: {file}")
