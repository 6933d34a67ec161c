# SPDX-License-Identifier: GPL-2.0-only
"""Compares two kernels: the runs of both, their packets, records and figures.

Runs that are stored with their captures are not made again. The comparison leaves out everything
random: ports, keys, first sequence numbers, the order of several connections in the samples. It
depends on the build of a kernel, and applications do not see it.
"""

from __future__ import annotations

import filecmp
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mptcplab.capture import difference
from mptcplab.capture.difference import Difference
from mptcplab.capture.flows import TO_SERVER
from mptcplab.kernel_comparison.cases import KernelCase
from mptcplab.kernel_comparison.document import (
    Compared,
    Comparison,
    FigureDifference,
    PacketDifference,
    RecordDifference,
    Side,
)
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Rig
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, run_files
from mptcplab.metrics.definitions import ConnectionFigures, LinkFigures, PathFigures, RunFigures
from mptcplab.metrics.records import Records
from mptcplab.metrics.schema import Figures, Value, metrics_of
from mptcplab.plan import plan, testbed
from mptcplab.runs import experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.runner import Runner
from mptcplab.runs.store import Store
from mptcplab.runs.tasks import Task
from mptcplab.scenario.limits import IpVersion
from mptcplab.scenario.model import Scenario
from mptcplab.units import NS_PER_S

_CAPTURES, _SAMPLES = ".pcapng", ".samples"
# Inputs of a run, and documents about it.
_NOT_COMPARED = (run_files.CONSOLE, run_files.PLAN, *store.DOCUMENTS, store.TRACES)
# The cost of moving the data.
_NOT_COMPARED_OF_GUEST = "system_calls"
_RANDOM_FIELDS = ("connection", "local_port", "remote_port")
# Sums of the same numbers in another order differ by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Kernel:
    """A kernel to compare, with the guest program that it runs."""

    build: KernelBuild
    guest: Guest
    name: str

    def side(self) -> Side:
        """Its entry in the document."""
        build, guest = self.build, self.guest
        return Side(name=self.name, kernel=build.id, variant=build.variant, guest=guest.id)


@dataclass(frozen=True)
class Pair:
    """A case, with a task for each kernel, or the reason why it is skipped."""

    case: KernelCase
    tasks: tuple[Task, ...] = ()
    reason: str | None = None


def pairs(
    cases: Sequence[KernelCase], a: Kernel, b: Kernel, limits: Limits, runner: Runner
) -> list[Pair]:
    """The tasks of each case. Compiles the user's own schedulers.

    Raises MptcplabError, with the compiler's message, if one does not compile.
    """
    rigs: dict[tuple[int, str], Rig] = {}
    found = []
    for case in cases:
        lacking = [
            f"{kernel.name} lacks {what}"
            for kernel in (a, b)
            for what in case.lacking(kernel.build)
        ]
        if lacking:
            found.append(Pair(case, reason=", ".join(lacking)))
            continue
        tasks = []
        for kernel in (a, b):
            request, key = case.request, (id(case.request), kernel.build.id)
            if key not in rigs:
                modules = experiment.modules(request, kernel.build)
                rigs[key] = Rig(kernel.build, kernel.guest, modules, request.traces, limits)
            tasks.append(runner.task(case.scenario, rigs[key]))
        found.append(Pair(case, tuple(tasks)))
    return found


def missing(wanted: Sequence[Pair], out: Store) -> list[Task]:
    """The tasks whose runs are not stored, or without their captures, each once."""
    tasks = {task.key: task for pair in wanted for task in pair.tasks}
    return [task for task in tasks.values() if not _is_kept(out, task)]


def compare(
    wanted: Sequence[Pair],
    a: Kernel,
    b: Kernel,
    out: Store,
    made: Mapping[str, Entry],
    show: Callable[[int, Compared], None] = lambda _count, _compared: None,
    but: Sequence[str] = (),
) -> Comparison:
    """Compares all stored pairs; `made` has the entries of the runs made now, by their keys. The
    fields of packets in `but` are left out.

    `show` is called after each scenario with the number of compared ones. Raises MptcplabError if a
    stored run cannot be read.
    """
    found = []
    for count, pair in enumerate(wanted, 1):
        found.append(_compared(pair, out, made, but))
        show(count, found[-1])
    return Comparison(a=a.side(), b=b.side(), but=tuple(but), scenarios=tuple(found))


