# SPDX-License-Identifier: GPL-2.0-only
"""Many runs of a tool, one per CPU at a time; the directories of failed ones stay."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from mptcplab import resources
from mptcplab.lab import doctor, guest, kernel
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs.single import cpus

_DESTROY = "CONFIG_INET_DIAG_DESTROY=y"


@dataclass(frozen=True)
class Builds:
    """What runs are made with: a kernel, the guest, and the program that runs in it."""

    kernel: KernelBuild
    guest: Guest
    program: Guest

    @property
    def can_kill(self) -> bool:
        """Whether the kernel destroys sockets when it is asked to, as by `ss -K`."""
        return _DESTROY in self.kernel.config.read_text().splitlines()


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
J = TypeVar("J", bound=Judged)


def run_all(
    cases: Sequence[C],
    perform: Callable[[C, Path, threading.Event], J],
    name: Callable[[C], str],
    out: Path,
    jobs: int | None = None,
) -> Generator[tuple[C, J]]:
    """Performs cases, each in a directory of its own; yields each when it has ended.

    There are `jobs` at a time, by default one per CPU. The directory of one that failed stays in
    `out`, by its name. An interrupt sets the event, ends the current ones, and is raised. It may
    also come while the caller looks at a case: so callers close this (contextlib.closing), which
    does the same, before they remove what the current ones still use.
    """
    cancel = threading.Event()
    out.mkdir(parents=True, exist_ok=True)

    def work(case: C) -> J:
        directory = Path(tempfile.mkdtemp(prefix=".partial-", dir=out))
        try:
            judged = perform(case, directory, cancel)
            if judged.failures:
                kept = out / name(case)
                shutil.rmtree(kept, ignore_errors=True)
                directory.rename(kept)
            return judged
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    with ThreadPoolExecutor(jobs or len(cpus())) as pool:
        futures = {pool.submit(work, case): case for case in cases}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            cancel.set()
            for future in futures:
                future.cancel()
            raise
