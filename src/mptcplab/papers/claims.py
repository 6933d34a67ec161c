# SPDX-License-Identifier: GPL-2.0-only
"""The claims of a paper, judged by runs: formulas over the figures of all runs of an experiment.

Draws judge a claim: all values that the paper does not give, and a seed for each (`wald.py`). The
published runs then have to agree.

Without draws the bootstrap does, as in variants and cases: the formulas are evaluated over
resamples of the independent samples (`samples.py`), and the verdict follows from the share of these
in which they are true. If an assumed value, one at a time, changes it, the claim is inconclusive;
if that changes the size of the effect alone, it is the direction that is reproduced.

A formula that cannot be evaluated over the published setting is an error, never a verdict. A
division by zero, which the figures cause, makes the claim inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from mptcplab.errors import MptcplabError
from mptcplab.formulas.formula import Formula, FormulaError, UndefinedError
from mptcplab.papers import wald
from mptcplab.papers.catalogue import (
    DRAWS,
    MIN_SAMPLES,
    MOST_DRAWS,
    OF_VARIANT,
    PUBLISHED,
    QUICK,
    Because,
    Claim,
    Experiment,
    Published,
)
from mptcplab.papers.samples import (
    LackingError,
    NotRunError,
    Resamples,
    Results,
    Row,
    Scope,
    Unit,
    resamples,
    results,
)

#: A formula holds if it is true in this share of the resamples, and fails if in the rest.
CERTAIN = 0.95
# The part of the resamples below a 95 % interval, and above it.
_TAIL = 0.025
#: With more resamples, or draws, over which a formula has no value there is no verdict.
_MOST_WITHOUT = 0.05
# Shares of resamples are sums of products of fractions.
_EXACT = 1e-9


class Verdict(StrEnum):
    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    INCONCLUSIVE = "inconclusive"
    DEPENDS = "depends"
    OPEN = "open"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable"


@dataclass(frozen=True, kw_only=True)
class ClaimOutcome:
    """A verdict over one part of an experiment, and our value of each figure of the claim.

    `intervals` has the 95 % bootstrap intervals, (low, high), of the figures that are numbers, and
    lists of these for lists. `p_holds` and `p_direction` are shares of the resamples, None if there
    is no such formula, or no verdict. `samples` are the independent ones. `reasons` say why the
    verdict is not a clearer one. `unknown` says why the claim cannot be evaluated, if so.
    """

    verdict: Verdict
    ours: Mapping[str, Any] = field(default_factory=dict)
    intervals: Mapping[str, Any] = field(default_factory=dict)
    p_holds: float | None = None
    p_direction: float | None = None
    samples: int = 0
    reasons: Sequence[str] = ()
    unknown: str = ""


@dataclass(frozen=True)
class Tested:
    """What draws say of a formula: true in `true` of `of`, and what is `decided`, if anything.

    `depends` is the unstated value that decides instead. `last` is whether more draws change
    nothing.
    """

    true: int
    of: int
    decided: bool | None
    depends: wald.Separation | None = None
    last: bool = True

    def __str__(self) -> str:
        says = {True: "it is true", False: "it is false", None: "not decided"}[self.decided]
        if self.depends:
            says = f"depends on {self.depends}"
        return f"true in {self.true} of {self.of}, {says}"


@dataclass(frozen=True)
class Explained:
    """An explanation with its figures, and whether it is shown; `why` says why it is not."""

    because: Because
    ours: Mapping[str, Any]
    shown: bool
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Judged(ClaimOutcome):
    """A judged claim: over one part, and, `by_variant`, over each other that has been run.

    `draws` has what these say of `holds` and `direction`; without draws, `not_varied` has the
    assumed values whose ranges have not been run, or not in full.
    """

    claim: Claim
    draws: Mapping[str, Tested] = field(default_factory=dict)
    explained: Sequence[Explained] = ()
    by_variant: Mapping[str, ClaimOutcome] = field(default_factory=dict)
    not_varied: Sequence[str] = ()

    @property
    def because(self) -> list[Explained]:
        """The explanations that are shown."""
        return [each for each in self.explained if each.shown]

    @property
    def provisional(self) -> bool:
        """Whether a verdict may change when all assumed values have been varied."""
        return bool(self.not_varied) and self.verdict in _DEFINITE

    @property
    def settled(self) -> bool:
        """Whether more draws change nothing."""
        return all(each.last for each in self.draws.values())


_DEFINITE = (Verdict.REPRODUCED, Verdict.DIRECTION, Verdict.CONTRADICTED)
#: Verdicts that agree on the direction of an effect.
_SAME_DIRECTION = {Verdict.REPRODUCED, Verdict.DIRECTION}


def judge(published: Published, by_part: Mapping[str, Results], part: str) -> list[Judged]:
    """Every claim over a part, given the results of all parts that have been run.

    Raises MptcplabError if a claim cannot be evaluated over the published setting or its quick
    part, though all runs are there that it needs.
    """
    own = published.experiment
    by_part = _with_quick_part(own, by_part)
    judged = []
    for claim, judge_of in _judges(published, by_part):
        outcome = judge_of.outcome(part, must_be_known=part in (PUBLISHED, QUICK))
        others = {name: judge_of.outcome(name) for name in by_part if name not in (part, DRAWS)}
        found = _judged(claim, outcome, judge_of.explained(part, outcome.ours), others)
        if part in (PUBLISHED, QUICK, DRAWS) and found.verdict is not Verdict.NOT_TESTABLE:
            if DRAWS in by_part and not found.unknown:
                found = judge_of.drawn(found, part)
            elif own.DRAWN and not found.unknown and not own.varies():
                # one run says it all
                found = replace(found, verdict=judge_of.over(part, found.ours), reasons=[])
            elif part != DRAWS:
                found = _varied(own, found, outcome if part == QUICK else others.get(QUICK))
        judged.append(found)
    return judged


def over(
    published: Published, by_part: Mapping[str, Results], judged: Sequence[Judged], part: str
) -> list[Judged]:
    """The claims over another part, as they have been judged over it, with its explanations."""
    by_part = _with_quick_part(published.experiment, by_part)
    return [
        _judged(claim, found := each.by_variant[part], judge_of.explained(part, found.ours), {})
        for each, (claim, judge_of) in zip(judged, _judges(published, by_part), strict=True)
    ]


def _judges(published: Published, by_part: Mapping[str, Results]) -> Iterator[tuple[Claim, _Judge]]:
    own = published.experiment
    for number, claim in enumerate(own.claim, 1):
        yield claim, _Judge(claim, f"{published.file}: claim[{number}]", own, by_part)


def _judged(
    claim: Claim,
    found: ClaimOutcome,
    explained: Sequence[Explained],
    others: Mapping[str, ClaimOutcome],
) -> Judged:
    return Judged(**vars(found), claim=claim, explained=explained, by_variant=others)


def _with_quick_part(own: Experiment, by_part: Mapping[str, Results]) -> dict[str, Results]:
    """All parts; the quick one as some of all runs, with all of their seeds, if it is that."""
    found = dict(by_part)
    if PUBLISHED in by_part and not own.quick.scenario:
        points = {frozenset(point.items()) for point in own.part(QUICK).points()}
        every = by_part[PUBLISHED].rows
        found[QUICK] = results(own, [r for r in every if frozenset(r.point.items()) in points])
    return {name: each for name, each in found.items() if each.rows}


def _varied(own: Experiment, found: Judged, quick: ClaimOutcome | None) -> Judged:
    """The verdict in view of those with other assumed values, compared with the quick part's.

    If other values change the size of the effect, and not its direction, the direction is left. If
    the quick part or all runs are inconclusive, another value may have either verdict. If the quick
    part has another verdict than all runs, it cannot show on which values these depend.
    """
    not_varied, untold, reasons = [], [], []
    verdicts = {found.verdict}
    reference = _telling(quick)
    for name, parts in own.sensitivity().items():
        others = {part: _telling(found.by_variant.get(part)) for part in parts}
        agreed = {reference.verdict if reference else found.verdict}
        if Verdict.INCONCLUSIVE in {*agreed, found.verdict}:
            agreed.add(found.verdict)
        different = {
            part: other.verdict
            for part, other in others.items()
            if reference and other and other.verdict not in agreed
        }
        if reference and different:
            verdicts |= {reference.verdict, *different.values()}
            alone = f"the quick part alone: {reference.verdict}"
            for how, is_open in (("depends on", False), ("is not decided with another", True)):
                with_each = [
                    f"{of} with {part.removeprefix(f'{name}=')}"
                    for part, of in different.items()
                    if (of is Verdict.INCONCLUSIVE) == is_open
                ]
                if with_each:
                    reasons.append(f"{how} {name}: {', '.join(with_each)}; {alone}")
        elif any(other and other.verdict is not found.verdict for other in others.values()):
            untold.append(name)
        if reference is None or None in others.values() or name in untold:
            not_varied.append(name)
    if reference and untold and found.verdict in _DEFINITE:
        alone = f"the quick part alone: {reference.verdict}, which does not tell about"
        found = replace(found, reasons=[*found.reasons, f"{alone} {', '.join(untold)}"])
    depends = Verdict.DIRECTION if verdicts <= _SAME_DIRECTION else Verdict.INCONCLUSIVE
    return replace(
        found,
        verdict=depends if reasons else found.verdict,
        reasons=[*found.reasons, *reasons],
        not_varied=not_varied,
    )


def _telling(outcome: ClaimOutcome | None) -> ClaimOutcome | None:
    """A verdict that can be compared with others; None if it cannot."""
    if outcome is None or outcome.unknown or outcome.samples < MIN_SAMPLES:
        return None
    return outcome


class _Judge:
    """Evaluates the formulas of a claim; `place` is where it is."""

    def __init__(
        self, claim: Claim, place: str, own: Experiment, by_part: Mapping[str, Results]
    ) -> None:
        self.claim = claim
        self.place = place
        self.own = own
        self.by_part = by_part
        self.figures = {name: Formula(each.value) for name, each in claim.figures.items()}
        texts = {"holds": claim.holds, "direction": claim.direction}
        self.tests = {name: Formula(text) for name, text in texts.items() if text is not None}

    def outcome(self, part: str, *, must_be_known: bool = False) -> ClaimOutcome:
        """The claim over a part. Raises MptcplabError if it `must_be_known` and has no value."""
        why = self._untestable()
        try:
            scope = Scope(self.by_part, part)
            ours = self._values(self.figures, scope, {}, "")
            if why is not None:
                return ClaimOutcome(verdict=Verdict.NOT_TESTABLE, ours=ours, reasons=[why])
            # a test without a value, or with another one than true or false, ends here
            for name, test in self.tests.items():
                self._is_true(name, test, scope, ours)
        except LackingError as error:
            found = self._unknown(str(error), why or str(error))
            return replace(found, ours=self._known(scope))
        except NotRunError as error:
            return self._unknown(str(error), why)
        except FormulaError as error:
            if must_be_known and not isinstance(error, UndefinedError):
                raise MptcplabError(str(error)) from None
            return self._unknown(str(error).removeprefix(f"{self.place}."), why)
        return self._bootstrapped(part, scope, ours)

    def over(self, part: str, ours: Mapping[str, Any]) -> Verdict:
        """What the runs of a part say together, with these values of the figures."""
        scope = Scope(self.by_part, part)
        true = [name for name, each in self.tests.items() if self._is_true(name, each, scope, ours)]
        if "holds" in true:
            return Verdict.REPRODUCED
        return Verdict.DIRECTION if true else Verdict.CONTRADICTED

    def drawn(self, found: Judged, part: str) -> Judged:
        """A claim judged by draws, and by the runs of a part at our values, if it is one."""
        own = self.by_part[DRAWS]
        tested = dict(self._of_all(own) if self.own.design else self._of_each(own))
        says = "; ".join(f"{name}: {each}" for name, each in tested.items())
        reasons = [f"{len(own.units)} of {MOST_DRAWS} draws; {says}"]
        verdict, said = _by_draws(tested), self.over(part, found.ours)
        if part != DRAWS and verdict in _DEFINITE and said is not verdict:
            reasons.append(f"the draws say {verdict}, the runs at our values {said}")
            same = {said, verdict} <= _SAME_DIRECTION
            verdict = Verdict.DIRECTION if same else Verdict.OPEN
        return replace(found, verdict=verdict, reasons=reasons, draws=tested)

    def _of_each(self, own: Results) -> Iterator[tuple[str, Tested]]:
        """What the tests say, given their truth in each draw."""
        count = len(own.units)
        formulas = {**self.figures, **self.tests}
        rows: dict[Unit, list[Row]] = {unit: [] for unit in own.units}
        for row in own.rows:
            rows[own.unit(row)].append(row)
        alone = ({DRAWS: results(self.own, of)} for of in rows.values())
        every = [_values(Scope(each, DRAWS), formulas) for each in alone]
        draws = self.own.part(DRAWS).draws
        kept = [draw for draw, each in zip(draws, every, strict=False) if each is not None]
        names = [each.name for each in self.own.drawn()]
        places = {name: [(draw.place[name], draw.assumed[name]) for draw in kept] for name in names}
        for name in self.tests:
            truths = [bool(each[name]) for each in every if each is not None]
            true, of = sum(truths), len(truths)
            depends = decided = None
            if (count >= MOST_DRAWS or not names) and count - of <= _MOST_WITHOUT * count:
                if names and wald.EXCEPTIONS < true < of - wald.EXCEPTIONS:
                    depends = wald.separation(truths, places)
                if depends is None:
                    decided = wald.decided(truths, of if names else 1)
            yield (
                name,
                Tested(true, of, decided, depends, count >= MOST_DRAWS or decided is not None),
            )

    def _of_all(self, own: Results) -> Iterator[tuple[str, Tested]]:
        """What the tests say, whose truth is about all draws of a design together: in resamples."""
        formulas, scope = {**self.figures, **self.tests}, Scope({DRAWS: own}, DRAWS)
        found = list(_resampled(scope, resamples({DRAWS: own}, [DRAWS]), formulas))
        known = [(weight, each) for weight, each in found if each is not None]
        of = sum(weight for weight, _ in known)
        last = len(own.units) >= MOST_DRAWS
        sure = last and of >= (1 - _MOST_WITHOUT) * sum(weight for weight, _ in found)
        for name in self.tests:
            true = sum(weight for weight, each in known if each[name])
            decided = 2 * true > of if sure and min(true, of - true) <= wald.ERROR * of else None
            yield name, Tested(true, of, decided, last=last)

    def explained(self, part: str, ours: Mapping[str, Any]) -> list[Explained]:
        """The explanations that are certain over a part, as a claim has to be, and the others.

        Raises MptcplabError if a formula is neither true nor false.
        """
        found = []
        for number, because in enumerate(self.claim.because, 1):
            key = f"because[{number}]."
            figures = {name: Formula(each.value) for name, each in because.figures.items()}
            own: dict[str, Any] = {}
            try:
                scope = Scope(self.by_part, part)
                own = self._values(figures, scope, ours, key)
                test = Formula(because.shown_by)
                true = self._is_true(f"{key}shown_by", test, scope, {**ours, **own})
                why = self._doubt(part, scope, figures, test) if true else "it is false"
            except FormulaError as error:
                why = str(error)
            found.append(Explained(because, own, not why, why))
        return found

    def _doubt(self, part: str, scope: Scope, figures: Mapping[str, Formula], test: Formula) -> str:
        """Why an explanation that is true is not certain; "" if it is."""
        formulas = {**self.figures, **figures, "shown_by": test}
        drawn = resamples(self.by_part, self._parts(part, formulas))
        found = _resampled(scope, drawn, formulas)
        true = sum(weight for weight, values in found if values and values["shown_by"])
        share = true / drawn.total
        if _verdict(share, None) is Verdict.REPRODUCED:
            return ""
        return f"it is true in {share:.0%} of the resamples"

    def _untestable(self) -> str | None:
        """Why the claim is not judged; None if it is."""
        if self.claim.not_testable is not None:
            return self.claim.not_testable
        fitted = [each for each in self.own.assumed if each.name in self.claim.fitted_by]
        return (
            "; ".join(f"fitted: {each.name} is {each.value}, {each.fitted}" for each in fitted)
            or None
        )

    def _unknown(self, message: str, why: str | None) -> ClaimOutcome:
        verdict = Verdict.INCONCLUSIVE if why is None else Verdict.NOT_TESTABLE
        return ClaimOutcome(verdict=verdict, reasons=[why or message], unknown=message)

    def _values(
        self, formulas: Mapping[str, Formula], scope: Scope, names: Mapping[str, Any], key: str
    ) -> dict[str, Any]:
        ours: dict[str, Any] = {}
        for name, formula in formulas.items():
            ours[name] = self._value(f"{key}figures.{name}", formula, scope, {**names, **ours})
        return ours

    def _known(self, scope: Scope) -> dict[str, Any]:
        """The figures of a claim that have a value, where some lack one."""
        ours: dict[str, Any] = {}
        for name, formula in self.figures.items():
            with suppress(FormulaError):
                ours[name] = self._value(f"figures.{name}", formula, scope, ours)
        return ours

    def _is_true(self, key: str, formula: Formula, scope: Scope, ours: Mapping[str, Any]) -> bool:
        found = self._value(key, formula, scope, ours)
        if not isinstance(found, bool):
            raise MptcplabError(
                f"{self.place}.{key} = {formula.text!r}: is {found!r}; "
                "a formula that is true or false is expected"
            )
        return found

    def _value(self, key: str, formula: Formula, scope: Scope, ours: Mapping[str, Any]) -> Any:
        try:
            return formula.value({**scope.names, **ours}, scope.functions)
        except NotRunError:
            raise
        except FormulaError as error:
            text = f"{self.place}.{key} = {formula.text!r}: cannot be evaluated: {error}"
            raise type(error)(text) from None

    def _bootstrapped(self, part: str, scope: Scope, ours: Mapping[str, Any]) -> ClaimOutcome:
        formulas = {**self.figures, **self.tests}
        parts = self._parts(part, formulas)
        drawn = resamples(self.by_part, parts)
        holds = direction = without = 0
        found: dict[str, list[tuple[int, Any]]] = {name: [] for name in self.figures}
        for weight, values in _resampled(scope, drawn, formulas):
            if values is None:
                without += weight
                continue
            for name, series in found.items():
                series.append((weight, values[name]))
            holds += weight * bool(values["holds"])
            direction += weight * bool(values.get("direction"))
        known = drawn.total - without
        shares = holds / known if known else None, direction / known if known else None
        p_holds, p_direction = shares[0], shares[1] if "direction" in self.tests else None
        samples = min(len(self.by_part[each].units) for each in parts)
        reasons = []
        if not self.own.part(part).is_random():
            reasons.append("nothing was varied: the seeds are no independent samples")
        elif samples < MIN_SAMPLES:
            reasons.append(f"too few samples: {samples}, where at least {MIN_SAMPLES} are needed")
        if without > _MOST_WITHOUT * drawn.total:
            share = without / drawn.total
            reasons.append(f"over {share:.0%} of the resamples it cannot be evaluated")
        verdict = Verdict.INCONCLUSIVE if reasons else _verdict(p_holds, p_direction)
        return ClaimOutcome(
            verdict=verdict,
            ours=ours,
            intervals=dict(_intervals(ours, found)),
            p_holds=p_holds,
            p_direction=p_direction,
            samples=samples,
            reasons=reasons,
        )

    def _parts(self, part: str, formulas: Mapping[str, Formula]) -> list[str]:
        """The parts whose runs some formulas are about, the judged one first."""
        named = set().union(*(each.constants(OF_VARIANT) for each in formulas.values()))
        return [part, *sorted(named - {part})]


def _resampled(
    scope: Scope, drawn: Resamples, formulas: Mapping[str, Formula]
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The weight of each resample, and the values of formulas over it, as in `_values`."""
    for weight, draws in drawn.draws:
        scope.take(draws)
        yield weight, _values(scope, formulas)


