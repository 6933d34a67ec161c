# SPDX-License-Identifier: GPL-2.0-only
"""What a program can reach of our code in the kernel gives it nothing that is not its own."""

from __future__ import annotations

import sys
from pathlib import Path

from mptcplab.lab import kernel
from mptcplab.lab.choices import Limits
from mptcplab.lab.guest import Guest
from mptcplab.lab.kernel import KernelBuild
from mptcplab.metrics import run_files
from mptcplab.runs import experiment
from mptcplab.runs.program import find
from mptcplab.scenario.workload import Program
from tests.vocabulary import scenario_of

REACH = Path(__file__).parent / "programs/reach.py"


def reach(what: str, built: KernelBuild, guest: Guest, directory: Path) -> list[str]:
    """The lines that the program prints; a kernel that reports something, or stops, raises."""
    program = Program(
        client=find([sys.executable, str(REACH), what]),
        directory="/",
        time_limit_ns=60 * 10**9,
        records=False,
    )
    scenario = scenario_of("a:10mbit,5ms", program=program)
    # A clock that stands still is what some of these would bring about: a short patience.
    outcome = experiment.run(scenario, built, guest, directory, limits=Limits(stall_cpu_s=10.0))
    assert (directory / run_files.CLIENT_ERRORS).read_text() == ""
    assert outcome.guest["client_status"] == 0
    return (directory / run_files.CLIENT_OUTPUT).read_text().splitlines()


def test_the_name_of_a_scheduler_is_all_that_is_told(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    said = reach("behind_a_name", lab_kernel, lab_guest, tmp_path)
    assert sorted(said) == sorted(f"{name} nothing" for name in kernel.schedulers())


def test_a_namespace_that_ends_is_not_held_by_its_files(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    """As seq_file does, which mptcp_drop is."""
    said = reach("ended_namespace", lab_kernel, lab_guest, tmp_path)
    assert said == ["mptcp_decisions ENXIO", "mptcp_probe ENXIO", "mptcp_drop ENXIO"]


def test_a_probe_samples_what_is_to_come_and_its_own_namespace(
    lab_kernel: KernelBuild, lab_guest: Guest, tmp_path: Path
) -> None:
    """In 10 s there were 100,000 intervals of 100 us: none of them is caught up with."""
    assert reach("probe", lab_kernel, lab_guest, tmp_path) == [
        "0 100000 0 ok",
        "0 9999 0 EINVAL",
        "0 0 0 EINVAL",
        f"1 {2**64 - 1} 0 EINVAL",
        f"{2**63} 100000 0 EINVAL",
        "links ok",
        "links without CAP_NET_ADMIN EPERM",
    ]
