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

from mptcplab.errors import RunError
from mptcplab.metrics import (
    METRICS,
    PATH_METRICS,
    RUN_METRICS,
    aggregation_benefit,
    goodput_series,
    markdown,
    run_metrics,
)
from mptcplab.records import Samples
from mptcplab.scenario import Flags, from_flags
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, T0


def figures(*flows: synthetic.Flow, **options: Any) -> dict[str, Any]:
    client, server = synthetic.run(*flows, **options)
    return run_metrics(synthetic.scenario(), client, server, synthetic.guest()).metrics


def test_goodput_is_what_arrives_in_order_per_second() -> None:
    # 4000 + 1000 bytes per ms = 40 Mbit/s
    assert figures(FAST, SLOW)["goodput_bps"] == 40e6


def test_goodput_leaves_the_warm_up_out() -> None:
    client, server = synthetic.run(FAST, SLOW)
    # Nothing arrives in the first half of the warm-up of 1 s; the rest is as before.
    still = server.connection["time_ns"] < T0 + 500 * MS
    server.connection["delivered_bytes"][still] = 0
    metrics = run_metrics(synthetic.scenario(), client, server, synthetic.guest()).metrics
    assert metrics["goodput_bps"] == 40e6


def test_a_warm_up_between_two_samples_does_not_distort_goodput() -> None:
    # The interval starts at the sample at 1010 ms, not at 1003 ms: bytes and time both move.
    scenario = synthetic.scenario(warmup_ns=1003 * MS)
    client, server = synthetic.run(FAST, SLOW)
    metrics = run_metrics(scenario, client, server, synthetic.guest()).metrics
    assert metrics["goodput_bps"] == 40e6


def test_goodput_of_a_size_is_size_over_time_to_completion() -> None:
    # 5000 bytes per ms: 1,000,000 bytes take 200 ms, slow start and all.
    scenario = synthetic.scenario(size_bytes=1_000_000)
    client, server = synthetic.run(FAST, SLOW, duration_ns=200 * MS)
    metrics = run_metrics(scenario, client, server, synthetic.guest(200 * MS)).metrics
    assert metrics["goodput_bps"] == 40e6
    assert metrics["completion_s"] == 0.2


def test_a_size_that_completes_between_two_samples_counts_its_last_bytes() -> None:
    # Complete at 195 ms, when 975,000 bytes are there; the sample at 200 ms is the next one.
    scenario = synthetic.scenario(size_bytes=975_000)
    client, server = synthetic.run(FAST, SLOW, duration_ns=200 * MS)
    server.subflow["received_bytes"] = np.minimum(
        server.subflow["received_bytes"], np.where(server.subflow["n"] == 0, 780_000, 195_000)
    )
    result = run_metrics(scenario, client, server, synthetic.guest(195 * MS))
    assert result.metrics["goodput_bps"] == 40e6
    assert [path["goodput_bps"] for path in result.paths] == [32e6, 8e6]


def test_a_size_smaller_than_a_sample_interval_has_figures() -> None:
    # 3 ms at 5000 bytes per ms; the sample at T0 is the only one until completion.
    scenario = synthetic.scenario(size_bytes=15_000)
    client, server = synthetic.run(FAST, SLOW, duration_ns=3 * MS)
    result = run_metrics(scenario, client, server, synthetic.guest(3 * MS))
    assert result.metrics["goodput_bps"] == 40e6
    assert result.metrics["completion_s"] == 0.003


def test_completion_of_a_duration_does_not_exist() -> None:
    assert figures(FAST, SLOW)["completion_s"] is None


def test_shares_add_up_to_one() -> None:
    client, server = synthetic.run(FAST, SLOW)
    paths = run_metrics(synthetic.scenario(), client, server, synthetic.guest()).paths
    # 4000 and 1000 of 5000; 32 of 40 and 8 of 10 Mbit/s
    assert [path["share"] for path in paths] == [0.8, 0.2]
    assert [path["utilisation"] for path in paths] == [0.8, 0.8]
    assert [path["goodput_bps"] for path in paths] == [32e6, 8e6]


