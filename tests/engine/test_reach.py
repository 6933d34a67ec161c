# SPDX-License-Identifier: GPL-2.0-only
"""What a program can reach of our code in the kernel gives it nothing that is not its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mptcplab.lab import kernel
from mptcplab.lab.choices import Limits
from mptcplab.metrics import run_files
from tests.vocabulary import RunProgram, output

REACH = Path(__file__).parent / "programs/reach.py"


#: The lines that the program prints; a kernel that reports something, or stops, raises.
Reach = Callable[[str], list[str]]


@pytest.fixture
def reach(run_program: RunProgram) -> Reach:
    def run(what: str) -> list[str]:
        command = [sys.executable, str(REACH), what]
        # A clock that stands still is what some of these would bring about: a short patience.
        limits = Limits(stall_cpu_s=10.0)
        outcome = run_program(command, paths=["a:10mbit,5ms"], time_limit_s=60, limits=limits)
        assert output(outcome, run_files.CLIENT_ERRORS) == ""
        assert outcome.guest["client_status"] == 0
        return output(outcome).splitlines()

    return run


def test_the_name_of_a_scheduler_is_all_that_is_reported(reach: Reach) -> None:
    said = reach("behind_a_name")
    assert sorted(said) == sorted(f"{name} nothing" for name in kernel.schedulers())


def test_a_namespace_that_ends_is_not_held_by_its_files(reach: Reach) -> None:
    """As seq_file does, which mptcp_drop is."""
    said = reach("ended_namespace")
    assert said == ["mptcp_decisions ENXIO", "mptcp_probe ENXIO", "mptcp_drop ENXIO"]


def test_a_probe_samples_what_is_to_come_and_its_own_namespace(reach: Reach) -> None:
    """In 10 s there were 100,000 intervals of 100 us: none of them is caught up with."""
    assert reach("probe") == [
        "0 100000 0 ok",
        "0 9999 0 EINVAL",
        "0 0 0 EINVAL",
        f"1 {2**64 - 1} 0 EINVAL",
        f"{2**63} 100000 0 EINVAL",
        "links ok",
        "links without CAP_NET_ADMIN EPERM",
    ]
