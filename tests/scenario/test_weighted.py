# SPDX-License-Identifier: GPL-2.0-only
"""Runs with weighted: shares, costs and caps come out as they were asked for."""

from __future__ import annotations

import pytest

from mptcplab.tools.bench import ideal_goodput_bps
from tests.vocabulary import Run, RunScenario

TWINS = ("cheap:50mbit,10ms", "dear:50mbit,10ms")
# Of 32 KiB send buffer, overhead counted, at most 22 segments are data, and leave once in an RTT of
# 20 ms: 13 Mbit/s at the most, which one path and its window have room for.
LITTLE = {"send_buffer": "32KiB", "duration": "10s"}


def received_bytes(run: Run) -> list[int]:
    end_s = float(run.outcome.guest["complete_ns"] - run.start_ns) / 1e9
    return [run.received_bytes(path.name, end_s) for path in run.scenario.paths]


def share(run: Run) -> float:
    """The part of the first path."""
    first, second = received_bytes(run)
    return first / (first + second)


@pytest.mark.parametrize(("shares", "part"), [((3, 1), 0.75), ((1, 1), 0.5), ((1, 9), 0.1)])
def test_what_the_application_limits_is_divided_by_the_shares(
    run_scenario: RunScenario, shares: tuple[int, int], part: float
) -> None:
    scheduler = f"weighted:share1={shares[0]}:share2={shares[1]}"
    run = run_scenario(*TWINS, scheduler=scheduler, **LITTLE)
    print(f"{scheduler}: part {share(run):.4f}")
    assert share(run) == pytest.approx(part, abs=0.02)


def test_bulk_data_is_divided_by_the_shares_if_strict(run_scenario: RunScenario) -> None:
    # The first path is full, and the other carries a third of that.
    run = run_scenario(*TWINS, scheduler="weighted:share1=3:share2=1:strict=on", duration="20s")
    print(f"part {share(run):.4f}, {run.goodput_bps:.0f} bit/s")
    assert share(run) == pytest.approx(0.75, abs=0.02)
    assert run.goodput_bps >= 0.95 * 2 / 3 * ideal_goodput_bps(run.scenario)


def test_bulk_data_fills_both_paths_if_not(run_scenario: RunScenario) -> None:
    run = run_scenario(*TWINS, scheduler="weighted:share1=3:share2=1", duration="20s")
    print(f"part {share(run):.4f}, {run.goodput_bps:.0f} bit/s")
    assert run.goodput_bps >= 0.97 * ideal_goodput_bps(run.scenario)


def test_the_dear_path_carries_nothing_while_the_cheap_one_suffices(
    run_scenario: RunScenario,
) -> None:
    run = run_scenario(*TWINS, scheduler="weighted:cost2=1", **LITTLE)
    cheap, dear = received_bytes(run)
    assert (cheap > 5_000_000, dear) == (True, 0)


def test_the_dear_path_is_used_when_it_does_not(run_scenario: RunScenario) -> None:
    run = run_scenario(*TWINS, scheduler="weighted:cost2=1", duration="20s")
    print(f"dear part {1 - share(run):.4f}, {run.goodput_bps:.0f} bit/s")
    assert run.goodput_bps >= 0.95 * ideal_goodput_bps(run.scenario)


def test_the_dear_path_is_used_while_the_cheap_one_is_down(run_scenario: RunScenario) -> None:
    # 3 s at up to 13 Mbit/s, less what the timeout costs
    event = ("3s:cheap:down,lasts=3s",)
    run = run_scenario(*TWINS, scheduler="weighted:cost2=1", event=event, **LITTLE)
    assert run.received_bytes("dear", 3) == 0
    assert run.received_bytes("dear", 6) > 1_000_000
    later = run.received_bytes("dear", 10) - run.received_bytes("dear", 8)
    assert later == 0


def test_a_cap_is_kept_to_the_segment(run_scenario: RunScenario) -> None:
    run = run_scenario(*TWINS, scheduler="weighted:cap2_mb=5", duration="10s")
    capped = received_bytes(run)[1]
    print(f"capped at {capped}")
    assert 5_000_000 <= capped < 5_000_000 + 1424


def test_a_capped_path_is_there_when_no_other_is(run_scenario: RunScenario) -> None:
    event = ("4s:cheap:down,lasts=2s",)
    run = run_scenario(*TWINS, scheduler="weighted:cap2_mb=5", duration="8s", event=event)
    assert run.received_bytes("dear", 4) < 5_000_000 + 1424
    assert run.received_bytes("dear", 6) > 10_000_000
