# SPDX-License-Identifier: GPL-2.0-only
"""The runs that a report is about: found where a person says, and put into groups.

A group is the runs of one scenario, with all their schedulers and seeds. Several groups differ in
some values, and if these are one or two numbers, such as a rate and a delay, they are a grid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mptcplab import report, store, units
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.mistakes import first_of
from mptcplab.report import Entry
from mptcplab.scenario import Scenario
from mptcplab.scheduler import Choice

M = TypeVar("M", bound=BaseModel)

_MBIT = 1e6
_NS_PER_MS = 1e6


@dataclass(frozen=True)
class Found:
    """A run: its entry, as in the document of a comparison, and what it was made from.

    `directory` has its files, None if they are not there; `builds` are the kernel's, the guest's
    and mptcplab's own, empty where they were not kept.
    """

    entry: Entry
    scenario: Scenario
    directory: Path | None
    builds: Mapping[str, str]

    @property
    def is_baseline(self) -> bool:
        return self.entry.get("transport") == "tcp"


@dataclass(frozen=True)
class Axis:
    """A number in which scenarios differ, in its unit."""

    name: str
    unit: str


@dataclass(frozen=True)
class Group:
    """The runs of one scenario, which bears the scheduler and the seed of the first of them.

    `values` are those of the axes of the collection, or, where they are no numbers, nothing;
    `name` tells it from the other groups.
    """

    name: str
    scenario: Scenario
    runs: tuple[Found, ...]
    baselines: tuple[Found, ...]
    values: tuple[float, ...] = ()

    def entries(self) -> list[Entry]:
        return [run.entry for run in self.runs]


@dataclass(frozen=True)
class Collection:
    """All groups; `axes` are the numbers in which they differ, if they differ in nothing else."""

    groups: tuple[Group, ...]
    axes: tuple[Axis, ...]

    def schedulers(self) -> list[str]:
        """The labels of all schedulers, in the order of their first run."""
        runs = (run for group in self.groups for run in group.runs)
        return list(dict.fromkeys(run.entry["scheduler"] for run in runs))


def collect(places: Sequence[Path]) -> Collection:
    """The runs at some places, each once.

    A place is the directory of a run, an output directory with the document of a comparison or
    with runs, or such a document. Raises InputError for one that is none of these, and
    MptcplabError for what is damaged, naming the file.
    """
    found: dict[str, Found] = {}
    for place in places:
        for run in _runs(place):
            identity = str(run.directory and run.directory.resolve())
            if run.directory is None:
                identity = f"{run.scenario.key_text()} {run.entry['scheduler']} {run.builds}"
            found.setdefault(identity, run)
    return _grouped(list(found.values()))


# Finding runs


def _runs(place: Path) -> Iterator[Found]:
    if place.is_file():
        yield from _of_document(place)
    elif (place / store.SCENARIO).exists():
        yield _of_directory(place)
    elif (place / store.DOCUMENT).exists():
        yield from _of_document(place / store.DOCUMENT)
    else:
        directories = sorted(
            directory.parent for directory in place.glob(f"runs/[!.]*/{store.SCENARIO}")
        )
        if not directories:
            what = "no runs there" if place.exists() else "there is no such file or directory"
            accepted = (
                "accepted is the directory of a run, OUT/runs/KEY, an output directory OUT, or the "
                f"document of a comparison, OUT/{store.DOCUMENT}"
            )
            raise InputError([Problem("report", "", str(place), f"{what}; {accepted}")])
        for directory in directories:
            yield _of_directory(directory)


class _Checked(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Path(_Checked):
    name: str


class _Run(_Checked):
    """What is relied on in an entry; the rest may be of an older or a newer version."""

    scheduler: str
    seed: int
    transport: Literal["mptcp", "tcp"] = "mptcp"
    path: str = ""
    status: Literal["ok", "failed"]
    reason: str | None = None
    metrics: dict[str, float | int | None]
    paths: list[_Path]
    directory: str | None


class _Document(_Checked):
    runs: list[_Run]
    baselines: list[_Run]
    build: dict[str, str]
    scenario: Scenario


def _of_document(file: Path) -> Iterator[Found]:
    content = store.read_json(file)
    document = _check(_Document, content, file, "the document of a comparison")
    base = document.scenario
    for entry in (*content["baselines"], *content["runs"]):
        scenario = base.with_(scheduler=Choice(name=entry["scheduler"]), seed=entry["seed"])
        if entry.get("transport") == "tcp" and base.transport != "tcp":
            try:
                scenario = base.with_(seed=entry["seed"]).single_path(entry["path"])
            except (KeyError, ValueError) as error:
                raise MptcplabError(
                    f"mptcplab: {file}: a baseline over no path of the scenario: {error}"
                ) from None
        directory = None
        if entry["directory"] is not None:
            directory = file.parent / entry["directory"]
            if (directory / store.SCENARIO).exists():
                scenario = store.read_scenario(directory)
            else:
                directory = None
        yield Found({"cc": scenario.cc, **entry}, scenario, directory, content["build"])


def _of_directory(directory: Path) -> Found:
    scenario = store.read_scenario(directory)
    entry = store.read_json(directory / store.RESULT)
    _check(_Run, entry, directory / store.RESULT, "the result of a run")
    builds: dict[str, str] = {}
    if (directory / store.BUILD).exists():
        builds = store.read_json(directory / store.BUILD)
    # what older versions wrote does not say which congestion control it was
    return Found({"cc": scenario.cc, **entry}, scenario, directory, builds)


def _check(model: type[M], content: Any, file: Path, what: str) -> M:
    try:
        return model.model_validate_json(json.dumps(content))
    except ValidationError as error:
        where, wrong = first_of(error)
        raise MptcplabError(
            f"mptcplab: {file}: not {what}: {where or 'as a whole'}: {wrong}"
        ) from None


# Groups


def _grouped(found: Sequence[Found]) -> Collection:
    by_scenario: dict[str, list[Found]] = {}
    baselines: dict[str, list[Found]] = {}
    for run in found:
        (baselines if run.is_baseline else by_scenario).setdefault(_what(run.scenario), []).append(
            run
        )
    groups: list[Group] = []
    used: set[str] = set()
    for runs in by_scenario.values():
        base = runs[0].scenario
        alone = {name: _what(base.single_path(name)) for name in base.lasting_paths()}
        used.update(alone.values())
        own = [run for what in alone.values() for run in baselines.get(what, [])]
        groups.append(Group("", base, _with_benefits(base, runs, own), tuple(own)))
    # plain TCP that nothing is compared with is what the report is about itself
    groups += [
        Group("", runs[0].scenario, tuple(runs), ())
        for what, runs in baselines.items()
        if what not in used
    ]
    return _named(groups)


def _what(scenario: Scenario) -> str:
    """What makes runs comparable: all but the scheduler, the seed and what is kept of a run."""
    same = {"scheduler": Choice(name=""), "seed": 0, "pcap": False, "trace": False}
    return scenario.model_copy(update=same).key_text()


def _with_benefits(
    base: Scenario, runs: Sequence[Found], baselines: Sequence[Found]
) -> tuple[Found, ...]:
    """The same runs, with what the document of a comparison adds to their figures."""
    entries = report.with_benefits(
        [run.entry for run in runs], [run.entry for run in baselines], base
    )
    return tuple(
        Found(entry, run.scenario, run.directory, run.builds)
        for entry, run in zip(entries, runs, strict=True)
    )


# Of a path's values in the order in which a person would say that they were varied; others follow.
_ORDER = ("rate_bps", "delay_ns", "loss", "queue_packets", "queue_bytes", "jitter_ns")
_UNITS = {
    "bps": ("Mbit/s", _MBIT),
    "ns": ("ms", _NS_PER_MS),
    "packets": ("packets", 1.0),
    "bytes": ("KiB", 1024.0),
    "loss": ("%", 0.01),
}


def _named(groups: Sequence[Group]) -> Collection:
    """The groups in the order of what they differ in, named by it."""
    if len(groups) < 2:
        return Collection(tuple(_rename(group, path_texts(group.scenario)) for group in groups), ())
    flat = [dict(_leaves(group.scenario.model_dump(mode="json"), ())) for group in groups]
    columns = {
        key: [each.get(key) for each in flat] for key in dict.fromkeys(k for f in flat for k in f)
    }
    names = [path.name for path in groups[0].scenario.paths]
    varied = _varied(columns)
    axes: list[Axis] = []
    values: list[list[float]] = []
    texts: list[list[str]] = [[] for _ in groups]
    for key in varied:
        same = [other for other in columns if columns[other] == columns[key]]
        name = _name(key, names, both=_other_way(key) in same)
        unit, scale = _UNITS.get(
            key[-1] if key[-1] == "loss" else key[-1].rsplit("_", 1)[-1], ("", 1.0)
        )
        numbers = [value for value in columns[key] if isinstance(value, int | float)]
        if len(numbers) == len(groups) and bool not in map(type, numbers):
            axes.append(Axis(name, unit))
            values.append([number / scale for number in numbers])
            for text, number in zip(texts, numbers, strict=True):
                text.append(f"{name} {number / scale:g}{f' {unit}' if unit else ''}")
        else:
            for text, value in zip(texts, columns[key], strict=True):
                text.append(f"{name} {'-' if value is None else value}")
    if len(axes) < len(varied):
        axes, values = [], []
    rows = [
        Group(", ".join(text), g.scenario, g.runs, g.baselines, tuple(v[i] for v in values))
        for i, (g, text) in enumerate(zip(groups, texts, strict=True))
    ]
    if axes:
        rows.sort(key=lambda group: group.values)
    return Collection(tuple(rows), tuple(axes))


def _rename(group: Group, name: str) -> Group:
    return Group(name, group.scenario, group.runs, group.baselines, group.values)


def path_texts(scenario: Scenario) -> str:
    """The paths as one would say them: their rates and delays to the server."""
    return "; ".join(
        f"{path.name} {units.format_rate(path.up.rate_bps)}, {units.format_time(path.up.delay_ns)}"
        for path in scenario.paths
    )


_Key = tuple[str, ...]
_NOT_THE_SCENARIO = ("scheduler", "seed", "pcap", "trace")


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
    """The fewest values that tell all groups apart: a queue that follows from the rate does not."""

    def rank(key: _Key) -> tuple[int, _Key]:
        return (_ORDER.index(key[-1]) if key[-1] in _ORDER else len(_ORDER), key[:2])

    chosen: list[_Key] = []
    classes = 1
    for key in sorted(columns, key=rank):
        told = len(set(zip(*(map(repr, columns[k]) for k in (*chosen, key)), strict=True)))
        if told > classes:
            chosen.append(key)
            classes = told
    return chosen


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
