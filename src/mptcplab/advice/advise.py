# SPDX-License-Identifier: GPL-2.0-only
"""Which scheduler and congestion control to use on some paths: runs the catalogue on variations.

In stages, so that it takes minutes. First the congestion controls with two schedulers, since on
lossy paths they decide which schedulers are good at all; then all schedulers with the best two of
them; then the best schedulers with more congestion controls. All this is on the first variations
only. The last two stages are rounds of successive halving (Karnin, Koren and Somekh, Almost Optimal
Exploration in Multi-Armed Bandits, ICML 2013; Jamieson and Talwalkar, Non-stochastic Best Arm
Identification and Hyperparameter Optimization, AISTATS 2016): fewer and fewer pairs, on more and
more variations.

Stored runs are not repeated, so interrupted advice continues where it stopped. Module `variations`
makes the paths, `goals` says what is run and judged, `ranking` how; Linux's default, the reference,
is in the first stage and in the last.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mptcplab import extras
from mptcplab.advice import Name
from mptcplab.advice.goals import Goal, Span, goals
from mptcplab.advice.ranking import Ranking, Values, rank
from mptcplab.advice.variations import variations
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.lab import adapter
from mptcplab.lab.engine import Rig
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics.inference import Summary, summary
from mptcplab.mistakes import one_of, shown
from mptcplab.runs import cost, single, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.scenario import congestion, scheduler, workload
from mptcplab.scenario.model import Scenario, Varied
from mptcplab.scenario.resolve import Request
from mptcplab.scenario.scheduler import Choice
from mptcplab.scenario.workload import Cbr

#: Data sent beyond one copy of each byte, in %, is reported from here on, and costs.
MUCH_EXTRA = 5.0
#: What is advised for all goals loses no more of the best goodput.
MOST_LOST = 0.1
#: The schedulers of OpenMPTCProuter, which are upstream's examples in BPF, by ours that do the same
#: (docs/schedulers/). Its sixth, bpf_red, has no counterpart.
ROUTER_SCHEDULERS: Mapping[str, str] = {
    scheduler.DEFAULT: scheduler.DEFAULT,
    "backup": "bpf_bkup",
    "burst": "bpf_burst",
    "first": "bpf_first",
    "roundrobin:cwnd_limited=off": "bpf_rr",
}
# Distances from the best are compared in hundredths; within one, the simpler candidate is chosen.
_OVERALL_STEP = 0.01
_STAGES = 5
# What congestion controls are tried with, beside Linux's default: it fills every path.
_PROBE = "minrtt"

# What runs cost, in seconds of CPU time on a machine of 2024 (docs/advise.md): to start, measure
# and end one, for each packet of bulk data, and for each block and each byte of a stream.
_RUN_S, _PACKET_S, _BLOCK_S, _BYTE_S = 0.05, 2.3e-6, 45e-6, 2.9e-9
# How much of it a candidate may cost with all goals, on a variation, in quick advice: it makes some
# 180 such sets of runs, and has a minute on two CPUs.
_QUICK_S = 0.6
# Quick runs last for 40 round trips of the slowest path, or for 20 if they cost too much, within
# these times: congestion control needs some 10 to fill a path.
_QUICK_RTTS, _FEWEST_RTTS = 40, 20
_QUICK_NS, _SHORTEST_NS, _LONGEST_NS = 6 * 10**9, 3 * 10**9, 12 * 10**9
_STEP_NS = 500_000_000
# Of the stream: 600 blocks at its highest rate, six of them beyond the 99th percentile.
_QUICK_BYTES = 12_500_000


@dataclass(frozen=True)
class Effort:
    """How much is run.

    `screened` variations have the catalogue, `halved` the `contenders` of each goal, `variations`
    the finalists: the best `kept` of each goal. All schedulers are tried with `ccs` congestion
    controls, the best `kept` of them with `crossed` (None: all). `span` is how long bulk data and
    streams are sent; None: as long as the workload says.
    """

    screened: int
    halved: int
    variations: int
    contenders: int
    kept: int
    ccs: int
    crossed: int | None
    is_quick: bool = False
    span: Span | None = None


NORMAL = Effort(2, 4, 16, contenders=12, kept=3, ccs=2, crossed=None)
_QUICK = replace(NORMAL, variations=5, crossed=3, is_quick=True)


def effort(
    base: Scenario, *, quick: bool = False, count: int | None = None, is_timed: bool = False
) -> Effort:
    """The effort for `count` variations, or (None) for the usual number.

    Quick advice has runs as short as the paths permit, unless it `is_timed`: somebody said how long
    they are.
    """
    usual = _QUICK if quick else NORMAL
    count = count or usual.variations
    return replace(
        usual,
        screened=min(usual.screened, count),
        halved=min(usual.halved, count),
        variations=count,
        span=quick_span(base) if quick and not is_timed else None,
    )


def quick_span(base: Scenario) -> Span:
    """How long quick runs send, from the rates and delays of the paths alone.

    Bulk data for 40 round trips of the slowest path, but 6 to 12 s; shorter, down to 20 round trips
    and 3 s, where runs would cost too much CPU time.
    """
    rtt_ns = max(path.up.delay_ns + path.down.delay_ns for path in base.paths)
    wanted_ns = min(max(_QUICK_RTTS * rtt_ns, _QUICK_NS), _LONGEST_NS)
    least_ns = min(max(_FEWEST_RTTS * rtt_ns, _SHORTEST_NS), wanted_ns)
    steps = range((wanted_ns - least_ns) // _STEP_NS + 1)
    found = (Span(wanted_ns - step * _STEP_NS, _QUICK_BYTES) for step in steps)
    least = Span(least_ns, _QUICK_BYTES)
    return next((span for span in found if _cost_s(base, span) <= _QUICK_S), least)


def _cost_s(base: Scenario, span: Span) -> float:
    """The cost of a candidate's runs on a variation, for all goals, in seconds of CPU time."""
    found = 0.0
    for goal in goals(base, span):
        for scenario in goal.scenarios(base):
            load = scenario.workload
            if isinstance(load, Cbr):
                count = len(workload.messages(load, scenario.seed))
                found += _RUN_S + count * (_BLOCK_S + _BYTE_S * load.block_bytes)
            else:
                found += _RUN_S + _PACKET_S * cost.size(scenario).packets
    return found


