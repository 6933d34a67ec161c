# SPDX-License-Identifier: GPL-2.0-only
"""Values of paths that are known roughly, or that vary: how far off, and paths that are.

A value, such as a rate of 50 Mbit/s known to 20 %, is multiplied by a factor from 0.8 to 1.2, the
same in both directions, throughout a trace, and where an event sets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mptcplab import units
from mptcplab.errors import InputError, Problem
from mptcplab.mistakes import shown
from mptcplab.scenario import limits
from mptcplab.scenario.model import Change, Link, Scenario, Shape, Varied
from mptcplab.traces import link_trace

L = TypeVar("L", bound=Link)

#: Parts that were given, by link and key; None stands for all.
_Said = dict[tuple[str | None, str | None], float]

#: The uncertain values; jitter and reordering scale with the delay.
KEYS = ("rate", "delay", "loss", "queue")
DEFAULT = "20%"
#: With more, a value could be almost nothing.
MOST = 0.9

_FLAG = "--uncertain"
_STREAM = 1 << 18
_FORM = "a percentage is expected, alone or after KEY=, PATH= or PATH.KEY=, e.g. 20% or loss=50%"
# A loss is stored in billionths, see units.parse_fraction.
_LOSS_DIGITS = 9
#: With everything lost, nothing would ever arrive.
_MOST_LOSS = 0.99
_MAX_QUEUE_BYTES = units.parse_size("1GB")


def parse(texts: Sequence[str], base: Scenario) -> tuple[Varied, ...]:
    """What is uncertain of a scenario's values, by default everything; 0 is certain.

    The most specific text counts: that of a key of a path, then of a path, of a key, of everything.
    Raises InputError with every mistake.
    """
    problems: list[Problem] = []

    def report(item: str, message: str) -> None:
        problems.append(Problem(_FLAG, "", shown(item), message))

    said: _Said = {(None, None): units.parse_fraction(DEFAULT)}
    found = _parts(texts, said, base.own_and_shared, report)
    if problems:
        raise InputError(problems)
    return found


def text(uncertain: Sequence[Varied]) -> str:
    """How uncertain values are, in few words: +-20 %, or from the least to the most."""
    if not uncertain:
        return "taken as certain"
    parts = [part for _, _, part in uncertain]
    least, most = (units.format_fraction(part) for part in (min(parts), max(parts)))
    return f"+-{least}" if least == most else f"+-{least} to +-{most}"


def varied(
    texts: Sequence[str], links: Sequence[Link], report: Callable[[str, str], None]
) -> tuple[Varied, ...]:
    """What a scenario's seed draws: of each link and key, how far the value may be off.

    Losses vary only where their key says so. Each text that is wrong is reported, and why.
    """
    return _parts(texts, {(None, None): 0.0}, links, report, own=("loss",))


def drawn(scenario: Scenario) -> Scenario:
    """The scenario with the values that its seed draws, each uniform within what it may be off by.

    They depend on the seed and on the link's place among all, and on nothing else. The result keeps
    the scenario as it was `given`.
    """
    if not scenario.vary:
        return scenario
    from mptcplab.scenario.randomness import generator  # NumPy takes as long as all else here

    shares: dict[tuple[str, str], float] = {}
    for number, link in enumerate(scenario.own_and_shared):
        random = generator(scenario.seed, _STREAM + number)
        shares |= {(link.name, key): random.uniform(-1, 1) for key in KEYS}
    factors = {(name, key): 1 + part * shares[name, key] for name, key, part in scenario.vary}
    return scaled(scenario, factors).model_copy(update={"given": scenario})


def scaled(base: Scenario, factors: Mapping[tuple[str, str], float]) -> Scenario:
    """The scenario with values multiplied, each by the factor of its path or link and key, and
    nothing left to be drawn.
    """
    return base.model_copy(
        update={
            "paths": tuple(_link(path, factors) for path in base.paths),
            "links": tuple(_link(link, factors) for link in base.links),
            "events": tuple(
                event.model_copy(
                    update={
                        "up": _change(event.up, _of_link(event.path, factors)),
                        "down": _change(event.down, _of_link(event.path, factors)),
                    }
                )
                for event in base.events
            ),
            "vary": (),
        }
    )


def _parts(
    texts: Iterable[str],
    said: _Said,
    links: Sequence[Link],
    report: Callable[[str, str], None],
    own: Sequence[str] = (),
) -> tuple[Varied, ...]:
    """The most specific of what was `said`, and of the texts, of each value that can vary.

    Of keys in `own`, only what names the key counts.
    """
    names = [link.name for link in links]
    for item in (item for text in texts for item in text.split(",")):
        what, _, value = item.rpartition("=")
        try:
            said[_place(what.strip(), names)] = _part(value.strip())
        except ValueError as error:
            report(item.strip(), str(error))
    found = []
    for link in links:
        for key in KEYS:
            places = [(link.name, key), (link.name, None), (None, key), (None, None)]
            part = next(
                (said[each] for each in places if each in said and (each[1] or key not in own)), 0.0
            )
            if part and any(_has(shape, key) for shape in (link.up, link.down)):
                found.append((link.name, key, part))
    return tuple(found)


def _place(what: str, names: Sequence[str]) -> tuple[str | None, str | None]:
    name, _, key = what.rpartition(".")
    if not what:
        return None, None
    if what in KEYS:
        return None, what
    if what in names:
        return what, None
    if name in names and key in KEYS:
        return name, key
    known = f"keys are {', '.join(KEYS)}"
    if names:  # unless all have mistakes
        known += f"; paths and links are {', '.join(names)}"
    raise ValueError(f"unknown key or path: {known}; {_FORM}")


def _part(text: str) -> float:
    try:
        part = units.parse_fraction(text)
    except ValueError as error:
        raise ValueError(f"{error}; {_FORM}") from None
    if part > MOST:
        raise ValueError(f"at most {units.format_fraction(MOST)}; {_FORM}")
    return part


def _has(shape: Shape, key: str) -> bool:
    """Whether a direction has a value of this key that can vary."""
    # a path without a rate of its own leaves rate and queue to its links
    if key in ("rate", "queue"):
        return shape.rate_bps != limits.NO_RATE_BPS
    if key == "delay":
        return shape.delay_ns > 0 or any(delay for _, _, delay, _ in shape.steps)
    return shape.loss > 0 or any(loss for _, _, _, loss in shape.steps)


def _link(link: L, factors: Mapping[tuple[str, str], float]) -> L:
    own = _of_link(link.name, factors)
    return link.model_copy(
        update={"up": _direction(link.up, own), "down": _direction(link.down, own)}
    )


def _of_link(name: str, factors: Mapping[tuple[str, str], float]) -> Mapping[str, float]:
    return {key: factors.get((name, key), 1.0) for key in KEYS}


def _direction(shape: Shape, factors: Mapping[str, float]) -> Shape:
    if all(factor == 1.0 for factor in factors.values()):
        return shape
    fewest = limits.MIN_RED_PACKETS if shape.queue_discipline == "red" else 1
    queues = (
        ("queue_packets", fewest, limits.MAX_QUEUE_PACKETS),
        ("queue_bytes", fewest * limits.PACKET_BYTES, _MAX_QUEUE_BYTES),
    )
    update: dict[str, Any] = {
        name: min(max(round(size * factors["queue"]), least), most)
        for name, least, most in queues
        if (size := getattr(shape, name)) is not None
    }
    # jitter and reordering are rounded down like the delay, so that values below it stay below it
    for name, scale in {**_SCALES, "reorder_by_ns": _delay}.items():
        if (value := getattr(shape, name)) is not None:
            update[name] = scale(value, factors)
    update["loss"] = _loss(shape, shape.loss, factors)
    update["steps"] = tuple(
        (
            at_ns,
            None if rate_bps is None else _rate(rate_bps, factors),
            None if delay_ns is None else _delay(delay_ns, factors),
            None if loss is None else _loss(shape, loss, factors),
        )
        for at_ns, rate_bps, delay_ns, loss in shape.steps
    )
    return shape.model_copy(update=update)


def _change(change: Change, factors: Mapping[str, float]) -> Change:
    """A rate or delay that an event sets; a factor of its own, losses and the rest stay."""
    values = {name: getattr(change, name) for name in _SCALES}
    update = {name: _SCALES[name](v, factors) for name, v in values.items() if v is not None}
    return change.model_copy(update=update)


def _rate(rate_bps: int, factors: Mapping[str, float]) -> int:
    if rate_bps in (0, limits.NO_RATE_BPS):
        return rate_bps
    return min(
        max(int(rate_bps * factors["rate"]), link_trace.MIN_RATE_BPS), link_trace.MAX_RATE_BPS
    )


def _delay(delay_ns: int, factors: Mapping[str, float]) -> int:
    return min(int(delay_ns * factors["delay"]), link_trace.MAX_DELAY_NS)


def _loss(shape: Shape, loss: float, factors: Mapping[str, float]) -> float:
    if loss in (0.0, 1.0):
        return loss
    least, most = limits.loss_range(shape.loss_burst, shape.loss_good, shape.loss_bad)
    return min(max(round(loss * factors["loss"], _LOSS_DIGITS), least), most, _MOST_LOSS)


_SCALES = {"rate_bps": _rate, "delay_ns": _delay, "jitter_ns": _delay}
