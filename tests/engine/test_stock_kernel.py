# SPDX-License-Identifier: GPL-2.0-only
"""A run on Debian's own kernel, in a virtual machine: as any other, but for what sockets tell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mptcplab.errors import MachineError
from mptcplab.lab import doctor, guest, stock_package
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import sockets
from mptcplab.plan.plan import CLIENT_CAPTURE
from mptcplab.runs import documents, experiment, store
from mptcplab.runs.store import Store
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags


@pytest.fixture(scope="module")
def debian() -> KernelBuild:
    """The package that `make setup-stock` downloads."""
    for program in doctor.STOCK_CHECKS:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed: {stock_package.SETUP}")
    try:
        (package,) = stock_package.newest(["cloud"])
    except MachineError as error:
        pytest.skip(str(error))
    return stock_package.unpacked([package])


def test_a_run_on_a_distributions_kernel(debian: KernelBuild, tmp_path: Path) -> None:
    request = resolve.from_flags(
        Flags(path=["a:10mbit,10ms", "b:10mbit,10ms"], size="2MB", repeat="1", pcap=True)
    )
    made = experiment.compare(request, debian, guest.build(), tmp_path, baseline=False, jobs=1)
    (run,) = made.runs
    assert (run.status, run.kernel, run.scheduler) == ("ok", debian.name, "default")
    # from the start on: more than one path can carry, and at most what both can of data in segments
    # of 1428 bytes, in frames of 1514
    assert run.metrics.goodput_bps is not None
    assert 10e6 < run.metrics.goodput_bps < 20e6 * 1428 / 1514
    assert {run.metrics[name] for name in sockets.UNKNOWN} == {None}
    directory = Store(tmp_path).directory(store.run_key(request.base, debian, guest.build()))
    assert debian.stock is not None
    built = documents.read_json(str(directory / store.BUILD))
    assert built["package"] == f"{debian.stock.package} {debian.stock.version}"
    # what QEMU was given and what it sent is not kept, a capture is
    assert {file.name for file in directory.iterdir()} == {
        *(*store.DOCUMENTS, "plan.txt", "console.txt", "guest.json", CLIENT_CAPTURE),
        *("client.samples", "server.samples", "messages.records"),
    }
