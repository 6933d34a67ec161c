# SPDX-License-Identifier: GPL-2.0-only
"""Figures of synthetic runs, each derived by hand.

FAST carries 4000 bytes per ms = 32 Mbit/s over a 40 Mbit/s path, SLOW 1000 bytes per ms =
8 Mbit/s over a 10 Mbit/s path.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mptcplab.errors import MptcplabError, RunError
from mptcplab.metrics import compute, docs_pages, recorded, series
from mptcplab.metrics.compute import (
    STATE_METRICS,
    RunMetrics,
    aggregation_benefit,
    jain_index,
    queue_metrics,
    run_metrics,
)
from mptcplab.metrics.definitions import PATH_METRICS, RUN_METRICS, PathFigures, TransportFigures
from mptcplab.metrics.recorded import HostRecords, Interval, Subflow
from mptcplab.metrics.records import CONNECTION_DTYPE, LINK_DTYPE, SUBFLOW_DTYPE, Samples
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.model import Event, Scenario
from mptcplab.scenario.resolve import from_flags
from mptcplab.scenario.workload import Program
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, T0, Flow


def measured(client: Samples, server: Samples, scenario: Scenario | None = None) -> RunMetrics:
    """The figures of a run of 10 s, of which the first is warm-up unless a scenario says more."""
    return run_metrics(scenario or synthetic.scenario(), client, server, synthetic.guest())


def figures(*flows: synthetic.Flow, **options: Any) -> Any:
    return measured(*synthetic.run(*flows, **options)).metrics


def test_goodput_leaves_out_what_came_or_waited_before_the_measured_time() -> None:
    # Nothing arrives in the first half of the warm-up of 1 s; the rest is as before.
    client, server = synthetic.run(FAST, SLOW)
    came = server.connection["delivered_bytes"].copy()
    server.connection["delivered_bytes"][server.connection["time_ns"] < T0 + 500 * MS] = 0
    assert measured(client, server).metrics.goodput_bps == 40e6
    # until 1.5 s all that arrived, at 5000 bytes per ms, waited for the first byte
    waits = server.connection["time_ns"] < T0 + 1500 * MS
    server.connection["ofo_bytes"][waits] = came[waits]
    server.connection["delivered_bytes"][waits] = 0
    assert measured(client, server).metrics.goodput_bps == 40e6


def test_a_gap_in_a_path_filled_after_warm_up_brings_no_goodput() -> None:
    client, server = synthetic.run(FAST, SLOW)
    fast = server.subflow["n"] == 0
    waits = fast & (server.subflow["time_ns"] < T0 + 1500 * MS)
    kept = server.subflow["received_bytes"][waits]
    server.subflow["ofo_bytes"][waits], server.subflow["received_bytes"][waits] = kept, 0
    server.connection["delivered_bytes"][: len(kept)] -= kept
    result = measured(client, server)
    assert result.metrics.goodput_bps == 40e6
    assert [path["utilisation"] for path in result.paths] == [0.8, 0.8]


def test_counters_of_a_closed_subflow_count_that_are_0_in_the_end() -> None:
    client, server = synthetic.run(FAST, SLOW, duration_ns=2 * SECOND)
    for side, counter in ((client, "new_segments"), (server, "received_bytes")):
        closed = (side.subflow["n"] == 1) & (side.subflow["time_ns"] > T0 + SECOND)
        side.subflow[counter][closed] = 0
    scenario = synthetic.scenario(scheduler="minrtt", duration_ns=2 * SECOND, warmup_ns=0)
    slow = run_metrics(scenario, client, server, synthetic.guest(2 * SECOND)).paths[1]
    assert slow["new_segments"] == 1000
    assert slow["goodput_bps"] == 4e6


@pytest.mark.parametrize(
    ("size_bytes", "duration_ns"),
    [
        # 5000 bytes per ms, slow start and all
        (1_000_000, 200 * MS),
        # complete between two samples; that at 200 ms is the next one
        (975_000, 195 * MS),
        # the sample at T0 is the only one until completion
        (15_000, 3 * MS),
    ],
)
def test_goodput_of_a_size_is_size_over_completion_time(size_bytes: int, duration_ns: int) -> None:
    client, server = synthetic.run(FAST, SLOW, duration_ns=-(-duration_ns // (10 * MS)) * 10 * MS)
    all_of_it = np.where(server.subflow["n"] == 0, size_bytes * 4 // 5, size_bytes // 5)
    server.subflow["received_bytes"] = np.minimum(server.subflow["received_bytes"], all_of_it)
    scenario = synthetic.scenario(size_bytes=size_bytes)
    result = run_metrics(scenario, client, server, synthetic.guest(duration_ns))
    assert (result.metrics.goodput_bps, result.metrics.completion_s) == (40e6, duration_ns / 1e9)
    assert [path["goodput_bps"] for path in result.paths] == [32e6, 8e6]


@pytest.mark.parametrize("flows", [(FAST, SLOW), (SLOW, FAST)])
def test_shares_add_up_to_one_whatever_the_order_of_subflows(flows: tuple[Flow, Flow]) -> None:
    paths = measured(*synthetic.run(*flows)).paths
    # 4000 and 1000 of 5000; 32 of 40 and 8 of 10 Mbit/s
    assert [(path.name, path.share) for path in paths] == [("fast", 0.8), ("slow", 0.2)]
    assert [path["utilisation"] for path in paths] == [0.8, 0.8]
    assert [path["goodput_bps"] for path in paths] == [32e6, 8e6]


def test_a_path_without_traffic_has_share_0_and_no_round_trip() -> None:
    _, slow = measured(*synthetic.run(FAST)).paths
    there = {name: value for name, value in slow if value is not None}
    assert there == {
        "name": "slow", "goodput_bps": 0.0, "share": 0.0, "retransmitted_packets": 0,
        "utilisation": 0.0, "ofo_bytes_mean": 0.0, "ofo_bytes_p99": 0, "blocking_share": 0.0,
        "limited_by_cwnd": 0.0, "limited_by_pacing": 0.0, "limited_by_window": 0.0,
        "limited_by_scheduler": 0.0, "limited_by_send_buffer": 0.0,
        "limited_by_application": 0.0, "absent": 1.0,
    }  # fmt: skip
    result = measured(*synthetic.run(replace(FAST, bytes_per_ms=0), replace(SLOW, bytes_per_ms=0)))
    assert [path["share"] for path in result.paths] == [None, None]
    assert result.metrics.goodput_bps == 0


def test_the_subflows_of_one_path_count_together() -> None:
    # A second subflow over the fast path, as after a loss of the first.
    result = measured(*synthetic.run(FAST, replace(SLOW, path=1), SLOW))
    assert [path["goodput_bps"] for path in result.paths] == [40e6, 8e6]
    assert result.metrics.subflows == 3


def test_a_subflow_that_starts_late_counts_from_nothing() -> None:
    client, server = synthetic.run(FAST, SLOW)
    late = (server.subflow["n"] == 1) & (server.subflow["time_ns"] < T0 + 2 * SECOND)
    server = Samples(server.connection, server.subflow[~late])
    # All 10,000 ms x 1000 bytes appear within the measured 9 s.
    slow = measured(client, server).paths[1]
    assert slow["goodput_bps"] == 8 * 10_000_000 / 9


def test_round_trip_window_and_flight_are_means_over_the_measured_time() -> None:
    client, server = synthetic.run(replace(FAST, srtt_us=30_000, cwnd=40, in_flight=36), SLOW)
    # Twice as much in the warm-up, [0 s, 1 s), must not count.
    warmup = client.subflow["time_ns"] < T0 + SECOND
    for field in ("srtt_us", "cwnd", "in_flight"):
        client.subflow[field][warmup] *= 2
    fast = measured(client, server).paths[0]
    assert (fast["srtt_ms_mean"], fast["cwnd_mean"], fast["in_flight_mean"]) == (30.0, 40.0, 36.0)
    # and buffers and the receive window
    metrics = figures(FAST, SLOW, sndbuf_used=3000, rcvbuf_used=2000, window_bytes=2**40)
    names = ("send_buffer", "receive_buffer", "receive_window")
    assert [metrics[f"{name}_bytes_mean"] for name in names] == [3000, 2000, 2**40]


def test_the_out_of_order_queue_has_mean_and_percentiles_over_time() -> None:
    # 0 bytes in the sample at T0, 1 in the next, 1000 in the last. Warm-up of 500 ms leaves the
    # 951 samples 50..1000: their mean is 525, and 99 % of them, 941.49, do not exceed the 942nd,
    # 991. (Interpolation would give 990.5, which no sample has.)
    scenario = synthetic.scenario(warmup_ns=500 * MS)
    metrics = measured(*synthetic.run(FAST, SLOW, ofo_bytes=range(1001)), scenario).metrics
    assert metrics["ofo_bytes_mean"] == 525
    assert metrics["ofo_bytes_p99"] == 991
    # 475.5 and 903.45 of them
    assert (metrics["ofo_bytes_p50"], metrics["ofo_bytes_p95"]) == (525, 953)
    # 901 measured samples: a peak of 9 is within the 1 %, 9.01, one of 10 is not.
    assert figures(FAST, SLOW, ofo_bytes=[0] * 992 + [5000] * 9)["ofo_bytes_p99"] == 0
    assert figures(FAST, SLOW, ofo_bytes=[0] * 991 + [5000] * 10)["ofo_bytes_p99"] == 5000


def test_retransmissions_and_packets_are_counted_over_the_whole_run() -> None:
    fast, slow = replace(FAST, retransmitted_packets=7), replace(SLOW, retransmitted_packets=5)
    result = measured(*synthetic.run(fast, slow))
    assert result.metrics.retransmitted_packets == 12
    assert result.metrics.retransmitted_bytes == 12 * 1000
    assert [path["retransmitted_packets"] for path in result.paths] == [7, 5]
    # 10,000 ms x (4000 + 1000) bytes in packets of 1000, and those sent again
    assert result.metrics.data_packets == 50_000 + 12


def test_duplicates_are_what_the_paths_carried_twice() -> None:
    # 200 of the 5000 bytes per ms are reinjections; what waits out of order is no duplicate.
    metrics = figures(FAST, SLOW, duplicate_bytes_per_ms=200, ofo_bytes=9000)
    assert metrics["duplicate_bytes"] == 200 * 10_000
    assert metrics["goodput_bps"] == 4800 * 8 * 1000
    assert figures(FAST, SLOW, ofo_bytes=9000)["duplicate_bytes"] == 0


def test_what_the_scheduler_decided_is_counted_over_the_whole_run() -> None:
    fast = replace(FAST, duplicates=3)
    slow = replace(SLOW, duplicates=4, reinjections=5)
    client, server = synthetic.run(fast, slow)
    client.connection["waits"], client.connection["refused"] = 11, 12
    client.connection["forced"], client.connection["fallbacks"] = 13, 14
    client.connection["forced_reinjections"], client.connection["deferred"] = 16, 17
    client.connection["refused_calls"] = 18
    client.connection["reinjected_bytes"] = 15
    scenario = synthetic.scenario(scheduler="roundrobin")
    result = measured(client, server, scenario)
    assert (result.metrics.duplicate_segments, result.metrics.reinjected_segments) == (7, 5)
    names = ("waits", "refused_picks", "forced_picks", "fallbacks")
    assert [result.metrics[name] for name in names] == [11, 12, 13, 14]
    overruled = ("forced_reinjections", "deferred_questions", "refused_calls")
    assert [result.metrics[name] for name in overruled] == [16, 17, 18]
    assert result.metrics.reinjected_bytes == 15
    # segments, duplicates, reinjections, waits and refused picks, in 10 s
    assert result.metrics.decisions_per_s == (50_000 + 7 + 5 + 11 + 12) / 10
    # 10,000 ms x 4000 and 1000 bytes in segments of 1000
    assert [path["new_segments"] for path in result.paths] == [40_000, 10_000]
    assert [path["duplicate_segments"] for path in result.paths] == [3, 4]
    assert [path["reinjected_segments"] for path in result.paths] == [0, 5]


@pytest.mark.parametrize(("transport", "scheduler"), [("mptcp", "default"), ("tcp", "default")])
def test_who_is_not_asked_for_each_segment_decides_nothing(transport: str, scheduler: str) -> None:
    scenario = synthetic.scenario(transport=transport, scheduler=scheduler)
    result = measured(*synthetic.run(FAST, SLOW), scenario)
    assert result.metrics.waits is result.metrics.decisions_per_s is None
    assert result.metrics.duplicate_segments is None
    assert [path["new_segments"] for path in result.paths] == [None, None]


def test_the_sample_interval_does_not_change_what_counters_tell() -> None:
    for interval_ns in (MS, 10 * MS, 70 * MS):  # 70 ms: neither warm-up nor duration are multiples
        scenario = synthetic.scenario(sample_interval_ns=interval_ns)
        result = measured(*synthetic.run(FAST, SLOW, interval_ns=interval_ns), scenario)
        assert result.metrics.goodput_bps == 40e6
        assert result.metrics.completion_s is None  # a duration has none
        assert [path["share"] for path in result.paths] == [0.8, 0.2]
    # nor does a warm-up between two samples: the interval starts at that at 1010 ms, not at 1003
    scenario = synthetic.scenario(warmup_ns=1003 * MS)
    assert measured(*synthetic.run(FAST, SLOW), scenario).metrics.goodput_bps == 40e6


def test_records_without_what_figures_need_fail_the_run() -> None:
    client, server = synthetic.run(FAST, SLOW)
    short = synthetic.run(FAST, SLOW, duration_ns=4 * SECOND)
    with pytest.raises(RunError, match=r"server end 4s after the start .* after 10s"):
        measured(*short)
    scenario = synthetic.scenario(warmup_ns=9 * SECOND, sample_interval_ns=20 * SECOND)
    with pytest.raises(RunError, match="choose a sample_interval shorter than 20s"):
        measured(*synthetic.run(FAST, SLOW, interval_ns=20 * SECOND), scenario)
    none = Samples(server.connection[:0], server.subflow[:0])
    with pytest.raises(RunError, match="records of the client have 0 connections"):
        measured(none, server)
    with pytest.raises(RunError, match="records of the server have 0 connections"):
        measured(client, none)
    with pytest.raises(RunError, match=r"from 10\.0\.3\.1 to 10\.1\.3\.1, which is no path"):
        measured(*synthetic.run(FAST, replace(SLOW, path=3)))
    client.subflow["remote_addr"][:] = [10, 2, 1, 1]
    with pytest.raises(RunError, match=r"from 10\.0\.1\.1 to 10\.2\.1\.1, which is no path"):
        measured(client, server)


def test_one_of_several_connections_may_come_up_after_the_last_sample() -> None:
    client, server = synthetic.run(FAST, SLOW)
    server = Samples(server.connection[:0], server.subflow[:0])
    scenario = synthetic.scenario(scheduler="roundrobin")
    found = run_metrics(scenario, client, server, synthetic.guest(), is_part=True)
    assert (found.metrics.goodput_bps, found.metrics.fairness) == (0, None)
    client = Samples(client.connection[:0], client.subflow[:0])
    links = synthetic.links(FAST, SLOW)
    found = run_metrics(scenario, client, server, synthetic.guest(), links, is_part=True)
    assert (found.metrics.subflows, found.metrics.decisions_per_s) == (0, None)
    assert [path.cwnd_mean for path in found.paths] == [None, None]


def test_data_of_a_program_is_measured_where_more_of_it_arrives() -> None:
    program = Program(client=("client",), directory="/", time_limit_ns=None)
    client, server = synthetic.run(FAST, SLOW)
    scenario = synthetic.scenario(workload=program)
    for way in ((client, server), (server, client)):
        assert run_metrics(scenario, *way, synthetic.guest()).metrics.goodput_bps == 40e6


def second_connection(samples: Samples) -> Samples:
    """The same once more, as connection 2."""
    parts = []
    for part in (samples.connection, samples.subflow):
        other = part.copy()
        other["connection"] = 2
        both = np.concatenate([part, other]).astype(part.dtype)
        parts.append(both[np.argsort(both["time_ns"], kind="stable")])
    return Samples(*parts)


def test_connections_are_summed_over() -> None:
    # two connections that each carry half: 2000 + 500 bytes per ms
    half = [replace(FAST, bytes_per_ms=2000), replace(SLOW, bytes_per_ms=500)]
    client, server = synthetic.run(*half, sndbuf_used=3000, ofo_bytes=700)
    client, server = second_connection(client), second_connection(server)
    result = measured(client, server)
    metrics = result.metrics
    assert metrics["goodput_bps"] == 40e6
    assert metrics["send_buffer_bytes_mean"] == 6000
    assert (metrics["ofo_bytes_mean"], metrics["ofo_bytes_p50"]) == (1400, 1400)
    assert metrics["data_packets"] == 50_000
    assert metrics["duplicate_bytes"] == 0
    assert metrics["subflows"] == 4
    assert metrics["fairness"] == 1
    assert [path["goodput_bps"] for path in result.paths] == [32e6, 8e6]
    assert [path["cwnd_mean"] for path in result.paths] == [10, 10]
    total = over_time(server)[None]
    # in the first bin, what waits out of order is missing
    assert total[1:] == pytest.approx(np.full(99, 40e6))


def test_a_connection_that_ends_early_counts_until_then() -> None:
    client, server = synthetic.run(FAST, SLOW, ofo_bytes=700)
    client, server = second_connection(client), second_connection(server)
    early = server.connection["time_ns"] <= T0 + 5500 * MS
    first = server.connection["connection"] == 1
    server = Samples(server.connection[early | first], server.subflow)
    metrics = measured(client, server).metrics
    # 9 s of the one and, from 1 s to 5.5 s, 4.5 s of the other, in 9 s
    assert metrics["goodput_bps"] == 60e6
    # (9 x 40)^2 ... as rates over the measured time, 40 and 20: 60^2 / (2 x (40^2 + 20^2))
    assert metrics["fairness"] == pytest.approx(0.9)
    # 901 samples of the one, 451 of the other
    assert metrics["ofo_bytes_mean"] == 700 * (901 + 451) / 901


def test_data_to_the_client_is_measured_there() -> None:
    client, server = synthetic.run(FAST, SLOW)
    scenario = directed("down", synthetic.scenario())
    # the sides swap; the addresses do not matter to a side
    result = run_metrics(scenario, server, client, synthetic.guest())
    assert result.metrics.goodput_bps == 40e6
    assert result.metrics.goodput_down_bps is None
    assert [path["goodput_bps"] for path in result.paths] == [32e6, 8e6]
    # both at once: the client's figures are those of data to the server
    client.connection["delivered_bytes"] = server.connection["delivered_bytes"] // 2
    # and the first path carries all to the client
    client.subflow["received_bytes"] = np.where(
        client.subflow["n"] == client.subflow["n"].min(), server.subflow["received_bytes"], 0
    )
    found = run_metrics(directed("both", scenario), client, server, synthetic.guest())
    both = found.metrics
    assert (both["goodput_bps"], both["goodput_down_bps"]) == (40e6, 20e6)
    assert [path.shares() for path in found.paths] == [(0.8, 1.0), (0.2, 0.0)]
    assert [path.goodput_down_bps for path in found.paths] == [32e6, 0]


def directed(direction: str, scenario: Scenario) -> Scenario:
    workload = scenario.workload.model_copy(update={"direction": direction})
    return scenario.model_copy(update={"workload": workload})


def test_blocking_has_a_total_and_a_part_of_each_path() -> None:
    client, server = synthetic.run(FAST, SLOW)
    # 10 us per ms, all of it for the slow path
    elapsed_ms = (server.connection["time_ns"] - T0) // MS
    server.connection["blocked_us"] = 10 * elapsed_ms
    server.connection["blocks"] = elapsed_ms // 1000
    slow = server.subflow["n"] == 1
    server.subflow["blocking_us"][slow] = 10 * ((server.subflow["time_ns"][slow] - T0) // MS)
    result = measured(client, server)
    assert result.metrics.blocked_share == 0.01
    assert result.metrics.blocks == 9
    assert [path["blocking_share"] for path in result.paths] == [0, 0.01]


def test_the_longest_gap_is_one_in_which_something_should_have_come() -> None:
    client, server = synthetic.run(FAST, SLOW)
    elapsed_ms = ((server.connection["time_ns"] - T0) // MS).astype(np.int64)
    # nothing arrives from 2 to 2.5 s, from 4 to 4.7 s, and from 6 s on
    arriving = [(0, 2000), (2500, 4000), (4700, 6000)]
    received = sum(np.clip(elapsed_ms - begin, 0, end - begin) for begin, end in arriving)
    server.connection["delivered_bytes"] = 1000 * received
    # there is something to come but from 4.1 s on, when a block is written at 4.6 s, and after 6 s
    written = np.where(elapsed_ms < 4600, 3500, 4800)
    client.connection["written_bytes"] = 1000 * written
    # until 4 s 3500 of 3500 kB have come; the block of 1300 kB is written 100 ms before it arrives
    found = measured(client, server).metrics
    # the first sample with more than at 2 s is that of 2510 ms; the second gap is from 4600 on
    assert found.longest_gap_s == 0.51
    # if the sender has another byte, the gap from 6 s on goes to the end
    client.connection["written_bytes"] += 1
    found = measured(client, server).metrics
    assert found.longest_gap_s == 4.0


@pytest.mark.parametrize(
    ("delivered", "gap_ns"), [([0, 0, 0, 7], 30), ([0, 1, 2, 2], 10), ([0, 0, 2, 2], 20), ([5], 0)]
)
def test_a_gap_begins_with_the_first_sample_or_the_last_byte(
    monkeypatch: pytest.MonkeyPatch, delivered: list[int], gap_ns: int
) -> None:
    sender = np.zeros(1, CONNECTION_DTYPE)
    sender["written_bytes"] = 9
    receiver = np.zeros(len(delivered), CONNECTION_DTYPE)
    receiver["time_ns"] = 100 + 10 * np.arange(len(delivered))
    receiver["delivered_bytes"] = delivered
    # another connection has no sample in the interval
    monkeypatch.setattr(recorded, "both_ends", lambda _: [(sender, sender), (sender, receiver)])
    nobody = HostRecords([], [])
    flow = recorded.Flow("up", nobody, nobody, {}, Interval(100, 200), receiver["time_ns"])
    assert compute._longest_gap_s(flow) == gap_ns / SECOND


def test_the_measured_part_of_a_wait_counts_for_its_path() -> None:
    # From 0.9 to 1.2 s, of which 0.2 s are measured, and from 9.5 s on, without an end.
    client, server = synthetic.run(FAST, SLOW)
    elapsed_ms = ((server.connection["time_ns"] - T0) // MS).astype(np.int64)
    waited_ms = np.clip(elapsed_ms - 900, 0, 300) + np.clip(elapsed_ms - 9500, 0, None)
    server.connection["blocked_us"] = 1000 * waited_ms
    slow = server.subflow["n"] == 1
    ended = slow & (server.subflow["time_ns"] >= T0 + 1200 * MS)
    server.subflow["blocking_us"][ended] = 300_000
    result = measured(client, server)
    assert result.metrics.blocked_share == 0.7 / 9
    assert [path["blocking_share"] for path in result.paths] == [0, 0.2 / 9]
    # a measurement that ends before gives the second one its path
    server.subflow["blocking_us"][slow & (server.subflow["time_ns"] == T0 + 10 * SECOND)] = 800_000
    earlier = synthetic.scenario(duration_ns=9_800 * MS, warmup_ns=2 * SECOND)
    result = run_metrics(earlier, client, server, synthetic.guest())
    assert result.metrics.blocked_share == 0.3 / 7.8
    assert [path["blocking_share"] for path in result.paths] == [0, 0.3 / 7.8]


def test_what_is_sent_beyond_one_copy_is_wasted() -> None:
    # 7 retransmissions of 1000 bytes, and 200 bytes per ms given to two subflows
    client, server = synthetic.run(
        replace(FAST, retransmitted_packets=7), SLOW, duplicate_bytes_per_ms=200
    )
    client.subflow["unsent_bytes"] = 500  # of each subflow: it is as good as sent
    client.connection["sent_bytes"] += 1000
    metrics = measured(client, server).metrics
    assert metrics["wasted_bytes"] == 7000 + 200 * 10_000
    # plain TCP has one subflow, and only retransmits
    plain = synthetic.scenario(transport="tcp")
    assert run_metrics(plain, client, server, synthetic.guest()).metrics.wasted_bytes == 7000


def states_of(**fields: Any) -> dict[str, float]:
    """The shares of the fast path when its sender's records have these values, by `side.field`."""
    client, server = synthetic.run(replace(FAST, cwnd=10, in_flight=8), window_bytes=2**20)
    for name, value in fields.items():
        part, _, field = name.partition("_")
        records = client.connection if part == "connection" else client.subflow
        records[field][:] = value if field != "written_bytes" else records["sent_bytes"] + value
    result = measured(client, server).paths[0]
    names = [*STATE_METRICS.values()]
    assert sum(float(result[name] or 0) for name in names) == 1
    return {name: float(result[name] or 0) for name in names if result[name]}


