# SPDX-License-Identifier: GPL-2.0-only
"""A path from speed tests and from the output of ping."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mptcplab.errors import InputError, Problem
from mptcplab.fit.estimates import FEWEST_QUEUE, FULL_BYTES, Estimate, PathFit, of_samples, share
from mptcplab.scenario import measured
from mptcplab.units import NS_PER_S, RATE, TIME, counted

_FORM = "NAME:ITEM,... is expected, with a rate or a speed test, and ping: dsl:12mbit,ping.txt"
_RATE = re.compile(r"[0-9.]+ *[a-zA-Z]+")
_ANSWER = re.compile(r"seq=([0-9]+).* time[=<]([0-9.]+) ?ms")
_LOADED = "loaded="
# Between the quartiles of the sum of two delays, each uniform within +-1.
_QUARTILES = 4 - 2 * 2**0.5
# Less jitter than this part of the delay is left out.
_LEAST_JITTER = 0.01
# Percentiles of the answers under load: a queue is full only at times.
_FULL = (95, 50, 100)

# Sequence numbers and round-trip times in ms.
_Answers = list[tuple[str, str]]


def path(text: str) -> PathFit:
    """The path that NAME:ITEM,... measures. Raises InputError."""
    name, _, rest = text.partition(":")
    rates: dict[str, list[float]] = {}
    trips_s: list[float] = []
    idle: _Answers = []
    loaded: _Answers = []
    try:
        for item in filter(None, map(str.strip, rest.split(","))):
            if _RATE.fullmatch(item):
                rates.setdefault("", []).append(RATE.parse(item) * measured.HEADERS)
                continue
            file = Path(item.removeprefix(_LOADED))
            values, content = measured.contents(file)
            (loaded if item.startswith(_LOADED) else idle).extend(_ANSWER.findall(content))
            if "delay" in values:
                trips_s.append(2 * TIME.parse(values["delay"]) / NS_PER_S)
            for direction in ("down", "up"):
                if rate := values.get(f"{direction}.rate"):
                    found = _seconds(content, direction) or [float(RATE.parse(rate))]
                    rates.setdefault(direction, []).extend(found)
        if not rates or not trips_s:
            raise ValueError(f"no {'delay' if rates else 'rate'}; {_FORM}")
    except ValueError as error:
        raise InputError([Problem("--path", "", text, str(error))]) from None
    values_ = _rates(rates) | (_idle(idle) if idle else _shortest(trips_s, loaded))
    if loaded:
        waits_s = [float(ms) / 1000 - 2 * values_["delay"].value for _, ms in loaded]
        packets = np.maximum(waits_s, 0) * values_["rate"].value / (8 * FULL_BYTES)
        queue, low, high = np.percentile(packets, _FULL).tolist()
        source = f"{counted(len(loaded), 'answer')} under load"
        # a test that did not fill the queue does not show its size
        values_["queue"] = Estimate(max(queue, FEWEST_QUEUE), low, max(high, FEWEST_QUEUE), source)
    return PathFit(name, rest, values_)


def _seconds(content: str, direction: str) -> list[float]:
    """The rate of each second of iperf3's test over TCP; of others, nothing."""
    if not content.lstrip().startswith("{"):
        return []
    test = json.loads(content)
    asked = test.get("start", {}).get("test_start", {})
    if asked.get("protocol") != "TCP":
        return []
    name = "sum" if (direction == "down") == bool(asked.get("reverse")) else "sum_bidir_reverse"
    sums = [each[name] for each in test.get("intervals", []) if each.get(name)]
    return [each["bits_per_second"] * measured.HEADERS for each in sums]


def _rates(rates: dict[str, list[float]]) -> dict[str, Estimate]:
    """A rate of one direction counts for both; beside a download's, an upload has its own."""
    found: dict[str, Estimate] = {}
    for direction in sorted(rates, key=("", "down", "up").index):
        values = rates[direction]
        estimate = of_samples(values, f"median of {counted(len(values), 'value')} of speed tests")
        if len(values) == 1:
            estimate = Estimate(values[0], values[0], None, "one speed test")
        found[f"{direction}.rate" if found else "rate"] = estimate
    return found


def _idle(answers: _Answers) -> dict[str, Estimate]:
    """Delay, jitter and loss from the answers to pings on an idle path."""
    delays_s = np.array([float(ms) / 2000 for _, ms in answers])
    found = {"delay": of_samples(delays_s.tolist(), f"median of {counted(len(answers), 'answer')}")}
    low, high = np.quantile(2 * delays_s, (0.25, 0.75))
    jitter_s = float(high - low) / _QUARTILES
    if jitter_s > _LEAST_JITTER * found["delay"].value:
        jitter_s = min(jitter_s, found["delay"].value)
        found["jitter"] = Estimate(jitter_s, jitter_s, jitter_s, "quartiles of the answers")
    numbers = {int(number) for number, _ in answers}
    sent = max(numbers) - min(numbers) + 1
    lost = share(sent - len(numbers), sent, f"{sent - len(numbers)} of {sent} pings")
    # both directions together lose them
    value, low, high = (1 - (1 - e) ** 0.5 for e in (lost.value, lost.low, lost.high or 0.0))
    return {**found, "loss": Estimate(value, low, high, lost.source)}


def _shortest(trips_s: Sequence[float], loaded: _Answers) -> dict[str, Estimate]:
    """The delay without a ping on the idle path."""
    delay_s = min([*trips_s, *(float(ms) / 1000 for _, ms in loaded)]) / 2
    return {"delay": Estimate(delay_s, delay_s, delay_s, "shortest round trip")}
