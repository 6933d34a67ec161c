# SPDX-License-Identifier: GPL-2.0-only
"""The published schedulers, checked by somebody else: an independent model of each says what its
source would have picked at every decision of many runs.

`python -m checks.oracle` makes the runs, keeps what the scheduler saw at each decision, and
compares its answers with those of the model; or does so with a file of states that is there
already. The exit status is 1 if there is a disagreement that is not listed with its reason. With
--docs, the outcome of all runs goes to a page, between the marks `oracle`. See docs/oracle.md.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table

from checks import many
from checks.command_line import chosen, natural, parser_of
from checks.oracle.compare import Agreement, judge_file
from checks.oracle.models import FORMS, params_of
from checks.oracle.scenarios import SCENARIOS
from mptcplab import marked
from mptcplab.errors import MptcplabError, RunCancelledError, RunError, status_of
from mptcplab.lab.engine import Rig, Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
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


@dataclass
class Verdict:
    """What came of a case; `error`: why there was nothing to compare."""

    agreement: Agreement
    error: str = ""

    @property
    def failures(self) -> list[str]:
        return [self.error] if self.error else []


@dataclass
class Total:
    """What came of all cases of a scheduler, and which was the first that differed."""

    agreement: Agreement
    runs: int = 0
    first: OracleCase | None = None
    errors: list[str] = field(default_factory=list)

    def add(self, case: OracleCase, verdict: Verdict) -> None:
        self.runs += 1
        if verdict.error:
            self.errors.append(f"{case.scenario}: {verdict.error}")
        if verdict.agreement.differs and not self.agreement.differs:
            self.first = case
        self.agreement.add(verdict.agreement)

    @property
    def numbers(self) -> tuple[int, ...]:
        found = self.agreement
        listed = sum(found.listed.values())
        return (self.runs, found.decisions, found.agreed, found.ties, listed, found.differs)

    @property
    def is_good(self) -> bool:
        return not self.errors and not self.agreement.differs

    def as_json(self) -> dict[str, Any]:
        found = self.agreement
        return {
            "runs": self.runs,
            "decisions": found.decisions,
            "agreed": found.agreed,
            "ties": found.ties,
            "listed": dict(found.listed),
            "differs": found.differs,
            "first": str(found.first) if found.first else None,
            "first_run": self.first.command if self.first else None,
            "errors": self.errors,
        }


def check(
    case: OracleCase,
    kernel: KernelBuild,
    guest: Guest,
    directory: Path,
    *,
    watch: Watch | None = None,
    judge: Judge | None = None,
) -> Verdict:
    """Makes the run of a case in `directory`, and compares its decisions; `judge` may do that."""
    scenario = from_flags(case.flags).base
    empty = Agreement(case.scheduler)
    try:
        single.run(scenario, Rig(kernel, guest), directory, watch)
        down = scenario.workload.direction == "down"
        name = run_files.SERVER_STATES if down else run_files.CLIENT_STATES
        agreement = (judge or judge_file)(directory / name, case.scheduler)
    except RunCancelledError:
        raise
    except RunError as error:
        return Verdict(empty, f"the run failed: {error}")
    except MptcplabError as error:
        return Verdict(empty, str(error))
    return Verdict(agreement)


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if kernel and models agree, but for what is listed; else 1."""
    parser = parser_of("oracle", __doc__)
    parser.add_argument(
        *("--only",),
        default="",
        metavar="SCHEDULER,...",
        help="these alone, each as NAME or NAME:PARAM=VALUE (default: all that are published)",
    )
    parser.add_argument(
        *("--scenario",),
        default="",
        metavar="NAME,...",
        help="in these scenarios alone (default: all)",
    )
    parser.add_argument("--jobs", type=natural, help="runs at a time (default: one per CPU)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcome there, too")
    parser.add_argument(
        *("--docs",), type=Path, metavar="FILE", help="a page that gets the table between its marks"
    )
    parser.add_argument("--plan", action="store_true", help="print the commands of the runs")
    parser.add_argument(
        *("states",),
        nargs="?",
        type=Path,
        metavar="FILE.states",
        help="check this file, of the one scheduler of --only, instead of making runs",
    )
    options = parser.parse_args(arguments)
    schedulers = _forms(parser, options.only)
    scenarios = chosen(parser, "--scenario", options.scenario, list(SCENARIOS))
    if options.docs and (options.only or options.scenario or options.states):
        parser.error("--docs is for all schedulers in all scenarios")
    if options.states:
        if len(schedulers) != 1:
            parser.error("a file of states needs --only with its one scheduler")
        return status_of(lambda: _check_file(options.states, schedulers[0], options.json))
    cases = [OracleCase(scenario, name) for name in schedulers for scenario in scenarios]
    if options.plan:
        print("\n".join(case.command for case in cases))
        return 0
    return status_of(lambda: _run_and_show(cases, options.jobs, options.json, options.docs))


