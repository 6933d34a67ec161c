# SPDX-License-Identifier: GPL-2.0-only
"""What docs/upstream/rack-undo.md says of TCP: after an undo, lost packets wait for a timeout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mptcplab.lab.engine import Rig
from mptcplab.metrics import records, run_files
from mptcplab.runs import single
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import load_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "undo-after-outage.toml"


def longest_hole_s(rig: Rig, directory: Path, down_at: str) -> float:
    """After the outage: how long nothing arrived in order while 100 kB and more waited."""
    flags = Flags(event=(f"{down_at}:a:down,lasts=1500ms",))
    (scenario,) = load_file(EXAMPLE, flags, single=True).runs()
    directory.mkdir()
    outcome = single.run(scenario, rig, directory)
    samples = records.read_samples(directory / run_files.SERVER_SAMPLES).subflow
    after = int(outcome.guest["start_ns"]) + 1_900_000_000
    samples = samples[samples["time_ns"] >= after]
    longest_ns = since_ns = 0
    before = None
    for time_ns, received, waiting in zip(
        samples["time_ns"].astype(np.int64),
        samples["received_bytes"],
        samples["ofo_bytes"],
        strict=True,
    ):
        if received != before or waiting < 100_000:
            before, since_ns = received, int(time_ns)
        longest_ns = max(longest_ns, int(time_ns) - since_ns)
    return longest_ns / 1e9


def test_after_an_undo_lost_packets_wait_for_a_timeout(rig: Rig, tmp_path: Path) -> None:
    # A loss is repaired a round trip after it is noticed: 40 ms, and 121 ms in a full queue of 200
    # packets. An ACK after the outage is an RTT sample that is 1.8 s longer than the others: a
    # quarter of that goes into the mean deviation, and four deviations into the timeout.
    whole_round_trips_s = 2 * (0.040 + 0.121)
    assert 1.5 < longest_hole_s(rig, tmp_path / "before", "310ms") < 2.5
    assert longest_hole_s(rig, tmp_path / "after", "330ms") < whole_round_trips_s
