# SPDX-License-Identifier: GPL-2.0-only
"""Calls at random, but repeatable, of all of our kernel code that a program can reach.

`python -m checks.fuzz` makes the calls of guest/fuzz/calls.c. The kernel that checks itself
(`debug`) is the judge: its reports, and guests that stop, are failures. The check shows how often
each call had which result, and the command that repeats a failure. See docs/reliability.md.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Column, Table

from checks import many, tables
from checks.command_line import natural, parser_of
from mptcplab.errors import RunError, status_of
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, Watch
from mptcplab.metrics import run_files
from mptcplab.runs.single import run
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.workload import Program

DEFAULT_CALLS = 1_000_000
DEFAULT_OUT = Path("fuzz-out")
#: The most calls of a guest: a failure is soon repeated, and all CPUs have work.
CALLS_PER_GUEST = 50_000

# Some 1000 calls take 1 s of virtual time; blocked calls are interrupted by then.
_TIME_LIMIT_NS = 4000 * 10**9
# Calls that fail move the clock, others do not: in the debug kernel it may stand for long.
_LIMITS = Limits(wall_s=3600.0, stall_cpu_s=120.0)

# A line of the program: a call with the number of each of its results, or the number of calls.
_LINE = re.compile(r"(?P<call>\w+)(?P<figures>( \d+|(\s+\w+=\d+)*))")


# --- the calls


@dataclass(frozen=True)
class FuzzCase:
    """The calls of one guest: the seed decides each of them, and the paths."""

    seed: int
    calls: int

    def scenario(self, program: str) -> Scenario:
        """Two paths that come and go, one of which loses packets."""
        chance = random.Random(self.seed)
        paths = (
            f"a:{chance.choice((2, 10, 50))}mbit,{chance.randint(1, 10)}ms",
            f"b:20mbit,{chance.randint(2, 30)}ms,loss={chance.choice((0, 1, 2, 10))}%",
        )
        events = tuple(
            f"{chance.randint(300, 2000)}ms:{path}:down,lasts={chance.randint(50, 900)}ms,"
            f"every={chance.randint(2, 6)}s"
            for path in "ab"
        )
        words = (program, str(self.seed), str(self.calls))
        what = Program(client=words, directory="/", time_limit_ns=_TIME_LIMIT_NS, records=False)
        flags = Flags(path=paths, event=events, seed=str(self.seed), program=what)
        return from_flags(flags, single=True).base

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return f"make fuzz SEED={self.seed} CALLS={self.calls}"


def cases(seed: int, calls: int) -> list[FuzzCase]:
    """The guests that make `calls` calls, with the seeds from `seed` on."""
    whole, rest = divmod(calls, CALLS_PER_GUEST)
    sizes = [CALLS_PER_GUEST] * whole + [rest] * bool(rest)
    return [FuzzCase(seed + number, size) for number, size in enumerate(sizes)]


# --- the results


@dataclass
class Result:
    """How often each call had which result ("ok", or the name of an error), and what went wrong."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return sum(sum(results.values()) for results in self.counts.values())

    def add(self, other: Result) -> None:
        for call, results in other.counts.items():
            self.counts.setdefault(call, Counter()).update(results)
        self.failures += other.failures


def parse(text: str, status: int) -> Result:
    """Reads the output of a program that ended with a status."""
    result = Result()
    ended = False
    for line in text.splitlines():
        if line.startswith("WRONG: "):
            result.failures.append(line.removeprefix("WRONG: "))
            continue
        if not (found := _LINE.fullmatch(line)):
            result.failures.append(f"the program said: {line}")
        elif found["call"] == "calls":
            ended = True
        else:
            pairs = [figure.split("=") for figure in found["figures"].split()]
            result.counts[found["call"]] = Counter({name: int(count) for name, count in pairs})
    if not result.failures and status:
        result.failures.append(f"the program ended with the status {status}")
    elif not result.failures and not ended:
        result.failures.append("the program did not end")
    return result


# --- a case in a guest


def perform(
    case: FuzzCase, builds: many.Builds, directory: Path, watch: Watch | None = None
) -> Result:
    """Runs a case in an empty directory. Raises RunCancelledError."""
    rig = Rig(builds.kernel, builds.guest, limits=_LIMITS)
    try:
        outcome = run(case.scenario(str(builds.program.program)), rig, directory, watch)
    except RunError as error:
        (directory / "reason.txt").write_text(f"{error}\n")
        wrong = parse(_output(directory), 1).failures if "WRONG" in _output(directory) else []
        return Result(failures=[error.reason, *wrong])
    return parse(_output(directory), outcome.guest["client_status"])


def _output(directory: Path) -> str:
    file = directory / run_files.CLIENT_OUTPUT
    return file.read_text(errors="replace") if file.exists() else ""


# --- the report


def table(result: Result) -> Table:
    """A line for each call, with its results, the most frequent first."""
    made = Table("call", Column("calls", justify="right"), "results", box=None, pad_edge=False)
    for call, results in result.counts.items():
        counts = ", ".join(f"{name} {count}" for name, count in results.most_common())
        made.add_row(call, str(sum(results.values())), counts)
    made.add_row("all", str(result.calls), "")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if the kernel reported nothing and every guest came to its end; else 1."""
    parser = parser_of("fuzz", __doc__)
    parser.add_argument("--seed", type=natural, default=1, help="seed of the first guest (1)")
    calls = f"calls in all, {CALLS_PER_GUEST} for each guest and its seed ({DEFAULT_CALLS})"
    parser.add_argument("--calls", type=natural, default=DEFAULT_CALLS, help=calls)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where failed runs are kept")
    options = parser.parse_args(arguments)
    wanted = cases(options.seed, options.calls)
    return status_of(lambda: _run_and_show(wanted, options.out))


def _run_and_show(cases: Sequence[FuzzCase], out: Path) -> int:
    total, made = Result(), many.builds("debug", "fuzz")
    attack = many.attack(
        cases,
        lambda case, directory, watch: perform(case, made, directory, watch),
        lambda case: str(case.seed),
        lambda case: case.command,
        out,
    )
    try:
        with closing(attack) as results:
            for _, result in results:
                total.add(result)
    finally:
        tables.show(table(total), width=120)
    return 1 if total.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
