# SPDX-License-Identifier: GPL-2.0-only
"""Runs published experiments, and reads their results.

OUT/runs/ contains the runs; existing ones are not run again, so an interrupted experiment continues
where it stopped. OUT/PAPER/FIGURE.json says which run belongs to which setting of the published
part, once all of them exist; FIGURE-quick.json and FIGURE-VARIANT.json do for the other parts.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from mptcplab import __version__, extras
from mptcplab.errors import MptcplabError
from mptcplab.formulas.formula import FormulaError
from mptcplab.lab import abilities
from mptcplab.lab import kernel as lab_kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.papers import catalogue, claims, samples
from mptcplab.papers.catalogue import (
    DRAWS,
    LOOKS,
    MOST_DRAWS,
    PUBLISHED,
    QUICK,
    TODAY,
    Published,
    SeededPoint,
)
from mptcplab.papers.claims import Judged
from mptcplab.papers.samples import Results
from mptcplab.runs import documents, experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario
from mptcplab.units import counted

_DRIVES = "drives"
# Of runs of the out-of-tree kernel, which lacks some figures; any run may lack others.
_UNTOLD = "the kernel does not tell it, or the run has none"
# Gigabit paths for a minute take minutes on a busy machine.
_WALL_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Provenance:
    """The builds and files with which the runs of a part were made.

    `digest` is of what they depend on in the file. `kernel` is the id of the kernel, `base` that of
    everything in it but the packet schedulers and congestion controls, and `files` has the SHA-256
    of those that the runs use. `cpu_s` is what the runs took, with their baselines.
    """

    digest: str
    repeat: int
    kernel: str
    base: str
    files: Mapping[str, str]
    guest: str
    version: str
    command: str
    cpu_s: float | None = None

    def ids(self) -> dict[str, str]:
        """The ids of all that may have changed since: the kernel, files, the guest."""
        return {"kernel": self.base, **self.files, "guest": self.guest}


@dataclass(frozen=True)
class Ran:
    """The runs of a part: their figures, what they were made with, and, if they are here, where."""

    results: Results
    provenance: Provenance
    directories: Sequence[Path] = ()


@dataclass(frozen=True)
class Reproduced:
    """The result of an experiment: the figures of its parts, and its claims judged over `part`.

    `ran` has the parts that were run, `outdated` the parts that were run before the file
    changed, which are not judged. `missing` names the parts that a full result lacks.
    """

    published: Published
    part: str
    ran: Mapping[str, Ran]
    judged: Sequence[Judged]
    judged_today: Sequence[Judged] = ()
    outdated: Mapping[str, Ran] = field(default_factory=dict)
    missing: Sequence[str] = ()

    @property
    def runs(self) -> str:
        """The runs of `part` in words, "" for the published ones."""
        return {PUBLISHED: "", QUICK: "quick runs"}.get(self.part, self.part)

    @property
    def own(self) -> Ran:
        return self.ran[self.part]

    @property
    def results(self) -> Results:
        return self.own.results


def run(
    published: Published,
    kernel: KernelBuild,
    guest: Guest,
    runner: Runner,
    *,
    parts: Sequence[str],
    repeat: int | None,
    leave_out: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> Reproduced:
    """Run the missing runs of some parts of an experiment, and read its result.

    Settings with the schedulers `leave_out` are not run, and those that the out-of-tree kernel
    cannot run: their figures are unknown, and the claims that need them not testable. Draws are run
    last, and only as many of them as claims need; `say` tells how many these are.

    Raises MachineError without the packages that it needs, and MptcplabError, after all other runs
    have ended, if a run failed; whatever part is complete can be read.
    """
    extras.require("papers", "an experiment of a paper")
    out, quick = runner.out, parts[0] == QUICK
    if others := [part for part in parts if part != DRAWS]:
        _run(published, kernel, guest, runner, others, repeat, leave_out)
    # thousands of runs, made for their figures
    lean = replace(runner, keep_records=False)
    for look in ([min(repeat, MOST_DRAWS)] if repeat else LOOKS) if DRAWS in parts else ():
        _run(published, kernel, guest, lean, [DRAWS], look, leave_out)
        found = read(published, out, quick=quick)
        unsettled = [each for each in found.judged if not each.settled]
        left = f"{len(unsettled)} of {counted(len(found.judged), 'claim')} need more"
        say(f"{found.ran[DRAWS].provenance.repeat} of {MOST_DRAWS} draws: {left}")
        if not unsettled:
            break
    return read(published, out, quick=quick)


def _run(
    published: Published,
    kernel: KernelBuild,
    guest: Guest,
    runner: Runner,
    parts: Sequence[str],
    repeat: int | None,
    leave_out: Sequence[str],
) -> None:
    """Run the missing runs of some parts. Raises MptcplabError if one failed."""
    out, runs = runner.out, Store(runner.out)
    known = scheduler.known()
    made_of = lab_kernel.parts(kernel)
    build = {"kernel": kernel.id, "guest": guest.id, "mptcplab": __version__}
    key = partial(store.run_key, kernel=kernel, guest=guest)
    lacks_figures = kernel.is_out_of_tree
    planned: list[_Planned] = []
    taken: set[str] = set()
    for name in parts:
        settings = catalogue.settings(published, known, out / _DRIVES, part=name, repeat=repeat)
        lacks = [_lacks(setting, kernel, leave_out) for setting in settings]
        every: dict[str, tuple[SeededPoint, Scenario]] = {}
        for setting, why in zip(settings, lacks, strict=True):
            for item in () if why else (setting.scenario, *setting.alone.values()):
                every.setdefault(key(item), (setting, item))
        new = {own: each for own, each in every.items() if own not in taken}
        missing = {own: each for own, each in new.items() if not runs.has(own)}
        taken.update(missing)
        count = repeat or published.experiment.repeat
        planned.append(_Planned(name, count, settings, lacks, lacks_figures, key, every, missing))
    limits = Limits(wall_s=_WALL_LIMIT_S)
    tasks = [
        runner.task(item, Rig(kernel, guest, traces=setting.request.traces, limits=limits))
        for each in planned
        for setting, item in each.missing.values()
    ]
    failed: list[tuple[Scenario, str]] = []
    with closing(runner.perform(tasks)) as entries:
        for each in planned:
            for (_, item), entry in zip(each.missing.values(), entries, strict=False):
                if entry.status != "ok":
                    failed.append((item, str(entry.reason)))
            # with the runs that other parts made
            if all(map(runs.has, each.all)):
                again = command(published, each.part, each.repeat, kernel.name, leave_out)
                _write(published, each, made_of, again, build, out)
    if failed:
        item, reason = failed[0]
        raise MptcplabError(
            f"{len(failed)} of {len(tasks)} runs failed, the first with "
            f"{item.scheduler.label}, seed {item.seed}: {reason}"
        )


def read(published: Published, out: Path, *, quick: bool) -> Reproduced:
    """The result of an experiment that was run before, its claims judged anew.

    Without `quick` it is over the published part if that was run, else over the quick part, the
    draws, or a variant. Raises MptcplabError if no part was run, or all have changed since.
    """
    ran = read_parts(published, out)
    if quick or not any(is_current(published, part, of) for part, of in ran.items()):
        _require(published, out, ran, QUICK if quick else next(iter(ran), PUBLISHED))
    return assembled(published, ran, quick=quick)


def read_parts(published: Published, out: Path) -> dict[str, Ran]:
    """All parts of an experiment whose runs are here. Raises MptcplabError if they are damaged."""

    @cache  # parts share runs
    def entry(directory: str) -> Entry:
        return documents.read_entry(out / directory / store.RESULT)

    files = {part: file_of(published, out, part) for part in published.experiment.parts()}
    return {
        part: _read_part(published, file, out, entry)
        for part, file in files.items()
        if file.exists()
    }


def assembled(published: Published, ran: Mapping[str, Ran], *, quick: bool = False) -> Reproduced:
    """The result of an experiment from the parts that there are, here or in data.

    Raises MptcplabError if there is none that can be judged.
    """
    own = published.experiment
    there = {part: ran[part] for part in own.parts() if part in ran}
    same = {part: of for part, of in there.items() if is_current(published, part, of)}
    wanted = [QUICK] if quick else [PUBLISHED, QUICK, DRAWS, *same]
    part = next((name for name in wanted if name in same), None)
    if part is None:
        raise MptcplabError(f"{published.name}: has not been run")
    by_part = {name: of.results for name, of in same.items()}
    judged = claims.judge(published, by_part, part)
    today = TODAY in by_part and part != TODAY
    needed = [PUBLISHED, *own.variants()]
    if own.quick.scenario and own.sensitivity():
        needed.insert(1, QUICK)  # it is none of all runs, and variants are compared with it
    return Reproduced(
        published,
        part,
        same,
        judged,
        claims.over(published, by_part, judged, TODAY) if today else (),
        {name: of for name, of in there.items() if name not in same},
        [name for name in needed if name not in same],
    )


def is_current(published: Published, part: str, ran: Ran) -> bool:
    """Whether a part was run as its experiment is now."""
    return ran.provenance.digest == published.experiment.part(part).digest()


# Running


@dataclass(frozen=True)
class _Planned:
    """The runs of a part, by their keys, and the missing ones, but for those of an earlier part.

    `lacks` says of each setting why it is not run, if so. `lacks_figures`: the kernel does not tell
    all figures.
    """

    part: str
    repeat: int
    settings: Sequence[SeededPoint]
    lacks: Sequence[str]
    lacks_figures: bool
    key: Callable[[Scenario], str]
    all: Mapping[str, tuple[SeededPoint, Scenario]]
    missing: Mapping[str, tuple[SeededPoint, Scenario]]


def _lacks(setting: SeededPoint, kernel: KernelBuild, leave_out: Sequence[str]) -> str:
    """Why a setting is not run, "" if it is. Raises InputError for what other kernels refuse."""
    if left := [each.name for each in setting.scenario.choices() if each.name in leave_out]:
        return f"{', '.join(left)} was left out"
    if kernel.is_out_of_tree:
        return abilities.lacks(setting.request, kernel)
    experiment.require_able(setting.request, kernel)
    return ""


def _write(
    published: Published,
    each: _Planned,
    made_of: lab_kernel.Parts,
    command: str,
    build: Mapping[str, str],
    out: Path,
) -> None:
    """Write the document of a part, all of whose runs exist, unless it has these and more."""
    file = file_of(published, out, each.part)
    digest = published.experiment.part(each.part).digest()
    with suppress(MptcplabError):  # none, or a damaged one
        before = documents.read(file, documents.REPRODUCED)
        more = before.places > {*map(store.place, each.all)}
        if more and before.digest == digest and all((out / run).exists() for run in before.places):
            return

    def directory(scenario: Scenario) -> str:
        return store.place(each.key(scenario))

    used = sorted({name for setting in each.settings for name in _files(setting.scenario)})
    store.make_directory(file.parent)
    document = {
        "experiment": published.name,
        "part": each.part,
        "axis": published.experiment.axis,
        "repeat": each.repeat,
        "digest": digest,
        "build": build,
        "base": made_of.base,
        "files": {name: made_of.files[name] for name in used if name in made_of.files},
        "command": command,
        "runs": [
            {
                "point": setting.point,
                "seed": setting.seed,
                "directory": directory(setting.scenario),
                "alone": {name: directory(item) for name, item in setting.alone.items()},
                **({"lacks": _UNTOLD} if each.lacks_figures else {}),
            }
            for setting, why in zip(each.settings, each.lacks, strict=True)
            if not why
        ],
    }
    left_out = [
        {"number": number, "point": setting.point, "seed": setting.seed, "lacks": why}
        for number, (setting, why) in enumerate(zip(each.settings, each.lacks, strict=True))
        if why
    ]
    if left_out:
        document["left_out"] = left_out
    store.write_json(file, document)


def command(
    published: Published,
    part: str,
    repeat: int | None = None,
    kernel: str | None = None,
    leave_out: Sequence[str] = (),
) -> str:
    """The command that runs a part, with the kernel of a name and without some schedulers."""
    words = ["mptcplab", published.command, "run", published.name]
    if part == QUICK:
        words.append("--quick")
    elif part != PUBLISHED:
        words += ["--variant", part]
    if part != DRAWS and repeat not in (None, published.experiment.repeat):
        words += ["--repeat", str(repeat)]
    if kernel:
        words += ["--kernel", kernel]
    if leave_out:
        words += ["--leave-out", ",".join(leave_out)]
    return shlex.join(words)


def _files(scenario: Scenario) -> Iterator[str]:
    """The files of the kernel, as in `kernel.Parts`, that a run may use, besides all others."""
    for choice in scenario.choices():
        yield f"sched/{choice.name}.c"
    for name in (scenario.cc, *(each.cc for each in scenario.connections)):
        if name is not None:
            yield f"cc/{name.split(':')[0]}.c"


# Reading


def file_of(published: Published, out: Path, part: str) -> Path:
    """The document of a part of an experiment."""
    return out / f"{'-'.join(filter(None, (published.name, catalogue.slug(part))))}.json"


def _require(published: Published, out: Path, ran: Mapping[str, Ran], part: str) -> None:
    """Raises MptcplabError if a part was not run, or the file has changed since."""
    file = file_of(published, out, part)
    again = command(published, part)
    if part not in ran:
        raise MptcplabError(f"{file}: does not exist; to make it: {again}")
    if not is_current(published, part, ran[part]):
        raise MptcplabError(f"{file}: {published.file} has changed since; to run it again: {again}")


def _read_part(published: Published, file: Path, out: Path, entry: Callable[[str], Entry]) -> Ran:
    """A part by its document; `entry` gives that of a run in `out` by its directory."""
    document = documents.read(file, documents.REPRODUCED)
    own = published.experiment
    rows = []
    try:
        for each in document.runs:
            alone = {name: entry(place) for name, place in each.alone.items()}
            row = samples.row(own.metric, each.point, each.seed, entry(each.directory), alone)
            rows.append(replace(row, lacks=each.lacks))
    except FormulaError as error:
        raise MptcplabError(f"{published.file}: {error}") from None
    for left_out in document.left_out:
        row = samples.without_run(own.metric, left_out.point, left_out.seed, left_out.lacks)
        rows.insert(left_out.number, row)
    costs_s = [_cpu_s(out / place) for place in document.places]
    known_s = [cpu_s for cpu_s in costs_s if cpu_s is not None]
    provenance = Provenance(
        digest=document.digest,
        repeat=document.repeat,
        kernel=document.build.get("kernel", ""),
        base=document.base,
        files=document.files,
        guest=document.build.get("guest", ""),
        version=document.build.get("mptcplab", ""),
        command=document.command,
        # the same in any order
        cpu_s=math.fsum(known_s) if len(known_s) == len(costs_s) else None,
    )
    every = [] if document.left_out else document.runs
    directories = [out / each.directory for each in every]
    return Ran(samples.results(own, rows), provenance, directories)


def _cpu_s(directory: Path) -> float | None:
    """The CPU time of a run; None if it is not known."""
    file = directory / store.COST
    if not file.exists():
        return None
    found = documents.read(file, documents.COST)
    return found["user_s"] + found["system_s"] if {"user_s", "system_s"} <= found.keys() else None
