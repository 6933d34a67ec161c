# SPDX-License-Identifier: GPL-2.0-only
"""Runs published experiments, and reads their results.

OUT/runs/ contains the runs; existing ones are not run again, so an interrupted experiment continues
where it stopped. OUT/PAPER/FIGURE.json (FIGURE-quick.json) says which run belongs to which setting,
once all of them exist.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from mptcplab import __version__
from mptcplab.errors import MptcplabError
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.papers import catalogue, claims
from mptcplab.papers.catalogue import Published, Setting
from mptcplab.papers.claims import Judged, Results
from mptcplab.runs import documents, experiment, store
from mptcplab.runs.entries import Entry
from mptcplab.runs.store import Store
from mptcplab.runs.workers import Workers
from mptcplab.spec import scheduler
from mptcplab.spec.formulas import FormulaError
from mptcplab.spec.resolve import Request
from mptcplab.spec.scenario import Scenario

#: Shows the progress of some number of runs.
Show = Callable[[int], AbstractContextManager[tuple[experiment.Progress, experiment.Ended]]]

_DRIVES = "drives"
# Gigabit paths for a minute take minutes on a busy machine.
_WALL_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Reproduced:
    """The result of an experiment: its runs' figures, the claims judged, and how it was run."""

    published: Published
    quick: bool
    repeat: int
    build: Mapping[str, str]
    results: Results
    directories: Sequence[Path]
    judged: Sequence[Judged]


def run(
    published: Published,
    kernel: KernelBuild,
    guest: Guest,
    out: Path,
    *,
    quick: bool,
    repeat: int | None,
    jobs: int,
    workers: Workers | None = None,
    show: Show,
    cancel: threading.Event,
) -> Reproduced:
    """Run the missing runs of an experiment, and read its result.

    Raises MptcplabError, after all other runs have ended, if a run failed.
    """
    runs = Store(out)
    part = _part(published, quick)
    settings = catalogue.settings(
        published, scheduler.known(), out / _DRIVES, part=part.name, repeat=repeat
    )
    _run_missing(
        settings, kernel, guest, runs, jobs=jobs, workers=workers, show=show, cancel=cancel
    )

    def directory(scenario: Scenario) -> str:
        return str(runs.directory(store.run_key(scenario, kernel, guest)).relative_to(out))

    file = _file(published, out, quick)
    store.make_directory(file.parent)
    document = {
        "experiment": published.name,
        "quick": quick,
        "axis": published.experiment.axis,
        "repeat": repeat or part.repeat,
        "digest": part.digest(),
        "build": {"kernel": kernel.id, "guest": guest.id, "mptcplab": __version__},
        "runs": [
            {
                "point": setting.point,
                "seed": setting.seed,
                "directory": directory(setting.scenario),
                "alone": {name: directory(item) for name, item in setting.alone.items()},
            }
            for setting in settings
        ],
    }
    store.write_json(file, document)
    return read(published, out, quick=quick)


def read(published: Published, out: Path, *, quick: bool) -> Reproduced:
    """The result of an experiment that was run before, its claims judged anew.

    Raises MptcplabError if it was not run, or the experiment has changed since.
    """
    file = _file(published, out, quick)
    again = f"mptcplab papers run {published.name}{' --quick' if quick else ''}"
    if not file.exists():
        raise MptcplabError(f"{file}: does not exist; to make it: {again}")
    document = documents.read(file, documents.REPRODUCED)
    if document.digest != _part(published, quick).digest():
        raise MptcplabError(f"{file}: {published.file} has changed since; to run it again: {again}")
    rows, entries = [], _Entries(out)
    try:
        for run in document.runs:
            alone = {name: entries[place] for name, place in run.alone.items()}
            metrics = published.experiment.metric
            rows.append(claims.row(metrics, run.point, run.seed, entries[run.directory], alone))
    except FormulaError as error:
        raise MptcplabError(f"{published.file}: {error}") from None
    results = claims.results(published.experiment, rows)
    return Reproduced(
        published,
        quick,
        document.repeat,
        document.build,
        results,
        [out / run.directory for run in document.runs],
        claims.judge(published, results),
    )


def has(published: Published, out: Path, *, quick: bool) -> bool:
    return _file(published, out, quick).exists()


class _Entries(dict[str, Entry]):
    """The entries of runs by their directory, each read once."""

    def __init__(self, out: Path) -> None:
        super().__init__()
        self._out = out

    def __missing__(self, directory: str) -> Entry:
        self[directory] = documents.read_entry(self._out / directory / store.RESULT)
        return self[directory]


def _run_missing(
    settings: Sequence[Setting],
    kernel: KernelBuild,
    guest: Guest,
    runs: Store,
    *,
    jobs: int,
    workers: Workers | None = None,
    show: Show,
    cancel: threading.Event,
) -> None:
    """Run the missing runs: baselines, too, and only once if several settings need the same run."""
    missing: dict[str, tuple[Setting, Scenario]] = {}
    for setting in settings:
        for item in (setting.scenario, *setting.alone.values()):
            key = store.run_key(item, kernel, guest)
            if key not in missing and not runs.has(key):
                missing[key] = setting, item
    if not missing:
        return
    # runs that play the same traces go together, since each keeps them
    groups: dict[int, list[Scenario]] = {}
    requests: dict[int, Request] = {}
    for setting, item in missing.values():
        traces = setting.request.traces
        group = next((n for n, other in requests.items() if other.traces == traces), len(groups))
        requests.setdefault(group, setting.request)
        groups.setdefault(group, []).append(item)
    failed: list[tuple[Scenario, str]] = []
    with show(len(missing)) as (progress, ended):
        before = 0
        for group, items in groups.items():
            experiment.run_all(
                items,
                kernel,
                guest,
                runs,
                traces=requests[group].traces,
                jobs=jobs,
                workers=workers,
                limits=Limits(wall_s=_WALL_LIMIT_S),
                progress=_shifted(progress, before, len(items), len(missing)),
                ended=_counted(ended, before, failed),
                cancel=cancel,
            )
            before += len(items)
    if failed:
        item, reason = failed[0]
        raise MptcplabError(
            f"{len(failed)} of {len(missing)} runs failed, the first with "
            f"{item.scheduler.label}, seed {item.seed}: {reason}"
        )


def _shifted(
    progress: experiment.Progress, before: int, count: int, total: int
) -> experiment.Progress:
    return lambda share: progress((before + share * count) / total)


def _counted(
    ended: experiment.Ended, before: int, failed: list[tuple[Scenario, str]]
) -> experiment.Ended:
    def counted(count: int, item: Scenario, entry: Entry) -> None:
        if entry.status != "ok":
            failed.append((item, str(entry.reason)))
        ended(before + count, item, entry)

    return counted


def _part(published: Published, quick: bool) -> catalogue.Part:
    return published.experiment.part(catalogue.QUICK if quick else catalogue.PUBLISHED)


def _file(published: Published, out: Path, quick: bool) -> Path:
    return out / f"{published.name}{'-quick' if quick else ''}.json"