#: What somebody may not care about: a goal, or how much data is sent.
GivenUp = Name | Literal["data"]


@dataclass(frozen=True)
class Question:
    """A question for advice: `request` has the paths and the schedulers to try, `ccs` are the
    congestion controls, `only` the goals that are judged, if not all.
    """

    request: Request
    ccs: Sequence[str]
    uncertain: Sequence[Varied]
    effort: Effort
    only: Collection[Name] = ()
    give_up: Sequence[GivenUp] = ()


@dataclass(frozen=True)
class Candidate:
    scheduler: Choice
    cc: str

    @property
    def label(self) -> str:
        return f"{self.scheduler.label}, {self.cc}"

    @property
    def has_cc_of_linux(self) -> bool:
        return congestion.find(congestion.name_of(self.cc)).file is None

    @property
    def is_upstream(self) -> bool:
        """Whether Linux has it without patches."""
        # it has none of the parameters of ours, such as recovery
        return self.scheduler.label == scheduler.DEFAULT and self.has_cc_of_linux

    @property
    def is_packaged(self) -> bool:
        """Whether the package of docs/deploy.md has its scheduler."""
        choice = self.scheduler
        ours = choice.digest is None and choice.name in adapter.carried()
        return ours and not choice.changes(scheduler.RECOVERY)

    @property
    def on_router(self) -> str | None:
        """The name of its scheduler in OpenMPTCProuter; None if that lacks it."""
        return ROUTER_SCHEDULERS.get(self.scheduler.label) if self.has_cc_of_linux else None


