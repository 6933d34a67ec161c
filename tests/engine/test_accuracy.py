# SPDX-License-Identifier: GPL-2.0-only
"""Links do what they are asked for, within the bounds that docs/limitations.md promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from checks import accuracy
from checks.accuracy import MeteredPath
from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.plan import plan
from tests.vocabulary import scenario_of


def test_some_of_the_grid_is_within_the_bounds(rig: Rig, tmp_path: Path) -> None:
    groups: dict[str, list[MeteredPath]] = {}
    for each in accuracy.settings(20_000):
        groups.setdefault(each.group, []).append(each)
    # the first, the middle and the last of each kind, which take seconds
    places = ((own, sorted({0, (len(own) - 1) // 2, len(own) - 1})) for own in groups.values())
    wanted = [own[i] for own, numbers in places for i in numbers]
    rows = accuracy.measure(wanted, rig.kernel, rig.guest, tmp_path)
    assert [row for row in rows if not row.holds] == []
    # some of every kind, those that are promised for delay and rate among them
    kinds = {row.setting.group.partition(",")[0] for row in rows}
    assert {"delay", "rate", "loss", "queue in packets", "queue in bytes", "reordering"} <= kinds
    delays = [row for row in rows if row.setting.group.startswith("delay, netem")]
    # a clock that a process has just read is 256 ns ahead, and each of two processes may be
    assert all(abs(row.error) < 2e-3 for row in delays)


def test_what_a_path_loses_depends_on_the_seed_alone(rig: Rig, tmp_path: Path) -> None:
    """Not on what else the plan has, so that settings are compared under the same losses."""

    def lost(*more: str, seed: int = 1, loss: str = "10%") -> set[int]:
        scenario = scenario_of(f"a:100mbit,1ms,loss={loss}", *more, seed=str(seed))
        lines = ["ip netns exec client meter server 10.1.1.1 1000 84 100000 a.meter"]
        directory = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        text = plan.render_measurements(scenario, lines)
        engine.run(scenario, text, rig, directory, cpu=0)
        sent = np.fromfile(directory / "a.meter", accuracy.RECORD)
        # the first of them meet a link that has just come up
        return {int(record["number"]) for record in sent[100:] if not record["copies"]}

    alone = lost()
    assert alone
    assert lost("b:50mbit,20ms,loss=2%,queue=100,queue_discipline=codel") == alone
    # of more
    assert lost(loss="20%") > alone
    assert lost(seed=2) != alone
