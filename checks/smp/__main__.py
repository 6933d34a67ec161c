# SPDX-License-Identifier: GPL-2.0-only
"""Races between CPUs: `make smp-test`.

Kernels that look for data races (KCSAN), and for wrong memory and locks (KASAN, lockdep), run
connections with troubles on four CPUs: with our patches, with the adapter, and unpatched. No report
may be about our code, and the unpatched kernels must make every other report, too. The check must
find a race that is planted in our code. Finished runs are kept, and not repeated; Ctrl-C ends the
current ones. See docs/reliability.md.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from checks import many, tables
from checks.command_line import chosen, natural, parser_of, say
from checks.smp import runs, smp_kernel, smp_machine
from checks.smp.blame import Whose
from checks.smp.runs import Machine, Result, SmpJob
from mptcplab import marked, resources
from mptcplab.errors import status_of
from mptcplab.lab import guest, kernel
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
    parser.add_argument("--seeds", type=natural, default=1, help="how many for each scheduler (1)")
    parser.add_argument("--scheduler", default="", help="only these, separated by commas")
    parser.add_argument("--kind", default="", help=f"only one of {', '.join(smp_kernel.KINDS)}")
    forms = ", ".join(smp_kernel.FORMS)
    parser.add_argument("--form", default="", help=f"only kernels of one of {forms}")
    parser.add_argument("--jobs", type=natural, default=1, help="virtual machines at a time (1)")
    quick = f"only KCSAN and {', '.join(_QUICK)}: some minutes, once the kernels are built"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--planted", action="store_true", help="only look for the planted race")
    options = parser.parse_args(arguments)
    kinds = chosen(parser, "--kind", options.kind, tuple(smp_kernel.KINDS))
    options.form = chosen(parser, "--form", options.form, smp_kernel.FORMS)
    names = chosen(parser, "--scheduler", options.scheduler, kernel.schedulers())
    if options.quick:
        kinds, names = ("kcsan",), _QUICK
    again = "interrupted; finished runs are kept, and the same command continues"
    return status_of(lambda: _check(options, kinds, names), interrupted=again)


def _check(options: argparse.Namespace, kinds: Sequence[str], names: Sequence[str]) -> int:
    smp_machine.require()
    results: list[Result] = []
    whole = options.form == smp_kernel.FORMS
    if not options.planted:
        results = _make([job for kind in kinds for job in _jobs(kind, names, options)], options)
    good = _finds_planted(options)
    if results:
        print(_listing(results), markdown(results), sep="", end="")
        if options.docs and not (options.quick or options.scheduler or options.kind) and whole:
            marked.replace(options.docs, {_MARK: markdown(results)})
        bad = any(each.losses or each.failed or each.count(Whose.OURS) for each in results)
        good = good and not bad and not ("unpatched" in options.form and _unknown(results))
    return 0 if good else 1


def _jobs(kind: str, names: Sequence[str], options: argparse.Namespace) -> Iterator[SmpJob]:
    """Those of a kind of kernel: with our files each scheduler that it has, and without them as
    many seeds of the one that there is.
    """
    for form in options.form:
        machine, seeds = _machine(kind, form), range(1, options.seeds + 1)
        if form == "unpatched":
            many_seeds = range(1, len(names) * len(seeds) + 1)
            yield from (SmpJob(machine, DEFAULT, seed) for seed in many_seeds)
            continue
        refused = kernel.refused_by_adapter() if form == "adapter" else ()
        mine = [name for name in names if name not in refused]
        yield from (SmpJob(machine, name, seed) for seed in seeds for name in mine)


def _machine(kind: str, form: str, *, planted: bool = False) -> Machine:
    built = smp_kernel.build(kind, form, planted=planted)
    return Machine(built, guest.build(), guest.build(resources.GUEST / "torture"))


def _make(jobs: Sequence[SmpJob], options: argparse.Namespace) -> list[Result]:
    kept = sum(job.file(options.out).exists() for job in jobs)
    say(f"{len(jobs)} runs, {kept} of them kept from before")
    made = many.each(jobs, lambda job, watch: runs.make(job, options.out, watch), options.jobs)
    results = []
    for number, (_job, result) in enumerate(made, 1):
        results.append(result)
        say(f"{number}/{len(jobs)} {_line(result)}")
    return results


def _line(result: Result) -> str:
    counts = ", ".join(f"{whose}: {result.count(whose)}" for whose in Whose)
    bad = "".join(f"; {what}" for what in (*result.losses, result.failed) if what)
    return (
        f"{result.kernel}, {result.scheduler}, seed {result.seed}, {result.wall_s:.0f} s: "
        f"{result.verified_bytes / 1e6:.2f} MB verified; reports: {counts}{bad}"
    )


def _finds_planted(options: argparse.Namespace) -> bool:
    """Whether the planted race is reported as ours, in some runs at most."""
    machine = _machine("kcsan", "framework", planted=True)
    for seed in range(1, _PLANTED_SEEDS + 1):
        result = runs.make(SmpJob(machine, "minrtt", seed), options.out)
        say(_line(result))
        for each in result.reports:
            if each.whose == Whose.OURS and PLANTED_IN in each.about:
                print(f"planted race found with seed {seed}: {each.about}, {each.count} reports")
                return True
    print(f"the planted race was not found in {_PLANTED_SEEDS} runs")
    return False


# --- what is shown


def _unknown(results: Sequence[Result]) -> Counter[str]:
    """What is not ours, but was not reported by the unpatched kernel either."""
    upstream = runs.about(results, unpatched=True)
    others = runs.about(results, Whose.BELOW) + runs.about(results, Whose.OTHER)
    return Counter({about: count for about, count in others.items() if about not in upstream})


def _listing(results: Sequence[Result]) -> str:
    """Each thing that was reported: how often with our patches, and without. And all of ours."""
    patched, upstream = (runs.about(results, unpatched=each) for each in (False, True))
    found = {each.about: each for result in results for each in result.reports}
    lines = ["# reports: with our patches, without; where"]
    for about in sorted({*patched, *upstream}, key=lambda one: (-patched[one], one)):
        where = "; ".join(found[about].places)
        lines.append(f"{patched[about]:5} {upstream[about]:5}  {about}  ({where})")
    for result in results:
        for each in result.reports:
            if each.whose == Whose.OURS:
                lines += ["", f"OURS, {_line(result)}", each.text]
    return "\n".join([*lines, "", ""])


_OF_KERNELS = (
    *("kernel", "runs", "connections", "MB verified", "lost or wrong", "reports about our code"),
    *("below ours", "other", "things of these two that the unpatched kernel did not report"),
)
_OF_REPORTS = ("reported", "about our code", "below ours", "other", "with the unpatched kernel")


def markdown(results: Sequence[Result]) -> str:
    """The tables of the page: of the kernels, and of the things that were reported."""
    kernels = []
    for name in sorted({result.kernel for result in results}):
        those = [result for result in results if result.kernel == name]
        same_kind = [each for each in results if each.kind == those[0].kind]
        kernels.append(
            [
                *(name, len(those), sum(each.connections for each in those)),
                f"{sum(each.verified_bytes for each in those) / 1e6:.1f}",
                sum(len(each.losses) + bool(each.failed) for each in those),
                *(sum(each.count(whose) for each in those) for whose in Whose),
                0 if those[0].is_unpatched else len(_unknown(same_kind)),
            ]
        )
    counts = [runs.about(results, whose) for whose in Whose]
    counts.append(runs.about(results, unpatched=True))
    reports = [[what, *(count[what] for count in counts)] for what in sorted(set().union(*counts))]
    parts = ((_OF_KERNELS, kernels), (_OF_REPORTS, reports))
    return "\n".join(tables.markdown(head, rows, numbers=True) for head, rows in parts)


if __name__ == "__main__":
    raise SystemExit(main())
