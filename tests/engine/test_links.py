# SPDX-License-Identifier: GPL-2.0-only
"""Links lose, repeat and delay packets as the scenario says."""

from __future__ import annotations

import math

from tests.vocabulary import Run, RunScenario


def packets(run: Run) -> tuple[int, int]:
    """With payload: sent by the client, received by the server."""
    return (
        int(run.client.subflow["data_packets_out"][-1]),
        int(run.server.subflow["data_packets_in"][-1]),
    )


def test_losses_in_rows_have_the_mean_that_was_asked_for(run_scenario: RunScenario) -> None:
    loss, burst = 0.01, 4
    run = run_scenario(
        f"a:10mbit,10ms,queue=200,up.loss=1%,up.loss_burst={burst}",
        transport="tcp",
        cc="bbr",
        duration="60s",
    )
    sent, received = packets(run)
    # Some sent x loss / burst rows; their lengths are geometric, of mean 4 and variance
    # 4^2 - 4 = 12, so the deviation of their sum is sqrt(rows x (12 + 4^2)). Five of these; and
    # what is on its way at the end, 17 packets, plus the queue.
    rows = sent * loss / burst
    assert sent > 30_000
    deviation = math.sqrt(rows * (burst**2 - burst + burst**2))
    assert abs(sent - received - sent * loss) < 5 * deviation + 217
    assert sent - received > 0.5 * sent * loss


def test_some_packets_arrive_twice(run_scenario: RunScenario) -> None:
    run = run_scenario("a:10mbit,10ms,up.duplicate=10%", transport="tcp", duration="20s")
    sent, received = packets(run)
    # binomial: deviation sqrt(sent x 0.1 x 0.9); five of these, and what is on its way at the end
    assert abs(received - 1.1 * sent) < 5 * math.sqrt(sent * 0.09) + 40


def test_packets_keep_their_order_with_jitter(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "a:10mbit,40ms,jitter=20ms,queue=500",
        transport="tcp",
        receive_buffer="100KB",
        duration="10s",
    )
    assert run.server.subflow["ofo_bytes"].max() == 0
    assert run.client.subflow["retransmitted_packets"][-1] == 0
    # but delays differ: by up to 40 ms, so that the mean deviation is a part of that
    assert run.client.subflow["rttvar_us"][-1] > 2000
