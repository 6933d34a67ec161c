# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernel against an unmodified distribution kernel: `make stock-check`.

Debian's kernel package runs in a virtual machine, in virtual time, with the lab's own guest program
and plans, and upstream's scheduler. The check compares its figures with the lab's. It keeps runs in
the output directory, and does not repeat them; Ctrl-C ends the current ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from checks.command_line import natural, parser_of, say
from checks.stock import rows, runs
from checks.stock.compare import figures
from checks.stock.markdown_tables import markdown, summary
from checks.stock.runs import Bench, Job, Seeds
from checks.stock.settings import StockSetting, settings
from mptcplab import marked
from mptcplab.errors import MptcplabError, status_of
from mptcplab.lab import choices, guest, kernel, stock_machine, stock_package
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store

#: A distribution's kernel, and the lab's that it is compared with.
Pair = tuple[KernelBuild, KernelBuild]

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
    parser.add_argument(
        "--seeds", type=natural, default=4, help="seeds on a distribution kernel (4)"
    )
    parser.add_argument("--slower-seeds", type=natural, default=2, help=_SLOWER)
    parser.add_argument("--lab-seeds", type=natural, default=8, help="seeds in the lab (8)")
    parser.add_argument("--jobs", type=natural, default=1, help="virtual machines at a time (1)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help=_ONLY)
    parser.add_argument("--flavour", action="append", choices=choices.FLAVOURS, help=_FLAVOUR)
    parser.add_argument(
        "--no-runs", action="store_true", help="only print the table of finished runs"
    )
    options = parser.parse_args(arguments)
    again = "interrupted; finished runs are kept, and the same command continues"
    return status_of(lambda: _check(options), interrupted=again)


_SLOWER = "seeds on a CPU half as fast, to see what CPU time changes (2)"
_FLAVOUR = "only this flavour; repeat it for more"
_ONLY = "only settings whose names contain this; repeat it for more"


def _check(options: argparse.Namespace) -> int:
    wanted = settings(options.only)
    if not options.no_runs:
        stock_machine.require(options.jobs)
    files = stock_package.newest(options.flavour or choices.FLAVOURS)
    kernels = [stock_package.unpacked([file], "--flavour") for file in files]
    bench = Bench(guest.build(), Store(options.out), options.jobs)
    bench.out.remove_abandoned()
    pairs = [(each, kernel.build(variant=choices.FLAVOURS[each.flavour])) for each in kernels]
    seeds = Seeds(options.seeds, options.slower_seeds, options.lab_seeds)
    failed = 0 if options.no_runs else _make(wanted, pairs, bench, seeds)
    tables = [rows.table(wanted, *pair, bench, seeds) for pair in pairs]
    if not any(table.rows for table in tables):
        raise MptcplabError(f"{options.out} has no setting with runs of both sides")
    print(markdown(tables), end="")
    if options.docs and (options.only or options.flavour):
        say(f"{options.docs} stays as it is: this is a part of the table")
    elif options.docs:
        marked.replace(options.docs, {_MARK: markdown(tables)})
    for table in tables:
        say(f"{table.kernel.flavour}: {summary(table)}")
    other = any(row.differs or not row.begins_as_itself for table in tables for row in table.rows)
    return 1 if failed or other else 0


def _make(wanted: Sequence[StockSetting], pairs: Sequence[Pair], bench: Bench, seeds: Seeds) -> int:
    """Make the missing runs, after saying how many there are; returns how many failed."""
    kernels = [stock for stock, _lab in pairs]
    jobs = runs.jobs(wanted, kernels, bench.guest, seeds)
    todo, failed = runs.missing(jobs, bench.out), 0
    say(f"{len(todo)} of {len(jobs)} runs in virtual machines are missing in {bench.out.out}")
    # first those that take minutes, so that there soon is a table
    for lab in {lab.id: lab for _, lab in pairs}.values():
        scenarios = [each for one in wanted for each in one.with_seeds(seeds.lab)]
        runs.make_in_lab(scenarios, lab, bench)
        runs.make_close_ups(wanted, seeds.lab, lab, bench)
    for number, (job, entry) in enumerate(runs.make(todo, bench), 1):
        failed += entry.status != "ok"
        say(f"{number}/{len(todo)} {_text(job, entry)}")
    for stock, lab in pairs:
        for each in wanted:
            runs.make_late(runs.late(each, seeds, stock, lab, bench), lab, bench)
    return failed


def _text(job: Job, entry: Entry) -> str:
    slower = ", slower CPU" if job.is_slower else ""
    what = f"{job.kernel.flavour}, {job.setting.name}{slower}, seed {job.scenario.seed}"
    if entry.status != "ok":
        return f"{what}: failed: {entry.reason}"
    unit = "s" if job.setting.is_transfer else "Mbit/s"
    return f"{what}: {figures(entry).value:.3f} {unit}, took {entry.wall_s or 0:.0f} s"


if __name__ == "__main__":
    raise SystemExit(main())
