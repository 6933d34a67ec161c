# SPDX-License-Identifier: GPL-2.0-only
"""Where runs are kept: OUT/runs/KEY/, each whole or not at all.

The key is a hash of everything that a run depends on: the resolved scenario with its seed, and
the builds of kernel and guest. `result.json` and the records of a key are always the same bytes;
`cost.json` has the wall-clock times. The traces that were played are in `traces/`, and
`traces.json` says which was played where, and how. A run of a sweep has `series.parquet` instead of
records and traces. Failed runs are `OUT/failed/KEY.json`, with the reason, until they succeed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mptcplab import files
from mptcplab.capture import dissect
from mptcplab.capture.dissect import Packets
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.files import write as write
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import records, series
from mptcplab.metrics.records import Records, Samples
from mptcplab.metrics.run_files import CLIENT_SAMPLES, GUEST_OUTCOME, LINKS_SAMPLES, read_samples
from mptcplab.metrics.series import Panel, RunSeries
from mptcplab.runs import archive, documents
from mptcplab.runs.archive import ARCHIVE
from mptcplab.runs.entries import Entry
from mptcplab.scenario.model import Scenario
from mptcplab.traces import link_trace, trace_file

RESULT = "result.json"
COST = "cost.json"
SCENARIO = "scenario.json"
TRACES = "traces.json"
BUILD = "build.json"
#: The files of every successful run.
DOCUMENTS = (SCENARIO, BUILD, RESULT, COST)
#: What a run of a sweep keeps instead of its records.
SERIES = "series.parquet"
#: The document of the latest comparison in an output directory.
DOCUMENT = "comparison.json"
#: The document of the latest sweep there.
SWEEP = "sweep.json"

_RUNS = "runs"
_FULL_BYTES = 1 << 20


def make_directory(directory: Path) -> None:
    """Make a directory to write to; raises MptcplabError if it cannot be made or written to."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise MptcplabError(f"cannot write to {directory}: {error.strerror}") from error


def run_key(scenario: Scenario, kernel: KernelBuild, guest: Guest) -> str:
    """The name of a run: 16 hexadecimal digits."""
    text = "\n".join((scenario.key_text(), kernel.id, guest.id))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def place(key: str) -> str:
    """The directory of a run, relative to the output directory."""
    return f"{_RUNS}/{key}"


class Store:
    """The runs below one output directory."""

    def __init__(self, out: Path, *, is_written: bool = True) -> None:
        """Raises MptcplabError if `out` is to be written to and cannot be."""
        self.out = out
        self._runs = out / _RUNS
        self._failed = out / "failed"
        if is_written:
            make_directory(self._runs)

    def directory(self, key: str) -> Path:
        return self._runs / key

    def has(self, key: str) -> bool:
        """Whether there is a successful run.

        One with a damaged result, as after a power failure, does not count and is run again.
        """
        try:
            return isinstance(documents.read_json(f"{self._runs}/{key}/{RESULT}"), dict)
        except MptcplabError:
            return False

    def result(self, key: str) -> Entry | None:
        """The entry of a successful run, None without one. Raises MptcplabError."""
        return documents.read_entry(f"{self._runs}/{key}/{RESULT}") if self.has(key) else None

    def keys(self) -> list[str]:
        """The names of all successful runs."""
        if not self._runs.exists():
            return []
        with os.scandir(self._runs) as found:
            return [entry.name for entry in found if not entry.name.startswith(".")]

    def failed(self) -> list[str]:
        """The names of all failed runs."""
        return sorted(file.stem for file in self._failed.glob("[!.]*.json"))

    def failure(self, key: str) -> documents.Failure | None:
        """The failure of a run, as given to `keep_failed`. Raises MptcplabError.

        None without one: the run may have succeeded in the meantime.
        """
        file = self._failed / f"{key}.json"
        try:
            return documents.read(file, documents.FAILURE)
        except MptcplabError:
            if file.exists():
                raise
            return None

    def keep_failed(self, key: str, about: Mapping[str, Any]) -> None:
        """Keep why a run failed. Raises MptcplabError if that cannot be written."""
        make_directory(self._failed)
        write_json(self._failed / f"{key}.json", about)

    def forget_failed(self, key: str) -> None:
        """Forget the failure of a run, which has succeeded since."""
        (self._failed / f"{key}.json").unlink(missing_ok=True)

    @contextlib.contextmanager
    def new_run(self, key: str) -> Iterator[Path]:
        """A directory to run in, which becomes the stored run at the end.

        If the body raises, it is removed and a former run of the same key stays as it was. A run
        that somebody else has stored in the meantime stays, too, unless it keeps less: it is the
        same run.
        """
        final, former = self.directory(key), self._made(key)
        with files.beside(final) as partial:
            yield partial
            partial.chmod(0o755)
            with files.locked(self._runs):
                if self._made(key) in (None, former) or _kept(final) < _kept(partial):
                    files.put(partial, final)

    def is_full(self, reason: str) -> bool:
        """Whether a run failed, for `reason`, because the disk is full: all others would, too."""
        full = shutil.disk_usage(self.out).free < _FULL_BYTES
        said = reason.lower()
        return full or "no space left" in said or "quota exceeded" in said

    def remove_abandoned(self) -> None:
        """Remove what processes left that died during a run, or while writing a file."""
        for directory in (self.out, self._runs, self._failed):
            files.remove_abandoned(directory)

    def _made(self, key: str) -> tuple[int, int] | None:
        """Identifies a version of a run; None if there is no successful one."""
        if not self.has(key):
            return None
        with contextlib.suppress(FileNotFoundError):
            found = (self.directory(key) / RESULT).stat()
            return found.st_ino, found.st_mtime_ns
        return None


