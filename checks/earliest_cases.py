# SPDX-License-Identifier: GPL-2.0-only
"""Runs the half of the casebook that the design of `earliest` did not see, once.

`make earliest-cases` runs the published part of each case with a few schedulers, and TCP over each
path alone, and puts the table into docs/earliest-evaluation.md after each case: first the cases
whose missing runs take the least time.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from checks.command_line import natural, parser_of, say
from checks.earliest_evaluation import OURS, part_of
from checks.tables import markdown
from mptcplab import marked
from mptcplab.advice import goals
from mptcplab.casebook import reports
from mptcplab.casebook.reports import Reproducible
from mptcplab.errors import status_of
from mptcplab.fit import estimates
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.leaderboard.play import merit
from mptcplab.leaderboard.standings import COPIES, LEAST, REFERENCE
from mptcplab.papers import catalogue
from mptcplab.papers.catalogue import SeededPoint
from mptcplab.runs import cost, experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.scenario import scheduler
from mptcplab.scenario.model import Scenario

_MARK = "make earliest-cases"
_SCHEDULERS = (OURS, REFERENCE, COPIES)
_WALL_LIMIT_S = 3600.0
_COLUMNS = ("case", "figure", "of TCP, %", "seeds below", "of `default`, %", "seeds below")


@dataclass(frozen=True)
class Case:
    """A case, and its runs: of `_SCHEDULERS`, and of TCP over each path alone, for each seed."""

    name: str
    settings: Sequence[SeededPoint]

    @property
    def scenarios(self) -> list[Scenario]:
        every = [each for own in self.settings for each in (own.scenario, *own.alone.values())]
        return list(dict.fromkeys(every))


@dataclass(frozen=True)
class Compared:
    """A case in which everything ran: by seed, the parts of the figures of TCP on the best path and
    of `default` that `earliest` has. `is_reachable`: some scheduler is not below TCP.
    """

    name: str
    figure: str
    tcp: Sequence[float]
    default: Sequence[float]
    is_reachable: bool


def cases() -> list[Case]:
    """The cases of the other half."""
    known, found = scheduler.known(), []
    for name in reports.names():
        own = reports.report(name)
        if not hashlib.sha256(name.encode()).digest()[-1] % 2 or not isinstance(own, Reproducible):
            continue
        grid = {**own.grid, "scheduler": list(_SCHEDULERS)}
        few = own.model_copy(update={"grid": grid, "baselines": True})
        published = reports.experiment(name, few)
        found.append(Case(name, catalogue.settings(published, known, Path())))
    return found


def compared(case: Case, entries: Mapping[Scenario, Entry | None]) -> Compared:
    """What came of a case. A run that failed, or has no figure, is below all others."""
    kind = case.settings[0].scenario.workload.kind
    if all(_merit(kind, entry) is None for entry in entries.values()):
        kind = "bulk"  # a tunnel without a call
    figure = goals.figure_of(kind)
    merits: dict[str, dict[int, float | None]] = {name: {} for name in _SCHEDULERS}
    tcp: dict[int, float | None] = {}
    for own in case.settings:
        merits[own.scenario.scheduler.label][own.seed] = _merit(kind, entries[own.scenario])
        alone = [_merit(kind, entries[each]) for each in own.alone.values()]
        tcp[own.seed] = max((each for each in alone if each is not None), default=None)
    title = figure.text if kind != "bulk" else "goodput"
    return compared_figures(case.name, title, merits, tcp, is_absolute=figure.scale.absolute)


def compared_figures(
    name: str,
    title: str,
    merits: Mapping[str, Mapping[int, float | None]],
    tcp: Mapping[int, float | None],
    *,
    is_absolute: bool,
) -> Compared:
    """A case by the merits of each scheduler and of TCP on the best path, by seed."""

    def parts(of: str, others: Mapping[int, float | None]) -> list[float]:
        return [
            part_of(merits[of][seed], other, is_absolute=is_absolute)
            for seed, other in others.items()
            if other is not None
        ]

    beside = [parts(each, tcp) for each in merits]
    is_reachable = any(each and median(each) >= LEAST for each in beside)
    return Compared(name, title, parts(OURS, tcp), parts(OURS, merits[REFERENCE]), is_reachable)


def _merit(kind: str, entry: Entry | None) -> float | None:
    figure = goals.figure_of(kind)
    return merit(figure, figure.of(entry.metrics)) if entry else None


def text(found: Sequence[Compared], count: int, kernel: str) -> str:
    """The part of the page."""
    beside_tcp = [each.tcp for each in found if each.is_reachable]
    lines = [
        f"{len(found)} of {count} cases of the other half; kernel `{kernel}`. "
        "Medians over the seeds. 100 % is as good as the other, and less is worse:",
        "",
        markdown(_COLUMNS, map(_row, found)),
        f"- Below {100 * LEAST:.0f} % of TCP over the best path: {_sum(beside_tcp)}. Counted are "
        f"cases in which some scheduler of {len(_SCHEDULERS)} is not.",
        f"- Below {100 * LEAST:.0f} % of `default`: {_sum([each.default for each in found])}.",
        "",
    ]
    return "\n".join(lines)


def _row(each: Compared) -> tuple[str, ...]:
    cells = [cell for parts in (each.tcp, each.default) for cell in _cells(parts)]
    return (f"`{each.name}`", each.figure, *cells)


def _cells(parts: Sequence[float]) -> tuple[str, str]:
    if not parts:
        return "-", "-"
    below = sum(part < LEAST for part in parts)
    return f"{100 * median(parts):.0f}", f"{below} of {len(parts)}"


def _sum(cases: Sequence[Sequence[float]]) -> str:
    """How many are below, and the share with its 95 % interval."""
    below = sum(median(parts) < LEAST for parts in cases)
    if not cases:
        return "0 of 0"
    share = estimates.share(below, len(cases), "")
    low, high = 100 * share.low, 100 * (share.high or 0)
    return f"{below} of {len(cases)}, {100 * share.value:.1f} % ({low:.1f}..{high:.1f})"


@dataclass(frozen=True)
class _Lab:
    """Makes runs; one that is stored is not made again."""

    runner: Runner
    rig: Rig

    def key(self, scenario: Scenario) -> str:
        return store.run_key(scenario, self.rig.kernel, self.rig.guest)

    def missing(self, case: Case) -> list[Scenario]:
        runs = Store(self.runner.out)
        return [each for each in case.scenarios if not runs.has(self.key(each))]

    def cost_s(self, case: Case) -> float:
        missing = self.missing(case)
        return len(missing) * cost.size(missing[0]).guessed_s if missing else 0.0

    def entries(self, case: Case) -> dict[Scenario, Entry | None]:
        """All of a case; a run that failed has None."""
        traces = case.settings[0].request.traces
        self.runner.run(self.missing(case), replace(self.rig, traces=traces))
        runs = Store(self.runner.out)
        return {each: runs.result(self.key(each)) for each in case.scenarios}


def main() -> int:
    """Make the runs that are missing, and write the page after each case. Status 1: it failed."""
    parser = parser_of("earliest_cases", __doc__)
    parser.add_argument("page", type=Path, help="the page that gets the table")
    parser.add_argument("--out", type=Path, default=Path("mptcplab-out"), help="where the runs are")
    parser.add_argument("--jobs", type=natural, default=1, help="runs at a time (default: 1)")
    parser.add_argument("--limit", type=natural, help="only so many cases, the first ones")
    options = parser.parse_args()
    return status_of(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    kernel, guest = experiment.built()
    runner = Runner(options.out, jobs=options.jobs, keep_records=False)
    lab = _Lab(runner, Rig(kernel, guest, limits=Limits(wall_s=_WALL_LIMIT_S)))
    every = sorted(cases(), key=lab.cost_s)
    found: list[Compared] = []
    for case in every[: options.limit]:
        found.append(compared(case, lab.entries(case)))
        marked.replace(options.page, {_MARK: text(found, len(every), kernel.id)})
        say(f"{len(found)} of {len(every)}: {found[-1]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
