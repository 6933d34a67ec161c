# SPDX-License-Identifier: GPL-2.0-only
"""The documents of stored runs, read and checked; all reading goes through here.

They may have been truncated by a full disk, edited by hand, written by another version, or come
from another machine. Everything that a reader relies on is checked here, and an error is one line:
the file, the key, and what is accepted. Unknown keys stay. Files can each be valid and still
contradict each other; `contradictions_reported` reports that, around whatever is computed from
them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import from_json

from mptcplab.errors import MptcplabError, RunError
from mptcplab.metrics.schema import MOST, Stored
from mptcplab.mistakes import first_of, printable
from mptcplab.runs.entries import Count, Document, Entry, Place, wrong
from mptcplab.scenario.limits import MAX_OCCURRENCES, NO_RATE_BPS
from mptcplab.scenario.model import LONGEST_NS, Event, Scenario
from mptcplab.scenario.workload import MAX_MESSAGES, Bulk

T = TypeVar("T")


def _as_written(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """A number; integers stay integers."""
    check(value)
    return value


_Number = Annotated[
    float, Field(ge=-MOST, le=MOST, allow_inf_nan=False), WrapValidator(_as_written)
]


class _Guest(Stored):
    start_ns: Count
    complete_ns: Count


class _Source(Stored):
    """As trace.Source, with the file below the directory of the run."""

    model_config = ConfigDict(extra="forbid")

    file: Place
    digest: str
    columns: dict[str, str] | None = None
    interval_ns: Count | None = None
    skip_empty: bool = False
    offset_ns: Count = 0
    repeat: bool = True


class _Way(Stored):
    """The part of a path's direction that tables need."""

    rate_bps: Count
    delay_ns: Count
    jitter_ns: Count
    loss: _Number
    queue_packets: Count | None
    queue_bytes: Count | None = None


class _Path(Stored):
    name: str
    up: _Way
    down: _Way


class _Workload(Stored):
    kind: str
    direction: Literal["up", "down", "both"] = "up"
    duration_ns: Count | None = None


class Summary(Stored):
    """The part of a scenario that tables need: reading all of it would take ten times as long."""

    transport: str
    cc: str
    workload: _Workload
    paths: tuple[_Path, ...]


class _Archived(Stored):
    url: str
    sha256: str


def _whole(scenario: Scenario) -> Scenario:
    """A scenario whose parts fit together, and with bounded computation."""
    _check_sizes(scenario.model_dump(mode="json"), ())
    links = {link.name for link in scenario.links}
    names = [path.name for path in scenario.paths]
    if not names or len({*names, *links}) != len(names) + len(scenario.links):
        raise wrong("paths: at least one is expected, each with its own name")
    for path in scenario.paths:
        if not links.issuperset(path.links):
            raise wrong(f"paths: {printable(path.name)} names a link that is not in links")
    if scenario.connections and [n for c in scenario.connections for n in c.paths] != names:
        raise wrong("connections: each path should belong to one connection, in their order")
    if scenario.sample_interval_ns == 0:
        raise wrong("sample_interval_ns: Input should be greater than 0")
    for event in scenario.events:
        if event.path not in {*names, *links}:
            raise wrong("events: each should name a path or a link of the scenario")
    _check_work(scenario)
    return scenario


#: Upper limits of numbers, by the end of their key; all are at least 0.
_MOST_OF_UNIT = {
    "bps": NO_RATE_BPS,
    "ns": 10**17,
    "bytes": 10**15,
    "packets": 10**9,
    "loss": 1,
    "factor": 10**6,
}
_MOST_OF_OTHERS = 2**32