def test_paths_are_told_by_address_and_not_by_the_order_of_subflows() -> None:
    client, server = synthetic.run(SLOW, FAST)
    paths = run_metrics(synthetic.scenario(), client, server, synthetic.guest()).paths
    assert [(path["name"], path["share"]) for path in paths] == [("fast", 0.8), ("slow", 0.2)]


def test_a_path_without_traffic_has_share_0_and_no_round_trip() -> None:
    client, server = synthetic.run(FAST)
    _, slow = run_metrics(synthetic.scenario(), client, server, synthetic.guest()).paths
    assert slow == {
        "name": "slow", "goodput_bps": 0.0, "share": 0.0, "srtt_ms_mean": None, "cwnd_mean": None,
        "in_flight_mean": None, "retransmitted_packets": 0, "new_segments": None,
        "duplicate_segments": None, "reinjected_segments": None, "utilisation": 0.0,
    }  # fmt: skip


def test_shares_do_not_exist_when_nothing_arrives() -> None:
    client, server = synthetic.run(replace(FAST, bytes_per_ms=0), replace(SLOW, bytes_per_ms=0))
    result = run_metrics(synthetic.scenario(), client, server, synthetic.guest())
    assert [path["share"] for path in result.paths] == [None, None]
    assert result.metrics["goodput_bps"] == 0


def test_the_subflows_of_one_path_count_together() -> None:
    # A second subflow over the fast path, as after a loss of the first.
    client, server = synthetic.run(FAST, replace(SLOW, path=1), SLOW)
    result = run_metrics(synthetic.scenario(), client, server, synthetic.guest())
    assert [path["goodput_bps"] for path in result.paths] == [40e6, 8e6]
    assert result.metrics["subflows"] == 3


def test_a_subflow_that_starts_late_counts_from_nothing() -> None:
    client, server = synthetic.run(FAST, SLOW)
    late = (server.subflow["n"] == 1) & (server.subflow["time_ns"] < T0 + 2 * SECOND)
    server = Samples(server.connection, server.subflow[~late])
    # All 10,000 ms x 1000 bytes appear within the measured 9 s.
    slow = run_metrics(synthetic.scenario(), client, server, synthetic.guest()).paths[1]
    assert slow["goodput_bps"] == 8 * 10_000_000 / 9


def test_round_trip_window_and_flight_are_means_over_the_measured_time() -> None:
    client, server = synthetic.run(replace(FAST, srtt_us=30_000, cwnd=40, in_flight=36), SLOW)
    # Twice as much in the warm-up, [0 s, 1 s), must not count.
    warmup = client.subflow["time_ns"] < T0 + SECOND
    for field in ("srtt_us", "cwnd", "in_flight"):
        client.subflow[field][warmup] *= 2
    fast = run_metrics(synthetic.scenario(), client, server, synthetic.guest()).paths[0]
    assert (fast["srtt_ms_mean"], fast["cwnd_mean"], fast["in_flight_mean"]) == (30.0, 40.0, 36.0)


def test_the_out_of_order_queue_has_a_mean_and_a_99th_percentile_over_time() -> None:
    # 0 bytes in the sample at T0, 1 in the next, 1000 in the last. Warm-up of 500 ms leaves the
    # 951 samples 50..1000: their mean is 525, and 99 % of them, 941.49, do not exceed the 942nd,
    # 991. (Interpolation would give 990.5, which no sample has.)
    client, server = synthetic.run(FAST, SLOW, ofo_bytes=range(1001))
    scenario = synthetic.scenario(warmup_ns=500 * MS)
    metrics = run_metrics(scenario, client, server, synthetic.guest()).metrics
    assert metrics["ofo_bytes_mean"] == 525
    assert metrics["ofo_bytes_p99"] == 991


def test_the_99th_percentile_ignores_a_peak_of_less_than_a_hundredth_of_the_time() -> None:
    # 901 measured samples: a peak of 9 is within the 1 %, 9.01, one of 10 is not.
    assert figures(FAST, SLOW, ofo_bytes=[0] * 992 + [5000] * 9)["ofo_bytes_p99"] == 0
    assert figures(FAST, SLOW, ofo_bytes=[0] * 991 + [5000] * 10)["ofo_bytes_p99"] == 5000