def _values(scope: Scope, formulas: Mapping[str, Formula]) -> dict[str, Any] | None:
    """The values of formulas, each of which can name those before it; None if one has none."""
    names = dict(scope.names)
    try:
        for name, formula in formulas.items():
            names[name] = formula.value(names, scope.functions)
    except FormulaError:
        return None
    return {name: names[name] for name in formulas}


def _by_draws(tested: Mapping[str, Tested]) -> Verdict:
    if tested["holds"].decided:
        return Verdict.REPRODUCED
    if "direction" in tested and tested["direction"].decided:
        return Verdict.DIRECTION
    if any(each.depends for each in tested.values()):
        return Verdict.DEPENDS
    every = all(each.decided is False for each in tested.values())
    return Verdict.CONTRADICTED if every else Verdict.OPEN


def _verdict(p_holds: float | None, p_direction: float | None) -> Verdict:
    if p_holds is None:
        return Verdict.INCONCLUSIVE
    if p_holds >= CERTAIN - _EXACT:
        return Verdict.REPRODUCED
    if p_direction is not None and p_direction >= CERTAIN - _EXACT:
        return Verdict.DIRECTION
    if max(p_holds, p_direction or 0.0) <= 1 - CERTAIN + _EXACT:
        return Verdict.CONTRADICTED
    return Verdict.INCONCLUSIVE


def _intervals(
    ours: Mapping[str, Any], found: Mapping[str, Sequence[tuple[int, Any]]]
) -> Iterator[tuple[str, Any]]:
    """The interval of each figure that is a number in all resamples, or a list of as many."""
    for name, value in ours.items():
        series = found[name]
        if _is_number(value) and all(_is_number(each) for _, each in series):
            yield name, _interval(series)
        elif isinstance(value, list | tuple) and all(
            _are_numbers(each, len(value)) for _, each in series
        ):
            weights = [weight for weight, _ in series]
            columns = zip(*(each for _, each in series), strict=True)
            yield name, [_interval(list(zip(weights, each, strict=True))) for each in columns]


def _interval(series: Sequence[tuple[int, Any]]) -> tuple[float, float] | None:
    """Between which values the middle part of the resamples is."""
    total, before, low = sum(weight for weight, _ in series), 0, None
    for value, weight in sorted((value, weight) for weight, value in series):
        before += weight
        if low is None and before >= _TAIL * total:
            low = value
        if low is not None and before >= (1 - _TAIL) * total:
            return low, value
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value: object, count: int) -> bool:
    return isinstance(value, list | tuple) and len(value) == count and all(map(_is_number, value))
