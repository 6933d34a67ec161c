# SPDX-License-Identifier: GPL-2.0-only
"""All jobs and their outcomes: each script upstream, with ours, with schedulers, and repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from mptcplab.errors import InputError, Problem
from mptcplab.lab import kernel, kernel_names
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_names import OURS, UPSTREAM
from mptcplab.runs import experiment
from mptcplab.scenario.scheduler import known
from mptcplab.selftests import expected_failures
from mptcplab.selftests.expected_failures import Expectations, JudgedTest
from mptcplab.selftests.jobs import DEFAULT_SCHEDULER, Job, Ran, choice
from mptcplab.selftests.scripts import (
    OTHER_PACKETS,
    PACKETS,
    SCHEDULER_SCRIPTS,
    SCRIPTS,
    Script,
    Tools,
)


@dataclass(frozen=True)
class Kernels:
    """A kernel to test, in two builds: upstream's, and with our framework, None if it has none.

    Upstream's may have the adapter, which carries schedulers without the framework. `name` is what
    the user calls it, empty for the current one.
    """

    name: str
    upstream: KernelBuild
    ours: KernelBuild | None
    tools: tuple[Tools, ...]


@dataclass(frozen=True)
class Wanted:
    """The user's choice: the scripts whose names contain one of `only`, with `schedulers`; without,
    everything in the project's gate. `strict`: a failure upstream is wrong, too.
    """

    only: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    repeat: int = 1
    strict: bool = False

    def has(self, script: Script) -> bool:
        return not self.only or any(part in str(script) for part in self.only)


@dataclass(frozen=True)
class Suite:
    """The outcome of a job: `cases` has its tests in their order. `broken` says why the script did
    not come to its end, "" if it did; `differs` has the differences of its repeats.
    """

    ran: Ran
    cases: tuple[JudgedTest, ...]
    repeats: int = 0
    differs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self.ran.job.title

    @property
    def broken(self) -> str:
        return self.ran.result.error

    def points(self) -> Iterator[JudgedTest]:
        """Its cases, and those that are about the script as a whole."""
        yield from self.cases
        if self.broken:
            yield JudgedTest("it comes to its end", "wrong", self.broken)
        if self.repeats:
            yield JudgedTest(
                f"{self.repeats + 1} runs are the same",
                "wrong" if self.differs else "passed",
                "; ".join(self.differs),
            )

    def problems(self) -> list[str]:
        """Everything that is wrong, a text each."""
        return [case.why for case in self.points() if case.outcome == "wrong"]


def builds(name: str) -> tuple[KernelBuild, KernelBuild | None]:
    """The kernels of a name, upstream's and ours, or those of the current source for no name, "";
    built now if missing. Raises InputError for an unknown name; otherwise as `kernel.build`.
    """
    if not name:
        return kernel.build(variant=UPSTREAM), kernel.build(variant=OURS)
    named = kernel_names.find(name, also=())

    def build(variant: str) -> KernelBuild:
        return kernel_names.build(replace(named, variant=variant))

    upstream, *ours = map(build, named.tested)
    return upstream, ours[0] if ours else None


def check(wanted: Wanted, names: Sequence[str], given: Sequence[Script] = SCRIPTS) -> None:
    """Raises InputError for a scheduler or kernel that there is not, and for a part of a name that
    selects none of the scripts that are `given`.
    """
    problems = [
        Problem("--only", "", part, why)
        for part in wanted.only
        if (why := _why_nothing(part, given))
    ]
    if problems:
        raise InputError(problems)
    for scheduler in wanted.schedulers:
        choice(scheduler)
    for name in names:
        kernel_names.find(name, also=())


def _why_nothing(part: str, given: Sequence[Script]) -> str:
    """Why a part of a name selects none of the scripts that are `given`, "" if it selects one."""
    # an empty part, such as from a script's variable without a value, would be in all names
    if part.strip():
        if any(part in str(script) for script in given):
            return ""
        if part in str(PACKETS):
            return "needs --packetdrill PROGRAM"
        if part in str(OTHER_PACKETS):
            return "needs --packetdrill PROGRAM with --packetdrill-scripts DIR"
    names = dict.fromkeys(script.name for script in (*SCRIPTS, PACKETS))
    return f"selects no script; accepted is a part of {', '.join(names)}"


def jobs(kernels: Kernels, wanted: Wanted, forms: Sequence[str] = ()) -> list[Job]:
    """The jobs of a kernel, once each: the scripts upstream, and those that are compared with them.

    Without schedulers that is every script with `default`, and SCHEDULER_SCRIPTS with each of ours
    and with each of `forms`; otherwise every script with each scheduler. Raises InputError for a
    scheduler that the kernel does not have.
    """
    upstream = [
        Job(script, kernels.upstream, tools)
        for tools in kernels.tools
        for script in tools.scripts
        if wanted.has(script)
    ]
    if kernels.ours is None:
        carried = experiment.schedulers_of(kernels.upstream)
        for name in wanted.schedulers:
            if choice(name).name not in carried:
                message = f"the kernel {kernels.name} has only {', '.join(carried)}"
                raise InputError([Problem("--scheduler", "", name, message)])
        own = [name for name in wanted.schedulers if name != DEFAULT_SCHEDULER]
        return [*upstream, *(replace(job, scheduler=name) for job in upstream for name in own)]

    def ours(held_to: Job, scheduler: str) -> Job:
        assert kernels.ours is not None
        return replace(held_to, kernel=kernels.ours, scheduler=scheduler)

    if wanted.schedulers:
        return [*upstream, *(ours(job, name) for job in upstream for name in wanted.schedulers)]
    both = [each for job in upstream for each in (job, ours(job, DEFAULT_SCHEDULER))]
    own = [name for name in known() if name != DEFAULT_SCHEDULER]
    further = [job for job in upstream if job.script in SCHEDULER_SCRIPTS]
    return both + [ours(job, name) for job in further for name in (*own, *forms)]


def repeated(jobs: Sequence[Job], count: int, *, strict: bool = False) -> list[Job]:
    """First all jobs once, then the judged ones again, `count` times in all: upstream's own where
    there is nothing else, or if it is `strict`. Equal jobs of kernels of several names run for the
    first of these.
    """
    ours = {_key(job) for job in jobs if not job.is_upstream}
    judged = [job for job in jobs if strict or not job.is_upstream or _key(job) not in ours]
    again = range(2, count + 1)
    all_jobs = [*jobs, *(replace(job, number=number) for number in again for job in judged)]
    return list(dict.fromkeys(all_jobs))


@dataclass
class Campaign:
    """The ended runs of `jobs`, each with its repeats.

    The jobs of two names of one kernel are equal, and share a run.
    """

    jobs: Sequence[Job]
    expectations: Expectations
    strict: bool = False
    ran: dict[Job, dict[int, Ran]] = field(default_factory=dict)

    def add(self, ran: Ran) -> None:
        self.ran.setdefault(replace(ran.job, number=1), {})[ran.job.number] = ran

    def suites(self) -> list[Suite]:
        """How each job came out, in their order, with the differences among its repeats."""
        return [self._suite(job, self.ran[job]) for job in self.jobs]

    def _suite(self, job: Job, ran: Mapping[int, Ran]) -> Suite:
        first = replace(ran[1], job=job)
        of_it = self.expectations.of(str(job.script), job.scheduler)
        others = [each for each in self.jobs if _key(each) == _key(job)]
        (upstream,) = (each for each in others if each.is_upstream)
        alone = job == upstream and (self.strict or len(others) == 1)
        before = None if alone else self.ran[upstream][1].result
        cases = expected_failures.judge(of_it, before, first.result)
        further = [ran[number] for number in sorted(ran) if number != 1]
        differs = [
            f"run {each.job.number} differs from run 1: {text}"
            for each in further
            if (text := difference(first, each))
        ]
        return Suite(first, tuple(cases), len(further), tuple(differs))


def _key(job: Job) -> tuple[Script, str]:
    """Jobs of the same script in kernels of the same name; one of them is upstream's."""
    return job.script, job.kernel.name


def difference(one: Ran, other: Ran) -> str:
    """The first thing in which two runs of a job differ, in words; "" if there is none.

    All that they printed counts, and the virtual time that they took.
    """
    if one.result.error != other.result.error:
        return "it ended differently: " + (other.result.error or one.result.error)
    lines = zip_longest(one.output.splitlines(), other.output.splitlines())
    for number, (left, right) in enumerate(lines, 1):
        if left != right:
            texts = " instead of ".join("nothing" if t is None else repr(t) for t in (right, left))
            return f"line {number} is {texts}"
    if one.virtual_s != other.virtual_s:
        return f"it took {other.virtual_s:.9f} s of virtual time instead of {one.virtual_s:.9f}"
    return ""
