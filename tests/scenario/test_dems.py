# SPDX-License-Identifier: GPL-2.0-only
"""Runs with dems: a chunk is sent from both ends, and both paths complete it together."""

from __future__ import annotations

import statistics

import numpy as np

from tests.vocabulary import RunScenario

PATHS = ("near:20mbit,10ms", "far:10mbit,40ms")
#: The kind of a decision for new data (mpsched.h).
NEW = 1


def test_a_file_is_complete_sooner_than_with_minrtt(run_scenario: RunScenario) -> None:
    # With minrtt the last segments leave on whatever path has room: those on the far one arrive up
    # to its queue later, half of a round trip of 80 ms, than the near path could have had them.
    medians = [
        statistics.median(
            run_scenario(*PATHS, scheduler=scheduler, size="1MB", seed=seed).goodput_bps
            for seed in range(1, 6)
        )
        for scheduler in ("dems", "minrtt")
    ]
    print([f"{each / 1e6:.2f} Mbit/s" for each in medians])
    assert medians[0] > 1.1 * medians[1]


def test_the_far_path_sends_from_the_end(run_scenario: RunScenario) -> None:
    # All of 200 KB are written at once: a chunk, as far as the receive window of 64 KB at the
    # beginning admits. So the far path's first segment is nearly that far behind the near one's.
    run = run_scenario(*PATHS, scheduler="dems", size="200KB", decisions=True)
    made = run.decisions()
    fresh = made[made["kind"] == NEW]
    first = {int(number): int(np.argmax(fresh["subflow"] == number)) for number in (1, 2)}
    assert int(fresh["seq"][first[2]]) - int(fresh["seq"][first[1]]) >= 32 * 1024
