# SPDX-License-Identifier: GPL-2.0-only
"""Trouble, at random but repeatable: no byte is lost, none is wrong, and nothing stalls.

`python -m checks.torture` makes runs of connections with troubles (see troubles.py), for each
scheduler with each congestion control. It checks the bytes that both ends of every connection saw,
and shows the command that repeats a failure. See docs/reliability.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from checks import many, tables
from checks.command_line import chosen, natural, parser_of
from checks.troubles import TROUBLES, Connection, End, TortureCase, case
from mptcplab.errors import RunError, status_of
from mptcplab.lab import engine, kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig, Watch
from mptcplab.metrics import run_files
from mptcplab.runs.single import own_cpu
from mptcplab.scenario import congestion

DEFAULT_OUT = Path("torture-out")

# A run has some minutes of virtual time; in the debug kernel a busy second of it takes a minute.
_LIMITS = Limits(wall_s=3600.0, stall_cpu_s=60.0)
# of TCP's states
_ESTABLISHED = 1
# Troubles that may leave a connection without a subflow.
_TAKES_SUBFLOWS = {"endpoints", "client endpoints", "kills"}
# Losses by number do not end with the others: on a path with few packets they may outlast the
# close timeout of an end that its application has closed, which then gives up without a word.
_LOSES_LATER = {"handshake"}


# --- the verdict


@dataclass
class Verdict:
    """The verdict on runs: connections, those that did not end well for a reason, and failures.

    `aborted`: an end noticed. `cut_off`: no subflow was left over which it could have noticed.
    """

    runs: int = 1
    connections: int = 0
    aborted: int = 0
    cut_off: int = 0
    verified_bytes: int = 0
    stalls: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    @property
    def failures(self) -> list[str]:
        """What went wrong; empty if nothing did."""
        return [*self.reports, *self.losses, *self.stalls]

    def add(self, other: Verdict) -> None:
        """Adds those of other runs."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def judge(case: TortureCase, records: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judges a case by what the ends of its connections have seen, as connections.c reports it.

    A connection may end early if an end notices: by a reset, a timeout, any error. It must not end
    as if all had arrived when not all has, and it must end at all: at `until_us` every path has
    carried, and every end has read, for longer than any timer lasts. Two things can keep it from
    that, in TCP and MPTCP of all kinds: who only listens never learns of a reset that was lost, and
    a connection can do nothing when its last subflow was taken away.
    """
    found = Verdict(connections=len(records))
    for connection, record in zip(case.connections, records, strict=True):
        name = f"connection {record['connection']}"
        client, server = record["client"], record["server"]
        found.verified_bytes += client["read"] + server["read"]
        for direction, sender, receiver in (("up", client, server), ("down", server, client)):
            wrong = _direction(sender, receiver)
            if wrong:
                found.losses.append(f"{name} {direction}: {wrong}")
        open_ends = [name for name in ("client", "server") if _is_open(record[name])]
        if open_ends and _was_cut_off(case, client, server):
            found.cut_off += 1
        elif open_ends or not _is_settled(case, client, server):
            found.stalls.append(f"{name}: {_state(record, connection)}")
        elif not is_whole(record):
            found.aborted += 1
    return found


def is_whole(record: Mapping[str, Any]) -> bool:
    """Whether both ends of a connection have read all that the other one wrote, and its end."""
    client, server = record["client"], record["server"]
    return all(
        receiver["read_end"] and receiver["read"] == sender["wrote"]
        for sender, receiver in ((client, server), (server, client))
    )


def _direction(sender: Mapping[str, Any], receiver: Mapping[str, Any]) -> str:
    """What is wrong with the bytes from one end to the other; "" if nothing."""
    wrote, read = sender["wrote"], receiver["read"]
    fell_back = ", fallback" if sender["fell_back"] or receiver["fell_back"] else ""
    if receiver["wrong_at"] >= 0:
        at = receiver["wrong_at"]
        return f"the byte at {at} is wrong, of {read} read and {wrote} written{fell_back}"
    if read > wrote:
        return f"{read} bytes were read, but {wrote} written"
    if not receiver["read_end"] or read == wrote or receiver["error"]:
        return ""
    how = "its writer failed: " + sender["error"] if sender["error"] else f"{sender['did']}"
    return f"a clean end after {read} of {wrote} bytes ({how or 'still open'}{fell_back})"


def _is_open(end: Mapping[str, Any]) -> bool:
    return bool(end["there"]) and not end["closed"]


def _was_cut_off(case: TortureCase, client: Mapping[str, Any], server: Mapping[str, Any]) -> bool:
    """Whether no open end can move on its own: see judge()."""
    taken = bool(set(case.troubles) & _TAKES_SUBFLOWS)
    for end, other in ((client, server), (server, client)):
        if not _is_open(end) or (taken and not _lives(end)):
            continue
        silent = other["did"] == "abort" or other["error"] or set(case.troubles) & _LOSES_LATER
        gone = other["closed"] and silent
        if end["state"]["queued"] or not (gone or (taken and not _lives(other))):
            return False
    return True


def _lives(end: Mapping[str, Any]) -> bool:
    """Whether it has a subflow that can carry data."""
    return _is_open(end) and any(tcp["state"] == _ESTABLISHED for tcp in end["state"]["tcp"])


def _is_settled(case: TortureCase, client: Mapping[str, Any], server: Mapping[str, Any]) -> bool:
    """Whether the server has got the connection, unless it was given up or taken away before."""
    gave_up = client["error"] or client["did"] == "abort" or not client["connected"]
    return bool(server["there"] or gave_up or set(case.troubles) & _TAKES_SUBFLOWS)


def _state(record: Mapping[str, Any], connection: Connection) -> str:
    """Why a connection has not ended, as far as its ends know."""
    parts = []
    for name, end in (("client", record["client"]), ("server", record["server"])):
        if not end["there"]:
            parts.append(f"{name} not there")
            continue
        plan: End = getattr(connection, name)
        did = f"closed ({end['did'] or end['error']})" if end["closed"] else "open"
        parts.append(
            f"{name} {did}, wrote {end['wrote']} of {plan.bytes}, read {end['read']}"
            f"{' and the end' if end['read_end'] else ''},"
            f" moved last at {end['moved_us'] / 1e6:g} s"
        )
        if "state" in end:
            parts.append(json.dumps(end["state"]))
    return "; ".join(parts)


# --- a case in a guest


def perform(
    case: TortureCase, builds: many.Builds, directory: Path, watch: Watch | None = None
) -> Verdict:
    """Runs a case in an empty directory and judges it. Raises RunCancelledError."""
    program = str(builds.program.program)
    (directory / run_files.CLIENT_INPUT).write_text(case.input())
    rig = Rig(builds.kernel, builds.guest, limits=_LIMITS)
    made = case.scenario(program), case.plan(program), rig, directory
    try:
        with own_cpu() as cpu:
            outcome = engine.run(*made, cpu=cpu, watch=watch)
    except RunError as error:
        (directory / "reason.txt").write_text(f"{error}\n")
        return Verdict(connections=len(case.connections), reports=[error.reason])
    if outcome.guest["client_status"]:
        said = (directory / run_files.CLIENT_ERRORS).read_text().strip()
        return Verdict(connections=len(case.connections), reports=[f"the program failed: {said}"])
    lines = (directory / run_files.CLIENT_OUTPUT).read_text().splitlines()
    records = [json.loads(line) for line in lines]
    verdict = judge(case, records)
    verdict.cpu_s = outcome.user_s + outcome.system_s
    return verdict


# --- many of them


@dataclass(frozen=True)
class Wanted:
    """Which cases: a seed for each run, of these schedulers and congestion controls."""

    seeds: range
    schedulers: tuple[str, ...]
    ccs: tuple[str, ...]
    without: tuple[str, ...] = ()
    only: tuple[int, ...] = ()

    def pair(self, seed: int) -> tuple[str, str]:
        """The scheduler and the congestion control of a seed, which alone decides what is run."""
        cc = self.ccs[seed // len(self.schedulers) % len(self.ccs)]
        return self.schedulers[seed % len(self.schedulers)], cc

    def cases(self) -> Iterator[TortureCase]:
        """That of each seed."""
        for seed in self.seeds:
            scheduler, cc = self.pair(seed)
            yield case(seed, scheduler, cc, without=self.without, only=self.only)


def command(case: TortureCase, wanted: Wanted, variant: str) -> str:
    """The command that repeats a case."""
    words = [f"make torture SEED={case.seed} RUNS=1"]
    if variant != "lab":
        words.append(f"VARIANT={variant}")
    words += [f"SCHEDULER={case.name}", f"CC={case.cc}"]
    more = [f"--without '{name}'" for name in wanted.without]
    more += [f"--connection {number}" for number in wanted.only]
    if more:
        words.append(f'TORTURE_ARGS="{" ".join(more)}"')
    return " ".join(words)


# --- the report


_COLUMNS = (
    *("runs", "connections", "aborted", "cut off", "MB verified", "stalls", "losses", "reports"),
    "CPU s",
)


def table(totals: Mapping[str, Verdict]) -> Table:
    """A line for each scheduler, and one for all."""
    made, everything = tables.plain("scheduler", numbers=_COLUMNS), Verdict(runs=0)
    for total in totals.values():
        everything.add(total)
    for name, total in [*sorted(totals.items()), ("all", everything)]:
        made.add_row(
            name,
            *map(str, (total.runs, total.connections, total.aborted, total.cut_off)),
            f"{total.verified_bytes / 1e6:.1f}",
            *(str(len(found)) for found in (total.stalls, total.losses, total.reports)),
            f"{total.cpu_s:.0f}",
        )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if nothing was lost, stalled or reported; else 1."""
    parser = parser_of("torture", __doc__)
    parser.add_argument("--seed", type=natural, default=1, help="seed of the first run (1)")
    parser.add_argument("--runs", type=natural, default=100, help="how many, seed by seed (100)")
    parser.add_argument("--scheduler", default="", help="only these, separated by commas")
    parser.add_argument("--cc", default="", help="only these, separated by commas")
    parser.add_argument("--kernel-variant", default="lab", choices=sorted(kernel.VARIANTS))
    without = f"leave this out; again for more: {', '.join(TROUBLES)}"
    parser.add_argument(
        "--without", action="append", default=[], choices=TROUBLES, metavar="TROUBLE", help=without
    )
    alone = "only this one, from 1; again for more"
    parser.add_argument(
        "--connection", action="append", default=[], type=natural, metavar="NUMBER", help=alone
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where failed runs are kept")
    options = parser.parse_args(arguments)
    schedulers = chosen(parser, "--scheduler", options.scheduler, kernel.schedulers())
    wanted = Wanted(
        seeds=range(options.seed, options.seed + options.runs),
        schedulers=schedulers,
        ccs=chosen(parser, "--cc", options.cc, congestion.names()),
        without=tuple(options.without),
        only=tuple(options.connection),
    )
    return status_of(lambda: _run_and_show(wanted, options.kernel_variant, options.out))


def _run_and_show(wanted: Wanted, variant: str, out: Path) -> int:
    made = many.builds(variant, "torture")
    attack = many.attack(
        list(wanted.cases()),
        lambda case, directory, watch: perform(case, made, directory, watch),
        lambda case: f"{case.seed}-{case.name}-{case.cc}",
        lambda case: f"{command(case, wanted, variant)}   # {', '.join(case.troubles)}",
        out,
    )
    totals: dict[str, Verdict] = {}
    try:
        with closing(attack) as verdicts:
            for one, verdict in verdicts:
                totals.setdefault(one.name, Verdict(runs=0)).add(verdict)
    finally:
        if totals:
            tables.show(table(totals), width=120)
    return 1 if any(total.failures for total in totals.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
