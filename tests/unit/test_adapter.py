# SPDX-License-Identifier: GPL-2.0-only
"""What schedulers lose on a kernel without our patches for MPTCP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.cli.actions import common
from mptcplab.lab import adapter, kernel
from mptcplab.lab.kernel import KernelBuild
from tests.cli.calls import mptcplab
from tests.vocabulary import request_of

MISSING = (resources.KERNEL / "mptcp" / "adapter" / "missing.c").read_text()


@pytest.mark.parametrize(
    ("scheduler", "described"),
    [
        ("minrtt", "minrtt, without retransmission on other subflows and penalisation"),
        ("weighted", "weighted, without retransmission on other subflows"),
        (
            "lte",
            "lte, without retransmission on other subflows, penalisation, distrust of late "
            "subflows, linear timeouts and ages of packets in flight",
        ),
        ("roundrobin", "roundrobin"),
        ("overflow", "overflow"),
    ],
)
def test_a_name_says_what_is_left(scheduler: str, described: str) -> None:
    assert adapter.described(scheduler) == described


def test_a_part_of_a_part_counts() -> None:
    # lte.c includes parts/lte_trial.h, which includes lte_late.h; lte_late.c alone has this field
    assert "oldest_sent_ns" not in (resources.KERNEL / "mptcp/sched/lte.c").read_text()
    assert "ages of packets in flight" in adapter.lost("lte")


def test_carried_and_refused_schedulers_are_all() -> None:
    carried, refused = set(adapter.carried()), set(kernel.refused_by_adapter())
    assert not carried & refused
    assert carried | refused | {"default"} == set(kernel.schedulers())


def test_each_lost_function_is_in_the_table_of_answers() -> None:
    table = "\n".join(line for line in MISSING.splitlines() if line.startswith(" * |"))
    # helpers of helpers.c that use one of the others
    helpers = {"mps_pick_duplicate", "mps_opportunistic", "mps_new_or_repeat", "mps_rp"}
    for name, found in adapter.LOSSES.items():
        listed = set(found.split("|")) - helpers
        assert all(re.search(rf"\b{each}\b", table) for each in listed), name


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("minrtt", "minrtt, without retransmission on other subflows and penalisation"),
        ("overflow", "overflow"),
        ("redundant", "refused: it sends duplicates"),
    ],
)
def test_show_says_what_is_left(scheduler: str, expected: str) -> None:
    shown = mptcplab("scheduler", "show", scheduler).stdout
    assert f"\nwithout our patches for MPTCP: {expected}\n" in shown


def test_show_says_nothing_of_it_for_default() -> None:
    assert "without our patches" not in mptcplab("scheduler", "show", "default").stdout


def test_only_a_kernel_with_the_adapter_loses_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config"
    config.write_text("CONFIG_MPTCP=y\nCONFIG_MPTCP_LAB_ADAPTER=y\n")
    lab, plain = (
        KernelBuild(name, variant, tmp_path / "linux", config, name=name)
        for name, variant in (("6.12", "lab"), ("plain", "engine"))
    )
    wanted = request_of("a:20mbit,10ms", "b:20mbit,10ms", scheduler="weighted:cost2=1")
    common.say_losses(wanted, [lab, plain])
    expected = "plain: weighted, without retransmission on other subflows\n"
    assert capsys.readouterr().err == expected
