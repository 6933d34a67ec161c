# SPDX-License-Identifier: GPL-2.0-only
"""Do our schedulers decide as the published ones do? Asks an independent model of each source.

`python -m checks.oracle` makes runs, and compares the scheduler's answer at each decision with that
of the model. The exit status is 1 if there is a disagreement that is not listed with its reason.
See docs/oracle.md.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console

from checks import many
from checks.command_line import chosen, natural, parser_of, say
from checks.oracle.compare import Agreement, judge_file
from checks.oracle.models import FORMS, params_of
from checks.oracle.scenarios import SCENARIOS
from checks.tables import markdown as page_table
from mptcplab import marked
from mptcplab.errors import MptcplabError, RunCancelledError, RunError, status_of
from mptcplab.lab.engine import Rig, Watch
from mptcplab.metrics import run_files
from mptcplab.runs import experiment, single
from mptcplab.runs.single import cpus
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import from_flags

_MARK = "oracle"
_COLUMNS = ("scheduler", "runs", "decisions", "agree", "ties", "listed", "differ")

#: Compares a file of states with the model of a scheduler.
Judge = Callable[[Path, str], Agreement]


@dataclass(frozen=True)
class OracleCase:
    """A scenario with a scheduler, by their names."""

    scenario: str
    scheduler: str

    @property
    def flags(self) -> Flags:
        return replace(SCENARIOS[self.scenario], scheduler=self.scheduler)

    @property
    def command(self) -> str:
        """The run as a command line."""
        words = ["mptcplab", "run"]
        for name, value in vars(self.flags).items():
            flag = "--" + name.replace("_", "-")
            if value is True:
                words.append(flag)
            elif isinstance(value, (str, int)) and value is not False:
                words += [flag, str(value)]
            elif isinstance(value, tuple):
                words += [word for each in value for word in (flag, each)]
        return shlex.join(words)


def check(
    case: OracleCase,
    rig: Rig,
    directory: Path,
    watch: Watch | None = None,
    judge: Judge = judge_file,
) -> Agreement:
    """Makes the run of a case in `directory`, and has `judge` compare its decisions."""
    scenario = from_flags(case.flags).base
    try:
        single.run(scenario, rig, directory, watch)
        down = scenario.workload.direction == "down"
        name = run_files.SERVER_STATES if down else run_files.CLIENT_STATES
        found = judge(directory / name, case.scheduler)
    except RunCancelledError:
        raise
    except MptcplabError as error:
        what = f"the run failed: {error}" if isinstance(error, RunError) else str(error)
        return Agreement(runs=1, failures=[f"{case.scenario}: {what}"])
    if found.first:
        found.first = replace(found.first, run=case.command)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if kernel and models agree, but for what is listed; else 1."""
    parser = parser_of("oracle", __doc__)
    only = "only these schedulers, each as NAME or NAME:PARAM=VALUE (default: all published ones)"
    states = "check this file, of the one scheduler of --only, instead of making runs"
    page = "a page that gets the table between its marks"
    parser.add_argument("--only", default="", metavar="SCHEDULER,...", help=only)
    parser.add_argument("--scenario", default="", metavar="NAME,...", help="only these scenarios")
    parser.add_argument("--jobs", type=natural, help="runs at a time (default: one per CPU)")
    parser.add_argument("--docs", type=Path, metavar="FILE", help=page)
    parser.add_argument("--plan", action="store_true", help="print the commands of the runs")
    parser.add_argument("states", nargs="?", type=Path, metavar="FILE.states", help=states)
    options = parser.parse_args(arguments)
    schedulers = _forms(parser, options.only)
    scenarios = chosen(parser, "--scenario", options.scenario, list(SCENARIOS))
    if options.docs and (options.only or options.scenario or options.states):
        parser.error("--docs is for all schedulers in all scenarios")
    if options.states and len(schedulers) != 1:
        parser.error("a file of states needs --only with its one scheduler")
    cases = [OracleCase(scenario, name) for name in schedulers for scenario in scenarios]
    if options.plan:
        print("\n".join(case.command for case in cases))
        return 0
    return status_of(lambda: _check(cases, options))


def _forms(parser: argparse.ArgumentParser, text: str) -> tuple[str, ...]:
    forms = tuple(text.split(",")) if text else FORMS
    for form in forms:
        try:
            params_of(form)
        except MptcplabError as error:
            parser.error(f"--only {error}")
    return forms


def _check(cases: Sequence[OracleCase], options: argparse.Namespace) -> int:
    if options.states:
        form = cases[0].scheduler
        totals = {form: judge_file(options.states, form)}
    else:
        totals = _run(cases, options.jobs)
    if options.docs:
        marked.replace(options.docs, {_MARK: markdown(totals)})
    _show(totals)
    return 1 if any(total.failures or total.differs for total in totals.values()) else 0


def _run(cases: Sequence[OracleCase], jobs: int | None) -> dict[str, Agreement]:
    rig = Rig(*experiment.built())
    totals = {case.scheduler: Agreement() for case in cases}
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="mptcplab-oracle-") as directory:
        running = _ended(cases, rig, Path(directory), jobs)
        with closing(running) as ended, progress.status("") as status:
            for count, (case, found) in enumerate(ended, 1):
                totals[case.scheduler].add(found)
                text = (
                    f"{count} of {len(cases)} runs; {case.scheduler} in {case.scenario}: "
                    f"{found.decisions} decisions, {found.differs} differ"
                )
                status.update(text)
                if not progress.is_terminal:
                    say(text)
    return totals


def _ended(
    cases: Sequence[OracleCase], rig: Rig, out: Path, jobs: int | None
) -> Generator[tuple[OracleCase, Agreement]]:
    """Decisions are compared in processes: that is most of the work. An interrupt ends them."""
    own = get_context("spawn")
    with own.Pool(jobs or len(cpus()), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:

        def perform(case: OracleCase, directory: Path, watch: Watch) -> Agreement:
            def judge(path: Path, scheduler: str) -> Agreement:
                judged = pool.apply_async(judge_file, (path, scheduler))
                while not judged.ready():
                    if watch.cancel.is_set():
                        raise RunCancelledError
                    judged.wait(0.1)
                return judged.get()

            return check(case, rig, directory, watch, judge)

        def name(case: OracleCase) -> str:
            return f"{case.scheduler}-{case.scenario}"

        yield from many.run_all(cases, perform, name, out, jobs)


def markdown(totals: Mapping[str, Agreement]) -> str:
    """The outcome as a table of the docs, and what is listed."""
    table = page_table(_COLUMNS, ((name, *total.numbers) for name, total in totals.items()))
    listed = [
        f"- {name}, {count} of {total.decisions}: {reason}."
        for name, total in totals.items()
        for reason, count in total.listed.most_common()
    ]
    return table + "\n".join(["", "Listed:" if listed else "None is listed.", "", *listed, ""])


def _show(totals: Mapping[str, Agreement]) -> None:
    print(markdown(totals), end="")
    for name, total in totals.items():
        for error in total.failures:
            print(f"{name}: {error}")
        if total.first:
            print(f"{name}: the first of {total.differs} that differ:")
            if total.first.run:
                print(f"  {total.first.run}")
            print(f"  {total.first}")


if __name__ == "__main__":
    raise SystemExit(main())
