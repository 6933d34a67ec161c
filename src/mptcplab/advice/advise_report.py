# SPDX-License-Identifier: GPL-2.0-only
"""Shows advice in words, as a table, a picture and a JSON document."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.text import Text

from mptcplab import __version__
from mptcplab.advice import ranking
from mptcplab.advice.advise import (
    MUCH_EXTRA,
    NORMAL,
    REFERENCE,
    Advice,
    Candidate,
    Effort,
    Judged,
    Overall,
    Place,
)
from mptcplab.advice.goals import Goal
from mptcplab.lab import adapter, package
from mptcplab.lab.kernel import KernelBuild, refused_by_adapter
from mptcplab.metrics.inference import Summary
from mptcplab.metrics.recorded import measured_direction
from mptcplab.mistakes import one_of
from mptcplab.report import draw, palette
from mptcplab.report.catalogue_tables import Fitted, ruled
from mptcplab.runs import store
from mptcplab.scenario import congestion, scheduler, uncertainty
from mptcplab.scenario.limits import DIRECTIONS, Direction
from mptcplab.scenario.model import Path as NetworkPath
from mptcplab.scenario.model import Scenario, Shape
from mptcplab.scenario.scheduler import Choice
from mptcplab.scenario.workload import Cbr
from mptcplab.units import format_fraction, format_rate, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The document of the latest advice in an output directory, and its picture.
DOCUMENT = "advice.json"
PICTURE = "advice"

# The shares of resamples from which the advice is called sure, or likely.
_SURE, _LIKELY = 0.95, 0.8
_MOST_NAMED = 4  # in a sentence
_BUILD_PLAIN = "mptcplab kernel build --engine-only --name plain"
_TITLE_WIDTH = 26  # of a line above a panel
_NAME_WIDTH = 24  # of a line of the table
_NO_BREAK = "\N{NO-BREAK SPACE}"
_PLACES: Mapping[Place, str] = {
    "today": "Without installing anything",
    "package": f"With the package {package.NAME}",
    "router": "With OpenMPTCProuter",
}
_PACKAGE = f"{package.NAME}-dkms_{__version__}_all.deb"
_WAYS = {
    "up": "goes up, to the server",
    "down": "goes down, to the client",
    "both": "goes both ways",
}
_SENDERS = {"up": ("client",), "down": ("server",), "both": ("server", "client")}
# Their order of paths is that of the scenario if all but the first are backups, whichever subflow
# is created first.
_HEED_BACKUPS = ("backup", "overflow")
_ROW_HEIGHT, _FRAME_HEIGHT = 0.28, 1.1  # inches

_UNKNOWN = """\
The advice does not know the CPU time of a scheduler on your machines; whether
your paths share a bottleneck (--link) or have other traffic (cross=); or how
they change over time, except by the given events and traces. Pairs that went
out after the first variations ran on these only."""


def text(advice: Advice) -> str:
    """The answer: a paragraph for each goal, and for all of them."""
    base = advice.base
    head = (
        f"{_given(advice)}\n"
        f"{len(advice.variations)} variations, {advice.runs} runs, seeds from {base.seed} on"
        f"{f'; with the kernel {advice.kernel.name}' if advice.kernel.name else ''}."
        f"{_quick(advice.effort)}"
    )
    return "\n\n".join(
        [
            head,
            *(_paragraph(advice, each) for each in advice.judged),
            *([_for_all(advice, *advice.overall), _places(advice)] if advice.overall else []),
        ]
    )


def table(advice: Advice) -> Group:
    """A row per finalist: the figures, medians over the variations with the range below."""
    grid = ruled()
    grid.add_column("Scheduler,\ncongestion\ncontrol", no_wrap=True)
    for each in advice.judged:
        figure = each.goal.figure
        head = f"{each.goal.name.capitalize()}\n\n{figure.unit}"
        grid.add_column(head, justify="right", no_wrap=True)
    grid.add_column("Sent\nbesides\n%", justify="right", no_wrap=True)
    for name in _finalists(advice):
        cells = []
        for each in advice.judged:
            standing = each.ranking.standings.get(name)
            mark = " *" if name in each.ranking.as_good else "  "
            cells.append(_range(standing.figure, mark) if standing else "failed")
        extra = advice.extra.get(name)
        grid.add_row(
            draw.in_lines(name, _NAME_WIDTH), *cells, "-" if extra is None else _number(extra)
        )
        grid.add_row()
    steady = min((each.goal.name for each in advice.judged), key=lambda name: name != "latency")
    notes = [
        f"{each.goal.name.capitalize()}: {each.goal.figure.text}{_of_what(each.goal)}."
        for each in advice.judged
    ]
    notes += [
        "Median of the variations, and the range from lowest to highest. *: as good as the best.",
        f"Sent besides: data sent beyond one copy of each byte, in the runs for {steady}.",
        *(f"Failed: {line}" for line in advice.failures),
    ]
    return Group(Fitted(grid), *(Text(note) for note in notes))


def use(advice: Advice) -> str:
    """How to use it: the lines for each end, and how to have its scheduler there."""
    chosen = advice.overall[0].name if advice.overall else advice.judged[0].ranking.chosen
    candidate, base = advice.candidates[chosen], advice.base
    senders = _SENDERS[base.workload.direction]
    further = len(base.paths) - 1
    packaged = candidate.is_packaged
    lines = [f"To use {_name(chosen)}, as root:"]
    for end in ("server", "client"):
        lines.append(f"At the {end}{', which sends' if end in senders else ''}:")
        if end in senders:
            lines += [f"  apt install ./{_PACKAGE}"] * packaged
            lines.append(f"  sysctl -w {' '.join(_sysctls(candidate))}")
        lines.append(f"  ip mptcp limits set subflow {further}")
        if end == "client":
            lines += _endpoints(candidate.scheduler, base)
    about = [
        "Programs at both ends need sockets of MPTCP, as by mptcpize run. Each path has an "
        f"address, a device and a route of its own; the default route leaves by "
        f"{base.paths[0].name}, since the first subflow is path 1."
    ]
    if len(senders) == 1:
        (other,) = {"client", "server"}.difference(senders)
        about.append(f"The sender decides: to send as well, the {other} needs the same lines.")
    if packaged:
        about.append(
            "mptcplab scheduler package makes the package, for Debian with Linux 6.6 or newer."
        )
    about += _unpackaged(candidate, advice.kernel)
    lines.append(textwrap.fill(" ".join(about), width=80, break_on_hyphens=False))
    if candidate.scheduler.name != scheduler.DEFAULT and not advice.kernel.has_adapter:
        lines += [
            "For advice on the package's schedulers, ask again with --kernel plain, made by:",
            f"  {_BUILD_PLAIN}",
        ]
    return "\n".join([*lines, "", _UNKNOWN])


def document(advice: Advice) -> dict[str, Any]:
    """The whole advice; the same for the same scenario, seeds and builds."""
    return {
        "goals": {each.goal.name: _goal(advice, each) for each in advice.judged},
        "overall": [asdict(each) for each in advice.overall],
        "given_up": list(advice.give_up),
        "places": {place: advice.best_at(place) for place in _PLACES},
        "packaged": {name: asdict(each) for name, each in advice.packaged.items()},
        "reference": REFERENCE.label,
        "candidates": {
            name: {
                "scheduler": each.scheduler.label,
                "cc": each.cc,
                "sysctls": _sysctls(each),
                "extra_percent": advice.extra.get(name),
                **({"without": list(lost)} if (lost := _losses(advice, name)) else {}),
            }
            for name, each in advice.candidates.items()
        },
        "uncertainty": {f"{name}.{key}": part for name, key, part in advice.uncertain},
        "variations": [
            {
                "seed": varied.seed,
                **{
                    part: [each.model_dump(mode="json") for each in getattr(varied, part)]
                    for part in ("paths", "links")
                },
            }
            for varied in advice.variations
        ],
        "effort": asdict(advice.effort),
        "failures": list(advice.failures),
        "runs": advice.runs,
        "build": dict(advice.builds),
        "scenario": advice.base.model_dump(mode="json"),
    }


def write_chart(advice: Advice, out_dir: Path) -> list[Path]:
    """Draw the figures of the finalists in each variation, as advice.png and advice.svg.

    A panel per goal, with the finalists ordered by all goals.
    """
    with draw.drawing():
        from matplotlib.figure import Figure

        names = _finalists(advice)
        rows = draw.NamedRows(names, _ROW_HEIGHT)
        height = _FRAME_HEIGHT + _ROW_HEIGHT * rows.height
        figure = Figure(figsize=(draw.WIDTH, height), layout="constrained")
        axes = figure.subplots(1, len(advice.judged), sharey=True, squeeze=False)[0]
        for axis, each in zip(axes, advice.judged, strict=True):
            _draw(axis, each, names, rows.places)
        rows.name(axes[0])
        figure.suptitle(
            f"Medians of {len(advice.variations)} variations, {_varied(advice)}; small: each; "
            "filled: as good as the best",
            fontsize="medium",
        )
        files = [out_dir / f"{PICTURE}.{form}" for form in ("png", "svg")]
        for file in files:
            store.write(file, draw.drawn(figure, file.suffix[1:], draw.DOTS_PER_INCH))
        return files


def write(advice: Advice, out_dir: Path) -> dict[str, Any]:
    content = document(advice)
    store.write_json(out_dir / DOCUMENT, content)
    return content


def _given(advice: Advice) -> str:
    """The direction of the data, and the paths in words."""
    direction = measured_direction(advice.base)
    paths = "; ".join(_path(path, direction) for path in advice.base.paths)
    way = _WAYS[advice.base.workload.direction]
    text = f"Data {way}; --direction changes this. Paths: {paths}; {_varied(advice)}."
    return textwrap.fill(text, width=80, break_on_hyphens=False)


def _path(path: NetworkPath, direction: Direction) -> str:
    """A path in the direction of the data, and the differences in the other one."""
    own, other = path.up, path.down
    if direction == "down":
        own, other = other, own
    (opposite,) = {*DIRECTIONS} - {direction}
    texts, others = _texts(own), _texts(other)
    differing = (f"{opposite}.{key}={others[key]}" for key in texts if others[key] != texts[key])
    loss = [f"loss={texts['loss']}"] if own.loss else []
    return f"{path.name} {', '.join([texts['rate'], texts['delay'], *loss, *differing])}"


def _texts(shape: Shape) -> dict[str, str]:
    return {
        "rate": format_rate(shape.rate_bps),
        "delay": format_time(shape.delay_ns),
        "loss": format_fraction(shape.loss),
    }


def _quick(effort: Effort) -> str:
    """What quick advice leaves out."""
    if not effort.is_quick:
        return ""
    runs = f"runs of {format_time(effort.span.duration_ns)} or more, " if effort.span else ""
    return "\n" + textwrap.fill(
        f"Quick: {runs}the best schedulers with {effort.crossed} congestion controls; without "
        f"--quick longer runs, with all of them, on {NORMAL.variations} variations.",
        width=80,
    )


def _losses(advice: Advice, name: str) -> tuple[str, ...]:
    """What the scheduler of a candidate lacked in the runs, without our patches."""
    choice = advice.candidates[name].scheduler
    ours = choice.name in adapter.carried() and choice.digest is None
    return adapter.lost(choice.name) if advice.kernel.has_adapter and ours else ()


def _varied(advice: Advice) -> str:
    return f"each value {uncertainty.text(advice.uncertain)}"


def _paragraph(advice: Advice, judged: Judged) -> str:
    goal, ranked = judged.goal, judged.ranking
    mine, unit = ranked.standings[ranked.chosen], goal.figure.unit
    figure = f"{goal.figure.text[0].upper()}{goal.figure.text[1:]}"
    sentences = [
        f"{figure}: {_interval(mine.figure)} {unit}.",
        *_against(judged),
        _how_sure(judged),
    ]
    if losses := _losses(advice, ranked.chosen):
        sentences.insert(0, f"Without {one_of(losses, 'and')}.")
    extra = advice.extra.get(ranked.chosen)
    if extra is not None and extra > MUCH_EXTRA:
        sentences.append(_sends(extra))
    upstream = next(
        (other for other in ranked.standings if advice.candidates[other].is_upstream), None
    )
    if upstream and not advice.candidates[ranked.chosen].is_upstream:
        what = _interval(ranked.standings[upstream].figure)
        sentences.append(f"Linux's own: {_name(upstream)}, {what} {unit}.")
    others = [other for other in ranked.as_good if other != ranked.chosen]
    if others:
        sentences.append(f"As good, but less simple: {_named(advice, others)}.")
    if ranked.perhaps:
        sentences.append(f"Not distinguishable from the best: {_named(advice, ranked.perhaps)}.")
    return _filled(f"For {goal.name}: {_introduced(ranked.chosen)}.", sentences)


def _against(judged: Judged) -> list[str]:
    """The figure of the reference, and the difference from it on the same variations."""
    ranked, label = judged.ranking, REFERENCE.label
    lead = ranking.lead(ranked, judged.values, judged.goal.figure.scale, label)
    if ranked.chosen == label or lead is None:
        return []
    unit = judged.goal.figure.unit
    better = "less" if judged.goal.figure.scale.less_is_better else "more"
    is_sure = lead.low is None or lead.low > 0
    so = "that is" if is_sure else "nothing is surely better:"
    return [
        f"{_name(label)} has {_number(ranked.standings[label].figure.median)} {unit}: on the same "
        f"variations {so} {_interval(lead)} {unit} {better}."
    ]


def _how_sure(judged: Judged) -> str:
    ranked = judged.ranking
    if ranked.sure >= _SURE:
        word = "Sure"
    elif ranked.sure >= _LIKELY:
        word = "Likely"
    else:
        word = "Open; more --variations would help"
    margin = f"{_number(ranked.margin)} {judged.goal.figure.unit}"
    return (
        f"{word} ({100 * ranked.sure:.0f} %): of {judged.tried} pairs tried, none of the "
        f"{len(ranked.standings)} best beats it by more than {margin}."
    )


def _for_all(advice: Advice, overall: Overall, *others: Overall) -> str:
    """The best for all goals, its figures, and the candidates that cost too much."""
    sentences = []
    if overall.as_good:
        sentences.append(f"As good as the best for {one_of(overall.as_good, 'and')}.")
    for each in advice.judged:
        figures = {
            name: f"{_number(standing.figure.median)} {each.goal.figure.unit}"
            for name, standing in each.ranking.standings.items()
        }
        best = [] if each.goal.name in overall.as_good else [each.ranking.best]
        beside = [
            f"{_name(name)} {figures[name]}"
            for name in dict.fromkeys((REFERENCE.label, *best))
            if name in figures and name != overall.name
        ]
        text = f"{each.goal.name.capitalize()}: {figures[overall.name]}"
        sentences.append(f"{text} ({', '.join(beside)})." if beside else f"{text}.")
    if (extra := advice.extra.get(overall.name, 0.0)) > MUCH_EXTRA:
        sentences.append(_sends(extra))
    if overall.costs:
        sentences.append(f"It costs too much of {one_of(overall.costs, 'and')}, as all do.")
    else:
        sentences += [
            f"{_name(other.name)} costs too much of {one_of(other.costs, 'and')}."
            for other in [other for other in others if other.costs][:_MOST_NAMED]
        ]
    return _filled(f"For all of it: {_introduced(overall.name)}.", sentences)


def _places(advice: Advice) -> str:
    """The best for all goals of each place, with its gains over the reference."""
    name = _name(REFERENCE.label)
    paragraphs = [f"What you can have, with its gain over {name} in brackets:"]
    for place, where in _PLACES.items():
        best = advice.best_at(place)
        if best is None:
            sentences = [f"{where}: nothing is better for all of it than {name}."]
        else:
            sentences = [f"{where}: {_called(advice, best, place)}.", *_gains(advice, best, place)]
        paragraphs.append(_wrapped(sentences))
    return "\n".join(paragraphs)


def _called(advice: Advice, best: str, place: Place) -> str:
    """A candidate as it is called at a place, and set there."""
    candidate = advice.candidates[best]
    if place == "router":
        name, own = str(candidate.on_router), candidate.scheduler.label
        here = "" if name == own else f" ({own} here)"
        return f"the scheduler {name}{here} with {candidate.cc}"
    settings = f" (sysctl -w {' '.join(_sysctls(candidate))})" if place == "today" else ""
    return f"{_name(best)}{settings}"


def _gains(advice: Advice, best: str, place: Place) -> Iterator[str]:
    """The figures at a place, those of the package as its adapter has them, if they are known."""
    adapted = advice.packaged if place == "package" else {}
    worse = []
    for each in advice.judged:
        standings, goal = each.ranking.standings, each.goal
        own = adapted.get(goal.name, standings[best].figure).median
        text = f"{goal.name.capitalize()}: {_number(own)} {goal.figure.unit}"
        if reference := standings.get(REFERENCE.label):
            gain = own - reference.figure.median
            text += f" ({'+' if gain > 0 else ''}{_number(gain)})"
            lost = gain if goal.figure.scale.less_is_better else -gain
            worse += [goal.name] if lost > each.ranking.margin else []
        yield f"{text}."
    if (extra := advice.extra.get(best, 0.0)) > MUCH_EXTRA:
        yield _sends(extra)
    if place != "package":
        return
    if worse:
        keep = _name(REFERENCE.label)
        yield f"It is worse for {one_of(worse, 'and')} in the package: keep {keep}."
    if adapted:
        yield "Measured with the package's adapter."
    elif not advice.kernel.has_adapter and adapter.lost(advice.candidates[best].scheduler.name):
        yield (
            "Measured without the package's adapter, with which it lacks functions; for its own "
            f"figures: {_BUILD_PLAIN}, then the same command again."
        )


def _filled(head: str, sentences: Sequence[str]) -> str:
    """A paragraph: a head, and sentences in lines of at most 80 columns."""
    return f"{head}\n{_wrapped(sentences)}"


def _wrapped(sentences: Sequence[str]) -> str:
    # a figure stays with its unit
    together = re.sub(r"([0-9)]) (%|ms|s)(?![a-z])", f"\\1{_NO_BREAK}\\2", " ".join(sentences))
    text = textwrap.fill(
        together,
        width=80,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return text.replace(_NO_BREAK, " ")


def _introduced(label: str) -> str:
    return _name(label) + (", Linux's default" if label == REFERENCE.label else "")


def _name(label: str) -> str:
    scheduler_, cc = label.rsplit(", ", 1)
    return f"{scheduler_} with {cc}"


def _sends(extra: float) -> str:
    return f"It sends {_number(extra)} % more than necessary, which a metered link charges."


def _named(advice: Advice, labels: Sequence[str]) -> str:
    names = [_name(label) for label in labels]
    for number, label in enumerate(labels):
        if (extra := advice.extra.get(label, 0.0)) > MUCH_EXTRA:
            names[number] += f" (sends {_number(extra)} % more)"
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f", and {more} more" if more > 0 else "")


def _of_what(goal: Goal) -> str:
    """What is sent for a goal, and what happens meanwhile."""
    load = goal.load
    what = "bulk data" if load.kind == "bulk" else f"the workload {load.kind}"
    if isinstance(load, Cbr):
        every = f"blocks of {load.block_bytes} bytes"
        what = f"{every}, {format_rate(load.rate_bps)}" if load.rate_bps else every
    if load.duration_ns:
        what += f", {format_time(load.duration_ns)}"
    if not goal.troubled:
        return f" ({what})"
    return f" while {' or '.join(goal.troubled)} fails, whichever is worse ({what})"


def _finalists(advice: Advice) -> list[str]:
    """The finalists, ordered by how many goals they lead."""
    places: dict[str, list[int]] = {}
    for each in advice.judged:
        for place, name in enumerate(each.ranking.standings):
            places.setdefault(name, []).append(place)
    overall = advice.overall[0].name if advice.overall else None
    return sorted(places, key=lambda name: (name != overall, sum(places[name]), name))


def _unpackaged(candidate: Candidate, kernel: KernelBuild) -> Iterator[str]:
    """What of a candidate no package has, and what its scheduler loses with the package."""
    choice = candidate.scheduler
    if candidate.is_packaged:
        if losses := adapter.lost(choice.name):
            runs = "as in these runs" if kernel.has_adapter else "which it had in these runs"
            yield f"In the package, {choice.name} lacks {one_of(losses, 'and')}, {runs}."
    elif choice.digest:
        yield f"mptcplab scheduler package makes a package of {choice.name}, from its file."
    elif choice.name != scheduler.DEFAULT:
        why = refused_by_adapter().get(choice.name, f"{scheduler.RECOVERY.name} changes TCP")
        yield f"{choice.label} needs the patches of kernel/patches/: {why}."
    if congestion.find(congestion.name_of(candidate.cc)).file is not None:
        yield f"{candidate.cc} needs our files in the kernel: Linux does not have it."


def _endpoints(choice: Choice, base: Scenario) -> Iterator[str]:
    """The client's endpoint for each path, the first one first also for who heeds backups."""
    placed = any(each.name.startswith("place") for each in choice.changed)
    for number, path in enumerate(base.paths):
        backup = " backup" if number and choice.name in _HEED_BACKUPS and not placed else ""
        yield f"  ip mptcp endpoint add ADDRESS dev DEVICE subflow{backup}  # {path.name}"


