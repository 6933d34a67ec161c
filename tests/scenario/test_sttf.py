# SPDX-License-Identifier: GPL-2.0-only
"""Runs with sttf: short transfers end no later than with minrtt, and sooner where RTTs differ."""

from __future__ import annotations

import itertools

import pytest

from mptcplab.runs.bench import ideal_goodput_bps
from tests.vocabulary import RunScenario, ofo_bytes

SIZES = ["10KB", "20KB", "50KB", "100KB", "200KB"]
# of the delays: 10 ms on the fast path, that many times as much on the slow one
RATIOS = [1, 2, 4, 6, 8, 10]


def completion_ms(run_scenario: RunScenario, scheduler: str, ratio: int, size: str) -> float:
    run = run_scenario(
        *("fast:20mbit,10ms", f"slow:20mbit,{10 * ratio}ms"), scheduler=scheduler, size=size
    )
    return run.metric("completion_s") * 1e3


def test_short_transfers_end_no_later_than_with_minrtt(run_scenario: RunScenario) -> None:
    sooner = later = 0
    print("\nms with minrtt, with sttf, by size and ratio of the delays")
    print(" " * 6 + "".join(f"{ratio:>16}" for ratio in RATIOS))
    for size in SIZES:
        row = f"{size:>6}"
        for ratio in RATIOS:
            # of like paths sttf leaves the choice to minrtt, and penalises nobody
            minrtt = "minrtt:rp=off" if ratio == 1 else "minrtt"
            minrtt_ms, sttf_ms = (
                completion_ms(run_scenario, each, ratio, size) for each in (minrtt, "sttf")
            )
            row += f"{minrtt_ms:9.2f}{sttf_ms:7.2f}"
            sooner += sttf_ms < minrtt_ms
            later += sttf_ms > minrtt_ms
        print(row)
    assert later == 0
    # Not sooner: 10 KB, which the first window of the fast path holds; and where half of the slow
    # RTT is no more than one and a half of the fast one, up to a ratio of 3, for then sttf, too,
    # takes whatever window has room. That leaves 4 sizes of 5, 4 ratios of 6.
    assert sooner > len(SIZES) * len(RATIOS) / 2


@pytest.mark.parametrize(
    ("size", "ratio"), list(itertools.product(["20KB", "50KB", "200KB"], [4, 10]))
)
def test_it_ends_no_later_than_the_plan_says(
    run_scenario: RunScenario, size: str, ratio: int
) -> None:
    # Alone on the fast path, in slow start: windows of 10, 20, 40 and 80 packets of 1424 bytes, an
    # RTT of 20 ms each, half of one for the last, and the time that all of them take at 20 Mbit/s.
    # The slow path only takes what arrives sooner there. 1 ms is for the end of the stream.
    packets = -(-int(size[:-2]) * 1000 // 1424)
    rounds = next(n for n in range(10) if 10 * (2 ** (n + 1) - 1) >= packets)
    slowest_ms = (rounds + 0.5) * 20 + packets * 1514 * 8 / 20e3 + 1
    assert completion_ms(run_scenario, "sttf", ratio, size) <= slowest_ms


def test_with_enough_to_send_both_paths_are_full(run_scenario: RunScenario) -> None:
    paths = ("near:20mbit,10ms", "far:20mbit,100ms")
    large = {"duration": "20s", "send_buffer": "16MiB", "receive_buffer": "8MiB"}
    sttf = run_scenario(*paths, scheduler="sttf", **large)
    minrtt = run_scenario(*paths, scheduler="minrtt", **large)
    print(f"out of order: {ofo_bytes(sttf):.0f}, with minrtt {ofo_bytes(minrtt):.0f} bytes")
    assert sttf.goodput_bps >= 0.9 * ideal_goodput_bps(sttf.scenario)
    assert sttf.goodput_bps >= 0.97 * minrtt.goodput_bps
    # a bulk transfer arrives nearly in order, too
    assert ofo_bytes(sttf) <= 0.6 * ofo_bytes(minrtt)


def test_a_path_that_dies_is_planned_for_no_more(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *("near:20mbit,10ms", "far:20mbit,40ms"),
        scheduler="sttf",
        duration="12s",
        event=("2s:near:down", "6s:near:up"),
    )
    # The timeout comes 200 ms after the RTT of 20 ms and 40 ms of queue at most, twice if a probe
    # was sent before it: by 2.6 s all is planned for the far path. That one had a loss, when its
    # window was more than the path holds: cubic leaves 0.7 of it, and grows from there.
    full = 20e6 / 8 * 1424 / 1514
    assert run.received_bytes("far", 6, 3) >= 0.7 * 3 * full
