# SPDX-License-Identifier: GPL-2.0-only
"""Faults that are put into Linux are found, with real kernels and runs; `make bisect-check` is the
same with a hundred. What is drawn is the same each time, and so are the kernels of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.tools import bisect_check
from mptcplab.tools.bisect_check import FAULTS, Linux

pytestmark = pytest.mark.kernel

#: Cases with a merge, commits that do not build, and ones that our patches do not fit.
SEEDS = (1, 6)


@pytest.fixture(scope="module")
def linux() -> Linux:
    return Linux()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_a_change_of_the_source(linux: Linux, fault: bisect_check.Fault) -> None:
    assert linux.texts[fault.file].count(fault.right) == 1


def test_faults_are_found(linux: Linux, tmp_path: Path) -> None:
    formula = bisect_check.formula_of(linux, tmp_path / "base")
    for seed in SEEDS:
        outcome = bisect_check.bisected(linux, seed, formula, tmp_path / "out")
        assert not outcome.is_wrong, f"{bisect_check.line(seed, outcome)}\n{outcome.said}"
        assert outcome.is_found or outcome.skipped
