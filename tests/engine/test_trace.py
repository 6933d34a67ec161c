# SPDX-License-Identifier: GPL-2.0-only
"""The trace of a scheduler's decisions agrees with what the kernel counts, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from mptcplab.metrics import records, run_files
from mptcplab.metrics.records import Records
from tests.vocabulary import Run, RunScenario

PATHS = ("a:20mbit,10ms,loss=0.5%", "b:10mbit,30ms")
COUNTED = {"new": "new_segments", "reinjection": "reinjections", "duplicate": "duplicates"}


def kind(decisions: Records, name: str) -> Records:
    return records.select(decisions, decisions["kind"] == records.DECISIONS.index(name))


def until(decisions: Records, times: Records) -> np.ndarray:
    """How many decisions there were before each of these times, at which samples come first."""
    return np.searchsorted(decisions["time_ns"], times, side="left")


def samples_of(run: Run) -> list[bytes]:
    return [
        (run.outcome.directory / name).read_bytes()
        for name in (run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES)
    ]


def test_a_trace_changes_nothing(run_scenario: RunScenario) -> None:
    without = run_scenario(*PATHS, scheduler="roundrobin", duration="3s")
    traced = run_scenario(*PATHS, scheduler="roundrobin", duration="3s", decisions=True)
    assert samples_of(traced) == samples_of(without)
    assert not (without.outcome.directory / run_files.CLIENT_DECISIONS).exists()


@pytest.mark.parametrize("scheduler", ["roundrobin", "redundant"])
def test_every_pick_that_is_counted_is_in_the_trace(
    run_scenario: RunScenario, scheduler: str
) -> None:
    run = run_scenario(*PATHS, scheduler=scheduler, duration="3s", decisions=True)
    decisions = run.decisions()
    assert set(decisions["connection"]) == {1}
    for number in (0, 1):
        subflow = run.client.subflow[run.client.subflow["n"] == number]
        mine = records.select(decisions, decisions["subflow"] == number + 1)
        for name, counter in COUNTED.items():
            # from T0 on, when the trace begins and the first sample is taken
            counted = subflow[counter] - subflow[counter][0]
            assert until(kind(mine, name), subflow["time_ns"]).tolist() == counted.tolist(), name
    waits = run.client.connection["waits"]
    assert (
        until(kind(decisions, "wait"), run.client.connection["time_ns"]).tolist()
        == (waits - waits[0]).tolist()
    )


def test_new_segments_follow_each_other_without_a_gap(run_scenario: RunScenario) -> None:
    run = run_scenario(*PATHS, scheduler="roundrobin", size="2MB", decisions=True)
    new = kind(run.decisions(), "new")
    # after the 8 bytes of the greeting
    assert new["seq"][0] == 8
    ends = new["seq"] + new["length"]
    assert new["seq"][1:].tolist() == ends[:-1].tolist()
    assert int(ends[-1]) == 8 + 2_000_000
    assert set(np.unique(new["subflow"])) == {1, 2}


def test_a_copy_comes_after_what_it_is_a_copy_of(run_scenario: RunScenario) -> None:
    run = run_scenario(*PATHS, scheduler="redundant", size="1MB", decisions=True)
    decisions = run.decisions()
    ends = decisions["seq"] + decisions["length"]
    is_new = decisions["kind"] == records.DECISIONS.index("new")
    is_copy = decisions["kind"] == records.DECISIONS.index("duplicate")
    # new segments are in order: all below the end of the last one has been sent once
    sent_once = np.maximum.accumulate(np.where(is_new, ends, 0))
    assert is_copy.any()
    assert (ends[is_copy] <= sent_once[is_copy]).all()
