# SPDX-License-Identifier: GPL-2.0-only
"""The schedulers as modules on an unmodified Debian kernel: the smallest part of `make vm-test`."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from checks.vm import cells, machine, runs
from checks.vm.cells import Cell
from mptcplab.errors import MachineError
from mptcplab.lab.engine import Watch

SERIES, CPUS = cells.SERIES[0], 2
#: The last one has the modules of all others go and come back under its connections.
LOADS = {"minrtt": "bulk", "overflow": "messages", "blest": "writes", "roundrobin": "reload"}


def test_modules_load_carry_and_unload(tmp_path: Path) -> None:
    try:
        machine.require()
    except MachineError as error:
        pytest.skip(str(error))
    wanted = [Cell(scheduler, load, SERIES, CPUS) for scheduler, load in LOADS.items()]
    (boot_cells,) = cells.with_ends(wanted).values()
    boot = runs.Boot(machine.parts(SERIES), boot_cells, tmp_path)
    runs.perform(boot, Watch(cancel=threading.Event()))
    results = boot.kept()
    assert [result.cell for result in results] == boot_cells
    assert [str(result) for result in results if result.failures] == []
    # of two paths, these two use both
    for result in results:
        if result.cell.scheduler in ("minrtt", "roundrobin"):
            assert min(result.carried) > 100_000
