# SPDX-License-Identifier: GPL-2.0-only
"""Is the advice of `advise` right on other paths than it was tuned on? `make advise-check`.

The check asks for advice on random pairs of paths, and measures the right answer with other seeds,
on other variations of the paths (docs/advise.md). It fails (status 1) if less than 95 % of the
advised pairs are within 5 % of the best, or if one is more than 10 % worse than Linux's default. It
keeps its runs in --out, and does not repeat them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from checks import tables
from checks.command_line import chosen, natural, parser_of, say
from mptcplab import files, marked, units
from mptcplab.advice import Name, advise
from mptcplab.advice.advise import REFERENCE, Candidate, Question
from mptcplab.advice.goals import Goal, Span, goals
from mptcplab.advice.ranking import Ranking, rank
from mptcplab.advice.variations import variations
from mptcplab.errors import MptcplabError, status_of
from mptcplab.formulas import designs
from mptcplab.lab.engine import Rig
from mptcplab.runs import experiment, single, store
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.scenario import congestion, scheduler, uncertainty
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.limits import PACKET_BYTES
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.presets import PRESETS
from mptcplab.scenario.resolve import from_flags

#: What is promised: of the advised, this share is within this part of the best; and none is worse
#: than the reference by more than this.
SHARE, WITHIN, BELOW_REFERENCE = 0.95, 0.05, 0.1

GOALS: tuple[Name, ...] = ("throughput", "latency", "resilience")

# Rates in Mbit/s, RTTs in ms, queues in bandwidth-delay products, losses in per cent.
_RANGES = {
    "rate": designs.Range(1, 200, "log"),
    "rtt": designs.Range(5, 300, "log"),
    "queue": designs.Range(0.5, 4, "log"),
    "loss": designs.Range(0.001, 1, "log"),
}
_LEAST_LOSS_PERCENT = 0.01  # less than this is none
_LEAST_QUEUE = 10
_PRESET_EVERY = 5

# Seeds of advice are from 1 on; those of the check are far from them.
_SEED = 1_000_000
# Contenders, beside the advised and the reference, on how many variations they are compared, and in
# runs of which length. Of fewer variations, the best would often be the luckiest.
_CONTENDERS, _VARIATIONS = 4, 15
_LONG = Span(10 * 10**9, stream_bytes=12_500_000)
_MARK = "make advise-check"
_DOCUMENT = "advise-check.json"


@dataclass(frozen=True)
class Checked:
    """A pair of paths, as flags, and what came out for its goal.

    `behind` is how far the advised pair is from the best, as a part of its figure, and
    `over_reference` how far it is worse than the reference, as a part of the reference's: negative
    if it is better.
    """

    paths: Sequence[str]
    goal: Name
    unit: str
    advised: str
    reached: float
    best: str
    best_reached: float
    behind: float
    reference_reached: float
    over_reference: float

    @property
    def is_within(self) -> bool:
        return self.behind <= WITHIN

    @property
    def is_below(self) -> bool:
        return self.over_reference > BELOW_REFERENCE


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """The paths of each pair, as texts of --path; fewer are a prefix of more."""
    names = [
        name
        for name, preset in PRESETS.items()
        if not preset.ranges
        and units.parse_rate(preset.path["down"]["rate"]) <= _RANGES["rate"].high * 1e6
        and units.parse_fraction(preset.numbers()["up.loss"]) * 100 <= _RANGES["loss"].high
    ]
    of_presets = list(itertools.combinations(names, 2))
    random.Random(seed).shuffle(of_presets)
    ranges = {f"{path}.{key}": each for path in "ab" for key, each in _RANGES.items()}
    found = []
    for number, point in enumerate(designs.fill("sobol", ranges, count, seed, digits=3)):
        if number % _PRESET_EVERY == _PRESET_EVERY - 1:
            found.append(of_presets[number // _PRESET_EVERY % len(of_presets)])
        else:
            found.append((_path("a", point), _path("b", point)))
    return found


def _path(name: str, point: Mapping[str, float]) -> str:
    rate_mbps, rtt_ms, products, loss = (point[f"{name}.{key}"] for key in _RANGES)
    packets = max(round(products * rate_mbps * rtt_ms * 1e3 / 8 / PACKET_BYTES), _LEAST_QUEUE)
    text = f"{name}:{rate_mbps:g}mbit,{rtt_ms / 2:g}ms,queue={packets}"
    return text if loss < _LEAST_LOSS_PERCENT else f"{text},loss={loss:g}%"


# --- a pair is checked


@dataclass(frozen=True)
class Bench:
    """What all pairs are run with."""

    rig: Rig
    runner: Runner
    ccs: Sequence[str]
    quick: bool

    def figures(
        self, what: str, goal: Goal, candidates: Sequence[Candidate], varied: Mapping[int, Scenario]
    ) -> dict[str, dict[int, float]]:
        """The figures of candidates on some variations, by their labels; of those that have any."""
        wanted = {
            (each.label, number): goal.scenarios(one.with_(scheduler=each.scheduler, cc=each.cc))
            for each in candidates
            for number, one in varied.items()
        }
        out, builds = Store(self.runner.out), (self.rig.kernel, self.rig.guest)
        by_key = {
            store.run_key(each, *builds): each
            for scenarios in wanted.values()
            for each in scenarios
        }
        missing = [each for key, each in by_key.items() if not out.has(key)]
        say(f"  {what}: {len(by_key)} runs, {len(by_key) - len(missing)} of them there")
        self.runner.run(missing, self.rig)
        found: dict[str, dict[int, float]] = {}
        for (label, number), scenarios in wanted.items():
            entries = [out.result(store.run_key(each, *builds)) for each in scenarios]
            ended = [entry.metrics for entry in entries if entry and entry.status == "ok"]
            if len(ended) == len(scenarios):
                figure = goal.of(scenarios, ended)
                if figure is not None:
                    found.setdefault(label, {})[number] = figure
        return found


def check(paths: Sequence[str], name: Name, bench: Bench) -> Checked:
    """Ask for advice, and measure what it should have been.

    Raises MptcplabError if nothing has a figure.
    """
    request = from_flags(Flags(path=paths, scheduler=scheduler.ALL, direction="down"))
    known_to = uncertainty.parse((), request.base)
    effort = advise.effort(request.base, quick=bench.quick)
    question = Question(request, bench.ccs, known_to, effort, only=[name])
    advice = advise.advise(
        question, bench.rig, bench.runner, lambda text: say(f"  advice: {text.strip()}")
    )
    advised = advice.judged[0].ranking.chosen
    catalogue = {
        each.label: each
        for choice in request.schedulers
        for cc in bench.ccs
        for each in [Candidate(choice, cc)]
    }
    other = variations(request.base.with_(seed=_SEED), known_to, _VARIATIONS + 1)
    short = _goal(request.base, name, advise.quick_span(request.base))
    screened = bench.figures("catalogue", short, list(catalogue.values()), {0: other[0]})
    place = _ranking(screened, short)
    of_it = sorted(screened, key=lambda label: place.standings[label].deficit.median)
    contenders = dict.fromkeys([*of_it[:_CONTENDERS], advised, REFERENCE.label])
    long = _goal(request.base, name, _LONG)
    values = bench.figures(
        "contenders",
        long,
        [catalogue.get(label, REFERENCE) for label in contenders],
        dict(list(enumerate(other))[1:]),
    )
    return _judged(paths, long, advised, _ranking(values, long))


def _goal(base: Scenario, name: Name, span: Span) -> Goal:
    return next(goal for goal in goals(base, span) if goal.name == name)


def _ranking(values: Mapping[str, Mapping[int, float]], goal: Goal) -> Ranking:
    found = rank(values, goal.figure.scale, lambda label: label)
    if found is None:
        raise MptcplabError(f"no pair has a figure for {goal.name}")
    return found


def _judged(paths: Sequence[str], goal: Goal, advised: str, ranking: Ranking) -> Checked:
    mine, best, reference = (
        ranking.standings.get(label) for label in (advised, ranking.best, REFERENCE.label)
    )
    if mine is None or best is None or reference is None:
        raise MptcplabError(f"runs of {advised} or of {REFERENCE.label} failed")
    worse = mine.deficit.median - reference.deficit.median
    return Checked(
        paths,
        goal.name,
        goal.figure.unit,
        advised,
        mine.figure.median,
        ranking.best,
        best.figure.median,
        _part(mine.deficit.median, best.figure.median),
        reference.figure.median,
        _part(worse, reference.figure.median),
    )


def _part(difference: float, whole: float) -> float:
    return difference / abs(whole) if whole else float(difference > 0)


# --- what came of it


def summary(checked: Sequence[Checked]) -> tuple[list[str], bool]:
    """The result in some lines, and whether what is promised holds."""
    within = sum(each.is_within for each in checked) / len(checked)
    below = [each for each in checked if each.is_below]
    worst = max(checked, key=lambda each: each.over_reference)
    median = statistics.median(each.behind for each in checked)
    good = within >= SHARE and not below
    lines = [
        f"{len(checked)} pairs: {100 * within:.1f} % within {100 * WITHIN:.0f} % of the best "
        f"(promised: {100 * SHARE:.0f} %), half of them within {100 * max(median, 0):.1f} %",
        f"{len(below)} more than {100 * BELOW_REFERENCE:.0f} % worse than {REFERENCE.label} "
        f"(promised: 0); the worst is {_percent(-worst.over_reference)} "
        f"({' '.join(worst.paths)}, {worst.goal})",
    ]
    return lines, good


_HEADINGS = (
    *("paths", "goal", "advised", "reaches", "best of the catalogue", "reaches", "difference"),
    *("default", "against default"),
)


def _cells(each: Checked) -> tuple[str, ...]:
    return (
        " ".join(each.paths),
        each.goal,
        each.advised,
        f"{each.reached:.4g} {each.unit}",
        each.best,
        f"{each.best_reached:.4g} {each.unit}",
        f"{100 * each.behind:.1f} %",
        f"{each.reference_reached:.4g} {each.unit}",
        _percent(-each.over_reference),
    )


def _percent(part: float) -> str:
    """How much better, in per cent; worse is negative."""
    return f"{100 * part:+.1f} %"


def markdown(checked: Sequence[Checked], command: str) -> str:
    """The result for a page: in total, by goal, and each pair that missed what is promised."""
    lines = [f"`{command}`:", "", *(f"- {line}." for line in summary(checked)[0]), "", ""]
    goals = []
    for name in GOALS:
        if own := [each for each in checked if each.goal == name]:
            furthest = 100 * max(each.behind for each in own)
            worst = _percent(-max(each.over_reference for each in own))
            within = sum(each.is_within for each in own)
            goals.append((name, len(own), within, f"{furthest:.1f} %", worst))
    text = "\n".join(lines) + tables.markdown(
        ("goal", "pairs", "within 5 % of the best", "furthest from it", "worst against `default`"),
        goals,
    )
    missed = [_cells(each) for each in checked if each.is_below or not each.is_within]
    return f"{text}\n{tables.markdown(_HEADINGS, missed)}" if missed else text


def write(checked: Sequence[Checked], out: Path) -> None:
    """The result with all pairs, as a document in `out`."""
    lines, good = summary(checked)
    document = {"holds": good, "summary": lines, "pairs": [asdict(each) for each in checked]}
    files.write(out / _DOCUMENT, (json.dumps(document, indent=1) + "\n").encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if what is promised holds, else 1."""
    parser = parser_of("advise_check", __doc__)
    parser.add_argument("--pairs", type=natural, default=60, help="how many pairs  [60]")
    parser.add_argument("--seed", type=natural, default=2027, help="of the pairs  [2027]")
    parser.add_argument("--quick", action="store_true", help="check advise --quick")
    parser.add_argument("--cc", default="", help="congestion controls, with commas  [all]")
    parser.add_argument("--jobs", type=natural, help="runs at a time  [one for each CPU]")
    out = Path("advise-check-out")
    parser.add_argument("--out", type=Path, default=out, help="[advise-check-out]")
    parser.add_argument("--docs", type=Path, help="a page that gets the result between its marks")
    options = parser.parse_args(arguments)
    ccs = chosen(parser, "--cc", options.cc, congestion.names())
    words = [f"--pairs {options.pairs}", f"--seed {options.seed}"]
    words += ["--quick"] if options.quick else []
    words += [f"--cc {options.cc}"] if options.cc else []
    command = f'make advise-check ADVISE_ARGS="{" ".join(words)}"'
    return status_of(lambda: _check_and_show(options, ccs, command))


def _check_and_show(options: argparse.Namespace, ccs: Sequence[str], command: str) -> int:
    rig, out = Rig(*experiment.built()), options.out
    drawn = pairs(options.pairs, options.seed)
    checked: list[Checked] = []
    jobs = options.jobs or len(single.cpus())
    with Runner(out, jobs, keep_records=False).staying() as runner:
        bench = Bench(rig, runner, ccs, options.quick)
        for number, (paths, name) in enumerate(zip(drawn, itertools.cycle(GOALS), strict=False), 1):
            say(f"[{number}/{len(drawn)}] {' '.join(paths)}, {name}")
            found = check(paths, name, bench)
            checked.append(found)
            write(checked, out)
            say(
                f"  {found.advised}: {100 * found.behind:.1f} % from {found.best}, "
                f"{_percent(-found.over_reference)} against default"
            )
    text = markdown(checked, command)
    print(text, f"document: {out / _DOCUMENT}", sep="\n")
    if options.docs:
        marked.replace(options.docs, {_MARK: text})
    return 0 if summary(checked)[1] else 1


if __name__ == "__main__":
    raise SystemExit(main())
