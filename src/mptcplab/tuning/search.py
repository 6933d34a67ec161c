# SPDX-License-Identifier: GPL-2.0-only
"""Trials of a scheduler's parameters on training scenarios, and the best one on held-out scenarios.

Optuna's TPE proposes the values: Bergstra et al., "Algorithms for Hyper-Parameter Optimization",
NIPS 2011. The first trial has the values that the user gave. Trials are made one after another, and
a seed draws them: the same command makes the same trials, and finds their runs in the store.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.leaderboard import Set, sets, standings
from mptcplab.leaderboard.play import Asked
from mptcplab.leaderboard.sets import Drawn
from mptcplab.leaderboard.standings import Estimate, Floats, Played
from mptcplab.metrics import inference
from mptcplab.mistakes import shown, suggestion
from mptcplab.scenario import resolve, scheduler
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.scheduler import Choice, Parameter, SpecError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: A figure counts as at least and at most so many times the one that it is compared with: a failed
#: run, or one scenario alone, must not decide.
MOST_TIMES = 8.0
# A range that nobody gives is from the default divided by this to the default times this.
_TIMES = 8
# A range over so many times its lower end is searched by ratios, not by differences.
_WIDE = 10
_RANGE = re.compile(r"([a-zA-Z0-9_]+)(?:=([0-9]+)\.\.([0-9]+))?")


@dataclass(frozen=True)
class Axis:
    """A parameter that is tuned, between two values."""

    parameter: Parameter
    low: int
    high: int

    @property
    def is_wide(self) -> bool:
        return self.high + 1 > _WIDE * (self.low + 1)

    @property
    def text(self) -> str:
        unit = f" {self.parameter.unit}" if self.parameter.unit else ""
        ends = "on or off" if self.parameter.kind == "bool" else f"{self.low}..{self.high}{unit}"
        return f"{self.parameter.name}: {ends}"


@dataclass(frozen=True)
class Trial:
    """A scheduler with its values; the scenarios' gains over the untuned one, and their mean.

    A gain is the logarithm of a ratio: 0 is equal.
    """

    number: int
    label: str
    values: Mapping[str, int]
    gains: Mapping[int, float]

    @property
    def gain(self) -> float:
        return float(np.mean(list(self.gains.values())))


@dataclass(frozen=True)
class Verdict:
    """The best trial beside the untuned scheduler, on scenarios that no trial saw.

    `gain` is the mean of gains, with its interval. `p` is of Wilcoxon's signed-rank test.
    """

    gains: Mapping[int, float]
    gain: Estimate
    better: int
    worse: int
    same: int
    p: float | None

    @property
    def text(self) -> str:
        low, high = self.gain.low, self.gain.high
        if low is not None and low > 0:
            return "better"
        return "worse" if high is not None and high < 0 else "not shown to differ"


#: Makes the runs, and returns what came of them.
Play = Callable[[Asked], list[Played]]


def axes(spec: str, wanted: Sequence[str]) -> list[Axis]:
    """The parameters NAME or NAME=LOW..HIGH of a scheduler; without any, all that its file has and
    the spec does not set. Raises InputError.
    """
    choice, parameters = _chosen(spec)
    given = {each.partition("=")[0].strip() for each in spec.split(":")[1:]}
    names = list(wanted) or [name for name in parameters if name not in given]
    found: dict[str, Axis] = {}
    problems = []
    for text in names:
        try:
            axis = _axis(text, choice.name, parameters)
            if axis.parameter.name in given:
                raise ValueError(
                    f"{axis.parameter.name} is set by {spec}: only one of them is meant"
                )
            if axis.parameter.name in found:
                raise ValueError(f"{axis.parameter.name} is given twice")
            found[axis.parameter.name] = axis
        except ValueError as error:
            problems.append(Problem("--parameter", "", shown(text), str(error)))
    if problems:
        raise InputError(problems)
    if not found:
        why = f"{choice.name} has no parameters" if not parameters else f"{spec} sets all"
        raise InputError([Problem("tune", "", shown(spec), f"{why}: there is nothing to tune")])
    return list(found.values())


def _chosen(spec: str) -> tuple[Choice, dict[str, Parameter]]:
    try:
        choice, own = scheduler.choose(spec, scheduler.known(), Path())
    except SpecError as error:
        problems = [Problem("tune", "", shown(spec), message) for message in error.messages]
        raise InputError(problems) from None
    return choice, {each.name: each for each in own.parameters}


def _axis(text: str, name: str, parameters: Mapping[str, Parameter]) -> Axis:
    found = _RANGE.fullmatch(text.strip())
    if not found:
        raise ValueError("it is not NAME or NAME=LOW..HIGH, e.g. queue_ms=10..200")
    parameter = parameters.get(found[1])
    if parameter is None:
        hint = suggestion(found[1], list(parameters)) or ";"
        raise ValueError(f"unknown parameter of {name}{hint} known: {', '.join(parameters)}")
    if found[2] is None:
        return _usual(parameter)
    low, high = int(found[2]), int(found[3])
    if parameter.kind == "bool":
        raise ValueError(f"{parameter.name} is on or off: give its name alone")
    if not parameter.minimum <= low < high <= parameter.maximum:
        raise ValueError(f"{parameter.name} is {parameter.accepted}, and LOW is below HIGH")
    return Axis(parameter, low, high)


def _usual(parameter: Parameter) -> Axis:
    """All that a parameter takes, or of a wide range what is near its default."""
    low, high = parameter.minimum, parameter.maximum
    if parameter.default and high - low > _TIMES * parameter.default:
        low = max(low, parameter.default // _TIMES)
        high = min(high, parameter.default * _TIMES)
    return Axis(parameter, low, high)


def of_set(name: Set, count: int) -> list[Drawn]:
    """Scenarios of a set of the leaderboard."""
    return sets.draw(name, count)


def of_files(files: Sequence[Path], seeds: range) -> list[Drawn]:
    """The scenarios of files, each with each of the seeds. Raises InputError."""
    found: list[Drawn] = []
    for file in files:
        request = resolve.load_file(file, Flags(), single=True)
        for seed in seeds:
            own = replace(request, base=request.base.with_(seed=seed))
            found.append(Drawn(len(found) + 1, own.base.workload.kind, False, own))
    return found


def trials(
    spec: str,
    tuned: Sequence[Axis],
    scenarios: Sequence[Drawn],
    count: int,
    seed: int,
    make: Play,
    show: Callable[[Trial, Trial], None],
) -> list[Trial]:
    """The untuned scheduler, then `count` trials; `show` gets each and the best so far.

    Raises MptcplabError if the untuned one fails in all scenarios.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    ranges = {axis.parameter.name: _distribution(axis) for axis in tuned}
    made = [compare(spec, {}, scenarios, make, 0)]
    for number in range(1, count + 1):
        asked = study.ask(ranges)
        values = {
            axis.parameter.name: asked.params[axis.parameter.name] - axis.is_wide for axis in tuned
        }
        trial = compare(spec, values, scenarios, make, number)
        study.tell(asked, trial.gain)
        made.append(trial)
        show(trial, best(made))
    return made