# one of each; test_sender_states.py has all that leads to them
@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"subflow_in_flight": 10}, "limited_by_cwnd"),
        ({"subflow_unsent_bytes": 5000, "subflow_in_flight": 6}, "limited_by_pacing"),
        ({"connection_written_bytes": 5000, "connection_window_bytes": 999}, "limited_by_window"),
        ({"connection_written_bytes": 500}, "limited_by_scheduler"),
        ({"connection_flags": 1}, "limited_by_send_buffer"),
        ({}, "limited_by_application"),
        ({"subflow_tcp_state": 5}, "absent"),
    ],
)
def test_a_path_is_in_one_state_at_a_time(fields: dict[str, int], state: str) -> None:
    assert states_of(**fields) == {state: 1}


def test_the_time_in_a_state_is_a_part_of_the_samples() -> None:
    # 901 measured samples, the last 90 without a subflow
    client, server = synthetic.run(replace(FAST, in_flight=10))
    late = client.subflow["time_ns"] > T0 + 9100 * MS
    client = Samples(client.connection, client.subflow[~late])
    fast = measured(client, server).paths[0]
    assert fast["limited_by_cwnd"] == 811 / 901
    assert fast["absent"] == 90 / 901


def test_the_window_limits_a_connection_that_has_data() -> None:
    client, server = synthetic.run(FAST, SLOW, window_bytes=100)
    client.connection["written_bytes"] += 5000
    idle = client.connection["time_ns"] >= T0 + 6 * SECOND
    client.connection["written_bytes"][idle] -= 5000
    # the samples of 1 s to 6 s, without the last
    assert measured(client, server).metrics.limited_by_window == 500 / 901


