# SPDX-License-Identifier: GPL-2.0-only
"""Runs with weighted: shares, costs, caps and limits come out as they were asked for."""

from __future__ import annotations

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
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
    later = run.received_bytes("dear", 10, 8)
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


# The steering modes of ATSSS, as the page of weighted has them.


def carried(run: Run, path: str, from_s: float, until_s: float) -> int:
    return run.received_bytes(path, until_s, from_s)


def test_active_standby_uses_the_standby_only_while_the_other_is_down(
    run_scenario: RunScenario,
) -> None:
    event = ("3s:cheap:down,lasts=2s",)
    run = run_scenario(*TWINS, scheduler="weighted:share2=0", duration="10s", event=event)
    assert carried(run, "dear", 0, 3) == 0
    # within 0.3 s the timeout is noticed, and half of the capacity is what one path has
    assert carried(run, "dear", 3.5, 5) * 8 / 1.5 >= 0.9 * ideal_goodput_bps(run.scenario) / 2
    # TCP tries after 0.2, 0.6 and 1.4 s, and at 3 s: by then the other one is back
    assert carried(run, "dear", 7, 10) == 0


def test_smallest_delay_uses_the_path_of_the_lowest_rtt(run_scenario: RunScenario) -> None:
    # The second path is the faster one, and becomes the slower one at 4 s. Its smoothed RTT, from
    # 20 ms to 100 ms, is beyond 60 after ln(80 / 40) / ln(8 / 7) = 5.2, 6 round trips: 0.6 s.
    paths = ("far:50mbit,30ms", "near:50mbit,10ms")
    event = ("4s:near:change,delay=50ms",)
    run = run_scenario(*paths, scheduler="weighted:fastest=on", event=event, **LITTLE)
    assert carried(run, "far", 1, 4) == 0
    assert carried(run, "near", 1, 4) > 1_000_000
    assert carried(run, "near", 5, 10) == 0
    assert carried(run, "far", 5, 10) > 1_000_000


def test_the_lowest_rtt_is_the_choice_of_minrtt(run_scenario: RunScenario) -> None:
    paths = ("a:50mbit,10ms", "b:20mbit,30ms")
    runs = [
        run_scenario(*paths, scheduler=scheduler, duration="5s")
        for scheduler in ("weighted:fastest=on", "minrtt:rp=off")
    ]
    assert received_bytes(runs[0]) == received_bytes(runs[1])


# From 3 to 7 s round trips of a path take 100 ms, of which the smoothed RTT knows after 6 of them
# (as above): by 4 s. Then it carries copies for its measuring, 10 in a second. From 7 s on 6 of
# these take the smoothed RTT below 60 ms, in less than a second.
SLOW = "3s:{}:change,delay=50ms,lasts=4s"


def test_load_balancing_leaves_a_path_beyond_its_limit(run_scenario: RunScenario) -> None:
    event = (SLOW.format("dear"),)
    run = run_scenario(*TWINS, scheduler="weighted:max_rtt_ms=60", event=event, **LITTLE)
    assert carried(run, "dear", 1, 3) == pytest.approx(carried(run, "cheap", 1, 3), rel=0.02)
    assert 0 < carried(run, "dear", 4, 7) <= 3 * 11 * 1424
    assert carried(run, "cheap", 4, 7) > 3_000_000
    # it catches up with 64 KiB at most
    again = carried(run, "dear", 8.5, 10) - carried(run, "cheap", 8.5, 10)
    assert -65536 * 0.1 <= again <= 65536 * 1.1


def test_priority_uses_the_other_path_too_beyond_the_limit(run_scenario: RunScenario) -> None:
    event = (SLOW.format("cheap"),)
    run = run_scenario(*TWINS, scheduler="weighted:cost2=1:max_rtt_ms=60", event=event, **LITTLE)
    assert carried(run, "dear", 1, 3) == 0
    # both by their shares
    assert carried(run, "dear", 4.5, 7) == pytest.approx(carried(run, "cheap", 4.5, 7), rel=0.1)
    assert carried(run, "dear", 8.5, 10) == 0


def test_the_cheapest_pipe_comes_first(run_scenario: RunScenario) -> None:
    cpf = "weighted:cost2=1:patience_ms=0:fastest=on"
    little = run_scenario(*TWINS, scheduler=cpf, **LITTLE)
    # at the start the window of the cheap one is smaller than what is written
    assert (carried(little, "cheap", 1, 10) > 5_000_000, carried(little, "dear", 1, 10)) == (
        True,
        0,
    )
    bulk = run_scenario(*TWINS, scheduler=cpf, duration="20s")
    assert bulk.goodput_bps >= 0.97 * ideal_goodput_bps(bulk.scenario)


def test_a_path_that_loses_too_much_is_left(run_scenario: RunScenario) -> None:
    # From 3 to 6 s the second path loses 10 %, and may lose 2 %. Rounds are round trips of 20 ms,
    # with 11 packets on each path: a second is 50 of them, of which the latest 8 count for most.
    event = ("3s:dear:change,loss=10%,lasts=3s",)
    scheduler = "weighted:cost1=0:cost2=0:max_loss_permille=20"
    run = run_scenario(*TWINS, scheduler=scheduler, event=event, **LITTLE)
    assert carried(run, "dear", 1, 3) == pytest.approx(carried(run, "cheap", 1, 3), rel=0.02)
    assert carried(run, "dear", 4, 6) <= 0.1 * carried(run, "cheap", 4, 6)