def _kept(directory: Path) -> tuple[bool, bool]:
    """How much is kept of a run, for comparing: records here, records here or elsewhere."""
    return has_records(directory), keeps_records(directory)


def keep_traces(
    directory: Path, scenario: Scenario, traces: Mapping[tuple[str, str], link_trace.Source]
) -> None:
    """Copy the traces that are played on the paths of a run, each once, into its directory.

    Raises MptcplabError if one was changed after it was read.
    """
    paths = [each.name for each in (*scenario.paths, *scenario.links)]
    kept: dict[str, str] = {}
    index: dict[str, dict[str, Any]] = {}
    for (path, side), source in traces.items():
        if path not in paths:
            continue
        if source.digest not in kept:
            content = source.file.read_bytes()
            if trace_file.digest(content) != source.digest:
                raise MptcplabError(f"{source.file} was changed in the meantime; run it again")
            name = f"traces/{source.file.name}"
            if name in kept.values():
                name = f"traces/{len(kept) + 1}-{source.file.name}"
            (directory / "traces").mkdir(exist_ok=True)
            (directory / name).write_bytes(content)
            kept[source.digest] = name
        index.setdefault(path, {})[side] = asdict(source) | {"file": kept[source.digest]}
    if index:
        write_json(directory / TRACES, index)


@dataclass(frozen=True)
class StoredRun:
    """A stored run; `traces` are by the name of their path and "up" or "down".

    `samples` are by the name of the host's namespace.
    """

    directory: Path
    scenario: Scenario
    samples: Mapping[str, Samples]
    traces: Mapping[tuple[str, str], link_trace.Source]

    @property
    def client(self) -> Samples:
        return self.samples["client"]

    @property
    def server(self) -> Samples:
        return self.samples["server"]

    def decisions(self, run: RunSeries) -> list[Panel]:
        """The schedulers' decisions in each bin of the series, by connection."""
        if not self.scenario.connections:
            return series.decision_panels(self.scenario, self.client, self.server, run.edges_ns)
        begin_ns = int(self.queues()["time_ns"][0])
        return [
            replace(panel, side=" ".join(filter(None, (pair.connection.name, panel.side))))
            for pair in self.scenario.pairs()
            for panel in series.decision_panels(
                self.scenario.alone(pair),
                self.samples[pair.client],
                self.samples[pair.server],
                run.edges_ns,
                begin_ns,
            )
        ]

    def queues(self) -> Records:
        """The records of the links. Raises MptcplabError."""
        return records.read_links(self.directory / LINKS_SAMPLES)

    def series(self) -> RunSeries:
        """What happened over time. Raises MptcplabError."""
        if self.scenario.connections:
            return series.shared_series(self.scenario, self.samples, self.queues())
        return series.run_series(
            self.scenario,
            self.client,
            self.server,
            self.traces,
            of_sockets=not has_probe(self.directory),
        )