def best(made: Sequence[Trial]) -> Trial:
    """The first of those with the highest mean gain: the untuned one if none is above it."""
    return max(made, key=lambda trial: trial.gain)


def compare(
    spec: str, values: Mapping[str, int], scenarios: Sequence[Drawn], make: Play, number: int
) -> Trial:
    """A scheduler with some values beside the untuned one, in the same scenarios and seeds.

    Raises MptcplabError if no scenario has a figure of the untuned one.
    """
    own = ":".join([spec, *(f"{name}={value}" for name, value in values.items())])
    # one alone if the values are those that it has anyway
    specs = list({_chosen(each)[0].label: each for each in (own, spec)}.values())[::-1]
    request = resolve.from_flags(
        Flags(path=[next(iter(sets.PRESETS))], scheduler=",".join(specs)), known=scheduler.known()
    )
    labels = [each.label for each in request.schedulers]
    played = make(Asked(0, scenarios, request, labels, [], tcp=False))
    return Trial(number, labels[-1], dict(values), gains(played, labels[-1], labels[0]))


def gains(played: Sequence[Played], mine: str, other: str) -> dict[int, float]:
    """By scenario, the logarithm of what part of another's merit one has; at most MOST_TIMES.

    Scenarios where the other one failed are left out. Raises MptcplabError if that is all.
    """
    good = [each for each in played if each.merits[other] is not None]
    if not good:
        raise MptcplabError(
            f"{other} failed in all scenarios: mptcplab results list has the reasons"
        )
    own, its = (
        np.array([each.merits[name] for each in good], dtype=np.float64) for name in (mine, other)
    )
    parts: Floats = np.clip(standings.part_of(good, own, its), 1 / MOST_TIMES, MOST_TIMES)
    return {each.number: math.log(part) for each, part in zip(good, parts.tolist(), strict=True)}


def verdict(trial: Trial) -> Verdict:
    """What held-out scenarios say about it."""
    values = np.array(list(trial.gains.values()))
    better, worse = int((values > 0).sum()), int((values < 0).sum())
    paired = {"untuned": dict.fromkeys(trial.gains, 0.0), "tuned": dict(trial.gains)}
    difference = inference.differences(paired)["untuned", "tuned"]
    return Verdict(
        trial.gains,
        standings.estimate(values, np.mean),
        better,
        worse,
        len(values) - better - worse,
        difference.p,
    )


def _distribution(axis: Axis) -> BaseDistribution:
    """Optuna's own logarithmic ranges begin at 1: wide ranges are searched with 1 added."""
    from optuna.distributions import IntDistribution

    return IntDistribution(axis.low + axis.is_wide, axis.high + axis.is_wide, log=axis.is_wide)
