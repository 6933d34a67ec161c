# SPDX-License-Identifier: GPL-2.0-only
"""Do our schedulers decide as the published ones do? Asks an independent model of each source.

`python -m checks.oracle` makes runs, and compares the scheduler's answer at each decision with that
of the model. The exit status is 1 if there is a disagreement that is not listed with its reason.
With --kernel, it is the published schedulers themselves, in the kernel with the out-of-tree MPTCP.
See docs/oracle.md.
"""

from __future__ import annotations

import argparse
import json
import lzma
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
from checks.oracle.originals import FILES, ORIGINALS, Room, file_ids, room_of
from checks.oracle.scenarios import ORIGINALS_SCENARIOS, RECORDED, SCENARIOS
from checks.tables import markdown as page_table
from mptcplab import marked
from mptcplab.errors import InputError, MptcplabError, RunCancelledError, RunError, status_of
from mptcplab.lab import guest
from mptcplab.lab.engine import Rig, Watch
from mptcplab.metrics import run_files
from mptcplab.runs import experiment, single
from mptcplab.runs.single import cpus
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import from_flags

_MARK, _ORIGINALS_MARK = "oracle", "originals"
_COLUMNS = ("scheduler", "runs", "decisions", "agree", "ties", "listed", "differ")
_ORIGINALS_COLUMNS = ("scheduler", "file", "runs", "decisions", "explained", "differ")

#: Beside recorded decisions: of which files.
FILE_IDS = "files.json"

#: Compares a file of states with the model of a scheduler.
Judge = Callable[[Path, str], Agreement]


@dataclass(frozen=True)
class OracleCase:
    """A scenario with a scheduler, and a kernel but for ours, by their names."""

    scenario: str
    scheduler: str
    kernel: str = ""

    @property
    def flags(self) -> Flags:
        flags = replace(ORIGINALS_SCENARIOS[self.scenario], scheduler=self.scheduler)
        return replace(flags, kernel=self.kernel) if self.kernel else flags

    @property
    def states(self) -> str:
        """The file of states of its run."""
        down = self.flags.direction == "down"
        return run_files.SERVER_STATES if down else run_files.CLIENT_STATES

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
        found = judge(directory / case.states, case.scheduler)
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
    kernel = "check the schedulers of this kernel itself, which has the out-of-tree MPTCP"
    record = "with --kernel: keep the states of the recorded scenarios here, for the tests"
    parser.add_argument("--only", default="", metavar="SCHEDULER,...", help=only)
    parser.add_argument("--scenario", default="", metavar="NAME,...", help="only these scenarios")
    parser.add_argument("--kernel", default="", metavar="NAME", help=kernel)
    parser.add_argument("--record", type=Path, metavar="DIRECTORY", help=record)
    parser.add_argument("--jobs", type=natural, help="runs at a time (default: one per CPU)")
    parser.add_argument("--docs", type=Path, metavar="FILE", help=page)
    parser.add_argument("--plan", action="store_true", help="print the commands of the runs")
    parser.add_argument("states", nargs="?", type=Path, metavar="FILE.states", help=states)
    options = parser.parse_args(arguments)
    if options.record and not options.kernel:
        parser.error("--record needs --kernel")
    known = ORIGINALS if options.kernel else FORMS
    schedulers = _forms(parser, options.only, tuple(known))
    names = list(ORIGINALS_SCENARIOS if options.kernel else SCENARIOS)
    if options.record:
        names = list(RECORDED)
    scenarios = chosen(parser, "--scenario", options.scenario, names)
    if options.docs and (options.only or options.scenario or options.states):
        parser.error("--docs is for all schedulers in all scenarios")
    if options.states and len(schedulers) != 1:
        parser.error("a file of states needs --only with its one scheduler")
    cases = [
        OracleCase(scenario, name, options.kernel) for name in schedulers for scenario in scenarios
    ]
    if options.plan:
        print("\n".join(case.command for case in cases))
        return 0
    return status_of(lambda: _check(cases, options))


