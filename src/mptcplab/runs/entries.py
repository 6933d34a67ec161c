# SPDX-License-Identifier: GPL-2.0-only
"""The entry of each run, which is its result, and the document of a comparison.

Both are models: documents, tables and the JSON Schema are made from them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from mptcplab.lab.choices import CURRENT as CURRENT
from mptcplab.metrics import inference
from mptcplab.metrics.compute import RunMetrics, aggregation_benefit
from mptcplab.metrics.definitions import (
    ConnectionFigures,
    LinkFigures,
    PathFigures,
    RunFigures,
    UdpFigures,
)
from mptcplab.metrics.schema import MOST, Real, Stored, Value, Whole
from mptcplab.metrics.views import shown_metrics
from mptcplab.scenario.model import Scenario

Count = Annotated[int, Field(ge=0, le=MOST)]

#: What stands for a scheduler where plain TCP is compared.
PLAIN_TCP = "plain TCP"

#: Figures within a thousandth are the same.
SAME = 1e-3


def wrong(message: str) -> PydanticCustomError:
    """The error that a validator raises."""
    return PydanticCustomError("stored", "{message}", {"message": message})


def _below(name: str) -> str:
    path = Path(name)
    if "\0" in name or path.is_absolute() or ".." in path.parts or not path.parts:
        raise wrong("Input should be a place below the directory of the document")
    return name


#: A document names only files beside it or below, since others may have written it.
Place = Annotated[str, AfterValidator(_below)]


def _unless(absent: object) -> Any:
    """A field with a default, which is not written while it has this value."""
    return Field(default=absent, exclude_if=lambda value: value == absent)


class Entry(Stored):
    """The result of a run.

    `reason` says why a run failed; its figures are null. A run of plain TCP has no `scheduler`, but
    the `path` that it takes. A scenario with several connections has `connections`. `links` are the
    directions of shared links and, if programs ran, of paths; `udp` are the directions of captured
    flows of UDP. `directory` has the files of the run, relative to the document. If programs ran,
    their exit statuses are here, and `no_figures` says why figures of connections are missing.
    `kernel` is the name under which the kernel was chosen. Only `wall_s` and `kernel` may differ
    between two runs of the same key; `wall_s` is null if the run was stored before.
    """

    scheduler: str | None
    cc: str
    kernel: str | None = _unless(None)
    seed: Count
    transport: Literal["mptcp", "tcp"] = _unless("mptcp")
    path: str | None = _unless(None)
    status: Literal["ok", "failed"]
    reason: str | None = _unless(None)
    virtual_s: Real = None
    wall_s: Real = None
    data_packets: Whole = None
    metrics: RunFigures
    paths: tuple[PathFigures, ...]
    connections: tuple[ConnectionFigures, ...] = _unless(())
    links: tuple[LinkFigures, ...] = _unless(())
    udp: tuple[UdpFigures, ...] = _unless(())
    directory: Place | None = None
    client_status: int | None = _unless(None)
    server_status: int | None = _unless(None)
    no_figures: str | None = _unless(None)

    @property
    def label(self) -> str:
        """Its scheduler, or that it is plain TCP."""
        return self.scheduler or PLAIN_TCP

    def labelled(self, of: str) -> Entry:
        """The same beside runs of other outputs or kernels, which its label and path then name."""
        path = None if self.path is None else f"{self.path} ({of})"
        update = {"scheduler": f"{self.label} ({of})", "path": path, "kernel": None}
        return self.model_copy(update=update)

    def result(self) -> dict[str, Any]:
        """The content of `result.json`: all that is the same for each run of the same key."""
        return self.model_dump(mode="json", exclude={"wall_s", "kernel"})


class Statistics(Stored):
    """The statistics of a metric: of each scheduler over its seeds, and of their differences."""

    schedulers: dict[str, inference.Summary | None]
    differences: tuple[dict[str, str | int | float | None], ...]


class FigureValue(Stored):
    """A figure in an expectation, with its unit."""

    value: float
    unit: str


class Expectation(Stored):
    """An expectation, and whether runs meet it (docs/expect.md).

    `held` is null if runs failed that it needs; `reason` says why a value is missing. `of` is the
    row of the table, if the expectation holds for each row, and `point` has the values of a sweep's
    axes. A comparison has both sides and their difference, in `unit`. `figures` are the figures in
    the formula, as it names them.
    """

    expectation: str
    of: str | None = _unless(None)
    point: dict[str, Any] = _unless({})
    held: bool | None
    left: float | None = None
    right: float | None = None
    difference: float | None = None
    unit: str = ""
    figures: dict[str, FigureValue] = Field(default={})
    reason: str | None = _unless(None)


class Document(Stored):
    """The document of a comparison, with runs and baselines in the order of the request.

    `statistics` are by the name of the metric. Only `wall_s` may differ between two documents of
    the same scenario and expectations.
    """

    runs: tuple[Entry, ...]
    baselines: tuple[Entry, ...]
    statistics: dict[str, Statistics] = Field(default={})
    expectations: tuple[Expectation, ...] = _unless(())
    build: dict[str, str]
    scenario: Scenario


def nothing_measured(scenario: Scenario) -> RunMetrics:
    """The figures of a run without any measurement."""
    return RunMetrics(RunFigures(), tuple(PathFigures(name=path.name) for path in scenario.paths))


def run_entry(
    scenario: Scenario,
    measured: RunMetrics | None = None,
    *,
    reason: str | None = None,
    virtual_s: float | None = None,
    wall_s: float | None = None,
    directory: str | None = None,
) -> Entry:
    """The entry of a run with its figures; a run with a `reason` failed, or was not made."""
    found = measured or nothing_measured(scenario)
    alone = scenario.transport == "tcp" and not scenario.connections
    return Entry(
        scheduler=None if alone else scenario.scheduler.label,
        cc=scenario.cc,
        seed=scenario.seed,
        transport="tcp" if alone else "mptcp",
        path=scenario.paths[0].name if alone else None,
        status="ok" if reason is None else "failed",
        reason=reason,
        virtual_s=virtual_s,
        wall_s=wall_s,
        data_packets=found.metrics.data_packets,
        directory=directory,
        **vars(found),
    )


def document(
    runs: Sequence[Entry], baselines: Sequence[Entry], build: Mapping[str, str], scenario: Scenario
) -> Document:
    """The document of a comparison.

    Adds the statistics, and the aggregation benefit of each run of bulk data with a baseline over
    each path of `scenario` that has the same congestion control, kernel and seed.
    """
    runs = with_benefits(runs, baselines, scenario)
    return Document(
        runs=tuple(runs),
        baselines=tuple(baselines),
        statistics=seed_statistics(runs, shown_metrics(scenario.workload.kind)),
        build=dict(build),
        scenario=scenario,
    )


def with_benefits(
    runs: Sequence[Entry], baselines: Sequence[Entry], scenario: Scenario
) -> list[Entry]:
    """The same runs with their aggregation benefit, None without its baselines."""
    return [_with_benefit(run, baselines, scenario) for run in runs]


def _with_benefit(run: Entry, baselines: Sequence[Entry], scenario: Scenario) -> Entry:
    alone = {
        baseline.path: baseline.metrics.goodput_bps
        for baseline in ended_well(baselines)
        if (baseline.cc, baseline.kernel, baseline.seed) == (run.cc, run.kernel, run.seed)
    }
    benefit, goodput_bps = None, run.metrics.goodput_bps
    singles = [alone.get(path.name) for path in scenario.paths]
    known = [single for single in singles if single is not None]
    is_comparable = scenario.workload.kind == "bulk" and run.status == "ok" and known == singles
    if is_comparable and goodput_bps is not None:
        benefit = aggregation_benefit(goodput_bps, known)
    metrics = run.metrics.model_copy(update={"aggregation_benefit": benefit})
    return run.model_copy(update={"metrics": metrics})


def seed_statistics(runs: Sequence[Entry], metrics: Sequence[str]) -> dict[str, Statistics]:
    """The statistics of some metrics, by their names; metrics that no run has are left out."""
    found: dict[str, Statistics] = {}
    for metric in metrics:
        values = by_seed(runs, metric)
        summaries = {
            scheduler: inference.summary(list(seeds.values()))
            for scheduler, seeds in values.items()
        }
        if any(summaries.values()):
            differences = (
                {"of": second, "from": first, **asdict(each)}
                for (first, second), each in inference.differences(values).items()
            )
            found[metric] = Statistics(schedulers=summaries, differences=tuple(differences))
    return found


def by_seed(runs: Sequence[Entry], metric: str) -> dict[str, dict[int, Value]]:
    """A metric of the successful runs, by scheduler and by seed."""
    return {
        scheduler: {run.seed: run.metrics[metric] for run in ended_well(own)}
        for scheduler, own in compared(runs).items()
    }


def compared(
    entries: Sequence[Entry], by: Literal["scheduler", "path"] = "scheduler"
) -> dict[str, list[Entry]]:
    """The entries of each scheduler, or of each path of baselines, in the order of the first.

    If congestion controls or kernels are compared, too, they are grouped by these as well.
    """
    ccs = len({entry.cc for entry in entries}) > 1
    kernels = len({entry.kernel for entry in entries}) > 1
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        of = entry.label if by == "scheduler" else str(entry.path)
        name = ", ".join(
            [of, *([entry.cc] if ccs else []), *([entry.kernel or CURRENT] if kernels else [])]
        )
        found.setdefault(name, []).append(entry)
    return found


def seeds_changed_nothing(values: Sequence[float]) -> bool:
    """Whether the figures of runs that differ only in their seeds are equal, to a thousandth.

    Then they are one sample, and their range says nothing.
    """
    return len(values) > 1 and max(values) - min(values) <= SAME * abs(statistics.median(values))


def ended_well(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of the runs that did not fail."""
    return [entry for entry in entries if entry.status == "ok"]