#: Linux's default.
REFERENCE = Candidate(Choice(name=scheduler.DEFAULT), congestion.DEFAULT)


#: Where somebody may have a candidate, without a kernel of their own.
Place = Literal["today", "package", "router"]
PLACES: Mapping[Place, Callable[[Candidate], bool]] = {
    "today": lambda candidate: candidate.is_upstream,
    "package": lambda candidate: candidate.is_packaged and candidate.has_cc_of_linux,
    "router": lambda candidate: candidate.on_router is not None,
}


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
    the load of the goal latency). `runs` is the total number of runs, all with `kernel`, except for
    those behind `packaged`: by goal, the best candidate of the package with its adapter.
    """

    base: Scenario
    uncertain: Sequence[Varied]
    effort: Effort
    candidates: Mapping[str, Candidate]
    variations: Sequence[Scenario]
    judged: Sequence[Judged]
    overall: Sequence[Overall]
    give_up: Sequence[GivenUp]
    extra: Mapping[str, float]
    failures: Sequence[str]
    runs: int
    kernel: KernelBuild
    builds: Mapping[str, str]
    packaged: Mapping[Name, Summary] = field(default_factory=dict)

    def best_at(self, place: Place) -> str | None:
        """The best candidate there for all goals; None if nothing is better than the reference."""
        return _best_at(self.overall, self.candidates, place)


def _best_at(
    overall: Sequence[Overall], candidates: Mapping[str, Candidate], place: Place
) -> str | None:
    there = (each for each in overall if PLACES[place](candidates[each.name]))
    best = next(there, None)
    return None if best is None or best.costs or best.name == REFERENCE.label else best.name


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
    if base.connections:
        message = "advice is for a single connection; leave the connections out"
        raise InputError([Problem("advise", "connection", "", message)])
    if base.workload.is_crowd:
        message = "advice is for a single connection; leave connections out"
        raise InputError([Problem("advise", "workload.connections", "", message)])
    if base.transport != "mptcp":
        message = "plain TCP has no scheduler; advice is for Multipath TCP"
        raise InputError([Problem("advise", "transport", base.transport, message)])
    if len(base.paths) < 2:
        message = f"over {base.paths[0].name} alone there is nothing to schedule; give 2 or more"
        raise InputError([Problem("advise", "path", "", message)])


def wanted_goals(base: Scenario, effort: Effort, only: Collection[Name] = ()) -> list[Goal]:
    """The goals that are judged: all that the scenario has, or `only` some.

    Raises InputError if it has none of those.
    """
    found = goals(base, effort.span)
    wanted = [goal for goal in found if not only or goal.name in only]
    if not wanted:
        message = f"these paths can be judged for {one_of([goal.name for goal in found], 'and')}"
        raise InputError([Problem("--goal", "", shown(", ".join(only)), message)])
    return wanted


def most_runs(question: Question) -> int:
    """The largest number of runs that it can take."""
    request, effort = question.request, question.effort
    wanted = wanted_goals(request.base, effort, question.only)
    each = sum(max(len(goal.troubled), 1) for goal in wanted)
    schedulers = len({*request.schedulers, REFERENCE.scheduler})
    controls = len({*question.ccs, REFERENCE.cc})
    pairs = schedulers * controls
    # congestion controls are tried with two schedulers
    screened = 2 * controls + 1 + schedulers * effort.ccs
    screened += (effort.kept + 1) * min(effort.crossed or controls, controls)
    final = len(wanted) * (effort.kept + len(PLACES)) + effort.kept + len(PLACES) + 1
    # finalists of one goal may have gone out early for the others
    most = (
        effort.screened * min(screened, pairs)
        + effort.halved * min(effort.contenders, pairs)
        + effort.variations * min(final, pairs)
    )
    return each * min(most, effort.variations * pairs)


def advise(
    question: Question,
    rig: Rig,
    runner: Runner,
    say: Callable[[str], None],
    with_adapter: KernelBuild | None = None,
) -> Advice:
    """Make missing runs, and judge them; `say` is called with lines of progress for the user.

    The best candidate of the package also runs on the kernel `with_adapter`, if there is one.

    Raises MptcplabError if no candidate has a goal's figure, InputError as `wanted_goals`, and
    RunCancelledError.
    """
    base, effort = question.request.base, question.effort
    varied = variations(base, question.uncertain, effort.variations)
    wanted = wanted_goals(base, effort, question.only)
    with runner.staying() as staying:
        measured = _Measured(question, varied, rig, staying, say)
        finalists = _finalists(measured, question)
        everywhere = {goal.name: finalists for goal in wanted}
        measured.stage(_STAGES, f"finalists: {len(finalists)}", range(len(varied)), everywhere)
        judged = [_judged(measured, goal, finalists, effort) for goal in wanted]
        rankings = {each.goal.name: each.ranking for each in judged}
        overall = _overall(measured, rankings, question.give_up)
        candidates = {each.label: each for each in measured.candidates()}
        best = _best_at(overall, candidates, "package")
        packaged: dict[Name, Summary] = {}
        if with_adapter is not None and best is not None:
            there = _Measured(
                question, varied, replace(rig, kernel=with_adapter, modules={}), staying, say
            )
            packaged = there.summaries(candidates[best], f"{best} on {with_adapter.name}")
    return Advice(
        base=base,
        uncertain=question.uncertain,
        effort=effort,
        candidates=candidates,
        variations=varied,
        judged=judged,
        overall=overall,
        give_up=question.give_up,
        extra={
            each.label: extra
            for each in finalists
            if (extra := measured.extra_of(each)) is not None
        },
        failures=measured.failures,
        runs=measured.count,
        kernel=rig.kernel,
        builds=single.builds(rig.kernel, rig.guest),
        packaged=packaged,
    )


def _finalists(measured: _Measured, question: Question) -> list[Candidate]:
    """The stages before the last: the best pairs of each goal, and of all of them."""
    choices, ccs, effort = question.request.schedulers, question.ccs, question.effort
    wanted, screened, kept = measured.goals, range(effort.screened), effort.kept
    probe = next((each for each in choices if each.name == _PROBE), choices[0])
    probes = list(dict.fromkeys([probe, REFERENCE.scheduler]))
    first = [REFERENCE, *(Candidate(each, cc) for each in probes for cc in ccs)]
    what = f"congestion controls: {len(ccs)} with {one_of([p.label for p in probes], 'and')}"
    measured.stage(1, what, screened, {goal.name: first for goal in wanted})
    # of each goal, in the order in which one would choose them
    controls = {
        goal.name: [
            cc
            for cc in dict.fromkeys(each.cc for each in _best(measured, goal, first, screened))
            if cc in ccs
        ]
        or [*ccs]  # all but the reference failed
        for goal in wanted
    }
    pairs = {
        goal.name: [
            Candidate(each, cc) for each in choices for cc in controls[goal.name][: effort.ccs]
        ]
        for goal in wanted
    }
    what = f"schedulers: {len(choices)}, congestion controls: the best"
    measured.stage(2, what, screened, pairs)
    for goal in wanted:
        best = _best(measured, goal, pairs[goal.name], screened)
        pairs[goal.name] += [
            Candidate(each, cc)
            for each in list(dict.fromkeys(pair.scheduler for pair in best))[:kept]
            for cc in controls[goal.name][: effort.crossed]
        ]
    measured.stage(3, "the best schedulers with more congestion controls", screened, pairs)
    for goal in wanted:
        best = _best(measured, goal, [*first, *pairs[goal.name]], screened)
        pairs[goal.name] = best[: effort.contenders]
    measured.stage(4, "the best pairs of each goal", range(effort.halved), pairs)
    finalists = [REFERENCE]
    for goal in wanted:
        finalists += _best(measured, goal, pairs[goal.name], range(effort.halved))[:kept]
        everywhere = _best(measured, goal, measured.tried(goal), screened)
        for is_there in PLACES.values():
            finalists += [each for each in everywhere if is_there(each)][:1]
    rankings = {
        goal.name: _ranked(measured, goal, measured.tried(goal), screened) for goal in wanted
    }
    by_label = {each.label: each for each in measured.candidates()}
    overall = _overall(measured, rankings, question.give_up)
    finalists += [by_label[each.name] for each in overall[:kept]]
    finalists += [
        by_label[name] for place in PLACES if (name := _best_at(overall, by_label, place))
    ]
    return list(dict.fromkeys(finalists))


class _Measured:
    """The known figures, by goal, candidate and variation; makes missing runs."""

    def __init__(
        self,
        question: Question,
        varied: Sequence[Scenario],
        rig: Rig,
        runner: Runner,
        say: Callable[[str], None],
    ) -> None:
        self._varied, self._most = varied, most_runs(question)
        base = question.request.base
        self.goals = wanted_goals(base, question.effort, question.only)
        # variations play no trace as it was given
        self._rig = replace(rig, traces={})
        self._runner, self._say = runner, say
        self._out = Store(runner.out)
        # of what extra data is judged: where a stream is steady, if that is judged
        self._extra_of = min(self.goals, key=lambda goal: goal.name != "latency").name
        # with the finer one, or 0
        self._figures: dict[tuple[str, Candidate], dict[int, tuple[float, float]]] = defaultdict(
            dict
        )
        self._extra: dict[Candidate, list[float]] = defaultdict(list)
        self._known: set[tuple[str, Candidate, int]] = set()
        files = {name: each.file for name, each in scheduler.known().items()}
        files |= question.request.sources
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
        numbers: Iterable[int],
        wanted: Mapping[Name, Iterable[Candidate]],
    ) -> None:
        """Get the figures of candidates, by the name of the goal, for some variations."""
        numbers = list(numbers)
        what = f"{what}, variations: {len(numbers)}"
        runs = [
            _Run(goal, candidate, number, scenario)
            for goal in self.goals
            for candidate in dict.fromkeys(wanted[goal.name])
            for number in numbers
            if (goal.name, candidate, number) not in self._known
            for scenario in goal.scenarios(
                self._varied[number].with_(scheduler=candidate.scheduler, cc=candidate.cc)
            )
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
                finer = parts[0][0].goal.finer([entry.metrics for _, entry in parts])
                self._figures[name, candidate][number] = figure, finer or 0.0

    def values(
        self, goal: Goal, candidates: Iterable[Candidate], numbers: Iterable[int]
    ) -> dict[str, dict[int, float]]:
        """The figures of candidates that have one for each of the variations, by their labels."""
        numbers = list(numbers)
        found = {}
        for candidate in dict.fromkeys(candidates):
            figures = self._figures.get((goal.name, candidate), {})
            if all(number in figures for number in numbers):
                found[candidate.label] = {number: figures[number][0] for number in numbers}
        return found

    def finer(self, goal: Goal, candidate: Candidate, numbers: Iterable[int]) -> float:
        """The finer figure of a candidate that has the figure: the mean, 0 if there is none."""
        figures = self._figures[goal.name, candidate]
        return statistics.fmean(figures[number][1] for number in numbers)

    def summaries(self, candidate: Candidate, what: str) -> dict[Name, Summary]:
        """Make the runs of a candidate on all variations; its figures by goal, where it has one."""
        numbers = range(len(self._varied))
        self.stage(_STAGES, what, numbers, {goal.name: [candidate] for goal in self.goals})
        figures = {goal.name: self.values(goal, [candidate], numbers) for goal in self.goals}
        return {
            name: over
            for name, own in figures.items()
            if (over := summary([*own.get(candidate.label, {}).values()])) is not None
        }

    def tried(self, goal: Goal) -> list[Candidate]:
        """The candidates with figures for this goal."""
        return [candidate for name, candidate in self._figures if name == goal.name]

    def candidates(self) -> list[Candidate]:
        """All candidates with figures, in the order in which they were run."""
        return list(dict.fromkeys(candidate for _, candidate in self._figures))

    def extra_of(self, candidate: Candidate) -> float | None:
        """The median of the data sent beyond one copy of each byte, in %."""
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

    def _entries(self, stage: int, what: str, runs: Sequence[_Run]) -> list[Entry]:
        """An entry for each run, from the store or from a new run."""
        keys = [store.run_key(run.scenario, self._rig.kernel, self._rig.guest) for run in runs]
        found = {key: entry for key in keys if (entry := self._out.result(key)) is not None}
        missing = {
            key: run.scenario for key, run in zip(keys, runs, strict=True) if key not in found
        }
        there = f", {len(found)} of them there" if found else ""
        self._say(f"stage {stage} of {_STAGES}, {what}: {len(set(keys))} runs{there}")
        if missing:
            began = time.monotonic()
            entries = self._runner.run(missing.values(), self._rig)
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
        if first.goal.name == self._extra_of:
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
    """Candidates ordered by a goal: those as good as the best, then the others.

    Of those as good, the ones with the best finer figure, in steps of a hundredth, come first, and
    then the simplest: on few variations, many tie that differ on others.
    """
    numbers = list(numbers)
    by_label = {candidate.label: candidate for candidate in candidates}
    ranked = _ranked(measured, goal, candidates, numbers)
    finer = {name: measured.finer(goal, by_label[name], numbers) for name in ranked.as_good}
    least = min(finer.values())
    as_good = sorted(
        ranked.as_good,
        key=lambda name: (
            round((finer[name] - least) / least, 2) if least else 0.0,
            measured.simplicity(by_label[name]),
        ),
    )
    others = [name for name in ranked.standings if name not in finer]
    return [by_label[name] for name in (*as_good, *others)]


def _ranked(
    measured: _Measured,
    goal: Goal,
    candidates: Sequence[Candidate],
    numbers: Iterable[int],
) -> Ranking:
    by_label = {candidate.label: candidate for candidate in candidates}
    values = measured.values(goal, candidates, numbers)
    found = rank(
        values,
        goal.figure.scale,
        lambda name: measured.simplicity(by_label[name]),
        REFERENCE.label,
    )
    if found is None:
        reasons = "".join(f"\n  {line}" for line in measured.failures[:3])
        raise MptcplabError(f"no scheduler has a figure for {goal.name} in all variations{reasons}")
    return found


def _judged(
    measured: _Measured, goal: Goal, finalists: Sequence[Candidate], effort: Effort
) -> Judged:
    values = measured.values(goal, finalists, range(effort.variations))
    ranked = _ranked(measured, goal, finalists, range(effort.variations))
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
    """The goals of which a candidate costs too much: more of the best goodput, or any figure that
    is worse than the reference's by more than the margin.
    """
    for goal, ranking in rankings.items():
        mine, reference = ranking.standings[name], ranking.standings.get(REFERENCE.label)
        lost = _behind(ranking, name) if goal == "throughput" else 0.0
        worse = reference and mine.deficit.median - reference.deficit.median > ranking.margin
        if lost > MOST_LOST or worse:
            yield goal


def _behind(ranking: Ranking, name: str) -> float:
    """The distance from the best, as a share of the larger figure."""
    mine, best = ranking.standings[name], ranking.standings[ranking.best]
    whole = max(mine.figure.median, best.figure.median)
    return max(mine.deficit.median, 0.0) / whole if whole else 0.0
