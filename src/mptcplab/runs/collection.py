# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a report: found at the given places, and put into groups.

A group is the runs of one scenario, with all their schedulers and seeds. The values in which groups
differ, such as a rate and a delay, are the axes of their grid. For a sweep or a published
experiment, its document defines the groups and the axes. Runs whose seeds drew their paths around
the given ones are samples of one scenario.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

from mptcplab import units
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.mistakes import suggestion
from mptcplab.runs import documents, store
from mptcplab.runs.entries import CURRENT, Entry, with_benefits
from mptcplab.scenario.limits import NO_RATE_BPS
from mptcplab.scenario.model import Scenario
from mptcplab.scenario.scheduler import Choice
from mptcplab.scenario.uncertainty import drawn

Value = float | str

# The documents of an output directory; the latest one counts.
_DOCUMENTS = (store.DOCUMENT, store.SWEEP)
_SCHEDULER = "scheduler"  # the axis of a published experiment that is within a group
_MBIT = 1e6


@dataclass(frozen=True)
class Found:
    """A run: its entry, as in the document of a comparison, and its inputs.

    `directory` has its files, None if they are missing; `builds` are the builds of kernel, guest
    and mptcplab, empty if they were not kept. `point` is its place in a sweep or in a published
    experiment, which `experiment` names, and empty for any other run. `is_opened`: the report shows
    the run over time. `output` is the name of its output, empty if the user named the run itself.
    """

    entry: Entry
    scenario: Scenario
    directory: Path | None
    builds: Mapping[str, str]
    point: Mapping[Axis, Value] = field(default_factory=dict)
    experiment: str = ""
    is_opened: bool = True
    output: str = field(default="", compare=False)

    @property
    def is_baseline(self) -> bool:
        return self.entry.transport == "tcp"


