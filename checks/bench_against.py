# SPDX-License-Identifier: GPL-2.0-only
"""Is this version as fast as an old one?

    python -m checks.bench_against OLD             (make bench-against OLD=REV)

OLD is a git revision, or the id of a kernel in the cache, with +GUEST for an old guest program.
A revision makes its runs with its own code, which is unpacked, and builds its kernel in the cache.

Both versions make each run in turn, once uncounted, then --pairs times. A ratio is CPU time, user
and system, of this version over that of OLD in a pair: of the kernel's processes, or, for `start`,
of all of `mptcplab run`. Medians are shown, with intervals of at least 95 %. The exit status is 1
if a median is above 1.03 and its interval above 1.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import IO, NamedTuple

from checks.command_line import chosen, natural, parser_of, say
from checks.same_commands import ROOT, git, tree_of
from mptcplab.cli.actions import kernels
from mptcplab.errors import MptcplabError, status_of
from mptcplab.lab import kernel
from mptcplab.runs.bench import BENCH, LONG

#: A median above it shows a slower version.
ACCEPTED = 1.03
#: With fewer pairs, no two of them are the ends of an interval of 95 %.
FEWEST_PAIRS = 6
_START = "start"
_BENCH = f"--path={' --path='.join(BENCH.path)} --duration={LONG} --scheduler="
_SHARED = "--link=shared:100mbit,5ms,queue=300 --path=p:link=shared,delay=5ms"
#: The options of the run of each case.
CASES = {
    **{scheduler: _BENCH + scheduler for scheduler in ("default", "minrtt", "blest")},
    "100 connections": f"{_SHARED} --connection=c:paths=p,count=100 --duration=5s",
    _START: "--path=a:10mbit,10ms --path=b:10mbit,20ms --duration=1s",
}
#: A version without these options does the same.
_LATER = (f"--start={BENCH.start}", f"--seed-delay={BENCH.seed_delay}")
_MAIN = "from mptcplab.cli import main; main()"
#: Takes builds by their ids from the cache.
_KEPT = """
from mptcplab.cli.actions import kernels
from mptcplab.lab import guest, kernel
found = kernels.named({text!r}, "OLD")
kernel.build = lambda *_, **__: found.build
guest.build = lambda *_, **__: found.guest
"""
_ID = re.compile(r"[0-9a-f]{12}(\+[0-9a-f]{12})?")


class Cost(NamedTuple):
    """The CPU seconds of a run, or for `start` of the whole command, and the packets with data."""

    cpu_s: float
    packets: int


@dataclass(frozen=True)
class Version:
    """A version: its source, and the Python program that is its command line."""

    source: Path
    program: str = _MAIN

    def cost(self, case: str) -> Cost:
        """The cost of one run. Raises MptcplabError, with its standard error, if it fails."""
        with tempfile.TemporaryDirectory(prefix="bench-against-") as directory:
            out = Path(directory, "out")
            options = [*CASES[case].split(), *self._later, "--seed=1", "--jobs=1", f"--out={out}"]
            with Path(directory, "said").open("wb+") as said:
                process = self._run(*options, output=said)
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                if process.returncode:
                    said.seek(0)
                    raise MptcplabError(f"{case}: {said.read().decode(errors='replace')}")
            (run,) = out.glob("runs/*")
            cost = json.loads((run / "cost.json").read_bytes())
            packets = json.loads((run / "result.json").read_bytes())["data_packets"]
        whole_s, kernel_s = used.ru_utime + used.ru_stime, cost["user_s"] + cost["system_s"]
        return Cost(whole_s if case == _START else kernel_s, packets)

    @cached_property
    def _later(self) -> list[str]:
        said, _ = self._run("--help", output=subprocess.PIPE).communicate()
        return [each for each in _LATER if each.partition("=")[0].encode() in said]

    def _run(self, *options: str, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
        # modules are kept compiled, as on any machine
        kept = {key: it for key, it in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"PYTHONPATH": str(self.source)}
        command = [sys.executable, "-c", self.program, "run", *options]
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output)


@contextmanager
def version_of(text: str) -> Iterator[Version]:
    """The version that OLD names. A revision, also one that looks like an id, is unpacked while it
    is needed. Raises InputError if there is no guest program of that id.
    """
    if _ID.fullmatch(text) and text[:12] in {each.id for each in kernel.built()}:
        kernels.named(text, "OLD")
        yield Version(ROOT / "src", _KEPT.format(text=text) + _MAIN)
        return
    repository, tree = tree_of(text)
    with tempfile.TemporaryDirectory(prefix="bench-against-") as directory:
        archive = git(repository, "archive", tree)
        subprocess.run(["tar", "-x"], cwd=directory, input=archive, check=True)
        yield Version(Path(directory, "src"))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The interval of a median, of any distribution: two of the values, by the binomial law."""
    ordered, count = sorted(values), len(values)
    below, rank = 0.0, 0
    while (below := below + math.comb(count, rank) / 2**count) <= 0.025:
        rank += 1
    assert rank, f"an interval needs {FEWEST_PAIRS} values"
    return ordered[rank - 1], ordered[-rank]


def row(case: str, pairs: Sequence[tuple[Cost, Cost]]) -> tuple[str, bool]:
    """The line of a case, in Markdown, and whether it shows a loss that needs a reason."""
    ratios = [new.cpu_s / old.cpu_s for old, new in pairs]
    old_s, new_s = (median(each.cpu_s for each in side) for side in zip(*pairs, strict=True))
    low, high = interval(ratios)
    slower = median(ratios) > ACCEPTED and low > 1
    ratio = f"{median(ratios):.3f} ({low:.3f} to {high:.3f})" + slower * " **slower**"
    packets = pairs[0][1].packets / pairs[0][0].packets
    return f"| {case} | {old_s:.2f} | {new_s:.2f} | {ratio} | {packets:.3f} |", slower


def measured(case: str, old: Version, new: Version, count: int) -> list[tuple[Cost, Cost]]:
    """The costs of both versions, in pairs; every other pair begins with the new one."""
    pairs = []
    for number in range(count + 1):
        sides = {version: version.cost(case) for version in (old, new)[:: (-1) ** number]}
        pairs.append((sides[old], sides[new]))
    return pairs[1:]


def main(arguments: Sequence[str]) -> int:
    """Measures and prints all cases; the exit status."""
    parser = parser_of("bench_against", __doc__)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("--pairs", type=natural, default=10, metavar="N", help="[10]")
    parser.add_argument("--only", default="", metavar="CASE,...", help=", ".join(CASES))
    options = parser.parse_args(arguments)
    if options.pairs < FEWEST_PAIRS:
        parser.error(f"--pairs {options.pairs}: an interval takes at least {FEWEST_PAIRS}")
    new, slower = Version(ROOT / "src"), False
    with version_of(options.old) as old:
        print(f"| run | CPU s of {options.old} | now | CPU time, of its | packets, of its |")
        print("|---|---|---|---|---|")
        for case in chosen(parser, "--only", options.only, tuple(CASES)):
            say(f"{case}: {options.pairs} pairs of runs")
            line, lost = row(case, measured(case, old, new, options.pairs))
            print(line, flush=True)
            slower |= lost
    return int(slower)


if __name__ == "__main__":
    sys.exit(status_of(lambda: main(sys.argv[1:])))
