# SPDX-License-Identifier: GPL-2.0-only
"""The faults of docs/recovery.md, with recovery on and each scheduler, in the debug kernel.

A fault that it reports (memory, locks, undefined behaviour) is a run that failed. The sweep has
16 x 24 x 5 x 4 of them; here workloads and congestion controls take turns, so that each pair of
values of two axes is in some run.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from mptcplab.formulas.space import filled
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.runs import experiment, sweep
from mptcplab.scenario import resolve

FILE = Path(__file__).parents[2] / "examples" / "sweeps" / "recovery.toml"
GIVEN = sweep.load(FILE)
GRID = GIVEN.sweep.grid
CASES: dict[str, dict[str, Any]] = {str(case["name"]): case for case in GIVEN.sweep.case}

# What is as long as a minute, or ten, for the code: after 12.5 s the tries are no rarer (a 25th of
# the outage, at most 500 ms), and BBR's least RTT is old after 10 s; TCP's count of timeouts is at
# its end, 255, after 25 in 5 s, 25 ln 2.5 until 12.5 s, and two a second until 12.5 + 207 / 2 s,
# and a twentieth later with timers that are rounded up to ticks. TCP itself gives up after 924 s
# only, which the sweep does not reach either.
SHORTER_S: dict[float, float] = {60: 15, 600: 130}
# A packet takes this kernel 0.3 ms, so there are fewer: a fiftieth of the rates, which bulk data
# and videos fill, and less of what fills none. Either path still carries all of that. And a receive
# buffer that is full as soon as bulk data waits for a path that is away.
RATES = {"a": "2mbit", "b": "1.2mbit"}
SETTINGS = {"receive_buffer": "64KB", "sample_interval": "100ms"}
LESS: dict[str, dict[str, str]] = {
    "cbr": {"size": "4KB", "rate": "300kbit"},
    "requests": {"response": "4KB"},
    "pause": {"size": "200KB"},
}


def points() -> list[dict[str, Any]]:
    """Each fault with each scheduler, and all other pairs: see the test below."""
    found = []
    for i, name in enumerate(CASES):
        for j, scheduler in enumerate(GRID["scheduler"]):
            load, cc = (GRID[axis][(i + j) % len(GRID[axis])] for axis in ("load", "cc"))
            found.append({"case": name, "scheduler": scheduler, "load": load, "cc": cc})
    return found


def test_each_pair_of_values_is_in_some_run() -> None:
    axes: dict[str, list[Any]] = {
        "case": list(CASES),
        **{name: GRID[name] for name in ("scheduler", "load", "cc")},
    }
    for one, other in itertools.combinations(axes, 2):
        there = {(point[one], point[other]) for point in points()}
        assert len(there) == len(axes[one]) * len(axes[other])


@pytest.mark.parametrize("point", points(), ids=lambda point: "-".join(point.values()))
def test_a_fault_with_recovery(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path, point: dict[str, Any]
) -> None:
    case = CASES[point["case"]]
    away_s = SHORTER_S.get(case["away"], case["away"])
    values = {**case, "away": away_s, **point, "recovery": "on"}
    table = filled(GIVEN.template, values) | SETTINGS
    for path in table["path"]:
        path["rate"] = RATES[path["name"]]
    workload = table["workload"]
    workload |= LESS.get(point["load"], {})
    if "duration" in workload:
        # 5 s before the fault and after it, or three times of 5 s
        workload["duration"] = f"{10 + away_s if case['often'] == 10000 else 20}s"
    (scenario,) = resolve.from_table(table, str(FILE), folder=FILE.parent, single=True).runs()
    outcome = experiment.run(scenario, lab_kernel, lab_guest, tmp_path)
    assert outcome.guest["bytes_received"] == outcome.guest["bytes_written"]
