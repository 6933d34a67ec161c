# SPDX-License-Identifier: GPL-2.0-only
"""Calls at random, a few of them: `make fuzz` makes a million, in the debug kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.lab import guest as guest_module
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.tools.fuzz import Case, Result, perform
from mptcplab.tools.many import Builds

# so many that each of them succeeds at least once, whichever of the schedulers are drawn
CALLS = 20_000
#: What must have happened, not only been tried.
SUCCESSES = (
    *("accept", "bulk", "connect", "disconnect", "endpoint", "fork", "get_scheduler", "get_units"),
    *("open", "poll", "recv", "send", "sendfile", "set_scheduler", "set_unit", "splice"),
    *("sysctl", "write"),
)
#: What must have been refused, and why.
REFUSALS = {
    "get_bad": "EFAULT",
    "mmap": "EIO",
    "reopen": "ENXIO",
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
    result = perform(Case(seed, calls), builds, directory)
    assert result.failures == [], directory
    # the processes notice that it is enough when each has made some more
    assert calls <= result.calls < 1.1 * calls
    return result


def test_the_kernel_bears_any_calls(
    request: pytest.FixtureRequest, builds: Builds, tmp_path: Path
) -> None:
    """Twice as many in the debug kernel, which looks at what they do to its memory and locks."""
    calls = CALLS * (1 + (request.config.getoption("--kernel-variant") == "debug"))
    result = make_calls(1, calls, builds, tmp_path / "run")
    assert [call for call in SUCCESSES if not result.counts[call]["ok"]] == []
    assert [
        (call, error) for call, error in REFUSALS.items() if not result.counts[call][error]
    ] == []


def test_a_seed_makes_the_same_calls_with_the_same_results(builds: Builds, tmp_path: Path) -> None:
    first, again, other = (
        make_calls(seed, 2000, builds, tmp_path / str(number)).counts
        for number, seed in enumerate((3, 3, 4))
    )
    assert first == again != other