def _sysctls(candidate: Candidate) -> list[str]:
    return [*candidate.scheduler.sysctls, *congestion.sysctls(candidate.cc)]


def _goal(advice: Advice, judged: Judged) -> dict[str, Any]:
    goal, ranked = judged.goal, judged.ranking
    lead = ranking.lead(ranked, judged.values, goal.figure.scale, REFERENCE.label)
    return {
        "figure": goal.figure.text,
        "metrics": list(goal.figure.metrics),
        "unit": goal.figure.unit,
        "less_is_better": goal.figure.scale.less_is_better,
        "workload": goal.load.model_dump(mode="json"),
        "troubled": list(goal.troubled),
        "chosen": ranked.chosen,
        "best": ranked.best,
        "as_good": list(ranked.as_good),
        "perhaps": list(ranked.perhaps),
        "margin": ranked.margin,
        "sure": ranked.sure,
        "over_reference": lead and asdict(lead),
        "finalists": [
            {
                "name": name,
                "figure": asdict(standing.figure),
                "deficit": asdict(standing.deficit),
                "by_seed": {
                    str(advice.variations[number].seed): value
                    for number, value in judged.values[name].items()
                },
            }
            for name, standing in ranked.standings.items()
        ],
        "screened_out": dict(judged.screening),
    }