def test_queues_have_a_length_and_the_delay_that_follows() -> None:
    client, server = synthetic.run(FAST, SLOW)
    links = synthetic.links(FAST, SLOW, queue_packets=20)
    links["dropped_packets"], links["lost_packets"] = 12, 5
    links["dropped_packets"][:2] = links["lost_packets"][:2] = 0
    fast, slow = run_metrics(synthetic.scenario(), client, server, synthetic.guest(), links).paths
    assert (fast["queue_packets_mean"], fast["queue_packets_max"]) == (20, 20)
    # 20 packets of 1000 bytes leave at 4000 and at 1000 bytes per ms
    assert (fast["queue_delay_ms_mean"], slow["queue_delay_ms_mean"]) == (5, 20)
    assert (fast["queue_dropped_packets"], fast["lost_packets"]) == (7, 5)
    # without records of links these are missing
    fast, _ = measured(client, server).paths
    assert fast["queue_packets_mean"] is fast["queue_delay_ms_mean"] is fast["lost_packets"] is None


def test_figures_of_a_queue_cover_the_measured_time() -> None:
    # samples at 0, 10, 20, 30 and 40 ms; the second to the fourth are measured
    queue = np.zeros(5, LINK_DTYPE)
    queue["time_ns"] = np.arange(0, 50, 10) * MS
    queue["queue_packets"] = [90, 1, 5, 3, 90]
    queue["queue_bytes"] = [90_000, 1000, 5000, 3000, 90_000]
    queue["sent_bytes"] = [0, 7000, 9000, 13_000, 99_000]
    queue["lost_packets"], queue["dropped_packets"] = [1, 1, 1, 1, 4], [6, 6, 6, 6, 16]
    assert queue_metrics(queue, Interval(10 * MS, 30 * MS)) == {
        "queue_packets_mean": 3,
        "queue_packets_max": 5,
        # 3000 bytes on average, 6000 in 20 ms
        "queue_delay_ms_mean": 10,
        # 10 in the whole run, 3 of them lost
        "queue_dropped_packets": 7,
        "lost_packets": 3,
    }
    # nothing left it, or nothing was sampled
    queue["sent_bytes"] = 7000
    found = queue_metrics(queue, Interval(10 * MS, 30 * MS))
    assert (found["queue_packets_max"], found["queue_delay_ms_mean"]) == (5, None)
    queue["sent_bytes"] = [0, 7000, 9000, 13_000, 99_000]
    found = queue_metrics(queue, Interval(11 * MS, 12 * MS))
    names = ("queue_packets_mean", "queue_packets_max", "queue_delay_ms_mean")
    assert [found[name] for name in names] == [None, None, None]
    nothing = dict.fromkeys((*names, "queue_dropped_packets", "lost_packets"))
    assert queue_metrics(None, Interval(0, 1)) == nothing


