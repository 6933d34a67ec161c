# SPDX-License-Identifier: GPL-2.0-only
"""Runs with backup: the flag alone decides which path carries everything."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario

TWINS = ("a:50mbit,10ms", "b:50mbit,10ms")


@pytest.mark.parametrize(
    ("parameters", "empty_s"),
    [
        # The queue of the subflow holds no more than a send buffer of 4 MiB, less with the overhead
        # that counts in it: 0.71 s at 47 Mbit/s.
        ("", 3.8),
        # What was in its window: 83 packets of bandwidth-delay product and 42 in the queue, 30 ms.
        (":queue=off", 3.1),
    ],
)
def test_data_leaves_a_path_that_becomes_a_backup(
    run_scenario: RunScenario, parameters: str, empty_s: float
) -> None:
    run = run_scenario(
        *TWINS, scheduler=f"backup{parameters}", duration="8s", event=("3s:a:backup",)
    )
    assert run.received_bytes("b", 3) == 0
    assert run.received_bytes("a", 3) > 10_000_000
    assert run.received_bytes("a", 8) == run.received_bytes("a", empty_s)
    one_path = ideal_goodput_bps(run.scenario) / 2
    assert (run.received_bytes("b", 8, 5)) * 8 / 3 >= 0.97 * one_path


def test_the_backup_is_left_again(run_scenario: RunScenario) -> None:
    event = ("2s:a:backup", "4s:a:regular")
    run = run_scenario(*TWINS, scheduler="backup:queue=off", duration="6s", event=event)
    assert run.received_bytes("b", 4) > 0
    assert run.received_bytes("b", 6) == run.received_bytes("b", 4.1)


def test_a_backup_carries_everything_while_the_other_path_is_down(
    run_scenario: RunScenario,
) -> None:
    # The timeout is noticed by 2.3 s: an RTT of 20 ms, 10 in the queue, and 200 ms.
    event = ("1s:b:backup", "2s:a:down")
    run = run_scenario(*TWINS, scheduler="backup", duration="6s", event=event)
    assert run.received_bytes("b", 2) == 0
    one_path = ideal_goodput_bps(run.scenario) / 2
    assert (run.received_bytes("b", 6, 3)) * 8 / 3 >= 0.95 * one_path
