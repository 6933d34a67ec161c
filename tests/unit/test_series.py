# SPDX-License-Identifier: GPL-2.0-only
"""Series over time of synthetic runs; expected values follow from bytes per ms and sample times."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mptcplab.errors import MptcplabError
from mptcplab.metrics import series
from mptcplab.metrics.records import Samples
from mptcplab.metrics.series import MAX_BINS, RunSeries, Series
from mptcplab.scenario.model import Change, Event, Scenario
from mptcplab.traces import link_trace
from tests.unit import synthetic
from tests.unit.synthetic import FAST, MS, SECOND, SLOW, Flow


def made(scenario: Scenario | None = None, *flows: Flow, **options: object) -> RunSeries:
    scenario = scenario or synthetic.scenario()
    client, server = synthetic.run(*(flows or (FAST, SLOW)), **options)  # type: ignore[arg-type]
    return series.run_series(scenario, client, server)


def one(run: RunSeries, metric: str, path: str | None = None, side: str = "") -> Series:
    (found,) = (
        each
        for panel in run.panels
        for each in panel.series
        if (each.metric, each.path, panel.side) == (metric, path, side)
    )
    return found


def with_events(*events: Event) -> Scenario:
    return synthetic.scenario().model_copy(update={"events": events})


def test_ten_seconds_are_bins_of_100_ms() -> None:
    run = made()
    assert run.edges_ns.tolist() == [k * 100 * MS for k in range(101)]


@pytest.mark.parametrize(
    ("duration_ns", "bin_ns", "bins"),
    [
        (600 * SECOND, 1500 * MS, 400),
        # a hundredth of 250 ms, in whole sample intervals of 10 ms
        (250 * MS, 10 * MS, 25),
        # the rest of 4 ms is part of the last bin, the one of 6 ms is a bin
        (254 * MS, 10 * MS, 25),
        (256 * MS, 10 * MS, 26),
    ],
)
def test_bins_are_as_many_as_fit_on_a_page(duration_ns: int, bin_ns: int, bins: int) -> None:
    edges = made(duration_ns=duration_ns).edges_ns
    assert len(edges) - 1 == bins <= MAX_BINS
    assert edges[1] == bin_ns
    assert edges[-1] == duration_ns


def test_goodput_is_what_was_carried_per_time() -> None:
    run = made(duration_ns=256 * MS)  # the last bin is of 6 ms
    assert one(run, "goodput_bps", "fast").values == pytest.approx(32e6)
    assert one(run, "goodput_bps", "slow").values == pytest.approx(8e6)
    assert one(run, "goodput_bps").values == pytest.approx(40e6)


def test_a_bin_has_the_mean_rate_of_a_link_that_changes() -> None:
    down = Event(at_ns=1_030 * MS, path="fast", action="down", lasts_ns=SECOND)
    slower = Event(at_ns=5 * SECOND, path="slow", action="change", up=Change(rate_factor=0.5))
    run = made(with_events(down, slower))
    fast, slow = (one(run, "link_bps", path).values for path in ("fast", "slow"))
    # 30 of the 100 ms from 1 s on, then nothing until 2.03 s: 70 of the 100 ms from 2 s on
    assert fast[9:12] == pytest.approx([40e6, 12e6, 0])
    assert fast[19:22] == pytest.approx([0, 28e6, 40e6])
    assert slow[[49, 50, 99]] == pytest.approx([10e6, 5e6, 5e6])
    assert one(run, "link_bps").values == pytest.approx(fast + slow)


def test_momentary_values_keep_their_peaks() -> None:
    ofo = np.zeros(1001, dtype=np.int64)
    ofo[105] = 50_000  # after 1.05 s: one of the ten samples from 1 s to 1.09 s
    found = one(made(ofo_bytes=ofo.tolist()), "ofo_bytes")
    assert found.high is not None
    assert found.low is not None
    assert np.flatnonzero(found.high).tolist() == [10]
    assert (found.low[10], found.values[10], found.high[10]) == (0, 5_000, 50_000)


def test_the_last_sample_is_in_the_last_bin() -> None:
    ofo = np.zeros(1001, dtype=np.int64)
    ofo[1000] = 11
    found = one(made(ofo_bytes=ofo.tolist()), "ofo_bytes")
    assert found.values[99] == pytest.approx(1)  # of eleven samples
    assert len(found.values) == 100


def test_a_round_trip_not_measured_yet_is_a_gap() -> None:
    client, server = synthetic.run(replace(FAST, srtt_us=25_000), SLOW)
    client.subflow["srtt_us"][client.subflow["time_ns"] < synthetic.T0 + SECOND] = 0
    found = one(series.run_series(synthetic.scenario(), client, server), "srtt_ms", "fast")
    assert np.isnan(found.values[:10]).all()
    assert found.values[10:] == pytest.approx(25)


def test_windows_and_retransmissions_are_those_of_the_sender() -> None:
    client, server = synthetic.run(replace(FAST, cwnd=33, in_flight=30), SLOW)
    again = client.subflow["n"] == 0
    client.subflow["retransmitted_packets"][again] = np.where(
        client.subflow["time_ns"][again] < synthetic.T0 + 2 * SECOND, 0, 7
    )
    run = series.run_series(synthetic.scenario(), client, server)
    assert one(run, "cwnd_packets", "fast").values == pytest.approx(33)
    assert one(run, "in_flight_packets", "fast").values == pytest.approx(30)
    counts = one(run, "retransmitted_packets", "fast").values
    # they were sent again between the samples of 1.99 s and 2 s, the end of the 20th bin
    assert (counts.sum(), counts[19]) == (7, 7)


def test_downwards_the_server_is_the_sender() -> None:
    scenario = synthetic.scenario()
    down = scenario.workload.model_copy(update={"direction": "down"})
    client, server = synthetic.run(replace(FAST, cwnd=33), SLOW)
    run = series.run_series(scenario.model_copy(update={"workload": down}), server, client)
    assert one(run, "cwnd_packets", "fast").values == pytest.approx(33)
    assert one(run, "goodput_bps").values == pytest.approx(40e6)


def test_both_ways_there_are_panels_of_each() -> None:
    scenario = synthetic.scenario()
    both = scenario.workload.model_copy(update={"direction": "both"})
    client, server = synthetic.run(FAST, SLOW)
    run = series.run_series(scenario.model_copy(update={"workload": both}), client, server)
    assert one(run, "goodput_bps", side="up").values == pytest.approx(40e6)
    # nothing was carried the other way
    assert one(run, "goodput_bps", side="down").values == pytest.approx(0)
    header = series.csv_text(run).partition("\n")[0].split(",")
    assert {"up.goodput_bps.fast", "down.srtt_ms_max.slow"} <= set(header)


def test_the_csv_has_a_row_per_bin_with_units_in_its_header() -> None:
    text = series.csv_text(made(duration_ns=SECOND))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 100
    assert (rows[0]["begin_s"], rows[0]["end_s"], rows[-1]["end_s"]) == ("0", "0.01", "1")
    assert float(rows[3]["goodput_bps.fast"]) == pytest.approx(32e6)
    assert float(rows[3]["srtt_ms.slow"]) == 20
    assert float(rows[3]["srtt_ms_min.slow"]) == 20
    units = ("_s", "_bps", "_ms", "_packets", "_bytes", "_min", "_max")
    assert all(name.partition(".")[0].endswith(units) for name in rows[0])


def source(tmp_path: Path, text: str, **how: object) -> link_trace.Source:
    file = tmp_path / "trace.csv"
    file.write_text(text)
    return link_trace.Source(file, "", **how)  # type: ignore[arg-type]


def test_a_sinr_is_played_as_its_trace(tmp_path: Path) -> None:
    played = source(
        tmp_path, "time_s,rate_mbit,sinr_db\n0,10,30\n1,5,-2.5\n2,10,12\n", offset_ns=SECOND
    )
    client, server = synthetic.run(FAST, SLOW)
    run = series.run_series(synthetic.scenario(), client, server, {("fast", "up"): played})
    found = one(run, "sinr_db", "fast").values
    # rows of 1 s from the second on, and after the third the first again
    assert found[[0, 9, 10, 19, 20, 29, 30]].tolist() == [-2.5, -2.5, 12, 12, 30, 30, -2.5]


def test_a_trace_without_sinr_has_no_panel(tmp_path: Path) -> None:
    played = source(tmp_path, "time_s,rate_mbit\n0,10\n1,5\n")
    client, server = synthetic.run(FAST, SLOW)
    run = series.run_series(synthetic.scenario(), client, server, {("fast", "up"): played})
    assert not [panel for panel in run.panels if panel.unit == "dB"]


def test_series_that_cannot_be_shown_are_errors(tmp_path: Path) -> None:
    scenario = synthetic.scenario()
    client, server = synthetic.run(FAST, SLOW)
    with pytest.raises(MptcplabError, match="the server have no sample"):
        series.run_series(scenario, client, Samples(server.connection[:0], server.subflow[:0]))
    with pytest.raises(MptcplabError, match="on no path of the scenario"):
        series.run_series(scenario, *synthetic.run(FAST, Flow(1, path=3)))
    played = source(tmp_path, "time_s,rate_mbit,sinr_db\n0,10,1e9\n1,5,2\n")
    with pytest.raises(MptcplabError, match=r"trace.csv: line 2.*from -1000 to 1000"):
        series.run_series(scenario, client, server, {("fast", "up"): played})


def test_series_are_kept_and_read_back(tmp_path: Path) -> None:
    """As they were, but for values of 32 bits; the same bytes each time."""
    run = made(synthetic.scenario(), replace(FAST, retransmitted_packets=7), SLOW)
    file = tmp_path / "series.parquet"
    series.write(run, file)
    found = series.read(file)
    assert found.edges_ns.tolist() == run.edges_ns.tolist()
    assert len(found.panels) == len(run.panels)
    for panel, former in zip(found.panels, run.panels, strict=True):
        assert replace(panel, series=()) == replace(former, series=())
        for each, old in zip(panel.series, former.series, strict=True):
            assert (each.metric, each.path, each.what) == (old.metric, old.path, old.what)
            assert (each.low is None) == (old.low is None)
            for values, were in ((each.values, old.values), (each.high, old.high)):
                if were is not None:
                    np.testing.assert_allclose(np.asarray(values), were, rtol=1e-6)
    before = file.read_bytes()
    series.write(run, file)
    assert file.read_bytes() == before
    file.write_bytes(before[:-9])
    with pytest.raises(MptcplabError, match=r"series.parquet: not Parquet: "):
        series.read(file)
