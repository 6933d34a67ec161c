# SPDX-License-Identifier: GPL-2.0-only
"""The schedulers as modules on unmodified Debian kernels, in virtual machines: `make vm-test`.

Each cell is a scheduler with a load, on a kernel and a number of CPUs. Every byte is compared, the
kernel must report nothing, and the modules must unload. Any two of scheduler, load, kernel and CPUs
meet in each of their combinations; with --all, everything does. Results are kept, and cells are
repeated when something has changed that they depend on; Ctrl-C ends the current machines. See
docs/kernels.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from checks import many, tables
from checks.command_line import chosen, natural, parser_of, say
from checks.vm import cells, machine, runs
from checks.vm.cells import Cell
from checks.vm.runs import Boot, Result
from mptcplab import marked
from mptcplab.errors import status_of

_MARK = "make vm-test"
_OUT = Path("vm-out")


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if every cell is good, else 1."""
    parser = parser_of("vm", __doc__)
    parser.add_argument("--out", type=Path, default=_OUT, help=f"where results are kept ({_OUT})")
    parser.add_argument("--docs", type=Path, help="a page that gets the table between its marks")
    parser.add_argument("--all", action="store_true", help="every combination, and more loads")
    parser.add_argument("--scheduler", default="", help="only these, separated by commas")
    parser.add_argument("--load", default="", help="only these, separated by commas")
    parser.add_argument("--kernel", default="", help="only these series, separated by commas")
    parser.add_argument("--cpus", default="", help="only these numbers of CPUs, with commas")
    parser.add_argument("--jobs", type=natural, default=1, help="virtual machines at a time (1)")
    parser.add_argument("--again", action="store_true", help="repeat the cells that failed")
    options = parser.parse_args(arguments)
    names = chosen(parser, "--scheduler", options.scheduler, cells.schedulers())
    loads = chosen(parser, "--load", options.load, (*cells.LOADS, *cells.MORE_LOADS))
    series = chosen(parser, "--kernel", options.kernel, cells.SERIES)
    cpus = chosen(parser, "--cpus", options.cpus, tuple(map(str, cells.CPUS)))
    all_names = cells.schedulers()
    found = cells.everything(all_names) if options.all else cells.pairwise(all_names, cells.LOADS)
    wanted = [
        each
        for each in found
        if each.scheduler in names
        and each.load in loads
        and each.series in series
        and str(each.cpus) in cpus
    ]
    if not wanted:
        parser.error("no such cell; with --all there are more")
    again = "interrupted; finished cells are kept, and the same command continues"
    return status_of(lambda: _check(options, wanted), interrupted=again)


def _check(options: argparse.Namespace, wanted: Sequence[Cell]) -> int:
    machine.require(options.jobs)
    parts = {series: machine.parts(series) for series in sorted({each.series for each in wanted})}
    boots = [
        Boot(parts[series], boot, options.out)
        for (series, _cpus), boot in cells.with_ends(wanted).items()
    ]
    if options.again:
        for boot in boots:
            for result in boot.kept():
                if result.failures:
                    boot.file(result.cell).unlink()
    todo = [boot for boot in boots if boot.missing()]
    missing = sum(len(boot.missing()) for boot in todo)
    say(f"{missing} of {sum(len(boot.cells) for boot in boots)} cells are missing in {options.out}")
    with closing(many.each(todo, runs.perform, options.jobs)) as ended:
        for _ in ended:
            pass
    results = [result for boot in boots for result in boot.kept()]
    text = markdown(results)
    print(text, end="")
    failed = [result for result in results if result.failures]
    print("\n".join(map(str, failed)))
    if options.docs and len(wanted) == len(cells.pairwise(cells.schedulers(), cells.LOADS)):
        marked.replace(options.docs, {_MARK: text})
    say(f"{len(results)} cells, {len(failed)} of them failed")
    return 1 if failed else 0


def markdown(results: Sequence[Result]) -> str:
    """The table: a line for each scheduler, a column for each load, with kernel, CPUs and time."""
    loads = list(dict.fromkeys(result.cell.load for result in results))
    lines: dict[str, dict[str, list[str]]] = {}
    for result in results:
        line = lines.setdefault(result.cell.scheduler, {load: [] for load in loads})
        text = f"{result.cell.series}/{result.cell.cpus}: {result.ms / 1000:.1f}"
        forced = f" ({result.forced})" if result.forced else ""
        line[result.cell.load].append(f"{text}{forced}" + " FAILED" * bool(result.failures))
    rows = [[name, *("; ".join(line[load]) for load in loads)] for name, line in lines.items()]
    return tables.markdown(("scheduler", *loads), rows)


if __name__ == "__main__":
    raise SystemExit(main())