def test_a_path_has_the_times_to_notice_and_overcome_a_dip() -> None:
    """The path is down from 4 to 5 s, and the sender goes on as if it were not."""
    client, server = synthetic.run(FAST, SLOW)
    down = Event(at_ns=4 * SECOND, path="fast", action="down", lasts_ns=SECOND)
    scenario = synthetic.scenario().model_copy(update={"events": (down,)})
    fast, slow = measured(client, server, scenario).paths
    # never noticed: its whole length; as before from its end on
    assert (fast.detection_s_mean, fast.detection_s_max) == (1, 1)
    assert (fast.recovery_s_mean, fast.recovery_s_max) == (0, 0)
    assert slow.detection_s_mean is slow.recovery_s_max is None
    # 32 Mbit/s of 40 in 8 of 9 s
    assert fast.utilisation == pytest.approx(0.9)
    assert compute._of_several("x", [SECOND, None, 4 * SECOND]) == {"x_mean": 2.5, "x_max": 4}
    assert compute._of_several("x", [None]) == {"x_mean": None, "x_max": None}


def test_all_that_is_decided_counts_over_the_time_of_all_connections() -> None:
    client = second_connection(synthetic.run(FAST, SLOW)[0])
    early = (client.connection["connection"] == 1) & (client.connection["time_ns"] > T0 + SECOND)
    late = (client.connection["connection"] == 2) & (client.connection["time_ns"] < T0 + 2 * SECOND)
    client = Samples(client.connection[~early & ~late], client.subflow)
    client.connection["waits"], client.connection["refused"] = 1, 10
    client.connection["forced"] = 100
    client.subflow["new_segments"], client.subflow["duplicates"] = 1000, 10_000
    client.subflow["reinjections"] = 100_000
    # of 2 connections and 4 subflows; what is forced follows a wait
    sender = recorded.host_records(synthetic.scenario(), "client", client)
    assert compute._decisions_per_s(sender) == (4 * 111_000 + 2 * 11) / 10
    once = HostRecords([client.connection[:1]], [])
    assert compute._decisions_per_s(once) is None


