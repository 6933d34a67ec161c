# SPDX-License-Identifier: GPL-2.0-only
"""Many connections between one client and one server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mptcplab.lab.engine import Rig
from mptcplab.metrics import run_files
from mptcplab.plan import plan
from mptcplab.runs import single
from tests import pcapng
from tests.vocabulary import RunScenario, scenario_of

PATHS = ("a:100mbit,10ms,queue=2000", "b:50mbit,20ms,queue=2000")


@pytest.mark.parametrize("direction", ["up", "down"])
def test_two_hundred_connections_share_both_paths(
    run_scenario: RunScenario, direction: str
) -> None:
    flags = f"bulk:connections=200,direction={direction}"
    run = run_scenario(*PATHS, workload=flags, duration="2s")
    assert run.metric("connections_established") == 200
    assert run.metric("connections_failed") == 0
    # of 150 Mbit/s, 1424 bytes of a packet of 1514 are data
    assert 120e6 < run.goodput_bps < 141.1e6
    assert 0.3 < run.metric("fairness") < 1
    assert sum(path.share or 0 for path in run.figures.paths) == pytest.approx(1)
    assert all((path.share or 0) > 0.2 for path in run.figures.paths)
    # one process, and no thread, for all connections of an end
    hosts = [line for line in plan.render(run.scenario).splitlines() if "netns add" in line]
    assert hosts == [f"ip netns add {name}" for name in ("client", "server", "router1", "router2")]


def test_each_connection_opens_when_it_is_due_and_sends_until_the_end(
    run_scenario: RunScenario,
) -> None:
    run = run_scenario(*PATHS, workload="bulk:connections=50,interval=5ms", duration="2s")
    found = run.messages()
    assert found["connection"].tolist() == list(range(1, 51))
    due_ns = run.start_ns + 5_000_000 * np.arange(50)
    assert (found["due_ns"] == due_ns).all()
    # the first SYNs and their answers take 20 ms and what is queued
    assert (found["begin_ns"] >= due_ns + 20_000_000).all()
    assert int(found["begin_ns"][0]) < run.start_ns + 21_000_000
    end_ns = run.start_ns + 2_000_000_000
    assert (found["written_ns"] >= end_ns).all()
    assert (found["written_ns"] < end_ns + 1_000_000).all()
    assert (found["complete_ns"] > found["written_ns"]).all()
    assert int(found["bytes"].sum()) == run.outcome.guest["bytes_received"]


@pytest.mark.parametrize("transport", ["mptcp", "tcp"])
def test_a_thousand_short_connections_follow_one_another(
    run_scenario: RunScenario, transport: str
) -> None:
    flags = "bulk:connections=1000,size=3kB,no_delay=true"
    run = run_scenario(PATHS[0], workload=flags, transport=transport)
    found = run.messages()
    assert (found["bytes"] == 3000).all()
    assert run.metric("completed") == run.metric("connections_established") == 1000
    assert run.outcome.guest["bytes_received"] == 3_000_000
    # at both ends each connection leaves a sample, even if it is gone before the next one is due
    for samples in (run.client, run.server):
        assert len(np.unique(samples.connection["connection"])) == 1000
    assert run.goodput_bps == pytest.approx(
        3_000_000 * 8e9 / (int(found["complete_ns"].max()) - run.start_ns)
    )
    # three packets behind the handshake: 1.5 round trips
    assert 30 < run.metric("completion_ms_median") < 31


def test_a_connection_that_cannot_be_made_in_time_has_failed(run_scenario: RunScenario) -> None:
    run = run_scenario(
        *PATHS,
        workload="bulk:connections=40,interval=10ms",
        event=("205ms:a:down",),
        duration="2s",
    )
    found = run.messages()
    begun = found["begin_ns"] > 0
    number = int(begun.sum())
    # each that has its answer by then, and b alone can open none
    assert 10 < number < 21
    assert begun.tolist() == [True] * number + [False] * (40 - number)
    assert int(found["begin_ns"].max()) < run.start_ns + 250_000_000
    assert run.metric("connections_established") == number
    assert run.metric("connections_failed") == int((found["complete_ns"] == 0).sum()) >= 40 - number


def test_the_same_run_is_the_same_to_the_last_byte(rig: Rig, tmp_path: Path) -> None:
    scenario = scenario_of(
        "a:50mbit,10ms,loss=0.5%", "b:20mbit,30ms", workload="bulk:connections=80", duration="1s",
        pcap=True, scheduler="minrtt",
    )  # fmt: skip
    kept = [*plan.capture_files(scenario), run_files.CLIENT_SAMPLES, run_files.SERVER_SAMPLES]
    kept += [run_files.MESSAGES, run_files.GUEST_OUTCOME]
    left = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        single.run(scenario, rig, tmp_path / name)
        left.append({file: (tmp_path / name / file).read_bytes() for file in kept})
    assert [file for file in kept if left[0][file] != left[1][file]] == []


def test_another_interval_of_samples_changes_no_packet(run_scenario: RunScenario) -> None:
    """Packets are the same, at the same times but for one reading of the clock, 256 ns."""
    runs = [
        run_scenario(
            *PATHS, workload="bulk:connections=60", duration="1s", pcap=True, sample_interval=each
        )
        for each in ("10ms", "300ms")
    ]
    for device in ("c1", "c2"):
        often, seldom = (
            pcapng.read(run.outcome.directory / plan.CLIENT_CAPTURE)[device] for run in runs
        )
        assert len(often.headers) > 10_000
        assert often.headers == seldom.headers
        assert np.abs(often.time_ns - seldom.time_ns).max() <= 256


def test_a_connection_that_the_end_overtakes_has_failed(run_scenario: RunScenario) -> None:
    # its greeting arrives 230 ms after the start
    run = run_scenario(
        "a:10mbit,60ms",
        workload="bulk:connections=2,direction=down,interval=50ms",
        duration="200ms",
    )
    assert run.metric("connections_established") == run.metric("connections_failed") == 1
    assert run.messages()["written_ns"].tolist()[1] == 0


def test_what_arrived_counts_when_connections_fail(run_scenario: RunScenario) -> None:
    """One fails at its client alone, after all data; some are never made."""
    run = run_scenario(
        "a:30mbit,10ms",
        "b:10mbit,40ms",
        workload="bulk:connections=20,size=200kB,interval=50ms",
        event=("300ms:a:down,lasts=200s",),
    )
    whole = int((run.messages()["complete_ns"] > 0).sum())
    assert run.metric("connections_failed") == 20 - whole
    assert 1 < whole < 20
    last_ns = int(run.messages()["complete_ns"].max())
    arrived = run.goodput_bps * (last_ns - run.start_ns) / 8e9
    assert whole * 200_000 <= arrived < (whole + 1) * 200_000


def test_samples_follow_the_time_that_the_data_takes() -> None:
    short, long = (
        scenario_of("a:30mbit,10ms", "b:10mbit,40ms", workload=f"bulk:connections=200,size={size}")
        for size in ("1kB", "1MB")
    )
    assert short.host_interval_ns == short.sample_interval_ns
    # 40 s, of which 100 samples of each
    assert long.host_interval_ns == 400_000_000