def _draw(axis: Axes, judged: Judged, names: Sequence[str], places: Sequence[float]) -> None:
    from matplotlib import colormaps

    looks = palette.styles(name.rsplit(", ", 1)[0] for name in names)
    # more pairs than the palette has colours
    colours = dict(zip(names, colormaps["turbo"](np.linspace(0, 1, len(names))), strict=True))
    figures = [value for values in judged.values.values() for value in values.values()]
    for row, name in zip(places, names, strict=True):
        standing = judged.ranking.standings.get(name)
        if standing is None:
            continue
        look = looks[name.rsplit(", ", 1)[0]]
        values = list(judged.values[name].values())
        axis.plot(values, [row] * len(values), "|", color=colours[name], markersize=5, alpha=0.6)
        axis.plot(
            standing.figure.median,
            row,
            look.marker.matplotlib,
            color=colours[name],
            markersize=6,
            fillstyle="full" if name in judged.ranking.as_good else "none",
            clip_on=False,
        )
    figure = f"{judged.goal.figure.text} ({judged.goal.figure.unit})"
    title = "\n".join([judged.goal.name.capitalize(), *textwrap.wrap(figure, _TITLE_WIDTH)])
    axis.set_title(title, fontsize="small")
    axis.set_xlim(0, 1.05 * max(figures) or 1)
    axis.tick_params(axis="x", labelsize="small")
    axis.grid(color="#dddddd", linewidth=0.5)
    axis.spines[["top", "right"]].set_visible(False)


def _interval(figure: Summary) -> str:
    """A median, and its 95 % interval."""
    if figure.low is None or figure.high is None:
        return _number(figure.median)
    return f"{_number(figure.median)} ({_number(figure.low)}..{_number(figure.high)})"


def _range(figure: Summary, mark: str) -> str:
    first = f"{_number(figure.median)}{mark}"
    if figure.n == 1:
        return first
    return f"{first}\n{_number(figure.lowest)}..{_number(figure.highest)}  "


def _number(value: float) -> str:
    """Three digits; of larger numbers all before the point."""
    size = abs(value)
    return f"{value:.{2 if size < 10 else 1 if size < 100 else 0}f}"