def of_waits(blocked_us: list[int], *blocking_us: list[int]) -> Any:
    """A connection that waited so long, sampled at 0, 10, ... ns, and what its subflows caused."""
    connection = np.zeros(len(blocked_us), CONNECTION_DTYPE)
    connection["time_ns"], connection["blocked_us"] = range(0, 10 * len(blocked_us), 10), blocked_us
    subflows = []
    for path, caused in enumerate(blocking_us):
        part = np.zeros(len(caused), SUBFLOW_DTYPE)
        part["time_ns"], part["blocking_us"] = connection["time_ns"], caused
        subflows.append(Subflow(1, path, part))
    return connection, subflows


WAITS = ([0, 5, 10, 14, 30], [0, 0, 8, 8, 8], [0, 0, 0, 0, 9])


@pytest.mark.parametrize(
    ("waits", "at_ns", "caused"),
    [
        (WAITS, 0, [0, 0]),
        (WAITS, 5, [0, 0]),
        (WAITS, 10, [5, 0]),  # that goes on, and the first one ends it at 20
        (WAITS, 20, [8, 2]),  # the second ends the next one at 40
        (WAITS, 30, [8, 6]),
        (WAITS, 40, [8, 9]),  # what goes on is ended by none
        # of several ends the longest counts
        (([0, 5, 10], [0, 0, 3], [0, 0, 7], [0, 0, 0]), 10, [0, 5, 0]),
        (([0, 5, 10], [0, 6, 7]), 10, [6]),  # all that is reported has ended
        # until 10 ns 5 of 15 us have no cause yet; at 20 ns the first has 3 us more, the second 7
        (([10, 15, 20], [10, 10, 13], [0, 0, 7]), 10, [10, 5]),
    ],
)
def test_a_wait_belongs_to_the_subflow_that_ends_it(
    waits: tuple[list[int], ...], at_ns: int, caused: list[int]
) -> None:
    connection, subflows = of_waits(*waits)
    assert compute._caused_us(connection, subflows, at_ns) == caused


