# SPDX-License-Identifier: GPL-2.0-only
"""What holds for each scheduler: no byte is lost, whatever happens to the paths.

The sink compares every byte with the pattern; a run whose bytes differ, or that does not end, has
failed. So a run that comes back has delivered all that was written.
"""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from mptcplab.lab import kernel
from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario

OURS = [name for name in kernel.schedulers() if name != "default"]
FULL = ["minrtt", "roundrobin", "blest", "ecf", "otias", "sttf", "inorder", "stms", "raven", "dems"]
FULL += ["earliest", "burst", "overflow"]
# as published they do not, and neither does thinstream: docs/schedulers says why
FULL += ["timetable", "proportional"]

#: By which part of what both paths carry they fill them at least.
OF_IDEAL = {"raven": 0.95, "dems": 0.95}

PATHS = ("a:20mbit,10ms", "b:10mbit,25ms")
TROUBLES: dict[str, dict[str, Any]] = {
    "no loss": {},
    "loss": {"path": ("a:20mbit,10ms,loss=1%", "b:10mbit,25ms,loss=1%")},
    "first path down for 3 s": {"event": ("2s:a:down", "5s:a:up")},
    "second path down for 3 s": {"event": ("2s:b:down", "5s:b:up")},
    "both paths down": {"event": ("2s:a:down", "3s:b:down", "5s:a:up", "6s:b:up")},
    "second path closed": {"event": ("2s:b:close",)},
    "first path closed": {"event": ("2s:a:close",)},
    "addresses return, and a cable": {
        "event": ("2s:a:close,lasts=1s", "4s:b:close,lasts=1s", "6s:a:unplug,lasts=1s")
    },
    "receive buffer of 64 KB": {"receive_buffer": "64KB"},
    "receive buffer of 8 KiB": {"receive_buffer": "8KiB"},
}


#: Clocked by the ACKs of a subflow that has nothing in flight then: the framework picks for it.
FORCED = {("timetable", trouble) for trouble in TROUBLES if "buffer" in trouble}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("scheduler", OURS)
def test_every_byte_arrives(run_scenario: RunScenario, scheduler: str, trouble: str) -> None:
    flags = dict(TROUBLES[trouble])
    paths = flags.pop("path", PATHS)
    run = run_scenario(*paths, scheduler=scheduler, duration="10s", **flags)
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    # the other path, 10 Mbit/s at the least, has 5 of the 10 s for itself and for what was lost;
    # of 8 KiB half is window, and at least one segment leaves in each round trip of the slower path
    # with a delayed ACK, 50 + 40 ms
    least_bps = 1424 * 8 / 0.090 if "8 KiB" in trouble else 2e6
    assert run.goodput_bps >= least_bps
    metrics = run.figures.metrics
    assert metrics["refused_picks"] == 0
    assert bool(metrics["forced_picks"]) == ((scheduler, trouble) in FORCED)


@pytest.mark.parametrize(
    "paths",
    [("a:100mbit,10ms", "b:50mbit,20ms"), ("a:50mbit,10ms", "b:50mbit,10ms")],
    ids=["100+50", "50+50"],
)
@pytest.mark.parametrize("scheduler", FULL)
def test_bulk_data_fills_both_paths(
    run_scenario: RunScenario, scheduler: str, paths: tuple[str, str]
) -> None:
    ours = run_scenario(*paths, scheduler=scheduler, duration="20s")
    default = run_scenario(*paths, scheduler="default", duration="20s")
    assert ours.goodput_bps >= 0.97 * default.goodput_bps
    assert ours.goodput_bps >= OF_IDEAL.get(scheduler, 0) * ideal_goodput_bps(ours.scenario)


@pytest.mark.parametrize("scheduler", ["raven", "dems"])
def test_three_paths_with_losses_and_outages(run_scenario: RunScenario, scheduler: str) -> None:
    # 20 Mbit/s for 5 of 10 s, with 1 % of loss: half of that is left to the timeouts.
    run = run_scenario(
        *("a:20mbit,10ms,loss=1%", "b:10mbit,25ms,loss=1%", "c:5mbit,60ms"),
        scheduler=scheduler,
        duration="10s",
        event=("2s:a:down", "3s:b:down", "5s:a:up", "6s:b:up"),
    )
    assert run.outcome.guest["bytes_received"] == run.outcome.guest["bytes_written"]
    assert run.goodput_bps >= 5e6


@pytest.mark.parametrize("scheduler", ["stms", "earliest"])
def test_outages_are_survived(run_scenario: RunScenario, scheduler: str) -> None:
    # Of 10 s the other two carry 15 Mbit/s at the least for 3, and all 35 for 7; a third of that is
    # for the timeouts and slow starts.
    used = []
    for path in ("near", "far"):
        run = run_scenario(
            *("near:20mbit,10ms", "far:10mbit,40ms", "third:5mbit,60ms"),
            scheduler=scheduler,
            duration="10s",
            event=(f"2s:{path}:down", f"5s:{path}:up"),
        )
        assert run.figures.metrics["forced_picks"] == 0
        used.append(run.goodput_bps)
    assert statistics.mean(used) >= 10e6
