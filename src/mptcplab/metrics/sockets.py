# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose samples have only what sockets report to any program, as on a distribution's kernel.

These records lack `ofo_bytes`, `written_bytes`, `window_bytes` of the connection, `flags`,
`blocked_us`, `blocks`, `blocking_us` and the counts of decisions, which are 0 there, and no link
has records. Figures that need them are unknown, not 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from mptcplab.metrics.compute import RunMetrics
from mptcplab.metrics.definitions import PATH_METRICS, RUN_METRICS, RunFigures
from mptcplab.metrics.records import Records, Samples, select
from mptcplab.metrics.schema import Metric, Trait
from mptcplab.scenario.model import Scenario

_LACKING = (Trait.PROBE, Trait.DECISIONS)


def names(metrics: Iterable[Metric], traits: Collection[Trait] = _LACKING) -> list[str]:
    """The names of the figures that have one of these traits."""
    return [metric.name for metric in metrics if {*traits} & {*metric.traits}]


#: The figures of a run that such records do not give.
UNKNOWN = names(RUN_METRICS)


def known(found: RunMetrics, lacking: Collection[Trait] = _LACKING) -> RunMetrics:
    """The same figures without those that have a `lacking` trait."""
    run, path = (dict.fromkeys(names(metrics, lacking)) for metrics in (RUN_METRICS, PATH_METRICS))

    def known_of(each: RunFigures) -> RunFigures:
        return each.model_copy(update=run)

    return replace(
        found,
        metrics=known_of(found.metrics),
        paths=tuple(each.model_copy(update=path) for each in found.paths),
        connections=tuple(
            each.model_copy(update={"metrics": known_of(each.metrics)})
            for each in found.connections
        ),
    )


def until_the_end(
    scenario: Scenario, start_ns: int, samples: Mapping[str, Samples]
) -> dict[str, Samples]:
    """The samples until the end of the workload, as the lab's probe takes them.

    Samples of a socket go on until the connection is closed.
    """
    if scenario.workload.duration_ns is None:
        return dict(samples)
    last_ns = start_ns + scenario.workload.duration_ns

    def until(found: Records) -> Records:
        return select(found, found["time_ns"] <= last_ns)

    return {
        host: Samples(until(each.connection), until(each.subflow)) for host, each in samples.items()
    }
