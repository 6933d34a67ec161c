# SPDX-License-Identifier: GPL-2.0-only
"""What is kept of runs: an entry of each, and the JSON document of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mptcplab.metrics import inference
from mptcplab.metrics.application import APPLICATION_METRICS
from mptcplab.metrics.compute import PATH_METRICS, RUN_METRICS, RunMetrics, aggregation_benefit
from mptcplab.metrics.schema import Value
from mptcplab.metrics.views import shown_metrics
from mptcplab.spec.scenario import Scenario

Entry = dict[str, Any]
Document = dict[str, Any]


def run_entry(
    scenario: Scenario,
    *,
    status: str,
    reason: str | None = None,
    virtual_s: float | None,
    wall_s: float | None,
    run_metrics: RunMetrics | None,
    directory: str | None,
) -> Entry:
    """The part of the document on one run.

    `status` is "ok" or "failed", and then `reason` says why; `directory` holds the files of the
    run, relative to the directory of the report. All that a failed run has no figure for is
    None. A run of plain TCP says so, and over which path.
    """
    none: dict[str, Value] = {metric.name: None for metric in (*RUN_METRICS, *APPLICATION_METRICS)}
    if run_metrics is None:
        run_metrics = RunMetrics(
            metrics={},
            paths=[
                {**dict.fromkeys(metric.name for metric in PATH_METRICS), "name": path.name}
                for path in scenario.paths
            ],
        )
    entry: Entry = {
        "scheduler": scenario.scheduler.label,
        "cc": scenario.cc,
        "seed": scenario.seed,
    }
    if scenario.transport == "tcp" and not scenario.connections:
        entry |= {"transport": "tcp", "path": scenario.paths[0].name}
    entry["status"] = status
    if status != "ok":
        entry["reason"] = reason
    shared = {"connections": list(run_metrics.connections), "links": list(run_metrics.links)}
    return entry | {
        "virtual_s": virtual_s,
        "wall_s": wall_s,
        "data_packets": run_metrics.metrics.get("data_packets"),
        "metrics": none | run_metrics.metrics,
        "paths": [dict(path) for path in run_metrics.paths],
        **{key: values for key, values in shared.items() if values},
        "directory": directory,
    }


def document(
    runs: Sequence[Entry], baselines: Sequence[Entry], build: Mapping[str, Any], scenario: Scenario
) -> Document:
    """The JSON document of a comparison, runs and baselines in the order they are given in.

    Fills in the aggregation benefit of each run of bulk data that has, with its own congestion
    control and seed, a baseline over each path of `scenario`, and tells what the seeds say
    together. Only `wall_s` may differ between two documents of the same scenario.
    """
    runs = with_benefits(runs, baselines, scenario)
    return {
        "runs": runs,
        "baselines": list(baselines),
        "statistics": seed_statistics(runs, shown_metrics(scenario.workload.kind)),
        "build": dict(build),
        "scenario": scenario.model_dump(mode="json"),
    }


def with_benefits(
    runs: Sequence[Entry], baselines: Sequence[Entry], scenario: Scenario
) -> list[Entry]:
    """The same runs with their aggregation benefit, None without the baselines for it."""
    return [_with_benefit(run, baselines, scenario) for run in runs]


def _with_benefit(run: Entry, baselines: Sequence[Entry], scenario: Scenario) -> Entry:
    alone = {
        baseline["path"]: baseline["metrics"]["goodput_bps"]
        for baseline in baselines
        if all(baseline[key] == run[key] for key in ("cc", "seed"))
        and baseline["status"] == "ok"
        and baseline["metrics"]["goodput_bps"] is not None
    }
    benefit, goodput_bps = None, run["metrics"]["goodput_bps"]
    is_comparable = (
        scenario.workload.kind == "bulk" and run["status"] == "ok" and goodput_bps is not None
    )
    if is_comparable and all(path.name in alone for path in scenario.paths):
        benefit = aggregation_benefit(goodput_bps, [alone[path.name] for path in scenario.paths])
    return run | {"metrics": run["metrics"] | {"aggregation_benefit": benefit}}


def seed_statistics(runs: Sequence[Entry], metrics: Sequence[str]) -> dict[str, Any]:
    """Of each of some metrics, that of each scheduler over its seeds, and all differences.

    By the name of the metric; metrics that no run has are left out.
    """
    found: dict[str, Any] = {}
    for metric in metrics:
        values = by_seed(runs, metric)
        summaries = {
            scheduler: inference.summary(list(seeds.values()))
            for scheduler, seeds in values.items()
        }
        if any(summaries.values()):
            found[metric] = {
                "schedulers": {name: each and asdict(each) for name, each in summaries.items()},
                "differences": [
                    {"of": second, "from": first, **asdict(each)}
                    for (first, second), each in inference.differences(values).items()
                ],
            }
    return found


def by_seed(runs: Sequence[Entry], metric: str) -> dict[str, dict[int, Value]]:
    """A metric of the runs that ended well, by scheduler and by seed."""
    return {
        scheduler: {run["seed"]: run["metrics"][metric] for run in ended_well(own)}
        for scheduler, own in compared(runs).items()
    }


def compared(entries: Sequence[Entry], by: str = "scheduler") -> dict[str, list[Entry]]:
    """The entries of each scheduler, or of each path of baselines, in the order of the first.

    Where congestion controls are compared, too, they are of a scheduler and one of those.
    """
    several = len({entry["cc"] for entry in entries}) > 1
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        name = f"{entry[by]}, {entry['cc']}" if several else str(entry[by])
        found.setdefault(name, []).append(entry)
    return found


def ended_well(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of the runs that did not fail."""
    return [entry for entry in entries if entry["status"] == "ok"]
