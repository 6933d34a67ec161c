# SPDX-License-Identifier: GPL-2.0-only
"""Which scheduler and congestion control to use on some paths: runs the catalogue on variations.

In three stages, so that it takes minutes: all schedulers with one congestion control on a few
variations of the paths; the best of them with all congestion controls; and the best pairs of every
goal on all variations. Stored runs are not repeated, so interrupted advice continues where it
stopped. Module `variations` makes the paths, `goals` says what is run and judged, `ranking` how;
Linux's default, the reference, is in every stage.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mptcplab import extras
from mptcplab.advice.goals import Goal, Name, goals
from mptcplab.advice.ranking import Ranking, Values, rank
from mptcplab.advice.variations import variations
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.spec import congestion, scheduler
from mptcplab.spec.resolve import Request
from mptcplab.spec.scenario import Scenario
from mptcplab.spec.scheduler import Choice
from mptcplab.spec.uncertainty import Uncertainty

#: Shows the progress of some number of runs.
Show = Callable[[int], AbstractContextManager[tuple[experiment.Progress, experiment.Ended]]]

#: Data sent beyond one copy of each byte, in %, is reported from here on, and costs.
MUCH_EXTRA = 5.0
#: What is advised for all goals loses no more of any: of the best goodput, and of the reference.
MOST_LOST = 0.1
# Distances from the best are compared in hundredths; within one, the simpler candidate is chosen.
_OVERALL_STEP = 0.01
_STAGES = 3


@dataclass(frozen=True)
class Effort:
    """How much is run: how many variations screen the catalogue, how many there are in all, and how
    many candidates of each goal are kept after a stage.
    """

    screened: int
    variations: int
    kept: int


_NORMAL = Effort(screened=4, variations=16, kept=3)
_QUICK = Effort(screened=2, variations=6, kept=2)


def effort(*, quick: bool, count: int | None) -> Effort:
    """The effort for `count` variations, or (None) for the usual number."""
    usual = _QUICK if quick else _NORMAL
    if count is None:
        return usual
    return Effort(min(usual.screened, count), count, usual.kept)


@dataclass(frozen=True)
class Candidate:
    scheduler: Choice
    cc: str

    @property
    def label(self) -> str:
        return f"{self.scheduler.label}, {self.cc}"

    @property
    def is_upstream(self) -> bool:
        """Whether Linux has it without patches."""
        own = congestion.find(congestion.name_of(self.cc)).file is not None
        return self.scheduler.name == scheduler.DEFAULT and not own


#: Linux's default.
REFERENCE = Candidate(Choice(name=scheduler.DEFAULT), congestion.DEFAULT)


@dataclass(frozen=True)
class Judged:
    """A goal: the ranking of the finalists, the number of pairs tried, and the screened ones.

    `values` are the figures of all finalists by variation; `screening` has those that were dropped
    before, over the variations of the screening.
    """

    goal: Goal
    ranking: Ranking
    values: Values
    screening: Mapping[str, float]
    tried: int


#: What somebody may not care about: a goal, or how much data is sent.
GivenUp = Name | Literal["data"]


@dataclass(frozen=True)
class Overall:
    """A candidate for all goals together: for which it is as good as the best, how far behind it is
    of each, and of what it costs too much.
    """

    name: str
    as_good: Sequence[Name]
    behind: Mapping[Name, float]
    costs: Sequence[GivenUp]


@dataclass(frozen=True)
class Advice:
    """The result; candidates are identified by their labels.

    `overall` has the finalists with all figures, the best for all goals that are not in `give_up`
    first. `extra` is what the finalists sent beyond one copy of each byte, in % (the median, with
    the load of the goal latency). `runs` is the total number of runs.
    """

    base: Scenario
    uncertainty: Uncertainty
    effort: Effort
    candidates: Mapping[str, Candidate]
    variations: Sequence[Scenario]
    judged: Sequence[Judged]
    overall: Sequence[Overall]
    give_up: Sequence[GivenUp]
    extra: Mapping[str, float]
    failures: Sequence[str]
    runs: int
    builds: Mapping[str, str]


@dataclass(frozen=True)
class _Run:
    """A scenario to run for a goal, with its candidate and its variation."""

    goal: Goal
    candidate: Candidate
    number: int
    scenario: Scenario


def check(request: Request) -> None:
    """Raises InputError for a scenario on which no advice is possible.

    MachineError if SciPy is missing.
    """
    extras.require("advise", "advice")
    base = request.base
    problems = []
    if base.connections:
        message = "advice is for a single connection; leave the connections out"
        problems.append(Problem("advise", "connection", "", message))
    elif base.transport != "mptcp":
        message = "plain TCP has no scheduler; advice is for Multipath TCP"
        problems.append(Problem("advise", "transport", base.transport, message))
    elif len(base.paths) < 2:
        message = f"over {base.paths[0].name} alone there is nothing to schedule; give 2 or more"
        problems.append(Problem("advise", "path", "", message))
    if problems:
        raise InputError(problems)


def most_runs(request: Request, ccs: Sequence[str], effort: Effort) -> int:
    each = sum(max(len(goal.troubled), 1) for goal in goals(request.base))
    count = len(goals(request.base))
    schedulers = len({*request.schedulers, REFERENCE.scheduler})
    pairs = schedulers * len({*ccs, REFERENCE.cc})
    second = min((effort.kept + 1) * (len({*ccs, REFERENCE.cc}) - 1), pairs - schedulers)
    final = min(count * (effort.kept + 1) + effort.kept + 1, pairs)
    # finalists of one goal may have been screened out for the others
    most = effort.screened * (schedulers + second) + effort.variations * final
    return each * min(most, effort.variations * pairs)


def advise(
    request: Request,
    ccs: Sequence[str],
    uncertainty: Uncertainty,
    effort: Effort,
    kernel: KernelBuild,
    guest: Guest,
    out: Path,
    *,
    give_up: Sequence[GivenUp] = (),
    modules: Mapping[str, Path],
    jobs: int,
    limits: Limits,
    show: Show,
    say: Callable[[str], None],
    cancel: threading.Event,
) -> Advice:
    """Run what is missing, and judge it.

    Raises MptcplabError if no candidate has a goal's figure, and RunCancelledError.
    """
    varied = variations(request.base, uncertainty, effort.variations)
    wanted = goals(request.base)
    measured = _Measured(
        *(varied, kernel, guest, Store(out)),
        most=most_runs(request, ccs, effort),
        sources=request.sources,
        modules=modules,
        jobs=jobs,
        limits=limits,
        show=show,
        say=say,
        cancel=cancel,
    )
    screened, kept = range(effort.screened), effort.kept
    cc = REFERENCE.cc if REFERENCE.cc in ccs else ccs[0]
    schedulers = [Candidate(each, cc) for each in request.schedulers]

    measured.stage(
        *(1, f"schedulers with {cc}: {len(schedulers)}, variations: {len(screened)}"),
        {goal.name: [*schedulers, REFERENCE] for goal in wanted},
        wanted,
        screened,
    )
    # default with any of them, since that needs no other kernel
    pairs = {
        goal.name: [
            Candidate(each, cc)
            for each in dict.fromkeys(
                [
                    *(c.scheduler for c in _best(measured, goal, schedulers, screened)[:kept]),
                    REFERENCE.scheduler,
                ]
            )
            for cc in ccs
        ]
        for goal in wanted
    }
    measured.stage(
        *(2, f"the best with congestion controls: {len(ccs)}, variations: {len(screened)}"),
        pairs,
        wanted,
        screened,
    )
    finalists = [REFERENCE]
    for goal in wanted:
        best = _best(measured, goal, [*schedulers, *pairs[goal.name], REFERENCE], screened)
        finalists += [*best[:kept], *[each for each in best if each.is_upstream][:1]]
    of_all = {each.label: each for each in [*schedulers, REFERENCE]}
    rankings = {
        goal.name: _ranked(measured, goal, measured.values(goal, of_all.values(), screened), of_all)
        for goal in wanted
    }
    finalists += [of_all[each.name] for each in _overall(measured, rankings, give_up)[:kept]]
    finalists = list(dict.fromkeys(finalists))
    measured.stage(
        *(_STAGES, f"finalists: {len(finalists)}, variations: {len(varied)}"),
        {goal.name: finalists for goal in wanted},
        wanted,
        range(len(varied)),
    )
    judged = [_judged(measured, goal, finalists, effort) for goal in wanted]
    return Advice(
        base=request.base,
        uncertainty=uncertainty,
        effort=effort,
        candidates={each.label: each for each in measured.candidates()},
        variations=varied,
        judged=judged,
        overall=_overall(measured, {each.goal.name: each.ranking for each in judged}, give_up),
        give_up=give_up,
        extra={
            each.label: extra
            for each in finalists
            if (extra := measured.extra_of(each)) is not None
        },
        failures=measured.failures,
        runs=measured.count,
        builds=experiment.builds(kernel, guest),
    )


class _Measured:
    """The known figures, by goal, candidate and variation; runs what is missing."""

    def __init__(
        self,
        varied: Sequence[Scenario],
        kernel: KernelBuild,
        guest: Guest,
        out: Store,
        *,
        most: int,
        sources: Mapping[str, Path],
        modules: Mapping[str, Path],
        jobs: int,
        limits: Limits,
        show: Show,
        say: Callable[[str], None],
        cancel: threading.Event,
    ) -> None:
        self._varied, self._most = varied, most
        self._kernel, self._guest, self._out = kernel, guest, out
        self._modules, self._jobs, self._limits = modules, jobs, limits
        self._show, self._say, self._cancel = show, say, cancel
        self._figures: dict[tuple[str, Candidate], dict[int, float]] = defaultdict(dict)
        self._extra: dict[Candidate, list[float]] = defaultdict(list)
        self._known: set[tuple[str, Candidate, int]] = set()
        files = {name: each.file for name, each in scheduler.known().items()} | dict(sources)
        self._lines = {
            name: len(file.read_text("utf-8").splitlines())
            for name, file in files.items()
            if file is not None
        }
        self._ours = {name for name, each in congestion.known().items() if each.file is not None}
        self.failures: list[str] = []
        self.count = 0

    def stage(
        self,
        stage: int,
        what: str,
        wanted: Mapping[Name, Iterable[Candidate]],
        goals: Sequence[Goal],
        numbers: Iterable[int],
    ) -> None:
        """Get the figures of candidates, by the name of the goal, for some variations."""
        numbers = list(numbers)
        runs = [
            _Run(goal, candidate, number, scenario)
            for goal in goals
            for candidate in dict.fromkeys(wanted[goal.name])
            for number in numbers
            if (goal.name, candidate, number) not in self._known
            for scenario in self._scenarios(goal, candidate, number)
        ]
        if not runs:
            return
        self.count += len(runs)
        entries = self._entries(stage, what, runs)
        self._known |= {(run.goal.name, run.candidate, run.number) for run in runs}
        together: dict[tuple[str, Candidate, int], list[tuple[_Run, Entry]]] = defaultdict(list)
        for run, entry in zip(runs, entries, strict=True):
            together[run.goal.name, run.candidate, run.number].append((run, entry))
        for (name, candidate, number), parts in together.items():
            figure = self._figure(parts)
            if figure is not None:
                self._figures[name, candidate][number] = figure

    def values(
        self, goal: Goal, candidates: Iterable[Candidate], numbers: Iterable[int]
    ) -> dict[str, dict[int, float]]:
        """The figures of candidates that have one for each of the variations, by their labels."""
        numbers = list(numbers)
        found = {}
        for candidate in dict.fromkeys(candidates):
            figures = self._figures.get((goal.name, candidate), {})
            if all(number in figures for number in numbers):
                found[candidate.label] = {number: figures[number] for number in numbers}
        return found

    def tried(self, goal: Goal) -> list[Candidate]:
        """The candidates with figures for this goal."""
        return [candidate for name, candidate in self._figures if name == goal.name]

    def candidates(self) -> list[Candidate]:
        """All candidates with figures, in the order in which they were run."""
        return list(dict.fromkeys(candidate for _, candidate in self._figures))

    def extra_of(self, candidate: Candidate) -> float | None:
        """What a candidate sent beyond one copy of each byte, in %: the median."""
        found = self._extra.get(candidate)
        return statistics.median(found) if found else None

    def simplicity(self, candidate: Candidate) -> tuple[object, ...]:
        """A sort key, lower for simpler ones: first Linux's default, then what upstream has, then
        what sends fewer copies, and then the shorter program.
        """
        return (
            candidate != REFERENCE,
            candidate.scheduler.name != scheduler.DEFAULT,
            congestion.name_of(candidate.cc) in self._ours,
            candidate.cc != congestion.DEFAULT,
            round(self.extra_of(candidate) or 0),
            self._lines.get(candidate.scheduler.name, 0),
            candidate.label,
        )

    def _scenarios(self, goal: Goal, candidate: Candidate, number: int) -> list[Scenario]:
        varied = self._varied[number].with_(scheduler=candidate.scheduler, cc=candidate.cc)
        return goal.scenarios(varied)

    def _entries(self, stage: int, what: str, runs: Sequence[_Run]) -> list[Entry]:
        """An entry for each run, from the store or from a new run."""
        keys = [store.run_key(run.scenario, self._kernel, self._guest) for run in runs]
        found = {key: entry for key in keys if (entry := self._out.result(key)) is not None}
        missing = {
            key: run.scenario for key, run in zip(keys, runs, strict=True) if key not in found
        }
        there = f", {len(found)} of them there" if found else ""
        self._say(f"stage {stage} of {_STAGES}, {what}: {len(set(keys))} runs{there}")
        if missing:
            began = time.monotonic()
            with self._show(len(missing)) as (progress, ended):
                entries = experiment.run_all(
                    *(list(missing.values()), self._kernel, self._guest, self._out),
                    modules=self._modules,
                    jobs=self._jobs,
                    limits=self._limits,
                    progress=progress,
                    ended=ended,
                    cancel=self._cancel,
                )
            found |= dict(zip(missing, entries, strict=True))
            seconds = time.monotonic() - began
            self._say(f"  took {seconds:.0f} s{self._left(stage, seconds / len(missing))}")
        for run, key in zip(runs, keys, strict=True):
            if found[key].status != "ok":
                reason = str(found[key].reason).splitlines()[0]
                self.failures.append(
                    f"{run.candidate.label}, {run.goal.name}, variation {run.number + 1}: {reason}"
                )
        return [found[key] for key in keys]

    def _left(self, stage: int, seconds_each: float) -> str:
        """What is left after a stage, at most."""
        left = self._most - self.count
        if stage == _STAGES or left <= 0:
            return ""
        return f"; up to {left} runs are left, at this speed {left * seconds_each / 60:.0f} min"

    def _figure(self, parts: Sequence[tuple[_Run, Entry]]) -> float | None:
        """The figure of a variation; None if one of its runs failed or lacks it."""
        if any(entry.status != "ok" for _, entry in parts):
            return None
        first, entry = parts[0]
        if first.goal.name == "latency":
            extra = first.goal.extra(first.scenario, entry.metrics)
            if extra is not None:
                self._extra[first.candidate].append(extra)
        return first.goal.of(
            [run.scenario for run, _ in parts], [entry.metrics for _, entry in parts]
        )


def _best(
    measured: _Measured,
    goal: Goal,
    candidates: Sequence[Candidate],
    numbers: Iterable[int],
) -> list[Candidate]:
    """Candidates ordered by a goal: those as good as the best, then the others."""
    by_label = {candidate.label: candidate for candidate in candidates}
    values = measured.values(goal, candidates, numbers)
    ranked = _ranked(measured, goal, values, by_label)
    return [by_label[name] for name in ranked.standings]


def _ranked(
    measured: _Measured,
    goal: Goal,
    values: Values,
    by_label: Mapping[str, Candidate],
) -> Ranking:
    found = rank(values, goal.figure.scale, lambda name: measured.simplicity(by_label[name]))
    if found is None:
        reasons = "".join(f"\n  {line}" for line in measured.failures[:3])
        raise MptcplabError(f"no scheduler has a figure for {goal.name} in all variations{reasons}")
    return found


def _judged(
    measured: _Measured, goal: Goal, finalists: Sequence[Candidate], effort: Effort
) -> Judged:
    values = measured.values(goal, finalists, range(effort.variations))
    ranked = _ranked(measured, goal, values, {each.label: each for each in finalists})
    tried = measured.tried(goal)
    out = [each for each in tried if each.label not in values]
    screened = measured.values(goal, out, range(effort.screened))
    return Judged(
        goal,
        ranked,
        values,
        {name: statistics.median(figures.values()) for name, figures in screened.items()},
        len(tried),
    )


def _overall(
    measured: _Measured, rankings: Mapping[Name, Ranking], give_up: Collection[GivenUp]
) -> list[Overall]:
    """The candidates that have the figures of all goals, the best for all of it first.

    Those that cost too much of a goal, or send too much, are last. Of the others, one that is as
    good as the best for more goals comes first, and then one whose largest distance from the best
    is smaller. What is given up does not count.
    """
    by_label = {candidate.label: candidate for candidate in measured.candidates()}
    counted = {goal: each for goal, each in rankings.items() if goal not in give_up}
    found = []
    for name in set.intersection(*({*each.standings} for each in rankings.values())):
        behind = {goal: _behind(each, name) for goal, each in rankings.items()}
        extra = 0.0 if "data" in give_up else measured.extra_of(by_label[name]) or 0.0
        costs: list[GivenUp] = [*_costs(counted, name)]
        if extra > MUCH_EXTRA:
            costs.append("data")
        as_good: list[Name] = [goal for goal, each in rankings.items() if name in each.as_good]
        found.append(Overall(name, as_good, behind, costs))

    def place(each: Overall) -> tuple[object, ...]:
        worst = max((each.behind[goal] for goal in counted), default=0.0)
        return (
            bool(each.costs),
            -sum(goal in counted for goal in each.as_good),
            round(worst / _OVERALL_STEP),
            measured.simplicity(by_label[each.name]),
        )

    return sorted(found, key=place)


def _costs(rankings: Mapping[Name, Ranking], name: str) -> Iterator[Name]:
    """The goals of which a candidate costs too much: goodput, beside the best; and any figure,
    beside the reference.
    """
    for goal, ranking in rankings.items():
        mine, reference = ranking.standings[name], ranking.standings.get(REFERENCE.label)
        lost = _behind(ranking, name) if goal == "throughput" else 0.0
        if reference is not None:
            whole = abs(reference.figure.median)
            worse = mine.deficit.median - reference.deficit.median
            lost = max(lost, worse / whole if whole else 0.0)
        if lost > MOST_LOST:
            yield goal


def _behind(ranking: Ranking, name: str) -> float:
    """The distance from the best, as a share of the larger figure."""
    mine, best = ranking.standings[name], ranking.standings[ranking.best]
    whole = max(mine.figure.median, best.figure.median)
    return max(mine.deficit.median, 0.0) / whole if whole else 0.0