def has_series(directory: Path) -> bool:
    """Whether a run can be shown over time."""
    return has_records(directory) or (directory / SERIES).exists()


def has_records(directory: Path) -> bool:
    """Whether a run has records: one of a sweep may have kept only their series."""
    return (directory / CLIENT_SAMPLES).exists()


def has_probe(directory: Path) -> bool:
    """Whether the lab's probe made the records of a run, and not a distribution's kernel, where
    they are only what sockets tell.
    """
    return (directory / LINKS_SAMPLES).exists()


def keeps_records(directory: Path) -> bool:
    """Whether a run has records, here or elsewhere."""
    return has_records(directory) or (directory / ARCHIVE).exists()


def require_records(directory: Path) -> None:
    """Raises MptcplabError if a run has no records here, saying how to get them."""
    if (directory / ARCHIVE).exists():
        url = documents.read(directory / ARCHIVE, documents.ARCHIVED).url
        raise MptcplabError(
            f"{directory}: its records are kept at {url}; to fetch them: mptcplab "
            f"results fetch {directory.name} --out {directory.parent.parent}"
        )
    if not has_records(directory) and (directory / SERIES).exists():
        again = f"mptcplab run {directory / SCENARIO} --out {directory.parent.parent}"
        raise MptcplabError(
            f"{directory}: its sweep kept no records; to get them, run it again: {again}"
        )


def fetch(out: Store, keys: Sequence[str] = ()) -> int:
    """Fetch records that are kept elsewhere, of some runs of a store, or without keys of all.

    Returns the number of runs. Raises MptcplabError.
    """
    if unknown := set(keys) - set(out.keys()):
        problem = f"no run of that key in {out.out}; accepted is the name of a directory in runs"
        raise InputError([Problem("results fetch", "", key, problem) for key in sorted(unknown)])
    fetched = 0
    for key in keys or sorted(out.keys()):
        file = out.directory(key) / ARCHIVE
        if file.exists():
            try:
                about = documents.read(file, documents.ARCHIVED)
                content = archive.read(dict(about))
                with out.new_run(key) as directory:
                    archive.extract(content, directory, source=about.url)
            except OSError as error:
                raise MptcplabError(f"{out.out}: {error.strerror}") from error
            fetched += 1
    return fetched


def read_series(directory: Path) -> RunSeries:
    """The time series of a stored run, from its records or the series kept instead.

    Raises MptcplabError, naming the file, if it cannot be read.
    """
    if not has_records(directory) and (directory / SERIES).exists():
        return series.read(directory / SERIES)
    try:
        with documents.contradictions_reported(directory):
            return read_run(directory).series()
    except MptcplabError as error:
        text = str(error)
        if str(directory) in text:
            raise
        raise MptcplabError(f"{directory}: {text}") from error


def read_run(directory: Path) -> StoredRun:
    """Read a stored run. Raises MptcplabError, naming the file, if it cannot be read."""
    require_records(directory)
    scenario = read_scenario(directory)
    traces: dict[tuple[str, str], link_trace.Source] = {}
    if (directory / TRACES).exists():
        for path, sides in documents.read(directory / TRACES, documents.TRACES).items():
            for side, source in sides.items():
                file = directory / source.file
                traces[path, side] = link_trace.Source(**dict(source) | {"file": file})
    return StoredRun(directory, scenario, read_samples(scenario, directory), traces)


def read_captures(directory: Path, names: Sequence[str]) -> tuple[Packets, int]:
    """The packets in captures of a run, by their names, and the start of its workload, in ns.

    Raises MptcplabError if they cannot be read.
    """
    start_ns = documents.read(directory / GUEST_OUTCOME, documents.GUEST).start_ns
    return dissect.read([directory / name for name in names]), start_ns


def read_scenario(directory: Path) -> Scenario:
    """The scenario of a stored run. Raises MptcplabError, naming the file, if it cannot be read."""
    return documents.read(directory / SCENARIO, documents.SCENARIO)


def write_json(file: Path, content: Mapping[str, Any] | BaseModel) -> None:
    """Write a document, whole or not at all: indented, in the order of its keys."""
    text = json.dumps(content, indent=1, default=lambda model: model.model_dump(mode="json"))
    write(file, f"{text}\n".encode())
