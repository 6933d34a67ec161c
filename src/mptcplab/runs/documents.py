# SPDX-License-Identifier: GPL-2.0-only
"""The documents of stored runs, read and checked: nobody reads one in another way.

They may have been cut off by a full disk, changed by hand, written by another version, or come from
another machine. What a reader relies on is checked here, and what is wrong is told in one line: the
file, the key, and what is accepted. Keys that are not known stay, and figures that older versions
did not have are None. The files of a run can be right each, and still not fit together; that is
told by `contradictions_told`, around what is computed from them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError, from_json

from mptcplab.errors import MptcplabError
from mptcplab.metrics.application import APPLICATION_METRICS
from mptcplab.metrics.compute import PATH_METRICS, RUN_METRICS
from mptcplab.metrics.definitions import CONNECTION_METRICS, LINK_METRICS
from mptcplab.metrics.schema import Value
from mptcplab.spec.limits import MAX_OCCURRENCES, NO_RATE_BPS
from mptcplab.spec.mistakes import first_of, printable
from mptcplab.spec.scenario import LONGEST_NS, Event, Scenario
from mptcplab.spec.workload import MAX_MESSAGES

# Less than 2^63, which is what tables have room for; guests begin at 10^18 ns.
_MOST = 2 * 10**18

_Count = Annotated[int, Field(ge=0, le=_MOST)]
_Number = Annotated[float, Field(ge=-_MOST, le=_MOST)]
_Figure = _Number | None


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError("stored", "{message}", {"message": message})


def _below(name: str) -> str:
    path = Path(name)
    if "\0" in name or path.is_absolute() or ".." in path.parts or not path.parts:
        raise _wrong("Input should be a place below the directory of the document")
    return name


#: What a document names lies beside it or below: others may have written it.
_Place = Annotated[str, AfterValidator(_below)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Guest(_Document):
    start_ns: _Count
    complete_ns: _Count


_TEXTS = ("name", "transport", "direction", "metrics")
_OF_PARTS = {metric.name for metric in (*PATH_METRICS, *CONNECTION_METRICS, *LINK_METRICS)}
_OF_PARTS.difference_update(_TEXTS)
_NUMBER: TypeAdapter[_Figure] = TypeAdapter(_Figure, config=_Document.model_config)


class _Part(_Document):
    """The figures of a path, a connection or a direction of a link, and what it is called."""

    name: str
    metrics: dict[str, _Figure] = {}

    @model_validator(mode="after")
    def _has_figures(self) -> _Part:
        for name in _OF_PARTS.intersection(self.model_extra or {}):
            try:
                _NUMBER.validate_python((self.model_extra or {})[name])
            except ValidationError as error:
                raise _wrong(f"{name}: {first_of(error)[1]}") from None
        return self


class _Entry(_Document):
    """What is relied on in the entry of a run, see `entries.run_entry`."""

    scheduler: str
    cc: str = ""
    seed: _Count
    transport: Literal["mptcp", "tcp"] = "mptcp"
    path: str | None = None
    status: Literal["ok", "failed"]
    reason: str | None = None
    virtual_s: _Figure = None
    wall_s: _Figure = None
    data_packets: _Figure = None
    metrics: dict[str, _Figure]
    paths: list[_Part]
    connections: list[_Part] = []
    links: list[_Part] = []
    directory: _Place | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> _Entry:
        if self.transport == "tcp" and self.path is None:
            raise _wrong("path: missing; a run of plain TCP says over which path")
        if self.status == "failed" and self.reason is None:
            raise _wrong("reason: missing; a run that failed says why")
        return self


class _Cost(_Document):
    __pydantic_extra__: dict[str, _Number]


class _Source(_Document):
    """As trace.Source, the file below the directory of the run."""

    model_config = ConfigDict(extra="forbid")

    file: _Place
    digest: str
    columns: dict[str, str] | None = None
    interval_ns: _Count | None = None
    skip_empty: bool = False
    offset_ns: _Count = 0
    repeat: bool = True


class _Way(_Document):
    """What a table has of a direction of a path."""

    rate_bps: _Count
    delay_ns: _Count
    jitter_ns: _Count
    loss: _Number
    queue_packets: _Count | None
    queue_bytes: _Count | None = None


class _Path(_Document):
    name: str
    up: _Way
    down: _Way


class _Workload(_Document):
    kind: str
    direction: Literal["up", "down", "both"] = "up"
    duration_ns: _Count | None = None


class _Summary(_Document):
    """What a table has of a scenario: reading all of each would take it ten times as long."""

    transport: str
    cc: str
    workload: _Workload
    paths: list[_Path]


class _Failure(_Document):
    entry: _Entry
    scenario: _Summary
    build: dict[str, str]


class _Archived(_Document):
    url: str
    sha256: str


def _whole(scenario: Scenario) -> Scenario:
    """A scenario whose parts fit together, and which nobody computes at for ever."""
    _check_sizes(scenario.model_dump(mode="json"), ())
    links = {link.name for link in scenario.links}
    names = [path.name for path in scenario.paths]
    if not names or len({*names, *links}) != len(names) + len(scenario.links):
        raise _wrong("paths: one at least should be there, and all have names of their own")
    for path in scenario.paths:
        if not links.issuperset(path.links):
            raise _wrong(f"paths: the links of {printable(path.name)} should be in links")
    if scenario.connections and [n for c in scenario.connections for n in c.paths] != names:
        raise _wrong("connections: each path should be that of one connection, in their order")
    if scenario.sample_interval_ns == 0:
        raise _wrong("sample_interval_ns: Input should be greater than 0")
    for event in scenario.events:
        if event.path not in {*names, *links}:
            raise _wrong("events: each should be of a path or a link that there is")
    _check_work(scenario)
    return scenario


#: What numbers can be at most, by the end of their key; all are 0 at least.
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
            # of a step of a trace the first is its time
            _check_sizes(inner, (*at, str(number)))
    elif isinstance(value, int | float) and "settings" not in at:
        key = next(step for step in reversed(at) if not step.isdigit())
        unit = "ns" if key == "steps" else key.rpartition("_")[2]
        most = _MOST_OF_UNIT.get(unit, _MOST_OF_OTHERS)
        if not 0 <= value <= most:
            raise _wrong(f"{'.'.join(at)}: Input should be from 0 to {most}")


def _check_work(scenario: Scenario) -> None:
    loads = [scenario.workload, *(each.workload for each in scenario.connections)]
    ends_ns = max(load.duration_ns or LONGEST_NS for load in loads)

    def times(event: Event) -> int:
        return 1 if event.every_ns is None else ends_ns // max(event.every_ns, 1)

    if sum(map(times, scenario.events)) > MAX_OCCURRENCES + len(scenario.events):
        raise _wrong(f"events: they should happen at most {MAX_OCCURRENCES} times")
    for load in loads:
        duration_ns = load.duration_ns or 0
        interval_ns = getattr(load, "interval_ns", None)
        numbers = (
            getattr(load, "count", None) or 0,
            getattr(load, "segments", 0),
            duration_ns // max(interval_ns, 1) if interval_ns is not None else 0,
            duration_ns * getattr(load, "fps", 0) // 10**9,
        )
        if max(numbers) > MAX_MESSAGES:
            raise _wrong(f"workload: at most {MAX_MESSAGES} messages are possible")


_Scenario = Annotated[Scenario, AfterValidator(_whole)]


class _Comparison(_Document):
    runs: list[_Entry]
    baselines: list[_Entry]
    build: dict[str, str]
    scenario: _Scenario


class _Setting(_Document):
    point: dict[str, str | _Number]
    directory: _Place
    alone: dict[str, _Place]


class _Experiment(_Document):
    experiment: str
    runs: list[_Setting]
    axis: dict[str, str] = {}


class _Seeded(_Setting):
    seed: _Count


class _Reproduced(_Document):
    """The same for who judges the claims."""

    digest: str
    repeat: _Count
    build: dict[str, str]
    runs: list[_Seeded]


class _Address(_Document):
    address: str


@dataclass(frozen=True)
class Kind:
    """A kind of document: what it is called in messages, and what it must be."""

    what: str
    adapter: TypeAdapter[Any]


def _kind(what: str, model: Any) -> Kind:
    plain = isinstance(model, type) and issubclass(model, BaseModel)
    return Kind(what, TypeAdapter(model, config=None if plain else ConfigDict(strict=True)))


GUEST = _kind("what a guest reported of a run", _Guest)
COST = _kind("what a run cost", _Cost)
BUILD = _kind("the builds of a run", dict[str, str])
ARCHIVED = _kind("where the records of a run are kept", _Archived)
TRACES = _kind("what a run keeps of its traces", dict[str, dict[Literal["up", "down"], _Source]])
SUMMARY = _kind("the scenario of a run", _Summary)
ADDRESS = _kind("the file of a Dask scheduler", _Address)
EXPERIMENT = _kind("the document of a published experiment", _Experiment)
REPRODUCED = _kind("the document of a published experiment", _Reproduced)
_ENTRY = _kind("the result of a run", _Entry)
_FAILURE = _kind("what is kept of a run that failed", _Failure)
_COMPARISON = _kind("the document of a comparison", _Comparison)
_SCENARIO: TypeAdapter[Scenario] = TypeAdapter(_Scenario)


def read(file: Path | str, kind: Kind) -> Any:
    """The content of a document of this kind. Raises MptcplabError."""
    raw = _bytes(file)
    content = _parsed(raw, file)
    try:
        kind.adapter.validate_json(raw)
    except ValidationError as error:
        where, wrong = first_of(error)
        place = printable(where) or "as a whole"
        raise MptcplabError(f"{file}: not {kind.what}: {place}: {wrong}") from None
    return content


def read_json(file: Path | str) -> Any:
    """The content of any JSON file; raises MptcplabError, naming it, if it has none."""
    return _parsed(_bytes(file), file)


def read_entry(file: Path | str) -> dict[str, Any]:
    """The entry of a run that ended, from its result. Raises MptcplabError."""
    return _with_all_figures(read(file, _ENTRY))


def read_failure(file: Path) -> dict[str, Any]:
    """What is kept of a run that failed: `entry`, `scenario`, `build`. Raises MptcplabError."""
    content: dict[str, Any] = read(file, _FAILURE)
    return content | {"entry": _with_all_figures(content["entry"])}


def read_comparison(file: Path) -> dict[str, Any]:
    """The document of a comparison, see `entries.document`. Raises MptcplabError."""
    content: dict[str, Any] = read(file, _COMPARISON)
    return content | {
        name: [_with_all_figures(entry) for entry in content[name]]
        for name in ("runs", "baselines")
    }


def read_scenario(file: Path) -> Scenario:
    """The scenario of a run. Raises MptcplabError."""
    raw = _bytes(file)
    _parsed(raw, file)
    try:
        return _SCENARIO.validate_json(raw)
    except ValidationError as error:
        where, wrong = first_of(error)
        raise MptcplabError(
            f"{file}: {printable(where)}{': ' if where else ''}{wrong}; it was written "
            "by another version, or changed: run it once more"
        ) from None


@contextlib.contextmanager
def contradictions_told(place: Path | str) -> Iterator[None]:
    """Tell it if what is computed from the files of runs cannot be, since they do not fit together.

    Raises MptcplabError, which names `place`. What is raised already as one stays as it is.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise MptcplabError(
            f"{place}: what is stored there contradicts itself "
            f"({type(error).__name__}: {printable(str(error))[:200]}); run it once more"
        ) from error
    except MemoryError as error:
        raise MptcplabError(f"{place}: too much for the memory of this machine") from error


def _bytes(file: Path | str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise MptcplabError(f"{file}: cannot be read: {error.strerror}") from error
    except ValueError:  # a NUL
        raise MptcplabError(f"{file!r}: no name of a file") from None


def _parsed(raw: bytes, file: Path | str) -> Any:
    try:
        # Pydantic's parser is the fast one; a store may have hundreds of thousands of files
        return from_json(raw)
    except ValueError as error:
        raise MptcplabError(f"{file}: not JSON: {printable(str(error))}") from None


_NO_FIGURES: dict[str, Value] = dict.fromkeys(m.name for m in (*RUN_METRICS, *APPLICATION_METRICS))
_NO_PATH_FIGURES: dict[str, Value] = dict.fromkeys(metric.name for metric in PATH_METRICS)


def _with_all_figures(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {
        "metrics": _NO_FIGURES | entry["metrics"],
        "paths": [_NO_PATH_FIGURES | path for path in entry["paths"]],
    }