def test_what_there_is_at_the_end_is_of_the_last_sample() -> None:
    connection, _ = of_waits([1, 2, 4])
    assert compute._at_the_end([connection, connection[:2]], "blocked_us") == 4 + 2
    # a connection that was seen once has kept nothing waiting
    connection, subflows = of_waits([5], [5])
    connection["connection"] = 1
    receiver = HostRecords([connection], subflows)
    times = np.array([0])
    flow = recorded.Flow("up", HostRecords([], []), receiver, {}, Interval(0, 10), times)
    assert compute._blocking_us(synthetic.scenario(), flow) == [[0], []]
    # and without one there is nothing
    none = np.zeros(0, np.int64)
    assert compute._mean(none) is compute._percentile(none, 50) is None
    assert compute._share(none.astype(np.bool_)) is None


def test_each_path_has_the_out_of_order_queue_of_its_own_subflows() -> None:
    client, server = synthetic.run(FAST, SLOW)
    for number, count in ((0, 300), (1, 700)):
        server.subflow["ofo_bytes"][server.subflow["n"] == number] = count
    # one of 901 samples is less than 1 %
    server.subflow["ofo_bytes"][server.subflow["time_ns"] == T0 + 5 * SECOND] = 1201
    paths = measured(client, server).paths
    assert [path.ofo_bytes_p99 for path in paths] == [300, 700]
    assert [path.ofo_bytes_mean for path in paths] == [300 + 901 / 901, 700 + 501 / 901]


