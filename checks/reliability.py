# SPDX-License-Identifier: GPL-2.0-only
"""Counts the attacks on the lab and the faults that they find: `make reliability`.

The attacks are connections with troubles (torture.py) in the lab kernel and in the kernel that
checks itself, calls at random (fuzz.py) in the latter, and some of the tests. docs/reliability.md
has the table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from checks import fuzz, many, tables, torture
from checks.command_line import parser_of, say
from mptcplab import marked
from mptcplab.errors import MptcplabError, status_of
from mptcplab.lab import kernel
from mptcplab.scenario import congestion

_MARK = "make reliability"
# The tests: what they attack, and where they are.
_TESTS = {
    "2,048 short connections for each scheduler, each with other packets of its handshake lost": (
        "tests/scenario/test_short_connections.py",
    ),
    "sockets and files of the kernel, used as nobody should": (
        "tests/engine/test_sockets.py",
        "tests/engine/test_reach.py",
    ),
    "programs in a guest that stop it, fill the disk, leave links": (
        "tests/engine/test_hostile.py",
        "tests/unit/test_run_directory.py",
    ),
    "kernels, programs and disks that fail, and runs that are killed": (
        "tests/engine/test_faults.py",
        "tests/engine/test_tasks.py",
    ),
    "8 writers and 8 readers of one output directory": (
        "tests/unit/test_together.py",
        "tests/unit/test_files.py",
    ),
    "clusters without the key, and workers that answer wrongly": (
        "tests/engine/test_cluster_security.py",
        "tests/unit/test_cluster.py",
        "tests/unit/test_archive.py",
    ),
    "files and flags that make no sense": (
        "tests/unit/test_wrong_tables.py",
        "tests/unit/test_formulas.py",
        "tests/unit/test_output.py",
    ),
}


#: An attack: what it is, how often it was made, and how many faults it found.
Row = tuple[str, str, int]


def measure(runs: int, debug_runs: int, calls: int, out: Path) -> Iterator[Row]:
    """Make all attacks, one after the other. Raises MptcplabError."""
    yield _troubles(runs, "lab", out)
    yield _troubles(debug_runs, "debug", out)
    yield _calls(calls, out)
    for attack, files in _TESTS.items():
        yield _tests(attack, files)


def _troubles(runs: int, variant: str, out: Path) -> Row:
    wanted = torture.Wanted(1, runs, tuple(kernel.schedulers()), tuple(congestion.names()))
    total = torture.Verdict(runs=0)
    with closing(torture.attack(wanted, many.builds(variant, "torture"), out)) as ended:
        for _, verdict in ended:
            total.add(verdict)
    return (
        f"connections with troubles, every scheduler, {variant} kernel: bytes lost or wrong,"
        " stalls, reports of the kernel",
        f"{total.runs} runs, {total.connections} connections, {total.verified_bytes / 1e6:.0f} MB",
        len(total.failures),
    )


def _calls(calls: int, out: Path) -> Row:
    total = fuzz.Result()
    with closing(fuzz.attack(fuzz.cases(1, calls), many.builds("debug", "fuzz"), out)) as ended:
        for _, result in ended:
            total.add(result)
    attack = "calls at random of all that a program can reach, debug kernel: reports, stops"
    return attack, f"{total.calls} calls", len(total.failures)


def _tests(attack: str, files: Sequence[str]) -> Row:
    say(attack)
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as directory:
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *files]
        subprocess.run(command, stdout=sys.stderr, check=False)
        try:
            suites = ElementTree.parse(report).getroot().iter("testsuite")
        except (OSError, ElementTree.ParseError) as error:
            raise MptcplabError(f"{' '.join(command)} gave no report") from error
        counts = Counter[str]()
        for suite in suites:
            counts.update({key: int(suite.get(key, 0)) for key in _COUNTS})
    made = counts["tests"] - counts["skipped"]
    return attack, f"{made} tests", counts["failures"] + counts["errors"]


_COUNTS = ("tests", "failures", "errors", "skipped")


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if nothing was found, else 1."""
    parser = parser_of("reliability", __doc__)
    parser.add_argument("--docs", type=Path, help="a page that gets the table between its marks")
    parser.add_argument("--runs", type=int, default=1000, help="with troubles, lab kernel (1000)")
    parser.add_argument("--debug-runs", type=int, default=200, help="the same, debug kernel (200)")
    parser.add_argument("--calls", type=int, default=fuzz.DEFAULT_CALLS, help="at random (1000000)")
    parser.add_argument("--out", type=Path, default=torture.DEFAULT_OUT, help="for runs that fail")
    options = parser.parse_args(arguments)
    return status_of(lambda: _measure_and_show(options))


def _measure_and_show(options: argparse.Namespace) -> int:
    rows = list(measure(options.runs, options.debug_runs, options.calls, options.out))
    text = tables.markdown(("attack", "made", "found"), rows)
    print(text, end="")
    if options.docs:
        marked.replace(options.docs, {_MARK: text})
    return 1 if any(found for _attack, _made, found in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
