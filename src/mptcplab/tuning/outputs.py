# SPDX-License-Identifier: GPL-2.0-only
"""What tuning found, for people: lines for a terminal, a picture, and a document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mptcplab.report import draw, palette
from mptcplab.runs import store
from mptcplab.tuning.search import MOST_TIMES, Axis, Trial, Verdict, best

#: In the output directory.
DOCUMENT, PICTURE = "tune.json", "tune"
_HEIGHT = 3.2  # inches
_SHOWN = 5  # trials


def percent(gain: float) -> str:
    """A gain, which is a logarithm, as a change in per cent."""
    return f"{100 * math.expm1(gain):+.1f} %"


def lines(made: Sequence[Trial], held_out: Verdict | None) -> list[str]:
    """The best trials, and what held-out scenarios say about the first."""
    untuned, first = made[0], best(made)
    # the same values come again where there are few
    tried = {trial.label: trial for trial in made[1:]}
    ordered = sorted(tried.values(), key=lambda trial: -trial.gain)
    found = [f"{len(made) - 1} trials on {len(untuned.gains)} scenarios; the best ones:"]
    found += [f"  {percent(each.gain):>9}  {each.label}" for each in ordered[:_SHOWN]]
    if held_out is None:
        return [*found, f"None is better than {untuned.label}."]
    low, high = held_out.gain.low, held_out.gain.high
    interval = "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"
    p = "" if held_out.p is None else f", p = {held_out.p:.2g}"
    return [
        *found,
        f"On {len(held_out.gains)} held-out scenarios, {first.label} beside {untuned.label}: "
        f"{percent(held_out.gain.value)}{interval}, {held_out.text}",
        f"  better in {held_out.better} scenarios, worse in {held_out.worse}, same in "
        f"{held_out.same}{p}",
    ]


def document(
    given: Mapping[str, Any],
    tuned: Sequence[Axis],
    made: Sequence[Trial],
    held_out: Verdict | None,
    builds: Mapping[str, str],
) -> dict[str, Any]:
    """All of it, with gains as logarithms of ratios."""
    return {
        "given": dict(given),
        "parameters": {axis.parameter.name: {"low": axis.low, "high": axis.high} for axis in tuned},
        "trials": [asdict(each) | {"gain": each.gain} for each in made],
        "best": best(made).label,
        "held_out": None if held_out is None else asdict(held_out) | {"is": held_out.text},
        "build": dict(builds),
    }


def write_picture(made: Sequence[Trial], held_out: Verdict | None, out: Path) -> Path:
    """The trials in their order, and the held-out scenarios by their gain."""
    with draw.drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(draw.WIDTH, _HEIGHT), layout="constrained")
        left, right = figure.subplots(1, 2)
        gains = [100 * math.expm1(each.gain) for each in made]
        so_far = [max(gains[: number + 1]) for number in range(len(gains))]
        left.plot(gains, linestyle="", marker="o", markersize=4, color=palette.COLOURS[0])
        left.step(range(len(so_far)), so_far, where="post", color=palette.COLOURS[1])
        left.set(xlabel="trial; 0 is untuned", ylabel="mean gain, %")
        left.set_title("training: trials, and the best so far", loc="left", fontsize="small")
        if held_out is None:
            right.text(0.5, 0.5, "no trial is better", ha="center", transform=right.transAxes)
        else:
            own = sorted(math.exp(each) for each in held_out.gains.values())
            right.bar(
                range(1, len(own) + 1), [each - 1 for each in own], bottom=1, width=0.9,
                color=palette.COLOURS[0],
            )  # fmt: skip
            mean = math.exp(held_out.gain.value)
            right.axhline(mean, color=palette.COLOURS[1], label=f"mean: {mean:.2f}")
            if held_out.gain.low is not None and held_out.gain.high is not None:
                ends = [math.exp(x) for x in (held_out.gain.low, held_out.gain.high)]
                right.axhspan(*ends, color=palette.COLOURS[1], alpha=0.2, label="its 95 % interval")
            right.legend(frameon=False, fontsize="small")
        right.set(xlabel="held-out scenarios, by gain", ylabel="times the untuned one")
        right.set_yscale("log", base=2)
        right.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        right.set_title("held out: the best trial", loc="left", fontsize="small")
        left.axhline(0, color="0.6", linewidth=0.8, zorder=0)
        right.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        for axis in (left, right):
            axis.spines[["top", "right"]].set_visible(False)
        for form in palette.FORMATS[:2]:
            content = draw.drawn(figure, form, draw.DOTS_PER_INCH)
            store.write(out / f"{PICTURE}.{form}", content)
    return out / f"{PICTURE}.{palette.FORMATS[0]}"


#: What gains are, for people.
RULE = (
    "A gain is the ratio of the tuned figure to the untuned one: goodput of bulk data, else "
    "promptness (the inverse of the delay, or the share in time); the mean is geometric, each "
    f"scenario counts at most {MOST_TIMES:g} times."
)