def _forms(parser: argparse.ArgumentParser, text: str) -> tuple[str, ...]:
    forms = tuple(text.split(",")) if text else FORMS
    for form in forms:
        try:
            params_of(form)
        except MptcplabError as error:
            parser.error(f"--only {error}")
    return forms


def _check_file(path: Path, scheduler: str, json_file: Path | None) -> int:
    total = Total(Agreement(scheduler), runs=1)
    total.agreement.add(judge_file(path, scheduler))
    return _show({scheduler: total}, json_file)


def markdown(totals: Mapping[str, Total]) -> str:
    """The outcome as a table of the docs, and what is listed."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    for name, total in totals.items():
        lines.append(f"| {name} | {' | '.join(map(str, total.numbers))} |")
    listed = [
        f"- {name}, {count} of {total.agreement.decisions}: {reason}."
        for name, total in totals.items()
        for reason, count in total.agreement.listed.most_common()
    ]
    return "\n".join([*lines, "", "Listed:" if listed else "None is listed.", "", *listed]) + "\n"


def _run_and_show(
    cases: Sequence[OracleCase], jobs: int | None, json_file: Path | None, docs: Path | None
) -> int:
    kernel, guest = experiment.built()
    totals = {case.scheduler: Total(Agreement(case.scheduler)) for case in cases}
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="mptcplab-oracle-") as directory:
        running = _ended(cases, kernel, guest, Path(directory), jobs)
        with closing(running) as ended, progress.status("") as status:
            for count, (case, verdict) in enumerate(ended, 1):
                totals[case.scheduler].add(case, verdict)
                found = verdict.agreement
                text = (
                    f"{count} of {len(cases)} runs; {case.scheduler} in {case.scenario}: "
                    f"{found.decisions} decisions, {found.differs} differ"
                )
                status.update(text)
                if not progress.is_terminal:
                    print(text, file=sys.stderr, flush=True)
    if docs:
        marked.replace(docs, {_MARK: markdown(totals)})
    return _show(totals, json_file)


def _ended(
    cases: Sequence[OracleCase], kernel: KernelBuild, guest: Guest, out: Path, jobs: int | None
) -> Generator[tuple[OracleCase, Verdict]]:
    """Decisions are compared in processes: that is most of the work. An interrupt ends them."""
    own = get_context("spawn")
    with own.Pool(jobs or len(cpus()), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:

        def perform(case: OracleCase, directory: Path, cancel: threading.Event) -> Verdict:
            def judge(path: Path, scheduler: str) -> Agreement:
                judged = pool.apply_async(judge_file, (path, scheduler))
                while not judged.ready():
                    if cancel.is_set():
                        raise RunCancelledError
                    judged.wait(0.1)
                return judged.get()

            return check(case, kernel, guest, directory, watch=Watch(cancel=cancel), judge=judge)

        def name(case: OracleCase) -> str:
            return f"{case.scheduler}-{case.scenario}"

        yield from many.run_all(cases, perform, name, out, jobs)


def _show(totals: Mapping[str, Total], json_file: Path | None) -> int:
    table = Table()
    for column in _COLUMNS:
        justify: JustifyMethod = "left" if column == "scheduler" else "right"
        table.add_column(column, justify=justify, overflow="fold")
    for name, total in totals.items():
        table.add_row(name, *map(str, total.numbers))
    Console().print(table)
    for name, total in totals.items():
        for reason, count in total.agreement.listed.most_common():
            print(f"{name}, {count} x listed: {reason}")
        for error in total.errors:
            print(f"{name}: {error}")
        if total.agreement.first:
            print(f"{name}: the first of {total.agreement.differs} that differ:")
            if total.first:
                print(f"  {total.first.command}")
            print(f"  {total.agreement.first}")
    if json_file:
        outcome = {name: total.as_json() for name, total in totals.items()}
        try:
            json_file.write_text(json.dumps(outcome, indent=2) + "\n")
        except OSError as error:
            raise MptcplabError(f"{json_file}: cannot be written: {error.strerror}") from error
    return 0 if all(total.is_good for total in totals.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