def test_utilisation_is_of_the_link_in_the_direction_of_the_data() -> None:
    client, server = synthetic.run(FAST, SLOW)
    scenario = directed("down", synthetic.scenario())
    fast, slow = scenario.paths
    wider = fast.down.model_copy(update={"rate_bps": 80_000_000})
    gone = Event(at_ns=0, path="slow", action="down")
    scenario = scenario.model_copy(
        update={"paths": (fast.model_copy(update={"down": wider}), slow), "events": (gone,)}
    )
    paths = run_metrics(scenario, server, client, synthetic.guest()).paths
    # 32 of 80 Mbit/s, and 8 of none
    assert [path.utilisation for path in paths] == [0.4, None]


def test_metrics_are_those_of_the_schema_and_ready_for_json() -> None:
    result = measured(*synthetic.run(FAST, SLOW))
    # the benefit takes further runs
    computed = TransportFigures.model_fields.keys() - {"aggregation_benefit"}
    assert result.metrics.model_fields_set == computed
    # of data both ways
    both = {"goodput_down_bps", "share_down"}
    for path in result.paths:
        assert path.model_fields_set == PathFigures.model_fields.keys() - both
    for part in (result.metrics, *result.paths):
        assert json.loads(json.dumps(part.model_dump(), allow_nan=False)) == dict(part)