@dataclass(frozen=True)
class Axis:
    """A value in which scenarios differ: a number with its unit, or anything else without one.

    `key` is the name of a sweep's axis, as the sweep sets it; `name` is for reading.
    """

    name: str
    unit: str
    is_number: bool = True
    key: str = ""

    @property
    def label(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Group:
    """The runs of one scenario, which has the scheduler and the seed of the first of them.

    `values` belong to the axes of the collection; `name` distinguishes the group from others.
    """

    name: str
    scenario: Scenario
    runs: tuple[Found, ...]
    baselines: tuple[Found, ...]
    values: tuple[Value, ...] = ()

    def entries(self) -> list[Entry]:
        return [run.entry for run in self.runs]


@dataclass(frozen=True)
class Collection:
    """All groups, and the `axes` on which they differ.

    `outputs` are the names of the outputs, if there are several; labels of schedulers, or names of
    groups, name the output of a run.
    """

    groups: tuple[Group, ...]
    axes: tuple[Axis, ...]
    outputs: tuple[str, ...] = ()

    def schedulers(self) -> list[str]:
        """The labels of all schedulers, in the order of their first run."""
        runs = (run for group in self.groups for run in group.runs)
        return list(dict.fromkeys(run.entry.label for run in runs))

    def count(self) -> int:
        """The number of runs, without baselines."""
        return sum(len(group.runs) for group in self.groups)

    def opening(self, most: int) -> Collection:
        """The same, with time series of up to `count` runs, lowest seeds first."""
        runs = [run for group in self.groups for run in (*group.runs, *group.baselines)]
        runs.sort(key=lambda run: (run.is_baseline, int(run.entry.seed)))
        opened = {id(run) for run in runs[:most]}

        def chosen(runs: Sequence[Found]) -> tuple[Found, ...]:
            return tuple(replace(run, is_opened=id(run) in opened) for run in runs)

        groups = (
            replace(group, runs=chosen(group.runs), baselines=chosen(group.baselines))
            for group in self.groups
        )
        return replace(self, groups=tuple(groups))


def collect(places: Sequence[Path]) -> Collection:
    """The runs at some places, each once.

    A place is the directory of a run, an output directory with the document of a comparison or
    with runs, or such a document, or the document of a published experiment. Where several outputs
    have runs of the same scenario, the labels of all schedulers name the output; else the names of
    groups do. Raises InputError for anything else, and MptcplabError, naming the file, for damaged
    files.
    """
    outputs = _output_names(places)
    found: dict[str, Found] = {}
    for place in places:
        there = False
        for run in _runs(place):
            there = True
            identity = str(run.directory and run.directory.resolve())
            if run.directory is None:
                identity = f"{run.scenario.key_text()} {run.entry.label} {run.builds}"
            mine = replace(run, output=outputs.get(place, ""))
            found.setdefault(f"{identity} {_place(run)}", mine)
        if not there:
            raise InputError([Problem(str(place), "", "", "it has no runs")])
    return _grouped(list(found.values()))


def _output_names(places: Sequence[Path]) -> dict[Path, str]:
    """The shortest ends of their paths that tell outputs apart; runs named themselves have none."""
    parts = {}
    for place in places:
        if not (place / store.SCENARIO).exists():
            where = place.resolve()
            if place.is_file():
                where = where.parent if where.name == store.DOCUMENT else where.with_suffix("")
            parts[place] = where.parts
    names = {}
    for place, own in parts.items():
        others = {each for each in parts.values() if each != own}
        length = 1
        while length < len(own) and any(each[-length:] == own[-length:] for each in others):
            length += 1
        names[place] = "/".join(own[-length:])
    return names


def successful(places: Sequence[Path], schedulers: Sequence[str] = ()) -> list[Found]:
    """The successful runs at some places (see `collect`) whose files are there, each once.

    Of several runs at a place the baselines are left out. `schedulers`, if any, are those wanted,
    each with its parameters or without, for all its forms. Raises MptcplabError if a place has no
    run that ended well, and InputError if one of `schedulers` has none anywhere.
    """
    found: dict[Path, Found] = {}
    for place in places:
        ended = [run for run in _runs(place) if run.directory and run.entry.status == "ok"]
        if not ended:
            raise MptcplabError(f"{place}: no successful run there")
        own = [run for run in ended if not run.is_baseline]
        found |= {run.directory: run for run in own or ended if run.directory}
    labels = dict.fromkeys(run.entry.label for run in found.values())
    for name in schedulers:
        if not any(_is_named(label, name) for label in labels):
            hint = suggestion(name, [*labels, *(each.partition(":")[0] for each in labels)]) or ";"
            message = f"no run there has it{hint} there are {', '.join(labels)}"
            raise InputError([Problem("--scheduler", "", name, message)])
    return [
        run
        for run in found.values()
        if not schedulers or any(_is_named(run.entry.label, name) for name in schedulers)
    ]


def _is_named(label: str, name: str) -> bool:
    return name in (label, label.partition(":")[0])


def run_directories(places: Sequence[Path]) -> list[Path]:
    """The directories of the runs that `successful` finds."""
    return [run.directory for run in successful(places) if run.directory]


# Finding runs


def _runs(place: Path) -> Iterator[Found]:
    if place.is_file():
        content = documents.read_json(place)
        if isinstance(content, dict) and "experiment" in content:
            yield from _of_experiment(place)
        elif isinstance(content, dict) and "axis" in content:
            yield from _of_sweep(place)
        else:
            yield from _of_document(place)
    elif (place / store.SCENARIO).exists():
        yield _of_directory(place)
    elif made := [file for name in _DOCUMENTS if (file := place / name).exists()]:
        yield from _runs(max(made, key=lambda file: file.stat().st_mtime_ns))
    else:
        directories = sorted(
            directory.parent for directory in place.glob(f"runs/[!.]*/{store.SCENARIO}")
        )
        if not directories:
            none = "there is no such file or directory"
            problem = "no runs there;" if place.exists() else none
            accepted = (
                "accepted is the directory of a run, OUT/runs/KEY, an output directory OUT, the "
                f"document of a comparison, OUT/{store.DOCUMENT}, of a sweep, OUT/{store.SWEEP}, "
                "or of a published experiment, OUT/PAPER/FIGURE.json"
            )
            problem += "" if problem.endswith((";", "?")) else ";"
            raise InputError([Problem(str(place), "", "", f"{problem} {accepted}")])
        yield from map(_of_directory, directories)


def _of_experiment(file: Path) -> Iterator[Found]:
    document = documents.read(file, documents.EXPERIMENT)
    out = file.resolve().parents[1]
    points = _placed([run.point for run in document.runs], document.axis)
    for run, point in zip(document.runs, points, strict=True):
        for directory in (run.directory, *run.alone.values()):
            yield replace(
                _of_directory(out / directory), point=point, experiment=document.experiment
            )


def _of_sweep(file: Path) -> Iterator[Found]:
    """The runs of a sweep at their points; one that was not made yet is left out."""
    document = documents.read(file, documents.SWEPT)
    points = _placed([run.point for run in document.runs], document.axis)
    out = store.Store(file.parent, is_written=False)

    @functools.cache  # a baseline is at many points
    def found(directory: str) -> Found | None:
        place = file.parent / directory
        if (place / store.RESULT).exists():
            return _of_directory(place)
        if failure := out.failure(place.name):
            return Found(failure.entry, failure.scenario, None, failure.build)
        return None

    for run, point in zip(document.runs, points, strict=True):
        for directory in (run.directory, *run.alone.values()):
            if each := found(directory):
                yield replace(each, point=point)


def _placed(
    points: Sequence[Mapping[str, str | float]], labels: Mapping[str, str]
) -> list[dict[Axis, Value]]:
    """Points with their axes: numbers with a unit where all values of an axis are such."""
    placed: list[dict[Axis, Value]] = [{} for _ in points]
    for key in dict.fromkeys(key for point in points for key in point):
        mine = [number for number, point in enumerate(points) if key in point]
        axis, values = _axis(key, [points[number][key] for number in mine], labels.get(key))
        for number, value in zip(mine, values, strict=True):
            placed[number][axis] = value
    return placed


# A number with a unit, in the words of scenarios.
_QUANTITY = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([A-Za-z%]*)\s*")
_WORDS = {"bit": "bit/s", "kbit": "kbit/s", "mbit": "Mbit/s", "gbit": "Gbit/s", "p": "packets"}


def _axis(key: str, values: Sequence[Value], label: str | None) -> tuple[Axis, list[Value]]:
    """The axis of some values, and these in its unit; a label is as "rate of wifi, Mbit/s"."""
    name, _, unit = (label or "").rpartition(", ")
    if not name:
        name, unit = unit or _title(key), ""
    try:
        found = [_split(str(value)) for value in values]
        # a zero needs none
        used = {own.lower(): own for number, own in found if number}
        if len(used) > 1:
            numbers, unit = _in_one_unit(values, used)
        else:
            numbers = [number for number, _ in found]
            own = next(iter(used.values()), "") or ("p" if key.endswith(".queue") else "")
            unit = _WORDS.get(own.lower(), own) or unit
    except ValueError:
        return Axis(name, "", is_number=False, key=key), [str(value) for value in values]
    whole: list[Value] = [int(number) if number.is_integer() else number for number in numbers]
    return Axis(name, unit, key=key), whole


def _split(text: str) -> tuple[float, str]:
    if found := _QUANTITY.fullmatch(text):
        return float(found[1]), found[2]
    raise ValueError(text)


def _in_one_unit(values: Sequence[Value], used: Iterable[str]) -> tuple[list[float], str]:
    for quantity, unit, scale in (
        (units.TIME, "ms", units.NS_PER_MS),
        (units.RATE, "Mbit/s", _MBIT),
        (units.SIZE, "KiB", 1024),
    ):
        if {own.lower() for own in quantity.units}.issuperset(used):
            return [quantity.parse(str(value)) / scale for value in values], unit
    raise ValueError(f"no common unit of {', '.join(used)}")


def _title(key: str) -> str:
    """The name of a sweep's axis for reading: "Delay of lte" of path.lte.delay."""
    first, *steps = key.split(".")
    if first in ("path", "link") and len(steps) > 1:
        where = "all paths" if steps[0] == "*" else steps[0]
        text = f"{steps[-1]} of {' '.join((where, *steps[1:-1]))}"
    else:
        text = " ".join((first, *steps))
    return (text[0].upper() + text[1:]).replace("_", " ")


def _of_document(file: Path) -> Iterator[Found]:
    document = documents.read(file, documents.COMPARISON)
    base = document.scenario
    for entry in (*document.baselines, *document.runs):
        chosen = Choice(name=entry.scheduler) if entry.scheduler else base.scheduler
        scenario = drawn(base.with_(scheduler=chosen, seed=entry.seed))
        if entry.transport == "tcp" and base.transport != "tcp":
            try:
                scenario = drawn(base.with_(seed=entry.seed)).single_path(str(entry.path))
            except (KeyError, ValueError) as error:
                raise MptcplabError(
                    f"{file}: a baseline over no path of the scenario: {error}"
                ) from None
        directory = None
        if entry.directory is not None:
            directory = file.parent / entry.directory
            if (directory / store.SCENARIO).exists():
                scenario = store.read_scenario(directory)
            else:
                directory = None
        yield Found(entry, scenario, directory, document.build)


def _of_directory(directory: Path) -> Found:
    scenario = store.read_scenario(directory)
    entry = documents.read_entry(directory / store.RESULT)
    builds: dict[str, str] = {}
    if (directory / store.BUILD).exists():
        builds = documents.read(directory / store.BUILD, documents.BUILD)
    return Found(entry, scenario, directory, builds)


# Groups


def _grouped(found: Sequence[Found]) -> Collection:
    found = _with_kernels(found)
    groups: list[Group] = []
    by_point: dict[tuple[str, str], list[Found]] = {}
    by_scenario: dict[str, list[Found]] = {}
    baselines: dict[str, list[Found]] = {}
    for run in found:
        if run.point:
            by_point.setdefault((run.experiment, _place(run)), []).append(run)
        else:
            kind = baselines if run.is_baseline else by_scenario
            kind.setdefault(_what(run.scenario.as_given), []).append(run)
    for runs in by_point.values():
        alone = [run for run in runs if run.is_baseline]
        own = [run for run in runs if not run.is_baseline]
        groups.append(_group(own, alone) if own else _group(alone, ()))
    used: set[str] = set()
    for runs in by_scenario.values():
        base = runs[0].scenario.as_given
        single = {name: _what(base.single_path(name)) for name in base.lasting_paths()}
        used.update(single.values())
        alone = [run for what in single.values() for run in baselines.get(what, [])]
        groups.append(_group(runs, alone))
    # plain TCP without other runs is the subject of the report
    groups += [_group(runs, ()) for what, runs in baselines.items() if what not in used]
    if len({run.entry.kernel for run in found}) > 1:
        groups = [_labelled(group, lambda run: str(run.entry.kernel)) for group in groups]
    outputs = tuple(dict.fromkeys(run.output for run in found))
    if any(len({run.output for run in group.runs}) > 1 for group in groups):
        labelled = [_labelled(group, lambda run: run.output) for group in groups]
        return replace(_named(labelled), outputs=outputs)
    named = _named(groups)
    if len(outputs) < 2:
        return named
    return replace(named, groups=tuple(map(_of_output, named.groups)), outputs=outputs)


def _group(runs: Sequence[Found], baselines: Sequence[Found]) -> Group:
    """The runs with their benefits over the baselines of the same output."""
    base = runs[0].scenario.as_given
    own = [
        run
        for output in dict.fromkeys(run.output for run in runs)
        for run in _with_benefits(
            base,
            [run for run in runs if run.output == output],
            [run for run in baselines if run.output == output] or baselines,
        )
    ]
    return Group("", base, tuple(own), tuple(baselines))


def _with_kernels(found: Sequence[Found]) -> list[Found]:
    """The same, each with a name of its kernel if any run has one that somebody gave: a kernel
    that was used without a name is called by its id.
    """
    names = [run.entry.kernel or run.builds.get("kernel_name") for run in found]
    if not any(names):
        return list(found)
    return [
        replace(
            run,
            entry=run.entry.model_copy(
                update={"kernel": name or run.builds.get("kernel") or CURRENT}
            ),
        )
        for name, run in zip(names, found, strict=True)
    ]


def _labelled(group: Group, of: Callable[[Found], str]) -> Group:
    """The same with labels that say which output a run is of, or which kernel it was made with."""

    def labelled(runs: Sequence[Found]) -> tuple[Found, ...]:
        return tuple(
            replace(run, entry=run.entry.labelled(name)) if (name := of(run)) else run
            for run in runs
        )

    return replace(group, runs=labelled(group.runs), baselines=labelled(group.baselines))


def _of_output(group: Group) -> Group:
    """The same with the name of its output before its own."""
    name = group.runs[0].output
    return replace(group, name=f"{name}: {group.name}" if name else group.name)


def _place(run: Found) -> str:
    """The common point of a group's runs; empty for runs that have none."""
    return repr([(axis.key, value) for axis, value in run.point.items() if axis.key != _SCHEDULER])


def _what(scenario: Scenario) -> str:
    """What comparable runs share: all but the scheduler, the seed and which records are kept."""
    same = {"scheduler": Choice(name=""), "seed": 0, "pcap": False, "trace": False, "states": False}
    return scenario.model_copy(update=same).key_text()


def _with_benefits(
    base: Scenario, runs: Sequence[Found], baselines: Sequence[Found]
) -> tuple[Found, ...]:
    """The same runs, with what the document of a comparison adds to their figures."""
    entries = with_benefits([run.entry for run in runs], [run.entry for run in baselines], base)
    return tuple(replace(run, entry=entry) for entry, run in zip(entries, runs, strict=True))


# The values of a path, in the order of naming what was varied; others follow.
_ORDER = ("rate_bps", "delay_ns", "loss", "queue_packets", "queue_bytes", "jitter_ns")
_UNITS = {
    "bps": ("Mbit/s", _MBIT),
    "ns": ("ms", units.NS_PER_MS),
    "packets": ("packets", 1.0),
    "bytes": ("KiB", 1024.0),
    "loss": ("%", 0.01),
}


def _named(groups: Sequence[Group]) -> Collection:
    """The groups, sorted and named by the values in which they differ."""
    if len(groups) < 2:
        only = tuple(replace(group, name=path_texts(group.scenario)) for group in groups)
        return Collection(only, ())
    if all(group.runs[0].point for group in groups):
        axes, columns = _axes_of_points([group.runs[0].point for group in groups])
    else:
        axes, columns = _axes_of_scenarios(groups)
    named = []
    for number, group in enumerate(groups):
        values = tuple(column[number] for column in columns)
        texts = (in_words(axis, value) for axis, value in zip(axes, values, strict=True))
        named.append(replace(group, name=", ".join(texts), values=values))
    is_swept = all(run.point and not run.experiment for group in groups for run in group.runs)
    if all(axis.is_number for axis in axes) and not is_swept:
        named.sort(key=lambda group: group.values)
    return Collection(tuple(named), axes)


def in_words(axis: Axis, value: Value) -> str:
    """A value of an axis as words."""
    text = value if isinstance(value, str) else f"{value:g}"
    return f"{axis.name} {text}{f' {axis.unit}' if axis.unit else ''}"


_Axes = tuple[tuple[Axis, ...], list[list[Value]]]


def _axes_of_points(points: Sequence[Mapping[Axis, Value]]) -> _Axes:
    """The axes of a sweep or of a published experiment, and the values of each place."""
    axes, columns = [], []
    for axis in dict.fromkeys(axis for point in points for axis in point):
        values = [point.get(axis, "-") for point in points]
        if axis.key != _SCHEDULER and len(set(values)) > 1:
            axes.append(replace(axis, is_number=axis.is_number and "-" not in values))
            columns.append(values)
    return tuple(axes), columns


def _axes_of_scenarios(groups: Sequence[Group]) -> _Axes:
    """The same for any scenarios, from the fewest values that distinguish them."""
    flat = [dict(_leaves(group.scenario.model_dump(mode="json"), ())) for group in groups]
    columns = {
        key: [each.get(key) for each in flat] for key in dict.fromkeys(k for f in flat for k in f)
    }
    names = [path.name for path in groups[0].scenario.paths]
    axes: list[Axis] = []
    found: list[list[Value]] = []
    for key in _varied(columns):
        same = [other for other in columns if columns[other] == columns[key]]
        name = _name(key, names, both=_other_way(key) in same)
        numbers = [value for value in columns[key] if _is_number(value)]
        if len(numbers) == len(groups):
            unit, scale = _UNITS.get(
                key[-1] if key[-1] == "loss" else key[-1].rsplit("_", 1)[-1], ("", 1.0)
            )
            axes.append(Axis(name, unit))
            found.append([number / scale for number in numbers])
        else:
            axes.append(Axis(name, "", is_number=False))
            found.append(["-" if value is None else str(value) for value in columns[key]])
    return tuple(axes), found


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def path_texts(scenario: Scenario) -> str:
    """The paths in words: their rates and delays to the server, and their links."""
    texts = []
    for path in (*scenario.paths, *scenario.links):
        rate = units.format_rate(path.up.rate_bps) if path.up.rate_bps != NO_RATE_BPS else ""
        delay = units.format_time(path.up.delay_ns)
        texts.append(f"{path.name} {', '.join(filter(None, (rate, delay)))}")
    return "; ".join(texts)


_Key = tuple[str, ...]
_NOT_THE_SCENARIO = ("scheduler", "seed", "pcap", "trace", "states")


def _leaves(value: Any, key: _Key) -> Iterator[tuple[_Key, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if key or name not in _NOT_THE_SCENARIO:
                yield from _leaves(inner, (*key, name))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*key, str(index)))
    else:
        yield key, str(value) if isinstance(value, list) else value


def _varied(columns: Mapping[_Key, Sequence[Any]]) -> list[_Key]:
    """The fewest values that distinguish all groups; they have no queue that follows from the rate.

    If a single number suffices, each other number that neither rises nor falls with one of them is
    an axis as well: such scenarios fill a space.
    """

    def rank(key: _Key) -> tuple[int, _Key]:
        return (_ORDER.index(key[-1]) if key[-1] in _ORDER else len(_ORDER), key[:2])

    chosen: list[_Key] = []
    classes = 1
    for key in sorted(columns, key=rank):
        apart = len(set(zip(*(map(repr, columns[k]) for k in (*chosen, key)), strict=True)))
        if apart > classes:
            chosen.append(key)
            classes = apart
    numbers = {key: v for key, values in columns.items() if (v := list(filter(_is_number, values)))}
    numbers = {key: values for key, values in numbers.items() if len(values) == len(columns[key])}
    if len(chosen) == 1 and chosen[0] in numbers:
        for key in sorted(numbers, key=rank):
            if not any(_follows(numbers[key], numbers[other]) for other in chosen):
                chosen.append(key)
    return chosen


def _follows(values: Sequence[float], other: Sequence[float]) -> bool:
    """Whether values only rise, or only fall, while the values of another axis rise."""
    steps = list(pairwise(value for _, value in sorted(zip(other, values, strict=True))))
    return all(a <= b for a, b in steps) or all(a >= b for a, b in steps)


def _other_way(key: _Key) -> _Key:
    ways = {"up": "down", "down": "up"}
    return tuple(ways.get(step, step) for step in key)


def _name(key: _Key, paths: Sequence[str], *, both: bool) -> str:
    what = key[-1].removesuffix("_bps").removesuffix("_ns").removesuffix("_packets")
    what = what.removesuffix("_bytes").replace("_", " ")
    if key[0] != "paths" or int(key[1]) >= len(paths):
        return f"{key[0]} {what}" if len(key) > 1 else what
    way = "" if both or len(key) < 4 else f"{key[2]} "
    return f"{paths[int(key[1])]} {way}{what}"
