# SPDX-License-Identifier: GPL-2.0-only
"""Races between CPUs: `make smp-test`.

Kernels that look for data races (KCSAN), and for wrong memory and locks (KASAN, lockdep), run
connections with troubles on four CPUs, with each scheduler; the unpatched kernels do the same with
upstream's. No report may be about our code, and every other one must be upstream's, too. A race
that is planted in our code must be found. Finished runs are kept in the output directory and not
repeated; Ctrl-C ends the current ones. See docs/reliability.md.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from checks.command_line import chosen, natural, parser_of, say
from checks.smp import runs, smp_kernel, smp_machine
from checks.smp.blame import Whose
from checks.smp.runs import Machine, Result
from mptcplab import marked, resources
from mptcplab.errors import status_of
from mptcplab.lab import guest, kernel
from mptcplab.lab.engine import Watch
from mptcplab.scenario.scheduler import DEFAULT

_MARK = "make smp-test"
_OUT = Path("smp-out")
#: Of a part that takes some minutes: one that picks segments, one that sends copies, upstream's.
_QUICK = ("minrtt", "redundant", DEFAULT)
#: Of PLANTED: where it is.
PLANTED_IN = "mps_snapshot"
_PLANTED_SEEDS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if nothing of ours was reported or lost, and the planted race was found; else 1."""
    parser = parser_of("smp", __doc__)
    parser.add_argument("--out", type=Path, default=_OUT, help=f"where results are kept ({_OUT})")
    parser.add_argument("--docs", type=Path, help="a page that gets the table between its marks")
    parser.add_argument("--seeds", type=natural, default=1, help="of each scheduler (1)")
    parser.add_argument("--seed", type=natural, default=1, help="the first of them (1)")
    parser.add_argument("--scheduler", default="", help="these alone, with commas")
    parser.add_argument("--kind", default="", help=f"{', '.join(smp_kernel.KINDS)}: one alone")
    parser.add_argument("--jobs", type=natural, default=1, help="virtual machines at a time (1)")
    parser.add_argument("--quick", action="store_true", help=_QUICK_HELP)
    parser.add_argument("--planted", action="store_true", help="look for the planted race alone")
    parser.add_argument("--no-planted", action="store_true", help="do not look for it")
    parser.add_argument("--no-runs", action="store_true", help="the table of what has been run")
    options = parser.parse_args(arguments)
    kinds = chosen(parser, "--kind", options.kind, tuple(smp_kernel.KINDS))
    names = chosen(parser, "--scheduler", options.scheduler, kernel.schedulers())
    if options.quick:
        kinds, names = ("kcsan",), _QUICK
    again = "interrupted; finished runs are kept, and the same command goes on from there"
    return status_of(lambda: _check(options, kinds, names), interrupted=again)


_QUICK_HELP = f"KCSAN and {', '.join(_QUICK)} alone: some minutes, once the kernels are built"


@dataclass(frozen=True)
class _Job:
    """A run that is wanted."""

    machine: Machine
    scheduler: str
    seed: int


def _check(options: argparse.Namespace, kinds: Sequence[str], names: Sequence[str]) -> int:
    smp_machine.require()
    seeds = range(options.seed, options.seed + options.seeds)
    found = True
    results: list[Result] = []
    if not options.planted:
        jobs = [job for kind in kinds for job in _jobs(kind, names, seeds)]
        results = _make(jobs, options)
    if options.planted or not (options.no_planted or options.no_runs):
        found = _finds_planted(options)
    good = found
    if results:
        print(_listing(results), end="")
        print(markdown(results), end="")
        if options.docs and not (options.quick or options.scheduler or options.kind):
            marked.replace(options.docs, {_MARK: markdown(results)})
        good = good and not any(_is_bad(result) for result in results) and not _unknown(results)
    return 0 if good else 1


def _jobs(kind: str, names: Sequence[str], seeds: range) -> Iterator[_Job]:
    """Those of a kind of kernel: with our patches each scheduler, and without as many seeds of the
    one that there is.
    """
    ours, theirs = _machine(kind), _machine(kind, framework=False)
    yield from (_Job(ours, name, seed) for seed in seeds for name in names)
    first, last = seeds.start, seeds.start + len(names) * len(seeds)
    yield from (_Job(theirs, DEFAULT, seed) for seed in range(first, last))


def _machine(kind: str, *, framework: bool = True, planted: bool = False) -> Machine:
    built = smp_kernel.build(kind, framework=framework, planted=planted)
    return Machine(built, guest.build(), guest.build(resources.GUEST / "torture"))


