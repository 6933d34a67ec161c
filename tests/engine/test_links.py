# SPDX-License-Identifier: GPL-2.0-only
"""Links lose, repeat and delay packets as the scenario says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mptcplab.lab import engine
from mptcplab.lab.engine import Rig
from mptcplab.metrics import records, run_files
from mptcplab.plan import plan
from mptcplab.scenario.limits import DISCIPLINES
from tests.vocabulary import Run, RunScenario, scenario_of


def packets(run: Run) -> tuple[int, int]:
    """With payload: sent by the client, received by the server."""
    return (
        int(run.client.subflow["data_packets_out"][-1]),
        int(run.server.subflow["data_packets_in"][-1]),
    )


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


# 1448 of the 1514 bytes of a packet of plain TCP are data.
DATA = 1448 / 1514
# A round trip of 20 ms, 1.2 ms for a packet on a link of 10 Mbit/s, and a little for its ACK.
IDLE_MS = 21.3


def srtt_ms(run: Run) -> float:
    """Its mean, without the first quarter of the run."""
    samples = run.client.subflow["srtt_us"]
    return float(samples[len(samples) // 4 :].mean()) / 1000


@pytest.mark.parametrize(
    ("discipline", "target_ms"),
    [
        # sch_codel.c and sch_fq_codel.c: 5 ms; sch_pie.c: 15 ms; red: at 20 packets of 1.2 ms on
        # average all is lost (its default limit is four times 20 packets, the least queue)
        ("codel", 5),
        ("fq_codel", 5),
        ("pie", 15),
        ("red", 24),
    ],
)
def test_a_managed_queue_stays_short_where_drop_tail_fills(
    run_scenario: RunScenario, discipline: str, target_ms: float
) -> None:
    link = "a:10mbit,10ms,queue_discipline="
    managed = run_scenario(f"{link}{discipline}", transport="tcp", duration="20s")
    filled = run_scenario(f"{link}droptail,queue=200", transport="tcp", duration="20s")
    # cubic goes back to 0.7 of 200 + 17 packets at a loss: 135 of 200 still wait, 1.21 ms each
    assert srtt_ms(filled) > IDLE_MS + 135 * 1.21
    # bursts go above a target, and after a loss the queue is below it
    assert IDLE_MS < srtt_ms(managed) < IDLE_MS + 2 * target_ms
    # what it costs: after a loss the link is idle for a part of the time. What waited out of order
    # when measuring began, less than a hundred packets of 16,000, is more than the link carries.
    assert 0.95 * 10e6 * DATA < managed.goodput_bps < 1.005 * 10e6 * DATA
    assert filled.goodput_bps == pytest.approx(10e6 * DATA, rel=0.002)


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_every_queue_carries_packets_wherever_it_is(
    run_scenario: RunScenario, discipline: str
) -> None:
    """At the router, at the host, at a link that paths share; below what delays and reorders.

    Then netem has a queue inside, which is often empty while packets are on their way to it.
    """
    queue = f"queue=100,queue_discipline={discipline}"
    paths = {
        "router": f"router:10mbit,10ms,{queue}",
        "host": f"host:10mbit,10ms,{queue},bottleneck=host",
        "reordered": f"reordered:10mbit,10ms,reorder=1%,reorder_by=1ms,{queue}",
        "late": "late:link=l,delay=5ms,jitter=1ms",
        "later": "later:link=l,delay=6ms",
    }
    run = run_scenario(
        *paths.values(), link=(f"l:20mbit,10ms,{queue}",), scheduler="minrtt", duration="3s"
    )
    received = {
        path: run.received_bytes(path, 3.0) - run.received_bytes(path, 1.0) for path in paths
    }
    received["l"] = received.pop("late") + received.pop("later")
    # The payload of MPTCP is 1428 of the 1514 bytes of a packet. No link carries more than it can,
    # and what its queue held; and none less than half of it: cubic goes back to 0.7.
    for link, got in received.items():
        most = 2 * (20e6 if link == "l" else 10e6) / 8 * 1428 / 1514
        assert most / 2 < got < most + 100 * 1428, (link, received)


def test_exactly_those_packets_are_lost_that_are_named(run_scenario: RunScenario) -> None:
    run = run_scenario(
        "a:10mbit,10ms,queue=2000,up.drop=5+17+100", transport="tcp", size="1MB", pcap=True
    )
    assert run.client.subflow["retransmitted_packets"][-1] == 3
    capture = run.capture("a")
    sequence = [
        int.from_bytes(header[38:42], "big")
        for header, payload, outbound, time_ns in zip(
            capture.headers, capture.payload, capture.outbound, capture.time_ns, strict=True
        )
        if payload > 0 and not outbound and time_ns >= run.start_ns
    ]
    twice = [number for number in sorted(set(sequence)) if sequence.count(number) > 1]
    assert twice == [sequence[n - 1] for n in (5, 17, 100)]
    sent, received = packets(run)
    assert sent - received == 3


def test_acks_are_lost_by_their_number(run_scenario: RunScenario) -> None:
    """At the start each packet is acknowledged at once: ten ACKs are those of the first window."""

    def first_acknowledged(keys: str) -> int:
        run = run_scenario(
            f"a:10mbit,10ms,queue=2000{keys}", transport="tcp", size="1MB", pcap=True
        )
        sent, received = packets(run)
        assert sent == received
        assert run.client.subflow["retransmitted_packets"][-1] == 0
        capture = run.capture("a")
        late = capture.time_ns >= run.start_ns
        data, ack = (
            capture.headers[np.flatnonzero(late & chosen)[0]]
            for chosen in (
                ~capture.outbound & (capture.payload > 0),
                capture.outbound & (capture.payload == 0),
            )
        )
        return int.from_bytes(ack[42:46], "big") - int.from_bytes(data[38:42], "big")

    assert first_acknowledged("") <= 2 * 1448
    assert first_acknowledged(",down.drop_acks=1-10") >= 10 * 1448


def test_a_host_with_a_queue_of_its_own_holds_its_data_back(run_scenario: RunScenario) -> None:
    """TCP Small Queues see what waits in a fifo of the host, and not what waits in its netem."""
    link = "a:10mbit,10ms,queue=200,up.bottleneck=host"
    fifo, netem = (
        run_scenario(f"{link}{keys}", transport="tcp", duration="10s")
        for keys in (",up.queue_discipline=droptail", "")
    )
    # TCP leaves two packets in the fifo, and one is being sent
    assert srtt_ms(fifo) < IDLE_MS + 3 * 1.22
    # 200 packets of 1514 bytes, neither more nor larger, wait in netem, which is filled
    longest_ms = netem.client.subflow["srtt_us"].max() / 1000
    assert 0.95 * 200 * 1.2112 < longest_ms < IDLE_MS + 200 * 1.2112
    for run in (fifo, netem):
        assert run.goodput_bps == pytest.approx(10e6 * DATA, rel=0.002)


@pytest.mark.parametrize(
    "queue", ["200", "200,queue_discipline=droptail", "200,bottleneck=host", "300KB"]
)
def test_a_new_rate_holds_at_once_for_every_queue(run_scenario: RunScenario, queue: str) -> None:
    """A link of 10 Mbit/s has a tenth of that from 4 to 5 s, also for what waits."""
    # The receive buffer holds what is in flight to some 70 packets: enough to fill the link, which
    # takes 17, and too little for the queue, so that nothing is lost. What waits at 4 s, 50 packets
    # at least, would leave within 60 ms at the old rate.
    run = run_scenario(
        f"a:10mbit,10ms,queue={queue}",
        transport="tcp",
        event=("4s:a:change,rate=x0.1,lasts=1s",),
        receive_buffer="200KB",
        duration="7s",
        warmup="0s",
    )
    for since, until, rate_bps in (
        (2.0, 3.9, 10e6),
        (4.02, 4.99, 1e6),
        (5.01, 5.06, 10e6),
        (6.0, 6.9, 10e6),
    ):
        received = run.received_bytes("a", until) - run.received_bytes("a", since)
        # one packet more or less fits between two samples
        assert received == pytest.approx((until - since) * rate_bps * DATA / 8, abs=1448)


@pytest.mark.parametrize("rate", ["0bit", "8bit", "100000tbit"])
def test_any_rate_can_be_asked_for_while_packets_wait(rig: Rig, tmp_path: Path, rate: str) -> None:
    """No scenario has a rate of 0, which for tbf is no limit; but programs do as they like."""
    queue = "queue=100,queue_discipline=droptail"
    scenario = scenario_of(f"a:10mbit,10ms,{queue}", transport="tcp", size="3MB")
    change = "tc -n router1 qdisc change dev rs1 parent 1:1 handle 2: tbf burst 15140 limit 100"
    events = [
        (at_ns, change.replace("tbf", f"tbf rate {new}"))
        for at_ns, new in ((1_000_000_000, rate), (1_500_000_000, "10mbit"))
    ]
    outcome = engine.run(scenario, plan.render(scenario, events=events), rig, tmp_path)
    # at 10 Mbit/s they take 2.5 s, so that they wait in the queue after 1 s
    received = records.read_samples(outcome.directory / run_files.SERVER_SAMPLES).subflow
    assert received["received_bytes"][-1] >= 3_000_000