def _check_sizes(value: object, at: tuple[str, ...]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_sizes(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            # the first number of a trace's step is its time
            _check_sizes(inner, (*at, str(number)))
    elif isinstance(value, int | float) and "settings" not in at:
        key = next(step for step in reversed(at) if not step.isdigit())
        unit = "ns" if key == "steps" else key.rpartition("_")[2]
        most = _MOST_OF_UNIT.get(unit, _MOST_OF_OTHERS)
        if not 0 <= value <= most:
            raise wrong(f"{'.'.join(at)}: Input should be from 0 to {most}")


def _check_work(scenario: Scenario) -> None:
    loads = [scenario.workload, *(each.workload for each in scenario.connections)]
    ends_ns = max(load.duration_ns or LONGEST_NS for load in loads)

    def times(event: Event) -> int:
        return 1 if event.every_ns is None else ends_ns // max(event.every_ns, 1)

    if sum(map(times, scenario.events)) > MAX_OCCURRENCES + len(scenario.events):
        raise wrong(f"events: at most {MAX_OCCURRENCES} occurrences are possible")
    for load in loads:
        duration_ns = load.duration_ns or 0
        # the connections of bulk open at its interval
        interval_ns = None if isinstance(load, Bulk) else getattr(load, "interval_ns", None)
        numbers = (
            getattr(load, "count", None) or 0,
            getattr(load, "connections", 0) * len(load.directions),
            getattr(load, "segments", 0),
            duration_ns // max(interval_ns, 1) if interval_ns is not None else 0,
            duration_ns * getattr(load, "fps", 0) // 10**9,
        )
        if max(numbers) > MAX_MESSAGES:
            raise wrong(f"workload: at most {MAX_MESSAGES} messages are possible")


_Scenario = Annotated[Scenario, AfterValidator(_whole)]


class Failure(Stored):
    entry: Entry
    scenario: _Scenario
    build: dict[str, str]


class _Comparison(Document):
    scenario: _Scenario


class _Setting(Stored):
    point: dict[str, str | _Number]
    directory: Place
    alone: dict[str, Place]


class _Experiment(Stored):
    experiment: str
    runs: tuple[_Setting, ...]
    axis: dict[str, str]


class _Swept(Stored):
    """`axis` has the labels of axes, as the sweep's file has them."""

    runs: tuple[_Setting, ...]
    axis: dict[str, str]


class _Seeded(_Setting):
    seed: Count
    lacks: str = ""


class _LeftOut(Stored):
    """A setting that the kernel could not run, and its place among all."""

    number: int
    point: dict[str, str | _Number]
    seed: Count
    lacks: str


class _Reproduced(Stored):
    """The same for judging the claims."""

    base: str
    files: dict[str, str]
    command: str
    digest: str
    repeat: Count
    build: dict[str, str]
    runs: tuple[_Seeded, ...]
    left_out: tuple[_LeftOut, ...] = ()

    @property
    def places(self) -> set[str]:
        """The directories of its runs, with their baselines."""
        return {place for run in self.runs for place in (run.directory, *run.alone.values())}


class _Address(Stored):
    address: str


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of document: its name in messages, and its type."""

    what: str
    model: type[T]

    @functools.cached_property
    def adapter(self) -> TypeAdapter[T]:
        """Made on demand: it takes as long as reading many documents."""
        return TypeAdapter(self.model)


GUEST = Kind("the report of a guest", _Guest)
COST = Kind("the cost of a run", dict[str, _Number])
BUILD = Kind("the builds of a run", dict[str, str])
ARCHIVED = Kind("the place of a run's records", _Archived)
TRACES = Kind("the list of a run's traces", dict[str, dict[Literal["up", "down"], _Source]])
SUMMARY = Kind("the scenario of a run", Summary)
ADDRESS = Kind("the file of a Dask scheduler", _Address)
EXPERIMENT = Kind("the document of a published experiment", _Experiment)
SWEPT = Kind("the document of a sweep", _Swept)
REPRODUCED = Kind("the document of a published experiment", _Reproduced)
_ENTRY = Kind("the result of a run", Entry)
FAILURE = Kind("the report of a failed run", Failure)
COMPARISON = Kind("the document of a comparison", _Comparison)
SCENARIO: Kind[Scenario] = Kind("the scenario of a run", _Scenario)


def read(file: Path | str, kind: Kind[T]) -> T:
    """The content of a document of this kind. Raises MptcplabError."""
    try:
        return kind.adapter.validate_json(_bytes(file), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            reason = printable(first["ctx"]["error"])
            raise MptcplabError(f"{file}: not JSON: {reason}") from None
        where, message = first_of(error)
        place = printable(where) or "as a whole"
        raise MptcplabError(f"{file}: not {kind.what}: {place}: {message}") from None


def read_json(file: Path | str) -> Any:
    """The content of any JSON file; raises MptcplabError, naming the file, if it is not JSON."""
    try:
        # Pydantic's parser is fast; a store may have hundreds of thousands of files
        return from_json(_bytes(file))
    except ValueError as error:
        raise MptcplabError(f"{file}: not JSON: {printable(str(error))}") from None


def read_entry(file: Path | str) -> Entry:
    """The entry of a run that ended, from its result. Raises MptcplabError."""
    return read(file, _ENTRY)


@contextlib.contextmanager
def contradictions_reported(place: Path | str) -> Iterator[None]:
    """Report it if a computation fails because the files of runs contradict each other.

    Raises MptcplabError, which names `place`; one that is raised inside passes through, but for
    RunError, with which the computation refuses the records.
    """
    try:
        yield
    except RunError as error:
        raise MptcplabError(f"{place}: {error.reason}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise MptcplabError(
            f"{place}: the stored files contradict each other "
            f"({type(error).__name__}: {printable(str(error))[:200]}); run it again"
        ) from error
    except MemoryError as error:
        raise MptcplabError(f"{place}: it does not fit into the memory of this machine") from error


def _bytes(file: Path | str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise MptcplabError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError:  # a NUL
        raise MptcplabError(f"{file!r}: not a file name") from None
