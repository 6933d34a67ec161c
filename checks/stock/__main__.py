# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernel against an unmodified distribution kernel: `make stock-check`.

Debian's kernel package runs in a virtual machine, in virtual time, with the lab's own guest program
and plans, and upstream's scheduler. Its figures are put beside the lab's. Runs are kept in the
output directory and not repeated; Ctrl-C ends the current ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from checks.command_line import natural, parser_of, say
from checks.stock import packets, rows, runs
from checks.stock.compare import figures
from checks.stock.markdown_tables import markdown, summary
from checks.stock.rows import Seeds
from checks.stock.runs import Ended, ExpectedTimes, Job
from checks.stock.settings import StockSetting, settings
from mptcplab import marked, units
from mptcplab.errors import InputError, MptcplabError, Problem, status_of
from mptcplab.lab import choices, guest, kernel, stock_machine, stock_package
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_tree import KERNEL_VERSION
from mptcplab.runs import store
from mptcplab.runs.store import Store

_MARK = "make stock-check"
_OUT = Path("stock-out")


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if no setting differs, over the whole run or at its start, and no run failed; else
    1, or that of an error.

    Differences that CPU time explains do not count.
    """
    parser = parser_of("stock", __doc__)
    parser.add_argument("--out", type=Path, default=_OUT, help=f"where runs are kept ({_OUT})")
    parser.add_argument("--docs", type=Path, help="a page that gets the tables between its marks")
    parser.add_argument("--seeds", type=natural, default=4, help="on a distribution kernel (4)")
    parser.add_argument("--slower-seeds", type=natural, default=2, help=_SLOWER)
    parser.add_argument("--lab-seeds", type=natural, default=8, help="in the lab (8)")
    parser.add_argument("--jobs", type=natural, default=1, help="virtual machines at a time (1)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help=_ONLY)
    parser.add_argument("--flavour", action="append", choices=choices.FLAVOURS, help="not all")
    parser.add_argument("--package", action="append", type=Path, metavar="FILE", help=_PACKAGE)
    parser.add_argument("--packets", action="store_true", help=_PACKETS)
    parser.add_argument("--no-runs", action="store_true", help="the table of what has been run")
    options = parser.parse_args(arguments)
    again = "interrupted; finished runs are kept, and the same command goes on from there"
    return status_of(lambda: _check(options), interrupted=again)


_SLOWER = "the same, on a CPU half as fast: what CPU time changes (2)"
_ONLY = "settings with this in their names; several times: any of them"
_PACKETS = "no tables: capture the start of each run, and report the first packet that differs"
_PACKAGE = "a kernel package, instead of the newest of each flavour that was downloaded"


def _check(options: argparse.Namespace) -> int:
    wanted = settings(options.only)
    if not options.no_runs:
        stock_machine.require(options.jobs)
    files = options.package or stock_package.newest(options.flavour or choices.FLAVOURS)
    kernels = [stock_package.unpacked([file], "--package") for file in files]
    _require_comparable(kernels)
    made, out = guest.build(), Store(options.out)
    out.remove_abandoned()
    labs = [kernel.build(variant=choices.FLAVOURS[each.flavour]) for each in kernels]
    if options.packets:
        return _compare_packets(options, wanted, kernels, labs, made, out)
    failed = 0 if options.no_runs else _make(options, wanted, kernels, labs, made, out)
    seeds = Seeds(options.seeds, options.slower_seeds, options.lab_seeds)
    tables = [
        rows.table(wanted, each, lab, made, out, seeds)
        for each, lab in zip(kernels, labs, strict=True)
    ]
    if not any(table.rows for table in tables):
        raise MptcplabError(f"{options.out} has no setting with runs of both sides")
    print(markdown(tables), end="")
    if options.docs and (options.only or options.flavour or options.package):
        say(f"{options.docs} stays as it is: this is a part of the table")
    elif options.docs:
        marked.replace(options.docs, {_MARK: markdown(tables)})
    for table in tables:
        say(f"{table.kernel.flavour}: {summary(table)}")
    other = any(row.differs or not row.begins_as_itself for table in tables for row in table.rows)
    return 1 if failed or other else 0


def _require_comparable(kernels: Sequence[KernelBuild]) -> None:
    """Raises InputError for a kernel that the lab has no counterpart of."""
    series = tuple(map(int, KERNEL_VERSION.split(".")))
    for each in kernels:
        assert each.stock is not None
        what = ""
        if stock_package.series(each.stock) != series:
            what = f"a kernel of the series {'.'.join(map(str, stock_package.series(each.stock)))}"
        elif each.flavour not in choices.FLAVOURS:
            what = f"its configuration is that of none of {', '.join(choices.FLAVOURS)}"
        if what:
            accepted = f"accepted is linux-image-{KERNEL_VERSION}.* as of {stock_package.SETUP}"
            raise InputError([Problem("--package", "", each.name, f"{what}; {accepted}")])


def _make(
    options: argparse.Namespace,
    wanted: Sequence[StockSetting],
    kernels: Sequence[KernelBuild],
    labs: Sequence[KernelBuild],
    made: Guest,
    out: Store,
) -> int:
    """Make the missing runs, after saying how long it takes; returns how many failed."""
    seeds = (options.seeds, options.slower_seeds)
    jobs = runs.jobs(wanted, kernels, made, *seeds)
    # what other runs took says how long these take
    expected = ExpectedTimes(runs.jobs(settings(), kernels, made, *seeds), out)
    _say_cost(options, jobs, out, expected)
    # first those that take minutes, so that there soon is a table
    for lab in {each.id: each for each in labs}.values():
        scenarios = [each for one in wanted for each in one.with_seeds(options.lab_seeds)]
        runs.make_in_lab(scenarios, lab, made, out, options.jobs, _tell_of_lab)
        runs.make_close_ups(wanted, options.lab_seeds, lab, made, out, options.jobs)
    failed = _in_virtual_machines(options, jobs, made, out, expected)
    for stock, lab in zip(kernels, labs, strict=True):
        for each in wanted:
            late = runs.late(each, options.seeds, options.lab_seeds, stock, lab, made, out)
            runs.make_late(late, lab, made, out, options.jobs)
    return failed


def _say_cost(
    options: argparse.Namespace, jobs: Sequence[Job], out: Store, expected: ExpectedTimes
) -> None:
    todo = runs.missing(jobs, out)
    say(f"{len(todo)} of {len(jobs)} runs in virtual machines are missing in {options.out}")
    if todo:
        how = "as those took that have ended" if expected.ended else "a guess: none has ended here"
        say(
            f"with {options.jobs} at a time they take "
            f"{units.duration(expected.seconds(todo, options.jobs))} ({how}); Ctrl-C keeps what "
            "has ended"
        )


def _in_virtual_machines(
    options: argparse.Namespace,
    jobs: Sequence[Job],
    made: Guest,
    out: Store,
    expected: ExpectedTimes,
) -> int:
    """Make the missing runs; returns how many failed."""
    todo, failed = runs.missing(jobs, out), 0
    for ended in runs.make(todo, made, out, expected, options.jobs):
        failed += bool(ended.failed)
        _report(ended, len(todo))
    return failed


def _compare_packets(
    options: argparse.Namespace,
    wanted: Sequence[StockSetting],
    kernels: Sequence[KernelBuild],
    labs: Sequence[KernelBuild],
    made: Guest,
    out: Store,
) -> int:
    """Report the first packet that differs in each setting; 1 if a run failed."""
    failed = 0
    if not options.no_runs:
        jobs = runs.captures(wanted, kernels, made)
        expected = ExpectedTimes(jobs, out)
        _say_cost(options, jobs, out, expected)
        for lab in {each.id: each for each in labs}.values():
            scenarios = [each.captured for each in wanted]
            runs.make_in_lab(scenarios, lab, made, out, options.jobs, _tell_of_lab)
        failed = _in_virtual_machines(options, jobs, made, out, expected)
    for stock, lab in zip(kernels, labs, strict=True):
        for setting in wanted:
            job = Job.of(setting, setting.captured, stock, made)
            ours = runs.lab_entry(setting.captured, lab, made, out)
            if job.entry(out) is not None and ours is not None:
                places = (job.key, store.run_key(setting.captured, lab, made))
                found = packets.first_difference(*(out.directory(key) for key in places))
                print(f"{stock.flavour}, {setting.name}: {found or 'no packet differs'}")
    return 1 if failed else 0


def _report(ended: Ended, count: int) -> None:
    job = ended.job
    what = f"{ended.number}/{count} {job.kernel.flavour}, {job.setting.name}"
    if job.is_slower:
        what += ", slower CPU"
    if ended.entry is None:
        say(f"{what}, seed {job.scenario.seed}: failed: {ended.failed}")
        return
    value = figures(ended.entry).value
    unit = "s" if job.setting.is_transfer else "Mbit/s"
    say(
        f"{what}, seed {job.scenario.seed}: {value:.3f} {unit}, took {ended.wall_s:.0f} s; "
        f"{units.duration(ended.left_s)} left"
    )


def _tell_of_lab(number: int, count: int) -> None:
    if number % 20 == 0 or number == count:
        say(f"{number}/{count} in the lab")


if __name__ == "__main__":
    raise SystemExit(main())