def test_buffers_and_window_are_means_over_time() -> None:
    metrics = figures(FAST, SLOW, sndbuf_used=3000, rcvbuf_used=2000, window_bytes=2**40)
    assert metrics["send_buffer_bytes_mean"] == 3000
    assert metrics["receive_buffer_bytes_mean"] == 2000
    assert metrics["receive_window_bytes_mean"] == 2**40


def test_retransmissions_and_packets_are_counted_over_the_whole_run() -> None:
    fast, slow = replace(FAST, retransmitted_packets=7), replace(SLOW, retransmitted_packets=5)
    client, server = synthetic.run(fast, slow)
    result = run_metrics(synthetic.scenario(), client, server, synthetic.guest())
    assert result.metrics["retransmitted_packets"] == 12
    assert result.metrics["retransmitted_bytes"] == 12 * 1000
    assert [path["retransmitted_packets"] for path in result.paths] == [7, 5]
    # 10,000 ms x (4000 + 1000) bytes in packets of 1000, and those sent again
    assert result.metrics["data_packets"] == 50_000 + 12


def test_duplicates_are_what_the_paths_carried_twice() -> None:
    # 200 of the 5000 bytes per ms are reinjections; what waits out of order is no duplicate.
    metrics = figures(FAST, SLOW, duplicate_bytes_per_ms=200, ofo_bytes=9000)
    assert metrics["duplicate_bytes"] == 200 * 10_000
    assert metrics["goodput_bps"] == 4800 * 8 * 1000


def test_what_the_scheduler_decided_is_counted_over_the_whole_run() -> None:
    fast = replace(FAST, duplicates=3)
    slow = replace(SLOW, duplicates=4, reinjections=5)
    client, server = synthetic.run(fast, slow)
    client.connection["waits"], client.connection["refused"] = 11, 12
    client.connection["forced"] = 13
    scenario = synthetic.scenario(scheduler="roundrobin")
    result = run_metrics(scenario, client, server, synthetic.guest())
    assert (result.metrics["duplicate_segments"], result.metrics["reinjected_segments"]) == (7, 5)
    names = ("waits", "refused_picks", "forced_picks")
    assert [result.metrics[name] for name in names] == [11, 12, 13]
    # 10,000 ms x 4000 and 1000 bytes in segments of 1000
    assert [path["new_segments"] for path in result.paths] == [40_000, 10_000]
    assert [path["duplicate_segments"] for path in result.paths] == [3, 4]
    assert [path["reinjected_segments"] for path in result.paths] == [0, 5]


@pytest.mark.parametrize(("transport", "scheduler"), [("mptcp", "default"), ("tcp", "default")])
def test_who_is_not_asked_segment_by_segment_has_decided_nothing(
    transport: str, scheduler: str
) -> None:
    client, server = synthetic.run(FAST, SLOW)
    scenario = synthetic.scenario(transport=transport, scheduler=scheduler)
    result = run_metrics(scenario, client, server, synthetic.guest())
    assert result.metrics["waits"] is result.metrics["duplicate_segments"] is None
    assert [path["new_segments"] for path in result.paths] == [None, None]


def test_there_are_no_duplicates_without_reinjection() -> None:
    assert figures(FAST, SLOW, ofo_bytes=9000)["duplicate_bytes"] == 0


def test_the_sample_interval_does_not_change_what_counters_tell() -> None:
    for interval_ns in (MS, 10 * MS, 70 * MS):  # 70 ms: neither warm-up nor duration are multiples
        scenario = synthetic.scenario(sample_interval_ns=interval_ns)
        client, server = synthetic.run(FAST, SLOW, interval_ns=interval_ns)
        result = run_metrics(scenario, client, server, synthetic.guest())
        assert result.metrics["goodput_bps"] == 40e6
        assert [path["share"] for path in result.paths] == [0.8, 0.2]


def test_records_that_end_early_fail_the_run() -> None:
    client, server = synthetic.run(FAST, SLOW, duration_ns=4 * SECOND)
    with pytest.raises(RunError, match=r"server end 4s after the start .* after 10s"):
        run_metrics(synthetic.scenario(), client, server, synthetic.guest())


def test_an_interval_with_a_single_sample_fails_the_run_with_a_way_out() -> None:
    scenario = synthetic.scenario(warmup_ns=9 * SECOND, sample_interval_ns=20 * SECOND)
    client, server = synthetic.run(FAST, SLOW, interval_ns=20 * SECOND)
    with pytest.raises(RunError, match="choose a sample_interval shorter than 20s"):
        run_metrics(scenario, client, server, synthetic.guest())


