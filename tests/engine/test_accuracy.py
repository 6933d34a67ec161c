# SPDX-License-Identifier: GPL-2.0-only
"""Links do what they are asked for, within the bounds that docs/limitations.md promises."""

from __future__ import annotations

from pathlib import Path

from mptcplab.tools import accuracy
from mptcplab.uml.guest import Guest
from mptcplab.uml.kernel import KernelBuild


def test_some_of_the_grid_is_within_the_bounds(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    rows = accuracy.measure(accuracy.settings(quick=True), lab_kernel, lab_guest, tmp_path)
    assert [row for row in rows if not row.holds] == []
    # some of every kind, those that are promised for delay and rate among them
    groups = {row.setting.group.partition(",")[0] for row in rows}
    assert {"delay", "rate", "loss", "queue in packets", "queue in bytes", "reordering"} <= groups
    delays = [row for row in rows if row.setting.group.startswith("delay, netem")]
    # a clock that a process has just read is 256 ns ahead, and each of two processes may be
    assert all(abs(row.error) < 2e-3 for row in delays)
