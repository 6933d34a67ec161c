# SPDX-License-Identifier: GPL-2.0-only
"""Calls at random, a few of them: `make fuzz` makes a million, in the debug kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.fuzz import FuzzCase, Result, perform
from checks.many import Builds
from mptcplab import resources
from mptcplab.lab import guest as guest_module
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild

CALLS = 10_000
#: Each process begins with calls whose results are certain (make_certain_calls() in calls.c).
PROCESSES = 8
#: What must have happened, not only been tried.
SUCCESSES = (
    *("accept", "bulk", "connect", "disconnect", "endpoint", "fork", "get_scheduler", "get_units"),
    *("open", "poll", "recv", "send", "sendfile", "sendmsg", "set_scheduler", "set_unit"),
    *("shutdown", "splice", "sysctl", "write"),
)
#: What must have been refused, and why.
REFUSALS = {
    "get_bad": "EFAULT",
    "mmap": "EIO",
    "reopen": "ENXIO",
    "set_option": "ENOENT",
    "set_scheduler": "EISCONN",
    "set_scheduler_bad": "ENOENT",
    "set_unit": "ENOTCONN",
    "set_unit_bad": "EFAULT",
}


@pytest.fixture(scope="module")
def builds(lab_kernel: KernelBuild, lab_guest: Guest) -> Builds:
    return Builds(lab_kernel, lab_guest, guest_module.build(resources.GUEST / "fuzz"))


def make_calls(seed: int, calls: int, builds: Builds, directory: Path) -> Result:
    directory.mkdir()
    result = perform(FuzzCase(seed, calls), builds, directory)
    assert result.failures == [], directory
    # a process looks whether it is enough before each row of up to 16 steps, of some 6 calls
    assert calls <= result.calls < calls + PROCESSES * 16 * 6
    few = [call for call in SUCCESSES if result.counts[call]["ok"] < PROCESSES]
    few += [call for call, why in REFUSALS.items() if result.counts[call][why] < PROCESSES]
    assert few == []
    return result


def test_the_kernel_bears_any_calls(
    request: pytest.FixtureRequest, builds: Builds, tmp_path: Path
) -> None:
    """Twice as many in the debug kernel, which looks at what they do to its memory and locks."""
    calls = CALLS * (1 + (request.config.getoption("--kernel-variant") == "debug"))
    make_calls(1, calls, builds, tmp_path / "run")


@pytest.mark.parametrize("seed", range(2, 6))
def test_each_kind_of_call_succeeds_and_is_refused_with_any_seed(
    builds: Builds, tmp_path: Path, seed: int
) -> None:
    """Also if there is no room for more than that: it takes some 500 calls."""
    make_calls(seed, 100 * seed, builds, tmp_path / "run")


def test_a_seed_makes_the_same_calls_with_the_same_results(builds: Builds, tmp_path: Path) -> None:
    first, again, other = (
        make_calls(seed, 2000, builds, tmp_path / str(number)).counts
        for number, seed in enumerate((3, 3, 4))
    )
    assert first == again != other