@pytest.mark.parametrize(
    ("goodput", "alone", "benefit"),
    [
        (40.0, [30.0, 10.0], 1.0),  # the sum of the paths
        (35.0, [30.0, 10.0], 0.5),  # half of what the second path could add
        (30.0, [30.0, 10.0], 0.0),  # as good as the best
        (15.0, [30.0, 10.0], -0.5),  # half of the best: (15 - 30) / 30
        (0.0, [30.0, 10.0], -1.0),  # nothing
        (44.0, [30.0, 10.0], 1.4),  # more than the baselines had
        (45.0, [10.0, 30.0, 20.0], 0.5),  # (45 - 30) / (60 - 30)
        (30.25, [30.0, 0.5], 0.5),  # a path that carries next to nothing is one
        *((30.0, alone, None) for alone in ([], [30.0], [30.0, 0.0], [0.0, 0.0])),
    ],
)
def test_the_benefit_is_kaspars(goodput: float, alone: list[float], benefit: float | None) -> None:
    assert aggregation_benefit(goodput, alone) == benefit


@pytest.mark.parametrize(
    ("goodputs", "index"),
    [
        ([1.0, 1.0], 1.0),
        ([1.0, 0.0], 0.5),
        ([3.0, 1.0], 0.8),
        ([1.0, 2.0, 3.0], 36 / (3 * 14)),
        ([1.0], None),
        ([], None),
        ([0.0, 0.0], None),
    ],
)
def test_jains_index(goodputs: list[float], index: float | None) -> None:
    assert jain_index(goodputs) == index


def over_time(receiver: Samples, bin_ns: int = 100 * MS) -> dict[str | None, Any]:
    times = receiver.connection["time_ns"]
    samples = {"server": receiver, "client": receiver}
    span_ns = int(times[0]), int(times[-1])
    return series.goodput(synthetic.scenario(), samples, span_ns, bin_ns)


@pytest.mark.parametrize(
    ("duration_ms", "interval_ms", "bins"),
    [
        (1000, 10, 10),  # of 100 ms
        (250, 10, 2),  # without the last one, which is incomplete
        (900, 30, 9),  # without interpolation bins would hold 3 or 4 samples
    ],
)
def test_goodput_of_a_steady_run_is_steady(duration_ms: int, interval_ms: int, bins: int) -> None:
    times = {"duration_ns": duration_ms * MS, "interval_ns": interval_ms * MS}
    found = over_time(synthetic.run(FAST, SLOW, **times)[1])
    assert found["fast"] == pytest.approx(np.full(bins, 32e6))
    assert found["slow"] == pytest.approx(np.full(bins, 8e6))
    assert found[None] == pytest.approx(np.full(bins, 40e6))


def test_goodput_over_time_may_have_other_bins_and_paths_without_a_subflow() -> None:
    _, server = synthetic.run(FAST, duration_ns=SECOND)
    found = over_time(server, 250 * MS)
    assert found["slow"].tolist() == [0, 0, 0, 0]
    assert found["fast"] == pytest.approx(np.full(4, 32e6))
    # two subflows of one path, of which there is a single sample
    _, server = synthetic.run(FAST, replace(SLOW, path=1), duration_ns=SECOND)
    found = over_time(server, SECOND)
    assert (found["fast"].tolist(), found[None].tolist()) == ([40e6], [40e6])
    for bin_ns in (SECOND + 1, 2 * SECOND):
        found = over_time(server, bin_ns)
        assert [len(found["fast"]), len(found[None])] == [0, 0]


@pytest.mark.parametrize(("direction", "name"), [("up", "server"), ("down", "client")])
def test_goodput_over_time_is_that_of_the_receiver(direction: str, name: str) -> None:
    _, sender = synthetic.run(FAST, SLOW, duration_ns=SECOND)
    receiver = Samples(sender.connection, sender.subflow.copy())
    receiver.subflow["local_addr"] = (10, 7, 1, 1)
    samples = {"server": sender, "client": sender, name: receiver}
    with pytest.raises(MptcplabError, match="a subflow that is on no path"):
        series.goodput(directed(direction, synthetic.scenario()), samples, (T0, T0 + SECOND), MS)


def test_the_page_on_metrics_is_current_and_says_what_each_is() -> None:
    for metric in (*RUN_METRICS, *PATH_METRICS):
        assert metric.meaning.endswith(".")
        assert metric.source
        assert metric.formula or metric.name == "name"
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert page.read_text() == docs_pages.metrics_page(), (
        "write it with python -m mptcplab.metrics.docs_pages metrics"
    )


def test_a_workload_whose_messages_have_all_arrived_is_measured_until_then() -> None:
    """Blocks until 10 s, the last of which arrived at 9.9 s, when sampling ends."""
    flags = Flags(path=["a:1mbit,1ms"], workload="cbr:duration=10s,warmup=1s")
    scenario = synthetic.scenario(workload=from_flags(flags).base.workload)
    client, server = synthetic.run(FAST, SLOW, duration_ns=9900 * MS)
    guest = synthetic.guest(9900 * MS)
    found = run_metrics(scenario, client, server, guest).metrics
    # 4000 + 1000 bytes per ms
    assert found["goodput_bps"] == 40_000_000
    assert found["completion_s"] is None