def make(todo: Sequence[Task], runner: Runner) -> dict[str, Entry]:
    """Makes the missing runs; returns their entries by their keys. Raises RunCancelledError."""
    return {task.key: entry for task, entry in zip(todo, runner.perform(todo), strict=True)}


def _is_kept(out: Store, task: Task) -> bool:
    files = plan.capture_files(task.scenario)
    return out.has(task.key) and all((out.directory(task.key) / each).exists() for each in files)


def _compared(pair: Pair, out: Store, made: Mapping[str, Entry], but: Sequence[str]) -> Compared:
    case = pair.case
    about: dict[str, Any] = {"scenario": case.name, "workload": case.scenario.workload.kind}
    if pair.reason is not None:
        return Compared(**about, verdict="skipped", reason=pair.reason)
    entries = [made.get(task.key) or out.result(task.key) for task in pair.tasks]
    kernels = [task.rig.kernel for task in pair.tasks]
    failed = [
        f"{kernel.name or kernel.id}: {entry.reason if entry else 'it was not made'}"
        for kernel, entry in zip(kernels, entries, strict=True)
        if entry is None or entry.status != "ok"
    ]
    if failed:
        return Compared(**about, verdict="failed", reason="; ".join(failed))
    one, other = (out.directory(task.key) for task in pair.tasks)
    packets, recorded = differences(case.scenario, one, other, but)
    changed = figures(*(entry for entry in entries if entry is not None))
    differs = packets or recorded or changed
    return Compared(
        **about,
        verdict="same" if not differs else "random" if case.is_random else "differs",
        runs=tuple(store.place(task.key) for task in pair.tasks),
        packets=tuple(packets),
        records=tuple(recorded),
        figures=tuple(changed),
    )


def differences(
    scenario: Scenario, one: Path, other: Path, but: Sequence[str] = ()
) -> tuple[list[PacketDifference], list[RecordDifference]]:
    """The differences between the files of two runs of a scenario, given their directories; the
    fields of packets in `but` are left out.

    Raises MptcplabError if one cannot be read.
    """
    ours, theirs = (
        {file.name for file in directory.iterdir() if file.is_file()} - {*_NOT_COMPARED}
        for directory in (one, other)
    )
    both = ours & theirs
    equal = {name for name in both if filecmp.cmp(one / name, other / name, shallow=False)}
    names = sorted((ours | theirs) - equal)
    packets: list[PacketDifference] = []
    recorded: list[RecordDifference] = []
    if any(name.endswith(_CAPTURES) for name in names):
        packets, recorded = _of_captures(scenario, one, other, but)
    for name in names:
        if name not in both:
            recorded.append(RecordDifference(file=name, kind="only one has it"))
        elif not name.endswith(_CAPTURES):
            recorded += _of_records(name, one, other)
    return packets, recorded


def _of_captures(
    scenario: Scenario, one: Path, other: Path, but: Sequence[str]
) -> tuple[list[PacketDifference], list[RecordDifference]]:
    names = [
        name
        for name in plan.capture_files(scenario)
        if (one / name).exists() and (other / name).exists()
    ]
    (ours, our_start_ns), (theirs, their_start_ns) = (
        store.read_captures(directory, names) for directory in (one, other)
    )
    found = difference.differences(
        difference.streams(ours, our_start_ns), difference.streams(theirs, their_start_ns), but=but
    )
    versions: tuple[IpVersion, ...] = ("4", "6")
    paths = {
        testbed.client(number).ip(version): path.name
        for number, path in enumerate(scenario.paths, scenario.first_path)
        for version in versions
    }
    packets = [_packet_difference(each, paths) for each in found]
    if ours.others == theirs.others:
        return packets, []
    counts = {"packets": (str(ours.others), str(theirs.others))}
    return packets, [RecordDifference(file="captures", kind="not TCP", fields=counts)]


def _packet_difference(found: Difference, paths: Mapping[str, str]) -> PacketDifference:
    a, b = (None if each is None else difference.kind(each) for each in (found.one, found.other))
    return PacketDifference(
        capture=found.place.capture,
        path=paths.get(found.place.client, found.place.client),
        direction="up" if found.place.way == TO_SERVER else "down",
        number=found.number,
        time_s=found.at_ns / NS_PER_S,
        a=a,
        b=b,
        fields=found.unlike(),
    )


