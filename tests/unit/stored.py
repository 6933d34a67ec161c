# SPDX-License-Identifier: GPL-2.0-only
"""Synthetic runs as a store keeps them, for what reads runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mptcplab.metrics.compute import run_metrics
from mptcplab.metrics.definitions import RunFigures
from mptcplab.runs import entries, store
from mptcplab.scenario.model import Scenario
from tests.unit import synthetic
from tests.unit.synthetic import MS, SECOND, Flow

BUILD = {"kernel": "6.12-a", "guest": "b", "mptcplab": "0"}


def scenario(rates_bps: Sequence[int] = (40_000_000, 10_000_000), **fields: Any) -> Scenario:
    """2 s long, with few samples, so that there can be many."""
    defaults: dict[str, Any] = {
        "duration_ns": 2 * SECOND,
        "warmup_ns": 0,
        "sample_interval_ns": 100 * MS,
    }
    return synthetic.scenario(rates_bps, **{**defaults, **fields})


def keep(out: Path, of: Scenario, *flows: Flow) -> entries.Entry:
    """Store a run whose subflows do what the flows say; gives its entry."""
    name = f"{of.transport}{len(list(out.glob('runs/*'))):04}"
    directory = out / "runs" / name
    directory.mkdir(parents=True)
    client, server = synthetic.run(*flows, duration_ns=2 * SECOND, interval_ns=100 * MS)
    synthetic.write(client, directory / "client.samples")
    synthetic.write(server, directory / "server.samples")
    guest = synthetic.guest(2 * SECOND)
    entry = entries.run_entry(
        of,
        run_metrics(of, client, server, guest),
        virtual_s=2.0,
        wall_s=0.1,
        directory=f"runs/{name}",
    )
    store.write_json(directory / "guest.json", guest)
    store.write_json(directory / store.SCENARIO, of)
    store.write_json(directory / store.RESULT, entry.result())
    store.write_json(directory / store.BUILD, BUILD)
    return entry


def with_figures(entry: entries.Entry, **figures: float | None) -> entries.Entry:
    """The same run with other figures."""
    metrics = RunFigures(**{**dict(entry.metrics), **figures})
    return entry.model_copy(update={"metrics": metrics})


def fail(out: Path, key: str, of: Scenario) -> dict[str, Any]:
    """Store that a run failed; gives what is kept of it."""
    about = {"entry": entries.run_entry(of, reason="no power"), "scenario": of, "build": BUILD}
    store.Store(out).keep_failed(key, about)
    return about
