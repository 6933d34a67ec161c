# SPDX-License-Identifier: GPL-2.0-only
"""What mptcplab selftests does."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from mptcplab import files
from mptcplab.cli.actions import common
from mptcplab.errors import MptcplabError, NotMetError
from mptcplab.lab import doctor
from mptcplab.runs.store import make_directory
from mptcplab.scenario.scheduler import ALL, known
from mptcplab.selftests import campaign, expected_failures, jobs, packetdrill, reports, scripts
from mptcplab.selftests.campaign import Campaign, Kernels, Suite, Wanted
from mptcplab.selftests.expected_failures import Expectations
from mptcplab.selftests.scripts import Script

_STANDARD_OUTPUT = "-"
_RESULTS = "results.txt"
_WIDTH = 120


def test(names: Sequence[str], schedulers: Sequence[str], options: Mapping[str, Any]) -> None:
    """Run the selftests in the kernels of these names, or without any in that of the current
    source, and show how they came out.

    Raises NotMetError if one is worse than upstream, or repeats differ, and MptcplabError if a
    script did not come to its end.
    """
    if ALL in schedulers:
        schedulers = list(known())
    wanted = Wanted(options["only"], tuple(schedulers), options["repeat"], options["strict"])
    campaign.check(wanted, names, _given(options))
    _check_reports(options)
    listed = expected_failures.listed()
    with _alone(options["out"]):
        for file in (options["tap"], options["junit"]):
            if file is not None and str(file) != _STANDARD_OUTPUT:
                common.make_way(file)
        suites = _suites(names, wanted, listed, options)
        _write(suites, options)
    _require(suites)


def _check_reports(options: Mapping[str, Any]) -> None:
    """Raises click.UsageError for a report that would take the place of another, or is no file."""
    if str(options["junit"]) == _STANDARD_OUTPUT:
        raise click.UsageError("--junit takes a file; only --tap can be printed, with -")
    places = {options["out"].resolve() / _RESULTS: f"{_RESULTS} of --out"}
    for option in ("--tap", "--junit"):
        file: Path | None = options[option.removeprefix("--")]
        if file is None or str(file) == _STANDARD_OUTPUT:
            continue
        # a link would be replaced itself
        other = places.setdefault(file.parent.resolve() / file.name, option)
        if other != option:
            raise click.UsageError(f"{option} {file} is the file of {other}; choose another")


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keeps other calls from the output directory: they would remove its runs.

    Raises MptcplabError if it cannot be written to, or another call is at work there.
    """
    make_directory(out)
    with ExitStack() as stack:
        try:
            stack.enter_context(files.locked(out, wait=False))
        except BlockingIOError:
            raise MptcplabError(
                f"another mptcplab selftests works in {out}: wait for its end, or choose "
                "another directory with --out"
            ) from None
        yield


def _suites(
    names: Sequence[str], wanted: Wanted, listed: Expectations, options: Mapping[str, Any]
) -> list[Suite]:
    """Builds missing kernels, runs the scripts, and judges them."""
    program: Path | None = options["packetdrill"]
    packets = [packetdrill.prepare(program, options["packetdrill_scripts"])] if program else []
    doctor.require(*doctor.RUN_CHECKS)
    of_the_kernel = any(map(wanted.has, scripts.SCRIPTS))
    if of_the_kernel:
        doctor.require(*doctor.SELFTEST_CHECKS)
    todo = []
    for name in names or [""]:
        upstream, ours = campaign.builds(name)
        tools = [scripts.prepare(upstream)] if of_the_kernel else []
        kernels = Kernels(name, upstream, ours, (*tools, *packets))
        todo += campaign.jobs(kernels, wanted, listed.forms)
    made = Campaign(todo, listed, wanted.strict)
    _run(made, wanted, options)
    return made.suites()


def _given(options: Mapping[str, Any]) -> list[Script]:
    """The scripts that can run: the kernel's, and packetdrill's if there is a program for them.

    Raises click.UsageError for scripts of packetdrill without it.
    """
    if options["packetdrill"] is None:
        if options["packetdrill_scripts"] is not None:
            raise click.UsageError("--packetdrill-scripts needs --packetdrill PROGRAM")
        return [*scripts.SCRIPTS]
    others = [scripts.OTHER_PACKETS] if options["packetdrill_scripts"] is not None else []
    return [*scripts.SCRIPTS, scripts.PACKETS, *others]


def _run(made: Campaign, wanted: Wanted, options: Mapping[str, Any]) -> None:
    todo = campaign.repeated(made.jobs, wanted.repeat, strict=wanted.strict)
    with common.interruptible() as cancel:
        ended = jobs.run_all(
            todo, options["out"], seed=options["seed"], at_once=options["jobs"], cancel=cancel
        )
        for count, ran in enumerate(ended, 1):
            made.add(ran)
            number = f", run {ran.job.number}" if wanted.repeat > 1 else ""
            common.say(
                f"[{count}/{len(todo)}] {ran.job.title}{number}: {reports.counts(ran.result)}"
            )


def _write(suites: Sequence[Suite], options: Mapping[str, Any]) -> None:
    results = options["out"] / _RESULTS
    files.write(results, "".join(f"{line}\n" for line in reports.lines(suites)).encode())
    junit: Path | None = options["junit"]
    if junit is not None:
        command = shlex.join(["mptcplab", *sys.argv[1:]])
        files.write(junit, reports.junit_report(suites, command))
    tap: Path | None = options["tap"]
    if tap is not None and str(tap) == _STANDARD_OUTPUT:
        click.echo(reports.tap(suites), nl=False)
        return
    if tap is not None:
        files.write(tap, reports.tap(suites).encode())
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)
    reports.show(suites, console)
    console.print(f"\na line for each test: {results}")


def _require(suites: Sequence[Suite]) -> None:
    broken = [suite for suite in suites if suite.broken]
    if broken:
        raise MptcplabError(
            f"{len(broken)} of {len(suites)} scripts did not end: "
            f"{broken[0].title}: {broken[0].broken}"
        )
    wrong = [suite for suite in suites if suite.problems()]
    if wrong:
        raise NotMetError(
            f"{len(wrong)} of {len(suites)} scripts are not as expected: "
            f"{wrong[0].title}: {wrong[0].problems()[0]}"
        )
