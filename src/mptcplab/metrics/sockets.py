# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose samples are only what sockets tell any program, as on a distribution's kernel.

These records lack `ofo_bytes`, `written_bytes`, `window_bytes` of the connection, `flags`,
`blocked_us`, `blocks` and `blocking_us`, which are 0 there, and there are none of links. What is
computed from these is unknown, not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mptcplab.metrics.compute import STATE_METRICS, RunMetrics
from mptcplab.metrics.records import Records, Samples, select
from mptcplab.scenario.model import Scenario

#: The figures of a run, and of a path, that such records do not give.
UNKNOWN = (
    *("ofo_bytes_mean", "ofo_bytes_p50", "ofo_bytes_p95", "ofo_bytes_p99"),
    *("blocked_share", "blocks", "longest_gap_s", "duplicate_bytes"),
    *("receive_window_bytes_mean", "limited_by_window"),
)
UNKNOWN_OF_PATH = (
    *("ofo_bytes_mean", "ofo_bytes_p99", "blocking_share"),
    *STATE_METRICS.values(),
)


def known(found: RunMetrics) -> RunMetrics:
    """The same figures without those that are unknown."""
    unknown = dict.fromkeys(UNKNOWN)
    of_path = dict.fromkeys(UNKNOWN_OF_PATH)
    return replace(
        found,
        metrics=found.metrics.model_copy(update=unknown),
        paths=tuple(path.model_copy(update=of_path) for path in found.paths),
    )


def until_the_end(
    scenario: Scenario, start_ns: int, samples: Mapping[str, Samples]
) -> dict[str, Samples]:
    """Only what the lab's probe would sample: what is sent after the end does not belong to the
    run.

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
