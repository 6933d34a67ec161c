# SPDX-License-Identifier: GPL-2.0-only
"""Whether a commit is good: its kernel is built, the scenario is run, its figures are judged.

A run is exact: one is enough. What a commit is skipped for is a property of it, so that the machine
is not to blame: that a disk is full, that a run reaches one of its limits, or that somebody kills
or interrupts it, raises an error instead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from mptcplab.bisection.document import Tried
from mptcplab.errors import MptcplabError
from mptcplab.lab import kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.git import Repository
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel_commit import Commit
from mptcplab.lab.kernel_tree import SourceError
from mptcplab.report import expectation_verdicts
from mptcplab.runs import expectations, experiment
from mptcplab.runs.entries import Entry
from mptcplab.runs.expectations import CompiledExpectation
from mptcplab.runs.runner import OutsideError, Runner
from mptcplab.runs.store import Store, run_key
from mptcplab.scenario.resolve import Request


@dataclass(frozen=True)
class Judge:
    """Judges commits of a repository by the runs of a request.

    `interruptible` gives, for the time of the runs, an event that ends them.
    """

    repository: Repository
    request: Request
    expected: Sequence[CompiledExpectation]
    variant: str
    guest: Guest
    limits: Limits
    runner: Runner
    interruptible: Callable[[], AbstractContextManager[threading.Event]]
    quiet: bool = True

    def __call__(self, commit: str) -> Tried:
        """What comes of a commit. Raises MptcplabError for what is not its fault."""
        subject = self.repository.about(commit).subject
        started = time.monotonic()
        source = Commit(self.repository, commit)

        def skipped(why: str, **more: object) -> Tried:
            about = {"commit": commit, "subject": subject, **more}
            return Tried.model_validate({**about, "verdict": "skipped", "why": _lines(why)})

        try:
            build = kernel.build_commit(source, variant=self.variant, quiet=self.quiet)
            modules = experiment.modules(self.request, build, source)
            rig = Rig(build, self.guest, modules, self.request.traces, self.limits)
        except SourceError as error:
            return skipped(str(error))
        build_s, started = time.monotonic() - started, time.monotonic()
        try:
            entries = self._entries(rig)
        except OutsideError as error:
            raise MptcplabError(
                f"{commit[:12]} ({subject}) cannot be tried, and is not to blame; the same command "
                "tries it again, with other limits if you like\n"
                f"  {error}"
            ) from None
        about = {
            "commit": commit,
            "subject": subject,
            "kernel": build.id,
            "runs": tuple(each.directory for each in entries if each.directory),
            "build_s": round(build_s, 1),
            "run_s": round(time.monotonic() - started, 1),
        }
        failed = [each for each in entries if each.status != "ok"]
        if failed:
            return skipped(
                f"{len(failed)} of {len(entries)} runs failed: {failed[0].reason}", **about
            )
        found = expectations.judge(self.expected, entries, [])
        unmet = [each for each in found if not each.held]
        return Tried.model_validate(
            {
                **about,
                "verdict": "bad" if unmet else "good",
                "why": tuple(
                    f"{expectation_verdicts.title(each)}: {expectation_verdicts.figures(each)}"
                    for each in unmet or found
                ),
                "expectations": tuple(found),
            }
        )

    def _entries(self, rig: Rig) -> list[Entry]:
        """The runs with a kernel; those that are stored are not made again."""
        runs, out = self.request.runs(), Store(self.runner.out)
        kept = {
            number: entry
            for number, each in enumerate(runs)
            if (entry := out.result(run_key(each, rig.kernel, rig.guest)))
        }
        missing = [each for number, each in enumerate(runs) if number not in kept]
        made: list[Entry] = []
        if missing:
            with self.interruptible() as cancel:
                made = replace(self.runner, cancel=cancel, strict=True).run(missing, rig)
        new = iter(made)
        return [kept[number] if number in kept else next(new) for number in range(len(runs))]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines())
