# SPDX-License-Identifier: GPL-2.0-only
"""Many runs of a check, one per CPU at a time; the directories of failed ones stay."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from checks.command_line import say
from mptcplab import resources
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.engine import Watch
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs.single import cpus


@dataclass(frozen=True)
class Builds:
    """What runs are made with: a kernel, the guest, and the program that runs in it."""

    kernel: KernelBuild
    guest: Guest
    program: Guest


def builds(variant: str, program: str) -> Builds:
    """A kernel, the guest, and the program of guest/`program`. Raises MptcplabError."""
    doctor.require(*doctor.RUN_CHECKS)
    sources = resources.GUEST / program
    return Builds(kernel.build(variant=variant), guest.build(), guest.build(sources))


class Judged(Protocol):
    """The verdict on a run."""

    @property
    def failures(self) -> list[str]:
        """What went wrong; empty if nothing did."""


C = TypeVar("C")
J = TypeVar("J")
V = TypeVar("V", bound=Judged)


def each(
    jobs: Iterable[C], perform: Callable[[C, Watch], J], at_a_time: int
) -> Generator[tuple[C, J]]:
    """Performs jobs in threads, `at_a_time` at once; yields each when it has ended.

    An interrupt, or a job that raises, ends the others by their watch, and is raised. An interrupt
    may also come while the caller looks at a result. Thus callers close this (contextlib.closing),
    which does the same, before they remove what the current jobs still use.
    """
    cancel = threading.Event()
    with ThreadPoolExecutor(at_a_time) as pool:
        under_way = {pool.submit(perform, job, Watch(cancel=cancel)): job for job in jobs}
        try:
            for future in as_completed(under_way):
                yield under_way[future], future.result()
        finally:
            cancel.set()
            pool.shutdown(cancel_futures=True)


def run_all(
    cases: Sequence[C],
    perform: Callable[[C, Path, Watch], V],
    name: Callable[[C], str],
    out: Path,
    jobs: int | None = None,
) -> Generator[tuple[C, V]]:
    """Performs cases as `each`, `jobs` at a time (None: one per CPU), each in its own directory.

    The directory of one that failed stays in `out`, by its name.
    """
    out.mkdir(parents=True, exist_ok=True)

    def work(case: C, watch: Watch) -> V:
        directory = Path(tempfile.mkdtemp(prefix=".partial-", dir=out))
        try:
            judged = perform(case, directory, watch)
            if judged.failures:
                kept = out / name(case)
                shutil.rmtree(kept, ignore_errors=True)
                directory.rename(kept)
            return judged
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    return each(cases, work, jobs or len(cpus()))


def attack(
    cases: Sequence[C],
    perform: Callable[[C, Path, Watch], V],
    name: Callable[[C], str],
    command: Callable[[C], str],
    out: Path,
) -> Generator[tuple[C, V]]:
    """Performs cases as `run_all`; reports each failure with its command, and progress 20 times."""
    failed: list[C] = []
    with closing(run_all(cases, perform, name, out)) as ended:
        for number, (case, judged) in enumerate(ended, 1):
            if judged.failures:
                failed.append(case)
                print(f"FAILED: {command(case)}", *judged.failures, sep="\n    ", flush=True)
            if 20 * number // len(cases) > 20 * (number - 1) // len(cases):
                say(f"{number}/{len(cases)} runs, {len(failed)} failed")
            yield case, judged
    for case in failed:
        print(f"to repeat it: {command(case)}   # kept: {out / name(case)}")
