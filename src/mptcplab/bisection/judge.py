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
from dataclasses import dataclass
from pathlib import Path

from mptcplab.bisection.document import Tried
from mptcplab.errors import MptcplabError
from mptcplab.lab import kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.git import Repository
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_commit import Commit
from mptcplab.lab.kernel_tree import SourceError
from mptcplab.report import expectation_verdicts
from mptcplab.runs import expectations, experiment
from mptcplab.runs.entries import Entry
from mptcplab.runs.expectations import CompiledExpectation
from mptcplab.runs.store import Store, run_key
from mptcplab.scenario.resolve import Request


@dataclass(frozen=True)
class Judge:
    """Judges commits of a repository by the runs of a request, which are kept in a store.

    `interruptible` gives, for the time of the runs, an event that ends them.
    """

    repository: Repository
    request: Request
    expected: Sequence[CompiledExpectation]
    variant: str
    guest: Guest
    out: Store
    interruptible: Callable[[], AbstractContextManager[threading.Event]]
    jobs: int = 1
    limits: Limits | None = None
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
        except SourceError as error:
            return skipped(str(error))
        build_s, started = time.monotonic() - started, time.monotonic()
        try:
            entries = self._entries(build, modules)
        except experiment.OutsideError as error:
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

    def _entries(self, build: KernelBuild, modules: dict[str, Path]) -> list[Entry]:
        """The runs with a kernel; those that are stored are not made again."""
        runs = self.request.runs()
        kept = {
            number: entry
            for number, each in enumerate(runs)
            if (entry := self.out.result(run_key(each, build, self.guest)))
        }
        missing = [each for number, each in enumerate(runs) if number not in kept]
        made: list[Entry] = []
        if missing:
            with self.interruptible() as cancel:
                made = experiment.run_all(
                    missing,
                    build,
                    self.guest,
                    self.out,
                    modules=modules,
                    traces=self.request.traces,
                    jobs=self.jobs,
                    limits=self.limits,
                    cancel=cancel,
                    strict=True,
                )
        new = iter(made)
        return [kept[number] if number in kept else next(new) for number in range(len(runs))]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines())