def _make(jobs: Sequence[_Job], options: argparse.Namespace) -> list[Result]:
    """The results of those that are kept, and unless --no-runs of all."""
    kept = [job for job in jobs if _file(job, options).exists()]
    if options.no_runs:
        jobs = kept
    say(f"{len(jobs)} runs, {len(kept)} of them kept from before")
    cancel, results = threading.Event(), list[Result]()
    with ThreadPoolExecutor(options.jobs) as pool:
        under_way = [
            pool.submit(
                runs.make, job.machine, job.scheduler, job.seed, options.out, Watch(cancel=cancel)
            )
            for job in jobs
        ]
        try:
            for number, future in enumerate(as_completed(under_way), 1):
                result = future.result()
                results.append(result)
                say(f"{number}/{len(jobs)} {_line(result)}")
        finally:
            cancel.set()
            pool.shutdown(cancel_futures=True)
    return results


def _file(job: _Job, options: argparse.Namespace) -> Path:
    return runs.file_of(job.machine, job.scheduler, job.seed, options.out)


def _line(result: Result) -> str:
    counts = ", ".join(f"{whose.value}: {result.count(whose)}" for whose in Whose)
    bad = "".join(f"; {what}" for what in (*result.losses, result.failed) if what)
    return (
        f"{result.kernel}, {result.scheduler}, seed {result.seed}, {result.wall_s:.0f} s: "
        f"{result.verified_bytes / 1e6:.2f} MB verified; reports: {counts}{bad}"
    )


def _finds_planted(options: argparse.Namespace) -> bool:
    """Whether the planted race is reported as ours, in some runs at most."""
    machine = _machine("kcsan", planted=True)
    for seed in range(1, _PLANTED_SEEDS + 1):
        result = runs.make(machine, "minrtt", seed, options.out)
        say(_line(result))
        for each in result.reports:
            if each.whose == Whose.OURS.value and PLANTED_IN in each.about:
                print(f"planted race found with seed {seed}: {each.about}, {each.count} reports")
                return True
    print(f"the planted race was not found in {_PLANTED_SEEDS} runs")
    return False


# --- what is shown


def _is_bad(result: Result) -> bool:
    return bool(result.losses or result.failed or result.count(Whose.OURS))


def _kind(result: Result) -> str:
    return result.kernel.partition(" ")[0]


def _unpatched(result: Result) -> bool:
    return result.kernel.endswith("unpatched")


def _unknown(results: Sequence[Result]) -> dict[str, int]:
    """What is not ours, but was not reported by the unpatched kernel either."""
    upstream = runs.about([each for each in results if _unpatched(each)])
    rest: dict[str, int] = {}
    for result in results:
        for each in result.reports:
            ours = each.whose == Whose.OURS.value
            if not (ours or _unpatched(result) or each.about in upstream):
                rest[each.about] = rest.get(each.about, 0) + each.count
    return rest


def _listing(results: Sequence[Result]) -> str:
    """Each thing that was reported: how often with our patches, and without. And all of ours."""
    patched = runs.about([each for each in results if not _unpatched(each)])
    upstream = runs.about([each for each in results if _unpatched(each)])
    found = {each.about: each for result in results for each in result.reports}
    lines = ["# reports: with our patches, without; where"]
    for about in sorted({*patched, *upstream}, key=lambda one: -patched.get(one, 0)):
        where = "; ".join(found[about].places)
        lines.append(f"{patched.get(about, 0):5} {upstream.get(about, 0):5}  {about}  ({where})")
    for result in results:
        for each in result.reports:
            if each.whose == Whose.OURS.value:
                lines += ["", f"OURS, {_line(result)}", each.text]
    return "\n".join([*lines, "", ""])


def markdown(results: Sequence[Result]) -> str:
    """The tables of the page: of the kernels, and of the things that were reported."""
    lines = [
        "| kernel | runs | connections | MB verified | lost or wrong | reports about our code "
        "| below ours | other | things of these two that the unpatched kernel did not report |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in sorted({result.kernel for result in results}):
        those = [result for result in results if result.kernel == name]
        same_kind = [each for each in results if _kind(each) == _kind(those[0])]
        unknown = 0 if _unpatched(those[0]) else len(_unknown(same_kind))
        ours, below, other = (sum(each.count(whose) for each in those) for whose in Whose)
        lines.append(
            f"| {name} | {len(those)} | {sum(each.connections for each in those)} "
            f"| {sum(each.verified_bytes for each in those) / 1e6:.1f} "
            f"| {sum(len(each.losses) + bool(each.failed) for each in those)} "
            f"| {ours} | {below} | {other} | {unknown} |"
        )
    patched = [each for each in results if not _unpatched(each)]
    counts = [runs.about(patched, whose) for whose in Whose]
    unpatched = runs.about([each for each in results if _unpatched(each)])
    lines += [
        "",
        "| reported | about our code | below ours | other | with the unpatched kernel |",
        "|---|---:|---:|---:|---:|",
    ]
    for what in sorted({*unpatched, *counts[0], *counts[1], *counts[2]}):
        numbers = (count.get(what, 0) for count in (*counts, unpatched))
        lines.append(f"| {what} | {' | '.join(map(str, numbers))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    raise SystemExit(main())