def _of_records(name: str, one: Path, other: Path) -> Iterator[RecordDifference]:
    """The differences between two files that are not captures, and not equal."""
    ours = _outcome(one)
    if name == run_files.GUEST_OUTCOME:
        theirs = _outcome(other)
        unlike = {
            key: (str(ours.get(key)), str(theirs.get(key)))
            for key in {**ours, **theirs}
            if ours.get(key) != theirs.get(key)
        }
        if unlike:
            yield RecordDifference(file=name, fields=unlike)
    elif name == run_files.MESSAGES or name.endswith(_SAMPLES):
        of_other = _records(other / name)
        for kind, of_one in _records(one / name).items():
            yield from _first(name, kind, int(ours["start_ns"]), of_one, of_other[kind])
    else:
        yield RecordDifference(file=name)


def _records(file: Path) -> dict[str, Records]:
    """The records of a file by their kind, in an order that the kernel does not draw."""
    if file.name == run_files.LINKS_SAMPLES:
        return {"link": records.read_links(file)}
    if file.name == run_files.MESSAGES:
        return {"message": records.read_messages(file)}
    samples = records.read_samples(file)
    return {kind: _in_order(getattr(samples, kind)) for kind in ("connection", "subflow")}


def _outcome(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / run_files.GUEST_OUTCOME).read_bytes())
    found.pop(_NOT_COMPARED_OF_GUEST, None)
    return found


def _in_order(samples: Records) -> Records:
    """Samples without ports, sorted: the kernel orders, and numbers, the connections of an instant
    by their random tokens.
    """
    found = samples.copy()
    for field in {*_RANDOM_FIELDS} & {*(samples.dtype.names or ())}:
        found[field] = 0
    return np.sort(found)


def _first(
    name: str, kind: str, start_ns: int, one: Records, other: Records
) -> Iterator[RecordDifference]:
    """The first differing record, if any."""
    common = min(len(one), len(other))
    fields = one.dtype.names or ()
    unlike = {
        field: (one[field][:common] != other[field][:common]).reshape(common, -1).any(axis=1)
        for field in fields
    }
    any_unlike = np.logical_or.reduce([*unlike.values()])
    if not any_unlike.any():
        if len(one) != len(other):
            counts = {"records": (str(len(one)), str(len(other)))}
            yield RecordDifference(file=name, kind=kind, fields=counts)
        return
    at = int(any_unlike.argmax())
    yield RecordDifference(
        file=name,
        kind=kind,
        time_s=(int(one["time_ns"][at]) - start_ns) / NS_PER_S if "time_ns" in fields else None,
        fields={
            field: (_text(one[field][at]), _text(other[field][at]))
            for field, where in unlike.items()
            if where[at]
        },
    )


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return ".".join(map(str, value.tolist()))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def figures(one: Entry, other: Entry) -> list[FigureDifference]:
    """The figures in which two runs of a scenario differ."""
    ours, theirs = dict(_figures(one)), dict(_figures(other))
    found = []
    for (name, unit), a in ours.items():
        b = theirs.get((name, unit))
        if a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=_ROUNDING)):
            continue
        change = (b - a) / abs(a) if a and b is not None else None
        found.append(FigureDifference(figure=name, unit=unit, a=a, b=b, change=change))
    return found


def _figures(entry: Entry) -> Iterator[tuple[tuple[str, str], Value]]:
    """All figures of a run, by name and unit."""
    yield from _of(RunFigures, entry.metrics, "")
    for path in entry.paths:
        yield from _of(PathFigures, path, f"paths.{path.name}.")
    for connection in entry.connections:
        yield from _of(ConnectionFigures, connection, f"connections.{connection.name}.")
        yield from _of(RunFigures, connection.metrics, f"connections.{connection.name}.metrics.")
    for link in entry.links:
        yield from _of(LinkFigures, link, f"links.{link.name}.{link.direction}.")


def _of(
    model: type[Figures], figures: Figures, before: str
) -> Iterator[tuple[tuple[str, str], Value]]:
    for metric in metrics_of(model):
        value = figures[metric.name]
        if value is None or isinstance(value, int | float):
            yield (f"{before}{metric.name}", metric.unit), value
