# SPDX-License-Identifier: GPL-2.0-only
"""What is said of a scheduler that was overruled."""

from __future__ import annotations

import numpy as np

from mptcplab.metrics import overruled
from mptcplab.metrics.records import CONNECTION_DTYPE, SUBFLOW_DTYPE, Samples

NONE = {
    "refused_picks": 0,
    "forced_picks": 0,
    "forced_reinjections": 0,
    "deferred_questions": 0,
    "refused_calls": 0,
}


def test_there_is_a_line_for_each_counter_that_is_not_0() -> None:
    assert overruled.lines("mine", [NONE]) == []
    for name in NONE:
        (line,) = overruled.lines("mine", [NONE | {name: 12}])
        assert line.startswith("mine: ")
        assert " 12 times" in line
    assert len(overruled.lines("mine", [dict.fromkeys(NONE, 1)])) == len(NONE)


def test_the_runs_are_taken_together() -> None:
    runs = [NONE | {"refused_picks": 1}, NONE, NONE | {"refused_picks": 2}]
    said = "next_segment() picked what makes no sense"
    assert overruled.lines("mine", runs) == [f"mine: {said} 3 times: refused."]
    assert overruled.lines("mine", runs[:2]) == [f"mine: {said} once: refused."]


def test_counters_are_those_of_all_connections_at_their_last_samples() -> None:
    records = np.zeros(4, CONNECTION_DTYPE)
    records["connection"] = (1, 2, 1, 2)
    records["forced"] = (1, 10, 2, 0)  # the second one is closed
    records["refused_calls"] = (0, 0, 5, 0)
    one = Samples(records, np.zeros(0, SUBFLOW_DTYPE))
    none = Samples(np.zeros(0, CONNECTION_DTYPE), np.zeros(0, SUBFLOW_DTYPE))
    assert overruled.counts([one, none]) == NONE | {"forced_picks": 12, "refused_calls": 5}
