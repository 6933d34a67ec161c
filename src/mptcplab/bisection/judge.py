# SPDX-License-Identifier: GPL-2.0-only
"""Whether a commit is good: its kernel is built, the scenario is run, its figures are judged.

A run is exact: one is enough. A commit is skipped only for a property of its own. A full disk, a
limit of the run, or a killed or interrupted run raises an error instead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from mptcplab.bisection.document import Tried, Verdict
from mptcplab.errors import MptcplabError
from mptcplab.lab import kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.git import Repository
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel_files import Commit
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
        """The verdict on a commit. Raises MptcplabError for a fault that is not the commit's."""
        subject = self.repository.about(commit).subject
        about: dict[str, Any] = {"commit": commit, "subject": subject}
        started = time.monotonic()
        source = Commit(self.repository, commit)
        try:
            build = kernel.build_commit(source, variant=self.variant, quiet=self.quiet)
            modules = experiment.modules(self.request, build, source)
            rig = Rig(build, self.guest, modules, self.request.traces, self.limits)
        except SourceError as error:
            return Tried(**about, verdict="skipped", why=_lines(str(error)))
        build_s, started = time.monotonic() - started, time.monotonic()
        try:
            entries = self._entries(rig)
        except OutsideError as error:
            raise MptcplabError(
                f"{commit[:12]} ({subject}) could not be tried, which is not its fault; the same "
                "command tries it again, with other limits if you like\n"
                f"  {error}"
            ) from None
        about |= {
            "kernel": build.id,
            "runs": tuple(each.directory for each in entries if each.directory),
            "build_s": round(build_s, 1),
            "run_s": round(time.monotonic() - started, 1),
        }
        if failed := [each for each in entries if each.status != "ok"]:
            why = f"{len(failed)} of {len(entries)} runs failed: {failed[0].reason}"
            return Tried(**about, verdict="skipped", why=_lines(why))
        found = expectations.judge(self.expected, entries, [])
        unmet = [each for each in found if not each.held]
        reasons = tuple(
            f"{expectation_verdicts.title(each)}: {expectation_verdicts.figures(each)}"
            for each in unmet or found
        )
        verdict: Verdict = "bad" if unmet else "good"
        return Tried(**about, verdict=verdict, why=reasons, expectations=tuple(found))

    def _entries(self, rig: Rig) -> list[Entry]:
        """The runs with a kernel; those that are stored are not made again."""
        runs, out = self.request.runs(), Store(self.runner.out)
        kept = [out.result(run_key(each, rig.kernel, rig.guest)) for each in runs]
        missing = [run for run, entry in zip(runs, kept, strict=True) if entry is None]
        made: Iterator[Entry] = iter(())
        if missing:
            with self.interruptible() as cancel:
                made = iter(replace(self.runner, cancel=cancel, strict=True).run(missing, rig))
        return [next(made) if entry is None else entry for entry in kept]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines())
