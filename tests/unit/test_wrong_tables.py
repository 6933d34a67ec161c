# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios and sweeps in which one thing is wrong, whatever it is: they run or are refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.plan import plan
from mptcplab.runs import sweep
from mptcplab.scenario import resolve, scheduler
from tests.mutations import mutations

KERNEL = KernelBuild("k1", "lab", Path("/linux"), Path("/config"))
GUEST = Guest("g1", Path("/guest"))
EXAMPLES = Path(__file__).parents[2] / "examples"
SWEEP = """
repeat = 2
baselines = true
where = "rate > 6 or depth == 2"

[axis]
rate = "rate of the first path"

[grid]
rate = [5, 10]
"path.b.delay" = { start = "10ms", stop = "20ms", count = 2 }
cc = ["reno", "lia"]

[[case]]
name = "one"
depth = 1

[[case]]
name = "two"
depth = 2

[design]
kind = "random"
points = 2

[design.ranges]
loss = { low = 0.001, high = 0.01, scale = "log" }

[scenario]
scheduler = ["default", "minrtt:rp=off"]
workload.duration = "{depth}s"

[[scenario.path]]
name = "a"
rate = "{rate}mbit"
delay = "10ms"
loss = "{round(100 * loss, 4)}%"

[[scenario.path]]
if = "depth > 0"
name = "b"
rate = "10mbit"
delay = "20ms"

[[scenario.event]]
at = "100ms"
path = "a"
action = "down"
lasts = "100ms"
"""


KNOWN = scheduler.known()


def prepare(name: str, table: Any) -> None:
    """All that is done before a kernel starts."""
    if name == "sweep":
        given = sweep.from_table(table, "sweep.toml", EXAMPLES)
        sweep.plan(given, KNOWN, GUEST, lambda _name: KERNEL)
    else:
        plan.render(resolve.from_table(table, name, folder=EXAMPLES, known=KNOWN).runs()[0])


@pytest.mark.parametrize("name", ["sweep", *(file.name for file in EXAMPLES.glob("*.toml"))])
def test_what_is_wrong_is_reported(name: str) -> None:
    table = tomllib.loads(SWEEP if name == "sweep" else (EXAMPLES / name).read_text())
    prepare(name, table)
    found = [each for each in mutations(table) if isinstance(each[1], dict)]
    # a prime, so that all places get wrong values, and all values are somewhere
    for what, wrong in found[:: 13 if name == "sweep" else 31]:
        try:
            prepare(name, wrong)
        except InputError:
            continue
        except Exception as error:
            raise AssertionError(f"{name}: {what}") from error
