# SPDX-License-Identifier: GPL-2.0-only
"""Which way data flows, and when samples were taken: by records of a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mptcplab.metrics import recorded
from mptcplab.metrics.records import CONNECTION_DTYPE, LINK_DTYPE, SUBFLOW_DTYPE, Samples
from mptcplab.spec.workload import Bulk, Program
from tests.unit import synthetic
from tests.unit.synthetic import SECOND

PROGRAM = Program(client=("client",), directory="/", time_limit_ns=None)
NO_SUBFLOWS = np.zeros(0, SUBFLOW_DTYPE)


def made(times: Sequence[int], dtype: Any = CONNECTION_DTYPE, **fields: Any) -> Any:
    """The records of one connection or device at these times."""
    found = np.zeros(len(times), dtype)
    found["time_ns"] = times
    for name, value in fields.items():
        found[name] = value
    return found


@pytest.mark.parametrize(
    ("sent", "received", "way"),
    [
        ([[0, 5]], [[0, 5]], "up"),  # as much
        ([[0, 5]], [[0, 6]], "down"),
        ([[0, 6]], [[0, 5]], "up"),
        # in the end, and not before
        ([[0, 9, 9, 9]], [[0, 0, 1, 10]], "down"),
        ([[0, 0, 1, 10]], [[0, 9, 9, 9]], "up"),
        # of all connections: 8 and 7, 7 and 8, 0 and 1
        ([[0, 5], [0, 3]], [[0, 1], [0, 6]], "up"),
        ([[0, 1], [0, 6]], [[0, 5], [0, 3]], "down"),
        ([[0, 0], [0, 0]], [[0, 1], [0, 0]], "down"),
    ],
)
def test_data_of_a_program_flows_where_more_arrives(
    sent: list[list[int]], received: list[list[int]], way: str
) -> None:
    """The counters of each of the client's connections, at all of its samples."""
    parts = [
        made(range(len(acked)), connection=number, acked_bytes=acked, delivered_bytes=delivered)
        for number, (acked, delivered) in enumerate(zip(sent, received, strict=True), 1)
    ]
    client = Samples(np.concatenate(parts).astype(CONNECTION_DTYPE), NO_SUBFLOWS)
    assert recorded.measured_way(synthetic.scenario(workload=PROGRAM), client) == way


@pytest.mark.parametrize(("direction", "way"), [("up", "up"), ("down", "down"), ("both", "up")])
def test_data_of_other_workloads_flows_as_asked(direction: Any, way: str) -> None:
    workload = Bulk(duration_ns=SECOND, warmup_ns=0, direction=direction)
    scenario = synthetic.scenario(workload=workload)
    assert recorded.measured_way(scenario) == way
    # whatever the client's counters are
    for counter in ("acked_bytes", "delivered_bytes"):
        client = Samples(made([0, 1], **{counter: 1}), NO_SUBFLOWS)
        assert recorded.measured_way(scenario, client) == way


def test_samples_of_hosts_and_links_have_the_times_of_all() -> None:
    sides = {
        "client": Samples(made([1, 5]), made([7], SUBFLOW_DTYPE)),
        "server": Samples(made([5, 2]), NO_SUBFLOWS),
    }
    found = recorded.sample_times(sides, made([3, 1], LINK_DTYPE))
    assert found.tolist() == [1, 2, 3, 5]
    assert found.dtype == np.int64
