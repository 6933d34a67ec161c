# SPDX-License-Identifier: GPL-2.0-only
"""A part of `make oracle`: what the schedulers decide is what their sources would have decided."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.oracle.models import MODELS
from mptcplab.tools.oracle import Case, check

SCENARIOS = ("size-500k", "window-64k", "three-outage")


@pytest.mark.parametrize(("scheduler", "scenario"), itertools.product(MODELS, SCENARIOS))
def test_every_decision_is_that_of_the_source(
    scheduler: str, scenario: str, lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    verdict = check(Case(scenario, scheduler), lab_kernel, lab_guest, tmp_path)
    found = verdict.agreement
    assert not verdict.failures
    # 500 KB are 352 segments, each of which was asked for; the others send more
    assert found.decisions >= 352
    assert not found.differs, str(found.first)