def test_a_side_without_a_connection_fails_the_run() -> None:
    client, server = synthetic.run(FAST, SLOW)
    server = Samples(server.connection[:0], server.subflow[:0])
    with pytest.raises(RunError, match="records of the server have 0 connections"):
        run_metrics(synthetic.scenario(), client, server, synthetic.guest())


def test_a_second_connection_fails_the_run() -> None:
    client, server = synthetic.run(FAST, SLOW)
    client.connection["connection"][1::2] = 2
    with pytest.raises(RunError, match="records of the client have 2 connections"):
        run_metrics(synthetic.scenario(), client, server, synthetic.guest())


def test_a_subflow_across_two_paths_fails_the_run() -> None:
    client, server = synthetic.run(FAST, SLOW)
    client.subflow["remote_addr"][:] = [10, 1, 1, 1]
    with pytest.raises(
        RunError, match=r"subflow from 10\.0\.2\.1 to 10\.1\.1\.1, which is no path"
    ):
        run_metrics(synthetic.scenario(), client, server, synthetic.guest())


def test_a_subflow_on_a_path_beyond_the_scenario_fails_the_run() -> None:
    client, server = synthetic.run(FAST, replace(SLOW, path=3))
    with pytest.raises(RunError, match=r"from 10\.0\.3\.1 to 10\.1\.3\.1, which is no path"):
        run_metrics(synthetic.scenario(), client, server, synthetic.guest())


def test_metrics_are_those_of_the_schema_and_ready_for_json() -> None:
    client, server = synthetic.run(FAST, SLOW)
    result = run_metrics(synthetic.scenario(), client, server, synthetic.guest())
    assert list(result.metrics) == [metric.name for metric in RUN_METRICS]
    for path in result.paths:
        assert list(path) == [metric.name for metric in PATH_METRICS]
    again = json.loads(json.dumps([result.metrics, result.paths], allow_nan=False))
    assert again == [result.metrics, result.paths]


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
    ],
)
def test_aggregation_benefit_is_kaspars(goodput: float, alone: list[float], benefit: float) -> None:
    assert aggregation_benefit(goodput, alone) == benefit


@pytest.mark.parametrize("alone", [[], [30.0], [30.0, 0.0], [0.0, 0.0]])
def test_there_is_no_benefit_without_two_paths_to_aggregate(alone: list[float]) -> None:
    assert aggregation_benefit(30.0, alone) is None


def test_goodput_over_time_of_a_steady_run_is_steady() -> None:
    _, server = synthetic.run(FAST, SLOW, duration_ns=SECOND)
    series = goodput_series(synthetic.scenario(), server)
    # 10 bins of 100 ms, named by their middle
    assert series.time_s == pytest.approx(np.arange(0.05, 1.0, 0.1))
    assert series.paths["fast"] == pytest.approx(np.full(10, 32e6))
    assert series.paths["slow"] == pytest.approx(np.full(10, 8e6))
    assert series.total == pytest.approx(np.full(10, 40e6))


def test_goodput_over_time_leaves_an_incomplete_last_bin_out() -> None:
    _, server = synthetic.run(FAST, SLOW, duration_ns=250 * MS)
    series = goodput_series(synthetic.scenario(), server)
    assert series.time_s == pytest.approx([0.05, 0.15])


def test_goodput_over_time_does_not_beat_against_the_sample_interval() -> None:
    # Samples every 30 ms, bins of 100 ms: without interpolation bins would hold 3 or 4 samples.
    _, server = synthetic.run(FAST, SLOW, duration_ns=900 * MS, interval_ns=30 * MS)
    series = goodput_series(synthetic.scenario(), server)
    assert series.total == pytest.approx(np.full(9, 40e6))


def test_every_metric_says_what_it_is_and_where_it_comes_from() -> None:
    for metric in METRICS:
        assert metric.meaning.endswith(".")
        assert metric.source
        assert metric.formula or metric.name == "name"


def test_the_page_on_metrics_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert page.read_text() == markdown(), "write it with python -m mptcplab.metrics"


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