def _forms(parser: argparse.ArgumentParser, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    forms = tuple(text.split(",")) if text else known
    for form in forms:
        if known is not FORMS and form not in known:
            parser.error(f"--only {form}: with --kernel, accepted is {', '.join(known)}")
        try:
            params_of(form)
        except MptcplabError as error:
            parser.error(f"--only {error}")
    return forms


def _check(cases: Sequence[OracleCase], options: argparse.Namespace) -> int:
    name = options.kernel
    room = room_of(name) if name else None
    if options.states:
        form = cases[0].scheduler
        totals = {form: judge_file(options.states, form, room)}
    else:
        rig = Rig(*experiment.built())
        if name:
            rig = Rig(experiment.kernel_by_name(name), guest.build())
            cases = _able(cases, rig)
        totals = _run(cases, rig, room, options)
    if options.record:
        (options.record / FILE_IDS).write_text(json.dumps(file_ids(name), indent=1) + "\n")
    page = _originals(totals, file_ids(name)) if name else markdown(totals)
    if options.docs:
        marked.replace(options.docs, {_ORIGINALS_MARK if name else _MARK: page})
    _show(totals, page)
    return 1 if any(total.failures or total.differs for total in totals.values()) else 0


def _able(cases: Sequence[OracleCase], rig: Rig) -> list[OracleCase]:
    """Those that a kernel can run; says which it cannot."""
    able = []
    for case in cases:
        try:
            experiment.require_able(from_flags(case.flags), rig.kernel)
            able.append(case)
        except InputError as error:
            reason = str(error).splitlines()[-1].strip()
            say(f"no run of {case.scheduler} in {case.scenario}: {reason}")
    return able


def _run(
    cases: Sequence[OracleCase], rig: Rig, room: Room | None, options: argparse.Namespace
) -> dict[str, Agreement]:
    totals = {case.scheduler: Agreement() for case in cases}
    progress = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="mptcplab-oracle-") as directory:
        running = _ended(cases, rig, room, Path(directory), options)
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
    cases: Sequence[OracleCase],
    rig: Rig,
    room: Room | None,
    out: Path,
    options: argparse.Namespace,
) -> Generator[tuple[OracleCase, Agreement]]:
    """Decisions are compared in processes: that is most of the work. An interrupt ends them."""
    own, jobs = get_context("spawn"), options.jobs
    with own.Pool(jobs or len(cpus()), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:

        def perform(case: OracleCase, directory: Path, watch: Watch) -> Agreement:
            def judge(path: Path, scheduler: str) -> Agreement:
                if options.record:
                    record(case, path, options.record)
                judged = pool.apply_async(judge_file, (path, scheduler, room))
                while not judged.ready():
                    if watch.cancel.is_set():
                        raise RunCancelledError
                    judged.wait(0.1)
                return judged.get()

            return check(case, rig, directory, watch, judge)

        def name(case: OracleCase) -> str:
            return f"{case.scheduler}-{case.scenario}"

        yield from many.run_all(cases, perform, name, out, jobs)


def record(case: OracleCase, states: Path, directory: Path) -> None:
    """Keeps the states of a run, compressed, for tests."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{case.scheduler}-{case.scenario}.states.xz"
    file.write_bytes(lzma.compress(states.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


def _originals(totals: Mapping[str, Agreement], ids: Mapping[str, str]) -> str:
    """The outcome for originals, with the identity of each file in git."""
    rows = [
        (name, f"`{FILES[name]}` {ids[name][:12]}", *total.numbers[:3], total.differs)
        for name, total in totals.items()
    ]
    forms = [
        f"- {name}, {count} of {total.decisions}: {form}."
        for name, total in totals.items()
        for form, count in total.forms.most_common()
    ]
    return page_table(_ORIGINALS_COLUMNS, rows) + "\n".join(["", "Forms:", "", *forms, ""])


def markdown(totals: Mapping[str, Agreement]) -> str:
    """The outcome as a table of the docs, and what is listed."""
    table = page_table(_COLUMNS, ((name, *total.numbers) for name, total in totals.items()))
    listed = [
        f"- {name}, {count} of {total.decisions}: {reason}."
        for name, total in totals.items()
        for reason, count in total.listed.most_common()
    ]
    return table + "\n".join(["", "Listed:" if listed else "None is listed.", "", *listed, ""])


def _show(totals: Mapping[str, Agreement], page: str) -> None:
    print(page, end="")
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
